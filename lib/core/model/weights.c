/*
 * weights.c - binds tensors of a file to their places in the model, by the rules of a family.
 *
 * For each rule and layer: decides whether the tensor is needed, finds it by its name, checks its
 * type and shape, and stores it in the form that the rule gives.
 */
#include "model/weights.h"

#include "base/dtype_internal.h"
#include "base/elementary.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/os/thread.h"
#include "base/status_internal.h"
#include "base/text/fixed_text.h"
#include "model/elements.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

struct binder {
    struct attn_weights *weights;
    struct attn_config *config;
    const struct attn_tensor_files *st;
    const struct attn_family *family;
    const char *prefix; /* "" or the prefix of the family */
    bool skips_fixed;   /* spellings that never get a prefix are not looked for */
    bool is_fused;      /* q, k and v are one tensor, in a GGUF file */
    bool is_joined;     /* the gate and mlp_in are one tensor, in a GGUF file */
    bool is_turned;     /* matrices of all experts in one tensor are [in, out] */
    int layer;          /* the layer that is being bound */
    struct attn_error *err;
};

/* Returns the family of a config, or of its encoder. */
static const struct attn_family *family_of(const struct attn_config *config)
{
    const struct attn_family *family = attn_family_find(config->model_type);

    assert(family);
    return config->is_encoder && family->encoder ? family->encoder : family;
}

/* Characters that stand for the number of a layer in the name of a rule (family.h). */
static const char layer_signs[] = "#<>", ends[] = "#<>|";

static bool is_in_layer(const struct attn_weight_rule *rule)
{
    return strpbrk(rule->name, layer_signs);
}

/* Returns the next alternative after SPELLING in the name of a rule, or NULL. */
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
    const int size = (int)strcspn(pattern, "|"), before = (int)strcspn(pattern, ends);

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
    return layer > 0 && config->n_group > 0 &&
           attn_config_weights_layer(config, layer) == attn_config_weights_layer(config, layer - 1);
}

/* Whether RULE applies to LAYER, given its marks for the first or second layer of a pair. */
static bool is_of_layer(const struct attn_weight_rule *rule, const struct attn_config *config,
                        int layer)
{
    const bool is_first = strchr(rule->name, '<'), is_second = strchr(rule->name, '>');

    return !(is_first || is_second) || config->is_cross[layer] == is_second;
}

/* The letters of shapes (family.h). The first 9 are 0 in models with attention in each layer. */
/* clang-format off */
#define DIMENSION_MAP(X) \
    X('q', d_mixer_in) X('a', attn_mixer_d_conv(mixer)) X('d', mixer->n_tap) X('g', mixer->n_head) \
    X('v', mixer->d_value) X('l', d_mixer) X('u', 2 * mixer->n_head) X('p', d_mixer_in + d_mixer) \
    X('i', d_mixer_in + d_mixer + mixer->n_head) \
    X('I', attn_image_n_placed(&config->image) + attn_image_n_patch(&config->image)) \
    X('R', config->image.n_register) X('C', config->image.n_channel) X('i', config->image.n_frame) \
    X('h', config->image.patch_height) X('w', config->image.patch_width) \
    X('k', config->vision.merge * config->vision.merge * config->d_model) \
    X('o', config->vision.d_feature) X('*', config->n_layer) X('^', config->n_value_gate) \
    X('~', config->n_stream_gate) X('V', config->n_token) X('Y', config->n_vocab) \
    X('D', config->d_model) X('O', config->d_out) X('P', config->first_position + config->n_ctx) \
    X('B', config->d_embed) X('T', config->n_type) X('b', config->stack.n_bucket) \
    X('p', config->places.n) X('v', config->places.n_conv) \
    X('=', config->d_model / (config->places.n_conv > 0 ? config->places.n_conv_group : 1)) \
    X('m', config->stack.n_mel) X('3', 3) X('J', 2 * own.d_mlp) X('M', config->d_projected) \
    X('H', config->n_head) X('G', own.n_kv_head) X('E', own.d_head) X('U', d_value) \
    X('F', own.d_mlp) X('Q', d_q) X('K', d_k) X('W', d_v) X('Z', config->n_head * d_value) \
    X('N', config->n_source) X('X', config->d_source) \
    X('S', config->is_cross[layer] ? config->d_source : config->d_model) X('A', d_q + d_k + d_v) \
    X('n', config->n_expert) X('f', config->d_expert) X('&', attn_config_d_routed(config)) \
    X('j', 2 * config->d_expert) X('s', config->d_shared_expert) \
    X('t', 2 * config->d_shared_expert) X('1', 1) X('c', config->n_layer * config->n_head) \
    X('e', config->d_head / 2) X('x', config->d_layer_input) \
    X('!', config->n_layer * config->d_layer_input) X('%', config->n_layer_token) \
    X('r', 2 * config->n_head * config->d_value) \
    X('L', attn_config_pools_wide(config) ? 2 * config->d_model : config->d_model)
/* clang-format on */
enum { N_OF_MIXER = 9 };

/* Returns the size that LETTER stands for in shapes of LAYER. */
static size_t dimension(char letter, const struct attn_config *config, int layer)
{
    static const struct attn_mixer_dims none = {.n_tap = 0};
    const struct attn_mixer_dims *mixer = config->mixer ? config->mixer : &none;
    const size_t d_mixer = mixer->n_head * mixer->d_value, d_mixer_in = attn_mixer_d_in(mixer);
    const struct attn_layer_dims own = attn_config_layer_dims(config, (size_t)layer);
    const size_t d_value = config->layer_dims ? own.d_head : config->d_value;
    const size_t d_q = config->n_head * own.d_head, d_k = own.n_kv_head * own.d_head;
    const size_t d_v = own.n_kv_head * d_value;
    const struct {
        char letter;
        size_t n;
    } sizes[] = {
#define DIMENSION_ROW(letter, n) {letter, n},
        DIMENSION_MAP(DIMENSION_ROW)
#undef DIMENSION_ROW
    };
    size_t i = 0;

    while (i + 1 < sizeof sizes / sizeof *sizes &&
           (sizes[i].letter != letter || (i < N_OF_MIXER && sizes[i].n == 0)))
        i++;
    return sizes[i].n;
}

enum need { NOT_NEEDED, NEEDED, USED_IF_FOUND, REFUSED };

static enum need find_need(enum attn_weight_part part, const struct attn_config *config, int layer)
{
    const bool has_positions =
        (config->positions == ATTN_POSITIONS_LEARNED && !config->stack.makes_positions) ||
        config->image.resample == ATTN_RESAMPLE_CORNERS || attn_config_turns_nothing(config);
    const bool has_source_positions = config->source_positions == ATTN_POSITIONS_LEARNED;
    const bool has_weights = !attn_config_lacks_norm_weights(config);
    const bool has_norm = config->norm != ATTN_NORM_NONE && has_weights;
    const bool has_final = config->has_final_norm && has_weights;
    const bool is_sum = has_norm && config->norm_place == ATTN_NORM_SUM;
    const bool is_pre = has_norm && config->norm_place != ATTN_NORM_POST && !is_sum;
    const bool is_post = has_norm && config->norm_place != ATTN_NORM_PRE && !is_sum;
    const bool is_bare = layer == 0 && config->begins_without_norm;
    const bool is_vocabulary = config->task == ATTN_TASK_VOCABULARY;
    const bool has_head = config->head_act_fn && is_vocabulary;
    const bool has_class_head = config->head_act_fn && !is_vocabulary;
    const bool has_experts =
        layer != ATTN_NO_LAYER && attn_config_has_experts(config, (size_t)layer);
    const bool is_mlp = layer != ATTN_NO_LAYER && config->is_mlp && config->is_mlp[layer];
    const bool has_mlp = config->d_mlp > 0 && !has_experts && (!config->is_mlp || is_mlp);
    const bool has_gate = has_mlp && config->has_gated_mlp;
    const bool is_mlp_pre = is_pre && config->d_mlp > 0 && !config->has_single_norm;
    const bool is_mlp_post = is_post && config->d_mlp > 0;
    const bool is_layer_norm =
        config->norm == ATTN_NORM_LAYERNORM || config->norm == ATTN_NORM_LAYERNORM_PLUS_ONE;
    const bool is_beside = layer != ATTN_NO_LAYER && attn_config_mixes_beside(config);
    const bool is_mixer =
        is_beside || (layer != ATTN_NO_LAYER && attn_config_is_mixer(config, (size_t)layer));
    const bool has_attention = (!is_mixer || is_beside) && !is_mlp;
    const bool shares_keys =
        layer != ATTN_NO_LAYER && attn_config_shares_keys(config, (size_t)layer);
    const bool has_values =
        has_attention && !shares_keys &&
        !(layer != ATTN_NO_LAYER && attn_config_has_keys_as_values(config, (size_t)layer));
    const bool has_plain = has_mlp && !has_gate;
    const bool has_own = config->output == ATTN_OUTPUT_OWN && is_vocabulary;
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

    return needs[rows[part].kind][rows[part].is_so];
}

/* Whether the kernels can convert DTYPE. */
static bool is_readable(const struct attn_family *naming, enum attn_dtype dtype)
{
    return dtype == ATTN_DTYPE_F32 || dtype == ATTN_DTYPE_F16 || dtype == ATTN_DTYPE_BF16 ||
           dtype == ATTN_DTYPE_F64 || (naming->dialect && attn_dtype_block(dtype) > 1);
}

/* Returns the shape of RULE. For y and z, it is the shape of the norm of q or k, which depends on
 * qk_norm. */
static const char *shape_of(const struct attn_weight_rule *rule, const struct attn_config *config)
{
    const bool is_k = rule->shape[0] == 'z';

    if (!is_k && rule->shape[0] != 'y')
        return rule->shape;
    if (config->qk_norm == ATTN_QK_NORM_ALL_HEADS)
        return is_k ? "K" : "Q";
    return config->qk_norm != ATTN_QK_NORM_EACH_HEAD ? "E" : is_k ? "GE" : "HE";
}

