/* table_pairs.c - a table of pairs of heads as a symmetric grid. */
#include "grid/table_cells_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/table_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* One side of a pair: a head. */
struct pair_side {
    int64_t number, head;
    struct attn_location at;
};

static int by_number(const void *a, const void *b)
{
    const struct pair_side *x = a, *y = b;

    return x->number < y->number ? -1 : x->number > y->number;
}

struct pairs {
    const struct attn_table *table;
    size_t columns[2][3];    /* indices of the columns number, layer and head, for both sides */
    struct pair_side *sides; /* [n] owns; each side once, sorted by number */
    size_t n;
    float *values; /* [n, n] owns; NaN: missing */
};

static struct pair_side side_of(const struct pairs *pairs, size_t row, int side)
{
    const size_t *columns = pairs->columns[side];
    struct pair_side found = {attn_table_cell(pairs->table, row, columns[0]).integer,
                              attn_table_cell(pairs->table, row, columns[2]).integer,
                              {.layer = ATTN_NO_LAYER}};

    attn_table_read_layer(pairs->table, row, columns[1], &found.at);
    return found;
}

static size_t place_of_side(const struct pairs *pairs, struct pair_side side)
{
    const struct pair_side *found = bsearch(&side, pairs->sides, pairs->n, sizeof side, by_number);

    return (size_t)(found - pairs->sides);
}

/* Lists the sides, and reads the number of each pair. */
static enum attn_status read_pairs(struct pairs *pairs, size_t values, struct attn_error *err)
{
    const size_t n_row = attn_table_n_row(pairs->table);
    size_t n = 0;

    ATTN_TRY(ATTN_ALLOC(pairs->sides, 2 * n_row, err));
    for (size_t i = 0; i < 2 * n_row; i++)
        pairs->sides[n++] = side_of(pairs, i / 2, i % 2);
    if (n > 0)
        qsort(pairs->sides, n, sizeof *pairs->sides, by_number);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || pairs->sides[i].number != pairs->sides[i - 1].number)
            pairs->sides[pairs->n++] = pairs->sides[i];
    ATTN_TRY(ATTN_ALLOC(pairs->values, pairs->n * pairs->n, err));
    for (size_t i = 0; i < pairs->n * pairs->n; i++)
        pairs->values[i] = i % (pairs->n + 1) == 0 ? 0 : NAN;
    for (size_t i = 0; i < n_row; i++) {
        const size_t a = place_of_side(pairs, side_of(pairs, i, 0));
        const size_t b = place_of_side(pairs, side_of(pairs, i, 1));

        pairs->values[a * pairs->n + b] = pairs->values[b * pairs->n + a] =
            attn_table_number(pairs->table, i, values);
    }
    return ATTN_OK;
}

/* Labels an axis, "3.5", and marks where each layer begins. */
static enum attn_status name_pairs(const struct pairs *pairs, struct attn_table_axis *axis,
                                   struct attn_error *err)
{
    ATTN_TRY(attn_table_axis_create(axis, attn_table_n_row(pairs->table), pairs->n, err));
    for (size_t i = 0; i < pairs->n; i++) {
        const struct pair_side *side = &pairs->sides[i];

        attn_grid_append_layer(&axis->texts.bytes, &side->at);
        attn_buffer_append_format(&axis->texts.bytes, ".%" PRId64, side->head);
        axis->texts.ends[axis->texts.n++] = axis->texts.bytes.size;
        axis->positions[i] = i;
        axis->begins[i] = i > 0 && attn_location_order(&side->at, &pairs->sides[i - 1].at) != 0;
    }
    axis->axis = (struct attn_grid_axis){.n = pairs->n,
                                         .texts = &axis->texts,
                                         .positions = axis->positions,
                                         .has_own_texts = true,
                                         .is_named = true,
                                         .title = "head",
                                         .begins = axis->begins};
    return attn_buffer_check(&axis->texts.bytes, err);
}

static enum attn_status place_pairs(struct pairs *pairs, struct attn_table_cells *cells,
                                    struct attn_error *err)
{
    static const enum attn_column_role roles[2][2] = {
        {ATTN_ROLE_LAYER, ATTN_ROLE_HEAD}, {ATTN_ROLE_OTHER_LAYER, ATTN_ROLE_OTHER_HEAD}};
    for (int side = 0; side < 2; side++) {
        size_t *columns = pairs->columns[side];

        columns[0] = side == 0 ? cells->of.rows : cells->of.columns;
        columns[1] = attn_table_find_role(pairs->table, roles[side][0]);
        columns[2] = attn_table_find_role(pairs->table, roles[side][1]);
        if (columns[0] == SIZE_MAX || columns[1] == SIZE_MAX || columns[2] == SIZE_MAX)
            return attn_error_set(err, ATTN_INVALID, "the table is not one of pairs of heads");
    }
    ATTN_TRY(read_pairs(pairs, cells->of.values, err));
    if (pairs->n == 0)
        return attn_error_set(err, ATTN_INVALID, "the table has no pairs to draw");
    ATTN_TRY(name_pairs(pairs, &cells->rows, err));
    ATTN_TRY(name_pairs(pairs, &cells->columns, err));
    ATTN_TRY(attn_level_matrix_create(pairs->n, pairs->n, &cells->matrix, err));
    for (size_t i = 0; i < pairs->n * pairs->n; i++)
        if (!isnan(pairs->values[i]))
            attn_level_matrix_put(&cells->matrix, i / pairs->n, i % pairs->n, pairs->values[i]);
    for (size_t i = 0; i < attn_table_n_row(pairs->table); i++) {
        cells->rows.of_rows[i] = place_of_side(pairs, side_of(pairs, i, 0));
        cells->columns.of_rows[i] = place_of_side(pairs, side_of(pairs, i, 1));
    }
    return ATTN_OK;
}

enum attn_status attn_table_pairs_read(const struct attn_table *table,
                                       const struct attn_table_picture *picture,
                                       struct attn_table_cells *cells, struct attn_error *err)
{
    struct pairs pairs = {.table = table};
    const enum attn_status status = place_pairs(&pairs, cells, err);

    (void)picture;
    attn_free(pairs.sides);
    attn_free(pairs.values);
    return status;
}
