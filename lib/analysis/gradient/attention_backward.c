/*
 * attention_backward.c - see attention_backward.h. A tile computes the gradients of its queries and
 * adds to the sums of its keys; at the end the sums of heads that share a key are added.
 *
 * For keys that a row does not see, the pattern is +0, and so are all terms computed from it, which
 * can only change the sign of a zero. To make sums canonical, +0 is added, which turns -0 into +0.
 */
#include "gradient/attention_backward.h"

#include "attention/keys.h"
#include "attention/tile.h"
#include "base/pool_internal.h"
#include "kernels/panels.h"
#include "trace/blocks_internal.h"
#include "trace/trace_extra.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <string.h>

enum {
    WATCHED_BYTES = 64 << 20,    /* watched matrices held at a time, unless one tile needs more: */
    FEW_WATCHED_BYTES = 8 << 20, /* this much, or, if that is more, a head of each worker */
    KEYS_AT_ONCE = 16,           /* number of keys whose sums are transposed together */
};

static const float zeros[ATTN_PANEL];

/* The matrices that can be watched, in the order of their events. */
static const enum attn_site watched_sites[] = {ATTN_SITE_PATTERN, ATTN_SITE_PATTERN_GRAD,
                                               ATTN_SITE_PATTERN_X_GRAD, ATTN_SITE_ATTN_SCORES_GRAD,
                                               ATTN_SITE_QK_GRAD};
enum { N_WATCHED_SITE = sizeof watched_sites / sizeof *watched_sites };

/* Returns the shape of attention in which keys and values are exchanged. */
static struct attn_head_shape turned_shape(const struct attn_head_shape *shape)
{
    struct attn_head_shape turned = *shape;

    turned.d_head = shape->d_value;
    turned.d_value = shape->d_head;
    return turned;
}

/* --- Memory ----------------------------------------------------------------------------------- */

struct attn_site_set attn_heads_back_watched(const struct attn_selection *selection, int layer)
{
    struct attn_site_set watched = {0};

    for (size_t i = 0; i < N_WATCHED_SITE; i++)
        if (attn_selection_wants_block(selection, watched_sites[i], layer))
            attn_sites_add(&watched, watched_sites[i]);
    return watched;
}

/* A worker's buffers for a tile. */
struct tile_scratch {
    /* [tile, ld] the pattern; its gradient, and that of the products; the scaled products. */
    float *p, *d, *x;
    float *sums;    /* [tile, attn_kv_ld_value of the turned shape], for dq */
    float *columns; /* [E or Ev, tile] transposed rows of q or dz */
    float *softmax; /* [tile, ld] the pattern before edits of it; only with edits */
    float *swap;    /* [N_SWAP, tile, ld], then rows; the parts are listed below */
    int32_t *list;  /* lists of cells */
};

/* The matrices that a tile computes for a swap. */
enum { BASE_PRODUCTS, OTHER_PRODUCTS, BASE_PATTERN, OTHER_PATTERN, N_SWAP };
/* Rows of floats that follow them: exponentials, and sums in double precision. */
enum { N_SWAP_ROW = 8 };

/* What the scratch has room for besides. */
struct scratch_form {
    bool has_swap, has_edits;
};

static size_t divide_scratch(const struct attn_head_shape *shape, struct scratch_form form,
                             float *scratch, struct tile_scratch *parts)
{
    const struct attn_head_shape turned = turned_shape(shape);
    const size_t n_cell = ATTN_QUERY_TILE * attn_tile_ld(shape);
    const size_t widest = shape->d_head > shape->d_value ? shape->d_head : shape->d_value;
    const size_t n_sum = ATTN_QUERY_TILE * attn_kv_ld_value(&turned);
    const size_t n_column = attn_round_up(widest * ATTN_QUERY_TILE, 16);
    const size_t n_softmax = form.has_edits ? n_cell : 0;
    const size_t n_swap = form.has_swap ? N_SWAP * n_cell + N_SWAP_ROW * attn_tile_ld(shape) : 0;

    if (scratch) {
        parts->p = scratch;
        parts->d = scratch + n_cell;
        parts->x = scratch + 2 * n_cell;
        parts->sums = scratch + 3 * n_cell;
        parts->columns = parts->sums + n_sum;
        parts->softmax = parts->columns + n_column;
        parts->swap = parts->softmax + n_softmax;
        parts->list = (void *)(parts->swap + n_swap);
    }
    /* The memory also suffices for KEYS_AT_ONCE keys, whose sums gather_head transposes in it. */
    return 3 * n_cell + n_sum + n_column + n_softmax + n_swap;
}

/* Returns the number of floats for watched matrices: enough for all, or limited as above, but at
 * least a tile of each matrix. */
static size_t n_watched_float(const struct attn_heads_back_sizes *sizes)
{
    const size_t n = sizes->heads.n_key, n_worker = (size_t)sizes->heads.n_worker;
    const size_t n_cell = attn_size_mul(sizes->heads.n_query, n);
    const size_t all = attn_size_mul(n_cell, sizes->n_watched);
    const size_t of_worker = attn_size_mul(n_cell, N_WATCHED_SITE);
    size_t limit = attn_size_mul(of_worker, n_worker);

    if (limit < FEW_WATCHED_BYTES / sizeof(float))
        limit = FEW_WATCHED_BYTES / sizeof(float);
    if (limit > WATCHED_BYTES / sizeof(float))
        limit = WATCHED_BYTES / sizeof(float);
    if (limit < (size_t)N_WATCHED_SITE * ATTN_QUERY_TILE * n)
        limit = (size_t)N_WATCHED_SITE * ATTN_QUERY_TILE * n;
    return all < limit ? all : limit;
}

