/* stream.c - see stream.h. Items are computed by stream/many.h; each_file.h has the file of their
 * rows, and item_notes.h the notes. */
#include "frame/stream.h"

#include "base/memory.h"
#include "base/os/clock.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "base/text/path.h"
#include "frame/frame.h"
#include "frame/item_notes.h"
#include "frame/question_internal.h"
#include "input/spaces.h"
#include "means/fold.h"
#include "means/rows.h"
#include "predict/class_label.h"
#include "run/host_internal.h"
#include "run/run_internal.h"
#include "stream/each_file.h"
#include "stream/items_internal.h"
#include "tables/table_order.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

ATTN_DEFAULTS(attn_study_sum, .size = sizeof(struct attn_study_sum))
ATTN_DEFAULTS(attn_study_args, .size = sizeof(struct attn_study_args), .max_errors = -1)
ATTN_DEFAULTS(attn_each_options, .size = sizeof(struct attn_each_options))

enum { MOST_MET = 1000, MOST_RESAMPLES = 10000000 };

/* What the answers of all items come to, beside their table. */
struct sums {
    struct attn_study_sum sum;
    struct attn_moments base; /* moments of the metric of the unchanged model */
    size_t n_right, n_judged;
    bool has_metrics; /* items have different ones */
};

struct attn_stream {
    const struct attn_procedure *procedure; /* borrowed, like the next three */
    const struct attn_procedure_call *call;
    const struct attn_study_args *args;
    const struct attn_item_calls *calls; /* those of the question; NULL before attn_stream_run */
    struct attn_host *host;              /* that runs; NULL before attn_stream_run */
    const struct attn_item *first;       /* borrowed; see attn_stream_first */
    bool has_met;                        /* `first` was looked for */
    bool is_labeled;                     /* the labels of the first item were looked at */
    bool hidden[ATTN_MOST_COLUMNS];      /* columns that the tables of items lack */
    struct attn_item_defaults defaults;
    struct attn_item_notes *notes; /* owns */
    struct attn_fold *fold;        /* owns */
    struct sums sums;

    /* Its file: */
    struct attn_each_options each;
    struct attn_records_form records;
    struct attn_each_file file;
    struct attn_each_result result;
    double begun; /* when computing began, a clock time in seconds; 0: not yet */
    bool has_ended;
    bool has_dropped;    /* metrics of items were left out, as the earlier ones are not known */
    bool has_sums;       /* the sums of the earlier run were read, up to its last item */
    const char *chosen;  /* `chosen` of its items; or NULL */
    double share_before; /* share of the input that earlier runs read */
    uint64_t n_all;      /* number of items of the input; 0: not known */
};

/* Whether the items have answers to a question, rather than the results of their runs. */
static bool has_answers(const struct attn_stream *stream)
{
    return stream->calls->ask || stream->calls->find;
}

/* Whether a resumed run reads the rows of the earlier one, for the table of all items. */
static bool needs_rows(const struct attn_stream *stream)
{
    return !stream->procedure->items.is_listed || stream->procedure->items.gather;
}

/* --- Values of an item ------------------------------------------------------------------------ */

enum attn_status attn_item_answer(const struct attn_item *item, struct attn_answer_args *args,
                                  struct attn_error *err)
{
    char names[ATTN_QUOTE_SIZE];

    if (item->answer.target || item->answer.target_id) {
        args->target = item->answer.target;
        args->target_id = item->answer.target_id;
    }
    if (item->answer.foil || item->answer.foil_id) {
        args->foil = item->answer.foil;
        args->foil_id = item->answer.foil_id;
    }
    args->at = attn_number_list_or(item->answer.at, args->at);
    if (!attn_metric_has_right(args->metric) || args->target || args->target_id)
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID, "no 'target' (labels: %s)",
                          attn_item_list_labels(item, names, sizeof names));
}

const char *attn_item_chosen(enum attn_answer_metric given, const char *metric, bool has_foil)
{
    return given == ATTN_ANSWER_AUTO       ? metric
           : !attn_metric_has_right(given) ? NULL
           : has_foil                      ? ATTN_CHOSEN_OF_FOIL
                                           : ATTN_CHOSEN_OF_ALL;
}

/* --- Opening ---------------------------------------------------------------------------------- */

static enum attn_status check(const struct attn_study_args *args, struct attn_error *err)
{
    if (!attn_is_given(args->items, "items", err))
        return ATTN_INVALID;
    if (args->sum)
        ATTN_TRY(attn_results_check(args->sum, "sum", err));
    if (!(args->interval >= 0 && args->interval < 100))
        return attn_error_set(err, ATTN_INVALID,
                              "`interval` is %g percent, expected a number between 0 and 100",
                              args->interval);
    if (args->n_bootstrap > MOST_RESAMPLES)
        return attn_error_set(err, ATTN_INVALID,
                              "`bootstrap` has %zu resamples, expected at most %d",
                              args->n_bootstrap, MOST_RESAMPLES);
    return ATTN_OK;
}

