"""What is asked of a model, as the C struct attn_request: an input, and what the lists of the library name; edits."""
from __future__ import annotations

import datetime
import functools
import itertools
import json
import numbers
import os
import re
from ctypes import POINTER, byref, c_float, c_int32, c_void_p, cast
from typing import Any

import numpy as np

from . import binding as c
from .errors import Note
from .library import call, default, lib, noting, terminated, unexpected
from .params import fill_all, keywords_of, parameters_of, words_of
from .values import PARTS, choice, fill_continuation, fill_image, fill_input, fill_pair, flag, floats, ids_of, is_empty, listed, real, texts

STACKS = tuple(lib.attn_model_stack_name(stack).decode() for stack in range(c.ATTN_STACK_TOWER + 1))
SITES = {lib.attn_site_name(site).decode(): site for site in range(c.ATTN_N_SITE)}


# --- Edits ----------------------------------------------------------------------------------------

_ALL = 2**64 - 1
_STACK = r"\s*(?:(?P<stack>encoder|decoder|cross):)?"
_HEAD = re.compile(_STACK + r"(?:L(?P<l1>\d+)H(?P<h1>\d+)|(?P<l2>\d+|\*)\.(?P<h2>\d+|\*)|(?P<h3>\d+|\*))\s*$")
_LAYER = re.compile(_STACK + r"(?P<layer>\d+)\s*$")


def queries_of(selection, stack: int = c.ATTN_STACK_ONLY) -> list[int]:
    dims = lib.attn_selection_dims(selection).contents
    n = dims.encoder.contents.n_position if stack == c.ATTN_STACK_ENCODER else dims.n_position
    has = lib.attn_selection_has_query
    return [query for query in range(n) if has(selection, stack, query)]


class Edit:
    """A change of a tensor on its way through the model: made by zero, scale, replace, add, project, mask."""

    problem: BaseException | None = None  # what a function raised

    def __init__(self, op: int, site: str, layer=None, head=None, queries=None, columns=None, factor: float = 0,
                 data=None, offset: float = 0):
        choice(site, SITES, "site")
        self.op, self.site, self.factor, self.offset = op, site, real(factor, "factor"), real(offset, "offset")
        places = _places(layer, head)
        self.stacks = {stack for stack, _, _ in places if lib.attn_site_is_in_layer(SITES[site])}
        self.places = [_location_of(site, *place) for place in places]
        self.data = None if data is None else floats(data, "data", (0, 1, 2), "[queries, columns]")
        self.words = queries if isinstance(queries, str) else None  # positions that a text names
        self.rows, self.columns = _range(None if self.words else queries, "queries"), _range(columns, "columns")
        if self.data is not None:
            self._fit()

    def _fit(self):
        """REPLACE and ADD say how many rows and columns they have. PROJECT has one row for all, or is of as many."""
        data = np.atleast_2d(self.data)
        if self.op == c.ATTN_EDIT_PROJECT and len(data) == 1:
            self.data, self.columns = np.ascontiguousarray(data), (0, data.shape[1])
            return
        sides = []
        for (begin, end), n in zip((self.rows, self.columns), data.shape):
            end = begin + n if end == _ALL else end
            sides.append((begin, end))
        self.rows, self.columns = sides
        shape = tuple(end - begin for begin, end in sides)
        try:
            self.data = np.ascontiguousarray(np.broadcast_to(data, shape))
        except ValueError:
            raise ValueError(f"data has the shape {list(data.shape)}, expected {list(shape)}, as the queries and "
                             "columns say") from None

    def _structs(self, find) -> list[c.attn_edit]:
        """FIND gives the positions that a text names."""
        made = []
        parts = [(self.rows, self.data)] if self.words is None else self._parts(find(self.words))
        for at, (rows, data) in itertools.product(self.places, parts):
            edit = default(c.attn_edit)
            edit.at, edit.op, edit.factor, edit.offset = at, self.op, self.factor, self.offset
            (edit.row0, edit.row1), (edit.col0, edit.col1) = rows, self.columns
            if data is not None:
                edit.data, edit.ld = cast(data.ctypes.data, POINTER(c_float)), data.shape[1] if len(data) > 1 else 0
            made.append(edit)
        return made

    def _can_steer(self) -> bool:
        """Whether it adds to, projects or scales whole rows at positions that a text names: each text may have its own."""
        return (self.words is not None and self.op in (c.ATTN_EDIT_ADD, c.ATTN_EDIT_PROJECT, c.ATTN_EDIT_SCALE) and
                all(at.layer != c.ATTN_ALL_LAYERS for at in self.places) and self.columns[0] == 0)

    def _steerings(self) -> list[c.attn_intervention]:
        made = []
        for at in self.places:
            steering = c.attn_intervention(op=self.op, at=at, factor=self.factor, offset=self.offset, positions=c.attn_number_list(terminated(self.words or "", "queries")))
            if self.data is not None:
                steering.values.name, steering.values.rank = b"data", 2
                steering.values.shape[:2] = self.data.shape
                steering.values.data = cast(self.data.ctypes.data, POINTER(c_float))
            made.append(steering)
        return made

    def _parts(self, positions: list[int]):
        """Each position as rows, with its row of the data: one for all, or one each."""
        n = len(positions) if self.data is None or len(self.data) == 1 else len(self.data)
        if n != len(positions):
            raise ValueError(f"data has {n} rows, expected 1, or one for each position of {self.words!r}: {len(positions)}")
        return [((at, at + 1), None if self.data is None else self.data[i % len(self.data)][None])
                for i, at in enumerate(positions)]


