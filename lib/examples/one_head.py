#!/usr/bin/env python3
"""What one attention head makes of a text, as a numpy array, by ctypes: one_head.c in Python.

    LIBATTN=build/release/libattn.so lib/examples/one_head.py models/tiny-gpt2 2.1 "The cat sat"
"""
import os
import sys
from ctypes import (CDLL, CFUNCTYPE, POINTER, Structure, byref, c_bool, c_char, c_char_p, c_float, c_int,
                    c_int32, c_size_t, c_uint64, c_void_p)

import numpy as np


def struct(**fields):
    """A struct of the headers, its fields in their order."""
    return type("struct", (Structure,), {"_fields_": list(fields.items())})


Error = struct(status=c_int, message=c_char * 768, hint=c_char * 256)
Source = struct(directory=c_char_p, name=c_char_p, blobs=c_void_p, n_blob=c_size_t,
                overrides=c_void_p, n_override=c_size_t)
ModelOptions = struct(load=c_int, on_note=c_void_p, user=c_void_p)
EncodeOptions = struct(special=c_int, invalid=c_int)
Encoding = struct(ids=POINTER(c_int32), begin=POINTER(c_size_t), end=POINTER(c_size_t),
                  n=c_size_t, capacity=c_size_t)
Dims = struct(sizes=c_size_t * 8, n_position=c_size_t, n_rank=c_size_t, n_source=c_size_t,
              is_cross=c_void_p, sites=c_uint64)
Event = struct(site=c_int, layer=c_int, head=c_int, row0=c_size_t, n_row=c_size_t,
               n_col=c_size_t, ld=c_size_t, data=POINTER(c_float), is_causal=c_bool)
Callback = CFUNCTYPE(c_int, c_void_p, POINTER(Event), c_void_p)
Trace = struct(selection=c_void_p, on_event=Callback, user=c_void_p)
SessionOptions = struct(n_max=c_size_t, n_source=c_size_t, cache=c_int,
                        has_logits=c_bool, pool=c_void_p, trace=POINTER(Trace), edits=c_void_p,
                        n_edit=c_size_t, attention=c_void_p, cancel=c_void_p, gemm=c_int, isa=c_int)
ISA_BEST = 2

attn = CDLL(os.environ.get("LIBATTN", "libattn.so"))
attn.attn_model_config.restype = c_void_p
attn.attn_config_dims.restype, attn.attn_config_dims.argtypes = Dims, [c_void_p, c_size_t]
error = Error()


def call(name, *arguments):
    if getattr(attn, name)(*arguments, byref(error)) != 0:
        sys.exit(f"one_head.py: {error.message.decode()}")


def pattern(directory, head, text):
    """The attention pattern [T, T] of HEAD, "LAYER.HEAD", over the T tokens of TEXT, and these."""
    source = Source(directory=directory.encode())
    model, tokenizer, selection, session = c_void_p(), c_void_p(), c_void_p(), c_void_p()
    tokens, sites, blocks = Encoding(), c_uint64(), []

    @Callback
    def keep(_user, event, _error):
        e = event.contents  # its data is there only during this call
        blocks.append(np.ctypeslib.as_array(e.data, (e.n_row, e.ld))[:, :e.n_col].copy())
        return 0

    call("attn_model_open", byref(source), byref(ModelOptions()), byref(model))
    call("attn_tokenizer_open", byref(source), byref(tokenizer))
    call("attn_tokenizer_encode", tokenizer, text, c_size_t(len(text)), byref(EncodeOptions()), byref(tokens))
    dims = attn.attn_config_dims(attn.attn_model_config(model), tokens.n)
    call("attn_selection_create", byref(dims), byref(selection))
    call("attn_sites_parse", b"pattern", byref(sites))
    call("attn_selection_set_sites", selection, sites)
    call("attn_selection_set_heads", selection, head.encode())
    trace = Trace(selection, keep)
    options = SessionOptions(n_max=tokens.n, trace=POINTER(Trace)(trace), isa=ISA_BEST)
    call("attn_session_create", model, byref(options), byref(session))
    call("attn_session_feed", session, tokens.ids, c_size_t(tokens.n))
    words = [text[tokens.begin[i]:tokens.end[i]].decode(errors="replace") for i in range(tokens.n)]
    attn.attn_session_free(session)
    attn.attn_selection_free(selection)
    attn.attn_encoding_release(byref(tokens))
    attn.attn_tokenizer_close(tokenizer)
    attn.attn_model_close(model)
    return np.concatenate(blocks), words


if __name__ == "__main__":
    weights, words = pattern(sys.argv[1], sys.argv[2], sys.argv[3].encode())
    for query, word in enumerate(words):
        print(*(f"{weight:.4f}" for weight in weights[query, :query + 1]), f"|{word}|")
