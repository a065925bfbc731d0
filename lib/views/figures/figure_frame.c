/* figure_frame.c - see figure_internal.h: labels, heading and legend of figures. */
#include "figures/figure_internal.h"

#include "base/status_internal.h"
#include "base/text/number.h"
#include "measures/head_kind.h"
#include "pictures/picture_internal.h"
#include "tables/text_table.h"
#include "tensors/view.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    TITLE_SIZE = 15,
    TITLE_LINE = 19,    /* height of a line of the title */
    TITLE_COLUMNS = 44, /* minimum columns of a line of a long title */
    WORD = 8,           /* columns that may stay empty at the end of the title's first line */
    SUBTITLE_SIZE = 12,
    SUBTITLE_LINE = 16,
    SUBTITLE_COLUMNS = 44,
    FITTED_LINES = 4, /* lines of a title in a figure of a given width; otherwise 2 */
    MOST_LINES = FITTED_LINES + 5,
    NAME_COLUMNS = 18, /* columns of a line of the legend's name */
    NAME_LINE = 13,
    RAMP_WIDTH = 14,
    RAMP_HEIGHT = 128,
    LYING_WIDTH = 192, /* width of a horizontal ramp */
    TICK = 4,          /* length of a tick */
    SWATCH = 12,       /* side of a cell in the legend */
    ENTRY = 18,        /* height of a line of the legend */
    LEGEND_COLUMNS = 11,
    SLIM = 8,         /* width of a ramp in print */
    LEAST_RAMP = 36,  /* minimum height of a vertical ramp */
    KIND_STEPS = 5,   /* steps of weight shown for each kind of head in the legend */
    FEW_LABELS = 256, /* maximum labels that are checked for repetitions */
};

int attn_figure_by_rank(const void *a, const void *b)
{
    const struct attn_figure_rank *x = a, *y = b;
    const int order = attn_compare_numbers(-fabs(x->number), -fabs(y->number));

    return order != 0 ? order : x->index < y->index ? -1 : x->index > y->index;
}

enum attn_status attn_figure_check_keys(const struct attn_figure_pen *pen, struct attn_error *err)
{
    const struct attn_level_matrix *matrix = attn_figure_matrix(pen, 0);

    if (attn_site_has_keys(matrix->at.site))
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID,
                          "the columns of '%s' are not keys, and '`figure %s`' shows keys",
                          attn_site_name(matrix->at.site), attn_figure_name(pen->content->kind));
}

/* --- Labels of rows and columns ------------------------------------------------------------ */

double attn_figure_label_width(const struct attn_figure_pen *pen, const struct attn_grid_axis *axis,
                               double size)
{
    return pen->is_printed ? axis->widest * size : attn_figure_text_width(axis->most_columns, size);
}

/* Returns the text of token I without surrounding blanks. */
static const char *trimmed_text(const struct attn_grid_axis *axis, size_t i, size_t *n)
{
    return attn_text_trim(attn_grid_text(axis, i, n), n);
}

/* Returns true if another row or column has the same token. */
static bool is_repeated(const struct attn_grid_axis *axis, size_t i)
{
    size_t n, size;
    const char *text = trimmed_text(axis, i, &n);

    for (size_t k = 0; k < axis->n && axis->n <= FEW_LABELS; k++) {
        const char *other = trimmed_text(axis, k, &size);

        if (k != i && size == n && (n == 0 || memcmp(text, other, n) == 0))
            return true;
    }
    return false;
}

/* Appends NUMBER in subscript digits. */
static void append_subscript(struct attn_buffer *out, size_t number)
{
    char digits[24];
    const int n = snprintf(digits, sizeof digits, "%zu", number);

    for (int i = 0; i < n; i++)
        attn_buffer_append_format(out, "\xe2\x82%c", 0x80 + digits[i] - '0');
}

const char *attn_figure_label(struct attn_figure_pen *pen, const struct attn_grid_axis *axis,
                              size_t i, size_t *n)
{
    struct attn_buffer *label = &pen->scratch;

    label->size = 0;
    attn_grid_append_label(axis, i, label);
    attn_figure_name_blanks(label);
    if (pen->is_printed && axis->texts && !axis->is_named &&
        attn_grid_position(axis, i) != ATTN_GRID_NO_POSITION && is_repeated(axis, i))
        append_subscript(label, attn_grid_position(axis, i));
    *n = label->size;
    return label->data;
}

