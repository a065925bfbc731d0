"""Tables of results: columns as numpy arrays."""
from __future__ import annotations

import copy
import functools
import operator
from ctypes import POINTER, byref, c_double, c_int64, c_void_p, cast, string_at
from typing import Any, Callable, Iterator, NamedTuple, SupportsIndex, overload

import numpy as np

from . import binding as c
from .arrow import stream
from .errors import Note
from .library import call, default, lib, path_bytes, terminated, unexpected
from .pictures import KEYWORDS, Picture, picture_options, sink_bytes, written
from .values import choice, whole


class _Column(NamedTuple):
    """What struct attn_column says."""

    name: str
    type: int
    unit: str | None
    notation: int
    digits: int
    width: int
    range: int
    quantity: str | None
    totals: str | None
    role: int
    traits: int = 0


_FORMS = {"text": c.ATTN_TABLE_ALIGNED, "csv": c.ATTN_TABLE_CSV, "json": c.ATTN_TABLE_JSON, "jsonl": c.ATTN_TABLE_JSON_LINES,
          "latex": c.ATTN_TABLE_LATEX, "markdown": c.ATTN_TABLE_MARKDOWN}
_COUNTED = (c.ATTN_ROLE_LAYER, c.ATTN_ROLE_HEAD, c.ATTN_ROLE_KV_HEAD, c.ATTN_ROLE_POSITION)  # from 0: a grid has all


class Grid(np.ndarray):
    """Numbers of a table as a matrix, float64: NaN where the table has no row.

    rows, columns   what its rows and columns are: the values of two columns of the table
    name            the column that the numbers are from
    """

    rows: list
    columns: list
    name: str

    def __array_finalize__(self, other):
        is_whole = isinstance(other, Grid) and other.shape == self.shape
        self.rows, self.columns = (other.rows, other.columns) if is_whole else ([], [])
        self.name = other.name if is_whole else ""

    def __reduce__(self):
        make, arguments, state = super().__reduce__()[:3]
        return make, arguments, (state, self.rows, self.columns, self.name)

    def __setstate__(self, state):
        state, self.rows, self.columns, self.name = state
        super().__setstate__(state)


