/* study.c - see study.h. Reads items, counts failures, and folds the answers of the other items;
 * stream.c runs them. */
#include "questions/study_internal.h"

#include "base/escape.h"
#include "base/given.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/thread.h"
#include "predict/class_label.h"
#include "questions/rows.h"
#include "stream/items_internal.h"
#include "stream/stream_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ATTN_DEFAULTS(attn_study_sum, .size = sizeof(struct attn_study_sum))
ATTN_DEFAULTS(attn_study_args, .size = sizeof(struct attn_study_args), .max_failed = -1)

enum {
    MOST_NAMED = 10,
    MOST_IDLE = 32, /* maximum edits whose items are counted */
    MOST_PEEKED = 1000,
    N_ID = 1 << 16,
    N_SLOT = 1 << 17, /* slots of the hash table: twice N_ID, so that it stays half empty */
    MOST_RESAMPLES = 10000000
};

/* A note about an edit that changes nothing in N items. */
struct idle_edit {
    enum attn_note code;
    char *subject; /* owns */
    const char *reason;
    size_t n;
};

struct attn_study {
    const struct attn_study_args *args;
    struct attn_study_form form;
    const struct attn_places *places;   /* places of the request; or NULL */
    uint64_t untaken;                   /* bit set of the defaults that no item has used */
    bool hidden[ATTN_MOST_COLUMNS];     /* columns that the tables of items lack */
    struct attn_fold *fold;             /* owns */
    const struct attn_study_work *work; /* borrowed */
    struct attn_stream *stream;         /* owns; NULL before attn_study_run */
    attn_note_fn on_note;
    attn_progress_fn on_progress;
    void *user;                   /* passed to on_note and on_progress */
    struct attn_monitor *monitor; /* owns; lets one thread at a time call on_note */
    struct attn_error last;       /* the last failure that was noted */
    size_t n_named, n_unnamed;    /* failures that were noted, and were not */
    bool has_other;               /* a failure that was not noted differs from the last */
    uint64_t noted;               /* bit set of the codes of notes that were forwarded */
    struct attn_study_sum sum;
    struct attn_moments base; /* moments of the metric of the unchanged model */
    size_t n_right, n_judged, n_tie;
    struct idle_edit idle[MOST_IDLE]; /* [n_idle]; guarded by the monitor */
    size_t n_idle;
    uint64_t seed; /* seed of the hashes */
    uint64_t *ids; /* [N_SLOT] owns; hash table with the hashes of the first N_ID ids; 0: empty */
    size_t n_id;
    bool has_twice;   /* a note about a duplicate id was sent */
    bool is_labeled;  /* a note about the labels was sent */
    bool has_metrics; /* items have different ones */
};

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

void attn_study_answer_base(struct attn_item_result *result, const struct attn_answer *asked,
                            const struct attn_reply *reply)
{
    result->metric = attn_answer_metric_name(asked->metric);
    result->row = "base";
    result->value = reply->value;
    result->has_right = attn_answer_is_judged(asked);
    result->right = reply->right;
}

/* --- Defaults --------------------------------------------------------------------------------- */

void attn_study_add_default(struct attn_study_defaults *defaults, const char *keys,
                            const char *place)
{
    for (size_t i = 0; keys && i < defaults->n; i++)
        if (defaults->items[i].keys && strcmp(defaults->items[i].keys, keys) == 0)
            return;
    if (defaults->n < ATTN_MOST_DEFAULTS)
        defaults->items[defaults->n++] = (struct attn_study_default){keys, place};
}

/* Returns the bits of all defaults that the caller gave; WITH_PLACES: including those for
 * places. */
static uint64_t all_defaults(const struct attn_study_defaults *defaults, bool with_places)
{
    uint64_t all = 0;

    for (size_t i = 0; i < defaults->n; i++)
        all |= (uint64_t)(with_places || defaults->items[i].keys) << i;
    return all;
}

