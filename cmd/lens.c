/* lens.c - attn-cli lens: what each layer already knows of the next token. */
#include "cmd/args/answer.h"
#include "cmd/args/question.h"
#include "cmd/line/options.h"
#include "cmd/line/report.h"

#include "attn.h"

#define EXAMPLE "attn-cli lens -m fable \"The keys to the cabinet\""

struct lens_args {
    struct question_args question;
    const char *queries, *sites;
    int64_t top;
    bool reads_heads;
};

static const struct option lens_rows[] = {
    OPTION_TEXT("queries", "SPEC", struct lens_args, queries,
                "positions to read at, numbers or words of the text; default: -1, the last, for an "
                "encoder the mask, for a picture [CLS], for a classifier the token that it reads. "
                "An item is read at one"),
    OPTION_NUMBER("top", "K", struct lens_args, top, 1, INT32_MAX,
                  "print the K most probable tokens, or labels of a picture, of each reading; "
                  "default: 3"),
    OPTION_TEXT("sites", "LIST", struct lens_args, sites,
                "read these sites too: resid_mid, resid_post; default: resid_pre of each layer "
                "and resid_post of the last"),
    OPTION_FLAG("heads-out", struct lens_args, reads_heads,
                "read what each head by itself adds to the residual stream: the K largest and K "
                "smallest logits"),
};

static const struct option_group lens_options = OPTION_GROUP("Lens", lens_rows);

static const struct option_part parts[] = {
    {&question_input_options, offsetof(struct lens_args, question)},
    {&target_options, offsetof(struct lens_args, question.answer)},
    {&foil_options, offsetof(struct lens_args, question.answer)},
    {&lens_options, 0},
    {&question_picture_options, offsetof(struct lens_args, question)},
    {&question_options, offsetof(struct lens_args, question)},
};

static enum attn_status lens(struct call *call, struct attn_error *err);

const struct command command_lens = {
    .name = "lens",
    .summary = "what each layer already knows of the next token",
    .usage = "[OPTIONS] TEXT",
    .description =
        "Reads the residual stream of each layer with the model's own final norm and\n"
        "output matrix (the logit lens), and prints the most probable tokens, or with\n"
        "--target the rank of one, with --foil the difference of their logits. The last\n"
        "row is the model's own prediction. Over --texts and --items the numbers are\n"
        "means and standard deviations by layer: of the target, or over --texts of the K\n"
        "largest probabilities, whichever tokens have them.\n"
        "\n"
        "The numbers say from which layer on an answer can be read off the residual\n"
        "stream. They do not say that an earlier layer lacks it: that layer may hold it\n"
        "in another form, as the final norm was trained for the last layer alone.\n",
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
    const struct lens_args *args = question->call->args;
    struct attn_lens_args how = ATTN_LENS_ARGS_DEFAULT;
    struct answer_ids ids;

    how.top = (size_t)args->top;
    how.answer = answer_of(&args->question.answer, &ids);
    how.reads_heads = args->reads_heads;
    question->how = &how;
    question->request.selection.queries = args->queries; /* which the kind of figure depends on */
    ATTN_TRY(question_begin(question, &how.study, err));
    question->request.selection.queries = args->queries;
    question->request.selection.sites = args->sites;
    ATTN_TRY(attn_lens(question->host, &question->request, &how, &question->table, err));
    if (!args->question.texts.path && !args->question.items.path &&
        tables_have_pictures(&args->question.tables))
        return question_write_labelled(question, err);
    return question_write(question, err);
}

static enum attn_status lens(struct call *call, struct attn_error *err)
{
    const struct lens_args *args = call->args;
    const bool has_target = args->question.answer.target || args->question.answer.target_id >= 0;
    struct question question = {.call = call, .example = EXAMPLE, .name = "lens"};

    if ((has_target || args->question.items.path) && args->top > 0)
        return refuse(err, NULL, "--top lists the most probable tokens, and %s for one",
                      has_target ? "--target asks" : "items ask");
    return question_answer(&question, work, err);
}
