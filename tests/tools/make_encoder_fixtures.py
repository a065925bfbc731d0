"""Makes tests/fixtures/encoders.tar and image-encoders.tar: a tiny random encoder of each family, as transformers
saves it.

    python tests/tools/make_encoder_fixtures.py

A member NAME/ has config.json, model.safetensors and expected.npz, whose arrays are those of the other
families (make_family_fixtures.py): K/SITE, K/ids, K/bounds, and K/types where a prompt has types; of pictures
K/pixels. All tensors of every prompt are there, but for what is equal to another. The values are those of encoder_reference.py, which agree
with transformers in float64. `bert` also has a tokenizer.json, by which texts become its tokens.
"""

import io
import json
import pathlib
import tarfile
import tempfile

import numpy as np
import transformers
from check_encoders import make, measure
from model_directory import write_archive, write_json
from safetensors.numpy import load_file, save_file

FIXTURES = pathlib.Path(__file__).parents[1] / "fixtures"
SIZES = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 17,
         "max_position_embeddings": 24, "vocab_size": 40}
NARROW = {"embedding_size": 7}
CONFIGS = {
    "bert": transformers.BertConfig(**SIZES),
    "bert-old": transformers.BertConfig(**SIZES | {"hidden_act": "relu", "tie_word_embeddings": False}),
    "roberta": transformers.RobertaConfig(**SIZES | {"hidden_act": "relu", "pad_token_id": 1}),
    "xlm-roberta": transformers.XLMRobertaConfig(**SIZES | {"num_hidden_layers": 1, "type_vocab_size": 1}),
    "distilbert": transformers.DistilBertConfig(vocab_size=40, dim=12, n_layers=2, n_heads=2, hidden_dim=17,
                                                max_position_embeddings=24),
    "electra": transformers.ElectraConfig(**SIZES | NARROW | {"hidden_act": "relu"}),
    "albert": transformers.AlbertConfig(**SIZES | NARROW | {"num_hidden_layers": 3, "num_hidden_groups": 2}),
    "modernbert": transformers.ModernBertConfig(**SIZES | {
        "num_hidden_layers": 3, "num_attention_heads": 2, "local_attention": 5, "pad_token_id": 0, "bos_token_id": 1,
        "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2, "global_attn_every_n_layers": 2}),
}
IMAGE_SIZES = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "num_labels": 4}
# what it is, whether it has a classifier, the pictures: a remainder of pixels, other grids, more and fewer patches
IMAGES = {
    "vit": (transformers.ViTConfig(**IMAGE_SIZES | {"intermediate_size": 17, "image_size": [13, 9], "patch_size": 4}),
            True, [(3, 13, 9)]),
    "dinov2": (transformers.Dinov2Config(**IMAGE_SIZES | {"image_size": 13, "patch_size": 4, "mlp_ratio": 2,
                                                          "layerscale_value": 0.5}),
               True, [(3, 13, 13), (3, 21, 10), (3, 4, 36)]),
    "dinov2_with_registers": (transformers.Dinov2WithRegistersConfig(**IMAGE_SIZES | {
        "image_size": 15, "patch_size": 3, "mlp_ratio": 2, "use_swiglu_ffn": True, "num_register_tokens": 2,
        "num_channels": 1, "qkv_bias": False}), True, [(1, 15, 15), (1, 7, 19)]),
    "clip_vision_model": (transformers.CLIPVisionConfig(**IMAGE_SIZES | {"intermediate_size": 17, "image_size": 12,
                                                                         "patch_size": 4}), False, [(3, 12, 12)]),
}
PROMPTS = {"roberta": [([0, 7, 1, 8, 2], None), ([9, 3, 3, 21, 38, 11, 5, 17], None)],
           "modernbert": [([1, 30, 12, 5, 39, 8, 22, 17, 3, 2], None)]}
TEXTS = [([2, 19, 24, 4, 28, 20, 26, 17, 3], None), ([5, 30, 12, 39, 8, 22], [0, 0, 0, 1, 1, 1])]
VOCAB = ["[PAD]", "!", "[CLS]", "[SEP]", "[MASK]", *"abcde", "\u0120", *"thonms", "?", ".", "th", "the", "\u0120the",
         "at", "cat", "mat", "\u0120cat", "\u0120mat", "on", "\u0120on", "\u0120c", "\u0120m", "sat", "\u0120sat"]
MERGES = ["t h", "th e", "\u0120 the", "a t", "c at", "m at", "s at", "o n", "\u0120 cat", "\u0120 mat", "\u0120 on",
          "\u0120 sat"]


def tokenizer():
    """Byte-level BPE with BERT's special tokens."""
    special = [{"id": VOCAB.index(t), "content": t, "special": True, "single_word": False, "lstrip": t == "[MASK]",
                "rstrip": False, "normalized": False} for t in ("[PAD]", "[CLS]", "[SEP]", "[MASK]")]
    ends = {t: {"id": t, "ids": [VOCAB.index(t)], "tokens": [t]} for t in ("[CLS]", "[SEP]")}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    a, b = {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}
    cls, sep = ({"SpecialToken": {"id": t, "type_id": 0}} for t in ("[CLS]", "[SEP]"))
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": special, "normalizer": None,
            "pre_tokenizer": byte_level, "decoder": byte_level,
            "post_processor": {"type": "TemplateProcessing", "single": [cls, a, sep], "pair": [cls, a, sep, b, sep],
                               "special_tokens": ends},
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
                      "vocab": {token: i for i, token in enumerate(VOCAB)}, "merges": MERGES}}


