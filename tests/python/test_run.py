"""Runs: tensors beside what attn-cli writes, bit for bit; shapes, selections, changes, events, pictures."""
import html
import json
import os
import pathlib
import pickle
import re
import struct
import sys
import tempfile
import unittest
import unittest.mock
import warnings

import numpy as np

import attn
from support import KEYS, ROOT, TEXT, TINY, TestCase, cli, cli_arrays, model, needs_cli, needs_sources


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Tensors(TestCase):
    @needs_cli
    def test_every_site_is_what_the_tool_writes(self):
        theirs = cli_arrays("-m", "fable", "--sites", "*", TEXT)
        ours = model().run(TEXT, sites="*")
        names = theirs.keys() - {"ids", "tokens"}
        self.assertEqual(names, set(ours.cache))
        for name in names:
            self.assert_same(ours.cache[name], theirs[name], name)
        self.assertEqual(ours.tokens, theirs["tokens"].tolist())
        self.assert_same(ours.ids, theirs["ids"])

    @needs_cli
    @needs_sources
    def test_selections_are_what_the_tool_writes(self):
        for arguments, options in (
                (["--sites", "pattern,z,q,k,resid_pre,logits", "--heads", "1.1,1.2,2.0", "--queries", "0,3-5,-1"],
                 dict(sites=["pattern", "z", "q", "k", "resid_pre", "logits"], heads=[(1, 1), (1, 2), (2, 0)],
                      queries=[0, "3-5", -1])),
                (["--layers", "1", "--sites", "pattern"], dict(layers=1, sites="pattern"))):
            theirs, ours = cli_arrays("-m", TINY, *arguments, KEYS), model(TINY).run(KEYS, **options)
            for name in set(ours.cache):
                self.assert_same(ours.cache[name], theirs[name], name)
            if "queries" in theirs:
                self.assert_same(ours.queries, theirs["queries"])

    @needs_cli
    def test_gradients_are_what_the_tool_writes(self):
        theirs = cli_arrays("-m", "fable", "--sites", "pattern,resid_pre", "--grad", "--target", " are", TEXT)
        ours = model().run(TEXT, sites="pattern,resid_pre", target=" are", grad=True)
        self.assertEqual(theirs.keys() - {"ids", "tokens"}, set(ours.cache))
        for name in ours.cache:
            self.assert_same(ours.cache[name], theirs[name], name)
        self.assert_same(ours.pattern_grad[2, 3], ours.cache["blocks.2.attn.hook_pattern_grad"][3])
        chosen = model().run(TEXT, sites="relevance,embed_grad", metric="ce")
        self.assertEqual(chosen.relevance[3].shape, (len(chosen.tokens), len(chosen.tokens)))
        self.assertEqual(chosen.embed_grad.shape, (len(chosen.tokens), 128))
        with self.assertRaises(ValueError):
            model().run(TEXT, grad=True)

    def test_indices_are_layer_and_head(self):
        r = model().run(TEXT, sites=["pattern", "z", "q", "k", "resid_post"])
        n = len(r.tokens)
        self.assertEqual(r.pattern[2].shape, (8, n, n))
        self.assertEqual(r.z[2].shape, (n, 8, 16))
        self.assert_same(r.pattern[2, 3], r.pattern[2][3])
        self.assert_same(r.z[2, 3], r.z[2][:, 3])
        self.assert_same(r.k[1, 5], r.cache["blocks.1.attn.hook_k"][:, 5])
        self.assertEqual(r.pattern[2, 3, 4, 1], r.pattern[2][3][4][1])
        self.assert_same(r.resid_post[3, -1], r.resid_post[3][-1])
        self.assertEqual(np.asarray(r.pattern).shape, (4, 8, n, n))
        self.assertEqual(r.pattern.shape, (4, 8, n, n))
        self.assert_same(r.cache["pattern", 2], r.pattern[2])
        self.assert_same(r.attention[2], r.pattern[2])
        np.testing.assert_allclose(np.asarray(r.pattern).sum(-1), 1, rtol=1e-5)

    def test_heads_keep_their_numbers(self):
        r = model().run(TEXT, sites="pattern,z", heads="2.*,3.1")
        whole = model().run(TEXT, sites="pattern,z")
        self.assertEqual(r.pattern.layers, [2, 3])
        self.assertEqual(r.pattern.heads(3), [1])
        self.assert_same(r.pattern[3, 1], whole.pattern[3, 1])
        self.assert_same(r.z[3, 1], whole.z[3, 1])
        self.assert_raises(IndexError, ("3.0", "1"), lambda: r.pattern[3, 0])
        self.assert_raises(IndexError, ("layer 0", "2, 3"), lambda: r.pattern[0])
        self.assert_raises(ValueError, "shape", lambda: np.asarray(r.pattern))
        for index in (True, slice(None), "2", (2, slice(None)), 1.0, None):
            self.assertRaises(IndexError, lambda: r.pattern[index])

    def test_products_are_made_in_other_numbers(self):
        exact = np.asarray(model().run(TEXT, sites="pattern").pattern)
        other = np.asarray(attn.open(compute="bf16").run(TEXT, sites="pattern").pattern)
        self.assertTrue(1e-4 < np.abs(other - exact).max() < 0.1)
        self.assert_raises(ValueError, ("'bf16x3'", "f32"), lambda: attn.open(compute="bf16x3"))

    def test_arrays_are_lent(self):
        r = model().run(TEXT, sites="pattern")
        self.assertTrue(np.shares_memory(r.pattern[2], r.pattern[2, 3]))
        self.assertTrue(np.shares_memory(r.pattern[2], r.attentions[2]))
        self.assertFalse(r.pattern[2].flags.owndata)

    def test_defaults_hold_logits(self):
        r = model().run(TEXT)
        self.assertEqual(r.logits.shape, (len(r.tokens), model().n_vocab))
        changed = model().run(TEXT, edits=[attn.zero("z", head="3.6")]).logits
        self.assertGreater(np.abs(changed - r.logits).max(), 0.1)

    def test_what_was_not_kept_is_said(self):
        r = model().run(TEXT, sites="z")
        self.assert_raises(AttributeError, ("'q' was not kept", 'sites=["q"]'), lambda: r.q)
        self.assert_raises(AttributeError, "no attribute 'nonsense'", lambda: r.nonsense)
        self.assert_raises(KeyError, "blocks.0.attn.hook_z", lambda: r.cache["blocks.9.hook_nothing"])
        self.assert_raises(KeyError, ("pattern", "blocks.0.attn.hook_z"), lambda: r.cache["pattern", 9])
        self.assertFalse(hasattr(r, "pattern"))

    def test_tokens_and_offsets(self):
        text = "eat \N{GRINNING FACE} now"
        r = model().run(text, sites="pattern")
        pieces = [text.encode()[begin:end] for begin, end in r.offsets]
        self.assertEqual(b"".join(pieces), text.encode())
        tokens = model().tokenize(text)
        self.assertEqual(tokens.tokens, r.tokens)
        self.assert_same(tokens.ids, r.ids)
        self.assert_same(tokens.offsets, r.offsets)
        self.assertEqual(model().decode(r.ids), text)

    def test_ids_and_embeddings_are_inputs_too(self):
        r = model().run(TEXT, sites="pattern,embed")
        for ids in (r.ids, r.ids.tolist(), r.ids.astype(np.int64), r.ids.astype(np.uint16)[::1], np.repeat(r.ids, 2)[::2]):
            self.assert_same(model().run(ids, sites="pattern").pattern[3], r.pattern[3])
        wide = np.zeros((len(r.ids), 2 * r.embed.shape[1]), np.float64)
        wide[:, ::2] = r.embed
        for rows in (r.embed, np.asfortranarray(r.embed), wide[:, ::2]):
            again = model().run(rows, sites="pattern")
            self.assert_same(again.pattern[3], r.pattern[3])
            self.assertIsNone(again.ids)
            self.assertIsNone(again.tokens)

    def test_views_of_memory_are_inputs_too(self):
        m = model()
        for text, view in ((KEYS, memoryview(KEYS.encode())), (KEYS, bytearray(KEYS.encode())),
                           (m.tokenize(KEYS).ids, memoryview(np.asarray(m.tokenize(KEYS).ids, np.int32)))):
            self.assert_same(m.run(view).pattern[1, 2], m.run(text).pattern[1, 2])
        wide = np.random.default_rng(1).random((3, 256), np.float32)
        for array in (wide[:, :128], wide.reshape(6, 128)[::2], wide[:, ::2]):
            self.assert_same(m.run(memoryview(array)).pattern[1, 2], m.run(array).pattern[1, 2])
        for words, call in (("next is memoryview, expected texts", lambda: m.run(KEYS, next=memoryview(wide))),
                            ("texts is one text or array", lambda: m.map(memoryview(wide)))):
            self.assert_raises(TypeError, words, call)

    def test_cross_attention_has_a_source(self):
        m = model("cross-attention") if (TINY.parent / "cross-attention").is_dir() else self.skipTest("no sources")
        source = np.ones((4, m.config["d_source"]), np.float32)
        words = list(range(min(3, m.n_vocab)))
        r = m.run(words, source=source, sites="pattern")
        self.assertEqual(r.pattern[r.pattern.layers[0]].shape[1:], (len(words), 4))


