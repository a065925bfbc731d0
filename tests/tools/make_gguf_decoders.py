#!/usr/bin/env python3
"""Makes GGUF models of decoders by llama.cpp's converter, for make_gguf_fixtures.py:

    python3 tests/tools/make_gguf_decoders.py LLAMA_CPP FOLDER [NAME...]

LLAMA_CPP is a checkout with convert_hf_to_gguf.py. FOLDER/models/NAME gets model.gguf, its twin hf/
(config.json and model.safetensors: the weights as the types of model.gguf round them, in Hugging
Face's names and order) and info.json. Weights are random, from seeds; tokens are stand-ins."""
import json, pathlib, re, shutil, sys, tempfile

LLAMA_CPP, FOLDER = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
sys.path[:0] = [str(LLAMA_CPP), str(LLAMA_CPP / "gguf-py")]
import gguf, numpy as np, torch, transformers
from conversion import ModelBase, ModelType, get_model_architecture, get_model_class
from safetensors.numpy import load_file, save_file

SMALL = dict(vocab_size=96, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=64, bos_token_id=0, eos_token_id=1, pad_token_id=0)
GPT = dict(vocab_size=96, n_embd=32, n_inner=96, n_layer=2, n_head=4, n_positions=64, bos_token_id=0, eos_token_id=1)
LONGROPE = dict(type="longrope", short_factor=[1, 1.1, 1.3, 1.7], long_factor=[1, 1.9, 4, 7.5])
YARN = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=16, beta_fast=32.0, beta_slow=1.0)
FOUR = SMALL | dict(num_hidden_layers=4, sliding_window=6)
FALCON = dict(vocab_size=96, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, alibi=False, bias=False,
              max_position_embeddings=2048, bos_token_id=0, eos_token_id=1)  # the converter writes 2048
MODELS = {  # config, its values, the type of the matrices
    "gemma_f16": ("Gemma", SMALL | dict(head_dim=12), "f16"),
    "phi3_q8_0": ("Phi3", SMALL | dict(rope_scaling=LONGROPE, original_max_position_embeddings=12), "q8_0"),
    "phi3_window_f16": ("Phi3", SMALL | dict(sliding_window=7, partial_rotary_factor=0.5), "f16"),
    "smollm3_f16": ("SmolLM3", SMALL | dict(num_hidden_layers=4), "f16"),
    "granite_q8_0": ("Granite", SMALL | dict(attention_multiplier=0.21, embedding_multiplier=3.0,
                                             residual_multiplier=0.37, logits_scaling=5.3), "q8_0"),
    "olmo_f16": ("Olmo", SMALL | dict(clip_qkv=1.5), "f16"),
    "olmo3_q8_0": ("Olmo3", FOUR | dict(max_position_embeddings=64, rope_parameters={
        "full_attention": YARN | dict(rope_theta=5e5),
        "sliding_attention": dict(rope_type="default", rope_theta=2e4)}), "q8_0"),
    "stablelm_f16": ("StableLm", SMALL | dict(use_qkv_bias=True), "f16"),
    "stablelm_parallel_q8_0": ("StableLm", SMALL | dict(use_parallel_residual=True, qk_layernorm=True), "q8_0"),
    "starcoder2_f16": ("Starcoder2", SMALL, "f16"),
    "starcoder_q8_0": ("GPTBigCode", GPT, "q8_0"),
    "cohere_q8_0": ("Cohere", SMALL | dict(use_qk_norm=True, logit_scale=0.25), "q8_0"),
    "cohere2_f16": ("Cohere2", FOUR | dict(logit_scale=0.5), "f16"),
    "glm4_q8_0": ("Glm4", SMALL | dict(head_dim=12), "q8_0"),
    "exaone4_f16": ("Exaone4", FOUR, "f16"),
    "exaone4_full_q8_0": ("Exaone4", SMALL | dict(sliding_window=None, layer_types=["full_attention"] * 2), "q8_0"),
}
EXPERTS = SMALL | dict(num_experts_per_tok=2)
OSS = FOUR | EXPERTS | dict(num_local_experts=4, head_dim=12, num_hidden_layers=2)
MODELS |= {
    "bloom_q8_0": ("Bloom", dict(vocab_size=96, hidden_size=32, n_layer=2, n_head=4, seq_length=64), "q8_0"),
    "mpt_f16": ("Mpt", dict(vocab_size=96, d_model=32, n_layers=2, n_heads=4, max_seq_len=64,
                            attn_config=dict(clip_qkv=0.7, alibi=True, alibi_bias_max=8)), "f16"),
    "falcon_7b_q8_0": ("Falcon", FALCON | dict(multi_query=True, num_kv_heads=1), "q8_0"),
    "falcon_40b_f16": ("Falcon", FALCON | dict(new_decoder_architecture=True, num_kv_heads=2), "f16"),
    "mixtral_q8_0": ("Mixtral", EXPERTS | dict(num_local_experts=4, head_dim=8), "q8_0"),
    "qwen2moe_f16": ("Qwen2Moe", EXPERTS | dict(num_experts=5, moe_intermediate_size=32,
                                                shared_expert_intermediate_size=24), "f16"),
    "qwen3moe_q8_0": ("Qwen3Moe", EXPERTS | dict(num_experts=4, moe_intermediate_size=32, head_dim=12,
                                                 norm_topk_prob=True), "q8_0"),
    "olmoe_f16": ("Olmoe", EXPERTS | dict(num_experts=6), "f16"),
    "granitemoe_q8_0": ("GraniteMoe", EXPERTS | dict(
        num_local_experts=4, attention_multiplier=0.21, embedding_multiplier=3.0, residual_multiplier=0.37,
        logits_scaling=5.3), "q8_0"),
    "gpt_oss_f16": ("GptOss", OSS | dict(rope_parameters=YARN | dict(truncate=False, rope_theta=150000.0)), "f16"),
    "gpt_oss_mxfp4": ("GptOss", OSS | dict(rope_parameters=dict(rope_type="default", rope_theta=150000.0)), "f16"),
}
FILE_TYPES = {"f16": gguf.LlamaFileType.MOSTLY_F16, "q8_0": gguf.LlamaFileType.MOSTLY_Q8_0}


