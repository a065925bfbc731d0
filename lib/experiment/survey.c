/*
 * survey.c - see survey.h. Each text is a run whose pattern the measures read from the trace; what
 * they found is added to mean and variance of each head (Welford's sums).
 */
#include "experiment/survey.h"

#include "analysis/measure_internal.h"
#include "analysis/metric.h"
#include "base/escape.h"
#include "base/fixed_text.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/random.h"
#include "base/status_internal.h"
#include "base/table_internal.h"
#include "experiment/ablate.h"
#include "experiment/inquiry.h"
#include "experiment/text_means.h"
#include "experiment/trial.h"
#include "experiment/word_pairs.h"
#include "run/many.h"
#include "trace/row.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The values of a head, in the order of their columns: the measures first. */
enum value {
#define VALUE_ENUM(id, ...) VALUE_##id,
    ATTN_MEASURE_MAP(VALUE_ENUM)
#undef VALUE_ENUM
        N_MEASURED,
    VALUE_MUL = N_MEASURED, /* of a pattern of one's own */
    VALUE_ABS,
    VALUE_WEIGHT, /* of from and to */
    VALUE_PERCENTILE,
    VALUE_EFFECT,
    N_VALUE
};

enum { MOST_COLUMNS = 3 + 2 * N_VALUE + 2, DEFAULT_LENGTH = 50 };

enum { MOST_ROWS = 1024 }; /* of a long text that are fed at a time */

static const double default_threshold = 0.5;

struct head {
    struct attn_moments values[N_VALUE];
};

/* The scores that types are made of; of equal ones the first. */
static const int detectors[] = {VALUE_PREVIOUS, VALUE_FIRST, VALUE_SELF, VALUE_DUPLICATE,
                                VALUE_INDUCTION};

/* What a pattern of one's own is compared by. */
struct match {
    double product, weight, difference; /* sums of A P, A, |A - P| over the rows */
};

struct job {
    const struct attn_survey_args *args;
    struct attn_host *host;
    struct attn_request request;
    const struct attn_config *config;
    uint64_t shown,
        measured; /* ATTN_MEASURE_BIT of columns; of these and of what types are made of */
    const struct attn_metric *metrics[ATTN_N_MEASURE]; /* [n_metric] that find them, each once */
    size_t n_metric;
    struct head *heads;       /* [n_layer * n_head] owns */
    struct match *matches;    /* the same; or NULL */
    float *row;               /* [T] owns; with a pattern */
    double *found;            /* [n_layer * n_head, N_VALUE] owns; of the text in hand */
    size_t n_text;            /* that were surveyed */
    struct attn_table *table; /* owns */
};

/* The run of one text, and those who listen. */
struct listening {
    struct job *job;
    struct attn_run *run;
    struct attn_selection *selection;
    struct attn_measurement *measurements[ATTN_N_MEASURE]; /* [n_metric] */
    struct attn_word_pairs *pairs;                         /* with from and to */
};

static size_t n_all(const struct job *job)
{
    return job->config->n_layer * job->config->n_head;
}

/* --- One text --------------------------------------------------------------------------------- */

static void match_rows(struct job *job, const struct attn_trace_event *event)
{
    const size_t n = job->args->pattern->shape[1];
    struct match *match =
        &job->matches[(size_t)event->layer * job->config->n_head + (size_t)event->head];

    for (size_t r = 0; r < event->n_row; r++) {
        const float *wanted = job->args->pattern->data + (event->row0 + r) * n;

        attn_event_copy_row(event, r, job->row, n);
        for (size_t key = 0; key < n; key++) {
            const double a = (double)job->row[key], p = (double)wanted[key];

            match->product += a * p;
            match->weight += a;
            match->difference += fabs(a - p);
        }
    }
}

/* An attn_trace_fn. */
static enum attn_status on_rows(void *user, const struct attn_trace_event *event,
                                struct attn_error *err)
{
    struct listening *listening = user;

    (void)err;
    for (size_t i = 0; i < listening->job->n_metric; i++)
        attn_measurement_add(listening->measurements[i], event, NULL);
    if (listening->job->matches)
        match_rows(listening->job, event);
    if (listening->pairs)
        attn_word_pairs_add(listening->pairs, event);
    return ATTN_OK;
}

