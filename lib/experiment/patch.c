/* patch.c - see patch.h. */
#include "experiment/patch.h"

#include "base/escape.h"
#include "base/fixed_text.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/status_internal.h"
#include "base/table_internal.h"
#include "experiment/inquiry.h"
#include "experiment/text_means.h"
#include "experiment/trials.h"
#include "trace/site_internal.h"

#include <math.h>
#include <string.h>

static const double least_difference = 1e-4; /* of the metric, between the two runs */

enum { MOST_COLUMNS = 8 };

struct job {
    const struct attn_patch_args *args;
    struct attn_host *host;
    struct attn_request request;
    struct attn_run *clean, *corrupted; /* own */
    struct attn_run *base, *source;     /* of these two: that which is patched, that which gives */
    const struct attn_config *config;
    enum attn_site site;
    bool is_by_head;
    struct attn_answer answer;        /* in the run that is patched */
    struct attn_selection *selection; /* owns; the site, in all layers */
    struct attn_capture *capture;     /* owns; of the source */
    struct attn_trials trials;
    double source_value;
    unsigned char *queries;  /* [n] positions that are patched by head; owns */
    size_t n_piece;          /* of all layers */
    size_t n_each;           /* of a layer */
    struct attn_edit *edits; /* owns */
    struct attn_trial_change *changes;
    struct attn_trial_outcome *outcomes; /* own; [n_piece] */
    double control, control_sd;          /* of the effect of heads that are drawn */
    struct attn_table *table;            /* owns */
};

/* --- What is asked for ------------------------------------------------------------------------ */

static enum attn_status find_site(struct job *job, struct attn_error *err)
{
    static const char list[] = "resid_pre, resid_mid, resid_post, attn_out, mlp_out, q, k, v, z or "
                               "pattern";
    static const enum attn_site sites[] = {
        ATTN_SITE_RESID_PRE, ATTN_SITE_RESID_MID, ATTN_SITE_RESID_POST, ATTN_SITE_ATTN_OUT,
        ATTN_SITE_MLP_OUT,   ATTN_SITE_Q,         ATTN_SITE_K,          ATTN_SITE_V,
        ATTN_SITE_Z,         ATTN_SITE_PATTERN};
    const char *name = job->args->site ? job->args->site : "resid_pre";

    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++)
        if (strcmp(attn_site_name(sites[i]), name) == 0) {
            job->site = sites[i];
            job->is_by_head = attn_site_layout(job->site) != ATTN_LAYOUT_VECTOR;
            return ATTN_OK;
        }
    return attn_error_set(err, ATTN_INVALID, "'%s' cannot be patched, expected one of %s",
                          attn_quote_string(name).text, list);
}

/* "5 tokens: 'The', ' keys'" of RUN. */
static void list_tokens(const struct attn_run *run, char *out, size_t size)
{
    const struct attn_sequence *text = &run->text;
    size_t used = 0;

    attn_fixed_text_append(out, size, &used, "%zu token%s", text->n, text->n == 1 ? "" : "s");
    for (size_t i = 0; text->tokens.bytes && i < text->n; i++) {
        const struct attn_quote token = attn_quote(text->tokens.bytes[i], text->tokens.sizes[i]);

        attn_fixed_text_append(out, size, &used, "%s'%s'", i > 0 ? ", " : ": ", token.text);
    }
}

static enum attn_status check_lengths(const struct job *job, struct attn_error *err)
{
    char clean[320], corrupted[320];

    if (job->clean->text.n == job->corrupted->text.n)
        return ATTN_OK;
    list_tokens(job->clean, clean, sizeof clean);
    list_tokens(job->corrupted, corrupted, sizeof corrupted);
    attn_error_set(err, ATTN_INVALID,
                   "the clean text has %s; the corrupted one has %s; expected as "
                   "many",
                   clean, corrupted);
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_INPUT, err);
}

static enum attn_status prepare(struct job *job, struct attn_error *err)
{
    const char *queries;
    enum attn_status status = attn_trial_check_host(job->host, err);

