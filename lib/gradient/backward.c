/*
 * backward.c - see backward.h: creates and runs the backward pass, layer by layer.
 *
 * Memory: the tensors of one layer that gradients read, in the session that computes layers again;
 * their gradients, here; and two sums over queries for the keys of each head.
 */
#include "gradient/backward.h"

#include "attention/attention_internal.h"
#include "base/escape.h"
#include "base/status_internal.h"
#include "gradient/backward_internal.h"
#include "trace/trace_internal.h"

enum {
    LOGIT_BYTES = 16 << 20, /* logits at a time, if one row fits */
};

/* --- Models without gradients ----------------------------------------------------------------- */

static enum attn_status check_layer(const struct attn_attention *attention, size_t layer,
                                    struct attn_error *err)
{
    const char *what = attn_attention_kind_name(attention->kind);
    const enum attn_engine engine = attn_attention_engine(attention);

    if (engine == ATTN_ENGINE_LINEAR || engine == ATTN_ENGINE_LOWRANK)
        return attn_error_set(err, ATTN_INVALID,
                              "gradients go through a softmax over keys, and '%s' attention of "
                              "layer %zu has none",
                              what, layer);
    if (attention->dropout > 0)
        return attn_error_set(err, ATTN_INVALID, "there are no gradients with `dropout`");
    if (attention->masking != ATTN_MASKING_INF)
        return attn_error_set(err, ATTN_INVALID,
                              "gradients expect that masked scores are minus infinity, which is "
                              "`masking` inf");
    if (attention->similarity != ATTN_SIMILARITY_DOT)
        return attn_error_set(err, ATTN_INVALID, "there are no gradients with `similarity` cosine");
    return ATTN_OK;
}

enum attn_status attn_backward_check(const struct attn_model *model,
                                     const struct attn_attention *attention, struct attn_error *err)
{
    const struct attn_config *config = &model->config;
    const struct attn_quote name = attn_quote_string(model->name);

    if (config->output == ATTN_OUTPUT_NONE)
        return attn_error_set(err, ATTN_INVALID,
                              "gradients are those of logits, and '%s' has no output layer",
                              name.text);
    if (config->is_encoder)
        return attn_error_set(err, ATTN_INVALID,
                              "gradients of encoders are not computed yet, and '%s' is an encoder",
                              name.text);
    if (!config->has_residual)
        return attn_error_set(err, ATTN_INVALID,
                              "gradients need a residual stream, which '%s' does not have",
                              name.text);
    if (model->compute != ATTN_COMPUTE_F32)
        return attn_error_set(err, ATTN_INVALID,
                              "gradients are computed in float32, not in bfloat16 (`compute`)");
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        if (config->is_cross[layer])
            return attn_error_set(err, ATTN_INVALID,
                                  "there are no gradients through layer %zu of '%s', which attends "
                                  "to a source",
                                  layer, name.text);
        ATTN_TRY(check_layer(&attention[layer], layer, err));
    }
    return ATTN_OK;
}

/* --- layers computed again -------------------------------------------------------------------- */

/* An attn_trace_fn: keeps q and k before their norms. */
static enum attn_status on_event(void *user, const struct attn_trace_event *event,
                                 struct attn_error *err)
{
    struct attn_backward *b = user;
    float *kept = event->site == ATTN_SITE_Q ? b->q : event->site == ATTN_SITE_K ? b->k : NULL;

    (void)err;
    if (kept)
        attn_trace_keep_rows(event, b->pool, event->ld, kept);
    return ATTN_OK;
}

/* Selects the tensors that the session computes again in a layer: up to the last one that gradients
 * read, and those that a line of the forward pass would overwrite. */
static enum attn_status choose_computed(struct attn_backward *b, const struct attn_dims *dims,
                                        struct attn_error *err)
{
    const struct attn_config *config = &b->model->config;
    attn_site_set sites = 0;