static enum attn_status check_tensor(const struct binder *binder,
                                     const struct attn_weight_rule *rule,
                                     const struct attn_tensor_entry *entry)
{
    const struct attn_tensor *tensor = &entry->tensor;
    const char *whole = shape_of(rule, binder->config);
    const char *shape = tensor->rank == 1 && strcmp(whole, "1D") == 0 ? "D" : whole; /* for GGUF */
    const size_t rank = strlen(shape);
    size_t expected[ATTN_WEIGHT_MAX_RANK];
    char found[ATTN_SHAPE_TEXT_SIZE], wanted[ATTN_SHAPE_TEXT_SIZE];
    /* A vector may have further dimensions in GGUF files. */
    const bool is_flat = binder->family->dialect && rank == 1 && rule->kind == ATTN_WEIGHT_VECTOR &&
                         tensor->rank > 1;
    bool is_same = is_flat || tensor->rank == (int)rank;

    if (!is_readable(binder->family, tensor->dtype))
        return attn_refuse_in(
            binder->err, ATTN_UNSUPPORTED, attn_tensor_files_path(binder->st, entry->shard),
            entry->name, "has type %s, expected F32, F16, BF16 or F64%s",
            attn_dtype_name(tensor->dtype), binder->family->dialect ? ", or a type of blocks" : "");
    for (size_t i = 0; i < rank; i++) {
        expected[i] = dimension(shape[i], binder->config, binder->layer);
        is_same =
            is_same && (is_flat ? attn_tensor_n_element(tensor) : tensor->shape[i]) == expected[i];
    }
    if (is_same)
        return ATTN_OK;
    return attn_refuse_in(
        binder->err, ATTN_FORMAT, attn_tensor_files_path(binder->st, entry->shard), entry->name,
        "has shape %s, expected %s", attn_shape_text(tensor->rank, tensor->shape, found),
        attn_shape_text((int)rank, expected, wanted));
}

/* Returns elements first to first+n-1 of a tensor, in file order, as a vector. */
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
    size_t n_in = tensor->rank > 1 ? shape[1] : shape[0];

    if (kind == ATTN_WEIGHT_HEADS) {
        m.n_row = shape[1];
        m.n_col = shape[0] * shape[2];
        m.group = m.row_stride = shape[2];
        m.group_stride = shape[1] * shape[2];
    } else if (kind == ATTN_WEIGHT_OUT_IN) {
        /* A convolution over patches also has sizes for channel, row and column. */
        for (int i = 2; i < tensor->rank; i++)
            n_in *= shape[i];
        m.n_row = m.col_stride = n_in;
        /* A vector is a matrix with one column. */
        m.n_col = m.group = tensor->rank > 1 ? shape[0] : 1;
        m.row_stride = 1;
    } else {
        m.n_row = tensor->rank == 3 ? shape[0] * shape[1] : shape[0];
        m.n_col = m.group = m.row_stride = shape[tensor->rank - 1];
    }
    return m;
}

/* The maps of a joined tensor, in their order, and the groups of equal size in which its outputs
 * are; each group has a share of every map. */
struct joined {
    struct {
        struct attn_linear *map;
        size_t n_out;
    } parts[3];
    size_t n_part, n_group;
};

static struct joined joined_of(struct attn_block_weights *block, const struct attn_config *config,
                               const struct attn_weight_rule *rule, size_t n_out)
{
    struct attn_expert *shared = rule->part == ATTN_PART_SHARED_EXPERT ? &block->shared : NULL;
    struct attn_linear *const gate = shared ? &shared->gate : &block->mlp_gate;
    struct attn_linear *const in = shared ? &shared->in : &block->mlp_in;
    const struct attn_mixer_dims *mixer = config->mixer;
    const size_t n_q = config->n_head * config->d_head, n_k = config->n_kv_head * config->d_head;
    const size_t n_v = config->n_kv_head * config->d_value;
    const size_t n_in = mixer ? attn_mixer_d_in(mixer) : 0, n_mixer = mixer ? mixer->n_head : 0;

    switch (rule->kind) {
    case ATTN_WEIGHT_QVK_QUARTERS:
        return (struct joined){{{&block->q, n_q}, {&block->v, n_v}, {&block->k, n_k}}, 3, 4};
    case ATTN_WEIGHT_QUERY_GATE_HEADS:
        return (struct joined){
            {{&block->q, n_q}, {&block->attn_gate, n_out / 2}}, 2, config->n_head};
    case ATTN_WEIGHT_MAMBA_ROWS:
        return (struct joined){{{&block->mixer_gate, n_out - n_in - n_mixer},
                                {&block->mixer_in, n_in},
                                {&block->mixer_decay, n_mixer}},
                               3,
                               1};
    case ATTN_WEIGHT_DELTA_HEADS:
        return (struct joined){
            {{&block->mixer_in, n_in}, {&block->mixer_gate, n_out - n_in}}, 2, mixer->n_key_head};
    case ATTN_WEIGHT_FACTOR_HEADS:
        return (struct joined){
            {{&block->mixer_beta, n_mixer}, {&block->mixer_decay, n_mixer}}, 2, mixer->n_key_head};
    case ATTN_WEIGHT_ALTERNATE_MATRIX:
    case ATTN_WEIGHT_ALTERNATE_ROWS:
        return (struct joined){{{gate, n_out / 2}, {in, n_out / 2}}, 2, n_out / 2};
    case ATTN_WEIGHT_GATED_ROWS:
    case ATTN_WEIGHT_GATED_MATRIX:
        return (struct joined){{{gate, n_out / 2}, {in, n_out / 2}}, 2, 1};
    default:
        return (struct joined){{{&block->q, n_q}, {&block->k, n_k}, {&block->v, n_v}},
                               3,
                               rule->kind == ATTN_WEIGHT_QKV_HEADS ? config->n_kv_head : 1};
    }
}

/* Stores a tensor of the weights of several maps: a matrix [in, out] or [out, in], or their biases
 * [out]. */
static void store_joined(struct attn_block_weights *block, const struct attn_config *config,
                         const struct attn_weight_rule *rule, const struct attn_tensor *tensor)
{
    const enum attn_weight_kind kind = rule->kind;
    const bool is_vector = tensor->rank == 1;
    const bool is_columns =
        !is_vector && (kind == ATTN_WEIGHT_QKV_MATRIX || kind == ATTN_WEIGHT_ALTERNATE_MATRIX ||
                       kind == ATTN_WEIGHT_GATED_MATRIX);
    const bool is_rows = !is_vector && !is_columns;
    const bool alternates =
        kind == ATTN_WEIGHT_ALTERNATE_MATRIX || kind == ATTN_WEIGHT_ALTERNATE_ROWS;
    const size_t n_out = tensor->shape[is_columns], n_in = is_rows ? tensor->shape[1] : 1;
    const struct joined joined = joined_of(block, config, rule, n_out);
    const size_t stride = joined.n_group == 1 ? 0 : n_out / joined.n_group;
    size_t first = 0;

    for (size_t i = 0; i < joined.n_part; i++) {
        struct attn_linear *map = joined.parts[i].map;
        const size_t n = joined.parts[i].n_out, share = n / joined.n_group;
        struct attn_vector slice = vector_of(tensor, first * n_in, n);

        slice.group = share;
        slice.group_stride = stride;
        if (is_vector)
            map->bias = slice;
        else
            map->weight = (struct attn_matrix){.data = slice.data,
                                               .dtype = tensor->dtype,
                                               .n_row = is_rows ? n_in : tensor->shape[0],
                                               .n_col = n,
                                               .row_stride = is_rows ? 1 : tensor->shape[1],
                                               .col_stride = alternates ? stride * n_in : n_in,
                                               .group = alternates ? n : share,
                                               .group_stride = alternates ? 0 : stride * n_in};
        first += share;
    }
}

static void store(const struct binder *binder, const struct attn_weight_rule *rule,
                  const struct attn_tensor *tensor)
{
    struct attn_block_weights *block = &binder->weights->blocks[binder->layer];
    char *place = (is_in_layer(rule) ? (char *)block : (char *)binder->weights) + rule->offset;
    size_t n = 1;

    switch (rule->kind) {
    case ATTN_WEIGHT_TENSOR:
        memcpy(place, tensor, sizeof *tensor);
        break;
    case ATTN_WEIGHT_VECTOR_OF_HEADS: /* stored by make_vector */
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
    default:
        store_joined(block, binder->config, rule, tensor);
        break;
    }
}

/* Finds the tensor of RULE under any of its spellings. NAME receives the spelling that was found,
 * or the first one. */
static bool find_tensor(const struct binder *binder, const struct attn_weight_rule *rule,
                        char name[ATTN_WEIGHT_NAME_SIZE], struct attn_tensor_entry *entry)
{
    const char *spelling = rule->name;
    const int layer = (int)attn_config_weights_layer(binder->config, (size_t)binder->layer);

    do {
        write_name(name, binder->prefix, spelling, layer);
        if (!(binder->skips_fixed && spelling[0] == '/') &&
            attn_tensor_files_find(binder->st, name, entry))
            return true;
        spelling = next_spelling(spelling);
    } while (spelling);
    write_name(name, binder->prefix, rule->name, layer);
    return false;
}

static enum attn_status refuse_missing(const struct binder *binder, const char *name)
{
    return attn_error_set(binder->err, ATTN_FORMAT, "'%s' is missing in '%s'", name,
                          attn_quote_string(attn_tensor_files_path(binder->st, 0)).text);
}

/* Finds a tied output matrix, which may be the only copy of the embedding in a file. */
static bool find_tied_output(const struct binder *binder, struct attn_tensor_entry *entry)
{
    const struct attn_family *family = binder->family;
    char name[ATTN_WEIGHT_NAME_SIZE];

    for (size_t i = 0; i < family->n_rule && binder->config->output == ATTN_OUTPUT_TIED; i++)
        if (family->rules[i].part == ATTN_PART_OUTPUT_FOUND &&
            find_tensor(binder, &family->rules[i], name, entry))
            return true;
    return false;
}

/* --- Computed weights ------------------------------------------------------------------------- */

/* Allocates memory for weights that are not used as the file has them: ones for norms without
 * weights, joined norms of single heads, sinks of all layers, the norm of embedding rows, and the
 * output matrix of a model whose outputs are the stream. */
