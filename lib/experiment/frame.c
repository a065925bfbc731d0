/* frame.c - see frame.h. */
#include "experiment/frame.h"

#include "base/given.h"
#include "base/memory.h"
#include "base/status_internal.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- Columns ---------------------------------------------------------------------------------- */

void attn_columns_add(struct attn_columns *columns, const struct attn_column *items, size_t n)
{
    assert(n <= ATTN_MOST_COLUMNS - columns->n);
    memcpy(columns->items + columns->n, items, n * sizeof *items);
    columns->n += n;
}

void attn_columns_add_sd(struct attn_columns *columns, const struct attn_column *column)
{
    struct attn_column sd = *column;

    sd.name = columns->names[columns->n];
    sd.range = ATTN_RANGE_POSITIVE;
    snprintf(columns->names[columns->n], ATTN_COLUMN_NAME_SIZE, "%s_sd", column->name);
    attn_columns_add(columns, &sd, 1);
}

/* --- Means ------------------------------------------------------------------------------------ */

void attn_moments_add(struct attn_moments *moments, double x)
{
    const double before = moments->mean;

    moments->n++;
    moments->mean += (x - before) / (double)moments->n;
    moments->squares += (x - before) * (x - moments->mean);
}

double attn_moments_sd(const struct attn_moments *moments)
{
    return moments->n > 1 ? sqrt(moments->squares / ((double)moments->n - 1)) : (double)NAN;
}

struct attn_cell attn_moments_sd_cell(const struct attn_moments *moments)
{
    return moments->n > 1 ? attn_cell_real(attn_moments_sd(moments)) : attn_cell_missing();
}

/* The same table of several texts, as one. Columns of reals become means, those of booleans shares;
 * the others say which row it is and are those of the first text. After them come NAME_sd of each
 * column of reals, and `texts`. A value that is missing in one text is left out of its mean. Memory
 * is that of one table, however many texts there are. */
struct means {
    size_t n_text;
    struct attn_table *first;     /* owns; of the first text */
    struct attn_moments *moments; /* [n_row, n_column] owns */
};

static bool is_averaged(const struct attn_column *column)
{
    return column->type == ATTN_VALUE_REAL || column->type == ATTN_VALUE_BOOLEAN;
}

/* Adds *TABLE, which becomes NULL when it is taken. */
static enum attn_status add_table(struct means *means, struct attn_table **table,
                                  struct attn_error *err)
{
    const size_t n_row = attn_table_n_row(*table), n_column = attn_table_n_column(*table);
    const struct attn_table *added = *table;

    if (!means->first) {
        means->moments = attn_alloc(n_row * n_column, sizeof *means->moments, err);
        if (!means->moments)
            return ATTN_NO_MEMORY;
        means->first = *table;
        *table = NULL;
    } else if (n_row != attn_table_n_row(means->first) ||
               n_column != attn_table_n_column(means->first)) {
        return attn_error_set(err, ATTN_INVALID, "text %zu has %zu rows, the first has %zu",
                              means->n_text + 1, n_row, attn_table_n_row(means->first));
    }
    for (size_t i = 0; i < n_row * n_column; i++) {
        const struct attn_cell cell = attn_table_cell(added, i / n_column, i % n_column);

        if (cell.type != ATTN_VALUE_MISSING && is_averaged(attn_table_column(added, i % n_column)))
            attn_moments_add(&means->moments[i],
                             cell.type == ATTN_VALUE_REAL ? cell.real : (double)cell.integer);
    }
    means->n_text++;
    return ATTN_OK;
}

