#include "frame/item_notes.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/os/thread.h"
#include "base/status_internal.h"
#include "run/run_internal.h"
#include "stream/items_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_NAMED = 10,
    MOST_IDLE = 32, /* maximum edits whose items are counted */
    N_ID = 1 << 16,
    N_SLOT = 1 << 17 /* slots of the hash table: twice N_ID, so that it stays half empty */
};

/* A note about an edit that changes nothing in N items. */
struct idle_edit {
    enum attn_note code;
    char *subject; /* owns */
    const char *reason;
    size_t n;
};

struct attn_item_notes {
    const struct attn_request *request; /* borrowed */
    struct attn_monitor *monitor;       /* owns; lets one thread at a time send a note */
    struct attn_error last;             /* the last failure that was noted */
    size_t n_named, n_unnamed;          /* failures that were noted, and were not */
    bool has_other;                     /* a failure that was not noted differs from the last */
    uint64_t noted;                     /* bit set of the codes of notes that were forwarded */
    struct idle_edit idle[MOST_IDLE];   /* [n_idle]; guarded by the monitor */
    size_t n_idle;
    uint64_t seed; /* seed of the hashes */
    uint64_t *ids; /* [N_SLOT] owns; hash table with the hashes of the first N_ID ids; 0: empty */
    size_t n_id;
    bool has_twice;       /* a note about a duplicate id was sent */
    size_t n_done, n_all; /* items done, and all; guarded by the monitor */
};

enum attn_status attn_item_notes_create(const struct attn_request *request,
                                        struct attn_item_notes **notes, struct attn_error *err)
{
    struct attn_item_notes *made;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->request = request;
    made->seed = attn_hash_seed();
    ATTN_RETURN_MADE(attn_monitor_create(1, &made->monitor, err), notes, made,
                     attn_item_notes_free);
}

void attn_item_notes_free(struct attn_item_notes *notes)
{
    if (!notes)
        return;
    attn_monitor_free(notes->monitor);
    for (size_t i = 0; i < notes->n_idle; i++)
        attn_free(notes->idle[i].subject);
    attn_free(notes->ids);
    attn_free(notes);
}

/* Sends the note MESSAGE. Call it with the monitor held. */
static void send(const struct attn_item_notes *notes, enum attn_note code, const char *message)
{
    attn_note(notes->request->on_note, notes->request->user, code, "%s", message);
}

void attn_item_notes_forward(void *user, enum attn_note code, const char *message)
{
    const struct attn_item_notes *notes = user;

    attn_monitor_enter(notes->monitor);
    send(notes, code, message);
    attn_monitor_leave(notes->monitor);
}

void attn_item_notes_once(void *user, enum attn_note code, const char *message)
{
    struct attn_item_notes *notes = user;

    attn_monitor_enter(notes->monitor);
    if ((notes->noted >> code & 1) == 0)
        send(notes, code, message);
    notes->noted |= UINT64_C(1) << code;
    attn_monitor_leave(notes->monitor);
}

/* Counts the items in which an edit changes nothing (attn_counted_note_fn). */
static void count_idle(void *user, const struct attn_counted_note *note)
{
    struct attn_item_notes *notes = user;
    struct idle_edit *idle = notes->idle;

    attn_monitor_enter(notes->monitor);
    while (idle < notes->idle + notes->n_idle &&
           (idle->code != note->code || strcmp(idle->subject, note->subject) != 0))
        idle++;
    if (idle == notes->idle + notes->n_idle && notes->n_idle < MOST_IDLE) {
        *idle = (struct idle_edit){
            note->code, attn_strndup(note->subject, strlen(note->subject), NULL), note->reason, 0};
        notes->n_idle += idle->subject != NULL;
    }
    if (idle < notes->idle + notes->n_idle)
        idle->n += note->n_run > 0 ? note->n : 1;
    attn_monitor_leave(notes->monitor);
}

void attn_item_notes_fill(struct attn_item_notes *notes, struct attn_request *request)
{
    request->on_note = attn_item_notes_once;
    request->on_counted = count_idle;
    request->user = notes;
}

static int by_subject(const void *a, const void *b)
{
    return strcmp(((const struct idle_edit *)a)->subject, ((const struct idle_edit *)b)->subject);
}

