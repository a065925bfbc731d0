/*
 * test_blocks.c - the blocks of GGUF: values are those of the package gguf, bit for bit, with every
 * instruction set.
 */
#include "kernels/gemm.h"
#include "kernels/kernels.h"
#include "tests/support/near.h"
#include "tests/support/npy.h"
#include "tests/support/reference.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const enum attn_dtype types[] = {
#define TYPE(name, number, code, values, bytes) ATTN_DTYPE_##name,
    ATTN_BLOCK_DTYPE_MAP(TYPE)
#undef TYPE
};

enum { N_TYPE = sizeof types / sizeof *types };

/* What a file of tests/golden has under NAME. */
static struct attn_npy read_golden(const char *name, const char *suffix)
{
    struct attn_npy array;
    char path[100];

    snprintf(path, sizeof path, "tests/golden/gguf_blocks.npz/%s%s.npy", name, suffix);
    ck_assert_msg(attn_npy_read(path, &array), "%s is missing", path);
    return array;
}

START_TEST(blocks_have_the_values_of_ggml)
{
    for (size_t t = 0; t < N_TYPE; t++) {
        const char *name = attn_dtype_name(types[t]);
        struct attn_npy stored = read_golden(name, "_blocks"), values = read_golden(name, "");
        unsigned char *blocks = malloc(stored.n);
        float *expected = malloc(values.n * sizeof *expected), *y = malloc(values.n * sizeof *y);

        ck_assert(blocks && expected && y);
        ck_assert_uint_eq(attn_dtype_n_byte(types[t], values.n), stored.n);
        for (size_t i = 0; i < stored.n; i++)
            blocks[i] = (unsigned char)stored.values[i];
        for (size_t i = 0; i < values.n; i++)
            expected[i] = (float)values.values[i];
        for (int isa = 0; isa <= (int)attn_isa_detect(); isa++) {
            memset(y, 0xff, values.n * sizeof *y);
            attn_kernels_find((enum attn_isa)isa)->convert(blocks, types[t], values.n, y);
            attn_assert_same_bits(name, y, expected, values.n);
        }
        attn_npy_release(&stored);
        attn_npy_release(&values);
        free(blocks), free(expected), free(y);
    }
}
END_TEST

/* Makes one NaN of all, whose bits nothing promises. */
static void unite_nans(float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = isnan(y[i]) ? NAN : y[i];
}

/* Bits at random: scales may be infinite or NaN, too. */
START_TEST(instruction_sets_give_the_same_bits)
{
    enum { N_BLOCK = 500, MOST_BYTE = 210, MOST_VALUE = 256 };
    static unsigned char blocks[N_BLOCK * MOST_BYTE];
    static float expected[N_BLOCK * MOST_VALUE], y[N_BLOCK * MOST_VALUE];
    uint32_t random = 1;

    for (size_t i = 0; i < sizeof blocks; i++) {
        random = random * 1664525 + 1013904223;
        blocks[i] = (unsigned char)(random >> 24);
    }
    for (size_t t = 0; t < N_TYPE; t++) {
        const size_t n = N_BLOCK * attn_dtype_block(types[t]);

        attn_kernels_find(ATTN_ISA_BASELINE)->convert(blocks, types[t], n, expected);
        unite_nans(expected, n);
        for (int isa = 1; isa <= (int)attn_isa_detect(); isa++) {
            attn_kernels_find((enum attn_isa)isa)->convert(blocks, types[t], n, y);
            unite_nans(y, n);
            attn_assert_same_bits(attn_dtype_name(types[t]), y, expected, n);
        }
    }
}
END_TEST

/* Products of 1 to ATTN_FEW_ROWS rows by blocks, begun and continued, are chains over VALUES [64,
 * depth]; what is prefetched has no effect. */
static void check_products(const struct attn_kernels *kernels, struct attn_matrix matrix,
                           const float *values)
{
    enum { LD = 70 };
    float y[ATTN_FEW_ROWS * LD], expected[ATTN_FEW_ROWS * LD];
    const size_t depth = matrix.n_row;
    float *x = malloc(ATTN_FEW_ROWS * depth * sizeof *x);

    ck_assert_ptr_nonnull(x);
    for (size_t i = 0; i < ATTN_FEW_ROWS * depth; i++)
        x[i] = (float)(i % 7) - 3 + (float)(i / depth);
    for (int is_continued = 0; is_continued < 2; is_continued++) {
        for (size_t i = 0; i < ATTN_FEW_ROWS * LD; i++)
            expected[i] = (float)(i % 5);
        for (size_t n = 1; n <= ATTN_FEW_ROWS; n++) { /* one more row of chains each time */
            const struct attn_gemm_shape shape = {
                .n = n, .ldb = depth, .ldc = LD, .is_continued = is_continued};

            for (size_t i = 0; i < ATTN_FEW_ROWS * LD; i++)
                y[i] = (float)(i % 5);
            for (size_t c = 0; c < ATTN_PANEL; c++) {
                float *sum = &expected[(n - 1) * LD + c];

                *sum = is_continued ? *sum : 0;
                for (size_t k = 0; k < depth; k++)
                    *sum = fmaf(x[(n - 1) * depth + k], values[c * depth + k], *sum);
            }
            matrix.next = is_continued ? matrix.data : NULL;
            kernels->multiply_blocks(&matrix, 0, &shape, x, y);
            attn_assert_same_bits(attn_dtype_name(matrix.dtype), y, expected, ATTN_FEW_ROWS * LD);
        }
    }
    free(x);
}

