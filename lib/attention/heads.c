/* heads.c - see heads.h. */
#include "attention/heads.h"

#include "attention/keys.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

enum { KEPT_BYTES = 64 << 20 }; /* watched matrices of a layer held at a time, if one tile fits */

enum attn_engine attn_attention_engine(const struct attn_attention *attention)
{
    if (!attn_attention_is_listed(attention) || attn_keys_are_together(attention))
        return ATTN_ENGINE_DENSE;
    return ATTN_ENGINE_GATHER;
}

void attn_engines_plan(struct attn_engines *engines, const struct attn_gemm_engine *gemm,
                       const struct attn_dense_shape *shape, const struct attn_attention *attention,
                       size_t n, size_t n_row)
{
    bool is_used[ATTN_N_ENGINE] = {false};

    engines->shape = *shape;
    for (size_t i = 0; i < n; i++)
        is_used[attn_attention_engine(&attention[i])] = true;
    if (is_used[ATTN_ENGINE_DENSE])
        attn_dense_plan(&engines->dense, gemm, shape, n_row);
    if (is_used[ATTN_ENGINE_GATHER])
        attn_gather_plan(&engines->gather, gemm, shape);
}

/* --- Memory -------------------------------------------------------------------------------- */

/* Floats from one watched row to the next. */
static size_t row_size(const struct attn_attention *attention, size_t n_key)
{
    if (attention->kind == ATTN_ATTENTION_LOWRANK)
        return attention->count;
    return attn_attention_is_listed(attention) ? attn_keys_most(attention, n_key) : n_key;
}

/* Matrices to keep: the watched ones, and the lists of their cells. */
static size_t n_matrix(const struct attn_attention *attention, uint64_t watched)
{
    size_t n = 0;

    for (int i = 0; i < ATTN_N_MATRIX_SITE; i++)
        n += (watched & ATTN_SITE_BIT(ATTN_SITE_QK + i)) != 0;
    return n == 0 ? 0 : n + attn_attention_is_listed(attention);
}

static void raise_to(size_t *most, size_t n)
{
    *most = n > *most ? n : *most;
}

static size_t product(size_t a, size_t b)
{
    size_t result;

    return attn_checked_mul(a, b, &result) ? result : SIZE_MAX;
}

void attn_heads_raise(struct attn_heads_needs *needs, const struct attn_heads_sizes *sizes,
                      const struct attn_attention *attention, uint64_t watched,
                      size_t n_watched_head)
{
    const size_t n_query = sizes->n_query, ld = row_size(attention, sizes->n_key);
    const size_t n_tile_row = n_query < ATTN_QUERY_TILE ? n_query : ATTN_QUERY_TILE;
    const size_t n = n_matrix(attention, watched);
    const size_t all = product(product(n_query, ld), product(n, n_watched_head));
    size_t limit = product(n, product(n_tile_row, ld));

    raise_to(&limit, KEPT_BYTES / sizeof(float));
    raise_to(&needs->n_kept, all < limit ? all : limit);
    if (n > 0 && attn_attention_is_listed(attention))
        raise_to(&needs->n_cells, product(n_query, sizes->n_head));
    if (attention->dropout > 0 && attention->keep.cells == NULL)
        raise_to(&needs->n_dropout,
                 product(product(sizes->n_head, n_query), sizes->n_key) / 64 + 1);
    if (attn_attention_engine(attention) == ATTN_ENGINE_GATHER)
        raise_to(&needs->n_scratch, attn_gather_scratch(&sizes->shape, attention));
    else
        raise_to(&needs->n_scratch, attn_dense_scratch(&sizes->shape, attention));
}

void attn_heads_plan(struct attn_heads_memory *memory, struct attn_arena *arena,
                     const struct attn_heads_sizes *sizes, const struct attn_heads_needs *needs)
{
    const size_t n_worker = (size_t)sizes->n_worker;

    memory->n_kept = needs->n_kept;
    memory->kept = attn_arena_take(arena, needs->n_kept, sizeof *memory->kept);
    memory->n_cells = attn_arena_take(arena, needs->n_cells, sizeof *memory->n_cells);
    memory->dropout = attn_arena_take(arena, needs->n_dropout, sizeof *memory->dropout);
    memory->edited = attn_arena_take(arena, n_worker, sizeof *memory->edited);
    memory->heads = attn_arena_take(arena, 2 * sizes->n_head, sizeof *memory->heads);
    memory->scratch = attn_arena_take(arena, n_worker, sizeof *memory->scratch);
    for (size_t i = 0; i < n_worker; i++) {
        float *scratch = attn_arena_take(arena, needs->n_scratch, sizeof *scratch);

        if (memory->scratch != NULL)
            memory->scratch[i] = scratch;
    }
}

/* --- Waves --------------------------------------------------------------------------------- */

struct wave {
    const struct attn_heads *heads;
    float scale;
    const int *list; /* [n_head] */
    size_t n_head;
    size_t first, n_row;             /* rows of the feed; first is a multiple of the tile */
    size_t ld;                       /* of a watched row */
    float *kept[ATTN_N_MATRIX_SITE]; /* [n_head, n_row, ld] each, or NULL */
    int32_t *keys;                   /* likewise */
};

