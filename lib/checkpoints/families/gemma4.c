/*
 * gemma4.c - Gemma 4 of E2B, E4B, 31B and 26B-A4B (configuration_gemma4.py, modeling_gemma4.py of
 * transformers 5.23): Gemma 3's block, with wider heads and fewer keys in layers without a window.
 *
 *     v = rms(n W_v), without weights; or in wide layers rms(n W_k), of k before its norm
 *     scores = rot_q . rot_k, not scaled
 *     resid_post = (mid + mlp_out + per_layer_out) * layer_scalar    (forward/layer_inputs.c)
 *
 * In 26B-A4B each layer has experts beside its MLP (forward/step_experts.c).
 *
 * Traps: norms multiply by w, not 1 + w. The last layer has no window whatever `layer_types` says.
 * The last layers attend to the keys and values of the last one before them of their kind, and may
 * have them in the file. In `per_layer_config` are the sizes of single layers, which win over
 * `global_head_dim` and `num_global_key_value_heads`; the latter counts only where values are keys.
 */
#include "families/llama_internal.h"

#include "base/memory.h"
#include "trace/site_set.h"

#include <stdio.h>
#include <string.h>

#define SELF "layers.#.self_attn."
#define LAYER_MAP(name, shape, map)                                                                \
    TENSOR("layers.#." name ".weight", shape, ATTN_PART_LAYER_INPUT, ATTN_WEIGHT_OUT_IN,           \
           WEIGHT_OF(map))

#define SHARED(name, shape, map)                                                                   \
    TENSOR("layers.#.mlp." name ".weight", shape, ATTN_PART_SHARED_EXPERT, ATTN_WEIGHT_OUT_IN,     \
           WEIGHT_OF(map))

static const struct attn_weight_rule rules[] = {
    EMBEDDING_OF("embed_tokens.weight"),
    TABLE("embed_tokens_per_layer.weight", "%!", ATTN_PART_LAYER_INPUT, layer_inputs),
    MATRIX("per_layer_model_projection.weight", "!D", ATTN_PART_LAYER_INPUT, layer_map),
    VECTOR("per_layer_projection_norm.weight", "x", ATTN_PART_LAYER_INPUT, MODEL(ln_layer_input.w)),
    LINEAR(SELF "q_proj", "QD", ATTN_PART_PROJECTIONS, "Q", ATTN_PART_QKV_BIAS, q),
    LINEAR(SELF "k_proj", "KD", ATTN_PART_KEYS, "K", ATTN_PART_KEY_BIAS, k),
    LINEAR(SELF "v_proj", "WD", ATTN_PART_VALUES, "W", ATTN_PART_VALUE_BIAS, v),
    VECTOR(SELF "q_norm.weight", "E", ATTN_PART_QK_NORM, NORM_W(q_norm)),
    VECTOR(SELF "k_norm.weight", "E", ATTN_PART_KEY_NORM, NORM_W(k_norm)),
    OUT_MAP(SELF "o_proj"),
    GATED_MLP,
    SHARED("gate_proj", "sD", shared.gate),
    SHARED("up_proj", "sD", shared.in),
    SHARED("down_proj", "Ds", shared.out),
    TENSOR("layers.#.router.proj.weight", "nD", ATTN_PART_ROUTER, ATTN_WEIGHT_OUT_IN,
           WEIGHT_OF(router)),
    VECTOR("layers.#.router.scale", "D", ATTN_PART_EXPERT_NORMS, NORM_W(router_norm)),
    VECTOR("layers.#.router.per_expert_scale", "n", ATTN_PART_EXPERT_NORMS, BLOCK(expert_scale)),
    NORM("pre_feedforward_layernorm_2", ATTN_PART_EXPERT_NORMS, experts_norm),
    NORM("post_feedforward_layernorm_1", ATTN_PART_EXPERT_NORMS, shared_post),
    NORM("post_feedforward_layernorm_2", ATTN_PART_EXPERT_NORMS, experts_post),
    FUSED("layers.#.experts.gate_up_proj", "njD", ATTN_PART_EXPERTS, GATED_ROWS),
    TENSOR("layers.#.experts.down_proj", "nDf", ATTN_PART_EXPERTS, ATTN_WEIGHT_OUT_IN,
           WEIGHT_OF(mlp_out)),
    LAYER_MAP("per_layer_input_gate", "xD", layer_gate),
    LAYER_MAP("per_layer_projection", "Dx", layer_out),
    NORM("post_per_layer_input_norm", ATTN_PART_LAYER_INPUT, layer_norm),
    VECTOR("layers.#.layer_scalar", "1", ATTN_PART_LAYER_SCALAR, BLOCK(scalar)),
    NORMS("pre_feedforward_layernorm", "post_attention_layernorm", "post_feedforward_layernorm"),
    END};

