/*
 * weights.c - binds tensors of a file to their places, by the rules of a family.
 *
 * For each rule and layer: is it needed, is it present under its name, with the right type and
 * shape; then it is stored in the form of the rule.
 */
#include "model/weights.h"

#include "base/dtype_internal.h"
#include "base/file.h"
#include "base/fixed_text.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "model/elements.h"
#include "model/image_patches.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* The state of binding. */
struct binder {
    struct attn_weights *weights;
    struct attn_config *config;
    const struct attn_tensor_files *st;
    const struct attn_family *family;
    const char *prefix; /* "" or the family's */
    bool is_fused;      /* q, k and v are one tensor, in a GGUF file */
};

/* The family of a model that was opened. */
static const struct attn_family *family_of(const char *model_type)
{
    const struct attn_family *family = attn_family_find(model_type);

    assert(family);
    return family;
}

static bool is_in_layer(const struct attn_weight_rule *rule)
{
    return strchr(rule->name, '#');
}

/* The spelling after SPELLING in the name of a rule, or NULL. */
static const char *next_spelling(const char *spelling)
{
    const char *bar = strchr(spelling, '|');

    return bar ? bar + 1 : NULL;
}

static void write_name(char name[ATTN_WEIGHT_NAME_SIZE], const char *prefix, const char *spelling,
                       int layer)
{
    const bool has_prefix = spelling[0] != '/';
    const char *pattern = has_prefix ? spelling : spelling + 1;
    const int size = (int)strcspn(pattern, "|"), before = (int)strcspn(pattern, "#|");

    if (!has_prefix)
        prefix = "";
    if (before == size)
        snprintf(name, ATTN_WEIGHT_NAME_SIZE, "%s%.*s", prefix, size, pattern);
    else
        snprintf(name, ATTN_WEIGHT_NAME_SIZE, "%s%.*s%d%.*s", prefix, before, pattern, layer,
                 size - before - 1, pattern + before + 1);
}

bool attn_weights_are_shared(const struct attn_config *config, size_t layer)
{
    return layer > 0 &&
           attn_config_weights_layer(config, layer) == attn_config_weights_layer(config, layer - 1);
}

/* The size that LETTER stands for in a shape of LAYER (family.h). */
static size_t dimension(char letter, const struct attn_config *config, int layer)
{
    const size_t d_q = config->n_head * config->d_head, d_k = config->n_kv_head * config->d_head;
    const size_t d_v = config->n_kv_head * config->d_value;
    const struct {
        char letter;
        size_t n;
    } sizes[] = {
        {'V', config->n_vocab},
        {'D', config->d_model},
        {'O', config->d_out},
        {'P', config->first_position + config->n_ctx},
        {'B', config->d_embed},
        {'T', config->n_type},
        {'J', 2 * config->d_mlp},
        {'M', config->d_projected},
        {'H', config->n_head},
        {'G', config->n_kv_head},
        {'E', config->d_head},
        {'U', config->d_value},
        {'F', config->d_mlp},
        {'Q', d_q},
        {'K', d_k},
        {'W', d_v},
        {'Z', config->n_head * config->d_value},
        {'N', config->n_source},
        {'X', config->d_source},
        {'S', config->is_cross[layer] ? config->d_source : config->d_model},
        {'A', d_q + d_k + d_v},
        {'1', 1},
        {'I', 1 + attn_image_n_patch(&config->image)},
        {'R', config->image.n_register},
        {'C', config->image.n_channel},
        {'h', config->image.patch_height},
        {'w', config->image.patch_width},
        {'L', config->image.pooling == ATTN_POOLING_FIRST_AND_MEAN ? 2 * config->d_model
                                                                   : config->d_model},
    };
    size_t i = 0;

    while (i + 1 < sizeof sizes / sizeof *sizes && sizes[i].letter != letter)
        i++;
    return sizes[i].n;
}

enum need { NOT_NEEDED, NEEDED, USED_IF_FOUND, REFUSED };

