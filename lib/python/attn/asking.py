"""What questions take, as the library tells it (study/question.h): values of Python into structs of C."""
from __future__ import annotations

import keyword
from ctypes import (Structure, addressof, c_bool, c_char, c_char_p, c_double, c_int, c_int32, c_size_t, c_uint64, c_void_p,
                    string_at)
from typing import Any, Iterator

from . import binding as c
from .errors import InvalidError
from .library import call, lib, path_bytes, terminated
from .request import (PARTS, choice, fill_image, fill_input, fill_pair, flag, listed, ndarray, real, spec, texts, whole,
                      with_points)


def _rows() -> Iterator[tuple[str, c.attn_question]]:
    """The questions that take arguments, by their names."""
    i = 0
    while row := lib.attn_question_at(i):
        if row.contents.n_part:
            yield row.contents.name.decode(), row.contents
        i += 1


ROWS: dict[str, c.attn_question] = dict(_rows())

_OLDER = {("direction", "denoise"): "restore"}  # words of older versions
_NUMBERS = (c.ATTN_PARAM_COUNT, c.ATTN_PARAM_SEED, c.ATTN_PARAM_REAL)
_WORDS = (c.ATTN_PARAM_CHOICE, c.ATTN_PARAM_SWITCH, c.ATTN_PARAM_METHOD)


def words_of(param: c.attn_param) -> dict[str, int]:
    """The words of PARAM and their values."""
    words = param.words.decode().split("|") if param.words else []
    return {word: param.values[i] if param.values else i for i, word in enumerate(words)}


def default_of(param: c.attn_param):
    """What stands in a signature: a value that changes nothing."""
    words = words_of(param)
    if param.type == c.ATTN_PARAM_FLAG or param.type == c.ATTN_PARAM_OWN and len(words) == 1:
        return False
    if param.type == c.ATTN_PARAM_METHOD:
        return next((word for word, value in words.items() if value == 0), None)
    if words:
        return next(iter(words))
    return 0 if param.type in _NUMBERS or param.type == c.ATTN_PARAM_SEEDED and param.least > 0 else None


def _all(row: c.attn_question) -> Iterator[tuple[c.attn_param, int]]:
    for part in row.parts[:row.n_part]:
        for param in part.list.contents.items[:part.list.contents.n]:
            yield param, part.offset


def parameters(row: c.attn_question) -> list[tuple[str, c.attn_param, int]]:
    """The parameters of ROW by their keywords, each with the offset of its struct."""
    found = []
    for param, offset in _all(row):
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
        call("attn_question_check", row, is_given, None)
    except InvalidError as problem:
        raise TypeError(problem.message.replace("`", "")) from None


def inputs_of(values, what: str, keep: list):
    """Many texts, or dicts with `text`, `ids` or `image` and what goes with these."""
    if isinstance(values, (str, bytes, dict)):
        raise TypeError(f"{what} is one text, expected a list of texts")
    items = listed(values, what, "a list of texts")
    if not items:
        raise ValueError(f"{what} is empty")
    array = (c.attn_input * len(items))()
    for item, value in zip(array, items):
        given = value if isinstance(value, dict) else {"text": value}
        text = given.get("text", given.get("ids"))
        if text is None and given.get("image") is not None:
            fill_image(item, given["image"], what, keep)
        else:
            fill_input(item, text, what, keep)
        if given.get("source") is not None:
            raise ValueError(f"{what} holds a `source`, expected one for all")
        fill_pair(item, c.attn_input(), keep, **{name: given.get(name) for name in PARTS})
    keep.append(array)
    return array, len(items)


def _named(args: Structure, at: int, values, name: str, keep: list):
    """An array of the structs that the field AT of ARGS points to: a dict of VALUES by names, or a list of them."""
    field, pointer = next(found[:2] for found in args._fields_ if getattr(type(args), found[0]).offset == at)
    kind = pointer._type_
    value_of = kind._fields_[0][0] if kind._fields_[0][0] != "name" else kind._fields_[1][0]
    if field == "places" and not hasattr(values, "items"):
        raise TypeError(f"{name} is {values!r}, expected a dict, as {{'subject': 'keys', 'end': -1}}")
    values = [values] if isinstance(values, str) else values
    named = values.items() if hasattr(values, "items") else [(None, value) for value in listed(values, name, "text, a dict or a list")]
    items = [kind(**{value_of: spec(value, name), "name": key and terminated(key, name)}) for key, value in named]
    keep.append((kind * len(items))(*items))
    return keep[-1], len(items)


