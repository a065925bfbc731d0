#include "model/elements.h"

#include "base/dtype_internal.h"
#include "kernels/kernels.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* The block that was decoded last: elements FIRST to FIRST + N - 1 of the data. */
struct block {
    const struct attn_kernels *kernels;
    size_t first, n;
    size_t end; /* elements before it are decoded together, if their type has no blocks; or 0 */
    float values[256];
};

/* Begins to read rows ROW0 .. ROW0 + N - 1 of M. The elements of a row may lie side by side. */
static struct block begin_rows(const struct attn_matrix *m, size_t row0, size_t n)
{
    const bool has_rows =
        n == 1 && m->col_stride == 1 && m->group == m->n_col && !m->is_interleaved;

    return (struct block){.kernels = attn_kernels_find(ATTN_ISA_BEST),
                          .end = has_rows ? row0 * m->row_stride + m->n_col : 0};
}

static double element(const void *data, enum attn_dtype dtype, size_t i, struct block *block)
{
    if (i - block->first >= block->n) {
        const size_t left = block->end > i ? block->end - i : 1;

        block->n = attn_dtype_block(dtype);
        block->first = i - i % block->n;
        if (block->n == 1)
            block->n = left < 256 ? left : 256;
        block->kernels->convert((const char *)data + attn_dtype_n_byte(dtype, block->first), dtype,
                                block->n, block->values);
    }
    return (double)block->values[i - block->first];
}

/* A block holds consecutive rows of one column: visit the rows of a column in turn. */
static double matrix_element(const struct attn_matrix *m, size_t row, size_t col,
                             struct block *block)
{
    return element(m->data, m->dtype, row * m->row_stride + attn_matrix_column_at(m, col), block);
}

void attn_vector_elements(const struct attn_vector *v, size_t first, size_t n, double *elements)
{
    const size_t group = v->group;
    struct block block = {.kernels = attn_kernels_find(ATTN_ISA_BEST)};

    for (size_t i = first; i < first + n; i++) {
        const size_t in_group = group > 0 ? i % group : i;
        const size_t at = (group > 0 ? i / group * v->group_stride : 0) +
                          (v->is_interleaved ? attn_interleaved(in_group, group) : in_group);

        elements[i - first] = v->data ? element(v->data, v->dtype, at, &block) : 0;
    }
}

void attn_matrix_add_rows(const struct attn_matrix *matrix, size_t row0, size_t n, const float *x,
                          double *y)
{
    struct block block = begin_rows(matrix, row0, n);

    for (size_t col = 0; col < matrix->n_col; col++)
        for (size_t k = 0; k < n; k++)
            y[col] += (double)x[k] * matrix_element(matrix, row0 + k, col, &block);
}

void attn_matrix_along(const struct attn_matrix *matrix, size_t row0, size_t n, const double *u,
                       double *y)
{
    struct block block = {.kernels = attn_kernels_find(ATTN_ISA_BEST)};

    memset(y, 0, n * sizeof *y);
    for (size_t col = 0; col < matrix->n_col; col++)
        for (size_t k = 0; k < n; k++)
            y[k] += u[col] * matrix_element(matrix, row0 + k, col, &block);
}

void attn_matrix_rows(const struct attn_matrix *matrix, size_t row0, size_t n, double *rows)
{
    struct block block = begin_rows(matrix, row0, n);

    for (size_t col = 0; col < matrix->n_col; col++)
        for (size_t k = 0; k < n; k++)
            rows[k * matrix->n_col + col] = matrix_element(matrix, row0 + k, col, &block);
}

void attn_matrix_column(const struct attn_matrix *matrix, size_t col, double *column)
{
    struct block block = {.kernels = attn_kernels_find(ATTN_ISA_BEST)};

    for (size_t row = 0; row < matrix->n_row; row++)
        column[row] = matrix_element(matrix, row, col, &block);
}

/* Elements are converted to float32 in blocks, where NaN and infinity of all types are those of
 * float32. The kernels tell whether a block has such values; only then its elements are checked one
 * by one. */
enum { BLOCK = 1024 };

