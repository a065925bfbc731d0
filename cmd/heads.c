/* heads.c - attn-cli heads: what kind of head is it. */
#include "cmd/args/answer.h"
#include "cmd/args/question.h"
#include "cmd/line/options.h"
#include "cmd/line/report.h"

#include "attn.h"
#include "tool.h"

#include <stdio.h>
#include <string.h>

#define EXAMPLE "attn-cli heads -m fable --sort previous \"The keys to the cabinet\""

struct heads_args {
    struct question_args question;
    const char *probe, *measures, *pattern, *from, *to; /* NULL: not given */
    int64_t n_run;                                      /* 0: not given */
    double threshold;                                   /* below 0: not given */
    bool has_effect, is_of_pairs;
    int is_clustered; /* a value of --order */
};

static const struct option heads_rows[] = {
    OPTION_TEXT("probe", "induction[:LEN[:REPEATS[:SEED]]]", struct heads_args, probe,
                "instead of a text, take LEN random tokens, repeated: the heads that find what "
                "followed the first time are induction heads; default: min(50, half the "
                "context):2:0"),
    OPTION_NUMBER("runs", "N", struct heads_args, n_run, 1, INT32_MAX,
                  "make N probes with consecutive seeds, and print means and standard deviations"),
    OPTION_TEXT("measures", "LIST", struct heads_args, measures,
                "print these measures, as in entropy,punctuation, or all; default: all but "
                "punctuation, next, separator and the counts of these. weight: that from --from "
                "to --to alone, without the time for the others"),
    OPTION_TEXT("pattern", "FILE.npy", struct heads_args, pattern,
                "compare patterns with an array P [T, T] of your own: mul, the share of the "
                "weight that lies on P, and abs, 1 minus the mean difference of a row from P"),
    OPTION_TEXT("from", "POS", struct heads_args, from,
                "with --to: how much these queries look at those keys; positions or words of the "
                "text"),
    OPTION_TEXT("to", "POS", struct heads_args, to,
                "the keys that --from looks at; in cross-attention layers they are in the source"),
    OPTION_FLAG("effect", struct heads_args, has_effect,
                "add a column: how the answer changes without the head, as `ablate` measures it"),
    OPTION_FLAG("pairs", struct heads_args, is_of_pairs,
                "instead of measures, print pairs of heads, the most alike first, with js: the "
                "Jensen-Shannon divergence of their rows, mean over the rows. A small js does "
                "not say that the heads read and write the same things. --similarity without a "
                "value is the old name of --pairs"),
    OPTION_CHOICE("order", "layer|cluster", struct heads_args, is_clustered,
                  "how a picture of --pairs orders the heads: by layer (default), or those "
                  "that are alike side by side (average linkage)"),
    OPTION_REAL("threshold", "X", struct heads_args, threshold,
                "the score above which a head has a type; default: 0.5"),
};

static const struct option_group heads_options = OPTION_GROUP("Heads", heads_rows);

static const struct option_part parts[] = {
    {&question_input_options, offsetof(struct heads_args, question)},
    {&heads_options, 0},
    {&answer_options, offsetof(struct heads_args, question.answer)},
    {&question_picture_options, offsetof(struct heads_args, question)},
    {&question_options, offsetof(struct heads_args, question)},
};

static enum attn_status heads(struct call *call, struct attn_error *err);