static enum attn_status allocate_made(struct attn_weights *weights,
                                      const struct attn_config *config, struct attn_error *err)
{
    const size_t d = attn_config_lacks_norm_weights(config) ? config->d_model : 0;
    const size_t n_head = config->n_layer * config->n_head,
                 n_kv = config->n_layer * config->n_kv_head;
    const size_t n_norm = config->qk_norm == ATTN_QK_NORM_EACH_HEAD ? n_head + n_kv : 0;
    const size_t n_sink = config->has_sinks ? n_head : 0;
    const struct attn_mixer_dims *mixer = config->mixer;
    const size_t d_mixer = mixer ? attn_size_mul(2 * mixer->n_tap + 1, attn_mixer_d_conv(mixer)) +
                                       mixer->n_head * (mixer->d_value + 3)
                                 : 0;
    const size_t n_mixer = attn_config_n_layer_of(config, true, config->n_layer);
    const size_t d_row = config->embeds_normed ? 2 * config->d_embed : 0;
    const size_t n_identity =
        config->output == ATTN_OUTPUT_STREAM ? config->d_model * config->d_model : 0;
    const size_t n_two = config->pooling == ATTN_POOLING_FIRST_TWO ? config->n_vocab : 0;

    ATTN_TRY(ATTN_NEW(weights->made,
                      attn_alloc((config->qk_scale > 0 ? config->d_head : 0) + d +
                                     attn_size_mul(n_norm, config->d_head) + n_sink + d_row +
                                     n_identity + attn_size_mul(n_mixer, d_mixer) +
                                     attn_size_mul(n_two, 2 * config->d_model + 1),
                                 sizeof(float), err)));
    for (; weights->n_made < d; weights->n_made++)
        weights->made[weights->n_made] = 1;
    return ATTN_OK;
}

static struct attn_vector made_vector(const float *values, size_t n)
{
    return (struct attn_vector){.data = values, .dtype = ATTN_DTYPE_F32, .n = n, .group = n};
}

/* Gives all norms that CONFIG has the weights 1, if norms have no weights in files. */
static void make_ones(struct attn_weights *weights, const struct attn_config *config)
{
    const struct attn_norm_weights ones = {.w = made_vector(weights->made, config->d_model)};
    const bool is_sum = config->norm_place == ATTN_NORM_SUM;

    if (!attn_config_lacks_norm_weights(config))
        return;
    for (size_t i = 0; i < config->d_head && config->qk_scale > 0; i++)
        weights->made[weights->n_made + i] = (float)config->qk_scale;
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        struct attn_block_weights *block = &weights->blocks[layer];

        *(is_sum ? &block->mid_norm : &block->ln1) = ones;
        *(is_sum ? &block->end_norm : &block->ln2) = ones;
        if (config->qk_norm == ATTN_QK_NORM_PER_HEAD)
            block->q_norm.w = block->k_norm.w = made_vector(
                weights->made + (config->qk_scale > 0 ? weights->n_made : 0), config->d_head);
    }
    weights->n_made += config->qk_scale > 0 ? config->d_head : 0;
    if (config->has_final_norm)
        weights->ln_final = ones;
    if (config->has_embed_norm)
        weights->ln_embed = ones;
}

/* Makes one classifier of the two of DeiT, which reads both rows, of half their weights: the mean
 * of their logits. WEIGHTS has the first, and the second in `head`. */
static void join_classifiers(struct attn_weights *weights, const struct attn_config *config)
{
    const struct attn_linear two[] = {weights->unembed, weights->head};
    const size_t n = config->n_vocab, d = config->d_model;
    float *values = weights->made + weights->n_made, *biases = values + 2 * n * d;
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);

    if (config->pooling != ATTN_POOLING_FIRST_TWO || !two[0].weight.data || !two[1].weight.data)
        return;
    for (size_t i = 0; i < n; i++) {
        double sum = 0;

        for (size_t k = 0; k < 2; k++) {
            const struct attn_matrix *map = &two[k].weight;
            double bias;

            kernels->convert((const char *)map->data + i * attn_dtype_n_byte(map->dtype, d),
                             map->dtype, d, values + (2 * i + k) * d);
            attn_vector_elements(&two[k].bias, i, 1, &bias);
            sum += bias;
        }
        biases[i] = (float)(sum / 2);
    }
    kernels->scale(values, 0.5F, 2 * n * d, values);
    weights->n_made += n * (2 * d + 1);
    weights->head = (struct attn_linear){.packed = NULL};
    weights->unembed.bias = made_vector(biases, n);
    weights->unembed.weight = (struct attn_matrix){.data = values,
                                                   .dtype = ATTN_DTYPE_F32,
                                                   .n_row = 2 * d,
                                                   .n_col = n,
                                                   .col_stride = 2 * d,
                                                   .row_stride = 1,
                                                   .group = n};
}

/* Finds tensor number NUMBER of RULE, whose name has "@" for the number, and checks its shape. */
static enum attn_status find_numbered(const struct binder *binder,
                                      const struct attn_weight_rule *rule, size_t number,
                                      struct attn_tensor_entry *entry)
{
    struct attn_weight_rule one = *rule;
    char names[2 * ATTN_WEIGHT_NAME_SIZE], name[ATTN_WEIGHT_NAME_SIZE];
    size_t used = 0;

    for (const char *c = rule->name; *c; c++)
        attn_fixed_text_append(names, sizeof names, &used, *c == '@' ? "%.0s%zu" : "%.1s", c,
                               number);
    one.name = names;
    if (rule->kind == ATTN_WEIGHT_VECTOR_OF_HEADS)
        one.shape++; /* skips the number of heads */
    if (!find_tensor(binder, &one, name, entry))
        return refuse_missing(binder, name);
    return check_tensor(binder, &one, entry);
}

/* Joins the tensors of RULE, one for each head, in `made`. */
static enum attn_status make_vector(const struct binder *binder,
                                    const struct attn_weight_rule *rule)
{
    const size_t n_head = dimension(rule->shape[0], binder->config, binder->layer);
    const size_t n = binder->config->d_head;
    struct attn_weights *weights = binder->weights;
    struct attn_tensor_entry entry;
    float *values = weights->made + weights->n_made;

    for (size_t head = 0; head < n_head; head++) {
        ATTN_TRY(find_numbered(binder, rule, head, &entry));
        attn_kernels_find(ATTN_ISA_BEST)
            ->convert(entry.tensor.data, entry.tensor.dtype, n, values + head * n);
    }
    weights->n_made += n_head * n;
    *(struct attn_vector *)(void *)((char *)&weights->blocks[binder->layer] + rule->offset) =
        made_vector(values, n_head * n);
    return ATTN_OK;
}

/* Joins the tensors of RULE, one for each frame of a picture, to one map. */
static enum attn_status make_frames(const struct binder *binder,
                                    const struct attn_weight_rule *rule)
{
    const struct attn_image_config *image = &binder->config->image;
    const size_t n = image->patch_height * image->patch_width, n_frame = image->n_frame;
    const size_t n_row = binder->config->d_model * image->n_channel;
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);
    struct attn_weights *weights = binder->weights;
    struct attn_tensor joined = {.dtype = ATTN_DTYPE_F32, .rank = 3};
    float *values = NULL;

    for (size_t frame = 0; frame < n_frame; frame++) {
        char name[ATTN_WEIGHT_NAME_SIZE + 8];
        struct attn_tensor_entry entry;

        snprintf(name, sizeof name, frame == 0 ? "%s" : "%s.%zu", rule->name, frame);
        if (!attn_tensor_files_find(binder->st, name, &entry))
            return refuse_missing(binder, name);
        ATTN_TRY(check_tensor(binder, rule, &entry));
        if (!values) {
            ATTN_TRY(ATTN_GROW(weights->changed, weights->changed_capacity, weights->n_changed + 1,
                               binder->err));
            ATTN_TRY(ATTN_NEW(
                values,
                attn_alloc_uninitialized(
                    n_row, attn_size_mul(n, attn_size_mul(n_frame, sizeof *values)), binder->err)));
            weights->changed[weights->n_changed++] = values;
        }
        for (size_t row = 0; row < n_row; row++) {
            const struct attn_vector from = vector_of(&entry.tensor, row * n, n);

            kernels->convert(from.data, from.dtype, n, values + (row * n_frame + frame) * n);
        }
    }
    joined.data = values;
    joined.shape[0] = binder->config->d_model;
    joined.shape[1] = image->n_channel;
    joined.shape[2] = n_frame * n;
    *(struct attn_matrix *)(void *)((char *)weights + rule->offset) =
        matrix_of(&joined, ATTN_WEIGHT_OUT_IN);
    return ATTN_OK;
}

/* Stores the convolution TENSOR [D, D / groups, taps] as a map of all components: those of other
 * groups have weights of 0. */
static enum attn_status make_groups(const struct binder *binder, const struct attn_tensor *tensor)
{
    const size_t n_group = binder->config->places.n_conv_group, n_row = tensor->shape[0];
    const size_t n = tensor->shape[1] * tensor->shape[2];
    struct attn_weights *weights = binder->weights;
    struct attn_tensor whole = *tensor;
    float *values;

    ATTN_TRY(ATTN_GROW(weights->changed, weights->changed_capacity, weights->n_changed + 1,
                       binder->err));
    ATTN_TRY(ATTN_NEW(values,
                      attn_alloc(n_row, attn_size_mul(n_group * n, sizeof *values), binder->err)));
    weights->changed[weights->n_changed++] = values;
    for (size_t row = 0; row < n_row; row++) {
        const struct attn_vector from = vector_of(tensor, row * n, n);

        attn_kernels_find(ATTN_ISA_BEST)
            ->convert(from.data, from.dtype, n,
                      values + (row * n_group + row / (n_row / n_group)) * n);
    }
    whole.data = values;
    whole.dtype = ATTN_DTYPE_F32;
    whole.shape[1] *= n_group;
    weights->conv.weight = matrix_of(&whole, ATTN_WEIGHT_OUT_IN);
    return ATTN_OK;
}

/* Whether RULE does not apply because BINDER's GGUF file uses the other form: one tensor for
 * several maps, or one tensor for each map. */
static bool is_of_other_form(const struct binder *binder, const struct attn_weight_rule *rule)
{
    const bool is_up = rule->part == ATTN_PART_MLP &&
                       rule->offset == offsetof(struct attn_block_weights, mlp_in.weight);

    if (rule->part == ATTN_PART_PROJECTIONS || rule->part == ATTN_PART_QKV_BIAS)
        return (rule->kind == ATTN_WEIGHT_QKV_ROWS) != binder->is_fused;
    return (rule->part == ATTN_PART_MLP_GATE || (is_up && binder->config->has_gated_mlp)) &&
           (rule->kind == ATTN_WEIGHT_GATED_ROWS) != binder->is_joined;
}

/* Stores a tensor of expert NUMBER of LAYER. It is stored like that of an MLP, which is then copied
 * to the expert. */
