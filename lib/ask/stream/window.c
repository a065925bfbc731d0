#include "stream/window.h"

#include "base/memory.h"
#include "base/os/thread.h"
#include "base/status_internal.h"
#include "run/host_internal.h"

#include <string.h>

/* Maximum number of items to hand out before the reader is told about the free slots. */
enum { N_HANDED_OUT = 32 };

/* The conditions that threads wait for. */
enum condition {
    WORK,  /* an item was read, or reading has ended */
    ROOM,  /* items were handed out */
    QUIET, /* a thread has stopped computing */
    N_CONDITION
};

/* The state of an item. */
struct place {
    size_t n_byte;    /* the bytes that are counted for it */
    bool is_finished; /* computed, and not handed out yet */
};

struct attn_window {
    const struct attn_window_form *form;
    struct attn_host *host;
    struct attn_monitor *monitor; /* owns; guards the fields below */
    char *slots;                  /* [n_slot, slot_size] owns; item i is in slot i % n_slot */
    struct place *places;         /* [n_slot] owns; item i is in place i % n_slot */
    /* Numbers of items handed out, taken by workers, and read so far. */
    size_t n_handed_out, n_taken, n_read;
    size_t n_byte;              /* bytes of the items in the window */
    int n_computing;            /* threads between begin and end */
    int n_alone_waiting;        /* number of threads that wait to compute alone */
    bool is_alone;              /* a thread is computing alone */
    bool is_over;               /* all items were read */
    bool is_handing_out;        /* a thread is handing out items */
    bool has_failed;            /* no further items are computed */
    bool cannot_hand_out;       /* `take` has failed */
    struct attn_error err;      /* the reason for the failure */
    struct attn_error read_err; /* the reason why reading failed */
};

struct worker {
    struct attn_window *window;
    struct attn_thread thread;
    int index;
};

void *attn_window_slot(const struct attn_window *window, size_t number)
{
    return window->slots + number % window->form->n_slot * window->form->slot_size;
}

static struct place *place_of(const struct attn_window *window, size_t number)
{
    return &window->places[number % window->form->n_slot];
}

static bool has_no_room(const struct attn_window *window, size_t n_byte)
{
    return window->form->most_bytes > 0 && window->n_byte + n_byte > window->form->most_bytes;
}

/* Ends the run with a failure. Call it without the monitor held. */
static void fail(struct attn_window *window, enum attn_status status, const struct attn_error *err)
{
    bool is_first;

    attn_monitor_enter(window->monitor);
    is_first = !window->has_failed;
    window->has_failed = true;
    if (is_first) {
        attn_error_copy(&window->err, err);
        window->err.status = status;
    }
    for (int i = 0; i < N_CONDITION; i++)
        attn_monitor_wake(window->monitor, i);
    attn_monitor_leave(window->monitor);
    if (is_first && window->form->on_end)
        window->form->on_end(window->form->user);
}

/* --- Handing out ----------------------------------------------------------------------------- */

static bool is_finished(const struct attn_window *window, size_t number)
{
    return number < window->n_read && place_of(window, number)->is_finished;
}

/* Whether item NUMBER is finished by now. Call it without the monitor held. */
static bool has_finished(struct attn_window *window, size_t number)
{
    bool found;

    attn_monitor_enter(window->monitor);
    found = is_finished(window, number);
    attn_monitor_leave(window->monitor);
    return found;
}

/* Hands out the items from FIRST to END-1, which are finished. Returns false on failure. Call it
 * without the monitor held. */
static bool hand_out(struct attn_window *window, size_t first, size_t end)
{
    const struct attn_window_form *form = window->form;
    bool is_well = true;

    for (size_t i = first; i < end; i++) {
        void *slot = attn_window_slot(window, i);
        struct attn_error err = {0};
        enum attn_status status = ATTN_OK;

        if (is_well)
            status = form->take(form->user, slot, i + 1 < end || has_finished(window, i + 1), &err);
        if (status != ATTN_OK) {
            fail(window, status, &err);
            is_well = false;
        }
        form->release(form->user, slot);
    }
    return is_well;
}

