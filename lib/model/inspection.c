/*
 * inspection.c - see inspection.h. A table of one row is made from a list of named values; the
 * others have columns of their own and a row for each layer, tensor, file or site.
 */
#include "model/inspection.h"

#include "attention/kind_internal.h"
#include "base/dtype_internal.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/table_internal.h"
#include "formats/safetensors.h"
#include "model/differences.h"
#include "model/finite.h"
#include "model/model.h"
#include "text/settings.h"
#include "text/tokenizer.h"
#include "trace/selection.h"
#include "trace/site_internal.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* --- Tables of one row ------------------------------------------------------------------------ */

enum { MAX_FIELDS = 40 };

/* A row that is being made, with its columns. */
struct table_record {
    struct attn_column columns[MAX_FIELDS];
    struct attn_cell cells[MAX_FIELDS];
    size_t n;
};

static void add(struct table_record *record, const char *name, enum attn_value_type type,
                const char *unit, struct attn_cell cell)
{
    record->columns[record->n] = (struct attn_column){.name = name, .type = type, .unit = unit};
    record->cells[record->n++] = cell;
}

static struct attn_cell count_cell(uint64_t n)
{
    return attn_cell_integer(n > INT64_MAX ? INT64_MAX : (int64_t)n);
}

static struct attn_cell word_cell(const char *word)
{
    return word ? attn_cell_text(word, strlen(word)) : attn_cell_missing();
}

static void add_count(struct table_record *record, const char *name, const char *unit, uint64_t n)
{
    add(record, name, ATTN_VALUE_INTEGER, unit, count_cell(n));
}

static void add_flag(struct table_record *record, const char *name, bool is_set)
{
    add(record, name, ATTN_VALUE_BOOLEAN, NULL, attn_cell_boolean(is_set));
}

static void add_word(struct table_record *record, const char *name, const char *word)
{
    add(record, name, ATTN_VALUE_TEXT, NULL, word_cell(word));
}

/* A number that is 0 where there is none. */
static void add_factor(struct table_record *record, const char *name, double factor)
{
    const struct attn_column column = {
        .name = name, .type = ATTN_VALUE_REAL, .notation = ATTN_NOTATION_DOUBLE};

    record->columns[record->n] = column;
    record->cells[record->n++] = factor > 0 ? attn_cell_real(factor) : attn_cell_missing();
}

/* A table NAME with COLUMNS and, when CELLS is not NULL, one row. */
static enum attn_status make(const char *name, const struct attn_column *columns, size_t n,
                             const struct attn_cell *cells, struct attn_table **table,
                             struct attn_error *err)
{
    ATTN_TRY(attn_table_create(name, columns, n, table, err));
    if (cells)
        ATTN_TRY(attn_table_append(*table, cells, n, err));
    return ATTN_OK;
}

static enum attn_status make_record(const char *name, const struct table_record *record,
                                    struct attn_table **table, struct attn_error *err)
{
    return make(name, record->columns, record->n, record->cells, table, err);
}

/* A table of one row of counts, the last of which may be their sum. */
struct amounts {
    const char *name, *unit;
    bool has_total;
    struct amount {
        const char *name; /* NULL ends the list */
        uint64_t n;
    } parts[8];
};

static enum attn_status make_amounts(const struct amounts *amounts, struct attn_table **table,
                                     struct attn_error *err)
{
    struct table_record record = {.n = 0};
    uint64_t total = 0;

    for (const struct amount *part = amounts->parts; part->name; part++) {
        add_count(&record, part->name, amounts->unit, part->n);
        total = attn_saturated_add(total, (uint64_t)record.cells[record.n - 1].integer);
    }
    if (amounts->has_total)
        add_count(&record, "total", amounts->unit, total);
    return make_record(amounts->name, &record, table, err);
}

/* --- Of the model ----------------------------------------------------------------------------- */

static bool attends_to_source(const struct attn_config *config)
{
    for (size_t layer = 0; layer < config->n_layer; layer++)
        if (config->is_cross[layer])
            return true;
    return false;
}

