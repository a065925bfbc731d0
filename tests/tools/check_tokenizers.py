#!/usr/bin/env python3
"""Compares the tokenizers of encoders with the library tokenizers: ids, types, offsets, decoded text.

    check_tokenizers.py FOLDER [TOKENIZER.json ...]      FOLDER is made anew

Vocabularies are learned from this project's texts: WordPiece in three ways, Unigram with a charsmap
of sentencepiece, with ALBERT's chain of normalizers, and with bytes; CLIP's BPE; BERT's vocab.txt.
Each gets N_TEXT hard texts, every third with a pair. Files that are named are compared in the same
way, and a cases.jsonl beside one of them, too. LIBATTN names the library, else build/release has it.
"""
import importlib.util
import json
import os
import pathlib
import random
import shutil
import sys
from ctypes import CDLL, POINTER, byref, c_char_p, c_int32, c_size_t, c_void_p, cast, string_at

try:
    import tokenizers
    from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, processors, trainers
except ImportError as error:
    print(f"check-tokenizers: skipped: {error}; install it with: pip install tokenizers sentencepiece")
    sys.exit(0)

ROOT = pathlib.Path(__file__).resolve().parents[2]
N_TEXT = 5000

spec = importlib.util.spec_from_file_location("binding", ROOT / "lib/python/attn/binding.py")
c = importlib.util.module_from_spec(spec)
spec.loader.exec_module(c)
lib = c.declare(CDLL(os.environ.get("LIBATTN", str(ROOT / "build/release/libattn.so"))))


class Ours:
    """A tokenizer of attn in a folder."""

    def __init__(self, folder):
        source, error = c.attn_source(directory=str(folder).encode()), c.attn_error()
        self.pointer = c_void_p()
        if lib.attn_tokenizer_open(byref(source), byref(self.pointer), byref(error)) != c.ATTN_OK:
            raise ValueError(error.message.decode())

    def encode(self, text, pair=None, special=True):
        """ids, types, offsets in bytes, which text."""
        data, other = text.encode(), None if pair is None else pair.encode()
        options, encoding, error = c.ATTN_ENCODE_DEFAULT(), c.attn_encoding(), c.attn_error()
        options.special_tokens = c.ATTN_SPECIAL_TOKENS_ON if special else c.ATTN_SPECIAL_TOKENS_OFF
        options.pair, options.n_pair = other, len(other or b"")
        if lib.attn_tokenizer_encode(self.pointer, data, len(data), byref(options), byref(encoding),
                                     byref(error)) != c.ATTN_OK:
            raise ValueError(error.message.decode())
        n = encoding.n
        found = (encoding.ids[:n], encoding.types[:n], list(zip(encoding.begin[:n], encoding.end[:n])),
                 encoding.texts[:n])
        lib.attn_encoding_release(byref(encoding))
        return found

    def decode(self, ids):
        array, text, size, error = (c_int32 * len(ids))(*ids), c_char_p(), c_size_t(), c.attn_error()
        pointer = cast(array, POINTER(c_int32)) if ids else None
        if lib.attn_tokenizer_decode(self.pointer, pointer, len(ids), byref(text), byref(size),
                                     byref(error)) != c.ATTN_OK:
            raise ValueError(error.message.decode())
        return string_at(text, size.value).decode()


# --- Hard texts -----------------------------------------------------------------------------------

WORDS = """the The THE keys of to cabinet are on table unaffordable walking tokenization "don't" it's I'm we've 3.14
2026-11-22 naïve Ångström façade groß ĳsland ﬁne Ⅷ ½ İstanbul ǅ ΣΊΣΥΦΟΣ ς 東京 語言 한국어 가각 ภาษาไทย हिन्दी العربية עברית
[MASK] [mask] [CLS] [SEP] [PAD] [UNK] <mask> <s> </s> <unk> <pad> <extra_id_0> <|startoftext|> <|endoftext|> </w>
``quoted'' -- … “x” ¿ ? ! , . ' do not n't 's x's 👩‍👩‍👧 🏳️‍🌈 🇩🇪🇫🇷 e\u0301 a\u0301\u0302 \u0301x q\u0307\u0323""".split()
SPACES = [" "] * 12 + ["", "", "  ", "\t", "\n", "\r\n", "\u00a0", "\u2003", "\u3000", "\u200b", "\u2028", "\u0085", "\u1680"]
ODD = [*"\u2581\u00ad\u200d\u200c\ufeff\u0000\u0001\u001f\u007f\ufffd\u0300\u0301\u0323\u0345\u064b\u093c\u0f71\u20dd\u20d0",
       *"\ufb01\uff21\uff76\uff9e\u3099\u1100\u1161\u11a8\uac00\u0130\u0131\u017f\u2126\u212b\u00df\ufdfa\u3300\u1e9b\u0f73\u0344",
       *"\u3400\u4dbf\u4e00\u9fff\uf900\ufaff\u166d\u0e33\u0eb3\u200e\u061c\u2066\ue000\u1f62\u0439\u0451",
       "\U00020000", "\U0002b820", "\U0002f800", "\U000111c9", "\U0001d400", "\U0001f1e6", "\U0001f3fb", "\U000e0001", "\U0010ffff"]


