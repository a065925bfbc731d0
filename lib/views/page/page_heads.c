#include "page/page_internal.h"

#include "base/memory.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <string.h>

/* What heads look at, by which whole patterns are kept; and all that a page shows. */
static const enum attn_measure scores[] = {ATTN_MEASURE_PREVIOUS, ATTN_MEASURE_SELF_LATER,
                                           ATTN_MEASURE_DUPLICATE, ATTN_MEASURE_INDUCTION,
                                           ATTN_MEASURE_FAR};
static const enum attn_measure of_page[] = {
#define OF_PAGE(id) ATTN_MEASURE_##id,
    ATTN_PAGE_MEASURE_MAP(OF_PAGE)
#undef OF_PAGE
};

static void add_head(struct attn_page_heads *heads, const struct attn_writer *writer,
                     const struct attn_location *at)
{
    const struct attn_extent extent = attn_writer_extent(writer, at);
    const struct attn_head_number place =
        attn_writer_head_number(writer, ATTN_SITE_PATTERN, at->head);
    struct attn_page_head *item = &heads->items[heads->n];
    size_t n_cell;

    *item = (struct attn_page_head){
        .at = *at,
        .group = writer->labels.axes ? place.batch : at->layer,
        .number = place.head,
        .is_encoder = !attn_writer_has_own_rows(writer, at),
        .is_source = attn_writer_has_own_rows(writer, at) && !attn_writer_has_own_keys(writer, at),
        .n_row = extent.n_row,
        .n_column = extent.n_col,
    };
    for (size_t i = 0; i < ATTN_MOST_MEASURE; i++)
        item->values[i] = (double)NAN;
    if (!attn_checked_mul(extent.n_row, extent.n_col, &n_cell) ||
        !attn_checked_add(heads->n_cell, n_cell, &heads->n_cell))
        heads->n_cell = SIZE_MAX;
    heads->n_largest = n_cell > heads->n_largest ? n_cell : heads->n_largest;
    heads->n_widest = extent.n_col > heads->n_widest ? extent.n_col : heads->n_widest;
    heads->n_whole = ++heads->n;
}

enum attn_status attn_page_heads_init(struct attn_page_heads *heads, struct attn_writer *writer,
                                      struct attn_error *err)
{
    const struct attn_labels *labels = &writer->labels;
    attn_measure_set measures = 0;
    struct attn_metric_settings settings = {.ids = labels->ids};
    const struct attn_selection *selection = labels->selection;
    const struct attn_dims *dims = attn_selection_dims(selection);
    struct attn_selection_walk walk = {0};

    for (size_t i = 0; i < sizeof of_page / sizeof *of_page; i++)
        measures |= ATTN_MEASURE_BIT(of_page[i]);
    for (size_t i = 0; i < sizeof scores / sizeof *scores; i++)
        measures |= ATTN_MEASURE_BIT(scores[i]);
    heads->selection = selection;
    ATTN_TRY(ATTN_STORE_ALLOC(&heads->store, heads->first_of_layer,
                              attn_selection_n_slot(selection), err));
    ATTN_TRY(
        ATTN_STORE_ALLOC(&heads->store, heads->items,
                         dims->n_layer * dims->n_head +
                             (dims->encoder ? dims->encoder->n_layer * dims->encoder->n_head : 0),
                         err));
    while (attn_selection_next(selection, &walk)) { /* encoder layers come first */
        struct attn_location at = walk.at;
        const int n_head = (int)attn_writer_dims(writer, &at)->n_head;

        if (at.site != ATTN_SITE_PATTERN)
            continue;
        heads->first_of_layer[attn_selection_slot(selection, &at)] = heads->n;
        for (at.head = 0; at.head < n_head; at.head++)
            if (attn_writer_has_head(writer, &at, at.head))
                add_head(heads, writer, &at);
    }
    ATTN_TRY(attn_measure_group_create(measures, &settings, selection, writer->options.pool,
                                       &heads->measures, err));
    if (!dims->encoder)
        return ATTN_OK;
    settings.ids = labels->source_ids;
    ATTN_TRY(attn_selection_copy_stack(selection, ATTN_STACK_ENCODER, &heads->encoder, err));
    return attn_measure_group_create(measures, &settings, heads->encoder, writer->options.pool,
                                     &heads->of_encoder, err);
}

/* Returns the measures of a head: of an encoder beside a decoder, whose tokens are the source's, or
 * of others. */
static const struct attn_measure_group *measures_of(const struct attn_page_heads *heads,
                                                    const struct attn_location *at)
{
    return heads->encoder && attn_stack_is_encoder(at->stack) ? &heads->of_encoder
                                                              : &heads->measures;
}

enum attn_status attn_page_heads_pool(struct attn_page_heads *heads, struct attn_error *err)
{
    for (size_t i = 0; i < heads->n; i++) {
        struct attn_page_head *head = &heads->items[i];
        const size_t side = head->n_row > head->n_column ? head->n_row : head->n_column;

        head->step = (side - 1) / ATTN_PAGE_POOLED + 1;
        head->n_pooled_col = (head->n_column - 1) / head->step + 1;
        head->n_pooled = ((head->n_row - 1) / head->step + 1) * head->n_pooled_col;
        ATTN_TRY(ATTN_STORE_ALLOC(&heads->store, head->pooled, head->n_pooled, err));
        ATTN_TRY(ATTN_STORE_ALLOC(&heads->store, head->line, head->n_pooled_col, err));
    }
    return ATTN_OK;
}