def set_vocab(self):
    n = self.hparams["vocab_size"]
    self.gguf_writer.add_tokenizer_model("llama")
    self.gguf_writer.add_token_list(["<unk>"] + [f"t{i}" for i in range(1, n)])
    self.gguf_writer.add_token_scores([-float(i) for i in range(n)])
    self.gguf_writer.add_token_types([2] + [1] * (n - 1))


def make_model(target, architecture, values, seed):
    config = getattr(transformers, architecture + "Config")(**values)
    torch.manual_seed(seed)
    model = getattr(transformers, architecture + "ForCausalLM")(config)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            is_norm = "norm" in name or "ln_" in name
            weight.normal_(0, 0.3 if is_norm else 0.15).add_(0.0 if "gemma" in model.config.model_type or
                                                             not is_norm or name.endswith("bias") else 1.0)
    model.save_pretrained(target)


def stack_norms(self, values, name, layer):
    """As StableLM's converter did: since its function yields, what it returns is lost."""
    stem, head = name.removesuffix(".weight").split(".norms.")
    heads = self.__dict__.setdefault(stem, {})
    heads[int(head)] = values
    if len(heads) == self.hparams["num_attention_heads" if "q_" in stem else "num_key_value_heads"]:
        stacked = torch.stack([heads[i] for i in sorted(heads)])
        yield from super(type(self), self).modify_tensors(stacked, stem + ".weight", layer)


def convert(source, target, file_type):
    config = source / "config.json"
    values = json.loads(config.read_text())
    names = [name.replace("Mpt", "MPT") for name in values["architectures"]]  # as in published files
    config.write_text(json.dumps(values | {"rotary_pct": 1.0, "architectures": names}))  # Cohere2's files have the key
    with torch.inference_mode():
        hparams = ModelBase.load_hparams(source, False)
        kind = get_model_class(get_model_architecture(hparams, ModelType.TEXT), mmproj=False)
        kind.set_vocab, modify = set_vocab, kind.modify_tensors
        kind.modify_tensors = lambda self, values, name, layer: (
            stack_norms if ".norms." in name else modify)(self, values, name, layer)
        kind(source, FILE_TYPES[file_type], target, eager=True, model_name="m").write()
    return kind.model_arch


def rounded(values, kind):
    """What a tensor of type KIND holds of VALUES: rows are rounded each by itself."""
    kind = gguf.GGMLQuantizationType(kind)
    return gguf.quants.dequantize(gguf.quants.quantize(values.astype(np.float32), kind), kind).astype(np.float32)