/* Hands out finished items, unless another thread is doing so. Call it with the monitor held. */
static void hand_out_finished(struct attn_window *window)
{
    if (window->is_handing_out || window->cannot_hand_out)
        return;
    window->is_handing_out = true;
    while (!window->cannot_hand_out && is_finished(window, window->n_handed_out)) {
        const size_t first = window->n_handed_out;
        size_t end = first;
        bool is_well;

        while (end - first < N_HANDED_OUT && is_finished(window, end))
            end++;
        attn_monitor_leave(window->monitor);
        is_well = hand_out(window, first, end);
        attn_monitor_enter(window->monitor);
        window->cannot_hand_out = !is_well;
        for (size_t i = first; i < end; i++) {
            place_of(window, i)->is_finished = false;
            window->n_byte -= place_of(window, i)->n_byte;
        }
        window->n_handed_out = end;
        attn_monitor_wake(window->monitor, ROOM);
    }
    window->is_handing_out = false;
}

void attn_window_finish(struct attn_window *window, size_t first, size_t n)
{
    attn_monitor_enter(window->monitor);
    for (size_t i = first; i < first + n; i++)
        place_of(window, i)->is_finished = true;
    hand_out_finished(window);
    attn_monitor_leave(window->monitor);
}

/* --- Computing ------------------------------------------------------------------------------- */

bool attn_window_begin(struct attn_window *window, size_t first, size_t n_byte, bool is_alone)
{
    bool is_on;

    attn_monitor_enter(window->monitor);
    while (!window->has_failed && has_no_room(window, n_byte) && window->n_handed_out < first)
        attn_monitor_wait(window->monitor, ROOM);
    window->n_byte += n_byte;
    place_of(window, first)->n_byte += n_byte;
    window->n_alone_waiting += is_alone;
    while (!window->has_failed &&
           (window->is_alone || (is_alone ? window->n_computing > 0 : window->n_alone_waiting > 0)))
        attn_monitor_wait(window->monitor, QUIET);
    window->n_alone_waiting -= is_alone;
    is_on = !window->has_failed;
    if (is_on) {
        window->is_alone = is_alone;
        window->n_computing++;
    } else {
        attn_monitor_wake(window->monitor, QUIET);
    }
    attn_monitor_leave(window->monitor);
    return is_on;
}

void attn_window_end(struct attn_window *window)
{
    attn_monitor_enter(window->monitor);
    window->n_computing--;
    window->is_alone = false;
    attn_monitor_wake(window->monitor, QUIET);
    attn_monitor_leave(window->monitor);
}

/* Returns how many of the unclaimed items one worker takes: items of about n_row rows, but no more
 * than its share. Call it with the monitor held. */
static size_t count_batch(const struct attn_window *window)
{
    const struct attn_window_form *form = window->form;
    const size_t n_worker = form->n_worker > 0 ? (size_t)form->n_worker : 1;
    const size_t n_ready = window->n_read - window->n_taken;
    const size_t share = (n_ready + n_worker - 1) / n_worker;
    size_t n = 0, n_row = 0;

    while (n < (form->n_row > 0 ? share : 1)) {
        if (form->n_row > 0)
            n_row += form->guess_rows(attn_window_slot(window, window->n_taken + n));
        if (n > 0 && n_row > form->n_row)
            break;
        n++;
    }
    return n;
}

/* Takes a batch of items and computes it. Returns false if there is none. Call it with the monitor
 * held. */
static bool work_once(struct attn_window *window, int worker)
{
    const size_t first = window->n_taken;
    struct attn_error err = {0};
    enum attn_status status;
    size_t n;

    if (window->has_failed || window->n_taken == window->n_read)
        return false;
    n = count_batch(window);
    window->n_taken += n;
    attn_monitor_leave(window->monitor);
    status = window->form->compute(window->form->user, window, worker, first, n, &err);
    if (status != ATTN_OK)
        fail(window, status, &err);
    attn_monitor_enter(window->monitor);
    return true;
}

static void *work(void *user)
{
    const struct worker *worker = user;
    struct attn_window *window = worker->window;

    attn_monitor_enter(window->monitor);
    while (work_once(window, worker->index) || !(window->is_over || window->has_failed))
        if (window->n_taken == window->n_read && !window->is_over && !window->has_failed)
            attn_monitor_wait(window->monitor, WORK);
    attn_monitor_leave(window->monitor);
    return NULL;
}

