/*
 * inquiry.h - what an experiment is given, its own struct and a request, read. For the files of this
 * layer.
 *
 *     struct attn_lens_args args = ATTN_LENS_ARGS_DEFAULT;
 *     struct attn_request request = ATTN_REQUEST_DEFAULT;
 *     status = attn_inquiry_read(&(struct attn_inquiry){given, given_request}, &args, &request, err);
 */
#ifndef ATTN_EXPERIMENT_INQUIRY_H
#define ATTN_EXPERIMENT_INQUIRY_H

#include "run/request.h"

/* Borrowed; both may be NULL. */
struct attn_inquiry {
    const void *args; /* begins with its size, as base/given.h says */
    const struct attn_request *request;
};

/* Copies what INQUIRY gives over ARGS and REQUEST, which hold the defaults. Errors have the stage of
 * options. */
enum attn_status attn_inquiry_read(const struct attn_inquiry *inquiry, void *args,
                                   struct attn_request *request, struct attn_error *err);

/* Leaves of REQUEST the input and how it is run: nothing is chosen, predicted or written. */
void attn_inquiry_choose_nothing(struct attn_request *request);

#endif
