/* session.c - the life of a session: created with all its memory, fed, rewound, reset, freed. */
#include "model/session.h"

#include "attention/attention.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/memory.h"
#include "model/config_read.h"
#include "model/session_state.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

/* Each embedding row brings in 64 KiB of its table: from so many rows on they are given back. */
static const size_t many_rows = 64;

/* Copies what the options only lend. */
static enum attn_status copy_options(struct attn_session *session,
                                     const struct attn_session_options *options,
                                     struct attn_error *err)
{
    const size_t n_layer = session->config->n_layer;

    session->edits = attn_alloc(options->n_edit, sizeof *session->edits, err);
    session->attention = attn_alloc(n_layer, sizeof *session->attention, err);
    if (session->edits == NULL || session->attention == NULL)
        return ATTN_NO_MEMORY;
    if (options->n_edit > 0)
        memcpy(session->edits, options->edits, options->n_edit * sizeof *session->edits);
    for (size_t layer = 0; layer < n_layer; layer++)
        session->attention[layer] = attn_session_find_attention(session->model, options, layer);
    session->options = *options;
    session->options.edits = session->edits;
    session->options.attention = session->attention;
    return ATTN_OK;
}

/* Keys that some layer reads: positions, rows of a source, or what low-rank attention mixes of
 * them. */
static size_t most_keys(const struct attn_session *session)
{
    size_t most = session->options.n_max;

    if (session->options.n_source > most)
        most = session->options.n_source;
    if (session->dims.n_rank > most)
        most = session->dims.n_rank;
    return most;
}

/* Everything up to the memory: what is decided, and what it comes to. Release it also after a
 * failure. */
static enum attn_status prepare(struct attn_session *session, const struct attn_model *model,
                                const struct attn_session_options *options, struct attn_error *err)
{
    enum attn_status status = attn_session_check_options(model, options, err);

    if (status != ATTN_OK)
        return status;
    session->model = model;
    session->config = &model->config;
    status = copy_options(session, options, err);
    if (status != ATTN_OK)
        return status;
    session->compute = options->needs_float32 ? ATTN_COMPUTE_F32 : model->compute;
    session->activation = attn_activation_find(session->config->act_fn);
    session->dims = attn_config_dims(session->config, options->n_max);
    session->dims.n_source = options->n_source;
    attn_attention_set_dims(session->attention, &session->dims);
    session->end = attn_session_find_end(session);
    session->shape =
        (struct attn_head_shape){.d_head = session->config->d_head,
                                 .d_value = session->config->d_value,
                                 .n_max = most_keys(session),
                                 .ldq = session->config->n_head * session->config->d_head};
    session->n_worker = options->pool != NULL ? attn_pool_n_thread(options->pool) : 1;
    session->n_cache_layer = options->cache == ATTN_CACHE_ONE_LAYER ? 1 : session->config->n_layer;
    attn_session_plan(session, &session->arena);
    return ATTN_OK;
}

static void release(struct attn_session *session)
{
    attn_arena_release(&session->arena);
    attn_free(session->edits);
    attn_free(session->attention);
}

/* Multiply-adds that decide whether libxsmm is started: a model that was packed will be run often,
 * and in bfloat16, where the portable loop gives other bits, the length of the prompt has no say. */
static double work_of(const struct attn_session *session)
{
    if (session->compute == ATTN_COMPUTE_BF16 || session->model->weights.packed.base != NULL)
        return INFINITY;
    return attn_session_work(session, session->options.n_max);
}

enum attn_status attn_session_create(const struct attn_model *model,
                                     const struct attn_session_options *options,
                                     struct attn_session **session, struct attn_error *err)
{
    struct attn_session *s = attn_alloc(1, sizeof *s, err);
    enum attn_status status;

    if (s == NULL)
        return ATTN_NO_MEMORY;
    status = prepare(s, model, options, err);
    if (status == ATTN_OK)
        status = attn_arena_allocate(&s->arena, err);
    if (status != ATTN_OK)
        goto fail;
    attn_session_plan(s, &s->arena);
    attn_kv_clear(s->kv, &s->shape, s->n_cache_layer * s->config->n_kv_head);
    s->engine = attn_gemm_engine_start(options->gemm, options->isa, work_of(s));
    *session = s;
    return ATTN_OK;
fail:
    attn_session_free(s);
    return status;
}

enum attn_status attn_session_measure(const struct attn_model *model,
                                      const struct attn_session_options *options, size_t *n_byte,
                                      struct attn_error *err)
{
    struct attn_session session = {.model = model};
    enum attn_status status = prepare(&session, model, options, err);

    if (status == ATTN_OK && session.arena.is_overflowed)
        status = attn_error_no_memory(err);
    if (status == ATTN_OK)
        *n_byte = session.arena.used;
    release(&session);
    return status;
}

