"""Runs encoders with attn-cli, and compares every tensor with float64.

    python tests/tools/check_encoders.py [--count 40] [--seed 0] [--family bert] [--models FOLDER] [--tool attn-cli]

Random tiny models of every family, of texts and of pictures: transformers saves them, with its own config or as
files were years ago (gamma and beta, no prefix, `global_rope_theta`), with and without a head. The reference is encoder_reference.py,
whose patterns, hidden states and logits must be those of transformers in float64 to 1e-9 (1e-5 where positions
are rotary: see there). What attn-cli may be off
is 16 times what transformers is off in float32, and 4e-6 of the largest value.

--models: of directories with info.json and expected/K.npz instead; there 4 times, and 1e-6.
"""

import json
import pathlib
import random
import sys
import tempfile

import numpy as np
import peers
import torch
import transformers
from encoder_reference import forward, picture

FAMILIES = ("bert", "roberta", "xlm-roberta", "distilbert", "electra", "albert", "modernbert")
PICTURES = ("vit", "dinov2", "dinov2_with_registers", "clip_vision_model")
# Compared with transformers alone: patterns, hidden states, the final rows and logits.
MORE = ("mpnet", "nomic_bert", "jina_embeddings_v3", "eurobert", "deberta-v2", "siglip_text_model")
MORE_PICTURES = ("deit", "dinov3_vit", "siglip_vision_model")


def tokens(ids, types=None):
    """Options of `run`."""
    return ["--ids", peers.joined(ids), *(["--types", peers.joined(types)] if types is not None else [])]


def key_mask(mask):
    """Likewise; None: none."""
    return [] if mask is None else ["--key-mask", peers.joined(mask)]


def run_tool(tool, directory, *options):
    """The archive of all tensors of `run`."""
    return peers.arrays(tool, "run", "-m", directory, "--sites", "*", *options)


def kind_of(name):
    if name.endswith("hook_pattern"):
        return "attn"
    if name == "logits":
        return name
    return "final" if name.startswith("ln_final") else "hidden"


def compare(found, expected, off, largest, times, share):
    """The worst share of its bound that a tensor comes to, and its name; those of EXPECTED must all be there."""
    worst = (0.0, "")
    names = set(expected) - {"logits"} if "logits" not in found else set(expected)
    ours_alone = {"ids", "types", "tokens"} | ({"head.hook_pooled"} - names)  # older folders lack it
    assert set(found) - ours_alone == names, set(found) ^ set(expected)
    for name in names:
        a, b = found[name].astype(np.float64), expected[name].astype(np.float64)
        assert a.shape == b.shape, (name, a.shape, b.shape)
        seen = np.isfinite(a) & np.isfinite(b)
        if not name.endswith("hook_qk"):  # where a window hides a key, q.k need not be there
            assert (a[~seen] == b[~seen]).all(), name
        kind = kind_of(name)
        kind = kind if kind in off else "hidden"
        # what is as large as the stream is as far off as it
        size = max(largest[kind], np.abs(b[seen]).max(initial=0)) if kind == "hidden" else largest[kind]
        bound = times * off[kind] * size / largest[kind] + share * size
        ratio = np.abs(a[seen] - b[seen]).max(initial=0) / bound
        worst = max(worst, (ratio, name))
    return worst


# --- models with expected tensors ---------------------------------------------------------------------------------


def stack(sites):
    """As expected/K.npz has them."""
    n = sum(name.startswith("blocks.") and name.endswith("hook_pattern") for name in sites)
    last = f"blocks.{n - 1}.hook_"
    end = sites.get(last + "conv_out", sites.get(last + "normalized_resid_post", sites[last + "resid_post"]))
    made = {"attn": np.stack([sites[f"blocks.{i}.attn.hook_pattern"] for i in range(n)]),
            "hidden": np.stack([sites[f"blocks.{i}.hook_resid_pre"] for i in range(n)] + [end])}
    made |= {"final": sites["ln_final.hook_normalized"]} if "ln_final.hook_normalized" in sites else {}
    return made | {name: sites[name] for name in ("logits", "text_embed", "image_embed") if name in sites}


