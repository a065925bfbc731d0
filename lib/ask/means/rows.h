/* rows.h - the rows of a procedure's table: columns and cells; and moments of numbers. Private
 * to lib/questions. */
#pragma once

#include "input/sequence.h"
#include "tables/table_internal.h"
#include "tokenizer/tokenizer.h"
#include "trace/location_extra.h"

#include <math.h>

enum { ATTN_MOST_COLUMNS = 96 };

/* A column of type KIND: INTEGER, TEXT, BOOLEAN or LIST. */
#define ATTN_COLUMN(label, ...)                                                                    \
    {                                                                                              \
        .name = (label), .type = ATTN_VALUE_##__VA_ARGS__                                          \
    }

/* The last column of every table of a procedure. attn_rows_append fills missing cells of it. */
#define ATTN_COLUMN_ROW_TYPE ATTN_COLUMN_OF(ROW_TYPE, ATTN_ROW_TYPE, TEXT)

/* The column `stack` before a layer, shown only for models with two stacks (attn_rows_hide_stacks).
 * attn_location_put fills both columns. */
#define ATTN_COLUMN_STACK(...)                                                                     \
    {                                                                                              \
        .type = ATTN_VALUE_TEXT, .role = ATTN_ROLE_STACK, .name = __VA_ARGS__                      \
    }

/* A column of type KIND with the role ARE: LAYER, HEAD, ... (enum attn_column_role). */
#define ATTN_COLUMN_OF(are, label, ...)                                                            \
    {                                                                                              \
        .name = (label), .role = ATTN_ROLE_##are, .type = ATTN_VALUE_##__VA_ARGS__                 \
    }

/* Three columns from I on that name a head: stack, layer and head. */
#define ATTN_COLUMNS_HEAD(i, when)                                                                 \
    [i] = ATTN_COLUMN_STACK("stack", .shown = (when)),                                             \
    [(i) + 1] = ATTN_COLUMN_OF(LAYER, "layer", INTEGER, .shown = (when)),                          \
    [(i) + 2] = ATTN_COLUMN_OF(HEAD, "head", INTEGER, .shown = (when))

/* The column `part`. NAMES are the rows with which others are compared (totals). */
#define ATTN_COLUMN_PART(...)                                                                      \
    {                                                                                              \
        .name = "part", .type = ATTN_VALUE_TEXT, .role = ATTN_ROLE_PART, .totals = __VA_ARGS__     \
    }

/* A column of reals with PLACES decimals; OF is the unit or NULL; NUMBERS is the range: SIGNED,
 * POSITIVE or SHARE. */
#define ATTN_COLUMN_REAL(label, places, of, ...)                                                   \
    {                                                                                              \
        .name = (label), .type = ATTN_VALUE_REAL, .unit = (of), .notation = ATTN_NOTATION_FIXED,   \
        .digits = (places), .range = ATTN_RANGE_##__VA_ARGS__                                      \
    }

/* A column of reals that also has a name for its quantity. */
#define ATTN_COLUMN_QUANTITY(label, places, of, numbers, ...)                                      \
    {                                                                                              \
        .name = (label), .type = ATTN_VALUE_REAL, .unit = (of), .notation = ATTN_NOTATION_FIXED,   \
        .digits = (places), .range = ATTN_RANGE_##numbers, .quantity = __VA_ARGS__                 \
    }

/* A column of counts, ranks or their means. */
#define ATTN_COLUMN_WHOLE(label, ...)                                                              \
    {                                                                                              \
        .name = (label), .type = ATTN_VALUE_REAL, .notation = ATTN_NOTATION_WHOLE,                 \
        .range = ATTN_RANGE_POSITIVE, .quantity = __VA_ARGS__                                      \
    }

/* A column of reals that are shares of cases or of a maximum; WORDS name the quantity, or NULL;
 * TRAIT is ATTN_TRAIT_DERIVED or 0. */
#define ATTN_COLUMN_RATE(label, places, words, ...)                                                \
    {                                                                                              \
        .name = (label), .type = ATTN_VALUE_REAL, .notation = ATTN_NOTATION_FIXED,                 \
        .digits = (places), .range = ATTN_RANGE_SHARE, .quantity = (words),                        \
        .traits = ATTN_TRAIT_LINEAR | __VA_ARGS__                                                  \
    }

/* 1 if the model answers an item correctly, otherwise 0; its mean is the accuracy. */
#define ATTN_COLUMN_RIGHT(when)                                                                    \
    ATTN_COLUMN_RATE("right", 4, "share of items that the model has right", 0, .shown = (when))

/* A column with TRAIT: COUNT for integers that are summed over items, NAME for texts that must be
 * equal in all items. */
#define ATTN_COLUMN_WITH(label, kind, ...)                                                         \
    {                                                                                              \
        .name = (label), .type = ATTN_VALUE_##kind, .traits = ATTN_TRAIT_##__VA_ARGS__             \
    }

