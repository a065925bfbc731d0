/* compare_internal.h - functions that write a comparison (compare_tables.c). */
#ifndef ATTN_QUESTIONS_COMPARE_INTERNAL_H
#define ATTN_QUESTIONS_COMPARE_INTERNAL_H

#include "questions/compare.h"
#include "tables/table_writer_internal.h"
#include "tensors/outputs.h"

/* The parameters for the order of the heads; fields of a struct attn_table_order. */
extern const struct attn_param_list attn_comparison_order_params;

/* A comparison, with the labels and settings that its documents show. */
struct attn_compared_run {
    const struct attn_comparison *found;
    /* model, options, tokens and ids; for arrays options and axes */
    const struct attn_labels *labels;
    const struct attn_tokenizer *tokenizer; /* for the texts of the most probable tokens; or NULL */
    size_t n;                               /* number of tokens; for arrays of queries */
    const struct attn_attention *attention; /* the chosen attention of the first layer */
    int n_recalled;                         /* K of the recall */
    const volatile sig_atomic_t *cancel;    /* nonzero: stop; or NULL */
    struct attn_table_style style;          /* width of the text */
    struct attn_table_order order;          /* order of the heads, in text and tables */
};

/* Creates the table of PART, with the heads in the order of COMPARISON. */
enum attn_status attn_compared_tabulate(const struct attn_compared_run *comparison,
                                        enum attn_comparison_part part, struct attn_table **table,
                                        struct attn_error *err);

/* Writes the comparison as text. */
enum attn_status attn_comparison_print(const struct attn_compared_run *comparison,
                                       struct attn_sink *out, struct attn_error *err);

/* Writes the comparison to OUTPUT, a directory of tables, or the document of a format without
 * directories. */
enum attn_status attn_comparison_write(const struct attn_compared_run *comparison,
                                       const struct attn_output *output, int precision,
                                       struct attn_error *err);

#endif
