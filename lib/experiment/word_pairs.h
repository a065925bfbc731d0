/*
 * word_pairs.h - the weight from some words to others in each head, and its percentile among all
 * pairs of words. For the files of this layer.
 *
 *     attn_word_pairs_create(run, "it", "chicken", &pairs, &err);
 *     attn_word_pairs_add(pairs, event);          // every event of a pattern, of one pass
 *     attn_word_pairs_count(pairs, event);        // the same events, of a second pass
 *     attn_word_pairs_find(pairs, layer, head, &weight, &percentile);
 *     attn_word_pairs_free(pairs);
 *
 * Columns of a word are summed, rows averaged. A pattern is read row by row, so that memory is one
 * row of words per head, not a matrix. So the pairs are counted in a second pass, when the weight
 * is known.
 */
#ifndef ATTN_EXPERIMENT_WORD_PAIRS_H
#define ATTN_EXPERIMENT_WORD_PAIRS_H

#include "run/run_internal.h"
#include "trace/trace.h"

struct attn_word_pairs;

/* FROM and TO are lists of positions or words (run/request.h); in layers that attend to a source TO
 * is in the source. RUN is borrowed during the call, its model until the pairs are freed.
 * ATTN_INVALID, with a stage, for words that are not in the text. */
enum attn_status attn_word_pairs_create(const struct attn_run *run, const char *from,
                                        const char *to, struct attn_word_pairs **pairs,
                                        struct attn_error *err);
void attn_word_pairs_free(struct attn_word_pairs *pairs); /* NULL is allowed */

/* Rows of a head come in their order, in both passes. */
void attn_word_pairs_add(struct attn_word_pairs *pairs, const struct attn_trace_event *event);
void attn_word_pairs_count(struct attn_word_pairs *pairs, const struct attn_trace_event *event);

/* Sets *weight to the mean over the rows of FROM of the weight on the columns of TO, and
 * *percentile to the share of all pairs of a word and an earlier word, or a word of the source,
 * with a smaller weight. Both are NaN if the keys of the head have no TO. */
void attn_word_pairs_find(const struct attn_word_pairs *pairs, int layer, int head, double *weight,
                          double *percentile);

#endif
