/* table_heads.c - a map of heads by kind, and a poster of the patterns of all heads. */
#include "grid/table_heads.h"

#include "grid/table_cells_internal.h"

#include "analysis/analysis_internal.h"
#include "analysis/head_cards_internal.h"
#include "analysis/head_kind.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/table_internal.h"
#include "grid/clusters.h"

#include <math.h>
#include <stdio.h>

enum attn_status attn_table_kinds_find(const struct attn_table *table,
                                       struct attn_table_cells *cells, struct attn_error *err)
{
    const size_t n_row = attn_table_n_row(table);
    size_t columns[ATTN_N_MEASURE];

    for (int m = 0; m < ATTN_N_MEASURE; m++) {
        columns[m] = attn_table_find(table, attn_measure_name((enum attn_measure)m));
        if (columns[m] == SIZE_MAX && (attn_head_kind_measures() & ATTN_MEASURE_BIT(m)) != 0)
            return attn_error_set(err, ATTN_INVALID,
                                  "the table has no column '%s', by which heads have kinds",
                                  attn_measure_name((enum attn_measure)m));
    }
    ATTN_TRY(ATTN_ALLOC(cells->kinds, n_row, err));
    ATTN_TRY(ATTN_ALLOC(cells->weights, n_row, err));
    for (size_t i = 0; i < n_row; i++) {
        double values[ATTN_N_MEASURE];

        for (int m = 0; m < ATTN_N_MEASURE; m++)
            values[m] =
                (double)(columns[m] < SIZE_MAX ? attn_table_number(table, i, columns[m]) : NAN);
        cells->kinds[i] = attn_head_kind_of(values, &cells->weights[i]);
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

/* Orders N heads by similarity of their patterns. The distance of two patterns is half the sum of
 * |a - b|. */
static enum attn_status order_heads(const struct attn_level_matrix *matrix, size_t n, size_t *order,
                                    struct attn_error *err)
{
    enum { N_CELL = ATTN_PATTERN_SIDE * ATTN_PATTERN_SIDE };
    enum attn_status status;
    float *distances, a, b;

    ATTN_TRY(ATTN_ALLOC(distances, n * n, err));
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++) {
            double sum = 0;

            for (size_t c = 0; c < N_CELL; c++) {
                const size_t row = c / ATTN_PATTERN_SIDE, column = c % ATTN_PATTERN_SIDE;

                a = b = 0;
                attn_level_cell(matrix, i * ATTN_PATTERN_SIDE + row, column, &a);
                attn_level_cell(matrix, k * ATTN_PATTERN_SIDE + row, column, &b);
                sum += fabs((double)a - (double)b);
            }
            distances[i * n + k] = distances[k * n + i] = (float)(sum / 2);
        }
    status = attn_clusters_order(distances, n, order, NULL, err);
    attn_free(distances);
    return status;
}

/* Reads the patterns of all heads of the table, one below the other. */
enum attn_status attn_table_poster_read(const struct attn_table *table,
                                        const struct attn_table_picture *picture,
                                        struct attn_table_cells *cells, struct attn_error *err)
{
    const size_t layers = cells->of.rows, heads = cells->of.columns, n = attn_table_n_row(table);
    struct attn_table_axis *rows = &cells->rows;

