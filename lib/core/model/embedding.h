/* embedding.h - what a model adds to the embeddings of a sequence before its layers: token types
 * and learned positions. Also the rows of a picture other than patches. For the files of this layer
 * and above. */
#pragma once

#include "model/model_internal.h"

/* Consecutive rows of one sequence. Borrowed. */
struct attn_embedding_rows {
    size_t row0, n; /* the first row, counted from the start of the sequence, and their number */
    const int32_t *ids, *types; /* [n]; NULL: there is no padding, and all types are 0 */
    /* For a picture, with all its positions; n_row is 0 for other inputs. */
    struct attn_image_grid grid;
};

/* Whether the embedding is mapped to the width of the stream before positions are added, so that
 * positions are [D] and not [De]. Decoders do that; encoders map the sum. */
bool attn_model_maps_first(const struct attn_model *model);

/* Adds row AT of TABLE to X [De]. ROW is scratch [De]. */
void attn_model_add_row(const struct attn_kernels *kernels, const struct attn_tensor *table,
                        size_t at, size_t d, float *row, float *x);

/* Adds W_type[types[i]] to each row of X [n, De]. ROW is scratch [De]. Does nothing for models
 * without types. */
void attn_model_add_types(const struct attn_model *model, const struct attn_kernels *kernels,
                          const struct attn_embedding_rows *rows, float *row, float *x);

/* Adds the learned position of each row to X. It is row0 + i, except that padding tokens may not
 * count. For pictures: the positions of [CLS] and of the patches, resampled if the grid is unusual.
 * ROW is scratch [2, De]. */
void attn_model_add_positions(const struct attn_model *model, const struct attn_kernels *kernels,
                              const struct attn_embedding_rows *rows, float *row, float *x);

/* Writes the rows of [CLS] and of the registers to X [N_FRONT, De]. */
void attn_model_fill_front(const struct attn_model *model, const struct attn_kernels *kernels,
                           size_t n_front, float *x);