/* Whether a later step or a watcher depends on some row of the tile. */
static bool needs_tile(const struct wave *wave, size_t row0, size_t n_row)
{
    const struct attn_heads *heads = wave->heads;

    if (heads->z != NULL && heads->owner.needs_rows(heads->owner.owner, row0, n_row))
        return true;
    for (size_t row = row0; row < row0 + n_row && heads->selection != NULL; row++)
        if (row < attn_selection_dims(heads->selection)->n_position &&
            attn_selection_has_query(heads->selection, row))
            return true;
    return false;
}

/* The tile of rows ROW .. of the feed, of the head at INDEX of the wave's list. */
static struct attn_tile make_tile(const struct wave *wave, size_t index, size_t offset)
{
    const struct attn_heads *heads = wave->heads;
    const size_t row = wave->first + offset, rest = wave->n_row - offset;
    const size_t head = (size_t)wave->list[index] - heads->first_head;
    const size_t at = index * wave->n_row + offset;
    struct attn_tile tile = {
        .attention = heads->attention,
        .scale = wave->scale,
        .kv = &heads->kv[head / (heads->n_head / heads->n_kv_head)],
        .row0 = heads->row0 + row,
        .n_row = rest < ATTN_QUERY_TILE ? rest : ATTN_QUERY_TILE,
        .n_key = heads->n_key,
        .ahead = heads->ahead,
        .dropout = heads->dropout,
        .keep = {.ld = wave->ld},
        .ldz = heads->ldz,
        .layer = heads->layer,
        .head = wave->list[index],
        .edits = heads->edits,
        .n_edit = heads->n_edit,
    };

    if (heads->q != NULL)
        tile.q = heads->q + head * heads->q_step + row * heads->engines->shape.ldq;
    if (heads->given != NULL)
        tile.given = heads->given + (head * heads->n_row + row) * heads->n_key;
    if (heads->z != NULL)
        tile.z = heads->z + head * heads->z_step + row * heads->ldz;
    for (int i = 0; i < ATTN_N_MATRIX_SITE; i++)
        if (wave->kept[i] != NULL)
            tile.keep.sites[i] = wave->kept[i] + at * wave->ld;
    if (wave->keys != NULL) {
        tile.keep.keys = wave->keys + at * wave->ld;
        tile.keep.n_kept = heads->memory->n_cells + at;
    }
    return tile;
}

static void run_tile(void *context, size_t task, int worker)
{
    const struct wave *wave = context;
    const struct attn_heads *heads = wave->heads;
    const size_t n_tile = (wave->n_row + ATTN_QUERY_TILE - 1) / ATTN_QUERY_TILE;
    const struct attn_tile tile = make_tile(wave, task / n_tile, task % n_tile * ATTN_QUERY_TILE);
    float *scratch = heads->memory->scratch[worker];

    if (heads->cancel != NULL && *heads->cancel != 0)
        return;
    if (!needs_tile(wave, tile.row0, tile.n_row)) {
        for (size_t i = 0; tile.z != NULL && i < tile.n_row; i++)
            memset(tile.z + i * tile.ldz, 0, heads->engines->shape.d_value * sizeof(float));
        return;
    }
    heads->memory->edited[worker] += attn_attention_engine(heads->attention) == ATTN_ENGINE_GATHER
                                         ? attn_gather_run(&heads->engines->gather, &tile, scratch)
                                         : attn_dense_run(&heads->engines->dense, &tile, scratch);
}

static void tell_matrix(const struct wave *wave, enum attn_site site, size_t index)
{
    const struct attn_heads *heads = wave->heads;
    const bool is_masked = attn_attention_masks(heads->attention, site);
    const bool is_causal = heads->attention->mask == ATTN_MASK_CAUSAL;
    const size_t at = index * wave->n_row;
    struct attn_trace_event event = {
        .site = site,
        .layer = heads->layer,
        .head = wave->list[index],
        .row0 = heads->row0 + wave->first,
        .n_row = wave->n_row,
        .n_col = site == ATTN_SITE_PATTERN_LOWRANK ? wave->ld : heads->n_key,
        .ld = wave->ld,
        .data = wave->kept[site - ATTN_SITE_QK] + at * wave->ld,
        /* qk has all its cells; of these a shorter feed would lack the later ones. */
        .is_causal = is_causal && (is_masked || site == ATTN_SITE_QK),
        .ahead = heads->ahead,
    };

    if (wave->keys != NULL && is_masked) {
        event.keys = wave->keys + at * wave->ld;
        event.n_kept = heads->memory->n_cells + at;
    }
    heads->owner.tell(heads->owner.owner, &event);
}

static void run_wave(struct wave *wave)
{
    const struct attn_heads *heads = wave->heads;
    const size_t n_tile = (wave->n_row + ATTN_QUERY_TILE - 1) / ATTN_QUERY_TILE;

    if (heads->owner.is_stopped(heads->owner.owner))
        return;
    attn_pool_run(heads->pool, wave->n_head * n_tile, run_tile, wave);
    for (int i = 0; i < ATTN_N_MATRIX_SITE; i++)
        for (size_t h = 0; h < wave->n_head && wave->kept[i] != NULL; h++)
            if (!heads->owner.is_stopped(heads->owner.owner))
                tell_matrix(wave, (enum attn_site)(ATTN_SITE_QK + i), h);
}

