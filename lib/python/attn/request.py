"""What is asked of a model, as the C struct attn_request: texts, arrays, selections, attention, edits."""
from __future__ import annotations

import functools
import itertools
import os
import re
from ctypes import POINTER, byref, c_char_p, c_float, c_int32, c_ubyte, c_void_p, cast
from typing import Any, Iterable, Sequence, Union

import numpy as np

from . import binding as c
from .errors import Note
from .library import call, lib, noting, path_bytes, terminated, utf8

Spec = Union[str, int, Sequence[Any], None]

STACKS = tuple(lib.attn_model_stack_name(stack).decode() for stack in range(c.ATTN_STACK_CROSS + 1))
SITES = {lib.attn_site_name(site).decode(): site for site in range(c.ATTN_N_SITE)}


def spec(value: Spec, what: str) -> bytes | None:
    """A choice as the library reads it: "2.*,3.1", 3, [0, -1], [(2, 1), (3, 0)]."""
    if value is None:
        return None
    if isinstance(value, (str, int, np.integer)) and not isinstance(value, bool):
        return terminated(str(value), what)
    if isinstance(value, tuple) and len(value) == 2 and what in ("heads", "ablate", "ablate_mean", "ablate_pattern", "head", "sets"):
        return f"{_number(value[0], what)}.{_number(value[1], what)}".encode()
    if isinstance(value, (list, tuple, range, set, frozenset)) or isinstance(value, np.ndarray) and value.ndim:
        return b",".join(spec(item, what) or b"" for item in value)
    raise TypeError(f"{what} is {type(value).__name__}, expected text, a number, or a list of these")


def is_empty(sites: Spec) -> bool:
    """Whether SITES is an empty list: no tensors are wanted."""
    if isinstance(sites, np.ndarray):
        return sites.size == 0
    return isinstance(sites, (list, tuple, range, set, frozenset)) and not sites


def refuse_empty(sites: Spec) -> None:
    if is_empty(sites):
        raise ValueError("sites is empty, expected the tensors that are written")


def choice(value, names: dict, what: str) -> int:
    if not isinstance(value, (str, int)) or value not in names:
        raise ValueError(f"{what} is {value!r}, expected {', '.join(map(repr, names))}")
    return names[value]


def whole(value, what: str, least: int = 0, most: int = 2**63 - 1) -> int:
    """A whole number. ctypes would make another one of what does not fit, without a word: of -1 the largest there is."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{what} is {value!r}, expected a whole number")
    if not least <= value <= most:
        raise ValueError(f"{what} is {value}, expected a whole number {least} to {most}")
    return int(value)


def real(value, what: str) -> float:
    """A number."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{what} is {value!r}, expected a number")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{what} is larger than any float64") from None


def flag(value, what: str) -> bool:
    """True or False, or 0 or 1."""
    if not isinstance(value, (bool, int, np.bool_, np.integer)) or value not in (0, 1):
        raise TypeError(f"{what} is {value!r}, expected True or False")
    return bool(value)


def called(function, what: str):
    """A function, or None."""
    if function is not None and not callable(function):
        raise TypeError(f"{what} is {type(function).__name__}, expected a function")
    return function


def listed(values, what: str, expected: str) -> list:
    """VALUES as a list, empty of None. EXPECTED says what of."""
    try:
        return [] if values is None else list(values)
    except TypeError:
        raise TypeError(f"{what} is {type(values).__name__}, expected {expected}") from None


def array_of(value, what: str) -> np.ndarray:
    try:
        return np.asarray(value)
    except ValueError:
        raise ValueError(f"{what} has parts of different lengths, expected an array") from None


def with_points(value, names: dict, what: str) -> tuple[int, int]:
    """A choice, and of "ig:N" the number N of points, else 0."""
    method, colon, points = str(value).partition(":")
    if method not in names or colon and (method != "ig" or not points.isdecimal() or int(points) == 0):
        raise ValueError(f"{what} is {value!r}, expected {', '.join(map(repr, names))}, 'ig:N'")
    return names[method], int(points or 0)


def _number(value, what):
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) or value == "*":
        return str(value)
    raise TypeError(f"{what} holds {value!r}, expected numbers of a layer and a head")


# --- Arrays ---------------------------------------------------------------------------------------


