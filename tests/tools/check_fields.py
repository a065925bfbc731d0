"""Changes each field of the config of a tiny model alone, and compares attn-cli with transformers: called by check_families.py --fields.

A change has one of these outcomes:

    equal      it changes the result of transformers, and that of attn-cli in the same way
    refused    attn-cli names what it does not read
    nothing    it changes neither
    broken     transformers fails, or draws random weights: nothing to compare with
    SILENT     a finding: transformers has another result, and attn-cli does not say so

Changed are the keys that the config has, those inside of its objects, and keys of other families. Weights stay as they are.
"""

import contextlib
import copy
import json
import pathlib
import random
import subprocess
import tempfile

import numpy as np
import torch
import transformers
from check_families import FAMILIES, make_model
from peers import Float64

OBJECTS = ("rope_parameters", "rope_scaling", "attn_config", "full_attention", "sliding_attention", "text_config", "vision_config")
ROPE = {"rope_type": ["linear", "dynamic", "yarn", "llama3"], "type": ["linear"], "rope_theta": [50.0], "factor": [3.0],
        "original_max_position_embeddings": [7], "low_freq_factor": [0.5], "high_freq_factor": [9.0], "beta_fast": [4.0],
        "beta_slow": [2.0], "truncate": [False], "attention_factor": [1.7], "mscale": [0.5], "mscale_all_dim": [0.3], "alpha": [20.0],
        "partial_rotary_factor": [0.5], "llama_4_scaling_beta": [0.4], "short_mscale": [1.9], "long_mscale": [2.1],
        "mrope_section": [[1, 1]], "mrope_interleaved": [True]}
# Keys of other families, with values that would change something there.
OTHERS = {
    "add_cross_attention": [True], "alibi": [True], "apply_residual_connection_post_layernorm": [True],
    "attention_bias": [True], "attention_chunk_size": [3], "attention_multiplier": [0.3], "attention_out_bias": [True],
    "attn_logit_softcapping": [2.0], "bias": [True], "clip_qkv": [0.3], "cross_layer_attention": [True], "decoder_sparse_step": [2],
    "do_layer_norm_before": [False], "embedding_multiplier": [2.0], "final_logit_softcapping": [2.0], "first_k_dense_replace": [1],
    "gated_mlp": [True], "global_attn_every_n_layers": [2], "head_dim": [6], "is_causal": [False], "is_decoder": [True],
    "layer_norm_eps": [0.3], "layer_norm_epsilon": [0.3], "layer_types": ["sliding"], "lm_head_bias": [True], "local_attention": [2],
    "logit_scale": [0.3], "logits_scaling": [3.0], "max_window_layers": [0], "mlp_bias": [True], "moe_layers": [[0]],
    "multi_query": [True], "no_rope_layer_interval": [1], "no_rope_layers": ["zeros"], "norm_eps": [0.3], "norm_epsilon": [0.3],
    "norm_topk_prob": [True], "normalize_before": [True], "normalize_embedding": [True], "num_experts": [3], "num_local_experts": [3],
    "num_key_value_heads": [1], "original_max_position_embeddings": [7], "parallel_attn": [True], "partial_rotary_factor": [0.5],
    "position_embedding_type": ["relative_key", "rope"], "pretraining_tp": [2], "qk_layernorm": [True], "query_pre_attn_scalar": [3],
    "qkv_bias": [True], "quantization_config": [{"quant_method": "hqq"}], "residual_multiplier": [0.5], "rms_norm_eps": [0.3], "rope_interleaved": [True],
    "rope_local_base_freq": [50.0], "rope_scaling": [{"rope_type": "linear", "factor": 3.0}], "rope_theta": [50.0],
    "rotary_dim": [2], "rotary_emb_base": [50.0], "rotary_pct": [0.5], "router_jitter_noise": [0.4], "scale_attn_by_inverse_layer_idx": [True],
    "scale_attn_weights": [False], "scale_embedding": [True], "sliding_window": [2], "sliding_window_pattern": [2],
    "swiglu_alpha": [1.1], "swiglu_limit": [0.2], "tie_word_embeddings": [True, False], "use_bias": [True],
    "use_bidirectional_attention": [True], "use_parallel_residual": [True], "use_qk_norm": [True], "use_qkv_bias": [True],
    "use_sliding_window": [True], "window_size": [2],
}
ACTIVATIONS = ["relu", "gelu"]
ENCODER = {"vocab_size": 41, "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 17,
           "max_position_embeddings": 40}
