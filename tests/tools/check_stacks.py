"""Runs random translators with attn-cli, and compares every tensor and greedy output with float64.

    python tests/tools/check_stacks.py [--count 60] [--seed 0] [--family t5] [--tool attn-cli]

Tiny models of T5, Flan-T5, BART, Marian, M2M100 and Whisper, as transformers saves them: stacks of different depth,
heads and widths, heads that do not fill the model, tied and untied matrices, scaled embeddings, odd sizes, all
activations, forced and forbidden tokens; tied matrices under other names or in copies. Hooks of its modules read the tensors
of transformers. A tensor may be off by 16 times what float32 is off in transformers, in tensors of the same kind, and 4e-6 of
its largest value, as in check_encoders.py.
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
from safetensors.torch import load_file, save_file

FAMILIES = ("t5", "flan_t5", "bart", "marian", "m2m_100", "whisper")


# --- random models ------------------------------------------------------------------------------------------------


def random_config(family, rng):
    heads, others, layers = rng.choice((1, 2, 3)), rng.choice((1, 2, 3)), [rng.choice((1, 2, 3)) for _ in range(2)]
    vocab, pad = rng.choice((41, 67, 83)), rng.choice((0, 1, 3))
    act = rng.choice(("gelu", "relu", "gelu_new", "swish"))
    if family in ("t5", "flan_t5"):
        gated = family == "flan_t5"
        return transformers.T5Config(
            vocab_size=vocab, d_model=rng.choice((8, 13, 20)), d_kv=rng.choice((3, 7, 8, 16)), num_heads=heads,
            d_ff=rng.choice((9, 32)), num_layers=layers[0], num_decoder_layers=layers[1], decoder_start_token_id=pad,
            pad_token_id=pad, eos_token_id=rng.choice((2, 5)), layer_norm_epsilon=rng.choice((1e-6, 1e-3)),
            relative_attention_num_buckets=rng.choice((4, 8, 16, 32)),
            relative_attention_max_distance=rng.choice((17, 24, 128)),
            feed_forward_proj=("gated-" if gated else "") + rng.choice(("gelu", "relu", "silu", "gelu_new")),
            tie_word_embeddings=rng.random() < (0.3 if gated else 0.7))
    sizes = {"vocab_size": vocab, "d_model": 12 * rng.choice((1, 2)) if rng.random() < 0.6 else 6, "encoder_layers": layers[0],
             "decoder_layers": layers[1], "encoder_attention_heads": heads, "decoder_attention_heads": others,
             "encoder_ffn_dim": rng.choice((9, 32)), "decoder_ffn_dim": rng.choice((7, 30)), "activation_function": act,
             "pad_token_id": pad, "bos_token_id": 4, "eos_token_id": 2, "decoder_start_token_id": rng.choice((2, pad)),
             "scale_embedding": rng.random() < 0.5}
    if family == "marian" and heads == others == 1:
        sizes["d_model"] = rng.choice((11, 15))  # one more sine than cosines
    positions = rng.choice((33, 64))
    if family == "whisper":
        return transformers.WhisperConfig(**sizes, num_mel_bins=rng.choice((5, 8)), max_source_positions=rng.choice((7, 20)),
                                          max_target_positions=positions)
    cls = {"bart": transformers.BartConfig, "marian": transformers.MarianConfig, "m2m_100": transformers.M2M100Config}[family]
    more = {"max_position_embeddings": positions, "tie_word_embeddings": family == "m2m_100" or rng.random() < 0.7}
    if family == "marian" and rng.random() < 0.3:
        more |= {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": vocab + 6, "tie_word_embeddings": True}
    return cls(**sizes, **more)


def make(directory, config, family, rng, seed):
    """A random model of CONFIG, saved; every tensor has values that matter."""
    torch.manual_seed(seed)
    cls = {"t5": "T5For", "flan_t5": "T5For", "bart": "BartFor", "m2m_100": "M2M100For", "whisper": "WhisperFor"}
    name = "MarianMTModel" if family == "marian" else cls[family] + "ConditionalGeneration"
    model = getattr(transformers, name)._from_config(config, attn_implementation="eager").eval()
    with torch.no_grad():
        for name, x in model.named_parameters():
            is_scale = x.dim() == 1 and name.endswith("weight")
            if not (family in ("marian", "m2m_100") and "embed_positions" in name):
                x.copy_((1 if is_scale else 0) + torch.randn_like(x) * (0.3 if x.dim() == 1 else 1.2 / x.shape[-1]**0.5))
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias.copy_(torch.randn_like(model.final_logits_bias) * 0.5)
    made, n = model.generation_config, config.vocab_size
    made.forced_eos_token_id, made.bad_words_ids = None, None
    if rng.random() < 0.4 and family != "whisper":
        made.forced_bos_token_id = rng.randrange(6, n)
    if rng.random() < 0.4 and family != "whisper":
        made.bad_words_ids = [[i] for i in rng.sample(range(6, n), rng.choice((1, 4)))]
    if family == "whisper" and rng.random() < 0.7:
        made.suppress_tokens = sorted(rng.sample(range(3, n), 20))
        made.begin_suppress_tokens = [rng.randrange(6, n), made.eos_token_id]
    model.save_pretrained(directory)
    change_files(directory, rng)
    return type(model).from_pretrained(directory, attn_implementation="eager", dtype=torch.float32).eval()


def change_files(directory, rng):
    """Files as older programs wrote them, or that contradict each other: what transformers then reads counts."""
    config, path = json.loads((directory / "config.json").read_text()), directory / "model.safetensors"
    weights = {name: x.clone() for name, x in load_file(path).items()}
    shared = next((name for name in weights if name.endswith("shared.weight")), None)
    prefix = shared.removesuffix("shared.weight") if shared else ""
    change = rng.choice(("none", "copies", "own", "renamed", "generation"))
    if shared and config["tie_word_embeddings"] and change in ("copies", "own"):
        for stack in ("encoder", "decoder"):
            weights[f"{prefix}{stack}.embed_tokens.weight"] = weights[shared].clone()
        if change == "own":
            weights[f"{prefix}encoder.embed_tokens.weight"].mul_(-1.5)
    if shared and config["tie_word_embeddings"] and change == "renamed" and "lm_head.weight" not in weights:
        weights["lm_head.weight"] = weights.pop(shared)
        for stack in ("encoder", "decoder"):
            weights.pop(f"{prefix}{stack}.embed_tokens.weight", None)
    if change == "generation":  # of which generation_config.json alone counts
        config |= {"forced_bos_token_id": 7, "bad_words_ids": [[9], [11]], "num_beams": 3}
    (directory / "config.json").write_text(json.dumps(config))
    save_file(weights, path, metadata={"format": "pt"})


# --- what transformers computes -----------------------------------------------------------------------------------


def heads_of(x, n_head):
    return x.reshape(x.shape[-2], n_head, -1)


def add_attention(sites, prefix, attention, n_head, names):
    """Hooks for queries, keys, values and z of ATTENTION. NAMES are those of its linear maps."""
    for site, name in zip("qkv", names):
        getattr(attention, name).register_forward_hook(
            lambda _, __, out, site=site: sites.__setitem__(f"{prefix}.hook_{site}", heads_of(out[0], n_head)))
    getattr(attention, names[3]).register_forward_hook(
        lambda _, args, out: sites.update({f"{prefix}.hook_z": heads_of(args[0][0], n_head),
                                           f"{prefix.rsplit('.', 1)[0]}.hook_{prefix.rsplit('.', 1)[1]}_out": out[0]}))


def add_rows(sites, module, before=None, after=None):
    """Keeps what MODULE reads and returns."""
    def keep(_, args, out):
        out = out[0] if isinstance(out, tuple) else out
        for name, x in ((before, args[0]), (after, out)):
            if name:
                sites[name] = x.reshape(-1, x.shape[-1])
    module.register_forward_hook(keep)


def watch_t5(model, sites):
    for stack in ("encoder", "decoder"):
        for i, block in enumerate(getattr(model, stack).block):
            prefix, parts = f"{stack}.{i}", block.layer
            names = ("q", "k", "v", "o")
            add_attention(sites, f"{prefix}.attn", parts[0].SelfAttention, model.config.num_heads, names)
            add_rows(sites, parts[0], f"{prefix}.hook_resid_pre", f"{prefix}.hook_resid_mid")
            if stack == "decoder":
                add_attention(sites, f"{prefix}.cross_attn", parts[1].EncDecAttention, model.config.num_heads, names)
                add_rows(sites, parts[1], None, f"{prefix}.hook_resid_mid_cross")
            mlp = parts[-1].DenseReluDense
            add_rows(sites, parts[-1], None, f"{prefix}.hook_resid_post")
            add_rows(sites, mlp.wo, f"{prefix}.mlp.hook_post", f"{prefix}.hook_mlp_out")
            if hasattr(mlp, "wi"):
                add_rows(sites, mlp.wi, None, f"{prefix}.mlp.hook_pre")
            else:
                add_rows(sites, mlp.wi_0, None, f"{prefix}.mlp.hook_pre")
                add_rows(sites, mlp.wi_1, None, f"{prefix}.mlp.hook_pre_linear")
        add_rows(sites, getattr(model, stack).final_layer_norm, None, f"{stack}_final_ln.hook_normalized")


def watch_bart(model, sites, is_post):
    for stack in ("encoder", "decoder"):
        n_head = getattr(model.config, f"{stack}_attention_heads")
        own, names = getattr(model.model, stack), ("q_proj", "k_proj", "v_proj", "out_proj")
        for i, layer in enumerate(own.layers):
            prefix, is_decoder = f"{stack}.{i}", stack == "decoder"
            add_attention(sites, f"{prefix}.attn", layer.self_attn, n_head, names)
            ends, begins = [f"{prefix}.hook_resid_mid"], [layer.self_attn_layer_norm]
            if is_decoder:
                add_attention(sites, f"{prefix}.cross_attn", layer.encoder_attn, n_head, names)
                ends.append(f"{prefix}.hook_resid_mid_cross")
                begins.append(layer.encoder_attn_layer_norm)
            ends.append(f"{prefix}.hook_resid_post")
            begins.append(layer.final_layer_norm)
            if is_post:  # a norm reads the sum
                for norm, name in zip(begins, ends):
                    add_rows(sites, norm, name, name.replace("hook_", "hook_normalized_"))
            else:
                for norm, name in zip(begins, [f"{prefix}.hook_resid_pre", *ends]):
                    add_rows(sites, norm, name)
                add_rows(sites, layer, None, ends[-1])
            add_rows(sites, layer.fc1, None, f"{prefix}.mlp.hook_pre")
            add_rows(sites, layer.fc2, f"{prefix}.mlp.hook_post", f"{prefix}.hook_mlp_out")
        if not is_post:
            add_rows(sites, own.layer_norm, None, f"{stack}_final_ln.hook_normalized")


def run_transformers(model, sites, source, ids):
    given = {"decoder_input_ids": torch.tensor([ids])}
    if isinstance(source, np.ndarray):
        given["input_features"] = torch.tensor(source, dtype=next(model.parameters()).dtype)[None]
    else:
        given["input_ids"] = torch.tensor([source])
    sites.clear()
    with torch.no_grad(), peers.exact(model):
        out = model(**given, output_attentions=True, output_hidden_states=True, use_cache=False)
    assert out.logits.dtype == next(model.parameters()).dtype
    for stack, name in (("encoder", "attn"), ("decoder", "attn"), ("cross", "cross_attn")):
        for i, pattern in enumerate(getattr(out, f"{stack}_attentions")):
            sites[f"{'encoder' if stack == 'encoder' else 'decoder'}.{i}.{name}.hook_pattern"] = pattern[0]
    for stack in ("encoder", "decoder"):
        for i, x in enumerate(getattr(out, f"{stack}_hidden_states")[:-1]):
            sites[f"{stack}.{i}.hook_resid_pre"] = x[0]
    sites["logits"] = out.logits[0]
    return {name: x.double().numpy().copy() for name, x in sites.items()}


def greedy(model, source, n):
    """The ids that transformers' generate gives in float64. Whisper's own generate is for long sounds and languages."""
    first = torch.tensor(source)[None]
    with torch.no_grad(), peers.Float64():
        made = transformers.GenerationMixin.generate(model, first.double() if isinstance(source, np.ndarray) else first,
                                                     num_beams=1, do_sample=False, max_new_tokens=n,
                                                     use_cache=model.config.model_type != "t5")  # no room for deeper decoders
    made = made[0].tolist()
    return made[:-1] if made[-1] == model.generation_config.eos_token_id else made  # attn-cli does not print the end


# --- the comparison -----------------------------------------------------------------------------------------------


def options_of(directory, source, folder):
    """The model and its source as options of attn-cli."""
    if not isinstance(source, np.ndarray):
        return ["-m", directory, "--source", f"ids:{peers.joined(source)}"]
    np.save(f"{folder}/source.npy", source)
    return ["-m", directory, "--source", f"file:{folder}/source.npy"]


def kind_of(name):
    return "logits" if name == "logits" else "pattern" if name.endswith("pattern") else "rows"


def compare(found, single, double):
    """The worst share of its bound, and the name of that tensor."""
    off, worst = {}, (0.0, "")
    for name, x in double.items():
        share = np.abs(single[name] - x).max() / max(np.abs(x).max(), 1e-30)
        off[kind_of(name)] = max(off.get(kind_of(name), 0), share)
    for name, x in double.items():
        assert name in found, (name, sorted(found))
        ours = found[name].astype(np.float64)
        assert ours.shape == x.shape, (name, ours.shape, x.shape)
        bound = (16 * off[kind_of(name)] + 4e-6) * max(np.abs(x).max(), 1e-30)
        worst = max(worst, (np.abs(ours - x).max() / bound, name))
    return worst


def check(i, args, scratch):
    rng = random.Random(1000 * args.seed + i)
    family = args.family or FAMILIES[i % len(FAMILIES)]
    directory, sites = pathlib.Path(scratch) / f"{i}-{family}", {}
    config = random_config(family, rng)
    model = make(directory, config, family, rng, 1000 * args.seed + i)
    ids = [rng.randrange(config.vocab_size) for _ in range(rng.choice((1, 2, 9, 27)))]
    if family == "m2m_100":  # whose generate counts padding, and whose forward does not
        ids = [id for id in ids if id != config.pad_token_id] or [2]
    source = [rng.randrange(config.vocab_size) for _ in range(rng.choice((1, 2, 11, 30)))]
    if family == "whisper":
        source = np.random.default_rng(i).normal(size=(config.num_mel_bins, 2 * config.max_source_positions)).astype(np.float32)
    watch_t5(model, sites) if "t5" in family else watch_bart(model, sites, family in ("bart", "marian"))
    single = run_transformers(model, sites, source, ids)
    double = run_transformers(model.double(), sites, source, ids)
    given = options_of(directory, source, scratch)
    found = peers.arrays(args.tool, "run", *given, "--ids", peers.joined(ids), "--sites", "*")
    worst = compare(found, single, double)
    expected = greedy(model, source, 20)
    text = peers.ask(args.tool, "generate", *given, "--ids", expected[0], "--tokens", "20")
    ours = [expected[0], *map(int, text.split())]
    print(f"{i:4} {family:8} {len(source):3} to {len(ids):2}, {len(double):3} tensors  {worst[0]:5.2f} of its bound:"
          f" {worst[1]:38} greedy {'equal' if ours == expected else f'{ours} expected {expected}'}", flush=True)
    return family, worst[0], ours == expected


def main():
    parser = peers.options(__doc__, 60)
    parser.add_argument("--family", choices=FAMILIES)
    args = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    with tempfile.TemporaryDirectory() as scratch:
        results = [check(i, args, scratch) for i in range(args.count)]
    for family in FAMILIES:
        shares = [share for name, share, _ in results if name == family]
        if shares:
            equal = sum(same for name, _, same in results if name == family)
            print(f"{family:8} {len(shares):3} models, worst {max(shares):.2f} of the bound, greedy equal in {equal}")
    return 0 if all(share <= 1 and same for _, share, same in results) else 1


if __name__ == "__main__":
    sys.exit(main())
