/*
 * window.h - computes many items on several threads: reads them in one order, hands their results
 * out in that order, and holds no more of them at a time than fit. For run/many.h and for the
 * items of experiments.
 *
 *     static const struct attn_window_form form = {
 *         .slot_size = sizeof(struct slot), .n_slot = 16, .n_worker = 4,
 *         .read = read, .compute = compute, .take = take, .release = release, .user = &mine};
 *     attn_window_run(&form, host, &err);
 *
 * The caller's thread reads items into a ring of slots. Workers take what lies ready from its other
 * end, in order. The thread that finishes the oldest item hands out what is finished, so that no
 * thread is there for this alone. Without workers, or where the system refuses threads, the
 * caller's thread computes and hands out each item before it reads the next one.
 */
#ifndef ATTN_RUN_WINDOW_H
#define ATTN_RUN_WINDOW_H

#include "host/host.h"

struct attn_window;

struct attn_window_form {
    size_t slot_size; /* size of the slot that the window keeps for an item; zeroed before `read` */
    size_t n_slot;    /* items inside at a time */
    size_t most_bytes; /* limit on the bytes of all slots together; one item may exceed it; 0: no
                          limit */
    size_t n_row;      /* a worker takes items of about this many rows at a time; 0: one item */
    int n_worker;      /* threads beside the caller's; 0: the caller's thread does everything */

    /* Reads the next item into SLOT, *N_BYTE of them, or sets *is_over. May block. On the caller's
     * thread. */
    enum attn_status (*read)(void *user, void *slot, size_t *n_byte, bool *is_over,
                             struct attn_error *err);
    size_t (*guess_rows)(
        const void *slot); /* the approximate number of rows of an item; NULL if n_row is 0 */

    /* Computes the N items from FIRST on, by attn_window_slot, and reports each by
     * attn_window_finish. WORKER is 0 .. n_worker - 1, or 0. */
    enum attn_status (*compute)(void *user, struct attn_window *window, int worker, size_t first,
                                size_t n, struct attn_error *err);

    /* Takes the item in SLOT, which is finished: in the order of items, one at a time, on any
     * thread. IS_FOLLOWED: the next one is finished, too. */
    enum attn_status (*take)(void *user, void *slot, bool is_followed, struct attn_error *err);

    /* Frees what is in SLOT, and leaves zeros. Once for each call of `read`, on any thread. */
    void (*release)(void *user, void *slot);
    void (*on_end)(void *user); /* called once, on any thread, if a failure ends the run: a blocked
                                   `read` should return; or NULL */
    void *user;                 /* for these */
};

/* Processes all items. A failure of `compute` or `take` ends it at once. A failure of `read` ends
 * it after the preceding items, except ATTN_CANCELED, which the window also reports if the flag of
 * HOST is set. */
enum attn_status attn_window_run(const struct attn_window_form *form, struct attn_host *host,
                                 struct attn_error *err);

/* --- For `compute` ---------------------------------------------------------------------------- */

/* The slot of item NUMBER, counted from 0. */
void *attn_window_slot(const struct attn_window *window, size_t number);

/* Waits until there is room for N_BYTE more (always for the oldest item), and until this thread may
 * compute; IS_ALONE: until no other thread computes. False if the run has failed. A worker computes
 * its items one after the other, so it waits only for items before FIRST. Call attn_window_end
 * after true. */
bool attn_window_begin(struct attn_window *window, size_t first, size_t n_byte, bool is_alone);
void attn_window_end(struct attn_window *window);

/* Reports that the N items from FIRST on are computed. */
void attn_window_finish(struct attn_window *window, size_t first, size_t n);

#endif
