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
    bool merges_words;
    int64_t stride;      /* 0: not given */
    int per;             /* enum attn_score_per */
    const char *regions; /* NULL: not given */
};

static const struct option score_rows[] = {
    OPTION_FLAG("merge-words", struct score_args, merges_words,
                "print one row per word, with the sums of the bits and nats of its tokens; a "
                "word begins with white space, and what follows without a space belongs to it"),
    OPTION_NUMBER("stride", "S", struct score_args, stride, 1, INT32_MAX,
                  "score a text longer than the model takes in windows that move by S positions"),
    OPTION_CHOICE("per", "sum|token|word", struct score_args, per,
                  "for --items without a target: the log probability of a text is the sum over its "
                  "tokens (default), their mean, or the mean over its words"),
    OPTION_TEXT(
        "regions", "NAME,...", struct score_args, regions,
        "for --items: a row for each of these places of an item, its keys pos.NAME or words "
        "between marks (--marks), with the sums over the tokens of the place. Punctuation "
        "after a word is not in its region"),
};

static const struct option_group score_options = OPTION_GROUP("Scores", score_rows);

static const struct option_part parts[] = {
    {&question_input_options, offsetof(struct score_args, question)},
    {&answer_options, offsetof(struct score_args, question.answer)},
    {&score_options, 0},
    {&question_picture_options, offsetof(struct score_args, question)},
    {&question_options, offsetof(struct score_args, question)},
};

static enum attn_status score(struct call *call, struct attn_error *err);

const struct command command_score = {
    .name = "score",
    .summary = "how surprising each token of a text is",
    .usage = "[OPTIONS] TEXT",
    .description =
        "Prints for each token of TEXT how surprising it is given what came before:\n"
        "-log2 p (bits), -ln p (nats), its rank among all tokens, and the most probable\n"
        "token in its place. The first token has no score. An encoder such as BERT reads\n"
        "each token with a mask in its place, and special tokens have no score. Mean,\n"
        "perplexity and number of scored tokens go to standard error. For many texts the\n"
        "table has one row: the mean cost of a token, and its standard deviation over the\n"
        "texts; `attn-cli batch --fields surprisal` has the tokens of each text.\n\n"
        "For --items the table has one row, or one for each group of --group-by. Items\n"
        "with a target: the metric, whether the model is right, rank and probability of\n"
        "the target. Items with good and bad, two texts: the log probability of each,\n"
        "their difference, and whether the good one is more probable. Other items: nats,\n"
        "bits and tokens, or with --regions these for each region. The mean of the column\n"
        "right is the accuracy. A target of several tokens is scored by the sum of their\n"
        "log probabilities. Equal tokens have the mean of their ranks, and answers that\n"
        "differ by less than 1e-5 of the larger one, or of 1, are ties: neither right nor\n"
        "wrong.\n\n"
        "The numbers say what this model expects of this text. They depend on the\n"
        "tokenizer: compare models by bits over the same text, not by perplexity.\n"
        "A low score does not say that a sentence is true, or good.\n",
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

/* Refuses options that need items, and options that do not go with items. */
static enum attn_status check(const struct score_args *args, struct attn_error *err)
{
    if (args->question.items.path && (args->stride > 0 || args->merges_words))
        return refuse(err, NULL, "--%s and --items do not go together",
                      args->stride > 0 ? "stride" : "merge-words");
    if (args->question.items.path && args->per == 0 && args->question.tables.n_most > 0)
        return refuse(err, NULL, "--limit needs --per: a group has one row");
    if (args->question.items.path)
        return ATTN_OK;
    if (args->per > 0)
        return refuse(err, NULL, "--per needs --items");
    if (args->regions)
        return refuse(err, NULL, "--regions needs --items");
    if (answer_is_given(&args->question.answer))
        return refuse(err, "attn-cli run --target TOKEN TEXT measures one text",
                      "--target, --foil, --at and --metric need --items");
    return ATTN_OK;
}

static enum attn_status work(struct question *question, struct attn_error *err)
{
    const struct score_args *args = question->call->args;
    struct attn_score_args how = ATTN_SCORE_ARGS_DEFAULT;
    struct attn_study_args texts = ATTN_STUDY_ARGS_DEFAULT;
    const struct attn_study_args *study = NULL;
    struct attn_score_sum sum = {0};
    struct answer_ids ids;

    ATTN_TRY(check(args, err));
    how.stride = (size_t)args->stride;
    how.merges_words = args->merges_words;
    how.per = (enum attn_score_per)args->per;
    how.regions = args->regions;
    how.answer = answer_of(&args->question.answer, &ids);
    texts.are_texts = true;
    how.study = args->question.texts.path ? &texts : NULL; /* as it will be */
    question->how = &how;
    ATTN_TRY(question_begin(question, &study, err));
    how.study = study;
    ATTN_TRY(attn_score(question->host, &question->request, &how, &question->table, &sum, err));
    if (!how.study && !how.merges_words && how.stride == 0 &&
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
