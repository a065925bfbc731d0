/*
 * linear.c - a linear map over any number of rows: panels of columns times tiles of rows.
 *
 * Outer loop over panels, each taken by one worker, so that a weight comes from memory once. The
 * panel lies packed already, is used where it lies, or is packed (and converted) into the worker's
 * scratch; then tiles of up to 48 rows pass over it, a piece of its depth at a time. While the last
 * of them does, the piece that comes next is called for. What follows the product is done as soon
 * as a tile is complete.
 */
#include "kernels/gemm.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

enum {
    PADDED = 32, /* what a matrix narrower than a panel may be is padded to */
    TILE = 48,   /* rows; 8 blocks of the 6 rows that libxsmm's 64-column kernels hold */
    TILE_STEP = 6,
    PACK_FROM = 48,         /* rows from which packing costs less than strided reading */
    AHEAD_FROM = 4,         /* rows from which there is time to call for what comes next */
    AHEAD_IN_PLACE_TO = 12, /* and to which it pays where rows lie far apart */
    DEPTH = 1024,   /* of a piece, at most: half of a 1 MB cache, the other half for the next */
    TASKS_EACH = 4, /* tasks for each thread, so that a slow one does not hold up the rest */
};

size_t attn_linear_scratch(const struct attn_linear *linear)
{
    return linear->weight.n_row * ATTN_PANEL + ATTN_PANEL + (size_t)TILE * PADDED;
}

/* One map, as its tasks see it. */
struct run {
    const struct attn_linear *linear;
    const struct attn_linear_args *args;
    struct attn_panels panels;
    size_t tile, n_tile; /* rows of a tile, the last may have fewer; tiles */
    size_t n_chunk;      /* tasks that share a panel, each with its own tiles */
    size_t n_piece;      /* of the depth */
    size_t n_task;
};

/* Maps side by side, their tasks one after the other; the one behind the last is only called for. */
struct runs {
    struct run runs[ATTN_LINEAR_MOST + 1];
    size_t n, n_thread;
};

/* A panel [n_in, width] with stride lda, n_col of its columns real. */
struct strip {
    const float *a, *bias; /* bias NULL: none */
    const float *next;     /* the panel that this worker is likely to take next; NULL: unknown */
    float *padded;         /* [TILE, PADDED] for a panel with columns that do not exist */
    size_t column;         /* its first one, of those wanted */
    size_t lda, width, n_col;
    bool is_ahead; /* it pays to call for what comes next */
};

/* A panel inside the packed weight or the weight itself, or NULL where it must be packed. */
static const float *find_panel(const struct run *run, size_t panel, size_t *lda)
{
    const struct attn_matrix *w = &run->linear->weight;
    const size_t first = run->args->first_col + attn_panel_first(&run->panels, panel);
    const size_t n_col = attn_panel_n_col(&run->panels, panel);
    const size_t width = attn_panel_width(&run->panels, panel);
    const float *data = w->data;

    *lda = width;
    if (run->linear->packed != NULL) {
        const struct attn_panels all = attn_panels_split(w->n_col);
        const size_t p = attn_panel_find(&all, first);

        if (attn_panel_first(&all, p) == first && attn_panel_n_col(&all, p) == n_col)
            return run->linear->packed + first * w->n_row;
    }
    if (run->args->n_row >= PACK_FROM || w->dtype != ATTN_DTYPE_F32 || w->col_stride != 1 ||
        width != n_col || first % w->group + n_col > w->group ||
        (uintptr_t)w->data % _Alignof(float) != 0 || w->row_stride < width)
        return NULL;
    *lda = w->row_stride;
    return data + first / w->group * w->group_stride + first % w->group;
}

/* What is multiplied: rows ROW .. ROW+n_row-1 by FIRST .. LAST-1 of the strip's depth. */
struct piece {
    size_t row, n_row, first, last;
    const float *next; /* called for meanwhile; NULL: nothing */
};

