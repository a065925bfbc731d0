/* dims.h - the sizes of one run, and sets of sites (site.h). */
#ifndef ATTN_TRACE_DIMS_H
#define ATTN_TRACE_DIMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A set of sites. It has the site S if bit S % 64 of words[S / 64] is 1. attn_sites_parse makes one
 * from a list of names. */
struct attn_site_set {
    uint64_t words[2];
};

/* The sizes of one run that decide every shape. Which sites exist follows: see `sites`. */
struct attn_dims {
    size_t n_layer, n_head, n_kv_head;
    size_t d_model, d_head, d_value, d_mlp, n_vocab;
    size_t d_out;   /* width of attn_out; 0: d_model */
    size_t d_embed; /* width of the embedding, and of the input of the output matrix; 0: d_model */
    size_t d_projected;   /* width of text_embed, image_embed, sentence_embed; 0: absent */
    size_t n_position;    /* positions of the run, T = S in layers that attend to themselves */
    size_t n_rank;        /* R, projected keys of low-rank attention; 0: not low-rank */
    size_t n_source;      /* rows of the source, S in layers that attend to it; 0: no source */
    size_t n_front;       /* for pictures: positions before the patches, without rows of `embed` */
    bool is_pooled;       /* there is one row of logits for all positions, number 0 */
    bool has_pairs;       /* layers 2N and 2N + 1 are layer N of a decoder (model_stack.h) */
    bool is_of_decoder;   /* the encoder of a model with two stacks */
    const bool *is_cross; /* [n_layer]: attends to the source; NULL: none does. Borrowed */
    struct attn_site_set sites; /* the sites that the model has */
    size_t d_pooled;            /* width of pooled, which a classifier's output matrix reads */
    const struct attn_site_set *lacking; /* [n_layer]: sites that a layer does not have; NULL: each
                                     has all of its model. Borrowed */
    size_t n_expert, n_expert_used;      /* N, K; 0: no layer has experts */
    const struct attn_dims *encoder; /* of a selection of two stacks (model_stack.h). Borrowed */
    const void *later[4];            /* NULL: room for fields of later versions */
};

#endif
