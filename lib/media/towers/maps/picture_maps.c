#include "towers/maps/picture_maps.h"

#include "base/elementary.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "towers/prompt/picture_prompt.h"
#include "trace/places_extra.h"

#include <math.h>
#include <stdlib.h>

struct attn_picture_maps {
    struct attn_picture_maps_args args;
    struct attn_dims dims;            /* of the selection */
    struct attn_store *store;         /* owns; has the arrays */
    struct attn_prompt_image *images; /* [n_image] copies, whose pixels are not used */
    size_t n_image;
    bool *is_row; /* [T] the rows whose mean is taken */
    size_t n_row;
    size_t *cells; /* [n_cell] the positions of the cells of all images */
    size_t n_cell;
    /* Heads, and after them the rows of the only head that is selected. */
    size_t n_head, n_sum, only; /* `only`: the number of that head; SIZE_MAX: there are several */
    double *sums;               /* [n_sum, n_cell] weights on cells */
    double *regions;            /* [n_sum, ATTN_N_SHARE] weights on all positions */
    bool *is_sink;              /* [n_layer, n_cell] */
    float *row;                 /* [T] a row of the pattern with its masked cells */
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

/* Returns the number of the only selected head; SIZE_MAX if there are several. */
static size_t find_only(const struct attn_picture_maps *maps)
{
    struct attn_location at = {.site = ATTN_SITE_PICTURE_MAP, .layer = ATTN_NO_LAYER};
    size_t only = SIZE_MAX, n = 0;

    for (; attn_selection_next_head(maps->args.selection, &at); n++)
        only = attn_head_index(&maps->dims, &at);
    return n == 1 ? only : SIZE_MAX;
}

static enum attn_status build(struct attn_picture_maps *maps, struct attn_error *err)
{
    const struct attn_sequence *text = maps->args.text;
    size_t n = 0;

