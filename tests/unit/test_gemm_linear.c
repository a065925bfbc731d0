/*
 * test_gemm_linear.c - linear maps: every layout, type, range of columns, number of rows and of
 * threads gives the chain of fma plus bias, bit for bit, and writes nothing else.
 */
#include "base/memory.h"
#include "kernels/linear.h"
#include "kernels/panels.h"
#include "tests/support/near.h"
#include "tests/support/reference.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

enum { MAX_THREADS = 8, GAP = 3 };

struct sizes {
    size_t n_row, n_in, n_out;
};

struct setting {
    enum attn_gemm how;
    enum attn_isa isa, packed_isa; /* of the products; of a session that packed the weight */
    int n_thread;                  /* 0: no pool */
    bool has_bias, is_packed;
    size_t first_col, last_col;
};

static void *allocate(size_t count, size_t size)
{
    void *block = attn_alloc(count, size, NULL);

    ck_assert_ptr_nonnull(block);
    return block;
}

/* By their number of threads; each is made once, and ends with the process. */
static struct attn_pool *pools[MAX_THREADS + 1];

/* Runs LINEAR on x [n_row, n_in] (stride n_in + GAP) and returns y [n_row, columns + GAP]. */
static float *run_linear(const struct attn_linear *linear, const struct setting *set,
                         const float *x, size_t n_row)
{
    size_t ldy = set->last_col - set->first_col + GAP, n_scratch = attn_linear_scratch(linear);
    struct attn_gemm_engine engine = attn_gemm_engine_start(set->how, set->isa, 0);
    float *scratch[MAX_THREADS], *y = allocate(n_row * ldy, sizeof *y);
    struct attn_linear map = *linear;
    struct attn_pool *pool = NULL;
    const int n_used = set->n_thread > 0 ? set->n_thread : 1;
    struct attn_linear_args args = {.linear = &map,
                                    .engine = &engine,
                                    .scratch = scratch,
                                    .x = x,
                                    .ldx = linear->weight.n_row + GAP,
                                    .n_row = n_row,
                                    .y = y,
                                    .ldy = ldy,
                                    .first_col = set->first_col,
                                    .last_col = set->last_col};

    if (set->n_thread > 0 && !pools[set->n_thread])
        ck_assert_int_eq(attn_pool_create(set->n_thread, &pools[set->n_thread], NULL), ATTN_OK);
    pool = pools[set->n_thread];
    for (int i = 0; i < n_used; i++) {
        scratch[i] = allocate(n_scratch, sizeof **scratch);
        for (size_t j = 0; j < n_scratch; j++)
            scratch[i][j] = NAN;
    }
    for (size_t i = 0; i < n_row * ldy; i++)
        y[i] = -7;
    if (set->is_packed) {
        map.packed = allocate(
            attn_linear_packed_size(linear, attn_kernels_find(set->packed_isa), ATTN_COMPUTE_F32),
            1);
        attn_linear_pack(&map, attn_kernels_find(set->packed_isa), pool);
        map.weight.data = NULL; /* but for columns that are no whole panels, it is not read again */
        if (set->first_col % ATTN_PANEL != 0 || set->last_col != linear->weight.n_col ||
            set->isa != set->packed_isa || map.tiled_by) /* tiles lie at multiples of 64 */
            map.weight.data = linear->weight.data;
    }
    attn_linear_run(&args, 1, pool);
    attn_free(map.packed);
    for (int i = 0; i < n_used; i++)
        attn_free(scratch[i]);
    return y;
}

/* The chains x w [n_row, n_out], from w [n_in, n_out] in float32. Where glibc has no instruction
 * for fmaf, it takes some 60 ns: so all settings share them. */
static float *add_up(const float *w, const float *x, const struct sizes *s)
{
    float *sums = allocate(s->n_row * s->n_out, sizeof *sums);

    for (size_t i = 0; i < s->n_row * s->n_out; i++)
        for (size_t k = 0; k < s->n_in; k++)
            sums[i] = fmaf(x[i / s->n_out * (s->n_in + GAP) + k], w[k * s->n_out + i % s->n_out],
                           sums[i]);
    return sums;
}

