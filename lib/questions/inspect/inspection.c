/* inspection.c - see inspection.h. The columns of each table are defined before the function that
 * appends its rows; those of `config` are its fields. */
#include "inspect/inspection.h"

#include "attention/attention_internal.h"
#include "base/dtype_internal.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/os/os.h"
#include "base/os/thread.h"
#include "base/text/given.h"
#include "base/text/path.h"
#include "base/version.h"
#include "foreign/adapter.h"
#include "formats/opener.h"
#include "inspect/inspection_internal.h"
#include "model/config_internal.h"
#include "model/elements.h"
#include "model/model_internal.h"
#include "quantized/quantized.h"
#include "tables/table_internal.h"
#include "tokenizer/tokenizer_internal.h"
#include "trace/selection.h"
#include "trace/trace_internal.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N(list) (sizeof(list) / sizeof *(list))

/* Initializers of columns. */
#define TEXT(column) .name = (column), .type = ATTN_VALUE_TEXT
#define FLAG(column) .name = (column), .type = ATTN_VALUE_BOOLEAN
#define LIST(column) .name = (column), .type = ATTN_VALUE_LIST
#define COUNT(column) .name = (column), .type = ATTN_VALUE_INTEGER
#define BYTES(column) COUNT(column), .unit = "bytes"
#define OPERATIONS(column) COUNT(column), .unit = "multiply-adds"
#define FIXED(column, its_range)                                                                   \
    .name = (column), .type = ATTN_VALUE_REAL, .notation = ATTN_NOTATION_FIXED, .digits = 4,       \
    .range = ATTN_RANGE_##its_range
#define NUMBER(column) .name = (column), .type = ATTN_VALUE_REAL, .notation = ATTN_NOTATION_DOUBLE

static struct attn_cell count_cell(uint64_t n)
{
    return attn_cell_integer(n > INT64_MAX ? INT64_MAX : (int64_t)n);
}

static struct attn_cell shape_cell(const size_t *shape, int rank, int64_t list[ATTN_MAX_RANK])
{
    for (int i = 0; i < rank; i++)
        list[i] = (int64_t)shape[i];
    return attn_cell_list(list, (size_t)rank);
}

struct filling {
    struct attn_inspection given;
    struct attn_table *table;
    struct attn_error *err;
};

#define append(to, ...)                                                                            \
    attn_table_append((to)->table, (const struct attn_cell[]){__VA_ARGS__},                        \
                      N(((const struct attn_cell[]){__VA_ARGS__})), (to)->err)

/* Appends a row of N amounts and, if HAS_TOTAL, their sum. */
static enum attn_status append_amounts(struct filling *to, const uint64_t *amounts, size_t n,
                                       bool has_total)
{
    struct attn_cell row[8];
    uint64_t total = 0;

    for (size_t i = 0; i < n; i++) {
        row[i] = count_cell(amounts[i]);
        total = attn_saturated_add(total, (uint64_t)row[i].integer);
    }
    row[n] = count_cell(total);
    return attn_table_append(to->table, row, n + has_total, to->err);
}

/* --- Tables of the model ---------------------------------------------------------------------- */

enum { MAX_FIELDS = 60 };

/* A row of fields with their columns, for a table with one row. */
struct table_record {
    struct attn_column columns[MAX_FIELDS];
    struct attn_cell cells[MAX_FIELDS];
    size_t n;
};

/* the columns are created by find_config */
static const struct attn_column config_columns[] = {{.name = NULL}};

static void add_field(struct table_record *record, const struct attn_config *config,
                      const struct attn_config_field *field)
{
    static const enum attn_value_type types[] = {
        [ATTN_CONFIG_TEXT] = ATTN_VALUE_TEXT, [ATTN_CONFIG_SIZE] = ATTN_VALUE_INTEGER,
        [ATTN_CONFIG_WORD] = ATTN_VALUE_TEXT, [ATTN_CONFIG_FLAG] = ATTN_VALUE_BOOLEAN,
        [ATTN_CONFIG_REAL] = ATTN_VALUE_REAL, [ATTN_CONFIG_FACTOR] = ATTN_VALUE_REAL};

    record->columns[record->n] =
        (struct attn_column){.name = field->name, .type = types[field->type]};
    if (field->type == ATTN_CONFIG_FACTOR)
        record->columns[record->n].notation = ATTN_NOTATION_DOUBLE;
    record->cells[record->n++] = attn_config_cell(config, field);
}