T5 = {"vocab_size": 41, "d_model": 16, "d_kv": 6, "d_ff": 24, "num_layers": 2, "num_heads": 3, "relative_attention_num_buckets": 8,
      "relative_attention_max_distance": 20}
STACK = {"vocab_size": 41, "d_model": 16, "max_position_embeddings": 40, "pad_token_id": 1, "decoder_start_token_id": 2} | {
    f"{stack}_{key}": n for stack in ("encoder", "decoder") for key, n in (("layers", 2), ("attention_heads", 4), ("ffn_dim", 24))}
# Other families than decoders: small sizes.
SIZES = {"bert": ENCODER, "roberta": ENCODER, "xlm-roberta": ENCODER, "camembert": ENCODER, "electra": ENCODER | {"embedding_size": 7},
         "albert": ENCODER | {"embedding_size": 7}, "esm": ENCODER | {"mask_token_id": 40, "pad_token_id": 1},
         "distilbert": {"vocab_size": 41, "dim": 12, "n_layers": 2, "n_heads": 3, "hidden_dim": 17, "max_position_embeddings": 40},
         "modernbert": ENCODER | {"num_hidden_layers": 3, "num_attention_heads": 2, "local_attention": 5, "pad_token_id": 0,
                                  "bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2},
         "mpnet": ENCODER | {"pad_token_id": 1}, "nomic_bert": ENCODER | {"num_attention_heads": 2}, "jina_embeddings_v3": ENCODER | {
             "num_attention_heads": 2, "pad_token_id": 1, "type_vocab_size": 1},
         "eurobert": ENCODER | {"num_attention_heads": 2, "num_key_value_heads": 1, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2},
         "deberta-v2": ENCODER | {"relative_attention": True, "position_buckets": 4, "pos_att_type": ["p2c", "c2p"], "pad_token_id": 0,
                                  "position_biased_input": False, "norm_rel_ebd": "layer_norm", "share_att_key": True, "type_vocab_size": 0},
         "t5": T5, "mt5": T5, "umt5": T5} | dict.fromkeys(("bart", "mbart", "marian", "pegasus", "m2m_100", "blenderbot"), STACK)
# Towers of pictures and texts, and Whisper.
PICTURE = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "image_size": 16, "patch_size": 4, "num_labels": 5}
CLIP = PICTURE | {"intermediate_size": 17, "projection_dim": 6}
CLIP_TEXT = ENCODER | {"projection_dim": 6, "eos_token_id": 40, "bos_token_id": 39, "pad_token_id": 1}
SIZES |= {"vit": PICTURE | {"intermediate_size": 17}, "dinov2": PICTURE | {"mlp_ratio": 2},
          "dinov2_with_registers": PICTURE | {"mlp_ratio": 2, "num_register_tokens": 3}, "clip_vision_model": CLIP, "clip_text_model": CLIP_TEXT,
          "clip": {"text_config": CLIP_TEXT, "vision_config": CLIP, "projection_dim": 6},
          "deit": PICTURE | {"intermediate_size": 17}, "siglip_vision_model": CLIP, "siglip_text_model": CLIP_TEXT | {"projection_size": 6},
          "dinov3_vit": PICTURE | {"num_attention_heads": 3, "intermediate_size": 17, "num_register_tokens": 2},
          "whisper": {key: n for key, n in STACK.items() if key != "max_position_embeddings"} | {
              "num_mel_bins": 6, "max_source_positions": 14, "max_target_positions": 20, "bos_token_id": 2, "eos_token_id": 2}}