def check_models(folder, tool):
    for directory in sorted(pathlib.Path(folder).iterdir()):
        config = directory / "config.json"
        if not config.exists() or json.loads(config.read_text())["model_type"] not in (*FAMILIES, *PICTURES, "clip"):
            continue
        for k, prompt in enumerate(json.loads((directory / "info.json").read_text())["prompts"]):
            types, more = prompt.get("types"), []
            if 0 in prompt.get("mask", []):  # nobody sees these keys
                more = key_mask(prompt["mask"])
            given = (["--image", str(directory / prompt["pixels"])] if "pixels" in prompt
                     else tokens(prompt["ids"], types))
            found = run_tool(tool, directory, *given, *more)
            off, largest = prompt["float32_minus_float64"], prompt["max_abs"]
            sites = directory / "expected" / f"sites_{k}.npz"
            worst = (0.0, "")
            for name, expected in np.load(directory / "expected" / f"{k}.npz").items():
                difference = np.abs(stack(found)[name].reshape(expected.shape) - expected).max()
                worst = max(worst, (difference / (4 * off[name] + 1e-6 * largest[name]), name))
            if sites.exists():
                every = dict(np.load(sites))
                worst = max(worst, compare({n: x for n, x in found.items() if n != "logits"}, every, off, largest,
                                           4, 1e-6))
            print(f"{directory.name:20} {k}  {worst[0]:6.2f} of its bound: {worst[1]}")
            assert worst[0] <= 1


# --- random models ------------------------------------------------------------------------------------------------


def random_config(family, rng):
    heads, layers = rng.choice((1, 2, 3)), rng.choice((1, 2, 3))
    width, vocab = heads * rng.choice((4, 6, 10)), rng.choice((41, 67))
    act, pad = rng.choice(("gelu", "gelu_new", "relu")), rng.choice((0, 1, 3))
    sizes = {"vocab_size": vocab, "hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": heads,
             "intermediate_size": rng.choice((12, 31)), "max_position_embeddings": 32}
    embed = {"embedding_size": rng.choice((width, 7, width + 5))}
    if family == "modernbert":
        more = {"hidden_activation": act, "local_attention": rng.choice((4, 5, 8)), "norm_bias": rng.random() < 0.3,
                "attention_bias": rng.random() < 0.3, "mlp_bias": rng.random() < 0.3, "pad_token_id": 0,
                "decoder_bias": rng.random() < 0.7, "classifier_bias": rng.random() < 0.3,
                "classifier_activation": rng.choice(("gelu", "relu")), "bos_token_id": 1, "eos_token_id": 2,
                "cls_token_id": 1, "sep_token_id": 2, "global_attn_every_n_layers": rng.choice((2, 3)),
                "tie_word_embeddings": rng.random() < 0.7}
        return transformers.ModernBertConfig(**sizes, **more)
    if family == "distilbert":
        return transformers.DistilBertConfig(vocab_size=vocab, dim=width, n_layers=layers, n_heads=heads,
                                             hidden_dim=31, max_position_embeddings=32, activation=rng.choice(("gelu", "relu")))
    sizes |= {"hidden_act": act, "layer_norm_eps": rng.choice((1e-12, 1e-5)), "type_vocab_size": rng.choice((1, 2, 3)),
              "tie_word_embeddings": rng.random() < 0.7}
    if family in ("roberta", "xlm-roberta"):
        cls = transformers.RobertaConfig if family == "roberta" else transformers.XLMRobertaConfig
        return cls(**sizes, pad_token_id=pad)
    if family == "albert":
        return transformers.AlbertConfig(**sizes, **embed, num_hidden_groups=rng.choice(range(1, layers + 1)))
    cls = transformers.ElectraConfig if family == "electra" else transformers.BertConfig
    return cls(**sizes, **(embed if family == "electra" else {}))


