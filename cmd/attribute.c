/* attribute.c - attn-cli attribute: finds which part of the model contributes to a logit. */
#include "cmd/args/question.h"
#include "cmd/line/options.h"

#include "attn.h"
#include "parts.h"
#include "tool.h"

#include <string.h>

enum { DEFAULT_MOST = 20 }; /* pairs of a score */

static void release_made(void *made)
{
    attn_generation_release(made);
}

/* Returns true if there are several targets: the tokens that follow the text or, if there is a
 * source, the tokens of the text. */
static bool is_continued(const struct call *call)
{
    const struct question_args *args = call->args;
    const struct prompt_args *prompt = &args->prompt;
    const struct attn_attribute_args *how = call->how;
    const struct attn_answer_args *answer = &how->answer;

    return option_find_given(call, "generated|continuation") ||
           (how->method != ATTN_ATTRIBUTE_DLA && attn_input_is_given(&prompt->asked.source) &&
            !answer->target && !answer->target_id && !answer->at.text &&
            !args->items.asked.items.path);
}

/* Makes the request run over the text and its continuation. */
static enum attn_status continue_text(struct question *question, struct attn_attribute_args *how,
                                      struct attn_generation *made, struct attn_error *err)
{
    const char *generated = option_text(question->call, "generated");
    const char *continuation = option_text(question->call, "continuation");
    struct attn_input *input = &question->request.input;
    int64_t n = 0;

    if (!generated && !continuation) {
        how->n_target = how->method == ATTN_ATTRIBUTE_ATTN_X_GRAD ||
                                how->method == ATTN_ATTRIBUTE_CAUSES /* they are of cells */
                            ? 0
                            : SIZE_MAX;
        return ATTN_OK;
    }
    if (question->args->items.asked.items.path) {
        input->continuation = continuation;
        input->n_continuation = strlen(continuation);
        return ATTN_OK;
    }
    if (generated)
        attn_parse_int(generated, strlen(generated), 1, INT32_MAX, &n);
    ATTN_TRY(attn_attribute_continue(question->host, &question->request, (size_t)n, continuation,
                                     made, err));
    how->n_target = made->n;
    input->continuation_ids = made->ids + made->n_prompt;
    input->n_continuation_id = made->n;
    return ATTN_OK;
}

/* Keeps the largest of the pairs of a score for the table; pictures have all of them. */
static enum attn_status keep_largest(struct question *question, struct attn_error *err)
{
    struct attn_table_order order = ATTN_TABLE_ORDER_DEFAULT;

    order.n_most = tables_limit_or(question->call, &question->args->tables, DEFAULT_MOST);
    order.n_group = question->items.sum.n_label;
    question->drawn = question->table;
    question->table = NULL;
    return attn_table_sort(question->drawn, &order, &question->table, err);
}

static enum attn_status work(struct question *question, struct attn_error *err)
{
    const struct tables_args *tables = &question->args->tables;
    struct attn_attribute_args *how = question->how;
    struct attn_generation *made = question->own;
    struct attn_input text;

    *made = ATTN_GENERATION_DEFAULT;
    question->reuse = is_continued(question->call) || how->method == ATTN_ATTRIBUTE_IG;
    ATTN_TRY(question_check(question, err));
    how->n_most = tables_limit(question->call, tables);
    if (how->score.text || (tables->order.sort && how->by == ATTN_ATTRIBUTE_BY_TOKEN))
        how->n_most = SIZE_MAX; /* sorted before they are limited */
    ATTN_TRY(question_begin(question, err));
    text = question->request.input;
    if (is_continued(question->call))
        ATTN_TRY(continue_text(question, how, made, err));
    ATTN_TRY(attn_attribute(question->host, &question->request, how, &question->table, err));
    if (how->score.text && !tables->order.sort)
        ATTN_TRY(keep_largest(question, err));
    how->n_most = tables_limit(question->call, tables);
    question->picture.texts[0] = (struct attn_figure_text){
        .text = text.text, .n = text.n_text}; /* without its continuation */
    if (how->n_target > 0) {
        question->drawn = question->table;
        question->table = NULL;
        ATTN_TRY(attn_attribute_matrix(question->drawn, &question->table, err));
    }
    return question_write(question, err);
}

const struct command command_attribute = {
    QUESTION_COMMAND(attribute),
    .usage = "[OPTIONS] --target TEXT TEXT",
    .examples = "  attn-cli attribute --target ' are' --foil ' is' \"The keys to the cabinet\"\n"
                "  attn-cli attribute -m fable --target ' are' --by token --limit 5 \\\n"
                "      \"The keys to the cabinet\"\n"
                "  attn-cli attribute -m fable --score 'cabinet>keys@2.5' --limit 5 \\\n"
                "      \"The keys to the cabinet\"\n"
                "  attn-cli attribute -m fable --target ' are' --method ig \"The keys to it\"\n",
    .ask = work,
    .own_size = sizeof(struct attn_generation),
    .release = release_made,
};
