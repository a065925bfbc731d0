"""Questions about heads: methods of Model that return a Table. The manual says what their numbers answer."""
from __future__ import annotations

import functools
import math
from ctypes import POINTER, addressof, byref, c_size_t, c_void_p, cast, string_at
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

import numpy as np

from . import asking
from . import binding as c
from .errors import Error
from .items import OPTIONS as STUDY_OPTIONS
from .items import study_of
from .library import call, default, interruptible, lib, take_notes, terminated, warn_of
from .listing import align_items, generate_items
from .params import default_of, fill
from .request import Request
from .table import Table, drawn_of, table_of
from .values import PARTS, called, fill_pair, flag, listed, refuse_parts, refuse_unused, whole

if TYPE_CHECKING:
    from .host import Host
    from .model import Model


def _is_text(text, options: dict) -> bool:
    return text is not None or any(options.get(name) is not None for name in ("image", "messages"))


def _need_text(text, options: dict) -> None:
    if not _is_text(text, options):
        raise TypeError("there is no text, expected one of a text, image, messages")


def _share_pair(question: _Question, other: c.attn_input) -> None:
    """Gives OTHER, the second of two texts, what goes with the first."""
    parts, source = question.request.parts, question.request.struct.source
    if source.text or source.ids or source.embeddings:  # the mask is of its keys
        parts = {**parts, "key_mask": None}
    fill_pair(other, c.attn_input(), question.keep, **parts)


def is_asked(value):
    """Whether an argument that takes the place of a text is given; an array, which is wrong, is."""
    return value is not None and value is not False and not (isinstance(value, str) and value == "none")


class _Question:
    """What is asked about a text, or about items: its request, and the host that answers."""

    def __init__(self, model: Model, text, options: dict, given: dict, *used: str):
        """GIVEN are the variables of the method, which are its arguments. USED says what is used of a selection."""
        refuse_unused(options, *used)
        places = ("items", "items_format", "bootstrap", "interval", "cluster", "contrast", "fdr", "max_errors", "shard", "each", "resume",
                  "sort", "limit", "where", "columns")
        self.given = {name: value for name, value in {**given, **options}.items()
                      if name not in ("self", "options", *places)}
        self.sort, self.limit = _order_of(given.get("sort"), given.get("limit"))  # of the table
        self.where, columns = given.get("where"), given.get("columns")
        if not isinstance(self.where, (dict, type(None))):
            raise TypeError(f"where is {type(self.where).__name__}, expected a dict of columns and their values")
        self.columns = columns.split(",") if isinstance(columns, str) else listed(columns, "columns", "names of columns")
        for name in self.columns:
            if not isinstance(name, str):
                raise TypeError(f"columns holds {name!r}, expected names of columns")
        options = dict(options)
        is_of_items = options.get("items") is not None
        self.model, self.host, self.text = model, model._use_for_many() if is_of_items else model._use(), text
        self.study = study_of(self.host, options, self.given)
        self.options = {name: value for name, value in options.items() if name != "sites"}  # of a run that labels positions
        inputs = {"a text": _is_text(text, options), "items": is_of_items, "a probe": given.get("probe") is not None,
                  **{name: is_asked(given.get(name)) for name in ("from_weights", "composition", "svd")}}
        found = [name for name, is_given in inputs.items() if is_given]
        if len(found) > 1:
            raise TypeError(f"{' and '.join(found)} are given, expected one of them")
        if not found:
            raise TypeError("there is no text, expected one of a text, image, messages, items")
        if not inputs["a text"]:
            refuse_parts(options, PARTS, "one of them")
        self.request = Request(text, **options).check_stacks(self.host)
        self.keep = self.request.keep

    def answer(self, name: str, args, *sums, text=None) -> Table:
        """Asks the question NAME; SUMS are the struct of what it finds beside its table. A picture shows TEXT instead of the
        request's."""
        table, study = c_void_p(), self.study
        asked = c.attn_question_call(name.encode(), self.host.pointer, POINTER(c.attn_request)(self.request.struct),
                                      cast(byref(args), c_void_p))
        if study:
            c_size_t.from_buffer(args, asking.ROWS[name].study).value = addressof(study.args)

        def compute():
            call("attn_question_ask", byref(asked), byref(table), byref(sums[0]) if sums else None)
            drawn = drawn_of(asked, table, text)
            result = table_of(table)
            result.notes, result._drawn = take_notes() + self.request.notes, drawn
            if drawn.get("traits", 0) & c.ATTN_VIEW_TOKENS and not study:
                result._use_labels = functools.partial(_with_labels, self.model, [self.text], self.options)
            return result

        try:
            result = interruptible(compute, self.host.cancel)
        except Error as problem:
            if study:
                raise study.failure(problem, self.request.notes) from None
            raise
        warn_of(result.notes)
        if study:
            result.info, result._n_group = study.info(), study.sum.n_label
            study.warn(result.notes)
            return self.ordered(result)
        for found in sums:
            for field, *_ in found._fields_:
                value = getattr(found, field)
                result.info[field] = value.decode() if isinstance(value, bytes) else value
        return self.ordered(result)

    def ordered(self, table: Table) -> Table:
        """TABLE with the rows and columns that are asked for, in their order."""
        for what, names in (("where", self.where or ()), ("columns", self.columns)):
            for name in names:
                if name not in table.columns:
                    raise ValueError(f"{what} has {name!r}: the columns are {', '.join(table.columns)}")
        table = table.where(**self.where) if self.where else table
        table = table.sort(self.sort, self.limit) if (self.sort is not None or self.limit) and len(table) else table
        return table.select(*self.columns) if self.columns else table


