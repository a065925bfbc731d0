/* picture_position.h - positions in a picture, and of a picture in a text, by name. */
#ifndef ATTN_TOWERS_PICTURE_POSITION_H
#define ATTN_TOWERS_PICTURE_POSITION_H

#include "base/buffer.h"
#include "input/sequence.h"

/* Appends the positions that the item at *SPEC names beside an image to OUT, if it does, and
 * advances *SPEC: `3,4`, `t0-2,3-5` or a region, with the number of the image in front or without.
 */
enum attn_status attn_prompt_positions(const char **spec, const struct attn_sequence *sequence,
                                       struct attn_buffer *out, bool *is_found,
                                       struct attn_error *err);

/* Resolves the list SPEC for a picture: `row,column`, [CLS] and [REG0]. */
enum attn_status attn_picture_positions(const char *spec, const struct attn_sequence *sequence,
                                        struct attn_buffer *out, struct attn_error *err);

#endif