    b->last_computed = config->d_mlp == 0      ? ATTN_SITE_Z
                       : config->has_gated_mlp ? ATTN_SITE_MLP_PRE_LINEAR
                                               : ATTN_SITE_MLP_PRE;
    if (config->d_mlp > 0)
        sites = ATTN_SITE_BIT(ATTN_SITE_MLP_PRE);
    if (config->qk_norm != ATTN_QK_NORM_NONE)
        sites |= ATTN_SITE_BIT(ATTN_SITE_Q) | ATTN_SITE_BIT(ATTN_SITE_K);
    sites |= ATTN_SITE_BIT(b->last_computed);
    ATTN_TRY(attn_selection_create(dims, &b->computed, err));
    return attn_selection_set_sites(b->computed, sites, err);
}

/* --- creating --------------------------------------------------------------------------------- */

static float *take(struct attn_backward *b, size_t n_col)
{
    return attn_arena_take(&b->arena, b->n, n_col * sizeof(float));
}

/* The most matrices of one layer that are watched, all heads counted. */
static size_t n_watched_matrix(const struct attn_backward *b)
{
    const struct attn_selection *selection = b->asked_by->selection;
    size_t most = 0;

    for (int layer = 0; layer < (int)b->f->dims.n_layer; layer++) {
        const attn_site_set watched = attn_heads_back_watched(selection, layer);
        const size_t n = (size_t)__builtin_popcountll(watched) *
                         (watched != 0 ? attn_selection_n_head(selection, layer) : 0);

        most = n > most ? n : most;
    }
    return most;
}

static void plan_logits(struct attn_backward *b, size_t n_goal)
{
    const size_t n_vocab = b->f->dims.n_vocab, n_fit = LOGIT_BYTES / sizeof(float) / n_vocab;
    const bool has_cap = b->model->config.logits_cap > 0;

    b->n_logit_row = n_fit < n_goal ? n_fit : n_goal;
    b->n_logit_row = b->n_logit_row == 0 ? 1 : b->n_logit_row;
    b->logits = attn_arena_take(&b->arena, b->n_logit_row, n_vocab * sizeof(float));
    b->raw = attn_arena_take(&b->arena, has_cap ? b->n_logit_row : 0, n_vocab * sizeof(float));
    b->d_logits = attn_arena_take(&b->arena, b->n_logit_row, n_vocab * sizeof(float));
}

/* The MLP is done when the heads begin: their gradients lie where its were. */
static void plan_shared(struct attn_backward *b)
{
    const struct attn_config *config = &b->model->config;
    const size_t d_q = config->n_head * config->d_head, d_k = config->n_kv_head * config->d_head;
    const size_t d_v = config->n_kv_head * config->d_value;
    const size_t n_head_float = d_q + d_k + d_v + config->n_head * config->d_value;
    const size_t n_mlp_float = (config->has_gated_mlp ? 2 : 1) * config->d_mlp;
    float *shared = take(b, n_head_float > n_mlp_float ? n_head_float : n_mlp_float);

    if (!shared) /* measuring */
        return;
    b->d_mlp = b->d_q = shared;
    b->d_mlp_linear = b->d_mlp + b->n * config->d_mlp;
    b->d_k = b->d_q + b->n * d_q;
    b->d_v = b->d_k + b->n * d_k;
    b->d_z = b->d_v + b->n * d_v;
}

static void plan(struct attn_backward *b, size_t n_goal)
{
    const struct attn_forward *f = b->f;
    const struct attn_config *config = &b->model->config;
    const size_t d = config->d_model, d_q = config->n_head * config->d_head;
    const size_t d_k = config->n_kv_head * config->d_head;
    const bool has_norms = config->qk_norm != ATTN_QK_NORM_NONE;
    const struct attn_heads_back_sizes sizes = {.heads = {.shape = f->shape,
                                                          .n_head = config->n_head,
                                                          .n_kv_head = config->n_kv_head,
                                                          .n_query = b->n,
                                                          .n_key = b->n,
                                                          .n_worker = f->n_worker},
                                                .attention = f->attention,
                                                .n_layer = config->n_layer,
                                                .n_watched = n_watched_matrix(b),
                                                .has_swap = b->swaps};

    b->d = take(b, d);
    b->d_normed = take(b, d);
    b->product = take(b, d);
    b->unnormed = take(b, d); /* pages that no norm fills are never touched */
    b->d_branch = take(b, config->has_parallel_residual ? d : 0);
    b->q = take(b, has_norms && !b->kept ? d_q : 0);
    b->k = take(b, has_norms && !b->kept ? d_k : 0);
    plan_shared(b);
    plan_logits(b, n_goal);
    attn_heads_back_plan(&b->heads, &b->arena, &sizes);
}

