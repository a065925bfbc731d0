/*
 * weights.c - binds tensors of a file to their places, by the rules of a family.
 *
 * For each rule and layer: is it needed, what is it called here, is it there, has it the right type
 * and shape; then it is stored as the rule says.
 */
#include "model/weights.h"

#include "base/escape.h"
#include "base/file.h"
#include "base/memory.h"
#include "formats/safetensors.h"
#include "model/finite.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* What binding works on. */
struct binder {
    struct attn_weights *weights;
    struct attn_config *config;
    const struct attn_safetensors *st;
    const struct attn_family *family;
    const char *prefix; /* "" or the family's */
};

/* The family of a model that was opened. */
static const struct attn_family *family_of(const char *model_type)
{
    const struct attn_family *family = attn_family_find(model_type);

    assert(family != NULL);
    return family;
}

static bool is_in_layer(const struct attn_weight_rule *rule)
{
    return strchr(rule->name, '#') != NULL;
}

static void write_name(char name[ATTN_WEIGHT_NAME_SIZE], const char *prefix,
                       const struct attn_weight_rule *rule, int layer)
{
    const bool has_prefix = rule->name[0] != '/';
    const char *pattern = has_prefix ? rule->name : rule->name + 1;
    const char *number = strchr(pattern, '#');

    if (!has_prefix)
        prefix = "";
    if (number == NULL)
        snprintf(name, ATTN_WEIGHT_NAME_SIZE, "%s%s", prefix, pattern);
    else
        snprintf(name, ATTN_WEIGHT_NAME_SIZE, "%s%.*s%d%s", prefix, (int)(number - pattern),
                 pattern, layer, number + 1);
}

static size_t dimension(char letter, const struct attn_config *config, int layer)
{
    switch (letter) {
    case 'V':
        return config->n_vocab;
    case 'D':
        return config->d_model;
    case 'P':
        return config->n_ctx;
    case 'H':
        return config->n_head;
    case 'G':
        return config->n_kv_head;
    case 'E':
        return config->d_head;
    case 'U':
        return config->d_value;
    case 'F':
        return config->d_mlp;
    case 'S':
        return config->is_cross[layer] ? config->d_source : config->d_model;
    default:
        return config->n_head * config->d_head +
               config->n_kv_head * (config->d_head + config->d_value);
    }
}

enum need { NEEDED, USED_IF_FOUND, NOT_NEEDED };

static enum need find_need(enum attn_weight_part part, const struct attn_config *config)
{
    const bool has_norm = config->norm != ATTN_NORM_NONE, has_mlp = config->d_mlp > 0;
    const bool has_own = config->output == ATTN_OUTPUT_OWN;

    switch (part) {
    case ATTN_PART_ALWAYS:
        return NEEDED;
    case ATTN_PART_POSITIONS:
        return config->positions == ATTN_POSITIONS_LEARNED ? NEEDED : NOT_NEEDED;
    case ATTN_PART_NORM:
        return has_norm ? NEEDED : NOT_NEEDED;
    case ATTN_PART_PROJECTIONS:
        return config->has_projections ? NEEDED : NOT_NEEDED;
    case ATTN_PART_QKV_BIAS:
        return config->has_qkv_bias ? NEEDED : NOT_NEEDED;
    case ATTN_PART_OUT_PROJ:
        return config->has_out_proj ? NEEDED : NOT_NEEDED;
    case ATTN_PART_OUT_BIAS:
        return config->has_out_bias ? NEEDED : NOT_NEEDED;
    case ATTN_PART_MLP_NORM:
        return has_norm && has_mlp ? NEEDED : NOT_NEEDED;
    case ATTN_PART_MLP:
        return has_mlp ? NEEDED : NOT_NEEDED;
    case ATTN_PART_MLP_BIAS:
        return has_mlp ? USED_IF_FOUND : NOT_NEEDED;
    case ATTN_PART_FINAL_NORM:
        return config->has_final_norm ? NEEDED : NOT_NEEDED;
    case ATTN_PART_OUTPUT:
        return has_own ? NEEDED : NOT_NEEDED;
    case ATTN_PART_OUTPUT_FOUND:
        return has_own ? NEEDED : USED_IF_FOUND;
    case ATTN_PART_OUTPUT_BIAS:
        return has_own ? USED_IF_FOUND : NOT_NEEDED;
    case ATTN_PART_IGNORED:
        return NOT_NEEDED;
    }
    return NOT_NEEDED;
}

