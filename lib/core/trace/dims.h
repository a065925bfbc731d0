/* dims.h - the sizes of one run, and sets of sites (site.h). */
#ifndef ATTN_TRACE_DIMS_H
#define ATTN_TRACE_DIMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A set of sites. It has the site S if bit S % 64 of words[S / 64] is 1. attn_sites_parse makes one
 * from a list of names. */
struct attn_site_set {
    uint64_t words[4];
};

/* The pictures in a prompt; all 0 without pictures. */
struct attn_picture_dims {
    uint32_t n;                    /* pictures: tiles, then the whole one */
    uint32_t n_row, n_col;         /* cells of a picture */
    uint32_t grid_rows, grid_cols; /* cells of the grid of all tiles; 0: no tiles */
    uint32_t height, width;        /* of a picture in pixels */
    uint32_t n_chosen;             /* of a tower: pictures whose tensors are selected; else 0 */
    const void *later[2];          /* NULL: room for fields of later versions */
};

/* Several images in a prompt, or one that has line ends. */
struct attn_images_dims {
    const struct attn_picture_dims *items; /* [n] borrowed */
    size_t n;
    size_t n_row;         /* of image_features; 0: the cells of all pictures */
    const void *later[2]; /* NULL: room for fields of later versions */
};

/* How the layers without attention mix tokens. */
enum attn_mixer_kind {
    ATTN_MIXER_CONV = 1,  /* a short convolution between two gates */
    ATTN_MIXER_DELTA = 2, /* Gated DeltaNet */
    ATTN_MIXER_MAMBA2 = 3,
};

/* The sizes of these layers, of which a model has one kind (forward/mixer.c). */
struct attn_mixer_dims {
    enum attn_mixer_kind kind;
    size_t n_head, n_key_head; /* Hm, and the heads of keys and queries, which are the groups of
                                  Mamba2; 1 for a convolution */
    size_t d_key, d_value;     /* dk and dv, in Mamba2 n and p; D for a convolution */
    size_t n_tap;              /* K, tokens that the convolution reads */
    const bool *is_in;    /* [n_layer] the layers; NULL: all layers, beside attention. Borrowed */
    const void *later[2]; /* NULL: room for fields of later versions */
};

/* The sizes of a layer of a model whose layers differ. */
struct attn_layer_dims {
    size_t n_kv_head, d_head, d_mlp; /* d_value is d_head */
    size_t kv_layer; /* the layer whose keys and values this one attends to: itself, or an earlier
                        one of the same sizes */
    size_t d_input;  /* width of the input that a layer has for each token, the same in all; 0: none
                      */
    const void *later[2]; /* NULL: room for fields of later versions */
};

/* The sizes of one run, from which all shapes follow, and the sites that exist. */
struct attn_dims {
    size_t n_layer, n_head, n_kv_head;
    size_t d_model, d_head, d_value, d_mlp, n_vocab;
    size_t d_out; /* width of attn_out; 0: it is d_model */
    /* Width of the embedding, and of what the output matrix reads; 0: it is d_model. */
    size_t d_embed;
    size_t d_projected; /* width of text_embed, image_embed and sentence_embed; 0: the model has
                           none */
    size_t n_position;  /* T, the number of positions of the run; also S in layers that attend to
                           themselves */
    size_t n_rank;      /* R, the number of projected keys of low-rank attention; 0: another kind */
    size_t n_source; /* rows of the source, which are S in layers that attend to it; 0: no source */
    size_t n_front;  /* of pictures: number of positions before the patches; `embed` has no rows for
                        them */
    bool is_pooled;  /* logits are one row for all positions, row number 0 */
    bool has_pairs;  /* the model is a decoder with a source: blocks 2N and 2N + 1 are its layer N
                        (model_stack.h) */
    bool is_of_decoder; /* the model is the encoder of a model with two stacks */
    bool pools_heads;   /* pooled has a row for each position, although logits are one row */
    bool gates_heads;   /* gate has one number for each head, not one for each component of z */
    /* [n_layer]: whether a layer attends to the source; NULL: none does. Borrowed. */
    const bool *is_cross;
    struct attn_site_set sites; /* the sites that the model has */
    size_t d_pooled;            /* width of pooled, which the output matrix of a classifier reads */
    const struct attn_site_set *lacking; /* [n_layer]: sites that a layer does not have although the
                                            model has them; NULL: there are none. Borrowed */
    /* N and K, the experts of a layer and those chosen for a position; 0: no experts. */
    size_t n_expert, n_expert_used;
    const struct attn_dims *encoder;  /* the sizes of the encoder, if a selection is of two stacks
                                         (model_stack.h). Borrowed */
    struct attn_picture_dims picture; /* the first image */
    const struct attn_mixer_dims *mixer; /* NULL: all layers have attention. Borrowed */
    /* [n_layer], if layers differ; n_kv_head, d_head, d_value and d_mlp are then the largest. NULL:
     * all are alike. Borrowed */
    const struct attn_layer_dims *layers;
    const struct attn_images_dims *images; /* all images; NULL: at most one, of cells
                                              alone. Borrowed */
    const void *later[4];                  /* NULL: room for a field of later versions */
};

#endif
