/* session.c - sessions: creating, feeding, rewinding, resetting and freeing them; and their logits.
 */
#include "forward/session.h"

#include "attention/attention_internal.h"
#include "attention/keys.h"
#include "base/dtype_internal.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "forward/forward_internal.h"
#include "forward/session_internal.h"
#include "forward/step_internal.h"
#include "model/config_internal.h"
#include "trace/blocks_internal.h"
#include "trace/trace_internal.h"

#include <string.h>

ATTN_DEFAULTS(attn_session_options, .size = sizeof(struct attn_session_options),
              .isa = ATTN_ISA_BEST)

/* From this many rows on, pages of the embedding are released after they were read: the system maps
 * 64 KiB of the table for each row. */
static const size_t many_rows = 64;

/* --- Checks of the options -------------------------------------------------------------------- */

/* Returns the attention with which LAYER runs. */
static struct attn_attention find_attention(const struct attn_model *model,
                                            const struct attn_session_options *options,
                                            size_t layer)
{
    const struct attn_attention *from =
        options->attention ? options->attention : model->config.attention;
    const bool is_cross = model->config.is_cross[layer];
    const struct attn_position_numbers *patches = &options->positions;
    struct attn_attention attention = from[layer];

    if (is_cross && attention.mask == ATTN_MASK_CAUSAL)
        attention.mask = ATTN_MASK_NONE;
    attn_attention_resolve_stride(&attention, is_cross ? options->n_source : options->n_max);
    /* Blocks of a picture are blocks of its grid, if it has one. */
    if (patches->numbers && patches->n > 0 && model->config.image.patch_height > 0)
        attn_attention_resolve_grid(&attention, (size_t)patches->numbers[3 * patches->n - 1] + 1);
    return attention;
}

/* Checks that the layers can compute the watched sites. */
static enum attn_status check_attention(const struct attn_model *model,
                                        const struct attn_session_options *options,
                                        struct attn_error *err)
{
    const struct attn_trace *trace = options->trace;

    for (size_t layer = 0; layer < model->config.n_layer; layer++) {
        const struct attn_attention attention = find_attention(model, options, layer);
        const struct attn_site_set given = attn_attention_sites(&attention);
        const bool is_cross = model->config.is_cross[layer];

        ATTN_TRY(attn_attention_check(&attention, is_cross, err));
        ATTN_TRY(attn_attention_check_keys(&attention,
                                           is_cross ? options->n_source : options->n_max, err));
        for (int site = ATTN_SITE_QK; site <= ATTN_SITE_PATTERN_LOWRANK && trace; site++)
            if (!attn_sites_have(given, site) &&
                attn_selection_wants_block(trace->selection, (enum attn_site)site, (int)layer))
                return attn_error_set(err, ATTN_INVALID, "'%s' attention of layer %zu has no '%s'",
                                      attn_attention_kind_name(attention.kind), layer,
                                      attn_site_name((enum attn_site)site));
    }
    return ATTN_OK;
}

enum attn_status attn_session_check_edits(const struct attn_attention *attention,
                                          const struct attn_dims *dims,
                                          const struct attn_edit *edits, size_t n_edit,
                                          struct attn_error *err)
{
    for (size_t layer = 0; layer < dims->n_layer; layer++) {
        const enum attn_engine engine = attn_attention_engine(&attention[layer]);

        if (engine != ATTN_ENGINE_LINEAR && engine != ATTN_ENGINE_BLOCKWISE)
            continue;
        for (int site = ATTN_SITE_QK; site <= ATTN_SITE_PATTERN_LOWRANK; site++)
            if (attn_edits_touch(
                    edits, n_edit,
                    &(struct attn_location){.site = (enum attn_site)site, .layer = (int)layer}))
                return attn_error_set(err, ATTN_INVALID,
                                      "'%s' of layer %zu cannot be edited: %s attention computes z "
                                      "without it",
                                      attn_site_name((enum attn_site)site), layer,
                                      engine == ATTN_ENGINE_LINEAR ? "linear" : "blockwise");
    }
    return attn_edits_check(edits, n_edit, dims, err);
}

/* Checks that TRACE can watch a model with the sizes DIMS: consumers of events allocate by its
 * selection. */
static enum attn_status check_trace(const struct attn_trace *trace, const struct attn_model *model,
                                    const struct attn_dims *dims, struct attn_error *err)
{
    const struct attn_dims *wanted;
    struct attn_site_set sites;

    if (!attn_trace_is_given(trace, err))
        return ATTN_INVALID;
    wanted = attn_selection_dims(trace->selection);
    sites = attn_selection_sites_of(trace->selection, ATTN_STACK_ONLY);
    if (wanted->n_layer != dims->n_layer || wanted->n_head != dims->n_head ||
        wanted->n_kv_head != dims->n_kv_head || wanted->d_model != dims->d_model ||
        wanted->d_head != dims->d_head || wanted->d_value != dims->d_value ||
        wanted->d_mlp != dims->d_mlp || wanted->n_vocab != dims->n_vocab ||
        wanted->d_out != dims->d_out || wanted->d_embed != dims->d_embed ||
        wanted->d_projected != dims->d_projected || wanted->is_pooled != dims->is_pooled ||
        wanted->d_pooled != dims->d_pooled || wanted->n_front != dims->n_front ||
        wanted->n_rank < dims->n_rank || wanted->n_source > dims->n_source ||
        !attn_sites_are_empty(
            attn_sites_without(sites, attn_sites_join(dims->sites, attn_sites_derived()))))
        return attn_error_set(err, ATTN_INVALID,
                              "the selection was made for another model than '%s'",
                              attn_quote_string(model->name).text);
    if (attn_sites_meet(sites, attn_sites_derived()))
        return attn_error_set(err, ATTN_INVALID,
                              "derived sites are selected, and only a run has them, not a session");
    return ATTN_OK;
}