    if (status == ATTN_OK)
        status = attn_error_at(find_site(job, err), ATTN_STAGE_OPTIONS, err);
    if (status == ATTN_OK && job->args->n_control > 0 && !job->is_by_head) {
        attn_error_set(err, ATTN_INVALID,
                       "controls are choices of as many heads, and '%s' is patched by position",
                       attn_site_name(job->site));
        status = attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    }
    if (status == ATTN_OK && job->request.queries && !job->is_by_head) {
        attn_error_set(err, ATTN_INVALID,
                       "queries need a site with heads; '%s' is patched at each position in turn",
                       attn_site_name(job->site));
        status = attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    }
    if (status != ATTN_OK)
        return status;
    queries = job->request.queries;
    attn_inquiry_choose_nothing(&job->request);
    job->request.queries = queries;
    status = attn_run_prepare(job->host, &job->request, &job->clean, err);
    if (status != ATTN_OK)
        return status;
    job->request.input = job->args->corrupted;
    job->request.queries = NULL; /* words are those of the clean text */
    status = attn_run_prepare(job->host, &job->request, &job->corrupted, err);
    return status == ATTN_OK ? check_lengths(job, err) : status;
}

/* --- The two runs ----------------------------------------------------------------------------- */

static enum attn_status select_site(struct job *job, struct attn_error *err)
{
    enum attn_status status =
        attn_selection_create(attn_selection_dims(job->base->selection), &job->selection, err);

    if (status == ATTN_OK)
        status = attn_selection_set_sites(job->selection, ATTN_SITE_BIT(job->site), err);
    return attn_error_at(status, ATTN_STAGE_OPTIONS, err);
}

/* Runs the source, keeps the site and reads its answer. */
static enum attn_status run_source(struct job *job, struct attn_error *err)
{
    struct attn_trial trial = attn_trial_of(job->source);
    float *logits = attn_alloc(job->config->n_vocab, sizeof *logits, err);
    struct attn_answer answer = job->answer;
    struct attn_session *session = NULL;
    struct attn_reply reply = {0};
    const struct attn_reading reading = {.n = 1,
                                         .base = job->trials.logits,
                                         .base_total = job->trials.base.total,
                                         .logits = logits,
                                         .replies = &reply};
    enum attn_status status = logits ? ATTN_OK : ATTN_NO_MEMORY;

    answer.run = job->source;
    if (status == ATTN_OK)
        status = attn_capture_create(job->selection, &job->capture, err);
    if (status == ATTN_OK) {
        trial.trace = attn_capture_trace(job->capture);
        status = attn_trial_run(&trial, &session, err);
    }
    if (status == ATTN_OK)
        status = attn_answer_read(&answer, session, &reading, err);
    job->source_value = reply.value;
    attn_session_free(session);
    attn_free(logits);
    return status;
}

static enum attn_status run_both(struct job *job, struct attn_error *err)
{
    struct attn_answer_args answer = job->args->answer;
    enum attn_status status;

    status = attn_answer_find(job->clean, &answer, &job->answer, err);
    if (status != ATTN_OK)
        return status;
    job->answer.run = job->base;
    status = attn_trials_start(job->base, &job->answer, job->site, &job->trials, err);
    if (status == ATTN_OK)
        status = select_site(job, err);
    if (status == ATTN_OK)
        status = run_source(job, err);
    if (status == ATTN_OK && fabs(job->source_value - job->trials.base.value) < least_difference) {
        attn_error_set(err, ATTN_INVALID,
                       "'%s' is %.6g of both texts: there is no difference to restore",
                       attn_answer_metric_name(job->answer.metric), job->source_value);
        status = attn_error_at(ATTN_INVALID, ATTN_STAGE_INPUT, err);
    }
    return status;
}

/* --- The pieces ------------------------------------------------------------------------------- */

static enum attn_status find_pieces(struct job *job, struct attn_error *err)
{
    const size_t n = job->base->text.n;
    unsigned char *queries = attn_alloc(n, 1, err);

    if (!queries)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        queries[i] = attn_selection_has_query(job->clean->selection, i);
    job->queries = queries;
    job->n_each = !job->is_by_head                                 ? n
                  : attn_site_layout(job->site) == ATTN_LAYOUT_KEY ? job->config->n_kv_head
                                                                   : job->config->n_head;
    job->n_piece = job->n_each * job->config->n_layer;
    job->edits = attn_alloc(job->n_piece * (job->is_by_head ? n : 1), sizeof *job->edits, err);
    job->changes = attn_alloc(job->n_piece, sizeof *job->changes, err);
    job->outcomes = attn_alloc(job->n_piece, sizeof *job->outcomes, err);
    return job->edits && job->changes && job->outcomes ? ATTN_OK : ATTN_NO_MEMORY;
}

