"""Questions about heads: methods of Model that return a Table. The manual says what their numbers answer."""
from __future__ import annotations

import math
from ctypes import POINTER, byref, c_uint64, c_void_p, string_at
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

import numpy as np

from . import binding as c
from .library import call, interruptible, lib, take_notes, terminated, warn_of
from .request import Request, choice, fill_answer, fill_input, ndarray, spec, texts
from .table import Table, table_of

if TYPE_CHECKING:
    from .model import Model

_PARTS = {"heads": c.ATTN_ABLATE_HEADS, "attn": c.ATTN_ABLATE_ATTN, "mlp": c.ATTN_ABLATE_MLP,
          "layers": c.ATTN_ABLATE_LAYERS}
_WITH = {"zero": c.ATTN_ABLATE_WITH_ZERO, "mean": c.ATTN_ABLATE_WITH_MEAN, "resample": c.ATTN_ABLATE_WITH_RESAMPLE,
         "uniform": c.ATTN_ABLATE_WITH_UNIFORM}


def _inputs(values, what: str, keep: list):
    items = list(values)
    array = (c.attn_input * len(items))()
    for item, value in zip(array, items):
        fill_input(item, value, what, keep)
    keep.append(array)
    return array, len(items)


def _texts(args, texts, keep: list) -> None:
    """Many texts instead of one, where they are given."""
    if texts is not None:
        args.texts, args.n_text = _inputs(texts, "texts", keep)


def _ask(model: Model, name: str, request: Request, args, *sums) -> Table:
    """Calls an experiment: (host, request, args, table, sums..., err)."""
    host, table = model._use(), c_void_p()

    def compute():
        call(name, host.pointer, byref(request.struct), byref(args), byref(table), *map(byref, sums))
        result = table_of(table)
        result.notes = take_notes() + request.notes
        return result

    result = interruptible(compute, host.cancel)
    warn_of(result.notes)
    for found in sums:
        for field, _ in found._fields_:
            value = getattr(found, field)
            result.info[field] = value.decode() if isinstance(value, bytes) else value
    return result


def heads(self: Model, text=None, *, texts=None, probe: bool | int = False, repeats: int = 0, seed: int = 0, runs: int = 0,
          measures=None, pattern=None, from_=None, to=None, effect: bool = False, target=None, foil=None, at=None, metric: str = "auto",
          threshold: float = 0, sort: str | None = None, limit: int = 0, **options) -> Table:
    """What kind of head is each: a row a head, with entropy (nats), max, distance (tokens), self, previous, first,
    duplicate, induction, far (weights, 0 to 1) and type.

    texts       many texts instead of one: means, with columns NAME_sd
    probe       True or a length: random tokens, repeated `repeats` times; `runs`: means over so many, from `seed` on
    measures    these columns, "entropy,punctuation" or a list; "all"; default: all but punctuation
    pattern     [T, T] of one's own: columns mul and abs
    from_, to   positions or words: how much the rows of one look at the columns of the other
    effect      with target, foil, at, metric: change of the answer without the head
    sort, limit as Table.sort has them: a column, the largest first, and so many rows
    """
    request, args = Request(text, **options), c.ATTN_SURVEY_ARGS_DEFAULT()
    _texts(args, texts, request.keep)
    if probe is not False:
        args.has_probe, args.probe_length = True, 0 if probe is True else int(probe)
        args.probe_repeats, args.probe_seed, args.n_probe = repeats, seed, runs
    if measures is not None:
        found = c_uint64()
        call("attn_measures_parse", spec(measures, "measures"), byref(found))
        args.measures = found
    if pattern is not None:
        args.pattern = POINTER(c.attn_ndarray)(ndarray(pattern, "pattern", (2,), "[T, T]", request.keep))
    setattr(args, "from", spec(from_, "from_"))
    args.to, args.has_effect, args.threshold = spec(to, "to"), effect, threshold
    args.sort, args.n_most = sort and terminated(sort, "sort"), limit
    fill_answer(args.answer, request.keep, target, foil, at, metric)
    return _ask(self, "attn_survey", request, args)