    maps->n_image = text->seen.n_image;
    ATTN_TRY(ATTN_STORE_ALLOC(&maps->store, maps->images, maps->n_image, err));
    for (size_t i = 0; i < maps->n_image; i++)
        maps->images[i] = text->seen.images[i];
    maps->n_cell = text->seen.n_cell;
    ATTN_TRY(ATTN_STORE_ALLOC(&maps->store, maps->is_row, text->n, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&maps->store, maps->cells, maps->n_cell, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&maps->store, maps->is_sink,
                              attn_size_mul(maps->dims.n_layer, maps->n_cell), err));
    ATTN_TRY(ATTN_STORE_ALLOC(&maps->store, maps->row, text->n, err));
    for (size_t at = attn_picture_prompt_next(text, 0); at < text->n;
         at = attn_picture_prompt_next(text, at + 1))
        maps->cells[n++] = at;
    choose_rows(maps);
    maps->n_head = maps->dims.n_layer * maps->dims.n_head;
    maps->only = find_only(maps);
    maps->n_sum = maps->n_head + (maps->only < SIZE_MAX ? maps->n_row : 0);
    ATTN_TRY(
        ATTN_STORE_ALLOC(&maps->store, maps->sums, attn_size_mul(maps->n_sum, maps->n_cell), err));
    return ATTN_STORE_ALLOC(&maps->store, maps->regions, attn_size_mul(maps->n_sum, ATTN_N_SHARE),
                            err);
}

enum attn_status attn_picture_maps_create(const struct attn_picture_maps_args *args,
                                          struct attn_picture_maps **maps, struct attn_error *err)
{
    struct attn_picture_maps *made;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->args = *args;
    made->dims = *attn_selection_dims(args->selection);
    ATTN_RETURN_MADE(build(made, err), maps, made, attn_picture_maps_free);
}

const struct attn_picture_dims *attn_picture_maps_dims(const struct attn_picture_maps *maps,
                                                       size_t i)
{
    return attn_dims_image(&maps->dims, i);
}

size_t attn_picture_maps_n_image(const struct attn_picture_maps *maps)
{
    return maps->n_image;
}

bool attn_picture_maps_drops_sinks(const struct attn_picture_maps *maps)
{
    return maps->args.drop_sinks > 0;
}

void attn_picture_maps_detach(struct attn_picture_maps *maps)
{
    if (maps)
        maps->args.text = NULL, maps->args.selection = NULL, maps->args.attention = NULL;
}

bool attn_picture_maps_is_beyond(const struct attn_picture_maps *maps, int layer)
{
    const struct attn_attention *attention =
        maps->args.attention ? &maps->args.attention[layer] : NULL;
    size_t first = 0;

    if (!attention || attention->kind != ATTN_ATTENTION_WINDOW || maps->n_row == 0)
        return false;
    while (!maps->is_row[first])
        first++;
    return first >= maps->cells[maps->n_cell - 1] + attention->window;
}

void attn_picture_maps_free(struct attn_picture_maps *maps)
{
    if (!maps)
        return;
    attn_store_release(&maps->store);
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

/* Adds the row of the pattern in maps->row to the sums number SUM. */
static void add_row(const struct attn_picture_maps *maps, size_t sum)
{
    const unsigned char *region = maps->args.text->seen.region;
    double *sums = maps->sums + sum * maps->n_cell, *regions = maps->regions + sum * ATTN_N_SHARE;

    for (size_t i = 0; i < maps->n_cell; i++)
        sums[i] += (double)maps->row[maps->cells[i]];
    for (size_t i = 0; i < maps->args.text->n; i++)
        regions[region[i]] += (double)maps->row[i];
}

/* Returns the number of chosen rows before POSITION. */
static size_t count_rows(const struct attn_picture_maps *maps, size_t position)
{
    size_t n = 0;

    while (position-- > 0)
        n += maps->is_row[position];
    return n;
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
        if (attn_head_index(&maps->dims, &event->at) == maps->only)
            add_row(maps, maps->n_head + count_rows(maps, event->row0 + r));
    }
}

/* Returns the sums of ROW of the head AT, the weights on cells or if IS_OF_REGIONS on regions, and
 * in *N the number of rows in them. */
static const double *find_sums(const struct attn_picture_maps *maps, const struct attn_location *at,
                               size_t row, bool is_of_regions, double *n)
{
    const bool is_mean = row >= maps->n_sum - maps->n_head; /* also if rows were not kept */
    const size_t sum = is_mean ? attn_head_index(&maps->dims, at) : maps->n_head + row;

    *n = is_mean ? (double)maps->n_row : 1;
    return is_of_regions ? maps->regions + sum * ATTN_N_SHARE : maps->sums + sum * maps->n_cell;
}

/* Returns the weight of ROW of the head AT on cell number I. */
static double find_weight(const struct attn_picture_maps *maps, const struct attn_location *at,
                          size_t row, size_t i)
{
    double n;
    const double *sums = find_sums(maps, at, row, false, &n);

    return sums[i] / n;
}

static bool is_sink(const struct attn_picture_maps *maps, const struct attn_location *at, size_t i)
{
    return maps->is_sink[attn_location_index(at) * maps->n_cell + i];
}

/* Returns the number, among the cells of all images, of cell I of the map CHOICE. */
static size_t find_cell(const struct attn_picture_maps *maps, struct attn_map_choice choice,
                        size_t i)
{
    const struct attn_prompt_image *image = &maps->images[choice.image];

    if (choice.layer == ATTN_MAP_WHOLE)
        return attn_prompt_image_whole(image) + i;
    return attn_prompt_image_tile_cell(image, i / image->grid_cols, i % image->grid_cols);
}

/* Returns the part of interval number I, one of N of equal length, that lies in interval number
 * OF_I, one of OF_N of the same line; as a part of the latter. */
static double find_overlap(size_t i, size_t n, size_t of_i, size_t of_n)
{
    const double begin = fmax((double)(i * of_n), (double)(of_i * n));
    const double end = fmin((double)((i + 1) * of_n), (double)((of_i + 1) * n));

    return fmax(0, end - begin) / (double)n;
}

/* Returns the weight that the cells of the whole image of CHOICE add to cell I of its tiles. Sinks
 * add none. */
static double find_added(const struct attn_picture_maps *maps, const struct attn_location *at,
                         struct attn_map_choice choice, size_t i)
{
    const struct attn_prompt_image *image = &maps->images[choice.image];
    const size_t first = attn_prompt_image_whole(image);
    double sum = 0;

