/* zero_shot.h - zero-shot classification. */
#pragma once

#include "run/host_internal.h"

/*
 * Zero-shot classification by CLIP: of a picture by texts, or of a text by pictures.
 * Also compares a sentence with other sentences.
 *
 *     logit of a label = exp(logit_scale) * cos(image_embed, text_embed)
 *     value of a label = cos(sentence_embed of the input, sentence_embed of the label)
 *
 * The model becomes a classifier with these labels, so that all questions to classifiers work for
 * it, too.
 */

/* Sets *HOST to the host whose model reads INPUT: in a directory with two towers, one model reads
 * pictures and one texts. If QUESTION has labels, also creates *labelled, a classifier with these
 * labels, and sets *HOST to it. It borrows the host and the labels; the caller frees it. Errors
 * have a stage. */
enum attn_status attn_zero_shot_choose_host(struct attn_host **host, const struct attn_input *input,
                                            const struct attn_request_predict *question,
                                            const struct attn_request_reading *reading,
                                            struct attn_host **labelled, struct attn_error *err);
