/* writer.c - what all formats share; see writer.h. */
#include "tensors/writer.h"

#include "base/memory.h"
#include "base/os/thread.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "formats/float_text.h"
#include "tensors/format_internal.h"
#include "tensors/token_text.h"
#include "tensors/view.h"
#include "trace/trace_internal.h"

#include <string.h>

/* --- Sites and rows that will come --------------------------------------------------------- */

bool attn_writer_has_head(const struct attn_writer *writer, const struct attn_location *at,
                          int head)
{
    struct attn_location of_head = *at;

    of_head.head = head;
    return attn_selection_has_tensor_head(writer->labels.selection, &of_head);
}

const struct attn_dims *attn_writer_dims(const struct attn_writer *writer,
                                         const struct attn_location *at)
{
    return attn_dims_of(attn_selection_dims(writer->labels.selection), at->stack);
}

size_t attn_writer_slot(const struct attn_writer *writer, const struct attn_location *at)
{
    const int slot = attn_selection_slot(writer->labels.selection, at);

    return (size_t)(slot - ATTN_NO_LAYER) * ATTN_N_SITE + (size_t)at->site;
}

size_t attn_writer_n_image(const struct attn_writer *writer, enum attn_site site)
{
    const size_t n = attn_dims_n_image(attn_selection_dims(writer->labels.selection));

    return n > 1 && attn_site_is_of_image(site) && !attn_format_holds_images(writer->format) ? n
                                                                                             : 1;
}

struct attn_extent attn_writer_extent(const struct attn_writer *writer,
                                      const struct attn_location *at)
{
    return attn_writer_extent_of(writer, at, 0);
}

struct attn_extent attn_writer_extent_of(const struct attn_writer *writer,
                                         const struct attn_location *at, size_t image)
{
    const struct attn_dims *dims = attn_selection_dims(writer->labels.selection);
    size_t shape[3];
    const int rank = attn_selection_shape(writer->labels.selection, at, shape);

    if (attn_writer_n_image(writer, at->site) > 1)
        attn_site_image_size(at->site, attn_dims_image(dims, image), &shape[rank - 2]);
    if (rank == 1)
        return (struct attn_extent){.n_row = 1, .n_head = 1, .n_col = shape[0]};
    switch (attn_site_layout(at->site)) {
    case ATTN_LAYOUT_VECTOR:
    case ATTN_LAYOUT_PAIRS:
        return (struct attn_extent){.n_row = shape[0], .n_head = 1, .n_col = shape[1]};
    case ATTN_LAYOUT_MATRIX:
    case ATTN_LAYOUT_RANK:
        return (struct attn_extent){.n_row = shape[1], .n_head = shape[0], .n_col = shape[2]};
    case ATTN_LAYOUT_HEADS:
        return (struct attn_extent){.n_row = shape[1], .n_head = shape[0], .n_col = 1};
    default:
        return (struct attn_extent){.n_row = shape[0], .n_head = shape[1], .n_col = shape[2]};
    }
}

struct attn_head_number attn_writer_head_number(const struct attn_writer *writer,
                                                enum attn_site site, int head)
{
    const struct attn_dims *dims = attn_selection_dims(writer->labels.selection);
    size_t n_head = attn_site_layout(site) == ATTN_LAYOUT_KEY ? dims->n_kv_head : dims->n_head;
    const int n = writer->labels.axes ? (int)(n_head / writer->labels.axes->n_batch) : 0;

    if (n == 0)
        return (struct attn_head_number){.head = head};
    return (struct attn_head_number){.batch = head / n, .head = head % n};
}

static int count_digits(size_t n) /* digits of the numbers below N, at least two */
{
    int digits = 2;

    for (size_t limit = 100; n > limit; limit *= 10)
        digits++;
    return digits;
}

/* Appends the name of SITE, and if several images have one each, the number of IMAGE. */
static void append_site(const struct attn_writer *writer, enum attn_site site, size_t image,
                        struct attn_buffer *out)
{
    attn_buffer_append_string(out, attn_site_name(site));
    if (attn_writer_n_image(writer, site) > 1)
        attn_buffer_append_format(out, ".%zu", image);
}

