"""Tables by Arrow's C stream, which polars, DuckDB, pyarrow and pandas read: `polars.DataFrame(table)`.

Nothing of Arrow is needed for it: arrow.apache.org/docs/format/CStreamInterface.html has the three structs below. A stream
gives one batch with all rows. What it holds lives until its reader says `release`.
"""
from __future__ import annotations

import itertools
import struct
import sys
from ctypes import (CFUNCTYPE, POINTER, PYFUNCTYPE, Structure, addressof, c_char_p, c_int, c_int64, c_void_p, cast, memset, py_object,
                    pythonapi, sizeof)
from typing import Any, NamedTuple

import numpy as np

from . import binding as c


class _Schema(Structure):
    pass


class _Array(Structure):
    pass


class _Stream(Structure):
    _fields_ = [("get_schema", c_void_p), ("get_next", c_void_p), ("get_last_error", c_void_p), ("release", c_void_p),
                ("private_data", c_void_p)]


_Schema._fields_ = [("format", c_char_p), ("name", c_char_p), ("metadata", c_char_p), ("flags", c_int64), ("n_children", c_int64),
                    ("children", POINTER(POINTER(_Schema))), ("dictionary", c_void_p), ("release", c_void_p),
                    ("private_data", c_void_p)]
_Array._fields_ = [("length", c_int64), ("null_count", c_int64), ("offset", c_int64), ("n_buffers", c_int64),
                   ("n_children", c_int64), ("buffers", POINTER(c_void_p)), ("children", POINTER(POINTER(_Array))),
                   ("dictionary", c_void_p), ("release", c_void_p), ("private_data", c_void_p)]
_NULLABLE = 2  # of flags


class _Values(NamedTuple):
    """A column: its format, how many values it has, which are missing, its buffers but the first, and the values of lists."""

    format: str
    n: int
    missing: np.ndarray
    buffers: list
    items: Any = None


# --- Columns --------------------------------------------------------------------------------------


def _numbers(values: list, kind, form: str) -> _Values:
    missing = np.array([value is None for value in values], bool)
    return _Values(form, len(values), missing, [np.array([0 if value is None else value for value in values], kind)])


def _booleans(values: list) -> _Values:
    numbers = _numbers(values, bool, "b")
    return numbers._replace(buffers=[_bits(numbers.buffers[0])])


def _ends(values: list) -> tuple[np.ndarray, bool]:
    """Where each value ends in the values of all, behind a 0; and whether this takes more than 31 bits."""
    ends = np.cumsum([0, *(0 if value is None else len(value) for value in values)], dtype=np.int64)
    is_large = bool(ends[-1] > np.iinfo(np.int32).max)
    return ends if is_large else ends.astype(np.int32), is_large


def _texts(values: list) -> _Values:
    values = [None if value is None else value.encode() for value in values]
    ends, is_large = _ends(values)
    missing = np.array([value is None for value in values], bool)
    data = np.frombuffer(b"".join(value or b"" for value in values) or b"\0", np.uint8)
    return _Values("U" if is_large else "u", len(values), missing, [ends, data])


def _lists(values: list, kind, form: str) -> _Values:
    ends, is_large = _ends(values)
    missing = np.array([value is None for value in values], bool)
    items = _numbers([item for value in values for item in value or ()], kind, form)
    return _Values("+L" if is_large else "+l", len(values), missing, [ends], items)


_COLUMNS = {
    c.ATTN_VALUE_INTEGER: lambda values: _numbers(values, np.int64, "l"),
    c.ATTN_VALUE_REAL: lambda values: _numbers(values, np.float64, "g"),
    c.ATTN_VALUE_BOOLEAN: _booleans,
    c.ATTN_VALUE_TEXT: _texts,
    c.ATTN_VALUE_LIST: lambda values: _lists(values, np.int64, "l"),
    c.ATTN_VALUE_REALS: lambda values: _lists(values, np.float64, "g"),
}


def _bits(flags: np.ndarray) -> np.ndarray:
    return np.packbits(flags, bitorder="little") if len(flags) else np.zeros(1, np.uint8)


def _metadata(pairs: dict[str, str]) -> bytes:
    """Texts beside a column, as Arrow packs them."""
    texts = [text.encode() for pair in pairs.items() for text in pair]
    return struct.pack("=i", len(pairs)) + b"".join(struct.pack("=i", len(text)) + text for text in texts)


# --- What readers get -----------------------------------------------------------------------------

_numbers_of = itertools.count(1)
_kept: dict[int, Any] = {}  # what a struct points to, by its private_data, until its reader releases it


