/* inspect.c - attn-cli inspect: shows the content of a model or of one file of tensors, and the
 * cost of a run. It runs no model; it reads weights only for --check. */
#include "cmd/args/document.h"
#include "cmd/args/model.h"
#include "cmd/line/command.h"
#include "cmd/line/interrupt.h"
#include "cmd/line/options.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"

#include "attn.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_LENGTH = 1 << 24, USUAL_LENGTH = 1024 /* if nothing limits it */ };

struct inspect_args {
    struct text_list paths;
    struct model_args model;
    size_t length;        /* 0: n_ctx */
    size_t source_length; /* 0: the same as `length` */
    struct document_args document;
    bool has_check, is_quiet, is_verbose;
};

/* An open model or file, and what is shown of it. */
struct inspection {
    struct attn_shown_inspection shown; /* borrows from the members below */
    struct model_source source;         /* where the model is; must not be moved */
    struct attn_model *model;           /* owned; NULL: it is a file of tensors */
    struct attn_tensor_files *alone;    /* owned; the file of tensors, in formats other than GGUF */
    struct attn_bundle *alone_gguf;     /* owned; the file of tensors in GGUF */
    struct attn_tokenizer *tokenizer;   /* owned; or NULL */
    struct attn_error no_tokenizer;     /* why `tokenizer` is NULL */
    struct attn_cost cost;              /* cost of a run of the model */
};

static const struct attn_param path_rows[] = {
    OPTION_TEXTS(NULL, "PATH", struct inspect_args, paths, NULL),
};

static enum attn_status read_length(const struct attn_param *param, void *home, const char *label,
                                    const char *text, struct attn_error *err)
{
    struct inspect_args *args = home;
    const size_t size = strcspn(text, ":");
    const char *source = text[size] ? text + size + 1 : NULL;
    int64_t n = 0, n_source = 0;

    (void)param;
    if (!attn_parse_int(text, size, 1, MAX_LENGTH, &n) ||
        (source && !attn_parse_int(source, strlen(source), 1, MAX_LENGTH, &n_source)))
        return attn_param_refuse(err, label, text, "T or T:S, from 1 to %d", MAX_LENGTH);
    args->length = (size_t)n;
    args->source_length = (size_t)n_source;
    return ATTN_OK;
}

static const struct attn_param inspect_rows[] = {
    ATTN_PARAM(OWN, "length", "T[:S]", struct inspect_args, length,
               "count the cost of a run of T tokens, also with other kinds of attention; "
               "default: as many as the model takes, or 1024 when it has no limit. S are the rows "
               "of the source, for models with cross-attention; default: T",
               .read = read_length),
    DOCUMENT_JSON(struct inspect_args, document.json,
                  "write one JSON document, with exact numbers, sizes in bytes"),
    ATTN_PARAM(FLAG, "check", NULL, struct inspect_args, has_check,
               "only read every weight and report the tensors that hold NaN or infinity (exit "
               "code 7)"),
};

static const struct attn_param other_rows[] = {
    ATTN_PARAM(FLAG, "quiet", NULL, struct inspect_args, is_quiet,
               "no notes on standard error, only errors", .letter = 'q'),
    ATTN_PARAM(FLAG, "verbose", NULL, struct inspect_args, is_verbose,
               "also show the metadata of a GGUF file, which of its keys are not known, which "
               "tokenizer is taken, and every special token: without it, more than 20 that differ "
               "only in a number are one line of text",
               .letter = 'v'),
};

static const struct attn_param_part parts[] = {
    {OPTION_LIST("Input", path_rows), 0},
    {&model_options, offsetof(struct inspect_args, model)},
    {&weights_options, offsetof(struct inspect_args, model)},
    {&tower_options, offsetof(struct inspect_args, model)},
    {OPTION_LIST("Output", inspect_rows), 0},
    {OPTION_LIST("Other", other_rows), 0},
};

/* --- Opening the model or file ---------------------------------------------------------------- */