/* Appends the file name of the head AT, of IMAGE, in a directory. The caller releases NAME. */
static enum attn_status append_file_name(const struct attn_writer *writer,
                                         const struct attn_location *at, size_t image,
                                         struct attn_buffer *name, struct attn_error *err)
{
    const struct attn_dims *dims = attn_writer_dims(writer, at);
    const struct attn_array_axes *axes = writer->labels.axes;
    const enum attn_site site = at->site;
    const bool is_mixing = attn_sites_have(
        ATTN_SITES(ATTN_SITE_MIXING, ATTN_SITE_MIXING_BAND, ATTN_SITE_MIXING_NORM), site);
    const size_t n_head = is_mixing ? attn_site_n_head(site, dims) : dims->n_head;
    struct attn_head_number number = attn_writer_head_number(writer, site, at->head);
    const char *stack = attn_model_stack_name(at->stack);

    if (stack[0] && site != ATTN_SITE_LOGITS)
        attn_buffer_append_format(name, "%s%s", stack, at->layer == ATTN_NO_LAYER ? "" : ".");
    if (axes && axes->rank == 4)
        attn_buffer_append_format(name, "B%0*d", count_digits(axes->n_batch), number.batch);
    else if (!axes && at->layer != ATTN_NO_LAYER)
        attn_buffer_append_format(name, "L%0*d", count_digits(attn_dims_n_whole_layer(dims)),
                                  at->layer);
    if (attn_site_has_heads(site) && (!axes || axes->rank > 2))
        attn_buffer_append_format(name, "H%0*d", count_digits(n_head / (axes ? axes->n_batch : 1)),
                                  number.head);
    if (name->size > 0)
        attn_buffer_append_char(name, '.');
    append_site(writer, site, image, name);
    attn_buffer_append_string(name, writer->format->suffix);
    attn_buffer_string(name);
    return attn_buffer_check(name, err);
}

enum attn_status attn_writer_list_file(struct attn_writer *writer, const struct attn_location *at,
                                       size_t image, struct attn_error *err)
{
    struct attn_buffer name = {0};
    enum attn_status status = append_file_name(writer, at, image, &name, err);

    if (status == ATTN_OK) {
        attn_file_names_append(&writer->run->files, name.data);
        status = attn_buffer_check(&writer->run->files.text, err);
    }
    attn_buffer_release(&name);
    return status;
}

enum attn_status attn_writer_create_file(const struct attn_writer *writer,
                                         const struct attn_location *at, size_t image,
                                         struct attn_sink **sink, struct attn_error *err)
{
    struct attn_buffer name = {0};
    enum attn_status status = append_file_name(writer, at, image, &name, err);

    ATTN_THEN(status, attn_directory_create_file(writer->directory, name.data, sink, err));
    attn_buffer_release(&name);
    return status;
}

void attn_matrix_name_append(const struct attn_writer *writer, const struct attn_location *at,
                             size_t image, struct attn_buffer *out)
{
    const struct attn_view_options view = attn_view_of(writer->options.picture);
    const struct attn_array_axes *axes = writer->labels.axes;
    const enum attn_site site = at->site;
    const struct attn_head_number number = attn_writer_head_number(writer, site, at->head);
    const struct attn_dims *dims = attn_writer_dims(writer, at);
    const char *stack = attn_model_stack_name(at->stack);
    const size_t begin = out->size;
    const size_t n_shared = dims->n_head / attn_location_dims(dims, at).n_kv_head;
    const bool is_shared = attn_site_layout(site) == ATTN_LAYOUT_KEY && n_shared > 1;

    if (axes && axes->rank == 4)
        attn_buffer_append_format(out, "batch %d", number.batch);
    else if (!axes && at->layer != ATTN_NO_LAYER)
        attn_buffer_append_format(out, "%s%slayer %d", stack, stack[0] ? " " : "", at->layer);
    else if (stack[0] && site != ATTN_SITE_LOGITS)
        attn_buffer_append_string(out, stack);
    if (attn_site_has_heads(site) && (!axes || axes->rank > 2))
        attn_buffer_append_format(out, "%s%shead %d", out->size > begin ? ", " : "",
                                  is_shared ? "key/value " : "", number.head);
    if (is_shared)
        attn_buffer_append_format(out, " of heads %zu-%zu", n_shared * (size_t)number.head,
                                  n_shared * (size_t)(number.head + 1) - 1);
    attn_buffer_append_string(out, out->size > begin ? ": " : "");
    append_site(writer, site, image, out);
    if (attn_site_has_keys(site)) {
        attn_buffer_append_string(out, view.merges_words ? ", words" : "");
        attn_buffer_append_string(out, !attn_view_hides(view) ? ""
                                       : view.hides == ATTN_HIDDEN_PARKS
                                           ? ", without parks"
                                           : ", without the first key");
    }
    if (attn_view_divides(view, site))
        attn_buffer_append_string(out, ", each row divided by its sum");
}

