/*
 * linear.c - a linear map over any number of rows, computed as panels of columns times tiles of
 * rows.
 *
 * The outer loop runs over panels. One worker processes a panel, so that each weight is read from
 * memory once. The panel may be packed already, may be used in place, or is packed (and converted)
 * into the worker's scratch. Then tiles of rows (attn_gemm_rows) are multiplied by it, one piece of
 * the depth at a time. During the last tile, the next piece is prefetched. The steps after the
 * product run as soon as a tile is complete.
 *
 * Types with blocks are packed piece by piece, so that each piece is in cache when it is
 * multiplied; a few rows are multiplied without packing. Meanwhile the worker's next panel is
 * prefetched. Each element is one chain of fma, however the depth is cut.
 */
#include "kernels/linear.h"

#include "base/dtype_internal.h"
#include "base/memory.h"
#include "base/pool_internal.h"
#include "kernels/panels.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

enum {
    ROUNDED = 48,           /* number of rows that one task rounds to bfloat16 */
    PACK_FROM = 48,         /* number of rows from which packing costs less than strided reads */
    PACK_FROM_AVX2 = 5,     /* with AVX2, whose loop reads a panel once for each 16 columns */
    AHEAD_FROM = 4,         /* number of rows from which there is time to prefetch the next piece */
    AHEAD_IN_PLACE_TO = 12, /* for a strided weight, number of rows up to which prefetching pays */
    DEPTH_BYTES = 4096, /* largest size of a column of a piece: then a piece takes a quarter of a 1
                           MB cache, and the next piece another quarter */
    PACKED_DEPTH = 512, /* depth of a piece if pieces are packed one by one, from blocks or from a
                           transposed weight: a multiple of all block sizes */
    TASKS_EACH = 4,   /* number of tasks per thread, so that one slow task does not delay the end */
    MOST_RANGES = 64, /* of tasks; with more threads, some share one */
    PREFETCHING = 4,  /* number of tiles of float32 that share the prefetches of a piece: the last
                         ones before it is used */
};

static size_t depth_of(const struct attn_linear *linear, enum attn_compute compute)
{
    return attn_panel_depth(linear->weight.n_row, compute);
}

size_t attn_linear_rounded(const struct attn_linear *linear, enum attn_compute compute)
{
    return compute == ATTN_COMPUTE_F32 ? 0 : depth_of(linear, compute);
}

/* --- Packing all of a weight ----------------------------------------------------------------- */

/* Returns the bytes of one packed column. Panels lie one after the other, so a panel begins at its
 * first column times this. */
static size_t column_bytes(const struct attn_linear *linear, enum attn_compute compute)
{
    return depth_of(linear, compute) * attn_panel_element(compute);
}

/* Whether LINEAR is packed for COMPUTE as tiles of its blocks. */
static bool is_tiled(const struct attn_linear *linear, enum attn_compute compute)
{
    return compute == ATTN_COMPUTE_F32 && attn_dtype_block(linear->weight.dtype) > 1;
}

static size_t find_tile_step(const struct attn_linear *linear, const struct attn_kernels *kernels)
{
    return kernels->tiles_size(linear->weight.dtype, linear->weight.n_row);
}

size_t attn_linear_packed_size(const struct attn_linear *linear, const struct attn_kernels *kernels,
                               enum attn_compute compute)
{
    const struct attn_panels panels = attn_panels_split(linear->weight.n_col);
    const size_t last = panels.n_panel - 1;

    if (is_tiled(linear, compute))
        return attn_size_mul(panels.n_panel, find_tile_step(linear, kernels));
    return (attn_panel_first(&panels, last) + attn_panel_width(&panels, last)) *
           column_bytes(linear, compute);
}

struct packing {
    const struct attn_linear *linear;
    const struct attn_kernels *kernels;
    struct attn_panels panels;
};

