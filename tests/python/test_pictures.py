"""Pictures as input: paths, pictures and values in memory, places, labels, many of them."""
import json
import os
import resource
import tarfile
import tempfile
import unittest
import warnings

import numpy as np

import attn
from support import ROOT, TestCase, cli_arrays, cli_table, needs_cli, needs_sources


@needs_sources
class Pictures(TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        for name in ("image-encoders", "pictures", "vision"):
            with tarfile.open(os.path.join(ROOT, "tests", "fixtures", name + ".tar")) as archive:
                archive.extractall(cls.folder.name)
        warnings.simplefilter("ignore")  # there is no preprocessor_config.json
        cls.model = attn.Model(cls.path("vit"))

    @classmethod
    def tearDownClass(cls):
        cls.model.close()
        cls.folder.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    @needs_cli
    def test_several_pictures_are_one_column(self):
        paths = [self.path("smolvlm/picture_0.png")] * 2
        theirs = cli_arrays("-m", self.path("smolvlm"), "--sites", "picture_map,pixel_values", "--heads", "1.0",
                            "--image", paths[0], "--image", paths[1], "What?")
        with attn.Model(self.path("smolvlm")) as model:
            run = model.run("What?", image=paths, sites="picture_map,pixel_values", heads="1.0")
            for name, found in (("pixel_values", run.pixel_values), ("blocks.1.attn.hook_picture_map", run.picture_map[1])):
                both = np.concatenate([theirs[f"{name}.{i}"].ravel() for i in range(2)])
                self.assertEqual(found.shape[-1], 1)
                np.testing.assert_array_equal(found.ravel(), both)

    @needs_cli
    def test_a_path_an_array_and_the_tool_agree(self):
        theirs = cli_arrays("-q", "-m", self.path("vit"), "--sites", "pattern,logits", "--image", self.path("rgb.npy"))
        picture = np.load(self.path("rgb.npy"))
        for image in (self.path("rgb.npy"), os.fsencode(self.path("rgb.npy")), picture, picture[:, ::-1][:, ::-1]):
            ours = self.model.run(image=image, sites="pattern,logits")
            for name in theirs.keys() - {"tokens"}:
                self.assert_same(ours.cache[name], theirs[name], name)
            self.assertEqual(ours.tokens, theirs["tokens"].tolist())
        self.assertEqual(ours.tokens, ["[CLS]", "0,0", "0,1", "1,0", "1,1", "2,0", "2,1"])

    def test_floats_are_values(self):
        values = np.load(self.path("values.npy"))
        expected = self.model.run(image=self.path("values.npy"))
        for image in (values, values.astype(np.float64), np.asfortranarray(values)):
            self.assert_same(self.model.run(image=image).pattern[1, 2], expected.pattern[1, 2])

    def test_a_picture_that_is_too_large_is_not_copied(self):
        def strided(dtype, *shape):
            return np.lib.stride_tricks.as_strided(np.zeros(3, dtype), shape, (0,) * len(shape))

        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # KiB; each picture has 3 GB
        for words, image in (("'image' has 30000 x 40000 pixels, expected at most", strided(np.uint8, 40000, 30000, 3)),
                             ("'image' has 30000 x 40000 pixels, expected at most", strided(np.float64, 3, 40000, 30000)),
                             ("has 1048577 x 1 pixels, expected at most 1048576 a side", strided(np.uint8, 1, 2**20 + 1, 3)),
                             ("has 1 x 1048577 pixels, expected at most 1048576 a side", np.zeros((2**20 + 1, 1, 3), np.uint8))):
            with self.assertRaisesRegex(attn.UnsupportedError, words) as caught:
                self.model.run(image=image)
            self.assertEqual(caught.exception.stage, "input")
            self.assertRegex(str(next(self.model.map([{"image": image}], on_error="keep")).error), words)
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 2**19)

    def test_places_and_labels(self):
        image = self.path("values.npy")
        run = self.model.run(image=image, queries=[(0, 1), "[CLS]"], top=2, next=["LABEL_3", "0"])
        self.assertEqual(run.pattern[0, 0].shape, (2, 7))
        self.assertEqual([top["token"] for top in run.predictions.top], ["LABEL_0", "LABEL_2"])
        self.assertAlmostEqual(run.predictions.next["log_prob"][1], np.log(run.predictions.top["prob"][0]), 5)

    def test_many(self):
        items = [{"image": self.path("values.npy")}, {"image": np.load(self.path("rgb.npy"))}, {"image": "nowhere"},
                 {"image": np.zeros((2, 2))}]
        results = list(self.model.map(items, sites="pattern", on_error="keep"))
        self.assert_same(results[0].pattern[1, 2], self.model.run(image=items[0]["image"]).pattern[1, 2])
        self.assert_same(results[1].pattern[1, 2], self.model.run(image=items[1]["image"]).pattern[1, 2])
        self.assertIn("nowhere", str(results[2].error))
        self.assertIn("expected a picture", str(results[3].error))

    def test_questions(self):
        image, picture = self.path("rgb.npy"), np.load(self.path("rgb.npy"))
        many = self.model.heads(items=[{"image": image}, {"image": picture}])
        self.assert_same(many["entropy"], self.model.heads(image=picture)["entropy"])
        pairs = self.model.heads(image=image, by="pair")
        self.assertEqual(len(pairs), 15)
        table = self.model.attribute(image=picture, target="LABEL_1", method="ig", baseline_image=self.path("values.npy"))
        self.assertEqual((table["token"][0], table["attribution"][0]), ("[CLS]", 0))
        self.assertAlmostEqual(table["attribution"][-2], table["attribution"][-1], 3)

    def test_experiments(self):
        a, b = self.path("values.npy"), self.path("rgb.npy")
        with tarfile.open(os.path.join(ROOT, "tests", "fixtures", "clip.tar")) as archive:
            archive.extractall(self.folder.name)
        table = self.model.patch(image=a, corrupted_image=np.load(b), target="LABEL_3", site="z")
        self.assertAlmostEqual(table["effect"][1], 1)
        self.assertIn("<svg", table.plot().svg)
        self.assertIn("after layer 0", self.model.patch(image=a, corrupted_image=b, target=3).plot().svg)
        items = self.model.patch(items=[{"image": a, "corrupted_image": b, "target": 3}], site="z")
        self.assert_same(np.asarray(items["value"]), np.asarray(table["value"]))
        self.assertEqual(self.model.lens(image=a, target="LABEL_0")["target_rank"][-1], 1)
        self.assertEqual(len(self.model.heads(items=[{"image": a}, {"image": np.load(b)}])), 6)
        self.assert_raises(TypeError, "pictures in memory and 'kind'", self.model.heads, items=[{"image": np.load(b), "kind": "x"}])
        with attn.Model(self.path("clip")) as clip:
            about = {"labels": ["a cat", "me"], "target": "me"}
            one = clip.ablate(image=self.path("clip/pixels.npy"), **about)
            many = clip.ablate(items=[{"image": self.path("clip/pixels.npy")}], **about)
            self.assert_same(np.asarray(many["value"]), np.asarray(one["value"]))
        with self.assertRaisesRegex(attn.InvalidError, "given beside another input, expected one of them"):
            self.model.patch("a cat", image=a, corrupted_image=b, target=3)

    def test_beside_a_text(self):
        with attn.Model(self.path("planted")) as model:
            asked = {"text": "What is it?", "image": self.path("planted/picture_0.png"), "sites": "picture_map"}
            self.assertEqual([len(model.run(**asked, chat=chat).tokens) for chat in (True, False)], [33, 26])
            same = np.asarray(model.run(**asked, neutral="What is it?").cache["picture_map", 2])
            self.assertGreater(np.abs(np.asarray(model.run(**asked).cache["picture_map", 2])).max(), 0.9)
            self.assertEqual(np.abs(same).max(), 0)
            for words, name, wrong in (("is -1", "run", {"drop_sinks": -1}), ("is nan", "run", {"drop_sinks": np.nan}),
                                       ("needs `neutral`", "heads", {"neutral_by": "ratio"}), ("none is made", "heads", {"neutral": "Why?"}),
                                       ("none is made", "lens", {"drop_sinks": 20})):
                with self.assertRaisesRegex(ValueError, words):
                    getattr(model, name)(asked["text"], image=asked["image"], **wrong)

    @needs_cli
    def test_questions_beside_a_text(self):
        """What the tool says of the same: with a path or pixels, an answer as text or ids, one or many."""
        picture, other = self.path("smolvlm/picture_0.png"), self.path("smolvlm/picture_2.png")
        asked = {"image": picture, "continuation": " the house", "image_tiles": False}
        options = ["-q", "-m", self.path("smolvlm"), "--image", picture, "--image-tiles", "off"]
        answer, the = ["--continuation", " the house"], {"target": " the"}
        rows = lambda table: json.loads(table.render("json"))["rows"]
        with attn.Model(self.path("smolvlm")) as model:
            ids = model.run("What?", **asked).ids
            self.assertEqual(model.run("What?", **{**asked, "continuation": ids[-6:]}).ids.tolist(), ids.tolist())
            for name, own, given in (("heads", {}, []), ("lens", {}, []), ("score", {}, []), ("sinks", {}, []),
                                     ("heads", {"drop_sinks": 2.5}, ["--drop-sinks", "2.5"]),
                                     ("ablate", {"by": "picture", **the}, ["--by", "picture", "--target", " the"]),
                                     ("diff", {"with_image": other}, ["--with", f"image:{other}"])):
                with self.subTest(name):
                    self.assertEqual(rows(getattr(model, name)("What?", **asked, **own)), cli_table(name, *options, *answer, *given, "What?"))
            self.assertEqual(rows(model.spans("What?", image=picture, image_tiles=False, spans="picture,question", continuation=" the house")),
                             cli_table("spans", *options, *answer, "--spans", "picture,question", "What?"))
            self.assertEqual(rows(model.attribute("What?", **{**asked, "continuation": None}, **the)),
                             cli_table("attribute", *options, "--target", " the", "What?"))
            self.assertEqual(rows(model.patch("What?", corrupted_image=other, site="z", **asked, **the)),
                             cli_table("patch", *options, *answer, "--corrupted", f"image:{other}", "--clean", "What?", "--target", " the", "--site", "z"))
            self.assertEqual(len(model.generate("What?", 2, image=picture, image_tiles=False).continuation_ids), 2)

    def test_arrays_of_the_tower(self):
        names = "pixel_values,image_features,picture_map,tower:pattern,tower:q,tower:resid_pre"
        theirs = cli_arrays("-q", "-m", self.path("smolvlm"), "--image", self.path("smolvlm/picture_0.png"), "--sites", names,
                            "--tiles", "0,-1", "What?")
        with attn.Model(self.path("smolvlm")) as model:
            ours = model.run("What?", image=self.path("smolvlm/picture_0.png"), sites=names, tiles=[0, -1]).cache
        self.assertEqual(theirs["tower.1.attn.hook_pattern"].shape, (2, 3, 36, 36))
        for name in ours:
            self.assert_same(ours[name], theirs[name], name)

    def test_many_beside_a_text(self):
        picture, other = self.path("smolvlm/picture_0.png"), self.path("smolvlm/picture_2.png")
        with attn.Model(self.path("smolvlm")) as model:
            asked = {"image": picture, "continuation": " the house", "image_tiles": False}
            items = [{"image": picture, "text": "What?", "continuation": " the house"}, {"image": other, "text": "What?"}]
            score = lambda *items, **options: list(model.score(items=items, image_tiles=False, **options)["nats"])
            self.assertEqual(score(items[0], {**items[1], "continuation": " x"}), score(*items, continuation=" x"))
            self.assertNotEqual(score(*items), score(*items, continuation=" x"))
            ids = model.run("What?", **asked).ids
            pixels = np.asarray(model.run("What?", **asked, sites="pixel_values").cache["pixel_values"])[0]
            for image in (picture, pixels):
                first, second = model.map([{**items[0], "image": image}, items[1]], image_tiles=False, top=1)
                self.assertEqual(first.labels, {})
                self.assertEqual(first.ids.tolist(), ids.tolist())
                self.assertLess(len(second.ids), len(ids))
                self.assertIn("<svg", first.svg(heads="0.0", queries="answer"))
                self.assertEqual(list(model.heads(items=[{**items[0], "image": image}], image_tiles=False)["picture"]),
                                 list(model.heads("What?", **asked)["picture"]))
            for neutral, is_none in (("What?", True), ("Why?", False)):
                one, = model.map([{**items[1], "neutral": neutral}], sites="picture_map")
                self.assertEqual(not np.asarray(one.cache["picture_map", 2]).any(), is_none)
        for answer, n in ((" are", 1), ([5, 6], 2)):
            given = attn.Model("fable").run("The keys", sites=[])
            self.assertEqual(len(attn.Model("fable").run("The keys", sites=[], continuation=answer).ids), len(given.ids) + n)
        self.assertEqual(len(next(attn.Model("fable").map([{"text": "What?", "image": "no.png", "continuation": "x"}])).tokens), 3)

    def test_live_page(self):
        with self.assertRaisesRegex(TypeError, "path of the picture"):
            self.model.run(image=np.load(self.path("rgb.npy"))).render("html", live=True)
        try:
            page = self.model.run(image=self.path("rgb.npy")).render("html", live=True)
        except attn.FileError:
            self.skipTest("there is no attn.wasm")
        self.assertIn(json.dumps(["image", self.path("rgb.npy")], separators=(",", ":")), page.decode())

    def test_mistakes(self):
        for image in (np.zeros((2, 3, 4), np.uint8), np.zeros((0, 3, 3), np.uint8), np.zeros((3, 4)), [[1]], "a\0b"):
            with self.assertRaises((TypeError, ValueError)):
                self.model.run(image=image)
        with self.assertRaisesRegex(attn.InvalidError, "reads pictures"):
            self.model.run("a cat")
        with self.assertRaisesRegex(attn.InvalidError, "reads texts"):
            attn.Model("fable").run(image=self.path("rgb.npy"))
        with self.assertRaisesRegex(attn.InvalidError, "beside another input"):
            self.model.run("a cat", image=self.path("rgb.npy"))


if __name__ == "__main__":
    unittest.main()
