"""Changes random tiny models by random LoRA adapters, with attn-cli and with peft, and compares the logits.

    python tests/tools/check_adapters.py [--count 60] [--seed 0] [--family llama] [--tool attn-cli]
    python tests/tools/check_adapters.py --write FOLDER

An adapter gets a random rank, alpha, use_rslora, targets as a list or as a regular expression, layers, patterns of ranks and of
alphas, and modules that are saved whole. peft saves it and reads it again. The reference is peft in float64. What attn-cli may be
off is 4 times what peft itself is off in float32, and 2e-6 of the largest value. --write makes the adapters of noes.tar, with the
logits that peft finds, for models that are in FOLDER already.
"""
import json
import pathlib
import random
import tempfile
import warnings

import numpy as np
import peers
import torch
import transformers as t
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import save_file

warnings.filterwarnings("ignore")
t.logging.set_verbosity_error()
t.logging.disable_progress_bar()
N_VOCAB = 53
LLAMA = dict(hidden_size=24, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=3, intermediate_size=40,
             vocab_size=N_VOCAB, max_position_embeddings=32, bos_token_id=1, eos_token_id=2, pad_token_id=0)
BERT = dict(hidden_size=24, num_attention_heads=4, num_hidden_layers=3, intermediate_size=40, vocab_size=N_VOCAB,
            max_position_embeddings=32)
BLOCK = dict(hidden_size=24, num_attention_heads=4, num_hidden_layers=2, vocab_size=N_VOCAB)
MAPS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj", "lm_head", "embed_tokens"]
FUSED = ["query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h"]
# The model of each family, the modules that may be changed, and those that may be saved whole.
FAMILIES = {
    "gpt2": (lambda: t.GPT2LMHeadModel(t.GPT2Config(n_embd=24, n_head=4, n_layer=3, vocab_size=N_VOCAB, n_positions=32,
                                                    bos_token_id=1, eos_token_id=2)),
             ["c_attn", "c_proj", "c_fc", "lm_head", "wte", "wpe"], []),
    "llama": (lambda: t.LlamaForCausalLM(t.LlamaConfig(**LLAMA)), MAPS, ["embed_tokens", "lm_head", "norm"]),
    "llama-tied": (lambda: t.LlamaForCausalLM(t.LlamaConfig(**LLAMA, tie_word_embeddings=True)), MAPS, ["norm", "embed_tokens", "lm_head"]),
    "llama-class": (lambda: t.LlamaForSequenceClassification(t.LlamaConfig(**LLAMA, num_labels=3)), MAPS[:7], ["score"]),
    "t5": (lambda: t.T5ForConditionalGeneration(t.T5Config(d_model=24, d_kv=6, d_ff=40, num_layers=2, num_heads=4, vocab_size=N_VOCAB,
                                                           decoder_start_token_id=0, pad_token_id=0)),
           ["q", "k", "v", "o", "wi", "wo"], []),
    "bart": (lambda: t.BartForConditionalGeneration(t.BartConfig(
        d_model=24, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=40,
        decoder_ffn_dim=40, vocab_size=N_VOCAB, max_position_embeddings=32, decoder_start_token_id=2)),
             ["q_proj", "k_proj", "v_proj", "out_proj", "fc1", "fc2"], []),
    "bert": (lambda: t.BertForMaskedLM(t.BertConfig(**BERT)), ["query", "key", "value", "dense"], ["cls"]),
    "bert-class": (lambda: t.BertForSequenceClassification(t.BertConfig(**BERT, num_labels=3)), ["query", "value"], ["classifier"]),
    "albert": (lambda: t.AlbertForMaskedLM(t.AlbertConfig(**BERT, embedding_size=16)),
               ["query", "key", "value", "dense", "ffn", "ffn_output"], []),
    "neox": (lambda: t.GPTNeoXForCausalLM(t.GPTNeoXConfig(**BLOCK, intermediate_size=40, max_position_embeddings=32, rotary_pct=1.0)), FUSED,
             ["embed_out"]),
    "phi3": (lambda: t.Phi3ForCausalLM(t.Phi3Config(**LLAMA)), ["qkv_proj", "o_proj", "gate_up_proj", "down_proj"], ["lm_head"]),
    "bloom": (lambda: t.BloomForCausalLM(t.BloomConfig(hidden_size=24, n_head=4, n_layer=2, vocab_size=N_VOCAB)), FUSED, []),
    "falcon": (lambda: t.FalconForCausalLM(t.FalconConfig(**BLOCK, alibi=False)), FUSED, []),
}
# Those of which an adapter may have the tables of the base model beside it, changed.
TRAINED = {"gpt2", "llama", "llama-tied", "neox", "phi3", "bloom"}


