/* page_layout_wasm.c - functions of the module that the script of a live page calls. The layouts
 * return where words, tiles and bows stand, as figures place them. Another draws a strip of numbers
 * that the page has. Input and output are lists of numbers. */
#include "figures/figure_internal.h"
#include "figures/table_picture.h"
#include "figures/under_layout.h"
#include "measures/head_mix.h"

#include "base/memory.h"
#include "base/sink.h"
#include "base/status_internal.h"
#include "tables/table.h"

#include <stdio.h>

#define EXPORTED(name) __attribute__((export_name(name)))

double *attn_page_numbers(size_t n);
int attn_page_lay_under(size_t n_word, size_t n_group, size_t n_tile, int is_leftwards,
                        int is_list);
int attn_page_lay_bows(size_t n);
int attn_page_rank_heads(size_t n);
int attn_page_draw_strip(size_t n_head, size_t n_text, size_t chosen);

static double *numbers; /* those of the last call of attn_page_numbers */

/* Returns memory for N numbers, the input of the next call and then its output. */
EXPORTED("attn_page_numbers") double *attn_page_numbers(size_t n)
{
    attn_free(numbers);
    numbers = attn_alloc(n, sizeof *numbers, NULL);
    return numbers;
}

/* Lays out words and tiles (figures/under_layout.h). Input: right end, size of a tile with its
 * gap, gap of tiles, least and most gap of words, height of a label; word and label of each group;
 * group of each tile. Returns false without memory. Output: is_line, bottom; x, y and width of each
 * group; x and y of each tile. */
EXPORTED("attn_page_lay_under")
int attn_page_lay_under(size_t n_word, size_t n_group, size_t n_tile, int is_leftwards, int is_list)
{
    const double *in = numbers + 6;
    double *out = numbers + 2;
    struct attn_under_layout layout = {.n_word = n_word,
                                       .n_group = n_group,
                                       .n_tile = n_tile,
                                       .is_leftwards = is_leftwards,
                                       .is_list = is_list,
                                       .most_rows = 4,
                                       .is_flowing = true,
                                       .right = numbers[0],
                                       .tile_width = numbers[1],
                                       .tile_height = numbers[1],
                                       .tile_gap = numbers[2],
                                       .gap = numbers[3],
                                       .most_gap = numbers[4],
                                       .line = numbers[5],
                                       .groups = attn_alloc(n_group, sizeof *layout.groups, NULL),
                                       .tiles = attn_alloc(n_tile, sizeof *layout.tiles, NULL)};
    const bool has_memory = layout.groups && layout.tiles;

    for (size_t g = 0; has_memory && g < n_group; g++, in += 2) {
        layout.groups[g].word = in[0];
        layout.groups[g].label = in[1];
    }
    for (size_t i = 0; has_memory && i < n_tile; i++)
        layout.tiles[i].group = (size_t)*in++;
    if (has_memory)
        attn_under_lay_out(&layout);
    numbers[0] = layout.is_line;
    numbers[1] = layout.bottom;
    for (size_t g = 0; has_memory && g < n_group; g++, out += 3) {
        out[0] = layout.groups[g].x;
        out[1] = layout.groups[g].y;
        out[2] = layout.groups[g].width;
    }
    for (size_t i = 0; has_memory && i < n_tile; i++, out += 2) {
        out[0] = layout.tiles[i].x;
        out[1] = layout.tiles[i].y;
    }
    attn_free(layout.groups);
    attn_free(layout.tiles);
    return has_memory;
}

/* Lays out bows (figures/figure_arcs.c). Input: most width of the feet on a side, and most height;
 * distance and width of each bow. Returns false without memory. Output: foot, height and width of
 * each bow. */
