"""Pictures of results and tables: what shapes them, and where they go."""
from __future__ import annotations

import os
from ctypes import byref, c_size_t, c_void_p, string_at
from typing import Any, Callable

from . import binding as c
from .library import call, default, lib, path_bytes, terminated
from .params import fill_all, keywords_of, parameters_of
from .values import real

PARAMS = parameters_of("view", "picture")
KEYWORDS = keywords_of(PARAMS)


def picture_options(options: dict, keep: list) -> c.attn_picture_options:
    """Takes what shapes a picture out of OPTIONS."""
    picture, width = default(c.attn_picture_options), options.get("figure_width")
    for name in ("figure", "colormap", "title"):
        if options.get(name) is not None:
            options[name] = _text(options[name], name)
    if width is not None and not isinstance(width, str):
        points = real(width, "figure_width")
        options["figure_width"] = f"{points!r}pt" if points else None
    fill_all(picture, PARAMS, options, keep)
    for name in KEYWORDS:
        options.pop(name, None)
    keep.append(picture)
    return picture


def _text(value, what: str) -> str:
    """A text that stands in the picture, so bytes must be UTF-8."""
    try:
        return terminated(value, what).decode()
    except UnicodeDecodeError:
        raise ValueError(f"{what} is {value!r}, expected UTF-8") from None


def sink_bytes(sink) -> bytes:
    size = c_size_t()
    address = lib.attn_sink_bytes(sink, byref(size))
    return string_at(address or 0, size.value)


def written(format: str, path, write: Callable[[c.attn_output], Any]) -> bytes | None:
    """What WRITE puts into an output of FORMAT: in a file, or without a path in memory and returned."""
    output, sink = c.attn_output(), c_void_p()
    output.format = lib.attn_format_find(terminated(format, "format"))
    if not output.format:
        raise ValueError(f"format is {format!r}, expected the name of an output of attn-cli, as 'svg' or 'npz'")
    try:
        if path is None:
            call("attn_sink_create_memory", byref(sink))
            output.sink = sink
        else:
            output.path = path_bytes(path, "path")
        write(output)
        return sink_bytes(sink) if path is None else None
    finally:
        lib.attn_sink_free(sink)


class Picture:
    """A table as a picture: shown in a notebook, saved as what the file's name ends in."""

    def __init__(self, draw: Callable[[str, Any], bytes | None]):
        self._draw = draw
        self.svg = (draw("svg", None) or b"").decode()

    def save(self, path) -> None:
        """Saves it as .svg, .png, .pdf or .html; PNG and PDF need pango and cairo at run time."""
        path_bytes(path, "path")
        self._draw(os.path.splitext(os.fspath(path))[1][1:].lower() or "svg", path)

    def _repr_svg_(self) -> str:
        return self.svg