static enum attn_status check_pattern(const struct listening *listening, struct attn_error *err)
{
    const struct attn_ndarray *pattern = listening->job->args->pattern;
    const size_t n = listening->run->text.n;

    if (!pattern || (pattern->rank == 2 && pattern->shape[0] == n && pattern->shape[1] == n))
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID, "'%s' is not [%zu, %zu], a cell for each pair of tokens",
                   attn_quote_string(pattern->name).text, n, n);
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_INPUT, err);
}

static enum attn_status listen(struct listening *listening, struct attn_error *err)
{
    struct job *job = listening->job;
    const struct attn_dims *dims = attn_selection_dims(listening->run->selection);
    const struct attn_metric_settings settings = attn_run_metric_settings(listening->run);
    enum attn_status status = attn_selection_create(dims, &listening->selection, err);

    if (status == ATTN_OK)
        status =
            attn_selection_set_sites(listening->selection, ATTN_SITE_BIT(ATTN_SITE_PATTERN), err);
    for (size_t i = 0; status == ATTN_OK && i < job->n_metric; i++)
        status = attn_measurement_create(job->metrics[i], &settings, listening->selection,
                                         job->host->pool, &listening->measurements[i], err);
    if (status == ATTN_OK && job->args->from)
        status = attn_word_pairs_create(listening->run, job->args->from, job->args->to,
                                        &listening->pairs, err);
    if (status != ATTN_OK || !job->args->pattern)
        return status;
    attn_free(job->row);
    job->row = attn_alloc(dims->n_position, sizeof *job->row, err);
    if (!job->matches)
        job->matches = attn_alloc(n_all(job), sizeof *job->matches, err);
    if (!job->row || !job->matches)
        return ATTN_NO_MEMORY;
    memset(job->matches, 0, n_all(job) * sizeof *job->matches);
    return ATTN_OK;
}

static enum attn_status run_text(const struct listening *listening, const struct attn_trace *trace,
                                 struct attn_error *err)
{
    struct attn_trial trial = attn_trial_of(listening->run);
    struct attn_session *session = NULL;
    enum attn_status status;

    trial.trace = trace;
    trial.has_logits = false;
    trial.n_feed = MOST_ROWS;
    status = attn_trial_run(&trial, &session, err);
    attn_session_free(session);
    return status;
}

/* What the measures say of each head. */
static void take_values(const struct listening *listening)
{
    const struct job *job = listening->job;

    for (int m = 0; m < ATTN_N_MEASURE; m++) {
        int which;
        const struct attn_metric *metric = attn_measure_metric((enum attn_measure)m, &which);
        size_t i = 0;

        if ((job->measured & ATTN_MEASURE_BIT(m)) == 0)
            continue;
        while (job->metrics[i] != metric)
            i++;
        for (size_t head = 0; head < n_all(job); head++) {
            double values[ATTN_METRIC_MOST];

            attn_measurement_find(listening->measurements[i], (int)(head / job->config->n_head),
                                  (int)(head % job->config->n_head), values);
            job->found[head * N_VALUE + (size_t)m] = values[which];
        }
    }
}

static void take_matches(const struct listening *listening)
{
    const struct job *job = listening->job;
    const double n = (double)listening->run->text.n;

    for (size_t head = 0; job->matches && head < n_all(job); head++) {
        const struct match *match = &job->matches[head];
        double *found = job->found + head * N_VALUE;

        found[VALUE_MUL] = match->product / match->weight;
        found[VALUE_ABS] = 1 - match->difference / n;
    }
}

/* --- From words to words ---------------------------------------------------------------------- */

/* An attn_trace_fn, of a second pass. */
static enum attn_status on_pairs(void *user, const struct attn_trace_event *event,
                                 struct attn_error *err)
{
    struct listening *listening = user;

    (void)err;
    attn_word_pairs_count(listening->pairs, event);
    return ATTN_OK;
}

static enum attn_status take_pairs(struct listening *listening, struct attn_error *err)
{
    const struct attn_trace trace = {listening->selection, on_pairs, listening};
    const struct job *job = listening->job;
    enum attn_status status;

    if (!listening->pairs)
        return ATTN_OK;
    status = run_text(listening, &trace, err);
    for (size_t head = 0; status == ATTN_OK && head < n_all(job); head++) {
        const int layer = (int)(head / job->config->n_head);
        double *found = job->found + head * N_VALUE;

        attn_word_pairs_find(listening->pairs, layer, (int)(head % job->config->n_head),
                             &found[VALUE_WEIGHT], &found[VALUE_PERCENTILE]);
    }
    return status;
}

