/* table_stacks.c - see table_stacks.h. */
#include "study/table_stacks.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/table_internal.h"
#include "trace/model_stack.h"

#include <string.h>

enum { N_KIND = 2 }; /* columns of layers: the row's, and the other one's of a pair */

static const struct attn_column stacks[N_KIND] = {
    {.name = "stack", .type = ATTN_VALUE_TEXT, .role = ATTN_ROLE_STACK},
    {.name = "other_stack", .type = ATTN_VALUE_TEXT, .role = ATTN_ROLE_STACK},
};

/* The column before the column AT of TABLE; NULL: none. */
static const struct attn_column *stack_before(const struct attn_table *table, size_t at)
{
    const enum attn_column_role role = attn_table_column(table, at)->role;

    return role == ATTN_ROLE_LAYER ? &stacks[0] : role == ATTN_ROLE_OTHER_LAYER ? &stacks[1] : NULL;
}

/* Whether ROW is about an MLP or the end of a layer, which are the decoder's, although layer 2N + 1
 * has them. */
static bool is_mlp(const struct attn_table *table, size_t row)
{
    bool is_found = false;

    for (size_t i = 0; i < attn_table_n_column(table); i++) {
        const enum attn_column_role role = attn_table_column(table, i)->role;
        const struct attn_cell cell = attn_table_cell(table, row, i);

        if ((role == ATTN_ROLE_PART || role == ATTN_ROLE_SITE) && cell.type == ATTN_VALUE_TEXT)
            is_found |= (cell.size >= 3 && memcmp(cell.text, "mlp", 3) == 0) ||
                        attn_cell_word(&cell, "resid_post normalized_resid_post") <= 1;
        is_found |= role == ATTN_ROLE_NEURON && cell.type == ATTN_VALUE_INTEGER;
    }
    return is_found;
}

/* Fills CELLS with ROW of TABLE. */
static void fill_row(const struct attn_table *table, size_t n_layer, size_t row,
                     struct attn_cell *cells)
{
    for (size_t i = 0, at = 0; i < attn_table_n_column(table); i++, at++) {
        struct attn_cell cell = attn_table_cell(table, row, i);

        if (stack_before(table, i)) {
            const bool has_layer = cell.type == ATTN_VALUE_INTEGER;
            const bool is_first = has_layer && cell.integer >= (int64_t)n_layer;
            const bool is_cross = has_layer && cell.integer % 2 != 0 && !is_mlp(table, row);
            const char *name = attn_model_stack_name(is_first   ? ATTN_STACK_ENCODER
                                                     : is_cross ? ATTN_STACK_CROSS
                                                                : ATTN_STACK_DECODER);

            cells[at++] = attn_cell_text(has_layer ? name : NULL, strlen(name));
            cell.integer = is_first ? cell.integer - (int64_t)n_layer : cell.integer / 2;
        }
        cells[at] = cell;
    }
}

enum attn_status attn_table_name_stacks(const struct attn_table *table, size_t n_layer,
                                        struct attn_table **named, struct attn_error *err)
{
    const size_t n = attn_table_n_column(table);
    struct attn_column *columns = attn_alloc(n + N_KIND, sizeof *columns, err);
    struct attn_cell *cells = attn_alloc(n + N_KIND, sizeof *cells, err);
    struct attn_table *made = NULL;
    enum attn_status status = columns && cells ? ATTN_OK : ATTN_NO_MEMORY;
    size_t at = 0;

    for (size_t i = 0; status == ATTN_OK && i < n; i++) {
        if (stack_before(table, i))
            columns[at++] = *stack_before(table, i);
        columns[at++] = *attn_table_column(table, i);
    }
    if (status == ATTN_OK && at > n)
        status = attn_table_create(attn_table_name(table), columns, at, &made, err);
    if (made)
        status = attn_table_copy_about(table, made, err);
    for (size_t row = 0; status == ATTN_OK && made && row < attn_table_n_row(table); row++) {
        fill_row(table, n_layer, row, cells);
        status = attn_table_append(made, cells, at, err);
    }
    attn_free(columns);
    attn_free(cells);
    ATTN_RETURN_MADE(status, named, made, attn_table_free);
}
