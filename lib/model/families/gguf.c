/*
 * gguf.c - the tensors of GGUF files, which have one set of names for all families
 * (gguf-py/gguf/tensor_mapping.py). Tensors may be missing if the config lacks their part, too.
 *
 * Traps: llama.cpp turns neighbouring components of a head by positions where Hugging Face turns
 * halves, so llama.cpp's converter interleaves the rows of q and k for `llama`, and for no other
 * architecture. The 1 of Gemma's norms is in their weights already. q, k and v may be one tensor,
 * all rows of q first.
 */
#include "model/families/families_internal.h"

#include "model/gguf_config.h"

#define NORM(name, part, norm)                                                                     \
    VECTOR("blk.#." name ".weight", "D", part, NORM_W(norm)),                                      \
        VECTOR("blk.#." name ".bias", "D", part##_BIAS, NORM_B(norm))

/* The tensors of a file whose norms of q and k have these shapes. */
#define RULES(q_shape, k_shape)                                                                    \
    {"token_embd.weight", "VD", ATTN_PART_EMBEDDING, ATTN_WEIGHT_TENSOR, MODEL(embed)},            \
        {"position_embd.weight", "PD", ATTN_PART_POSITIONS, ATTN_WEIGHT_TENSOR, MODEL(positions)}, \
        NORM("attn_norm", ATTN_PART_NORM, ln1),                                                    \
        {"blk.#.attn_qkv.weight", "AD", ATTN_PART_PROJECTIONS, ATTN_WEIGHT_QKV_ROWS, 0},           \
        {"blk.#.attn_qkv.bias", "A", ATTN_PART_QKV_BIAS, ATTN_WEIGHT_QKV_VECTOR, 0},               \
        LINEAR("blk.#.attn_q", "QD", ATTN_PART_PROJECTIONS, "Q", ATTN_PART_QKV_BIAS, q),           \
        LINEAR("blk.#.attn_k", "KD", ATTN_PART_PROJECTIONS, "K", ATTN_PART_QKV_BIAS, k),           \
        LINEAR("blk.#.attn_v", "WD", ATTN_PART_PROJECTIONS, "W", ATTN_PART_QKV_BIAS, v),           \
        VECTOR("blk.#.attn_q_norm.weight", q_shape, ATTN_PART_QK_NORM, NORM_W(q_norm)),            \
        VECTOR("blk.#.attn_k_norm.weight", k_shape, ATTN_PART_QK_NORM, NORM_W(k_norm)),            \
        LINEAR("blk.#.attn_output", "DZ", ATTN_PART_OUT_PROJ, "D", ATTN_PART_OUT_BIAS, out),       \
        NORM("post_attention_norm", ATTN_PART_POST_NORM, ln1_post),                                \
        NORM("ffn_norm", ATTN_PART_MLP_NORM, ln2),                                                 \
        LINEAR("blk.#.ffn_gate", "FD", ATTN_PART_MLP_GATE, "F", ATTN_PART_MLP_GATE_BIAS,           \
               mlp_gate),                                                                          \
        LINEAR("blk.#.ffn_up", "FD", ATTN_PART_MLP, "F", ATTN_PART_MLP_BIAS, mlp_in),              \
        LINEAR("blk.#.ffn_down", "DF", ATTN_PART_MLP, "D", ATTN_PART_MLP_BIAS, mlp_out),           \
        NORM("post_ffw_norm", ATTN_PART_MLP_POST_NORM, ln2_post),                                  \
        VECTOR("output_norm.weight", "D", ATTN_PART_FINAL_NORM, MODEL(ln_final.w)),                \
        VECTOR("output_norm.bias", "D", ATTN_PART_FINAL_NORM_BIAS, MODEL(ln_final.b)),             \
        {"output.weight", "VD", ATTN_PART_OUTPUT_FOUND, ATTN_WEIGHT_OUT_IN,                        \
         MODEL(unembed.weight)},                                                                   \
        VECTOR("output.bias", "V", ATTN_PART_OUTPUT_BIAS, MODEL(unembed.bias)),                    \
        IGNORED("blk.#.attn_rot_embd"), IGNORED(ATTN_ROPE_FREQS)

static const struct attn_weight_rule by_head_rules[] = {RULES("E", "E")};
static const struct attn_weight_rule over_heads_rules[] = {RULES("Q", "K")};

#define NAMES(list) .rules = (list), .n_rule = sizeof(list) / sizeof *(list), .is_gguf = true

const struct attn_family *attn_family_of_gguf(const struct attn_family *family)
{
    static const struct attn_family by_head = {NAMES(by_head_rules)};
    static const struct attn_family over_heads = {NAMES(over_heads_rules)};
    static const struct attn_family interleaved = {NAMES(by_head_rules),
                                                   .gguf.has_interleaved_heads = true};

    if (family->gguf.has_interleaved_heads)
        return &interleaved;
    return family->form.defaults.qk_norm == ATTN_QK_NORM_ALL_HEADS ? &over_heads : &by_head;
}