/* Clears the bits of the defaults in *UNTAKEN that ITEM uses because it lacks a value. */
static void take_defaults(const struct attn_study_defaults *defaults, const struct attn_item *item,
                          uint64_t *untaken)
{
    if (item->failure != ATTN_RECORD_FAILURE_NONE)
        return;
    for (size_t i = 0; *untaken != 0 && i < defaults->n; i++) {
        const struct attn_study_default *one = &defaults->items[i];

        if (!(one->keys ? attn_item_has(item, one->keys)
                        : attn_item_place(item, one->place) != NULL))
            *untaken &= ~(UINT64_C(1) << i);
    }
}

/* Returns an error for the first default that no item used. */
static enum attn_status check_defaults(const struct attn_study_defaults *defaults, uint64_t untaken,
                                       struct attn_error *err)
{
    const struct attn_study_default *first;
    int n_name;

    if (untaken == 0)
        return ATTN_OK;
    first = &defaults->items[__builtin_ctzll(untaken)];
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
static enum attn_status look_for_defaults(struct attn_study *study, struct attn_error *err)
{
    const struct attn_study_defaults *defaults = &study->form.defaults;
    const uint64_t keys = all_defaults(defaults, false);
    uint64_t untaken = keys, size;
    struct attn_items *items;
    struct attn_item *item = NULL;
    bool is_empty = true;

    if (untaken == 0 || !attn_items_are_of_file(study->args->items, &size))
        return ATTN_OK;
    ATTN_TRY(attn_items_open_again(study->args->items, &items, err));
    while (untaken != 0 && attn_items_next(items, &item, NULL) == ATTN_OK && item) {
        attn_item_choose(item, study->form.pairs);
        is_empty = is_empty && item->failure != ATTN_RECORD_FAILURE_NONE;
        take_defaults(defaults, item, &untaken);
        attn_item_free(item);
    }
    attn_items_free(items);
    study->untaken &= ~keys; /* items of other shards use them */
    return is_empty ? ATTN_OK : check_defaults(defaults, untaken, err);
}

/* --- A study ---------------------------------------------------------------------------------- */

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

static enum attn_status build(struct attn_study *study, struct attn_error *err)
{
    ATTN_TRY(ATTN_ALLOC(study->ids, N_SLOT, err));
    study->seed = attn_hash_seed();
    ATTN_TRY(attn_monitor_create(1, &study->monitor, err));
    return attn_fold_create(&study->form.fold, study->args, &study->fold, err);
}

enum attn_status attn_study_open(const struct attn_study_args *args,
                                 const struct attn_study_form *form, struct attn_study **study,
                                 struct attn_error *err)
{
    const struct attn_request *request = form->request;
    struct attn_study *made;
    enum attn_status status;

