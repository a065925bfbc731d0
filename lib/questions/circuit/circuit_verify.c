/* circuit_verify.c - exact effects of the edges with the largest scores: those of attn_patch with
 * `path`. */
#include "circuit/circuit_internal.h"

#include "base/buffer.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "machine/questions.h"
#include "tables/table_internal.h"

#include <assert.h>

/* Returns the name of the writer or of the reader of the edge in ROW. */
static struct attn_cell end_of(const struct attn_table *table, size_t row, bool is_reader)
{
    return attn_table_cell(table, row, attn_table_find(table, is_reader ? "to" : "from"));
}

/* Appends the names of the edges of the first N rows of TABLE: "0.mlp:2.7.v,3.6:3.mlp". */
static void list_edges(const struct attn_table *table, size_t n, struct attn_buffer *list)
{
    for (size_t row = 0; row < n; row++) {
        const struct attn_cell from = end_of(table, row, false);
        const struct attn_cell to = end_of(table, row, true);

        if (row > 0)
            attn_buffer_append_char(list, ',');
        attn_buffer_append(list, from.text, from.size);
        attn_buffer_append_char(list, ':');
        attn_buffer_append(list, to.text, to.size);
    }
}

/* Returns the row of PATCHED with the edge of ROW of TABLE. */
static size_t find_edge(const struct attn_table *patched, const struct attn_table *table,
                        size_t row)
{
    const struct attn_cell from = end_of(table, row, false), to = end_of(table, row, true);
    size_t i = 0;

    for (; i < attn_table_n_row(patched); i++) {
        const struct attn_cell its_from = end_of(patched, i, false);
        const struct attn_cell its_to = end_of(patched, i, true);

        if (attn_cell_is_equal(&its_from, &from) && attn_cell_is_equal(&its_to, &to))
            break;
    }
    assert(i < attn_table_n_row(patched)); /* it was patched */
    return i;
}

/* Copies the values and effects of the edges of the first N rows of TABLE from PATCHED. */
static void copy_effects(const struct attn_table *patched, size_t n, struct attn_table *table)
{
    static const char *const names[] = {"value", "effect"};

    for (size_t row = 0; row < n; row++)
        for (size_t i = 0; i < 2; i++)
            attn_table_set_real(table, row, attn_table_find(table, names[i]),
                                attn_table_cell(patched, find_edge(patched, table, row),
                                                attn_table_find(patched, names[i]))
                                    .real);
}

enum attn_status attn_circuit_verify(struct attn_host *host, const struct attn_request *given,
                                     const struct attn_circuit_args *args, struct attn_table *table,
                                     struct attn_error *err)
{
    const size_t n_row = attn_table_n_row(table);
    const size_t n = args->n_verified < n_row ? args->n_verified : n_row;
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_patch_args patch = ATTN_PATCH_ARGS_DEFAULT;
    struct attn_patch_sum sum = ATTN_PATCH_SUM_DEFAULT;
    struct attn_table *patched = NULL;
    struct attn_buffer list = {0};
    enum attn_status status;

    if (n == 0)
        return ATTN_OK;
    ATTN_TRY(attn_options_read(given, &request, err));
    request.on_note = NULL; /* the scores have told about the texts */
    patch.corrupted = args->corrupted;
    patch.answer = args->answer;
    patch.direction =
        args->is_to_restore ? ATTN_PATCH_DIRECTION_RESTORE : ATTN_PATCH_DIRECTION_NOISE;
    list_edges(table, n, &list);
    status = attn_buffer_check(&list, err);
    if (status == ATTN_OK)
        patch.path = attn_buffer_string(&list);
    if (status == ATTN_OK)
        status = attn_patch(host, &request, &patch, &patched, &sum, err);
    if (status == ATTN_OK)
        copy_effects(patched, n, table);
    attn_table_free(patched);
    attn_buffer_release(&list);
    return status;
}
