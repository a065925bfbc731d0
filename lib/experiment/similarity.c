/* similarity.c - see similarity.h. The pairs are shared over the pool; each is one sum in the order of
 * rows and keys. */
#include "experiment/similarity.h"

#include "base/given.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/pool_internal.h"
#include "base/status_internal.h"
#include "base/table_internal.h"
#include "capture/capture.h"
#include "experiment/inquiry.h"
#include "experiment/trial.h"

#include <math.h>
#include <stdlib.h>

static const size_t most_bytes = (size_t)1 << 30; /* of patterns */

/* A head whose keys are positions. */
struct head {
    int layer, head;
    const float *pattern; /* [n, n] */
};

struct pair {
    size_t a, b; /* of the heads, a < b */
    double js;
};

struct job {
    struct attn_host *host;
    struct attn_run *run;             /* owns */
    struct attn_selection *selection; /* owns */
    struct attn_capture *capture;     /* owns */
    struct head *heads;               /* [n_head] owns */
    struct pair *pairs;               /* [n_pair] owns */
    size_t n, n_head, n_pair;         /* n: tokens */
};

/* --- Patterns --------------------------------------------------------------------------------- */

static enum attn_status check_size(const struct job *job, struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(job->run->selection);
    const size_t n_byte = attn_saturated_mul(
        attn_saturated_mul(dims->n_layer * dims->n_head, job->n), job->n * sizeof(float));
    char size[ATTN_QUANTITY_SIZE];

    if (n_byte <= most_bytes)
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID,
                   "the patterns of %zu tokens take %s, --similarity keeps at most 1 GiB of them",
                   job->n, attn_quantity_bytes(n_byte, size));
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_INPUT, err);
}

static enum attn_status keep_patterns(struct job *job, struct attn_error *err)
{
    ATTN_TRY(check_size(job, err));
    ATTN_TRY(attn_selection_create(attn_selection_dims(job->run->selection), &job->selection, err));
    ATTN_TRY(attn_error_at(
        attn_selection_set_sites(job->selection, ATTN_SITE_BIT(ATTN_SITE_PATTERN), err),
        ATTN_STAGE_OPTIONS, err));
    return attn_trial_keep(job->run, job->selection, &job->capture, err);
}

static enum attn_status list_pairs(struct job *job, struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(job->run->model);
    const size_t n_all = config->n_layer * config->n_head;

    job->heads = attn_alloc(n_all, sizeof *job->heads, err);
    job->pairs = attn_alloc(n_all, n_all * sizeof *job->pairs, err);
    if (!job->heads || !job->pairs)
        return ATTN_NO_MEMORY;
    for (int layer = 0; layer < (int)config->n_layer; layer++)
        for (int head = 0; head < (int)config->n_head; head++)
            if (!config->is_cross[layer])
                job->heads[job->n_head++] = (struct head){
                    layer, head, attn_capture_head(job->capture, ATTN_SITE_PATTERN, layer, head)};
    for (size_t a = 0; a < job->n_head; a++)
        for (size_t b = a + 1; b < job->n_head; b++)
            job->pairs[job->n_pair++] = (struct pair){.a = a, .b = b};
    return ATTN_OK;
}

/* --- Divergence ------------------------------------------------------------------------------- */

static double divergence(const float *p, const float *q, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        const double a = (double)p[i], b = (double)q[i], m = (a + b) / 2;

        if (a > 0)
            sum += a * log(a / m);
        if (b > 0)
            sum += b * log(b / m);
    }
    return sum / 2;
}

/* An attn_task_fn. */
static void compare(void *context, size_t task, int worker)
{
    const struct job *job = context;
    struct pair *pair = &job->pairs[task];
    const float *a = job->heads[pair->a].pattern, *b = job->heads[pair->b].pattern;
    const volatile sig_atomic_t *cancel = job->host->options.cancel;
    double sum = 0;

    (void)worker;
    for (size_t row = 0; row < job->n && (!cancel || *cancel == 0); row++)
        sum += divergence(a + row * job->n, b + row * job->n, job->n);
    pair->js = sum / (double)job->n;
}

