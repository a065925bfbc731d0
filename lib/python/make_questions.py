#!/usr/bin/env python3
"""Makes attn/questions.py, the methods that ask questions, from the questions of the library (frame/question.h).

    lib/python/make_questions.py            writes it
    lib/python/make_questions.py --check    says whether it is what would be written

Run from the root of the repository, after make_binding.py and `make` (`make binding`).
"""
import os
import re
import sys
import textwrap
import types

sys.path.insert(0, "lib/python")
# The package imports the methods that this script writes: an empty module stands in for an old or missing file.
sys.modules["attn.questions"] = empty = types.ModuleType("attn.questions")
empty.__getattr__ = lambda name: object  # type: ignore[method-assign]

from attn import binding as c  # noqa: E402
from attn.asking import ROWS, parameters  # noqa: E402
from attn.items import OPTIONS  # noqa: E402
from attn.params import default_of, words_of  # noqa: E402

FILE = "lib/python/attn/questions.py"
BY_HAND = ("generate",)  # in procedures.py: it returns no table, and calls a function for each token
RETURNS = {"align": "Table | list[dict]"}
HEAD = '''"""Questions about a model: methods of Model that return a Table. Made by lib/python/make_questions.py: do not edit."""
from __future__ import annotations

from typing import TYPE_CHECKING

from .procedures import ask
from .table import Table

if TYPE_CHECKING:
    from .model import Model
'''
CLASS = '''


class Questions:
    """What a model is asked."""

'''
TYPES = {c.ATTN_PARAM_FLAG: "bool", c.ATTN_PARAM_COUNT: "int", c.ATTN_PARAM_SEED: "int", c.ATTN_PARAM_REAL: "float",
         c.ATTN_PARAM_CHOICE: "str", c.ATTN_PARAM_SWITCH: "str", c.ATTN_PARAM_METHOD: "str", c.ATTN_PARAM_SEEDED: "int"}
OTHERS = {"options": "those of Model.run about input, attention and interventions; items, a path, texts, dicts or a frame, with " +
                     ", ".join(OPTIONS[1:])}

ORDER = {"sort": "sort by this column, the largest first, as Table.sort does",
         "limit": "so many rows, of each group; 0: all; default: all, of cells and of heads by token the 20 largest",
         "where": "only the rows with these values, as {'layer': 2}; Table.where does the same",
         "columns": "only these columns, in this order; Table.select does the same"}


def declared(name, param):
    """The argument of a method: "top: int = 0"."""
    kind, default = TYPES.get(param.type), default_of(param)
    if param.type == c.ATTN_PARAM_OWN and param.words:
        kind = "str" if isinstance(default, str) else "bool | int | str"
    if kind is None:
        return f"{name}={default!r}"
    text = f"{name}: {kind}{' | None' if default is None else ''} = {default!r}"
    return text.replace("'", '"').replace(" ", "~")  # not broken


def plain(text):
    """TEXT with names of Python in place of those in backquotes."""
    return re.sub(r"`(with|from)(?=[ `])", r"`\1_", " ".join(text.split()))


def wrapped(text, indent, first=""):
    return textwrap.fill(plain(text), 120, initial_indent=first or indent, subsequent_indent=indent,
                         break_long_words=False, break_on_hyphens=False).replace("~", " ")


def method(name):
    row = ROWS[name]
    inputs = row.inputs.decode().split("|") if row.inputs else ["text"]
    others = [(own, param) for own, param, _ in parameters(row) if own not in inputs]
    names = ["self: Model"] + [f"{one}=None" for one in inputs] + ["*"]
    names += [declared(own, param) for own, param in others if own not in ORDER]
    names += ["sort: str | None = None".replace(" ", "~"), "limit: int | None = None".replace(" ", "~"), "where: dict | None = None".replace(" ", "~"), "columns=None"]
    head = wrapped(", ".join(names + ["**options"]) + f")~->~{RETURNS.get(name, 'Table').replace(' ', '~')}:", " " * (5 + len(name)), f"def {name}(")
    summary = row.summary.decode()
    lines = ["", "", head, f'    """{summary[0].upper()}{summary[1:]}.', ""]
    for paragraph in row.description.decode().strip().split("\n\n"):
        lines += [wrapped(paragraph, "    "), ""]
    helps = []
    for own, param in others:
        if own in ORDER:
            continue
        has_words = param.type in (c.ATTN_PARAM_CHOICE, c.ATTN_PARAM_SWITCH)
        words = f" ({', '.join(words_of(param))})" if has_words else ""
        helps.append((own, param.help.decode().replace("a file of texts, one per line", "a list of texts") + words))
    for own, text in helps + list(ORDER.items()) + [("options", OTHERS["options"])]:
        lines.append(wrapped(text, " " * 16, f"    {own:11} "))
    return "\n".join(lines + ['    """', f'    return ask("{name}", self, {inputs[0]}, locals())'])


def main():
    names = [name for name in sorted(ROWS) if name not in BY_HAND]
    methods = CLASS + "".join(f"    {name} = {name}\n" for name in names)
    made = HEAD + "\n".join(map(method, names)) + methods
    old = open(FILE).read() if os.path.exists(FILE) else None
    if "--check" in sys.argv:
        if old != made:
            print(f"{FILE}: is not what the questions say; make binding writes it")
        return int(old != made)
    if old != made:
        with open(FILE, "w") as file:
            file.write(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
