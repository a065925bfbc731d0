/*
 * many.c - see many.h. The caller's thread reads records into a ring, workers take what lies ready
 * from its other end, in order. Whoever finishes the oldest record hands out what is finished, so
 * that no thread is there for this alone.
 *
 * A worker that has computed one record of its batch after the other cannot be waited for by one
 * before it: so what waits for room, or for all threads, waits only for older records.
 */
#include "run/many.h"

#include "base/given.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/thread.h"
#include "run/intervention_internal.h"
#include "run/many_item.h"
#include "run/request_internal.h"

#include <string.h>

enum {
    DEFAULT_WINDOW = 1024,
    DEFAULT_WINDOW_BYTES = 64 << 20,
    N_HANDED_OUT = 32, /* at a time, until the reader sees the room */
};

/* What threads wait for. */
enum condition {
    WORK,  /* a record was read, or none will be */
    ROOM,  /* records were handed out */
    QUIET, /* a thread has stopped computing */
    N_CONDITION
};

/* A record in the ring. */
struct many_slot {
    struct attn_many_item item;
    size_t n_byte;    /* that it counts for */
    bool is_finished; /* computed, and not handed out yet */
};

struct many {
    const struct attn_many_task *task;
    const struct attn_many_calls *calls;
    struct attn_monitor *monitor; /* owns; what follows is looked at inside */
    struct many_slot *slots;      /* [n_slot] owns; record i is in slot i % n_slot */
    size_t n_slot;
    size_t n_handed_out, n_taken, n_read; /* records so far: of the first, of those, of all */
    size_t n_byte, most_bytes;            /* of the records inside */
    int n_worker;
    int n_computing;              /* threads that feed a session of their own */
    int n_alone_waiting;          /* those that want all threads */
    bool is_alone;                /* one of them has them */
    bool is_over;                 /* all records were read */
    bool is_handing_out;          /* a thread is at it */
    bool has_failed;              /* nothing is computed any more */
    bool cannot_hand_out;         /* `done` has failed */
    size_t n_run;                 /* records handed out that have not failed */
    struct attn_edit_part *parts; /* [n_part] owns; of the request's edits, which count the records
                                     that they change nothing in; or NULL */
    size_t n_part;
    bool has_noted_spaces; /* of a record that was handed out */
    struct attn_error err; /* why; also when no more could be read */
};

/* A thread, and the session that it feeds. */
struct many_worker {
    struct many *many;
    struct attn_thread thread;
    struct attn_many_pack *pack; /* owns */
};

static struct many_slot *slot_of(const struct many *many, size_t number)
{
    return &many->slots[number % many->n_slot];
}

/* --- Failing --------------------------------------------------------------------------------- */

/* Ends the run. From outside of the monitor. */
static void fail(struct many *many, enum attn_status status, const struct attn_error *err)
{
    bool is_first;

    attn_monitor_enter(many->monitor);
    is_first = !many->has_failed;
    many->has_failed = true;
    if (many->err.status == ATTN_OK) {
        attn_error_copy(&many->err, err);
        many->err.status = status;
    }
    for (int i = 0; i < N_CONDITION; i++)
        attn_monitor_wake(many->monitor, i);
    attn_monitor_leave(many->monitor);
    if (is_first && many->calls->on_end)
        many->calls->on_end(many->calls->user);
}

/* --- Handing out ----------------------------------------------------------------------------- */

static bool is_finished(const struct many *many, size_t number)
{
    return number < many->n_read && slot_of(many, number)->is_finished;
}

static void empty(struct many *many, struct many_slot *slot)
{
    if (many->calls->release)
        many->calls->release(many->calls->user, &slot->item.record);
    attn_many_item_release(&slot->item);
}

/* Whether record NUMBER, which was not finished a moment ago, is by now. */
static bool has_finished(struct many *many, size_t number)
{
    bool found;

    attn_monitor_enter(many->monitor);
    found = is_finished(many, number);
    attn_monitor_leave(many->monitor);
    return found;
}

/* Counts the edits that change nothing in ITEM, and notes the first whose spaces are odd. By the
 * thread that hands out. */