def _order_of(sort, limit) -> tuple[str | None, int]:
    """What Table.sort takes, checked before anything is computed."""
    if sort is not None:
        terminated(sort, "sort")
    return sort, 0 if limit is None else whole(limit, "limit")


def ask(name: str, model: Model, text, given: dict) -> Any:
    """Asks the question NAME of the library. GIVEN are the variables of the method, which are its arguments."""
    row, options, prompt = asking.ROWS[name], given["options"], text
    of_request = asking.of_request(row)
    if name == "align" and options.get("items") is not None and not flag(given["evaluate"], "evaluate"):
        if text is not None:
            raise TypeError("a text and items are given, expected one of them")
        refuse_unused(options)
        asking.check(row, {**given, **options})
        if given["sort"] is not None or given["limit"] is not None:
            raise TypeError(f"{'sort' if given['sort'] is not None else 'limit'} needs evaluate=True: each item has its own links")
        keep: list = []
        return align_items(model, asking.arguments(row, given, keep), options)
    if name == "attribute" and (given["generated"] is not None or given["continuation"] is not None):
        asking.check(row, {**given, **options})
        if options.get("items") is None:
            text, n_target = _continued(model, text, given["generated"], given["continuation"], options)
        else:
            options["continuation"] = given["continuation"]
    used = {key: given[key] for key in (*of_request, "positions") if given.get(key) is not None}
    own = {key: value for key, value in given.items() if key not in of_request}
    question = _Question(model, text, {**options, **used}, own, *of_request)
    asking.check(row, {**given, **options})
    if name == "patch" and (question.study or given["corrupted_image"] is not None and given["corrupted"] is None):
        given = {**given, "corrupted": None}  # each item has its own, and a picture is instead of it
    elif name == "patch" and given["corrupted"] is None:
        raise TypeError("corrupted is missing: expected a text, token ids or embeddings")
    args = asking.arguments(row, given, question.keep)
    if text is not prompt:
        args.n_target = n_target
    if name in _ASKED:
        return _ASKED[name](question, args, given)
    kind = getattr(c, f"attn_{name}_sum", None)
    return question.answer(name, args, *([default(kind)] if kind else ()))


def _ask_score(question: _Question, args, _given: dict) -> Table:
    found = default(c.attn_score_sum)
    table = question.answer("score", args, found)
    if not question.study:
        table.info["perplexity"] = math.exp(found.nats / found.n_token) if found.n_token else math.nan
    return table


def _ask_patch(question: _Question, args, given: dict) -> Table:
    found, corrupted, options = default(c.attn_patch_sum), given["corrupted"], given["options"]
    if given["estimate"] is not None and given["site"] == "mlp_post":  # the library keeps the largest of a pair, items have all
        question.sort = question.sort or ("estimate" if question.study else None)
        question.limit = question.limit or 20 if question.study else 0
    if corrupted is not None:
        _share_pair(question, args.corrupted)
    if given["corrupted_source"] is not None:
        fill_pair(args.corrupted_source, args.corrupted_source, question.keep, key_mask=options.get("key_mask"))
    table = question.answer("patch", args, found)
    if question.study:
        return table
    table.info = _patch_info(found, given["estimate"] is not None)
    if given["positions"] is None:
        labelled = [question.text] if corrupted is None else [question.text, corrupted]
        table._use_labels = functools.partial(_with_labels, question.model, labelled, {**options, "queries": None})
    return table