/* --- All texts -------------------------------------------------------------------------------- */

/* Adds what was found of the text in hand; NaN is no value. */
static void add_found(struct job *job)
{
    job->n_text++;
    for (size_t i = 0; i < n_all(job) * N_VALUE; i++)
        if (!isnan(job->found[i]))
            attn_moments_add(&job->heads[i / N_VALUE].values[i % N_VALUE], job->found[i]);
}

static enum attn_status survey_run(struct listening *listening, struct attn_error *err)
{
    const struct attn_trace trace = {NULL, on_rows, listening};
    struct attn_trace told = trace;
    struct job *job = listening->job;
    enum attn_status status = check_pattern(listening, err);

    if (status == ATTN_OK)
        status = listen(listening, err);
    told.selection = listening->selection;
    if (status == ATTN_OK)
        status = run_text(listening, &told, err);
    for (size_t i = 0; status == ATTN_OK && i < n_all(job) * N_VALUE; i++)
        job->found[i] = (double)NAN;
    if (status == ATTN_OK)
        take_values(listening);
    if (status == ATTN_OK)
        take_matches(listening);
    if (status == ATTN_OK)
        status = take_pairs(listening, err);
    return status;
}

static enum attn_status survey_text(struct job *job, const struct attn_input *input,
                                    struct attn_error *err)
{
    struct listening listening = {.job = job};
    enum attn_status status;

    job->request.input = *input;
    status = attn_run_prepare(job->host, &job->request, &listening.run, err);
    if (status == ATTN_OK)
        status = survey_run(&listening, err);
    if (status == ATTN_OK)
        add_found(job);
    for (size_t i = 0; i < job->n_metric; i++)
        attn_measurement_free(listening.measurements[i]);
    attn_word_pairs_free(listening.pairs);
    attn_selection_free(listening.selection);
    attn_run_free(listening.run);
    return status;
}

/* --- Probes ----------------------------------------------------------------------------------- */

static enum attn_status check_probe(const struct job *job, size_t length, size_t repeats,
                                    size_t n_id, struct attn_error *err)
{
    const size_t n_ctx = job->config->n_ctx;
    const char *name = attn_model_name(attn_host_model(job->host));

    if (length > n_id)
        return attn_error_set(err, ATTN_INVALID, "a probe draws %zu different tokens, '%s' has %zu",
                              length, attn_quote_string(name).text, n_id);
    if (length == 0 || repeats > n_ctx / length)
        return attn_error_set(
            err, ATTN_INVALID,
            "a probe of %zu tokens, %zu times, is too long for '%s', which takes %zu", length,
            repeats, attn_quote_string(name).text, n_ctx);
    return ATTN_OK;
}

/* The ids that may be drawn: those of the model that are no special tokens. Returns their number. */
static size_t list_ids(const struct job *job, int32_t *ids)
{
    const struct attn_tokenizer *tokenizer;
    size_t n = 0;

    attn_host_tokenizer(job->host, &tokenizer, NULL);
    for (size_t id = 0; id < job->config->n_vocab; id++) {
        const bool is_special = tokenizer && (id >= attn_tokenizer_n_vocab(tokenizer) ||
                                              attn_tokenizer_is_special(tokenizer, (int32_t)id));

        if (!is_special)
            ids[n++] = (int32_t)id;
    }
    return n;
}

static enum attn_status survey_probe(struct job *job, uint64_t seed, const int32_t *ids,
                                     size_t n_id, struct attn_error *err)
{
    const size_t most = job->config->n_ctx / 2;
    const size_t length = job->args->probe_length > 0 ? job->args->probe_length
                          : most < DEFAULT_LENGTH     ? most
                                                      : DEFAULT_LENGTH;
    const size_t repeats = job->args->probe_repeats > 0 ? job->args->probe_repeats : 2;
    struct attn_random random;
    size_t *order = NULL;
    int32_t *probe = NULL;
    enum attn_status status =
        attn_error_at(check_probe(job, length, repeats, n_id, err), ATTN_STAGE_OPTIONS, err);

    if (status != ATTN_OK)
        return status;
    order = attn_alloc(n_id, sizeof *order, err);
    probe = attn_alloc(length * repeats, sizeof *probe, err);
    if (!order || !probe)
        status = ATTN_NO_MEMORY;
    if (status == ATTN_OK) {
        attn_random_seed(&random, seed);
        attn_random_permutation(&random, order, n_id);
        for (size_t i = 0; i < length * repeats; i++)
            probe[i] = ids[order[i % length]];
        const struct attn_input input = {.ids = probe, .n_id = length * repeats};

        status = survey_text(job, &input, err);
    }
    attn_free(order);
    attn_free(probe);
    return status;
}