static void look_for_oddities(struct many *many, const struct attn_many_item *item)
{
    char message[ATTN_SPACES_MESSAGE_SIZE];

    if (!item->run)
        return;
    many->n_run++;
    if (!many->has_noted_spaces && many->task->options.request &&
        attn_spaces_describe(&item->run->spaces, message)) {
        many->has_noted_spaces = true;
        attn_request_note(many->task->options.request, "%s", message);
    }
    for (size_t i = 0; i < many->n_part; i++) {
        many->parts[i].n_idle += item->run->edit_parts[i].n_idle;
        many->parts[i].n_hidden += item->run->edit_parts[i].n_hidden;
    }
}

/* Hands out the records from FIRST up to END, which are finished. From outside of the monitor. */
static bool hand_out(struct many *many, size_t first, size_t end)
{
    bool is_well = true;

    for (size_t i = first; i < end; i++) {
        struct many_slot *slot = slot_of(many, i);
        struct attn_many_result *result = &slot->item.outcome;
        struct attn_error err = {0};
        enum attn_status status = ATTN_OK;

        if (is_well) {
            result->is_followed = i + 1 < end || has_finished(many, i + 1);
            status =
                attn_call_status(many->calls->done(many->calls->user, result, &err), "done", &err);
        }
        if (status != ATTN_OK) {
            fail(many, status, &err);
            is_well = false;
        }
        look_for_oddities(many, &slot->item);
        empty(many, slot);
    }
    return is_well;
}

/* Hands out what is finished, unless another thread does. From inside. */
static void hand_out_finished(struct many *many)
{
    if (many->is_handing_out || many->cannot_hand_out)
        return;
    many->is_handing_out = true;
    while (!many->cannot_hand_out && is_finished(many, many->n_handed_out)) {
        const size_t first = many->n_handed_out;
        size_t end = first;
        bool is_well;

        while (end - first < N_HANDED_OUT && is_finished(many, end))
            end++;
        attn_monitor_leave(many->monitor);
        is_well = hand_out(many, first, end);
        attn_monitor_enter(many->monitor);
        many->cannot_hand_out = !is_well;
        for (size_t i = first; i < end; i++) {
            slot_of(many, i)->is_finished = false;
            many->n_byte -= slot_of(many, i)->n_byte;
        }
        many->n_handed_out = end;
        attn_monitor_wake(many->monitor, ROOM);
    }
    many->is_handing_out = false;
}

/* The N records from FIRST on are computed. */
static void finish(struct many *many, size_t first, size_t n)
{
    attn_monitor_enter(many->monitor);
    for (size_t i = first; i < first + n; i++)
        slot_of(many, i)->is_finished = true;
    hand_out_finished(many);
    attn_monitor_leave(many->monitor);
}

/* --- Computing ------------------------------------------------------------------------------- */

/* Waits until N_BYTE more have room, which those of the oldest record always have, and until this
 * thread may compute; IS_ALONE: with all threads. False when the run has failed. */
static bool begin(struct many *many, size_t first, size_t n_byte, bool is_alone)
{
    bool is_on;

    attn_monitor_enter(many->monitor);
    while (!many->has_failed && many->n_byte + n_byte > many->most_bytes &&
           many->n_handed_out < first)
        attn_monitor_wait(many->monitor, ROOM);
    many->n_byte += n_byte;
    slot_of(many, first)->n_byte += n_byte;
    many->n_alone_waiting += is_alone;
    while (!many->has_failed &&
           (many->is_alone || (is_alone ? many->n_computing > 0 : many->n_alone_waiting > 0)))
        attn_monitor_wait(many->monitor, QUIET);
    many->n_alone_waiting -= is_alone;
    is_on = !many->has_failed;
    if (is_on) {
        many->is_alone = is_alone;
        many->n_computing++;
    } else {
        attn_monitor_wake(many->monitor, QUIET);
    }
    attn_monitor_leave(many->monitor);
    return is_on;
}

