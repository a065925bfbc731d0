/* figure_frame.c - see figure_internal.h: labels, heading and legend. */
#include "figures/figure_internal.h"

#include "base/elementary.h"
#include "encode/text_table.h"
#include "trace/trace_internal.h"
#include "writers/picture_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    TITLE_SIZE = 15,
    TITLE_LINE = 19,    /* from one line of the title to the next */
    TITLE_COLUMNS = 44, /* of a line of a long title, at least */
    WORD = 8,           /* columns that may be left at the end of its first line */
    SUBTITLE_SIZE = 12,
    SUBTITLE_LINE = 16,
    SUBTITLE_COLUMNS = 44,
    FITTED_LINES = 4, /* of a title in a figure of a given width; else 2 */
    MOST_LINES = FITTED_LINES + 4,
    NAME_COLUMNS = 18, /* of a line of the legend's name */
    NAME_LINE = 13,
    RAMP_WIDTH = 14,
    RAMP_HEIGHT = 128,
    LYING_WIDTH = 192, /* of a ramp that lies, */
    LYING_HEIGHT = 50, /* with its name and ticks */
    TICK = 4,          /* the length of a tick */
    SWATCH = 12,       /* the side of a cell in the legend */
    ENTRY = 18,        /* the height of a line of the legend */
    LEGEND_COLUMNS = 11,
    LABEL_COLUMNS = 14,
    OWN_COLUMNS = 30, /* of a label of a table: two tokens */
};

enum attn_status attn_figure_check_keys(const struct attn_figure_pen *pen, struct attn_error *err)
{
    const struct attn_level_matrix *matrix = attn_figure_matrix(pen, 0);

    if (attn_site_has_keys(matrix->site))
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID,
                          "the columns of '%s' are not keys, and '`figure %s`' shows keys",
                          attn_site_name(matrix->site), attn_figure_name(pen->content->kind));
}

/* --- Labels of rows and columns ------------------------------------------------------------ */

const char *attn_figure_label(struct attn_figure_pen *pen, const struct attn_figure_axis *axis,
                              size_t i, size_t *n)
{
    struct attn_buffer *label = &pen->scratch;
    const size_t position = attn_figure_position(axis, i);
    const size_t at = axis->has_own_texts ? i : position;
    const char *text;
    size_t size;

    label->size = 0;
    if (!axis->texts) {
        attn_buffer_append_format(label, "%zu", position);
        *n = label->size;
        return label->data;
    }
    text = attn_token_text(axis->texts, at, &size);
    for (; size > 0 && *text == ' '; size--)
        text++;
    while (size > 0 && text[size - 1] == ' ')
        size--;
    if (size == 0) {
        text = attn_token_text(axis->texts, at, &size);
        attn_buffer_append_format(label, "'%.*s'",
                                  (int)attn_text_fit(text, size, LABEL_COLUMNS - 2), text);
    } else {
        attn_text_append_cut(label, text, size, axis->has_own_texts ? OWN_COLUMNS : LABEL_COLUMNS,
                             ATTN_ELLIPSIS);
    }
    *n = label->size;
    return label->data;
}

void attn_figure_add_label(struct attn_figure_pen *pen, const struct attn_shape_text *text,
                           const struct attn_figure_axis *axis, size_t i)
{
    size_t n;
    const char *label = attn_figure_label(pen, axis, i, &n);

    attn_shapes_add_text(pen->shapes, text, label, n);
}

void attn_figure_add_axis_name(struct attn_figure_pen *pen, double x, double y, const char *name)
{
    const struct attn_shape_text text = {.x = x,
                                         .y = y,
                                         .size = ATTN_FIGURE_AXIS,
                                         .color = pen->faint,
                                         .anchor = ATTN_ANCHOR_MIDDLE};

    attn_shapes_add_string(pen->shapes, &text, name);
}

void attn_figure_add_turned_name(struct attn_figure_pen *pen, double y, const char *name)
{
    const struct attn_shape_text text = {.x = ATTN_FIGURE_PAD + 9,
                                         .y = y,
                                         .size = ATTN_FIGURE_AXIS,
                                         .color = pen->faint,
                                         .anchor = ATTN_ANCHOR_MIDDLE,
                                         .is_turned = true};

    attn_shapes_add_string(pen->shapes, &text, name);
}

