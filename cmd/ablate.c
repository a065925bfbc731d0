/* ablate.c - attn-cli ablate: does a part of the model matter. */
#include "cmd/args/answer.h"
#include "cmd/args/control.h"
#include "cmd/args/question.h"
#include "cmd/args/references.h"
#include "cmd/line/options.h"
#include "cmd/line/report.h"

#include "attn.h"
#include "tool.h"

#include <string.h>

#define EXAMPLE "attn-cli ablate --target ' are' --foil ' is' \"The keys to the cabinet\""

struct ablate_args {
    struct question_args question;
    struct answer_args answer;
    struct texts_args texts;
    struct control_args control;
    const char *parts, *with; /* NULL: not given */
    const char *reference;
    bool is_cumulative;
};

static const struct option ablate_rows[] = {
    OPTION_TEXT("parts", "heads|attn|mlp|layers|neurons:L", struct ablate_args, parts,
                "what each row switches off: one head (default), the attention of a layer, its "
                "MLP, both, or one neuron of the MLP of layer L"),
    OPTION_TEXT("with", "zero|mean|uniform|resample:SEED", struct ablate_args, with,
                "what replaces the output of that part: zeros (default), its mean over the "
                "positions of the text or of all texts of --reference, or its rows in one text "
                "of --reference; uniform: the head gives every key that it sees the same weight"),
    OPTION_FLAG("cumulative", struct ablate_args, is_cumulative,
                "switch off one more part in each row, in the order of their own effects, the "
                "smallest first"),
};

static const struct option_group ablate_options = OPTION_GROUP("Ablation", ablate_rows);

static const struct option_part parts[] = {
    {&question_input_options, offsetof(struct ablate_args, question)},
    {&texts_options, offsetof(struct ablate_args, texts)},
    {&answer_options, offsetof(struct ablate_args, answer)},
    {&ablate_options, 0},
    {&reference_options, offsetof(struct ablate_args, reference)},
    {&control_options, offsetof(struct ablate_args, control)},
    {&question_picture_options, offsetof(struct ablate_args, question)},
    {&question_options, offsetof(struct ablate_args, question)},
};

static int ablate_main(int argc, char **argv);

const struct command command_ablate = {
    .name = "ablate",
    .summary = "how the answer changes without a part of the model",
    .usage = "[OPTIONS] --target TEXT TEXT",
    .description =
        "Switches off one part of the model at a time, and prints how the answer changes:\n"
        "the metric, its change, the divergence of the prediction, and whether the most\n"
        "probable token is still the same. The first row is the whole model.\n"
        "\n"
        "The numbers say what the rest of the model makes of the text without the part. A\n"
        "small change does not say that the part does nothing: other parts may do the\n"
        "same. A large change may come from any damage: --control shows the effect of\n"
        "random heads. Over --texts the numbers are means and standard deviations,\n"
        "same_first is a share.\n",
    .examples = "  " EXAMPLE "\n"
                "  attn-cli ablate --parts layers --metric kl \"The keys to the cabinet\"\n"
                "  attn-cli ablate --target ' are' --cumulative --control 20:1 -f text.txt\n",
    OPTION_PARTS(parts),
    .main = ablate_main,
};

/* Whether VALUE begins with WORD; *rest is what follows. */
static bool begins_with(const char *value, const char *word, const char **rest)
{
    size_t size = strlen(word);
    *rest = value + size;
    return strncmp(value, word, size) == 0;
}

static int read_parts(const char *value, struct attn_ablate_args *how)
{
    static const char *const names[] = {"heads", "attn", "mlp", "layers"};
    const char *rest;
    int64_t layer;
    for (size_t i = 0; value && i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(value, names[i]) == 0) {
            how->parts = (enum attn_ablate_parts)i;
            return EXIT_DONE;
        }
    if (!value)
        return EXIT_DONE;
    if (!begins_with(value, "neurons:", &rest) ||
        !attn_parse_int(rest, strlen(rest), 0, INT32_MAX, &layer))
        return report_problem(EXIT_USAGE, NULL,
                              "'--parts' is '%s', expected heads, attn, mlp, layers or neurons:L",
                              value);
    how->parts = ATTN_ABLATE_NEURONS;
    how->layer = (int)layer;
    return EXIT_DONE;
}