def _floats(value, what: str, ranks: tuple[int, ...], shape: str) -> np.ndarray:
    """VALUE as float32, contiguous, of one of RANKS; SHAPE says in messages what is expected."""
    array = array_of(value, what)
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{what} is an array of {array.dtype}, expected floats")
    if array.ndim not in ranks:
        raise ValueError(f"{what} has the shape {list(array.shape)}, expected {shape}")
    return np.ascontiguousarray(array, np.float32)


def ndarray(value, what: str, ranks: tuple[int, ...], shape: str, keep: list) -> c.attn_ndarray:
    array = _floats(value, what, ranks, shape)
    struct = c.attn_ndarray(name=what.encode(), rank=array.ndim)
    struct.shape[:array.ndim] = array.shape
    struct.data = cast(array.ctypes.data, POINTER(c_float))
    keep += [array, struct]
    return struct


def _mask_array(value, what: str, keep: list) -> c.attn_mask_array:
    array = array_of(value, what)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{what} is an array of {array.dtype}, expected cells of 0 and 1")
    if array.ndim not in (2, 3, 4):
        raise ValueError(f"{what} has the shape {list(array.shape)}, expected [T, S], [H, T, S] or [B, H, T, S]")
    if array.dtype.kind != "b" and not ((array == 0) | (array == 1)).all():
        raise ValueError(f"{what} has other numbers than 0 and 1")
    cells = np.ascontiguousarray(array, np.uint8)
    struct = c.attn_mask_array(name=what.encode(), rank=cells.ndim)
    struct.shape[:cells.ndim] = cells.shape
    struct.cells = cast(cells.ctypes.data, POINTER(c_ubyte))
    keep += [cells, struct]
    return struct


def ids_of(value, what: str = "ids") -> np.ndarray:
    """Token ids as int32 [n]."""
    array = array_of(value, what)
    if array.size == 0 and array.ndim == 1:
        array = array.astype(np.int32)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{what} is an array of {array.dtype}, expected integers")
    if array.ndim != 1:
        raise ValueError(f"{what} has the shape {list(array.shape)}, expected one text, [n]")
    if array.size and (array.min() < 0 or array.max() > 2**31 - 1):
        raise ValueError(f"{what} holds {array[(array < 0) | (array > 2**31 - 1)][0]}, expected 0 to 2147483647")
    return np.ascontiguousarray(array, np.int32)


def fill_input(where: c.attn_input, value, what: str, keep: list) -> None:
    """VALUE is a text (str, or bytes of UTF-8), token ids [n], or embeddings [n, d_model]."""
    if isinstance(value, (str, bytes, bytearray)):
        data = bytes(value) if isinstance(value, bytearray) else utf8(value, what)
        keep.append(data)
        where.text, where.n_text = data, len(data)
        return
    if value is None:
        raise TypeError(f"{what} is missing: expected a text, token ids or embeddings")
    array = array_of(value, what)
    if array.dtype.kind == "f" and array.ndim == 2:
        embeddings = ndarray(array, what, (2,), "[n, d_model]", keep)
        where.embeddings = POINTER(c.attn_ndarray)(embeddings)
    elif array.dtype.kind in "iu" or (array.size == 0 and array.ndim == 1):
        ids = ids_of(array, what)
        keep.append(ids)
        where.ids, where.n_id = cast(ids.ctypes.data, POINTER(c_int32)), len(ids)
    elif array.dtype.kind in "US":
        raise TypeError(f"{what} is a list of texts, expected one; Model.map takes many")
    else:
        raise TypeError(f"{what} is {type(value).__name__} of {array.dtype} {list(array.shape)}, expected a text, "
                        "token ids [n] or embeddings [n, d_model] of floats")


PARTS = ("pair", "types", "key_mask")  # what may go with a text


def refuse_parts(options: dict, names: tuple[str, ...], where: str) -> None:
    """OPTIONS for many texts: what goes with one stands in it."""
    for name in names:
        if options.get(name) is not None:
            raise TypeError(f"{name} goes with one text: give it in {where}, as in {{'text': ..., '{name}': ...}}")


def refuse_unused(options: dict, *used: str) -> None:
    """What Model.run takes beside these is without effect here."""
    for name in ("sites", "layers", "heads", "queries", "top", "next", "grad", "max_span"):
        if name in options and name not in used:
            raise TypeError(f"unexpected keyword argument '{name}'")


