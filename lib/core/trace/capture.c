/* capture.c - see capture.h: one block of memory holds all selected tensors, which events fill row
 * by row. */

#include "base/memory.h"
#include "base/pool_internal.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "kernels/kernels.h"
#include "trace/trace_internal.h"

#include <assert.h>

enum {
    N_TASK_FLOAT = 1 << 16, /* number of floats that one task copies, about */
    /* From this size of a capture on, rows are stored past the caches: the first ones would be
       evicted anyway before anybody reads them. */
    STREAM_BYTES = 64 << 20,
};

/* A kept tensor. */
struct slot {
    float *values;        /* [n] in the block of memory; NULL: the tensor is not selected */
    unsigned char *cells; /* a bit for each number of a matrix, set if its cell is not masked; NULL
                             as `values` */
    size_t n;             /* number of floats */
    size_t n_sequence;    /* the chosen pictures of a tower, one after another; else 1 */
    size_t n_row, width;  /* of each head */
};

struct attn_capture {
    struct attn_selection *selection; /* owns */
    struct attn_trace trace;
    struct attn_pool *pool; /* borrowed; copies large events; NULL: the thread of the event does */
    struct slot *slots;     /* owns; [n_slot + 1, ATTN_N_SITE]: first those outside of the layers */
    struct attn_arena block; /* owns; the memory of all values and cells */
    /* Own; [n_position] the row of each selected query among the selected ones; the second is of
     * the encoder, NULL: one stack. */
    size_t *row_of[2];
};

static struct slot *slot_of(const struct attn_capture *capture, const struct attn_location *at)
{
    const int slot = attn_selection_slot(capture->selection, at) - ATTN_NO_LAYER;

    return &capture->slots[(size_t)slot * ATTN_N_SITE + (size_t)at->site];
}

/* Returns the number of selected heads of the tensor AT below that of AT. */
static size_t n_head_before(const struct attn_selection *selection, const struct attn_location *at)
{
    struct attn_location one = *at;
    size_t n = 0;

    for (one.head = 0; one.head < at->head; one.head++)
        n += attn_selection_has_tensor_head(selection, &one);
    return n;
}

/* Sets the bits FIRST .. FIRST + N - 1 of BITS. */
static void set_bits(unsigned char *bits, size_t first, size_t n)
{
    size_t i = first;

    for (; i < first + n && i % 8 != 0; i++)
        bits[i / 8] |= (unsigned char)(1U << i % 8);
    for (; i + 8 <= first + n; i += 8)
        bits[i / 8] = 0xff;
    for (; i < first + n; i++)
        bits[i / 8] |= (unsigned char)(1U << i % 8);
}

/* An event whose rows are copied to consecutive rows of a tensor, those of its heads and pictures
 * counted one after another. */
struct copy {
    const struct attn_trace_event *event;
    const struct slot *slot;
    const struct attn_kernels *kernels; /* stores rows past the caches; NULL: in them */
    size_t first;                       /* the row of the tensor for row 0 of the event */
    size_t n_task_row; /* rows of a task: a multiple of 8, so that tasks share no byte of `cells` */
};

/* Copies the rows of TASK: those from TASK * n_task_row of the tensor on, counted from the last
 * multiple of n_task_row before the first row. */
static void copy_rows(void *context, size_t task, int worker)
{
    const struct copy *copy = context;
    const struct slot *slot = copy->slot;
    const size_t begin = (copy->first / copy->n_task_row + task) * copy->n_task_row;
    const size_t end = begin + copy->n_task_row, last = copy->first + copy->event->n_row;

    (void)worker;
    for (size_t row = begin < copy->first ? copy->first : begin; row < end && row < last; row++) {
        struct attn_row rest = attn_event_row(copy->event, row - copy->first);
        struct attn_cells cells;
        float *values = slot->values + row * slot->width;

        if (copy->kernels)
            copy->kernels->stream(rest.values, rest.n < slot->width ? rest.n : slot->width,
                                  attn_site_masked(copy->event->at.site), slot->width, values);
        else
            attn_event_copy_row(copy->event, row - copy->first, values, slot->width);
        while (slot->cells && attn_row_next(&rest, &cells) && cells.first < slot->width)
            set_bits(slot->cells, row * slot->width + cells.first,
                     cells.n < slot->width - cells.first ? cells.n : slot->width - cells.first);
    }
    if (copy->kernels)
        copy->kernels->drain();
}

