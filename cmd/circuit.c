/* circuit.c - attn-cli circuit: scores the edges that carry the difference between two texts. */
#include "cmd/args/question.h"

#include "attn.h"

#define EXAMPLE                                                                                    \
    "attn-cli circuit --clean \"The keys near the door\" --corrupted \"The key near the door\" "   \
    "--target ' are' --foil ' is'"

enum { DEFAULT_MOST = 20 };

static enum attn_status work(struct question *question, struct attn_error *err);

const struct command command_circuit = {
    QUESTION_COMMAND(circuit),
    .usage = "[OPTIONS] --clean TEXT --corrupted TEXT --target TEXT",
    .ask = work,
    .lacks = "TEXT|sentence|file|ids|types|embeds|image|image-tiles|continuation|label|"
             "label-ids|label-image|source|source-file|source-ids",
};

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
    return question_write(question, err);
}