/* Returns the number of matrices of each head: of the tiles of a tower, or of images. */
static size_t n_sequence(const struct attn_writer *writer, const struct attn_location *at)
{
    const size_t n_image = attn_writer_n_image(writer, at->site);

    return n_image > 1
               ? n_image
               : attn_location_n_sequence(attn_selection_dims(writer->labels.selection), at);
}

static enum attn_status count_rows(struct attn_writer *writer, struct attn_error *err)
{
    for (struct attn_selection_walk at = {0}; attn_selection_next(writer->labels.selection, &at);) {
        size_t *all = &writer->rows_left[attn_writer_slot(writer, &at.at)];

        for (size_t i = 0; i < n_sequence(writer, &at.at); i++) {
            const struct attn_extent extent = attn_writer_extent_of(writer, &at.at, i);
            size_t n_row;

            if (!attn_checked_mul(extent.n_row, extent.n_head, &n_row) ||
                !attn_checked_add(*all, n_row, all))
                return attn_error_no_memory(err);
        }
        if (!attn_checked_add(writer->n_row_left, *all, &writer->n_row_left))
            return attn_error_no_memory(err);
    }
    return ATTN_OK;
}

static enum attn_status rank_queries(struct attn_writer *writer, struct attn_error *err)
{
    const struct attn_selection *selection = writer->labels.selection;

    writer->n_position = attn_selection_dims(selection)->n_position;
    ATTN_TRY(
        ATTN_STORE_ALLOC(&writer->store, writer->queries, attn_selection_n_query(selection), err));
    ATTN_TRY(ATTN_STORE_ALLOC(&writer->store, writer->query_rank, writer->n_position, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&writer->store, writer->rows_left, attn_writer_n_slot(writer), err));
    for (size_t p = 0; p < writer->n_position; p++) {
        writer->query_rank[p] = SIZE_MAX;
        if (attn_selection_has_query(selection, ATTN_STACK_ONLY, p)) {
            writer->query_rank[p] = writer->n_query;
            writer->queries[writer->n_query++] = p;
        }
    }
    return count_rows(writer, err);
}

/* --- Events in order ----------------------------------------------------------------------- */

/* Sorts the events of a run into document order: by site, head, and row. A trace emits large
 * matrices in blocks of rows, alternating between sites. Rows that are next in order are passed on
 * at once; others are copied and wait, without masked cells. If the run is fed in one step, at most
 * the matrices of one layer wait. Rows of one head arrive in order, so waiting rows are a list per
 * site and head. */

/* waiting events are split into pieces of at most 256 KiB plus one row */
enum { PIECE_FLOATS = 1 << 16 };

/* A waiting event, packed: the visible cells of all rows, row by row. */
struct waiting {
    struct waiting *next;
    struct attn_trace_event event; /* its data and keys are stored after `counts` */
    struct attn_place place;
    size_t counts[]; /* [event.n_row] visible cells of each row */
};

/* The rows of one head of a site, or of a site without heads. */
struct lane {
    size_t n_row, next_row; /* number of rows, and index of the first row that was not passed on */
    bool is_last;           /* it is the last lane of its site */
    /* waiting pieces in order, NULL if none; and where to link the next one */
    struct waiting *first, **last;
};

struct attn_event_queue {
    struct attn_writer *writer;
    struct lane *lanes;    /* [n_lane] in document order */
    size_t n_lane, at;     /* number of lanes, and index of the lane whose rows are next */
    size_t *lanes_of_slot; /* [n_slot] index of a site's first lane */
};

/* Sets the lanes of all sites. Called twice: while queue->lanes is NULL, it only counts them. */
static void set_lanes(struct attn_event_queue *queue)
{
    queue->n_lane = 0;
    for (struct attn_selection_walk at = {0};
         attn_selection_next(queue->writer->labels.selection, &at);) {
        const size_t n_image = attn_writer_n_image(queue->writer, at.at.site);
        const size_t n =
            attn_writer_extent(queue->writer, &at.at).n_head * n_sequence(queue->writer, &at.at);
        struct lane *last = NULL;

        queue->lanes_of_slot[attn_writer_slot(queue->writer, &at.at)] = queue->n_lane;
        for (size_t i = 0; queue->lanes && i < n; i++) {
            struct lane *lane = &queue->lanes[queue->n_lane + i];
            const size_t n_row = attn_writer_extent_of(queue->writer, &at.at, i % n_image).n_row;

            *lane = (struct lane){.n_row = n_row, .last = &lane->first};
            last = n_row > 0 ? lane : last;
        }
        if (last)
            last->is_last = true;
        queue->n_lane += n;
    }
}