static enum need find_need(enum attn_weight_part part, const struct attn_config *config, int layer)
{
    const bool has_positions = config->positions == ATTN_POSITIONS_LEARNED;
    const bool has_source_positions = config->source_positions == ATTN_POSITIONS_LEARNED;
    const bool has_norm = config->norm != ATTN_NORM_NONE;
    const bool is_sum = has_norm && config->norm_place == ATTN_NORM_SUM;
    const bool is_pre = has_norm && config->norm_place != ATTN_NORM_POST && !is_sum;
    const bool is_post = has_norm && config->norm_place != ATTN_NORM_PRE && !is_sum;
    const bool is_bare = layer == 0 && config->begins_without_norm;
    const bool has_head = config->head_act_fn;
    const bool has_mlp = config->d_mlp > 0, has_gate = has_mlp && config->has_gated_mlp;
    const bool is_mlp_pre = is_pre && has_mlp && !config->has_single_norm;
    const bool is_mlp_post = is_post && has_mlp;
    const bool is_layer_norm = config->norm == ATTN_NORM_LAYERNORM;
    const bool has_plain = has_mlp && !has_gate;
    const bool has_own = config->output == ATTN_OUTPUT_OWN;
    const bool has_output = config->output != ATTN_OUTPUT_NONE;
    enum { PART, BIAS, FOUND, OUTPUT };
    const struct {
        unsigned char kind;
        bool is_so;
    } rows[] = {
#define PART_ROW(id, group, need, is_so) [ATTN_PART_##id] = {need, is_so},
        ATTN_WEIGHT_PART_MAP(PART_ROW)
#undef PART_ROW
    };
    static const enum need needs[][2] = {[PART] = {NOT_NEEDED, NEEDED},
                                         [BIAS] = {REFUSED, NEEDED},
                                         [FOUND] = {NOT_NEEDED, USED_IF_FOUND},
                                         [OUTPUT] = {USED_IF_FOUND, NEEDED}};

    if (config->is_encoder && !has_head &&
        (part == ATTN_PART_OUTPUT_FOUND || part == ATTN_PART_HEAD_BIAS ||
         part == ATTN_PART_HEAD_NORM_BIAS))
        return NOT_NEEDED; /* the head is missing, or belongs to a classifier */
    if (!has_output && part == ATTN_PART_OUTPUT_BIAS)
        return NOT_NEEDED; /* name of a matrix that is missing */
    return needs[rows[part].kind][rows[part].is_so];
}

static void write_shape(char *text, size_t size, const size_t *shape, size_t rank)
{
    size_t used = 0;

    attn_fixed_text_append(text, size, &used, "[");
    for (size_t i = 0; i < rank; i++)
        attn_fixed_text_append(text, size, &used, "%s%zu", i == 0 ? "" : ", ", shape[i]);
    attn_fixed_text_append(text, size, &used, "]");
}

/* The types that the kernels convert; F64 is one of GGUF alone. */
static bool is_readable(const struct attn_family *naming, enum attn_dtype dtype)
{
    return dtype == ATTN_DTYPE_F32 || dtype == ATTN_DTYPE_F16 || dtype == ATTN_DTYPE_BF16 ||
           (naming->is_gguf && (dtype == ATTN_DTYPE_F64 || attn_dtype_block(dtype) > 1));
}

static enum attn_status check_tensor(const struct binder *binder,
                                     const struct attn_weight_rule *rule, int layer,
                                     const struct attn_tensor_entry *entry, struct attn_error *err)
{
    const struct attn_tensor *tensor = &entry->tensor;
    const size_t rank = strlen(rule->shape);
    const char *path = attn_tensor_files_path(binder->st, entry->shard);
    size_t expected[4];
    /* A size has at most 20 digits; ", " and brackets come to it. */
    char found_text[ATTN_MAX_RANK * 22 + 3], expected_text[4 * 22 + 3];
    bool is_same = tensor->rank == (int)rank;

    if (!is_readable(binder->family, tensor->dtype))
        return attn_error_set(
            err, ATTN_UNSUPPORTED, "'%s' in '%s' has type %s, expected F32, F16 or BF16%s",
            attn_quote_string(entry->name).text, attn_quote_string(path).text,
            attn_dtype_name(tensor->dtype), binder->family->is_gguf ? ", or a type of blocks" : "");
    for (size_t i = 0; i < rank; i++) {
        expected[i] = dimension(rule->shape[i], binder->config, layer);
        is_same = is_same && tensor->shape[i] == expected[i];
    }
    if (is_same)
        return ATTN_OK;
    write_shape(found_text, sizeof found_text, tensor->shape, (size_t)tensor->rank);
    write_shape(expected_text, sizeof expected_text, expected, rank);
    return attn_error_set(err, ATTN_FORMAT, "'%s' in '%s' has shape %s, expected %s",
                          attn_quote_string(entry->name).text, attn_quote_string(path).text,
                          found_text, expected_text);
}

