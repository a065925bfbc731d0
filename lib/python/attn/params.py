"""Parameters of the library (params/param.h): values of Python into structs of C."""
from __future__ import annotations

import os
from ctypes import Structure, addressof, c_bool, c_char_p, c_double, c_int, c_int32, c_size_t, c_uint, c_uint64, c_void_p
from typing import Any, Iterable

from . import binding as c
from .library import call, lib, path_bytes, terminated
from .values import (PARTS, choice, fill_continuation, fill_image, fill_input, fill_pair, flag, listed, mask_array, ndarray, real, spec, texts,
                     whole, with_points)

_NUMBERS = (c.ATTN_PARAM_COUNT, c.ATTN_PARAM_SEED, c.ATTN_PARAM_REAL)


def words_of(param: c.attn_param) -> dict[str, int]:
    """The words of PARAM and their values."""
    words = param.words.decode().split("|") if param.words else []
    return {word: param.values[i] if param.values else i for i, word in enumerate(words)}


def default_of(param: c.attn_param):
    """What stands in a signature: a value that changes nothing."""
    words = words_of(param)
    if param.type == c.ATTN_PARAM_FLAG or param.type == c.ATTN_PARAM_OWN and len(words) == 1:
        return False
    if param.traits & c.ATTN_PARAM_HAS_ZERO:
        return None
    if param.type == c.ATTN_PARAM_METHOD:
        return next((word for word, value in words.items() if value == 0), None)
    if words:
        return next(iter(words))
    return 0 if param.type in _NUMBERS and param.least <= 0 and not param.traits & c.ATTN_PARAM_IS_OPEN else None


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
        if text is not None or given.get("image") is None:
            fill_input(item, text, what, keep)
        if given.get("image") is not None:
            fill_image(item, given["image"], what, keep)
        if given.get("continuation") is not None:
            fill_continuation(item, given["continuation"], keep)
        if given.get("source") is not None:
            raise ValueError(f"{what} holds a `source`, expected one for all")
        fill_pair(item, c.attn_input(), keep, **{name: given.get(name) for name in PARTS})
    keep.append(array)
    return array, len(items)


def _named(args: Structure, at: int, values, name: str, keep: list):
    """An array of the structs that the field AT of ARGS points to: a dict of VALUES by names, or a list of them."""
    fields: Any = args._fields_
    field, pointer = next(found[:2] for found in fields if getattr(type(args), found[0]).offset == at)
    kind = pointer._type_
    value_of = kind._fields_[0][0] if kind._fields_[0][0] != "name" else kind._fields_[1][0]
    values = [values] if isinstance(values, str) else values
    named = values.items() if hasattr(values, "items") else [(None, value) for value in listed(values, name, "text, a dict or a list")]
    items = [kind(**{value_of: dict(kind._fields_)[value_of](spec(value, name)), "name": key and terminated(key, name)})
             for key, value in named]
    keep.append((kind * len(items))(*items))
    return keep[-1], len(items)


def _places(values, name: str):
    """An array of named positions of a dict, and their number."""
    if not hasattr(values, "items"):
        raise TypeError(f"{name} is {values!r}, expected a dict, as {{'subject': 'keys', 'end': -1}}")
    places = [c.attn_item_place(name=terminated(key, name), spec=c.attn_number_list(spec(value, name))) for key, value in dict(values).items()]
    return (c.attn_item_place * len(places))(*places), len(places)


def _own(param: c.attn_param, args: Structure, at: int, name: str, value) -> None:
    """A parameter that the library reads from text: a word or a number may stand for the first word and its number."""
    words = list(words_of(param))
    if len(words) == 1 and not isinstance(value, str):  # True, or a number
        value = words[0] if value is True else f"{words[0]}:{whole(value, name, 1)}"
    text = value if isinstance(value, str) else (spec(value, name) or b"").decode()
    if f"{text}:SEED" in (param.argument or b"").decode().split("|"):
        text += ":0"
    call("attn_param_set", param, c_void_p(addressof(args) + at), name.encode(), terminated(text, name))


