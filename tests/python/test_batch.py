"""Many texts into files: the bytes of attn-cli batch, shards, and runs that go on."""
import json
import os
import pathlib
import tempfile
import time
import unittest

import attn
from support import TestCase, cli, model, needs_cli

TEXTS = ["Life is short", "The keys to the cabinet", "Once upon a time"] * 40


class Batch(TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.input = self.folder / "in.jsonl"
        self.input.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))

    def run_batch(self, name, **options):
        return model().batch(self.input, self.folder / name, measures="entropy,previous", **options)

    @needs_cli
    def test_files_are_those_of_the_tool(self):
        done = self.run_batch("a.jsonl", csv=self.folder / "a.csv", npy=self.folder / "a")
        self.assertEqual(done[:3], (len(TEXTS), 0, False))
        cli("batch", "-q", "-m", "fable", "--measures", "entropy,previous", "-o", self.folder / "b.jsonl", "--csv",
            self.folder / "b.csv", "--npy", self.folder / "b", self.input)
        for name in ("{}.jsonl", "{}.csv", "{}/entropy.npy", "{}/n_token.npy"):
            a, b = ((self.folder / name.format(which)).read_bytes() for which in "ab")
            self.assertEqual(a, b, name)

    @needs_cli
    def test_labels_and_words_are_those_of_the_tool(self):
        self.input.write_text('{"text": "The keys", "verb": "pl", "next": " are"}\n{"text": "The key"}\n')
        model().batch(self.input, self.folder / "a.jsonl", csv=self.folder / "a.csv", fields="surprisal", labels="all")
        cli("batch", "-q", "-m", "fable", "--fields", "surprisal", "--labels", "all", "-o", self.folder / "b.jsonl",
            "--csv", self.folder / "b.csv", self.input)
        for name in ("{}.jsonl", "{}.csv"):
            a, b = ((self.folder / name.format(which)).read_bytes() for which in "ab")
            self.assertEqual(a, b, name)
        self.assertTrue((self.folder / "a.csv").read_bytes().startswith(b"id,verb,word,text,bits,nats\n0,pl,0,The,,\n"))

    def test_shards_together_are_the_whole(self):
        self.run_batch("all.jsonl")
        n = sum(self.run_batch("part.jsonl", shard=(i, 3)).n_record for i in range(3))
        self.assertEqual(n, len(TEXTS))
        parts = [(self.folder / f"part-{i:05}-of-00003.jsonl").read_bytes() for i in range(3)]
        self.assertEqual(b"".join(parts), (self.folder / "all.jsonl").read_bytes())
        self.assert_raises(ValueError, "0 <= i < n", self.run_batch, "x.jsonl", shard=(3, 3))

    def test_goes_on_where_an_exception_ended_it(self):
        self.run_batch("all.jsonl")

        def stop(progress):
            if (self.folder / "out.jsonl.journal").exists():  # without a checkpoint nothing can go on
                raise KeyError("enough")
            if progress.n_record >= 50:
                time.sleep(0.3)

        self.assert_raises(KeyError, "enough", self.run_batch, "out.jsonl", on_progress=stop)
        self.assertTrue((self.folder / "out.jsonl.part").exists())
        self.assert_raises(attn.FileError, "an earlier run did not finish", self.run_batch, "out.jsonl")
        problem = self.assert_raises(attn.InvalidError, "other options", self.run_batch, "out.jsonl", resume=True,
                                     heads="0.1")
        self.assertEqual(problem.hint, "remove it, and `resume` begins anew")
        done = self.run_batch("out.jsonl", resume=True)
        self.assertEqual(done.n_record, len(TEXTS))
        self.assertIn("continues at record", done.notes[0])
        self.assertEqual((self.folder / "out.jsonl").read_bytes(), (self.folder / "all.jsonl").read_bytes())
        self.assertTrue(self.run_batch("out.jsonl", resume=True).is_complete)

    def test_failures_are_counted_or_end_it(self):
        self.input.write_text('{"text": "Life"}\n{"text": ""}\n{"ids": [1]}\n')
        self.assertEqual(self.run_batch("a.jsonl")[:2], (3, 1))
        self.assertEqual(self.run_batch("a.jsonl", resume=True)[:3], (3, 1, True))
        self.assert_raises(attn.InvalidError, "`max_failed` allows 0", self.run_batch, "b.jsonl", max_failed=0)
        self.assertEqual(len(os.listdir(self.folder)), 5)

    def test_texts_a_line(self):
        self.input.write_text("Life\nis\n")
        model().batch(self.input, self.folder / "a.jsonl", items_format="lines", fields="tokens", limit=1)
        self.assertEqual(json.loads((self.folder / "a.jsonl").read_text())["tokens"], ["Life"])
        self.assert_raises(attn.FileError, "nothing", model().batch, self.folder / "nothing", self.folder / "b.jsonl")


if __name__ == "__main__":
    unittest.main()
