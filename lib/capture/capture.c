/* capture.c - see capture.h: one block of memory holds all selected tensors, which events fill row
 * by row. */
#include "capture/capture_internal.h"

#include "base/given.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "trace/trace_internal.h"

/* The kept tensor of one site and layer. */
struct slot {
    float *values;        /* [n] in the block of memory; NULL: the tensor is not selected */
    unsigned char *cells; /* a bit for each number of a matrix, set if its cell is not masked; NULL
                             as `values` */
    size_t n;             /* number of floats */
};

struct attn_capture {
    struct attn_selection *selection; /* owns */
    struct attn_trace trace;
    struct slot *slots; /* owns; [(n_layer + 1), ATTN_N_SITE]: first those of ATTN_NO_LAYER, then
                           layer by layer */
    struct attn_arena block; /* owns; the memory of all values and cells, also those of `encoder` */
    size_t *row_of; /* owns; [n_position] the row of each selected query among the selected ones */
    struct attn_capture *encoder; /* owns; the capture of the encoder's layers; NULL: one stack */
};

static struct slot *slot_of(const struct attn_capture *capture, enum attn_site site, int layer)
{
    return &capture->slots[(size_t)(layer - ATTN_NO_LAYER) * ATTN_N_SITE + (size_t)site];
}

static size_t n_slot(const struct attn_capture *capture)
{
    return (attn_selection_dims(capture->selection)->n_layer + 1) * ATTN_N_SITE;
}

/* Returns the part of CAPTURE that holds the stack of AT: CAPTURE itself or its encoder's part. */
static const struct attn_capture *part_of(const struct attn_capture *capture,
                                          const struct attn_location *at)
{
    return capture->encoder && at->stack == ATTN_STACK_ENCODER ? capture->encoder : capture;
}

static bool is_of_keys(enum attn_site site)
{
    return attn_site_layout(site) == ATTN_LAYOUT_KEY;
}

static bool has_head(const struct attn_selection *selection, enum attn_site site, int layer,
                     int head)
{
    return is_of_keys(site) ? attn_selection_has_kv_head(selection, layer, head)
                            : attn_selection_has_block_head(selection, layer, head);
}

/* Returns the number of selected heads of SITE below HEAD. */
static size_t n_head_before(const struct attn_selection *selection, enum attn_site site, int layer,
                            int head)
{
    size_t n = 0;

    for (int i = 0; i < head; i++)
        n += has_head(selection, site, layer, i);
    return n;
}

/* Returns the number of rows that each head of SITE has. */
static size_t n_row_of(const struct attn_selection *selection, enum attn_site site, int layer)
{
    return is_of_keys(site) ? attn_site_n_key(attn_selection_dims(selection), layer)
                            : attn_selection_n_row(selection, site);
}