    ATTN_TRY(attn_error_at(check(args, err), ATTN_STAGE_OPTIONS, err));
    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->args = args;
    made->form = *form;
    made->untaken = all_defaults(&form->defaults, true);
    made->places = request->reading.places;
    made->on_note = request->on_note;
    made->on_progress = request->on_progress;
    made->user = request->user;
    status = build(made, err);
    if (status == ATTN_OK)
        *study = made;
    else
        attn_study_free(made);
    return status;
}

void attn_study_free(struct attn_study *study)
{
    if (!study)
        return;
    attn_stream_free(study->stream);
    attn_fold_free(study->fold);
    attn_monitor_free(study->monitor);
    for (size_t i = 0; i < study->n_idle; i++)
        attn_free(study->idle[i].subject);
    attn_free(study->ids);
    attn_free(study);
}

/* Forwards a note to the caller (attn_note_fn; USER is the study). */
static void forward_note(void *user, enum attn_note code, const char *message)
{
    const struct attn_study *study = user;

    attn_monitor_enter(study->monitor);
    attn_note(study->on_note, study->user, code, "%s", message);
    attn_monitor_leave(study->monitor);
}

/* Counts the items in which an edit changes nothing (attn_counted_note_fn). */
static void count_idle(void *user, const struct attn_counted_note *note)
{
    struct attn_study *study = user;
    struct idle_edit *idle = study->idle;

    attn_monitor_enter(study->monitor);
    while (idle < study->idle + study->n_idle &&
           (idle->code != note->code || strcmp(idle->subject, note->subject) != 0))
        idle++;
    if (idle == study->idle + study->n_idle && study->n_idle < MOST_IDLE) {
        *idle = (struct idle_edit){
            note->code, attn_strndup(note->subject, strlen(note->subject), NULL), note->reason, 0};
        study->n_idle += idle->subject != NULL;
    }
    if (idle < study->idle + study->n_idle)
        idle->n += note->n_run > 0 ? note->n : 1;
    attn_monitor_leave(study->monitor);
}

static int by_subject(const void *a, const void *b)
{
    return strcmp(((const struct idle_edit *)a)->subject, ((const struct idle_edit *)b)->subject);
}

/* Sends a note for each idle edit, with the number of its items. */
static void note_idle(struct attn_study *study)
{
    qsort(study->idle, study->n_idle, sizeof *study->idle, by_subject);
    for (size_t i = 0; i < study->n_idle; i++)
        attn_note(study->on_note, study->user, study->idle[i].code, "%s in %zu of %zu items: %s",
                  study->idle[i].subject, study->idle[i].n, study->sum.n_item - study->sum.n_failed,
                  study->idle[i].reason);
}

/* Forwards the first note with each code (attn_note_fn). */
static void note_once(void *user, enum attn_note code, const char *message)
{
    struct attn_study *study = user;

    attn_monitor_enter(study->monitor);
    if ((study->noted >> code & 1) == 0)
        attn_note(study->on_note, study->user, code, "%s", message);
    study->noted |= UINT64_C(1) << code;
    attn_monitor_leave(study->monitor);
}

void attn_study_fill_request(struct attn_study *study, const struct attn_item *item,
                             struct attn_request *request)
{
    request->on_note = note_once;
    request->on_counted = count_idle;
    request->user = study;
    request->on_progress = request->on_part = NULL;
    request->reading.example = NULL; /* errors name the item instead */
    if (item) {
        const struct attn_input given = request->input;

        request->input = item->input;
        attn_item_see(item, attn_host_model(study->form.host), &given, &request->input);
    }
    if (item && attn_input_is_given(&item->source))
        request->source = item->source;
    if (item && item->named.others)
        request->reading.places = &item->named;
}

/* Returns the name of ITEM for messages: 'k17', or its number. */
static struct attn_quote name_of(const struct attn_item *item)
{
    struct attn_quote name;

    if (item->id_kind == ATTN_RECORD_ID_TEXT) {
        const struct attn_quote id = attn_quote(item->id, item->n_id);

        snprintf(name.text, sizeof name.text, "'%.*s'", ATTN_QUOTE_SIZE - 3, id.text);
    } else if (item->id_kind == ATTN_RECORD_ID_INTEGER) {
        snprintf(name.text, sizeof name.text, "%.*s", (int)item->n_id, item->id);
    } else {
        snprintf(name.text, sizeof name.text, "%zu", item->number);
    }
    return name;
}

/* Sends a note about the first duplicate id if ids matter: among items of the same side of pairs,
 * or if labels are listed. Only the hashes of the first N_ID ids are compared, so that memory is
 * bounded. */
static void note_repeated_id(struct attn_study *study, const struct attn_item *item)
{
    const bool is_paired = study->args->paired;
    const int side = attn_fold_side(study->fold, item);
    const uint64_t hash =
        (attn_hash_bytes(study->seed, item->id, item->n_id) | 1) ^ (side == 1 ? 2 : 0);
    size_t at;

    if (study->has_twice || study->n_id == N_ID || item->id_kind == ATTN_RECORD_ID_NUMBER ||
        (is_paired ? side < 0 : !study->args->lists_labels))
        return;
    for (at = (size_t)(hash >> 1); study->ids[at % N_SLOT] != 0; at++)
        if (study->ids[at % N_SLOT] == hash) {
            study->has_twice = true;
            attn_note(forward_note, study, ATTN_NOTE_REPEATED_ID,
                      "the id %s is there more than once%s", name_of(item).text,
                      is_paired ? " on one side of `paired`, whose pairs go by the order of items"
                                : "");
            return;
        }
    study->ids[at % N_SLOT] = hash;
    study->n_id++;
}

/* --- Answers ---------------------------------------------------------------------------------- */

/* Adds RESULT, which did not fail, to the means. */
static enum attn_status add_answer(struct attn_study *study, const struct attn_item_result *result,
                                   struct attn_error *err)
{
    if (study->form.gather)
        ATTN_TRY(study->form.gather->add(study->form.gather->user, result, err));
    if (!study->form.is_listed)
        ATTN_TRY(attn_error_at(attn_fold_add(study->fold, result, err), ATTN_STAGE_INPUT, err));
    if (!result->metric)
        return ATTN_OK;
    study->has_metrics |= study->sum.metric && strcmp(study->sum.metric, result->metric) != 0;
    study->sum.metric = result->metric;
    study->sum.row = result->row;
    attn_moments_add(&study->base, result->value);
    study->n_judged += result->has_right && !isnan(result->right);
    study->n_right += result->has_right && result->right == 1;
    study->n_tie += result->has_right && isnan(result->right);
    return ATTN_OK;
}

/* Adds an item of an earlier run (`load` of struct attn_stream_form). */
static enum attn_status add_kept_item(void *user, const struct attn_item_result *result,
                                      struct attn_error *err)
{
    struct attn_study *study = user;