static void add_sizes(struct table_record *record, const struct attn_config *config)
{
    add_count(record, "n_layer", NULL, config->n_layer);
    add_count(record, "n_head", NULL, config->n_head);
    add_count(record, "n_kv_head", NULL, config->n_kv_head);
    add_count(record, "d_model", NULL, config->d_model);
    add_count(record, "d_head", NULL, config->d_head);
    add_count(record, "d_value", NULL, config->d_value);
    if (config->d_out != config->d_model)
        add_count(record, "d_out", NULL, config->d_out);
    add_count(record, "d_mlp", NULL, config->d_mlp);
    if (attends_to_source(config))
        add_count(record, "d_source", NULL, config->d_source);
    if (attends_to_source(config) && config->n_source > 0)
        add_count(record, "n_source", NULL, config->n_source);
    add(record, "n_ctx", ATTN_VALUE_INTEGER, NULL,
        config->n_ctx == SIZE_MAX ? attn_cell_missing() : count_cell(config->n_ctx));
    add_count(record, "n_vocab", NULL, config->n_vocab);
}

static enum attn_status find_config(const struct attn_inspection *inspection,
                                    struct attn_table **table, struct attn_error *err)
{
    static const char *const norms[] = {[ATTN_NORM_NONE] = "none",
                                        [ATTN_NORM_LAYERNORM] = "layernorm",
                                        [ATTN_NORM_RMSNORM] = "rmsnorm",
                                        [ATTN_NORM_RMSNORM_PLUS_ONE] = "rmsnorm_plus_one"};
    static const char *const places[] = {
        [ATTN_NORM_PRE] = "before", [ATTN_NORM_POST] = "behind", [ATTN_NORM_AROUND] = "around"};
    static const char *const qk_norms[] = {[ATTN_QK_NORM_NONE] = "none",
                                           [ATTN_QK_NORM_PER_HEAD] = "per_head",
                                           [ATTN_QK_NORM_ALL_HEADS] = "all_heads"};
    static const char *const positions[] = {[ATTN_POSITIONS_NONE] = "none",
                                            [ATTN_POSITIONS_LEARNED] = "learned",
                                            [ATTN_POSITIONS_ROTARY] = "rotary"};
    static const char *const outputs[] = {
        [ATTN_OUTPUT_NONE] = "none", [ATTN_OUTPUT_TIED] = "tied", [ATTN_OUTPUT_OWN] = "own"};
    const struct attn_config *config = attn_model_config(inspection->model);
    struct table_record record = {.n = 0};

    add_word(&record, "model_type", config->model_type);
    add_sizes(&record, config);
    add_word(&record, "norm", norms[config->norm]);
    add(&record, "norm_eps", ATTN_VALUE_REAL, NULL, attn_cell_real((double)config->norm_eps));
    add_word(&record, "norm_place", places[config->norm_place]);
    add_flag(&record, "has_single_norm", config->has_single_norm);
    add_flag(&record, "has_final_norm", config->has_final_norm);
    add_word(&record, "qk_norm", qk_norms[config->qk_norm]);
    add_word(&record, "positions", positions[config->positions]);
    if (attends_to_source(config))
        add_word(&record, "source_positions", positions[config->source_positions]);
    add_factor(&record, "embed_scale", config->embed_scale);
    add_word(&record, "act_fn", config->act_fn);
    add_flag(&record, "has_gated_mlp", config->has_gated_mlp);
    add_flag(&record, "has_projections", config->has_projections);
    add_flag(&record, "has_qkv_bias", config->has_qkv_bias);
    add_flag(&record, "has_out_proj", config->has_out_proj);
    add_flag(&record, "has_out_bias", config->has_out_bias);
    add_flag(&record, "has_mlp_bias", config->has_mlp_bias);
    add_flag(&record, "has_residual", config->has_residual);
    add_flag(&record, "has_parallel_residual", config->has_parallel_residual);
    add_word(&record, "output", outputs[config->output]);
    add_flag(&record, "has_output_bias", config->has_output_bias);
    add_factor(&record, "logits_cap", config->logits_cap);
    return make_record("config", &record, table, err);
}

