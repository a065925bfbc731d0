#include "inspect/inspection_document.h"

#include "base/text/number.h"
#include "base/version.h"
#include "model/model_internal.h"
#include "quantized/quantized.h"
#include "tables/table_internal.h"
#include "tokenizer/tokenizer_internal.h"

#include <inttypes.h>
#include <string.h>

enum {
    SETTING_WIDTH = 21,
    MAX_VALUE = 60, /* maximum bytes of a metadata value in text */
    MAX_RUN = 20    /* longer runs of special tokens are one line of text, without --verbose */
};

enum attn_status attn_shown_inspection_find(struct attn_shown_inspection *shown,
                                            struct attn_error *err)
{
    for (int i = 0; i < ATTN_N_INSPECTED; i++) {
        const enum attn_inspected part = (enum attn_inspected)i;
        const bool is_wanted = part == ATTN_INSPECTED_NON_FINITE ? shown->has_check
                               : part == ATTN_INSPECTED_KINDS    ? shown->has_kinds
                                                                 : true;

        if (is_wanted && attn_inspection_has(&shown->given, part))
            ATTN_TRY(attn_inspect(&shown->given, part, &shown->tables[i], err));
    }
    return ATTN_OK;
}

void attn_shown_inspection_release(struct attn_shown_inspection *shown)
{
    for (int i = 0; i < ATTN_N_INSPECTED; i++)
        attn_table_free(shown->tables[i]);
}

static size_t n_row_of(const struct attn_shown_inspection *shown, enum attn_inspected part)
{
    return shown->tables[part] ? attn_table_n_row(shown->tables[part]) : 0;
}

/* Returns the cell of COLUMN (its name) in the table of PART. */
static struct attn_cell find_cell(const struct attn_shown_inspection *shown,
                                  enum attn_inspected part, size_t row, const char *column)
{
    const struct attn_table *table = shown->tables[part];

    return attn_table_cell(table, row, attn_table_find(table, column));
}

#define CELL(part, row, column) find_cell(shown, ATTN_INSPECTED_##part, row, column)
#define NUMBER(part, row, column) ((uint64_t)CELL(part, row, column).integer)
#define N_ROW(part) n_row_of(shown, ATTN_INSPECTED_##part)

/* --- How each table is shown ------------------------------------------------------------------ */

/* Names of more than 60 columns do not widen the column. The last column is shown only for weights
 * in several files. */
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
static const struct attn_document_column part_columns[] = {{.name = "part", .width = SETTING_WIDTH},
                                                           {.name = "difference"}};
static const struct attn_document_column field_columns[] = {
    {.name = "name", .width = SETTING_WIDTH}, {.name = "value"}};
static const struct attn_document_column adapter_columns[] = {
    {.name = "name", .limit = 60},
    {.name = "shape"},
    {.name = "rank", .missing = "replaced"},
    {.name = "scale", .missing = ""},
    {.name = "norm_ratio", .heading = "change / weight", .missing = ""}};
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

#define JSON(layout) .json = ATTN_JSON_##layout
#define SETTINGS .text = ATTN_TEXT_SETTINGS, .width = SETTING_WIDTH
#define AMOUNTS(list) .text = ATTN_TEXT_AMOUNTS, .labels = (list)
#define HEADED .has_headings = true
#define VIEW(id, table, title, ...) [ATTN_INSPECTED_##id] = {title, {.name = #table, __VA_ARGS__}}

