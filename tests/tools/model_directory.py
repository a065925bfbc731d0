"""Writes small model directories and expected tensors; used by the fixture makers beside it."""

import json
import pathlib

import numpy as np
from safetensors.numpy import save_file


def write_json(path, value):
    text = json.dumps(value, indent=2, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def write_vocab(path, words):
    """One word a line, in the order of their ids."""
    lines = [f"  {json.dumps(word, ensure_ascii=False)}: {i}" for i, word in enumerate(words)]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def write_model(directory, config, words, weights):
    """An `attn` directory: config.json, vocab.json, model.safetensors (float32)."""
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    write_json(directory / "config.json", config)
    write_vocab(directory / "vocab.json", words)
    save_file({name: np.ascontiguousarray(w, np.float32) for name, w in weights.items()},
              directory / "model.safetensors")


def write_archive(path, arrays):
    """A stored .npz, whose bytes depend on the arrays alone: ids first, then by name."""
    names = sorted(arrays, key=lambda name: (name != "ids", name))
    np.savez(path, **{name: np.ascontiguousarray(arrays[name]) for name in names})


def expected_arrays(ids, sites):
    """ids (int64) and one float64 array a site."""
    return {"ids": np.asarray(ids, np.int64)} | {
        name: np.ascontiguousarray(x, np.float64) for name, x in sites.items()
    }
