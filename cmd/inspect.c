/*
 * inspect.c - attn-cli inspect: what is in a model, or in one file of tensors, and what a run of it
 * would cost. Nothing is run; weights are read only when they are checked.
 */
#include "cmd/args/model.h"
#include "cmd/inspect_internal.h"
#include "cmd/line/command.h"
#include "cmd/line/interrupt.h"
#include "cmd/line/options.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"

#include "attn.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    MAX_LENGTH = 1 << 24,
    USUAL_LENGTH = 1024 /* when nothing limits it */
};

struct inspect_args {
    struct text_list paths;
    struct model_args model;
    int64_t length;        /* 0: n_ctx */
    int64_t source_length; /* 0: the length */
    bool has_check, has_json, is_quiet;
};

static const struct option path_rows[] = {
    {.argument = "PATH", .kind = OPTION_LIST, .offset = offsetof(struct inspect_args, paths)},
};

static const struct option_group path_options = OPTION_GROUP(path_rows);

static const struct option inspect_rows[] = {
    {.name = "length",
     .argument = "T",
     .heading = "Output",
     .kind = OPTION_NUMBER,
     .min = 1,
     .max = MAX_LENGTH,
     .offset = offsetof(struct inspect_args, length),
     .help = "count the cost of a run of T tokens, also with other kinds of attention; default: as "
             "many as the model takes, or 1024 when it has no limit"},
    {.name = "source-length",
     .argument = "S",
     .heading = "Output",
     .kind = OPTION_NUMBER,
     .min = 1,
     .max = MAX_LENGTH,
     .offset = offsetof(struct inspect_args, source_length),
     .help = "rows of the source, for models with cross-attention; default: T"},
    {.name = "json",
     .heading = "Output",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct inspect_args, has_json),
     .help = "print one JSON document, with exact numbers, sizes in bytes"},
    {.name = "check",
     .heading = "Output",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct inspect_args, has_check),
     .help =
         "only read every weight and report the tensors that hold NaN or infinity (exit code 7)"},
    {.name = "quiet",
     .letter = 'q',
     .heading = "Other",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct inspect_args, is_quiet),
     .help = "no notes on standard error, only errors"},
};

static const struct option_group inspect_options = OPTION_GROUP(inspect_rows);

static const struct option_part parts[] = {
    {&path_options, 0},
    {&model_options, offsetof(struct inspect_args, model)},
    {&weights_options, offsetof(struct inspect_args, model)},
    {&inspect_options, 0},
    {&help_options, 0},
};

static int inspect_main(int argc, char **argv);

const struct command command_inspect = {
    .name = "inspect",
    .summary = "what is in a model, and what a run of it costs",
    .usage = "[OPTIONS] [PATH]",
    .description =
        "Shows the config, parameters, tensors, tokenizer and files of a model, and what\n"
        "a run of it would cost: multiply-adds, memory, and the size of every tensor that\n"
        "can be written. PATH is a model directory, the name of a model, or one\n"
        ".safetensors file, whose tensors are listed.\n"
        "\n"
        "Multiply-adds are counted. They do not say how long a run takes: `attn-cli\n"
        "bench` measures that.\n",
    .examples = "  attn-cli inspect fable\n"
                "  attn-cli inspect fable --length 64\n"
                "  attn-cli inspect --check fable\n"
                "  attn-cli inspect --json fable | jq .parameters.total\n",
    .parts = parts,
    .n_part = sizeof(parts) / sizeof(parts[0]),
    .main = inspect_main,
};

/* Takes PATH for -m; the environment's model gives way to it. */
static int check_arguments(struct inspect_args *args)
{
    static const char hint[] = "attn-cli inspect fable";
    const char *usual = getenv("ATTN_CLI_MODEL");
    bool has_model = args->model.name && (!usual || strcmp(usual, args->model.name) != 0);
    if (args->paths.n + has_model > 1)
        return report_problem(EXIT_USAGE, hint, "'inspect' takes one PATH, got %zu",
                              args->paths.n + has_model);
    if (args->paths.n == 1)
        args->model.name = args->paths.items[0];
    return EXIT_DONE;
}

/* Whether NAME is a file of tensors and not a model; one that is missing is known by its ending. */
static bool is_file(const char *name)
{
    static const char suffix[] = ".safetensors";
    size_t size = strlen(name), suffix_size = sizeof(suffix) - 1;
    struct stat status;
    if (stat(name, &status) == 0)
        return !S_ISDIR(status.st_mode);
    return size > suffix_size && strcmp(name + size - suffix_size, suffix) == 0;
}

static int open_file(const struct inspect_args *args, struct inspection *inspection)
{
    const struct model_args *model = &args->model;
    struct attn_error err = {0};
    if (args->length > 0 || args->source_length > 0)
        return report_problem(EXIT_USAGE, "give the model's directory",
                              "'%s' is a file of tensors, and lengths need a model", model->name);
    if (model->config || model->vocab || model->weights)
        return report_problem(EXIT_USAGE, "give the model's directory",
                              "'%s' is a file of tensors, and --config, --vocab and --weights "
                              "need a model",
                              model->name);
    if (attn_safetensors_open_file(model->name, (enum attn_load)model->load, &inspection->alone,
                                   &err) != ATTN_OK)
        return report(&err, EXIT_MODEL);
    inspection->weights = inspection->alone;
    return EXIT_DONE;
}