const struct command command_heads = {
    .name = "heads",
    .summary = "where each head looks, and what type of head it is",
    .usage = "[OPTIONS] TEXT",
    .description =
        "Measures where every head looks in TEXT: how widely (entropy, max), how far\n"
        "(distance), at the token itself, at the token before, at the first token, at\n"
        "earlier places of the same token (duplicate), at what followed them (induction),\n"
        "elsewhere (far). A head whose largest score but far is above 0.5 has that type,\n"
        "if two rows have the score. n_duplicate, n_induction and n_far are the numbers\n"
        "of rows in these scores.\n"
        "--measures punctuation shows how much a head looks at commas, full stops and the\n"
        "like.\n"
        "\n"
        "The numbers say where a head looks in this text. They do not say what it takes\n"
        "from there, nor whether that matters: see --effect and `attn-cli ablate`.\n"
        "Over --items the numbers are means, and the type follows from the means. Items\n"
        "may name the words to look between (from, to), and with --effect a target.\n"
        "'attn-cli help measures' explains each of them.\n"
        "\n"
        "--figure map draws a cell for each head: its hue and letter say where it looks\n"
        "most, and heads that share keys and values stand together. --figure poster puts\n"
        "all heads on one sheet, those that are alike side by side, each with the mean\n"
        "over the texts of its weights between the first 24 tokens.\n",
    .examples =
        "  attn-cli heads -m fable --probe induction --sort induction --limit 3\n"
        "  attn-cli heads -m fable --pairs --limit 3 \"The keys to the cabinet\"\n"
        "  attn-cli heads -m fable --from it --to cat --sort weight \"The cat said it\"\n"
        "  attn-cli heads -m fable --items agreement.csv --group-by number --sort weight\n"
        "  attn-cli heads -m fable --texts corpus.txt --lines --figure poster --pdf a.pdf\n",
    OPTION_PARTS(parts),
    .args_size = sizeof(struct heads_args),
    .defaults = &(const struct heads_args){.question = QUESTION_ARGS_DEFAULT, .threshold = -1},
    .work = heads,
};

/* Reads the next ":N" at *AT into NUMBER; nothing at the end of the text. */
static bool read_number(const char **at, int64_t min, int64_t max, int64_t *number)
{
    const char *begin = *at + 1;
    size_t size;

    if (**at == '\0')
        return true;
    if (**at != ':')
        return false;
    size = strcspn(begin, ":");
    *at = begin + size;
    return attn_parse_int(begin, size, min, max, number);
}

static enum attn_status read_probe(const char *value, struct attn_survey_args *how,
                                   struct attn_error *err)
{
    static const char name[] = "induction";
    int64_t length = 0, repeats = 0, seed = 0;
    const char *at;

    if (!value)
        return ATTN_OK;
    at = value + strcspn(value, ":");
    if ((size_t)(at - value) != sizeof name - 1 || memcmp(value, name, sizeof name - 1) != 0 ||
        !read_number(&at, 1, INT32_MAX, &length) || !read_number(&at, 2, INT32_MAX, &repeats) ||
        !read_number(&at, 0, INT64_MAX, &seed) || *at)
        return refuse(err, NULL,
                      "'--probe' is '%s', expected induction[:LEN[:REPEATS[:SEED]]], with "
                      "LEN from 1 and REPEATS from 2",
                      value);
    how->has_probe = true;
    how->probe_length = (size_t)length;
    how->probe_repeats = (size_t)repeats;
    how->probe_seed = (uint64_t)seed;
    return ATTN_OK;
}

static enum attn_status check(const struct heads_args *args, struct attn_survey_args *how,
                              struct attn_error *err)
{
    if (args->threshold == 0)
        return refuse(err, NULL, "--threshold is 0, expected above 0 and at most 1");
    ATTN_TRY(read_probe(args->probe, how, err));
    how->is_weight = args->measures && strcmp(args->measures, "weight") == 0;
    if (args->measures && !how->is_weight)
        ATTN_TRY(at_stage(ATTN_STAGE_OPTIONS,
                          attn_measures_parse(args->measures, &how->measures, err), err));
    if (how->has_probe + !!args->question.texts.path + !!args->question.items.path +
            prompt_is_given(&args->question.prompt) >
        1)
        return refuse(err, NULL, "expected one of a text, --texts, --items and --probe, got more");
    if (how->has_probe && pair_find_given(&args->question.prompt))
        return refuse(err, NULL, "--%s goes with a text, not with --probe",
                      pair_find_given(&args->question.prompt));
    if ((!how->has_probe && !args->question.items.path) || args->question.texts.is_lines)
        ATTN_TRY(texts_check(&args->question.texts, &args->question.prompt, EXAMPLE, err));
    if (args->n_run > 0 && !how->has_probe)
        return refuse(err, NULL, "--runs needs --probe");
    if (args->is_clustered && !(args->is_of_pairs && tables_have_pictures(&args->question.tables)))
        return refuse(err, "--png, --svg, --pdf, --html and --heatmap draw it",
                      "--order cluster needs a picture of --pairs");
    if (!args->has_effect && answer_is_given(&args->question.answer))
        return refuse(err, NULL, "--target, --foil, --at and --metric need --effect");
    return answer_check(&args->question.answer, err);
}

