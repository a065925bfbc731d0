#!/usr/bin/env python3
"""Writes the tables of lib/tokenizer/unicode/normal_forms, which normal_form_tables.h describes; with
--lowercase prints the table of lowercase.c, with --classes that of character_class.c, with --widths
those of lib/base/utf8.c. From Python's Unicode data.

--classes asks the library tokenizers about every character: its tables are of Unicode 8 and 9,
which Python does not have.
"""
import os
import struct
import sys
import unicodedata

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


def print_rows(head, rows):
    print(f"{head} = {{")
    line = "   "
    for row in rows:
        text = row if isinstance(row, str) else "{" + ", ".join(f"{v:#x}" for v in row) + "}"
        if len(line) + len(text) + 2 > 100:
            print(line)
            line = "   "
        line += f" {text},"
    print(line)
    print("};")


def write_table(name, form, rows):
    folder = "lib/tokenizer/unicode/normal_forms"
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


def print_lowercase():
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
    print(f"/* Unicode {unicodedata.unidata_version} */")
    print_rows("static const struct lower_range ranges[]",
               [f"{{{first:#x}, {last:#x}, {step or 1}, {delta}}}"
                for first, last, step, delta in rows])


def print_classes():
    from tokenizers import normalizers, pre_tokenizers
    clean = {"clean_text": True, "strip_accents": False}
    strip = {"clean_text": False, "strip_accents": True}
    rest = {"handle_chinese_chars": False, "lowercase": False}
    split = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    removed = [("controls", normalizers.BertNormalizer(**clean, **rest)),
               ("accents", normalizers.BertNormalizer(**strip, **rest)),
               ("marks", normalizers.StripAccents())]
    tables = [(name, lambda c, n=n: n.normalize_str(chr(c)) == "") for name, n in removed]
    tables.append(("punctuation", lambda c: len(split(f"a{chr(c)}b")) == 3))
    for name, test in tables:
        print_rows(f"static const struct range {name}[]",
                   [f"{{{first:#x}, {last:#x}}}" for first, last, _ in ranges(lambda c: int(test(c)))])
        print()


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


def print_width_table(name, table):
    print(f"static const struct range {name}[] = {{")
    print(", ".join(f"{{{first:#06x}, {last:#06x}}}" for first, last in table))
    print("};")


def print_widths():
    print(f"/* Unicode {unicodedata.unidata_version} */")
    print_width_table("zero", bridged_ranges(is_zero, is_unassigned))
    print_width_table("wide", bridged_ranges(is_wide, lambda c: is_unassigned(c) or is_zero(c)))
    print_width_table("punctuation",
                      bridged_ranges(lambda c: unicodedata.category(chr(c))[0] == "P", lambda c: False))


tables = {"--lowercase": print_lowercase, "--classes": print_classes, "--widths": print_widths}
tables.get(sys.argv[-1], write_normal_forms)()