/* Creates the queue of WRITER. */
static enum attn_status create_queue(struct attn_writer *writer, struct attn_error *err)
{
    struct attn_event_queue *q;

    ATTN_TRY(ATTN_STORE_ALLOC(&writer->store, q, 1, err));
    writer->queue = q;
    q->writer = writer;
    ATTN_TRY(ATTN_STORE_ALLOC(&writer->store, q->lanes_of_slot, attn_writer_n_slot(writer), err));
    set_lanes(q);
    ATTN_TRY(ATTN_STORE_ALLOC(&writer->store, q->lanes, q->n_lane, err));
    set_lanes(q);
    return ATTN_OK;
}

/* Stores a copy of rows that fit one piece. */
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
    ATTN_TRY(ATTN_NEW(waiting, attn_alloc_uninitialized(size, 1, err)));
    values = (float *)(void *)(waiting->counts + event->n_row);
    keys = event->keys ? (int32_t *)(void *)(values + n) : NULL;
    waiting->next = NULL;
    waiting->event = *event;
    waiting->event.data = values;
    waiting->event.keys = keys;
    waiting->place = *place;
    for (size_t r = 0; r < event->n_row; r++) {
        const struct attn_row row = attn_event_row(event, r);

        waiting->counts[r] = row.n;
        if (row.n == 0)
            continue;
        values = (float *)memcpy(values, row.values, row.n * sizeof *values) + row.n;
        if (keys)
            keys = (int32_t *)memcpy(keys, row.keys, row.n * sizeof *keys) + row.n;
    }
    *lane->last = waiting;
    lane->last = &waiting->next;
    return ATTN_OK;
}

static enum attn_status keep(struct lane *lane, const struct attn_trace_event *event,
                             const struct attn_place *place, struct attn_error *err)
{
    struct attn_trace_event rest = *event;
    struct attn_place at = *place;

    while (rest.n_row > 0) {
        struct attn_trace_event piece = rest;

        piece.n_row = 0; /* set to as many rows as fit one piece */
        for (size_t n = 0; piece.n_row < rest.n_row && n < PIECE_FLOATS; piece.n_row++)
            n += attn_event_row(&rest, piece.n_row).n;
        ATTN_TRY(keep_piece(lane, &piece, &at, err));
        at.row += piece.n_row;
        rest.row0 += piece.n_row;
        rest.n_row -= piece.n_row;
        rest.data += piece.n_row * rest.ld;
        if (rest.keys) {
            rest.keys += piece.n_row * rest.ld;
            rest.n_kept += piece.n_row;
        }
    }
    return ATTN_OK;
}

static enum attn_status deliver(struct attn_event_queue *queue, struct lane *lane,
                                const struct attn_trace_event *event, struct attn_place place,
                                struct attn_error *err)
{
    lane->next_row += event->n_row;
    place.is_last = lane->is_last && lane->next_row == lane->n_row;
    return queue->writer->ops->event(queue->writer, event, &place, err);
}

/* Delivers a piece without copying it: consecutive rows with equal numbers of cells form one
 * event. */
static enum attn_status deliver_piece(struct attn_event_queue *queue, struct lane *lane,
                                      const struct waiting *waiting, struct attn_error *err)
{
    struct attn_trace_event event = waiting->event;
    struct attn_place place = waiting->place;
    const size_t n_row = event.n_row;

    for (size_t row = 0, n; row < n_row; row += n) {
        const size_t *counts = waiting->counts + row;

        for (n = 1; row + n < n_row && counts[n] == counts[0]; n++)
            ;
        event.n_row = n;
        event.ld = counts[0];
        event.n_kept = event.keys ? counts : NULL;
        ATTN_TRY(deliver(queue, lane, &event, place, err));
        place.row += n;
        event.row0 += n;
        event.data += n * counts[0];
        if (event.keys)
            event.keys += n * counts[0];
    }
    return ATTN_OK;
}

static void drop_first(struct lane *lane)
{
    struct waiting *waiting = lane->first;

    lane->first = waiting->next;
    if (!lane->first)
        lane->last = &lane->first;
    attn_free(waiting);
}

