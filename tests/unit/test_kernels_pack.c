/*
 * test_kernels_pack.c - types and layouts: every half and bfloat16, every layout of a matrix at
 * every alignment, and the panels of keys.
 */
#include "kernels/kernels.h"
#include "tests/support/near.h"
#include "tests/support/reference.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

static const enum attn_dtype dtypes[] = {ATTN_DTYPE_F32, ATTN_DTYPE_F16, ATTN_DTYPE_BF16};

static void check_all_values(enum attn_dtype dtype, double (*reference)(uint16_t))
{
    enum { N = 65536 };
    static unsigned char source[2 * N + 1];
    static float y[N];

    for (int isa = 0; isa <= ATTN_ISA_BEST; isa++)
        for (size_t shift = 0; shift < 2; shift++) {
            for (unsigned i = 0; i < N; i++) {
                uint16_t bits = (uint16_t)i;

                memcpy(source + shift + 2 * (size_t)i, &bits, 2);
            }
            attn_kernels_find((enum attn_isa)isa)->convert(source + shift, dtype, N, y);
            for (unsigned i = 0; i < N; i++) {
                double value = reference((uint16_t)i);
                bool is_right = isnan(value) ? isnan(y[i]) : (double)y[i] == value;

                if (!is_right || (i >= 0x8000) != (signbit(y[i]) != 0))
                    ck_abort_msg("%#x is %g, expected %g", i, (double)y[i], value);
            }
        }
}

START_TEST(every_half_is_converted_exactly)
{
    check_all_values(ATTN_DTYPE_F16, attn_reference_half);
}
END_TEST

START_TEST(every_bfloat_is_converted_exactly)
{
    check_all_values(ATTN_DTYPE_BF16, attn_reference_bfloat);
}
END_TEST

enum { MAX_BYTES = 200000 };
static unsigned char memory[MAX_BYTES];

/* Fills the memory from SHIFT on so that every element of any type is finite. */
static void fill_memory(size_t shift)
{
    for (size_t i = shift; i + 1 < MAX_BYTES; i += 2) {
        uint16_t bits = (uint16_t)(0x3000 + i * 7919 % 0x0a00);

        memcpy(memory + i, &bits, 2);
    }
}

static float element(const struct attn_matrix *m, size_t k, size_t n)
{
    size_t at = k * m->row_stride + n / m->group * m->group_stride + n % m->group * m->col_stride;
    const unsigned char *p = m->data;
    uint16_t half;
    float x;

    if (m->dtype == ATTN_DTYPE_F32) {
        memcpy(&x, p + 4 * at, 4);
        return x;
    }
    memcpy(&half, p + 2 * at, 2);
    return (float)(m->dtype == ATTN_DTYPE_F16 ? attn_reference_half(half)
                                              : attn_reference_bfloat(half));
}

static void check_panel(const struct attn_kernels *kernels, const struct attn_matrix *matrix,
                        size_t first, size_t m, size_t width)
{
    static float panel[64 * 64 + 1], expected[64 * 64 + 1];
    size_t n = matrix->n_row * width;

    for (size_t i = 0; i <= n; i++)
        panel[i] = expected[i] = -7;
    for (size_t k = 0; k < matrix->n_row; k++)
        for (size_t c = 0; c < width; c++)
            expected[k * width + c] = c < m ? element(matrix, k, first + c) : 0;
    kernels->pack_panel(matrix, first, m, width, panel);
    attn_assert_same_bits("panel", panel, expected, n + 1);
}

