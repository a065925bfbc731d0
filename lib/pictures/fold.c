/* fold.c - see fold.h. */
#include "pictures/fold.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "tables/text_table.h"
#include "tensors/output.h"

#include <math.h>

#define SHOWN 0.01F

enum { N_STRONGEST = 3 };

/* Returns the number of the cell at ROW, COLUMN; NaN if it has none. */
static float number_at(const struct attn_level_matrix *matrix, size_t row, size_t column)
{
    float value = 0;

    return attn_level_cell(matrix, row, column, &value) == ATTN_CELL_VALUE ? value : NAN;
}

/* Returns true if key C stays because of row R. */
static bool is_shown(const struct attn_level_matrix *matrix, size_t r, size_t c)
{
    const float value = number_at(matrix, r, c);
    size_t n_larger = 0;

    if (!(value > 0) || value >= SHOWN)
        return value >= SHOWN;
    for (size_t k = 0; k < matrix->n_column && n_larger < N_STRONGEST; k++)
        n_larger += number_at(matrix, r, k) > value || (k < c && number_at(matrix, r, k) == value);
    return n_larger < N_STRONGEST;
}

/* Returns the number of keys from C on that fold into one column; 0 if key C stays. */
static size_t n_folded(const bool *kept, size_t c, size_t n)
{
    size_t end = c;

    while (end < n && !kept[end])
        end++;
    return end - c > 1 ? end - c : 0;
}

/* Appends column I of FOLD, of N keys of GRID from C on, or one if N is 0. */
static void put_column(const struct attn_grid *grid, struct attn_fold *fold, size_t i, size_t c,
                       size_t n)
{
    const struct attn_grid_axis keys = attn_grid_columns(grid, &grid->matrices[0]);
    size_t n_text;
    const char *text = attn_grid_text(&keys, c, &n_text);

    if (n > 0)
        attn_buffer_append_format(&fold->texts.bytes, ATTN_ELLIPSIS " %zu words", n);
    else
        attn_buffer_append(&fold->texts.bytes, text, n_text);
    fold->texts.ends[i] = fold->texts.bytes.size;
    fold->positions[i] = n > 0 ? ATTN_GRID_NO_POSITION : attn_grid_position(&keys, c);
    for (size_t r = 0; r < fold->matrix.n_row; r++) {
        float sum = NAN;

        for (size_t k = c; k < c + (n > 0 ? n : 1); k++) {
            const float value = number_at(&grid->matrices[0], r, k);

            sum = isnan(sum) ? value : sum + (isnan(value) ? 0 : value);
        }
        if (!isnan(sum))
            attn_level_matrix_put(&fold->matrix, r, i, sum);
    }
}

/* Makes the columns of FOLD; the keys in KEPT stay. */
static enum attn_status make_columns(const struct attn_grid *grid, const bool *kept,
                                     struct attn_fold *fold, struct attn_error *err)
{
    const struct attn_level_matrix *matrix = &grid->matrices[0];
    size_t n = 0, step;

    for (size_t c = 0; c<matrix->n_column; c += step> 0 ? step : 1, n++)
        step = n_folded(kept, c, matrix->n_column);
    if (n == matrix->n_column)
        return ATTN_OK;
    ATTN_TRY(attn_level_matrix_create(matrix->n_row, n, &fold->matrix, err));
    ATTN_TRY(ATTN_ALLOC(fold->positions, n, err));
    ATTN_TRY(ATTN_ALLOC(fold->texts.ends, n, err));
    fold->texts.n = n;
    for (size_t i = 0, c = 0; i<n; i++, c += step> 0 ? step : 1) {
        step = n_folded(kept, c, matrix->n_column);
        put_column(grid, fold, i, c, step);
    }
    fold->matrix.at = matrix->at;
    fold->matrix.least = matrix->least; /* colors keep their range */
    fold->matrix.most = matrix->most;
    fold->columns = attn_grid_columns(grid, matrix);
    fold->columns.n = n;
    fold->columns.texts = &fold->texts;
    fold->columns.has_own_texts = true;
    fold->columns.positions = fold->positions;
    fold->grid = *grid;
    fold->grid.matrices = &fold->matrix;
    fold->grid.columns = &fold->columns;
    return attn_buffer_check(&fold->texts.bytes, err);
}

enum attn_status attn_fold_keys(const struct attn_grid *grid, struct attn_fold *fold,
                                struct attn_error *err)
{
    const struct attn_level_matrix *matrix = &grid->matrices[0];
    const struct attn_grid_axis keys = attn_grid_columns(grid, matrix);
    const struct attn_grid_axis rows = attn_grid_rows(grid, matrix);
    const bool has_own = attn_writer_has_own_keys(grid->run, &matrix->at);
    enum attn_status status;
    bool *kept;

    if (!keys.texts || keys.parts)
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(kept, matrix->n_column, err));
    for (size_t r = 0; has_own && r < matrix->n_row; r++)
        for (size_t c = 0; c < keys.n; c++)
            kept[c] |= attn_grid_position(&keys, c) == attn_grid_position(&rows, r);
    for (size_t c = 0; c < keys.n; c++)
        for (size_t r = 0; r < matrix->n_row && !kept[c]; r++)
            kept[c] = is_shown(matrix, r, c);
    status = make_columns(grid, kept, fold, err);
    attn_free(kept);
    return status;
}

void attn_fold_release(struct attn_fold *fold)
{
    attn_free(fold->matrix.cells);
    attn_free(fold->positions);
    attn_token_texts_release(&fold->texts, 1);
}