/* Returns the form of lines for the options. */
static enum attn_record_rows_form row_form_of(const struct attn_each_options *options)
{
    const char *path = options->path;

    if (options->form == ATTN_EACH_TEXTS)
        return ATTN_RECORD_ROWS_TEXTS;
    if (options->form == ATTN_EACH_DOCUMENT)
        return ATTN_RECORD_ROWS_DOCUMENT;
    return options->form == ATTN_EACH_JSON_LINES || options->form == ATTN_EACH_MATRICES ||
                   options->form == ATTN_EACH_RECORDS ||
                   (options->form == ATTN_EACH_BY_NAME && path &&
                    (attn_path_has_ending(path, ".jsonl") || attn_path_has_ending(path, ".json")))
               ? ATTN_RECORD_ROWS_JSON
               : ATTN_RECORD_ROWS_CSV;
}

/* Checks the options of the file, and names it. */
static enum attn_status name_file(struct attn_stream *stream, struct attn_error *err)
{
    const struct attn_procedure *procedure = stream->procedure;
    struct attn_each_options *each = &stream->each;
    const char *beyond;

    ATTN_TRY(
        attn_error_at(attn_options_read(stream->args->each, each, err), ATTN_STAGE_OPTIONS, err));
    if (!attn_is_given(each->path || each->sink, "path", err) ||
        !attn_is_choice(each->form, ATTN_EACH_DOCUMENT + 1, "form", err))
        return ATTN_INVALID;
    beyond = procedure->items.beyond_rows ? procedure->items.beyond_rows(stream->call->args) : NULL;
    if (beyond && each->is_resumed) {
        attn_refuse(err, ATTN_STAGE_OPTIONS,
                    "%s needs more of each item than its rows, so that a run cannot go on from "
                    "them: `is_resumed` is not for it",
                    beyond);
        return attn_error_hint(err, "shards divide a long run");
    }
    stream->file =
        (struct attn_each_file){.options = each,
                                .field = "each",
                                .has_rows_alone = !beyond && each->form != ATTN_EACH_MATRICES &&
                                                  each->form != ATTN_EACH_DOCUMENT,
                                .on_note = attn_item_notes_forward,
                                .user = stream->notes};
    return attn_each_file_name(&stream->file, stream->args->items, err);
}

/* Sets the values of the caller that serve as defaults for items. */
static void find_defaults(struct attn_stream *stream)
{
    const struct attn_procedure_call *call = stream->call;

    if (stream->procedure->question)
        attn_question_defaults(stream->procedure->question, call->args, call->request,
                               &stream->defaults);
    if (attn_input_is_given(&call->request->source))
        attn_item_defaults_add(&stream->defaults, "source", NULL);
    if (call->request->input.continuation)
        attn_item_defaults_add(&stream->defaults, "continuation", NULL);
}

static enum attn_status build(struct attn_stream *stream, struct attn_error *err)
{
    const struct attn_procedure *procedure = stream->procedure;
    const struct attn_fold_form fold = {.name = procedure->table.name,
                                        .columns = procedure->table.columns,
                                        .n_column = procedure->table.n_column,
                                        .derive = procedure->items.derive,
                                        .args = stream->call->args,
                                        .is_keyed = procedure->items.is_keyed,
                                        .hint = procedure->items.hint};

    ATTN_TRY(attn_error_at(check(stream->args, err), ATTN_STAGE_OPTIONS, err));
    find_defaults(stream);
    ATTN_TRY(attn_item_notes_create(stream->call->request, &stream->notes, err));
    ATTN_TRY(attn_fold_create(&fold, stream->args, &stream->fold, err));
    return stream->args->each ? name_file(stream, err) : ATTN_OK;
}

enum attn_status attn_stream_open(const struct attn_procedure *procedure,
                                  const struct attn_procedure_call *call,
                                  const struct attn_study_args *args, struct attn_stream **stream,
                                  struct attn_error *err)
{
    struct attn_stream *made;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->procedure = procedure;
    made->call = call;
    made->args = args;
    made->each = ATTN_EACH_OPTIONS_DEFAULT;
    made->records = ATTN_RECORDS_FORM_DEFAULT;
    made->records.columns = procedure->table.columns;
    made->records.n_column = procedure->table.n_column;
    made->records.hidden = made->hidden;
    made->records.is_ragged = procedure->items.is_ragged || procedure->items.is_keyed;
    made->records.needs_rows = needs_rows(made);
    ATTN_RETURN_MADE(build(made, err), stream, made, attn_stream_free);
}

