/* tower.h - the pictures in a prompt: a tower encodes each, and a connector makes rows from it,
 * which take the place of the embeddings of the tokens that stand for its cells. */
#ifndef ATTN_INPUT_TOWER_H
#define ATTN_INPUT_TOWER_H

#include "input/encoder.h"

/* One picture, as the input of the tower. */
struct attn_tower_picture {
    struct attn_pixels pixels;
    struct attn_sequence sequence;
};

/* Sets PICTURE to number I of the pictures of SEQUENCE, from which it borrows. */
enum attn_status attn_tower_take(const struct attn_model *model,
                                 const struct attn_sequence *sequence, size_t i,
                                 struct attn_tower_picture *picture, struct attn_error *err);

/* Sets the rows of SEQUENCE, whose ids and pictures were read: embeddings, and the features of the
 * pictures. Uses its pool and kernels. If the sequence LIKE has the same pictures, their features
 * are copied; it may be NULL. */
enum attn_status attn_tower_see(const struct attn_model *model, const struct attn_sequence *like,
                                struct attn_sequence *sequence, struct attn_error *err);

#endif