/* Checks that the model supports the masks of keys and of the source. */
static enum attn_status check_masks(const struct attn_model *model,
                                    const struct attn_session_options *options,
                                    struct attn_error *err)
{
    if (options->key_mask && !model->config.is_encoder)
        return attn_error_set(err, ATTN_INVALID, "'%s' is no encoder, so it takes no key mask",
                              attn_quote_string(model->name).text);
    if (options->key_mask)
        ATTN_TRY(attn_key_mask_check(options->key_mask, options->n_key_mask, 2, err));
    if (options->source_mask)
        ATTN_TRY(attn_key_mask_check(options->source_mask, options->n_source_mask, 1, err));
    for (size_t layer = 0; layer < model->config.n_layer; layer++) {
        const struct attn_attention attention = find_attention(model, options, layer);
        const bool is_cross = model->config.is_cross[layer];

        if ((is_cross ? options->source_mask : options->key_mask) &&
            attn_key_mask_check_kind(&attention, err) != ATTN_OK)
            return ATTN_INVALID;
    }
    return ATTN_OK;
}

/* Checks that the model has the logits or projections that OPTIONS require. */
static enum attn_status check_results(const struct attn_config *config, const char *name,
                                      const struct attn_session_options *options,
                                      struct attn_error *err)
{
    if (options->has_logits && config->output == ATTN_OUTPUT_NONE)
        return attn_error_set(err, ATTN_INVALID, "'%s' has no output layer, so it has no logits",
                              attn_quote_string(name).text);
    if (options->has_projections && config->d_projected == 0)
        return attn_error_set(err, ATTN_INVALID, "'%s' has no projection",
                              attn_quote_string(name).text);
    return ATTN_OK;
}

static enum attn_status check_options(const struct attn_model *model,
                                      const struct attn_session_options *options,
                                      struct attn_error *err)
{
    const struct attn_config *config = &model->config;
    struct attn_dims dims = attn_config_dims(config, options->n_max);
    const bool is_one = options->n_sequence <= 1;
    const size_t largest = is_one && config->n_ctx < ATTN_MAX_CTX ? config->n_ctx : ATTN_MAX_CTX;
    const size_t largest_source = config->n_source > 0 ? config->n_source : ATTN_MAX_CTX;

    dims.n_source = options->n_source;
    attn_attention_set_dims(options->attention ? options->attention : config->attention, &dims);
    if (options->n_max == 0 || options->n_max > largest)
        return attn_error_set(err, ATTN_INVALID, "%zu positions do not fit '%s', expected 1 to %zu",
                              options->n_max, attn_quote_string(model->name).text, largest);
    if (options->n_source > largest_source)
        return attn_error_set(err, ATTN_INVALID,
                              "a source of %zu rows is too long, expected at most %zu",
                              options->n_source, largest_source);
    if (options->n_sequence > 1 && options->cache != ATTN_CACHE_ONE_LAYER)
        return attn_error_set(err, ATTN_INVALID,
                              "a session that is fed several sequences at once keeps the keys of "
                              "one layer");
    ATTN_TRY(check_results(config, model->name, options, err));
    if (!attn_is_choice(options->cache, ATTN_CACHE_ONE_LAYER + 1, "cache", err) ||
        !attn_is_choice(options->gemm, ATTN_GEMM_PORTABLE + 1, "gemm", err) ||
        !attn_is_choice(options->isa, ATTN_ISA_BEST + 1, "isa", err) ||
        (options->n_edit > 0 && !attn_is_given(options->edits, "edits", err)))
        return ATTN_INVALID;
    ATTN_TRY(check_masks(model, options, err));
    if (options->trace)
        ATTN_TRY(check_trace(options->trace, model, &dims, err));
    ATTN_TRY(check_attention(model, options, err));
    return attn_session_check_edits(options->attention ? options->attention : config->attention,
                                    &dims, options->edits, options->n_edit, err);
}

/* --- creating --------------------------------------------------------------------------------- */

/* Whether text_embed, image_embed, sentence_embed or a site of SigLIP's head is watched, or the
 * first three are the input of logits that are watched or requested. */
static bool needs_projection(const struct attn_forward *f)
{
    const bool is_read = f->model->config.pooling == ATTN_POOLING_PROJECTED;
    struct attn_site_set sites =
        f->trace ? attn_selection_sites(f->trace->selection) : (struct attn_site_set){0};

    if (f->has_logits)
        attn_sites_add(&sites, ATTN_SITE_LOGITS);
    return attn_sites_meet(sites, ATTN_SITES(ATTN_POOL_SITES, ATTN_SITE_TEXT_EMBED,
                                             ATTN_SITE_IMAGE_EMBED, ATTN_SITE_SENTENCE_EMBED)) ||
           (is_read && attn_sites_have(sites, ATTN_SITE_LOGITS));
}

