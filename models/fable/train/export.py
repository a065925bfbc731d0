#!/usr/bin/env python3
"""Put trained weights into a model directory, as float32 or rounded to half precision.

python models/fable/train/export.py build/fable/export models/fable float16
"""

import os
import stat
import sys

import torch
from gpt2 import load, save


def main():
    source, target, dtype = sys.argv[1:]
    save(load(source), target, getattr(torch, dtype))
    for name in ("config.json", "model.safetensors", "vocab.json", "merges.txt"):
        os.chmod(
            os.path.join(target, name), stat.S_IRUSR | stat.S_IWUSR | stat.S_IRGRP | stat.S_IROTH
        )


if __name__ == "__main__":
    main()