/* Passes the event, and all waiting rows that become next, to the format; or stores it. */
static enum attn_status queue_event(struct attn_event_queue *queue,
                                    const struct attn_trace_event *event,
                                    const struct attn_place *place, struct attn_error *err)
{
    const size_t n_image = attn_writer_n_image(queue->writer, event->at.site);
    const size_t first = queue->lanes_of_slot[attn_writer_slot(queue->writer, &event->at)];
    /* the images of a head follow each other, and so do the heads of a tile */
    struct lane *lane =
        &queue->lanes[first + (n_image > 1 ? place->head * n_image + event->sequence
                                           : event->sequence * place->extent.n_head + place->head)];

    while (queue->lanes[queue->at].n_row == 0)
        queue->at++;
    if (lane != &queue->lanes[queue->at] || place->row != lane->next_row)
        return keep(lane, event, place, err);
    ATTN_TRY(deliver(queue, lane, event, *place, err));
    while (queue->at < queue->n_lane) {
        lane = &queue->lanes[queue->at];
        if (lane->next_row == lane->n_row) {
            queue->at++;
        } else if (lane->first && lane->first->place.row == lane->next_row) {
            ATTN_TRY(deliver_piece(queue, lane, lane->first, err));
            drop_first(lane);
        } else {
            break;
        }
    }
    return ATTN_OK;
}

/* --- Events -------------------------------------------------------------------------------- */

const char *attn_writer_row_name(const struct attn_writer *writer, enum attn_site site)
{
    if (site == ATTN_SITE_CONTACTS)
        return "residue";
    if (attn_site_has_own_rows(site))
        return "row";
    switch (attn_site_layout(site)) {
    case ATTN_LAYOUT_MATRIX:
    case ATTN_LAYOUT_RANK:
    case ATTN_LAYOUT_PAIRS:
        return "query";
    case ATTN_LAYOUT_KEY:
        return writer->labels.axes ? "key" : "token";
    default:
        return writer->labels.axes ? "query" : "token";
    }
}

const size_t *attn_writer_rows(const struct attn_writer *writer, enum attn_site site)
{
    const struct attn_location at = {.site = site};

    return writer->queries + attn_selection_n_rowless(writer->labels.selection, &at);
}

bool attn_writer_has_own_keys(const struct attn_writer *writer, const struct attn_location *at)
{
    return attn_writer_has_own_rows(writer, at) &&
           !attn_location_is_cross(attn_selection_dims(writer->labels.selection), at);
}

bool attn_writer_has_own_rows(const struct attn_writer *writer, const struct attn_location *at)
{
    return !attn_selection_dims(writer->labels.selection)->encoder ||
           !attn_stack_is_encoder(at->stack);
}

/* Returns true if the selection contains the event; sets *PLACE. */
static bool find_place(const struct attn_writer *writer, const struct attn_trace_event *event,
                       struct attn_place *place)
{
    const struct attn_selection *selection = writer->labels.selection;
    const struct attn_dims *dims = attn_selection_dims(selection);
    const bool is_own = attn_writer_has_own_rows(writer, &event->at);
    bool has_all_rows; /* the selection of queries does not apply to the site */
    size_t n_row, first;

    if (event->at.site >= ATTN_N_SITE ||
        (!attn_site_is_in_layer(event->at.site) && is_own && event->at.layer != ATTN_NO_LAYER) ||
        !attn_selection_wants(selection, &event->at))
        return false;
    has_all_rows = !is_own || attn_site_has_key_rows(event->at.site) ||
                   attn_site_n_own_row(event->at.site, dims) > 0 ||
                   attn_site_is_pooled(event->at.site, dims);
    first = is_own ? 0 : attn_site_first_row(event->at.site, dims->encoder);
    if (event->sequence >= n_sequence(writer, &event->at))
        return false;
    *place = (struct attn_place){
        .row = event->row0 - first,
        .extent = attn_writer_extent_of(writer, &event->at, event->sequence),
    };
    n_row = has_all_rows ? first + place->extent.n_row : writer->n_position;
    if (event->n_row == 0 || event->row0 < first || event->row0 >= n_row ||
        event->n_row > n_row - event->row0 || (!event->keys && event->ld < event->n_col) ||
        event->n_col > place->extent.n_col ||
        (!attn_site_has_keys(event->at.site) && event->n_col < place->extent.n_col))
        return false;
    if (!has_all_rows) {
        place->row = writer->query_rank[event->row0];
        if (place->row == SIZE_MAX ||
            writer->query_rank[event->row0 + event->n_row - 1] != place->row + event->n_row - 1)
            return false;
        if (event->row0 < attn_site_first_row(event->at.site, dims))
            return false;
        place->row -= attn_selection_n_rowless(selection, &event->at);
    }
    if (!attn_site_has_heads(event->at.site))
        return true;
    for (int head = 0; head < event->at.head; head++)
        place->head += attn_writer_has_head(writer, &event->at, head);
    return attn_writer_has_head(writer, &event->at, event->at.head);
}

/* Returns true if the keys of a sparse event are valid columns in ascending order, which formats
 * rely on. */
