/*
 * inspect.c - attn-cli inspect: the content of a model, or of one file of tensors, and the cost of
 * a run. Nothing is run; weights are read only for --check.
 *
 * The output is a document of the tables that attn_inspect makes. JSON has exact numbers, sizes in
 * bytes, unchanged names, and null for parts that a single file lacks. Text has sizes in binary
 * units and operations in decimal units.
 */
#include "cmd/args/model.h"
#include "cmd/args/prompt.h"
#include "cmd/line/command.h"
#include "cmd/line/interrupt.h"
#include "cmd/line/options.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"

#include "attn.h"
#include "tool.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    MAX_LENGTH = 1 << 24,
    USUAL_LENGTH = 1024, /* when nothing limits it */
    SETTING_WIDTH = 21,
    MAX_VALUE = 60, /* bytes of one of the metadata in text */
    N_PART = ATTN_INSPECTED_NON_FINITE + 1
};

struct inspect_args {
    struct text_list paths;
    struct model_args model;
    int64_t length;        /* 0: n_ctx */
    int64_t source_length; /* 0: the length */
    bool has_check, has_json, is_quiet, is_verbose;
};

/* The inspected model or file, and its tables. */
struct inspection {
    const char *name;                  /* the name that the user typed */
    struct attn_inspection given;      /* borrows from the rest */
    struct model_source source;        /* of a model; must stay in its place */
    struct attn_model *model;          /* owns; NULL: one file of tensors */
    struct attn_tensor_files *alone;   /* owns; that file */
    struct attn_gguf *alone_gguf;      /* owns; the same, of GGUF */
    struct attn_tokenizer *tokenizer;  /* owns; or NULL */
    struct attn_error no_tokenizer;    /* why it is NULL */
    struct attn_cost cost;             /* of a model */
    bool has_kinds;                    /* whether other kinds of attention are counted, too */
    bool is_verbose;                   /* whether metadata are shown */
    struct attn_table *tables[N_PART]; /* own; NULL: without subject */
};

static const struct option path_rows[] = {
    OPTION_PLAIN("PATH", struct inspect_args, paths, NULL),
};

static const struct option_group path_options = OPTION_GROUP(NULL, path_rows);

static const struct option inspect_rows[] = {
    OPTION_NUMBER("length", "T", struct inspect_args, length, 1, MAX_LENGTH,
                  "count the cost of a run of T tokens, also with other kinds of attention; "
                  "default: as many as the model takes, or 1024 when it has no limit"),
    OPTION_NUMBER("source-length", "S", struct inspect_args, source_length, 1, MAX_LENGTH,
                  "rows of the source, for models with cross-attention; default: T"),
    OPTION_CHOICE("tower", "text|image", struct inspect_args, model.tower,
                  "of a directory with two towers, as CLIP's, the one to show: text (default) or "
                  "image"),
    OPTION_FLAG("json", struct inspect_args, has_json,
                "print one JSON document, with exact numbers, sizes in bytes"),
    OPTION_FLAG("check", struct inspect_args, has_check,
                "only read every weight and report the tensors that hold NaN or infinity (exit "
                "code 7)"),
    OPTION_HEADING("Other"),
    OPTION_FLAG("quiet", struct inspect_args, is_quiet, "no notes on standard error, only errors",
                .letter = 'q'),
    OPTION_FLAG("verbose", struct inspect_args, is_verbose,
                "also show the metadata of a GGUF file, which of its keys are not known, and which "
                "tokenizer is taken",
                .letter = 'v'),
};

static const struct option_group inspect_options = OPTION_GROUP("Output", inspect_rows);

static const struct option_part parts[] = {
    {&path_options, 0},
    {&model_options, offsetof(struct inspect_args, model)},
    {&weights_options, offsetof(struct inspect_args, model)},
    {&inspect_options, 0},
};

static enum attn_status inspect(struct call *call, struct attn_error *err);

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
        "Multiply-adds are counted. They do not say how long a run takes: `attn-cli\n"
        "bench` measures that.\n",
    .examples = "  attn-cli inspect fable\n"
                "  attn-cli inspect fable --length 64\n"
                "  attn-cli inspect --check fable\n"
                "  attn-cli inspect --json fable | jq .parameters.total\n",
    OPTION_PARTS(parts),
    .args_size = sizeof(struct inspect_args),
    .work = inspect,
};

/* --- Opening the model or file ---------------------------------------------------------------- */

/* Uses PATH as the value of -m, which overrides the model of the environment. */
static enum attn_status check_arguments(struct inspect_args *args, struct attn_error *err)
{
    static const char hint[] = "attn-cli inspect fable";
    const char *usual = getenv("ATTN_CLI_MODEL");
    bool has_model = args->model.name && (!usual || strcmp(usual, args->model.name) != 0);