void attn_stream_free(struct attn_stream *stream)
{
    if (!stream)
        return;
    if (!stream->has_ended)
        attn_stream_keep(stream, NULL);
    attn_each_file_release(&stream->file);
    attn_fold_free(stream->fold);
    attn_item_notes_free(stream->notes);
    attn_free(stream);
}

struct attn_records_form *attn_stream_records(struct attn_stream *stream)
{
    return &stream->records;
}

const struct attn_fold *attn_stream_fold(const struct attn_stream *stream)
{
    return stream->fold;
}

/* --- Items ------------------------------------------------------------------------------------ */

/* Sends the progress of the items again (attn_progress_fn; USER are the notes): an item takes
 * long. */
static void renew(void *user, size_t n_done, size_t n)
{
    (void)n_done;
    (void)n;
    attn_item_notes_renew(user);
}

void attn_stream_fill_request(struct attn_stream *stream, const struct attn_item *item,
                              struct attn_request *request)
{
    attn_item_notes_fill(stream->notes, request);
    request->on_progress = request->on_part = stream->call->request->on_progress ? renew : NULL;
    request->reading.example = NULL; /* errors name the item instead */
    if (item) {
        const struct attn_input given = request->input;

        request->input = item->input;
        attn_item_see(item, attn_host_model(stream->call->host), &given, &request->input);
        attn_item_fill_chat(item, request);
    }
    if (item && attn_input_is_given(&item->source))
        request->source = item->source;
    if (item && item->named.others)
        request->reading.places = &item->named;
}

/* Whether the caller gave a value for KEYS, which serves as default. */
static bool has_default(const struct attn_stream *stream, const char *keys)
{
    for (size_t i = 0; i < stream->defaults.n; i++)
        if (stream->defaults.items[i].keys && strcmp(stream->defaults.items[i].keys, keys) == 0)
            return true;
    return false;
}

/* If the model has a single label, or texts are compared with one, sets it as the target of ITEM,
 * unless a target is given. */
static void choose_label(const struct attn_stream *stream, struct attn_item *item)
{
    static const int32_t first;
    /* the host that runs has the labels of the request */
    const struct attn_host *host = stream->host ? stream->host : stream->call->host;
    const struct attn_model *model = attn_host_model(host);
    struct attn_answer_args *answer = &item->answer;
    const bool has_one = attn_predict_n_label(&stream->call->request->predict) == 1 ||
                         (model && attn_model_has_one_label(model));

    if (!has_one || answer->target || answer->target_id ||
        has_default(stream, attn_target_params.items[0].keys))
        return;
    answer->target_id = &first;
}

/* Returns a set of ATTN_ITEM_BIT: which texts items may have. */
static unsigned pairs_of(const struct attn_stream *stream)
{
    return stream->procedure->items.pairs ? stream->procedure->items.pairs(stream->call->args)
                                          : ATTN_ITEM_BIT(SINGLE);
}

enum attn_status attn_stream_first(struct attn_stream *stream, const struct attn_item **item,
                                   struct attn_error *err)
{
    struct attn_item *next = NULL;

    for (size_t i = 0; !stream->has_met; i++) {
        ATTN_TRY(attn_items_peek(stream->args->items, i, &next, err));
        attn_item_choose(next, pairs_of(stream));
        if (next)
            choose_label(stream, next);
        if (next && next->failure == ATTN_REASON_NONE)
            stream->first = next;
        stream->has_met = !next || stream->first || i + 1 == MOST_MET;
    }
    *item = stream->first;
    return ATTN_OK;
}

/* Returns an error for the first default that no item used. */
static enum attn_status check_defaults(const struct attn_item_defaults *defaults,
                                       struct attn_error *err)
{
    const struct attn_item_default *first;
    int n_name;

    if (defaults->untaken == 0)
        return ATTN_OK;
    first = &defaults->items[__builtin_ctzll(defaults->untaken)];
    if (first->keys) {
        n_name = (int)strcspn(first->keys, "|");
        attn_error_set(err, ATTN_INVALID, "`%.*s` has no effect: all items have their own",
                       first->place ? 64 : n_name, first->place ? first->place : first->keys);
        attn_error_hint(err, "leave it out, or take '%.*s' from the items", n_name, first->keys);
    } else {
        attn_error_set(err, ATTN_INVALID,
                       "`places` '%s' gives only the order of rows: all items have their own",
                       attn_quote_string(first->place).text);
    }
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
}

/* Returns an error for a default, except for places, that no item of the file would use. Reads the
 * file only until each default was used, which usually takes one item. */
static enum attn_status look_for_defaults(struct attn_stream *stream, struct attn_error *err)
{
    struct attn_item_defaults defaults = stream->defaults;
    uint64_t keys = attn_item_defaults_keys(&defaults), size;
    struct attn_items *items;
    struct attn_item *item = NULL;
    bool is_empty = true;

