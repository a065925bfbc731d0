/* intervention_internal.h - what intervention.h declares for the library alone. */
#ifndef ATTN_RUN_INTERVENTION_INTERNAL_H
#define ATTN_RUN_INTERVENTION_INTERNAL_H

#include "run/intervention.h"

/* What messages call them. */
const char *attn_knockout_name(const struct attn_knockout *knockout);
const char *attn_patch_name(const struct attn_patch *patch);

/* Heads of the tensor that PATCH stands for: key/value heads of k and v, 1 where there are none. */
size_t attn_patch_n_head(const struct attn_patch *patch, const struct attn_config *config);

/* Whether a model with CONFIG has the layer and the head. ATTN_INVALID, without a stage. */
enum attn_status attn_patch_check(const struct attn_patch *patch, const struct attn_config *config,
                                  struct attn_error *err);

#endif
