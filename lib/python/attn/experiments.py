"""Questions about heads: methods of Model that return a Table. The manual says what their numbers answer."""
from __future__ import annotations

import functools
import math
import os
from ctypes import POINTER, byref, c_uint64, c_void_p, string_at
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

import numpy as np

from . import binding as c
from .errors import Error
from .items import OPTIONS as STUDY_OPTIONS
from .items import Texts, study_of
from .library import call, interruptible, lib, take_notes, terminated, warn_of
from .listing import align_items, generate_items
from .request import (PARTS, Request, choice, fill_answer, fill_image, fill_input, fill_pair, ndarray, places_of,
                      refuse_parts, refuse_unused, spec, texts, utf8, whole, with_points)
from .table import Table, drawn_of, table_of

if TYPE_CHECKING:
    from .host import Host
    from .model import Model

_PARTS = {"heads": c.ATTN_ABLATE_HEADS, "attn": c.ATTN_ABLATE_ATTN, "mlp": c.ATTN_ABLATE_MLP,
          "layers": c.ATTN_ABLATE_LAYERS}
_WITH = {"zero": c.ATTN_ABLATE_WITH_ZERO, "mean": c.ATTN_ABLATE_WITH_MEAN, "resample": c.ATTN_ABLATE_WITH_RESAMPLE,
         "uniform": c.ATTN_ABLATE_WITH_UNIFORM}
_METHODS = {"saliency": c.ATTN_ATTRIBUTE_SALIENCY, "grad_x_input": c.ATTN_ATTRIBUTE_GRAD_X_INPUT,
            "ig": c.ATTN_ATTRIBUTE_IG, "attnlrp": c.ATTN_ATTRIBUTE_ATTNLRP, "relevance": c.ATTN_ATTRIBUTE_RELEVANCE,
            "dla": c.ATTN_ATTRIBUTE_DLA, "attn_x_grad": c.ATTN_ATTRIBUTE_ATTN_X_GRAD, "relp": c.ATTN_ATTRIBUTE_RELP,
            "relevance_norm": c.ATTN_ATTRIBUTE_RELEVANCE_NORM, "causes": c.ATTN_ATTRIBUTE_CAUSES}
_BASELINES = {"auto": c.ATTN_BASELINE_AUTO, "mean": c.ATTN_BASELINE_MEAN, "zero": c.ATTN_BASELINE_ZERO,
              "mask": c.ATTN_BASELINE_MASK, "pad": c.ATTN_BASELINE_PAD, "grey": c.ATTN_BASELINE_GREY}
_DIRECTIONS = {"restore": 0, "noise": 1, "denoise": 0}  # the last one is the older name of the first
_ESTIMATES = {"atp": c.ATTN_PATCH_ATP, "relp": c.ATTN_PATCH_RELP, "ig": c.ATTN_PATCH_IG}
_PER = {"sum": c.ATTN_SCORE_PER_SUM, "token": c.ATTN_SCORE_PER_TOKEN, "word": c.ATTN_SCORE_PER_WORD}


def _inputs(values, what: str, keep: list):
    """Many texts, or dicts with `text`, `ids` or `image` and what goes with these."""
    if isinstance(values, (str, bytes, dict)):
        raise TypeError(f"{what} is one text, expected a list of texts")
    items = list(values)
    if not items:
        raise ValueError(f"{what} is empty")
    array = (c.attn_input * len(items))()
    for item, value in zip(array, items):
        given = value if isinstance(value, dict) else {"text": value}
        text = given.get("text", given.get("ids"))
        if text is None and given.get("image") is not None:
            fill_image(item, given["image"], what, keep)
        else:
            fill_input(item, text, what, keep)
        if given.get("source") is not None:
            raise ValueError(f"{what} holds a `source`, expected one for all")
        fill_pair(item, c.attn_input(), keep, **{name: given.get(name) for name in PARTS})
    keep.append(array)
    return array, len(items)


def _need_text(text, options: dict) -> None:
    if text is None and options.get("image") is None:
        raise TypeError("there is no text, expected one of a text, image")


def _refuse(needs: str, **given) -> None:
    """GIVEN are arguments that mean nothing without what is NEEDED, and whether they are given."""
    for name, is_given in given.items():
        if is_given:
            raise TypeError(f"{name} needs {needs}")