def random_more(family, rng):
    """A config of MORE, and the kind of its head, or None."""
    heads, layers, act = rng.choice((1, 2, 4)), rng.choice((1, 2, 3)), rng.choice(("gelu", "gelu_new", "relu", "silu"))
    sizes = {"vocab_size": rng.choice((41, 67)), "hidden_size": heads * rng.choice((4, 6, 10)), "num_hidden_layers": layers,
             "num_attention_heads": heads, "intermediate_size": rng.choice((12, 31)), "max_position_embeddings": 32, "hidden_act": act,
             "bos_token_id": 0, "eos_token_id": 2, "pad_token_id": rng.choice((0, 1, 3)), "num_labels": rng.choice((2, 3))}
    kind = rng.choice(("MaskedLM", "SequenceClassification", "TokenClassification", None))
    theta = {"rope_parameters": {"rope_type": "default", "rope_theta": rng.choice((100.0, 10000.0))}} if rng.random() < 0.6 else {}
    if family == "mpnet":
        return transformers.MPNetConfig(**sizes, relative_attention_num_buckets=rng.choice((32, 40)),
                                        layer_norm_eps=rng.choice((1e-12, 1e-5))), kind
    if family == "deberta-v2":
        buckets = rng.choice((-1, 4, 8, 9))
        more = {"relative_attention": rng.random() < 0.8, "position_biased_input": rng.random() < 0.4, "position_buckets": buckets,
                "max_relative_positions": rng.choice((-1, 7, 40)), "pos_att_type": rng.choice((["c2p", "p2c"], ["p2c"], "c2p", "c2p|p2c", None)),
                "share_att_key": rng.random() < 0.5, "norm_rel_ebd": rng.choice(("none", "layer_norm")), "legacy": rng.random() < 0.5,
                "conv_kernel_size": rng.choice((0, 0, 3, 5)), "conv_groups": rng.choice((1, 1, 2)), "conv_act": rng.choice(("tanh", "gelu")), "type_vocab_size": rng.choice((0, 2)),
                "layer_norm_eps": rng.choice((1e-7, 1e-3)), "pooler_hidden_act": rng.choice(("gelu", "tanh"))}
        if more["legacy"] and rng.random() < 0.3:
            more |= {"embedding_size": sizes["hidden_size"] + rng.choice((-3, 5))}
        return transformers.DebertaV2Config(**sizes | {"max_position_embeddings": 160} | more), kind
    if family == "siglip_text_model":
        return transformers.SiglipTextConfig(**sizes | {"max_position_embeddings": 25}, projection_size=rng.choice((7, sizes["hidden_size"]))), None
    if family == "eurobert":
        more = {"num_key_value_heads": rng.choice([g for g in (1, 2, 4) if heads % g == 0]), "head_dim": rng.choice((None, 4, 8)),
                "attention_bias": rng.random() < 0.4, "mlp_bias": rng.random() < 0.4, "rms_norm_eps": rng.choice((1e-6, 1e-3)),
                "classifier_pooling": rng.choice(("late", "mean", "bos")), "tie_word_embeddings": rng.random() < 0.3}
        return transformers.EuroBertConfig(**sizes | more | theta), kind
    sizes |= {"type_vocab_size": rng.choice((1, 2)), "layer_norm_eps": rng.choice((1e-12, 1e-3))}
    cls = transformers.NomicBertConfig if family == "nomic_bert" else transformers.JinaEmbeddingsV3Config
    return cls(**sizes | theta), kind


def random_more_picture(family, rng):
    heads, patch = rng.choice((1, 2, 4)), rng.choice((2, 3, 5))
    sizes = {"hidden_size": heads * rng.choice((4, 8)), "num_hidden_layers": rng.choice((1, 2, 3)), "num_channels": rng.choice((1, 3)),
             "num_attention_heads": heads, "patch_size": patch, "layer_norm_eps": rng.choice((1e-12, 1e-3)), "intermediate_size": 31,
             "hidden_act": rng.choice(("gelu", "gelu_new", "relu", "silu")), "image_size": 4 * patch, "num_labels": 3}
    if family == "deit":
        return (transformers.DeiTConfig(**sizes, qkv_bias=rng.random() < 0.6),
                rng.choice(("DeiTForImageClassification", "DeiTForImageClassificationWithTeacher", "DeiTModel")),
                (sizes["num_channels"], 4 * patch, 4 * patch))
    if family == "siglip_vision_model":
        return (transformers.SiglipVisionConfig(**sizes, vision_use_head=rng.random() < 0.8), "SiglipVisionModel",
                (sizes["num_channels"], 4 * patch, 4 * patch))
    more = {"num_register_tokens": rng.choice((0, 2)), **{f"{name}_bias": rng.random() < 0.5 for name in ("query", "key", "value")},
            "proj_bias": rng.random() < 0.6, "mlp_bias": rng.random() < 0.6, "use_gated_mlp": rng.random() < 0.4,
            "rope_theta": rng.choice((100.0, 30.0)), "layerscale_value": rng.choice((0.5, 1.0))}
    return (transformers.DINOv3ViTConfig(**sizes | more), "DINOv3ViTModel",
            (sizes["num_channels"], rng.randrange(patch, 6 * patch), rng.randrange(patch, 6 * patch)))


