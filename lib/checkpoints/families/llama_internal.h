/* llama_internal.h - macros for families with Llama's names of tensors and keys. */
#pragma once

#include "families/families_internal.h"

/* A table with Llama's names. The parameters are the maps of q, k and v, the norms of q and k, the
 * MLP, and the other norms. Rotary frequencies in a file are ignored, because they are computed. */
#define RULES(qkv, qk_norms, mlp, norms)                                                           \
    EMBEDDING_OF("embed_tokens.weight"), qkv, qk_norms, OUT_MAP("layers.#.self_attn.o_proj"), mlp, \
        norms, END
#define END                                                                                        \
    OUTPUT_OF("/lm_head.weight"), OUTPUT_BIAS_OF("/lm_head.bias"), SCORE,                          \
        IGNORED("layers.#.self_attn.rotary_emb.inv_freq"), IGNORED("rotary_emb.inv_freq")

#define QKV THREE_MAPS("layers.#.self_attn.", "_proj")
/* Norms of q and k. Their shape depends on qk_norm of the config. */
#define QK_NORM                                                                                    \
    VECTOR("layers.#.self_attn.q_norm.weight", "y", ATTN_PART_QK_NORM, NORM_W(q_norm)),            \
        VECTOR("layers.#.self_attn.k_norm.weight", "z", ATTN_PART_QK_NORM, NORM_W(k_norm))
#define DOWN LINEAR("layers.#.mlp.down_proj", "DF", ATTN_PART_MLP, "D", ATTN_PART_MLP_BIAS, mlp_out)
#define GATED_MLP                                                                                  \
    LINEAR("layers.#.mlp.gate_proj", "FD", ATTN_PART_MLP_GATE, "F", ATTN_PART_MLP_GATE_BIAS,       \
           mlp_gate),                                                                              \
        LINEAR("layers.#.mlp.up_proj", "FD", ATTN_PART_MLP, "F", ATTN_PART_MLP_BIAS, mlp_in), DOWN
/* The norms before and after attention and MLP; each is read if the config has it. The parameters
 * are the names of the norms before the MLP, after attention, and after the MLP. */
#define NORM(name, part, norm) VECTOR("layers.#." name ".weight", "D", part, NORM_W(norm))
#define NORMS(of_mlp, post, mlp_post)                                                              \
    NORM("input_layernorm", ATTN_PART_NORM, ln1), NORM(of_mlp, ATTN_PART_MLP_NORM, ln2),           \
        NORM(post, ATTN_PART_POST_NORM, ln1_post),                                                 \
        NORM(mlp_post, ATTN_PART_MLP_POST_NORM, ln2_post),                                         \
        VECTOR("norm.weight", "D", ATTN_PART_FINAL_NORM, MODEL(ln_final.w))
#define NORMS_OF_LLAMA                                                                             \
    NORMS("post_attention_layernorm", "post_attention_layernorm", "post_feedforward_layernorm")

#define LAYER_NORMS                                                                                \
    LAYER_NORM("layers.#.input_layernorm", ATTN_PART_NORM, ln1),                                   \
        LAYER_NORM("layers.#.post_attention_layernorm", ATTN_PART_MLP_NORM, ln2),                  \
        FINAL_LAYER_NORM("norm")

/* Checks that the object of rotary positions, if JSON has one, has those of both kinds of layers,
 * of types that are read; with a theta, if NEEDS_THETA (gemma4.c). */
enum attn_status attn_family_check_ropes(const struct attn_json *json,
                                         const struct attn_config *config,
                                         const struct attn_config_layers *layers, bool needs_theta,
                                         struct attn_error *err);

#define GGUF_NORMS                                                                                 \
    .part = "norms", .difference = "weights have their 1 in them: 1 + w of Hugging Face's w"

#define KEYS_OF(eps) .activation_key = "hidden_act", .eps_key = (eps)
#define KEYS_BUT_ROPE KEYS_OF("rms_norm_eps")
#define KEYS KEYS_BUT_ROPE, ROPE(10000, 1)
#define QK_NORM_KEY(name, kind) ATTN_CHOICE(name, qk_norm, ATTN_QK_NORM_NONE, kind)
#define GATED_BLOCK ATTN_BLOCK, .has_gated_mlp = true
#define BLOCK_WITHOUT_NORM GATED_BLOCK, .act_fn = "silu", .output = ATTN_OUTPUT_OWN
#define BLOCK_OF_LLAMA .norm = ATTN_NORM_RMSNORM, BLOCK_WITHOUT_NORM
