"""Many texts: in order, the bits of single runs, constant memory, failures in their places."""
import json
import pickle
import unittest

import numpy as np

import attn
from support import KEYS, TEXT, TestCase, cli, model, needs_cli

WORDS = "the cat sat on a small mat near the old door and looked at the king".split()


def sentences(n, most=12):
    random = np.random.default_rng(3)
    return [" ".join(random.choice(WORDS, random.integers(1, most))) for _ in range(n)]


class Map(TestCase):
    def test_results_are_those_of_run_in_order(self):
        texts = sentences(200)
        results = list(model().map(texts, sites=["pattern", "z", "logits"], heads="2.*,3.1"))
        self.assertEqual(len(results), 200)
        for text, r in zip(texts, results):
            one = model().run(text, sites=["pattern", "z", "logits"], heads="2.*,3.1")
            self.assertEqual(r.tokens, one.tokens)
            self.assert_same(r.ids, one.ids)
            self.assertEqual(set(r.cache), set(one.cache))
            for name in one.cache:
                self.assert_same(r.cache[name], one.cache[name], name)
            self.assert_same(r.pattern[3, 1], one.pattern[3, 1])

    def test_texts_ids_and_dicts(self):
        ids = model().tokenize(TEXT).ids
        items = [TEXT, ids, ids.tolist(), {"text": TEXT, "id": "first", "label": 3}, {"ids": ids, "id": 7}]
        results = list(model().map(items, sites="pattern"))
        self.assertEqual([r.id for r in results], [None, None, None, "first", 7])
        for r in results:
            self.assert_same(r.pattern[3], results[0].pattern[3])

    def test_other_keys_are_labels(self):
        items = [{"text": TEXT, "id": 7, "kind": "a", "label": {"n": 1}}, TEXT, {"text": "", "kind": "empty"}]
        results = list(model().map(items, sites="z", on_error="keep"))
        self.assertEqual([r.labels for r in results], [{"kind": "a", "label": {"n": 1}}, {}, {"kind": "empty"}])
        self.assertEqual(pickle.loads(pickle.dumps(results[0])).labels, results[0].labels)
        for name in ("target", "foil", "at", "next", "metric"):
            self.assert_raises(TypeError, (f"'{name}'", "items"), list, model().map([{"text": TEXT, name: " are"}], sites="z"))

    def test_no_tensors_are_asked_for(self):
        (r,) = model().map([TEXT], sites=[], top=2)
        self.assertEqual((dict(r.cache), len(r.predictions.top)), ({}, 2))
        self.assertEqual(r.predictions.top["id"].tolist(), model().run(TEXT, top=2).predictions.top["id"].tolist())

    @needs_cli
    def test_measures_are_those_of_heads(self):
        rows = json.loads(cli("heads", "-m", "fable", "--json", "-", TEXT))["rows"]
        (r,) = model().map([TEXT], measures="all")
        for name in ("entropy", "previous", "first", "far"):
            self.assertEqual(r.measures[name].shape, (4, 8))
            np.testing.assert_allclose(r.measures[name].ravel(), [row[name] for row in rows], rtol=1e-5)
        self.assertFalse(hasattr(r, "pattern"))
        (r,) = model().map([TEXT], measures=["entropy"], sites="z")
        self.assertEqual((list(r.measures), r.z[0].shape[1]), (["entropy"], 8))

    def test_what_is_kept_as_bytes_is_given_as_arrays(self):
        (r, other) = model().map([{"id": 1, "text": TEXT}, TEXT], measures="entropy")
        self.assertEqual((r.ids.dtype, r.ids.tolist()), (np.int64, model().tokenize(TEXT).ids.tolist()))
        self.assertIs(r.ids, r.ids)
        r.measures["entropy"][0, 0] = r.ids[0] = 7  # theirs alone
        self.assertEqual((r.measures["entropy"][0, 0], r.ids[0]), (7, 7))
        self.assertNotEqual(other.measures["entropy"][0, 0], 7)
        again = pickle.loads(pickle.dumps(other))
        self.assert_same(again.measures["entropy"], other.measures["entropy"])
        self.assert_same(again.ids, other.ids)
        self.assertIsNone(model().run(TEXT).measures)

    def test_pictures_of_them(self):
        for r in model().map([{"id": 1, "text": TEXT}, TEXT], sites=["pattern"]):
            self.assertEqual(r.svg(heads="2.3"), model().run(TEXT).svg(heads="2.3"))

    def test_predictions(self):
        for text, r in zip([TEXT, KEYS], model().map([TEXT, KEYS], sites="z", top=2, next=[" are"])):
            one = model().run(text, top=2, next=[" are"]).predictions
            self.assertEqual(r.predictions.top.to_dict(), one.top.to_dict())
            self.assertEqual(r.predictions.next.to_dict(), one.next.to_dict())

    def test_nothing_is_read_before_the_first_result_is_taken(self):
        read = []
        results = model().map((read.append(text) or text for text in sentences(3)), sites="z")
        self.assertEqual(read, [])
        next(results)
        results.close()

    def test_empty_and_many(self):
        self.assertEqual(list(model().map([])), [])
        self.assertEqual(sum(1 for _ in model().map(sentences(5000, 4), measures="entropy")), 5000)

    def test_failures_are_in_their_places(self):
        texts = [TEXT, "", [999999], TEXT * 100, KEYS]
        results = list(model().map(texts, sites="pattern", on_error="keep"))
        self.assertEqual([r.error and r.error.code for r in results], [None, "empty", "bad_ids", "too_long", None])
        self.assertEqual(pickle.loads(pickle.dumps(results[3].error)).code, "too_long")
        problem = self.assert_raises(attn.InvalidError, "no tokens", list, model().map([TEXT, ""], sites="z"))
        self.assertEqual((problem.hint, problem.code), ("in text 2", "empty"))
        self.assertIsInstance(results[1].error, attn.InvalidError)
        self.assertFalse(hasattr(results[1], "pattern"))
        taken = []
        with self.assertRaises(attn.Error):
            for r in model().map(texts, sites="pattern"):
                taken.append(r)
        self.assertEqual(len(taken), 1)

    def test_wrong_items_and_options(self):
        self.assert_raises(TypeError, "one text", model().map, TEXT)
        self.assert_raises(ValueError, "on_error", model().map, [TEXT], on_error="ignore")
        self.assert_raises(TypeError, "unexpected", model().map, [TEXT], nonsense=1)
        self.assert_raises(attn.InvalidError, "nope", list, model().map([TEXT], sites="nope"))
        self.assert_raises(attn.InvalidError, "nope", model().map, [TEXT], measures="nope")
        self.assert_raises(TypeError, "text", list, model().map([TEXT, None], sites="z"))
        self.assert_raises(TypeError, "text", list, model().map([object()], sites="z"))

    def test_exceptions_of_the_iterable_come_through(self):
        def broken():
            yield TEXT
            raise LookupError("no more")

        self.assert_raises(LookupError, "no more", list, model().map(broken(), sites="z"))

    def test_it_can_be_left(self):
        for _ in range(20):
            for _ in model().map(sentences(50), sites="pattern"):
                break
        endless = iter(lambda: TEXT, None)
        for i, r in enumerate(model().map(endless, sites="pattern")):
            if i == 2000:
                break
        self.assert_same(r.pattern[3], model().run(TEXT, sites="pattern").pattern[3])

    def test_two_at_once(self):
        a, b = (model().map(sentences(100), sites="pattern") for _ in range(2))
        for x, y in zip(a, b):
            self.assert_same(x.pattern[2], y.pattern[2])

    def test_memory_is_constant(self):
        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * 4096

        m, text = model(), " ".join(WORDS * 6)
        results = m.map((text for _ in range(1500)), sites="*")
        for i, _ in enumerate(results):
            if i == 100:
                before = resident()
        self.assertLess(resident() - before, 200 << 20)


if __name__ == "__main__":
    unittest.main()
