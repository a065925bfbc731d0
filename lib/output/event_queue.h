/*
 * event_queue.h - the events of a run in the order of a document: site after site, of each head
 * after head, of each row after row.
 *
 * A trace tells large matrices in blocks whose sites follow one another. What is due goes through
 * at once; the rest waits as copies, without the masked cells: for a run fed in one step never more
 * than the matrices of one layer.
 */
#ifndef ATTN_OUTPUT_EVENT_QUEUE_H
#define ATTN_OUTPUT_EVENT_QUEUE_H

#include "output/writer.h"

struct attn_event_queue;

/* For the selection of WRITER, which is borrowed. */
enum attn_status attn_event_queue_create(struct attn_writer *writer,
                                         struct attn_event_queue **queue, struct attn_error *err);

/* Hands the event, and then those that have become due, to the format of the writer; or keeps
 * it. */
enum attn_status attn_event_queue_take(struct attn_event_queue *queue,
                                       const struct attn_trace_event *event,
                                       const struct attn_place *place, struct attn_error *err);

/* Whether nothing waits: false after all rows came means that some came out of order. */
bool attn_event_queue_is_empty(const struct attn_event_queue *queue);

void attn_event_queue_free(struct attn_event_queue *queue); /* NULL is allowed */

#endif