static bool has_good_keys(const struct attn_trace_event *event)
{
    if (!event->n_kept || !attn_site_has_keys(event->at.site))
        return false;
    for (size_t r = 0; r < event->n_row; r++) {
        const int32_t *keys = event->keys + r * event->ld;
        int64_t last = -1;

        if (event->n_kept[r] > event->ld)
            return false;
        for (size_t i = 0; i < event->n_kept[r]; i++) {
            if (keys[i] <= last)
                return false;
            last = keys[i];
        }
        if (last >= 0 && (size_t)last >= event->n_col)
            return false;
    }
    return true;
}

/* Passes an event to the format. */
static enum attn_status emit_event(struct attn_writer *writer, const struct attn_trace_event *event,
                                   struct attn_error *err)
{
    struct attn_place place;
    size_t *rows_left;

    /* checked for each event, as writing a layer may take seconds */
    if (attn_is_canceled(writer->options.cancel))
        return attn_error_set(err, ATTN_CANCELED, "%s", attn_status_text(ATTN_CANCELED));
    if (!find_place(writer, event, &place))
        return attn_error_set(err, ATTN_INVALID,
                              "an event (site %d, layer %d, head %d, rows %zu to %zu) is not in "
                              "the writer's selection",
                              (int)event->at.site, event->at.layer, event->at.head, event->row0,
                              event->row0 + event->n_row - 1);
    if (event->keys && !has_good_keys(event))
        return attn_error_set(err, ATTN_INVALID,
                              "the keys of '%s' in layer %d, rows %zu to %zu, are not ascending "
                              "numbers below %zu",
                              attn_site_name(event->at.site), event->at.layer, event->row0,
                              event->row0 + event->n_row - 1, event->n_col);
    rows_left = &writer->rows_left[attn_writer_slot(writer, &event->at)];
    if (event->n_row > *rows_left)
        return attn_error_set(err, ATTN_INVALID, "rows of '%s' in layer %d came twice",
                              attn_site_name(event->at.site), event->at.layer);
    *rows_left -= event->n_row;
    writer->n_row_left -= event->n_row;
    place.is_last = *rows_left == 0;
    if (writer->queue)
        ATTN_TRY(queue_event(writer->queue, event, &place, err));
    else
        ATTN_TRY(writer->ops->event(writer, event, &place, err));
    return writer->sink ? attn_sink_check(writer->sink, err) : ATTN_OK;
}

/* --- Rows as text -------------------------------------------------------------------------- */

enum { PIECE_CELLS = 1 << 13 }; /* cells of a piece: a tenth of a millisecond, 100 KiB of numbers */

struct row_batch {
    const struct attn_writer *writer;
    const struct attn_trace_event *event;
    const struct attn_place *place;
    attn_row_text_fn append_row;
    size_t n_at_once; /* rows per piece */
};

/* Appends the rows of piece I (attn_piece_fn). */
static void append_rows(const void *context, size_t i, struct attn_buffer *text)
{
    const struct row_batch *rows = context;
    const size_t begin = i * rows->n_at_once, end = begin + rows->n_at_once;

    for (size_t r = begin; r < end && r < rows->event->n_row; r++)
        rows->append_row(rows->writer, rows->event, rows->place, r, text);
}

enum attn_status attn_writer_write_rows(struct attn_writer *writer,
                                        const struct attn_trace_event *event,
                                        const struct attn_place *place, attn_row_text_fn append_row,
                                        struct attn_sink *sink, struct attn_error *err)
{
    struct row_batch rows = {writer, event, place, append_row,
                             PIECE_CELLS / (place->extent.n_col + 1) + 1};
    size_t n_piece = (event->n_row - 1) / rows.n_at_once + 1;

    if (!writer->pieces)
        ATTN_TRY(attn_pieces_create(writer->options.pool, &writer->pieces, err));
    return attn_pieces_write(writer->pieces, n_piece, append_rows, &rows, sink, err);
}

/* --- The end ------------------------------------------------------------------------------- */

static enum attn_status check_rows(const struct attn_writer *writer, struct attn_error *err)
{
    const struct attn_event_queue *queue = writer->queue;

    if (writer->n_row_left > 0)
        return attn_error_set(err, ATTN_INVALID, "the run ended with %zu selected rows missing",
                              writer->n_row_left);
    for (size_t i = 0; queue && i < queue->n_lane; i++)
        if (queue->lanes[i].first) /* all rows arrived, and some still wait */
            return attn_error_set(err, ATTN_INVALID, "rows came out of order");
    return ATTN_OK;
}