static void write_shape(char *text, size_t size, const size_t *shape, size_t rank)
{
    size_t used = (size_t)snprintf(text, size, "[");

    for (size_t i = 0; i < rank; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%zu", i == 0 ? "" : ", ", shape[i]);
    snprintf(text + used, size - used, "]");
}

/* The types that the kernels convert. */
static bool is_readable(enum attn_dtype dtype)
{
    return dtype == ATTN_DTYPE_F32 || dtype == ATTN_DTYPE_F16 || dtype == ATTN_DTYPE_BF16;
}

static enum attn_status check_tensor(const struct binder *binder,
                                     const struct attn_weight_rule *rule, int layer,
                                     const struct attn_safetensors_entry *entry,
                                     struct attn_error *err)
{
    const struct attn_tensor *tensor = &entry->tensor;
    const size_t rank = strlen(rule->shape);
    const struct attn_quote path =
        attn_quote_string(attn_safetensors_path(binder->st, entry->shard));
    size_t expected[4];
    /* A size has at most 20 digits; ", " and brackets come to it. */
    char found_text[ATTN_MAX_RANK * 22 + 3], expected_text[4 * 22 + 3];
    bool is_same = tensor->rank == (int)rank;

    if (!is_readable(tensor->dtype))
        return attn_error_set(
            err, ATTN_UNSUPPORTED, "'%s' in '%s' has type %s, expected F32, F16 or BF16",
            attn_quote_string(entry->name).text, path.text, attn_dtype_name(tensor->dtype));
    for (size_t i = 0; i < rank; i++) {
        expected[i] = dimension(rule->shape[i], binder->config, layer);
        is_same = is_same && tensor->shape[i] == expected[i];
    }
    if (is_same)
        return ATTN_OK;
    write_shape(found_text, sizeof found_text, tensor->shape, (size_t)tensor->rank);
    write_shape(expected_text, sizeof expected_text, expected, rank);
    return attn_error_set(err, ATTN_FORMAT, "'%s' in '%s' has shape %s, expected %s",
                          attn_quote_string(entry->name).text, path.text, found_text,
                          expected_text);
}

/* Elements first .. first+n-1 of a tensor, in file order. */
static struct attn_vector vector_of(const struct attn_tensor *tensor, size_t first, size_t n)
{
    return (struct attn_vector){.data = (const char *)tensor->data +
                                        first * (attn_dtype_bits(tensor->dtype) / 8),
                                .dtype = tensor->dtype,
                                .n = n};
}

static struct attn_matrix matrix_of(const struct attn_tensor *tensor, enum attn_weight_kind kind)
{
    struct attn_matrix m = {.data = tensor->data, .dtype = tensor->dtype, .col_stride = 1};
    const size_t *shape = tensor->shape;

    if (kind == ATTN_WEIGHT_HEADS) {
        m.n_row = shape[1];
        m.n_col = shape[0] * shape[2];
        m.group = m.row_stride = shape[2];
        m.group_stride = shape[1] * shape[2];
    } else if (kind == ATTN_WEIGHT_OUT_IN) {
        m.n_row = m.col_stride = shape[1];
        m.n_col = m.group = shape[0];
        m.row_stride = 1;
    } else {
        m.n_row = tensor->rank == 3 ? shape[0] * shape[1] : shape[0];
        m.n_col = m.group = m.row_stride = shape[tensor->rank - 1];
    }
    return m;
}

/* q, k and v side by side in one matrix [D, A] or one vector [A]. */
static void store_qkv(struct attn_block_weights *block, const struct attn_config *config,
                      enum attn_weight_kind kind, const struct attn_tensor *tensor)
{
    const size_t widths[] = {config->n_head * config->d_head, config->n_kv_head * config->d_head,
                             config->n_kv_head * config->d_value};
    struct attn_linear *const parts[] = {&block->q, &block->k, &block->v};
    size_t first = 0;

    for (int i = 0; i < 3; i++) {
        const struct attn_vector slice = vector_of(tensor, first, widths[i]);

        if (kind == ATTN_WEIGHT_QKV_VECTOR) {
            parts[i]->bias = slice;
        } else {
            parts[i]->weight = matrix_of(tensor, ATTN_WEIGHT_IN_OUT);
            parts[i]->weight.data = slice.data;
            parts[i]->weight.n_col = parts[i]->weight.group = widths[i];
        }
        first += widths[i];
    }
}

static void store(const struct binder *binder, const struct attn_weight_rule *rule, int layer,
                  const struct attn_tensor *tensor)
{
    struct attn_block_weights *block = &binder->weights->blocks[layer];
    char *place = (is_in_layer(rule) ? (char *)block : (char *)binder->weights) + rule->offset;
    size_t n = 1;

    switch (rule->kind) {
    case ATTN_WEIGHT_TENSOR:
        memcpy(place, tensor, sizeof *tensor);
        break;
    case ATTN_WEIGHT_VECTOR:
        for (int i = 0; i < tensor->rank; i++)
            n *= tensor->shape[i];
        *(struct attn_vector *)(void *)place = vector_of(tensor, 0, n);
        break;
    case ATTN_WEIGHT_IN_OUT:
    case ATTN_WEIGHT_OUT_IN:
    case ATTN_WEIGHT_HEADS:
        *(struct attn_matrix *)(void *)place = matrix_of(tensor, rule->kind);
        break;
    case ATTN_WEIGHT_QKV_MATRIX:
    case ATTN_WEIGHT_QKV_VECTOR:
        store_qkv(block, binder->config, rule->kind, tensor);
        break;
    }
}

static enum attn_status bind_rule(const struct binder *binder, const struct attn_weight_rule *rule,
                                  int layer, struct attn_error *err)
{
    const enum need need = find_need(rule->part, binder->config);
    struct attn_safetensors_entry entry;
    enum attn_status status;
    bool is_found;
    char name[ATTN_WEIGHT_NAME_SIZE];

    if (need == NOT_NEEDED)
        return ATTN_OK;
    write_name(name, binder->prefix, rule, layer);
    is_found = attn_safetensors_find(binder->st, name, &entry);
    if (!is_found && need == USED_IF_FOUND)
        return ATTN_OK;
    if (!is_found)
        return attn_error_set(err, ATTN_FORMAT, "'%s' is missing in '%s'", name,
                              attn_quote_string(attn_safetensors_path(binder->st, 0)).text);
    status = check_tensor(binder, rule, layer, &entry, err);
    if (status != ATTN_OK)
        return status;
    if (rule->part == ATTN_PART_OUTPUT_FOUND)
        binder->config->output = ATTN_OUTPUT_OWN;
    store(binder, rule, layer, &entry.tensor);
    return ATTN_OK;
}

/* --- what a model needs ----------------------------------------------------------------------- */

struct describer {
    const struct attn_config *config;
    const struct attn_family *family;
    bool with_biases;
    attn_weight_spec_fn fn;
    void *user;
};

static enum attn_status describe(const struct describer *describer,
                                 const struct attn_weight_rule *rule, int layer,
                                 struct attn_error *err)
{
    const char *prefix = describer->family->prefix;
    const bool is_bias = rule->part == ATTN_PART_MLP_BIAS || rule->part == ATTN_PART_OUTPUT_BIAS;
    const enum need need = find_need(rule->part, describer->config);
    struct attn_weight_spec spec = {.rule = rule, .layer = layer};

    if (need == NOT_NEEDED || (need == USED_IF_FOUND && !(is_bias && describer->with_biases)))
        return ATTN_OK;
    write_name(spec.name, prefix != NULL ? prefix : "", rule, layer);
    spec.rank = (int)strlen(rule->shape);
    for (int i = 0; i < spec.rank; i++)
        spec.shape[i] = dimension(rule->shape[i], describer->config, layer);
    return describer->fn(describer->user, &spec, err);
}

enum attn_status attn_weights_describe(const struct attn_config *config, bool with_biases,
                                       attn_weight_spec_fn fn, void *user, struct attn_error *err)
{
    const struct describer describer = {config, family_of(config->model_type), with_biases, fn,
                                        user};
    const struct attn_weight_rule *rules = describer.family->rules;
    const size_t n_rule = describer.family->n_rule;
    enum attn_status status = ATTN_OK;
    size_t first = 0, end;

    while (!is_in_layer(&rules[first]))
        first++;
    end = first;
    while (is_in_layer(&rules[end]))
        end++;
    for (size_t i = 0; i < first && status == ATTN_OK; i++)
        status = describe(&describer, &rules[i], 0, err);
    for (size_t layer = 0; layer < config->n_layer; layer++)
        for (size_t i = first; i < end && status == ATTN_OK; i++)
            status = describe(&describer, &rules[i], (int)layer, err);
    for (size_t i = end; i < n_rule && status == ATTN_OK; i++)
        if (!is_in_layer(&rules[i])) /* behind them only buffers that are ignored */
            status = describe(&describer, &rules[i], 0, err);
    return status;
}

/* --- binding ---------------------------------------------------------------------------------- */

/* Files either put the prefix in front of every name or of none: the first rule's tensor
 * decides. */
static enum attn_status find_prefix(const struct attn_family *family,
                                    const struct attn_safetensors *st, const char **prefix,
                                    struct attn_error *err)
{
    char with[ATTN_WEIGHT_NAME_SIZE], without[ATTN_WEIGHT_NAME_SIZE];

    *prefix = "";
    if (family->prefix == NULL)
        return ATTN_OK;
    write_name(with, family->prefix, &family->rules[0], 0);
    write_name(without, "", &family->rules[0], 0);
    if (!attn_safetensors_find(st, with, NULL))
        return ATTN_OK;
    if (attn_safetensors_find(st, without, NULL))
        return attn_error_set(err, ATTN_FORMAT, "'%s' has both '%s' and '%s', expected one of them",
                              attn_quote_string(attn_safetensors_path(st, 0)).text, with, without);
    *prefix = family->prefix;
    return ATTN_OK;
}

enum attn_status attn_weights_bind(struct attn_weights *weights, struct attn_config *config,
                                   const struct attn_safetensors *st, struct attn_error *err)
{
    struct binder binder = {weights, config, st, family_of(config->model_type), ""};
    enum attn_status status = find_prefix(binder.family, st, &binder.prefix, err);

    if (status != ATTN_OK)
        return status;
    weights->blocks = attn_alloc(config->n_layer, sizeof *weights->blocks, err);
    if (weights->blocks == NULL)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; i < binder.family->n_rule; i++) {
        const struct attn_weight_rule *rule = &binder.family->rules[i];
        const size_t n = is_in_layer(rule) ? config->n_layer : 1;

        for (size_t layer = 0; layer < n && status == ATTN_OK; layer++)
            status = bind_rule(&binder, rule, (int)layer, err);
    }
    if (config->output == ATTN_OUTPUT_TIED)
        weights->unembed.weight = matrix_of(&weights->embed, ATTN_WEIGHT_OUT_IN);
    return status;
}