    defaults.untaken = keys;
    if (keys == 0 || !attn_items_are_of_file(stream->args->items, &size))
        return ATTN_OK;
    ATTN_TRY(attn_items_open_again(stream->args->items, &items, err));
    while (defaults.untaken != 0 && attn_items_next(items, &item, NULL) == ATTN_OK && item) {
        attn_item_choose(item, pairs_of(stream));
        is_empty = is_empty && item->failure != ATTN_REASON_NONE;
        attn_item_defaults_take(&defaults, item);
        attn_item_free(item);
    }
    attn_items_free(items);
    stream->defaults.untaken &= ~keys; /* items of other shards use them */
    return is_empty ? ATTN_OK : check_defaults(&defaults, err);
}

/* Returns an error if the header lacks a label of `group_by` or `paired`. */
static enum attn_status check_labels(const struct attn_stream *stream, struct attn_error *err)
{
    const struct attn_items *items = stream->args->items;
    struct attn_item any = {.n_label = 0}; /* has all labels of the header */
    const struct attn_item_result result = {.item = &any};
    struct attn_item_label *labels;
    enum attn_status status;
    const char *const *names;

    if (!attn_items_have_header(items))
        return ATTN_OK;
    names = attn_items_labels(items, &any.n_label);
    ATTN_TRY(ATTN_NEW(labels, attn_alloc(any.n_label, sizeof *labels, err)));
    any.labels = labels;
    for (size_t i = 0; i < any.n_label; i++)
        labels[i].name = names[i];
    status = attn_fold_check(stream->fold, &result, err);
    attn_free(labels);
    return attn_error_at(status, ATTN_STAGE_OPTIONS, err);
}

enum attn_status attn_stream_show(struct attn_stream *stream, const bool *hidden,
                                  struct attn_error *err)
{
    static const bool nothing[ATTN_MOST_COLUMNS];
    const struct attn_study_args *args = stream->args;
    /* columns that the table of all items lacks */
    const bool *lacking = stream->procedure->items.gather ? nothing : hidden;

    memcpy(stream->hidden, hidden, stream->procedure->table.n_column * sizeof *hidden);
    ATTN_TRY(check_labels(stream, err));
    ATTN_TRY(look_for_defaults(stream, err));
    ATTN_TRY(attn_fold_check_test(stream->fold, lacking, err));
    return args->sort || args->columns || args->n_where > 0
               ? attn_fold_check_sort(stream->fold, lacking, args->sort, err)
               : ATTN_OK;
}

/* Chooses the texts of ITEM, and gives it the places of the request and the only label. */
static void complete_item(const struct attn_stream *stream, struct attn_item *item)
{
    attn_item_choose(item, pairs_of(stream));
    attn_item_name_places(item, stream->call->request->reading.places);
    choose_label(stream, item);
}

/* Marks the defaults that ITEM uses, and notes an id that is there a second time, if ids matter:
 * among items of the same side of pairs, or if labels are listed. */
static void meet_item(struct attn_stream *stream, const struct attn_item *item)
{
    const bool is_paired = stream->args->paired;
    const int side = attn_fold_side(stream->fold, item);

    attn_item_defaults_take(&stream->defaults, item);
    if (is_paired ? side >= 0 : stream->args->lists_labels)
        attn_item_notes_id(stream->notes, item, side, is_paired);
}

/* Notes labels of ITEM that probably are values of KEY under another name. */
static void note_meant(struct attn_stream *stream, const struct attn_item *item, const char *key)
{
    for (size_t i = 0; i < item->n_label; i++) {
        const char *name = item->labels[i].name, *meant = attn_items_meant(name, strlen(name));

        if (meant && strcmp(meant, key) == 0 && (!item->images[0] || strcmp(name, "answer") != 0))
            attn_note(attn_item_notes_forward, stream->notes, ATTN_NOTE_LABELS,
                      "'%s' of the items is a label and no '%s'; rename it if that is meant",
                      attn_quote_string(name).text, meant);
    }
}

/* Notes labels of the first ITEM that the question probably should read. */
static void note_labels(struct attn_stream *stream, const struct attn_item *item)
{
    const struct attn_question *question = stream->procedure->question;
    char names[ATTN_ERROR_HINT_SIZE];

    if (stream->is_labeled ||
        (item->failure != ATTN_REASON_NONE && item->failure != ATTN_REASON_NO_TEXT))
        return;
    stream->is_labeled = true;
    if (item->failure != ATTN_REASON_NONE)
        note_meant(stream, item, "text");
    for (size_t p = 0; question && p < question->n_part; p++)
        for (size_t i = 0; i < question->parts[p].list->n; i++) {
            const struct attn_param *param = &question->parts[p].list->items[i];

            if (param->keys && !attn_item_has(item, param->keys) &&
                !has_default(stream, param->keys))
                note_meant(stream, item, param->name);
        }
    if (stream->args->lists_labels)
        attn_note(attn_item_notes_forward, stream->notes, ATTN_NOTE_LABELS, "labels: %s",
                  attn_item_list_labels(item, names, sizeof names));
}

