#!/usr/bin/env python3
"""What one attention head makes of a text, as a numpy array: one_head.c in Python.

    LIBATTN=build/release/libattn.so lib/examples/one_head.py models/tiny-gpt2 2.1 "The cat sat"
"""
import os
import sys
from ctypes import CDLL, byref, c_void_p, sizeof

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "python"))
from attn import binding as c  # made from attn.h by lib/python/make_binding.py

attn = c.declare(CDLL(os.environ.get("LIBATTN", "libattn.so")))
error = c.attn_error()


def call(name, *arguments):
    if getattr(attn, name)(*arguments, byref(error)) != c.ATTN_OK:
        sys.exit(f"one_head.py: {error.message.decode()}")


def pattern(directory, head, text):
    """The attention pattern [T, T] of HEAD, "LAYER.HEAD", over the T tokens of TEXT, and these."""
    host, run, capture = c_void_p(), c_void_p(), c_void_p()
    request, result = c.attn_request(), c.attn_result()
    attn.attn_request_init(byref(request), sizeof(request))
    request.input.text, request.input.n_text = text, len(text)
    request.selection.sites, request.selection.heads = b"pattern", head.encode()
    call("attn_host_open", directory.encode(), None, byref(host))
    call("attn_run_prepare", host, byref(request), byref(run))
    labels = attn.attn_run_labels(run).contents
    call("attn_capture_create", labels.selection, byref(capture))
    call("attn_run_perform", run, attn.attn_capture_trace(capture), byref(result))
    n = result.n_token
    layer, number = map(int, head.split("."))
    at = c.attn_location(site=c.ATTN_SITE_PATTERN, layer=layer, head=number)
    weights = attn.attn_capture_head(capture, byref(at))
    weights = np.ctypeslib.as_array(weights, (n, n)).copy()
    words = [text[labels.begin[i]:labels.end[i]].decode(errors="replace") for i in range(n)]
    attn.attn_capture_free(capture)
    attn.attn_run_free(run)
    attn.attn_host_free(host)
    return weights, words


if __name__ == "__main__":
    weights, words = pattern(sys.argv[1], sys.argv[2], sys.argv[3].encode())
    for query, word in enumerate(words):
        print(*(f"{weight:.4f}" for weight in weights[query, :query + 1]), f"|{word}|")
