/*
 * zero_shot.h - zero-shot classification by CLIP, of a picture by texts or of a text by pictures,
 * and texts that a sentence is compared with. For the files of this layer.
 *
 *     logit of a label = exp(logit_scale) * cos(image_embed, text_embed)
 *     value of a label = cos(sentence_embed, that of the label)
 *
 * The model becomes a classifier with these labels, so everything that can be asked of
 * a classifier can be asked of it.
 */
#ifndef ATTN_PREDICT_ZERO_SHOT_H
#define ATTN_PREDICT_ZERO_SHOT_H

#include "host/host_internal.h"
#include "input/input.h"
#include "predict/answer.h"

/* The number of labels of QUESTION: texts, ids and pictures. */
size_t attn_predict_n_label(const struct attn_request_predict *question);

/* Sets *HOST to the host whose model reads INPUT; a directory with two towers has one for pictures
 * and one for texts. With labels in QUESTION, *HOST becomes *labelled, a classifier, which borrows
 * the host and the labels and which the caller frees. Errors have a stage. */
enum attn_status attn_zero_shot_choose_host(struct attn_host **host, const struct attn_input *input,
                                            const struct attn_request_predict *question,
                                            const struct attn_request_reading *reading,
                                            struct attn_host **labelled, struct attn_error *err);

#endif
