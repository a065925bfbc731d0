"""Items that have rows of their own, and one array over all of them: Model.run and Model.generate with items."""
from __future__ import annotations

import json
import os
import tempfile
from ctypes import POINTER, byref, c_size_t, c_void_p, string_at
from typing import TYPE_CHECKING, Any

import numpy as np

from . import binding as c
from .errors import Error
from .items import study_of
from .library import call, default, interruptible, lib, terminated, warn_of
from .request import Request

if TYPE_CHECKING:
    from .model import Model


def _rows(model: Model, name: str, args, options: dict[str, Any], has_table: bool = False) -> list[dict]:
    """Asks the question NAME for the items of OPTIONS, with ARGS. Returns the rows that no file of `each` gets."""
    host, sink, table = model._use_for_many(), c_void_p(), c_void_p()
    results = [byref(table)] if has_table else []
    options = dict(options)
    study: Any = study_of(host, options)
    request = Request(None, **options).check_stacks(host)
    if not study.args.each:
        call("attn_sink_create_memory", byref(sink))
        study.each = default(c.attn_each_options)
        study.each.sink, study.each.form = sink, c.ATTN_EACH_JSON_LINES
        study.args.each = POINTER(c.attn_each_options)(study.each)
    args.study = POINTER(c.attn_study_args)(study.args)
    try:
        interruptible(lambda: call(name, host.pointer, byref(request.struct), byref(args), *results), host.cancel)
        warn_of(request.notes)
        study.warn(request.notes)
        size = c_size_t()
        text = string_at(lib.attn_sink_bytes(sink, byref(size)), size.value) if sink else b""
        return [json.loads(line) for line in text.split(b"\n") if line]
    except Error as problem:
        raise study.failure(problem, request.notes) from None
    finally:
        lib.attn_sink_free(sink)
        lib.attn_table_free(table)


def run_items(model: Model, sites=None, at=None, mean_by: str | None = None, **options) -> Any:
    args = default(c.attn_collect_args)
    args.at.text = None if at is None else terminated(str(at), "at")
    args.mean_by = None if mean_by is None else terminated(mean_by, "mean_by")
    with tempfile.TemporaryDirectory() as folder:
        if not sites:
            return {"rows": _rows(model, "attn_collect", args, {**options, "sites": None})}
        path = os.path.join(folder, "array.npz")
        shard = options.pop("shard", None)
        if shard is not None:
            raise TypeError("a shard is a part of a file, and arrays come back in memory")
        args.npz = path.encode()
        rows = _rows(model, "attn_collect", args, {**options, "sites": sites})
        with np.load(path) as arrays:
            return {**arrays, "rows": rows}


def align_items(model: Model, args, options: dict[str, Any]) -> list[dict]:
    return _rows(model, "attn_align", args, options, has_table=True)


def generate_items(model: Model, args, options: dict[str, Any]) -> Any:
    return _rows(model, "attn_generate_items", args, options)
