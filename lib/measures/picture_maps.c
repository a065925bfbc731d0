/* picture_maps.c - see picture_maps.h. */
#include "measures/picture_maps.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "input/picture_prompt.h"
#include "trace/places_internal.h"

#include <math.h>

struct attn_picture_maps {
    struct attn_picture_maps_args args;
    struct attn_picture_dims picture;
    struct attn_dims dims; /* of the selection */
    bool *is_row;          /* [T] owns; the rows whose mean is taken */
    size_t n_row;
    size_t *cells; /* [n_cell] owns; the positions of the cells of all pictures */
    size_t n_cell;
    double *sums;    /* [n_layer * n_head, n_cell] owns; weights on cells */
    double *regions; /* [n_layer * n_head, ATTN_N_SHARE] owns; weights on other positions */
    bool *is_sink;   /* [n_layer, n_cell] owns */
    float *row;      /* [T] owns; a row of the pattern with its masked cells */
};

static void choose_rows(struct attn_picture_maps *maps)
{
    const struct attn_selection *selection = maps->args.selection;
    const bool is_all = attn_selection_is_all_queries(selection, ATTN_STACK_ONLY);
    size_t range[2];

    attn_picture_prompt_writing(maps->args.text, range);
    for (size_t i = 0; i < maps->args.text->n; i++) {
        maps->is_row[i] = is_all ? i >= range[0] && i <= range[1]
                                 : attn_selection_has_query(selection, ATTN_STACK_ONLY, i);
        maps->n_row += maps->is_row[i];
    }
}

static enum attn_status build(struct attn_picture_maps *maps, struct attn_error *err)
{
    const struct attn_sequence *text = maps->args.text;
    const size_t n_head = maps->dims.n_layer * maps->dims.n_head;
    size_t n = 0;

    ATTN_TRY(ATTN_ALLOC(maps->is_row, text->n, err));
    ATTN_TRY(ATTN_ALLOC(maps->cells, maps->n_cell, err));
    ATTN_TRY(ATTN_ALLOC(maps->sums, attn_size_mul(n_head, maps->n_cell), err));
    ATTN_TRY(ATTN_ALLOC(maps->regions, attn_size_mul(n_head, ATTN_N_SHARE), err));
    ATTN_TRY(ATTN_ALLOC(maps->is_sink, attn_size_mul(maps->dims.n_layer, maps->n_cell), err));
    ATTN_TRY(ATTN_ALLOC(maps->row, text->n, err));
    for (size_t at = attn_picture_prompt_next(text, 0); at < text->n;
         at = attn_picture_prompt_next(text, at + 1))
        maps->cells[n++] = at;
    choose_rows(maps);
    return ATTN_OK;
}

enum attn_status attn_picture_maps_create(const struct attn_picture_maps_args *args,
                                          struct attn_picture_maps **maps, struct attn_error *err)
{
    struct attn_picture_maps *made;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->args = *args;
    made->dims = *attn_selection_dims(args->selection);
    made->picture = made->dims.picture;
    made->n_cell = (size_t)made->picture.n * made->picture.n_row * made->picture.n_col;
    ATTN_RETURN_MADE(build(made, err), maps, made, attn_picture_maps_free);
}

const struct attn_picture_dims *attn_picture_maps_dims(const struct attn_picture_maps *maps)
{
    return &maps->picture;
}

void attn_picture_maps_detach(struct attn_picture_maps *maps)
{
    if (maps)
        maps->args.text = NULL, maps->args.selection = NULL;
}

void attn_picture_maps_free(struct attn_picture_maps *maps)
{
    if (!maps)
        return;
    attn_free(maps->is_row);
    attn_free(maps->cells);
    attn_free(maps->sums);
    attn_free(maps->regions);
    attn_free(maps->is_sink);
    attn_free(maps->row);
    attn_free(maps);
}

/* Returns the largest absolute value of X [n] over the root of the mean square. */
static double find_peak(const float *x, size_t n)
{
    double most = 0, square = 0;

    for (size_t i = 0; i < n; i++) {
        most = fmax(most, fabs((double)x[i]));
        square += (double)x[i] * (double)x[i];
    }
    return square > 0 ? most / sqrt(square / (double)n) : 0;
}