static void list_columns_of_means(const struct attn_table *first, struct attn_columns *columns)
{
    static const struct attn_column texts = ATTN_COLUMN("texts", INTEGER);
    const size_t n = attn_table_n_column(first);

    for (size_t i = 0; i < n; i++) {
        struct attn_column column = *attn_table_column(first, i);

        if (column.type == ATTN_VALUE_BOOLEAN) {
            column.type = ATTN_VALUE_REAL;
            column.notation = ATTN_NOTATION_FIXED;
            column.digits = 4;
        }
        attn_columns_add(columns, &column, 1);
    }
    for (size_t i = 0; i < n; i++)
        if (attn_table_column(first, i)->type == ATTN_VALUE_REAL)
            attn_columns_add_sd(columns, attn_table_column(first, i));
    attn_columns_add(columns, &texts, 1);
}

/* Appends the means of ROW to TABLE. */
static enum attn_status append_means(const struct means *means, size_t row,
                                     struct attn_table *table, struct attn_error *err)
{
    const size_t n_column = attn_table_n_column(means->first);
    const struct attn_moments *moments = means->moments + row * n_column;
    struct attn_cell cells[ATTN_MOST_COLUMNS];
    size_t n = 0;

    for (size_t i = 0; i < n_column; i++) {
        cells[n] = attn_table_cell(means->first, row, i);
        if (is_averaged(attn_table_column(means->first, i)))
            cells[n] = moments[i].n > 0 ? attn_cell_real(moments[i].mean) : attn_cell_missing();
        n++;
    }
    for (size_t i = 0; i < n_column; i++)
        if (attn_table_column(means->first, i)->type == ATTN_VALUE_REAL)
            cells[n++] = attn_moments_sd_cell(&moments[i]);
    cells[n++] = attn_cell_integer((int64_t)means->n_text);
    return attn_table_append(table, cells, n, err);
}

/* Makes the table of MEANS; *table is the caller's also after a failure. */
static enum attn_status tabulate_means(const struct means *means, struct attn_table **table,
                                       struct attn_error *err)
{
    struct attn_columns columns;

    columns.n = 0;
    list_columns_of_means(means->first, &columns);
    ATTN_TRY(
        attn_table_create(attn_table_name(means->first), columns.items, columns.n, table, err));
    for (size_t row = 0; row < attn_table_n_row(means->first); row++)
        ATTN_TRY(append_means(means, row, *table, err));
    return ATTN_OK;
}

/* --- An inquiry ------------------------------------------------------------------------------- */

/* An inquiry that was read. */
struct asking {
    const struct attn_experiment *experiment;
    const struct attn_inquiry *inquiry;
    struct attn_request request;
    const struct attn_input *texts; /* [n_text] borrowed */
    size_t n_text;
    void *sum;                /* owns */
    struct means means;       /* owns; over the texts */
    struct attn_table *table; /* owns */
};

/* Reads what is given, and looks for a caller's mistakes. */
static enum attn_status read_inquiry(struct asking *asking, struct attn_error *err)
{
    const struct attn_experiment *experiment = asking->experiment;
    const struct attn_inquiry *inquiry = asking->inquiry;
    const char *args = inquiry->args;

    if (!attn_is_given(inquiry->host, "host", err) ||
        !attn_is_given(inquiry->request, "request", err) ||
        (experiment->columns && !attn_is_given(inquiry->table, "table", err)) ||
        (experiment->sum_size > 0 && !attn_is_given(inquiry->sum, "sum", err)))
        return ATTN_INVALID;
    ATTN_TRY(attn_error_at(attn_options_read(inquiry->given, inquiry->args, err),
                           ATTN_STAGE_OPTIONS, err));
    ATTN_TRY(attn_error_at(attn_options_read(inquiry->request, &asking->request, err),
                           ATTN_STAGE_OPTIONS, err));
    if (experiment->check)
        ATTN_TRY(attn_error_at(experiment->check(args, err), ATTN_STAGE_OPTIONS, err));
    if (experiment->n_text == 0)
        return ATTN_OK;
    memcpy(&asking->texts, args + experiment->texts, sizeof asking->texts);
    memcpy(&asking->n_text, args + experiment->n_text, sizeof asking->n_text);
    return asking->n_text == 0 || attn_is_given(asking->texts, "texts", err) ? ATTN_OK
                                                                             : ATTN_INVALID;
}

