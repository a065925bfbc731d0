/*
 * llama.c - Llama as Hugging Face writes it (configuration_llama.py, modeling_llama.py), the many
 * models that use its architecture (SmolLM, TinyLlama), and the families derived from it. Each
 * family is a row with the defaults of its config, its keys and its tensors.
 *
 *     mid = pre + o(attention(rms(pre)))
 *     post = mid + down(act(gate(n)) * up(n)),  n = rms(mid)
 *
 * q and k are rotated by their positions. Linear maps are nn.Linear, [out, in]. As in other
 * families, component e of head h is row h*E + e.
 */
#include "families/llama_internal.h"

/* --- tensors ---------------------------------------------------------------------------------- */

#define JOINED_QKV                                                                                 \
    FUSED("layers.#.self_attn.qkv_proj.weight", "AD", ATTN_PART_PROJECTIONS, QKV_ROWS)
#define JOINED_MLP FUSED("layers.#.mlp.gate_up_proj.weight", "JD", ATTN_PART_MLP, GATED_ROWS), DOWN
#define NORM_OF_HEADS(name, shape, norm)                                                           \
    TENSOR("layers.#.self_attn." name ".norms.@.weight", shape, ATTN_PART_QK_NORM,                 \
           ATTN_WEIGHT_VECTOR_OF_HEADS, NORM_W(norm))
#define NORMS_OF_GEMMA                                                                             \
    NORMS("pre_feedforward_layernorm", "post_attention_layernorm", "post_feedforward_layernorm")
#define NORMS_OF_GLM                                                                               \
    NORMS("post_attention_layernorm", "post_self_attn_layernorm", "post_mlp_layernorm")

static const struct attn_weight_rule
    llama_rules[] = {RULES(QKV, QK_NORM, GATED_MLP, NORMS_OF_LLAMA)},
    gemma_rules[] = {RULES(QKV, QK_NORM, GATED_MLP, NORMS_OF_GEMMA)},
    glm_rules[] = {RULES(QKV, QK_NORM, JOINED_MLP, NORMS_OF_GLM)},
    phi3_rules[] = {RULES(JOINED_QKV, QK_NORM, JOINED_MLP, NORMS_OF_LLAMA)},
    starcoder2_rules[] = {
        RULES(QKV, QK_NORM, PLAIN_MLP("layers.#.mlp.", "c_fc", "c_proj"), LAYER_NORMS)};

#define NORMS_OF_HEADS                                                                             \
    NORM_OF_HEADS("q_layernorm", "HE", q_norm), NORM_OF_HEADS("k_layernorm", "GE", k_norm)
static const struct attn_weight_rule stablelm_rules[] = {
    RULES(QKV, NORMS_OF_HEADS, GATED_MLP, LAYER_NORMS)};

#define QK_LAYER_NORM(name, norm)                                                                  \
    VECTOR("layers.#.self_attn." name ".weight", "E", ATTN_PART_QK_NORM, NORM_W(norm)),            \
        VECTOR("layers.#.self_attn." name ".bias", "E", ATTN_PART_QK_NORM, NORM_B(norm))

static const struct attn_weight_rule phi_rules[] = {
    EMBEDDING_OF("embed_tokens.weight"),
    LAYER_NORM("layers.#.input_layernorm", ATTN_PART_NORM, ln1),
    QKV,
    QK_LAYER_NORM("q_layernorm", q_norm),
    QK_LAYER_NORM("k_layernorm", k_norm),
    OUT_MAP("layers.#.self_attn.dense"),
    PLAIN_MLP("layers.#.mlp.", "fc1", "fc2"),
    FINAL_LAYER_NORM("final_layernorm"),
    END,
};

/* --- configs ---------------------------------------------------------------------------------- */

/* If one of these keys has an effect, the model belongs to another family, so it is refused. */
static const struct attn_config_extra of_granite_and_smollm3[] = {
    {"embedding_multiplier", ATTN_WISH_FACTOR}, {"residual_multiplier", ATTN_WISH_FACTOR},
    {"logits_scaling", ATTN_WISH_FACTOR},       {"attention_multiplier", ATTN_WISH_FOREIGN},
    {"no_rope_layers", ATTN_WISH_HAS_ZERO},     {.key = NULL},
};