static void store_expert(const struct binder *binder, const struct attn_weight_rule *rule,
                         size_t number, const struct attn_tensor *tensor)
{
    struct attn_block_weights *block = &binder->weights->blocks[binder->layer];
    struct attn_expert *mlp = (struct attn_expert *)(void *)&block->mlp_gate;

    *mlp = block->experts[number];
    store(binder, rule, tensor);
    block->experts[number] = *mlp;
    *mlp = (struct attn_expert){0};
}

/* Stores TENSOR, which contains one map of all experts. */
static void store_experts(const struct binder *binder, const struct attn_weight_rule *rule,
                          const struct attn_tensor *tensor)
{
    struct attn_tensor one = *tensor;
    size_t n = 1;

    one.rank--;
    for (int i = 0; i < one.rank; i++)
        n *= one.shape[i] = tensor->shape[i + 1];
    for (size_t e = 0; e < tensor->shape[0]; e++) {
        one.data = vector_of(tensor, e * n, n).data;
        store_expert(binder, rule, e, &one);
    }
}

static enum attn_status create_lazy(struct attn_block_weights *block, size_t n_expert,
                                    struct attn_error *err)
{
    ATTN_TRY(ATTN_NEW(
        block->lazy,
        attn_alloc(1, sizeof *block->lazy + n_expert * sizeof *block->lazy->is_made, err)));
    block->lazy->n_expert = n_expert;
    return attn_monitor_create(1, &block->lazy->monitor, err);
}

static bool are_bytes(const struct attn_tensor *tensor, const size_t *shape, int rank)
{
    return tensor->dtype == ATTN_DTYPE_U8 && tensor->rank == rank &&
           memcmp(tensor->shape, shape, (size_t)rank * sizeof *shape) == 0;
}

/* Binds blocks of MXFP4 and their scales, bytes [N, out, in / 32, 16] and [N, out, in / 32]. When
 * an expert is first used, they are converted to GGUF's blocks: the scale, and then bytes that hold
 * value i and value 16 + i. */
static enum attn_status bind_mxfp4(const struct binder *binder, const struct attn_weight_rule *rule,
                                   const struct attn_tensor_entry *blocks,
                                   const struct attn_tensor_entry *scales)
{
    const size_t n = dimension('n', binder->config, binder->layer);
    const size_t n_in = dimension(rule->shape[1], binder->config, binder->layer);
    const size_t n_out = dimension(rule->shape[2], binder->config, binder->layer);
    const size_t shape[] = {n, n_out, n_in / 32, 16};
    struct attn_tensor made = {.dtype = ATTN_DTYPE_MXFP4, .rank = 3, .shape = {n, n_out, n_in}};
    struct attn_weight_rule own = *rule;
    struct attn_block_weights *block = &binder->weights->blocks[binder->layer];
    const size_t m = rule->offset != 0, n_block = attn_size_mul(n_out, n_in / 32);

    if (n_in % 32 != 0 || !are_bytes(&blocks->tensor, shape, 4) ||
        !are_bytes(&scales->tensor, shape, 3))
        return attn_refuse_in(binder->err, ATTN_FORMAT, attn_tensor_files_path(binder->st, 0),
                              blocks->name, "and its scales are not bytes [%zu, %zu, %zu, 16]", n,
                              n_out, n_in / 32);
    if (!block->lazy)
        ATTN_TRY(create_lazy(block, n, binder->err));
    block->lazy->mxfp4[m].blocks = blocks->tensor.data;
    block->lazy->mxfp4[m].scales = scales->tensor.data;
    block->lazy->mxfp4[m].n = n_block;
    ATTN_TRY(ATTN_NEW(block->lazy->mxfp4[m].made,
                      attn_alloc_uninitialized(n, attn_size_mul(n_block, 17), binder->err)));
    made.data = block->lazy->mxfp4[m].made;
    own.kind = rule->offset == 0 ? ATTN_WEIGHT_ALTERNATE_ROWS : ATTN_WEIGHT_OUT_IN;
    store_experts(binder, &own, &made);
    return ATTN_OK;
}

/* Binds a map with one tensor for each expert, unless one tensor for all experts was found. */
static enum attn_status bind_experts(const struct binder *binder,
                                     const struct attn_weight_rule *rule)
{
    const char *experts = (const char *)binder->weights->blocks[binder->layer].experts;
    const size_t offset = rule->offset - offsetof(struct attn_block_weights, mlp_gate);
    const struct attn_matrix *of_first = (const void *)(experts + offset);
    struct attn_tensor_entry entry;

    for (size_t e = 0; e < binder->config->n_expert && (e > 0 || !of_first->data); e++) {
        ATTN_TRY(find_numbered(binder, rule, e, &entry));
        store_expert(binder, rule, e, &entry.tensor);
    }
    return ATTN_OK;
}

/* Binds a tensor of each connector of DeepStack. GGUF files number them by the layers of the tower.
 */
static enum attn_status bind_deep(const struct binder *binder, const struct attn_weight_rule *rule)
{
    const struct attn_vision_config *vision = &binder->config->vision;
    struct attn_weight_rule one = *rule;
    struct attn_tensor_entry entry;

    for (size_t i = 0; i < vision->n_deep; i++) {
        const size_t number = binder->family->dialect ? vision->deep[i] : vision->deep_numbers[i];

        ATTN_TRY(find_numbered(binder, rule, number, &entry));
        one.offset = rule->offset + i * sizeof *binder->weights->deep;
        store(binder, &one, &entry.tensor);
    }
    return ATTN_OK;
}

/* Sets what CONFIG says about a tensor of PART that a file may lack, and that was found. */
static void note_found(enum attn_weight_part part, struct attn_config *config)
{
    if (part == ATTN_PART_MLP_BIAS_FOUND)
        config->has_mlp_bias = true;
    if (part == ATTN_PART_OUTPUT_BIAS_FOUND || part == ATTN_PART_LOGITS_BIAS_FOUND)
        config->has_output_bias = true;
    if (part == ATTN_PART_CONTACTS)
        config->has_contacts = true;
}

/* Whether the tensor of RULE is there in parts: q, k and v, or the gate and mlp_in. */
static bool is_apart(const struct binder *binder, const struct attn_weight_rule *rule)
{
    const struct attn_block_weights *block = &binder->weights->blocks[binder->layer];

    if (!is_in_layer(rule))
        return false;
    if (rule->kind == ATTN_WEIGHT_QKV_ROWS)
        return rule->part == ATTN_PART_QKV_BIAS
                   ? block->q.bias.data && block->k.bias.data && block->v.bias.data
                   : block->q.weight.data && block->k.weight.data && block->v.weight.data;
    if (rule->kind != ATTN_WEIGHT_GATED_ROWS)
        return false;
    return rule->part == ATTN_PART_MLP_GATE_BIAS
               ? block->mlp_gate.bias.data && block->mlp_in.bias.data
               : block->mlp_gate.weight.data && block->mlp_in.weight.data;
}

static enum attn_status bind_rule(const struct binder *binder, const struct attn_weight_rule *rule)
{
    const enum need need = find_need(rule->part, binder->config, binder->layer);
    struct attn_tensor_entry entry;
    const enum attn_weight_part part = rule->part;
    bool is_found;
    char name[ATTN_WEIGHT_NAME_SIZE];

    if (need == NOT_NEEDED || !is_of_layer(rule, binder->config, binder->layer) ||
        part == (binder->is_turned ? ATTN_PART_EXPERTS_FOUND : ATTN_PART_EXPERTS_TURNED) ||
        (binder->family->dialect && is_of_other_form(binder, rule)))
        return ATTN_OK;
    if (rule->kind == ATTN_WEIGHT_VECTOR_OF_HEADS)
        return make_vector(binder, rule);
    if (rule->kind == ATTN_WEIGHT_FRAMES)
        return make_frames(binder, rule);
    if (part == ATTN_PART_EXPERTS && strchr(rule->name, '@'))
        return bind_experts(binder, rule);
    if (part == ATTN_PART_DEEP)
        return bind_deep(binder, rule);
    is_found = find_tensor(binder, rule, name, &entry);
    if (part == ATTN_PART_EXPERTS && !is_found) {
        struct attn_tensor_entry scales;
        char blocks[ATTN_WEIGHT_NAME_SIZE + 8], its_scales[ATTN_WEIGHT_NAME_SIZE + 8];

        snprintf(blocks, sizeof blocks, "%s_blocks", name);
        snprintf(its_scales, sizeof its_scales, "%s_scales", name);
        if (attn_tensor_files_find(binder->st, blocks, &entry) &&
            attn_tensor_files_find(binder->st, its_scales, &scales))
            return bind_mxfp4(binder, rule, &entry, &scales);
    }
    if (need == REFUSED && is_found)
        return attn_error_set(
            binder->err, ATTN_FORMAT, "'%s' is in '%s', but %s", name,
            attn_quote_string(attn_tensor_files_path(binder->st, entry.shard)).text,
            binder->family->dialect ? "its architecture has no such bias"
                                    : "'config.json' says that the map has no bias");
    if (need == REFUSED)
        return ATTN_OK;
    if (!is_found && part == ATTN_PART_EMBEDDING)
        is_found = find_tied_output(binder, &entry);
    if (!is_found && (need == USED_IF_FOUND || is_apart(binder, rule)))
        return ATTN_OK;
    if (!is_found)
        return refuse_missing(binder, name);
    ATTN_TRY(check_tensor(binder, rule, &entry));
    if (part == ATTN_PART_OUTPUT_FOUND && entry.tensor.data != binder->weights->embed.data)
        binder->config->output = ATTN_OUTPUT_OWN;
    note_found(part, binder->config);
    if (part == ATTN_PART_CONVOLUTION && entry.tensor.rank == 3 &&
        binder->config->places.n_conv_group > 1)
        return make_groups(binder, &entry.tensor);
    if (part == ATTN_PART_EXPERTS || part == ATTN_PART_EXPERTS_FOUND ||
        part == ATTN_PART_EXPERTS_TURNED || part == ATTN_PART_EXPERT_BIASES)
        store_experts(binder, rule, &entry.tensor);
    else
        store(binder, rule, &entry.tensor);
    return ATTN_OK;
}

/* --- Needed tensors --------------------------------------------------------------------------- */

