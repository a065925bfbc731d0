/* clang-format off */
/*
 * dictionary_internal.h - dictionaries of features: sparse autoencoders in the files of sae-lens,
 * Gemma Scope 1 and 2, dictionary_learning and sparsify.
 *
 *     struct attn_dictionary *dictionary;
 *     attn_dictionary_open("sae", &dictionary, &err);
 *     attn_dictionary_encode(dictionary, &(struct attn_encoded){x, n_row, 5, pool, rows}, &err);
 *     attn_dictionary_free(dictionary);
 *
 * Feature i of a vector x is, with y = x - shift if it IS_CENTERED, else x, e_i column i of the
 * encoder, and a_i the length of row i of the decoder if it IS_SCALED, else 1:
 *
 *     kind       pre                       activation
 *     standard   y e_i + bias_i            max(pre, 0)
 *     jumprelu   the same                  pre if pre > threshold_i and pre > 0, else 0
 *     topk       a_i (y e_i + bias_i)      max(pre, 0) of the k largest, 0 of the rest
 *     gated      y e_i + bias_i            max(gain_i (y e_i) + gated_i, 0) if pre > 0, else 0
 *
 * It stands for shift + the sum of activation_i d_i / a_i, d_i row i of the decoder. Weights are
 * mapped. Opening reads them once, for NaN and infinity; then the rows and columns that are asked
 * for are read.
 */
/* clang-format on */
#pragma once

#include "base/file.h"
#include "base/memory.h"
#include "base/pool.h"
#include "base/status.h"
#include "formats/json.h"
#include "formats/tensor_files.h"
#include "kernels/kernels.h"
#include "trace/location.h"

enum attn_dictionary_kind {
    ATTN_DICTIONARY_STANDARD,
    ATTN_DICTIONARY_JUMPRELU,
    ATTN_DICTIONARY_TOPK,
    ATTN_DICTIONARY_GATED
};

struct attn_dictionary {
    const char *form, *kind_name; /* static; "sae-lens", "topk" */
    const char *path;             /* its folder, or its file of weights */
    const char *hook;             /* its tensor in the words of its config; NULL: it names none */
    enum attn_dictionary_kind kind;
    struct attn_location at; /* that tensor; ATTN_NO_LAYER: unknown. A head: that of z alone */
    size_t d, n, k;          /* numbers, features, and features that fire by topk */
    bool is_centered, is_scaled;
    struct attn_matrix encoder, decoder; /* [d, n], [n, d] in the files */
    float *bias, *shift;                 /* [n], [d] */
    float *threshold, *gain, *gated;     /* [n], or NULL */
    struct attn_tensor_files *files;     /* owns; NULL: the following */
    struct attn_file archive;            /* owns */
    struct attn_json *config;            /* owns; or NULL */
    struct attn_store *store;            /* owns texts, vectors and what was unpacked */
};

/* Opens PATH, a folder or its file of weights, or "fable/sae" of a built-in model. Fails at
 * ATTN_STAGE_MODEL. */
enum attn_status attn_dictionary_open(const char *path, struct attn_dictionary **dictionary,
                                      struct attn_error *err);
void attn_dictionary_free(struct attn_dictionary *dictionary); /* NULL is allowed */

/* Returns the tensor AT in words: "z of layer 2, head 5". */
struct attn_quote attn_dictionary_tensor(const struct attn_location *at);

/* --- Features of vectors ---------------------------------------------------------------------- */

/* One feature: pre is constant + x column. */
struct attn_sae_feature {
    const char *path; /* of its dictionary, for messages; borrowed */
    size_t i;
    enum attn_dictionary_kind kind;
    float bias, threshold, gain, gated;
    double constant;
    const double *column; /* [d] a_i e_i; borrowed */
};

/* Reads feature I, its column into COLUMN [d], and d_i / a_i into DIRECTION [d], or NULL. */
struct attn_sae_feature attn_dictionary_feature(const struct attn_dictionary *dictionary, size_t i,
                                                double *column, float *direction);

/* Returns the number of FEATURE at x [d]. */
double attn_feature_pre(const struct attn_sae_feature *feature, const float *x, size_t d);

/* Returns the activation at PRE; of topk if the feature is one of the k largest. */
float attn_feature_activate(const struct attn_sae_feature *feature, float pre);

/* The features of a row that fire. */
struct attn_firing {
    size_t feature;
    float activation, weight; /* weight: of the decoder's row, activation / a */
};

struct attn_firings {
    struct attn_firing *items; /* [n] owns */
    size_t n, capacity;
    float least; /* only what is larger may be among the largest; at first 0 */
};

/* Adds FIRING to ROW, of which the MOST largest stay, and some others until they are sorted; 0:
 * all. Features come upwards. The second leaves these, the largest first, of equals the smaller
 * feature. */
enum attn_status attn_firings_add(struct attn_firings *row, size_t most, struct attn_firing firing,
                                  struct attn_error *err);
void attn_firings_sort(struct attn_firings *row, size_t most);

/* Vectors that are encoded. */
struct attn_encoded {
    float *x; /* [n_row, d] from which b_dec is subtracted, if it is */
    size_t n_row;
    size_t most;               /* features that are kept of each; 0: all that fire */
    struct attn_pool *pool;    /* or NULL */
    struct attn_firings *rows; /* [n_row] receive them; the caller frees their items */
};

/* Checks that PRE, the number of FEATURE, and its activation are finite. ATTN_FORMAT if not. */
enum attn_status attn_feature_check(const struct attn_sae_feature *feature, double pre,
                                    struct attn_error *err);

/* Encodes the vectors, and checks their features. */
enum attn_status attn_dictionary_encode(const struct attn_dictionary *dictionary,
                                        const struct attn_encoded *of, struct attn_error *err);

/* Writes the vector that the features of ROW stand for to X [d]. */
void attn_dictionary_decode(const struct attn_dictionary *dictionary,
                            const struct attn_firings *row, double *x);