static void on_model_note(void *user, const char *message)
{
    const struct inspect_args *args = user;
    if (!args->is_quiet)
        note("%s", message);
}

/* A model without a vocabulary runs on ids; one that cannot be read is an error. */
static int open_tokenizer(struct inspect_args *args, struct inspection *inspection)
{
    struct attn_error *err = &inspection->no_tokenizer;
    enum attn_status status =
        attn_tokenizer_open(&inspection->source.source, &inspection->tokenizer, err);
    bool is_absent = status == ATTN_IO || status == ATTN_UNSUPPORTED;
    if (status == ATTN_OK && attn_tokenizer_note(inspection->tokenizer))
        on_model_note(args, attn_tokenizer_note(inspection->tokenizer));
    return status == ATTN_OK || is_absent ? EXIT_DONE : report(err, EXIT_MODEL);
}

static int find_cost(const struct inspect_args *args, struct inspection *inspection)
{
    const struct attn_config *config = attn_model_config(inspection->model);
    size_t n_ctx = config->n_ctx, n = n_ctx > MAX_LENGTH ? USUAL_LENGTH : n_ctx;
    struct attn_error err = {0};
    inspection->has_kinds = args->length > 0;
    if (args->length > 0)
        n = (size_t)args->length;
    if (n > n_ctx)
        return report_problem(EXIT_USAGE, NULL, "'--length' is %zu, '%s' takes at most %zu tokens",
                              n, inspection->name, n_ctx);
    size_t most = config->n_source > 0 ? config->n_source : SIZE_MAX;
    size_t n_source = args->source_length > 0 ? (size_t)args->source_length : n < most ? n : most;
    if (n_source > most)
        return report_problem(EXIT_USAGE, NULL,
                              "'--source-length' is %zu, '%s' takes at most %zu rows", n_source,
                              inspection->name, most);
    if (attn_cost_find(inspection->model, n, n_source, &inspection->cost, &err) != ATTN_OK)
        return report(&err, EXIT_USAGE);
    if (args->source_length > 0 && inspection->cost.n_source == 0)
        return report_problem(EXIT_USAGE, NULL,
                              "'--source-length' is given, and no layer of '%s' attends to a "
                              "source",
                              inspection->name);
    return EXIT_DONE;
}

static int open_model(struct inspect_args *args, struct inspection *inspection)
{
    struct attn_model_options options = ATTN_MODEL_OPTIONS_DEFAULT;
    struct attn_error err = {0};
    int code = model_source_find(&args->model, NULL, &inspection->source);
    if (code != EXIT_DONE)
        return code;
    inspection->name = inspection->source.source.name;
    options.load = (enum attn_load)args->model.load;
    options.on_note = on_model_note;
    options.user = args;
    if (attn_model_open(&inspection->source.source, &options, &inspection->model, &err) !=
        ATTN_OK) {
        if (err.status == ATTN_UNSUPPORTED)
            attn_error_hint(&err, "'attn-cli inspect FILE.safetensors' shows the tensors of any "
                                  "file");
        return report(&err, EXIT_MODEL);
    }
    inspection->weights = attn_model_safetensors(inspection->model);
    code = open_tokenizer(args, inspection);
    return code == EXIT_DONE ? find_cost(args, inspection) : code;
}

static int inspect(struct inspect_args *args, struct inspection *inspection, struct attn_sink *out)
{
    int code = check_arguments(args);
    if (code != EXIT_DONE)
        return code;
    inspection->name = args->model.name;
    if (args->model.name && is_file(args->model.name))
        code = open_file(args, inspection);
    else
        code = open_model(args, inspection);
    if (code != EXIT_DONE)
        return code;
    interrupt_watch_weights(inspection->weights);
    code = inspection_find(inspection, args->has_check);
    if (code != EXIT_DONE)
        return code;
    return args->has_check && !args->has_json
               ? inspection_print_check(inspection, out)
               : inspection_print(inspection, args->has_json ? ATTN_FORM_JSON : ATTN_FORM_TEXT,
                                  out);
}

static int inspect_main(int argc, char **argv)
{
    struct inspect_args args = {0};
    struct inspection inspection = {0};
    struct attn_sink *out = NULL;
    int code = options_parse(&command_inspect, argc, argv, &args);
    if (code == OPTIONS_OK)
        code = print_open(&out);
    if (out)
        code = inspect(&args, &inspection, out);
    code = print_close(out, code);
    if (code == EXIT_DONE && inspection_n_bad(&inspection) > 0)
        code = report_problem(
            EXIT_CHECK, NULL, "%zu of %zu tensors hold values that are not finite",
            inspection_n_bad(&inspection), attn_safetensors_count(inspection.weights));
    inspection_release(&inspection);
    text_list_release(&args.paths);
    return code;
}