    note_repeated_id(study, result->item);
    take_defaults(&study->form.defaults, result->item, &study->untaken);
    if (!result->rows)
        return ATTN_OK;
    if (!study->form.is_listed)
        ATTN_TRY(attn_fold_check_kept(study->fold, result, err));
    return add_answer(study, result, err);
}

/* --- Items ------------------------------------------------------------------------------------ */

/* If the model has a single label, sets it as the target of ITEM, unless a target is given. */
static void choose_label(const struct attn_study *study, struct attn_item *item)
{
    static const int32_t first;
    const struct attn_model *model = attn_host_model(study->form.host);
    struct attn_answer_args *answer = &item->answer;

    if (!model || !attn_model_has_one_label(model) || answer->target || answer->target_id)
        return;
    for (size_t i = 0; i < study->form.defaults.n; i++)
        if (study->form.defaults.items[i].keys &&
            strcmp(study->form.defaults.items[i].keys, attn_target_params.items[0].keys) == 0)
            return;
    answer->target_id = &first;
}

enum attn_status attn_study_peek(struct attn_study *study, const struct attn_item **item,
                                 struct attn_error *err)
{
    for (size_t i = 0; i < MOST_PEEKED; i++) {
        struct attn_item *next;

        ATTN_TRY(attn_items_peek(study->args->items, i, &next, err));
        *item = next;
        attn_item_choose(next, study->form.pairs);
        if (next)
            choose_label(study, next);
        if (!next || next->failure == ATTN_RECORD_FAILURE_NONE)
            return ATTN_OK;
    }
    *item = NULL;
    return ATTN_OK;
}

/* Returns an error if the header lacks a label of `group_by` or `paired`. */
static enum attn_status check_labels(const struct attn_study *study, struct attn_error *err)
{
    const struct attn_items *items = study->args->items;
    struct attn_item any = {.n_label = 0}; /* has all labels of the header */
    const struct attn_item_result result = {.item = &any};
    struct attn_item_label *labels;
    enum attn_status status;
    const char *const *names;

    if (!attn_items_have_header(items))
        return ATTN_OK;
    names = attn_items_labels(items, &any.n_label);
    any.labels = labels = attn_alloc(any.n_label, sizeof *labels, err);
    if (!labels)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; i < any.n_label; i++)
        labels[i].name = names[i];
    status = attn_fold_check(study->fold, &result, err);
    attn_free(labels);
    return attn_error_at(status, ATTN_STAGE_OPTIONS, err);
}

enum attn_status attn_study_show(struct attn_study *study, const bool *hidden,
                                 struct attn_error *err)
{
    static const bool nothing[ATTN_MOST_COLUMNS];
    /* columns that the table of all items lacks */
    const bool *lacking = study->form.gather ? nothing : hidden;

    memcpy(study->hidden, hidden, study->form.fold.n_column * sizeof *hidden);
    ATTN_TRY(check_labels(study, err));
    ATTN_TRY(look_for_defaults(study, err));
    ATTN_TRY(attn_fold_check_test(study->fold, lacking, err));
    return study->args->sort || study->args->columns || study->args->n_where > 0
               ? attn_fold_check_sort(study->fold, lacking, study->args->sort, err)
               : ATTN_OK;
}

