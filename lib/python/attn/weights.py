"""The weights of a model: m.weights["blocks.0.attn.W_Q"]."""
from __future__ import annotations

import math
from collections.abc import Mapping
from ctypes import POINTER, byref, c_float, c_size_t, cast
from typing import TYPE_CHECKING, Iterator

import numpy as np

from . import binding as c
from .library import call, lib, terminated

if TYPE_CHECKING:
    from .model import Model


class Weights(Mapping):
    """The weights of a model by TransformerLens's names: read-only float32 arrays, each made when it is asked for.

    Matrices have the input first: "blocks.0.attn.W_Q" [H, D, E], W_K and W_V [G, D, E] of key/value heads, W_O [H, E, D];
    "blocks.0.mlp.W_in" [D, F], "embed.W_E" [V, D], "unembed.W_U" [D, V]. Nothing is folded or centered; of norms that multiply by
    1 + w (Gemma) they are 1 + w. list(m.weights) has the names of those that the model has; m.weights.shape(name) is read
    without the weight.
    """

    def __init__(self, model: Model):
        self._model = model
        host, array, n = model._use(), POINTER(c.attn_weight_array)(), c_size_t()
        call("attn_model_weights_create", lib.attn_host_model(host.pointer), byref(array), byref(n))
        try:
            self._shapes = {each.name.decode(): tuple(each.shape[:each.rank]) for each in array[:n.value]}
        finally:
            lib.attn_model_weights_free(array)

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._shapes:
            raise KeyError(f"{name}: '{self._model.name}' has no such weight, list(m.weights) has the names")
        host = self._model._use()
        values = np.empty(math.prod(self._shapes[name]), np.float32)
        call("attn_model_weight_read", lib.attn_host_model(host.pointer), terminated(name, "name"),
             cast(values.ctypes.data, POINTER(c_float)))
        array = values.reshape(self._shapes[name])
        array.flags.writeable = False
        return array

    def __iter__(self) -> Iterator[str]:
        return iter(self._shapes)

    def __len__(self) -> int:
        return len(self._shapes)

    def __repr__(self) -> str:
        return f"<attn.Weights of '{self._model.name}': {len(self)} arrays>"

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a weight, which is not read."""
        return self._shapes[name]