class GGUF(TestCase):
    FILE = ROOT / "tests" / "fixtures" / "gguf" / "tiny.gguf"

    @needs_sources
    def test_a_file_and_its_name_in_a_store_of_ollama_give_the_same(self):
        digest = "0" * 64
        layer = {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}"}
        with tempfile.TemporaryDirectory() as store:
            manifests, blobs = pathlib.Path(store, "manifests/h/library/m"), pathlib.Path(store, "blobs")
            manifests.mkdir(parents=True), blobs.mkdir()
            (manifests / "latest").write_text(json.dumps({"layers": [layer]}))
            (blobs / f"sha256-{digest}").symlink_to(self.FILE)
            with unittest.mock.patch.dict(os.environ, OLLAMA_MODELS=store):
                theirs = attn.Model("ollama:m").run([1, 2, 3], sites="pattern")
                self.assertIn("ollama:h/library/m:latest", list(attn.models()["name"]))
        vocab = ROOT / "models" / "life-is-short" / "vocab.json"  # another vocabulary, the same file
        ours = attn.Model(self.FILE, vocab=vocab).run([1, 2, 3], sites="pattern")
        name = "blocks.0.attn.hook_pattern"
        self.assert_same(ours.cache[name], theirs.cache[name])


class Vocabularies(TestCase):
    @needs_sources
    def test_a_file_of_letters_or_of_llama2_c_is_read_as_by_the_tool(self):
        with tempfile.TemporaryDirectory() as folder:
            letters, pieces = pathlib.Path(folder, "meta.pkl"), pathlib.Path(folder, "tok.bin")
            letters.write_bytes(pickle.dumps({"stoi": {"a": 0, "b": 1}}, protocol=2))
            pieces.write_bytes(struct.pack("<ifi1sfi1s", 1, 0, 1, b"a", 0, 1, b"b"))
            self.assertEqual(list(attn.open("fable", vocab=letters).tokenize("bab").ids), [1, 0, 1])
            for path in (letters, pieces):
                path.write_bytes(b"\x80\2}.")
            for path, text in (letters, "dictionary 'stoi'"), (pieces, "no tokenizer of llama2.c"):
                with self.assertRaisesRegex(attn.FormatError, text):
                    attn.open("fable", vocab=path).tokenize("ab")


