/* heads.c - see heads.h. Chooses the engine for an attention, plans the memory of a layer, prepares
 * its inputs, and runs its waves. */
#include "attention/heads.h"

#include "attention/attention_internal.h"
#include "attention/keys.h"
#include "base/memory.h"
#include "base/os/thread.h"
#include "base/pool_internal.h"
#include "trace/trace_extra.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <string.h>

enum {
    /* Bytes for watched matrices of a layer, unless one tile needs more. */
    WATCHED_BYTES = 64 << 20,
    /* From this size on, watched matrices of a wave are stored past the caches: the first ones
       would be evicted anyway before the trace reads them. */
    STREAM_BYTES = 16 << 20,
    ROWS_TAKEN = 64, /* rows in a wave of all heads, if the trace accepts that order */
};

enum attn_engine attn_attention_engine(const struct attn_attention *attention)
{
    const struct attn_kind_engine *own = attn_kind_find(attention)->engine;

    if (own)
        return own->engine;
    if (attention->algorithm == ATTN_ALGORITHM_BLOCKWISE)
        return ATTN_ENGINE_BLOCKWISE;
    if (!attn_attention_is_listed(attention) || attn_keys_are_near(attention))
        return ATTN_ENGINE_DENSE;
    return ATTN_ENGINE_GATHER;
}

void attn_engines_plan(struct attn_engines *engines, const struct attn_gemm_engine *gemm,
                       const struct attn_head_shape *shape, const struct attn_attention *attention,
                       size_t n, size_t n_row)
{
    bool is_used[ATTN_N_ENGINE] = {false};

    engines->gemm = gemm;
    for (size_t i = 0; i < n; i++)
        is_used[attn_attention_engine(&attention[i])] = true;
    if (is_used[ATTN_ENGINE_DENSE] && shape->is_bf16)
        attn_dense_plan(&engines->rounded, gemm, shape, true, n_row);
    if ((is_used[ATTN_ENGINE_DENSE] && !shape->is_bf16) || is_used[ATTN_ENGINE_BLOCKWISE] ||
        is_used[ATTN_ENGINE_LOWRANK])
        attn_dense_plan(&engines->dense, gemm, shape, false, n_row);
    if (is_used[ATTN_ENGINE_GATHER])
        attn_gather_plan(&engines->gather, gemm, shape);
}

/* Returns the stride of watched rows, in floats. */
static size_t row_size(const struct attn_attention *attention, size_t n_key)
{
    if (attention->kind == ATTN_ATTENTION_LOWRANK)
        return attention->count;
    return attn_attention_is_listed(attention) ? attn_keys_largest(attention, n_key) : n_key;
}

/* Returns how many matrices to store: the watched sites and, if cells are listed, the lists. */
static size_t n_matrix(const struct attn_attention *attention, struct attn_site_set watched)
{
    size_t n = 0;

    for (int i = 0; i < ATTN_N_MATRIX_SITE; i++)
        n += attn_sites_have(watched, ATTN_SITE_QK + i);
    return n == 0 ? 0 : n + attn_attention_is_listed(attention);
}

static void make_at_least(size_t *size, size_t n)
{
    *size = n > *size ? n : *size;
}

size_t attn_heads_state_size(const struct attn_attention *attention,
                             const struct attn_head_shape *shape)
{
    const struct attn_kind_engine *own = attn_kind_find(attention)->engine;

    return own && own->state_size ? own->state_size(shape) : 0;
}