void attn_heads_back_plan(struct attn_heads_back_memory *memory, struct attn_arena *arena,
                          const struct attn_heads_back_sizes *sizes)
{
    const struct attn_head_shape *shape = &sizes->heads.shape, turned = turned_shape(shape);
    const size_t n = sizes->heads.n_key, n_head = sizes->heads.n_head, ld = attn_tile_ld(shape);
    const size_t n_worker = (size_t)sizes->heads.n_worker;
    const size_t n_swap_head = sizes->has_swap ? 2 * sizes->heads.n_kv_head : 0;
    size_t n_list = 0;

    for (size_t i = 0; i < sizes->n_layer; i++) {
        const size_t size = attn_tile_list_size(&sizes->attention[i], n);

        n_list = size > n_list ? size : n_list;
    }
    memory->kv = attn_kv_plan(arena, shape, sizes->heads.n_kv_head, 0);
    memory->turned = attn_kv_plan(arena, &turned, sizes->heads.n_kv_head, 0);
    memory->dk = attn_arena_take(arena, n_head * shape->d_head, ld * sizeof(float));
    memory->dv = attn_arena_take(arena, n_head * shape->d_value, ld * sizeof(float));
    memory->n_watched = n_watched_float(sizes);
    memory->watched = attn_arena_take(arena, memory->n_watched, sizeof(float));
    memory->swap_keys =
        attn_arena_take(arena, n_swap_head, attn_kv_keys_size(shape) * sizeof(float));
    memory->list = attn_arena_take(arena, n_head, sizeof *memory->list);
    memory->scratch = attn_arena_take(arena, n_worker, sizeof *memory->scratch);
    for (size_t i = 0; i < n_worker; i++) {
        const struct scratch_form form = {sizes->has_swap, sizes->has_edits};
        float *scratch = attn_arena_take(arena, divide_scratch(shape, form, NULL, NULL) + n_list,
                                         sizeof *scratch);

        if (memory->scratch)
            memory->scratch[i] = scratch;
    }
    if (memory->kv) { /* clear it, so that no sum reads old contents */
        attn_kv_clear(memory->kv, shape, sizes->heads.n_kv_head);
        attn_kv_clear(memory->turned, &turned, sizes->heads.n_kv_head);
        memset(memory->swap_keys, 0, n_swap_head * attn_kv_keys_size(shape) * sizeof(float));
    }
}

/* --- Products --------------------------------------------------------------------------------- */

/* A product c [n, m] = b [n, k] a [k, m], or c += that, over COUNT adjacent blocks of depth k. */
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

/* A tile while it is computed: its inputs, and where its results go. */
struct tile_work {
    const struct attn_heads_back *heads;
    struct attn_tile tile;
    struct attn_tile_cells cells;
    struct tile_scratch scratch;
    float *watched[N_WATCHED_SITE]; /* [n_row, n_key] for each site; NULL: not watched */
    bool is_blank[N_WATCHED_SITE];  /* cells beyond the computed keys are 0 already */
    size_t ld;                      /* stride of rows over keys */
    const float *softmax;           /* the pattern before edits of it */
    const float *z, *dz;            /* [n_row, Ev], stride ldz */
    size_t ldz;
    size_t g; /* the key/value head */
};

/* Computes c [n_row, keys] = rows [n_row, DEPTH] times panels of keys. LD is the stride of `rows`.
 */
static void multiply_keys(const struct tile_work *work, const float *rows, size_t ld, size_t depth,
                          const float *panels, float *c)
{
    for (size_t s = work->cells.first; s < work->cells.last; s += ATTN_PANEL) {
        const struct product product = {.a = panels + s * depth,
                                        .b = rows,
                                        .c = c + s,
                                        .m = work->cells.last - s < ATTN_PANEL ? ATTN_HALF_PANEL
                                                                               : ATTN_PANEL,
                                        .n = work->tile.n_row,
                                        .k = depth,
                                        .count = 1,
                                        .lda = ATTN_PANEL,
                                        .ldb = ld,
                                        .ldc = work->ld};

        multiply(work->heads->engine, &product);
    }
}

/* Adds rows^T c to sums [DEPTH, keys]: the queries of the tile, in ascending order, continue the
 * chain of each key. */
