/*
 * attention_args.h - which attention a request computes, as people write it.
 *
 *     struct attn_attention_args args = {.kind = "window:64", .mask = "mask.npy"};
 *     attn_attention_args_check(&args, &err); // before a model is opened
 *     attn_attention_args_open(&args, &err);  // reads the file
 *     request.attention.change = &args.change;
 *     ... attn_run_request(host, &request, &result, &err) ...
 *     attn_attention_args_release(&args);
 */
#ifndef ATTN_RUN_ATTENTION_ARGS_H
#define ATTN_RUN_ATTENTION_ARGS_H

#include "formats/ndarray.h"
#include "run/attention_change.h"

struct attn_attention_args {
    const char *kind;                    /* as attn_attention_parse reads it; NULL: not given */
    const char *mask;                    /* "causal", "none" or the path of a file; NULL: not given,
                                            or the cells of the change */
    const char *keep;                    /* the path of a file; NULL: the same */
    struct attn_attention_change change; /* the rest; its parts are those that are given */
    struct attn_mask_array cells, kept;  /* owns; of these files */
};

/* Reads kind and mask into the change, and refuses what does not go together in any model.
 * ATTN_INVALID at ATTN_STAGE_OPTIONS. */
ATTN_API enum attn_status attn_attention_args_check(struct attn_attention_args *args,
                                                    struct attn_error *err);

/* Reads the files of `mask` and `keep`, if there are any. Call it after the check.
 * ATTN_STAGE_INPUT. */
ATTN_API enum attn_status attn_attention_args_open(struct attn_attention_args *args,
                                                   struct attn_error *err);

/* The path of the file of `mask`, or NULL. */
ATTN_API const char *attn_attention_args_file(const struct attn_attention_args *args);

ATTN_API void attn_attention_args_release(struct attn_attention_args *args); /* {0} is allowed */

#endif
