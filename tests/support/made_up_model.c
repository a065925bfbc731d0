/* made_up_model.c - see made_up_model.h. The digits of a model's number choose the parts that meet
 * in a block; what stands beside them, as biases, activations and kinds of attention, changes from
 * model to model. */
#include "tests/support/made_up_model.h"

#include "attention/attention_internal.h"
#include "base/memory.h"
#include "base/random.h"
#include "model/model_internal.h"
#include "tests/support/assert.h"

#include <stdio.h>
#include <string.h>

enum {
    D_MODEL = 8,
    D_MLP = 6,
    D_SOURCE = 5,
    N_TOKEN = 7,
    N_LAYER = 3,
    N_CTX = 16,
    N_NUMBER = 4096
};

enum mlp {
    MLP_BEHIND,
    MLP_BESIDE,
    MLP_BESIDE_WITH_ONE_NORM,
    MLP_GATED_BESIDE_WITH_ONE_NORM,
    NO_MLP
};
enum norm { NORM_NOT, NORM_BEFORE, NORM_BEHIND, NORM_AROUND, NORM_BEFORE_GATED };
enum position { POSITION_NOT, LEARNED, ROTARY, ROTARY_HEAD_NORM, ROTARY_NORM };
enum heads { OWN_KEYS, GROUPED_KEYS, ONE_HEAD_AS_IT_IS };
enum stream { RESIDUAL, RESIDUAL_CROSS, REPLACED, REPLACED_CROSS };

static const char *const mlp_names[] = {"mlp behind", "mlp beside", "mlp beside with one norm",
                                        "gated mlp beside with one norm", "no mlp"};
static const char *const norm_names[] = {"no norms", "norms before", "norms after", "norms around",
                                         "norms before, gated"};
static const char *const position_names[] = {"no positions", "learned", "rotary",
                                             "rotary, norm of each head", "rotary, norm of all"};
static const char *const heads_names[] = {"heads", "grouped keys", "no projections"};
static const char *const stream_names[] = {"residual", "residual, cross", "no residual",
                                           "no residual, cross"};

/* The parts of a model. */
struct parts {
    enum mlp mlp;
    enum norm norm;
    enum position position;
    enum heads heads;
    enum stream stream;
    size_t number;
};

static struct parts find_parts(size_t number)
{
    struct parts parts = {.number = number};

    parts.mlp = (enum mlp)(number % 5), number /= 5;
    parts.norm = (enum norm)(number % 5), number /= 5;
    parts.position = (enum position)(number % 5), number /= 5;
    parts.heads = (enum heads)(number % 3), number /= 3;
    parts.stream = (enum stream)number;
    return parts;
}

static bool go_together(const struct parts *parts)
{
    const bool is_beside = parts->mlp != MLP_BEHIND && parts->mlp != NO_MLP;
    const bool is_cross = parts->stream == RESIDUAL_CROSS || parts->stream == REPLACED_CROSS;
    const bool is_replaced = parts->stream == REPLACED || parts->stream == REPLACED_CROSS;
    const bool is_rotary = parts->position >= ROTARY;

    if (is_beside && (parts->norm == NORM_BEHIND || parts->norm == NORM_AROUND || is_replaced))
        return false;
    if (parts->norm == NORM_BEFORE_GATED &&
        (parts->mlp == NO_MLP || parts->mlp == MLP_GATED_BESIDE_WITH_ONE_NORM))
        return false;
    return !is_rotary || (!is_cross && parts->heads != ONE_HEAD_AS_IT_IS);
}

static void set_sizes(const struct parts *parts, struct attn_config *config)
{
    const bool has_projections = parts->heads != ONE_HEAD_AS_IT_IS;

    config->n_layer = N_LAYER;
    config->n_ctx = N_CTX;
    config->n_vocab = config->n_token = N_TOKEN;
    config->d_model = config->d_out = config->d_embed = D_MODEL;
    config->n_head = has_projections ? 4 : 1;
    config->n_kv_head = parts->heads == GROUPED_KEYS ? 2 : config->n_head;
    config->d_head = has_projections ? 4 : D_MODEL;
    config->d_value = has_projections ? 2 : D_MODEL;
    config->d_mlp = parts->mlp == NO_MLP ? 0 : D_MLP;
    config->d_source = has_projections ? D_SOURCE : D_MODEL;
    config->has_projections = has_projections;
}