void attn_item_notes_idle(struct attn_item_notes *notes, size_t n)
{
    qsort(notes->idle, notes->n_idle, sizeof *notes->idle, by_subject);
    for (size_t i = 0; i < notes->n_idle; i++)
        attn_note(attn_item_notes_forward, notes, notes->idle[i].code, "%s in %zu of %zu items: %s",
                  notes->idle[i].subject, notes->idle[i].n, n, notes->idle[i].reason);
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

void attn_item_notes_id(struct attn_item_notes *notes, const struct attn_item *item, int side,
                        bool is_paired)
{
    const uint64_t hash =
        (attn_hash_bytes(notes->seed, item->id, item->n_id) | 1) ^ (side == 1 ? 2 : 0);
    size_t at;

    if (notes->has_twice || notes->n_id == N_ID || item->id_kind == ATTN_RECORD_ID_NUMBER ||
        (!notes->ids && ATTN_ALLOC(notes->ids, N_SLOT, NULL) != ATTN_OK))
        return;
    for (at = (size_t)(hash >> 1); notes->ids[at % N_SLOT] != 0; at++)
        if (notes->ids[at % N_SLOT] == hash) {
            notes->has_twice = true;
            attn_note(attn_item_notes_forward, notes, ATTN_NOTE_REPEATED_ID,
                      "the id %s is there more than once%s", name_of(item).text,
                      is_paired ? " on one side of `paired`, whose pairs go by the order of items"
                                : "");
            return;
        }
    notes->ids[at % N_SLOT] = hash;
    notes->n_id++;
}

void attn_item_notes_failure(struct attn_item_notes *notes, const struct attn_item_result *result)
{
    const struct attn_error *err = &result->err;
    const bool is_same = strcmp(notes->last.message, err->message) == 0;

    notes->has_other |= !is_same && notes->n_named == MOST_NAMED;
    if (is_same || notes->n_named == MOST_NAMED) {
        notes->n_unnamed++;
        return;
    }
    notes->last = *err;
    notes->n_named++;
    attn_note(attn_item_notes_forward, notes, ATTN_NOTE_ITEM_FAILED, "item %s: %s%s%s%s",
              name_of(result->item).text, err->message, err->hint[0] ? " (" : "", err->hint,
              err->hint[0] ? ")" : "");
}

void attn_item_notes_others(struct attn_item_notes *notes)
{
    if (notes->n_unnamed > 0)
        attn_note(attn_item_notes_forward, notes, ATTN_NOTE_ITEM_FAILED, "%zu more item%s failed%s",
                  notes->n_unnamed, notes->n_unnamed == 1 ? "" : "s",
                  notes->has_other ? "" : " in the same way");
}

void attn_item_notes_progress(struct attn_item_notes *notes, uint64_t n, uint64_t n_all)
{
    const struct attn_request *request = notes->request;

    attn_monitor_enter(notes->monitor);
    notes->n_done = (size_t)n;
    notes->n_all = (size_t)n_all;
    if (request->on_progress)
        request->on_progress(request->user, notes->n_done, notes->n_all);
    attn_monitor_leave(notes->monitor);
}

void attn_item_notes_renew(struct attn_item_notes *notes)
{
    const struct attn_request *request = notes->request;

    attn_monitor_enter(notes->monitor);
    if (request->on_progress && notes->n_done > 0)
        request->on_progress(request->user, notes->n_done, notes->n_all);
    attn_monitor_leave(notes->monitor);
}

/* --- Defaults --------------------------------------------------------------------------------- */

void attn_item_defaults_add(struct attn_item_defaults *defaults, const char *keys,
                            const char *place)
{
    for (size_t i = 0; keys && i < defaults->n; i++)
        if (defaults->items[i].keys && strcmp(defaults->items[i].keys, keys) == 0)
            return;
    if (defaults->n == ATTN_MOST_DEFAULTS)
        return;
    defaults->untaken |= UINT64_C(1) << defaults->n;
    defaults->items[defaults->n++] = (struct attn_item_default){keys, place};
}

uint64_t attn_item_defaults_keys(const struct attn_item_defaults *defaults)
{
    uint64_t keys = 0;

    for (size_t i = 0; i < defaults->n; i++)
        keys |= (uint64_t)(defaults->items[i].keys != NULL) << i;
    return keys;
}

void attn_item_defaults_take(struct attn_item_defaults *defaults, const struct attn_item *item)
{
    if (item->failure != ATTN_REASON_NONE)
        return;
    for (size_t i = 0; defaults->untaken != 0 && i < defaults->n; i++) {
        const struct attn_item_default *one = &defaults->items[i];

        if (!(one->keys ? attn_item_has(item, one->keys)
                        : attn_item_place(item, one->place) != NULL))
            defaults->untaken &= ~(UINT64_C(1) << i);
    }
}
