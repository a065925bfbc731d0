/*
 * experts.c - decoders like Llama whose MLPs are mixtures of experts: Mixtral, Qwen2-MoE,
 * Qwen3-MoE, OLMoE, Granite, Phi-3.5-MoE and gpt-oss (the configuration and modeling files of
 * transformers).
 *
 *     mid = pre + o(attention(rms(pre)))
 *     post = mid + the sum of weight_e * expert_e(n) over the chosen experts,  n = rms(mid)
 *
 * Traps: num_experts and num_local_experts are two names of the same key. The weights sum to 1 only
 * in some families. Some layers of Qwen's models may have a plain MLP. Files of transformers 5 and
 * later may have one tensor for all experts. In gpt-oss, columns of gate and up alternate, and each
 * head has a sink.
 */
#include "families/mamba_internal.h"

#include <string.h>

/* --- tensors ---------------------------------------------------------------------------------- */

#define MLP "layers.#.mlp."
#define MOE "|layers.#.block_sparse_moe."
#define WEIGHT(name, shape, part, map) TENSOR(name, shape, part, ATTN_WEIGHT_OUT_IN, WEIGHT_OF(map))
#define EACH(name, old, shape, map)                                                                \
    WEIGHT(MLP "experts.@." name ".weight" MOE "experts.@." old ".weight", shape,                  \
           ATTN_PART_EXPERTS, map)
#define SHARED(name, in, out, map)                                                                 \
    LINEAR(MLP "shared_expert." name, out in, ATTN_PART_SHARED_EXPERT, out, ATTN_PART_SHARED_BIAS, \
           map)

/* The tensors of a mixture: the router; all experts in one tensor, or each in its own; the shared
 * expert; and the MLP of layers without experts. */
#define ROUTER                                                                                     \
    WEIGHT(MLP "gate.weight" MOE "gate.weight" MOE "router.layer.weight|" MLP "router.weight" MOE  \
               "router.weight",                                                                    \
           "nD", ATTN_PART_ROUTER, router),                                                        \
        FUSED(MLP "experts.gate_up_proj" MOE "input_linear.weight" MOE "experts.gate_up_proj",     \
              "njD", ATTN_PART_EXPERTS_FOUND, GATED_ROWS),                                         \
        WEIGHT(MLP "experts.down_proj" MOE "output_linear.weight" MOE "experts.down_proj", "nDf",  \
               ATTN_PART_EXPERTS_FOUND, mlp_out),                                                  \
        EACH("gate_proj", "w1", "fD", mlp_gate), EACH("up_proj", "w3", "fD", mlp_in),              \
        EACH("down_proj", "w2", "Df", mlp_out)
#define EXPERTS                                                                                    \
    ROUTER, WEIGHT(MLP "shared_expert_gate.weight", "1D", ATTN_PART_SHARED_GATE, shared_router),   \
        SHARED("gate_proj", "D", "s", shared.gate), SHARED("up_proj", "D", "s", shared.in),        \
        SHARED("down_proj", "s", "D", shared.out), GATED_MLP

/* As the rules above, with biases, for gpt-oss. Its experts may also be blocks of MXFP4
 * (bind_mxfp4). */
#define BIASED_EXPERTS                                                                             \
    LINEAR(MLP "router", "nD", ATTN_PART_ROUTER, "n", ATTN_PART_EXPERT_BIAS, router),              \
        FUSED(MLP "experts.gate_up_proj", "nDj", ATTN_PART_EXPERTS, ALTERNATE_MATRIX),             \
        FUSED(MLP "experts.gate_up_proj_bias", "nj", ATTN_PART_EXPERT_BIASES, ALTERNATE_MATRIX),   \
        TENSOR(MLP "experts.down_proj", "nfD", ATTN_PART_EXPERTS, ATTN_WEIGHT_IN_OUT,              \
               WEIGHT_OF(mlp_out)),                                                                \
        VECTOR(MLP "experts.down_proj_bias", "nD", ATTN_PART_EXPERT_BIASES, BIAS_OF(mlp_out)),     \
        IGNORED(MLP "experts.gate_up_proj_blocks"), IGNORED(MLP "experts.gate_up_proj_scales"),    \
        IGNORED(MLP "experts.down_proj_blocks"), IGNORED(MLP "experts.down_proj_scales"),          \
        VECTOR("layers.#.self_attn.sinks", "H", ATTN_PART_SINKS, BLOCK(sinks))

