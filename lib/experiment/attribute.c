/*
 * attribute.c - see attribute.h.
 *
 * The final norm with its scale frozen is a linear map. So one direction u of the stream stands for
 * the logit: a part x of the stream writes u.x of it. u is the column of W_U (of the target minus
 * the foil), times the norm's weight and divided by its scale, without its mean where the norm
 * takes the mean off. A norm behind attention turns u into another direction in the same way.
 */
#include "experiment/attribute.h"

#include "base/dtype_internal.h"
#include "base/escape.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/status_internal.h"
#include "base/table_internal.h"
#include "capture/capture.h"
#include "experiment/answer_internal.h"
#include "experiment/inquiry.h"
#include "experiment/text_means.h"
#include "experiment/trial.h"
#include "model/elements.h"
#include "model/model_internal.h"
#include "trace/selection_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_MOST = 20 };

/* What a head reads from one key. */
struct read_key {
    int layer, head;
    size_t key;
    double logit;
};

struct job {
    const struct attn_attribute_args *args;
    struct attn_request request;
    struct attn_run *run;
    const struct attn_config *config;
    const struct attn_weights *weights;
    struct attn_answer answer;
    struct attn_selection *selection; /* owns; the row that is asked about */
    struct attn_capture *capture;     /* owns */
    double model;                     /* the logit, or the difference of two */
    double *column;                   /* [D] owns; of W_U, the target's minus the foil's */
    double *direction;                /* [D] owns; u */
    double *behind; /* [D] owns; u before the norm behind attention of the layer in hand */
    double *along;  /* [H*Ev] owns; W_O u of that layer */
    double *row;    /* [D] owns; scratch */
    struct attn_table *table; /* owns */
    double sum;
    struct read_key *keys; /* [n_key] owns */
    size_t n_key, capacity;
};

/* --- The run ---------------------------------------------------------------------------------- */

static enum attn_status prepare(struct job *job, struct attn_host *host, struct attn_error *err)
{
    enum attn_status status = attn_trial_check_host(host, err);

    if (status != ATTN_OK)
        return status;
    attn_inquiry_choose_nothing(&job->request);
    status = attn_run_prepare(host, &job->request, &job->run, err);
    if (status != ATTN_OK)
        return status;
    job->config = attn_model_config(job->run->model);
    job->weights = &job->run->model->weights;
    if (!job->config->has_residual) {
        attn_error_set(err, ATTN_INVALID,
                       "'%s' has no residual stream, so its logits are no sum of parts",
                       attn_quote_string(attn_model_name(job->run->model)).text);
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    }
    if (!job->args->answer.target && !job->args->answer.target_id) {
        attn_error_set(err, ATTN_INVALID, "expected --target, the token whose logit is split");
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    }
    return attn_answer_find(job->run, &job->args->answer, &job->answer, err);
}

/* The weights that z is made of; 0 when a layer has none. */
static uint64_t pattern_sites(const struct job *job)
{
    const bool is_dropped = job->run->attention.layers[0].dropout > 0;

    return ATTN_SITE_BIT(ATTN_SITE_V) |
           ATTN_SITE_BIT(is_dropped ? ATTN_SITE_PATTERN_DROPPED : ATTN_SITE_PATTERN);
}

static enum attn_status choose(struct job *job, struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(job->run->selection);
    uint64_t sites = ATTN_SITE_BIT(ATTN_SITE_EMBED) | ATTN_SITE_BIT(ATTN_SITE_RESID_PRE) |
                     ATTN_SITE_BIT(ATTN_SITE_Z) | ATTN_SITE_BIT(ATTN_SITE_ATTN_OUT) |
                     ATTN_SITE_BIT(ATTN_SITE_MLP_OUT) | ATTN_SITE_BIT(ATTN_SITE_RESID_POST) |
                     ATTN_SITE_BIT(ATTN_SITE_LN_FINAL);
    enum attn_status status = attn_selection_create(dims, &job->selection, err);

    if (job->args->by_token && (pattern_sites(job) & ~dims->sites) != 0) {
        attn_error_set(err, ATTN_INVALID,
                       "--by token needs a pattern, and this attention has none");
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    }
    sites |= job->args->by_token ? pattern_sites(job) : 0;
    if (status == ATTN_OK)
        status = attn_selection_set_sites(job->selection, sites, err);
    if (status == ATTN_OK)
        status = attn_selection_keep_queries(job->selection, job->answer.position, 1, err);
    if (status == ATTN_OK)
        status = attn_capture_create(job->selection, &job->capture, err);
    return status;
}

