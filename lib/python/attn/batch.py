"""Many texts of a file into files: what Model.batch does."""
from __future__ import annotations

import hashlib
import json
import os
from ctypes import POINTER, byref, c_char_p, c_int, c_void_p, string_at
from typing import TYPE_CHECKING, Any, Callable, Iterable, NamedTuple

import numpy as np

from . import binding as c
from .asking import check, parameters
from .errors import Error, Note
from .host import tower_of
from .library import call, interruptible, lib, noting, path_bytes, terminated, warn_of
from .params import fill
from .request import Edit, Request, edit_texts
from .values import PARTS, called, refuse_empty, refuse_parts, whole

if TYPE_CHECKING:
    from .model import Model


_ROW = lib.attn_question_find(b"batch").contents


class Batch(NamedTuple):
    """What Model.batch came to. Numbers count records of earlier runs too.

    n_record, n_failed   records, and those of them that have an error instead of results
    is_complete          the outputs were whole before, and nothing was computed
    seconds              of computing
    notes                what was odd and no failure
    """

    n_record: int
    n_failed: int
    is_complete: bool
    seconds: float
    notes: list[Note]


class Progress(NamedTuple):
    """How far a batch is: n_record, n_failed so far, and share 0 to 1 of the input (0: not known)."""

    n_record: int
    n_failed: int
    share: float


class _Callbacks:
    """What the library calls while a batch runs, and the exception that ended it."""

    def __init__(self, cancel: c_int, on_progress: Callable | None):
        self.cancel, self.tell = cancel, on_progress
        self.notes: list[Note] = []
        self.problem: BaseException | None = None

    def progress(self, _user, progress):
        found = progress.contents
        try:
            self.tell(Progress(found.n_record, found.n_failed, found.share))
        except BaseException as problem:
            self.problem = self.problem or problem
            self.cancel.value = 1


def run_batch(model: Model, path, output, *, items_format: str = "auto", csv=None, npy=None, edges=None, npz=None,
              edges_per_query: int = 0, fields=None, measures=None, precision: int = -1,
              shard: tuple[int, int] | None = None, limit: int = 0, max_line: int = 0, max_input: int = 0,
              max_failed: int | None = None, text_key: str | None = None, id_key: str | None = None,
              labels: str | None = None, tower: str = "text", resume: bool = False, sync: bool = False,
              on_progress: Callable[[Progress], Any] | None = None, **options) -> Batch:
    """Runs the records of a file and writes what they come to, as `attn-cli batch` does.

    path        a file with a record per line, or a pipe
    items_format
                "jsonl": objects with `text`, `ids` or `image`, and `id`, and `next`, continuations of their own instead
                of those of all; "csv", "tsv": rows of these keys below a header; "lines": a text per line; "fasta":
                proteins; "auto": by the file's name, else jsonl, or fasta by its first byte
    tower       of a model with two, as CLIP is, the one that the records are for: "text" or "image"
    output      a file for a line of JSON per record; beside it lies OUTPUT.run.json, which says how it was made
    csv, npy, edges, npz
                files and a folder beside it, as attn-cli names them; csv has the measures, or predictions or surprisal
                where `fields` has that instead
    fields      what a line holds: "ids,tokens,offsets,measures,surprisal,predictions,tensors"
    measures    of every head: "entropy,induction"; default: those of `heads`
    shard       (i, n): only part i of n, 0 <= i < n; the names of outputs say which
    limit       at most so many records; 0: all
    max_failed  so many records may fail, and one more ends it; default: all may
    text_key, id_key
                what `text` and `id` are called
    labels      keys of a record that stand beside its results, "condition,verb", or "all" that mean nothing else
    resume      go on where a run of the same call ended early; what is whole is only compared
    sync        what is done survives a power failure
    on_progress is called with a Progress after each record
    sites, layers, heads, queries, ablate, attention, top, ...
                as of run, one choice for all

    Files grow as FILE.part and get their names when all is whole. Whatever ends it, an exception, Ctrl-C or a kill,
    the same call with resume=True goes on. Results do not depend on threads, shards or restarts.
    """
    given = dict(options, items_format=items_format, edges_per_query=edges_per_query, fields=fields, measures=measures,
                 precision=precision, shard=shard, limit=limit, max_line=max_line, max_input=max_input,
                 text_key=text_key, id_key=id_key, labels=labels)
    refuse_parts(options, ("image", "source", *PARTS), "a record")
    refuse_empty(options.get("sites"))
    request = Request(None, **options)
    host = tower_of(model._use_for_many(), tower)
    if tower != "text":
        given["tower"] = tower
    request.check_stacks(host)
    path_bytes(output, "output")
    outputs = [(name, where) for name, where in (("jsonl", output), ("csv", csv), ("npy", npy), ("edges", edges),
                                                 ("npz", npz)) if where is not None]
    items = (c.attn_records_item * len(outputs))()
    for item, (name, where) in zip(items, outputs):
        item.format, item.path = name.encode(), path_bytes(where, name)
    calls = _Callbacks(host.cancel, on_progress)
    keep: list = []
    own = dict(items_format=items_format, text_key=text_key, id_key=id_key, labels=labels, max_line=max_line, limit=limit, max_failed=max_failed,
               fields=fields, measures=measures, edges_per_query=edges_per_query, resume=resume, sync=sync,
               shard=None if shard is None else "%d/%d" % shard_of(shard))
    check(_ROW, dict(own, edges=edges))
    args = c.attn_batch_args.from_buffer_copy(string_at(_ROW.defaults, _ROW.args_size))
    for name, param, at in parameters(_ROW):
        if own.get(name) is not None:
            fill(args, at, param, name, own[name], keep)
    how, many = args.options, args.many
    how.items.path = path_bytes(path, "path")
    how.precision = whole(precision, "precision", -1, 17)
    how.outputs, how.n_output = items, len(items)
    how.each.source = POINTER(c.attn_source)(host.found[0].source)
    asked = dict(given, outputs=[name for name, _ in outputs])
    how.each.asked = as_asked(asked)
    how.each.files, how.each.n_file = files_of(options)
    how.items.cancel, how.on_note = POINTER(c_int)(host.cancel), noting(calls.notes)
    if called(on_progress, "on_progress") is not None:
        how.on_progress = type(how.on_progress)(calls.progress)
    request.struct.on_note = how.on_note
    many.request, many.n_max_token = POINTER(c.attn_request)(request.struct), whole(max_input, "max_input")
    return _run(host, how, many, calls)