void attn_session_free(struct attn_session *session)
{
    if (session == NULL)
        return;
    release(session);
    attn_free(session);
}

bool attn_session_is_stopped(struct attn_session *session)
{
    if (session->step.status == ATTN_OK && session->options.cancel != NULL &&
        *session->options.cancel != 0)
        session->step.status = attn_error_set(session->step.err, ATTN_CANCELED, "canceled");
    return session->step.status != ATTN_OK;
}

/*
 * A weight of the layer, or one that all layers rest on; or finite weights whose products are not.
 * Edits may put in anything: then nobody is to blame.
 */
void attn_session_blame(struct attn_session *session, int layer)
{
    const struct attn_model *model = session->model;
    struct attn_step *step = &session->step;

    if (step->status != ATTN_OK)
        return;
    step->status =
        attn_weights_find_non_finite(model->config.model_type, model->st, layer, step->err);
    if (step->status == ATTN_OK && layer != ATTN_NO_LAYER)
        step->status = attn_weights_find_non_finite(model->config.model_type, model->st,
                                                    ATTN_NO_LAYER, step->err);
    if (step->status != ATTN_OK || session->options.n_edit > 0)
        return;
    if (layer == ATTN_NO_LAYER)
        step->status = attn_error_set(step->err, ATTN_FORMAT,
                                      "'%s' computes values that are not finite outside of its "
                                      "layers, expected float32 numbers",
                                      attn_quote_string(model->name).text);
    else
        step->status = attn_error_set(step->err, ATTN_FORMAT,
                                      "layer %d of '%s' computes values that are not finite, "
                                      "expected float32 numbers",
                                      layer, attn_quote_string(model->name).text);
}

/* Values that must be finite, looked at in pieces. */
struct finite_work {
    const struct attn_kernels *kernels;
    const float *x; /* [n] */
    size_t n;
    atomic_bool is_violated;
};
enum { FINITE_PIECE = 1 << 14 };

static void find_non_finite(void *context, size_t task, int worker)
{
    struct finite_work *work = context;
    const size_t first = task * FINITE_PIECE, rest = work->n - first;

    (void)worker;
    if (!work->kernels->is_finite(work->x + first, rest < FINITE_PIECE ? rest : FINITE_PIECE))
        atomic_store_explicit(&work->is_violated, true, memory_order_relaxed);
}

void attn_session_check_finite(struct attn_session *session, int layer, const float *x, size_t n)
{
    struct finite_work work = {.kernels = session->engine.kernels, .x = x, .n = n};

    if (session->step.status != ATTN_OK)
        return;
    attn_pool_run(session->step.pool, (n + FINITE_PIECE - 1) / FINITE_PIECE, find_non_finite,
                  &work);
    if (atomic_load_explicit(&work.is_violated, memory_order_relaxed))
        attn_session_blame(session, layer);
}

enum attn_status attn_session_set_source(struct attn_session *session, const float *x, size_t n,
                                         struct attn_error *err)
{
    const struct attn_config *config = session->config;
    bool has_cross = false;

    for (size_t layer = 0; layer < config->n_layer; layer++)
        has_cross = has_cross || config->is_cross[layer];
    if (!has_cross)
        return attn_error_set(err, ATTN_INVALID, "no layer of '%s' attends to a source",
                              attn_quote_string(session->model->name).text);
    if (n == 0 || n > session->options.n_source)
        return attn_error_set(err, ATTN_INVALID,
                              "a source of %zu rows does not fit, the session holds 1 to %zu", n,
                              session->options.n_source);
    if (session->n_position > 0 || session->is_broken)
        return attn_error_set(err, ATTN_INVALID, "a source must be set before anything is fed");
    if (attn_session_check_numbers(session, "source", x, n, config->d_source, err) != ATTN_OK)
        return ATTN_INVALID;
    memcpy(session->source, x, n * config->d_source * sizeof(float));
    session->n_source = n;
    return ATTN_OK;
}

/* resid[i] = embed[i] + W_pos[row0 + i] */
static void add_positions(struct attn_session *session)
{
    const struct attn_tensor *table = &session->model->weights.positions;
    const struct attn_kernels *kernels = session->engine.kernels;
    const size_t d = session->config->d_model;
    const size_t row_bytes = d * (attn_dtype_bits(table->dtype) / 8);

    if (session->config->positions != ATTN_POSITIONS_LEARNED)
        return;
    for (size_t i = 0; i < session->step.n_row; i++) {
        const char *row = (const char *)table->data + (session->step.row0 + i) * row_bytes;
        float *x = session->resid + i * d;

        kernels->convert(row, table->dtype, d, session->vectors);
        kernels->add(x, session->vectors, d, x);
    }
}

/* Runs a step whose embeddings lie in resid. */
static enum attn_status run_step(struct attn_session *session)
{
    struct attn_step *step = &session->step;
    const size_t n_value = step->n_row * session->config->d_model;

