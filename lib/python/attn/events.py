"""Tensors as they are computed: what a callback of Model.run gets."""
from __future__ import annotations

from ctypes import c_void_p, cast

import numpy as np

from . import binding as c
from .library import lib
from .request import SITES, STACKS
from .result import lend

_NAMES = {number: name for name, number in SITES.items()}


class Event:
    """A rectangle of one site: rows of one layer and one head.

    site      its name: "pattern"
    stack     "encoder", "decoder" or "cross" of a model with two stacks; else ""
    layer     from 0, in its stack; None of sites of the model (embed, ln_final, logits)
    head      from 0, key/value heads of k and v; None of sites without heads
    row0      the position of the first row
    data      float32 [rows, columns]; of a matrix the columns are keys
    keys      None, or of sparse attention a list of int32 arrays: row r holds cells for keys[r] alone, the first
              len(keys[r]) of data[r]

    Arrays are borrowed and read-only: they are valid inside the callback. Copy what is to stay. Interventions (ablate,
    patch, steer, ...) change a run.
    """

    __slots__ = ("site", "stack", "layer", "head", "row0", "keys", "_data")

    def __init__(self, event: c.attn_trace_event):
        at = event.at
        self.site, self.stack = _NAMES[at.site], STACKS[at.stack]
        self.layer = None if at.layer == c.ATTN_NO_LAYER else at.layer
        self.head = None if at.head == c.ATTN_ALL_HEADS else at.head
        self.row0, shape = event.row0, (event.n_row, event.n_col)
        self.keys = None
        if event.keys:
            kept = [event.n_kept[row] for row in range(event.n_row)]
            shape = (event.n_row, max(kept, default=0))
            address = cast(event.keys, c_void_p).value
            self.keys = [lend(address + 4 * row * event.ld, (n,), None, kind="<i4", read_only=True) for row, n in enumerate(kept)]
        self._data = lend(cast(event.data, c_void_p).value, shape, None, (4 * event.ld, 4), read_only=True)

    @property
    def data(self) -> np.ndarray:
        return self._data

    @data.setter
    def data(self, value):
        raise AttributeError(f"data {list(self._data.shape)} of an event is set to an array {list(np.shape(value))}, and is "
                             "read-only: a function in edits returns the new array")

    def __repr__(self):
        where = ".".join(str(part) for part in (self.layer, self.head) if part is not None)
        return f"<{self.stack}{':' * bool(self.stack)}{self.site} {where}: rows {self.row0} to {self.row0 + len(self.data) - 1}>"


class Listener:
    """A C trace that calls FUNCTION with each event; keeps the exception that ended it."""

    def __init__(self, function, selection):
        self.function = function
        self.problem: BaseException | None = None
        self._on_event = c.attn_trace_fn(self._hear)
        self.trace = c.attn_trace(selection, self._on_event, None)

    def _hear(self, _user, event, error):
        try:
            self.function(Event(event.contents))
        except BaseException as problem:
            self.problem = problem
            return lib.attn_error_set(error, c.ATTN_CANCELED, b"a callback ended the run")
        return c.ATTN_OK
