/*
 * amx_loop.h - a product in bfloat16, cut into tiles. Compiled for the processor's tiles (amx.c)
 * and, with ATTN_TILE_INSTRUCTIONS, by tests for tiles in plain C.
 *
 * A panel in bfloat16, [k/2, lda, 2], already has the layout of a tile of weights: each of its rows
 * holds two rows of the weight, interleaved. So tiles are loaded directly from x and from the
 * panel. Tiles 0 to 3 hold sums, 4 and 5 hold x, 6 and 7 hold weights (as does 5 if there is one
 * tile of rows). 2 x 2 tiles of sums need 4 loads for 4 products, the least that 8 tiles allow. For
 * few rows, which wait for memory, 1 x 4 tiles are used, because they read each row of the panel
 * once and in order.
 *
 * The remaining rows and columns use smaller tiles, so that nothing outside the matrices is read or
 * written. The depth that remains after the last block of 32 is a separate product that continues
 * the first, because another tile layout clears the sums.
 */
#pragma once

#include "kernels/gemm_internal.h"

#include <string.h>

#ifndef ATTN_TILE_INSTRUCTIONS
#define ATTN_TILE_INSTRUCTIONS "kernels/amx_tiles.h"
#endif
#include ATTN_TILE_INSTRUCTIONS

/* Starts the sums of TILE at +0, or at the sums of an earlier piece of the depth. */
#define ATTN_TILE_BEGIN(tile, from, stride)                                                        \
    do {                                                                                           \
        if (s->is_continued)                                                                       \
            ATTN_TILE_LOAD(tile, from, stride);                                                    \
        else                                                                                       \
            ATTN_TILE_ZERO(tile);                                                                  \
    } while (0)

enum {
    ATTN_TILE_SIDE = 16, /* rows of a tile; also its columns of float32, or of pairs of bfloat16 */
    ATTN_TILE_PAIRED = 32, /* rows or columns of two tiles side by side */
    ATTN_TILE_LINE = 64,   /* bytes in a cache line */
};

/* What one block of sums prefetches in each step of k: rows FIRST to LAST-1 of those 16 rows of the
 * next panel that are as deep as the current ones. */
struct attn_tile_ahead {
    const char *next;      /* NULL: prefetch nothing */
    size_t first, last;    /* rows of the panel, each of which is a pair of k */
    size_t n_byte, stride; /* bytes of a row, and from one row to the next */
};

static inline void attn_tile_call(const struct attn_tile_ahead *ahead, size_t k)
{
    const char *rows = ahead->next + k / 2 * ahead->stride;

    for (size_t row = ahead->first; row < ahead->last; row++)
        for (size_t i = 0; i < ahead->n_byte; i += ATTN_TILE_LINE)
            __builtin_prefetch(rows + row * ahead->stride + i, 0, 2);
}

static inline size_t attn_tile_smaller(size_t x, size_t most)
{
    return x < most ? x : most;
}

static inline void attn_tile_set(struct attn_tile_layout *layout, int tile, size_t n_row,
                                 size_t n_byte)
{
    const bool is_used = n_row > 0 && n_byte > 0;

    layout->n_row[tile] = is_used ? (uint8_t)n_row : 0;
    layout->n_byte[tile] = is_used ? (uint16_t)n_byte : 0;
}

/* Loads LAYOUT unless it is the current one. Intel gives 204 cycles for loading a layout and 19 for
 * storing it, and most products use the current one. */
static inline ATTN_TILE_CODE void attn_tile_use(const struct attn_tile_layout *layout)
{
    struct attn_tile_layout present;

    attn_tile_see_layout(&present);
    if (memcmp(&present, layout, sizeof present) != 0)
        attn_tile_configure(layout);
}

static inline ATTN_TILE_CODE void attn_tile_use_square(const struct attn_gemm_shape *s)
{
    const size_t above = attn_tile_smaller(s->n, ATTN_TILE_SIDE), below = s->n - above;
    const size_t left = 4 * attn_tile_smaller(s->m, ATTN_TILE_SIDE), right = 4 * s->m - left;
    const size_t depth = attn_tile_smaller(s->k, ATTN_TILE_DEPTH);
    struct attn_tile_layout layout = {.palette = 1};

    attn_tile_set(&layout, 0, above, left);
    attn_tile_set(&layout, 1, above, right);
    attn_tile_set(&layout, 2, below, left);
    attn_tile_set(&layout, 3, below, right);
    attn_tile_set(&layout, 4, above, 2 * depth);
    attn_tile_set(&layout, 5, below, 2 * depth);
    attn_tile_set(&layout, 6, depth / 2, left);
    attn_tile_set(&layout, 7, depth / 2, right);
    attn_tile_use(&layout);
}

