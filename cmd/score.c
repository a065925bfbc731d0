/* score.c - attn-cli score: how surprising each token of a text is. */
#include "cmd/args/answer.h"
#include "cmd/args/question.h"
#include "cmd/line/options.h"
#include "cmd/line/report.h"

#include "attn.h"

#include <math.h>

#define EXAMPLE "attn-cli score -m fable \"The cat sat on the mat\""

struct score_args {
    struct question_args question;
    struct attn_score_args how;
};

static const struct option_group score_options = {.question = &attn_question_score};

static const struct option_part parts[] = {
    {&question_input_options, offsetof(struct score_args, question)},
    {&score_options, offsetof(struct score_args, how)},
    {&question_picture_options, offsetof(struct score_args, question)},
    {&question_options, offsetof(struct score_args, question)},
};

static enum attn_status score(struct call *call, struct attn_error *err);

const struct command command_score = {
    .name = "score",
    .question = &attn_question_score,
    .usage = "[OPTIONS] TEXT",
    .examples = "  " EXAMPLE "\n"
                "  attn-cli score -m fable --merge-words --csv words.csv -f text.txt\n"
                "  attn-cli score -m fable --stride 64 --jsonl - -f long.txt\n"
                "  attn-cli score -m fable --texts sentences.txt --lines\n"
                "  attn-cli score -m fable --items blimp.jsonl --group-by UID\n"
                "  attn-cli score -m fable --items npz.csv --marks --regions noun,verb \\\n"
                "    --group-by condition\n",
    OPTION_PARTS(parts),
    .lacks = "image|embeds",
    .args_size = sizeof(struct score_args),
    .defaults = &(const struct score_args){.question = QUESTION_ARGS_DEFAULT},
    .work = score,
};

static void note_sum(const struct attn_score_sum *sum, bool is_encoder)
{
    if (sum->n_token == 0) {
        note(is_encoder ? "no token was scored: all of them are special"
                        : "no token was scored: nothing comes before the first");
        return;
    }
    const double mean = sum->nats / (double)sum->n_token;
    note("mean %.4f bits (%.4f nats), perplexity %.4f, %zu token%s", mean / M_LN2, mean,
         attn_exp(mean), sum->n_token, sum->n_token == 1 ? "" : "s");
}

static enum attn_status work(struct question *question, struct attn_error *err)
{
    struct score_args *args = question->call->args;
    struct attn_score_args *how = &args->how;
    struct attn_study_args texts = ATTN_STUDY_ARGS_DEFAULT;
    const struct attn_study_args *study = NULL;
    struct attn_score_sum sum = {0};

    ATTN_TRY(question_check(question, &attn_question_score, err));
    texts.are_texts = true;
    how->study = args->question.texts.path ? &texts : NULL; /* as it will be */
    question->how = how;
    ATTN_TRY(question_begin(question, &study, err));
    how->study = study;
    ATTN_TRY(attn_score(question->host, &question->request, how, &question->table, &sum, err));
    if (!how->study && !how->merges_words && how->stride == 0 &&
        tables_have_pictures(&args->question.tables)) {
        ATTN_TRY(question_write_labelled(question, err));
    } else {
        ATTN_TRY(question_write(question, err));
    }
    if (question_is_noted(question) && !args->question.items.path)
        note_sum(&sum, attn_model_config(attn_host_model(question->host))->is_encoder);
    return ATTN_OK;
}

static enum attn_status score(struct call *call, struct attn_error *err)
{
    struct question question = {
        .call = call, .unit = "tokens", .example = EXAMPLE, .name = "score"};

    return question_answer(&question, work, err);
}
