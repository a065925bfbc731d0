/*
 * lens_fit.c - fits a Jacobian lens (lens.h): the mean over many texts of the derivatives of the
 * last layer's output by the output of each other layer.
 *
 * Each text is fed once. A backward pass begins with ones at the positions V of one dimension of
 * the last output, and gives one row of all matrices: its gradients, summed over V. So there are D
 * passes for a text. What the layers need for them is kept from the feed.
 */
#include "questions/lens_internal.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"
#include "input/sequence.h"
#include "model/config_internal.h"
#include "model/model_internal.h"
#include "questions/derivative.h"
#include "questions/questions_internal.h"
#include "stream/items_internal.h"
#include "stream/ledger_internal.h"
#include "tensors/format_internal.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    DEFAULT_FIRST = 128,
    KEPT_BYTES = 512 << 20, /* maximum memory for what the layers need; otherwise recomputed */
};

enum { LAYER, SITE, NORM, DIAGONAL, ROW_TYPE, N_COLUMN };

static const struct attn_column columns[N_COLUMN] = {
    [LAYER] = ATTN_COLUMN_OF(LAYER, "layer", INTEGER),
    [SITE] = ATTN_COLUMN_OF(SITE, "site", TEXT),
    [NORM] = ATTN_COLUMN_QUANTITY("norm", 4, NULL, POSITIVE, "norm of the Jacobian"),
    [DIAGONAL] = ATTN_COLUMN_QUANTITY("diagonal", 4, NULL, SIGNED, "mean of its diagonal"),
    [ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

static const struct attn_table_view views[] = {
    {ATTN_VIEW_OF(LAYER, SITE, NORM), .figure = ATTN_FIGURE_CURVE, .traits = ATTN_VIEW_STREAM,
     .asked = "from each layer to the last"},
};

/* --- One text --------------------------------------------------------------------------------- */

struct fit {
    struct attn_frame frame;
    size_t first, end;             /* the positions V */
    struct attn_selection *wanted; /* owns; gradients */
    struct attn_tape tape;
    float *given; /* [T, D] gradient of the last output */
    double *sums; /* [n_layer - 1, D, D] */
    size_t row;   /* row of the matrices that is being computed */
};

static size_t first_of(const struct attn_lens_args *args)
{
    return args->first > 0 ? args->first : DEFAULT_FIRST;
}

/* Replaces the text of the item by the ids of its first tokens, if it is longer. */
static enum attn_status shorten(struct fit *fit, struct attn_error *err)
{
    struct attn_frame *frame = &fit->frame;
    const size_t n_most = first_of(frame->args);
    struct attn_input *input = &frame->request.input;
    struct attn_sequence sequence = {.input = input, .role = "text"};
    const struct attn_tokenizer *tokenizer;
    enum attn_status status;

    if (input->ids) {
        input->n_id = input->n_id < n_most ? input->n_id : n_most;
        return ATTN_OK;
    }
    if (!input->text)
        return ATTN_OK;
    ATTN_TRY(attn_host_tokenizer(frame->host, &tokenizer, err));
    status = attn_sequence_encode(&frame->request.reading, input, tokenizer, &sequence, err);
    if (status == ATTN_OK && sequence.n > n_most) {
        int32_t *ids = attn_frame_alloc(frame, n_most, sizeof *ids);

        status = attn_frame_memory(frame, err);
        if (status == ATTN_OK)
            *input = (struct attn_input){.ids = memcpy(ids, sequence.ids, n_most * sizeof *ids),
                                         .n_id = n_most};
    }
    attn_sequence_release(&sequence);
    return attn_error_at(status, ATTN_STAGE_INPUT, err);
}

static enum attn_status choose(void *state, struct attn_error *err)
{
    struct fit *fit = state;

    ATTN_TRY(attn_jacobian_check(attn_host_model(fit->frame.host), err));
    attn_frame_choose_nothing(&fit->frame.request);
    return shorten(fit, err);
}

/* Checks that the run has gradients, and that no token sees a later one. */
static enum attn_status check_run(const struct attn_run *run, struct attn_error *err)
{
    const struct attn_attention *layers = run->attention.layers;

    ATTN_TRY(attn_error_at(attn_backward_check(run->model, layers, ATTN_BACKWARD_PLAIN, err),
                           ATTN_STAGE_OPTIONS, err));
    ATTN_TRY(attn_run_check_gradients_of_edits(run, err));
    for (size_t i = 0; i < attn_model_config(run->model)->n_layer; i++)
        if (layers[i].mask != ATTN_MASK_CAUSAL || layers[i].block.end > 0)
            return attn_refuse(err, ATTN_STAGE_OPTIONS,
                               "a Jacobian lens is of causal attention, and tokens of layer %zu "
                               "see later ones",
                               i);
    return ATTN_OK;
}

/* Selects the gradients. */
static enum attn_status select_gradients(struct fit *fit, struct attn_error *err)
{
    const struct attn_run *run = fit->frame.run;
    char layers[48];

    ATTN_TRY(attn_derivative_select(run, ATTN_SITES(ATTN_SITE_RESID_PRE_GRAD), &fit->wanted, err));
    snprintf(layers, sizeof layers, "1-%zu", fit->frame.config->n_layer - 1);
    return attn_selection_set_layers(fit->wanted, layers, err);
}

/* Allocates the memory of a text, unless no position counts. */
static enum attn_status prepare(void *state, struct attn_error *err)
{
    struct fit *fit = state;
    struct attn_frame *frame = &fit->frame;
    const struct attn_lens_args *args = frame->args;
    const size_t n = frame->run->text.n, d = frame->config->d_model;
    const size_t n_layer = frame->config->n_layer;

    frame->answer->is_general = true;
    ATTN_TRY(check_run(frame->run, err));
    frame->answer->is_general = false;
    ATTN_TRY(attn_derivative_check_ids(frame->run, err));
    fit->first = args->skip;
    fit->end = n - 1;
    if (fit->first >= fit->end)
        return ATTN_OK;
    ATTN_TRY(attn_error_at(select_gradients(fit, err), ATTN_STAGE_MODEL, err));
    fit->given = attn_frame_alloc(frame, n * d, sizeof *fit->given);
    fit->sums = attn_frame_alloc(frame, (n_layer - 1) * d, d * sizeof *fit->sums);
    return attn_frame_memory(frame, err);
}

static enum attn_status on_feed(void *user, const struct attn_trace_event *event,
                                struct attn_error *err)
{
    return attn_tape_add(&((struct fit *)user)->tape, event, err);
}

/* Adds the gradients of the positions V to the current row (attn_trace_fn). */
static enum attn_status on_gradient(void *user, const struct attn_trace_event *event,
                                    struct attn_error *err)
{
    struct fit *fit = user;
    const size_t d = event->n_col;
    double *row = fit->sums + ((size_t)(event->at.layer - 1) * d + fit->row) * d;

    (void)err;
    for (size_t r = 0; r < event->n_row; r++)
        if (event->row0 + r >= fit->first && event->row0 + r < fit->end)
            for (size_t k = 0; k < d; k++)
                row[k] += (double)event->data[r * event->ld + k];
    return ATTN_OK;
}

static enum attn_status create_tape(struct fit *fit, const struct attn_trace *trace,
                                    const struct attn_embedding_rows *text, struct attn_error *err)
{
    const struct attn_run *run = fit->frame.run;
    const struct attn_pass pass = attn_run_pass(run);
    struct attn_backward_options options = attn_tape_options(&pass.options);

    options.trace = trace;
    options.pool = attn_host_pool(run->host, (double)INFINITY);
    options.text = text;
    options.n_run = fit->frame.config->d_model;
    return attn_tape_prepare(&fit->tape, run->model, &options, KEPT_BYTES, err);
}

/* Computes the matrices of the text, in `sums`. */
static enum attn_status read_text(struct fit *fit, struct attn_error *err)
{
    const struct attn_run *run = fit->frame.run;
    const size_t d = fit->frame.config->d_model, n_layer = fit->frame.config->n_layer;
    struct attn_watch watch = {.is_silent = true, .on_event = on_feed, .user = fit};
    const struct attn_trace trace = {
        .selection = fit->wanted, .on_event = on_gradient, .user = fit};
    const struct attn_embedding_rows text = attn_sequence_rows(&run->text, run->model);
    const struct attn_backward_goal goal = {.given = fit->given, .is_of_stream = true};

    ATTN_TRY(create_tape(fit, &trace, &text, err));
    watch.sites = attn_tape_sites(&fit->tape);
    ATTN_TRY(attn_watch(run, &watch, err));
    ATTN_TRY(attn_tape_open(&fit->tape, err));
    for (fit->row = 0; fit->row < d; fit->row++) {
        for (size_t t = fit->first; t < fit->end; t++)
            fit->given[t * d + fit->row] = 1;
        ATTN_TRY(attn_tape_run(&fit->tape, &goal, err));
        for (size_t t = fit->first; t < fit->end; t++)
            fit->given[t * d + fit->row] = 0;
    }
    for (size_t i = 0; i < (n_layer - 1) * d * d; i++)
        fit->sums[i] /= (double)(fit->end - fit->first);
    return ATTN_OK;
}

/* Sets ROW to the row of matrix I [D, D] of a model with CONFIG. */
static void describe(const double *matrix, size_t i, const struct attn_config *config,
                     struct attn_cell row[N_COLUMN])
{
    const struct attn_dims dims = attn_config_dims(config, 1);
    const size_t d = config->d_model;
    double squares = 0, diagonal = 0;

    for (size_t k = 0; k < d * d; k++)
        squares += matrix[k] * matrix[k];
    for (size_t k = 0; k < d; k++)
        diagonal += matrix[k * d + k];
    row[LAYER] = attn_cell_integer((int64_t)i);
    row[SITE] = attn_cell_string(attn_site_name(attn_site_of_output(&dims)));
    row[NORM] = attn_cell_real(sqrt(squares / (double)d));
    row[DIAGONAL] = attn_cell_real(diagonal / (double)d);
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct fit *fit = state;
    struct attn_frame *frame = &fit->frame;
    const size_t d = frame->config->d_model, n = frame->config->n_layer - 1;

    if (!fit->sums)
        return ATTN_OK;
    ATTN_TRY(attn_error_at(read_text(fit, err), ATTN_STAGE_MODEL, err));
    for (size_t i = 0; i < n; i++) {
        struct attn_cell row[N_COLUMN] = {{0}};

        describe(fit->sums + i * d * d, i, frame->config, row);
        ATTN_TRY(attn_frame_append(frame, row, err));
    }
    return attn_frame_report_more(frame, fit->sums, n * d * d, err);
}

static void release(void *state)
{
    struct fit *fit = state;

    attn_tape_release(&fit->tape);
    attn_selection_free(fit->wanted);
}

/* --- All texts -------------------------------------------------------------------------------- */

/* The sum over all texts. */
struct fitting {
    const struct attn_procedure_call *call;
    const struct attn_lens_args *args;
    struct attn_sink *sink; /* owns; the file */
    double *sums;           /* [n] owns */
    size_t n, n_text, n_short;
};

/* Adds the matrices of an item (struct attn_study_gather). */
static enum attn_status add(void *user, const struct attn_item_result *result,
                            struct attn_error *err)
{
    struct fitting *fitting = user;
    const struct attn_config *config = attn_model_config(attn_host_model(fitting->call->host));
    const size_t n = (config->n_layer - 1) * config->d_model * config->d_model;

    if (result->n_beside > 0 && result->n_beside != n)
        return ATTN_FORMAT;
    if (result->n_beside == 0) {
        fitting->n_short++;
        return ATTN_OK;
    }
    if (!fitting->sums)
        ATTN_TRY(ATTN_ALLOC(fitting->sums, n, err));
    fitting->n = n;
    fitting->n_text++;
    for (size_t i = 0; i < fitting->n; i++)
        fitting->sums[i] += result->beside[i];
    return ATTN_OK;
}

/* Writes the means to the file. */
static enum attn_status write_file(struct fitting *fitting, struct attn_error *err)
{
    const struct attn_lens_args *args = fitting->args;
    const struct attn_model *model = attn_host_model(fitting->call->host);
    const struct attn_config *config = attn_model_config(model);
    const struct attn_jacobian_facts facts = {.n_text = fitting->n_text,
                                              .skip = args->skip,
                                              .first = first_of(args),
                                              .corpus = attn_items_name(args->study->items)};
    struct attn_jacobian jacobian = {.n = config->n_layer - 1, .d = config->d_model};
    enum attn_status status;

    ATTN_TRY(ATTN_ALLOC(jacobian.owned, fitting->n, err));
    for (size_t i = 0; i < fitting->n; i++)
        jacobian.owned[i] = (float)fitting->sums[i];
    jacobian.data = jacobian.owned;
    status = attn_jacobian_write(&jacobian, &facts, model, fitting->sink, err);
    if (status == ATTN_OK)
        status = attn_sink_commit(fitting->sink, err);
    attn_jacobian_release(&jacobian);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}

/* Reports texts in which no position counts. */
static enum attn_status check_short(const struct fitting *fitting, struct attn_error *err)
{
    const struct attn_request *request = fitting->call->request;
    const size_t skip = fitting->args->skip;

    if (fitting->n_text == 0)
        return attn_refuse(err, ATTN_STAGE_INPUT,
                           "no text has a position after the first %zu (`skip`) and before its "
                           "last, expected %zu tokens or more",
                           skip, skip + 2);
    if (fitting->n_short > 0)
        attn_note(request->on_note, request->user, ATTN_NOTE_SHORT_TEXTS,
                  "%zu text%s left out, with fewer than %zu tokens", fitting->n_short,
                  fitting->n_short == 1 ? " is" : "s are", skip + 2);
    return ATTN_OK;
}

/* Writes the file, and creates the table that describes it (struct attn_study_gather). */
static enum attn_status tabulate(void *user, struct attn_stream *stream, struct attn_table **table,
                                 struct attn_error *err)
{
    struct fitting *fitting = user;
    const struct attn_config *config = attn_model_config(attn_host_model(fitting->call->host));
    struct attn_rows rows = {.columns = columns, .n = N_COLUMN};
    enum attn_status status = ATTN_OK;

    (void)stream;
    ATTN_TRY(check_short(fitting, err));
    for (size_t i = 0; i < fitting->n; i++)
        fitting->sums[i] /= (double)fitting->n_text;
    ATTN_TRY(write_file(fitting, err));
    ATTN_TRY(attn_rows_create(&rows, "lens", err));
    for (size_t i = 0; status == ATTN_OK && i < config->n_layer - 1; i++) {
        struct attn_cell row[N_COLUMN] = {{0}};

        describe(fitting->sums + i * config->d_model * config->d_model, i, config, row);
        status = attn_rows_append(&rows, row, err);
    }
    if (status == ATTN_OK)
        *table = rows.table;
    else
        attn_table_free(rows.table);
    return status;
}

/* Opens the file; that of a shard has its number in its name. */
static enum attn_status open_file(struct fitting *fitting, struct attn_error *err)
{
    const struct attn_items *items = fitting->args->study->items;
    const struct attn_format named = {.name = "fit"};
    struct attn_output output = {.format = &named};
    struct attn_buffer path = {0};
    size_t shard, n_shard;
    enum attn_status status;

    attn_items_shard(items, &shard, &n_shard);
    attn_ledger_append_path(&path, fitting->args->fit, shard, n_shard);
    output.path = attn_buffer_string(&path);
    status = output.path ? attn_host_check_outputs(fitting->call->host, &output, 1, err)
                         : attn_error_no_memory(err);
    if (status == ATTN_OK && attn_items_are_of_path(items, output.path))
        status =
            attn_refuse(err, ATTN_STAGE_OPTIONS, "`fit` '%s' is the input, expected another file",
                        attn_quote_string(output.path).text);
    if (status == ATTN_OK)
        status = attn_error_at(attn_sink_create_file(output.path, &fitting->sink, err),
                               ATTN_STAGE_OUTPUT, err);
    attn_buffer_release(&path);
    return status;
}

static enum attn_status check(const void *given, struct attn_error *err)
{
    const struct attn_lens_args *args = given;
    const struct attn_study_args *study = args->study;

    if (!study)
        return attn_error_set(err, ATTN_INVALID,
                              "`items` is not given: `fit` takes the mean over many texts");
    if (study->group_by || study->paired || study->n_bootstrap > 0 || study->cluster || study->fdr)
        return attn_error_set(
            err, ATTN_INVALID,
            "`group_by`, `paired`, `bootstrap`, `cluster` and `fdr` are of tables "
            "of means, and `fit` makes one lens of all items");
    return ATTN_OK;
}

/* Performs CALL with the sum over all items. */
static enum attn_status perform(const struct attn_procedure_call *call, struct attn_error *err)
{
    struct fitting fitting = {.call = call, .args = call->args};
    const struct attn_study_gather gather = {add, tabulate, &fitting};
    struct attn_procedure own = attn_lens_fit;
    enum attn_status status = ATTN_OK;

    own.items.gather = &gather;
    if (fitting.args->study && call->host && call->request)
        status = open_file(&fitting, err);
    if (status == ATTN_OK)
        status = attn_procedure_perform(&own, call, err);
    attn_sink_free(fitting.sink);
    attn_free(fitting.sums);
    return status;
}

const struct attn_procedure attn_lens_fit = {
    .name = "lens",
    .question = &attn_question_lens,
    .columns = columns,
    .n_column = N_COLUMN,
    .views = views,
    .n_view = sizeof views / sizeof *views,
    .needs_output = true,
    .state_size = sizeof(struct fit),
    .items.study = offsetof(struct attn_lens_args, study),
    .items.is_listed = true,
    .items.is_ragged = true,
    .perform = perform,
    .check = check,
    .choose = choose,
    .prepare = prepare,
    .ask = ask,
    .release = release,
};
