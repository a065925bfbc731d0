/* score.c - attn-cli score: computes how surprising each token of a text is. */
#include "cmd/args/answer.h"
#include "cmd/args/question.h"
#include "cmd/line/options.h"
#include "cmd/line/report.h"

#include "attn.h"

#include <math.h>

#define EXAMPLE "attn-cli score -m fable \"The cat sat on the mat\""

static enum attn_status score(struct call *call, struct attn_error *err);

const struct command command_score = {
    QUESTION_COMMAND(score),
    .usage = "[OPTIONS] TEXT",
    .examples = "  " EXAMPLE "\n"
                "  attn-cli score -m fable --merge-words --csv words.csv -f text.txt\n"
                "  attn-cli score -m fable --stride 64 --jsonl - -f long.txt\n"
                "  attn-cli score -m fable --texts sentences.txt --lines\n"
                "  attn-cli score -m fable --items blimp.jsonl --group-by UID\n"
                "  attn-cli score -m fable --items npz.csv --marks --regions noun,verb \\\n"
                "    --group-by condition\n",
    .lacks = "image|embeds",
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
    const struct question_args *args = question->args;
    struct attn_score_args *how = question->how;
    struct attn_study_args texts = ATTN_STUDY_ARGS_DEFAULT;
    struct attn_score_sum sum = {0};

    ATTN_TRY(question_check(question, err));
    texts.are_texts = true;
    /* for question_check; question_begin sets it again */
    how->study = args->texts.path ? &texts : NULL;
    ATTN_TRY(question_begin(question, err));
    ATTN_TRY(attn_score(question->host, &question->request, how, &question->table, &sum, err));
    ATTN_TRY(question_write(question, err));
    if (question_is_noted(question) && !args->items.asked.items.path)
        note_sum(&sum, attn_model_config(attn_host_model(question->host))->is_encoder);
    return ATTN_OK;
}

static enum attn_status score(struct call *call, struct attn_error *err)
{
    struct question question = {.call = call, .unit = "tokens", .example = EXAMPLE};

    return question_answer(&question, work, err);
}
