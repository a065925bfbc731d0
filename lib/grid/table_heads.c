/* table_heads.c - a map of heads by kind. */
#include "grid/table_heads.h"

#include "grid/table_cells_internal.h"

#include "analysis/analysis_internal.h"
#include "analysis/head_kind.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/table_internal.h"

#include <math.h>

/* Returns the largest weight of ROW in the columns of kinds, for a mixed head. */
static double largest_weight(const struct attn_table *table, size_t row)
{
    double largest = 0;

    for (size_t i = 0; i < ATTN_N_HEAD_SCORE; i++) {
        const size_t column = attn_table_find(table, attn_head_kind_at(i)->name);

        if (column < SIZE_MAX)
            largest = fmax(largest, (double)attn_table_number(table, row, column));
    }
    return largest;
}

enum attn_status attn_table_kinds_find(const struct attn_table *table,
                                       struct attn_table_cells *cells, struct attn_error *err)
{
    const size_t n_row = attn_table_n_row(table), types = attn_table_find(table, "type");

    if (types == SIZE_MAX)
        return attn_error_set(err, ATTN_INVALID,
                              "the table has no column 'type' with the kinds of heads");
    ATTN_TRY(ATTN_ALLOC(cells->kinds, n_row, err));
    ATTN_TRY(ATTN_ALLOC(cells->weights, n_row, err));
    for (size_t i = 0; i < n_row; i++) {
        const struct attn_cell type = attn_table_cell(table, i, types);
        const struct attn_head_kind *kind =
            type.type == ATTN_VALUE_TEXT ? attn_head_kind_find(type.text, type.size) : NULL;
        const size_t column = kind ? attn_table_find(table, kind->name) : SIZE_MAX;

        if (kind && column == SIZE_MAX && kind->score < ATTN_N_MEASURE)
            return attn_error_set(err, ATTN_INVALID,
                                  "the table has no column '%s', the weight of heads of this kind",
                                  kind->name);
        cells->kinds[i] = kind;
        cells->weights[i] = column < SIZE_MAX ? (double)attn_table_number(table, i, column)
                                              : largest_weight(table, i);
    }
    return ATTN_OK;
}

/* Returns how many heads share keys and values; 0 if they do not. */
static size_t n_sharing(const struct attn_table *table, size_t n_head)
{
    const size_t column = attn_table_find_role(table, ATTN_ROLE_KV_HEAD);
    size_t n_kv = 1;

    for (size_t i = 0; i < attn_table_n_row(table) && column < SIZE_MAX; i++) {
        const int64_t kv_head = attn_table_cell(table, i, column).integer;

        n_kv = (size_t)kv_head >= n_kv ? (size_t)kv_head + 1 : n_kv;
    }
    return n_kv > 1 && n_kv < n_head ? n_head / n_kv : 0;
}

/* Reads a map with one cell per head: its letter on the hue of its kind. */
enum attn_status attn_table_head_map_read(const struct attn_table *table,
                                          const struct attn_table_picture *picture,
                                          struct attn_table_cells *cells, struct attn_error *err)
{
    struct attn_token_texts *texts = &cells->texts;
    size_t n, *placed;

    ATTN_TRY(attn_table_axes_read(table, picture, cells, err));
    ATTN_TRY(attn_table_kinds_find(table, cells, err));
    n = cells->rows.axis.n * cells->columns.axis.n;
    ATTN_TRY(
        attn_level_matrix_create(cells->rows.axis.n, cells->columns.axis.n, &cells->matrix, err));
    ATTN_TRY(ATTN_ALLOC(texts->ends, n, err));
    ATTN_TRY(ATTN_ALLOC(placed, n, err));
    /* backwards, so that the first of equal rows is kept */
    for (size_t i = attn_table_n_row(table); i-- > 0;)
        if (cells->rows.of_rows[i] < SIZE_MAX && cells->columns.of_rows[i] < SIZE_MAX)
            placed[cells->rows.of_rows[i] * cells->columns.axis.n + cells->columns.of_rows[i]] =
                i + 1;
    for (size_t at = 0; at < n; at++) {
        const struct attn_head_kind *kind = placed[at] > 0 ? cells->kinds[placed[at] - 1] : NULL;

        if (kind) {
            const double place = sqrt(fmin(fmax(cells->weights[placed[at] - 1], 0), 1));
            const size_t number = (size_t)(kind - attn_head_kind_at(0));

            attn_level_matrix_put(&cells->matrix, at / cells->columns.axis.n,
                                  at % cells->columns.axis.n,
                                  (float)(((double)(number * ATTN_KIND_LEVELS) +
                                           round(place * (ATTN_KIND_LEVELS - 1))) /
                                          (ATTN_N_COLOR - 1)));
            attn_buffer_append_char(&texts->bytes, kind->letter);
        }
        texts->ends[texts->n++] = texts->bytes.size;
    }
    attn_free(placed);
    cells->columns.axis.n_together = n_sharing(table, cells->columns.axis.n);
    cells->grid.cells = texts;
    return attn_buffer_check(&texts->bytes, err);
}