    if (args->paths.n + has_model > 1)
        return refuse(err, hint, "'inspect' takes one PATH, got %zu", args->paths.n + has_model);
    if (args->paths.n == 1)
        args->model.name = args->paths.items[0];
    return ATTN_OK;
}

/* Whether NAME is a file with the magic number of GGUF. */
static bool is_gguf(const char *name)
{
    struct attn_file file = {0};
    bool is_it = false;

    if (attn_file_open_regular(name, ATTN_MAP, &file, NULL) == ATTN_OK)
        is_it = attn_gguf_is_file(&file);
    attn_file_release(&file);
    return is_it;
}

/* Whether NAME is a file of tensors and not a model. If the file does not exist, its ending
 * decides. */
static bool is_file(const char *name)
{
    struct stat status;

    if (stat(name, &status) == 0)
        return !S_ISDIR(status.st_mode) && !is_gguf(name);
    return attn_path_has_ending(name, ".safetensors");
}

static enum attn_status open_file(const struct inspect_args *args, struct inspection *inspection,
                                  struct attn_error *err)
{
    const struct model_args *model = &args->model;

    if (args->length > 0 || args->source_length > 0)
        return refuse(err, "give the model's directory",
                      "'%s' is a file of tensors, and lengths need a model", model->name);
    if (model->config || model->vocab || model->weights)
        return refuse(err, "give the model's directory",
                      "'%s' is a file of tensors, and --config, --vocab and --weights "
                      "need a model",
                      model->name);
    ATTN_TRY(at_stage(ATTN_STAGE_MODEL,
                      attn_safetensors_open_file(model->name, (enum attn_load)model->load,
                                                 &inspection->alone, err),
                      err));
    inspection->given.weights = inspection->alone;
    return ATTN_OK;
}

static void on_model_note(void *user, enum attn_note code, const char *message)
{
    const struct inspect_args *args = user;

    (void)code;
    if (!args->is_quiet)
        note("%s", message);
}

static enum attn_status find_cost(const struct inspect_args *args, struct inspection *inspection,
                                  struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(inspection->model);
    const size_t n_ctx = config->n_ctx;
    const size_t most = config->n_source > 0 ? config->n_source : SIZE_MAX;
    const struct attn_image_config *image = &config->image;
    size_t n = n_ctx > MAX_LENGTH ? USUAL_LENGTH : n_ctx, n_source;

    if (image->patch_height > 0) /* a picture of the size in the config */
        n = 1 + image->n_register +
            image->height / image->patch_height * (image->width / image->patch_width);
    inspection->has_kinds = args->length > 0;
    if (args->length > 0)
        n = (size_t)args->length;
    if (n > n_ctx)
        return refuse(err, NULL, "'--length' is %zu, '%s' takes at most %zu %s", n,
                      inspection->name, n_ctx, image->patch_height > 0 ? "positions" : "tokens");
    n_source = args->source_length > 0 ? (size_t)args->source_length : n < most ? n : most;
    if (n_source > most)
        return refuse(err, NULL, "'--source-length' is %zu, '%s' takes at most %zu rows", n_source,
                      inspection->name, most);
    ATTN_TRY(at_stage(ATTN_STAGE_OPTIONS,
                      attn_cost_find(inspection->model, n, n_source, &inspection->cost, err), err));
    if (args->source_length > 0 && inspection->cost.n_source == 0)
        return refuse(err, NULL,
                      "'--source-length' is given, and no layer of '%s' attends to a "
                      "source",
                      inspection->name);
    return ATTN_OK;
}

/* Whether GGUF's metadata specify something else than a model: an adapter, an importance matrix. */
static bool is_other(const struct attn_gguf *gguf)
{
    const char *text = NULL, *architecture = NULL;
    size_t size = 0;

    return attn_gguf_get_text(gguf, "general.type", &text, &size, NULL) == ATTN_OK &&
           attn_gguf_get_text(gguf, "general.architecture", &architecture, &(size_t){0}, NULL) ==
               ATTN_OK &&
           (!architecture || (text && (size != 5 || memcmp(text, "model", 5) != 0)));
}

/* Opens the GGUF file of SOURCE without making a model; NULL if there is no such file or it cannot
 * be read. */
static struct attn_gguf *open_gguf(const struct inspect_args *args,
                                   const struct attn_source *source)
{
    const enum attn_load load = (enum attn_load)args->model.load;
    struct attn_file file = {0};
    struct attn_gguf *gguf = NULL;

    if (attn_gguf_is_source(source) &&
        attn_file_open_part(source, ATTN_GGUF_PART, load, &file, NULL) == ATTN_OK)
        attn_gguf_take(&file, load, &gguf, NULL);
    return gguf;
}