def check_more(args, family, directory, i, rng):
    """A random model of MORE: what transformers also has. Returns the worst share of a bound, and its name."""
    mask, types, size = None, [], "picture"
    torch.manual_seed(i)
    if family in MORE_PICTURES:
        config, cls, shape = random_more_picture(family, rng)
        model = getattr(transformers, cls)._from_config(config, attn_implementation="eager")
        given = np.random.default_rng(i).normal(size=shape).astype(np.float32)
        directory.mkdir()
        np.save(directory / "pixels.npy", given)
        options = ["--image", str(directory / "pixels.npy")]
    else:
        config, kind = random_more(family, rng)
        if family == "siglip_text_model":
            model = transformers.SiglipTextModel._from_config(config, attn_implementation="eager")
        else:
            automatic = getattr(transformers, f"AutoModelFor{kind}") if kind else transformers.AutoModel
            model = automatic.from_config(config, attn_implementation="eager")
        given, mask = random_text(config, family, rng), None
        mask, size = random_mask(config, len(given[0]), rng), f"{len(given[0])} tokens"
        mask = [1, *mask[1:]] if mask and family == "deberta-v2" else mask  # [CLS] is pooled
        options = tokens(*given) + key_mask(mask)
    peers.draw_weights(model.eval()).save_pretrained(directory)
    single = run_transformers(model, given, mask)
    peers.to_double(model)
    double = run_transformers(model, given, mask)
    found = stack(run_tool(args.tool, directory, *options))
    if family == "eurobert":
        found["hidden"][-1] = found["final"]  # transformers' last hidden state is after the final norm
    if family == "deberta-v2" and mask:  # it masks rows, too: their patterns and all that follows differ
        seen = np.array(mask, bool)
        for x in (single, double, found):
            x["attn"], x["hidden"] = x["attn"][:, :, seen], x["hidden"][:, seen]
            if "logits" in x and len(x["logits"]) == len(seen):
                x["logits"] = x["logits"][seen]
    worst = (0.0, "")
    assert "logits" in found or "logits" not in double, "no logits"
    for name, x in double.items():
        ours = found[name].reshape(x.shape)
        bound = 16 * np.abs(single[name] - x).max() + 4e-6 * np.abs(x).max()
        worst = max(worst, (np.abs(ours - x).max() / bound, name))
    return worst, f"{size:>9} {type(model).__name__}{' masked' if mask and 0 in mask else ''}"


