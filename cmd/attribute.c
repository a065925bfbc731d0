/* attribute.c - attn-cli attribute: which part of the model writes a logit. */
#include "cmd/args/answer.h"
#include "cmd/args/question.h"
#include "cmd/line/options.h"
#include "cmd/line/report.h"

#include "attn.h"
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXAMPLE "attn-cli attribute --target ' are' --foil ' is' \"The keys to the cabinet\""

#define BASELINES "auto|mask|pad|mean|zero|grey"

/* Values of --by, in the order of its words. */
enum attribute_by { BY_PART, BY_TOKEN };

struct attribute_args {
    struct question_args question;
    int by;             /* enum attribute_by */
    const char *method; /* NULL: dla */
    bool merges_words;
    int baseline; /* of its words; 0: not given */
    const char *baseline_text, *baseline_ids, *baseline_image, *baseline_keep;
    int64_t n_generated; /* 0: not given */
    const char *continuation;
};

/* The memory that the work owns. */
struct taken {
    int32_t *baseline_ids;
    struct attn_generation made;
    struct attn_table *lens; /* over a picture of cells */
};

static const struct option attribute_rows[] = {
    OPTION_CHOICE("by", "part|token", struct attribute_args, by,
                  "part (default): one row per part of the model. token: one row per head and "
                  "key that it read from, those with the 20 largest magnitudes, or as --sort and "
                  "--limit have it"),
    OPTION_TEXT(
        "method", "METHOD", struct attribute_args, method,
        "dla (default): the parts that write a logit. For tokens of the text, by "
        "gradients of --metric: saliency, the length of the gradient of the token's "
        "embedding; grad_x_input, their product; ig[:N], integrated gradients, from "
        "--baseline to the text in N points (50); attnlrp and relp, the product by the rules of "
        "AttnLRP and RelP; relevance, attention times its gradient, followed through the layers, "
        "and relevance_norm, the same with each row divided by its sum. For "
        "cells of patterns: attn_x_grad, attention times its gradient, the 20 largest "
        "or --limit, with an estimate of what knocking each out changes; causes, the 30 largest "
        "of these with each MLP at a position whose output times its gradient is as large, for "
        "--figure causes"),
    OPTION_CHOICE(
        "baseline", BASELINES, struct attribute_args, baseline,
        "for ig: auto (default) is mask for encoders of texts with a mask token, grey for "
        "pictures, else mean. mask, pad: the embedding of this token at every position; "
        "mean: the mean embedding of the vocabulary; grey: every pixel 0 after "
        "normalization; zero: zeros. Without learned positions all that counts then lies "
        "close to them"),
    OPTION_TEXT("baseline-text", "TEXT", struct attribute_args, baseline_text,
                "for ig: another text of as many tokens"),
    OPTION_TEXT("baseline-ids", "LIST", struct attribute_args, baseline_ids,
                "the same by the ids of its tokens"),
    OPTION_TEXT("baseline-image", "FILE", struct attribute_args, baseline_image,
                "for ig: another picture with as many patches"),
    OPTION_TEXT(
        "baseline-keep", "LIST|none", struct attribute_args, baseline_keep,
        "for ig: positions or words that keep their embedding in the baseline. Default: the "
        "tokens that the tokenizer of an encoder added, like [CLS]"),
    OPTION_FLAG("merge-words", struct attribute_args, merges_words,
                "for tokens: print one row per word, with the sum over its tokens"),
    OPTION_NUMBER("generated", "N", struct attribute_args, n_generated, 1, INT32_MAX,
                  "for tokens: instead of --target, attribute each of the N most probable tokens "
                  "that follow the text to all tokens before it"),
    OPTION_TEXT("continuation", "TEXT", struct attribute_args, continuation,
                "the same for the tokens of TEXT, which follows the text"),
};

static const struct option_group attribute_options = OPTION_GROUP("Attribution", attribute_rows);

static const struct option_part parts[] = {
    {&question_input_options, offsetof(struct attribute_args, question)},
    {&answer_options, offsetof(struct attribute_args, question.answer)},
    {&attribute_options, 0},
    {&question_picture_options, offsetof(struct attribute_args, question)},
    {&question_options, offsetof(struct attribute_args, question)},
};

static enum attn_status attribute(struct call *call, struct attn_error *err);

