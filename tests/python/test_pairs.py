"""Pairs of texts, token types and masks of keys: the bits of attn-cli, of single runs, and of ids with types."""
import pathlib
import tempfile
import unittest

import numpy as np

import attn
from support import ModelCase, cli_arrays, cli_table, needs_cli

FIRST, SECOND = "the cat [MASK].", "on mat"
MASK = [1, 1, 0, 1, 1, 1, 1, 0, 1]


class Pairs(ModelCase):
    ARCHIVE, NAME = "encoders.tar", "bert"

    @needs_cli
    def test_functions_may_name_the_encoder(self):
        want = self.model.run([1, 2, 3], sites="z", edits=attn.zero("z", layer=1)).z[1]
        for name in ("encoder.1.attn.hook_z", "blocks.1.attn.hook_z"):
            self.assert_same(self.model.run([1, 2, 3], sites="z", edits={name: lambda event: np.zeros_like(event.data)}).z[1], want)
        self.assert_raises(ValueError, "the name 'z'", self.model.run, [1, 2, 3], edits={"decoder:z": abs})

    def test_runs_are_what_the_tool_writes(self):
        theirs = cli_arrays("-m", self.path, FIRST, "--pair", SECOND, "--sites", "*", "--key-mask",
                            ",".join(map(str, MASK)))
        ours = self.model.run(FIRST, pair=SECOND, key_mask=MASK, sites="*")
        for name in theirs.keys() - {"ids", "tokens", "types"}:
            self.assert_same(ours.cache[name], theirs[name], name)
        self.assert_same(ours.types, theirs["types"])
        self.assertEqual(ours.types.tolist(), [0, 0, 0, 0, 0, 0, 1, 1, 0])
        self.assertEqual(ours.tokens, theirs["tokens"].tolist())

    def test_tokens_of_two_texts(self):
        found, run = self.model.tokenize(FIRST, pair=SECOND), self.model.run(FIRST, pair=SECOND)
        for name in ("ids", "offsets", "types"):
            self.assert_same(getattr(found, name), getattr(run, name), name)
        self.assertEqual(found.tokens, run.tokens)
        self.assertEqual(found.texts.tolist(), [0, 1, 1, 1, 1, 0, 2, 2, 0])
        spans = [{1: FIRST, 2: SECOND}[text][begin:end] for text, (begin, end) in zip(found.texts, found.offsets) if text]
        self.assertEqual(spans, ["the", " cat", " [MASK]", ".", "on", " mat"])
        self.assert_raises(TypeError, "pair is int", self.model.tokenize, FIRST, pair=3)
        self.assertEqual(len(self.model.tokenize(FIRST)), 3)

    def test_a_pair_is_its_ids_and_types(self):
        pair = self.model.run(FIRST, pair=SECOND)
        ids = self.model.run(pair.ids, types=pair.types)
        self.assert_same(pair.logits, ids.logits)
        self.assertFalse(np.array_equal(pair.logits, self.model.run(pair.ids).logits))
        self.assertEqual(self.model.run(pair.ids).types.tolist(), [0] * 9)

    def test_nobody_looks_at_hidden_keys(self):
        pattern = np.asarray(self.model.run(FIRST, pair=SECOND, key_mask=np.array(MASK, bool)).pattern)
        hidden = np.array(MASK) == 0
        self.assertTrue((pattern[..., hidden] == 0).all())
        self.assertTrue((pattern[..., ~hidden] > 0).all())
        cells = np.tile(np.array(MASK, np.float32), (len(MASK), 1))
        self.assert_same(pattern, self.model.run(FIRST, pair=SECOND, mask=cells).pattern)

    def test_many_are_the_bits_of_single_runs(self):
        ids = self.model.run(FIRST, pair=SECOND).ids
        items = [{"text": FIRST, "pair": SECOND}, FIRST, {"ids": ids, "types": [0] * 5 + [1] * 4},
                 {"text": FIRST, "pair": SECOND, "key_mask": MASK}, {"text": FIRST, "key_mask": [1, 1, 1, 1, 1, 0]}]
        singles = [self.model.run(FIRST, pair=SECOND), self.model.run(FIRST), self.model.run(ids, types=[0] * 5 + [1] * 4),
                   self.model.run(FIRST, pair=SECOND, key_mask=MASK), self.model.run(FIRST, key_mask=[1, 1, 1, 1, 1, 0])]
        for many, single in zip(self.model.map(items), singles, strict=True):
            self.assert_same(many.pattern, single.pattern)
            self.assert_same(many.logits, single.logits)
            self.assert_same(many.types, single.types)
        wrong = list(self.model.map([{"text": FIRST, "key_mask": [1]}, {"text": FIRST, "pair": 3}], on_error="keep"))
        self.assertIn("key_mask", str(wrong[0].error))
        self.assertIn("pair is int", str(wrong[1].error))

    @needs_cli
    def test_questions_are_what_the_tool_answers(self):
        theirs = cli_table("ablate", "-m", self.path, FIRST, "--pair", SECOND, "--target", " cat")
        ours = self.model.ablate(FIRST, pair=SECOND, target=" cat")
        self.assert_same(ours["value"].astype(np.float32), np.array([row["value"] for row in theirs], np.float32))
        theirs = cli_table("patch", "-m", self.path, "--clean", FIRST, "--corrupted", "the mat [MASK].", "--pair", SECOND,
                           "--key-mask", ",".join(map(str, MASK[::-1])), "--target", " cat")
        ours = self.model.patch(FIRST, "the mat [MASK].", pair=SECOND, key_mask=MASK[::-1], target=" cat")
        self.assert_same(ours["value"].astype(np.float32), np.array([row["value"] for row in theirs], np.float32))
        one = self.model.heads(FIRST, pair=SECOND)
        many = self.model.heads(items=[{"text": FIRST, "pair": SECOND}])
        self.assertEqual(one["entropy"].tolist(), many["entropy"].tolist())

    def test_refuses_what_does_not_fit(self):
        self.assert_raises(attn.Error, "expected one for each of 9", self.model.run, FIRST, pair=SECOND, key_mask=[1, 0])
        self.assert_raises(attn.Error, "expected 0 or 1", self.model.run, FIRST, key_mask=[1, 1, 2, 1, 1, 1])
        self.assert_raises(TypeError, "expected a text", self.model.run, FIRST, pair=[2, 3])
        self.assert_raises(attn.Error, "given as numbers", self.model.run, [2, 3], pair=SECOND)
        self.assert_raises(attn.Error, "`types` has 6", self.model.run, [2, 3], types=[0] * 6)

    def test_draws_the_same_again(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "run.npz"
            self.model.run(FIRST, pair=SECOND).save_npz(path)
            with np.load(path) as archive:
                self.assertEqual(archive["types"].tolist(), [0, 0, 0, 0, 0, 0, 1, 1, 0])


if __name__ == "__main__":
    unittest.main()