/* Traps: head_dim may be given, and then H*E need not equal D; attention_bias applies to q, k, v
 * and o, mlp_bias to all three maps. */
const struct attn_family attn_family_llama = {
    FAMILY("llama", "LlamaFor", "model.", llama_rules), SCORES,
    .gguf = &(const struct attn_gguf_form){"llama", HALVES_ALTERNATE,
                                           .has_interleaved_biases = true, .has_divisors = true},
    .form = {KEYS, ATTN_SWITCHES(ATTN_ATTENTION_BIAS, ATTN_MLP_BIAS("mlp_bias")),
             .is_divided = true, .refused = of_granite_and_smollm3,
             .defaults = {BLOCK_OF_LLAMA, SIZES(32000, 4096, 11008, 32, 32, 0, 0, 2048, 1e-6F)}}};

/* Mistral and Ministral 8B (configuration_ministral.py): no biases, and a window in all layers or
 * in those of `layer_types`, which transformers reads for both. Traps: an absent sliding_window
 * means 4096, null means no window; an absent num_key_value_heads means 8. */
#define FORM_OF_MISTRAL                                                                            \
    KEYS, .windows = {ATTN_WINDOWS_BY_LIST, .width = 4096, .may_be_null = true},                   \
          .defaults = {BLOCK_OF_LLAMA, SIZES(32000, 4096, 14336, 32, 32, 8, 0, 131072, 1e-6F)}
const struct attn_family attn_family_mistral = {
    FAMILY("mistral", "MistralFor", "model.", llama_rules), SCORES, .form = {FORM_OF_MISTRAL}};
const struct attn_family attn_family_ministral = {
    FAMILY("ministral", "MinistralFor", "model.", llama_rules), .form = {FORM_OF_MISTRAL}};

/* Qwen2 and 2.5 (configuration_qwen2.py): q, k and v always have biases, other maps never. Traps:
 * an absent num_key_value_heads means 32, whatever num_attention_heads is; all published files have
 * a sliding_window, but with use_sliding_window false, so the window is not used. */
const struct attn_family attn_family_qwen2 = {
    FAMILY("qwen2", "Qwen2For", "model.", llama_rules), SCORES,
    .gguf = &(const struct attn_gguf_form){.architecture = "qwen2"},
    .form = {KEYS, .windows = {ATTN_WINDOWS_SWITCHED, .width = 4096, .first = 28},
             .defaults = {BLOCK_OF_LLAMA, .has_qkv_bias = true,
                          SIZES(151936, 4096, 22016, 32, 32, 32, 0, 32768, 1e-6F)}}};

/*
 * Qwen3 (configuration_qwen3.py): before rotation, q and k are normalized in each head separately:
 *
 *     q = rms(x W_q) over the E components of a head, with weights q_norm [E] shared by all heads
 *
 * Traps: an absent head_dim means 128, an absent num_key_value_heads means 32, whatever the other
 * sizes are; sliding_window applies only with use_sliding_window.
 */
const struct attn_family attn_family_qwen3 = {
    FAMILY("qwen3", "Qwen3For", "model.", llama_rules), SCORES,
    .gguf = &(const struct attn_gguf_form){.architecture = "qwen3"},
    .form = {KEYS, ATTN_SWITCHES(ATTN_ATTENTION_BIAS),
             .windows = {ATTN_WINDOWS_SWITCHED, .width = 4096, .first = 28},
             .defaults = {BLOCK_OF_LLAMA, .qk_norm = ATTN_QK_NORM_PER_HEAD,
                          SIZES(151936, 4096, 22016, 32, 32, 32, 128, 32768, 1e-6F)}}};

/* The decoders of Qwen's models of pictures: Qwen2 and Qwen3 with other defaults. A text alone has
 * the same positions in all sections of mRoPE. */