static int read_with(const char *value, struct attn_ablate_args *how)
{
    const char *rest;
    if (!value || strcmp(value, "zero") == 0)
        return EXIT_DONE;
    if (strcmp(value, "mean") == 0) {
        how->with = ATTN_ABLATE_WITH_MEAN;
        return EXIT_DONE;
    }
    if (strcmp(value, "uniform") == 0) {
        how->with = ATTN_ABLATE_WITH_UNIFORM;
        return EXIT_DONE;
    }
    how->with = ATTN_ABLATE_WITH_RESAMPLE;
    if (begins_with(value, "resample:", &rest) && attn_parse_uint(rest, strlen(rest), &how->seed))
        return EXIT_DONE;
    return report_problem(EXIT_USAGE, NULL,
                          "'--with' is '%s', expected zero, mean, uniform or resample:SEED", value);
}

static int read_how(const struct ablate_args *args, struct attn_ablate_args *how)
{
    int code = read_parts(args->parts, how);
    if (code == EXIT_DONE)
        code = read_with(args->with, how);
    if (code == EXIT_DONE)
        code = control_read(&args->control, &how->n_control, &how->seed);
    if (code == EXIT_DONE && args->reference &&
        (how->with == ATTN_ABLATE_WITH_ZERO || how->with == ATTN_ABLATE_WITH_UNIFORM))
        code = report_problem(EXIT_USAGE, NULL,
                              "--reference needs --with mean or --with resample:SEED");
    how->is_cumulative = args->is_cumulative;
    return code;
}

static int ablate(const struct ablate_args *args, struct question *question,
                  struct references *references)
{
    struct attn_ablate_args how = ATTN_ABLATE_ARGS_DEFAULT;
    struct answer_ids ids;
    struct attn_ablate_sum sum = {0};
    struct attn_table *table = NULL;
    struct attn_error err = {0};
    int code = read_how(args, &how);
    if (how.parts != ATTN_ABLATE_NEURONS)
        question->grid =
            (struct attn_table_grid){.rows = "layer",
                                     .columns = how.parts == ATTN_ABLATE_HEADS ? "head" : "part",
                                     .values = "change"};
    if (code == EXIT_DONE && args->reference)
        code = references_read(args->reference, references);
    if (code == EXIT_DONE)
        code = question_begin(question, &args->texts, &how.texts, &how.n_text);
    how.answer = answer_of(&args->answer, &ids);
    how.references = references->items;
    how.n_reference = references->n;
    if (code == EXIT_DONE &&
        attn_ablate(question->host, &question->request, &how, &table, &sum, &err) != ATTN_OK)
        code = report_error(&err);
    if (code == EXIT_DONE)
        code = question_write(question, table);
    if (code == EXIT_DONE && !args->question.running.is_quiet)
        note("the first part changed %zu row%s of %s; %zu runs", sum.n_row,
             sum.n_row == 1 ? "" : "s", sum.sites, sum.n_feed);
    attn_table_free(table);
    return code;
}

static int ablate_main(int argc, char **argv)
{
    struct ablate_args args = {.question = QUESTION_ARGS_DEFAULT, .answer = ANSWER_ARGS_DEFAULT};
    struct question question = {
        .command = &command_ablate, .args = &args.question, .reuse = true, .example = EXAMPLE};
    struct references references = {0};
    int code = question_parse(&question, argc, argv, &args);
    if (code == OPTIONS_OK)
        code = ablate(&args, &question, &references);
    references_release(&references);
    return question_close(&question, code);
}