def _share_pair(question: _Question, other: c.attn_input) -> None:
    """Gives OTHER, the second of two texts, what goes with the first."""
    parts, source = question.request.parts, question.request.struct.source
    if source.text or source.ids or source.embeddings:  # the mask is of its keys
        parts = {**parts, "key_mask": None}
    fill_pair(other, c.attn_input(), question.keep, **parts)


class _Question:
    """What is asked about a text, or about items: its request, and the host that answers."""

    def __init__(self, model: Model, text, options: dict, given: dict, *used: str):
        """GIVEN are the variables of the method, which are its arguments. USED says what is used of a selection."""
        refuse_unused(options, *used)
        places = ("items", "bootstrap", "interval", "cluster", "contrast", "fdr", "max_failed", "shard", "each", "resume",
                  "sync", "sort", "limit")
        self.given = {name: value for name, value in {**given, **options}.items()
                      if name not in ("self", "options", *places)}
        options = dict(options)
        is_of_items = options.get("items") is not None
        self.model, self.host, self.text = model, model._use_for_many() if is_of_items else model._use(), text
        self.study = study_of(self.host, options)
        self.n_text = 0  # of `texts`
        is_text = text is not None or options.get("image") is not None
        inputs = {"a text": is_text, "texts": given.get("texts") is not None, "items": is_of_items,
                  "a probe": given.get("probe", False) is not False}
        found = [name for name, is_given in inputs.items() if is_given]
        if len(found) > 1:
            raise TypeError(f"{' and '.join(found)} are given, expected one of them")
        if not found:
            ways = ["a text", "image", *(name for name in ("texts", "probe") if name in given), "items"]
            raise TypeError(f"there is no text, expected one of {', '.join(ways)}")
        if not is_text:
            refuse_parts(options, PARTS, "one of them")
        self.request = Request(text, **options).check_stacks(self.host)
        self.keep = self.request.keep
        if given.get("texts") is not None:
            inputs, self.n_text = _inputs(given["texts"], "texts", self.keep)
            self.texts = Texts(self.host, inputs, self.n_text)

    def answer(self, name: str, args, *sums, text=None) -> Table:
        """Calls an experiment: (host, request, args, table, sums..., err). A picture shows TEXT instead of the request's."""
        table, study = c_void_p(), self.study
        if study:
            study.ask(name, self.given)
            args.study = POINTER(c.attn_study_args)(study.args)
        elif self.n_text:
            args.study = POINTER(c.attn_study_args)(self.texts.args)

        def compute():
            call(name, self.host.pointer, byref(self.request.struct), byref(args), byref(table), *map(byref, sums))
            question = "heads" if name == "attn_survey" else name.removeprefix("attn_")
            drawn = drawn_of(question, self.host, self.request, args, table, text)
            result = table_of(table)
            result.notes, result._drawn = take_notes() + self.request.notes, drawn
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
            return result
        for found in sums:
            for field, *_ in found._fields_:
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
    measures    these columns, "entropy,punctuation" or a list; "all"; "weight" (from from_ to to) alone; default: all
                but punctuation
    pattern     [T, T] of one's own: columns mul and abs
    from_, to   positions or words: how much the rows of one look at the columns of the other
    effect      with target, foil, at, metric: change of the answer without the head
    sort, limit as Table.sort has them: a column, the largest first, and so many rows
    items       many items instead of a text, as of ablate
    """
    question, args = _Question(self, text, options, locals()), c.ATTN_SURVEY_ARGS_DEFAULT()
    if probe is not False:
        args.has_probe, args.probe_length = True, 0 if probe is True else whole(probe, "probe", 1)
        args.probe_repeats, args.probe_seed = whole(repeats, "repeats"), whole(seed, "seed")
        args.n_probe = whole(runs, "runs")
    else:
        _refuse("probe", repeats=repeats, seed=seed, runs=runs)
    if not effect:
        _refuse("effect=True", target=target is not None, foil=foil is not None, at=at is not None,
                metric=metric != "auto")
    args.is_weight = measures == "weight"
    if measures is not None and not args.is_weight:
        found = c_uint64()
        call("attn_measures_parse", spec(measures, "measures"), byref(found))
        args.measures = found
    if pattern is not None:
        args.pattern = POINTER(c.attn_ndarray)(ndarray(pattern, "pattern", (2,), "[T, T]", question.keep))
    setattr(args, "from", spec(from_, "from_"))
    args.to, args.has_effect, args.threshold = spec(to, "to"), effect, threshold
    args.sort, args.n_most = sort and terminated(sort, "sort"), whole(limit, "limit")
    fill_answer(args.answer, question.keep, target, foil, at, metric)
    return question.answer("attn_survey", args)


def align(self: Model, text=None, *, by: str = "auto", layer=None, heads=None, rows: str = "own", method: str | None = None,
          unit: str = "subword", template: str | None = None, score: bool = False, gold=None, one_based: bool = False,
          soft: bool = False, **options):
    """Which word of a source is which word of a text: a Table with source_index, source, word_index, word, weight; of items
    a list of such rows; with score a Table of precision, recall and aer.

    source      the other text
    items       many pairs instead: source, text, with score gold ("0-0 1p2"), and lists source_words, words
    by          "cross", "hidden", "attention"; default: by the model
    layer       a number, with score also "all"; heads: "1.0,3.*", whose mean makes links
    rows        "own", "before" (that of the token before, which predicts), with score "both"
    method      of hidden states: "argmax", "itermax", "match", "softmax:T"; unit: "subword" or "word"
    template    of a decoder: "Say: {source}. {target}"
    gold        a file with a line of gold for each item; one_based: words in gold count from 1
    soft        a row for each pair of words, with columns linked and mark
    """
    given, args = locals(), c.ATTN_ALIGN_ARGS_DEFAULT()
    refuse_unused(options)
    args.by = choice(by, {"auto": c.ATTN_ALIGN_AUTO, "cross": c.ATTN_ALIGN_CROSS, "hidden": c.ATTN_ALIGN_HIDDEN,
                                "attention": c.ATTN_ALIGN_ATTENTION}, "by")
    args.rows = choice(rows, {"own": c.ATTN_ALIGN_OWN, "before": c.ATTN_ALIGN_BEFORE, "both": c.ATTN_ALIGN_BOTH}, "rows")
    args.is_by_word = choice(unit, {"subword": False, "word": True}, "unit")
    args.has_score, args.is_one_based, args.is_soft = score, one_based, soft
    for name, value in (("layer", layer), ("heads", heads)):
        setattr(args, name, spec(value, name))
    for field, value in (("method", method), ("text_template", template), ("gold", gold and os.fspath(gold))):
        setattr(args, field, value and terminated(value, field))
    if options.get("items") is None or score:
        return _Question(self, text, options, given).answer("attn_align", args)
    if text is not None:
        raise TypeError("a text and items are given, expected one of them")
    return align_items(self, args, options, {name: given[name] for name in ("by", "layer", "heads", "rows", "method", "unit",
                                                                            "template", "soft")})


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
    items         many items instead of a text: dicts, a frame of pandas, polars or pyarrow, or the path of a file. An
                  item has text or ids, and may have id, target, foil, at; all else are labels. Then the table has
                  means, with NAME_sd and NAME_se, and n; table.info what was found beside it
    group_by      with items: labels, a table for each of their values; paired: "LABEL=A:B", the differences of items
                  with one id; bootstrap: N or (N, seed) resamples, intervals of `interval` percent; max_failed: so
                  many items may fail, default all, with a UserWarning
    cluster       with items: a label, or "id"; items with one value of it depend on each other: errors and intervals go
                  by clusters. contrast=True: with group_by the difference of each group from the first, too. fdr: a
                  column: p of its means, and q, the false discovery rate over the rows
    each          with items: a file, .csv or .jsonl, for a line per item and row, beside the table. A call that ended
                  early is continued by the same with resume=True; sync=True: what is done survives a power failure.
                  shard: (i, n), part i of n of the items, 0 <= i < n
    edits, ablate, ablate_mean, ablate_pattern, knockout, patch, steer, rescale
                  interventions, as of run: every run has them, the base, too. Their positions are found in the text of
                  each item, also by the names of its keys pos.NAME, or of positions={"end": -1}
    """
    question, args = _Question(self, text, options, locals()), c.ATTN_ABLATE_ARGS_DEFAULT()
    name, _, layer = str(parts).partition(":")
    is_neurons = name == "neurons" and layer.isdecimal()
    if not is_neurons and parts not in _PARTS:
        raise ValueError(f"parts is {parts!r}, expected {', '.join(map(repr, _PARTS))}, 'neurons:L'")
    args.parts = c.ATTN_ABLATE_NEURONS if is_neurons else _PARTS[parts]
    args.layer = int(layer) if is_neurons else 0
    setattr(args, "with", choice(with_, _WITH, "with_"))
    _refuse("with_='mean' or 'resample'", references=references is not None and with_ not in ("mean", "resample"))
    if references is not None:
        args.references, args.n_reference = _inputs(references, "references", question.keep)
    args.seed, args.is_cumulative, args.n_control = whole(seed, "seed"), cumulative, whole(control, "control")
    if sets is not None:
        sets = [sets] if isinstance(sets, str) else sets
        named = sets.items() if hasattr(sets, "items") else [(None, value) for value in sets]
        items = [c.attn_ablate_set(heads=spec(value, "sets"), name=name and terminated(name, "sets"))
                 for name, value in named]
        args.sets, args.n_set = (c.attn_ablate_set * len(items))(*items), len(items)
        question.keep.append(args.sets)
    fill_answer(args.answer, question.keep, target, foil, at, metric)
    return question.answer("attn_ablate", args, c.attn_ablate_sum())


