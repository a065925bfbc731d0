"""libattn.so, attn.dll on Windows: found, loaded, and called so that failures are exceptions and Ctrl-C is heard."""
from __future__ import annotations

import difflib
import os
import queue
import re
import sys
import threading
import warnings
from ctypes import CDLL, CFUNCTYPE, byref, c_char_p, c_int, c_void_p, cast, sizeof, string_at
from struct import Struct
from types import FrameType

from . import binding as c
from .errors import Note, NoteWarning, error_of, said
from .version import VERSION

_HERE = os.path.dirname(os.path.abspath(__file__))
_NAME = {"win32": "attn.dll", "darwin": "libattn.dylib"}.get(sys.platform, "libattn.so")
_SONAME = f"{_NAME}.{c.ATTN_ABI}" if _NAME == "libattn.so" else _NAME


def _places():
    """Where the library may be: as LIBATTN says, in the wheel, beside the sources, in the system."""
    if os.environ.get("LIBATTN"):
        return [os.environ["LIBATTN"]]
    near = [os.path.join(_HERE, _NAME),
            os.path.join(_HERE, "..", "..", "..", "build", "release", _NAME)]
    return [path for path in near if os.path.exists(path)] or [_SONAME]


def _release(version):
    """MAJOR.MINOR and the release candidate of VERSION, which a module and its library share."""
    found = re.match(r"(\d+\.\d+)\.\d+(?:-?(rc\d+))?", version)
    return found.groups() if found else (version, None)


def _require(library, path):
    """Refuses a library of another release: it may have other functions and other structs."""
    library.attn_version.restype = c_char_p
    version = library.attn_version().decode()
    own, other = _release(VERSION), _release(version)
    if own != other:
        needed = own[0] if own[0] != other[0] or not own[1] else "".join(own)
        raise ImportError(f"attn {VERSION} needs the library of version {needed}, and '{path}' is of {version}: install both "
                          "from one package, or name a library by LIBATTN")


def _load():
    path = _places()[0]
    try:
        library = CDLL(path)
        _require(library, path)
        c.declare(library)
    except (OSError, AttributeError) as problem:
        raise ImportError(f"attn cannot use its library '{path}': {problem}") from None
    return library, path


lib, path = _load()


# The stage of a failure for which the library gives none: it does not know what a text was parsed for.
_STAGES = (("_parse", "options"), ("attn_catalog_", "model"), ("attn_tokenizer_", "input"), ("attn_pixels_", "input"))


def default(kind):
    """A struct of KIND with the defaults that the library gives it."""
    made = kind()
    getattr(lib, f"{kind.__name__}_init")(byref(made), sizeof(made))
    return made


def call(name, *arguments):
    """Calls a function that returns a status and takes an attn_error last; raises attn.Error."""
    error = c.attn_error()
    if getattr(lib, name)(*arguments, byref(error)) != c.ATTN_OK:
        problem = error_of(error)
        problem.stage = problem.stage or next((stage for part, stage in _STAGES if part in name), "")
        raise problem


# --- Texts ----------------------------------------------------------------------------------------


def utf8(value: str | bytes, what: str) -> bytes:
    """A text as the library takes it with its size: any characters that UTF-8 has."""
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if not isinstance(value, str):
        raise TypeError(f"{what} is {type(value).__name__}, expected text")
    try:
        return value.encode()
    except UnicodeEncodeError as problem:
        raise ValueError(f"{what} holds a lone surrogate, U+{ord(value[problem.start]):04X}, expected text that UTF-8 "
                         "has") from None


def terminated(value: str | bytes, what: str) -> bytes:
    """A text that the library reads up to its NUL: one within it would hide the rest."""
    return _without_nul(utf8(value, what), what)


def path_bytes(value, what: str) -> bytes:
    """The path of a file or folder, or a name that may be one, likewise."""
    try:
        data = os.fsencode(value)
    except UnicodeEncodeError:
        data = utf8(os.fspath(value), what)
    except TypeError:
        raise TypeError(f"{what} is {type(value).__name__}, expected the path of a file") from None
    return _without_nul(data, what)


def _without_nul(data: bytes, what: str) -> bytes:
    if b"\0" in data:
        raise ValueError(f"{what} holds the character U+0000")
    return data


# --- Structs and callbacks ------------------------------------------------------------------------


def reader(kind, *names):
    """A function that gives the fields NAMES of a struct KIND at an address as a tuple: pointers as numbers. "a.b" is a
    field of the struct that it holds.

    Field by field ctypes makes an object for each pointer, which costs too much where it is done for every text.
    """
    layout, end = "=", 0
    for name in names:  # in their order in the struct: a gap cannot be negative
        begin, holder = 0, kind
        for part in name.split("."):
            field, holder = getattr(holder, part), dict(holder._fields_)[part]
            begin += field.offset
        layout += f"{begin - end}x" + {1: "?", 4: "i", 8: "Q"}[field.size]
        end = begin + field.size
    unpack = Struct(layout).unpack
    return lambda address: unpack(string_at(address, end))


