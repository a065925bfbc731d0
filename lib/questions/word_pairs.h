/*
 * word_pairs.h - the weight from some words to others in each head, and its percentile among all
 * pairs of words. Private to lib/questions.
 *
 *     attn_word_pairs_create(run, &from, &to, &pairs, &err);
 *     attn_word_pairs_add(pairs, event);          // every event of a pattern, of one pass
 *     attn_word_pairs_count(pairs, event);        // the same events, of a second pass
 *     attn_word_pairs_find(pairs, layer, head, &weight, &percentile);
 *     attn_word_pairs_free(pairs);
 *
 * The columns of a word are summed, its rows are averaged. A pattern is read row by row, so that
 * memory is one row of words per head, not a matrix. Pairs are therefore counted in a second pass,
 * when the weight is known.
 */
#ifndef ATTN_QUESTIONS_WORD_PAIRS_H
#define ATTN_QUESTIONS_WORD_PAIRS_H

#include "run/run_internal.h"
#include "trace/trace.h"

struct attn_word_pairs;

/* FROM and TO are positions; in layers that attend to a source, TO is in the source. RUN is
 * borrowed during the call, its model until the pairs are freed. ATTN_INVALID, with a stage, for
 * words that are not in the text. */
enum attn_status attn_word_pairs_create(const struct attn_run *run,
                                        const struct attn_number_list *from,
                                        const struct attn_number_list *to,
                                        struct attn_word_pairs **pairs, struct attn_error *err);
void attn_word_pairs_free(struct attn_word_pairs *pairs); /* NULL is allowed */

/* In both passes, the rows of a head must come in ascending order. */
void attn_word_pairs_add(struct attn_word_pairs *pairs, const struct attn_trace_event *event);
void attn_word_pairs_count(struct attn_word_pairs *pairs, const struct attn_trace_event *event);

/* Sets *weight to the weight on the columns of TO, averaged over the rows of FROM. Sets *percentile
 * to the share of pairs with a smaller weight, among all pairs of a word and an earlier word (or a
 * word of the source). Both are NaN if the keys of the head do not include TO. */
void attn_word_pairs_find(const struct attn_word_pairs *pairs, const struct attn_location *at,
                          double *weight, double *percentile);

#endif