def _fill_estimate(args, estimate, verify, by, limit) -> None:
    """The arguments that an estimate alone has."""
    if estimate is None:
        _refuse("an estimate", by=by != "part", verify=verify is not None, limit=limit)
        return
    args.method, args.n_point = with_points(estimate, _ESTIMATES, "estimate")
    args.is_by_position = bool(choice(by, {"part": 0, "position": 1}, "by"))
    args.n_verified, args.n_most = whole(10 if verify is None else verify, "verify"), whole(limit, "limit")


def _patch_info(found, is_estimated: bool) -> dict:
    """The numbers beside a table of patches, or of estimates."""
    exact = ("clean", "corrupted", "n_row", "n_feed")
    info = {name: getattr(found, name) for name, *_ in found._fields_
            if (name != "n_row" if is_estimated else name in exact)}
    return {name: {field: getattr(value, field) for field, *_ in value._fields_}
            if isinstance(value, c.attn_estimate_check) else value for name, value in info.items()}


def patch(self: Model, clean=None, corrupted=None, *, target=None, foil=None, at=None, metric: str = "auto",
          site: str = "resid_pre", direction: str = "restore", positions=None, control: int = 0, seed: int = 0,
          corrupted_source=None, corrupted_image=None, estimate: str | None = None, verify: int | None = None, by: str = "part",
          limit: int = 0, **options) -> Table:
    """Where the difference between two texts lives: one run with a tensor of the other run instead of its own.

    site        resid_pre, resid_mid, resid_post, attn_out, mlp_out: rows [layer, position]; q, k, v, z, pattern: rows
                [layer, head]
    direction   "restore": the corrupted run gets clean pieces, effect 1 restores the answer; "noise": the other way
    positions   places by name, {"subject": "keys", "end": -1}: each is patched as a whole, and a row is [layer, name]
    control     of a site with heads: so many random choices of heads beside each, drawn by `seed`
    corrupted_source  what cross-attention looks at in the corrupted run, instead of `source`
    corrupted_image  with `image`, instead of both texts: two pictures with as many rows and columns of patches
    estimate    "atp", "relp", "ig" or "ig:N": all effects by gradients, in about two runs, of "mlp_post" too, one neuron
                each, the 20 largest or `limit`, over items all. The `verify` (10) largest are patched, and as many others,
                drawn by `seed`
    by          of estimates for a site with heads: "position" gives rows [layer, head, position]
    info        clean and corrupted: the metric of both runs; of estimates top and random, how they agree with effects
                (n, pearson, spearman), and most_missed, the share of the rest that may have more than `least`
    items       many pairs instead, `clean` and `corrupted` of each item; as of ablate
    """
    question = _Question(self, clean, {**options, "positions": positions}, locals(), "queries")
    args = c.ATTN_PATCH_ARGS_DEFAULT()
    found = c.attn_patch_sum()
    if estimate is not None and (control or corrupted_source is not None):
        raise TypeError("control and corrupted_source need estimate=None")
    _fill_estimate(args, estimate, verify, by, limit)
    is_of_pictures = corrupted is None and corrupted_image is not None
    if is_of_pictures:
        fill_image(args.corrupted, corrupted_image, "corrupted_image", question.keep)
    elif not question.study:
        fill_input(args.corrupted, corrupted, "corrupted", question.keep)
        _share_pair(question, args.corrupted)
    if corrupted_source is not None:
        fill_input(args.corrupted_source, corrupted_source, "corrupted_source", question.keep)
        fill_pair(args.corrupted_source, args.corrupted_source, question.keep, key_mask=options.get("key_mask"))
    args.site = terminated(site, "site")
    args.is_to_noise = bool(choice(direction, _DIRECTIONS, "direction"))
    args.n_control, args.seed = whole(control, "control"), whole(seed, "seed")
    if positions is not None:
        args.places, args.n_place = places_of(positions)
    fill_answer(args.answer, question.keep, target, foil, at, metric)
    table = question.answer("attn_patch", args, found)
    if not question.study:
        table.info = _patch_info(found, estimate is not None)
    if not question.study and positions is None:
        labelled = [clean] if is_of_pictures else [clean, corrupted]
        table._use_labels = functools.partial(_with_labels, self, labelled, {**options, "queries": None})
    return table