def _range(value, what):
    """Positions [begin, end): None all, an int one, (begin, end) or a slice some."""
    if value is None:
        return 0, _ALL
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        begin, end = int(value), int(value) + 1
    elif isinstance(value, (slice, range)):
        if value.step not in (None, 1):
            raise ValueError(f"{what} is {value}, expected a step of 1")
        begin, end = value.start or 0, _ALL if value.stop is None else value.stop
    elif isinstance(value, tuple) and len(value) == 2:
        begin, end = map(int, value)
    else:
        raise TypeError(f"{what} is {value!r}, expected a number, a slice, or a pair (begin, end)")
    if begin < 0 or end <= begin:
        raise ValueError(f"{what} is {value!r}, expected 0 <= begin < end")
    return begin, end


def _location_of(site: str, stack: str, layer: int, head: int) -> c.attn_location:
    """Where SITE of HEAD in LAYER of STACK is."""
    if stack in ("decoder", "cross") and layer == c.ATTN_ALL_LAYERS:
        raise ValueError(f"'{stack}:' needs the number of a layer, as '{stack}:0.1'")
    return c.attn_location(stack=STACKS.index(stack), layer=layer, head=head, site=SITES[site])


def _places(layer, head) -> list[tuple[str, int, int]]:
    """The (stack, layer, head) that LAYER and HEAD mean: head may be "3.6", "cross:2.*", "3.5,3.6", (3, 6), or a number,
    layer a number or "decoder:2"."""
    layers = ([None] if layer is None else layer.split(",") if isinstance(layer, str) else
              [layer] if isinstance(layer, (int, np.integer)) else listed(layer, "layer", "a number, text, or a list of these"))
    heads: list[Any]
    if head is None:
        heads = [None]
    elif isinstance(head, str):
        heads = head.split(",")
    elif isinstance(head, (int, np.integer)) or isinstance(head, tuple) and len(head) == 2:
        heads = [head]
    else:
        heads = listed(head, "head", "text, a number, a pair (layer, head), or a list of these")
    return [_place(one, other) for one in layers for other in heads]