/* The edit that puts rows FIRST .. END-1 of the source in their place. */
static struct attn_edit edit_of(const struct job *job, int layer, int head, size_t first,
                                size_t end)
{
    const struct attn_dims *dims = attn_selection_dims(job->selection);
    const bool is_matrix = attn_site_layout(job->site) == ATTN_LAYOUT_MATRIX;
    const size_t n_key = job->config->is_cross[layer] ? dims->n_source : dims->n_position;
    const size_t width = is_matrix ? n_key : attn_site_width(job->site, dims);
    const float *data = head >= 0 ? attn_capture_head(job->capture, job->site, layer, head)
                                  : attn_capture_tensor(job->capture, job->site, layer);
    struct attn_edit edit = ATTN_EDIT_DEFAULT;

    edit.site = job->site;
    edit.layer = layer;
    edit.head = head >= 0 ? head : ATTN_ALL_HEADS;
    edit.row0 = first;
    edit.row1 = end;
    edit.col1 = width;
    edit.op = ATTN_EDIT_REPLACE;
    edit.data = data + first * width;
    edit.ld = width;
    return edit;
}

/* One head at the chosen positions: an edit a run of neighbours. Returns their number. */
static size_t edit_head(const struct job *job, int layer, int head, struct attn_edit *edits)
{
    const size_t n = job->base->text.n;
    size_t n_edit = 0;

    for (size_t first = 0, end; first < n; first = end) {
        end = first + 1;
        if (!job->queries[first])
            continue;
        while (end < n && job->queries[end])
            end++;
        edits[n_edit++] = edit_of(job, layer, head, first, end);
    }
    return n_edit;
}

static enum attn_status try_pieces(struct job *job, struct attn_error *err)
{
    struct attn_edit *next = job->edits;

    for (size_t i = 0; i < job->n_piece; i++) {
        const int layer = (int)(i / job->n_each);
        const size_t at = i % job->n_each;
        size_t n_edit = 1;

        if (job->is_by_head)
            n_edit = edit_head(job, layer, (int)at, next);
        else
            *next = edit_of(job, layer, -1, at, at + 1);
        job->changes[i] = (struct attn_trial_change){next, n_edit};
        next += n_edit;
    }
    return attn_trials_perform(&job->trials, job->changes, job->n_piece, job->outcomes, err);
}

/* Of a metric of VALUE; never -0. */
static double effect_of(const struct job *job, double value)
{
    const double base = job->trials.base.value;

    return (value - base) / (job->source_value - base) + 0.0;
}

/* Finds the controls: one head each, of those that were tried. */
static enum attn_status draw_controls(struct job *job, struct attn_error *err)
{
    size_t *order = attn_alloc(job->n_piece, sizeof *order, err);
    struct attn_moments effects = {.n = 0};
    struct attn_random random;

    if (!order)
        return ATTN_NO_MEMORY;
    attn_random_seed(&random, job->args->seed);
    for (size_t i = 0; i < job->args->n_control; i++) {
        attn_random_permutation(&random, order, job->n_piece);
        attn_moments_add(&effects, effect_of(job, job->outcomes[order[0]].reply.value));
    }
    job->control = effects.mean;
    job->control_sd = effects.n > 1 ? sqrt(effects.squares / (double)(effects.n - 1)) : 0;
    attn_free(order);
    return ATTN_OK;
}

/* --- The table -------------------------------------------------------------------------------- */

static enum attn_status create_table(struct job *job, struct attn_error *err)
{
#define REAL(label, numbers)                                                                       \
    {                                                                                              \
        .name = (label), .type = ATTN_VALUE_REAL, .notation = ATTN_NOTATION_FIXED, .digits = 6,    \
        .range = (numbers)                                                                         \
    }
    const bool is_by_head = job->is_by_head;
    const bool is_of_keys = attn_site_layout(job->site) == ATTN_LAYOUT_KEY;
    const struct attn_column columns[MOST_COLUMNS] = {
        {.name = "part", .type = ATTN_VALUE_TEXT},
        {.name = "layer", .type = ATTN_VALUE_INTEGER},
        {.name = !is_by_head  ? "position"
                 : is_of_keys ? "kv_head"
                              : "head",
         .type = ATTN_VALUE_INTEGER},
        {.name = "token", .type = ATTN_VALUE_TEXT},
        REAL("value", ATTN_RANGE_SIGNED),
        REAL("effect", ATTN_RANGE_SIGNED),
        REAL("control", ATTN_RANGE_SIGNED),
        REAL("control_sd", ATTN_RANGE_POSITIVE),
    };
    struct attn_column of_heads[MOST_COLUMNS - 1] = {columns[0], columns[1], columns[2], columns[4],
                                                     columns[5], columns[6], columns[7]};
#undef REAL

