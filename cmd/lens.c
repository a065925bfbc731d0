/* lens.c - attn-cli lens: what each layer already knows of the next token. */
#include "cmd/args/question.h"

#include "attn.h"
#include "tool.h"

/* The tables of --figure life; owned. */
struct life {
    struct attn_table *tokens, *parts;
};

static void release_life(void *own)
{
    struct life *life = own;

    attn_table_free(life->tokens);
    attn_table_free(life->parts);
}

static enum attn_status work(struct question *question, struct attn_error *err);

const struct command command_lens = {
    QUESTION_COMMAND(lens),          .usage = "[OPTIONS] TEXT", .ask = work,
    .own_size = sizeof(struct life), .release = release_life,
};

static enum attn_status work(struct question *question, struct attn_error *err)
{
    const struct attn_lens_args *how = question->how;
    struct life *life = question->own;

    ATTN_TRY(question_check(question, err));
    ATTN_TRY(question_begin(question, err));
    if (question->args->tables.picture.options.figure == ATTN_FIGURE_LIFE) {
        ATTN_TRY(
            attn_life(question->host, &question->request, how, &life->tokens, &life->parts, err));
        question->picture.lens = life->tokens;
        question->picture.life = life->parts;
    }
    ATTN_TRY(attn_lens(question->host, &question->request, how, &question->table, err));
    return question_write(question, err);
}
