/* outputs.c - passes one trace to several writers; see outputs.h. */
#include "tensors/outputs_internal.h"

#include "base/text/given.h"
#include "tensors/view.h"
#include "tensors/writer.h"

#include "base/memory.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/path.h"
#include "tensors/format_internal.h"

#include <stdio.h>
#include <string.h>

struct open_output {
    struct attn_writer *writer;       /* owns; NULL after its pipe was closed */
    struct attn_sink *sink;           /* borrowed; NULL if the output has a path */
    struct attn_directory *directory; /* borrowed; NULL if the output is one file */
};

struct attn_outputs {
    struct open_output *items; /* [n] owns */
    size_t n;
    struct attn_directory **directories; /* [n_directory] owns; all different */
    size_t n_directory;
    const struct attn_labels *labels; /* borrowed; those of the view, if there is one */
    struct attn_view *view;           /* owns; NULL: events are passed to the writers unchanged */
    bool is_abandoned;
};

enum attn_status attn_output_create_file(const struct attn_output *item, struct attn_sink **sink,
                                         struct attn_error *err)
{
    return attn_sink_create_file(item->path, sink, err);
}

enum attn_status attn_output_write(const struct attn_output *item, attn_output_fn write, void *user,
                                   struct attn_error *err)
{
    struct attn_sink *file;
    enum attn_status status;

    if (!item->path) {
        ATTN_TRY(write(user, item->sink, err));
        return attn_sink_check(item->sink, err);
    }
    ATTN_TRY(attn_output_create_file(item, &file, err));
    status = write(user, file, err);
    ATTN_THEN(status, attn_sink_commit(file, err));
    attn_sink_free(file);
    return status;
}

/* --- Checks of combinations ---------------------------------------------------------------- */

static enum attn_status check_sinks(const struct attn_output *items, size_t n,
                                    struct attn_error *err)
{
    const struct attn_format *first = NULL;

    for (size_t i = 0; i < n; i++) {
        if (items[i].path)
            continue;
        if (first)
            return attn_error_set(err, ATTN_INVALID,
                                  "'`%s`%s' and '`%s`%s' cannot both be standard output",
                                  first->name, first->argument ? " -" : "", items[i].format->name,
                                  items[i].format->argument ? " -" : "");
        first = items[i].format;
    }
    if (!first || !first->needs_directory)
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID, "'`%s`' is '-', expected a directory", first->name);
    for (size_t i = 0; i < attn_n_format(); i++) {
        const struct attn_format *suggested = attn_format_at(i);

        if (!suggested->is_suggested || suggested->is_directory)
            continue;
        attn_error_hint(err, "`%s` - writes all arrays to standard output", suggested->name);
        break;
    }
    return ATTN_INVALID;
}

/* Finds the target of ITEM, which has a path. If that fails, the target is empty; opening the
 * output will report the error. */
static enum attn_status find_target(const struct attn_output *item, struct attn_target *target,
                                    struct attn_error *err)
{
    struct attn_error found = {0};
    const enum attn_status status = attn_target_find(item->path, target, &found);

    if (status != ATTN_OK)
        *target = (struct attn_target){0};
    return status == ATTN_NO_MEMORY ? attn_error_copy(err, &found) : ATTN_OK;
}

static bool is_directory(const struct attn_output *item)
{
    return item->path && attn_format_is_directory(item->format, item->path);
}

static enum attn_status compare_targets(const struct attn_output *a, const struct attn_output *b,
                                        struct attn_target *of_a, struct attn_target *of_b,
                                        struct attn_error *err)
{
    ATTN_TRY(find_target(a, of_a, err));
    ATTN_TRY(find_target(b, of_b, err));
    if (of_a->path && of_b->path && attn_target_is_same(of_a, of_b))
        return attn_error_set(err, ATTN_INVALID, "'`%s` %s' and '`%s` %s' are the same file",
                              a->format->name, attn_quote_string(a->path).text, b->format->name,
                              attn_quote_string(b->path).text);
    return ATTN_OK;
}

/* Returns an error if A and B have the same path. Only formats of directories may share one. */
static enum attn_status check_two(const struct attn_output *a, const struct attn_output *b,
                                  struct attn_error *err)
{
    struct attn_target of_a = {0}, of_b = {0};
    enum attn_status status;