def fill_pair(where: c.attn_input, source: c.attn_input, keep: list, *, pair=None, types=None, key_mask=None) -> None:
    """What goes with a text of an encoder: a second one, types of ids, and which keys are seen, of SOURCE where that
    is given."""
    if pair is not None:
        if not isinstance(pair, (str, bytes, bytearray)):
            raise TypeError(f"pair is {type(pair).__name__}, expected a text")
        data = utf8(pair, "pair") if isinstance(pair, str) else bytes(pair)
        keep.append(data)
        where.pair, where.n_pair = data, len(data)
    if types is not None:
        where.types, where.n_type = _integers(types, "types", keep)
    if key_mask is not None:
        masked = source if source.text or source.ids or source.embeddings else where
        masked.key_mask, masked.n_key_mask = _integers(key_mask, "key_mask", keep)


def _integers(values, what: str, keep: list):
    values = array_of(values, what)
    array = ids_of(values.astype(np.int32) if values.dtype == bool else values, what)
    keep.append(array)
    return cast(array.ctypes.data, POINTER(c_int32)), len(array)


def fill_image(where: c.attn_input, value, what: str, keep: list) -> None:
    """VALUE is the path of a picture, a picture of uint8 [H, W, 3], or its values, floats [C, H, W]."""
    if isinstance(value, (str, bytes, os.PathLike)):
        keep.append(path_bytes(value, what))
        where.image = keep[-1]
        return
    array = array_of(value, what)
    if array.ndim != 3 or 0 in array.shape or not (
            array.dtype.kind == "f" or (array.dtype == np.uint8 and array.shape[2] == 3)):
        raise TypeError(f"{what} is an array of {array.dtype} {list(array.shape)}, expected a picture, uint8 "
                        "[H, W, 3], or its values, float32 [C, H, W]")
    pixels = c.attn_pixels()
    if array.dtype == np.uint8:
        array = np.ascontiguousarray(array)
        pixels.height, pixels.width = array.shape[:2]
        pixels.shown = cast(array.ctypes.data, POINTER(c_ubyte))
    else:
        array = np.ascontiguousarray(array, np.float32)
        pixels.n_channel, pixels.height, pixels.width = array.shape
        pixels.values = cast(array.ctypes.data, POINTER(c_float))
    keep += [array, pixels]
    where.pixels = POINTER(c.attn_pixels)(pixels)


def texts(values: Iterable[str], what: str, keep: list):
    """A list of texts as const char *const *, and their number."""
    items = [values] if isinstance(values, (str, bytes)) else listed(values, what, "texts")
    for item in items:
        if not isinstance(item, (str, bytes)):
            raise TypeError(f"{what} holds {item!r}, expected texts")
    data = [terminated(item, what) for item in items]
    array = (c_char_p * len(data))(*data)
    keep.append(array)
    return array, len(data)


# --- Edits ----------------------------------------------------------------------------------------

_ALL = 2**64 - 1
_STACK = r"\s*(?:(?P<stack>encoder|decoder|cross):)?"
_HEAD = re.compile(_STACK + r"(?:L(?P<l1>\d+)H(?P<h1>\d+)|(?P<l2>\d+|\*)\.(?P<h2>\d+|\*)|(?P<h3>\d+|\*))\s*$")
_LAYER = re.compile(_STACK + r"(?P<layer>\d+)\s*$")


class Edit:
    """A change of a tensor on its way through the model: made by zero, scale, replace, add, mask."""

    def __init__(self, op: int, site: str, layer=None, head=None, queries=None, columns=None, factor: float = 0,
                 data=None):
        choice(site, SITES, "site")
        self.op, self.site, self.factor = op, site, real(factor, "factor")
        places = _places(layer, head)
        self.stacks = {stack for stack, _, _ in places if lib.attn_site_is_in_layer(SITES[site])}
        self.places = [_location_of(site, *place) for place in places]
        self.data = None if data is None else _floats(data, "data", (0, 1, 2), "[queries, columns]")
        self.words = queries if isinstance(queries, str) else None  # positions that a text names
        self.rows, self.columns = _range(None if self.words else queries, "queries"), _range(columns, "columns")
        if self.data is not None:
            self._fit()

    def _fit(self):
        """REPLACE and ADD say how many rows and columns they have."""
        data = np.atleast_2d(self.data)
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

    def structs(self, find) -> list[c.attn_edit]:
        """FIND gives the positions that a text names."""
        made = []
        parts = [(self.rows, self.data)] if self.words is None else self._parts(find(self.words))
        for at, (rows, data) in itertools.product(self.places, parts):
            edit = c.ATTN_EDIT_DEFAULT()
            edit.at, edit.op, edit.factor = at, self.op, self.factor
            (edit.row0, edit.row1), (edit.col0, edit.col1) = rows, self.columns
            if data is not None:
                edit.data, edit.ld = cast(data.ctypes.data, POINTER(c_float)), data.shape[1]
            made.append(edit)
        return made

    def can_steer(self) -> bool:
        """Whether it adds to or scales whole rows at positions that a text names: each text may have its own."""
        return (self.words is not None and self.op in (c.ATTN_EDIT_ADD, c.ATTN_EDIT_SCALE) and
                all(at.layer != c.ATTN_ALL_LAYERS for at in self.places) and self.columns[0] == 0)

    def steerings(self) -> list[c.attn_steering]:
        made = []
        for at in self.places:
            steering = c.attn_steering(at=at, factor=self.factor, positions=terminated(self.words or "", "queries"))
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
    if stack == "encoder":
        raise ValueError("the encoder cannot be edited yet; the decoder can, as 'decoder:0.1' or 'cross:0.1'")
    if stack and layer == c.ATTN_ALL_LAYERS:
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


