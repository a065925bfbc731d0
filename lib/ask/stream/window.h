/*
 * window.h - computes many items on several threads: reads them in order, hands out their results
 * in the same order, and limits how many are in memory. For stream/many.h.
 *
 *     static const struct attn_window_form form = {
 *         .slot_size = sizeof(struct slot), .n_slot = 16, .n_worker = 4,
 *         .read = read, .compute = compute, .take = take, .release = release, .user = &mine};
 *     attn_window_run(&form, host, &err);
 *
 * The caller's thread reads items into a ring of slots. Workers take unclaimed items in order. The
 * thread that finishes the oldest item hands out finished items, so that this needs no separate
 * thread. Without workers, or if the system refuses to start threads, the caller's thread computes
 * and hands out each item before it reads the next one.
 */
#pragma once

#include "run/host.h"

struct attn_window;

struct attn_window_form {
    size_t slot_size; /* size of the slot that the window keeps for an item; zeroed before `read` */
    size_t n_slot;    /* maximum number of items in the window */
    size_t most_bytes; /* limit on the bytes of all slots together; one item may exceed it; 0: no
                          limit */
    size_t n_row; /* a worker takes items of about this many rows in total at a time; 0: one item */
    int n_worker; /* number of threads in addition to the caller's; 0: the caller's thread does
                     everything */

    /* Reads the next item into SLOT and sets *n_byte to its size, or sets *is_over. May block.
     * Called on the caller's thread. */
    enum attn_status (*read)(void *user, void *slot, size_t *n_byte, bool *is_over,
                             struct attn_error *err);
    size_t (*guess_rows)(
        const void *slot); /* the approximate number of rows of an item; NULL if n_row is 0 */

    /* Computes N items from FIRST on, which are in attn_window_slot, and reports each with
     * attn_window_finish. WORKER is 0 to n_worker - 1; 0 without workers. */
    enum attn_status (*compute)(void *user, struct attn_window *window, int worker, size_t first,
                                size_t n, struct attn_error *err);

    /* Receives the finished item in SLOT. Called in the order of items, one call at a time, on any
     * thread. IS_FOLLOWED: the next item is finished, too. */
    enum attn_status (*take)(void *user, void *slot, bool is_followed, struct attn_error *err);

    /* Frees the contents of SLOT, and zeroes it. Called once for each `read`, on any thread. */
    void (*release)(void *user, void *slot);
    void (*on_end)(void *user); /* called once, on any thread, if a failure ends the run: a blocked
                                   `read` should return; or NULL */
    void *user;                 /* user data of these functions */
};

/* Processes all items. A failure of `compute` or `take` ends it at once. A failure of `read` ends
 * it after the preceding items, except for ATTN_CANCELED, which ends it at once. If the flag of
 * HOST is set, the result is ATTN_CANCELED. */
enum attn_status attn_window_run(const struct attn_window_form *form, struct attn_host *host,
                                 struct attn_error *err);

/* --- Functions for `compute` ------------------------------------------------------------------ */

/* Returns the slot of item NUMBER, counted from 0. */
void *attn_window_slot(const struct attn_window *window, size_t number);

/* Waits until there is memory for N_BYTE more (the oldest item never waits), and until this thread
 * may compute; with IS_ALONE, until no other thread computes. Returns false if the run has failed.
 * A worker computes its items one after the other, so it waits only for items before FIRST. Call
 * attn_window_end after a result of true. */
bool attn_window_begin(struct attn_window *window, size_t first, size_t n_byte, bool is_alone);
void attn_window_end(struct attn_window *window);

/* Reports that the N items from FIRST on are computed. */
void attn_window_finish(struct attn_window *window, size_t first, size_t n);
