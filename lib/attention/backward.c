/*
 * backward.c - see backward.h. A tile of queries goes back line by line, and adds what it has to
 * its keys; then heads are added.
 *
 * Of keys that a row does not see the pattern is +0, and so is all that is made of it: those terms
 * change no sum but, maybe, the sign of a zero. So sums are canonical: adding +0 turns -0 into +0.
 */
#include "attention/backward.h"

#include "attention/tile.h"
#include "base/pool_internal.h"
#include "kernels/panels.h"

#include <math.h>
#include <string.h>

enum {
    HALF_BLOCK = ATTN_PANEL / 2, /* keys in a piece */
    WATCHED_BYTES = 64 << 20,    /* watched matrices held at a time, if one tile fits: */
    FEW_WATCHED_BYTES = 8 << 20, /* this much, or if that is more, a head of each worker */
    KEYS_AT_ONCE = 16,           /* whose sums are turned round together */
};

static const float zeros[ATTN_PANEL];

/* The matrices that can be watched, in the order in which they are emitted. */
static const enum attn_site watched_sites[] = {ATTN_SITE_PATTERN, ATTN_SITE_PATTERN_GRAD,
                                               ATTN_SITE_PATTERN_X_GRAD, ATTN_SITE_ATTN_SCORES_GRAD,
                                               ATTN_SITE_QK_GRAD};
enum { N_WATCHED_SITE = sizeof watched_sites / sizeof *watched_sites };

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* Floats from one row of a tile, or of sums over queries, to the next; off the multiples of 4 KiB
 * that crowd one cache set. */
static size_t ld_keys(const struct attn_head_shape *shape)
{
    return round_up(shape->n_max, ATTN_PANEL) + 16;
}

/* The shape of attention with keys in the place of values. */
static struct attn_head_shape turned_shape(const struct attn_head_shape *shape)
{
    struct attn_head_shape turned = *shape;

    turned.d_head = shape->d_value;
    turned.d_value = shape->d_head;
    return turned;
}

/* --- memory ----------------------------------------------------------------------------------- */

attn_site_set attn_heads_back_watched(const struct attn_selection *selection, int layer)
{
    attn_site_set watched = 0;

    for (size_t i = 0; i < N_WATCHED_SITE; i++)
        if (attn_selection_wants(selection, watched_sites[i], layer))
            watched |= ATTN_SITE_BIT(watched_sites[i]);
    return watched;
}

/* Where a worker has what of a tile. */
struct tile_scratch {
    float *p, *d, *x; /* [tile, ld] pattern; its gradient and what follows; scaled products */
    float *sums;      /* [tile, attn_kv_ld_value of the turned shape] dq */
    float *columns;   /* [E or Ev, tile] rows of q or dz turned round */
    int32_t *list;    /* cells */
};

static size_t divide_scratch(const struct attn_head_shape *shape, float *scratch,
                             struct tile_scratch *parts)
{
    const struct attn_head_shape turned = turned_shape(shape);
    const size_t n_cell = ATTN_QUERY_TILE * ld_keys(shape);
    const size_t widest = shape->d_head > shape->d_value ? shape->d_head : shape->d_value;
    const size_t n_sum = ATTN_QUERY_TILE * attn_kv_ld_value(&turned);
    const size_t n_column = round_up(widest * ATTN_QUERY_TILE, 16);

    if (scratch) {
        parts->p = scratch;
        parts->d = scratch + n_cell;
        parts->x = scratch + 2 * n_cell;
        parts->sums = scratch + 3 * n_cell;
        parts->columns = parts->sums + n_sum;
        parts->list = (void *)(parts->columns + n_column);
    }
    /* More than the sums of KEYS_AT_ONCE keys take, which are turned round there. */
    return 3 * n_cell + n_sum + n_column;
}