def mask(site: str = "attn_scores", *, layer=None, head=None, queries=None, columns=None) -> Edit:
    """Sets scores to minus infinity, so that these queries cannot look at these keys (columns)."""
    return Edit(c.ATTN_EDIT_MASK, site, layer, head, queries, columns)


# --- Attention ------------------------------------------------------------------------------------

_MASKS = {"causal": c.ATTN_MASK_CAUSAL, "none": c.ATTN_MASK_NONE}
_MASKINGS = {"inf": c.ATTN_MASKING_INF, "renormalize": c.ATTN_MASKING_RENORMALIZE, "zero": c.ATTN_MASKING_ZERO}
_SIMILARITIES = {"dot": c.ATTN_SIMILARITY_DOT, "cosine": c.ATTN_SIMILARITY_COSINE}
_FIELDS = {"scale": "is_scaled", "seed": "dropout_seed"}
_ALGORITHMS = {"auto": c.ATTN_ALGORITHM_AUTO, "dense": c.ATTN_ALGORITHM_DENSE,
               "blockwise": c.ATTN_ALGORITHM_BLOCKWISE}


def attention_change(keep: list, attention=None, mask=None, masking=None, scale=None, eps=None, similarity=None,
                     algorithm=None, dropout=None, seed=None, dropout_mask=None):
    """What is computed otherwise than the model does it, or None."""
    change = c.attn_attention_change()
    change.to = c.ATTN_ATTENTION_DEFAULT()
    to = change.to
    parts = 0
    if attention is not None:
        if not isinstance(attention, str):
            raise TypeError(f"attention is {type(attention).__name__}, expected text, as in 'window:64'")
        call("attn_attention_parse", terminated(attention, "attention"), byref(to))
        parts |= c.ATTN_PART_KIND
    if mask is not None:
        if isinstance(mask, str):
            to.mask = choice(mask, _MASKS, "mask")
        else:
            to.mask = c.ATTN_MASK_MATRIX
            change.mask = POINTER(c.attn_mask_array)(_mask_array(mask, "mask", keep))
        parts |= c.ATTN_PART_MASK
    for value, part, field, names in (
            (masking, c.ATTN_PART_MASKING, "masking", _MASKINGS),
            (similarity, c.ATTN_PART_SIMILARITY, "similarity", _SIMILARITIES),
            (algorithm, c.ATTN_PART_ALGORITHM, "algorithm", _ALGORITHMS)):
        if value is not None:
            setattr(to, field, choice(value, names, field))
            parts |= part
    for value, part, field, kind in ((scale, c.ATTN_PART_SCALE, "scale", flag), (eps, c.ATTN_PART_EPS, "eps", real),
                                     (dropout, c.ATTN_PART_DROPOUT, "dropout", real),
                                     (seed, c.ATTN_PART_DROPOUT_SEED, "seed", whole)):
        if value is not None:
            setattr(to, _FIELDS.get(field, field), kind(value, field))
            parts |= part
    if dropout_mask is not None:
        change.keep = POINTER(c.attn_mask_array)(_mask_array(dropout_mask, "dropout_mask", keep))
    change.parts = parts
    if not parts and dropout_mask is None:
        return None
    keep.append(change)
    return POINTER(c.attn_attention_change)(change)


ATTENTION = ("attention", "mask", "masking", "scale", "eps", "similarity", "algorithm", "dropout", "seed",
             "dropout_mask")

# --- The next token -------------------------------------------------------------------------------

