"""Experiments about many items: from dicts, frames and files, beside those of attn-cli."""
import json
import os
import tempfile
import unittest
import warnings

import numpy as np

import attn
from support import KEYS, TestCase, cli, cli_table, model, needs_cli

ITEMS = [
    {"id": "k1", "text": KEYS, "target": " are", "foil": " is", "number": "plural", "order": 1},
    {"id": "k2", "text": "The key to the cabinets", "target": " is", "foil": " are", "number": "singular", "order": 2},
    {"id": "k3", "text": "The dogs near the door", "target": " are", "foil": " is", "number": "plural", "order": 3},
    {"id": "k4", "text": "The dog near the doors", "target": " is", "foil": " are", "number": "singular", "order": 4},
]


def frames():
    """The items as frames of what is installed, and its name."""
    for name, kind in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table")):
        try:
            module = __import__(name)
        except ImportError:
            continue
        yield name, module.Table.from_pylist if name == "pyarrow" else getattr(module, kind)


class Items(TestCase):
    @needs_cli
    def test_tables_are_those_of_the_tool(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "items.jsonl")
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(json.dumps(item) + "\n" for item in ITEMS)
            for arguments, options in (
                    (["--by", "layer"], dict(by="layer")),
                    (["--group-by", "number"], dict(group_by="number")),
                    (["--group-by", "number,order", "--by", "mlp"], dict(group_by=["number", "order"], by="mlp")),
                    (["--bootstrap", "40:3", "--stats", "interval=90"], dict(bootstrap=(40, 3), interval=90)),
                    (["--stats", "cluster=id", "--group-by", "number", "--stats", "contrast fdr=change"],
                     dict(cluster="id", group_by="number", contrast=True, fdr="change"))):
                theirs = cli_table("ablate", "-q", "-m", "fable", "--items", path, *arguments)
                for items in (ITEMS, path, iter(ITEMS)):
                    ours = model().ablate(items=items, **options)
                    self.assertEqual(ours.columns, list(theirs[0]), arguments)
                    self.assertEqual(json.loads(ours.render("json"))["rows"], theirs, arguments)
            shown = cli("ablate", "-q", "-m", "fable", "--items", path, "--group-by", "number", "--sort", "change",
                        "--limit", 2, "--csv", "-")
            self.assertEqual(model().ablate(items=ITEMS, group_by="number").sort("change", 2).render("csv"), shown)

    def test_arrays_over_items(self):
        items = [{**item, "pos.noun": 1} for item in ITEMS] + [{"text": "Here", "pos.noun": "there", "number": "plural"}]
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            found = model().run(items=items, sites="resid_pre,z", layers="1,2", heads="0-3", at="noun", next=[" are", " is"])
        self.assertIn("1 of 5 items failed", str(heard[0].message))
        self.assertEqual(list(found["id"]), ["k1", "k2", "k3", "k4"])
        self.assertEqual(list(found["order"]), [1, 2, 3, 4])
        self.assertEqual(list(found["layer"]), [1, 2])
        for i, item in enumerate(ITEMS):
            one = model().run(item["text"], sites="resid_pre,z", layers="1,2", heads="0-3", queries=1, next=[" are", " is"])
            for k, layer in enumerate((1, 2)):
                np.testing.assert_array_equal(found["resid_pre"][i, k], one.resid_pre[layer][0])
                np.testing.assert_array_equal(found["z"][i, k], np.stack([one.z[layer, head][0] for head in range(4)]))
            self.assertEqual([row["log_prob"] for row in found["rows"] if row["id"] == item["id"]],
                             [next["log_prob"] for next in one.predictions.next])
        means = model().run(items=ITEMS, sites="resid_pre", layers=2, at=1, mean_by="number")
        self.assertEqual((list(means["number"]), list(means["n"])), (["plural", "singular"], [2, 2]))
        rows = found["resid_pre"][:, 1].astype(np.float64)
        np.testing.assert_allclose(means["resid_pre"], [rows[::2].mean(0), rows[1::2].mean(0)], rtol=0, atol=1e-6)
        one = model().run(items=ITEMS, sites="resid_pre", layers=2, at=1, mean_by="number=singular:plural")
        np.testing.assert_allclose(one["resid_pre"], rows[::2].mean(0) - rows[1::2].mean(0), rtol=0, atol=1e-6)
        edit = attn.scale("resid_pre", 2, layer=1)
        edited = model().run(items=ITEMS, sites="resid_pre", layers="1,2", at=1, edits=edit)["resid_pre"]
        for i, item in enumerate(ITEMS):
            one = model().run(item["text"], sites="resid_pre", layers="1,2", queries=1, edits=edit)
            for k, layer in enumerate((1, 2)):
                np.testing.assert_array_equal(edited[i, k], one.resid_pre[layer][0])
        patterns = model().run(items=ITEMS, sites="pattern", layers=2)  # of another size for each
        for i, item in enumerate(ITEMS):
            one = model().run(item["text"], sites="pattern", layers=2)
            np.testing.assert_array_equal(patterns[f"{i:09d}/blocks.2.attn.hook_pattern"], one.pattern[2])
        self.assert_raises(TypeError, "queries are given", model().run, items=ITEMS, queries=0)

    def test_continued_items_and_regions(self):
        made = model().generate(items=ITEMS, n=4, temperature=1, seed=5)
        for i, row in enumerate(made):
            one = model().generate(ITEMS[i]["text"], n=4, temperature=1, seed=5 + i)
            self.assertEqual((row["continuation"], row["continuation_ids"], row["log_probs"], row["end"], row["number"]),
                             (one.continuation, list(one.continuation_ids), list(one.log_probs), one.end, ITEMS[i]["number"]))
            self.assertEqual(one.ids.tolist(), model().run(ITEMS[i]["text"], sites=[]).ids.tolist())
        nats = model().score(items=made, each=None)["nats"][0]
        np.testing.assert_allclose(nats, -np.mean([row["log_prob"] for row in made]), rtol=1e-12)
        m, text, answer = model(), ITEMS[0]["text"], made[0]["continuation"]
        whole = m.run(text, sites="pattern", layers=2, continuation=answer)
        for same in (m.run(text, sites="pattern", layers=2, continuation=made[0]["continuation_ids"]),
                     *m.map([{"text": text, "continuation": answer}, {"text": text, "continuation": made[0]["continuation_ids"]}],
                            sites="pattern", layers=2)):
            np.testing.assert_array_equal(same.pattern[2], whole.pattern[2])
        self.assertEqual(m.attribute(items=made[:1], method="saliency")["attribution"].tolist(),
                         m.attribute(items=[{"text": text}], continuation=answer, method="saliency")["attribution"].tolist())
        self.assert_raises(TypeError, "each item", m.attribute, items=made, method="ig", generated=2)
        self.assertEqual(m.spans(items=made[:1], by="span", positions={"a": 1})["share"].tolist(),
                         m.spans(text, continuation=answer, by="span", positions={"a": 1})["share"].tolist())
        self.assert_raises(TypeError, "a text, messages or items", model().generate)
        items = [{"text": "The keys [place to the cabinet] [verb are]"}, {"text": "The key [verb is]"}]
        table = model().score(items=items, marks=True, regions=["verb", "place"])
        bits = [model().score(text)["bits"] for text in ("The keys to the cabinet are", "The key is")]
        self.assertEqual((list(table["region"]), list(table["n"])), (["verb", "place"], [2, 1]))
        np.testing.assert_allclose(table["bits"], [(bits[0][5] + bits[1][2]) / 2, sum(bits[0][2:5])], rtol=1e-12)

    @needs_cli
    def test_every_experiment_takes_items(self):
        pairs = [{"id": item["id"], "clean": item["text"], "corrupted": other["text"], "a": item["text"],
                  "b": other["text"], "target": item["target"], "foil": item["foil"], "pos.noun": 1}
                 for item, other in zip(ITEMS, ITEMS[1:])]
        m, one, two = model(), ITEMS, pairs
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "items.jsonl")
            for items, arguments, ask in (
                    (one, ["heads", "--from", "-1", "--to", "1"],
                     lambda **options: m.heads(from_=-1, to=1, **options)),
                    (one, ["heads", "--effect"], lambda **options: m.heads(effect=True, **options)),
                    (one, ["score", "--group-by", "number"], m.score),
                    ([{"good": item["a"], "bad": item["b"]} for item in two], ["score", "--by", "token"],
                     lambda **options: m.score(by="token", **options)),
                    (one, ["lens"], m.lens), (one, ["attribute", "--group-by", "number"], m.attribute),
                    (one[:1], ["attribute", "--method", "saliency"],
                     lambda **options: m.attribute(method="saliency", **options)),
                    (two, ["diff"], m.diff),
                    (one, ["diff", "--with-attention", "window:2"],
                     lambda **options: m.diff(with_attention="window:2", **options)),
                    (two, ["patch", "--site", "z"], lambda **options: m.patch(site="z", **options)),
                    (two, ["patch", "--positions", "end=-1"],
                     lambda **options: m.patch(positions={"end": -1}, **options)),
                    (one, ["ablate", "--set", "two=2.5,1.1"],
                     lambda **options: m.ablate(sets={"two": [(2, 5), (1, 1)]}, **options))):
                with open(path, "w", encoding="utf-8") as file:
                    file.writelines(json.dumps(item) + "\n" for item in items)
                theirs = cli_table(arguments[0], "-q", "-m", "fable", "--items", path, *arguments[1:])
                options = {"group_by": "number"} if "--group-by" in arguments else {}
                ours = ask(items=items, **options)
                self.assertEqual(json.loads(ours.render("json"))["rows"], theirs, arguments)
                self.assertEqual(ours.info["n_item"], len(items), arguments)
                if "--set" in arguments or "score" in arguments and "--by" in arguments:
                    continue
                drawn = cli(arguments[0], "-q", "-m", "fable", "--items", path, *arguments[1:], "--svg", "-").decode()
                self.assertEqual(ours.plot().svg, drawn, arguments)
        self.assert_raises(TypeError, "need items", m.score, KEYS, target=" are")
        t = m.patch(items=pairs, positions={"end": -1, "noun": 1})
        self.assertEqual((t.grid().columns, t.grid().shape), (["end", "noun"], (4, 2)))
        self.assertIn("<svg", t.plot().svg)

    def test_numbers_are_means_of_single_runs(self):
        m = model()
        t = m.ablate(items=ITEMS, by="layer")
        one = np.array([m.ablate(item["text"], target=item["target"], foil=item["foil"], by="layer")["change"]
                        for item in ITEMS])
        np.testing.assert_allclose(t["change"], one.mean(0), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(t["change_sd"], one.std(0, ddof=1), rtol=1e-9, atol=1e-9)
        self.assertEqual(t["n"].tolist(), [4] * 5)
        self.assertEqual((t.info["n_item"], t.info["n_failed"], t.info["metric"]), (4, 0, "logit_diff"))
        grouped = m.ablate(items=ITEMS, by="layer", group_by="number")
        self.assertEqual((grouped.info["n_group"], grouped.columns[0]), (2, "number"))
        np.testing.assert_allclose(grouped.where(number="singular")["change"], one[1::2].mean(0), rtol=1e-12, atol=1e-12)
        one_group = grouped.where(number="plural")
        self.assertEqual(one_group.grid("layer", "part", "change").shape, (4, 1))
        drawn = grouped.plot("layer", "part").svg  # one heat map for each group
        self.assertIn("singular", drawn)
        self.assertIn("plural", drawn)
        for picture in one_group.plot("layer", "part"), one_group.plot(figure="bars"), grouped.plot(figure="curve"):
            self.assertIn("<svg", picture.svg)

    def test_labels_are_as_they_are(self):
        m = model()
        items = [{"text": KEYS, "n": 2**70, "x": 0.5, "is": True}, {"text": KEYS, "n": 2**70 + 1, "x": 2.5, "is": False}]
        t = m.score(items=items, group_by=["n", "x", "is"])
        self.assertEqual([tuple(row[name] for name in t.columns[:3]) for row in t],
                         [(str(2**70), 0.5, True), (str(2**70 + 1), 2.5, False)])

    def test_what_no_item_takes_is_refused(self):
        m = model()
        items = [{"text": KEYS, "target": " are", "from": "keys", "to": 0}, {"text": KEYS, "target": " is", "from": 1}]
        self.assertEqual(len(m.heads(items=items, to=0)["weight"]), 32)
        self.assert_raises(attn.InvalidError, "`target` has no effect", m.score, items=items, target=" was")
        self.assert_raises(attn.InvalidError, "`from_` has no effect", m.heads, items=items, from_=0, to=0)

    def test_frames(self):
        theirs = model().ablate(items=ITEMS, by="layer", group_by="order").to_dict()
        for name, frame in frames():
            self.assertEqual(model().ablate(items=frame(ITEMS), by="layer", group_by="order").to_dict(), theirs, name)

    def test_what_is_missing_in_a_frame_is_missing(self):
        items = [{"text": KEYS, "target": " are", "year": 2001, "target_id": None},
                 {"ids": np.array([5, 17, 3]), "target": 4.0, "year": float("nan"), "at": np.int64(1)}]
        made = [items]
        for name, frame in frames():
            if name == "pandas":
                made.append(frame(items))
        for one in made:
            t = model().ablate(items=one, by="mlp")
            self.assertEqual((t["n"][0], t.info["n_failed"]), (2, 0))

    def test_failures_are_items(self):
        with self.assertWarnsRegex(UserWarning, "1 of 3 items failed: item 'bad': .*' barks it' is 4 tokens") as caught:
            t = model().ablate(items=[*ITEMS[:2], {"id": "bad", "text": KEYS, "target": " barks it"}], by="mlp")
        self.assertEqual(caught.filename, __file__)
        self.assertEqual(caught.warning.code, "item_failed")
        self.assertEqual([note.code for note in t.notes], ["item_failed"])
        self.assertEqual((t.info["n_item"], t.info["n_failed"], t["n"][0]), (3, 1, 2))
        self.assertTrue(any("barks" in note for note in t.notes))
        self.assert_raises(attn.Error, "", model().ablate, items=[{"text": KEYS}], max_errors=0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model().ablate(items=ITEMS, by="mlp")

    def test_a_line_for_each_item_and_row(self):
        items = [*ITEMS, {"id": "bad", "text": KEYS, "target": " barks it"}]
        with tempfile.TemporaryDirectory() as folder:
            def ask(name, **options):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    return model().ablate(items=items, by="mlp", each=os.path.join(folder, name), **options)

            def read(name):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    return file.read()

            t = ask("all.csv")
            self.assertEqual((t.info["n_item"], t.info["n_before"], t.info["is_complete"]), (5, 0, False))
            self.assertEqual(len(read("all.csv").splitlines()), 1 + 4 * 5 + 1)
            rows = read("all.csv").splitlines()[1:21:5]
            self.assertEqual([row.split(",")[0] for row in rows], ["k1", "k2", "k3", "k4"])
            problem = self.assert_raises(attn.Error, "1 of 5 items failed", ask, "cut.csv", max_errors=0)
            self.assertRegex(problem.hint, "^item 'bad': .* barks it.*; resume continues at item 4$")
            self.assert_raises(attn.Error, "has rows of other options", ask, "cut.csv", replacement="mean", resume=True)
            again = ask("cut.csv", resume=True)
            self.assertEqual((str(again), read("cut.csv")), (str(t), read("all.csv")))
            self.assertTrue(ask("cut.csv", resume=True).info["is_complete"])
            good = dict(items=ITEMS, by="mlp", each=os.path.join(folder, "good.csv"))
            model().ablate(**good)
            self.assert_raises(attn.InvalidError, "has other values", model().ablate, **good, replacement="mean", resume=True)
            for i in range(2):
                ask("part.csv", shard=(i, 2))
            parts = [read(f"part-0000{i}-of-00002.csv") for i in range(2)]
            self.assertEqual(parts[0] + parts[1].split("\n", 1)[1], read("all.csv"))
            ask("all.jsonl")
            self.assertEqual(json.loads(read("all.jsonl").splitlines()[0])["id"], "k1")
        self.assert_raises(TypeError, "resume needs each", model().ablate, items=ITEMS, resume=True)

    @needs_cli
    def test_lines_are_those_of_the_tool(self):
        with tempfile.TemporaryDirectory() as folder:
            path, ours = os.path.join(folder, "items.jsonl"), os.path.join(folder, "ours.csv")
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(json.dumps(item) + "\n" for item in ITEMS)
            theirs = cli("heads", "-q", "-m", "fable", "--items", path, "--each", "-")
            model().heads(items=path, each=ours)
            with open(ours, "rb") as file:
                self.assertEqual(file.read(), theirs)

    def test_what_no_items_are(self):
        m = model()
        for kind, words, options in (
                (TypeError, ("item 1 is int", "expected a text or a dict"), dict(items=[{"text": "a"}, 1])),
                (TypeError, "items is a dict", dict(items={"text": ["a"]})),
                (TypeError, "item 0 has the key 3", dict(items=[{3: "a"}])),
                (TypeError, "object under 'x'", dict(items=[{"x": object()}])),
                (TypeError, "group_by needs items", dict(group_by="a")),
                (TypeError, "max_errors needs items", dict(max_errors=0)),
                (TypeError, "interval needs bootstrap", dict(items=ITEMS, interval=90)),
                (attn.InvalidError, "LABEL=A:B", dict(items=ITEMS, paired="number")),
                (attn.FileError, "no-such", dict(items="/no-such.csv")),
                (TypeError, "a text and items", dict(items=ITEMS, text=KEYS))):
            self.assert_raises(kind, words, lambda options=options: m.ablate(**options))


if __name__ == "__main__":
    unittest.main()