static enum attn_status keep_event(void *user, const struct attn_trace_event *event,
                                   struct attn_error *err)
{
    const struct attn_capture *capture = user;
    const struct attn_dims *dims = attn_selection_dims(capture->selection);
    const struct slot *slot = slot_of(capture, &event->at);
    const size_t *row_of = capture->row_of[dims->encoder && attn_stack_is_encoder(event->at.stack)];
    const bool has_all_rows =
        attn_site_has_key_rows(event->at.site) || attn_site_n_own_row(event->at.site, dims) > 0 ||
        attn_site_is_pooled(event->at.site, attn_dims_of(dims, event->at.stack));
    const bool is_streamed = capture->block.capacity >= STREAM_BYTES && !event->keys;
    struct copy copy = {.event = event,
                        .slot = slot,
                        .kernels = is_streamed ? attn_kernels_find(ATTN_ISA_BEST) : NULL};

    (void)err;
    if (!slot->values || event->n_row == 0) /* this tensor is not selected */
        return ATTN_OK;
    copy.first = n_head_before(capture->selection, &event->at) * slot->n_row;
    if (slot->n_sequence > 1) /* of a tower; a capture of other packs is of one sequence */
        copy.first += event->sequence * slot->n / slot->width / slot->n_sequence;
    /* The rows of an event are consecutive positions, all of them selected. */
    assert(has_all_rows ||
           row_of[event->row0 + event->n_row - 1] - row_of[event->row0] == event->n_row - 1);
    copy.first += has_all_rows ? event->row0
                               : row_of[event->row0] -
                                     attn_selection_n_rowless(capture->selection, &event->at);
    copy.n_task_row = (N_TASK_FLOAT / (slot->width + 1) + 8) / 8 * 8;
    attn_pool_run(capture->pool,
                  (copy.first + event->n_row - 1) / copy.n_task_row - copy.first / copy.n_task_row +
                      1,
                  copy_rows, &copy);
    return ATTN_OK;
}

/* Reserves memory in BLOCK for the tensor AT. While BLOCK only measures, no memory is used. */
static enum attn_status reserve(struct attn_capture *capture, const struct attn_location *at,
                                struct attn_arena *block, struct attn_error *err)
{
    const bool has_heads = attn_site_has_heads(at->site);
    const enum attn_site_layout layout = attn_site_layout(at->site);
    const bool has_rows_first =
        !has_heads || layout == ATTN_LAYOUT_KEY || layout == ATTN_LAYOUT_QUERY;
    struct slot *slot = slot_of(capture, at);
    size_t shape[3], n_row;
    const int rank = attn_selection_shape(capture->selection, at, shape);

    slot->n_row = rank == 1 ? 1 : shape[!has_rows_first];
    slot->width = rank == 2 && has_heads ? 1 : shape[rank - 1];
    slot->n_sequence = attn_location_n_sequence(attn_selection_dims(capture->selection), at);
    if (!attn_checked_mul(has_heads ? shape[has_rows_first] : 1, slot->n_row, &n_row) ||
        !attn_checked_mul(n_row, slot->n_sequence, &n_row) ||
        !attn_checked_mul(n_row, slot->width, &slot->n))
        return attn_error_no_memory(err);
    slot->values = attn_arena_take(block, slot->n, sizeof *slot->values);
    if (attn_site_has_keys(at->site))
        slot->cells = attn_arena_take(block, slot->n / 8 + 1, 1);
    return ATTN_OK;
}

/* Reserves memory in BLOCK for all selected tensors. */
static enum attn_status reserve_all(struct attn_capture *capture, struct attn_arena *block,
                                    struct attn_error *err)
{
    for (struct attn_selection_walk walk = {0}; attn_selection_next(capture->selection, &walk);)
        ATTN_TRY(reserve(capture, &walk.at, block, err));
    return ATTN_OK;
}