/* What the columns of SET must be, from the chains SUMS and bias [n_out]. */
static float *expect(const float *sums, const float *bias, const struct setting *set,
                     const struct sizes *s)
{
    size_t ldy = set->last_col - set->first_col + GAP;
    float *y = allocate(s->n_row * ldy, sizeof *y);

    for (size_t i = 0; i < s->n_row; i++)
        for (size_t j = 0; j < ldy; j++) {
            size_t column = set->first_col + j;

            y[i * ldy + j] = column >= set->last_col ? -7
                             : set->has_bias         ? sums[i * s->n_out + column] + bias[column]
                                                     : sums[i * s->n_out + column];
        }
    return y;
}

static const struct sizes some_sizes[] = {
    {1, 7, 1},      {1, 64, 130},  {5, 3, 6},      {3, 1, 17},    {23, 40, 80},
    {24, 40, 80},   {49, 33, 15},  {97, 20, 66},   {48, 100, 64}, {100, 9, 200},
    {145, 16, 129}, {5, 1100, 66}, {50, 1030, 20}, {7, 2100, 9}, /* deeper than a piece */
};

/* The transposed map of X [n_row, n_out] (stride n_out + GAP) and columns of it, which begins with
 * +0, or goes on from what is there. */
static void run_transposed(const struct attn_linear_args *given, const struct setting *set,
                           float begin, float *y)
{
    const size_t n_scratch = attn_linear_scratch_transposed(given->linear);
    struct attn_linear_args args = *given;
    const struct attn_gemm_engine engine = attn_gemm_engine_start(set->how, set->isa, 0);
    const int n_used = set->n_thread > 0 ? set->n_thread : 1;
    float *scratch[MAX_THREADS];

    for (int i = 0; i < n_used; i++) {
        scratch[i] = allocate(n_scratch, sizeof **scratch);
        for (size_t j = 0; j < n_scratch; j++)
            scratch[i][j] = NAN;
    }
    for (size_t i = 0; i < args.n_row * args.ldy; i++)
        y[i] = begin;
    args.engine = &engine;
    args.scratch = scratch;
    args.y = y;
    args.is_continued = begin != -7;
    attn_linear_run(&args, 1, pools[set->n_thread]);
    for (int i = 0; i < n_used; i++)
        attn_free(scratch[i]);
}

/* x W^T is the chain over the columns of W. */
static void check_transposed(const struct attn_linear *linear, const float *w,
                             const struct sizes *s)
{
    const size_t ldx = s->n_out + GAP, ldy = s->n_in + GAP, n_y = s->n_row * ldy;
    float *x = allocate(s->n_row * ldx, sizeof *x), *y = allocate(n_y, sizeof *y);
    float *expected = allocate(n_y, sizeof *expected);
    struct attn_linear_args args = {.linear = linear,
                                    .x = x,
                                    .ldx = ldx,
                                    .n_row = s->n_row,
                                    .ldy = ldy,
                                    .last_col = s->n_in,
                                    .is_transposed = true};

    attn_reference_fill(x, s->n_row * ldx, 1, s->n_in);
    for (int setting = 0; setting < 16; setting++) {
        const float begin = setting / 8 == 0 ? -7 : 0.3F;
        const struct setting set = {.how = setting % 2 == 0 ? ATTN_GEMM_JIT : ATTN_GEMM_PORTABLE,
                                    .isa = setting / 4 % 2 == 0 ? ATTN_ISA_BEST : ATTN_ISA_AVX2,
                                    .n_thread = setting / 2 % 2 == 0 ? 0 : 2};

        for (size_t i = 0; i < n_y && setting % 8 == 0; i++) {
            float sum = begin == -7 ? 0 : begin;

            for (size_t j = 0; i % ldy < s->n_in && j < s->n_out; j++)
                sum = fmaf(x[i / ldy * ldx + j], w[i % ldy * s->n_out + j], sum);
            expected[i] = i % ldy < s->n_in ? sum : begin;
        }
        run_transposed(&args, &set, begin, y);
        attn_assert_same_bits("transposed", y, expected, n_y);
    }
    attn_free(x), attn_free(y), attn_free(expected);
}