METRICS = {"auto": c.ATTN_ANSWER_AUTO, "logit_diff": c.ATTN_ANSWER_LOGIT_DIFF, "log_prob": c.ATTN_ANSWER_LOG_PROB,
           "logit": c.ATTN_ANSWER_LOGIT, "prob": c.ATTN_ANSWER_PROB, "kl": c.ATTN_ANSWER_KL, "ce": c.ATTN_ANSWER_CE}


def fill_answer(answer: c.attn_answer_args, keep: list, target=None, foil=None, at=None, metric="auto") -> None:
    """What is measured of the next token: TARGET and FOIL are texts of one token, or ids."""
    answer.metric = choice(metric, METRICS, "metric")
    for name, value in (("target", target), ("foil", foil)):
        if isinstance(value, str):
            setattr(answer, name, terminated(value, name))
        elif value is not None:
            number = c_int32(whole(value, name, 0, 2**31 - 1))
            keep.append(number)
            setattr(answer, name + "_id", POINTER(c_int32)(number))
    answer.at = spec(at, "at")


# --- Requests -------------------------------------------------------------------------------------

DEFAULT_SITES = "pattern,z,logits"
SPECIALS = {"parse": c.ATTN_SPECIAL_PARSE, "text": c.ATTN_SPECIAL_TEXT}


def places_of(positions):
    """An array of places of a dict, and their number."""
    if not hasattr(positions, "items"):
        raise TypeError(f"positions is {positions!r}, expected a dict, as {{'subject': 'keys', 'end': -1}}")
    places = [c.attn_item_place(name=terminated(name, "positions"), spec=spec(value, "positions"))
              for name, value in dict(positions).items()]
    return (c.attn_item_place * len(places))(*places), len(places)


class Interventions:
    """An array of knockouts, patches or steering, read from texts and owned."""

    def __init__(self, struct, name, values, what):
        items, n = texts(values, what, [])
        self.array, self.release = (struct * n)(), getattr(lib, name + "_release")
        for item, made in zip(items, self.array):
            if struct is c.attn_knockout:
                call("attn_knockout_parse", item, byref(made))
            else:
                call("attn_patch_read" if struct is c.attn_patch else "attn_steering_read" if what == "steer" else
                     "attn_rescale_parse", item, None, byref(made))

    def __del__(self):
        for made in getattr(self, "array", ()):
            self.release(byref(made))