#define ROPE_OF_SECTIONS(base) .rope = {TURNS("rope_theta", base, 1), .has_sections = true}
#define FORM_OF_QWEN2_VL                                                                           \
    KEYS_BUT_ROPE, ROPE_OF_SECTIONS(1e6),                                                          \
        .windows = {ATTN_WINDOWS_SWITCHED, .width = 4096, .first = 80},                            \
        .defaults = {BLOCK_OF_LLAMA, .has_qkv_bias = true,                                         \
                     SIZES(152064, 8192, 29568, 80, 64, 8, 0, 32768, 1e-5F)}
const struct attn_family attn_family_qwen2_vl_text = {
    FAMILY("qwen2_vl_text", "Qwen2VLText", "model.", llama_rules), .form = {FORM_OF_QWEN2_VL},
    .gguf = &(const struct attn_gguf_form){.architecture = "qwen2vl"}}; /* also of Qwen2.5-VL */
const struct attn_family attn_family_qwen2_5_vl_text = {
    FAMILY("qwen2_5_vl_text", "Qwen2_5_VLText", "model.", llama_rules), .form = {FORM_OF_QWEN2_VL}};
const struct attn_family attn_family_qwen3_vl_text = {
    FAMILY("qwen3_vl_text", "Qwen3VLText", "model.", llama_rules),
    .gguf = &(const struct attn_gguf_form){.architecture = "qwen3vl"},
    .form = {KEYS_BUT_ROPE, ROPE_OF_SECTIONS(5e5), ATTN_SWITCHES(ATTN_ATTENTION_BIAS),
             .defaults = {BLOCK_OF_LLAMA, .qk_norm = ATTN_QK_NORM_PER_HEAD,
                          SIZES(151936, 4096, 22016, 32, 32, 32, 128, 128000, 1e-6F)}}};

/*
 * OLMo 2 (configuration_olmo2.py, modeling_olmo2.py): norms after attention and MLP instead of
 * before (post-norm), and norms of q and k over all heads at once:
 *
 *     q = rms(pre W_q) over H*E components,  k = rms(pre W_k) over G*E;  then they are rotated
 *     mid = pre + rms(o(attention(pre)))
 *     post = mid + rms(down(act(gate(mid)) * up(mid)))
 */
#define SIZES_OF_OLMO SIZES(50304, 4096, 11008, 32, 32, 0, 0, 2048, 1e-5F)
#define BLOCK_OF_OLMO2                                                                             \
    BLOCK_OF_LLAMA, .norm_place = ATTN_NORM_POST, .qk_norm = ATTN_QK_NORM_ALL_HEADS, SIZES_OF_OLMO

const struct attn_family attn_family_olmo2 = {
    FAMILY("olmo2", "Olmo2For", "model.", llama_rules),
    .gguf = &(const struct attn_gguf_form){.architecture = "olmo2"},
    .form = {KEYS, ATTN_SWITCHES(ATTN_ATTENTION_BIAS), .defaults = {BLOCK_OF_OLMO2}}};

/* OLMo 3 (configuration_olmo3.py): OLMo 2's block. Three of four layers have a window, and their
 * rotary positions differ from those of other layers. Trap: rope_scaling and a theta at the top
 * level apply only to layers without a window. */
const struct attn_family attn_family_olmo3 = {
    FAMILY("olmo3", "Olmo3For", "model.", llama_rules),
    .gguf = &(const struct attn_gguf_form){"olmo2", .marker = "attention.sliding_window"},
    .form = {KEYS_BUT_ROPE, ATTN_SWITCHES(ATTN_ATTENTION_BIAS), ROPE(5e5, 1),
             .rope_of_windows = {.default_theta = 5e5, .default_partial = 1},
             .windows = {ATTN_WINDOWS_BY_LIST, .width = 4096, .full_every = 4},
             .defaults = {BLOCK_OF_OLMO2}}};

