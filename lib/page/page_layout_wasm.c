/* page_layout_wasm.c - functions of the module in a live page that its script calls beside the tool
 * itself: places of what it draws, as in figures. Their input and output are lists of numbers. */
#include "pictures/bow_layout.h"
#include "pictures/under_layout.h"

#include "base/memory.h"

#define EXPORTED(name) __attribute__((export_name(name)))

double *attn_page_numbers(size_t n);
int attn_page_lay_under(size_t n_word, size_t n_group, size_t n_tile, int is_leftwards,
                        int is_list);
int attn_page_lay_bows(size_t n);

static double *numbers; /* those of the last call of attn_page_numbers */

/* Returns memory for N numbers, the input of the next call and then its output. */
EXPORTED("attn_page_numbers") double *attn_page_numbers(size_t n)
{
    attn_free(numbers);
    numbers = attn_alloc(n, sizeof *numbers, NULL);
    return numbers;
}

static double next(const double **at)
{
    return *(*at)++;
}

/* Lays out words and tiles (pictures/under_layout.h). Input: right end, size of a tile with its
 * gap, gap of tiles, least and most gap of words, height of a label; word and label of each group;
 * group of each tile. Returns false without memory. Output: is_line, bottom; x, y and width of each
 * group; x and y of each tile. */
EXPORTED("attn_page_lay_under")
int attn_page_lay_under(size_t n_word, size_t n_group, size_t n_tile, int is_leftwards, int is_list)
{
    const double *in = numbers;
    double *out = numbers;
    struct attn_under_layout layout = {.n_word = n_word,
                                       .n_group = n_group,
                                       .n_tile = n_tile,
                                       .is_leftwards = is_leftwards,
                                       .is_list = is_list,
                                       .is_flowing = true};

    layout.groups = attn_alloc(n_group, sizeof *layout.groups, NULL);
    layout.tiles = attn_alloc(n_tile, sizeof *layout.tiles, NULL);
    if (!layout.groups || !layout.tiles) {
        attn_free(layout.groups);
        attn_free(layout.tiles);
        return false;
    }
    layout.right = next(&in);
    layout.tile_width = layout.tile_height = next(&in);
    layout.tile_gap = next(&in);
    layout.gap = next(&in);
    layout.most_gap = next(&in);
    layout.line = next(&in);
    for (size_t g = 0; g < n_group; g++) {
        layout.groups[g].word = next(&in);
        layout.groups[g].label = next(&in);
    }
    for (size_t i = 0; i < n_tile; i++)
        layout.tiles[i].group = (size_t)next(&in);
    attn_under_lay_out(&layout);
    *out++ = layout.is_line;
    *out++ = layout.bottom;
    for (size_t g = 0; g < n_group; g++) {
        *out++ = layout.groups[g].x;
        *out++ = layout.groups[g].y;
        *out++ = layout.groups[g].width;
    }
    for (size_t i = 0; i < n_tile; i++) {
        *out++ = layout.tiles[i].x;
        *out++ = layout.tiles[i].y;
    }
    attn_free(layout.groups);
    attn_free(layout.tiles);
    return true;
}

/* Lays out bows (pictures/bow_layout.h). Input: most width of the feet on a side, and most height;
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