static const struct attn_weight_rule rules[] = {RULES(QKV, QK_NORM, EXPERTS, NORMS_OF_LLAMA)};
static const struct attn_weight_rule gpt_oss_rules[] = {
    RULES(QKV, QK_NORM, BIASED_EXPERTS, NORMS_OF_LLAMA)};

/* --- configs ---------------------------------------------------------------------------------- */

/* Reads the number of experts, whose key has two names. */
static enum attn_status read_count(const struct attn_json *json, struct attn_config *config,
                                   struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    size_t n;

    ATTN_TRY(
        attn_json_get_size(json, root, "num_experts", 1, ATTN_MAX_LAYER, &config->n_expert, err));
    n = config->n_expert;
    ATTN_TRY(attn_json_get_size(json, root, "num_local_experts", 1, ATTN_MAX_LAYER, &n, err));
    if (attn_node_find(root, "num_experts") && n != config->n_expert)
        return attn_error_set(err, ATTN_FORMAT,
                              "'num_experts' %zu and 'num_local_experts' %zu in '%s' differ",
                              config->n_expert, n, attn_config_quote(json).text);
    config->n_expert = n;
    ATTN_TRY(attn_json_get_size(json, root, "num_experts_per_tok", 1, ATTN_MAX_LAYER,
                                &config->n_expert_used, err));
    if (config->n_expert_used <= config->n_expert)
        return ATTN_OK;
    return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, "num_experts_per_tok", "is %zu of %zu experts",
                            config->n_expert_used, config->n_expert);
}

/* Reads which layers of Qwen's models have no experts. */
static enum attn_status read_dense(const struct attn_json *json, const struct attn_config *config,
                                   struct attn_config_layers *layers, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    size_t step = 1;

    ATTN_TRY(attn_json_get_size(json, root, "decoder_sparse_step", 1, ATTN_MAX_LAYER, &step, err));
    for (size_t i = 0; i < config->n_layer; i++)
        layers->is_dense[i] = (i + 1) % step != 0;
    return attn_config_read_numbers(json, "mlp_only_layers", config->n_layer, layers->is_dense,
                                    err);
}

static enum attn_status read_mixture(ATTN_CONFIG_ARGS)
{
    /* Experts and MLPs have different widths. */
    const bool is_of_qwen = form->defaults.d_expert > 0;

    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    ATTN_TRY(read_count(json, config, err));
    if (is_of_qwen)
        ATTN_TRY(read_dense(json, config, layers, err));
    else
        config->d_expert = config->d_mlp;
    attn_config_lack_mixtures(config, layers);
    return ATTN_OK;
}

#define NORM_TOPK_PROB                                                                             \
    ATTN_CHOICE("norm_topk_prob", expert_weights, ATTN_EXPERTS_SOFTMAX_ALL,                        \
                ATTN_EXPERTS_SOFTMAX_ALL_NORMALIZED)
/* Trap: transformers gives windows to other layers than in Qwen2, so use_sliding_window is refused.
 */
static const struct attn_config_extra windows[] = {{"use_sliding_window", ATTN_WISH_TRUE},
                                                   {.key = NULL}};
#define KEYS_OF_QWEN KEYS, .refused = windows, .windows = {.rule = ATTN_WINDOWS_SWITCHED}
#define SWITCHES_OF_QWEN NORM_TOPK_PROB, ATTN_WIDTH("moe_intermediate_size", d_expert)

