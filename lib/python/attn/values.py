"""Values of Python as values of C: numbers, words, texts, arrays, inputs of a request."""
from __future__ import annotations

import os
from ctypes import POINTER, byref, c_char_p, c_float, c_int32, c_ubyte, cast
from typing import Any, Iterable, Sequence, Union

import numpy as np

from . import binding as c
from .library import call, lib, path_bytes, terminated, unexpected, utf8

Spec = Union[str, int, Sequence[Any], None]


def spec(value: Spec, what: str) -> bytes | None:
    """A choice as the library reads it: "2.*,3.1", 3, [0, -1], [(2, 1), (3, 0)]."""
    if value is None:
        return None
    if isinstance(value, (str, int, np.integer)) and not isinstance(value, bool):
        return terminated(str(value), what)
    if isinstance(value, tuple) and len(value) == 2 and what in ("heads", "ablate", "head", "sets"):
        return f"{_number(value[0], what)}.{_number(value[1], what)}".encode()
    if isinstance(value, (list, tuple, range, set, frozenset)) or isinstance(value, np.ndarray) and value.ndim:
        return b",".join(spec(item, what) or b"" for item in value)
    raise TypeError(f"{what} is {type(value).__name__}, expected text, a number, or a list of these")


def is_empty(sites: Spec) -> bool:
    """Whether SITES is an empty list: no tensors are wanted."""
    if isinstance(sites, np.ndarray):
        return sites.size == 0
    return isinstance(sites, (list, tuple, range, set, frozenset)) and not sites


def refuse_empty(sites: Spec) -> None:
    if is_empty(sites):
        raise ValueError("sites is empty, expected the tensors that are written")


def choice(value, names: dict, what: str) -> int:
    if not isinstance(value, (str, int)) or value not in names:
        raise ValueError(f"{what} is {value!r}, expected {', '.join(map(repr, names))}")
    return names[value]


def whole(value, what: str, least: int = 0, most: int = 2**63 - 1) -> int:
    """A whole number. ctypes would make another one of what does not fit, without a word: of -1 the largest there is."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{what} is {value!r}, expected a whole number")
    if not least <= value <= most:
        raise ValueError(f"{what} is {value}, expected a whole number {least} to {most}")
    return int(value)


def real(value, what: str) -> float:
    """A number."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{what} is {value!r}, expected a number")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{what} is larger than any float64") from None


def flag(value, what: str) -> bool:
    """True or False, or 0 or 1."""
    if not isinstance(value, (bool, int, np.bool_, np.integer)) or value not in (0, 1):
        raise TypeError(f"{what} is {value!r}, expected True or False")
    return bool(value)


def called(function, what: str):
    """A function, or None."""
    if function is not None and not callable(function):
        raise TypeError(f"{what} is {type(function).__name__}, expected a function")
    return function


def listed(values, what: str, expected: str) -> list:
    """VALUES as a list, empty of None. EXPECTED says what of."""
    try:
        return [] if values is None else list(values)
    except (TypeError, NotImplementedError):  # which a memoryview of two axes raises
        raise TypeError(f"{what} is {type(values).__name__}, expected {expected}") from None


def array_of(value, what: str) -> np.ndarray:
    if np.ma.is_masked(value):
        raise TypeError(f"{what} has masked cells, expected a number in each: array.filled(0)")
    try:
        return np.asarray(value)
    except ValueError:
        raise ValueError(f"{what} has parts of different lengths, expected an array") from None


def with_points(value, names: dict, what: str) -> tuple[int, int]:
    """A choice, and the number N of points in "ig:N", "eap-ig:N" or "eap-ig:N:riemann", else 0."""
    method, colon, rest = str(value).partition(":")
    points, _, end = rest.partition(":") if rest[:1].isdecimal() else ("", "", rest)
    word = f"{method}:{end}" if end else method
    if word not in names or colon and not rest or points and (not method.endswith("ig") or not points.isdecimal() or int(points) == 0):
        raise ValueError(f"{what} is {value!r}, expected {', '.join(map(repr, names))}, 'ig:N'")
    return names[word], int(points or 0)


def _number(value, what):
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) or value == "*":
        return str(value)
    raise TypeError(f"{what} holds {value!r}, expected numbers of a layer and a head")


# --- Arrays ---------------------------------------------------------------------------------------


def floats(value, what: str, ranks: tuple[int, ...], shape: str) -> np.ndarray:
    """VALUE as float32, contiguous, of one of RANKS; SHAPE says in messages what is expected."""
    array = array_of(value, what)
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{what} is an array of {array.dtype}, expected floats")
    if array.ndim not in ranks:
        raise ValueError(f"{what} has the shape {list(array.shape)}, expected {shape}")
    return np.ascontiguousarray(array, np.float32)


