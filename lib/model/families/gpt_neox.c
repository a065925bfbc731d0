/*
 * gpt_neox.c - GPT-NeoX as Hugging Face writes it (configuration_gpt_neox.py,
 * modeling_gpt_neox.py): Pythia and its kin.
 *
 *     post = pre + attention(norm1(pre)) + mlp(norm2(pre)), or with use_parallel_residual false
 *     mid  = pre + attention(norm1(pre)), post = mid + mlp(norm2(mid))
 *
 * LayerNorm; the first quarter of each head is turned by its position. Traps: rows of
 * query_key_value go head by head, q, k and v of each; attention.bias is a mask, but
 * attention.dense.bias is a bias; older configs write rotary_pct and rotary_emb_base, older files
 * embed_out.
 */
#include "model/family.h"
#include "model/weights.h"

#define B(member) offsetof(struct attn_block_weights, member)
#define W(member) offsetof(struct attn_weights, member)

static const struct attn_weight_rule rules[] = {
    {"embed_in.weight", "VD", ATTN_PART_EMBEDDING, ATTN_WEIGHT_TENSOR, W(embed)},
    {"layers.#.input_layernorm.weight", "D", ATTN_PART_NORM, ATTN_WEIGHT_VECTOR, B(ln1.w)},
    {"layers.#.input_layernorm.bias", "D", ATTN_PART_NORM, ATTN_WEIGHT_VECTOR, B(ln1.b)},
    {"layers.#.attention.query_key_value.weight", "AD", ATTN_PART_PROJECTIONS,
     ATTN_WEIGHT_QKV_HEADS, 0},
    {"layers.#.attention.query_key_value.bias", "A", ATTN_PART_QKV_BIAS,
     ATTN_WEIGHT_QKV_HEADS_VECTOR, 0},
    {"layers.#.attention.dense.weight", "DZ", ATTN_PART_OUT_PROJ, ATTN_WEIGHT_OUT_IN,
     B(out.weight)},
    {"layers.#.attention.dense.bias", "D", ATTN_PART_OUT_BIAS, ATTN_WEIGHT_VECTOR, B(out.bias)},
    {"layers.#.post_attention_layernorm.weight", "D", ATTN_PART_MLP_NORM, ATTN_WEIGHT_VECTOR,
     B(ln2.w)},
    {"layers.#.post_attention_layernorm.bias", "D", ATTN_PART_MLP_NORM, ATTN_WEIGHT_VECTOR,
     B(ln2.b)},
    {"layers.#.mlp.dense_h_to_4h.weight", "FD", ATTN_PART_MLP, ATTN_WEIGHT_OUT_IN,
     B(mlp_in.weight)},
    {"layers.#.mlp.dense_h_to_4h.bias", "F", ATTN_PART_MLP_BIAS, ATTN_WEIGHT_VECTOR,
     B(mlp_in.bias)},
    {"layers.#.mlp.dense_4h_to_h.weight", "DF", ATTN_PART_MLP, ATTN_WEIGHT_OUT_IN,
     B(mlp_out.weight)},
    {"layers.#.mlp.dense_4h_to_h.bias", "D", ATTN_PART_MLP_BIAS, ATTN_WEIGHT_VECTOR,
     B(mlp_out.bias)},
    {"final_layer_norm.weight", "D", ATTN_PART_FINAL_NORM, ATTN_WEIGHT_VECTOR, W(ln_final.w)},
    {"final_layer_norm.bias", "D", ATTN_PART_FINAL_NORM, ATTN_WEIGHT_VECTOR, W(ln_final.b)},
    {"/lm_head.weight|/embed_out.weight", "VD", ATTN_PART_OUTPUT_FOUND, ATTN_WEIGHT_OUT_IN,
     W(unembed.weight)},
    {"/lm_head.bias|/embed_out.bias", "V", ATTN_PART_OUTPUT_BIAS, ATTN_WEIGHT_VECTOR,
     W(unembed.bias)},
    {"layers.#.attention.bias", "", ATTN_PART_IGNORED, ATTN_WEIGHT_TENSOR, 0},
    {"layers.#.attention.masked_bias", "", ATTN_PART_IGNORED, ATTN_WEIGHT_TENSOR, 0},
    {"layers.#.attention.rotary_emb.inv_freq", "", ATTN_PART_IGNORED, ATTN_WEIGHT_TENSOR, 0},
    {"rotary_emb.inv_freq", "", ATTN_PART_IGNORED, ATTN_WEIGHT_TENSOR, 0},
};

const struct attn_family attn_family_gpt_neox = {
    .model_type = "gpt_neox",
    .prefix = "gpt_neox.",
    .rules = rules,
    .n_rule = sizeof rules / sizeof *rules,
    .vocabulary_key = "vocab_size",
    .form = {.has_no_heads_keys = true,
             .is_divided = true,
             .activation_key = "hidden_act",
             .eps_key = "layer_norm_eps",
             .has_parallel_key = true,
             .has_attention_bias_key = true,
             .rope = {"rotary_emb_base", 10000, "rotary_pct", 0.25},
             .defaults = {.norm = ATTN_NORM_LAYERNORM,
                          .has_final_norm = true,
                          .has_projections = true,
                          .has_out_proj = true,
                          .has_residual = true,
                          .has_parallel_residual = true,
                          .has_qkv_bias = true,
                          .has_mlp_bias = true,
                          .act_fn = "gelu",
                          .output = ATTN_OUTPUT_OWN,
                          .n_vocab = 50432,
                          .d_model = 6144,
                          .d_mlp = 24576,
                          .n_layer = 44,
                          .n_head = 64,
                          .n_ctx = 2048,
                          .norm_eps = 1e-5F}}};