/* Runs, keeps the row of each tensor, and reads the model's own logit. */
static enum attn_status keep(struct job *job, struct attn_error *err)
{
    struct attn_trial trial = attn_trial_of(job->run);
    const struct attn_answer *answer = &job->answer;
    float *logits = attn_alloc(job->config->n_vocab, sizeof *logits, err);
    struct attn_session *session = NULL;
    enum attn_status status = logits ? ATTN_OK : ATTN_NO_MEMORY;

    trial.trace = attn_capture_trace(job->capture);
    if (status == ATTN_OK)
        status = attn_trial_run(&trial, &session, err);
    if (status == ATTN_OK)
        status = attn_session_logits_at(session, answer->position, 1, logits, err);
    if (status == ATTN_OK)
        job->model =
            (double)logits[answer->target] - (answer->has_foil ? (double)logits[answer->foil] : 0);
    attn_session_free(session);
    attn_free(logits);
    return attn_error_at(status, ATTN_STAGE_MODEL, err);
}

static const float *kept(const struct job *job, enum attn_site site, int layer)
{
    return attn_capture_tensor(job->capture, site, layer);
}

/* --- Directions ------------------------------------------------------------------------------- */

static double dot(const double *u, const float *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += u[i] * (double)x[i];
    return sum;
}

static bool takes_mean_off(const struct job *job)
{
    return job->config->norm == ATTN_NORM_LAYERNORM;
}

/* What a norm divides X [D] by. */
static double norm_scale(const struct job *job, const double *x)
{
    const size_t d = job->config->d_model;
    double mean = 0, sum = 0;

    for (size_t i = 0; takes_mean_off(job) && i < d; i++)
        mean += x[i] / (double)d;
    for (size_t i = 0; i < d; i++)
        sum += (x[i] - mean) * (x[i] - mean);
    return sqrt(sum / (double)d + (double)job->config->norm_eps);
}

/* The direction before a norm with WEIGHTS, frozen at SCALE, from the direction TO behind it. */
static void go_before_norm(struct job *job, const struct attn_norm_weights *weights, double scale,
                           const double *to, double *before)
{
    const size_t d = job->config->d_model;
    double mean = 0;

    attn_vector_elements(&weights->w, d, job->row);
    for (size_t i = 0; i < d; i++) {
        const double w = job->row[i] + (job->config->norm == ATTN_NORM_RMSNORM_PLUS_ONE ? 1 : 0);

        before[i] = to[i] * w / scale;
        mean += before[i] / (double)d;
    }
    for (size_t i = 0; takes_mean_off(job) && i < d; i++)
        before[i] -= mean;
}

/* What a bias vector writes along U. */
static double bias_along(struct job *job, const struct attn_vector *bias, const double *u)
{
    const size_t d = job->config->d_model;
    double sum = 0;

    attn_vector_elements(bias, d, job->row);
    for (size_t i = 0; i < d; i++)
        sum += u[i] * job->row[i];
    return sum;
}

static void find_direction(struct job *job)
{
    const size_t d = job->config->d_model;
    const float *stream = kept(job, ATTN_SITE_RESID_POST, (int)job->config->n_layer - 1);
    const struct attn_matrix *unembed = &job->weights->unembed.weight;

    attn_matrix_column(unembed, (size_t)job->answer.target, job->column);
    if (job->answer.has_foil) {
        attn_matrix_column(unembed, (size_t)job->answer.foil, job->row);
        for (size_t i = 0; i < d; i++)
            job->column[i] -= job->row[i];
    }
    memcpy(job->direction, job->column, d * sizeof *job->column);
    if (!job->config->has_final_norm)
        return;
    for (size_t i = 0; i < d; i++)
        job->row[i] = (double)stream[i];
    go_before_norm(job, &job->weights->ln_final, norm_scale(job, job->row), job->column,
                   job->direction);
}

/* job->behind: the direction in which the heads of LAYER write; along: what each component of z
 * writes. */