/* How each table is shown: below a heading, if it has one and rows; under its name in JSON. */
static const struct {
    const char *heading;
    struct attn_document_view view;
} parts[ATTN_N_INSPECTED] = {
    VIEW(CONFIG, config, "Config", JSON(MEMBERS), SETTINGS),
    VIEW(TOWERS, towers, NULL, JSON(LINES), COLUMNS(tower_columns), HEADED),
    VIEW(ATTENTION, attention, NULL, JSON(LINES)),
    VIEW(LAYERS, layers, NULL, COLUMNS(part_columns)),
    VIEW(DIFFERENCES, differences, "Unlike GPT-2", JSON(LINES), COLUMNS(field_columns)),
    VIEW(PARAMETERS, parameters, "Parameters", JSON(OBJECT), AMOUNTS(NULL)),
    VIEW(ADAPTER, adapter, "Changed by the adapter", JSON(LINES), COLUMNS(adapter_columns), HEADED),
    VIEW(TENSORS, tensors, NULL, JSON(LINES), COLUMNS(tensor_columns), HEADED),
    VIEW(TYPES, types, NULL, JSON(LINES)),
    VIEW(METADATA, metadata, NULL, JSON(LINES)),
    VIEW(CONVERSION, conversion, "Unlike Hugging Face's files", JSON(LINES), COLUMNS(part_columns)),
    VIEW(TOKENIZER, tokenizer, NULL, JSON(MEMBERS)),
    VIEW(SPECIAL, special, NULL, JSON(ROWS), .is_joined = true),
    VIEW(PROMPTS, prompts, NULL, JSON(LINES)),
    VIEW(FILES, files, NULL, JSON(LINES), COLUMNS(file_columns)),
    VIEW(RUN, run, NULL, JSON(MEMBERS)),
    VIEW(MULTIPLY_ADDS, multiply_adds, NULL, JSON(OBJECT), AMOUNTS(operation_labels)),
    VIEW(MEMORY, memory, "Its memory", JSON(OBJECT), AMOUNTS(memory_labels)),
    VIEW(OUTPUTS, outputs, "Its tensors: the shape in one layer, the size of all layers",
         JSON(LINES), COLUMNS(output_columns)),
    VIEW(KINDS, kinds, NULL, COLUMNS(kind_columns), HEADED),
    VIEW(NON_FINITE, non_finite, NULL, JSON(LINES), .is_joined = true),
};

static void add(struct attn_document *document, const struct attn_shown_inspection *shown,
                enum attn_inspected part)
{
    if (parts[part].heading && n_row_of(shown, part) > 0)
        attn_document_text(document, "\n%s\n", parts[part].heading);
    attn_document_table(document, shown->tables[part], &parts[part].view);
}

/* --- Config ----------------------------------------------------------------------------------- */

static void add_config(struct attn_document *document, const struct attn_shown_inspection *shown)
{
    const struct attn_quantization *quantization = attn_quantization_of(shown->given.weights);

    if (N_ROW(TOWERS) > 0) {
        attn_document_text(document, attn_model_config(shown->given.model)->stack.has_encoder
                                         ? "\nStacks\n"
                                         : "\nTowers\n");
        add(document, shown, ATTN_INSPECTED_TOWERS);
    }
    if (!shown->given.model) {
        attn_document_value(document, "config", attn_cell_missing());
    } else {
        attn_document_begin(document, "config");
        add(document, shown, ATTN_INSPECTED_CONFIG);
        add(document, shown, ATTN_INSPECTED_LAYERS);
        add(document, shown, ATTN_INSPECTED_ATTENTION);
        attn_document_end(document);
    }
    add(document, shown, ATTN_INSPECTED_DIFFERENCES);
    add(document, shown, ATTN_INSPECTED_CONVERSION);
    add(document, shown, ATTN_INSPECTED_PARAMETERS);
    if (N_ROW(ADAPTER) > 0)
        add(document, shown, ATTN_INSPECTED_ADAPTER);
    attn_document_value(document, "file_type", CELL(PRECISION, 0, "file_type"));
    attn_document_value(document, "bits_per_weight", CELL(PRECISION, 0, "bits_per_weight"));
    if (quantization) {
        attn_document_begin(document, "quantization");
        attn_document_value(document, "method", attn_cell_string(quantization->method));
        attn_document_value(document, "bits", attn_cell_integer((int64_t)quantization->bits));
        attn_document_value(document, "group_size",
                            quantization->group_size > 0
                                ? attn_cell_integer((int64_t)quantization->group_size)
                                : attn_cell_missing());
        attn_document_end(document);
    }
    add(document, shown, ATTN_INSPECTED_TYPES);
}

