/* rows.h - the rows of an experiment's table: its columns, its cells, and the moments of many. For
 * the files of this layer. */
#ifndef ATTN_STUDY_ROWS_H
#define ATTN_STUDY_ROWS_H

#include "base/table_internal.h"
#include "input/sequence.h"
#include "tokenizer/tokenizer.h"
#include "trace/location_internal.h"

enum { ATTN_MOST_COLUMNS = 80 };

/* A column of KIND: INTEGER, TEXT, BOOLEAN or LIST. */
#define ATTN_COLUMN(label, kind)                                                                   \
    {                                                                                              \
        .name = (label), .type = ATTN_VALUE_##kind                                                 \
    }

/* The column before layers, of a model of two stacks alone (attn_rows_hide_stacks). The two are
 * filled by attn_location_put. */
#define ATTN_COLUMN_STACK(label)                                                                   \
    {                                                                                              \
        .name = (label), .type = ATTN_VALUE_TEXT, .role = ATTN_ROLE_STACK                          \
    }

/* The same with what its cells ARE: LAYER, HEAD (enum attn_column_role). */
#define ATTN_COLUMN_OF(are, label, kind)                                                           \
    {                                                                                              \
        .name = (label), .type = ATTN_VALUE_##kind, .role = ATTN_ROLE_##are                        \
    }

/* The column `part`, in which NAMES are the rows that others are compared with. */
#define ATTN_COLUMN_PART(names)                                                                    \
    {                                                                                              \
        .name = "part", .type = ATTN_VALUE_TEXT, .role = ATTN_ROLE_PART, .totals = (names)         \
    }

/* A column of reals with so many PLACES after the point, of a UNIT or NULL; NUMBERS: SIGNED,
 * POSITIVE or SHARE. */
#define ATTN_COLUMN_REAL(label, places, of, numbers)                                               \
    {                                                                                              \
        .name = (label), .type = ATTN_VALUE_REAL, .unit = (of), .notation = ATTN_NOTATION_FIXED,   \
        .digits = (places), .range = ATTN_RANGE_##numbers                                          \
    }

/* The same with the words of the quantity. */
#define ATTN_COLUMN_QUANTITY(label, places, of, numbers, words)                                    \
    {                                                                                              \
        .name = (label), .type = ATTN_VALUE_REAL, .unit = (of), .notation = ATTN_NOTATION_FIXED,   \
        .digits = (places), .range = ATTN_RANGE_##numbers, .quantity = (words)                     \
    }

/* A column of reals that are shares of cases or of a maximum, with words for the quantity or NULL;
 * TRAIT: ATTN_TRAIT_DERIVED or 0. */
#define ATTN_COLUMN_RATE(label, places, words, trait)                                              \
    {                                                                                              \
        .name = (label), .type = ATTN_VALUE_REAL, .notation = ATTN_NOTATION_FIXED,                 \
        .digits = (places), .range = ATTN_RANGE_SHARE, .quantity = (words),                        \
        .traits = ATTN_TRAIT_LINEAR | (trait)                                                      \
    }

/* 1 where the model answers an item rightly, else 0; its mean is the accuracy. */
#define ATTN_COLUMN_RIGHT ATTN_COLUMN_RATE("right", 4, "share of items that the model has right", 0)

/* Such a column of integers that are added up over items, or texts that must be equal: TRAIT is
 * COUNT or NAME. */
#define ATTN_COLUMN_WITH(label, kind, trait)                                                       \
    {                                                                                              \
        .name = (label), .type = ATTN_VALUE_##kind, .traits = ATTN_TRAIT_##trait                   \
    }

/* A column of reals that is derived from the means over items, with words for the quantity or NULL.
 */
#define ATTN_COLUMN_DERIVED(label, places, numbers, words)                                         \
    {                                                                                              \
        .name = (label), .type = ATTN_VALUE_REAL, .notation = ATTN_NOTATION_FIXED,                 \
        .digits = (places), .range = ATTN_RANGE_##numbers, .quantity = (words),                    \
        .traits = ATTN_TRAIT_DERIVED                                                               \
    }

/* The effect of random choices of as many heads: mean, standard deviation, and the rank of the row
 * among them. Three columns from FIRST on. */
#define ATTN_COLUMNS_CONTROL(first)                                                                \
    [first] = ATTN_COLUMN_DERIVED("control", 6, SIGNED, "change of @ without random heads"),       \
    [(first) + 1] = ATTN_COLUMN_DERIVED("control_sd", 6, POSITIVE, NULL),                          \
    [(first) + 2] = ATTN_COLUMN_RATE(                                                              \
        "control_rank", 4, "share of random heads with such an effect", ATTN_TRAIT_DERIVED)

/* The text of token ID; missing where there is none. TOKENIZER may be NULL. */
struct attn_cell attn_cell_token(const struct attn_tokenizer *tokenizer, int32_t id);

/* The text of the token at a POSITION; missing where tokens have none. */
struct attn_cell attn_cell_position(const struct attn_token_bytes *tokens, size_t position);

/* Adds to HIDDEN [n] those of COLUMNS [n] that are stacks: all for a model with one, else those
 * whose layers are hidden. */
void attn_rows_hide_stacks(const struct attn_column *columns, size_t n, bool *hidden,
                           bool has_stacks);

/* Mean and sum of squares of the differences from it, of N numbers (Welford). */
struct attn_moments {
    size_t n;
    double mean, squares;
};

void attn_moments_add(struct attn_moments *moments, double x);

/* The standard deviation, with n - 1; NaN of fewer than two numbers. */
double attn_moments_sd(const struct attn_moments *moments);

/* A table that shows some of its columns. Rows are given whole. */
struct attn_rows {
    const struct attn_column *columns; /* [n] borrowed; two of one name are never both shown */
    size_t n;
    bool hidden[ATTN_MOST_COLUMNS]; /* [n] those that are left out */
    bool is_of_many;          /* after them come NAME_sd of each column of reals, and `texts` */
    struct attn_table *table; /* owns */
};

enum attn_status attn_rows_create(struct attn_rows *rows, const char *name, struct attn_error *err);

/* Adds METRIC, which may be NULL, to the facts about TABLE, if it has numbers of an answer and no
 * other facts. */
enum attn_status attn_rows_set_metric(struct attn_table *table, const char *metric,
                                      struct attn_error *err);

/* Lets ROWS go into *TABLE, the caller's, which has their columns and no rows; NULL: makes it. */
enum attn_status attn_rows_begin(struct attn_rows *rows, const char *name,
                                 struct attn_table **table, struct attn_error *err);

/* Appends CELLS [n]. Of many texts, N_TEXT, their MOMENTS [n] give the standard deviations; else
 * NULL and 0. */
enum attn_status attn_rows_append(const struct attn_rows *rows, const struct attn_cell *cells,
                                  const struct attn_moments *moments, size_t n_text,
                                  struct attn_error *err);

#endif