/* Fills SPEC for RULE. Returns false if a model of CONFIG does not need the tensor. */
static bool describe(const struct attn_config *config, bool with_biases,
                     const struct attn_weight_rule *rule, int layer, struct attn_weight_spec *spec)
{
    const char *prefix = family_of(config)->prefix;
    const bool is_bias =
        rule->part == ATTN_PART_MLP_BIAS_FOUND || rule->part == ATTN_PART_OUTPUT_BIAS_FOUND;
    const enum need need = find_need(rule->part, config, layer);
    const char *shape = shape_of(rule, config);

    if (!is_of_layer(rule, config, layer))
        return false;
    if (need != NEEDED && !(need == USED_IF_FOUND && is_bias && with_biases))
        return false;
    *spec = (struct attn_weight_spec){.rule = rule, .layer = layer, .rank = (int)strlen(shape)};
    write_name(spec->name, prefix ? prefix : "", rule->name,
               (int)attn_config_weights_layer(config, (size_t)layer));
    for (int i = 0; i < spec->rank; i++)
        spec->shape[i] = dimension(shape[i], config, layer);
    return true;
}

enum attn_status attn_weights_describe(const struct attn_config *config, bool with_biases,
                                       struct attn_weight_spec **specs, size_t *n,
                                       struct attn_error *err)
{
    const struct attn_family *family = family_of(config);
    const struct attn_weight_rule *rules = family->rules, *end = rules + family->n_rule;
    const struct attn_weight_rule
        *first = rules,
        *last; /* the first rule of a layer, and the first rule after them */
    struct attn_weight_spec *list;

    while (!is_in_layer(first))
        first++;
    for (last = first; is_in_layer(last);)
        last++;
    *n = 0;
    ATTN_TRY(ATTN_ALLOC(*specs, family->n_rule * (config->n_layer + 1), err));
    list = *specs;
    for (const struct attn_weight_rule *rule = rules; rule < first; rule++)
        *n += describe(config, with_biases, rule, 0, &list[*n]);
    for (size_t layer = 0; layer < config->n_layer; layer++)
        for (const struct attn_weight_rule *rule = first;
             rule < last && !attn_weights_are_shared(config, layer); rule++)
            *n += describe(config, with_biases, rule, (int)layer, &list[*n]);
    for (const struct attn_weight_rule *rule = last; rule < end; rule++)
        if (!is_in_layer(rule)) /* rules of layers that follow are for ignored buffers */
            *n += describe(config, with_biases, rule, 0, &list[*n]);
    return ATTN_OK;
}

/* --- binding ---------------------------------------------------------------------------------- */

static bool has_spelling(const struct attn_family *family, const struct attn_weight_rule *rule,
                         const char *prefix, const struct attn_tensor_files *st, bool skips_fixed)
{
    struct attn_config config = {.n_layer = 1};
    const struct binder binder = {.config = &config,
                                  .st = st,
                                  .family = family,
                                  .prefix = prefix,
                                  .skips_fixed = skips_fixed};
    char name[ATTN_WEIGHT_NAME_SIZE];

    return find_tensor(&binder, rule, name, NULL);
}

/* Whether the file has a tensor of RULE under PREFIX. */
static bool has_tensor(const struct attn_family *family, const struct attn_weight_rule *rule,
                       const char *prefix, const struct attn_tensor_files *st)
{
    return has_spelling(family, rule, prefix, st, false);
}

/* The same, but for spellings that never get a prefix. */
static bool has_relative(const struct attn_family *family, const struct attn_weight_rule *rule,
                         const char *prefix, const struct attn_tensor_files *st)
{
    return has_spelling(family, rule, prefix, st, true);
}

/* Returns the alternative to PREFIX. Older files of models with several parts have "decoder." where
 * newer ones have "model.decoder."; files for question answering have "transformer." instead of
 * "model.". */
static const char *alternative_prefix(const char *prefix)
{
    const char *rest = strchr(prefix, '.') + 1;

    return *rest ? rest : "transformer.";
}

/* Finds the prefix of the names, which is in front of all names or of none: the first tensor that
 * is found decides; those with a spelling that never has it come last. */
static enum attn_status find_prefix(const struct attn_family *family,
                                    const struct attn_tensor_files *st, const char **prefix,
                                    struct attn_error *err)
{
    const size_t n = family->prefix ? family->n_rule : 0;

    *prefix = "";
    for (size_t i = 0; i < 2 * n; i++) {
        const struct attn_weight_rule *rule = &family->rules[i % n];

        if ((strchr(rule->name, '/') != NULL) != (i >= n))
            continue;

        const char *shorter = alternative_prefix(family->prefix);
        const char *other =
            has_relative(family, rule, family->prefix, st) ? family->prefix : shorter;
        const bool has_without = has_relative(family, rule, "", st);
        char with[ATTN_WEIGHT_NAME_SIZE], without[ATTN_WEIGHT_NAME_SIZE];

        if (!(has_without || has_relative(family, rule, other, st)))
            continue;
        *prefix = has_without ? "" : other;
        if (!has_without || !has_relative(family, rule, other, st))
            return ATTN_OK;
        write_name(with, other, rule->name, 0);
        write_name(without, "", rule->name, 0);
        return attn_error_set(err, ATTN_FORMAT, "'%s' has both '%s' and '%s', expected one of them",
                              attn_quote_string(attn_tensor_files_path(st, 0)).text, with, without);
    }
    return ATTN_OK;
}

/* Marks the heads of q and k as interleaved, if FORM says so, which restores Hugging Face's order,
 * in which halves are rotated. */
static void interleave_heads(const struct attn_weights *weights, const struct attn_config *config,
                             const struct attn_family *naming)
{
    bool of_heads = false, of_biases = false;

    naming->dialect->find_halves(naming, config, &of_heads, &of_biases);
    for (size_t layer = 0; of_heads && layer < config->n_layer; layer++) {
        struct attn_linear *const maps[] = {&weights->blocks[layer].q, &weights->blocks[layer].k};

        for (int i = 0; i < 2; i++) {
            struct attn_matrix *w = &maps[i]->weight;
            struct attn_vector *b = &maps[i]->bias;

            w->group = config->d_head, w->group_stride = config->d_head * w->col_stride;
            b->group = b->group_stride = config->d_head;
            w->is_interleaved = of_heads;
            b->is_interleaved = of_biases;
        }
    }
}

/* If a file lacks the output matrix, or an encoder's head before it, the model has no logits: it
 * was saved without them, or with a head that is not supported. */
static void find_output(const struct binder *binder)
{
    static const enum attn_weight_part matrices[] = {[ATTN_TASK_SEQUENCE] = ATTN_PART_CLASS,
                                                     [ATTN_TASK_TOKENS] = ATTN_PART_TOKEN_CLASS,
                                                     [ATTN_TASK_SPANS] = ATTN_PART_SPAN_CLASS};
    const struct attn_family *family = binder->family;
    struct attn_config *config = binder->config;
    const bool is_vocabulary = config->task == ATTN_TASK_VOCABULARY;
    bool has_matrix = false, has_head = true;

    if (config->output == ATTN_OUTPUT_STREAM)
        return;
    for (size_t i = 0; i < family->n_rule; i++) {
        const enum attn_weight_part part = family->rules[i].part;
        const bool is_there = has_tensor(family, &family->rules[i], "", binder->st);

        if (is_vocabulary
                ? part == ATTN_PART_OUTPUT_FOUND || part == ATTN_PART_OUTPUT
                : part == (config->pooling == ATTN_POOLING_FIRST_TWO ? ATTN_PART_SECOND_CLASS
                                                                     : matrices[config->task]))
            has_matrix = has_matrix || is_there;
        if (is_vocabulary && ((part == ATTN_PART_TASK && is_there) ||
                              (part == ATTN_PART_HEAD && config->head_act_fn && !is_there)))
            has_head = false;
    }
    if (is_vocabulary && has_head) {
        if (family->prefix && config->output == ATTN_OUTPUT_OWN && !has_matrix)
            config->output = ATTN_OUTPUT_NONE;
        return;
    }
    if (has_matrix && !is_vocabulary)
        return;
    config->head_act_fn = NULL;
    config->n_vocab = config->n_token;
    config->task = ATTN_TASK_VOCABULARY;
    config->pooling = config->image.pooling = ATTN_POOLING_NONE;
    config->labels = NULL;
    config->output = ATTN_OUTPUT_NONE;
    config->has_output_bias = false;
}

/* Whether the matrices of all experts in one tensor are [in, out]: then a rule for them fits its
 * tensor in all layers that have experts, and the other rules of these tensors do not all fit. */
static bool find_turned(struct binder *binder)
{
    bool fits[2] = {true, true}, has_turned = false;

    for (size_t i = 0; i < binder->family->n_rule; i++) {
        const struct attn_weight_rule *rule = &binder->family->rules[i];
        struct attn_tensor_entry entry;
        char name[ATTN_WEIGHT_NAME_SIZE];

        if (rule->part != ATTN_PART_EXPERTS_TURNED && rule->part != ATTN_PART_EXPERTS_FOUND)
            continue;
        for (binder->layer = 0; binder->layer < (int)binder->config->n_layer; binder->layer++) {
            if (!find_tensor(binder, rule, name, &entry))
                continue;
            has_turned = has_turned || rule->part == ATTN_PART_EXPERTS_TURNED;
            for (int k = 0; k < entry.tensor.rank && rule->shape[k]; k++)
                if (entry.tensor.shape[k] !=
                    dimension(rule->shape[k], binder->config, binder->layer))
                    fits[rule->part == ATTN_PART_EXPERTS_TURNED] = false;
        }
    }
    return has_turned && fits[1] && !fits[0];
}

static enum attn_status allocate_blocks(struct attn_weights *weights,
                                        const struct attn_config *config, struct attn_error *err)
{
    size_t n = 0;

    ATTN_TRY(ATTN_ALLOC(weights->blocks, config->n_layer, err));
    weights->n_block = config->n_layer;
    if (config->n_expert == 0)
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(weights->experts, attn_size_mul(config->n_layer, config->n_expert), err));
    for (size_t layer = 0; layer < config->n_layer; layer++)
        if (!config->is_dense[layer])
            weights->blocks[layer].experts = weights->experts + n++ * config->n_expert;
    return ATTN_OK;
}

/* Converts VECTOR to floats in `made`, and returns them. */
static float *read_vector(struct attn_weights *weights, const struct attn_vector *vector)
{
    float *values = weights->made + weights->n_made;

    attn_kernels_find(ATTN_ISA_BEST)->convert(vector->data, vector->dtype, vector->n, values);
    weights->n_made += vector->n;
    return values;
}