enum attn_status attn_stream_next(struct attn_stream *stream, struct attn_item **given,
                                  struct attn_error *err)
{
    struct attn_item *item;

    ATTN_TRY(attn_items_next(stream->args->items, given, err));
    item = *given;
    if (!item)
        return ATTN_OK;
    complete_item(stream, item);
    note_labels(stream, item);
    meet_item(stream, item);
    if (stream->calls->find && !attn_input_is_given(&item->source))
        item->source = stream->call->request->source;
    return ATTN_OK;
}

enum attn_status attn_stream_again(struct attn_stream *stream, uint64_t number, const char *sites,
                                   struct attn_item **item, struct attn_run **run,
                                   struct attn_error *err)
{
    struct attn_request request = *stream->call->request;

    do {
        attn_item_free(*item);
        *item = NULL;
        ATTN_TRY(attn_host_check_canceled(stream->call->host, err));
        ATTN_TRY(attn_items_next(stream->args->items, item, err));
        if (!*item || (*item)->number > number)
            return attn_refuse(err, ATTN_STAGE_INPUT, "the items changed while they were read");
    } while ((*item)->number < number);
    complete_item(stream, *item);
    attn_question_choose_nothing(&request);
    request.selection.sites = sites;
    request.selection.heads = stream->call->request->selection.heads;
    attn_stream_fill_request(stream, *item, &request);
    request.on_note = NULL; /* the first pass has sent the notes */
    return attn_run_open(stream->call->host, NULL, &request, run, err);
}

/* --- Answers ---------------------------------------------------------------------------------- */

/* Adds RESULT, which did not fail, to the means. */
static enum attn_status add_answer(struct attn_stream *stream,
                                   const struct attn_item_result *result, struct attn_error *err)
{
    const struct attn_study_gather *gather = stream->procedure->items.gather;
    struct sums *sums = &stream->sums;

    if (gather)
        ATTN_TRY(gather->add(gather->user, result, err));
    if (!stream->procedure->items.is_listed)
        ATTN_TRY(attn_error_at(attn_fold_add(stream->fold, result, err), ATTN_STAGE_INPUT, err));
    if (!result->answer.metric)
        return ATTN_OK;
    sums->has_metrics |= sums->sum.metric && strcmp(sums->sum.metric, result->answer.metric) != 0;
    sums->sum.metric = result->answer.metric;
    sums->sum.row = result->answer.row;
    if (stream->has_sums && result->item->number < stream->file.key.n_read)
        return ATTN_OK; /* the earlier run added it */
    attn_moments_add(&sums->base, result->answer.value);
    sums->n_judged += result->answer.has_right && !isnan(result->answer.right);
    sums->n_right += result->answer.has_right && result->answer.right == 1;
    sums->sum.n_tie += result->answer.has_right && isnan(result->answer.right);
    return ATTN_OK;
}

/* Writes the sums, and what the metric of all items is, to the key of the file. */
static void write_sums(struct attn_stream *stream)
{
    const struct sums *sums = &stream->sums;
    const char *chosen = attn_fold_chosen(stream->fold);

    snprintf(stream->file.state, sizeof stream->file.state, "%zu %a %a %zu %zu %zu %d %s %s %s",
             sums->base.n, sums->base.mean, sums->base.squares, sums->n_judged, sums->n_right,
             sums->sum.n_tie, sums->has_metrics, sums->sum.metric ? sums->sum.metric : "-",
             sums->sum.row ? sums->sum.row : "-", chosen ? chosen : "-");
}

/* Returns NAME of a metric or of a row, as results have it; NULL if it is none. */
static const char *find_name(const char *name)
{
    static const char *const names[] = {
        "nats", "difference", "base", "model", "source", ATTN_CHOSEN_OF_FOIL, ATTN_CHOSEN_OF_ALL};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return names[i];
    for (int i = 0; i < ATTN_N_ANSWER_METRIC; i++)
        if (strcmp(attn_answer_metric_name((enum attn_answer_metric)i), name) == 0)
            return attn_answer_metric_name((enum attn_answer_metric)i);
    return NULL;
}