void attn_heads_back_plan(struct attn_heads_back_memory *memory, struct attn_arena *arena,
                          const struct attn_heads_back_sizes *sizes)
{
    const struct attn_head_shape *shape = &sizes->heads.shape, turned = turned_shape(shape);
    const size_t n = sizes->heads.n_query, n_head = sizes->heads.n_head, ld = ld_keys(shape);
    const size_t n_worker = (size_t)sizes->heads.n_worker;
    const size_t all = attn_size_mul(attn_size_mul(n, n), sizes->n_watched);
    const size_t of_worker = attn_size_mul(attn_size_mul(n, n), N_WATCHED_SITE);
    size_t n_list = 0, limit = attn_size_mul(of_worker, n_worker);

    for (size_t i = 0; i < sizes->n_layer; i++) {
        const size_t size = attn_tile_list_size(&sizes->attention[i], n);

        n_list = size > n_list ? size : n_list;
    }
    if (limit < FEW_WATCHED_BYTES / sizeof(float))
        limit = FEW_WATCHED_BYTES / sizeof(float);
    if (limit > WATCHED_BYTES / sizeof(float))
        limit = WATCHED_BYTES / sizeof(float);
    if (limit < (size_t)N_WATCHED_SITE * ATTN_QUERY_TILE * n)
        limit = (size_t)N_WATCHED_SITE * ATTN_QUERY_TILE * n;
    memory->kv = attn_kv_plan(arena, shape, sizes->heads.n_kv_head, 0);
    memory->turned = attn_kv_plan(arena, &turned, sizes->heads.n_kv_head, 0);
    memory->dk = attn_arena_take(arena, n_head * shape->d_head, ld * sizeof(float));
    memory->dv = attn_arena_take(arena, n_head * shape->d_value, ld * sizeof(float));
    memory->n_watched = all < limit ? all : limit;
    memory->watched = attn_arena_take(arena, memory->n_watched, sizeof(float));
    memory->list = attn_arena_take(arena, n_head, sizeof *memory->list);
    memory->scratch = attn_arena_take(arena, n_worker, sizeof *memory->scratch);
    for (size_t i = 0; i < n_worker; i++) {
        float *scratch =
            attn_arena_take(arena, divide_scratch(shape, NULL, NULL) + n_list, sizeof *scratch);

        if (memory->scratch)
            memory->scratch[i] = scratch;
    }
    if (memory->kv) { /* no sum may meet what lay there before */
        attn_kv_clear(memory->kv, shape, sizes->heads.n_kv_head);
        attn_kv_clear(memory->turned, &turned, sizes->heads.n_kv_head);
    }
}

/* --- products --------------------------------------------------------------------------------- */

/* c [n, m] = b [n, k] a [k, m], or c + that: COUNT blocks of K, one after the other. */
struct product {
    const float *a, *b;
    float *c;
    size_t m, n, k, count;
    size_t lda, ldb, ldc;
    bool is_continued;
};

static void multiply(const struct attn_gemm_engine *engine, const struct product *product)
{
    const struct attn_gemm_shape shape = {.m = product->m,
                                          .n = product->n,
                                          .k = product->k,
                                          .lda = product->lda,
                                          .ldb = product->ldb,
                                          .ldc = product->ldc,
                                          .step_a = product->k * product->lda,
                                          .step_b = product->k,
                                          .is_continued = product->is_continued};
    const struct attn_gemm_kernel kernel = attn_gemm_kernel_find(engine, &shape);

    attn_gemm_kernel_run(&kernel, product->a, product->b, product->c, product->count);
}

/* What a tile is computed from. */
struct tile_work {
    const struct attn_heads_back *heads;
    struct attn_tile tile;
    struct attn_tile_cells cells;
    struct tile_scratch scratch;
    float *watched[N_WATCHED_SITE]; /* [n_row, n_key] each, or NULL */
    size_t ld;                      /* of rows of keys */
    size_t first, last;             /* keys that are computed: panels, of the last maybe half */
    const float *z, *dz;            /* [n_row, Ev], stride ldz */
    size_t ldz;
    size_t g; /* the key/value head */
};