    return is_by_head ? attn_table_create("patch", of_heads, job->args->n_control > 0 ? 7 : 5,
                                          &job->table, err)
                      : attn_table_create("patch", columns, 6, &job->table, err);
}

/* LAYER -1: a row of a whole run. AT: the position or the head. */
static enum attn_status append(struct job *job, const char *part, int layer, size_t at,
                               double value, struct attn_error *err)
{
    const struct attn_token_bytes *tokens = &job->base->text.tokens;
    struct attn_cell row[MOST_COLUMNS] = {attn_cell_text(part, strlen(part))};
    size_t n = 3;

    if (layer >= 0) {
        row[1] = attn_cell_integer(layer);
        row[2] = attn_cell_integer((int64_t)at);
    }
    if (!job->is_by_head && layer >= 0 && tokens->bytes)
        row[n] = attn_cell_text(tokens->bytes[at], tokens->sizes[at]);
    n += !job->is_by_head;
    row[n++] = attn_cell_real(value);
    row[n++] = attn_cell_real(effect_of(job, value));
    if (job->args->n_control > 0) {
        if (layer >= 0) {
            row[n] = attn_cell_real(job->control);
            row[n + 1] = attn_cell_real(job->control_sd);
        }
        n += 2;
    }
    return attn_table_append(job->table, row, n, err);
}

static enum attn_status append_all(struct job *job, struct attn_error *err)
{
    ATTN_TRY(append(job, "base", -1, 0, job->trials.base.value, err));
    ATTN_TRY(append(job, "source", -1, 0, job->source_value, err));
    for (size_t i = 0; i < job->n_piece; i++)
        ATTN_TRY(append(job, attn_site_name(job->site), (int)(i / job->n_each), i % job->n_each,
                        job->outcomes[i].reply.value, err));
    return ATTN_OK;
}

/* --- All of it -------------------------------------------------------------------------------- */

static enum attn_status patch(struct job *job, struct attn_error *err)
{
    job->base = job->args->is_to_noise ? job->clean : job->corrupted;
    job->source = job->args->is_to_noise ? job->corrupted : job->clean;
    job->config = attn_model_config(job->base->model);
    ATTN_TRY(run_both(job, err));
    ATTN_TRY(find_pieces(job, err));
    ATTN_TRY(try_pieces(job, err));
    if (job->args->n_control > 0)
        ATTN_TRY(draw_controls(job, err));
    ATTN_TRY(create_table(job, err));
    return append_all(job, err);
}

static void release(struct job *job)
{
    attn_trials_release(&job->trials);
    attn_capture_free(job->capture);
    attn_selection_free(job->selection);
    attn_free(job->queries);
    attn_free(job->edits);
    attn_free(job->changes);
    attn_free(job->outcomes);
    attn_table_free(job->table);
    attn_run_free(job->clean);
    attn_run_free(job->corrupted);
}

enum attn_status attn_patch(struct attn_host *host, const struct attn_request *request,
                            const struct attn_patch_args *given, struct attn_table **table,
                            struct attn_patch_sum *sum, struct attn_error *err)
{
    if (!attn_is_given(host, "host", err) || !attn_is_given(request, "request", err) ||
        !attn_is_given(table, "table", err) || !attn_is_given(sum, "sum", err))
        return ATTN_INVALID;
    struct attn_patch_args args = ATTN_PATCH_ARGS_DEFAULT;
    struct job job = {.args = &args, .host = host, .request = ATTN_REQUEST_DEFAULT};
    const struct attn_inquiry inquiry = {given, request};
    enum attn_status status = attn_inquiry_read(&inquiry, &args, &job.request, err);

    if (status != ATTN_OK)
        return status;
    status = prepare(&job, err);
    if (status == ATTN_OK)
        status = patch(&job, err);
    if (status == ATTN_OK) {
        const double base = job.trials.base.value, source = job.source_value;

        *table = job.table;
        job.table = NULL;
        *sum = (struct attn_patch_sum){.clean = args.is_to_noise ? base : source,
                                       .corrupted = args.is_to_noise ? source : base,
                                       .n_row = job.outcomes[0].n_row,
                                       .n_feed = job.trials.n_feed + 1};
    }
    release(&job);
    return status;
}
