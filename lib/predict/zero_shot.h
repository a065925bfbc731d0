/*
 * zero_shot.h - zero-shot classification of a picture by CLIP: the labels are texts of the caller.
 * For the files of this layer.
 *
 *     logit of a label = exp(logit_scale) * cos(image_embed, text_embed)
 *
 * The tower of pictures becomes a classifier with these labels, so everything that can be asked of
 * a classifier can be asked of it.
 */
#ifndef ATTN_PREDICT_ZERO_SHOT_H
#define ATTN_PREDICT_ZERO_SHOT_H

#include "host/host_internal.h"
#include "input/input.h"
#include "predict/answer.h"

/* Makes *HOST the one whose model INPUT goes through: of a directory with two towers the tower of
 * pictures or that of texts. With the labels of QUESTION it is a classifier: *labelled, which the
 * caller frees, and which borrows the host and the labels. Errors have a stage. */
enum attn_status attn_zero_shot_choose_host(struct attn_host **host, const struct attn_input *input,
                                            const struct attn_request_predict *question,
                                            const struct attn_request_reading *reading,
                                            struct attn_host **labelled, struct attn_error *err);

#endif