/* Compares for three ranges of columns, both ways to multiply and several numbers of threads. */
static void check_settings(struct attn_linear *linear, const float *w, const float *bias,
                           const struct attn_vector *stored_bias, const float *x,
                           const struct sizes *s)
{
    const int threads[] = {2, 0, 1, 8};
    /* The third is narrow and at the end, where reading 17 columns would leave the weight. */
    const size_t ranges[][2] = {{0, s->n_out},
                                {s->n_out / 3, s->n_out},
                                {s->n_out - (s->n_out + 5) / 6, s->n_out},
                                {s->n_out / 2, s->n_out / 2}};
    float *sums = add_up(w, x, s);

    for (int r = 0; r < 4; r++)
        for (int has_bias = 0; has_bias < 2; has_bias++) {
            struct setting set = {
                .first_col = ranges[r][0], .last_col = ranges[r][1], .has_bias = has_bias};
            size_t n_y = s->n_row * (set.last_col - set.first_col + GAP);
            float *expected = expect(sums, bias, &set, s);

            linear->bias = has_bias ? *stored_bias : (struct attn_vector){0};
            for (int t = 0; t < 6; t++)
                for (int i = 0; i < 4; i++) {
                    float *y;

                    set.how = i % 2 == 0 ? ATTN_GEMM_JIT : ATTN_GEMM_PORTABLE;
                    set.isa = i < 2 ? ATTN_ISA_BEST : ATTN_ISA_AVX2;
                    set.packed_isa = (i < 2) == (t == 4) ? ATTN_ISA_BEST : ATTN_ISA_AVX2;
                    set.n_thread = threads[t % 4];
                    set.is_packed = t >= 4;
                    y = run_linear(linear, &set, x, s->n_row);
                    attn_assert_same_bits("linear", y, expected, n_y);
                    attn_free(y);
                }
            attn_free(expected);
        }
    attn_free(sums);
    check_transposed(linear, w, s);
}

/* x and w of size S with all numbers exact in every type, so that types can be compared. */
static void make_numbers(const struct sizes *s, float **x, float **w, float **bias)
{
    size_t n_x = s->n_row * (s->n_in + GAP), n_w = s->n_in * s->n_out;

    *x = allocate(n_x, sizeof **x);
    *w = allocate(n_w, sizeof **w);
    *bias = allocate(s->n_out, sizeof **bias);
    attn_reference_fill(*x, n_x, 1, s->n_in);
    attn_reference_fill(*w, n_w, 100, s->n_out);
    attn_reference_fill(*bias, s->n_out, 100, s->n_row);
    for (size_t i = 0; i < n_w; i++)
        (*w)[i] = truncf((*w)[i]) / 64;
    for (size_t i = 0; i < s->n_out; i++)
        (*bias)[i] = truncf((*bias)[i]) / 64;
}

/* Numbers with at most 8 bits of fraction, as DTYPE, written at any alignment. */
static void write_as(enum attn_dtype dtype, float value, unsigned char *to)
{
    uint32_t bits;
    uint16_t half;

    memcpy(&bits, &value, sizeof bits);
    if (dtype == ATTN_DTYPE_F32) {
        memcpy(to, &bits, sizeof bits);
        return;
    }
    if (dtype == ATTN_DTYPE_BF16)
        half = (uint16_t)(bits >> 16);
    else /* no subnormals among these numbers */
        half = value == 0 ? 0
                          : (uint16_t)(((bits >> 16) & 0x8000U) |
                                       (((bits & 0x7fffffffU) >> 13) - ((127U - 15U) << 10)));
    memcpy(to, &half, sizeof half);
}

