/* texts.c - what a command makes of a model beside its feeds: many short texts at once, and opening
 * it. */
#include "tests/bench/parts/parts.h"

#include "base/dtype_internal.h"
#include "base/memory.h"
#include "base/pool_internal.h"
#include "base/status_internal.h"
#include "forward/session_pack.h"
#include "catalog/cost.h"
#include "model/model_internal.h"
#include "trace/site_set.h"

#include <stdio.h>

/* --- Many short texts ------------------------------------------------------------------------ */

/* Each thread feeds a separate session, one text at a time or several. */
enum {
    N_TOKEN = 20, /* positions of a text, at most those of the model */
    N_TEXT = 6,   /* that go through each thread in a round: 120 rows */
};

/* The work of the threads. */
struct batch {
    struct attn_bench *bench;
    struct attn_selection *selection; /* owns */
    struct attn_trace trace;
    struct attn_session **sessions; /* [n_thread] owns; one a thread */
    enum attn_status *statuses;     /* [n_thread] owns */
    struct attn_error *errors;      /* [n_thread] owns */
    int32_t ids[N_TEXT][N_TOKEN];
    size_t n_token;
    size_t n_at_once; /* texts fed together: N_TEXT, or 1 */
};

/* All texts through the session of one thread. */
static void feed_texts(void *context, size_t task, int worker)
{
    const struct batch *batch = context;
    struct attn_session *session = batch->sessions[task];
    struct attn_session_sequence texts[N_TEXT] = {{.n = 0}};
    enum attn_status status = ATTN_OK;

    (void)worker;
    for (size_t i = 0; i < N_TEXT; i++)
        texts[i] = (struct attn_session_sequence){.ids = batch->ids[i], .n = batch->n_token};
    for (size_t i = 0; status == ATTN_OK && i < N_TEXT; i += batch->n_at_once) {
        attn_session_reset(session);
        status = attn_session_feed_many(session, texts + i, batch->n_at_once, &batch->errors[task]);
    }
    batch->statuses[task] = status;
}

static enum attn_status feed_all(void *context, struct attn_error *err)
{
    struct batch *batch = context;
    const size_t n_thread = (size_t)batch->bench->n_thread;

    attn_pool_run(batch->bench->options->pool, n_thread, feed_texts, batch);
    for (size_t i = 0; i < n_thread; i++)
        if (batch->statuses[i] != ATTN_OK) {
            attn_error_copy(err, &batch->errors[i]);
            return batch->statuses[i];
        }
    return ATTN_OK;
}

/* Close it in any case. */
static enum attn_status open_batch(struct batch *batch, struct attn_error *err)
{
    const struct attn_dims dims = attn_config_dims(batch->bench->config, batch->n_token);
    const size_t n_thread = (size_t)batch->bench->n_thread;
    struct attn_session_options options =
        attn_bench_session_options(batch->bench, batch->n_at_once * batch->n_token, &batch->trace);

    ATTN_TRY(attn_selection_create(&dims, &batch->selection, err));
    ATTN_TRY(attn_selection_set_sites(batch->selection, ATTN_SITES(ATTN_SITE_PATTERN), err));
    batch->trace =
        (struct attn_trace){.selection = batch->selection, .on_event = attn_bench_ignore};
    ATTN_TRY(ATTN_ALLOC(batch->sessions, n_thread, err));
    ATTN_TRY(ATTN_ALLOC(batch->statuses, n_thread, err));
    ATTN_TRY(ATTN_ALLOC(batch->errors, n_thread, err));
    for (size_t i = 0; i < N_TEXT; i++)
        for (size_t k = 0; k < batch->n_token; k++)
            batch->ids[i][k] = attn_bench_id(batch->bench, i * N_TOKEN + k);
    options.n_sequence = batch->n_at_once;
    options.cache = ATTN_CACHE_ONE_LAYER;
    for (size_t i = 0; i < n_thread; i++)
        ATTN_TRY(
            attn_session_create(batch->bench->options->model, &options, &batch->sessions[i], err));
    return ATTN_OK;
}

static void close_batch(struct batch *batch)
{
    for (int i = 0; batch->sessions && i < batch->bench->n_thread; i++)
        attn_session_free(batch->sessions[i]);
    attn_free(batch->sessions);
    attn_free(batch->statuses);
    attn_free(batch->errors);
    attn_selection_free(batch->selection);
}

