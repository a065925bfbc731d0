/*
 * lfm.c - LFM2 of Liquid AI (configuration_lfm2.py, modeling_lfm2.py): layers of attention, and
 * layers of a short convolution (forward/mixer.c). LFM3 has norms after both, windows, and a gate
 * for each head.
 *
 * Traps: the final norm is named embedding_norm. `tie_embedding` and `block_ff_dim` are older names
 * and win over the usual ones. The MLP is silu whatever hidden_act is, and its width is computed
 * from intermediate_size unless block_auto_adjust_ff_dim is false.
 */
#include "families/llama_internal.h"

#define LAYER "layers.#."
#define MIXER_MAP(name, shape, part, bias_shape, map)                                              \
    LINEAR(name, shape, part, bias_shape, ATTN_PART_MIXER_BIAS, map)
#define ATTENTION_OF_LFM2                                                                          \
    VECTOR(LAYER "self_attn.q_layernorm.weight", "y", ATTN_PART_QK_NORM, NORM_W(q_norm)),          \
        VECTOR(LAYER "self_attn.k_layernorm.weight", "z", ATTN_PART_QK_NORM, NORM_W(k_norm)),      \
        OUT_MAP(LAYER "self_attn.out_proj")
#define CONV_OF_LFM2                                                                               \
    MIXER_MAP(LAYER "conv.in_proj", "qD", ATTN_PART_MIXER, "q", mixer_in),                         \
        VECTOR(LAYER "conv.conv.weight", "a1d", ATTN_PART_MIXER, BLOCK(mixer.conv)),               \
        VECTOR(LAYER "conv.conv.bias", "a", ATTN_PART_MIXER_CONV_BIAS, BLOCK(mixer.conv_bias)),    \
        MIXER_MAP(LAYER "conv.out_proj", "Dl", ATTN_PART_MIXER_OUT, "D", out)
#define MLP_OF_LFM2                                                                                \
    LINEAR(LAYER "feed_forward.w1", "FD", ATTN_PART_MLP_GATE, "F", ATTN_PART_MLP_GATE_BIAS,        \
           mlp_gate),                                                                              \
        LINEAR(LAYER "feed_forward.w3", "FD", ATTN_PART_MLP, "F", ATTN_PART_MLP_BIAS, mlp_in),     \
        LINEAR(LAYER "feed_forward.w2", "DF", ATTN_PART_MLP, "D", ATTN_PART_MLP_BIAS, mlp_out)

static const struct attn_weight_rule lfm2_rules[] = {
    EMBEDDING_OF("embed_tokens.weight"),
    QKV,
    ATTENTION_OF_LFM2,
    CONV_OF_LFM2,
    MLP_OF_LFM2,
    NORM("operator_norm", ATTN_PART_NORM, ln1),
    NORM("ffn_norm", ATTN_PART_MLP_NORM, ln2),
    VECTOR("embedding_norm.weight", "D", ATTN_PART_FINAL_NORM, MODEL(ln_final.w)),
    END};

/* Reads the width of the MLP. */
static enum attn_status read_mlp(const struct attn_json *json, size_t *d_mlp,
                                 struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    double factor = 1;
    size_t multiple = 256;
    bool is_adjusted = true;

    ATTN_TRY(attn_config_get_width(json, "block_ff_dim", d_mlp, err));
    ATTN_TRY(attn_json_get_bool(json, root, "block_auto_adjust_ff_dim", &is_adjusted, err));
    ATTN_TRY(attn_json_get_double(json, root, "block_ffn_dim_multiplier", 1e-6, 1e6, &factor, err));
    ATTN_TRY(attn_config_get_width(json, "block_multiple_of", &multiple, err));
    if (is_adjusted) {
        *d_mlp = 2 * *d_mlp / 3;
        *d_mlp = (size_t)(factor * (double)*d_mlp);
        *d_mlp = (*d_mlp + multiple - 1) / multiple * multiple;
    }
    if (*d_mlp > 0 && *d_mlp <= ATTN_MAX_WIDTH)
        return ATTN_OK;
    return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, "block_ffn_dim_multiplier",
                            "makes an MLP of width %zu", *d_mlp);
}

static enum attn_status read_lfm2(ATTN_CONFIG_ARGS)
{
    static const char *const words[] = {"full_attention", "conv"};
    const struct attn_node *root = attn_json_root(json);
    struct attn_mixer_dims mixer = {
        .kind = ATTN_MIXER_CONV, .n_head = 1, .n_key_head = 1, .n_tap = 3};
    bool is_conv[ATTN_MAX_LAYER] = {false};
    bool is_tied;

    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    is_tied = config->output == ATTN_OUTPUT_TIED;
    ATTN_TRY(attn_json_get_bool(json, root, "tie_embedding", &is_tied, err));
    config->output = is_tied ? ATTN_OUTPUT_TIED : ATTN_OUTPUT_OWN;
    config->has_mixer_conv_bias = config->has_mixer_bias;
    ATTN_TRY(read_mlp(json, &config->d_mlp, err));
    ATTN_TRY(attn_config_get_width(json, "conv_L_cache", &mixer.n_tap, err));
    if (attn_config_find_given(root, "full_attn_idxs")) {
        ATTN_TRY(attn_config_read_numbers(json, "full_attn_idxs", config->n_layer, is_conv, err));
        for (size_t layer = 0; layer < config->n_layer; layer++)
            is_conv[layer] = !is_conv[layer];
    }
    ATTN_TRY(attn_config_read_words(json, "layer_types", words, config->n_layer, is_conv, err));
    mixer.d_key = mixer.d_value = config->d_model;
    return attn_config_set_mixers(config, layers, &mixer, is_conv, err);
}