/* c [n_row, keys] = rows [n_row, DEPTH], stride LD, times panels of keys. */
static void multiply_keys(const struct tile_work *work, const float *rows, size_t ld, size_t depth,
                          const float *panels, float *c)
{
    for (size_t s = work->first; s < work->last; s += ATTN_PANEL) {
        const struct product product = {.a = panels + s * depth,
                                        .b = rows,
                                        .c = c + s,
                                        .m = work->last - s < ATTN_PANEL ? HALF_BLOCK : ATTN_PANEL,
                                        .n = work->tile.n_row,
                                        .k = depth,
                                        .count = 1,
                                        .lda = ATTN_PANEL,
                                        .ldb = ld,
                                        .ldc = work->ld};

        multiply(work->heads->engine, &product);
    }
}

/* sums [DEPTH, keys] += rows^T c: the tile's queries, ascending, on the chains of their keys. */
static void add_to_keys(const struct tile_work *work, const float *rows, size_t ld, size_t depth,
                        const float *c, float *sums)
{
    const size_t n_row = work->tile.n_row;
    float *columns = work->scratch.columns;

    for (size_t i = 0; i < n_row; i++)
        for (size_t e = 0; e < depth; e++)
            columns[e * n_row + i] = rows[i * ld + e];
    for (size_t s = work->first; s < work->last; s += ATTN_PANEL)
        for (size_t e = 0; e < depth; e += ATTN_GEMM_MOST_ROWS) {
            const size_t left = depth - e;
            const struct product product = {
                .a = c + s,
                .b = columns + e * n_row,
                .c = sums + e * work->ld + s,
                .m = work->last - s < ATTN_PANEL ? HALF_BLOCK : ATTN_PANEL,
                .n = left < ATTN_GEMM_MOST_ROWS ? left : ATTN_GEMM_MOST_ROWS,
                .k = n_row,
                .count = 1,
                .lda = work->ld,
                .ldb = n_row,
                .ldc = work->ld,
                .is_continued = true};

            multiply(work->heads->engine, &product);
        }
}

/* --- a tile ----------------------------------------------------------------------------------- */

/* Panels from the first to the last key that a row of the tile sees: at least half of one. */
static void choose_panels(struct tile_work *work)
{
    size_t first = work->tile.n_key, last = 0;

    for (size_t i = 0; i < work->tile.n_row; i++) {
        const size_t n = work->cells.n[i];
        const int32_t *keys = work->cells.keys ? work->cells.keys + i * work->cells.ld : NULL;
        const size_t begin = keys && n > 0 ? (size_t)keys[0] : 0;
        const size_t end = keys && n > 0 ? (size_t)keys[n - 1] + 1 : n;

        first = n > 0 && begin < first ? begin : first;
        last = end > last ? end : last;
    }
    work->first = last == 0 ? 0 : first / ATTN_PANEL * ATTN_PANEL;
    work->last = last == 0 ? HALF_BLOCK : round_up(last, HALF_BLOCK);
}

/* Sets the computed cells of row I of X that are masked. */
static void fill_masked(const struct tile_work *work, size_t i, float value, float *x)
{
    const struct attn_tile_cells *cells = &work->cells;
    float *row = x + i * work->ld;
    size_t column = !cells->keys ? cells->n[i] : work->first;

    for (size_t j = 0; cells->keys && j < cells->n[i]; j++, column++)
        for (; column < (size_t)cells->keys[i * cells->ld + j]; column++)
            row[column] = value;
    for (; column < work->last; column++)
        row[column] = value;
}