static void multiply(const struct run *run, const struct strip *strip, const struct piece *piece)
{
    const struct attn_linear_args *args = run->args;
    const bool is_padded = strip->width != strip->n_col;
    const struct attn_gemm_shape shape = {.m = strip->width,
                                          .n = piece->n_row,
                                          .k = piece->last - piece->first,
                                          .lda = strip->lda,
                                          .ldb = args->ldx,
                                          .ldc = is_padded ? PADDED : args->ldy,
                                          .is_continued = piece->first > 0,
                                          .is_ahead = piece->next != NULL};
    const struct attn_gemm_kernel kernel = attn_gemm_kernel_find(args->engine, &shape);
    const float *a = strip->a + piece->first * strip->lda;
    const float *x = args->x + piece->row * args->ldx + piece->first;
    float *y = is_padded ? strip->padded : args->y + piece->row * args->ldy + strip->column;

    if (shape.is_ahead)
        attn_gemm_kernel_run_ahead(&kernel, a, x, y, piece->next);
    else
        attn_gemm_kernel_run(&kernel, a, x, y, 1);
}

/* What follows the product. */
static void finish_tile(const struct run *run, const struct strip *strip, size_t row, size_t n_row)
{
    const struct attn_linear_args *args = run->args;
    float *y = args->y + row * args->ldy + strip->column;
    const struct attn_finish finish = {
        .bias = strip->bias,
        .has_activation = args->has_activation,
        .activation = args->activation,
        .sum = args->sum != NULL ? args->sum + row * args->ldy + strip->column : NULL,
        .ld = args->ldy};

    for (size_t i = 0; strip->width != strip->n_col && i < n_row; i++)
        memcpy(y + i * args->ldy, strip->padded + i * PADDED, strip->n_col * sizeof *y);
    if (finish.bias == NULL && !finish.has_activation && finish.sum == NULL &&
        args->is_violated == NULL)
        return;
    if (!args->engine->kernels->finish(&finish, y, n_row, strip->n_col) && args->is_violated)
        atomic_store_explicit(args->is_violated, true, memory_order_relaxed);
}

/* Tiles BEGIN .. END-1 over a strip. */
static void multiply_strip(const struct run *run, const struct strip *strip, size_t begin,
                           size_t end)
{
    const size_t depth = run->linear->weight.n_row, n_row = run->args->n_row;
    struct piece piece = {0};

    for (size_t i = 0; i < run->n_piece; i++) {
        const bool is_last = i + 1 == run->n_piece;

        piece.first = depth * i / run->n_piece;
        piece.last = depth * (i + 1) / run->n_piece;
        for (size_t t = begin; t < end; t++) {
            piece.row = t * run->tile;
            piece.n_row = n_row - piece.row < run->tile ? n_row - piece.row : run->tile;
            piece.next = NULL;
            if (t + 1 == end && strip->is_ahead)
                piece.next = is_last ? strip->next : strip->a + piece.last * strip->lda;
            multiply(run, strip, &piece);
            if (is_last)
                finish_tile(run, strip, piece.row, piece.n_row);
        }
    }
}

/* The map that a task belongs to, and which of its tasks that is; NULL behind the last. */
static const struct run *find_run(const struct runs *runs, size_t *task)
{
    for (size_t i = 0; i <= runs->n; i++) {
        if (*task < runs->runs[i].n_task)
            return &runs->runs[i];
        *task -= runs->runs[i].n_task;
    }
    return NULL;
}

/* What the worker that does TASK of all tasks is likely to multiply by next: a panel that lies as
 * the strip's does. */
static const float *find_next(const struct runs *runs, size_t task, const struct strip *strip)
{
    size_t next = task + runs->n_thread, lda;
    const struct run *here = find_run(runs, &task), *run = find_run(runs, &next);
    const float *a;

    if (run == NULL || (run == here && next / run->n_chunk == task / run->n_chunk))
        return NULL;
    a = find_panel(run, next / run->n_chunk, &lda);
    return lda == strip->lda ? a : NULL;
}

