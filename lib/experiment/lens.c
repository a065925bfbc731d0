/*
 * lens.c - see lens.h. One run keeps the stream at the queries; a session that is fed rows behind
 * its last layer reads them, so a reading is what the model's own output layer computes.
 */
#include "experiment/lens.h"

#include "base/memory.h"
#include "capture/capture.h"
#include "experiment/answer_internal.h"
#include "experiment/inquiry.h"
#include "experiment/trial.h"
#include "model/elements.h"
#include "model/model_internal.h"

#include <math.h>
#include <string.h>

enum { DEFAULT_TOP = 3 };

struct job {
    const struct attn_lens_args *args;
    struct attn_request request;
    uint64_t sites; /* read beside resid_pre of all layers and resid_post of the last */
    struct attn_run *run;
    const struct attn_config *config;
    struct attn_answer answer;
    struct attn_selection *selection; /* owns; what is kept of the run */
    struct attn_capture *capture;     /* owns */
    struct attn_session *reader;      /* owns */
    struct attn_table *table;         /* owns */
    size_t n_query, top;
    float *rows;                /* [n_query, D] owns; of a head */
    float *logits;              /* [V] owns */
    struct attn_scored *ranked; /* [V] owns */
};

/* What is read: a tensor of a layer, or of one head. */
struct reading {
    int layer, head;     /* head: ATTN_ALL_HEADS for a tensor */
    enum attn_site site; /* of a tensor */
    size_t position;
};

/* --- The run ---------------------------------------------------------------------------------- */

/* The sites of the request, which may be those of the stream. */
static enum attn_status read_sites(struct job *job, struct attn_error *err)
{
    const uint64_t allowed = ATTN_SITE_BIT(ATTN_SITE_RESID_PRE) |
                             ATTN_SITE_BIT(ATTN_SITE_RESID_MID) |
                             ATTN_SITE_BIT(ATTN_SITE_RESID_POST);

    if (job->request.sites == NULL)
        return ATTN_OK;
    if (attn_sites_parse(job->request.sites, &job->sites, err) != ATTN_OK)
        return ATTN_INVALID;
    if ((job->sites & ~allowed) == 0)
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID,
                          "a lens reads resid_pre, resid_mid and resid_post, not '%s'",
                          job->request.sites);
}

static enum attn_status prepare(struct job *job, struct attn_host *host, struct attn_error *err)
{
    enum attn_status status = attn_trial_check_host(host, err);

    if (status == ATTN_OK)
        status = attn_error_at(read_sites(job, err), ATTN_STAGE_OPTIONS, err);
    if (status != ATTN_OK)
        return status;
    job->request.sites = NULL;
    job->request.selection = NULL;
    if (job->request.queries == NULL)
        job->request.queries = "-1";
    status = attn_run_prepare(host, &job->request, &job->run, err);
    if (status != ATTN_OK)
        return status;
    job->config = attn_model_config(job->run->model);
    job->n_query = attn_selection_n_query(job->run->selection);
    if (job->args->answer.target != NULL || job->args->answer.target_id != NULL)
        return attn_answer_find(job->run, &job->args->answer, &job->answer, err);
    return ATTN_OK;
}

static enum attn_status keep(struct job *job, struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(job->run->selection);
    const uint64_t stream =
        ATTN_SITE_BIT(ATTN_SITE_RESID_PRE) | ATTN_SITE_BIT(ATTN_SITE_RESID_POST) | job->sites;
    enum attn_status status = attn_selection_create(dims, &job->selection, err);

    if (status == ATTN_OK)
        status = attn_selection_set_sites(
            job->selection, job->args->reads_heads ? ATTN_SITE_BIT(ATTN_SITE_Z) : stream, err);
    if (status == ATTN_OK)
        status = attn_selection_set_queries(job->selection, job->run->queries, err);
    return status == ATTN_OK ? attn_trial_keep(job->run, job->selection, &job->capture, err)
                             : status;
}

/* The readers' session, and room for what it says. */
static enum attn_status start_reader(struct job *job, struct attn_error *err)
{
    const struct attn_trial trial = attn_trial_of(job->run);
    const size_t n_vocab = job->config->n_vocab;

    job->top = job->args->top > 0 ? job->args->top : DEFAULT_TOP;
    job->top = job->top < n_vocab ? job->top : n_vocab;
    job->rows = attn_alloc(job->n_query * job->config->d_model, sizeof *job->rows, err);
    job->logits = attn_alloc_uninitialized(n_vocab, sizeof *job->logits, err);
    job->ranked = attn_alloc_uninitialized(n_vocab, sizeof *job->ranked, err);
    if (job->rows == NULL || job->logits == NULL || job->ranked == NULL)
        return ATTN_NO_MEMORY;
    return attn_trial_start(&trial, &job->reader, err);
}

/* --- The table -------------------------------------------------------------------------------- */

