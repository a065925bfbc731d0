/* diff.c - attn-cli diff: what differs between two texts, models or kinds of attention. */
#include "cmd/args/question.h"
#include "cmd/line/options.h"
#include "cmd/line/report.h"

#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXAMPLE "attn-cli diff -m fable \"The key was old\" \"The keys was old\""

struct diff_args {
    struct question_args question; /* its plain arguments are the texts */
    const char *ids;               /* of the one text of `with` and `with_attention` */
    const char *a_ids, *b_ids;
    const char *with;           /* a model */
    const char *with_attention; /* a kind */
    double tolerance, relative; /* of archives; below 0: not given */
};

static const struct option diff_rows[] = {
    OPTION_PLAIN("TEXT", struct diff_args, question.prompt.plain, NULL),
    OPTION_LIST("sentence", "TEXT", struct diff_args, question.prompt.plain,
                "a text by name, once or twice"),
    OPTION_TEXT("ids", "LIST", struct diff_args, ids,
                "token ids instead of the one text of --with or --with-attention: 5,17,3"),
    OPTION_TEXT("a-ids", "LIST", struct diff_args, a_ids,
                "token ids instead of the first text: 5,17,3"),
    OPTION_TEXT("b-ids", "LIST", struct diff_args, b_ids, "token ids instead of the second text"),
    OPTION_TEXT("with", "MODEL", struct diff_args, with,
                "compare one text under --model and under MODEL, which must have as many layers "
                "and heads and make the same tokens of it: another quantization of it, for "
                "instance"),
    OPTION_TEXT("with-attention", "KIND", struct diff_args, with_attention,
                "compare one text under --attention and under KIND, which is written in the same "
                "way"),
    OPTION_REAL("tolerance", "X", struct diff_args, tolerance,
                "largest difference |a - b| of two dumps that counts as none; default: 1e-4"),
    OPTION_REAL("relative-tolerance", "R", struct diff_args, relative,
                "add R times |b|, of the second dump, to --tolerance, as allclose of numpy does; "
                "default: 0"),
};

static const struct option_group diff_options = OPTION_GROUP("Input", diff_rows);

static const struct option_part parts[] = {
    {&diff_options, 0},
    {&special_options, offsetof(struct diff_args, question.prompt)},
    {&pair_options, offsetof(struct diff_args, question.prompt)},
    {&source_options, offsetof(struct diff_args, question.prompt)},
    {&items_options, offsetof(struct diff_args, question.items)},
    {&restart_options, offsetof(struct diff_args, question.items.restart)},
    {&question_picture_options, offsetof(struct diff_args, question)},
    {&question_options, offsetof(struct diff_args, question)},
};

static enum attn_status diff(struct call *call, struct attn_error *err);

const struct command command_diff = {
    .name = "diff",
    .summary = "what differs between two texts, models or attentions",
    .usage = "[OPTIONS] TEXT [TEXT] | A.npz B.npz",
    .description =
        "Compares where the heads look in two texts, or in one text under two models or\n"
        "two kinds of attention: total variation and Jensen-Shannon divergence of the\n"
        "rows of each head. In a causal model, rows before the first token that differs\n"
        "must be the same: they are compared bit for bit, and a note says how many they\n"
        "are. For texts of different lengths the common beginning and the common end are\n"
        "compared.\n"
        "\n"
        "Two arguments that end in .npz are dumps: written by attn-cli, or by numpy.savez\n"
        "from Hugging Face or TransformerLens. They are compared array by array, and the\n"
        "exit code is 7 when one differs by more than --tolerance: so a port can be\n"
        "verified. Numbers of -1e30 or less are masked scores, as minus infinity is.\n"
        "\n"
        "The numbers say that a head looks elsewhere. They do not say that its output\n"
        "differs, nor that the prediction does: see `attn-cli patch`.\n",
    .examples = "  " EXAMPLE "\n"
                "  attn-cli diff -m fable --with-attention window:4 --csv - \"The keys to the\"\n"
                "  attn-cli diff ours.npz theirs.npz --tolerance 1e-5\n",
    OPTION_PARTS(parts),
    .args_size = sizeof(struct diff_args),
    .defaults = &(
        const struct diff_args){.question = QUESTION_ARGS_DEFAULT, .tolerance = -1, .relative = -1},
    .work = diff,
};

