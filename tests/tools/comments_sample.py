#!/usr/bin/env python3
"""Prints comments of lib and cmd drawn at random, each with the code after it, to be graded by a reader.

    comments_sample.py [--lines L] SEED N [PATH...]

A comment is a block comment, or a run of // comments on lines that follow each other. Headers of files count. Comments that
only direct a tool (clang-format, NOLINT) do not. PATH, default lib and cmd, limits the draw. Equal trees, seeds and paths
give equal draws. Grade each comment as clear at once, clear at the second reading, or a riddle.
"""
import argparse
import pathlib
import random
import re

TOKEN = re.compile(
    r"""(?P<block>/\*.*?\*/)|(?P<line>//(?:\\\n|[^\n])*)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)
DIRECTIVE = re.compile(r"(/\*|//)\s*(clang-format (on|off)|NOLINT|clang-tidy)\b")


def comments(text):
    """Yields the lines, first and last and counted from 0, of each comment of TEXT."""
    run = None  # the run of // comments read so far
    for match in TOKEN.finditer(text):
        if not (match["block"] or match["line"]) or DIRECTIVE.match(match[0]):
            continue
        first = text.count("\n", 0, match.start())
        last = first + match[0].count("\n")
        begins_line = not text[text.rfind("\n", 0, match.start()) + 1:match.start()].strip()
        if run and match["line"] and begins_line and first == run[1] + 1:
            run = (run[0], last)
            continue
        if run:
            yield run
        run = (first, last)
        if match["block"]:
            yield run
            run = None
    if run:
        yield run


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=8, help="lines of code after each comment (8)")
    parser.add_argument("seed", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("paths", nargs="*", default=["lib", "cmd"])
    options = parser.parse_args()

    every = []
    for path in map(pathlib.Path, options.paths):
        for file in sorted(p for p in ([path] if path.is_file() else path.rglob("*")) if p.suffix in (".c", ".h")):
            every += [(file, *lines) for lines in comments(file.read_text())]
    drawn = random.Random(options.seed).sample(every, min(options.count, len(every)))
    print(f"{len(drawn)} of {len(every)} comments, seed {options.seed}")
    for number, (file, first, last) in enumerate(drawn, 1):
        print(f"\n=== {number}  {file}:{first + 1}")
        lines = file.read_text().split("\n")
        print("\n".join(lines[first:last + 1 + options.lines]))


if __name__ == "__main__":
    main()