static void tell(const struct job *job, size_t n_done, size_t n)
{
    if (job->request.on_progress)
        job->request.on_progress(job->request.user, n_done, n);
}

static enum attn_status survey_probes(struct job *job, struct attn_error *err)
{
    const size_t n = job->args->n_probe > 0 ? job->args->n_probe : 1;
    int32_t *ids = attn_alloc(job->config->n_vocab, sizeof *ids, err);
    enum attn_status status = ids ? ATTN_OK : ATTN_NO_MEMORY;
    size_t n_id = 0;

    if (status == ATTN_OK)
        n_id = list_ids(job, ids);
    for (size_t i = 0; status == ATTN_OK && i < n; i++) {
        status = survey_probe(job, job->args->probe_seed + i, ids, n_id, err);
        tell(job, i + 1, n);
    }
    attn_free(ids);
    return status;
}

/* The texts on their way through attn_run_many. */
struct texts {
    struct job *job;
    size_t n_given;
};

/* An attn_next_fn. */
static enum attn_status give_text(void *user, struct attn_record *record, bool *is_over,
                                  struct attn_error *err)
{
    struct texts *texts = user;

    (void)err;
    *is_over = texts->n_given == texts->job->args->n_text;
    if (!*is_over)
        record->input = texts->job->args->texts[texts->n_given++];
    return ATTN_OK;
}

/* An attn_done_fn: one text is as good as the other, so that one that fails ends it. */
static enum attn_status take_text(void *user, const struct attn_many_result *result,
                                  struct attn_error *err)
{
    const struct texts *texts = user;
    struct job *job = texts->job;
    const size_t i = result->record->number, n = job->args->n_text;
    const double *exact = result->exact; /* of a measure; those of the next one follow */

    if (result->record->failure != ATTN_RECORD_FAILURE_NONE) {
        const enum attn_status status = attn_error_copy(err, &result->record->err);

        attn_error_hint(err, "in text %zu of %zu", i + 1, n);
        return attn_error_at(status, ATTN_STAGE_INPUT, err);
    }
    for (size_t k = 0; k < n_all(job) * N_VALUE; k++)
        job->found[k] = (double)NAN;
    for (int m = 0; m < ATTN_N_MEASURE; m++) {
        if ((job->measured & ATTN_MEASURE_BIT(m)) == 0)
            continue;
        for (size_t head = 0; head < n_all(job); head++)
            job->found[head * N_VALUE + (size_t)m] = exact[head];
        exact += n_all(job);
    }
    add_found(job);
    tell(job, i + 1, n);
    return ATTN_OK;
}

static enum attn_status survey_texts(struct job *job, struct attn_error *err)
{
    struct texts texts = {.job = job};
    const struct attn_many_calls calls = {.next = give_text, .done = take_text, .user = &texts};
    struct attn_many_options options = ATTN_MANY_OPTIONS_DEFAULT;

    options.request = &job->request;
    options.measures = job->measured;
    return attn_run_many(job->host, &options, &calls, err);
}

static enum attn_status survey_all(struct job *job, struct attn_error *err)
{
    const struct attn_input input = job->request.input;

    if (job->args->has_probe)
        return survey_probes(job, err);
    return job->args->n_text > 0 ? survey_texts(job, err) : survey_text(job, &input, err);
}

/* --- The effect ------------------------------------------------------------------------------- */

static enum attn_status add_effects(struct job *job, const struct attn_request *request,
                                    struct attn_error *err)
{
    struct attn_ablate_args args = ATTN_ABLATE_ARGS_DEFAULT;
    struct attn_ablate_sum sum;
    struct attn_table *effects = NULL;
    enum attn_status status;

