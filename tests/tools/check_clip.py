"""Runs both towers of random CLIPs with attn-cli, and compares them with transformers in float64.

    python tests/tools/check_clip.py [--count 20] [--seed 0] [--tool attn-cli]

Patterns, hidden states, the final norm, text_embed, image_embed and the scores of pictures beside texts, of models
that transformers saves: both towers, or one by itself, with and without its projection, with eos_token_id 2 or
another. Pictures are arrays of pixels. What attn-cli may be off is 16 times what transformers is off in float32, and
4e-6 of the largest value.
"""

import json
import pathlib
import random
import tempfile

import numpy as np
import peers
import torch
import transformers

CLIP = "abcdefghijklmnopqrstuvwxyz"
VOCAB = [*CLIP, *(c + "</w>" for c in CLIP), ".</w>", "ca", "cat</w>", "do", "dog</w>", "an", "on</w>", "th", "the</w>",
         "me", "red</w>", "re", "in</w>", "of</w>", "!", "<|startoftext|>", "<|endoftext|>"]
MERGES = ["c a", "ca t</w>", "d o", "do g</w>", "a n", "o n</w>", "t h", "th e</w>", "m e", "r e", "re d</w>", "i n</w>",
          "o f</w>"]
START, END = (VOCAB.index(t) for t in ("<|startoftext|>", "<|endoftext|>"))
TEXTS = ("a cat", "the dog", "a photo of a red cat.", "me")


def tokenizer():
    """As tokenizer.json of CLIP, but with few tokens."""
    special = [{"id": VOCAB.index(t), "content": t, "special": True, "single_word": False, "lstrip": False,
                "rstrip": False, "normalized": False} for t in ("<|startoftext|>", "<|endoftext|>")]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    words = {"type": "Split", "pattern": {
        "Regex": r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"}, "behavior": "Removed", "invert": True}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": special,
            "normalizer": {"type": "Sequence", "normalizers": [
                {"type": "NFC"}, {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "},
                {"type": "Lowercase"}]},
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [words, byte_level]}, "decoder": byte_level,
            "post_processor": {"type": "RobertaProcessing", "sep": [VOCAB[END], END], "cls": [VOCAB[START], START],
                               "trim_offsets": False, "add_prefix_space": False},
            "model": {"type": "BPE", "dropout": None, "unk_token": "<|endoftext|>", "continuing_subword_prefix": "",
                      "end_of_word_suffix": "</w>", "fuse_unk": False, "byte_fallback": False,
                      "vocab": {token: i for i, token in enumerate(VOCAB)}, "merges": MERGES}}


def make(directory, config, seed):
    """A random model of CONFIG, saved with a tokenizer."""
    torch.manual_seed(seed)
    cls = {"clip": transformers.CLIPModel, "clip_text_model": transformers.CLIPTextModelWithProjection,
           "clip_vision_model": transformers.CLIPVisionModelWithProjection}[config.model_type]
    config._attn_implementation = "eager"
    model = cls(config)
    peers.draw_weights(model, lambda name: "norm" in name)
    with torch.no_grad():
        getattr(model, "logit_scale", torch.empty(())).fill_(1.5)
    model.save_pretrained(directory)
    pathlib.Path(directory, "tokenizer.json").write_text(json.dumps(tokenizer()))
    return model


def encode(text):
    from tokenizers import Tokenizer

    return Tokenizer.from_str(json.dumps(tokenizer())).encode(text).ids


def run_transformers(model, **inputs):
    """Of one tower: patterns, hidden states, all rows behind the final norm, the projection."""
    is_text = "input_ids" in inputs
    inputs = {k: torch.tensor(np.asarray(v))[None] for k, v in inputs.items()}
    if not is_text:
        inputs["pixel_values"] = inputs["pixel_values"].to(next(model.parameters()).dtype)
    whole = getattr(model, "text_model" if is_text else "vision_model", None) or model
    norm = whole.final_layer_norm if is_text else whole.post_layernorm
    head = getattr(model, "text_projection" if is_text else "visual_projection")
    with torch.no_grad(), peers.exact(model):
        out = whole(**inputs, output_attentions=True, output_hidden_states=True)
        made = {"attn": torch.cat(out.attentions), "hidden": torch.cat(out.hidden_states),
                "final": norm(out.hidden_states[-1])[0],
                "text_embed" if is_text else "image_embed": head(out.pooler_output)[0]}
    return {k: x.double().numpy() for k, x in made.items()}


def measure(model, **inputs):
    """Its values in float64, and of each kind a bound."""
    single, double = run_transformers(model.float(), **inputs), run_transformers(model.double(), **inputs)
    return double, peers.bounds_of(double, single)


def scores(image, texts, scale):
    texts = np.stack([t / np.linalg.norm(t) for t in texts])
    logits = np.exp(scale) * texts @ (image / np.linalg.norm(image))
    shares = np.exp(logits - logits.max())
    return logits, shares / shares.sum()


def run_tool(tool, directory, *more):
    found = peers.arrays(tool, "run", "-m", directory, "--sites", "*", *more)
    n = sum(name.endswith("hook_pattern") for name in found)
    stacked = {"attn": np.stack([found[f"blocks.{i}.attn.hook_pattern"] for i in range(n)]),
               "hidden": np.stack([found[f"blocks.{i}.hook_resid_pre"] for i in range(n)]
                                  + [found[f"blocks.{n - 1}.hook_resid_post"]]),
               "final": found["ln_final.hook_normalized"]}
    return stacked | {k: found[k] for k in ("text_embed", "image_embed") if k in found}


def random_config(rng):
    heads, other = rng.choice((1, 2, 3)), rng.choice((1, 2))
    patch = rng.choice((3, 4))
    shared = {"projection_dim": rng.choice((5, 8, 40)), "hidden_act": rng.choice(("quick_gelu", "gelu"))}
    text = {"vocab_size": len(VOCAB) + 1, "hidden_size": heads * rng.choice((4, 6)), "num_attention_heads": heads,
            "num_hidden_layers": rng.choice((1, 2)), "intermediate_size": 17, "max_position_embeddings": 24,
            "eos_token_id": rng.choice((2, END, 60)), "bos_token_id": START, **shared}
    vision = {"hidden_size": other * 8, "num_attention_heads": other, "num_hidden_layers": rng.choice((1, 2)),
              "intermediate_size": 19, "image_size": patch * rng.choice((2, 3)), "patch_size": patch, **shared}
    kind = rng.choice(("clip", "clip", "clip_text_model", "clip_vision_model"))
    if kind == "clip_text_model":
        return transformers.CLIPTextConfig(**text)
    if kind == "clip_vision_model":
        return transformers.CLIPVisionConfig(**vision)
    return transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=shared["projection_dim"])