/* Reads the sums of the earlier run. Returns false if they are unknown. */
static bool read_sums(struct attn_stream *stream)
{
    struct sums *sums = &stream->sums;
    char metric[32] = "", row[32] = "", chosen[32] = "";
    int has_metrics = 0;
    const int n = sscanf(stream->file.state, "%zu %la %la %zu %zu %zu %d %31s %31s %31s",
                         &sums->base.n, &sums->base.mean, &sums->base.squares, &sums->n_judged,
                         &sums->n_right, &sums->sum.n_tie, &has_metrics, metric, row, chosen);

    sums->has_metrics = has_metrics;
    sums->sum.metric = find_name(metric);
    sums->sum.row = find_name(row);
    stream->chosen = find_name(chosen);
    return n == 10;
}

/* Adds an item of an earlier run (attn_earlier_fn). */
static enum attn_status add_earlier(void *user, const struct attn_item_result *result,
                                    struct attn_error *err)
{
    struct attn_stream *stream = user;
    struct attn_item_result earlier = *result;

    meet_item(stream, result->item);
    stream->has_sums = stream->has_sums || read_sums(stream);
    earlier.answer.chosen = stream->chosen;
    if (!result->answer.rows || !needs_rows(stream))
        return ATTN_OK;
    if (!stream->procedure->items.is_listed)
        ATTN_TRY(attn_fold_check(stream->fold, &earlier, err));
    return add_answer(stream, &earlier, err);
}

/* Adds the answer about an item to the table of all, where it may fail. */
static enum attn_status take_answer(struct attn_stream *stream, struct attn_item_result *result,
                                    struct attn_error *err)
{
    char message[ATTN_SPACES_MESSAGE_SIZE];
    bool has_failed = result->failure != ATTN_REASON_NONE;

    if (!has_failed && !stream->procedure->items.is_listed)
        has_failed = attn_fold_check(stream->fold, result, &result->err) != ATTN_OK;
    if (has_failed && result->failure == ATTN_REASON_NONE)
        result->failure = attn_item_reason(&result->err);
    if (has_failed)
        return ATTN_OK;
    if (stream->result.n_before > 0) { /* the rows of earlier items have nothing beside them */
        stream->has_dropped |= result->answer.metric && !stream->has_sums;
        result->answer.metric = stream->has_sums ? result->answer.metric : NULL;
        result->answer.n_beside = 0;
        result->answer.beside = NULL;
    }
    ATTN_TRY(add_answer(stream, result, err));
    if (result->spaces && attn_spaces_describe(result->spaces, message))
        attn_item_notes_once(stream->notes, ATTN_NOTE_SPACES, message);
    return ATTN_OK;
}

/* --- Running ---------------------------------------------------------------------------------- */

/* Returns an error if more items failed than allowed. */
static enum attn_status check_failures(const struct attn_stream *stream, struct attn_error *err)
{
    const int64_t most = stream->args->max_errors;

    if (most < 0 || stream->result.n_failed <= (uint64_t)most)
        return ATTN_OK;
    return attn_refuse(err, ATTN_STAGE_INPUT,
                       "%" PRIu64 " of %" PRIu64 " items failed, `max_errors` allows %" PRId64,
                       stream->result.n_failed, stream->result.n_item, most);
}

/* Reports that SHARE of the input is done: answers, once there is one and their number is known. */
static void report(struct attn_stream *stream, double share)
{
    const uint64_t n = stream->result.n_item;
    uint64_t n_all = stream->n_all;

    if (n_all < n)
        n_all = share > 0 ? (uint64_t)((double)n / share) : 0;
    if (!has_answers(stream) || (n > 0 && n_all > 0))
        attn_item_notes_progress(stream->notes, n, n_all);
}

/* Reads the next item (attn_next_fn). */
static enum attn_status next(void *user, struct attn_item **item, struct attn_error *err)
{
    struct attn_stream *stream = user;

    return stream->calls->next ? stream->calls->next(stream->calls->user, item, err)
                               : attn_stream_next(stream, item, err);
}

/* Answers about an item, or adds to the result of a text (attn_answer_fn). */
static enum attn_status answer(void *user, struct attn_item_result *result, struct attn_error *err)
{
    const struct attn_item_calls *calls = ((const struct attn_stream *)user)->calls;

    return calls->ask ? calls->ask(calls->user, result, err)
                      : calls->find(calls->user, result, err);
}

/* Processes the result of an item (attn_done_fn). */
static enum attn_status done(void *user, const struct attn_item_result *given,
                             struct attn_error *err)
{
    struct attn_stream *stream = user;
    struct attn_item_result result = *given;

    if (has_answers(stream))
        ATTN_TRY(take_answer(stream, &result, err));
    if (stream->calls->done)
        ATTN_TRY(stream->calls->done(stream->calls->user, &result, err));
    write_sums(stream);
    if (stream->args->each)
        ATTN_TRY(attn_error_at(attn_each_file_write(&stream->file, &result, err), ATTN_STAGE_OUTPUT,
                               err));
    stream->result.n_item++;
    stream->result.n_failed += result.failure != ATTN_REASON_NONE;
    report(stream, attn_items_share_at(stream->args->items, result.item->end));
    if (has_answers(stream) && result.failure != ATTN_REASON_NONE)
        attn_item_notes_failure(stream->notes, &result);
    return check_failures(stream, err);
}

