/* text_panel.c - see text_panel.h. */
#include "terminal/text_panel.h"

#include "base/memory.h"
#include "trace/site_internal.h"

#include <stdlib.h>

enum { SHOWN_POSITIONS = 16, SHOWN_COMPONENTS = 8 };

struct attn_text_limits attn_text_limits(bool is_full)
{
    return is_full ? (struct attn_text_limits){SIZE_MAX, SIZE_MAX}
                   : (struct attn_text_limits){SHOWN_POSITIONS, SHOWN_COMPONENTS};
}

struct attn_text_panel attn_text_panel_of(const struct attn_trace_event *event,
                                          const struct attn_place *place,
                                          const struct attn_text_limits *limits)
{
    enum attn_site_layout layout = attn_site_layout(event->site);
    bool is_matrix = attn_site_has_keys(event->site) || layout == ATTN_LAYOUT_RANK;
    const struct attn_extent *extent = &place->extent;

    return (struct attn_text_panel){
        .site = event->site,
        .layer = event->layer,
        .head = event->head,
        .rows = window_of(extent->n_row, limits->positions),
        .columns = window_of(extent->n_col, is_matrix ? limits->positions : limits->components),
    };
}

static enum attn_status add(struct attn_text_panels *panels, struct attn_text_panel panel,
                            struct attn_error *err)
{
    size_t n = panel.rows.n_shown * panel.columns.n_shown;
    void *items = panels->items;
    enum attn_status status =
        attn_grow(&items, &panels->capacity, panels->n + 1, sizeof panel, err);

    panels->items = items;
    if (status != ATTN_OK)
        return status;
    panel.values = attn_alloc(n, sizeof *panel.values, err);
    panel.is_visible = attn_alloc(n, sizeof *panel.is_visible, err);
    panels->items[panels->n++] = panel;
    return panel.values && panel.is_visible ? ATTN_OK : ATTN_NO_MEMORY;
}

/* Of a row that is shown at PLACE those cells that are shown. */
static void keep_row(struct attn_text_panel *panel, struct attn_row row, size_t place)
{
    size_t n = panel->columns.n_shown;
    struct attn_cells cells;

    while (attn_row_next(&row, &cells))
        for (size_t c = 0; c < n; c++) {
            size_t column = window_thing(panel->columns, c);

            if (column < cells.first || column - cells.first >= cells.n)
                continue;
            panel->is_visible[place * n + c] = true;
            panel->values[place * n + c] = cells.values[column - cells.first];
        }
}

/* The place of a panel, panels->n when it is not there. The one that is looked for came last, or
 * is near it. */
static size_t find(const struct attn_text_panels *panels, enum attn_site site, int layer, int head)
{
    for (size_t i = panels->n; i-- > 0;) {
        const struct attn_text_panel *panel = &panels->items[i];

        if (panel->site == site && panel->layer == layer && panel->head == head)
            return i;
    }
    return panels->n;
}

const struct attn_text_panel *attn_text_panels_find(const struct attn_text_panels *panels,
                                                    enum attn_site site, int layer, int head)
{
    const size_t i = find(panels, site, layer, head);

    return i < panels->n ? &panels->items[i] : NULL;
}

static int compare_panels(const void *a, const void *b)
{
    const struct attn_text_panel *first = a, *second = b;

    if (first->site != second->site)
        return first->site < second->site ? -1 : 1;
    return (first->head > second->head) - (first->head < second->head);
}

void attn_text_panels_sort(struct attn_text_panels *panels)
{
    if (panels->n > 0)
        qsort(panels->items, panels->n, sizeof *panels->items, compare_panels);
}

enum attn_status attn_text_panels_keep(struct attn_text_panels *panels,
                                       const struct attn_text_panel *shape,
                                       const struct attn_trace_event *event,
                                       const struct attn_place *place, struct attn_error *err)
{
    enum attn_status status;
    size_t i = find(panels, shape->site, shape->layer, shape->head);

    status = i < panels->n ? ATTN_OK : add(panels, *shape, err);
    for (size_t r = 0; r < event->n_row && status == ATTN_OK; r++) {
        size_t row = window_place(shape->rows, place->row + r);

        if (row != SIZE_MAX)
            keep_row(&panels->items[i], attn_event_row(event, r), row);
    }
    return status;
}

void attn_text_panels_release(struct attn_text_panels *panels)
{
    for (size_t i = 0; i < panels->n; i++) {
        attn_free(panels->items[i].values);
        attn_free(panels->items[i].is_visible);
    }
    attn_free(panels->items);
    *panels = (struct attn_text_panels){0};
}
