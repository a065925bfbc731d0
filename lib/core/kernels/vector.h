/*
 * vector.h - declares the functions of one instruction set, which vector.c puts into its table.
 *
 * Each vector*.c is compiled once per instruction set. See struct attn_kernels for what the
 * functions compute.
 */
#pragma once

#include "kernels/kernels.h"
#include "kernels/lanes.h"

/* clang-format off */
/* X(name): the function attn_vector_NAME implements the member NAME of struct attn_kernels. */
#define ATTN_VECTOR_MAP(X)                                                                         \
    X(gemm) X(gemm_ahead) X(gemm_bf16) X(round_bf16) X(pair_bf16) X(pack_panel)      \
    X(multiply_blocks) X(tiles_size) X(make_tiles) X(convert) X(pack_keys) X(add) X(scale)         \
    X(stream) X(drain) X(activate)                                                                \
    X(gate) X(soft_cap) X(finish) X(elu_plus_one) X(relu_plus_tiny) X(exp) X(layer_norm)           \
    X(rms_norm) X(turn) X(rotate) X(softmax) X(softmax_block) X(add_outer) X(multiply_row) X(sum)  \
    X(is_finite) X(spin) X(log_sum_exp) X(entropy) X(divergence) X(add_weighted) X(add_product) \
    X(rms_norm_back) X(layer_norm_back) X(activate_back) X(soft_cap_back) X(rotate_back)           \
    X(softmax_back) X(dots)
/* clang-format on */

#define ATTN_VECTOR_DECLARE(name)                                                                  \
    extern __typeof__(*(((const struct attn_kernels *)0)->name)) ATTN_FOR_ISA(attn_vector_##name);
ATTN_VECTOR_MAP(ATTN_VECTOR_DECLARE)
#undef ATTN_VECTOR_DECLARE

/* Up to 256 values of blocks, split into codes and scales. Value i is scale[i / group] * code i +
 * offset[i / group]. */
enum { ATTN_MOST_CODES = 256, ATTN_MOST_SCALES = 16 };
struct attn_codes {
    _Alignas(64) int8_t n[ATTN_MOST_CODES];
    float scale[ATTN_MOST_SCALES], offset[ATTN_MOST_SCALES];
    size_t group;    /* number of values with the same scale: 16 or 32 */
    bool has_offset; /* otherwise all offsets are 0, and `offset` is not written */
};

/* The same for 64 adjacent columns, in units: first rows of 64 words, of which each holds four
 * bytes of one column, then rows of the scales of these codes, then of their offsets. If `run` is
 * 0, each byte is a code. Otherwise it holds two codes of four bits, from which `zero` must be
 * subtracted; each `run` bytes hold first all their low halves, then all their high halves. A
 * register of words is stored by v_store_codes. With V_LOOKS_UP, words of codes of four bits are
 * stored as they are, and those of five bits as the three that join_fives makes of four. */
struct attn_tile {
    char *units;      /* borrowed, 64-byte aligned; of a room, or made before */
    size_t n_k, size; /* values of a column in a unit: 16, 32 or 64; bytes of a unit */
    /* Bytes from the start of a unit to its scales and offsets. They are F16 if has_halves, else
     * floats. */
    size_t scale_at, offset_at;
    size_t group, run; /* group is as in struct attn_codes; run is 0, 16 or 32 */
    size_t n_word;     /* number of words for 16 bytes: 4, or with codes of five bits 3 */
    bool has_halves, has_offset;
    int zero;
    const float *values; /* [16] or [32] the values of codes of four or five bits; or NULL */
};

enum { ATTN_WORD_ROW = ATTN_PANEL * sizeof(float) }; /* bytes of a row of words */

/* Room for the units of the largest tile. */
struct attn_tile_room {
    _Alignas(64) char units[(ATTN_MOST_CODES / 4 + 2 * ATTN_MOST_SCALES) * ATTN_WORD_ROW];
};

/* Returns the bytes of N numbers of a row of scales or offsets. */
static inline size_t attn_tile_bytes(const struct attn_tile *tile, size_t n)
{
    return n * (tile->has_halves ? sizeof(uint16_t) : sizeof(float));
}

/* Returns a tile of DTYPE without its numbers. */
struct attn_tile ATTN_FOR_ISA(attn_vector_describe_tile)(enum attn_dtype dtype);

enum { ATTN_TILE = 16 };

/* Splits the first N values of 16 COLUMNS of blocks of DTYPE into columns FIRST to FIRST+15 of
 * TILE. */
void ATTN_FOR_ISA(attn_vector_fill_tile)(const unsigned char *const *columns, enum attn_dtype dtype,
                                         size_t n, const struct attn_tile *tile, size_t first);

/* Sets *GROUP and *HAS_OFFSET to those of the codes of DTYPE. */
void ATTN_FOR_ISA(attn_vector_describe_codes)(enum attn_dtype dtype, size_t *group,
                                              bool *has_offset);

/* Splits the first N values, 1 to 256, of blocks of DTYPE (a type of ATTN_BLOCK_DTYPE_MAP) into
 * CODES. */
void ATTN_FOR_ISA(attn_vector_split)(const void *blocks, enum attn_dtype dtype, size_t n,
                                     struct attn_codes *codes);

/* y [n] = the first N values of blocks of DTYPE (a type of ATTN_BLOCK_DTYPE_MAP). */
void ATTN_FOR_ISA(attn_vector_decode)(const void *blocks, enum attn_dtype dtype, size_t n,
                                      float *y);

extern const struct attn_kernels ATTN_FOR_ISA(attn_kernels);

/* Whether this WebAssembly engine, on this processor, rounds a relaxed multiply-add once. Engines
 * may round once or twice, but always do the same. */
bool attn_vector_is_fused(void);