static void pack_panel(void *context, size_t task, int worker)
{
    const struct packing *packing = context;
    const struct attn_linear *linear = packing->linear;
    const size_t first = attn_panel_first(&packing->panels, task);

    (void)worker;
    attn_panel_pack(&linear->weight, packing->kernels, linear->packed_for, first,
                    attn_panel_n_col(&packing->panels, task),
                    (char *)linear->packed + first * column_bytes(linear, linear->packed_for));
}

static void make_tiles(void *context, size_t task, int worker)
{
    const struct packing *packing = context;
    const struct attn_linear *linear = packing->linear;
    const size_t first = task * ATTN_PANEL, left = linear->weight.n_col - first;

    (void)worker;
    packing->kernels->make_tiles(&linear->weight, first, left < ATTN_PANEL ? left : ATTN_PANEL,
                                 (char *)linear->packed + task * linear->tile_step);
}

void attn_linear_pack(struct attn_linear *linear, const struct attn_kernels *kernels,
                      struct attn_pool *pool)
{
    struct packing packing = {
        .linear = linear, .kernels = kernels, .panels = attn_panels_split(linear->weight.n_col)};

    if (is_tiled(linear, linear->packed_for)) {
        linear->tiled_by = kernels;
        linear->tile_step = find_tile_step(linear, kernels);
        if (linear->tile_step > 0)
            attn_pool_run(pool, packing.panels.n_panel, make_tiles, &packing);
        return;
    }
    linear->is_sliced = attn_panel_slice(kernels, linear->packed_for, ATTN_PANEL, 1) > 0;
    attn_pool_run(pool, packing.panels.n_panel, pack_panel, &packing);
}

/* --- Running --------------------------------------------------------------------------------- */

/* A panel in either number format, a bias, and a tile for a panel with padding columns. */
size_t attn_linear_scratch(const struct attn_linear *linear)
{
    return (depth_of(linear, ATTN_COMPUTE_BF16) + 1) * ATTN_PANEL +
           (size_t)ATTN_GEMM_MOST_ROWS * ATTN_PANEL_PADDED;
}

/* Allows for pieces of the depth that are longer than PACKED_DEPTH by half. */
size_t attn_linear_scratch_transposed(const struct attn_linear *linear)
{
    const size_t most = PACKED_DEPTH * 3 / 2, n_col = linear->weight.n_col;

    return (n_col < most ? n_col : most) * ATTN_PANEL + ATTN_PANEL +
           (size_t)ATTN_GEMM_MOST_ROWS * ATTN_PANEL_PADDED;
}

/* One linear map, cut into tasks. */
struct split_map {
    const struct attn_linear *linear;
    const struct attn_linear_args *args;
    struct attn_panels panels;
    size_t tile, n_tile; /* rows of a tile, of which the last may have fewer; number of tiles */
    size_t n_chunk;      /* number of tasks that share a panel; each has its own tiles */
    size_t depth;        /* depth of a panel */
    size_t n_piece;      /* number of pieces that the depth is cut into */
    size_t piece_step;   /* pieces have a multiple of this many rows, except for the last one */
    size_t size;         /* bytes of an element of a panel */
    size_t n_task;
};

/* The maps of one call. Their tasks are numbered one after the other, and cut into ranges. Each
 * worker processes one, so that it reads adjacent panels, then helps with the others. */
struct split_maps {
    struct split_map maps[ATTN_LINEAR_MOST];
    size_t n, n_task, n_range;
    struct {
        /* Tasks that its worker took from the front; in the upper half, others from the back. */
        _Alignas(ATTN_ALIGNMENT) atomic_uint_least64_t taken;
    } ranges[MOST_RANGES];
};

static size_t slice_of(const struct split_map *map, size_t width, size_t n_row)
{
    return attn_panel_slice(map->args->engine->kernels, map->args->compute, width, n_row);
}

/* One panel [n_in, width] with stride lda, of which n_col columns exist and the others are padding.
 */