/* Refuses options that do not go with --pairs. */
static enum attn_status check_pairs(const struct call *call, struct attn_error *err)
{
    const char *name =
        option_find_given(call, "probe|texts|items|measures|pattern|from|to|effect|threshold");

    if (!name)
        return ATTN_OK;
    return refuse(err, NULL,
                  "--pairs and --%s do not go together: it compares the heads of one text", name);
}

static enum attn_status compare_heads(struct question *question, struct attn_error *err)
{
    const struct heads_args *args = question->call->args;
    const struct tables_args *tables = &args->question.tables;
    struct attn_survey_args how = ATTN_SURVEY_ARGS_DEFAULT;

    ATTN_TRY(check_pairs(question->call, err));
    ATTN_TRY(
        items_open(question->call, &args->question.items, NULL, false, &(struct items){0}, err));
    ATTN_TRY(check(args, &how, err));
    question->name = "similarity";
    question->picture.is_clustered = args->is_clustered;
    ATTN_TRY(question_open(question, err));
    ATTN_TRY(question_read(question, err));
    ATTN_TRY(attn_similarity(question->host, &question->request,
                             tables->sort ? 0 : (size_t)tables->n_most, &question->table, err));
    return question_write(question, err);
}

/* What a survey holds besides its table. */
struct survey_data {
    struct attn_ndarray pattern;         /* owns; that of --pattern */
    struct attn_head_patterns *patterns; /* owns; of a poster, or NULL */
};

/* Creates the patterns of a poster, if one is wanted. */
static enum attn_status open_patterns(struct question *question, struct attn_survey_args *how,
                                      struct attn_error *err)
{
    const struct heads_args *args = question->call->args;
    const char *figure = args->question.tables.picture.figure;
    struct survey_data *data = question->own;
    const struct attn_config *config = attn_model_config(attn_host_model(question->host));

    if (!figure || strcmp(figure, "poster") != 0)
        return ATTN_OK;
    if (args->has_effect || args->pattern)
        return refuse(err, NULL, "--figure poster and --%s do not go together",
                      args->pattern ? "pattern" : "effect");
    if (!config)
        return ATTN_OK; /* the survey reports what the model is */
    ATTN_TRY(attn_head_patterns_create(config->n_layer, config->n_head, &data->patterns, err));
    how->patterns = data->patterns;
    return ATTN_OK;
}

static enum attn_status survey(struct question *question, struct attn_error *err)
{
    const struct heads_args *args = question->call->args;
    struct attn_survey_args how = ATTN_SURVEY_ARGS_DEFAULT, drawn;
    struct survey_data *data = question->own;
    struct answer_ids ids;

    ATTN_TRY(check(args, &how, err));
    how.n_probe = (size_t)args->n_run;
    how.threshold = args->threshold < 0 ? 0 : args->threshold;
    how.from = args->from;
    how.to = args->to;
    how.has_effect = args->has_effect;
    how.answer = answer_of(&args->question.answer, &ids);
    drawn = how;
    drawn.sort = args->question.tables.sort;
    question->name = "heads";
    question->how = &drawn;
    question->unit = how.has_probe ? "probes" : NULL;
    if (how.has_probe) {
        ATTN_TRY(question_begin_items(question, &how.study, err));
        ATTN_TRY(question_open(question, err));
    } else {
        ATTN_TRY(question_begin(question, &how.study, err));
    }
    if (args->pattern) {
        how.pattern = &data->pattern;
        ATTN_TRY(at_stage(ATTN_STAGE_INPUT,
                          attn_ndarray_read(args->pattern, 2, 2, "[T, T]", &data->pattern, err),
                          err));
    }
    ATTN_TRY(open_patterns(question, &how, err));
    ATTN_TRY(attn_survey(question->host, &question->request, &how, &question->table, err));
    drawn.study = how.study;
    question->picture.patterns = data->patterns;
    return question_write(question, err);
}

static enum attn_status heads(struct call *call, struct attn_error *err)
{
    const struct heads_args *args = call->args;
    struct survey_data data = {.patterns = NULL};
    struct question question = {
        .call = call, .example = EXAMPLE, .file = args->pattern, .own = &data};
    const enum attn_status status =
        question_answer(&question, args->is_of_pairs ? compare_heads : survey, err);

    attn_ndarray_release(&data.pattern);
    attn_head_patterns_free(data.patterns);
    return status;
}
