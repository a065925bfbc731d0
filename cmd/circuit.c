/* circuit.c - attn-cli circuit: scores the edges that carry the difference between two texts. */
#include "cmd/args/question.h"

#include "cmd/line/print.h"

#include "attn.h"
#include "parts.h"
#include "tool.h"

#include <math.h>
#include <string.h>

#define EXAMPLE                                                                                    \
    "attn-cli circuit --clean \"The keys near the door\" --corrupted \"The key near the door\" "   \
    "--target ' are' --foil ' is'"

enum { DEFAULT_MOST = 20 };

/* Prints below the edges of a circuit what it keeps of the answer, and its paths. */
static void print_facts(const struct question *question)
{
    const struct attn_cell share = attn_table_fact(question->table, "faithfulness");
    const struct attn_cell control = attn_table_fact(question->table, "control");
    const struct attn_cell paths = attn_table_fact(question->table, "paths");
    struct attn_buffer line = {0};

    if (attn_table_find(attn_table_about(question->table), "paths") == SIZE_MAX ||
        outputs_are_wanted(&question->args->tables.output))
        return;
    const size_t score = attn_table_find(question->table, "score");
    size_t n_against = 0;

    for (size_t i = 0; score != SIZE_MAX && i < attn_table_n_row(question->table); i++)
        n_against += attn_table_cell(question->table, i, score).real < 0;
    attn_buffer_append_format(
        &line, "\n%lld edges carry %.1f %% of the answer, random ones %.1f %%",
        (long long)attn_table_n_row(question->table), 100 * share.real, fabs(100 * control.real));
    if (n_against > 0)
        attn_buffer_append_format(&line, "; %zu of them work%s against it", n_against,
                                  n_against == 1 ? "s" : "");
    attn_buffer_append_char(&line, '\n');
    for (size_t at = 0, n; at < paths.size; at += n + 1) {
        const char *end = memchr(paths.text + at, '\n', paths.size - at);

        n = end ? (size_t)(end - paths.text) - at : paths.size - at;
        attn_escape_append(&line, paths.text + at, n);
        attn_buffer_append_char(&line, '\n');
    }
    print_text(question->call->out, attn_buffer_string(&line));
    attn_buffer_release(&line);
}

static enum attn_status work(struct question *question, struct attn_error *err)
{
    struct attn_circuit_args *how = question->how;
    struct question_args *args = question->call->args;
    const bool is_whole = how->curve || how->evaluate || how->n_edge > 0;
    struct attn_table_order drawn = ATTN_TABLE_ORDER_DEFAULT;

    args->tables.order.n_most =
        tables_limit_or(question->call, &args->tables, is_whole ? 0 : DEFAULT_MOST);
    question->example = EXAMPLE;
    question->reuse = how->method != ATTN_CIRCUIT_EAP;
    ATTN_TRY(question_check(question, err));
    ATTN_TRY(question_begin_pair(question, &how->corrupted, EXAMPLE, err));
    ATTN_TRY(attn_circuit(question->host, &question->request, how, &question->table, err));
    drawn.n_most = DEFAULT_MOST;
    if (args->tables.order.n_most == 0 && !is_whole && !option_find_given(question->call, "limit"))
        ATTN_TRY(attn_table_sort(question->table, &drawn, &question->drawn, err));
    ATTN_TRY(question_write(question, err));
    print_facts(question);
    return ATTN_OK;
}

const struct command command_circuit = {
    QUESTION_COMMAND(circuit),
    .usage = "[OPTIONS] --clean TEXT --corrupted TEXT --target TEXT",
    .ask = work,
    .lacks = "TEXT|sentence|file|ids|types|embeds|image|image-tiles|continuation|label|"
             "label-ids|label-image|source|source-file|source-ids",
};
