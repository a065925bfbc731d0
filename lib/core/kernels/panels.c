#include "kernels/panels.h"
#include "base/dtype_internal.h"

#include <string.h>

enum { NARROWEST = 17 }; /* the narrowest panel that keeps the numeric contract */

static size_t width_of(size_t n_col)
{
    return n_col < NARROWEST ? ATTN_PANEL_PADDED : n_col;
}

struct attn_panels attn_panels_split(size_t n_col)
{
    return (struct attn_panels){.n_panel = n_col / ATTN_PANEL + (n_col % ATTN_PANEL != 0),
                                .n_col = n_col};
}

size_t attn_panel_first(const struct attn_panels *panels, size_t panel)
{
    const size_t rest = panels->n_col % ATTN_PANEL;

    /* If the last panel would be too narrow, the last two panels share their columns evenly. */
    if (panel > 0 && panel == panels->n_panel - 1 && rest > 0 && rest < NARROWEST)
        return (panel - 1) * ATTN_PANEL + (ATTN_PANEL + rest + 1) / 2;
    return panel * ATTN_PANEL;
}

size_t attn_panel_n_col(const struct attn_panels *panels, size_t panel)
{
    size_t end = panel + 1 < panels->n_panel ? attn_panel_first(panels, panel + 1) : panels->n_col;

    return end - attn_panel_first(panels, panel);
}

size_t attn_panel_width(const struct attn_panels *panels, size_t panel)
{
    return width_of(attn_panel_n_col(panels, panel));
}

size_t attn_panel_find(const struct attn_panels *panels, size_t column)
{
    const size_t last = panels->n_panel - 1, panel = column / ATTN_PANEL;

    return column >= attn_panel_first(panels, last) ? last : panel < last ? panel : last - 1;
}

size_t attn_panel_element(enum attn_compute compute)
{
    return compute == ATTN_COMPUTE_F32 ? sizeof(float) : sizeof(uint16_t);
}

size_t attn_panel_depth(size_t n_row, enum attn_compute compute)
{
    return compute == ATTN_COMPUTE_F32 ? n_row : n_row + n_row % 2;
}

size_t attn_panel_slice(const struct attn_kernels *kernels, enum attn_compute compute, size_t width,
                        size_t n_row)
{
    return kernels->isa == ATTN_ISA_AVX2 && width == ATTN_PANEL
               ? attn_panel_depth(n_row, compute) * ATTN_SLICE
               : 0;
}

static void pack_bf16(const struct attn_matrix *matrix, const struct attn_kernels *kernels,
                      size_t first, size_t m, uint16_t *panel)
{
    /* Rows that are unpacked to float32 at a time: a multiple of all block sizes. */
    enum { N_ROW = 256 };
    const size_t step = attn_dtype_block(matrix->dtype) > 1 ? N_ROW : N_ROW / 2;
    const size_t width = width_of(m);
    const size_t slice = attn_panel_slice(kernels, ATTN_COMPUTE_BF16, m, matrix->n_row);
    const size_t n_col = slice > 0 ? ATTN_SLICE : width; /* side by side */
    float rows[N_ROW * ATTN_PANEL];

    for (size_t k = 0; k < matrix->n_row; k += step) {
        struct attn_matrix piece = *matrix;

        piece.data =
            (const char *)matrix->data + attn_dtype_n_byte(matrix->dtype, k * matrix->row_stride);
        piece.n_row = matrix->n_row - k < step ? matrix->n_row - k : step;
        kernels->pack_panel(&piece, first, m, width, rows);
        /* Pairs of rows, interleaved; the last row may be alone. */
        for (size_t r = 0; r < piece.n_row; r += 2) {
            const float *x = rows + r * width;

            for (size_t c = 0; c < width; c += n_col)
                kernels->pair_bf16(x + c, piece.n_row - r > 1 ? x + width + c : NULL, n_col,
                                   panel + c / n_col * slice + (k + r) * n_col);
        }
    }
}

void attn_panel_pack(const struct attn_matrix *matrix, const struct attn_kernels *kernels,
                     enum attn_compute compute, size_t first, size_t m, void *panel)
{
    const bool is_sliced = attn_panel_slice(kernels, compute, m, matrix->n_row) > 0;

    if (compute == ATTN_COMPUTE_F32)
        kernels->pack_panel(matrix, first, m, is_sliced ? ATTN_SLICE : width_of(m), panel);
    else
        pack_bf16(matrix, kernels, first, m, panel);
}

/* --- Transposed ------------------------------------------------------------------------------- */

/* Converts numbers of one column of blocks or of F64, which are adjacent in memory, to a row of the
 * panel. */
static void pack_column(const struct attn_matrix *matrix, const struct attn_kernels *kernels,
                        const struct attn_matrix_part *part, size_t col, float *row)
{
    /* Numbers in the whole blocks that cover the rows of a panel. */
    enum { MOST = ATTN_PANEL + 2 * 256 };
    const size_t block = attn_dtype_block(matrix->dtype), first = part->row / block * block;
    const size_t n = (part->row + part->n_row - first + block - 1) / block * block;
    const char *data = (const char *)matrix->data +
                       attn_dtype_n_byte(matrix->dtype, attn_matrix_column_at(matrix, col) + first);
    float values[MOST];

    if (block == 1) {
        kernels->convert(data, matrix->dtype, part->n_row, row);
        return;
    }
    kernels->convert(data, matrix->dtype, n, values);
    memcpy(row, values + (part->row - first), part->n_row * sizeof *row);
}

/* Copies the columns of PART, which begin STEP elements apart, to the rows of the panel. */
static void pack_columns(const struct attn_matrix *matrix, const struct attn_kernels *kernels,
                         const struct attn_matrix_part *part, size_t step, float *panel)
{
    const struct attn_matrix turned = {
        .data = (const char *)matrix->data +
                attn_dtype_n_byte(matrix->dtype, attn_matrix_column_at(matrix, part->col)),
        .dtype = matrix->dtype,
        .n_row = part->n_col,
        .n_col = matrix->n_row,
        .row_stride = step,
        .col_stride = matrix->row_stride,
        .group = matrix->n_row};

    kernels->pack_panel(&turned, part->row, part->n_row, width_of(part->n_row), panel);
}

void attn_panel_pack_transposed(const struct attn_matrix *matrix,
                                const struct attn_kernels *kernels,
                                const struct attn_matrix_part *part, float *panel)
{
    const size_t width = width_of(part->n_row), end = part->col + part->n_col;
    /* The number of columns that lie at equal distances: a group, or half of an interleaved one. */
    const size_t run = matrix->is_interleaved ? matrix->group / 2 : matrix->group;
    struct attn_matrix_part some = *part;

    for (size_t col = part->col; col < end; col += some.n_col) {
        float *rows = panel + (col - part->col) * width;

        if (attn_dtype_block(matrix->dtype) > 1 || matrix->dtype == ATTN_DTYPE_F64) {
            some.n_col = 1;
            pack_column(matrix, kernels, part, col, rows);
            memset(rows + part->n_row, 0, (width - part->n_row) * sizeof *rows);
            continue;
        }
        some.col = col;
        some.n_col = run - col % run < end - col ? run - col % run : end - col;
        pack_columns(matrix, kernels, &some, matrix->col_stride * (matrix->is_interleaved ? 2 : 1),
                     rows);
    }
}
