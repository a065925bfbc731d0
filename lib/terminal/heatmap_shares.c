/* heatmap_shares.c - see heatmap_internal.h: the shares of a picture and of the parts of the text
 * around it in the weight of heads and layers. */
#include "terminal/heatmap_internal.h"

#include "formats/float_text.h"
#include "input/picture_prompt.h"
#include "measures/picture_maps.h"
#include "tensors/labels_internal.h"
#include "trace/places_internal.h"
#include "trace/trace_internal.h"

#include <string.h>

enum {
    EDGE = sizeof "layer", /* columns of the number of a layer, and the gap after it */
    WIDTH = sizeof "question" - 1,
    SCREEN_LINES = 12 /* more layers stand side by side if there is room */
};

/* The shares in the order of tables, and the sinks, which --drop-sinks finds. */
static const struct {
    enum attn_picture_share share;
    const char *name;
} columns[] = {{ATTN_SHARE_PICTURE, "picture"},
               {ATTN_SHARE_SINKS, "sinks"},
               {ATTN_SHARE_QUESTION, "question"},
               {ATTN_SHARE_ANSWER, "answer"},
               {ATTN_SHARE_OTHER, "other"}};

enum { N_COLUMN = sizeof columns / sizeof *columns };

/* The columns that are shown: those of regions that the text has. */
struct shares {
    const struct attn_picture_maps *maps; /* borrowed; NULL while lines are counted */
    const struct attn_dims *dims;
    size_t shown[N_COLUMN], n;
    struct attn_heatmap_colors colors;
};

static struct shares shares_of(const struct attn_heatmap *map)
{
    const struct attn_labels *labels = &map->writer->labels;
    const struct attn_level_matrix matrix = {.at.site = ATTN_SITE_PATTERN, .most = 1};
    struct shares shares = {.maps = labels->maps ? *labels->maps : NULL,
                            .dims = attn_selection_dims(labels->selection),
                            .colors = attn_heatmap_colors(map, &matrix)};

    shares.colors.range = (struct attn_color_range){0, 1}; /* whatever range maps have */
    for (size_t i = 0; i < N_COLUMN; i++) {
        bool is_there = columns[i].share == ATTN_SHARE_SINKS && shares.maps &&
                        attn_picture_maps_drops_sinks(shares.maps);

        for (size_t p = 0; p < map->writer->n_position; p++)
            is_there |= labels->region[p] == (unsigned char)columns[i].share;
        if (is_there)
            shares.shown[shares.n++] = i;
    }
    return shares;
}

static void append_percent(struct attn_buffer *out, double share)
{
    char number[ATTN_FIXED_TEXT_SIZE];

    attn_buffer_append(out, number, attn_float_text_fixed((float)(100 * share), 1, number));
}

/* Appends which part of the share of a picture its whole has and which its tiles: a map shows the
 * cells of one of them. */
static void append_layers(struct attn_heatmap *map, const struct attn_picture_maps *maps,
                          const struct attn_location *at)
{
    static const char *const names[] = {
        [ATTN_MAP_WHOLE] = " (whole ", [ATTN_MAP_TILES] = ", tiles "};
    const struct attn_picture_prompt *prompt = attn_labels_prompt(&map->writer->labels);

    if (prompt->n_image != 1 || prompt->images->tile_rows == 0)
        return;
    for (int layer = ATTN_MAP_WHOLE; layer <= ATTN_MAP_TILES; layer++) {
        attn_buffer_append_string(&map->label, names[layer]);
        append_percent(
            &map->label,
            maps ? attn_picture_maps_layer_share(maps, 0, (enum attn_map_layer)layer, at, 1) : 0);
    }
    attn_buffer_append_char(&map->label, ')');
}

void attn_heatmap_append_shares(struct attn_heatmap *map, const struct attn_location *at)
{
    const struct shares shares = shares_of(map);

    for (size_t i = 0; i < shares.n; i++) {
        const enum attn_picture_share share = columns[shares.shown[i]].share;

        attn_buffer_append_format(&map->label, "  %s ", columns[shares.shown[i]].name);
        append_percent(
            &map->label,
            shares.maps ? attn_picture_maps_share(shares.maps, at, ATTN_PICTURE_MEAN, share) : 0);
        if (share == ATTN_SHARE_PICTURE)
            append_layers(map, shares.maps, at);
    }
    if (shares.maps && attn_picture_maps_is_beyond(shares.maps, at->layer))
        attn_buffer_append_string(&map->label,
                                  "  the window of this layer ends behind the picture");
}

static size_t make_name(struct attn_heatmap *map, const void *of, size_t column)
{
    const struct shares *shares = of;

    attn_buffer_append_string(&map->label, columns[shares->shown[column]].name);
    return map->label.size;
}

static size_t put_layer(struct attn_heatmap *map, const void *of, struct attn_sheet_spot at)
{
    (void)of;
    attn_buffer_append_format(&map->label, "%*zu", (int)EDGE - 1, at.row);
    attn_heatmap_put_label(map);
    return EDGE - 1;
}

/* Prints a share of a layer: the mean over its heads. */
static size_t put_share(struct attn_heatmap *map, const void *of, struct attn_sheet_spot at)
{
    const struct shares *shares = of;
    struct attn_location head = attn_layer_at(shares->dims, ATTN_SITE_PATTERN, at.row);
    struct attn_heatmap_cell cell = {.kind = ATTN_CELL_VALUE};
    double sum = 0;

    for (head.head = 0; shares->maps && head.head < (int)shares->dims->n_head; head.head++)
        sum += attn_picture_maps_share(shares->maps, &head, ATTN_PICTURE_MEAN,
                                       columns[shares->shown[at.column]].share);
    sum /= (double)shares->dims->n_head;
    cell.value = (float)sum;
    cell.place = attn_color_place(&shares->colors.scale, shares->colors.range, sum);
    append_percent(&map->label, sum);
    attn_heatmap_put_cell(map, &shares->colors, cell, map->label.size, WIDTH);
    return WIDTH;
}

enum attn_status attn_heatmap_draw_shares(struct attn_heatmap *map, struct attn_error *err)
{
    const struct shares shares = shares_of(map);
    const size_t n_layer = attn_dims_n_whole_layer(shares.dims);
    struct attn_sheet sheet = {.of = &shares,
                               .n_row = n_layer,
                               .last = shares.n,
                               .left = EDGE,
                               .first_apart = SIZE_MAX,
                               .corner = "layer",
                               .label_step = 1,
                               .is_right = true,
                               .most_label_end = SIZE_MAX,
                               .make_label = make_name,
                               .put_edge = put_layer,
                               .put_cell = put_share};
    size_t n_beside = 1;

    while (n_layer > SCREEN_LINES * n_beside &&
           attn_sheet_fit(&sheet, map->width, WIDTH, WIDTH + 1, n_beside + 1))
        n_beside++;
    attn_sheet_fit(&sheet, map->width, WIDTH, WIDTH + 1, n_beside);
    attn_buffer_append_string(&map->label, "mean weight of the heads of a layer, in percent");
    ATTN_TRY(attn_heatmap_end_text(map, 1, err));
    return attn_sheet_draw(map, &sheet, err);
}
