/*
 * backward.c - see backward.h: creates the backward pass and runs it layer by layer.
 *
 * Memory: the tensors of one layer that gradients need, in the session that recomputes layers;
 * their gradients, here; and two sums over queries for the keys of each head.
 */
#include "gradient/backward.h"

#include "attention/attention_internal.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "forward/logit_rows.h"
#include "gradient/backward_internal.h"
#include "trace/blocks_internal.h"
#include "trace/trace_internal.h"

#include <assert.h>
#include <string.h>

enum { TURNED_FROM_RUNS = 8 }; /* number of runs from which a transposed copy of the weights pays */

/* --- Models without gradients ----------------------------------------------------------------- */

/* Checks that a backward pass goes through all parts of MODEL. */
static enum attn_status check_parts(const struct attn_model *model, struct attn_error *err)
{
    if (!attn_config_unread_layers(&model->config))
        return ATTN_OK;
    return attn_refuse(
        err, ATTN_STAGE_OPTIONS,
        "there are no gradients of '%s' yet: no backward pass goes through layers %s",
        attn_quote_string(model->name).text, attn_config_unread_layers(&model->config));
}

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

/* Checks what MODEL, a decoder or an encoder, computes with ATTENTION before its output layer. */
static enum attn_status check_layers(const struct attn_model *model,
                                     const struct attn_attention *attention,
                                     enum attn_backward_rule rule, struct attn_error *err)
{
    const struct attn_config *config = &model->config;
    const struct attn_quote name = attn_quote_string(model->name);

    if (!config->has_residual)
        return attn_error_set(err, ATTN_INVALID,
                              "gradients need a residual stream, which '%s' does not have",
                              name.text);
    if (rule != ATTN_BACKWARD_PLAIN && config->n_expert > 0)
        return attn_error_set(err, ATTN_INVALID,
                              "rules of relevance are not defined for experts, which '%s' has",
                              name.text);
    if (config->stream)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "the lambdas of '%s' have no gradients in this version", name.text);
    if (config->places.n_conv > 0 || (config->embed_norm_is_late && config->has_embed_map))
        return attn_error_set(
            err, ATTN_UNSUPPORTED, "the %s of '%s' has no gradients in this version",
            config->places.n_conv > 0 ? "convolution" : "map of the embedding", name.text);
    if (model->compute != ATTN_COMPUTE_F32)
        return attn_error_set(err, ATTN_INVALID,
                              "gradients are computed in float32, not in bfloat16 (`compute`)");
    for (size_t layer = 0; layer < config->n_layer; layer++)
        ATTN_TRY(check_layer(&attention[layer], layer, err));
    return ATTN_OK;
}

enum attn_status attn_backward_check(const struct attn_model *model,
                                     const struct attn_attention *attention,
                                     enum attn_backward_rule rule, struct attn_error *err)
{
    const struct attn_config *config = &model->config;
    const struct attn_quote name = attn_quote_string(model->name);

    ATTN_TRY(check_parts(model, err));
    if (config->output == ATTN_OUTPUT_NONE)
        return attn_error_set(err, ATTN_INVALID,
                              "gradients are those of logits, and '%s' has no output layer",
                              name.text);
    if (model->encoder)
        ATTN_TRY(check_layers(model->encoder, model->encoder->config.attention, rule, err));
    return check_layers(model, attention, rule, err);
}

static enum attn_status check_edit(const struct attn_model *model, const struct attn_edit *edit,
                                   struct attn_error *err)
{
    const struct attn_quote name = attn_quote_string(attn_site_name(edit->at.site));
    const enum attn_site site = edit->at.site;
    const bool is_set = edit->op == ATTN_EDIT_ZERO || edit->op == ATTN_EDIT_REPLACE;
    const bool has_gradient = !attn_sites_are_empty(attn_sites_gradients_of(ATTN_SITES(site)));
    const bool is_clipped = site == ATTN_SITE_Q || site == ATTN_SITE_K || site == ATTN_SITE_V;