static void measure_axis(struct attn_figure_pen *pen, struct attn_figure_axis *axis)
{
    for (size_t i = 0; i < axis->n; i++) {
        const size_t n_digit = (size_t)snprintf(NULL, 0, "%zu", attn_figure_position(axis, i));
        size_t size, width;
        const char *text = attn_figure_label(pen, axis, i, &size);

        width = text ? attn_text_width(text, size) : 0;
        axis->most_columns = width > axis->most_columns ? width : axis->most_columns;
        axis->n_digit = n_digit > axis->n_digit ? n_digit : axis->n_digit;
    }
}

/* The tokens of the run, or of the keys of LAYER; NULL without tokens. */
static const struct attn_token_texts *texts_of(const struct attn_figure_pen *pen, bool is_key,
                                               int layer)
{
    const struct attn_figure_content *content = pen->content;
    const size_t i = is_key && !attn_writer_has_own_keys(content->writer, layer);

    return content->tokens && content->tokens[i].n > 0 ? &content->tokens[i] : NULL;
}

struct attn_figure_axis attn_figure_rows(struct attn_figure_pen *pen,
                                         const struct attn_level_matrix *matrix)
{
    const enum attn_site_layout layout = attn_site_layout(matrix->site);
    const bool is_key = layout == ATTN_LAYOUT_KEY;
    struct attn_figure_axis axis = {.n = matrix->n_row};

    if (pen->content->grid) {
        axis = *pen->content->grid->rows;
    } else {
        axis.texts = texts_of(pen, is_key, matrix->layer);
        axis.positions = is_key ? NULL : pen->content->writer->queries;
        axis.title = attn_site_has_keys(matrix->site) || layout == ATTN_LAYOUT_RANK
                         ? "query: attends"
                         : attn_writer_row_name(pen->content->writer, matrix->site);
    }
    measure_axis(pen, &axis);
    return axis;
}

struct attn_figure_axis attn_figure_columns(struct attn_figure_pen *pen,
                                            const struct attn_level_matrix *matrix)
{
    const enum attn_site_layout layout = attn_site_layout(matrix->site);
    struct attn_figure_axis axis = {.n = matrix->n_column, .title = "component"};

    if (pen->content->grid)
        axis = *pen->content->grid->columns;
    else if (layout == ATTN_LAYOUT_RANK)
        axis.title = "projected key";
    else if (attn_site_has_keys(matrix->site)) {
        axis.title = "key: attended to";
        axis.texts = texts_of(pen, true, matrix->layer);
    }
    measure_axis(pen, &axis);
    return axis;
}

/* --- The heading --------------------------------------------------------------------------- */

/* The text that the subtitle ends in, or NULL. */
static const char *run_text(const struct attn_figure_pen *pen, size_t *n)
{
    const char *text = attn_shapes_note(pen->shapes, "Text", n);

    return pen->has_text ? text : NULL;
}

double attn_figure_heading_width(struct attn_figure_pen *pen)
{
    size_t n_title, n_text;
    const char *title = attn_shapes_note(pen->shapes, "Title", &n_title);
    const char *text = run_text(pen, &n_text);
    size_t n_column = text ? attn_text_width(text, n_text) : 0;
    double width;

    n_title = title ? attn_text_width(title, n_title) : 0;
    if (n_title > TITLE_COLUMNS) /* it takes two lines, and the first is not full */
        n_title = n_title / 2 + WORD > TITLE_COLUMNS ? n_title / 2 + WORD : TITLE_COLUMNS;
    width = attn_figure_text_width(n_title, TITLE_SIZE);
    n_column += pen->subtitle.size;
    n_column = n_column < SUBTITLE_COLUMNS ? n_column : SUBTITLE_COLUMNS;
    width = fmax(width, attn_figure_text_width(n_column, SUBTITLE_SIZE));
    width = ceil(width) + 2 * ATTN_FIGURE_PAD;
    return pen->room > 0 ? fmin(width, pen->room) : width;
}

void attn_figure_set_width(struct attn_figure_pen *pen, double right)
{
    pen->shapes->width = ceil(fmax(right + ATTN_FIGURE_PAD, attn_figure_heading_width(pen)));
}