    for (size_t r = 0; r < image->rows; r++)
        for (size_t c = 0; c < image->columns; c++) {
            const size_t cell = first + r * image->columns + c;
            const double part =
                find_overlap(i / image->grid_cols, image->grid_rows, r, image->rows) *
                find_overlap(i % image->grid_cols, image->grid_cols, c, image->columns);

            if (part > 0 && !is_sink(maps, at, cell))
                sum += part * find_weight(maps, at, choice.row, cell);
        }
    return sum;
}

void attn_picture_maps_size(const struct attn_picture_maps *maps, size_t i,
                            enum attn_map_layer layer, size_t size[2])
{
    const struct attn_prompt_image *image = &maps->images[i];

    size[0] = layer == ATTN_MAP_WHOLE ? image->rows : image->grid_rows;
    size[1] = layer == ATTN_MAP_WHOLE ? image->columns : image->grid_cols;
}

void attn_picture_maps_fill(const struct attn_picture_maps *maps, const struct attn_location *at,
                            struct attn_map_choice choice, double *map)
{
    const struct attn_picture_maps *neutral = maps->args.neutral;
    const struct attn_map_choice mean = {choice.image, ATTN_PICTURE_MEAN, choice.layer};
    const bool adds = choice.layer == ATTN_MAP_BOTH;
    size_t size[2];

