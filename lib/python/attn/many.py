"""Many texts side by side: what Model.map does."""
from __future__ import annotations

import functools
import os
import queue
import threading
from ctypes import POINTER, addressof, byref, c_uint64, c_void_p, string_at
from typing import TYPE_CHECKING, Any, Iterable, Iterator

from . import binding as c
from .errors import Error, Note, UnsupportedError, error_of
from .library import call, callback, default, lib, path_bytes, reader, terminated, warn_of
from .request import Request
from .result import Predictions, Result, places_of, predictions_of, tensors_of
from .values import PARTS, choice, fill_continuation, fill_image, fill_input, fill_pair, refuse_parts, spec

if TYPE_CHECKING:
    from .host import Host
    from .model import Model

WINDOW = 1024  # at most so many texts are read ahead of the result that is taken
HELD = 64 << 20  # at most so many bytes of tensors wait to be taken, beside those of one hand-over
TOGETHER = 32  # at most so many results are handed over at once: each hand-over wakes a thread

MEASURES = {lib.attn_measure_name(measure).decode(): measure for measure in range(64) if lib.attn_measure_name(measure)}
_OVER = object()
_READ = {"text", "ids", "image", "continuation", "neutral", "source", "id", *PARTS}  # what is read of a dict; the rest are labels
_found = reader(c.attn_item_result, "item", "is_followed", "failure", "n_token", "labels", "capture", "heads.measures",
                "heads.n_layer", "heads.n_head")


