/* page_gradients.c - see page_internal.h. */
#include "page/page_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const enum attn_site shown_sites[ATTN_PAGE_N_GRADIENT] = {ATTN_SITE_PATTERN_GRAD,
                                                                 ATTN_SITE_PATTERN_X_GRAD};

/* Returns true if SITE is selected in every layer in which the pattern is. */
static bool is_selected(const struct attn_writer *writer, enum attn_site site)
{
    const struct attn_selection *selection = writer->labels.selection;
    struct attn_location pattern = {.site = ATTN_SITE_PATTERN, .layer = ATTN_NO_LAYER};

    while (attn_dims_next_layer(attn_selection_dims(selection), &pattern)) {
        struct attn_location at = pattern;

        at.site = site;
        if (attn_selection_wants(selection, &pattern) && !attn_selection_wants(selection, &at))
            return false;
    }
    return true;
}

enum attn_status attn_page_gradients_init(struct attn_page_gradients *gradients,
                                          const struct attn_writer *writer,
                                          const struct attn_page_heads *heads,
                                          struct attn_error *err)
{
    const struct attn_picture_options *picture = writer->options.picture;
    size_t n_row = 0, n_column = 0; /* size of the largest head */
    size_t n_thumb = 0;             /* cells of the thumbnails of all heads */

    if (picture->live || writer->labels.axes)
        return ATTN_OK;
    for (size_t i = 0; i < heads->n; i++) {
        const struct attn_page_head *head = &heads->items[i];

        n_row = head->n_row > n_row ? head->n_row : n_row;
        n_column = head->n_column > n_column ? head->n_column : n_column;
        n_thumb += head->n_thumb_row * head->n_thumb_col;
    }
    for (size_t i = 0; i < ATTN_PAGE_N_GRADIENT; i++) {
        struct attn_page_gradient *gradient = &gradients->items[gradients->n];

        if (!is_selected(writer, shown_sites[i]))
            continue;
        gradient->site = shown_sites[i];
        gradient->thumbs = attn_alloc_uninitialized(n_thumb, sizeof *gradient->thumbs, err);
        if (!gradient->thumbs)
            return ATTN_NO_MEMORY;
        gradients->n++;
    }
    if (gradients->n == 0)
        return ATTN_OK;
    gradients->cells = attn_alloc_uninitialized(n_row, n_column * sizeof *gradients->cells, err);
    return gradients->cells ? ATTN_OK : ATTN_NO_MEMORY;
}

void attn_page_gradients_release(struct attn_page_gradients *gradients)
{
    for (size_t i = 0; i < gradients->n; i++)
        attn_free(gradients->items[i].thumbs);
    attn_free(gradients->cells);
}

/* Writes the first N_BYTE bytes of each float, rounded: first the first bytes of all floats, then
 * all second bytes, and so on. */
static void put_planes(struct attn_page_data *data, const float *values, size_t n, int n_byte)
{
    for (int plane = 0; plane < n_byte; plane++) {
        unsigned char *to = attn_page_data_reserve(data, n);

        for (size_t i = 0; to && i < n; i++) {
            uint32_t bits;

            memcpy(&bits, &values[i], sizeof bits);
            if (n_byte == 2 && isfinite(values[i]))
                bits += 0x7fff + (bits >> 16 & 1);
            to[i] = (unsigned char)(bits >> (24 - 8 * plane));
        }
    }
}

/* Adds the thumbnail of HEAD: each of its cells keeps the pooled value farthest from 0. */
static void add_thumb(struct attn_page_gradient *gradient, const struct attn_page_head *head,
                      const float *cells)
{
    const size_t n = head->n_thumb_row * head->n_thumb_col;
    float *thumb = gradient->thumbs + gradient->n_thumb;

    for (size_t i = 0; i < n; i++)
        thumb[i] = NAN;
    for (size_t r = 0; r < head->n_row; r++)
        for (size_t c = 0; c < head->n_column; c++) {
            const float value = cells[r * head->n_column + c], size = fabsf(value);
            float *there = &thumb[r / head->k * head->n_thumb_col + c / head->k];

            if (!isnan(value) && !(size <= fabsf(*there)))
                *there = value;
            if (isfinite(value) && size > gradient->most)
                gradient->most = size;
        }
    gradient->n_thumb += n;
}

static struct attn_page_gradient *find(struct attn_page_gradients *gradients, enum attn_site site)
{
    for (size_t i = 0; i < gradients->n; i++)
        if (gradients->items[i].site == site)
            return &gradients->items[i];
    return NULL;
}

enum attn_status attn_page_gradients_take(struct attn_page *page,
                                          const struct attn_trace_event *event,
                                          const struct attn_place *place, struct attn_error *err)
{
    struct attn_page_gradient *gradient = find(&page->gradients, event->at.site);
    float *cells = page->gradients.cells;
    const struct attn_page_head *head;
    char id[2 * ATTN_PAGE_ID_SIZE];

    if (!gradient)
        return ATTN_OK;
    head = attn_page_head_of(&page->heads, event, place);
    for (size_t r = 0; r < event->n_row; r++)
        attn_page_read_row(event, r, cells + (place->row + r) * head->n_column, head->n_column);
    if (place->row + event->n_row < head->n_row)
        return ATTN_OK;
    snprintf(id, sizeof id, "%s-%s", head->id, attn_site_name(event->at.site));
    attn_page_data_begin(page->data, id);
    put_planes(page->data, cells, head->n_row * head->n_column, 2 * page->n_byte);
    attn_page_data_end(page->data);
    add_thumb(gradient, head, cells);
    return attn_page_data_flush(page->data, err);
}

void attn_page_gradients_add_thumbs(struct attn_page *page)
{
    for (size_t i = 0; i < page->gradients.n; i++) {
        const struct attn_page_gradient *gradient = &page->gradients.items[i];
        char id[2 * ATTN_PAGE_ID_SIZE];

        snprintf(id, sizeof id, "thumbs-%s", attn_site_name(gradient->site));
        attn_page_data_begin(page->data, id);
        put_planes(page->data, gradient->thumbs, gradient->n_thumb, ATTN_PAGE_THUMB_BYTES);
        attn_page_data_end(page->data);
    }
}
