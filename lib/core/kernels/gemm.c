/* gemm.c - chooses the code that computes a product: libxsmm's (gemm_xsmm.c), the processor's tiles
 * (amx.c) or the portable loop. */
#include "kernels/gemm_internal.h"

#include "kernels/gemm_xsmm_internal.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The number of multiply-adds from which AUTO starts libxsmm, which takes 4 to 7 ms. Measured on a
 * Zen 5 core in fresh processes with GPT-2's products: without libxsmm, 6 to 384 tokens take 6 to 8
 * ms less, 768 tokens take as long, and 1024 tokens take 9 ms more. */
static const double jit_pays_from = 6e10;

bool attn_gemm_can_jit(void)
{
    return attn_xsmm_can_start();
}

/* Starts libxsmm for ENGINE, at most once: if it could not start, it is not tried again. */
static void start_jit(struct attn_gemm_engine *engine)
{
    const struct attn_xsmm xsmm = attn_xsmm_start(engine->kernels->isa);

    engine->jit_from = (double)INFINITY;
    engine->is_jit = xsmm.is_started;
    engine->is_jit_bf16 = xsmm.is_started && xsmm.has_bf16;
    engine->lacks_memory = xsmm.lacks_memory && xsmm.has_bf16;
}

struct attn_gemm_engine attn_gemm_engine_start(enum attn_gemm how, enum attn_isa limit, double work)
{
    struct attn_gemm_engine engine = {.kernels = attn_kernels_find(limit),
                                      .jit_from = (double)INFINITY};

    if (how == ATTN_GEMM_JIT || (how == ATTN_GEMM_AUTO && work >= jit_pays_from))
        start_jit(&engine);
    else if (how == ATTN_GEMM_AUTO)
        engine.jit_from = jit_pays_from;
    return engine;
}

void attn_gemm_engine_go_on(struct attn_gemm_engine *engine, double work)
{
    const bool lacks_memory = engine->lacks_memory;

    if (work < engine->jit_from)
        return;
    start_jit(engine);
    /* Float32 does not need libxsmm: the portable loop continues. */
    engine->lacks_memory = lacks_memory;
}

/* Returns the processor's tiles if HOW is AUTO and LIMIT sets no lower instruction set; NULL
 * otherwise, or if there are no tiles. */
static const struct attn_tiles *find_tiles(enum attn_gemm how, enum attn_isa limit)
{
    const bool may_use = how == ATTN_GEMM_AUTO && limit == ATTN_ISA_BEST;

    return may_use ? attn_amx_find() : NULL;
}

struct attn_gemm_engine attn_gemm_engine_start_for(enum attn_compute compute, enum attn_gemm how,
                                                   enum attn_isa limit, double work)
{
    const bool is_float32 = compute == ATTN_COMPUTE_F32;
    const struct attn_tiles *tiles = is_float32 ? NULL : find_tiles(how, limit);
    struct attn_gemm_engine engine =
        attn_gemm_engine_start(how, limit, is_float32 || tiles ? work : (double)INFINITY);

    engine.tiles = tiles;
    engine.lacks_memory = engine.lacks_memory && !is_float32 && !tiles;
    return engine;
}

bool attn_gemm_rounds_attention(const struct attn_gemm_engine *engine, enum attn_compute compute)
{
    return compute == ATTN_COMPUTE_BF16 && (engine->tiles || engine->is_jit_bf16);
}

bool attn_gemm_has_tiles(enum attn_gemm gemm, enum attn_isa limit)
{
    return find_tiles(gemm, limit);
}

bool attn_gemm_has_bf16(enum attn_gemm gemm, enum attn_isa limit)
{
    const struct attn_gemm_engine engine =
        attn_gemm_engine_start_for(ATTN_COMPUTE_BF16, gemm, limit, 0);

    return engine.lacks_memory || attn_gemm_rounds_attention(&engine, ATTN_COMPUTE_BF16);
}

/* libxsmm's kernels for 64 columns compute 6 rows at a time, and 8 such blocks were fastest on
 * Zen 5. Tiles compute pairs of 16 rows. That two pairs are faster than one, or than one and a
 * half, is a guess that was not measured: for each pair, the panel is read from the L2 cache once
 * and its start costs once. */
struct attn_gemm_rows attn_gemm_rows(const struct attn_gemm_engine *engine, bool is_bf16)
{
    return is_bf16 && engine->tiles ? (struct attn_gemm_rows){64, 32}
                                    : (struct attn_gemm_rows){48, 6};
}

