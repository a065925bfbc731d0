#!/usr/bin/env python3
"""Prints the table of frequencies in tests/unit/test_kernels_rotary.c, as transformers computes them."""

from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

# Our names of transformers' keys.
NAMES = {"rope_theta": "theta", "original_max_position_embeddings": "n_original", "truncate": "is_truncated"}
LLAMA3 = {"factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 3.0,
          "original_max_position_embeddings": 24}
YARN = {"beta_fast": 32.0, "beta_slow": 1.0}
TYPES = [
    (24, {"rope_type": "default", "rope_theta": 10000.0}),
    (24, {"rope_type": "linear", "rope_theta": 10000.0, "factor": 3.0}),
    (24, {"rope_type": "llama3", "rope_theta": 5000.0, **LLAMA3}),
    (24, {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "truncate": True,
          "original_max_position_embeddings": 24, **YARN}),
    (64, {"rope_type": "yarn", "rope_theta": 500000.0, "factor": 2.5, "truncate": False,
          "original_max_position_embeddings": 4096, **YARN}),
]


def write(number):
    text = f"{number:.9g}"
    return text + ("F" if "." in text or "e" in text else ".0F")


def main():
    for d_head, parameters in TYPES:
        kind = parameters["rope_type"]
        config = LlamaConfig(hidden_size=2 * d_head, num_attention_heads=2, head_dim=d_head,
                             max_position_embeddings=96, rope_parameters=dict(parameters))
        if kind == "default":
            frequencies, _ = LlamaRotaryEmbedding.compute_default_rope_parameters(config)
        else:
            frequencies, _ = ROPE_INIT_FUNCTIONS[kind](config, device="cpu")
        fields = [f".type = ATTN_ROPE_{kind.upper()}", f".d_rotary = {d_head}"]
        for key, value in parameters.items():
            if key != "rope_type":
                text = str(value).lower() if isinstance(value, bool) else f"{value:g}"
                fields.append(f".{NAMES.get(key, key)} = {text}")
        numbers = ", ".join(write(float(x)) for x in frequencies)
        print(f'    {{"{kind}", {{{", ".join(fields)}}}, {{{numbers}}}}},')


if __name__ == "__main__":
    main()
