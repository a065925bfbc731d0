"""Models: open one, run texts through it, ask questions about its heads."""
from __future__ import annotations

import os
from ctypes import POINTER, addressof, byref, c_char_p, c_int32, c_size_t, c_void_p, cast, string_at
from itertools import count
from typing import Any, Callable, Iterable, Iterator, NamedTuple, overload

import numpy as np

from . import binding as c
from . import library, listing, many, procedures, questions
from .errors import ClosedError
from .events import Event, Listener
from .functions import edits_of
from .host import Host, open_host, tower_of
from .library import call, default, interruptible, lib, path_bytes, take_notes, terminated, unexpected, utf8, warn_of
from .pictures import KEYWORDS as PICTURE_KEYWORDS
from .pictures import picture_options, written
from .places import DEFAULT, live_module
from .request import DEFAULT_SITES, METRICS, SITES, SPECIALS, Edit, Request, queries_of
from .result import Owner, Result, places_of, predictions_of, tensors_of
from .table import Table, cell_of, table_of
from .weights import Weights
from .values import called, choice, flag, ids_of, refuse_empty, whole


class Tokens(NamedTuple):
    """What Model.tokenize gives. ids int64 [n]; tokens [n] texts; offsets int64 [n, 2]: bytes in the text as UTF-8."""

    ids: np.ndarray
    tokens: list[str]
    offsets: np.ndarray


class PairTokens(NamedTuple):
    """What Model.tokenize gives of two texts. ids, tokens and offsets as in Tokens, offsets in the text that a token is
    of; types int64 [n]: what a model with token types gets; texts int64 [n]: 1 the first text, 2 the second, 0: the
    tokenizer added it."""

    ids: np.ndarray
    tokens: list[str]
    offsets: np.ndarray
    types: np.ndarray
    texts: np.ndarray