/* Elements first .. first+n-1 of a tensor, in file order. */
static struct attn_vector vector_of(const struct attn_tensor *tensor, size_t first, size_t n)
{
    return (struct attn_vector){.data = (const char *)tensor->data +
                                        attn_dtype_n_byte(tensor->dtype, first),
                                .dtype = tensor->dtype,
                                .n = n,
                                .group = n};
}

static struct attn_matrix matrix_of(const struct attn_tensor *tensor, enum attn_weight_kind kind)
{
    struct attn_matrix m = {.data = tensor->data, .dtype = tensor->dtype, .col_stride = 1};
    const size_t *shape = tensor->shape;
    size_t n_in = shape[1];

    if (kind == ATTN_WEIGHT_HEADS) {
        m.n_row = shape[1];
        m.n_col = shape[0] * shape[2];
        m.group = m.row_stride = shape[2];
        m.group_stride = shape[1] * shape[2];
    } else if (kind == ATTN_WEIGHT_OUT_IN) {
        for (int i = 2; i < tensor->rank; i++) /* sizes of a patch: channel, row and column */
            n_in *= shape[i];
        m.n_row = m.col_stride = n_in;
        m.n_col = m.group = shape[0];
        m.row_stride = 1;
    } else {
        m.n_row = tensor->rank == 3 ? shape[0] * shape[1] : shape[0];
        m.n_col = m.group = m.row_stride = shape[tensor->rank - 1];
    }
    return m;
}

/* q, k and v in one tensor: side by side in a matrix [D, A] or a vector [A], or one after the other
 * in a matrix [A, D]; or head by head, 3E rows each of a matrix [A, D] or of a vector [A]. */
static void store_qkv(struct attn_block_weights *block, const struct attn_config *config,
                      enum attn_weight_kind kind, const struct attn_tensor *tensor)
{
    const size_t widths[] = {config->d_head, config->d_head, config->d_value};
    const size_t n_heads[] = {config->n_head, config->n_kv_head, config->n_kv_head};
    const bool is_vector = kind == ATTN_WEIGHT_QKV_VECTOR || kind == ATTN_WEIGHT_QKV_HEADS_VECTOR;
    const bool is_by_head = kind == ATTN_WEIGHT_QKV_HEADS || kind == ATTN_WEIGHT_QKV_HEADS_VECTOR;
    const size_t stride = is_by_head ? 2 * config->d_head + config->d_value : 0;
    const bool is_rows = kind == ATTN_WEIGHT_QKV_HEADS || kind == ATTN_WEIGHT_QKV_ROWS;
    const size_t n_in = is_rows ? tensor->shape[1] : 1; /* elements of a row */
    struct attn_linear *const parts[] = {&block->q, &block->k, &block->v};
    size_t first = 0;

    for (int i = 0; i < 3; i++) {
        const size_t n = n_heads[i] * widths[i], group = is_by_head ? widths[i] : n;
        struct attn_vector slice = vector_of(tensor, first * n_in, n);

        slice.group = group;
        slice.group_stride = stride;
        if (is_vector)
            parts[i]->bias = slice;
        else
            parts[i]->weight = (struct attn_matrix){.data = slice.data,
                                                    .dtype = tensor->dtype,
                                                    .n_row = is_rows ? n_in : tensor->shape[0],
                                                    .n_col = n,
                                                    .row_stride = is_rows ? 1 : tensor->shape[1],
                                                    .col_stride = n_in,
                                                    .group = group,
                                                    .group_stride = stride * n_in};
        first += group;
    }
}

/* The gate and mlp_in one after the other in a matrix [2F, D] or a vector [2F]. */
static void store_gated(struct attn_block_weights *block, const struct attn_tensor *tensor)
{
    struct attn_linear *const maps[] = {&block->mlp_gate, &block->mlp_in};
    const size_t n = tensor->shape[0] / 2;

    for (size_t i = 0; i < 2; i++) {
        if (tensor->rank == 1) {
            maps[i]->bias = vector_of(tensor, i * n, n);
            continue;
        }
        maps[i]->weight = matrix_of(tensor, ATTN_WEIGHT_OUT_IN);
        maps[i]->weight.data = vector_of(tensor, i * n * tensor->shape[1], n).data;
        maps[i]->weight.n_col = maps[i]->weight.group = n;
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
    case ATTN_WEIGHT_QKV_HEADS:
    case ATTN_WEIGHT_QKV_HEADS_VECTOR:
    case ATTN_WEIGHT_QKV_ROWS:
        store_qkv(block, binder->config, rule->kind, tensor);
        break;
    case ATTN_WEIGHT_GATED_ROWS:
    case ATTN_WEIGHT_GATED_VECTOR:
        store_gated(block, tensor);
        break;
    }
}

