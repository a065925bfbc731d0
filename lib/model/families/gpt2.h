/*
 * gpt2.h - what GPT-2 and GPT-Neo share: names of tensors, and keys with two spellings.
 */
#ifndef ATTN_MODEL_FAMILIES_GPT2_H
#define ATTN_MODEL_FAMILIES_GPT2_H

#include "model/family.h"
#include "model/weights.h"

/* Reads a size from 1 to MAX under the first of two spellings that is present. */
enum attn_status attn_gpt2_get_size(const struct attn_json *json, const char *key,
                                    const char *alias, size_t max, size_t *value,
                                    struct attn_error *err);

/* Rows of a family's table of tensors, in their order. B and W are places in a block's and in the
 * model's weights. */
#define ATTN_GPT2_B(member) offsetof(struct attn_block_weights, member)
#define ATTN_GPT2_W(member) offsetof(struct attn_weights, member)
#define ATTN_GPT2_VECTORS(name, part, place)                                                       \
    {name ".weight", "D", part, ATTN_WEIGHT_VECTOR, place(w)},                                     \
    {                                                                                              \
        name ".bias", "D", part, ATTN_WEIGHT_VECTOR, place(b)                                      \
    }
#define ATTN_GPT2_LN_1(member) ATTN_GPT2_B(ln1.member)
#define ATTN_GPT2_LN_2(member) ATTN_GPT2_B(ln2.member)
#define ATTN_GPT2_LN_F(member) ATTN_GPT2_W(ln_final.member)

#define ATTN_GPT2_EMBEDDINGS                                                                       \
    {"wte.weight", "VD", ATTN_PART_EMBEDDING, ATTN_WEIGHT_TENSOR, ATTN_GPT2_W(embed)},             \
    {                                                                                              \
        "wpe.weight", "PD", ATTN_PART_POSITIONS, ATTN_WEIGHT_TENSOR, ATTN_GPT2_W(positions)        \
    }
#define ATTN_GPT2_NORM_1 ATTN_GPT2_VECTORS("h.#.ln_1", ATTN_PART_NORM, ATTN_GPT2_LN_1)
#define ATTN_GPT2_NORM_2 ATTN_GPT2_VECTORS("h.#.ln_2", ATTN_PART_MLP_NORM, ATTN_GPT2_LN_2)
/* KIND says which of both dimensions is the input. */
#define ATTN_GPT2_MLP(kind, shape_in, shape_out)                                                   \
    {"h.#.mlp.c_fc.weight", shape_in, ATTN_PART_MLP, kind, ATTN_GPT2_B(mlp_in.weight)},            \
        {"h.#.mlp.c_fc.bias", "F", ATTN_PART_MLP_BIAS, ATTN_WEIGHT_VECTOR,                         \
         ATTN_GPT2_B(mlp_in.bias)},                                                                \
        {"h.#.mlp.c_proj.weight", shape_out, ATTN_PART_MLP, kind, ATTN_GPT2_B(mlp_out.weight)},    \
    {                                                                                              \
        "h.#.mlp.c_proj.bias", "D", ATTN_PART_MLP_BIAS, ATTN_WEIGHT_VECTOR,                        \
            ATTN_GPT2_B(mlp_out.bias)                                                              \
    }
#define ATTN_GPT2_END                                                                              \
    ATTN_GPT2_VECTORS("ln_f", ATTN_PART_FINAL_NORM, ATTN_GPT2_LN_F),                               \
    {                                                                                              \
        "/lm_head.weight", "VD", ATTN_PART_OUTPUT_FOUND, ATTN_WEIGHT_OUT_IN,                       \
            ATTN_GPT2_W(unembed.weight)                                                            \
    }

#endif
