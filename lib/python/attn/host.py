"""Hosts: an open model with its threads, shared by the runs that use it and freed after the last one."""
from __future__ import annotations

import os
from ctypes import POINTER, byref, c_int, c_void_p, create_string_buffer

from . import binding as c
from . import library
from .library import call, default, interruptible, lib, on_note, path_bytes, take_notes
from .places import catalog, kept_types
from .values import choice, flag, whole

_LOADS = {"map": c.ATTN_MAP, "read": c.ATTN_READ}
_COMPUTES = {"f32": c.ATTN_COMPUTE_F32, "bf16": c.ATTN_COMPUTE_BF16}
_OVERRIDES = {"config": "config.json", "vocab": "vocab.json", "weights": "model.safetensors", "mmproj": "mmproj.gguf",
              "projector": "found-mmproj.gguf"}  # of a model of Ollama
_ADAPTER = ("adapter_config.json", "adapter_model.safetensors")


class Host:
    """A struct attn_host. Who runs holds a reference, so that closing a model waits for no run and ends none."""

    __slots__ = ("pointer", "cancel", "generation", "notes", "found", "texts")

    def __init__(self, pointer, cancel, found=None):
        self.pointer, self.cancel, self.generation = pointer, cancel, library.generation
        self.texts: dict[int, str] = {}  # of token ids, as they are met
        self.notes, self.found = take_notes(), found  # the model borrows its name from what was found

    def __del__(self):
        if self.generation == library.generation:  # else its threads stayed in the parent
            lib.attn_host_free(self.pointer)


class _Tower:
    """The other tower of a HOST that was opened for one: POINTER, which the host frees."""

    __slots__ = ("pointer", "cancel", "generation", "notes", "found", "texts", "host")

    def __init__(self, pointer, host: Host):
        self.pointer, self.host = pointer, host
        self.texts: dict[int, str] = {}
        self.cancel, self.generation, self.notes, self.found = host.cancel, host.generation, host.notes, host.found


_TOWERS = {"text": c.ATTN_TOWER_TEXT, "image": c.ATTN_TOWER_IMAGE}


def tower_of(host: Host, tower: str):
    """The host of a tower, which is opened when it is first asked for; where a model has one, HOST."""
    pointer = c_void_p()
    call("attn_host_tower", host.pointer, choice(tower, _TOWERS, "tower"), byref(pointer))
    return host if pointer.value == host.pointer.value else _Tower(pointer, host)


def open_host(name: str | None, threads: int | None = None, load: str = "map", compute: str = "f32", reuse: bool = False,
              **overrides) -> Host:
    """Opens the model NAME; None: no model, for attention on arrays."""
    options, cancel, pointer = default(c.attn_host_options), c_int(0), c_void_p()
    options.load, options.compute = choice(load, _LOADS, "load"), choice(compute, _COMPUTES, "compute")
    options.n_thread = 0 if threads is None else whole(threads, "threads", 1, 1024)
    options.reuse, options.on_note = flag(reuse, "reuse"), on_note
    options.cancel = POINTER(c_int)(cancel)

    def create():
        if name is None:
            call("attn_host_create", None, byref(options), byref(pointer))
            return Host(pointer, cancel)
        found, asked = c.attn_catalog_found(), path_bytes(name, "name")
        call("attn_catalog_find", byref(catalog()), asked, byref(found))
        projector = create_string_buffer(c.ATTN_FOUND_PATH_SIZE)
        call("attn_catalog_find_projector", byref(catalog()), asked, projector)
        _override(found.source, {**overrides, "projector": projector.value or None})
        call("attn_host_create", byref(found.source), byref(options), byref(pointer))
        host, folder = Host(pointer, cancel, (found, asked)), kept_types()
        if folder and not overrides.get("config") and not overrides.get("vocab"):
            call("attn_heads_keep_types", pointer, folder)
        return host

    return interruptible(create, cancel)


def _override(source: c.attn_source, overrides: dict) -> None:
    items = [source.overrides[i] for i in range(source.n_override)]  # a GGUF file
    for what, path in overrides.items():
        if path is not None and what == "adapter":
            folder = path_bytes(path, what)
            items += [c.attn_override(name.encode(), os.path.join(folder, name.encode())) for name in _ADAPTER]
        elif path is not None:
            name = _OVERRIDES[what]
            if what == "vocab":
                ends = {"tokenizer.json": "tokenizer.json", "vocab.txt": "vocab.txt", ".pkl": "meta.pkl", ".bin": "tokenizer.bin",
                        "tekken.json": "tekken.json", ".tiktoken": ".tiktoken",
                        ".model": "tokenizer.model", ".spm": "tokenizer.model"}
                name = next((part for end, part in ends.items() if os.fsdecode(path_bytes(path, what)).endswith(end)), name)
            items.append(c.attn_override(name.encode(), path_bytes(path, what)))
    if items:
        array = (c.attn_override * len(items))(*items)
        source.overrides, source.n_override = array, len(items)