/* p = softmax(cap(q k^T * scale)), as forwards; x = q k^T * scale where there is a cap. */
static void make_pattern(const struct tile_work *work)
{
    const struct attn_head_shape *shape = work->heads->shape;
    const struct attn_kernels *kernels = work->heads->engine->kernels;
    const float scale = attn_tile_scale(&work->tile), cap = attn_tile_score_cap(&work->tile);
    const size_t n = work->last - work->first;
    const bool is_listed = work->cells.keys;

    multiply_keys(work, work->tile.q, shape->ldq, shape->d_head, work->tile.kv->keys,
                  work->scratch.p);
    for (size_t i = 0; i < work->tile.n_row; i++) {
        float *row = work->scratch.p + i * work->ld + work->first;

        if (cap > 0) {
            kernels->scale(row, scale, n, row);
            memcpy(work->scratch.x + i * work->ld + work->first, row, n * sizeof *row);
            kernels->soft_cap(row, n, cap);
        }
        if (is_listed)
            fill_masked(work, i, -INFINITY, work->scratch.p);
        kernels->softmax(row, is_listed ? n : work->cells.n[i], n, cap > 0 ? 1 : scale);
    }
}

/* What watchers of SITE get, of the pattern, of the tile's D, or of their product: whole rows, 0
 * where they are masked. */
static void keep(const struct tile_work *work, enum attn_site site)
{
    const size_t n = work->tile.n_key, last = work->last < n ? work->last : n;
    float *rows = NULL;

    for (size_t i = 0; i < N_WATCHED_SITE; i++)
        rows = watched_sites[i] == site ? work->watched[i] : rows;
    for (size_t i = 0; rows && i < work->tile.n_row; i++) {
        const float *d = work->scratch.d + i * work->ld, *p = work->scratch.p + i * work->ld;
        float *row = rows + i * n;

        memset(row, 0, work->first * sizeof *row);
        if (site == ATTN_SITE_PATTERN_X_GRAD)
            for (size_t j = work->first; j < last; j++)
                row[j] = p[j] * d[j] + 0;
        else
            memcpy(row + work->first, (site == ATTN_SITE_PATTERN ? p : d) + work->first,
                   (last - work->first) * sizeof *row);
        memset(row + last, 0, (n - last) * sizeof *row);
    }
}

/* From dz to dqk, in d. */
static void go_back(const struct tile_work *work)
{
    const struct attn_heads_back *heads = work->heads;
    const struct attn_kernels *kernels = heads->engine->kernels;
    const size_t d_value = heads->shape->d_value, n = work->last - work->first;
    const float scale = attn_tile_scale(&work->tile);
    const struct attn_cap_back cap = {attn_tile_score_cap(&work->tile),
                                      heads->rule != ATTN_BACKWARD_PLAIN};
    float *d = work->scratch.d + work->first, r[ATTN_QUERY_TILE];

    multiply_keys(work, work->dz, work->ldz, d_value, heads->memory->turned[work->g].keys,
                  work->scratch.d);
    for (size_t i = 0; i < work->tile.n_row; i++)
        fill_masked(work, i, 0, work->scratch.d);
    keep(work, ATTN_SITE_PATTERN);
    keep(work, ATTN_SITE_PATTERN_GRAD);
    keep(work, ATTN_SITE_PATTERN_X_GRAD);
    kernels->dots(work->dz, work->z, work->ldz, work->tile.n_row, d_value, r);
    for (size_t i = 0; i < work->tile.n_row; i++) {
        kernels->softmax_back(work->scratch.p + i * work->ld + work->first, r[i], d + i * work->ld,
                              n);
        fill_masked(work, i, 0, work->scratch.d); /* 0 times what is below 0 is -0 */
    }
    keep(work, ATTN_SITE_ATTN_SCORES_GRAD);
    for (size_t i = 0; i < work->tile.n_row; i++) {
        if (cap.cap > 0)
            kernels->soft_cap_back(&cap, work->scratch.x + i * work->ld + work->first,
                                   d + i * work->ld, n);
        kernels->scale(d + i * work->ld, scale, n, d + i * work->ld);
    }
    keep(work, ATTN_SITE_QK_GRAD);
}