static void end(struct many *many)
{
    attn_monitor_enter(many->monitor);
    many->n_computing--;
    many->is_alone = false;
    attn_monitor_wake(many->monitor, QUIET);
    attn_monitor_leave(many->monitor);
}

/* Computes the N records from FIRST on in one pack. */
static enum attn_status compute_pack(struct many_worker *worker, size_t first, size_t n,
                                     struct attn_error *err)
{
    struct many *many = worker->many;
    struct attn_many_item *items[ATTN_MANY_PACK_ROWS];
    size_t n_byte = 0;
    enum attn_status status;

    if (n == 0)
        return ATTN_OK;
    for (size_t i = 0; i < n; i++) {
        items[i] = &slot_of(many, first + i)->item;
        n_byte += items[i]->n_byte;
    }
    if (!begin(many, first, n_byte, false))
        return ATTN_OK;
    status = attn_many_pack_run(worker->pack, items, n, err);
    end(many);
    if (status == ATTN_OK)
        finish(many, first, n);
    return status;
}

/* Computes record NUMBER with a session of its own. */
static enum attn_status compute_alone(struct many_worker *worker, size_t number,
                                      struct attn_error *err)
{
    struct many *many = worker->many;
    struct attn_many_item *item = &slot_of(many, number)->item;
    const bool is_long = item->n_row > ATTN_MANY_MOST_ROWS;

    if (item->record.failure == ATTN_RECORD_FAILURE_NONE) {
        enum attn_status status;

        if (!begin(many, number, item->n_byte, is_long))
            return ATTN_OK;
        status = attn_many_item_compute(many->task, item, is_long, err);
        end(many);
        ATTN_TRY(status);
    }
    finish(many, number, 1);
    return ATTN_OK;
}

/* Computes the N records from FIRST on, in their order. */
static enum attn_status compute(struct many_worker *worker, size_t first, size_t n,
                                struct attn_error *err)
{
    struct many *many = worker->many;
    size_t pack = first, n_row = 0; /* the pack that is being put together */

    for (size_t i = first; i < first + n; i++) {
        struct attn_many_item *item = &slot_of(many, i)->item;
        size_t n_more;

        ATTN_TRY(attn_many_item_prepare(many->task, item, err));
        n_more = item->can_pack ? item->n_row : 0;
        if (n_more > 0 && n_row + n_more <= ATTN_MANY_PACK_ROWS &&
            i - pack < many->task->n_most_packed) {
            n_row += n_more;
            continue;
        }
        ATTN_TRY(compute_pack(worker, pack, i - pack, err));
        pack = i;
        n_row = n_more;
        if (n_more == 0) {
            ATTN_TRY(compute_alone(worker, i, err));
            pack = i + 1;
        }
    }
    return compute_pack(worker, pack, first + n - pack, err);
}

/* --- Workers --------------------------------------------------------------------------------- */

/* About how many positions RECORD has. */
static size_t guess_rows(const struct attn_record *record)
{
    enum { BYTES_A_TOKEN = 4, PICTURE_ROWS = 256 };

    if (record->failure != ATTN_RECORD_FAILURE_NONE)
        return 0;
    if (record->input.image)
        return PICTURE_ROWS;
    return 1 + (record->input.ids ? record->input.n_id : record->input.n_text / BYTES_A_TOKEN);
}

/* How many of the records that lie ready one worker takes: a pack, and no more than its share. From
 * inside. */
static size_t count_batch(const struct many *many)
{
    const size_t n_ready = many->n_read - many->n_taken;
    const size_t share = (n_ready + (size_t)many->n_worker - 1) / (size_t)many->n_worker;
    size_t n = 0, n_row = 0;

    while (n < share) {
        n_row += guess_rows(&slot_of(many, many->n_taken + n)->item.record);
        if (n > 0 && n_row > ATTN_MANY_PACK_ROWS)
            break;
        n++;
    }
    return n;
}