/* Falls back to the tensors of a GGUF file that is not a supported model. Otherwise keeps ERR, the
 * reason why the model could not be opened. */
static enum attn_status open_alone(const struct inspect_args *args, struct inspection *inspection,
                                   struct attn_error *err)
{
    const enum attn_status status = err->status;
    const bool needs_model = args->length > 0 || args->source_length > 0 || args->model.vocab;

    if (status == ATTN_UNSUPPORTED)
        attn_error_hint(err, "'attn-cli inspect FILE' shows the tensors of any file");
    if ((status == ATTN_UNSUPPORTED || status == ATTN_FORMAT) && !needs_model)
        inspection->alone_gguf = open_gguf(args, &inspection->source.source);
    if (!inspection->alone_gguf ||
        (status != ATTN_UNSUPPORTED && !is_other(inspection->alone_gguf)))
        return at_stage(ATTN_STAGE_MODEL, status, err);
    inspection->given.gguf = inspection->alone_gguf;
    inspection->given.weights = attn_gguf_files(inspection->alone_gguf);
    if (!args->is_quiet)
        note("no model is made of this file: %s", err->message);
    return ATTN_OK;
}

static enum attn_status open_model(struct inspect_args *args, struct inspection *inspection,
                                   struct attn_error *err)
{
    struct attn_model_options options = ATTN_MODEL_OPTIONS_DEFAULT;
    enum attn_status status;

    ATTN_TRY(model_source_find(&args->model, NULL, &inspection->source, err));
    inspection->name = inspection->source.source.name;
    options.load = (enum attn_load)args->model.load;
    options.tower = (enum attn_tower)args->model.tower;
    options.on_note = on_model_note;
    options.user = args;
    if (attn_model_open(&inspection->source.source, &options, &inspection->model, err) != ATTN_OK)
        return open_alone(args, inspection, err);
    ATTN_TRY(model_check_tower(&args->model, attn_model_config(inspection->model), err));
    inspection->given.model = inspection->model;
    inspection->given.source = &inspection->source.source;
    inspection->given.weights = attn_model_files(inspection->model);
    inspection->given.gguf = attn_model_gguf(inspection->model);
    inspection->given.cost = &inspection->cost;
    status = attn_tokenizer_open(&inspection->source.source, &inspection->tokenizer,
                                 &inspection->no_tokenizer);
    /* A model without a vocabulary runs on ids; one that cannot be read is an error. */
    if (status != ATTN_OK && status != ATTN_IO && status != ATTN_UNSUPPORTED)
        return at_stage(ATTN_STAGE_MODEL, attn_error_copy(err, &inspection->no_tokenizer), err);
    inspection->given.tokenizer = inspection->tokenizer;
    if (status == ATTN_OK && attn_tokenizer_note(inspection->tokenizer))
        on_model_note(args, ATTN_NOTE_TOKENIZER, attn_tokenizer_note(inspection->tokenizer));
    if (args->is_verbose && attn_tokenizer_detail(inspection->tokenizer))
        on_model_note(args, ATTN_NOTE_TOKENIZER, attn_tokenizer_detail(inspection->tokenizer));
    return find_cost(args, inspection, err);
}

/* --- The tables ------------------------------------------------------------------------------- */

/* Fills in the tables; reads the weights if IS_CHECKED. */
static enum attn_status find_tables(struct inspection *inspection, bool is_checked,
                                    struct attn_error *err)
{
    inspection->given.cancel = interrupt_flag();
    for (int i = 0; i < N_PART; i++) {
        const enum attn_inspected part = (enum attn_inspected)i;
        const bool is_wanted = part == ATTN_INSPECTED_NON_FINITE ? is_checked
                               : part == ATTN_INSPECTED_KINDS    ? inspection->has_kinds
                                                                 : true;

        if (is_wanted && attn_inspection_has(&inspection->given, part))
            ATTN_TRY(at_stage(ATTN_STAGE_MODEL,
                              attn_inspect(&inspection->given, part, &inspection->tables[i], err),
                              err));
    }
    return ATTN_OK;
}

/* Rows of the table of PART; 0 without a table. */
static size_t n_row_of(const struct inspection *inspection, enum attn_inspected part)
{
    return inspection->tables[part] ? attn_table_n_row(inspection->tables[part]) : 0;
}

/* The cell of COLUMN, by its name, which the table has. */
static struct attn_cell cell_of(const struct attn_table *table, size_t row, const char *column)
{
    size_t c = 0;

    while (strcmp(attn_table_column(table, c)->name, column) != 0)
        c++;
    return attn_table_cell(table, row, c);
}