/* The tensor of RULE in any spelling. NAME is the spelling that was found, or the first one. */
static bool find_tensor(const struct binder *binder, const struct attn_weight_rule *rule, int layer,
                        char name[ATTN_WEIGHT_NAME_SIZE], struct attn_tensor_entry *entry)
{
    const char *spelling = rule->name;

    layer = (int)attn_config_weights_layer(binder->config, (size_t)layer);
    do {
        write_name(name, binder->prefix, spelling, layer);
        if (attn_tensor_files_find(binder->st, name, entry))
            return true;
        spelling = next_spelling(spelling);
    } while (spelling);
    write_name(name, binder->prefix, rule->name, layer);
    return false;
}

/* A tied output matrix is the embedding as well: a file may hold it under that name alone. */
static bool find_tied_output(const struct binder *binder, struct attn_tensor_entry *entry)
{
    const struct attn_family *family = binder->family;
    char name[ATTN_WEIGHT_NAME_SIZE];

    for (size_t i = 0; i < family->n_rule && binder->config->output == ATTN_OUTPUT_TIED; i++)
        if (family->rules[i].part == ATTN_PART_OUTPUT_FOUND &&
            find_tensor(binder, &family->rules[i], 0, name, entry))
            return true;
    return false;
}

/* Whether a tensor of KIND has q, k and v. */
static bool is_of_all(enum attn_weight_kind kind)
{
    return kind == ATTN_WEIGHT_QKV_ROWS || kind == ATTN_WEIGHT_QKV_VECTOR;
}

static enum attn_status bind_rule(const struct binder *binder, const struct attn_weight_rule *rule,
                                  int layer, struct attn_error *err)
{
    const enum need need = find_need(rule->part, binder->config, layer);
    struct attn_tensor_entry entry;
    const enum attn_weight_part part = rule->part;
    bool is_found;
    char name[ATTN_WEIGHT_NAME_SIZE];

    if (need == NOT_NEEDED ||
        (binder->family->is_gguf && (part == ATTN_PART_PROJECTIONS || part == ATTN_PART_QKV_BIAS) &&
         is_of_all(rule->kind) != binder->is_fused))
        return ATTN_OK;
    is_found = find_tensor(binder, rule, layer, name, &entry);
    if (need == REFUSED && is_found)
        return attn_error_set(
            err, ATTN_FORMAT, "'%s' is in '%s', but %s", name,
            attn_quote_string(attn_tensor_files_path(binder->st, entry.shard)).text,
            binder->family->is_gguf ? "its architecture has no such bias"
                                    : "'config.json' says that the map has no bias");
    if (need == REFUSED)
        return ATTN_OK;
    if (!is_found && part == ATTN_PART_EMBEDDING)
        is_found = find_tied_output(binder, &entry);
    if (!is_found && need == USED_IF_FOUND)
        return ATTN_OK;
    if (!is_found)
        return attn_error_set(err, ATTN_FORMAT, "'%s' is missing in '%s'", name,
                              attn_quote_string(attn_tensor_files_path(binder->st, 0)).text);
    ATTN_TRY(check_tensor(binder, rule, layer, &entry, err));
    if (part == ATTN_PART_OUTPUT_FOUND && entry.tensor.data != binder->weights->embed.data)
        binder->config->output = ATTN_OUTPUT_OWN;
    if (part == ATTN_PART_MLP_BIAS_FOUND)
        binder->config->has_mlp_bias = true;
    if (part == ATTN_PART_OUTPUT_BIAS_FOUND)
        binder->config->has_output_bias = true;
    store(binder, rule, layer, &entry.tensor);
    return ATTN_OK;
}

/* --- Needed tensors --------------------------------------------------------------------------- */

