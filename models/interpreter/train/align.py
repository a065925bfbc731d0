#!/usr/bin/env python3
"""How often each cross head looks at the English word that a Chinese word comes from.

    python models/interpreter/train/align.py models/interpreter

Of a head there are two figures. "written": the row of a character looks at the word that this
character was made from. "writing": the row before it, which predicts the character, does. A word of the
Chinese is right when the heaviest weight of every one of its characters lies on a right word.
"""

import os
import sys

import torch
from tokenizers import Tokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "data", "corpus"))
import pairs  # noqa: E402
from interpreter import load  # noqa: E402


def words_of(made):
    """The content words of a sentence: (positions of its characters in the text, of its words in
    the source), <|endoftext|> being 0."""
    words = {}
    for word, character in made.links:
        words.setdefault(character, set()).add(word + 1)
    grouped = []
    for character in sorted(words):
        if grouped and grouped[-1][1] == words[character] and grouped[-1][0][-1] == character:
            grouped[-1][0].append(character + 1)
        else:
            grouped.append(([character + 1], words[character]))
    return grouped


@torch.no_grad()
def alignment(model, tokenizer, sentences):
    """[layer, head, writing or written]: the share of content words that are right."""
    n_layer, n_head = len(model.blocks), model.c["n_head"]
    right, n = torch.zeros(n_layer, n_head, 2), 0
    for made in sentences:
        source = torch.tensor([tokenizer.encode(made.english).ids])
        ids = torch.tensor([tokenizer.encode(made.chinese).ids])
        _, patterns = model(ids, source)
        words = words_of(made)
        n += len(words)
        for layer, block in enumerate(model.blocks):
            if not block.attn.is_cross:
                continue
            heaviest = patterns[layer][0].argmax(-1)  # [head, row]
            for at, wanted in words:
                for when, shift in ((0, 1), (1, 0)):
                    rows = heaviest[:, [i - shift for i in at]]
                    hit = sum(rows == word for word in wanted) > 0
                    right[layer, :, when] += hit.all(-1)
    return right / n


@torch.no_grad()
def translate(model, tokenizer, english):
    source = torch.tensor([tokenizer.encode(english).ids])
    ids = [0]
    while len(ids) < model.c["n_ctx"]:
        logits, _ = model(torch.tensor([ids]), source)
        token = int(logits[0, -1].argmax())
        if token == 0:
            break
        ids.append(token)
    return "".join(tokenizer.id_to_token(i) for i in ids[1:])


def main():
    model = load(sys.argv[1]).eval()
    torch.set_num_threads(1)
    tokenizer = Tokenizer.from_file(os.path.join(sys.argv[1], "tokenizer.json"))
    for name, seed, is_held_out in (("training", 2003, False), ("held out", 777, True)):
        sentences = list(pairs.sentences(seed, 500, is_held_out))
        scores = alignment(model, tokenizer, sentences)
        right = sum(translate(model, tokenizer, made.english) == made.chinese for made in sentences)
        print(f"{name}: {right} of {len(sentences)} translated without a fault")
        for layer, block in enumerate(model.blocks):
            for head in range(model.c["n_head"]) if block.attn.is_cross else ():
                writing, written = scores[layer, head]
                print(
                    f"{layer}.{head}\t{100 * writing:.1f} % writing\t{100 * written:.1f} % written"
                )


if __name__ == "__main__":
    main()