/* --- Reading --------------------------------------------------------------------------------- */

/* Waits until a slot is free, and returns it for the next item; NULL if the run has failed. */
static void *wait_for_room(struct attn_window *window)
{
    void *slot = NULL;

    attn_monitor_enter(window->monitor);
    while (
        !window->has_failed && window->n_read > window->n_handed_out &&
        (window->n_read - window->n_handed_out == window->form->n_slot || has_no_room(window, 1)))
        attn_monitor_wait(window->monitor, ROOM);
    if (!window->has_failed)
        slot = attn_window_slot(window, window->n_read);
    attn_monitor_leave(window->monitor);
    return slot;
}

/* Adds the next item, which is in its slot and counts N_BYTE. If IS_ALONE, there is no worker, and
 * this thread computes it. */
static void add(struct attn_window *window, size_t n_byte, bool is_alone)
{
    attn_monitor_enter(window->monitor);
    place_of(window, window->n_read)->n_byte = n_byte;
    window->n_byte += n_byte;
    window->n_read++;
    attn_monitor_wake_one(window->monitor, WORK);
    if (is_alone)
        work_once(window, 0);
    attn_monitor_leave(window->monitor);
}

/* Ends reading because of STATUS. Cancellation ends the run at once. Any other failure lets the
 * items before it finish, so that the results do not depend on timing. */
static void stop_reading(struct attn_window *window, enum attn_status status,
                         const struct attn_error *err)
{
    if (status == ATTN_CANCELED) {
        fail(window, status, err);
        return;
    }
    attn_error_copy(&window->read_err, err);
    window->read_err.status = status;
}

static void read_all(struct attn_window *window, bool is_alone)
{
    const struct attn_window_form *form = window->form;
    void *slot;

    while ((slot = wait_for_room(window))) {
        struct attn_error err = {0};
        enum attn_status status = attn_host_check_canceled(window->host, &err);
        bool is_over = false;
        size_t n_byte = 0;

        if (status == ATTN_OK) {
            status = form->read(form->user, slot, &n_byte, &is_over, &err);
            if (status != ATTN_OK || is_over)
                form->release(form->user, slot);
        }
        if (status != ATTN_OK)
            stop_reading(window, status, &err);
        if (status != ATTN_OK || is_over)
            break;
        add(window, n_byte, is_alone);
    }
}

/* --- The whole run ---------------------------------------------------------------------------- */

/* Reads items while WORKERS compute, and waits until they have finished. */
static void perform(struct attn_window *window, struct worker *workers)
{
    int n_started = 0;

    for (int i = 0; i < window->form->n_worker; i++)
        workers[i] = (struct worker){.window = window, .index = i};
    while (n_started < window->form->n_worker &&
           attn_thread_start(work, &workers[n_started], &workers[n_started].thread))
        n_started++;
    read_all(window, n_started == 0);
    attn_monitor_enter(window->monitor);
    window->is_over = true;
    attn_monitor_wake(window->monitor, WORK);
    attn_monitor_leave(window->monitor);
    for (int i = 0; i < n_started; i++)
        attn_thread_join(&workers[i].thread);
}

enum attn_status attn_window_run(const struct attn_window_form *form, struct attn_host *host,
                                 struct attn_error *err)
{
    struct attn_window window = {.form = form, .host = host};
    struct worker *workers = attn_alloc((size_t)form->n_worker, sizeof *workers, err);
    enum attn_status status = ATTN_NO_MEMORY;

    window.slots = attn_alloc(form->n_slot, form->slot_size, err);
    window.places = attn_alloc(form->n_slot, sizeof *window.places, err);
    if (workers && window.slots && window.places)
        status = attn_monitor_create(N_CONDITION, &window.monitor, err);
    if (status == ATTN_OK) {
        const struct attn_error *why;

        perform(&window, workers);
        why = window.has_failed ? &window.err : &window.read_err;
        status = why->status;
        if (status != ATTN_OK)
            attn_error_copy(err, why);
    }
    for (size_t i = window.n_handed_out; i < window.n_read; i++)
        form->release(form->user, attn_window_slot(&window, i));
    attn_monitor_free(window.monitor);
    attn_free(window.places);
    attn_free(window.slots);
    attn_free(workers);
    return status;
}
