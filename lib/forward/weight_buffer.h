/*
 * weight_buffer.h - a buffer into which weights are copied from the file just before they are used,
 * for a model that is read once.
 *
 * A matrix that is read is a copy that stays in the caches. For a mapped matrix, the system maps
 * each page of 4 KiB when it is touched, which takes twice as long. Results do not depend on it.
 */
#ifndef ATTN_FORWARD_WEIGHT_BUFFER_H
#define ATTN_FORWARD_WEIGHT_BUFFER_H

#include "model/model_internal.h"

struct attn_weight_buffer {
    const struct attn_tensor_files *st; /* borrowed; NULL: weights are used where they lie */
    unsigned char *bytes;               /* [capacity] */
    size_t capacity;                    /* 0: no matrix is worth a copy */
    const unsigned char *first;         /* the place of bytes[0] in a file's map */
    size_t size;                        /* bytes of the file that it holds; 0: none */
};

/* The capacity for the first N_LAYER layers of MODEL, with has_logits also the output layer. */
size_t attn_weight_buffer_size(const struct attn_weight_buffer *buffer,
                               const struct attn_model *model, size_t n_layer, bool has_logits);

/* attn_linear_run of ARGS [n] on POOL, with weights from the buffer where that is cheaper. */
void attn_weight_buffer_run_linear(struct attn_weight_buffer *buffer,
                                   const struct attn_linear_args *args, size_t n,
                                   struct attn_pool *pool);

#endif