/* The memory of the second run. */
struct other {
    struct attn_host *host; /* NULL: the host of the first run */
    struct attn_request request;
    struct attn_attention_change changed;
    struct attn_mask_array mask;
    int32_t *a_ids, *b_ids;
};

static enum attn_status check(const struct diff_args *args, struct attn_error *err)
{
    const size_t n = args->question.prompt.plain.n + !!args->ids + !!args->a_ids + !!args->b_ids;
    const bool has_with = args->with || args->with_attention;

    if (args->question.items.path && (args->ids || args->a_ids || args->b_ids))
        return refuse(err, NULL, "--%s and --items are given, expected one of them",
                      args->ids     ? "ids"
                      : args->a_ids ? "a-ids"
                                    : "b-ids");
    if (args->ids && !has_with && !args->question.items.path)
        return refuse(err, NULL,
                      "--ids is one text for --with or --with-attention; --a-ids and "
                      "--b-ids are two");
    if (args->question.items.path)
        return ATTN_OK;
    if (n == 0)
        return refuse(err, EXAMPLE, "no text given");
    if (has_with && n != 1)
        return refuse(err, NULL, "--with and --with-attention compare one text, %zu are given", n);
    if (!has_with && n != 2)
        return refuse(err, "put a text of several words in quotes",
                      "%zu text%s given, expected two, or one and --with or "
                      "--with-attention",
                      n, n == 1 ? " is" : "s are");
    return ATTN_OK;
}

/* The texts or ids of both. */
static enum attn_status read_inputs(const struct diff_args *args, struct attn_input *a,
                                    struct attn_input *b, struct other *other,
                                    struct attn_error *err)
{
    const struct text_list *texts = &args->question.prompt.plain;
    const char *a_ids = args->ids ? args->ids : args->a_ids;
    const size_t at = !a_ids; /* the text of B */
    const char *text_a = a_ids || texts->n == 0 ? NULL : texts->items[0];
    const char *text_b = args->b_ids || at >= texts->n ? NULL : texts->items[at];

    ATTN_TRY(text_or_ids_read(text_a, a_ids, a, &other->a_ids, err));
    ATTN_TRY(text_or_ids_read(text_b, args->b_ids, b, &other->b_ids, err));
    if (!a->text && !a->ids)
        *a = *b;
    if (!b->text && !b->ids)
        *b = *a;
    return ATTN_OK;
}

/* Opens the model and the attention of the second run, if they differ. */
static enum attn_status open_other(const struct diff_args *args, struct other *other,
                                   struct attn_error *err)
{
    struct attention_args attention = args->question.attention;
    struct model_args model = args->question.model;

    if (args->with_attention) {
        attention.kind = args->with_attention;
        ATTN_TRY(attention_check(&attention, err));
        ATTN_TRY(attention_change(&attention, &other->changed, &other->mask, err));
        other->request.attention.change = &other->changed;
    }
    model.name = args->with;
    return args->with ? model_open(&model, &args->question.running, false, &other->host, err)
                      : ATTN_OK;
}

/* Gives both runs --pair and --key-mask. */
static enum attn_status read_pairs(struct question *question, struct other *other,
                                   struct attn_error *err)
{
    struct attn_input *b = &other->request.input;

    ATTN_TRY(
        pair_read(&question->args->prompt, &question->input.key_mask, &question->request, err));
    b->pair = question->request.input.pair;
    b->n_pair = question->request.input.n_pair;
    b->key_mask = question->request.input.key_mask;
    b->n_key_mask = question->request.input.n_key_mask;
    other->request.source = question->request.source;
    return ATTN_OK;
}

static void note_sum(const struct attn_diff_sum *sum)
{
    if (sum->n_same > 0)
        note("the first %zu row%s of each head %s the same to the bit: their tokens are the same",
             sum->n_same, sum->n_same == 1 ? "" : "s", sum->n_same == 1 ? "is" : "are");
    if (sum->is_aligned)
        note("the texts differ in length: %zu row%s of their common beginning and end %s compared",
             sum->n_row, sum->n_row == 1 ? "" : "s", sum->n_row == 1 ? "is" : "are");
}

static enum attn_status compare(struct question *question, const struct attn_study_args *study,
                                struct attn_error *err)
{
    const struct diff_args *args = question->call->args;
    struct other *other = question->own;
    struct attn_diff_args how = ATTN_DIFF_ARGS_DEFAULT;
    struct attn_diff_sum sum = {0};