/* Finds which cells among the rows of EVENT, of resid_pre, are sinks. */
static void find_sinks(const struct attn_picture_maps *maps, const struct attn_trace_event *event)
{
    bool *is_sink = maps->is_sink + attn_location_index(&event->at) * maps->n_cell;

    for (size_t i = 0; i < maps->n_cell; i++) {
        const size_t row = maps->cells[i] - event->row0;

        if (maps->cells[i] >= event->row0 && row < event->n_row)
            is_sink[i] =
                find_peak(event->data + row * event->ld, event->n_col) >= maps->args.drop_sinks;
    }
}

/* Adds the row of the pattern in maps->row to the sums of the head number HEAD. */
static void add_row(const struct attn_picture_maps *maps, size_t head)
{
    const unsigned char *region = maps->args.text->seen.region;
    double *sums = maps->sums + head * maps->n_cell, *regions = maps->regions + head * ATTN_N_SHARE;

    for (size_t i = 0; i < maps->n_cell; i++)
        sums[i] += (double)maps->row[maps->cells[i]];
    for (size_t i = 0; i < maps->args.text->n; i++)
        regions[region[i]] += (double)maps->row[i];
}

void attn_picture_maps_add(struct attn_picture_maps *maps, const struct attn_trace_event *event)
{
    if (event->at.site == ATTN_SITE_RESID_PRE && maps->args.drop_sinks > 0)
        find_sinks(maps, event);
    for (size_t r = 0; event->at.site == ATTN_SITE_PATTERN && r < event->n_row; r++) {
        if (!maps->is_row[event->row0 + r])
            continue;
        attn_event_copy_row(event, r, maps->row, maps->args.text->n);
        add_row(maps, attn_head_index(&maps->dims, &event->at));
    }
}

/* Returns the mean weight of the head AT on cell number I. */
static double find_mean(const struct attn_picture_maps *maps, const struct attn_location *at,
                        size_t i)
{
    return maps->sums[attn_head_index(&maps->dims, at) * maps->n_cell + i] / (double)maps->n_row;
}

static bool is_sink(const struct attn_picture_maps *maps, const struct attn_location *at, size_t i)
{
    return maps->is_sink[attn_location_index(at) * maps->n_cell + i];
}

/* Returns what the map of the head AT has in cell number I. */
static double find_value(const struct attn_picture_maps *maps, const struct attn_location *at,
                         size_t i)
{
    const struct attn_picture_maps *neutral = maps->args.neutral;
    const double mean = find_mean(maps, at, i), other = neutral ? find_mean(neutral, at, i) : 0;

    if (is_sink(maps, at, i))
        return (double)NAN;
    return neutral && maps->args.is_ratio ? mean / other : mean - other;
}

void attn_picture_maps_fill(const struct attn_picture_maps *maps, const struct attn_location *at,
                            bool is_of_tiles, double *map)
{
    const size_t n_row = maps->picture.n_row, n_col = maps->picture.n_col;
    const size_t last = maps->n_cell - n_row * n_col, width = maps->picture.tile_cols * n_col;

    for (size_t i = 0; !is_of_tiles && i < n_row * n_col; i++)
        map[i] = find_value(maps, at, last + i);
    for (size_t i = 0; is_of_tiles && i < last; i++) {
        const size_t y = i / width, x = i % width;
        const size_t tile = y / n_row * maps->picture.tile_cols + x / n_col;

        map[i] = find_value(maps, at, (tile * n_row + y % n_row) * n_col + x % n_col);
    }
}

double attn_picture_maps_share(const struct attn_picture_maps *maps, const struct attn_location *at,
                               enum attn_picture_share share)
{
    const double *regions = maps->regions + attn_head_index(&maps->dims, at) * ATTN_N_SHARE;
    double of_sinks = 0;

    for (size_t i = 0; i < maps->n_cell; i++)
        of_sinks += is_sink(maps, at, i) ? find_mean(maps, at, i) : 0;
    if (share == ATTN_SHARE_SINKS)
        return of_sinks;
    return regions[share] / (double)maps->n_row - (share == ATTN_SHARE_PICTURE ? of_sinks : 0);
}