/* Returns the place of channel C of a convolution in files. The channels are q, k and v in files,
 * and here in some models q, k and v of a head of keys after those of another. */
static size_t channel_in_file(const struct attn_config *config, size_t c)
{
    const struct attn_mixer_dims *mixer = config->mixer;
    const size_t dk = mixer->d_key, n_key = mixer->n_key_head;
    const size_t d_values = mixer->n_head / n_key * mixer->d_value, d = 2 * dk + d_values;
    const size_t head = c / d, i = c % d;

    if (!config->mixes_by_head)
        return c;
    return i < 2 * dk ? (i / dk * n_key + head) * dk + i % dk
                      : 2 * n_key * dk + head * d_values + i - 2 * dk;
}

/* Makes -exp(A_log) of the [N] values at A. Files of Hugging Face have A_log. */
static void make_decay(float *a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        a[i] = (float)-attn_exp((double)a[i]);
}

/* Makes floats of the vectors of a layer without attention, and turns the taps of its convolution,
 * [channels, K] in files. */
static void read_mixer(struct attn_weights *weights, const struct attn_config *config,
                       bool is_of_dialect, struct attn_mixer_weights *mixer)
{
    struct attn_vector *const vectors[] = {&mixer->conv_bias, &mixer->decay, &mixer->dt_bias,
                                           &mixer->skip, &mixer->norm};
    const size_t n_tap = config->mixer->n_tap, d = mixer->conv.n / n_tap;
    const float *taps = read_vector(weights, &mixer->conv);
    float *turned = weights->made + weights->n_made;

    for (size_t i = 0; i < n_tap * d; i++)
        turned[i] = taps[channel_in_file(config, i % d) * n_tap + i / d];
    weights->n_made += n_tap * d;
    mixer->conv = made_vector(turned, n_tap * d);
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        float *values = vectors[i]->data ? read_vector(weights, vectors[i]) : NULL;

        if (values && vectors[i] == &mixer->decay && !is_of_dialect)
            make_decay(values, mixer->decay.n);
        if (values)
            *vectors[i] = made_vector(values, vectors[i]->n);
    }
}

/* Makes an identity matrix in `made`. */
static struct attn_matrix make_identity(struct attn_weights *weights, size_t d)
{
    float *values = weights->made + weights->n_made;
    const struct attn_tensor table = {
        .data = values, .dtype = ATTN_DTYPE_F32, .rank = 2, .shape = {d, d}};

    memset(values, 0, d * d * sizeof *values);
    for (size_t i = 0; i < d; i++)
        values[i * d + i] = 1;
    weights->n_made += d * d;
    return matrix_of(&table, ATTN_WEIGHT_IN_OUT);
}

/* Converts the sinks and the norm of embedding rows to floats. */
static void read_vectors(struct attn_weights *weights, const struct attn_config *config,
                         bool is_of_dialect)
{
    for (size_t layer = 0; layer < config->n_layer && config->has_sinks; layer++) {
        const float *sinks = read_vector(weights, &weights->blocks[layer].sinks);

        weights->sinks = layer == 0 ? sinks : weights->sinks;
    }
    for (size_t layer = 0; layer < config->n_layer; layer++)
        if (attn_config_is_mixer(config, layer) || attn_config_mixes_beside(config))
            read_mixer(weights, config, is_of_dialect, &weights->blocks[layer].mixer);
    if (config->embeds_normed) {
        weights->row_norm = read_vector(weights, &weights->ln_row.w);
        read_vector(weights, &weights->ln_row.b);
    }
}

enum attn_status attn_weights_bind(struct attn_weights *weights, struct attn_config *config,
                                   const struct attn_family *family,
                                   const struct attn_tensor_files *st, struct attn_error *err)
{
    struct binder binder = {
        .weights = weights, .config = config, .st = st, .family = family, .prefix = "", .err = err};

    binder.is_fused = family->dialect && family->dialect->is_fused(config, st);
    if (family->dialect && config->image.patch_height == 0) /* the family's towers have them all */
        binder.is_joined = family->dialect->find_biases(config, st, binder.is_fused);

    ATTN_TRY(find_prefix(family, st, &binder.prefix, err));
    binder.is_turned = find_turned(&binder);
    find_output(&binder);
    /* A single tower has no projection if its file lacks it. */
    for (size_t i = 0; i < family->n_rule; i++)
        if (family->rules[i].part == ATTN_PART_PROJECTION && !config->has_two_towers &&
            !has_tensor(family, &family->rules[i], "", st))
            config->d_projected = 0;
    ATTN_TRY(allocate_blocks(weights, config, err));
    ATTN_TRY(allocate_made(weights, config, err));
    ATTN_TRY(ATTN_ALLOC(weights->turned, 1, err));
    ATTN_TRY(attn_monitor_create(1, &weights->turning, err));
    for (size_t i = 0; i < family->n_rule; i++) {
        const int n = is_in_layer(&family->rules[i]) ? (int)config->n_layer : 1;

        for (binder.layer = 0; binder.layer < n; binder.layer++)
            ATTN_TRY(bind_rule(&binder, &family->rules[i]));
    }
    make_ones(weights, config);
    weights->ln_final.is_other = config->has_final_rms && attn_config_norms_mean(config);
    for (size_t layer = 0; layer < config->n_layer; layer++)
        weights->blocks[layer].mlp_norm.is_other = !attn_config_norms_mean(config);
    /* InternVL's norms of q and k are RMSNorms of this epsilon, whatever the others are. */
    for (size_t layer = 0; layer < config->n_layer && attn_config_turns_nothing(config); layer++) {
        struct attn_block_weights *block = &weights->blocks[layer];

        block->q_norm.is_other = block->k_norm.is_other = attn_config_norms_mean(config);
        block->q_norm.eps = block->k_norm.eps = 1e-6F;
    }
    read_vectors(weights, config, family->dialect != NULL);
    if (family->dialect)
        interleave_heads(weights, config, family);
    if (config->output == ATTN_OUTPUT_TIED)
        weights->unembed.weight = matrix_of(&weights->embed, ATTN_WEIGHT_OUT_IN);
    if (config->output == ATTN_OUTPUT_STREAM)
        weights->unembed.weight = make_identity(weights, config->d_model);
    join_classifiers(weights, config);
    return ATTN_OK;
}

/* --- packed copies ---------------------------------------------------------------------------- */

/* Calls VISIT for every linear map; for maps that layers share, once. */
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
    const struct attn_packing *packing;
    bool has_blocks;       /* weights with blocks are packed, too */
    size_t size_of_blocks; /* bytes of the panels or tiles of all maps with blocks */
};

static void measure_blocks(struct attn_linear *linear, void *context)
{
    struct packed_plan *plan = context;

    if (is_of_blocks(linear))
        plan->size_of_blocks = attn_size_of(attn_saturated_add(
            plan->size_of_blocks,
            attn_linear_packed_size(linear, plan->packing->kernels, plan->packing->compute)));
}

/* Reserves memory for packing LINEAR. The same code measures and allocates; see base/memory.h. */
static void plan_linear(struct attn_linear *linear, void *context)
{
    const struct packed_plan *plan = context;
    const size_t size =
        attn_linear_packed_size(linear, plan->packing->kernels, plan->packing->compute);

    if (size == 0 || (is_of_blocks(linear) && !plan->has_blocks))
        return;
    linear->packed = attn_arena_take(plan->arena, size, 1);
    linear->packed_for = plan->packing->compute;
}

/* Packs N maps and then releases their pages. All N are packed first, because maps such as q, k and
 * v may share pages. */
static void pack_linears(struct attn_linear *linears, size_t n, const struct attn_tensor_files *st,
                         const struct attn_kernels *kernels, struct attn_pool *pool)
{
    for (size_t i = 0; i < n; i++)
        if (linears[i].packed)
            attn_linear_pack(&linears[i], kernels, pool);
    for (size_t i = 0; i < n; i++)
        if (linears[i].packed && attn_tensor_files_owns_address(st, linears[i].weight.data))
            attn_file_drop_pages(
                linears[i].weight.data, /* pages are read again if they are needed once more */
                attn_matrix_extent(&linears[i].weight, linears[i].weight.n_col));
}

static void pack_expert(const struct attn_lazy_experts *lazy, struct attn_expert *expert,
                        struct attn_pool *pool)
{
    for (size_t i = 0; i < 3; i++) {
        struct attn_linear *map = &expert->gate + i;
        struct attn_error unused = {0};

        if (is_of_blocks(map))
            continue;
        map->packed_for = lazy->compute;
        map->packed = attn_alloc_uninitialized(
            1, attn_linear_packed_size(map, lazy->kernels, lazy->compute), &unused);
    }
    pack_linears(&expert->gate, 3, lazy->st, lazy->kernels, pool);
}

/* Converts the MXFP4 blocks of an expert to the layout of GGUF files. */
static void order_blocks(const struct attn_lazy_experts *lazy, size_t expert)
{
    for (size_t m = 0; m < 2; m++) {
        const size_t n = lazy->mxfp4[m].n;
        const unsigned char *from = lazy->mxfp4[m].blocks + expert * n * 16;
        unsigned char *to = lazy->mxfp4[m].made + expert * n * 17;

        for (size_t i = 0; i < n; i++, from += 16, to += 17) {
            to[0] = lazy->mxfp4[m].scales[expert * n + i];
            for (size_t k = 0; k < 16; k++)
                to[1 + k] = (unsigned char)((from[k / 2] >> k % 2 * 4 & 15) |
                                            (from[8 + k / 2] >> k % 2 * 4 & 15) << 4);
        }
    }
}

void attn_weights_make_expert(const struct attn_block_weights *block, size_t expert,
                              struct attn_pool *pool)
{
    struct attn_lazy_experts *lazy = block->lazy;

    if (!lazy || atomic_load_explicit(&lazy->is_made[expert], memory_order_acquire))
        return;
    attn_monitor_enter(lazy->monitor);
    if (!lazy->is_made[expert] && lazy->mxfp4[0].blocks)
        order_blocks(lazy, expert);
    else if (!lazy->is_made[expert])
        pack_expert(lazy, &block->experts[expert], pool);
    atomic_store_explicit(&lazy->is_made[expert], true, memory_order_release);
    attn_monitor_leave(lazy->monitor);
}

