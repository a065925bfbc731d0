/*
 * color_line.h - lines of text with colored letters and background, for terminals. An SGR sequence
 * is written where a color changes, and a reset at the end of a line with colors.
 *
 *     struct attn_color_line line = {.depth = ATTN_DEPTH_256};
 *     attn_color_line_paint(&line, attn_paint_behind(attn_ink_of(map, theme, level), line.depth));
 *     attn_color_line_append(&line, " 48", 3);
 *     attn_color_line_paint(&line, ATTN_PAINT_NONE);
 *     attn_color_line_write(&line, sink, &err);       // with a line end
 *     attn_buffer_release(&line.text);
 */
#ifndef ATTN_PICTURES_COLOR_LINE_H
#define ATTN_PICTURES_COLOR_LINE_H

#include "base/buffer.h"
#include "base/sink.h"
#include "pictures/colormap.h"

/* One color, in the forms that the color depths of terminals need. */
struct attn_ink {
    bool is_set;         /* false: the terminal's default color */
    struct attn_rgb rgb; /* for a depth of 24 bits */
    int index;           /* for a depth of 256 colors */
};

/* The colors of characters, and whether they are underlined. */
struct attn_paint {
    struct attn_ink text, ground;
    bool is_underlined;
};

#define ATTN_PAINT_NONE ((struct attn_paint){.is_underlined = false})

struct attn_ink attn_ink_of(const struct attn_colormap *map, enum attn_theme theme, int level);

/* Returns COLOR as an ink, with the nearest of the 256 colors of a terminal. */
struct attn_ink attn_ink_nearest(struct attn_rgb color);

/* Returns a paint with INK as background, and with black or white letters, whichever can be read on
 * it. */
struct attn_paint attn_paint_behind(struct attn_ink ink, enum attn_color_depth depth);

/* Appends TEXT [size] to OUT in its paint, followed by a reset. OUT has no other paint. */
void attn_paint_append(struct attn_buffer *out, struct attn_paint paint,
                       enum attn_color_depth depth, const char *text, size_t size);

/* Initialize with the depth. Can be used again after a write. */
struct attn_color_line {
    enum attn_color_depth depth;
    struct attn_buffer text;
    struct attn_paint paint; /* for the text that is appended next */
    struct attn_paint last;  /* that the last escape sequence set */
    bool is_colored;         /* the line has colored or underlined characters */
};

void attn_color_line_paint(struct attn_color_line *line, struct attn_paint paint);
void attn_color_line_append(struct attn_color_line *line, const char *text, size_t size);
void attn_color_line_string(struct attn_color_line *line, const char *text);
void attn_color_line_blanks(struct attn_color_line *line, size_t n);

/* Ends the line and writes it to SINK, without the blanks at its end that have no background. If
 * SINK is NULL, the line is dropped. */
enum attn_status attn_color_line_write(struct attn_color_line *line, struct attn_sink *sink,
                                       struct attn_error *err);

#endif
