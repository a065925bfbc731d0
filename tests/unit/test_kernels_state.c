/*
 * test_kernels_state.c - the products of linear attention's state: chains of fma in a fixed order,
 * the same bits from every instruction set, and no byte out of bounds.
 */
#include "kernels/kernels.h"
#include "tests/support/near.h"
#include "tests/support/reference.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

enum { ROWS = 9, MOST = 150, SIZE = ROWS * MOST };

static float a[ROWS], b[MOST], s[SIZE + 1], expected[SIZE + 1], y[MOST + 1];

static void fill_all(size_t n_col)
{
    attn_reference_fill(a, ROWS, 2, n_col);
    attn_reference_fill(b, MOST, 3, n_col + 1);
    attn_reference_fill(s, SIZE + 1, 4, n_col + 2);
}

START_TEST(an_outer_product_is_added_by_one_fma_for_each_element)
{
    static float before[SIZE + 1];

    for (int isa = 0; isa <= ATTN_ISA_BEST; isa++)
        for (size_t n = 1; n <= MOST; n++)
            for (size_t rows = 1; rows <= ROWS; rows += 4) {
                fill_all(n);
                memcpy(before, s, sizeof s);
                memcpy(expected, s, sizeof s);
                for (size_t i = 0; i < rows * n; i++)
                    expected[i] = fmaf(a[i / n], b[i % n], before[i]);
                attn_kernels_find((enum attn_isa)isa)->add_outer(a, rows, b, n, s);
                attn_assert_same_bits("state", s, expected, SIZE + 1);
            }
}
END_TEST

START_TEST(a_row_times_a_matrix_is_one_chain_for_each_element)
{
    for (int isa = 0; isa <= ATTN_ISA_BEST; isa++)
        for (size_t n = 1; n <= MOST; n++)
            for (size_t rows = 1; rows <= ROWS; rows += 4) {
                fill_all(n);
                for (size_t j = 0; j < MOST + 1; j++)
                    y[j] = expected[j] = 1234;
                for (size_t j = 0; j < n; j++) {
                    expected[j] = 0;
                    for (size_t i = 0; i < rows; i++)
                        expected[j] = fmaf(a[i], s[i * n + j], expected[j]);
                }
                attn_kernels_find((enum attn_isa)isa)->multiply_row(a, rows, s, n, y);
                attn_assert_same_bits("row", y, expected, MOST + 1);
            }
}
END_TEST

ATTN_SUITE("kernels: state", an_outer_product_is_added_by_one_fma_for_each_element,
           a_row_times_a_matrix_is_one_chain_for_each_element)