static uint64_t number_of(const struct attn_table *table, size_t row, const char *column)
{
    return (uint64_t)cell_of(table, row, column).integer;
}

static bool is_text(const struct attn_cell *cell, const char *text)
{
    return cell->size == strlen(text) && memcmp(cell->text, text, cell->size) == 0;
}

/* --- How each table is shown ------------------------------------------------------------------ */

/* Names of more than 60 columns do not widen the column. The last column is for weights in several
 * files. */
static const struct attn_document_column tensor_columns[] = {
    {.name = "name", .limit = 60},
    {.name = "dtype"},
    {.name = "shape"},
    {.name = "offset", .width = 12},
    {.name = "bytes", .heading = "size", .style = ATTN_NUMBER_QUANTITY, .width = 10},
    {.name = "file"}};
static const struct attn_document_column tower_columns[] = {
    {.name = "tower"},
    {.name = "model_type"},
    {.name = "n_layer", .heading = "layers"},
    {.name = "n_head", .heading = "heads"},
    {.name = "d_model"},
    {.name = "n_ctx", .heading = "positions"},
    {.name = "parameters", .style = ATTN_NUMBER_QUANTITY, .width = 10}};
static const struct attn_document_column difference_columns[] = {
    {.name = "part", .width = SETTING_WIDTH}, {.name = "difference"}};
static const struct attn_document_column file_columns[] = {
    {.name = "name", .width = 5}, {.name = "bytes", .style = ATTN_NUMBER_QUANTITY, .width = 10}};
static const struct attn_document_column output_columns[] = {
    {.name = "site", .width = 14},
    {.name = "shape", .width = 22, .missing = "by layer"},
    {.name = "bytes", .style = ATTN_NUMBER_QUANTITY, .width = 12}};
static const struct attn_document_column kind_columns[] = {
    {.name = "kind", .width = 16},
    {.name = "n_pair", .heading = "pairs", .style = ATTN_NUMBER_QUANTITY, .width = 12},
    {.name = "multiply_adds", .heading = "multiply-adds", .style = ATTN_NUMBER_QUANTITY},
    {.name = "share", .heading = "of exact", .style = ATTN_NUMBER_PERCENT}};

static const char *const operation_labels[] = {"q, k, v and output projections",
                                               "attention matrices", "mlp", "logits of every token",
                                               "total"};
static const char *const image_operation_labels[] = {
    "patches, q, k, v and output projections", "attention matrices", "mlp", "logits", "total"};
static const char *const memory_labels[] = {"weights read", "working memory of 'run', one thread",
                                            "keys and values of all layers", "  with plain heads",
                                            "  with multi-query heads"};

#define COLUMNS(list)                                                                              \
    .text = ATTN_TEXT_COLUMNS, .columns = (list), .n_column = sizeof(list) / sizeof *(list)

static const struct attn_document_view views[N_PART] = {
    [ATTN_INSPECTED_CONFIG] = {.json = ATTN_JSON_MEMBERS,
                               .text = ATTN_TEXT_SETTINGS,
                               .width = SETTING_WIDTH},
    [ATTN_INSPECTED_TOWERS] = {.name = "towers",
                               .json = ATTN_JSON_LINES,
                               COLUMNS(tower_columns),
                               .has_headings = true},
    [ATTN_INSPECTED_ATTENTION] = {.name = "attention", .json = ATTN_JSON_LINES},
    [ATTN_INSPECTED_LAYERS] = {COLUMNS(difference_columns)},
    [ATTN_INSPECTED_DIFFERENCES] = {.name = "differences",
                                    .json = ATTN_JSON_LINES,
                                    COLUMNS(difference_columns)},
    [ATTN_INSPECTED_PARAMETERS] = {.name = "parameters",
                                   .json = ATTN_JSON_OBJECT,
                                   .text = ATTN_TEXT_AMOUNTS},
    [ATTN_INSPECTED_TENSORS] = {.name = "tensors",
                                .json = ATTN_JSON_LINES,
                                COLUMNS(tensor_columns),
                                .has_headings = true},
    [ATTN_INSPECTED_TYPES] = {.name = "types", .json = ATTN_JSON_LINES},
    [ATTN_INSPECTED_METADATA] = {.name = "metadata", .json = ATTN_JSON_LINES},
    [ATTN_INSPECTED_CONVERSION] = {.name = "conversion",
                                   .json = ATTN_JSON_LINES,
                                   COLUMNS(difference_columns)},
    [ATTN_INSPECTED_TOKENIZER] = {.json = ATTN_JSON_MEMBERS},
    [ATTN_INSPECTED_SPECIAL] = {.name = "special", .json = ATTN_JSON_ROWS, .is_joined = true},
    [ATTN_INSPECTED_PROMPTS] = {.name = "prompts",
                                .json = ATTN_JSON_LINES,
                                .text = ATTN_TEXT_NOTHING},
    [ATTN_INSPECTED_FILES] = {.name = "files", .json = ATTN_JSON_LINES, COLUMNS(file_columns)},
    [ATTN_INSPECTED_RUN] = {.json = ATTN_JSON_MEMBERS},
    [ATTN_INSPECTED_MULTIPLY_ADDS] = {.name = "multiply_adds",
                                      .json = ATTN_JSON_OBJECT,
                                      .text = ATTN_TEXT_AMOUNTS,
                                      .labels = operation_labels},
    [ATTN_INSPECTED_MEMORY] = {.name = "memory",
                               .json = ATTN_JSON_OBJECT,
                               .text = ATTN_TEXT_AMOUNTS,
                               .labels = memory_labels},
    [ATTN_INSPECTED_OUTPUTS] = {.name = "outputs",
                                .json = ATTN_JSON_LINES,
                                COLUMNS(output_columns)},
    [ATTN_INSPECTED_KINDS] = {COLUMNS(kind_columns), .has_headings = true},
    [ATTN_INSPECTED_NON_FINITE] = {.name = "non_finite",
                                   .json = ATTN_JSON_LINES,
                                   .is_joined = true},
};