static enum attn_status finish(struct attn_writer *writer, struct attn_error *err)
{
    ATTN_TRY(check_rows(writer, err));
    if (writer->ops->finish)
        ATTN_TRY(writer->ops->finish(writer, err));
    if (writer->directory)
        return attn_directory_finish(writer->directory, writer->run, err);
    return writer->owns_sink ? attn_sink_commit(writer->sink, err)
                             : attn_sink_check(writer->sink, err);
}

/* --- The public calls ---------------------------------------------------------------------- */

/* Stores the first failure, so that no later call can commit a broken file. */
static enum attn_status keep_failure(struct attn_writer *writer, enum attn_status status,
                                     struct attn_error *err)
{
    if (status != ATTN_OK)
        attn_error_set(&writer->failure, status, "%s",
                       err && err->status != ATTN_OK ? err->message : attn_status_text(status));
    return status;
}

/* Returns the first failure again, or ATTN_OK. */
static enum attn_status repeat_failure(const struct attn_writer *writer, struct attn_error *err)
{
    if (writer->failure.status != ATTN_OK)
        attn_error_set(err, writer->failure.status, "%s", writer->failure.message);
    return writer->failure.status;
}

/* Restricts the labels of W to one stack, if the format shows only one. */
static enum attn_status choose_stack(struct attn_writer *w, struct attn_error *err)
{
    const struct attn_selection *selection = w->labels.selection;
    const bool is_encoder = attn_selection_is_of_encoder(selection);
    const bool has_both =
        !is_encoder &&
        !attn_sites_are_empty(attn_selection_sites_of(selection, ATTN_STACK_ENCODER));
    const bool is_joined = has_both && w->format->joins_stacks;

    if (!attn_selection_dims(selection)->encoder || w->format->holds_stacks || is_joined)
        return ATTN_OK;
    w->shown = is_encoder ? ATTN_STACK_ENCODER : ATTN_STACK_DECODER;
    ATTN_TRY(attn_selection_copy_stack(selection, w->shown, &w->stack, err));
    if (is_encoder) {
        w->labels = attn_labels_of_stack(&w->labels);
    } else if (has_both && w->format->is_picture && strcmp(w->format->name, "screen") != 0) {
        attn_note(w->options.on_note, w->options.user, ATTN_NOTE_PAGE_OMITS,
                  "'%s' shows the decoder; select 'encoder:pattern' alone for the encoder",
                  w->format->name);
    }
    w->labels.selection = w->stack;
    return ATTN_OK;
}

static enum attn_status open_target(struct attn_writer *w, const struct attn_writer_target *target,
                                    struct attn_error *err)
{
    ATTN_TRY(choose_stack(w, err));
    ATTN_TRY(rank_queries(w, err));
    w->sink = target->sink;
    w->directory = target->directory;
    if (target->path && attn_format_is_directory(w->format, target->path)) {
        ATTN_TRY(attn_directory_open(target->path, w->format->title, &w->directory, err));
        w->owns_directory = true;
        ATTN_TRY(attn_directory_read(w->directory, err));
    } else if (target->path) {
        ATTN_TRY(attn_sink_create_file(target->path, &w->sink, err));
        w->owns_sink = true;
    }
    if (w->directory)
        ATTN_TRY(attn_directory_begin(w->directory, w->format, &w->labels, &w->run, err));
    ATTN_TRY(w->ops->open(w, err));
    if (w->is_in_order)
        ATTN_TRY(create_queue(w, err));
    return w->sink ? attn_sink_check(w->sink, err) : ATTN_OK;
}

static enum attn_status check_axes(const struct attn_labels *labels, struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(labels->selection);
    const struct attn_array_axes *axes = labels->axes;

    if (!axes)
        return ATTN_OK;
    if (axes->rank < 2 || axes->rank > 4)
        return attn_error_set(err, ATTN_INVALID, "arrays have %d axes, expected 2 to 4",
                              axes->rank);
    if (axes->rank == 2 && dims->n_head != 1)
        return attn_error_set(err, ATTN_INVALID, "arrays of 2 axes have %zu heads, expected 1",
                              dims->n_head);
    if (axes->n_batch == 0 || (axes->rank < 4 && axes->n_batch != 1) ||
        dims->n_head % axes->n_batch != 0 || dims->n_kv_head % axes->n_batch != 0)
        return attn_error_set(err, ATTN_INVALID,
                              "%zu batches do not divide %zu heads and %zu of keys in %d axes",
                              axes->n_batch, dims->n_head, dims->n_kv_head, axes->rank);
    return ATTN_OK;
}