struct strip {
    const char *a;     /* the panel, float32 or bfloat16; NULL: its pieces are packed one by one */
    const char *next;  /* the panel that this worker will probably process next; NULL: unknown */
    const float *bias; /* NULL: no bias */
    float *packed;     /* the buffer for packed pieces */
    float *padded;     /* [tile, width] results of a panel with padding columns */
    size_t column;     /* its first column, counted from first_col */
    size_t lda, slice, width, n_col; /* lda and slice as in struct attn_gemm_shape */
    bool is_ahead;                   /* prefetching the next piece pays */
};

/* Returns a panel of the transposed weight inside the weight, and its stride in *LDA; NULL if it
 * must be packed. Each row of the panel is a column of the weight, whose numbers must be adjacent.
 */
static const char *find_transposed(const struct split_map *map, size_t panel, size_t *lda)
{
    const struct attn_matrix *w = &map->linear->weight;
    const size_t first = map->args->first_col + attn_panel_first(&map->panels, panel);
    const size_t width = attn_panel_width(&map->panels, panel);

    *lda = width;
    if (map->args->n_row >= PACK_FROM || w->dtype != ATTN_DTYPE_F32 || w->row_stride != 1 ||
        w->is_interleaved || w->group != w->n_col || w->col_stride < width ||
        width != attn_panel_n_col(&map->panels, panel) || (uintptr_t)w->data % _Alignof(float) != 0)
        return NULL;
    *lda = w->col_stride;
    return (const char *)w->data + first * map->size;
}

/* Returns a panel inside the packed weight or the weight itself, and its stride in *LDA; NULL if it
 * must be packed. */
static const char *find_panel(const struct split_map *map, size_t panel, size_t *lda, size_t *slice)
{
    const struct attn_matrix *w = &map->linear->weight;
    const size_t first = map->args->first_col + attn_panel_first(&map->panels, panel);
    const size_t n_col = attn_panel_n_col(&map->panels, panel);
    const size_t width = attn_panel_width(&map->panels, panel);
    const enum attn_isa isa = map->args->engine->kernels->isa;
    const struct attn_linear *linear = map->linear;
    const char *data = w->data;

    *slice = 0;
    if (map->args->is_transposed)
        return find_transposed(map, panel, lda);
    *lda = width;
    if (linear->packed && linear->packed_for == map->args->compute && !linear->tiled_by &&
        (!linear->is_sliced || isa == ATTN_ISA_AVX2)) {
        const struct attn_panels all = attn_panels_split(w->n_col);
        const size_t p = attn_panel_find(&all, first);

        if (attn_panel_first(&all, p) == first && attn_panel_n_col(&all, p) == n_col) {
            *slice = linear->is_sliced ? slice_of(map, width, map->depth) : 0;
            *lda = *slice > 0 ? ATTN_SLICE : width;
            return (const char *)linear->packed + first * column_bytes(linear, linear->packed_for);
        }
    }
    if (map->args->compute != ATTN_COMPUTE_F32 ||
        map->args->n_row >= (isa == ATTN_ISA_AVX2 ? PACK_FROM_AVX2 : PACK_FROM) ||
        w->dtype != ATTN_DTYPE_F32 || w->col_stride != 1 || w->is_interleaved || width != n_col ||
        first % w->group + n_col > w->group || (uintptr_t)w->data % _Alignof(float) != 0 ||
        w->row_stride < width)
        return NULL;
    *lda = w->row_stride;
    return data + (first / w->group * w->group_stride + first % w->group) * map->size;
}

/* Whether panels that must be packed are packed one piece at a time. */
static bool packs_pieces(const struct split_map *map)
{
    return map->args->is_transposed || (map->args->compute == ATTN_COMPUTE_F32 &&
                                        attn_dtype_block(map->linear->weight.dtype) > 1);
}

/* A piece of the depth. All rows are multiplied by it before the next piece. */
struct pass {
    const char *a; /* the start of the piece in the strip */
    const char *x; /* the start of the piece in row 0 of x */
    size_t first, k, ldx, slice;
    bool is_continued;
};

