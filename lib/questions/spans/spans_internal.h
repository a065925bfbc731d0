/* spans_internal.h - the parts of `spans`: spans.c has the question and its table and hides
 * spans, spans_places.c finds them, spans_sums.c measures them. Private to spans*.c. */
#pragma once

#include "attribute/attribute_generated.h"
#include "frame/frame.h"
#include "frame/parts.h"
#include "spans/spans.h"

/* What is measured of a row, in the order of the columns. */
enum {
    ATTN_SPANS_SHARE,
    ATTN_SPANS_EVEN,
    ATTN_SPANS_LOOKBACK,
    ATTN_SPANS_FOCUS,
    ATTN_SPANS_COPIED,
    ATTN_SPANS_N_MEASURE
};

/* Rows after those of the spans: the tokens in no span, and the positions where weight is parked.
 */
enum { ATTN_SPANS_REST, ATTN_SPANS_PARKED, ATTN_SPANS_N_MORE };

/* The means of a head and a span over some rows. */
struct attn_span_sums {
    double sum[ATTN_SPANS_N_MEASURE];
    size_t n[ATTN_SPANS_N_MEASURE];
};

/* A named part of the text or of the source. */
struct attn_span {
    const char *name;
    struct attn_number_list spec;
    unsigned char *flags; /* [keys.n] owns; its tokens, without parked ones */
    size_t n_token, first, last;
    bool has_score; /* lies before the first query, or in the source */
};

/* What is measured of a span, in a head or in all of them. */
struct attn_span_numbers {
    struct attn_span_sums sums;
    double score, rank, best, change, largest, cut; /* NaN: none */
};

/* The tokens at which the heads look, and the row that is read. All arrays [n]. */
struct attn_span_keys {
    size_t n;
    unsigned char *rest;    /* tokens in no span, without parked ones */
    unsigned char *parked;  /* parked positions, which have their own row in the table */
    size_t n_parked;        /* their number */
    unsigned char *is_seen; /* keys that some row sees */
    float *row;
    unsigned char *visible; /* keys that the row sees */
};

struct attn_spans_run {
    struct attn_frame frame; /* `other` runs the text with its answer */
    const struct attn_spans_args *args;
    struct attn_generation made;        /* owns */
    const struct attn_run *run;         /* the run that is measured */
    struct attn_span *items;            /* [n_span] owns */
    const struct attn_span *gold;       /* the right one, which the item names; or NULL */
    size_t n_span, n, n_prompt;         /* n: tokens of the run; n_prompt: without the answer */
    bool is_of_source;                  /* the heads attend to the source, and spans are in it */
    bool has_queries;                   /* queries are given */
    struct attn_span_keys keys;         /* of the text, or of the source */
    struct attn_parks *parks[2];        /* own; of the text, or NULL: unknown; and unused */
    size_t *queries;                    /* [n_query] ascending */
    size_t n_query, n_step;             /* n_step: rows that are kept apart: n_query, or 1 */
    struct attn_parts heads;            /* owns */
    struct attn_span_sums *sums;        /* [heads.n, n_step, n_span + ATTN_SPANS_N_MORE] */
    struct attn_span_numbers *measured; /* [heads.n, n_span + ATTN_SPANS_N_MORE] or, by span,
                                           [n_span + ATTN_SPANS_N_MORE] */
    unsigned char *rows;                /* [n] rows that lose keys */
    double *weights; /* [heads.n, keys.n] mean weight of the queries, less that of the
                        neutral tokens */
    struct attn_answer answer;
};

/* Returns the sequence of RUN in which the keys are. */
static inline const struct attn_sequence *attn_spans_keys(const struct attn_spans_run *spans,
                                                          const struct attn_run *run)
{
    return spans->is_of_source ? attn_asked_source(run) : attn_asked_text(run);
}

/* Finds the tokens of each span in the source, or in the text without its answer. */
enum attn_status attn_spans_find(struct attn_spans_run *spans, struct attn_error *err);

/* Runs the text, and measures the rows of the queries. Sources have no parked positions. */
enum attn_status attn_spans_read(struct attn_spans_run *spans, struct attn_error *err);

/* Runs the neutral text, if there is one, and fills `measured` but for the effects. */
enum attn_status attn_spans_score(struct attn_spans_run *spans, struct attn_error *err);

/* Returns the mean of MEASURE; NaN without numbers. ATTN_SPANS_COPIED is a sum. */
double attn_spans_mean(const struct attn_span_sums *sums, int measure);