void attn_figure_add_label(struct attn_figure_pen *pen, const struct attn_shape_text *text,
                           const struct attn_grid_axis *axis, size_t i)
{
    size_t n;
    const char *label = attn_figure_label(pen, axis, i, &n);

    attn_shapes_add_text(pen->shapes, text, label, n);
}

void attn_figure_add_axis_name(struct attn_figure_pen *pen, double x, double y, const char *name)
{
    const struct attn_shape_text text = {.x =
                                             x > 0 ? x : ATTN_FIGURE_PAD + 0.75 * pen->letters.axis,
                                         .y = y,
                                         .size = pen->letters.axis,
                                         .color = pen->faint,
                                         .anchor = ATTN_ANCHOR_MIDDLE,
                                         .is_turned = x == 0};

    attn_shapes_add_string(pen->shapes, &text, name);
}

size_t attn_figure_character_size(const char *label, size_t size)
{
    for (size_t n = size; n > 0; n--)
        if (label[n - 1] == '/')
            return n - 1;
    return size; /* it is a shortened text */
}

/* Returns true if row or column I is a piece of a character that is displayed as a whole. */
static bool is_piece(const struct attn_grid_axis *axis, size_t i)
{
    const struct attn_token_texts *texts = axis->texts;

    return texts && texts->joins && !axis->has_own_texts && !axis->positions &&
           (texts->joins[axis->first + i] || attn_token_n_joined(texts, axis->first + i) > 0);
}

/* Returns AXIS with the sizes of its labels. */
static struct attn_grid_axis measured(struct attn_figure_pen *pen, struct attn_grid_axis axis)
{
    for (size_t i = 0; i < axis.n; i++) {
        const size_t position = attn_grid_position(&axis, i);
        const size_t n_digit =
            position == ATTN_GRID_NO_POSITION ? 0 : (size_t)snprintf(NULL, 0, "%zu", position);
        size_t size, width;
        const char *text = attn_figure_label(pen, &axis, i, &size);

        if (text && is_piece(&axis, i))
            size = attn_figure_character_size(text, size);
        width = text ? attn_text_width(text, size) : 0;
        axis.most_columns = width > axis.most_columns ? width : axis.most_columns;
        axis.widest = fmax(axis.widest, text ? attn_figure_string_width(pen, text, size) : 0);
        axis.n_digit = n_digit > axis.n_digit ? n_digit : axis.n_digit;
    }
    return axis;
}

struct attn_grid_axis attn_figure_groups(struct attn_figure_pen *pen)
{
    const struct attn_grid_axis *groups = pen->content->grid->groups;

    return groups ? measured(pen, *groups) : (struct attn_grid_axis){.n = 1};
}

struct attn_grid_axis attn_figure_rows(struct attn_figure_pen *pen,
                                       const struct attn_level_matrix *matrix)
{
    return measured(pen, attn_grid_rows(pen->content->grid, matrix));
}

struct attn_grid_axis attn_figure_columns(struct attn_figure_pen *pen,
                                          const struct attn_level_matrix *matrix)
{
    return measured(pen, attn_grid_columns(pen->content->grid, matrix));
}

enum attn_status attn_figure_name_query(struct attn_figure_pen *pen, size_t n,
                                        struct attn_error *err)
{
    struct attn_grid grid = *pen->content->grid;
    struct attn_grid_axis rows;
    const char *label;

    if (n != 1) {
        attn_error_set(err, ATTN_INVALID, "%zu queries are selected, '`figure %s`' shows one", n,
                       attn_figure_name(pen->content->kind));
        return attn_error_hint(err, "choose one: `queries -1` is the last");
    }
    if (!grid.run)
        return ATTN_OK;
    grid.rows = NULL; /* not the heads */
    rows = attn_grid_rows(&grid, attn_figure_matrix(pen, 0));
    rows.n = 1;
    label = attn_figure_label(pen, &rows, 0, &n);
    attn_buffer_append_format(&pen->subtitle, "query %zu", attn_grid_position(&rows, 0));
    if (rows.texts) {
        attn_buffer_append_char(&pen->subtitle, ' ');
        attn_buffer_append(&pen->subtitle, label, n);
    }
    attn_buffer_append_string(&pen->subtitle, "; ");
    return ATTN_OK;
}

/* --- The heading --------------------------------------------------------------------------- */

/* Returns the text at the end of the subtitle, or NULL. */
static const char *run_text(const struct attn_figure_pen *pen, size_t *n)
{
    const char *text = attn_shapes_note(pen->shapes, "Text", n);

    return pen->has_text ? text : NULL;
}