def lens(self: Model, text=None, *, texts=None, top: int = 3, target=None, foil=None, heads_out: bool = False,
         **options) -> Table:
    """What each layer already knows: the most probable next tokens of the residual stream after each layer.

    texts       many texts instead of one: means
    target      one token instead: its rank (from 1), prob and logit; with `foil` logit_diff, too
    heads_out   what each head adds to the stream is read alone
    queries     positions, default the last; sites may add resid_mid and resid_post
    items       many items instead of a text, as of ablate
    """
    question, args = _Question(self, text, options, locals(), "sites", "queries"), c.ATTN_LENS_ARGS_DEFAULT()
    args.top, args.reads_heads = whole(top, "top", 1), heads_out
    fill_answer(args.answer, question.keep, target, foil)
    table = question.answer("attn_lens", args)
    if texts is None and not question.study:
        table._use_labels = functools.partial(_with_labels, self, [text], {**options, "sites": None})
    return table


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


def _is_ig(method) -> bool:
    return str(method).partition(":")[0] == "ig"


def attribute(self: Model, text=None, *, texts=None, target=None, foil=None, at=None, by_token: bool = False, limit: int = 0,
              method: str = "dla", metric: str = "auto", baseline: str = "auto", baseline_text=None, baseline_image=None,
              baseline_keep: str | None = None, merge_words: bool = False, generated: int = 0, continuation: str | None = None, **options) -> Table:
    """Who wrote the logit of `target` (minus that of `foil`): direct logit attribution, one row per part of the model.

    texts       many texts instead of one: means, with the column logit_sd
    by_token    each head by the key that it read from; limit: so many rows, default 20
    items       many items instead of a text, as of ablate
    method      instead of that, by gradients of `metric`: of the tokens "saliency", "grad_x_input", "ig" or "ig:N",
                "attnlrp", "relp", "relevance", "relevance_norm"; of the cells of patterns "attn_x_grad" and
                "causes", with `limit`. Items: as many tokens each
    baseline    of ig: "mask", "pad", "mean", "zero", of pictures "grey"; "auto": the mask token of an encoder, grey for
                pictures, else "mean". Or `baseline_text`, a text or ids of as many tokens, or `baseline_image`
    baseline_keep
                positions or words that keep their embedding, or "none"; default: those that an encoder's tokenizer added
    merge_words of tokens: a row a word
    generated, continuation
                of tokens, instead of target: each of the n most probable tokens that follow the text, or of those of
                another text, to all tokens before it; grid() is the matrix, a row for each
    """
    is_continued, prompt = generated != 0 or continuation is not None, text
    if is_continued:
        text, n_target = _continued(self, text, whole(generated, "generated"), continuation, options)
    question, args = _Question(self, text, options, locals()), c.ATTN_ATTRIBUTE_ARGS_DEFAULT()
    if method != "dla":
        _refuse("method='dla'", by_token=by_token, texts=texts is not None)
        given = {"baseline": baseline != "auto", "baseline_text": baseline_text is not None,
                 "baseline_image": baseline_image is not None}
        _refuse("method='ig'", **{name: is_given and not _is_ig(method) for name, is_given in given.items()},
                baseline_keep=baseline_keep is not None and not _is_ig(method))
        is_of_cells = method in ("attn_x_grad", "causes")
        _refuse("method='attn_x_grad'", limit=limit and not is_of_cells)
        _refuse("a method of tokens", merge_words=merge_words and is_of_cells)
        if sum(given.values()) > 1:
            raise TypeError(" and ".join(name for name in given if given[name]) + " are given, expected one of them")
        if is_of_cells and question.study:
            raise TypeError(f"items and method='{method}' are given: cells belong to one text")
    else:
        _refuse("a method other than 'dla'", metric=metric != "auto", merge_words=merge_words, baseline=baseline != "auto",
                baseline_text=baseline_text is not None, baseline_image=baseline_image is not None,
                baseline_keep=baseline_keep is not None, generated=generated, continuation=continuation is not None)
        _refuse("by_token=True", limit=limit and not by_token)
    args.method, args.n_point = with_points(method, _METHODS, "method")
    args.by_token, args.n_most, args.merges_words = by_token, whole(limit, "limit"), merge_words
    is_given = baseline_text is not None or baseline_image is not None
    args.baseline = c.ATTN_BASELINE_GIVEN if is_given else choice(baseline, _BASELINES, "baseline")
    if baseline_keep is not None:
        question.keep.append(utf8(baseline_keep, "baseline_keep"))
        args.baseline_keep = question.keep[-1]
    if baseline_text is not None:
        fill_input(args.given, baseline_text, "baseline_text", question.keep)
    if baseline_image is not None:
        fill_image(args.given, baseline_image, "baseline_image", question.keep)
    fill_answer(args.answer, question.keep, target, foil, at, metric)
    if is_continued:
        args.n_target = n_target
        return question.answer("attn_attribute", args, text=prompt)
    table = question.answer("attn_attribute", args)
    if options.get("image") is not None and not question.study:
        table._use_labels = functools.partial(_with_labels, self, [None], options)
    return table