class _Many:
    """A run over many texts, in a thread of its own, with what is handed over to it and from it."""

    def __init__(self, host: Host, request: Request, options: c.attn_many_options, again, raises: bool):
        self.host, self.request, self.options, self.again, self.raises = host, request, options, again, raises
        self.inputs: queue.SimpleQueue = queue.SimpleQueue()
        self.results: queue.SimpleQueue = queue.SimpleQueue()
        self.room = threading.Condition()
        self.n_byte_held = self.n_byte_ready = self.n_note = self.n_given = 0
        self.is_closing = False
        self.problem: BaseException | None = None
        self.kept: dict[int, tuple[Any, list]] = {}  # by the address of an item: its text, it, and what it points to
        self.ready: list = []  # results that are handed over with the next ones
        self.places: dict | None = None  # which tensors there are: the same of all
        self.has_pairs: bool | None = None  # of layers: those of the decoder, and of cross-attention
        self.keeps_tensors, self.has_queries = options.keeps_tensors, bool(request.struct.selection.queries.text)
        asked = request.struct.predict
        self.has_predictions = bool(asked.top or asked.n_next or asked.n_next_ids or asked.n_label)
        self.names = [name for name, measure in MEASURES.items() if options.measures >> measure & 1]
        self.calls = c.attn_item_calls(callback(c.attn_next_fn, self.next), callback(c.attn_done_fn, self.done))
        self.calls.on_end = type(self.calls.on_end)(self.on_end)
        self.thread = threading.Thread(target=self.compute, name="attn.map", daemon=True)
        self.thread.start()

    # --- In the thread ---

    def compute(self):
        try:
            call("attn_run_many", self.host.pointer, byref(self.options), byref(self.calls))
        except BaseException as problem:
            if self.problem is None:
                self.problem = problem
        self.results.put((self.ready, 0))
        self.results.put(None)

    def next(self, _user, given, error):
        try:
            item = self.inputs.get()
            if item is _OVER:
                return c.ATTN_OK
            record = c.attn_item(number=self.n_given)
            self.n_given += 1
            keep: list = []
            self.fill(record, item, keep)
            self.kept[addressof(record)] = item, record, keep
            c_void_p.from_address(given).value = addressof(record)
        except BaseException as problem:
            return self.fail(problem, error)
        return c.ATTN_OK

    def fill(self, record, item, keep):
        """Puts ITEM into RECORD; of what cannot be a text, why, where such results are kept."""
        text, source = (item.get("text", item.get("ids")), item.get("source")) if isinstance(item, dict) else (item, None)
        parts = {name: item.get(name) for name in PARTS} if isinstance(item, dict) else {}
        image, continuation = (item.get("image"), item.get("continuation")) if isinstance(item, dict) else (None, None)
        failure = c.ATTN_REASON_BAD_IMAGE if image is not None and text is None else _failure_of(text)
        try:
            if text is not None or image is None:
                fill_input(record.input, text, "text", keep)
            if text is not None and isinstance(image, (str, bytes, os.PathLike)):  # models of texts ignore it
                keep.append(path_bytes(image, "image"))
                record.images[0] = keep[-1]
            elif image is not None:
                fill_image(record.input, image, "image", keep)
            if continuation is not None and text is not None:
                fill_continuation(record.input, continuation, keep)
            if isinstance(item, dict) and isinstance(item.get("neutral"), str):
                record.neutral.text = terminated(item["neutral"], "neutral")
            if source is not None:
                failure = c.ATTN_REASON_BAD_SOURCE
                fill_input(record.source, source, "source", keep)
            failure = c.ATTN_REASON_BAD_VALUE
            if isinstance(item, dict):
                _refuse_questions(item)
            fill_pair(record.input, record.source, keep, **parts)
        except (TypeError, ValueError, OverflowError, UnsupportedError) as problem:
            if self.raises:
                raise
            record.failure = failure
            record.err.status = c.ATTN_UNSUPPORTED if isinstance(problem, UnsupportedError) else c.ATTN_INVALID
            message = " ".join(str(problem).split()).encode("utf-8", "replace")
            record.err.message = message[:c.ATTN_ERROR_MESSAGE_SIZE - 1]

    def done(self, _user, found, error):
        try:
            is_followed, result = self.result_at(found)
            self.ready.append(result)
            if self.keeps_tensors:
                self.n_byte_ready += sum(array.nbytes for array in result._tensors.values())
            if self.is_closing:
                return self.end(error, b"the results are not wanted any more")
            if not is_followed or len(self.ready) >= TOGETHER or self.n_byte_ready > HELD // 8:
                self.hand_over()
        except BaseException as problem:
            return self.fail(problem, error)
        return c.ATTN_OK

    def hand_over(self):
        """Gives the results that are ready to the caller's thread, once there is room for them."""
        ready, size = self.ready, self.n_byte_ready
        self.ready, self.n_byte_ready = [], 0
        with self.room:
            self.room.wait_for(lambda: self.is_closing or not self.n_byte_held or self.n_byte_held + size <= HELD)
            self.n_byte_held += size
        self.results.put((ready, size))

    def on_end(self, _user):
        self.inputs.put(_OVER)

    def fail(self, problem, error):
        self.problem = problem
        return self.end(error, b"a callback ended the run")

    def end(self, error, why: bytes):
        return lib.attn_error_set(c.attn_error.from_address(error), c.ATTN_CANCELED, why)

    def result_at(self, found: int) -> tuple[bool, Result]:
        """Whether another follows at once, and what struct attn_item_result at FOUND holds, copied: the library frees
        it after the call."""
        record, is_followed, failure, n_token, labels, capture, measures, n_layer, n_head = _found(found)
        item, _, _ = self.kept.pop(record)
        result = Result()
        if isinstance(item, dict):
            result.id = item.get("id")
            result.labels = {key: value for key, value in item.items() if key not in _READ}
        if failure:
            result.error = error_of(c.attn_item_result.from_address(found).err)
            result.error.stage = result.error.stage or "input"
            result.error.code = lib.attn_reason_text(failure).decode()
            return is_followed, result
        result._again = self.again, (item, bool(c.attn_labels.from_address(labels).pixels))
        result._read_labels(labels, n_token, self.has_queries, self.host.texts)
        if self.keeps_tensors:
            selection = c.attn_labels.from_address(labels).selection
            if self.places is None:
                self.places = places_of(selection)
            lent = tensors_of(capture, selection, self.places, None)
            result._heads, result._tensors = self.places, {place: array.copy() for place, array in lent.items()}
        if measures:
            size = 4 * len(self.names) * n_layer * n_head
            if self.has_pairs is None:
                dims = lib.attn_selection_dims(c.attn_labels.from_address(labels).selection).contents
                self.has_pairs = dims.has_pairs
            shape = (n_layer // 2, 2, n_head) if self.has_pairs else (n_layer, n_head)
            result._measures = self.names, shape, string_at(measures, size)
        if self.has_predictions:
            result.predictions = _predictions(c.attn_item_result.from_address(found).predictions)
        return is_followed, result

    # --- In that of the caller ---

    def take(self) -> list | None:
        """The next results; None when there are no more."""
        taken = self.results.get()
        if taken is None:
            return None
        results, size = taken
        if size:
            with self.room:
                self.n_byte_held -= size
                self.room.notify()
        return results

    def take_notes(self) -> list[Note]:
        """What was noted since."""
        notes = self.request.notes[self.n_note:]
        self.n_note += len(notes)
        return notes

    def close(self, is_interrupted: bool):
        """Ends what still runs, and waits for it."""
        with self.room:
            self.is_closing = True
            self.room.notify()
        self.inputs.put(_OVER)
        if is_interrupted:
            self.host.cancel.value = 1
        self.thread.join()
        if is_interrupted:
            self.host.cancel.value = 0


def _refuse_questions(item: dict) -> None:
    """ITEM may be one of a study, which asks something of the next token."""
    for name in ("target", "foil", "at", "metric", "next"):
        if name in item:
            raise TypeError(f"a text has '{name}', which map does not ask: give it to run, or the dicts as items to score, "
                            "ablate, lens or another question")


def _failure_of(text) -> int:
    """Why a record fails whose text is TEXT, if it cannot be one."""
    if isinstance(text, (str, bytes, bytearray)):
        return c.ATTN_REASON_BAD_TEXT
    return c.ATTN_REASON_BAD_IDS if hasattr(text, "__len__") else c.ATTN_REASON_NO_TEXT


def run_many(model: Model, host: Host, texts: Iterable, *, sites=None, measures=None, on_error: str = "raise",
             **options) -> Iterator[Result]:
    """See Model.map. What is asked for is checked at once, and texts are read when the first result is."""
    raises = bool(choice(on_error, {"keep": 0, "raise": 1}, "on_error"))
    if isinstance(texts, (str, bytes, bytearray, memoryview)):
        raise TypeError("texts is one text or array, expected many")
    try:
        texts = iter(texts)
    except TypeError:
        raise TypeError(f"texts is {type(texts).__name__}, expected many texts") from None
    refuse_parts(options, ("image", "source", *PARTS), "a dict")
    request = Request(None, sites=sites, **options).check_stacks(host)
    how = default(c.attn_many_options)
    how.request, how.keeps_tensors = POINTER(c.attn_request)(request.struct), sites is not None and request.keeps_tensors
    if measures is not None:
        bits = c_uint64()
        call("attn_measures_parse", spec(measures, "measures"), byref(bits))
        how.measures = bits.value
    again = functools.partial(_draw, model._draw, dict(options, sites=sites))
    return _results(texts, host, request, how, again, raises)


def _results(texts: Iterator, host, request, how, again, raises) -> Iterator[Result]:
    running = _Many(host, request, how, again, raises)
    n_inside, n_seen, is_read, is_interrupted = 0, 0, False, False
    try:
        while True:
            while not is_read and n_inside < WINDOW:
                try:
                    running.inputs.put(next(texts))
                    n_inside += 1
                except StopIteration:
                    is_read = True
                    running.inputs.put(_OVER)
            results = running.take()
            if results is None:
                break
            n_inside -= len(results)
            warn_of(running.take_notes())
            for result in results:
                n_seen += 1
                if raises and result.error is not None:
                    raise _placed(result.error, n_seen)
                yield result
        if running.problem is not None:
            raise running.problem
    except KeyboardInterrupt:
        is_interrupted = True
        raise
    finally:
        running.close(is_interrupted)


def _placed(problem: Error, number: int) -> Error:
    """The same, and which text it is about."""
    placed = type(problem)(problem.message, problem.stage, "; ".join(filter(None, (f"in text {number}", problem.hint))))
    placed.code = problem.code
    return placed


def _draw(draw, given: dict, again: tuple, *how) -> bytes | None:
    """Runs a text once more and writes: an item, and whether its picture was seen beside the text."""
    item, is_seen = again
    if isinstance(item, dict):
        text = item.get("text", item.get("ids"))
        names = ("source", *PARTS, *(("image", "continuation") if is_seen else ("continuation",) if text is not None else ("image",)))
        return draw({**given, "text": text, **{name: item[name] for name in names if item.get(name) is not None}}, *how)
    return draw({**given, "text": item}, *how)


# --- Parts of results -----------------------------------------------------------------------------


def _predictions(predictions: c.attn_predictions) -> Predictions:
    found = c.attn_result()
    found.predictions = predictions
    return predictions_of(found)