static bool is_set(const struct attn_config_field *field, const void *value)
{
    return field->type == ATTN_CONFIG_FLAG ? *(const bool *)value : *(const double *)value != 0;
}

static void add_count(struct table_record *record, struct attn_column column, uint64_t n)
{
    record->columns[record->n] = column;
    record->cells[record->n++] = count_cell(n);
}

/* Adds what layers without attention have. A convolution has channels, not heads. */
static void add_mixers(struct table_record *record, const struct attn_config *config)
{
    if (config->mixer && config->mixer->kind != ATTN_MIXER_CONV)
        add_count(record, (struct attn_column){COUNT("n_mixing_heads")}, config->mixer->n_head);
    if (config->mixer)
        add_count(record, (struct attn_column){BYTES("state_bytes")},
                  attn_inspection_state_size(config));
}

static enum attn_status find_config(struct filling *to)
{
    const struct attn_config *config = attn_model_config(to->given.model);
    const bool has_cross = attn_config_has_cross(config);
    struct attn_config shown = *config;
    struct table_record record = {.n = 0};

    shown.n_layer = attn_config_n_whole_layer(config);
    if (attn_config_turns_nothing(config))
        shown.positions = ATTN_POSITIONS_LEARNED;

    for (const struct attn_config_field *field = attn_config_fields; field->name; field++) {
        const char *value = (const char *)config + field->offset;
        const bool is_n_source = field->offset == offsetof(struct attn_config, n_source);
        const bool is_d_out = field->offset == offsetof(struct attn_config, d_out);

        if (field->is_unshown || (field->is_of_source && !has_cross) ||
            (field->is_of_encoder && !config->is_encoder) ||
            (field->is_of_tower && config->d_projected == 0 && !config->has_two_towers) ||
            (field->is_of_image && config->image.patch_height == 0) ||
            (field->is_of_classes &&
             (config->task == ATTN_TASK_VOCABULARY || config->image.patch_height > 0)) ||
            (field->is_of_mixture && config->n_expert == 0) ||
            (field->is_rare && !is_set(field, value)) || (is_n_source && config->n_source == 0) ||
            (is_d_out && config->d_out == config->d_model))
            continue;
        add_field(&record, &shown, field);
    }
    add_mixers(&record, config);
    ATTN_TRY(attn_table_create("config", record.columns, record.n, &to->table, to->err));
    return attn_table_append(to->table, record.cells, record.n, to->err);
}

static const struct attn_column attention_columns[] = {
    {TEXT("kind")},      {FLAG("is_cross")},     {TEXT("mask")},          {FLAG("is_scaled")},
    {NUMBER("eps")},     {NUMBER("factor")},     {COUNT("window")},       {NUMBER("score_cap")},
    {TEXT("rope_type")}, {NUMBER("rope_theta")}, {NUMBER("rope_factor")}, {COUNT("d_rotary")},
    {TEXT("rope_pairs")}};

static enum attn_status find_attention(struct filling *to)
{
    const struct attn_config *config = attn_model_config(to->given.model);

    for (size_t layer = 0; layer < config->n_layer; layer++) {
        const struct attn_attention *a = &config->attention[layer];
        const bool is_cross = config->is_cross[layer];
        const bool is_causal = a->mask == ATTN_MASK_CAUSAL && !is_cross;
        const bool is_mixer = attn_config_is_mixer(config, layer);
        const bool is_mlp = config->is_mlp && config->is_mlp[layer];
        const bool has_rope = !is_mixer && !is_mlp && config->positions == ATTN_POSITIONS_ROTARY &&
                              config->rope[layer].d_rotary > 0;
        const struct attn_rope *rope = &config->rope[layer];
        ATTN_TRY(append(
            to, attn_cell_string(attn_inspection_layer_kind(config, layer)),
            attn_cell_boolean(is_cross), attn_cell_string(is_causal ? "causal" : "none"),
            attn_cell_boolean(a->is_scaled), attn_cell_real(a->eps), attn_cell_real(a->factor),
            a->kind == ATTN_ATTENTION_WINDOW ? count_cell(a->window) : attn_cell_missing(),
            a->score_cap > 0 ? attn_cell_real(a->score_cap) : attn_cell_missing(),
            has_rope ? attn_cell_string(attn_inspection_rope_type(rope)) : attn_cell_missing(),
            has_rope ? attn_cell_real(rope->theta) : attn_cell_missing(),
            has_rope && rope->factor > 0 ? attn_cell_real(rope->factor) : attn_cell_missing(),
            has_rope ? count_cell(rope->d_rotary) : attn_cell_missing(),
            has_rope ? attn_cell_string(rope->turns_neighbours ? "neighbours" : "half")
                     : attn_cell_missing()));
    }
    return ATTN_OK;
}

