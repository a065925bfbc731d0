/* sessions.h - sessions that begin in the middle of a model, and what sessions count. */
#pragma once

#include "extra.h"
#include "forward/session_internal.h"

/* Feeds X [n, d_model] as resid_pre of LAYER; after the last layer only the output follows. */
enum attn_status attn_feed_layer(struct attn_session *session, int layer, const float *x, size_t n,
                                 struct attn_error *err);

/* Feeds SEQUENCES [n] from LAYER on: RESID has the resid_pre of each, and Z the z [n_head, n,
 * d_value] of each, or is NULL. A failure fails the current test. */
void attn_feed_pack(struct attn_session *session, int layer, const float *const *resid,
                    const float *const *z, const struct attn_session_sequence *sequences, size_t n);

/* Returns the number of rows that edits changed so far. */
size_t attn_edited_rows(const struct attn_session *session);

/* Returns the number of rows that the last layer of the last feed had left. */
size_t attn_rows_left(const struct attn_session *session);

/* Returns true if EDIT has changed a value of SEQUENCE. */
bool attn_edit_counts(const struct attn_session *session, size_t sequence, size_t edit);

/* Sets *n_byte to the memory that creating the session would take. */
enum attn_status attn_session_bytes(const struct attn_model *model,
                                    const struct attn_session_options *options, size_t *n_byte,
                                    struct attn_error *err);
