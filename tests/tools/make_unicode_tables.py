#!/usr/bin/env python3
"""Writes the tables of lib/core/tokenizer/unicode/tables, by asking the library tokenizers about every character; with --widths
those of lib/ground/base/text/unicode, from Python's Unicode data.

No one version of Unicode has what that library does: each of its parts has tables of its own. Run it with the version that
SOURCE names, from the root of the repository. lib/ground/base/version.h and cmd/manual/models.md name the versions of Unicode.
"""
import os
import struct
import sys
import unicodedata

SOURCE = "0.23."  # version of tokenizers

if unicodedata.unidata_version != "14.0.0":
    sys.exit(f"Python has Unicode {unicodedata.unidata_version}, expected 14.0.0")

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


def write_table(name, form, rows, folder="lib/core/tokenizer/unicode/tables"):
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/{name}.bin", "wb") as file:
        for row in rows:
            file.write(struct.pack("<" + form, *row))


def normalized(normalizer):
    """What NORMALIZER makes of each character, where that is not the character: dict of lists."""
    texts = ((c, normalizer.normalize_str(chr(c))) for c in ALL)
    return {c: list(map(ord, text)) for c, text in texts if text != chr(c)}


def write_normal_forms():
    """Hangul is arithmetic (normal_form.c). The library's tables are older than Python's: it decomposes, composes and
    reorders some of the characters that Python does."""
    nfd, nfc, nfkd = (normalized(normalizer()) for normalizer in (normalizers.NFD, normalizers.NFC, normalizers.NFKD))
    reorder = normalizers.NFD().normalize_str
    first, last = "\u0334", "\u0345"  # marks of the lowest class and the highest
    classes = {c: unicodedata.combining(chr(c)) for c in ALL if unicodedata.combining(chr(c)) and
               (reorder(last + chr(c))[0] != last or reorder(chr(c) + first)[0] == first)}
    whole = [(c, *decomposition(c), 0)[:3] for c in ALL if c in nfd and c not in HANGUL]
    composed = [i for i, (c, *_) in enumerate(whole) if c not in nfc]
    composed.sort(key=lambda i: whole[i][1:])
    seconds = {whole[i][2] for i in composed} | set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))
    plain, parts = [], []
    for c, text in nfkd.items():
        if text != nfd.get(c):
            plain.append((c, len(parts), len(text)))
            parts += [(part,) for part in text]
    write_table("classes", "III", ranges(lambda c: classes.get(c, 0)))
    write_table("decompositions", "III", whole)
    write_table("compositions", "H", [(i,) for i in composed])
    write_table("doubtful", "III", ranges(lambda c: int(c in classes or c in seconds or c in nfc)))
    write_table("plain", "IHH", plain)
    write_table("plain_parts", "I", parts)


def write_lowercase():
    """A range has steps of 1 or 2; the value is twice the distance, plus 1 for steps of 2."""
    rows = []
    for c, lower in normalized(normalizers.Lowercase()).items():
        if len(lower) != 1:
            continue
        delta = lower[0] - c
        last = rows[-1] if rows else None
        if last and last[3] == delta and c - last[1] in (1, 2) and last[2] in (0, c - last[1]):
            last[2], last[1] = c - last[1], c
        else:
            rows.append([c, c, 0, delta])
    write_table("lowercase", "IIi", [(first, last, 2 * delta + (step == 2))
                                     for first, last, step, delta in rows])


ROW = "<24sIIIIII"  # struct attn_unicode_property

# Scripts of Unicode 15 and 16; the other names are those of the table that is there.
LATER = """kawi nagm nagmundari gara garay gukh gurungkhema krai kiratrai onao olonal sunu sunuwar todr todhri tutg
    tulutigalari""".split()


def removed_ranges(pattern):
    """The ranges of characters that PATTERN matches, without surrogates."""
    every = "".join(map(chr, ALL))
    kept = normalizers.Replace(Regex(f"{pattern}+"), "").normalize_str(every).encode("utf-32-le")
    kept = [-1, *memoryview(kept).cast("I"), 0x110000]
    gaps = [(a + 1, b - 1) for a, b in zip(kept, kept[1:]) if b - a > 1]
    halves = [half for first, last in gaps for half in ((first, min(last, 0xD7FF)), (max(first, 0xE000), last))]
    return tuple((first, last) for first, last in halves if first <= last)


