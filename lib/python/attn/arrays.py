"""Attention on arrays, without a model."""
from __future__ import annotations

import functools
from ctypes import POINTER

import numpy as np

from . import binding as c
from . import library
from .host import Host, open_host
from .library import interruptible
from .model import draw, perform
from .request import Request
from .result import NAMES, Attention, Cache, Result
from .values import ndarray, whole

_SHAPES = "[T, E], [H, T, E] or [B, H, T, E]"
_hosts: dict[int | None, Host] = {}


def _host(threads: int | None) -> Host:
    """A host without a model for so many threads, opened once a process."""
    host = _hosts.get(None if threads is None else whole(threads, "threads", 1, 1024))
    if host is None or host.generation != library.generation:
        host = open_host(None, threads=threads)
        _hosts[threads] = host
    return host


class _ArraysRequest(Request):
    def __init__(self, q=None, k=None, v=None, scores=None, **options):
        super().__init__(None, **options)
        where = self.struct.input
        for name, value, shape in (("q", q, _SHAPES), ("k", k, _SHAPES), ("v", v, _SHAPES),
                                   ("scores", scores, "[T, S], [H, T, S] or [B, H, T, S]")):
            if value is not None:
                array = ndarray(value, name, (2, 3, 4), shape, self.keep)
                setattr(where, name, POINTER(c.attn_ndarray)(array))


def attend(q=None, k=None, v=None, *, scores=None, sites=None, heads=None, queries=None, threads: int | None = None,
           on_event=None, **attention) -> Result:
    """Attention on arrays: what torch's scaled_dot_product_attention does, and every stage of it can be kept.

    q, k, v     [T, E], [H, T, E] or [B, H, T, E]; the heads of k and v may divide those of q; float32 is not copied
                when it is contiguous, other floats are rounded to it
    scores      [T, S], [H, T, S] or [B, H, T, S] instead of q and k; v may be left out then: there is no z
    sites       default: pattern and z
    attention   a kind, as "window:64"; and mask ("causal", "none": the default, or an array of 0 and 1), masking,
                scale, eps, similarity, algorithm, dropout, seed, dropout_mask

    result.pattern is [T, S], [H, T, S] or [B, H, T, S] as the arrays are, result.z likewise [..., T, Ev]. With chosen
    heads they are those of all batches, one after the other: [H', T, S].
    """
    given = dict(q=q, k=k, v=v, scores=scores, sites=sites, heads=heads, queries=queries, **attention)
    host = _host(threads)
    request = _ArraysRequest(**given)
    first = np.asarray(scores if q is None else q)
    batch = first.shape[:-2] if heads is None else (-1,)
    result = interruptible(lambda: perform(host, request, on_event), host.cancel)
    result = _Arrays._of(result, batch)
    result._again = functools.partial(_draw, threads), given
    return result


def _draw(threads: int | None, given: dict, format: str, path, sites, options: dict) -> bytes | None:
    return draw(_host(threads), given, format, path, sites, options, _ArraysRequest)


class _Arrays(Result):
    """A result whose tensors have the axes of the arrays."""

    @classmethod
    def _of(cls, result: Result, batch: tuple):
        result.__class__ = cls
        for place, array in result._tensors.items():
            layout = library.lib.attn_site_layout(place.site)
            if layout in (c.ATTN_LAYOUT_QUERY, c.ATTN_LAYOUT_KEY):
                array = array.transpose(1, 0, 2)  # back to how it lies: [H, T, n]
            result._tensors[place] = array.reshape(batch + array.shape[1:])
        return result

    @property
    def cache(self) -> Cache:
        cache = Cache(self._tensors)
        cache._arrays = {NAMES[place.site]: array for place, array in self._tensors.items()}
        return cache

    @property
    def attentions(self) -> tuple[Attention, ...]:
        return (self.pattern.reshape((-1, *(1, *self.pattern.shape)[-3:])).view(Attention),)

    def __getattr__(self, name):
        site = super().__getattr__(name)
        return site[0] if hasattr(site, "layers") else site
