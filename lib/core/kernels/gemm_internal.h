/*
 * gemm_internal.h - matrix products through libxsmm's JIT kernels, or by the portable loop where
 * there are no such kernels.
 *
 * Only gemm_xsmm.c calls libxsmm. The order of sums is that of the numeric contract (kernels.h).
 * libxsmm keeps it for panels of 17 to 64 columns, so narrower matrices are padded and wider ones
 * are split. In bfloat16 the contract does not hold: libxsmm, the portable loop and tiles
 * each give other bits.
 */
#pragma once

#include "kernels/gemm.h"
#include "kernels/kernels.h"

/*
 * Products in bfloat16 by tiles, Intel's AMX.
 *
 *     const struct attn_tiles *tiles = attn_amx_find(); // NULL: not available
 *     tiles->multiply(&shape, a, b, c, NULL);
 *     tiles->release();
 *
 * An element of the product is summed in blocks of 32 k. In each block, the products of even k and
 * those of odd k are summed separately, each sum from +0 and with one fma per product; the two sums
 * are added, and then their sum is added to c. Denormals count as zero. So the bits of an element
 * do not depend on other rows or columns, nor on how the depth is cut, if pieces begin at multiples
 * of 32. They differ from the bits of the portable loop.
 */

enum { ATTN_TILE_DEPTH = 32 }; /* number of k in a block */

/* The functions that multiply by tiles: those of the processor, or those of tests. */
struct attn_tiles {
    /* Computes the product of gemm_bf16 of struct attn_kernels: c [n, m] = b [n, k] a [k, m], or c
     * += that. Meanwhile prefetches NEXT, which has the layout of A and need not be readable; NULL:
     * prefetches nothing. Afterwards the tiles of this thread are in use. */
    void (*multiply)(const struct attn_gemm_shape *shape, const uint16_t *a, const uint16_t *b,
                     float *c, const void *next);

    /* Releases this thread's tiles: their 8 KB would otherwise be saved and restored at each switch
     * to another thread. */
    void (*release)(void);
};

/* Returns the processor's tiles; NULL if it has none for bfloat16, or if the system does not permit
 * their use. Requests that permission, which holds for the whole process. Its only side effect is
 * that the smallest signal stack that the system accepts grows by 8 KB. */
const struct attn_tiles *attn_amx_find(void);

/* The choices for all products of one session. */
struct attn_gemm_engine {
    const struct attn_kernels *kernels;
    bool is_jit;                    /* libxsmm has been started and may make kernels */
    bool is_jit_bf16;               /* the same for kernels in bfloat16 */
    double jit_from;                /* the number of multiply-adds at which libxsmm starts */
    const struct attn_tiles *tiles; /* tiles for products in bfloat16; NULL: the JIT kernels or the
                                       portable loop compute them */
    bool lacks_memory; /* libxsmm is required for bfloat16, and could not start because memory was
                          short */
};

/* Chooses an engine by HOW. AUTO starts libxsmm, which takes 4 to 7 ms, if WORK (expected
 * multiply-adds) is large enough, or later in attn_gemm_engine_go_on, if the work done so far is.
 * libxsmm starts once in a process: the first engine with a LIMIT below AVX-512 decides which
 * instructions libxsmm may use. */
struct attn_gemm_engine attn_gemm_engine_start(enum attn_gemm how, enum attn_isa limit,
                                               double work);

/* Chooses an engine for products in COMPUTE. For bfloat16 it uses the processor's tiles if there
 * are any. If libxsmm multiplies in bfloat16, WORK is ignored, and an engine with lacks_memory must
 * not be used, because the portable loop gives other bits. In float32 the portable loop gives the
 * same bits and always works. */
struct attn_gemm_engine attn_gemm_engine_start_for(enum attn_compute compute, enum attn_gemm how,
                                                   enum attn_isa limit, double work);

/* Starts libxsmm if WORK, the multiply-adds done and expected, is large enough. Results in float32
 * do not depend on it. */
void attn_gemm_engine_go_on(struct attn_gemm_engine *engine, double work);

/* Whether attention is rounded to bfloat16, too, if weights are multiplied in COMPUTE. That is so
 * for bfloat16 if ENGINE has tiles or JIT kernels for it: the portable loop would be slower than in
 * float32. */
bool attn_gemm_rounds_attention(const struct attn_gemm_engine *engine, enum attn_compute compute);

/* The number of rows that are multiplied by a panel at once, 1 .. ATTN_GEMM_MOST_ROWS. Multiples of
 * `step` are fastest. */
enum { ATTN_GEMM_MOST_ROWS = 64 };
struct attn_gemm_rows {
    size_t most, step;
};
struct attn_gemm_rows attn_gemm_rows(const struct attn_gemm_engine *engine, bool is_bf16);

/* One microkernel. It is looked up when products are planned and called when they run. */
struct attn_gemm_kernel {
    struct attn_gemm_shape shape;
    const struct attn_kernels *kernels;
    /* Tiles that compute the product; NULL: `jit` or the portable loop computes it. */
    const struct attn_tiles *tiles;
    void (*jit)(void); /* libxsmm's code; NULL: the portable loop */
    bool is_batch;     /* `jit` takes a number of k-blocks */
};

/* Returns the kernel for SHAPE. Never fails: without JIT code it is the portable loop. */
struct attn_gemm_kernel attn_gemm_kernel_find(const struct attn_gemm_engine *engine,
                                              const struct attn_gemm_shape *shape);

/* Computes c [n, m] = b [n, k*count] a [k*count, m], or c += that, over COUNT >= 1 blocks of the
 * depth. A and B are float32, or bfloat16 if the shape says so. The bits do not depend on how the
 * depth was cut into calls or blocks; in bfloat16 only if cuts are at multiples of ATTN_TILE_DEPTH.
 */
void attn_gemm_kernel_run(const struct attn_gemm_kernel *kernel, const void *a, const void *b,
                          float *c, size_t count);

/* Computes the product of one block for a shape that is_ahead, and meanwhile prefetches NEXT, which
 * has the layout of A and need not be readable. */
void attn_gemm_kernel_run_ahead(const struct attn_gemm_kernel *kernel, const void *a, const void *b,
                                float *c, const void *next);

/* Releases the tiles of this thread. Call after products in bfloat16 that are not followed by
 * others at once. */
void attn_gemm_release(const struct attn_gemm_engine *engine);

/* Whether GEMM multiplies in bfloat16 by the processor's tiles. Requests permission for them from
 * the system. */
bool attn_gemm_has_tiles(enum attn_gemm gemm, enum attn_isa limit);

/* Whether GEMM multiplies in bfloat16 with instructions for it. Without them float32 is faster.
 * Starts libxsmm, which such products need, unless it is tiles that multiply. */
bool attn_gemm_has_bf16(enum attn_gemm gemm, enum attn_isa limit);

/* Whether libxsmm can create kernels here: the build may lack it, and executable memory may be
 * denied. Does not start libxsmm. */
bool attn_gemm_can_jit(void);