/* Compares columns FIRST to FIRST+N-1 of MATRIX, as a panel, to VALUES [n, depth]. */
static void check_panel(const struct attn_kernels *kernels, const struct attn_matrix *matrix,
                        size_t first, size_t n, const float *values)
{
    const size_t depth = matrix->n_row;
    float *panel = malloc(2 * depth * ATTN_PANEL * sizeof *panel), *column;

    ck_assert_ptr_nonnull(panel);
    column = panel + depth * ATTN_PANEL;
    kernels->pack_panel(matrix, first, n, n, panel);
    for (size_t c = 0; c < n; c++) {
        for (size_t k = 0; k < depth; k++)
            column[k] = panel[k * n + c];
        attn_assert_same_bits(attn_dtype_name(matrix->dtype), column, values + (first + c) * depth,
                              depth);
    }
    free(panel);
}

/* A panel, and few rows multiplied without it, hold what convert gives, also from tiles that were
 * made before: depths of whole blocks of 256, and for smaller blocks others, too. */
static void check_columns(enum attn_dtype dtype, size_t depth, size_t n_col)
{
    enum { MOST_DEPTH = 1024, MOST_BYTE = MOST_DEPTH * 34 / 32 };
    static unsigned char blocks[ATTN_PANEL * MOST_BYTE];
    static float values[ATTN_PANEL * MOST_DEPTH];
    static _Alignas(64) char tiles[ATTN_PANEL * MOST_DEPTH * 2];
    const size_t n_byte = attn_dtype_n_byte(dtype, depth);
    struct attn_matrix matrix = {.data = blocks,
                                 .dtype = dtype,
                                 .n_row = depth,
                                 .n_col = n_col,
                                 .row_stride = 1,
                                 .col_stride = depth,
                                 .group = n_col};
    uint32_t random = 7;

    for (size_t i = 0; i < n_col * n_byte; i++) {
        random = random * 1664525 + 1013904223;
        blocks[i] = (unsigned char)(random >> 24) & 0xbb; /* no exponent of all ones */
    }
    for (size_t c = 0; c < n_col; c++)
        attn_kernels_find(ATTN_ISA_BASELINE)
            ->convert(blocks + c * n_byte, dtype, depth, values + c * depth);
    for (int isa = 0; isa <= (int)attn_isa_detect(); isa++) {
        const struct attn_kernels *kernels = attn_kernels_find((enum attn_isa)isa);

        matrix.tiles = NULL;
        check_panel(kernels, &matrix, 0, n_col, values);
        if (n_col == ATTN_PANEL)
            check_products(kernels, matrix, values);
        matrix.tile_step = kernels->tiles_size(dtype, depth);
        ck_assert_uint_le(matrix.tile_step, sizeof tiles);
        if (matrix.tile_step == 0)
            continue;
        kernels->make_tiles(&matrix, 0, n_col, tiles);
        matrix.tiles = tiles;
        check_panel(kernels, &matrix, 0, n_col, values);
        if (n_col < ATTN_PANEL)
            continue;
        check_panel(kernels, &matrix, 16, 32, values);
        check_panel(kernels, &matrix, 24, 32, values); /* which the tiles do not hold */
        check_products(kernels, matrix, values);
    }
}

START_TEST(panels_and_products_hold_the_same_values)
{
    for (size_t t = 0; t < N_TYPE; t++)
        for (size_t n_col = 17; n_col <= ATTN_PANEL; n_col += 47) {
            check_columns(types[t], 768, n_col);
            if (attn_dtype_block(types[t]) < 256)
                check_columns(types[t], 512 + 3 * attn_dtype_block(types[t]), n_col);
        }
}
END_TEST

ATTN_SUITE("blocks", panels_and_products_hold_the_same_values, blocks_have_the_values_of_ggml,
           instruction_sets_give_the_same_bits)