def draw_settings(draw: random.Random, family: str, targets: list, saved: list) -> dict:
    chosen = draw.sample(targets, draw.randint(1, len(targets)))
    if chosen == ["wte"] or chosen == ["wpe"]:
        chosen.append("c_attn")
    settings = dict(r=draw.choice([1, 2, 4, 8]), lora_alpha=draw.choice([1, 4, 8, 16]), use_rslora=draw.random() < .3,
                    init_lora_weights=False, target_modules=chosen, fan_in_fan_out=family == "gpt2")
    if draw.random() < .3:
        settings["target_modules"] = r"(?:.+\.)?(?:" + "|".join(chosen) + ")"
    elif draw.random() < .4 and family != "albert" and not {"lm_head", "embed_tokens", "wte", "wpe"} & set(chosen):
        settings["layers_to_transform"] = draw.choice([[0], [1], [0, 1], 1])
    if draw.random() < .4:
        settings["rank_pattern"] = {draw.choice(chosen): draw.choice([2, 3, 5])}
    if draw.random() < .4:
        settings["alpha_pattern"] = {draw.choice(chosen): draw.choice([2, 3, 32]), r".*\.1\..*": 7}
    if saved and (draw.random() < .5 or family.endswith("class")):
        settings["modules_to_save"] = [name for name in saved if name not in chosen]
    return settings


def adapt(model, settings: dict, folder: pathlib.Path, is_trained: bool = False) -> None:
    """Saves a random adapter of MODEL in FOLDER. If IS_TRAINED, the embedding and the output matrix of the base model differ, too."""
    adapted = get_peft_model(model, LoraConfig(**settings))
    with torch.no_grad():
        for name, weight in adapted.named_parameters():
            if weight.requires_grad:
                weight.add_(torch.randn_like(weight) * (.3 if "lora" in name else .05))
        for layer in (adapted.get_input_embeddings(), adapted.get_output_embeddings()) if is_trained else ():
            table = getattr(layer, "original_module", layer)
            getattr(table, "base_layer", table).weight.mul_(1.5).add_(.2)
    adapted.save_pretrained(folder, save_embedding_layers=True if is_trained else "auto")


def find_logits(kind: type, base: pathlib.Path, adapter: pathlib.Path, ids: list, source: list | None):
    """The logits of the adapted model in float64, and what float32 is off."""
    model = PeftModel.from_pretrained(kind.from_pretrained(base), adapter).eval()
    given = dict(input_ids=torch.tensor([ids]))
    if source:
        given = dict(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([ids]))
    with torch.no_grad():
        single = model(**given).logits[0].double().numpy()
        double = model.double()(**given).logits[0].numpy()
    return double, abs(single - double).max()


def check(seed: int, family: str, tool: str, folder: pathlib.Path) -> float:
    """Returns the share of the bound that attn-cli is off."""
    draw = random.Random(seed)
    torch.manual_seed(seed)
    make, targets, saved = FAMILIES[family]
    model = make().eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn_like(weight) * .1)
    model.save_pretrained(folder / "base")
    settings = draw_settings(draw, family, targets, saved)
    adapt(model, settings, folder / "lora", family in TRAINED and draw.random() < .5)
    ids = [draw.randint(3, N_VOCAB - 1) for _ in range(draw.randint(2, 7))]
    source = [draw.randint(3, N_VOCAB - 1) for _ in range(5)] if model.config.is_encoder_decoder else None
    expected, off = find_logits(type(model), folder / "base", folder / "lora", ids, source)
    given = ["--source", f"ids:{peers.joined(source)}"] if source else []
    try:
        found = peers.arrays(tool, "run", "-m", folder / "base", "--adapter", folder / "lora", "--ids", peers.joined(ids), *given,
                             "--sites", "logits")["logits"].reshape(-1, expected.shape[-1])
    except RuntimeError as error:
        raise SystemExit(f"seed {seed}, {family}, {settings}: {error}")
    found = found if expected.ndim > 1 else found[-1]
    share = peers.share_of(found, expected, 4 * off + 2e-6 * abs(expected).max())
    if share > 1:
        print(f"seed {seed}, {family}: {share:.2f} of the bound, {settings}")
    return share


