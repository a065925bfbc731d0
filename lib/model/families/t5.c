/*
 * t5.c - T5 and Flan-T5 as Hugging Face writes them (configuration_t5.py, modeling_t5.py): an
 * encoder, and a decoder whose layers also attend to the encoder's final rows.
 *
 *     scores = q.k + B[bucket(j - i)][h], without a scale; all layers use the table B of layer 0
 *     x += o(attention(norm(x)))
 *     x += wo(act(wi(norm(x)))), gated: wo(act(wi_0(norm(x))) * wi_1(norm(x)))
 *     logits = scale * norm(x) U^T
 *
 * Traps: cross-attention has no bias, although old files contain one; "gated-gelu" is the form with
 * tanh; H*E may differ from D; two keys determine the scale of the output.
 */
#include "attention/attention_internal.h"
#include "base/elementary.h"
#include "base/escape.h"
#include "base/memory.h"
#include "model/families/families_internal.h"

#include <math.h>
#include <string.h>

/* --- tensors ---------------------------------------------------------------------------------- */

#define ROW(name, shape, part, map)                                                                \
    TENSOR(name ".weight", shape, part, ATTN_WEIGHT_OUT_IN, WEIGHT_OF(map))
#define NORM(name, part, norm) VECTOR(name ".weight", "D", part, NORM_W(norm))
#define ATTENTION(name, kv)                                                                        \
    ROW(name ".q", "QD", ATTN_PART_PROJECTIONS, q),                                                \
        ROW(name ".k", "K" kv, ATTN_PART_PROJECTIONS, k),                                          \
        ROW(name ".v", "W" kv, ATTN_PART_PROJECTIONS, v),                                          \
        ROW(name ".o", "DZ", ATTN_PART_OUT_PROJ, out)
#define MLP(name)                                                                                  \
    NORM(name ".layer_norm", ATTN_PART_MLP_NORM, ln2),                                             \
        ROW(name ".DenseReluDense.wi_0", "FD", ATTN_PART_MLP_GATE, mlp_gate),                      \
        ROW(name ".DenseReluDense.wi_1", "FD", ATTN_PART_MLP_GATE, mlp_in),                        \
        ROW(name ".DenseReluDense.wi", "FD", ATTN_PART_MLP_PLAIN, mlp_in),                         \
        ROW(name ".DenseReluDense.wo", "DF", ATTN_PART_MLP, mlp_out)
#define BIAS ".block.0.layer.0.SelfAttention.relative_attention_bias.weight"
#define BEGIN(stack, words) words, TABLE(stack BIAS, "bH", ATTN_PART_RELATIVE_BIAS, relative_bias)
#define END(stack)                                                                                 \
    VECTOR(stack ".final_layer_norm.weight", "D", ATTN_PART_FINAL_NORM, MODEL(ln_final.w))

static const struct attn_weight_rule decoder_rules[] = {
    BEGIN("decoder", DECODER_WORDS),
    NORM("decoder.block.<.layer.0.layer_norm", ATTN_PART_NORM, ln1),
    ATTENTION("decoder.block.<.layer.0.SelfAttention", "D"),
    NORM("decoder.block.>.layer.1.layer_norm", ATTN_PART_NORM, ln1),
    ATTENTION("decoder.block.>.layer.1.EncDecAttention", "S"),
    MLP("decoder.block.>.layer.2"),
    END("decoder"),
    OUTPUT_OF("lm_head.weight"),
    IGNORED("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"),
};

static const struct attn_weight_rule encoder_rules[] = {
    BEGIN("encoder", ENCODER_WORDS),
    NORM("encoder.block.#.layer.0.layer_norm", ATTN_PART_NORM, ln1),
    ATTENTION("encoder.block.#.layer.0.SelfAttention", "D"),
    MLP("encoder.block.#.layer.1"),
    END("encoder"),
};

/* --- biases ----------------------------------------------------------------------------------- */

/* Returns the bucket of a key at DISTANCE from its query: one of n_bucket buckets for distances
 * below bucket_distance. */
static uint16_t bucket_of(const struct attn_config *config, double distance)
{
    size_t n = config->stack.n_bucket, first = 0, exact, bucket;
    const double farthest = (double)config->stack.bucket_distance;

    if (config->is_encoder) {
        n /= 2;
        first = distance > 0 ? n : 0;
        distance = fabs(distance);
    } else {
        distance = distance < 0 ? -distance : 0;
    }
    exact = n / 2;
    if (distance < (double)exact)
        return (uint16_t)(first + (size_t)distance);
    bucket = exact + (size_t)(attn_log(distance / (double)exact) /
                              attn_log(farthest / (double)exact) * (double)(n - exact));
    return (uint16_t)(first + (bucket < n - 1 ? bucket : n - 1));
}

static enum attn_status add_buckets(const struct attn_json *json, struct attn_config *config,
                                    struct attn_config_layers *layers, struct attn_error *err)
{
    enum { MOST = 1 << 15 };
    const struct attn_node *root = attn_json_root(json);
    size_t far;

