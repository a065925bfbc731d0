#include "cmd/args/request.h"

#include "cmd/args/outputs.h"
#include "cmd/line/interrupt.h"
#include "cmd/line/progress.h"
#include "cmd/line/report.h"
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct attn_param explain_rows[] = {
    ATTN_PARAM(FLAG, "explain", NULL, struct question_args, is_explained,
               "show the arithmetic of one row, step by step. The selection must leave one head "
               "and one query; without --queries it is the last one. --png, --svg, --pdf and "
               "--html draw it"),
};

const struct attn_param_list explain_options = ATTN_PARAM_LIST("Output", explain_rows);

/* --- Checks ----------------------------------------------------------------------------------- */

/* Returns true if the first screen would show all that the options ask for. */
static bool may_have_first_screen(const struct question *question)
{
    const struct attn_request_selection *asked = &question->args->prompt.asked.selection;

    return question->tensors.has_first_screen && !asked->sites && !asked->layers && !asked->heads &&
           !attn_number_list_is_given(&asked->queries);
}

/* Refuses options that would not change any output. */
static enum attn_status check_effects(const struct question *question, struct attn_error *err)
{
    const struct question_args *args = question->args;
    unsigned shown = question->tensors.shown;

    if (args->is_explained)
        shown |= ATTN_MEDIUM_EXPLANATION;
    if (shown == 0)
        shown = may_have_first_screen(question) ? ATTN_MEDIUM_SCREEN : ATTN_MEDIUM_TENSORS;
    return effects_check(question->call, &args->tables.output, &args->tables.picture, shown,
                         ATTN_FIGURE_DEFAULT, err);
}

/* Returns true if matrices are printed in color. */
static bool has_colors(const struct question *question)
{
    const struct question_args *args = question->args;

    return args->tables.picture.is_heatmap ||
           (question->tensors.shown == 0 && !args->is_explained &&
            !outputs_are_wanted(&args->tables.output));
}

enum attn_status request_check(struct question *question, struct attn_error *err)
{
    const struct question_args *args = question->args;

    ATTN_TRY(places_check(question->call, err));
    ATTN_TRY(outputs_check(&args->tables.output, &question->tensors.is_standard_used, err));
    ATTN_TRY(check_effects(question, err));
    picture_find(&args->tables.picture, has_colors(question), &question->tensors.look);
    if (question->args->prompt.asked.selection.sites) /* an invalid list is refused later */
        attn_sites_parse(question->args->prompt.asked.selection.sites,
                         &question->tensors.look.sites, NULL);
    if (args->is_explained && question->tensors.is_standard_used)
        return refuse(err, "write the data into a file",
                      "`explain` prints on standard output, which holds data");
    return attn_attention_args_check(&question->attention, err);
}

static bool has_tensors(const struct attn_format *format)
{
    return format->tensors;
}

/* Moves the outputs that draw an explanation to the end of OUTPUTS [*n]. Returns the number of
 * these, and sets *n to the number of the others. */
static size_t take_figures(struct attn_output *outputs, size_t *n)
{
    const size_t n_output = *n;

    for (size_t i = 0; i < *n;) {
        struct attn_output last = outputs[*n - 1];

        if (!attn_explanation_is_drawn(outputs[i].format)) {
            i++;
            continue;
        }
        outputs[--*n] = outputs[i];
        outputs[i] = last;
    }
    return n_output - *n;
}

/* Lists the outputs that show tensors. If nothing else is shown, adds text. */
static enum attn_status list_outputs(struct question *question, struct attn_error *err)
{
    const struct question_args *args = question->args;
    const char *text = args->tables.picture.is_heatmap ? "heatmap" : NULL;
    struct attn_request *request = &question->request;

    ATTN_TRY(outputs_list(&args->tables.output, has_tensors, question->call->out,
                          &question->tensors.outputs, &request->outputs.n, err));
    if (request->outputs.n == 0 && !args->is_explained && request->predict.top == 0 &&
        request->predict.n_next + request->predict.n_next_ids == 0 &&
        request->predict.n_label == 0 &&
        (!request->predict.more ||
         request->predict.more->n_ids + request->predict.more->n_image == 0) &&
        (!request->predict.answer || question->asked.is_used))
        text = text ? text : "text";
    if (text)
        question->tensors.outputs[request->outputs.n++] =
            output_of(&args->tables.output, attn_format_find(text), question->call->out);
    if (args->is_explained)
        question->tensors.n_figure = take_figures(question->tensors.outputs, &request->outputs.n);
    return ATTN_OK;
}