const struct command command_attribute = {
    .name = "attribute",
    .summary = "how much each part of the model adds to a logit",
    .usage = "[OPTIONS] --target TEXT TEXT",
    .description =
        "Splits the logit of --target (minus that of --foil), a token after TEXT or a\n"
        "label, into what embedding, positions, heads, biases and MLPs add to it. The\n"
        "final norm divides by a number that depends on all parts: this number is kept as\n"
        "it is in the run, so that the parts add up. The row `sum` is their sum, the row\n"
        "`model` the logit that the model computes.\n"
        "\n"
        "The numbers say which parts write the answer into the residual stream directly.\n"
        "They do not say which part found it: a head that only shows later heads where to\n"
        "look has a small share here. `attn-cli ablate` measures that. Over --texts the\n"
        "numbers are means and standard deviations.\n"
        "\n"
        "With --method the tokens of the text, or the patches of a picture, get\n"
        "attributions, by gradients. These are about this text, this answer and, for ig,\n"
        "this baseline; they do not say what happens when a token is replaced. A note\n"
        "says when `sum` is far from `model`. With --source and without --target each\n"
        "token of TEXT is a target, attributed to the source and the tokens before it.\n",
    .examples = "  " EXAMPLE "\n"
                "  attn-cli attribute -m fable --target ' are' --by token --limit 5 \\\n"
                "      \"The keys to the cabinet\"\n"
                "  attn-cli attribute -m fable --target ' are' --method ig \"The keys to it\"\n",
    OPTION_PARTS(parts),
    .args_size = sizeof(struct attribute_args),
    .defaults = &(const struct attribute_args){.question = QUESTION_ARGS_DEFAULT},
    .work = attribute,
};

static bool is_by_gradients(const struct attribute_args *args)
{
    return args->method && strcmp(args->method, "dla") != 0;
}

#define METHOD_WORD(id, number, name, ...) "|" name
#define METHODS (&ATTN_ATTRIBUTE_METHOD_MAP(METHOD_WORD)[1])

static enum attn_status read_method(const char *text, struct attn_attribute_args *how,
                                    struct attn_error *err)
{
    const int method = method_find(METHODS, text, &how->n_point);
    char hint[VALUE_HINT_SIZE];

    how->method = (enum attn_attribute_method)method;
    if (method >= 0)
        return ATTN_OK;
    return refuse(
        err, value_hint("method", METHODS, text, strcspn(text, ":"), hint),
        "unknown --method '%s', expected dla, saliency, grad_x_input, ig, ig:N with N "
        "from 1 to 100000, attnlrp, relp, relevance, relevance_norm, attn_x_grad or causes",
        text);
}

/* The name of the option that asks for several targets, or NULL. */
static const char *find_continued(const struct attribute_args *args)
{
    const struct prompt_args *prompt = &args->question.prompt;
    const struct answer_args *answer = &args->question.answer;
    const bool has_answer = answer->target || answer->target_id >= 0 || answer->at;

    return args->n_generated > 0 ? "generated"
           : args->continuation  ? "continuation"
           : is_by_gradients(args) && (prompt->source || prompt->source_ids) && !has_answer &&
                   !args->question.items.path
               ? "source" /* whose text has the targets */
               : NULL;
}

static enum attn_status check_continued(const struct attribute_args *args, struct attn_error *err)
{
    const char *option = find_continued(args);
    const struct answer_args *answer = &args->question.answer;

    if (!option)
        return ATTN_OK;
    if (args->n_generated > 0 && args->continuation)
        return refuse(err, NULL, "--generated and --continuation are given, expected one of them");
    if (answer->target || answer->target_id >= 0 || answer->at)
        return refuse(err, NULL, "--%s has its own targets, and takes no --target and --at",
                      option);
    if (args->question.items.path)
        return refuse(err, "attribute each text alone",
                      "--%s and --items do not go together: each item has its own tokens", option);
    return ATTN_OK;
}

static enum attn_status check_split(const struct attribute_args *args, struct attn_error *err)
{
    const char *option = find_continued(args)               ? find_continued(args)
                         : args->merges_words               ? "merge-words"
                         : args->baseline > 0               ? "baseline"
                         : args->baseline_text              ? "baseline-text"
                         : args->baseline_ids               ? "baseline-ids"
                         : args->baseline_image             ? "baseline-image"
                         : args->baseline_keep              ? "baseline-keep"
                         : args->question.answer.metric > 0 ? "metric"
                                                            : NULL;

    if (!option)
        return ATTN_OK;
    return refuse(err, "--method ig", "--%s needs a --method other than dla", option);
}

static bool is_of_cells(enum attn_attribute_method method)
{
    return method == ATTN_ATTRIBUTE_ATTN_X_GRAD || method == ATTN_ATTRIBUTE_CAUSES;
}

static enum attn_status check_gradients(const struct attribute_args *args,
                                        enum attn_attribute_method method, struct attn_error *err)
{
    const int n_baseline = (args->baseline > 0) + (args->baseline_text != NULL) +
                           (args->baseline_ids != NULL) + (args->baseline_image != NULL);

