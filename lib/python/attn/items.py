"""Items of a study: each a text, or a pair, with what is asked of it and labels."""
from __future__ import annotations

import json
import os
from ctypes import POINTER, byref, c_int, c_void_p, string_at
from typing import Any

import numpy as np

from . import binding as c
from .asking import check, parameters
from .errors import Error, Note
from .library import call, default, lib, path_bytes, warn
from .params import fill, inputs_of
from .values import PARTS, listed, whole

ROW = lib.attn_question_find(b"items").contents
_PARAMS = {name: (param, at) for name, param, at in parameters(ROW)}
OPTIONS = tuple(_PARAMS)
# Where pandas made 3.0 of 3, because other items have none.
_WHOLE = ("id", "target", "foil", "at", "from", "to", "queries")


class Study:
    """The items that a question is asked about, and a struct attn_study_args for them."""

    def __init__(self, host, given: dict):
        self.sum, self.done, self.items = default(c.attn_study_sum), c.attn_each_result(), c_void_p()
        self.keep: list = []
        self.asked = c.attn_items_args.from_buffer_copy(string_at(ROW.defaults, ROW.args_size))
        for name, value in given.items():
            if name != "items" and value is not None:
                if name == "shard":
                    value = "%d/%d" % shard_of(value)
                elif name == "each":
                    value = path_bytes(value, name)
                fill(self.asked, _PARAMS[name][1], _PARAMS[name][0], name, value, self.keep)
        self.args, options, each = self.asked.study, self.asked.items, self.asked.each
        self.args.sum = POINTER(c.attn_study_sum)(self.sum)
        options.cancel = POINTER(c_int)(host.cancel)
        items = given["items"]
        if isinstance(items, (str, bytes, os.PathLike)):
            options.path = path_bytes(items, "items")
        elif options.form != c.ATTN_ITEMS_BY_NAME:
            raise TypeError("items_format needs items of a file")
        elif _have_pixels(items):
            options.inputs, options.n_input = inputs_of(items, "items", self.keep)
        else:
            data = self.data = _json_lines(items)
            options.path, options.form = b"items", c.ATTN_ITEMS_JSON_LINES
            options.data, options.n_data = data, len(data)
        if each.path:
            each.result = POINTER(c.attn_each_result)(self.done)
            self.args.each = POINTER(c.attn_each_options)(each)
        call("attn_items_open", byref(options), byref(self.items))
        self.args.items = self.items

    def info(self) -> dict[str, Any]:
        """What was found beside the table."""
        found = self.sum
        info = {name: getattr(found, name) for name in ("n_item", "n_failed", "n_group", "n_pair")}
        if found.metric:
            info.update(metric=found.metric.decode(), mean=found.mean, se=found.se, right=found.right)
        if self.args.each:
            info.update(n_before=self.done.n_before, is_complete=self.done.is_complete)
        return info

    def warn(self, notes: list[Note]) -> None:
        """Says that items failed, and why the first of them did."""
        if self.sum.n_failed:
            warn(f"{self.sum.n_failed} of {self.sum.n_item} items failed: {_first_failure(notes)}", "item_failed")

    def failure(self, problem: Error, notes: list[Note]) -> Error:
        """PROBLEM, which ended it, with why the first item failed, and where it can go on."""
        where = f"resume continues at item {max(self.done.n_item - 1, 0)}" if self.done.can_resume else ""
        hints = [_first_failure(notes), problem.hint or where]
        return type(problem)(problem.message, problem.stage, "; ".join(hint for hint in hints if hint))

    def __del__(self):
        lib.attn_items_free(getattr(self, "items", None))


def shard_of(shard) -> tuple[int, int]:
    if not isinstance(shard, (tuple, list)) or len(shard) != 2:
        raise TypeError(f"shard is {shard!r}, expected (i, n) with 0 <= i < n")
    i, n = (whole(part, "shard") for part in shard)
    if i >= n:
        raise ValueError(f"shard is {shard!r}, expected (i, n) with 0 <= i < n")
    return i, n


def _first_failure(notes: list[Note]) -> str:
    return next((note for note in notes if note.code == "item_failed"), "")


def study_of(host, options: dict, asked: dict | None = None) -> Study | None:
    """Takes what is about items out of OPTIONS; None when there are none. A file of rows is continued with equal ASKED alone."""
    given = {name: options.pop(name) for name in OPTIONS if name in options}
    check(ROW, dict(given, max_errors=given.get("max_errors") is not None))  # 0, too
    if given.get("items") is None:
        return None
    study = Study(host, given)
    rest = {**options, **(asked or {}), **{name: given.get(name) for name in ("items_format", "marks", "shard")}}
    study.key = json.dumps(rest, default=lambda value: type(value).__name__, sort_keys=True).encode()
    study.asked.each.key = study.key
    return study


# --- Items as JSON Lines --------------------------------------------------------------------------


def _have_pixels(items) -> bool:
    """Whether one of a list of dicts has a picture in memory, which JSON has no word for."""
    found = isinstance(items, (list, tuple)) and any(
        isinstance(item, dict) and not isinstance(item.get("image"), (str, os.PathLike, type(None))) for item in items)
    others = sorted({key for item in items for key in item} - {"image", "text", "ids", "continuation", *PARTS}) if found else []
    if others:
        raise TypeError(f"items have pictures in memory and '{others[0]}', expected paths of pictures beside other keys")
    return found


def _json_lines(items) -> bytes:
    """A list of texts or dicts, or a frame of pandas, polars or pyarrow."""
    for method, arguments in (("to_dicts", ()), ("to_pylist", ()), ("to_dict", ("records",))):
        if hasattr(items, method) and hasattr(items, "columns"):
            if method == "to_dict" and not hasattr(items, "dtypes"):
                continue  # a table of this module: it gives its rows
            items = getattr(items, method)(*arguments)
            break
    if isinstance(items, dict):
        raise TypeError("items is a dict, expected a list of texts or dicts, one an item")
    lines = []
    for number, item in enumerate(listed(items, "items", "a list of texts or dicts, one an item")):
        if isinstance(item, str):
            item = {"text": item}
        if not isinstance(item, dict):
            raise TypeError(f"item {number} is {type(item).__name__}, expected a text or a dict, as {{'text': 'The keys'}}")
        plain = {_key(key, number): _plain(value, key, number) for key, value in item.items()}
        lines.append(json.dumps({key: value for key, value in plain.items() if value is not None}))
    return "".join(line + "\n" for line in lines).encode()


def _key(key, number: int) -> str:
    if not isinstance(key, str):
        raise TypeError(f"item {number} has the key {key!r}, expected text")
    return key


def _plain(value, key: str, number: int):
    """VALUE as JSON has it; None for what is missing: NaN, NA and NaT, too."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    elif isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        if value != value:
            return None
        return int(value) if key in _WHOLE and value.is_integer() else value
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (list, tuple)):
        return [_plain(part, key, number) for part in value]
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if hasattr(value, "isoformat"):
        return value.isoformat()
    raise TypeError(f"item {number} has {type(value).__name__} under '{key}', expected text, a number, True or False")
