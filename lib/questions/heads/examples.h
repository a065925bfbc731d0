/*
 * examples.h - what a head does on a corpus: the texts on which it looks most strongly, and texts
 * from each part of the distribution below them.
 *
 *     struct attn_examples_args args = ATTN_EXAMPLES_ARGS_DEFAULT;
 *     args.study = &study;                                   // means/study.h
 *     request.selection.heads = "2.5,3.*";
 *     attn_examples(host, &request, &args, &table, &err);
 *
 * Each row of a text has a value by a measure. The value of the text is that of its largest row, or
 * the mean over its rows. For each head the texts are sorted by their values and cut into bins, of
 * which the last has the largest values. The table has rows for some texts of each bin. A row names
 * the query with the largest value, the first of equal ones, and its key with the largest weight.
 *
 * In the last bin the texts with the largest values are shown, in each other bin texts at equal
 * distances. The items are read twice, and run once, or with `keeps_rows` those that are shown
 * twice: 32 bytes for each text and head are kept between. The heads of an encoder beside a decoder
 * are left out.
 */
#ifndef ATTN_HEADS_EXAMPLES_H
#define ATTN_HEADS_EXAMPLES_H

#include "run/run.h"
#include "tables/table.h"

struct attn_study_args; /* means/study.h */

/* How the values of the rows of a text make the value of the text. */
enum attn_examples_over { ATTN_EXAMPLES_MAX = 0, ATTN_EXAMPLES_MEAN = 1 };

struct attn_examples_args {
    size_t size; /* size of this struct */
    /* "weight", the largest weight on a key that is neither the first nor the query itself, without
     * the first row; or a measure (measures/measure.h), except for counts; NULL: "weight" */
    const char *measure;
    enum attn_examples_over over;
    size_t n_bin; /* number of bins; 0: 10 */
    size_t n_top; /* texts shown of each bin; 0: 3 */
    /* keeps the weights of the texts that are shown, for the page of the table */
    bool keeps_rows;
    const struct attn_study_args *study; /* the items */
};

#define ATTN_EXAMPLES_ARGS_DEFAULT ATTN_QUESTION_DEFAULT("examples", attn_examples_args)

/* Finds the examples of the heads that REQUEST selects. The caller owns *table. ATTN_INVALID with
 * the stage of the input if there are fewer texts than bins. Errors have a stage. */
ATTN_API enum attn_status attn_examples(struct attn_host *host, const struct attn_request *request,
                                        const struct attn_examples_args *args,
                                        struct attn_table **table, struct attn_error *err);

#endif
