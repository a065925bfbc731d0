#!/usr/bin/env python3
"""Train the byte-level BPE of models/fable: as few tokens as make each word of the corpus one
token.

    python models/fable/train/tokenizer.py models/fable
    python models/fable/train/tokenizer.py mine text.txt 4096    # of a text: as many tokens as said

Words count alike, however frequent, so that rare ones are whole as well; made-up names get no
tokens of their own and are spelt by several. Writes vocab.json and merges.txt as GPT-2's are laid
out: the 256 bytes, a token for each merge, then <|endoftext|>.
"""

import collections
import json
import os
import sys

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
sys.path.insert(0, os.path.join(ROOT, "data", "corpus"))
import generate  # noqa: E402

DOCUMENTS = 150000
SEED = 20261120
MULTIPLE = 64  # of which the vocabulary's size is
END = "<|endoftext|>"


def bytes_of_gpt2():
    """The characters that GPT-2 writes for the 256 bytes, in the order of its vocabulary: printable
    ones first."""
    shown = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    hidden = [byte for byte in range(256) if byte not in shown]
    return [chr(byte) for byte in shown] + [chr(256 + i) for i in range(len(hidden))]


def words_of_corpus():
    """Every piece of the split rule that the corpus contains, without the made-up names."""
    generate.made_up = lambda rng: "Mary"
    split = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pieces = collections.Counter()
    for text in generate.documents(SEED, DOCUMENTS):
        for line in text.split("\n"):
            pieces.update(piece for piece, _ in split.pre_tokenize_str(line))
    return sorted(piece for piece, count in pieces.items() if len(piece) > 1)


def train(texts, size):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=size - 1,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def tokenizer_of_corpus():
    words = words_of_corpus()
    size = MULTIPLE * (256 // MULTIPLE + len(words) // MULTIPLE)
    while True:
        tokenizer = train([word.replace("Ġ", " ") for word in words], size)
        known = tokenizer.get_vocab()
        if all(word in known for word in words):
            print(f"{len(words)} words")
            return tokenizer
        size += MULTIPLE


def tokenizer_of_text(path, size):
    with open(path, encoding="utf-8") as file:
        return train(file.read().split(END), size)


def main():
    if len(sys.argv) > 2:
        tokenizer = tokenizer_of_text(sys.argv[2], int(sys.argv[3]))
    else:
        tokenizer = tokenizer_of_corpus()
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in merges]
    tokens = bytes_of_gpt2() + [merge.replace(" ", "") for merge in merges] + [END]
    with open(os.path.join(sys.argv[1], "vocab.json"), "w", encoding="utf-8") as file:
        json.dump({token: i for i, token in enumerate(tokens)}, file, ensure_ascii=False)
    with open(os.path.join(sys.argv[1], "merges.txt"), "w", encoding="utf-8") as file:
        file.write("#version: 0.2\n" + "\n".join(merges) + "\n")
    print(f"{len(tokens)} tokens")


if __name__ == "__main__":
    main()