/* Variants from FIRST on, one in six; with TORTURE=full all. */
static void check_types_and_layouts(const struct sizes *s, size_t first)
{
    const enum attn_dtype dtypes[] = {ATTN_DTYPE_F32, ATTN_DTYPE_F16, ATTN_DTYPE_BF16};
    float *x, *w, *bias;
    unsigned char *stored = allocate(s->n_in * s->n_out * 4 + 8, 1);
    unsigned char *stored_bias = allocate(s->n_out * 4 + 8, 1);

    make_numbers(s, &x, &w, &bias);
    for (size_t variant = first % attn_one_in(6); variant < 12; variant += attn_one_in(6)) {
        size_t shift = variant / 6; /* 1: no element is aligned */
        enum attn_dtype dtype = dtypes[variant % 3];
        bool is_transposed = variant / 3 % 2 == 1;
        size_t size = attn_dtype_bits(dtype) / 8;
        struct attn_linear linear = {.weight = {.data = stored + shift,
                                                .dtype = dtype,
                                                .n_row = s->n_in,
                                                .n_col = s->n_out,
                                                .row_stride = is_transposed ? 1 : s->n_out,
                                                .col_stride = is_transposed ? s->n_in : 1,
                                                .group = s->n_out}};
        const struct attn_vector vector = {
            .data = stored_bias + shift, .dtype = dtype, .n = s->n_out, .group = s->n_out};

        for (size_t k = 0; k < s->n_in; k++)
            for (size_t j = 0; j < s->n_out; j++)
                write_as(dtype, w[k * s->n_out + j],
                         stored + shift +
                             (is_transposed ? j * s->n_in + k : k * s->n_out + j) * size);
        for (size_t j = 0; j < s->n_out; j++)
            write_as(dtype, bias[j], stored_bias + shift + j * size);
        check_settings(&linear, w, bias, &vector, x, s);
    }
    attn_free(stored);
    attn_free(stored_bias);
    attn_free(x);
    attn_free(w);
    attn_free(bias);
}

START_TEST(every_type_and_layout_gives_the_chain_plus_bias)
{
    for (size_t i = 0; i < sizeof some_sizes / sizeof *some_sizes; i++)
        check_types_and_layouts(&some_sizes[i], i);
}
END_TEST

/* Blocks that lie along k: their values as convert gives them (test_blocks.c). */
static void check_blocks(enum attn_dtype dtype, const struct sizes *s)
{
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);
    const size_t n_row_byte = attn_dtype_n_byte(dtype, s->n_in);
    unsigned char *stored = allocate(n_row_byte, s->n_out);
    struct attn_linear linear = {.weight = {.data = stored,
                                            .dtype = dtype,
                                            .n_row = s->n_in,
                                            .n_col = s->n_out,
                                            .row_stride = 1,
                                            .col_stride = s->n_in,
                                            .group = s->n_out}};
    float *x, *w, *bias, *column = allocate(s->n_in, sizeof *column);
    struct attn_vector vector;
    uint32_t random = 1;

    make_numbers(s, &x, &w, &bias);
    vector = (struct attn_vector){bias, ATTN_DTYPE_F32, s->n_out, s->n_out, 0, false};
    for (size_t i = 0; i < n_row_byte * s->n_out; i++) {
        random = random * 1664525 + 1013904223;
        stored[i] = (unsigned char)(random >> 24) & 0xbb; /* no exponent of all ones */
    }
    for (size_t j = 0; j < s->n_out; j++) {
        kernels->convert(stored + j * n_row_byte, dtype, s->n_in, column);
        for (size_t k = 0; k < s->n_in; k++)
            w[k * s->n_out + j] = column[k];
    }
    check_settings(&linear, w, bias, &vector, x, s);
    attn_free(stored), attn_free(column);
    attn_free(x), attn_free(w), attn_free(bias);
}

START_TEST(blocks_give_the_chain_of_their_values)
{
    static const struct sizes short_rows[] = {
        {1, 32, 5}, {3, 96, 64}, {50, 544, 70}, {2, 1056, 17}};
    static const struct sizes long_rows[] = {{1, 256, 150}, {7, 768, 33}, {49, 1280, 64}};

    for (int i = 0; i < 4; i++) {
        check_blocks(ATTN_DTYPE_Q8_0, &short_rows[i]);
        check_blocks(ATTN_DTYPE_Q5_1, &short_rows[i]);
    }
    for (int i = 0; i < 3; i++) {
        check_blocks(ATTN_DTYPE_Q4_K, &long_rows[i]);
        check_blocks(ATTN_DTYPE_Q6_K, &long_rows[i]);
        check_blocks(ATTN_DTYPE_IQ4_XS, &long_rows[i]);
    }
}
END_TEST