/* --- Tensors, tokenizer, files ---------------------------------------------------------------- */

static void add_tensors(struct attn_document *document, const struct attn_shown_inspection *shown)
{
    struct attn_document_view view = parts[ATTN_INSPECTED_TENSORS].view;

    attn_document_text(document, "\nTensors\n");
    view.n_column -= attn_tensor_files_n_shard(shown->given.weights) <= 1;
    if (N_ROW(TENSORS) == 0) {
        attn_document_text(document, "  none\n");
        view.text = ATTN_TEXT_NOTHING;
    }
    attn_document_table(document, shown->tables[ATTN_INSPECTED_TENSORS], &view);
}

/* Appends VALUE, truncated to a line. */
static void add_value(struct attn_document *document, const struct attn_cell *value)
{
    size_t n = value->size;

    if (n > MAX_VALUE)
        for (n = MAX_VALUE; n > 0 && ((unsigned char)value->text[n] & 0xC0) == 0x80;)
            n--; /* cuts before a whole character */
    attn_document_escaped(document, value->text, n);
    if (n < value->size)
        attn_document_text(document, "...");
}

/* Adds the metadata of a GGUF file; in text only with --verbose, or if there is no model. */
static void add_metadata(struct attn_document *document, const struct attn_shown_inspection *shown)
{
    const size_t n = N_ROW(METADATA);

    if (n > 0 && (shown->is_verbose || !shown->given.model)) {
        attn_document_text(document, "\nMetadata\n");
        for (size_t i = 0; i < n; i++) {
            const struct attn_cell key = CELL(METADATA, i, "key");
            const struct attn_cell type = CELL(METADATA, i, "type");
            const struct attn_cell value = CELL(METADATA, i, "value");

            attn_document_text(document, "  ");
            attn_document_escaped(document, key.text, key.size);
            attn_document_text(document, "%*s", key.size < 38 ? 40 - (int)key.size : 2, "");
            if (value.type == ATTN_VALUE_MISSING)
                attn_document_text(document, "%" PRIu64 " of type %.*s", NUMBER(METADATA, i, "n"),
                                   (int)type.size, type.text);
            else
                add_value(document, &value);
            attn_document_text(document, "\n");
        }
    }
    add(document, shown, ATTN_INSPECTED_METADATA);
}

/* Returns the number of characters of TEXT [size] before its first digit, from its end if STEP is
 * -1. */
static size_t n_before_digit(const char *text, size_t size, int step)
{
    const char *at = step < 0 ? text + size - 1 : text;
    size_t n = 0;

    while (n < size && (*at < '0' || *at > '9'))
        at += step, n++;
    return n;
}

/* Whether A and B differ in a number alone: "<unused3>", "<unused14>". */
static bool is_numbered_alike(const struct attn_cell *a, const struct attn_cell *b)
{
    const size_t before = n_before_digit(a->text, a->size, 1);
    const size_t after = n_before_digit(a->text, a->size, -1);
    uint64_t number;

    return before < a->size && b->size > before + after && memcmp(a->text, b->text, before) == 0 &&
           memcmp(a->text + a->size - after, b->text + b->size - after, after) == 0 &&
           attn_parse_uint(a->text + before, a->size - before - after, &number) &&
           attn_parse_uint(b->text + before, b->size - before - after, &number);
}

/* Returns the row after the special tokens that are shown as one with that of row FIRST. */
static size_t end_of_special(const struct attn_shown_inspection *shown, size_t first)
{
    const struct attn_cell token = CELL(SPECIAL, first, "token");
    size_t end = first + 1;

    for (; end < N_ROW(SPECIAL); end++) {
        const struct attn_cell other = CELL(SPECIAL, end, "token");

        if (NUMBER(SPECIAL, end, "id") != NUMBER(SPECIAL, end - 1, "id") + 1 ||
            !is_numbered_alike(&token, &other))
            break;
    }
    return end - first > MAX_RUN && !shown->is_verbose ? end : first + 1;
}