static const struct attn_column towers_columns[] = {
    {TEXT("tower")},    {TEXT("model_type")}, {COUNT("n_layer")},   {COUNT("n_head")},
    {COUNT("d_model")}, {COUNT("n_ctx")},     {COUNT("parameters")}};

static enum attn_status append_tower(struct filling *to, const char *name,
                                     const struct attn_model *model, uint64_t n_parameter)
{
    const struct attn_config *config = attn_model_config(model);
    const bool is_limited = config->n_ctx != SIZE_MAX;
    return append(to, attn_cell_string(name), attn_cell_string(config->model_type),
                  count_cell(attn_config_n_whole_layer(config)), count_cell(config->n_head),
                  count_cell(config->d_model),
                  is_limited ? count_cell(config->n_ctx) : attn_cell_missing(),
                  count_cell(n_parameter));
}

/* Appends the encoder and the decoder. A table of tokens that both share counts for the decoder. */
static enum attn_status append_stacks(struct filling *to)
{
    const struct attn_model *model = to->given.model;
    const uint64_t n_encoder = attn_encoder_parameters(model);

    ATTN_TRY(append_tower(to, "encoder", model->encoder, n_encoder));
    return append_tower(to, "decoder", model, attn_model_parameters(model).total - n_encoder);
}

static enum attn_status find_towers(struct filling *to)
{
    const struct attn_model *whole = to->given.model;

    if (attn_model_config(whole)->stack.has_encoder)
        return append_stacks(to);
    if (whole->tower) {
        const struct attn_parameters n = attn_model_parameters(whole->tower);

        ATTN_TRY(append_tower(to, "tower", whole->tower, n.total - n.output));
        ATTN_TRY(append(to, attn_cell_string("connector"), attn_cell_missing(), attn_cell_missing(),
                        attn_cell_missing(), count_cell(attn_model_config(whole)->d_model),
                        attn_cell_missing(), count_cell(n.output)));
        return append_tower(to, "decoder", whole, attn_model_parameters(whole).total);
    }
    if (!attn_model_config(to->given.model)->has_two_towers || !to->given.source)
        return ATTN_OK;
    for (int tower = ATTN_TOWER_TEXT; tower <= ATTN_TOWER_IMAGE; tower++) {
        struct attn_model_options options = ATTN_MODEL_OPTIONS_DEFAULT;
        struct attn_model *model = NULL;
        enum attn_status status;

        options.tower = (enum attn_tower)tower;
        status = attn_model_open(to->given.source, &options, &model, to->err);
        ATTN_THEN(status, append_tower(to, tower == ATTN_TOWER_IMAGE ? "image" : "text", model,
                                       attn_model_parameters(model).total));
        attn_model_free(model);
        ATTN_TRY(status);
    }
    return ATTN_OK;
}

static const struct attn_column layers_columns[] = {{TEXT("part")}, {TEXT("difference")}};

static enum attn_status find_layers(struct filling *to)
{
    return attn_layers_append(attn_model_config(to->given.model), to->table, to->err);
}

static const struct attn_column differences_columns[] = {{TEXT("name")}, {TEXT("value")}};

static enum attn_status find_differences(struct filling *to)
{
    const struct attn_model *model = to->given.model;
    char text[120];

    ATTN_TRY(attn_differences_append(attn_model_config(model), to->table, to->err));
    if (!model->part || model->tower)
        return ATTN_OK;
    snprintf(text, sizeof text, "the text part of %s; %s not read: %zu tensors", model->part->type,
             model->part->others, model->n_outside);
    return append(to, attn_cell_string("files"), attn_cell_string(text));
}

static const struct attn_column parameters_columns[] = {{COUNT("embedding")},
                                                        {COUNT("positions")},
                                                        {COUNT("attention")},
                                                        {COUNT("mlp")},
                                                        {COUNT("norms")},
                                                        {COUNT("output")},
                                                        {COUNT("total"), .role = ATTN_ROLE_TOTAL}};

static enum attn_status find_parameters(struct filling *to)
{
    const struct attn_parameters found = attn_model_parameters(to->given.model);
    const uint64_t amounts[] = {found.embedding, found.positions, found.attention,
                                found.mlp,       found.norms,     found.output};

    return append_amounts(to, amounts, N(amounts), true);
}

