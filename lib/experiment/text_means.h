/*
 * text_means.h - the same table of many texts, as one: means over the texts, each of which counts
 * once. For the files of this layer.
 *
 *     struct attn_text_means means = {.n_text = 0};
 *     for (each text)
 *         attn_text_means_add(&means, table, &err);       // takes the table
 *     attn_text_means_tabulate(&means, &table, &err);
 *     attn_text_means_release(&means);
 *
 * Columns of reals become means, those of booleans shares; other columns say which row it is and are
 * those of the first text. Behind them come NAME_sd of each column of reals, and `texts`. A value
 * that is missing in one text is left out of its mean.
 */
#ifndef ATTN_EXPERIMENT_TEXT_MEANS_H
#define ATTN_EXPERIMENT_TEXT_MEANS_H

#include "base/table.h"
#include "run/request.h"

/* Mean and sum of squares of the differences from it, of N numbers (Welford). */
struct attn_moments {
    size_t n;
    double mean, squares;
};

void attn_moments_add(struct attn_moments *moments, double x);

/* Initialize with zeros. Memory is that of one table, however many texts there are. */
struct attn_text_means {
    size_t n_text;
    struct attn_table *first;     /* owns; of the first text */
    struct attn_moments *moments; /* [n_row, n_column] owns */
};

/* Adds TABLE, which it takes also when it fails: ATTN_NO_MEMORY, and ATTN_INVALID when it has not
 * the rows and columns of the first. */
enum attn_status attn_text_means_add(struct attn_text_means *means, struct attn_table *table,
                                     struct attn_error *err);

/* Makes the table, the caller's, of at least one text. */
enum attn_status attn_text_means_tabulate(const struct attn_text_means *means,
                                          struct attn_table **table, struct attn_error *err);

void attn_text_means_release(struct attn_text_means *means);

/* What is asked of each text. */
struct attn_text_question {
    /* Makes the table, the caller's, of one text: the input of REQUEST. */
    enum attn_status (*ask)(void *user, const struct attn_request *request,
                            struct attn_table **table, struct attn_error *err);
    void *user; /* for ask */
};

/*
 * The means over TEXTS [N], which take the place of the input of REQUEST: QUESTION makes the table of
 * each, one after the other. REQUEST's on_progress counts texts. The caller owns *table.
 * ATTN_INVALID without texts; else errors are those of ask, with a hint which text it was.
 */
enum attn_status attn_text_means_ask(const struct attn_text_question *question,
                                     const struct attn_request *request,
                                     const struct attn_input *texts, size_t n,
                                     struct attn_table **table, struct attn_error *err);

#endif