    other->request = question->request;
    ATTN_TRY(open_other(args, other, err));
    ATTN_TRY(read_inputs(args, &question->request.input, &other->request.input, other, err));
    ATTN_TRY(read_pairs(question, other, err));
    how.host = other->host;
    if (!study || args->with || args->with_attention)
        how.request = &other->request;
    how.study = study;
    ATTN_TRY(attn_diff(question->host, &question->request, &how, &question->table, &sum, err));
    question->how = &how;
    ATTN_TRY(question_write(question, err));
    if (question_is_noted(question) && !how.study)
        note_sum(&sum);
    return ATTN_OK;
}

/* Refuses options of CALL that are about a run: dumps are compared without a model. */
static enum attn_status check_dumps(const struct call *call, struct attn_error *err)
{
    const char *name =
        option_find_under(call, "Input|Items|Model|Precision|Attention|Interventions",
                          "tolerance|relative-tolerance");

    if (name)
        return refuse(err, NULL, "--%s has no effect on two dumps, which need no model", name);
    return ATTN_OK;
}

static enum attn_status diff_archives(struct question *question, struct attn_error *err)
{
    const struct diff_args *args = question->call->args;
    const char *const *paths = args->question.prompt.plain.items;
    struct attn_archive_args how = ATTN_ARCHIVE_ARGS_DEFAULT;
    struct attn_archive_sum sum = {0};
    char relative[32] = "";

    ATTN_TRY(check_dumps(question->call, err));
    ATTN_TRY(tables_check(question->call, &args->question.tables, ATTN_FIGURE_DEFAULT, err));
    if (tables_have_pictures(&args->question.tables))
        return refuse(
            err, "--csv and --json write it",
            "a comparison of two dumps cannot be drawn: a picture needs layers and heads");
    how.tolerance = args->tolerance < 0 ? how.tolerance : args->tolerance;
    how.relative = args->relative < 0 ? how.relative : args->relative;
    ATTN_TRY(attn_diff_archives(paths[0], paths[1], &how, &question->table, &sum, err));
    ATTN_TRY(question_write(question, err));
    if (sum.n_alone > 0 && question_is_noted(question))
        note("%zu array%s in only one of the files", sum.n_alone,
             sum.n_alone == 1 ? " is" : "s are");
    if (sum.n_masked > 0 && question_is_noted(question))
        note("%zu array%s of gradients differ%s in masked cells alone, where one file has 0: "
             "TransformerLens has other values there, which nothing reads; set them to 0 first",
             sum.n_masked, sum.n_masked == 1 ? "" : "s", sum.n_masked == 1 ? "s" : "");
    attn_sink_flush(question->call->out); /* the table stays when the check fails */
    if (how.relative > 0)
        snprintf(relative, sizeof relative, " + %g |b|", how.relative);
    if (sum.n_outside > 0)
        return problem(err, ATTN_STAGE_CHECK, NULL, "%zu of %zu arrays differ by more than %g%s",
                       sum.n_outside, sum.n_compared, how.tolerance, relative);
    return ATTN_OK;
}

static enum attn_status work(struct question *question, struct attn_error *err)
{
    const struct diff_args *args = question->call->args;
    const struct text_list *plain = &args->question.prompt.plain;
    const struct attn_study_args *study = NULL;
    int n_archive = 0; /* arguments that are dumps */

    for (size_t i = 0; plain->n == 2 && i < 2; i++)
        n_archive += path_has_ending(plain->items[i], ".npz");
    if (n_archive == 2)
        return diff_archives(question, err);
    if (n_archive == 1)
        return refuse(err, NULL,
                      "one argument ends in .npz and is a dump, the other does not: "
                      "expected two texts or two dumps");
    ATTN_TRY(check(args, err));
    question->name = "diff";
    if (args->tolerance >= 0 || args->relative >= 0)
        return refuse(err, NULL, "--%s is for two dumps, A.npz and B.npz",
                      args->tolerance >= 0 ? "tolerance" : "relative-tolerance");
    ATTN_TRY(question_begin_items(question, &study, err));
    if (!study)
        ATTN_TRY(question_open(question, err));
    return compare(question, study, err);
}

static enum attn_status diff(struct call *call, struct attn_error *err)
{
    struct other other = {.host = NULL};
    struct question question = {.call = call, .example = EXAMPLE, .own = &other};
    const enum attn_status status = question_answer(&question, work, err);

    model_host_close(other.host);
    attn_mask_array_release(&other.mask);
    free(other.a_ids);
    free(other.b_ids);
    return status;
}