/* OLMo 1 (configuration_olmo.py): norms have no weights, and their epsilon has no key. */
const struct attn_family attn_family_olmo = {
    FAMILY("olmo", "OlmoFor", "model.", llama_rules),
    .gguf = &(const struct attn_gguf_form){"olmo", HALVES_ALTERNATE},
    .form = {
        .activation_key = "hidden_act",
        ROPE(10000, 1),
        ATTN_SWITCHES(ATTN_ATTENTION_BIAS, ATTN_FACTOR("clip_qkv", qkv_clip)),
        .defaults = {BLOCK_WITHOUT_NORM, .norm = ATTN_NORM_LAYERNORM_NO_WEIGHT, SIZES_OF_OLMO}}};

/* --- Gemma ------------------------------------------------------------------------------------ */

#define KEYS_OF_GEMMA                                                                              \
    .activation_key = "hidden_activation", .eps_key = "rms_norm_eps", .is_divided = true,          \
    .query_scalar = 256, .is_embedding_scaled = true,                                              \
    ATTN_SWITCHES(ATTN_ATTENTION_BIAS, ATTN_FACTOR("final_logit_softcapping", logits_cap))
#define BLOCK_OF_GEMMA .norm_place = ATTN_NORM_AROUND, BLOCK_OF_GEMMA_1
#define BLOCK_OF_GEMMA_1                                                                           \
    GATED_BLOCK, .norm = ATTN_NORM_RMSNORM_PLUS_ONE, .act_fn = "gelu_pytorch_tanh",                \
                 .output = ATTN_OUTPUT_TIED
/* Gemma 1 (configuration_gemma.py): like Gemma 2, but without windows, caps, and norms after
 * attention and MLP. */
const struct attn_family attn_family_gemma = {
    FAMILY("gemma", "GemmaFor", "model.", llama_rules),
    .gguf = &(const struct attn_gguf_form){.architecture = "gemma", GGUF_NORMS},
    .form = {
        KEYS, ATTN_SWITCHES(ATTN_ATTENTION_BIAS), .is_embedding_scaled = true, .is_divided = true,
        .gelu_is_tanh = true,
        .defaults = {BLOCK_OF_GEMMA_1, SIZES(256000, 3072, 24576, 28, 16, 16, 256, 8192, 1e-6F)}}};

/*
 * Gemma 2 (configuration_gemma2.py, modeling_gemma2.py): norms before and after attention and MLP.
 *
 *     x = embed[id] * sqrt(D), in float32
 *     mid = pre + rms(o(attention(rms(pre))))
 *     post = mid + rms(down(act(gate(n)) * up(n))),  n = rms(mid)
 *     scores = cap * tanh(q.k / sqrt(query_pre_attn_scalar) / cap), before the mask
 *     logits = cap * tanh(x W_U / cap)
 *
 * Every norm multiplies by 1 + w. Every second layer, beginning with the first, has a window.
 */
const struct attn_family attn_family_gemma2 = {
    FAMILY("gemma2", "Gemma2For", "model.", gemma_rules), SCORES,
    .gguf = &(const struct attn_gguf_form){"gemma2", .default_window = 4096, .n_layer_large = 46,
                                           GGUF_NORMS},
    .form = {KEYS_OF_GEMMA, .score_cap = 50,
             .windows = {ATTN_WINDOWS_BY_LIST, .width = 4096, .full_every = 2}, ROPE(10000, 1),
             .defaults = {BLOCK_OF_GEMMA, .logits_cap = 30,
                          SIZES(256000, 2304, 9216, 26, 8, 4, 256, 8192, 1e-6F)}}};

/*
 * Gemma 3 of 270M and 1B, which read no images (configuration_gemma3.py, modeling_gemma3.py): Gemma
 * 2's block without a cap on scores. Before rotation, q and k are normalized in each head
 * separately, times 1 + w.
 *
 * Every sixth layer sees all keys, and its positions have another theta than those of layers with a
 * window. Traps: attn_logit_softcapping is written but not used; scaling of positions applies only
 * to layers without a window.
 */