static const struct attn_column layer_column = {.name = "layer", .type = ATTN_VALUE_INTEGER},
                                site_column = {.name = "site", .type = ATTN_VALUE_TEXT},
                                head_column = {.name = "head", .type = ATTN_VALUE_INTEGER},
                                position_column = {.name = "position", .type = ATTN_VALUE_INTEGER},
                                place_column = {.name = "place", .type = ATTN_VALUE_INTEGER},
                                rank_column = {.name = "rank",
                                               .type = ATTN_VALUE_INTEGER,
                                               .range = ATTN_RANGE_POSITIVE},
                                id_column = {.name = "id", .type = ATTN_VALUE_INTEGER},
                                token_column = {.name = "token", .type = ATTN_VALUE_TEXT},
                                prob_column = {.name = "prob",
                                               .type = ATTN_VALUE_REAL,
                                               .notation = ATTN_NOTATION_FIXED,
                                               .digits = 6,
                                               .range = ATTN_RANGE_SHARE},
                                logit_column = {.name = "logit",
                                                .type = ATTN_VALUE_REAL,
                                                .notation = ATTN_NOTATION_FIXED,
                                                .digits = 4};

enum { MOST_COLUMNS = 7 };

static enum attn_status create_table(struct job *job, struct attn_error *err)
{
    const bool reads_heads = job->args->reads_heads;
    struct attn_column columns[MOST_COLUMNS] = {
        layer_column, reads_heads ? head_column : site_column, position_column};
    size_t n = 3;

    if (job->answer.has_target) {
        columns[n++] = rank_column;
        if (!reads_heads)
            columns[n++] = prob_column;
        columns[n++] = logit_column;
    } else {
        columns[n++] = place_column;
        columns[n++] = id_column;
        columns[n++] = token_column;
        columns[n++] = reads_heads ? logit_column : prob_column;
    }
    return attn_table_create("lens", columns, n, &job->table, err);
}

/* The cells that say what was read. Returns their number. */
static size_t begin_row(const struct reading *reading, struct attn_cell *row)
{
    const char *site = attn_site_name(reading->site);

    row[0] = attn_cell_integer(reading->layer);
    row[1] = reading->head != ATTN_ALL_HEADS ? attn_cell_integer(reading->head)
                                             : attn_cell_text(site, strlen(site));
    row[2] = attn_cell_integer((int64_t)reading->position);
    return 3;
}

/* The row of the target, in the ranked logits whose exponentials add to SUM. */
static enum attn_status append_target(struct job *job, const struct reading *reading, double sum,
                                      struct attn_error *err)
{
    struct attn_cell row[MOST_COLUMNS];
    size_t n = begin_row(reading, row), rank = 0;

    while (job->ranked[rank].id != job->answer.target)
        rank++;
    row[n++] = attn_cell_integer((int64_t)rank + 1);
    if (!job->args->reads_heads)
        row[n++] = attn_cell_real(exp(job->ranked[rank].logit - job->ranked[0].logit) / sum);
    row[n++] = attn_cell_real(job->ranked[rank].logit);
    return attn_table_append(job->table, row, n, err);
}

/* The row of the token at INDEX of the ranked ones. */
static enum attn_status append_place(struct job *job, const struct reading *reading, double sum,
                                     int64_t place, size_t index, struct attn_error *err)
{
    const struct attn_scored *scored = &job->ranked[index];
    struct attn_cell row[MOST_COLUMNS];
    size_t n = begin_row(reading, row), size = 0;
    const char *token = job->run->tokenizer != NULL
                            ? attn_tokenizer_token(job->run->tokenizer, scored->id, &size)
                            : NULL;

    row[n++] = attn_cell_integer(place);
    row[n++] = attn_cell_integer(scored->id);
    row[n++] = attn_cell_text(token, size);
    row[n++] = job->args->reads_heads
                   ? attn_cell_real(scored->logit)
                   : attn_cell_real(exp(scored->logit - job->ranked[0].logit) / sum);
    return attn_table_append(job->table, row, n, err);
}

static enum attn_status append_places(struct job *job, const struct reading *reading, double sum,
                                      struct attn_error *err)
{
    const size_t n_vocab = job->config->n_vocab;
    enum attn_status status = ATTN_OK;

    for (size_t i = 0; status == ATTN_OK && i < job->top; i++)
        status = append_place(job, reading, sum, (int64_t)i + 1, i, err);
    for (size_t i = 0; status == ATTN_OK && job->args->reads_heads && i < job->top; i++)
        status = append_place(job, reading, sum, -(int64_t)i - 1, n_vocab - 1 - i, err);
    return status;
}

/* --- Readings --------------------------------------------------------------------------------- */

/* Reads ROWS [n_query, D], one a query. */
static enum attn_status read_rows(struct job *job, struct reading reading, const float *rows,
                                  struct attn_error *err)
{
    enum attn_status status =
        attn_session_feed_layer(job->reader, (int)job->config->n_layer, rows, job->n_query, err);

