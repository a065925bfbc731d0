#!/usr/bin/env python3
"""make_stand_ins.py - makes small models with the names and shapes of published ones, so that the manual's
commands about them run without a network: BERT, ESM-2, ViT, DINOv2, CLIP, GPT-2 and GGUF files, and the texts, tables
and pictures that the commands read.

    make_stand_ins.py FOLDER     in the repository root; the commands run in FOLDER, with HOME and HF_HUB_CACHE
                                 as FOLDER/home and FOLDER/hub

The weights are those of the tests' fixtures, repeated to fill the published number of layers, heads, tokens and
patches. Only the standard library is used.
"""

import hashlib
import json
import pathlib
import shutil
import struct
import subprocess
import sys
import tarfile

FIXTURES = pathlib.Path("tests/fixtures").resolve()
MODELS = pathlib.Path("models").resolve()
WORDS = "the cat sat on mat . where is it ? a of".split()


def unpack(folder, archive, name):
    """A model of an archive of fixtures."""
    with tarfile.open(FIXTURES / archive) as models:
        for member in models.getmembers():
            if member.isfile() and member.name.startswith(name + "/") and not member.name.endswith(".npz"):
                path = folder / member.name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(models.extractfile(member).read())
    return folder / name


def read_tensors(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    return {name: (entry["shape"], data[8 + size:][slice(*entry["data_offsets"])])
            for name, entry in header.items() if name != "__metadata__"}


def write_tensors(path, tensors):
    header, parts, at = {}, [], 0
    for name, (shape, data) in tensors.items():
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + len(data)]}
        parts.append(data)
        at += len(data)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))