# What one of the libraries does not know yet is left out: characters since Unicode 9.
SINCE = [range(0x860, 0x86b), range(0x1c80, 0x1cc0), range(0x1df6, 0x1dfc), range(0x2bba, 0x2c00),
         range(0xa7ae, 0xa7f7), range(0xa8c5, 0xa8fe), range(0x104b0, 0x10500), range(0x10530, 0x10600),
         range(0x10700, 0x10800), range(0x10a32, 0x11000), range(0x11000, 0x12000), range(0x12f90, 0x12fff),
         range(0x13430, 0x14400), range(0x16a70, 0x1b000), range(0x1b100, 0x1bc00), range(0x1cf00, 0x1d000),
         range(0x1d2c0, 0x1d400), range(0x1df00, 0x1e800), range(0x1e900, 0x1ee00), range(0x1f000, 0x20000)]


def known(code):
    return not 0xd800 <= code <= 0xdfff and not any(code in part for part in SINCE)


def characters(rng):
    low, high = rng.choice([(0x20, 0x7f), (0x80, 0x250), (0x300, 0x370), (0x370, 0x600), (0x600, 0x860), (0x900, 0x1000),
                            (0x1000, 0x1c80), (0x1d00, 0x1df0), (0x1e00, 0x2bba), (0x2e80, 0x3400), (0x4e00, 0x5000),
                            (0xa000, 0xa7ae), (0xac00, 0xd7a4), (0xf900, 0x10000), (0x10000, 0x10200),
                            (0x1d400, 0x1d800), (0x20000, 0x2fa20)])
    codes = [rng.randrange(low, high) for _ in range(rng.randrange(1, 6))]
    return "".join(chr(code) for code in codes if known(code))


def hard_text(rng):
    parts = []
    for _ in range(rng.randrange(0, 9)):
        kind = rng.random()
        word = rng.choice(WORDS) if kind < 0.5 else rng.choice(ODD) if kind < 0.75 else characters(rng)
        if kind < 0.05:
            word = word * rng.randrange(2, 60)
        if rng.random() < 0.1:
            word += rng.choice("\u0301\u0308\u0323\u200d") * rng.randrange(1, 4)
        parts += [word, rng.choice(SPACES) if rng.random() < 0.8 else ""]
    return "".join(parts)


# --- Comparing ------------------------------------------------------------------------------------

def to_bytes(text, offsets):
    """Offsets in characters as offsets in bytes."""
    at = [0]
    for character in text:
        at.append(at[-1] + len(character.encode()))
    return [(at[begin], at[end]) for begin, end in offsets]


def is_place(data, token, ours, theirs):
    """The same bytes; of a part of a character, and of one that is spelled in bytes, some of them."""
    if tuple(ours) == tuple(theirs):
        return True
    is_part = any(at < len(data) and data[at] & 0xC0 == 0x80 for at in ours) or token.startswith("<0x")
    return is_part and theirs[0] <= ours[0] and ours[1] <= theirs[1]


def difference(ours, theirs, text, pair, special):
    """What is not the same, or None."""
    found = theirs.encode(text, pair, add_special_tokens=special)
    try:
        ids, types, offsets, texts = ours.encode(text, pair, special)
    except ValueError as problem:
        return f"refused: {problem}"
    if ids != found.ids:
        return f"ids {ids}, expected {found.ids} {found.tokens}"
    if types != found.type_ids:
        return f"types {types}, expected {found.type_ids}"
    data = {1: text.encode(), 2: (pair or "").encode()}
    at = {1: to_bytes(text, [(i, i) for i in range(len(text) + 1)]),
          2: to_bytes(pair or "", [(i, i) for i in range(len(pair or "") + 1)])}
    for i, part in enumerate(texts):
        if part == 0:
            place, of = (0, 0), b""
        else:
            begin, end = found.offsets[i]
            place, of = (at[part][begin][0], at[part][end][0]), data[part]
        if not is_place(of, found.tokens[i], offsets[i], place):
            return f"token {i}, {found.tokens[i]!r}, is {offsets[i]}, expected {place}"
    if special and ours.decode(ids) != theirs.decode(ids, skip_special_tokens=False):
        return f"decoded {ours.decode(ids)!r}, expected {theirs.decode(ids, skip_special_tokens=False)!r}"
    return None


def check(name, path, seed):
    ours, theirs, rng = Ours(path.parent), tokenizers.Tokenizer.from_file(str(path)), random.Random(seed)
    cases = path.parent / "cases.jsonl"
    given = [json.loads(line) for line in cases.open(encoding="utf-8")] if cases.exists() else []
    n_bad = 0
    for i in range(N_TEXT + len(given)):
        case = given[i - N_TEXT] if i >= N_TEXT else {"text": hard_text(rng)}
        text, pair = case["text"], case.get("pair")
        if i < N_TEXT and i % 3 == 0:
            pair = hard_text(rng)
        for special in (True, False):
            what = difference(ours, theirs, text, pair, special)
            if what:
                n_bad += 1
                if n_bad <= 5:
                    print(f"check-tokenizers: {name}: {text!r} {pair!r}: {what}")
        if "ids_special" in case:
            assert ours.encode(text)[0] == case["ids_special"], text
            assert ours.decode(case["ids_special"]) == case["decode"], text
        if "ids_pair" in case:
            assert ours.encode(text, pair)[:2] == (case["ids_pair"], case["types_pair"]), text
    print(f"check-tokenizers: {name}: {N_TEXT} hard texts and {len(given)} given: {n_bad} differ")
    return n_bad


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    made = []
    paths = [pathlib.Path(path) for path in sys.argv[2:]] or make_all(folder)
    n_bad = sum(check(path.parent.name, path, number) for number, path in enumerate(paths))
    sys.exit(n_bad > 0)
