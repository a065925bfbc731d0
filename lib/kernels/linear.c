/*
 * linear.c - a linear map over any number of rows: panels of columns times tiles of rows.
 *
 * Outer loop over panels, each taken by one worker, so that a weight comes from memory once. The
 * panel is used where it lies or packed (and converted) into the worker's scratch; then tiles of
 * up to 48 rows pass over it.
 */
#include "kernels/gemm.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

enum {
    PANEL = 64,     /* widest panel that keeps the numeric contract */
    NARROWEST = 17, /* and the narrowest */
    PADDED = 32,    /* what a narrower matrix is padded to */
    TILE = 48,      /* rows; 8 blocks of the 6 rows that libxsmm's 64-column kernels hold */
    TILE_STEP = 6,
    PACK_FROM = 48, /* rows from which packing costs less than strided reading */
    TASKS_EACH = 4, /* tasks for each thread, so that a slow one does not hold up the rest */
};

/* Columns that are shared by the last two panels, because the last alone would be too narrow. */
static size_t shared_columns(const struct attn_panels *panels)
{
    size_t rest = panels->n_col % PANEL;

    return panels->n_panel > 1 && rest > 0 && rest < NARROWEST ? PANEL + rest : 0;
}

struct attn_panels attn_panels_split(size_t n_col)
{
    return (struct attn_panels){.n_panel = n_col / PANEL + (n_col % PANEL != 0), .n_col = n_col};
}

size_t attn_panel_first(const struct attn_panels *panels, size_t panel)
{
    size_t shared = shared_columns(panels);

    if (shared > 0 && panel == panels->n_panel - 1)
        return (panel - 1) * PANEL + (shared + 1) / 2;
    return panel * PANEL;
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

size_t attn_linear_scratch(const struct attn_linear *linear)
{
    return linear->weight.n_row * PANEL + PANEL + (size_t)TILE * PADDED;
}

/* One run, as its tasks see it. */
struct run {
    const struct attn_linear *linear;
    const struct attn_linear_args *args;
    struct attn_panels panels;
    size_t tile, n_tile; /* rows of a tile, the last may have fewer; tiles */
    size_t n_chunk;      /* tasks that share a panel, each with its own tiles */
};

/* The panel inside the weight itself, or NULL where it must be packed. */
static const float *find_in_place(const struct run *run, size_t first, size_t width, size_t n_col)
{
    const struct attn_matrix *w = &run->linear->weight;
    const float *data = w->data;

    if (run->args->n_row >= PACK_FROM || w->dtype != ATTN_DTYPE_F32 || w->col_stride != 1 ||
        width != n_col || first % w->group + n_col > w->group ||
        (uintptr_t)w->data % _Alignof(float) != 0 || w->row_stride < width)
        return NULL;
    return data + first / w->group * w->group_stride + first % w->group;
}

static void add_bias(const struct run *run, const float *bias, size_t n_row, size_t n_col, float *y)
{
    for (size_t i = 0; i < n_row; i++, y += run->args->ldy)
        run->args->engine->kernels->add(y, bias, n_col, y);
}

/* Tiles begin .. end-1 of one panel: A [n_in, width] with stride lda, n_col of its columns real. */
struct strip {
    const float *a, *bias; /* bias NULL: none */
    float *padded;         /* [TILE, PADDED] for a panel with columns that do not exist */
    size_t lda, width, n_col;
};

static void multiply_tile(const struct run *run, const struct strip *strip, size_t row,
                          size_t n_row, float *y)
{
    const struct attn_linear_args *args = run->args;
    bool is_padded = strip->width != strip->n_col;
    struct attn_gemm_shape shape = {.m = strip->width,
                                    .n = n_row,
                                    .k = run->linear->weight.n_row,
                                    .lda = strip->lda,
                                    .ldb = args->ldx,
                                    .ldc = is_padded ? PADDED : args->ldy};
    struct attn_gemm_kernel kernel = attn_gemm_kernel_find(args->engine, &shape);

    attn_gemm_kernel_run(&kernel, strip->a, args->x + row * args->ldx,
                         is_padded ? strip->padded : y, 1);
    for (size_t i = 0; is_padded && i < n_row; i++)
        memcpy(y + i * args->ldy, strip->padded + i * PADDED, strip->n_col * sizeof *y);
    if (strip->bias)
        add_bias(run, strip->bias, n_row, strip->n_col, y);
}

static void run_task(void *context, size_t task, int worker)
{
    const struct run *run = context;
    const struct attn_linear_args *args = run->args;
    const struct attn_kernels *kernels = args->engine->kernels;
    const struct attn_matrix *w = &run->linear->weight;
    const struct attn_vector *b = &run->linear->bias;
    size_t panel = task / run->n_chunk, chunk = task % run->n_chunk;
    size_t column = attn_panel_first(&run->panels, panel), first = args->first_col + column;
    float *packed = args->scratch[worker], *bias = packed + w->n_row * PANEL;
    struct strip strip = {.width = attn_panel_width(&run->panels, panel),
                          .n_col = attn_panel_n_col(&run->panels, panel),
                          .padded = bias + PANEL};

    strip.a = find_in_place(run, first, strip.width, strip.n_col);
    strip.lda = strip.a ? w->row_stride : strip.width;
    if (!strip.a) {
        kernels->pack_panel(w, first, strip.n_col, strip.width, packed);
        strip.a = packed;
    }
    if (b->data) {
        size_t size = attn_dtype_bits(b->dtype) / 8;

        kernels->convert((const char *)b->data + first * size, b->dtype, strip.n_col, bias);
        strip.bias = bias;
    }
    for (size_t t = run->n_tile * chunk / run->n_chunk;
         t < run->n_tile * (chunk + 1) / run->n_chunk; t++) {
        size_t row = t * run->tile, left = args->n_row - row;

        multiply_tile(run, &strip, row, left < run->tile ? left : run->tile,
                      args->y + row * args->ldy + column);
    }
}

/* Tiles of nearly equal height, so that no small remainder runs at a fraction of the speed. */
static void cut_rows(struct run *run, size_t n_row)
{
    size_t n_tile = (n_row + TILE - 1) / TILE, even = (n_row + n_tile - 1) / n_tile;

    run->tile = (even + TILE_STEP - 1) / TILE_STEP * TILE_STEP;
    run->n_tile = (n_row + run->tile - 1) / run->tile;
}

void attn_linear_run(const struct attn_linear *linear, const struct attn_linear_args *args)
{
    struct run run = {.linear = linear,
                      .args = args,
                      .panels = attn_panels_split(args->last_col - args->first_col),
                      .n_chunk = 1};
    size_t n_thread = args->pool ? (size_t)attn_pool_n_thread(args->pool) : 1, n_task;

    assert(args->first_col <= args->last_col && args->last_col <= linear->weight.n_col);
    if (args->n_row == 0 || run.panels.n_panel == 0)
        return;
    cut_rows(&run, args->n_row);
    if (n_thread > 1 && run.panels.n_panel < TASKS_EACH * n_thread)
        run.n_chunk = (TASKS_EACH * n_thread + run.panels.n_panel - 1) / run.panels.n_panel;
    if (run.n_chunk > run.n_tile)
        run.n_chunk = run.n_tile;
    n_task = run.panels.n_panel * run.n_chunk;
    if (args->pool) {
        attn_pool_run(args->pool, n_task, run_task, &run);
        return;
    }
    for (size_t task = 0; task < n_task; task++)
        run_task(&run, task, 0);
}
