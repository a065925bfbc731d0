/*
 * vector.h - declares the functions of one instruction set, which vector.c puts into its table.
 *
 * Each vector*.c is compiled once per instruction set. See struct attn_kernels for what the
 * functions compute.
 */
#ifndef ATTN_KERNELS_VECTOR_H
#define ATTN_KERNELS_VECTOR_H

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

/* The same for 16 adjacent columns: a word holds four bytes of one column. If `run` is 0, each byte
 * is a code. Otherwise it holds two codes of four bits, from which `zero` must be subtracted; each
 * `run` bytes hold first all their low halves, then all their high halves. A register of words is
 * stored by v_store_codes, but with V_LOOKS_UP and codes of four bits as it is. */
enum { ATTN_TILE = 16 };
struct attn_tile {
    /* borrowed, 64-byte aligned; of a room, or of tiles that were made before */
    float (*words)[ATTN_TILE], (*scale)[ATTN_TILE], (*offset)[ATTN_TILE];
    size_t group, run; /* group is as in struct attn_codes; run is 0, 16 or 32 */
    int zero;
    const float *fours; /* [16] the values of codes of four bits, if run > 0 */
    bool has_offset;
};

/* Room for the largest tile. */
struct attn_tile_room {
    _Alignas(64) float words[ATTN_MOST_CODES / 4][ATTN_TILE];
    float scale[ATTN_MOST_SCALES][ATTN_TILE], offset[ATTN_MOST_SCALES][ATTN_TILE];
};

/* Returns a tile of DTYPE without its numbers. */
struct attn_tile ATTN_FOR_ISA(attn_vector_describe_tile)(enum attn_dtype dtype);

/* Splits the first N values of 16 columns of blocks of DTYPE into the numbers of TILE. */
void ATTN_FOR_ISA(attn_vector_fill_tile)(const unsigned char *const *columns, enum attn_dtype dtype,
                                         size_t n, const struct attn_tile *tile);

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

#endif