/* Plans to pack experts when they are chosen, if the panels of all experts fit into the limit. */
static enum attn_status plan_experts(struct attn_weights *weights, const struct attn_config *config,
                                     const struct attn_tensor_files *st,
                                     const struct attn_packing *packing, struct attn_error *err)
{
    const size_t n = attn_size_mul(config->n_layer, config->n_expert);
    const size_t size = attn_size_mul(
        3 * sizeof(float), attn_size_mul(attn_config_d_routed(config), config->d_expert));

    if (attn_size_mul(n, size) > packing->most_of_experts)
        return ATTN_OK;
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        struct attn_block_weights *block = &weights->blocks[layer];

        if (!block->experts || block->lazy)
            continue;
        ATTN_TRY(create_lazy(block, config->n_expert, err));
        block->lazy->st = st;
        block->lazy->compute = packing->compute;
        block->lazy->kernels = packing->kernels;
    }
    return ATTN_OK;
}

enum attn_status attn_weights_pack(struct attn_weights *weights, const struct attn_config *config,
                                   const struct attn_tensor_files *st,
                                   const struct attn_packing *packing, struct attn_error *err)
{
    struct packed_plan plan = {.arena = &weights->packed, .packing = packing};

    visit_linears(weights, config, measure_blocks, &plan);
    plan.has_blocks = plan.size_of_blocks <= packing->most_of_blocks;
    visit_linears(weights, config, plan_linear, &plan);
    ATTN_TRY(attn_arena_allocate(&weights->packed, err));
    visit_linears(weights, config, plan_linear, &plan);
    /* The largest matrices first: while they are packed, their pages are in memory, but little else
     * is. */
    pack_linears(weights->linears, ATTN_MODEL_N_LINEAR, st, packing->kernels, packing->pool);
    for (size_t layer = 0; layer < config->n_layer; layer++)
        if (attn_weights_are_shared(config, layer))
            weights->blocks[layer] = weights->blocks[layer - 1];
        else
            pack_linears(weights->blocks[layer].linears, ATTN_BLOCK_N_LINEAR, st, packing->kernels,
                         packing->pool);
    weights->is_reused = true;
    return plan_experts(weights, config, st, packing, err);
}

/* Transposes the maps of BLOCK whose columns lie at equal distances, by swapping strides. */
static void turn_block(const struct attn_block_weights *block, struct attn_block_weights *turned)
{
    for (size_t i = 0; i < ATTN_BLOCK_N_LINEAR; i++) {
        const struct attn_matrix *w = &block->linears[i].weight;
        struct attn_matrix *to = &turned->linears[i].weight;

        if (w->is_interleaved || w->group != w->n_col)
            continue;
        *to = *w;
        to->n_row = w->n_col;
        to->n_col = to->group = w->n_row;
        to->row_stride = w->col_stride;
        to->col_stride = w->row_stride;
    }
}

static enum attn_status make_turned(const struct attn_weights *weights,
                                    const struct attn_config *config,
                                    const struct attn_tensor_files *st,
                                    const struct attn_packing *packing, struct attn_error *err)
{
    attn_weights_release(weights->turned); /* releases the rest of an earlier failure */
    ATTN_TRY(ATTN_ALLOC(weights->turned->blocks, weights->n_block, err));
    weights->turned->n_block = weights->n_block;
    for (size_t layer = 0; layer < weights->n_block; layer++)
        turn_block(&weights->blocks[layer], &weights->turned->blocks[layer]);
    return attn_weights_pack(weights->turned, config, st, packing, err);
}

enum attn_status attn_weights_turn(const struct attn_weights *weights,
                                   const struct attn_config *config,
                                   const struct attn_tensor_files *st,
                                   const struct attn_packing *packing, struct attn_error *err)
{
    enum attn_status status = ATTN_OK;

    attn_monitor_enter(weights->turning);
    if (!weights->turned->is_reused)
        status = make_turned(weights, config, st, packing, err);
    attn_monitor_leave(weights->turning);
    return status;
}

double attn_weights_work_of_block(const struct attn_weights *weights,
                                  const struct attn_config *config)
{
    double work = 0;

    for (size_t i = 0; i < ATTN_BLOCK_N_LINEAR; i++) {
        const struct attn_matrix *weight = &weights->blocks[0].linears[i].weight;

        if (weight->data)
            work += (double)weight->n_row * (double)weight->n_col;
    }
    if (weights->blocks[0].experts)
        work += 3 * (double)config->n_expert_used * (double)attn_config_d_routed(config) *
                (double)config->d_expert;
    return work;
}

void attn_weights_release(struct attn_weights *weights)
{
    for (size_t layer = 0; layer < weights->n_block; layer++) {
        struct attn_lazy_experts *lazy = weights->blocks[layer].lazy;

        if (!lazy)
            continue;
        for (size_t i = 0; i < 3 * lazy->n_expert; i++)
            attn_free((&weights->blocks[layer].experts->gate)[i].packed);
        attn_free(lazy->mxfp4[0].made);
        attn_free(lazy->mxfp4[1].made);
        attn_monitor_free(lazy->monitor);
        attn_free(lazy);
    }
    attn_free(weights->blocks);
    attn_free(weights->made);
    for (size_t i = 0; i < weights->n_changed; i++)
        attn_free(weights->changed[i]);
    attn_free(weights->changed);
    attn_free(weights->experts);
    attn_arena_release(&weights->packed);
    if (weights->turned)
        attn_weights_release(weights->turned);
    attn_free(weights->turned);
    attn_monitor_free(weights->turning);
    *weights = (struct attn_weights){0};
}

/* --- Names in a file -------------------------------------------------------------------------- */

/* Whether NAME is PREFIX + SPELLING. If so, *layer is its layer number, or ATTN_NO_LAYER. */
static bool is_spelled(const char *spelling, const char *prefix, const char *name, int *layer)
{
    const char *pattern = spelling[0] == '/' ? spelling + 1 : spelling;
    const size_t size = strcspn(pattern, "|"), before = strcspn(pattern, ends);
    const size_t n_prefix = strlen(prefix);
    size_t left;
    int used = 0, value;

    *layer = ATTN_NO_LAYER;
    if (spelling[0] != '/') {
        if (strncmp(name, prefix, n_prefix) != 0)
            return false;
        name += n_prefix;
    }
    if (before == size && memchr(pattern, '@', size)) { /* the number of a connector of DeepStack */
        const size_t at = strcspn(pattern, "@");
        const char *rest = strncmp(name, pattern, at) == 0 ? name + at : "";
        const size_t n_digit = strspn(rest, "0123456789");

        return n_digit > 0 && strlen(rest + n_digit) == size - at - 1 &&
               strncmp(rest + n_digit, pattern + at + 1, size - at - 1) == 0;
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
    pattern += before + 1, left = size - before - 1;
    if (memchr(pattern, '@', left)) /* stands for the number of a head or an expert */
        return strncmp(name, pattern, strcspn(pattern, "@")) == 0;
    return strlen(name) == left && strncmp(name, pattern, left) == 0;
}

static bool is_named(const struct attn_weight_rule *rule, const char *prefix, const char *name,
                     int *layer)
{
    const char *spelling = rule->name;

    while (spelling && !is_spelled(spelling, prefix, name, layer))
        spelling = next_spelling(spelling);
    return spelling;
}

bool attn_weights_are_named(const struct attn_family *naming, const char *prefix,
                            const struct attn_tensor_files *st)
{
    const struct attn_weight_rule *first = &naming->rules[0];
    const char *own = naming->prefix;

    if (prefix)
        return has_tensor(naming, first, prefix, st);
    return has_tensor(naming, first, "", st) ||
           (own && (has_tensor(naming, first, own, st) ||
                    has_tensor(naming, first, alternative_prefix(own), st)));
}

/* Returns the rule that names the tensor NAME, or NULL. *layer receives its layer. */
static const struct attn_weight_rule *find_rule(const struct attn_family *family, const char *name,
                                                int *layer)
{
    for (size_t i = 0; i < family->n_rule; i++)
        if (is_named(&family->rules[i], "", name, layer) ||
            (family->prefix && is_named(&family->rules[i], family->prefix, name, layer)) ||
            (family->prefix &&
             is_named(&family->rules[i], alternative_prefix(family->prefix), name, layer)))
            return &family->rules[i];
    return NULL;
}

/* Whether the tensor NAME of a GGUF file is of a layer that predicts further tokens. */
static bool is_left_out(const char *name, const struct attn_config *config)
{
    int layer = 0;

    return sscanf(name, "blk.%5d.", &layer) == 1 && layer >= (int)config->n_layer &&
           layer < (int)(config->n_layer + config->n_left_out);
}

bool attn_weights_know(const struct attn_family *naming, const struct attn_config *config,
                       const char *name)
{
    const struct attn_family *other =
        naming->other_tower ? attn_family_find(naming->other_tower) : naming->encoder;
    int layer;
    const struct attn_weight_rule *rule = find_rule(naming, name, &layer);

    /* Llama's table contains norms that only some of the derived families have, in all layers. The
     * name may be of a layer that the model does not have. */
    if (rule && (rule->part == ATTN_PART_QK_NORM || rule->part == ATTN_PART_MLP_POST_NORM))
        return find_need(rule->part, config, ATTN_NO_LAYER) != NOT_NEEDED;
    return rule || is_left_out(name, config) || (other && find_rule(other, name, &layer));
}

/* --- Changes by an adapter -------------------------------------------------------------------- */

/* Whether RULE, in layer LAYER, is a tensor that a model of CONFIG uses. */
static bool is_used(const struct attn_weight_rule *rule, const struct attn_config *config,
                    int layer)
{
    const enum need need = find_need(rule->part, config, layer);

    return (need == NEEDED || need == USED_IF_FOUND) && rule->part != ATTN_PART_IGNORED &&
           is_of_layer(rule, config, layer);
}

/* Sets *layer to the first layer whose tensors have NUMBER in their names, and that uses RULE. */
static bool find_layer(const struct attn_weight_rule *rule, const struct attn_config *config,
                       int number, int *layer)
{
    for (size_t i = 0; i < config->n_layer; i++)
        if (attn_config_weights_layer(config, i) == (size_t)number &&
            is_used(rule, config, (int)i)) {
            *layer = (int)i;
            return true;
        }
    return false;
}

bool attn_weights_find(const struct attn_config *config, const char *name,
                       struct attn_weight_spec *spec)
{
    const struct attn_family *family = family_of(config);
    const char *prefix = family->prefix;

    for (size_t i = 0; i < family->n_rule; i++) {
        const struct attn_weight_rule *rule = &family->rules[i];
        const char *shape = shape_of(rule, config);
        int number, layer = 0;

        if (!is_named(rule, "", name, &number) &&
            !(prefix && (is_named(rule, prefix, name, &number) ||
                         is_named(rule, alternative_prefix(prefix), name, &number))))
            continue;
        if (!(is_in_layer(rule) ? find_layer(rule, config, number, &layer)
                                : is_used(rule, config, 0)))
            continue;
        *spec = (struct attn_weight_spec){.rule = rule, .layer = layer, .rank = (int)strlen(shape)};
        write_name(spec->name, "", rule->name, number);
        for (int j = 0; j < spec->rank; j++)
            spec->shape[j] = dimension(shape[j], config, layer);
        return true;
    }
    return false;
}

bool attn_weights_can_change(const struct attn_weight_spec *spec)
{
    const struct attn_weight_rule *rule = spec->rule;
    const bool is_sink =
                   is_in_layer(rule) && rule->offset == offsetof(struct attn_block_weights, sinks),
               is_mixer = is_in_layer(rule) &&
                          rule->offset >= offsetof(struct attn_block_weights, mixer) &&
                          rule->offset < offsetof(struct attn_block_weights, mixer) +
                                             sizeof(struct attn_mixer_weights),
               is_of_groups = rule->part == ATTN_PART_CONVOLUTION && spec->rank == 3 &&
                              spec->shape[1] < spec->shape[0],
               is_row_norm =
                   !is_in_layer(rule) && (rule->offset == offsetof(struct attn_weights, ln_row.w) ||
                                          rule->offset == offsetof(struct attn_weights, ln_row.b));

    return !strchr(rule->name, '@') && rule->part != ATTN_PART_EXPERTS &&
           rule->part != ATTN_PART_EXPERTS_FOUND && rule->part != ATTN_PART_EXPERTS_TURNED &&
           rule->part != ATTN_PART_EXPERT_BIASES && !is_sink && !is_mixer && !is_of_groups &&
           !is_row_norm;
}

/* Adds CHANGE, float32, to the map W, whose new elements are TO. A row of TO, and what is read at
 * once of W, is a row of W if these lie in one piece, else a column. */
static void add_change(const struct attn_matrix *w, const struct attn_matrix *change, float *to,
                       struct attn_weight_sums *sums)
{
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);
    const bool is_rows = w->row_stride != 1;
    const size_t n_line = is_rows ? w->n_row * (w->n_col / w->group) : w->n_col;
    const size_t n = is_rows ? w->group : w->n_row;
    const float *added = change->data;

    for (size_t line = 0; line < n_line; line++, to += n) {
        const size_t row = is_rows ? line / (w->n_col / w->group) : 0;
        const size_t col = is_rows ? line % (w->n_col / w->group) * w->group : line;
        const size_t first = row * w->row_stride + attn_matrix_column_at(w, col);

        kernels->convert((const char *)w->data + attn_dtype_n_byte(w->dtype, first), w->dtype, n,
                         to);
        for (size_t i = 0; i < n; i++) {
            const size_t at = (is_rows ? row : i) * change->row_stride +
                              attn_matrix_column_at(change, is_rows ? col + i : col);

            sums->of_base += (double)to[i] * (double)to[i];
            sums->of_change += (double)added[at] * (double)added[at];
            to[i] += added[at];
        }
    }
}

