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

/* The values of a head: the measures by their numbers, and others. */
enum value {
#define VALUE_ENUM(id, ...) VALUE_##id = ATTN_MEASURE_##id,
    ATTN_MEASURE_MAP(VALUE_ENUM)
#undef VALUE_ENUM
        N_MEASURED = ATTN_N_MEASURE,
    VALUE_MUL = N_MEASURED, /* of a pattern of one's own */
    VALUE_ABS,
    VALUE_WEIGHT, /* of from and to */
    VALUE_PERCENTILE,
    VALUE_EFFECT,
    N_VALUE
};

enum {
    DEFAULT_LENGTH = 50,
    MOST_ROWS = 1024, /* of a long text that are fed at a time */
};

_Static_assert(3 + 2 * N_VALUE + 2 <= ATTN_MOST_COLUMNS, "every column fits");

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

struct survey {
    struct attn_frame frame;
    const struct attn_survey_args *args;
    attn_measure_set shown;    /* ATTN_MEASURE_BIT of those of columns */
    attn_measure_set measured; /* of these and what types are made of */
    struct head *heads;        /* [n_layer * n_head] */
    struct match *matches;     /* the same; with a pattern */
    double *found;             /* [n_layer * n_head, N_VALUE] of the text in hand */
    size_t n_text;             /* that were surveyed */
};

/* The run of one text, and what its rows are added to. */
struct reading {
    struct survey *survey;
    struct attn_run *run;             /* owns */
    struct attn_selection *selection; /* owns */
    struct attn_measure_group group;  /* owns */
    struct attn_word_pairs *pairs;    /* owns; with from and to */
    float *row;                       /* [T] owns; with a pattern */
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

static enum attn_status check_pattern(const struct reading *reading, struct attn_error *err)
{
    const struct attn_ndarray *pattern = reading->survey->args->pattern;
    const size_t n = reading->run->text.n;

    if (!pattern || (pattern->rank == 2 && pattern->shape[0] == n && pattern->shape[1] == n))
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID, "'%s' is not [%zu, %zu], a cell for each pair of tokens",
                   attn_quote_string(pattern->name).text, n, n);
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_INPUT, err);
}

/* Makes what the rows of a text are added to. */
static enum attn_status start_reading(struct reading *reading, struct attn_error *err)
{
    const struct survey *survey = reading->survey;
    const struct attn_dims *dims = attn_selection_dims(reading->run->selection);
    const struct attn_metric_settings settings = attn_run_metric_settings(reading->run);

    ATTN_TRY(attn_selection_create(dims, &reading->selection, err));
    ATTN_TRY(attn_selection_set_sites(reading->selection, ATTN_SITE_BIT(ATTN_SITE_PATTERN), err));
    ATTN_TRY(attn_measure_group_create(survey->measured, &settings, reading->selection,
                                       survey->frame.host->pool, &reading->group, err));
    if (survey->args->from)
        ATTN_TRY(attn_word_pairs_create(reading->run, survey->args->from, survey->args->to,
                                        &reading->pairs, err));
    if (!survey->args->pattern)
        return ATTN_OK;
    reading->row = attn_alloc(dims->n_position, sizeof *reading->row, err);
    return reading->row ? ATTN_OK : ATTN_NO_MEMORY;
}

/* Runs the text; ON_EVENT gets the rows of its pattern. */
static enum attn_status run_text(struct reading *reading, attn_trace_fn on_event,
                                 struct attn_error *err)
{
    const struct attn_trace trace = {reading->selection, on_event, reading};
    struct attn_trial trial = attn_trial_of(reading->run);
    struct attn_session *session = NULL;
    enum attn_status status;

    trial.trace = &trace;
    trial.has_logits = false;
    trial.n_feed = MOST_ROWS;
    status = attn_trial_run(&trial, &session, err);
    attn_session_free(session);
    return status;
}

static void forget_found(struct survey *survey)
{
    for (size_t i = 0; i < n_all(survey) * N_VALUE; i++)
        survey->found[i] = (double)NAN;
}