/* Title and subtitle in lines. */
struct heading {
    struct attn_buffer text;
    size_t ends[MOST_LINES]; /* [n] of lines in `text` */
    size_t n_title, n;       /* lines of the title, and in all */
};

/* Breaks TEXT [size] between words into at most N_MOST lines of N_COLUMN columns; cuts the rest. */
static void add_lines(struct heading *heading, const char *text, size_t size, size_t n_column,
                      size_t n_most)
{
    while (size > 0 && n_most-- > 0) {
        const size_t n_fit = attn_text_fit(text, size, n_column);
        size_t n = n_fit > 0 ? n_fit : size;

        while (n_most > 0 && n < size && n > 0 && text[n] != ' ' && text[n - 1] != ' ')
            n--;
        if (n == 0) /* one long word */
            n = n_fit;
        if (n_most == 0)
            attn_text_append_cut(&heading->text, text, size, n_column, ATTN_ELLIPSIS);
        else
            attn_buffer_append(&heading->text, text, n - (n > 0 && text[n - 1] == ' '));
        heading->ends[heading->n++] = heading->text.size;
        for (; n < size && text[n] == ' '; n++)
            ;
        text += n;
        size -= n;
    }
}

/* The lines of a heading as wide as the shapes; release its text. */
static struct heading break_heading(struct attn_figure_pen *pen)
{
    enum { OF_TITLE = 2, OF_TEXT = 2 };
    const size_t of_title = pen->room > 0 ? FITTED_LINES : OF_TITLE;
    const double room = pen->shapes->width - 2 * ATTN_FIGURE_PAD;
    const size_t n_wide = (size_t)(room / attn_figure_text_width(1, TITLE_SIZE));
    const size_t n_column = (size_t)(room / attn_figure_text_width(1, SUBTITLE_SIZE));
    struct heading heading = {0};
    struct attn_buffer said = {0};
    size_t n;
    const char *text = attn_shapes_note(pen->shapes, "Title", &n);

    if (text)
        add_lines(&heading, text, n, n_wide, of_title);
    heading.n_title = heading.n;
    attn_buffer_append(&said, pen->subtitle.data, pen->subtitle.size);
    text = run_text(pen, &n);
    if (text)
        attn_buffer_append(&said, text, n);
    else if (said.size > 0)
        said.size -= 2; /* without "; " */
    add_lines(&heading, said.data, said.size, n_column, OF_TEXT);
    text = attn_shapes_note(pen->shapes, "Other text", &n);
    if (text && pen->has_text)
        add_lines(&heading, text, n, n_column, OF_TEXT);
    pen->shapes->text.has_failed |= said.has_failed | heading.text.has_failed;
    attn_buffer_release(&said);
    return heading;
}

double attn_figure_heading_height(struct attn_figure_pen *pen)
{
    struct heading heading = break_heading(pen);
    const size_t n_title = heading.n_title, n = heading.n;

    attn_buffer_release(&heading.text);
    return ATTN_FIGURE_PAD + (n_title > 0 ? 22 + (double)(n_title - 1) * TITLE_LINE : 0) +
           (n > n_title ? 18 + (double)(n - n_title - 1) * SUBTITLE_LINE : 0) + 4;
}

void attn_figure_add_heading(struct attn_figure_pen *pen)
{
    struct heading heading = break_heading(pen);
    struct attn_shape_text line = {
        .x = ATTN_FIGURE_PAD, .y = ATTN_FIGURE_PAD + 14, .size = TITLE_SIZE, .color = pen->ink};
    size_t begin = 0;

    for (size_t i = 0; i < heading.n; begin = heading.ends[i++]) {
        const bool is_title = i < heading.n_title;

        if (!is_title && i == heading.n_title) {
            line.size = SUBTITLE_SIZE;
            line.color = pen->faint;
        }
        line.is_bold = is_title;
        attn_shapes_add_text(pen->shapes, &line, heading.text.data + begin,
                             heading.ends[i] - begin);
        line.y += i + 1 == heading.n_title ? 20 : is_title ? TITLE_LINE : SUBTITLE_LINE;
    }
    attn_buffer_release(&heading.text);
}

/* --- The legend ---------------------------------------------------------------------------- */

