/*
 * request.h - the common part of `run`, `attend` and `generate`: fills the request of a question
 * with the selection, predictions and outputs of tensors, performs it, and prints its result.
 *
 *     static enum attn_status work(struct question *question, struct attn_error *err)
 *     {
 *         ATTN_TRY(request_check(question, err));      // before anything is opened
 *         ... opens question->host, and fills question->request.input ...
 *         ATTN_TRY(request_fill(question, err));       // with the shared options
 *         return request_serve(question, err);
 *     }
 */
#pragma once

#include "cmd/args/question.h"

extern const struct attn_param_list explain_options; /* --explain */

/* Checks the common options. */
enum attn_status request_check(struct question *question, struct attn_error *err);

/* Sets the common options in the request. */
enum attn_status request_fill(struct question *question, struct attn_error *err);

/* Prepares and performs the request, and prints what is not written by outputs. */
enum attn_status request_serve(struct question *question, struct attn_error *err);