/* Uses the argument PATH like the value of -m; it overrides the model of the environment
 * variable. */
static enum attn_status check_arguments(struct inspect_args *args, struct attn_error *err)
{
    static const char hint[] = "attn-cli inspect fable";
    const char *usual = getenv("ATTN_CLI_MODEL");
    bool has_model = args->model.name && (!usual || strcmp(usual, args->model.name) != 0);

    if (args->paths.n + has_model > 1)
        return refuse(err,
                      args->document.json ? "--json=FILE writes the document into a file" : hint,
                      "'inspect' takes one PATH, got %zu", args->paths.n + has_model);
    if (args->paths.n == 1)
        args->model.name = args->paths.items[0];
    return ATTN_OK;
}

/* Returns true if NAME is a file with the magic number of GGUF. */
static bool is_gguf(const char *name)
{
    struct attn_file file = {0};
    bool is_it = false;

    if (attn_file_open_regular(name, ATTN_MAP, &file, NULL) == ATTN_OK)
        is_it = attn_gguf_is_file(&file);
    attn_file_release(&file);
    return is_it;
}

/* Returns true if NAME is a file of tensors, and not a model. If the file does not exist, its file
 * name extension decides. */
static bool is_file(const char *name)
{
    const enum attn_os_kind kind = attn_os_kind(name);

    if (kind != ATTN_OS_ABSENT)
        return kind != ATTN_OS_FOLDER && !is_gguf(name) && !attn_path_has_ending(name, ".json");
    return attn_path_has_ending(name, ".safetensors");
}

static enum attn_status open_file(const struct inspect_args *args, struct inspection *inspection,
                                  struct attn_error *err)
{
    const struct model_args *model = &args->model;

    if (args->length > 0)
        return refuse(err, "give the model's directory",
                      "'%s' is a file of tensors, and lengths need a model", model->name);
    if (model->config || model->vocab || model->weights)
        return refuse(err, "give the model's directory",
                      "'%s' is a file of tensors, and `config`, `vocab` and `weights` "
                      "need a model",
                      model->name);
    ATTN_TRY(at_stage(ATTN_STAGE_MODEL,
                      attn_safetensors_open_file(model->name, (enum attn_load)model->load,
                                                 &inspection->alone, err),
                      err));
    inspection->shown.given.weights = inspection->alone;
    return ATTN_OK;
}

static enum attn_status find_cost(const struct inspect_args *args, struct inspection *inspection,
                                  struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(inspection->model);
    const size_t n_ctx = config->n_ctx;
    const size_t most = config->n_source > 0 ? config->n_source : SIZE_MAX;
    const struct attn_image_config *image = &config->image;
    size_t n = n_ctx > MAX_LENGTH ? USUAL_LENGTH : n_ctx, n_source;

    if (image->height > 0) /* a picture of the size in the config */
        n = !image->lacks_class + image->n_register +
            image->height / image->patch_height * (image->width / image->patch_width);
    inspection->shown.has_kinds = args->length > 0;
    if (args->length > 0)
        n = args->length;
    if (n > n_ctx)
        return refuse(err, NULL, "'`length`' is %zu, '%s' takes at most %zu %s", n,
                      inspection->shown.name, n_ctx,
                      image->patch_height > 0 ? "positions" : "tokens");
    n_source = args->source_length > 0 ? args->source_length : n < most ? n : most;
    if (n_source > most)
        return refuse(err, NULL, "'`length`' has a source of %zu rows, '%s' takes at most %zu",
                      n_source, inspection->shown.name, most);
    ATTN_TRY(at_stage(ATTN_STAGE_OPTIONS,
                      attn_cost_find(inspection->model, n, n_source, &inspection->cost, err), err));
    if (args->source_length > 0 && inspection->cost.n_source == 0)
        return refuse(err, NULL, "'`length`' has a source, and no layer of '%s' attends to one",
                      inspection->shown.name);
    return ATTN_OK;
}