const struct attn_family attn_family_gemma3_text = {
    FAMILY("gemma3_text", "Gemma3ForCausalLM", "model.", gemma_rules), SCORES,
    .gguf = &(const struct attn_gguf_form){"gemma3", .n_layer_large = 62, GGUF_NORMS},
    .form = {KEYS_OF_GEMMA,
             .windows = {ATTN_WINDOWS_BY_LIST, .width = 4096, .full_every = 6, .has_pattern = true},
             ROPE(1e6, 1), .rope_of_windows = {TURNS("rope_local_base_freq", 1e4, 1)},
             .may_look_both_ways = true,
             .defaults = {BLOCK_OF_GEMMA, .qk_norm = ATTN_QK_NORM_PER_HEAD,
                          SIZES(262208, 2304, 9216, 26, 8, 4, 256, 131072, 1e-6F)}}};

/* --- Phi -------------------------------------------------------------------------------------- */

#define BLOCK_OF_PHI                                                                               \
    ATTN_BLOCK, .norm = ATTN_NORM_LAYERNORM, .has_single_norm = true,                              \
                .has_parallel_residual = true, .has_qkv_bias = true, .has_out_bias = true,         \
                .has_mlp_bias = true, .act_fn = "gelu_new", .output = ATTN_OUTPUT_OWN,             \
                .has_output_bias = true
#define KEYS_OF_PHI                                                                                \
    KEYS_OF("layer_norm_eps"), ROPE(10000, 0.5),                                                   \
        ATTN_SWITCHES(QK_NORM_KEY("qk_layernorm", ATTN_QK_NORM_PER_HEAD))

/*
 * phi-1, 1.5 and 2 (configuration_phi.py, modeling_phi.py). Attention and MLP read the same
 * normalized rows, in parallel, and every map has a bias, including the output:
 *
 *     n = ln(pre)
 *     post = (dense(attention(n)) + fc2(act(fc1(n)))) + pre
 *
 * The first part of each head, half by default, is rotated. With qk_layernorm, q and k are
 * normalized in each head separately before that.
 */
const struct attn_family attn_family_phi = {
    FAMILY("phi", "PhiFor", "model.", phi_rules), SCORES,
    .gguf = &(const struct attn_gguf_form){.architecture = "phi2"},
    .form = {KEYS_OF_PHI,
             .defaults = {BLOCK_OF_PHI, SIZES(51200, 2048, 8192, 24, 32, 0, 0, 2048, 1e-5F)}}};

/* Phi-3, 3.5, 4 (configuration_phi3.py): Llama's block, but with q, k and v in one matrix, and gate
 * and up in another. Positions may have two lists of factors, for short and for long texts. */
const struct attn_family attn_family_phi3 = {
    FAMILY("phi3", "Phi3For", "model.", phi3_rules),
    .gguf = &(const struct attn_gguf_form){.architecture = "phi3"},
    .form = {KEYS_BUT_ROPE, .windows = {.rule = ATTN_WINDOWS_IN_ALL},
             .rope = {TURNS("rope_theta", 10000, 1), .takes_share = true, .has_longrope = true},
             .defaults = {BLOCK_OF_LLAMA, SIZES(32064, 3072, 8192, 32, 32, 0, 0, 4096, 1e-5F)}}};

/* --- Other descendants ------------------------------------------------------------------------ */

/* SmolLM3 (configuration_smollm3.py): every fourth layer has no rotary positions. */
const struct attn_family attn_family_smollm3 = {
    FAMILY("smollm3", "SmolLM3For", "model.", llama_rules),
    .gguf =
        &(const struct attn_gguf_form){"smollm3", HALVES_ALTERNATE, .has_interleaved_biases = true},
    .form = {KEYS_BUT_ROPE, ATTN_SWITCHES(ATTN_ATTENTION_BIAS, ATTN_MLP_BIAS("mlp_bias")),
             .windows = {.rule = ATTN_WINDOWS_SWITCHED}, .unturned = ATTN_UNTURNED_LIST,
             ROPE(2e6, 1),
             .defaults = {GATED_BLOCK, .act_fn = "silu", .norm = ATTN_NORM_RMSNORM,
                          .output = ATTN_OUTPUT_TIED,
                          SIZES(128256, 2048, 11008, 36, 16, 4, 0, 32768, 1e-6F)}}};

