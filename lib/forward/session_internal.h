/* session_internal.h - the fields of a session, and the steps of a feed; and declarations of
 * session_pack.h that only the library uses. */
#ifndef ATTN_FORWARD_SESSION_INTERNAL_H
#define ATTN_FORWARD_SESSION_INTERNAL_H

#include "base/memory.h"
#include "forward/forward_internal.h"
#include "forward/session.h"
#include "forward/session_pack.h"
#include "model/embedding.h"

struct attn_session {
    struct attn_forward forward; /* borrows the fields below */
    struct attn_edit *edits;     /* owns; [n_edit] */
    size_t n_edit;
    atomic_bool *has_effect; /* owns; the flags of the sequences' edits, one sequence after the
                                other; NULL without edits */
    size_t effect_capacity;
    size_t n_uncounted;               /* of its edits (struct attn_edit_target) */
    struct attn_attention *attention; /* owns; [n_layer] */
    bool *has_own_stride;             /* owns; [n_layer] */
    struct attn_arena arena;          /* owns the buffers of `forward` */
    size_t n_position;                /* positions fed so far, over all sequences */
    bool keeps_layer;                 /* forward.keeps_layer */
    bool is_broken;                   /* a feed failed: only a reset helps */
    bool has_last_logits;             /* forward.last_logits belong to the last position */
};

/* Whether layers with ATTENTION [n_layer], in a model of DIMS, can be edited so. Edits of matrices
 * that are made apart from z would have no effect. */
enum attn_status attn_session_check_edits(const struct attn_attention *attention,
                                          const struct attn_dims *dims,
                                          const struct attn_edit *edits, size_t n_edit,
                                          struct attn_error *err);

/* Whether masks given as matrices have the sizes of LAYER when N positions are fed. */
enum attn_status attn_session_check_matrices(const struct attn_session *session, size_t layer,
                                             size_t n, struct attn_error *err);

/* Positions that one sequence may have. */
size_t attn_session_max_positions(const struct attn_forward *f);

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

/* As attn_session_create, for a session whose pass keeps_layer. */
enum attn_status attn_session_create_keeping(const struct attn_model *model,
                                             const struct attn_session_options *given,
                                             struct attn_session **session, struct attn_error *err);

/* The memory in bytes that creating it would take, with the same checks; allocates none. */
enum attn_status attn_session_measure(const struct attn_model *model,
                                      const struct attn_session_options *given, size_t *n_byte,
                                      struct attn_error *err);

/* As attn_session_feed_embeddings, but begins at LAYER, 0 .. n_layer, with its resid_pre X [n,
 * d_model], positions included; at n_layer only the output follows. The results have the bits of a
 * whole feed that had X there. ATTN_INVALID with dropout; not to be used with reads_once. */
enum attn_status attn_session_feed_layer(struct attn_session *session, int layer, const float *x,
                                         size_t n, struct attn_error *err);

/* The same, of the tokens IDS [n], which ATTN_POOLING_LAST looks at; NULL: none is the padding. */
enum attn_status attn_session_feed_layer_of(struct attn_session *session, int layer, const float *x,
                                            const int32_t *ids, size_t n, struct attn_error *err);

/* As attn_session_feed_embeddings, of the sequence ROWS: its embeddings X [n, d_embed], of pictures
 * with those of [CLS] and registers. The rest of what ROWS names is added. */
enum attn_status attn_session_feed_rows(struct attn_session *session,
                                        const struct attn_embedding_rows *rows, const float *x,
                                        struct attn_error *err);

/* In the last layer that feeds run, the trace needs only the positions FIRST .. END-1: it gets
 * others only if they are computed anyway. */
void attn_session_watch_rows(struct attn_session *session, size_t first, size_t end);

/* Counts rows as changed only if edit number FIRST of the session or a later one changes them. */
void attn_session_count_edits_from(struct attn_session *session, size_t first);

/* Detaches the trace: later feeds only compute predictions. */
void attn_session_end_trace(struct attn_session *session);

/* Rows (of one layer and head) that edits have changed so far, including unneeded ones. */
size_t attn_session_n_edited_row(const struct attn_session *session);

/* Whether edit number EDIT of the session has changed a value of sequence number SEQUENCE: so far,
 * or of several in the last feed. Values that are not computed do not count. */
bool attn_session_edit_has_effect(const struct attn_session *session, size_t sequence, size_t edit);

/* Whether tokens can be fed after a text with the attention of LAYERS; else ATTN_INVALID. Stage
 * ATTN_STAGE_OPTIONS. */
enum attn_status attn_session_check_next(const struct attn_attention *layers,
                                         const struct attn_config *config, struct attn_error *err);

/* --- several sequences (session_pack.c) ------------------------------------------------------- */

/* The input of a feed that begins in the middle: the stream into a layer, or also its z. */
struct attn_session_start {
    int layer;                 /* 0 .. n_layer; at n_layer only the output follows */
    const float *const *resid; /* [n] of each sequence its resid_pre [n, d_model], positions
                                  included */
    const float *const *z; /* [n] its z, as a capture has it [n_head, n, d_value]: the layer begins
                              with attn_out. NULL: begins with resid */
};

/* As attn_session_feed_layer: begins at START. The ids of the sequences are not used. */
enum attn_status attn_session_feed_from(struct attn_session *session,
                                        const struct attn_session_start *start,
                                        const struct attn_session_sequence *sequences, size_t n,
                                        struct attn_error *err);

/* The input of the output layer after N of the positions, counted as for attn_session_logits_at and
 * with its errors, copied into ROWS [n, rows of the output matrix]. */
enum attn_status attn_session_final_of(struct attn_session *session, const size_t *positions,
                                       size_t n, float *rows, struct attn_error *err);

/* Logits of N <= n_max such rows, of this session's feeds or another's, into LOGITS [n, n_vocab].
 * Edits of logits are not applied. */
enum attn_status attn_session_unembed(struct attn_session *session, const float *rows, size_t n,
                                      float *logits, struct attn_error *err);

/* Rows of sequence number SEQUENCE of the last feed that edits have changed. */
size_t attn_session_n_edited_row_of(const struct attn_session *session, size_t sequence);

/* Natural-log probability of token ID after the last position: logits[id] - ln sum exp(logits). */
enum attn_status attn_session_log_probability(struct attn_session *session, int32_t id,
                                              double *log_probability, struct attn_error *err);

#endif