/* Lists the given options that change tensors and, if gradients are written, those that change
 * gradients. */
static enum attn_status list_options(struct question *question, struct attn_error *err)
{
    const struct attn_request *request = &question->request;
    const bool has_gradients = request->selection.gradients_of && !request->predict.answer;
    const unsigned listed =
        ATTN_PARAM_SHAPES_TENSORS | (has_gradients ? ATTN_PARAM_SHAPES_GRADIENTS : 0U);
    const struct call *call = question->call;

    ATTN_TRY(ALLOCATE(question->tensors.options, options_count(call->command), err));
    for (struct option_walk walk = {.command = call->command}; option_next(&walk);) {
        const char *value = call->given[walk.n - 1];

        if (value && (walk.param->traits & listed) != 0)
            question->tensors.options[question->request.outputs.n_option++] =
                (struct attn_option){option_name(&walk), option_typed(&walk, value)};
    }
    return ATTN_OK;
}

enum attn_status request_fill(struct question *question, struct attn_error *err)
{
    const struct question_args *args = question->args;
    struct attn_request *request = &question->request;

    ATTN_TRY(edits_read(&question->edits, &args->places, question->host, request, err));
    ATTN_TRY(attn_attention_args_open(&question->attention, err));
    ATTN_TRY(list_options(question, err));
    ATTN_TRY(list_outputs(question, err));
    request->attention.change = &question->attention.change;
    if (args->is_explained && !attn_number_list_is_given(&request->selection.queries))
        request->selection.queries.text = "-1";
    request->outputs.options = question->tensors.options;
    request->outputs.items = question->tensors.outputs;
    request->outputs.precision = (int)args->tables.output.precision;
    request->outputs.picture = &question->tensors.look;
    request->on_note = args->running.is_quiet ? NULL : note_message;
    question->tensors.look.on_note = request->on_note;
    progress_begin(args->running.is_quiet);
    if (!question->tensors.is_standard_used && !args->items.asked.items.path)
        request->on_part = question_on_part;
    request->user = question;
    return ATTN_OK;
}

/* --- A run ------------------------------------------------------------------------------------ */

static void note_work(const struct question *question)
{
    const struct attn_result *result = &question->tensors.result;
    const struct attn_attend_args *arrays = attn_run_arrays(question->tensors.run);
    const char *threads = result->n_thread == 1 ? "" : "s";
    const char *isa = attn_isa_name(attn_isa_detect());
    bool uses_amx;

    if (arrays) {
        note("%zu heads, %zu queries, %zu keys, %d thread%s, at most %s", arrays->n_head,
             arrays->n_query, arrays->n_key, result->n_thread, threads, isa);
        return;
    }
    uses_amx = attn_model_compute(attn_host_model(question->host)) != ATTN_COMPUTE_F32 &&
               attn_gemm_has_tiles(running_gemm(), running_isa());
    note("%zu token%s, %d thread%s, at most %s%s", result->n_token, result->n_token == 1 ? "" : "s",
         result->n_thread, threads, isa, uses_amx ? ", products in bfloat16 by amx" : "");
}

static enum attn_status start_explanation(const struct question *question,
                                          struct attn_explainer **explainer, struct attn_error *err)
{
    const struct attn_model *model = attn_run_model(question->tensors.run);
    struct attn_explain_args args = ATTN_EXPLAIN_ARGS_DEFAULT;
    enum attn_model_stack stack;

    args.selection = attn_run_labels(question->tensors.run)->selection;
    stack = attn_selection_is_of_encoder(args.selection) ? ATTN_STACK_ENCODER : ATTN_STACK_ONLY;
    args.attention = attn_run_attention(question->tensors.run);
    args.arrays = attn_run_arrays(question->tensors.run);
    args.edits = attn_run_edits(question->tensors.run, stack, &args.n_edit);
    args.key_mask = question->request.input.key_mask;
    args.source_mask = question->request.source.key_mask;
    if (model) {
        args.config = attn_model_config(model);
        args.compute = attn_model_compute(model);
    }
    args.positions = attn_run_positions(question->tensors.run, stack);
    if (stack == ATTN_STACK_ENCODER) {
        args.attention = NULL; /* the config's */
        args.key_mask = args.source_mask;
    }
    return attn_explainer_create(&args, explainer, err);
}

