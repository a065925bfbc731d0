/*
 * weight_arrays.h - the weights of a model as arrays, by the names and in the shapes of
 * TransformerLens.
 *
 *     struct attn_weight_array *weights;
 *     size_t n;
 *     attn_model_weights_create(model, &weights, &n, &err);
 *     ... weights[0 .. n-1] have names and shapes ...
 *     attn_model_weights_free(weights);
 *
 *     static float w_q[8 * 128 * 16]; // [H, D, E] of fable
 *     attn_model_weight_read(model, "blocks.0.attn.W_Q", w_q, &err);
 *
 * Matrices have the input first: blocks.0.attn.W_Q [H, D, E], W_K and W_V [G, D, E], W_O [H, E, D],
 * mlp.W_in [D, F], embed.W_E [V, D], unembed.W_U [D, V]. G is the number of key/value heads, whose
 * rows TransformerLens may repeat. Nothing is folded or centered; the weights of norms that
 * multiply by 1 + w are 1 + w. A layer of a model with two stacks is "encoder.0" or "decoder.0",
 * where ln1, ln2 and ln3 come before attention, cross_attn and the MLP.
 */
#ifndef ATTN_MODEL_WEIGHT_ARRAYS_H
#define ATTN_MODEL_WEIGHT_ARRAYS_H

#include "model/model.h"

enum { ATTN_WEIGHT_ARRAY_NAME_SIZE = 96, ATTN_WEIGHT_ARRAY_MAX_RANK = 3 };

struct attn_weight_array {
    char name[ATTN_WEIGHT_ARRAY_NAME_SIZE];
    int rank;
    size_t shape[ATTN_WEIGHT_ARRAY_MAX_RANK];
};

/* Lists the weights that MODEL has, in the order in which it uses them. The caller frees *weights
 * [*n] with attn_model_weights_free. No weight is read. */
ATTN_API enum attn_status attn_model_weights_create(const struct attn_model *model,
                                                    struct attn_weight_array **weights, size_t *n,
                                                    struct attn_error *err);
ATTN_API void attn_model_weights_free(struct attn_weight_array *weights); /* NULL is allowed */

/* Reads the weight NAME into VALUES, all elements in C order, as float32; quantized blocks are
 * decoded. ATTN_INVALID if the model has no such weight. */
ATTN_API enum attn_status attn_model_weight_read(const struct attn_model *model, const char *name,
                                                 float *values, struct attn_error *err);

#endif
