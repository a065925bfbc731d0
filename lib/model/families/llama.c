/*
 * llama.c - Llama as Hugging Face writes it (configuration_llama.py, modeling_llama.py), the many
 * models that were trained after it (SmolLM, TinyLlama), and the families that descend from it:
 * each is a row with the defaults of its config, its keys and its tensors.
 *
 *     mid  = pre + o(attention(rms(pre)))
 *     post = mid + down(act(gate(n)) * up(n)),  n = rms(mid)
 *
 * q and k are turned by their positions. Linear maps are nn.Linear, [out, in]. Where heads lie is
 * as everywhere: row h*E + e.
 */
#include "model/families/families_internal.h"

/* --- tensors ---------------------------------------------------------------------------------- */

#define NORM(name, part, norm) VECTOR("layers.#." name ".weight", "D", part, NORM_W(norm))

#define EMBEDDING                                                                                  \
    {                                                                                              \
        "embed_tokens.weight", "VD", ATTN_PART_EMBEDDING, ATTN_WEIGHT_TENSOR, MODEL(embed)         \
    }
#define QKV                                                                                        \
    LINEAR("layers.#.self_attn.q_proj", "QD", ATTN_PART_PROJECTIONS, "Q", ATTN_PART_QKV_BIAS, q),  \
        LINEAR("layers.#.self_attn.k_proj", "KD", ATTN_PART_PROJECTIONS, "K", ATTN_PART_QKV_BIAS,  \
               k),                                                                                 \
        LINEAR("layers.#.self_attn.v_proj", "WD", ATTN_PART_PROJECTIONS, "W", ATTN_PART_QKV_BIAS,  \
               v)
#define QK_NORM(q_shape, k_shape)                                                                  \
    VECTOR("layers.#.self_attn.q_norm.weight", q_shape, ATTN_PART_QK_NORM, NORM_W(q_norm)),        \
        VECTOR("layers.#.self_attn.k_norm.weight", k_shape, ATTN_PART_QK_NORM, NORM_W(k_norm))
#define OUT                                                                                        \
    LINEAR("layers.#.self_attn.o_proj", "DZ", ATTN_PART_OUT_PROJ, "D", ATTN_PART_OUT_BIAS, out)
#define GATED_MLP                                                                                  \
    LINEAR("layers.#.mlp.gate_proj", "FD", ATTN_PART_MLP_GATE, "F", ATTN_PART_MLP_GATE_BIAS,       \
           mlp_gate),                                                                              \
        LINEAR("layers.#.mlp.up_proj", "FD", ATTN_PART_MLP, "F", ATTN_PART_MLP_BIAS, mlp_in),      \
        LINEAR("layers.#.mlp.down_proj", "DF", ATTN_PART_MLP, "D", ATTN_PART_MLP_BIAS, mlp_out)
/* After the layers. Frequencies in a file are not read: they are computed. */
#define OUTPUT                                                                                     \
    {"/lm_head.weight", "VD", ATTN_PART_OUTPUT_FOUND, ATTN_WEIGHT_OUT_IN, MODEL(unembed.weight)},  \
        VECTOR("/lm_head.bias", "V", ATTN_PART_OUTPUT_BIAS, MODEL(unembed.bias)),                  \
        IGNORED("layers.#.self_attn.rotary_emb.inv_freq"), IGNORED("rotary_emb.inv_freq")
#define FINAL_NORM VECTOR("norm.weight", "D", ATTN_PART_FINAL_NORM, MODEL(ln_final.w))

static const struct attn_weight_rule llama_rules[] = {
    EMBEDDING,
    NORM("input_layernorm", ATTN_PART_NORM, ln1),
    QKV,
    OUT,
    NORM("post_attention_layernorm", ATTN_PART_MLP_NORM, ln2),
    GATED_MLP,
    FINAL_NORM,
    OUTPUT,
};

static const struct attn_weight_rule qwen3_rules[] = {
    EMBEDDING, NORM("input_layernorm", ATTN_PART_NORM, ln1),
    QKV,       QK_NORM("E", "E"),
    OUT,       NORM("post_attention_layernorm", ATTN_PART_MLP_NORM, ln2),
    GATED_MLP, FINAL_NORM,
    OUTPUT,
};