/* dq = dqk k, for the rows of the tile. */
static void make_dq(const struct tile_work *work, float *dq)
{
    const struct attn_heads_back *heads = work->heads;
    const struct attn_head_shape turned = turned_shape(heads->shape);
    const size_t ld = attn_kv_ld_value(&turned), d_head = heads->shape->d_head;
    const struct attn_panels panels = attn_panels_split(d_head);
    const float factor = heads->rule == ATTN_BACKWARD_ATTNLRP ? 0.25F : 1;

    for (size_t p = 0; p < panels.n_panel; p++) {
        const size_t column = attn_panel_first(&panels, p);
        const struct product product = {.a = heads->memory->turned[work->g].values +
                                             work->first * ld + column,
                                        .b = work->scratch.d + work->first,
                                        .c = work->scratch.sums + column,
                                        .m = attn_panel_width(&panels, p),
                                        .n = work->tile.n_row,
                                        .k = HALF_BLOCK,
                                        .count = (work->last - work->first) / HALF_BLOCK,
                                        .lda = ld,
                                        .ldb = work->ld,
                                        .ldc = ld};

        multiply(heads->engine, &product);
    }
    for (size_t i = 0; i < work->tile.n_row; i++)
        for (size_t e = 0; e < d_head; e++)
            dq[i * heads->shape->ldq + e] = (work->scratch.sums[i * ld + e] + 0) * factor;
}

/* --- heads ------------------------------------------------------------------------------------ */

/* Heads whose watched matrices fit into the memory for them, or rows of one head. */
struct wave {
    const struct attn_heads_back *heads;
    const struct attn_layer_feed *feed;
    const int *list; /* [n_head] */
    size_t n_head;
    size_t first, n_row; /* a multiple of the tile */
    bool is_watched;
};

/* Where the matrix of SITE of the head at INDEX of the wave lies; NULL: it is not watched. */
static float *find_matrix(const struct wave *wave, size_t site, size_t index)
{
    const struct attn_heads_back *heads = wave->heads;
    size_t before = 0; /* matrices of sites */

    if (!wave->is_watched || !(heads->watched & ATTN_SITE_BIT(watched_sites[site])))
        return NULL;
    for (size_t i = 0; i < site; i++)
        before += (heads->watched & ATTN_SITE_BIT(watched_sites[i])) != 0;
    return heads->memory->watched + (before * wave->n_head + index) * wave->n_row * heads->n;
}

static void run_tile(const struct wave *wave, size_t index, size_t offset, int worker)
{
    const struct attn_heads_back *heads = wave->heads;
    const struct attn_head_shape *shape = heads->shape;
    const size_t row = wave->first + offset, rest = wave->n_row - offset;
    const size_t head = (size_t)wave->list[index], g = head / (heads->n_head / heads->n_kv_head);
    const size_t ldz = heads->n_head * shape->d_value, at = row * ldz + head * shape->d_value;
    const size_t ld = ld_keys(shape), at_q = row * shape->ldq + head * shape->d_head;
    struct tile_work work = {.heads = heads,
                             .tile = {.feed = wave->feed,
                                      .head = wave->list[index],
                                      .row0 = row,
                                      .n_row = rest < ATTN_QUERY_TILE ? rest : ATTN_QUERY_TILE,
                                      .n_key = heads->n,
                                      .q = heads->q + at_q,
                                      .kv = &heads->memory->kv[g]},
                             .ld = ld,
                             .z = heads->z + at,
                             .dz = heads->dz + at,
                             .ldz = ldz,
                             .g = g};

    for (size_t i = 0; i < N_WATCHED_SITE; i++) {
        float *matrix = find_matrix(wave, i, index);

        work.watched[i] = matrix ? matrix + offset * heads->n : NULL;
    }
    divide_scratch(shape, heads->memory->scratch[worker], &work.scratch);
    attn_tile_find_cells(&work.tile, work.scratch.list, &work.cells);
    choose_panels(&work);
    make_pattern(&work);
    go_back(&work);
    make_dq(&work, heads->dq + at_q);
    add_to_keys(&work, work.tile.q, shape->ldq, shape->d_head, work.scratch.d,
                heads->memory->dk + head * shape->d_head * ld);
    add_to_keys(&work, work.dz, ldz, shape->d_value, work.scratch.p,
                heads->memory->dv + head * shape->d_value * ld);
}

