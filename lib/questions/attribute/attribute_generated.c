#include "attribute/attribute_generated.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/given.h"
#include "frame/asked.h"
#include "means/rows.h"
#include "predict/prediction.h"
#include "run/prepared_extra.h"

#include <string.h>

/* Copies the ids of the text of RUN, whose continuation is the generation. */
static enum attn_status copy_ids(const struct attn_run *run, struct attn_generation *made,
                                 struct attn_error *err)
{
    const size_t n = attn_asked_n(run);

    made->n_prompt = attn_asked_text(run)->n_given;
    made->n = n - made->n_prompt;
    ATTN_TRY(ATTN_ALLOC(made->ids, n, err));
    memcpy(made->ids, attn_asked_text(run)->ids, n * sizeof *made->ids);
    return ATTN_OK;
}

enum attn_status attn_attribute_continue(struct attn_host *host, const struct attn_request *request,
                                         size_t n_most, const char *continuation,
                                         struct attn_generation *made, struct attn_error *err)
{
    const struct attn_generate_args args = {.size = sizeof args, .n_most = n_most};
    struct attn_generation own = ATTN_GENERATION_DEFAULT;
    struct attn_request continued = ATTN_REQUEST_DEFAULT;
    struct attn_run *run = NULL;
    enum attn_status status;

    ATTN_TRY(attn_results_check(made, "made", err));
    if (!continuation) {
        ATTN_TRY(attn_generate(host, request, &args, made, err));
        if (made->n > 0 && made->n_prompt > 0)
            return ATTN_OK;
        attn_generation_release(made);
        return attn_refuse(err, ATTN_STAGE_INPUT, "the text ends here: the model adds no token");
    }
    ATTN_TRY(attn_options_read(request, &continued, err));
    continued.input.continuation = continuation;
    continued.input.n_continuation = strlen(continuation);
    ATTN_TRY(attn_run_open(host, NULL, &continued, &run, err));
    status = attn_error_at(copy_ids(run, &own, err), ATTN_STAGE_INPUT, err);
    attn_run_free(run);
    if (status == ATTN_OK)
        attn_results_write(&own, sizeof own, made);
    return status;
}

/* Returns the index after the last row of TABLE with the same target as ROW. */
static size_t end_of_target(const struct attn_table *table, size_t row)
{
    const int64_t step = attn_table_cell(table, row, 0).integer;

    while (row < attn_table_n_row(table) && attn_table_cell(table, row, 0).integer == step)
        row++;
    return row;
}

static bool is_of_token(const struct attn_table *table, size_t row)
{
    return attn_table_cell(table, row, attn_table_find_role(table, ATTN_ROLE_POSITION)).type !=
           ATTN_VALUE_MISSING;
}

/* Creates a matrix whose columns are named after the rows of TABLE from FIRST on, the rows of its
 * last target. */
static enum attn_status create_matrix(const struct attn_table *table, size_t first,
                                      struct attn_table **matrix, struct attn_error *err)
{
    const size_t n = attn_table_n_row(table) - first;
    const size_t part = attn_table_find_role(table, ATTN_ROLE_PART);
    const size_t token = attn_table_find_role(table, ATTN_ROLE_TOKEN);
    const size_t position = attn_table_find_role(table, ATTN_ROLE_POSITION);
    const size_t value = attn_table_find(table, "attribution");
    struct attn_buffer names = {0};
    struct attn_column *made = attn_alloc(n + 2, sizeof *made, err);
    enum attn_status status = made ? ATTN_OK : ATTN_NO_MEMORY;

    for (size_t i = 0; made && i < n; i++) {
        const bool is_token = is_of_token(table, first + i);
        const struct attn_cell name = attn_table_cell(table, first + i, part);
        const struct attn_cell text = is_token ? attn_table_cell(table, first + i, token) : name;

        if (is_token) {
            if (attn_cell_word(&name, "source") == 0)
                attn_buffer_append_string(&names, "source:");
            attn_buffer_append_integer(&names, attn_table_cell(table, first + i, position).integer);
            attn_buffer_append_char(&names, '|');
        }
        attn_escape_append(&names, text.text, text.size);
        attn_buffer_append_char(&names, '\0');
    }
    ATTN_THEN(status, attn_buffer_check(&names, err));
    if (status == ATTN_OK) {
        const char *name = names.data;

        made[0] = *attn_table_column(table, 0);
        made[1] = *attn_table_column(table, 1);
        for (size_t i = 0; i < n; i++, name += strlen(name) + 1) {
            made[i + 2] = *attn_table_column(table, value);
            made[i + 2].name = name;
            made[i + 2].traits = 0; /* rows are targets */
        }
        status = attn_table_create(attn_table_name(table), made, n + 2, matrix, err);
    }
    attn_buffer_release(&names);
    attn_free(made);
    return status;
}

enum attn_status attn_attribute_matrix(const struct attn_table *table, struct attn_table **matrix,
                                       struct attn_error *err)
{
    const size_t n_row = attn_table_n_row(table), value = attn_table_find(table, "attribution");
    size_t last = 0;
    struct attn_table *made = NULL;
    struct attn_cell *cells;
    enum attn_status status;

    if (!attn_is_given(matrix, "matrix", err) ||
        !attn_is_given(n_row > 0 && attn_table_find(table, "step") == 0, "table", err))
        return ATTN_INVALID;
    while (end_of_target(table, last) < n_row)
        last = end_of_target(table, last);
    ATTN_TRY(ATTN_ALLOC(cells, n_row - last + 2, err));
    status = create_matrix(table, last, &made, err);
    for (size_t row = 0; status == ATTN_OK && row < n_row;) {
        const size_t first = row, end = end_of_target(table, row);

        memset(cells, 0, (n_row - last + 2) * sizeof *cells);
        cells[0] = attn_table_cell(table, row, 0);
        cells[1] = attn_table_cell(table, row, 1);
        for (; row < end; row++) { /* parts follow the tokens */
            const size_t at = is_of_token(table, row) ? row - first : n_row - last + row - end;

            cells[at + 2] = attn_table_cell(table, row, value);
        }
        status = attn_table_append(made, cells, n_row - last + 2, err);
    }
    attn_free(cells);
    ATTN_THEN(status, attn_table_copy_about(table, made, err));
    ATTN_RETURN_MADE(status, matrix, made, attn_table_free);
}
