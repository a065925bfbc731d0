"""Runs GPT-style models on a CPU and shows what their attention does, as numpy arrays.

    import attn
    m = attn.open("fable")                        # or a directory, or a name in the Hugging Face cache
    r = m.run("Life is short", sites=["pattern", "z"])
    r.pattern[2, 2], r.tokens, r.z[2]             # layer, head
    m.run("Life is short", edits=[attn.zero("z", head="3.6")]).logits
    for r in m.map(texts, sites=["pattern"], heads="2.*"): ...
    m.run(items="prompts.jsonl", top=3, each="rows.csv", resume=True)
    attn.attend(q, k, v, attention="window:64").pattern
    m.heads("Life is short").sort("induction", 3).to_pandas()
    m.ablate(items=[{"text": "The keys", "target": " are"}]).plot()
    r.show(); r.save_html("a.html")

Shapes use T positions, S keys, H heads, G key/value heads, D d_model, E d_head, V n_vocab. Layers and heads count
from 0.
"""
from __future__ import annotations

import os as _os

from .arrays import attend
from .errors import (CanceledError, ClosedError, Error, FileError, FormatError, InvalidError, Note,
                     NoteWarning, OutOfMemoryError, UnsupportedError)
from .events import Event
from .procedures import Generation
from .model import Model, PairTokens, Tokens
from .pictures import Picture
from .places import models
from .request import Edit, add, mask, project, replace, scale, zero
from .result import Attention, Cache, Predictions, Result, Site
from .table import Grid, Table
from .version import VERSION as _version

__version__: str = _version

__all__ = ["open", "attend", "models", "zero", "scale", "replace", "add", "project", "mask", "Model", "Result", "Site", "Cache",
           "Attention", "Predictions", "Table", "Grid", "Picture", "Event", "Edit", "Tokens", "PairTokens",
           "Generation", "Error", "InvalidError", "FormatError", "UnsupportedError", "FileError", "OutOfMemoryError", "CanceledError",
           "ClosedError", "Note", "NoteWarning"]


def open(name: str | _os.PathLike | None = None, *, threads: int | None = None, load: str = "map", compute: str = "f32",
         reuse: bool = False, config: str | None = None, vocab: str | None = None,
         weights: str | None = None, adapter: str | _os.PathLike | None = None, mmproj: str | _os.PathLike | None = None) -> Model:
    """Opens a model: a directory in Hugging Face's layout, a built-in name ("fable", "life-is-short"), or a name in
    the Hugging Face cache, OWNER/NAME[@REVISION]. Nothing is downloaded.

    threads     1 to 1024; default: one per core that this process may use, and one for little work
    load        "map" the weights, or "read" them: safe from files that change
    compute     "f32", or "bf16": less exact, and faster on a processor with instructions for it
    reuse       many runs will follow: weights are packed now, which takes 4 bytes for each
    config, vocab, weights
                files instead of those of the directory
    adapter     the folder of a LoRA adapter, as peft saves it, which changes the model
    mmproj      the file that reads pictures for a GGUF model; default: the only such file in its folder
    """
    return Model(name, threads=threads, load=load, compute=compute, reuse=reuse, config=config, vocab=vocab,
                 weights=weights, adapter=adapter, mmproj=mmproj)