class Request:
    """A struct attn_request, and what it borrows."""

    def __init__(self, text=None, *, image=None, source=None, sites=None, layers=None, heads=None, queries=None, edits=(),
                 ablate=None, ablate_pattern=None, ablate_mean=None, knockout=(), patch=(), steer=(), rescale=(),
                 positions=None, top=0, next=(), labels=(), label_ids=(), label_images=(), max_span=0, answer=None, grad=False, special="parse", special_tokens=True, with_prompt=None, pair=None, types=None, key_mask=None,
                 host=None, **attention):
        unknown = attention.keys() - set(ATTENTION)
        if unknown:
            raise TypeError(f"unexpected keyword argument '{sorted(unknown)[0]}'")
        self.keep: list = []
        request = self.struct = c.ATTN_REQUEST_DEFAULT()
        if text is not None:
            fill_input(request.input, text, "text", self.keep)
        if image is not None:
            fill_image(request.input, image, "image", self.keep)
        if source is not None:
            fill_input(request.source, source, "source", self.keep)
        self.parts = {"pair": pair, "types": types, "key_mask": key_mask}
        fill_pair(request.input, request.source, self.keep, **self.parts)
        reading, chosen, edited = request.reading, request.selection, request.edits
        reading.special = choice(special, SPECIALS, "special")
        reading.special_tokens = c.ATTN_SPECIAL_TOKENS_ON if flag(special_tokens, "special_tokens") else c.ATTN_SPECIAL_TOKENS_OFF
        reading.with_prompt = None if with_prompt is None else terminated(with_prompt, "with_prompt")
        self.keeps_tensors = not is_empty(sites)
        chosen.sites, chosen.layers = spec(sites, "sites") if self.keeps_tensors else None, spec(layers, "layers")
        chosen.heads, chosen.queries = spec(heads, "heads"), spec(queries, "queries")
        edited.ablate, edited.ablate_pattern = spec(ablate, "ablate"), spec(ablate_pattern, "ablate_pattern")
        edited.ablate_mean = spec(ablate_mean, "ablate_mean")
        if attention:
            request.attention.change = attention_change(self.keep, **attention)
        request.predict.top = whole(top, "top")
        knockouts = Interventions(c.attn_knockout, "attn_knockout", knockout, "knockout")
        patches = Interventions(c.attn_patch, "attn_patch", patch, "patch")
        edited.knockouts, edited.n_knockout = knockouts.array, len(knockouts.array)
        edited.patches, edited.n_patch = patches.array, len(patches.array)
        steers = [Interventions(c.attn_steering, "attn_steering", values, name)
                  for name, values in (("steer", steer), ("rescale", rescale))]
        self.keep += [knockouts, patches, *steers]
        if positions is not None:
            items, n = places_of(positions)
            self.keep.append(c.attn_places(items=items, n=n))
            reading.places = POINTER(c.attn_places)(self.keep[-1])
        request.predict.next, request.predict.n_next = texts(next, "next", self.keep)
        request.predict.labels, request.predict.n_label = texts(labels, "labels", self.keep)
        rows = [ids_of(ids, "label_ids") for ids in listed(label_ids, "label_ids", "lists of token ids")]
        more = c.attn_request_labels(max_span=whole(max_span, "max_span", 0, 2**31 - 1), n_ids=len(rows))
        more.images, more.n_image = texts(label_images, "label_images", self.keep)
        if rows or more.n_image or more.max_span:
            named = (c.attn_label_ids * len(rows))(*(c.attn_label_ids(cast(ids.ctypes.data, POINTER(c_int32)), len(ids),
                                                                      ",".join(map(str, ids)).encode()) for ids in rows))
            more.ids = named
            self.keep += [rows, named, more]
            request.predict.more = POINTER(c.attn_request_labels)(more)
        if answer:
            asked = c.attn_answer_args()
            fill_answer(asked, self.keep, **answer)
            self.keep.append(asked)
            chosen.gradients_of = request.predict.answer = POINTER(c.attn_answer_args)(asked)
        chosen.has_gradients = flag(grad, "grad")
        self._set_edits(edits, host, [made for of_one in steers for made in of_one.array])
        self.notes: list[Note] = []
        request.on_note = noting(self.notes)

    def check_stacks(self, host) -> Request:
        """Refuses edits that name no stack of a model with two, or one of a model with one."""
        config = lib.attn_model_config(lib.attn_host_model(host.pointer)).contents
        for edit in self.edits:
            if config.stack.has_encoder and "" in edit.stacks:
                raise ValueError(f"an edit of '{edit.site}' names no stack, expected head='cross:0.1' or layer='decoder:0'")
            if not config.stack.has_encoder and edit.stacks - {""}:
                raise ValueError(f"an edit of '{edit.site}' names a stack, and the model has one")
        return self

    def _find(self, host, words: str) -> list[int]:
        """The positions that WORDS name in the text."""
        if host is None:
            raise TypeError(f"edits names the queries {words!r}, which only Model.run finds in its text: expected numbers")
        chosen, run = self.struct.selection, c_void_p()
        queries, chosen.queries = chosen.queries, terminated(words, "queries")
        try:
            call("attn_run_prepare", host.pointer, byref(self.struct), byref(run))
            selection = lib.attn_run_labels(run).contents.selection
            n = lib.attn_selection_dims(selection).contents.n_position
            return [at for at in range(n) if lib.attn_selection_has_query(selection, at)]
        finally:
            chosen.queries = queries
            lib.attn_run_free(run)

    def _set_edits(self, edits, host, steerings):
        """STEERINGS come after the edits; those at words of texts that are not known yet are steering, too."""
        edits = [edits] if isinstance(edits, Edit) else listed(edits, "edits", "what attn.zero, scale, replace, add or mask make")
        for edit in edits:
            if not isinstance(edit, Edit):
                raise TypeError(f"edits holds {type(edit).__name__}, expected what attn.zero, scale, replace, add or "
                                "mask make")
        self.edits = edits
        late = [edit for edit in edits if host is None and edit.can_steer()]
        structs = [struct for edit in edits if edit not in late for struct in edit.structs(functools.partial(self._find, host))]
        steerings = [struct for edit in late for struct in edit.steerings()] + steerings
        if steerings:
            array = (c.attn_steering * len(steerings))(*steerings)
            self.keep += [array, edits]
            self.struct.edits.steerings, self.struct.edits.n_steering = array, len(steerings)
        if structs:
            array = (c.attn_edit * len(structs))(*structs)
            self.keep += [array, edits]
            self.struct.edits.items, self.struct.edits.n = array, len(structs)
