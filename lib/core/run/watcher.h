/*
 * watcher.h - what outputs need of a whole run before they are complete: the types of heads, and
 * the positions where heads park weight. lib/parts.c has the watcher of a program, or NULL; without
 * it no output has either.
 */
#pragma once

#include "trace/trace.h"

struct attn_pool;
struct attn_result;
struct attn_run;

struct attn_watcher {
    /* Begins before the run is performed, if an output shows types: sets `mixes`, and `watched`,
     * the selection with what they read. */
    enum attn_status (*begin)(struct attn_run *run, struct attn_error *err);
    /* Adds EVENT of the run to what was begun. */
    void (*add)(const struct attn_run *run, const struct attn_trace_event *event);
    /* If an output leaves out parks, performs the run once (attn_run_compute), and sets the parks
     * of its labels. What TRACE wants is held. */
    enum attn_status (*park)(struct attn_run *run, const struct attn_trace *trace,
                             struct attn_pool *pool, struct attn_result *result,
                             struct attn_error *err);
    /* Gives TRACE the events of the run that `park` performed. */
    enum attn_status (*play)(struct attn_run *run, const struct attn_trace *trace,
                             struct attn_pool *pool, struct attn_error *err);
    void (*release)(struct attn_run *run);
};

extern const struct attn_watcher *const attn_watcher;
