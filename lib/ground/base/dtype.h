/* dtype.h - element types of tensors in files, and a view of such a tensor. */
#ifndef ATTN_BASE_DTYPE_H
#define ATTN_BASE_DTYPE_H

#include "base/api.h"

#include <stddef.h>

/* X(name, number, bits): the 22 types of safetensors (safetensors/src/tensor.rs `Dtype`). */
#define ATTN_DTYPE_MAP(X)                                                                          \
    X(BOOL, 0, 8)                                                                                  \
    X(F4, 1, 4)                                                                                    \
    X(F6_E2M3, 2, 6)                                                                               \
    X(F6_E3M2, 3, 6)                                                                               \
    X(U8, 4, 8)                                                                                    \
    X(I8, 5, 8)                                                                                    \
    X(F8_E5M2, 6, 8)                                                                               \
    X(F8_E4M3, 7, 8)                                                                               \
    X(F8_E8M0, 8, 8)                                                                               \
    X(F8_E4M3FNUZ, 9, 8)                                                                           \
    X(F8_E5M2FNUZ, 10, 8)                                                                          \
    X(I16, 11, 16)                                                                                 \
    X(U16, 12, 16)                                                                                 \
    X(F16, 13, 16)                                                                                 \
    X(BF16, 14, 16)                                                                                \
    X(I32, 15, 32)                                                                                 \
    X(U32, 16, 32)                                                                                 \
    X(F32, 17, 32)                                                                                 \
    X(C64, 18, 64)                                                                                 \
    X(F64, 19, 64)                                                                                 \
    X(I64, 20, 64)                                                                                 \
    X(U64, 21, 64)

/* X(name, number, code, values, bytes): the block types of GGUF with their codes (ggml.h
 * `ggml_type`; layouts: kernels/vector_blocks.c). Each row of a matrix consists of whole blocks. */
#define ATTN_BLOCK_DTYPE_MAP(X)                                                                    \
    X(Q4_0, 22, 2, 32, 18)                                                                         \
    X(Q4_1, 23, 3, 32, 20)                                                                         \
    X(Q5_0, 24, 6, 32, 22)                                                                         \
    X(Q5_1, 25, 7, 32, 24)                                                                         \
    X(Q8_0, 26, 8, 32, 34)                                                                         \
    X(Q2_K, 27, 10, 256, 84)                                                                       \
    X(Q3_K, 28, 11, 256, 110)                                                                      \
    X(Q4_K, 29, 12, 256, 144)                                                                      \
    X(Q5_K, 30, 13, 256, 176)                                                                      \
    X(Q6_K, 31, 14, 256, 210)                                                                      \
    X(IQ4_NL, 32, 20, 32, 18)                                                                      \
    X(IQ4_XS, 33, 23, 256, 136)                                                                    \
    X(MXFP4, 34, 39, 32, 17)                                                                       \
    X(IQ2_XXS, 35, 16, 256, 66)                                                                    \
    X(IQ2_XS, 36, 17, 256, 74)                                                                     \
    X(IQ3_XXS, 37, 18, 256, 98)                                                                    \
    X(IQ1_S, 38, 19, 256, 50)                                                                      \
    X(IQ3_S, 39, 21, 256, 110)                                                                     \
    X(IQ2_S, 40, 22, 256, 82)                                                                      \
    X(IQ1_M, 41, 29, 256, 56)                                                                      \
    X(TQ1_0, 42, 34, 256, 54)                                                                      \
    X(TQ2_0, 43, 35, 256, 66)                                                                      \
    X(NVFP4, 44, 40, 64, 36)

enum attn_dtype {
#define ATTN_DTYPE_ENUM(name, number, bits) ATTN_DTYPE_##name = (number),
    ATTN_DTYPE_MAP(ATTN_DTYPE_ENUM)
#undef ATTN_DTYPE_ENUM
#define ATTN_DTYPE_ENUM(name, number, code, values, bytes) ATTN_DTYPE_##name = (number),
        ATTN_BLOCK_DTYPE_MAP(ATTN_DTYPE_ENUM)
#undef ATTN_DTYPE_ENUM
            ATTN_N_PLAIN_DTYPE =
                0 ATTN_DTYPE_MAP(ATTN_COUNT), /* these types store each number separately */
    ATTN_N_DTYPE = ATTN_N_PLAIN_DTYPE ATTN_BLOCK_DTYPE_MAP(ATTN_COUNT)
};

enum { ATTN_MAX_RANK = 16 };

/* A tensor. Borrows data. Row-major; data may have any alignment. */
struct attn_tensor {
    const void *data; /* NULL if the tensor is absent */
    enum attn_dtype dtype;
    int rank;                    /* 0 .. ATTN_MAX_RANK */
    size_t shape[ATTN_MAX_RANK]; /* the number of elements fits a size_t */
};

#endif