/* W_Q [5, 21, 24] with rows ROW_STRIDE apart: with gaps a panel seems to fit in place. Its bias
 * lies in groups as well. */
static void check_groups(size_t row_stride)
{
    const struct sizes s = {9, 21, 120};
    size_t group = 24, group_stride = s.n_in * row_stride, bias_stride = 3 * group;
    float *x, *w, *bias, *heads = allocate(5 * group_stride, sizeof *heads);
    float *biases = allocate(5 * bias_stride, sizeof *biases);
    struct attn_vector vector = {.data = biases,
                                 .dtype = ATTN_DTYPE_F32,
                                 .n = s.n_out,
                                 .group = group,
                                 .group_stride = bias_stride};
    struct attn_linear linear = {.weight = {.data = heads,
                                            .dtype = ATTN_DTYPE_F32,
                                            .n_row = s.n_in,
                                            .n_col = s.n_out,
                                            .row_stride = row_stride,
                                            .col_stride = 1,
                                            .group = group,
                                            .group_stride = group_stride}};

    make_numbers(&s, &x, &w, &bias);
    for (size_t j = 0; j < s.n_out; j++)
        biases[j / group * bias_stride + j % group] = bias[j];
    for (size_t k = 0; k < s.n_in; k++)
        for (size_t j = 0; j < s.n_out; j++)
            heads[j / group * group_stride + k * row_stride + j % group] = w[k * s.n_out + j];
    check_settings(&linear, w, bias, &vector, x, &s);
    attn_free(heads);
    attn_free(biases);
    attn_free(x);
    attn_free(w);
    attn_free(bias);
}

START_TEST(groups_of_columns_are_heads)
{
    check_groups(24);
    check_groups(100);
}
END_TEST

START_TEST(no_element_is_further_from_double_than_rounding_allows)
{
    const struct sizes s = {30, 700, 50};
    const struct setting set = {.how = ATTN_GEMM_JIT, .isa = ATTN_ISA_BEST, .last_col = s.n_out};
    struct attn_linear linear = {.weight = {.dtype = ATTN_DTYPE_F32,
                                            .n_row = s.n_in,
                                            .n_col = s.n_out,
                                            .row_stride = s.n_out,
                                            .col_stride = 1,
                                            .group = s.n_out}};
    const struct attn_reference_sizes sizes = {s.n_row, s.n_in, s.n_out};
    double *wide_x = allocate(s.n_row * s.n_in, sizeof *wide_x);
    double *wide_w = allocate(s.n_in * s.n_out, sizeof *wide_w);
    double *expected = allocate(s.n_row * s.n_out, sizeof *expected);
    double *squares = allocate(s.n_row * s.n_out, sizeof *squares);
    float *x, *w, *bias, *y;

    make_numbers(&s, &x, &w, &bias);
    linear.weight.data = w;
    y = run_linear(&linear, &set, x, s.n_row);
    for (size_t i = 0; i < s.n_row; i++)
        attn_reference_widen(x + i * (s.n_in + GAP), s.n_in, wide_x + i * s.n_in);
    attn_reference_widen(w, s.n_in * s.n_out, wide_w);
    attn_reference_linear(wide_x, wide_w, NULL, &sizes, expected);
    for (size_t i = 0; i < s.n_row * s.n_in; i++)
        wide_x[i] *= wide_x[i];
    for (size_t i = 0; i < s.n_in * s.n_out; i++)
        wide_w[i] *= wide_w[i];
    attn_reference_linear(wide_x, wide_w, NULL, &sizes, squares);
    for (size_t i = 0; i < s.n_row; i++)
        for (size_t j = 0; j < s.n_out; j++) {
            double error = fabs((double)y[i * (s.n_out + GAP) + j] - expected[i * s.n_out + j]);

            /* partial sums grow like sqrt(K), and so do the errors made at each */
            ck_assert_double_le(error,
                                4 * 0x1p-24 * sqrt((double)s.n_in * squares[i * s.n_out + j]));
        }
    attn_free(wide_x);
    attn_free(wide_w);
    attn_free(expected);
    attn_free(squares);
    attn_free(y);
    attn_free(x);
    attn_free(w);
    attn_free(bias);
}
END_TEST

