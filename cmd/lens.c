/* lens.c - attn-cli lens: what each layer already knows of the next token. */
#include "cmd/args/question.h"
#include "cmd/line/options.h"

#include "tool.h"

#define EXAMPLE "attn-cli lens -m fable \"The keys to the cabinet\""

struct lens_args {
    struct question_args question;
    struct attn_lens_args how;
    struct attn_request asked; /* its queries and sites */
};

static const struct option_group lens_options = {.question = &attn_question_lens,
                                                 .request = offsetof(struct lens_args, asked)};

static const struct option_part parts[] = {
    {&question_input_options, offsetof(struct lens_args, question)},
    {&lens_options, offsetof(struct lens_args, how)},
    {&question_picture_options, offsetof(struct lens_args, question)},
    {&question_options, offsetof(struct lens_args, question)},
};

static enum attn_status lens(struct call *call, struct attn_error *err);

const struct command command_lens = {
    .name = "lens",
    .question = &attn_question_lens,
    .usage = "[OPTIONS] TEXT",
    .examples = "  " EXAMPLE "\n"
                "  attn-cli lens -m fable --target ' are' --csv - \"The keys to the cabinet\"\n"
                "  attn-cli lens -m fable --heads-out --top 1 \"The keys to the cabinet\"\n"
                "  attn-cli lens -m fable --target ' are' --texts sentences.txt --lines\n",
    OPTION_PARTS(parts),
    .lacks = "dropout|seed",
    .args_size = sizeof(struct lens_args),
    .defaults = &(const struct lens_args){.question = QUESTION_ARGS_DEFAULT},
    .work = lens,
};

static enum attn_status work(struct question *question, struct attn_error *err)
{
    struct lens_args *args = question->call->args;
    struct attn_lens_args *how = &args->how;

    ATTN_TRY(question_check(question, &attn_question_lens, err));
    question->how = how;
    question->request.selection.queries = args->asked.selection.queries; /* of the kind of figure */
    ATTN_TRY(question_begin(question, &how->study, err));
    question->request.selection.queries = args->asked.selection.queries;
    question->request.selection.sites = args->asked.selection.sites;
    ATTN_TRY(attn_lens(question->host, &question->request, how, &question->table, err));
    if (!how->study && tables_have_pictures(&args->question.tables))
        return question_write_labelled(question, err);
    return question_write(question, err);
}

static enum attn_status lens(struct call *call, struct attn_error *err)
{
    struct question question = {.call = call, .example = EXAMPLE, .name = "lens"};

    return question_answer(&question, work, err);
}
