/*
 * lens.c - see lens.h. One run keeps the stream at the queries; a session that is fed rows behind
 * its last layer reads them, so a reading is what the model's own output layer computes.
 */
#include "experiment/lens.h"

#include "base/given.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/table_internal.h"
#include "capture/capture.h"
#include "experiment/answer_internal.h"
#include "experiment/inquiry.h"
#include "experiment/text_means.h"
#include "experiment/trial.h"
#include "model/elements.h"
#include "model/model_internal.h"
#include "model/session_internal.h"
#include "trace/selection_internal.h"

#include <math.h>
#include <string.h>

enum { DEFAULT_TOP = 3 };

struct job {
    const struct attn_lens_args *args;
    bool is_mean; /* over the queries, in place of rows of each */
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
    double *values, *sums;      /* [n_value] own; what a reading says, and its sum over queries */
    size_t n_value;             /* of a target rank, prob, logit; else one a place */
};

/* What a target's reading says. */
enum { VALUE_RANK, VALUE_PROB, VALUE_LOGIT, N_TARGET_VALUE };

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

    if (!job->request.sites)
        return ATTN_OK;
    if (attn_sites_parse(job->request.sites, &job->sites, err) != ATTN_OK)
        return attn_error_in(ATTN_INVALID, "sites", err);
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
    if (!job->request.queries)
        job->request.queries = "-1";
    status = attn_run_prepare(host, &job->request, &job->run, err);
    if (status != ATTN_OK)
        return status;
    job->config = attn_model_config(job->run->model);
    job->n_query = attn_selection_n_query(job->run->selection);
    if (job->args->answer.target || job->args->answer.target_id)
        return attn_answer_find(job->run, &job->args->answer, &job->answer, err);
    return ATTN_OK;
}

static enum attn_status keep(struct job *job, struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(job->run->selection);
    const uint64_t stream =
        ATTN_SITE_BIT(ATTN_SITE_RESID_PRE) | ATTN_SITE_BIT(ATTN_SITE_RESID_POST) | job->sites;

    ATTN_TRY(attn_selection_create(dims, &job->selection, err));
    ATTN_TRY(attn_selection_set_sites(
        job->selection, job->args->reads_heads ? ATTN_SITE_BIT(ATTN_SITE_Z) : stream, err));
    ATTN_TRY(attn_error_in(attn_selection_set_queries(job->selection, job->run->queries, err),
                           "queries", err));
    return attn_trial_keep(job->run, job->selection, &job->capture, err);
}

/* The readers' session, and room for what it says. */
static enum attn_status start_reader(struct job *job, struct attn_error *err)
{
    const struct attn_trial trial = attn_trial_of(job->run);
    const size_t n_vocab = job->config->n_vocab;

