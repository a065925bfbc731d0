"""CLIP: one model for texts and pictures, and labels."""

import os
import unittest

import numpy as np

import attn
from support import ModelCase, cli_arrays, needs_cli


class Clip(ModelCase):
    ARCHIVE, NAME = "clip.tar", "clip"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.pixels = os.path.join(cls.path, "pixels.npy")

    @needs_cli
    def test_the_input_chooses_the_tower(self):
        for site, run, line in (("text_embed", {"text": "a cat"}, ["a cat"]),
                                ("image_embed", {"image": self.pixels}, ["--image", self.pixels]),
                                ("image_embed", {"image": np.load(self.pixels)}, ["--image", self.pixels])):
            ours = self.model.run(**run, sites=f"pattern,{site}")
            theirs = cli_arrays("-q", "-m", self.path, "--sites", f"pattern,{site}", *line)
            np.testing.assert_array_equal(ours.pattern[1], theirs["blocks.1.attn.hook_pattern"])
            np.testing.assert_array_equal(getattr(ours, site), theirs[site])
            self.assertEqual(getattr(ours, site).shape, (8,))

    def test_labels_are_compared_with_a_picture(self):
        texts = ["a cat", "the dog", "me"]
        top = self.model.run(image=self.pixels, labels=texts).predictions.top
        image = self.model.run(image=self.pixels, sites="image_embed").image_embed.astype(np.float64)
        for row in top:
            text = self.model.run(row["label"], sites="text_embed").text_embed.astype(np.float64)
            cosine = text @ image / np.linalg.norm(text) / np.linalg.norm(image)
            self.assertAlmostEqual(row["score"], np.exp(1.5) * cosine, 5)
        self.assertAlmostEqual(sum(row["prob"] for row in top), 1, 6)
        with self.assertRaisesRegex(attn.Error, "`labels` compares a picture with texts"):
            self.model.run("a cat", labels=texts)

    def test_many_pictures_and_questions(self):
        texts, picture = ["a cat", "the dog", "me"], {"image": np.load(self.pixels)}
        one = self.model.run(image=self.pixels, labels=texts)
        for many in self.model.map([picture, {"image": self.pixels}], tower="image", labels=texts):
            np.testing.assert_array_equal(many.pattern[1], one.pattern[1])
            self.assertEqual(many.predictions.top.to_dict(), one.predictions.top.to_dict())
        with self.assertRaisesRegex(attn.Error, "no picture"):
            list(self.model.map(["a cat"], tower="image"))
        with self.assertRaisesRegex(ValueError, "expected 'text', 'image'"):
            self.model.map([picture], tower="both")


if __name__ == "__main__":
    unittest.main()