/* Returns true if the metadata of a GGUF file describe something other than a model, such as an
 * adapter or an importance matrix. */
static bool is_other(const struct attn_bundle *gguf)
{
    const char *text = NULL, *architecture = NULL;
    size_t size = 0;

    return attn_gguf_get_text(gguf, "general.type", &text, &size, NULL) == ATTN_OK &&
           attn_gguf_get_text(gguf, "general.architecture", &architecture, &(size_t){0}, NULL) ==
               ATTN_OK &&
           (!architecture || (text && (size != 5 || memcmp(text, "model", 5) != 0)));
}

/* Returns the open GGUF file of SOURCE, without making a model of it; NULL if there is no such file
 * or it cannot be read. */
static struct attn_bundle *open_gguf(const struct inspect_args *args,
                                     const struct attn_source *source)
{
    const enum attn_load load = (enum attn_load)args->model.load;
    struct attn_file file = {0};
    struct attn_bundle *gguf = NULL;

    if (attn_gguf_is_source(source) &&
        attn_file_open_part(source, ATTN_GGUF_PART, load, &file, NULL) == ATTN_OK)
        attn_gguf_take(&file, load, &gguf, NULL);
    return gguf;
}

/* Opens a GGUF file whose model is not supported as a file of tensors. If that is not possible,
 * keeps ERR, which says why the model could not be opened. */
static enum attn_status open_alone(const struct inspect_args *args, struct inspection *inspection,
                                   struct attn_error *err)
{
    const enum attn_status status = err->status;
    const bool needs_model = args->length > 0 || args->model.vocab;

    if (status == ATTN_UNSUPPORTED)
        attn_error_hint(err, "'attn-cli inspect FILE' shows the tensors of any file");
    if (status != ATTN_IO && status != ATTN_NO_MEMORY && !needs_model)
        inspection->alone_gguf = open_gguf(args, &inspection->source.source);
    if (!inspection->alone_gguf ||
        (status != ATTN_UNSUPPORTED && !is_other(inspection->alone_gguf)))
        return at_stage(ATTN_STAGE_MODEL, status, err);
    inspection->shown.given.gguf = inspection->alone_gguf;
    inspection->shown.given.weights = attn_gguf_files(inspection->alone_gguf);
    note("no model is made of this file: %s", err->message);
    return ATTN_OK;
}

static enum attn_status open_model(struct inspect_args *args, struct inspection *inspection,
                                   struct attn_error *err)
{
    struct attn_model_options options = ATTN_MODEL_OPTIONS_DEFAULT;
    enum attn_status status;

    ATTN_TRY(model_source_find(&args->model, NULL, &inspection->source, err));
    inspection->shown.name = inspection->source.source.name;
    options.load = (enum attn_load)args->model.load;
    options.tower = (enum attn_tower)args->model.tower;
    options.on_note = note_message;
    if (attn_model_open(&inspection->source.source, &options, &inspection->model, err) != ATTN_OK)
        return open_alone(args, inspection, err);
    ATTN_TRY(model_check_tower(&args->model, attn_model_config(inspection->model), err));
    inspection->shown.given.model = inspection->model;
    inspection->shown.given.source = &inspection->source.source;
    inspection->shown.given.weights = attn_model_files(inspection->model);
    inspection->shown.given.gguf = attn_model_bundle(inspection->model);
    inspection->shown.given.cost = &inspection->cost;
    status = attn_tokenizer_open(&inspection->source.source, &inspection->tokenizer,
                                 &inspection->no_tokenizer);
    /* a model without a vocabulary runs on ids; a vocabulary that cannot be read is an error */
    if (status != ATTN_OK && status != ATTN_IO && status != ATTN_UNSUPPORTED)
        return at_stage(ATTN_STAGE_MODEL, attn_error_copy(err, &inspection->no_tokenizer), err);
    inspection->shown.given.tokenizer = inspection->tokenizer;
    if (status == ATTN_OK && attn_tokenizer_note(inspection->tokenizer))
        note("%s", attn_tokenizer_note(inspection->tokenizer));
    if (args->is_verbose && attn_tokenizer_detail(inspection->tokenizer))
        note("%s", attn_tokenizer_detail(inspection->tokenizer));
    return find_cost(args, inspection, err);
}

