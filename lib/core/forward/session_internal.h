/* session_internal.h - the fields of a session and the steps of a feed. Also declarations about
 * several sequences that only the library uses. */
#pragma once

#include "base/memory.h"
#include "forward/forward_internal.h"
#include "forward/session.h"
#include "forward/session_extra.h"
#include "forward/session_pack.h"
#include "model/embedding.h"

struct attn_session {
    struct attn_forward forward; /* borrows the fields below */
    struct attn_edit *edits;     /* owns; [n_edit] */
    size_t n_edit;
    atomic_bool *has_effect; /* owns; flags for the edits of all sequences, one sequence after the
                                other; NULL without edits */
    size_t effect_capacity;
    size_t n_uncounted; /* number of its edits that are not counted (struct attn_edit_target) */
    struct attn_attention *attention; /* owns; [n_layer] */
    bool *has_own_stride;             /* owns; [n_layer] */
    struct attn_arena arena;          /* owns the buffers of `forward` */
    size_t n_position;                /* positions fed so far, over all sequences */
    bool keeps_layer;                 /* forward.keeps_layer */
    bool is_broken;                   /* a feed failed: the session must be reset */
    bool has_last_logits;             /* forward.last_logits are those of the last position */
};

/* Checks that EDITS can be applied to layers with ATTENTION [n_layer] in a model with sizes DIMS.
 * They are refused for matrices that are computed separately from z, where they would have no
 * effect. */
enum attn_status attn_session_check_edits(const struct attn_attention *attention,
                                          const struct attn_dims *dims,
                                          const struct attn_edit *edits, size_t n_edit,
                                          struct attn_error *err);

/* Checks that the masks of LAYER that are matrices have the sizes for N positions. */
enum attn_status attn_session_check_matrices(const struct attn_session *session, size_t layer,
                                             size_t n, struct attn_error *err);

size_t attn_session_max_positions(const struct attn_forward *f);

/* These check that a feed can begin at LAYER; that N more positions can be fed to the layers from
 * FIRST on; and that there are logits. */
enum attn_status attn_session_check_layer(const struct attn_forward *f, int layer,
                                          struct attn_error *err);
enum attn_status attn_session_check_feed(const struct attn_session *session, size_t first, size_t n,
                                         struct attn_error *err);
enum attn_status attn_session_check_logits(const struct attn_session *session,
                                           struct attn_error *err);

/* Checks that position ROW, counted over everything fed, has logits: the last layer computed it. */
enum attn_status attn_session_check_position(const struct attn_session *session, size_t row,
                                             struct attn_error *err);

/* Writes the embeddings of N tokens to X. */
void attn_session_gather(const struct attn_forward *f, const int32_t *ids, size_t n, float *x);

/* Makes later feeds add the rows ADDED, borrowed, to the outputs of layers. */
void attn_session_add_rows(struct attn_session *session, struct attn_added_rows added);

/* The first returns the sites that a feed that begins in a middle layer needs of a whole run,
 * besides resid_pre: what layers leave to others than the next. The second makes later feeds take
 * them from WHOLE, borrowed, a capture of a run of the same sequence, and of the same edits; NULL:
 * such a feed is refused unless it needs none. */
struct attn_site_set attn_session_left_sites(const struct attn_config *config);
void attn_session_take_left(struct attn_session *session, const struct attn_capture *whole);

/* Rows of numbers that a caller gives. */
struct attn_given_rows {
    const char *name, *what; /* what messages call them: their file, or if that is NULL, WHAT */
    const float *x;          /* [n, n_col] */
    size_t n, n_col;
};

/* Checks that ROWS are finite. */
enum attn_status attn_session_check_rows(const struct attn_forward *f,
                                         const struct attn_given_rows *rows,
                                         struct attn_error *err);

/* Begins a feed of N positions of one sequence, whose other parts the caller sets. */
void attn_session_begin_feed(struct attn_session *session, size_t n, struct attn_error *err);

/* Runs the feed that has begun. The embeddings are in resid. */
enum attn_status attn_session_run_feed(struct attn_session *session);

/* Creates a session like attn_session_create, but with keeps_layer set. */
enum attn_status attn_session_create_keeping(const struct attn_model *model,
                                             const struct attn_session_options *given,
                                             struct attn_session **session, struct attn_error *err);

/* Sets *n_byte to the memory that creating the session would take, after the same checks. Allocates
 * no buffers. */
