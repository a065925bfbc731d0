/*
 * kept_layers.h - keeps the tensors of each layer that gradients need while a text is fed, so that
 * backward.h need not recompute layers. It gives the same bits, and needs more memory. For the
 * library only.
 *
 *     if (attn_kept_layers_size(config, n) <= limit)
 *         attn_kept_layers_create(config, n, pool, &kept, &err);
 *     options.trace = attn_kept_layers_trace(kept);  // of a session
 *     attn_session_feed(session, ids, n, &err);
 *     values = attn_kept_layers_of(kept, layer);
 */
#pragma once

#include "base/pool.h"
#include "model/config_fields.h"
#include "trace/trace.h"

/* The tensors of one layer, [n, all heads side by side]; NULL if the model lacks the site. */
struct attn_layer_values {
    const float *q, *k, *v;        /* as used for the scores */
    const float *q_raw, *k_raw;    /* before they are normalized */
    const float *z;                /* [n, H Ev] */
    const float *resid;            /* [n, D] input of the MLP's norm, the stream */
    const float *mlp, *mlp_linear; /* [n, F] before the activation */
};

struct attn_kept_layers;

/* Returns the bytes for N positions, or N rows of the source if these are more; SIZE_MAX if the
 * size overflows. */
size_t attn_kept_layers_size(const struct attn_config *config, size_t n);

/* Allocates the memory. CONFIG is borrowed during the call. POOL (or NULL) is borrowed until
 * attn_kept_layers_free; it copies rows during the events of a feed. */
enum attn_status attn_kept_layers_create(const struct attn_config *config, size_t n,
                                         struct attn_pool *pool, struct attn_kept_layers **kept,
                                         struct attn_error *err);

/* Returns the trace, borrowed. It must see a feed of all positions; a later feed replaces the
 * tensors. */
const struct attn_trace *attn_kept_layers_trace(const struct attn_kept_layers *kept);

struct attn_layer_values attn_kept_layers_of(const struct attn_kept_layers *kept, int layer);

void attn_kept_layers_free(struct attn_kept_layers *kept); /* NULL is allowed */
