/*
 * outcome.h - what one of many inputs came to, as it is written (output/records.h).
 *
 *     struct attn_outcome outcome = {.number = 7, .n_token = 6, .labels = labels,
 *                                    .measures = measures};
 *     attn_records_write(records, &outcome, &err);
 *
 * run/outcome.h makes one of what attn_run_many tells of a record.
 */
#ifndef ATTN_OUTPUT_OUTCOME_H
#define ATTN_OUTPUT_OUTCOME_H

#include "analysis/edges.h"
#include "capture/capture.h"
#include "output/output.h"

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

#endif
