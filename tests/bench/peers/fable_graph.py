"""fable_graph.py - models/fable as a graph for ONNX Runtime, every attention matrix an output.

    fable_graph.py OUT.onnx      needs numpy and onnx
"""
import json
import os
import sys

import gpt2
import onnx_runtime

FABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "models", "fable")


def load(folder):
    """The tensors by name, which are float16."""
    import numpy

    path = os.path.join(folder, "model.safetensors")
    header, begin = gpt2.read_header(path)
    data = numpy.memmap(path, "uint8", "r", begin)
    return {name.removeprefix("transformer."): data[slice(*entry["data_offsets"])].view("float16")
            .astype("float32").reshape(entry["shape"]) for name, entry in header.items()}


with open(os.path.join(FABLE, "config.json"), encoding="utf-8") as file:
    config = json.load(file)
gpt2.N_LAYER, gpt2.N_HEAD, gpt2.D_MODEL = config["n_layer"], config["n_head"], config["n_embd"]
gpt2.N_VOCAB, gpt2.D_HEAD = config["vocab_size"], config["n_embd"] // config["n_head"]
gpt2.load = load
onnx_runtime.write_graph(FABLE, sys.argv[1], has_patterns=True)
