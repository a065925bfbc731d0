/*
 * survey.c - see survey.h. Each text is a run whose pattern the measures read from the trace; what
 * they found is added to mean and variance of each head (Welford's sums).
 */
#include "experiment/survey.h"

#include "analysis/measure_internal.h"
#include "base/escape.h"
#include "base/fixed_text.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/random.h"
#include "base/status_internal.h"
#include "experiment/ablate.h"
#include "experiment/frame.h"
#include "experiment/trial.h"
#include "experiment/word_pairs.h"
#include "run/many.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The columns in the contract's order: measures, then the type, then what was asked for beside
 * them. */
enum {
    LAYER,
    HEAD,
    KV_HEAD,
#define OF_MEASURE(id, ...) OF_##id,
    ATTN_MEASURE_MAP(OF_MEASURE)
#undef OF_MEASURE
        TYPE,
    MUL, /* of a pattern of one's own */
    ABS,
    WEIGHT, /* of from and to */
    PERCENTILE,
    CHANGE,
    N_COLUMN
};

/* Entropies and distances have no end; shares are 0 to 1. */
#define MEASURE_RANGE(id, is_count)                                                                \
    ((is_count) || ATTN_MEASURE_##id == ATTN_MEASURE_ENTROPY ||                                    \
             ATTN_MEASURE_##id == ATTN_MEASURE_DISTANCE                                            \
         ? ATTN_RANGE_POSITIVE                                                                     \
         : ATTN_RANGE_SHARE)
#define MEASURE_COLUMN(id, number, label, metric, which, of, is_count, help)                       \
    [OF_##id] = {.name = (label),                                                                  \
                 .type = (is_count) ? ATTN_VALUE_INTEGER : ATTN_VALUE_REAL,                        \
                 .unit = (of),                                                                     \
                 .notation = ATTN_NOTATION_FIXED,                                                  \
                 .digits = 4,                                                                      \
                 .range = MEASURE_RANGE(id, is_count)},

static const struct attn_column columns[N_COLUMN] = {
    [LAYER] = ATTN_COLUMN("layer", INTEGER),
    [HEAD] = ATTN_COLUMN("head", INTEGER),
    [KV_HEAD] = ATTN_COLUMN("kv_head", INTEGER),
    [TYPE] = ATTN_COLUMN("type", TEXT),
    [MUL] = ATTN_COLUMN_REAL("mul", 4, NULL, SIGNED),
    [ABS] = ATTN_COLUMN_REAL("abs", 4, NULL, SIGNED),
    [WEIGHT] = ATTN_COLUMN_REAL("weight", 4, NULL, SHARE),
    [PERCENTILE] = ATTN_COLUMN_REAL("percentile", 4, NULL, SHARE),
    [CHANGE] = ATTN_COLUMN_REAL("change", 4, NULL, SIGNED),
    ATTN_MEASURE_MAP(MEASURE_COLUMN)};

_Static_assert(2 * N_COLUMN + 1 <= ATTN_MOST_COLUMNS && N_COLUMN <= 64, "every column fits");

static const int column_of[ATTN_N_MEASURE] = {
#define COLUMN_OF(id, ...) [ATTN_MEASURE_##id] = OF_##id,
    ATTN_MEASURE_MAP(COLUMN_OF)
#undef COLUMN_OF
};

enum {
    DEFAULT_LENGTH = 50,
    MOST_ROWS = 1024, /* of a long text that are fed at a time */
};

static const double default_threshold = 0.5;

/* The values of a head, one a column. */
struct head {
    struct attn_moments values[N_COLUMN];
};

/* The scores that types are made of; of equal ones the first. */
static const enum attn_measure detectors[] = {ATTN_MEASURE_PREVIOUS, ATTN_MEASURE_FIRST,
                                              ATTN_MEASURE_SELF, ATTN_MEASURE_DUPLICATE,
                                              ATTN_MEASURE_INDUCTION};

/* What a pattern of one's own is compared by. */
struct match {
    double product, weight, difference; /* sums of A P, A, |A - P| over the rows */
};

struct survey {
    struct attn_frame frame;
    const struct attn_survey_args *args;
    attn_measure_set shown;    /* ATTN_MEASURE_BIT of those of columns */
    attn_measure_set measured; /* of these and what types are made of */
    struct head *heads;        /* [n_layer * n_head] */
    struct match *matches;     /* the same; with a pattern */
    double *found;             /* [n_layer * n_head, N_COLUMN] of the text in hand; NaN: no value */
    size_t n_text;             /* that were surveyed */
};