def _continued(model: Model, text, generated: int, continuation: str | None, options: dict) -> tuple[list[int], int]:
    """The ids of TEXT and of what follows it, and the number of the latter."""
    if text is None or options.get("items") is not None:
        raise TypeError("generated and continuation follow one text")
    if generated and continuation is not None:
        raise TypeError("generated and continuation are given, expected one of them")
    request, made = Request(text, **options), c.attn_generation()
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


def score(self: Model, text=None, *, texts=None, stride: int = 0, merge_words: bool = False, per: str = "sum",
          regions=None, target=None, foil=None, at=None, metric: str = "auto", **options) -> Table:
    """How surprising each token is: bits, nats, rank (from 1), the most probable token at its position.

    texts       many texts instead of one: one row, with means over the texts
    stride      a longer text is scored in windows of n_ctx that move by so many positions
    info        n_token, nats (their sum), perplexity
    items       many items instead of a text, as of ablate: their metric and whether they are right; or of `good` and
                `bad` the log probabilities, in which `per` is "sum", "token" or "word"; or that of the text
    regions     of items: names of their places "pos.NAME", or "subject,verb": a row for each, the sum over its tokens
    target, foil, at, metric
                of items that have none of their own
    """
    question, args, found = _Question(self, text, options, locals()), c.ATTN_SCORE_ARGS_DEFAULT(), c.attn_score_sum()
    if not question.study and (target is not None or foil is not None or at is not None or per != "sum"):
        raise TypeError("per, target, foil and at need items; Model.run has a target for one text")
    args.stride, args.merges_words, args.per = whole(stride, "stride"), merge_words, choice(per, _PER, "per")
    if regions is not None:
        args.regions = terminated(regions if isinstance(regions, str) else ",".join(regions), "regions")
    fill_answer(args.answer, question.keep, target, foil, at, metric)
    table = question.answer("attn_score", args, found)
    if not question.study:
        table.info["perplexity"] = math.exp(found.nats / found.n_token) if found.n_token else math.nan
    return table