def _run(host, how, many, calls: _Callbacks) -> Batch:
    batch, result = c_void_p(), c.attn_each_result()

    def compute():
        call("attn_batch_open", byref(how), byref(batch))
        call("attn_batch_run", batch, host.pointer, byref(many), byref(result))

    try:
        interruptible(compute, host.cancel)
    except Error as problem:
        if calls.problem is None:
            raise continued(problem, result.can_resume, f"record {result.n_item}") from None
    finally:
        lib.attn_batch_free(batch)
    if calls.problem is not None:
        host.cancel.value = 0
        raise calls.problem
    return Batch(result.n_item, result.n_failed, result.is_complete, result.seconds, warn_of(calls.notes))


def continued(problem: Error, can_resume: bool, where: str) -> Error:
    """The same, and where it can go on."""
    hint = problem.hint or (f"resume continues at {where}" if can_resume else "")
    return type(problem)(problem.message, problem.stage, hint)


def shard_of(shard) -> tuple[int, int]:
    if not isinstance(shard, (tuple, list)) or len(shard) != 2:
        raise TypeError(f"shard is {shard!r}, expected (i, n) with 0 <= i < n")
    i, n = (whole(part, "shard") for part in shard)
    if i >= n:
        raise ValueError(f"shard is {shard!r}, expected (i, n) with 0 <= i < n")
    return i, n


def as_asked(options: dict) -> bytes:
    """OPTIONS as JSON: a call is continued by one with the same."""
    return json.dumps(options, sort_keys=True, default=_text_of).encode()


def files_of(options: dict, names: Iterable[str] = ()):
    """The files that patches and steering of OPTIONS name, and the options NAMES where they are paths; and their number."""
    texts = edit_texts({name: options.get(name) for name in ("patch", "steer")}, [])
    others = [os.fsencode(options[name]) for name in names if isinstance(options.get(name), (str, os.PathLike))]
    call("attn_edit_texts_list_files", byref(texts.struct), (c_char_p * len(others))(*others), len(others))
    files = texts.struct.files[:texts.struct.n_file]
    return (c_char_p * len(files))(*files), len(files)


def _text_of(value):
    """What stands for VALUE where two calls are compared: of arrays their shape and bytes."""
    if isinstance(value, Edit):
        return vars(value)
    if hasattr(value, "_opened"):  # a model
        return value._opened
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    if isinstance(value, (range, os.PathLike)):
        return str(value)
    array = np.ascontiguousarray(value)
    return [str(array.dtype), list(array.shape), hashlib.sha256(array.tobytes()).hexdigest()]