static enum attn_status find_attention(const struct attn_inspection *inspection,
                                       struct attn_table **table, struct attn_error *err)
{
    static const char *const ropes[] = {
#define ROPE_WORD(id, number, word) [ATTN_ROPE_##id] = (word),
        ATTN_ROPE_MAP(ROPE_WORD)
#undef ROPE_WORD
    };
    static const struct attn_column columns[] = {
        {.name = "kind", .type = ATTN_VALUE_TEXT},
        {.name = "is_cross", .type = ATTN_VALUE_BOOLEAN},
        {.name = "mask", .type = ATTN_VALUE_TEXT},
        {.name = "is_scaled", .type = ATTN_VALUE_BOOLEAN},
        {.name = "eps", .type = ATTN_VALUE_REAL, .notation = ATTN_NOTATION_DOUBLE},
        {.name = "factor", .type = ATTN_VALUE_REAL, .notation = ATTN_NOTATION_DOUBLE},
        {.name = "window", .type = ATTN_VALUE_INTEGER},
        {.name = "score_cap", .type = ATTN_VALUE_REAL, .notation = ATTN_NOTATION_DOUBLE},
        {.name = "rope_type", .type = ATTN_VALUE_TEXT},
        {.name = "rope_theta", .type = ATTN_VALUE_REAL, .notation = ATTN_NOTATION_DOUBLE},
        {.name = "rope_factor", .type = ATTN_VALUE_REAL, .notation = ATTN_NOTATION_DOUBLE},
        {.name = "d_rotary", .type = ATTN_VALUE_INTEGER},
    };
    enum { N = sizeof columns / sizeof *columns };
    const struct attn_config *config = attn_model_config(inspection->model);

    ATTN_TRY(make("attention", columns, N, NULL, table, err));
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        const struct attn_attention *a = &config->attention[layer];
        const bool is_cross = config->is_cross[layer];
        const bool is_causal = a->mask == ATTN_MASK_CAUSAL && !is_cross;
        const bool has_rope = config->positions == ATTN_POSITIONS_ROTARY;
        const struct attn_rope *rope = &config->rope[layer];
        const struct attn_cell row[N] = {
            word_cell(attn_attention_kind_name(a->kind)),
            attn_cell_boolean(is_cross),
            word_cell(is_causal ? "causal" : "none"),
            attn_cell_boolean(a->is_scaled),
            attn_cell_real(a->eps),
            attn_cell_real(a->factor),
            a->kind == ATTN_ATTENTION_WINDOW ? count_cell(a->window) : attn_cell_missing(),
            a->score_cap > 0 ? attn_cell_real(a->score_cap) : attn_cell_missing(),
            has_rope ? word_cell(ropes[rope->type]) : attn_cell_missing(),
            has_rope ? attn_cell_real(rope->theta) : attn_cell_missing(),
            has_rope && rope->factor > 0 ? attn_cell_real(rope->factor) : attn_cell_missing(),
            has_rope ? count_cell(rope->d_rotary) : attn_cell_missing(),
        };

        ATTN_TRY(attn_table_append(*table, row, N, err));
    }
    return ATTN_OK;
}

static enum attn_status find_differences(const struct attn_inspection *inspection,
                                         struct attn_table **table, struct attn_error *err)
{
    static const struct attn_column columns[] = {{.name = "part", .type = ATTN_VALUE_TEXT},
                                                 {.name = "difference", .type = ATTN_VALUE_TEXT}};

    ATTN_TRY(make("differences", columns, 2, NULL, table, err));
    return attn_differences_append(attn_model_config(inspection->model), *table, err);
}

static enum attn_status find_parameters(const struct attn_inspection *inspection,
                                        struct attn_table **table, struct attn_error *err)
{
    const struct attn_parameters found = attn_model_parameters(inspection->model);
    const struct amounts amounts = {.name = "parameters",
                                    .has_total = true,
                                    .parts = {{"embedding", found.embedding},
                                              {"positions", found.positions},
                                              {"attention", found.attention},
                                              {"mlp", found.mlp},
                                              {"norms", found.norms},
                                              {"output", found.output}}};

    return make_amounts(&amounts, table, err);
}

/* --- Of the tokenizer ------------------------------------------------------------------------- */

