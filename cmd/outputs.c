/*
 * outputs.c - hands one trace to several writers.
 *
 * When the reader of standard output goes away, its writer is dropped and the others go on; when
 * there are no others the run is over, and that is no failure.
 */
#include "outputs.h"

#include "command.h"
#include "interrupt.h"
#include "report.h"

#include <string.h>

static bool is_standard(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

int outputs_check(const struct output_args *args, bool *is_standard_used)
{
    if (is_standard(args->csv) && is_standard(args->npz))
        return report_problem(EXIT_USAGE, NULL,
                              "'--csv -' and '--npz -' cannot both be standard output");
    *is_standard_used = is_standard(args->csv) || is_standard(args->npz);
    return EXIT_DONE;
}

static int add(struct outputs *outputs, enum attn_output_format format, const char *path,
               const struct attn_run *run, const struct attn_writer_options *options)
{
    struct output *output = &outputs->items[outputs->n];
    struct attn_error err = {0};
    enum attn_status status;
    output->is_standard = is_standard(path);
    if (output->is_standard)
        status =
            attn_writer_create_sink(format, outputs->standard, run, options, &output->writer, &err);
    else
        status = attn_writer_create(format, path, run, options, &output->writer, &err);
    if (status != ATTN_OK)
        return report(&err, status == ATTN_INVALID ? EXIT_USAGE : EXIT_OUTPUT);
    outputs->n++;
    return EXIT_DONE;
}

int outputs_open(struct outputs *outputs, const struct output_args *args, bool has_text,
                 const struct attn_run *run)
{
    struct attn_writer_options options = ATTN_WRITER_OPTIONS_DEFAULT;
    options.precision = (int)args->precision;
    int code = EXIT_DONE;
    if (has_text)
        code = add(outputs, ATTN_OUTPUT_TEXT, "-", run, &options);
    if (code == EXIT_DONE && args->csv)
        code = add(outputs, ATTN_OUTPUT_CSV, args->csv, run, &options);
    if (code == EXIT_DONE && args->npz)
        code = add(outputs, ATTN_OUTPUT_NPZ, args->npz, run, &options);
    return code;
}

static bool is_any_left(const struct outputs *outputs)
{
    for (size_t i = 0; i < outputs->n; i++)
        if (outputs->items[i].writer)
            return true;
    return false;
}

/* Drops OUTPUT when its failure is a closed pipe; returns whether it is. */
static bool drop_closed(struct outputs *outputs, struct output *output)
{
    if (!output->is_standard || !attn_sink_is_closed_pipe(outputs->standard))
        return false;
    attn_writer_free(output->writer);
    output->writer = NULL;
    outputs->is_abandoned = !is_any_left(outputs);
    return true;
}

enum attn_status outputs_event(void *user, const struct attn_trace_event *event,
                               struct attn_error *err)
{
    struct outputs *outputs = user;
    if (*interrupt_flag()) /* writing what a layer has already told can take seconds */
        return attn_error_set(err, ATTN_CANCELED, "%s", attn_status_text(ATTN_CANCELED));
    for (size_t i = 0; i < outputs->n; i++) {
        struct output *output = &outputs->items[i];
        struct attn_error failure = {0};
        if (!output->writer || attn_writer_event(output->writer, event, &failure) == ATTN_OK)
            continue;
        if (drop_closed(outputs, output) && !outputs->is_abandoned)
            continue;
        outputs->has_failed = true;
        attn_error_set(err, failure.status, "%s", failure.message);
        attn_error_hint(err, "%s", failure.hint);
        return failure.status;
    }
    return ATTN_OK;
}

int outputs_finish(struct outputs *outputs)
{
    int code = EXIT_DONE;
    for (size_t i = 0; i < outputs->n; i++) {
        struct output *output = &outputs->items[i];
        struct attn_error err = {0};
        if (output->writer && attn_writer_finish(output->writer, &err) != ATTN_OK &&
            !drop_closed(outputs, output) && code == EXIT_DONE)
            code = report(&err, EXIT_OUTPUT);
    }
    outputs_close(outputs);
    return code;
}

void outputs_close(struct outputs *outputs)
{
    for (size_t i = 0; i < outputs->n; i++)
        attn_writer_free(outputs->items[i].writer);
    outputs->n = 0;
}
