#!/usr/bin/env python3
"""Put trained weights into a model directory, as float32 or rounded to half precision.

python models/interpreter/train/export.py build/interpreter/export models/interpreter float16
"""

import sys

import torch
from interpreter import load, save


def main():
    source, target, dtype = sys.argv[1:]
    save(load(source), target, getattr(torch, dtype))


if __name__ == "__main__":
    main()
