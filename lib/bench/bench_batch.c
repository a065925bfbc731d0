/* bench_batch.c - many short texts: each thread feeds a session of its own, one text at a time or
 * several, and every attention matrix is delivered. */
#include "bench/bench_internal.h"

#include "base/memory.h"
#include "base/pool_internal.h"
#include "base/status_internal.h"
#include "model/cost.h"
#include "model/session_pack.h"

#include <stdio.h>

enum {
    N_TOKEN = 20, /* of a text, or as many as the model takes */
    N_TEXT = 6,   /* that go through each thread in a round: 120 rows */
};

/* What the threads do. */
struct batch {
    struct attn_bench *bench;
    struct attn_selection *selection; /* owns */
    struct attn_trace trace;
    struct attn_session **sessions; /* [n_thread] owns; one a thread */
    enum attn_status *statuses;     /* [n_thread] owns */
    struct attn_error *errors;      /* [n_thread] owns */
    int32_t ids[N_TEXT][N_TOKEN];
    size_t n_token;
    size_t n_together; /* texts fed at once: N_TEXT, or 1 */
};

static enum attn_status take(void *user, const struct attn_trace_event *event,
                             struct attn_error *err)
{
    (void)user, (void)event, (void)err;
    return ATTN_OK;
}

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
    for (size_t i = 0; status == ATTN_OK && i < N_TEXT; i += batch->n_together) {
        attn_session_reset(session);
        status =
            attn_session_feed_many(session, texts + i, batch->n_together, &batch->errors[task]);
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

static enum attn_status open_session(const struct batch *batch, struct attn_session **session,
                                     struct attn_error *err)
{
    const struct attn_bench_options *options = batch->bench->options;
    struct attn_session_options made = ATTN_SESSION_OPTIONS_DEFAULT;

    made.n_sequence = batch->n_together;
    made.n_max = batch->n_together * batch->n_token;
    made.cache = ATTN_CACHE_ONE_LAYER;
    made.trace = &batch->trace;
    made.gemm = options->gemm;
    made.isa = options->isa;
    made.cancel = options->cancel;
    return attn_session_create(options->model, &made, session, err);
}

/* Close it in any case. */
static enum attn_status open_batch(struct batch *batch, struct attn_error *err)
{
    const struct attn_config *config = batch->bench->config;
    const struct attn_dims dims = attn_config_dims(config, batch->n_token);
    const size_t n_thread = (size_t)batch->bench->n_thread;
    enum attn_status status = attn_selection_create(&dims, &batch->selection, err);

    if (status == ATTN_OK)
        status = attn_selection_set_sites(batch->selection, ATTN_SITE_BIT(ATTN_SITE_PATTERN), err);
    batch->trace = (struct attn_trace){.selection = batch->selection, .on_event = take};
    batch->sessions = attn_alloc(n_thread, sizeof *batch->sessions, err);
    batch->statuses = attn_alloc(n_thread, sizeof *batch->statuses, err);
    batch->errors = attn_alloc(n_thread, sizeof *batch->errors, err);
    if (!batch->sessions || !batch->statuses || !batch->errors)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; i < N_TEXT; i++)
        for (size_t k = 0; k < batch->n_token; k++)
            batch->ids[i][k] = (int32_t)(((i * N_TOKEN + k) * 7919 + 13) % config->n_vocab);
    for (size_t i = 0; status == ATTN_OK && i < n_thread; i++)
        status = open_session(batch, &batch->sessions[i], err);
    return status;
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

/* A row: all texts of all threads, N_TOGETHER at once. */
static enum attn_status measure(struct attn_bench *bench, size_t n_together, struct attn_error *err)
{
    const size_t n_ctx = bench->config->n_ctx;
    const size_t n_text = N_TEXT * (size_t)bench->n_thread;
    struct batch batch = {
        .bench = bench, .n_token = n_ctx < N_TOKEN ? n_ctx : N_TOKEN, .n_together = n_together};
    char name[2 * ATTN_BENCH_NAME_SIZE];
    struct attn_bench_part part = {
        .part = "batch", .name = name, .run = feed_all, .context = &batch};
    struct attn_cost cost;
    enum attn_status status = attn_cost_find(bench->options->model, batch.n_token, 0, &cost, err);

    snprintf(name, sizeof name, "%zu texts of %zu tokens, %zu at once", n_text, batch.n_token,
             n_together);
    if (status == ATTN_OK)
        status = open_batch(&batch, err);
    if (status == ATTN_OK) {
        part.n_flop = 2 * (double)n_text * (double)(cost.projections + cost.matrices + cost.mlp);
        status = attn_bench_measure(bench, &part, err);
    }
    close_batch(&batch);
    return status;
}

enum attn_status attn_bench_batch(struct attn_bench *bench, struct attn_error *err)
{
    ATTN_TRY(measure(bench, 1, err));
    return measure(bench, N_TEXT, err);
}