/* Returns the title: what the user gave, or what the picture shows; or NULL. */
static const char *title_of(const struct attn_figure_pen *pen, size_t *n)
{
    const bool has_finding = pen->finding.size > 0 && !pen->options->title;

    *n = pen->finding.size;
    return has_finding ? pen->finding.data : attn_shapes_note(pen->shapes, "Title", n);
}

static double heading_width(struct attn_figure_pen *pen)
{
    size_t n_title, n_text;
    const char *title = title_of(pen, &n_title);
    const char *text = run_text(pen, &n_text);
    size_t n_column = text ? attn_text_width(text, n_text) : 0;
    double width;

    if (pen->is_printed)
        return 2 * ATTN_FIGURE_PAD;
    n_title = title ? attn_text_width(title, n_title) : 0;
    if (n_title > TITLE_COLUMNS) /* the title needs two lines, and the first may have room left */
        n_title = n_title / 2 + WORD > TITLE_COLUMNS ? n_title / 2 + WORD : TITLE_COLUMNS;
    width = attn_figure_text_width(n_title, TITLE_SIZE);
    n_column += pen->subtitle.size;
    n_column = n_column < SUBTITLE_COLUMNS ? n_column : SUBTITLE_COLUMNS;
    width = fmax(width, attn_figure_text_width(n_column, SUBTITLE_SIZE));
    width = ceil(width) + 2 * ATTN_FIGURE_PAD;
    return pen->room > 0 ? fmin(width, pen->room) : width;
}

/* Title and subtitle broken into lines. */
struct heading {
    struct attn_buffer text;
    size_t ends[MOST_LINES]; /* [n] end of each line in `text` */
    size_t n_title, n;       /* number of lines of the title, and of all lines */
};

