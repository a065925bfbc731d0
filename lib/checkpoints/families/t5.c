/*
 * t5.c - T5, Flan-T5, mT5 and UMT5 as Hugging Face writes them (configuration_t5.py,
 * modeling_t5.py, and the files of mt5 and umt5): an encoder, and a decoder whose layers also
 * attend to the encoder's final rows.
 *
 *     scores = q.k + B[bucket(j - i)][h], without a scale; all layers use the table B of layer 0,
 *         except in UMT5, where each has its own
 *     x += o(attention(norm(x)))
 *     x += wo(act(wi(norm(x)))), gated: wo(act(wi_0(norm(x))) * wi_1(norm(x)))
 *     logits = scale * norm(x) U^T
 *
 * Traps: cross-attention has no bias, although old files contain one; "gated-gelu" is the form with
 * tanh; H*E may differ from D; two keys determine the scale of the output.
 */
#include "attention/attention_internal.h"
#include "base/elementary.h"
#include "base/memory.h"
#include "families/families_internal.h"

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
#define BIAS ".layer.0.SelfAttention.relative_attention_bias.weight"
/* Of all layers, or in each. */
#define COMMON(stack) TABLE(stack ".block.0" BIAS, "bH", ATTN_PART_RELATIVE_BIAS, relative_bias)
#define OWN(layer)                                                                                 \
    TENSOR(layer BIAS, "bH", ATTN_PART_RELATIVE_BIAS, ATTN_WEIGHT_TENSOR, BLOCK(relative_bias))
#define END(stack)                                                                                 \
    VECTOR(stack ".final_layer_norm.weight", "D", ATTN_PART_FINAL_NORM, MODEL(ln_final.w))

#define DECODER(bias)                                                                              \
    DECODER_WORDS, bias, NORM("decoder.block.<.layer.0.layer_norm", ATTN_PART_NORM, ln1),          \
        ATTENTION("decoder.block.<.layer.0.SelfAttention", "D"),                                   \
        NORM("decoder.block.>.layer.1.layer_norm", ATTN_PART_NORM, ln1),                           \
        ATTENTION("decoder.block.>.layer.1.EncDecAttention", "S"), MLP("decoder.block.>.layer.2"), \
        END("decoder"), OUTPUT_OF("lm_head.weight"),                                               \
        IGNORED("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight")
#define ENCODER(bias)                                                                              \
    ENCODER_WORDS, bias, NORM("encoder.block.#.layer.0.layer_norm", ATTN_PART_NORM, ln1),          \
        ATTENTION("encoder.block.#.layer.0.SelfAttention", "D"), MLP("encoder.block.#.layer.1"),   \
        END("encoder")

static const struct attn_weight_rule t5_decoder[] = {DECODER(COMMON("decoder"))},
                                     t5_encoder[] = {ENCODER(COMMON("encoder"))},
                                     umt5_decoder[] = {DECODER(OWN("decoder.block.<"))},
                                     umt5_encoder[] = {ENCODER(OWN("encoder.block.#"))};

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

enum attn_status attn_family_add_buckets(const struct attn_json *json, struct attn_config *config,
                                         struct attn_config_layers *layers, struct attn_error *err)
{
    const size_t n_bias = config->stack.has_bias_in_layers ? config->n_layer : 1;
    const size_t far = config->stack.bucket_distance;