/* --- packed copies ---------------------------------------------------------------------------- */

/* The place for LINEAR. The same code measures and carves; see base/arena.h. */
static void plan_linear(struct attn_weights *weights, struct attn_linear *linear,
                        enum attn_compute compute)
{
    if (linear->weight.data == NULL)
        return;
    linear->packed = attn_arena_take(&weights->packed, attn_linear_packed_size(linear, compute), 1);
    linear->packed_for = compute;
}

static void plan_packed(struct attn_weights *weights, const struct attn_config *config,
                        enum attn_compute compute)
{
    for (size_t layer = 0; layer < config->n_layer; layer++)
        for (size_t i = 0; i < ATTN_BLOCK_N_LINEAR; i++)
            plan_linear(weights, &weights->blocks[layer].linears[i], compute);
    plan_linear(weights, &weights->unembed, compute);
}

/* Gives back the pages of MATRIX; they are read again if its elements are wanted once more. */
static void drop_pages(const struct attn_matrix *matrix, const struct attn_safetensors *st)
{
    if (attn_safetensors_owns_address(st, matrix->data))
        attn_file_drop_pages(matrix->data, attn_matrix_extent(matrix, matrix->n_col));
}

/* Packs N maps, which may lie in the same pages, as q, k and v do: these are given back when all
 * are packed. */