static enum attn_status find_tokenizer(const struct attn_inspection *inspection,
                                       struct attn_table **table, struct attn_error *err)
{
    struct table_record record = {.n = 0};

    add_word(&record, "kind", attn_settings_type(attn_tokenizer_kind(inspection->tokenizer)));
    add_count(&record, "n_vocab", NULL, attn_tokenizer_n_vocab(inspection->tokenizer));
    return make_record("tokenizer", &record, table, err);
}

static enum attn_status find_special(const struct attn_inspection *inspection,
                                     struct attn_table **table, struct attn_error *err)
{
    static const struct attn_column columns[] = {{.name = "id", .type = ATTN_VALUE_INTEGER},
                                                 {.name = "token", .type = ATTN_VALUE_TEXT}};
    enum { N = sizeof columns / sizeof *columns };
    const struct attn_tokenizer *tokenizer = inspection->tokenizer;

    ATTN_TRY(make("special", columns, N, NULL, table, err));
    for (size_t id = 0; id < attn_tokenizer_n_vocab(tokenizer); id++) {
        size_t size;
        const char *token;

        if (!attn_tokenizer_is_special(tokenizer, (int32_t)id))
            continue;
        token = attn_tokenizer_token(tokenizer, (int32_t)id, &size);
        const struct attn_cell row[N] = {count_cell(id), attn_cell_text(token, size)};
        ATTN_TRY(attn_table_append(*table, row, N, err));
    }
    return ATTN_OK;
}

/* --- Of the files ----------------------------------------------------------------------------- */

static struct attn_cell shape_cell(const size_t *shape, int rank, int64_t list[ATTN_MAX_RANK])
{
    for (int i = 0; i < rank; i++)
        list[i] = (int64_t)shape[i];
    return attn_cell_list(list, (size_t)rank);
}

