"""Tables of experiments beside those of attn-cli; generated texts."""
import math
import tempfile
import unittest

import numpy as np

import attn
from support import KEYS, TEXT, TestCase, cli, cli_table, model, needs_cli

ANSWER = ["--target", " are", "--foil", " is"]
HOW = dict(target=" are", foil=" is")
KEY = "The key to the cabinet"
PAIR = ["--clean", "The keys to the cabinet", "--corrupted", KEY, *ANSWER]


class Tables(TestCase):
    @needs_cli
    def test_tables_are_those_of_the_tool(self):
        m = model()
        for arguments, table in (
                (["heads", KEYS], m.heads(KEYS)),
                (["probe", "induction:10:2:3", "--sort", "induction", "--limit", "3"],
                 m.probe("induction:10:2:3", sort="induction", limit=3)),
                (["probe", "induction:10:3:7", "--runs", "2"], m.probe("induction:10:3:7", runs=2)),
                (["probe", "needle:20:0.5:1"], m.probe("needle:20:0.5:1")),
                (["heads", "--from-weights"], m.heads(from_weights=True)),
                (["heads", "--from", "cabinet", "--to", "keys", KEYS], m.heads(KEYS, from_="cabinet", to="keys")),
                (["heads", "--measures", "self,punctuation,n_punctuation", TEXT],
                 m.heads(TEXT, measures=["self", "punctuation", "n_punctuation"])),
                (["heads", "--effect", *ANSWER, KEYS], m.heads(KEYS, effect=True, **HOW)),
                (["ablate", *ANSWER, KEYS], m.ablate(KEYS, **HOW)),
                (["ablate", *ANSWER, "--by", "mlp", "--replacement", "mean", KEYS],
                 m.ablate(KEYS, by="mlp", replacement="mean", **HOW)),
                (["ablate", *ANSWER, "--set", "a=1.1,2.5", "--set", "b=3.*", KEYS],
                 m.ablate(KEYS, sets={"a": [(1, 1), (2, 5)], "b": "3.*"}, **HOW)),
                (["ablate", *ANSWER, "--set", "3.*", KEYS], m.ablate(KEYS, sets=["3.*"], **HOW)),
                (["ablate", "--metric", "kl", "--by", "neuron:2", KEYS],
                 m.ablate(KEYS, metric="kl", by="neuron:2")),
                (["patch", "--clean", KEYS, "--corrupted", "The key to the cabinet", *ANSWER, "--site", "z"],
                 m.patch(KEYS, "The key to the cabinet", site="z", **HOW)),
                (["lens", "--top", "2", KEYS], m.lens(KEYS, top=2)),
                (["lens", "--target", " are", "--queries", "0,1", KEYS], m.lens(KEYS, target=" are", queries=[0, 1])),
                (["attribute", *ANSWER, KEYS], m.attribute(KEYS, **HOW)),
                (["attribute", "--by", "token", "--limit", "5", *ANSWER, KEYS],
                 m.attribute(KEYS, by="token", limit=5, **HOW)),
                (["attribute", "--method", "ig:8", *ANSWER, KEYS], m.attribute(KEYS, method="ig:8", **HOW)),
                (["attribute", "--method", "ig:8", "--baseline", "text:The key to the cabinet", *ANSWER, KEYS],
                 m.attribute(KEYS, method="ig:8", baseline_text="The key to the cabinet", **HOW)),
                (["attribute", "--method", "attnlrp", "--merge-words", *ANSWER, KEYS],
                 m.attribute(KEYS, method="attnlrp", merge_words=True, **HOW)),
                (["attribute", "--method", "attn_x_grad", "--limit", "7", *ANSWER, KEYS],
                 m.attribute(KEYS, method="attn_x_grad", limit=7, **HOW)),
                (["attribute", "--method", "causes", *ANSWER, KEYS], m.attribute(KEYS, method="causes", **HOW)),
                (["patch", "--estimate", "ig:2", "--site", "z", "--by", "position", "--verify", "3:1", *PAIR],
                 m.patch(KEYS, KEY, site="z", estimate="ig:2", by="position", verify=3, seed=1, **HOW)),
                (["patch", "--estimate", "atp", "--positions", "noun=1", "--positions", "end=-1", "--verify", "2", *PAIR],
                 m.patch(KEYS, KEY, estimate="atp", positions={"noun": 1, "end": -1}, verify=2, **HOW)),
                (["patch", "--estimate", "atp", "--site", "mlp_post", "--limit", "4", "--direction", "noise", *PAIR],
                 m.patch(KEYS, KEY, site="mlp_post", estimate="atp", limit=4, direction="noise", **HOW)),
                (["score", KEYS], m.score(KEYS)),
                (["diff", KEYS, "The dogs to the cabinet"], m.diff(KEYS, "The dogs to the cabinet")),
                (["heads", "--by", "pair", "--limit", "3", KEYS], m.heads(KEYS, by="pair", limit=3)),
                (["diff", "--with-attention", "window:2", KEYS], m.diff(KEYS, with_attention="window:2"))):
            rows = cli_table(arguments[0], "-m", "fable", *arguments[1:])
            self.assertEqual(len(table), len(rows), arguments)
            self.assertEqual(table.columns, list(rows[0]), arguments)
            for ours, theirs in zip(table, rows):
                for name, value in theirs.items():
                    self.same_cell(ours[name], value, (arguments[0], name))

    def same_cell(self, ours, theirs, where):
        if theirs is None:
            self.assertTrue(ours is None or math.isnan(ours), where)
        elif isinstance(theirs, float) or isinstance(ours, float):
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-7, err_msg=str(where))
        else:
            self.assertEqual(ours, theirs, where)

    def test_estimates(self):
        m = model()
        t = m.patch("The keys to the cabinet", KEY, site="q", estimate="atp", verify=4, by="position", **HOW)
        self.assertEqual(t.columns, ["part", "layer", "head", "position", "token", "estimate", "value", "change", "effect", "check", "row_type"])
        self.assertEqual([row["row_type"] for row in t][:3], ["reference", "reference", "data"])
        self.assertEqual(len(t.where(row_type="data")), len(t) - 2)
        self.assertEqual((len(t), t.info["top"]["n"], t.info["random"]["n"]), (2 + 4 * 8 * 5, 4, 4))
        self.assertGreater(t.info["top"]["pearson"], 0.5)
        self.assertIn("direction restore", t.notes[0])
        self.assertIn("estimated share", t._repr_svg_())
        items = m.patch(items=[dict(clean="The keys to the cabinet", corrupted=KEY, target=" are", foil=" is")], site="q",
                        estimate="atp")
        np.testing.assert_allclose(items["estimate"][2:], m.patch("The keys to the cabinet", KEY, site="q", estimate="atp",
                                                                  verify=0, **HOW)["estimate"][2:])
        self.assert_raises(attn.InvalidError, ("effect", "estimate"), items.sort, "effect")
        for problem, arguments in ((TypeError, {"estimate": "atp", "control": 3}), (TypeError, {"by": "position"}),
                                   (ValueError, {"estimate": "foo"}), (attn.InvalidError, {"site": "mlp_post"})):
            with self.assertRaises(problem):
                m.patch("The keys to the cabinet", KEY, **HOW, **arguments)

    def test_columns(self):
        t = model().heads(KEYS)
        self.assertEqual((len(t), t["layer"].dtype, t["entropy"].dtype), (32, np.int64, np.float64))
        self.assertEqual(t.units["entropy"], "nats")
        self.assertEqual(t.grid("entropy").shape, (4, 8))
        self.assertEqual(list(t.to_dict()), t.columns)
        self.assertIn("entropy", str(t))
        self.assertIn("<td>", t._repr_html_())
        self.assert_raises(KeyError, "columns are layer", lambda: t["nope"])
        ablated = model().ablate(KEYS, **HOW)
        self.assertTrue(math.isnan(ablated["layer"][0]))
        self.assertEqual(ablated["part"][0], "base")
        self.assertEqual(ablated.info["sites"], "z")

    def test_sums(self):
        t = model().score(TEXT)
        self.assertEqual(t.info["n_token"], len(t) - 1)
        self.assertAlmostEqual(t.info["perplexity"], math.exp(np.nansum(t["nats"]) / (len(t) - 1)), places=3)
        t = model().heads(items=[KEYS, TEXT])
        self.assertIn("entropy_sd", t.columns)

    def test_means_over_texts(self):
        m, two = model(), [KEYS, "The key to the cabinet"]
        one = [m.lens(text, target=" are") for text in two]
        np.testing.assert_allclose(m.lens(items=two, target=" are")["prob"], (one[0]["prob"] + one[1]["prob"]) / 2,
                                   rtol=1e-5)
        one = [m.ablate(text, **HOW) for text in two]
        np.testing.assert_allclose(m.ablate(items=two, **HOW)["value"], (one[0]["value"] + one[1]["value"]) / 2,
                                   rtol=1e-5)
        one = [m.attribute(text, **HOW) for text in two]
        t = m.attribute(items=two, **HOW)
        np.testing.assert_allclose(t["attribution"], (one[0]["attribution"] + one[1]["attribution"]) / 2, rtol=1e-4, atol=1e-6)
        self.assertIn("attribution_sd", t.columns)
        t, one = m.score(items=two), [m.score(text).info["nats"] for text in two]
        self.assertEqual((len(t), t["n"][0]), (1, 2))
        self.assertAlmostEqual(t["nats"][0], sum(one) / 2, 4)
        self.assert_same(m.lens(items=two)["prob"], m.lens(items=[{"text": text, "at": -1} for text in two], top=3)["prob"])

    def test_kinds_of_attention(self):
        found = model().diff(KEYS, with_attention="window:2")
        for table in (found, model().diff(items=[{"text": KEYS}] * 2, with_attention="window:2")):
            self.assertAlmostEqual(table.info["perplexity"], model().score(KEYS).info["perplexity"], places=9)
            self.assertTrue(table.info["kl"] > 0 and 0 <= table.info["same_top"] <= 1)
        self.assertEqual(found["recall"].shape, (32,))
        self.assertTrue(((found["recall"] > 0) & (found["recall"] <= 1)).all())
        self.assertNotIn("recall", model().diff(KEYS, KEY).columns)

    def test_pandas(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("there is no pandas")
        frame = model().heads(KEYS).to_pandas()
        self.assertIsInstance(frame, pandas.DataFrame)
        self.assertEqual(frame.shape, (32, len(frame.columns)))

    def test_a_lens_reads_the_maps_of_a_folder(self):
        m, d = model(), model().d_model
        with tempfile.TemporaryDirectory() as folder:
            for layer in range(m.n_layer):
                noise = np.random.default_rng(layer).standard_normal((d, d))
                np.save(f"{folder}/{layer}.npy", (np.eye(d) + 0.01 * noise).astype(np.float32))
            for asked in (dict(text=KEYS), dict(items=[{"text": KEYS, "target": " are"}])):
                self.assertNotEqual(m.lens(**asked).to_dict(), m.lens(**asked, map=folder).to_dict())
            self.assert_raises(TypeError, "heads_out", m.lens, KEYS, map=folder, heads_out=True)
            np.save(f"{folder}/0.npy", np.full((d, d), np.inf, np.float32))
            self.assert_raises(attn.FormatError, "of layer 0 that are not finite", m.lens, KEYS, map=folder)

    def test_edits_without_effect_are_named(self):
        m = model()
        for ask in (m.heads, m.score, m.lens, lambda text, **how: m.attribute(text, **HOW, **how),
                    lambda text, **how: m.ablate(text, **HOW, **how), lambda text, **how: m.diff(text, "The", **how),
                    lambda text, **how: m.patch(text, "The key", **HOW, **how)):
            notes = ask("The keys", edits=attn.scale("z", 1, head="2.2")).notes
            self.assertEqual([note for note in notes if note.startswith("the edit 'z:2.2' changed nothing")], notes)
            self.assertEqual(len(notes), 1)
            self.assertEqual(ask("The keys", edits=attn.scale("z", 0.5, head="1.1")).notes, [])

    def test_options_without_effect_are_refused(self):
        m, text = model("fable"), "The keys"
        for name, options, unused in (("heads", {}, "queries"), ("ablate", {"target": " are"}, "layers"),
                                      ("attribute", {"target": " are"}, "top"), ("score", {}, "sites"),
                                      ("lens", {}, "heads"), ("generate", {}, "top"),
                                      ("diff", {"b": "The key"}, "queries"), ("align", {"source": "a"}, "sites"),
                                      ("patch", {"corrupted": "The key", "target": " are"}, "sites")):
            self.assert_raises(TypeError, f"'{unused}'", getattr(m, name), text, **options, **{unused: "1"})

    @needs_cli
    def test_two_sources(self):
        found = attn.open("interpreter").patch("猫坐在", "猫坐在", target="垫", site="v", queries="mat",
                                               source="The cat sat on the mat",
                                               corrupted_source="The cat sat on the box")
        table = cli_table("patch", "-m", "interpreter", "--clean", "猫坐在", "--corrupted", "猫坐在", "--target", "垫",
                          "--site", "v", "--queries", "mat", "--source", "The cat sat on the mat",
                          "--corrupted-source", "The cat sat on the box")
        for ours, theirs in zip(found, table):
            self.same_cell(ours["effect"], theirs["effect"], "patch")

    def test_questions_that_cannot_be(self):
        m = model()
        for kind, words, ask in (
                (attn.InvalidError, "target", lambda: m.ablate(KEYS)),
                (attn.InvalidError, "", lambda: m.ablate(KEYS, target=" no such token")),
                (attn.InvalidError, "`from_` is given without `to`", lambda: m.heads(KEYS, from_="keys")),
                (attn.InvalidError, ("nope", "punctuation"), lambda: m.heads(KEYS, measures="nope")),
                (ValueError, ("by", "head"), lambda: m.ablate(KEYS, by="all")),
                (ValueError, "metric", lambda: m.ablate(KEYS, metric="f1")),
                (ValueError, "direction", lambda: m.patch(KEYS, KEYS, direction="up", **HOW)),
                (attn.InvalidError, "", lambda: m.patch(KEYS, "The key", **HOW)),
                (attn.InvalidError, "", lambda: m.heads(KEYS, pattern=np.ones((2, 2)))),
                (ValueError, "pattern", lambda: m.heads(KEYS, pattern=np.ones(2))),
                (TypeError, "unexpected", lambda: m.score(KEYS, temperature=3))):
            self.assert_raises(kind, words, ask)


class Generate(TestCase):
    @needs_cli
    def test_it_is_what_the_tool_makes(self):
        for arguments, options in (([], {}), (["--temperature", "0.8", "--seed", "3", "--top-p", "0.9"],
                                              dict(temperature=0.8, seed=3, top_p=0.9)),
                                   (["--stop", "."], dict(stop=["."]))):
            theirs = cli("generate", "-q", "-m", "fable", "-n", 12, *arguments, "Once upon a time").decode()
            made = model().generate("Once upon a time", 12, **options)
            self.assertTrue(theirs.rstrip("\n").endswith(made.continuation.rstrip("\n")), (theirs, made.continuation))
            self.assertEqual(len(made.continuation_ids), len(made.log_probs))

    def test_tokens_come_as_they_are_made(self):
        heard = []
        made = model().generate("Once upon a time", 10, on_token=lambda id, text: heard.append((id, text)))
        self.assertEqual("".join(text for _, text in heard), made.continuation)
        self.assertEqual([id for id, _ in heard if id >= 0], made.continuation_ids.tolist())
        self.assertEqual(made.end, "length")

        def stop(id, text):
            raise StopIteration

        self.assertRaises(StopIteration, model().generate, "Once", 10, on_token=stop)
        self.assert_raises(ValueError, "stop", model().generate, "Once", stop=["a\0b"])


if __name__ == "__main__":
    unittest.main()