/* Gives the watched matrices of a wave their places. Returns the rows that fit for n_head heads. */
static size_t keep_matrices(struct wave *wave)
{
    const struct attn_heads *heads = wave->heads;
    const size_t n = n_matrix(heads->attention, heads->watched);
    size_t n_fit = wave->n_row, size;
    float *place = heads->memory->kept;

    if (n > 0)
        n_fit = heads->memory->n_kept / (n * wave->n_head * wave->ld);
    if (n_fit < wave->n_row)
        n_fit = n_fit / ATTN_QUERY_TILE * ATTN_QUERY_TILE;
    size = (n_fit < wave->n_row ? n_fit : wave->n_row) * wave->n_head * wave->ld;
    wave->keys = NULL;
    if (n > 0 && attn_attention_is_listed(heads->attention)) {
        wave->keys = (void *)place;
        place += size;
    }
    for (int i = 0; i < ATTN_N_MATRIX_SITE; i++) {
        const bool is_watched = (heads->watched & ATTN_SITE_BIT(ATTN_SITE_QK + i)) != 0;

        wave->kept[i] = is_watched ? place : NULL;
        place += is_watched ? size : 0;
    }
    return n_fit;
}

/* The heads in LIST one by one, each in as many waves as its watched matrices need. */
static void run_heads_apart(struct wave *wave, const int *list, size_t n)
{
    const size_t n_row = wave->heads->n_row;

    wave->n_head = 1;
    for (size_t i = 0; i < n; i++) {
        wave->list = &list[i];
        for (wave->first = 0; wave->first < n_row; wave->first += wave->n_row) {
            size_t n_fit;

            wave->n_row = n_row - wave->first;
            n_fit = keep_matrices(wave);
            if (n_fit < wave->n_row)
                wave->n_row = n_fit;
            run_wave(wave);
        }
    }
}

size_t attn_heads_run(const struct attn_heads *heads)
{
    int *watched = heads->memory->heads, *others = watched + heads->n_head;
    size_t n_watched = 0, n_other = 0, n_edited = 0;
    struct wave wave = {.heads = heads,
                        .scale =
                            attn_attention_scale(heads->attention, heads->engines->shape.d_head),
                        .n_row = heads->n_row,
                        .ld = row_size(heads->attention, heads->n_key)};

    memset(heads->memory->edited, 0, (size_t)heads->n_worker * sizeof(size_t));
    for (size_t i = 0; i < heads->n_head; i++) {
        const int head = (int)(heads->first_head + i);

        if (!heads->owner.needs_head(heads->owner.owner, head))
            continue;
        if (heads->selection != NULL &&
            attn_selection_has_head(heads->selection, heads->layer, head))
            watched[n_watched++] = head;
        else
            others[n_other++] = head;
    }
    if (n_other > 0) {
        wave.list = others;
        wave.n_head = n_other;
        run_wave(&wave);
    }
    if (n_watched > 0) {
        wave.list = watched;
        wave.n_head = n_watched;
        if (keep_matrices(&wave) >= wave.n_row)
            run_wave(&wave);
        else
            run_heads_apart(&wave, watched, n_watched);
    }
    for (int i = 0; i < heads->n_worker; i++)
        n_edited += heads->memory->edited[i];
    return n_edited;
}

/* --- What comes before ---------------------------------------------------------------------- */

void attn_heads_remember(const struct attn_attention *attention,
                         const struct attn_dense_shape *shape, const struct attn_kernels *kernels,
                         struct attn_kv *kv, const struct attn_kv_rows *rows)
{
    const size_t d = shape->d_head;

    attn_kv_write_values(kv, shape, rows);
    if (rows->k == NULL)
        return;
    if (attn_attention_engine(attention) == ATTN_ENGINE_DENSE) {
        kernels->pack_keys(rows->k, rows->ldk, rows->n, d, rows->first, kv->keys);
        return;
    }
    for (size_t i = 0; i < rows->n; i++)
        memcpy(kv->keys + (rows->first + i) * d, rows->k + i * rows->ldk, d * sizeof(float));
}

void attn_rows_normalize(float *x, size_t ld, size_t n, size_t d)
{
    for (size_t i = 0; i < n; i++) {
        float *row = x + i * ld, length = 0;

        for (size_t j = 0; j < d; j++)
            length = fmaf(row[j], row[j], length);
        length = sqrtf(length);
        for (size_t j = 0; j < d; j++)
            row[j] = length > 0 ? row[j] / length : 0;
    }
}

void attn_dropout_draw(struct attn_random *random, double dropout, size_t n, uint64_t *bits)
{
    memset(bits, 0, (n + 63) / 64 * sizeof *bits);
    for (size_t i = 0; i < n; i++)
        bits[i / 64] |= (uint64_t)attn_random_bernoulli(random, 1 - dropout) << (i % 64);
}