def to_mxfp4(source):
    """Experts as gpt-oss is published: two values of a block of 32 in a byte, and scales."""
    values, packed = load_file(source / "model.safetensors"), {}
    for name, tensor in values.items():
        if not name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            packed[name] = tensor
            continue
        rows = np.ascontiguousarray(tensor.swapaxes(1, 2), np.float32)
        blocks = gguf.quants.quantize(rows, gguf.GGMLQuantizationType.MXFP4)
        blocks = blocks.reshape(*rows.shape[:2], rows.shape[2] // 32, 17)
        codes = np.concatenate([blocks[..., 1:] & 15, blocks[..., 1:] >> 4], -1)
        packed[name + "_scales"] = blocks[..., 0].copy()
        packed[name + "_blocks"] = codes[..., ::2] | codes[..., 1::2] << 4
        decoded = gguf.quants.dequantize(blocks.reshape(*rows.shape[:2], -1), gguf.GGMLQuantizationType.MXFP4)
        values[name] = np.ascontiguousarray(decoded.swapaxes(1, 2))
    save_file(packed, source / "model.safetensors", metadata={"format": "pt"})
    config = source / "config.json"
    whole = json.loads(config.read_text())
    config.write_text(json.dumps(whole | {"quantization_config": {"quant_method": "mxfp4"}}))
    return values, whole


def split_experts(values):
    """Granite's experts by the names of Mixtral's: gate and up of all are one tensor there."""
    for name, tensor in values.items():
        if not name.endswith(("input_linear.weight", "output_linear.weight")):
            yield name, tensor
            continue
        stem, which = name.rsplit("put_linear", 1)[0].rsplit(".", 1)
        for i, expert in enumerate(tensor):
            parts = zip(("w1", "w3"), np.split(expert, 2)) if which == "in" else [("w2", expert)]
            for part, weight in parts:
                yield f"{stem}.experts.{i}.{part}.weight", np.ascontiguousarray(weight)


def stacked_name(name):
    """The tensor of all experts, or None."""
    found = re.search(r"layers\.(\d+)\..*\.experts\.\d+\.(\w+)\.weight", name)
    return found and f"blk.{found[1]}.ffn_" + dict(w1="gate", w2="down", w3="up").get(
        found[2], found[2].removesuffix("_proj")) + "_exps.weight"


def write_twin(folder, source, architecture, published):
    reader = gguf.GGUFReader(folder / "model.gguf")
    types = {tensor.name: tensor.tensor_type for tensor in reader.tensors}
    names = gguf.get_tensor_name_map(architecture, 8)
    twin = {}
    values = published[0] if published else load_file(source / "model.safetensors")
    for name, values in split_experts(values):
        if re.search(r"experts\.(gate_up|down)_proj$", name) or name.endswith(".sinks"):
            kind = types[re.sub(r"model.layers.(\d+).*", r"blk.\1.ffn_down_exps.weight", name)]
            turned = name.endswith("proj") and not published
            twin[name] = rounded(values.swapaxes(1, 2), kind).swapaxes(1, 2).copy() if turned else values
            continue
        if "experts." in name and name.endswith("_bias"):
            twin[name] = values
            continue
        stacked = name.replace(".norms.", ".norms/").split("/")  # one tensor a head in StableLM
        stem = stacked[0].removesuffix(".norms") + ".weight" if len(stacked) > 1 else name
        found = stacked_name(name) or names.get_name(stem, try_suffixes=(".weight", ".bias"))
        if not found and name.startswith("transformer."):  # as Bloom's converter takes it off
            found = names.get_name(stem.removeprefix("transformer."), try_suffixes=(".weight", ".bias"))
        assert found, name
        twin[name] = rounded(values, types[found])
    (folder / "hf").mkdir()
    save_file(twin, folder / "hf/model.safetensors")
    if published:
        (folder / "hf/config.json").write_text(json.dumps(published[1]))
    else:
        shutil.copy(source / "config.json", folder / "hf/config.json")
    tensors = {t.name: [t.tensor_type.name, [int(n) for n in reversed(t.shape)]] for t in reader.tensors}
    prompts = [[int(i) for i in np.random.default_rng(n).integers(2, 96, n)] for n in (7, 12, 13, 30)]
    (folder / "info.json").write_text(json.dumps(
        {"architecture": reader.fields["general.architecture"].contents(), "tensors": tensors,
         "prompts": [{"ids": ids} for ids in prompts]}))


for seed, (name, (architecture, values, file_type)) in enumerate(MODELS.items()):
    if sys.argv[3:] and name not in sys.argv[3:]:
        continue
    folder = FOLDER / "models" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as source:
        source = pathlib.Path(source)
        make_model(source, architecture, values, 3000 + seed)
        published = to_mxfp4(source) if name.endswith("mxfp4") else None
        write_twin(folder, source, convert(source, folder / "model.gguf", file_type), published)