def callback(kind, function):
    """FUNCTION as a callback of the type KIND, which gets addresses instead of pointers."""
    plain = CFUNCTYPE(kind._restype_, *[c_void_p] * len(kind._argtypes_))(function)
    return cast(plain, kind)


# --- Forks ----------------------------------------------------------------------------------------

generation = 0  # counts forks: what was made before one belongs to the parent, and its threads too


def _after_fork():
    global generation, _worker, _lock
    generation += 1
    _worker, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_after_fork)

# --- Ctrl-C ---------------------------------------------------------------------------------------


class _Job:
    """A call that another thread makes for the main one."""

    __slots__ = ("function", "result", "problem", "is_done", "done")

    def __init__(self, function):
        self.function = function
        self.result = self.problem = None
        self.is_done = False
        self.done = threading.Lock()
        self.done.acquire()

    def run(self):
        try:
            self.result = self.function()
        except BaseException as problem:
            self.problem = problem
        self.function = None
        self.is_done = True
        self.done.release()


def _work(jobs):
    while True:
        job = jobs.get()
        job.run()
        del job  # and what it holds, before the next one


_worker, _lock = None, threading.Lock()


def _jobs():
    """The queue of the thread that computes for the main one."""
    global _worker
    with _lock:
        if _worker is None:
            _worker = queue.SimpleQueue()
            threading.Thread(target=_work, args=(_worker,), name="attn", daemon=True).start()
        return _worker


def interruptible(function, cancel: c_int | None = None):
    """FUNCTION(), which is native code: in the main thread Ctrl-C sets CANCEL and raises KeyboardInterrupt.

    Python hears signals in the main thread alone, between its own instructions. So another thread computes, and
    the main one waits for it.
    """
    if threading.current_thread() is not threading.main_thread():
        return function()
    job = _Job(function)
    _jobs().put(job)
    try:
        job.done.acquire()
    except BaseException:
        if cancel is not None:
            cancel.value = 1
        while not job.is_done:
            try:
                job.done.acquire(timeout=0.1)
            except BaseException:  # a second Ctrl-C: the run is ending already
                pass
        if cancel is not None:
            cancel.value = 0
        raise
    if job.problem is not None:
        try:
            raise job.problem
        finally:
            del job
    return job.result


# --- Notes ----------------------------------------------------------------------------------------

_notes = threading.local()


def note_of(code: int, message: bytes) -> Note:
    return Note(said(message), lib.attn_note_name(code).decode())


@c.attn_note_fn
def on_note(_user, code, message):
    """Keeps what is odd but no failure, for take_notes."""
    kept = getattr(_notes, "kept", None)
    if kept is None:
        kept = _notes.kept = []
    kept.append(note_of(code, message))


def noting(notes: list[Note]):
    """A callback that appends to NOTES, from whatever thread."""
    return c.attn_note_fn(lambda _user, code, message: notes.append(note_of(code, message)))


def take_notes():
    """The notes of this thread's calls so far, but for those of requests."""
    kept = getattr(_notes, "kept", None)
    if kept:
        _notes.kept = []
    return kept or []


def warn(text: str, code: str) -> None:
    """A NoteWarning, where the caller of this module is."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        frame, level = frame.f_back, level + 1
    warnings.warn(NoteWarning(text, code), stacklevel=level)


# Names of other programs and of older versions.
_MEANT = {"max_tokens": ("n", "max_input"), "max_new_tokens": ("n",), "temp": ("temperature",), "texts": ("items",)}


def unexpected(name: str, *known: str) -> TypeError:
    """An error about the keyword NAME, with the nearest of KNOWN and of those of the function that was called."""
    frame: FrameType | None = sys._getframe(1)
    own: tuple[str, ...] = ()
    while frame and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        code, frame = frame.f_code, frame.f_back
        own = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
    names = sorted({*known, *own} - {"self"})
    near = [meant for meant in _MEANT.get(name, ()) if meant in names] or difflib.get_close_matches(name, names, 1, 0.7)
    return TypeError(f"unexpected keyword argument '{name}'" + (f", did you mean '{near[0]}'?" if near else ""))


def warn_of(notes: list[Note]) -> list[Note]:
    """The same NOTES. A space that was forgotten, or is one too many, is also a warning."""
    for note in notes:
        if note.code == "spaces":
            warn(note, note.code)
    return notes