static struct pass find_pass(const struct split_map *map, const struct strip *strip, size_t piece)
{
    const struct attn_linear_args *args = map->args;
    const bool is_f32 = args->compute == ATTN_COMPUTE_F32;
    const char *x = is_f32 ? (const char *)args->x : (const char *)args->rounded;
    const size_t n_step = map->depth / map->piece_step;
    const size_t first = n_step * piece / map->n_piece * map->piece_step;
    const bool is_end = piece + 1 == map->n_piece;
    const size_t last = is_end ? map->depth : n_step * (piece + 1) / map->n_piece * map->piece_step;

    return (struct pass){.a = strip->a ? strip->a + first * strip->lda * map->size : NULL,
                         .first = first,
                         .slice = strip->slice,
                         .x = x + first * map->size,
                         .k = last - first,
                         .ldx = is_f32 ? args->ldx : map->depth,
                         .is_continued = piece > 0 || args->is_continued};
}

/* A tile: rows ROW to ROW+n_row-1, multiplied by a strip. */
struct tile {
    size_t row, n_row;
    const char *next;    /* prefetched during the product; NULL: nothing */
    size_t part, n_part; /* prefetches part number `part` of n_part */
};

static void multiply(const struct split_map *map, const struct strip *strip,
                     const struct pass *pass, const struct tile *tile)
{
    const struct attn_linear_args *args = map->args;
    const bool is_padded = strip->width != strip->n_col;
    const struct attn_gemm_shape shape = {.m = strip->width,
                                          .n = tile->n_row,
                                          .k = pass->k,
                                          .lda = pass->slice > 0 ? ATTN_SLICE : strip->lda,
                                          .slice = pass->slice,
                                          .ldb = pass->ldx,
                                          .ldc = is_padded ? strip->width : args->ldy,
                                          .is_continued = pass->is_continued,
                                          .is_bf16 = args->compute != ATTN_COMPUTE_F32,
                                          .is_ahead = tile->next,
                                          .part = tile->part,
                                          .n_part = tile->n_part};
    const struct attn_gemm_kernel kernel = attn_gemm_kernel_find(args->engine, &shape);
    const char *x = pass->x + tile->row * pass->ldx * map->size;
    float *y = is_padded ? strip->padded : args->y + tile->row * args->ldy + strip->column;

    if (shape.is_ahead)
        attn_gemm_kernel_run_ahead(&kernel, pass->a, x, y, tile->next);
    else
        attn_gemm_kernel_run(&kernel, pass->a, x, y, 1);
}

/* Starts the sums of a tile with padding columns: at 0, or for a continued product, at the values
 * in y. */
static void begin_padded(const struct split_map *map, const struct strip *strip,
                         const struct tile *tile)
{
    const struct attn_linear_args *args = map->args;

    for (size_t i = 0; strip->width != strip->n_col && i < tile->n_row; i++) {
        float *row = strip->padded + i * strip->width;

        memset(row, 0, strip->width * sizeof *row);
        memcpy(row, args->y + (tile->row + i) * args->ldy + strip->column,
               strip->n_col * sizeof *row);
    }
}

/* Applies the steps after the product: bias, activation and sum. */
static void finish_tile(const struct split_map *map, const struct strip *strip, size_t row,
                        size_t n_row)
{
    const struct attn_linear_args *args = map->args;
    float *y = args->y + row * args->ldy + strip->column;
    const struct attn_finish finish = {
        .bias = strip->bias,
        .has_activation = args->has_activation,
        .activation = args->activation,
        .sum = args->sum ? args->sum + row * args->ldy + strip->column : NULL,
        .ld = args->ldy};

    for (size_t i = 0; strip->width != strip->n_col && i < n_row; i++)
        memcpy(y + i * args->ldy, strip->padded + i * strip->width, strip->n_col * sizeof *y);
    if (!finish.bias && !finish.has_activation && !finish.sum && !args->is_violated)
        return;
    if (!args->engine->kernels->finish(&finish, y, n_row, strip->n_col) && args->is_violated)
        atomic_store_explicit(args->is_violated, true, memory_order_relaxed);
}

