/*
 * dtype.h - element types of tensors in files, and a view of such a tensor.
 */
#ifndef ATTN_BASE_DTYPE_H
#define ATTN_BASE_DTYPE_H

#include "base/api.h"

#include <stddef.h>

/* X(name, bits): the 22 types of safetensors (safetensors/src/tensor.rs `Dtype`). */
#define ATTN_DTYPE_MAP(X)                                                                          \
    X(BOOL, 8)                                                                                     \
    X(F4, 4)                                                                                       \
    X(F6_E2M3, 6)                                                                                  \
    X(F6_E3M2, 6)                                                                                  \
    X(U8, 8)                                                                                       \
    X(I8, 8)                                                                                       \
    X(F8_E5M2, 8)                                                                                  \
    X(F8_E4M3, 8)                                                                                  \
    X(F8_E8M0, 8)                                                                                  \
    X(F8_E4M3FNUZ, 8)                                                                              \
    X(F8_E5M2FNUZ, 8)                                                                              \
    X(I16, 16)                                                                                     \
    X(U16, 16)                                                                                     \
    X(F16, 16)                                                                                     \
    X(BF16, 16)                                                                                    \
    X(I32, 32)                                                                                     \
    X(U32, 32)                                                                                     \
    X(F32, 32)                                                                                     \
    X(C64, 64)                                                                                     \
    X(F64, 64)                                                                                     \
    X(I64, 64)                                                                                     \
    X(U64, 64)

/*
 * X(name, number, values, bytes): the types of GGUF whose values lie in blocks, with their numbers
 * in such files (ggml.h `ggml_type`; the layouts are in kernels/blocks.h). A row of a matrix is
 * whole blocks.
 */
#define ATTN_BLOCK_DTYPE_MAP(X)                                                                    \
    X(Q4_0, 2, 32, 18)                                                                             \
    X(Q4_1, 3, 32, 20)                                                                             \
    X(Q5_0, 6, 32, 22)                                                                             \
    X(Q5_1, 7, 32, 24)                                                                             \
    X(Q8_0, 8, 32, 34)                                                                             \
    X(Q2_K, 10, 256, 84)                                                                           \
    X(Q3_K, 11, 256, 110)                                                                          \
    X(Q4_K, 12, 256, 144)                                                                          \
    X(Q5_K, 13, 256, 176)                                                                          \
    X(Q6_K, 14, 256, 210)                                                                          \
    X(IQ4_NL, 20, 32, 18)                                                                          \
    X(IQ4_XS, 23, 256, 136)                                                                        \
    X(MXFP4, 39, 32, 17)

enum attn_dtype {
#define ATTN_DTYPE_ENUM(name, bits) ATTN_DTYPE_##name,
    ATTN_DTYPE_MAP(ATTN_DTYPE_ENUM)
#undef ATTN_DTYPE_ENUM
#define ATTN_DTYPE_ENUM(name, number, values, bytes) ATTN_DTYPE_##name,
        ATTN_BLOCK_DTYPE_MAP(ATTN_DTYPE_ENUM)
#undef ATTN_DTYPE_ENUM
            ATTN_N_DTYPE,
    ATTN_N_PLAIN_DTYPE = ATTN_DTYPE_U64 + 1 /* those of one number each come first */
};

enum { ATTN_MAX_RANK = 16 };

/* A tensor. Borrows data. Row-major; data may have any alignment. */
struct attn_tensor {
    const void *data; /* NULL when the tensor is absent */
    enum attn_dtype dtype;
    int rank;                    /* 0 .. ATTN_MAX_RANK */
    size_t shape[ATTN_MAX_RANK]; /* elements; product fits a size_t */
};

#endif
