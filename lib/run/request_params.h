/*
 * request_params.h - what a request takes besides its input, as lists of parameters: how texts are
 * read, which tensors and predictions are wanted, which attention is computed, what is changed on
 * the way, and how patterns are shown. From them come the options of commands and the arguments of
 * Python. The structs that they fill:
 *
 *     reading, selection, array_selection, prediction, gradients
 *                                                struct attn_request
 *     spans                                      struct attn_request_labels
 *     target, foil, at, metric                   struct attn_answer_args
 *     attention, dropout, array_dropout          struct attn_attention_args
 *     interventions                              struct attn_edit_texts
 *     places                                     struct attn_places
 *     picture, view                              struct attn_picture_options
 */
#ifndef ATTN_RUN_REQUEST_PARAMS_H
#define ATTN_RUN_REQUEST_PARAMS_H

#include "base/param.h"

/* The list NAME, "selection", or NULL. */
ATTN_API const struct attn_param_list *attn_request_params_find(const char *name);

#endif
