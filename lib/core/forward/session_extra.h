/* session_extra.h - feeds that begin at a layer, and what comes after the last token. */
#ifndef ATTN_FORWARD_SESSION_EXTRA_H
#define ATTN_FORWARD_SESSION_EXTRA_H

#include "forward/session.h"

struct attn_config;

/* Feeds the rows X [n, d_model] as resid_pre of the layer of AT, positions included; after the last
 * layer (attn_dims_end) only the output follows. Otherwise like attn_session_feed_embeddings. The
 * bits are those of a whole feed that had X at this place. ATTN_POOLING_LAST needs the tokens IDS
 * [n] to find padding; NULL: there is no padding. Returns ATTN_INVALID with dropout. Not for use
 * with reads_once. */
ATTN_API enum attn_status attn_session_feed_layer(struct attn_session *session,
                                                  const struct attn_location *at, const float *x,
                                                  const int32_t *ids, size_t n,
                                                  struct attn_error *err);

/* Checks that tokens can be fed after a text, with the attention of LAYERS. Returns ATTN_INVALID
 * with the stage ATTN_STAGE_OPTIONS if not. */
ATTN_API enum attn_status attn_session_check_next(const struct attn_attention *layers,
                                                  const struct attn_config *config,
                                                  struct attn_error *err);

/* Computes the natural log-probability of token ID after the last position: logits[id] - ln sum
 * exp(logits). */
ATTN_API enum attn_status attn_session_log_probability(struct attn_session *session, int32_t id,
                                                       double *log_probability,
                                                       struct attn_error *err);

#endif
