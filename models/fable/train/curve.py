#!/usr/bin/env python3
"""Draw the log of a training run as SVG: the loss, and the accuracy on small probes, against
tokens.

    python3 models/fable/train/curve.py models/fable/train/loss.csv > models/fable/train/loss.svg

Only the standard library is used.
"""

import csv
import sys

WIDTH, HEIGHT, LEFT, TOP = 720, 220, 50, 24
CURVES = [
    ("agreement2", "#0072b2"),
    ("sensebank", "#009e73"),
    ("indirect_objectfirst", "#e69f00"),
    ("coreferencegiving", "#cc79a7"),
    ("induction_top1", "#d55e00"),
]


def line(points, color):
    return (
        f'<polyline fill="none" stroke="{color}" stroke-width="1.5" points="'
        + " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        + '"/>'
    )


def text(x, y, words, anchor="start", color="#333"):
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" fill="{color}">{words}</text>'


def panel(rows, top, low, high, marks, curves):
    """Axes and curves of columns of the log, between the values low and high."""
    last = float(rows[-1]["tokens"])

    def place(row, column):
        part = (float(row[column]) - low) / (high - low)
        return LEFT + WIDTH * float(row["tokens"]) / last, top + HEIGHT * (1 - min(1.0, part))

    shapes = [
        f'<rect x="{LEFT}" y="{top}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#999"/>'
    ]
    for mark in marks:
        y = top + HEIGHT * (1 - (mark - low) / (high - low))
        shapes += [
            f'<path d="M{LEFT} {y:.1f}h{WIDTH}" stroke="#ddd"/>',
            text(LEFT - 6, y + 4, f"{mark:g}", "end"),
        ]
    for million in range(0, int(last / 1e6) + 1, 5):
        shapes.append(
            text(LEFT + WIDTH * million * 1e6 / last, top + HEIGHT + 16, f"{million} M", "middle")
        )
    for i, (column, color) in enumerate(curves):
        shapes += [
            line([place(row, column) for row in rows], color),
            text(LEFT + 4 + 145 * i, top - 7, column, color=color),
        ]
    return shapes


def main():
    with open(sys.argv[1], encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    second = TOP + HEIGHT + 56
    shapes = panel(rows, TOP, 1.0, 4.5, [1, 1.5, 2, 3, 4], [("loss", "#000")])
    shapes += panel(rows, second, 0.0, 1.0, [0, 0.5, 0.9, 1], CURVES)
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH + LEFT + 20} {second + HEIGHT + 28}" '
        f'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="#fff"/>'
    )
    print("\n".join(shapes))
    print("</svg>")


if __name__ == "__main__":
    main()
