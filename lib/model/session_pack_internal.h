/* session_pack_internal.h - what session_pack.h declares for the library alone. */
#ifndef ATTN_MODEL_SESSION_PACK_INTERNAL_H
#define ATTN_MODEL_SESSION_PACK_INTERNAL_H

#include "model/session_pack.h"

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