class Changes(TestCase):
    @needs_cli
    def test_edits_are_what_the_tool_does(self):
        for arguments, options in (
                (["--ablate", "3.6,3.5"], dict(edits=[attn.zero("z", head="3.6,3.5")])),
                (["--ablate", "3.6,3.5"], dict(edits=attn.zero("z", head=[(3, 6), "L3H5"]))),
                (["--ablate", "2.*"], dict(edits=[attn.zero("z", layer=2)])),
                (["--ablate", "3.6"], dict(ablate=(3, 6))),
                (["--ablate", "mean:3.6"], dict(ablate="mean:3.6")),
                (["--ablate", "0.3,uniform:1.*"], dict(ablate=["0.3", "uniform:1.*"])),
                (["--knockout", "dessert>eat@2.*"], dict(knockout=["dessert>eat@2.*"])),
                (["--attention", "window:3"], dict(attention="window:3")),
                (["--mask", "none", "--attention", "scale=off"], dict(mask="none", scale=False)),
                (["--attention", "masking=zero", "--attention", "eps=0.5"], dict(masking="zero", eps=0.5)),
                (["--attention", "dropout=0.5:3"], dict(dropout=0.5, seed=3)),
                (["--attention", "similarity=cosine", "--attention", "algorithm=blockwise"], dict(similarity="cosine", algorithm="blockwise"))):
            theirs = cli_arrays("-m", "fable", *arguments, "--sites", "pattern,logits", TEXT)
            ours = model().run(TEXT, sites="pattern,logits", **options)
            self.assert_same(ours.logits, theirs["logits"], arguments)
            self.assert_same(ours.pattern[3], theirs["blocks.3.attn.hook_pattern"], arguments)

    def test_data_of_edits(self):
        m, base = model(), model().run(TEXT, sites="resid_pre,pattern,attn_scores,logits")
        row = np.arange(base.resid_pre[2].shape[1], dtype=np.float64)
        added = m.run(TEXT, sites="resid_pre", edits=[attn.add("resid_pre", row, layer=2, queries=4)])
        want = base.resid_pre[2].copy()
        want[4] += row.astype(np.float32)
        self.assert_same(added.resid_pre[2], want)
        same = m.run(TEXT, sites="logits", edits=[attn.replace("resid_pre", base.resid_pre[2], layer=2)])
        self.assert_same(same.logits, base.logits)
        twice = m.run(TEXT, sites="resid_pre", edits=[attn.scale("resid_pre", 2, layer=2)])
        self.assert_same(twice.resid_pre[2], base.resid_pre[2] * 2)
        masked = m.run(TEXT, sites="pattern", edits=[attn.mask(head="2.3", queries=slice(3, 5), columns=0)])
        self.assertEqual(masked.pattern[2, 3][3:5, 0].tolist(), [0, 0])
        self.assertGreater(masked.pattern[2, 3][5, 0], 0)
        constant = m.run(TEXT, sites="resid_pre", edits=[attn.add("resid_pre", 1.5, layer=0, queries=(0, 2), columns=(0, 3))])
        np.testing.assert_array_equal((constant.resid_pre[0] - base.resid_pre[0])[:2, :3] > 1.4, True)

    def test_functions_edit_as_other_edits_do(self):
        m, seen = model(), []
        n = len(m.run(TEXT).tokens)

        def off(event):
            seen.append((event.layer, event.head, event.row0, event.data.shape))
            return np.zeros_like(event.data) if event.head == 6 else None

        want = m.run(TEXT, sites="*", edits=attn.zero("z", head="3.6"))
        ours = m.run(TEXT, sites="*", edits={"blocks.3.attn.hook_z": off})
        for name in want.cache:
            self.assert_same(ours.cache[name], want.cache[name], name)
        self.assertEqual(seen, [(3, head, 0, (n, 16)) for head in range(8)])
        long = " ".join([TEXT] * 12)  # a matrix that is computed in several parts

        def uniform(event):
            rows = np.tril(np.ones_like(event.data))
            self.assertEqual(event.row0, 0)
            return rows / rows.sum(1, keepdims=True) if (event.layer, event.head) == (1, 3) else event.data

        self.assert_same(m.run(long, sites="logits", edits={"pattern": uniform}).logits,
                         m.run(long, sites="logits", ablate="uniform:1.3").logits)
        for site in set(m.sites) - {"sink"}:  # what is returned as it came changes no bit
            self.assert_same(m.run(TEXT, edits={site: lambda event: event.data}, attention="random:3").logits,
                             m.run(TEXT, attention="random:3").logits, site)
        self.assertEqual(m.run(TEXT, sites=[], top=1, edits={"z": off}).predictions.top["token"].tolist(),
                         m.run(TEXT, sites=[], top=1, edits=attn.zero("z", head="*.6")).predictions.top["token"].tolist())
        drawn = m.run(TEXT, sites="pattern", edits={"resid_pre": lambda event: 0 * event.data})
        self.assertEqual(drawn.svg(heads="3.6"), m.run(TEXT, edits=attn.zero("resid_pre")).svg(sites="pattern", heads="3.6"))

    def test_functions_that_cannot_be(self):
        m = model()
        given = {"edits": {"z": lambda event: event.data}}

        def reshaped(event):
            event.data.shape = event.data.shape[::-1]
            return event.data

        for edits, error, words in (
                ({"zz": abs}, ValueError, ("zz", "blocks.2.attn.hook_z")), ({"cross:z": abs}, ValueError, "stack"),
                ({"blocks.9.attn.hook_z": abs}, attn.InvalidError, ("'z'", "layer 9")), ({"z": 3}, TypeError, "int"),
                ({"rollout": abs}, attn.InvalidError, "rollout"), ({"z_grad": abs}, attn.InvalidError, "z_grad"),
                ({3: abs}, TypeError, "key"), ({"z": lambda event: event.data[:1]}, ValueError, ("'z'", "[1, 16]")),
                ({"z": lambda event: "x"}, TypeError, "'z'"), ({"z": lambda event: 1 / 0}, ZeroDivisionError, "division"),
                ({"pattern": lambda event: 1 / 0}, ZeroDivisionError, "division"),
                ({"z": lambda event: event.data * np.nan}, attn.InvalidError, ("'z'", "finite")),
                ({"z": lambda event: setattr(event, "data", np.ones((4, 5)))}, AttributeError, ("[7, 16]", "[4, 5]", "returns")),
                ({"z": reshaped}, ValueError, ("'z'", "[16, 7]", "[7, 16]")),
                ({"z": lambda event: np.ma.masked_less(event.data, 0)}, TypeError, ("'z'", "masked", "filled"))):
            self.assert_raises(error, words, m.run, TEXT, edits=edits)
        self.assert_same(m.run(TEXT, edits={"z": lambda event: np.ma.masked_less(event.data, -1e9)}).z[0], m.run(TEXT).z[0])
        self.assert_raises(attn.InvalidError, "'z'", m.run, TEXT, target=" are", grad=True, sites="z", **given)
        self.assert_raises(TypeError, ("edits", "Model.run"), m.run, items=[{"text": TEXT}], **given)
        for ask in (lambda: list(m.map([TEXT], **given)), lambda: m.ablate(TEXT, target=" are", **given),
                    lambda: m.generate(TEXT, **given)):
            self.assert_raises(TypeError, ("edits", "Model.run"), ask)

    def test_edits_that_cannot_be(self):
        m = model()
        self.assert_raises(ValueError, ("zz", "pattern"), attn.zero, "zz")
        self.assert_raises(ValueError, "layer", attn.zero, "z", head="3.6", layer=3)
        self.assert_raises(ValueError, "head", attn.zero, "z", head="three")
        self.assert_raises(TypeError, "columns", attn.zero, "z", columns="it")
        self.assert_raises(ValueError, "queries", attn.zero, "z", queries=(3, 3))
        self.assert_raises(ValueError, "shape", attn.add, "z", np.zeros((2, 3)), queries=(0, 5), columns=(0, 3))
        self.assert_raises(TypeError, "float", attn.add, "z", ["a"])
        self.assert_raises(TypeError, "edits", m.run, TEXT, edits=["z"])
        for edit in (attn.zero("z", head="3.8"), attn.zero("z", head="4.0"), attn.zero("logits", columns=(0, 9999)),
                     attn.replace("resid_pre", np.zeros((100, 64)), layer=0), attn.mask("pattern")):
            self.assert_raises(attn.InvalidError, "", m.run, TEXT, edits=[edit])

    @needs_cli
    def test_continuations_of_ids(self):
        m = model()
        are = 1048
        found = m.run(KEYS, sites=[], next=[" are", are, [are, 5], " is"]).predictions.next
        self.assertEqual(found["text"].tolist(), [" are", " is", str(are), f"{are},5"])
        self.assertEqual(found["log_prob"][0], found["log_prob"][2])
        self.assertLess(found["log_prob"][3], found["log_prob"][2])
        self.assertEqual(m.run(KEYS, sites=[], next=are).predictions.next["log_prob"].tolist(), [found["log_prob"][0]])
        self.assertEqual(next(iter(m.map([KEYS], next=[[are]]))).predictions.next["log_prob"].tolist(), [found["log_prob"][0]])
        rows = m.run(items=[{"text": KEYS, "next": f"ids:{are}"}, {"text": KEYS, "next": [" are"]}])["rows"]
        self.assertEqual([row["log_prob"] for row in rows], [rows[0]["log_prob"]] * 2)
        with self.assertRaisesRegex(attn.Error, "next_ids 99999"):
            m.run(KEYS, sites=[], next=[[99999]])
        with self.assertRaisesRegex(ValueError, "next holds -1"):
            m.run(KEYS, sites=[], next=[[-1]])
        with self.assertRaisesRegex(TypeError, "next is an array of float64"):
            m.run(KEYS, sites=[], next=[[0.5]])

    def test_predictions(self):
        import json
        seen = json.loads(cli("run", "-q", "--top", 3, "--next", " are", "--sites", "pattern", "--json", "-", KEYS))
        ours = model().run(KEYS, top=3, next=[" are"], sites="pattern").predictions
        top = seen["predictions"]["top"]
        self.assertEqual(ours.top["id"].tolist(), [row["id"] for row in top])
        self.assertEqual(ours.top["token"].tolist(), [row["token"] for row in top])
        np.testing.assert_allclose(ours.top["prob"], [row["prob"] for row in top], rtol=1e-6)
        self.assertEqual(ours.next["text"].tolist(), [" are"])
        found = model().run(KEYS, target=" are", foil=" is", queries=[1, -1], sites="pattern").predictions
        self.assertEqual((found.top, found.next, found.metric.columns), (None, None, ["position", "value", "metric"]))
        logits = model().run(KEYS, sites="logits").logits[[1, -1]].astype(np.float64)
        are, keys = (cli("tokenize", "-m", "fable", "--format", "ids", text).split()[0] for text in (" are", " is"))
        np.testing.assert_allclose(found.metric["value"], logits[:, int(are)] - logits[:, int(keys)], rtol=1e-12)
        found = model().run(KEYS, target=int(are), metric="logit", sites="pattern").predictions.metric
        self.assertEqual((found["value"][0], found["metric"][0]), (logits[1, int(are)], "logit"))
        with self.assertRaises(attn.Error):
            model().run(KEYS, foil=" is")
        with self.assertRaises(TypeError):
            model().diff(KEYS, "The key", target=" is")
        one = model().run(KEYS, top=1, sites="pattern").predictions
        self.assertEqual((len(one.top), one.next), (1, None))