/* Granite 3 (configuration_granite.py): Llama with four factors. Trap: without
 * attention_multiplier, scores are not scaled at all. */
const struct attn_family attn_family_granite = {
    FAMILY("granite", "GraniteFor", "model.", llama_rules),
    .gguf = &(const struct attn_gguf_form){"granite", HALVES_ALTERNATE,
                                           .has_interleaved_biases = true, .has_divisors = true},
    .form = {KEYS, .score_factor_key = "attention_multiplier",
             ATTN_SWITCHES(ATTN_ATTENTION_BIAS, ATTN_MLP_BIAS("mlp_bias"), FACTORS_OF_GRANITE),
             .defaults = {BLOCK_OF_LLAMA, SIZES(32000, 4096, 11008, 32, 32, 0, 0, 2048, 1e-6F)}}};

/* StableLM 2 (configuration_stablelm.py): LayerNorm and a gated MLP. With use_parallel_residual a
 * block has one norm. With qk_layernorm each head of q and k has separate norm weights. */
const struct attn_family attn_family_stablelm = {
    FAMILY("stablelm", "StableLmFor", "model.", stablelm_rules),
    .gguf = &(const struct attn_gguf_form){"stablelm", .lacks_norm_if_parallel = true},
    .form = {KEYS_OF("layer_norm_eps"), .has_no_width_key = true, ROPE(10000, 0.25),
             ATTN_SWITCHES(ATTN_QKV_BIAS("use_qkv_bias"), ATTN_PARALLEL,
                           ATTN_FLAG("use_parallel_residual", has_single_norm),
                           QK_NORM_KEY("qk_layernorm", ATTN_QK_NORM_EACH_HEAD)),
             .defaults = {BLOCK_WITHOUT_NORM, .norm = ATTN_NORM_LAYERNORM,
                          SIZES(50304, 2560, 6912, 32, 32, 32, 0, 4096, 1e-5F)}}};

#define BLOCK_OF_STARCODER2                                                                        \
    ATTN_BLOCK, .norm = ATTN_NORM_LAYERNORM, .has_qkv_bias = true, .has_out_bias = true,           \
                .has_mlp_bias = true, .act_fn = "gelu_pytorch_tanh", .output = ATTN_OUTPUT_TIED

/* StarCoder 2 (configuration_starcoder2.py): LayerNorm, biases everywhere, no gate. */
const struct attn_family attn_family_starcoder2 = {
    FAMILY("starcoder2", "Starcoder2For", "model.", starcoder2_rules),
    .gguf = &(const struct attn_gguf_form){.architecture = "starcoder2"},
    .form = {
        KEYS_OF("norm_epsilon"), ROPE(10000, 1), .windows = {.rule = ATTN_WINDOWS_IN_ALL},
        ATTN_SWITCHES(ATTN_QKV_OUT_BIAS("use_bias"), ATTN_MLP_BIAS("use_bias")),
        .defaults = {BLOCK_OF_STARCODER2, SIZES(49152, 3072, 12288, 30, 24, 2, 0, 4096, 1e-5F)}}};

#define KEYS_OF_COHERE KEYS_OF("layer_norm_eps"), .turns_neighbours = true
#define LOGIT_SCALE ATTN_FACTOR("logit_scale", logits_scale)
#define BLOCK_OF_COHERE                                                                            \
    GATED_BLOCK, .act_fn = "silu", .norm = ATTN_NORM_LAYERNORM_NO_BIAS, .has_single_norm = true,   \
                 .has_parallel_residual = true, .output = ATTN_OUTPUT_TIED,                        \
                 .logits_scale = 0.0625, SIZES(256000, 8192, 22528, 40, 64, 0, 0, 8192, 1e-5F)

