#!/usr/bin/env python3
"""Write the tokenizer.json of models/interpreter: each English word of the corpus is a token, each
Chinese character is one.

    python models/interpreter/train/tokenizer.py models/interpreter

It is a byte pair encoding without merges: what the vocabulary lacks becomes single letters, and other
characters <unk>. A word has its space in front, but for those that begin a sentence. <|endoftext|> is
put in front of every text and every source, and ends what is written.
"""

import json
import os
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
sys.path.insert(0, os.path.join(ROOT, "data", "corpus"))
import pairs  # noqa: E402

SENTENCES = 400000
SEED = 17
END, UNKNOWN = "<|endoftext|>", "<unk>"
SPLIT = " ?[A-Za-z]+(?:'[a-z]+)?|[^A-Za-z]"
LETTERS = [chr(c) for c in range(ord("A"), ord("Z") + 1)] + [
    chr(c) for c in range(ord("a"), ord("z") + 1)
]


def vocabulary():
    """Every word and every character that the corpus contains."""
    words, characters = set(), set()
    for held_out in (False, True):
        for made in pairs.sentences(SEED, SENTENCES, held_out):
            for match in pairs.re.finditer(SPLIT, made.english):
                words.add(match.group())
            characters.update(made.chinese)
    return (
        [END, UNKNOWN, " ", "'"]
        + LETTERS
        + sorted((words | characters) - set(LETTERS) - {" ", "'"})
    )


def main():
    special = {
        "id": 0,
        "content": END,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": True,
    }
    split = {"type": "Split", "pattern": {"Regex": SPLIT}, "behavior": "Isolated", "invert": False}
    single = [{"SpecialToken": {"id": END, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    both = single + [{"Sequence": {"id": "B", "type_id": 1}}]
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [special, special | {"id": 1, "content": UNKNOWN}],
        "normalizer": None,
        "pre_tokenizer": split,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": single,
            "pair": both,
            "special_tokens": {END: {"id": END, "ids": [0], "tokens": [END]}},
        },
        "decoder": {"type": "Fuse"},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": UNKNOWN,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": True,
            "byte_fallback": False,
            "ignore_merges": True,
            "vocab": {token: i for i, token in enumerate(vocabulary())},
            "merges": [],
        },
    }
    with open(os.path.join(sys.argv[1], "tokenizer.json"), "w", encoding="utf-8") as file:
        json.dump(tokenizer, file, ensure_ascii=False, indent=1)
        file.write("\n")
    print(f"{len(tokenizer['model']['vocab'])} tokens")


if __name__ == "__main__":
    main()