    if (edit->op == ATTN_EDIT_FUNCTION)
        return attn_error_set(err, ATTN_INVALID,
                              "gradients do not go through the function that edits '%s'",
                              name.text);
    if (!has_gradient || (!attn_site_is_in_layer(site) && site != ATTN_SITE_EMBED))
        return attn_error_set(err, ATTN_INVALID,
                              "gradients do not go through an edit of '%s', expected one of a "
                              "layer or of 'embed'",
                              name.text);
    if (site == ATTN_SITE_EMBED && attn_backward_reads_embeddings(model))
        return attn_error_set(err, ATTN_INVALID,
                              "gradients do not go through an edit of 'embed' in '%s', where a "
                              "norm or a map follows",
                              attn_quote_string(model->name).text);
    if (site == ATTN_SITE_ATTN_SCORES && is_set)
        return attn_error_set(err, ATTN_INVALID,
                              "gradients do not go through '%s' that are set, because that may "
                              "open masked keys",
                              name.text);
    if (is_clipped && !is_set && model->config.qkv_clip > 0)
        return attn_error_set(err, ATTN_INVALID,
                              "gradients do not go through '%s' that is changed after it was "
                              "clipped, expected one that is set",
                              name.text);
    return ATTN_OK;
}

enum attn_status attn_backward_check_edits(const struct attn_model *model,
                                           const struct attn_edit *edits, size_t n_edit,
                                           struct attn_error *err)
{
    for (size_t i = 0; i < n_edit; i++)
        ATTN_TRY(check_edit(model, &edits[i], err));
    return ATTN_OK;
}

bool attn_backward_reads_embeddings(const struct attn_model *model)
{
    return model->weights.ln_embed.w.data || model->weights.embed_map.weight.data;
}

/* --- Recomputed layers ------------------------------------------------------------------------ */

/* Implements attn_trace_fn: stores q, k and the sum with attention before they are normalized. */
static enum attn_status on_event(void *user, const struct attn_trace_event *event,
                                 struct attn_error *err)
{
    struct attn_backward *b = user;
    float *kept = event->at.site == ATTN_SITE_Q           ? b->q
                  : event->at.site == ATTN_SITE_K         ? b->k
                  : event->at.site == ATTN_SITE_RESID_MID ? b->mid
                                                          : NULL;

    (void)err;
    if (kept)
        attn_trace_keep_rows(event, b->pool, event->ld, kept);
    if (b->own_stream)
        attn_trace_keep_stream(event, b->pool, &b->f->dims, b->own_stream);
    /* The final rows are those of the last layer. */
    if (b->final_rows && event->at.site == b->f->end.site)
        attn_trace_keep_rows(event, b->pool, event->ld, b->final_rows);
    return ATTN_OK;
}

/* Returns the site of the final rows. */
static enum attn_site final_site(const struct attn_backward *b, const struct attn_dims *dims)
{
    return b->model->config.has_final_norm ? ATTN_SITE_LN_FINAL : attn_site_of_output(dims);
}

/* Selects the tensors that the session recomputes in a layer: up to the last one that gradients
 * need, and those that the forward pass would overwrite. */
static enum attn_status select_recomputed(struct attn_backward *b, const struct attn_dims *dims,
                                          size_t n_goal, struct attn_error *err)
{
    const struct attn_config *config = &b->model->config;
    struct attn_site_set sites = {0};

    b->last_computed = config->d_mlp == 0      ? ATTN_SITE_Z
                       : config->has_gated_mlp ? ATTN_SITE_MLP_PRE_LINEAR
                                               : ATTN_SITE_MLP_PRE;
    if (config->d_mlp > 0)
        sites = ATTN_SITES(ATTN_SITE_MLP_PRE);
    if (attn_config_reads_raw_qk(config))
        attn_sites_extend(&sites, ATTN_SITES(ATTN_SITE_Q, ATTN_SITE_K));
    if (config->norm_place == ATTN_NORM_SUM || config->n_expert > 0)
        attn_sites_add(&sites, ATTN_SITE_RESID_MID);
    if (n_goal == 0) /* the pass is for attn_backward_feed */
        attn_sites_extend(
            &sites, ATTN_SITES(ATTN_SITE_RESID_PRE, ATTN_SITE_RESID_POST, final_site(b, dims)));
    attn_sites_add(&sites, b->last_computed);
    sites = attn_sites_common(sites, dims->sites);
    ATTN_TRY(attn_selection_create(dims, &b->computed, err));
    return attn_selection_set_sites(b->computed, sites, err);
}

/* --- Creating --------------------------------------------------------------------------------- */

static float *take(struct attn_backward *b, size_t n_col)
{
    return attn_arena_take(&b->arena, b->n_row, n_col * sizeof(float));
}

