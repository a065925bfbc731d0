/*
 * run_measures.h - measures of a run: their settings, and where its heads park weight
 * (measures/parks.h), found in the pass whose events a receiver gets. Parks are known after the
 * last event, so that the events are held until then; if they take more than ATTN_PARKING_HELD
 * bytes, the text has to run again.
 *
 *     struct attn_trace to = {.selection = selection, .on_event = on_event, .user = user};
 *     attn_run_begin_parking(run, &to, true, &parking, &err);
 *     ... a pass with parking.trace ...
 *     attn_parking_find(&parking, parks);
 *     if (attn_held_is_whole(parking.held))
 *         attn_held_play(parking.held, &to, &err);
 *     else
 *         ... a pass with &to ...
 *     attn_parking_release(&parking);
 */
#pragma once

#include "measures/metric.h"
#include "measures/parks.h"
#include "run/run_internal.h"

/* Returns the settings of measures for the tokens of RUN. Borrows from RUN. */
struct attn_metric_settings attn_run_metric_settings(const struct attn_run *run);

/* The same for the tokens of its source. */
struct attn_metric_settings attn_run_source_settings(const struct attn_run *run);

/* Keeps the events of a trace, and plays them again: for receivers that first have to know what
 * only the last event says. */
struct attn_held;

/* Creates an empty store of at most MOST bytes of numbers. The caller frees *held. */
enum attn_status attn_held_create(size_t most, struct attn_held **held, struct attn_error *err);
void attn_held_free(struct attn_held *held); /* NULL is allowed */

/* Copies EVENT (attn_trace_fn; USER is the struct attn_held). The first event that has no room
 * empties the store, and those after it are not kept. */
enum attn_status attn_held_add(void *user, const struct attn_trace_event *event,
                               struct attn_error *err);

/* Whether all events that came are kept. */
bool attn_held_is_whole(const struct attn_held *held);

/* Calls the function of TO, whose selection is ignored, with each event, in their order. */
enum attn_status attn_held_play(const struct attn_held *held, const struct attn_trace *to,
                                struct attn_error *err);

enum { ATTN_PARKING_HELD = 16 << 20 };

struct attn_parking {
    struct attn_trace trace; /* of all heads, and what `to` selects */
    struct attn_trace kept;  /* gets what `to` selects; borrows its selection */
    struct attn_held *held;  /* owns; or NULL */
    /* own, until they are found; of the text, and of the encoder if `to` selects its patterns */
    struct attn_parks *parks[2];
    struct attn_selection *all;     /* owns; of `trace` */
    struct attn_selection *encoder; /* owns; the part of the encoder; or NULL */
};

/* Begins in RUN, which must be of a model. TO is borrowed; NULL: only the parks are wanted, which
 * do not depend on it. Its events are held, or if not IS_HELD handed on at once. PARKING must not
 * be moved; release it after a failure, too. Errors have a stage. */
enum attn_status attn_run_begin_parking(const struct attn_run *run, const struct attn_trace *to,
                                        bool is_held, struct attn_parking *parking,
                                        struct attn_error *err);

/* Sets PARKS to the parks of the text and of the encoder, or NULL. The caller frees them. */
void attn_parking_find(struct attn_parking *parking, struct attn_parks *parks[2]);
void attn_parking_release(struct attn_parking *parking);