/* Whether matrices or rows have separate ranges, so that a color stands for no number. */
static bool is_relative(const struct attn_figure_pen *pen)
{
    return pen->scale.span == ATTN_SPAN_ROW ||
           (pen->scale.span == ATTN_SPAN_MATRIX && pen->content->n > 1);
}

/* The name of the ramp in lines; release its text. */
static struct heading break_name(const struct attn_figure_pen *pen)
{
    static const char *const curves[] = {
        [ATTN_CURVE_LINEAR] = "", [ATTN_CURVE_SQRT] = "(square root)", [ATTN_CURVE_LOG] = "(log)"};
    const char *name = pen->quantity, *curve = curves[pen->scale.curve];
    struct heading lines = {0};

    add_lines(&lines, name, strlen(name), NAME_COLUMNS, MOST_LINES - 1);
    add_lines(&lines, curve, strlen(curve), NAME_COLUMNS, 1);
    pen->shapes->text.has_failed |= lines.text.has_failed;
    return lines;
}

struct attn_figure_size attn_figure_legend_size(const struct attn_figure_pen *pen)
{
    const int n_entry = 1 + pen->options->hides_first;
    struct heading name = break_name(pen);
    double n_column = LEGEND_COLUMNS;

    for (size_t i = 0, begin = 0; i < name.n; begin = name.ends[i++])
        n_column =
            fmax(n_column, (double)attn_text_width(name.text.data + begin, name.ends[i] - begin));
    attn_buffer_release(&name.text);
    return (struct attn_figure_size){
        ceil(attn_figure_text_width((size_t)n_column, ATTN_FIGURE_SMALL)) + 8,
        fmax(0, (double)name.n - 1) * NAME_LINE + ENTRY + RAMP_HEIGHT + ENTRY * (n_entry + 1)};
}

/* The largest of 1, 2, 2.5 and 5 times a power of ten that is not above SIZE. */
static double round_down(double size)
{
    static const double steps[] = {5, 2.5, 2, 1};
    const double power = attn_pow(10, floor(attn_log10(size)));

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (steps[i] * power <= size * (1 + 1e-9))
            return steps[i] * power;
    return power;
}

size_t attn_figure_round_ticks(double low, double high, double ticks[ATTN_MOST_TICKS])
{
    const double step = high > low ? round_down((high - low) / 3) : 0;
    double first;
    size_t n = 0;

    if (!(step > 0) || !isfinite(high - low))
        return 0;
    first = ceil(low / step - 1e-9);
    while (n < ATTN_MOST_TICKS && (first + (double)n) * step <= high + 1e-9 * step) {
        ticks[n] = (first + (double)n) * step + 0.0; /* no -0 */
        n++;
    }
    return n;
}

size_t attn_figure_ticks(const struct attn_color_scale *scale, struct attn_color_range range,
                         double ticks[ATTN_MOST_TICKS])
{
    const bool is_unit = range.high == 1 && (range.low == 0 || range.low == -1);
    size_t n;

    if (scale->curve == ATTN_CURVE_LINEAR)
        return attn_figure_round_ticks(range.low, range.high, ticks);
    n = attn_color_ticks(scale, range, ticks);
    for (size_t i = 0; !is_unit && i < n; i++)
        if (ticks[i] != 0)
            ticks[i] = copysign(round_down(fabs(ticks[i])), ticks[i]);
    return n;
}

static void add_tick(struct attn_figure_pen *pen, double x, double y, const char *text, size_t n)
{
    const struct attn_shape_text label = {.x = x + RAMP_WIDTH + TICK + 4,
                                          .y = y + 0.35 * ATTN_FIGURE_SMALL,
                                          .size = ATTN_FIGURE_SMALL,
                                          .color = pen->ink};

    attn_shapes_add_text(pen->shapes, &label, text, n);
}

/* Adds ticks with numbers or, for separate ranges, with names of the ends. Skips those that would
 * touch the one below. */
