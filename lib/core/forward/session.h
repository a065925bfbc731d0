/*
 * session.h - feeds one sequence to a model; for several at once see session_pack.h.
 *
 *     struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
 *     options.n_max = n;         // all memory is allocated now: a feed cannot run out
 *     options.trace = &trace;
 *     attn_session_create(model, &options, &session, &err);
 *     attn_session_feed(session, ids, n, &err);  // calls the trace
 *     attn_session_free(session);
 *
 * Results depend on the model, the tokens so far, and the options that change results (edits,
 * attention, source, needs_float32). They do not depend on how tokens are split into feeds, on
 * sequences that are fed together, on threads, instruction sets, or watched sites. In bfloat16 they
 * do depend on the processor, and so on the options gemm and isa.
 */
#ifndef ATTN_FORWARD_SESSION_H
#define ATTN_FORWARD_SESSION_H

#include "kernels/gemm.h"
#include "model/model.h"
#include "trace/edit.h"
#include "trace/trace.h"

#include <signal.h>
#include <stdint.h>

struct attn_session;

/* Which keys and values the KV cache keeps after a feed. */
enum attn_cache {
    ATTN_CACHE_ALL_LAYERS = 0, /* those of all layers: a sequence may be fed in several steps */
    /* Those of one layer, which needs less memory: one feed, then attn_session_reset. */
    ATTN_CACHE_ONE_LAYER = 1,
};

/* The numbers by which rotary positions turn. */
struct attn_position_numbers {
    const int32_t
        *numbers; /* [3, n] for positions 0 to n-1; NULL: each has its own number, 0, 1, ...
                   */
    size_t n;
    int32_t next; /* number of position n; later ones count on */
};

struct attn_session_options {
    size_t size;  /* of this struct */
    size_t n_max; /* maximum number of positions, 1 to n_ctx; for several sequences not limited by
                     n_ctx */
    size_t n_source; /* maximum number of rows of a source; 0: there will be no source */
    enum attn_cache cache;
    bool has_logits; /* attn_session_logits will be called */
    bool reads_once; /* speed only: there will be one feed, so weights are read from their file,
                        which takes half the time of mapping them */
    struct attn_pool *pool;         /* borrowed; NULL: the caller's thread alone */
    const struct attn_trace *trace; /* borrowed; NULL: no tensor is watched. Only watched tensors,
                                       and those needed for has_logits, are computed */
    const struct attn_edit *edits;  /* [n_edit], copied; their data is borrowed */
    size_t n_edit;
    const struct attn_attention *attention; /* [n_layer], copied; NULL: the model's own */
    const volatile sig_atomic_t *cancel; /* borrowed; polled between layers and row blocks; if it is
                                            not 0, the feed ends with ATTN_CANCELED */
    bool needs_float32;  /* multiply in float32, even if the model was opened for bfloat16 */
    enum attn_gemm gemm; /* in float32 speed only */
    enum attn_isa isa;   /* the best instruction set to use; in float32 speed only */
    const char *embeddings_name; /* borrowed; the file of the embeddings; messages name it */
    /* If numbers are not finite or too large; the same for the source; or NULL. */
    const char *source_name;
    size_t n_sequence; /* maximum number of sequences at once (session_pack.h), with
                          ATTN_CACHE_ONE_LAYER; 0: 1 */
    size_t n_feed; /* maximum number of positions of one feed, which limits the memory for rows; 0:
                      n_max */
    const int32_t *key_mask; /* [n_key_mask] borrowed; for encoders: 1 keeps a token, 0 masks it.
                                Sequences without a separate mask have this length */
    size_t n_key_mask;
    const int32_t *source_mask; /* [n_source_mask] the same for each row of a source */
    size_t n_source_mask;
    bool has_projections; /* attn_session_projections will be called: sequences are fed whole */
    struct attn_position_numbers positions; /* borrowed; for a single sequence */
};

/* Sets OPTIONS [size bytes] to the defaults, and returns it. */
ATTN_API struct attn_session_options *
attn_session_options_init(struct attn_session_options *options, size_t size);
#define ATTN_SESSION_OPTIONS_DEFAULT ATTN_DEFAULT_OF(attn_session_options)

/* Creates a session and allocates all its memory. Returns ATTN_INVALID for lengths, edits or a
 * trace that do not fit the model. */
ATTN_API enum attn_status attn_session_create(const struct attn_model *model,
                                              const struct attn_session_options *options,
                                              struct attn_session **session,
                                              struct attn_error *err);

ATTN_API void attn_session_free(struct attn_session *session); /* NULL is allowed */

/* Appends N >= 1 tokens and runs the model over them; an encoder needs all tokens in one feed.
 * Returns ATTN_INVALID for an id outside 0 to n_vocab-1 or too many positions; the session is then
 * unchanged. Otherwise returns, and then the session must be reset: ATTN_FORMAT if a weight, or a
 * value computed from weights, is not finite (a trace only gets finite values); ATTN_CANCELED; or
 * the status that the trace returned. */
ATTN_API enum attn_status attn_session_feed(struct attn_session *session, const int32_t *ids,
                                            size_t n, struct attn_error *err);

/* Sets *logits [n_vocab] to the raw logits after the last position; for an image classifier, of the
 * picture. They are computed on the first call after a feed or a rewind, and borrowed until the
 * next one of these. Returns ATTN_INVALID without has_logits or before any feed. */
ATTN_API enum attn_status attn_session_logits(struct attn_session *session, const float **logits,
                                              struct attn_error *err);

/* Computes logits after the positions FIRST to FIRST+N-1 into LOGITS [N, n_vocab]; an image
 * classifier has one row, number 0. Returns ATTN_INVALID without has_logits, and for positions that
 * were not fed or, with ATTN_CACHE_ONE_LAYER, that are neither watched nor the last. */
ATTN_API enum attn_status attn_session_logits_at(struct attn_session *session, size_t first,
                                                 size_t n, float *logits, struct attn_error *err);

/* Returns the number of positions fed so far. */
ATTN_API size_t attn_session_n_position(const struct attn_session *session);

/* Removes all but the first N positions (0 <= n <= n_position); the source stays. Needs
 * ATTN_CACHE_ALL_LAYERS unless n is 0. */
ATTN_API enum attn_status attn_session_rewind(struct attn_session *session, size_t n,
                                              struct attn_error *err);

/* Removes all positions, and keeps the source and the memory. Also for use after a failed or
 * canceled feed. */
ATTN_API void attn_session_reset(struct attn_session *session);

#endif