static void add(struct attn_document *document, const struct inspection *inspection,
                enum attn_inspected part)
{
    attn_document_table(document, inspection->tables[part], &views[part]);
}

/* --- Config ----------------------------------------------------------------------------------- */

/* Whether the model has an encoder and a decoder. */
static bool is_of_stacks(const struct inspection *inspection)
{
    return inspection->model && attn_model_config(inspection->model)->stack.has_encoder;
}

static void add_config(struct attn_document *document, const struct inspection *inspection)
{
    const struct attn_table *precision = inspection->tables[ATTN_INSPECTED_PRECISION];

    if (n_row_of(inspection, ATTN_INSPECTED_TOWERS) > 0) {
        attn_document_text(document, is_of_stacks(inspection) ? "\nStacks\n" : "\nTowers\n");
        add(document, inspection, ATTN_INSPECTED_TOWERS);
    }
    if (!inspection->model) {
        attn_document_value(document, "config", attn_cell_missing());
    } else {
        attn_document_begin(document, "config");
        attn_document_text(document, "\nConfig\n");
        add(document, inspection, ATTN_INSPECTED_CONFIG);
        add(document, inspection, ATTN_INSPECTED_LAYERS);
        add(document, inspection, ATTN_INSPECTED_ATTENTION);
        attn_document_end(document);
    }
    if (n_row_of(inspection, ATTN_INSPECTED_DIFFERENCES) > 0)
        attn_document_text(document, "\nUnlike GPT-2\n");
    add(document, inspection, ATTN_INSPECTED_DIFFERENCES);
    if (n_row_of(inspection, ATTN_INSPECTED_CONVERSION) > 0)
        attn_document_text(document, "\nUnlike Hugging Face's files\n");
    add(document, inspection, ATTN_INSPECTED_CONVERSION);
    if (inspection->model)
        attn_document_text(document, "\nParameters\n");
    add(document, inspection, ATTN_INSPECTED_PARAMETERS);
    attn_document_value(document, "mixture", cell_of(precision, 0, "mixture"));
    attn_document_value(document, "bits_per_weight", cell_of(precision, 0, "bits_per_weight"));
    add(document, inspection, ATTN_INSPECTED_TYPES);
}

/* --- Tensors, tokenizer, files ---------------------------------------------------------------- */

static void add_tensors(struct attn_document *document, const struct inspection *inspection)
{
    struct attn_document_view view = views[ATTN_INSPECTED_TENSORS];

    attn_document_text(document, "\nTensors\n");
    view.n_column -= attn_tensor_files_n_shard(inspection->given.weights) <= 1;
    if (n_row_of(inspection, ATTN_INSPECTED_TENSORS) == 0) {
        attn_document_text(document, "  none\n");
        view.text = ATTN_TEXT_NOTHING;
    }
    attn_document_table(document, inspection->tables[ATTN_INSPECTED_TENSORS], &view);
}

/* Appends VALUE, truncated to a line. */
static void add_value(struct attn_document *document, const struct attn_cell *value)
{
    size_t n = value->size;

    if (n > MAX_VALUE)
        for (n = MAX_VALUE; n > 0 && ((unsigned char)value->text[n] & 0xC0) == 0x80;)
            n--; /* never inside a character */
    attn_document_escaped(document, value->text, n);
    if (n < value->size)
        attn_document_text(document, "...");
}

