/* heads.c - see heads.h. */
#include "attention/heads_state.h"

#include <string.h>

/* Watched matrices of a wave from so many bytes on are stored past the caches: by the time that they
 * are told, the first of them would have left anyway. */
enum { STREAM_BYTES = 16 << 20 };

struct wave {
    const struct attn_heads *heads;
    float scale;
    const int *list; /* [n_head] */
    size_t n_head;
    size_t first, n_row;             /* rows of the feed; first is a multiple of the tile */
    size_t ld;                       /* of a watched row */
    float *kept[ATTN_N_MATRIX_SITE]; /* [n_head, n_row, ld] each, or NULL */
    int32_t *keys;                   /* likewise */
    bool is_kept;                    /* anything of that */
    bool is_streamed;                /* too much of it for caches */
};

/* Whether the z of some row is needed; whether somebody watches one. Rows of the whole sequence. */
static bool needs_rows(const struct attn_heads *heads, size_t row0, size_t n_row)
{
    return heads->z != NULL && heads->owner.needs_rows(heads->owner.owner, row0, n_row);
}

static bool watches_rows(const struct attn_heads *heads, size_t row0, size_t n_row)
{
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
        .n_key = heads->attention->kind == ATTN_ATTENTION_LOWRANK ? wave->ld : heads->n_key,
        .ahead = heads->ahead,
        .dropout = heads->dropout,
        .keep = {.is_streamed = wave->is_streamed, .ld = wave->ld},
        .ldz = heads->ldz,
        .layer = heads->tile_layer,
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

/* z by its own way, and the watched matrices, if any, by theirs. Returns the rows edited. */
static size_t run_engine(const struct attn_heads *heads, struct attn_tile *tile, bool is_watched,
                         float *scratch)
{
    const struct attn_engines *engines = heads->engines;
    const struct attn_blockwise_tile blocks = {
        .is_causal = heads->attention->mask == ATTN_MASK_CAUSAL,
        .scale = tile->scale,
        .q = tile->q,
        .kv = tile->kv,
        .position = tile->row0 + tile->ahead,
        .n_row = tile->n_row,
        .n_key = tile->n_key,
        .z = tile->z,
        .ldz = tile->ldz,
    };

    switch (attn_attention_engine(heads->attention)) {
    case ATTN_ENGINE_GATHER:
        return attn_gather_run(&engines->gather, tile, scratch);
    case ATTN_ENGINE_LINEAR:
        if (is_watched)
            attn_heads_run_linear_tile(heads, tile, scratch);
        return 0;
    case ATTN_ENGINE_BLOCKWISE:
        if (tile->z != NULL)
            attn_blockwise_run(engines->gemm, &engines->shape, &blocks, scratch);
        tile->z = NULL;
        return is_watched ? attn_dense_run(&engines->dense, tile, scratch) : 0;
    default:
        return attn_dense_run(&engines->dense, tile, scratch);
    }
}

static void run_tile(void *context, size_t task, int worker)
{
    const struct wave *wave = context;
    const struct attn_heads *heads = wave->heads;
    const bool is_linear = attn_attention_engine(heads->attention) == ATTN_ENGINE_LINEAR;
    const size_t n_tile = (wave->n_row + ATTN_QUERY_TILE - 1) / ATTN_QUERY_TILE;
    struct attn_tile tile = make_tile(wave, task / n_tile, task % n_tile * ATTN_QUERY_TILE);
    const bool is_watched = wave->is_kept && watches_rows(heads, tile.row0, tile.n_row);
    const bool is_needed = needs_rows(heads, tile.row0, tile.n_row);

    if (heads->cancel != NULL && *heads->cancel != 0)
        return;
    if (is_needed || is_watched)
        heads->memory->edited[worker] +=
            run_engine(heads, &tile, is_watched, heads->memory->scratch[worker]);
    else
        for (size_t i = 0; tile.z != NULL && !is_linear && i < tile.n_row; i++)
            memset(tile.z + i * tile.ldz, 0, heads->engines->shape.d_value * sizeof(float));
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
    const size_t n = attn_heads_n_matrix(heads->attention, heads->watched);
    size_t n_fit = wave->n_row, size;
    float *place = heads->memory->kept;

    if (n > 0)
        n_fit = heads->memory->n_kept / (n * wave->n_head * wave->ld);
    if (n_fit < wave->n_row)
        n_fit = n_fit / ATTN_QUERY_TILE * ATTN_QUERY_TILE;
    size = (n_fit < wave->n_row ? n_fit : wave->n_row) * wave->n_head * wave->ld;
    wave->is_kept = n > 0;
    wave->is_streamed = n * size >= STREAM_BYTES / sizeof(float);
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
                        .ld = attn_heads_row_size(heads->attention, heads->n_key)};

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
    if (attn_attention_engine(heads->attention) == ATTN_ENGINE_LINEAR)
        attn_heads_run_linear(heads);
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