static const struct attn_weight_rule olmo2_rules[] = {
    EMBEDDING,
    QKV,
    QK_NORM("Q", "K"),
    OUT,
    NORM("post_attention_layernorm", ATTN_PART_POST_NORM, ln1_post),
    GATED_MLP,
    NORM("post_feedforward_layernorm", ATTN_PART_MLP_POST_NORM, ln2_post),
    FINAL_NORM,
    OUTPUT,
};

static const struct attn_weight_rule gemma2_rules[] = {
    EMBEDDING,
    NORM("input_layernorm", ATTN_PART_NORM, ln1),
    QKV,
    OUT,
    NORM("post_attention_layernorm", ATTN_PART_POST_NORM, ln1_post),
    NORM("pre_feedforward_layernorm", ATTN_PART_MLP_NORM, ln2),
    GATED_MLP,
    NORM("post_feedforward_layernorm", ATTN_PART_MLP_POST_NORM, ln2_post),
    FINAL_NORM,
    OUTPUT,
};

static const struct attn_weight_rule gemma3_rules[] = {
    EMBEDDING,
    NORM("input_layernorm", ATTN_PART_NORM, ln1),
    QKV,
    QK_NORM("E", "E"),
    OUT,
    NORM("post_attention_layernorm", ATTN_PART_POST_NORM, ln1_post),
    NORM("pre_feedforward_layernorm", ATTN_PART_MLP_NORM, ln2),
    GATED_MLP,
    NORM("post_feedforward_layernorm", ATTN_PART_MLP_POST_NORM, ln2_post),
    FINAL_NORM,
    OUTPUT,
};

#define QK_LAYER_NORM(name, norm)                                                                  \
    VECTOR("layers.#.self_attn." name ".weight", "E", ATTN_PART_QK_NORM, NORM_W(norm)),            \
        VECTOR("layers.#.self_attn." name ".bias", "E", ATTN_PART_QK_NORM, NORM_B(norm))

static const struct attn_weight_rule phi_rules[] = {
    EMBEDDING,
    LAYER_NORM("layers.#.input_layernorm", ATTN_PART_NORM, ln1),
    QKV,
    QK_LAYER_NORM("q_layernorm", q_norm),
    QK_LAYER_NORM("k_layernorm", k_norm),
    LINEAR("layers.#.self_attn.dense", "DZ", ATTN_PART_OUT_PROJ, "D", ATTN_PART_OUT_BIAS, out),
    LINEAR("layers.#.mlp.fc1", "FD", ATTN_PART_MLP, "F", ATTN_PART_MLP_BIAS, mlp_in),
    LINEAR("layers.#.mlp.fc2", "DF", ATTN_PART_MLP, "D", ATTN_PART_MLP_BIAS, mlp_out),
    FINAL_LAYER_NORM("final_layernorm"),
    OUTPUT,
};

/* --- configs ---------------------------------------------------------------------------------- */

#define KEYS .activation_key = "hidden_act", .eps_key = "rms_norm_eps", .rope = WHOLE_HEADS
#define WHOLE_HEADS                                                                                \
    {                                                                                              \
        "rope_theta", 10000, "partial_rotary_factor", 1                                            \
    }
#define BLOCK_OF_LLAMA                                                                             \
    .norm = ATTN_NORM_RMSNORM, .has_final_norm = true, .has_projections = true,                    \
    .has_out_proj = true, .has_residual = true, .has_gated_mlp = true, .act_fn = "silu",           \
    .output = ATTN_OUTPUT_OWN

/* Traps: head_dim may be given, and H*E need not be D then; attention_bias is for q, k, v and o,
 * mlp_bias for all three maps. */
const struct attn_family attn_family_llama = {
    FAMILY("llama", "LlamaFor", "model.", llama_rules),
    .gguf = {"llama", .has_interleaved_heads = true, .part = "q and k",
             .difference = "read in Hugging Face's order: in the file the halves of each head "
                           "alternate"},
    .form = {KEYS, .has_attention_bias_key = true, .has_mlp_bias_key = true, .is_divided = true,
             .defaults = {BLOCK_OF_LLAMA, .n_vocab = 32000, .d_model = 4096, .d_mlp = 11008,
                          .n_layer = 32, .n_head = 32, .n_ctx = 2048, .norm_eps = 1e-6F}}};

/* Mistral (configuration_mistral.py): no biases, and in all layers a window. Traps: an absent
 * sliding_window is 4096, null means no window; an absent num_key_value_heads is 8. */
