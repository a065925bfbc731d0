/* request.c - see request.h. */
#include "cmd/args/request.h"

#include "cmd/args/comparison.h"
#include "cmd/args/explain.h"
#include "cmd/args/hosting.h"
#include "cmd/line/help.h"
#include "cmd/line/interrupt.h"
#include "cmd/line/options.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"
#include "tool.h"

#include <stdlib.h>

int request_parse(struct served *served, int argc, char **argv, void *args)
{
    served->request = ATTN_REQUEST_DEFAULT;
    stopwatch_note(&served->watch, &served->args->running, NULL);
    served->given = calloc(options_count(served->command), sizeof *served->given);
    int code = served->given
                   ? options_parse_noting(served->command, argc, argv, args, served->given)
                   : report_no_memory();
    return code == OPTIONS_OK ? print_open(&served->out) : code;
}

bool request_print_help(struct served *served, void (*sites)(struct attn_sink *out))
{
    const struct request_args *args = served->args;
    if (help_is_asked(args->selection.sites))
        sites(served->out);
    else if (help_is_asked(args->attention.kind))
        attention_kinds_print(served->out);
    else if (help_is_asked(args->picture.colormap))
        colormaps_print(&args->picture, served->out);
    else
        return false;
    return true;
}

int request_check(struct served *served)
{
    struct request_args *args = served->args;
    int code = outputs_check(&args->output, &served->is_standard_used);
    if (code == EXIT_DONE)
        code = picture_find(&args->picture, &served->picture);
    if (code == EXIT_DONE && args->selection.sites) /* a list that is wrong is refused later */
        attn_sites_parse(args->selection.sites, &served->picture.sites, NULL);
    if (code == EXIT_DONE)
        code =
            explain_check(args->is_explained, served->is_standard_used, &args->selection.queries);
    if (code == EXIT_DONE && args->is_compared)
        code = comparison_check(served->command, served->given, args->is_explained);
    return code == EXIT_DONE ? attention_check(&args->attention) : code;
}

static void on_note(void *user, const char *message)
{
    (void)user;
    note("%s", message);
}

int request_open_host(struct served *served, const struct attn_source *source, enum attn_load load,
                      int compute)
{
    const struct hosting hosting = {
        .source = source, .load = load, .compute = compute, .running = &served->args->running};
    int code = hosting_open(&hosting, &served->host);
    if (code == EXIT_DONE && source)
        code = outputs_check_model(&served->args->output, served->host);
    return code;
}

/* Whether tensors are written, as files or as text. */
static bool shows_tensors(const struct served *served)
{
    const struct attn_request_predict *question = &served->request.predict;
    return outputs_have_tensors(&served->args->output) || served->args->picture.is_heatmap ||
           !(served->args->is_explained || question->top > 0 || question->n_next > 0);
}

int request_fill(struct served *served, const char *keep_path)
{
    const struct request_args *args = served->args;
    struct attn_request *request = &served->request;
    const char *text = args->picture.is_heatmap ? "heatmap" : NULL;
    int code = attention_change(&args->attention, &served->changed, &served->mask);
    if (code == EXIT_DONE && keep_path)
        code = attention_read_mask(keep_path, &served->keep);
    if (code == EXIT_DONE)
        code = outputs_list_options(served->command, served->given, &served->options,
                                    &request->outputs.n_option);
    if (code == EXIT_DONE && args->is_compared)
        code = outputs_list_differences(&args->output, text, served->out, &served->outputs,
                                        &request->outputs.n);
    else if (code == EXIT_DONE && shows_tensors(served))
        code =
            outputs_list(&args->output, text, served->out, &served->outputs, &request->outputs.n);
    if (code == EXIT_DONE && args->is_explained)
        served->n_figure = explain_take_figures(served->outputs, &request->outputs.n);
    served->changed.keep = keep_path ? &served->keep : NULL;
    request->attention.change = &served->changed;
    request->selection.sites = args->selection.sites;
    request->selection.layers = args->selection.layers;
    request->selection.heads = args->selection.heads;
    request->selection.queries = args->selection.queries;
    request->outputs.options = served->options;
    request->outputs.items = served->outputs;
    request->outputs.precision = (int)args->output.precision;
    request->outputs.picture = &served->picture;
    request->on_note = args->running.is_quiet ? NULL : on_note;
    return code;
}

static int compare(struct served *served)
{
    const struct attn_labels *labels = attn_run_labels(served->run);
    struct comparison comparison = {.labels = labels,
                                    .n = attn_selection_dims(labels->selection)->n_position,
                                    .attention = attn_run_attention(served->run)};
    const bool is_drawn = served->args->picture.is_heatmap && /* in place of the text */
                          !outputs_are_wanted(&served->args->output);
    attn_host_tokenizer(served->host, &comparison.tokenizer, NULL);
    int code = comparison_find(&comparison, served->run);
    stopwatch_note(&served->watch, &served->args->running, "compared");
    if (code == EXIT_DONE && comparison.found && !is_drawn)
        code = comparison_write(&comparison, &served->args->output, served->out);
    comparison_release(&comparison);
    return code;
}

static bool uses_amx(const struct served *served)
{
    return attn_model_compute(attn_host_model(served->host)) != ATTN_COMPUTE_F32 &&
           attn_gemm_has_tiles(running_gemm(), running_isa());
}