/* A task: the rows of a head, ascending, for they are added to the same sums. */
static void run_head(void *context, size_t task, int worker)
{
    const struct wave *wave = context;

    for (size_t row = 0; row < wave->n_row; row += ATTN_QUERY_TILE)
        run_tile(wave, task, row, worker);
}

static void emit_wave(const struct wave *wave)
{
    const struct attn_heads_back *heads = wave->heads;

    for (size_t i = 0; i < wave->n_head; i++)
        for (size_t site = 0; site < N_WATCHED_SITE; site++) {
            const float *matrix = find_matrix(wave, site, i);
            const struct attn_trace_event event = {.site = watched_sites[site],
                                                   .layer = heads->layer,
                                                   .head = wave->list[i],
                                                   .row0 = wave->first,
                                                   .n_row = wave->n_row,
                                                   .n_col = heads->n,
                                                   .ld = heads->n,
                                                   .data = matrix,
                                                   .is_causal =
                                                       heads->attention->mask == ATTN_MASK_CAUSAL &&
                                                       !attn_attention_is_listed(heads->attention)};

            if (matrix)
                heads->emit(heads->context, &event);
        }
}

static void run_wave(struct wave *wave)
{
    const struct attn_heads_back *heads = wave->heads;

    if (wave->n_head == 0 || heads->is_stopped(heads->context))
        return;
    attn_pool_run(heads->pool, wave->n_head, run_head, wave);
    if (wave->is_watched)
        emit_wave(wave);
}

/* All heads: those that are watched as many at a time as there is room for, then the others. */
static void run_heads(const struct attn_heads_back *heads, const struct attn_layer_feed *feed,
                      int *list)
{
    const size_t n_matrix = (size_t)__builtin_popcountll(heads->watched), n = heads->n;
    const size_t n_thread = (size_t)attn_pool_n_thread(heads->pool);
    struct wave wave = {.heads = heads, .feed = feed, .n_row = n, .is_watched = true};
    size_t n_fit = n_matrix == 0 ? 0 : heads->memory->n_watched / n_matrix / n; /* rows */
    int n_other = 0;

    for (int head = 0; head < (int)heads->n_head; head++)
        if (n_matrix > 0 && attn_selection_has_head(heads->selection, heads->layer, head))
            list[wave.n_head++] = head;
    for (size_t at = 0, n_watched = wave.n_head; at < n_watched; at += wave.n_head) {
        wave.list = list + at;
        wave.n_head = n_fit / n == 0 ? 1 : n_fit / n;
        wave.n_head -= wave.n_head > n_thread ? wave.n_head % n_thread : 0; /* none waits */
        wave.n_head = wave.n_head < n_watched - at ? wave.n_head : n_watched - at;
        n_fit = n_fit < ATTN_QUERY_TILE ? ATTN_QUERY_TILE : n_fit;
        for (wave.first = 0; wave.first < n; wave.first += wave.n_row) {
            wave.n_row = n_fit < n ? n_fit / ATTN_QUERY_TILE * ATTN_QUERY_TILE : n;
            wave.n_row = wave.n_row < n - wave.first ? wave.n_row : n - wave.first;
            run_wave(&wave);
        }
    }
    for (int head = 0; head < (int)heads->n_head; head++)
        if (n_matrix == 0 || !attn_selection_has_head(heads->selection, heads->layer, head))
            list[n_other++] = head;
    wave = (struct wave){
        .heads = heads, .feed = feed, .list = list, .n_head = (size_t)n_other, .n_row = n};
    run_wave(&wave);
}

/* --- keys ------------------------------------------------------------------------------------- */

