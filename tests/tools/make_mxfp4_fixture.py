#!/usr/bin/env python3
"""Makes tests/fixtures/decoder-gpt-oss-mxfp4, experts as gpt-oss is published, and -decoded, the same values in float32:

    python tests/tools/make_mxfp4_fixture.py      run in the repository root; needs numpy and safetensors

The rest is of two layers of tests/fixtures/decoder-gpt-oss. Value 2 i of a block is the low half
of byte i, value 2 i + 1 the high one, times 2^(scale - 127)."""
import json
import pathlib

import numpy as np
from safetensors.numpy import load_file, save_file

FIXTURES = pathlib.Path("tests/fixtures")
N_LAYER, N, D, F = 2, 4, 32, 32
CODES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)


def main():
    source, random = FIXTURES / "decoder-gpt-oss", np.random.default_rng(1)
    config = json.loads((source / "config.json").read_text())
    config |= {"num_hidden_layers": N_LAYER, "intermediate_size": F, "layer_types": config["layer_types"][:N_LAYER]}
    packed = {name: values for name, values in load_file(source / "model.safetensors").items()
              if ".experts." not in name and not name.startswith(("model.layers.2", "model.layers.3"))}
    decoded = dict(packed)
    for layer in range(N_LAYER):
        at = f"model.layers.{layer}.mlp.experts."
        for name, n_out, n_in in (("gate_up_proj", 2 * F, D), ("down_proj", D, F)):
            blocks = random.integers(0, 256, (N, n_out, n_in // 32, 16), dtype=np.uint8)
            scales = random.integers(122, 126, (N, n_out, n_in // 32), dtype=np.uint8)
            values = np.stack([CODES[blocks & 15], CODES[blocks >> 4]], -1).reshape(*blocks.shape[:3], 32)
            values = values * np.exp2(scales.astype(np.float32) - 127)[..., None]
            packed |= {f"{at}{name}_blocks": blocks, f"{at}{name}_scales": scales}
            decoded[at + name] = np.ascontiguousarray(values.reshape(N, n_out, n_in).swapaxes(1, 2), np.float32)
            packed[f"{at}{name}_bias"] = decoded[f"{at}{name}_bias"] = random.normal(size=(N, n_out)).astype(np.float32)
    for name, values in ("mxfp4", packed), ("decoded", decoded):
        folder = FIXTURES / f"decoder-gpt-oss-{name}"
        folder.mkdir(exist_ok=True)
        method = {"quantization_config": {"quant_method": "mxfp4"}} if name == "mxfp4" else {}
        (folder / "config.json").write_text(json.dumps(config | method))
        save_file(values, folder / "model.safetensors")


main()