enum attn_status attn_session_measure(const struct attn_model *model,
                                      const struct attn_session_options *given, size_t *n_byte,
                                      struct attn_error *err);

/* Feeds the embeddings X [n, d_embed] of the sequence ROWS, like attn_session_feed_embeddings; for
 * pictures X includes [CLS] and registers. The types and positions of ROWS are added. */
enum attn_status attn_session_feed_rows(struct attn_session *session,
                                        const struct attn_embedding_rows *rows, const float *x,
                                        struct attn_error *err);

/* --- inputs other than token ids -------------------------------------------------------------- */

/* Sets the source of the layers with cross-attention: X [n, d_source], copied. Learned positions of
 * a source are added. Keys and values are projected once, during the next feed. Returns
 * ATTN_INVALID if something was fed before (reset first), for more rows than options.n_source, for
 * rows that are not finite, and for a model without cross-attention. */
enum attn_status attn_session_set_source(struct attn_session *session, const float *x, size_t n,
                                         struct attn_error *err);

/* Feeds tokens like attn_session_feed, with their TYPES [n], 0 to n_type-1, for encoders of two
 * texts; NULL: all are 0. Returns ATTN_INVALID also for other types, and for a model without types.
 */
enum attn_status attn_session_feed_types(struct attn_session *session, const int32_t *ids,
                                         const int32_t *types, size_t n, struct attn_error *err);

/* Feeds embeddings X [n, d_embed] instead of tokens, otherwise like attn_session_feed; learned
 * positions are still added. Returns ATTN_INVALID also for rows that are not finite; and instead of
 * ATTN_FORMAT if the weights are finite and options.embeddings_name or options.source_name is set,
 * to name it. */
enum attn_status attn_session_feed_embeddings(struct attn_session *session, const float *x,
                                              size_t n, struct attn_error *err);

/* ------------------------------------------------------------------------------------------------
 */

/* Restricts what the trace needs in the last layer to positions FIRST to END-1: other positions are
 * emitted only if they are computed anyway. */
void attn_session_watch_rows(struct attn_session *session, size_t first, size_t end);

/* Counts rows as changed only if edit number FIRST of the session, or a later one, changed them. */
void attn_session_count_edits_from(struct attn_session *session, size_t first);

/* Makes the feeds of SESSION report PROGRESS. */
void attn_session_report(struct attn_session *session, const struct attn_feed_progress *progress);

/* Detaches the trace: later feeds only compute predictions. */
void attn_session_end_trace(struct attn_session *session);

/* Returns the number of rows (each of one layer and head) that edits have changed so far, including
 * rows that are not needed. */
size_t attn_session_n_edited_row(const struct attn_session *session);

/* Whether edit number EDIT has changed a value of sequence number SEQUENCE: so far, or for several
 * sequences in the last feed. Values that are not computed do not count. */
bool attn_session_edit_has_effect(const struct attn_session *session, size_t sequence, size_t edit);

/* --- several sequences (session_pack.c) ------------------------------------------------------- */

/* The input of a feed that starts in the middle: the stream into a layer, or also its z. */
struct attn_session_start {
    struct attn_location at; /* a layer, or attn_dims_end: only the output follows */
    const float *const
        *resid; /* [n] the resid_pre [n, d_model] of each sequence, positions included */
    const float *const
        *z; /* [n] the z of each sequence in the layout of a capture, [n_head, n, d_value]: the
               layer starts with attn_out. NULL: it starts with resid */
};

/* Feeds N sequences from START on, like attn_session_feed_layer. The ids of the sequences are not
 * used. */
enum attn_status attn_session_feed_from(struct attn_session *session,
                                        const struct attn_session_start *start,
                                        const struct attn_session_sequence *sequences, size_t n,
                                        struct attn_error *err);

/* Copies the inputs of the output layer after N positions, counted and checked as by
 * attn_session_logits_at, to ROWS [n, rows of the output matrix]. */
enum attn_status attn_session_final_of(struct attn_session *session, const size_t *positions,
                                       size_t n, float *rows, struct attn_error *err);

/* Computes the logits of N <= n_max such rows, of this or another session, into LOGITS [n,
 * n_vocab]. Edits of logits are not applied. */
enum attn_status attn_session_unembed(struct attn_session *session, const float *rows, size_t n,
                                      float *logits, struct attn_error *err);

/* Returns how many rows of sequence number SEQUENCE of the last feed edits have changed. */
size_t attn_session_n_edited_row_of(const struct attn_session *session, size_t sequence);