    if (!job->args->has_effect)
        return ATTN_OK;
    args.answer = job->args->answer;
    status = attn_ablate(job->host, request, &args, &effects, &sum, err);
    for (size_t head = 0; status == ATTN_OK && head < n_all(job); head++)
        job->heads[head].values[VALUE_EFFECT] = (struct attn_moments){
            .n = 1, .mean = attn_table_cell(effects, head + 1, 4).real}; /* row 0: the base */
    attn_table_free(effects);
    return status;
}

/* --- The table -------------------------------------------------------------------------------- */

static const struct {
    const char *name, *unit;
} columns_of_values[N_VALUE] = {
#define VALUE_COLUMN(id, name, metric, which, unit, ...) {name, unit},
    ATTN_MEASURE_MAP(VALUE_COLUMN)
#undef VALUE_COLUMN
        [VALUE_MUL] = {"mul", NULL},
    [VALUE_ABS] = {"abs", NULL},
    [VALUE_WEIGHT] = {"weight", NULL},
    [VALUE_PERCENTILE] = {"percentile", NULL},
    [VALUE_EFFECT] = {"effect", NULL},
};

static bool has_value(const struct job *job, int value)
{
    switch (value) {
    case VALUE_MUL:
    case VALUE_ABS:
        return job->args->pattern;
    case VALUE_WEIGHT:
    case VALUE_PERCENTILE:
        return job->args->from;
    case VALUE_EFFECT:
        return job->args->has_effect;
    default:
        return (job->shown & ATTN_MEASURE_BIT(value)) != 0;
    }
}

/* Whether the table has columns of many texts. Texts that are listed are many, also when the list
 * holds one: the columns do not depend on its length. */
static bool is_of_many(const struct job *job)
{
    return job->args->n_text > 0 || (job->args->has_probe && job->args->n_probe > 0);
}

static bool is_count(int value)
{
    return value < N_MEASURED && attn_measure_is_count((enum attn_measure)value);
}

/* Whether there is a standard deviation of it. */
static bool has_sd(const struct job *job, int value)
{
    return is_of_many(job) && !is_count(value) && value != VALUE_EFFECT;
}

/* The type of a head, or NULL. */
static const char *type_of(const struct job *job, const struct head *head)
{
    double most = job->args->threshold > 0 ? job->args->threshold : default_threshold;
    const char *type = NULL;

    for (size_t i = 0; i < sizeof detectors / sizeof *detectors; i++) {
        const struct attn_moments *m = &head->values[detectors[i]];

        if (m->n > 0 && m->mean > most) {
            most = m->mean;
            type = columns_of_values[detectors[i]].name;
        }
    }
    return type;
}

/* The columns of the table, and their names where these are made. */
struct columns {
    struct attn_column items[MOST_COLUMNS];
    char names[N_VALUE][32]; /* "entropy_sd" */
    size_t n;
};

static struct attn_column *add_column(struct columns *columns, const char *name,
                                      enum attn_value_type type, const char *unit)
{
    struct attn_column *column = &columns->items[columns->n++];

    *column = (struct attn_column){
        .name = name, .type = type, .unit = unit, .notation = ATTN_NOTATION_FIXED, .digits = 4};
    return column;
}

static enum attn_value_range range_of(int value)
{
    switch (value) {
    case VALUE_ENTROPY:
    case VALUE_DISTANCE:
    case VALUE_N_DUPLICATE:
    case VALUE_N_INDUCTION:
    case VALUE_N_PUNCTUATION:
        return ATTN_RANGE_POSITIVE;
    case VALUE_MUL: /* of any pattern */
    case VALUE_ABS:
    case VALUE_EFFECT:
        return ATTN_RANGE_SIGNED;
    default:
        return ATTN_RANGE_SHARE;
    }
}

/* The contract's order: measures, then the type, then what was asked for beside them. */
static void list_columns(const struct job *job, struct columns *columns)
{
    add_column(columns, "layer", ATTN_VALUE_INTEGER, NULL);
    add_column(columns, "head", ATTN_VALUE_INTEGER, NULL);
    add_column(columns, "kv_head", ATTN_VALUE_INTEGER, NULL);
    for (int i = 0; i < N_VALUE; i++) {
        if (i == N_MEASURED)
            add_column(columns, "type", ATTN_VALUE_TEXT, NULL);
        if (has_value(job, i))
            add_column(columns, columns_of_values[i].name,
                       is_count(i) ? ATTN_VALUE_INTEGER : ATTN_VALUE_REAL,
                       columns_of_values[i].unit)
                ->range = range_of(i);
    }
    for (int i = 0; i < N_VALUE; i++) {
        if (!has_value(job, i) || !has_sd(job, i))
            continue;
        snprintf(columns->names[i], sizeof columns->names[i], "%s_sd", columns_of_values[i].name);
        add_column(columns, columns->names[i], ATTN_VALUE_REAL, columns_of_values[i].unit)->range =
            ATTN_RANGE_POSITIVE;
    }
    if (is_of_many(job))
        add_column(columns, "texts", ATTN_VALUE_INTEGER, NULL);
}

