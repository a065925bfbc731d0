/* diff.c - attn-cli diff: what differs between two texts, models or kinds of attention. */
#include "cmd/args/hosting.h"
#include "cmd/args/question.h"
#include "cmd/line/options.h"
#include "cmd/line/report.h"

#include "tool.h"

#include <stdlib.h>
#include <string.h>

#define EXAMPLE "attn-cli diff -m fable \"The key was old\" \"The keys was old\""

struct diff_args {
    struct question_args question; /* its plain arguments are the texts */
    const char *a_ids, *b_ids;
    const char *with;           /* a model */
    const char *with_attention; /* a kind */
    double tolerance;           /* of archives; below 0: not given */
};

static const struct option diff_rows[] = {
    {.argument = "TEXT",
     .kind = OPTION_LIST,
     .offset = offsetof(struct diff_args, question.prompt.plain)},
    {.name = "a-ids",
     .argument = "LIST",
     .heading = "Input",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct diff_args, a_ids),
     .help = "token ids instead of the first text: 5,17,3"},
    {.name = "b-ids",
     .argument = "LIST",
     .heading = "Input",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct diff_args, b_ids),
     .help = "token ids instead of the second text"},
    {.name = "with",
     .argument = "MODEL",
     .heading = "Input",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct diff_args, with),
     .help = "compare one text under --model and under MODEL, which must have as many layers and "
             "heads"},
    {.name = "with-attention",
     .argument = "KIND",
     .heading = "Input",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct diff_args, with_attention),
     .help = "compare one text under --attention and under KIND, which is written in the same way"},
    {.name = "tolerance",
     .argument = "X",
     .heading = "Input",
     .kind = OPTION_REAL,
     .offset = offsetof(struct diff_args, tolerance),
     .help = "largest difference of two dumps that counts as none; default: 1e-4"},
};

static const struct option_group diff_options = OPTION_GROUP(diff_rows);

static const struct option_part parts[] = {
    {&diff_options, 0},
    {&special_options, offsetof(struct diff_args, question.prompt)},
    QUESTION_PICTURE_PARTS(offsetof(struct diff_args, question)),
    QUESTION_PARTS(offsetof(struct diff_args, question)),
};

static int diff_main(int argc, char **argv);

const struct command command_diff = {
    .name = "diff",
    .summary = "what differs between two texts, models or attentions",
    .usage = "[OPTIONS] TEXT [TEXT] | A.npz B.npz",
    .description =
        "Compares where the heads look in two texts, or in one text under two models or\n"
        "two kinds of attention: total variation and Jensen-Shannon divergence of the\n"
        "rows of each head. In a causal model, rows before the first token that differs\n"
        "must be the same: they are compared bit for bit, and a note says how many they\n"
        "are. Of texts of different lengths the common beginning and the common end are\n"
        "compared.\n"
        "\n"
        "Two arguments that end in .npz are dumps: written by attn-cli, or by numpy.savez\n"
        "from Hugging Face or TransformerLens. They are compared array by array, and the\n"
        "exit code is 7 when one differs by more than --tolerance: so a port can be\n"
        "verified.\n"
        "\n"
        "The numbers say that a head looks elsewhere. They do not say that its output\n"
        "differs, nor that the prediction does: see `attn-cli patch`.\n",
    .examples = "  " EXAMPLE "\n"
                "  attn-cli diff -m fable --with-attention window:4 --csv - \"The keys to the\"\n"
                "  attn-cli diff ours.npz theirs.npz --tolerance 1e-5\n",
    .parts = parts,
    .n_part = sizeof(parts) / sizeof(parts[0]),
    .main = diff_main,
};

/* The second of the two: what it borrows. */
struct other {
    struct attn_host *host; /* NULL: that of the first */
    struct attn_request request;
    struct attn_attention_change changed;
    struct attn_mask_array mask;
    int32_t *a_ids, *b_ids;
};

static int check(const struct diff_args *args)
{
    const size_t n = args->question.prompt.plain.n + !!args->a_ids + !!args->b_ids;
    const bool has_with = args->with || args->with_attention;
    if (n == 0)
        return report_problem(EXIT_USAGE, EXAMPLE, "no text given");
    if (has_with && n != 1)
        return report_problem(EXIT_USAGE, NULL,
                              "--with and --with-attention compare one text, %zu are given", n);
    if (!has_with && n != 2)
        return report_problem(EXIT_USAGE, "put a text of several words in quotes",
                              "%zu text%s given, expected two, or one and --with or "
                              "--with-attention",
                              n, n == 1 ? " is" : "s are");
    return EXIT_DONE;
}

static void take_text(const char *text, struct attn_input *input)
{
    input->text = text;
    input->n_text = strlen(text);
}

/* The texts or ids of both. */
static int read_inputs(const struct diff_args *args, struct attn_input *a, struct attn_input *b,
                       struct other *other)
{
    const char *const *texts = args->question.prompt.plain.items;
    size_t at = 0;
    int code = EXIT_DONE;
    if (args->a_ids) {
        code = ids_parse(args->a_ids, &other->a_ids, &a->n_id);
        a->ids = other->a_ids;
    } else if (args->question.prompt.plain.n > 0) {
        take_text(texts[at++], a);
    }
    if (code == EXIT_DONE && args->b_ids) {
        code = ids_parse(args->b_ids, &other->b_ids, &b->n_id);
        b->ids = other->b_ids;
    } else if (at < args->question.prompt.plain.n) {
        take_text(texts[at], b);
    }
    if (!a->text && !a->ids)
        *a = *b;
    if (!b->text && !b->ids)
        *b = *a;
    return code;
}

