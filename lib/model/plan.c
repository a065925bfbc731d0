/*
 * plan.c - decides how far a session computes and lays out its memory.
 *
 * Only layers up to the last wanted tensor run; in the last one, only wanted heads when it ends
 * there. Everything before feeds the residual stream and is computed in full.
 */
#include "base/memory.h"
#include "model/session_state.h"

static bool is_later(struct attn_end a, struct attn_end b)
{
    return a.layer > b.layer || (a.layer == b.layer && a.site > b.site);
}

struct attn_end attn_session_find_end(const struct attn_session *session)
{
    const struct attn_trace *trace = session->options.trace;
    const int n_layer = (int)session->config->n_layer;
    struct attn_end end = {-1, ATTN_SITE_EMBED};

    if (session->options.has_logits)
        return (struct attn_end){n_layer, ATTN_SITE_LOGITS};
    if (trace == NULL)
        return end;
    for (int i = 0; i < ATTN_N_SITE; i++) {
        const enum attn_site site = (enum attn_site)i;

        if (!attn_site_is_in_layer(site)) {
            const struct attn_end found = {site == ATTN_SITE_EMBED ? -1 : n_layer, site};

            if (attn_selection_wants(trace->selection, site, ATTN_NO_LAYER) && is_later(found, end))
                end = found;
            continue;
        }
        for (int layer = 0; layer < n_layer; layer++)
            if (attn_selection_wants(trace->selection, site, layer) &&
                is_later((struct attn_end){layer, site}, end))
                end = (struct attn_end){layer, site};
    }
    return end;
}

bool attn_session_needs(const struct attn_session *session, int layer, enum attn_site site)
{
    return !is_later((struct attn_end){layer, site}, session->end);
}

bool attn_session_ends_in_heads(const struct attn_session *session, int layer)
{
    return layer == session->end.layer && session->end.site <= ATTN_SITE_Z;
}

bool attn_session_needs_head(const struct attn_session *session, int layer, int head)
{
    return !attn_session_ends_in_heads(session, layer) ||
           attn_selection_has_head(session->options.trace->selection, layer, head);
}

bool attn_session_needs_kv_head(const struct attn_session *session, int layer, int kv_head)
{
    return !attn_session_ends_in_heads(session, layer) ||
           attn_selection_has_kv_head(session->options.trace->selection, layer, kv_head);
}

double attn_session_work(const struct attn_session *session, size_t n_row)
{
    const struct attn_config *c = session->config;
    const double d = (double)c->d_model, n = (double)n_row;
    const double d_qk = (double)((c->n_head + c->n_kv_head) * c->d_head);
    const double d_v = (double)(c->n_kv_head * c->d_value), d_z = (double)(c->n_head * c->d_value);
    const double block = d * (d_qk + d_v) + d_z * d + 2 * d * (double)c->d_mlp;
    const double heads =
        (double)session->options.n_max * (double)c->n_head * (double)(c->d_head + c->d_value);

    return n * (double)(session->end.layer + 1) * (block + heads);
}

static size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* What the linear maps of a session need: the most of all. */
struct linear_needs {
    size_t n_scratch; /* floats, of each worker */
    size_t n_rounded; /* numbers of a row of x in bfloat16 */
};

static void raise_linear(struct linear_needs *needs, const struct attn_linear *linear)
{
    if (linear->weight.data == NULL)
        return;
    needs->n_scratch = max_size(needs->n_scratch, attn_linear_scratch(linear));
    needs->n_rounded = max_size(needs->n_rounded, attn_linear_depth(linear, ATTN_COMPUTE_BF16));
}

static struct linear_needs linear_needs(const struct attn_session *session)
{
    const struct attn_weights *weights = &session->model->weights;
    struct linear_needs needs = {0};

    for (size_t layer = 0; layer < session->config->n_layer; layer++)
        for (size_t i = 0; i < ATTN_BLOCK_N_LINEAR; i++)
            raise_linear(&needs, &weights->blocks[layer].linears[i]);
    if (session->end.site == ATTN_SITE_LOGITS)
        raise_linear(&needs, &weights->unembed);
    return needs;
}