static const struct attn_column adapter_columns[] = {{TEXT("name")},
                                                     {LIST("shape")},
                                                     {COUNT("rank")},
                                                     {FIXED("scale", SIGNED)},
                                                     {FIXED("norm_ratio", POSITIVE)}};

static enum attn_status find_adapter(struct filling *to)
{
    const struct attn_adapter *adapter = attn_model_adapter(to->given.model);

    for (size_t i = 0; adapter && i < adapter->n; i++) {
        const struct attn_adapter_change *change = &adapter->changes[i];
        const bool is_whole = change->whole.data;
        int64_t list[ATTN_MAX_RANK];

        ATTN_TRY(append(
            to, attn_cell_string(change->tensor), shape_cell(change->shape, change->n_dim, list),
            is_whole ? attn_cell_missing() : count_cell(change->rank),
            is_whole ? attn_cell_missing() : attn_cell_real(change->scale),
            change->of_base > 0 ? attn_cell_real(sqrt(change->of_change / change->of_base))
                                : attn_cell_missing()));
    }
    return ATTN_OK;
}

/* --- Tables of the tokenizer ------------------------------------------------------------------ */

static const struct attn_column tokenizer_columns[] = {{TEXT("kind")},
                                                       {COUNT("n_vocab")},
                                                       {TEXT("unicode")},
                                                       {TEXT("unicode_normal_forms")},
                                                       {TEXT("unicode_lower_case")},
                                                       {TEXT("unicode_bert")},
                                                       {TEXT("chat_template")}};

static enum attn_status find_tokenizer(struct filling *to)
{
    const struct attn_tokenizer *tokenizer = to->given.tokenizer;
    const char *chat = attn_tokenizer_chat(tokenizer)->place;

    return append(
        to, attn_cell_string(attn_tokenizer_kind_name(attn_tokenizer_kind(tokenizer))),
        count_cell(attn_tokenizer_n_vocab(tokenizer)), attn_cell_string(ATTN_UNICODE_VERSION),
        attn_cell_string(ATTN_UNICODE_NORMAL_FORMS), attn_cell_string(ATTN_UNICODE_LOWER_CASE),
        attn_cell_string(ATTN_UNICODE_BERT), chat ? attn_cell_string(chat) : attn_cell_missing());
}

static const struct attn_column special_columns[] = {{COUNT("id")}, {TEXT("token")}};

static enum attn_status find_special(struct filling *to)
{
    const struct attn_tokenizer *tokenizer = to->given.tokenizer;

    for (size_t id = 0; id < attn_tokenizer_n_vocab(tokenizer); id++) {
        const char *token;
        size_t size;

        if (!attn_tokenizer_is_special(tokenizer, (int32_t)id))
            continue;
        token = attn_tokenizer_token(tokenizer, (int32_t)id, &size);
        ATTN_TRY(append(to, count_cell(id), attn_cell_text(token, size)));
    }
    return ATTN_OK;
}

static const struct attn_column prompts_columns[] = {
    {TEXT("name")}, {TEXT("text")}, {FLAG("is_default")}};

static enum attn_status find_prompts(struct filling *to)
{
    const struct attn_sentence *sentence = &to->given.model->sentence;

    for (size_t i = 0; i < sentence->n_prompt; i++) {
        const struct attn_sentence_prompt *prompt = &sentence->prompts[i];

        ATTN_TRY(append(to, attn_cell_string(prompt->name), attn_cell_string(prompt->text),
                        attn_cell_boolean(prompt == sentence->usual)));
    }
    return ATTN_OK;
}

/* --- Tables of the files ---------------------------------------------------------------------- */

enum { TYPE_SIZE = 16 };

/* Returns the name of a file of weights, without its folder. */
static const char *shard_name(const struct attn_tensor_files *weights, int shard)
{
    const char *path = attn_tensor_files_path(weights, shard);
    const char *slash = attn_os_last_slash(path);

    return slash ? slash + 1 : path;
}

/* Writes how ENTRY is stored to NAME: its type, or the bits of its codes. Returns its bytes in the
 * files, and sets *offset. */
static uint64_t find_stored(const struct attn_tensor_files *weights,
                            const struct attn_tensor_entry *entry, char name[TYPE_SIZE],
                            size_t *offset)
{
    struct attn_quantized_place place;

    if (attn_quantized_find(weights, entry, &place)) {
        snprintf(name, TYPE_SIZE, "%zu bits", place.bits);
        *offset = place.offset;
        return place.n_byte;
    }
    snprintf(name, TYPE_SIZE, "%s", attn_dtype_name(entry->tensor.dtype));
    *offset = entry->offset;
    return attn_tensor_n_byte(&entry->tensor);
}