/* The keys about the sizes of layers without a window. */
struct wide {
    size_t d_head, n_kv_head;
};

/* Reads the sizes that `per_layer_config` has for single layers. */
static enum attn_status read_single(const struct attn_json *json, const struct attn_node *single,
                                    const struct attn_config *config,
                                    struct attn_config_layers *layers, struct attn_error *err)
{
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        const struct attn_node *own = NULL;
        char key[24];

        snprintf(key, sizeof key, "%zu", layer);
        ATTN_TRY(attn_config_find_object(json, single, key, &own, err));
        if (!own)
            continue;
        ATTN_TRY(attn_json_get_size(json, own, "head_dim", 1, ATTN_MAX_WIDTH,
                                    &layers->dims[layer].d_head, err));
        ATTN_TRY(attn_json_get_size(json, own, "num_key_value_heads", 1, ATTN_MAX_WIDTH,
                                    &layers->dims[layer].n_kv_head, err));
    }
    return ATTN_OK;
}

/* Reads the sizes of all layers. */
static enum attn_status read_layers(const struct attn_json *json, struct attn_config *config,
                                    struct attn_config_layers *layers, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json), *single = NULL;
    size_t d_head = 512, n_kv_head = config->n_kv_head;

    ATTN_TRY(ATTN_ALLOC(layers->dims, config->n_layer, err));
    config->layer_dims = layers->dims;
    ATTN_TRY(attn_config_find_object(json, root, "per_layer_config", &single, err));
    ATTN_TRY(attn_config_get_width(json, "global_head_dim", &d_head, err));
    if (config->has_keys_as_values)
        ATTN_TRY(attn_config_get_width(json, "num_global_key_value_heads", &n_kv_head, err));
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        const bool is_wide = !attn_node_find(root, "per_layer_config") &&
                             layers->attention[layer].kind == ATTN_ATTENTION_FULL;

        layers->dims[layer] =
            (struct attn_layer_dims){.n_kv_head = is_wide ? n_kv_head : config->n_kv_head,
                                     .d_head = is_wide ? d_head : config->d_head,
                                     .d_mlp = config->d_mlp,
                                     .kv_layer = layer,
                                     .d_input = config->d_layer_input};
    }
    if (single)
        ATTN_TRY(read_single(json, single, config, layers, err));
    for (size_t layer = 0; layer < config->n_layer; layer++)
        ATTN_TRY(attn_config_check_divides(json, "num_key_value_heads",
                                           layers->dims[layer].n_kv_head, "num_attention_heads",
                                           config->n_head, err));
    return ATTN_OK;
}

/* Makes the last layers share the keys and values of earlier ones. */
static enum attn_status share_keys(const struct attn_json *json, const struct attn_config *config,
                                   struct attn_config_layers *layers, struct attn_error *err)
{
    const char *key = "num_kv_shared_layers";
    bool is_wide = false;
    size_t n = 0, first;

    ATTN_TRY(attn_json_get_size(json, attn_json_root(json), key, 0, ATTN_MAX_LAYER, &n, err));
    ATTN_TRY(attn_json_get_bool(json, attn_json_root(json), "use_double_wide_mlp", &is_wide, err));
    if (n >= config->n_layer)
        return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, key,
                                "is %zu, expected less than the %zu layers", n, config->n_layer);
    first = config->n_layer - n;
    for (size_t layer = first; layer < config->n_layer; layer++) {
        struct attn_layer_dims *own = &layers->dims[layer];
        size_t from = first;

        while (from-- > 0 && layers->attention[from].kind != layers->attention[layer].kind)
            continue;
        if (from >= first)
            return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, key,
                                    "is %zu, but no layer before them has the keys of layer %zu", n,
                                    layer);
        if (layers->dims[from].d_head != own->d_head ||
            layers->dims[from].n_kv_head != own->n_kv_head)
            return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, key,
                                    "is %zu, but layers %zu and %zu have keys of other sizes", n,
                                    from, layer);
        own->kv_layer = from;
        own->d_mlp *= is_wide ? 2 : 1;
    }
    return ATTN_OK;
}