static void find_layer_direction(struct job *job, int layer)
{
    const struct attn_block_weights *w = &job->weights->blocks[layer];
    const size_t d = job->config->d_model, n_z = job->config->n_head * job->config->d_value;
    const float *z = kept(job, ATTN_SITE_Z, layer);

    memcpy(job->behind, job->direction, d * sizeof *job->behind);
    if (w->ln1_behind.w.data) { /* its scale is that of the whole sum */
        double *sum = job->behind;

        for (size_t i = 0; i < n_z; i++)
            job->along[i] = (double)z[i];
        attn_vector_elements(&w->out.bias, d, sum);
        attn_matrix_add_rows(&w->out.weight, 0, n_z, job->along, sum);
        go_before_norm(job, &w->ln1_behind, norm_scale(job, sum), job->direction, job->behind);
    }
    if (w->out.weight.data)
        attn_matrix_along(&w->out.weight, 0, n_z, job->behind, job->along);
    else /* heads lie side by side in the stream */
        memcpy(job->along, job->behind, n_z * sizeof *job->along);
}

/* --- Parts ------------------------------------------------------------------------------------ */

/* Appends a part. LAYER and HEAD may be -1: it has none. */
static enum attn_status append(struct job *job, const char *part, int layer, int head, double logit,
                               struct attn_error *err)
{
    const struct attn_cell row[] = {attn_cell_text(part, strlen(part)),
                                    layer >= 0 ? attn_cell_integer(layer) : attn_cell_missing(),
                                    head >= 0 ? attn_cell_integer(head) : attn_cell_missing(),
                                    attn_cell_real(logit)};

    job->sum += logit;
    return attn_table_append(job->table, row, 4, err);
}

static enum attn_status append_embedding(struct job *job, struct attn_error *err)
{
    const size_t d = job->config->d_model;
    const double embed = dot(job->direction, kept(job, ATTN_SITE_EMBED, ATTN_NO_LAYER), d);
    const double both = dot(job->direction, kept(job, ATTN_SITE_RESID_PRE, 0), d);

    ATTN_TRY(append(job, "embed", -1, -1, embed, err));
    if (job->config->positions == ATTN_POSITIONS_LEARNED)
        ATTN_TRY(append(job, "pos", -1, -1, both - embed, err));
    return ATTN_OK;
}

static enum attn_status append_heads(struct job *job, int layer, struct attn_error *err)
{
    const size_t width = job->config->d_value;
    const float *z = kept(job, ATTN_SITE_Z, layer);
    enum attn_status status = ATTN_OK;

    for (int head = 0; status == ATTN_OK && head < (int)job->config->n_head; head++) {
        const size_t at = (size_t)head * width;

        status = append(job, "head", layer, head, dot(job->along + at, z + at, width), err);
    }
    return status;
}

static enum attn_status append_layer(struct job *job, int layer, struct attn_error *err)
{
    const struct attn_block_weights *w = &job->weights->blocks[layer];
    const float *mlp = kept(job, ATTN_SITE_MLP_OUT, layer);
    const bool has_bias = w->out.bias.data || w->ln1_behind.b.data;

    find_layer_direction(job, layer);
    ATTN_TRY(append_heads(job, layer, err));
    if (has_bias)
        ATTN_TRY(append(job, "attn_bias", layer, -1,
                        bias_along(job, &w->out.bias, job->behind) +
                            bias_along(job, &w->ln1_behind.b, job->direction),
                        err));
    if (mlp)
        ATTN_TRY(
            append(job, "mlp", layer, -1, dot(job->direction, mlp, job->config->d_model), err));
    return ATTN_OK;
}

/* Element ID of the bias of the output matrix, or 0. */
static double output_bias_of(const struct job *job, int32_t id)
{
    struct attn_vector bias = job->weights->unembed.bias;
    double element = 0;

    if (bias.data) {
        bias.data = (const char *)bias.data + (size_t)id * (attn_dtype_bits(bias.dtype) / 8);
        attn_vector_elements(&bias, 1, &element);
    }
    return element;
}

static double output_bias(const struct job *job)
{
    return output_bias_of(job, job->answer.target) -
           (job->answer.has_foil ? output_bias_of(job, job->answer.foil) : 0);
}

static enum attn_status append_output(struct job *job, struct attn_error *err)
{
    const bool has_norm = job->config->has_final_norm;
    const float *read = has_norm ? kept(job, ATTN_SITE_LN_FINAL, ATTN_NO_LAYER)
                                 : kept(job, ATTN_SITE_RESID_POST, (int)job->config->n_layer - 1);
    const double bias = output_bias(job);
    enum attn_status status = ATTN_OK;