def diff(self: Model, a=None, b=None, *, with_model: Model | None = None, with_attention: str | None = None,
         **options) -> Table:
    """What differs between two texts, or in one text under another model or kind of attention: total variation
    (tv, tv_max, 0 to 1) and Jensen-Shannon divergence (js, nats) of the rows of each head.

    items       many pairs instead, `a` and `b` of each item, or texts under both; as of ablate
    """
    question, args = _Question(self, a, options, locals()), c.ATTN_DIFF_ARGS_DEFAULT()
    is_one = with_model is not None or with_attention is not None
    if is_one and b is not None:
        raise TypeError("with_model and with_attention compare one text, two are given")
    if not question.study and not is_one and b is None:
        raise TypeError("there is one text, expected a second, with_model or with_attention")
    options = {name: value for name, value in options.items() if name not in STUDY_OPTIONS}
    other = Request(a if b is None else b, **({**options, "attention": with_attention} if with_attention else options))
    host = with_model._use() if with_model is not None else None
    args.host = host.pointer if host else None
    if not question.study or with_attention:
        args.request = POINTER(c.attn_request)(other.struct)
    table = question.answer("attn_diff", args, c.attn_diff_sum())
    del host
    return table


def similarity(self: Model, text=None, *, limit: int = 0, **options) -> Table:
    """Which heads look at the same places: js, the Jensen-Shannon divergence (nats, 0 to ln 2) of the rows of two heads,
    their mean over the text; one row per pair of heads, those that are most alike first.

    limit       so many rows, default all
    """
    _need_text(text, options)
    refuse_unused(options)
    request, host, table, most = Request(text, **options), self._use(), c_void_p(), whole(limit, "limit")
    request.check_stacks(host)

    def compute():
        call("attn_similarity", host.pointer, byref(request.struct), most, byref(table))
        drawn = drawn_of("similarity", host, request, None, table)
        found = table_of(table)
        found._drawn = drawn
        return found

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


