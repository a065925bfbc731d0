/* levels.c - see levels.h. A cell is stored as float32, or float16 in a large matrix. Three
 * different NaNs encode the kinds of cells without a value. */
#include "pictures/levels.h"

#include "base/dtype_internal.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "pictures/colormap_internal.h"
#include "pictures/picture.h"
#include "tensors/view.h"

#include <math.h>
#include <string.h>

enum { MOST_WHOLE = 128 * 128 }; /* maximum cells of a matrix that is stored in float32 */

/* --- One cell ------------------------------------------------------------------------------ */

static const uint32_t float_nothing = 0x7fc00000;
static const uint16_t half_nothing = 0x7e00;

/* Returns the float16 nearest to a finite number, at most the largest finite float16. */
static uint16_t half_of(float value)
{
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    const float size = fminf(fabsf(value), 65504);
    int exponent;

    if (size < 0x1p-14F) /* subnormal: multiples of 2^-24 */
        return (uint16_t)(sign | (uint16_t)lrintf(size * 0x1p24F));
    frexpf(size, &exponent); /* size = f 2^exponent, 0.5 <= f < 1 */
    return (uint16_t)(sign |
                      (uint16_t)(((exponent + 13) << 10) + lrintf(ldexpf(size, 11 - exponent))));
}

static bool is_whole(const struct attn_level_matrix *m)
{
    return m->n_row <= MOST_WHOLE && m->n_column <= MOST_WHOLE &&
           m->n_cell_row * m->n_cell_column <= MOST_WHOLE;
}

/* Decodes cell I. */
static enum attn_cell_kind get(const struct attn_level_matrix *m, size_t i, float *value)
{
    const uint32_t *whole = m->cells;
    const uint16_t *half = m->cells;

    if (is_whole(m) && (whole[i] & ~3U) == float_nothing && (whole[i] & 3U) != 0)
        return (enum attn_cell_kind)(whole[i] & 3U);
    if (!is_whole(m) && (half[i] & ~3U) == half_nothing && (half[i] & 3U) != 0)
        return (enum attn_cell_kind)(half[i] & 3U);
    if (is_whole(m))
        memcpy(value, &whole[i], sizeof *value);
    else
        *value = attn_half_value(half[i]);
    return ATTN_CELL_VALUE;
}

static void set(struct attn_level_matrix *m, size_t i, enum attn_cell_kind kind, float value)
{
    uint32_t *whole = m->cells;
    uint16_t *half = m->cells;

    if (is_whole(m) && kind == ATTN_CELL_VALUE)
        memcpy(&whole[i], &value, sizeof value);
    else if (is_whole(m))
        whole[i] = float_nothing | (uint32_t)kind;
    else
        half[i] = kind == ATTN_CELL_VALUE ? half_of(value) : (uint16_t)(half_nothing | kind);
}

/* Returns true if a pooled cell shows the cell of KIND and VALUE rather than the other one. */
static bool outweighs(enum attn_cell_kind kind, float value, enum attn_cell_kind other_kind,
                      float other_value)
{
    static const int ranks[] = {[ATTN_CELL_MASKED] = 0,
                                [ATTN_CELL_HIDDEN] = 1,
                                [ATTN_CELL_VALUE] = 2,
                                [ATTN_CELL_NOT_FINITE] = 3};

    return ranks[kind] > ranks[other_kind] ||
           (kind == ATTN_CELL_VALUE && other_kind == kind && fabsf(value) > fabsf(other_value));
}

/* Merges a cell of the matrix into the stored cell I. */
static void put(struct attn_level_matrix *m, size_t i, enum attn_cell_kind kind, float value)
{
    float there = 0;
    const enum attn_cell_kind old = get(m, i, &there);

    if (outweighs(kind, value, old, there))
        set(m, i, kind, value);
}

