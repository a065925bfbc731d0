/* attend_layer.c - the attention of one layer of a session: what it remembers, and how it runs. */
#include "model/session_state.h"

#include <string.h>

/* A layer of a session, as attention/heads.h sees it. */
struct owner {
    struct attn_session *session;
    int layer;
};

static bool needs_head(const void *context, int head)
{
    const struct owner *owner = context;

    return attn_session_needs_head(owner->session, owner->layer, head);
}

/* Whether a later step depends on some row, or a watcher of a later site. Earlier layers need all
 * of them. */
static bool needs_rows(const void *context, size_t row0, size_t n_row)
{
    const struct owner *owner = context;
    const struct attn_session *session = owner->session;
    const size_t last = session->step.row0 + session->step.n_row - 1;
    const int n_layer = (int)session->config->n_layer;
    const int last_layer = session->end.layer < n_layer ? session->end.layer : n_layer - 1;

    if (owner->layer != last_layer)
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

static bool is_stopped(void *context)
{
    const struct owner *owner = context;

    return attn_session_is_stopped(owner->session);
}

static void tell(void *context, const struct attn_trace_event *event)
{
    const struct owner *owner = context;

    attn_session_tell(owner->session, event);
}

/* Which weights of a layer stay; draws them when they were not given. */
static struct attn_dropout find_dropout(struct attn_session *session, int layer, size_t n_key)
{
    const struct attn_attention *attention = &session->attention[layer];
    const size_t n_query = session->step.n_row;

    if (attention->dropout_mask.cells == NULL)
        attn_dropout_draw(&session->dropout, attention->dropout,
                          session->config->n_head * n_query * n_key, session->heads.dropout);
    return (struct attn_dropout){
        .given = attention->dropout_mask.cells != NULL ? &attention->dropout_mask : NULL,
        .bits = session->heads.dropout,
        .n_query = n_query,
        .n_key = n_key,
        .factor = 1.0F / (float)(1 - attention->dropout),
    };
}

/* LAYER of the step, without dropout. */
static struct attn_heads heads_of(struct owner *owner)
{
    struct attn_session *session = owner->session;
    const struct attn_config *config = session->config;
    const struct attn_trace *trace = session->options.trace;
    const struct attn_selection *selection = trace != NULL ? trace->selection : NULL;
    const int layer = owner->layer;
    const bool is_cross = attn_session_is_cross(session, layer);

    return (struct attn_heads){
        .feed = {.attention = &session->attention[layer],
                 .shape = &session->shape,
                 .layer = layer,
                 .random_layer = layer,
                 .row0 = session->step.row0,
                 .n_row = session->step.n_row,
                 .n_key = is_cross ? session->n_source : session->step.row0 + session->step.n_row,
                 .ldz = config->n_head * config->d_value,
                 .edits = session->options.edits,
                 .n_edit = session->options.n_edit},
        .engines = &session->engines,
        .memory = &session->heads,
        .caller = {needs_head, needs_rows, is_stopped, tell, owner},
        .pool = session->step.pool,
        .n_worker = session->n_worker,
        .cancel = session->options.cancel,
        .selection = selection,
        .watched = attn_heads_watched_sites(selection, layer),
        .n_head = config->n_head,
        .n_kv_head = config->n_kv_head,
        .q = session->q,
        .q_step = config->d_head,
        .kv = &session->kv[(size_t)layer % session->n_cache_layer * config->n_kv_head],
        .z = attn_session_needs(session, layer, ATTN_SITE_Z) ? session->z : NULL,
        .z_step = config->d_value,
    };
}

/* What a layer remembers of a step: the rows of all its key/value heads, side by side. */
struct memory {
    const struct attn_session *session;
    struct attn_heads heads;
    struct attn_kv_rows rows; /* of head 0 */
};

static void remember_head(void *context, size_t g, int worker)
{
    const struct memory *memory = context;
    const struct attn_session *session = memory->session;
    const size_t d_head = session->config->d_head;
    struct attn_kv_rows rows = memory->rows;

    (void)worker;
    if (!attn_session_needs_kv_head(session, memory->heads.feed.layer, (int)g))
        return;
    rows.k += g * d_head;
    rows.v = rows.v != NULL ? rows.v + g * session->config->d_value : NULL;
    if (memory->heads.feed.attention->similarity == ATTN_SIMILARITY_COSINE)
        attn_rows_normalize(session->k + g * d_head, rows.ldk, rows.n, d_head);
    attn_heads_append_kv(&memory->heads, g, &rows);
    /* Layers that share one cache may have held more rows before. */
    if (session->n_cache_layer == 1 && session->n_source > 0)
        attn_kv_erase(&memory->heads.kv[g], &session->shape, rows.first + rows.n,
                      session->shape.n_max);
}

void attn_session_remember(struct attn_session *session, int layer, size_t n_row, bool has_values)
{
    const struct attn_config *config = session->config;
    struct owner owner = {session, layer};
    struct memory memory = {
        .session = session,
        .heads = heads_of(&owner),
        .rows = {.k = session->k,
                 .v = has_values ? session->v : NULL,
                 .ldk = config->n_kv_head * config->d_head,
                 .ldv = config->n_kv_head * config->d_value,
                 .first = attn_session_is_cross(session, layer) ? 0 : session->step.row0,
                 .n = n_row}};
    const bool is_shared =
        attn_attention_engine(memory.heads.feed.attention) != ATTN_ENGINE_LOWRANK;

    /* Low-rank attention mixes one head after the other in one scratch. */
    attn_pool_run(is_shared ? session->step.pool : NULL, config->n_kv_head, remember_head, &memory);
}

void attn_session_attend(struct attn_session *session, int layer)
{
    const struct attn_config *config = session->config;
    const struct attn_attention *attention = &session->attention[layer];
    struct owner owner = {session, layer};
    struct attn_heads heads = heads_of(&owner);
    struct attn_dropout dropout;

    if (attention->similarity == ATTN_SIMILARITY_COSINE)
        for (size_t h = 0; h < config->n_head; h++)
            attn_rows_normalize(session->q + h * config->d_head, session->shape.ldq,
                                session->step.n_row, config->d_head);
    if (attention->dropout > 0 || attention->dropout_mask.cells != NULL) {
        dropout = find_dropout(session, layer, heads.feed.n_key);
        heads.feed.dropout = &dropout;
    }
    session->n_edited += attn_heads_run(&heads);
}