    if (!picture->patterns)
        return attn_error_set(err, ATTN_INVALID,
                              "'`figure poster`' needs the patterns of a run, which are not there");
    ATTN_TRY(attn_table_kinds_find(table, cells, err));
    ATTN_TRY(attn_table_axis_create(rows, n, n, err));
    ATTN_TRY(ATTN_ALLOC(cells->order, n, err));
    ATTN_TRY(
        attn_level_matrix_create(n * ATTN_PATTERN_SIDE, ATTN_PATTERN_SIDE, &cells->matrix, err));
    for (size_t i = 0; i < n; i++) {
        struct attn_location at;

        attn_table_read_layer(table, i, layers, &at);
        at.head = (int)attn_table_cell(table, i, heads).integer;
        attn_grid_append_layer(&rows->texts.bytes, &at);
        attn_buffer_append_format(&rows->texts.bytes, ".%d", at.head);
        rows->texts.ends[rows->texts.n++] = rows->texts.bytes.size;
        for (size_t query = 0; query < ATTN_PATTERN_SIDE; query++)
            for (size_t key = 0; key < ATTN_PATTERN_SIDE; key++) {
                const float mean = attn_head_patterns_mean(picture->patterns, &at, query, key);

                if (!isnan(mean))
                    attn_level_matrix_put(&cells->matrix, i * ATTN_PATTERN_SIDE + query, key, mean);
            }
    }
    ATTN_TRY(order_heads(&cells->matrix, n, cells->order, err));
    rows->axis = attn_table_named_axis(rows, "");
    cells->columns.axis = (struct attn_grid_axis){.n = ATTN_PATTERN_SIDE, .title = ""};
    cells->grid.kinds = cells->kinds;
    cells->grid.weights = cells->weights;
    cells->grid.order = cells->order;
    return attn_buffer_check(&rows->texts.bytes, err);
}

/* Reads the card of the only head of the table. */
enum attn_status attn_table_card_read(const struct attn_table *table,
                                      const struct attn_table_picture *picture,
                                      struct attn_table_cells *cells, struct attn_error *err)
{
    struct attn_error unseen; /* tables of other measures have no kinds */
    const struct attn_card_head *head;
    struct attn_location at;
    size_t index;

    if (!picture->cards)
        return attn_error_set(err, ATTN_INVALID,
                              "'`figure card`' needs the texts of a run, which are not there");
    if (attn_table_n_row(table) != 1) {
        attn_error_set(err, ATTN_INVALID, "'`figure card`' shows one head, and the table has %zu",
                       attn_table_n_row(table));
        return attn_error_hint(err, "`heads 2.5` chooses one");
    }
    attn_table_read_layer(table, 0, cells->of.rows, &at);
    at.head = (int)attn_table_cell(table, 0, cells->of.columns).integer;
    index = attn_head_cards_find(picture->cards, &at);
    if (index == SIZE_MAX)
        return attn_error_set(err, ATTN_INVALID, "the cards lack the head of the table");
    head = &picture->cards->heads[index];
    ATTN_TRY(attn_table_axis_create(&cells->rows, 1, 1, err));
    ATTN_TRY(attn_level_matrix_create(ATTN_PATTERN_SIDE, ATTN_PATTERN_SIDE, &cells->matrix, err));
    for (size_t query = 0; query < ATTN_PATTERN_SIDE; query++)
        for (size_t key = 0; key < ATTN_PATTERN_SIDE; key++)
            if (!isnan(attn_card_cell(head, query, key)))
                attn_level_matrix_put(&cells->matrix, query, key, attn_card_cell(head, query, key));
    if (attn_table_kinds_find(table, cells, &unseen) == ATTN_NO_MEMORY)
        return attn_error_no_memory(err);
    attn_buffer_append_string(&cells->words.bytes, "head ");
    attn_card_append_name(&at, &cells->words.bytes);
    if (!head->is_cross && cells->kinds && cells->kinds[0])
        attn_buffer_append_format(&cells->words.bytes, ": looks most at %s",
                                  cells->kinds[0]->words);
    if (attn_buffer_string(&cells->words.bytes))
        cells->words.title = cells->words.bytes.data;
    snprintf(cells->note, sizeof cells->note, "over %zu text%s%s", picture->cards->n_text,
             picture->cards->n_text == 1 ? "" : "s",
             picture->cards->has_all ? "" : "; middle and drawn of 256 by chance");
    cells->card = (struct attn_grid_card){table, head, NULL};
    cells->grid.card = &cells->card;
    cells->rows.axis = (struct attn_grid_axis){.n = ATTN_PATTERN_SIDE, .title = ""};
    cells->columns.axis = (struct attn_grid_axis){.n = ATTN_PATTERN_SIDE, .title = ""};
    return attn_buffer_check(&cells->words.bytes, err);
}
