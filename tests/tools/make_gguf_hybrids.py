#!/usr/bin/env python3
"""Writes tests/fixtures/gguf/hybrids.zip: models of family.tar whose layers mix without attention, or differ in their sizes,
as GGUF files in float32 by llama.cpp's converter: python3 tests/tools/make_gguf_hybrids.py LLAMA_CPP

LLAMA_CPP is a checkout with convert_hf_to_gguf.py, of November 2026. Tokens are stand-ins. Members are stored, without dates."""
import json, pathlib, shutil, sys, tempfile, zipfile

LLAMA_CPP = pathlib.Path(sys.argv[1]).resolve()
sys.path[:0] = [str(LLAMA_CPP), str(LLAMA_CPP / "gguf-py")]
import gguf, torch
from conversion import ModelBase, ModelType, get_model_architecture, get_model_class

ROOT = pathlib.Path(__file__).parents[1] / "fixtures"
NAMES = "bamba falcon-h1 gemma4 gemma4-experts gemma4-experts-q8 gemma4-text granitemoehybrid lfm2 nemotron-h qwen3-5 qwen3-5-text qwen3-next".split()
WITHOUT_MTP = ("qwen3-5-text", "qwen3-next")
MORE = {"bamba": {"attn_rotary_emb": 4}, "nemotron-h": {"d_head": 5}}  # keys of the published files
# Keys of mixtures, which transformers 5.23 writes for all, and the converter takes for those of one.
LESS = {"nemotron-h": ("num_experts_per_tok", "n_group", "topk_group", "n_routed_experts", "moe_intermediate_size", "moe_latent_size")}


def set_vocab(self):
    n = self.hparams["vocab_size"]
    self.gguf_writer.add_tokenizer_model("llama")
    self.gguf_writer.add_token_list(["<unk>"] + [f"t{i}" for i in range(1, n)])
    self.gguf_writer.add_token_scores([-float(i) for i in range(n)])
    self.gguf_writer.add_token_types([2] + [1] * (n - 1))
    self.gguf_writer.add_bos_token_id(0)


def convert(name, folder, target):
    name, is_of_blocks = name.removesuffix("-q8"), name.endswith("-q8")
    for file in "config.json", "model.safetensors":
        shutil.copy(ROOT / f"{'names' if name == 'gemma4-experts' else 'family'}-{name}" / file, folder)
    config = json.loads((folder / "config.json").read_text()) | MORE.get(name, {})
    for key in LESS.get(name, ()):
        config.pop(key, None)
    (folder / "config.json").write_text(json.dumps(config))
    n = (config.get("text_config") or config)["vocab_size"]  # Gemma's embedding is cut to its tokens
    (folder / "tokenizer.json").write_text(json.dumps({"model": {"vocab": {f"t{i}": i for i in range(n)}}, "added_tokens": []}))
    with torch.inference_mode():
        hparams = ModelBase.load_hparams(folder, False)
        kind = get_model_class(get_model_architecture(hparams, ModelType.TEXT), mmproj=False)
        kind.set_vocab, kind.no_mtp = set_vocab, name in WITHOUT_MTP
        given = {"hparams": config} if name in LESS else {}
        kind(folder, gguf.LlamaFileType.MOSTLY_Q8_0 if is_of_blocks else gguf.LlamaFileType.ALL_F32, target, eager=True, model_name="m", **given).write()


with zipfile.ZipFile(ROOT / "gguf/hybrids.zip", "w") as archive:
    for name in NAMES:
        with tempfile.TemporaryDirectory() as folder:
            target = pathlib.Path(folder) / "model.gguf"
            convert(name, pathlib.Path(folder), target)
            archive.writestr(zipfile.ZipInfo(f"{name}.gguf"), target.read_bytes())
