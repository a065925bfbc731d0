/* head_measures.c - see head_measures.h. */
#include "experiment/head_measures.h"

#include "analysis/measure_internal.h"
#include "analysis/metric.h"
#include "base/given.h"
#include "base/status_internal.h"
#include "base/table_internal.h"
#include "run/run_internal.h"
#include "trace/selection_internal.h"

#include <math.h>

enum { MOST_COLUMNS = 3 + ATTN_N_MEASURE };

struct job {
    struct attn_run *run;
    uint64_t measures;
    struct attn_selection
        *places; /* owns; of the run, but that it knows which keys are positions */
    const struct attn_metric *metrics[ATTN_N_MEASURE];     /* [n_metric] each once */
    struct attn_measurement *measurements[ATTN_N_MEASURE]; /* [n_metric] own */
    size_t n_metric;
};

/* An attn_trace_fn. */
static enum attn_status on_rows(void *user, const struct attn_trace_event *event,
                                struct attn_error *err)
{
    const struct job *job = user;

    (void)err;
    if (event->site == ATTN_SITE_PATTERN)
        attn_measurements_add(job->measurements, job->n_metric, event);
    return ATTN_OK;
}

/* Whether the keys of arrays are positions of the sequence of the queries. */
static bool is_one_sequence(const struct attn_run *run)
{
    const struct attn_input *input = &run->request.input;

    return run->arrays.attention.mask == ATTN_MASK_CAUSAL || (input->q && input->q == input->k);
}

static enum attn_status find_places(struct job *job, struct attn_error *err)
{
    struct attn_dims dims = *attn_selection_dims(job->run->selection);

    if (!job->run->model && is_one_sequence(job->run))
        dims.is_cross = NULL;
    return attn_selection_create(&dims, &job->places, err);
}

static size_t place_of(const struct job *job, const struct attn_metric *metric)
{
    size_t i = 0;

    while (i < job->n_metric && job->metrics[i] != metric)
        i++;
    return i;
}

static enum attn_status start(struct job *job, struct attn_error *err)
{
    const struct attn_metric_settings settings = attn_run_metric_settings(job->run);
    enum attn_status status = find_places(job, err);

    for (int m = 0; status == ATTN_OK && m < ATTN_N_MEASURE; m++) {
        int which;
        const struct attn_metric *metric = attn_measure_metric((enum attn_measure)m, &which);

        if ((job->measures & ATTN_MEASURE_BIT(m)) == 0 || place_of(job, metric) < job->n_metric)
            continue;
        job->metrics[job->n_metric] = metric;
        status = attn_measurement_create(metric, &settings, job->places, NULL,
                                         &job->measurements[job->n_metric], err);
        job->n_metric += status == ATTN_OK;
    }
    return status;
}

static enum attn_status perform(struct job *job, struct attn_error *err)
{
    const struct attn_trace trace = {job->run->selection, on_rows, job};
    struct attn_result result = {0};
    enum attn_status status;

    if (!attn_selection_has_site(job->run->selection, ATTN_SITE_PATTERN)) {
        attn_error_set(err, ATTN_INVALID, "measures need the pattern, which is not selected");
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    }
    status = attn_run_perform(job->run, &trace, &result, err);
    attn_result_release(&result);
    return status;
}

/* --- The table -------------------------------------------------------------------------------- */

static size_t list_places(const struct job *job, struct attn_column *columns)
{
    static const struct attn_column names[] = {{.name = "layer", .type = ATTN_VALUE_INTEGER},
                                               {.name = "batch", .type = ATTN_VALUE_INTEGER},
                                               {.name = "head", .type = ATTN_VALUE_INTEGER},
                                               {.name = "kv_head", .type = ATTN_VALUE_INTEGER}};
    size_t n = 0;

    if (job->run->model)
        columns[n++] = names[0];
    else if (job->run->axes.rank == 4)
        columns[n++] = names[1];
    columns[n++] = names[2];
    columns[n++] = names[3];
    return n;
}

static enum attn_status create_table(const struct job *job, struct attn_table **table,
                                     struct attn_error *err)
{
    struct attn_column columns[MOST_COLUMNS];
    size_t n = list_places(job, columns);

    for (int m = 0; m < ATTN_N_MEASURE; m++)
        if ((job->measures & ATTN_MEASURE_BIT(m)) != 0)
            columns[n++] = (struct attn_column){.name = attn_measure_name((enum attn_measure)m),
                                                .type = attn_measure_is_count((enum attn_measure)m)
                                                            ? ATTN_VALUE_INTEGER
                                                            : ATTN_VALUE_REAL,
                                                .unit = attn_measure_unit((enum attn_measure)m),
                                                .notation = ATTN_NOTATION_FIXED,
                                                .digits = 4};
    return attn_table_create("heads", columns, n, table, err);
}

static struct attn_cell cell_of(const struct job *job, enum attn_measure measure, int layer,
                                int head)
{
    double values[ATTN_METRIC_MOST];
    int which;
    const size_t i = place_of(job, attn_measure_metric(measure, &which));

    attn_measurement_find(job->measurements[i], layer, head, values);
    if (attn_measure_is_count(measure))
        return attn_cell_integer((int64_t)values[which]);
    return isnan(values[which]) ? attn_cell_missing() : attn_cell_real(values[which]);
}

static enum attn_status append_head(const struct job *job, int layer, int head,
                                    struct attn_table *table, struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(job->run->selection);
    const bool is_model = job->run->model;
    const int n_batch = is_model ? 1 : (int)job->run->axes.n_batch;
    const int n_head = (int)dims->n_head / n_batch,
              n_shared = (int)(dims->n_head / dims->n_kv_head);
    struct attn_cell row[MOST_COLUMNS];
    size_t n = 0;

    if (is_model)
        row[n++] = attn_cell_integer(layer);
    else if (job->run->axes.rank == 4)
        row[n++] = attn_cell_integer(head / n_head);
    row[n++] = attn_cell_integer(head % n_head);
    row[n++] = attn_cell_integer(head % n_head / n_shared);
    for (int m = 0; m < ATTN_N_MEASURE; m++)
        if ((job->measures & ATTN_MEASURE_BIT(m)) != 0)
            row[n++] = cell_of(job, (enum attn_measure)m, layer, head);
    return attn_table_append(table, row, n, err);
}

static enum attn_status tabulate(const struct job *job, struct attn_table **table,
                                 struct attn_error *err)
{
    const struct attn_selection *selection = job->run->selection;
    const struct attn_dims *dims = attn_selection_dims(selection);
    struct attn_table *made = NULL;
    enum attn_status status = create_table(job, &made, err);

    for (int layer = 0; layer < (int)dims->n_layer; layer++)
        for (int head = 0; status == ATTN_OK && head < (int)dims->n_head; head++)
            if (attn_selection_has_head(selection, layer, head))
                status = append_head(job, layer, head, made, err);
    if (status == ATTN_OK)
        *table = made;
    else
        attn_table_free(made);
    return status;
}

enum attn_status attn_head_measures(struct attn_run *run, uint64_t measures,
                                    struct attn_table **table, struct attn_error *err)
{
    if (!attn_is_given(run, "run", err) || !attn_is_given(table, "table", err))
        return ATTN_INVALID;
    struct job job = {.run = run, .measures = measures};
    enum attn_status status = start(&job, err);

    if (status == ATTN_OK)
        status = perform(&job, err);
    if (status == ATTN_OK)
        status = tabulate(&job, table, err);
    for (size_t i = 0; i < job.n_metric; i++)
        attn_measurement_free(job.measurements[i]);
    attn_selection_free(job.places);
    return status;
}