/* Returns the forward pass of SESSION, without buffers and the gemm engine. */
static struct attn_forward forward_of(const struct attn_session *session,
                                      const struct attn_model *model,
                                      const struct attn_session_options *options)
{
    const struct attn_config *config = &model->config;
    const bool is_staged = options->reads_once && !model->weights.is_reused;
    const bool is_part =
        options->n_sequence <= 1 && options->n_feed > 0 && options->n_feed < options->n_max;
    /* The most keys that a layer reads: positions, rows of a source, or low-rank mixtures. */
    size_t n_key;
    struct attn_forward f = {
        .model = model,
        .attention = session->attention,
        .has_own_stride = session->has_own_stride,
        .n_sequence = options->n_sequence > 1 ? options->n_sequence : 1,
        .n_feed_row = is_part ? options->n_feed : options->n_max,
        .trace = options->trace,
        .has_logits = options->has_logits,
        .keeps_layer = session->keeps_layer,
        .is_rewindable = options->cache == ATTN_CACHE_ALL_LAYERS,
        .dims = attn_config_dims(config, options->n_max),
        .cancel = options->cancel,
        .pool = options->pool,
        .n_worker = options->pool ? attn_pool_n_thread(options->pool) : 1,
        .compute = options->needs_float32 ? ATTN_COMPUTE_F32 : model->compute,
        .activation = attn_activation_find(config->act_fn),
        .mixer_activation =
            attn_activation_find(config->mixer_act_fn ? config->mixer_act_fn : config->act_fn),
        .head_activation =
            attn_activation_find(config->head_act_fn ? config->head_act_fn : config->act_fn),
        .weight_buffer = {.st = is_staged ? model->st : NULL},
        .feed = {.layer = ATTN_NO_LAYER},
        .embeddings_name = options->embeddings_name,
        .source_name = options->source_name,
        .key_mask = options->key_mask,
        .n_key_mask = options->n_key_mask,
        .source_mask = options->source_mask,
        .n_source_mask = options->n_source_mask,
        .positions = options->positions,
    };

    if (f.is_rewindable && !config->is_encoder)
        f.has_all_caches = true;
    f.dims.n_source = options->n_source;
    attn_attention_set_dims(session->attention, &f.dims);
    n_key = f.dims.n_position > f.dims.n_source ? f.dims.n_position : f.dims.n_source;
    f.shape = (struct attn_head_shape){.d_head = config->d_head,
                                       .d_value = config->d_value,
                                       .n_max = n_key > f.dims.n_rank ? n_key : f.dims.n_rank,
                                       .ldq = config->n_head * config->d_head,
                                       .is_bf16 = f.compute == ATTN_COMPUTE_BF16};
    f.end_watched = SIZE_MAX;
    f.is_projected = options->has_projections;
    f.end = attn_plan_end(&f);
    f.is_projected = f.is_projected || needs_projection(&f);
    return f;
}

/* Does all steps before the allocation: checks, copies of arrays that the options borrow, and the
 * total memory. Release SESSION also after a failure. */
static enum attn_status prepare(struct attn_session *session, const struct attn_model *model,
                                const struct attn_session_options *options, struct attn_error *err)
{
    const struct attn_attention *given =
        options->attention ? options->attention : model->config.attention;
    const size_t n_layer = model->config.n_layer;

    ATTN_TRY(check_options(model, options, err));
    ATTN_TRY(ATTN_ALLOC(session->edits, options->n_edit, err));
    session->n_edit = options->n_edit;
    ATTN_TRY(ATTN_ALLOC(session->attention, n_layer, err));
    ATTN_TRY(ATTN_ALLOC(session->has_own_stride, n_layer, err));
    if (options->n_edit > 0) {
        session->effect_capacity = options->n_edit;
        memcpy(session->edits, options->edits, options->n_edit * sizeof *session->edits);
        ATTN_TRY(ATTN_ALLOC(session->has_effect, options->n_edit, err));
    }
    for (size_t layer = 0; layer < n_layer; layer++) {
        session->attention[layer] = find_attention(model, options, layer);
        session->has_own_stride[layer] = !model->config.is_cross[layer] &&
                                         session->attention[layer].stride != given[layer].stride;
    }
    session->forward = forward_of(session, model, options);
    attn_plan_memory(&session->forward, &session->arena);
    return ATTN_OK;
}

static void release(struct attn_session *session)
{
    attn_arena_release(&session->arena);
    attn_free(session->edits);
    attn_free(session->has_effect);
    attn_free(session->attention);
    attn_free(session->has_own_stride);
}

/* Starts the product engine of F, or returns that of the model. A feed may start libxsmm later. */
static struct attn_gemm_engine start_engine(const struct attn_forward *f,
                                            const struct attn_session_options *options)
{
    const struct attn_model *model = f->model;

    if (model->has_engine && model->gemm == options->gemm && model->isa == options->isa &&
        model->compute == f->compute)
        return model->engine;
    return attn_gemm_engine_start_for(f->compute, options->gemm, options->isa,
                                      attn_plan_work(f, f->dims.n_position));
}