/* Returns the tiles of the weight of MAP; NULL if it has none for the kernels that run. */
static char *find_tiles(const struct split_map *map)
{
    const struct attn_linear *linear = map->linear;

    return linear->tile_step > 0 && linear->tiled_by == map->args->engine->kernels ? linear->packed
                                                                                   : NULL;
}

/* Returns the bytes of 64 columns of MAP's weight before row FIRST: a multiple of 256. */
static size_t bytes_before(const struct split_map *map, size_t first)
{
    const enum attn_dtype dtype = map->linear->weight.dtype;

    return find_tiles(map) ? map->args->engine->kernels->tiles_size(dtype, first)
                           : ATTN_PANEL * attn_dtype_n_byte(dtype, first);
}

/* Returns the weight, with its tiles if it has them, which begin at row FIRST: a multiple of 256.
 */
static struct attn_matrix find_blocks(const struct split_map *map, size_t first)
{
    struct attn_matrix blocks = map->linear->weight;

    blocks.tiles = find_tiles(map);
    if (blocks.tiles) {
        blocks.tiles = (char *)blocks.tiles + bytes_before(map, first);
        blocks.tile_step = map->linear->tile_step;
    }
    return blocks;
}

static void pack_piece(const struct split_map *map, const struct strip *strip, struct pass *pass)
{
    const struct attn_matrix_part part = {.row = map->args->first_col + strip->column,
                                          .n_row = strip->n_col,
                                          .col = pass->first,
                                          .n_col = pass->k};
    struct attn_matrix piece = find_blocks(map, pass->first);

    pass->a = (const char *)strip->packed;
    if (map->args->is_transposed) {
        attn_panel_pack_transposed(&piece, map->args->engine->kernels, &part, strip->packed);
        return;
    }
    piece.data = (const char *)piece.data + attn_dtype_n_byte(piece.dtype, pass->first);
    piece.n_row = pass->k;
    if (strip->next)
        piece.next = strip->next + bytes_before(map, pass->first);
    attn_panel_pack(&piece, map->args->engine->kernels, map->args->compute,
                    map->args->first_col + strip->column, strip->n_col, strip->packed);
    pass->slice = slice_of(map, strip->width, pass->k);
}

/* Multiplies a few rows, one tile, by a full-width strip of a type with blocks, without packing. */
static void multiply_blocks(const struct split_map *map, const struct strip *strip)
{
    const struct attn_linear_args *args = map->args;
    const struct attn_gemm_shape shape = {
        .n = args->n_row, .ldb = args->ldx, .ldc = args->ldy, .is_continued = args->is_continued};
    struct attn_matrix blocks = find_blocks(map, 0);

    blocks.next = strip->next;
    args->engine->kernels->multiply_blocks(&blocks, args->first_col + strip->column, &shape,
                                           args->x, args->y + strip->column);
    finish_tile(map, strip, 0, args->n_row);
}

/* Multiplies the tiles BEGIN to END-1 by a strip. */
static void multiply_strip(const struct split_map *map, const struct strip *strip, size_t begin,
                           size_t end)
{
    const size_t n_row = map->args->n_row;
    const size_t most = map->args->compute == ATTN_COMPUTE_F32 ? PREFETCHING : 1;
    const size_t n_part = end - begin < most ? end - begin : most;

    if (n_row <= ATTN_FEW_ROWS && !strip->a && strip->n_col == ATTN_PANEL &&
        !map->args->is_transposed) {
        multiply_blocks(map, strip);
        return;
    }
    for (size_t i = 0; i < map->n_piece; i++) {
        struct pass pass = find_pass(map, strip, i);
        const bool is_last = i + 1 == map->n_piece;

        if (!pass.a)
            pack_piece(map, strip, &pass);
        for (size_t t = begin; t < end; t++) {
            struct tile tile = {.row = t * map->tile};

            tile.n_row = n_row - tile.row < map->tile ? n_row - tile.row : map->tile;
            if (t + n_part >= end && strip->is_ahead) {
                tile.next = is_last ? strip->next : find_pass(map, strip, i + 1).a;
                tile.part = t + n_part - end;
                tile.n_part = n_part;
            }
            if (i == 0 && map->args->is_continued)
                begin_padded(map, strip, &tile);
            multiply(map, strip, &pass, &tile);
            if (is_last)
                finish_tile(map, strip, tile.row, tile.n_row);
        }
    }
}