/* Makes the sizes of the config the largest of all layers. */
static void find_largest(struct attn_config *config)
{
    config->n_kv_head = config->d_head = 0;
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        const struct attn_layer_dims *own = &config->layer_dims[layer];

        config->n_kv_head = own->n_kv_head > config->n_kv_head ? own->n_kv_head : config->n_kv_head;
        config->d_head = own->d_head > config->d_head ? own->d_head : config->d_head;
        config->d_mlp = own->d_mlp > config->d_mlp ? own->d_mlp : config->d_mlp;
    }
    config->d_value = config->d_head;
}

enum attn_status attn_family_check_ropes(const struct attn_json *json,
                                         const struct attn_config *config,
                                         const struct attn_config_layers *layers, bool needs_theta,
                                         struct attn_error *err)
{
    static const char *const kinds[] = {"full_attention", "sliding_attention"};
    const struct attn_node *all = NULL, *own = NULL;

    ATTN_TRY(attn_config_find_object(json, attn_json_root(json), "rope_parameters", &all, err));
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        const char *kind = kinds[layers->attention[layer].kind == ATTN_ATTENTION_WINDOW];
        const enum attn_rope_type type = layers->rope[layer].type;

        if (all)
            ATTN_TRY(attn_config_find_object(json, all, kind, &own, err));
        if (attn_config_is_mixer(config, layer))
            continue;
        if (all && !own)
            return attn_error_set(err, ATTN_UNSUPPORTED,
                                  "'%s' is missing in 'rope_parameters' in '%s'", kind,
                                  attn_config_quote(json).text);
        if (all && needs_theta && !attn_config_find_given(own, "rope_theta"))
            return attn_error_set(err, ATTN_UNSUPPORTED,
                                  "'rope_theta' is missing in '%s' of 'rope_parameters' in '%s'",
                                  kind, attn_config_quote(json).text);
        if (type != ATTN_ROPE_DEFAULT && type != ATTN_ROPE_LINEAR && type != ATTN_ROPE_PROPORTIONAL)
            return attn_error_set(err, ATTN_UNSUPPORTED,
                                  "'rope_type' of '%s' in '%s' is not one of 'default', 'linear' "
                                  "and 'proportional', which models of type '%s' have here",
                                  kind, attn_config_quote(json).text, config->model_type);
    }
    return ATTN_OK;
}

/* Refuses what models of this type may have and is not read. */
static enum attn_status refuse_parts(const struct attn_json *json, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    const struct attn_node *both = attn_config_find_given(root, "use_bidirectional_attention");
    const char *word = both ? attn_node_string(both) : NULL;

    if (!both || (word && strcmp(word, "vision") == 0)) /* positions of a picture see each other */
        return ATTN_OK;
    return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, "use_bidirectional_attention",
                            "is set, which this version does not support");
}

/* Reads the inputs of layers. */
static enum attn_status read_inputs(const struct attn_json *json, struct attn_config *config,
                                    struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    const char *keys[] = {"hidden_size_per_layer_input", "vocab_size_per_layer_input"};

    config->n_layer_token = 262144;
    config->d_layer_input = attn_node_find(root, keys[0]) ? 0 : 256;
    ATTN_TRY(
        attn_json_get_size(json, root, keys[0], 0, ATTN_MAX_WIDTH, &config->d_layer_input, err));
    ATTN_TRY(
        attn_json_get_size(json, root, keys[1], 1, ATTN_MAX_VOCAB, &config->n_layer_token, err));
    if (config->d_layer_input == 0 || config->n_layer_token >= config->n_vocab)
        return ATTN_OK;
    return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, keys[1], "is %zu, less than 'vocab_size'",
                            config->n_layer_token);
}