def _place(layer, head):
    stack, at = "", c.ATTN_ALL_LAYERS
    if layer is not None:
        of = _LAYER.match(str(layer))
        if not of:
            raise ValueError(f"layer is {layer!r}, expected a number, or 'decoder:2', 'cross:2' of a model with two stacks")
        stack, at = of["stack"] or "", int(of["layer"])
    if head is None:
        return stack, at, c.ATTN_ALL_HEADS
    if isinstance(head, tuple):
        head = ".".join(str(part) for part in head)
    match = _HEAD.match(str(head))
    if not match:
        raise ValueError(f"head is {head!r}, expected a number, 'LAYER.HEAD', 'LAYER.*' or '*.HEAD'")
    own = match["l1"] or match["l2"]
    if (own is not None or match["stack"]) and layer is not None:
        raise ValueError(f"head {head!r} names a layer, and layer is given too")
    if own is not None:
        at = c.ATTN_ALL_LAYERS if own == "*" else int(own)
    number = match["h1"] or match["h2"] or match["h3"]
    return match["stack"] or stack, at, c.ATTN_ALL_HEADS if number == "*" else int(number)


def zero(site: str, *, layer=None, head=None, queries=None, columns=None) -> Edit:
    """Sets a part of a site to 0: attn.zero("z", head="3.6") switches a head off.

    head is "LAYER.HEAD", (layer, head), or with `layer` a number; None: all. A model with two stacks needs the name of one:
    "cross:3.6", layer="decoder:2". queries and columns (keys of a
    matrix, components of a vector) are a number, a slice or (begin, end); None: all. queries may be words, too, as
    those of Model.run: "keys", "-1".
    """
    return Edit(c.ATTN_EDIT_ZERO, site, layer, head, queries, columns)


def scale(site: str, factor: float, *, layer=None, head=None, queries=None, columns=None) -> Edit:
    """Multiplies a part of a site by `factor`."""
    return Edit(c.ATTN_EDIT_SCALE, site, layer, head, queries, columns, factor)


def replace(site: str, data, *, layer=None, head=None, queries=None, columns=None) -> Edit:
    """Replaces a part of a site by `data` [queries, columns]; float32, from the first query and column on."""
    return Edit(c.ATTN_EDIT_REPLACE, site, layer, head, queries, columns, data=data)


def add(site: str, data, *, layer=None, head=None, queries=None, columns=None) -> Edit:
    """Adds `data` [queries, columns] to a part of a site: steering, with site "resid_pre"."""
    return Edit(c.ATTN_EDIT_ADD, site, layer, head, queries, columns, data=data)


def project(site: str, vector, *, layer=None, head=None, queries=None, factor: float = 1, offset: float = 0) -> Edit:
    """Takes the part along `vector` [columns] out of the rows of a site, `factor` times, and sets it to `offset`."""
    return Edit(c.ATTN_EDIT_PROJECT, site, layer, head, queries, factor=factor, data=vector, offset=offset)


def mask(site: str = "attn_scores", *, layer=None, head=None, queries=None, columns=None) -> Edit:
    """Sets scores to minus infinity, so that these queries cannot look at these keys (columns)."""
    return Edit(c.ATTN_EDIT_MASK, site, layer, head, queries, columns)


# --- Requests -------------------------------------------------------------------------------------

DEFAULT_SITES = "pattern,z,logits"
SPECIALS = {"parse": c.ATTN_SPECIAL_PARSE, "text": c.ATTN_SPECIAL_TEXT}


SELECTION = parameters_of("reading", "selection", "prediction", "gradients", "maps", "sinks", "picture_prompt", "chat")
PLACES = parameters_of("places")
INTERVENTIONS = parameters_of("interventions")
_CHANGES = parameters_of("attention", "dropout", "array_dropout")
ANSWER = parameters_of("target", "foil", "at", "metric")
ATTENTION = tuple(keywords_of(_CHANGES))
OPTIONS = (*keywords_of(SELECTION), *keywords_of(INTERVENTIONS), *keywords_of(PLACES), *ATTENTION)
METRICS = words_of(next(param for param in ANSWER if param.name == b"metric"))