    if (has_norm && job->weights->ln_final.b.data)
        status = append(job, "norm_bias", -1, -1,
                        bias_along(job, &job->weights->ln_final.b, job->column), err);
    if (status == ATTN_OK && job->weights->unembed.bias.data)
        status = append(job, "output_bias", -1, -1, bias, err);
    if (status == ATTN_OK)
        status = append(job, "sum", -1, -1, job->sum, err);
    if (status == ATTN_OK && job->config->logits_cap > 0)
        job->model = dot(job->column, read, job->config->d_model) + bias;
    if (status == ATTN_OK)
        status = append(job, "model", -1, -1, job->model, err);
    return status;
}

static enum attn_status attribute_parts(struct job *job, struct attn_error *err)
{
    static const struct attn_column columns[] = {
        {.name = "part", .type = ATTN_VALUE_TEXT},
        {.name = "layer", .type = ATTN_VALUE_INTEGER},
        {.name = "head", .type = ATTN_VALUE_INTEGER},
        {.name = "logit", .type = ATTN_VALUE_REAL, .notation = ATTN_NOTATION_FIXED, .digits = 4},
    };

    ATTN_TRY(attn_table_create("attribute", columns, sizeof columns / sizeof *columns, &job->table,
                               err));
    ATTN_TRY(append_embedding(job, err));
    for (int layer = 0; layer < (int)job->config->n_layer; layer++)
        ATTN_TRY(append_layer(job, layer, err));
    return append_output(job, err);
}

/* --- By token --------------------------------------------------------------------------------- */

/* Keeps what HEAD of LAYER reads from each key. */
static enum attn_status read_keys(struct job *job, int layer, int head, struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(job->selection);
    const bool is_cross = job->config->is_cross[layer];
    const size_t width = job->config->d_value;
    const size_t n = is_cross ? dims->n_source : dims->n_position;
    const int group = (int)(job->config->n_head / job->config->n_kv_head);
    const enum attn_site site = (attn_selection_has_site(job->selection, ATTN_SITE_PATTERN_DROPPED))
                                    ? ATTN_SITE_PATTERN_DROPPED
                                    : ATTN_SITE_PATTERN;
    const float *pattern = attn_capture_head(job->capture, site, layer, head);
    const float *v = attn_capture_head(job->capture, ATTN_SITE_V, layer, head / group);
    void *block = job->keys;

    ATTN_TRY(attn_grow(&block, &job->capacity, job->n_key + n, sizeof *job->keys, err));
    job->keys = block;
    for (size_t key = 0; key < n; key++)
        if (pattern[key] != 0)
            job->keys[job->n_key++] =
                (struct read_key){layer, head, key,
                                  (double)pattern[key] * dot(job->along + (size_t)head * width,
                                                             v + key * width, width)};
    return ATTN_OK;
}

/* By magnitude, the largest first; then by layer, head and key. */
static int by_magnitude(const void *a, const void *b)
{
    const struct read_key *x = a, *y = b;
    const int order = attn_compare_numbers(-fabs(x->logit), -fabs(y->logit));

    if (order != 0)
        return order;
    if (x->layer != y->layer)
        return x->layer < y->layer ? -1 : 1;
    if (x->head != y->head)
        return x->head < y->head ? -1 : 1;
    return x->key < y->key ? -1 : x->key > y->key;
}

static enum attn_status append_key(struct job *job, const struct read_key *key,
                                   struct attn_error *err)
{
    const struct attn_run *run = job->run;
    const struct attn_token_bytes *tokens =
        job->config->is_cross[key->layer] ? &run->source.tokens : &run->text.tokens;
    struct attn_cell row[] = {attn_cell_integer(key->layer), attn_cell_integer(key->head),
                              attn_cell_integer((int64_t)key->key), attn_cell_missing(),
                              attn_cell_real(key->logit)};

    if (tokens->bytes)
        row[3] = attn_cell_text(tokens->bytes[key->key], tokens->sizes[key->key]);
    return attn_table_append(job->table, row, sizeof row / sizeof *row, err);
}

static enum attn_status attribute_keys(struct job *job, struct attn_error *err)
{
    static const struct attn_column columns[] = {
        {.name = "layer", .type = ATTN_VALUE_INTEGER},
        {.name = "head", .type = ATTN_VALUE_INTEGER},
        {.name = "key", .type = ATTN_VALUE_INTEGER},
        {.name = "token", .type = ATTN_VALUE_TEXT},
        {.name = "logit", .type = ATTN_VALUE_REAL, .notation = ATTN_NOTATION_FIXED, .digits = 4},
    };
    const size_t n_most = job->args->n_most > 0 ? job->args->n_most : DEFAULT_MOST;
    enum attn_status status =
        attn_table_create("attribute", columns, sizeof columns / sizeof *columns, &job->table, err);

