/* stack_config.h - the config of a model with an encoder and a decoder, such as T5. */
#ifndef ATTN_MODEL_STACK_CONFIG_H
#define ATTN_MODEL_STACK_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ATTN_CONFIG_N_BAD = 256 };

/* Positions that are sines, then cosines, of each position / 10000^p. */
enum attn_sines {
    ATTN_SINES_NONE = 0,
    ATTN_SINES_MARIAN = 1, /* p = 2i / d */
    ATTN_SINES_M2M100 = 2  /* p = i / (d / 2 - 1) */
};

struct attn_stack_config {
    /* The decoder, whose source are the final rows of its encoder. Layer N of the decoder is two
     * layers in its config: 2N attends to itself and has no MLP, 2N + 1 attends to the source. */
    bool has_encoder;

    /* Of either stack. */
    bool counts_padding;             /* padding tokens of an encoder have positions like others */
    enum attn_sines makes_positions; /* sines where a file has no learned positions */
    size_t n_mel;           /* rows of the mel array that an encoder of sound reads; 0: tokens */
    size_t n_bucket;        /* of relative biases, in layers that attend to themselves; 0: none */
    size_t bucket_distance; /* farther keys have the last bucket */

    /* Of the decoder. */
    int32_t start_id;        /* begins its text */
    bool replaces_front;     /* instead of the source's language, which the tokenizer puts there: a
                                text has its own */
    int32_t forced_begin_id; /* what it generates first; -1: any token */
    /* Tokens that it never generates, and from the end backwards those that it never begins with.
     * Both together may be more than fit: then it does not generate. */
    int32_t bad_ids[ATTN_CONFIG_N_BAD];
    size_t n_bad_id, n_bad_first_id;

    /* What it is meant to do when it generates, and does not. */
    size_t n_beam;      /* beams to search with; 0 or 1: none */
    size_t n_no_repeat; /* so many tokens in a row are never repeated; 0: any may be */
    size_t n_least;     /* tokens of the shortest text */
};

#endif