enum attn_cell_kind attn_level_cell(const struct attn_level_matrix *matrix, size_t row,
                                    size_t column, float *value)
{
    if (!matrix->cells)
        return ATTN_CELL_MASKED;
    return get(matrix, row * matrix->n_cell_column + column, value);
}

/* --- The matrices -------------------------------------------------------------------------- */

static size_t pooled(size_t n, size_t limit)
{
    return n == 0 ? 1 : (n - 1) / limit + 1;
}

struct attn_site_set attn_levels_sites(const struct attn_writer *writer)
{
    const struct attn_site_set selected = attn_selection_sites(writer->labels.selection);
    const struct attn_site_set named = attn_sites_common(writer->options.picture->sites, selected);

    if (!attn_sites_are_empty(named)) /* the named sites and their gradients */
        return attn_sites_join(named, attn_sites_common(attn_sites_gradients_of(named), selected));
    if (attn_sites_have(selected, ATTN_SITE_PATTERN))
        return ATTN_SITES(ATTN_SITE_PATTERN);
    return attn_sites_have(selected, ATTN_SITE_PATTERN_LOWRANK)
               ? ATTN_SITES(ATTN_SITE_PATTERN_LOWRANK)
               : selected;
}

/* Lists the matrices. Called twice: while levels->items is NULL, it only counts them. */
static void add_matrices(struct attn_levels *levels)
{
    const struct attn_writer *writer = levels->writer;

    levels->n = 0;
    for (struct attn_selection_walk at = {0}; attn_selection_next(writer->labels.selection, &at);) {
        const size_t n_head = attn_writer_extent(writer, &at.at).n_head;
        const size_t n_image = attn_writer_n_image(writer, at.at.site);
        const bool has_heads = attn_site_has_heads(at.at.site);
        const bool is_kept = attn_sites_have(levels->sites, at.at.site);
        int head = has_heads ? -1 : ATTN_ALL_HEADS;

        levels->first_of_slot[attn_writer_slot(writer, &at.at)] = is_kept ? levels->n : SIZE_MAX;
        for (size_t i = 0; is_kept && i < n_head * n_image; i++) {
            const struct attn_extent extent = attn_writer_extent_of(writer, &at.at, i % n_image);

            if (i % n_image == 0)
                do
                    head += has_heads;
                while (has_heads && !attn_writer_has_head(writer, &at.at, head));
            if (n_image > 1 && extent.n_row == 0)
                continue;
            if (levels->items)
                levels->items[levels->n] =
                    (struct attn_level_matrix){.at = {at.at.stack, at.at.layer, head, at.at.site},
                                               .image = i % n_image,
                                               .n_row = extent.n_row,
                                               .n_column = extent.n_col,
                                               .n_row_left = extent.n_row,
                                               .least = INFINITY,
                                               .most = -INFINITY};
            levels->n++;
        }
    }
}

/* Lists all matrices, not pooled. */
static enum attn_status list_matrices(struct attn_levels *levels, struct attn_error *err)
{
    ATTN_TRY(ATTN_ALLOC(levels->first_of_slot, attn_writer_n_slot(levels->writer), err));
    add_matrices(levels);
    ATTN_TRY(ATTN_ALLOC(levels->items, levels->n, err));
    add_matrices(levels);
    attn_levels_limit(levels, SIZE_MAX, SIZE_MAX);
    return ATTN_OK;
}

enum attn_status attn_levels_create(struct attn_writer *writer, struct attn_site_set sites,
                                    struct attn_levels **levels, struct attn_error *err)
{
    struct attn_levels *made;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->writer = writer;
    made->sites = sites;
    ATTN_RETURN_MADE(list_matrices(made, err), levels, made, attn_levels_free);
}

