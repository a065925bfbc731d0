/*
 * nanochat_family.c - nanochat as transformers writes it (configuration_nanochat.py,
 * modeling_nanochat.py), which is its version of October 2025: no norm has weights, the rows of the
 * embedding are normalized, too, q and k are normalized after rotation, and logits are capped. The
 * keys `resid_lambdas` and on are of trained.c, for checkpoints of 2026 (nanochat_stream.c).
 *
 *     x = x + o(attention(rms(x)));  x = x + fc2(relu(fc1(rms(x)))^2);  logits = 15 tanh(l / 15)
 *
 * Trap: it turns by the angles of Llama with the sign reversed, (a cos + b sin, b cos - a sin).
 */
#include "foreign/nanochat_stream.h"

#include "base/text/number.h"
#include "families/families_internal.h"
#include "model/config_internal.h"

#include <string.h>

static const struct attn_weight_rule rules[] = {
    EMBEDDING_OF("embed_tokens.weight"),
    THREE_MAPS("layers.#.self_attn.", "_proj"),
    OUT_MAP("layers.#.self_attn.o_proj"),
    PLAIN_MLP("layers.#.mlp.", "fc1", "fc2"),
    TENSOR("/value_embeds.#.weight", "VK", ATTN_PART_STREAM, ATTN_WEIGHT_TENSOR,
           BLOCK(value_table)),
    TENSOR("layers.#.self_attn.ve_gate.weight", "G^", ATTN_PART_STREAM, ATTN_WEIGHT_TENSOR,
           BLOCK(value_gate)),
    VECTOR("/resid_lambdas", "*", ATTN_PART_STREAM, MODEL(stream_scales)),
    VECTOR("/x0_lambdas", "*", ATTN_PART_STREAM, MODEL(embed_scales)),
    VECTOR("/smear_lambda", "1", ATTN_PART_STREAM, MODEL(previous_scale)),
    VECTOR("/backout_lambda", "1", ATTN_PART_STREAM, MODEL(backout_scale)),
    TABLE("/smear_gate.weight", "1~", ATTN_PART_STREAM, previous_gate),
    OUTPUT_OF("/lm_head.weight"),
};

/* Reads the windows of the layers, numbers of keys with a comma after each. */
static enum attn_status read_windows(const struct attn_json *json, size_t n_layer,
                                     struct attn_config_layers *layers, struct attn_error *err)
{
    const char *at = "";
    int64_t width;

    ATTN_TRY(attn_json_get_string(json, attn_json_root(json), "layer_windows", &at, err));
    for (size_t layer = 0; layer < n_layer; layer++) {
        const size_t n = strcspn(at, ",");

        if (!attn_parse_int(at, n, 1, ATTN_MAX_CTX, &width) || at[n] != ',')
            return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, "layer_windows",
                                    "has no width for layer %zu", layer);
        attn_config_set_window(&layers->attention[layer], (size_t)width);
        at += n + 1;
    }
    return ATTN_OK;
}

/* Reads what versions of 2026 have. */
static enum attn_status read_stream(const struct attn_json *json, struct attn_config *config,
                                    struct attn_config_layers *layers, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    bool has_lambdas = false;

    ATTN_TRY(attn_json_get_bool(json, root, "resid_lambdas", &has_lambdas, err));
    if (!has_lambdas)
        return ATTN_OK;
    config->stream = &attn_nanochat_stream;
    config->n_stream_gate = ATTN_N_SMEAR;
    ATTN_TRY(attn_json_get_size(json, root, "ve_gate_channels", 1, config->d_model,
                                &config->n_value_gate, err));
    ATTN_TRY(attn_json_get_double(json, root, "ve_factor", 0, 100, &config->value_factor, err));
    ATTN_TRY(attn_json_get_double(json, root, "qk_scale", 0, 100, &config->qk_scale, err));
    return read_windows(json, config->n_layer, layers, err);
}

static enum attn_status read_nanochat(ATTN_CONFIG_ARGS)
{
    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    if (config->d_head > config->d_model) /* norms share the weights 1 of the stream */
        return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, "head_dim",
                                "is %zu, expected at most 'hidden_size' %zu", config->d_head,
                                config->d_model);
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        struct attn_rope *rope = &layers->rope[layer];

        if (rope->type != ATTN_ROPE_DEFAULT)
            return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, "rope_type",
                                    "is not 'default', which a nanochat has");
        rope->type = ATTN_ROPE_LINEAR;
        rope->factor = -1;
    }
    return read_stream(json, config, layers, err);
}

const struct attn_family attn_family_nanochat = {
    FAMILY("nanochat", "NanoChatFor", "model.", rules), .read_config = read_nanochat,
    .form = {.activation_key = "hidden_act",
             .eps_key = "rms_norm_eps",
             ROPE(10000, 1),
             ATTN_SWITCHES(ATTN_ATTENTION_BIAS, ATTN_FACTOR("final_logit_softcapping", logits_cap)),
             .defaults = {ATTN_BLOCK, .norm = ATTN_NORM_RMSNORM_NO_WEIGHT, .has_embed_norm = true,
                          .qk_norm = ATTN_QK_NORM_PER_HEAD, .qk_norm_is_late = true,
                          .act_fn = "relu2", .output = ATTN_OUTPUT_OWN, .logits_cap = 15,
                          SIZES(50304, 768, 8192, 12, 6, 0, 0, 2048, 1e-6F)}}};
