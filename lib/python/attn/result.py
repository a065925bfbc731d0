"""What a run gives: tensors as numpy arrays in the library's memory, tokens, predictions, pictures."""
from __future__ import annotations

import functools
import html
import math
import shutil
import sys
from collections.abc import Mapping
from ctypes import (CFUNCTYPE, POINTER, addressof, byref, c_bool, c_size_t, c_void_p, cast, create_string_buffer,
                    string_at)
from typing import Any, Iterator, NamedTuple

import numpy as np

from . import binding as c
from .errors import ClosedError, Error, Note
from .library import call, lib, reader
from .pictures import Picture
from .request import SITES, STACKS, queries_of
from .table import Table, table_of

NAMES = {site: name for name, site in SITES.items()}
ALIASES = {"attention": "pattern", "context": "z"}  # as in lists of sites
_LAYOUT = {site: lib.attn_site_layout(site) for site in NAMES}
_IN_LAYER = {site: lib.attn_site_is_in_layer(site) for site in NAMES}


class Place(NamedTuple):
    """Where a tensor is: struct attn_location without the head."""

    site: int
    stack: int
    layer: int  # of that stack, from 0; ATTN_NO_LAYER

    def location(self, head: int = c.ATTN_ALL_HEADS) -> c.attn_location:
        return c.attn_location(stack=self.stack, layer=self.layer, head=head, site=self.site)


def archive_name(place: Place) -> str:
    text = create_string_buffer(c.ATTN_SITE_ARCHIVE_NAME_SIZE)
    size = lib.attn_location_archive_name(byref(place.location()), text)
    return text.raw[:size].decode()


# --- Memory ---------------------------------------------------------------------------------------


class Owner:
    """Memory of the library: freed with the last array that shows it.

    One object owns all that must be freed in an order: those of a cycle are finalized in any.
    """

    __slots__ = ("parts",)

    def __init__(self):
        self.parts = []  # (function, pointer), the first freed last

    def __del__(self):
        while self.parts:
            free, pointer = self.parts.pop()
            free(pointer)


class _Lent:
    __slots__ = ("__array_interface__", "owner")

    def __init__(self, address, shape, owner, strides=None, kind="<f4", read_only=False):
        self.__array_interface__ = {"data": (address, read_only), "shape": shape, "typestr": kind, "version": 3,
                                    "strides": strides}
        self.owner = owner


def lend(address: int | None, shape: tuple, owner, strides=None, kind="<f4", read_only=False) -> np.ndarray:
    """An array over memory that OWNER keeps alive; nothing is copied."""
    return np.asarray(_Lent(address, shape, owner, strides, kind, read_only))


# --- Tensors --------------------------------------------------------------------------------------