static const struct attn_column tensors_columns[] = {{TEXT("name")},    {TEXT("dtype")},
                                                     {LIST("shape")},   {TEXT("file")},
                                                     {BYTES("offset")}, {BYTES("bytes")}};

static enum attn_status find_tensors(struct filling *to)
{
    const struct attn_tensor_files *weights = to->given.weights;

    for (size_t i = 0; i < attn_tensor_files_count(weights); i++) {
        const struct attn_tensor_entry entry = attn_tensor_files_entry(weights, i);
        const struct attn_tensor *tensor = &entry.tensor;
        int64_t shape[ATTN_MAX_RANK];
        char type[TYPE_SIZE];
        size_t offset;
        const uint64_t n_byte = find_stored(weights, &entry, type, &offset);

        ATTN_TRY(append(to, attn_cell_text(entry.name, entry.name_size), attn_cell_string(type),
                        shape_cell(tensor->shape, tensor->rank, shape),
                        attn_cell_string(shard_name(weights, entry.shard)), count_cell(offset),
                        count_cell(n_byte)));
    }
    return ATTN_OK;
}

/* The sum over the tensors of one type, or of one number of bits. */
struct type_sum {
    char name[TYPE_SIZE];
    int order; /* of types with equally many values */
    uint64_t n_tensor, n_value, n_byte;
};

enum { N_TYPE = ATTN_N_DTYPE + 9 };

/* Orders types by number of values, descending. */
static int compare_types(const void *a, const void *b)
{
    const struct type_sum *x = a, *y = b;

    if (x->n_value != y->n_value)
        return x->n_value < y->n_value ? 1 : -1;
    return x->order - y->order;
}

static void sum_types(const struct attn_tensor_files *weights, struct type_sum sums[N_TYPE])
{
    for (int i = 0; i < N_TYPE; i++)
        sums[i] = (struct type_sum){.order = i};
    for (size_t i = 0; i < attn_tensor_files_count(weights); i++) {
        const struct attn_tensor_entry entry = attn_tensor_files_entry(weights, i);
        struct attn_quantized_place place;
        const bool is_coded = attn_quantized_find(weights, &entry, &place);
        struct type_sum *sum = &sums[is_coded ? ATTN_N_DTYPE + place.bits : entry.tensor.dtype];
        size_t offset;
        const uint64_t n_byte = find_stored(weights, &entry, sum->name, &offset);

        sum->n_tensor++;
        sum->n_value = attn_saturated_add(sum->n_value, attn_tensor_n_element(&entry.tensor));
        sum->n_byte = attn_saturated_add(sum->n_byte, n_byte);
    }
    qsort(sums, N_TYPE, sizeof *sums, compare_types);
}

static const struct attn_column types_columns[] = {{TEXT("dtype")},
                                                   {COUNT("n_tensor")},
                                                   {COUNT("n_value")},
                                                   {BYTES("bytes")},
                                                   {FIXED("share", SHARE)}};

static enum attn_status find_types(struct filling *to)
{
    struct type_sum sums[N_TYPE];
    double n = 0;

    sum_types(to->given.weights, sums);
    for (int i = 0; i < N_TYPE; i++)
        n += (double)sums[i].n_value;
    for (int i = 0; i < N_TYPE; i++) {
        if (sums[i].n_tensor > 0)
            ATTN_TRY(
                append(to, attn_cell_string(sums[i].name), count_cell(sums[i].n_tensor),
                       count_cell(sums[i].n_value), count_cell(sums[i].n_byte),
                       n > 0 ? attn_cell_real((double)sums[i].n_value / n) : attn_cell_missing()));
    }
    return ATTN_OK;
}

static const struct attn_column precision_columns[] = {{TEXT("file_type")},
                                                       {FIXED("bits_per_weight", POSITIVE)}};

static enum attn_status find_precision(struct filling *to)
{
    struct type_sum sums[N_TYPE];
    char words[ATTN_QUANTIZATION_SIZE];
    double n_value = 0, n_byte = 0;

    sum_types(to->given.weights, sums);
    for (int i = 0; i < N_TYPE; i++) {
        n_value += (double)sums[i].n_value;
        n_byte += (double)sums[i].n_byte;
    }
    return append(to,
                  attn_cell_string(to->given.gguf
                                       ? attn_gguf_mixture(to->given.gguf)
                                       : attn_quantization_words(to->given.weights, words)),
                  n_value > 0 ? attn_cell_real(8 * n_byte / n_value) : attn_cell_missing());
}