static void pack_linears(const struct attn_linear *linears, size_t n,
                         const struct attn_safetensors *st, struct attn_pool *pool)
{
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);

    for (size_t i = 0; i < n; i++)
        if (linears[i].packed != NULL)
            attn_linear_pack(&linears[i], kernels, pool);
    for (size_t i = 0; i < n; i++)
        if (linears[i].packed != NULL)
            drop_pages(&linears[i].weight, st);
}

enum attn_status attn_weights_pack(struct attn_weights *weights, const struct attn_config *config,
                                   const struct attn_safetensors *st, enum attn_compute compute,
                                   struct attn_pool *pool, struct attn_error *err)
{
    enum attn_status status;

    plan_packed(weights, config, compute);
    status = attn_arena_allocate(&weights->packed, err);
    if (status != ATTN_OK)
        return status;
    plan_packed(weights, config, compute);
    for (size_t layer = 0; layer < config->n_layer; layer++)
        pack_linears(weights->blocks[layer].linears, ATTN_BLOCK_N_LINEAR, st, pool);
    pack_linears(&weights->unembed, 1, st, pool);
    return ATTN_OK;
}

void attn_weights_release(struct attn_weights *weights)
{
    attn_free(weights->blocks);
    attn_arena_release(&weights->packed);
    *weights = (struct attn_weights){0};
}

