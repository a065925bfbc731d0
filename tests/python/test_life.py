"""How models and results live: closing, pickling, forks, threads, Ctrl-C, memory over many runs."""
import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import unittest

import numpy as np

import attn
from support import KEYS, TEXT, TestCase, model


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


class Closing(TestCase):
    def test_arrays_outlive_the_model(self):
        m = attn.open("fable")
        r = m.run(TEXT, sites="pattern,z")
        pattern, z, copy = r.pattern[2, 2], r.z[1], r.pattern[2, 2].copy()
        m.close()
        m.close()
        del m, r
        gc.collect()
        junk = [np.ones((8, 7, 7), np.float32) * i for i in range(1000)]
        self.assert_same(pattern, copy)
        self.assertEqual(z.shape, (7, 8, 16))
        del junk

    def test_cycles_are_freed_in_order(self):
        """A failure's traceback holds the memory of its run; in a cycle the collector frees all of it."""
        program = """if True:
            import attn, gc
            m = attn.open("fable")
            for _ in range(20):
                try:
                    m.run([99999])
                except attn.Error as problem:
                    problem.cycle = [problem]
                gc.collect()
            """
        environment = {**os.environ, "MALLOC_PERTURB_": "165"}  # freed memory becomes garbage
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_closed_model_says_so(self):
        with attn.open("fable") as m:
            r = m.run(TEXT)
        for ask in (lambda: m.run(TEXT), lambda: m.map([TEXT]), lambda: m.heads(TEXT), lambda: m.tokenize(TEXT),
                    lambda: m.generate(TEXT), lambda: r.svg(), lambda: pickle.dumps(m), lambda: m.sites):
            self.assert_raises(attn.ClosedError, "closed", ask)
        self.assertIn("closed", repr(m))
        self.assertIsNone(r._repr_svg_())
        self.assertEqual(list(r._repr_mimebundle_()), ["text/plain"])

    def test_closing_waits_for_nobody_and_ends_nobody(self):
        m = attn.open("fable")
        results = m.map([TEXT] * 50, sites="pattern")
        first = next(results)
        events = []
        m.run(TEXT, sites="pattern", on_event=lambda event: events.append(m.close()))
        self.assertEqual(len(events), 32)
        self.assertEqual(len(list(results)), 49)
        self.assertEqual(first.pattern[0].shape, (8, 7, 7))

    def test_failures_say_at_which_stage(self):
        m = model()
        for stage, ask in (("options", lambda: m.run(TEXT, attention="nope")),
                           ("options", lambda: m.run(TEXT, sites="nope")),
                           ("options", lambda: m.run(TEXT).svg(figure="nope")),
                           ("options", lambda: m.heads(TEXT, measures="nope")),
                           ("model", lambda: attn.open("no-such-model")),
                           ("model", lambda: attn.open("/dev/null/none")),
                           ("input", lambda: m.run([99999])),
                           ("input", lambda: list(m.map([""]))),
                           ("input", lambda: m.decode([99999])),
                           ("output", lambda: m.run(TEXT).save_html("/dev/null/a.html"))):
            with self.assertRaises(attn.Error) as caught:
                ask()
            self.assertEqual(caught.exception.stage, stage, caught.exception)
        self.assert_raises(TypeError, "missing", m.run, None)

    def test_models_that_cannot_be_opened(self):
        for kind, words, name, options in (
                (attn.InvalidError, "no-such-model", "no-such-model", {}), (attn.Error, "", "/", {}),
                (ValueError, "threads", "fable", dict(threads=2000)), (ValueError, "load", "fable", dict(load="copy")),
                (attn.FileError, "none.json", "fable", dict(config="/none.json"))):
            self.assert_raises(kind, words, attn.open, name, **options)
        self.assertRaises(OSError, attn.open, "fable", config="/none.json")

    def test_how_a_model_is_opened_changes_no_bit(self):
        want = model().run(TEXT).logits
        for options in (dict(threads=1), dict(threads=3), dict(load="read"), dict(reuse=True)):
            with attn.open("fable", **options) as m:
                self.assert_same(m.run(TEXT).logits, want, options)


class Pickles(TestCase):
    def test_models_are_opened_again(self):
        m = pickle.loads(pickle.dumps(model()))
        self.assertIsNot(m, model())
        self.assert_same(m.run(TEXT).logits, model().run(TEXT).logits)

    def test_results_keep_their_arrays(self):
        r = model().run(TEXT, top=2, sites="pattern,z")
        again = pickle.loads(pickle.dumps(r))
        self.assert_same(again.pattern[2, 2], r.pattern[2, 2])
        self.assert_same(again.z[2, 3], r.z[2, 3])
        self.assertEqual(again.tokens, r.tokens)
        self.assertEqual(again.predictions.top.to_dict(), r.predictions.top.to_dict())
        self.assert_raises(attn.ClosedError, "without a model", again.svg)
        table = pickle.loads(pickle.dumps(model().heads(TEXT)))
        self.assertEqual(len(table), 32)
        array = pickle.loads(pickle.dumps(r.attentions))
        self.assertEqual(array[0].shape, (1, 8, 7, 7))

    def test_errors(self):
        try:
            model().run("")
        except attn.Error as problem:
            again = pickle.loads(pickle.dumps(problem))
            self.assertEqual((str(again), again.stage), (str(problem), "input"))

    def test_processes_of_a_pool(self):
        import multiprocessing
        want = model().run(TEXT).logits
        for method in ("fork", "spawn"):
            with multiprocessing.get_context(method).Pool(2) as pool:
                for got in pool.map(_logits, [(model(), TEXT)] * 4):
                    self.assert_same(got, want)


