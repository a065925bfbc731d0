/* ablate.c - attn-cli ablate: does a part of the model matter. */
#include "cmd/args/answer.h"
#include "cmd/args/question.h"
#include "cmd/line/options.h"
#include "cmd/line/report.h"

#include "attn.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

#define EXAMPLE "attn-cli ablate --target ' are' --foil ' is' \"The keys to the cabinet\""

struct ablate_args {
    struct question_args question;
    const char *control;      /* NULL: not given */
    const char *parts, *with; /* NULL: not given */
    const char *reference;
    struct text_list sets;
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
    OPTION_LIST("set", "[NAME=]HEADS", struct ablate_args, sets,
                "switch off these heads together, instead of each head by itself: "
                "'copying=3.2,3.5'. May be given several times, one row each"),
    OPTION_FLAG("cumulative", struct ablate_args, is_cumulative,
                "switch off one more part in each row, in the order of their own effects, the "
                "smallest first"),
};

static const struct option_group ablate_options = OPTION_GROUP("Ablation", ablate_rows);

static const struct option reference_rows[] = {
    OPTION_AT(TEXT, "reference", "FILE", 0,
              "a file of texts, one per line: --with mean takes the mean over all of them, "
              "--with resample the rows of one"),
};

static const struct option_group reference_options = OPTION_GROUP("Ablation", reference_rows);

static const struct option_part parts[] = {
    {&question_input_options, offsetof(struct ablate_args, question)},
    {&answer_options, offsetof(struct ablate_args, question.answer)},
    {&ablate_options, 0},
    {&reference_options, offsetof(struct ablate_args, reference)},
    {&control_options, offsetof(struct ablate_args, control)},
    {&question_picture_options, offsetof(struct ablate_args, question)},
    {&question_options, offsetof(struct ablate_args, question)},
};

static enum attn_status ablate(struct call *call, struct attn_error *err);

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
        "same_top is a share.\n",
    .examples = "  " EXAMPLE "\n"
                "  attn-cli ablate --parts layers --metric kl \"The keys to the cabinet\"\n"
                "  attn-cli ablate --target ' are' --cumulative --control 20:1 -f text.txt\n"
                "  attn-cli ablate --target ' are' --set number=1.1,2.5 --set 1.* \"The keys\"\n",
    OPTION_PARTS(parts),
    .args_size = sizeof(struct ablate_args),
    .defaults = &(const struct ablate_args){.question = QUESTION_ARGS_DEFAULT},
    .work = ablate,
};

/* The rest of VALUE after WORD, or NULL if it does not begin with WORD. */
static const char *after(const char *word, const char *value)
{
    const size_t size = strlen(word);

    return strncmp(value, word, size) == 0 ? value + size : NULL;
}

/* Texts of a file, one per line, from which means or rows are taken. */
struct references {
    struct text text;         /* owns; the file */
    struct attn_input *items; /* [n] owns; its lines */
    size_t n;
};

/* Reads the lines of PATH that are not empty; "-" is standard input. */
static enum attn_status references_read(const char *path, struct references *references,
                                        struct attn_error *err)
{
    const struct prompt_args args = {.file = path};
    const char *at, *end;
    size_t n_line = 1;

    ATTN_TRY(prompt_read(&args, &references->text, err));
    end = references->text.data + references->text.size;
    for (at = references->text.data; at < end; at++)
        n_line += *at == '\n';
    ATTN_TRY(ALLOCATE(references->items, n_line, err));
    for (at = references->text.data; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));

        stop = stop ? stop : end;
        if (stop > at)
            references->items[references->n++] =
                (struct attn_input){.text = at, .n_text = (size_t)(stop - at)};
        at = stop + 1;
    }
    if (references->n == 0)
        return problem(err, ATTN_STAGE_INPUT, NULL, "'%s' holds no text", path);
    return ATTN_OK;
}

static enum attn_status read_how(const struct ablate_args *args, struct attn_ablate_args *how,
                                 struct attn_error *err)
{
    const char *what = args->parts ? args->parts : "heads";
    const char *with = args->with ? args->with : "zero";
    const int part = word_find("heads|attn|mlp|layers", what);
    const char *number = after("neurons:", what);
    int64_t layer = 0;