/* Takes what measures and pattern say of HEAD, whose values FOUND holds. */
static void take_values(const struct reading *reading, size_t head, double *found)
{
    const struct survey *survey = reading->survey;
    const size_t n_head = survey->frame.config->n_head;

    for (int m = 0; m < ATTN_N_MEASURE; m++)
        if ((survey->measured & ATTN_MEASURE_BIT(m)) != 0)
            found[m] = attn_measure_group_find(&reading->group, (enum attn_measure)m,
                                               (int)(head / n_head), (int)(head % n_head));
    if (survey->matches) {
        const struct match *match = &survey->matches[head];

        found[VALUE_MUL] = match->product / match->weight;
        found[VALUE_ABS] = 1 - match->difference / (double)reading->run->text.n;
    }
}

/* Adds what was found of the text in hand; NaN is no value. */
static void add_found(struct survey *survey)
{
    survey->n_text++;
    for (size_t i = 0; i < n_all(survey) * N_VALUE; i++)
        if (!isnan(survey->found[i]))
            attn_moments_add(&survey->heads[i / N_VALUE].values[i % N_VALUE], survey->found[i]);
}

static enum attn_status read_text(struct reading *reading, struct attn_error *err)
{
    struct survey *survey = reading->survey;
    const size_t n_head = survey->frame.config->n_head;

    ATTN_TRY(attn_run_prepare(survey->frame.host, &survey->frame.request, &reading->run, err));
    ATTN_TRY(check_pattern(reading, err));
    ATTN_TRY(start_reading(reading, err));
    ATTN_TRY(run_text(reading, on_rows, err));
    forget_found(survey);
    for (size_t head = 0; head < n_all(survey); head++)
        take_values(reading, head, survey->found + head * N_VALUE);
    if (reading->pairs) {
        ATTN_TRY(run_text(reading, on_pairs, err));
        for (size_t head = 0; head < n_all(survey); head++) {
            double *found = survey->found + head * N_VALUE;

            attn_word_pairs_find(reading->pairs, (int)(head / n_head), (int)(head % n_head),
                                 &found[VALUE_WEIGHT], &found[VALUE_PERCENTILE]);
        }
    }
    add_found(survey);
    return ATTN_OK;
}

static enum attn_status survey_text(struct survey *survey, const struct attn_input *input,
                                    struct attn_error *err)
{
    struct reading reading = {.survey = survey};
    enum attn_status status;

    survey->frame.request.input = *input;
    status = read_text(&reading, err);
    attn_measure_group_release(&reading.group);
    attn_word_pairs_free(reading.pairs);
    attn_selection_free(reading.selection);
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

static enum attn_status check_probe(const struct survey *survey, const struct probe *probe,
                                    struct attn_error *err)
{
    const size_t n_ctx = survey->frame.config->n_ctx;
    const char *name = attn_model_name(attn_host_model(survey->frame.host));

    if (probe->length > probe->n_id)
        return attn_error_set(err, ATTN_INVALID, "a probe draws %zu different tokens, '%s' has %zu",
                              probe->length, attn_quote_string(name).text, probe->n_id);
    if (probe->length == 0 || probe->repeats > n_ctx / probe->length)
        return attn_error_set(err, ATTN_INVALID,
                              "a probe of %zu tokens, %zu times, is too long for '%s', which takes "
                              "%zu",
                              probe->length, probe->repeats, attn_quote_string(name).text, n_ctx);
    return ATTN_OK;
}

/* The ids that may be drawn: those of the model that are no special tokens. Returns their number.
 * */
static size_t list_ids(const struct survey *survey, int32_t *ids)
{
    const struct attn_tokenizer *tokenizer;
    size_t n = 0;

    attn_host_tokenizer(survey->frame.host, &tokenizer, NULL);
    for (size_t id = 0; id < survey->frame.config->n_vocab; id++) {
        const bool is_special = tokenizer && (id >= attn_tokenizer_n_vocab(tokenizer) ||
                                              attn_tokenizer_is_special(tokenizer, (int32_t)id));

        if (!is_special)
            ids[n++] = (int32_t)id;
    }
    return n;
}

static enum attn_status prepare_probe(struct survey *survey, struct probe *probe,
                                      struct attn_error *err)
{
    struct attn_frame *frame = &survey->frame;
    const struct attn_survey_args *args = survey->args;
    const size_t n_vocab = frame->config->n_vocab, half = frame->config->n_ctx / 2;