    job->top = job->args->top > 0 ? job->args->top : DEFAULT_TOP;
    job->top = job->top < n_vocab ? job->top : n_vocab;
    job->n_value =
        job->answer.has_target ? N_TARGET_VALUE : job->top * (job->args->reads_heads ? 2 : 1);
    job->rows = attn_alloc(job->n_query * job->config->d_model, sizeof *job->rows, err);
    job->logits = attn_alloc_uninitialized(n_vocab, sizeof *job->logits, err);
    job->ranked = attn_alloc_uninitialized(n_vocab, sizeof *job->ranked, err);
    job->values = attn_alloc(job->n_value, sizeof *job->values, err);
    job->sums = attn_alloc(job->n_value, sizeof *job->sums, err);
    if (!job->rows || !job->logits || !job->ranked || !job->values || !job->sums)
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
                                mean_rank_column = {.name = "rank",
                                                    .type = ATTN_VALUE_REAL,
                                                    .notation = ATTN_NOTATION_FIXED,
                                                    .digits = 2,
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
    struct attn_column columns[MOST_COLUMNS] = {layer_column,
                                                reads_heads ? head_column : site_column};
    size_t n = 2;

    if (!job->is_mean)
        columns[n++] = position_column;
    if (job->answer.has_target) {
        columns[n++] = job->is_mean ? mean_rank_column : rank_column;
        if (!reads_heads)
            columns[n++] = prob_column;
        columns[n++] = logit_column;
    } else {
        columns[n++] = place_column;
        if (!job->is_mean) {
            columns[n++] = id_column;
            columns[n++] = token_column;
        }
        columns[n++] = reads_heads ? logit_column : prob_column;
    }
    return attn_table_create("lens", columns, n, &job->table, err);
}

/* The cells that say what was read. Returns their number. */
static size_t begin_row(const struct job *job, const struct reading *reading, struct attn_cell *row)
{
    const char *site = attn_site_name(reading->site);

    row[0] = attn_cell_integer(reading->layer);
    row[1] = reading->head != ATTN_ALL_HEADS ? attn_cell_integer(reading->head)
                                             : attn_cell_text(site, strlen(site));
    if (job->is_mean)
        return 2;
    row[2] = attn_cell_integer((int64_t)reading->position);
    return 3;
}

static enum attn_status append_target(struct job *job, const struct reading *reading,
                                      const double *values, struct attn_error *err)
{
    struct attn_cell row[MOST_COLUMNS];
    size_t n = begin_row(job, reading, row);

    row[n++] = job->is_mean ? attn_cell_real(values[VALUE_RANK])
                            : attn_cell_integer((int64_t)values[VALUE_RANK]);
    if (!job->args->reads_heads)
        row[n++] = attn_cell_real(values[VALUE_PROB]);
    row[n++] = attn_cell_real(values[VALUE_LOGIT]);
    return attn_table_append(job->table, row, n, err);
}

/* Number I of the values is that of a place from the front, the others of one from the end. */
static enum attn_status append_place(struct job *job, const struct reading *reading, size_t i,
                                     double value, struct attn_error *err)
{
    const bool is_front = i < job->top;
    const size_t from_end = i - job->top;
    const struct attn_scored *scored =
        &job->ranked[is_front ? i : job->config->n_vocab - 1 - from_end];
    struct attn_cell row[MOST_COLUMNS];
    size_t n = begin_row(job, reading, row), size = 0;
    const char *token = NULL;

    row[n++] = attn_cell_integer(is_front ? (int64_t)i + 1 : -(int64_t)from_end - 1);
    if (!job->is_mean) {
        if (job->run->tokenizer)
            token = attn_tokenizer_token(job->run->tokenizer, scored->id, &size);
        row[n++] = attn_cell_integer(scored->id);
        row[n++] = attn_cell_text(token, size);
    }
    row[n++] = attn_cell_real(value);
    return attn_table_append(job->table, row, n, err);
}

static enum attn_status append_values(struct job *job, const struct reading *reading,
                                      const double *values, struct attn_error *err)
{
    enum attn_status status = ATTN_OK;

    if (job->answer.has_target)
        return append_target(job, reading, values, err);
    for (size_t i = 0; status == ATTN_OK && i < job->n_value; i++)
        status = append_place(job, reading, i, values[i], err);
    return status;
}

/* --- Readings --------------------------------------------------------------------------------- */

/* job->values, of the logits at hand. */
static void find_values(struct job *job)
{
    const struct attn_scored *ranked = job->ranked;
    const size_t n_vocab = job->config->n_vocab;
    const double sum = attn_logits_rank(job->logits, n_vocab, job->ranked);
    size_t rank = 0;

    for (size_t i = 0; !job->answer.has_target && i < job->top; i++) {
        job->values[i] =
            job->args->reads_heads ? ranked[i].logit : exp(ranked[i].logit - ranked[0].logit) / sum;
        if (job->args->reads_heads)
            job->values[job->top + i] = ranked[n_vocab - 1 - i].logit;
    }
    if (!job->answer.has_target)
        return;
    while (ranked[rank].id != job->answer.target)
        rank++;
    job->values[VALUE_RANK] = (double)rank + 1;
    job->values[VALUE_PROB] = exp(ranked[rank].logit - ranked[0].logit) / sum;
    job->values[VALUE_LOGIT] = ranked[rank].logit;
}

/* Appends what the logits of one query say, or adds it to the sums. */
static enum attn_status take_values(struct job *job, const struct reading *reading,
                                    struct attn_error *err)
{
    find_values(job);
    if (!job->is_mean)
        return append_values(job, reading, job->values, err);
    for (size_t i = 0; i < job->n_value; i++)
        job->sums[i] += job->values[i] / (double)job->n_query;
    return ATTN_OK;
}

/* Reads ROWS [n_query, D], one a query. */
static enum attn_status read_rows(struct job *job, struct reading reading, const float *rows,
                                  struct attn_error *err)
{
    enum attn_status status =
        attn_session_feed_layer(job->reader, (int)job->config->n_layer, rows, job->n_query, err);

