/* session_internal.h - what a session owns, what was fed to it, and the steps of a feed. For session.c,
 * session_pack.c and their tests. */
#ifndef ATTN_MODEL_SESSION_INTERNAL_H
#define ATTN_MODEL_SESSION_INTERNAL_H

#include "base/arena.h"
#include "model/forward.h"
#include "model/session.h"

struct attn_session {
    struct attn_forward forward; /* borrows what follows */
    struct attn_edit *edits;     /* owns; [n_edit] */
    size_t n_edit;
    struct attn_attention *attention; /* owns; [n_layer] */
    bool *has_own_stride;             /* owns; [n_layer] */
    struct attn_arena arena;          /* owns the buffers of `forward` */
    size_t n_position;                /* fed so far; of all sequences */
    bool is_broken;                   /* a feed failed: only a reset helps */
    bool has_last_logits;             /* forward.last_logits are those of the last position */
};

/* Whether layers with ATTENTION [n_layer], of a model of DIMS, can be edited so. Matrices that are
 * made beside z cannot: nothing would come of it. */
enum attn_status attn_session_check_edits(const struct attn_attention *attention,
                                          const struct attn_dims *dims,
                                          const struct attn_edit *edits, size_t n_edit,
                                          struct attn_error *err);

/* Whether masks given as matrices have the sizes of LAYER when N positions are fed. */
enum attn_status attn_session_check_matrices(const struct attn_session *session, size_t layer,
                                             size_t n, struct attn_error *err);

/* Positions that one sequence may have. */
size_t attn_session_most_positions(const struct attn_forward *f);

/* Whether a feed can begin at LAYER; whether N more positions can be fed, to the layers from FIRST
 * on; whether there are logits. */
enum attn_status attn_session_check_layer(const struct attn_forward *f, int layer,
                                          struct attn_error *err);
enum attn_status attn_session_check_feed(const struct attn_session *session, size_t first, size_t n,
                                         struct attn_error *err);
enum attn_status attn_session_check_logits(const struct attn_session *session,
                                           struct attn_error *err);

/* Whether position ROW of all that was fed has logits: the last layer computed it. */
enum attn_status attn_session_check_position(const struct attn_session *session, size_t row,
                                             struct attn_error *err);

/* Embeddings of N tokens into X. */
void attn_session_gather(const struct attn_forward *f, const int32_t *ids, size_t n, float *x);

/* Runs the feed that was begun, whose embeddings lie in resid. */
enum attn_status attn_session_run_feed(struct attn_session *session);

#endif
