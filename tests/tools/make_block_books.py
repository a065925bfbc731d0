#!/usr/bin/env python3
"""Prints lib/core/kernels/block_books.c: the books of GGUF's types IQ1, IQ2 and IQ3, which are part of
the format, from those of the package gguf (0.19): tests/tools/make_block_books.py > lib/core/kernels/block_books.c

Each value of a point is one of 3 levels, or of 8: its number among them is a digit."""
import numpy
from gguf import quants

FIRST, PAGE, WIDTH = ord("#"), 256, 93


def digits(kind):
    kind.init_grid()
    grid = kind.grid.reshape(kind.grid_shape)
    return numpy.searchsorted(numpy.unique(grid), grid), len(kind.grid_map)


def characters(points, base):
    """Two for each point: half of the digits, the first the lowest."""
    halves = points.reshape(len(points), 2, -1)
    return bytes((FIRST + halves @ base ** numpy.arange(halves.shape[2])).astype(numpy.uint8).ravel())


def literals(text):
    """Strings in C, a line each; no ?? in them, which begins a trigraph."""
    lines = [""]
    for c in text.decode().replace("\\", "\\\\").replace("??", "?\\?").replace("??", "?\\?"):
        if len(lines[-1]) >= WIDTH and lines[-1][-1] != "\\":
            lines.append("")
        lines[-1] += c
    return [f'"{line}"' for line in lines]


print("""/*
 * block_books.c - see block_books.h. Written by tests/tools/make_block_books.py from the package
 * gguf 0.19.
 */
/* clang-format off */
#include "kernels/block_books.h"
""")
for name, kind in [("iq1", quants.IQ1_S), ("iq2_s", quants.IQ2_S), ("iq2_xs", quants.IQ2_XS),
                   ("iq2_xxs", quants.IQ2_XXS), ("iq3_s", quants.IQ3_S), ("iq3_xxs", quants.IQ3_XXS)]:
    points, base = digits(kind)
    text = characters(points, base)
    print(f"const attn_book_page attn_book_{name}[{len(points) // PAGE}] = {{")
    for page in range(0, len(text), 2 * PAGE):
        print("    " + "\n    ".join(literals(text[page : page + 2 * PAGE])) + ",")
    print("};")
