/* lens.c - attn-cli lens: what each layer already knows of the next token. */
#include "cmd/args/question.h"

#include "attn.h"
#include "tool.h"

static enum attn_status work(struct question *question, struct attn_error *err);

const struct command command_lens = {QUESTION_COMMAND(lens), .usage = "[OPTIONS] TEXT",
                                     .ask = work};

static enum attn_status work(struct question *question, struct attn_error *err)
{
    const struct attn_lens_args *how = question->how;

    ATTN_TRY(question_check(question, err));
    ATTN_TRY(question_begin(question, err));
    if (question->args->tables.picture.options.figure != ATTN_FIGURE_LIFE) {
        ATTN_TRY(attn_lens(question->host, &question->request, how, &question->table, err));
        return question_write(question, err);
    }
    ATTN_TRY(attn_life(question->host, &question->request, how, &question->drawn, &question->table,
                       err));
    question->picture.lens = question->drawn;
    question->picture.life = question->table;
    return question_write(question, err);
}