/* The name of a file of weights, without its folder. */
static const char *shard_name(const struct attn_safetensors *weights, int shard)
{
    const char *path = attn_safetensors_path(weights, shard);
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static enum attn_status find_tensors(const struct attn_inspection *inspection,
                                     struct attn_table **table, struct attn_error *err)
{
    static const struct attn_column columns[] = {
        {.name = "name", .type = ATTN_VALUE_TEXT},
        {.name = "dtype", .type = ATTN_VALUE_TEXT},
        {.name = "shape", .type = ATTN_VALUE_LIST},
        {.name = "file", .type = ATTN_VALUE_TEXT},
        {.name = "offset", .type = ATTN_VALUE_INTEGER, .unit = "bytes"},
        {.name = "bytes", .type = ATTN_VALUE_INTEGER, .unit = "bytes"},
    };
    enum { N = sizeof columns / sizeof *columns };
    const struct attn_safetensors *weights = inspection->weights;

    ATTN_TRY(make("tensors", columns, N, NULL, table, err));
    for (size_t i = 0; i < attn_safetensors_count(weights); i++) {
        const struct attn_safetensors_entry entry = attn_safetensors_entry(weights, i);
        const struct attn_tensor *tensor = &entry.tensor;
        int64_t shape[ATTN_MAX_RANK];
        const struct attn_cell row[N] = {
            attn_cell_text(entry.name, entry.name_size),
            word_cell(attn_dtype_name(tensor->dtype)),
            shape_cell(tensor->shape, tensor->rank, shape),
            word_cell(shard_name(weights, entry.shard)),
            count_cell(entry.offset),
            count_cell(attn_tensor_n_byte(tensor)),
        };

        ATTN_TRY(attn_table_append(*table, row, N, err));
    }
    return ATTN_OK;
}

/* The size of the file at PATH; false when there is none. */
static bool find_size(const char *path, uint64_t *size)
{
    struct stat status;

    if (stat(path, &status) != 0)
        return false;
    *size = (uint64_t)status.st_size;
    return true;
}

/* The size of part NAME of a model; false when it has no such part. */
static bool find_part(const struct attn_source *source, const char *name, uint64_t *size)
{
    char path[PATH_MAX];
    int length;

    for (size_t i = 0; i < source->n_override; i++)
        if (strcmp(source->overrides[i].name, name) == 0)
            return find_size(source->overrides[i].path, size);
    for (size_t i = 0; i < source->n_blob; i++)
        if (strcmp(source->blobs[i].name, name) == 0) {
            *size = source->blobs[i].size;
            return true;
        }
    if (!source->directory)
        return false;
    length = snprintf(path, sizeof path, "%s/%s", source->directory, name);
    return length >= 0 && (size_t)length < sizeof path && find_size(path, size);
}

static enum attn_status append_file(struct attn_table *table, const char *name, uint64_t size,
                                    struct attn_error *err)
{
    const struct attn_cell row[] = {word_cell(name), count_cell(size)};

    return attn_table_append(table, row, sizeof row / sizeof *row, err);
}

static enum attn_status find_files(const struct attn_inspection *inspection,
                                   struct attn_table **table, struct attn_error *err)
{
    static const char *const parts[] = {"config.json",
                                        "vocab.json",
                                        "merges.txt",
                                        "added_tokens.json",
                                        "special_tokens_map.json",
                                        "tokenizer_config.json",
                                        "tokenizer.json",
                                        "model.safetensors.index.json"};
    static const struct attn_column columns[] = {
        {.name = "name", .type = ATTN_VALUE_TEXT},
        {.name = "bytes", .type = ATTN_VALUE_INTEGER, .unit = "bytes"}};
    const struct attn_safetensors *weights = inspection->weights;
    const struct attn_source *source = inspection->source;
    uint64_t size;

    ATTN_TRY(make("files", columns, 2, NULL, table, err));
    for (size_t i = 0; source && i < sizeof parts / sizeof *parts; i++)
        if (find_part(source, parts[i], &size))
            ATTN_TRY(append_file(*table, parts[i], size, err));
    for (int i = 0; i < attn_safetensors_n_shard(weights); i++)
        ATTN_TRY(append_file(*table, shard_name(weights, i), attn_safetensors_file_size(weights, i),
                             err));
    return ATTN_OK;
}

static enum attn_status find_non_finite(const struct attn_inspection *inspection,
                                        struct attn_table **table, struct attn_error *err)
{
    static const struct attn_column columns[] = {
        {.name = "name", .type = ATTN_VALUE_TEXT},
        {.name = "n_nan", .type = ATTN_VALUE_INTEGER},
        {.name = "n_infinite", .type = ATTN_VALUE_INTEGER},
        {.name = "n_value", .type = ATTN_VALUE_INTEGER},
        {.name = "first", .type = ATTN_VALUE_INTEGER},
    };
    enum { N = sizeof columns / sizeof *columns };
    const struct attn_safetensors *weights = inspection->weights;

    ATTN_TRY(make("non_finite", columns, N, NULL, table, err));
    for (size_t i = 0; i < attn_safetensors_count(weights); i++) {
        const struct attn_safetensors_entry entry = attn_safetensors_entry(weights, i);
        const struct attn_non_finite found = attn_tensor_find_non_finite(&entry.tensor);
        const struct attn_cell row[N] = {attn_cell_text(entry.name, entry.name_size),
                                         count_cell(found.n_nan), count_cell(found.n_infinite),
                                         count_cell(attn_tensor_n_element(&entry.tensor)),
                                         count_cell(found.first)};

        if (found.n_nan + found.n_infinite > 0)
            ATTN_TRY(attn_table_append(*table, row, N, err));
        if (inspection->cancel && *inspection->cancel != 0)
            return attn_error_set(err, ATTN_CANCELED, "%s", attn_status_text(ATTN_CANCELED));
    }
    return ATTN_OK;
}

/* --- Of a run --------------------------------------------------------------------------------- */

static enum attn_status find_run(const struct attn_inspection *inspection,
                                 struct attn_table **table, struct attn_error *err)
{
    const struct attn_cost *cost = inspection->cost;
    const struct amounts amounts = {.name = "run",
                                    .parts = {{"n_token", cost->n_position},
                                              {"n_source", cost->n_source},
                                              {"n_pair", cost->n_pair}}};

    return make_amounts(&amounts, table, err);
}

static enum attn_status find_multiply_adds(const struct attn_inspection *inspection,
                                           struct attn_table **table, struct attn_error *err)
{
    const struct attn_cost *cost = inspection->cost;
    const struct amounts amounts = {.name = "multiply_adds",
                                    .unit = "multiply-adds",
                                    .has_total = true,
                                    .parts = {{"projections", cost->projections},
                                              {"matrices", cost->matrices},
                                              {"mlp", cost->mlp},
                                              {"output", cost->output}}};

    return make_amounts(&amounts, table, err);
}

static enum attn_status find_memory(const struct attn_inspection *inspection,
                                    struct attn_table **table, struct attn_error *err)
{
    const struct attn_cost *cost = inspection->cost;
    const struct amounts amounts = {
        .name = "memory",
        .unit = "bytes",
        .parts = {{"weights", cost->weights},
                  {"session", cost->session},
                  {"keys_values", cost->keys_values},
                  {"keys_values_plain", cost->keys_values_plain},
                  {"keys_values_multi_query", cost->keys_values_multi_query}}};

    return make_amounts(&amounts, table, err);
}

/* The shape of SITE in each layer; missing when layers differ. */
static struct attn_cell site_shape(const struct attn_selection *all, enum attn_site site,
                                   int64_t list[ATTN_MAX_RANK])
{
    const size_t n = attn_site_is_in_layer(site) ? attn_selection_dims(all)->n_layer : 1;
    size_t shape[3];
    const int rank = attn_selection_shape(all, site, 0, shape);

    for (size_t layer = 1; layer < n; layer++) {
        size_t other[3];

        attn_selection_shape(all, site, (int)layer, other);
        if (memcmp(shape, other, (size_t)rank * sizeof *shape) != 0)
            return attn_cell_missing();
    }
    return shape_cell(shape, rank, list);
}

/* A row for each site of ALL. */
static enum attn_status find_sites(const struct attn_cost *cost, const struct attn_selection *all,
                                   struct attn_table **table, struct attn_error *err)
{
    static const struct attn_column columns[] = {
        {.name = "site", .type = ATTN_VALUE_TEXT},
        {.name = "n_layer", .type = ATTN_VALUE_INTEGER},
        {.name = "shape", .type = ATTN_VALUE_LIST},
        {.name = "bytes", .type = ATTN_VALUE_INTEGER, .unit = "bytes"},
    };
    enum { N = sizeof columns / sizeof *columns };
    const struct attn_dims *dims = attn_selection_dims(all);

    ATTN_TRY(make("outputs", columns, N, NULL, table, err));
    for (int i = 0; i < ATTN_N_SITE; i++) {
        const enum attn_site site = attn_site_order[i];
        int64_t shape[ATTN_MAX_RANK];
        const struct attn_cell row[N] = {
            word_cell(attn_site_name(site)),
            attn_site_is_in_layer(site) ? count_cell(dims->n_layer) : attn_cell_missing(),
            site_shape(all, site, shape), count_cell(cost->sites[site])};

        if ((dims->sites & ATTN_SITE_BIT(site)) != 0)
            ATTN_TRY(attn_table_append(*table, row, N, err));
    }
    return ATTN_OK;
}

static enum attn_status find_outputs(const struct attn_inspection *inspection,
                                     struct attn_table **table, struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(inspection->model);
    struct attn_dims dims = attn_config_dims(config, inspection->cost->n_position);
    struct attn_selection *all = NULL;
    enum attn_status status;

    dims.n_source = inspection->cost->n_source;
    ATTN_TRY(attn_selection_create(&dims, &all, err));
    status = find_sites(inspection->cost, all, table, err);
    attn_selection_free(all);
    return status;
}

/* Appends the row of KIND; FULL: of exact attention. */
static enum attn_status append_kind(const struct attn_inspection *inspection, const char *kind,
                                    struct attn_kind_cost *full, struct attn_table *table,
                                    struct attn_error *err)
{
    struct attn_kind_cost cost;
    const enum attn_status status =
        attn_cost_find_kind(inspection->model, inspection->cost, kind, &cost, NULL);

    if (status != ATTN_OK)
        return status == ATTN_INVALID ? ATTN_OK : status; /* the model cannot have it */
    if (full->matrices == 0)
        *full = cost;
    const struct attn_cell row[] = {word_cell(kind), count_cell(cost.n_pair),
                                    count_cell(cost.matrices),
                                    attn_cell_real((double)cost.matrices / (double)full->matrices)};

    return attn_table_append(table, row, sizeof row / sizeof *row, err);
}

static enum attn_status find_kinds(const struct attn_inspection *inspection,
                                   struct attn_table **table, struct attn_error *err)
{
    static const struct attn_column columns[] = {
        {.name = "kind", .type = ATTN_VALUE_TEXT},
        {.name = "n_pair", .type = ATTN_VALUE_INTEGER},
        {.name = "multiply_adds", .type = ATTN_VALUE_INTEGER, .unit = "multiply-adds"},
        {.name = "share",
         .type = ATTN_VALUE_REAL,
         .notation = ATTN_NOTATION_FIXED,
         .digits = 4,
         .range = ATTN_RANGE_SHARE},
    };
    static const struct {
        const char *name;
        bool has_width;
    } kinds[] = {{"full", false},  {"window", true}, {"strided", true}, {"block", true},
                 {"random", true}, {"log", false},   {"lowrank", true}, {"linear", false}};
    struct attn_kind_cost full = {0};
    size_t width = 1;

    ATTN_TRY(make("kinds", columns, sizeof columns / sizeof *columns, NULL, table, err));
    while (width * width < inspection->cost->n_position)
        width++;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char kind[ATTN_ATTENTION_TEXT_SIZE];

        if (kinds[i].has_width)
            snprintf(kind, sizeof kind, "%s:%zu", kinds[i].name, width);
        else
            snprintf(kind, sizeof kind, "%s", kinds[i].name);
        ATTN_TRY(append_kind(inspection, kind, &full, *table, err));
    }
    return ATTN_OK;
}

