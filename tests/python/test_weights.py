"""The weights of a model: names, shapes, values; its config in words."""
import hashlib
import json
import pathlib
import struct
import tempfile
import unittest
import zipfile

import numpy as np

import attn
from support import ROOT, TINY, ModelCase, TestCase, model, needs_sources

# The type in the file, and the begin of the SHA-256 of the values as gguf 0.19's dequantize gives them, float32, laid out as
# TransformerLens does; rows of q and k are unpermuted.
DECODED = {"tiny.gguf": {
    "embed.W_E": "Q8_0 f76e58f72bed", "unembed.W_U": "Q8_0 185bf551a1d9", "blocks.0.attn.W_Q": "Q4_0 ce370f0b632e",
    "blocks.0.attn.W_K": "Q4_1 ffa7f556c205", "blocks.0.attn.W_V": "Q5_0 66f6d7ff6d43",
    "blocks.0.attn.W_O": "Q5_1 31e88e91831e", "blocks.0.mlp.W_in": "F16 cb330eaf5442",
    "blocks.0.mlp.W_gate": "IQ4_NL c6d015864239", "blocks.0.mlp.W_out": "BF16 9d5b1630b138"
}, "llama_k_mixture/model.gguf": {
    "embed.W_E": "Q6_K 1e35b7ff41d4", "unembed.W_U": "Q6_K a5f4069397f4", "blocks.0.attn.W_Q": "Q4_K bd55a11f72b6",
    "blocks.0.attn.W_K": "Q2_K 4dddc3253a23", "blocks.0.attn.W_V": "Q6_K 892dbedda336",
    "blocks.0.attn.W_O": "Q5_0 1be9371152de", "blocks.0.mlp.W_in": "IQ4_XS 6456fbe41352",
    "blocks.0.mlp.W_gate": "Q3_K 75da04441722", "blocks.0.mlp.W_out": "Q8_0 1cc70474923a",
    "blocks.1.attn.W_Q": "Q5_K 185aa4d70ca5", "blocks.1.attn.W_K": "Q3_K f868e979d599",
    "blocks.1.attn.W_V": "IQ4_XS ba2eb7887891", "blocks.1.attn.W_O": "Q5_0 5dcff0448fe4",
    "blocks.1.mlp.W_in": "Q5_K 7ca463b93102", "blocks.1.mlp.W_gate": "Q2_K 820c304635e1",
    "blocks.1.mlp.W_out": "IQ4_NL e2e0611a59a7"
}}


def tensors(path):
    """The float32 tensors of a .safetensors file."""
    data = path.read_bytes()
    size, = struct.unpack("<Q", data[:8])
    return {name: np.frombuffer(data[8 + size:][slice(*entry["data_offsets"])], np.float32).reshape(entry["shape"])
            for name, entry in json.loads(data[8:8 + size]).items() if name != "__metadata__"}