/* --- The command ------------------------------------------------------------------------------ */

static enum attn_status work(struct inspect_args *args, struct inspection *inspection,
                             struct attn_sink *out, struct attn_error *err)
{
    struct attn_document document = {0};
    enum attn_status status;
    size_t n_bad;

    ATTN_TRY(check_arguments(args, err));
    inspection->shown.name = args->model.name;
    inspection->shown.is_verbose = args->is_verbose;
    inspection->shown.has_check = args->has_check;
    inspection->shown.prompt_name = "--prompt-name";
    inspection->shown.no_tokenizer = inspection->no_tokenizer.message;
    inspection->shown.given.cancel = interrupt_flag();
    if (args->model.name && is_file(args->model.name))
        ATTN_TRY(open_file(args, inspection, err));
    else
        ATTN_TRY(open_model(args, inspection, err));
    interrupt_watch_weights(inspection->shown.given.weights);
    ATTN_TRY(at_stage(ATTN_STAGE_MODEL, attn_shown_inspection_find(&inspection->shown, err), err));
    (args->has_check && !args->document.json
         ? attn_shown_inspection_fill_check
         : attn_shown_inspection_fill)(&inspection->shown, &document);
    status = attn_document_write(&document, args->document.json ? ATTN_FORM_JSON : ATTN_FORM_TEXT,
                                 out, err);
    attn_document_release(&document);
    ATTN_TRY(at_stage(ATTN_STAGE_OUTPUT, status, err));
    ATTN_TRY(print_flush(out, err)); /* print the table even if the check fails */
    n_bad =
        args->has_check ? attn_table_n_row(inspection->shown.tables[ATTN_INSPECTED_NON_FINITE]) : 0;
    if (n_bad > 0)
        return problem(err, ATTN_STAGE_CHECK, NULL,
                       "%zu of %zu tensors hold values that are not finite", n_bad,
                       attn_tensor_files_count(inspection->shown.given.weights));
    return ATTN_OK;
}

static enum attn_status inspect(struct call *call, struct attn_error *err)
{
    struct inspection inspection = {.shown.given = ATTN_INSPECTION_DEFAULT};
    struct inspect_args *args = call->args;
    enum attn_status status = document_open(call, &args->document, err);

    ATTN_THEN(status, work(args, &inspection, call->out, err));

    interrupt_watch_weights(NULL);
    attn_shown_inspection_release(&inspection.shown);
    attn_tokenizer_free(inspection.tokenizer);
    attn_model_free(inspection.model);
    attn_tensor_files_free(inspection.alone);
    attn_gguf_free(inspection.alone_gguf);
    return status;
}

const struct command command_inspect = {
    .name = "inspect",
    .summary = "what is in a model, and what a run of it costs",
    .usage = "[OPTIONS] [PATH]",
    .description =
        "Shows the config, parameters, tensors, tokenizer and files of a model, and what\n"
        "a run of it would cost: multiply-adds, memory, and the size of every tensor that\n"
        "can be written. PATH is a model directory, the name of a model, or a GGUF file.\n"
        "Of one .safetensors file, and of a GGUF file that is no model, the tensors are\n"
        "listed.\n"
        "\n"
        "Multiply-adds are counted. They do not say how long a run takes.\n",
    .examples = "  attn-cli inspect fable\n"
                "  attn-cli inspect fable --length 64\n"
                "  attn-cli inspect --check fable\n"
                "  attn-cli inspect --json fable | jq .parameters.total\n",
    OPTION_PARTS(parts),
    .args_size = sizeof(struct inspect_args),
    .work = inspect,
};
