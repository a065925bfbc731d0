"""Edits by functions: Model.run(text, edits={"z": f})."""
from __future__ import annotations

import re
from ctypes import c_void_p, cast, create_string_buffer
from typing import Any, Callable

from . import binding as c
from .events import Event
from .host import Host
from .library import default, lib
from .request import SITES, STACKS, Edit
from .result import lend
from .table import cell_of
from .values import called, floats


def _archive_names() -> dict[tuple[str, str], tuple[str, str]]:
    """(stack, site) by the name in archives, in two parts without the number of the layer: ("blocks", "attn.hook_z"); sites
    of the model: ("", "hook_embed")."""
    names: dict[tuple[str, str], tuple[str, str]] = {}
    name = create_string_buffer(c.ATTN_SITE_ARCHIVE_NAME_SIZE)
    for number, stack in enumerate(STACKS):
        for site, of in SITES.items():
            lib.attn_location_archive_name(c.attn_location(stack=number, site=of), name)
            text = name.value.decode()
            first, _, rest = text.partition(".0.") if lib.attn_site_is_in_layer(of) else ("", "", text)
            names.setdefault((first, rest), (stack, site))
    return names


_NAMES = _archive_names()
_NAME = re.compile(r"(?P<first>[a-z]+)\.(?P<layer>\d+)\.(?P<rest>.+)")


class FunctionEdit(Edit):
    """A tensor that FUNCTION computes anew; NAME says which: "z", "cross:z", "blocks.2.attn.hook_z"."""

    def __init__(self, name: str, function: Callable[[Event], Any], host: Host):
        self.name, self.function = name, called(function, f"edits[{name!r}]")
        if self.function is None:
            raise TypeError(f"edits[{name!r}] is None, expected a function")
        self.op, self.words, self.data = c.ATTN_EDIT_FUNCTION, None, None
        stack, layer = self._read_name()
        layers = [layer]
        config = lib.attn_model_config(lib.attn_host_model(host.pointer))
        if stack == "encoder" and cell_of(lib.attn_config_value(config, b"is_encoder")):
            stack = ""  # its only one
        if stack in ("decoder", "cross") and layer == c.ATTN_ALL_LAYERS:
            layers = list(range(lib.attn_config_dims(config, 1).n_layer // 2))
        self.stacks = {stack} if lib.attn_site_is_in_layer(SITES[self.site]) else set()
        self.places = [c.attn_location(stack=STACKS.index(stack), layer=layer, head=c.ATTN_ALL_HEADS, site=SITES[self.site])
                       for layer in layers]
        self._callback = c.attn_edit_fn(self._call)

    def _read_name(self) -> tuple[str, int]:
        """Sets the site; returns stack and layer."""
        match = _NAME.fullmatch(self.name)
        found = _NAMES.get((match["first"], match["rest"]) if match else ("", self.name))
        if found:
            stack, self.site = found
            return stack, int(match["layer"]) if match else c.ATTN_ALL_LAYERS
        stack, colon, self.site = self.name.rpartition(":")
        if self.site not in SITES or stack not in STACKS or bool(stack) != bool(colon):
            raise ValueError(f"edits names {self.name!r}, which is no site: expected a name as 'z', 'cross:z' or "
                             "'blocks.2.attn.hook_z'")
        return stack, c.ATTN_ALL_LAYERS

    def _structs(self, find) -> list[c.attn_edit]:
        made = []
        for at in self.places:
            edit = default(c.attn_edit)
            edit.at, edit.op, edit.function = at, self.op, self._callback
            made.append(edit)
        return made

    def _call(self, _user, event, values, error):
        """Implements attn_edit_fn."""
        try:
            shape = event.contents.n_row, event.contents.n_col  # FUNCTION may change that of its array
            answer = self.function(Event(event.contents))
            if answer is not None:
                what, expected = f"what edits[{self.name!r}] returned", f"{list(shape)}, as the tensor"
                array = floats(answer, what, (2,), expected)
                if array.shape != shape:
                    raise ValueError(f"{what} has the shape {list(array.shape)}, expected {expected}")
                lend(cast(values, c_void_p).value, shape, None)[:] = array
        except BaseException as problem:
            self.problem = problem
            return lib.attn_error_set(error, c.ATTN_CANCELED, b"a function that edits a tensor ended the run")
        return c.ATTN_OK


def edits_of(edits, host: Host):
    """EDITS of Model.run, where a dict has functions."""
    if not isinstance(edits, dict):
        return edits
    if not all(isinstance(name, str) for name in edits):
        raise TypeError("edits has a key that is no text, expected names of tensors, as 'z'")
    return [FunctionEdit(name, function, host) for name, function in edits.items()]
