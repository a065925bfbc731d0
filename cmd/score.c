/* score.c - attn-cli score: computes how surprising each token of a text is. */
#include "cmd/args/question.h"
#include "cmd/line/options.h"
#include "cmd/line/report.h"

#include "attn.h"
#include "parts.h"

#include <math.h>

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

/* Refuses a model of sentences without labels, which has no scores. */
static enum attn_status check_output(const struct question *question, struct attn_error *err)
{
    const struct attn_model *model = attn_host_model(question->host);

    return !model || !attn_model_config(model)->is_sentence ||
                   prompt_has_labels(&question->args->prompt)
               ? ATTN_OK
               : refuse(err, "attn-cli run TEXT --label OTHER prints the cosine of two texts",
                        "'%s' makes a vector of a text: it has no surprisal of tokens",
                        attn_quote_string(attn_model_name(model)).text);
}

static enum attn_status work(struct question *question, struct attn_error *err)
{
    struct attn_score_args *how = question->how;
    struct attn_score_sum sum = ATTN_SCORE_SUM_DEFAULT;

    question->unit = "tokens";
    /* with each metric the foil decides the column `right` */
    ATTN_TRY(attn_question_check(&attn_question_score, option_is_param_given, question->call, err));
    ATTN_TRY(question_begin(question, err));
    ATTN_TRY(check_output(question, err));
    if (how->measures && question->study && outputs_are_wanted(&question->args->tables.output))
        return refuse(err, "--each FILE has the rows",
                      "words of `items` make no table over all items");
    ATTN_TRY(attn_score(question->host, &question->request, how, &question->table, &sum, err));
    if (how->measures && question->study)
        return ATTN_OK;
    ATTN_TRY(question_write(question, err));
    if (question_has_sum(question, sum.n_token))
        note_sum(&sum, attn_model_config(attn_host_model(question->host))->is_encoder);
    return ATTN_OK;
}

const struct command command_score = {
    QUESTION_COMMAND(score),
    .usage = "[OPTIONS] TEXT",
    .examples = "  attn-cli score -m fable \"The cat sat on the mat\"\n"
                "  attn-cli score -m fable --by word --csv words.csv -f text.txt\n"
                "  attn-cli score -m fable --stride 64 --jsonl - -f long.txt\n"
                "  attn-cli score -m fable --items sentences.txt --items-format lines\n"
                "  attn-cli score -m fable --items blimp.jsonl --group-by UID\n"
                "  attn-cli score -m fable --items npz.csv --marks --regions noun,verb \\\n"
                "    --group-by condition\n",
    .lacks = "embeds",
    .ask = work,
};