/* Returns the map that task number *TASK belongs to, and sets *TASK to its number within this map.
 * Returns NULL after the last task. */
static const struct split_map *find_map(const struct split_maps *maps, size_t *task)
{
    for (size_t i = 0; i < maps->n; i++) {
        if (*task < maps->maps[i].n_task)
            return &maps->maps[i];
        *task -= maps->maps[i].n_task;
    }
    return NULL;
}

/* Returns the panel, the blocks or the tiles that the worker of TASK will probably use next, to be
 * prefetched. A panel must have the layout of STRIP. NULL if there are none. */
static const char *find_next(const struct split_maps *maps, size_t task, size_t next,
                             const struct strip *strip)
{
    size_t lda, slice, panel, column;
    const struct split_map *here = find_map(maps, &task), *map = find_map(maps, &next);
    const struct attn_matrix *w;
    const char *a, *tiles;

    if (!map || (map == here && next / map->n_chunk == task / map->n_chunk))
        return NULL;
    panel = next / map->n_chunk;
    if (!strip->a) {
        w = &map->linear->weight;
        column = map->args->first_col + attn_panel_first(&map->panels, panel);
        tiles = find_tiles(map);
        return tiles ? tiles + column / ATTN_PANEL * map->linear->tile_step
                     : (const char *)w->data +
                           attn_dtype_n_byte(w->dtype, attn_matrix_column_at(w, column));
    }
    a = find_panel(map, panel, &lda, &slice);
    return a && lda == strip->lda ? a : NULL;
}

/* y [n] = elements first .. first+n-1 of BIAS. */
static void read_bias(const struct attn_kernels *kernels, const struct attn_vector *bias,
                      size_t first, size_t n, float *y)
{
    for (size_t i = 0, n_run; i < n; i += n_run) {
        const size_t group = (first + i) / bias->group, in_group = (first + i) % bias->group;
        const size_t at =
            group * bias->group_stride +
            (bias->is_interleaved ? attn_interleaved(in_group, bias->group) : in_group);

        n_run = bias->group - in_group < n - i ? bias->group - in_group : n - i;
        n_run = bias->is_interleaved ? 1 : n_run;
        kernels->convert((const char *)bias->data + attn_dtype_n_byte(bias->dtype, at), bias->dtype,
                         n_run, y + i);
    }
}