static enum attn_status answer(const struct attn_experiment *experiment, struct attn_frame *frame,
                               struct attn_error *err)
{
    struct attn_columns columns;

    ATTN_TRY(experiment->prepare(frame, err));
    columns.n = 0;
    if (experiment->columns) {
        experiment->columns(frame, &columns);
        ATTN_TRY(attn_table_create(experiment->name, columns.items, columns.n, &frame->table, err));
    }
    return experiment->ask(frame, err);
}

/* Makes *TABLE of the input of REQUEST. */
static enum attn_status ask(const struct asking *asking, const struct attn_request *request,
                            struct attn_table **table, struct attn_error *err)
{
    const struct attn_experiment *experiment = asking->experiment;
    struct attn_frame *frame = attn_alloc(1, experiment->state_size, err);
    enum attn_status status;

    if (!frame)
        return ATTN_NO_MEMORY;
    frame->host = asking->inquiry->host;
    frame->args = asking->inquiry->args;
    frame->sum = asking->sum;
    frame->request = *request;
    frame->texts = asking->texts;
    frame->n_text = asking->n_text;
    status = answer(experiment, frame, err);
    if (status == ATTN_OK) {
        *table = frame->table;
        frame->table = NULL;
    }
    if (experiment->release)
        experiment->release(frame);
    while (frame->n_owned > 0)
        attn_free(frame->owned[--frame->n_owned]);
    attn_table_free(frame->table);
    attn_capture_free(frame->capture);
    attn_selection_free(frame->selection);
    attn_run_free(frame->run);
    attn_free(frame);
    return status;
}

static enum attn_status add_text(struct asking *asking, const struct attn_request *request,
                                 struct attn_error *err)
{
    struct attn_table *table = NULL;
    enum attn_status status = ask(asking, request, &table, err);

    if (status == ATTN_OK)
        status = add_table(&asking->means, &table, err);
    attn_table_free(table);
    return status;
}

/* Asks about each text, one after the other. The request's on_progress counts texts. */
static enum attn_status ask_texts(struct asking *asking, struct attn_error *err)
{
    const struct attn_request *asked = &asking->request;
    struct attn_request one_text = *asked;

    one_text.on_progress = NULL;     /* it counts texts */
    one_text.reading.example = NULL; /* the hint is which text it was */
    for (size_t i = 0; i < asking->n_text; i++) {
        enum attn_status status;

        one_text.input = asking->texts[i];
        status = add_text(asking, &one_text, err);
        if (status != ATTN_OK) {
            attn_error_hint(err, "in text %zu of %zu", i + 1, asking->n_text);
            return status;
        }
        if (asked->on_progress)
            asked->on_progress(asked->user, i + 1, asking->n_text);
    }
    return tabulate_means(&asking->means, &asking->table, err);
}

static enum attn_status perform(struct asking *asking, struct attn_error *err)
{
    ATTN_TRY(read_inquiry(asking, err));
    asking->sum = attn_alloc(1, asking->experiment->sum_size, err);
    if (!asking->sum)
        return ATTN_NO_MEMORY;
    if (asking->n_text > 0 && !asking->experiment->goes_over_texts)
        return ask_texts(asking, err);
    return ask(asking, &asking->request, &asking->table, err);
}

enum attn_status attn_experiment_perform(const struct attn_experiment *experiment,
                                         const struct attn_inquiry *inquiry, struct attn_error *err)
{
    struct asking asking = {
        .experiment = experiment, .inquiry = inquiry, .request = ATTN_REQUEST_DEFAULT};
    const enum attn_status status = perform(&asking, err);

    if (status == ATTN_OK) {
        if (experiment->columns)
            *inquiry->table = asking.table;
        if (experiment->sum_size > 0)
            memcpy(inquiry->sum, asking.sum, experiment->sum_size);
    } else {
        attn_table_free(asking.table);
    }
    attn_table_free(asking.means.first);
    attn_free(asking.means.moments);
    attn_free(asking.sum);
    return status;
}

