#!/usr/bin/env python3
"""draw_terminal.py - draws the gallery's terminal screen: a command, and what it prints with colors, as SVG.

    draw_terminal.py COMMAND >data/pictures/terminal.svg

The command sees a terminal of 80 columns that has 256 colors. Only the standard library is used.
"""
import html
import os
import re
import subprocess
import sys

COLUMNS, WIDTH, HEIGHT, PAD = 80, 8.4, 18, 14  # pixels of a column and a line
PAPER, INK = "#16181d", "#e6e6e6"


def color_of(index):
    """One of the 256 colors of a terminal: 16 names, a cube of 6 x 6 x 6, 24 greys."""
    names = ["#000000", "#cd3131", "#0dbc79", "#e5e510", "#2472c8", "#bc3fbc", "#11a8cd", "#e5e5e5"]
    if index < 16:
        return names[index % 8]
    if index >= 232:
        return "#" + 3 * f"{8 + 10 * (index - 232):02x}"
    digits = (index - 16) // 36, (index - 16) // 6 % 6, (index - 16) % 6
    return "#" + "".join(f"{0 if digit == 0 else 55 + 40 * digit:02x}" for digit in digits)


def read_cells(line):
    """The characters of a line, each with its color, the color behind it, and whether it is bold."""
    style, cells = [None, None, False], []
    for escape, text in re.findall(r"\x1b\[([0-9;]*)m|([^\x1b])", line):
        codes = [int(code or 0) for code in escape.split(";")] if not text else []
        while codes:
            code = codes.pop(0)
            if code in (38, 48):
                style[code == 48] = color_of(codes[1])
                codes = codes[2:]
            elif code in (0, 1, 39, 49):
                style = [None, None, False] if code == 0 else [style[0] if code != 39 else None, style[1] if code != 49 else None,
                                                              style[2] or code == 1]
        if text:
            cells.append((text, *style))
    return cells


def draw(lines):
    height = len(lines) * HEIGHT + 2 * PAD
    width = COLUMNS * WIDTH + 2 * PAD
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height}" viewBox="0 0 {width:g} {height}" '
          f'font-family="ui-monospace, DejaVu Sans Mono, monospace" font-size="14" fill="{INK}">')
    print(f'<style>text {{ white-space: pre }}</style><rect width="100%" height="100%" rx="8" fill="{PAPER}"/>')
    for row, line in enumerate(lines):
        y = PAD + row * HEIGHT
        cells = read_cells(line)
        begin = 0
        while begin < len(cells):  # runs of one style
            end = begin
            while end < len(cells) and cells[end][1:] == cells[begin][1:]:
                end += 1
            _, ink, paper, bold = cells[begin]
            text = "".join(cell[0] for cell in cells[begin:end])
            x, length = PAD + begin * WIDTH, (end - begin) * WIDTH
            if paper:
                print(f'<rect x="{x:g}" y="{y}" width="{length:g}" height="{HEIGHT}" fill="{paper}"/>')
            if text.strip():
                print(f'<text x="{x:g}" y="{y + 13.5}" textLength="{length:g}" lengthAdjust="spacingAndGlyphs"'
                      f'{f" fill={chr(34)}{ink}{chr(34)}" if ink else ""}{" font-weight=" + chr(34) + "bold" + chr(34) if bold else ""}>'
                      f'{html.escape(text)}</text>')
            begin = end
    print("</svg>")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    seen = subprocess.run(["script", "-qec", f"stty cols {COLUMNS} rows 40; {sys.argv[1]} </dev/null", "/dev/null"], stdout=subprocess.PIPE,
                          check=True, env={"PATH": os.environ["PATH"], "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"})
    draw([f"\x1b[1m$ {sys.argv[1]}\x1b[0m", *seen.stdout.decode().replace("\r", "").rstrip("\n").split("\n")])


if __name__ == "__main__":
    main()
