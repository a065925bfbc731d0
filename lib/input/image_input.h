/* image_input.h - reads a picture as the sequence of a run: its pixels, and its positions, named
 * `[CLS]`, `[REG0]`, ..., then `row,column` for each patch. For the files of this layer. */
#ifndef ATTN_INPUT_IMAGE_INPUT_H
#define ATTN_INPUT_IMAGE_INPUT_H

#include "base/status_internal.h"
#include "input/pixels_internal.h"
#include "input/sequence.h"

bool attn_input_is_picture(const struct attn_input *input);

bool attn_model_reads_pictures(const struct attn_model *model);

/* Checks that INPUT and SOURCE are pictures if MODEL reads pictures, else texts. On failure:
 * ATTN_INVALID with the stage ATTN_STAGE_OPTIONS. */
enum attn_status attn_image_input_check(const struct attn_input *input,
                                        const struct attn_input *source,
                                        const struct attn_model *model, struct attn_error *err);

/* Reads the picture of INPUT into SEQUENCE: its pixels, its positions and their labels. */
enum attn_status attn_image_input_read(const struct attn_pixel_maker *maker,
                                       const struct attn_input *input, struct attn_notes notes,
                                       struct attn_sequence *sequence, struct attn_error *err);

#endif