def random_picture(family, rng):
    """A config, whether it has a classifier, and the pixels of a picture."""
    heads, layers, patch, channels = rng.choice((1, 2, 3)), rng.choice((1, 2, 3)), rng.choice((2, 3, 5)), rng.choice((1, 3))
    sizes = {"hidden_size": heads * rng.choice((4, 6, 10)), "num_hidden_layers": layers, "num_channels": channels,
             "num_attention_heads": heads, "patch_size": patch, "layer_norm_eps": rng.choice((1e-12, 1e-5)),
             "hidden_act": rng.choice(("gelu", "gelu_new", "relu", "quick_gelu"))}
    edges = [patch * rng.choice((1, 2, 4)) + rng.choice((0, 1)) for _ in range(2)]
    if family == "clip_vision_model":
        config = transformers.CLIPVisionConfig(**sizes | {"intermediate_size": 31, "image_size": edges[0]})
        return config, False, (channels, edges[0], edges[0])
    sizes |= {"qkv_bias": rng.random() < 0.7, "num_labels": rng.choice((2, 5))}
    has_classifier = rng.random() < 0.7
    if family == "vit":
        is_square = rng.random() < 0.4
        sizes |= {"intermediate_size": 31, "image_size": edges[0] if is_square else edges}
        if rng.random() < 0.3:
            sizes |= {"patch_size": [patch, min(patch + 1, edges[1])]}
        return transformers.ViTConfig(**sizes), has_classifier, (channels, edges[0], edges[0 if is_square else 1])
    sizes |= {"image_size": edges[0], "mlp_ratio": rng.choice((1, 2, 4)), "use_swiglu_ffn": rng.random() < 0.5,
              "layerscale_value": rng.choice((0.1, 1.0))}
    seen = [edges[0]] * 2 if rng.random() < 0.3 else [rng.randrange(patch, 6 * patch) for _ in range(2)]
    if family == "dinov2":
        return transformers.Dinov2Config(**sizes), has_classifier, (channels, *seen)
    more = {"num_register_tokens": rng.choice((0, 1, 4))}
    return transformers.Dinov2WithRegistersConfig(**sizes, **more), has_classifier, (channels, *seen)


def age(directory, family, rng):
    """Rewrites a saved model as files were written years ago; returns how."""
    from safetensors.numpy import load_file, save_file

    path, told = directory / "model.safetensors", []
    tensors, config = load_file(path), json.loads((directory / "config.json").read_text())
    if family not in ("modernbert", *PICTURES) and rng.random() < 0.4:
        told.append("gamma")
        tensors = {n.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): x
                   for n, x in tensors.items()}
    if rng.random() < 0.3 and family != "clip_vision_model":
        told.append("headless")
        prefix = {"modernbert": "model.", "xlm-roberta": "roberta."}.get(family, family + ".")
        prefix = prefix if any(n.startswith(prefix) for n in tensors) else ""
        tensors = {n.removeprefix(prefix): x for n, x in tensors.items() if n.startswith(prefix)}
    ropes = config.get("rope_parameters")
    if family == "modernbert" and ropes and rng.random() < 0.5:
        told.append("thetas")
        del config["rope_parameters"]
        config |= {"global_rope_theta": ropes["full_attention"]["rope_theta"],
                   "local_rope_theta": ropes["sliding_attention"]["rope_theta"], "layer_norm_eps": 0.1}
    save_file(tensors, path)
    (directory / "config.json").write_text(json.dumps(config))
    return told


def run_transformers(model, given, mask=None):
    """Patterns, hidden states and logits of MODEL, which is float32 or float64; GIVEN are ids and types, or pixels."""
    arguments = {"output_attentions": True, "output_hidden_states": True}
    if isinstance(given, np.ndarray):
        arguments["pixel_values"] = torch.tensor(given, dtype=next(model.parameters()).dtype)[None]
    else:
        arguments["input_ids"] = torch.tensor([given[0]])
        arguments |= {} if given[1] is None else {"token_type_ids": torch.tensor([given[1]])}
    if mask is not None:
        arguments["attention_mask"] = torch.tensor([mask])
    with torch.no_grad(), peers.exact(model):
        out = model(**arguments)
    found = {"attn": torch.cat(out.attentions).double().numpy(),
             "hidden": torch.cat(out.hidden_states).double().numpy()}
    if "logits" in out:
        found["logits"] = (out.logits if isinstance(given, np.ndarray) else out.logits[0]).double().numpy()
    if model.config.model_type.startswith("siglip") and out.pooler_output is not None:
        found["image_embed" if isinstance(given, np.ndarray) else "text_embed"] = out.pooler_output[0].double().numpy()
    return found


def make(directory, config, seed, kind="MaskedLM"):
    """A random model of CONFIG, saved; KIND None: without a head."""
    torch.manual_seed(seed)
    automatic = getattr(transformers, f"AutoModelFor{kind}") if kind else transformers.AutoModel
    model = automatic.from_config(config, attn_implementation="eager")
    peers.draw_weights(model).save_pretrained(directory)
    return model