    attn_picture_maps_size(maps, choice.image, choice.layer, size);
    for (size_t i = 0; i < size[0] * size[1]; i++) {
        const size_t cell = find_cell(maps, choice, i);
        const double weight =
            find_weight(maps, at, choice.row, cell) + (adds ? find_added(maps, at, choice, i) : 0);
        double other = neutral ? find_weight(neutral, at, ATTN_PICTURE_MEAN, cell) : 0;

        other += neutral && adds ? find_added(neutral, at, mean, i) : 0;
        map[i] = is_sink(maps, at, cell)          ? (double)NAN
                 : neutral && maps->args.is_ratio ? weight / other
                                                  : weight - other;
    }
}

bool attn_picture_maps_is_sink(const struct attn_picture_maps *maps, const struct attn_location *at,
                               struct attn_map_choice choice, size_t i)
{
    return is_sink(maps, at, find_cell(maps, choice, i));
}

double attn_picture_maps_neutral(const struct attn_picture_maps *maps,
                                 const struct attn_location *at, struct attn_map_choice choice,
                                 size_t i)
{
    const struct attn_picture_maps *neutral = maps->args.neutral;

    return neutral ? find_weight(neutral, at, ATTN_PICTURE_MEAN, find_cell(maps, choice, i)) : 0;
}

/* Returns the share of N cells from number FIRST on, without sinks, in the mean of all rows. */
static double sum_cells(const struct attn_picture_maps *maps, const struct attn_location *at,
                        size_t first, size_t n)
{
    double sum = 0;

    for (size_t k = first; k < first + n; k++)
        sum += is_sink(maps, at, k) ? 0 : find_weight(maps, at, ATTN_PICTURE_MEAN, k);
    return sum;
}

double attn_picture_maps_image_share(const struct attn_picture_maps *maps,
                                     const struct attn_location *at, size_t i)
{
    return sum_cells(maps, at, maps->images[i].first_cell, maps->images[i].n_cell);
}

double attn_picture_maps_layer_share(const struct attn_picture_maps *maps, size_t i,
                                     enum attn_map_layer layer, const struct attn_location *ats,
                                     size_t n)
{
    const struct attn_prompt_image *image = &maps->images[i];
    const size_t first = attn_prompt_image_whole(image), n_whole = image->rows * image->columns;
    double sum = 0;

    for (size_t k = 0; k < n; k++) {
        const double whole = sum_cells(maps, &ats[k], first, n_whole);

        sum += layer == ATTN_MAP_WHOLE  ? whole
               : layer == ATTN_MAP_BOTH ? attn_picture_maps_image_share(maps, &ats[k], i)
                                        : attn_picture_maps_image_share(maps, &ats[k], i) - whole;
    }
    return sum / (double)n;
}

enum attn_map_layer attn_picture_maps_usual_layer(const struct attn_picture_maps *maps, size_t i,
                                                  const struct attn_location *ats, size_t n)
{
    const double least = 0.2; /* of the sum, from which the smaller layer is shown, too */
    const double whole = attn_picture_maps_layer_share(maps, i, ATTN_MAP_WHOLE, ats, n);
    const double both = attn_picture_maps_layer_share(maps, i, ATTN_MAP_BOTH, ats, n);

    if (maps->images[i].grid_rows == 0 || whole > (1 - least) * both)
        return ATTN_MAP_WHOLE;
    return whole >= least * both && both > 0 ? ATTN_MAP_BOTH : ATTN_MAP_TILES;
}

double attn_picture_maps_share(const struct attn_picture_maps *maps, const struct attn_location *at,
                               size_t row, enum attn_picture_share share)
{
    double n, of_sinks = 0;
    const double *regions = find_sums(maps, at, row, true, &n);

    for (size_t i = 0; i < maps->n_cell; i++)
        of_sinks += is_sink(maps, at, i) ? find_weight(maps, at, row, i) : 0;
    if (share == ATTN_SHARE_SINKS)
        return of_sinks;
    return regions[share] / n - (share == ATTN_SHARE_PICTURE ? of_sinks : 0);
}

/* --- Heads ------------------------------------------------------------------------------------ */

static const double most_in_bottom_row = 0.05, least = 0.001;
enum { FIRST_LAYER = 2 };

/* Sums B over the blob that contains cell FIRST and sets it to 0 there. STACK holds the cells whose
 * neighbours are still to be looked at. */
static double take_blob(double *b, double *stack, size_t n_row, size_t n_col, size_t first)
{
    size_t n = 1;
    double sum = b[first];

    stack[0] = (double)first;
    b[first] = 0;
    while (n > 0) {
        const size_t cell = (size_t)stack[--n], row = cell / n_col, col = cell % n_col;

        for (size_t y = row > 0 ? row - 1 : 0; y <= row + 1 && y < n_row; y++)
            for (size_t x = col > 0 ? col - 1 : 0; x <= col + 1 && x < n_col; x++) {
                const size_t other = y * n_col + x;

                if (b[other] <= least)
                    continue;
                sum += b[other];
                b[other] = 0;
                stack[n++] = (double)other;
            }
    }
    return sum;
}

/* Returns how scattered MAP [n_row, n_col], in which NaN counts as 0, is over a picture (Kang et
 * al. 2503.06287): with B = max(0, MAP - 2 mean(MAP)), cells with B above `least` that touch, at a
 * side or a corner, form a blob; p is the share of each blob in the sum of B, and the result the
 * entropy -sum p ln p. NaN, and 0 blobs, if all B are 0. SCRATCH has room for 2 numbers for each
 * cell. */
static double find_scatter(const double *map, size_t n_row, size_t n_col, double *scratch,
                           size_t *n_blob)
{
    const size_t n = n_row * n_col;
    double *b = scratch, *stack = scratch + n;
    double mean = 0, sum = 0, entropy = 0;

    for (size_t i = 0; i < n; i++)
        mean += isnan(map[i]) ? 0 : map[i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        b[i] = isnan(map[i]) ? 0 : fmax(0, map[i] - 2 * mean);
        sum += b[i];
    }
    *n_blob = 0;
    for (size_t i = 0; i < n; i++) {
        const double p = b[i] > least ? take_blob(b, stack, n_row, n_col, i) / sum : 0;

        entropy -= p > 0 ? p * attn_log(p) : 0;
        *n_blob += p > 0;
    }
    return sum > 0 ? entropy : (double)NAN;
}

enum attn_status attn_head_pictures_find(const struct attn_picture_maps *maps,
                                         const struct attn_location *at,
                                         struct attn_head_picture *head, struct attn_error *err)
{
    const struct attn_picture_dims *picture = attn_picture_maps_dims(maps, 0);
    const size_t n_row = picture->n_row, n_col = picture->n_col, n = n_row * n_col;
    double *map = attn_alloc(3 * n, sizeof *map, err);
    size_t n_blob = 0;