const struct attn_family attn_family_mistral = {
    FAMILY("mistral", "MistralFor", "model.", llama_rules),
    .form = {KEYS, .windows = {ATTN_WINDOWS_IN_ALL, .width = 4096},
             .defaults = {BLOCK_OF_LLAMA, .n_vocab = 32000, .d_model = 4096, .d_mlp = 14336,
                          .n_layer = 32, .n_head = 32, .n_kv_head = 8, .n_ctx = 131072,
                          .norm_eps = 1e-6F}}};

/* Qwen2 and 2.5 (configuration_qwen2.py): biases on q, k and v, always, and on no other map. Traps:
 * an absent num_key_value_heads is 32 whatever num_attention_heads is; all published files have a
 * sliding_window, but use_sliding_window false, so the window is not used. */
const struct attn_family attn_family_qwen2 = {
    FAMILY("qwen2", "Qwen2For", "model.", llama_rules), .gguf = {.architecture = "qwen2"},
    .form = {KEYS, .windows = {ATTN_WINDOWS_SWITCHED, .width = 4096, .first = 28},
             .defaults = {BLOCK_OF_LLAMA, .has_qkv_bias = true, .n_vocab = 151936, .d_model = 4096,
                          .d_mlp = 22016, .n_layer = 32, .n_head = 32, .n_kv_head = 32,
                          .n_ctx = 32768, .norm_eps = 1e-6F}}};

/*
 * Qwen3 (configuration_qwen3.py): before they are turned, q and k of each head are normalized by
 * themselves:
 *
 *     q = rms(x W_q) over the E components of a head, with the weights q_norm [E] of all heads
 *
 * Traps: an absent head_dim is 128, an absent num_key_value_heads 32, whatever the other sizes are;
 * a sliding_window counts only with use_sliding_window.
 */
const struct attn_family attn_family_qwen3 = {
    FAMILY("qwen3", "Qwen3For", "model.", qwen3_rules), .gguf = {.architecture = "qwen3"},
    .form = {KEYS, .has_attention_bias_key = true,
             .windows = {ATTN_WINDOWS_SWITCHED, .width = 4096, .first = 28},
             .defaults = {BLOCK_OF_LLAMA, .qk_norm = ATTN_QK_NORM_PER_HEAD, .n_vocab = 151936,
                          .d_model = 4096, .d_mlp = 22016, .n_layer = 32, .n_head = 32,
                          .n_kv_head = 32, .d_head = 128, .n_ctx = 32768, .norm_eps = 1e-6F}}};

/*
 * OLMo 2 (configuration_olmo2.py, modeling_olmo2.py): norms after attention and MLP instead of
 * before (post-norm), and norms over all heads of q and k at once:
 *
 *     q    = rms(pre W_q) over H*E components, k = rms(pre W_k) over G*E; then they are turned
 *     mid  = pre + rms(o(attention(pre)))
 *     post = mid + rms(down(act(gate(mid)) * up(mid)))
 */
const struct attn_family attn_family_olmo2 = {
    FAMILY("olmo2", "Olmo2For", "model.", olmo2_rules), .gguf = {"olmo2", .refuses_windows = true},
    .form = {KEYS, .has_attention_bias_key = true,
             .defaults = {BLOCK_OF_LLAMA, .norm_place = ATTN_NORM_POST,
                          .qk_norm = ATTN_QK_NORM_ALL_HEADS, .n_vocab = 50304, .d_model = 4096,
                          .d_mlp = 11008, .n_layer = 32, .n_head = 32, .n_ctx = 2048,
                          .norm_eps = 1e-5F}}};

/* --- Gemma ------------------------------------------------------------------------------------ */

#define KEYS_OF_GEMMA                                                                              \
    .activation_key = "hidden_activation", .eps_key = "rms_norm_eps", .is_divided = true,          \
    .has_attention_bias_key = true, .query_scalar = 256, .has_logits_cap_key = true,               \
    .is_embedding_scaled = true
#define BLOCK_OF_GEMMA                                                                             \
    .norm = ATTN_NORM_RMSNORM_PLUS_ONE, .norm_place = ATTN_NORM_AROUND, .has_final_norm = true,    \
    .has_projections = true, .has_out_proj = true, .has_residual = true, .has_gated_mlp = true,    \
    .act_fn = "gelu_pytorch_tanh", .output = ATTN_OUTPUT_TIED
#define GGUF_NORMS                                                                                 \
    .part = "norms", .difference = "weights have their 1 in them: 1 + w of Hugging Face's w"