def fill(shape, data):
    """A tensor of that shape: DATA, again and again."""
    size = 4
    for length in shape:
        size *= length
    return shape, (data * (size // len(data) + 1))[:size]


def grow(fixture, model, shapes, **config):
    """Copies FIXTURE with 12 layers and 12 heads; SHAPES are those of other tensors by the end of their name."""
    model.mkdir(parents=True)
    before = json.loads((fixture / "config.json").read_text())
    config = before | {"num_hidden_layers": 12, "num_attention_heads": 12} | config
    (model / "config.json").write_text(json.dumps(config))
    tensors = {}
    for name, (shape, data) in read_tensors(fixture / "model.safetensors").items():
        wanted = next((new for end, new in shapes.items() if name.endswith(end)), shape)
        if ".layer.0." in name:
            for layer in range(12):
                tensors[name.replace(".0.", f".{layer}.", 1)] = shape, data
        elif ".layer." not in name:
            tensors[name] = fill(wanted, data)
    write_tensors(model / "model.safetensors", tensors)
    return model


def cache(hub, name, revision="main"):
    """The empty snapshot of a model in a Hugging Face cache."""
    folder = hub / ("models--" + name.replace("/", "--"))
    snapshot = folder / "snapshots" / hashlib.sha1(name.encode()).hexdigest()
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / revision).write_text(snapshot.name)
    snapshot.parent.mkdir()
    return snapshot


def make_bert(folder, hub):
    shapes = {"word_embeddings.weight": [30522, 12], "predictions.bias": [30522], "position_embeddings.weight": [512, 12]}
    model = grow(unpack(folder / "fixtures", "encoders.tar", "bert"), cache(hub, "google-bert/bert-base-uncased"), shapes, vocab_size=30522,
                 max_position_embeddings=512)
    tokens = [f"[unused{i}]" for i in range(30522)]
    tokens[0], tokens[100:104] = "[PAD]", ["[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokens[1996:1996 + len(WORDS)] = WORDS
    (model / "vocab.txt").write_text("\n".join(tokens) + "\n")


def make_image_models(folder, hub):
    # Half of the patches of the published models: the 10th row of patches is the last that the manual names.
    shapes = {"projection.weight": [12, 3, 16, 16], "position_embeddings": [1, 101, 12]}
    labels = {"0": "tabby, tabby cat", "1": "dog", "2": "fish", "3": "bird"}
    grow(unpack(folder / "fixtures", "image-encoders.tar", "vit"), folder / "vit-base", shapes, image_size=160, patch_size=16, id2label=labels,
         label2id={label: int(i) for i, label in labels.items()})
    cache(hub, "google/vit-base-patch16-224").symlink_to(folder / "vit-base")
    shapes = {"projection.weight": [12, 3, 14, 14], "position_embeddings": [1, 122, 12]}
    grow(unpack(folder / "fixtures", "image-encoders.tar", "dinov2"), folder / "dinov2-base", shapes, image_size=154, patch_size=14)
    unpack(folder, "clip.tar", "clip")
    (folder / "siglip").symlink_to(FIXTURES / "family-siglip")
    unpack(folder, "vision.tar", "smolvlm")
    subprocess.run([sys.executable, FIXTURES.parent / "support/gguf_pair.py", "smolvlm", "pair"], cwd=folder, check=True)
    (folder / "pair/model.gguf").rename(folder / "smolvlm.gguf")
    (folder / "pair/mmproj.gguf").rename(folder / "mmproj-smolvlm-f16.gguf")


def make_classifiers(folder):
    """`ner` labels tokens, `squad` answers with spans: the fixture `classifier` with other heads."""
    (folder / "minilm").symlink_to(FIXTURES / "sentences")
    for name, head, matrix, labels in (("ner", "BertForTokenClassification", "classifier", ["O", "B-LOC", "I-LOC"]),
                                       ("squad", "BertForQuestionAnswering", "qa_outputs", ["start", "end"])):
        model, given = folder / name, FIXTURES / "classifier"
        shutil.copytree(given, model)
        config = json.loads((given / "config.json").read_text())
        config |= {"architectures": [head], "id2label": {str(i): label for i, label in enumerate(labels)}}
        (model / "config.json").write_text(json.dumps(config))
        tensors = {}
        for key, (shape, data) in read_tensors(given / "model.safetensors").items():
            is_head = key.startswith("classifier.")
            tensors[key.replace("classifier", matrix)] = fill([len(labels), *shape[1:]], data) if is_head else (shape, data)
        write_tensors(model / "model.safetensors", tensors)


def make_gguf_files(folder, hub, home):
    tiny = FIXTURES / "gguf/tiny.gguf"
    digest = hashlib.sha256(tiny.read_bytes()).hexdigest()
    for tag in ("Q4_K_M", "Q8_0"):
        (folder / f"SmolLM2-135M-Instruct-{tag}.gguf").symlink_to(tiny)
    for name, tags in (("bartowski/SmolLM2-135M-Instruct-GGUF", ["Q8_0"]), ("OWNER/NAME", ["BF16", "Q8_0", "Q4_K_M", "Q2_K"])):
        snapshot = cache(hub, name)
        snapshot.mkdir()
        for tag in tags:
            (snapshot / f"model-{tag}.gguf").symlink_to(tiny)
    lmstudio = home / ".lmstudio/models/OWNER/NAME"
    lmstudio.mkdir(parents=True)
    (lmstudio / "model-Q4_K_M.gguf").symlink_to(tiny)
    ollama = home / ".ollama/models"
    manifest = ollama / "manifests/registry.ollama.ai/library/gemma3/1b"
    manifest.parent.mkdir(parents=True)
    layer = {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}"}
    manifest.write_text(json.dumps({"layers": [layer]}))
    (ollama / "blobs").mkdir()
    (ollama / "blobs" / f"sha256-{digest}").symlink_to(tiny)


def make_readme_models(folder):
    """A checkpoint of nanoGPT, a GGUF file with a chat template, and a pair that reads pictures."""
    (folder / "out").mkdir()
    (folder / "out/ckpt.pt").symlink_to(FIXTURES / "torch-nanogpt/ckpt.pt")
    (folder / "meta.pkl").symlink_to(FIXTURES / "torch-nanogpt/meta.pkl")
    data = (FIXTURES / "gguf-no-template/model.gguf").read_bytes()
    key, text = b"tokenizer.chat_template", b"{% for m in messages %}[{{ m.role }}] {{ m.content }}{% endfor %}{#"
    text += b" " * (-(20 + len(key) + len(text) + 2) % 32) + b"#}"
    pair = struct.pack("<Q", len(key)) + key + struct.pack("<IQ", 8, len(text)) + text
    count = struct.pack("<Q", 1 + struct.unpack("<Q", data[16:24])[0])
    (folder / "chat.gguf").write_bytes(data[:16] + count + pair + data[24:])
    model = unpack(folder / "fixtures", "vision.tar", "qwen2_5_vl")
    subprocess.run([sys.executable, FIXTURES.parent / "support/gguf_pair.py", model, folder / "pair"], check=True)
    for name in ("model.gguf", "mmproj.gguf"):
        (folder / name).symlink_to(folder / "pair" / name)


def make_inputs(folder):
    with tarfile.open(FIXTURES / "pictures.tar") as pictures:
        for member, name in (("rgb.png", "cat.png"), ("palette.png", "dog.png"), ("420.jpg", "cat.jpg")):
            (folder / name).write_bytes(pictures.extractfile(member).read())
    text = "The keys to the cabinet\nThe dogs near the door\n"
    (folder / "texts.txt").write_text(text)
    (folder / "story.txt").write_text(text)
    for name, last in (("P69905", 4), ("proteins", None)):
        lines = (FIXTURES / "proteins/proteins.fasta").read_text().splitlines(keepends=True)
        (folder / f"{name}.fasta").write_text("".join(lines[:last]))
    (folder / "pairs.jsonl").write_text('{"good": "The keys are here", "bad": "The keys is here"}\n')
    (folder / "pictures.jsonl").write_text('{"image": "cat.png"}\n')
    (folder / "pictures.csv").write_text("image,target\ncat.png,cat\n")
    (folder / "pairs.csv").write_text("text,target,foil,number\nThe keys, are, is,pl\nThe key, is, are,sg\n")


def main(folder):
    hub, home = folder / "hub", folder / "home"
    make_bert(folder, hub)
    make_image_models(folder, hub)
    make_classifiers(folder)
    make_gguf_files(folder, hub, home)
    cache(hub, "facebook/esm2_t6_8M_UR50D").symlink_to(FIXTURES / "proteins")
    cache(hub, "Helsinki-NLP/opus-mt-en-fr").symlink_to(unpack(folder / "fixtures", "stacks.tar", "whole_opus"))
    cache(hub, "openai-community/gpt2").symlink_to(MODELS / "tiny-gpt2")
    cache(hub, "EleutherAI/pythia-14m", "step1000").symlink_to(MODELS / "tiny-gpt2")
    (folder / "path/to").mkdir(parents=True)
    (folder / "path/to/model").symlink_to(MODELS / "tiny-gpt2")
    make_readme_models(folder)
    make_inputs(folder)


main(pathlib.Path(sys.argv[1]).resolve())
