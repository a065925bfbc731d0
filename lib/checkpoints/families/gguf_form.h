/* gguf_form.h - what a family's row says of GGUF files. */
#pragma once

#include "model/family.h"

/* The names in a config.json for what GGUF files say about layers that mix tokens without
 * attention; NULL: the config has no such key. */
struct attn_gguf_mixer {
    const char *n_tap, *d_key, *n_key_head, *n_head, *d_value;
    const char *d_all, *expand; /* n_head * d_value; and the same divided by d_model */
    const char *word; /* of such a layer in `layer_types`; NULL: all layers are, beside attention */
};

/* How GGUF files store models of a family: constants in llama.cpp's code that metadata lack, and
 * changes that its converter makes. */
struct attn_gguf_form {
    const char *architecture; /* `general.architecture`; NULL: the family has no GGUF files */
    const char *marker; /* a key that is above 0 in files of this family, if an earlier family has
                           the same architecture; NULL: no such key */
    size_t default_window; /* width of windows if the file lacks the key; 0: no windows */
    size_t n_layer_large;  /* the model with this many layers scales scores by D / H; 0: no model
                              does */
    bool has_interleaved_heads;  /* the halves of each head alternate in the rows of q and k */
    bool has_interleaved_biases; /* the halves alternate in the biases of q and k, too */
    bool has_divisors;           /* frequencies are divided by rope_freqs.weight */
    bool normalizes_experts;     /* the weights of experts sum to 1, unless a key says otherwise */
    bool yarn_is_exact;          /* the bounds of YaRN are not rounded */
    double alibi_bias; /* the required value of `attention.max_alibi_bias`; 0: the key must be
                          missing */
    struct attn_gguf_mixer mixer;
    bool layers_differ;  /* the sizes of layers may differ (Gemma 4) */
    bool has_lists;      /* the numbers of key heads and the widths of MLPs may be lists by layer */
    bool tiles_heads;    /* as in struct attn_config */
    const char *members; /* further members of the config, as JSON; they may contain the numbers of
                            key heads and of norms (Falcon); NULL: none */
    /* The object of the config that contains clip_qkv; NULL: the top level. */
    const char *clip_section;
    bool lacks_norm_if_parallel; /* a block with parallel attention and MLP has no ffn_norm,
                                    whatever use_parallel_residual is */
    /* Which tensors differ from Hugging Face's, and how; NULL: none do. */
    const char *part, *difference;
};

/* The form of FAMILY; if it has no such files, one without an architecture. */
static inline const struct attn_gguf_form *attn_gguf_form_of(const struct attn_family *family)
{
    static const struct attn_gguf_form none;

    return family->gguf ? family->gguf : &none;
}
