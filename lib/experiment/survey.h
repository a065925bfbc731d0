/*
 * survey.h - what kind of head is it: where every head looks, as numbers, over one text or many.
 *
 *     struct attn_survey_args args = ATTN_SURVEY_ARGS_DEFAULT;
 *     args.has_probe = true;                                  // a repeated sequence of random ids
 *     struct attn_table *table;
 *     attn_survey(host, &request, &args, &table, &err);
 *
 * A row a head; analysis/ has the definitions of the measures:
 *
 *     layer, head, kv_head
 *     entropy (nats), entropy_norm, max, distance         how widely and how far it looks
 *     self, previous, first                               mean weight on these keys
 *     duplicate, induction                                mean weight on earlier places of the same
 *                                                         token; on what followed them
 *     far                                                 the largest weight on any other key
 *     n_duplicate, n_induction                            rows that had such a key
 *     punctuation, n_punctuation                          mean weight on punctuation; with
 *                                                         `measures` only, as are these:
 *     next                                                on the token after
 *     separator, n_separator                              on [SEP] and </s>
 *     type           that of previous, first, self, duplicate, induction whose score is the largest
 *                    and above the threshold; else missing
 *     mul, abs       with a pattern P of one's own: sum A P / sum A, and 1 - sum |A - P| / T
 *     weight, percentile     with from and to: mean over the rows of `from` of the weight on the
 *                    columns of `to`; the share of all pairs of a word and an earlier word whose
 *                    weight in this head is smaller. In layers that attend to a source `to` is of
 *                    the source, and the pairs are of a word of the text and one of the source
 *     change         change of the metric when the head's z is zero (experiment/ablate.h)
 *
 * Over many texts each counts once: every measure is a mean, with the columns NAME_sd and `texts`;
 * rows that had a key are added up. These columns are there with `texts` and `n_probe`, of one text
 * too; NAME_sd is then missing.
 */
#ifndef ATTN_EXPERIMENT_SURVEY_H
#define ATTN_EXPERIMENT_SURVEY_H

#include "analysis/measure.h"
#include "base/table.h"
#include "formats/ndarray.h"
#include "run/answer.h"
#include "run/run.h"

struct attn_study_args; /* experiment/study.h */

struct attn_survey_args {
    size_t size;                    /* of this struct */
    const struct attn_input *texts; /* [n_text] instead of the request's input; or NULL */
    size_t n_text;
    bool has_probe;       /* instead of texts: ids drawn without replacement, special tokens left
                             out, and repeated */
    size_t probe_length;  /* of what is repeated; 0: min(50, n_ctx / 2) */
    size_t probe_repeats; /* 0: 2 */
    uint64_t probe_seed;
    size_t n_probe; /* probes, of this seed and those after it; 0: one, without NAME_sd */
    attn_measure_set
        measures;     /* ATTN_MEASURE_BIT of those that are shown; 0: ATTN_MEASURES_DEFAULT */
    double threshold; /* of a type; 0: 0.5 */
    const struct attn_ndarray *pattern; /* [T, T] P; or NULL */
    const char *from, *to;              /* positions, by number or word; or NULL both */
    bool has_effect;
    struct attn_answer_args answer;      /* what the effect is measured by */
    const char *sort;                    /* as in tables/table_order.h; NULL: by layer and head */
    size_t n_most;                       /* rows; 0: all */
    const struct attn_study_args *study; /* items instead of all inputs; or NULL */
};

#define ATTN_SURVEY_ARGS_DEFAULT                                                                   \
    ((struct attn_survey_args){.size = sizeof(struct attn_survey_args)})

/* Surveys the input of REQUEST, or texts or probes instead of it, in memory that does not grow with
 * their number. ARGS may be NULL; the caller owns *table. Errors have a stage. */
ATTN_API enum attn_status attn_survey(struct attn_host *host, const struct attn_request *request,
                                      const struct attn_survey_args *args,
                                      struct attn_table **table, struct attn_error *err);

#endif
