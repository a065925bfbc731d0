/*
 * session_pack.h - feeds several sequences to a session at once.
 *
 * Short sequences are faster together: products of 120 rows take little more than half the time of
 * six products of 20 rows.
 *
 *     options.n_max = 128, options.n_sequence = 128, options.cache = ATTN_CACHE_ONE_LAYER;
 *     attn_session_create(model, &options, &session, &err);
 *     struct attn_session_sequence two[] = {{.ids = a, .n = 20}, {.ids = b, .n = 17}};
 *     attn_session_feed_many(session, two, 2, &err);  // events name their sequence
 *     attn_session_reset(session);                    // before the next
 *
 * Products, norms and activations process the stacked rows of all sequences. Each sequence has
 * separate positions, keys and values, attention, edits and events. Every row is a separate chain
 * of sums, so that its bits do not depend on the other rows.
 */
#pragma once

#include "forward/session.h"

/* One of several sequences. Borrowed until the next feed or reset. */
struct attn_session_sequence {
    const int32_t *ids;            /* [n] */
    size_t n;                      /* 1 .. n_ctx */
    const struct attn_edit *edits; /* [n_edit] replace the session's; NULL: the session's */
    size_t n_edit;
    size_t n_uncounted;      /* number of these edits, from the first on, whose changed rows are not
                                counted */
    const int32_t *types;    /* [n] types of the tokens; NULL: all are 0 */
    const int32_t *key_mask; /* [n] replaces the session's; NULL: the session's */
    /* Positions of an encoder at which logits may be requested; n_logit 0: all. The last layer
     * computes only these and watched positions. Decoders ignore it. */
    size_t logit0, n_logit;
};

/* Runs the model over N whole sequences at once, each from position 0. Events, which contain the
 * number of their sequence, and logits have the bits of attn_session_feed with that sequence alone,
 * in a session whose n_max is its length (`strided` attention without a stride depends on the
 * length). The selection applies to each sequence. attn_session_n_position, _logits and _logits_at
 * count the positions of all sequences one after the other. Returns ATTN_INVALID also after any
 * other feed (reset first), for more sequences than options.n_sequence, for edits that do not fit,
 * and for more than one sequence if layers attend to a source, because there is only one source. */
enum attn_status attn_session_feed_many(struct attn_session *session,
                                        const struct attn_session_sequence *sequences, size_t n,
                                        struct attn_error *err);

/* Copies text_embed, image_embed or sentence_embed of each sequence of the last feed to ROWS [n,
 * d_projected]. Returns ATTN_INVALID without has_projections or before any feed. */
enum attn_status attn_session_projections(const struct attn_session *session, float *rows,
                                          struct attn_error *err);

/* Computes the logits after the last position of each sequence of the last feed into LOGITS [n,
 * n_vocab]. Returns ATTN_INVALID as attn_session_logits does. */
enum attn_status attn_session_logits_last(struct attn_session *session, float *logits,
                                          struct attn_error *err);

/* Computes the logits after N <= n_max positions, in one product, into LOGITS [n, n_vocab].
 * Positions and errors are those of attn_session_logits_at. */
enum attn_status attn_session_logits_of(struct attn_session *session, const size_t *positions,
                                        size_t n, float *logits, struct attn_error *err);