def write_old(directory):
    """As a file of 2018: gamma and beta, a bias beside that of the decoder, what other tasks left, few keys."""
    path = directory / "model.safetensors"
    tensors = {n.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): x
               for n, x in load_file(path).items()}
    tensors["cls.predictions.bias"] = tensors["cls.predictions.decoder.bias"] + 1  # that of the decoder is taken
    tensors["bert.embeddings.position_ids"] = np.arange(24)[None]
    tensors["bert.pooler.dense.weight"] = np.ones((12, 12), np.float32)
    tensors["cls.seq_relationship.weight"] = np.ones((2, 12), np.float32)
    save_file(tensors, path)
    keys = ("architectures", "hidden_act", "hidden_size", "intermediate_size", "max_position_embeddings",
            "model_type", "num_attention_heads", "num_hidden_layers", "tie_word_embeddings", "vocab_size")
    config = json.loads((directory / "config.json").read_text())
    write_json(directory / "config.json", {k: config[k] for k in keys})


def bounds(off, largest):
    """Of patterns, residuals, the final norm, logits; and of any other site as a share of its largest value."""
    kinds = ("attn", "hidden", "hidden", "logits" if "logits" in off else "hidden")
    absolute = [4 * off[k] + 1e-6 * largest[k] for k in kinds]
    return np.array(absolute + [max(a / largest[k] for a, k in zip(absolute, kinds))])


def tensors(k, directory, model, given):
    """Prompt K: every tensor that is not equal to another, and the bounds."""
    sites, off, largest = measure(directory, model, given)
    for site in list(sites):
        is_later = site.endswith("hook_resid_pre") and not site.startswith("blocks.0.")
        if is_later or site.endswith("hook_qk"):
            del sites[site]
    return {f"{k}/{site}": np.float32(x) for site, x in sites.items()} | {f"{k}/bounds": bounds(off, largest)}


def expected(directory, name, config, seed):
    arrays = {}
    for k, (ids, types) in enumerate(PROMPTS.get(name, TEXTS)):
        model = make(directory, config, seed)
        types = types if getattr(config, "type_vocab_size", 1) > 1 and name != "distilbert" else None
        arrays |= tensors(k, directory, model, (ids, types)) | {f"{k}/ids": np.array(ids, np.int64)}
        arrays |= {} if types is None else {f"{k}/types": np.array(types, np.int64)}
    return arrays


def expected_pictures(directory, config, has_classifier, shapes, seed):
    arrays = {}
    for k, shape in enumerate(shapes):
        model = make(directory, config, seed, "ImageClassification" if has_classifier else None)
        pixels = np.random.default_rng(seed + k).normal(size=shape).astype(np.float32)
        arrays |= tensors(k, directory, model, pixels) | {f"{k}/pixels": pixels}
    return arrays


def add(archive, path, name):
    info, data = tarfile.TarInfo(name), path.read_bytes()
    info.size, info.mode = len(data), 0o644
    archive.addfile(info, io.BytesIO(data))


def main():
    with tempfile.TemporaryDirectory() as scratch, tarfile.open(FIXTURES / "image-encoders.tar", "w") as archive:
        for seed, (name, (config, has_classifier, shapes)) in enumerate(IMAGES.items()):
            directory = pathlib.Path(scratch) / name
            arrays = expected_pictures(directory, config, has_classifier, shapes, 800 + seed)
            write_archive(directory / "expected.npz", arrays)
            for path in sorted(directory.iterdir()):
                add(archive, path, f"{name}/{path.name}")
    with tempfile.TemporaryDirectory() as scratch, tarfile.open(FIXTURES / "encoders.tar", "w") as archive:
        for seed, (name, config) in enumerate(CONFIGS.items()):
            directory = pathlib.Path(scratch) / name
            arrays = expected(directory, name, config, 700 + seed)
            write_archive(directory / "expected.npz", arrays)
            if name == "bert":
                write_json(directory / "tokenizer.json", tokenizer())
                write_json(directory / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast"})
            if name == "bert-old":
                write_old(directory)
            for path in sorted(directory.iterdir()):
                add(archive, path, f"{name}/{path.name}")


if __name__ == "__main__":
    main()