static const struct attn_column metadata_columns[] = {
    {TEXT("key")}, {TEXT("type")}, {COUNT("n")}, {TEXT("value")}};

static enum attn_status find_metadata(struct filling *to)
{
    return attn_gguf_metadata_append(to->given.gguf, to->table, to->err);
}

static const struct attn_column conversion_columns[] = {{TEXT("part")}, {TEXT("difference")}};

static enum attn_status find_conversion(struct filling *to)
{
    return attn_gguf_conversion_append(to->given.gguf, attn_model_config(to->given.model),
                                       to->table, to->err);
}

/* Finds the size of part NAME of a model. Returns false if the model lacks it. */
static bool find_part(const struct attn_source *source, const char *name, uint64_t *size)
{
    const char *path = attn_source_override(source, name);
    const struct attn_blob *blob = path ? NULL : attn_source_blob(source, name);
    char joined[ATTN_PATH_SIZE];
    struct attn_os_info info;

    if (blob) {
        *size = blob->size;
        return true;
    }
    if (!path && source->directory && attn_path_join(source->directory, name, joined))
        path = joined;
    if (!path || attn_os_stat(path, &info) != 0)
        return false;
    *size = (uint64_t)info.size;
    return true;
}

static const struct attn_column files_columns[] = {{TEXT("name")}, {BYTES("bytes")}};

/* Appends the file of another program that has the vocabulary, if there is one. */
static enum attn_status find_foreign(struct filling *to)
{
    const struct attn_source *source = to->given.tokenizer ? to->given.source : NULL;
    enum attn_status status = ATTN_OK;

    for (const struct attn_opener *const *row = attn_openers; source && *row; row++) {
        struct attn_opened opened = {.note = NULL};

        if (!(*row)->is_vocabulary || !(*row)->is_vocabulary(source))
            continue;
        status = (*row)->read(source, ATTN_MAP, &opened, to->err);
        ATTN_THEN(status,
                  append(to, attn_cell_string(opened.file.path), count_cell(opened.file.size)));
        attn_opened_release(&opened);
        break;
    }
    return status;
}

static enum attn_status find_files(struct filling *to)
{
    static const char *const parts[] = {"config.json",
                                        "vocab.json",
                                        "vocab.txt",
                                        "merges.txt",
                                        "added_tokens.json",
                                        "special_tokens_map.json",
                                        "tokenizer_config.json",
                                        "tokenizer.json",
                                        "preprocessor_config.json",
                                        "processor_config.json",
                                        "model.safetensors.index.json",
                                        "pytorch_model.bin.index.json"};
    static const char *const of_adapter[] = {ATTN_ADAPTER_CONFIG, ATTN_ADAPTER_WEIGHTS};
    const struct attn_model *model = to->given.model;
    const struct attn_tensor_files *weights = to->given.weights;
    const struct attn_tensor_files *tower = model && model->tower ? model->tower->st : weights;
    const struct attn_source *source = to->given.source;
    uint64_t size;

    for (size_t i = 0; source && i < N(parts); i++)
        if (find_part(source, parts[i], &size))
            ATTN_TRY(append(to, attn_cell_string(parts[i]), count_cell(size)));
    ATTN_TRY(find_foreign(to));
    for (size_t i = 0; model && attn_model_adapter(model) && i < 2; i++)
        if (source && find_part(source, of_adapter[i], &size))
            ATTN_TRY(append(to, attn_cell_string(of_adapter[i]), count_cell(size)));
    for (int i = 0; i < attn_tensor_files_n_shard(weights); i++)
        ATTN_TRY(append(to, attn_cell_string(shard_name(weights, i)),
                        count_cell(attn_tensor_files_size(weights, i))));
    for (int i = 0; tower != weights && i < attn_tensor_files_n_shard(tower); i++)
        ATTN_TRY(append(to, attn_cell_string(shard_name(tower, i)),
                        count_cell(attn_tensor_files_size(tower, i))));
    return ATTN_OK;
}

static const struct attn_column non_finite_columns[] = {
    {TEXT("name")}, {COUNT("n_nan")}, {COUNT("n_infinite")}, {COUNT("n_value")}, {COUNT("first")}};

static enum attn_status find_non_finite(struct filling *to)
{
    const struct attn_tensor_files *weights = to->given.weights;