CLASSES = {"vit": transformers.ViTForImageClassification, "dinov2": transformers.Dinov2ForImageClassification,
           "dinov2_with_registers": transformers.Dinov2WithRegistersForImageClassification, "clip": transformers.CLIPModel,
           "clip_vision_model": transformers.CLIPVisionModelWithProjection, "clip_text_model": transformers.CLIPTextModelWithProjection,
           "deit": transformers.DeiTForImageClassificationWithTeacher, "dinov3_vit": transformers.DINOv3ViTModel,
           "siglip_vision_model": transformers.SiglipVisionModel, "siglip_text_model": transformers.SiglipTextModel,
           "whisper": transformers.WhisperForConditionalGeneration}
OUTPUTS = {"siglip_vision_model": ("pooler_output",), "siglip_text_model": ("pooler_output",), "dinov3_vit": ("last_hidden_state",)}
SKIPPED = {"model_type", "architectures", "transformers_version", "dtype", "torch_dtype", "_name_or_path", "auto_map"}


def other_values(key, value, config):
    """What a key is changed to; None stands for null, and a value that is left out is no change."""
    n_layer = next((config[k] for k in ("num_hidden_layers", "num_layers", "n_layer", "n_layers") if k in config), 2)
    if value == "sliding":
        return [["sliding_attention"] * n_layer]
    if value == "zeros":
        return [[0] * n_layer]
    if isinstance(value, bool):
        return [not value, None]
    if isinstance(value, int):
        return [value + 1, 2 * value, None]
    if isinstance(value, float):
        return [3 * value if value >= 0.01 else 0.3, None]
    if isinstance(value, str) and ("act" in key or "feed_forward" in key):
        return ACTIVATIONS
    if isinstance(value, list) and key == "layer_types":
        return [["full_attention"] * len(value), ["sliding_attention"] * len(value), None]
    if isinstance(value, list) and value and all(isinstance(x, (int, float)) for x in value):
        return [[x + 1 for x in value], [1 - x if x in (0, 1) else x for x in value], None]
    return [None] if value is not None else OTHERS.get(key, [3, 0.5, True])


def changes(config):
    """Of CONFIG: what is changed, in words, and the changed config."""
    def with_value(path, value, is_removed=False):
        changed = copy.deepcopy(config)
        place = changed
        for key in path[:-1]:
            place = place[key]
        if is_removed:
            del place[path[-1]]
        else:
            place[path[-1]] = value
        return changed

    def walk(path, members):
        for key, value in members.items():
            if key in SKIPPED:
                continue
            at = (*path, key)
            if isinstance(value, dict) and key in OBJECTS:
                yield from walk(at, value)
                for name, values in ROPE.items():
                    for other in values if name not in value and "rope" in at[0] else []:
                        yield f"{'.'.join(at)}.{name} = {other}", with_value((*at, name), other)
            values = ROPE.get(key) if key in ROPE and path else None
            for other in values or other_values(key, value, config):
                if other != value:
                    yield f"{'.'.join(at)} = {other}", with_value(at, other)
            yield f"{'.'.join(at)} removed", with_value(at, None, True)

    yield from walk((), config)
    for key, values in OTHERS.items():
        for value in values if key not in config else []:
            for other in other_values(key, value, config) if value in ("sliding", "zeros") else [value]:
                yield f"{key} = {other}", with_value((key,), other)


def class_of(model_type):
    if model_type in CLASSES:
        return CLASSES[model_type]
    names = transformers.models.auto.modeling_auto
    for auto, known in ((transformers.AutoModelForSeq2SeqLM, names.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES),
                        (transformers.AutoModelForMaskedLM, names.MODEL_FOR_MASKED_LM_MAPPING_NAMES),
                        (transformers.AutoModelForCausalLM, names.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)):
        is_causal = auto is transformers.AutoModelForCausalLM
        if model_type in known and (is_causal or model_type not in ("gemma3_text", "mpt", "opt", "gpt2", "gpt_neo", "whisper")):
            return auto
    return None