static void set_parts(const struct parts *parts, struct attn_config *config)
{
    static const enum attn_norm norms[] = {ATTN_NORM_LAYERNORM, ATTN_NORM_RMSNORM,
                                           ATTN_NORM_RMSNORM_PLUS_ONE};
    static const char *const activations[] = {"gelu_new", "silu", "relu"};
    const size_t n = parts->number;

    config->model_type = "attn";
    config->norm = parts->norm == NORM_NOT ? ATTN_NORM_NONE : norms[n / 7 % 3];
    config->norm_place = parts->norm == NORM_BEHIND   ? ATTN_NORM_POST
                         : parts->norm == NORM_AROUND ? ATTN_NORM_AROUND
                                                      : ATTN_NORM_PRE;
    config->norm_eps = 1e-5F;
    config->has_parallel_residual = parts->mlp != MLP_BEHIND && parts->mlp != NO_MLP;
    config->has_single_norm = config->has_parallel_residual && parts->mlp != MLP_BESIDE;
    config->has_gated_mlp =
        parts->mlp == MLP_GATED_BESIDE_WITH_ONE_NORM || parts->norm == NORM_BEFORE_GATED;
    config->has_residual = parts->stream == RESIDUAL || parts->stream == RESIDUAL_CROSS;
    config->qk_norm = parts->position == ROTARY_HEAD_NORM ? ATTN_QK_NORM_PER_HEAD
                      : parts->position == ROTARY_NORM    ? ATTN_QK_NORM_ALL_HEADS
                                                          : ATTN_QK_NORM_NONE;
    if (config->qk_norm != ATTN_QK_NORM_NONE && config->norm == ATTN_NORM_NONE)
        config->norm = ATTN_NORM_RMSNORM; /* of q and k alone: see norm_of */
    config->positions = parts->position >= ROTARY    ? ATTN_POSITIONS_ROTARY
                        : parts->position == LEARNED ? ATTN_POSITIONS_LEARNED
                                                     : ATTN_POSITIONS_NONE;
    config->act_fn = activations[n / 3 % 3];
    config->has_qkv_bias = config->has_projections && n % 2 == 0;
    config->has_out_proj = n % 3 != 0;
    config->has_out_bias = config->has_out_proj && n / 2 % 2 == 0;
    config->has_mlp_bias = n / 4 % 2 == 0;
    config->has_final_norm = n / 8 % 2 == 0;
    config->output = n % 4 == 0 ? ATTN_OUTPUT_TIED : ATTN_OUTPUT_OWN;
    config->embed_scale = n % 5 == 0 ? 1.5 : 0;
    config->logits_cap = n % 7 == 0 ? 3 : 0;
}

/* Kinds that may be fed in steps. Those with a pattern take turns by layer; a linear one is in all.
 */
static const char *find_kind(size_t number, size_t layer)
{
    static const char *const kinds[] = {"full",      "window:2", "full",       "log",
                                        "strided:2", "random:2", "hybrid:1:3", "block:2"};

    return number % 9 == 8 ? "linear" : kinds[(number + layer) % (sizeof kinds / sizeof *kinds)];
}

static void set_layers(const struct parts *parts, struct attn_model *model)
{
    const struct attn_attention first = ATTN_ATTENTION_DEFAULT;
    struct attn_error err = {0};

    ck_assert(attn_config_allocate_layers(&model->config, &model->layers, &first, &err) == ATTN_OK);
    model->layers.is_cross[1] = parts->stream == RESIDUAL_CROSS || parts->stream == REPLACED_CROSS;
    for (size_t layer = 0; layer < N_LAYER; layer++) {
        ck_assert_msg(attn_attention_parse(find_kind(parts->number / 5, layer),
                                           &model->layers.attention[layer], &err) == ATTN_OK,
                      "%s", err.message);
        model->layers.attention[layer].mask = ATTN_MASK_CAUSAL;
        model->layers.rope[layer] =
            (struct attn_rope){.d_rotary = layer == 2 ? 2 : 4, .theta = layer == 1 ? 100 : 10000};
    }
}

/* N numbers of the table. */
static const float *take(size_t *used, size_t n)
{
    static float numbers[N_NUMBER];
    struct attn_random random;

    if (numbers[0] == 0) {
        attn_random_seed(&random, 26);
        for (size_t i = 0; i < N_NUMBER; i++)
            numbers[i] = (float)attn_random_double(&random) - 0.5F;
    }
    ck_assert_uint_le(n, N_NUMBER);
    *used = *used + n <= N_NUMBER ? *used : (*used + 1) % 64;
    *used += n;
    return numbers + *used - n;
}

static struct attn_vector vector_of(size_t *used, size_t n)
{
    return (struct attn_vector){.data = take(used, n), .dtype = ATTN_DTYPE_F32, .n = n, .group = n};
}

static struct attn_tensor table_of(size_t *used, size_t n_row, size_t n_col)
{
    return (struct attn_tensor){.data = take(used, n_row * n_col),
                                .dtype = ATTN_DTYPE_F32,
                                .rank = 2,
                                .shape = {n_row, n_col}};
}

static struct attn_linear linear_of(size_t *used, size_t n_row, size_t n_col, bool has_bias)
{
    struct attn_linear linear = {.weight = {.data = take(used, n_row * n_col),
                                            .dtype = ATTN_DTYPE_F32,
                                            .n_row = n_row,
                                            .n_col = n_col,
                                            .row_stride = n_col,
                                            .col_stride = 1,
                                            .group = n_col}};