    session->is_broken = true;
    session->has_last_logits = false;
    session->n_written = step->row0 + step->n_row;
    if (session->n_written < session->n_source)
        session->n_written = session->n_source;
    attn_session_visit(session, ATTN_SITE_EMBED, ATTN_NO_LAYER, session->resid);
    add_positions(session);
    attn_session_check_finite(session, ATTN_NO_LAYER, session->resid, n_value);
    attn_engines_plan(&session->engines, &session->engine, &session->shape, session->attention,
                      session->config->n_layer, step->n_row);
    attn_random_seed(&session->dropout, session->attention[0].dropout_seed);
    for (int layer = 0; layer < (int)session->config->n_layer; layer++) {
        if (layer > session->end.layer || attn_session_is_stopped(session))
            break;
        attn_block_run(session, layer);
    }
    if (!attn_session_is_stopped(session))
        attn_session_finish(session);
    if (step->status != ATTN_OK)
        return step->status;
    session->is_broken = false;
    session->n_position += step->n_row;
    return ATTN_OK;
}

static void begin_step(struct attn_session *session, size_t n, struct attn_error *err)
{
    const bool is_shared = attn_session_work(session, n) >= ATTN_SHARED_WORK;

    session->step = (struct attn_step){.row0 = session->n_position,
                                       .n_row = n,
                                       .status = ATTN_OK,
                                       .err = err,
                                       .pool = is_shared ? session->options.pool : NULL};
}

enum attn_status attn_session_feed(struct attn_session *session, const int32_t *ids, size_t n,
                                   struct attn_error *err)
{
    const struct attn_tensor *table = &session->model->weights.embed;
    const size_t d = session->config->d_model, n_vocab = session->config->n_vocab;
    const size_t row_bytes = d * (attn_dtype_bits(table->dtype) / 8);
    enum attn_status status = attn_session_check_feed(session, n, err);

    for (size_t i = 0; status == ATTN_OK && i < n; i++)
        if (ids[i] < 0 || (size_t)ids[i] >= n_vocab)
            status = attn_error_set(err, ATTN_INVALID,
                                    "token id %d at position %zu is out of range, expected 0 to "
                                    "%zu",
                                    ids[i], session->n_position + i, n_vocab - 1);
    if (status != ATTN_OK)
        return status;
    begin_step(session, n, err);
    for (size_t i = 0; i < n; i++)
        session->engine.kernels->convert((const char *)table->data + (size_t)ids[i] * row_bytes,
                                         table->dtype, d, session->resid + i * d);
    if (n >= many_rows && attn_safetensors_owns_address(session->model->st, table->data))
        attn_file_drop_pages(table->data, n_vocab * row_bytes);
    return run_step(session);
}

enum attn_status attn_session_feed_embeddings(struct attn_session *session, const float *x,
                                              size_t n, struct attn_error *err)
{
    enum attn_status status = attn_session_check_feed(session, n, err);

    if (status == ATTN_OK)
        status =
            attn_session_check_numbers(session, "embeddings", x, n, session->config->d_model, err);
    if (status != ATTN_OK)
        return status;
    begin_step(session, n, err);
    memcpy(session->resid, x, n * session->config->d_model * sizeof(float));
    return run_step(session);
}

size_t attn_session_n_position(const struct attn_session *session)
{
    return session->n_position;
}

size_t attn_session_n_edited_row(const struct attn_session *session)
{
    return session->n_edited;
}

static void forget_keys(const struct attn_session *session, struct attn_kv *kv, size_t n)
{
    attn_kv_erase(kv, &session->shape, n, session->n_written);
    kv->n_summed = 0;
}

/* Rows from N on leave the caches. Those of a source stay until all positions are gone. */
static void forget(struct attn_session *session, size_t n)
{
    const size_t n_kv_head = session->config->n_kv_head;

    for (size_t i = 0; i < session->n_cache_layer * n_kv_head; i++)
        if (n < session->n_written && (n == 0 || !session->config->is_cross[i / n_kv_head]))
            forget_keys(session, &session->kv[i], n);
    session->n_position = n;
    session->n_written = n == 0 || n > session->n_source ? n : session->n_source;
    session->has_last_logits = false;
    session->is_broken = false;
}

enum attn_status attn_session_rewind(struct attn_session *session, size_t n, struct attn_error *err)
{
    if (n > session->n_position || session->is_broken)
        return attn_error_set(err, ATTN_INVALID, "cannot go back to %zu positions of %zu", n,
                              session->is_broken ? (size_t)0 : session->n_position);
    if (n > 0 && session->options.cache == ATTN_CACHE_ONE_LAYER)
        return attn_error_set(err, ATTN_INVALID,
                              "a session that remembers one layer can only be reset");
    forget(session, n);
    return ATTN_OK;
}

void attn_session_reset(struct attn_session *session)
{
    forget(session, 0);
}
