"""A model with an encoder and a decoder: the bits and the names of attn-cli, in results, events and tables."""
import ctypes
import pathlib
import pickle
import unittest
import wave

import numpy as np

import attn
from support import ModelCase, cli_arrays, cli_table, model, needs_cli

SOURCE, TEXT = "The cat", "Le"


class Stacks(ModelCase):
    ARCHIVE, NAME = "stacks.tar", "whole_opus"

    def run_it(self, **options):
        return self.model.run(TEXT, source=SOURCE, **options)

    @needs_cli
    def test_archives_have_the_same_tensors(self):
        theirs = cli_arrays("-m", self.path, "--source", SOURCE, TEXT, "--sites", "*")
        r = self.run_it(sites="*")
        self.assertEqual(set(r.cache), theirs.keys() - {"ids", "source_ids", "tokens", "source_tokens"})
        for name in r.cache:
            self.assert_same(r.cache[name], theirs[name], name)
        self.assert_same(r.ids, theirs["ids"])
        self.assert_same(r.source_ids, theirs["source_ids"])
        self.assertEqual(r.source_tokens, theirs["source_tokens"].tolist())

    def test_layers_count_in_their_stack(self):
        r = self.run_it(sites="pattern,embed,z")
        for stack, name in (("encoder", "encoder.1.attn"), ("decoder", "decoder.1.attn"),
                            ("cross", "decoder.1.cross_attn")):
            own = getattr(r, stack)
            self.assertEqual(own.pattern.layers, [0, 1])
            self.assert_same(own.pattern[1], r.cache[f"{name}.hook_pattern"])
            self.assert_same(own.z[1, 0], r.cache[f"{name}.hook_z"][:, 0])
            self.assert_same(r.cache[f"{stack}:pattern", 1], own.pattern[1])
            attentions = getattr(r, f"{stack}_attentions")
            self.assertEqual([a.shape for a in attentions], [(1, *own.pattern[0].shape)] * 2)
        self.assertEqual(r.encoder.embed.shape[0], len(r.source_ids))
        self.assertEqual(r.decoder.embed.shape[0], len(r))
        self.assertEqual(pickle.loads(pickle.dumps(r)).cross.pattern[1].shape, r.cross.pattern[1].shape)
        self.assertIn("cross_attentions", dir(r))

    def test_neurons_of_the_encoder(self):
        rows = list(self.model.ablate([3, 4], source=[5, 6, 7, 0], target=5, by="neuron:encoder:1"))
        for row in (rows[1], rows[3]):
            self.assertEqual((row["stack"], row["layer"]), ("encoder", 1))
            one = self.model.run([3, 4], source=[5, 6, 7, 0], sites="logits", target=5, metric="log_prob",
                                 edits=attn.zero("mlp_post", layer="encoder:1", columns=int(row["neuron"])))
            self.assertEqual(one.predictions.metric["value"][0], row["value"])
        self.assertEqual(len(rows), 1 + self.model.weights.shape("encoder.1.mlp.W_in")[1])
        for by, words in (("neuron:encoder:2", ("layer 2", "0 to 1")), ("neuron:encoder:x", "neuron:encoder:L")):
            self.assert_raises((attn.InvalidError, ValueError), words, self.model.ablate, [3], source=[5, 0], target=5, by=by)
        self.assert_raises(attn.InvalidError, "one stack", model("fable").ablate, "The keys", target=" are", by="neuron:encoder:0")

    def test_estimates_are_derivatives(self):
        """The estimate of a patch is the change of a patch of a hundredth of the way, a hundred times."""
        ids, clean, corrupted = [3, 4, 6], [5, 6, 7, 1], [5, 9, 7, 1]

        def value(source, edits=()):
            return self.model.run(ids, source=source, sites="logits", edits=edits, target=5, foil=6).predictions.metric["value"][0]

        near, far = (self.model.run(ids, source=source, sites="z").cache for source in (corrupted, clean))
        whole = value(clean) - value(corrupted)
        rows = self.model.patch(clean=ids, corrupted=ids, source=clean, corrupted_source=corrupted, target=5, foil=6, site="z",
                                estimate="atp")
        names = {"encoder": "encoder.{}.attn.hook_z", "decoder": "decoder.{}.attn.hook_z", "cross": "decoder.{}.cross_attn.hook_z"}
        self.assertEqual({row["stack"] for row in rows if row["stack"]}, set(names))
        for row in rows:
            if row["row_type"] != "data":
                continue
            name, head = names[row["stack"]].format(int(row["layer"])), int(row["head"])
            step = 0.01 * (far[name][:, head] - near[name][:, head])
            changed = [value(corrupted, {name: lambda event: event.data + sign * step if event.head == head else None})
                       for sign in (1, -1)]
            self.assertAlmostEqual((changed[0] - changed[1]) / 0.02 / whole, row["estimate"], delta=2e-3, msg=str(row))

    def test_functions_name_the_stack(self):
        for name, head in (("encoder:z", "encoder:1.0"), ("cross:z", "cross:1.0"), ("decoder.1.cross_attn.hook_z", "cross:1.0"),
                           ("encoder.1.attn.hook_z", "encoder:1.0"), ("decoder.1.attn.hook_z", "decoder:1.0")):
            stacks = set()

            def off(event):
                stacks.add(event.stack)
                return 0 * event.data if (event.layer, event.head) == (1, 0) else None

            self.assert_same(self.run_it(sites="logits", edits={name: off}).logits,
                             self.run_it(sites="logits", edits=attn.zero("z", head=head)).logits, name)
            self.assertEqual(stacks, {head.split(":")[0]})
            self.assert_same(self.run_it(sites="logits", edits={name: off}).logits, self.run_it(sites="logits", ablate=head).logits)
        self.assert_raises(ValueError, ("'z'", "cross:z"), self.run_it, edits={"z": abs})

    def test_a_name_of_several_stacks_is_refused(self):
        r = self.run_it(sites="pattern")
        for name in ("pattern", "attentions"):
            self.assert_raises(AttributeError, ("decoder, cross, encoder", ".encoder.pattern"), getattr, r, name)
        self.assert_raises(AttributeError, "cross:z", getattr, r.cross, "z")
        only = self.run_it(sites="cross:pattern")
        self.assert_same(only.pattern[1], r.cross.pattern[1])
        self.assertEqual(len(only.attentions), 2)
        one = model("fable").run("The keys", sites="pattern")
        self.assert_raises(AttributeError, "cross", getattr, one, "cross")
        self.assert_raises(AttributeError, "cross_attentions", getattr, one, "cross_attentions")

    def test_queries_of_the_encoder_alone(self):
        whole = self.run_it(sites="encoder:pattern")
        self.assertEqual(whole.queries.tolist(), [0, 1, 2, 3])
        r = self.run_it(sites="encoder:pattern", queries="cat")
        self.assertEqual(r.queries.tolist(), [1, 2])
        self.assert_same(r.encoder.pattern[1], whole.encoder.pattern[1][:, 1:3])

    def test_events_name_their_stack(self):
        events = []
        self.run_it(sites="pattern,embed", on_event=lambda e: events.append((e.stack, e.site, e.layer, e.head)))
        self.assertEqual(len(events), len(set(events)))
        self.assertEqual({event[:3] for event in events},
                         {(stack, "pattern", layer) for stack in ("encoder", "decoder", "cross") for layer in (0, 1)} |
                         {("encoder", "embed", None), ("decoder", "embed", None)})

    @needs_cli
    def test_edits_name_their_stack(self):
        for edit, text in ((attn.zero("z", head="cross:0.1"), ("--ablate", "cross:0.1")),
                           (attn.zero("z", head="encoder:0.1"), ("--ablate", "encoder:0.1")),
                           (attn.scale("mlp_out", 0.5, layer="encoder:1"), ("--rescale", "encoder:mlp_out:1=0.5")),
                           (attn.zero("z", head="decoder:1.0"), ("--ablate", "decoder:1.0")),
                           (attn.scale("mlp_out", 0.5, layer="decoder:0"), ("--rescale", "decoder:mlp_out:0=0.5")),
                           (attn.scale("attn_out", 0.5, layer="cross:1"), ("--rescale", "cross:attn_out:1=0.5"))):
            theirs = cli_arrays("-m", self.path, "--source", SOURCE, TEXT, "--sites", "logits", *text)
            self.assert_same(self.run_it(sites="logits", edits=edit).logits, theirs["logits"], text[1])
        for options, words in (({"head": "0.1"}, "names no stack"), ({"layer": 1}, "names no stack"), ({}, "names no stack")):
            self.assert_raises(ValueError, words, self.run_it, edits=attn.zero("z", **options))
            self.assert_raises(ValueError, words, self.model.ablate, TEXT, source=SOURCE, target=" a",
                               edits=attn.zero("z", **options))
        for options, words in (({"head": "cross:*"}, "number of a layer"),
                               ({"layer": "up"}, "layer is 'up'"), ({"head": "cross:1", "layer": 0}, "layer is given")):
            self.assert_raises(ValueError, words, attn.zero, "z", **options)
        self.assert_raises(attn.InvalidError, "the stack 'cross', expected 'decoder'", self.run_it,
                           edits=attn.zero("mlp_out", layer="cross:0"))
        self.assert_raises(ValueError, "has one", model("fable").run, "The keys", edits=attn.zero("z", head="cross:0.1"))

    def test_many_texts(self):
        item = {"text": TEXT, "source": SOURCE}
        (r,) = self.model.map([item], sites="pattern", measures="entropy")
        self.assert_same(r.cross.pattern[1], self.run_it(sites="pattern").cross.pattern[1])
        self.assertEqual(r.measures["entropy"].shape, (2, 2, 2))

    @needs_cli
    def test_tables_name_the_stack(self):
        for name, options in (("heads", {}), ("lens", {}), ("ablate", {"target": " a"})):
            given = [part for key, value in options.items() for part in (f"--{key}", value)]
            theirs = cli_table(name, "-m", self.path, "--source", SOURCE, TEXT, *given)
            ours = getattr(self.model, name)(TEXT, source=SOURCE, **options)
            self.assertEqual(list(ours["stack"]), [row["stack"] for row in theirs], name)
            np.testing.assert_array_equal(ours["layer"], np.array([row["layer"] for row in theirs], np.float64), name)
        ours = self.model.heads(TEXT, source=SOURCE, by="pair")
        self.assertEqual((ours["stack"][0], ours["other_stack"][0]), ("decoder", "decoder"))


