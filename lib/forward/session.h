/*
 * session.h - one sequence on its way through a model; several at once: session_pack.h.
 *
 *     struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
 *     options.n_max = n;                       // all memory is planned now: a feed cannot run out
 *     options.trace = &trace;
 *     attn_session_create(model, &options, &session, &err);
 *     attn_session_feed(session, ids, n, &err);         // the trace is called during this
 *     attn_session_free(session);
 *
 * Results depend on the model, the tokens so far and the options that change results (edits,
 * attention, source, needs_float32), and not on how the tokens are split into feeds, on sequences
 * that are fed together, on threads, instruction sets, or watched sites. In bfloat16 they do depend
 * on the processor, and so on the options gemm and isa.
 */
#ifndef ATTN_FORWARD_SESSION_H
#define ATTN_FORWARD_SESSION_H

#include "base/pool.h"
#include "kernels/gemm.h"
#include "kernels/isa.h"
#include "model/model.h"
#include "trace/edit.h"
#include "trace/trace.h"

#include <signal.h>
#include <stdint.h>

struct attn_session;

/* Which keys and values stay in the KV cache after a feed. */
enum attn_cache {
    ATTN_CACHE_ALL_LAYERS = 0, /* a sequence may be fed in several steps */
    ATTN_CACHE_ONE_LAYER = 1,  /* one feed, then _reset: the memory of one layer instead of all */
};

struct attn_session_options {
    size_t size;     /* of this struct */
    size_t n_max;    /* largest number of positions, 1 .. n_ctx; of several sequences: no limit */
    size_t n_source; /* largest number of rows of a source; 0: none will be set */
    enum attn_cache cache;
    bool has_logits;                /* attn_session_logits will be called */
    bool reads_once;                /* there will be one feed: mapped weights are read from their
                                       file, in half the time of mapping them; speed only */
    struct attn_pool *pool;         /* borrowed; NULL: the caller's thread alone */
    const struct attn_trace *trace; /* borrowed; NULL: no tensor is watched. Only wanted tensors,
                                       and those for has_logits, are computed */
    const struct attn_edit *edits;  /* [n_edit], copied (their data borrowed) */
    size_t n_edit;
    const struct attn_attention *attention; /* [n_layer], copied; NULL: the model's own */
    const volatile sig_atomic_t *cancel;    /* borrowed; polled between layers and row blocks; not
                                               0: the feed ends with ATTN_CANCELED */
    bool needs_float32;          /* multiply in float32, whatever the model was opened for */
    enum attn_gemm gemm;         /* in float32 speed only */
    enum attn_isa isa;           /* the best that may be used; in float32 speed only */
    const char *embeddings_name; /* borrowed; the files of embeddings and source, which messages */
    const char *source_name;     /* name when numbers are not finite or too large; or NULL */
    size_t n_sequence; /* at once, at most (session_pack.h), with ATTN_CACHE_ONE_LAYER; 0: 1 */
    size_t n_feed;     /* positions of one feed, at most: memory of rows on their way; 0: n_max */
    const int32_t *key_mask; /* [n_key_mask] borrowed; of encoders: 1 for each token, 0 where it is
                                masked. Sequences without a separate mask have this length */
    size_t n_key_mask;
    const int32_t *source_mask; /* [n_source_mask] the same for each row of a source */
    size_t n_source_mask;
    bool has_projections; /* attn_session_projections will be called: sequences are fed whole */
};

#define ATTN_SESSION_OPTIONS_DEFAULT                                                               \
    ((struct attn_session_options){.size = sizeof(struct attn_session_options),                    \
                                   .isa = ATTN_ISA_BEST})

/* Allocates everything. ATTN_INVALID for lengths, edits or a trace that do not fit the model. */
ATTN_API enum attn_status attn_session_create(const struct attn_model *model,
                                              const struct attn_session_options *options,
                                              struct attn_session **session,
                                              struct attn_error *err);

ATTN_API void attn_session_free(struct attn_session *session); /* NULL is allowed */

/* Sets the source of the layers with cross-attention: X [n, d_source], copied. Learned positions of
 * a source are added. Keys and values are projected once, during the next feed. ATTN_INVALID once
 * something was fed (reset first), for more rows than options.n_source, for rows that are not
 * finite, and for a model without such layers. */
ATTN_API enum attn_status attn_session_set_source(struct attn_session *session, const float *x,
                                                  size_t n, struct attn_error *err);

/* Appends N tokens (N >= 1) and runs the model over them; an encoder takes all tokens in one feed.
 * ATTN_INVALID for an id outside 0..n_vocab-1 or too many positions: nothing has changed then.
 * ATTN_FORMAT if a weight, or a value computed from weights, is not finite (a trace gets only
 * finite ones); ATTN_CANCELED; or the status that the trace returned: reset the session then. */
ATTN_API enum attn_status attn_session_feed(struct attn_session *session, const int32_t *ids,
                                            size_t n, struct attn_error *err);

/* The same, with the types [n] of the tokens, 0 .. n_type-1, which encoders of two texts have;
 * NULL: all are 0. ATTN_INVALID also for another type, and for a model without types. */
ATTN_API enum attn_status attn_session_feed_types(struct attn_session *session, const int32_t *ids,
                                                  const int32_t *types, size_t n,
                                                  struct attn_error *err);

/* The same from embeddings x [n, d_embed] instead of tokens; learned positions are still added.
 * ATTN_INVALID also for rows that are not finite, and instead of ATTN_FORMAT when the weights are
 * finite and options.embeddings_name or options.source_name can be named. */
ATTN_API enum attn_status attn_session_feed_embeddings(struct attn_session *session, const float *x,
                                                       size_t n, struct attn_error *err);

/* The same from a picture: PIXELS [n_channel, height, width] from the model's preprocessor, cut
 * into patches after [CLS] and registers: attn_model_image_grid returns the number of positions,
 * all in one feed. ATTN_INVALID also for sizes that it refuses, and for numbers that are not
 * finite. */
ATTN_API enum attn_status attn_session_feed_pixels(struct attn_session *session,
                                                   const float *pixels, size_t height, size_t width,
                                                   struct attn_error *err);

/* Logits [n_vocab] after the last position, unscaled; for an image classifier, of the picture.
 * Computed on the first call after a feed or a rewind, borrowed until the next one of these.
 * ATTN_INVALID without has_logits or before any feed. */
ATTN_API enum attn_status attn_session_logits(struct attn_session *session, const float **logits,
                                              struct attn_error *err);

/* Logits after the positions FIRST .. FIRST+N-1 into LOGITS [N, n_vocab], computed anew; an image
 * classifier has one row, number 0. ATTN_INVALID without has_logits, and for positions that were
 * not fed or, with ATTN_CACHE_ONE_LAYER, that are neither watched nor last. */
ATTN_API enum attn_status attn_session_logits_at(struct attn_session *session, size_t first,
                                                 size_t n, float *logits, struct attn_error *err);

/* Positions fed so far. */
ATTN_API size_t attn_session_n_position(const struct attn_session *session);

/* Forgets all but the first N positions (0 <= n <= n_position); the source stays. Needs
 * ATTN_CACHE_ALL_LAYERS unless n is 0. */
ATTN_API enum attn_status attn_session_rewind(struct attn_session *session, size_t n,
                                              struct attn_error *err);

/* Forgets all positions, keeps the source and the memory; also after a failed or canceled feed. */
ATTN_API void attn_session_reset(struct attn_session *session);

#endif