/* Fills SPEC for RULE; false when a model of CONFIG does not need it. */
static bool describe(const struct attn_config *config, bool with_biases,
                     const struct attn_weight_rule *rule, int layer, struct attn_weight_spec *spec)
{
    const char *prefix = family_of(config->model_type)->prefix;
    const bool is_bias =
        rule->part == ATTN_PART_MLP_BIAS_FOUND || rule->part == ATTN_PART_OUTPUT_BIAS_FOUND;
    const enum need need = find_need(rule->part, config, layer);

    if (need != NEEDED && !(need == USED_IF_FOUND && is_bias && with_biases))
        return false;
    *spec = (struct attn_weight_spec){.rule = rule, .rank = (int)strlen(rule->shape)};
    write_name(spec->name, prefix ? prefix : "", rule->name,
               (int)attn_config_weights_layer(config, (size_t)layer));
    for (int i = 0; i < spec->rank; i++)
        spec->shape[i] = dimension(rule->shape[i], config, layer);
    return true;
}

enum attn_status attn_weights_describe(const struct attn_config *config, bool with_biases,
                                       struct attn_weight_spec **specs, size_t *n,
                                       struct attn_error *err)
{
    const struct attn_family *family = family_of(config->model_type);
    const struct attn_weight_rule *rules = family->rules, *end = rules + family->n_rule;
    const struct attn_weight_rule *first = rules,
                                  *last; /* number of tensors in a layer; after them */
    struct attn_weight_spec *list;

    while (!is_in_layer(first))
        first++;
    for (last = first; is_in_layer(last);)
        last++;
    list = attn_alloc(family->n_rule * (config->n_layer + 1), sizeof *list, err);
    *specs = list;
    *n = 0;
    if (!list)
        return ATTN_NO_MEMORY;
    for (const struct attn_weight_rule *rule = rules; rule < first; rule++)
        *n += describe(config, with_biases, rule, 0, &list[*n]);
    for (size_t layer = 0; layer < config->n_layer; layer++)
        for (const struct attn_weight_rule *rule = first;
             rule < last && !attn_weights_are_shared(config, layer); rule++)
            *n += describe(config, with_biases, rule, (int)layer, &list[*n]);
    for (const struct attn_weight_rule *rule = last; rule < end; rule++)
        if (!is_in_layer(rule)) /* after them only buffers that are ignored */
            *n += describe(config, with_biases, rule, 0, &list[*n]);
    return ATTN_OK;
}

/* --- binding ---------------------------------------------------------------------------------- */

/* Whether the file has a tensor of RULE under PREFIX. */
static bool has_tensor(const struct attn_family *family, const struct attn_weight_rule *rule,
                       const char *prefix, const struct attn_tensor_files *st)
{
    struct attn_config config = {.n_layer = 1};
    const struct binder binder = {.config = &config, .st = st, .family = family, .prefix = prefix};
    char name[ATTN_WEIGHT_NAME_SIZE];

    return find_tensor(&binder, rule, 0, name, NULL);
}

/* The prefix is in front of every name or of none: the first tensor that is there decides. */
static enum attn_status find_prefix(const struct attn_family *family,
                                    const struct attn_tensor_files *st, const char **prefix,
                                    struct attn_error *err)
{
    *prefix = "";
    for (size_t i = 0; i < family->n_rule && family->prefix; i++) {
        const struct attn_weight_rule *rule = &family->rules[i];
        const bool has_without = has_tensor(family, rule, "", st);
        char with[ATTN_WEIGHT_NAME_SIZE], without[ATTN_WEIGHT_NAME_SIZE];

        if (rule->name[0] == '/' || !(has_without || has_tensor(family, rule, family->prefix, st)))
            continue;
        *prefix = has_without ? "" : family->prefix;
        if (!has_without || !has_tensor(family, rule, family->prefix, st))
            return ATTN_OK;
        write_name(with, family->prefix, rule->name, 0);
        write_name(without, "", rule->name, 0);
        return attn_error_set(err, ATTN_FORMAT, "'%s' has both '%s' and '%s', expected one of them",
                              attn_quote_string(attn_tensor_files_path(st, 0)).text, with, without);
    }
    return ATTN_OK;
}

/* The biases of a GGUF file are those among its tensors. */
static void find_biases(struct binder *binder)
{
    static const char *const q[] = {"blk.0.attn_q.bias", "blk.0.attn_qkv.bias"};
    struct attn_config *config = binder->config;

    binder->is_fused = attn_tensor_files_find(binder->st, "blk.0.attn_qkv.weight", NULL);
    config->has_qkv_bias = attn_tensor_files_find(binder->st, q[binder->is_fused], NULL);
    config->has_out_bias = attn_tensor_files_find(binder->st, "blk.0.attn_output.bias", NULL);
    config->has_mlp_bias = attn_tensor_files_find(binder->st, "blk.0.ffn_up.bias", NULL);
    config->has_output_bias = attn_tensor_files_find(binder->st, "output.bias", NULL);
}