def compare(self: Model, text=None, *, attention: str, recalled: int = 5, **options) -> Comparison:
    """How far a kind of attention, as "window:64", is from exact attention on a text, and what both cost.

    recalled    K of the column recall: the share of the K largest weights of a row that are kept
    """
    _need_text(text, options)
    request, host, run = Request(text, attention=attention, **options), self._use(), c_void_p()
    n_recalled = whole(recalled, "recalled", 1)
    request.check_stacks(host)

    def compute():
        found, table, tables, tokenizer = POINTER(c.attn_comparison)(), c_void_p(), [], c_void_p()
        if options.get("image") is None:  # else what is predicted are labels; and there may be no tokenizer
            lib.attn_host_tokenizer(host.pointer, byref(tokenizer), byref(c.attn_error()))
        call("attn_run_prepare", host.pointer, byref(request.struct), byref(run))
        try:
            call("attn_compare", run, n_recalled, byref(found))
            for part in (c.ATTN_COMPARISON_HEADS, c.ATTN_COMPARISON_COSTS, c.ATTN_COMPARISON_LOGITS):
                call("attn_comparison_tabulate", found, part, lib.attn_run_labels(run), tokenizer, byref(table))
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


def generate(self: Model, text=None, n: int = 20, *, temperature: float = 0, top_k: int = 0, top_p: float = 0,
             min_p: float = 0, seed: int = 0, stop=(), on_token: Callable[[int, str], Any] | None = None,
             **options) -> Generation:
    """Continues a text by up to n tokens: the most probable ones, or with a temperature drawn by `seed`.
    A model that reads a source translates `source` without a text.

    on_token    is called with (id, text) as each is made; at the end perhaps with id -1 and text that had waited
    items       many items instead of a text, as of ablate: a list with a dict for each, its id, labels, prompt, text,
                ids and log_probs, or error. Item i, from 0, is drawn with seed + i
    """
    given, has_items = locals(), options.get("items") is not None
    if has_items == (text is not None or options.get("source") is not None):
        raise TypeError("expected a text or items, or a source to translate")
    refuse_unused(options)
    request, args = Request(text, **({} if has_items else options)), c.ATTN_GENERATE_ARGS_DEFAULT()
    args.n_most, args.temperature, args.top_p, args.min_p = whole(n, "n", 1), temperature, top_p, min_p
    args.top_k, args.seed = whole(top_k, "top_k"), whole(seed, "seed")
    if stop:
        args.stops, args.n_stop = texts(stop, "stop", request.keep)
    if has_items:
        if on_token:
            raise TypeError("on_token goes with one text")
        named = {name: given[name] for name in ("n", "temperature", "top_k", "top_p", "min_p", "seed", "stop")}
        return generate_items(self, args, options, named)
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
    return Generation(text, ids[made.n_prompt:], np.array(made.log_probabilities[:made.n], np.float64),
                      ids[:made.n_prompt], lib.attn_generation_end_text(made.end).decode())
