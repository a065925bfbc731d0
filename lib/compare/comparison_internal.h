/* comparison_internal.h - how a comparison is filled, and written (comparison_forms.c). */
#ifndef ATTN_COMPARE_COMPARISON_INTERNAL_H
#define ATTN_COMPARE_COMPARISON_INTERNAL_H

#include "compare/comparison.h"
#include "tables/table_order_internal.h"
#include "tables/table_writer_internal.h"
#include "writers/outputs.h"

/* The order of the heads that are shown; it fills a struct attn_table_order. */
extern const struct attn_param_list attn_comparison_order_params;

/* The place of a head: in a layer, or for arrays in a batch, whose heads are numbered from 0. */
struct attn_head_place {
    int first, head; /* first: layer or batch */
};

/* LABELS are those of the run. */
struct attn_head_place attn_comparison_place(const struct attn_compared_row *head,
                                             const struct attn_labels *labels);

/* Allocates rows for heads, layers and everything, and logits after all queries. */
enum attn_status attn_comparison_create(const struct attn_selection *selection,
                                        struct attn_comparison **comparison,
                                        struct attn_error *err);

/* A comparison with its labels and settings. */
struct attn_compared_run {
    const struct attn_comparison *found;
    const struct attn_labels *labels; /* model, options, tokens, ids; of arrays options and axes */
    const struct attn_tokenizer *tokenizer; /* for the texts of first choices; or NULL */
    size_t n;                               /* tokens, or queries of arrays */
    const struct attn_attention *attention; /* the chosen attention of the first layer */
    int n_recalled;                         /* K of the recall */
    const volatile sig_atomic_t *cancel;    /* not 0: stop; or NULL */
    struct attn_table_style style;          /* of text: its width */
    struct attn_table_order order;          /* of the heads, in text and tables */
};

/* Writes it as text. */
enum attn_status attn_comparison_print(const struct attn_compared_run *comparison,
                                       struct attn_sink *out, struct attn_error *err);

/* Writes it to OUTPUT, whose format has tensors and tables: a folder of tables, or a document. */
enum attn_status attn_comparison_write(const struct attn_compared_run *comparison,
                                       const struct attn_output *output, int precision,
                                       struct attn_error *err);

#endif