/* --- The frame -------------------------------------------------------------------------------- */

void attn_frame_choose_nothing(struct attn_request *request)
{
    request->selection.given = NULL;
    request->selection.sites = request->selection.layers = request->selection.heads =
        request->selection.queries = NULL;
    request->predict = (struct attn_request_predict){0};
    request->outputs.items = NULL;
    request->outputs.n = 0;
}

enum attn_status attn_frame_prepare_run(struct attn_frame *frame, struct attn_error *err)
{
    ATTN_TRY(attn_run_prepare(frame->host, &frame->request, &frame->run, err));
    frame->config = attn_model_config(frame->run->model);
    return ATTN_OK;
}

enum attn_status attn_frame_select(struct attn_frame *frame, attn_site_set sites,
                                   struct attn_error *err)
{
    ATTN_TRY(
        attn_selection_create(attn_selection_dims(frame->run->selection), &frame->selection, err));
    return attn_error_at(attn_selection_set_sites(frame->selection, sites, err), ATTN_STAGE_OPTIONS,
                         err);
}

void *attn_frame_own(struct attn_frame *frame, void *block)
{
    assert(frame->n_owned < ATTN_FRAME_MOST_OWNED);
    frame->owned[frame->n_owned++] = block;
    frame->lacks_memory = frame->lacks_memory || !block;
    return block;
}

enum attn_status attn_frame_memory(const struct attn_frame *frame)
{
    return frame->lacks_memory ? ATTN_NO_MEMORY : ATTN_OK;
}

enum attn_status attn_frame_append(struct attn_frame *frame, const struct attn_cell *cells,
                                   struct attn_error *err)
{
    return attn_table_append(frame->table, cells, attn_table_n_column(frame->table), err);
}

void attn_frame_report(const struct attn_frame *frame, size_t n_done, size_t n)
{
    if (frame->request.on_progress)
        frame->request.on_progress(frame->request.user, n_done, n);
}

/* Texts on their way through attn_run_many. */
struct texts {
    struct attn_frame *frame;
    attn_done_fn take;
    size_t n_given;
};

/* An attn_next_fn. */
static enum attn_status give_text(void *user, struct attn_record *record, bool *is_over,
                                  struct attn_error *err)
{
    struct texts *texts = user;

    (void)err;
    *is_over = texts->n_given == texts->frame->n_text;
    if (!*is_over)
        record->input = texts->frame->texts[texts->n_given++];
    return ATTN_OK;
}

/* An attn_done_fn: one text counts as much as another, so one that fails ends it. */
static enum attn_status take_text(void *user, const struct attn_many_result *result,
                                  struct attn_error *err)
{
    const struct texts *texts = user;
    const size_t i = result->record->number, n = texts->frame->n_text;

    if (result->record->failure != ATTN_RECORD_FAILURE_NONE) {
        const enum attn_status status = attn_error_copy(err, &result->record->err);

        attn_error_hint(err, "in text %zu of %zu", i + 1, n);
        return attn_error_at(status, ATTN_STAGE_INPUT, err);
    }
    ATTN_TRY(texts->take(texts->frame, result, err));
    attn_frame_report(texts->frame, i + 1, n);
    return ATTN_OK;
}

enum attn_status attn_frame_run_texts(struct attn_frame *frame, struct attn_many_options *options,
                                      attn_done_fn take, struct attn_error *err)
{
    struct texts texts = {.frame = frame, .take = take};
    const struct attn_many_calls calls = {.next = give_text, .done = take_text, .user = &texts};

    options->request = &frame->request;
    return attn_run_many(frame->host, options, &calls, err);
}