def fill(args: Structure, at: int, param: c.attn_param, name: str, value, keep: list) -> None:
    """Sets PARAM in the struct that lies at AT in ARGS to VALUE."""
    def put(kind, value, offset=param.offset):
        kind.from_buffer(args, at + offset).value = value

    def put_array(array, n):
        keep.append(array)
        put(c_size_t, addressof(array))
        put(c_size_t, n, param.second)

    kind, words, most = param.type, words_of(param), param.most or 2**63 - 1
    least = param.least
    if kind == c.ATTN_PARAM_FLAG:
        put(c_bool, flag(value, name))
    elif kind == c.ATTN_PARAM_COUNT:
        put(c_size_t, whole(value, name, least, most))
    elif kind == c.ATTN_PARAM_SEED:
        put(c_uint64, whole(value, name, least, most))
    elif kind == c.ATTN_PARAM_REAL:
        if real(value, name) <= least and param.traits & c.ATTN_PARAM_IS_OPEN:
            raise ValueError(f"{name} is {value}, expected above {least}")
        put(c_double, real(value, name))
    elif kind == c.ATTN_PARAM_CHOICE:
        put(c_int, words["on" if flag(value, name) else "off"] if "on" in words and not isinstance(value, str) else choice(value, words, name))
    elif kind == c.ATTN_PARAM_SWITCH:
        put(c_bool, flag(value, name) if "on" in words else choice(value, words, name))
    elif kind == c.ATTN_PARAM_METHOD:
        word, n = with_points(value, words, name)
        put(c_int, word)
        put(c_size_t, n, param.second)
    elif kind == c.ATTN_PARAM_SEEDED:
        n, seed = value if isinstance(value, tuple) and len(value) == 2 else (value, None)
        put(c_size_t, whole(n, name, least, most))
        if seed is not None:
            put(c_uint64, whole(seed, f"the seed of {name}"), param.second)
    elif kind == c.ATTN_PARAM_TEXTS:
        put_array(*texts(value, name, keep))
    elif kind == c.ATTN_PARAM_PLACES:
        put_array(*_places(value, name))
    elif kind == c.ATTN_PARAM_NAMED:
        put_array(*_named(args, at + param.offset, value, name, keep))
    elif kind == c.ATTN_PARAM_OWN:
        _own(param, args, at, name, value)
    elif kind == c.ATTN_PARAM_INPUT:
        fill_input(c.attn_input.from_buffer(args, at + param.offset), value, name, keep)
    elif kind == c.ATTN_PARAM_IMAGE:
        fill_image(c.attn_input.from_buffer(args, at + param.offset), value, name, keep)
    elif kind == c.ATTN_PARAM_IMAGES:
        fill_image(c.attn_input.from_buffer(args, at + param.offset - c.attn_input.images.offset), value, name, keep)
    elif kind == c.ATTN_PARAM_INPUTS:
        put_array(*inputs_of(value, name, keep))
    elif kind == c.ATTN_PARAM_MASK and words and isinstance(value, (str, bytes, os.PathLike)):
        keep.append(path_bytes(value, name))
        call("attn_param_set", param, c_void_p(addressof(args) + at), name.encode(), keep[-1])
    elif kind == c.ATTN_PARAM_MASK:
        put(c_size_t, addressof(mask_array(value, name, keep)))
    elif kind == c.ATTN_PARAM_ARRAY:
        put(c_size_t, addressof(ndarray(value, name, (param.least,), "[T, T]", keep)))
    elif kind == c.ATTN_PARAM_TEXT and param.second and not isinstance(value, (str, bytes, os.PathLike)):
        put(c_size_t, addressof(ndarray(value, name, (param.least,), f"a file or rank {param.least}", keep)), param.second)
    else:
        text = (spec(value, name) if kind == c.ATTN_PARAM_LIST else
                terminated(value, name) if isinstance(value, str) else path_bytes(value, name))
        keep.append(text)
        put(c_char_p, text)
    if param.mark:
        c_uint.from_buffer(args, at + param.marks).value |= param.mark


def parameters_of(*names: str) -> list[c.attn_param]:
    """Those of the lists NAMES about a request (run/run_extra.h) that are keywords."""
    lists = [lib.attn_request_params_find(name.encode()).contents for name in names]
    return [param for one in lists for param in one.items[:one.n] if not param.traits & c.ATTN_PARAM_NO_KEYWORD]


def keywords_of(params: Iterable[c.attn_param]) -> list[str]:
    """What they are called here. An id is given as the text that it is instead of."""
    return [param.name.decode() for param in params if param.type != c.ATTN_PARAM_ID]


def fill_all(args, params: Iterable[c.attn_param], given: dict[str, Any], keep: list, at: int = 0) -> None:
    """Sets PARAMS in the struct that lies at AT in ARGS to what is GIVEN."""
    ids = {param.name.decode(): param for param in params if param.type == c.ATTN_PARAM_ID}
    for param in params:
        name = param.name.decode()
        value = given.get(name)
        if value is None or param.type == c.ATTN_PARAM_ID:
            continue
        if name + "_id" in ids and not isinstance(value, str):
            fill_id(args, at, ids[name + "_id"], name, value, keep)
        else:
            fill(args, at, param, name, value, keep)


def fill_id(args, at: int, param: c.attn_param, name: str, value, keep: list) -> None:
    """Sets PARAM to the token id VALUE, which NAME has instead of a text."""
    if isinstance(value, (list, tuple)):
        raise TypeError(f"{name} is the list {value!r}, expected one text or one token id")
    keep.append(c_int32(whole(value, name, 0, 2**31 - 1)))
    c_size_t.from_buffer(args, at + param.offset).value = addressof(keep[-1])