static void plan_heads(struct attn_session *session, struct attn_arena *arena)
{
    const struct attn_trace *trace = session->options.trace;
    const struct attn_selection *selection = trace != NULL ? trace->selection : NULL;
    const struct attn_heads_sizes sizes = {.shape = session->shape,
                                           .n_head = session->config->n_head,
                                           .n_kv_head = session->config->n_kv_head,
                                           .n_query = session->options.n_max,
                                           .n_key = session->shape.n_max,
                                           .n_worker = session->n_worker};
    struct attn_heads_needs needs = {.n_scratch = linear_needs(session).n_scratch};

    for (size_t layer = 0; layer < session->config->n_layer; layer++)
        attn_heads_needs_include(&needs, &sizes, &session->attention[layer],
                                 attn_heads_watched_sites(selection, (int)layer),
                                 selection == NULL ? 0
                                                   : attn_selection_n_head(selection, (int)layer));
    attn_heads_plan(&session->heads, arena, &sizes, &needs);
}

static float *take(struct attn_arena *arena, size_t n_row, size_t n_col)
{
    /* A product that overflows would be too large for the arena as well: let it say so. */
    return attn_arena_take(arena, n_row, n_col * sizeof(float));
}

/* Floats of the states of linear attention: those of the layer with the largest. */
static size_t state_size(const struct attn_session *session)
{
    size_t size = 0;

    for (size_t layer = 0; layer < session->config->n_layer; layer++)
        size = max_size(size, attn_heads_state_size(&session->attention[layer], &session->shape));
    return size;
}

/* q, k, v and z are dead when the MLP begins: it works in their place. */
static void plan_shared(struct attn_session *session, struct attn_arena *arena)
{
    const struct attn_config *c = session->config;
    const size_t n = session->options.n_max, n_key = session->shape.n_max;
    const size_t d_q = c->n_head * c->d_head, d_k = c->n_kv_head * c->d_head;
    const size_t d_v = c->n_kv_head * c->d_value, d_z = c->n_head * c->d_value;
    const size_t n_head_float = n * (d_q + d_z) + n_key * (d_k + d_v);
    float *shared = take(arena, 1, max_size(n_head_float, n * c->d_mlp));

    if (shared == NULL) /* measuring */
        return;
    session->mlp = session->q = shared;
    session->k = session->q + n * d_q;
    session->v = session->k + n_key * d_k;
    session->z = session->v + n_key * d_v;
}

void attn_session_plan(struct attn_session *session, struct attn_arena *arena)
{
    const struct attn_config *c = session->config;
    const bool is_bf16 = session->compute == ATTN_COMPUTE_BF16;
    const size_t n = session->options.n_max;

    session->source = take(arena, session->options.n_source, c->d_source);
    session->resid = take(arena, n, c->d_model);
    session->normed = take(arena, n, c->d_model);
    plan_shared(session, arena);
    session->out = take(arena, n, c->d_model);
    session->rounded = attn_arena_take(arena, is_bf16 ? max_size(n, session->options.n_source) : 0,
                                       linear_needs(session).n_rounded * sizeof(uint16_t));
    session->vectors = take(arena, 2, c->d_model);
    session->n_logit_row = 0;
    if (attn_session_watches(session, ATTN_SITE_LOGITS, ATTN_NO_LAYER)) {
        session->n_logit_row = ATTN_LOGIT_BYTES / sizeof(float) / c->n_vocab;
        session->n_logit_row = session->n_logit_row == 0 ? 1 : session->n_logit_row;
        session->n_logit_row = session->n_logit_row > n ? n : session->n_logit_row;
    }
    session->logits = take(arena, session->n_logit_row, c->n_vocab);
    session->final = take(arena, session->options.has_logits ? n : 0, c->d_model);
    session->last_logits = take(arena, session->options.has_logits, c->n_vocab);
    session->stage.capacity = attn_stage_size(session);
    session->stage.bytes = attn_arena_take(arena, session->stage.capacity, 1);
    plan_heads(session, arena);
    session->kv = attn_kv_plan(arena, &session->shape, session->n_cache_layer * c->n_kv_head,
                               state_size(session));
}