static void add_special(struct attn_document *document, const struct attn_shown_inspection *shown)
{
    for (size_t i = 0, end; i < N_ROW(SPECIAL); i = end) {
        const struct attn_cell token = CELL(SPECIAL, i, "token");

        end = end_of_special(shown, i);
        attn_document_text(document, "  special          %" PRIu64, NUMBER(SPECIAL, i, "id"));
        if (end > i + 1)
            attn_document_text(document, "-%" PRIu64, NUMBER(SPECIAL, end - 1, "id"));
        attn_document_text(document, " ");
        attn_document_escaped(document, token.text, token.size);
        if (end > i + 1) {
            const struct attn_cell last = CELL(SPECIAL, end - 1, "token");

            attn_document_text(document, " to ");
            attn_document_escaped(document, last.text, last.size);
        }
        attn_document_text(document, "\n");
    }
}

static void add_tokenizer(struct attn_document *document, const struct attn_shown_inspection *shown)
{
    static const char *const words[] = {[ATTN_TOKENIZER_WORD] = "words",
                                        [ATTN_TOKENIZER_CHARACTER] = "characters",
                                        [ATTN_TOKENIZER_BPE] = "byte-level BPE",
                                        [ATTN_TOKENIZER_WORDPIECE] = "WordPiece",
                                        [ATTN_TOKENIZER_UNIGRAM] = "unigram"};
    char text[ATTN_QUANTITY_SIZE];

    if (shown->given.model)
        attn_document_text(document, "\nTokenizer\n");
    if (!shown->given.tokenizer) {
        attn_document_value(document, "tokenizer", attn_cell_missing());
        if (shown->given.model)
            attn_document_text(document, "  none: %s\n",
                               attn_model_config(shown->given.model)->image.patch_height > 0
                                   ? "it reads pictures"
                                   : shown->no_tokenizer);
        return;
    }
    attn_document_begin(document, "tokenizer");
    add(document, shown, ATTN_INSPECTED_TOKENIZER);
    add(document, shown, ATTN_INSPECTED_SPECIAL);
    attn_document_end(document);
    attn_document_text(document, "  kind             %s\n",
                       words[attn_tokenizer_kind(shown->given.tokenizer)]);
    attn_document_text(document, "  n_vocab          %s\n",
                       attn_quantity_count(NUMBER(TOKENIZER, 0, "n_vocab"), text));
    attn_document_text(document, "  unicode          " ATTN_UNICODE_VERSIONS "\n");
    if (CELL(TOKENIZER, 0, "chat_template").type != ATTN_VALUE_MISSING)
        attn_document_text(document, "  chat template    in %s\n",
                           attn_tokenizer_chat(shown->given.tokenizer)->place);
    add_special(document, shown);
}

static void add_prompts(struct attn_document *document, const struct attn_shown_inspection *shown)
{
    if (N_ROW(PROMPTS) == 0)
        return;
    attn_document_text(document, "\nPrompts, which %s puts in front of a text\n",
                       shown->prompt_name);
    for (size_t i = 0; i < N_ROW(PROMPTS); i++) {
        const struct attn_cell name = CELL(PROMPTS, i, "name"), text = CELL(PROMPTS, i, "text");

        attn_document_text(document, "  ");
        attn_document_escaped(document, name.text, name.size);
        attn_document_text(document, "%*s '", name.size < 16 ? (int)(16 - name.size) : 0, "");
        attn_document_escaped(document, text.text, text.size);
        attn_document_text(document, "'%s\n",
                           NUMBER(PROMPTS, i, "is_default") ? ", the default" : "");
    }
    add(document, shown, ATTN_INSPECTED_PROMPTS);
}

static void add_files(struct attn_document *document, const struct attn_shown_inspection *shown,
                      uint64_t n_byte)
{
    struct attn_document_view view = parts[ATTN_INSPECTED_FILES].view;

    if (shown->given.model)
        attn_document_text(document, "\nFiles\n");
    else
        view.text = ATTN_TEXT_NOTHING;
    attn_document_table(document, shown->tables[ATTN_INSPECTED_FILES], &view);
    attn_document_value(document, "bytes", attn_cell_integer((int64_t)n_byte));
}