/* Processes TASK; NEXT is the one that follows on this worker. */
static void run_task(const struct split_maps *maps, size_t task, size_t next, int worker)
{
    size_t index = task;
    const struct split_map *map = find_map(maps, &index);
    const struct attn_linear_args *args = map->args;
    const struct attn_matrix *w = &map->linear->weight;
    const struct attn_vector *b = &map->linear->bias;
    const size_t panel = index / map->n_chunk, chunk = index % map->n_chunk;
    float *padded = args->scratch[worker];
    float *bias = padded + (size_t)ATTN_GEMM_MOST_ROWS * ATTN_PANEL_PADDED;
    /* At the end of the scratch: not needed for panels that are packed already. */
    float *packed = bias + ATTN_PANEL;
    struct strip strip = {.column = attn_panel_first(&map->panels, panel),
                          .width = attn_panel_width(&map->panels, panel),
                          .n_col = attn_panel_n_col(&map->panels, panel),
                          .packed = packed,
                          .padded = padded};
    const size_t first = args->first_col + strip.column;
    size_t begin, end, step;

    assert(padded);
    strip.a = find_panel(map, panel, &strip.lda, &strip.slice);
    if (!strip.a && !packs_pieces(map)) {
        attn_panel_pack(w, args->engine->kernels, args->compute, first, strip.n_col, packed);
        strip.a = (const char *)packed;
        strip.slice = slice_of(map, strip.width, map->depth);
        strip.lda = strip.slice > 0 ? ATTN_SLICE : strip.width;
    } else if (strip.a && args->n_row >= AHEAD_FROM &&
               (strip.lda <= strip.width || args->n_row <= AHEAD_IN_PLACE_TO)) {
        strip.is_ahead = true;
        strip.next = find_next(maps, task, next, &strip);
    } else if (!strip.a && !args->is_transposed) {
        strip.next = find_next(maps, task, next, &strip);
    }
    if (b->data && !args->is_transposed) {
        read_bias(args->engine->kernels, b, first, strip.n_col, bias);
        strip.bias = bias;
    }
    /* `padded` holds only one tile, so a panel with padding columns is done one tile at a time. */
    begin = map->n_tile * chunk / map->n_chunk;
    end = map->n_tile * (chunk + 1) / map->n_chunk;
    step = strip.width != strip.n_col ? 1 : end - begin;
    for (size_t t = begin; t < end; t += step)
        multiply_strip(map, &strip, t, t + step);
}

static size_t count_taken(uint64_t taken)
{
    return (uint32_t)taken + (taken >> 32);
}

/* Processes the tasks of range OWN, then those that are left of other ranges. With few rows it
 * leaves the last task of a range to that range's worker, which has prefetched its panel. */
static void run_range(void *context, size_t own, int worker)
{
    struct split_maps *maps = context;
    const struct attn_linear_args *args = maps->maps[0].args;

    for (size_t i = 0, n = maps->n_range; i < n; i++) {
        const size_t range = (own + i) % n, end = maps->n_task * (range + 1) / n;
        const size_t begin = maps->n_task * range / n;
        atomic_uint_least64_t *taken = &maps->ranges[range].taken;
        const uint64_t one = i == 0 ? 1 : UINT64_C(1) << 32;
        const bool is_left = i > 0 && args->n_row <= ATTN_FEW_ROWS;

        while (begin + count_taken(atomic_load(taken)) + is_left < end) {
            const uint64_t before = atomic_fetch_add(taken, one);
            const size_t task = i == 0 ? begin + (uint32_t)before : end - 1 - (before >> 32);

            if (begin + count_taken(before) < end)
                run_task(maps, task, i == 0 && task + 1 < end ? task + 1 : maps->n_task, worker);
        }
    }
    if (args->compute != ATTN_COMPUTE_F32)
        attn_gemm_release(args->engine); /* releases tiles, because this worker may go to sleep */
}

/* Rounds some rows of x, the common input of all maps, to bfloat16. */
static void round_rows(void *context, size_t task, int worker)
{
    const struct split_maps *maps = context;
    const struct attn_linear_args *args = maps->maps[0].args;
    const size_t n_in = args->linear->weight.n_row, ld = maps->maps[0].depth;
    const size_t first = task * ROUNDED;

    (void)worker;
    for (size_t i = first; i < first + ROUNDED && i < args->n_row; i++) {
        uint16_t *row = args->rounded + i * ld;

        args->engine->kernels->round_bf16(args->x + i * args->ldx, n_in, row);
        if (ld > n_in)
            row[n_in] = 0;
    }
}

