/*
 * gemm_internal.h - matrix products through libxsmm's JIT kernels, with the portable loop where
 * there are none.
 *
 * Only gemm_xsmm.c knows libxsmm. Element order is that of the numeric contract (kernels.h);
 * libxsmm keeps it for panels of 17..64 columns, so narrower matrices are padded and wider ones
 * split. In bfloat16 libxsmm's sums are other ones than the portable loop's, and those of tiles
 * (amx_internal.h) differ from both.
 */
#ifndef ATTN_KERNELS_GEMM_INTERNAL_H
#define ATTN_KERNELS_GEMM_INTERNAL_H

#include "kernels/amx_internal.h"
#include "kernels/gemm.h"
#include "kernels/kernels.h"

/* How products are made in one session. */
struct attn_gemm_engine {
    const struct attn_kernels *kernels;
    bool is_jit;        /* libxsmm has been started and may make kernels */
    bool is_jit_bf16;   /* also for bfloat16 */
    bool is_jit_avx512; /* which use AVX-512 */
    double jit_from;    /* the work at which libxsmm starts */
    const struct attn_tiles
        *tiles;        /* multiplies in bfloat16; NULL: the JIT kernels or the loop do */
    bool lacks_memory; /* libxsmm, which multiplies in bfloat16, did not start for want
                          of memory */
};

/* Chooses by HOW. AUTO starts libxsmm, which takes 4 to 7 ms, if WORK (expected multiply-adds) is
 * large enough, or later, in attn_gemm_engine_go_on, if the work done so far is. libxsmm starts
 * once for the process: with a limit below AVX-512 the first engine decides which instructions
 * libxsmm may use. */
struct attn_gemm_engine attn_gemm_engine_start(enum attn_gemm how, enum attn_isa limit,
                                               double work);

/* The same for COMPUTE; uses the processor's tiles, if any, for bfloat16. If libxsmm multiplies in
 * bfloat16, WORK is ignored, and an engine with lacks_memory must not be used, because the portable
 * loop gives other bits. In float32 the loop gives the same bits and always works. */
struct attn_gemm_engine attn_gemm_engine_start_for(enum attn_compute compute, enum attn_gemm how,
                                                   enum attn_isa limit, double work);

/* Starts libxsmm if WORK, done and expected, is large enough. Float32 results do not depend on it.
 */
void attn_gemm_engine_go_on(struct attn_gemm_engine *engine, double work);

/* Whether attention is rounded, too, where weights are multiplied in COMPUTE: if that is bfloat16
 * and ENGINE has more for it than the portable loop, which is slower than in float32. */
bool attn_gemm_rounds_attention(const struct attn_gemm_engine *engine, enum attn_compute compute);

/* Number of rows by which a panel is multiplied at once: 1 .. ATTN_GEMM_MOST_ROWS; multiples of
 * STEP are fastest. */
enum { ATTN_GEMM_MOST_ROWS = 64 };
struct attn_gemm_rows {
    size_t most, step;
};
struct attn_gemm_rows attn_gemm_rows(const struct attn_gemm_engine *engine, bool is_bf16);

/* One microkernel, found when planning, called when running. */
struct attn_gemm_kernel {
    struct attn_gemm_shape shape;
    const struct attn_kernels *kernels;
    const struct attn_tiles *tiles; /* multiply it; NULL: jit or the portable loop does */
    void (*jit)(void);              /* libxsmm's code, or NULL: the portable loop */
    bool is_batch;                  /* jit takes a count of k-blocks */
};

/* The kernel for SHAPE. Never fails: without JIT code the portable loop serves. */
struct attn_gemm_kernel attn_gemm_kernel_find(const struct attn_gemm_engine *engine,
                                              const struct attn_gemm_shape *shape);

/* c [n, m] = b [n, k*count] a [k*count, m], overwriting c or going on from it; COUNT blocks, at
 * least 1. A and B are float32, or bfloat16 as the shape says. Bits of what is continued, and of
 * blocks, are those of one piece: in bfloat16 where the depth was cut at a multiple of
 * ATTN_TILE_DEPTH. */
void attn_gemm_kernel_run(const struct attn_gemm_kernel *kernel, const void *a, const void *b,
                          float *c, size_t count);

/* The same for one block of a shape that is_ahead, while it prefetches NEXT, which has the layout
 * of A and need not be readable. */
void attn_gemm_kernel_run_ahead(const struct attn_gemm_kernel *kernel, const void *a, const void *b,
                                float *c, const void *next);

/* This thread has multiplied in bfloat16 and does not go on with it at once. */
void attn_gemm_release(const struct attn_gemm_engine *engine);

/* "jit avx512" or "portable avx2": how this engine multiplies. Borrowed, constant. */
const char *attn_gemm_engine_name(const struct attn_gemm_engine *engine);

/* Describes what multiplies with GEMM (with AUTO, for large products) and for which processor:
 * "libxsmm 1.17, cpx, amx for bfloat16". Starts libxsmm if it multiplies. */
void attn_gemm_library(enum attn_gemm gemm, enum attn_isa limit, char text[ATTN_GEMM_LIBRARY_SIZE]);

/* Whether GEMM multiplies in bfloat16 by the processor's tiles. Requests permission for them from
 * the system. */
bool attn_gemm_has_tiles(enum attn_gemm gemm, enum attn_isa limit);

/* Whether libxsmm can make code here: the build may be without it, executable memory may be denied.
 * Does not start libxsmm. */
bool attn_gemm_can_jit(void);

#endif