    *head = (struct attn_head_picture){.bottom = 0};
    if (!map)
        return ATTN_NO_MEMORY;
    for (int i = 0; i < ATTN_N_SHARE; i++)
        head->shares[i] =
            attn_picture_maps_share(maps, at, ATTN_PICTURE_MEAN, (enum attn_picture_share)i);
    attn_picture_maps_fill(maps, at, (struct attn_map_choice){.row = ATTN_PICTURE_MEAN}, map);
    for (size_t i = n - n_col; i < n; i++)
        head->bottom = map[i] > head->bottom ? map[i] : head->bottom;
    head->entropy = find_scatter(map, n_row, n_col, map + n, &n_blob);
    head->n_blob = (double)n_blob;
    attn_free(map);
    return ATTN_OK;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Returns the one of Y [n], sorted, that is farthest from the line through the first and the last.
 */
static double find_threshold(const double *y, size_t n)
{
    const double slope = n > 1 ? (y[n - 1] - y[0]) / (double)(n - 1) : 0;
    double most = 0;
    size_t at = 0;

    for (size_t k = 0; n > 2 && k < n; k++) {
        /* the distance to the line, but for a factor that all have */
        const double distance = fabs(y[k] - y[0] - slope * (double)k);

        if (distance > most)
            most = distance, at = k;
    }
    return y[at];
}

enum attn_status attn_head_pictures_rank(const struct attn_location *ats,
                                         struct attn_head_picture *heads, size_t n,
                                         double *threshold, struct attn_error *err)
{
    double *y;

    ATTN_TRY(ATTN_ALLOC(y, n, err));
    for (size_t i = 0; i < n; i++)
        y[i] = heads[i].shares[ATTN_SHARE_PICTURE];
    qsort(y, n, sizeof *y, by_value);
    *threshold = find_threshold(y, n);
    attn_free(y);
    for (size_t i = 0; i < n; i++)
        heads[i].is_kept = heads[i].shares[ATTN_SHARE_PICTURE] >= *threshold &&
                           !isnan(heads[i].entropy) && heads[i].bottom <= most_in_bottom_row &&
                           ats[i].layer >= FIRST_LAYER;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n && heads[i].is_kept > 0; j++)
            heads[i].rank +=
                heads[j].is_kept > 0 && (heads[j].entropy < heads[i].entropy ||
                                         (heads[j].entropy <= heads[i].entropy && j <= i));
    return ATTN_OK;
}

enum attn_status attn_head_pictures_choose(const struct attn_picture_maps *maps,
                                           const struct attn_location *ats, size_t n, size_t *best,
                                           size_t *n_ranked, struct attn_error *err)
{
    struct attn_head_picture *heads = attn_alloc(n, sizeof *heads, err);
    enum attn_status status = heads ? ATTN_OK : ATTN_NO_MEMORY;
    double threshold, most = -1;

    *best = *n_ranked = 0;
    for (size_t i = 0; status == ATTN_OK && i < n; i++)
        status = attn_head_pictures_find(maps, &ats[i], &heads[i], err);
    ATTN_THEN(status, attn_head_pictures_rank(ats, heads, n, &threshold, err));
    for (size_t i = 0; status == ATTN_OK && i < n; i++) {
        /* a rank is above all shares, and lower ranks are better */
        const double goodness =
            heads[i].rank > 0 ? 1 + 1 / heads[i].rank : heads[i].shares[ATTN_SHARE_PICTURE];

        *n_ranked += heads[i].rank > 0;
        if (goodness > most)
            most = goodness, *best = i;
    }
    attn_free(heads);
    return status;
}