/* Chooses the texts of ITEM, and gives it the places of the request and the only label. */
static void complete_item(const struct attn_study *study, struct attn_item *item)
{
    attn_item_choose(item, study->form.pairs);
    attn_item_name_places(item, study->places);
    choose_label(study, item);
}

/* Completes ITEM for a pass over its texts. */
static enum attn_status prepare_pass(const struct attn_study_work *work, struct attn_item *item,
                                     struct attn_error *err)
{
    if (!attn_input_is_given(&item->source))
        item->source = work->request->source;
    item->answer.at = attn_number_list_or(item->answer.at, work->at);
    if (work->fill)
        return work->fill(work->user, item, err);
    item->queries = (struct attn_number_list){0};
    item->next = NULL;
    item->n_next = 0;
    return ATTN_OK;
}

/* Completes an item that was read (`read` of struct attn_stream_form). */
static enum attn_status meet_item(void *user, struct attn_item *item, struct attn_error *err)
{
    struct attn_study *study = user;
    char names[ATTN_ERROR_HINT_SIZE];

    complete_item(study, item);
    take_defaults(&study->form.defaults, item, &study->untaken);
    if (study->args->lists_labels && !study->is_labeled &&
        item->failure == ATTN_RECORD_FAILURE_NONE) {
        study->is_labeled = true;
        attn_note(forward_note, study, ATTN_NOTE_LABELS, "labels: %s",
                  attn_item_list_labels(item, names, sizeof names));
    }
    note_repeated_id(study, item);
    return study->work->ask ? ATTN_OK : prepare_pass(study->work, item, err);
}

enum attn_status attn_study_rewind(struct attn_study *study, struct attn_error *err)
{
    return attn_items_rewind(study->args->items, err);
}

enum attn_status attn_study_again(struct attn_study *study, struct attn_item **item,
                                  struct attn_error *err)
{
    ATTN_TRY(attn_items_next(study->args->items, item, err));
    if (*item)
        complete_item(study, *item);
    return ATTN_OK;
}

/* Adds the result of an item to the fold, where it may fail (`take` of struct attn_stream_form). */
static enum attn_status take_result(void *user, struct attn_item_result *result,
                                    struct attn_error *err)
{
    struct attn_study *study = user;
    char message[ATTN_SPACES_MESSAGE_SIZE];
    bool has_failed = result->failure != ATTN_RECORD_FAILURE_NONE;

    if (!has_failed && !study->form.is_listed)
        has_failed = attn_fold_check(study->fold, result, &result->err) != ATTN_OK;
    if (has_failed) /* what a reader has not refused does not fit the question */
        result->failure = result->item->failure != ATTN_RECORD_FAILURE_NONE
                              ? result->item->failure
                              : ATTN_RECORD_FAILURE_NO_FIT;
    if (has_failed)
        return ATTN_OK;
    ATTN_TRY(add_answer(study, result, err));
    if (result->spaces && attn_spaces_describe(result->spaces, message))
        note_once(study, ATTN_NOTE_SPACES, message);
    return ATTN_OK;
}

/* Reports progress, and the first failures (`on_progress` of struct attn_stream_form). */
static void report(void *user, const struct attn_batch_progress *progress,
                   const struct attn_item_result *result)
{
    struct attn_study *study = user;
    bool is_same;

    if (study->on_progress && progress->n_record > 0 && progress->share > 0)
        study->on_progress(study->user, (size_t)progress->n_record,
                           (size_t)((double)progress->n_record / progress->share));
    if (!result || result->failure == ATTN_RECORD_FAILURE_NONE)
        return;
    is_same = strcmp(study->last.message, result->err.message) == 0;
    study->has_other |= !is_same && study->n_named == MOST_NAMED;
    if (is_same || study->n_named == MOST_NAMED) {
        study->n_unnamed++;
        return;
    }
    study->last = result->err;
    study->n_named++;
    attn_note(forward_note, user, ATTN_NOTE_ITEM_FAILED, "item %s: %s%s%s%s",
              name_of(result->item).text, result->err.message, result->err.hint[0] ? " (" : "",
              result->err.hint, result->err.hint[0] ? ")" : "");
}

