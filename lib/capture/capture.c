/* capture.c - one block of memory for each wanted site of each layer, filled row by row. */
#include "capture/capture.h"

#include "base/memory.h"

#include <string.h>

struct attn_capture {
    const struct attn_selection *selection;
    struct attn_trace trace;
    float **tensors; /* owns; [(n_layer + 1), ATTN_N_SITE]: ATTN_NO_LAYER first */
};

static size_t slot_of(enum attn_site site, int layer)
{
    return (size_t)(layer - ATTN_NO_LAYER) * ATTN_N_SITE + (size_t)site;
}

static size_t n_slot(const struct attn_capture *capture)
{
    return (attn_selection_dims(capture->selection)->n_layer + 1) * ATTN_N_SITE;
}

/* Rows of one head of SITE. */
static size_t n_row_of(const struct attn_dims *dims, enum attn_site site, int layer)
{
    return attn_site_layout(site) == ATTN_LAYOUT_KEY ? attn_site_n_key(dims, layer)
                                                     : dims->n_position;
}

static size_t n_head_of(const struct attn_dims *dims, enum attn_site site)
{
    switch (attn_site_layout(site)) {
    case ATTN_LAYOUT_QUERY:
        return dims->n_head;
    case ATTN_LAYOUT_KEY:
        return dims->n_kv_head;
    default:
        return 1;
    }
}

static enum attn_status keep_event(void *user, const struct attn_trace_event *event,
                                   struct attn_error *err)
{
    struct attn_capture *capture = user;
    const struct attn_dims *dims = attn_selection_dims(capture->selection);
    const size_t head = event->head == ATTN_ALL_HEADS ? 0 : (size_t)event->head;
    const size_t first = head * n_row_of(dims, event->site, event->layer) + event->row0;
    float *to = capture->tensors[slot_of(event->site, event->layer)] + first * event->n_col;

    (void)err;
    for (size_t i = 0; i < event->n_row; i++)
        memcpy(to + i * event->n_col, event->data + i * event->ld, event->n_col * sizeof(float));
    return ATTN_OK;
}

static enum attn_status take(struct attn_capture *capture, enum attn_site site, int layer,
                             struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(capture->selection);
    const enum attn_site_layout layout = attn_site_layout(site);
    float **tensor = &capture->tensors[slot_of(site, layer)];
    size_t n_row, n;

    if (!attn_selection_wants(capture->selection, site, layer))
        return ATTN_OK;
    if (layout == ATTN_LAYOUT_MATRIX || layout == ATTN_LAYOUT_RANK)
        return attn_error_set(err, ATTN_INVALID, "a capture keeps no matrices, got '%s'",
                              attn_site_name(site));
    if (!attn_checked_mul(n_head_of(dims, site), n_row_of(dims, site, layer), &n_row) ||
        !attn_checked_mul(n_row, attn_site_width(site, dims), &n))
        return attn_error_no_memory(err);
    *tensor = attn_alloc(n, sizeof **tensor, err);
    return *tensor == NULL ? ATTN_NO_MEMORY : ATTN_OK;
}

enum attn_status attn_capture_create(const struct attn_selection *selection,
                                     struct attn_capture **capture, struct attn_error *err)
{
    const int n_layer = (int)attn_selection_dims(selection)->n_layer;
    enum attn_status status = ATTN_OK;
    struct attn_capture *c;

    if (!attn_selection_is_all_queries(selection))
        return attn_error_set(err, ATTN_INVALID, "a capture keeps all queries, got %zu of %zu",
                              attn_selection_n_query(selection),
                              attn_selection_dims(selection)->n_position);
    c = attn_alloc(1, sizeof *c, err);
    if (c == NULL)
        return ATTN_NO_MEMORY;
    c->selection = selection;
    c->trace = (struct attn_trace){selection, keep_event, c};
    c->tensors = attn_alloc(n_slot(c), sizeof(float *), err);
    if (c->tensors == NULL)
        status = ATTN_NO_MEMORY;
    for (int layer = ATTN_NO_LAYER; status == ATTN_OK && layer < n_layer; layer++)
        for (int site = 0; status == ATTN_OK && site < ATTN_N_SITE; site++)
            if (attn_site_is_in_layer((enum attn_site)site) == (layer != ATTN_NO_LAYER))
                status = take(c, (enum attn_site)site, layer, err);
    if (status != ATTN_OK)
        goto fail;
    *capture = c;
    return ATTN_OK;
fail:
    attn_capture_free(c);
    return status;
}

const struct attn_trace *attn_capture_trace(const struct attn_capture *capture)
{
    return &capture->trace;
}

const float *attn_capture_tensor(const struct attn_capture *capture, enum attn_site site, int layer)
{
    return capture->tensors[slot_of(site, layer)];
}

void attn_capture_free(struct attn_capture *capture)
{
    if (capture == NULL)
        return;
    for (size_t i = 0; capture->tensors != NULL && i < n_slot(capture); i++)
        attn_free(capture->tensors[i]);
    attn_free(capture->tensors);
    attn_free(capture);
}
