/*
 * heads.c - runs the attention of one layer: all heads and tiles over the pool, watched matrices
 * told in order.
 *
 * Work goes in waves: a list of heads and a range of rows whose watched matrices fit in the
 * session's buffer. When all of a layer fits there is one wave and events come ordered by site,
 * head and row; otherwise each head has waves of its own. Heads nobody watches are one wave that
 * keeps nothing.
 */
#include "model/session_state.h"

#include <string.h>

enum { N_MATRIX_SITE = ATTN_SITE_PATTERN - ATTN_SITE_QK + 1 };

struct wave {
    struct attn_session *session;
    int layer;
    const int *heads; /* [n_head] */
    size_t n_head;
    size_t first, n_row; /* rows of the step; first is a multiple of the tile */
    size_t n_key;
    bool is_causal;
    float *kept[N_MATRIX_SITE]; /* [n_head, n_row, n_key] each, or NULL */
};

/* Whether a later step or a watcher depends on some row of a tile. Earlier layers need all of
 * them. */
static bool needs_tile(const struct attn_session *session, int layer, size_t row0, size_t n_row)
{
    const size_t last = session->step.row0 + session->step.n_row - 1;
    const int n_layer = (int)session->config->n_layer;
    const int last_layer = session->end.layer < n_layer ? session->end.layer : n_layer - 1;

    if (layer != last_layer)
        return true;
    /* A rewind may make any position the last, unless only a reset is possible. */
    if (session->options.has_logits &&
        (session->options.cache == ATTN_CACHE_ALL_LAYERS || row0 + n_row > last))
        return true;
    for (size_t row = row0; row < row0 + n_row; row++)
        if (session->options.trace != NULL && attn_session_wants_row(session, row))
            return true;
    return false;
}

static const struct attn_kv *find_kv(const struct attn_session *session, int layer, int head)
{
    const struct attn_config *config = session->config;
    const size_t kv_head = (size_t)head / (config->n_head / config->n_kv_head);
    const size_t cached = (size_t)layer % session->n_cache_layer;

    return &session->kv[cached * config->n_kv_head + kv_head];
}

static void run_tile(void *context, size_t task, int worker)
{
    const struct wave *wave = context;
    struct attn_session *session = wave->session;
    const struct attn_config *config = session->config;
    const size_t n_tile = (wave->n_row + ATTN_QUERY_TILE - 1) / ATTN_QUERY_TILE;
    const size_t index = task / n_tile, offset = task % n_tile * ATTN_QUERY_TILE;
    const size_t row = wave->first + offset; /* of the step */
    const size_t rest = wave->n_row - offset;
    const int head = wave->heads[index];
    const size_t ldz = config->n_head * config->d_value;
    float *z = session->z + row * ldz + (size_t)head * config->d_value;
    struct attn_dense_tile tile = {
        .is_causal = wave->is_causal,
        .scale = attn_attention_scale(&session->options.attention[wave->layer], config->d_head),
        .q = session->q + row * session->shape.ldq + (size_t)head * config->d_head,
        .kv = find_kv(session, wave->layer, head),
        .row0 = session->step.row0 + row,
        .n_row = rest < ATTN_QUERY_TILE ? rest : ATTN_QUERY_TILE,
        .n_key = wave->n_key,
        .z = attn_session_needs(session, wave->layer, ATTN_SITE_Z) ? z : NULL,
        .ldz = ldz,
        .layer = wave->layer,
        .head = head,
        .edits = session->options.edits,
        .n_edit = session->options.n_edit,
    };
    float **const keep[N_MATRIX_SITE] = {&tile.keep.qk, &tile.keep.scores, &tile.keep.pattern};

    if (session->options.cancel != NULL && *session->options.cancel != 0)
        return;
    if (!needs_tile(session, wave->layer, tile.row0, tile.n_row)) {
        for (size_t i = 0; i < tile.n_row; i++)
            memset(z + i * ldz, 0, config->d_value * sizeof(float));
        return;
    }
    for (int i = 0; i < N_MATRIX_SITE; i++)
        if (wave->kept[i] != NULL)
            *keep[i] = wave->kept[i] + (index * wave->n_row + offset) * wave->n_key;
    session->edited[worker] += attn_dense_run(&session->dense, &tile, session->scratch[worker]);
}