class Model(questions.Questions):
    """An open model. It does not change: threads may share it.

    name                what it is called
    config              what its config.json says, by the names of the library: m.config["norm"] is "layernorm"; None for what
                        the model does not have
    weights             read-only arrays by TransformerLens's names: m.weights["blocks.0.attn.W_Q"] is [H, D, E]
    notes               what was odd when it was opened, and no failure: tensors that are not used, say
    n_layer, n_head, n_kv_head, d_model, d_head, d_mlp, n_ctx (None: no limit), n_vocab

    A model is pickled as what opened it, and opened again where it is read. After a fork the child opens it again
    when it first uses it.
    """

    def __init__(self, name: str | os.PathLike | None = None, *, threads: int | None = None, load: str = "map",
                 compute: str = "f32", reuse: bool = False, config: str | None = None, vocab: str | None = None,
                 weights: str | None = None, adapter: str | os.PathLike | None = None, mmproj: str | os.PathLike | None = None):
        name = os.fsdecode(path_bytes(name, "name")) if name is not None else os.environ.get("ATTN_CLI_MODEL") or DEFAULT
        self._opened: dict[str, Any] = dict(name=name, threads=threads, load=load, compute=compute, reuse=reuse, config=config,
                            vocab=vocab, weights=weights, adapter=adapter, mmproj=mmproj)
        self._is_closed = False
        self._host: Host | None = open_host(**self._opened)
        self.notes = self._host.notes
        model = lib.attn_host_model(self._host.pointer)
        self.name = lib.attn_model_name(model).decode("utf-8", "replace")
        self.config = _config_of(lib.attn_model_config(model))

    def __getattr__(self, name: str) -> Any:
        if name in ("n_layer", "n_head", "n_kv_head", "d_model", "d_head", "d_mlp", "n_ctx", "n_vocab"):
            return self.config[name]
        raise AttributeError(f"'Model' object has no attribute '{name}'")

    def __repr__(self) -> str:
        state = ", closed" if self._is_closed else ""
        return f"<attn.Model '{self.name}': {self.n_layer} layers of {self.n_head} heads{state}>"

    # --- Life ---

    def _use(self) -> Host:
        """The open host; the caller keeps it as long as it runs."""
        host = self._host
        if host is None or self._is_closed:
            raise ClosedError(f"the model '{self.name}' is closed")
        if host.generation != library.generation:
            host = self._host = open_host(**self._opened)
        return host

    def _use_for_many(self) -> Host:
        """The same with packed weights, which pay when many texts follow."""
        if not self._opened["reuse"]:
            self._use()
            self._opened["reuse"] = True
            self._host = open_host(**self._opened)
        return self._use()

    def close(self) -> None:
        """Frees the model once no run uses it. Arrays of its results stay valid."""
        self._is_closed, self._host = True, None

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def __reduce__(self):
        if self._is_closed:
            raise ClosedError(f"the model '{self.name}' is closed")
        return _reopen, (self._opened,)

    # --- Text and tokens ---

    def _tokenizer(self, host: Host) -> c_void_p:
        tokenizer = c_void_p()
        call("attn_host_tokenizer", host.pointer, byref(tokenizer))
        return tokenizer

    @overload
    def tokenize(self, text: str | bytes, *, special: str = "parse", special_tokens: bool | str = True,
                 pair: None = None) -> Tokens: ...

    @overload
    def tokenize(self, text: str | bytes, *, special: str = "parse", special_tokens: bool | str = True,
                 pair: str | bytes) -> PairTokens: ...

    def tokenize(self, text, *, special="parse", special_tokens=True, pair=None):
        """The tokens of a text. special "text": <|endoftext|> is plain text; special_tokens False: the tokenizer adds
        none of its own; "bos": one start token is in front, too. With `pair`, a second text, those of both, as PairTokens."""
        host = self._use()
        tokenizer = self._tokenizer(host)
        if isinstance(text, (list, tuple)):
            raise TypeError("text is a list, expected one text: [model.tokenize(text) for text in texts]")
        data, second = utf8(text, "text"), None if pair is None else utf8(pair, "pair")
        options, encoding = default(c.attn_encode_options), c.attn_encoding()
        options.special = choice(special, SPECIALS, "special")
        if isinstance(special_tokens, str) and special_tokens == "bos":
            options.special_tokens = c.ATTN_SPECIAL_TOKENS_BOS
        else:
            options.special_tokens = c.ATTN_SPECIAL_TOKENS_ON if flag(special_tokens, "special_tokens") else c.ATTN_SPECIAL_TOKENS_OFF
        if second is not None:
            options.pair, options.n_pair = second, len(second)
        call("attn_tokenizer_encode", tokenizer, data, len(data), byref(options), byref(encoding))
        try:
            n = encoding.n
            ids = np.array(encoding.ids[:n], np.int64)
            offsets = np.array([encoding.begin[:n], encoding.end[:n]], np.int64).T
            types, texts = np.array(encoding.types[:n], np.int64), np.array(encoding.texts[:n], np.int64)
        finally:
            lib.attn_encoding_release(byref(encoding))
        tokens = [_token(tokenizer, id) for id in ids]
        return Tokens(ids, tokens, offsets) if pair is None else PairTokens(ids, tokens, offsets, types, texts)

    def decode(self, ids) -> str:
        """The text of token ids [n]."""
        host = self._use()
        array = ids_of(ids)
        text, size = c_char_p(), c_size_t()
        call("attn_tokenizer_decode", self._tokenizer(host), cast(array.ctypes.data, POINTER(c_int32)), len(array),
             byref(text), byref(size))
        try:
            return string_at(cast(text, c_void_p).value or 0, size.value).decode("utf-8", "replace")
        finally:
            lib.attn_tokenizer_text_free(text)

    # --- Runs ---

    def run(self, text=None, *, image=None, sites=None, layers=None, heads=None, queries=None, edits=(), top: int | None = None, next=(),
            target=None, foil=None, at=None, metric: str = "auto", grad: bool = False,
            on_event: Callable[[Event], Any] | None = None, **options) -> Result:
        """Runs one text and keeps the tensors that are asked for.

        text        a str; or token ids [n]; or embeddings [n, d_model] of floats
        image       instead of a text, or beside it, for models of pictures: a path (PNG, JPEG, WebP, .npy); a picture,
                    uint8 [H, W, 3], which preprocessor_config.json prepares; or its values, floats [C, H, W]
        continuation
                    an answer, which is appended to the text; its tokens are made apart: a text, or token ids
        chat, system, messages
                    whether the text is put into the form of a conversation, or the path of a template; what the system
                    says before it; or a whole conversation instead of a text, a list of dicts, a path or JSON
        chat_set, tools
                    variables for the template, {"enable_thinking": False}; functions, a list of dicts, a path or JSON
        image_tiles, tiles, neutral, neutral_by, drop_sinks
                    how a picture beside a text is read, and what its maps show, as `attn-cli run --help-all` has it
        sites       names as `attn-cli run --sites` takes them, "pattern,resid_*" or a list; default: pattern, z and
                    logits, where the model has them; []: no tensors, for predictions alone
        layers, heads, queries
                    which: "2.*,3.1", [(2, 1), (3, 0)], "0-3", -1; of queries also words of the text, "it", and places
                    in a picture, (row, column), "[CLS]"
        edits       what attn.zero, scale, replace, add, project and mask make, in this order; or functions by the names of tensors,
                    {"z": f}, {"cross:z": f}, {"blocks.2.attn.hook_z": f}: f(event) gets an Event, whose data is the tensor
                    of one head (or of all, where a site has no heads), and returns an array of the same shape that takes
                    its place; None leaves it as it is. It is called in the order of layers, sites and heads, and again
                    where a layer or an encoder runs again. Questions, gradients and items refuse functions
        ablate      heads whose z becomes 0, "2.5" or [(2, 5)]; with a word before each item its mean over the text,
                    "mean:2.5", or the same weight for every key, "uniform:2.5"
        knockout    texts "QUERIES>KEYS@HEADS": these queries do not look at these keys, of the source
                    in layers that look at it
        patch       texts "SITE:LAYER.HEAD@POSITIONS=FILE.npz"
        steer, project, rescale
                    texts "SITE:LAYERS.HEAD@POSITIONS=FILE*FACTOR", of project FACTOR+OFFSET, and
                    "SITE:LAYERS.HEAD@POSITIONS=FACTOR"
        positions   names for positions, {"subject": "keys", "end": -1}, which knockout and others may use
        attention   a kind, as "window:64"; and mask ("causal", "none" or an array of 0 and 1 [T, S] or [H, T, S]),
                    masking, scale, eps, similarity, algorithm, dropout, seed
        source      what cross-attention looks at: a text, ids or rows [S, d_source]; for Whisper a sound, pathlib.Path("a.wav")
                    or its samples as floats [n], 16,000 a second
        pair        a second text, put after the first as the tokenizer says: [CLS] text [SEP] pair [SEP]
        types       the token types of ids, [n]; a pair has those of the tokenizer: result.types
        key_mask    one number per token of an encoder's text, or per row of the source where there is one: 1, or 0:
                    no query attends to it, as with transformers' attention_mask
        top, next   the most probable next tokens; texts whose probability as a continuation is wanted, or their token
                    ids, [" are", 7, [7, 12]], which come after the texts: result.predictions
        labels      of a model with two towers, as CLIP is: texts that the image is compared with; result.predictions.top
                    has their scores and probabilities; of a model of sentences: texts that the text is compared with.
                    label_ids: the same as token ids; label_images: paths of pictures that CLIP compares a text with
        target, foil, at, metric
                    a metric of the next token, as in `ablate`: result.predictions.metric
        grad        True: with each tensor its gradient, how fast that metric changes with each of its numbers:
                    result.pattern_grad beside result.pattern; of metric="ce", too. Without it they are sites by their
                    names, "pattern_grad", and so are "pattern_x_grad" and "relevance"
        on_event    is called with each Event as it is computed; tensors are not kept then, so memory does not grow
        special, special_tokens
                    as of tokenize
        prompt_name the name of a prompt of a model of sentences, which is put in front of the text
        items       many items instead of a text, as of ablate: a dict of arrays comes back. result["resid_pre"] [N, n],
                    or [N, L, n] of several layers, [N, L, H, n] of sites with heads, has the rows of sites at one position
                    of each item, `at` (a position, a word, or the name of its "pos.NAME"; default: the last); "id" and
                    each label lie beside it, for items that did not fail, and "rows" has a dict for each prediction
        mean_by     of items: a label, whose values have a mean each, or "label=a:b", the mean of b minus that of a

        In the main thread Ctrl-C ends the run: KeyboardInterrupt. It ends other runs of this model, too, which raise
        attn.CanceledError.
        """
        for name in ("ids", "embeddings"):
            if name in options:
                raise TypeError(f"unexpected keyword argument '{name}': give them in place of the text, as the first argument")
        if options.get("items") is not None:
            if text is not None or image is not None or grad or target is not None or on_event is not None:
                raise TypeError("items take no text, image, target, grad and on_event beside them")
            if queries is not None:
                raise TypeError("items are read at one position, `at`, and queries are given")
            return listing.run_items(self, sites=sites, at=at, layers=layers, heads=heads, top=top, next=next, edits=edits,
                                     **options)
        if text is None and image is None and options.get("messages") is None:
            raise TypeError("text is missing: expected a text, token ids or embeddings")
        if image is not None:
            options["image"] = image
        asked = {"target": target, "foil": foil, "at": at, "metric": None if choice(metric, METRICS, "metric") == c.ATTN_ANSWER_AUTO else metric}
        asked = {name: value for name, value in asked.items() if value is not None}
        given = dict(options, text=text, sites=sites, layers=layers, heads=heads, queries=queries, edits=edits, top=top,
                     next=next, asked=asked, grad=grad)
        host = self._use()
        edits = given["edits"] = edits_of(edits, host)
        if sites is None and on_event is None:
            sites = self._default_sites(options)
        request = Request(text, sites=sites, layers=layers, heads=heads, queries=queries, edits=edits, top=top,
                          next=next, asked=asked, grad=grad, host=host, **options).check_stacks(host)
        result = interruptible(lambda: perform(host, request, on_event), host.cancel)
        warn_of(result.notes)
        result._again = self._draw, given
        return result

    def _default_sites(self, options) -> str:
        kind = options.get("attention")
        kind = kind if isinstance(kind, str) else ""  # else Request refuses it
        names = [name for name in DEFAULT_SITES.split(",") if name in self.sites]
        if kind.startswith("linear"):
            return ",".join(names)
        if kind.startswith("lowrank"):
            names = ["pattern_lowrank" if name == "pattern" else name for name in names]
        return ",".join(names)

    @property
    def weights(self) -> Weights:
        """The weights, read-only arrays by TransformerLens's names: m.weights["blocks.0.attn.W_Q"] is [H, D, E]."""
        return Weights(self)

    @property
    def sites(self) -> list[str]:
        """The sites that this model has."""
        host = self._use()
        config = lib.attn_model_config(lib.attn_host_model(host.pointer))
        sites = lib.attn_config_dims(config, 1).sites
        return [name for name, site in SITES.items() if sites.words[site // 64] >> site % 64 & 1]

    def map(self, texts: Iterable, *, sites=None, measures=None, on_error: str = "raise", tower: str = "text",
            **options) -> Iterator[Result]:
        """Runs many texts, side by side on all cores, and gives their results in order, as they are ready.

        texts       an iterable of what `run` takes, or of dicts, whose keys `text`, `ids`, `image`, `continuation`,
                    `neutral`, `source`, `pair`, `types` and `key_mask` are read; `id` comes back as result.id, all
                    other keys as result.labels; read as it is needed, some hundreds ahead
        tower       of a model with two, as CLIP is, the one that they are for: "text" or "image"
        measures    numbers of every head, as `attn-cli heads` finds them: "entropy,induction", "all":
                    result.measures["entropy"] float32 [layers, heads]
        on_error    what a text that cannot be run does: "raise", or "keep": its result has `error` and no tensors
        sites, layers, heads, queries, ablate, attention, top, ...
                    as of run, one choice for all; sites default to none when measures are asked for

        Memory does not grow with the number of texts. The results are, to the bit, those of `run`.
        """
        host = tower_of(self._use_for_many(), tower)
        if sites is None and measures is None:
            sites = self._default_sites(options)
        return many.run_many(self, host, texts, sites=sites, measures=measures, on_error=on_error, **options)

    def _draw(self, given: dict, format: str, path, sites, options: dict) -> bytes | None:
        """Runs once more and writes."""
        return draw(self._use(), given, format, path, sites, options)

    # --- Questions about heads ---

    probe = procedures.probe
    generate = procedures.generate


def _reopen(opened: dict) -> Model:
    return Model(**opened)


def _config_of(config: c_void_p) -> dict:
    values = {}
    for i in count():
        name = lib.attn_config_name(i)
        if name is None:
            return values
        value = cell_of(lib.attn_config_value(config, name))
        values[name.decode()] = value.decode() if isinstance(value, bytes) else value


def _token(tokenizer, id: int) -> str:
    size = c_size_t()
    bytes_ = lib.attn_tokenizer_token(tokenizer, int(id), byref(size))
    return string_at(cast(bytes_, c_void_p), size.value).decode("utf-8", "replace") if bytes_ else ""


# --- One run --------------------------------------------------------------------------------------


def raise_problem(*callers: Edit | Listener) -> None:
    """Raises what a function of the caller raised."""
    for caller in callers:
        if caller.problem is not None:
            raise caller.problem from None


def perform(host: Host, request: Request, on_event=None) -> Result:
    """Serves REQUEST: keeps the tensors, or calls ON_EVENT with them."""
    run, found = c_void_p(), c.attn_result()
    result = Result()
    if called(on_event, "on_event") is not None and not request.keeps_tensors:
        raise TypeError("on_event gets tensors as they are computed, and sites is empty")
    call("attn_run_prepare", host.pointer, byref(request.struct), byref(run))
    listener = None
    try:
        labels = lib.attn_run_labels(run).contents
        n = lib.attn_selection_dims(labels.selection).contents.n_position
        result._read_labels(addressof(labels), n, bool(request.struct.selection.queries.text), host.texts)
        if on_event is not None:
            listener = Listener(on_event, labels.selection)
            trace = byref(listener.trace)
        elif not request.keeps_tensors:
            trace = None
        else:
            capture, owner = _capture(run, labels.selection)
            trace = lib.attn_capture_trace(capture)
        call("attn_run_perform", run, trace, byref(found))
        if on_event is None and trace:
            result._heads = places_of(labels.selection)
            if result._stacks() == ["encoder"]:
                result._queries = np.array(queries_of(labels.selection, c.ATTN_STACK_ENCODER), np.int64)
            result._tensors = tensors_of(capture, labels.selection, result._heads, owner)
        result.predictions = predictions_of(found)
    except Exception:
        raise_problem(*request.edits, *([listener] if listener else []))
        raise
    finally:
        lib.attn_result_release(byref(found))
        lib.attn_run_free(run)
    result.notes = take_notes() + request.notes
    return result


def _capture(run, selection):
    """A capture of RUN, and its owner, who owns a copy of SELECTION, its own, too: they outlive the run."""
    copy, capture, owner = c_void_p(), c_void_p(), Owner()
    call("attn_selection_copy", selection, byref(copy))
    owner.parts.append((lib.attn_selection_free, copy))
    call("attn_run_begin_capture", run, byref(capture))
    owner.parts.append((lib.attn_capture_free, capture))
    return capture, owner


class _Live:
    """What a live page holds: attn.wasm, the files of the model, a story. They are open as long as it is there."""

    _OTHERS = ("queries", "edits", "source", "types", "key_mask", "patch", "grad")

    def __init__(self, host: Host, given: dict, format: str, options: dict, request: Request):
        self.files, self.struct = c_void_p(), None
        paths = {name: options.pop(option, None) for name, option in (("story", "story"), ("words", "live_words"))}
        live = options.pop("live", False)
        limit = 64 if isinstance(live, (bool, np.bool_)) else whole(live, "live", 0, 2**31 - 1)
        if not live:
            for name, option in (("story", "story"), ("words", "live_words")):
                if paths[name] is not None:
                    raise TypeError(f"{option} needs live=True")
            return
        if format != "html":
            raise TypeError(f"live makes a page, and the format is {format!r}")
        others = [name for name in self._OTHERS
                  if given.get(name) is not None and given[name] is not False and np.size(given[name])
                  and not (name == "source" and isinstance(given[name], str))]
        image = given.get("image")
        if others or not isinstance(given.get("text"), str) and image is None:
            raise TypeError(f"live and {(others + ['ids or embeddings'])[0]} do not go together: the page runs the model on "
                            "a text of its reader")
        if image is not None and not isinstance(image, (str, bytes, os.PathLike)):
            raise TypeError("live needs the path of the picture, and image is an array")
        self.reading = self._reading(given)
        source, name = host.found[0].source, host.found[1]
        args = c.attn_live_args(source=POINTER(c.attn_source)(source), given=name, most=limit << 20,
                                module=os.fsencode(os.environ.get("ATTN_LIVE_MODULE") or live_module()),
                                **{name: path_bytes(path, name) for name, path in paths.items() if path is not None},
                                image=None if image is None else path_bytes(image, "image"),
                                request=POINTER(c.attn_request)(request.struct),
                                reading=self.reading, n_reading=len(self.reading))
        call("attn_live_open", byref(args), host.pointer, byref(self.files))
        self.struct = lib.attn_live_of(self.files)

    @staticmethod
    def _reading(given: dict):
        """How the page reads, as options of the tool."""
        options = [] if given.get("image") is None else [("image", given["image"])]
        if given.get("special", "parse") != "parse":
            options.append(("special", given["special"]))
        if given.get("special_tokens", True) is not True:
            options.append(("special-tokens", given["special_tokens"] or "off"))
        options += [("label", label) for label in given.get("labels", ())]
        if given.get("source") is not None:
            options.append(("source", given["source"]))
        return (c.attn_option * len(options))(*(c.attn_option(name.encode(), os.fsencode(value)) for name, value in options))

    def __del__(self):
        if self.files:
            lib.attn_live_free(self.files)


def _name_answer(request: Request, given: dict) -> None:
    """Where there are gradients, outputs say of which answer, as those of the tool do."""
    if not (given.get("grad") or any(word in str(given.get("sites")) for word in ("_grad", "relevance"))):
        return
    named = [(name, str(value) if isinstance(value, str) or name == "at" else f"ids:{value}")
             for name, value in (given.get("asked") or {}).items()]
    if given.get("grad"):
        named.append(("grad", "true"))
    array = (c.attn_option * len(named))(*(c.attn_option(name.encode(), terminated(value, name)) for name, value in named))
    request.keep.append(array)
    request.struct.outputs.options, request.struct.outputs.n_option = array, len(array)


def draw(host: Host, given: dict, format: str, path, sites, options: dict, kind=Request) -> bytes | None:
    """Runs what was GIVEN once more with one output: to PATH, or to memory and returned."""
    given, options = dict(given), dict(options)
    for name in ("heads", "layers", "queries"):
        if name in options:
            given[name] = options.pop(name)
    if sites is not None:
        refuse_empty(sites)
        given["sites"] = sites
    precision = whole(options.pop("precision", -1), "precision", -1, 17)
    request = kind(host=host, **given)
    _name_answer(request, given)
    live = _Live(host, given, format, options, request)
    picture = picture_options(options, request.keep)
    picture.live = live.struct
    request.struct.outputs.picture = POINTER(c.attn_picture_options)(picture)
    if options:
        raise unexpected(next(iter(options)), *PICTURE_KEYWORDS, "heads", "layers", "queries", "precision")
    request.struct.outputs.precision = precision

    def perform(name, *made):
        try:
            interruptible(lambda: call(name, host.pointer, byref(request.struct), *made), host.cancel)
        except Exception:
            raise_problem(*request.edits)
            raise

    def write(output):
        request.struct.outputs.items, request.struct.outputs.n = POINTER(c.attn_output)(output), 1
        lib.attn_request_fill_page(host.pointer, byref(request.struct))
        result = c.attn_result()
        perform("attn_run_request", byref(result))
        lib.attn_result_release(byref(result))

    def write_answer(output):
        table, shown = c_void_p(), c.attn_table_picture()
        perform("attn_answer_heads", c.ATTN_ANSWER_SIDES | c.ATTN_ANSWER_MISSING, byref(table), byref(shown))
        try:
            call("attn_table_picture_write", table, byref(shown), byref(picture), byref(output))
        finally:
            lib.attn_table_free(table)

    is_answer = picture.figure == c.ATTN_FIGURE_ANSWER and format in ("svg", "png", "pdf", "html")
    return written(format, path, write_answer if is_answer else write)
