/*
 * color_line.h - lines of text with coloured ground and letters, for terminals: SGR sequences where
 * a colour changes, and a reset at the end of each line that has any.
 *
 *     struct attn_color_line line = {.depth = ATTN_DEPTH_256};
 *     attn_color_line_paint(&line, attn_paint_behind(attn_ink_of(map, theme, level), line.depth));
 *     attn_color_line_append(&line, " 48", 3);
 *     attn_color_line_paint(&line, ATTN_PAINT_NONE);
 *     attn_color_line_write(&line, sink, &err);       // ends the line
 *     attn_color_line_release(&line);
 */
#ifndef ATTN_ENCODE_COLOR_LINE_H
#define ATTN_ENCODE_COLOR_LINE_H

#include "base/buffer.h"
#include "base/sink.h"
#include "encode/colormap.h"

/* A colour of a map, as all depths need it. */
struct attn_ink {
    bool is_set;         /* false: the terminal's own */
    struct attn_rgb rgb; /* for 24 bits */
    int index;           /* for 256 colours */
};

/* The colours and attributes of characters. */
struct attn_paint {
    struct attn_ink text, ground;
    bool is_underlined;
};

#define ATTN_PAINT_NONE ((struct attn_paint){.is_underlined = false})

struct attn_ink attn_ink_of(const struct attn_colormap *map, enum attn_theme theme, int level);

/* Any colour, and the nearest of 256. */
struct attn_ink attn_ink_nearest(struct attn_rgb color);

/* The ink as ground, with readable black or white text. */
struct attn_paint attn_paint_behind(struct attn_ink ink, enum attn_color_depth depth);

/* Appends TEXT [size] with its paint and a reset to a plain line. */
void attn_paint_append(struct attn_buffer *out, struct attn_paint paint,
                       enum attn_color_depth depth, const char *text, size_t size);

/* Initialize with the depth; may be used again after a write. */
struct attn_color_line {
    enum attn_color_depth depth;
    struct attn_buffer text;
    struct attn_paint paint; /* of the text that is appended */
    struct attn_paint last;  /* that was emitted */
    bool is_colored;         /* the line has any paint */
};

void attn_color_line_paint(struct attn_color_line *line, struct attn_paint paint);
void attn_color_line_append(struct attn_color_line *line, const char *text, size_t size);
void attn_color_line_string(struct attn_color_line *line, const char *text);
void attn_color_line_blanks(struct attn_color_line *line, size_t n);

/* Ends the line, without the blanks at its end that have no ground, and writes it; without a SINK
 * it is dropped. */
enum attn_status attn_color_line_write(struct attn_color_line *line, struct attn_sink *sink,
                                       struct attn_error *err);

void attn_color_line_release(struct attn_color_line *line);

#endif