void attn_levels_limit(struct attn_levels *levels, size_t most_rows, size_t most_columns)
{
    for (size_t i = 0; i < levels->n; i++) {
        struct attn_level_matrix *m = &levels->items[i];
        const size_t of_rows = pooled(m->n_row, most_rows);
        const size_t of_columns = pooled(m->n_column, most_columns);

        m->k = of_rows > of_columns ? of_rows : of_columns;
        m->n_cell_row = pooled(m->n_row, m->k);
        m->n_cell_column = pooled(m->n_column, m->k);
    }
}

size_t attn_levels_n_image(const struct attn_level_matrix *matrices, size_t n)
{
    size_t n_image = n > 0;

    while (n_image < n && matrices[n_image].image > matrices[n_image - 1].image)
        n_image++;
    return n_image;
}

void attn_levels_take_maps(struct attn_levels *levels, size_t n_map, const size_t *n_cell)
{
    levels->has_maps = true;
    levels->has_rows = attn_levels_n_image(levels->items, levels->n) == levels->n;
    for (size_t i = 0; i < levels->n; i++) {
        struct attn_level_matrix *m = &levels->items[i];

        m->n_column = n_cell[m->image] + ATTN_N_SHARE;
        m->n_row = levels->has_rows ? n_map : 1;
    }
    attn_levels_limit(levels, SIZE_MAX, SIZE_MAX);
}

/* --- Taking -------------------------------------------------------------------------------- */

/* Allocates the cells, all of them masked. */
static enum attn_status open_cells(struct attn_level_matrix *m, struct attn_error *err)
{
    const size_t n = m->n_cell_row * m->n_cell_column;

    if (m->cells)
        return ATTN_OK;
    ATTN_TRY(
        ATTN_NEW(m->cells, attn_alloc(n, is_whole(m) ? sizeof(uint32_t) : sizeof(uint16_t), err)));
    for (size_t i = 0; i < n; i++)
        set(m, i, ATTN_CELL_MASKED, 0);
    return ATTN_OK;
}

/* Merges VALUES [n], cells of one row, into the stored cell I, which keeps the finite value
 * farthest from 0. */
static void take_group(struct attn_level_matrix *m, size_t i, const float *values, size_t n)
{
    float least = m->least, most = m->most, farthest = 0;
    size_t n_not_finite = 0;

    for (size_t k = 0; k < n; k++) {
        const float value = values[k];

        if (!isfinite(value)) {
            n_not_finite++;
            continue;
        }
        least = value < least ? value : least;
        most = value > most ? value : most;
        farthest = fabsf(value) > fabsf(farthest) ? value : farthest;
    }
    m->least = least;
    m->most = most;
    m->n_not_finite += n_not_finite;
    if (n_not_finite > 0)
        put(m, i, ATTN_CELL_NOT_FINITE, 0);
    else
        put(m, i, ATTN_CELL_VALUE, farthest);
}

struct attn_color_range attn_level_range(const struct attn_level_matrix *matrix,
                                         const struct attn_color_scale *scale)
{
    return attn_color_range(scale, (double)matrix->least, (double)matrix->most);
}

enum attn_status attn_level_matrix_create(size_t n_row, size_t n_column,
                                          struct attn_level_matrix *matrix, struct attn_error *err)
{
    *matrix = (struct attn_level_matrix){.at.site = ATTN_SITE_PATTERN,
                                         .at.layer = ATTN_NO_LAYER,
                                         .at.head = ATTN_ALL_HEADS,
                                         .n_row = n_row,
                                         .n_column = n_column,
                                         .k = 1,
                                         .n_cell_row = n_row,
                                         .n_cell_column = n_column,
                                         .least = INFINITY,
                                         .most = -INFINITY};
    return open_cells(matrix, err);
}

void attn_level_matrix_put(struct attn_level_matrix *matrix, size_t row, size_t column, float value)
{
    take_group(matrix, row * matrix->n_cell_column + column, &value, 1);
}