    for (int layer = 0; status == ATTN_OK && layer < (int)job->config->n_layer; layer++) {
        find_layer_direction(job, layer);
        for (int head = 0; status == ATTN_OK && head < (int)job->config->n_head; head++)
            status = read_keys(job, layer, head, err);
    }
    if (status == ATTN_OK && job->n_key > 0)
        qsort(job->keys, job->n_key, sizeof *job->keys, by_magnitude);
    for (size_t i = 0; status == ATTN_OK && i < job->n_key && i < n_most; i++)
        status = append_key(job, &job->keys[i], err);
    return status;
}

/* --- All of it -------------------------------------------------------------------------------- */

static enum attn_status allocate(struct job *job, struct attn_error *err)
{
    const size_t d = job->config->d_model;

    job->column = attn_alloc(d, sizeof *job->column, err);
    job->direction = attn_alloc(d, sizeof *job->direction, err);
    job->behind = attn_alloc(d, sizeof *job->behind, err);
    job->row = attn_alloc(d, sizeof *job->row, err);
    job->along = attn_alloc(job->config->n_head * job->config->d_value, sizeof *job->along, err);
    return job->column && job->direction && job->behind && job->row && job->along ? ATTN_OK
                                                                                  : ATTN_NO_MEMORY;
}

static void release(struct job *job)
{
    attn_capture_free(job->capture);
    attn_selection_free(job->selection);
    attn_run_free(job->run);
    attn_free(job->column);
    attn_free(job->direction);
    attn_free(job->behind);
    attn_free(job->along);
    attn_free(job->row);
    attn_free(job->keys);
    attn_table_free(job->table);
}

static enum attn_status attribute(struct job *job, struct attn_host *host, struct attn_error *err)
{
    ATTN_TRY(prepare(job, host, err));
    ATTN_TRY(allocate(job, err));
    ATTN_TRY(choose(job, err));
    ATTN_TRY(keep(job, err));
    find_direction(job);
    return job->args->by_token ? attribute_keys(job, err) : attribute_parts(job, err);
}

/* What each of many texts is asked. */
struct question {
    struct attn_host *host;
    struct attn_attribute_args args;
};

static enum attn_status attribute_text(void *user, const struct attn_request *request,
                                       struct attn_table **table, struct attn_error *err)
{
    const struct question *question = user;

    return attn_attribute(question->host, request, &question->args, table, err);
}

static enum attn_status attribute_texts(struct job *job, struct attn_host *host,
                                        struct attn_table **table, struct attn_error *err)
{
    struct question question = {host, *job->args};
    const struct attn_text_question asked = {attribute_text, &question};

    if (job->args->by_token) {
        attn_error_set(err, ATTN_INVALID,
                       "--by token and --texts do not go together: keys belong to one text");
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    }
    question.args.texts = NULL;
    question.args.n_text = 0;
    return attn_text_means_ask(&asked, &job->request, job->args->texts, job->args->n_text, table,
                               err);
}

enum attn_status attn_attribute(struct attn_host *host, const struct attn_request *request,
                                const struct attn_attribute_args *given, struct attn_table **table,
                                struct attn_error *err)
{
    if (!attn_is_given(host, "host", err) || !attn_is_given(request, "request", err) ||
        !attn_is_given(table, "table", err))
        return ATTN_INVALID;
    struct attn_attribute_args args = ATTN_ATTRIBUTE_ARGS_DEFAULT;
    struct job job = {.args = &args, .request = ATTN_REQUEST_DEFAULT};
    const struct attn_inquiry inquiry = {given, request};
    enum attn_status status = attn_inquiry_read(&inquiry, &args, &job.request, err);

    if (status != ATTN_OK)
        return status;
    args.answer.metric = ATTN_ANSWER_AUTO;
    if (args.n_text > 0 && !attn_is_given(args.texts, "texts", err))
        return ATTN_INVALID;
    if (args.n_text > 0)
        return attribute_texts(&job, host, table, err);
    status = attribute(&job, host, err);
    if (status == ATTN_OK) {
        *table = job.table;
        job.table = NULL;
    }
    release(&job);
    return status;
}