    probe->length = args->probe_length > 0  ? args->probe_length
                    : half < DEFAULT_LENGTH ? half
                                            : DEFAULT_LENGTH;
    probe->repeats = args->probe_repeats > 0 ? args->probe_repeats : 2;
    probe->ids = attn_frame_own(frame, attn_alloc(n_vocab, sizeof *probe->ids, err));
    ATTN_TRY(attn_frame_memory(frame));
    probe->n_id = list_ids(survey, probe->ids);
    ATTN_TRY(attn_error_at(check_probe(survey, probe, err), ATTN_STAGE_OPTIONS, err));
    probe->order = attn_frame_own(frame, attn_alloc(probe->n_id, sizeof *probe->order, err));
    probe->drawn = attn_frame_own(
        frame, attn_alloc(probe->length * probe->repeats, sizeof *probe->drawn, err));
    return attn_frame_memory(frame);
}

static enum attn_status survey_probes(struct survey *survey, struct attn_error *err)
{
    const size_t n = survey->args->n_probe > 0 ? survey->args->n_probe : 1;
    struct attn_input input = {.ids = NULL};
    struct probe probe;

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
            survey->found[head * N_VALUE + (size_t)m] = exact[head];
        exact += n_all(survey);
    }
    add_found(survey);
    return ATTN_OK;
}

static enum attn_status survey_all(struct survey *survey, struct attn_error *err)
{
    const struct attn_input input = survey->frame.request.input;
    struct attn_many_options options = ATTN_MANY_OPTIONS_DEFAULT;

    if (survey->args->has_probe)
        return survey_probes(survey, err);
    if (survey->frame.n_text == 0)
        return survey_text(survey, &input, err);
    options.measures = survey->measured;
    return attn_frame_run_texts(&survey->frame, &options, take_text, err);
}

/* --- The effect ------------------------------------------------------------------------------- */

static enum attn_status add_effects(struct survey *survey, struct attn_error *err)
{
    struct attn_ablate_args args = ATTN_ABLATE_ARGS_DEFAULT;
    struct attn_ablate_sum sum;
    struct attn_table *effects;

    args.answer = survey->args->answer;
    ATTN_TRY(attn_ablate(survey->frame.host, &survey->frame.request, &args, &effects, &sum, err));
    for (size_t head = 0; head < n_all(survey); head++)
        survey->heads[head].values[VALUE_EFFECT] = (struct attn_moments){
            .n = 1, .mean = attn_table_cell(effects, head + 1, 4).real}; /* row 0: the base */
    attn_table_free(effects);
    return ATTN_OK;
}

/* --- The table -------------------------------------------------------------------------------- */

static const struct {
    const char *name, *unit;
} columns_of_values[N_VALUE] = {
#define VALUE_COLUMN(id, number, name, metric, which, unit, ...) [ATTN_MEASURE_##id] = {name, unit},
    ATTN_MEASURE_MAP(VALUE_COLUMN)
#undef VALUE_COLUMN
        [VALUE_MUL] = {"mul", NULL},
    [VALUE_ABS] = {"abs", NULL},
    [VALUE_WEIGHT] = {"weight", NULL},
    [VALUE_PERCENTILE] = {"percentile", NULL},
    [VALUE_EFFECT] = {"effect", NULL},
};

/* The value that is shown at PLACE: measures in their order, then the others. */
static int value_at(int place)
{
    return place < N_MEASURED ? (int)attn_measure_order[place] : place;
}

static bool has_value(const struct survey *survey, int value)
{
    switch (value) {
    case VALUE_MUL:
    case VALUE_ABS:
        return survey->args->pattern;
    case VALUE_WEIGHT:
    case VALUE_PERCENTILE:
        return survey->args->from;
    case VALUE_EFFECT:
        return survey->args->has_effect;
    default:
        return (survey->shown & ATTN_MEASURE_BIT(value)) != 0;
    }
}

/* Whether the table has columns of many texts. Texts that are listed are many, also when the list
 * holds one: the columns do not depend on its length. */
static bool is_of_many(const struct survey *survey)
{
    return survey->args->n_text > 0 || (survey->args->has_probe && survey->args->n_probe > 0);
}