def ablate(self: Model, text=None, *, texts=None, target=None, foil=None, at=None, metric: str = "auto", parts: str = "heads",
           sets=None, with_: str = "zero", references=None, seed: int = 0, cumulative: bool = False, control: int = 0,
           **options) -> Table:
    """Does a part matter: the answer with one part after another switched off; the first row is the base.

    target, foil  texts of one token, or ids; at: the position whose next token is meant, default the last
    metric        logit_diff (default with a foil), log_prob (default, nats), logit, prob, kl (nats), ce (nats)
    parts         "heads", "attn", "mlp", "layers", "neurons:L"
    sets          heads that are switched off together, a row each, instead of single heads: {"copying": "3.2,3.5"}, or
                  a list of heads
    with_         "zero", "mean", "resample", "uniform" (of the keys a head sees); references: texts that means or rows
                  come from
    texts         many texts instead of one: means, with columns NAME_sd
    cumulative    switch off one more part in each row; control: so many random choices beside each
    """
    request, args = Request(text, **options), c.ATTN_ABLATE_ARGS_DEFAULT()
    _texts(args, texts, request.keep)
    name, _, layer = parts.partition(":")
    args.parts = c.ATTN_ABLATE_NEURONS if name == "neurons" and layer else choice(parts, _PARTS, "parts")
    args.layer = int(layer or 0)
    setattr(args, "with", choice(with_, _WITH, "with_"))
    if references is not None:
        args.references, args.n_reference = _inputs(references, "references", request.keep)
    args.seed, args.is_cumulative, args.n_control = seed, cumulative, control
    if sets is not None:
        named = sets.items() if hasattr(sets, "items") else [(None, value) for value in sets]
        items = [c.attn_ablate_set(heads=spec(value, "sets"), name=name and terminated(name, "sets")) for name, value in named]
        args.sets, args.n_set = (c.attn_ablate_set * len(items))(*items), len(items)
        request.keep.append(args.sets)
    fill_answer(args.answer, request.keep, target, foil, at, metric)
    return _ask(self, "attn_ablate", request, args, c.attn_ablate_sum())


def patch(self: Model, clean, corrupted, *, target=None, foil=None, at=None, metric: str = "auto",
          site: str = "resid_pre", direction: str = "denoise", **options) -> Table:
    """Where the difference between two texts lives: one run with a tensor of the other run instead of its own.

    site        resid_pre, resid_mid, resid_post, attn_out, mlp_out: rows [layer, position]; q, k, v, z, pattern: rows
                [layer, head]
    direction   "denoise": the corrupted run gets clean pieces, effect 1 restores the answer; "noise": the other way
    info        clean and corrupted: the metric of both runs
    """
    request, args = Request(clean, **options), c.ATTN_PATCH_ARGS_DEFAULT()
    fill_input(args.corrupted, corrupted, "corrupted", request.keep)
    args.site = terminated(site, "site")
    args.is_to_noise = bool(choice(direction, {"denoise": 0, "noise": 1}, "direction"))
    fill_answer(args.answer, request.keep, target, foil, at, metric)
    return _ask(self, "attn_patch", request, args, c.attn_patch_sum())


def lens(self: Model, text=None, *, texts=None, top: int = 3, target=None, heads_out: bool = False, **options) -> Table:
    """What each layer already knows: the most probable next tokens of the residual stream after each layer.

    texts       many texts instead of one: means
    target      one token instead: its rank (from 1), prob and logit
    heads_out   what each head adds to the stream is read alone
    queries     positions, default the last; sites may add resid_mid and resid_post
    """
    request, args = Request(text, **options), c.ATTN_LENS_ARGS_DEFAULT()
    _texts(args, texts, request.keep)
    args.top, args.reads_heads = top, heads_out
    fill_answer(args.answer, request.keep, target)
    return _ask(self, "attn_lens", request, args)


def attribute(self: Model, text=None, *, texts=None, target, foil=None, at=None, by_token: bool = False, limit: int = 0,
              **options) -> Table:
    """Who wrote the logit of `target` (minus that of `foil`): direct logit attribution, one row per part of the model.

    texts       many texts instead of one: means, with the column logit_sd
    by_token    each head by the key that it read from; limit: so many rows, default 20
    """
    request, args = Request(text, **options), c.ATTN_ATTRIBUTE_ARGS_DEFAULT()
    _texts(args, texts, request.keep)
    args.by_token, args.n_most = by_token, limit
    fill_answer(args.answer, request.keep, target, foil, at)
    return _ask(self, "attn_attribute", request, args)


def score(self: Model, text=None, *, texts=None, stride: int = 0, merge_words: bool = False, **options) -> Table:
    """How surprising each token is: bits, nats, rank (from 1), the most probable token at its position.

    texts       many texts instead of one: one row, with means over the texts
    stride      a longer text is scored in windows of n_ctx that move by so many positions
    info        n_token, nats (their sum), perplexity
    """
    request, args, found = Request(text, **options), c.ATTN_SCORE_ARGS_DEFAULT(), c.attn_score_sum()
    _texts(args, texts, request.keep)
    args.stride, args.merges_words = stride, merge_words
    table = _ask(self, "attn_score", request, args, found)
    table.info["perplexity"] = math.exp(found.nats / found.n_token) if found.n_token else math.nan
    return table


