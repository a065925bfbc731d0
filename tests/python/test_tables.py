"""What a table can be made into: sorted, chosen from, a matrix, a frame, a picture."""
import json
import os
import pickle
import tempfile
import unittest

import numpy as np

import attn
from support import KEYS, TEXT, TestCase, cli, model, needs_cli

HOW = dict(target=" are", foil=" is")
ANSWER = ["--target", " are", "--foil", " is"]


class Rows(TestCase):
    def test_sort_puts_the_largest_first(self):
        t = model().ablate(KEYS, **HOW)
        by = t.sort("change")
        self.assertEqual(by["part"][0], "base")
        sizes = np.abs(by["change"][1:])
        self.assertTrue((sizes[:-1] >= sizes[1:]).all())
        self.assertEqual(sorted(by["value"]), sorted(t["value"]))
        self.assertEqual(len(t.sort("change", limit=3)), 4)
        self.assertEqual(len(t.sort(limit=3)), 4)
        up = t.sort("value:up")["value"][1:]
        self.assertTrue((up[:-1] <= up[1:]).all())
        self.assertEqual(t.sort("kl", 2).info, t.info)
        self.assert_raises(attn.InvalidError, ("chnge", "change"), t.sort, "chnge")

    @needs_cli
    def test_sorted_tables_are_those_of_the_tool(self):
        theirs = cli("ablate", "-q", "-m", "fable", *ANSWER, "--sort", "change", "--limit", 5, KEYS).decode()
        self.assertEqual(str(model().ablate(KEYS, **HOW).sort("change", 5)), theirs)
        theirs = cli("score", "-q", "-m", "fable", "--csv", "-", TEXT)
        self.assertEqual(model().score(TEXT).render("csv"), theirs)

    @needs_cli
    def test_tables_for_papers_are_those_of_the_tool(self):
        items = [dict(id=str(i), text=KEYS, target=" are", foil=" is", kind=kind)
                 for i, kind in enumerate(["=1+1", "a\\b|c&d%e_f", "two\nlines \u00e9", "=1+1"])]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "items.jsonl")
            with open(path, "w") as file:
                file.writelines(json.dumps(item) + "\n" for item in items)
            for form in "latex", "markdown":
                option = f"--{form}"
                ours = getattr(model().ablate(KEYS, **HOW).sort("change", 5), f"to_{form}")(precision=3)
                theirs = cli("ablate", "-m", "fable", *ANSWER, "--sort", "change", "--limit", 5, "--precision", 3, option,
                             "-", KEYS)
                self.assertEqual(ours, theirs.decode())
                self.assertIn("change of logit(are) - logit(is) without each head; fable; " + KEYS, ours)
                ours = model().score(items=items, group_by="kind")
                theirs = cli("score", "-m", "fable", "--items", path, "--group-by", "kind", option, "-")
                self.assertEqual(ours.render(form), theirs)
                written = os.path.join(folder, "table")
                self.assertIsNone(getattr(ours, f"to_{form}")(written))
                with open(written, "rb") as file:
                    self.assertEqual(file.read(), theirs)
        self.assertEqual(str(attn.models().to_markdown()).split("\n")[0], "Table: models")

    def test_each_generated_token_is_attributed_alone(self):
        m, prompt = model(), "The keys to"
        made = m.generate(prompt, 3)
        ids = [*made.ids.tolist(), *made.continuation_ids.tolist()]
        grid = m.attribute(prompt, method="grad_x_input", generated=3).grid()
        self.assertEqual((grid.rows, grid.columns), ([3, 4, 5], [0, 1, 2, 3, 4]))
        for row, n in enumerate(grid.rows):
            one = m.attribute(ids[:n], method="grad_x_input", target=ids[n]).where(part="token")
            self.assertEqual(grid[row, :n].tolist(), one["attribution"].tolist())
            self.assertTrue(np.isnan(grid[row, n:]).all())
        same = m.attribute(prompt, method="grad_x_input", continuation=made.continuation)
        self.assertEqual(same.grid().tolist()[2], grid.tolist()[2])
        self.assert_raises(TypeError, "expected one of them", m.attribute, prompt, method="ig", generated=1, continuation="x")

    def test_where(self):
        t = model().ablate(KEYS, **HOW)
        some = t.where(layer=2, part="head")
        self.assertEqual((len(some), some["layer"].tolist()), (8, [2] * 8))
        self.assertEqual(len(t.where(layer=9)), 0)
        self.assert_raises(KeyError, "columns are part", t.where, nope=1)

    def test_rows_are_dicts(self):
        first = next(iter(model().ablate(KEYS, **HOW)))
        self.assertEqual((first["part"], first["layer"], first["same_top"]), ("base", None, True))
        second = list(model().heads(KEYS))[9]
        self.assertEqual((second["layer"], second["head"], type(second["head"])), (1, 1, int))
        t = model().heads(KEYS)
        self.assertEqual((t[9], t[-1]), (second, list(t)[-1]))
        self.assertEqual((list(t[:2]), t[:2].columns, len(t[30:99])), (list(t)[:2], t.columns, 2))
        self.assertEqual(t[8:10]["head"].tolist(), [0, 1])
        self.assert_raises(IndexError, "row 32 of 32", t.__getitem__, 32)
        self.assert_raises(TypeError, "integer", t.__getitem__, 1.5)
        self.assertEqual(model().ablate(KEYS, **HOW).to_dict()["head"][:2], [None, 0])

    def test_texts_and_lists_come_back(self):
        top = model().run("The caf\u00e9 \u732b\u732b", top=5).predictions.top
        self.assertEqual(str(top.where()), str(top))
        lists = attn.models()
        self.assertEqual(lists.where().render("json"), lists.render("json"))
        again = pickle.loads(pickle.dumps(model().heads(KEYS))).sort("max", 2)
        self.assertEqual(str(again), str(model().heads(KEYS).sort("max", 2)))


    @needs_cli
    def test_chosen_columns_are_those_of_the_tool(self):
        t = model().ablate(KEYS, **HOW, where={"layer": 2}, columns="head,change", sort="change", limit=2)
        lines = cli("ablate", *ANSWER, "--where", "layer=2", "--columns", "head,change", "--sort", "change", "--limit", "2",
                    "--csv", "-", KEYS).decode().splitlines()
        self.assertEqual(list(t.columns), lines[0].split(","))
        self.assertEqual([int(line.split(",")[0]) for line in lines[1:]], list(t["head"]))
        self.assertEqual(list(model().ablate(KEYS, **HOW).select("kl", "head").columns), ["kl", "head"])
        self.assertIn("change", str(t))
        self.assert_raises(KeyError, ("x", "change"), t.select, "x")