/* Mixtral: if sliding_window is absent, there is no window. */
const struct attn_family attn_family_mixtral = {
    FAMILY("mixtral", "MixtralFor", "model.", rules), .read_config = read_mixture,
    .gguf =
        &(const struct attn_gguf_form){"llama", HALVES_ALTERNATE, .has_interleaved_biases = true,
                                       .has_divisors = true, .marker = "expert_count"},
    .form = {KEYS_BUT_ROPE, ROPE(1e6, 1), .windows = {ATTN_WINDOWS_IN_ALL, .width = 0},
             .defaults = {BLOCK_OF_LLAMA, .expert_weights = ATTN_EXPERTS_SOFTMAX_ALL_NORMALIZED,
                          .n_expert = 8, .n_expert_used = 2,
                          SIZES(32000, 4096, 14336, 32, 32, 8, 0, 131072, 1e-5F)}}};

const struct attn_family attn_family_qwen2_moe = {
    FAMILY("qwen2_moe", "Qwen2MoeFor", "model.", rules), .read_config = read_mixture,
    .gguf = &(const struct attn_gguf_form){.architecture = "qwen2moe"},
    .form = {KEYS_OF_QWEN,
             ATTN_SWITCHES(ATTN_QKV_BIAS("qkv_bias"), SWITCHES_OF_QWEN,
                           ATTN_WIDTH("shared_expert_intermediate_size", d_shared_expert)),
             .defaults = {BLOCK_OF_LLAMA, .has_qkv_bias = true, .n_expert = 60, .n_expert_used = 4,
                          .d_expert = 1408, .d_shared_expert = 5632, .has_shared_gate = true,
                          SIZES(151936, 2048, 5632, 24, 16, 16, 0, 32768, 1e-6F)}}};

const struct attn_family attn_family_qwen3_moe = {
    FAMILY("qwen3_moe", "Qwen3MoeFor", "model.", rules), .read_config = read_mixture,
    .gguf = &(const struct attn_gguf_form){"qwen3moe", .normalizes_experts = true},
    .form = {KEYS_OF_QWEN, ATTN_SWITCHES(ATTN_ATTENTION_BIAS, SWITCHES_OF_QWEN),
             .defaults = {BLOCK_OF_LLAMA, .qk_norm = ATTN_QK_NORM_PER_HEAD, .n_expert = 128,
                          .n_expert_used = 8, .d_expert = 768,
                          SIZES(151936, 2048, 6144, 24, 32, 4, 0, 32768, 1e-6F)}}};

/* Qwen3-Next (modeling_qwen3_next.py): the experts of Qwen2-MoE, between the layers of Qwen 3.5
 * (qwen_hybrid.c). */
static const struct attn_weight_rule qwen3_next_rules[] = {
    DELTA_BY_HEAD, RULES(GATED_QKV, QK_NORM, EXPERTS, NORMS_OF_LLAMA)};

static enum attn_status read_qwen3_next(ATTN_CONFIG_ARGS)
{
    ATTN_TRY(read_mixture(json, form, config, layers, err));
    config->mixes_by_head = true;
    return attn_family_read_delta(json, config, layers, err);
}

const struct attn_family attn_family_qwen3_next = {
    FAMILY("qwen3_next", "Qwen3NextFor", "model.", qwen3_next_rules),
    .read_config = read_qwen3_next,
    .gguf = &(const struct attn_gguf_form){"qwen3next", .mixer = DELTA_KEYS,
                                           .normalizes_experts = true, GGUF_NORMS},
    .form = {KEYS_BUT_ROPE, .refused = attn_family_delta_refused,
             .rope = {TURNS("rope_theta", 10000, 0.25)},
             ATTN_SWITCHES(ATTN_ATTENTION_BIAS, SWITCHES_OF_QWEN,
                           ATTN_WIDTH("shared_expert_intermediate_size", d_shared_expert)),
             .defaults = {GATED_BLOCK, .act_fn = "silu", .norm = ATTN_NORM_RMSNORM_PLUS_ONE,
                          .output = ATTN_OUTPUT_OWN, .qk_norm = ATTN_QK_NORM_PER_HEAD,
                          .has_attn_gate = true, .n_expert = 512, .n_expert_used = 10,
                          .expert_weights = ATTN_EXPERTS_SOFTMAX_ALL_NORMALIZED, .d_expert = 512,
                          .d_shared_expert = 512, .has_shared_gate = true,
                          SIZES(151936, 2048, 5632, 48, 16, 2, 256, 32768, 1e-6F)}}};

