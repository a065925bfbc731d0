"""Runs encoders with attn-cli, and compares every tensor with float64.

    python tests/tools/check_encoders.py [--count 40] [--seed 0] [--family bert] [--models FOLDER] [--tool attn-cli]

Random tiny models of every family: transformers saves them, with its own config or as files were years ago
(gamma and beta, no prefix, `global_rope_theta`), with and without a head. The reference is encoder_reference.py,
whose patterns, hidden states and logits must be those of transformers in float64 to 1e-9 (1e-5 where positions
are rotary: see there). What attn-cli may be off
is 16 times what transformers is off in float32, and 4e-6 of the largest value.

--models: of directories with info.json and expected/K.npz instead; there 4 times, and 1e-6.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np
from encoder_reference import forward

TOOL = pathlib.Path(__file__).resolve().parents[2] / "build/release/attn-cli"
FAMILIES = ("bert", "roberta", "xlm-roberta", "distilbert", "electra", "albert", "modernbert")


def run_tool(tool, directory, ids, types, folder, mask=None):
    """The archive of all tensors of `run`."""
    out = pathlib.Path(folder) / "run.npz"
    out.unlink(missing_ok=True)
    command = [str(tool), "run", "-m", str(directory), "--ids", ",".join(map(str, ids)), "--sites", "*",
               "--npz", str(out)]
    if mask is not None:
        command += ["--key-mask", ",".join(map(str, mask))]
    if types is not None:
        command += ["--types", ",".join(map(str, types))]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode == 0, (directory, made.stderr)
    return dict(np.load(out))


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
    assert set(found) - {"ids", "types"} == names, set(found) ^ set(expected)
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
    n = sum(name.endswith("hook_pattern") for name in sites)
    last = f"blocks.{n - 1}.hook_"
    end = sites.get(last + "normalized_resid_post", sites[last + "resid_post"])
    made = {"attn": np.stack([sites[f"blocks.{i}.attn.hook_pattern"] for i in range(n)]),
            "hidden": np.stack([sites[f"blocks.{i}.hook_resid_pre"] for i in range(n)] + [end])}
    made |= {"final": sites["ln_final.hook_normalized"]} if "ln_final.hook_normalized" in sites else {}
    return made | ({"logits": sites["logits"]} if "logits" in sites else {})


def check_models(folder, tool, scratch):
    for directory in sorted(pathlib.Path(folder).iterdir()):
        config = directory / "config.json"
        if not config.exists() or json.loads(config.read_text())["model_type"] not in FAMILIES:
            continue
        for k, prompt in enumerate(json.loads((directory / "info.json").read_text())["prompts"]):
            found = run_tool(tool, directory, prompt["ids"], prompt.get("types"), scratch, prompt.get("mask"))
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
    import transformers

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


def age(directory, family, rng):
    """Rewrites a saved model as files were written years ago; returns how."""
    from safetensors.numpy import load_file, save_file

    path, told = directory / "model.safetensors", []
    tensors, config = load_file(path), json.loads((directory / "config.json").read_text())
    if family != "modernbert" and rng.random() < 0.4:
        told.append("gamma")
        tensors = {n.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): x
                   for n, x in tensors.items()}
    if rng.random() < 0.3:
        told.append("headless")
        prefix = {"modernbert": "model.", "xlm-roberta": "roberta."}.get(family, family + ".")
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


def run_transformers(model, ids, types, mask):
    """Patterns, hidden states and logits of MODEL, which is float32 or float64."""
    import torch
    from check_families import Float64

    is_double = next(model.parameters()).dtype == torch.float64
    arguments = {"input_ids": torch.tensor([ids]), "output_attentions": True, "output_hidden_states": True}
    if types is not None:
        arguments["token_type_ids"] = torch.tensor([types])
    if mask is not None:
        arguments["attention_mask"] = torch.tensor([mask])
    with torch.no_grad():
        if is_double:
            with Float64():
                out = model(**arguments)
        else:
            out = model(**arguments)
    return {"attn": torch.cat(out.attentions).double().numpy(),
            "hidden": torch.cat(out.hidden_states).double().numpy(), "logits": out.logits[0].double().numpy()}


def make(directory, config, seed):
    """A random model of CONFIG, saved."""
    import torch
    import transformers

    torch.manual_seed(seed)
    model = transformers.AutoModelForMaskedLM.from_config(config, attn_implementation="eager")
    with torch.no_grad():
        for name, x in model.named_parameters():
            is_scale = x.dim() == 1 and name.endswith("weight")
            x.copy_((1 if is_scale else 0) + torch.randn_like(x) * (0.3 if x.dim() == 1 else 1.2 / x.shape[-1]**0.5))
    model.eval().save_pretrained(directory)
    return model


def measure(directory, model, *text):
    """All tensors in float64, checked against transformers; how far that is off in float32, and largest values."""
    import torch

    single = run_transformers(model, *text)
    frequencies = {name: b.clone() for name, b in model.named_buffers() if "inv_freq" in name}
    model.double()
    for name, values in frequencies.items():
        owner, _, leaf = name.rpartition(".")
        setattr(model.get_submodule(owner), leaf, torch.nn.Buffer(values, persistent=False))
    double, sites = run_transformers(model, *text), forward(directory, *text)
    own = stack(sites)
    if "final" in own:  # transformers' last hidden state is after the final norm
        own["hidden"] = np.concatenate([own["hidden"][:-1], own["final"][None]])
    close = 1e-5 if frequencies else 1e-9  # a frequency may be rounded otherwise, by a bit of float32
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


def check_random(args, scratch):
    for i in range(args.count):
        rng = random.Random(1000 * args.seed + i)
        family = args.family or FAMILIES[i % len(FAMILIES)]
        directory = pathlib.Path(scratch) / f"{i}"
        config = random_config(family, rng)
        model = make(directory, config, i)
        n = rng.choice((1, 2, 9, 23))
        ids = [rng.randrange(config.vocab_size) for _ in range(n)]
        n_type = getattr(config, "type_vocab_size", 0) if family not in ("distilbert", "modernbert") else 0
        types = [rng.randrange(n_type) for _ in range(n)] if n_type and rng.random() < 0.6 else None
        mask = random_mask(config, n, rng)
        sites, off, largest = measure(directory, model, ids, types, mask)
        told = age(directory, family, rng)
        if "headless" in told:
            sites = {name: x for name, x in sites.items() if name not in ("logits", "mlm_head.hook_normalized")}
        found = run_tool(args.tool, directory, ids, types, scratch, mask)
        worst = compare(found, sites, off, largest, 16, 4e-6)
        print(f"{i:4} {family:12} {n:3} tokens  {worst[0]:5.2f} of its bound: {worst[1]} {' '.join(told)}"
              f"{' masked' if mask and 0 in mask else ''}")
        assert worst[0] <= 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--family", choices=FAMILIES)
    parser.add_argument("--models")
    parser.add_argument("--tool", default=TOOL)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        if args.models:
            check_models(args.models, args.tool, scratch)
        else:
            check_random(args, scratch)
    return 0


if __name__ == "__main__":
    sys.exit(main())