def ndarray(value, what: str, ranks: tuple[int, ...], shape: str, keep: list) -> c.attn_ndarray:
    array = floats(value, what, ranks, shape)
    struct = c.attn_ndarray(name=what.encode(), rank=array.ndim)
    struct.shape[:array.ndim] = array.shape
    struct.data = cast(array.ctypes.data, POINTER(c_float))
    keep += [array, struct]
    return struct


def mask_array(value, what: str, keep: list) -> c.attn_mask_array:
    array = array_of(value, what)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{what} is an array of {array.dtype}, expected cells of 0 and 1")
    if array.ndim not in (2, 3, 4):
        raise ValueError(f"{what} has the shape {list(array.shape)}, expected [T, S], [H, T, S] or [B, H, T, S]")
    if array.dtype.kind != "b" and not ((array == 0) | (array == 1)).all():
        raise ValueError(f"{what} has other numbers than 0 and 1")
    cells = np.ascontiguousarray(array, np.uint8)
    struct = c.attn_mask_array(name=what.encode(), rank=cells.ndim)
    struct.shape[:cells.ndim] = cells.shape
    struct.cells = cast(cells.ctypes.data, POINTER(c_ubyte))
    keep += [cells, struct]
    return struct


def ids_of(value, what: str = "ids") -> np.ndarray:
    """Token ids as int32 [n]."""
    array = array_of(value, what)
    if array.size == 0 and array.ndim == 1:
        array = array.astype(np.int32)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{what} is an array of {array.dtype}, expected integers")
    if array.ndim != 1:
        raise ValueError(f"{what} has the shape {list(array.shape)}, expected one text, [n]")
    if array.size and (array.min() < 0 or array.max() > 2**31 - 1):
        raise ValueError(f"{what} holds {array[(array < 0) | (array > 2**31 - 1)][0]}, expected 0 to 2147483647")
    return np.ascontiguousarray(array, np.int32)


class Sound:
    """The samples of a sound in a file, and the path, which messages name."""

    def __init__(self, path: bytes):
        self.path, self.samples = path, c.attn_ndarray()
        call("attn_sound_read", path, byref(self.samples))

    def __del__(self):
        lib.attn_ndarray_release(byref(self.samples))


def fill_input(where: c.attn_input, value, what: str, keep: list) -> None:
    """VALUE is a text (str, or bytes of UTF-8), token ids [n], or embeddings [n, d_model]; a source may be a sound, the path of
    a file or samples [n] of floats."""
    if isinstance(value, memoryview) and value.format in "Bbc" and value.ndim == 1:
        value = bytes(value)  # a view of bytes is a text, as they are
    if isinstance(value, (str, bytes, bytearray)):
        data = bytes(value) if isinstance(value, bytearray) else utf8(value, what)
        keep.append(data)
        where.text, where.n_text = data, len(data)
        return
    if value is None:
        raise TypeError(f"{what} is missing: expected a text, token ids or embeddings")
    if what == "source" and isinstance(value, os.PathLike):
        keep.append(Sound(path_bytes(value, what)))
        where.embeddings = POINTER(c.attn_ndarray)(keep[-1].samples)
        return
    array = array_of(value, what)
    if array.dtype.kind == "f" and (array.ndim == 2 or what == "source" and array.ndim == 1 and array.size):
        embeddings = ndarray(array, what, (1, 2), "[n, d_model]", keep)
        where.embeddings = POINTER(c.attn_ndarray)(embeddings)
    elif array.dtype.kind in "iu" or (array.size == 0 and array.ndim == 1):
        ids = ids_of(array, what)
        keep.append(ids)
        where.ids, where.n_id = cast(ids.ctypes.data, POINTER(c_int32)), len(ids)
    elif array.dtype.kind in "US":
        raise TypeError(f"{what} is a list of texts, expected one; Model.map takes many")
    elif isinstance(value, (list, tuple)) and value and all(isinstance(item, dict) for item in value):
        raise TypeError(f"{what} is a list of messages, expected a text: give it as messages=")
    else:
        raise TypeError(f"{what} is {type(value).__name__} of {array.dtype} {list(array.shape)}, expected a text, "
                        "token ids [n] or embeddings [n, d_model] of floats")


PARTS = ("pair", "types", "key_mask")  # what may go with a text