# The adapters of noes.tar: the model, its class, ids, source, and settings that reach every field.
WRITTEN = {
    "gpt2-lora": ("gpt2", t.GPT2LMHeadModel, [3, 9, 27, 14, 5], None,
                  dict(r=4, lora_alpha=8, use_rslora=True, fan_in_fan_out=True, target_modules=["c_attn", "c_fc", "wte"],
                       rank_pattern={"c_fc": 2}, alpha_pattern={r"h\.2\.attn\.c_attn": 3}, modules_to_save=["ln_f"])),
    "t5-lora": ("t5", t.T5ForConditionalGeneration, [0, 3, 4], [5, 6, 7, 1],
                dict(r=2, lora_alpha=8, target_modules=r".*\.(SelfAttention|EncDecAttention)\.(q|v)",
                     exclude_modules=r"encoder\.block\.0\..*")),
    "llama-lora-1": ("llama", t.LlamaForCausalLM, [1, 3, 5, 7], None,
                     dict(r=3, lora_alpha=6, target_modules=["k_proj", "o_proj", "down_proj"], layers_to_transform=[0, 2],
                          modules_to_save=["lm_head"])),
    # The embedding, which is the output matrix, too, was trained beside the adapter.
    "gpt2-lora-1": ("gpt2", t.GPT2LMHeadModel, [3, 9, 27, 14, 5], None,
                    dict(r=2, lora_alpha=4, fan_in_fan_out=True, target_modules=["c_attn", "wte"])),
}

# Adapters of q_proj in the first layer, for models in GGUF: the width of the model and of all its queries.
PLAIN = {"internlm3-lora": (24, 32), "tiny-lora": (32, 32)}


def write_plain(folder: pathlib.Path, n_in: int, n_out: int) -> None:
    folder.mkdir(exist_ok=True)
    settings = dict(peft_type="LORA", r=2, lora_alpha=4, target_modules=["q_proj"])
    (folder / "adapter_config.json").write_text(json.dumps(settings) + "\n")
    module = "base_model.model.model.layers.0.self_attn.q_proj"
    save_file({f"{module}.lora_A.weight": torch.randn(2, n_in), f"{module}.lora_B.weight": torch.randn(n_out, 2)},
              folder / "adapter_model.safetensors")


def write(folder: pathlib.Path) -> None:
    torch.manual_seed(62)
    for name, (base, kind, ids, source, settings) in WRITTEN.items():
        adapt(kind.from_pretrained(folder / base), dict(settings, init_lora_weights=False), folder / name, name == "gpt2-lora-1")
        (folder / name / "README.md").unlink()
        logits, off = find_logits(kind, folder / base, folder / name, ids, source)
        np.savez(folder / name / "logits.npz", **{"ids": np.int64(ids), "logits": logits.astype(np.float32)})
        print(f"{name}: bound {4 * off + 2e-6 * abs(logits).max():.2g}")
    for name, sizes in PLAIN.items():
        write_plain(folder / name, *sizes)


def main() -> None:
    parser = peers.options(__doc__, 60)
    parser.add_argument("--family", choices=FAMILIES)
    parser.add_argument("--write", type=pathlib.Path)
    args = parser.parse_args()
    if args.write:
        return write(args.write)
    worst: dict[str, float] = {}
    for seed in range(args.seed, args.seed + args.count):
        family = args.family or list(FAMILIES)[seed % len(FAMILIES)]
        with tempfile.TemporaryDirectory() as folder:
            worst[family] = max(worst.get(family, 0), check(seed, family, args.tool, pathlib.Path(folder)))
    print(", ".join(f"{family} {share:.2f}" for family, share in worst.items()), "of the bound")
    if max(worst.values()) > 1:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