enum attn_status attn_study_run(struct attn_study *study, const struct attn_study_work *work,
                                struct attn_error *err)
{
    const struct attn_stream_form form = {
        .items = study->args->items,
        .each = study->args->each,
        .are_kept = !study->form.is_listed || study->form.gather,
        .max_failed = study->args->max_failed,
        .cancel = study->form.host->options.cancel,
        .notes = {forward_note, study, NULL},
        .read = meet_item,
        .take = take_result,
        .load = add_kept_item,
        .on_progress = report,
        .user = study,
    };
    struct attn_records_form records = ATTN_RECORDS_FORM_DEFAULT;
    struct attn_request request = *work->request;
    struct attn_many_options options = work->options;
    const struct attn_stream_work many = {.records = &records,
                                          .ask = work->ask,
                                          .options = &options,
                                          .find = work->find,
                                          .user = work->user};

    records.columns = study->form.fold.columns;
    records.n_column = study->form.fold.n_column;
    records.hidden = study->hidden;
    records.is_ragged = study->form.is_ragged;
    attn_study_fill_request(study, NULL, &request);
    options.size = sizeof options;
    options.request = &request;
    study->work = work;
    ATTN_TRY(attn_stream_open(&form, &study->stream, err));
    return attn_stream_run(study->stream, work->host, &many, err);
}

enum attn_status attn_study_end(struct attn_study *study, struct attn_table **table,
                                struct attn_error *err)
{
    struct attn_study_sum *sum = &study->sum;
    struct attn_error unused = {0};
    size_t n_single;

    sum->n_item = (size_t)attn_stream_result(study->stream)->n_item;
    sum->n_failed = (size_t)attn_stream_result(study->stream)->n_failed;
    ATTN_TRY(attn_stream_finish(study->stream, err));
    if (study->form.gather)
        ATTN_TRY(study->form.gather->tabulate(study->form.gather->user, study, table, err));
    if (!study->form.is_listed)
        ATTN_TRY(attn_error_at(attn_fold_tabulate(study->fold, study->hidden, table, err),
                               ATTN_STAGE_INPUT, err));
    if (*table && !study->has_metrics)
        ATTN_TRY(attn_rows_set_metric(*table, sum->metric, err));
    note_idle(study);
    attn_items_note_mark(study->args->items, forward_note, study);
    attn_fold_count(study->fold, sum, &n_single);
    if (sum->n_failed < sum->n_item &&
        check_defaults(&study->form.defaults, study->untaken, &unused) != ATTN_OK)
        attn_note(forward_note, study, ATTN_NOTE_UNUSED_DEFAULT, "%s", unused.message);
    if (study->n_unnamed > 0)
        attn_note(forward_note, study, ATTN_NOTE_ITEM_FAILED, "%zu more item%s failed%s",
                  study->n_unnamed, study->n_unnamed == 1 ? "" : "s",
                  study->has_other ? "" : " in the same way");
    if (study->args->paired && n_single == 0 && sum->n_pair == 0)
        attn_note(forward_note, study, ATTN_NOTE_UNPAIRED, "no item is on a side of `paired`");
    if (n_single > 0)
        attn_note(forward_note, study, ATTN_NOTE_UNPAIRED, "%zu item%s no partner of the same id",
                  n_single, n_single == 1 ? " has" : "s have");
    sum->mean = study->base.mean;
    sum->se = (double)NAN;
    if (!study->args->cluster)
        sum->se = attn_moments_sd(&study->base) / sqrt((double)study->base.n);
    sum->right =
        study->n_judged > 0 ? (double)study->n_right / (double)study->n_judged : (double)NAN;
    sum->n_tie = study->n_tie;
    if (study->args->sum)
        attn_results_write(sum, sizeof *sum, study->args->sum);
    return ATTN_OK;
}

void attn_study_keep(struct attn_study *study, const struct attn_error *err)
{
    attn_stream_keep(study->stream, err);
}