/* Returns the largest number of watched matrices in a layer, over all heads. */
static size_t n_watched_matrix(const struct attn_backward *b)
{
    const struct attn_selection *selection = b->asked_by->selection;
    size_t most = 0;

    for (int layer = 0; layer < (int)b->f->dims.n_layer; layer++) {
        const struct attn_site_set watched = attn_heads_back_watched(selection, layer);
        const struct attn_location at =
            attn_layer_at(&b->f->dims, ATTN_SITE_PATTERN, (size_t)layer);
        const size_t n = attn_sites_count(watched) * attn_selection_count_heads(selection, &at);

        most = n > most ? n : most;
    }
    return most;
}

static void plan_logits(struct attn_backward *b, size_t n_goal)
{
    const size_t n_vocab = b->f->dims.n_vocab;
    const bool has_cap = b->model->config.logits_cap > 0;
    const bool has_head = b->model->config.head_act_fn || b->model->config.has_output_map;
    const size_t d_read = b->model->weights.unembed.weight.n_row;
    const struct attn_pool_steps *pool = b->model->config.pool_head;

    if (n_goal == 0) { /* the gradient of the final rows is given */
        b->own_stream = take(b, (b->f->dims.n_layer + 1) * b->f->dims.d_model);
        return;
    }
    b->n_logit_row = attn_logit_rows_at_once(n_vocab, n_goal);
    b->logits = attn_arena_take(&b->arena, b->n_logit_row, n_vocab * sizeof(float));
    b->raw = attn_arena_take(&b->arena, has_cap ? b->n_logit_row : 0, n_vocab * sizeof(float));
    b->d_logits = attn_arena_take(&b->arena, b->n_logit_row, n_vocab * sizeof(float));
    b->column = attn_arena_take(&b->arena, 3 * d_read, sizeof(float));
    b->modules = attn_arena_take(&b->arena, 3, b->model->sentence.most * sizeof(float));
    b->pool_head = attn_arena_take(&b->arena, pool ? pool->back_size(&b->model->config, b->n) : 0,
                                   sizeof(float));
    b->d_head = has_head ? take(b, d_read) : NULL;
    b->head =
        has_head ? attn_arena_take(&b->arena, 3 * b->n_logit_row, d_read * sizeof(float)) : NULL;
}

/* Plans buffers that share memory: the gradients of the heads use that of the MLP, which is done
 * before the heads begin. */
static void plan_shared(struct attn_backward *b)
{
    const struct attn_config *config = &b->model->config;
    const size_t d_q = config->n_head * config->d_head, d_k = config->n_kv_head * config->d_head;
    const size_t d_v = config->n_kv_head * config->d_value;
    const size_t n_head_float = d_q + d_k + d_v + config->n_head * config->d_value;
    const size_t d_mlp = attn_config_widest_mlp(config);
    const size_t n_mlp_float = (config->has_gated_mlp ? 2 : 1) * d_mlp;
    float *shared = take(b, n_head_float > n_mlp_float ? n_head_float : n_mlp_float);

    if (!shared) /* the arena is only measuring */
        return;
    b->d_mlp = b->d_q = shared;
    b->d_mlp_linear = b->d_mlp + b->n * d_mlp;
    b->d_k = b->d_q + b->n * d_q;
    b->d_v = b->d_k + b->n_row * d_k;
    b->d_z = b->d_v + b->n_row * d_v;
}

static void plan(struct attn_backward *b, size_t n_goal)
{
    const struct attn_forward *f = b->f;
    const struct attn_config *config = &b->model->config;
    const size_t d = config->d_model, d_q = config->n_head * config->d_head;
    const size_t d_k = config->n_kv_head * config->d_head;
    /* Embeddings are stored there. */
    const size_t d_rows = config->d_embed > d ? config->d_embed : d;
    const size_t d_widest = d_rows > config->d_source ? d_rows : config->d_source;
    const bool has_norms = attn_config_reads_raw_qk(config);
    const bool has_sum_norms = config->norm_place == ATTN_NORM_SUM;
    const struct attn_heads_back_sizes sizes = {.heads = {.shape = f->shape,
                                                          .n_head = config->n_head,
                                                          .n_kv_head = config->n_kv_head,
                                                          .n_query = b->n,
                                                          .n_key = b->n_row,
                                                          .n_worker = f->n_worker},
                                                .attention = f->attention,
                                                .n_layer = config->n_layer,
                                                .n_watched = n_watched_matrix(b),
                                                .has_swap = b->swaps,
                                                .has_edits = b->n_edit > 0};

    b->d = take(b, d_widest);
    b->d_normed = take(b, d);
    b->product = take(b, d_widest);
    b->unnormed = take(b, d_widest); /* pages that no norm writes are never touched */
    b->d_branch = take(b, config->has_parallel_residual ? d : 0);
    b->resid = take(b, has_sum_norms ? d : 0);
    b->edited = take(b, b->n_edit > 0 ? d : 0);
    b->d_source = take(b, b->needs_source ? config->d_source : 0);
    b->mid = has_sum_norms && !b->kept ? take(b, d) : NULL;
    b->q = take(b, has_norms && !b->kept ? d_q : 0);
    b->k = take(b, has_norms && !b->kept ? d_k : 0);
    b->d_router = take(b, config->n_expert);
    plan_shared(b);
    plan_logits(b, n_goal);
    attn_heads_back_plan(&b->heads, &b->arena, &sizes);
}