/* --- Cost ------------------------------------------------------------------------------------- */

/* Adds the multiply-adds of a picture beside a text, if its size is fixed. */
static void add_tower(struct attn_document *document, const struct attn_shown_inspection *shown)
{
    const struct attn_model *tower = shown->given.model->tower;
    char text[ATTN_QUANTITY_SIZE];
    uint64_t work;

    if (!tower || tower->config.n_ctx == SIZE_MAX) /* its pictures have any size */
        return;
    work = attn_cost_work(tower, tower->config.n_ctx, 0, NULL).multiply_adds;
    attn_quantity_operations(work, text);
    attn_document_text(document, "  and in the tower, of each picture of %zu patches: %s\n",
                       tower->config.n_ctx, text);
    attn_document_value(document, "picture_multiply_adds", attn_cell_integer((int64_t)work));
}

static void add_run(struct attn_document *document, const struct attn_shown_inspection *shown)
{
    const uint64_t n_token = NUMBER(RUN, 0, "n_token");
    const uint64_t n_source = NUMBER(RUN, 0, "n_source");
    const bool is_image = attn_model_config(shown->given.model)->image.patch_height > 0;
    struct attn_document_view operations = parts[ATTN_INSPECTED_MULTIPLY_ADDS].view;
    char text[ATTN_QUANTITY_SIZE];

    attn_document_begin(document, "run");
    add(document, shown, ATTN_INSPECTED_RUN);
    attn_document_text(document, "\nMultiply-adds of a %s of %s %s%s", is_image ? "picture" : "run",
                       attn_quantity_count(n_token, text), is_image ? "position" : "token",
                       n_token == 1 ? "" : "s");
    if (n_source > 0)
        attn_document_text(document, " and a source of %s row%s",
                           attn_quantity_count(n_source, text), n_source == 1 ? "" : "s");
    attn_document_text(document, "\n");
    if (is_image)
        operations.labels = image_operation_labels;
    attn_document_table(document, shown->tables[ATTN_INSPECTED_MULTIPLY_ADDS], &operations);
    add_tower(document, shown);
    if (shown->has_kinds) {
        attn_document_text(document, "\nAttention matrices are %.1f %% of this run; by kind:\n",
                           100 * ((double)NUMBER(MULTIPLY_ADDS, 0, "matrices") /
                                  (double)NUMBER(MULTIPLY_ADDS, 0, "total")));
        add(document, shown, ATTN_INSPECTED_KINDS);
    }
    add(document, shown, ATTN_INSPECTED_MEMORY);
    add(document, shown, ATTN_INSPECTED_OUTPUTS);
    if (shown->has_kinds) /* in JSON they come last */
        attn_document_table(document, shown->tables[ATTN_INSPECTED_KINDS],
                            &(struct attn_document_view){.name = "kinds", .json = ATTN_JSON_LINES});
    attn_document_end(document);
}

/* --- All -------------------------------------------------------------------------------------- */

/* Adds ", Q4_K_M: 4.83 bits a weight", and "Q4_K 71 %, Q6_K 28 %, F32 < 1 %". */
static void add_precision(struct attn_document *document, const struct attn_shown_inspection *shown)
{
    const struct attn_cell file_type = CELL(PRECISION, 0, "file_type");

    if (CELL(PRECISION, 0, "bits_per_weight").type == ATTN_VALUE_MISSING)
        return;
    attn_document_text(document, ", %.*s%s%.2f bits a weight\n", (int)file_type.size,
                       file_type.size > 0 ? file_type.text : "", file_type.size > 0 ? ": " : "",
                       CELL(PRECISION, 0, "bits_per_weight").real);
    for (size_t i = 0; i < N_ROW(TYPES); i++) {
        const struct attn_cell dtype = CELL(TYPES, i, "dtype");
        const double percent = 100 * CELL(TYPES, i, "share").real;

        attn_document_text(document, "%s%.*s ", i > 0 ? ", " : "", (int)dtype.size, dtype.text);
        attn_document_text(document, percent < 0.5 ? "< 1 %%" : "%.0f %%", percent);
    }
}

