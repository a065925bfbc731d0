#!/usr/bin/env python3
"""make_two_passages.py - writes models/two-passages: weights that are known, and items for them.

    tests/tools/make_two_passages.py models/two-passages data/experiments/two-passages.jsonl

A text is "BOS NAME CITY . NAME CITY . NAME", and the answer is the city after that name. Head 0.0 looks at the token before
and writes its name, head 1.0 looks for the token after the name that it reads and writes its city. Head 1.1 looks at the
second passage and writes nothing; head 0.1 does nothing at all. In 32 of the 60 items the first passage is right.
"""
import json
import math
import pathlib
import random
import struct
import sys

NAMES = "Anna Bob Carl Dora Emil Fay".split()
CITIES = "Bern Lima Oslo Paris Rome Wien".split()
VOCABULARY = ["BOS", "."] + NAMES + CITIES
N_CTX, D_HEAD, N_LAYER, N_HEAD = 8, 8, 2, 2
BEFORE = len(VOCABULARY)  # where the stream holds the name before a token,
ANSWER = BEFORE + len(NAMES)  # the answer,
POSITION = ANSWER + len(CITIES)  # and the position
D_MODEL = POSITION + N_CTX
SHARP = math.sqrt(D_HEAD)  # a query of this size makes a score of 1


def zeros(*shape):
    return 0.0 if not shape else [zeros(*shape[1:]) for _ in range(shape[0])]


def weights():
    tensors = {"embed.W_E": zeros(len(VOCABULARY), D_MODEL), "pos_embed.W_pos": zeros(N_CTX, D_MODEL),
               "unembed.W_U": zeros(D_MODEL, len(VOCABULARY))}
    for layer in range(N_LAYER):
        for name in "QKV":
            tensors[f"blocks.{layer}.attn.W_{name}"] = zeros(N_HEAD, D_MODEL, D_HEAD)
        tensors[f"blocks.{layer}.attn.W_O"] = zeros(N_HEAD, D_HEAD, D_MODEL)

    def head(layer, head, kind):
        return tensors[f"blocks.{layer}.attn.W_{kind}"][head]

    for token in range(len(VOCABULARY)):
        tensors["embed.W_E"][token][token] = 1.0
        head(1, 1, "Q")[token][0] = 8 * SHARP
    for position in range(N_CTX):
        tensors["pos_embed.W_pos"][position][POSITION + position] = 1.0
        head(0, 0, "K")[POSITION + position][position] = 1.0
        if position > 0:
            head(0, 0, "Q")[POSITION + position][position - 1] = 20 * SHARP
    for i, name in enumerate(NAMES):
        token = VOCABULARY.index(name)
        head(0, 0, "V")[token][i] = head(0, 0, "O")[i][BEFORE + i] = 1.0
        head(1, 0, "Q")[token][i] = 6 * SHARP
        head(1, 0, "K")[BEFORE + i][i] = 1.0
    for i, city in enumerate(CITIES):
        token = VOCABULARY.index(city)
        head(1, 0, "V")[token][i] = head(1, 0, "O")[i][ANSWER + i] = 1.0
        tensors["unembed.W_U"][ANSWER + i][token] = 12.0
    for position in (4, 5):
        head(1, 1, "K")[POSITION + position][0] = 1.0
    return tensors


def flat(x):
    return [x] if isinstance(x, float) else [y for row in x for y in flat(row)]


def shape(x):
    return [] if isinstance(x, float) else [len(x)] + shape(x[0])


def write_tensors(path, tensors):
    header, data = {}, b""
    for name, x in tensors.items():
        values = flat(x)
        header[name] = {"dtype": "F32", "shape": shape(x), "data_offsets": [len(data), len(data) + 4 * len(values)]}
        data += struct.pack(f"<{len(values)}f", *values)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def items():
    draw = random.Random(1)
    right = ["d1"] * 32 + ["d2"] * 28
    draw.shuffle(right)
    for number, gold in enumerate(right):
        names, cities = draw.sample(NAMES, 2), draw.sample(CITIES, 2)
        at = int(gold == "d2")
        passages = [f"{name} {city}" for name, city in zip(names, cities)]
        yield {"id": number, "text": f"BOS {passages[0]} . {passages[1]} . {names[at]}", "d1": passages[0], "d2": passages[1],
               "target": cities[at], "foil": cities[1 - at], "gold": gold}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    config = {"model_type": "attn", "d_model": D_MODEL, "n_head": N_HEAD, "d_head": D_HEAD, "n_layer": N_LAYER, "n_ctx": N_CTX,
              "n_vocab": len(VOCABULARY), "positions": "learned", "residual": True, "out_proj": True, "causal": True,
              "output": "own"}
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    (folder / "vocab.json").write_text(json.dumps({word: i for i, word in enumerate(VOCABULARY)}) + "\n")
    pathlib.Path(sys.argv[2]).write_text("".join(json.dumps(item) + "\n" for item in items()))
    write_tensors(folder / "model.safetensors", weights())


main()