/* The metadata of a GGUF file; in text only with --verbose, or if there is no model. */
static void add_metadata(struct attn_document *document, const struct inspection *inspection)
{
    const struct attn_table *metadata = inspection->tables[ATTN_INSPECTED_METADATA];
    const size_t n = n_row_of(inspection, ATTN_INSPECTED_METADATA);

    if (n > 0 && (inspection->is_verbose || !inspection->model)) {
        attn_document_text(document, "\nMetadata\n");
        for (size_t i = 0; i < n; i++) {
            const struct attn_cell key = cell_of(metadata, i, "key");
            const struct attn_cell type = cell_of(metadata, i, "type");
            const struct attn_cell value = cell_of(metadata, i, "value");

            attn_document_text(document, "  ");
            attn_document_escaped(document, key.text, key.size);
            attn_document_text(document, "%*s", key.size < 38 ? 40 - (int)key.size : 2, "");
            if (value.type == ATTN_VALUE_MISSING)
                attn_document_text(document, "%" PRIu64 " of type %.*s",
                                   number_of(metadata, i, "n"), (int)type.size, type.text);
            else
                add_value(document, &value);
            attn_document_text(document, "%s\n",
                               number_of(metadata, i, "is_known") ? "" : "  (not known)");
        }
    }
    add(document, inspection, ATTN_INSPECTED_METADATA);
}

static void add_tokenizer(struct attn_document *document, const struct inspection *inspection)
{
    static const char *const words[][2] = {
        {"word", "words"}, {"char", "characters"}, {"bpe", "byte-level BPE"}};
    const struct attn_table *tokenizer = inspection->tables[ATTN_INSPECTED_TOKENIZER];
    const struct attn_table *special = inspection->tables[ATTN_INSPECTED_SPECIAL];
    char text[ATTN_QUANTITY_SIZE];

    if (inspection->model)
        attn_document_text(document, "\nTokenizer\n");
    if (!tokenizer) {
        attn_document_value(document, "tokenizer", attn_cell_missing());
        if (inspection->model)
            attn_document_text(document, "  none: %s\n",
                               attn_model_config(inspection->model)->image.patch_height > 0
                                   ? "it reads pictures"
                                   : inspection->no_tokenizer.message);
        return;
    }
    attn_document_begin(document, "tokenizer");
    add(document, inspection, ATTN_INSPECTED_TOKENIZER);
    add(document, inspection, ATTN_INSPECTED_SPECIAL);
    attn_document_end(document);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const struct attn_cell kind = cell_of(tokenizer, 0, "kind");

        if (is_text(&kind, words[i][0]))
            attn_document_text(document, "  kind             %s\n", words[i][1]);
    }
    attn_document_text(document, "  n_vocab          %s\n",
                       attn_quantity_count(number_of(tokenizer, 0, "n_vocab"), text));
    attn_document_text(document, "  unicode          " ATTN_UNICODE_VERSIONS "\n");
    for (size_t i = 0; i < attn_table_n_row(special); i++) {
        const struct attn_cell token = cell_of(special, i, "token");

        attn_document_text(document, "  special          %" PRIu64 " ",
                           number_of(special, i, "id"));
        attn_document_escaped(document, token.text, token.size);
        attn_document_text(document, "\n");
    }
}

static void add_prompts(struct attn_document *document, const struct inspection *inspection)
{
    const struct attn_table *prompts = inspection->tables[ATTN_INSPECTED_PROMPTS];

    if (n_row_of(inspection, ATTN_INSPECTED_PROMPTS) == 0)
        return;
    attn_document_text(document, "\nPrompts, which --with-prompt puts in front of a text\n");
    for (size_t i = 0; i < attn_table_n_row(prompts); i++) {
        const struct attn_cell name = cell_of(prompts, i, "name"),
                               text = cell_of(prompts, i, "text");

        attn_document_text(document, "  ");
        attn_document_escaped(document, name.text, name.size);
        attn_document_text(document, "%*s '", name.size < 16 ? (int)(16 - name.size) : 0, "");
        attn_document_escaped(document, text.text, text.size);
        attn_document_text(document, "'%s\n",
                           number_of(prompts, i, "is_default") ? ", the default" : "");
    }
    add(document, inspection, ATTN_INSPECTED_PROMPTS);
}

static void add_files(struct attn_document *document, const struct inspection *inspection,
                      uint64_t n_byte)
{
    struct attn_document_view view = views[ATTN_INSPECTED_FILES];

    if (inspection->model)
        attn_document_text(document, "\nFiles\n");
    else
        view.text = ATTN_TEXT_NOTHING;
    attn_document_table(document, inspection->tables[ATTN_INSPECTED_FILES], &view);
    attn_document_value(document, "bytes", attn_cell_integer((int64_t)n_byte));
}