static void note_work(const struct served *served)
{
    const struct attn_result *result = &served->result;
    const struct attn_attend_args *arrays = attn_run_arrays(served->run);
    const char *isa = attn_isa_name(attn_isa_detect());
    if (!served->args->running.is_verbose)
        return;
    if (arrays)
        note("%zu heads, %zu queries, %zu keys, %d thread%s, at most %s", arrays->n_head,
             arrays->n_query, arrays->n_key, result->n_thread, result->n_thread == 1 ? "" : "s",
             isa);
    else
        note("%zu token%s, %d thread%s, at most %s%s", result->n_token,
             result->n_token == 1 ? "" : "s", result->n_thread, result->n_thread == 1 ? "" : "s",
             isa, uses_amx(served) ? ", products in bfloat16 by amx" : "");
}

static int start_explanation(const struct served *served, struct attn_explainer **explainer)
{
    const struct attn_model *model = attn_host_model(served->host);
    struct attn_explain_args args = ATTN_EXPLAIN_ARGS_DEFAULT;
    struct attn_error err = {0};
    args.selection = attn_run_labels(served->run)->selection;
    args.attention = attn_run_attention(served->run);
    args.arrays = attn_run_arrays(served->run);
    args.edits = attn_run_edits(served->run, &args.n_edit);
    if (model) {
        args.config = attn_model_config(model);
        args.compute = attn_model_compute(model);
    }
    return attn_explainer_create(&args, explainer, &err) == ATTN_OK ? EXIT_DONE
                                                                    : report_error(&err);
}

static int print_explanation(const struct served *served, struct attn_explainer *explainer)
{
    const struct attn_model *model = attn_host_model(served->host);
    const struct explained_run run = {.config = model ? attn_model_config(model) : NULL,
                                      .arrays = attn_run_arrays(served->run),
                                      .labels = attn_run_labels(served->run)};
    const struct attn_explanation *row;
    struct attn_error err = {0};
    if (attn_explainer_finish(explainer, &row, &err) != ATTN_OK)
        return report_error(&err);
    for (size_t i = 0; i < served->n_figure; i++)
        if (attn_explain_figure_write(row, run.labels, &served->picture,
                                      &served->outputs[served->request.outputs.n + i],
                                      &err) != ATTN_OK)
            return report_error(&err);
    return explain_print(row, &run, served->out);
}

static int perform(struct served *served)
{
    struct attn_explainer *explainer = NULL;
    struct attn_error err = {0};
    int code = served->args->is_explained ? start_explanation(served, &explainer) : EXIT_DONE;
    interrupt_catch();
    if (code == EXIT_DONE &&
        attn_run_perform(served->run, explainer ? attn_explainer_trace(explainer) : NULL,
                         &served->result, &err) != ATTN_OK)
        code = report_error(&err);
    if (code == EXIT_DONE) {
        note_work(served);
        stopwatch_note(&served->watch, &served->args->running, "ran");
    }
    if (code == EXIT_DONE && explainer)
        code = print_explanation(served, explainer);
    attn_explainer_free(explainer);
    return code;
}

enum { MOST_WHOLE_HEADS = 2 }; /* of a model that is shown whole, in numbers */

/* Whether nothing was asked for, and the model has more heads than can be shown whole. */
static bool shows_first_screen(const struct served *served)
{
    const struct selection_args *asked = &served->args->selection;
    const struct attn_selection *selection = attn_run_labels(served->run)->selection;
    const struct attn_dims *dims = attn_selection_dims(selection);
    return served->has_first_screen && served->request.outputs.n == 1 &&
           served->outputs[0].format == attn_format_find("text") &&
           !served->args->picture.is_full && !asked->sites && !asked->layers && !asked->heads &&
           !asked->queries && attn_selection_has_site(selection, ATTN_SITE_PATTERN) &&
           dims->n_layer * dims->n_head > MOST_WHOLE_HEADS;
}

static void choose_first_screen(struct served *served)
{
    size_t n_split;
    if (!shows_first_screen(served))
        return;
    served->outputs[0].format = attn_format_find("screen");
    n_split = attn_token_labels_n_split(attn_run_labels(served->run));
    if (n_split > 0 && !served->args->running.is_quiet)
        note("the vocabulary has no tokens for %zu character%s of the text, and spells %s in "
             "bytes: each piece is shown as its character with a number, as in \xe2\x82\xac/1",
             n_split, n_split == 1 ? "" : "s", n_split == 1 ? "it" : "them");
}

int request_serve(struct served *served)
{
    struct attn_error err = {0};
    if (interrupt_is_pending())
        return EXIT_INTERNAL;
    if (attn_run_prepare(served->host, &served->request, &served->run, &err) != ATTN_OK)
        return report_error(&err);
    choose_first_screen(served);
    stopwatch_note(&served->watch, &served->args->running, "opened");
    if (interrupt_is_pending())
        return EXIT_INTERNAL;
    return served->args->is_compared ? compare(served) : perform(served);
}

void request_release(struct served *served)
{
    attn_result_release(&served->result);
    attn_run_free(served->run);
    hosting_close(served->host);
    attn_mask_array_release(&served->mask);
    attn_mask_array_release(&served->keep);
    free(served->outputs);
    free(served->options);
}

int request_close(struct served *served, int code)
{
    output_args_release(&served->args->output);
    free(served->given);
    return print_close(served->out, code);
}
