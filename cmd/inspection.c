/* inspection.c - see inspection.h: the lists, the files of a model, the check of its values. */
#include "inspection.h"

#include "command.h"
#include "interrupt.h"
#include "report.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void append(struct fields *fields, struct field field)
{
    assert(fields->n < FIELDS_MAX);
    fields->items[fields->n++] = field;
}

static void append_count(struct fields *fields, const char *name, uint64_t number)
{
    append(fields, (struct field){.name = name, .kind = FIELD_COUNT, .number = number});
}

static void append_flag(struct fields *fields, const char *name, bool is_set)
{
    append(fields, (struct field){.name = name, .kind = FIELD_FLAG, .number = is_set});
}

static void append_word(struct fields *fields, const char *name, const char *word)
{
    append(fields, (struct field){.name = name, .kind = FIELD_WORD, .word = word});
}

const char *attention_kind_word(enum attn_attention_kind kind)
{
    static const char *const words[] = {
#define KIND_WORD(id, text, written) [ATTN_ATTENTION_##id] = (text),
        ATTN_ATTENTION_KIND_MAP(KIND_WORD)
#undef KIND_WORD
    };
    return words[kind];
}

struct fields inspection_config(const struct inspection *inspection)
{
    static const char *const norms[] = {[ATTN_NORM_NONE] = "none",
                                        [ATTN_NORM_LAYERNORM] = "layernorm",
                                        [ATTN_NORM_RMSNORM] = "rmsnorm"};
    static const char *const positions[] = {[ATTN_POSITIONS_NONE] = "none",
                                            [ATTN_POSITIONS_LEARNED] = "learned",
                                            [ATTN_POSITIONS_ROTARY] = "rotary"};
    static const char *const outputs[] = {
        [ATTN_OUTPUT_NONE] = "none", [ATTN_OUTPUT_TIED] = "tied", [ATTN_OUTPUT_OWN] = "own"};
    const struct attn_config *config = attn_model_config(inspection->model);
    struct fields fields = {.n = 0};
    append_word(&fields, "model_type", config->model_type);
    append_count(&fields, "n_layer", config->n_layer);
    append_count(&fields, "n_head", config->n_head);
    append_count(&fields, "n_kv_head", config->n_kv_head);
    append_count(&fields, "d_model", config->d_model);
    append_count(&fields, "d_head", config->d_head);
    append_count(&fields, "d_value", config->d_value);
    append_count(&fields, "d_mlp", config->d_mlp);
    if (inspection->cost.n_source > 0)
        append_count(&fields, "d_source", config->d_source);
    append(&fields, (struct field){.name = "n_ctx", .kind = FIELD_LIMIT, .number = config->n_ctx});
    append_count(&fields, "n_vocab", config->n_vocab);
    append_word(&fields, "norm", norms[config->norm]);
    append(&fields,
           (struct field){.name = "norm_eps", .kind = FIELD_REAL, .real = config->norm_eps});
    append_flag(&fields, "has_final_norm", config->has_final_norm);
    append_word(&fields, "positions", positions[config->positions]);
    append_word(&fields, "act_fn", config->act_fn);
    append_flag(&fields, "has_projections", config->has_projections);
    append_flag(&fields, "has_qkv_bias", config->has_qkv_bias);
    append_flag(&fields, "has_out_proj", config->has_out_proj);
    append_flag(&fields, "has_out_bias", config->has_out_bias);
    append_flag(&fields, "has_residual", config->has_residual);
    append_word(&fields, "output", outputs[config->output]);
    return fields;
}

struct fields inspection_parameters(const struct inspection *inspection)
{
    const struct attn_parameters found = attn_model_parameters(inspection->model);
    struct fields fields = {.n = 0};
    append_count(&fields, "embedding", found.embedding);
    append_count(&fields, "positions", found.positions);
    append_count(&fields, "attention", found.attention);
    append_count(&fields, "mlp", found.mlp);
    append_count(&fields, "norms", found.norms);
    append_count(&fields, "output", found.output);
    return fields;
}

static void append_sized(struct fields *fields, enum field_kind kind, const char *name,
                         const char *label, uint64_t number)
{
    append(fields, (struct field){.name = name, .label = label, .kind = kind, .number = number});
}

struct fields inspection_operations(const struct inspection *inspection)
{
    const enum field_kind kind = FIELD_OPERATIONS;
    const struct attn_cost *cost = &inspection->cost;
    struct fields fields = {.n = 0};
    append_sized(&fields, kind, "projections", "q, k, v and output projections", cost->projections);
    append_sized(&fields, kind, "matrices", "attention matrices", cost->matrices);
    append_sized(&fields, kind, "mlp", NULL, cost->mlp);
    append_sized(&fields, kind, "output", "logits of every token", cost->output);
    return fields;
}