static enum attn_status build(struct attn_backward *b, const struct attn_backward_options *options,
                              struct attn_error *err)
{
    struct attn_session_options session = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_dims dims = attn_config_dims(&b->model->config, options->n);

    attn_attention_set_dims(options->attention, &dims);
    ATTN_TRY(attn_backward_check(b->model, options->attention, err));
    ATTN_TRY(choose_computed(b, &dims, err));
    b->trace = (struct attn_trace){b->computed, on_event, b};
    session.n_max = options->n;
    session.cache = ATTN_CACHE_ONE_LAYER;
    session.reads_once = options->reads_once;
    session.pool = options->pool;
    session.trace = &b->trace;
    session.attention = options->attention;
    session.cancel = options->cancel;
    session.gemm = options->gemm;
    session.isa = options->isa;
    ATTN_TRY(attn_session_create_keeping(b->model, &session, &b->session, err));
    b->f = &b->session->forward;
    if (attn_plan_work(b->f, b->n) >= ATTN_SHARED_WORK)
        b->pool = options->pool;
    plan(b, options->n_goal);
    ATTN_TRY(attn_arena_allocate(&b->arena, err));
    plan(b, options->n_goal);
    return ATTN_OK;
}

enum attn_status attn_backward_create(const struct attn_model *model,
                                      const struct attn_backward_options *options,
                                      struct attn_backward **backward, struct attn_error *err)
{
    struct attn_backward *made;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->model = model;
    made->asked_by = options->trace;
    made->rule = options->rule;
    made->kept = options->kept;
    made->swaps = options->swaps;
    made->n = options->n;
    made->skips_zeros = options->skips_zeros;
    ATTN_RETURN_MADE(build(made, options, err), backward, made, attn_backward_free);
}

void attn_backward_free(struct attn_backward *backward)
{
    if (!backward)
        return;
    attn_session_free(backward->session);
    attn_selection_free(backward->computed);
    attn_arena_release(&backward->arena);
    attn_free(backward);
}

/* --- running ---------------------------------------------------------------------------------- */

/* Where the backward pass ends: the first layer whose gradients are wanted. */
static int last_layer(const struct attn_backward *b)
{
    const struct attn_selection *selection = b->asked_by->selection;
    const int n_layer = (int)b->f->dims.n_layer;
    const attn_site_set derived = attn_sites_derived();

    if (b->swaps || attn_selection_wants(selection, ATTN_SITE_EMBED_GRAD, ATTN_NO_LAYER))
        return 0;
    for (int layer = 0; layer < n_layer; layer++)
        for (int site = 0; site < ATTN_N_SITE; site++)
            if ((derived & ATTN_SITE_BIT(site)) != 0 && attn_site_is_in_layer(site) &&
                attn_selection_wants(selection, site, layer))
                return layer;
    return n_layer;
}

enum attn_status attn_backward_run(struct attn_backward *backward, const float *stream,
                                   const struct attn_backward_goal *goal, struct attn_error *err)
{
    struct attn_backward *b = backward;

    b->stream = stream;
    b->layer = ATTN_NO_LAYER;
    b->first = b->skips_zeros ? goal->first : 0;
    b->last_layer = last_layer(b);
    b->is_done = false;
    b->status = ATTN_OK;
    b->err = err;
    for (size_t i = 0; b->kept && i < b->f->n_rotary; i++) /* a layer again would do so */
        attn_rotary_fill(&b->f->rotaries[i], b->f->engine.kernels, 0, b->n, b->pool);
    attn_output_back(b, goal);
    attn_check_back(b, b->d, b->n * b->model->config.d_model);
    for (int layer = (int)b->f->dims.n_layer - 1;
         layer >= b->last_layer && !attn_backward_is_over(b); layer--)
        attn_block_back(b, layer);
    if (b->last_layer == 0)
        attn_report_back(b, ATTN_SITE_EMBED_GRAD, b->d);
    return b->status;
}
