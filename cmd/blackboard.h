/*
 * blackboard.h - the page of run --explain: one row of one head in three steps, each a table with a
 * line for every key that counts.
 *
 *     1. q.k, product by product        2. the softmax        3. the weighted sum of values
 *
 * What is too long is left out in the middle, but its sum is not: the numbers that are shown add up.
 */
#ifndef CMD_BLACKBOARD_H
#define CMD_BLACKBOARD_H

#include "columns.h"
#include "explain.h"

struct blackboard {
    const struct explain_subject *subject;
    const struct attn_config *config;
    const struct attn_attention *attention; /* of the layer */
    const struct explained *row;
    struct attn_sink *out;
    struct columns columns;
    size_t heaviest; /* the cell with the largest score */
    int n_step;      /* printed so far */
    bool is_cross;
    int code; /* the first failure */
};

/* Prints the page. Reports and returns an exit code. */
int blackboard_print(const struct explain_subject *subject, const struct explained *row,
                     struct attn_sink *out);

/* The three steps, for a row with at least one cell (blackboard_steps.c). */
void blackboard_print_scores(struct blackboard *page);
void blackboard_print_weights(struct blackboard *page);
void blackboard_print_context(struct blackboard *page);

/* The token of KEY, printable, without the blanks around it; free with attn_text_free. NULL when
 * there is none. */
char *blackboard_key_token(struct blackboard *page, size_t key);

/* One thing of many, or those between two that are shown: first .. last - 1. */
struct slot {
    size_t first, last;
    bool is_gap;
};

/* The slot that begins with thing FIRST of N, of which LIMIT are shown and, if there is one, thing
 * EXTRA. */
struct slot blackboard_slot(size_t first, size_t n, size_t limit, size_t extra);

#endif
