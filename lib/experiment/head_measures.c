/* head_measures.c - see head_measures.h. */
#include "experiment/head_measures.h"

#include "analysis/analysis_internal.h"
#include "base/given.h"
#include "base/status_internal.h"
#include "study/frame.h"
#include "trace/trace_internal.h"

#include <math.h>

/* Columns of the table: the measures come in the order of ATTN_MEASURE_MAP. */
enum {
    STACK,
    LAYER,
    BATCH,
    HEAD,
    KV_HEAD,
#define OF_MEASURE(id, ...) OF_##id,
    ATTN_MEASURE_MAP(OF_MEASURE)
#undef OF_MEASURE
        ROW_TYPE,
    N_COLUMN
};

#define MEASURE_COLUMN(id, number, label, metric, which, of, words, is_count, help)                \
    [OF_##id] = {.name = (label),                                                                  \
                 .type = (is_count) ? ATTN_VALUE_INTEGER : ATTN_VALUE_REAL,                        \
                 .quantity = (words),                                                              \
                 .unit = (of),                                                                     \
                 .notation = ATTN_NOTATION_FIXED,                                                  \
                 .digits = 4},

static const struct attn_column columns[N_COLUMN] = {
    [STACK] = ATTN_COLUMN_STACK("stack"),
    [LAYER] = ATTN_COLUMN_OF(LAYER, "layer", INTEGER),
    [BATCH] = ATTN_COLUMN("batch", INTEGER),
    [HEAD] = ATTN_COLUMN_OF(HEAD, "head", INTEGER),
    [KV_HEAD] = ATTN_COLUMN_OF(KV_HEAD, "kv_head", INTEGER),
    ATTN_MEASURE_MAP(MEASURE_COLUMN)[ROW_TYPE] = ATTN_COLUMN_ROW_TYPE};

struct run_survey {
    struct attn_run *run;
    attn_measure_set measures;
    /* Owned; a copy of the run's selection whose dims state which keys are positions. */
    struct attn_selection *selection;
    struct attn_measure_group group; /* owns */
    struct attn_rows rows;           /* owns its table */
};

/* Measures the rows of an event (attn_trace_fn). */
static enum attn_status on_rows(void *user, const struct attn_trace_event *event,
                                struct attn_error *err)
{
    const struct run_survey *survey = user;

    (void)err;
    if (event->at.site == ATTN_SITE_PATTERN && event->at.stack != ATTN_STACK_ENCODER)
        attn_measure_group_add(&survey->group, event);
    return ATTN_OK;
}

static enum attn_status measure(struct run_survey *survey, struct attn_error *err)
{
    struct attn_run *run = survey->run;
    const struct attn_input *input = &run->request.input;
    const struct attn_trace trace = {run->selection, on_rows, survey};
    const struct attn_metric_settings settings = attn_run_metric_settings(run);
    struct attn_dims dims = *attn_selection_dims(run->selection);
    struct attn_result result = {0};

    /* See the header: keys of arrays are positions of the queries' sequence in these cases. */
    if (!run->model &&
        (run->arrays.attention.mask == ATTN_MASK_CAUSAL || (input->q && input->q == input->k)))
        dims.is_cross = NULL;
    ATTN_TRY(attn_selection_create(&dims, &survey->selection, err));
    ATTN_TRY(attn_measure_group_create(survey->measures, &settings, survey->selection, NULL,
                                       &survey->group, err));
    if (!attn_selection_has_site(run->selection, ATTN_SITE_PATTERN)) {
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "measures need the pattern, which is not selected");
    }
    ATTN_TRY(attn_run_perform(run, &trace, &result, err));
    attn_result_release(&result);
    return ATTN_OK;
}

static enum attn_status append_head(struct run_survey *survey, const struct attn_location *at,
                                    struct attn_error *err)
{
    const struct attn_run *run = survey->run;
    const struct attn_dims *dims = attn_selection_dims(run->selection);
    const int n_batch = run->model ? 1 : (int)run->axes.n_batch;
    const int n_head = (int)dims->n_head / n_batch,
              n_shared = (int)(dims->n_head / dims->n_kv_head);
    struct attn_cell row[N_COLUMN] = {
        [BATCH] = attn_cell_integer(at->head / n_head),
        [HEAD] = attn_cell_integer(at->head % n_head),
        [KV_HEAD] = attn_cell_integer(at->head % n_head / n_shared),
    };

    attn_location_put(at, &row[STACK]);
    for (int i = 0; i < ATTN_N_MEASURE; i++) {
        const enum attn_measure measure = attn_measure_order[i];
        struct attn_cell *cell = &row[KV_HEAD + 1 + i];
        double value;

        if ((survey->measures & ATTN_MEASURE_BIT(measure)) == 0)
            continue;
        value = attn_measure_group_find(&survey->group, measure, at);
        if (attn_measure_is_count(measure))
            *cell = attn_cell_integer((int64_t)value);
        else if (!isnan(value))
            *cell = attn_cell_real(value);
    }
    return attn_rows_append(&survey->rows, row, err);
}

static enum attn_status survey_run(struct run_survey *survey, struct attn_error *err)
{
    const struct attn_run *run = survey->run;
    const struct attn_selection *selection = run->selection;
    const struct attn_dims *dims = attn_selection_dims(selection);
    struct attn_location at = {.site = ATTN_SITE_PATTERN, .layer = ATTN_NO_LAYER};

    ATTN_TRY(measure(survey, err));
    survey->rows = (struct attn_rows){
        .columns = columns,
        .n = N_COLUMN,
        .hidden = {[LAYER] = !run->model, [BATCH] = run->model || run->axes.rank != 4},
    };
    for (int i = 0; i < ATTN_N_MEASURE; i++)
        survey->rows.hidden[KV_HEAD + 1 + i] =
            (survey->measures & ATTN_MEASURE_BIT(attn_measure_order[i])) == 0;
    attn_rows_hide_stacks(columns, N_COLUMN, survey->rows.hidden, attn_dims_has_stacks(dims));
    ATTN_TRY(attn_rows_create(&survey->rows, "heads", err));
    while (attn_selection_next_head(selection, &at))
        ATTN_TRY(append_head(survey, &at, err));
    return ATTN_OK;
}

enum attn_status attn_head_measures(struct attn_run *run, attn_measure_set measures,
                                    struct attn_table **table, struct attn_error *err)
{
    struct run_survey survey = {.run = run, .measures = measures};
    enum attn_status status;

    if (!attn_is_given(run, "run", err) || !attn_is_given(table, "table", err))
        return ATTN_INVALID;
    status = survey_run(&survey, err);
    if (status == ATTN_OK)
        *table = survey.rows.table;
    else
        attn_table_free(survey.rows.table);
    attn_measure_group_release(&survey.group);
    attn_selection_free(survey.selection);
    return status;
}