def _keep(made, release, *held) -> None:
    made.private_data, made.release = next(_numbers_of), cast(release, c_void_p).value
    _kept[made.private_data] = held


def _release(kind):
    """What releases a struct KIND: its children, then what it points to."""
    def release(address):
        made = kind.from_address(address)
        for child in made.children[:made.n_children] if kind is not _Stream else ():
            if child.contents.release:
                _RELEASE(child.contents.release)(addressof(child.contents))
        _kept.pop(made.private_data, None)
        made.release = None
    return _RELEASE(release)


_RELEASE = CFUNCTYPE(None, c_void_p)
_release_schema, _release_array, _release_stream = _release(_Schema), _release(_Array), _release(_Stream)


def _children(kind, made: list):
    return (POINTER(kind) * len(made))(*map(POINTER(kind), made))


def _fill_schema(schema: _Schema, name: str, form: str, flags: int, made: list, about: dict[str, str]) -> None:
    held = form.encode(), name.encode(), _metadata(about) if about else None
    schema.format, schema.name, schema.metadata = held
    children = _children(_Schema, made)
    schema.flags, schema.n_children, schema.children = flags, len(made), children
    _keep(schema, _release_schema, held, made, children)


def _schema(values: _Values, name: str, about: dict[str, str]) -> _Schema:
    schema, items = _Schema(), values.items
    _fill_schema(schema, name, values.format, _NULLABLE, [] if items is None else [_schema(items, "item", {})], about)
    return schema


def _fill_array(array: _Array, n: int, missing: np.ndarray, buffers: list, made: list) -> None:
    n_missing = int(missing.sum())
    valid = _bits(~missing) if n_missing else None
    addresses = (c_void_p * (1 + len(buffers)))(valid is not None and valid.ctypes.data or None,
                                                *(buffer.ctypes.data for buffer in buffers))
    children = _children(_Array, made)
    array.length, array.null_count, array.n_buffers, array.buffers = n, n_missing, len(addresses), addresses
    array.n_children, array.children = len(made), children
    _keep(array, _release_array, valid, buffers, addresses, made, children)


def _array(values: _Values) -> _Array:
    array, items = _Array(), values.items
    _fill_array(array, values.n, values.missing, values.buffers, [] if items is None else [_array(items)])
    return array


@CFUNCTYPE(c_int, c_void_p, c_void_p)
def _get_schema(stream, out):
    table, columns, _ = _kept[_Stream.from_address(stream).private_data]
    made = [_schema(values, name, {"unit": table.units[name]} if name in table.units else {}) for name, values in columns.items()]
    memset(out, 0, sizeof(_Schema))
    _fill_schema(_Schema.from_address(out), table.name, "+s", 0, made, {})
    return 0


@CFUNCTYPE(c_int, c_void_p, c_void_p)
def _get_next(stream, out):
    table, columns, batches = _kept[_Stream.from_address(stream).private_data]
    array = _Array.from_address(memset(out, 0, sizeof(_Array)))  # without release: the end of the stream
    for _ in batches:
        _fill_array(array, len(table), np.zeros(0, bool), [], [_array(values) for values in columns.values()])
        break
    return 0


@CFUNCTYPE(c_void_p, c_void_p)
def _get_last_error(_):
    return None


_new_capsule = PYFUNCTYPE(py_object, c_void_p, c_char_p, c_void_p)(("PyCapsule_New", pythonapi))
_streams: list[tuple] = []  # with their capsules, as long as others have these


def _n_reference(entry: tuple) -> int:
    return sys.getrefcount(entry[1])


_N_OWN = _n_reference((None, object()))


def _forget_streams() -> None:
    """Forgets the streams whose capsules nobody has any more. A capsule cannot say so by itself: it would call Python
    while an exception is on its way."""
    for entry in [entry for entry in _streams if _n_reference(entry) == _N_OWN]:
        _streams.remove(entry)
        if entry[0].release:  # nobody has read it
            _release_stream(addressof(entry[0]))


def stream(table, types: dict[str, int]):
    """The capsule of a stream of TABLE, whose columns have these TYPES."""
    _forget_streams()
    cells, made = table.to_dict(), _Stream()
    columns = {name: _COLUMNS[kind](cells[name]) for name, kind in types.items()}
    made.get_schema, made.get_next, made.get_last_error = (
        cast(function, c_void_p).value for function in (_get_schema, _get_next, _get_last_error))
    _keep(made, _release_stream, table, columns, iter((True,)))
    _streams.append((made, _new_capsule(addressof(made), b"arrow_array_stream", None)))
    return _streams[-1][1]
