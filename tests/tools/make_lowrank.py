#!/usr/bin/env python3
"""Makes tests/golden/lowrank: the projections of low-rank attention as PyTorch draws them.

    make_lowrank.py        run in the repository root

lib/attention/lowrank.h promises these numbers, of a PyTorch without AVX2, bit for bit.
"""

import math
import os
import pathlib

os.environ["ATEN_CPU_CAPABILITY"] = "default"

import numpy as np
import torch

# Fewer than 16 numbers (odd: one is left over for F), no multiple of 16, and whole blocks of 16 are
# drawn in different ways.
SIZES = [(1, 3), (2, 3), (3, 7), (8, 40)]
SEED = 7

folder = pathlib.Path("tests/golden/lowrank")
folder.mkdir(parents=True, exist_ok=True)
for rank, n_key in SIZES:
    torch.manual_seed(SEED)
    for name in "EF":
        array = (torch.randn(rank, n_key) / math.sqrt(rank)).numpy()
        np.save(folder / f"{name}_{rank}x{n_key}.npy", array.astype(np.float32))