/* Numbers the selected queries of STACK. */
static enum attn_status number(const struct attn_selection *selection, enum attn_model_stack stack,
                               size_t **row_of, struct attn_error *err)
{
    const size_t n = attn_dims_of(attn_selection_dims(selection), stack)->n_position;
    size_t n_row = 0;

    ATTN_TRY(ATTN_ALLOC(*row_of, n, err));
    for (size_t query = 0; query < n; query++) {
        (*row_of)[query] = n_row;
        n_row += attn_selection_has_query(selection, stack, query);
    }
    return ATTN_OK;
}

/* Copies SELECTION to CAPTURE, and numbers the selected queries. */
static enum attn_status begin(struct attn_capture *capture, const struct attn_selection *selection,
                              struct attn_error *err)
{
    ATTN_TRY(attn_selection_copy(selection, &capture->selection, err));
    capture->trace = (struct attn_trace){
        .selection = capture->selection, .on_event = keep_event, .user = capture};
    ATTN_TRY(ATTN_ALLOC(capture->slots, (attn_selection_n_slot(selection) + 1) * ATTN_N_SITE, err));
    ATTN_TRY(number(selection, ATTN_STACK_ONLY, &capture->row_of[0], err));
    if (!attn_selection_dims(selection)->encoder)
        return ATTN_OK;
    return number(selection, ATTN_STACK_ENCODER, &capture->row_of[1], err);
}

static enum attn_status allocate(struct attn_capture *capture,
                                 const struct attn_selection *selection, struct attn_spare *spare,
                                 struct attn_error *err)
{
    capture->block.spare = attn_spare_hold(spare);
    ATTN_TRY(begin(capture, selection, err));
    ATTN_TRY(reserve_all(capture, &capture->block, err)); /* measures how much is needed */
    ATTN_TRY(attn_arena_allocate_zeroed(&capture->block, err));
    return reserve_all(capture, &capture->block, err);
}

enum attn_status attn_capture_create_in(struct attn_spare *spare, struct attn_pool *pool,
                                        const struct attn_selection *selection,
                                        struct attn_capture **capture, struct attn_error *err)
{
    struct attn_capture *created;

    ATTN_NEED(err, selection, capture);
    ATTN_TRY(ATTN_ALLOC(created, 1, err));
    created->pool = pool;
    ATTN_RETURN_MADE(allocate(created, selection, spare, err), capture, created, attn_capture_free);
}

enum attn_status attn_capture_create(const struct attn_selection *selection,
                                     struct attn_capture **capture, struct attn_error *err)
{
    return attn_capture_create_in(NULL, NULL, selection, capture, err);
}

const struct attn_trace *attn_capture_trace(const struct attn_capture *capture)
{
    return capture ? &capture->trace : NULL;
}

/* Returns the slot of the tensor AT; NULL if there is no such stack or layer. */
static const struct slot *find(const struct attn_capture *capture, const struct attn_location *at)
{
    return capture && attn_selection_has_place(capture->selection, at) ? slot_of(capture, at)
                                                                       : NULL;
}

const float *attn_capture_tensor(const struct attn_capture *capture, const struct attn_location *at)
{
    const struct slot *slot = find(capture, at);

    return slot ? slot->values : NULL;
}

const float *attn_capture_head(const struct attn_capture *capture, const struct attn_location *at)
{
    const struct slot *slot = find(capture, at);

    if (!slot || !slot->values || !attn_site_has_heads(at->site) ||
        !attn_selection_has_tensor_head(capture->selection, at))
        return NULL;
    return slot->values + n_head_before(capture->selection, at) * slot->n_row * slot->width;
}

bool attn_capture_has_cell(const struct attn_capture *capture, const struct attn_location *at,
                           size_t i)
{
    const struct slot *slot = find(capture, at);

    if (!slot || !slot->cells)
        return slot && slot->values;
    return i < slot->n && (slot->cells[i / 8] >> i % 8 & 1) != 0;
}

void attn_capture_free(struct attn_capture *capture)
{
    if (!capture)
        return;
    attn_arena_release(&capture->block);
    attn_free(capture->slots);
    attn_free(capture->row_of[0]);
    attn_free(capture->row_of[1]);
    attn_selection_free(capture->selection);
    attn_free(capture);
}
