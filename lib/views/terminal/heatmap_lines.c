/* heatmap_lines.c - see heatmap_internal.h: writes or counts lines of text that fit a width; labels
 * of rows and columns. */
#include "terminal/heatmap_internal.h"

#include "pictures/colormap_internal.h"
#include "tables/text_table.h"

#include <limits.h>
#include <string.h>

enum {
    USUAL_WIDTH = 80,
    LEAST_WIDTH = 24, /* minimum width; lines wrap in a narrower terminal */
    MOST_LABEL = 14,  /* maximum columns of a label */
    N_MORE = 5,       /* columns of " ..." */
};

size_t attn_heatmap_width(const struct attn_picture_options *picture)
{
    if (picture->width == 0)
        return USUAL_WIDTH;
    return picture->width < LEAST_WIDTH ? LEAST_WIDTH : picture->width;
}

enum attn_status attn_heatmap_init(struct attn_heatmap *map, struct attn_writer *writer,
                                   bool has_labels, struct attn_error *err)
{
    map->writer = writer;
    map->picture = writer->options.picture;
    map->sink = writer->sink;
    map->line.depth = map->picture->depth;
    map->most_number_rows = SIZE_MAX;
    map->width = attn_heatmap_width(map->picture);
    return (has_labels ? attn_token_labels_init : attn_token_texts_init)(map->tokens,
                                                                         &writer->labels, err);
}

void attn_heatmap_release(struct attn_heatmap *map)
{
    attn_token_texts_release(map->tokens, 2);
    attn_buffer_release(&map->line.text);
    attn_buffer_release(&map->label);
}

void attn_heatmap_begin_count(struct attn_heatmap *map)
{
    map->is_counting = true;
    map->n_line = 0;
}

size_t attn_heatmap_end_count(struct attn_heatmap *map)
{
    map->is_counting = false;
    return map->n_line;
}

void attn_heatmap_put_label(struct attn_heatmap *map)
{
    attn_color_line_append(&map->line, map->label.data, map->label.size);
    map->label.size = 0;
}

enum attn_status attn_heatmap_end_line(struct attn_heatmap *map, struct attn_error *err)
{
    attn_heatmap_put_label(map);
    map->n_line++;
    return attn_color_line_write(&map->line, map->is_counting ? NULL : map->sink, err);
}

/* Returns the length of the first line of TEXT. It ends before a gap of N_GAP or more blanks: the
 * last gap within WIDTH, or the first gap if none lies within WIDTH. */
static size_t line_size(const char *text, size_t size, size_t width, size_t n_gap)
{
    const size_t fit = attn_text_fit(text, size, width);
    size_t found = 0;

    if (fit == size)
        return size;
    for (size_t i = 0, n; i < size && (found == 0 || i <= fit); i += n) {
        for (n = 0; i + n < size && text[i + n] == ' '; n++)
            ;
        if (n >= n_gap && i > 0)
            found = i;
        n = n > 0 ? n : 1;
    }
    return found > 0 ? found : size;
}

enum attn_status attn_heatmap_end_text(struct attn_heatmap *map, size_t n_gap,
                                       struct attn_error *err)
{
    const char *text = map->label.data;
    size_t left = map->label.size;

    ATTN_TRY(attn_buffer_check(&map->label, err));
    map->label.size = 0; /* the buffer keeps its memory */
    for (size_t size; left > 0;) {
        size = line_size(text, left, map->width, n_gap);
        if (n_gap > 1 && attn_text_fit(text, size, map->width) < size)
            size = line_size(text, left, map->width, 1);
        attn_color_line_append(&map->line, text, size);
        ATTN_TRY(attn_heatmap_end_line(map, err));
        for (text += size, left -= size; left > 0 && *text == ' '; left--)
            text++;
    }
    return ATTN_OK;
}

const char *attn_heatmap_noun(const struct attn_writer *writer)
{
    return writer->options.picture->merges_words ? "word"
           : writer->labels.ids                  ? "token"
                                                 : "position";
}

const char *attn_heatmap_ellipsis(const struct attn_heatmap *map)
{
    return map->picture->is_plain ? "..." : ATTN_ELLIPSIS;
}

size_t attn_heatmap_end_label(struct attn_heatmap *map, size_t begin)
{
    const char *text = map->label.data ? map->label.data + begin : "";
    const size_t size = map->label.size - begin, width = attn_text_width(text, size);

    if (attn_text_is_right_to_left(text, size))
        attn_buffer_append_string(&map->label, ATTN_LEFT_TO_RIGHT);
    return width;
}

size_t attn_heatmap_append_name(struct attn_heatmap *map, const struct attn_grid_axis *axis,
                                size_t i)
{
    const size_t begin = map->label.size;
    size_t size;
    const char *text = attn_grid_text(axis, i, &size);

    attn_text_append_label(&map->label, text, size, MOST_LABEL, attn_heatmap_ellipsis(map));
    return attn_heatmap_end_label(map, begin);
}

size_t attn_heatmap_make_label(struct attn_heatmap *map, const struct attn_grid_axis *axis,
                               size_t i, bool has_name)
{
    size_t used;

    map->label.size = 0;
    if (axis->is_named)
        return attn_heatmap_append_name(map, axis, i);
    attn_buffer_append_format(&map->label, "%zu", attn_grid_position(axis, i));
    used = map->label.size;
    if (!axis->texts || !has_name)
        return used;
    attn_buffer_append_char(&map->label, ' ');
    return used + 1 + attn_heatmap_append_name(map, axis, i);
}

enum attn_status attn_heatmap_draw_items(struct attn_heatmap *map,
                                         const struct attn_grid_axis *axis, const char *head,
                                         size_t most_lines, struct attn_error *err)
{
    const size_t indent = *head ? strlen(head) + 1 : 0;
    size_t used = indent, line = 1;

    if (axis->n == 0)
        return ATTN_OK;
    attn_color_line_string(&map->line, head);
    attn_color_line_string(&map->line, *head ? ":" : "");
    for (size_t i = 0; i < axis->n; i++) {
        const size_t width = 2 + attn_heatmap_make_label(map, axis, i, true);
        const bool is_cut = line == most_lines && i + 1 < axis->n;

        if (used > indent && used + width > map->width - (is_cut ? N_MORE : 0)) {
            map->label.size = 0;
            if (line == most_lines) {
                attn_color_line_string(&map->line, "  ...");
                break;
            }
            ATTN_TRY(attn_heatmap_end_line(map, err));
            attn_color_line_blanks(&map->line, indent);
            used = indent;
            line++;
            attn_heatmap_make_label(map, axis, i, true);
        }
        used += width;
        attn_color_line_blanks(&map->line, 2);
        attn_heatmap_put_label(map);
    }
    return attn_heatmap_end_line(map, err);
}

/* --- Lines with colors ------------------------------------------------------------------------ */

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