class Table:
    """Named columns: table["entropy"] is a numpy array, table.columns their names, len(table) its rows; a loop gives
    rows as dicts, table[0] is the first of them and table[:2] a table of two.

    name     what it is called: "heads"
    units    of the columns that have one: {"entropy": "nats"}
    info     what was found beside it: of score n_token, nats and perplexity, say
    notes    what was odd but no failure
    """

    def __init__(self, name: str, columns: list[_Column], cells: list[list]):
        self.name = name
        self.units = {column.name: column.unit for column in columns if column.unit}
        self.info: dict[str, Any] = {}
        self.notes: list[Note] = []
        self._columns = {column.name: column for column in columns}
        self._cells = dict(zip(self._columns, cells))  # texts as bytes, missing values as None
        self._arrays: dict[str, np.ndarray] = {}
        self._n_group = 0  # leading columns that name a group
        self._drawn: dict[str, Any] = {}  # what a picture shows: see drawn_of
        self._use_labels: Callable | None = None  # calls a function with labels of runs that pictures show

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return list(self._columns)

    @overload
    def __getitem__(self, name: str) -> np.ndarray: ...

    @overload
    def __getitem__(self, name: SupportsIndex) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, name: slice) -> Table: ...

    def __getitem__(self, name):
        if isinstance(name, slice):
            part = copy.copy(self)
            part._cells, part._arrays = {column: cells[name] for column, cells in self._cells.items()}, {}
            return part
        if not isinstance(name, str):
            at = operator.index(name)
            if not -len(self) <= at < len(self):
                raise IndexError(f"row {at} of {len(self)}")
            return {column: self._values(column)[at] for column in self._columns}
        if name not in self._arrays:
            values = self._values(name)
            self._arrays[name] = _array(values, self._columns[name].type)
        return self._arrays[name]

    def _values(self, name: str) -> list:
        """A column as Python has it: int, float, str, bool, list, and None for what is missing."""
        if name not in self._columns:
            raise KeyError(f"{name}: the columns are {', '.join(self._columns)}")
        if self._columns[name].type == c.ATTN_VALUE_TEXT:
            return [None if text is None else text.decode("utf-8", "replace") for text in self._cells[name]]
        return self._cells[name]

    def __len__(self) -> int:
        return len(next(iter(self._cells.values()), ()))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Its rows, as dicts. What is missing is None."""
        for values in zip(*map(self._values, self._columns)):
            yield dict(zip(self._columns, values))

    def to_dict(self) -> dict[str, list]:
        """Lists by column. What is missing is None."""
        return {name: list(self._values(name)) for name in self._columns}

    def to_pandas(self):
        """A pandas.DataFrame; needs pandas. Columns of integers are Int64, which may lack values, and those of truth
        values boolean."""
        import pandas
        kinds = {c.ATTN_VALUE_INTEGER: "Int64", c.ATTN_VALUE_BOOLEAN: "boolean"}
        columns = {}
        for name, column in self._columns.items():
            kind = kinds.get(column.type)
            columns[name] = pandas.array(self._values(name), dtype=kind) if kind else self[name].copy()
        return pandas.DataFrame(columns)

    def __arrow_c_stream__(self, requested_schema=None):
        """All rows as a stream of Arrow: polars.DataFrame(t), pyarrow.table(t), and DuckDB's "select * from t"."""
        return stream(self, {name: column.type for name, column in self._columns.items()})

    # --- Rows ---

    def sort(self, by: str | None = None, limit: int = 0) -> Table:
        """A table of the same rows, those with the largest numbers first.

        by      a column, largest magnitude first; "change:up": smallest value first; "change:down": largest
        limit   at most so many rows, of each group

        Equal rows keep their order, those without a value come last. Rows `base`, `source`, `sum` and `model` keep
        their places and do not count.
        """
        order, made = default(c.attn_table_order), c_void_p()
        order.sort = None if by is None else terminated(by, "by")
        order.n_most, order.n_group = whole(limit, "limit"), self._n_group
        self._with_native(lambda native: call("attn_table_sort", native, byref(order), byref(made)))
        return self._like(table_of(made))

    def where(self, **values) -> Table:
        """A table of the rows that have these values: t.where(condition="plural", layer=2)."""
        wanted = [(self._values(name), value) for name, value in values.items()]
        kept = [row for row in range(len(self)) if all(column[row] == value for column, value in wanted)]
        return self._like(Table(self.name, list(self._columns.values()),
                                [[cells[row] for row in kept] for cells in self._cells.values()]))

    def select(self, *names: str) -> Table:
        """A table of these columns, in this order."""
        for name in names:
            self._values(name)  # refuses another
        made = self._like(Table(self.name, [self._columns[name] for name in names], [self._cells[name] for name in names]))
        made._n_group, made._drawn = 0, {}  # a picture could lack its columns
        return made

    def _like(self, made: Table) -> Table:
        made.info, made.notes = dict(self.info), list(self.notes)
        made._n_group, made._drawn, made._use_labels = self._n_group, self._drawn, self._use_labels
        return made

    # --- Pictures ---

    def grid(self, rows: str | None = None, columns: str | None = None, values: str | None = None) -> Grid:
        """Numbers as a matrix: grid("layer", "position", "effect"), or grid("entropy") by layer and head.

        Without names it is what plot() draws. Layers, heads and positions count from 0; other rows and columns are
        the values that there are, numbers ascending, texts in their order: grid.rows, grid.columns. A cell that
        several rows of the table are of is an error: where() chooses one.
        """
        if rows is not None and columns is None and values is None:
            rows, values = None, rows
        drawn = self._layout(rows, columns, values)
        names = drawn["rows"], drawn["columns"]
        if names[0] == names[1]:
            raise ValueError("this table has no sides of a matrix: say rows and columns")
        cells = [(row, column, value) for row, column, value in zip(*map(self._values, (*names, drawn["values"])))
                 if row is not None and column is not None]
        sides = [self._side(name, [cell[at] for cell in cells]) for at, name in enumerate(names)]
        grid = np.full([len(side) for side in sides], np.nan).view(Grid)
        grid.rows, grid.columns = (list(side) for side in sides)
        grid.name = drawn["values"]
        taken = set()
        for row, column, value in cells:
            if (row, column) in taken:
                raise ValueError(f"several rows have {names[0]} {row} and {names[1]} {column}: choose with where(), or "
                                 "other columns")
            taken.add((row, column))
            grid[sides[0][row], sides[1][column]] = np.nan if value is None else value
        return grid

    def _side(self, name: str, values: list) -> dict[Any, int]:
        """Where the VALUES of a column are in a grid."""
        kind = self._columns[name].type
        if self._columns[name].role in _COUNTED and kind == c.ATTN_VALUE_INTEGER:
            values = list(range(max(values, default=-1) + 1))
        elif kind != c.ATTN_VALUE_TEXT:
            values = sorted(set(values))
        return {value: at for at, value in enumerate(dict.fromkeys(values))}

    def _layout(self, rows, columns, values) -> dict[str, Any]:
        """What a picture shows: what is asked for, else what attn-cli draws, else numbers by layer and head."""
        drawn = dict(self._drawn)
        if rows is not None or columns is not None:
            for name in ("detail", "texts", "cells", "parts", "inputs", "figure"):
                drawn.pop(name, None)
            drawn["traits"] = drawn.get("traits", 0) & ~c.ATTN_VIEW_PAIRS
        if values is not None and values != drawn.get("values"):
            drawn.pop("quantity", None)  # it was of another
        for side, name, usual in (("rows", rows, c.ATTN_ROLE_LAYER), ("columns", columns, c.ATTN_ROLE_HEAD)):
            if name is not None:
                drawn[side] = name
            if side not in drawn:
                found = (name for name, column in self._columns.items() if column.role == usual)
                drawn[side] = next(found, "layer" if side == "rows" else "head")
        numbers = [name for name, column in self._columns.items()
                   if column.type == c.ATTN_VALUE_REAL and name not in (drawn["rows"], drawn["columns"])]
        drawn["values"] = values or drawn.get("values") or next(iter(numbers), "")
        for name in (drawn["rows"], drawn["columns"], drawn["values"]):
            self._values(name)  # or a KeyError
        if self._columns[drawn["values"]].type in (c.ATTN_VALUE_TEXT, c.ATTN_VALUE_LIST, c.ATTN_VALUE_REALS):
            raise ValueError(f"values is {drawn['values']!r}, expected a column of numbers")
        return drawn

    def plot(self, rows: str | None = None, columns: str | None = None, values: str | None = None,
             **options) -> Picture:
        """The picture that attn-cli makes of this table: by default the numbers that matter by layer and head, or by
        layer and position. In a notebook it is shown; plot().save("a.png") saves it, plot().svg is its text.

        options     figure ("grid", "bars", "curve", "tokens"), colormap, title, theme ("auto", "light", "dark"), dpi,
                    font_size, figure_width ("85mm", "3.3in")
        """
        drawn = self._layout(rows, columns, values)
        return Picture(functools.partial(self._draw, drawn, options))

    def _draw(self, drawn: dict, options: dict, format: str, path) -> bytes | None:
        keep: list = []
        options = dict(options)
        picture = picture_options(options, keep)
        if options:
            raise unexpected(next(iter(options)), *KEYWORDS)
        made = self._native_picture(drawn)
        figure = picture.figure or made.view.figure
        if figure in (c.ATTN_FIGURE_BARS, c.ATTN_FIGURE_CURVE) or self._n_groups() > 1:
            made.n_label = self._n_group

        def write(output, run=None, other_run=None):
            made.run, made.other_run = run, other_run
            self._with_native(lambda native: call("attn_table_picture_write", native, byref(made), byref(picture),
                                                  byref(output)))

        use = self._use_labels
        return written(format, path, functools.partial(use, write) if use else write)

    def _n_groups(self) -> int:
        return len(set(zip(*(self._cells[name] for name in self.columns[:self._n_group]))))

    def _repr_svg_(self) -> str | None:
        try:
            return self.plot().svg
        except Exception:  # a table that no picture is of still has its repr
            return None

    # --- Text ---

    def render(self, format: str = "text", path=None, *, precision: int = -1) -> bytes | None:
        """This table as "text", "csv", "json", "jsonl", "latex" or "markdown", as attn-cli writes it: to PATH, or
        returned."""
        form = choice(format, _FORMS, "format")
        digits = whole(precision, "precision", -1, 17)
        sink = c_void_p()
        try:
            if path is None:
                call("attn_sink_create_memory", byref(sink))
            else:
                call("attn_sink_create_file", path_bytes(path, "path"), byref(sink))
            made, style = self._native_picture(self._drawn), c.attn_table_style(form=form, precision=digits)
            made.n_label = self._n_group
            self._with_native(lambda native: call("attn_table_write_captioned", native, byref(made), byref(style), sink))
            if path is None:
                return sink_bytes(sink)
            call("attn_sink_commit", sink)
            return None
        finally:
            lib.attn_sink_free(sink)

    def to_latex(self, path=None, *, precision: int = -1) -> str | None:
        """This table for a paper, with the packages booktabs and siunitx: to PATH, or returned. Standard errors are in
        parentheses; the caption says what was asked."""
        text = self.render("latex", path, precision=precision)
        return None if text is None else text.decode()

    def to_markdown(self, path=None, *, precision: int = -1) -> str | None:
        """The same as Markdown, as GitHub has it."""
        text = self.render("markdown", path, precision=precision)
        return None if text is None else text.decode()

    def __str__(self) -> str:
        return (self.render() or b"").decode()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from html import escape
        rows = [self._columns, *(row.values() for row in self)]
        lines = ["".join(f"<{tag}>{escape(_shown(cell))}</{tag}>" for cell in row)
                 for row, tag in zip(rows, ["th"] + ["td"] * len(self))]
        return f"<table><tr>{'</tr><tr>'.join(lines)}</tr></table>"

    # --- The library's ---

    def _with_native(self, use: Callable) -> None:
        """Calls USE with the table as the library has it."""
        native = c_void_p()
        keep: list = []
        columns = (c.attn_column * len(self._columns))()
        for made, column in zip(columns, self._columns.values()):
            made.name, made.type, made.notation = column.name.encode(), column.type, column.notation
            made.unit = None if column.unit is None else column.unit.encode()
            made.digits, made.width, made.range, made.role = column.digits, column.width, column.range, column.role
            made.traits = column.traits
            made.quantity = None if column.quantity is None else column.quantity.encode()
            made.totals = None if column.totals is None else column.totals.encode()
        call("attn_table_create", self.name.encode(), columns, len(columns), byref(native))
        try:
            row = (c.attn_cell * len(columns))()
            kinds = [column.type for column in self._columns.values()]
            for values in zip(*self._cells.values()):
                for cell, kind, value in zip(row, kinds, values):
                    _fill(cell, kind, value, keep)
                call("attn_table_append", native, row, len(row))
                keep.clear()
            use(native)
        finally:
            lib.attn_table_free(native)

    def _native_picture(self, drawn: dict) -> c.attn_table_picture:
        picture, names = c.attn_table_picture(), self.columns
        for name in _COLUMNS:
            if name in drawn:
                setattr(picture.view, name, c.ATTN_FIRST_TABLE_COLUMN + names.index(drawn[name]))
        for part, fields in ((picture.view, _OF_VIEW), (picture, _OF_PICTURE)):
            for name in fields:
                if name in drawn:
                    setattr(part, name, drawn[name])
        for text, (name, value) in zip(picture.texts, drawn.get("about", ())):
            text.name, text.text, text.n = name, value, len(value or b"")
        return picture

    def __getstate__(self):
        return {**self.__dict__, "_use_labels": None}


