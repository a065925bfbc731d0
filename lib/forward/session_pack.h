/*
 * session_pack.h - several sequences fed to a session at once.
 *
 * Short sequences go through faster together: products of 120 rows take little more than half the
 * time that six of 20 rows do.
 *
 *     options.n_max = 128, options.n_sequence = 128, options.cache = ATTN_CACHE_ONE_LAYER;
 *     attn_session_create(model, &options, &session, &err);
 *     struct attn_session_sequence two[] = {{.ids = a, .n = 20}, {.ids = b, .n = 17}};
 *     attn_session_feed_many(session, two, 2, &err);    // events name their sequence
 *     attn_session_reset(session);                      // before the next
 *
 * Rows of the sequences lie one below the other in products, norms and activations. Each sequence
 * has its positions, keys and values, attention, edits and events. Every row is a separate chain of
 * sums, so that its bits do not depend on the other rows.
 */
#ifndef ATTN_FORWARD_SESSION_PACK_H
#define ATTN_FORWARD_SESSION_PACK_H

#include "forward/session.h"

/* One of several sequences. Borrowed until the next feed or reset. */
struct attn_session_sequence {
    const int32_t *ids;            /* [n] */
    size_t n;                      /* 1 .. n_ctx */
    const struct attn_edit *edits; /* [n_edit] instead of the session's; NULL: these */
    size_t n_edit;
    size_t n_uncounted;      /* the first of its own edits whose changed rows are not counted */
    const int32_t *types;    /* [n] types of the tokens; NULL: all are 0 */
    const int32_t *key_mask; /* [n] instead of the session's; NULL: the session's */
    size_t logit0, n_logit;  /* positions of an encoder at which logits may be requested. The last
                                layer is computed only for these and for watched positions; n_logit
                                0: all. Decoders ignore it */
};

/* Runs the model over N whole sequences at once, each from position 0. Events, with the number of
 * their sequence, and logits are the bits of attn_session_feed with that sequence alone, in a
 * session whose n_max is its length (which is the length that `strided` attention without a stride
 * goes by). The selection applies to each sequence by itself. attn_session_n_position, _logits and
 * _logits_at count the positions of all sequences one after the other. ATTN_INVALID also after any
 * other feed (reset first), for more sequences than options.n_sequence, edits that do not fit, and
 * more than one sequence where layers attend to a source: each would have its own. */
ATTN_API enum attn_status attn_session_feed_many(struct attn_session *session,
                                                 const struct attn_session_sequence *sequences,
                                                 size_t n, struct attn_error *err);

/* text_embed or image_embed of each sequence of the last feed, into ROWS [n, d_projected].
 * ATTN_INVALID without has_projections or before any feed. */
ATTN_API enum attn_status attn_session_projections(const struct attn_session *session, float *rows,
                                                   struct attn_error *err);

/* Logits after the last position of each sequence of the last feed, into LOGITS [n, n_vocab],
 * computed anew. ATTN_INVALID as for attn_session_logits. */
ATTN_API enum attn_status attn_session_logits_last(struct attn_session *session, float *logits,
                                                   struct attn_error *err);

/* Logits after N <= n_max of the positions, counted as for attn_session_logits_at and with its
 * errors, into LOGITS [n, n_vocab]; computed anew, in one product. */
ATTN_API enum attn_status attn_session_logits_of(struct attn_session *session,
                                                 const size_t *positions, size_t n, float *logits,
                                                 struct attn_error *err);

#endif
