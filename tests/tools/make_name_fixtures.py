#!/usr/bin/env python3
"""Makes tests/fixtures/names-*: random models by names of tensors other than those of published decoders.

    venv/bin/python tests/tools/make_name_fixtures.py [NAME...]

The text parts of models of pictures, as transformers writes them now and did before; families by the names
that transformers 5 has in memory; what torch.compile, DataParallel, checkpoints of activations and
Lightning put in front; and rare keys of a config. Logits are those of transformers in float64; those of Cohere get their scale, which
the class for pictures leaves out.
"""
import contextlib, json, os, shutil, sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parent))
import numpy as np
import peers
import peft
import torch
import transformers as T
from make_truth_fixtures import OUT, add, largest, save
from safetensors.torch import load_file, save_file

TEXT = dict(hidden_size=16, intermediate_size=20, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
            vocab_size=40, max_position_embeddings=32, bos_token_id=1, eos_token_id=2, pad_token_id=0)
TWO = {**TEXT, "sliding_window": 3, "layer_types": ["sliding_attention", "full_attention"]}
EYE = dict(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2, image_size=4, patch_size=2)
QWEN_EYE = dict(hidden_size=8, depth=1, num_heads=2, out_hidden_size=16, intermediate_size=8,
                num_position_embeddings=4, deepstack_visual_indexes=[0])
VIT = dict(hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2, image_size=8, patch_size=4)
SECTIONS = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]}
IDS = [1, 5, 9, 33, 7, 11]
MIXTURE = dict(num_local_experts=3, num_experts_per_tok=2)
NANO = dict({**TEXT, "vocab_size": 43}, layers_block_type=["linear_attention", "moe", "full_attention", "mlp", "moe"], head_dim=8, mamba_num_heads=4,
            mamba_head_dim=6, n_groups=2, ssm_state_size=5, n_routed_experts=6, num_experts_per_tok=2, n_group=3, topk_group=2,
            routed_scaling_factor=2.5, moe_intermediate_size=10, moe_shared_expert_intermediate_size=14, moe_latent_size=9)


def flat(config):
    """Qwen2-VL's config as transformers 4 wrote it: all keys at the top."""
    text = config.pop("text_config")
    del text["model_type"], text["rope_parameters"]
    return {**text, **config, "rope_theta": 10000.0, "rope_scaling": {"type": "mrope", "mrope_section": [1, 1, 2]}}


def untyped(config):
    del config["text_config"]["model_type"]
    return config


def old(name):
    return name.replace("lm_head", "language_model.lm_head") if name.startswith("lm_head") else name


def wrapped(name):
    return "module._orig_mod." + name.replace("layers.0.", "layers.0._checkpoint_wrapped_module.")


# name: class, config, by the names in memory, change of names, change of the config
ROWS = {
    "gemma3": ("Gemma3", dict(text_config={**TWO, "head_dim": 8}, vision_config=EYE, mm_tokens_per_image=1)),
    "llava": ("Llava", dict(text_config={**TEXT, "model_type": "llama"}, vision_config={**EYE, "model_type": "clip_vision_model"}), False, old, untyped),
    "smolvlm": ("SmolVLM", dict(text_config={**TEXT, "model_type": "llama"}, vision_config=EYE), True),
    "qwen2-vl": ("Qwen2VL", dict(text_config={**TEXT, "rope_parameters": SECTIONS}, vision_config=dict(hidden_size=16, embed_dim=8, depth=1, num_heads=2)), False, None, flat),
    "qwen3-vl-moe": ("Qwen3VLMoe", dict(text_config={**TEXT, "num_experts": 3, "num_experts_per_tok": 2, "moe_intermediate_size": 8, "head_dim": 8, "rope_parameters": {**SECTIONS, "mrope_interleaved": True}}, vision_config=QWEN_EYE)),
    "cohere2-vision": ("Cohere2Vision", dict(text_config={**TWO, "model_type": "cohere2", "logit_scale": 0.25}, vision_config={**EYE, "model_type": "siglip_vision_model"}, alignment_intermediate_size=8), True, lambda name: "model." + name),
    "llama-wrapped": ("Llama", TEXT, False, wrapped),
    "llama-lightning": ("Llama", TEXT, False, lambda name: "model." + name),
    "embedding-gemma": ("Gemma3:Gemma3Text", {**TWO, "head_dim": 8, "use_bidirectional_attention": True}),
    "mistral-both-ways": ("Mistral", {**TEXT, "sliding_window": 2}, False, None, lambda config: {**config, "is_causal": False}),
    "vit": ("ViT", VIT, True),
    "vit-larger": ("ViT", VIT),
    "dinov2": ("Dinov2", {**VIT, "use_swiglu_ffn": True}, True),
    "granitemoe": ("GraniteMoe", {**TEXT, **MIXTURE}, True),
    "gemma4-experts": ("Gemma4:Gemma4Text", {**TEXT, "hidden_size": 14, "intermediate_size": 7, "num_hidden_layers": 4, "num_attention_heads": 1, "max_position_embeddings": 64,
                                             "layer_types": ["full_attention", "sliding_attention", "full_attention", "full_attention"], "head_dim": 4, "global_head_dim": 18, "attention_k_eq_v": True,
                                             "enable_moe_block": True, "num_experts": 4, "top_k_experts": 2, "moe_intermediate_size": 4,
                                             "hidden_size_per_layer_input": 168, "vocab_size_per_layer_input": 40}),
    "phimoe": ("Phimoe", {**TEXT, **MIXTURE}, True),
    "deberta-groups": ("DebertaV2", {**TEXT, "relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_biased_input": False, "position_buckets": 4,
                                     "max_relative_positions": 12, "norm_rel_ebd": "none|Layer_Norm", "conv_kernel_size": 3, "conv_act": "gelu", "conv_groups": 2}),
    "dinov3-biases": ("DINOv3ViT", {**VIT, "query_bias": False, "key_bias": True, "value_bias": True, "num_register_tokens": 1}),
    "siglip-class": ("Siglip", dict(text_config=dict(num_hidden_layers=1, vocab_size=40, hidden_size=16, intermediate_size=20, num_attention_heads=2, bos_token_id=1, eos_token_id=2),
                                    vision_config=VIT, id2label={0: "cat", 1: "dog", 2: "bird"})),
    "nemotron-h": ("NemotronH", NANO),
    "nemotron-h-joined": ("NemotronH", {**NANO, "moe_latent_size": None, "mlp_bias": True, "norm_topk_prob": False}, True),
}