/* The decoder of Qwen3-VL-MoE: Qwen3-MoE with other defaults, whose files hold the matrices of
 * experts transposed. */
#define TURNED_EXPERTS                                                                             \
    FUSED(MLP "experts.gate_up_proj", "nDj", ATTN_PART_EXPERTS_TURNED, GATED_MATRIX),              \
        TENSOR(MLP "experts.down_proj", "nfD", ATTN_PART_EXPERTS_TURNED, ATTN_WEIGHT_IN_OUT,       \
               WEIGHT_OF(mlp_out)),                                                                \
        EXPERTS
static const struct attn_weight_rule qwen3_vl_rules[] = {
    RULES(QKV, QK_NORM, TURNED_EXPERTS, NORMS_OF_LLAMA)};

const struct attn_family attn_family_qwen3_vl_moe_text = {
    FAMILY("qwen3_vl_moe_text", "Qwen3VLMoeText", "model.", qwen3_vl_rules),
    .read_config = read_mixture,
    .form = {KEYS_BUT_ROPE, .rope = {TURNS("rope_theta", 5e5, 1), .has_sections = true},
             ATTN_SWITCHES(ATTN_ATTENTION_BIAS, ATTN_WIDTH("moe_intermediate_size", d_expert)),
             .defaults = {BLOCK_OF_LLAMA, .qk_norm = ATTN_QK_NORM_PER_HEAD, .n_expert = 60,
                          .n_expert_used = 4, .d_expert = 1408,
                          .expert_weights = ATTN_EXPERTS_SOFTMAX_ALL_NORMALIZED,
                          SIZES(151936, 2048, 5632, 24, 16, 16, 0, 128000, 1e-6F)}}};

/* OLMoE: norms of q and k over all heads, as in OLMo 2, but norms before attention and experts. */
const struct attn_family attn_family_olmoe = {
    FAMILY("olmoe", "OlmoeFor", "model.", rules), .read_config = read_mixture,
    .gguf = &(const struct attn_gguf_form){.architecture = "olmoe"},
    .form = {
        KEYS, ATTN_SWITCHES(ATTN_ATTENTION_BIAS, NORM_TOPK_PROB, ATTN_FACTOR("clip_qkv", qkv_clip)),
        .defaults = {BLOCK_OF_LLAMA, .qk_norm = ATTN_QK_NORM_ALL_HEADS, .n_expert = 64,
                     .n_expert_used = 8, SIZES(50304, 2048, 2048, 16, 16, 0, 0, 4096, 1e-5F)}}};

#define FORM_OF_GRANITE                                                                            \
    .form = {KEYS, .score_factor_key = "attention_multiplier",                                     \
             ATTN_SWITCHES(ATTN_ATTENTION_BIAS, FACTORS_OF_GRANITE),                               \
             .defaults = {BLOCK_OF_LLAMA, .expert_weights = ATTN_EXPERTS_SOFTMAX_CHOSEN,           \
                          .n_expert = 8, .n_expert_used = 2,                                       \
                          SIZES(32000, 4096, 11008, 32, 32, 0, 0, 2048, 1e-6F)}}
const struct attn_family attn_family_granitemoe = {
    FAMILY("granitemoe", "GraniteMoeFor", "model.", rules), .read_config = read_mixture,
    .gguf = &(const struct attn_gguf_form){"granitemoe", HALVES_ALTERNATE,
                                           .has_interleaved_biases = true, .has_divisors = true},
    FORM_OF_GRANITE};

/* --- Granite with a shared MLP ---------------------------------------------------------------- */

