/*
 * request_params.h - lists of the parameters of a request, other than its input: how texts are
 * read, which tensors and predictions to compute, the attention, edits, and how patterns are shown.
 * Options of commands and arguments of Python are made from them. The lists, and the structs that
 * they fill:
 *
 *     reading, selection, array_selection, prediction, gradients
 *                                          struct attn_request
 *     spans                                struct attn_request_labels
 *     target, foil, at, metric             struct attn_answer_args
 *     attention, dropout, array_dropout    struct attn_attention_args
 *     interventions                        struct attn_edit_texts
 *     places                               struct attn_places
 *     picture, view                        struct attn_picture_options
 */
#ifndef ATTN_RUN_REQUEST_PARAMS_H
#define ATTN_RUN_REQUEST_PARAMS_H

#include "params/param.h"

/* Returns the list NAME, such as "selection", or NULL. */
ATTN_API const struct attn_param_list *attn_request_params_find(const char *name);

#endif
