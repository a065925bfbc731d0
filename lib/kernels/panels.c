/* panels.c - see panels.h. */
#include "kernels/panels.h"

enum { NARROWEST = 17 }; /* panel that keeps the numeric contract */

static size_t width_of(size_t n_col)
{
    return n_col < NARROWEST ? ATTN_PANEL_PADDED : n_col;
}

/* Columns that are shared by the last two panels, because the last alone would be too narrow. */
static size_t shared_columns(const struct attn_panels *panels)
{
    size_t rest = panels->n_col % ATTN_PANEL;

    return panels->n_panel > 1 && rest > 0 && rest < NARROWEST ? ATTN_PANEL + rest : 0;
}

struct attn_panels attn_panels_split(size_t n_col)
{
    return (struct attn_panels){.n_panel = n_col / ATTN_PANEL + (n_col % ATTN_PANEL != 0),
                                .n_col = n_col};
}

size_t attn_panel_first(const struct attn_panels *panels, size_t panel)
{
    size_t shared = shared_columns(panels);

    if (shared > 0 && panel == panels->n_panel - 1)
        return (panel - 1) * ATTN_PANEL + (shared + 1) / 2;
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
    return compute == ATTN_COMPUTE_BF16 ? sizeof(uint16_t) : sizeof(float);
}

size_t attn_panel_depth(size_t n_row, enum attn_compute compute)
{
    return compute == ATTN_COMPUTE_BF16 ? n_row + n_row % 2 : n_row;
}

static void pack_bf16(const struct attn_matrix *matrix, const struct attn_kernels *kernels,
                      size_t first, size_t m, uint16_t *panel)
{
    enum { N_ROW = 128 }; /* packed as float32 at a time: an even number */
    const size_t size = attn_dtype_bits(matrix->dtype) / 8, width = width_of(m);
    float rows[N_ROW * ATTN_PANEL];

    for (size_t k = 0; k < matrix->n_row; k += N_ROW) {
        struct attn_matrix piece = *matrix;

        piece.data = (const char *)matrix->data + k * matrix->row_stride * size;
        piece.n_row = matrix->n_row - k < N_ROW ? matrix->n_row - k : N_ROW;
        kernels->pack_panel(&piece, first, m, width, rows);
        for (size_t r = 0; r < piece.n_row; r += 2)
            kernels->pair_bf16(rows + r * width,
                               r + 1 < piece.n_row ? rows + (r + 1) * width : NULL, width,
                               panel + (k + r) * width);
    }
}

void attn_panel_pack(const struct attn_matrix *matrix, const struct attn_kernels *kernels,
                     enum attn_compute compute, size_t first, size_t m, void *panel)
{
    if (compute == ATTN_COMPUTE_BF16)
        pack_bf16(matrix, kernels, first, m, panel);
    else
        kernels->pack_panel(matrix, first, m, width_of(m), panel);
}
