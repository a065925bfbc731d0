"""gpt2.py - the random GPT-2 of 124 million parameters that is measured, as files.

    gpt2.py FOLDER

makes it there, in Hugging Face's layout, without any library but numpy. BENCH_SMALL makes it
small, so that nobody waits (small.sh).
"""
import json
import os
import sys

import numpy

N_LAYER, N_HEAD, N_VOCAB = 12, 12, 50257
D_MODEL, N_CTX = (48, 256) if os.environ.get("BENCH_SMALL") else (768, 1024)
D_HEAD = D_MODEL // N_HEAD
TEXT = "The keys to the cabinet are"

CONFIG = {
    "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_layer": N_LAYER,
    "n_head": N_HEAD, "n_embd": D_MODEL, "n_positions": N_CTX, "n_ctx": N_CTX,
    "vocab_size": N_VOCAB, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5,
}


def read_header(path):
    """The header of a safetensors file, and where its tensors begin."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
    header.pop("__metadata__", None)
    return header, 8 + size


def load(folder):
    """The tensors by name, without the prefix `transformer.`, mapped."""
    path = os.path.join(folder, "model.safetensors")
    header, begin = read_header(path)
    data = numpy.memmap(path, "uint8", "r", begin)
    return {name.removeprefix("transformer."):
            data[slice(*entry["data_offsets"])].view("float32").reshape(entry["shape"])
            for name, entry in header.items()}


def derived(model, name, make):
    """The path in the current folder of what make(path) derives from the model, made once."""
    path = os.path.abspath(name)
    if (not os.path.exists(path) or os.path.getmtime(path)
            < os.path.getmtime(os.path.join(model, "model.safetensors"))):
        part = f"{path}.{os.getpid()}"
        make(part)
        os.rename(part, path)
    return path


def shapes():
    yield "wte.weight", (N_VOCAB, D_MODEL)
    yield "wpe.weight", (N_CTX, D_MODEL)
    for layer in range(N_LAYER):
        for name, n_in, n_out in (("attn.c_attn", D_MODEL, 3 * D_MODEL),
                                  ("attn.c_proj", D_MODEL, D_MODEL),
                                  ("mlp.c_fc", D_MODEL, 4 * D_MODEL),
                                  ("mlp.c_proj", 4 * D_MODEL, D_MODEL)):
            yield f"h.{layer}.{name}.weight", (n_in, n_out)
            yield f"h.{layer}.{name}.bias", (n_out,)
        for name in ("ln_1", "ln_2"):
            yield f"h.{layer}.{name}.weight", (D_MODEL,)
            yield f"h.{layer}.{name}.bias", (D_MODEL,)
    yield "ln_f.weight", (D_MODEL,)
    yield "ln_f.bias", (D_MODEL,)


def vocabulary(random):
    """Byte-pair merges, and tokens: TEXT is six of them, the others nobody's words."""
    letters = [chr(code) for code in (*range(33, 127), *range(161, 173), *range(174, 256),
                                      *range(256, 324))]
    tokens, merges = dict.fromkeys(letters), []

    def merge(left, right):
        if left + right not in tokens:
            tokens[left + right] = None
            merges.append(f"{left} {right}")

    for word in TEXT.replace(" ", " \u0120").split():
        for i in range(1, len(word)):
            merge(word[:i], word[i])
    while len(tokens) < N_VOCAB - 1:
        known = list(tokens)
        for left, right in random.integers(len(known), size=(N_VOCAB - 1 - len(known), 2)):
            if len(known[left]) + len(known[right]) < 9:
                merge(known[left], known[right])
    return merges, {token: i for i, token in enumerate([*tokens, "<|endoftext|>"])}


def make(folder):
    random = numpy.random.default_rng(0)
    header, end = {}, 0
    for name, shape in shapes():
        begin, end = end, end + 4 * int(numpy.prod(shape))
        header[f"transformer.{name}"] = {"dtype": "F32", "shape": shape,
                                         "data_offsets": [begin, end]}
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    text += b" " * (-len(text) % 8)
    os.makedirs(folder, exist_ok=True)
    part = os.path.join(folder, "model.safetensors.part")
    with open(part, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name, shape in shapes():
            values = 0.02 * random.standard_normal(shape, "float32")
            if "ln_" in name:
                values += name.endswith("weight")
            file.write(values.tobytes())
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(CONFIG, file)
    merges, tokens = vocabulary(random)
    with open(os.path.join(folder, "vocab.json"), "w") as file:
        json.dump(tokens, file)
    with open(os.path.join(folder, "merges.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(["#version: 0.2", *merges, ""]))
    os.rename(part, part.removesuffix(".part"))


if __name__ == "__main__":
    make(sys.argv[1])
