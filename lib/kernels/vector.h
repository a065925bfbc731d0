/*
 * vector.h - the functions of one instruction set, before they are put into its table.
 *
 * Every vector*.c is compiled once for each; see struct attn_kernels for what the functions do.
 */
#ifndef ATTN_KERNELS_VECTOR_H
#define ATTN_KERNELS_VECTOR_H

#include "kernels/kernels.h"
#include "kernels/lanes.h"

/* clang-format off */
/* X(name): the member of struct attn_kernels that attn_vector_NAME is, which has its type. */
#define ATTN_VECTOR_MAP(X)                                                                         \
    X(gemm) X(gemm_ahead) X(gemm_bf16) X(round_bf16) X(pair_bf16) X(pack_panel)      \
    X(multiply_blocks) X(convert) X(pack_keys) X(add) X(scale) X(stream) X(drain) X(activate)      \
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

/* Up to 256 values of blocks: value i is scale[i / group] code i + offset[i / group]. Codes are
 * n[i], or of four bits, from which ZERO is taken off: of each RUN bytes the low halves come first.
 */
enum { ATTN_MOST_CODES = 256, ATTN_MOST_SCALES = 16 };
struct attn_codes {
    _Alignas(64) int8_t n[ATTN_MOST_CODES];
    float scale[ATTN_MOST_SCALES], offset[ATTN_MOST_SCALES];
    size_t group; /* 16 or 32 */
    size_t run;   /* 16 or 32; 0: a code has 8 bits */
    uint8_t zero;
    bool has_offset; /* else there is none: they are not written */
};

/* CODES = the first N values, 1 .. 256, of blocks of DTYPE, a type of ATTN_BLOCK_DTYPE_MAP. */
void ATTN_FOR_ISA(attn_vector_split)(const void *blocks, enum attn_dtype dtype, size_t n,
                                     struct attn_codes *codes);

/* y [n] = the first values of blocks of DTYPE, a type of ATTN_BLOCK_DTYPE_MAP. */
void ATTN_FOR_ISA(attn_vector_decode)(const void *blocks, enum attn_dtype dtype, size_t n,
                                      float *y);

extern const struct attn_kernels ATTN_FOR_ISA(attn_kernels);

/* Whether this engine and processor round WebAssembly's relaxed multiply-add once. They may do
 * either, always the same. */
bool attn_vector_is_fused(void);

#endif