/* Freivalds: y v = x (W v) for a random v, without a second product. */
START_TEST(a_large_map_agrees_with_a_random_vector)
{
    const struct sizes s = {130, 300, 1000};
    const struct setting set = {
        .how = ATTN_GEMM_JIT, .isa = ATTN_ISA_BEST, .n_thread = 2, .last_col = s.n_out};
    struct attn_linear linear = {.weight = {.dtype = ATTN_DTYPE_F32,
                                            .n_row = s.n_in,
                                            .n_col = s.n_out,
                                            .row_stride = s.n_out,
                                            .col_stride = 1,
                                            .group = s.n_out}};
    float *x, *w, *bias, *y, *v = allocate(s.n_out, sizeof *v);
    double *wv = allocate(s.n_in, sizeof *wv);

    make_numbers(&s, &x, &w, &bias);
    attn_reference_fill(v, s.n_out, 1, 99);
    linear.weight.data = w;
    y = run_linear(&linear, &set, x, s.n_row);
    for (size_t k = 0; k < s.n_in; k++)
        for (size_t j = 0; j < s.n_out; j++)
            wv[k] += (double)w[k * s.n_out + j] * (double)v[j];
    for (size_t i = 0; i < s.n_row; i++) {
        double left = 0, right = 0;

        for (size_t j = 0; j < s.n_out; j++)
            left += (double)y[i * (s.n_out + GAP) + j] * (double)v[j];
        for (size_t k = 0; k < s.n_in; k++)
            right += (double)x[i * (s.n_in + GAP) + k] * wv[k];
        ck_assert_double_eq_tol(left, right, 1e-3);
    }
    attn_free(y);
    attn_free(x);
    attn_free(w);
    attn_free(bias);
    attn_free(v);
    attn_free(wv);
}
END_TEST

/* y = act(x W + b) and sum += y, against the same done one after the other. */
static void check_what_follows(const struct sizes *s, struct attn_linear_args args)
{
    const struct attn_kernels *kernels = args.engine->kernels;
    const size_t n = s->n_row * s->n_out;
    float *x, *w, *bias, *y = allocate(n, sizeof *y), *expected = allocate(n, sizeof *y);
    float *sum = allocate(n, sizeof *sum), *expected_sum = allocate(n, sizeof *sum), *scratch;
    struct attn_linear linear = {
        .weight = {.dtype = ATTN_DTYPE_F32,
                   .n_row = s->n_in,
                   .n_col = s->n_out,
                   .row_stride = s->n_out,
                   .col_stride = 1,
                   .group = s->n_out},
        .bias = {.dtype = ATTN_DTYPE_F32, .n = s->n_out, .group = s->n_out}};

    make_numbers(s, &x, &w, &bias);
    attn_reference_fill(sum, n, 1, 7);
    scratch = allocate(attn_linear_scratch(&linear), sizeof *scratch);
    linear.weight.data = w;
    linear.bias.data = bias;
    args.linear = &linear;
    args.scratch = &scratch;
    args.x = x;
    args.ldx = s->n_in + GAP;
    args.n_row = s->n_row;
    args.ldy = args.last_col = s->n_out;
    args.y = expected;
    attn_linear_run(&args, 1, NULL);
    kernels->activate(ATTN_ACTIVATION_GELU_NEW, expected, n);
    kernels->add(sum, expected, n, expected_sum);
    args.y = y;
    args.has_activation = true;
    args.activation = ATTN_ACTIVATION_GELU_NEW;
    args.sum = sum;
    attn_linear_run(&args, 1, NULL);
    attn_assert_same_bits("activated", y, expected, n);
    attn_assert_same_bits("added", sum, expected_sum, n);
    attn_free(x), attn_free(w), attn_free(bias), attn_free(y), attn_free(expected);
    attn_free(sum), attn_free(expected_sum), attn_free(scratch);
}

