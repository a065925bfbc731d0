/*
 * weights_gpt2.c - Hugging Face's names for GPT-2 (modeling_gpt2.py).
 *
 * Traps: the block's matrices are Conv1D, stored [in, out]; c_attn is q, k and v side by side,
 * heads contiguous inside each; lm_head is an nn.Linear, stored [out, in], and usually absent
 * because it is tied to wte. Files saved from GPT2LMHeadModel put "transformer." in front of
 * everything but lm_head; attn.bias is a mask, not a bias.
 */
#include "model/weights.h"

#define B(member) offsetof(struct attn_block_weights, member)
#define W(member) offsetof(struct attn_weights, member)

static const struct attn_weight_rule rules[] = {
    {"wte.weight", "VD", ATTN_PART_ALWAYS, ATTN_WEIGHT_TENSOR, W(embed)},
    {"wpe.weight", "PD", ATTN_PART_POSITIONS, ATTN_WEIGHT_TENSOR, W(positions)},
    {"h.#.ln_1.weight", "D", ATTN_PART_NORM, ATTN_WEIGHT_VECTOR, B(ln1.w)},
    {"h.#.ln_1.bias", "D", ATTN_PART_NORM, ATTN_WEIGHT_VECTOR, B(ln1.b)},
    {"h.#.attn.c_attn.weight", "DA", ATTN_PART_PROJECTIONS, ATTN_WEIGHT_QKV_MATRIX, 0},
    {"h.#.attn.c_attn.bias", "A", ATTN_PART_QKV_BIAS, ATTN_WEIGHT_QKV_VECTOR, 0},
    {"h.#.attn.c_proj.weight", "DD", ATTN_PART_OUT_PROJ, ATTN_WEIGHT_IN_OUT, B(out.weight)},
    {"h.#.attn.c_proj.bias", "D", ATTN_PART_OUT_BIAS, ATTN_WEIGHT_VECTOR, B(out.bias)},
    {"h.#.ln_2.weight", "D", ATTN_PART_MLP_NORM, ATTN_WEIGHT_VECTOR, B(ln2.w)},
    {"h.#.ln_2.bias", "D", ATTN_PART_MLP_NORM, ATTN_WEIGHT_VECTOR, B(ln2.b)},
    {"h.#.mlp.c_fc.weight", "DF", ATTN_PART_MLP, ATTN_WEIGHT_IN_OUT, B(mlp_in.weight)},
    {"h.#.mlp.c_fc.bias", "F", ATTN_PART_MLP, ATTN_WEIGHT_VECTOR, B(mlp_in.bias)},
    {"h.#.mlp.c_proj.weight", "FD", ATTN_PART_MLP, ATTN_WEIGHT_IN_OUT, B(mlp_out.weight)},
    {"h.#.mlp.c_proj.bias", "D", ATTN_PART_MLP, ATTN_WEIGHT_VECTOR, B(mlp_out.bias)},
    {"ln_f.weight", "D", ATTN_PART_FINAL_NORM, ATTN_WEIGHT_VECTOR, W(ln_final.w)},
    {"ln_f.bias", "D", ATTN_PART_FINAL_NORM, ATTN_WEIGHT_VECTOR, W(ln_final.b)},
    {"/lm_head.weight", "VD", ATTN_PART_OUTPUT_FOUND, ATTN_WEIGHT_OUT_IN, W(unembed.weight)},
    {"h.#.attn.bias", "", ATTN_PART_IGNORED, ATTN_WEIGHT_TENSOR, 0},
    {"h.#.attn.masked_bias", "", ATTN_PART_IGNORED, ATTN_WEIGHT_TENSOR, 0},
};

const struct attn_weight_naming attn_weight_naming_gpt2 = {"gpt2", "transformer.", rules,
                                                           sizeof rules / sizeof *rules};