static void run_task(void *context, size_t task, int worker)
{
    const struct runs *runs = context;
    size_t index = task;
    const struct run *run = find_run(runs, &index);
    const struct attn_linear_args *args = run->args;
    const struct attn_matrix *w = &run->linear->weight;
    const struct attn_vector *b = &run->linear->bias;
    const size_t panel = index / run->n_chunk, chunk = index % run->n_chunk;
    float *packed = args->scratch[worker], *bias = packed + w->n_row * ATTN_PANEL;
    struct strip strip = {.column = attn_panel_first(&run->panels, panel),
                          .width = attn_panel_width(&run->panels, panel),
                          .n_col = attn_panel_n_col(&run->panels, panel),
                          .padded = bias + ATTN_PANEL};
    const size_t first = args->first_col + strip.column;

    strip.a = find_panel(run, panel, &strip.lda);
    if (strip.a == NULL) {
        args->engine->kernels->pack_panel(w, first, strip.n_col, strip.width, packed);
        strip.a = packed;
    } else if (args->n_row >= AHEAD_FROM &&
               (strip.lda == strip.width || args->n_row <= AHEAD_IN_PLACE_TO)) {
        strip.is_ahead = true;
        strip.next = find_next(runs, task, &strip);
    }
    if (b->data) {
        size_t size = attn_dtype_bits(b->dtype) / 8;

        args->engine->kernels->convert((const char *)b->data + first * size, b->dtype, strip.n_col,
                                       bias);
        strip.bias = bias;
    }
    multiply_strip(run, &strip, run->n_tile * chunk / run->n_chunk,
                   run->n_tile * (chunk + 1) / run->n_chunk);
}

/* Tiles of nearly equal height, so that no small remainder runs at a fraction of the speed. */
static void cut_rows(struct run *run, size_t n_row)
{
    size_t n_tile = (n_row + TILE - 1) / TILE, even = (n_row + n_tile - 1) / n_tile;

    run->tile = (even + TILE_STEP - 1) / TILE_STEP * TILE_STEP;
    run->n_tile = (n_row + run->tile - 1) / run->tile;
}

/* A padded panel has room for one piece of one tile. */
static size_t cut_depth(const struct run *run)
{
    const size_t n_col = run->panels.n_col, depth = run->linear->weight.n_row;

    return attn_panel_width(&run->panels, 0) > n_col ? 1 : (depth + DEPTH - 1) / DEPTH;
}

static void plan(struct run *run, const struct attn_linear *linear,
                 const struct attn_linear_args *args, size_t n_thread)
{
    *run = (struct run){.linear = linear,
                        .args = args,
                        .panels = attn_panels_split(args->last_col - args->first_col),
                        .n_chunk = 1};
    assert(args->first_col <= args->last_col && args->last_col <= linear->weight.n_col);
    if (args->n_row == 0 || run->panels.n_panel == 0)
        return;
    cut_rows(run, args->n_row);
    run->n_piece = cut_depth(run);
    if (n_thread > 1 && run->panels.n_panel < TASKS_EACH * n_thread)
        run->n_chunk = (TASKS_EACH * n_thread + run->panels.n_panel - 1) / run->panels.n_panel;
    if (run->n_chunk > run->n_tile)
        run->n_chunk = run->n_tile;
    run->n_task = run->panels.n_panel * run->n_chunk;
}

void attn_linear_run(const struct attn_linear_args *args, size_t n, struct attn_pool *pool)
{
    struct runs runs = {.n = n, .n_thread = (size_t)attn_pool_n_thread(pool)};
    const struct attn_linear *next = args[n - 1].next;
    struct attn_linear_args behind;
    size_t n_task = 0;

    assert(n >= 1 && n <= ATTN_LINEAR_MOST);
    for (size_t i = 0; i < n; i++) {
        plan(&runs.runs[i], args[i].linear, &args[i], runs.n_thread);
        n_task += runs.runs[i].n_task;
    }
    if (next != NULL) {
        behind =
            (struct attn_linear_args){.n_row = args[n - 1].n_row, .last_col = next->weight.n_col};
        plan(&runs.runs[n], next, &behind, runs.n_thread);
    }
    attn_pool_run(pool, n_task, run_task, &runs);
}
