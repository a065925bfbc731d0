/* event_queue.c - see event_queue.h. Rows of one head come in order, so what waits is a list for
 * each head of each site. */
#include "output/event_queue.h"

#include "base/memory.h"

#include <string.h>

enum { PIECE_FLOATS = 1 << 16 }; /* events are kept in pieces of up to 256 KiB, or one row */

/* An event that waits; its data is packed: of each row the visible cells. */
struct waiting {
    struct waiting *next;
    struct attn_trace_event event;
    struct attn_place place;
    float data[];
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
    float *unpacked;       /* [n_unpacked] owns */
    size_t n_unpacked;
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

static void pack(const struct attn_trace_event *event, float *out)
{
    for (size_t r = 0; r < event->n_row; r++) {
        size_t n = attn_event_n_visible(event, event->row0 + r);

        memcpy(out, event->data + r * event->ld, n * sizeof *out);
        out += n;
    }
}

static void unpack(const struct attn_trace_event *event, const float *from, float *out)
{
    for (size_t r = 0; r < event->n_row; r++, out += event->n_col) {
        size_t n = attn_event_n_visible(event, event->row0 + r);

        memcpy(out, from, n * sizeof *out);
        from += n;
        for (size_t i = n; i < event->n_col; i++)
            out[i] = attn_site_masked_value(event->site);
    }
}

/* Keeps rows that fit a piece. */
static enum attn_status keep_piece(struct lane *lane, const struct attn_trace_event *event,
                                   const struct attn_place *place, struct attn_error *err)
{
    struct waiting *waiting;
    size_t n = 0;

    for (size_t r = 0; r < event->n_row; r++)
        n += attn_event_n_visible(event, event->row0 + r);
    waiting = attn_alloc_uninitialized(sizeof *waiting + n * sizeof(float), 1, err);
    if (!waiting)
        return ATTN_NO_MEMORY;
    waiting->next = NULL;
    waiting->event = *event;
    waiting->place = *place;
    pack(event, waiting->data);
    *lane->last = waiting;
    lane->last = &waiting->next;
    return ATTN_OK;
}

static enum attn_status keep(struct lane *lane, const struct attn_trace_event *event,
                             const struct attn_place *place, struct attn_error *err)
{
    size_t n_at_once = PIECE_FLOATS / event->n_col + 1;
    struct attn_trace_event piece = *event;
    struct attn_place at = *place;
    enum attn_status status = ATTN_OK;

    for (size_t row = 0; row < event->n_row && status == ATTN_OK; row += piece.n_row) {
        size_t n_left = event->n_row - row;

        piece.row0 = event->row0 + row;
        piece.n_row = n_left < n_at_once ? n_left : n_at_once;
        piece.data = event->data + row * event->ld;
        at.row = place->row + row;
        status = keep_piece(lane, &piece, &at, err);
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

static enum attn_status deliver_first(struct attn_event_queue *queue, struct lane *lane,
                                      struct attn_error *err)
{
    struct waiting *waiting = lane->first;
    struct attn_trace_event event = waiting->event;
    size_t n = event.n_row * event.n_col;
    enum attn_status status = ATTN_NO_MEMORY;

    if (queue->n_unpacked < n) {
        attn_free(queue->unpacked);
        queue->unpacked = attn_alloc_uninitialized(n, sizeof *queue->unpacked, err);
        queue->n_unpacked = queue->unpacked ? n : 0;
    }
    lane->first = waiting->next;
    if (!lane->first)
        lane->last = &lane->first;
    if (queue->unpacked) {
        unpack(&event, waiting->data, queue->unpacked);
        event.data = queue->unpacked;
        event.ld = event.n_col;
        status = deliver(queue, lane, &event, waiting->place, err);
    }
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
    attn_free(queue->unpacked);
    attn_free(queue);
}
