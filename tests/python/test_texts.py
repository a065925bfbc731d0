"""Texts that C cannot have: none is cut at its first NUL, and each failure says which argument it was."""
import json
import os
import shutil
import tempfile
import unittest

import attn
from support import KEYS, ROOT, TEXT, TestCase, model, needs_sources

NUL, SURROGATE = "\0", "\ud800"


# What argument a text goes to, and a call that gives it there.
ARGUMENTS = {
    "name": lambda text: attn.open("fable" + text),
    "config": lambda text: attn.open("fable", config="config.json" + text),
    "vocab": lambda text: attn.open("fable", vocab="vocab.json" + text),
    "weights": lambda text: attn.open("fable", weights="model.safetensors" + text),
    "sites": lambda text: model().run(TEXT, sites="pattern" + text),
    "layers": lambda text: model().run(TEXT, layers="1" + text),
    "heads": lambda text: model().run(TEXT, heads=["2.*" + text]),
    "queries": lambda text: model().run(TEXT, queries="1" + text),
    "ablate": lambda text: model().run(TEXT, ablate="2.1" + text),
    "knockout": lambda text: model().run(TEXT, knockout="2>1" + text),
    "patch": lambda text: model().run(TEXT, patch=["z:1=a.npz" + text]),
    "prompt_name": lambda text: model().run(TEXT, prompt_name="query" + text),
    "next": lambda text: model().run(TEXT, next=[" are" + text]),
    "attention": lambda text: model().run(TEXT, attention="window:2" + text),
    "measures": lambda text: model().map([TEXT], measures="entropy" + text),
    "target": lambda text: model().ablate(KEYS, target=" are" + text),
    "foil": lambda text: model().ablate(KEYS, target=" are", foil=" is" + text),
    "at": lambda text: model().ablate(KEYS, target=" are", at="1" + text),
    "sort": lambda text: model().heads(TEXT, sort="entropy" + text),
    "from_": lambda text: model().heads(KEYS, from_="cabinet" + text, to="keys"),
    "to": lambda text: model().heads(KEYS, from_="cabinet", to="keys" + text),
    "site": lambda text: model().patch(KEYS, KEYS, target=" are", site="z" + text),
    "figure": lambda text: model().run(TEXT).svg(figure="heads" + text),
    "colormap": lambda text: model().run(TEXT).svg(colormap="blues" + text),
    "title": lambda text: model().run(TEXT).svg(title="a" + text),
}


class Texts(TestCase):
    def test_nul_ends_no_argument_early(self):
        for what, give in ARGUMENTS.items():
            for tail in (NUL, NUL + "x"):
                with self.subTest(what):
                    problem = self.assert_raises(ValueError, (what, "U+0000"), give, tail)
                    self.assertNotIsInstance(problem, attn.Error)  # the library has not seen it

    def test_surrogates_are_said_with_their_argument(self):
        for what, give in ARGUMENTS.items():
            with self.subTest(what):
                problem = self.assert_raises(ValueError, (what, "U+D800"), give, SURROGATE)
                self.assertNotIsInstance(problem, (attn.Error, UnicodeError))

    @needs_sources
    def test_prompts_of_sentences_come_first(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(ROOT / "tests/fixtures/sentences", folder, dirs_exist_ok=True)
            with open(f"{folder}/config_sentence_transformers.json", "w", encoding="utf-8") as file:
                json.dump({"prompts": {"film": "a film of "}}, file)
            m = attn.open(folder)
            put = m.run("clever cats", prompt_name="film", sites="sentence_embed").sentence_embed
            self.assert_same(put, m.run("a film of clever cats", sites="sentence_embed").sentence_embed)
            self.assertTrue((put != m.run("clever cats", sites="sentence_embed").sentence_embed).any())
            self.assert_raises(attn.Error, ("no prompt 'movie'", "'film'"), m.run, "clever cats", prompt_name="movie")

    def test_paths_that_are_written(self):
        result = model().run(TEXT, sites="pattern")
        with tempfile.TemporaryDirectory() as folder:
            self.assert_raises(ValueError, ("path", "U+0000"), result.save_html, f"{folder}/a.html\0.txt")
            self.assertEqual(os.listdir(folder), [])
            result.save_html(os.fsdecode(os.fsencode(folder) + b"/\xff.html"))  # no UTF-8, and a name all the same
            self.assertEqual(os.listdir(os.fsencode(folder)), [b"\xff.html"])

    def test_texts_of_models_may_hold_nul(self):
        self.assertEqual(model().tokenize("a\0b").ids.tolist(), model().tokenize(b"a\0b").ids.tolist())
        self.assertIn(b"\0", "".join(model().run("a\0b").tokens).encode())
        for give in (model().run, model().tokenize):
            self.assert_raises(ValueError, ("text", "U+D800"), give, "a" + SURROGATE)
        self.assert_raises(TypeError, "text", model().tokenize, 3)

    def test_wrong_items_are_kept_in_their_places(self):
        wrong = {"bad_text": ["a" + SURROGATE, b"\xff", {"text": SURROGATE}],
                 "no_text": [None, float("nan"), object(), {}, {"text": None}, 3],
                 "bad_ids": [[1.5], [2**70], [[1, 2], [3, 4]], [[1], [2, 3]], [-1], {"ids": ["a"]}]}
        for code, items in wrong.items():
            for item in items:
                with self.subTest(repr(item)):
                    first, kept, last = model().map([TEXT, item, KEYS], sites="pattern", on_error="keep")
                    self.assertIsNone(first.error or last.error)
                    self.assertEqual(kept.error.code, code)
                    self.assertIsInstance(kept.error, attn.InvalidError)
                    self.assertEqual((kept.error.stage, len(str(kept.error).splitlines())), ("input", 1))
                    self.assertFalse(hasattr(kept, "pattern"))
                    self.assertRaises((TypeError, ValueError), list, model().map([TEXT, item], sites="pattern"))
        (kept,) = model().map([{"text": TEXT, "source": SURROGATE, "id": 7}], measures="all", on_error="keep")
        self.assertEqual((kept.error.code, kept.id), ("bad_source", 7))


if __name__ == "__main__":
    unittest.main()