static int by_likeness(const void *x, const void *y)
{
    const struct pair *p = x, *q = y;
    const int order = attn_compare_numbers(p->js, q->js);

    if (order != 0)
        return order;
    return p->a != q->a ? (p->a < q->a ? -1 : 1) : (p->b > q->b) - (p->b < q->b);
}

/* --- The table -------------------------------------------------------------------------------- */

static struct attn_cell *put_head(const struct job *job, size_t i, struct attn_cell *cell)
{
    const struct head *head = &job->heads[i];
    const size_t n_head = attn_model_config(job->run->model)->n_head;

    *cell++ = attn_cell_integer(head->layer);
    *cell++ = attn_cell_integer(head->head);
    *cell++ = attn_cell_integer(head->layer * (int64_t)n_head + head->head);
    return cell;
}

static enum attn_status tabulate(const struct job *job, size_t n_most, struct attn_table **table,
                                 struct attn_error *err)
{
    static const struct attn_column columns[] = {
        {.name = "layer", .type = ATTN_VALUE_INTEGER},
        {.name = "head", .type = ATTN_VALUE_INTEGER},
        {.name = "number", .type = ATTN_VALUE_INTEGER},
        {.name = "other_layer", .type = ATTN_VALUE_INTEGER},
        {.name = "other_head", .type = ATTN_VALUE_INTEGER},
        {.name = "other_number", .type = ATTN_VALUE_INTEGER},
        {.name = "js",
         .type = ATTN_VALUE_REAL,
         .unit = "nats",
         .notation = ATTN_NOTATION_FIXED,
         .digits = 4,
         .range = ATTN_RANGE_POSITIVE}};
    enum { N_COLUMN = sizeof columns / sizeof *columns };
    const size_t n = n_most > 0 && n_most < job->n_pair ? n_most : job->n_pair;
    struct attn_table *made = NULL;
    enum attn_status status = attn_table_create("similarity", columns, N_COLUMN, &made, err);

    for (size_t i = 0; status == ATTN_OK && i < n; i++) {
        struct attn_cell row[N_COLUMN];

        *put_head(job, job->pairs[i].b, put_head(job, job->pairs[i].a, row)) =
            attn_cell_real(job->pairs[i].js);
        status = attn_table_append(made, row, N_COLUMN, err);
    }
    if (status == ATTN_OK)
        *table = made;
    else
        attn_table_free(made);
    return status;
}

static enum attn_status prepare(struct job *job, const struct attn_request *given,
                                struct attn_error *err)
{
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    enum attn_status status = attn_options_read(given, &request, err);

    attn_error_at(status, ATTN_STAGE_OPTIONS, err);
    if (status == ATTN_OK)
        status = attn_host_check_model(job->host, err);
    if (status != ATTN_OK)
        return status;
    attn_inquiry_choose_nothing(&request);
    request.sites = "pattern";
    status = attn_run_prepare(job->host, &request, &job->run, err);
    if (status == ATTN_OK)
        job->n = job->run->text.n;
    return status;
}

enum attn_status attn_similarity(struct attn_host *host, const struct attn_request *request,
                                 size_t n_most, struct attn_table **table, struct attn_error *err)
{
    if (!attn_is_given(host, "host", err) || !attn_is_given(request, "request", err) ||
        !attn_is_given(table, "table", err))
        return ATTN_INVALID;
    struct job job = {.host = host};
    enum attn_status status = prepare(&job, request, err);

    if (status == ATTN_OK)
        status = keep_patterns(&job, err);
    if (status == ATTN_OK)
        status = list_pairs(&job, err);
    if (status == ATTN_OK) {
        attn_pool_run(host->pool, job.n_pair, compare, &job);
        status = attn_host_check_canceled(host, err);
    }
    if (status == ATTN_OK && job.n_pair > 0)
        qsort(job.pairs, job.n_pair, sizeof *job.pairs, by_likeness);
    if (status == ATTN_OK)
        status = tabulate(&job, n_most, table, err);
    attn_free(job.pairs);
    attn_free(job.heads);
    attn_capture_free(job.capture);
    attn_selection_free(job.selection);
    attn_run_free(job.run);
    return status;
}