def run(model, pixels):
    wide = torch.tensor(pixels[None]) if pixels is not None else torch.tensor([IDS])
    other = {"interpolate_pos_encoding": True} if pixels is not None and pixels.shape[1] > 8 else {}
    with torch.no_grad(), peers.exact(model) if "NemotronH" in type(model).__name__ else contextlib.nullcontext():
        out = model(pixel_values=wide.to(model.dtype), **other) if pixels is not None else model(input_ids=wide)
        return (out.logits if hasattr(out, "logits") else out.last_hidden_state)[0].double().numpy()


def make(name, stem, settings, in_memory=False, rename=None, change=None):
    ending = "ForImageClassification" if stem in ("ViT", "Dinov2", "Siglip") else "Model" if stem == "DINOv3ViT" else "ForMaskedLM" if stem == "DebertaV2" else "ForConditionalGeneration" if "vision_config" in settings else "ForCausalLM"
    folder, arrays = OUT / f"names-{name}", {}
    sides = (12, 16) if name == "vit-larger" else (8, 8)
    pixels = np.random.default_rng(1).standard_normal((3, *sides)).astype(np.float32) if "Image" in ending or ending == "Model" else None
    stem, config_stem = stem.split(":") if ":" in stem else (stem, stem)
    config = getattr(T, config_stem + "Config")(**settings)
    if name == "mistral-both-ways":
        config.is_causal = False
    config._experts_implementation = config.get_text_config()._experts_implementation = "eager"
    torch.manual_seed(1)
    model = getattr(T, stem + ending)(config).eval()
    for p in model.parameters():
        p.data += 0.1 * torch.randn_like(p)
    for part, b in model.named_buffers():
        if part.endswith("correction_bias"):
            b.copy_(0.3 * torch.randn_like(b))
        if part.endswith("layer_scalar"):
            b.copy_(1 + 0.3 * torch.randn_like(b))
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    state = model.state_dict() if in_memory else load_file(folder / "model.safetensors")
    tied = getattr(config, "tie_word_embeddings", False)
    state = {(rename or str)(k): v.contiguous().clone() for k, v in state.items() if not (tied and k == "lm_head.weight")}
    save_file(state, folder / "model.safetensors", {"format": "pt"})
    written = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(change(written) if change else written))
    single = run(model, pixels)
    logits = single if stem == "Phimoe" else run(model.double(), pixels)  # its router needs float32
    factor = 0.25 if stem == "Cohere2Vision" else 1
    bound = factor * (4 * float(np.abs(single - logits).max()) + 2e-6 * largest(logits))
    site, place = ("ln_final.hook_normalized", 2) if ending == "Model" else ("logits", 3)
    add(arrays, 0, IDS, {site: np.atleast_2d(factor * logits)}, [bound * (i == place) for i in range(5)])
    if pixels is not None:
        del arrays["0/ids"]
        arrays["0/pixels"] = pixels
    save(folder / "expected.npz", arrays)
    if name == "llava":
        torch.manual_seed(3)
        changed = peft.get_peft_model(model.float(), peft.LoraConfig(r=2, lora_alpha=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False)).eval()
        changed.save_pretrained(folder / "adapter")
        (folder / "adapter/README.md").unlink()
        print("tests/cli/run/tensor_names.test:", torch.softmax(torch.tensor(run(changed.double(), None)[2]), 0).max())


for row in sys.argv[1:] or ROWS:
    make(row, *ROWS[row])