class Site:
    """The tensors of one site, by layer: r.pattern[2] is layer 2, r.pattern[2, 2] its head 2.

    site[layer]                 as the archives have it: matrices [H, T, S], q, z [T, H, n], k, v [S, G, n],
                                others [T, n]
    site[layer, head, ...]      of one head: [T, S], [T, n], [S, n]; further indices go into that
    numpy.asarray(site)         all layers, one above the other (a copy)

    Heads are counted as in the model, also where only some were kept; `site.heads(layer)` lists them.
    """

    def __init__(self, name: str, layout: int, arrays: dict[int, np.ndarray], heads: dict[int, list[int]]):
        self.name, self._layout, self._arrays, self._heads = name, layout, arrays, heads

    @property
    def layers(self) -> list[int]:
        """The layers that were kept."""
        return list(self._arrays)

    def heads(self, layer: int) -> list[int]:
        """The heads of `layer` that were kept; of k and v key/value heads; of sites without heads none."""
        return list(self._heads.get(layer, ()))

    @property
    def shape(self) -> tuple[int, ...]:
        """(layers, ...) of numpy.asarray(site)."""
        return (len(self._arrays), *next(iter(self._arrays.values())).shape)

    def _layer(self, layer) -> int:
        if isinstance(layer, (bool, np.bool_)) or not isinstance(layer, (int, np.integer)):
            raise IndexError(f"{self.name}[{layer!r}]: the first index is the number of a layer; numpy.asarray(...) "
                             "gives one array of all")
        if int(layer) not in self._arrays:
            raise IndexError(f"{self.name} of layer {layer} was not kept, layers are "
                             f"{', '.join(map(str, self._arrays))}")
        return int(layer)

    def __getitem__(self, index) -> np.ndarray:
        if not isinstance(index, tuple):
            return self._arrays[self._layer(index)]
        layer, *rest = index
        layer = self._layer(layer)
        array = self._arrays[layer]
        if self._layout == c.ATTN_LAYOUT_VECTOR:
            return array[tuple(rest)]
        if not rest:
            return array
        head, *cells = rest
        if isinstance(head, (bool, np.bool_)) or not isinstance(head, (int, np.integer)):
            raise IndexError(f"{self.name}[{layer}, {head!r}]: the second index is the number of a head")
        if int(head) not in self._heads[layer]:
            raise IndexError(f"{self.name} of head {layer}.{head} was not kept, heads are "
                             f"{', '.join(map(str, self._heads[layer]))}")
        place = self._heads[layer].index(int(head))
        one = array[place] if self._layout in (c.ATTN_LAYOUT_MATRIX, c.ATTN_LAYOUT_RANK) else array[:, place]
        return one[tuple(cells)]

    def __len__(self) -> int:
        return len(self._arrays)

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter(self._arrays.values())

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        if copy is False:
            raise ValueError(f"the layers of {self.name} lie apart: one array of all is a copy")
        if len({array.shape for array in self._arrays.values()}) > 1:
            raise ValueError(f"{self.name} has not the same shape in all layers")
        return np.stack(list(self._arrays.values())).astype(dtype or np.float32, copy=False)

    def __repr__(self) -> str:
        return f"<{self.name}: layers {', '.join(map(str, self._arrays))}, each {next(iter(self)).shape}>"


class _Size(int):
    """numpy's `size`, which torch's users call."""

    def __call__(self, dim=None):
        return self.shape if dim is None else self.shape[dim]


class Attention(np.ndarray):
    """A numpy array that functions of torch take as a tensor too, without a copy: what BertViz needs."""

    @property
    def size(self):
        size = _Size(int(np.prod(self.shape, dtype=np.int64)))
        size.shape = self.shape
        return size

    @classmethod
    def __torch_function__(cls, function, types, arguments=(), keywords=None):
        def plain(value):
            if isinstance(value, cls):
                import torch
                return torch.from_numpy(value.view(np.ndarray))
            if isinstance(value, (list, tuple)):
                return type(value)(plain(item) for item in value)
            return value

        return function(*plain(tuple(arguments)), **{name: plain(value) for name, value in (keywords or {}).items()})


class Cache(Mapping):
    """Tensors under TransformerLens's names, without a batch axis: cache["blocks.2.attn.hook_pattern"] [H, T, S].

    cache["pattern", 2] is a short form of the same. With two stacks the names are
    cache["decoder.2.cross_attn.hook_pattern"] and cache["cross:pattern", 2].
    """

    def __init__(self, tensors: dict[Place, np.ndarray]):
        self._arrays, self._short = {}, {}
        for place, array in tensors.items():
            stack = STACKS[place.stack]
            self._arrays[archive_name(place)] = array
            self._short[f"{stack}:{NAMES[place.site]}" if stack else NAMES[place.site], place.layer] = array

    def __getitem__(self, name) -> np.ndarray:
        if isinstance(name, tuple) and name in self._short:
            return self._short[name]
        if name not in self._arrays:
            raise KeyError(f"{name}: this run kept {', '.join(list(self._arrays)[:4])}{', ...' * (len(self) > 4)}")
        return self._arrays[name]

    def __iter__(self):
        return iter(self._arrays)

    def __len__(self):
        return len(self._arrays)

    def __repr__(self):
        return f"<Cache: {', '.join(self._arrays)}>"


