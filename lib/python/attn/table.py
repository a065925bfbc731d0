"""Tables of results: columns as numpy arrays."""
from __future__ import annotations

from ctypes import byref, c_void_p, string_at
from typing import Any, Iterator

import numpy as np

from . import binding as c
from .library import call, lib


def _cell(cell: c.attn_cell) -> Any:
    kind = cell.type
    if kind == c.ATTN_VALUE_REAL:
        return cell.real
    if kind == c.ATTN_VALUE_INTEGER:
        return cell.integer
    if kind == c.ATTN_VALUE_BOOLEAN:
        return bool(cell.integer)
    if kind == c.ATTN_VALUE_TEXT:
        return _text(cell)
    if kind == c.ATTN_VALUE_LIST:
        return list(cell.list[:cell.size])
    return None


def _text(cell):
    address = c_void_p.from_buffer(cell, c.attn_cell.text.offset).value
    return string_at(address or 0, cell.size).decode("utf-8", "replace")


def _array(values: list, kind: int) -> np.ndarray:
    """Reals: float64, NaN where missing. Integers: int64, with missing ones float64. Others may hold None."""
    has_missing = any(value is None for value in values)
    if kind == c.ATTN_VALUE_REAL or (kind == c.ATTN_VALUE_INTEGER and has_missing):
        return np.array([np.nan if value is None else value for value in values], np.float64)
    if kind == c.ATTN_VALUE_INTEGER:
        return np.array(values, np.int64)
    if kind == c.ATTN_VALUE_BOOLEAN and not has_missing:
        return np.array(values, bool)
    array = np.empty(len(values), object)
    array[:] = values
    return array


class Table:
    """Named columns: table["entropy"] is a numpy array, table.columns their names, len(table) its rows.

    name     what it is called: "heads"
    units    of the columns that have one: {"entropy": "nats"}
    info     what was found beside it: of score n_token, nats and perplexity, say
    notes    what was odd but no failure
    """

    def __init__(self, name: str, columns: dict[str, np.ndarray], units: dict[str, str], text: str):
        self.name, self.units = name, units
        self.info: dict[str, Any] = {}
        self.notes: list[str] = []
        self._columns, self._text = columns, text

    @property
    def columns(self) -> list[str]:
        return list(self._columns)

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._columns:
            raise KeyError(f"{name}: the columns are {', '.join(self._columns)}")
        return self._columns[name]

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), ()))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Its rows, as dicts."""
        for values in zip(*(column.tolist() for column in self._columns.values())):
            yield dict(zip(self._columns, values))

    def to_dict(self) -> dict[str, list]:
        """Lists by column."""
        return {name: column.tolist() for name, column in self._columns.items()}

    def to_pandas(self):
        """A pandas.DataFrame; needs pandas."""
        import pandas
        return pandas.DataFrame(self._columns)

    def grid(self, column: str) -> np.ndarray:
        """COLUMN as float64 [layers, heads], NaN where the table has no row: for pictures. Needs `layer` and `head`."""
        layer, head = (self[name] for name in ("layer", "head"))
        has = ~(np.isnan(layer.astype(float)) | np.isnan(head.astype(float)))
        layer, head = layer[has].astype(int), head[has].astype(int)
        cells = np.full((layer.max() + 1, head.max() + 1), np.nan)
        cells[layer, head] = self[column][has]
        return cells

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        from html import escape
        rows = [self._columns, *(row.values() for row in self)]
        lines = ["".join(f"<{tag}>{escape(_shown(cell))}</{tag}>" for cell in row)
                 for row, tag in zip(rows, ["th"] + ["td"] * len(self))]
        return f"<table><tr>{'</tr><tr>'.join(lines)}</tr></table>"


def _shown(cell) -> str:
    if cell is None or cell != cell:
        return ""
    return f"{cell:.6g}" if isinstance(cell, float) else str(cell)


def table_of(pointer) -> Table:
    """The table at POINTER, which is freed."""
    from .result import sink_bytes
    sink = c_void_p()
    try:
        n_row = lib.attn_table_n_row(pointer)
        columns, units = {}, {}
        for i in range(lib.attn_table_n_column(pointer)):
            column = lib.attn_table_column(pointer, i).contents
            name = column.name.decode()
            values = [_cell(lib.attn_table_cell(pointer, row, i)) for row in range(n_row)]
            columns[name] = _array(values, column.type)
            if column.unit:
                units[name] = column.unit.decode()
        call("attn_sink_create_memory", byref(sink))
        call("attn_table_write", pointer, c.ATTN_TABLE_ALIGNED, -1, sink)
        return Table(lib.attn_table_name(pointer).decode(), columns, units, sink_bytes(sink).decode())
    finally:
        lib.attn_sink_free(sink)
        lib.attn_table_free(pointer)