def _patch_info(found, is_estimated: bool) -> dict:
    """The numbers beside a table of patches, or of estimates."""
    exact = ("clean", "corrupted", "n_row", "n_feed")
    info = {name: getattr(found, name) for name, *_ in found._fields_
            if (name != "n_row" if is_estimated else name in exact)}
    return {name: {field: getattr(value, field) for field, *_ in value._fields_}
            if isinstance(value, c.attn_estimate_check) else value for name, value in info.items()}


def _ask_attribute(question: _Question, args, given: dict) -> Table:
    if given["by"] == "token" and question.sort is not None:
        args.n_most = 2**64 - 1  # rows that another column sorts must not be lost before
    is_continued = given["generated"] or given["continuation"] is not None
    return question.answer("attribute", args, text=given["text"] if is_continued else None)


def _ask_diff(question: _Question, args, given: dict) -> Table:
    b, attention, options, other = given["b"], given["with_attention"], given["options"], given["with_model"]
    if other is not None and not hasattr(other, "_use"):
        raise TypeError(f"with_model is {type(other).__name__}, expected a Model, as attn.open gives it")
    if attention is not None and not (isinstance(attention, str) and terminated(attention, "with_attention")):
        raise TypeError(f"with_attention is {type(attention).__name__}, expected text, as in 'window:64'")
    image = given["with_image"]
    is_one = other is not None or attention is not None or image is not None
    if is_one and b is not None:
        raise TypeError("with_model, with_attention and with_image compare one text, two are given")
    if not question.study and not is_one and b is None:
        raise TypeError("there is one text, expected a second, with_model, with_attention or with_image")
    options = {name: value for name, value in options.items() if name not in STUDY_OPTIONS}
    if image is not None:
        options["image"] = image
    second = Request(question.text if b is None else b, **({**options, "attention": attention} if attention else options))
    host = other._use() if other is not None else None
    args.host = host.pointer if host else None
    if not question.study or attention:
        args.request = POINTER(c.attn_request)(second.struct)
    found = default(c.attn_diff_sum)
    table = question.answer("diff", args, found)
    del host
    if found.n_token:  # means over the tokens
        kl, same, *nats = (x / found.n_token for x in (found.kl, found.n_same_top, found.nats, found.other_nats))
        table.info.update(n_token=found.n_token, kl=kl, same_top=same, perplexity=math.exp(nats[0]), other_perplexity=math.exp(nats[1]))
    return table


def _ask_align(question: _Question, args, given: dict) -> Table:
    source = question.request.struct.source.embeddings
    if not source or source.contents.rank != 1:  # no sound
        return question.answer("align", args)
    other = [name for name, usual in ALIGN_DEFAULTS.items() if given[name] != usual]
    if other:
        raise TypeError(f"{other[0]} has no effect on times of words in a sound")
    table = c_void_p()

    def compute():
        call("attn_speech_times", question.host.pointer, byref(question.request.struct), args.heads.text, byref(table))
        result = table_of(table)
        result.notes = take_notes() + question.request.notes
        return result

    result = interruptible(compute, question.host.cancel)
    warn_of(result.notes)
    return question.ordered(result)


def _ask_heads(question: _Question, args, given: dict) -> Table:
    """Probes have two parameters more."""
    for param, at in asking.all_of(asking.ROWS["heads"]):
        name = param.name.decode()
        if name in ("probe", "runs") and given.get(name) is not None:
            fill(args, at, param, "kind" if name == "probe" else name, given[name], question.keep)
    return question.answer("heads", args)


# How links are made, which times of words do not have.
ALIGN_DEFAULTS = {"method": None, "layers": None, "shifted": False, "by": "token", "template": None, "soft": False, "evaluate": False,
                  "gold": None}
# Those that do more than ask.
_ASKED = {"align": _ask_align, "attribute": _ask_attribute, "diff": _ask_diff, "heads": _ask_heads, "patch": _ask_patch,
          "score": _ask_score}


def _with_labels(model: Model, texts: list, options: dict, use: Callable, *arguments) -> None:
    """Calls USE with the labels of runs of TEXTS last: their tokens."""
    host, runs, labels = model._use(), [], []
    try:
        for text in texts:
            request, run = Request(text, **options).check_stacks(host), c_void_p()
            call("attn_run_prepare", host.pointer, byref(request.struct), byref(run))
            runs.append((run, request))
            labels.append(lib.attn_run_labels(run))
        use(*arguments, *labels)
    finally:
        for run, _ in runs:
            lib.attn_run_free(run)