def diff(self: Model, a, b=None, *, with_model: Model | None = None, with_attention: str | None = None,
         **options) -> Table:
    """What differs between two texts, or in one text under another model or kind of attention: total variation
    (tv_mean, tv_max, 0 to 1) and Jensen-Shannon divergence (js, nats) of the rows of each head."""
    request, args = Request(a, **options), c.ATTN_DIFF_ARGS_DEFAULT()
    other = Request(a if b is None else b, **({**options, "attention": with_attention} if with_attention else options))
    host = with_model._use() if with_model is not None else None
    args.host = host.pointer if host else None
    args.request = POINTER(c.attn_request)(other.struct)
    table = _ask(self, "attn_diff", request, args, c.attn_diff_sum())
    del host
    return table


def similarity(self: Model, text, *, limit: int = 0, **options) -> Table:
    """Which heads look at the same places: js, the Jensen-Shannon divergence (nats, 0 to ln 2) of the rows of two heads,
    their mean over the text; one row per pair of heads, those that are most alike first.

    limit       so many rows, default all
    """
    request, host, table = Request(text, **options), self._use(), c_void_p()

    def compute():
        call("attn_similarity", host.pointer, byref(request.struct), limit, byref(table))
        return table_of(table)

    return interruptible(compute, host.cancel)


class Comparison(NamedTuple):
    """What Model.compare found.

    heads   one row per head: its difference from exact attention, alone (local) and carried through the model (propagated)
    costs   one row per layer: pairs, bytes and seconds of both
    logits  one row per position: kl in nats, the most probable next token of both
    """

    heads: Table
    costs: Table
    logits: Table


def compare(self: Model, text, *, attention: str, recalled: int = 5, **options) -> Comparison:
    """How far a kind of attention, as "window:64", is from exact attention on a text, and what both cost.

    recalled    K of the column recall: the share of the K largest weights of a row that are kept
    """
    request, host, run = Request(text, attention=attention, **options), self._use(), c_void_p()

    def compute():
        found, table, tables = POINTER(c.attn_comparison)(), c_void_p(), []
        call("attn_run_prepare", host.pointer, byref(request.struct), byref(run))
        try:
            call("attn_compare", run, recalled, byref(found))
            for part in (c.ATTN_COMPARISON_HEADS, c.ATTN_COMPARISON_COSTS, c.ATTN_COMPARISON_LOGITS):
                call("attn_comparison_tabulate", found, part, lib.attn_run_labels(run), self._tokenizer(host), byref(table))
                tables.append(table_of(table))
            return Comparison(*tables)
        finally:
            lib.attn_comparison_free(found)
            lib.attn_run_free(run)

    return interruptible(compute, host.cancel)


class Generation(NamedTuple):
    """What Model.generate made. text: str, None without a tokenizer; ids int64 [n] and log_probabilities float64 [n],
    natural, of the tokens that were made; prompt_ids int64; end: "length", "context", "end_of_text" or "stop"."""

    text: str | None
    ids: np.ndarray
    log_probabilities: np.ndarray
    prompt_ids: np.ndarray
    end: str


def generate(self: Model, text, n: int = 20, *, temperature: float = 0, top_k: int = 0, top_p: float = 0,
             min_p: float = 0, seed: int = 0, stop=(), on_token: Callable[[int, str], Any] | None = None,
             **options) -> Generation:
    """Continues a text by up to n tokens: the most probable ones, or with a temperature drawn by `seed`.

    on_token    is called with (id, text) as each is made; at the end perhaps with id -1 and text that had waited
    """
    request, args = Request(text, **options), c.ATTN_GENERATE_ARGS_DEFAULT()
    args.n_most, args.temperature, args.top_k, args.top_p = n, temperature, top_k, top_p
    args.min_p, args.seed = min_p, seed
    if stop:
        args.stops, args.n_stop = texts(stop, "stop", request.keep)
    problems: list[BaseException] = []

    @c.attn_token_fn
    def hear(_user, id, address, size, error):
        try:
            on_token(id, string_at(address, size).decode("utf-8", "replace") if address else "")
        except BaseException as problem:
            problems.append(problem)
            return lib.attn_error_set(error, c.ATTN_CANCELED, b"a callback ended the generation")
        return c.ATTN_OK

    if on_token:
        args.on_token = hear
    host, made = self._use(), c.attn_generation()

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
    return Generation(text, ids[made.n_prompt:], np.array(made.log_probabilities[:made.n], np.float64),
                      ids[:made.n_prompt], lib.attn_generation_end_text(made.end).decode())
