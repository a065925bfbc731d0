/* panels.c - see panels.h. */
#include "kernels/panels.h"
#include "base/dtype_internal.h"

enum { NARROWEST = 17 }; /* panel that keeps the numeric contract */

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

    /* The last two share their columns where the last alone would be too narrow. */
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

/* What stands for a number in a product. */
static const struct parts {
    size_t size; /* bytes of a part */
    size_t n;    /* parts that add up to the number */
} parts_for[ATTN_N_COMPUTE] = {
    [ATTN_COMPUTE_F32] = {sizeof(float), 1},
    [ATTN_COMPUTE_BF16] = {sizeof(uint16_t), 1},
    [ATTN_COMPUTE_BF16X3] = {sizeof(uint16_t), 2},
};

size_t attn_panel_element(enum attn_compute compute)
{
    return parts_for[compute].size;
}

size_t attn_panel_depth(size_t n_row, enum attn_compute compute)
{
    return compute == ATTN_COMPUTE_F32 ? n_row : n_row + n_row % 2;
}

size_t attn_panel_n_part(enum attn_compute compute)
{
    return parts_for[compute].n;
}

size_t attn_panel_n_plane(enum attn_dtype dtype, enum attn_compute compute)
{
    return dtype == ATTN_DTYPE_BF16 ? 1 : parts_for[compute].n;
}

void attn_panel_round(const struct attn_kernels *kernels, enum attn_compute compute, const float *x,
                      size_t n, uint16_t *y, size_t ld)
{
    enum { N = 512 }; /* split at a time */
    float high[N], low[N];

    if (parts_for[compute].n == 1) {
        kernels->round_bf16(x, n, y);
        return;
    }
    for (size_t i = 0; i < n; i += N) {
        const size_t n_some = n - i < N ? n - i : N;

        kernels->split_bf16(x + i, n_some, high, low);
        kernels->round_bf16(high, n_some, y + i);
        kernels->round_bf16(low, n_some, y + ld + i);
    }
}

static void pack_bf16(const struct attn_matrix *matrix, const struct attn_kernels *kernels,
                      enum attn_compute compute, size_t first, size_t m, uint16_t *panel)
{
    enum { N_ROW = 128 }; /* packed as float32 at a time: an even number */
    const size_t size = attn_dtype_bits(matrix->dtype) / 8, width = width_of(m);
    const bool has_low = attn_panel_n_plane(matrix->dtype, compute) > 1;
    uint16_t *low = panel + attn_panel_depth(matrix->n_row, compute) * width;
    float rows[N_ROW * ATTN_PANEL], high[2 * ATTN_PANEL], rest[2 * ATTN_PANEL];

    for (size_t k = 0; k < matrix->n_row; k += N_ROW) {
        struct attn_matrix piece = *matrix;

        piece.data = (const char *)matrix->data + k * matrix->row_stride * size;
        piece.n_row = matrix->n_row - k < N_ROW ? matrix->n_row - k : N_ROW;
        kernels->pack_panel(&piece, first, m, width, rows);
        for (size_t r = 0; r < piece.n_row; r += 2) { /* one or two rows, interleaved */
            const size_t second = piece.n_row - r > 1 ? width : 0, at = (k + r) * width;
            const float *x = rows + r * width;

            if (has_low) {
                kernels->split_bf16(x, width + second, high, rest);
                kernels->pair_bf16(rest, second > 0 ? rest + width : NULL, width, low + at);
                x = high;
            }
            kernels->pair_bf16(x, second > 0 ? x + width : NULL, width, panel + at);
        }
    }
}

void attn_panel_pack(const struct attn_matrix *matrix, const struct attn_kernels *kernels,
                     enum attn_compute compute, size_t first, size_t m, void *panel)
{
    if (compute == ATTN_COMPUTE_F32)
        kernels->pack_panel(matrix, first, m, width_of(m), panel);
    else
        pack_bf16(matrix, kernels, compute, first, m, panel);
}