class Owned:
    """A struct of the library, and what it owns."""

    def __init__(self, struct, release):
        self.struct, self.release = struct, release

    def __del__(self):
        self.release(byref(self.struct))


def attention_of(given: dict[str, Any], keep: list) -> c.attn_attention_args:
    """What is computed otherwise than the model does it."""
    owner = Owned(c.attn_attention_args(), lib.attn_attention_args_release)
    keep.append(owner)
    owner.struct.change.to = default(c.attn_attention)
    fill_all(owner.struct, _CHANGES, given, keep)
    call("attn_attention_args_check", byref(owner.struct))
    call("attn_attention_args_open", byref(owner.struct))
    return owner.struct


def edit_texts(given: dict[str, Any], keep: list) -> Owned:
    """The interventions that GIVEN has as texts."""
    owner = Owned(c.attn_edit_texts(), lib.attn_edit_texts_release)
    fill_all(owner.struct, INTERVENTIONS, given, keep)
    keep.append(owner)
    return owner


class Request:
    """A struct attn_request, and what it borrows."""

    def __init__(self, text=None, *, image=None, source=None, edits=(), labels=(), label_ids=(), label_images=(), continuation=None,
                 asked=None, pair=None, types=None, key_mask=None, host=None, **given):
        """GIVEN has what the library's lists of parameters name: OPTIONS."""
        unknown = given.keys() - set(OPTIONS)
        if unknown:
            from .items import OPTIONS as of_items  # which imports this module
            raise unexpected(sorted(unknown)[0], *OPTIONS, *of_items, "image", "continuation", "source", "edits", "labels", "label_ids", "label_images",
                             *PARTS)
        self.keep: list = []
        request = self.struct = default(c.attn_request)
        if text is not None:
            fill_input(request.input, text, "text", self.keep)
        if image is not None:
            fill_image(request.input, image, "image", self.keep)
        if continuation is not None:
            fill_continuation(request.input, continuation, self.keep)
        if source is not None:
            fill_input(request.source, source, "source", self.keep)
        self.parts = {"pair": pair, "types": types, "key_mask": key_mask}
        fill_pair(request.input, request.source, self.keep, **self.parts)
        reading, chosen, edited = request.reading, request.selection, request.edits
        self.keeps_tensors = not is_empty(given.get("sites"))
        if not self.keeps_tensors:
            given["sites"] = None
        for name in ("messages", "tools"):
            if isinstance(given.get(name), (list, tuple)):
                given[name] = json.dumps(given[name], ensure_ascii=False)
        if isinstance(given.get("chat_set"), dict):
            given["chat_set"] = [f"{name}={json.dumps(value)}" for name, value in given["chat_set"].items()]
        if isinstance(given.get("chat"), bool):
            given["chat"] = "on" if given["chat"] else "off"
        next_ids = []
        if given.get("next") is not None and not isinstance(given["next"], (str, bytes)):
            wanted = [given["next"]] if isinstance(given["next"], numbers.Integral) else listed(given["next"], "next", "texts or token ids")
            given["next"] = [one for one in wanted if isinstance(one, (str, bytes))]
            next_ids = [[one] if isinstance(one, numbers.Integral) else one for one in wanted if not isinstance(one, (str, bytes))]
        fill_all(request, SELECTION, given, self.keep)
        request.predict.next_ids, request.predict.n_next_ids = self._id_lists(next_ids, "next")
        now = datetime.datetime.now()  # for templates; of the clock on the wall
        request.chat.now = int(os.environ.get("SOURCE_DATE_EPOCH") or (now - datetime.datetime(1970, 1, 1)).total_seconds())
        if any(given.get(name) is not None for name in ATTENTION):
            request.attention.change = POINTER(c.attn_attention_change)(attention_of(given, self.keep).change)
        call("attn_edit_texts_read", byref(edit_texts(given, self.keep).struct), None, byref(edited))
        places = c.attn_places()
        fill_all(places, PLACES, given, self.keep)
        if places.n:
            self.keep.append(places)
            reading.places = POINTER(c.attn_places)(places)
        request.predict.labels, request.predict.n_label = texts(labels, "labels", self.keep)
        more = c.attn_request_labels()
        more.ids, more.n_ids = self._id_lists(listed(label_ids, "label_ids", "lists of token ids"), "label_ids")
        more.images, more.n_image = texts(label_images, "label_images", self.keep)
        if more.n_ids or more.n_image:
            self.keep.append(more)
            request.predict.more = POINTER(c.attn_request_labels)(more)
        if asked:
            wanted = c.attn_answer_args()
            fill_all(wanted, ANSWER, asked, self.keep)
            self.keep.append(wanted)
            chosen.gradients_of = request.predict.answer = POINTER(c.attn_answer_args)(wanted)
        self._set_edits(edits, host, edited.interventions[:edited.n_intervention])
        self.notes: list[Note] = []
        request.on_note = noting(self.notes)

    def _id_lists(self, lists, what: str):
        """Lists of token ids as attn_label_ids, and their number."""
        rows = [ids_of(ids, what) for ids in lists]
        named = (c.attn_label_ids * len(rows))(*(c.attn_label_ids(cast(ids.ctypes.data, POINTER(c_int32)), len(ids),
                                                                  ",".join(map(str, ids)).encode()) for ids in rows))
        self.keep += [rows, named]
        return named, len(rows)

    def check_stacks(self, host) -> Request:
        """Refuses edits that name no stack of a model with two, or one of a model with one."""
        config = lib.attn_model_config(lib.attn_host_model(host.pointer))
        has_pairs = lib.attn_config_dims(config, 1).has_pairs
        for edit in self.edits:
            if has_pairs and "" in edit.stacks:
                raise ValueError(f"an edit of '{edit.site}' names no stack, expected head='cross:0.1', layer='decoder:0' or, for a "
                                 "function, the name 'cross:z'")
            if not has_pairs and edit.stacks - {""}:
                raise ValueError(f"an edit of '{edit.site}' names a stack, and the model has one, expected head='0.1', layer=0 or, for "
                                 f"a function, the name '{edit.site}'")
        return self

    def _find(self, host, words: str) -> list[int]:
        """The positions that WORDS name in the text."""
        if host is None:
            raise TypeError(f"edits names the queries {words!r}, which only Model.run finds in its text: expected numbers")
        chosen, run = self.struct.selection, c_void_p()
        queries, chosen.queries.text = chosen.queries.text, terminated(words, "queries")
        try:
            call("attn_run_prepare", host.pointer, byref(self.struct), byref(run))
            return queries_of(lib.attn_run_labels(run).contents.selection)
        finally:
            chosen.queries.text = queries
            lib.attn_run_free(run)

    def _set_edits(self, edits, host, interventions):
        """INTERVENTIONS come after the edits; those at words of texts that are not known yet are steering, too."""
        if isinstance(edits, dict):
            raise TypeError("edits has functions, which Model.run alone calls")
        edits = [edits] if isinstance(edits, Edit) else listed(edits, "edits", "what attn.zero, scale, replace, add or mask make")
        for edit in edits:
            if not isinstance(edit, Edit):
                raise TypeError(f"edits holds {type(edit).__name__}, expected what attn.zero, scale, replace, add or "
                                "mask make")
        self.edits = edits
        late = [edit for edit in edits if host is None and edit._can_steer()]
        structs = [struct for edit in edits if edit not in late for struct in edit._structs(functools.partial(self._find, host))]
        interventions = [struct for edit in late for struct in edit._steerings()] + interventions
        if interventions:
            array = (c.attn_intervention * len(interventions))(*interventions)
            self.keep += [array, edits]
            self.struct.edits.interventions, self.struct.edits.n_intervention = array, len(interventions)
        if structs:
            array = (c.attn_edit * len(structs))(*structs)
            self.keep += [array, edits]
            self.struct.edits.items, self.struct.edits.n = array, len(structs)
