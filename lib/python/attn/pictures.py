"""Pictures of results and tables: what shapes them, and where they go."""
from __future__ import annotations

import os
from ctypes import byref, c_size_t, c_void_p, string_at
from typing import Any, Callable

from . import binding as c
from .library import call, lib, path_bytes, terminated
from .request import choice, flag, real, whole

_VALUES = {"auto": c.ATTN_CELL_TEXT_AUTO, "always": c.ATTN_CELL_TEXT_ALWAYS, "never": c.ATTN_CELL_TEXT_NEVER}
_THEMES = {"light": c.ATTN_THEME_LIGHT, "dark": c.ATTN_THEME_DARK}


def picture_options(options: dict, keep: list) -> c.attn_picture_options:
    """Takes what shapes a picture out of OPTIONS."""
    picture = c.ATTN_PICTURE_OPTIONS_DEFAULT()
    figure, colormap = options.pop("figure", None), options.pop("colormap", None)
    color_scale, title = options.pop("color_scale", None), options.pop("title", None)
    if figure is not None:
        call("attn_figure_parse", terminated(figure, "figure"), byref(picture))
    if color_scale is not None:
        call("attn_color_scale_parse", terminated(color_scale, "color_scale"), byref(picture.color_scale))
    if colormap is not None:
        picture.colormap = lib.attn_colormap_find(terminated(colormap, "colormap"))
        if not picture.colormap:
            names = [lib.attn_colormap_name(lib.attn_colormap_at(i)).decode() for i in range(lib.attn_n_colormap())]
            raise ValueError(f"colormap is {colormap!r}, expected one of {', '.join(names)}")
    picture.hides_first = flag(options.pop("hide_first", False), "hide_first")
    picture.renormalizes = flag(options.pop("renormalize", False), "renormalize")
    picture.merges_words = flag(options.pop("merge_words", False), "merge_words")
    picture.values = choice(options.pop("values", "auto"), _VALUES, "values")
    picture.theme = choice(options.pop("theme", "light"), _THEMES, "theme")
    picture.cell, picture.width = whole(options.pop("cell", 0), "cell"), whole(options.pop("width", 0), "width")
    picture.dpi, picture.font_size = real(options.pop("dpi", 0), "dpi"), real(options.pop("font_size", 0), "font_size")
    picture.figure_width = _points(options.pop("figure_width", 0))
    if title is not None:
        picture.title = _text(title, "title")
    if (font := options.pop("font", None)) is not None:
        picture.font = _text(font, "font")
    keep.append(picture)
    return picture


def _text(value, what: str) -> bytes:
    """A text that stands in the picture, so bytes must be UTF-8."""
    data = terminated(value, what)
    try:
        data.decode()
    except UnicodeDecodeError:
        raise ValueError(f"{what} is {value!r}, expected UTF-8") from None
    return data


_UNITS = {"mm": 72 / 25.4, "cm": 72 / 2.54, "in": 72, "pt": 1}


def _points(length) -> float:
    """A length in points: of "85mm", "8.5cm", "3.3in", "240pt", or of a number of points."""
    if not isinstance(length, str):
        return real(length, "figure_width")
    try:
        return float(length[:-2]) * _UNITS[length[-2:]]
    except (KeyError, ValueError):
        raise ValueError(f"figure_width is {length!r}, expected a length as '85mm', '3.3in' or '240pt'") from None


def sink_bytes(sink) -> bytes:
    size = c_size_t()
    address = lib.attn_sink_bytes(sink, byref(size))
    return string_at(address or 0, size.value)


def written(format: str, path, is_synced: bool, write: Callable[[c.attn_output], Any]) -> bytes | None:
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
            output.path, output.is_synced = path_bytes(path, "path"), is_synced
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