    for (size_t i = 0, query = 0; status == ATTN_OK && i < job->n_query; i++, query++) {
        double sum;

        while (!attn_selection_has_query(job->selection, query))
            query++;
        reading.position = query;
        status = attn_session_logits_at(job->reader, i, 1, job->logits, err);
        if (status != ATTN_OK)
            break;
        sum = attn_logits_rank(job->logits, job->config->n_vocab, job->ranked);
        status = job->answer.has_target ? append_target(job, &reading, sum, err)
                                        : append_places(job, &reading, sum, err);
    }
    attn_session_reset(job->reader);
    if (status == ATTN_OK)
        status = attn_host_check_canceled(job->run->host, err);
    return attn_error_at(status, ATTN_STAGE_MODEL, err);
}

static bool reads_site(const struct job *job, enum attn_site site, int layer)
{
    return site == ATTN_SITE_RESID_PRE || (job->sites & ATTN_SITE_BIT(site)) != 0 ||
           (site == ATTN_SITE_RESID_POST && layer + 1 == (int)job->config->n_layer);
}

static enum attn_status read_stream(struct job *job, struct attn_error *err)
{
    static const enum attn_site sites[] = {ATTN_SITE_RESID_PRE, ATTN_SITE_RESID_MID,
                                           ATTN_SITE_RESID_POST};
    enum attn_status status = ATTN_OK;

    for (int layer = 0; layer < (int)job->config->n_layer; layer++)
        for (size_t i = 0; status == ATTN_OK && i < sizeof sites / sizeof *sites; i++) {
            const struct reading reading = {layer, ATTN_ALL_HEADS, sites[i], 0};
            const float *rows = attn_capture_tensor(job->capture, sites[i], layer);

            if (rows != NULL && reads_site(job, sites[i], layer))
                status = read_rows(job, reading, rows, err);
        }
    return status;
}

/* job->rows = z W_O of one head: what it adds to the stream before a bias. */
static enum attn_status write_head(struct job *job, int layer, int head, struct attn_error *err)
{
    const struct attn_matrix *out = &job->run->model->weights.blocks[layer].out.weight;
    const float *z = attn_capture_head(job->capture, ATTN_SITE_Z, layer, head);
    const size_t width = job->config->d_value, d = job->config->d_model;
    double *x = attn_alloc(width + d, sizeof *x, err), *y = x + width;

    if (x == NULL)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; i < job->n_query; i++) {
        for (size_t k = 0; k < width; k++)
            x[k] = (double)z[i * width + k];
        memset(y, 0, d * sizeof *y);
        if (out->data != NULL)
            attn_matrix_add_rows(out, (size_t)head * width, width, x, y);
        else /* heads lie side by side in the stream */
            memcpy(y + (size_t)head * width, x, width * sizeof *x);
        for (size_t k = 0; k < d; k++)
            job->rows[i * d + k] = (float)y[k];
    }
    attn_free(x);
    return ATTN_OK;
}

static enum attn_status read_heads(struct job *job, struct attn_error *err)
{
    enum attn_status status = ATTN_OK;

    for (int layer = 0; layer < (int)job->config->n_layer; layer++)
        for (int head = 0; status == ATTN_OK && head < (int)job->config->n_head; head++) {
            const struct reading reading = {layer, head, ATTN_SITE_Z, 0};

            status = write_head(job, layer, head, err);
            if (status == ATTN_OK)
                status = read_rows(job, reading, job->rows, err);
        }
    return status;
}

static void release(struct job *job)
{
    attn_session_free(job->reader);
    attn_capture_free(job->capture);
    attn_selection_free(job->selection);
    attn_run_free(job->run);
    attn_free(job->rows);
    attn_free(job->logits);
    attn_free(job->ranked);
    attn_table_free(job->table);
}

enum attn_status attn_lens(struct attn_host *host, const struct attn_request *request,
                           const struct attn_lens_args *given, struct attn_table **table,
                           struct attn_error *err)
{
    struct attn_lens_args args = ATTN_LENS_ARGS_DEFAULT;
    struct job job = {.args = &args, .request = ATTN_REQUEST_DEFAULT};
    const struct attn_inquiry inquiry = {given, request};
    enum attn_status status = attn_inquiry_read(&inquiry, &args, &job.request, err);

    if (status != ATTN_OK)
        return status;
    status = prepare(&job, host, err);
    if (status == ATTN_OK)
        status = keep(&job, err);
    if (status == ATTN_OK)
        status = start_reader(&job, err);
    if (status == ATTN_OK)
        status = create_table(&job, err);
    if (status == ATTN_OK)
        status = args.reads_heads ? read_heads(&job, err) : read_stream(&job, err);
    if (status == ATTN_OK) {
        *table = job.table;
        job.table = NULL;
    }
    release(&job);
    return status;
}
