/* attribute_sides.h - the score of a head and a key as two sides, the queries and the keys, each a
 * sum of writers. For attribute_pairs.c. */
#pragma once

#include "attribute/attribute_internal.h"
#include "forward/rotary.h"

/* The biases of norms that follow the sums of a layer: parts that are compared by address. */
extern const char attn_pair_attn_norm_bias[], attn_pair_mlp_norm_bias[];

/* A part of the stream, or of the map from it: a head of a layer of attention, what belongs to that
 * layer, or with ATTN_NO_LAYER a part outside the layers. */
struct attn_pair_writer {
    const char *part;
    struct attn_location at; /* of z */
};

/* The queries or the keys of the score. */
struct attn_pair_side {
    const struct attn_linear *map;        /* W_Q or W_K of the layer */
    const struct attn_norm_weights *norm; /* the norm of its heads */
    enum attn_site site;                  /* q or k, before that norm */
    enum attn_site rotated;               /* the same after norm and rotation */
    size_t head;                          /* among the heads of the map */
    unsigned char *is_named;              /* [n_row] the score is of this position */
    size_t *rows;                         /* [n] positions, ascending */
    size_t n, n_row;                      /* n_row: positions in the text, or in the source */
    bool is_of_source;                    /* keys of a source, whose rows are one writer */
    double *stream;                       /* [D, E] map from the stream, for a norm of scale 1 */
    double *branch;       /* [D, E] the same from the output of the current layer's heads */
    double *scale;        /* [n] scale of the norm before the layer, or 1 */
    double *branch_scale; /* [n] scale of the norm after the current layer's heads, or 1 */
    double *head_scale;   /* [n] scale of the norm of the head, or 1 */
    double *length;       /* [n] length of the vector if scores are cosines, or 1 */
    double *weight;       /* [E] weight of the norm of the head, or 1 */
    double *bias;         /* [3, E] bias of that norm, of the map, and of the norm before the layer,
                             mapped */
    double
        *branch_bias; /* [2, E] of the current layer: b_O, to be scaled; bias of the norm after */
    double *heads;    /* [H, n, E] the heads of the current layer */
    double *x;        /* [n, E] the current writer */
    double *wide;     /* [D] scratch */
    struct attn_pair_writer *writers;
    size_t n_writer;
};

/* The parts of `score`. */
struct attn_pair_names {
    char *spec; /* owned by the frame; a copy of `score`, which the lists borrow */
    struct attn_number_list queries, keys;
    struct attn_head_list heads;
};

/* The model of the run, or its encoder. Borrowed. */
struct attn_pair_stack {
    const struct attn_model *model;
    const struct attn_config *config;
    const struct attn_dims *dims;
    const struct attn_sequence *text;    /* which it reads */
    const struct attn_attention *layers; /* [n_layer] */
};

struct attn_pair_split {
    struct attn_frame frame; /* its capture has the writers */
    const struct attn_attribute_args *args;
    const struct attn_block_weights *weights; /* of the layer of the score */
    struct attn_pair_names names;
    struct attn_location at;      /* the head */
    size_t layer;                 /* the index of its layer of attention */
    struct attn_pair_stack stack; /* which has the head */
    float *products;              /* [n_query, S] q k^T of the queries; S is keys.n_row */
    double *places;               /* [n_query, S] what DeBERTa adds for positions, or 0 */
    unsigned char *is_seen;       /* [n_query, S] keys that a query sees */
    struct attn_pair_side queries, keys;
    struct attn_rotary rotary; /* its tables are owned by the frame */
    double factor;             /* factor of the scores */
    double *q;                 /* [n_writer, n_query, E] the queries' writers */
    double *near, *far; /* [n_writer, E], [n_writer, n_query, E] mean over the keys of the score,
                           and over all keys that the query sees, of the keys' writers */
    double *scratch;    /* [n_thread, n_scratch] */
    size_t n_scratch;
    const struct attn_pair_side *side; /* whose heads are computed */
    struct attn_location current;      /* the layer of these heads */
    double sum[2];                     /* score and relative */
    double size;                       /* sum of the absolute values of the terms of `sum` */
};

/* Lists the writers of both sides of SPLIT, whose positions are known, and allocates their
 * memory. */
enum attn_status attn_pair_writers_prepare(struct attn_pair_split *split, struct attn_error *err);

/* Computes all writers of SIDE, the last first: each is mapped as if all that follows it were one
 * map. */
enum attn_status attn_pair_side_map(struct attn_pair_split *split, struct attn_pair_side *side,
                                    struct attn_error *err);