void attn_gemm_release(const struct attn_gemm_engine *engine)
{
    if (engine->tiles)
        engine->tiles->release();
}

/* Whether libxsmm prefetches for shape S: it can only prefetch all of the next panel in one call,
 * which is that of the last part. */
static bool prefetches_by_jit(const struct attn_gemm_shape *s)
{
    return s->is_ahead && s->part + 1 >= s->n_part;
}

struct attn_gemm_kernel attn_gemm_kernel_find(const struct attn_gemm_engine *engine,
                                              const struct attn_gemm_shape *s)
{
    /* libxsmm is faster, except where the next panel is prefetched from memory: our loop spreads
     * the prefetches evenly over all steps of k, libxsmm issues them in bursts. Measured on Zen 5
     * with cold weights and one thread (tests/bench/cold_products.c), in GFLOP/s of our loop and of
     * libxsmm: 12 rows 180 and 153, 24 rows 247 and 205, 32 rows 246 and 208, 48 rows 251 and 229,
     * 128 rows 262 and 247. Up to 8 rows, both only wait for memory. */
    enum { AHEAD_BY_JIT_TO = 8 };
    const bool pays_jit = !s->is_ahead || s->is_bf16 ||
                          (s->n <= AHEAD_BY_JIT_TO && s->n_part <= 1) ||
                          engine->kernels->isa < ATTN_ISA_AVX512;
    struct attn_gemm_kernel kernel = {.shape = *s, .kernels = engine->kernels};
    struct attn_gemm_shape by_jit = *s;

    by_jit.is_ahead = prefetches_by_jit(s);
    assert(s->m >= 17 && s->m <= 64 && s->n >= 1 && s->n <= 64 && s->k >= 1);
    kernel.is_batch = s->step_a != 0 || s->step_b != 0;
    assert(!kernel.is_batch || !s->is_ahead);
    assert(!kernel.is_batch || !s->is_bf16 || (s->step_a == s->k * s->lda && s->step_b == s->k));
    if (s->is_bf16 && engine->tiles)
        kernel.tiles = engine->tiles;
    else if ((s->is_bf16 ? engine->is_jit_bf16 : engine->is_jit) && pays_jit && s->slice == 0)
        kernel.jit = attn_xsmm_find(&by_jit);
    return kernel;
}

/* Multiplies in bfloat16 by tiles or by the portable loop. The COUNT blocks lie one after the
 * other, so they are one block of COUNT times the depth. */
static void multiply_bf16(const struct attn_gemm_kernel *kernel, const void *a, const void *b,
                          float *c, size_t count)
{
    struct attn_gemm_shape whole = kernel->shape;

    whole.k *= count;
    if (kernel->tiles)
        kernel->tiles->multiply(&whole, a, b, c, NULL);
    else
        kernel->kernels->gemm_bf16(&whole, a, b, c);
}

void attn_gemm_kernel_run(const struct attn_gemm_kernel *kernel, const void *a, const void *b,
                          float *c, size_t count)
{
    unsigned long long n_block = count;

    assert(count >= 1 && (count == 1 || kernel->is_batch) && !kernel->shape.is_ahead);
    if (kernel->is_batch && kernel->jit)
        ((attn_xsmm_batch *)kernel->jit)(a, b, c, &n_block);
    else if (kernel->jit)
        ((attn_xsmm_product *)kernel->jit)(a, b, c); /* the same signature for bfloat16 */
    else if (kernel->shape.is_bf16)
        multiply_bf16(kernel, a, b, c, count);
    else
        kernel->kernels->gemm(&kernel->shape, a, b, c, count);
}

void attn_gemm_kernel_run_ahead(const struct attn_gemm_kernel *kernel, const void *a, const void *b,
                                float *c, const void *next)
{
    assert(!kernel->is_batch && kernel->shape.is_ahead);
    if (kernel->tiles)
        kernel->tiles->multiply(&kernel->shape, a, b, c, next);
    else if (kernel->jit && prefetches_by_jit(&kernel->shape))
        ((attn_xsmm_product_ahead *)kernel->jit)(a, b, c, next, b, c);
    else if (kernel->jit)
        ((attn_xsmm_product *)kernel->jit)(a, b, c);
    else if (kernel->shape.is_bf16)
        kernel->kernels->gemm_bf16(&kernel->shape, a, b, c);
    else
        kernel->kernels->gemm_ahead(&kernel->shape, a, b, c, next);
}
