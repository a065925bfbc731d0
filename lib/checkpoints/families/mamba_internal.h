/* mamba_internal.h - macros and functions of families whose layers mix tokens without attention. */
#pragma once

#include "families/llama_internal.h"

/* --- Gated DeltaNet (qwen_hybrid.c) ----------------------------------------------------------- */

#define ATTENTION "layers.#.self_attn."
#define DELTA "layers.#.linear_attn."
#define DELTA_MAP(name, shape, map)                                                                \
    TENSOR(DELTA name ".weight", shape, ATTN_PART_MIXER, ATTN_WEIGHT_OUT_IN, WEIGHT_OF(map))
#define DELTA_VECTOR(name, shape, place)                                                           \
    VECTOR(DELTA name, shape, ATTN_PART_MIXER, BLOCK(mixer.place))
#define GATED_QKV                                                                                  \
    FUSED(ATTENTION "q_proj.weight", "rD", ATTN_PART_PROJECTIONS, QUERY_GATE_HEADS),               \
        FUSED(ATTENTION "q_proj.bias", "r", ATTN_PART_QKV_BIAS, QUERY_GATE_HEADS),                 \
        LINEAR(ATTENTION "k_proj", "KD", ATTN_PART_PROJECTIONS, "K", ATTN_PART_QKV_BIAS, k),       \
        LINEAR(ATTENTION "v_proj", "WD", ATTN_PART_PROJECTIONS, "W", ATTN_PART_QKV_BIAS, v)

/* The vectors and the output map; and the input maps of Qwen3-Next, joined by heads of keys. */
#define DELTA_REST                                                                                 \
    DELTA_VECTOR("conv1d.weight", "a1d", conv), DELTA_VECTOR("A_log", "g", decay),                 \
        DELTA_VECTOR("dt_bias", "g", dt_bias), DELTA_VECTOR("norm.weight", "v", norm),             \
        TENSOR(DELTA "out_proj.weight", "Dl", ATTN_PART_MIXER_OUT, ATTN_WEIGHT_OUT_IN,             \
               WEIGHT_OF(out))
#define DELTA_BY_HEAD                                                                              \
    FUSED(DELTA "in_proj_qkvz.weight", "pD", ATTN_PART_MIXER, DELTA_HEADS),                        \
        FUSED(DELTA "in_proj_ba.weight", "uD", ATTN_PART_MIXER, FACTOR_HEADS), DELTA_REST

/* The keys of the config about these layers, for GGUF files. */
#define DELTA_KEYS                                                                                 \
    {                                                                                              \
        .n_tap = "linear_conv_kernel_dim", .d_key = "linear_key_head_dim",                         \
        .n_key_head = "linear_num_key_heads", .n_head = "linear_num_value_heads",                  \
        .d_value = "linear_value_head_dim", .word = "linear_attention"                             \
    }

/* The keys that are refused, and the reader of those that say which layers are of this kind, and
 * of what size. */
extern const struct attn_config_extra attn_family_delta_refused[];
enum attn_status attn_family_read_delta(const struct attn_json *json, struct attn_config *config,
                                        struct attn_config_layers *layers, struct attn_error *err);

/* --- Mamba2 (mamba.c) ------------------------------------------------------------------------- */

/* The tensors, whose names begin with BEFORE. */
#define MAMBA(before)                                                                              \
    FUSED(before "in_proj.weight", "iD", ATTN_PART_MIXER, MAMBA_ROWS),                             \
        FUSED(before "in_proj.bias", "i", ATTN_PART_MIXER_BIAS, MAMBA_ROWS),                       \
        VECTOR(before "conv1d.weight", "a1d", ATTN_PART_MIXER, BLOCK(mixer.conv)),                 \
        VECTOR(before "conv1d.bias", "a", ATTN_PART_MIXER_CONV_BIAS, BLOCK(mixer.conv_bias)),      \
        VECTOR(before "A_log", "g", ATTN_PART_MIXER, BLOCK(mixer.decay)),                          \
        VECTOR(before "dt_bias", "g", ATTN_PART_MIXER, BLOCK(mixer.dt_bias)),                      \
        VECTOR(before "D", "g", ATTN_PART_MIXER, BLOCK(mixer.skip)),                               \
        VECTOR(before "norm.weight", "l", ATTN_PART_MIXER_NORM, BLOCK(mixer.norm))
#define MAMBA_OUT(before)                                                                          \
    LINEAR(before "out_proj", "Dl", ATTN_PART_MIXER_OUT, "D", ATTN_PART_MIXER_BIAS, out)

#define MAMBA_SWITCHES                                                                             \
    ATTN_FLAG("mamba_conv_bias", has_mixer_conv_bias), ATTN_FLAG("mamba_proj_bias", has_mixer_bias)

/* The keys of the config about these layers, for GGUF files; which are in Granite and Bamba. */
#define MAMBA_SIZES                                                                                \
    .n_tap = "mamba_d_conv", .d_key = "mamba_d_state", .n_key_head = "mamba_n_groups",             \
    .n_head = "mamba_n_heads", .d_value = "mamba_d_head"
#define MAMBA_KEYS                                                                                 \
    {                                                                                              \
        MAMBA_SIZES, .expand = "mamba_expand", .word = "mamba"                                     \
    }

/* Reads which layers are Mamba2, and of what size, by the keys of Granite and Bamba. */
enum attn_status attn_family_read_mamba(const struct attn_json *json, struct attn_config *config,
                                        struct attn_config_layers *layers, struct attn_error *err);