static struct attn_cell value_cell(const struct attn_moments *m, int value)
{
    if (m->n == 0)
        return is_count(value) ? attn_cell_integer(0) : attn_cell_missing();
    if (is_count(value))
        return attn_cell_integer((int64_t)(m->mean * (double)m->n + 0.5));
    return attn_cell_real(m->mean);
}

static enum attn_status append_head(struct job *job, size_t index, struct attn_error *err)
{
    const struct head *head = &job->heads[index];
    const size_t n_head = job->config->n_head;
    const char *type = type_of(job, head);
    struct attn_cell row[MOST_COLUMNS] = {
        attn_cell_integer((int64_t)(index / n_head)), attn_cell_integer((int64_t)(index % n_head)),
        attn_cell_integer((int64_t)(index % n_head / (n_head / job->config->n_kv_head)))};
    size_t n = 3;

    for (int i = 0; i < N_VALUE; i++) {
        if (i == N_MEASURED)
            row[n++] = attn_cell_text(type, type ? strlen(type) : 0);
        if (has_value(job, i))
            row[n++] = value_cell(&head->values[i], i);
    }
    for (int i = 0; i < N_VALUE; i++)
        if (has_value(job, i) && has_sd(job, i))
            row[n++] = head->values[i].n > 1 ? attn_cell_real(sqrt(head->values[i].squares /
                                                                   (double)(head->values[i].n - 1)))
                                             : attn_cell_missing();
    if (is_of_many(job))
        row[n++] = attn_cell_integer((int64_t)job->n_text);
    return attn_table_append(job->table, row, n, err);
}

/* A head and what the table is sorted by. */
struct sorted {
    size_t index;
    double key; /* NaN: missing */
};

/* The largest first, what is missing last. */
static int by_key(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;
    const int order = attn_compare_numbers(-x->key, -y->key);

    return order != 0 ? order : x->index < y->index ? -1 : 1;
}

/* What a head is sorted by; NaN: missing. A head that matters has a large effect of either sign. */
static double sort_key(const struct head *head, int value)
{
    if (value == N_VALUE || head->values[value].n == 0)
        return (double)NAN;
    return value == VALUE_EFFECT ? fabs(head->values[value].mean) : head->values[value].mean;
}

static enum attn_status report_sort(const struct job *job, struct attn_error *err)
{
    char names[300] = "";
    size_t used = 0;

    for (int i = 0; i < N_VALUE; i++)
        if (has_value(job, i))
            attn_fixed_text_append(names, sizeof names, &used, "%s%s", used > 0 ? ", " : "",
                                   columns_of_values[i].name);
    attn_error_set(err, ATTN_INVALID, "there is no column '%s' to sort by, expected one of %s",
                   attn_quote_string(job->args->sort).text, names);
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
}

/* Which value the table is sorted by; N_VALUE: none. */
static enum attn_status find_sort(const struct job *job, int *value, struct attn_error *err)
{
    *value = N_VALUE;
    if (!job->args->sort)
        return ATTN_OK;
    for (int i = 0; i < N_VALUE; i++)
        if (has_value(job, i) && strcmp(columns_of_values[i].name, job->args->sort) == 0)
            *value = i;
    return *value < N_VALUE ? ATTN_OK : report_sort(job, err);
}

static enum attn_status tabulate(struct job *job, struct attn_error *err)
{
    struct columns columns = {.n = 0};
    struct sorted *order = attn_alloc(n_all(job), sizeof *order, err);
    int value = N_VALUE;
    enum attn_status status = order ? find_sort(job, &value, err) : ATTN_NO_MEMORY;
    const size_t n_most =
        job->args->n_most > 0 && job->args->n_most < n_all(job) ? job->args->n_most : n_all(job);