/* Allocates everything that a session needs. The caller frees it also after a failure. */
static enum attn_status build(struct attn_session *s, const struct attn_model *model,
                              const struct attn_session_options *options, struct attn_error *err)
{
    struct attn_forward *f = &s->forward;

    ATTN_TRY(attn_tensor_files_make(model->st, options->pool, err));
    ATTN_TRY(prepare(s, model, options, err));
    ATTN_TRY(attn_arena_allocate(&s->arena, err));
    attn_plan_memory(f, &s->arena);
    f->engine = start_engine(f, options);
    f->shape.is_bf16 = attn_gemm_rounds_attention(&f->engine, f->compute);
    if (f->engine.lacks_memory)
        return attn_error_no_memory(err);
    attn_kv_cache_clear(f);
    return ATTN_OK;
}

static enum attn_status create(const struct attn_model *model,
                               const struct attn_session_options *given, bool keeps_layer,
                               struct attn_session **session, struct attn_error *err)
{
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_session *s;

    ATTN_NEED(err, model, session);
    ATTN_TRY(attn_options_read(given, &options, err));
    ATTN_TRY(ATTN_ALLOC(s, 1, err));
    s->keeps_layer = keeps_layer;
    ATTN_RETURN_MADE(build(s, model, &options, err), session, s, attn_session_free);
}

/* Returns the reason why no token can be fed after the text; NULL if tokens can be fed. */
static const char *why_no_next_token(const struct attn_attention *layers,
                                     const struct attn_config *config)
{
    if (config->pooling != ATTN_POOLING_NONE)
        return "its answer is about the whole text";
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        const struct attn_attention *one = &layers[layer];

        if (one->dropout > 0)
            return "dropout is drawn for the whole text at once";
        if (!config->is_cross[layer] && one->mask == ATTN_MASK_NONE)
            return "without a causal mask, what comes after the text changes all of it";
        if (one->mask == ATTN_MASK_MATRIX)
            return "the mask is for the text alone";
    }
    return NULL;
}

enum attn_status attn_session_check_next(const struct attn_attention *layers,
                                         const struct attn_config *config, struct attn_error *err)
{
    const char *why_not = why_no_next_token(layers, config);

    if (!why_not)
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID, "more tokens are fed after the text: %s", why_not);
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
}

enum attn_status attn_session_create(const struct attn_model *model,
                                     const struct attn_session_options *given,
                                     struct attn_session **session, struct attn_error *err)
{
    return create(model, given, false, session, err);
}

enum attn_status attn_session_create_keeping(const struct attn_model *model,
                                             const struct attn_session_options *given,
                                             struct attn_session **session, struct attn_error *err)
{
    return create(model, given, true, session, err);
}

enum attn_status attn_session_measure(const struct attn_model *model,
                                      const struct attn_session_options *given, size_t *n_byte,
                                      struct attn_error *err)
{
    struct attn_session session = {.n_position = 0};
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    enum attn_status status;

    ATTN_TRY(attn_options_read(given, &options, err));
    status = prepare(&session, model, &options, err);
    if (status == ATTN_OK && session.arena.is_overflowed)
        status = attn_error_no_memory(err);
    if (status == ATTN_OK)
        *n_byte = session.arena.used - session.arena.n_red;
    release(&session);
    return status;
}

void attn_session_free(struct attn_session *session)
{
    if (!session)
        return;
    release(session);
    attn_free(session);
}

/* --- feeding ---------------------------------------------------------------------------------- */

enum attn_status attn_session_check_rows(const struct attn_forward *f,
                                         const struct attn_given_rows *rows, struct attn_error *err)
{
    const char *mark = rows->name ? "'" : "";
    const struct attn_quote name = attn_quote_string(rows->name ? rows->name : rows->what);

    for (size_t i = 0; i < rows->n; i++)
        if (!f->engine.kernels->is_finite(rows->x + i * rows->n_col, rows->n_col))
            return attn_error_set(err, ATTN_INVALID,
                                  "row %zu of %s%s%s is not finite, expected float32 numbers", i,
                                  mark, name.text, mark);
    return ATTN_OK;
}

enum attn_status attn_session_check_matrices(const struct attn_session *session, size_t layer,
                                             size_t n, struct attn_error *err)
{
    const struct attn_forward *f = &session->forward;
    const struct attn_config *config = &f->model->config;
    const struct attn_attention *attention = &f->attention[layer];
    const size_t n_key = config->is_cross[layer] ? f->n_source : session->n_position + n;
    const size_t n_head = config->n_head;

    if (attention->mask == ATTN_MASK_MATRIX)
        ATTN_TRY(attn_mask_matrix_check(&attention->matrix, "mask", n_head, n, n_key, err));
    return attn_mask_matrix_check(&attention->dropout_mask, "dropout mask", n_head, n, n_key, err);
}

size_t attn_session_max_positions(const struct attn_forward *f)
{
    const size_t n_ctx = f->model->config.n_ctx;

    return f->dims.n_position < n_ctx ? f->dims.n_position : n_ctx;
}