static void plan(struct split_map *map, const struct attn_linear *linear,
                 const struct attn_linear_args *args, size_t n_thread)
{
    const struct attn_gemm_rows rows =
        attn_gemm_rows(args->engine, args->compute != ATTN_COMPUTE_F32);
    const size_t n_in = args->is_transposed ? linear->weight.n_col : linear->weight.n_row;
    const size_t n_out = args->is_transposed ? linear->weight.n_row : linear->weight.n_col;
    size_t even;

    *map = (struct split_map){.linear = linear,
                              .args = args,
                              .panels = attn_panels_split(args->last_col - args->first_col),
                              .depth = attn_panel_depth(n_in, args->compute),
                              .size = attn_panel_element(args->compute),
                              .n_chunk = 1};
    assert(args->first_col <= args->last_col && args->last_col <= n_out);
    assert(!args->is_transposed || args->compute == ATTN_COMPUTE_F32);
    if (args->n_row == 0 || map->panels.n_panel == 0)
        return;
    /* Make tiles nearly equally tall, so no small last tile runs at a fraction of the speed. */
    map->n_tile = (args->n_row + rows.most - 1) / rows.most;
    even = (args->n_row + map->n_tile - 1) / map->n_tile;
    map->tile = (even + rows.step - 1) / rows.step * rows.step;
    map->n_tile = (args->n_row + map->tile - 1) / map->tile;
    map->n_piece = (map->depth * map->size + DEPTH_BYTES - 1) / DEPTH_BYTES;
    map->piece_step = ATTN_TILE_DEPTH;
    if (packs_pieces(map)) {
        map->n_piece = (map->depth + PACKED_DEPTH - 1) / PACKED_DEPTH;
        map->piece_step = PACKED_DEPTH / 2;
    }
    if (n_thread > 1 && map->panels.n_panel < TASKS_EACH * n_thread)
        map->n_chunk = (TASKS_EACH * n_thread + map->panels.n_panel - 1) / map->panels.n_panel;
    if (map->n_chunk > map->n_tile)
        map->n_chunk = map->n_tile;
    map->n_task = map->panels.n_panel * map->n_chunk;
}

void attn_linear_run(const struct attn_linear_args *args, size_t n, struct attn_pool *pool)
{
    const size_t n_thread = (size_t)attn_pool_n_thread(pool);
    struct split_maps maps = {.n = n};
    size_t n_worker;

    assert(n >= 1 && n <= ATTN_LINEAR_MOST);
    for (size_t i = 0; i < n; i++) {
        plan(&maps.maps[i], args[i].linear, &args[i], n_thread);
        maps.n_task += maps.maps[i].n_task;
    }
    n_worker = maps.n_task < n_thread ? maps.n_task : n_thread;
    maps.n_range = n_worker < MOST_RANGES ? n_worker : MOST_RANGES;
    if (args->compute != ATTN_COMPUTE_F32) /* all maps share one x */
        attn_pool_run(pool, (args->n_row + ROUNDED - 1) / ROUNDED, round_rows, &maps);
    attn_pool_run(pool, n_worker, run_range, &maps);
}

enum attn_status attn_linear_run_alone(struct attn_linear_args *args, size_t n,
                                       struct attn_pool *pool, struct attn_error *err)
{
    const size_t n_thread = (size_t)attn_pool_n_thread(pool);
    size_t n_most = 0;

    for (size_t i = 0; i < n; i++) {
        const size_t needed = args[i].is_transposed ? attn_linear_scratch_transposed(args[i].linear)
                                                    : attn_linear_scratch(args[i].linear);

        n_most = needed > n_most ? needed : n_most;
    }
    n_most = (n_most + 15) / 16 * 16; /* keeps them aligned */
    float *scratch = attn_alloc(n_thread, n_most * sizeof *scratch, err);
    float **scratches = attn_alloc(n_thread, sizeof *scratches, err);
    const bool has_memory = scratch && scratches;

    for (size_t i = 0; has_memory && i < n_thread; i++)
        scratches[i] = scratch + i * n_most;
    for (size_t i = 0; i < n; i++)
        args[i].scratch = scratches;
    if (has_memory)
        attn_linear_run(args, n, pool);
    attn_free(scratch);
    attn_free(scratches);
    return has_memory ? ATTN_OK : ATTN_NO_MEMORY;
}