static enum attn_status build(struct attn_backward *b, const struct attn_backward_options *options,
                              struct attn_error *err)
{
    struct attn_session_options session = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_dims dims = attn_config_dims(&b->model->config, options->n);

    ATTN_TRY(check_parts(b->model, err));
    dims.n_source = options->n_source;
    attn_attention_set_dims(options->attention, &dims);
    assert(options->n_goal == 0 || options->embeddings ||
           !attn_backward_reads_embeddings(b->model));
    if (options->n_goal > 0)
        ATTN_TRY(attn_backward_check(b->model, options->attention, b->rule, err));
    if (options->swaps && b->model->config.places.n > 0)
        return attn_error_set(
            err, ATTN_UNSUPPORTED,
            "the scores of '%s' have terms of positions, for which estimates with "
            "other queries or keys are not defined in this version",
            attn_quote_string(b->model->name).text);
    ATTN_TRY(attn_backward_check_edits(b->model, options->edits, options->n_edit, err));
    ATTN_TRY(attn_backward_take_edits(b, options, err));
    ATTN_TRY(select_recomputed(b, &dims, options->n_goal, err));
    b->trace = (struct attn_trace){.selection = b->computed, .on_event = on_event, .user = b};
    session.n_max = options->n;
    session.cache = ATTN_CACHE_ONE_LAYER;
    session.reads_once = options->reads_once;
    session.has_logits = b->model->config.head_act_fn || dims.is_pooled;
    session.key_mask = options->key_mask;
    session.n_key_mask = options->key_mask ? options->n : 0;
    session.n_source = options->n_source;
    session.source_mask = options->source_mask;
    session.n_source_mask = options->source_mask ? options->n_source : 0;
    session.positions = options->positions;
    session.pool = options->pool;
    session.trace = &b->trace;
    session.attention = options->attention;
    session.cancel = options->cancel;
    session.gemm = options->gemm;
    session.isa = options->isa;
    session.edits = b->edits;
    session.n_edit = b->n_edit;
    ATTN_TRY(attn_session_create_keeping(b->model, &session, &b->session, err));
    b->f = &b->session->forward;
    if (attn_plan_work(b->f, b->n) >= ATTN_SHARED_WORK)
        b->pool = options->pool;
    plan(b, options->n_goal);
    ATTN_TRY(attn_arena_allocate(&b->arena, err));
    plan(b, options->n_goal);
    if (options->n_run >= TURNED_FROM_RUNS) {
        const struct attn_packing packing = {.compute = ATTN_COMPUTE_F32,
                                             .kernels = attn_kernels_find(options->isa),
                                             .pool = options->pool};

        ATTN_TRY(
            attn_weights_turn(&b->model->weights, &b->model->config, b->model->st, &packing, err));
        b->turned = b->model->weights.turned->blocks;
    }
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
    made->text = options->text;
    made->embeddings = options->embeddings;
    made->n = options->n;
    made->n_row = options->n > options->n_source ? options->n : options->n_source;
    made->source = options->source;
    made->n_source = options->n_source;
    made->needs_source = options->needs_source;
    made->skips_zeros = options->skips_zeros;
    ATTN_RETURN_MADE(build(made, options, err), backward, made, attn_backward_free);
}

void attn_backward_free(struct attn_backward *backward)
{
    if (!backward)
        return;
    attn_session_free(backward->session);
    attn_selection_free(backward->computed);
    attn_free(backward->edits);
    attn_free(backward->back_edits);
    attn_arena_release(&backward->arena);
    attn_free(backward);
}

/* --- Running ---------------------------------------------------------------------------------- */