/* --- names that a file has -------------------------------------------------------------------- */

/* Whether NAME is PREFIX + the rule's name for any layer; *layer is then the layer, or
 * ATTN_NO_LAYER. */
static bool is_named(const struct attn_weight_rule *rule, const char *prefix, const char *name,
                     int *layer)
{
    const char *pattern = rule->name[0] == '/' ? rule->name + 1 : rule->name;
    const char *number = strchr(pattern, '#');
    const size_t n_prefix = strlen(prefix);
    int used = 0, value;

    *layer = ATTN_NO_LAYER;
    if (rule->name[0] != '/') {
        if (strncmp(name, prefix, n_prefix) != 0)
            return false;
        name += n_prefix;
    }
    if (number == NULL)
        return strcmp(name, pattern) == 0;
    if (strncmp(name, pattern, (size_t)(number - pattern)) != 0)
        return false;
    name += number - pattern;
    if (sscanf(name, "%5d%n", &value, &used) != 1 || used == 0 || value < 0)
        return false;
    *layer = value;
    return strcmp(name + used, number + 1) == 0;
}

/* The rule that names the tensor NAME, or NULL. */
static const struct attn_weight_rule *find_rule(const struct attn_family *family, const char *name,
                                                int *layer)
{
    for (size_t i = 0; i < family->n_rule; i++)
        if (is_named(&family->rules[i], "", name, layer) ||
            (family->prefix != NULL && is_named(&family->rules[i], family->prefix, name, layer)))
            return &family->rules[i];
    return NULL;
}

void attn_weights_list_unused(const char *model_type, const struct attn_safetensors *st,
                              attn_unused_fn fn, void *user)
{
    const struct attn_family *family = family_of(model_type);
    int layer;

    for (size_t i = 0; i < attn_safetensors_count(st); i++) {
        const struct attn_safetensors_entry entry = attn_safetensors_entry(st, i);

        if (find_rule(family, entry.name, &layer) == NULL)
            fn(user, entry.name);
    }
}

static enum attn_status scan_tensor(const struct attn_safetensors *st,
                                    const struct attn_safetensors_entry *entry,
                                    struct attn_error *err)
{
    const struct attn_non_finite found = attn_tensor_find_non_finite(&entry->tensor);

    if (found.n_nan + found.n_infinite == 0)
        return ATTN_OK;
    return attn_error_set(
        err, ATTN_FORMAT, "'%s' in '%s' holds %g at element %zu, expected finite values",
        attn_quote_string(entry->name).text,
        attn_quote_string(attn_safetensors_path(st, entry->shard)).text, found.value, found.first);
}

enum attn_status attn_weights_find_non_finite(const char *model_type,
                                              const struct attn_safetensors *st, int layer,
                                              struct attn_error *err)
{
    const struct attn_family *family = family_of(model_type);
    enum attn_status status = ATTN_OK;

    for (size_t i = 0; i < attn_safetensors_count(st) && status == ATTN_OK; i++) {
        const struct attn_safetensors_entry entry = attn_safetensors_entry(st, i);
        int at;
        const struct attn_weight_rule *rule = find_rule(family, entry.name, &at);

        if (rule != NULL && rule->part != ATTN_PART_IGNORED && at == layer &&
            is_readable(entry.tensor.dtype))
            status = scan_tensor(st, &entry, err);
    }
    return status;
}
