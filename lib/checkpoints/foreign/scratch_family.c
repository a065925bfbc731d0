/* scratch_family.c - the GPTModel of LLMs-from-scratch: GPT-2's block under other names, with
 * queries, keys and values apart, with or without biases, and an output of its own. Its config is
 * made of shapes (trained.h). att.mask is the causal mask. */
#include "families/families_internal.h"

#define NORM(name, part, norm)                                                                     \
    VECTOR("trf_blocks.#." name ".scale", "D", part, NORM_W(norm)),                                \
        VECTOR("trf_blocks.#." name ".shift", "D", part, NORM_B(norm))

static const struct attn_weight_rule rules[] = {
    EMBEDDING_OF("tok_emb.weight"),
    TABLE("pos_emb.weight", "PD", ATTN_PART_POSITIONS, positions),
    NORM("norm1", ATTN_PART_NORM, ln1),
    QKV_MAPS("trf_blocks.#.att.W_query", "trf_blocks.#.att.W_key", "trf_blocks.#.att.W_value"),
    OUT_MAP("trf_blocks.#.att.out_proj"),
    NORM("norm2", ATTN_PART_MLP_NORM, ln2),
    PLAIN_MLP("trf_blocks.#.ff.layers.", "0", "2"),
    VECTOR("final_norm.scale", "D", ATTN_PART_FINAL_NORM, MODEL(ln_final.w)),
    VECTOR("final_norm.shift", "D", ATTN_PART_FINAL_NORM, MODEL(ln_final.b)),
    OUTPUT_OF("/out_head.weight"),
    IGNORED("trf_blocks.#.att.mask"),
};

static const struct attn_config_names names = {"vocab_size", "n_embd", "n_inner",
                                               "n_layer",    "n_head", "n_positions"};

const struct attn_family attn_family_llms_from_scratch = {
    FAMILY("llms_from_scratch", NULL, NULL, rules),
    .form = {.activation_key = "activation_function",
             .eps_key = "layer_norm_epsilon",
             .has_no_heads_keys = true,
             .names = &names,
             ATTN_SWITCHES(ATTN_FLAG("qkv_bias", has_qkv_bias)),
             .defaults = {ATTN_BLOCK, .norm = ATTN_NORM_LAYERNORM,
                          .positions = ATTN_POSITIONS_LEARNED, .has_out_bias = true,
                          .has_mlp_bias = true, .output = ATTN_OUTPUT_OWN, .act_fn = "gelu_new",
                          SIZES(50257, 768, 0, 12, 12, 0, 0, 1024, 1e-5F)}}};