/* Returns the block of ATTENTION of which a feed that begins or ends at POSITION has a part; or
 * NULL. */
static const struct attn_mask_block *find_cut(const struct attn_attention *attention,
                                              size_t position)
{
    for (size_t i = 0; i < attn_attention_n_block(attention); i++) {
        const struct attn_mask_block *block = attn_attention_block(attention, i);

        if (position > block->first && position < block->end)
            return block;
    }
    return NULL;
}

enum attn_status attn_session_check_feed(const struct attn_session *session, size_t first, size_t n,
                                         struct attn_error *err)
{
    const struct attn_forward *f = &session->forward;
    const struct attn_config *config = &f->model->config;
    const size_t n_position = session->n_position, n_max = attn_session_max_positions(f);
    bool is_whole = !f->is_rewindable || f->is_projected;

    if (session->is_broken)
        return attn_error_set(err, ATTN_INVALID, "a session whose feed failed must be reset first");
    if (n == 0)
        return attn_error_set(err, ATTN_INVALID, "there are no tokens, expected at least 1");
    if (config->is_encoder && n_position > 0)
        return attn_error_set(err, ATTN_INVALID,
                              "'%s' takes its whole sequence in one feed: every %s sees those "
                              "after it, and %zu were fed without these; reset the session first",
                              attn_quote_string(f->model->name).text,
                              config->image.patch_height > 0 ? "patch" : "token", n_position);
    if (n > n_max - n_position)
        return attn_error_set(err, ATTN_INVALID,
                              "%zu tokens after %zu are too many, the session holds %zu", n,
                              n_position, n_max);
    if (n > f->n_feed_row)
        return attn_error_set(err, ATTN_INVALID,
                              "%zu tokens are too many for one feed, the session takes %zu", n,
                              f->n_feed_row);
    if (f->n_rotary > 0 && config->rope[0].is_centred && f->rotaries[0].positions.n != n)
        return attn_error_set(err, ATTN_INVALID,
                              "the rows and columns of %zu patches are missing, expected them in "
                              "the positions of the options",
                              n);
    for (size_t layer = first; layer < config->n_layer; layer++) {
        const bool is_cross = config->is_cross[layer];

        if (is_cross && f->n_source == 0)
            return attn_error_set(err, ATTN_INVALID,
                                  "layer %zu of '%s' attends to a source, and none was set", layer,
                                  attn_quote_string(f->model->name).text);
        if (attn_session_check_matrices(session, layer, n, err) != ATTN_OK)
            return ATTN_INVALID;
        if (!attn_forward_takes_steps(f, layer))
            is_whole = true;
        const struct attn_mask_block *cut = find_cut(&f->attention[layer], n_position);

        cut = cut ? cut : find_cut(&f->attention[layer], n_position + n);
        if (cut)
            return attn_error_set(err, ATTN_INVALID,
                                  "positions %zu to %zu see each other, expected them in one feed",
                                  cut->first, cut->end - 1);
    }
    if (f->key_mask && first < config->n_layer && n != f->n_key_mask)
        return attn_error_set(err, ATTN_INVALID,
                              "`key_mask` has %zu item%s, expected one for each of %zu tokens",
                              f->n_key_mask, f->n_key_mask == 1 ? "" : "s", n);
    if ((is_whole || f->dims.is_pooled) && n_position > 0)
        return attn_error_set(err, ATTN_INVALID,
                              "this session takes its whole sequence in one feed");
    return ATTN_OK;
}

enum attn_status attn_session_set_source(struct attn_session *session, const float *x, size_t n,
                                         struct attn_error *err)
{
    if (!attn_is_given(session, "session", err) || (n > 0 && !attn_is_given(x, "x", err)))
        return ATTN_INVALID;
    struct attn_forward *f = &session->forward;
    const struct attn_config *config = &f->model->config;
    const struct attn_given_rows rows = {f->source_name, "the source", x, n, config->d_source};
    const struct attn_tensor *table = &f->model->weights.source_positions;
    const struct attn_kernels *kernels = f->engine.kernels;
    const size_t d = config->d_source;

    if (!attn_config_has_cross(config))
        return attn_error_set(err, ATTN_INVALID, "no layer of '%s' attends to a source",
                              attn_quote_string(f->model->name).text);
    if (n == 0 || n > f->dims.n_source)
        return attn_error_set(err, ATTN_INVALID,
                              "a source of %zu rows does not fit, the session holds 1 to %zu", n,
                              f->dims.n_source);
    if (f->source_mask && n != f->n_source_mask)
        return attn_error_set(
            err, ATTN_INVALID,
            "`key_mask` has %zu item%s, expected one for each of %zu rows of the source",
            f->n_source_mask, f->n_source_mask == 1 ? "" : "s", n);
    if (session->n_position > 0 || session->is_broken)
        return attn_error_set(err, ATTN_INVALID, "a source must be set before anything is fed");
    if (attn_session_check_rows(f, &rows, err) != ATTN_OK)
        return ATTN_INVALID;
    memcpy(f->source, x, n * d * sizeof(float));
    f->n_source = n;
    for (size_t i = 0; i < n && config->source_positions == ATTN_POSITIONS_LEARNED; i++) {
        float *row = f->source + i * d; /* source[i] += W_pos[i] */

        kernels->convert((const char *)table->data + i * d * (attn_dtype_bits(table->dtype) / 8),
                         table->dtype, d, f->vectors);
        kernels->add(row, f->vectors, d, row);
    }
    return ATTN_OK;
}