void attn_level_matrix_copy_row(struct attn_level_matrix *matrix, size_t row,
                                const struct attn_level_matrix *from)
{
    for (size_t c = 0; c < matrix->n_column; c++) {
        float value = 0;
        const enum attn_cell_kind kind = attn_level_cell(from, 0, c, &value);

        set(matrix, row * matrix->n_column + c, kind, value);
    }
    matrix->least = fminf(matrix->least, from->least);
    matrix->most = fmaxf(matrix->most, from->most);
    matrix->n_not_finite += from->n_not_finite;
}

enum attn_status attn_levels_read_map(struct attn_levels *levels, size_t i,
                                      enum attn_map_layer layer, struct attn_error *err)
{
    const struct attn_picture_maps *maps = levels->writer->labels.maps[0];
    struct attn_level_matrix *m = &levels->items[i];
    size_t size[2], n;
    double *map;

    attn_picture_maps_size(maps, m->image, layer, size);
    n = size[0] * size[1];
    m->layer = layer;
    m->n_column = m->n_cell_column = n + ATTN_N_SHARE;
    ATTN_TRY(open_cells(m, err));
    ATTN_TRY(ATTN_ALLOC(map, n, err));
    for (size_t r = 0; r < m->n_row; r++) {
        const size_t row = levels->has_rows ? r : ATTN_PICTURE_MEAN, begin = r * m->n_column;
        const struct attn_map_choice choice = {m->image, row, layer};

        attn_picture_maps_fill(maps, &m->at, choice, map);
        for (size_t c = 0; c < n; c++)
            if (attn_picture_maps_is_sink(maps, &m->at, choice, c))
                put(m, begin + c, ATTN_CELL_HIDDEN, 0);
            else
                take_group(m, begin + c, &(float){(float)map[c]}, 1);
        for (size_t c = 0; c < ATTN_N_SHARE; c++)
            put(m, begin + n + c, ATTN_CELL_VALUE,
                (float)attn_picture_maps_share(maps, &m->at, row, (enum attn_picture_share)c));
    }
    attn_free(map);
    return ATTN_OK;
}

/* Returns the matrix that EVENT is of; NULL if there is none. */
static struct attn_level_matrix *find_matrix(const struct attn_levels *levels,
                                             const struct attn_trace_event *event,
                                             const struct attn_place *place)
{
    const size_t first = levels->first_of_slot[attn_writer_slot(levels->writer, &event->at)];
    struct attn_level_matrix *m = first < levels->n ? &levels->items[first] : NULL;

    if (!m || attn_writer_n_image(levels->writer, event->at.site) == 1)
        return m ? m + place->head : NULL;
    m += place->head * attn_levels_n_image(m, levels->n - first);
    while (m->image < event->sequence)
        m++;
    return m;
}

enum attn_status attn_levels_take(struct attn_levels *levels, const struct attn_trace_event *event,
                                  const struct attn_place *place, size_t *whole,
                                  struct attn_error *err)
{
    const struct attn_view_options view = attn_view_of(levels->writer->options.picture);
    struct attn_level_matrix *m = find_matrix(levels, event, place);
    size_t k;

    *whole = SIZE_MAX;
    if (!m)
        return ATTN_OK;
    k = m->k;
    if (!levels->has_maps)
        ATTN_TRY(open_cells(m, err));
    for (size_t r = 0; !levels->has_maps && r < event->n_row; r++) {
        const size_t begin = (place->row + r) / k * m->n_cell_column;
        const bool has_others =
            (place->row + r) % k > 0 || (k > 1 && place->row + r + 1 < m->n_row);
        struct attn_row row = attn_event_row(event, r);
        struct attn_cells cells;

        if (levels->leaves_out_first && has_others && attn_event_is_certain(event, r))
            row.at = row.n;
        while (attn_row_next(&row, &cells))
            for (size_t c = cells.first, end = c + cells.n, next; c < end; c = next) {
                next = (c / k + 1) * k;
                next = next < end ? next : end;
                take_group(m, begin + c / k, cells.values + (c - cells.first), next - c);
            }
        for (size_t c = 0; c < m->n_column && attn_view_hides(view); c++)
            if (attn_view_hides_key(view, &levels->writer->labels, &event->at, c))
                put(m, begin + c / k, ATTN_CELL_HIDDEN, 0); /* events lack these cells */
    }
    m->n_row_left -= event->n_row < m->n_row_left ? event->n_row : m->n_row_left;
    if (m->n_row_left == 0)
        *whole = (size_t)(m - levels->items);
    return ATTN_OK;
}

