/*
 * thumbnails.h - all heads of a run as small pictures of text: layers down, heads across.
 *
 *     struct attn_thumbnails thumbnails;
 *     attn_thumbnails_plan(&thumbnails, &map, levels, site, 36);     // at most 36 lines
 *     attn_thumbnails_draw(&thumbnails, &err);
 *
 *       head  0       1       2
 *     layer 0 █▒      █░      █▓
 *             █▒▒░    ▒▓▓▓    ▓▓█
 *
 * Batches of arrays take the place of layers. A head that was not chosen is a gap.
 */
#ifndef ATTN_TERMINAL_THUMBNAILS_H
#define ATTN_TERMINAL_THUMBNAILS_H

#include "terminal/heatmap.h"

struct attn_thumbnails {
    struct attn_heatmap *map;         /* borrowed */
    const struct attn_levels *levels; /* borrowed */
    enum attn_site site;
    size_t n_down, n_across; /* layers and heads; batches and heads of arrays */
    size_t n_at_once;        /* heads beside each other; the others go below */
    size_t side;             /* cells of a thumbnail, at most */
    size_t pitch;            /* columns from one to the next */
    size_t step;             /* layers from one that is shown to the next */
    size_t n_line;           /* that they take, with the header and the legend */
};

/* As large as fits MOST_LINES lines, but not fewer than one line a layer; when that is too many,
 * some layers are left out. */
void attn_thumbnails_plan(struct attn_thumbnails *thumbnails, struct attn_heatmap *map,
                          const struct attn_levels *levels, enum attn_site site, size_t most_lines);

enum attn_status attn_thumbnails_draw(const struct attn_thumbnails *thumbnails,
                                      struct attn_error *err);

#endif
