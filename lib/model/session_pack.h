/*
 * session_pack.h - several sequences fed to a session at once.
 *
 * Short sequences go through faster together: products of 120 rows take little more than half the
 * time that six of 20 rows do.
 *
 *     options.n_max = 128, options.n_sequence = 128, options.cache = ATTN_CACHE_ONE_LAYER;
 *     attn_session_create(model, &options, &session, &err);
 *     struct attn_session_sequence two[] = {{.ids = a, .n = 20}, {.ids = b, .n = 17}};
 *     attn_session_feed_many(session, two, 2, &err);    // events say which sequence they are of
 *     attn_session_reset(session);                      // before the next
 *
 * Rows of the sequences lie one below the other in products, norms and activations. Positions, keys
 * and values, attention, edits and events are those of each sequence. Every row is its own chain of
 * sums, so that its bits do not depend on the rows beside it.
 */
#ifndef ATTN_MODEL_SESSION_PACK_H
#define ATTN_MODEL_SESSION_PACK_H

#include "model/session.h"

/* One of several sequences. Borrowed until the next feed or reset. */
struct attn_session_sequence {
    const int32_t *ids;            /* [n] */
    size_t n;                      /* 1 .. n_ctx */
    const struct attn_edit *edits; /* [n_edit] in place of the session's; NULL: these */
    size_t n_edit;
};

/*
 * Runs the model over N whole sequences at once, each from position 0. Events, with the number of
 * their sequence, and logits are the bits of attn_session_feed with that sequence alone, in a
 * session whose n_max is its length (which is the length that `strided` attention without a stride
 * goes by). The selection applies to each sequence by itself. attn_session_n_position, _logits and
 * _logits_at count the positions of all sequences one after the other. ATTN_INVALID also after any
 * other feed (reset first), for more sequences than options.n_sequence, edits that do not fit, and
 * more than one sequence where layers attend to a source: each would have its own.
 */
ATTN_API enum attn_status attn_session_feed_many(struct attn_session *session,
                                                 const struct attn_session_sequence *sequences,
                                                 size_t n, struct attn_error *err);

/* Logits after the last position of each sequence of the last feed, into LOGITS [n, n_vocab],
 * computed anew. ATTN_INVALID as for attn_session_logits. */
ATTN_API enum attn_status attn_session_logits_last(struct attn_session *session, float *logits,
                                                   struct attn_error *err);

/* Logits after N <= n_max of the positions, counted as for attn_session_logits_at and with its
 * errors, into LOGITS [n, n_vocab]; computed anew, in one product. */
ATTN_API enum attn_status attn_session_logits_of(struct attn_session *session,
                                                 const size_t *positions, size_t n, float *logits,
                                                 struct attn_error *err);

/* --- Inside the library: not installed -------------------------------------------------------- */

/* What a feed begins with in the middle of a model: the stream into a layer, or also its z. */
struct attn_session_start {
    int layer;                 /* 0 .. n_layer; at n_layer only the output follows */
    const float *const *resid; /* [n] of each sequence its resid_pre [n, d_model], positions
                                  included */
    const float *const *z;     /* [n] likewise its z, as a capture has it [n_head, n, d_value]: the
                                  layer begins with attn_out. NULL: begins with resid */
};

/* As attn_session_feed_layer: begins at START. The ids of the sequences are not used. */
enum attn_status attn_session_feed_from(struct attn_session *session,
                                        const struct attn_session_start *start,
                                        const struct attn_session_sequence *sequences, size_t n,
                                        struct attn_error *err);

/* What the output layer reads after N of the positions, counted as for attn_session_logits_at and
 * with its errors, into ROWS [n, d_model], which outlive the feed. */
enum attn_status attn_session_final_of(struct attn_session *session, const size_t *positions,
                                       size_t n, float *rows, struct attn_error *err);

/* Logits of N <= n_max such rows, of this session's feeds or another's, into LOGITS [n, n_vocab].
 * Edits of logits are not applied. */
enum attn_status attn_session_unembed(struct attn_session *session, const float *rows, size_t n,
                                      float *logits, struct attn_error *err);

/* Rows of sequence number SEQUENCE of the last feed that edits have changed. */
size_t attn_session_n_edited_row_of(const struct attn_session *session, size_t sequence);

#endif