/* All layouts of a [n_row, n_col] matrix with groups of GROUP columns, every type and alignment. */
static void check_layouts(size_t n_row, size_t n_col, size_t group)
{
    const struct attn_matrix layouts[] = {
        {.row_stride = n_col + 3, .col_stride = 1, .group_stride = group},     /* Conv1D, sliced */
        {.row_stride = 1, .col_stride = n_row, .group_stride = group * n_row}, /* nn.Linear */
        {.row_stride = group, .col_stride = 1, .group_stride = n_row * group}, /* W_Q [H, D, E] */
        {.row_stride = 1, .col_stride = n_row + 2, .group_stride = 3 + group * (n_row + 2)},
        {.row_stride = 2 * n_col, .col_stride = 2, .group_stride = 2 * group},
    };

    for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++)
        for (size_t shift = 0; shift < 3; shift++) {
            fill_memory(shift);
            for (size_t d = 0; d < 3; d++)
                for (int isa = 0; isa <= ATTN_ISA_BEST; isa++) {
                    struct attn_matrix matrix = layouts[l];
                    size_t first = n_col / 5, m = n_col - first < 64 ? n_col - first : 64;

                    matrix.data = memory + shift;
                    matrix.dtype = dtypes[d];
                    matrix.n_row = n_row, matrix.n_col = n_col, matrix.group = group;
                    check_panel(attn_kernels_find((enum attn_isa)isa), &matrix, first, m,
                                m < 17 ? 32 : m);
                }
        }
}

START_TEST(panels_of_every_layout_type_and_alignment)
{
    check_layouts(1, 1, 1);
    check_layouts(5, 3, 3);
    check_layouts(19, 15, 5);
    check_layouts(16, 64, 64);
    check_layouts(33, 40, 8);
    check_layouts(64, 96, 16);
    check_layouts(37, 75, 15);
    check_layouts(50, 129, 43);
}
END_TEST

START_TEST(keys_land_transposed_in_panels_of_64)
{
    enum { LDX = 40, MAX_ROWS = 200, MAX_FLOATS = 5 * 64 * LDX };
    static float x[MAX_ROWS * LDX], panels[MAX_FLOATS], expected[MAX_FLOATS];
    const size_t counts[] = {1, 2, 5, 16, 63, 64, 65, 130}, widths[] = {1, 3, 4, 17, 32, 39};
    const size_t firsts[] = {0, 1, 3, 62, 64, 100};

    attn_reference_fill(x, sizeof x / sizeof *x, 1, 1);
    for (int isa = 0; isa <= ATTN_ISA_BEST; isa++)
        for (size_t c = 0; c < 8; c++)
            for (size_t f = 0; f < 6; f++)
                for (size_t w = 0; w < 6; w++) {
                    size_t n = widths[w];

                    for (size_t i = 0; i < MAX_FLOATS; i++)
                        panels[i] = expected[i] = -7;
                    for (size_t i = 0; i < counts[c]; i++)
                        for (size_t j = 0; j < n; j++) {
                            size_t r = firsts[f] + i;

                            expected[(r / 64 * n + j) * 64 + r % 64] = x[i * LDX + j];
                        }
                    attn_kernels_find((enum attn_isa)isa)
                        ->pack_keys(x, LDX, counts[c], n, firsts[f], panels);
                    attn_assert_same_bits("keys", panels, expected, MAX_FLOATS);
                }
}
END_TEST

START_TEST(tables_know_what_they_are)
{
    for (int limit = 0; limit <= ATTN_ISA_BEST; limit++) {
        const struct attn_kernels *kernels = attn_kernels_find((enum attn_isa)limit);

        ck_assert_int_le(kernels->isa, limit);
        ck_assert_int_le(kernels->isa, attn_isa_detect());
        ck_assert(kernels == attn_kernels_find(kernels->isa));
    }
    ck_assert(attn_kernels_find(ATTN_ISA_BEST)->isa == attn_isa_detect());
    ck_assert(attn_kernels_find(attn_isa_detect())->isa == attn_isa_detect());
    ck_assert(attn_kernels_find(ATTN_ISA_BASELINE)->isa == ATTN_ISA_BASELINE);
    ck_assert_str_eq(attn_isa_name(ATTN_ISA_AVX512), "avx512");
    ck_assert_str_eq(attn_isa_name(ATTN_ISA_NEON), "neon");
    ck_assert_str_eq(attn_isa_name(ATTN_ISA_RELAXED), "relaxed");
}
END_TEST

ATTN_SUITE("kernels: pack", every_half_is_converted_exactly, every_bfloat_is_converted_exactly,
           panels_of_every_layout_type_and_alignment, keys_land_transposed_in_panels_of_64,
           tables_know_what_they_are)