/* A row: all texts of all threads. */
static enum attn_status measure_batch(struct batch *batch, struct attn_error *err)
{
    struct attn_bench *bench = batch->bench;
    const size_t n_text = N_TEXT * (size_t)bench->n_thread;
    struct attn_bench_part part = {.run = feed_all, .context = batch};
    struct attn_cost cost;

    snprintf(part.name, sizeof part.name, "%zu texts of %zu tokens, %zu at once", n_text,
             batch->n_token, batch->n_at_once);
    ATTN_TRY(attn_cost_find(bench->options->model, batch->n_token, 0, &cost, err));
    ATTN_TRY(open_batch(batch, err));
    part.n_flop = 2 * (double)n_text * (double)(cost.projections + cost.matrices + cost.mlp);
    return attn_bench_measure(bench, &part, err);
}

enum attn_status bench_batch(struct attn_bench *bench, struct attn_error *err)
{
    static const size_t at_once[] = {1, N_TEXT};
    const size_t n_ctx = bench->config->n_ctx;

    for (size_t i = 0; i < sizeof at_once / sizeof *at_once; i++) {
        struct batch batch = {
            .bench = bench, .n_token = n_ctx < N_TOKEN ? n_ctx : N_TOKEN, .n_at_once = at_once[i]};
        const enum attn_status status = measure_batch(&batch, err);

        close_batch(&batch);
        ATTN_TRY(status);
    }
    return ATTN_OK;
}

/* --- Opening --------------------------------------------------------------------------------- */

static enum attn_status open_model(void *context, struct attn_error *err)
{
    struct attn_model *model;

    (void)context;
    ATTN_TRY(attn_model_open(&bench_source, &ATTN_MODEL_OPTIONS_DEFAULT, &model, err));
    attn_model_free(model);
    return ATTN_OK;
}

/* The model and session that are opened for the first tokens. */
struct first_tokens {
    struct attn_model *model;
    struct attn_selection *selection;
    struct attn_session *session;
    struct attn_trace trace;
};

enum { N_FIRST = 6 };

static enum attn_status feed_first(const struct attn_bench *bench, struct first_tokens *first,
                                   struct attn_error *err)
{
    const struct attn_bench_options *options = bench->options;
    const struct attn_dims dims = attn_config_dims(bench->config, N_FIRST);
    struct attn_model_options model_options = ATTN_MODEL_OPTIONS_DEFAULT;
    struct attn_session_options session_options =
        attn_bench_session_options(bench, N_FIRST, &first->trace);
    const int32_t ids[N_FIRST] = {0};

    model_options.compute = options->model->compute;
    ATTN_TRY(attn_model_open(&bench_source, &model_options, &first->model, err));
    ATTN_TRY(attn_selection_create(&dims, &first->selection, err));
    first->trace =
        (struct attn_trace){.selection = first->selection, .on_event = attn_bench_ignore};
    session_options.pool = options->pool;
    ATTN_TRY(attn_session_create(first->model, &session_options, &first->session, err));
    return attn_session_feed(first->session, ids, N_FIRST, err);
}

/* Opens it and runs 6 tokens: every weight of the layers is read through the map. */
static enum attn_status open_and_feed(void *context, struct attn_error *err)
{
    struct first_tokens first = {.model = NULL};
    const enum attn_status status = feed_first(context, &first, err);

    attn_session_free(first.session);
    attn_selection_free(first.selection);
    attn_model_free(first.model);
    return status;
}

enum attn_status bench_load(struct attn_bench *bench, struct attn_error *err)
{
    const struct attn_bench_part open = {.name = "opening", .run = open_model, .context = bench};
    struct attn_bench_part first = {
        .name = "opening, first 6 tokens", .run = open_and_feed, .context = bench};
    const struct attn_matrix *output = &bench->options->model->weights.unembed.weight;
    struct attn_cost cost;

    if (bench->config->n_ctx < N_FIRST)
        return ATTN_OK;
    ATTN_TRY(attn_cost_find(bench->options->model, N_FIRST, 0, &cost, err));
    ATTN_TRY(attn_bench_measure(bench, &open, err));
    first.n_byte = (double)cost.weights;
    if (bench->config->output != ATTN_OUTPUT_NONE) /* no logits are made */
        first.n_byte -=
            (double)attn_dtype_n_byte(output->dtype, output->n_row) * (double)output->n_col;
    return attn_bench_measure(bench, &first, err);
}
