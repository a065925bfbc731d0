/*
 * weight_buffer.h - a buffer into which weights are copied from the file just before they are used,
 * for a model that runs once.
 *
 * Reading a matrix makes a copy that stays in the caches. If it is mapped instead, the system maps
 * each page of 4 KiB when it is touched, which takes twice as long. Results do not depend on it.
 */
#ifndef ATTN_FORWARD_WEIGHT_BUFFER_H
#define ATTN_FORWARD_WEIGHT_BUFFER_H

#include "model/model_internal.h"

struct attn_weight_buffer {
    const struct attn_tensor_files *st; /* borrowed; NULL: the buffer is not used */
    unsigned char *bytes;               /* [capacity] */
    size_t capacity;                    /* 0: no matrix is worth copying */
    const unsigned char *first;         /* the address in a file's map that bytes[0] is a copy of */
    size_t size;                        /* bytes in the buffer; 0: it is empty */
};

/* Returns the capacity needed for the first N_LAYER layers of MODEL and, if HAS_LOGITS, the output
 * layer. */
size_t attn_weight_buffer_size(const struct attn_weight_buffer *buffer,
                               const struct attn_model *model, size_t n_layer, bool has_logits);

/* Runs attn_linear_run for ARGS [n] on POOL, with weights from the buffer where that is cheaper. */
void attn_weight_buffer_run_linear(struct attn_weight_buffer *buffer,
                                   const struct attn_linear_args *args, size_t n,
                                   struct attn_pool *pool);

#endif