# By address: ctypes would make a pointer for each call.
_next = CFUNCTYPE(c_bool, c_void_p, c_void_p)(("attn_selection_next", lib))
_has_head = CFUNCTYPE(c_bool, c_void_p, c_void_p)(("attn_selection_has_head", lib))
_tensor_at = CFUNCTYPE(c_void_p, c_void_p, c_void_p)(("attn_capture_tensor", lib))


def heads_kept(selection, dims: c.attn_dims, place: Place) -> list[int]:
    if dims.encoder and place.stack == c.ATTN_STACK_ENCODER:
        dims = dims.encoder.contents
    at, n, layout = place.location(), dims.n_head, _LAYOUT[place.site]
    address = addressof(at)

    def has(head):
        at.head = head
        return _has_head(selection, address)

    if layout == c.ATTN_LAYOUT_VECTOR:
        return []
    if layout == c.ATTN_LAYOUT_KEY:
        shared = n // dims.n_kv_head  # query heads that one serves
        return [head for head in range(dims.n_kv_head) if any(has(head * shared + i) for i in range(shared))]
    return [head for head in range(n) if has(head)]


def places_of(selection) -> dict[Place, list[int]]:
    """The sites of layers that are wanted, and which heads of them: by site, those of an encoder last."""
    dims = lib.attn_selection_dims(selection).contents
    walk, found = c.attn_selection_walk(), []
    address, at = addressof(walk), walk.at
    while _next(selection, address):
        found.append(Place(at.site, at.stack, at.layer))
    found.sort(key=lambda place: (place.site, place.stack == c.ATTN_STACK_ENCODER))
    places: dict[Place, list[int]] = {}
    kept: dict[tuple, list[int]] = {}
    for place in found:
        key = _LAYOUT[place.site], place.stack, place.layer
        if key not in kept:
            kept[key] = heads_kept(selection, dims, place)
        places[place] = kept[key]
    return places


def tensors_of(capture, selection, places, owner) -> dict[Place, np.ndarray]:
    """The tensors of a capture: arrays over its memory, which OWNER keeps alive."""
    sizes, arrays = (c_size_t * 3)(), {}
    dims = lib.attn_selection_dims(selection).contents
    for place in places:
        at = place.location()
        address = _tensor_at(capture, addressof(at))
        if address is None:
            continue
        rank = lib.attn_selection_shape(selection, byref(at), sizes)
        shape, strides = tuple(sizes[:rank]), None
        if _LAYOUT[place.site] in (c.ATTN_LAYOUT_QUERY, c.ATTN_LAYOUT_KEY):  # kept head by head
            strides = (4 * shape[2], 4 * shape[0] * shape[2], 4)
        # rows of pixels are those of all channels; numbers of several pictures are one column
        if NAMES[place.site].startswith("pixel_values") and not (dims.images and dims.images.contents.n > 1):
            shape = (dims.picture.n, 3, dims.picture.height, shape[1])
        if place.stack == c.ATTN_STACK_TOWER:  # the chosen pictures, one after another
            strides = strides and (4 * math.prod(shape), *strides)
            shape = (dims.encoder.contents.picture.n_chosen, *shape)
        arrays[place] = np.asarray(_Lent(address, shape, owner, strides))
    return arrays


def texts_of(items: int, sizes: int, n: int) -> list[str]:
    """N texts of the library, at these addresses, as str; bytes that are part of a character are U+FFFD."""
    pieces, lengths = (c_void_p * n).from_address(items), (c_size_t * n).from_address(sizes)
    return [string_at(piece or 0, size).decode("utf-8", "replace") for piece, size in zip(pieces, lengths)]


_labels = reader(c.attn_labels, "selection", "ids", "tokens", "token_sizes", "source_ids", "source_tokens",
                 "source_token_sizes", "begin", "end", "types")


# --- Results --------------------------------------------------------------------------------------


def _attentions(patterns: Site) -> tuple[Attention, ...]:
    """Patterns as transformers has them, [1, H, T, S] each."""
    return tuple(array[None].view(Attention) for array in patterns)