enum attn_status attn_writer_open(const struct attn_format *format,
                                  const struct attn_writer_target *target,
                                  const struct attn_labels *labels,
                                  const struct attn_writer_options *given,
                                  struct attn_writer **writer, struct attn_error *err)
{
    struct attn_writer_options options = ATTN_WRITER_OPTIONS_DEFAULT;
    struct attn_writer *w;

    ATTN_TRY(attn_options_read(given, &options, err));
    if (!format->tensors)
        return attn_error_set(err, ATTN_INVALID, "%s hold tables, no tensors", format->title);
    if (target->sink && format->needs_directory)
        return attn_error_set(err, ATTN_INVALID, "%s files need a directory, not a stream",
                              format->title);
    if (options.precision < -1 || options.precision > ATTN_FIXED_PRECISION_MAX)
        return attn_error_set(err, ATTN_INVALID, "precision is %d, expected 0 to %d",
                              options.precision, ATTN_FIXED_PRECISION_MAX);
    ATTN_TRY(check_axes(labels, err));
    ATTN_TRY(ATTN_NEW(w, attn_alloc(1, format->tensors->size, err)));
    w->format = format;
    w->ops = format->tensors;
    w->labels = *labels;
    w->options = options;
    if (!w->options.picture && attn_picture_settings)
        w->options.picture = attn_picture_settings->usual;
    ATTN_RETURN_MADE(open_target(w, target, err), writer, w, attn_writer_free);
}

enum attn_status attn_writer_create_sink(const struct attn_format *format, struct attn_sink *sink,
                                         const struct attn_labels *labels,
                                         const struct attn_writer_options *options,
                                         struct attn_writer **writer, struct attn_error *err)
{
    return attn_writer_open(format, &(struct attn_writer_target){.sink = sink}, labels, options,
                            writer, err);
}

/* Makes EVENT the matrix of one image, with the number of the image as its sequence, if it is the
 * part of a column that one of several images has. Other events stay as they are, and are refused
 * later. */
static void split_image(const struct attn_writer *writer, struct attn_trace_event *event)
{
    const struct attn_dims *dims = attn_selection_dims(writer->labels.selection);
    /* with a sequence, another writer has made it already */
    const size_t n = event->sequence > 0 ? 1 : attn_writer_n_image(writer, event->at.site);

    for (size_t i = 0, row = 0, size[2]; n > 1 && i < n; i++, row += size[0] * size[1]) {
        attn_site_image_size(event->at.site, attn_dims_image(dims, i), size);
        if (event->row0 != row || event->n_row != size[0] * size[1] || event->n_row == 0)
            continue;
        event->sequence = i;
        event->row0 = 0;
        event->n_row = size[0];
        event->n_col = event->ld = size[1];
        return;
    }
}

enum attn_status attn_writer_event(struct attn_writer *writer, const struct attn_trace_event *event,
                                   struct attn_error *err)
{
    struct attn_trace_event shown = *event;

    ATTN_TRY(repeat_failure(writer, err));
    if (writer->stack && !attn_stacks_go_together(event->at.stack, writer->shown))
        return ATTN_OK; /* of the stack that is not shown */
    split_image(writer, &shown);
    return keep_failure(writer, emit_event(writer, &shown, err), err);
}

enum attn_status attn_writer_predictions(struct attn_writer *writer,
                                         const struct attn_predictions *predictions,
                                         struct attn_error *err)
{
    enum attn_status status;

    ATTN_TRY(repeat_failure(writer, err));
    if (!writer->ops->predictions)
        return ATTN_OK;
    status = check_rows(writer, err);
    ATTN_THEN(status, writer->ops->predictions(writer, predictions, err));
    return keep_failure(writer, status, err);
}

enum attn_status attn_writer_finish(struct attn_writer *writer, struct attn_error *err)
{
    ATTN_TRY(repeat_failure(writer, err));
    return keep_failure(writer, finish(writer, err), err);
}

void attn_writer_free(struct attn_writer *writer)
{
    struct attn_event_queue *queue = writer ? writer->queue : NULL;

    if (!writer)
        return;
    writer->ops->release(writer);
    for (size_t i = 0; queue && queue->lanes && i < queue->n_lane; i++)
        while (queue->lanes[i].first)
            drop_first(&queue->lanes[i]);
    attn_pieces_free(writer->pieces);
    if (writer->owns_sink)
        attn_sink_free(writer->sink);
    if (writer->owns_directory)
        attn_directory_free(writer->directory);
    attn_selection_free(writer->stack);
    attn_store_release(&writer->store);
    attn_free(writer);
}
