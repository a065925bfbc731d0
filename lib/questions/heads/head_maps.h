/*
 * head_maps.h - what the weights of heads say without a text, in double precision: the maps
 * W_OV = W_V W_O and W_QK = W_Q W_K^T [D, D] through their thin factors, and the products of the
 * embedding and the output matrix that they meet. Rows are x.
 *
 * Everything that is a weight is folded in: those of the norm before a layer into the rows of W_Q,
 * W_K and W_V, with the subtraction of the mean that a LayerNorm makes; those of norms of q and k
 * into the columns of W_Q and W_K; those of the norm after attention into the columns of W_O; those
 * of the final norm into W_U, whose mean over the vocabulary is subtracted. Scales of norms, biases
 * and positions are left out (Elhage et al. 2021; TransformerLens folds the same). Private to
 * lib/questions.
 */
#pragma once

#include "frame/frame.h"

/* The folded factors of the heads of a layer. Those of a head are contiguous. Owned by a frame. */
struct attn_layer_factors {
    size_t d_model, n_head, n_kv_head, d_head, d_value;
    double *q;       /* [n_head, D, E] */
    double *k;       /* [n_kv_head, D, E] */
    double *v;       /* [n_kv_head, D, Ev] */
    double *out;     /* [n_head, Ev, D] */
    double *scratch; /* [D, the widest map + 1] */
};

/* Refuses a model whose heads have no such maps: an encoder, one that reads a source, one whose
 * norms come after the sums, or whose embedding is narrower than the stream. ATTN_INVALID. */
enum attn_status attn_head_weights_check(const struct attn_model *model, struct attn_error *err);

/* Allocates the factors of a layer of the model of FRAME. */
enum attn_status attn_layer_factors_create(struct attn_frame *frame,
                                           struct attn_layer_factors *factors,
                                           struct attn_error *err);

/* Reads the factors of the layer of AT, which has attention. Weights that are not finite are
 * refused, as in a run. */
enum attn_status attn_layer_factors_read(const struct attn_model *model,
                                         const struct attn_location *at,
                                         const struct attn_layer_factors *factors,
                                         struct attn_error *err);

enum attn_head_map { ATTN_HEAD_MAP_OV, ATTN_HEAD_MAP_QK };

/* Copies the thin factors of MAP of HEAD, which is A B^T: A [D, n] is W_V or W_Q, B [D, n] is W_O^T
 * or W_K. Returns n. */
size_t attn_head_map_copy(const struct attn_layer_factors *factors, size_t head,
                          enum attn_head_map map, double *a, double *b);

/* C [m, n] = A [m, k] B [k, n]. */
void attn_head_maps_multiply(const double *a, const double *b, size_t m, size_t k, size_t n,
                             double *c);

/* B [n, m] = A^T, of A [m, n]. */
void attn_head_maps_turn(const double *a, size_t m, size_t n, double *b);

enum { ATTN_VOCABULARY_PLAIN, ATTN_VOCABULARY_MLP0, ATTN_N_VOCABULARY };

/* The products [D, D] over the vocabulary, with W_E as it is, and with what later layers meet in
 * its place: e + mlp_0(e), each row divided by its own scale in the norm before a layer. */
struct attn_vocabulary_products {
    double *copying[ATTN_N_VOCABULARY];  /* W_U W_E */
    double *matching[ATTN_N_VOCABULARY]; /* W_E^T W_E */
};

/* Computes PRODUCTS for the model of FRAME, which owns them. */
enum attn_status attn_vocabulary_products_find(struct attn_frame *frame,
                                               struct attn_vocabulary_products *products,
                                               struct attn_error *err);

/* A map through thin factors, A [D, e] B [e, D]. */
struct attn_map_sizes {
    double norm; /* Frobenius */
    double rank; /* stable rank: norm^2 / top^2 */
    double top;  /* the largest singular value */
};

/* The numbers of a head. */
struct attn_head_numbers {
    struct attn_map_sizes ov, qk;
    double copying[ATTN_N_VOCABULARY], matching[ATTN_N_VOCABULARY];
};

/* Returns the doubles of scratch that attn_head_numbers_find needs. */
size_t attn_head_numbers_scratch(const struct attn_layer_factors *factors);

/* Computes the numbers of HEAD: sizes of W_OV and W_QK; copying, sum Re l / sum |l| over the
 * eigenvalues l of (W_O W_U)(W_E W_V); matching, the same of (W_K^T W_E^T)(W_E W_Q). NaN where the
 * eigenvalues of a map are not found or are all 0. */
void attn_head_numbers_find(const struct attn_layer_factors *factors,
                            const struct attn_vocabulary_products *products, size_t head,
                            double *scratch, struct attn_head_numbers *numbers);
