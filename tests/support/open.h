/*
 * open.h - opens what many tests begin with. A failure fails the current test with its message.
 */
#pragma once

#include "attn.h"

/* The model in DIRECTORY, or SOURCE. OPTIONS may be NULL: the defaults. Free it. */
struct attn_model *attn_open_model(const char *directory, const struct attn_model_options *options);
struct attn_model *attn_open_source(const struct attn_source *source,
                                    const struct attn_model_options *options);

/* The encoder of pictures in MODEL, which owns it. */
const struct attn_model *attn_tower_of(const struct attn_model *model);

/* The host of a built-in model or of a directory. OPTIONS may be NULL: the defaults. Free it. */
struct attn_host *attn_open_host(const char *name, const struct attn_host_options *options);