/* Replaces the map W, the tensor NAME or a part of it, by a float32 copy plus CHANGE. */
static enum attn_status change_map(struct attn_weights *weights, const char *name,
                                   struct attn_matrix *w, const struct attn_matrix *change,
                                   struct attn_weight_sums *sums, struct attn_error *err)
{
    float *made;

    if (!w->data)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "the adapter changes '%s', which the model's files lack",
                              attn_quote_string(name).text);
    if (attn_dtype_block(w->dtype) > 1)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "the adapter changes '%s', whose weights are in blocks of type %s, "
                              "expected F32, F16 or BF16: a block has no room for a change of "
                              "single weights",
                              attn_quote_string(name).text, attn_dtype_name(w->dtype));
    ATTN_TRY(ATTN_GROW(weights->changed, weights->changed_capacity, weights->n_changed + 1, err));
    ATTN_TRY(ATTN_NEW(
        made, attn_alloc_uninitialized(w->n_row, attn_size_mul(w->n_col, sizeof *made), err)));
    weights->changed[weights->n_changed++] = made;
    add_change(w, change, made, sums);
    *w = (struct attn_matrix){.data = made,
                              .dtype = ATTN_DTYPE_F32,
                              .n_row = w->n_row,
                              .n_col = w->n_col,
                              .row_stride = w->row_stride != 1 ? w->n_col : 1,
                              .col_stride = w->row_stride != 1 ? 1 : w->n_row,
                              .group = w->n_col};
    return ATTN_OK;
}

/* Replaces TABLE, such as the embedding, by a float32 copy to which CHANGE is added. */
static enum attn_status change_table(struct attn_weights *weights, const char *name,
                                     struct attn_tensor *table, const struct attn_tensor *change,
                                     struct attn_weight_sums *sums, struct attn_error *err)
{
    struct attn_matrix w = matrix_of(table, ATTN_WEIGHT_IN_OUT);
    const struct attn_matrix added = matrix_of(change, ATTN_WEIGHT_IN_OUT);

    ATTN_TRY(change_map(weights, name, &w, &added, sums, err));
    table->data = w.data;
    table->dtype = ATTN_DTYPE_F32;
    return ATTN_OK;
}

/* A change of a tied output matrix or embedding leaves the other one as it is. */
static void untie(const struct attn_weight_spec *spec, struct attn_config *config)
{
    if (config->output == ATTN_OUTPUT_TIED &&
        (spec->rule->part == ATTN_PART_OUTPUT_FOUND || spec->rule->part == ATTN_PART_EMBEDDING))
        config->output = ATTN_OUTPUT_OWN;
}

enum attn_status attn_weights_add(struct attn_weights *weights, struct attn_config *config,
                                  const struct attn_weight_spec *spec,
                                  const struct attn_tensor *change, struct attn_weight_sums *sums,
                                  struct attn_error *err)
{
    struct attn_block_weights block = {.lazy = NULL};
    struct attn_weights parts = {.blocks = &block};
    const struct binder binder = {.weights = &parts, .config = config};
    const bool is_in_block = is_in_layer(spec->rule);
    const size_t first = (size_t)spec->layer, number = attn_config_weights_layer(config, first);
    struct attn_linear *to = is_in_block ? weights->blocks[first].linears : weights->linears;
    const struct attn_linear *from = is_in_block ? block.linears : parts.linears;

    if (spec->rule->kind == ATTN_WEIGHT_TENSOR) {
        char *place = is_in_block ? (char *)&weights->blocks[first] : (char *)weights;

        untie(spec, config);
        return change_table(weights, spec->name, (void *)(place + spec->rule->offset), change, sums,
                            err);
    }
    store(&binder, spec->rule, change);
    for (size_t i = 0; i < (is_in_block ? ATTN_BLOCK_N_LINEAR : ATTN_MODEL_N_LINEAR); i++) {
        if (!from[i].weight.data)
            continue;
        ATTN_TRY(change_map(weights, spec->name, &to[i].weight, &from[i].weight, sums, err));
        for (size_t layer = first + 1; is_in_block && layer < config->n_layer; layer++)
            if (attn_config_weights_layer(config, layer) == number &&
                is_of_layer(spec->rule, config, (int)layer))
                weights->blocks[layer].linears[i].weight = to[i].weight;
    }
    untie(spec, config);
    return ATTN_OK;
}

void attn_weights_replace(struct attn_weights *weights, struct attn_config *config,
                          const struct attn_weight_spec *spec, const struct attn_tensor *tensor)
{
    struct binder binder = {.weights = weights, .config = config};
    const size_t number = attn_config_weights_layer(config, (size_t)spec->layer);

    for (size_t layer = (size_t)spec->layer; layer < config->n_layer; layer++) {
        binder.layer = (int)layer;
        if (attn_config_weights_layer(config, layer) == number &&
            is_of_layer(spec->rule, config, (int)layer))
            store(&binder, spec->rule, tensor);
        if (!is_in_layer(spec->rule))
            break;
    }
    note_found(spec->rule->part, config);
    untie(spec, config);
}

/* Whether RULE names the tensor NAME of a GGUF file, and the model of BINDER has its part. */
static bool is_expected_by(const struct binder *binder, const struct attn_weight_rule *rule,
                           const char *name)
{
    int layer;

    if (!is_named(rule, "", name, &layer) ||
        (layer != ATTN_NO_LAYER && (size_t)layer >= binder->config->n_layer))
        return false;
    if ((rule->part == ATTN_PART_PROJECTIONS || rule->part == ATTN_PART_QKV_BIAS) &&
        is_of_other_form(binder, rule))
        return false;
    /* A layer that attends to the keys of another may have its own in the file. They are not read.
     */
    if ((rule->part == ATTN_PART_KEYS || rule->part == ATTN_PART_VALUES ||
         rule->part == ATTN_PART_KEY_NORM) &&
        attn_config_shares_keys(binder->config, (size_t)layer))
        return true;
    return rule->part == ATTN_PART_IGNORED ||
           find_need(rule->part, binder->config, layer) != NOT_NEEDED;
}

enum attn_status attn_weights_check_unused(const struct attn_family *naming,
                                           const struct attn_config *config,
                                           const struct attn_tensor_files *st,
                                           struct attn_error *err)
{
    /* Other heads, and parts for images. */
    static const char *const others[] = {"cls.", "dense_", "v.", "mm."};
    const size_t n_other = config->image.patch_height > 0 ? 0 : sizeof others / sizeof *others;
    struct attn_config known = *config;
    const struct binder binder = {
        .config = &known, .is_fused = naming->dialect && naming->dialect->is_fused(config, st)};

    for (size_t i = 0; i < attn_tensor_files_count(st); i++) {
        const struct attn_tensor_entry entry = attn_tensor_files_entry(st, i);
        bool is_expected = is_left_out(entry.name, config);

        for (size_t j = 0; j < naming->n_rule && !is_expected; j++)
            is_expected = is_expected_by(&binder, &naming->rules[j], entry.name);
        for (size_t j = 0; j < n_other; j++)
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
            return attn_refuse_in(err, ATTN_FORMAT, attn_tensor_files_path(st, entry.shard),
                                  entry.name, "holds %g at element %zu, expected finite values",
                                  found.value, found.first);
    }
    return ATTN_OK;
}