    ATTN_TRY(attn_tensor_files_make(weights, NULL, to->err));
    for (size_t i = 0; i < attn_tensor_files_count(weights); i++) {
        const struct attn_tensor_entry entry = attn_tensor_files_entry(weights, i);
        const struct attn_non_finite found = attn_tensor_find_non_finite(&entry.tensor);
        if (found.n_nan + found.n_infinite > 0)
            ATTN_TRY(append(to, attn_cell_text(entry.name, entry.name_size),
                            count_cell(found.n_nan), count_cell(found.n_infinite),
                            count_cell(attn_tensor_n_element(&entry.tensor)),
                            count_cell(found.first)));
        if (attn_is_canceled(to->given.cancel))
            return attn_error_set(to->err, ATTN_CANCELED, "%s", attn_status_text(ATTN_CANCELED));
    }
    return ATTN_OK;
}

/* --- Tables of a run -------------------------------------------------------------------------- */

static const struct attn_column run_columns[] = {
    {COUNT("n_token")}, {COUNT("n_source")}, {COUNT("n_pair")}};

static enum attn_status find_run(struct filling *to)
{
    const struct attn_cost *cost = to->given.cost;
    const uint64_t amounts[] = {cost->n_position, cost->n_source, cost->n_pair};

    return append_amounts(to, amounts, N(amounts), false);
}

static const struct attn_column multiply_adds_columns[] = {
    {OPERATIONS("projections")},
    {OPERATIONS("matrices")},
    {OPERATIONS("mlp")},
    {OPERATIONS("output")},
    {OPERATIONS("total"), .role = ATTN_ROLE_TOTAL}};

static enum attn_status find_multiply_adds(struct filling *to)
{
    const struct attn_cost *cost = to->given.cost;
    const uint64_t amounts[] = {cost->projections, cost->matrices, cost->mlp, cost->output};

    return append_amounts(to, amounts, N(amounts), true);
}

static const struct attn_column memory_columns[] = {{BYTES("weights")},
                                                    {BYTES("session")},
                                                    {BYTES("keys_values")},
                                                    {BYTES("keys_values_plain")},
                                                    {BYTES("keys_values_multi_query")}};

static enum attn_status find_memory(struct filling *to)
{
    const struct attn_cost *cost = to->given.cost;
    const uint64_t amounts[] = {cost->weights, cost->session, cost->keys_values,
                                cost->keys_values_plain, cost->keys_values_multi_query};

    return append_amounts(to, amounts, N(amounts), false);
}

static const struct attn_column outputs_columns[] = {
    {TEXT("site")}, {COUNT("n_layer")}, {LIST("shape")}, {BYTES("bytes")}};

/* Appends a row for each site of ALL. The shape is missing if layers differ. */
static enum attn_status find_sites(struct filling *to, const struct attn_selection *all)
{
    const struct attn_dims *dims = attn_selection_dims(all);

    for (int i = 0; i < ATTN_N_SITE; i++) {
        const enum attn_site site = attn_site_order[i];
        const bool is_in_layer = attn_site_is_in_layer(site);
        struct attn_location at = {.site = site, .layer = ATTN_NO_LAYER};
        size_t shape[3], other[3], n_layer = 0;
        int64_t list[ATTN_MAX_RANK];
        bool is_same = true;
        int rank = attn_selection_shape(all, &at, shape);

        if (!attn_sites_have(dims->sites, site))
            continue;
        for (; is_in_layer && attn_dims_next_layer(dims, &at); n_layer++) {
            if ((dims->mixer || dims->layers) && attn_location_is_lacking(dims, &at)) {
                n_layer--;
                continue;
            }
            rank = attn_selection_shape(all, &at, n_layer == 0 ? shape : other);
            is_same = n_layer == 0 ||
                      (is_same && memcmp(shape, other, (size_t)rank * sizeof *shape) == 0);
        }
        ATTN_TRY(append(to, attn_cell_string(attn_site_name(site)),
                        is_in_layer ? count_cell(n_layer) : attn_cell_missing(),
                        is_same ? shape_cell(shape, rank, list) : attn_cell_missing(),
                        count_cell(to->given.cost->sites[site])));
    }
    return ATTN_OK;
}

static enum attn_status find_outputs(struct filling *to)
{
    const struct attn_config *config = attn_model_config(to->given.model);
    struct attn_dims dims = attn_config_dims(config, to->given.cost->n_position);
    struct attn_selection *all = NULL;
    enum attn_status status;