const struct attn_family attn_family_lfm2 = {
    FAMILY("lfm2", "Lfm2For", "model.", lfm2_rules), .read_config = read_lfm2,
    .gguf = &(const struct attn_gguf_form){"lfm2", .has_lists = true,
                                           .mixer = {.n_tap = "conv_L_cache", .word = "conv"},
                                           .members = "\"block_auto_adjust_ff_dim\": false"},
    .form = {.eps_key = "norm_eps",
             ROPE(1e6, 1),
             ATTN_SWITCHES(ATTN_FLAG("conv_bias", has_mixer_bias)),
             .defaults = {GATED_BLOCK, .act_fn = "silu", .norm = ATTN_NORM_RMSNORM,
                          .output = ATTN_OUTPUT_TIED, .qk_norm = ATTN_QK_NORM_PER_HEAD,
                          SIZES(65536, 2560, 12288, 32, 32, 8, 0, 128000, 1e-5F)}}};

/* --- LFM3 ------------------------------------------------------------------------------------- */

static const struct attn_weight_rule lfm3_rules[] = {
    EMBEDDING_OF("embed_tokens.weight"),
    QKV,
    QK_NORM,
    TENSOR(LAYER "self_attn.gate_proj.weight|" LAYER "self_attn.g_proj.weight", "HD",
           ATTN_PART_HEAD_GATE, ATTN_WEIGHT_OUT_IN, WEIGHT_OF(attn_gate)),
    OUT_MAP(LAYER "self_attn.o_proj"),
    CONV_OF_LFM2,
    MLP_OF_LFM2,
    NORM("operator_norm", ATTN_PART_NORM, ln1),
    NORM("ffn_norm", ATTN_PART_MLP_NORM, ln2),
    NORM("post_operator_norm", ATTN_PART_POST_NORM, ln1_post),
    NORM("post_ffn_norm", ATTN_PART_MLP_POST_NORM, ln2_post),
    VECTOR("embedding_norm.weight", "D", ATTN_PART_FINAL_NORM, MODEL(ln_final.w)),
    END};

static enum attn_status read_lfm3(ATTN_CONFIG_ARGS)
{
    static const char *const convs[] = {"full_attention sliding_attention", "conv"};
    static const char *const windows[] = {"full_attention conv", "sliding_attention"};
    struct attn_mixer_dims mixer = {
        .kind = ATTN_MIXER_CONV, .n_head = 1, .n_key_head = 1, .n_tap = 7};
    bool is_conv[ATTN_MAX_LAYER] = {false}, is_sliding[ATTN_MAX_LAYER] = {false};
    size_t width = 256;
    double eps;

    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    eps = (double)config->norm_eps;
    ATTN_TRY(attn_json_get_double(json, attn_json_root(json), "rms_norm_eps", 0, 1, &eps, err));
    config->norm_eps = (float)eps; /* its other name */
    config->has_mixer_conv_bias = config->has_mixer_bias;
    config->gates_heads = config->has_attn_gate;
    ATTN_TRY(attn_config_get_width(json, "conv_L_cache", &mixer.n_tap, err));
    ATTN_TRY(attn_config_get_width(json, "sliding_window", &width, err));
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        is_sliding[layer] = layer % 4 == 0 && layer > 0;
        is_conv[layer] = layer % 4 != 2 && !is_sliding[layer];
    }
    ATTN_TRY(attn_config_read_words(json, "layer_types", convs, config->n_layer, is_conv, err));
    ATTN_TRY(
        attn_config_read_words(json, "layer_types", windows, config->n_layer, is_sliding, err));
    for (size_t layer = 0; layer < config->n_layer; layer++)
        if (is_sliding[layer])
            attn_config_set_window(&layers->attention[layer], width);
    ATTN_TRY(attn_config_read_rope(json, form, config, layers, err));
    mixer.d_key = mixer.d_value = config->d_model;
    ATTN_TRY(attn_config_set_mixers(config, layers, &mixer, is_conv, err));
    return attn_family_check_ropes(json, config, layers, false, err);
}

static const struct attn_rope of_full = {.type = ATTN_ROPE_PROPORTIONAL, .theta = 1e6};
static const struct attn_rope of_windows = {.theta = 1e4};

const struct attn_family attn_family_lfm3 = {
    FAMILY("lfm3", "Lfm3For", "model.", lfm3_rules), .read_config = read_lfm3,
    .form = {.eps_key = "norm_eps",
             ATTN_SWITCHES(
                 ATTN_FLAG("conv_bias", has_mixer_bias), ATTN_ATTENTION_BIAS,
                 ATTN_FLAG("use_attention_gate", has_attn_gate),
                 ATTN_CHOICE("use_sandwich_norm", norm_place, ATTN_NORM_PRE, ATTN_NORM_AROUND)),
             /* read by read_lfm3, after the windows */
             .rope = {.default_theta = 1e6,
                      .default_partial = 1,
                      .share_without_object = 0.5,
                      .without_object = &of_full},
             .rope_of_windows = {.default_theta = 1e6,
                                 .default_partial = 1,
                                 .without_object = &of_windows},
             .defaults = {GATED_BLOCK, .act_fn = "silu", .norm = ATTN_NORM_RMSNORM,
                          .norm_place = ATTN_NORM_AROUND, .output = ATTN_OUTPUT_TIED,
                          .qk_norm = ATTN_QK_NORM_PER_HEAD, .has_attn_gate = true,
                          SIZES(128000, 2048, 7680, 24, 16, 4, 128, 128000, 1e-5F)}}};