EXPORTED("attn_page_lay_bows") int attn_page_lay_bows(size_t n)
{
    struct attn_bow *bows = attn_alloc(n, sizeof *bows, NULL);

    if (!bows)
        return false;
    for (size_t i = 0; i < n; i++) {
        const double *in = numbers + 2 + 2 * i;

        bows[i] = (struct attn_bow){.key = i, .away = in[0], .width = in[1]};
    }
    attn_bows_lay_out(bows, n, numbers[0], numbers[1] - numbers[0] - ATTN_BOW_GAPS);
    for (size_t i = 0; i < n; i++) {
        double *out = numbers + 3 * bows[i].key;

        out[0] = bows[i].foot;
        out[1] = bows[i].high;
        out[2] = bows[i].width;
    }
    attn_free(bows);
    return true;
}

/* Ranks heads (measures/head_mix.h). Input: look and effect of each head. Output: its rank. */
EXPORTED("attn_page_rank_heads") int attn_page_rank_heads(size_t n)
{
    for (size_t i = 0; i < n; i++)
        numbers[i] = attn_first_head_rank(numbers[2 * i], numbers[2 * i + 1]);
    return true;
}

/* Appends a row for each head of each text to TABLE: layers and heads, then the numbers of the
 * texts, text by text. */
static enum attn_status append_numbers(struct attn_table *table, const double *heads, size_t n_head,
                                       size_t n_text)
{
    for (size_t i = 0; i < n_head * n_text; i++) {
        const double *head = heads + 2 * (i % n_head);
        const struct attn_cell row[] = {
            attn_cell_integer((int64_t)(i / n_head)), attn_cell_integer((int64_t)head[0]),
            attn_cell_integer((int64_t)head[1]), attn_cell_real(heads[2 * n_head + i])};

        ATTN_TRY(attn_table_append(table, row, sizeof row / sizeof *row, NULL));
    }
    return ATTN_OK;
}

/* Draws a strip (figures/figure_strip.c) of how the next word of N_TEXT texts changes without each
 * head, with head number CHOSEN in its hue. Input: width and font size in points; layer and head of
 * each head; KL of each head of the first text, then of the next. Returns false without memory.
 * Output: address and size of an SVG, which stays until the next call. */
EXPORTED("attn_page_draw_strip")
int attn_page_draw_strip(size_t n_head, size_t n_text, size_t chosen)
{
    static const struct attn_column columns[] = {
        {.name = "id", .type = ATTN_VALUE_INTEGER},
        {.name = "layer", .type = ATTN_VALUE_INTEGER, .role = ATTN_ROLE_LAYER},
        {.name = "head", .type = ATTN_VALUE_INTEGER, .role = ATTN_ROLE_HEAD},
        {.name = "change", .type = ATTN_VALUE_REAL}};
    static const struct attn_table_picture picture = {.view = {.rows = ATTN_ROLE_LAYER,
                                                               .columns = ATTN_ROLE_HEAD,
                                                               .values = ATTN_TABLE_COLUMN(3)},
                                                      .n_label = 1,
                                                      .metric = "kl"};
    static struct attn_sink *drawn;
    const double *heads = numbers + 2;
    struct attn_picture_options options = ATTN_PICTURE_OPTIONS_DEFAULT;
    struct attn_output output = {.format = attn_format_find("svg")};
    struct attn_table *table = NULL;
    enum attn_status status;
    char name[32];
    size_t size;

    snprintf(name, sizeof name, "%.0f.%.0f", heads[2 * chosen], heads[2 * chosen + 1]);
    options.figure = ATTN_FIGURE_STRIP;
    options.figure_width = numbers[0];
    options.font_size = numbers[1];
    options.chosen = name;
    attn_sink_free(drawn);
    status = attn_sink_create_memory(&drawn, NULL);
    output.sink = drawn;
    ATTN_THEN(status,
              attn_table_create("ablate", columns, sizeof columns / sizeof *columns, &table, NULL));
    ATTN_THEN(status, append_numbers(table, heads, n_head, n_text));
    ATTN_THEN(status, attn_table_picture_write(table, &picture, &options, &output, NULL));
    attn_table_free(table);
    if (status != ATTN_OK)
        return false;
    numbers[0] = (double)(uintptr_t)attn_sink_bytes(drawn, &size);
    numbers[1] = (double)size;
    return true;
}