class Grids(TestCase):
    def test_a_grid_is_by_layer_and_head(self):
        t = model().heads(KEYS)
        g = t.grid("entropy")
        self.assertEqual((g.shape, g.rows, g.columns, g.name), ((4, 8), [0, 1, 2, 3], list(range(8)), "entropy"))
        self.assertEqual(g[2, 3], t.where(layer=2, head=3)["entropy"][0])
        self.assertEqual(t.grid().name, "entropy_norm")
        again = pickle.loads(pickle.dumps(g))
        self.assert_same(again, g)
        self.assertEqual((again.rows, again.columns, again.name), (g.rows, g.columns, "entropy"))
        few = t.sort("entropy", 3).grid("entropy")
        self.assertEqual((few.shape[1] <= 8, int(np.isfinite(few).sum())), (True, 3))
        self.assertEqual(g[1].columns, [])

    def test_a_grid_is_of_any_two_columns(self):
        t = model().lens(KEYS, target=" are", queries=[0, 1, 4], sites="resid_mid,resid_post")
        g = t.where(site="resid_post").grid("layer", "position", "target_rank")
        self.assertEqual((g.shape, g.columns), ((4, 5), [0, 1, 2, 3, 4]))
        self.assertTrue(np.isnan(g[:, 2]).all() and np.isfinite(g[:, 1]).all())
        g = t.where(position=4).grid("layer", "site", "prob")
        self.assertEqual((g.shape[0], set(g.columns)), (4, {"resid_pre", "resid_mid", "resid_post"}))
        self.assert_raises(ValueError, ("several rows", "where()"), t.grid, "layer", "position", "prob")
        self.assert_raises(KeyError, "columns are layer", t.grid, "nope")
        self.assert_raises(ValueError, "numbers", t.grid, "layer", "position", "site")

    def test_a_grid_is_what_is_drawn(self):
        g = model().patch(KEYS, "The key to the cabinet", **HOW).grid()
        self.assertEqual((g.name, g.shape), ("effect", (4, 5)))
        self.assertEqual(model().ablate(KEYS, **HOW).grid().name, "change")


