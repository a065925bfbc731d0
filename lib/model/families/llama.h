/*
 * llama.h - what the families that descend from Llama share with it: RMSNorm, rotary
 * positions, grouped heads, a gated MLP, and the names of their tensors.
 *
 * Linear maps are nn.Linear, [out, in]. Where heads lie is as everywhere: row h*E + e.
 */
#ifndef ATTN_MODEL_FAMILIES_LLAMA_H
#define ATTN_MODEL_FAMILIES_LLAMA_H

#include "model/config_keys.h"
#include "model/config_rope.h"
#include "model/family.h"
#include "model/weights.h"

/* Keys of the top level, before there was `rope_parameters`. */
extern const struct attn_rope_keys attn_llama_rope_keys;

/* Reads KEYS and what a block of all these families has; no positions, no biases. */
enum attn_status attn_llama_read_keys(const struct attn_json *json,
                                      const struct attn_config_keys *keys,
                                      struct attn_config *config, struct attn_config_layers *layers,
                                      struct attn_error *err);

/* Reads the switch `attention_bias`, absent: false, of q, k, v and the output projection. */
enum attn_status attn_llama_read_attention_bias(const struct attn_json *json,
                                                struct attn_config *config, struct attn_error *err);

/* Rows of a family's table of tensors, in their order; Phi has some of them too. B and W are places
 * in a block's and in the model's weights. */
#define ATTN_LLAMA_B(member) offsetof(struct attn_block_weights, member)
#define ATTN_LLAMA_W(member) offsetof(struct attn_weights, member)
#define ATTN_LLAMA_WEIGHT(map) (ATTN_LLAMA_B(map) + offsetof(struct attn_linear, weight))
#define ATTN_LLAMA_BIAS(map) (ATTN_LLAMA_B(map) + offsetof(struct attn_linear, bias))
#define ATTN_LLAMA_NORM_W(norm) (ATTN_LLAMA_B(norm) + offsetof(struct attn_norm_weights, w))
#define ATTN_LLAMA_NORM_B(norm) (ATTN_LLAMA_B(norm) + offsetof(struct attn_norm_weights, b))
#define ATTN_LLAMA_LINEAR(name, shape, part, bias_shape, bias_part, place)                         \
    {name ".weight", shape, part, ATTN_WEIGHT_OUT_IN, ATTN_LLAMA_WEIGHT(place)},                   \
    {                                                                                              \
        name ".bias", bias_shape, bias_part, ATTN_WEIGHT_VECTOR, ATTN_LLAMA_BIAS(place)            \
    }
#define ATTN_LLAMA_NORM(name, part, place)                                                         \
    {                                                                                              \
        name ".weight", "D", part, ATTN_WEIGHT_VECTOR, ATTN_LLAMA_NORM_W(place)                    \
    }

#define ATTN_LLAMA_EMBEDDING                                                                       \
    {                                                                                              \
        "embed_tokens.weight", "VD", ATTN_PART_EMBEDDING, ATTN_WEIGHT_TENSOR, ATTN_LLAMA_W(embed)  \
    }
#define ATTN_LLAMA_INPUT_NORM ATTN_LLAMA_NORM("layers.#.input_layernorm", ATTN_PART_NORM, ln1)
/* A norm of this name stands before the MLP, or behind attention. */
#define ATTN_LLAMA_POST_ATTENTION_NORM(part, place)                                                \
    ATTN_LLAMA_NORM("layers.#.post_attention_layernorm", part, place)
#define ATTN_LLAMA_FEEDFORWARD_NORM_BEFORE                                                         \
    ATTN_LLAMA_NORM("layers.#.pre_feedforward_layernorm", ATTN_PART_MLP_NORM, ln2)
#define ATTN_LLAMA_FEEDFORWARD_NORM_BEHIND                                                         \
    ATTN_LLAMA_NORM("layers.#.post_feedforward_layernorm", ATTN_PART_MLP_NORM_BEHIND, ln2_behind)
#define ATTN_LLAMA_QKV                                                                             \
    ATTN_LLAMA_LINEAR("layers.#.self_attn.q_proj", "QD", ATTN_PART_PROJECTIONS, "Q",               \
                      ATTN_PART_QKV_BIAS, q),                                                      \
        ATTN_LLAMA_LINEAR("layers.#.self_attn.k_proj", "KD", ATTN_PART_PROJECTIONS, "K",           \
                          ATTN_PART_QKV_BIAS, k),                                                  \
        ATTN_LLAMA_LINEAR("layers.#.self_attn.v_proj", "WD", ATTN_PART_PROJECTIONS, "W",           \
                          ATTN_PART_QKV_BIAS, v)
#define ATTN_LLAMA_QK_NORM(q_shape, k_shape)                                                       \
    {"layers.#.self_attn.q_norm.weight", q_shape, ATTN_PART_QK_NORM, ATTN_WEIGHT_VECTOR,           \
     ATTN_LLAMA_B(q_norm.w)},                                                                      \
    {                                                                                              \
        "layers.#.self_attn.k_norm.weight", k_shape, ATTN_PART_QK_NORM, ATTN_WEIGHT_VECTOR,        \
            ATTN_LLAMA_B(k_norm.w)                                                                 \
    }
#define ATTN_LLAMA_OUT                                                                             \
    ATTN_LLAMA_LINEAR("layers.#.self_attn.o_proj", "DZ", ATTN_PART_OUT_PROJ, "D",                  \
                      ATTN_PART_OUT_BIAS, out)
#define ATTN_LLAMA_MLP                                                                             \
    ATTN_LLAMA_LINEAR("layers.#.mlp.gate_proj", "FD", ATTN_PART_MLP_GATE, "F",                     \
                      ATTN_PART_MLP_GATE_BIAS, mlp_gate),                                          \
        ATTN_LLAMA_LINEAR("layers.#.mlp.up_proj", "FD", ATTN_PART_MLP, "F", ATTN_PART_MLP_BIAS,    \
                          mlp_in),                                                                 \
        ATTN_LLAMA_LINEAR("layers.#.mlp.down_proj", "DF", ATTN_PART_MLP, "D", ATTN_PART_MLP_BIAS,  \
                          mlp_out)
#define ATTN_LLAMA_FINAL_NORM                                                                      \
    {                                                                                              \
        "norm.weight", "D", ATTN_PART_FINAL_NORM, ATTN_WEIGHT_VECTOR, ATTN_LLAMA_W(ln_final.w)     \
    }
/* Behind the layers. Frequencies in a file are not read: they are computed. */
#define ATTN_LLAMA_HEAD                                                                            \
    {"/lm_head.weight", "VD", ATTN_PART_OUTPUT_FOUND, ATTN_WEIGHT_OUT_IN,                          \
     ATTN_LLAMA_W(unembed.weight)},                                                                \
        {"/lm_head.bias", "V", ATTN_PART_OUTPUT_BIAS, ATTN_WEIGHT_VECTOR,                          \
         ATTN_LLAMA_W(unembed.bias)},                                                              \
        {"layers.#.self_attn.rotary_emb.inv_freq", "", ATTN_PART_IGNORED, ATTN_WEIGHT_TENSOR, 0},  \
    {                                                                                              \
        "rotary_emb.inv_freq", "", ATTN_PART_IGNORED, ATTN_WEIGHT_TENSOR, 0                        \
    }

#endif