/* The run of one text, and what its rows are added to. */
struct reading {
    struct survey *survey;
    struct attn_run *run;            /* owns; its selection is the pattern */
    struct attn_measure_group group; /* owns */
    struct attn_word_pairs *pairs;   /* owns; with from and to */
    float *row;                      /* [T] owns; with a pattern */
};

static size_t n_all(const struct survey *survey)
{
    return survey->frame.config->n_layer * survey->frame.config->n_head;
}

/* --- One text --------------------------------------------------------------------------------- */

static void match_rows(const struct reading *reading, const struct attn_trace_event *event)
{
    const struct survey *survey = reading->survey;
    const size_t n = survey->args->pattern->shape[1];
    struct match *match =
        &survey->matches[(size_t)event->layer * survey->frame.config->n_head + (size_t)event->head];

    for (size_t r = 0; r < event->n_row; r++) {
        const float *wanted = survey->args->pattern->data + (event->row0 + r) * n;

        attn_event_copy_row(event, r, reading->row, n);
        for (size_t key = 0; key < n; key++) {
            const double a = (double)reading->row[key], p = (double)wanted[key];

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
    const struct reading *reading = user;

    (void)err;
    for (size_t i = 0; i < reading->group.n; i++)
        attn_measurement_add(reading->group.items[i], event, NULL);
    if (reading->row)
        match_rows(reading, event);
    if (reading->pairs)
        attn_word_pairs_add(reading->pairs, event);
    return ATTN_OK;
}

/* An attn_trace_fn, of a second pass. */
static enum attn_status on_pairs(void *user, const struct attn_trace_event *event,
                                 struct attn_error *err)
{
    const struct reading *reading = user;

    (void)err;
    attn_word_pairs_count(reading->pairs, event);
    return ATTN_OK;
}

/* Makes what the rows of a text are added to. */
static enum attn_status start_reading(struct reading *reading, struct attn_error *err)
{
    const struct survey *survey = reading->survey;
    const struct attn_ndarray *pattern = survey->args->pattern;
    const struct attn_metric_settings settings = attn_run_metric_settings(reading->run);
    const size_t n = reading->run->text.n;

    if (pattern && (pattern->rank != 2 || pattern->shape[0] != n || pattern->shape[1] != n)) {
        attn_error_set(err, ATTN_INVALID, "'%s' is not [%zu, %zu], a cell for each pair of tokens",
                       attn_quote_string(pattern->name).text, n, n);
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_INPUT, err);
    }
    ATTN_TRY(attn_measure_group_create(survey->measured, &settings, reading->run->selection,
                                       survey->frame.host->pool, &reading->group, err));
    if (survey->args->from)
        ATTN_TRY(attn_word_pairs_create(reading->run, survey->args->from, survey->args->to,
                                        &reading->pairs, err));
    if (!pattern)
        return ATTN_OK;
    reading->row = attn_alloc(n, sizeof *reading->row, err);
    return reading->row ? ATTN_OK : ATTN_NO_MEMORY;
}

static void forget_found(struct survey *survey)
{
    for (size_t i = 0; i < n_all(survey) * N_COLUMN; i++)
        survey->found[i] = (double)NAN;
}

/* Adds what was found of the text in hand to the values of the heads. */
static void add_found(struct survey *survey)
{
    survey->n_text++;
    for (size_t i = 0; i < n_all(survey) * N_COLUMN; i++)
        if (!isnan(survey->found[i]))
            attn_moments_add(&survey->heads[i / N_COLUMN].values[i % N_COLUMN], survey->found[i]);
}

/* Finds the values of each head, in one pass over the text or two. */
static enum attn_status read_text(struct reading *reading, struct attn_error *err)
{
    struct survey *survey = reading->survey;
    const size_t n_head = survey->frame.config->n_head;
    struct attn_trace rows = {NULL, on_rows, reading}, pairs = {NULL, on_pairs, reading};

    ATTN_TRY(attn_run_prepare(survey->frame.host, &survey->frame.request, &reading->run, err));
    ATTN_TRY(start_reading(reading, err));
    rows.selection = pairs.selection = reading->run->selection;
    ATTN_TRY(attn_trial_watch(reading->run, &rows, MOST_ROWS, err));
    if (reading->pairs)
        ATTN_TRY(attn_trial_watch(reading->run, &pairs, MOST_ROWS, err));
    forget_found(survey);
    for (size_t i = 0; i < n_all(survey); i++) {
        const int layer = (int)(i / n_head), head = (int)(i % n_head);
        double *found = survey->found + i * N_COLUMN;

        for (int m = 0; m < ATTN_N_MEASURE; m++)
            if ((survey->measured & ATTN_MEASURE_BIT(m)) != 0)
                found[column_of[m]] =
                    attn_measure_group_find(&reading->group, (enum attn_measure)m, layer, head);
        if (survey->matches) {
            const struct match *match = &survey->matches[i];

            found[MUL] = match->product / match->weight;
            found[ABS] = 1 - match->difference / (double)reading->run->text.n;
        }
        if (reading->pairs)
            attn_word_pairs_find(reading->pairs, layer, head, &found[WEIGHT], &found[PERCENTILE]);
    }
    return ATTN_OK;
}

/* Finds the values of one text, and adds them to those of the texts before. */
static enum attn_status survey_text(struct survey *survey, const struct attn_input *input,
                                    struct attn_error *err)
{
    struct reading reading = {.survey = survey};
    enum attn_status status;

    survey->frame.request.input = *input;
    status = read_text(&reading, err);
    if (status == ATTN_OK)
        add_found(survey);
    attn_measure_group_release(&reading.group);
    attn_word_pairs_free(reading.pairs);
    attn_run_free(reading.run);
    attn_free(reading.row);
    return status;
}

/* --- Probes ----------------------------------------------------------------------------------- */

/* A sequence of ids that are drawn, and repeated. */
struct probe {
    size_t length, repeats;
    int32_t *ids;  /* [n_id] those that may be drawn */
    size_t *order; /* [n_id] scratch */
    size_t n_id;
    int32_t *drawn; /* [length * repeats] */
};

static enum attn_status prepare_probe(struct survey *survey, struct probe *probe,
                                      struct attn_error *err)
{
    struct attn_frame *frame = &survey->frame;
    const struct attn_survey_args *args = survey->args;
    const size_t n_vocab = frame->config->n_vocab, n_ctx = frame->config->n_ctx, half = n_ctx / 2;
    const struct attn_quote name = attn_quote_string(attn_model_name(attn_host_model(frame->host)));
    const struct attn_tokenizer *tokenizer;
    enum attn_status status = ATTN_OK;

    probe->length = args->probe_length > 0  ? args->probe_length
                    : half < DEFAULT_LENGTH ? half
                                            : DEFAULT_LENGTH;
    probe->repeats = args->probe_repeats > 0 ? args->probe_repeats : 2;
    probe->ids = attn_frame_alloc(frame, n_vocab, sizeof *probe->ids);
    ATTN_TRY(attn_frame_memory(frame, err));
    attn_host_tokenizer(frame->host, &tokenizer, NULL);
    for (size_t id = 0; id < n_vocab; id++)
        if (!tokenizer || (id < attn_tokenizer_n_vocab(tokenizer) &&
                           !attn_tokenizer_is_special(tokenizer, (int32_t)id)))
            probe->ids[probe->n_id++] = (int32_t)id;
    if (probe->length > probe->n_id)
        status =
            attn_error_set(err, ATTN_INVALID, "a probe draws %zu different tokens, '%s' has %zu",
                           probe->length, name.text, probe->n_id);
    else if (probe->length == 0 || probe->repeats > n_ctx / probe->length)
        status = attn_error_set(
            err, ATTN_INVALID,
            "a probe of %zu tokens, %zu times, is too long for '%s', which takes %zu",
            probe->length, probe->repeats, name.text, n_ctx);
    ATTN_TRY(attn_error_at(status, ATTN_STAGE_OPTIONS, err));
    probe->order = attn_frame_alloc(frame, probe->n_id, sizeof *probe->order);
    probe->drawn = attn_frame_alloc(frame, probe->length * probe->repeats, sizeof *probe->drawn);
    return attn_frame_memory(frame, err);
}

static enum attn_status survey_probes(struct survey *survey, struct attn_error *err)
{
    const size_t n = survey->args->n_probe > 0 ? survey->args->n_probe : 1;
    struct attn_input input = {.ids = NULL};
    struct probe probe = {.n_id = 0};

    ATTN_TRY(prepare_probe(survey, &probe, err));
    input.ids = probe.drawn;
    input.n_id = probe.length * probe.repeats;
    for (size_t i = 0; i < n; i++) {
        struct attn_random random;

        attn_random_seed(&random, survey->args->probe_seed + i);
        attn_random_permutation(&random, probe.order, probe.n_id);
        for (size_t k = 0; k < input.n_id; k++)
            probe.drawn[k] = probe.ids[probe.order[k % probe.length]];
        ATTN_TRY(survey_text(survey, &input, err));
        attn_frame_report(&survey->frame, i + 1, n);
    }
    return ATTN_OK;
}

/* --- Many texts ------------------------------------------------------------------------------- */

/* An attn_done_fn. */
static enum attn_status take_text(void *user, const struct attn_many_result *result,
                                  struct attn_error *err)
{
    struct survey *survey = user;
    const double *exact = result->exact; /* of a measure; those of the next one follow */

    (void)err;
    forget_found(survey);
    for (int m = 0; m < ATTN_N_MEASURE; m++) {
        if ((survey->measured & ATTN_MEASURE_BIT(m)) == 0)
            continue;
        for (size_t head = 0; head < n_all(survey); head++)
            survey->found[head * N_COLUMN + (size_t)column_of[m]] = exact[head];
        exact += n_all(survey);
    }
    add_found(survey);
    return ATTN_OK;
}

/* --- The effect ------------------------------------------------------------------------------- */

static enum attn_status add_effects(struct survey *survey, struct attn_error *err)
{
    struct attn_ablate_args args = ATTN_ABLATE_ARGS_DEFAULT;
    struct attn_ablate_sum sum;
    struct attn_table *effects;

    args.answer = survey->args->answer;
    survey->frame.has_noted_spaces = true;
    ATTN_TRY(attn_ablate(survey->frame.host, &survey->frame.request, &args, &effects, &sum, err));
    for (size_t head = 0; head < n_all(survey); head++)
        survey->heads[head].values[CHANGE] = (struct attn_moments){
            .n = 1, .mean = attn_table_cell(effects, head + 1, 4).real}; /* row 0: the base */
    attn_table_free(effects);
    return ATTN_OK;
}

/* --- The table -------------------------------------------------------------------------------- */

static bool is_count(int column)
{
    return column > KV_HEAD && columns[column].type == ATTN_VALUE_INTEGER;
}

static uint64_t hidden(const void *state)
{
    const struct survey *survey = state;
    const struct attn_survey_args *args = survey->args;
    uint64_t hidden = args->has_effect ? 0 : ATTN_COLUMN_BIT(CHANGE);

    for (int m = 0; m < ATTN_N_MEASURE; m++)
        if ((survey->shown & ATTN_MEASURE_BIT(m)) == 0)
            hidden |= ATTN_COLUMN_BIT(column_of[m]);
    if (!args->pattern)
        hidden |= ATTN_COLUMN_BIT(MUL) | ATTN_COLUMN_BIT(ABS);
    if (!args->from)
        hidden |= ATTN_COLUMN_BIT(WEIGHT) | ATTN_COLUMN_BIT(PERCENTILE);
    return hidden;
}

/* The type of a head, or NULL. */
static const char *type_of(const struct survey *survey, const struct head *head)
{
    double largest = survey->args->threshold > 0 ? survey->args->threshold : default_threshold;
    const char *type = NULL;

    for (size_t i = 0; i < sizeof detectors / sizeof *detectors; i++) {
        const struct attn_moments *m = &head->values[column_of[detectors[i]]];

        if (m->n > 0 && m->mean > largest) {
            largest = m->mean;
            type = attn_measure_name(detectors[i]);
        }
    }
    return type;
}

static enum attn_status append_head(struct survey *survey, size_t index, struct attn_error *err)
{
    const struct attn_rows *rows = &survey->frame.rows;
    const struct attn_config *config = survey->frame.config;
    const struct attn_moments *values = survey->heads[index].values;
    const size_t head = index % config->n_head;
    struct attn_cell row[N_COLUMN] = {
        [LAYER] = attn_cell_integer((int64_t)(index / config->n_head)),
        [HEAD] = attn_cell_integer((int64_t)head),
        [KV_HEAD] = attn_cell_integer((int64_t)(head / (config->n_head / config->n_kv_head))),
        [TYPE] = attn_cell_string(type_of(survey, &survey->heads[index])),
    };

    for (int i = KV_HEAD + 1; i < N_COLUMN; i++)
        if (is_count(i)) /* of all texts */
            row[i] = attn_cell_integer((int64_t)(values[i].mean * (double)values[i].n + 0.5));
        else if (values[i].n > 0)
            row[i] = attn_cell_real(values[i].mean);
    return attn_rows_append(rows, row, rows->is_of_many ? values : NULL, survey->n_text, err);
}

/* --- All of it -------------------------------------------------------------------------------- */

static enum attn_status check_args(const void *given, struct attn_error *err)
{
    const struct attn_survey_args *args = given;

    if (!args->from != !args->to)
        return attn_error_set(err, ATTN_INVALID, "`%s` is given without `%s`",
                              args->from ? "from" : "to", args->from ? "to" : "from");
    if ((args->has_probe || args->n_text > 0) && (args->from || args->pattern || args->has_effect))
        return attn_error_set(err, ATTN_INVALID,
                              "`from`, `pattern` and `has_effect` need one text, not %s",
                              args->has_probe ? "a probe" : "many");
    if (!(args->threshold >= 0 && args->threshold <= 1))
        return attn_error_set(err, ATTN_INVALID, "the threshold is %g, expected 0 to 1",
                              args->threshold);
    return ATTN_OK;
}

static enum attn_status prepare(void *state, struct attn_error *err)
{
    struct survey *survey = state;
    struct attn_frame *frame = &survey->frame;
    const struct attn_survey_args *args = frame->args;
    size_t n;

    survey->args = args;
    ATTN_TRY(attn_host_check_model(frame->host, err));
    frame->config = attn_model_config(attn_host_model(frame->host));
    survey->shown = args->measures != 0 ? args->measures : ATTN_MEASURES_DEFAULT;
    survey->measured = survey->shown;
    for (size_t i = 0; i < sizeof detectors / sizeof *detectors; i++)
        survey->measured |= ATTN_MEASURE_BIT(detectors[i]);
    /* Texts that are listed are many, also when the list holds one: the columns do not depend on
     * its length. */
    frame->rows.is_of_many = args->n_text > 0 || (args->has_probe && args->n_probe > 0);
    ATTN_TRY(attn_error_at(check_args(args, err), ATTN_STAGE_OPTIONS, err));
    attn_frame_choose_nothing(&frame->request);
    frame->request.selection.sites = "pattern";
    n = n_all(survey);
    survey->heads = attn_frame_alloc(frame, n, sizeof *survey->heads);
    survey->found = attn_frame_alloc(frame, n * N_COLUMN, sizeof *survey->found);
    if (args->pattern)
        survey->matches = attn_frame_alloc(frame, n, sizeof *survey->matches);
    return attn_frame_memory(frame, err);
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct survey *survey = state;
    const struct attn_survey_args *args = survey->args;
    const struct attn_input input = survey->frame.request.input;
    const size_t n = n_all(survey);
    struct attn_many_options options = ATTN_MANY_OPTIONS_DEFAULT;

    options.measures = survey->measured;
    ATTN_TRY(args->has_probe     ? survey_probes(survey, err)
             : args->n_text == 0 ? survey_text(survey, &input, err)
                                 : attn_frame_run_texts(&survey->frame, &options, take_text, err));
    if (args->has_effect)
        ATTN_TRY(add_effects(survey, err));
    for (size_t i = 0; i < n; i++)
        ATTN_TRY(append_head(survey, i, err));
    return ATTN_OK;
}

static const struct attn_experiment experiment = {
    .name = "heads",
    .columns = columns,
    .n_column = N_COLUMN,
    .state_size = sizeof(struct survey),
    .texts = offsetof(struct attn_survey_args, texts),
    .n_text = offsetof(struct attn_survey_args, n_text),
    .sort = offsetof(struct attn_survey_args, sort),
    .n_most = offsetof(struct attn_survey_args, n_most),
    .makes_runs = true,
    .prepare = prepare,
    .hidden = hidden,
    .ask = ask,
};

enum attn_status attn_survey(struct attn_host *host, const struct attn_request *request,
                             const struct attn_survey_args *given, struct attn_table **table,
                             struct attn_error *err)
{
    struct attn_survey_args args = ATTN_SURVEY_ARGS_DEFAULT;
    const struct attn_inquiry inquiry = {host, request, given, &args, table, NULL};

    return attn_experiment_perform(&experiment, &inquiry, err);
}