class Pictures(TestCase):
    @needs_cli
    def test_pictures_are_those_of_the_tool(self):
        m = model()
        for arguments, table in (
                (["heads", KEYS], m.heads(KEYS)),
                (["heads", "--sort", "previous:up", KEYS], m.heads(KEYS, sort="previous:up")),
                (["heads", "--measures", "punctuation,self", KEYS], m.heads(KEYS, measures="punctuation,self")),
                (["probe", "induction:10"], m.probe("induction:10")),
                (["heads", "--from", "-1", "--to", "keys", KEYS], m.heads(KEYS, from_=-1, to="keys")),
                (["heads", "--effect", *ANSWER, KEYS], m.heads(KEYS, effect=True, **HOW)),
                (["heads", "--by", "pair", KEYS], m.heads(KEYS, by="pair")),
                (["ablate", *ANSWER, KEYS], m.ablate(KEYS, **HOW)),
                (["ablate", *ANSWER, "--by", "mlp", KEYS], m.ablate(KEYS, by="mlp", **HOW)),
                (["patch", "--clean", KEYS, "--corrupted", "The key to the cabinet", *ANSWER],
                 m.patch(KEYS, "The key to the cabinet", **HOW)),
                (["patch", "--clean", KEYS, "--corrupted", "The key to the cabinet", *ANSWER, "--site", "z",
                  "--direction", "noise"], m.patch(KEYS, "The key to the cabinet", site="z", direction="noise", **HOW)),
                (["patch", "--clean", KEYS, "--corrupted", "The key to the cabinet", *ANSWER, "--site", "z",
                  "--direction", "restore"], m.patch(KEYS, "The key to the cabinet", site="z", direction="restore", **HOW)),
                (["patch", "--clean", KEYS, "--corrupted", "The key to the cabinet", *ANSWER, "--positions", "noun=1"],
                 m.patch(KEYS, "The key to the cabinet", positions={"noun": 1}, **HOW)),
                (["patch", "--clean", KEYS, "--corrupted", "The key to the cabinet", *ANSWER, "--positions", "noun=1",
                  "--estimate", "atp"], m.patch(KEYS, "The key to the cabinet", positions={"noun": 1}, estimate="atp", **HOW)),
                (["ablate", *ANSWER, "--column", "kl", "--by", "layer", "--replacement", "mean", KEYS],
                 m.ablate(KEYS, by="layer", replacement="mean", **HOW).plot(values="kl")),
                (["lens", "--queries", "all", KEYS], m.lens(KEYS, queries="all")),
                (["score", TEXT], m.score(TEXT)), (["score", "--by", "word", "--special-tokens", "bos", TEXT], m.score(TEXT, by="word", special_tokens="bos")),
                (["ablate", *ANSWER, "--by", "layer", "--figure", "bars", KEYS],
                 m.ablate(KEYS, by="layer", **HOW).plot(figure="bars")),
                (["lens", "--target", " are", "--figure", "curve", "--limit", "9", KEYS],
                 m.lens(KEYS, target=" are").plot(figure="curve")),
                (["ablate", "--metric", "kl", "--cumulative", KEYS], m.ablate(KEYS, metric="kl", cumulative=True)),
                (["lens", "--queries", "all", "--target", " are", KEYS], m.lens(KEYS, queries="all", target=" are")),
                (["lens", *ANSWER, KEYS], m.lens(KEYS, **HOW)),
                (["lens", "--heads-out", "--top", "1", KEYS], m.lens(KEYS, heads_out=True, top=1)),
                (["attribute", *ANSWER, KEYS], m.attribute(KEYS, **HOW)),
                (["attribute", "--by", "token", *ANSWER, KEYS], m.attribute(KEYS, by="token", **HOW)),
                (["patch", "--clean", KEYS, "--corrupted", "The key to the cabinet", *ANSWER, "--site", "z", "--by", "position",
                  "--estimate", "atp"],
                 m.patch(KEYS, "The key to the cabinet", site="z", by="position", estimate="atp", **HOW)),
                (["diff", KEYS, "The dogs to the cabinet"], m.diff(KEYS, "The dogs to the cabinet"))):
            theirs = cli(arguments[0], "-q", "-m", "fable", *arguments[1:], "--svg", "-").decode()
            picture = table if isinstance(table, attn.Picture) else table.plot()
            self.assertEqual(picture.svg, theirs, arguments)
            self.assertEqual(picture._repr_svg_(), theirs)

    def test_pairs_of_heads_have_one_order(self):
        self.assert_raises(TypeError, "order", model().heads(KEYS, by="pair").plot, order="cluster")

    @needs_cli
    def test_options_shape_them(self):
        theirs = cli("heads", "-q", "-m", "fable", KEYS, "--sort", "max", "--svg", "-", "--style", "colormap=magma", "--title", "A",
                     "--style", "figure-width=85mm", "--style", "font-size=7").decode()
        ours = model().heads(KEYS).plot(values="max", colormap="magma", title="A", figure_width="85mm",
                                        font_size=7)
        self.assertEqual(ours._repr_svg_(), theirs)
        with tempfile.TemporaryDirectory() as folder:
            ours.save(os.path.join(folder, "a.svg"))
            with open(os.path.join(folder, "a.svg"), encoding="utf-8") as file:
                self.assertEqual(file.read(), theirs)
            ours.save(os.path.join(folder, "a.html"))
            self.assert_raises(ValueError, "format is 'txt'", ours.save, os.path.join(folder, "a.txt"))

    def test_what_cannot_be_drawn(self):
        t = model().heads(KEYS)
        self.assert_raises(TypeError, "colour", t.plot, colour="red")
        self.assert_raises(KeyError, "columns are", t.plot, "nope", "head")
        self.assert_raises(ValueError, "numbers", t.plot, values="type")
        self.assert_raises(ValueError, "say rows and columns", model().score(TEXT).grid)
        self.assertIsNone(t.where(layer=9)._repr_svg_())
        self.assertIn("<svg", pickle.loads(pickle.dumps(model().lens(KEYS))).plot().svg)


class Pandas(TestCase):
    def test_whole_numbers_stay_whole(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("there is no pandas")
        frame = model().ablate(KEYS, **HOW).to_pandas()
        self.assertIsInstance(frame, pandas.DataFrame)
        self.assertEqual([str(frame[name].dtype) for name in ("layer", "head", "value", "same_top")],
                         ["Int64", "Int64", "float64", "boolean"])
        self.assertTrue(frame["layer"].isna()[0] and not frame["layer"].isna()[1])
        self.assertEqual(frame["head"][9], 0)
        self.assertEqual(frame.shape[0], 33)


if __name__ == "__main__":
    unittest.main()
