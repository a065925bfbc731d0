/* page_vectors.c - see page_internal.h. */
#include "page/page_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "trace/trace_internal.h"

#include <string.h>

static const double most_numbers = 8e6; /* maximum numbers on a page, 4 bytes each */

/* Returns true if all vectors of a row are selected in the layer of AT; adds the count of their
 * numbers to *N. */
static bool count_layer(const struct attn_writer *writer, struct attn_page_vectors *vectors,
                        struct attn_location at, double *n)
{
    const enum attn_site sites[] = {vectors->query, vectors->key, ATTN_SITE_ATTN_SCORES,
                                    ATTN_SITE_V};

    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++) {
        struct attn_extent extent;

        at.site = sites[i];
        if (!attn_selection_wants(writer->labels.selection, &at))
            return false;
        extent = attn_writer_extent(writer, &at);
        vectors->widest = extent.n_col > vectors->widest ? extent.n_col : vectors->widest;
        *n += (double)extent.n_row * (double)extent.n_head * (double)extent.n_col;
    }
    return true;
}

enum attn_status attn_page_vectors_init(struct attn_page_vectors *vectors,
                                        const struct attn_writer *writer, struct attn_error *err)
{
    const struct attn_selection *selection = writer->labels.selection;
    const struct attn_dims *dims = attn_selection_dims(selection);
    double n = 0;

    vectors->query = attn_site_of_scores(dims, ATTN_LAYOUT_QUERY);
    vectors->key = attn_site_of_scores(dims, ATTN_LAYOUT_KEY);
    if (writer->labels.axes || attn_sites_have(dims->sites, ATTN_SITE_SINK) ||
        writer->options.picture->live) /* the reader may type another text */
        return ATTN_OK;
    for (struct attn_selection_walk walk = {0}; attn_selection_next(selection, &walk);)
        if (walk.at.site == ATTN_SITE_PATTERN && !count_layer(writer, vectors, walk.at, &n))
            return ATTN_OK;
    vectors->are_there = n <= most_numbers;
    if (!vectors->are_there)
        attn_note(writer->options.on_note, writer->options.user, ATTN_NOTE_PAGE_OMITS,
                  "the page leaves out q, k, v and the scores, which are more than "
                  "8 million numbers");
    return ATTN_ALLOC(vectors->row, vectors->widest, err);
}

enum attn_status attn_page_vectors_take(struct attn_page *page,
                                        const struct attn_trace_event *event,
                                        const struct attn_place *place, struct attn_error *err)
{
    const struct attn_page_vectors *vectors = &page->vectors;
    const enum attn_site site = event->at.site;
    const size_t n = place->extent.n_col;

    if (!vectors->are_there || (site != vectors->query && site != vectors->key &&
                                site != ATTN_SITE_ATTN_SCORES && site != ATTN_SITE_V))
        return ATTN_OK;
    for (size_t r = 0; r < event->n_row; r++) {
        unsigned char *to;

        if (place->row + r == 0) {
            attn_page_begin_tensor(page, &event->at, "float32");
            attn_page_key_head(page, event->at.head);
            attn_page_begin_block(page);
        }
        attn_event_copy_row(event, r, vectors->row, n);
        to = attn_page_data_reserve(page->data, n * sizeof *vectors->row);
        if (to)
            memcpy(to, vectors->row, n * sizeof *vectors->row);
        if (place->row + r + 1 == place->extent.n_row)
            attn_page_end_block(page);
        ATTN_TRY(attn_page_data_flush(page->data, err));
    }
    return ATTN_OK;
}

void attn_page_vectors_push(struct attn_page *page)
{
    const struct attn_dims *dims = attn_selection_dims(page->base.labels.selection);
    struct attn_json_writer *json = &page->json;

    attn_json_begin(attn_page_push_key(json, "vectors"), '{');
    attn_json_text(attn_json_key(json, "query"), attn_site_name(page->vectors.query));
    attn_json_text(attn_json_key(json, "key"), attn_site_name(page->vectors.key));
    attn_json_size(attn_json_key(json, "n_head"), dims->n_head);
    attn_json_size(attn_json_key(json, "n_kv_head"), dims->n_kv_head);
    attn_json_end(json);
}