/* A task: keys and values of a key/value head, as the products read them. */
static void pack_head(void *context, size_t g, int worker)
{
    const struct attn_heads_back *heads = context;
    const struct attn_head_shape *shape = heads->shape, turned = turned_shape(shape);
    const struct attn_kernels *kernels = heads->engine->kernels;
    struct attn_kv_rows rows = {.k = heads->v + g * shape->d_value,
                                .v = heads->k + g * shape->d_head,
                                .ldk = heads->n_kv_head * shape->d_value,
                                .ldv = heads->n_kv_head * shape->d_head,
                                .n = heads->n};

    (void)worker;
    kernels->pack_keys(rows.v, rows.ldv, rows.n, shape->d_head, 0, heads->memory->kv[g].keys);
    kernels->pack_keys(rows.k, rows.ldk, rows.n, shape->d_value, 0, heads->memory->turned[g].keys);
    attn_kv_write_values(&heads->memory->turned[g], &turned, &rows);
}

/* One of dk and dv: the sums of heads, turned round and added for the heads of a group. */
struct gathering {
    const struct attn_heads_back *heads;
    const float *sums; /* [n_head][width][ld] */
    float *y;          /* [n, n_kv_head, width] */
    size_t width;
    float factor;
};

static void gather_head(const struct gathering *gathering, size_t g, float *turned)
{
    const struct attn_heads_back *heads = gathering->heads;
    const struct attn_kernels *kernels = heads->engine->kernels;
    const size_t n_group = heads->n_head / heads->n_kv_head, width = gathering->width;
    const size_t ld = ld_keys(heads->shape), ldy = heads->n_kv_head * width, n = heads->n;
    const size_t n_panel = (width + ATTN_PANEL - 1) / ATTN_PANEL;

    for (size_t first = 0; first < n; first += KEYS_AT_ONCE)
        for (size_t h = g * n_group; h < (g + 1) * n_group; h++) {
            const size_t n_key = n - first < KEYS_AT_ONCE ? n - first : KEYS_AT_ONCE;

            /* In panels of 64 components, each with all these keys. */
            kernels->pack_keys(gathering->sums + h * width * ld + first, ld, width, n_key, 0,
                               turned);
            for (size_t i = 0; i < n_key * n_panel; i++) {
                const size_t at = i * ATTN_PANEL, e = i / n_key * ATTN_PANEL, key = i % n_key;
                const size_t n_here = width - e < ATTN_PANEL ? width - e : ATTN_PANEL;
                float *y = gathering->y + (first + key) * ldy + g * width + e;

                kernels->scale(turned + at, gathering->factor, n_here, turned + at);
                kernels->add(turned + at, h == g * n_group ? zeros : y, n_here, y);
            }
        }
}

static void gather_keys(void *context, size_t g, int worker)
{
    const struct attn_heads_back *heads = context;
    const struct attn_heads_back_memory *memory = heads->memory;
    const bool is_uniform = heads->rule == ATTN_BACKWARD_ATTNLRP;
    const struct gathering dk = {heads, memory->dk, heads->dk, heads->shape->d_head,
                                 is_uniform ? 0.25F : 1};
    const struct gathering dv = {heads, memory->dv, heads->dv, heads->shape->d_value,
                                 is_uniform ? 0.5F : 1};

    gather_head(&dk, g, memory->scratch[worker]);
    gather_head(&dv, g, memory->scratch[worker]);
}

void attn_heads_back_run(struct attn_heads_back *heads)
{
    const struct attn_head_shape *shape = heads->shape;
    const size_t ld = ld_keys(shape);
    const struct attn_layer_feed feed = {.attention = heads->attention,
                                         .shape = shape,
                                         .layer = heads->layer,
                                         .random_layer = heads->layer,
                                         .n_row = heads->n,
                                         .n_key = heads->n,
                                         .ldz = heads->n_head * shape->d_value};

    memset(heads->memory->dk, 0, heads->n_head * shape->d_head * ld * sizeof(float));
    memset(heads->memory->dv, 0, heads->n_head * shape->d_value * ld * sizeof(float));
    attn_pool_run(heads->pool, heads->n_kv_head, pack_head, heads);
    run_heads(heads, &feed, heads->memory->list);
    attn_pool_run(heads->pool, heads->n_kv_head, gather_keys, heads);
}