def _own(param: c.attn_param, args: Structure, at: int, name: str, value) -> None:
    """A parameter that the library reads from text: a word or a number may stand for the first word and its number."""
    words = list(words_of(param))
    if len(words) == 1 and not isinstance(value, str):  # True, or a number
        value = words[0] if value is True else f"{words[0]}:{whole(value, name, 1)}"
    text = value if isinstance(value, str) else (spec(value, name) or b"").decode()
    if f"{text}:SEED" in (param.argument or b"").decode().split("|"):
        text += ":0"
    call("attn_param_set", param, c_void_p(addressof(args) + at), name.encode(), terminated(text, name))


def _fill(args: Structure, at: int, param: c.attn_param, name: str, value, keep: list) -> None:
    """Sets PARAM in the struct that lies at AT in ARGS to VALUE."""
    def put(kind, value, offset=param.offset):
        kind.from_buffer(args, at + offset).value = value

    def put_array(array, n):
        keep.append(array)
        put(c_size_t, addressof(array))
        put(c_size_t, n, param.second)

    kind, words, most = param.type, words_of(param), param.most or 2**63 - 1
    least = 0 if default_of(param) == 0 else param.least  # 0 is what was not given
    value = _OLDER.get((name, value), value) if isinstance(value, str) else value
    if kind == c.ATTN_PARAM_FLAG:
        put(c_bool, flag(value, name))
    elif kind == c.ATTN_PARAM_COUNT:
        put(c_size_t, whole(value, name, least, most))
    elif kind == c.ATTN_PARAM_SEED:
        put(c_uint64, whole(value, name, least, most))
    elif kind == c.ATTN_PARAM_REAL:
        put(c_double, real(value, name))
    elif kind == c.ATTN_PARAM_CHOICE:
        put(c_int, choice(value, words, name))
    elif kind == c.ATTN_PARAM_SWITCH:
        put(c_bool, choice(value, words, name) == 1)
    elif kind == c.ATTN_PARAM_METHOD:
        word, n = with_points(value, words, name)
        put(c_int, word)
        put(c_size_t, n, param.second)
    elif kind == c.ATTN_PARAM_SEEDED:
        put(c_size_t, whole(value, name, least, most))
    elif kind == c.ATTN_PARAM_TEXTS:
        put_array(*texts(value, name, keep))
    elif kind in (c.ATTN_PARAM_NAMED, c.ATTN_PARAM_PLACES):
        put_array(*_named(args, at + param.offset, value, name, keep))
    elif kind == c.ATTN_PARAM_OWN:
        _own(param, args, at, name, value)
    elif kind == c.ATTN_PARAM_INPUT:
        fill_input(c.attn_input.from_buffer(args, at + param.offset), value, name, keep)
    elif kind == c.ATTN_PARAM_IMAGE:
        fill_image(c.attn_input.from_buffer(args, at + param.offset), value, name, keep)
    elif kind == c.ATTN_PARAM_INPUTS:
        put_array(*inputs_of(value, name, keep))
    elif kind == c.ATTN_PARAM_ARRAY:
        put(c_size_t, addressof(ndarray(value, name, (param.least,), "[T, T]", keep)))
    else:
        text = (spec(value, name) if kind == c.ATTN_PARAM_LIST else
                terminated(value, name) if isinstance(value, str) else path_bytes(value, name))
        keep.append(text)
        put(c_char_p, text)


def fill(struct: Structure, list_name: str, given: dict[str, Any], keep: list) -> None:
    """Takes what a list of parameters of requests has out of GIVEN, and sets it in STRUCT."""
    params = lib.attn_request_params_find(list_name.encode()).contents
    for param in params.items[:params.n]:
        name = param.name.decode()
        value = None if param.traits & c.ATTN_PARAM_NO_KEYWORD else given.pop(name, None)
        if value is not None:
            _fill(struct, 0, param, name, value, keep)


def arguments(row: c.attn_question, given: dict[str, Any], keep: list):
    """The struct of arguments of ROW, filled with what is GIVEN; those about the request are left out. Bytes without names if no
    header declares it."""
    name = "survey" if row.name == b"heads" else row.name.decode()
    kind = getattr(c, f"attn_{name}_args", c_char * row.args_size)
    args = kind.from_buffer_copy(string_at(row.defaults, row.args_size))
    ids = {param.name.decode(): param for param, _ in _all(row) if param.type == c.ATTN_PARAM_ID}
    for name, param, at in parameters(row):
        value = given.get(name)
        if param.home != c.ATTN_PARAM_OF_ARGS or value is None or value is False:
            continue
        if name + "_id" in ids and not isinstance(value, str):
            keep.append(c_int32(whole(value, name, 0, 2**31 - 1)))
            c_size_t.from_buffer(args, at + ids[name + "_id"].offset).value = addressof(keep[-1])
        else:
            _fill(args, at, param, name, value, keep)
    return args