static void add_ticks(struct attn_figure_pen *pen, double x, double y)
{
    const struct attn_level_matrix *matrix = attn_figure_matrix(pen, 0);
    const struct attn_color_range range =
        is_relative(pen)
            ? attn_color_range(&pen->scale, pen->scale.is_signed ? -1 : 0, 1)
            : attn_color_range(&pen->scale, (double)matrix->least, (double)matrix->most);
    const double unit = attn_figure_is_percent(pen, matrix) ? 100 : 1;
    double ticks[ATTN_MOST_TICKS], last = HUGE_VAL;
    const size_t n = is_relative(pen) ? attn_color_ticks(&pen->scale, range, ticks)
                                      : attn_figure_ticks(&pen->scale, range, ticks);
    char text[ATTN_TICK_TEXT_SIZE];

    for (size_t i = 0; i < n; i++) {
        const double at = y + RAMP_HEIGHT * (1 - attn_color_place(&pen->scale, range, ticks[i]));
        size_t size = 0;

        if (!is_relative(pen) || ticks[i] == 0)
            size = attn_color_tick_text(unit * ticks[i], text);
        else if (fabs(ticks[i]) == 1)
            size = (size_t)snprintf(text, sizeof text, ticks[i] < 0 ? "-largest" : "largest");
        if (size == 0 || last - at < ATTN_FIGURE_SMALL)
            continue;
        attn_figure_add_line(pen, (double[]){x + RAMP_WIDTH, at},
                             (double[]){x + RAMP_WIDTH + TICK, at}, 1, pen->frame);
        add_tick(pen, x, at, text, size);
        last = at;
    }
}

static void add_ramp_name(struct attn_figure_pen *pen, double x, double *y)
{
    struct heading name = break_name(pen);
    struct attn_shape_text line = {
        .x = x - 1, .y = *y + 9, .size = ATTN_FIGURE_SMALL, .color = pen->faint};

    for (size_t i = 0, begin = 0; i < name.n; begin = name.ends[i++]) {
        attn_shapes_add_text(pen->shapes, &line, name.text.data + begin, name.ends[i] - begin);
        line.y += NAME_LINE;
    }
    *y = line.y - NAME_LINE - 9 + ENTRY;
    attn_buffer_release(&name.text);
}

/* Adds a cell without a value with its name at X, Y. Returns the width of the name. */
static double add_cell_kind(struct attn_figure_pen *pen, enum attn_cell_kind kind, double x,
                            double y)
{
    const char *const names[] = {[ATTN_CELL_MASKED] = pen->content->grid ? "no value" : "masked",
                                 [ATTN_CELL_HIDDEN] = "left out",
                                 [ATTN_CELL_NOT_FINITE] = "not finite"};

    attn_figure_add_nothing(pen, kind, (struct attn_figure_place){.x = x, .y = y, .side = SWATCH});
    add_tick(pen, x, y + SWATCH / 2.0, names[kind], strlen(names[kind]));
    return attn_figure_text_width(strlen(names[kind]), ATTN_FIGURE_SMALL);
}

void attn_figure_add_legend(struct attn_figure_pen *pen, double x, double y)
{
    struct attn_shape_cells ramp = {
        .x = x, .width = RAMP_WIDTH, .height = 1, .n_row = RAMP_HEIGHT, .n_col = 1};
    uint16_t *colors;

    add_ramp_name(pen, x, &y);
    ramp.y = y;
    for (int i = 0; pen->is_veiled && i < 2; i++)
        attn_shapes_add_box(pen->shapes,
                            (struct attn_shape_box){x + i * RAMP_WIDTH / 2.0, y, RAMP_WIDTH / 2.0,
                                                    RAMP_HEIGHT, pen->grounds[i]});
    ramp.is_veil = pen->is_veiled;
    colors = attn_shapes_add_cells(pen->shapes, &ramp);
    for (size_t i = 0; colors && i < RAMP_HEIGHT; i++)
        colors[i] = (uint16_t)((RAMP_HEIGHT - 1 - i) * (ATTN_N_COLOR - 1) / (RAMP_HEIGHT - 1));
    attn_figure_add_frame(pen, x, y, RAMP_WIDTH, RAMP_HEIGHT);
    add_ticks(pen, x, y);
    y += RAMP_HEIGHT + ENTRY;
    for (int kind = ATTN_CELL_MASKED; kind <= ATTN_CELL_NOT_FINITE; kind++) {
        if (!pen->has_kind[kind])
            continue;
        add_cell_kind(pen, (enum attn_cell_kind)kind, x, y);
        y += ENTRY;
    }
    pen->shapes->height = fmax(pen->shapes->height, y + ATTN_FIGURE_PAD - 4);
}