# What a picture shows: the names of columns of a struct attn_table_view, its other fields, and those of a struct
# attn_table_picture.
_COLUMNS = ("rows", "detail", "columns", "texts", "values", "cells")
_OF_VIEW = ("figure", "traits", "quantity", "asked", "parts", "inputs", "only")
_OF_PICTURE = ("answer", "metric", "target", "foil", "model")


def drawn_of(asked: c.attn_question_call, table, text=None) -> dict[str, Any]:
    """What a picture of the TABLE of a question shows, as the library says it; about TEXT instead of that of the request."""
    picture = c.attn_table_picture()
    if isinstance(text, (str, bytes)):
        given = text.encode() if isinstance(text, str) else text
        picture.texts[0].text, picture.texts[0].n = given, len(given)
    call("attn_question_picture", byref(asked), table, byref(picture))
    drawn: dict[str, Any] = {}
    for name in _COLUMNS:
        column = getattr(picture.view, name)
        if column:
            drawn[name] = lib.attn_table_column(table, column - c.ATTN_FIRST_TABLE_COLUMN).contents.name.decode()
    for part, fields in ((picture.view, _OF_VIEW), (picture, _OF_PICTURE)):
        drawn.update((name, value) for name, value in ((name, getattr(part, name)) for name in fields) if value)
    drawn["about"] = [(about.name, about.text) for about in picture.texts]
    return drawn


