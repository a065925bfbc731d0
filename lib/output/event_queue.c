/* event_queue.c - see event_queue.h. Rows of one head come in order, so what waits is a list for
 * each head of each site. */
#include "output/event_queue.h"

#include "base/memory.h"

#include <string.h>

enum { PIECE_FLOATS = 1 << 16 }; /* events are kept in pieces of 256 KiB and at most one row more */

/* An event that waits, packed: of each row the cells that count, one row after the other. */
struct waiting {
    struct waiting *next;
    struct attn_trace_event event; /* data and keys lie behind the counts */
    struct attn_place place;
    size_t counts[]; /* [event.n_row] cells of each row */
};

/* The rows of one head of one site, or of a site without heads. */
struct lane {
    size_t slot;
    size_t n_row, next_row;        /* all, and the first that has not gone through */
    bool is_last;                  /* of its site */
    struct waiting *first, **last; /* in order; NULL: none, and where the next is linked */
};

struct attn_event_queue {
    struct attn_writer *writer;
    struct lane *lanes;    /* [n_lane] owns; in the order of the document */
    size_t n_lane, at;     /* all, and the one whose rows are due */
    size_t *lanes_of_slot; /* [n_slot] owns; the first lane of a site */
};

/* --- The lanes ------------------------------------------------------------------------------- */

static enum attn_status count_site(struct attn_writer *writer, void *user, enum attn_site site,
                                   int layer, struct attn_error *err)
{
    struct attn_event_queue *queue = user;

    (void)err;
    queue->n_lane += attn_writer_extent(writer, site, layer).n_head;
    return ATTN_OK;
}

static enum attn_status add_site(struct attn_writer *writer, void *user, enum attn_site site,
                                 int layer, struct attn_error *err)
{
    struct attn_event_queue *queue = user;
    struct attn_extent extent = attn_writer_extent(writer, site, layer);
    size_t slot = attn_writer_slot(site, layer);

    (void)err;
    queue->lanes_of_slot[slot] = queue->at;
    for (size_t h = 0; h < extent.n_head; h++) {
        struct lane *lane = &queue->lanes[queue->at++];

        *lane =
            (struct lane){.slot = slot, .n_row = extent.n_row, .is_last = h + 1 == extent.n_head};
        lane->last = &lane->first;
    }
    return ATTN_OK;
}

enum attn_status attn_event_queue_create(struct attn_writer *writer,
                                         struct attn_event_queue **queue, struct attn_error *err)
{
    struct attn_event_queue *q = attn_alloc(1, sizeof *q, err);

    if (!q)
        return ATTN_NO_MEMORY;
    q->writer = writer;
    attn_writer_each_site(writer, count_site, q, err);
    q->lanes = attn_alloc(q->n_lane, sizeof *q->lanes, err);
    q->lanes_of_slot = attn_alloc(attn_writer_n_slot(writer), sizeof *q->lanes_of_slot, err);
    if (!q->lanes || !q->lanes_of_slot) {
        q->n_lane = 0;
        attn_event_queue_free(q);
        return ATTN_NO_MEMORY;
    }
    attn_writer_each_site(writer, add_site, q, err);
    q->at = 0;
    *queue = q;
    return ATTN_OK;
}

/* --- Waiting --------------------------------------------------------------------------------- */

/* Copies the cells of EVENT that count to VALUES and, when it is sparse, KEYS. */
static void pack(const struct attn_trace_event *event, float *values, int32_t *keys)
{
    for (size_t r = 0; r < event->n_row; r++) {
        struct attn_row row = attn_event_row(event, r);

        if (row.n == 0)
            continue;
        memcpy(values, row.values, row.n * sizeof *values);
        values += row.n;
        if (!keys)
            continue;
        memcpy(keys, row.keys, row.n * sizeof *keys);
        keys += row.n;
    }
}

/* Keeps rows that fit a piece. */
static enum attn_status keep_piece(struct lane *lane, const struct attn_trace_event *event,
                                   const struct attn_place *place, struct attn_error *err)
{
    struct waiting *waiting;
    size_t n = 0, size;
    float *values;
    int32_t *keys;

    for (size_t r = 0; r < event->n_row; r++)
        n += attn_event_row(event, r).n;
    size = sizeof *waiting + event->n_row * sizeof *waiting->counts + n * sizeof *values;
    if (event->keys)
        size += n * sizeof *keys;
    waiting = attn_alloc_uninitialized(size, 1, err);
    if (!waiting)
        return ATTN_NO_MEMORY;
    values = (float *)(void *)(waiting->counts + event->n_row);
    keys = event->keys ? (int32_t *)(void *)(values + n) : NULL;
    for (size_t r = 0; r < event->n_row; r++)
        waiting->counts[r] = attn_event_row(event, r).n;
    pack(event, values, keys);
    waiting->next = NULL;
    waiting->event = *event;
    waiting->event.data = values;
    waiting->event.keys = keys;
    waiting->place = *place;
    *lane->last = waiting;
    lane->last = &waiting->next;
    return ATTN_OK;
}