/* Adds the memory that the engine of ATTENTION needs, without watched matrices, to NEEDS. */
static void include_engine(struct attn_heads_needs *needs, const struct attn_heads_sizes *sizes,
                           const struct attn_attention *attention, struct attn_site_set watched)
{
    const struct attn_head_shape *shape = &sizes->shape;
    const struct attn_kind_engine *own = attn_kind_find(attention)->engine;
    const size_t dense = attn_dense_scratch(shape, attention);

    if (own) {
        const struct attn_heads_needs more =
            own->needs(sizes, attention, !attn_sites_are_empty(watched));

        make_at_least(&needs->n_scratch, more.n_scratch);
        make_at_least(&needs->n_divisor, more.n_divisor);
        make_at_least(&needs->n_feature, more.n_feature);
        make_at_least(&needs->n_map, more.n_map);
    }
    switch (attn_attention_engine(attention)) {
    case ATTN_ENGINE_GATHER:
        make_at_least(&needs->n_scratch, attn_gather_scratch(shape, attention));
        break;
    case ATTN_ENGINE_LINEAR:
        break;
    case ATTN_ENGINE_BLOCKWISE:
        make_at_least(&needs->n_scratch, attn_blockwise_scratch(shape));
        if (!attn_sites_are_empty(watched))
            make_at_least(&needs->n_scratch, dense);
        break;
    default:
        make_at_least(&needs->n_scratch, dense);
        if (shape->is_bf16)
            make_at_least(&needs->n_scratch, attn_kv_rounding_scratch(shape));
    }
}

void attn_heads_needs_include(struct attn_heads_needs *needs, const struct attn_heads_sizes *sizes,
                              const struct attn_attention *attention, struct attn_site_set watched,
                              size_t n_watched_head)
{
    const size_t n_query = sizes->n_query, ld = row_size(attention, sizes->n_key);
    const size_t n_tile_row = n_query < ATTN_QUERY_TILE ? n_query : ATTN_QUERY_TILE;
    const size_t n = n_matrix(attention, watched);
    const size_t all = attn_size_mul(attn_size_mul(n_query, ld), attn_size_mul(n, n_watched_head));
    size_t limit = attn_size_mul(n, attn_size_mul(n_tile_row, ld));

    make_at_least(&limit, WATCHED_BYTES / sizeof(float));
    make_at_least(&needs->n_watched, all < limit ? all : limit);
    if (n > 0 && attn_attention_is_listed(attention))
        make_at_least(&needs->n_cells, attn_size_mul(n_query, sizes->n_head));
    if (attention->dropout > 0 && !attention->dropout_mask.cells)
        make_at_least(&needs->n_dropout,
                      attn_size_mul(attn_size_mul(sizes->n_head, n_query), sizes->n_key) / 64 + 1);
    include_engine(needs, sizes, attention, watched);
}

void attn_heads_plan(struct attn_heads_memory *memory, struct attn_arena *arena,
                     const struct attn_heads_sizes *sizes, const struct attn_heads_needs *needs)
{
    const size_t n_worker = (size_t)sizes->n_worker;

    memory->n_watched = needs->n_watched;
    memory->watched = attn_arena_take(arena, needs->n_watched, sizeof *memory->watched);
    memory->n_cells = attn_arena_take(arena, needs->n_cells, sizeof *memory->n_cells);
    memory->dropout = attn_arena_take(arena, needs->n_dropout, sizeof *memory->dropout);
    memory->divisors = attn_arena_take(arena, needs->n_divisor, sizeof *memory->divisors);
    memory->features = attn_arena_take(arena, needs->n_feature, sizeof *memory->features);
    memory->maps = attn_arena_take(arena, needs->n_map, sizeof *memory->maps);
    memory->map_rank = 0;
    memory->edited = attn_arena_take(arena, n_worker, sizeof *memory->edited);
    memory->heads = attn_arena_take(arena, 2 * sizes->n_head, sizeof *memory->heads);
    memory->scratch = attn_arena_take(arena, n_worker, sizeof *memory->scratch);
    for (size_t i = 0; i < n_worker; i++) {
        float *scratch = attn_arena_take(arena, needs->n_scratch, sizeof *scratch);

        if (memory->scratch)
            memory->scratch[i] = scratch;
    }
}

struct attn_site_set attn_heads_watched_sites(const struct attn_selection *selection,
                                              struct attn_location at)
{
    struct attn_site_set watched = {0};

    for (at.site = ATTN_SITE_QK; at.site <= ATTN_SITE_PATTERN_LOWRANK && selection; at.site++)
        if (attn_selection_wants(selection, &at))
            attn_sites_add(&watched, at.site);
    return watched;
}

/* --- Keys and values ------------------------------------------------------------------------- */