/* Puts the heads of q and k in the order of Hugging Face, in which halves are turned. */
static void interleave_heads(const struct attn_weights *weights, const struct attn_config *config)
{
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        struct attn_linear *const maps[] = {&weights->blocks[layer].q, &weights->blocks[layer].k};

        for (int i = 0; i < 2; i++) {
            struct attn_matrix *w = &maps[i]->weight;
            struct attn_vector *b = &maps[i]->bias;

            w->group = config->d_head, w->group_stride = config->d_head * w->col_stride;
            b->group = b->group_stride = config->d_head;
            w->is_interleaved = b->is_interleaved = true;
        }
    }
}

enum attn_status attn_weights_bind(struct attn_weights *weights, struct attn_config *config,
                                   const struct attn_family *family,
                                   const struct attn_tensor_files *st, struct attn_error *err)
{
    struct binder binder = {weights, config, st, family, "", false};
    bool has_output = false;

    if (family->is_gguf)
        find_biases(&binder);

    ATTN_TRY(find_prefix(family, st, &binder.prefix, err));
    for (size_t i = 0; i < family->n_rule; i++)
        has_output = has_output || ((family->rules[i].part == ATTN_PART_OUTPUT_FOUND ||
                                     family->rules[i].part == ATTN_PART_OUTPUT) &&
                                    has_tensor(family, &family->rules[i], "", st));
    /* The file of a model that was saved without a head, or with one that is not read. */
    if (family->prefix && config->output == ATTN_OUTPUT_OWN && !has_output)
        config->output = ATTN_OUTPUT_NONE;
    /* An encoder has no logits when its file lacks the head before the output matrix, or the matrix
     * of a classifier, or when its head belongs to a classifier. */
    for (size_t i = 0; i < family->n_rule; i++) {
        const enum attn_weight_part part = family->rules[i].part;

        if ((part == ATTN_PART_TASK || (part == ATTN_PART_HEAD && config->head_act_fn) ||
             (part == ATTN_PART_OUTPUT && config->image.pooling != ATTN_POOLING_NONE)) &&
            has_tensor(family, &family->rules[i], "", st) == (part == ATTN_PART_TASK)) {
            config->head_act_fn = NULL;
            config->n_vocab = part == ATTN_PART_OUTPUT ? 0 : config->n_vocab;
            config->image.pooling = ATTN_POOLING_NONE;
            config->labels = NULL;
            config->output = ATTN_OUTPUT_NONE;
            config->has_output_bias = false;
        }
    }
    /* A tower by itself has no projection when its file lacks it. */
    for (size_t i = 0; i < family->n_rule; i++)
        if (family->rules[i].part == ATTN_PART_PROJECTION && !config->has_two_towers &&
            !has_tensor(family, &family->rules[i], "", st))
            config->d_projected = 0;
    ATTN_TRY(ATTN_ALLOC(weights->blocks, config->n_layer, err));
    for (size_t i = 0; i < family->n_rule; i++) {
        const struct attn_weight_rule *rule = &family->rules[i];
        const size_t n = is_in_layer(rule) ? config->n_layer : 1;

        for (size_t layer = 0; layer < n; layer++)
            ATTN_TRY(bind_rule(&binder, rule, (int)layer, err));
    }
    if (family->is_gguf && family->gguf.has_interleaved_heads)
        interleave_heads(weights, config);
    if (config->output == ATTN_OUTPUT_TIED)
        weights->unembed.weight = matrix_of(&weights->embed, ATTN_WEIGHT_OUT_IN);
    return ATTN_OK;
}

/* --- packed copies ---------------------------------------------------------------------------- */

/* Calls VISIT for every map, once for those that layers share. */
static void visit_linears(struct attn_weights *weights, const struct attn_config *config,
                          void (*visit)(struct attn_linear *linear, void *context), void *context)
{
    for (size_t layer = 0; layer < config->n_layer; layer++)
        for (size_t i = 0; i < ATTN_BLOCK_N_LINEAR && !attn_weights_are_shared(config, layer); i++)
            if (weights->blocks[layer].linears[i].weight.data)
                visit(&weights->blocks[layer].linears[i], context);
    for (size_t i = 0; i < ATTN_MODEL_N_LINEAR; i++)
        if (weights->linears[i].weight.data)
            visit(&weights->linears[i], context);
}