def _logits(arguments):
    m, text = arguments
    return np.array(m.run(text).logits)


class Forks(TestCase):
    def in_child(self, function):
        """Runs FUNCTION in a fork; fails where it does, or hangs."""
        child = os.fork()
        if child == 0:
            try:
                signal.alarm(60)
                function()
                os._exit(0)
            except BaseException:
                import traceback
                traceback.print_exc()
                os._exit(1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_a_child_uses_what_its_parent_opened(self):
        with attn.open("fable", threads=2) as m:
            r = m.run(TEXT)
            want, q = r.logits, np.eye(3, dtype=np.float32)
            attended = attn.attend(q, q, q).pattern
            list(m.map([TEXT] * 20, sites="pattern"))

            def child():
                self.assert_same(m.run(TEXT).logits, want)
                self.assert_same(r.logits, want)
                self.assertEqual(len(list(m.map([TEXT] * 20, sites="pattern"))), 20)
                self.assert_same(attn.attend(q, q, q).pattern, attended)
                self.assertIn("<svg", r.svg())
                m.close()

            for _ in range(3):
                self.in_child(child)
            self.assert_same(m.run(TEXT).logits, want)

    def test_a_fork_beside_runs(self):
        m, is_over = model(), threading.Event()
        want = m.run(TEXT).logits

        def run():
            while not is_over.is_set():
                m.run(TEXT)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            for _ in range(5):
                self.in_child(lambda: self.assert_same(m.run(TEXT).logits, want))
        finally:
            is_over.set()
            thread.join()


class Threads(TestCase):
    def test_threads_share_a_model(self):
        m, texts, problems = model(), [TEXT, KEYS, "Once upon a time", "The king"], []
        want = {text: m.run(text).logits.copy() for text in texts}

        def run(text):
            try:
                for _ in range(50):
                    self.assert_same(m.run(text).logits, want[text])
            except BaseException as problem:
                problems.append(problem)

        threads = [threading.Thread(target=run, args=(text,)) for text in texts * 2]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(problems, [])

    def test_others_run_meanwhile(self):
        """Native code runs without Python's lock."""
        counted = [0]
        is_over = threading.Event()

        def count():
            while not is_over.is_set():
                counted[0] += 1
                time.sleep(0)

        thread = threading.Thread(target=count)
        thread.start()
        q = np.ones((8, 3000, 64), np.float32)
        before = counted[0]
        attn.attend(q, q, q, sites="z")
        seen = counted[0] - before
        is_over.set()
        thread.join()
        self.assertGreater(seen, 10)


INTERRUPTED = """
import numpy, os, signal, sys, threading, time, attn
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
m = attn.open("fable")
def interrupt(): os.kill(os.getpid(), signal.SIGINT)
{before}
start = time.time()
try:
    {statement}
    print("no interrupt")
except KeyboardInterrupt:
    # Each takes 30 s to its end, and longer on a busy machine.
    print("interrupted", time.time() - start < 20 * max(1, os.getloadavg()[0] / os.cpu_count()))
print(m.run("Life is short").tokens)
"""


class Interrupts(TestCase):
    def check(self, statement, before="", when="threading.Timer(0.3, interrupt).start()"):
        before += "\n" + when
        code = INTERRUPTED.format(statement=statement, before=before)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=1200)
        self.assertEqual(done.stdout, "interrupted True\n['Life', ' is', ' short']\n", done.stderr)

    def test_ctrl_c_ends_attention_on_arrays(self):
        self.check("attn.attend(q, q, q, sites='z')", "q = numpy.ones((64, 32768, 64), numpy.float32)")

    def test_ctrl_c_ends_a_run_in_a_callback(self):
        self.check("m.run('Life is short', sites='pattern', on_event=lambda event: time.sleep(1))")

    def test_ctrl_c_ends_a_map(self):
        self.check("for _ in m.map(iter(lambda: 'Life is short', None), sites='pattern'): pass")

    def test_ctrl_c_ends_an_experiment(self):
        self.check("while True: m.ablate('Life is short', metric='kl', by='neuron:1')")

    def test_ctrl_c_while_options_are_checked_is_not_lost(self):
        self.check("asking.check(asking.ROWS['ablate'], Given(metric='kl'))", """from attn import asking
class Given(dict):
    is_sent = False
    def get(self, *args):
        if not Given.is_sent:
            Given.is_sent = True
            interrupt()
        return super().get(*args)
""", when="")


class Memory(TestCase):
    def test_nothing_leaks_over_many_runs(self):
        m = model()
        n = int(os.environ.get("ATTN_RUNS", "3000"))

        def run(i):
            r = m.run(TEXT if i % 2 else KEYS, sites=["pattern", "z"], top=2)
            r.pattern[2, 2], r.z[1]
            if i % 50 == 0:
                m.heads(KEYS, limit=2), r.svg(heads="0.0"), m.tokenize(KEYS)
                m.run(KEYS, sites="pattern", heads="0.0", on_event=lambda event: event.data)
                try:
                    m.run("")
                except attn.Error:
                    pass

        for i in range(n // 5):
            run(i)
        gc.collect()
        before = resident()
        for i in range(n):
            run(i)
        gc.collect()
        self.assertLess(resident() - before, 4 << 20)


if __name__ == "__main__":
    unittest.main()
