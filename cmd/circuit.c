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
    .lacks = "TEXT|sentence|file|raw|ids|types|embeds|image|image-tiles|continuation|label|"
             "label-ids|label-image|source|source-file|source-ids",
};

static enum attn_status work(struct question *question, struct attn_error *err)
{
    struct attn_circuit_args *how = question->how;
    struct question_args *args = question->call->args;
    const size_t n = tables_limit(question->call, &args->tables);
    const bool is_whole = how->curve || how->evaluate || how->n_edge > 0;

    args->tables.order.n_most = n == 0 && !is_whole ? DEFAULT_MOST : n == SIZE_MAX ? 0 : n;
    question->example = EXAMPLE;
    question->reuse = how->method == ATTN_CIRCUIT_EAP_IG;
    ATTN_TRY(question_check(question, err));
    ATTN_TRY(question_begin_pair(question, &how->corrupted, EXAMPLE, err));
    ATTN_TRY(attn_circuit(question->host, &question->request, how, &question->table, err));
    return question_write(question, err);
}
