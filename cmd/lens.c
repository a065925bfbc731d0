/* lens.c - attn-cli lens: what each layer already knows of the next token. */
#include "cmd/args/question.h"

#include "attn.h"
#include "parts.h"
#include "tool.h"

/* Whether a file shows the table as a curve, to which the largest answers belong. Of rows that are
 * chosen the table alone is drawn. */
static bool draws_curve(const struct question *question)
{
    const struct tables_args *tables = &question->args->tables;
    const struct attn_lens_args *how = question->how;
    const enum attn_figure figure = tables->picture.options.figure;

    return tables_have_pictures(tables) && !tables->column && !tables_are_chosen(tables) &&
           !question->study && !how->answer.foil && !how->answer.foil_id &&
           (figure == ATTN_FIGURE_CURVE ||
            (figure == ATTN_FIGURE_DEFAULT && (how->answer.target || how->answer.target_id)));
}

static enum attn_status work(struct question *question, struct attn_error *err)
{
    enum { N_ANSWER = 3 };
    const struct attn_lens_args *how = question->how;
    struct attn_lens_args answers = *how;
    struct attn_request request;

    ATTN_TRY(question_check(question, err));
    ATTN_TRY(question_begin(question, err));
    request = question->request;
    if (question->args->tables.picture.options.figure != ATTN_FIGURE_LIFE) {
        ATTN_TRY(attn_lens(question->host, &question->request, how, &question->table, err));
        answers.n_answer = draws_curve(question) ? N_ANSWER : 0;
        request.on_note = NULL; /* the notes were sent */
        if (answers.n_answer > 0)
            ATTN_TRY(attn_lens(question->host, &request, &answers, &question->drawn, err));
        return question_write(question, err);
    }
    ATTN_TRY(attn_life(question->host, &question->request, how, &question->drawn, &question->table,
                       err));
    question->picture.lens = question->drawn;
    question->picture.life = question->table;
    return question_write(question, err);
}

const struct command command_lens = {QUESTION_COMMAND(lens), .usage = "[OPTIONS] TEXT",
                                     .ask = work};