/* Begins a feed of the next N positions of one sequence. */
void attn_session_begin_feed(struct attn_session *session, size_t n, struct attn_error *err)
{
    struct attn_forward *f = &session->forward;

    f->parts[0] = (struct attn_feed_part){.row0 = session->n_position,
                                          .n_row = n,
                                          .key_mask = f->key_mask,
                                          .edits = session->edits,
                                          .n_edit = session->n_edit,
                                          .has_effect = session->has_effect,
                                          .n_uncounted = session->n_uncounted};
    attn_decoder_begin(f, 1, err);
}

enum attn_status attn_session_run_feed(struct attn_session *session)
{
    struct attn_forward *f = &session->forward;

    session->is_broken = true;
    session->has_last_logits = false;
    f->n_cached = f->n_source;
    for (const struct attn_feed_part *part = f->parts; part < f->parts + f->feed.n_part; part++)
        if (part->row0 + part->n_row > f->n_cached)
            f->n_cached = part->row0 + part->n_row;
    ATTN_TRY(attn_decoder_run(f));
    session->is_broken = false;
    session->n_position += f->feed.n_row;
    return ATTN_OK;
}

void attn_session_gather(const struct attn_forward *f, const int32_t *ids, size_t n, float *x)
{
    const struct attn_tensor *table = &f->model->weights.embed;

    attn_model_gather(f->model, f->engine.kernels, ids, n, x);
    if (n >= many_rows && attn_tensor_files_owns_address(f->model->st, table->data))
        attn_file_drop_pages(table->data, attn_tensor_n_byte(table));
}

enum attn_status attn_session_feed(struct attn_session *session, const int32_t *ids, size_t n,
                                   struct attn_error *err)
{
    return attn_session_feed_types(session, ids, NULL, n, err);
}

/* Feeds the first N tokens of the session again, which are known. */
static enum attn_status feed_anew(struct attn_session *session, size_t n_token, size_t n_text,
                                  struct attn_error *err)
{
    struct attn_forward *f = &session->forward;
    const size_t n_edited = f->n_edited;
    const bool is_trace_over = f->is_trace_over;
    enum attn_status status = ATTN_OK;

    attn_session_reset(session);
    f->is_trace_over = true;
    f->n_text = n_text;
    for (size_t n; session->n_position < n_token && status == ATTN_OK;) {
        n = n_token - session->n_position;
        n = n < f->n_feed_row ? n : f->n_feed_row;
        attn_session_begin_feed(session, n, err);
        f->parts[0].ids = f->ids + session->n_position;
        attn_session_gather(f, f->parts[0].ids, n, f->resid);
        status = attn_session_run_feed(session);
    }
    f->n_text = 0;
    f->is_trace_over = is_trace_over;
    f->n_edited = n_edited;
    return status;
}

/* Feeds all tokens of the session again if the text, which will have N_TEXT positions, then has
 * other rotary factors. So results equal those of feeding the whole text at once. */
static enum attn_status feed_again(struct attn_session *session, size_t n_text,
                                   struct attn_error *err)
{
    const struct attn_forward *f = &session->forward;
    const size_t n_fed = session->n_position;
    const struct attn_rope *rope = NULL; /* one that turns the text otherwise */

    for (size_t i = 0; i < f->n_rotary && n_fed > 0; i++)
        if (attn_rope_reach(f->rotaries[i].rope, n_text) !=
            attn_rope_reach(f->rotaries[i].rope, f->n_turned))
            rope = f->rotaries[i].rope;
    if (!rope)
        return ATTN_OK;
    if (f->n_known < n_fed)
        return attn_error_set(err, ATTN_INVALID,
                              "texts of more than %.15g tokens turn positions by other factors: "
                              "feed embeddings of such a text at once",
                              rope->n_original);
    return feed_anew(session, n_fed, n_text, err);
}

enum attn_status attn_session_feed_types(struct attn_session *session, const int32_t *ids,
                                         const int32_t *types, size_t n, struct attn_error *err)
{
    if (!attn_is_given(session, "session", err) || (n > 0 && !attn_is_given(ids, "ids", err)))
        return ATTN_INVALID;
    struct attn_forward *f = &session->forward;

    ATTN_TRY(attn_session_check_feed(session, 0, n, err));
    ATTN_TRY(attn_model_check_ids(f->model, ids, n, session->n_position, err));
    if (types)
        ATTN_TRY(attn_model_check_types(f->model, types, n, err));
    ATTN_TRY(feed_again(session, session->n_position + n, err));
    if (f->ids) {
        memcpy(f->ids + session->n_position, ids, n * sizeof *ids);
        if (f->n_known >= session->n_position)
            f->n_known = session->n_position + n;
    }
    attn_session_begin_feed(session, n, err);
    f->parts[0].ids = ids;
    f->parts[0].types = types;
    attn_session_gather(f, ids, n, f->resid);
    return attn_session_run_feed(session);
}

