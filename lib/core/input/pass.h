/*
 * pass.h - one forward pass of an input through a model: creates its session, sets its source and
 * feeds it.
 *
 *     struct attn_pass pass = {.model = model, .text = &text, .options = options};
 *     attn_pass_run(&pass, &session, &err);
 *
 * Invalid options of a session have the stage ATTN_STAGE_OPTIONS, an invalid text or source
 * ATTN_STAGE_INPUT, and other errors ATTN_STAGE_MODEL.
 */
#pragma once

#include "forward/session_internal.h"
#include "input/sequence.h"

/* All pointers are borrowed. */
struct attn_pass {
    const struct attn_model *model;
    const struct attn_sequence *text;
    const struct attn_sequence *source; /* its rows are the source, if it has some; or NULL */
    bool is_early; /* the rows of text or source were not made yet (before.h): it is refused */
    struct attn_session_options options; /* with trace and edits */
    size_t n_uncounted; /* number of edits, from the first on, whose changed rows are not counted */
    struct attn_feed_progress progress;
    size_t n_piece; /* positions per feed, if attention supports it, to bound memory; 0: all */
    const float *embeddings;         /* [T, De] fed instead of those of the text; or NULL */
    struct attn_embedding_rows rows; /* describes `embeddings` */
    struct attn_added_rows added;    /* instead of those of the text */
    const float *resid; /* [T, D] resid_pre of the layer of `at`, which is the first; or NULL */
    struct attn_location at;
    const struct attn_capture *whole; /* with `resid`: see attn_session_take_left */
};

/* Creates a session, which the caller owns, and sets its source. */
enum attn_status attn_pass_start(const struct attn_pass *pass, struct attn_session **session,
                                 struct attn_error *err);

/* Feeds the text of PASS to SESSION. */
enum attn_status attn_pass_feed(const struct attn_pass *pass, struct attn_session *session,
                                struct attn_error *err);

/* Both of them. SESSION may be NULL: the session is freed. */
enum attn_status attn_pass_run(const struct attn_pass *pass, struct attn_session **session,
                               struct attn_error *err);
