#!/usr/bin/env python3
"""Prints the range tables of lib/base/utf8.c from Python's Unicode data.

Zero columns: marks that combine with the character before them (Mn, Me) and the vowels and final
consonants of decomposed Hangul. Two columns: East_Asian_Width W and F. Unassigned characters
between two ranges are bridged, which makes the tables short and suits what later versions of
Unicode put there; whole ideographic planes are wide. Punctuation: the categories P, nothing bridged.
"""
import unicodedata

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


def ranges(belongs, bridges):
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


def print_table(name, table):
    print(f"static const struct range {name}[] = {{")
    print(", ".join(f"{{{first:#06x}, {last:#06x}}}" for first, last in table))
    print("};")


print(f"/* Unicode {unicodedata.unidata_version} */")
print_table("zero", ranges(is_zero, is_unassigned))
print_table("wide", ranges(is_wide, lambda c: is_unassigned(c) or is_zero(c)))
print_table("punctuation", ranges(lambda c: unicodedata.category(chr(c))[0] == "P", lambda c: False))