struct fields inspection_memory(const struct inspection *inspection)
{
    const enum field_kind kind = FIELD_BYTES;
    const struct attn_cost *cost = &inspection->cost;
    struct fields fields = {.n = 0};
    append_sized(&fields, kind, "weights", "weights read", cost->weights);
    append_sized(&fields, kind, "session", "working memory of 'run', one thread", cost->session);
    append_sized(&fields, kind, "keys_values", "keys and values of all layers", cost->keys_values);
    append_sized(&fields, kind, "keys_values_plain", "  with plain heads", cost->keys_values_plain);
    append_sized(&fields, kind, "keys_values_multi_query", "  with multi-query heads",
                 cost->keys_values_multi_query);
    return fields;
}

int inspection_site_shape(const struct inspection *inspection, enum attn_site site, size_t shape[3])
{
    size_t n = attn_site_is_in_layer(site) ? attn_selection_dims(inspection->sites)->n_layer : 1;
    int rank = attn_selection_shape(inspection->sites, site, 0, shape);
    for (size_t layer = 1; layer < n; layer++) {
        size_t other[3];
        attn_selection_shape(inspection->sites, site, (int)layer, other);
        if (memcmp(shape, other, (size_t)rank * sizeof(*shape)) != 0)
            return 0;
    }
    return rank;
}

uint64_t fields_total(const struct fields *fields)
{
    uint64_t total = 0;
    for (size_t i = 0; i < fields->n; i++)
        if (__builtin_add_overflow(total, fields->items[i].number, &total))
            return UINT64_MAX;
    return total;
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
    for (size_t i = 0; i < source->n_override; i++)
        if (strcmp(source->overrides[i].name, name) == 0)
            return find_size(source->overrides[i].path, size);
    for (size_t i = 0; i < source->n_blob; i++)
        if (strcmp(source->blobs[i].name, name) == 0) {
            *size = source->blobs[i].size;
            return true;
        }
    char path[MODEL_PATH_SIZE];
    if (!source->directory)
        return false;
    int length = snprintf(path, sizeof(path), "%s/%s", source->directory, name);
    return length >= 0 && (size_t)length < sizeof(path) && find_size(path, size);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int inspection_list_files(struct inspection *inspection)
{
    static const char *const parts[] = {"config.json",
                                        "vocab.json",
                                        "merges.txt",
                                        "added_tokens.json",
                                        "special_tokens_map.json",
                                        "tokenizer_config.json",
                                        "tokenizer.json",
                                        "model.safetensors.index.json"};
    enum { N_PART = sizeof(parts) / sizeof(parts[0]) };
    int n_shard = attn_safetensors_n_shard(inspection->weights);
    struct model_file *files = calloc(N_PART + (size_t)n_shard, sizeof(*files));
    size_t n = 0;
    if (!files)
        return report_no_memory();
    for (size_t i = 0; inspection->model && i < N_PART; i++)
        if (find_part(&inspection->source.source, parts[i], &files[n].size))
            files[n++].name = parts[i];
    for (int i = 0; i < n_shard; i++) {
        files[n].name = base_name(attn_safetensors_path(inspection->weights, i));
        files[n++].size = attn_safetensors_file_size(inspection->weights, i);
    }
    inspection->files = files;
    inspection->n_file = n;
    return EXIT_DONE;
}

const char *inspection_file_of(const struct inspection *inspection,
                               const struct attn_safetensors_entry *entry)
{
    size_t n_shard = (size_t)attn_safetensors_n_shard(inspection->weights);
    return inspection->files[inspection->n_file - n_shard + (size_t)entry->shard].name;
}

uint64_t inspection_n_byte(const struct inspection *inspection)
{
    uint64_t n_byte = 0;
    for (size_t i = 0; i < inspection->n_file; i++)
        n_byte += inspection->files[i].size;
    return n_byte;
}

int inspection_check(struct inspection *inspection)
{
    size_t n = attn_safetensors_count(inspection->weights);
    inspection->is_checked = true;
    inspection->bad = calloc(n, sizeof(*inspection->bad));
    if (!inspection->bad && n > 0)
        return report_no_memory();
    for (size_t i = 0; i < n && !interrupt_is_model_truncated(); i++) {
        struct attn_safetensors_entry entry = attn_safetensors_entry(inspection->weights, i);
        struct attn_non_finite found = attn_tensor_find_non_finite(&entry.tensor);
        if (found.n_nan + found.n_infinite > 0)
            inspection->bad[inspection->n_bad++] = (struct bad_tensor){i, found};
    }
    if (!interrupt_is_model_truncated())
        return EXIT_DONE;
    struct attn_error err = {0};
    attn_error_set(&err, ATTN_CANCELED, "%s", attn_status_text(ATTN_CANCELED));
    return report(&err, EXIT_MODEL);
}

void inspection_release(struct inspection *inspection)
{
    interrupt_watch_weights(NULL);
    free(inspection->files);
    free(inspection->bad);
    attn_selection_free(inspection->sites);
    attn_tokenizer_close(inspection->tokenizer);
    attn_model_close(inspection->model);
    attn_safetensors_close(inspection->alone);
}