/* Command R and Aya (configuration_cohere.py): attention and MLP read the same normalized rows. */
const struct attn_family attn_family_cohere = {
    FAMILY("cohere", "CohereFor", "model.", llama_rules),
    .gguf = &(const struct attn_gguf_form){.architecture = "command-r"},
    .form = {KEYS_OF_COHERE, ROPE(5e5, 1),
             ATTN_SWITCHES(ATTN_ATTENTION_BIAS, LOGIT_SCALE,
                           QK_NORM_KEY("use_qk_norm", ATTN_QK_NORM_EACH_HEAD)),
             .defaults = {BLOCK_OF_COHERE}}};

/* Command R7B (configuration_cohere2.py): only layers with a window have rotary positions. */
const struct attn_family attn_family_cohere2 = {
    FAMILY("cohere2", "Cohere2For", "model.", llama_rules),
    .gguf = &(const struct attn_gguf_form){.architecture = "cohere2"},
    .form = {KEYS_OF_COHERE, ROPE(10000, 1), .has_no_width_key = true,
             .windows = {ATTN_WINDOWS_BY_LIST, .width = 4096, .full_every = 4, .has_pattern = true},
             .unturned = ATTN_UNTURNED_FULL, ATTN_SWITCHES(ATTN_ATTENTION_BIAS, LOGIT_SCALE),
             .defaults = {BLOCK_OF_COHERE}}};

#define FORM_OF_GLM                                                                                \
    KEYS_BUT_ROPE, ROPE(10000, 0.5), .turns_neighbours = true,                                     \
                                     ATTN_SWITCHES(ATTN_QKV_BIAS("attention_bias"))
#define SIZES_OF_GLM                                                                               \
    SIZES(151552, 4096, 13696, 40, 32, 2, 128, 131072, 1.5625e-7F), .has_qkv_bias = true

/* GLM-4 of 2024 (configuration_glm.py); and GLM-4 of 2025, with norms around attention and MLP. */
const struct attn_family attn_family_glm = {
    FAMILY("glm", "GlmFor", "model.", glm_rules),
    .form = {FORM_OF_GLM, .defaults = {BLOCK_OF_LLAMA, SIZES_OF_GLM}}};
const struct attn_family attn_family_glm4 = {
    FAMILY("glm4", "Glm4For", "model.", glm_rules),
    .gguf = &(const struct attn_gguf_form){.architecture = "glm4"},
    .form = {FORM_OF_GLM,
             .defaults = {BLOCK_OF_LLAMA, SIZES_OF_GLM, .norm_place = ATTN_NORM_AROUND}}};

/* Helium 2B (configuration_helium.py): Llama, but neighbouring components are rotated. */
const struct attn_family attn_family_helium = {
    FAMILY("helium", "HeliumFor", "model.", llama_rules),
    .form = {KEYS_BUT_ROPE, ROPE(1e5, 1), .turns_neighbours = true,
             ATTN_SWITCHES(ATTN_QKV_BIAS("attention_bias"), ATTN_MLP_BIAS("mlp_bias")),
             .defaults = {BLOCK_OF_LLAMA, SIZES(48000, 2560, 7040, 24, 20, 20, 128, 4096, 1e-8F)}}};

/* EXAONE 4 (configuration_exaone4.py): norms after attention and MLP; q and k are normalized in
 * each head; if some layers have windows, only these have rotary positions. */
const struct attn_family attn_family_exaone4 = {
    FAMILY("exaone4", "Exaone4For", "model.", llama_rules),
    .gguf = &(const struct attn_gguf_form){"exaone4", .has_divisors = true},
    .form = {KEYS,
             .windows = {ATTN_WINDOWS_BY_LIST, .width = 4096, .full_every = 4, .has_pattern = true,
                         .may_be_null = true},
             .unturned = ATTN_UNTURNED_FULL,
             .defaults = {BLOCK_OF_LLAMA, .norm_place = ATTN_NORM_POST,
                          .qk_norm = ATTN_QK_NORM_PER_HEAD,
                          SIZES(102400, 4096, 16384, 32, 32, 32, 0, 2048, 1e-5F)}}};
