/*
 * attention_args.h - the attention of a request in the form in which users write it.
 *
 *     struct attn_attention_args args = {.kind = "window:64", .mask = "mask.npy"};
 *     attn_attention_args_check(&args, &err);  // before a model is opened
 *     attn_attention_args_open(&args, &err);   // reads the file
 *     request.attention.change = &args.change;
 *     ... attn_run_request(host, &request, &result, &err) ...
 *     attn_attention_args_release(&args);
 */
#ifndef ATTN_RUN_ATTENTION_ARGS_H
#define ATTN_RUN_ATTENTION_ARGS_H

#include "formats/ndarray.h"
#include "run/attention_change.h"

struct attn_attention_args {
    const char *kind; /* in the form of attn_attention_parse; NULL: not given */
    const char *mask; /* "causal", "none" or the path of a file; NULL: not given, or the change has
                         the cells */
    const char *keep; /* path of a file with the weights that dropout keeps; NULL: not given, or the
                         change has them */
    struct attn_attention_change change; /* everything else; its `parts` are what is given */
    struct attn_mask_array cells, kept;  /* owns; the contents of these files */
};

/* Parses kind and mask into the change, and refuses combinations that no model allows. Returns
 * ATTN_INVALID with the stage ATTN_STAGE_OPTIONS. */
ATTN_API enum attn_status attn_attention_args_check(struct attn_attention_args *args,
                                                    struct attn_error *err);

/* Reads the files of `mask` and `keep`, if they are given. Call it after the check. Errors have the
 * stage ATTN_STAGE_INPUT. */
ATTN_API enum attn_status attn_attention_args_open(struct attn_attention_args *args,
                                                   struct attn_error *err);

ATTN_API void attn_attention_args_release(struct attn_attention_args *args); /* {0} is allowed */

#endif