/* --- Cost ------------------------------------------------------------------------------------- */

static void add_run(struct attn_document *document, const struct inspection *inspection)
{
    const struct attn_document_view kinds = {.name = "kinds", .json = ATTN_JSON_LINES};
    const struct attn_table *run = inspection->tables[ATTN_INSPECTED_RUN];
    const struct attn_table *work = inspection->tables[ATTN_INSPECTED_MULTIPLY_ADDS];
    const uint64_t n_token = number_of(run, 0, "n_token");
    const uint64_t n_source = number_of(run, 0, "n_source");
    const bool is_image = attn_model_config(inspection->model)->image.patch_height > 0;
    struct attn_document_view operations = views[ATTN_INSPECTED_MULTIPLY_ADDS];
    char text[ATTN_QUANTITY_SIZE];

    attn_document_begin(document, "run");
    add(document, inspection, ATTN_INSPECTED_RUN);
    attn_document_text(document, "\nMultiply-adds of a %s of %s %s%s", is_image ? "picture" : "run",
                       attn_quantity_count(n_token, text), is_image ? "position" : "token",
                       n_token == 1 ? "" : "s");
    if (n_source > 0)
        attn_document_text(document, " and a source of %s row%s",
                           attn_quantity_count(n_source, text), n_source == 1 ? "" : "s");
    attn_document_text(document, "\n");
    if (is_image)
        operations.labels = image_operation_labels;
    attn_document_table(document, work, &operations);
    if (inspection->has_kinds) {
        attn_document_text(
            document, "\nAttention matrices are %.1f %% of this run; by kind:\n",
            100 * ((double)number_of(work, 0, "matrices") / (double)number_of(work, 0, "total")));
        add(document, inspection, ATTN_INSPECTED_KINDS);
    }
    attn_document_text(document, "\nIts memory\n");
    add(document, inspection, ATTN_INSPECTED_MEMORY);
    attn_document_text(document, "\nIts tensors: the shape in one layer, the size of all layers\n");
    add(document, inspection, ATTN_INSPECTED_OUTPUTS);
    if (inspection->has_kinds) /* JSON has them last */
        attn_document_table(document, inspection->tables[ATTN_INSPECTED_KINDS], &kinds);
    attn_document_end(document);
}

/* --- All -------------------------------------------------------------------------------------- */

/* ", Q4_K_M: 4.83 bits a weight", and "Q4_K 71 %, Q6_K 28 %, F32 < 1 %" */
static void add_precision(struct attn_document *document, const struct inspection *inspection)
{
    const struct attn_table *precision = inspection->tables[ATTN_INSPECTED_PRECISION];
    const struct attn_table *types = inspection->tables[ATTN_INSPECTED_TYPES];
    const struct attn_cell mixture = cell_of(precision, 0, "mixture");

    if (cell_of(precision, 0, "bits_per_weight").type == ATTN_VALUE_MISSING)
        return;
    attn_document_text(document, ", %.*s%s%.2f bits a weight\n", (int)mixture.size,
                       mixture.size > 0 ? mixture.text : "", mixture.size > 0 ? ": " : "",
                       cell_of(precision, 0, "bits_per_weight").real);
    for (size_t i = 0; i < attn_table_n_row(types); i++) {
        const struct attn_cell dtype = cell_of(types, i, "dtype");
        const double percent = 100 * cell_of(types, i, "share").real;

        attn_document_text(document, "%s%.*s ", i > 0 ? ", " : "", (int)dtype.size, dtype.text);
        attn_document_text(document, percent < 0.5 ? "< 1 %%" : "%.0f %%", percent);
    }
}

static void add_heading(struct attn_document *document, const struct inspection *inspection,
                        uint64_t n_byte)
{
    const size_t n = attn_tensor_files_count(inspection->given.weights);
    const char *name = inspection->name;
    char text[ATTN_QUANTITY_SIZE];

    attn_document_value(document, "schema", attn_cell_integer(ATTN_JSON_SCHEMA));
    attn_document_value(document, "model", attn_cell_text(name, strlen(name)));
    attn_document_escaped(document, name, strlen(name));
    if (inspection->model)
        attn_document_text(
            document, ": %s, %s parameters", attn_model_config(inspection->model)->model_type,
            attn_quantity_count(
                number_of(inspection->tables[ATTN_INSPECTED_PARAMETERS], 0, "total"), text));
    else
        attn_document_text(document, inspection->given.gguf ? ": GGUF" : ": safetensors");
    if (inspection->model && attn_model_config(inspection->model)->n_expert > 0) {
        const uint64_t n_active = attn_model_parameters(inspection->model).active;

        attn_document_value(document, "parameters_active", attn_cell_integer((int64_t)n_active));
        attn_document_text(document, ", %s for a token", attn_quantity_count(n_active, text));
    }
    attn_document_text(document, ", %zu tensor%s, %s", n, n == 1 ? "" : "s",
                       attn_quantity_bytes(n_byte, text));
    if (inspection->given.gguf)
        add_precision(document, inspection);
    attn_document_text(document, "\n");
}