def measure(directory, model, given, mask=None):
    """All tensors in float64, checked against transformers; how far that is off in float32, and largest values."""
    single = run_transformers(model, given, mask)
    peers.to_double(model)
    double = run_transformers(model, given, mask)
    is_picture = isinstance(given, np.ndarray)
    sites = picture(directory, given) if is_picture else forward(directory, *given, mask)
    own = stack(sites)
    if "final" in own and not is_picture:  # transformers' last hidden state is after the final norm
        own["hidden"] = np.concatenate([own["hidden"][:-1], own["final"][None]])
    close = 1e-5 if any("inv_freq" in name for name, _ in model.named_buffers()) else 1e-9  # a frequency may be rounded otherwise, by a bit of float32
    for name, x in double.items():
        assert np.abs(own[name] - x).max() < close * max(1, np.abs(x).max()), (name, np.abs(own[name] - x).max())
    return sites, {name: np.abs(single[name] - x).max() for name, x in double.items()}, {
        name: np.abs(x).max() for name, x in double.items()}


def random_mask(config, n, rng):
    """A mask of keys, or None. Every query of a window keeps a key: without one transformers looks at all."""
    mask = [int(rng.random() < 0.7) for _ in range(n)]
    reach = getattr(config, "local_attention", 2 * n) // 2
    sees_none = any(not any(mask[max(0, i - reach):i + reach + 1]) for i in range(n))
    return None if sees_none or rng.random() < 0.5 else mask


def random_text(config, family, rng):
    """Ids and types of tokens."""
    n = rng.choice((1, 2, 9, 23, 70, 150) if family == "deberta-v2" else (1, 2, 9, 23))
    ids = [rng.randrange(config.vocab_size) for _ in range(n)]
    n_type = getattr(config, "type_vocab_size", 0) if family not in ("distilbert", "modernbert") else 0
    return ids, [rng.randrange(n_type) for _ in range(n)] if n_type and rng.random() < 0.6 else None


def check_random(args, scratch):
    every = FAMILIES + PICTURES + MORE + MORE_PICTURES
    for i in range(args.count):
        rng = random.Random(1000 * args.seed + i)
        family = args.family or every[i % len(every)]
        directory = pathlib.Path(scratch) / f"{i}"
        mask = None
        if family in MORE + MORE_PICTURES:
            worst, told = check_more(args, family, directory, i, rng)
            print(f"{i:4} {family:21} {worst[0]:5.2f} of its bound: {worst[1]} {told}")
            assert worst[0] <= 1
            continue
        if family in PICTURES:
            config, has_classifier, shape = random_picture(family, rng)
            model = make(directory, config, i, "ImageClassification" if has_classifier else None)
            given = np.random.default_rng(i).normal(size=shape).astype(np.float32)
            np.save(directory / "pixels.npy", given)
            options, size = ["--image", str(directory / "pixels.npy")], "x".join(map(str, shape))
        else:
            config = random_config(family, rng)
            model = make(directory, config, i)
            given = random_text(config, family, rng)
            mask = random_mask(config, len(given[0]), rng)
            options, size = tokens(*given) + key_mask(mask), f"{len(given[0])} tokens"
        sites, off, largest = measure(directory, model, given, mask)
        told = age(directory, family, rng)
        if "headless" in told:
            sites = {name: x for name, x in sites.items() if name not in ("logits", "mlm_head.hook_normalized", "head.hook_pooled")}
        found = run_tool(args.tool, directory, *options)
        worst = compare(found, sites, off, largest, 16, 4e-6)
        print(f"{i:4} {family:21} {size:>9}  {worst[0]:5.2f} of its bound: {worst[1]} {' '.join(told)}"
              f"{' masked' if mask and 0 in mask else ''}")
        assert worst[0] <= 1


def main():
    parser = peers.options(__doc__, 40)
    parser.add_argument("--family", choices=FAMILIES + PICTURES + MORE + MORE_PICTURES)
    parser.add_argument("--models")
    args = parser.parse_args()
    if args.models:
        check_models(args.models, args.tool)
    else:
        with tempfile.TemporaryDirectory() as scratch:
            check_random(args, scratch)
    return 0


if __name__ == "__main__":
    sys.exit(main())