/* Returns the layer at which the backward pass ends: the first layer with wanted gradients. */
static int last_layer(const struct attn_backward *b)
{
    const struct attn_selection *selection = b->asked_by->selection;
    const int n_layer = (int)b->f->dims.n_layer;
    const struct attn_site_set derived = attn_sites_derived();

    if (b->swaps || attn_selection_wants_block(selection, ATTN_SITE_EMBED_GRAD, ATTN_NO_LAYER))
        return 0;
    for (int layer = 0; layer < n_layer; layer++) {
        if (b->needs_source && b->model->config.is_cross[layer])
            return layer;
        for (int site = 0; site < ATTN_N_SITE; site++)
            if (attn_sites_have(derived, site) && attn_site_is_in_layer(site) &&
                attn_selection_wants_block(selection, site, layer))
                return layer;
    }
    return n_layer;
}

struct attn_backward_rows attn_backward_rows(const struct attn_model *model, const int32_t *ids,
                                             size_t n, const struct attn_backward_goal *goal)
{
    size_t first, n_row;

    if (model->config.pooling == ATTN_POOLING_NONE)
        return (struct attn_backward_rows){goal->first,
                                           model->config.is_encoder ? goal->first + goal->n : n};
    n_row = attn_config_pooled_rows(&model->config, ids, n, &first);
    return (struct attn_backward_rows){first, first + n_row};
}

enum attn_status attn_backward_feed(struct attn_backward *backward, const float *x, float *rows,
                                    struct attn_error *err)
{
    struct attn_forward *f = backward->f;

    attn_session_reset(backward->session);
    backward->session->n_edit = backward->n_edit;
    f->end = attn_forward_place(f, final_site(backward, &f->dims), (int)f->dims.n_layer - 1);
    backward->final_rows = rows;
    backward->embeddings = x;
    ATTN_TRY(attn_session_feed_rows(backward->session, backward->text, x, err));
    backward->final_rows = NULL;
    return ATTN_OK;
}

/* Sets the gradient of the stream before LAYER, if GOAL gives that, and adds what GOAL adds. */
static void enter_stream(struct attn_backward *b, const struct attn_backward_goal *goal, int layer)
{
    if (goal->given && goal->is_of_stream && (size_t)layer + goal->n_above == b->f->dims.n_layer)
        memcpy(b->d, goal->given, b->n * b->model->config.d_model * sizeof *b->d);
    for (size_t i = 0; i < goal->n_added; i++)
        if (goal->added_layers[i] + 1 == (size_t)layer)
            b->f->engine.kernels->add(b->d, goal->added[i], b->n * b->model->config.d_model, b->d);
}

enum attn_status attn_backward_run(struct attn_backward *backward, const float *stream,
                                   const struct attn_backward_goal *goal, struct attn_error *err)
{
    struct attn_backward *b = backward;
    struct attn_backward_rows rows;

    b->stream = stream ? stream : b->own_stream;
    b->layer = ATTN_NO_LAYER;
    rows = attn_backward_rows(b->model, b->text ? b->text->ids : NULL, b->n, goal);
    b->first = b->skips_zeros ? rows.first : 0;
    b->end = b->skips_zeros ? rows.end : b->n;
    b->last_layer = last_layer(b);
    b->is_done = false;
    b->status = ATTN_OK;
    b->err = err;
    if (b->needs_source)
        memset(b->d_source, 0, b->n_source * b->model->config.d_source * sizeof *b->d_source);
    if (b->source && !b->kept) {
        attn_session_reset(b->session);
        ATTN_TRY(attn_session_set_source(b->session, b->source, b->n_source, err));
    }
    /* Otherwise recomputing a layer fills the table. */
    for (size_t i = 0; b->kept && i < b->f->n_rotary; i++)
        attn_rotary_fill(&b->f->rotaries[i], b->f->engine.kernels, 0, b->n, b->n, b->pool);
    attn_output_back(b, goal);
    enter_stream(b, goal, (int)b->f->dims.n_layer);
    attn_check_back(b, b->d, b->n * b->model->config.d_model);
    for (int layer = (int)b->f->dims.n_layer - 1;
         layer >= b->last_layer && !attn_backward_is_over(b); layer--) {
        attn_block_back(b, layer);
        enter_stream(b, goal, layer);
    }
    if (b->last_layer == 0)
        attn_embedding_back(b);
    return b->status;
}

const float *attn_backward_stream(const struct attn_backward *backward, size_t layer)
{
    return backward->own_stream + layer * backward->n * backward->model->config.d_model;
}

const float *attn_backward_embedding(const struct attn_backward *backward)
{
    return attn_model_maps_first(backward->model) ? backward->product : backward->d;
}

const float *attn_backward_source(const struct attn_backward *backward)
{
    return backward->d_source;
}