    if (config->stack.n_bucket % 2 != 0 || far <= config->stack.n_bucket / 2)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "'%s' has %zu buckets for distances up to %zu, expected an even "
                              "number, and more than half as many distances",
                              attn_config_quote(json).text, config->stack.n_bucket, far);
    ATTN_TRY(ATTN_ALLOC(layers->buckets, 2 * far + 1, err));
    layers->bias_size = (sizeof *layers->bias +
                         config->n_head * (2 * far + 1) * sizeof *layers->bias->slopes + 63) /
                        64 * 64;
    ATTN_TRY(ATTN_NEW(layers->bias, attn_alloc(n_bias, layers->bias_size, err)));
    for (size_t i = 0; i <= 2 * far; i++)
        layers->buckets[i] = bucket_of(config, (double)i - (double)far);
    for (size_t i = 0; i < n_bias; i++)
        attn_config_bias(layers, i)->farthest = far;
    for (size_t layer = 0; layer < config->n_layer; layer++)
        layers->attention[layer].bias =
            layers->is_cross[layer] ? NULL : attn_config_bias(layers, layer % n_bias);
    return ATTN_OK;
}

/* Reads the keys of the buckets. */
static enum attn_status read_buckets(const struct attn_json *json, struct attn_config *config,
                                     struct attn_config_layers *layers, struct attn_error *err)
{
    enum { MOST = 1 << 15 };
    const struct attn_node *root = attn_json_root(json);

    ATTN_TRY(attn_json_get_size(json, root, "relative_attention_num_buckets", 4, MOST,
                                &config->stack.n_bucket, err));
    ATTN_TRY(attn_json_get_size(json, root, "relative_attention_max_distance", 2, MOST,
                                &config->stack.bucket_distance, err));
    return attn_family_add_buckets(json, config, layers, err);
}

/* --- configs ---------------------------------------------------------------------------------- */

/* Reads the activation, "ACT" or "gated-ACT". transformers derives two keys from it, which take
 * precedence if a file has them. */
static enum attn_status read_activation(const struct attn_json *json, struct attn_config *config,
                                        struct attn_error *err)
{
    static const char gated[] = "gated-";
    const struct attn_node *root = attn_json_root(json);
    const char *name = config->has_gated_mlp ? "gated-gelu" : "relu";

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
    return read_buckets(json, config, layers, err);
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
    if (form->defaults.has_gated_mlp) /* mT5 and UMT5, whose config says nothing about it */
        is_scaled = config->stack.has_bias_in_layers;
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
    ATTN_BLOCK, .norm = ATTN_NORM_RMSNORM, .norm_eps = 1e-6F, .act_fn = "relu", .d_model = 512,    \
                .d_head = 64, .n_ctx = SIZE_MAX, .output = ATTN_OUTPUT_TIED, .stack.n_bucket = 32, \
                .stack.bucket_distance = 128
#define T5 DEFAULTS, .n_vocab = 32128, .d_mlp = 2048, .n_layer = 6, .n_head = 8
#define MT5                                                                                        \
    DEFAULTS, .n_vocab = 250112, .d_mlp = 1024, .n_layer = 8, .n_head = 6, .has_gated_mlp = true
#define UMT5 MT5, .stack.has_bias_in_layers = true
#define KEYS                                                                                       \
    .is_of_two_stacks = true, .has_no_heads_keys = true, .width_key = "d_kv",                      \
    .eps_key = "layer_norm_epsilon"

/* Defines a family: its model_type, the begin of `architectures`, its two tables, its defaults. */
#define STACKS(id, what, its_decoder, its_encoder, parts)                                          \
    static const struct attn_family id##_stack = {                                                 \
        FAMILY(#id, NULL, NULL, its_encoder), .read_config = read_stack,                           \
        .form = {KEYS, .names = &encoder_names, .defaults = {parts, .is_encoder = true}}};         \
    const struct attn_family attn_family_##id = {                                                  \
        FAMILY(#id, what, NULL, its_decoder), .read_config = read_decoder, .encoder = &id##_stack, \
        .form = {KEYS, .names = &decoder_names, .defaults = {parts, .stack.has_encoder = true}}}

STACKS(t5, "T5For", t5_decoder, t5_encoder, T5);
/* mT5 never scales its output, and UMT5 always does. */
STACKS(mt5, "MT5For", t5_decoder, t5_encoder, MT5);
STACKS(umt5, "UMT5For", umt5_decoder, umt5_encoder, UMT5);