static void on_end(void *user)
{
    attn_items_stop(((const struct attn_stream *)user)->args->items);
}

/* Opens the file, and goes on after the items of an earlier run. */
static enum attn_status resume(struct attn_stream *stream, struct attn_error *err)
{
    struct attn_each_file *file = &stream->file;
    struct attn_records_form *records = &stream->records;
    const char *format = stream->each.form == ATTN_EACH_MATRICES  ? "npz"
                         : stream->each.form == ATTN_EACH_RECORDS ? "jsonl"
                                                                  : "rows";

    if (!stream->args->each)
        return ATTN_OK;
    records->on_note = attn_item_notes_forward;
    records->user = stream->notes;
    records->unit = "item";
    records->name = stream->procedure->table.name;
    records->items = stream->args->items;
    records->row_form = row_form_of(&stream->each);
    ATTN_TRY(attn_each_file_open(file, format, records, stream->host, err));
    ATTN_TRY(attn_each_file_resume(file, stream->args->items, add_earlier, stream, &stream->result,
                                   err));
    stream->has_sums = stream->has_sums || read_sums(stream);
    return check_failures(stream, err);
}

enum attn_status attn_stream_run(struct attn_stream *stream, struct attn_host *host,
                                 const struct attn_many_options *options,
                                 const struct attn_item_calls *calls, struct attn_error *err)
{
    const bool has_answer = calls->ask || calls->find;
    const struct attn_item_calls own = {.next = next,
                                        .done = done,
                                        .release = attn_item_free,
                                        .on_end = on_end,
                                        .ask = calls->ask ? answer : NULL,
                                        .find = calls->find ? answer : NULL,
                                        .user = stream};
    struct attn_request request = options->request ? *options->request : ATTN_REQUEST_DEFAULT;
    struct attn_many_options known = *options;
    const size_t n_thread = (size_t)attn_host_n_thread(host);

    stream->calls = calls;
    stream->host = host;
    ATTN_TRY(attn_items_count(stream->args->items, &stream->n_all, err));
    ATTN_TRY(resume(stream, err));
    stream->first = NULL; /* it is read now */
    stream->begun = attn_clock_seconds();
    stream->share_before = attn_items_share(stream->args->items);
    report(stream, stream->share_before);
    if (has_answer) {
        attn_stream_fill_request(stream, NULL, &request);
        request.on_progress = request.on_part = NULL;
        known.request = &request;
    }
    /* true for a pipe, whose end is unknown */
    known.is_serial = n_thread == 1 || (stream->n_all > 0 && stream->n_all < n_thread);
    known.size = sizeof known;
    ATTN_TRY(attn_run_many(host, &known, &own, err));
    return attn_host_check_canceled(host, err);
}

/* --- The end ---------------------------------------------------------------------------------- */

/* Sets the result of the caller. */
static void end(struct attn_stream *stream)
{
    struct attn_each_result *result = &stream->result;

    stream->has_ended = true;
    result->has_failed = result->n_failed > 0 && stream->args->max_errors < 0;
    result->seconds = stream->begun > 0 ? attn_clock_seconds() - stream->begun : 0;
    if (stream->each.result)
        *stream->each.result = *result;
}

void attn_stream_keep(struct attn_stream *stream, const struct attn_error *err)
{
    const struct attn_each_options *each = &stream->each;
    bool can_resume;

    if (stream->file.records)
        stream->result.is_abandoned = attn_records_is_abandoned(stream->file.records);
    can_resume = attn_each_file_keep(&stream->file,
                                     !err || (each->is_spoiled && each->is_spoiled(each->user)));
    stream->result.can_resume =
        can_resume && err && err->stage != ATTN_STAGE_OPTIONS && !stream->file.is_other;
    end(stream);
}

/* Gives the complete file its name. */
static enum attn_status finish(struct attn_stream *stream, struct attn_error *err)
{
    if (stream->args->each)
        ATTN_TRY(attn_error_at(attn_each_file_finish(&stream->file, err), ATTN_STAGE_OUTPUT, err));
    stream->result.is_complete = stream->file.is_complete;
    end(stream);
    return ATTN_OK;
}

/* Whether column C of TABLE is derived from more than rows, so that a resumed run lacks it. */
static bool is_lacking(const struct attn_table *table, size_t c)
{
    size_t row = 0;

    while (row < attn_table_n_row(table) &&
           attn_table_cell(table, row, c).type == ATTN_VALUE_MISSING)
        row++;
    return attn_table_column(table, c)->traits & ATTN_TRAIT_DERIVED &&
           row == attn_table_n_row(table);
}