class Spaces(TestCase):
    def test_forgotten_spaces_are_warnings(self):
        m = model()
        for ask in (lambda: m.run("The keys", next=["are", "is"]), lambda: m.run("The keys", target="are"),
                    lambda: m.run("The keys "), lambda: m.ablate("The keys", target="are"),
                    lambda: m.lens("The keys", target="are"), lambda: m.generate("The keys ", 1),
                    lambda: m.heads(items=["The keys", "The cat "]),
                    lambda: list(m.map(["The keys", "The cat"], next=["is"], sites="z"))):
            with self.assertWarnsRegex(UserWarning, "a new word begins with its space") as caught:
                ask()
            self.assertEqual(len(caught.warnings), 1)
            self.assertEqual(caught.filename, __file__)
            self.assertIsInstance(caught.warning, attn.NoteWarning)
            self.assertEqual(caught.warning.code, "spaces")

    def test_notes_have_codes(self):
        notes = model().run("The keys to the cabinet", ablate="0.0", knockout=["0>2"], attention="window:2").notes
        self.assertEqual([note.code for note in notes], ["edit_masked", "edit_rows", "pairs"])
        again = pickle.loads(pickle.dumps(notes[0]))
        self.assertEqual((again, again.code), (notes[0], "edit_masked"))

    def test_spaces_that_are_there_are_none(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model().run("The keys", next=[" are"], target=" are")
            model().run("The keys.", next=["are"])


class Events(TestCase):
    def test_events_give_the_tensors(self):
        whole = model().run(TEXT, sites="pattern,z,resid_pre")
        seen = []

        def hear(event):
            got = (whole.resid_pre[event.layer] if event.head is None else
                   getattr(whole, event.site)[event.layer, event.head])
            part = got[event.row0:event.row0 + len(event.data)]
            np.testing.assert_array_equal(np.where(np.isfinite(part), part, 0), np.where(part == 0, 0, event.data))
            seen.append((event.site, event.layer, event.head))

        r = model().run(TEXT, sites="pattern,z,resid_pre", on_event=hear)
        self.assertEqual(len(set(seen)), 4 * 8 * 2 + 4)
        self.assertFalse(hasattr(r, "pattern"))
        self.assertEqual(r.tokens, whole.tokens)

    def test_events_of_sparse_attention_say_their_keys(self):
        whole = model().run(TEXT, sites="pattern", attention="window:2")
        cells = np.zeros_like(whole.pattern[1, 1])

        def hear(event):
            for row, keys in enumerate(event.keys):
                cells[event.row0 + row, keys] = event.data[row, :len(keys)]

        model().run(TEXT, sites="pattern", heads="1.1", attention="window:2", on_event=hear)
        self.assert_same(cells, whole.pattern[1, 1])

    def test_a_callback_cannot_change_the_run(self):
        """Whatever the site, the kind of attention and the way to the memory: a write is an error of numpy."""
        m, seen, rows = model(), set(), np.eye(4, dtype=np.float32)

        def hear(event):
            seen.add(event.site)
            for array in (event.data, *(event.keys or ())):
                views = [array, array[:], array[..., :1], array.T, array.view(), array.view(np.int32), np.asarray(memoryview(array))]
                while isinstance(views[-1].base, np.ndarray):
                    views.append(views[-1].base)
                views += [np.asarray(views[-1].base), np.asarray(array.base)]
                for view in views:
                    self.assertTrue(np.shares_memory(view, array), event)
                    self.assert_raises(ValueError, "WRITEABLE", view.setflags, write=True)
                    self.assert_raises(ValueError, "read-only", view.fill, 0)
            self.assert_raises(ValueError, "read-only", np.divide, event.data, 2, out=event.data)

        expected = m.run(KEYS, sites="logits").logits
        m.run(KEYS, sites=m.sites, on_event=hear)
        gradients = {"pattern_grad", "z_grad", "pattern_x_grad", "relevance", "rollout", "weighted_pattern"}
        m.run(KEYS, sites=sorted(gradients), target=" are", on_event=hear)
        m.run(KEYS, sites="value_zeroing", on_event=hear)
        self.assertEqual(seen, {*m.sites, *gradients, "value_zeroing"})
        for kind, sites in (("window:2", "qk,pattern,z"), ("log", "pattern"), ("linear:elu", "pattern,z")):
            m.run(KEYS, sites=sites, attention=kind, on_event=hear)
        attn.attend(rows, rows, rows, sites="attn_scores,pattern,z", on_event=hear)
        attn.attend(rows, rows, rows, sites="pattern_lowrank", attention="lowrank:2", on_event=hear)
        self.assert_same(m.run(KEYS, sites="logits").logits, expected)

    def test_exceptions_of_a_callback_end_the_run(self):
        calls = []

        def fail(event):
            calls.append(event)
            raise LookupError("enough")

        self.assert_raises(LookupError, "enough", model().run, TEXT, sites="pattern", on_event=fail)
        self.assertEqual(len(calls), 1)

    def test_a_callback_may_run_the_model(self):
        inner = []
        model().run("The keys", sites="pattern", heads="0.0",
                    on_event=lambda event: inner.append(model().run("Life is", sites="pattern").pattern[0, 0]))
        self.assertEqual(inner[0].shape, (2, 2))


class Pictures(TestCase):
    def test_svg(self):
        r = model().run(KEYS)
        self.assertTrue(r.svg().startswith("<svg"))
        self.assertEqual(r._repr_svg_(), r.svg())
        shown = r._repr_mimebundle_()
        self.assertEqual(sorted(shown), ["image/svg+xml", "text/html", "text/plain"])
        self.assertEqual(shown["image/svg+xml"], r.svg())
        self.assertEqual(html.unescape(shown["text/html"].split('"')[1]), r.render("html").decode())
        self.assertEqual(r.head(2, 5)._repr_svg_(), r.svg(heads="2.5"))
        self.assertNotEqual(r.svg(heads="2.3"), r.svg())
        self.assertIn("<svg", r.svg(heads="2.3", figure="matrix", colormap="magma", title="one",
                                    hide="first", renormalize=True, merge_words=True, theme="dark"))
        self.assert_raises(ValueError, ("nope", "blues"), r.svg, colormap="nope")
        self.assert_raises(ValueError, "nope", r.render, "nope")
        self.assert_raises(TypeError, "unexpected", r.svg, color="red")
        self.assert_raises(attn.InvalidError, "figure", r.svg, figure="nope")

    @needs_cli
    def test_heads_of_an_answer(self):
        """A table of its own, drawn with the changes of the result."""
        for options, given in (({}, []), ({"ablate": "1.1"}, ["--ablate", "1.1"]), ({"queries": "keys"}, ["--queries", "keys"])):
            with self.subTest(given):
                r = model().run(KEYS, **options)
                self.assertEqual(r.svg(figure="answer").encode(), cli("run", "-q", *given, "--figure", "answer", "--svg", "-", KEYS))
                self.assertIn(b"<svg", r.render("html", figure="answer"))
        self.assert_raises(attn.InvalidError, "one query", model().run(KEYS, queries="0,1").svg, figure="answer")

    @needs_cli
    def test_files_are_those_of_the_tool(self):
        import tempfile
        r = model().run(KEYS, sites="pattern,z")
        with tempfile.TemporaryDirectory() as folder:
            cli("run", "-q", "-m", "fable", "--svg", f"{folder}/theirs.svg", KEYS)
            r.save_svg(f"{folder}/ours.svg")
            self.assertEqual(read(f"{folder}/ours.svg"), read(f"{folder}/theirs.svg"))
            # without --top the tool finds what heads do for the next token, and opens with the one that does most
            cli("run", "-q", "-m", "fable", "--top", "3", "--html", f"{folder}/theirs.html", KEYS)
            model().run(KEYS, top=3).save_html(f"{folder}/ours.html")
            self.assertIn('"predictions"', read(f"{folder}/ours.html"))
            self.assertEqual(read(f"{folder}/ours.html"), read(f"{folder}/theirs.html"))
            r.save_npz(f"{folder}/ours.npz")
            with np.load(f"{folder}/ours.npz") as archive:
                self.assert_same(archive["blocks.2.attn.hook_pattern"], r.pattern[2])
            cli("run", "-q", "-m", "fable", "--sites", "pattern_grad", "--target", " are", "--foil", "ids:5", "--svg",
                f"{folder}/theirs.svg", KEYS)
            model().run(KEYS, sites="pattern_grad", target=" are", foil=5).save_svg(f"{folder}/ours.svg")
            for name in "ours", "theirs":
                self.assertIn("target are, foil ids:5", read(f"{folder}/{name}.svg"))
            self.assert_raises(attn.FileError, "", r.save_svg, f"{folder}/none/ours.svg")
            self.assert_raises(OSError, "", r.save_npz, f"{folder}/none/ours.npz")

    def test_show_prints_where_there_is_no_notebook(self):
        import contextlib
        import io
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            model().run(KEYS).show()
        self.assertIn("cabinet", out.getvalue())
        self.assertNotIn("--", out.getvalue())

    @needs_sources
    @needs_cli
    def test_heads_have_the_types_that_the_tool_keeps(self):
        def letters(**options):
            with attn.open(TINY, **options) as m:
                return re.findall(">([a-z>.=?-])</text>", m.run("The was on").svg(figure="under", queries="-1"))

        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.dict(os.environ, {"ATTN_CLI_CACHE": f"{folder}/attn-cli"}):
            self.assertEqual(letters(), [])
            cli("probe", "-q", "-m", TINY, "texts")
            drawn = cli("run", "-q", "-m", TINY, "--queries=-1", "--figure=under", "--svg=-", "The was on").decode()
            self.assertEqual(letters(), re.findall(">([a-z>.=?-])</text>", drawn))
            self.assertTrue(letters())
            self.assertEqual(letters(config=TINY / "config.json"), [])
            os.environ["ATTN_CLI_CACHE"] = "off"
            self.assertEqual(letters(), [])
            os.environ["ATTN_CLI_CACHE"], os.environ["XDG_CACHE_HOME"] = "", folder
            self.assertTrue(letters())

    def test_show_displays_in_a_notebook(self):
        shown = []

        class IPython:
            display = None

            @staticmethod
            def get_ipython():
                return type("Shell", (), {"kernel": 1})()

        class Display:
            display = staticmethod(lambda data, raw: shown.append(data))

        sys.modules["IPython"], sys.modules["IPython.display"] = IPython, Display
        try:
            model().run(KEYS).show(heads="2.3")
        finally:
            del sys.modules["IPython"], sys.modules["IPython.display"]
        self.assertIn("<svg", shown[0]["image/svg+xml"])


if __name__ == "__main__":
    unittest.main()