/* The name and its scale in one line. */
static void append_name(const struct attn_figure_pen *pen, struct attn_buffer *out)
{
    struct heading name = break_name(pen);

    for (size_t i = 0, begin = 0; i < name.n; begin = name.ends[i++]) {
        attn_buffer_append_string(out, i > 0 ? " " : "");
        attn_buffer_append(out, name.text.data + begin, name.ends[i] - begin);
    }
    attn_buffer_release(&name.text);
}

/* Ticks below a ramp that lies; those that would touch the one before are left out. */
static void add_ticks_below(struct attn_figure_pen *pen, double x, double y)
{
    const struct attn_level_matrix *matrix = attn_figure_matrix(pen, 0);
    const struct attn_color_range range =
        attn_color_range(&pen->scale, (double)matrix->least, (double)matrix->most);
    const double unit = attn_figure_is_percent(pen, matrix) ? 100 : 1;
    double ticks[ATTN_MOST_TICKS], end = -HUGE_VAL;
    const size_t n = is_relative(pen) ? 0 : attn_figure_ticks(&pen->scale, range, ticks);
    struct attn_shape_text label = {.y = y + RAMP_WIDTH + TICK + ATTN_FIGURE_SMALL,
                                    .size = ATTN_FIGURE_SMALL,
                                    .color = pen->ink,
                                    .anchor = ATTN_ANCHOR_MIDDLE};
    char text[ATTN_TICK_TEXT_SIZE];

    for (size_t i = 0; i < n; i++) {
        const size_t size = attn_color_tick_text(unit * ticks[i], text);
        const double half = attn_figure_text_width(size, ATTN_FIGURE_SMALL) / 2;

        label.x = x + LYING_WIDTH * attn_color_place(&pen->scale, range, ticks[i]);
        if (label.x - half < end + 4)
            continue;
        end = label.x + half;
        attn_figure_add_line(pen, (double[]){label.x, y + RAMP_WIDTH},
                             (double[]){label.x, y + RAMP_WIDTH + TICK}, 1, pen->frame);
        attn_shapes_add_text(pen->shapes, &label, text, size);
    }
}

struct attn_figure_size attn_figure_lying_legend_size(const struct attn_figure_pen *pen)
{
    struct attn_buffer name = {0};
    double width;

    append_name(pen, &name);
    width = attn_figure_text_width(attn_text_width(name.data, name.size), ATTN_FIGURE_SMALL);
    pen->shapes->text.has_failed |= name.has_failed;
    attn_buffer_release(&name);
    return (struct attn_figure_size){fmax(ceil(width), LYING_WIDTH + 120), LYING_HEIGHT};
}

void attn_figure_add_lying_legend(struct attn_figure_pen *pen, double x, double y)
{
    const struct attn_shape_text line = {
        .x = x, .y = y + 9, .size = ATTN_FIGURE_SMALL, .color = pen->faint};
    struct attn_shape_cells ramp = {
        .x = x, .y = y + ENTRY, .width = 1, .height = RAMP_WIDTH, .n_row = 1, .n_col = LYING_WIDTH};
    struct attn_buffer name = {0};
    uint16_t *colors;

    append_name(pen, &name);
    attn_shapes_add_text(pen->shapes, &line, name.data, name.size);
    pen->shapes->text.has_failed |= name.has_failed;
    attn_buffer_release(&name);
    y += ENTRY;
    colors = attn_shapes_add_cells(pen->shapes, &ramp);
    for (size_t i = 0; colors && i < LYING_WIDTH; i++)
        colors[i] = (uint16_t)(i * (ATTN_N_COLOR - 1) / (LYING_WIDTH - 1));
    attn_figure_add_frame(pen, x, y, LYING_WIDTH, RAMP_WIDTH);
    add_ticks_below(pen, x, y);
    x += LYING_WIDTH + ENTRY;
    for (int kind = ATTN_CELL_MASKED; kind <= ATTN_CELL_NOT_FINITE; kind++)
        if (pen->has_kind[kind])
            x += 2 * ENTRY + add_cell_kind(pen, (enum attn_cell_kind)kind, x, y);
}
