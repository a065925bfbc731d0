/*
 * nanochat_family.c - nanochat as transformers writes it (configuration_nanochat.py,
 * modeling_nanochat.py), which is its version of October 2025: no norm has weights, the rows of the
 * embedding are normalized, too, q and k are normalized after rotation, and logits are capped.
 *
 *     x = x + o(attention(rms(x)));  x = x + fc2(relu(fc1(rms(x)))^2);  logits = 15 tanh(l / 15)
 *
 * Trap: it turns by the angles of Llama with the sign reversed, (a cos + b sin, b cos - a sin).
 */
#include "model/config_internal.h"
#include "model/families/families_internal.h"

static const struct attn_weight_rule rules[] = {
    EMBEDDING_OF("embed_tokens.weight"),  THREE_MAPS("layers.#.self_attn.", "_proj"),
    OUT_MAP("layers.#.self_attn.o_proj"), PLAIN_MLP("layers.#.mlp.", "fc1", "fc2"),
    OUTPUT_OF("/lm_head.weight"),
};

static enum attn_status read_nanochat(ATTN_CONFIG_ARGS)
{
    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    if (config->d_head > config->d_model) /* norms share the weights 1 of the stream */
        return attn_json_refuse(json, err, ATTN_UNSUPPORTED, "head_dim",
                                "is %zu, expected at most 'hidden_size' %zu", config->d_head,
                                config->d_model);
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        struct attn_rope *rope = &layers->rope[layer];

        if (rope->type != ATTN_ROPE_DEFAULT)
            return attn_json_refuse(json, err, ATTN_UNSUPPORTED, "rope_type",
                                    "is not 'default', which a nanochat has");
        rope->type = ATTN_ROPE_LINEAR;
        rope->factor = -1;
    }
    return ATTN_OK;
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