static bool is_of_blocks(const struct attn_linear *linear)
{
    return attn_dtype_block(linear->weight.dtype) > 1;
}

struct packed_plan {
    struct attn_arena *arena;
    enum attn_compute compute;
    bool has_blocks;       /* these are packed, too */
    size_t size_of_blocks; /* the panels of those visited */
};

static void measure_blocks(struct attn_linear *linear, void *context)
{
    struct packed_plan *plan = context;

    if (is_of_blocks(linear))
        plan->size_of_blocks = attn_size_of(attn_saturated_add(
            plan->size_of_blocks, attn_linear_packed_size(linear, plan->compute)));
}

/* The place for LINEAR. The same code measures and carves; see base/memory.h. */
static void plan_linear(struct attn_linear *linear, void *context)
{
    const struct packed_plan *plan = context;

    if (is_of_blocks(linear) && !plan->has_blocks)
        return;
    linear->packed =
        attn_arena_take(plan->arena, attn_linear_packed_size(linear, plan->compute), 1);
    linear->packed_for = plan->compute;
}

/* Packs N maps, which may share pages, as q, k and v do: pages are given back after the last. */
static void pack_linears(const struct attn_linear *linears, size_t n,
                         const struct attn_tensor_files *st, struct attn_pool *pool)
{
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);

    for (size_t i = 0; i < n; i++)
        if (linears[i].packed)
            attn_linear_pack(&linears[i], kernels, pool);
    for (size_t i = 0; i < n; i++)
        if (linears[i].packed && attn_tensor_files_owns_address(st, linears[i].weight.data))
            attn_file_drop_pages(
                linears[i].weight.data, /* read again if they are wanted once more */
                attn_matrix_extent(&linears[i].weight, linears[i].weight.n_col));
}

enum attn_status attn_weights_pack(struct attn_weights *weights, const struct attn_config *config,
                                   const struct attn_tensor_files *st,
                                   const struct attn_packing *packing, struct attn_error *err)
{
    struct packed_plan plan = {.arena = &weights->packed, .compute = packing->compute};

    visit_linears(weights, config, measure_blocks, &plan);
    plan.has_blocks =
        packing->compute != ATTN_COMPUTE_F32 && plan.size_of_blocks <= packing->most_of_blocks;
    visit_linears(weights, config, plan_linear, &plan);
    ATTN_TRY(attn_arena_allocate(&weights->packed, err));
    visit_linears(weights, config, plan_linear, &plan);
    /* The largest first: while it is packed, its pages are in memory, but little else is. */
    pack_linears(weights->linears, ATTN_MODEL_N_LINEAR, st, packing->pool);
    for (size_t layer = 0; layer < config->n_layer; layer++)
        if (attn_weights_are_shared(config, layer))
            weights->blocks[layer] = weights->blocks[layer - 1];
        else
            pack_linears(weights->blocks[layer].linears, ATTN_BLOCK_N_LINEAR, st, packing->pool);
    weights->is_reused = true;
    return ATTN_OK;
}

double attn_weights_work_of_block(const struct attn_weights *weights)
{
    double work = 0;

    for (size_t i = 0; i < ATTN_BLOCK_N_LINEAR; i++) {
        const struct attn_matrix *weight = &weights->blocks[0].linears[i].weight;

        if (weight->data)
            work += (double)weight->n_row * (double)weight->n_col;
    }
    return work;
}

void attn_weights_release(struct attn_weights *weights)
{
    attn_free(weights->blocks);
    attn_arena_release(&weights->packed);
    *weights = (struct attn_weights){0};
}

/* --- names that a file has -------------------------------------------------------------------- */

/* Whether NAME is PREFIX + SPELLING of a rule; *layer is its layer, or ATTN_NO_LAYER. */
static bool is_spelled(const char *spelling, const char *prefix, const char *name, int *layer)
{
    const char *pattern = spelling[0] == '/' ? spelling + 1 : spelling;
    const size_t size = strcspn(pattern, "|"), before = strcspn(pattern, "#|");
    const size_t n_prefix = strlen(prefix);
    int used = 0, value;

    *layer = ATTN_NO_LAYER;
    if (spelling[0] != '/') {
        if (strncmp(name, prefix, n_prefix) != 0)
            return false;
        name += n_prefix;
    }
    if (before == size)
        return strlen(name) == size && strncmp(name, pattern, size) == 0;
    if (strncmp(name, pattern, before) != 0)
        return false;
    name += before;
    if (sscanf(name, "%5d%n", &value, &used) != 1 || used == 0 || value < 0)
        return false;
    *layer = value;
    name += used;
    return strlen(name) == size - before - 1 &&
           strncmp(name, pattern + before + 1, strlen(name)) == 0;
}