    list_columns(job, &columns);
    if (status == ATTN_OK)
        status = attn_table_create("heads", columns.items, columns.n, &job->table, err);
    for (size_t i = 0; status == ATTN_OK && i < n_all(job); i++)
        order[i] = (struct sorted){i, sort_key(&job->heads[i], value)};
    if (status == ATTN_OK && value < N_VALUE)
        qsort(order, n_all(job), sizeof *order, by_key);
    for (size_t i = 0; status == ATTN_OK && i < n_most; i++)
        status = append_head(job, order[i].index, err);
    attn_free(order);
    return status;
}

/* --- All of it -------------------------------------------------------------------------------- */

static enum attn_status check_args(const struct job *job, struct attn_error *err)
{
    const struct attn_survey_args *args = job->args;
    int value;

    if (!args->from != !args->to)
        return attn_error_set(err, ATTN_INVALID,
                              "--from and --to need each other, only --%s is given",
                              args->from ? "from" : "to");
    if ((args->has_probe || args->n_text > 0) && (args->from || args->pattern || args->has_effect))
        return attn_error_set(err, ATTN_INVALID,
                              "--from, --pattern and --effect need one text, not %s",
                              args->has_probe ? "a probe" : "many");
    if (!(args->threshold >= 0 && args->threshold <= 1))
        return attn_error_set(err, ATTN_INVALID, "the threshold is %g, expected 0 to 1",
                              args->threshold);
    return find_sort(job, &value, err);
}

/* Finds which measures are needed, and the metrics that find them. */
static void list_metrics(struct job *job)
{
    job->shown = job->args->measures != 0 ? job->args->measures : ATTN_MEASURES_DEFAULT;
    job->measured = job->shown;
    for (size_t i = 0; i < sizeof detectors / sizeof *detectors; i++)
        job->measured |= ATTN_MEASURE_BIT(detectors[i]);
    for (int m = 0; m < ATTN_N_MEASURE; m++) {
        int which;
        const struct attn_metric *metric = attn_measure_metric((enum attn_measure)m, &which);
        bool is_new = (job->measured & ATTN_MEASURE_BIT(m)) != 0;

        for (size_t i = 0; i < job->n_metric; i++)
            is_new = is_new && job->metrics[i] != metric;
        if (is_new)
            job->metrics[job->n_metric++] = metric;
    }
}

static enum attn_status prepare(struct job *job, struct attn_error *err)
{
    ATTN_TRY(attn_host_check_model(job->host, err));
    job->config = attn_model_config(attn_host_model(job->host));
    list_metrics(job);
    ATTN_TRY(attn_error_at(check_args(job, err), ATTN_STAGE_OPTIONS, err));
    attn_inquiry_choose_nothing(&job->request);
    job->request.sites = "pattern";
    job->heads = attn_alloc(n_all(job), sizeof *job->heads, err);
    job->found = attn_alloc(n_all(job) * N_VALUE, sizeof *job->found, err);
    return job->heads && job->found ? ATTN_OK : ATTN_NO_MEMORY;
}

enum attn_status attn_survey(struct attn_host *host, const struct attn_request *request,
                             const struct attn_survey_args *given, struct attn_table **table,
                             struct attn_error *err)
{
    if (!attn_is_given(host, "host", err) || !attn_is_given(request, "request", err) ||
        !attn_is_given(table, "table", err))
        return ATTN_INVALID;
    struct attn_survey_args args = ATTN_SURVEY_ARGS_DEFAULT;
    struct job job = {.args = &args, .host = host, .request = ATTN_REQUEST_DEFAULT};
    const struct attn_inquiry inquiry = {given, request};
    enum attn_status status = attn_inquiry_read(&inquiry, &args, &job.request, err);

    if (status != ATTN_OK)
        return status;
    if (args.n_text > 0 && !attn_is_given(args.texts, "texts", err))
        return ATTN_INVALID;
    status = prepare(&job, err);
    if (status == ATTN_OK)
        status = survey_all(&job, err);
    if (status == ATTN_OK)
        status = add_effects(&job, request, err);
    if (status == ATTN_OK)
        status = tabulate(&job, err);
    if (status == ATTN_OK) {
        *table = job.table;
        job.table = NULL;
    }
    attn_free(job.heads);
    attn_free(job.matches);
    attn_free(job.row);
    attn_free(job.found);
    attn_table_free(job.table);
    return status;
}
