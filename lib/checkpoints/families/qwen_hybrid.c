/*
 * qwen_hybrid.c - the decoder of Qwen 3.5 (modeling_qwen3_5.py of transformers 5.23): three layers
 * of Gated DeltaNet (forward/mixer.c), then one of attention whose heads have gates.
 *
 * Traps: norms multiply by 1 + w, those of q and k too, but not that of Gated DeltaNet. q_proj has
 * the rows of a head's queries, then those of its gate. A quarter of a head is rotated; the
 * sections of positions are those of pictures, and change nothing for a text.
 */
#include "families/mamba_internal.h"

static const struct attn_weight_rule rules[] = {EMBEDDING_OF("embed_tokens.weight"),
                                                GATED_QKV,
                                                QK_NORM,
                                                OUT_MAP("layers.#.self_attn.o_proj"),
                                                DELTA_MAP("in_proj_qkv", "qD", mixer_in),
                                                DELTA_MAP("in_proj_z", "lD", mixer_gate),
                                                DELTA_MAP("in_proj_b", "gD", mixer_beta),
                                                DELTA_MAP("in_proj_a", "gD", mixer_decay),
                                                DELTA_REST,
                                                GATED_MLP,
                                                NORMS_OF_LLAMA,
                                                END};

const struct attn_config_extra attn_family_delta_refused[] = {{"attn_output_gate", ATTN_WISH_FALSE},
                                                              {.key = NULL}};

enum attn_status attn_family_read_delta(const struct attn_json *json, struct attn_config *config,
                                        struct attn_config_layers *layers, struct attn_error *err)
{
    static const char *const words[] = {"full_attention", "linear_attention"};
    struct attn_mixer_dims mixer = {.kind = ATTN_MIXER_DELTA,
                                    .n_head = 32,
                                    .n_key_head = 16,
                                    .d_key = 128,
                                    .d_value = 128,
                                    .n_tap = 4};
    const struct {
        const char *key;
        size_t *width;
    } widths[] = {{"linear_num_value_heads", &mixer.n_head},
                  {"linear_num_key_heads", &mixer.n_key_head},
                  {"linear_key_head_dim", &mixer.d_key},
                  {"linear_value_head_dim", &mixer.d_value},
                  {"linear_conv_kernel_dim", &mixer.n_tap}};
    bool is_linear[ATTN_MAX_LAYER] = {false};
    size_t full_every = 4;

    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        ATTN_TRY(attn_json_get_size(json, attn_json_root(json), widths[i].key, 1, ATTN_MAX_LAYER,
                                    widths[i].width, err));
    ATTN_TRY(attn_config_check_divides(json, "linear_num_key_heads", mixer.n_key_head,
                                       "linear_num_value_heads", mixer.n_head, err));
    ATTN_TRY(attn_json_get_size(json, attn_json_root(json), "full_attention_interval", 1,
                                ATTN_MAX_LAYER, &full_every, err));
    for (size_t layer = 0; layer < config->n_layer; layer++)
        is_linear[layer] = (layer + 1) % full_every != 0;
    ATTN_TRY(attn_config_read_words(json, "layer_types", words, config->n_layer, is_linear, err));
    return attn_config_set_mixers(config, layers, &mixer, is_linear, err);
}

static enum attn_status read_qwen3_5(ATTN_CONFIG_ARGS)
{
    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    return attn_family_read_delta(json, config, layers, err);
}

const struct attn_family attn_family_qwen3_5_text = {
    FAMILY("qwen3_5_text", "Qwen3_5For", "model.", rules), .read_config = read_qwen3_5,
    .gguf = &(const struct attn_gguf_form){"qwen35", .mixer = DELTA_KEYS, .tiles_heads = true,
                                           GGUF_NORMS},
    .form = {KEYS_BUT_ROPE, .refused = attn_family_delta_refused,
             .rope = {TURNS("rope_theta", 10000, 0.25), .has_sections = true},
             ATTN_SWITCHES(ATTN_ATTENTION_BIAS),
             .defaults = {GATED_BLOCK, .act_fn = "silu", .norm = ATTN_NORM_RMSNORM_PLUS_ONE,
                          .output = ATTN_OUTPUT_OWN, .qk_norm = ATTN_QK_NORM_PER_HEAD,
                          .has_attn_gate = true,
                          SIZES(248320, 4096, 12288, 32, 16, 4, 256, 32768, 1e-6F)}}};