/* Breaks TEXT [size] between words into at most N_MOST lines of N_COLUMN columns; cuts the rest. */
static void add_lines(struct heading *heading, const char *text, size_t size, size_t n_column,
                      size_t n_most)
{
    while (size > 0 && n_most-- > 0) {
        const size_t n_fit = attn_text_fit(text, size, n_column);
        size_t n = n_fit > 0 ? n_fit : size;

        while (n_most > 0 && n < size && n > 0 && /* "41 %" stays together */
               ((text[n] != ' ' && text[n - 1] != ' ') ||
                text[n + (n + 1 < size && text[n] == ' ')] == '%'))
            n--;
        if (n == 0) /* a single long word */
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

/* Breaks title and subtitle into lines as wide as the shapes. The caller releases the text. */
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
    const char *text = title_of(pen, &n);

    if (text && (!pen->is_printed || pen->options->title))
        add_lines(&heading, text, n, n_wide, of_title);
    heading.n_title = heading.n;
    if (pen->is_printed)
        return heading;
    if (text && text == pen->finding.data && (text = attn_shapes_note(pen->shapes, "Title", &n))) {
        attn_buffer_append(&said, text, n);
        attn_buffer_append_string(&said, "; ");
    }
    attn_buffer_append(&said, pen->subtitle.data, pen->subtitle.size);
    text = run_text(pen, &n);
    if (text)
        attn_buffer_append(&said, text, n);
    else if (said.size > 0)
        said.size -= 2; /* without the last "; " */
    add_lines(&heading, said.data, said.size, n_column, OF_TEXT + (pen->finding.size > 0));
    text = attn_shapes_note(pen->shapes, "Other text", &n);
    if (text && pen->has_text)
        add_lines(&heading, text, n, n_column, OF_TEXT);
    pen->shapes->text.has_failed |= said.has_failed | heading.text.has_failed;
    attn_buffer_release(&said);
    return heading;
}

double attn_figure_add_heading(struct attn_figure_pen *pen, double right)
{
    struct attn_shape_text line = {
        .x = ATTN_FIGURE_PAD, .y = ATTN_FIGURE_PAD + 14, .size = TITLE_SIZE, .color = pen->ink};
    struct heading heading;
    size_t begin = 0;

    pen->shapes->width = ceil(fmax(right + ATTN_FIGURE_PAD, heading_width(pen)));
    heading = break_heading(pen);
    for (size_t i = 0; !pen->is_measuring && i < heading.n; begin = heading.ends[i++]) {
        const bool is_title = i < heading.n_title;

        if (!is_title && i == heading.n_title) {
            line.size = SUBTITLE_SIZE;
            line.color = pen->faint;
        }
        line.is_bold = is_title;
        line.has_isolates = is_title && !pen->options->title;
        attn_shapes_add_text(pen->shapes, &line, heading.text.data + begin,
                             heading.ends[i] - begin);
        line.y += i + 1 == heading.n_title ? 20 : is_title ? TITLE_LINE : SUBTITLE_LINE;
    }
    attn_buffer_release(&heading.text);
    if (heading.n == 0 && pen->is_printed)
        return ATTN_FIGURE_PAD;
    return ATTN_FIGURE_PAD +
           (heading.n_title > 0 ? 22 + (double)(heading.n_title - 1) * TITLE_LINE : 0) +
           (heading.n > heading.n_title
                ? 18 + (double)(heading.n - heading.n_title - 1) * SUBTITLE_LINE
                : 0) +
           4;
}

/* --- The legend ---------------------------------------------------------------------------- */

/* Whether each matrix has its own range, so that a color does not stand for one number. */
static bool is_relative(const struct attn_figure_pen *pen)
{
    return pen->scale.span == ATTN_SPAN_MATRIX && pen->content->grid->n > 1 &&
           !pen->content->grid->parts;
}

static double ramp_width(const struct attn_figure_pen *pen)
{
    return pen->is_printed ? SLIM : RAMP_WIDTH;
}

/* Returns the number of legend entries below the ramp; before cells are drawn, the number that is
 * expected. */
static int n_entry(const struct attn_figure_pen *pen)
{
    const bool is_run = pen->content->grid->run;
    int n = 0;

    for (int kind = ATTN_CELL_MASKED; kind <= ATTN_CELL_NOT_FINITE; kind++)
        n += pen->has_kind[kind];
    if (pen->is_printed) /* the caption names the entries */
        return 0;
    return n > 0 || pen->has_kind[ATTN_CELL_VALUE]
               ? n
               : is_run + attn_view_hides(attn_view_of(pen->options));
}

static struct heading break_name(const struct attn_figure_pen *pen);

/* Returns the height of the name above a ramp. */
static double name_height(const struct attn_figure_pen *pen)
{
    struct heading name;

    if (pen->is_printed) /* in print the name stands beside the ramp */
        return 0;
    name = break_name(pen);
    attn_buffer_release(&name.text);
    return fmax(0, (double)name.n - 1) * NAME_LINE + ENTRY;
}

/* Returns the height of a vertical ramp: together with its name and entries it is at most as high
 * as the picture. */
static double ramp_height(const struct attn_figure_pen *pen)
{
    const double room = pen->layout.height;

    if (room == 0)
        return RAMP_HEIGHT;
    if (pen->is_printed)
        return room;
    return fmin(RAMP_HEIGHT, floor(room - name_height(pen) - ENTRY * n_entry(pen)));
}

/* Returns the words for the curve of the scale; "" for a linear one. */
static const char *curve_words(const struct attn_figure_pen *pen)
{
    return pen->scale.curve == ATTN_CURVE_SQRT ? "(square root)" : "";
}

/* Appends the name of the ramp and its scale as one line. */
static void append_name(const struct attn_figure_pen *pen, struct attn_buffer *out)
{
    const char *curve = curve_words(pen);

    attn_buffer_append_format(out, "%s%s%s", pen->quantity, *curve ? " " : "", curve);
}

/* Breaks TEXT [size] between words into at most N_MOST lines of N_COLUMN columns, or of as many as
 * its longest word has. */
static void add_whole_words(struct heading *lines, const char *text, size_t size, size_t n_column,
                            size_t n_most)
{
    for (size_t begin = 0, end; begin < size; begin = end + 1) {
        size_t width;

        for (end = begin; end < size && text[end] != ' '; end++)
            ;
        width = attn_text_width(text + begin, end - begin);
        n_column = width > n_column ? width : n_column;
    }
    add_lines(lines, text, size, n_column, n_most);
}

/* Breaks the name of the ramp into lines. The caller releases its text. */
static struct heading break_name(const struct attn_figure_pen *pen)
{
    const char *name = pen->quantity, *curve = curve_words(pen);
    struct heading lines = {0};
    struct attn_buffer whole = {0};

    if (pen->is_printed) { /* the name stands beside the ramp */
        append_name(pen, &whole);
        add_whole_words(&lines, whole.data, whole.size,
                        (size_t)(ramp_height(pen) / attn_figure_text_width(1, pen->letters.tick)),
                        MOST_LINES);
    } else {
        add_whole_words(&lines, name, strlen(name), NAME_COLUMNS, MOST_LINES - 1);
        add_lines(&lines, curve, strlen(curve), NAME_COLUMNS, 1);
    }
    pen->shapes->text.has_failed |= whole.has_failed;
    attn_buffer_release(&whole);
    pen->shapes->text.has_failed |= lines.text.has_failed;
    return lines;
}

/* A tick of the legend: its place on the ramp, 0 to 1, and its text. */
struct tick {
    double place;
    char text[ATTN_TICK_TEXT_SIZE];
    size_t n;
};

/* Lists the ticks of the ramp: numbers or, if matrices or rows have separate ranges, the names of
 * its two ends. */
static size_t list_ticks(const struct attn_figure_pen *pen, struct tick list[ATTN_MOST_TICKS])
{
    const struct attn_level_matrix *matrix = attn_figure_matrix(pen, pen->part);
    const struct attn_color_range range =
        is_relative(pen)
            ? attn_color_range(&pen->scale, pen->scale.is_signed ? -1 : 0, 1)
            : attn_color_range(&pen->scale, (double)matrix->least, (double)matrix->most);
    const double unit = attn_figure_is_percent(pen) ? 100 : 1;
    double ticks[ATTN_MOST_TICKS];
    const size_t n = is_relative(pen) ? attn_color_ticks(&pen->scale, range, ticks)
                                      : attn_grid_ticks(&pen->scale, range, ticks);

    for (size_t i = 0; i < n; i++) {
        struct tick *tick = &list[i];

        tick->place = attn_color_place(&pen->scale, range, ticks[i]);
        tick->n = 0;
        if (!is_relative(pen) || ticks[i] == 0)
            tick->n = attn_color_tick_text(unit * ticks[i], tick->text);
        else if (fabs(ticks[i]) == 1)
            tick->n = (size_t)snprintf(tick->text, sizeof tick->text,
                                       ticks[i] < 0 ? "-largest" : "largest");
    }
    return n;
}

/* Returns the width from a ramp to the end of its longest tick label. */
static double tick_width(const struct attn_figure_pen *pen)
{
    struct tick ticks[ATTN_MOST_TICKS];
    double width = 0;

    for (size_t n = list_ticks(pen, ticks); n-- > 0;)
        width = fmax(width, attn_figure_string_width(pen, ticks[n].text, ticks[n].n));
    return TICK + 4 + pen->letters.tick * width;
}

/* Returns how many steps of the hue of a kind the legend shows. */
static int kind_steps(const struct attn_figure_pen *pen)
{
    return pen->content->grid->bars ? 1 : KIND_STEPS;
}

/* Returns the distance between columns of kinds. */
static double kind_width(const struct attn_figure_pen *pen)
{
    return kind_steps(pen) * SLIM + TICK + 4 +
           ceil(attn_figure_text_width(pen->strength ? 13 : 11, pen->letters.tick));
}

/* Returns the number of kinds in the legend. */
static size_t n_kind(const struct attn_figure_pen *pen)
{
    return (size_t)__builtin_popcount(pen->kinds);
}

/* Returns the number of columns of the legend of kinds: beside the picture it is no higher, below
 * it no wider. */
static size_t n_kind_column(const struct attn_figure_pen *pen)
{
    const struct attn_figure_layout *frame = &pen->layout;
    const double n_row = fmax(1, floor((frame->height - SWATCH) / ENTRY));

    if (frame->lies)
        return (size_t)fmax(1, floor((frame->right - ATTN_FIGURE_PAD) / kind_width(pen)));
    return (size_t)fmax(1, frame->height == 0 ? 1 : ceil((double)n_kind(pen) / n_row));
}

static struct attn_figure_size lying_size(const struct attn_figure_pen *pen)
{
    struct attn_buffer name = {0};
    double width;

    append_name(pen, &name);
    width = attn_figure_text_width(attn_text_width(name.data, name.size), pen->letters.tick);
    pen->shapes->text.has_failed |= name.has_failed;
    attn_buffer_release(&name);
    return (struct attn_figure_size){fmax(ceil(width), LYING_WIDTH + 120), ATTN_FIGURE_LYING};
}

struct attn_figure_size attn_figure_legend_size(const struct attn_figure_pen *pen)
{
    struct heading name;
    double n_column = LEGEND_COLUMNS;

    if (attn_figure_has_kinds(pen)) {
        const size_t n = n_kind_column(pen);

        return (struct attn_figure_size){kind_width(pen) * (double)n,
                                         ceil((double)n_kind(pen) / (double)n) * ENTRY + SWATCH};
    }
    if (pen->layout.lies)
        return lying_size(pen);
    name = break_name(pen);
    for (size_t i = 0, begin = 0; i < name.n; begin = name.ends[i++])
        n_column =
            fmax(n_column, (double)attn_text_width(name.text.data + begin, name.ends[i] - begin));
    attn_buffer_release(&name.text);
    if (pen->is_printed)
        return (struct attn_figure_size){ceil(SLIM + tick_width(pen) + (double)name.n * NAME_LINE),
                                         ramp_height(pen)};
    return (struct attn_figure_size){
        ceil(attn_figure_text_width((size_t)n_column, pen->letters.tick)) + 8,
        name_height(pen) + ramp_height(pen) + ENTRY * n_entry(pen)};
}

/* Returns the gap between a picture and its legend. */
static double aside(const struct attn_figure_pen *pen)
{
    return pen->is_printed ? ATTN_FIGURE_ASIDE / 2.0 : ATTN_FIGURE_ASIDE;
}

void attn_figure_set_frame(struct attn_figure_pen *pen, double right, double above, double height,
                           bool lies)
{
    struct attn_figure_layout *frame = &pen->layout;
    struct attn_figure_size legend;

    *frame = (struct attn_figure_layout){.right = right, .height = height};
    frame->lies = lies || (!attn_figure_has_kinds(pen) && ramp_height(pen) < LEAST_RAMP);
    legend = attn_figure_legend_size(pen);
    if (attn_figure_has_kinds(pen) && pen->room > 0 &&
        right + aside(pen) + legend.width + ATTN_FIGURE_PAD > pen->room) {
        frame->lies = true;
        legend = attn_figure_legend_size(pen);
    }
    right = frame->lies ? fmax(right, ATTN_FIGURE_PAD + legend.width)
                        : right + aside(pen) + legend.width;
    frame->top = ceil(attn_figure_add_heading(pen, right) + above);
    height = frame->lies ? height + ENTRY + legend.height : fmax(height, legend.height);
    pen->shapes->height = ceil(frame->top + height + ATTN_FIGURE_PAD);
}

static void add_tick(struct attn_figure_pen *pen, double x, double y, const char *text, size_t n)
{
    const struct attn_shape_text label =
        attn_figure_text(x + RAMP_WIDTH + TICK + 4, y + 0.35 * pen->letters.tick, pen->letters.tick,
                         pen->ink, ATTN_ANCHOR_START);

    attn_shapes_add_text(pen->shapes, &label, text, n);
}

/* Adds the ticks of a ramp at X, Y. Skips ticks that would touch the one below. */
static void add_ticks(struct attn_figure_pen *pen, double x, double y)
{
    struct tick ticks[ATTN_MOST_TICKS];
    const size_t n = list_ticks(pen, ticks);
    double last = HUGE_VAL;

    x += ramp_width(pen);
    for (size_t i = 0; i < n; i++) {
        const double at = y + ramp_height(pen) * (1 - ticks[i].place);

        if (ticks[i].n == 0 || last - at < pen->letters.tick)
            continue;
        attn_figure_add_line(pen, (double[]){x, at}, (double[]){x + TICK, at}, 1, pen->frame);
        add_tick(pen, x - RAMP_WIDTH, at, ticks[i].text, ticks[i].n);
        last = at;
    }
}

/* Adds the name of the ramp: above it, moving *Y below the name; in print, beside the ramp. */
static void add_ramp_name(struct attn_figure_pen *pen, double x, double *y)
{
    struct heading name = break_name(pen);
    struct attn_shape_text line = {
        .x = x - 1, .y = *y + 9, .size = pen->letters.tick, .color = pen->faint};

    if (pen->is_printed) {
        line.x += SLIM + tick_width(pen) + 12;
        line.y += ramp_height(pen) / 2 - 9;
        line.anchor = ATTN_ANCHOR_MIDDLE;
        line.is_turned = true;
    }
    for (size_t i = 0, begin = 0; i < name.n; begin = name.ends[i++]) {
        attn_shapes_add_text(pen->shapes, &line, name.text.data + begin, name.ends[i] - begin);
        *(line.is_turned ? &line.x : &line.y) += NAME_LINE;
    }
    if (!line.is_turned)
        *y = line.y - NAME_LINE - 9 + ENTRY;
    attn_buffer_release(&name.text);
}

/* Adds the legend entry of a kind of cell without a value at X, Y. Returns the width of its
 * name. */
static double add_cell_kind(struct attn_figure_pen *pen, enum attn_cell_kind kind, double x,
                            double y)
{
    const char *const names[] = {[ATTN_CELL_MASKED] =
                                     !pen->content->grid->run ? "no value" : "masked",
                                 [ATTN_CELL_HIDDEN] = "left out",
                                 [ATTN_CELL_NOT_FINITE] = "not finite"};

    attn_figure_add_nothing(pen, kind, (struct attn_figure_place){.x = x, .y = y, .side = SWATCH});
    add_tick(pen, x, y + SWATCH / 2.0, names[kind], strlen(names[kind]));
    return attn_figure_text_width(strlen(names[kind]), pen->letters.tick);
}

static void add_kind_name(struct attn_figure_pen *pen, const struct attn_head_kind *kind, double x,
                          double y)
{
    const struct attn_grid *grid = pen->content->grid;
    const bool is_part = grid->bars && kind == attn_head_kind_at(ATTN_HEAD_KIND_PARKS);
    char name[24];
    const int n = grid->has_letters || pen->strength
                      ? snprintf(name, sizeof name, "%c %s", kind->letter, kind->name)
                      : snprintf(name, sizeof name, "%s", is_part ? "parked" : kind->name);

    add_tick(pen, x, y, name, (size_t)n);
}

/* Adds the legend of kinds of heads, one line each: the hue for weights 0 to 1, or of bars, and the
 * name, after the letter if cells have letters. */
static void add_kinds(struct attn_figure_pen *pen, double x, double y)
{
    const struct attn_grid *grid = pen->content->grid;
    const size_t n_column = n_kind_column(pen), n_row = (n_kind(pen) + n_column - 1) / n_column;
    const int n_step = kind_steps(pen);
    const double top = y;
    const struct attn_shape_text line = {
        .x = x - 1, .y = y + 9, .size = pen->letters.tick, .color = pen->faint};

    attn_shapes_add_string(pen->shapes, &line,
                           pen->strength ? pen->strength
                           : grid->bars  ? "weight on"
                                         : "beside parks");
    for (size_t k = 0, n = 0; k < ATTN_N_HEAD_KIND; k++) {
        const struct attn_head_kind *kind = attn_head_kind_at(k);
        const bool is_pale = grid->bars && k == ATTN_HEAD_KIND_PARKS;

        if (!(pen->kinds >> k & 1))
            continue;
        y += ENTRY;
        if (n > 0 && n % n_row == 0) {
            x += kind_width(pen);
            y = top + ENTRY;
        }
        n++;
        for (int i = 0; i < n_step; i++) {
            const double place = is_pale ? ATTN_HEAD_PALE / 100.0
                                         : (i + 1.0 - (n_step > 1)) / (n_step - (n_step > 1));

            attn_figure_add_box(pen, x + i * SLIM, y, SLIM, SWATCH,
                                attn_rgb_number((is_pale ? attn_rgb_mix : attn_hue_color)(
                                    kind->hue, place, pen->options->theme)));
        }
        add_kind_name(pen, kind, x + n_step * SLIM - RAMP_WIDTH, y + SWATCH / 2.0);
    }
}

static void add_ramp(struct attn_figure_pen *pen, struct attn_shape_cells ramp, bool lies)
{
    const size_t n = lies ? ramp.n_col : ramp.n_row;
    const double width = ramp.width * (double)ramp.n_col;
    const double height = ramp.height * (double)ramp.n_row;
    uint16_t *colors;

    for (int i = 0; pen->is_veiled && i < 2; i++)
        attn_shapes_add_box(pen->shapes,
                            lies ? (struct attn_shape_box){ramp.x, ramp.y + i * height / 2, width,
                                                           height / 2, pen->grounds[i]}
                                 : (struct attn_shape_box){ramp.x + i * width / 2, ramp.y,
                                                           width / 2, height, pen->grounds[i]});
    ramp.is_veil = pen->is_veiled;
    colors = attn_shapes_add_cells(pen->shapes, &ramp);
    for (size_t i = 0; colors && i < n; i++)
        colors[i] = (uint16_t)((lies ? i : n - 1 - i) * (ATTN_N_COLOR - 1) / (n - 1));
    attn_figure_add_frame(pen, ramp.x, ramp.y, width, height);
}

static void add_standing(struct attn_figure_pen *pen, double x, double y)
{
    const double width = ramp_width(pen);
    const size_t height = (size_t)ramp_height(pen);

    add_ramp_name(pen, x, &y);
    add_ramp(pen,
             (struct attn_shape_cells){
                 .x = x, .y = y, .width = width, .height = 1, .n_row = height, .n_col = 1},
             false);
    add_ticks(pen, x, y);
    y += (double)height + 6;
    for (int kind = ATTN_CELL_MASKED; !pen->is_printed && kind <= ATTN_CELL_NOT_FINITE; kind++) {
        if (!pen->has_kind[kind])
            continue;
        add_cell_kind(pen, (enum attn_cell_kind)kind, x, y);
        y += ENTRY;
    }
    y += pen->is_printed ? TICK - 6 : -ENTRY + SWATCH;
    pen->shapes->height = fmax(pen->shapes->height, ceil(y + ATTN_FIGURE_PAD));
}

/* Returns the smallest step so that every step-th of TICKS [n] has room on a horizontal linear ramp
 * of WIDTH. */
static size_t step_of_ticks(const struct attn_figure_pen *pen, const struct tick *ticks, size_t n,
                            double width)
{
    for (size_t step = 1; step < n; step++) {
        size_t i = step;

        while (i < n &&
               width * (ticks[i].place - ticks[i - step].place) >=
                   4 + attn_figure_text_width(ticks[i].n + ticks[i - step].n, pen->letters.tick) /
                           2)
            i += step;
        if (i >= n)
            return step;
    }
    return n;
}

/* Adds ticks below a horizontal ramp of WIDTH. Skips ticks that would touch the one before. */
static void add_ticks_below(struct attn_figure_pen *pen, double x, double y, double width)
{
    struct tick ticks[ATTN_MOST_TICKS];
    const size_t n = is_relative(pen) ? 0 : list_ticks(pen, ticks);
    struct attn_shape_text label =
        attn_figure_text(0, y + RAMP_WIDTH + TICK + pen->letters.tick, pen->letters.tick, pen->ink,
                         ATTN_ANCHOR_MIDDLE);
    const size_t step =
        pen->scale.curve == ATTN_CURVE_LINEAR ? step_of_ticks(pen, ticks, n, width) : 1;
    double end = -HUGE_VAL;

    for (size_t i = 0; i < n; i += step) {
        const double half = attn_figure_text_width(ticks[i].n, pen->letters.tick) / 2;

        label.x = x + width * ticks[i].place;
        if (label.x - half < end + 4)
            continue;
        end = label.x + half;
        attn_figure_add_line(pen, (double[]){label.x, y + RAMP_WIDTH},
                             (double[]){label.x, y + RAMP_WIDTH + TICK}, 1, pen->frame);
        attn_shapes_add_text(pen->shapes, &label, ticks[i].text, ticks[i].n);
    }
}

void attn_figure_add_lying_ramp(struct attn_figure_pen *pen, double x, double y, double width)
{
    const size_t n = (size_t)width;
    const struct attn_shape_text line = {
        .x = x, .y = y + 9, .size = pen->letters.tick, .color = pen->faint};
    struct attn_buffer name = {0};

    append_name(pen, &name);
    attn_shapes_add_text(pen->shapes, &line, name.data, name.size);
    pen->shapes->text.has_failed |= name.has_failed;
    attn_buffer_release(&name);
    y += ENTRY;
    add_ramp(pen,
             (struct attn_shape_cells){
                 .x = x, .y = y, .width = 1, .height = RAMP_WIDTH, .n_row = 1, .n_col = n},
             true);
    add_ticks_below(pen, x, y, (double)n);
}

void attn_figure_add_cell_kinds(struct attn_figure_pen *pen, double x, double y)
{
    for (int kind = ATTN_CELL_MASKED; kind <= ATTN_CELL_NOT_FINITE; kind++)
        if (pen->has_kind[kind])
            x += 2 * ENTRY + add_cell_kind(pen, (enum attn_cell_kind)kind, x, y);
}

void attn_figure_add_legend(struct attn_figure_pen *pen)
{
    const struct attn_figure_layout *frame = &pen->layout;
    const double y = frame->top + frame->height + ENTRY;

    if (attn_figure_has_kinds(pen))
        add_kinds(pen, frame->lies ? ATTN_FIGURE_PAD : frame->right + aside(pen),
                  frame->lies ? y : frame->top);
    else if (frame->lies) {
        attn_figure_add_lying_ramp(pen, ATTN_FIGURE_PAD, y, LYING_WIDTH);
        attn_figure_add_cell_kinds(pen, ATTN_FIGURE_PAD + LYING_WIDTH + ENTRY, y + ENTRY);
    } else
        add_standing(pen, frame->right + aside(pen), frame->top);
}
