/*
 * held.h - keeps the events of a trace, and plays them again: for receivers that first have to know
 * what only the last event says.
 *
 *     attn_held_create(16 << 20, &held, &err);
 *     trace.on_event = attn_held_add, trace.user = held;
 *     ... the session is fed ...
 *     if (attn_held_is_whole(held))
 *         status = attn_held_play(held, &to, &err);
 *     attn_held_free(held);
 */
#ifndef ATTN_MEASURES_HELD_H
#define ATTN_MEASURES_HELD_H

#include "trace/trace.h"

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

#endif