def logits_of(directory, inputs, is_double):
    model_type = json.loads((directory / "config.json").read_text())["model_type"]
    model, info = class_of(model_type).from_pretrained(directory, dtype=torch.float32, attn_implementation="sdpa" if model_type == "falcon" else "eager",  # adds ALiBi twice in eager
                                                       experts_implementation="eager", output_loading_info=True)
    if any(k for k in info["missing_keys"] if "position" not in k) or info["mismatched_keys"] or info.get("error_msgs"):
        return None
    kept = {name: b.clone() for name, b in model.named_buffers() if "inv_freq" in name}
    (model.double() if is_double else model).eval()
    for name, values in kept.items():
        owner, _, leaf = name.rpartition(".")
        setattr(model.get_submodule(owner), leaf, torch.nn.Buffer(values, persistent=False))
    inputs = {k: torch.tensor(np.asarray(v)[None]) for k, v in inputs.items()}
    inputs = {k: v.double() if is_double and v.is_floating_point() else v for k, v in inputs.items()}
    if class_of(model_type) is not transformers.AutoModelForMaskedLM and "pixel_values" not in inputs and not model_type.endswith("text_model"):
        inputs["use_cache"] = False
    with torch.no_grad(), Float64() if is_double else contextlib.nullcontext():
        result = model(**inputs)
    names = OUTPUTS.get(model_type, ("logits", "image_embeds", "text_embeds"))
    logits = torch.cat([result[name][0] for name in names if name in result]).double().numpy()
    return logits if np.isfinite(logits).all() else None


def exact(directory, inputs):
    """The logits of transformers in float64, or of XGLM, which fails then, in float32; None if it fails or lacks weights of a part."""
    for is_double in (True, False):
        try:
            return logits_of(directory, inputs, is_double)
        except Exception:  # whatever it fails with
            pass
    return None


def listed(ids):
    return ",".join(map(str, ids))


def ours(tool, directory, inputs, out):
    """Our logits, or embeddings of a picture and a text; or the message of a refusal."""
    runs = []
    for name, option in (("pixel_values", "--image="), ("input_features", "--source=file:")):
        if name in inputs:
            np.save(out.with_suffix(f".{name}.npy"), inputs[name])
            runs.append([f"{option}{out.with_suffix(f'.{name}.npy')}"])
    if "input_features" in inputs:
        runs[0] += ["--ids", listed(inputs["decoder_input_ids"])]
    elif "decoder_input_ids" in inputs:
        runs.append(["--ids", listed(inputs["decoder_input_ids"]), "--source", f'ids:{listed(inputs["input_ids"])}'])
    elif "input_ids" in inputs:
        runs.append(["--ids", listed(inputs["input_ids"])])
    found = []
    for given in runs:
        site = "logits"
        model_type = json.loads((directory / "config.json").read_text())["model_type"]
        if model_type.startswith(("clip", "siglip")):
            site = "image_embed" if "--image" in given else "text_embed"
        elif model_type == "dinov3_vit":
            site = "ln_final"
        done = subprocess.run([tool, "run", "-q", "-m", directory, *given, "--sites", site, "--npz", out], capture_output=True, text=True)
        if done.returncode != 0:
            return done.stderr.strip()
        values = np.load(out)[{"ln_final": "ln_final.hook_normalized"}.get(site, site)].astype(float)
        values = values[0] if site == "logits" and "--image" in given else values
        found.append(values / np.linalg.norm(values) if len(runs) > 1 else values)  # CLIPModel divides by the length
    return np.concatenate(found)