def _has_sound() -> bool:
    try:
        ctypes.CDLL("libsndfile.so.1")
    except OSError:
        return False
    return True


@unittest.skipUnless(_has_sound(), "libsndfile.so.1 is missing")
class Sounds(ModelCase):
    ARCHIVE, NAME = "noes.tar", "noes/whisper"

    @property
    def sound(self):
        return pathlib.Path(self.path) / "beep.wav"

    def test_files_and_samples_are_heard_alike(self):
        with wave.open(str(self.sound)) as file:
            samples = np.frombuffer(file.readframes(file.getnframes()), np.int16) / 32768
        heard = self.model.run([3, 5, 6], source=self.sound, sites="logits").logits
        self.assert_same(self.model.run([3, 5, 6], source=samples, sites="logits").logits, heard)
        self.assert_same(next(self.model.map([{"ids": [3, 5, 6], "source": self.sound}], sites="logits")).logits, heard)
        self.assertFalse(np.array_equal(self.model.run([3, 5, 6], source=samples / 2, sites="cross:pattern").cross.pattern[0],
                                        self.model.run([3, 5, 6], source=samples[::-1], sites="cross:pattern").cross.pattern[0]))
        self.assert_raises(OSError, "cannot open", self.model.run, [3], source=self.sound / "absent")
        self.assert_raises(ValueError, "expected a sound in `source`", self.model.run, [3], source=str(self.sound))

    @needs_cli
    def test_words_have_times(self):
        for options, arguments in (({}, ()), ({"heads": "cross:0.1"}, ("--heads", "cross:0.1"))):
            theirs = cli_table("align", "-q", "-m", self.path, "--source", f"file:{self.sound}", "--ids", "3,5,6,7", *arguments)
            ours = self.model.align([3, 5, 6, 7], source=self.sound, **options)
            self.assertEqual([{**row, "row_type": "data"} for row in ours], theirs)
        self.assertEqual(len(self.model.align([3, 5, 6, 7], source=self.sound, limit=2)), 2)
        self.assert_raises(TypeError, "shifted has no effect", self.model.align, [3, 5], source=self.sound, shifted=True)
        with self.assertWarns(UserWarning):
            self.assertIn("a sound", self.model.align(items=[{"ids": [3, 5], "source": f"file:{self.sound}"}])[0]["error"]["message"])

    @needs_cli
    def test_items_have_sounds(self):
        item = {"ids": [3, 5, 6], "source": f"file:{self.sound}", "target": 27}
        theirs = cli_table("ablate", "-q", "-m", self.path, "--source", f"file:{self.sound}", "--ids", "3,5,6", "--target", "ids:27")
        ours = self.model.ablate(items=[item, item])
        self.assertEqual([np.float32(row["value"]) for row in ours], [np.float32(row["value"]) for row in theirs])


if __name__ == "__main__":
    unittest.main()
