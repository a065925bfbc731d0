/*
 * weights_attn.c - TransformerLens's names, which our own model type uses. Projections hold one
 * matrix a head, with the input first: W_Q [H, D, E], W_O [H, Ev, D].
 */
#include "model/weights.h"

#define B(member) offsetof(struct attn_block_weights, member)
#define W(member) offsetof(struct attn_weights, member)

static const struct attn_weight_rule rules[] = {
    {"embed.W_E", "VD", ATTN_PART_ALWAYS, ATTN_WEIGHT_TENSOR, W(embed)},
    {"pos_embed.W_pos", "PD", ATTN_PART_POSITIONS, ATTN_WEIGHT_TENSOR, W(positions)},
    {"blocks.#.ln1.w", "D", ATTN_PART_NORM, ATTN_WEIGHT_VECTOR, B(ln1.w)},
    {"blocks.#.ln1.b", "D", ATTN_PART_NORM, ATTN_WEIGHT_VECTOR, B(ln1.b)},
    {"blocks.#.attn.W_Q", "HDE", ATTN_PART_PROJECTIONS, ATTN_WEIGHT_HEADS, B(q.weight)},
    {"blocks.#.attn.b_Q", "HE", ATTN_PART_QKV_BIAS, ATTN_WEIGHT_VECTOR, B(q.bias)},
    {"blocks.#.attn.W_K", "GSE", ATTN_PART_PROJECTIONS, ATTN_WEIGHT_HEADS, B(k.weight)},
    {"blocks.#.attn.b_K", "GE", ATTN_PART_QKV_BIAS, ATTN_WEIGHT_VECTOR, B(k.bias)},
    {"blocks.#.attn.W_V", "GSU", ATTN_PART_PROJECTIONS, ATTN_WEIGHT_HEADS, B(v.weight)},
    {"blocks.#.attn.b_V", "GU", ATTN_PART_QKV_BIAS, ATTN_WEIGHT_VECTOR, B(v.bias)},
    {"blocks.#.attn.W_O", "HUD", ATTN_PART_OUT_PROJ, ATTN_WEIGHT_IN_OUT, B(out.weight)},
    {"blocks.#.attn.b_O", "D", ATTN_PART_OUT_BIAS, ATTN_WEIGHT_VECTOR, B(out.bias)},
    {"blocks.#.ln2.w", "D", ATTN_PART_MLP_NORM, ATTN_WEIGHT_VECTOR, B(ln2.w)},
    {"blocks.#.ln2.b", "D", ATTN_PART_MLP_NORM, ATTN_WEIGHT_VECTOR, B(ln2.b)},
    {"blocks.#.mlp.W_in", "DF", ATTN_PART_MLP, ATTN_WEIGHT_IN_OUT, B(mlp_in.weight)},
    {"blocks.#.mlp.b_in", "F", ATTN_PART_MLP_BIAS, ATTN_WEIGHT_VECTOR, B(mlp_in.bias)},
    {"blocks.#.mlp.W_out", "FD", ATTN_PART_MLP, ATTN_WEIGHT_IN_OUT, B(mlp_out.weight)},
    {"blocks.#.mlp.b_out", "D", ATTN_PART_MLP_BIAS, ATTN_WEIGHT_VECTOR, B(mlp_out.bias)},
    {"ln_final.w", "D", ATTN_PART_FINAL_NORM, ATTN_WEIGHT_VECTOR, W(ln_final.w)},
    {"ln_final.b", "D", ATTN_PART_FINAL_NORM, ATTN_WEIGHT_VECTOR, W(ln_final.b)},
    {"unembed.W_U", "DV", ATTN_PART_OUTPUT, ATTN_WEIGHT_IN_OUT, W(unembed.weight)},
    {"unembed.b_U", "V", ATTN_PART_OUTPUT_BIAS, ATTN_WEIGHT_VECTOR, W(unembed.bias)},
};

const struct attn_weight_naming attn_weight_naming_attn = {"attn", NULL, rules,
                                                           sizeof rules / sizeof *rules};
