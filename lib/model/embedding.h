/* embedding.h - what a model adds to the embeddings of a sequence before its layers: token types
 * and learned positions; and the rows of a picture that are no patches. For the files of this
 * layer, and of those above. */
#ifndef ATTN_MODEL_EMBEDDING_H
#define ATTN_MODEL_EMBEDDING_H

#include "model/model_internal.h"

/* Consecutive positions of one sequence. Borrowed. */
struct attn_embedding_rows {
    size_t row0, n;              /* the first, counted from the beginning; how many */
    const int32_t *ids, *types;  /* [n]; NULL: no token pads, all types are 0 */
    struct attn_image_grid grid; /* of a picture, all its positions; else n_row 0 */
    bool has_usual_grid;         /* the learned positions have this grid */
};

/* Whether the embedding is mapped before positions are added, as in decoders whose positions are as
 * wide as the stream: these have [D], not [De]. Encoders map the sum. */
bool attn_model_maps_first(const struct attn_model *model);

/* x[i] += W_type[types[i]], X [n, De]. ROW is scratch [De]. Models without types change nothing. */
void attn_model_add_types(const struct attn_model *model, const struct attn_kernels *kernels,
                          const struct attn_embedding_rows *rows, float *row, float *x);

/* x[i] += W_pos[p]; p is row0 + i, unless tokens that pad are not counted; for pictures [CLS] and
 * the patches, resampled for an unusual grid. ROW is scratch [2, De]. */
void attn_model_add_positions(const struct attn_model *model, const struct attn_kernels *kernels,
                              const struct attn_embedding_rows *rows, float *row, float *x);

/* The rows X [N_FRONT, De] of [CLS] and of registers. */
void attn_model_fill_front(const struct attn_model *model, const struct attn_kernels *kernels,
                           size_t n_front, float *x);

#endif