static int open_other(const struct diff_args *args, struct other *other)
{
    struct model_args model = args->question.model;
    struct model_source source;
    model.name = args->with;
    int code = model_source_find(&model, &args->question.running, &source);
    const struct hosting hosting = {.source = &source.source,
                                    .load = (enum attn_load)model.load,
                                    .compute = model.compute,
                                    .running = &args->question.running};
    return code == EXIT_DONE ? hosting_open(&hosting, &other->host) : code;
}

/* What the second run has in place of the first one's. */
static int change_attention(const struct diff_args *args, struct other *other)
{
    struct attention_args attention = args->question.attention;
    attention.kind = args->with_attention;
    int code = attention_check(&attention);
    if (code == EXIT_DONE)
        code = attention_change(&attention, &other->changed, &other->mask);
    other->request.attention.change = &other->changed;
    return code;
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

static int compare(const struct diff_args *args, struct question *question, struct other *other)
{
    struct attn_diff_args how = ATTN_DIFF_ARGS_DEFAULT;
    struct attn_diff_sum sum = {0};
    struct attn_table *table = NULL;
    struct attn_error err = {0};
    int code = EXIT_DONE;
    other->request = question->request;
    if (args->with_attention)
        code = change_attention(args, other);
    if (code == EXIT_DONE && args->with)
        code = open_other(args, other);
    if (code == EXIT_DONE)
        code = read_inputs(args, &question->request.input, &other->request.input, other);
    how.host = other->host;
    how.request = &other->request;
    if (code == EXIT_DONE &&
        attn_diff(question->host, &question->request, &how, &table, &sum, &err) != ATTN_OK)
        code = report_error(&err);
    if (code == EXIT_DONE)
        code = question_write(question, table);
    if (code == EXIT_DONE && !args->question.running.is_quiet)
        note_sum(&sum);
    attn_table_free(table);
    return code;
}

static bool is_archive(const char *name)
{
    static const char ending[] = ".npz";
    size_t size = strlen(name), n = sizeof(ending) - 1;
    return size > n && strcmp(name + size - n, ending) == 0;
}

/* How many of two arguments are dumps. */
static int count_archives(const struct diff_args *args)
{
    const struct text_list *plain = &args->question.prompt.plain;
    return plain->n == 2 ? is_archive(plain->items[0]) + is_archive(plain->items[1]) : 0;
}

static int diff_archives(const struct diff_args *args, struct question *question)
{
    const char *const *paths = args->question.prompt.plain.items;
    const double tolerance = args->tolerance < 0 ? 1e-4 : args->tolerance;
    struct attn_archive_sum sum = {0};
    struct attn_table *table = NULL;
    struct attn_error err = {0};
    int code = tables_check(&args->question.tables);
    if (code == EXIT_DONE && tables_have_pictures(&args->question.tables))
        code = report_problem(
            EXIT_USAGE, "--csv and --json write it",
            "a comparison of two dumps cannot be drawn: a picture needs layers and heads");
    if (code == EXIT_DONE &&
        attn_diff_archives(paths[0], paths[1], tolerance, &table, &sum, &err) != ATTN_OK)
        code = report_error(&err);
    if (code == EXIT_DONE)
        code = question_write(question, table);
    attn_table_free(table);
    if (code != EXIT_DONE)
        return code;
    if (sum.n_alone > 0 && !args->question.running.is_quiet)
        note("%zu array%s in only one of the files", sum.n_alone,
             sum.n_alone == 1 ? " is" : "s are");
    attn_sink_flush(question->out); /* the table goes first, and stays when the check fails */
    if (sum.n_outside > 0)
        return report_problem(EXIT_CHECK, NULL, "%zu of %zu arrays differ by more than %g",
                              sum.n_outside, sum.n_compared, tolerance);
    return EXIT_DONE;
}

static int diff(const struct diff_args *args, struct question *question, struct other *other)
{
    const int n_archive = count_archives(args);
    if (n_archive == 2)
        return diff_archives(args, question);
    if (n_archive == 1)
        return report_problem(EXIT_USAGE, NULL,
                              "one argument ends in .npz and is a dump, the other does not: "
                              "expected two texts or two dumps");
    int code = check(args);
    question->grid =
        (struct attn_table_grid){.rows = "layer", .columns = "head", .values = "tv_mean"};
    if (code == EXIT_DONE && args->tolerance >= 0)
        code = report_problem(EXIT_USAGE, NULL, "--tolerance is for two dumps, A.npz and B.npz");
    if (code == EXIT_DONE)
        code = question_open(question);
    return code == EXIT_DONE ? compare(args, question, other) : code;
}

static int diff_main(int argc, char **argv)
{
    struct diff_args args = {.question = QUESTION_ARGS_DEFAULT, .tolerance = -1};
    struct question question = {
        .command = &command_diff, .args = &args.question, .example = EXAMPLE};
    struct other other = {.host = NULL};
    int code = question_parse(&question, argc, argv, &args);
    if (code == OPTIONS_OK)
        code = diff(&args, &question, &other);
    if (other.host)
        hosting_close(other.host);
    attn_mask_array_release(&other.mask);
    free(other.a_ids);
    free(other.b_ids);
    return question_close(&question, code);
}