def _continued(model: Model, text, generated: int | None, continuation: str | None, options: dict) -> tuple[list[int], int]:
    """The ids of TEXT and of what follows it, and the number of the latter."""
    if text is None:
        raise TypeError("generated and continuation follow one text")
    generated = 0 if generated is None else whole(generated, "generated", 1)
    request, made = Request(text, **options), default(c.attn_generation)
    host = model._use()
    request.check_stacks(host)

    def compute():
        call("attn_attribute_continue", host.pointer, byref(request.struct), generated,
             None if continuation is None else terminated(continuation, "continuation"), byref(made))
        try:
            return list(made.ids[:made.n_prompt + made.n]), made.n
        finally:
            lib.attn_generation_release(byref(made))

    return interruptible(compute, host.cancel)


def probe(self: Model, kind: str, *, runs: int | None = None, **options) -> Table:
    """What each head does on random tokens, as `attn-cli probe`.

    kind        "induction[:LEN[:REPEATS[:SEED]]]", "needle[:LEN[:DEPTH[:SEED]]]" or "texts"
    runs        make so many probes with consecutive seeds, and give means and standard deviations
    options     those of heads
    """
    given = {name: default_of(param) for name, param, _ in asking.parameters(asking.ROWS["heads"])}
    given |= dict.fromkeys(("sort", "limit", "where", "columns"))
    own = {name: options.pop(name) for name in [*options] if name in given}
    terminated(kind, "kind")
    return ask("heads", self, None, {**given, **own, "text": None, "options": options, "probe": kind, "runs": runs})


class Generation(NamedTuple):
    """What Model.generate made. continuation: str, None without a tokenizer; continuation_ids int64 [n] and log_probs
    float64 [n], natural, of the tokens that were made; ids int64, of the input; end: "length", "context", "end_of_text"
    or "stop"."""

    continuation: str | None
    continuation_ids: np.ndarray
    log_probs: np.ndarray
    ids: np.ndarray
    end: str


def generate(self: Model, text=None, n: int = 20, *, temperature: float = 0, top_k: int | None = None,
             top_p: float | None = None, min_p: float = 0, seed: int = 0, stop=(), on_token: Callable[[int, str], Any] | None = None,
             **options) -> Generation:
    """Continues a text by up to n tokens: the most probable ones, or with a temperature drawn by `seed`.
    A model that reads a source translates `source` without a text.

    on_token    is called with (id, text) as each is made; at the end perhaps with id -1 and text that had waited
    items       many items instead of a text, as of ablate: a list with a dict for each, its id, labels, text, continuation,
                continuation_ids and log_probs, or error, which are items again. Item i, from 0, is drawn with seed + i
    """
    given, has_items = locals(), options.get("items") is not None
    called(on_token, "on_token")
    if has_items == any(value is not None for value in (text, options.get("source"), options.get("messages"))):
        raise TypeError("expected a text, messages or items, or a source to translate")
    refuse_unused(options)
    request = Request(text, **({} if has_items else options))
    keep: list = []
    whole(n, "n", 1)
    args = asking.arguments(asking.ROWS["generate"], given, keep)
    if has_items:
        if on_token is not None:
            raise TypeError("on_token goes with one text")
        return generate_items(self, args, options)
    problems: list[BaseException] = []

    @c.attn_token_fn
    def hear(_user, id, address, size, error):
        try:
            on_token(id, string_at(address, size).decode("utf-8", "replace") if address else "")
        except BaseException as problem:
            problems.append(problem)
            return lib.attn_error_set(error, c.ATTN_CANCELED, b"a callback ended the generation")
        return c.ATTN_OK

    if on_token is not None:
        args.on_token = hear
    host, made = self._use(), default(c.attn_generation)
    request.check_stacks(host)

    def compute():
        try:
            call("attn_generate", host.pointer, byref(request.struct), byref(args), byref(made))
        except Exception:
            if problems:
                raise problems[0] from None
            raise
        try:
            return _generation(made)
        finally:
            lib.attn_generation_release(byref(made))

    generation = interruptible(compute, host.cancel)
    warn_of(request.notes)
    return generation


def _generation(made: c.attn_generation) -> Generation:
    text, address = None, c_void_p.from_buffer(made, c.attn_generation.text.offset).value
    if address:
        text = string_at(address, made.n_text).decode("utf-8", "replace")
    ids = np.array(made.ids[:made.n_prompt + made.n], np.int64)
    return Generation(text, ids[made.n_prompt:], np.array(made.log_probs[:made.n], np.float64),
                      ids[:made.n_prompt], lib.attn_generation_end_text(made.end).decode())
