"""What questions take, as the library tells it (frame/question.h): values of Python into structs of C."""
from __future__ import annotations

import keyword
from ctypes import c_char, c_size_t, string_at
from typing import Any, Iterator

from . import binding as c
from .errors import InvalidError
from .library import call, interruptible, lib
from .params import default_of, fill, fill_id
from .values import whole


def _rows() -> Iterator[tuple[str, c.attn_question]]:
    """The questions that take arguments, by their names."""
    i = 0
    while row := lib.attn_question_at(i):
        if row.contents.n_part:
            yield row.contents.name.decode(), row.contents
        i += 1


ROWS: dict[str, c.attn_question] = dict(_rows())


def all_of(row: c.attn_question) -> Iterator[tuple[c.attn_param, int]]:
    """The parameters of ROW, each with the offset of its struct."""
    for part in row.parts[:row.n_part]:
        for param in part.list.contents.items[:part.list.contents.n]:
            yield param, part.offset


def parameters(row: c.attn_question) -> list[tuple[str, c.attn_param, int]]:
    """The parameters of ROW by their keywords, each with the offset of its struct."""
    found = []
    for param, offset in all_of(row):
        name = param.name.decode()
        if not param.traits & c.ATTN_PARAM_NO_KEYWORD and param.type != c.ATTN_PARAM_ID:
            found.append((name + "_" if keyword.iskeyword(name) else name, param, offset))
    return found


def of_request(row: c.attn_question) -> list[str]:
    """Those that are about the request."""
    return [name for name, param, _ in parameters(row) if param.home == c.ATTN_PARAM_OF_REQUEST]


def _is_given(param: c.attn_param | None, value) -> bool:
    if value is None or value is False or param is None and isinstance(value, int) and value == 0:
        return False
    if param is None or not isinstance(value, (str, int, float)):
        return True
    return value != default_of(param)


def check(row: c.attn_question, given: dict[str, Any]) -> None:
    """Refuses what is GIVEN of ROW and does not go together: TypeError."""
    by_name = {param.name.decode(): param for _, param, _ in parameters(row)}

    @c.attn_param_given_fn
    def is_given(_user, text):
        name, _, wanted = text.decode().partition(":")
        value = True if name == "keywords" else given.get(name, given.get(name + "_"))
        is_wanted = not wanted or str(value).partition(":")[0] == wanted
        return is_wanted and _is_given(by_name.get(name), value)

    try:
        # In the main thread a callback would lose KeyboardInterrupt.
        interruptible(lambda: call("attn_question_check", row, is_given, None))
    except InvalidError as problem:
        raise TypeError(problem.message.replace("`", "")) from None


def arguments(row: c.attn_question, given: dict[str, Any], keep: list):
    """The struct of arguments of ROW, filled with what is GIVEN; those about the request are left out. Bytes without names if no
    header declares it."""
    kind = getattr(c, f"attn_{row.name.decode()}_args", c_char * row.args_size)
    args = kind.from_buffer_copy(string_at(row.defaults, row.args_size))
    ids = {param.name.decode(): param for param, _ in all_of(row) if param.type == c.ATTN_PARAM_ID}
    for name, param, at in parameters(row):
        value = given.get(name)
        if param.home != c.ATTN_PARAM_OF_ARGS or value is None or value is False:
            continue
        default = default_of(param)
        if type(value) is type(default) and value == default:
            continue
        if name == "limit" and whole(value, name) == 0:  # all
            c_size_t.from_buffer(args, at + param.offset).value = 2**64 - 1
        elif name + "_id" in ids and not isinstance(value, str):
            fill_id(args, at, ids[name + "_id"], name, value, keep)
        else:
            fill(args, at, param, name, value, keep)
    return args