static void fill(struct attn_document *document, const struct inspection *inspection)
{
    const struct attn_table *files = inspection->tables[ATTN_INSPECTED_FILES];
    const size_t n_tensor = attn_tensor_files_count(inspection->given.weights);
    uint64_t n_byte = 0;

    for (size_t i = 0; i < attn_table_n_row(files); i++)
        n_byte += number_of(files, i, "bytes");
    add_heading(document, inspection, n_byte);
    add_config(document, inspection);
    add_tensors(document, inspection);
    add_metadata(document, inspection);
    add_tokenizer(document, inspection);
    add_prompts(document, inspection);
    add_files(document, inspection, n_byte);
    if (inspection->model)
        add_run(document, inspection);
    else
        attn_document_value(document, "run", attn_cell_missing());
    if (inspection->tables[ATTN_INSPECTED_NON_FINITE]) {
        attn_document_begin(document, "check");
        attn_document_value(document, "n_tensor", attn_cell_integer((int64_t)n_tensor));
        add(document, inspection, ATTN_INSPECTED_NON_FINITE);
        attn_document_end(document);
    }
}

static void fill_check(struct attn_document *document, const struct inspection *inspection)
{
    const struct attn_table *bad = inspection->tables[ATTN_INSPECTED_NON_FINITE];
    const size_t n = attn_tensor_files_count(inspection->given.weights);

    for (size_t i = 0; i < attn_table_n_row(bad); i++) {
        const struct attn_cell name = cell_of(bad, i, "name");

        attn_document_escaped(document, name.text, name.size);
        attn_document_text(document,
                           ": %" PRIu64 " NaN, %" PRIu64 " infinite of %" PRIu64
                           ", the first at %" PRIu64 "\n",
                           number_of(bad, i, "n_nan"), number_of(bad, i, "n_infinite"),
                           number_of(bad, i, "n_value"), number_of(bad, i, "first"));
    }
    if (attn_table_n_row(bad) == 0)
        attn_document_text(document, "%zu tensor%s, all values are finite\n", n, n == 1 ? "" : "s");
}

/* --- The command ------------------------------------------------------------------------------ */

static enum attn_status work(struct inspect_args *args, struct inspection *inspection,
                             struct attn_sink *out, struct attn_error *err)
{
    struct attn_document document = {0};
    enum attn_status status;
    size_t n_bad;

    ATTN_TRY(check_arguments(args, err));
    inspection->name = args->model.name;
    inspection->is_verbose = args->is_verbose;
    if (args->model.name && is_file(args->model.name))
        ATTN_TRY(open_file(args, inspection, err));
    else
        ATTN_TRY(open_model(args, inspection, err));
    interrupt_watch_weights(inspection->given.weights);
    ATTN_TRY(find_tables(inspection, args->has_check, err));
    (args->has_check && !args->has_json ? fill_check : fill)(&document, inspection);
    status =
        attn_document_write(&document, args->has_json ? ATTN_FORM_JSON : ATTN_FORM_TEXT, out, err);
    attn_document_release(&document);
    ATTN_TRY(at_stage(ATTN_STAGE_OUTPUT, status, err));
    ATTN_TRY(print_flush(out, err)); /* it stays when the check fails */
    n_bad = n_row_of(inspection, ATTN_INSPECTED_NON_FINITE);
    if (n_bad > 0)
        return problem(err, ATTN_STAGE_CHECK, NULL,
                       "%zu of %zu tensors hold values that are not finite", n_bad,
                       attn_tensor_files_count(inspection->given.weights));
    return ATTN_OK;
}

static enum attn_status inspect(struct call *call, struct attn_error *err)
{
    struct inspection inspection = {.given = ATTN_INSPECTION_DEFAULT};
    const enum attn_status status = work(call->args, &inspection, call->out, err);

    interrupt_watch_weights(NULL);
    for (int i = 0; i < N_PART; i++)
        attn_table_free(inspection.tables[i]);
    attn_tokenizer_free(inspection.tokenizer);
    attn_model_free(inspection.model);
    attn_tensor_files_free(inspection.alone);
    attn_gguf_free(inspection.alone_gguf);
    return status;
}