# --- Cells ----------------------------------------------------------------------------------------


def _fill(cell: c.attn_cell, kind: int, value, keep: list) -> None:
    cell.type = c.ATTN_VALUE_MISSING if value is None else kind
    if value is None:
        cell.size = 0
    elif kind == c.ATTN_VALUE_REAL:
        cell.real = value
    elif kind == c.ATTN_VALUE_TEXT:
        cell.text, cell.size = value, len(value)
        keep.append(value)
    elif kind == c.ATTN_VALUE_LIST:
        numbers = (c_int64 * len(value))(*value)
        cell.list, cell.size = cast(numbers, POINTER(c_int64)), len(value)
        keep.append(numbers)
    elif kind == c.ATTN_VALUE_REALS:
        reals = (c_double * len(value))(*value)
        cell.reals, cell.size = cast(reals, POINTER(c_double)), len(value)
        keep.append(reals)
    else:
        cell.integer = value


def cell_of(cell: c.attn_cell) -> Any:
    kind = cell.type
    if kind == c.ATTN_VALUE_REAL:
        return cell.real
    if kind == c.ATTN_VALUE_INTEGER:
        return cell.integer
    if kind == c.ATTN_VALUE_BOOLEAN:
        return bool(cell.integer)
    if kind == c.ATTN_VALUE_TEXT:
        return string_at(c_void_p.from_buffer(cell, c.attn_cell.text.offset).value or 0, cell.size)
    if kind == c.ATTN_VALUE_LIST:
        return list(cell.list[:cell.size])
    if kind == c.ATTN_VALUE_REALS:
        return list(cell.reals[:cell.size])
    return None


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


def _shown(cell) -> str:
    if cell is None or cell != cell:
        return ""
    return f"{cell:.6g}" if isinstance(cell, float) else str(cell)


def table_of(pointer) -> Table:
    """The table at POINTER, which is freed."""
    try:
        rows, columns, cells = range(lib.attn_table_n_row(pointer)), [], []
        for i in range(lib.attn_table_n_column(pointer)):
            column = lib.attn_table_column(pointer, i).contents
            columns.append(_Column(column.name.decode(), column.type, column.unit and column.unit.decode(),
                                   column.notation, column.digits, column.width, column.range,
                                   column.quantity and column.quantity.decode(),
                                   column.totals and column.totals.decode(), column.role, column.traits))
            cells.append([cell_of(lib.attn_table_cell(pointer, row, i)) for row in rows])
        return Table(lib.attn_table_name(pointer).decode(), columns, cells)
    finally:
        lib.attn_table_free(pointer)