/* --- Means of rows -------------------------------------------------------------------------- */

/* Encodes a float so that integers compare by distance from 0, with infinities and NaN last: moves
 * the sign to the lowest bit. */
static uint32_t order_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits << 1 | bits >> 31;
}

static float number_of(uint32_t order)
{
    const uint32_t bits = order >> 1 | order << 31;
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Encodes a number for a band: 1 + its order; 0 for infinity and NaN, and 1 for numbers below 0 if
 * IS_SHARE. */
static uint32_t size_of(float value, uint32_t is_share)
{
    static const uint32_t infinity = 0xff000000; /* NaN are above it */
    const uint32_t order = order_of(value);

    return order >= infinity ? 0 : 1 + ((order & is_share) != 0 ? 0 : order);
}

/* The numbers of one row that belong to one cell. */
struct band {
    uint32_t farthest,
        nearest; /* the largest and the smallest number, encoded; 0: none, infinity */
};

/* Adds VALUES [n] to BAND. Four accumulators hide latency. */
static void add_to_band(struct band *band, const float *values, size_t n, bool is_share)
{
    uint32_t most[4] = {band->farthest}, least = band->nearest;
    size_t i = 0;

    for (; i + 4 <= n; i += 4)
        for (size_t k = 0; k < 4; k++) {
            const uint32_t size = size_of(values[i + k], is_share);

            most[k] = size > most[k] ? size : most[k];
            least = size < least ? size : least;
        }
    for (; i < n; i++) {
        const uint32_t size = size_of(values[i], is_share);

        most[0] = size > most[0] ? size : most[0];
        least = size < least ? size : least;
    }
    for (i = 1; i < 4; i++)
        most[0] = most[i] > most[0] ? most[i] : most[0];
    *band = (struct band){most[0], least};
}

/* Adds BAND to its cell, and begins the next one. */
static void end_band(struct attn_mean_cell *cell, struct band *band)
{
    cell->is_not_finite |= band->nearest == 0;
    cell->n_row += band->farthest > 0;
    cell->sum += band->farthest > 0 ? number_of(band->farthest - 1) : 0;
    *band = (struct band){0, UINT32_MAX};
}

void attn_mean_cells_add(struct attn_mean_cell *cells, size_t n_cell, struct attn_row row,
                         size_t n_column, bool is_share)
{
    struct band band = {0, UINT32_MAX};
    size_t at = 0; /* the cell of the band */

    for (struct attn_cells some; attn_row_next(&row, &some);)
        for (size_t c = some.first, end = c + some.n, next; c < end; c = next) {
            const size_t i = c * n_cell / n_column;

            if (i != at)
                end_band(&cells[at], &band);
            at = i;
            next = ((i + 1) * n_column - 1) / n_cell + 1;
            next = next < end ? next : end;
            add_to_band(&band, some.values + (c - some.first), next - c, is_share);
        }
    if (n_cell > 0)
        end_band(&cells[at], &band);
}

void attn_levels_drop(struct attn_levels *levels, size_t i)
{
    attn_free(levels->items[i].cells);
    levels->items[i].cells = NULL;
}

void attn_levels_free(struct attn_levels *levels)
{
    if (!levels)
        return;
    for (size_t i = 0; levels->items && i < levels->n; i++)
        attn_free(levels->items[i].cells);
    attn_free(levels->items);
    attn_free(levels->first_of_slot);
    attn_free(levels);
}
