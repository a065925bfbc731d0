#!/usr/bin/env python3
"""Makes models/tiny-gpt2: a byte-level BPE trained on data/tiny-corpus.txt and random weights.

    make_tiny_gpt2.py                   run in the repository root

The sizes are awkward on purpose: no two are equal and most are odd.
"""

import json
import pathlib

import torch
from tokenizers import ByteLevelBPETokenizer
from transformers import GPT2Config, GPT2LMHeadModel

SEED = 20240229
N_VOCAB = 487
DIRECTORY = pathlib.Path("models/tiny-gpt2")


def train_tokenizer():
    """As in GPT-2: 256 bytes, then one id a merge, then <|endoftext|>."""
    bpe = ByteLevelBPETokenizer()
    bpe.train("data/tiny-corpus.txt", vocab_size=N_VOCAB - 1, min_frequency=2, show_progress=False)
    bpe.save_model(str(DIRECTORY))
    path = DIRECTORY / "vocab.json"
    vocab = json.loads(path.read_text(encoding="utf-8"))
    assert sorted(vocab.values()) == list(range(N_VOCAB - 1))
    vocab["<|endoftext|>"] = N_VOCAB - 1
    path.write_text(json.dumps(vocab, ensure_ascii=False), encoding="utf-8")


def randomize_vectors(model):
    """Biases start as zeros and norms as ones: a mix-up of them would go unseen."""
    for name, parameter in model.named_parameters():
        if parameter.dim() == 1:
            is_norm_weight = ".ln_" in name and name.endswith("weight")
            parameter.data.normal_(1.0 if is_norm_weight else 0.0, 0.25)


def make_model():
    config = GPT2Config(vocab_size=N_VOCAB, n_positions=17, n_embd=15, n_layer=3, n_head=3,
                        n_inner=22, initializer_range=0.35, bos_token_id=N_VOCAB - 1,
                        eos_token_id=N_VOCAB - 1)
    torch.manual_seed(SEED)
    model = GPT2LMHeadModel(config)
    randomize_vectors(model)
    model.save_pretrained(DIRECTORY)
    (DIRECTORY / "generation_config.json").unlink(missing_ok=True)


if __name__ == "__main__":
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    train_tokenizer()
    make_model()
