/* examples.c - attn-cli examples: what a head does on a corpus. */
#include "cmd/args/question.h"
#include "cmd/line/report.h"

#include "attn.h"
#include "parts.h"
#include "tool.h"

#define EXAMPLE "attn-cli examples -m fable --heads 2.5 --items corpus.csv"

static enum attn_status work(struct question *question, struct attn_error *err)
{
    struct attn_examples_args *how = question->how;

    question->example = EXAMPLE;
    if (!question->args->items.asked.items.path && !prompt_is_given(&question->args->prompt))
        return refuse(err, EXAMPLE, "`items` is not given: examples are found among many texts");
    ATTN_TRY(question_check(question, err));
    how->keeps_rows = output_path(&question->args->tables.output, "html");
    ATTN_TRY(question_begin(question, err));
    ATTN_TRY(attn_examples(question->host, &question->request, how, &question->table, err));
    return question_write(question, err);
}

const struct command command_examples = {QUESTION_COMMAND(examples),
                                         .usage = "[OPTIONS] --items FILE", .ask = work};