    if (args->by != BY_PART)
        return refuse(err, NULL, "--by and --method do not go together: --by is of dla");
    if (args->question.texts.path)
        return refuse(err, NULL,
                      "--method %s and --texts do not go together: tokens belong to one text",
                      args->method);
    if (n_baseline > 1)
        return refuse(err, NULL, "a baseline is given twice");
    if ((n_baseline > 0 || args->baseline_keep) && method != ATTN_ATTRIBUTE_IG)
        return refuse(err, NULL, "a baseline is for --method ig");
    ATTN_TRY(check_continued(args, err));
    if (!is_of_cells(method))
        return ATTN_OK;
    if (args->merges_words)
        return refuse(err, NULL, "--merge-words is for tokens, and %s has cells", args->method);
    if (args->question.items.path)
        return refuse(err, NULL,
                      "--method %s and --items do not go together: cells belong to one text",
                      args->method);
    return ATTN_OK;
}

/* Reads the baseline; the work owns *ids. */
static enum attn_status read_baseline(const struct attribute_args *args,
                                      struct attn_attribute_args *how, int32_t **ids,
                                      struct attn_error *err)
{
    static const enum attn_baseline kinds[] = {ATTN_BASELINE_AUTO, ATTN_BASELINE_MASK,
                                               ATTN_BASELINE_PAD,  ATTN_BASELINE_MEAN,
                                               ATTN_BASELINE_ZERO, ATTN_BASELINE_GREY};

    how->baseline = kinds[args->baseline];
    how->baseline_keep = args->baseline_keep;
    if (args->baseline_text || args->baseline_ids || args->baseline_image)
        how->baseline = ATTN_BASELINE_GIVEN;
    how->given.image = args->baseline_image;
    return text_or_ids_read(args->baseline_text, args->baseline_ids, &how->given, ids, err);
}

/* Lets the request be about the text and what follows it. */
static enum attn_status continue_text(struct question *question, struct attn_attribute_args *how,
                                      struct attn_generation *made, struct attn_error *err)
{
    const struct attribute_args *args = question->call->args;
    struct attn_input *input = &question->request.input;

    if (args->n_generated == 0 && !args->continuation) {
        how->n_target = is_of_cells(how->method) ? 0 : SIZE_MAX;
        return ATTN_OK;
    }
    ATTN_TRY(attn_attribute_continue(question->host, &question->request, (size_t)args->n_generated,
                                     args->continuation, made, err));
    how->n_target = made->n;
    input->text = NULL;
    input->n_text = 0;
    input->ids = made->ids;
    input->n_id = made->n_prompt + made->n;
    return ATTN_OK;
}

static enum attn_status work(struct question *question, struct attn_error *err)
{
    const struct attribute_args *args = question->call->args;
    const struct tables_args *tables = &args->question.tables;
    struct attn_attribute_args how = ATTN_ATTRIBUTE_ARGS_DEFAULT;
    struct answer_ids ids;
    struct taken *taken = question->own;
    struct attn_input text;

    if (args->method)
        ATTN_TRY(read_method(args->method, &how, err));
    ATTN_TRY(how.method == ATTN_ATTRIBUTE_DLA ? check_split(args, err)
                                              : check_gradients(args, how.method, err));
    ATTN_TRY(read_baseline(args, &how, &taken->baseline_ids, err));
    ATTN_TRY(answer_check(&args->question.answer, err));
    how.answer = answer_of(&args->question.answer, &ids);
    how.by_token = args->by == BY_TOKEN;
    how.merges_words = args->merges_words;
    how.n_most = tables_limit(question->call, tables);
    question->how = &how;
    if (tables->sort && how.by_token)
        how.n_most = SIZE_MAX; /* they are sorted before they are counted */
    ATTN_TRY(question_begin(question, &how.study, err));
    text = question->request.input;
    if (find_continued(args))
        ATTN_TRY(continue_text(question, &how, &taken->made, err));
    ATTN_TRY(attn_attribute(question->host, &question->request, &how, &question->table, err));
    how.n_most = tables_limit(question->call, tables);
    question->picture.texts[0] =
        (struct attn_figure_text){.text = text.text, .n = text.n_text}; /* what follows it is not */
    if (how.n_target > 0) {
        question->drawn = question->table;
        question->table = NULL;
        ATTN_TRY(attn_attribute_matrix(question->drawn, &question->table, err));
    }
    if (!tables_have_pictures(tables))
        return question_write(question, err);
    if (is_of_cells(how.method)) {
        ATTN_TRY(
            attn_lens_over(question->host, &question->request, question->table, &taken->lens, err));
        question->picture.lens = taken->lens;
        return question_write_labelled(question, err);
    }
    if (question->request.input.image) /* a map over the picture */
        return question_write_labelled(question, err);
    return question_write(question, err);
}

static enum attn_status attribute(struct call *call, struct attn_error *err)
{
    const struct attribute_args *args = call->args;
    struct taken taken = {NULL, {0}, NULL};
    struct question question = {
        .call = call, .example = EXAMPLE, .name = "attribute", .own = &taken};
    enum attn_status status;

    question.reuse = find_continued(args) || (args->method && strncmp(args->method, "ig", 2) == 0);
    status = question_answer(&question, work, err);
    free(taken.baseline_ids);
    attn_generation_release(&taken.made);
    attn_table_free(taken.lens);
    return status;
}
