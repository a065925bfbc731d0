/*
 * kept_layers.h - the tensors of each layer that gradients are made of, kept while a text is fed,
 * so that backward.h computes no layer again. The same bits, for more memory. For the library
 * alone.
 *
 *     if (attn_kept_layers_size(config, n) <= limit)
 *         attn_kept_layers_create(config, n, pool, &kept, &err);
 *     options.trace = attn_kept_layers_trace(kept);     // of a session
 *     attn_session_feed(session, ids, n, &err);
 *     values = attn_kept_layers_of(kept, layer);
 */
#ifndef ATTN_GRADIENT_KEPT_LAYERS_H
#define ATTN_GRADIENT_KEPT_LAYERS_H

#include "base/pool.h"
#include "model/config.h"
#include "trace/trace.h"

/* The tensors of one layer, [N, all heads side by side]. NULL: the model lacks the site. */
struct attn_layer_values {
    const float *q, *k, *v;        /* those that scores are made of */
    const float *q_raw, *k_raw;    /* before their norms */
    const float *z;                /* [n, H Ev] */
    const float *resid;            /* [n, D] the stream before the MLP */
    const float *mlp, *mlp_linear; /* [n, F] before the activation */
};

struct attn_kept_layers;

/* Bytes for N positions, or rows of a source if they are more; SIZE_MAX where they are too many to
 * count. */
size_t attn_kept_layers_size(const struct attn_config *config, size_t n);

/* Takes the memory. CONFIG is borrowed while it is created, POOL (or NULL) for good: it copies rows
 * between the steps of a feed, on whose thread events come. */
enum attn_status attn_kept_layers_create(const struct attn_config *config, size_t n,
                                         struct attn_pool *pool, struct attn_kept_layers **kept,
                                         struct attn_error *err);

/* Borrowed. The feed is of all positions; a later one takes the place of an earlier. */
const struct attn_trace *attn_kept_layers_trace(const struct attn_kept_layers *kept);

struct attn_layer_values attn_kept_layers_of(const struct attn_kept_layers *kept, int layer);

void attn_kept_layers_free(struct attn_kept_layers *kept); /* NULL is allowed */

#endif
