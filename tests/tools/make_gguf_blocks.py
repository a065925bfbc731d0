#!/usr/bin/env python3
"""Writes tests/golden/gguf_blocks.npz: blocks of each type of GGUF that is read, and their values by
the package gguf (gguf.quants.dequantize): python3 tests/tools/make_gguf_blocks.py

Scales are of all sizes, zero, negative and subnormal ones too; codes are all the smallest and all
the largest in the first two blocks. Those of IQ1, IQ2 and IQ3 name all points of their books, and
those of NVFP4 all scales."""
import numpy
from gguf import GGMLQuantizationType as Type, GGML_QUANT_SIZES
from gguf.quants import dequantize

# How many blocks, and where their F16 are.
TYPES = {"Q4_0": (24, [0]), "Q4_1": (24, [0, 2]), "Q5_0": (24, [0]), "Q5_1": (24, [0, 2]), "Q8_0": (24, [0]),
         "Q2_K": (24, [80, 82]), "Q3_K": (24, [108]), "Q4_K": (24, [0, 2]), "Q5_K": (24, [0, 2]), "Q6_K": (24, [208]),
         "IQ4_NL": (24, [0]), "IQ4_XS": (24, [0]), "MXFP4": (24, []), "IQ2_XXS": (12, [0]), "IQ2_XS": (20, [0]),
         "IQ2_S": (36, [0]), "IQ3_XXS": (12, [0]), "IQ3_S": (12, [0]), "IQ1_S": (68, [0]), "IQ1_M": (12, []),
         "TQ1_0": (12, [52]), "TQ2_0": (12, [64]), "NVFP4": (66, [])}


def set_bits(words, at, n_bit, values):
    """N_BIT bits of WORDS, at bit AT, become VALUES."""
    mask = (1 << n_bit) - 1
    words &= numpy.array(~(mask << at), numpy.int64).astype(words.dtype)
    words |= ((values & mask) << at).astype(words.dtype)


def name_all_points(name, blocks):
    """Blocks after the first four, which are odd, name point after point."""
    rest = blocks[4:]
    n_point = 64 if "IQ3" in name else 32
    points = numpy.arange(len(rest) * n_point).reshape(len(rest), n_point)
    if name == "IQ2_XXS":
        for k in range(4):
            rest[:, 2 + k : 66 : 8] = points[:, k::4]
    elif name == "IQ2_XS":
        words = rest[:, 2:66].copy().view("<u2")
        set_bits(words, 0, 9, points)
        rest[:, 2:66] = words.view(numpy.uint8)
    else:
        rest[:, 2 : 2 + n_point] = points
    if name == "IQ2_S":
        for k in range(4):
            set_bits(rest[:, 66:74], 2 * k, 2, points[:, k::4] >> 8)
    if name == "IQ3_S":
        for k in range(8):
            set_bits(rest[:, 66:74], k, 1, points[:, k::8] >> 8)
    if name == "IQ1_S":
        words = rest[:, 34:].copy().view("<u2")
        for k in range(4):
            set_bits(words, 3 * k, 3, points[:, k::4] >> 8)
        rest[:, 34:] = words.view(numpy.uint8)


random = numpy.random.default_rng(7)
arrays = {}
for name, (n, halves) in TYPES.items():
    n_value, n_byte = GGML_QUANT_SIZES[Type[name]]
    blocks = random.integers(0, 256, (n, n_byte), numpy.uint8)
    blocks[0], blocks[1] = 0, 255
    if name[:3] in ("IQ1", "IQ2", "IQ3") and name != "IQ1_M":
        name_all_points(name, blocks)
    sizes = numpy.exp2(random.uniform(-26, 4, (n, 2))) * random.choice([-1, 1], (n, 2))
    sizes[2], sizes[3] = 0, [-0.0, 6e-8]
    for i, at in enumerate(halves):
        blocks[:, at : at + 2] = sizes[:, i : i + 1].astype("<f2").view(numpy.uint8)
    if name == "MXFP4":
        blocks[:, 0] = random.integers(90, 150, n)
        blocks[2:6, 0] = 0, 1, 2, 250
    if name == "NVFP4":
        blocks[2:, :4] = numpy.arange(256).reshape(64, 4)
    if name == "IQ1_M":  # a nibble in each of four words
        bits = sizes[:, 0].astype("<f2").view("<u2")
        for k in range(4):
            set_bits(blocks[:, 49 + 2 * k], 4, 4, bits >> 4 * k)
    arrays[name + "_blocks"] = blocks.reshape(-1)
    arrays[name] = dequantize(blocks, Type[name]).astype("<f4").reshape(-1)
    assert arrays[name].size == n * n_value
numpy.savez("tests/golden/gguf_blocks.npz", **arrays)