/* Returns the best place of HEAD among the heads that are kept: how many have a larger score. */
static size_t find_place(const struct attn_page_heads *heads, const struct attn_page_head *head)
{
    size_t best = SIZE_MAX;

    for (size_t k = 0; k < sizeof scores / sizeof *scores; k++) {
        const enum attn_measure score = scores[k];
        size_t n = 0;

        if (isnan(head->values[score]))
            continue;
        for (size_t i = 0; i < heads->n; i++)
            n += heads->items[i].block && heads->items[i].values[score] > head->values[score];
        best = n < best ? n : best;
    }
    return best;
}

void attn_page_heads_choose(struct attn_page_heads *heads)
{
    for (size_t n_kept, n_byte;;) {
        struct attn_page_head *last = NULL;
        size_t worst = 0;

        n_kept = n_byte = 0;
        for (size_t i = 0; i < heads->n; i++) {
            n_kept += heads->items[i].block != NULL;
            n_byte += heads->items[i].n_byte;
        }
        if (n_kept < 2 || n_byte <= ATTN_PAGE_MOST_BYTES)
            return;
        for (size_t i = 0; i < heads->n; i++) {
            struct attn_page_head *head = &heads->items[i];
            const size_t place = head->block ? find_place(heads, head) : 0;

            if (head->block && place >= worst) {
                worst = place;
                last = head;
            }
        }
        attn_sink_free(last->block);
        last->block = NULL;
        last->n_byte = 0;
        last->is_pooled = true;
        heads->n_whole--;
    }
}

void attn_page_heads_append_pooled(const struct attn_page_heads *heads, struct attn_buffer *out)
{
    if (heads->n_whole < heads->n)
        attn_buffer_append_format(
            out,
            "%zu of %zu heads have all cells, those that look most at one kind of token; "
            "the others are pooled",
            heads->n_whole, heads->n);
}

void attn_page_heads_release(struct attn_page_heads *heads)
{
    for (size_t i = 0; i < heads->n; i++) {
        attn_sink_free(heads->items[i].block);
        attn_buffer_release(&heads->items[i].not_finite);
    }
    attn_measure_group_release(&heads->measures);
    attn_measure_group_release(&heads->of_encoder);
    attn_selection_free(heads->encoder);
    attn_store_release(&heads->store);
}

struct attn_page_head *attn_page_heads_take(struct attn_page_heads *heads,
                                            const struct attn_trace_event *event,
                                            const struct attn_place *place)
{
    attn_measure_group_add(measures_of(heads, &event->at), event);
    return &heads->items[heads->first_of_layer[attn_selection_slot(heads->selection, &event->at)] +
                         place->head];
}

void attn_page_heads_end(struct attn_page_heads *heads, struct attn_page_head *head)
{
    attn_measure_group_values(measures_of(heads, &head->at), &head->at, head->values);
}

void attn_page_heads_type(struct attn_page_heads *heads, struct attn_head_mixes *const *mixes)
{
    for (size_t i = 0; mixes && i < heads->n; i++) {
        struct attn_page_head *head = &heads->items[i];
        struct attn_head_mixes *own = mixes[head->at.stack == ATTN_STACK_ENCODER];

        if (own)
            head->type = attn_head_mixes_type(own, &head->at);
    }
}

void attn_page_head_pool(struct attn_page_head *head, size_t row,
                         const struct attn_trace_event *event, size_t r)
{
    const size_t n = head->n_pooled_col, step = head->step;
    const struct attn_row weights = attn_event_row(event, r);
    const bool is_last = (row + 1) % step == 0 || row + 1 == head->n_row;

    if (row % step == 0)
        memset(head->line, 0, n * sizeof *head->line);
    if (weights.n <= 1 && !is_last) /* the only weight is 1 */
        return;
    attn_mean_cells_add(head->line, n, weights, n * step, true);
    for (size_t i = 0; is_last && i < n; i++)
        if (head->line[i].n_row > 0)
            head->pooled[row / step * n + i] = (unsigned char)attn_page_level(
                sqrtf(fminf(head->line[i].sum / (float)head->line[i].n_row, 1)), 254);
}

void attn_page_head_take_row(struct attn_page_head *head, size_t row, const float *weights,
                             size_t n_weight)
{
    for (size_t c = 0; c < n_weight; c++) { /* cells that a level cannot encode */
        size_t n = 1;

        head->n_outside += weights[c] < 0 || (weights[c] > 1 && isfinite(weights[c]));
        if (!isinf(weights[c]))
            continue;
        while (c + n < n_weight && isinf(weights[c + n]))
            n++;
        attn_buffer_append_format(&head->not_finite, "%s%zu,%zu,%zu",
                                  head->not_finite.size > 0 ? "," : "", row, c, n);
        c += n - 1;
    }
}

size_t attn_page_read_row(const struct attn_trace_event *event, size_t r, float *row, size_t n)
{
    struct attn_row from = attn_event_row(event, r);
    struct attn_cells cells;
    size_t end = 0;

    for (size_t c = 0; c < n; c++)
        row[c] = NAN;
    for (; attn_row_next(&from, &cells); end = cells.first + cells.n)
        for (size_t i = 0; i < cells.n; i++)
            row[cells.first + i] = isfinite(cells.values[i]) ? cells.values[i] : INFINITY;
    return end;
}
