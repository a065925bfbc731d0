"""Failures of the library as exceptions."""
from __future__ import annotations

import re

from . import binding as c

# Fields that texts of the library name, in backquotes, and what these arguments are called here.
_ARGUMENTS = {"corrupted_source_file": "corrupted_source", "from": "from_", "has_effect": "effect", "is_cumulative": "cumulative",
              "is_resumed": "resume", "is_shifted": "shifted", "label": "labels", "n_control": "control",
              "source_file": "source"}

_STAGES = ["", "options", "model", "input", "output", "check"]


class Error(Exception):
    """A call of the library failed.

    message: what was found and what was expected, one line
    stage:   "options", "model", "input", "output", "check", or "" where it is not known
    hint:    what to try next, or ""
    code:    of a text of Model.map: "empty", "bad_text", "bad_ids", "too_long", ...; else ""
    """

    message: str
    stage: str
    hint: str
    code: str = ""

    def __init__(self, message: str, stage: str = "", hint: str = ""):
        super().__init__(message)
        self.message, self.stage, self.hint = message, stage, hint
        if hint and hasattr(self, "add_note"):
            self.add_note(hint)

    def __reduce__(self):
        return type(self), (self.message, self.stage, self.hint), {"code": self.code}

    def __str__(self):
        return self.message


class InvalidError(Error, ValueError):
    """What the caller gave is out of range, unknown, or does not go together."""


class FormatError(Error, ValueError):
    """A file's content is not what its format demands."""


class UnsupportedError(Error, NotImplementedError):
    """Well-formed, but this version cannot do it."""


class FileError(Error, OSError):
    """The system refused a read, a write, an open."""


class OutOfMemoryError(Error, MemoryError):
    """An allocation of the library failed."""


class CanceledError(Error):
    """Ctrl-C ended it, or a callback did."""


class ClosedError(Error, ValueError):
    """The model was closed."""


_CLASSES = {c.ATTN_NO_MEMORY: OutOfMemoryError, c.ATTN_IO: FileError, c.ATTN_FORMAT: FormatError,
            c.ATTN_UNSUPPORTED: UnsupportedError, c.ATTN_INVALID: InvalidError, c.ATTN_CANCELED: CanceledError}


def said(text: bytes) -> str:
    """A text of the library, with the names that its fields have here."""
    return re.sub(r"`([a-z_]+)(?=[ `])", lambda found: "`" + _ARGUMENTS.get(found[1], found[1]),
                  text.decode("utf-8", "replace"))


def error_of(error: c.attn_error) -> Error:
    return _CLASSES.get(error.status, Error)(said(error.message), _STAGES[error.stage], said(error.hint))


class Note(str):
    """What is unusual and no failure, in one line.

    code: "spaces", "edit_idle", "item_failed", ...: those of lib/ground/base/note.h
    """

    code: str

    def __new__(cls, text: str, code: str = ""):
        note = super().__new__(cls, text)
        note.code = code
        return note


class NoteWarning(UserWarning):
    """A note that is a warning, too: its code is "spaces" or "item_failed"."""

    def __init__(self, text: str, code: str = ""):
        super().__init__(text)
        self.code = code