enum attn_status attn_session_feed_rows(struct attn_session *session,
                                        const struct attn_embedding_rows *rows, const float *x,
                                        struct attn_error *err)
{
    struct attn_forward *f = &session->forward;
    const size_t d = f->model->config.d_embed;
    const struct attn_given_rows given = {f->embeddings_name, "the embeddings", x, rows->n, d};

    ATTN_TRY(attn_session_check_feed(session, 0, rows->n, err));
    ATTN_TRY(attn_session_check_rows(f, &given, err));
    if (f->model->config.d_layer_input > 0 || f->model->config.stream)
        return attn_error_set(err, ATTN_INVALID,
                              "'%s' reads no embeddings in place of tokens: its layers have inputs "
                              "for each token",
                              attn_quote_string(f->model->name).text);
    f->n_known = 0; /* ids are unknown */
    ATTN_TRY(feed_again(session, session->n_position + rows->n, err));
    attn_session_begin_feed(session, rows->n, err);
    f->parts[0].ids = rows->ids;
    f->parts[0].types = rows->types;
    f->parts[0].grid = rows->grid;
    f->parts[0].has_embeddings = true;
    memcpy(f->resid, x, rows->n * d * sizeof(float));
    return attn_session_run_feed(session);
}

enum attn_status attn_session_feed_embeddings(struct attn_session *session, const float *x,
                                              size_t n, struct attn_error *err)
{
    if (!attn_is_given(session, "session", err) || (n > 0 && !attn_is_given(x, "x", err)))
        return ATTN_INVALID;
    const struct attn_forward *f = &session->forward;

    if (f->model->config.image.patch_height > 0)
        return attn_error_set(err, ATTN_INVALID, "'%s' reads pictures, not embeddings",
                              attn_quote_string(f->model->name).text);
    return attn_session_feed_rows(session, &(const struct attn_embedding_rows){.n = n}, x, err);
}

enum attn_status attn_session_check_layer(const struct attn_forward *f, int layer,
                                          struct attn_error *err)
{
    const int n_layer = (int)f->dims.n_layer;

    if (layer < 0 || layer > n_layer)
        return attn_error_set(err, ATTN_INVALID,
                              "a feed cannot begin at layer %d, expected 0 to %d", layer, n_layer);
    if (layer < n_layer &&
        (f->model->config.stream ||
         (!f->whole && !attn_sites_are_empty(attn_session_left_sites(&f->model->config)))))
        return attn_error_set(err, ATTN_INVALID,
                              "a feed of '%s' begins at the embeddings: its layers read more than "
                              "the one before them writes",
                              attn_quote_string(f->model->name).text);
    for (int i = 0; i < n_layer; i++)
        if (f->attention[i].dropout > 0)
            return attn_error_set(err, ATTN_INVALID,
                                  "a feed with dropout begins at the embeddings: its numbers are "
                                  "drawn layer after layer");
    return ATTN_OK;
}

enum attn_status attn_session_feed_layer(struct attn_session *session,
                                         const struct attn_location *at, const float *x,
                                         const int32_t *ids, size_t n, struct attn_error *err)
{
    struct attn_forward *f = &session->forward;
    const int layer = attn_location_block(at);

    ATTN_TRY(attn_session_check_layer(f, layer, err));
    ATTN_TRY(attn_session_check_feed(session, (size_t)layer, n, err));
    f->n_known = 0; /* the layers before cannot be fed again */
    attn_session_begin_feed(session, n, err);
    f->parts[0].ids = ids;
    f->feed.first_layer = layer;
    memcpy(f->resid, x, n * f->dims.d_model * sizeof(float));
    return attn_session_run_feed(session);
}

void attn_session_add_rows(struct attn_session *session, struct attn_added_rows added)
{
    session->forward.added = added;
}

size_t attn_session_n_position(const struct attn_session *session)
{
    return session ? session->n_position : 0;
}

void attn_session_watch_rows(struct attn_session *session, size_t first, size_t end)
{
    session->forward.first_watched = first;
    session->forward.end_watched = end;
}

void attn_session_count_edits_from(struct attn_session *session, size_t first)
{
    session->n_uncounted = first;
}

void attn_session_report(struct attn_session *session, const struct attn_feed_progress *progress)
{
    session->forward.progress = *progress;
}

void attn_session_end_trace(struct attn_session *session)
{
    session->forward.is_trace_over = true;
}

size_t attn_session_n_edited_row(const struct attn_session *session)
{
    return session->forward.n_edited;
}

bool attn_session_edit_has_effect(const struct attn_session *session, size_t sequence, size_t edit)
{
    return atomic_load_explicit(&session->forward.parts[sequence].has_effect[edit],
                                memory_order_relaxed);
}

/* --- rewinding -------------------------------------------------------------------------------- */

static void truncate_to(struct attn_session *session, size_t n)
{
    attn_kv_cache_truncate(&session->forward, n);
    session->n_position = n;
    session->has_last_logits = false;
    session->is_broken = false;
}