/* Takes a batch and computes it. False when there is none. From inside. */
static bool work_once(struct many_worker *worker)
{
    struct many *many = worker->many;
    const size_t first = many->n_taken;
    struct attn_error err = {0};
    enum attn_status status;
    size_t n;

    if (many->has_failed || many->n_taken == many->n_read)
        return false;
    n = count_batch(many);
    many->n_taken += n;
    attn_monitor_leave(many->monitor);
    status = compute(worker, first, n, &err);
    if (status != ATTN_OK)
        fail(many, status, &err);
    attn_monitor_enter(many->monitor);
    return true;
}

static void *work(void *user)
{
    struct many_worker *worker = user;
    struct many *many = worker->many;

    attn_monitor_enter(many->monitor);
    while (work_once(worker) || !(many->is_over || many->has_failed))
        if (many->n_taken == many->n_read && !many->is_over && !many->has_failed)
            attn_monitor_wait(many->monitor, WORK);
    attn_monitor_leave(many->monitor);
    return NULL;
}

/* --- Reading --------------------------------------------------------------------------------- */

/* The slot of the next record, when there is room; NULL when the run has failed. */
static struct many_slot *wait_for_room(struct many *many)
{
    struct many_slot *slot = NULL;

    attn_monitor_enter(many->monitor);
    while (!many->has_failed && many->n_read > many->n_handed_out &&
           (many->n_read - many->n_handed_out == many->n_slot || many->n_byte >= many->most_bytes))
        attn_monitor_wait(many->monitor, ROOM);
    if (!many->has_failed)
        slot = slot_of(many, many->n_read);
    attn_monitor_leave(many->monitor);
    return slot;
}

/* SLOT holds the next record. SELF: this thread, where no other works. */
static void add(struct many *many, struct many_slot *slot, struct many_worker *self)
{
    const struct attn_record *record = &slot->item.record;

    attn_monitor_enter(many->monitor);
    slot->n_byte = sizeof *slot + record->n_id + record->input.n_text + record->source.n_text +
                   (record->input.n_id + record->source.n_id) * sizeof(int32_t);
    for (size_t i = 0; i < record->n_next; i++)
        slot->n_byte += strlen(record->next[i]);
    many->n_byte += slot->n_byte;
    many->n_read++;
    attn_monitor_wake_one(many->monitor, WORK);
    if (self)
        work_once(self);
    attn_monitor_leave(many->monitor);
}

/* Nothing more is read. Who cancels does not wait for what is inside, who cannot read does: what
 * comes of the records before does not depend on time. */
static void stop_reading(struct many *many, enum attn_status status, const struct attn_error *err)
{
    if (status == ATTN_CANCELED) {
        fail(many, status, err);
        return;
    }
    attn_monitor_enter(many->monitor);
    attn_error_copy(&many->err, err);
    many->err.status = status;
    attn_monitor_leave(many->monitor);
}

/* Reads the next record into SLOT, which stays empty when that fails and when *is_over. */
static enum attn_status read_record(struct many *many, struct many_slot *slot, bool *is_over,
                                    struct attn_error *err)
{
    const struct attn_many_calls *calls = many->calls;
    enum attn_status status;

    slot->item.record.number = many->n_read;
    ATTN_TRY(attn_host_check_canceled(many->task->host, err));
    status =
        attn_call_status(calls->next(calls->user, &slot->item.record, is_over, err), "next", err);
    if (status != ATTN_OK || *is_over)
        empty(many, slot);
    return status;
}

static void read_all(struct many *many, struct many_worker *self)
{
    struct many_slot *slot;

    while ((slot = wait_for_room(many))) {
        struct attn_error err = {0};
        bool is_over = false;
        const enum attn_status status = read_record(many, slot, &is_over, &err);

        if (status != ATTN_OK)
            stop_reading(many, status, &err);
        if (status != ATTN_OK || is_over)
            break;
        add(many, slot, self);
    }
}

/* --- All of it ------------------------------------------------------------------------------- */

static enum attn_status create(struct many *many, struct attn_error *err)
{
    const struct attn_many_options *options = &many->task->options;

