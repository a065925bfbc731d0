/* comparison_internal.h - functions that fill a comparison and write it (comparison_forms.c). */
#ifndef ATTN_QUESTIONS_COMPARISON_INTERNAL_H
#define ATTN_QUESTIONS_COMPARISON_INTERNAL_H

#include "questions/comparison.h"
#include "tables/table_writer_internal.h"
#include "tensors/outputs.h"

/* The parameters for the order of the heads; fields of a struct attn_table_order. */
extern const struct attn_param_list attn_comparison_order_params;

/* Allocates the rows of heads, layers and everything, and the logits after all queries. */
enum attn_status attn_comparison_create(const struct attn_selection *selection,
                                        struct attn_comparison **comparison,
                                        struct attn_error *err);

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

/* The forms of tables: rows of heads, of layers, of everything, or predictions. The columns of a
 * difference have their names or, if a row has both errors, names with a prefix, "local_tv". */
enum attn_compared_form {
    /* local errors, for text: names of heads and means, without the number of rows */
    ATTN_COMPARED_LOCAL = 1,
    ATTN_COMPARED_PROPAGATED = 2, /* the same for propagated errors */
    ATTN_COMPARED_ERRORS = 4,     /* ATTN_COMPARISON_HEADS */
    ATTN_COMPARED_COSTS = 8,      /* ATTN_COMPARISON_COSTS */
    ATTN_COMPARED_LOGITS = 16,    /* ATTN_COMPARISON_LOGITS */
    ATTN_COMPARED_HEADS = 32,     /* a row per head, both errors */
    ATTN_COMPARED_LAYERS = 64,    /* a row per layer, both errors, and the costs */
    ATTN_COMPARED_ALL = 128,      /* both errors of everything */
    ATTN_COMPARED_IDS = 256       /* predictions without texts */
};

/* Creates the table of FORM. The first three forms are in the order of COMPARISON. */
enum attn_status attn_compared_tabulate(const struct attn_compared_run *comparison,
                                        enum attn_compared_form form, struct attn_table **table,
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