    memset(job->sums, 0, job->n_value * sizeof *job->sums);
    for (size_t i = 0, query = 0; status == ATTN_OK && i < job->n_query; i++, query++) {
        while (!attn_selection_has_query(job->selection, query))
            query++;
        reading.position = query;
        status = attn_session_logits_at(job->reader, i, 1, job->logits, err);
        if (status == ATTN_OK)
            status = take_values(job, &reading, err);
    }
    attn_session_reset(job->reader);
    if (status == ATTN_OK && job->is_mean)
        status = append_values(job, &reading, job->sums, err);
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

            if (rows && reads_site(job, sites[i], layer))
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
    double *x = attn_alloc(width + d, sizeof *x, err), *y;

    if (!x)
        return ATTN_NO_MEMORY;
    y = x + width;
    for (size_t i = 0; i < job->n_query; i++) {
        for (size_t k = 0; k < width; k++)
            x[k] = (double)z[i * width + k];
        memset(y, 0, d * sizeof *y);
        if (out->data)
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
    attn_free(job->values);
    attn_free(job->sums);
    attn_table_free(job->table);
}

static enum attn_status read_all(struct job *job, struct attn_host *host, struct attn_table **table,
                                 struct attn_error *err)
{
    enum attn_status status = prepare(job, host, err);

    if (status == ATTN_OK)
        status = keep(job, err);
    if (status == ATTN_OK)
        status = start_reader(job, err);
    if (status == ATTN_OK)
        status = create_table(job, err);
    if (status == ATTN_OK)
        status = job->args->reads_heads ? read_heads(job, err) : read_stream(job, err);
    if (status == ATTN_OK) {
        *table = job->table;
        job->table = NULL;
    }
    release(job);
    return status;
}

/* What each of many texts is asked. */
struct question {
    struct attn_host *host;
    const struct attn_lens_args *args;
};

static enum attn_status read_text(void *user, const struct attn_request *request,
                                  struct attn_table **table, struct attn_error *err)
{
    const struct question *question = user;
    struct job job = {.args = question->args, .request = *request, .is_mean = true};

    return read_all(&job, question->host, table, err);
}

enum attn_status attn_lens(struct attn_host *host, const struct attn_request *request,
                           const struct attn_lens_args *given, struct attn_table **table,
                           struct attn_error *err)
{
    if (!attn_is_given(host, "host", err) || !attn_is_given(request, "request", err) ||
        !attn_is_given(table, "table", err))
        return ATTN_INVALID;
    struct attn_lens_args args = ATTN_LENS_ARGS_DEFAULT;
    struct job job = {.args = &args, .request = ATTN_REQUEST_DEFAULT};
    const struct attn_inquiry inquiry = {given, request};
    enum attn_status status = attn_inquiry_read(&inquiry, &args, &job.request, err);
    struct question question = {host, &args};

    if (status != ATTN_OK)
        return status;
    if (args.n_text > 0 && !attn_is_given(args.texts, "texts", err))
        return ATTN_INVALID;
    if (args.n_text > 0)
        return attn_text_means_ask(&(struct attn_text_question){read_text, &question}, &job.request,
                                   args.texts, args.n_text, table, err);
    return read_all(&job, host, table, err);
}