def refuse_parts(options: dict, names: tuple[str, ...], where: str) -> None:
    """OPTIONS for many texts: what goes with one stands in it."""
    for name in names:
        if options.get(name) is not None:
            raise TypeError(f"{name} goes with one text: give it in {where}, as in {{'text': ..., '{name}': ...}}")


def refuse_unused(options: dict, *used: str) -> None:
    """What Model.run takes beside these is without effect here."""
    for name in ("sites", "layers", "heads", "queries", "top", "next", "grad"):
        if name in options and name not in used:
            raise unexpected(name)


def fill_pair(where: c.attn_input, source: c.attn_input, keep: list, *, pair=None, types=None, key_mask=None) -> None:
    """What goes with a text of an encoder: a second one, types of ids, and which keys are seen, of SOURCE where that
    is given."""
    if pair is not None:
        if not isinstance(pair, (str, bytes, bytearray)):
            raise TypeError(f"pair is {type(pair).__name__}, expected a text")
        data = utf8(pair, "pair") if isinstance(pair, str) else bytes(pair)
        keep.append(data)
        where.pair, where.n_pair = data, len(data)
    if types is not None:
        where.types, where.n_type = _integers(types, "types", keep)
    if key_mask is not None:
        masked = source if source.text or source.ids or source.embeddings else where
        masked.key_mask, masked.n_key_mask = _integers(key_mask, "key_mask", keep)


def _integers(values, what: str, keep: list):
    values = array_of(values, what)
    array = ids_of(values.astype(np.int32) if values.dtype == bool else values, what)
    keep.append(array)
    return cast(array.ctypes.data, POINTER(c_int32)), len(array)


def fill_continuation(where: c.attn_input, value, keep: list) -> None:
    """VALUE is a text, or token ids."""
    if isinstance(value, (str, bytes, bytearray)):
        data = utf8(value, "continuation")
        keep.append(data)
        where.continuation, where.n_continuation = data, len(data)
    else:
        where.continuation_ids, where.n_continuation_id = _integers(value, "continuation", keep)


def fill_image(where: c.attn_input, value, what: str, keep: list) -> None:
    """VALUE is the path of a picture, a picture of uint8 [H, W, 3], or its values, floats [C, H, W]; or a list of these."""
    if isinstance(value, (str, bytes, os.PathLike)):
        keep.append(path_bytes(value, what))
        where.image = keep[-1]
    elif isinstance(value, (list, tuple)) and value and not isinstance(value[0], (list, tuple, int, float)):
        paths, pixels = (c_char_p * len(value))(), (c.attn_pixels * len(value))()
        for i, one in enumerate(value):
            given = c.attn_input()
            fill_image(given, one, what, keep)
            if given.image:
                paths[i] = given.image
            else:
                pixels[i] = given.pixels[0]
        keep += [paths, pixels]
        where.image, where.images, where.pixels, where.n_image = paths[0], paths, pixels, len(value)
        if len(value) == 1:
            where.pixels = None if paths[0] else where.pixels
    else:
        _fill_pixels(where, value, what, keep)


def _fill_pixels(where: c.attn_input, value, what: str, keep: list) -> None:
    array = array_of(value, what)
    if array.ndim != 3 or 0 in array.shape or not (
            array.dtype.kind == "f" or (array.dtype == np.uint8 and array.shape[2] == 3)):
        raise TypeError(f"{what} is an array of {array.dtype} {list(array.shape)}, expected a picture, uint8 "
                        "[H, W, 3], or its values, float32 [C, H, W]")
    is_shown = array.dtype == np.uint8
    pixels = c.attn_pixels()
    pixels.n_channel, pixels.height, pixels.width = (0, *array.shape[:2]) if is_shown else array.shape
    call("attn_pixels_check_size", byref(pixels), what.encode())  # before an array is copied that is not contiguous
    if is_shown:
        array = np.ascontiguousarray(array)
        pixels.shown = cast(array.ctypes.data, POINTER(c_ubyte))
    else:
        array = np.ascontiguousarray(array, np.float32)
        pixels.values = cast(array.ctypes.data, POINTER(c_float))
    keep += [array, pixels]
    where.pixels = POINTER(c.attn_pixels)(pixels)


def texts(values: Iterable[str], what: str, keep: list):
    """A list of texts as const char *const *, and their number."""
    items = [values] if isinstance(values, (str, bytes)) else listed(values, what, "texts")
    for item in items:
        if not isinstance(item, (str, bytes)):
            raise TypeError(f"{what} holds {item!r}, expected texts")
    data = [terminated(item, what) for item in items]
    array = (c_char_p * len(data))(*data)
    keep.append(array)
    return array, len(data)