/*
 * Granite with a shared MLP and experts (configuration_granitemoeshared.py), and Granite 4.0 with
 * layers of attention and of Mamba2, with a shared MLP and with experts beside it or none
 * (configuration_granitemoehybrid.py). Traps of Granite 4.0: without layer_types, all layers are
 * Mamba; without position_embedding_type "rope", no layer turns positions. llama.cpp's converter
 * calls both granitemoe.
 *
 *     mlp(x) = shared(x) + the sum over the chosen experts
 */
#define SHARED_MLP                                                                                 \
    ROUTER,                                                                                        \
        FUSED("layers.#.shared_mlp.input_linear.weight", "tD", ATTN_PART_SHARED_EXPERT,            \
              GATED_ROWS),                                                                         \
        WEIGHT("layers.#.shared_mlp.output_linear.weight", "Ds", ATTN_PART_SHARED_EXPERT,          \
               shared.out),                                                                        \
        FUSED("layers.#.shared_mlp.input_linear.weight", "JD", ATTN_PART_MLP, GATED_ROWS),         \
        WEIGHT("layers.#.shared_mlp.output_linear.weight", "DF", ATTN_PART_MLP, mlp_out)

static const struct attn_weight_rule granite_rules[] = {
    MAMBA("layers.#.mamba."), MAMBA_OUT("layers.#.mamba."),
    RULES(QKV, QK_NORM, SHARED_MLP, NORMS_OF_LLAMA)};

static enum attn_status read_shared(ATTN_CONFIG_ARGS)
{
    ATTN_TRY(read_mixture(json, form, config, layers, err));
    return attn_json_get_size(json, attn_json_root(json), "shared_intermediate_size", 0,
                              ATTN_MAX_WIDTH, &config->d_shared_expert, err);
}

const struct attn_family attn_family_granitemoeshared = {
    FAMILY("granitemoeshared", "GraniteMoeSharedFor", "model.", granite_rules),
    .read_config = read_shared,
    .gguf = &(const struct attn_gguf_form){"granitemoe", HALVES_ALTERNATE,
                                           .has_interleaved_biases = true, .has_divisors = true,
                                           .marker = "expert_shared_feed_forward_length"},
    FORM_OF_GRANITE};

static enum attn_status read_granite(ATTN_CONFIG_ARGS)
{
    const struct attn_node *root = attn_json_root(json);
    struct attn_config_form own = *form;
    const char *positions = "";
    size_t n_expert = form->defaults.n_expert, d_shared = 1024;

    ATTN_TRY(attn_json_get_string(json, root, "position_embedding_type", &positions, err));
    if (strcmp(positions, "rope") != 0)
        own.rope = (struct attn_rope_keys){.theta = NULL};
    ATTN_TRY(attn_config_get_width(json, "shared_intermediate_size", &d_shared, err));
    ATTN_TRY(
        attn_json_get_size(json, root, "num_local_experts", 0, ATTN_MAX_LAYER, &n_expert, err));
    if (n_expert > 0) {
        ATTN_TRY(read_mixture(json, &own, config, layers, err));
        config->d_shared_expert = d_shared;
    } else {
        ATTN_TRY(attn_config_read_form(json, &own, config, layers, err));
        config->d_mlp = d_shared;
        config->n_expert = config->n_expert_used = 0;
    }
    return attn_family_read_mamba(json, config, layers, err);
}

const struct attn_family attn_family_granitemoehybrid = {
    FAMILY("granitemoehybrid", "GraniteMoeHybridFor", "model.", granite_rules),
    .read_config = read_granite,
    .gguf = &(const struct attn_gguf_form){"granitehybrid", HALVES_ALTERNATE,
                                           .has_interleaved_biases = true, .has_divisors = true,
                                           .marker = "expert_shared_feed_forward_length",
                                           .has_lists = true, .mixer = MAMBA_KEYS},
    .form = {KEYS, .score_factor_key = "attention_multiplier",
             ATTN_SWITCHES(ATTN_ATTENTION_BIAS, FACTORS_OF_GRANITE, MAMBA_SWITCHES),
             .defaults = {BLOCK_OF_LLAMA, .expert_weights = ATTN_EXPERTS_SOFTMAX_CHOSEN,
                          .has_mixer_conv_bias = true, .n_expert = 8, .n_expert_used = 2,
                          SIZES(32000, 4096, 11008, 32, 32, 0, 0, 2048, 1e-6F)}}};