/* Whether the engine multiplies values that are rounded to bfloat16. */
static bool is_rounded(const struct attn_heads *heads)
{
    return heads->feed.shape->is_bf16 &&
           attn_attention_engine(heads->feed.attention) == ATTN_ENGINE_DENSE;
}

void attn_heads_append_kv(const struct attn_heads *heads, size_t g, int worker,
                          const struct attn_kv_rows *rows)
{
    const struct attn_head_shape *shape = heads->feed.shape;
    const enum attn_engine engine = attn_attention_engine(heads->feed.attention);
    const struct attn_kind_engine *own = attn_kind_find(heads->feed.attention)->engine;
    const size_t d = shape->d_head;
    struct attn_kv *kv = &heads->kv[g];

    if (rows->first == 0)
        kv->n_summed = 0;
    attn_kv_set_bf16(kv, shape, is_rounded(heads));
    if (kv->is_bf16) {
        attn_kv_write_rounded(kv, heads->engines->gemm->kernels, shape, rows,
                              heads->memory->scratch[worker]);
        return;
    }
    if (own && own->append) {
        own->append(heads, kv, rows);
        return;
    }
    attn_kv_write_values(kv, shape, rows);
    if (!rows->k)
        return;
    if (engine == ATTN_ENGINE_DENSE || engine == ATTN_ENGINE_BLOCKWISE) {
        heads->engines->gemm->kernels->pack_keys(rows->k, rows->ldk, rows->n, d, rows->first,
                                                 kv->keys);
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

/* --- Waves ----------------------------------------------------------------------------------- */

struct wave {
    const struct attn_heads *heads;
    const int *list; /* [n_head] the heads of this wave */
    size_t n_head;
    size_t first, n_row; /* rows of the feed; `first` is a multiple of the tile height */
    size_t ld;           /* stride of a watched row */
    float *sites[ATTN_N_MATRIX_SITE]; /* [n_head, n_row, ld] for each site; NULL: not watched */
    int32_t *keys;                    /* [n_head, n_row, ld] lists of cells; NULL: not listed */
    bool has_watched;                 /* some of these matrices exist */
    bool is_streamed;                 /* they exceed the caches, so they are stored past them */
};

/* Returns the tile that begins OFFSET rows into WAVE, for the head at INDEX of its list. */
static struct attn_tile make_tile(const struct wave *wave, size_t index, size_t offset)
{
    const struct attn_heads *heads = wave->heads;
    const size_t row = wave->first + offset, rest = wave->n_row - offset;
    const size_t head = (size_t)wave->list[index] - heads->first_head;
    const size_t at = index * wave->n_row + offset;
    struct attn_tile tile = {
        .feed = &heads->feed,
        .head = wave->list[index],
        .row0 = heads->feed.row0 + row,
        .n_row = rest < ATTN_QUERY_TILE ? rest : ATTN_QUERY_TILE,
        .n_key =
            heads->feed.attention->kind == ATTN_ATTENTION_LOWRANK ? wave->ld : heads->feed.n_key,
        .kv = &heads->kv[head / (heads->n_head / heads->n_kv_head)],
        .watched = {.is_streamed = wave->is_streamed, .ld = wave->ld},
    };

    if (heads->q)
        tile.q = heads->q + head * heads->q_step + row * heads->feed.shape->ldq;
    if (heads->given)
        tile.given = heads->given + (head * heads->feed.n_row + row) * heads->feed.n_key;
    if (heads->z)
        tile.z = heads->z + head * heads->z_step + row * heads->feed.ldz;
    if (heads->sink_weights)
        tile.sink_weights = heads->sink_weights + row * heads->n_head + head;
    tile.ld_sink = heads->n_head;
    for (int i = 0; i < ATTN_N_MATRIX_SITE; i++)
        if (wave->sites[i])
            tile.watched.sites[i] = wave->sites[i] + at * wave->ld;
    if (wave->keys) {
        tile.watched.keys = wave->keys + at * wave->ld;
        tile.watched.n_cell = heads->memory->n_cells + at;
    }
    return tile;
}

/* Runs the engine of the attention on TILE, and for kinds whose watched matrices are computed
 * separately, the engine for those if IS_WATCHED. Returns the number of rows that edits changed. */
static size_t run_engine(const struct attn_heads *heads, struct attn_tile *tile, bool is_watched,
                         float *scratch)
{
    const struct attn_engines *engines = heads->engines;

    switch (attn_attention_engine(heads->feed.attention)) {
    case ATTN_ENGINE_GATHER:
        return attn_gather_run(&engines->gather, tile, scratch);
    case ATTN_ENGINE_LINEAR:
        if (is_watched)
            attn_kind_find(heads->feed.attention)->engine->run_tile(heads, tile, scratch);
        return 0;
    case ATTN_ENGINE_BLOCKWISE:
        if (tile->z)
            attn_blockwise_run(engines->gemm, tile, scratch);
        tile->z = NULL;
        return is_watched ? attn_dense_run(&engines->dense, tile, scratch) : 0;
    default:
        return attn_dense_run(is_rounded(heads) ? &engines->rounded : &engines->dense, tile,
                              scratch);
    }
}

static void run_tile(void *context, size_t task, int worker)
{
    const struct wave *wave = context;
    const struct attn_heads *heads = wave->heads;
    const bool is_linear = attn_attention_engine(heads->feed.attention) == ATTN_ENGINE_LINEAR;
    const size_t n_tile = (wave->n_row + ATTN_QUERY_TILE - 1) / ATTN_QUERY_TILE;
    struct attn_tile tile = make_tile(wave, task / n_tile, task % n_tile * ATTN_QUERY_TILE);
    const bool is_needed =
        heads->z && heads->caller.needs_rows(heads->caller.context, tile.row0, tile.n_row);
    bool is_watched = false;

    if (attn_is_canceled(heads->cancel))
        return;
    for (size_t row = tile.row0; wave->has_watched && row < tile.row0 + tile.n_row; row++)
        is_watched = is_watched ||
                     (heads->selection && row < attn_selection_dims(heads->selection)->n_position &&
                      attn_selection_has_query(heads->selection, ATTN_STACK_ONLY, row));
    if (is_needed || is_watched)
        heads->memory->edited[worker] +=
            run_engine(heads, &tile, is_watched, heads->memory->scratch[worker]);
    else
        for (size_t i = 0; tile.z && !is_linear && i < tile.n_row; i++)
            memset(tile.z + i * heads->feed.ldz, 0, heads->feed.shape->d_value * sizeof(float));
}

static void emit_matrix(const struct wave *wave, enum attn_site site, size_t index)
{
    const struct attn_heads *heads = wave->heads;
    const bool is_masked = attn_attention_masks(heads->feed.attention, site);
    const bool is_causal = attn_keys_are_causal(heads->feed.attention);
    const size_t at = index * wave->n_row;
    struct attn_trace_event event = {
        .sequence = heads->feed.sequence,
        .at.site = site,
        .at.stack = heads->feed.at.stack,
        .at.layer = heads->feed.at.layer,
        .at.head = wave->list[index],
        .row0 = heads->feed.row0 + wave->first,
        .n_row = wave->n_row,
        .n_col = site == ATTN_SITE_PATTERN_LOWRANK ? wave->ld : heads->feed.n_key,
        .ld = wave->ld,
        .data = wave->sites[site - ATTN_SITE_QK] + at * wave->ld,
        /* qk contains all cells only if the whole sequence is fed; a shorter feed would lack later
           keys. */
        .is_causal = is_causal && (is_masked || site == ATTN_SITE_QK),
        .ahead = heads->feed.ahead,
    };

    if (wave->keys && is_masked) {
        event.keys = wave->keys + at * wave->ld;
        event.n_kept = heads->memory->n_cells + at;
    }
    heads->caller.emit(heads->caller.context, &event);
}

static void run_wave(struct wave *wave)
{
    const struct attn_heads *heads = wave->heads;
    const size_t n_tile = (wave->n_row + ATTN_QUERY_TILE - 1) / ATTN_QUERY_TILE;

    if (heads->caller.is_stopped(heads->caller.context))
        return;
    attn_pool_run(heads->pool, wave->n_head * n_tile, run_tile, wave);
    for (int i = 0; i < ATTN_N_MATRIX_SITE; i++)
        for (size_t h = 0; h < wave->n_head && wave->sites[i]; h++)
            if (!heads->caller.is_stopped(heads->caller.context))
                emit_matrix(wave, (enum attn_site)(ATTN_SITE_QK + i), h);
}

/* Assigns buffers to the watched matrices of WAVE. Returns how many rows fit in them. */
static size_t place_matrices(struct wave *wave)
{
    const struct attn_heads *heads = wave->heads;
    const size_t n = n_matrix(heads->feed.attention, heads->watched);
    size_t n_fit = wave->n_row, size;
    float *place = heads->memory->watched;

    if (n > 0)
        n_fit = heads->memory->n_watched / (n * wave->n_head * wave->ld);
    if (heads->takes_rows && n_fit > ROWS_TAKEN)
        n_fit = ROWS_TAKEN;
    if (n_fit < wave->n_row)
        n_fit = n_fit / ATTN_QUERY_TILE * ATTN_QUERY_TILE;
    size = (n_fit < wave->n_row ? n_fit : wave->n_row) * wave->n_head * wave->ld;
    wave->has_watched = n > 0;
    wave->is_streamed = n * size >= STREAM_BYTES / sizeof(float);
    wave->keys = NULL;
    if (n > 0 && attn_attention_is_listed(heads->feed.attention)) {
        wave->keys = (void *)place;
        place += size;
    }
    for (int i = 0; i < ATTN_N_MATRIX_SITE; i++) {
        const bool is_watched = attn_sites_have(heads->watched, ATTN_SITE_QK + i);

        wave->sites[i] = is_watched ? place : NULL;
        place += is_watched ? size : 0;
    }
    return n_fit;
}

/* Computes the heads of WAVE, a few rows at a time, so their watched matrices fit the buffer. */
static void run_rows(struct wave *wave)
{
    const size_t n_row = wave->heads->feed.n_row;

    for (wave->first = 0; wave->first < n_row; wave->first += wave->n_row) {
        size_t n_fit;

        wave->n_row = n_row - wave->first;
        n_fit = place_matrices(wave);
        if (n_fit < wave->n_row)
            wave->n_row = n_fit;
        run_wave(wave);
    }
}

size_t attn_heads_run(const struct attn_heads *heads)
{
    const struct attn_kind_engine *own = attn_kind_find(heads->feed.attention)->engine;
    int *watched = heads->memory->heads, *others = watched + heads->n_head;
    size_t n_watched = 0, n_other = 0, n_edited = 0;
    struct wave wave = {.heads = heads,
                        .n_row = heads->feed.n_row,
                        .ld = row_size(heads->feed.attention, heads->feed.n_key)};

    memset(heads->memory->edited, 0, (size_t)heads->n_worker * sizeof(size_t));
    for (size_t i = 0; i < heads->n_head; i++) {
        const int head = (int)(heads->first_head + i);
        struct attn_location at = heads->feed.at;

        at.head = head;
        if (!heads->caller.needs_head(heads->caller.context, head))
            continue;
        if (attn_selection_has_head(heads->selection, &at))
            watched[n_watched++] = head;
        else
            others[n_other++] = head;
    }
    if (own && own->run_heads)
        own->run_heads(heads);
    if (n_other > 0) {
        wave.list = others;
        wave.n_head = n_other;
        run_wave(&wave);
    }
    if (n_watched > 0) {
        wave.list = watched;
        wave.n_head = n_watched;
        if (heads->takes_rows && place_matrices(&wave) > 0) {
            run_rows(&wave);
        } else if (place_matrices(&wave) >= wave.n_row) {
            run_wave(&wave);
        } else {
            wave.n_head = 1;
            for (; wave.list < watched + n_watched; wave.list++)
                run_rows(&wave);
        }
    }
    for (int i = 0; i < heads->n_worker; i++)
        n_edited += heads->memory->edited[i];
    return n_edited;
}
