/* sinks.c - attn-cli sinks: finds where heads park their weight. */
#include "cmd/args/question.h"
#include "cmd/line/report.h"

#include "attn.h"
#include "parts.h"
#include "tool.h"

/* Returns the number in column NAME of ROW; 0 if it is missing. */
static double number_of(const struct attn_table *table, size_t row, const char *name)
{
    const struct attn_cell cell = attn_table_cell(table, row, attn_table_find(table, name));

    return cell.type == ATTN_VALUE_REAL ? cell.real : 0;
}

/* Notes the share of heads with a sink at position 0, and of those with another. */
static void note_shares(const struct attn_table *table, bool has_items)
{
    const size_t n = attn_table_n_row(table);
    double first = 0;
    size_t n_other = 0;

    for (size_t row = 0; row < n; row++) {
        first += number_of(table, row, "first_rate");
        n_other += number_of(table, row, "n_other_sink") > 0;
    }
    if (n > 0)
        note("position 0 is a sink in %.1f%% of the heads%s, another column in %.1f%%%s",
             100 * first / (double)n, has_items ? ", mean over the items" : "",
             100 * (double)n_other / (double)n, has_items ? ", in any of them" : "");
}

static enum attn_status work(struct question *question, struct attn_error *err)
{
    const struct attn_sinks_args *how = question->how;
    const struct attn_items_args *asked = &question->args->items.asked;
    struct question_args *args = question->call->args;
    const struct attn_table *table;

    /* A model has hundreds of heads, and a screen shows the last rows. */
    if (!args->tables.order.sort && how->by == ATTN_SINKS_BY_HEAD &&
        attn_os_is_terminal(ATTN_OS_OUTPUT))
        args->tables.order.sort = "weight:asc";
    ATTN_TRY(question_check(question, err));
    ATTN_TRY(question_begin(question, err));
    ATTN_TRY(attn_sinks(question->host, &question->request, how, &question->table, err));
    ATTN_TRY(question_write(question, err));
    table = question->unsorted ? question->unsorted : question->table;
    if (question_is_noted(question) && how->by == ATTN_SINKS_BY_HEAD && !asked->study.group_by &&
        !asked->study.paired)
        note_shares(table, question->study != NULL);
    return ATTN_OK;
}

const struct command command_sinks = {
    QUESTION_COMMAND(sinks),
    .usage = "[OPTIONS] TEXT",
    .ask = work,
};