static void add_to_keys(const struct tile_work *work, const float *rows, size_t ld, size_t depth,
                        const float *c, float *sums)
{
    const size_t n_row = work->tile.n_row;
    float *columns = work->scratch.columns;

    for (size_t i = 0; i < n_row; i++)
        for (size_t e = 0; e < depth; e++)
            columns[e * n_row + i] = rows[i * ld + e];
    for (size_t s = work->cells.first; s < work->cells.last; s += ATTN_PANEL)
        for (size_t e = 0; e < depth; e += ATTN_GEMM_MOST_ROWS) {
            const size_t left = depth - e;
            const struct product product = {
                .a = c + s,
                .b = columns + e * n_row,
                .c = sums + e * work->ld + s,
                .m = work->cells.last - s < ATTN_PANEL ? ATTN_HALF_PANEL : ATTN_PANEL,
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

/* --- A tile ----------------------------------------------------------------------------------- */

static void fill_masked(const struct tile_work *work, size_t i, float value, float *x)
{
    const int32_t *mask = work->heads->key_mask;
    const size_t n = work->cells.last < work->tile.n_key ? work->cells.last : work->tile.n_key;

    attn_tile_fill_masked(&work->cells, i, value, x + i * work->ld);
    for (size_t j = work->cells.first; mask && j < n; j++)
        if (mask[j] == 0)
            x[i * work->ld + j] = value;
}

/* Applies EDITS [n] of SITE to the tile's rows X. */
static void edit_rows(const struct tile_work *work, const struct attn_edit *edits, size_t n,
                      enum attn_site site, float *x)
{
    const struct attn_heads_back *heads = work->heads;
    const size_t n_key = work->tile.n_key, last = work->cells.last;
    const struct attn_edit_target target = {.at.site = site,
                                            .at.layer = heads->layer,
                                            .at.head = work->tile.head,
                                            .row0 = work->tile.row0,
                                            .n_row = work->tile.n_row,
                                            .n_col = last < n_key ? last : n_key,
                                            .ld = work->ld,
                                            .data = x};

    if (attn_edits_touch(edits, n, &target.at))
        attn_edits_apply(edits, n, NULL, NULL, &target);
}

static void edit_forward(const struct tile_work *work, enum attn_site site, float *x)
{
    edit_rows(work, work->heads->edits, work->heads->n_edit, site, x);
}

/* Sets D to 0 in cells whose keys are cut out, which have no gradients, like other masked cells. */
static void cut_keys(const struct tile_work *work, float *d)
{
    const struct attn_heads_back *heads = work->heads;

    for (size_t i = 0; i < heads->n_edit; i++) {
        struct attn_edit cut = heads->edits[i];

        if (cut.op != ATTN_EDIT_MASK)
            continue;
        cut.op = ATTN_EDIT_ZERO;
        edit_rows(work, &cut, 1, cut.at.site, d);
    }
}

/* Turns the gradients D after the edits of SITE into those before them. */
static void edit_back(const struct tile_work *work, enum attn_site site, float *d)
{
    edit_rows(work, work->heads->back_edits, work->heads->n_back, site, d);
}

/* Turns products q k^T in P into the pattern, as the forward pass does, but without edits of the
 * pattern. The weight of the sink follows the computed cells. X receives the scores before the cap,
 * unless it is NULL. */
static void finish_pattern(const struct tile_work *work, float *p, float *x)
{
    const struct attn_kernels *kernels = work->heads->engine->kernels;
    const size_t n = work->cells.last - work->cells.first;
    const bool is_listed = work->cells.keys;
    const bool is_scored =
        attn_tile_is_scored(&work->tile) || attn_tile_is_edited(&work->tile, ATTN_SITE_ATTN_SCORES);
    const bool is_masked = is_listed || work->heads->key_mask;

    edit_forward(work, ATTN_SITE_QK, p);
    for (size_t i = 0; i < work->tile.n_row; i++) {
        const struct attn_tile_span span = {.i = i, .first = work->cells.first, .n = n};

        if (is_scored)
            attn_tile_score(&work->tile, kernels, &span, p + i * work->ld + work->cells.first,
                            x ? x + i * work->ld + work->cells.first : NULL);
        if (is_masked)
            fill_masked(work, i, -INFINITY, p);
    }
    edit_forward(work, ATTN_SITE_ATTN_SCORES, p);
    for (size_t i = 0; i < work->tile.n_row; i++) {
        float *row = p + i * work->ld + work->cells.first;

        row[n] = attn_tile_softmax(
            &work->tile, kernels,
            &(struct attn_softmax_row){row, is_listed ? n : work->cells.n[i], n,
                                       is_scored ? 1 : attn_tile_scale(&work->tile)});
    }
}

static void make_pattern(struct tile_work *work)
{
    const struct attn_head_shape *shape = work->heads->shape;
    const size_t n_byte = work->tile.n_row * work->ld * sizeof(float);

    multiply_keys(work, work->tile.q, shape->ldq, shape->d_head, work->tile.kv->keys,
                  work->scratch.p);
    finish_pattern(work, work->scratch.p, work->scratch.x);
    work->softmax = work->scratch.p;
    if (!attn_tile_is_edited(&work->tile, ATTN_SITE_PATTERN))
        return;
    work->softmax = memcpy(work->scratch.softmax, work->scratch.p, n_byte);
    edit_forward(work, ATTN_SITE_PATTERN, work->scratch.p);
}

/* --- Replaced queries or keys ----------------------------------------------------------------- */

static float *swap_tile(const struct tile_work *work, size_t which)
{
    return work->scratch.swap + which * ATTN_QUERY_TILE * work->ld;
}

/* Returns the panels of the keys of key/value head G: those that P is computed from (IS_BASE), or
 * the replacements. */
static float *swap_panels(const struct attn_heads_back *heads, bool is_base, size_t g)
{
    return heads->memory->swap_keys +
           ((is_base ? heads->n_kv_head : 0) + g) * attn_kv_keys_size(heads->shape);
}

/* Computes the products of the queries and keys of P, and those with the replacements. */
static void multiply_swapped(const struct tile_work *work)
{
    const struct attn_heads_back *heads = work->heads;
    const struct attn_heads_swap *swap = heads->swap;
    const size_t d_head = heads->shape->d_head, ld = heads->shape->ldq;
    const size_t at = work->tile.row0 * ld + (size_t)work->tile.head * d_head;
    const float *q = swap->base_q ? swap->base_q + at : work->tile.q;
    const float *k = swap->base_k ? swap_panels(heads, true, work->g) : work->tile.kv->keys;

    multiply_keys(work, q, ld, d_head, k, swap_tile(work, BASE_PRODUCTS));
    multiply_keys(work, swap->q ? swap->q + at : q, ld, d_head,
                  swap->k ? swap_panels(heads, false, work->g) : k,
                  swap_tile(work, OTHER_PRODUCTS));
}

/* Writes the products of VARIANT, scaled by its factors, to Y. */
static void scale_products(const struct tile_work *work, size_t variant, float *y)
{
    const struct attn_heads_swap *swap = work->heads->swap;
    const size_t head = swap->k ? work->g : (size_t)work->tile.head;
    const bool is_own = swap->n_variant == 1 || variant == head;
    const float *base = swap_tile(work, BASE_PRODUCTS);
    const float *other = is_own ? swap_tile(work, OTHER_PRODUCTS) : base;
    const float *factors = is_own ? swap->own : swap->scale;
    const size_t n = work->cells.last < work->tile.n_key ? work->cells.last : work->tile.n_key;

    memcpy(y, other, work->tile.n_row * work->ld * sizeof *y);
    factors = factors ? factors + variant * work->heads->n : NULL;
    for (size_t i = 0; (factors || swap->keys) && i < work->tile.n_row; i++)
        for (size_t j = work->cells.first; j < n; j++) {
            const size_t at = i * work->ld + j;

            if (swap->keys && swap->keys[j] == 0)
                y[at] = base[at];
            else if (factors)
                y[at] *= factors[swap->k ? j : work->tile.row0 + i];
        }
}

/* Returns sum (p' - p) d over N cells, in double precision. */
static double sum_changes(const float *other, const float *p, const float *d, size_t n)
{
    double sums[8] = {0}, sum = 0;

    for (size_t j = 0; j + 8 <= n; j += 8) /* N is a multiple of 8 */
        for (size_t k = 0; k < 8; k++)
            sums[k] += ((double)other[j + k] - (double)p[j + k]) * (double)d[j + k];
    for (size_t k = 0; k < 8; k++)
        sum += sums[k];
    return sum;
}

/* A row in which one score changes at a time. Let m be the largest score, or the changed score if
 * that is larger. Then e = exp(score - max), a = exp(changed score - m), f = exp(max - m). */
struct key_change {
    const float *e, *a, *f;  /* [n] */
    double *rest_e, *rest_d; /* [n] sums of e, and of e d, over the keys that follow */

    /* The key with the largest score needs care: relative to it, e of all other keys may be 0. If
     * its score changes, the others are taken relative to their own maximum: exp(score - that
     * maximum). */
    size_t largest;
    const float *others; /* [n] these exponentials; 0 for that key */
};

/* Unnormalized weights: that of one key, and the common factor of the other keys' weights. */
struct key_share {
    double key, others;
};

/* Returns the change of sum P dP. D is the key's dP; the weights of the other keys sum to REST, and
 * weighted by their dP to REST_D. */
static double change_share(const struct key_share *from, const struct key_share *to, double d,
                           double rest, double rest_d)
{
    return (to->key * from->others - to->others * from->key) * (d * rest - rest_d) /
           ((to->key + to->others * rest) * (from->key + from->others * rest));
}

/* Adds the change of sum P dP to the SUMS of N keys, except for the key with the largest score. The
 * sums over the other keys are computed without subtracting the key from a total. */
static void add_key_changes(const struct key_change *change, const float *d, size_t n, double *sums)
{
    double before_e = 0, before_d = 0, after_e = 0, after_d = 0;

    for (size_t j = n; j-- > 0;) {
        change->rest_e[j] = after_e;
        change->rest_d[j] = after_d;
        after_e += (double)change->e[j];
        after_d += (double)change->e[j] * (double)d[j];
    }
    for (size_t j = 0; j < n; j++) {
        const double e = (double)change->e[j];
        const struct key_share from = {e, 1}, to = {(double)change->a[j], (double)change->f[j]};

        if (j != change->largest)
            sums[j] += change_share(&from, &to, (double)d[j], before_e + change->rest_e[j],
                                    before_d + change->rest_d[j]);
        before_e += e;
        before_d += e * (double)d[j];
    }
}

/* Adds the change for the key with the largest score. gaps[0] is its score, and gaps[1] its changed
 * score, minus the largest score of the others. */
static void add_largest_change(const struct attn_kernels *kernels, const struct key_change *change,
                               const float gaps[2], const float *d, size_t n, double *sums)
{
    const float more = gaps[1] > 0 ? gaps[1] : 0;
    float e[3] = {-gaps[0], gaps[1] - more, -more};
    double rest = 0, rest_d = 0;

    kernels->exp(e, 3, e);
    const struct key_share from = {1, (double)e[0]}, to = {(double)e[1], (double)e[2]};

    for (size_t j = 0; j < n; j++) {
        rest += (double)change->others[j];
        rest_d += (double)change->others[j] * (double)d[j];
    }
    sums[change->largest] += change_share(&from, &to, (double)d[change->largest], rest, rest_d);
}

/* Finds the two largest of N scores. Returns the index of the largest, the first of equal ones. */
static size_t find_largest(const float *scores, size_t n, float largest[2])
{
    size_t at = 0;

    largest[0] = largest[1] = -INFINITY;
    for (size_t j = 0; j < n; j++)
        if (scores[j] > largest[0]) {
            largest[1] = largest[0];
            largest[0] = scores[j];
            at = j;
        } else if (scores[j] > largest[1]) {
            largest[1] = scores[j];
        }
    return at;
}

/* Adds the changes to the sums of each key of row I, if keys are replaced one at a time. OTHER
 * contains the row's products with the replacements. Masked cells are -inf in both. */
static void add_each_key(const struct tile_work *work, size_t i, const float *other, double *sums)
{
    const struct attn_kernels *kernels = work->heads->engine->kernels;
    const struct attn_tile_span span = {
        .i = i, .first = work->cells.first, .n = work->cells.last - work->cells.first};
    const size_t n = span.n, at = i * work->ld + work->cells.first, ld = work->ld;
    const size_t left = work->tile.n_key - work->cells.first, n_key = left < n ? left : n;
    const float *d = work->scratch.d + at;
    float *e = swap_tile(work, N_SWAP), *a = e + ld, *f = e + 2 * ld, *others = e + 3 * ld;
    float largest[2], gaps[2];
    struct key_change change = {.e = e,
                                .a = a,
                                .f = f,
                                .rest_e = (double *)(void *)(e + 4 * ld),
                                .rest_d = (double *)(void *)(e + 6 * ld),
                                .others = others};

    memcpy(e, swap_tile(work, BASE_PRODUCTS) + at, n * sizeof *e);
    memcpy(a, other + at, n * sizeof *a);
    attn_tile_score(&work->tile, kernels, &span, e, NULL);
    attn_tile_score(&work->tile, kernels, &span, a, NULL);
    change.largest = find_largest(e, n_key, largest);
    if (isinf(largest[1]))
        return; /* a key that is alone keeps its weight */
    gaps[0] = largest[0] - largest[1];
    gaps[1] = a[change.largest] - largest[1];
    for (size_t j = 0; j < n; j++) {
        const float more = a[j] - largest[0];

        others[j] = j == change.largest ? -INFINITY : e[j] - largest[1];
        e[j] -= largest[0];
        a[j] = more > 0 ? 0 : more;
        f[j] = more > 0 ? -more : 0;
    }
    kernels->exp(e, n, e);
    kernels->exp(a, n, a);
    kernels->exp(f, n, f);
    kernels->exp(others, n, others);
    add_key_changes(&change, d, n_key, sums + work->cells.first);
    add_largest_change(kernels, &change, gaps, d, n_key, sums + work->cells.first);
}

/* Adds the contributions of a tile to the sums of the swap. At this point d contains dP. */
static void add_swapped(const struct tile_work *work)
{
    const struct attn_heads_back *heads = work->heads;
    const struct attn_heads_swap *swap = heads->swap;
    const size_t n = work->cells.last - work->cells.first;
    float *other = swap_tile(work, OTHER_PATTERN), *p = swap_tile(work, BASE_PATTERN);

    multiply_swapped(work);
    if (!swap->is_each) {
        memcpy(p, swap_tile(work, BASE_PRODUCTS), work->tile.n_row * work->ld * sizeof *p);
        finish_pattern(work, p, NULL);
    }
    for (size_t i = 0; swap->is_each && i < work->tile.n_row; i++) {
        fill_masked(work, i, -INFINITY, swap_tile(work, BASE_PRODUCTS));
        fill_masked(work, i, -INFINITY, swap_tile(work, OTHER_PRODUCTS));
    }
    for (size_t variant = 0; variant < swap->n_variant; variant++) {
        double *sums = swap->sums + (variant * heads->n_head + (size_t)work->tile.head) * heads->n;

        scale_products(work, variant, swap->is_each ? p : other);
        if (!swap->is_each)
            finish_pattern(work, other, NULL);
        for (size_t i = 0; i < work->tile.n_row; i++) {
            const size_t at = i * work->ld + work->cells.first;

            if (swap->is_each && work->cells.n[i] > 0)
                add_each_key(work, i, p, sums);
            else if (!swap->is_each)
                sums[work->tile.row0 + i] +=
                    sum_changes(other + at, p + at, work->scratch.d + at, n);
        }
    }
}

/* Stores the watched rows of SITE, computed from the pattern, D, or their product. Rows have all
 * keys, with 0 in masked cells. */
static void store_watched(const struct tile_work *work, enum attn_site site)
{
    const size_t n = work->tile.n_key, last = work->cells.last < n ? work->cells.last : n;
    size_t at = 0;
    float *rows;

    while (watched_sites[at] != site)
        at++;
    rows = work->watched[at];
    for (size_t i = 0; rows && i < work->tile.n_row; i++) {
        const float *d = work->scratch.d + i * work->ld, *p = work->scratch.p + i * work->ld;
        float *row = rows + i * n;

        memset(row, 0, work->cells.first * sizeof *row);
        if (site == ATTN_SITE_PATTERN_X_GRAD)
            for (size_t j = work->cells.first; j < last; j++)
                row[j] = p[j] * d[j] + 0;
        else
            memcpy(row + work->cells.first, (site == ATTN_SITE_PATTERN ? p : d) + work->cells.first,
                   (last - work->cells.first) * sizeof *row);
        if (!work->is_blank[at])
            memset(row + last, 0, (n - last) * sizeof *row);
    }
}

/* Computes dqk in d from dz. */
static void make_dqk(const struct tile_work *work)
{
    const struct attn_heads_back *heads = work->heads;
    const struct attn_kernels *kernels = heads->engine->kernels;
    const size_t d_value = heads->shape->d_value, n = work->cells.last - work->cells.first;
    const float scale = attn_tile_scale(&work->tile);
    const struct attn_cap_back cap = {(float)heads->attention->score_cap,
                                      heads->rule != ATTN_BACKWARD_PLAIN};
    float *d = work->scratch.d + work->cells.first, r[ATTN_QUERY_TILE];

    multiply_keys(work, work->dz, work->ldz, d_value, heads->memory->turned[work->g].keys,
                  work->scratch.d);
    for (size_t i = 0; i < work->tile.n_row; i++)
        fill_masked(work, i, 0, work->scratch.d);
    cut_keys(work, work->scratch.d);
    store_watched(work, ATTN_SITE_PATTERN);
    store_watched(work, ATTN_SITE_PATTERN_GRAD);
    store_watched(work, ATTN_SITE_PATTERN_X_GRAD);
    edit_back(work, ATTN_SITE_PATTERN, work->scratch.d);
    if (heads->swap)
        add_swapped(work);
    kernels->dots(work->dz, work->z, work->ldz, work->tile.n_row, d_value, r);
    for (size_t i = 0; i < work->tile.n_row; i++) {
        d[i * work->ld + n] = 0; /* the gradient of the sink, which has no value */
        kernels->softmax_back(work->softmax + i * work->ld + work->cells.first, r[i],
                              d + i * work->ld, heads->attention->sinks ? n + 1 : n);
        fill_masked(work, i, 0, work->scratch.d); /* removes -0, from 0 times a negative number */
    }
    cut_keys(work, work->scratch.d);
    store_watched(work, ATTN_SITE_ATTN_SCORES_GRAD);
    edit_back(work, ATTN_SITE_ATTN_SCORES, work->scratch.d);
    for (size_t i = 0; i < work->tile.n_row; i++) {
        if (cap.cap > 0)
            kernels->soft_cap_back(&cap, work->scratch.x + i * work->ld + work->cells.first,
                                   d + i * work->ld, n);
        kernels->scale(d + i * work->ld, scale, n, d + i * work->ld);
    }
    store_watched(work, ATTN_SITE_QK_GRAD);
    edit_back(work, ATTN_SITE_QK, work->scratch.d);
}

/* Computes dq = dqk k for the rows of the tile. */
static void make_dq(const struct tile_work *work, float *dq)
{
    const struct attn_heads_back *heads = work->heads;
    const struct attn_head_shape turned = turned_shape(heads->shape);
    const size_t ld = attn_kv_ld_value(&turned), d_head = heads->shape->d_head;
    const struct attn_panels panels = attn_panels_split(d_head);
    const float factor = heads->rule == ATTN_BACKWARD_ATTNLRP ? 0.25F : 1;

    for (size_t p = 0; p < panels.n_panel; p++) {
        const size_t column = attn_panel_first(&panels, p);
        const struct product product = {
            .a = heads->memory->turned[work->g].values + work->cells.first * ld + column,
            .b = work->scratch.d + work->cells.first,
            .c = work->scratch.sums + column,
            .m = attn_panel_width(&panels, p),
            .n = work->tile.n_row,
            .k = ATTN_HALF_PANEL,
            .count = (work->cells.last - work->cells.first) / ATTN_HALF_PANEL,
            .lda = ld,
            .ldb = work->ld,
            .ldc = ld};

        multiply(heads->engine, &product);
    }
    for (size_t i = 0; i < work->tile.n_row; i++)
        for (size_t e = 0; e < d_head; e++)
            dq[i * heads->shape->ldq + e] = (work->scratch.sums[i * ld + e] + 0) * factor;
}

/* Adds to DQ and to the sums of the keys what the products with places contribute: a place is the
 * other factor of each. Rows and keys come in ascending order. */
static void add_places(const struct tile_work *work, float *dq, float *sums)
{
    const struct attn_heads_back *heads = work->heads;
    const struct attn_place_terms *places = heads->places;
    const size_t d_head = heads->shape->d_head, ld = heads->n_head * d_head;
    const size_t first = (size_t)work->tile.head * d_head, last = work->cells.last;
    const size_t n_key = last < work->tile.n_key ? last : work->tile.n_key;
    const float factor = heads->rule == ATTN_BACKWARD_ATTNLRP ? 0.25F : 1;

    for (size_t i = 0; i < work->tile.n_row; i++)
        for (size_t j = work->cells.first; j < n_key; j++) {
            const ptrdiff_t distance = (ptrdiff_t)(work->tile.row0 + i) - (ptrdiff_t)j;
            const size_t at = (size_t)places->rows[distance] * ld + first;
            const float d = work->scratch.d[i * work->ld + j];

            for (size_t e = 0; e < d_head && places->c2p; e++)
                dq[i * heads->shape->ldq + e] += d * places->keys[at + e] * factor;
            for (size_t e = 0; e < d_head && places->p2c; e++)
                sums[e * work->ld + j] += d * places->queries[at + e];
        }
}

/* --- Heads ------------------------------------------------------------------------------------ */

/* The heads whose watched matrices fit into the memory for them, or some rows of one head. */
struct wave {
    const struct attn_heads_back *heads;
    const struct attn_layer_feed *feed;
    const int *list; /* [n_head] the heads */
    size_t n_head;
    size_t first, n_row; /* the rows: a multiple of the tile height, except at the end */
    bool is_watched;
};

/* Returns the buffer for the matrix of site number SITE for the head at INDEX of the wave; NULL if
 * it is not watched. */
static float *find_matrix(const struct wave *wave, size_t site, size_t index)
{
    const struct attn_heads_back *heads = wave->heads;
    size_t before = 0; /* number of matrices of earlier sites */

    if (!wave->is_watched || !attn_sites_have(heads->watched, watched_sites[site]))
        return NULL;
    for (size_t i = 0; i < site; i++)
        before += attn_sites_have(heads->watched, watched_sites[i]);
    return heads->memory->watched + (before * wave->n_head + index) * wave->n_row * heads->n_key;
}

/* Whether each query sees exactly the keys up to its own position. */
static bool is_causal(const struct attn_heads_back *heads)
{
    return attn_keys_are_causal(heads->attention) && !attn_attention_is_listed(heads->attention);
}

/* Whether the cells beyond each tile are 0 in the whole matrix, so that they stay 0 (n_blank). */
static bool keeps_blank(const struct wave *wave)
{
    return wave->n_row == wave->heads->n && is_causal(wave->heads);
}

static void run_tile(const struct wave *wave, size_t index, size_t offset, int worker)
{
    const struct attn_heads_back *heads = wave->heads;
    const struct attn_head_shape *shape = heads->shape;
    const size_t row = wave->first + offset, rest = wave->n_row - offset;
    const size_t head = (size_t)wave->list[index], g = head / (heads->n_head / heads->n_kv_head);
    const size_t ldz = heads->n_head * shape->d_value, at = row * ldz + head * shape->d_value;
    const size_t ld = attn_tile_ld(shape), at_q = row * shape->ldq + head * shape->d_head;
    struct tile_work work = {.heads = heads,
                             .tile = {.feed = wave->feed,
                                      .head = wave->list[index],
                                      .row0 = row,
                                      .n_row = rest < ATTN_QUERY_TILE ? rest : ATTN_QUERY_TILE,
                                      .n_key = heads->n_key,
                                      .q = heads->q + at_q,
                                      .kv = &heads->memory->kv[g]},
                             .ld = ld,
                             .z = heads->z + at,
                             .dz = heads->dz + at,
                             .ldz = ldz,
                             .g = g};

    for (size_t i = 0; i < N_WATCHED_SITE; i++) {
        float *matrix = find_matrix(wave, i, index), *watched = heads->memory->watched;

        if (!matrix)
            continue;
        work.watched[i] = matrix + offset * heads->n_key;
        work.is_blank[i] = matrix < watched + heads->memory->n_blank * wave->n_row * heads->n_key;
    }
    divide_scratch(shape, (struct scratch_form){heads->swap, heads->n_edit > 0},
                   heads->memory->scratch[worker], &work.scratch);
    attn_tile_find_cells(&work.tile, work.scratch.list, &work.cells);
    /* an edit may have given a masked cell of the pattern a weight */
    attn_tile_choose_columns(&work.tile, attn_tile_is_edited(&work.tile, ATTN_SITE_PATTERN),
                             &work.cells);
    make_pattern(&work);
    make_dqk(&work);
    make_dq(&work, heads->dq + at_q);
    add_to_keys(&work, work.tile.q, shape->ldq, shape->d_head, work.scratch.d,
                heads->memory->dk + head * shape->d_head * ld);
    if (heads->places)
        add_places(&work, heads->dq + at_q, heads->memory->dk + head * shape->d_head * ld);
    add_to_keys(&work, work.dz, ldz, shape->d_value, work.scratch.p,
                heads->memory->dv + head * shape->d_value * ld);
}

/* Runs one task: the rows of a head in ascending order, because they add to the same sums. */
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
            const struct attn_trace_event event = {.at.site = watched_sites[site],
                                                   .at.layer = heads->layer,
                                                   .at.head = wave->list[i],
                                                   .row0 = wave->first,
                                                   .n_row = wave->n_row,
                                                   .n_col = heads->n_key,
                                                   .ld = heads->n_key,
                                                   .data = matrix,
                                                   .is_causal = is_causal(heads)};

            if (matrix)
                heads->emit(heads->context, &event);
        }
}

static void run_wave(struct wave *wave)
{
    const struct attn_heads_back *heads = wave->heads;
    const size_t n_matrix = wave->n_head * attn_sites_count(heads->watched);
    size_t *n_blank = &heads->memory->n_blank;

    if (wave->n_head == 0 || heads->is_stopped(heads->context))
        return;
    if (wave->is_watched && !keeps_blank(wave))
        *n_blank = 0;
    attn_pool_run(heads->pool, wave->n_head, run_head, wave);
    if (!wave->is_watched)
        return;
    if (keeps_blank(wave) && n_matrix > *n_blank)
        *n_blank = n_matrix;
    emit_wave(wave);
}

/* Runs the heads of LIST, whose matrices are watched. As many run together as the memory allows. */
static void run_watched(const struct attn_heads_back *heads, const struct attn_layer_feed *feed,
                        const int *list, size_t n_head)
{
    const size_t n_matrix = attn_sites_count(heads->watched), n = heads->n;
    const size_t n_thread = (size_t)attn_pool_n_thread(heads->pool);
    /* Number of rows that fit. */
    const size_t n_fit = heads->memory->n_watched / n_matrix / heads->n_key;
    const size_t n_row = n_fit < n ? n_fit / ATTN_QUERY_TILE * ATTN_QUERY_TILE : n;
    struct wave wave = {.heads = heads, .feed = feed, .is_watched = true};
    size_t n_at_once = n_fit < n ? 1 : n_fit / n;

    /* A multiple of the threads, so that none is idle. */
    n_at_once -= n_at_once > n_thread ? n_at_once % n_thread : 0;
    for (size_t at = 0; at < n_head; at += wave.n_head) {
        wave.list = list + at;
        wave.n_head = n_at_once < n_head - at ? n_at_once : n_head - at;
        for (wave.first = heads->first; wave.first < heads->end; wave.first += wave.n_row) {
            wave.n_row = n_row < heads->end - wave.first ? n_row : heads->end - wave.first;
            run_wave(&wave);
        }
    }
}

static bool is_watched(const struct attn_heads_back *heads, int head)
{
    const struct attn_location at = attn_location_of_block(attn_selection_dims(heads->selection),
                                                           ATTN_SITE_PATTERN, heads->layer, head);

    return !attn_sites_are_empty(heads->watched) && attn_selection_has_head(heads->selection, &at);
}

/* Runs all heads: first those that are watched, then the others. */
static void run_heads(const struct attn_heads_back *heads, const struct attn_layer_feed *feed)
{
    int *list = heads->memory->list;
    struct wave rest = {
        .heads = heads, .feed = feed, .first = heads->first, .n_row = heads->end - heads->first};
    size_t n_watched = 0;

    for (int head = 0; head < (int)heads->n_head; head++)
        if (is_watched(heads, head))
            list[n_watched++] = head;
    for (int head = 0; head < (int)heads->n_head; head++)
        if (!is_watched(heads, head))
            list[n_watched + rest.n_head++] = head;
    if (n_watched > 0)
        run_watched(heads, feed, list, n_watched);
    rest.list = list + n_watched;
    run_wave(&rest);
}

/* --- Keys ------------------------------------------------------------------------------------- */

/* Runs one task: packs keys and values of a key/value head for the products. */
static void pack_head(void *context, size_t g, int worker)
{
    const struct attn_heads_back *heads = context;
    const struct attn_head_shape *shape = heads->shape, turned = turned_shape(shape);
    const struct attn_kernels *kernels = heads->engine->kernels;
    struct attn_kv_rows rows = {.k = heads->v + g * shape->d_value,
                                .v = heads->k + g * shape->d_head,
                                .ldk = heads->n_kv_head * shape->d_value,
                                .ldv = heads->n_kv_head * shape->d_head,
                                .n = heads->n_key};

    (void)worker;
    if (heads->swap && heads->swap->k)
        kernels->pack_keys(heads->swap->k + g * shape->d_head, rows.ldv, rows.n, shape->d_head, 0,
                           swap_panels(heads, false, g));
    if (heads->swap && heads->swap->base_k)
        kernels->pack_keys(heads->swap->base_k + g * shape->d_head, rows.ldv, rows.n, shape->d_head,
                           0, swap_panels(heads, true, g));
    kernels->pack_keys(rows.v, rows.ldv, rows.n, shape->d_head, 0, heads->memory->kv[g].keys);
    kernels->pack_keys(rows.k, rows.ldk, rows.n, shape->d_value, 0, heads->memory->turned[g].keys);
    attn_kv_write_values(&heads->memory->turned[g], &turned, &rows);
}

/* What is needed to finish dk or dv: transposing the sums of heads and adding those of a group. */
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
    const size_t ld = attn_tile_ld(heads->shape), ldy = heads->n_kv_head * width, n = heads->n_key;
    const size_t n_panel = (width + ATTN_PANEL - 1) / ATTN_PANEL;

    for (size_t first = 0; first < n; first += KEYS_AT_ONCE)
        for (size_t h = g * n_group; h < (g + 1) * n_group; h++) {
            const size_t n_key = n - first < KEYS_AT_ONCE ? n - first : KEYS_AT_ONCE;

            /* Transpose into panels of 64 components; each panel has all these keys. */
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
    const size_t ld = attn_tile_ld(shape);
    const struct attn_layer_feed feed = {.attention = heads->attention,
                                         .shape = shape,
                                         .at.layer = heads->layer,
                                         .random_layer = heads->layer,
                                         .n_row = heads->n,
                                         .n_key = heads->n_key,
                                         .ldz = heads->n_head * shape->d_value,
                                         .places = heads->places,
                                         .key_mask = heads->key_mask,
                                         .edits = heads->edits,
                                         .n_edit = heads->n_edit};

    memset(heads->memory->dk, 0, heads->n_head * shape->d_head * ld * sizeof(float));
    memset(heads->memory->dv, 0, heads->n_head * shape->d_value * ld * sizeof(float));
    attn_pool_run(heads->pool, heads->n_kv_head, pack_head, heads);
    run_heads(heads, &feed);
    attn_pool_run(heads->pool, heads->n_kv_head, gather_keys, heads);
}
