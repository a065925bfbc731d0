/*
 * outcome.h - what one of many inputs came to, as it is written (records/records.h).
 *
 *     enum attn_status done(void *user, const struct attn_many_result *result,
 *                           struct attn_error *err)
 *     {
 *         const struct attn_outcome outcome = attn_outcome_of(result);
 *         return attn_records_write(user, &outcome, err);
 *     }
 */
#ifndef ATTN_RECORDS_OUTCOME_H
#define ATTN_RECORDS_OUTCOME_H

#include "analysis/edges.h"
#include "capture/capture.h"
#include "output/output.h"
#include "run/many.h"

/* What a record came to. Everything is borrowed until attn_records_write returns. */
struct attn_outcome {
    size_t number;  /* its place among all, from 0 */
    const char *id; /* [n_id] UTF-8, or the digits of an integer; NULL: its number */
    size_t n_id;
    bool has_text_id;                 /* the id is a text */
    const char *failure;              /* a code as "too_long"; NULL: it did not fail. Of one that
                                         failed all that is below is not looked at */
    const char *message;              /* and why */
    size_t n_token;                   /* its tokens */
    const struct attn_labels *labels; /* its tokens and what is selected */
    const float
        *measures; /* [n_measure, L, H] those of the form, in the order of enum attn_measure;
                              NaN where there is none. NULL: there are none */
    const double *surprisal; /* [n_token] nats, NaN where there is none; or NULL */
    const struct attn_predictions *predictions; /* or NULL */
    const struct attn_capture *capture;         /* the selected tensors, or NULL */
    const struct attn_edges *edges;             /* the largest keys of each query, or NULL */
};

/* What attn_run_many reports of a record. Borrows from RESULT. */
struct attn_outcome attn_outcome_of(const struct attn_many_result *result);

#endif
