#!/usr/bin/env python3
"""Writes the tables of lib/base/unicode and lib/tokenizer/unicode/tables from Python's Unicode data;
with --classes character_classes.bin alone.

--classes asks the library tokenizers about every character: its classes are of Unicode 8 and 9,
which Python does not have.
"""
import os
import struct
import sys
import unicodedata

if unicodedata.unidata_version != "14.0.0":
    sys.exit(f"Python has Unicode {unicodedata.unidata_version}, expected 14.0.0 (lib/base/version.h)")

ALL = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
HANGUL = range(0xAC00, 0xD7A4)


def decomposition(c):
    text = unicodedata.decomposition(chr(c))
    return [] if not text or text[0] == "<" else [int(part, 16) for part in text.split()]


def ranges(value):
    found = []
    for c in ALL:
        v = value(c)
        if v and found and found[-1][1] == c - 1 and found[-1][2] == v:
            found[-1][1] = c
        elif v:
            found.append([c, c, v])
    return found


def write_table(name, form, rows, folder="lib/tokenizer/unicode/tables"):
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/{name}.bin", "wb") as file:
        for row in rows:
            file.write(struct.pack("<" + form, *row))


def write_normal_forms():
    """Hangul is arithmetic (normal_form.c)."""
    whole = [(c, *decomposition(c), 0)[:3] for c in ALL if decomposition(c) and c not in HANGUL]
    composed = [i for i, (c, *_) in enumerate(whole)
                if unicodedata.normalize("NFC", chr(c)) == chr(c)]
    composed.sort(key=lambda i: whole[i][1:])
    seconds = {whole[i][2] for i in composed} | set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))
    plain, parts = [], []
    for c in ALL:
        text = unicodedata.normalize("NFKD", chr(c))
        if text != unicodedata.normalize("NFD", chr(c)):
            plain.append((c, len(parts), len(text)))
            parts += [(ord(p),) for p in text]
    write_table("classes", "III", ranges(lambda c: unicodedata.combining(chr(c))))
    write_table("decompositions", "III", whole)
    write_table("compositions", "H", [(i,) for i in composed])
    write_table("doubtful", "III",
                ranges(lambda c: int(unicodedata.combining(chr(c)) != 0 or c in seconds or
                                     unicodedata.normalize("NFC", chr(c)) != chr(c))))
    write_table("plain", "IHH", plain)
    write_table("plain_parts", "I", parts)


def write_lowercase():
    """A range has steps of 1 or 2; the value is twice the distance, plus 1 for steps of 2."""
    rows = []
    for c in ALL:
        lower = chr(c).lower()
        if len(lower) != 1 or lower == chr(c):
            continue
        delta = ord(lower) - c
        last = rows[-1] if rows else None
        if last and last[3] == delta and c - last[1] in (1, 2) and last[2] in (0, c - last[1]):
            last[2], last[1] = c - last[1], c
        else:
            rows.append([c, c, 0, delta])
    write_table("lowercase", "IIi", [(first, last, 2 * delta + (step == 2))
                                     for first, last, step, delta in rows])


# BERT's ideographs, without 2B820..2B91F.
IDEOGRAPHS = [(0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF),
              (0x2A700, 0x2B81F), (0x2B920, 0x2CEAF), (0x2F800, 0x2FA1F)]


def write_classes():
    """In the order of enum attn_character_class."""
    from tokenizers import normalizers, pre_tokenizers
    clean = {"clean_text": True, "strip_accents": False}
    strip = {"clean_text": False, "strip_accents": True}
    rest = {"handle_chinese_chars": False, "lowercase": False}
    split = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    removed = [normalizers.BertNormalizer(**clean, **rest), normalizers.BertNormalizer(**strip, **rest),
               normalizers.StripAccents()]
    tests = [lambda c, n=n: n.normalize_str(chr(c)) == "" for n in removed]
    tests.append(lambda c: len(split(f"a{chr(c)}b")) == 3)
    tests.append(lambda c: any(first <= c <= last for first, last in IDEOGRAPHS))
    write_table("character_classes", "III",
                ranges(lambda c: sum(test(c) << i for i, test in enumerate(tests))))


# --- lib/base/utf8.c --------------------------------------------------------------------------

# Zero columns: marks that combine with the character before them (Mn, Me) and the vowels and final
# consonants of decomposed Hangul. Two columns: East_Asian_Width W and F. Unassigned characters
# between two ranges are bridged, which makes the tables short and suits what later versions of
# Unicode put there; whole ideographic planes are wide. Punctuation: the categories P, nothing bridged.
JAMO = [range(0x1160, 0x1200), range(0xD7B0, 0xD800)]


def is_unassigned(c):
    return unicodedata.category(chr(c)) == "Cn"


def is_zero(c):
    return unicodedata.category(chr(c)) in ("Mn", "Me") or any(c in r for r in JAMO)


def is_wide(c):
    if 0x20000 <= c <= 0x2FFFD or 0x30000 <= c <= 0x3FFFD:
        return True
    # For unassigned characters Python says F.
    return unicodedata.east_asian_width(chr(c)) in "WF" and not is_unassigned(c) and not is_zero(c)


def bridged_ranges(belongs, bridges):
    found = []
    gap = True  # only bridged characters since the last range
    for c in range(0x110000):
        if belongs(c):
            if found and gap:
                found[-1][1] = c
            else:
                found.append([c, c])
            gap = True
        elif not bridges(c):
            gap = False
    return found


def write_widths():
    """The value of a range is its columns plus 1."""
    zero = {c for first, last in bridged_ranges(is_zero, is_unassigned) for c in range(first, last + 1)}
    wide = {c for first, last in bridged_ranges(is_wide, lambda c: is_unassigned(c) or is_zero(c))
            for c in range(first, last + 1)}
    punctuation = bridged_ranges(lambda c: unicodedata.category(chr(c))[0] == "P", lambda c: False)
    write_table("widths", "III", ranges(lambda c: 1 if c in zero else 3 if c in wide else 0),
                "lib/base/unicode")
    write_table("punctuation", "III", [(first, last, 1) for first, last in punctuation],
                "lib/base/unicode")


if sys.argv[1:] == ["--classes"]:
    write_classes()
else:
    write_normal_forms()
    write_lowercase()
    write_widths()