    if (!a->path || !b->path || (is_directory(a) && is_directory(b)))
        return ATTN_OK;
    status = compare_targets(a, b, &of_a, &of_b, err);
    attn_target_release(&of_a);
    attn_target_release(&of_b);
    return status;
}

bool attn_output_is_given(const struct attn_output *output, struct attn_error *err)
{
    return attn_is_given(output->format, "format", err) &&
           attn_is_given(output->path || output->sink, "sink", err);
}

static enum attn_status check_all(const struct attn_output *items, size_t n, struct attn_error *err)
{
    char option[32];

    ATTN_TRY(check_sinks(items, n, err));
    for (size_t i = 0; i < n; i++)
        if (items[i].path && !is_directory(&items[i]))
            ATTN_TRY(attn_format_check_name(items[i].format, items[i].format->name, items[i].path,
                                            false, err));
    for (size_t i = 0; i < n; i++) { /* the run must have what the format needs */
        const struct attn_writer_ops *ops = items[i].format->tensors;

        snprintf(option, sizeof option, "`%s`", items[i].format->name);
        if (ops && ops->check)
            ATTN_TRY(ops->check(items[i].path ? items[i].path : option, err));
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            ATTN_TRY(check_two(&items[j], &items[i], err));
    return ATTN_OK;
}

enum attn_status attn_outputs_check(const struct attn_output *items, size_t n,
                                    struct attn_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!attn_is_given(items[i].format, "format", err))
            return ATTN_INVALID;
    return attn_error_at(check_all(items, n, err), ATTN_STAGE_OPTIONS, err);
}

/* --- Closed pipes -------------------------------------------------------------------------- */

static bool is_any_left(const struct attn_outputs *outputs)
{
    for (size_t i = 0; i < outputs->n; i++)
        if (outputs->items[i].writer)
            return true;
    return false;
}

/* Returns the failure FOUND of OUTPUT; if its pipe was closed, drops the output instead. */
static enum attn_status judge(struct attn_outputs *outputs, struct open_output *output,
                              const struct attn_error *found, struct attn_error *err)
{
    if (output->sink && attn_sink_is_closed_pipe(output->sink)) {
        attn_writer_free(output->writer);
        output->writer = NULL;
        outputs->is_abandoned = !is_any_left(outputs);
        return ATTN_OK;
    }
    attn_error_set(err, found->status, "%s", found->message);
    attn_error_hint(err, "%s", found->hint);
    if (found->status == ATTN_CANCELED)
        return ATTN_CANCELED;
    return attn_error_at(found->status, found->stage ? found->stage : ATTN_STAGE_OUTPUT, err);
}

/* --- Directories --------------------------------------------------------------------------- */

/* Opens the directory of ITEM, or finds it if another output has opened it; NULL if it has no
 * directory, and on failure. */
static enum attn_status open_directory(struct attn_outputs *outputs, const struct attn_output *item,
                                       struct attn_directory **directory, struct attn_error *err)
{
    struct attn_directory *opened;

    if (!is_directory(item))
        return ATTN_OK;
    ATTN_TRY(attn_format_check_name(item->format, item->format->name, item->path, true, err));
    ATTN_TRY(attn_directory_open(item->path, item->format->title, &opened, err));
    for (size_t i = 0; i < outputs->n_directory; i++)
        if (attn_directory_compare(outputs->directories[i], opened) == 0) {
            attn_directory_free(opened);
            *directory = outputs->directories[i];
            break;
        }
    if (!*directory) {
        outputs->directories[outputs->n_directory++] = opened;
        *directory = opened;
    }
    return ATTN_OK;
}

/* Opens the directories of all outputs, and reserves the names of other outputs in them. */
static enum attn_status open_directories(struct attn_outputs *outputs,
                                         const struct attn_output *items, struct attn_error *err)
{
    for (size_t i = 0; i < outputs->n; i++)
        ATTN_TRY(open_directory(outputs, &items[i], &outputs->items[i].directory, err));
    for (size_t i = 0; i < outputs->n_directory; i++)
        ATTN_TRY(attn_directory_read(outputs->directories[i], err));
    for (size_t i = 0; i < outputs->n; i++)
        for (size_t d = 0; d < outputs->n_directory; d++)
            if (items[i].path && !is_directory(&items[i]))
                ATTN_TRY(attn_directory_keep_off(outputs->directories[d], items[i].path, err));
    return ATTN_OK;
}