START_TEST(what_follows_a_product_is_done_once_for_each_element)
{
    for (size_t i = 0; i < sizeof some_sizes / sizeof *some_sizes; i++)
        for (int isa = 0; isa <= ATTN_ISA_BEST; isa++) {
            const struct attn_gemm_engine engine =
                attn_gemm_engine_start(ATTN_GEMM_PORTABLE, (enum attn_isa)isa, 0);

            check_what_follows(&some_sizes[i], (struct attn_linear_args){.engine = &engine});
        }
}
END_TEST

/* One weight at (1, COLUMN) makes row 2 of y what is found there; relu would hide -inf. */
static bool is_violated_by(float weight, size_t column)
{
    enum { N_ROW = 5, N_IN = 3, N_OUT = 70 };
    const struct attn_gemm_engine engine = attn_gemm_engine_start(ATTN_GEMM_JIT, ATTN_ISA_BEST, 0);
    float w[N_IN * N_OUT] = {0}, x[N_ROW * N_IN] = {0}, y[N_ROW * N_OUT];
    const struct attn_linear linear = {
        .weight = {w, ATTN_DTYPE_F32, N_IN, N_OUT, N_OUT, 1, N_OUT, 0, false, NULL, NULL, 0}};
    float *scratch = allocate(attn_linear_scratch(&linear), sizeof *scratch);
    atomic_bool is_violated = false;

    w[N_OUT + column] = weight;
    x[2 * N_IN + 1] = 1;
    attn_linear_run(&(struct attn_linear_args){.linear = &linear,
                                               .engine = &engine,
                                               .scratch = &scratch,
                                               .x = x,
                                               .ldx = N_IN,
                                               .n_row = N_ROW,
                                               .y = y,
                                               .ldy = N_OUT,
                                               .last_col = N_OUT,
                                               .has_activation = true,
                                               .activation = ATTN_ACTIVATION_RELU,
                                               .is_violated = &is_violated},
                    1, NULL);
    attn_free(scratch);
    return is_violated;
}

START_TEST(a_product_that_is_not_finite_is_seen_before_its_activation)
{
    for (size_t column = 0; column < 70; column++) {
        ck_assert(!is_violated_by(3e38F, column));
        ck_assert(is_violated_by(INFINITY, column));
        ck_assert(is_violated_by(-INFINITY, column));
        ck_assert(is_violated_by(NAN, column));
    }
}
END_TEST

START_TEST(no_rows_and_no_columns_are_no_work)
{
    float w[20] = {0}, scratch[1] = {0}, *const scratches[] = {scratch}, y = -7;
    struct attn_gemm_engine engine = attn_gemm_engine_start(ATTN_GEMM_PORTABLE, ATTN_ISA_BEST, 0);
    struct attn_linear linear = {
        .weight = {w, ATTN_DTYPE_F32, 1, 20, 20, 1, 20, 0, false, NULL, NULL, 0}};
    struct attn_linear_args args = {.linear = &linear,
                                    .engine = &engine,
                                    .scratch = scratches,
                                    .x = w,
                                    .y = &y,
                                    .ldx = 1,
                                    .ldy = 20};

    args.last_col = 20;
    attn_linear_run(&args, 1, NULL);
    args.n_row = 1, args.last_col = 0;
    attn_linear_run(&args, 1, NULL);
    ck_assert(y == -7);
}
END_TEST

ATTN_SUITE("gemm: linear", every_type_and_layout_gives_the_chain_plus_bias,
           blocks_give_the_chain_of_their_values, groups_of_columns_are_heads,
           no_element_is_further_from_double_than_rounding_allows,
           a_large_map_agrees_with_a_random_vector,
           what_follows_a_product_is_done_once_for_each_element,
           a_product_that_is_not_finite_is_seen_before_its_activation,
           no_rows_and_no_columns_are_no_work)