static size_t width_of(const struct attn_selection *selection, enum attn_site site, int layer)
{
    return attn_site_n_column(site, attn_selection_dims(selection), layer);
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

static enum attn_status keep_event(void *user, const struct attn_trace_event *event,
                                   struct attn_error *err)
{
    const int layer = attn_location_block(&event->at);
    const struct attn_capture *capture = part_of(user, &event->at);
    const struct attn_selection *selection = capture->selection;
    const struct slot *slot = slot_of(capture, event->at.site, layer);
    const size_t width = width_of(selection, event->at.site, layer);
    const bool has_all_rows = is_of_keys(event->at.site) ||
                              attn_site_is_pooled(event->at.site, attn_selection_dims(selection));
    const size_t n_rowless = attn_selection_n_rowless(selection, event->at.site);
    size_t first_row = 0;

    (void)err;
    if (!slot->values) /* this tensor is not selected */
        return ATTN_OK;
    if (event->at.head != ATTN_ALL_HEADS)
        first_row = n_head_before(selection, event->at.site, layer, event->at.head) *
                    n_row_of(selection, event->at.site, layer);
    for (size_t r = 0; r < event->n_row; r++) {
        const size_t position = event->row0 + r;
        const size_t row = has_all_rows ? position : capture->row_of[position] - n_rowless;
        const size_t begin = (first_row + row) * width;
        struct attn_row rest = attn_event_row(event, r);
        struct attn_cells cells;

        attn_event_copy_row(event, r, slot->values + begin, width);
        while (slot->cells && attn_row_next(&rest, &cells) && cells.first < width)
            set_bits(slot->cells, begin + cells.first,
                     cells.n < width - cells.first ? cells.n : width - cells.first);
    }
    return ATTN_OK;
}

/* Reserves memory in BLOCK for the tensor of SITE in LAYER, if it is selected. While BLOCK only
 * measures, no memory is used. */
static enum attn_status reserve(struct attn_capture *capture, enum attn_site site, int layer,
                                struct attn_arena *block, struct attn_error *err)
{
    const struct attn_selection *selection = capture->selection;
    const struct attn_dims *dims = attn_selection_dims(selection);
    const int n_all = (int)(is_of_keys(site) ? dims->n_kv_head : dims->n_head);
    struct slot *slot = slot_of(capture, site, layer);
    size_t n_row;

    if (!attn_selection_wants_block(selection, site, layer))
        return ATTN_OK;
    if (!attn_checked_mul(attn_site_has_heads(site) ? n_head_before(selection, site, layer, n_all)
                                                    : 1,
                          n_row_of(selection, site, layer), &n_row) ||
        !attn_checked_mul(n_row, width_of(selection, site, layer), &slot->n))
        return attn_error_no_memory(err);
    slot->values = attn_arena_take(block, slot->n, sizeof *slot->values);
    if (attn_site_has_keys(site))
        slot->cells = attn_arena_take(block, slot->n / 8 + 1, 1);
    return ATTN_OK;
}

/* Reserves memory in BLOCK for all selected tensors of both stacks. */
static enum attn_status reserve_all(struct attn_capture *capture, struct attn_arena *block,
                                    struct attn_error *err)
{
    const int n_layer = (int)attn_selection_dims(capture->selection)->n_layer;

    if (capture->encoder)
        ATTN_TRY(reserve_all(capture->encoder, block, err));
    for (int layer = ATTN_NO_LAYER; layer < n_layer; layer++)
        for (enum attn_site site = 0; site < ATTN_N_SITE; site++)
            if (attn_site_is_in_layer(site) == (layer != ATTN_NO_LAYER))
                ATTN_TRY(reserve(capture, site, layer, block, err));
    return ATTN_OK;
}

/* Copies SELECTION to CAPTURE, creates the part of the encoder if there is one, and numbers the
 * selected queries. */
static enum attn_status begin(struct attn_capture *capture, const struct attn_selection *selection,
                              struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(selection);
    const struct attn_selection *encoder = attn_selection_encoder(selection);
    size_t n_row = 0;

    ATTN_TRY(attn_selection_copy(selection, &capture->selection, err));
    if (encoder) {
        ATTN_TRY(ATTN_ALLOC(capture->encoder, 1, err));
        ATTN_TRY(begin(capture->encoder, encoder, err));
    }
    capture->trace = (struct attn_trace){capture->selection, keep_event, capture};
    ATTN_TRY(ATTN_ALLOC(capture->row_of, dims->n_position, err));
    ATTN_TRY(ATTN_ALLOC(capture->slots, n_slot(capture), err));
    for (size_t query = 0; query < dims->n_position; query++) {
        capture->row_of[query] = n_row;
        n_row += attn_selection_has_query(capture->selection, query);
    }
    return ATTN_OK;
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

enum attn_status attn_capture_create_in(struct attn_spare *spare,
                                        const struct attn_selection *selection,
                                        struct attn_capture **capture, struct attn_error *err)
{
    struct attn_capture *created;

    if (!attn_is_given(selection, "selection", err) || !attn_is_given(capture, "capture", err))
        return ATTN_INVALID;
    ATTN_TRY(ATTN_ALLOC(created, 1, err));
    ATTN_RETURN_MADE(allocate(created, selection, spare, err), capture, created, attn_capture_free);
}

enum attn_status attn_capture_create(const struct attn_selection *selection,
                                     struct attn_capture **capture, struct attn_error *err)
{
    return attn_capture_create_in(NULL, selection, capture, err);
}

/* Whether SITE and LAYER exist in CAPTURE. */
static bool has_slot(const struct attn_capture *capture, enum attn_site site, int layer)
{
    return capture && (unsigned)site < ATTN_N_SITE && layer >= ATTN_NO_LAYER &&
           (layer < 0 || (size_t)layer < attn_selection_dims(capture->selection)->n_layer);
}

const struct attn_trace *attn_capture_trace(const struct attn_capture *capture)
{
    return capture ? &capture->trace : NULL;
}

const float *attn_capture_block(const struct attn_capture *capture, enum attn_site site, int block)
{
    return has_slot(capture, site, block) ? slot_of(capture, site, block)->values : NULL;
}

const float *attn_capture_block_head(const struct attn_capture *capture, enum attn_site site,
                                     int block, int head)
{
    const float *tensor = attn_capture_block(capture, site, block);
    const struct attn_selection *selection;

    if (!tensor || !attn_site_has_heads(site))
        return NULL;
    selection = capture->selection;
    if (!has_head(selection, site, block, head))
        return NULL;
    return tensor + n_head_before(selection, site, block, head) * n_row_of(selection, site, block) *
                        width_of(selection, site, block);
}

bool attn_capture_block_has_cell(const struct attn_capture *capture, enum attn_site site, int block,
                                 size_t i)
{
    const struct slot *slot;

    if (!has_slot(capture, site, block))
        return false;
    slot = slot_of(capture, site, block);
    if (!slot->cells)
        return slot->values;
    return i < slot->n && (slot->cells[i / 8] >> i % 8 & 1) != 0;
}

/* Returns the part of CAPTURE that holds the stack of AT, with *block the number of its layer
 * there; NULL if there is no such stack or layer. */
static const struct attn_capture *find(const struct attn_capture *capture,
                                       const struct attn_location *at, int *block)
{
    return capture && attn_selection_part(capture->selection, at, block) ? part_of(capture, at)
                                                                         : NULL;
}

const float *attn_capture_tensor(const struct attn_capture *capture, const struct attn_location *at)
{
    int block;
    const struct attn_capture *part = find(capture, at, &block);

    return part ? attn_capture_block(part, at->site, block) : NULL;
}

const float *attn_capture_head(const struct attn_capture *capture, const struct attn_location *at)
{
    int block;
    const struct attn_capture *part = find(capture, at, &block);

    return part ? attn_capture_block_head(part, at->site, block, at->head) : NULL;
}

bool attn_capture_has_cell(const struct attn_capture *capture, const struct attn_location *at,
                           size_t i)
{
    int block;
    const struct attn_capture *part = find(capture, at, &block);

    return part && attn_capture_block_has_cell(part, at->site, block, i);
}

void attn_capture_free(struct attn_capture *capture)
{
    if (!capture)
        return;
    attn_arena_release(&capture->block);
    attn_free(capture->slots);
    attn_free(capture->row_of);
    attn_capture_free(capture->encoder);
    attn_selection_free(capture->selection);
    attn_free(capture);
}