/* --- Opening ------------------------------------------------------------------------------- */

static enum attn_status open_output(struct attn_outputs *outputs, struct open_output *output,
                                    const struct attn_output *item,
                                    const struct attn_writer_options *options,
                                    struct attn_error *err)
{
    struct attn_writer_options own = *options;
    const struct attn_writer_target target = {.path = output->directory ? NULL : item->path,
                                              .sink = item->path ? NULL : item->sink,
                                              .directory = output->directory};
    struct attn_error found = {0};
    enum attn_status status;

    output->sink = target.sink;
    status =
        attn_writer_open(item->format, &target, outputs->labels, &own, &output->writer, &found);
    if (status == ATTN_INVALID)
        attn_error_at(status, ATTN_STAGE_OPTIONS, &found);
    return status == ATTN_OK ? ATTN_OK : judge(outputs, output, &found, err);
}

static bool is_written(const struct attn_format *format)
{
    return format->argument && format->tensors && !format->holds_arrays;
}

static enum attn_status check_view(const struct attn_output *items, size_t n,
                                   struct attn_view_options view, struct attn_error *err)
{
    char formats[ATTN_ERROR_HINT_SIZE];
    size_t i = 0;

    if (!attn_view_is_wanted(view))
        return ATTN_OK;
    while (i < n && !items[i].format->holds_arrays)
        i++;
    if (i == n)
        return ATTN_OK;
    attn_format_list(is_written, "or", formats, sizeof formats);
    attn_error_set(err, ATTN_INVALID,
                   "'`%s`' writes whole tensors under their names, and `%s` would change them",
                   items[i].format->name, attn_view_name(view));
    attn_error_hint(err, "%s", formats);
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
}

/* --- Writing ------------------------------------------------------------------------------- */

/* What is passed to each writer: an event, or predictions. */
struct delivery {
    const struct attn_trace_event *event;
    const struct attn_predictions *predictions;
};

static enum attn_status take(struct attn_writer *writer, struct delivery delivery,
                             struct attn_error *err)
{
    if (delivery.predictions)
        return attn_writer_predictions(writer, delivery.predictions, err);
    return attn_writer_event(writer, delivery.event, err);
}

/* Passes DELIVERY to each remaining writer, until one fails. */
static enum attn_status each_writer(struct attn_outputs *outputs, struct delivery delivery,
                                    struct attn_error *err)
{
    for (size_t i = 0; i < outputs->n; i++) {
        struct open_output *output = &outputs->items[i];
        struct attn_error found = {0};

        if (output->writer && take(output->writer, delivery, &found) != ATTN_OK)
            ATTN_TRY(judge(outputs, output, &found, err));
    }
    return ATTN_OK;
}

/* Passes an event to all writers (attn_trace_fn). */
static enum attn_status write_event(void *user, const struct attn_trace_event *event,
                                    struct attn_error *err)
{
    struct attn_outputs *outputs = user;

    ATTN_TRY(each_writer(outputs, (struct delivery){.event = event}, err));
    if (!outputs->is_abandoned)
        return ATTN_OK;
    attn_error_set(err, ATTN_IO, "the readers of all outputs are gone");
    return attn_error_at(ATTN_IO, ATTN_STAGE_OUTPUT, err);
}

enum attn_status attn_outputs_event(void *user, const struct attn_trace_event *event,
                                    struct attn_error *err)
{
    struct attn_outputs *outputs = user;

    return outputs->view ? attn_view_event(outputs->view, event, err)
                         : write_event(outputs, event, err);
}

enum attn_status attn_outputs_predictions(struct attn_outputs *outputs,
                                          const struct attn_predictions *predictions,
                                          struct attn_error *err)
{
    struct attn_predictions seen = *predictions;
    enum attn_status status = ATTN_NO_MEMORY;