static void add_heading(struct attn_document *document, const struct attn_shown_inspection *shown,
                        uint64_t n_byte)
{
    const size_t n = attn_tensor_files_count(shown->given.weights);
    const char *name = shown->name, *format = attn_tensor_files_format(shown->given.weights);
    char text[ATTN_QUANTITY_SIZE];

    document->kind = ATTN_DOCUMENT_INSPECT;
    attn_document_value(document, "model", attn_cell_text(name, strlen(name)));
    attn_document_escaped(document, name, strlen(name));
    if (shown->given.model)
        attn_document_text(document, ": %s, %s parameters",
                           attn_model_config(shown->given.model)->model_type,
                           attn_quantity_count(NUMBER(PARAMETERS, 0, "total"), text));
    else
        attn_document_text(document, ": %s", shown->given.gguf ? "GGUF" : format);
    if (shown->given.model && attn_model_config(shown->given.model)->n_expert > 0) {
        const uint64_t n_active = attn_model_parameters(shown->given.model).active;

        attn_document_value(document, "parameters_active", attn_cell_integer((int64_t)n_active));
        attn_document_text(document, ", %s for a token", attn_quantity_count(n_active, text));
    }
    attn_document_text(document, ", %zu tensor%s, %s", n, n == 1 ? "" : "s",
                       attn_quantity_bytes(n_byte, text));
    if (shown->given.gguf || attn_quantization_of(shown->given.weights))
        add_precision(document, shown);
    else if (shown->given.model && strcmp(format, "PyTorch") == 0)
        attn_document_text(document, ", %s", format);
    attn_document_text(document, "\n");
}

void attn_shown_inspection_fill(const struct attn_shown_inspection *shown,
                                struct attn_document *document)
{
    const size_t n_tensor = attn_tensor_files_count(shown->given.weights);
    uint64_t n_byte = 0;

    for (size_t i = 0; i < N_ROW(FILES); i++)
        n_byte += NUMBER(FILES, i, "bytes");
    add_heading(document, shown, n_byte);
    add_config(document, shown);
    add_tensors(document, shown);
    add_metadata(document, shown);
    add_tokenizer(document, shown);
    add_prompts(document, shown);
    add_files(document, shown, n_byte);
    if (shown->given.model)
        add_run(document, shown);
    else
        attn_document_value(document, "run", attn_cell_missing());
    if (shown->tables[ATTN_INSPECTED_NON_FINITE]) {
        attn_document_begin(document, "check");
        attn_document_value(document, "n_tensor", attn_cell_integer((int64_t)n_tensor));
        add(document, shown, ATTN_INSPECTED_NON_FINITE);
        attn_document_end(document);
    }
}

void attn_shown_inspection_fill_check(const struct attn_shown_inspection *shown,
                                      struct attn_document *document)
{
    const size_t n = attn_tensor_files_count(shown->given.weights);

    for (size_t i = 0; i < N_ROW(NON_FINITE); i++) {
        const struct attn_cell name = CELL(NON_FINITE, i, "name");

        attn_document_escaped(document, name.text, name.size);
        attn_document_text(document,
                           ": %" PRIu64 " NaN, %" PRIu64 " infinite of %" PRIu64
                           ", the first at %" PRIu64 "\n",
                           NUMBER(NON_FINITE, i, "n_nan"), NUMBER(NON_FINITE, i, "n_infinite"),
                           NUMBER(NON_FINITE, i, "n_value"), NUMBER(NON_FINITE, i, "first"));
    }
    if (N_ROW(NON_FINITE) == 0)
        attn_document_text(document, "%zu tensor%s, all values are finite\n", n, n == 1 ? "" : "s");
}
