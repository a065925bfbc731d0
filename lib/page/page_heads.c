/* page_heads.c - see page_heads.h. */
#include "page/page_heads.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>

/* --- Which there are ------------------------------------------------------------------------- */

static void shape_thumb(struct attn_page_head *head, bool is_comparison)
{
    const size_t side = head->n_row > head->n_column ? head->n_row : head->n_column;

    head->k = side > 0 ? (side - 1) / ATTN_PAGE_THUMB + 1 : 1;
    head->n_thumb_row = (head->n_row + head->k - 1) / head->k;
    head->n_thumb_col = (head->n_column + head->k - 1) / head->k;
    head->n_plane = head->k > 1 ? ATTN_PAGE_N_PLANE : 1;
    head->n_thumb = is_comparison ? 2 * head->n_plane + 1 : head->n_plane;
}

static enum attn_status add_head(struct attn_page_heads *heads, const struct attn_writer *writer,
                                 int layer, int head, struct attn_error *err)
{
    const struct attn_extent extent = attn_writer_extent(writer, ATTN_SITE_PATTERN, layer);
    const struct attn_head_number place = attn_writer_head_number(writer, ATTN_SITE_PATTERN, head);
    struct attn_page_head *item = &heads->items[heads->n];
    size_t n_cell;

    *item = (struct attn_page_head){
        .layer = layer,
        .head = head,
        .group = writer->labels.axes ? place.batch : layer,
        .number = place.head,
        .is_source = !attn_writer_has_own_keys(writer, layer),
        .n_row = extent.n_row,
        .n_column = extent.n_col,
    };
    snprintf(item->id, sizeof item->id, "L%dH%d", layer, head);
    for (size_t i = 0; i < ATTN_PAGE_N_MEASURE; i++)
        item->values[i] = (double)NAN;
    shape_thumb(item, writer->options.picture->is_difference);
    if (!attn_checked_mul(extent.n_row, extent.n_col, &n_cell) ||
        !attn_checked_add(heads->n_cell, n_cell, &heads->n_cell))
        heads->n_cell = SIZE_MAX;
    heads->n++;
    item->thumb = attn_alloc(item->n_thumb * item->n_thumb_row, item->n_thumb_col, err);
    return item->thumb ? ATTN_OK : ATTN_NO_MEMORY;
}

static enum attn_status list_heads(struct attn_page_heads *heads, const struct attn_writer *writer,
                                   struct attn_error *err)
{
    const struct attn_selection *selection = writer->labels.selection;
    const struct attn_dims *dims = attn_selection_dims(selection);

    for (int layer = 0; layer < (int)dims->n_layer; layer++) {
        heads->first_of_layer[layer] = heads->n;
        if (!attn_selection_wants(selection, ATTN_SITE_PATTERN, layer))
            continue;
        for (int head = 0; head < (int)dims->n_head; head++)
            if (attn_writer_has_head(writer, ATTN_SITE_PATTERN, layer, head))
                ATTN_TRY(add_head(heads, writer, layer, head, err));
    }
    return ATTN_OK;
}

static enum attn_status begin_measures(struct attn_page_heads *heads,
                                       const struct attn_writer *writer, struct attn_error *err)
{
    static const struct attn_metric *const metrics[] = {
#define METRIC_ADDRESS(name) &attn_metric_##name,
        ATTN_PAGE_MEASURE_MAP(METRIC_ADDRESS)
#undef METRIC_ADDRESS
    };
    static const struct attn_metric_settings settings = {.n_recalled = 1};

    for (size_t i = 0; i < ATTN_PAGE_N_MEASURE; i++)
        ATTN_TRY(attn_measurement_create(metrics[i], &settings, writer->labels.selection,
                                         writer->options.pool, &heads->measurements[i], err));
    return ATTN_OK;
}

enum attn_status attn_page_heads_init(struct attn_page_heads *heads, struct attn_writer *writer,
                                      struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(writer->labels.selection);

    heads->first_of_layer = attn_alloc(dims->n_layer, sizeof *heads->first_of_layer, err);
    heads->items = attn_alloc(dims->n_layer * dims->n_head, sizeof *heads->items, err);
    if (!heads->items || !heads->first_of_layer)
        return ATTN_NO_MEMORY;
    ATTN_TRY(list_heads(heads, writer, err));
    return begin_measures(heads, writer, err);
}

void attn_page_heads_release(struct attn_page_heads *heads)
{
    for (size_t i = 0; i < heads->n; i++) {
        attn_free(heads->items[i].thumb);
        attn_buffer_release(&heads->items[i].not_finite);
    }
    for (size_t i = 0; i < ATTN_PAGE_N_MEASURE; i++)
        attn_measurement_free(heads->measurements[i]);
    attn_free(heads->items);
    attn_free(heads->first_of_layer);
}