/* Writes OUTPUT, a page of the selected heads that shows the terms of each row. */
static enum attn_status write_explained_page(const struct question *question,
                                             const struct attn_output *output,
                                             struct attn_error *err)
{
    const bool is_rotary =
        attn_model_config(attn_host_model(question->host))->positions == ATTN_POSITIONS_ROTARY;
    struct attn_request request = question->request;
    struct attn_result result = {0};
    enum attn_status status;

    request.selection.sites =
        is_rotary ? "pattern,rot_q,rot_k,attn_scores,v" : "pattern,q,k,attn_scores,v";
    request.selection.queries = (struct attn_number_list){0};
    request.predict = (struct attn_request_predict){.top = 0};
    request.outputs.items = output;
    request.outputs.n = 1;
    status = attn_run_request(question->host, &request, &result, err);
    attn_result_release(&result);
    return status;
}

/* Returns true if OUTPUT is a page of heads of a model, and not a figure of a single row. */
static bool is_explained_page(const struct question *question, const struct attn_output *output)
{
    return output->format == attn_format_find("html") && !attn_run_arrays(question->tensors.run);
}

static enum attn_status print_explanation(const struct question *question,
                                          struct attn_explainer *explainer, struct attn_error *err)
{
    const struct attn_model *model = attn_run_model(question->tensors.run);
    const struct attn_explained_run run = {.config = model ? attn_model_config(model) : NULL,
                                           .arrays = attn_run_arrays(question->tensors.run),
                                           .labels = attn_run_labels(question->tensors.run)};
    const struct attn_explanation *row;

    ATTN_TRY(attn_explainer_finish(explainer, &row, err));
    for (size_t i = 0; i < question->tensors.n_figure; i++) {
        const struct attn_output *output =
            &question->tensors.outputs[question->request.outputs.n + i];

        if (is_explained_page(question, output))
            ATTN_TRY(write_explained_page(question, output, err));
        else
            ATTN_TRY(attn_explanation_draw(row, run.labels, &question->tensors.look, output, err));
    }
    return attn_explanation_print(row, &run, question->call->out, err);
}

/* Performs the run. If EXPLAINER is not NULL, it watches the run, and its row is printed. */
static enum attn_status perform(struct question *question, struct attn_explainer *explainer,
                                struct attn_error *err)
{
    interrupt_catch();
    ATTN_TRY(attn_run_perform(question->tensors.run,
                              explainer ? attn_explainer_trace(explainer) : NULL,
                              &question->tensors.result, err));
    if (question->args->running.is_verbose)
        note_work(question);
    stopwatch_note(&question->tensors.watch, &question->args->running, "ran");
    return explainer ? print_explanation(question, explainer, err) : ATTN_OK;
}

/* Returns true if the only output is a page, and no row was selected. */
static bool is_page_alone(const struct question *question)
{
    const struct attn_request_selection *asked = &question->args->prompt.asked.selection;

    return question->request.outputs.n == 0 && question->tensors.n_figure == 1 &&
           is_explained_page(question, &question->tensors.outputs[0]) && !asked->queries.text;
}

static enum attn_status explain(struct question *question, struct attn_error *err)
{
    struct attn_explainer *explainer = NULL;
    struct attn_error unseen = {0};
    enum attn_status status;

    if (is_page_alone(question) && start_explanation(question, &explainer, &unseen) != ATTN_OK)
        return write_explained_page(question, &question->tensors.outputs[0],
                                    err); /* a page of several heads */
    status = explainer ? ATTN_OK : start_explanation(question, &explainer, err);
    ATTN_THEN(status, perform(question, explainer, err));
    attn_explainer_free(explainer);
    return status;
}

/* Returns true if all patterns can be printed in full as numbers, because there are few heads and
 * few tokens. */
static bool is_whole(const struct question *question, const struct attn_dims *dims)
{
    enum { MOST_HEADS = 2, MOST_TOKENS = 16, LABELS = 13, NUMBER = 8 /* in columns */ };
    const size_t n = dims->n_source > dims->n_position ? dims->n_source : dims->n_position;

    return dims->n_layer * dims->n_head <= MOST_HEADS && n <= MOST_TOKENS &&
           LABELS + n * NUMBER <= question->tensors.look.width;
}