/* Takes the columns out of *TABLE that a resumed run lacks, unless the caller chooses columns, and
 * notes them and the metric of the unchanged model. */
static enum attn_status leave_out(struct attn_stream *stream, struct attn_table **table,
                                  struct attn_error *err)
{
    const struct attn_table *given = *table;
    struct attn_table_order order = ATTN_TABLE_ORDER_DEFAULT;
    struct attn_buffer names = {0}, kept = {0};
    struct attn_table *chosen = *table;
    enum attn_status status = ATTN_OK;

    if (stream->has_dropped)
        attn_buffer_append_string(&names, ", the metric of the last line");
    for (size_t c = 0; c < attn_table_n_column(given); c++)
        if (is_lacking(given, c))
            attn_buffer_append_format(&names, ", %s", attn_table_column(given, c)->name);
        else
            attn_buffer_append_format(&kept, ",%s", attn_table_column(given, c)->name);
    if (names.size > 0 && attn_buffer_string(&names) && attn_buffer_string(&kept)) {
        order.columns = stream->args->columns ? NULL : kept.data + 1;
        status = attn_table_sort(given, &order, &chosen, err);
        attn_note(attn_item_notes_forward, stream->notes, ATTN_NOTE_CONTINUED,
                  "the table leaves out what the rows of the earlier run do not have: %s",
                  names.data + 2);
    }
    if (status == ATTN_OK && chosen != *table) {
        attn_table_free(*table);
        *table = chosen;
    }
    attn_buffer_release(&names);
    attn_buffer_release(&kept);
    return status;
}

/* Sends the notes about all items. */
static void note_end(struct attn_stream *stream, size_t n_single)
{
    const struct attn_study_sum *sum = &stream->sums.sum;
    struct attn_item_notes *notes = stream->notes;
    struct attn_error unused = {0};

    if (sum->n_failed < sum->n_item && check_defaults(&stream->defaults, &unused) != ATTN_OK)
        attn_note(attn_item_notes_forward, notes, ATTN_NOTE_UNUSED_DEFAULT, "%s", unused.message);
    attn_item_notes_others(notes);
    if (stream->args->paired && n_single == 0 && sum->n_pair == 0)
        attn_note(attn_item_notes_forward, notes, ATTN_NOTE_UNPAIRED,
                  "no item is on a side of `paired`");
    if (n_single > 0)
        attn_note(attn_item_notes_forward, notes, ATTN_NOTE_UNPAIRED,
                  "%zu item%s no partner of the same id", n_single,
                  n_single == 1 ? " has" : "s have");
}

enum attn_status attn_stream_end(struct attn_stream *stream, struct attn_table **table,
                                 struct attn_error *err)
{
    const struct attn_study_gather *gather = stream->procedure->items.gather;
    struct sums *sums = &stream->sums;
    struct attn_study_sum *sum = &sums->sum;
    size_t n_single;

    sum->n_item = (size_t)stream->result.n_item;
    sum->n_failed = (size_t)stream->result.n_failed;
    ATTN_TRY(finish(stream, err));
    if (gather)
        ATTN_TRY(gather->tabulate(gather->user, stream, table, err));
    if (!stream->procedure->items.is_listed)
        ATTN_TRY(attn_error_at(attn_fold_tabulate(stream->fold, stream->hidden, table, err),
                               ATTN_STAGE_INPUT, err));
    if (stream->result.n_before > 0 && *table && !stream->procedure->items.is_listed)
        ATTN_TRY(leave_out(stream, table, err));
    if (*table && !sums->has_metrics)
        ATTN_TRY(attn_rows_set_metric(*table, sum->metric, err));
    attn_item_notes_idle(stream->notes, sum->n_item - sum->n_failed);
    attn_items_note_mark(stream->args->items, attn_item_notes_forward, stream->notes);
    attn_fold_count(stream->fold, sum, &n_single);
    note_end(stream, n_single);
    if (sum->metric == attn_answer_metric_name(ATTN_ANSWER_LOGIT) &&
        attn_model_config(attn_host_model(stream->host))->is_sentence)
        sum->quantity = "cosine";
    sum->mean = sums->base.mean;
    sum->se = (double)NAN;
    if (!stream->args->cluster)
        sum->se = attn_moments_sd(&sums->base) / sqrt((double)sums->base.n);
    sum->right = sums->n_judged > 0 ? (double)sums->n_right / (double)sums->n_judged : (double)NAN;
    if (stream->args->sum)
        attn_results_write(sum, sizeof *sum, stream->args->sum);
    return ATTN_OK;
}