def later_ranges(name, rows):
    """The ranges of ROWS, those of the category NAME, "l" or "lu", that Unicode 14 does not have in it; None for other
    properties, and for one that has lost a character."""
    old = {c for c in ALL if unicodedata.category(chr(c)).lower().startswith(name)} if len(name) <= 2 else set()
    new = {c for first, last in rows for c in range(first, last + 1)}
    return [(first, last) for first, last, _ in ranges(lambda c: int(c in new - old))] if old and old <= new else None


def write_properties():
    """The properties that patterns may name, in the order of their names: lower case, without '_', '-' and ' '."""
    with open("lib/core/tokenizer/unicode/tables/properties.bin", "rb") as file:
        names = {name.rstrip(b"\0").decode(): is_script for name, _, _, is_script, *_ in struct.iter_unpack(ROW, file.read())}
    names.update((name, 1) for name in LATER)
    found, properties, places = [], [], {}  # several names may have the same ranges
    for name in sorted(names):
        rows = removed_ranges(rf"\p{{{name}}}")
        later = later_ranges(name, rows)
        if rows not in places:
            places[rows] = (len(found), len(found) + len(rows))
            found += rows
        begin = len(found)
        found += later or []
        properties.append((name.encode(), *places[rows], names[name], later is not None, begin, len(found)))
    write_table("properties", ROW[1:], properties)
    write_table("property_ranges", "II", found)


# BERT's ideographs, without 2B820..2B91F.
IDEOGRAPHS = [(0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF),
              (0x2A700, 0x2B81F), (0x2B920, 0x2CEAF), (0x2F800, 0x2FA1F)]


def write_classes():
    """In the order of enum attn_character_class."""
    clean = {"clean_text": True, "strip_accents": False}
    strip = {"clean_text": False, "strip_accents": True}
    rest = {"handle_chinese_chars": False, "lowercase": False}
    split = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    removed = [normalizers.BertNormalizer(**clean, **rest), normalizers.BertNormalizer(**strip, **rest),
               normalizers.StripAccents()]
    tests = [lambda c, n=n: n.normalize_str(chr(c)) == "" for n in removed]
    tests.append(lambda c: len(split(f"a{chr(c)}b")) == 3)
    tests.append(lambda c: any(first <= c <= last for first, last in IDEOGRAPHS))
    by_space, nmt = pre_tokenizers.WhitespaceSplit().pre_tokenize_str, normalizers.Nmt().normalize_str
    tests.append(lambda c: len(by_space(f"a{chr(c)}b")) == 2)
    tests.append(lambda c: chr(c).isspace())
    tests.append(lambda c: nmt(chr(c)) == "")
    tests.append(lambda c: nmt(chr(c)) == " " != chr(c))
    write_table("character_classes", "III",
                ranges(lambda c: sum(test(c) << i for i, test in enumerate(tests))))


def write_scripts():
    """The value is the number of a script, in the order of first characters. The others belong to any script."""
    pieces = pre_tokenizers.UnicodeScripts().pre_tokenize_str
    firsts, last = [], 0

    def joins(before, c):
        return len(pieces(before + chr(c))) == 1

    def script(c):
        nonlocal last
        if joins("a", c) and joins("\u4e00", c):
            return 0
        if last == 0 or not joins(firsts[last - 1], c):
            last = next((i for i, first in enumerate(firsts, 1) if joins(first, c)), len(firsts) + 1)
        if last > len(firsts):
            firsts.append(chr(c))
        return last

    write_table("scripts", "III", ranges(script))


# --- lib/ground/base/text/utf8.c --------------------------------------------------------------------------

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
                "lib/ground/base/text/unicode")
    write_table("punctuation", "III", [(first, last, 1) for first, last in punctuation],
                "lib/ground/base/text/unicode")


if sys.argv[1:] == ["--widths"]:
    write_widths()
else:
    import tokenizers
    from tokenizers import Regex, normalizers, pre_tokenizers
    if not tokenizers.__version__.startswith(SOURCE):
        sys.exit(f"tokenizers is {tokenizers.__version__}, expected {SOURCE}*")
    for write in (write_normal_forms, write_lowercase, write_properties, write_classes, write_scripts):
        write()
