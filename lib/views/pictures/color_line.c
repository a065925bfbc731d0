/* color_line.c - see color_line.h. */
#include "pictures/color_line.h"
#include "pictures/colormap_internal.h"

#include <limits.h>
#include <string.h>

enum { TERMINAL_BLACK = 16, TERMINAL_WHITE = 231, TEXT_CODE = 38, GROUND_CODE = 48 };

struct attn_ink attn_ink_of(const struct attn_colormap *map, enum attn_theme theme, int level)
{
    return (struct attn_ink){true, attn_colormap_color(map, theme, level),
                             attn_colormap_terminal(map, theme, level)};
}

struct attn_ink attn_ink_nearest(struct attn_rgb color)
{
    struct attn_ink ink = {true, color, TERMINAL_BLACK};
    int least = INT_MAX;

    for (int index = TERMINAL_BLACK; index < ATTN_N_COLOR; index++) {
        const struct attn_rgb other = attn_terminal_color(index);
        const int r = other.r - color.r, g = other.g - color.g, b = other.b - color.b;
        /* weighted as the eye sees differences */
        const int distance = 2 * r * r + 4 * g * g + 3 * b * b;

        if (distance < least) {
            least = distance;
            ink.index = index;
        }
    }
    return ink;
}

struct attn_paint attn_paint_behind(struct attn_ink ink, enum attn_color_depth depth)
{
    const struct attn_rgb shown =
        depth == ATTN_DEPTH_24_BIT ? ink.rgb : attn_terminal_color(ink.index);
    const struct attn_ink black = {true, {0, 0, 0}, TERMINAL_BLACK};
    const struct attn_ink white = {true, {255, 255, 255}, TERMINAL_WHITE};

    return (struct attn_paint){.text = attn_rgb_takes_black(shown) ? black : white, .ground = ink};
}

static bool is_same_ink(const struct attn_color_line *line, struct attn_ink a, struct attn_ink b)
{
    if (!a.is_set || !b.is_set)
        return a.is_set == b.is_set;
    return line->depth == ATTN_DEPTH_24_BIT
               ? a.rgb.r == b.rgb.r && a.rgb.g == b.rgb.g && a.rgb.b == b.rgb.b
               : a.index == b.index;
}

static void append_ink(struct attn_buffer *out, enum attn_color_depth depth, int code,
                       struct attn_ink ink)
{
    if (depth == ATTN_DEPTH_24_BIT)
        attn_buffer_append_format(out, "\033[%d;2;%d;%d;%dm", code, ink.rgb.r, ink.rgb.g,
                                  ink.rgb.b);
    else
        attn_buffer_append_format(out, "\033[%d;5;%dm", code, ink.index);
}

void attn_paint_append(struct attn_buffer *out, struct attn_paint paint,
                       enum attn_color_depth depth, const char *text, size_t size)
{
    const bool is_painted = paint.ground.is_set && depth != ATTN_DEPTH_NONE;

    if (is_painted) {
        append_ink(out, depth, TEXT_CODE, paint.text);
        append_ink(out, depth, GROUND_CODE, paint.ground);
    }
    attn_buffer_append(out, text, size);
    if (is_painted)
        attn_buffer_append_string(out, "\033[0m");
}

/* Emits the escape sequences that change the last paint into the current one. An attribute can only
 * be removed by a reset of all. */
static void emit_paint(struct attn_color_line *line)
{
    const struct attn_paint paint = line->paint;
    struct attn_paint *last = &line->last;

    if (line->depth == ATTN_DEPTH_NONE)
        return;
    if ((last->text.is_set && !paint.text.is_set) ||
        (last->ground.is_set && !paint.ground.is_set) ||
        (last->is_underlined && !paint.is_underlined)) {
        attn_buffer_append_string(&line->text, "\033[0m");
        *last = ATTN_PAINT_NONE;
    }
    if (!is_same_ink(line, paint.text, last->text))
        append_ink(&line->text, line->depth, TEXT_CODE, paint.text);
    if (!is_same_ink(line, paint.ground, last->ground))
        append_ink(&line->text, line->depth, GROUND_CODE, paint.ground);
    if (paint.is_underlined && !last->is_underlined)
        attn_buffer_append_string(&line->text, "\033[4m");
    *last = paint;
    line->is_colored =
        line->is_colored || paint.text.is_set || paint.ground.is_set || paint.is_underlined;
}

void attn_color_line_paint(struct attn_color_line *line, struct attn_paint paint)
{
    line->paint = paint;
}

void attn_color_line_append(struct attn_color_line *line, const char *text, size_t size)
{
    if (size == 0)
        return;
    emit_paint(line);
    attn_buffer_append(&line->text, text, size);
}

void attn_color_line_string(struct attn_color_line *line, const char *text)
{
    attn_color_line_append(line, text, strlen(text));
}

void attn_color_line_blanks(struct attn_color_line *line, size_t n)
{
    while (n-- > 0)
        attn_color_line_append(line, " ", 1);
}

enum attn_status attn_color_line_write(struct attn_color_line *line, struct attn_sink *sink,
                                       struct attn_error *err)
{
    struct attn_buffer *text = &line->text;

    ATTN_TRY(attn_buffer_check(text, err));
    while (!line->last.ground.is_set && text->size > 0 && text->data[text->size - 1] == ' ')
        text->size--;
    if (line->is_colored &&
        !(text->size >= 4 && memcmp(text->data + text->size - 4, "\033[0m", 4) == 0))
        attn_buffer_append_string(text, "\033[0m");
    attn_buffer_append_char(text, '\n');
    ATTN_TRY(attn_buffer_check(text, err));
    if (sink)
        attn_sink_write(sink, text->data, text->size);
    attn_buffer_reset(text);
    line->paint = line->last = ATTN_PAINT_NONE;
    line->is_colored = false;
    return ATTN_OK;
}