static bool is_named(const struct attn_weight_rule *rule, const char *prefix, const char *name,
                     int *layer)
{
    const char *spelling = rule->name;

    while (spelling && !is_spelled(spelling, prefix, name, layer))
        spelling = next_spelling(spelling);
    return spelling;
}

/* The rule that names the tensor NAME, or NULL. */
static const struct attn_weight_rule *find_rule(const struct attn_family *family, const char *name,
                                                int *layer)
{
    for (size_t i = 0; i < family->n_rule; i++)
        if (is_named(&family->rules[i], "", name, layer) ||
            (family->prefix && is_named(&family->rules[i], family->prefix, name, layer)))
            return &family->rules[i];
    return NULL;
}

bool attn_weights_know(const struct attn_family *naming, const char *name)
{
    const struct attn_family *other =
        naming->other_tower ? attn_family_find(naming->other_tower) : NULL;
    int layer;

    return find_rule(naming, name, &layer) || (other && find_rule(other, name, &layer));
}

enum attn_status attn_weights_check_unused(const struct attn_family *naming,
                                           const struct attn_config *config,
                                           const struct attn_tensor_files *st,
                                           struct attn_error *err)
{
    static const char *const others[] = {"cls.", "dense_", "v.", "mm."}; /* heads; images */
    const bool is_fused = attn_tensor_files_find(st, "blk.0.attn_qkv.weight", NULL);

    for (size_t i = 0; i < attn_tensor_files_count(st); i++) {
        const struct attn_tensor_entry entry = attn_tensor_files_entry(st, i);
        int layer;
        const struct attn_weight_rule *rule = find_rule(naming, entry.name, &layer);
        bool is_expected =
            rule && (layer == ATTN_NO_LAYER || (size_t)layer < config->n_layer) &&
            (rule->part == ATTN_PART_IGNORED || find_need(rule->part, config, layer) != NOT_NEEDED);

        if (rule && (rule->part == ATTN_PART_PROJECTIONS || rule->part == ATTN_PART_QKV_BIAS))
            is_expected = is_expected && is_of_all(rule->kind) == is_fused;
        for (size_t j = 0; j < sizeof others / sizeof *others; j++)
            is_expected = is_expected || strncmp(entry.name, others[j], strlen(others[j])) == 0;
        if (is_expected)
            continue;
        attn_error_set(err, ATTN_UNSUPPORTED,
                       "tensor '%s' in '%s' is of a part that models of type '%s' do not have here",
                       attn_quote_string(entry.name).text,
                       attn_quote_string(attn_tensor_files_path(st, entry.shard)).text,
                       config->model_type);
        if (strlen(entry.name) > 5 && strcmp(entry.name + strlen(entry.name) - 5, "scale") == 0)
            attn_error_hint(err, "factors of NVFP4 are not multiplied in; take a file of another "
                                 "quantization of this model, as Q4_K_M or Q8_0");
        return ATTN_UNSUPPORTED;
    }
    return ATTN_OK;
}

enum attn_status attn_weights_find_non_finite(const struct attn_family *naming,
                                              const struct attn_tensor_files *st, int layer,
                                              struct attn_error *err)
{
    for (size_t i = 0; i < attn_tensor_files_count(st); i++) {
        const struct attn_tensor_entry entry = attn_tensor_files_entry(st, i);
        int at;
        const struct attn_weight_rule *rule = find_rule(naming, entry.name, &at);
        struct attn_non_finite found;

        if (!rule || rule->part == ATTN_PART_IGNORED || rule->part == ATTN_PART_TASK ||
            at != layer || !is_readable(naming, entry.tensor.dtype))
            continue;
        found = attn_tensor_find_non_finite(&entry.tensor);
        if (found.n_nan + found.n_infinite > 0)
            return attn_error_set(err, ATTN_FORMAT,
                                  "'%s' in '%s' holds %g at element %zu, expected finite values",
                                  attn_quote_string(entry.name).text,
                                  attn_quote_string(attn_tensor_files_path(st, entry.shard)).text,
                                  found.value, found.first);
    }
    return ATTN_OK;
}