enum attn_status attn_session_rewind(struct attn_session *session, size_t n, struct attn_error *err)
{
    ATTN_NEED(err, session);
    if (n > session->n_position || session->is_broken)
        return attn_error_set(err, ATTN_INVALID, "cannot go back to %zu positions of %zu", n,
                              session->is_broken ? (size_t)0 : session->n_position);
    if (n > 0 && n < session->n_position && session->forward.model->config.is_encoder)
        return attn_error_set(err, ATTN_INVALID,
                              "an encoder cannot go back to %zu positions of %zu: every token saw "
                              "those after it",
                              n, session->n_position);
    if (n > 0 && !session->forward.is_rewindable)
        return attn_error_set(err, ATTN_INVALID,
                              "a session that keeps one layer can only be reset");
    if (n > 0 && n < session->n_position && session->forward.dims.mixer) {
        /* the state of layers without attention cannot go back */
        if (session->forward.n_known < n)
            return attn_error_set(err, ATTN_INVALID,
                                  "cannot go back to %zu positions of %zu: layers without "
                                  "attention would need the tokens, and embeddings were fed",
                                  n, session->n_position);
        return feed_anew(session, n, 0, err);
    }
    truncate_to(session, n);
    return ATTN_OK;
}

void attn_session_reset(struct attn_session *session)
{
    if (session)
        truncate_to(session, 0);
}

/* --- logits ----------------------------------------------------------------------------------- */

enum attn_status attn_session_check_logits(const struct attn_session *session,
                                           struct attn_error *err)
{
    if (!session->forward.has_logits)
        return attn_error_set(err, ATTN_INVALID, "the session was created without logits");
    if (session->n_position == 0 || session->is_broken)
        return attn_error_set(err, ATTN_INVALID, "there are no logits before a successful feed");
    return ATTN_OK;
}

/* Computes the logits after N positions from FIRST on, outside of a feed. */
static enum attn_status unembed(struct attn_forward *f, size_t first, size_t n, float *logits,
                                struct attn_error *err)
{
    f->feed.status = ATTN_OK;
    f->feed.err = err;
    attn_decoder_unembed(f, f->final + first * f->model->weights.unembed.weight.n_row, n, logits);
    attn_decoder_unembed_edit(f, first, n, logits);
    attn_forward_check_finite(f, logits, n * f->dims.n_vocab);
    return f->feed.status;
}

/* Returns the number of rows of logits: one per position; for classifiers one per sequence. */
static size_t n_logits(const struct attn_session *session)
{
    return session->forward.dims.is_pooled ? session->forward.feed.n_part : session->n_position;
}

enum attn_status attn_session_check_position(const struct attn_session *session, size_t row,
                                             struct attn_error *err)
{
    const struct attn_forward *f = &session->forward;
    const struct attn_feed_part *part = &f->parts[attn_forward_find_sequence(f, row, false)];
    const size_t position = f->feed.is_pack ? row - part->first : row;

    if (row >= n_logits(session))
        return attn_error_set(err, ATTN_INVALID, "position %zu is not among the %zu that were fed",
                              row, n_logits(session));
    if (f->dims.is_pooled) /* the row belongs to a sequence, not to a position */
        return ATTN_OK;
    if (f->model->config.is_encoder
            ? !attn_feed_part_has_logits(part, position, 1)
            : !f->is_rewindable && position + 1 != part->row0 + part->n_row &&
                  !attn_forward_watches_row(f, position))
        return attn_error_set(err, ATTN_INVALID,
                              "position %zu was not computed to its end: nothing watches it", row);
    return ATTN_OK;
}

enum attn_status attn_session_logits_at(struct attn_session *session, size_t first, size_t n,
                                        float *logits, struct attn_error *err)
{
    ATTN_NEED(err, session, logits);
    struct attn_forward *f = &session->forward;
    size_t n_position;

    ATTN_TRY(attn_session_check_logits(session, err));
    n_position = n_logits(session);
    if (first >= n_position || n > n_position - first)
        return attn_error_set(err, ATTN_INVALID,
                              "%zu positions from %zu on are not among the %zu that were fed", n,
                              first, n_position);
    for (size_t row = first; row < first + n; row++)
        ATTN_TRY(attn_session_check_position(session, row, err));
    return unembed(f, first, n, logits, err);
}

enum attn_status attn_session_logits(struct attn_session *session, const float **logits,
                                     struct attn_error *err)
{
    ATTN_NEED(err, session, logits);
    struct attn_forward *f = &session->forward;

    ATTN_TRY(attn_session_check_logits(session, err));
    if (!session->has_last_logits)
        ATTN_TRY(unembed(f, n_logits(session) - 1, 1, f->last_logits, err));
    session->has_last_logits = true;
    *logits = f->last_logits;
    return ATTN_OK;
}

enum attn_status attn_session_log_probability(struct attn_session *session, int32_t id,
                                              double *log_probability, struct attn_error *err)
{
    ATTN_NEED(err, session, log_probability);
    const struct attn_forward *f = &session->forward;
    const float *logits;

    ATTN_TRY(attn_session_logits(session, &logits, err));
    if (id < 0 || (size_t)id >= f->dims.n_vocab)
        return attn_error_set(err, ATTN_INVALID, "token id %d is out of range, expected 0 to %zu",
                              id, f->dims.n_vocab - 1);
    *log_probability =
        (double)logits[id] - f->engine.kernels->log_sum_exp(logits, f->dims.n_vocab, NULL);
    return ATTN_OK;
}
