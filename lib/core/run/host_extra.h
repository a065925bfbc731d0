/* host_extra.h - what a question asks of a host: its threads, whether it has a model, whether the
 * caller has asked to stop. */
#ifndef ATTN_RUN_HOST_EXTRA_H
#define ATTN_RUN_HOST_EXTRA_H

#include "run/host.h"

struct attn_pool;

/* Returns the options that HOST was opened with; borrowed. */
ATTN_API const struct attn_host_options *attn_host_opened_with(const struct attn_host *host);

/* Returns the threads for about MULTIPLY_ADDS multiplications: the pool, or NULL if starting
 * threads would cost more than it saves. */
ATTN_API struct attn_pool *attn_host_pool(const struct attn_host *host, double multiply_adds);

/* Checks that HOST has a model. ATTN_INVALID at ATTN_STAGE_MODEL if not. */
ATTN_API enum attn_status attn_host_check_model(const struct attn_host *host,
                                                struct attn_error *err);

/* Returns ATTN_CANCELED if the caller has asked to stop. */
ATTN_API enum attn_status attn_host_check_canceled(const struct attn_host *host,
                                                   struct attn_error *err);

#endif