/* A column of reals that is derived from the means over items; WORDS name the quantity, or NULL. */
#define ATTN_COLUMN_DERIVED(label, places, numbers, ...)                                           \
    {                                                                                              \
        .name = (label), .type = ATTN_VALUE_REAL, .notation = ATTN_NOTATION_FIXED,                 \
        .digits = (places), .range = ATTN_RANGE_##numbers, .traits = ATTN_TRAIT_DERIVED,           \
        .quantity = __VA_ARGS__                                                                    \
    }

/* The columns from number I on that say what a change of the model does: the value, those of runs
 * without a part, which are shown RUNS, and the last, which is shown WHEN. */
#define ATTN_COLUMNS_REPLY(i, runs, when)                                                          \
    [i] = ATTN_COLUMN_QUANTITY("value", 6, NULL, SIGNED, "@"),                                     \
    [(i) + 1] = ATTN_COLUMN_QUANTITY("change", 6, NULL, SIGNED, "change of @",                     \
                                     .traits = ATTN_TRAIT_RANKED, .shown = (runs)),                \
    [(i) + 2] =                                                                                    \
        ATTN_COLUMN_QUANTITY("kl", 6, "nats", POSITIVE,                                            \
                             "KL divergence from the unchanged prediction", .shown = (runs)),      \
    [(i) + 3] = {.name = "same_top",                                                               \
                 .type = ATTN_VALUE_BOOLEAN,                                                       \
                 .range = ATTN_RANGE_SHARE,                                                        \
                 .quantity = "most probable token stays the same",                                 \
                 .traits = ATTN_TRAIT_LINEAR,                                                      \
                 .shown = (runs)},                                                                 \
    [(i) + 4] = ATTN_COLUMN_RIGHT(when)

/* Three columns from I on: mean and standard deviation of the effect of random choices of as many
 * heads, and the rank of the row among these. */
#define ATTN_COLUMNS_CONTROL(i, when)                                                              \
    [i] = ATTN_COLUMN_DERIVED("control", 6, SIGNED, "change of @ without random heads",            \
                              .shown = (when)),                                                    \
    [(i) + 1] = ATTN_COLUMN_DERIVED("control_sd", 6, POSITIVE, NULL, .shown = (when),              \
                                    .help = "standard deviation (n - 1) of control"),              \
    [(i) + 2] = ATTN_COLUMN_RATE("control_rank", 4, "share of random heads with such an effect",   \
                                 ATTN_TRAIT_DERIVED, .shown = (when))

/* Returns the text of token ID; missing if it has none. TOKENIZER may be NULL. */
struct attn_cell attn_cell_token(const struct attn_tokenizer *tokenizer, int32_t id);

/* Returns a cell with X; missing if it is NaN. */
static inline struct attn_cell attn_cell_real_or_missing(double x)
{
    return isnan(x) ? attn_cell_missing() : attn_cell_real(x);
}

/* Returns the text of the token at POSITION; missing if tokens have no texts. */
struct attn_cell attn_cell_position(const struct attn_token_bytes *tokens, size_t position);

/* Makes COLUMN, of truth values, the share of items where they are true. */
void attn_column_make_share(struct attn_column *column);

/* Adds columns of stacks to HIDDEN [n]: all of them for a model with one stack, otherwise those
 * whose layer column is hidden. */
void attn_rows_hide_stacks(const struct attn_column *columns, size_t n, bool *hidden,
                           bool has_stacks);

/* Count, mean, and sum of squared differences from the mean, of N numbers (Welford's algorithm). */
struct attn_moments {
    size_t n;
    double mean, squares;
};

void attn_moments_add(struct attn_moments *moments, double x);

/* Returns the standard deviation, with n - 1; NaN for fewer than two numbers. */
double attn_moments_sd(const struct attn_moments *moments);

/* A table with a subset of COLUMNS. Rows are appended with the cells of all columns. */
struct attn_rows {
    /* [n] borrowed, the last ROW_TYPE, if there is one; of two columns with the same name, at most
     * one is shown */
    const struct attn_column *columns;
    size_t n;
    bool hidden[ATTN_MOST_COLUMNS]; /* [n] columns to leave out */
    struct attn_table *table;       /* owns */
};

enum attn_status attn_rows_create(struct attn_rows *rows, const char *name, struct attn_error *err);

/* Adds METRIC, which may be NULL, to the facts about TABLE, if it has numbers of an answer and no
 * other facts. */
enum attn_status attn_rows_set_metric(struct attn_table *table, const char *metric,
                                      struct attn_error *err);

/* Appends to *TABLE, an empty table of the caller with the shown columns; if *TABLE is NULL,
 * creates it. */
enum attn_status attn_rows_begin(struct attn_rows *rows, const char *name,
                                 struct attn_table **table, struct attn_error *err);

/* Appends CELLS [n]. A missing type of the row follows from its `part`. */
enum attn_status attn_rows_append(const struct attn_rows *rows, const struct attn_cell *cells,
                                  struct attn_error *err);