/*
 * Gemma 2 (configuration_gemma2.py, modeling_gemma2.py): norms before and after attention and MLP.
 *
 *     x    = embed[id] * sqrt(D), in float32
 *     mid  = pre + rms(o(attention(rms(pre))))
 *     post = mid + rms(down(act(gate(n)) * up(n))),  n = rms(mid)
 *     scores = cap * tanh(q.k / sqrt(query_pre_attn_scalar) / cap), before the mask
 *     logits = cap * tanh(x W_U / cap)
 *
 * Every norm multiplies by 1 + w. Every second layer, beginning with the first, has a window.
 */
const struct attn_family attn_family_gemma2 = {
    FAMILY("gemma2", "Gemma2For", "model.", gemma2_rules),
    .gguf = {"gemma2", .default_window = 4096, .n_layer_large = 46, GGUF_NORMS},
    .form = {KEYS_OF_GEMMA, .score_cap = 50,
             .windows = {ATTN_WINDOWS_BY_LIST, .width = 4096, .full_every = 2}, .rope = WHOLE_HEADS,
             .defaults = {BLOCK_OF_GEMMA, .logits_cap = 30, .n_vocab = 256000, .d_model = 2304,
                          .d_mlp = 9216, .n_layer = 26, .n_head = 8, .n_kv_head = 4, .d_head = 256,
                          .n_ctx = 8192, .norm_eps = 1e-6F}}};

/*
 * Gemma 3 of 270M and 1B, which have no images (configuration_gemma3.py, modeling_gemma3.py): Gemma
 * 2's block without a cap of the scores, and before rotation, q and k of each head are normalized
 * separately, times 1 + w.
 *
 * Every sixth layer looks at all keys; its positions have another theta than the layers with a
 * window. Traps: attn_logit_softcapping is written and not used; scaling of the positions applies
 * to layers without a window.
 */
const struct attn_family attn_family_gemma3_text = {
    FAMILY("gemma3_text", "Gemma3ForCausalLM", "model.", gemma3_rules),
    .gguf = {"gemma3", .n_layer_large = 62, GGUF_NORMS},
    .form = {KEYS_OF_GEMMA,
             .windows = {ATTN_WINDOWS_BY_LIST, .width = 4096, .full_every = 6, .has_pattern = true},
             .rope = {"rope_theta", 1e6, "partial_rotary_factor", 1},
             .rope_of_windows = {"rope_local_base_freq", 1e4, "partial_rotary_factor", 1},
             .defaults = {BLOCK_OF_GEMMA, .qk_norm = ATTN_QK_NORM_PER_HEAD, .n_vocab = 262208,
                          .d_model = 2304, .d_mlp = 9216, .n_layer = 26, .n_head = 8,
                          .n_kv_head = 4, .d_head = 256, .n_ctx = 131072, .norm_eps = 1e-6F}}};

/* --- Phi -------------------------------------------------------------------------------------- */

#define BLOCK_OF_PHI                                                                               \
    .norm = ATTN_NORM_LAYERNORM, .has_single_norm = true, .has_parallel_residual = true,           \
    .has_residual = true, .has_final_norm = true, .has_projections = true, .has_out_proj = true,   \
    .has_qkv_bias = true, .has_out_bias = true, .has_mlp_bias = true, .act_fn = "gelu_new",        \
    .output = ATTN_OUTPUT_OWN, .has_output_bias = true
#define KEYS_OF_PHI                                                                                \
    .activation_key = "hidden_act", .eps_key = "layer_norm_eps", .has_qk_norm_key = true,          \
    .rope = {"rope_theta", 10000, "partial_rotary_factor", 0.5}

/*
 * phi-1, 1.5 and 2 (configuration_phi.py, modeling_phi.py). Attention and MLP read the same
 * normalized rows, in parallel, and every map has a bias, including the output:
 *
 *     n    = ln(pre)
 *     post = (dense(attention(n)) + fc2(act(fc1(n)))) + pre
 *
 * The first part of each head is turned by positions, half by default. With qk_layernorm q and k of
 * each head are normalized separately before that.
 */
const struct attn_family attn_family_phi = {
    FAMILY("phi", "PhiFor", "model.", phi_rules), .gguf = {.architecture = "phi2"},
    .form = {KEYS_OF_PHI,
             .defaults = {BLOCK_OF_PHI, .n_vocab = 51200, .d_model = 2048, .d_mlp = 8192,
                          .n_layer = 24, .n_head = 32, .n_ctx = 2048, .norm_eps = 1e-5F}}};