class Weights(TestCase):
    @needs_sources
    def test_they_are_those_of_the_file(self):
        m, file = model(TINY), {name.removeprefix("transformer."): value for name, value in tensors(TINY / "model.safetensors").items()}
        w, head, width = m.weights, m.n_head, m.d_head
        self.assertEqual(len(w), 3 + 16 * m.n_layer + 2)
        want = {"embed.W_E": file["wte.weight"], "pos_embed.W_pos": file["wpe.weight"], "unembed.W_U": file["wte.weight"].T,
                "ln_final.w": file["ln_f.weight"], "ln_final.b": file["ln_f.bias"]}
        for layer in range(m.n_layer):
            of = {name.split(".", 2)[2]: value for name, value in file.items() if name.startswith(f"h.{layer}.")}
            for i, letter in enumerate("QKV"):
                part = slice(i * head * width, (i + 1) * head * width)
                want[f"blocks.{layer}.attn.W_{letter}"] = of["attn.c_attn.weight"][:, part].reshape(-1, head, width).transpose(1, 0, 2)
                want[f"blocks.{layer}.attn.b_{letter}"] = of["attn.c_attn.bias"][part].reshape(head, width)
            for ours, theirs in (("ln1.w", "ln_1.weight"), ("ln1.b", "ln_1.bias"), ("ln2.w", "ln_2.weight"), ("ln2.b", "ln_2.bias"),
                                 ("attn.b_O", "attn.c_proj.bias"), ("mlp.W_in", "mlp.c_fc.weight"), ("mlp.b_in", "mlp.c_fc.bias"),
                                 ("mlp.W_out", "mlp.c_proj.weight"), ("mlp.b_out", "mlp.c_proj.bias")):
                want[f"blocks.{layer}.{ours}"] = of[theirs]
            want[f"blocks.{layer}.attn.W_O"] = of["attn.c_proj.weight"].reshape(head, width, -1)
        self.assertEqual(set(w), set(want))
        for name, value in want.items():
            self.assert_same(w[name], value, name)
            self.assertEqual(w.shape(name), value.shape)
            self.assertFalse(w[name].flags.writeable)

    def test_what_they_are_in_the_equations(self):
        for m in (model("fable"), model(TINY) if TINY.is_dir() else model("fable")):
            self.check_sums(m, m.run([1, 2, 3, 1], sites="*"), "blocks")

    def check_sums(self, m, r, stack):
        w, seen = m.weights, 0
        for layer in range(r.z.layers[-1] + 1 if stack == "blocks" else 2):
            at = f"{stack}.{layer}."
            for attention, out in (("attn.", "hook_attn_out"), ("cross_attn.", "hook_cross_attn_out")):
                if at + attention + "hook_z" not in r.cache:
                    continue
                sums = np.einsum("the,hed->td", r.cache[at + attention + "hook_z"], w[at + attention + "W_O"]) + \
                    w.get(at + attention + "b_O", 0)
                np.testing.assert_allclose(sums, r.cache[at + out], rtol=0, atol=1e-5 * abs(sums).max())
                seen += 1
            post = r.cache[at + "mlp.hook_post"] @ w[at + "mlp.W_out"] + w.get(at + "mlp.b_out", 0)
            np.testing.assert_allclose(post, r.cache[at + "hook_mlp_out"], rtol=0, atol=1e-5 * abs(post).max())
        self.assertGreater(seen, 0)

    def test_names_that_are_not_there(self):
        w = model("fable").weights
        for name in ("blocks.9.attn.W_Q", "", 3):
            self.assert_raises(KeyError, ("'fable'", "list(m.weights)"), w.__getitem__, name)
        self.assertNotIn("blocks.0.mlp.W_gate", w)
        closed = attn.Model("fable")
        w = closed.weights
        closed.close()
        self.assert_raises(attn.ClosedError, "closed", w.__getitem__, "embed.W_E")
        self.assertIn("69 arrays", repr(w))

    @needs_sources
    def test_blocks_are_unpacked(self):
        """A GGUF file: what the weights give is what the model computed, so blocks were decoded alike."""
        m = attn.Model(ROOT / "tests" / "fixtures" / "gguf" / "tiny.gguf")
        r = m.run([1, 2, 3], sites="z,attn_out,mlp_post,mlp_out,ln_final,logits")
        self.check_sums(m, r, "blocks")
        logits = r.cache["ln_final.hook_normalized"] @ m.weights["unembed.W_U"]
        np.testing.assert_allclose(logits, r.logits, rtol=0, atol=1e-5 * abs(logits).max())

    @needs_sources
    def test_blocks_have_the_values_of_gguf(self):
        folder = ROOT / "tests" / "fixtures" / "gguf"
        with tempfile.TemporaryDirectory() as scratch:
            with zipfile.ZipFile(folder / "models.zip") as archive:
                archive.extract("llama_k_mixture/model.gguf", scratch)
            for name, wanted in DECODED.items():
                path = folder / name if (folder / name).exists() else pathlib.Path(scratch) / name
                weights = attn.Model(path).weights
                for tensor, (kind, digest) in ((tensor, text.split()) for tensor, text in wanted.items()):
                    values = np.ascontiguousarray(weights[tensor])
                    self.assertEqual(values.dtype, np.float32)
                    self.assertEqual(hashlib.sha256(values.tobytes()).hexdigest()[:12], digest, (name, tensor, kind))

    def test_config_has_words(self):
        config = model("fable").config
        self.assertEqual({name: config[name] for name in ("norm", "norm_place", "qk_norm", "positions", "output", "task", "pooling",
                                                          "label_kind", "source_positions", "expert_weights")},
                         dict(norm="layernorm", norm_place="before", qk_norm="none", positions="learned", output="tied",
                              task="vocabulary", pooling="none", label_kind="single", source_positions="none",
                              expert_weights="softmax_all"))


class Stacks(ModelCase):
    ARCHIVE, NAME = "stacks.tar", "whole_opus"

    def test_names_begin_with_the_stack(self):
        w, r = self.model.weights, self.model.run([1, 2, 3], source=[4, 5, 6, 0], sites="*")
        self.assertEqual(w.shape("decoder.1.cross_attn.W_Q"), w.shape("encoder.1.attn.W_Q"))
        self.assertIn("decoder.0.ln3.w", w)
        self.assertNotIn("blocks.0.attn.W_Q", w)
        for stack in ("encoder", "decoder"):
            Weights.check_sums(self, self.model, r, stack)


class NormsOfOnePlus(ModelCase):
    """Norms that multiply by 1 + w: TransformerLens stores 1 + w."""
    ARCHIVE, NAME, IS_CENTERED = "family.tar", "family-gemma3-text", False

    def test_they_are_one_plus_those_of_the_file(self):
        m, w = self.model, self.model.weights
        for name, value in tensors(pathlib.Path(self.path, "model.safetensors")).items():
            if name.endswith("norm.weight"):
                self.assertEqual([np.array_equal(w[ours], 1 + value) for ours in w if ours.endswith(".w")].count(True), 1, name)
        r = m.run([1, 2, 3], sites="resid_post,ln_final")
        x = r.resid_post[m.n_layer - 1].astype(np.float64)
        x = x - self.IS_CENTERED * x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + m.config["norm_eps"]) * w["ln_final.w"] + w.get("ln_final.b", 0)
        np.testing.assert_allclose(x, r.cache["ln_final.hook_normalized"], atol=1e-5)


class LayerNormsOfOnePlus(NormsOfOnePlus):
    ARCHIVE, NAME, IS_CENTERED = "row.tar", "row-nemotron", True


if __name__ == "__main__":
    unittest.main()
