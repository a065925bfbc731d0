#!/usr/bin/env python3
"""Writes tests/golden/gguf_blocks.npz: blocks of each type of GGUF that is read, and their values by
the package gguf (gguf.quants.dequantize): python3 tests/tools/make_gguf_blocks.py

Scales are of all sizes, zero, negative and subnormal ones too; codes are all the smallest and all
the largest in the first two blocks."""
import numpy
from gguf import GGMLQuantizationType as Type, GGML_QUANT_SIZES
from gguf.quants import dequantize

TYPES = "Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL IQ4_XS MXFP4".split()
# Where the F16 of a block are.
SCALES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108],
          "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0], "MXFP4": []}
N = 24
random = numpy.random.default_rng(7)
arrays = {}
for name in TYPES:
    n_value, n_byte = GGML_QUANT_SIZES[Type[name]]
    blocks = random.integers(0, 256, (N, n_byte), numpy.uint8)
    blocks[0], blocks[1] = 0, 255
    sizes = numpy.exp2(random.uniform(-26, 4, (N, 2))) * random.choice([-1, 1], (N, 2))
    sizes[2], sizes[3] = 0, [-0.0, 6e-8]
    for i, at in enumerate(SCALES[name]):
        blocks[:, at : at + 2] = sizes[:, i : i + 1].astype("<f2").view(numpy.uint8)
    if name == "MXFP4":
        blocks[:, 0] = random.integers(90, 150, N)
        blocks[2:6, 0] = 0, 1, 2, 250
    arrays[name + "_blocks"] = blocks.reshape(-1)
    arrays[name] = dequantize(blocks, Type[name]).astype("<f4").reshape(-1)
    assert arrays[name].size == N * n_value
numpy.savez("tests/golden/gguf_blocks.npz", **arrays)