/* Reads the mixture of experts beside the MLP, which is then the expert that every token uses. */
static enum attn_status read_experts(const struct attn_json *json, struct attn_config *config,
                                     struct attn_config_layers *layers, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    const struct {
        const char *key;
        size_t most, *value;
    } sizes[] = {{"num_experts", ATTN_MAX_LAYER, &config->n_expert},
                 {"top_k_experts", ATTN_MAX_LAYER, &config->n_expert_used},
                 {"moe_intermediate_size", ATTN_MAX_WIDTH, &config->d_expert}};

    ATTN_TRY(attn_json_get_bool(json, root, "enable_moe_block", &config->has_expert_norms, err));
    if (!config->has_expert_norms)
        return ATTN_OK;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        ATTN_TRY(
            attn_json_get_size(json, root, sizes[i].key, 1, sizes[i].most, sizes[i].value, err));
        if (*sizes[i].value == 0)
            return attn_error_set(err, ATTN_UNSUPPORTED,
                                  "'%s' is missing in '%s', which has 'enable_moe_block'",
                                  sizes[i].key, attn_config_quote(json).text);
    }
    if (config->n_expert_used > config->n_expert)
        return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, "top_k_experts", "is %zu of %zu experts",
                                config->n_expert_used, config->n_expert);
    for (size_t layer = 0; layer < config->n_layer; layer++)
        if (layers->dims[layer].d_mlp != config->d_mlp)
            return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, "use_double_wide_mlp",
                                    "is set beside 'enable_moe_block'");
    config->d_shared_expert = config->d_mlp;
    config->expert_weights = ATTN_EXPERTS_SOFTMAX_ALL_NORMALIZED;
    attn_config_lack_mixtures(config, layers);
    return ATTN_OK;
}

static enum attn_status read_gemma4(ATTN_CONFIG_ARGS)
{
    const struct attn_site_set of_keys = ATTN_SITES(ATTN_SITE_K, ATTN_SITE_V, ATTN_SITE_ROT_K);

    ATTN_TRY(refuse_parts(json, err));
    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    layers->attention[config->n_layer - 1].kind = ATTN_ATTENTION_FULL;
    layers->attention[config->n_layer - 1].window = 0;
    config->has_key_bias = config->has_qkv_bias;
    attn_config_set_factor(config, layers, 1);
    ATTN_TRY(read_inputs(json, config, err));
    ATTN_TRY(read_layers(json, config, layers, err));
    ATTN_TRY(share_keys(json, config, layers, err));
    ATTN_TRY(attn_config_read_rope(json, form, config, layers, err));
    ATTN_TRY(attn_family_check_ropes(json, config, layers, true, err));
    for (size_t layer = 0; layer < config->n_layer; layer++) /* after the positions that turn */
        if (attn_config_shares_keys(config, layer))
            attn_config_lack(layers, layer, of_keys);
    ATTN_TRY(read_experts(json, config, layers, err));
    find_largest(config);
    return ATTN_OK;
}

static const struct attn_rope proportional = {.type = ATTN_ROPE_PROPORTIONAL, .theta = 1e6};

const struct attn_family attn_family_gemma4_text = {
    FAMILY("gemma4_text", "Gemma4For", "model.", rules), .read_config = read_gemma4,
    .gguf = &(const struct attn_gguf_form){"gemma4", .default_window = 512, .has_lists = true,
                                           .layers_differ = true},
    .form = {.activation_key = "hidden_activation",
             .eps_key = "rms_norm_eps",
             .is_embedding_scaled = true,
             .sees_prompt = true,
             .may_have_experts = true,
             .replaces_parts = true,
             ATTN_SWITCHES(ATTN_ATTENTION_BIAS, ATTN_FACTOR("final_logit_softcapping", logits_cap),
                           ATTN_FLAG("attention_k_eq_v", has_keys_as_values)),
             .windows = {ATTN_WINDOWS_BY_LIST, .width = 512, .full_every = 6},
             /* read by read_gemma4, after the sizes of layers */
             .rope = {.default_theta = 1e6,
                      .default_partial = 1,
                      .share_without_object = 0.25,
                      .without_object = &proportional},
             .rope_of_windows = {.default_theta = 1e4, .default_partial = 1},
             .defaults = {GATED_BLOCK, .act_fn = "gelu_pytorch_tanh", .norm = ATTN_NORM_RMSNORM,
                          .norm_place = ATTN_NORM_AROUND, .output = ATTN_OUTPUT_TIED,
                          .qk_norm = ATTN_QK_NORM_PER_HEAD, .has_value_norm = true,
                          .has_layer_scalar = true,
                          SIZES(262144, 2304, 9216, 30, 8, 4, 256, 131072, 1e-6F)}}};