struct attn_page_head *attn_page_heads_find(const struct attn_page_heads *heads,
                                            const struct attn_trace_event *event,
                                            const struct attn_place *place)
{
    return &heads->items[heads->first_of_layer[event->layer] + place->head];
}

/* --- What is kept of them -------------------------------------------------------------------- */

void attn_page_heads_measure(struct attn_page_heads *heads, const struct attn_trace_event *event)
{
    for (size_t i = 0; i < ATTN_PAGE_N_MEASURE; i++)
        attn_measurement_add(heads->measurements[i], event, NULL);
}

void attn_page_heads_end(struct attn_page_heads *heads, struct attn_page_head *head)
{
    for (size_t i = 0; i < ATTN_PAGE_N_MEASURE; i++) {
        double values[ATTN_METRIC_MOST];

        attn_measurement_find(heads->measurements[i], head->layer, head->head, values);
        head->values[i] = values[0];
    }
}

/* Puts a level into a plane of thumbnails, in the row that begins with cell BEGIN. */
static void put(unsigned char *plane, size_t i, float square_root)
{
    const unsigned level = attn_page_level(square_root > 1 ? 1 : square_root, 254);

    if (level > plane[i])
        plane[i] = (unsigned char)level;
}

/* Which part of the row is left without the first key; 0 when nothing is. */
static double sum_without_first(const struct attn_page_head *head, const float *weights)
{
    double sum = 0;

    for (size_t c = 1; c < head->n_column; c++)
        if (isfinite(weights[c]))
            sum += (double)weights[c];
    return sum;
}

static size_t thumb_size(const struct attn_page_head *head)
{
    return head->n_thumb_row * head->n_thumb_col;
}

/* Pools a row into the planes of a set; the row's part of the first of them is PLANE. */
static void pool_row(const struct attn_page_head *head, unsigned char *plane, const float *weights)
{
    const size_t size = thumb_size(head);
    const double rest = head->n_plane > 1 ? sum_without_first(head, weights) : 0;
    const float by = rest > 0 ? (float)sqrt(1 / rest) : 0;

    for (size_t c = 0; c < head->n_column; c++) {
        const size_t i = c / head->k;
        float root;

        if (!isfinite(weights[c]))
            continue;
        root = sqrtf(weights[c] > 0 ? weights[c] : 0);
        put(plane, i, root);
        if (head->n_plane == 1 || c == 0)
            continue;
        put(plane + size, i, root);
        if (rest > 0)
            put(plane + 2 * size, i, root * by);
    }
}

/* Notes what no level shows: runs of cells that are not finite, and weights outside 0 to 1. */
static void note_row(struct attn_page_head *head, size_t row, const float *weights)
{
    for (size_t c = 0; c < head->n_column; c++) {
        size_t n = 1;

        head->n_outside += weights[c] < 0 || (weights[c] > 1 && isfinite(weights[c]));
        if (!isinf(weights[c]))
            continue;
        while (c + n < head->n_column && isinf(weights[c + n]))
            n++;
        attn_buffer_append_format(&head->not_finite, "%s%zu,%zu,%zu",
                                  head->not_finite.size > 0 ? "," : "", row, c, n);
        c += n - 1;
    }
}

void attn_page_head_take_row(struct attn_page_head *head, size_t row, const float *weights)
{
    note_row(head, row, weights);
    pool_row(head, head->thumb + row / head->k * head->n_thumb_col, weights);
}

/* Puts the level of a difference where it is farther from 0 than what is there. */
static void put_difference(unsigned char *plane, size_t i, float difference)
{
    const float size = sqrtf(fminf(fabsf(difference), 1));
    const int level = 128 + (int)lrintf(difference < 0 ? -127 * size : 127 * size);
    const int old = plane[i] == 0 ? 0 : plane[i] > 128 ? plane[i] - 128 : 128 - plane[i];

    if (plane[i] == 0 || (level > 128 ? level - 128 : 128 - level) > old)
        plane[i] = (unsigned char)level;
}

void attn_page_head_take_exact(struct attn_page_head *head, size_t row, const float *chosen,
                               const float *exact)
{
    unsigned char *begin = head->thumb + row / head->k * head->n_thumb_col;
    unsigned char *difference = begin + 2 * head->n_plane * thumb_size(head);

    pool_row(head, begin + head->n_plane * thumb_size(head), exact);
    for (size_t c = 0; c < head->n_column; c++) {
        const float a = isfinite(chosen[c]) ? chosen[c] : 0, b = isfinite(exact[c]) ? exact[c] : 0;

        if (isfinite(chosen[c]) || isfinite(exact[c]))
            put_difference(difference, c / head->k, a - b);
    }
}