    if (has_bias)
        linear.bias = vector_of(used, n_col);
    return linear;
}

static struct attn_norm_weights norm_of(const struct attn_config *config, size_t *used, size_t n)
{
    struct attn_norm_weights norm = {.w = vector_of(used, n)};

    if (config->norm == ATTN_NORM_LAYERNORM)
        norm.b = vector_of(used, n);
    return norm;
}

static void fill_block(const struct attn_config *config, const struct parts *parts, size_t layer,
                       size_t *used, struct attn_block_weights *w)
{
    const size_t d = config->d_model, d_in = config->is_cross[layer] ? config->d_source : d;
    const size_t d_q = config->n_head * config->d_head, d_k = config->n_kv_head * config->d_head;
    const size_t d_v = config->n_kv_head * config->d_value, d_z = config->n_head * config->d_value;
    const bool is_normed = parts->norm != NORM_NOT, has_mlp = config->d_mlp > 0;
    const bool is_before = is_normed && config->norm_place != ATTN_NORM_POST;
    const bool is_post = is_normed && config->norm_place != ATTN_NORM_PRE;

    if (is_before)
        w->ln1 = norm_of(config, used, d);
    if (is_before && has_mlp && !config->has_single_norm)
        w->ln2 = norm_of(config, used, d);
    if (is_post)
        w->ln1_post = norm_of(config, used, d);
    if (is_post && has_mlp)
        w->ln2_post = norm_of(config, used, d);
    if (config->qk_norm != ATTN_QK_NORM_NONE) {
        const bool is_of_each = config->qk_norm == ATTN_QK_NORM_PER_HEAD;

        w->q_norm = norm_of(config, used, is_of_each ? config->d_head : d_q);
        w->k_norm = norm_of(config, used, is_of_each ? config->d_head : d_k);
    }
    if (config->has_projections) {
        w->q = linear_of(used, d, d_q, config->has_qkv_bias);
        w->k = linear_of(used, d_in, d_k, config->has_qkv_bias);
        w->v = linear_of(used, d_in, d_v, config->has_qkv_bias);
    }
    if (config->has_out_proj)
        w->out = linear_of(used, d_z, d, config->has_out_bias);
    if (has_mlp) {
        w->mlp_in = linear_of(used, d, config->d_mlp, config->has_mlp_bias);
        w->mlp_out = linear_of(used, config->d_mlp, d, config->has_mlp_bias);
    }
    if (config->has_gated_mlp)
        w->mlp_gate = linear_of(used, d, config->d_mlp, config->has_mlp_bias);
}

static void fill_weights(const struct parts *parts, struct attn_model *model)
{
    const struct attn_config *config = &model->config;
    struct attn_weights *weights = &model->weights;
    size_t used = parts->number % 64;

    weights->embed = table_of(&used, N_TOKEN, D_MODEL);
    if (config->positions == ATTN_POSITIONS_LEARNED)
        weights->positions = table_of(&used, N_CTX, D_MODEL);
    weights->blocks = attn_alloc(N_LAYER, sizeof *weights->blocks, NULL);
    ck_assert_ptr_nonnull(weights->blocks);
    for (size_t layer = 0; layer < N_LAYER; layer++)
        fill_block(config, parts, layer, &used, &weights->blocks[layer]);
    if (config->has_final_norm)
        weights->ln_final = norm_of(config, &used, D_MODEL);
    weights->unembed = linear_of(&used, D_MODEL, N_TOKEN, false);
    if (config->output == ATTN_OUTPUT_TIED) { /* the transposed embedding */
        weights->unembed.weight.data = weights->embed.data;
        weights->unembed.weight.row_stride = 1;
        weights->unembed.weight.col_stride = D_MODEL;
    }
}

struct attn_model *attn_made_up_model(size_t number, char name[ATTN_MADE_UP_NAME_SIZE])
{
    const struct parts parts = find_parts(number);
    struct attn_model *model;

    snprintf(name, ATTN_MADE_UP_NAME_SIZE, "%s; %s; %s; %s; %s", mlp_names[parts.mlp],
             norm_names[parts.norm], position_names[parts.position], heads_names[parts.heads],
             stream_names[parts.stream]);
    if (!go_together(&parts))
        return NULL;
    model = attn_alloc(1, sizeof *model, NULL);
    ck_assert_ptr_nonnull(model);
    model->work = attn_alloc(1, sizeof *model->work, NULL);
    ck_assert_ptr_nonnull(model->work);
    model->name = attn_strndup(name, strlen(name), NULL);
    set_sizes(&parts, &model->config);
    set_parts(&parts, &model->config);
    set_layers(&parts, model);
    fill_weights(&parts, model);
    return model;
}