class Stack:
    """The tensors of one stack of a model with two: r.cross.pattern[0] is layer 0 of cross-attention [H, T, S]."""

    def __init__(self, result: Result, name: str):
        self._result, self._name = result, name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._result._site(name, self._name)

    def __dir__(self):
        return [*super().__dir__(), *self._result._kept(self._name)]

    def __repr__(self):
        return f"<{self._name}: {', '.join(self._result._kept(self._name)) or 'no tensors'}>"


class Predictions(NamedTuple):
    """Next tokens. top: prob, id, token, most probable first (and position, where queries were chosen);
    next: log_prob (natural) and text of the continuations that were asked for; metric: value and metric of the target
    that was asked for. None: was not asked."""

    top: Table | None
    next: Table | None
    metric: Table | None = None


def predictions_of(found: c.attn_result) -> Predictions:
    if not (found.predictions.n_top or found.predictions.n_next or found.predictions.n_metric):
        return Predictions(None, None)
    tables = top, next, metric = c_void_p(), c_void_p(), c_void_p()
    call("attn_result_tables", byref(found), byref(top), byref(next))
    call("attn_result_metric", byref(found), byref(metric))
    return Predictions(*(table_of(table) if table else None for table in tables))


class Result:
    """What a run gave. Tensors are attributes, by the names of their sites: r.pattern, r.z, r.logits.

    tokens          texts [T] of the tokens, of a picture "[CLS]" and places, "3,4"; None without a tokenizer
    ids             int64 [T]; None where embeddings were given
    types           int64 [T] the token types; 0 where the model has none
    offsets         int64 [T, 2] each token's bytes in its text as UTF-8: text.encode()[begin:end], of the second text
                    of a pair in that; or None
    queries         int64 [T'] the positions that rows of tensors are of
    source_tokens   texts [S] of what cross-attention looks at, or None
    len(result)     T
    predictions     Predictions(top, next, metric)
    notes           what `attn-cli run` would note: how many rows an edit changed, say
    cache           the tensors under TransformerLens's names
    id, labels, error, measures
                    of Model.map: the id that the text came with; the other keys of its dict, {} without; the attn.Error
                    that it ended with, or None; numbers of every head [L, H], of two stacks [L, 2, H]: of the decoder,
                    and of cross-attention
    attentions      a tuple of [1, H, T, S], one a layer, like transformers' output_attentions=True

    A model with two stacks has three kinds of layers, each counted from 0:

    encoder, decoder, cross
                    the tensors of one kind: r.cross.pattern[0]. r.pattern is that of the only kind that was kept
    encoder_attentions, decoder_attentions, cross_attentions
                    as in transformers
    source_ids      int64 [S]; None where embeddings were given

    Arrays lie in the library's memory. They stay valid by themselves: also when the result is gone and the model
    closed.
    """

    tokens: list[str] | None = None
    source_tokens: list[str] | None = None
    predictions: Predictions = Predictions(None, None)
    id: Any = None
    error: Error | None = None

    # Most results of Model.map are asked for little: what a run leaves is kept as bytes until it is asked for.
    _ids: bytes | None = None  # int32 [n]
    _source_ids: bytes | None = None  # likewise
    _types: bytes | None = None  # likewise; None: all are 0
    _sides: tuple[bytes, bytes] | None = None  # where tokens begin and end, as bytes of int64
    _n = 0
    _queries: np.ndarray | None = None  # those that were chosen; None: all
    _measures: tuple[list[str], tuple[int, ...], bytes] | None = None  # names, layers and heads, float32
    _again: Any = None  # what draws, and the input and options that it draws

    def __init__(self):
        self._tensors: dict[Place, np.ndarray] = {}
        self._heads: dict[Place, list[int]] = {}
        self.notes: list[Note] = []
        self.labels: dict[str, Any] = {}

    def _read_labels(self, address: int, n: int, has_queries: bool, texts: dict[int, str]) -> None:
        """Copies what the N positions of a run are called: struct attn_labels at ADDRESS. TEXTS keeps the texts of ids
        from run to run."""
        selection, ids, tokens, sizes, source_ids, source_tokens, source_sizes, begin, end, types = _labels(address)
        self._n = n
        if has_queries:
            self._queries = np.array(queries_of(selection), np.int64)
        if types:
            self._types = string_at(types, 4 * n)
        if begin and end:
            self._sides = string_at(begin, 8 * n), string_at(end, 8 * n)
        keys: list[int] = []
        if ids:
            self._ids = string_at(ids, 4 * n)
            keys = memoryview(self._ids).cast("i").tolist()
        if tokens:
            try:
                self.tokens = [texts[id] for id in keys] or texts_of(tokens, sizes, n)
            except KeyError:
                self.tokens = texts_of(tokens, sizes, n)
                texts.update(zip(keys, self.tokens))
        n_source = lib.attn_selection_dims(selection).contents.n_source if source_ids or source_tokens else 0
        if source_ids:
            self._source_ids = string_at(source_ids, 4 * n_source)
        if source_tokens:
            self.source_tokens = texts_of(source_tokens, source_sizes, n_source)

    @functools.cached_property
    def ids(self) -> np.ndarray | None:
        return None if self._ids is None else np.frombuffer(self._ids, np.int32).astype(np.int64)

    @functools.cached_property
    def source_ids(self) -> np.ndarray | None:
        return None if self._source_ids is None else np.frombuffer(self._source_ids, np.int32).astype(np.int64)

    @functools.cached_property
    def types(self) -> np.ndarray:
        return np.zeros(self._n, np.int64) if self._types is None else np.frombuffer(self._types, np.int32).astype(np.int64)

    @functools.cached_property
    def measures(self) -> dict[str, np.ndarray] | None:
        if self._measures is None:
            return None
        names, shape, data = self._measures
        return dict(zip(names, np.frombuffer(data, np.float32).reshape(-1, *shape).copy()))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        stack, _, what = name.partition("_")
        if stack in STACKS[1:] and self._stacks() and what in ("", "attentions"):
            of = Stack(self, stack)
            return _attentions(of.pattern) if what else of
        return self._site("pattern" if name == "attentions" else name)  # the property found no pattern: say why

    def _stacks(self) -> list[str]:
        """The names of the stacks that are selected, of a model with two."""
        return list(dict.fromkeys(STACKS[place.stack] for place in self._heads if place.stack))

    def _kept(self, stack: str | None = None) -> list[str]:
        """The names of what was kept, of all stacks or of one."""
        return list(dict.fromkeys(NAMES[place.site] for place in self._tensors if stack in (None, STACKS[place.stack])))

    def _site(self, name: str, stack: str | None = None) -> Any:
        """The tensors of a site, of STACK or of the only stack that has them."""
        site = SITES.get(ALIASES.get(name, name))
        if site is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        places = [place for place in self._tensors if place.site == site and stack in (None, STACKS[place.stack])]
        found = list(dict.fromkeys(STACKS[place.stack] for place in places))
        if not found:
            of = f"{stack}:" if stack else ""
            raise AttributeError(f"'{of}{name}' was not kept by this run, which has "
                                 f"{', '.join(self._kept(stack)) or 'no tensors'}: ask for it with "
                                 f"sites=[\"{of}{name}\"]")
        if len(found) > 1:
            raise AttributeError(f"'{name}' was kept of {', '.join(found)}: choose one, as with .{found[-1]}.{name}")
        if not _IN_LAYER[site]:
            return self._tensors[places[0]]
        return Site(NAMES[site], _LAYOUT[site], {place.layer: self._tensors[place] for place in places},
                    {place.layer: self._heads[place] for place in places})

    def __dir__(self):
        stacks = self._stacks()
        return [*super().__dir__(), *self._kept(), *stacks, *(f"{stack}_attentions" for stack in stacks)]

    @property
    def offsets(self) -> np.ndarray | None:
        """int64 [T, 2]: each token's bytes in its text as UTF-8; or None."""
        if self._sides is None:
            return None
        return np.array([np.frombuffer(side, np.int64) for side in self._sides]).T

    @property
    def queries(self) -> np.ndarray:
        """int64: the positions that rows of tensors are of."""
        return np.arange(self._n) if self._queries is None else self._queries

    @property
    def cache(self) -> Cache:
        """The tensors under TransformerLens's names."""
        return Cache(self._tensors)

    @property
    def attentions(self) -> tuple[Attention, ...]:
        """Patterns [1, H, T, S], one a layer, as transformers has them."""
        return _attentions(self.pattern)

    def __repr__(self) -> str:
        return f"<attn.Result: {self._n} tokens, {', '.join(self._kept()) or 'no tensors'}>"

    # --- Pictures and files ---

    def render(self, format: str, path=None, *, sites=None, **options) -> bytes | None:
        """Writes this run in a format of `attn-cli run`: "svg", "png", "pdf", "html", "npz", "npy", "csv", "tidy",
        "json", "safetensors", "heatmap", "text".

        Without a path the bytes are returned. The run is made once more, so its model must be open. Options are
        those of pictures: figure ("matrix", "grid", "arcs", "tokens", "answer", "patches:RxC"), colormap,
        hide ("none", "first", "parks"), renormalize, merge_words, title, theme ("auto", "light", "dark"), width, dpi,
        font_size, figure_width ("85mm"); and heads, layers, queries, precision, to write less than was kept.
        """
        if self._again is None:
            raise ClosedError("this result was loaded or made without a model, which draws it")
        draw, given = self._again
        return draw(given, format, path, sites, options)

    def svg(self, **options) -> str:
        """A picture of the patterns as SVG; options as of render."""
        return (self.render("svg", **options) or b"").decode()

    def show(self, **options) -> None:
        """Shows the patterns: in a notebook as a picture, elsewhere as text on standard output."""
        display = _notebook_display()
        if display:
            display({"image/svg+xml": self.svg(**options)}, raw=True)
        else:
            width = shutil.get_terminal_size().columns
            sys.stdout.write((self.render("screen", **{"width": width, **options}) or b"").decode())

    def save_svg(self, path, **options) -> None:
        """Saves a picture of the patterns as SVG; options as of render."""
        self.render("svg", path, **options)

    def save_png(self, path, **options) -> None:
        """Saves a picture of the patterns as PNG; needs pango and cairo at run time."""
        self.render("png", path, **options)

    def save_html(self, path, **options) -> None:
        """Saves a web page with all heads, which works without a network; of a run with grad=True with their gradients.
        live=True puts attn-cli and the model into it, where they run: type another text, switch heads off, knock keys
        out. story, live_words: paths of its steps and of another language, as JSON. Of a model of more than 64 MiB the page
        asks for the files; live=200: of more than 200."""
        self.render("html", path, **options)

    def save_npz(self, path, **options) -> None:
        """Saves the tensors of this run under TransformerLens's names, for numpy.load."""
        sites = ",".join(dict.fromkeys(":".join(filter(None, (STACKS[place.stack], NAMES[place.site])))
                                       for place in self._tensors))
        self.render("npz", path, **{"sites": sites or None, **options})

    def head(self, layer: int, head: int, **options) -> Picture:
        """One head as a picture, shown in a notebook; save writes it into a file. Options as of render."""
        return Picture(lambda format, path: self.render(format, path, **{"heads": [(layer, head)], **options}))

    def _repr_svg_(self) -> str | None:
        try:
            return self.svg()
        except Exception:  # a result without a pattern still has its repr
            return None

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        """What a notebook shows: the page of save_html, whose heads are chosen with the pointer, or where no HTML is
        shown the picture."""
        bundle = {"text/plain": repr(self)}
        try:
            page = (self.render("html") or b"").decode()
            bundle["text/html"] = (f'<iframe srcdoc="{html.escape(page)}" title="attention" '
                                   'style="border: 0; width: 100%; height: 520px"></iframe>')
        except Exception:  # as of a result without a pattern
            pass
        picture = self._repr_svg_()
        return {**bundle, "image/svg+xml": picture} if picture else bundle

    def __len__(self) -> int:
        return self._n

    def __getstate__(self):
        state = dict(self.__dict__)
        state["_tensors"] = {place: np.array(array) for place, array in self._tensors.items()}
        state["_again"] = None
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)


def _notebook_display():
    """IPython's display function where cells show pictures, else None."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import display
    return display
