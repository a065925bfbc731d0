"""Which English word a Chinese character may come from, learned from pairs of sentences alone: IBM
Model 1 (Brown et al. 1993), and of words that could each have given a character those that could have
given its neighbours as well."""

import numpy as np
import torch

ROUNDS = 8
NEIGHBOUR = 0.05  # what a word counts that explains no neighbour


def flat_pairs(examples):
    """Every word of a sentence with every character of it: rows (word, character, number of the
    character in the corpus)."""
    words, characters, numbers, n = [], [], [], 0
    for source, text in examples:
        source, text = np.array(source), np.array(text[1:])
        words.append(np.tile(source, len(text)))
        characters.append(np.repeat(text, len(source)))
        numbers.append(np.repeat(np.arange(n, n + len(text)), len(source)))
        n += len(text)
    return np.concatenate(words), np.concatenate(characters), np.concatenate(numbers), n


def word_table(examples, n_vocab):
    """[word, character]: how probable the character is, of all that the word gives. Expectation
    and maximization, from a table that knows nothing."""
    words, characters, numbers, n = flat_pairs(examples)
    cells = words.astype(np.int64) * n_vocab + characters
    table = np.full(n_vocab * n_vocab, 1 / n_vocab)
    for _ in range(ROUNDS):
        weights = table[cells]
        weights /= np.bincount(numbers, weights, n)[numbers]
        counts = np.bincount(cells, weights, n_vocab * n_vocab).reshape(n_vocab, n_vocab)
        table = (counts / np.maximum(counts.sum(1, keepdims=True), 1e-9)).ravel()
    return torch.tensor(table.reshape(n_vocab, n_vocab), dtype=torch.float32)


def origins(table, source, characters):
    """[B, T, S]: how probably each character [B, T] comes from each word [B, S]; what is below 0
    pads, and 0, <|endoftext|>, comes from nowhere: such rows are 0."""
    words = source.clamp(min=0)[:, None]
    given = table[words, characters.clamp(min=0)[:, :, None]]
    given = given * (characters > 0)[:, :, None] * (source >= 0)[:, None]
    near = torch.full_like(given, NEIGHBOUR)
    near[:, 1:] += given[:, :-1]
    near[:, :-1] += given[:, 1:]
    weights = given * near
    return weights / weights.sum(-1, keepdim=True).clamp(min=1e-9)