/* --- All of them ------------------------------------------------------------------------------ */

/* What a table is about. */
enum subject { SUBJECT_MODEL, SUBJECT_WEIGHTS, SUBJECT_TOKENIZER, SUBJECT_COST };

static const struct {
    const char *name;
    enum subject subject;
    enum attn_status (*find)(const struct attn_inspection *inspection, struct attn_table **table,
                             struct attn_error *err);
} parts[] = {
#define PART_ROW(id, name, subject) [ATTN_INSPECTED_##id] = {#name, SUBJECT_##subject, find_##name},
    ATTN_INSPECTED_MAP(PART_ROW)
#undef PART_ROW
};

static enum attn_status check(const struct attn_inspection *inspection, enum attn_inspected part,
                              struct attn_error *err)
{
    static const char *const words[] = {[SUBJECT_MODEL] = "a model",
                                        [SUBJECT_WEIGHTS] = "weights",
                                        [SUBJECT_TOKENIZER] = "a tokenizer",
                                        [SUBJECT_COST] = "a model and the cost of a run"};
    const bool is_given[] = {[SUBJECT_MODEL] = inspection->model,
                             [SUBJECT_WEIGHTS] = inspection->weights,
                             [SUBJECT_TOKENIZER] = inspection->tokenizer,
                             [SUBJECT_COST] = inspection->model && inspection->cost};

    if ((size_t)part >= sizeof parts / sizeof *parts)
        return attn_error_set(err, ATTN_INVALID, "an inspection has no part %d", (int)part);
    if (!is_given[parts[part].subject])
        return attn_error_set(err, ATTN_INVALID, "'%s' cannot be inspected without %s",
                              parts[part].name, words[parts[part].subject]);
    return ATTN_OK;
}

enum attn_status attn_inspect(const struct attn_inspection *given, enum attn_inspected part,
                              struct attn_table **table, struct attn_error *err)
{
    struct attn_inspection inspection = ATTN_INSPECTION_DEFAULT;
    struct attn_table *found = NULL;
    enum attn_status status;

    ATTN_TRY(attn_options_read(given, &inspection, err));
    ATTN_TRY(check(&inspection, part, err));
    status = parts[part].find(&inspection, &found, err);
    if (status == ATTN_OK)
        *table = found;
    else
        attn_table_free(found);
    return status;
}