static void tell_wave(const struct wave *wave)
{
    struct attn_session *session = wave->session;

    for (int i = 0; i < N_MATRIX_SITE; i++)
        for (size_t h = 0; h < wave->n_head && wave->kept[i] != NULL; h++) {
            const struct attn_trace_event event = {
                .site = (enum attn_site)(ATTN_SITE_QK + i),
                .layer = wave->layer,
                .head = wave->heads[h],
                .row0 = session->step.row0 + wave->first,
                .n_row = wave->n_row,
                .n_col = wave->n_key,
                .ld = wave->n_key,
                .data = wave->kept[i] + h * wave->n_row * wave->n_key,
                .is_causal = wave->is_causal,
            };

            if (session->step.status == ATTN_OK)
                attn_session_tell(session, &event);
        }
}

static void run_wave(struct wave *wave)
{
    struct attn_session *session = wave->session;
    const size_t n_tile = (wave->n_row + ATTN_QUERY_TILE - 1) / ATTN_QUERY_TILE;

    if (attn_session_is_stopped(session))
        return;
    memset(session->edited, 0, (size_t)session->n_worker * sizeof *session->edited);
    attn_pool_run(session->step.pool, wave->n_head * n_tile, run_tile, wave);
    for (int i = 0; i < session->n_worker; i++)
        session->n_edited += session->edited[i];
    if (!attn_session_is_stopped(session))
        tell_wave(wave);
}

/* Gives the watched matrices of a wave their places. Returns the rows that fit for N_HEAD heads. */
static size_t keep_matrices(struct wave *wave)
{
    const struct attn_session *session = wave->session;
    size_t n_site = 0, n_fit, size;
    float *place = session->kept;

    for (int i = 0; i < N_MATRIX_SITE; i++)
        n_site += attn_session_watches(session, (enum attn_site)(ATTN_SITE_QK + i), wave->layer);
    n_fit = n_site == 0 ? wave->n_row : session->n_kept / (n_site * wave->n_head * wave->n_key);
    if (n_fit < wave->n_row)
        n_fit = n_fit / ATTN_QUERY_TILE * ATTN_QUERY_TILE;
    size = (n_fit < wave->n_row ? n_fit : wave->n_row) * wave->n_head * wave->n_key;
    for (int i = 0; i < N_MATRIX_SITE; i++) {
        const enum attn_site site = (enum attn_site)(ATTN_SITE_QK + i);

        wave->kept[i] = attn_session_watches(session, site, wave->layer) ? place : NULL;
        place += wave->kept[i] != NULL ? size : 0;
    }
    return n_fit;
}

/* The heads in LIST one by one, each in as many waves as its watched matrices need. */
static void run_heads_apart(struct wave *wave, const int *list, size_t n)
{
    const size_t n_row = wave->session->step.n_row;

    wave->n_head = 1;
    for (size_t i = 0; i < n; i++) {
        wave->heads = &list[i];
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

void attn_session_attend(struct attn_session *session, int layer)
{
    const struct attn_trace *trace = session->options.trace;
    const bool is_cross = attn_session_is_cross(session, layer);
    int *watched = session->heads, *others = session->heads + session->config->n_head;
    size_t n_watched = 0, n_other = 0;
    struct wave wave = {
        .session = session,
        .layer = layer,
        .n_row = session->step.n_row,
        .n_key = is_cross ? session->n_source : session->step.row0 + session->step.n_row,
        .is_causal = !is_cross && session->options.attention[layer].mask == ATTN_MASK_CAUSAL};

    for (int head = 0; head < (int)session->config->n_head; head++) {
        if (!attn_session_needs_head(session, layer, head))
            continue;
        if (trace != NULL && attn_selection_has_head(trace->selection, layer, head))
            watched[n_watched++] = head;
        else
            others[n_other++] = head;
    }
    if (n_other > 0) {
        wave.heads = others;
        wave.n_head = n_other;
        run_wave(&wave);
    }
    if (n_watched == 0)
        return;
    wave.heads = watched;
    wave.n_head = n_watched;
    if (keep_matrices(&wave) >= wave.n_row)
        run_wave(&wave);
    else
        run_heads_apart(&wave, watched, n_watched);
}
