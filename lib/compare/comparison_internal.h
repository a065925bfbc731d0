/* comparison_internal.h - how a comparison is filled, and written (comparison_forms.c). */
#ifndef ATTN_COMPARE_COMPARISON_INTERNAL_H
#define ATTN_COMPARE_COMPARISON_INTERNAL_H

#include "compare/comparison.h"
#include "tables/table_order_internal.h"
#include "tables/table_writer_internal.h"
#include "writers/outputs.h"

/* The order of the heads that are shown; it fills a struct attn_table_order. */
extern const struct attn_param_list attn_comparison_order_params;

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

/* The tables of a comparison: rows of heads, of layers, of everything, and next tokens. Differences
 * have columns of their names or, where a row has both errors, of names with a prefix, "local_tv".
 */
enum attn_compared_form {
    ATTN_COMPARED_LOCAL = 1,      /* for text: names of heads and means, without counts of rows */
    ATTN_COMPARED_PROPAGATED = 2, /* likewise the other error */
    ATTN_COMPARED_ERRORS = 4,     /* ATTN_COMPARISON_HEADS */
    ATTN_COMPARED_COSTS = 8,      /* ATTN_COMPARISON_COSTS */
    ATTN_COMPARED_LOGITS = 16,    /* ATTN_COMPARISON_LOGITS */
    ATTN_COMPARED_HEADS = 32,     /* a head, both errors */
    ATTN_COMPARED_LAYERS = 64,    /* a layer, both errors, and the costs */
    ATTN_COMPARED_ALL = 128,      /* both errors, no place */
    ATTN_COMPARED_IDS = 256       /* logits without texts */
};

/* Makes the table of FORM, those of the first three in the order of COMPARISON. */
enum attn_status attn_compared_tabulate(const struct attn_compared_run *comparison,
                                        enum attn_compared_form form, struct attn_table **table,
                                        struct attn_error *err);

/* Writes it as text. */
enum attn_status attn_comparison_print(const struct attn_compared_run *comparison,
                                       struct attn_sink *out, struct attn_error *err);

/* Writes it to OUTPUT, whose format has tensors and tables: a folder of tables, or a document. */
enum attn_status attn_comparison_write(const struct attn_compared_run *comparison,
                                       const struct attn_output *output, int precision,
                                       struct attn_error *err);

#endif
