/* panels.c - how the columns of a weight are cut into panels, and all of them packed. */
#include "kernels/gemm.h"

enum {
    NARROWEST = 17, /* panel that keeps the numeric contract */
    PADDED = 32,    /* what a narrower matrix is padded to */
};

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
    size_t n_col = attn_panel_n_col(panels, panel);

    return n_col < NARROWEST ? PADDED : n_col;
}

size_t attn_panel_find(const struct attn_panels *panels, size_t column)
{
    const size_t last = panels->n_panel - 1, panel = column / ATTN_PANEL;

    return column >= attn_panel_first(panels, last) ? last : panel < last ? panel : last - 1;
}

/* Panels lie one after the other, so that one begins at its first column times the depth. */
size_t attn_linear_packed_size(const struct attn_linear *linear)
{
    const struct attn_panels panels = attn_panels_split(linear->weight.n_col);
    const size_t last = panels.n_panel - 1;

    return (attn_panel_first(&panels, last) + attn_panel_width(&panels, last)) *
           linear->weight.n_row;
}

struct packing {
    const struct attn_matrix *weight;
    const struct attn_kernels *kernels;
    struct attn_panels panels;
    float *packed;
};

static void pack_panel(void *context, size_t task, int worker)
{
    const struct packing *packing = context;
    const struct attn_panels *panels = &packing->panels;
    const size_t first = attn_panel_first(panels, task);

    (void)worker;
    packing->kernels->pack_panel(packing->weight, first, attn_panel_n_col(panels, task),
                                 attn_panel_width(panels, task),
                                 packing->packed + first * packing->weight->n_row);
}

void attn_linear_pack(const struct attn_linear *linear, const struct attn_kernels *kernels,
                      struct attn_pool *pool, float *packed)
{
    struct packing packing = {.weight = &linear->weight,
                              .kernels = kernels,
                              .panels = attn_panels_split(linear->weight.n_col),
                              .packed = packed};

    attn_pool_run(pool, packing.panels.n_panel, pack_panel, &packing);
}