/* Multiplies with 2 x 2 tiles of sums, whose layout is in use: up to 32 rows and 32 columns. k is a
 * multiple of 32, or less than 32. */
static inline ATTN_TILE_CODE void attn_tile_multiply_square(const struct attn_gemm_shape *s,
                                                            const uint16_t *a, const uint16_t *b,
                                                            float *c,
                                                            const struct attn_tile_ahead *ahead)
{
    const size_t lda = 4 * s->lda, ldb = 2 * s->ldb, ldc = 4 * s->ldc;
    const bool is_wide = s->m > ATTN_TILE_SIDE, is_tall = s->n > ATTN_TILE_SIDE;
    const uint16_t *b_below = is_tall ? b + ATTN_TILE_SIDE * s->ldb : b;
    float *c_below = is_tall ? c + ATTN_TILE_SIDE * s->ldc : c;

    ATTN_TILE_BEGIN(0, c, ldc);
    if (is_wide)
        ATTN_TILE_BEGIN(1, c + ATTN_TILE_SIDE, ldc);
    if (is_tall)
        ATTN_TILE_BEGIN(2, c_below, ldc);
    if (is_wide && is_tall)
        ATTN_TILE_BEGIN(3, c_below + ATTN_TILE_SIDE, ldc);
    for (size_t k = 0; k < s->k; k += ATTN_TILE_DEPTH) {
        const uint16_t *w = a + k * s->lda;

        ATTN_TILE_LOAD(4, b + k, ldb);
        ATTN_TILE_LOAD(6, w, lda);
        ATTN_TILE_MULTIPLY(0, 4, 6);
        if (is_wide) {
            ATTN_TILE_LOAD(7, w + (size_t)2 * ATTN_TILE_SIDE, lda);
            ATTN_TILE_MULTIPLY(1, 4, 7);
        }
        if (is_tall) {
            ATTN_TILE_LOAD(5, b_below + k, ldb);
            ATTN_TILE_MULTIPLY(2, 5, 6);
        }
        if (is_wide && is_tall)
            ATTN_TILE_MULTIPLY(3, 5, 7);
        if (ahead->next)
            attn_tile_call(ahead, k);
    }
    ATTN_TILE_STORE(0, c, ldc);
    if (is_wide)
        ATTN_TILE_STORE(1, c + ATTN_TILE_SIDE, ldc);
    if (is_tall)
        ATTN_TILE_STORE(2, c_below, ldc);
    if (is_wide && is_tall)
        ATTN_TILE_STORE(3, c_below + ATTN_TILE_SIDE, ldc);
}

/* Configures 1 x 4 tiles of sums: tiles 0, 1 and 2 hold the sums of the first 16 x N_WHOLE columns,
 * tile 3 those of the last 1 to 16 columns. */
static inline ATTN_TILE_CODE void attn_tile_use_row(const struct attn_gemm_shape *s, size_t n_whole)
{
    const size_t whole = (size_t)4 * ATTN_TILE_SIDE, last = 4 * s->m - n_whole * whole;
    const size_t depth = attn_tile_smaller(s->k, ATTN_TILE_DEPTH);
    struct attn_tile_layout layout = {.palette = 1};

    for (int i = 0; i < 3; i++)
        attn_tile_set(&layout, i, s->n, whole);
    attn_tile_set(&layout, 3, s->n, last);
    attn_tile_set(&layout, 4, s->n, 2 * depth);
    attn_tile_set(&layout, 5, depth / 2, whole);
    attn_tile_set(&layout, 6, depth / 2, whole);
    attn_tile_set(&layout, 7, depth / 2, last);
    attn_tile_use(&layout);
}

/* Multiplies with 1 x 4 tiles of sums: up to 16 rows and all 17 to 64 columns. k is a multiple of
 * 32, or less than 32. */
