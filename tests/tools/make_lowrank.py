#!/usr/bin/env python3
"""Makes tests/golden/lowrank.npz: the projections of low-rank attention as PyTorch draws them.

    make_lowrank.py        run in the repository root

lib/analysis/kinds/lowrank.h promises these numbers, of a PyTorch without AVX2, bit for bit.
"""

import math
import os
import pathlib

os.environ["ATEN_CPU_CAPABILITY"] = "default"

import torch

from model_directory import write_archive

# Fewer than 16 numbers (odd: one is left over for F), no multiple of 16, and whole blocks of 16 are
# drawn in different ways.
SIZES = [(1, 3), (2, 3), (3, 7), (8, 40)]
SEED = 7

arrays = {}
for rank, n_key in SIZES:
    torch.manual_seed(SEED)
    for name in "EF":
        arrays[f"{name}_{rank}x{n_key}"] = (torch.randn(rank, n_key) / math.sqrt(rank)).numpy()
write_archive(pathlib.Path("tests/golden/lowrank.npz"), arrays)
