/*
 * logit_rows.h - logits after many positions. A row is as wide as the vocabulary, so only some rows
 * are in memory at a time, and each read of the output matrix serves all of these. For the files of
 * this layer and above.
 *
 *     struct attn_logit_rows rows = {.session = session, .end = n};
 *     while (attn_logit_rows_next(&rows, err))
 *         ... rows.logits [rows.n, n_vocab], after position rows.first and the next ones ...
 *     status = attn_logit_rows_end(&rows);
 */
#pragma once

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct attn_session;   /* forward/session.h */
struct attn_selection; /* trace/selection.h */

enum { ATTN_LOGIT_BYTES = 16 << 20 };

/* Returns how many of N rows are computed at a time: as many as fit ATTN_LOGIT_BYTES, or one. */
static inline size_t attn_logit_rows_at_once(size_t n_vocab, size_t n)
{
    const size_t n_fit = n_vocab > 0 ? ATTN_LOGIT_BYTES / sizeof(float) / n_vocab : n;
    const size_t n_most = n_fit > 0 ? n_fit : 1;

    return n_most < n ? n_most : n;
}

/* The state of reading logits after the positions FIRST to END-1. Initialize the fields up to
 * `n_most`, and zero the others. */
struct attn_logit_rows {
    struct attn_session *session; /* borrowed */
    /* Restricts positions to its queries; NULL: all. Borrowed. */
    const struct attn_selection *selection;
    size_t first, end;       /* first: the position of the first row in `logits` */
    size_t n_most;           /* maximum number of rows at a time; 0: attn_logit_rows_at_once */
    size_t n;                /* rows in `logits` */
    float *logits;           /* [n, n_vocab] owns */
    enum attn_status status; /* the caller may set it to a failure, to end the loop */
};

/* Computes logits after the next adjacent positions, like attn_session_logits_at. Returns false
 * after the last one, and after a failure. */
bool attn_logit_rows_next(struct attn_logit_rows *rows, struct attn_error *err);

/* Frees the rows. Returns the status of the loop. */
enum attn_status attn_logit_rows_end(struct attn_logit_rows *rows);
