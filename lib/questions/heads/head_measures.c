/* head_measures.c - the measures of heads in a run that was prepared; see heads_extra.h. */
#include "heads/heads_extra.h"

#include "base/status_internal.h"
#include "base/text/given.h"
#include "heads/heads_columns.h"
#include "measures/analysis_internal.h"
#include "measures/run_measures.h"
#include "trace/trace_internal.h"

/* The measures of the heads of one run, as a table. */
struct measured {
    struct attn_run *run;
    attn_measure_set measures;
    /* Owned; a copy of the run's selection whose dims state which keys are positions. */
    struct attn_selection *selection;
    struct attn_measure_group group; /* owns */
    /* `columns` with `batch` before the head */
    struct attn_column columns[ATTN_N_HEAD_COLUMN + 1];
    struct attn_rows rows; /* owns its table */
};

/* Measures the rows of an event (attn_trace_fn). */
static enum attn_status on_heads(void *user, const struct attn_trace_event *event,
                                 struct attn_error *err)
{
    const struct measured *measured = user;

    (void)err;
    if (event->at.site == ATTN_SITE_PATTERN && event->at.stack != ATTN_STACK_ENCODER)
        attn_measure_group_add(&measured->group, event);
    return ATTN_OK;
}

static enum attn_status measure_run(struct measured *measured, struct attn_error *err)
{
    struct attn_run *run = measured->run;
    const struct attn_input *input = &run->request.input;
    const struct attn_trace trace = {
        .selection = run->selection, .on_event = on_heads, .user = measured};
    const struct attn_metric_settings settings = attn_run_metric_settings(run);
    struct attn_dims dims = *attn_selection_dims(run->selection);
    struct attn_result result = {0};

    /* See the header: keys of arrays are positions of the queries' sequence in these cases. */
    if (!run->model &&
        (run->arrays.attention.mask == ATTN_MASK_CAUSAL || (input->q && input->q == input->k)))
        dims.is_cross = NULL;
    ATTN_TRY(attn_selection_create(&dims, &measured->selection, err));
    ATTN_TRY(attn_measure_group_create(measured->measures, &settings, measured->selection, NULL,
                                       &measured->group, err));
    if (!attn_selection_has_site(run->selection, ATTN_SITE_PATTERN))
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "measures need the pattern, which is not selected");
    ATTN_TRY(attn_run_perform(run, &trace, &result, err));
    attn_result_release(&result);
    return ATTN_OK;
}

static enum attn_status append_measured(const struct measured *measured,
                                        const struct attn_location *at, struct attn_error *err)
{
    const struct attn_run *run = measured->run;
    const struct attn_dims *dims = attn_selection_dims(run->selection);
    const int n_head = (int)dims->n_head / (run->model ? 1 : (int)run->axes.n_batch);
    const int n_shared = (int)(dims->n_head / attn_location_dims(dims, at).n_kv_head);
    struct attn_cell row[ATTN_N_HEAD_COLUMN + 1] = {
        [ATTN_HEAD_HEAD] = attn_cell_integer(at->head / n_head),
        [ATTN_HEAD_HEAD + 1] = attn_cell_integer(at->head % n_head),
        [ATTN_HEAD_KV_HEAD + 1] = attn_cell_integer(at->head % n_head / n_shared),
    };
    double values[ATTN_N_MEASURE], found[ATTN_N_HEAD_COLUMN] = {0};

    attn_measure_group_values(&measured->group, at, values);
    for (int m = 0; m < ATTN_N_MEASURE; m++)
        found[attn_head_column_of[m]] = values[m];
    attn_location_put(at, &row[ATTN_HEAD_STACK]);
    attn_heads_fill(found, row + 1);
    return attn_rows_append(&measured->rows, row, err);
}

static enum attn_status tabulate_run(struct measured *measured, struct attn_error *err)
{
    static const struct attn_column batch = ATTN_COLUMN("batch", INTEGER);
    const struct attn_run *run = measured->run;
    struct attn_rows *rows = &measured->rows;
    struct attn_location at = {.site = ATTN_SITE_PATTERN, .layer = ATTN_NO_LAYER};

    ATTN_TRY(measure_run(measured, err));
    for (int i = 0; i < ATTN_N_HEAD_COLUMN; i++) {
        measured->columns[i + (i >= ATTN_HEAD_HEAD)] = attn_head_columns[i];
        rows->hidden[i + (i >= ATTN_HEAD_HEAD)] =
            attn_head_columns[i].shown != 0 &&
            (attn_head_columns[i].shown & attn_heads_flags(measured->measures)) == 0;
    }
    measured->columns[ATTN_HEAD_HEAD] = batch;
    rows->columns = measured->columns;
    rows->n = ATTN_N_HEAD_COLUMN + 1;
    rows->hidden[ATTN_HEAD_LAYER] = !run->model;
    rows->hidden[ATTN_HEAD_HEAD] = run->model || run->axes.rank != 4;
    attn_rows_hide_stacks(rows->columns, rows->n, rows->hidden,
                          attn_dims_has_stacks(attn_selection_dims(run->selection)));
    ATTN_TRY(attn_rows_create(rows, ATTN_TABLE_HEADS, err));
    while (attn_selection_next_head(run->selection, &at))
        ATTN_TRY(append_measured(measured, &at, err));
    return ATTN_OK;
}

enum attn_status attn_head_measures(struct attn_run *run, attn_measure_set measures,
                                    struct attn_table **table, struct attn_error *err)
{
    struct measured measured = {.run = run, .measures = measures & attn_measures_all()};
    enum attn_status status;

    ATTN_NEED(err, run, table);
    status = tabulate_run(&measured, err);
    attn_measure_group_release(&measured.group);
    attn_selection_free(measured.selection);
    ATTN_RETURN_MADE(status, table, measured.rows.table, attn_table_free);
}