    many->n_slot = options->n_window > 0 ? options->n_window : DEFAULT_WINDOW;
    many->most_bytes = options->n_window_byte > 0 ? options->n_window_byte : DEFAULT_WINDOW_BYTES;
    many->slots = attn_alloc(many->n_slot, sizeof *many->slots, err);
    if (!many->slots)
        return ATTN_NO_MEMORY;
    ATTN_TRY(attn_edit_parts_create(&many->task->request.edits, &many->parts, &many->n_part, err));
    return attn_monitor_create(N_CONDITION, &many->monitor, err);
}

static void release(struct many *many)
{
    for (size_t i = many->n_handed_out; i < many->n_read; i++)
        empty(many, slot_of(many, i));
    attn_monitor_free(many->monitor);
    attn_free(many->slots);
    attn_free(many->parts);
}

/* What each run would have noted, of all of them. */
static void note_idle(const struct many *many)
{
    const struct attn_request *request = many->task->options.request;

    if (!request)
        return;
    attn_edit_parts_note_hidden(request, many->parts, many->n_part, many->n_run);
    attn_edit_parts_note_idle(request, many->parts, many->n_part, many->n_run);
}

/* Reads while WORKERS [n] work, and waits until they have finished. */
static void perform(struct many *many, struct many_worker *workers, int n)
{
    int n_started = 0;

    many->n_worker = n;
    for (int i = 0; i < n; i++)
        workers[i].many = many;
    while (n_started < n &&
           attn_thread_start(work, &workers[n_started], &workers[n_started].thread))
        n_started++;
    read_all(many, n_started == 0 ? &workers[0] : NULL);
    attn_monitor_enter(many->monitor);
    many->is_over = true;
    attn_monitor_wake(many->monitor, WORK);
    attn_monitor_leave(many->monitor);
    for (int i = 0; i < n_started; i++)
        attn_thread_join(&workers[i].thread);
}

/* With WORKERS [n], which the caller frees. */
static enum attn_status run_workers(struct many *many, struct many_worker *workers, int n,
                                    struct attn_error *err)
{
    for (int i = 0; i < n; i++)
        ATTN_TRY(attn_many_pack_create(many->task, &workers[i].pack, err));
    perform(many, workers, n);
    ATTN_TRY(many->err.status == ATTN_OK ? ATTN_OK : attn_error_copy(err, &many->err));
    note_idle(many);
    return ATTN_OK;
}

/* With the task, which the caller releases, as what is made for the run. */
static enum attn_status run(struct many *many, struct attn_error *err)
{
    const int n = attn_pool_n_thread(many->task->host->pool);
    struct many_worker *workers;
    enum attn_status status;

    ATTN_TRY(create(many, err));
    workers = attn_alloc((size_t)n, sizeof *workers, err);
    if (!workers)
        return ATTN_NO_MEMORY;
    status = run_workers(many, workers, n, err);
    for (int i = 0; i < n; i++)
        attn_many_pack_free(workers[i].pack);
    attn_free(workers);
    return status;
}

enum attn_status attn_run_many(struct attn_host *host, const struct attn_many_options *options,
                               const struct attn_many_calls *calls, struct attn_error *err)
{
    struct attn_many_task task;
    struct many many = {.task = &task, .calls = calls};
    enum attn_status status;

    if (!attn_is_given(host, "host", err) || !attn_is_given(calls, "calls", err) ||
        !attn_is_given(calls->next, "next", err) || !attn_is_given(calls->done, "done", err))
        return ATTN_INVALID;
    status = attn_many_task_init(&task, host, options, err);
    if (status == ATTN_OK)
        status = run(&many, err);
    release(&many);
    attn_many_task_release(&task);
    return status;
}

const float *attn_many_measure(const struct attn_many_result *result, enum attn_measure measure)
{
    attn_measure_set before;

    if (!result || (unsigned)measure >= ATTN_N_MEASURE || !result->measures ||
        (result->which & ATTN_MEASURE_BIT(measure)) == 0)
        return NULL;
    before = result->which & (ATTN_MEASURE_BIT(measure) - 1);
    return result->measures +
           (size_t)attn_measures_count(before) * result->n_layer * result->n_head;
}