    if (!outputs->view)
        return each_writer(outputs, (struct delivery){.predictions = predictions}, err);
    seen.top = attn_alloc(seen.n_top, sizeof *seen.top, err);
    seen.next = attn_alloc(seen.n_next, sizeof *seen.next, err);
    seen.metric = attn_alloc(seen.n_metric, sizeof *seen.metric, err);
    for (size_t i = 0; seen.top && i < seen.n_top; i++) {
        seen.top[i] = predictions->top[i];
        seen.top[i].position = attn_view_position(outputs->view, seen.top[i].position);
    }
    for (size_t i = 0; seen.next && i < seen.n_next; i++) {
        seen.next[i] = predictions->next[i];
        seen.next[i].position = attn_view_position(outputs->view, seen.next[i].position);
    }
    for (size_t i = 0; seen.metric && i < seen.n_metric; i++) {
        seen.metric[i] = predictions->metric[i];
        seen.metric[i].position = attn_view_position(outputs->view, seen.metric[i].position);
    }
    if (seen.top && seen.next && seen.metric)
        status = each_writer(outputs, (struct delivery){.predictions = &seen}, err);
    attn_free(seen.top);
    attn_free(seen.next);
    attn_free(seen.metric);
    return status;
}

enum attn_status attn_outputs_finish(struct attn_outputs *outputs, struct attn_error *err)
{
    enum attn_status first = ATTN_OK;

    for (size_t i = 0; i < outputs->n; i++) {
        struct open_output *output = &outputs->items[i];
        struct attn_error found = {0};
        enum attn_status status = ATTN_OK;

        if (output->writer && attn_writer_finish(output->writer, &found) != ATTN_OK)
            status = judge(outputs, output, &found, err);
        if (first == ATTN_OK)
            first = status;
    }
    return first;
}

bool attn_outputs_is_abandoned(const struct attn_outputs *outputs)
{
    return outputs->is_abandoned;
}

/* --- Opening, writing, finishing ----------------------------------------------------------- */

static enum attn_status open_all(struct attn_outputs *outputs, const struct attn_output *items,
                                 size_t n, const struct attn_writer_options *options,
                                 struct attn_error *err)
{
    const struct attn_view_options view = attn_view_of(options->picture);
    enum attn_status status;

    if (attn_view_is_wanted(view)) { /* the view is between the trace and the writers */
        ATTN_TRY(
            attn_view_create(outputs->labels, view, write_event, outputs, &outputs->view, err));
        outputs->labels = attn_view_labels(outputs->view);
    }
    ATTN_TRY(ATTN_ALLOC(outputs->items, n, err));
    ATTN_TRY(ATTN_ALLOC(outputs->directories, n, err));
    outputs->n = n;
    status = open_directories(outputs, items, err);
    if (status != ATTN_OK)
        return status == ATTN_CANCELED || status == ATTN_INVALID
                   ? status
                   : attn_error_at(status, ATTN_STAGE_OUTPUT, err);
    for (size_t i = 0; i < n; i++)
        ATTN_TRY(open_output(outputs, &outputs->items[i], &items[i], options, err));
    /* before, there were other outputs to open */
    outputs->is_abandoned = n > 0 && !is_any_left(outputs);
    return ATTN_OK;
}

enum attn_status attn_outputs_create(const struct attn_output *items, size_t n,
                                     const struct attn_labels *labels,
                                     const struct attn_writer_options *options,
                                     struct attn_outputs **outputs, struct attn_error *err)
{
    struct attn_outputs *made;

    ATTN_TRY(attn_outputs_check(items, n, err));
    for (size_t i = 0; i < n; i++)
        if (!attn_output_is_given(&items[i], err))
            return ATTN_INVALID;
    ATTN_TRY(check_view(items, n, attn_view_of(options->picture), err));
    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->labels = labels;
    ATTN_RETURN_MADE(open_all(made, items, n, options, err), outputs, made, attn_outputs_free);
}

void attn_outputs_free(struct attn_outputs *outputs)
{
    if (!outputs)
        return;
    for (size_t i = 0; i < outputs->n; i++)
        attn_writer_free(outputs->items[i].writer);
    for (size_t i = 0; i < outputs->n_directory; i++)
        attn_directory_free(outputs->directories[i]);
    attn_view_free(outputs->view);
    attn_free(outputs->directories);
    attn_free(outputs->items);
    attn_free(outputs);
}