static bool is_count(int value)
{
    return value < N_MEASURED && attn_measure_is_count((enum attn_measure)value);
}

/* Whether there is a standard deviation of it. */
static bool has_sd(const struct survey *survey, int value)
{
    return is_of_many(survey) && !is_count(value) && value != VALUE_EFFECT;
}

/* The type of a head, or NULL. */
static const char *type_of(const struct survey *survey, const struct head *head)
{
    double largest = survey->args->threshold > 0 ? survey->args->threshold : default_threshold;
    const char *type = NULL;

    for (size_t i = 0; i < sizeof detectors / sizeof *detectors; i++) {
        const struct attn_moments *m = &head->values[detectors[i]];

        if (m->n > 0 && m->mean > largest) {
            largest = m->mean;
            type = columns_of_values[detectors[i]].name;
        }
    }
    return type;
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
static void columns(const void *state, struct attn_columns *columns)
{
    static const struct attn_column of_heads[] = {ATTN_COLUMN("layer", INTEGER),
                                                  ATTN_COLUMN("head", INTEGER),
                                                  ATTN_COLUMN("kv_head", INTEGER)};
    static const struct attn_column of_types = ATTN_COLUMN("type", TEXT),
                                    of_texts = ATTN_COLUMN("texts", INTEGER);
    const struct survey *survey = state;
    struct attn_column of_values[N_VALUE];

    attn_columns_add(columns, of_heads, 3);
    for (int place = 0; place < N_VALUE; place++) {
        const int i = value_at(place);

        of_values[i] = (struct attn_column)ATTN_COLUMN_REAL(columns_of_values[i].name, 4,
                                                            columns_of_values[i].unit, SIGNED);
        of_values[i].type = is_count(i) ? ATTN_VALUE_INTEGER : ATTN_VALUE_REAL;
        of_values[i].range = range_of(i);
        if (place == N_MEASURED)
            attn_columns_add(columns, &of_types, 1);
        if (has_value(survey, i))
            attn_columns_add(columns, &of_values[i], 1);
    }
    for (int place = 0; place < N_VALUE; place++) {
        const int i = value_at(place);

        if (has_value(survey, i) && has_sd(survey, i))
            attn_columns_add_sd(columns, &of_values[i]);
    }
    if (is_of_many(survey))
        attn_columns_add(columns, &of_texts, 1);
}

static struct attn_cell value_cell(const struct attn_moments *m, int value)
{
    if (m->n == 0)
        return is_count(value) ? attn_cell_integer(0) : attn_cell_missing();
    if (is_count(value))
        return attn_cell_integer((int64_t)(m->mean * (double)m->n + 0.5));
    return attn_cell_real(m->mean);
}

static enum attn_status append_head(struct survey *survey, size_t index, struct attn_error *err)
{
    const struct head *head = &survey->heads[index];
    const size_t n_head = survey->frame.config->n_head;
    const char *type = type_of(survey, head);
    struct attn_cell row[ATTN_MOST_COLUMNS] = {
        attn_cell_integer((int64_t)(index / n_head)), attn_cell_integer((int64_t)(index % n_head)),
        attn_cell_integer((int64_t)(index % n_head / (n_head / survey->frame.config->n_kv_head)))};
    size_t n = 3;

    for (int place = 0; place < N_VALUE; place++) {
        const int i = value_at(place);

        if (place == N_MEASURED)
            row[n++] = attn_cell_text(type, type ? strlen(type) : 0);
        if (has_value(survey, i))
            row[n++] = value_cell(&head->values[i], i);
    }
    for (int place = 0; place < N_VALUE; place++) {
        const int i = value_at(place);

        if (has_value(survey, i) && has_sd(survey, i))
            row[n++] = attn_moments_sd_cell(&head->values[i]);
    }
    if (is_of_many(survey))
        row[n++] = attn_cell_integer((int64_t)survey->n_text);
    return attn_frame_append(&survey->frame, row, err);
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

static enum attn_status report_sort(const struct survey *survey, struct attn_error *err)
{
    char names[300] = "";
    size_t used = 0;

    for (int place = 0; place < N_VALUE; place++)
        if (has_value(survey, value_at(place)))
            attn_fixed_text_append(names, sizeof names, &used, "%s%s", used > 0 ? ", " : "",
                                   columns_of_values[value_at(place)].name);
    attn_error_set(err, ATTN_INVALID, "there is no column '%s' to sort by, expected one of %s",
                   attn_quote_string(survey->args->sort).text, names);
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
}

/* Which value the table is sorted by; N_VALUE: none. */
static enum attn_status find_sort(const struct survey *survey, int *value, struct attn_error *err)
{
    *value = N_VALUE;
    if (!survey->args->sort)
        return ATTN_OK;
    for (int i = 0; i < N_VALUE; i++)
        if (has_value(survey, i) && strcmp(columns_of_values[i].name, survey->args->sort) == 0)
            *value = i;
    return *value < N_VALUE ? ATTN_OK : report_sort(survey, err);
}

/* --- All of it -------------------------------------------------------------------------------- */

static enum attn_status check_args(const struct survey *survey, struct attn_error *err)
{
    const struct attn_survey_args *args = survey->args;
    int value;

    if (!args->from != !args->to)
        return attn_error_set(err, ATTN_INVALID, "--%s is given without --%s",
                              args->from ? "from" : "to", args->from ? "to" : "from");
    if ((args->has_probe || args->n_text > 0) && (args->from || args->pattern || args->has_effect))
        return attn_error_set(err, ATTN_INVALID,
                              "--from, --pattern and --effect need one text, not %s",
                              args->has_probe ? "a probe" : "many");
    if (!(args->threshold >= 0 && args->threshold <= 1))
        return attn_error_set(err, ATTN_INVALID, "the threshold is %g, expected 0 to 1",
                              args->threshold);
    return find_sort(survey, &value, err);
}

static enum attn_status prepare(void *state, struct attn_error *err)
{
    struct survey *survey = state;
    struct attn_frame *frame = &survey->frame;
    size_t n;

    survey->args = frame->args;
    ATTN_TRY(attn_host_check_model(frame->host, err));
    frame->config = attn_model_config(attn_host_model(frame->host));
    survey->shown = survey->args->measures != 0 ? survey->args->measures : ATTN_MEASURES_DEFAULT;
    survey->measured = survey->shown;
    for (size_t i = 0; i < sizeof detectors / sizeof *detectors; i++)
        survey->measured |= ATTN_MEASURE_BIT(detectors[i]);
    ATTN_TRY(attn_error_at(check_args(survey, err), ATTN_STAGE_OPTIONS, err));
    attn_frame_choose_nothing(&frame->request);
    frame->request.selection.sites = "pattern";
    n = n_all(survey);
    survey->heads = attn_frame_own(frame, attn_alloc(n, sizeof *survey->heads, err));
    survey->found = attn_frame_own(frame, attn_alloc(n * N_VALUE, sizeof *survey->found, err));
    if (survey->args->pattern)
        survey->matches = attn_frame_own(frame, attn_alloc(n, sizeof *survey->matches, err));
    return attn_frame_memory(frame);
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct survey *survey = state;
    const size_t n = n_all(survey), n_most = survey->args->n_most;
    struct sorted *order = attn_frame_own(&survey->frame, attn_alloc(n, sizeof *order, err));
    int value;

    ATTN_TRY(attn_frame_memory(&survey->frame));
    ATTN_TRY(survey_all(survey, err));
    if (survey->args->has_effect)
        ATTN_TRY(add_effects(survey, err));
    ATTN_TRY(find_sort(survey, &value, err));
    for (size_t i = 0; i < n; i++)
        order[i] = (struct sorted){i, sort_key(&survey->heads[i], value)};
    if (value < N_VALUE)
        qsort(order, n, sizeof *order, by_key);
    for (size_t i = 0; i < n && (n_most == 0 || i < n_most); i++)
        ATTN_TRY(append_head(survey, order[i].index, err));
    return ATTN_OK;
}

static const struct attn_experiment experiment = {
    .name = "heads",
    .state_size = sizeof(struct survey),
    .texts = offsetof(struct attn_survey_args, texts),
    .n_text = offsetof(struct attn_survey_args, n_text),
    .goes_over_texts = true,
    .prepare = prepare,
    .columns = columns,
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