    how->parts = part < 0 ? ATTN_ABLATE_NEURONS : (enum attn_ablate_parts)part;
    if (part < 0 && !(number && attn_parse_int(number, strlen(number), 0, INT32_MAX, &layer)))
        return refuse(err, NULL,
                      "'--parts' is '%s', expected heads, attn, mlp, layers or neurons:L", what);
    how->layer = (int)layer;
    how->with = strcmp(with, "zero") == 0      ? ATTN_ABLATE_WITH_ZERO
                : strcmp(with, "mean") == 0    ? ATTN_ABLATE_WITH_MEAN
                : strcmp(with, "uniform") == 0 ? ATTN_ABLATE_WITH_UNIFORM
                                               : ATTN_ABLATE_WITH_RESAMPLE;
    number = after("resample:", with);
    if (how->with == ATTN_ABLATE_WITH_RESAMPLE &&
        !(number && attn_parse_uint(number, strlen(number), &how->seed)))
        return refuse(err, NULL, "'--with' is '%s', expected zero, mean, uniform or resample:SEED",
                      with);
    ATTN_TRY(control_read(args->control, &how->n_control, &how->seed, err));
    if (args->reference &&
        (how->with == ATTN_ABLATE_WITH_ZERO || how->with == ATTN_ABLATE_WITH_UNIFORM))
        return refuse(err, NULL, "--reference needs --with mean or --with resample:SEED");
    how->is_cumulative = args->is_cumulative;
    return ATTN_OK;
}

/* Memory that the work owns. */
struct taken {
    struct references references;
    struct named_values named;    /* of --set */
    struct attn_ablate_set *sets; /* [named.n] */
};

/* Reads the values of --set. */
static enum attn_status read_sets(const struct text_list *list, struct taken *taken,
                                  struct attn_error *err)
{
    ATTN_TRY(named_values_read(list, "set", "[NAME=]HEADS", &taken->named, err));
    ATTN_TRY(ALLOCATE(taken->sets, taken->named.n + 1, err));
    for (size_t i = 0; i < taken->named.n; i++)
        taken->sets[i] = (struct attn_ablate_set){.heads = taken->named.items[i].value,
                                                  .name = taken->named.items[i].name};
    return ATTN_OK;
}

static void release(struct taken *taken)
{
    text_release(&taken->references.text);
    free(taken->references.items);
    named_values_release(&taken->named);
    free(taken->sets);
}

static enum attn_status work(struct question *question, struct attn_error *err)
{
    const struct ablate_args *args = question->call->args;
    struct taken *taken = question->own;
    struct references *references = &taken->references;
    struct attn_ablate_args how = ATTN_ABLATE_ARGS_DEFAULT;
    struct attn_ablate_sum sum = {0};
    struct answer_ids ids;

    ATTN_TRY(answer_check(&args->question.answer, err));
    ATTN_TRY(read_how(args, &how, err));
    ATTN_TRY(read_sets(&args->sets, taken, err));
    how.sets = taken->sets;
    how.n_set = taken->named.n;
    question->how = &how;
    if (args->reference)
        ATTN_TRY(references_read(args->reference, references, err));
    ATTN_TRY(question_begin(question, &how.study, err));
    how.answer = answer_of(&args->question.answer, &ids);
    how.references = references->items;
    how.n_reference = references->n;
    ATTN_TRY(attn_ablate(question->host, &question->request, &how, &question->table, &sum, err));
    ATTN_TRY(question_write(question, err));
    if (args->question.running.is_verbose && !args->question.items.path)
        note("the first part changed %zu row%s of %s; %zu runs", sum.n_row,
             sum.n_row == 1 ? "" : "s", sum.sites, sum.n_feed);
    return ATTN_OK;
}

static enum attn_status ablate(struct call *call, struct attn_error *err)
{
    const struct ablate_args *args = call->args;
    struct taken taken = {.sets = NULL};
    struct question question = {.call = call,
                                .reuse = true,
                                .example = EXAMPLE,
                                .name = "ablate",
                                .file = args->reference,
                                .own = &taken};
    const enum attn_status status = question_answer(&question, work, err);

    release(&taken);
    return status;
}