/* As many rows as make a piece. */
static size_t count_piece(const struct attn_trace_event *event)
{
    size_t n_row = 0;

    for (size_t n = 0; n_row < event->n_row && n < PIECE_FLOATS; n_row++)
        n += attn_event_row(event, n_row).n;
    return n_row;
}

static enum attn_status keep(struct lane *lane, const struct attn_trace_event *event,
                             const struct attn_place *place, struct attn_error *err)
{
    struct attn_trace_event rest = *event;
    struct attn_place at = *place;
    enum attn_status status = ATTN_OK;

    while (rest.n_row > 0 && status == ATTN_OK) {
        struct attn_trace_event piece = rest;

        piece.n_row = count_piece(&rest);
        status = keep_piece(lane, &piece, &at, err);
        at.row += piece.n_row;
        rest.row0 += piece.n_row;
        rest.n_row -= piece.n_row;
        rest.data += piece.n_row * rest.ld;
        if (rest.keys) {
            rest.keys += piece.n_row * rest.ld;
            rest.n_kept += piece.n_row;
        }
    }
    return status;
}

/* --- Going through --------------------------------------------------------------------------- */

static enum attn_status deliver(struct attn_event_queue *queue, struct lane *lane,
                                const struct attn_trace_event *event, struct attn_place place,
                                struct attn_error *err)
{
    lane->next_row += event->n_row;
    place.is_last = lane->is_last && lane->next_row == lane->n_row;
    return queue->writer->ops->event(queue->writer, event, &place, err);
}

/* The rows of a piece as they lie: rows of one length, which follow one another, are an event. */
static enum attn_status deliver_piece(struct attn_event_queue *queue, struct lane *lane,
                                      const struct waiting *waiting, struct attn_error *err)
{
    struct attn_trace_event event = waiting->event;
    struct attn_place place = waiting->place;
    size_t n_row = event.n_row, row = 0;
    enum attn_status status = ATTN_OK;

    while (row < n_row && status == ATTN_OK) {
        const size_t *counts = waiting->counts + row;
        size_t n = 1, n_cell;

        while (row + n < n_row && counts[n] == counts[0])
            n++;
        event.n_row = n;
        event.ld = counts[0];
        event.n_kept = event.keys ? counts : NULL;
        status = deliver(queue, lane, &event, place, err);
        row += n;
        n_cell = n * counts[0];
        place.row += n;
        event.row0 += n;
        event.data += n_cell;
        if (event.keys)
            event.keys += n_cell;
    }
    return status;
}

static enum attn_status deliver_first(struct attn_event_queue *queue, struct lane *lane,
                                      struct attn_error *err)
{
    struct waiting *waiting = lane->first;
    enum attn_status status = deliver_piece(queue, lane, waiting, err);

    lane->first = waiting->next;
    if (!lane->first)
        lane->last = &lane->first;
    attn_free(waiting);
    return status;
}

enum attn_status attn_event_queue_take(struct attn_event_queue *queue,
                                       const struct attn_trace_event *event,
                                       const struct attn_place *place, struct attn_error *err)
{
    size_t slot = attn_writer_slot(event->site, event->layer);
    struct lane *lane = &queue->lanes[queue->lanes_of_slot[slot] + place->head];
    enum attn_status status;

    if (lane != &queue->lanes[queue->at] || place->row != lane->next_row)
        return keep(lane, event, place, err);
    status = deliver(queue, lane, event, *place, err);
    while (status == ATTN_OK && queue->at < queue->n_lane) {
        lane = &queue->lanes[queue->at];
        if (lane->next_row == lane->n_row)
            queue->at++;
        else if (lane->first && lane->first->place.row == lane->next_row)
            status = deliver_first(queue, lane, err);
        else
            break;
    }
    return status;
}

bool attn_event_queue_is_empty(const struct attn_event_queue *queue)
{
    for (size_t i = 0; i < queue->n_lane; i++)
        if (queue->lanes[i].first)
            return false;
    return true;
}

void attn_event_queue_free(struct attn_event_queue *queue)
{
    if (!queue)
        return;
    for (size_t i = 0; i < queue->n_lane; i++)
        while (queue->lanes[i].first) {
            struct waiting *waiting = queue->lanes[i].first;

            queue->lanes[i].first = waiting->next;
            attn_free(waiting);
        }
    attn_free(queue->lanes);
    attn_free(queue->lanes_of_slot);
    attn_free(queue);
}