    config->stack.n_bucket = 32;
    config->stack.bucket_distance = 128;
    ATTN_TRY(attn_json_get_size(json, root, "relative_attention_num_buckets", 4, MOST,
                                &config->stack.n_bucket, err));
    ATTN_TRY(attn_json_get_size(json, root, "relative_attention_max_distance", 2, MOST,
                                &config->stack.bucket_distance, err));
    far = config->stack.bucket_distance;
    if (config->stack.n_bucket % 2 != 0 || far <= config->stack.n_bucket / 2)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "'%s' has %zu buckets for distances up to %zu, expected an even "
                              "number, and more than half as many distances",
                              attn_config_quote(json).text, config->stack.n_bucket, far);
    layers->buckets = attn_alloc(2 * far + 1, sizeof *layers->buckets, err);
    if (!layers->buckets)
        return ATTN_NO_MEMORY;
    layers->bias = attn_alloc(
        1, sizeof *layers->bias + config->n_head * (2 * far + 1) * sizeof *layers->bias->slopes,
        err);
    if (!layers->bias)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; i <= 2 * far; i++)
        layers->buckets[i] = bucket_of(config, (double)i - (double)far);
    layers->bias->farthest = far;
    for (size_t layer = 0; layer < config->n_layer; layer++)
        layers->attention[layer].bias = layers->is_cross[layer] ? NULL : layers->bias;
    return ATTN_OK;
}

/* --- configs ---------------------------------------------------------------------------------- */

/* Reads the activation, "ACT" or "gated-ACT". transformers derives two keys from it, which take
 * precedence if a file has them. */
static enum attn_status read_activation(const struct attn_json *json, struct attn_config *config,
                                        struct attn_error *err)
{
    static const char gated[] = "gated-";
    const struct attn_node *root = attn_json_root(json);
    const char *name = "relu";

    ATTN_TRY(attn_json_get_string(json, root, "feed_forward_proj", &name, err));
    config->has_gated_mlp = strncmp(name, gated, strlen(gated)) == 0;
    if (config->has_gated_mlp)
        name += strlen(gated);
    if (config->has_gated_mlp && strcmp(name, "gelu") == 0)
        name = "gelu_new";
    ATTN_TRY(attn_json_get_string(json, root, "dense_act_fn", &name, err));
    ATTN_TRY(attn_json_get_bool(json, root, "is_gated_act", &config->has_gated_mlp, err));
    return attn_config_set_activation(json, &config->act_fn, "feed_forward_proj", name, err);
}

/* Reads the config of the encoder or of the decoder. */
static enum attn_status read_stack(ATTN_CONFIG_ARGS)
{
    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    ATTN_TRY(read_activation(json, config, err));
    for (size_t layer = 0; layer < config->n_layer; layer++)
        layers->attention[layer].is_scaled = false;
    if (config->stack.has_encoder)
        attn_config_pair_layers(config, layers);
    else
        config->output = ATTN_OUTPUT_NONE;
    return add_buckets(json, config, layers, err);
}

static enum attn_status read_decoder(ATTN_CONFIG_ARGS)
{
    const struct attn_node *root = attn_json_root(json);
    bool is_scaled;

    ATTN_TRY(
        attn_json_get_size(json, root, "num_layers", 1, ATTN_MAX_LAYER, &config->n_layer, err));
    ATTN_TRY(read_stack(json, form, config, layers, err));
    is_scaled = config->output == ATTN_OUTPUT_TIED;
    ATTN_TRY(attn_config_get_truth(json, root, "scale_decoder_outputs", &is_scaled, err));
    if (is_scaled)
        config->logits_scale = 1 / sqrt((double)config->d_model);
    config->output = ATTN_OUTPUT_TIED; /* if the file has an output matrix, that is used */
    return ATTN_OK;
}

/* Trap: an absent num_decoder_layers means num_layers. */
#define NAMES(layers)                                                                              \
    .n_vocab = "vocab_size", .d_model = "d_model", .d_mlp = "d_ff", .n_layer = (layers),           \
    .n_head = "num_heads"

static const struct attn_config_names decoder_names = {NAMES("num_decoder_layers")};
static const struct attn_config_names encoder_names = {NAMES("num_layers")};

#define DEFAULTS                                                                                   \
    ATTN_BLOCK, .norm = ATTN_NORM_RMSNORM, .norm_eps = 1e-6F, .act_fn = "relu", .n_vocab = 32128,  \
                .d_model = 512, .d_head = 64, .d_mlp = 2048, .n_layer = 6, .n_head = 8,            \
                .n_ctx = SIZE_MAX, .output = ATTN_OUTPUT_TIED
#define KEYS                                                                                       \
    .is_of_two_stacks = true, .has_no_heads_keys = true, .width_key = "d_kv",                      \
    .eps_key = "layer_norm_epsilon"

static const struct attn_family t5_encoder = {
    FAMILY("t5", NULL, NULL, encoder_rules), .read_config = read_stack,
    .form = {KEYS, .names = &encoder_names, .defaults = {DEFAULTS, .is_encoder = true}}};

const struct attn_family attn_family_t5 = {
    FAMILY("t5", "T5For", NULL, decoder_rules), .read_config = read_decoder, .encoder = &t5_encoder,
    .form = {KEYS, .names = &decoder_names, .defaults = {DEFAULTS, .stack.has_encoder = true}}};