/* Returns infinity or NaN for an 8-bit float that is infinite or NaN, and 0 for other values (OCP
 * 8-bit FP and MX specifications; FNUZ: ONNX). */
static float read_byte(unsigned char byte, enum attn_dtype dtype)
{
    const unsigned magnitude = byte & 0x7FU;

    switch (dtype) {
    case ATTN_DTYPE_F8_E5M2:
        if (magnitude == 0x7C)
            return byte > 0x7F ? -INFINITY : INFINITY;
        return magnitude > 0x7C ? NAN : 0;
    case ATTN_DTYPE_F8_E4M3:
        return magnitude == 0x7F ? NAN : 0;
    case ATTN_DTYPE_F8_E8M0:
        return byte == 0xFF ? NAN : 0;
    default: /* FNUZ: the code that means -0 in other formats */
        return byte == 0x80 ? NAN : 0;
    }
}

/* Returns 0 for finite values, and other values unchanged. */
static float keep_non_finite(double value)
{
    return isfinite(value) ? 0 : (float)value;
}

/* Converts N elements at SRC to float32. Finite elements may become any finite value. */
static void read_block(const struct attn_kernels *kernels, const unsigned char *src,
                       enum attn_dtype dtype, size_t n, float *values)
{
    const size_t size = attn_dtype_bits(dtype) / 8;

    if (dtype == ATTN_DTYPE_F32 || dtype == ATTN_DTYPE_F16 || dtype == ATTN_DTYPE_BF16 ||
        attn_dtype_block(dtype) > 1) {
        kernels->convert(src, dtype, n, values);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        double wide;
        float parts[2];

        if (dtype == ATTN_DTYPE_F64) {
            memcpy(&wide, src + i * size, sizeof wide);
            values[i] = keep_non_finite(wide);
        } else if (dtype == ATTN_DTYPE_C64) {
            memcpy(parts, src + i * size, sizeof parts);
            values[i] = isnan(parts[0]) || isnan(parts[1]) ? NAN
                        : isfinite(parts[0])               ? keep_non_finite((double)parts[1])
                                                           : parts[0];
        } else {
            values[i] = read_byte(src[i], dtype);
        }
    }
}

static bool has_non_finite(enum attn_dtype dtype)
{
    if (attn_dtype_block(dtype) > 1) /* its scale may be NaN or infinite */
        return true;
    switch (dtype) {
    case ATTN_DTYPE_F32:
    case ATTN_DTYPE_F16:
    case ATTN_DTYPE_BF16:
    case ATTN_DTYPE_F64:
    case ATTN_DTYPE_C64:
    case ATTN_DTYPE_F8_E5M2:
    case ATTN_DTYPE_F8_E4M3:
    case ATTN_DTYPE_F8_E8M0:
    case ATTN_DTYPE_F8_E4M3FNUZ:
    case ATTN_DTYPE_F8_E5M2FNUZ:
        return true;
    default: /* integers, and floats of 4 and 6 bits, which have no NaN or infinity */
        return false;
    }
}

struct attn_non_finite attn_tensor_find_non_finite(const struct attn_tensor *tensor)
{
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);
    const size_t n = attn_tensor_n_element(tensor);
    struct attn_non_finite found = {.n_nan = 0};
    float values[BLOCK];

    if (!has_non_finite(tensor->dtype))
        return found;
    for (size_t first = 0; first < n; first += BLOCK) {
        const size_t n_block = n - first < BLOCK ? n - first : BLOCK;

        read_block(kernels,
                   (const unsigned char *)tensor->data + attn_dtype_n_byte(tensor->dtype, first),
                   tensor->dtype, n_block, values);
        if (kernels->is_finite(values, n_block))
            continue;
        for (size_t i = 0; i < n_block; i++) {
            if (isfinite(values[i]))
                continue;
            if (found.n_nan + found.n_infinite == 0) {
                found.first = first + i;
                found.value = (double)values[i];
            }
            *(isnan(values[i]) ? &found.n_nan : &found.n_infinite) += 1;
        }
    }
    return found;
}