/* --- Phi-3.5-MoE ------------------------------------------------------------------------------ */

/* Phi-3.5-MoE (configuration_phimoe.py, modeling_phimoe.py): LayerNorm, and two experts whose
 * weights follow a rule of their own. Traps: num_experts_per_tok is ignored; router_jitter_noise
 * counts outside training, too; longrope has one list of factors for all lengths. */
static const struct attn_weight_rule phimoe_rules[] = {RULES(QKV, QK_NORM, EXPERTS, LAYER_NORMS)};

static enum attn_status read_phimoe(ATTN_CONFIG_ARGS)
{
    config->router_jitter = 0.01;
    ATTN_TRY(read_mixture(json, form, config, layers, err));
    ATTN_TRY(attn_json_get_double(json, attn_json_root(json), "router_jitter_noise", 0, 1e30,
                                  &config->router_jitter, err));
    config->n_expert_used = 2;
    if (config->n_expert >= 2)
        return ATTN_OK;
    return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, "num_local_experts",
                            "is %zu, expected 2 or more", config->n_expert);
}

const struct attn_family attn_family_phimoe = {
    FAMILY("phimoe", "PhimoeFor", "model.", phimoe_rules), .read_config = read_phimoe,
    .form = {KEYS_BUT_ROPE, .has_no_width_key = true, .windows = {.rule = ATTN_WINDOWS_IN_ALL},
             .rope = {TURNS("rope_theta", 1e6, 1), .has_longrope = true, .has_mscales = true},
             ATTN_SWITCHES(ATTN_ATTENTION_BIAS, ATTN_FLAG("lm_head_bias", has_output_bias)),
             .defaults = {BLOCK_WITHOUT_NORM, .norm = ATTN_NORM_LAYERNORM,
                          .expert_weights = ATTN_EXPERTS_SOFTMAX_NEAR, .n_expert = 16,
                          .n_expert_used = 2,
                          SIZES(32064, 4096, 6400, 32, 32, 8, 0, 131072, 1e-5F)}}};

/* --- gpt-oss ---------------------------------------------------------------------------------- */

/* gpt-oss: attention with biases, with a window in every second layer, and with a sink for each
 * head; experts with biases and limits. */
static const struct attn_rope yarn = {.type = ATTN_ROPE_YARN,
                                      .factor = 32,
                                      .n_original = 4096,
                                      .beta_fast = 32,
                                      .beta_slow = 1,
                                      .attention_factor = 1.3465735902799727}; /* 0.1 ln(32) + 1 */

const struct attn_family attn_family_gpt_oss = {
    FAMILY("gpt_oss", "GptOssFor", "model.", gpt_oss_rules), .read_config = read_mixture,
    .gguf =
        &(const struct attn_gguf_form){
            "gpt-oss", .default_window = 128, .yarn_is_exact = true, .part = "experts",
            .difference = "gate and up apart, where Hugging Face's columns alternate"},
    .form = {.eps_key = "rms_norm_eps",
             .rope = {TURNS("rope_theta", 150000, 1), .without_object = &yarn},
             ATTN_SWITCHES(ATTN_ATTENTION_BIAS, ATTN_FACTOR("swiglu_limit", expert_limit),
                           ATTN_FACTOR("swiglu_alpha", expert_alpha)),
             .windows = {ATTN_WINDOWS_BY_LIST, .width = 128, .full_every = 2},
             .defaults = {BLOCK_OF_LLAMA, .has_qkv_bias = true, .has_out_bias = true,
                          .has_sinks = true, .expert_weights = ATTN_EXPERTS_SOFTMAX_CHOSEN,
                          .has_expert_bias = true, .expert_limit = 7, .expert_alpha = 1.702,
                          .n_expert = 128, .n_expert_used = 4,
                          SIZES(201088, 2880, 2880, 36, 64, 8, 64, 131072, 1e-5F)}}};