def drop_projection(directory, rng):
    """Of a tower by itself, sometimes; and sometimes the prefix of its names."""
    from safetensors.numpy import load_file, save_file

    path = pathlib.Path(directory) / "model.safetensors"
    tensors = load_file(path)
    has_none, has_no_prefix = rng.random() < 0.5, rng.random() < 0.5
    if has_none:
        tensors = {n: x for n, x in tensors.items() if "_projection" not in n}
    if has_no_prefix:
        tensors = {n.removeprefix("text_model.").removeprefix("vision_model."): x for n, x in tensors.items()}
    save_file(tensors, path)
    return has_none


def check(config, seed, tool, scratch):
    rng = random.Random(seed)
    directory = pathlib.Path(scratch) / f"model{seed}"
    model = make(directory, config, seed)
    lacks = config.model_type != "clip" and drop_projection(directory, rng)
    worst = (0.0, "")
    texts = []
    for text in TEXTS if config.model_type != "clip_vision_model" else ():
        expected, bounds = measure(model, input_ids=encode(text))
        texts.append(expected["text_embed"])
        if lacks:
            del expected["text_embed"]
        worst = max(worst, peers.worst_share(run_tool(tool, directory, text), expected, bounds))
    if config.model_type == "clip_text_model":
        return worst
    vision = getattr(config, "vision_config", config)
    size = vision.image_size
    pixels = np.random.default_rng(seed).normal(size=(3, size, size)).astype(np.float32)
    path = pathlib.Path(scratch) / "pixels.npy"
    np.save(path, pixels)
    expected, bounds = measure(model, pixel_values=pixels)
    image = expected["image_embed"]
    if lacks:
        del expected["image_embed"]
    worst = max(worst, peers.worst_share(run_tool(tool, directory, "--image", str(path)), expected, bounds))
    if config.model_type == "clip":
        labels = [x for text in TEXTS for x in ("--label", text)]
        found = json.loads(peers.ask(tool, "run", "-m", directory, "--image", path, *labels, "--json", "-"))
        logits, shares = scores(image, texts, 1.5)
        with torch.no_grad(), peers.Float64():
            for text, logit in zip(TEXTS, logits):
                out = model.double()(input_ids=torch.tensor([encode(text)]), pixel_values=torch.tensor(pixels)[None].double())
                assert abs(out.logits_per_image.item() - logit) < 1e-9
        for row in found["predictions"]["top"]:
            i = TEXTS.index(row["label"])
            assert abs(row["score"] - logits[i]) < 2e-5 and abs(row["prob"] - shares[i]) < 1e-5, (row, logits)
    return worst


def main():
    args = peers.options(__doc__, 20).parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for seed in range(args.seed, args.seed + args.count):
            config = random_config(random.Random(seed))
            worst = check(config, seed, args.tool, scratch)
            print(f"{seed:4} {config.model_type:18} {worst[0]:6.2f} of its bound: {worst[1]}")
            assert worst[0] <= 1
    print(f"{args.count} models")


if __name__ == "__main__":
    main()