    dims.n_source = to->given.cost->n_source;
    ATTN_TRY(attn_selection_create(&dims, &all, to->err));
    status = find_sites(to, all);
    attn_selection_free(all);
    return status;
}

static const struct attn_column kinds_columns[] = {
    {TEXT("kind")}, {COUNT("n_pair")}, {OPERATIONS("multiply_adds")}, {FIXED("share", SHARE)}};

static enum attn_status find_kinds(struct filling *to)
{
    static const struct {
        const char *name;
        bool has_width;
    } kinds[] = {{"full", false},  {"window", true}, {"strided", true}, {"block", true},
                 {"random", true}, {"log", false},   {"lowrank", true}, {"linear", false}};
    struct attn_kind_cost full = {0}, cost; /* full: cost of exact attention */
    size_t width = 1;

    while (width * width < to->given.cost->n_position)
        width++;
    for (size_t i = 0; i < N(kinds); i++) {
        char kind[ATTN_ATTENTION_TEXT_SIZE];
        enum attn_status status;

        if (kinds[i].has_width)
            snprintf(kind, sizeof kind, "%s:%zu", kinds[i].name, width);
        else
            snprintf(kind, sizeof kind, "%s", kinds[i].name);
        status = attn_cost_find_kind(to->given.model, to->given.cost, kind, &cost, NULL);
        if (status == ATTN_INVALID) /* the model does not support it */
            continue;
        ATTN_TRY(status);
        if (full.matrices == 0)
            full = cost;
        ATTN_TRY(append(to, attn_cell_string(kind), count_cell(cost.n_pair),
                        count_cell(cost.matrices),
                        attn_cell_real((double)cost.matrices / (double)full.matrices)));
    }
    return ATTN_OK;
}

/* --- All of them ------------------------------------------------------------------------------ */

/* What a table is about. */
enum subject {
    SUBJECT_MODEL,
    SUBJECT_WEIGHTS,
    SUBJECT_GGUF,
    SUBJECT_GGUF_MODEL,
    SUBJECT_TOKENIZER,
    SUBJECT_COST
};

/* FIND appends the rows. For the table `config` it also creates the table. */
static const struct {
    const char *name;
    enum subject subject;
    const struct attn_column *columns; /* [n_column] */
    size_t n_column;
    enum attn_status (*find)(struct filling *to);
} parts[] = {
#define COLUMNS(name) name##_columns, N(name##_columns)
#define PART_ROW(id, name, subject)                                                                \
    [ATTN_INSPECTED_##id] = {#name, SUBJECT_##subject, COLUMNS(name), find_##name},
    ATTN_INSPECTED_MAP(PART_ROW)
#undef PART_ROW
};

bool attn_inspection_has(const struct attn_inspection *given, enum attn_inspected part)
{
    const bool is_given[] = {
        [SUBJECT_MODEL] = given->model,         [SUBJECT_WEIGHTS] = given->weights,
        [SUBJECT_GGUF] = given->gguf,           [SUBJECT_GGUF_MODEL] = given->gguf && given->model,
        [SUBJECT_TOKENIZER] = given->tokenizer, [SUBJECT_COST] = given->model && given->cost};

    return is_given[parts[part].subject];
}

enum attn_status attn_inspect(const struct attn_inspection *given, enum attn_inspected part,
                              struct attn_table **table, struct attn_error *err)
{
    static const char *const words[] = {
        [SUBJECT_MODEL] = "a model",         [SUBJECT_WEIGHTS] = "weights",
        [SUBJECT_GGUF] = "a GGUF file",      [SUBJECT_GGUF_MODEL] = "a model in a GGUF file",
        [SUBJECT_TOKENIZER] = "a tokenizer", [SUBJECT_COST] = "a model and the cost of a run"};
    struct filling to = {.given = ATTN_INSPECTION_DEFAULT, .err = err};

    ATTN_TRY(attn_options_read(given, &to.given, err));
    if ((size_t)part >= N(parts))
        return attn_error_set(err, ATTN_INVALID, "an inspection has no part %d", (int)part);
    if (!attn_inspection_has(&to.given, part))
        return attn_error_set(err, ATTN_INVALID, "'%s' cannot be inspected without %s",
                              parts[part].name, words[parts[part].subject]);
    if (parts[part].columns->name)
        ATTN_TRY(attn_table_create(parts[part].name, parts[part].columns, parts[part].n_column,
                                   &to.table, err));
    ATTN_RETURN_MADE(parts[part].find(&to), table, to.table, attn_table_free);
}