/* Replaces the output as text by the first screen, if that shows all that the options ask for. */
static void choose_first_screen(struct question *question)
{
    const struct attn_labels *labels = attn_run_labels(question->tensors.run);
    const struct attn_dims *dims = attn_selection_dims(labels->selection);
    size_t n_split;

    if (!may_have_first_screen(question) || question->request.outputs.n != 1 ||
        question->tensors.outputs[0].format != attn_format_find("text") ||
        question->request.selection.queries.text ||
        !attn_selection_has_site(labels->selection, ATTN_SITE_PATTERN) || is_whole(question, dims))
        return;
    question->tensors.outputs[0].format = attn_format_find("screen");
    n_split = attn_token_labels_n_split(labels);
    if (n_split > 0)
        note("the vocabulary has no tokens for %zu character%s of the text, and spells %s in "
             "bytes: each piece is shown as its character with a number, as in \xe2\x82\xac/1",
             n_split, n_split == 1 ? "" : "s", n_split == 1 ? "it" : "them");
}

/* Adds predictions of the next token to the request, for the first screen. Not all models have
 * them. */
static void ask_for_next(struct question *question)
{
    enum { MOST_NEXT = 3 };
    const struct attn_model *model = attn_host_model(question->host);

    if (may_have_first_screen(question) && question->request.outputs.n == 1 &&
        question->tensors.outputs[0].format == attn_format_find("text") && model &&
        attn_predicts_next(attn_model_config(model)))
        question->request.predict.top = MOST_NEXT;
}

/* Whether all outputs are pictures of the rows that are chosen: a page lets its reader choose. */
static bool draws_chosen_rows(const struct question *question, enum attn_figure figure)
{
    const bool is_embedded = figure == ATTN_FIGURE_HEADS || figure == ATTN_FIGURE_UNDER;
    const unsigned media = ATTN_MEDIUM_PNG | ATTN_MEDIUM_VECTOR | ATTN_MEDIUM_HEATMAP |
                           (is_embedded ? (unsigned)ATTN_MEDIUM_VIEWER : 0);

    for (size_t i = 0; i < question->request.outputs.n; i++)
        if ((question->tensors.outputs[i].format->medium & media) == 0)
            return false;
    return figure != ATTN_FIGURE_DEFAULT && figure != ATTN_FIGURE_PATCHES;
}

/* If no queries are given, sets those of the figure that is named to the rows that write the
 * answer, tokens FIRST to N - 1; a figure of one query has the first of them. Returns whether it
 * did. */
static bool begin_at_answer(struct question *question, size_t first, size_t n)
{
    const enum attn_figure figure = question->tensors.look.figure;
    const bool has_all = figure == ATTN_FIGURE_MATRIX || figure == ATTN_FIGURE_GRID;
    struct attn_number_list *queries = &question->request.selection.queries;

    if (first == 0 || first >= n || attn_number_list_is_given(queries) ||
        figure == ATTN_FIGURE_ANSWER || !draws_chosen_rows(question, figure))
        return false;
    snprintf(question->tensors.answer, sizeof question->tensors.answer, "%zu-%zu", first - 1,
             has_all ? n - 2 : first - 1);
    queries->text = question->tensors.answer;
    return true;
}

enum attn_status request_serve(struct question *question, struct attn_error *err)
{
    struct attn_run **run = &question->tensors.run;
    size_t first, n;
    bool is_changed;

    ATTN_TRY(interrupt_check(err));
    ask_for_next(question);
    ATTN_TRY(asked_open(question, err));
    ATTN_TRY(attn_run_prepare(question->host, &question->request, run, err));
    first = attn_chat_answer(&(*run)->chat, &(*run)->text);
    n = (*run)->text.n;
    is_changed = begin_at_answer(question, first, n);
    if (asked_place(question, first, n)) {
        asked_release(&question->asked);
        ATTN_TRY(asked_open(question, err));
        is_changed = true;
    }
    if (question->tensors.look.figure == ATTN_FIGURE_ANSWER) {
        ATTN_TRY(asked_draw(question, err));
        if (question->request.outputs.n == 0)
            return ATTN_OK;
        is_changed = true;
    }
    if (is_changed) {
        attn_run_free(*run);
        *run = NULL;
        question->request.on_note = NULL; /* the first run sent the notes */
        ATTN_TRY(attn_run_prepare(question->host, &question->request, run, err));
    }
    choose_first_screen(question);
    stopwatch_note(&question->tensors.watch, &question->args->running, "opened");
    ATTN_TRY(interrupt_check(err));
    return question->args->is_explained ? explain(question, err) : perform(question, NULL, err);
}