def outcome(base, now):
    """Of two results of transformers and two of ours."""
    (exact_base, our_base), (exact_now, our_now) = base, now
    if exact_now is None:
        return "broken"
    if isinstance(our_now, str):
        return "refused"
    if exact_now.shape != our_now.shape:
        return "SILENT"
    has_changed = exact_now.shape != exact_base.shape or not np.array_equal(exact_now, exact_base)
    if has_changed and np.array_equal(our_now, our_base) and np.abs(exact_now - exact_base).max() > 1e-7 * np.abs(exact_base).max():
        return "SILENT"
    if np.abs(exact_now - our_now).max() > 3e-4 * np.abs(exact_now).max():
        return "SILENT"
    return "equal" if has_changed else "nothing"


def check_fields(tool, family, directory, inputs, keeps, log):
    """Changes the fields for which KEEPS(words) is true. Returns the numbers of the outcomes."""
    path = directory / "config.json"
    config = json.loads(path.read_text())
    base = exact(directory, inputs), ours(tool, directory, inputs, directory / "out.npz")
    found = {}
    if base[0] is None or isinstance(base[1], str) or outcome(base, base) == "SILENT":
        log(f"{family}: the model itself differs or is not run: {base[1] if isinstance(base[1], str) else ''}")
        return {"SILENT": 1}
    for words, changed in changes(config):
        if not keeps(words):
            continue
        path.write_text(json.dumps(changed))
        now = exact(directory, inputs), ours(tool, directory, inputs, directory / "out.npz")
        result = outcome(base, now)
        if result == "refused" and np.array_equal(base[0], now[0]):
            result = "refused though nothing changes"
        found[result] = found.get(result, 0) + 1
        if result == "SILENT":
            log(f"{family}: {words}: {result}" + (f": {now[1]}" if isinstance(now[1], str) else ""))
    path.write_text(json.dumps(config))
    return found


def make_small(family, directory, r):
    """A model of FAMILY in DIRECTORY; a decoder has one of its random configs."""
    if family in FAMILIES:
        model = make_model(family, FAMILIES[family](r), r.randrange(1000))
    else:
        config = transformers.AutoConfig.for_model(family, **SIZES[family])
        model = CLASSES[family](config) if family in CLASSES else class_of(family).from_config(config)
        generator = torch.Generator().manual_seed(r.randrange(1000))
        with torch.no_grad():
            for name, p in model.named_parameters():
                noise = torch.randn(p.shape, generator=generator) * (0.3 if p.dim() < 2 else 1.2 / p.shape[-1] ** 0.5)
                p.copy_(noise + (1 if "norm" in name.lower() and name.endswith("weight") else 0))
    model.save_pretrained(directory)


def inputs_of(family, ids, draw):
    """What transformers' model of FAMILY takes: IDS, pixels or a spectrogram that DRAW draws."""
    pixels = draw.standard_normal((3, 16, 16)).astype(np.float32)
    if family == "whisper":
        return {"input_features": draw.standard_normal((6, 28)).astype(np.float32), "decoder_input_ids": ids[:6]}
    if family == "clip":
        return {"pixel_values": pixels, "input_ids": [*ids, 40]}
    if family in ("clip_text_model", "siglip_text_model"):
        return {"input_ids": [*ids, 40]}
    if family in CLASSES:
        return {"pixel_values": pixels}
    return {"input_ids": ids} | ({"decoder_input_ids": ids[:6]} if class_of(family) is transformers.AutoModelForSeq2SeqLM else {})


def check_all(tool, families, share, seed):
    """The status for the shell: 1 if there is a finding."""
    n_silent = 0
    for family in families or [*FAMILIES, *SIZES]:
        with tempfile.TemporaryDirectory(prefix="fields-") as scratch:
            directory, r = pathlib.Path(scratch), random.Random(f"{family} {seed}")
            make_small(family, directory, r)
            inputs = inputs_of(family, [r.randrange(3, 39) for _ in range(14)], np.random.default_rng(r.randrange(1000)))
            found = check_fields(tool, family, directory, inputs, lambda _: r.random() < share, lambda line: print(line, flush=True))
        print(f"{family}: " + ", ".join(f"{n} {what}" for what, n in sorted(found.items())), flush=True)
        n_silent += found.get("SILENT", 0)
    return n_silent > 0