static inline ATTN_TILE_CODE void attn_tile_multiply_row(const struct attn_gemm_shape *s,
                                                         const uint16_t *a, const uint16_t *b,
                                                         float *c,
                                                         const struct attn_tile_ahead *ahead)
{
    const size_t lda = 4 * s->lda, ldb = 2 * s->ldb, ldc = 4 * s->ldc;
    const size_t n_whole = (s->m - 1) / ATTN_TILE_SIDE, last = n_whole * ATTN_TILE_SIDE;

    attn_tile_use_row(s, n_whole);
    ATTN_TILE_BEGIN(0, c, ldc);
    if (n_whole > 1)
        ATTN_TILE_BEGIN(1, c + ATTN_TILE_SIDE, ldc);
    if (n_whole > 2)
        ATTN_TILE_BEGIN(2, c + (size_t)2 * ATTN_TILE_SIDE, ldc);
    ATTN_TILE_BEGIN(3, c + last, ldc);
    for (size_t k = 0; k < s->k; k += ATTN_TILE_DEPTH) {
        const uint16_t *w = a + k * s->lda;

        ATTN_TILE_LOAD(4, b + k, ldb);
        ATTN_TILE_LOAD(5, w, lda);
        ATTN_TILE_MULTIPLY(0, 4, 5);
        if (n_whole > 1) {
            ATTN_TILE_LOAD(6, w + (size_t)2 * ATTN_TILE_SIDE, lda);
            ATTN_TILE_MULTIPLY(1, 4, 6);
        }
        if (n_whole > 2) {
            ATTN_TILE_LOAD(5, w + (size_t)4 * ATTN_TILE_SIDE, lda);
            ATTN_TILE_MULTIPLY(2, 4, 5);
        }
        ATTN_TILE_LOAD(7, w + 2 * last, lda);
        ATTN_TILE_MULTIPLY(3, 4, 7);
        if (ahead->next)
            attn_tile_call(ahead, k);
    }
    ATTN_TILE_STORE(0, c, ldc);
    if (n_whole > 1)
        ATTN_TILE_STORE(1, c + ATTN_TILE_SIDE, ldc);
    if (n_whole > 2)
        ATTN_TILE_STORE(2, c + (size_t)2 * ATTN_TILE_SIDE, ldc);
    ATTN_TILE_STORE(3, c + last, ldc);
}

/* Multiplies all rows and columns. k is a multiple of 32, or less than 32. */
static inline ATTN_TILE_CODE void attn_tile_multiply_depth(const struct attn_gemm_shape *s,
                                                           const uint16_t *a, const uint16_t *b,
                                                           float *c, const char *next)
{
    const size_t rest = s->n % ATTN_TILE_PAIRED, n_low = rest <= ATTN_TILE_SIDE ? rest : 0;
    const size_t n_square = s->n - n_low, paired = ATTN_TILE_PAIRED;
    const size_t n_block =
        (n_square + paired - 1) / paired * ((s->m + paired - 1) / paired) + (n_low > 0);
    struct attn_tile_ahead ahead = {.next = next, .n_byte = 4 * s->m, .stride = 4 * s->lda};
    struct attn_gemm_shape part = *s;
    size_t block = 0, used = 0;

    for (size_t j = 0; j < s->m; j += paired)
        for (size_t i = 0; i < n_square; i += paired) {
            part.m = attn_tile_smaller(s->m - j, paired);
            part.n = attn_tile_smaller(n_square - i, paired);
            if (used != ATTN_TILE_LINE * part.m + part.n)
                attn_tile_use_square(&part);
            used = ATTN_TILE_LINE * part.m + part.n;
            ahead.first = ATTN_TILE_SIDE * block++ / n_block;
            ahead.last = ATTN_TILE_SIDE * block / n_block;
            attn_tile_multiply_square(&part, a + 2 * j, b + i * s->ldb, c + i * s->ldc + j, &ahead);
        }
    if (n_low == 0)
        return;
    part.m = s->m;
    part.n = n_low;
    ahead.first = ahead.last;
    ahead.last = ATTN_TILE_SIDE;
    attn_tile_multiply_row(&part, a, b + n_square * s->ldb, c + n_square * s->ldc, &ahead);
}

/* Implements `multiply` of struct attn_tiles: the depth in blocks of 32, then the rest. */
static inline ATTN_TILE_CODE void attn_tile_multiply(const struct attn_gemm_shape *shape,
                                                     const uint16_t *a, const uint16_t *b, float *c,
                                                     const char *next)
{
    const size_t rest = shape->k % ATTN_TILE_DEPTH, whole = shape->k - rest;
    struct attn_gemm_shape s = *shape;

    s.k = whole;
    if (whole > 0)
        attn_tile_multiply_depth(&s, a, b, c, next);
    s.k = rest;
    s.is_continued = shape->is_continued || whole > 0;
    if (rest > 0)
        attn_tile_multiply_depth(&s, a + whole * s.lda, b + whole, c, NULL);
}
