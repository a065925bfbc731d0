/* figure_svg.c - see figure_internal.h. All runs of cells of one color form one path. Numbers have
 * at most two decimals; they are not written by printf, whose decimal point depends on the
 * locale. */
#include "figures/figure_internal.h"

#include "base/memory.h"
#include "formats/quoting.h"
#include "pictures/png_file.h"
#include "tables/text_table.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* --- Numbers and text ---------------------------------------------------------------------- */

/* Appends NUMBER: "3", "0.5", "-12.25". */
static void append_number(struct attn_buffer *out, double number)
{
    const int64_t hundredths = llround(number * 100);
    const uint64_t size = hundredths < 0 ? -(uint64_t)hundredths : (uint64_t)hundredths;
    const char digits[] = {'.', (char)('0' + size / 10 % 10), (char)('0' + size % 10)};

    if (hundredths < 0)
        attn_buffer_append_char(out, '-');
    attn_buffer_append_format(out, "%" PRIu64, size / 100);
    if (size % 100 > 0)
        attn_buffer_append(out, digits, size % 10 > 0 ? 3 : 2);
}

/* Appends MARKUP, replacing each '@' by the next of NUMBERS. */
static void append(struct attn_buffer *out, const char *markup, const double *numbers)
{
    for (size_t n; *markup; markup += n) {
        n = strcspn(markup, "@");
        attn_buffer_append(out, markup, n);
        if (markup[n] == '@') {
            append_number(out, *numbers++);
            n++;
        }
    }
}

static void append_color(struct attn_buffer *out, const char *name, uint32_t color)
{
    attn_buffer_append_format(out, " %s=\"#%06x\"", name, (unsigned)color);
}

/* --- Cells as paths ------------------------------------------------------------------------ */

static enum attn_status append_paths(struct attn_buffer *out, const struct attn_shapes *figure,
                                     const struct attn_shape_cluster *cluster,
                                     struct attn_error *err)
{
    struct attn_shape_run *runs;
    size_t n;

    ATTN_TRY(attn_shapes_runs(figure, cluster, &runs, &n, err));
    attn_buffer_append_string(out, "<g shape-rendering=\"crispEdges\">\n");
    for (size_t i = 0; i < n; i++) {
        const struct attn_shape_run *run = &runs[i];
        const double opacity = figure->opacities[run->color] / 255.0;

        if (i == 0 || run->color != runs[i - 1].color) {
            attn_buffer_append_string(out, "<path");
            append_color(out, "fill", figure->palette[run->color]);
            if (cluster->is_veil)
                append(out, " fill-opacity=\"@\"", &opacity);
            attn_buffer_append_string(out, " d=\"");
        }
        append(out, "M@ @h@v@h@z",
               (double[]){run->x, run->y, run->width, run->height, -run->width});
        if (i + 1 == n || run->color != runs[i + 1].color)
            attn_buffer_append_string(out, "\"/>\n");
    }
    attn_buffer_append_string(out, "</g>\n");
    attn_free(runs);
    return ATTN_OK;
}

/* --- Cells as an image --------------------------------------------------------------------- */

struct svg_image {
    const struct attn_shapes *figure;
    const struct attn_shape_cluster *cluster;
    uint32_t *row; /* [cluster->width] buffer of one row */
    size_t scale;  /* pixels per cell */
};

/* Fills one row of pixels (attn_png_row_fn). */
static void fill_row(void *user, size_t y, unsigned char *rgb)
{
    const struct svg_image *image = user;

    if (y % image->scale == 0)
        attn_shapes_cluster_row(image->figure, image->cluster, y / image->scale, image->row);
    for (size_t x = 0; x < (size_t)image->cluster->width; x++)
        for (size_t i = 0; i < image->scale; i++)
            rgb = attn_png_put_color(rgb, image->row[x]);
}

static enum attn_status append_image(struct attn_buffer *out, const struct attn_shapes *figure,
                                     const struct attn_shape_cluster *cluster,
                                     struct attn_error *err)
{
    struct svg_image image = {figure, cluster, NULL, cluster->scale};
    const struct attn_png_image png = {.width = (size_t)cluster->width * cluster->scale,
                                       .height = (size_t)cluster->height * cluster->scale,
                                       .fill_row = fill_row,
                                       .user = &image};
    enum attn_status status;

    ATTN_TRY(ATTN_ALLOC(image.row, (size_t)cluster->width, err));
    append(out,
           "<image x=\"@\" y=\"@\" width=\"@\" height=\"@\" preserveAspectRatio=\"none\" "
           "image-rendering=\"optimizeSpeed\" style=\"image-rendering:pixelated\" "
           "xlink:href=\"data:image/png;base64,",
           (double[]){cluster->x, cluster->y, cluster->width, cluster->height});
    status = attn_png_append_base64(&png, out, err);
    attn_buffer_append_string(out, "\"/>\n");
    attn_free(image.row);
    return status;
}

/* --- Pictures ------------------------------------------------------------------------------ */

struct pixel_rows {
    const char *pixels;
    size_t size; /* bytes of a row */
};

/* Copies one row of pixels (attn_png_row_fn). */
static void copy_row(void *user, size_t y, unsigned char *rgb)
{
    const struct pixel_rows *rows = user;

    memcpy(rgb, rows->pixels + y * rows->size, rows->size);
}

/* Appends the id of picture NUMBER: "picture", "picture-1", ... */
static void append_id(struct attn_buffer *out, size_t number)
{
    attn_buffer_append_format(out, number == 0 ? "picture" : "picture-%zu", number);
}

/* Defines the pictures as symbols, so that their pixels are written once and referenced where they
 * are drawn. */
static enum attn_status append_pictures(struct attn_buffer *out, const struct attn_shapes *figure,
                                        struct attn_error *err)
{
    size_t n;
    const struct attn_shape_pixels *pictures = attn_shapes_pictures(figure, &n);

    for (size_t i = 0; i < n; i++) {
        struct pixel_rows rows = {figure->pixels.data + pictures[i].first, pictures[i].width * 3};
        const struct attn_png_image png = {.width = pictures[i].width,
                                           .height = pictures[i].height,
                                           .fill_row = copy_row,
                                           .user = &rows};

        attn_buffer_append_string(out, "<defs><symbol id=\"");
        append_id(out, i);
        attn_buffer_append_string(out, "\" viewBox=\"0 0 1 1\" preserveAspectRatio=\"none\">"
                                       "<image width=\"1\" height=\"1\" "
                                       "preserveAspectRatio=\"none\" "
                                       "xlink:href=\"data:image/png;base64,");
        ATTN_TRY(attn_png_append_base64(&png, out, err));
        attn_buffer_append_string(out, "\"/></symbol></defs>\n");
    }
    return ATTN_OK;
}

/* --- Boxes, lines, dots -------------------------------------------------------------------- */

static void append_box(struct attn_buffer *out, const struct attn_shape_box *box)
{
    append(out, "<rect x=\"@\" y=\"@\" width=\"@\" height=\"@\"",
           (double[]){box->x, box->y, box->width, box->height});
    append_color(out, "fill", box->color);
    attn_buffer_append_string(out, "/>\n");
}

/* Writes what the element stands for, so that pages find it. */
static void append_mark(struct attn_buffer *out, const struct attn_shapes *figure,
                        struct attn_mark mark)
{
    const char *bytes = figure->text.data + mark.first;
    const bool has_names = mark.n > 5 && memcmp(bytes, "data-", 5) == 0;

    if (mark.n > 0)
        attn_buffer_append_format(out, has_names ? " %.*s" : " data-i=\"%.*s\"", (int)mark.n,
                                  bytes);
}

static void append_stroke(struct attn_buffer *out, const struct attn_shape_line *line)
{
    append(out, "M@ @", (double[]){line->x, line->y});
    if (line->y == line->y2)
        append(out, "H@", &line->x2);
    else if (line->x == line->x2)
        append(out, "V@", &line->y2);
    else
        append(out, "L@ @", (double[]){line->x2, line->y2});
}

/* Appends the leading bands of SHAPES [n] that look alike as one path. Returns their number. */
static size_t append_bands(struct attn_buffer *out, const struct attn_shapes *figure,
                           const struct attn_shape *shapes, size_t n)
{
    const struct attn_shape_band *first = &shapes[0].band;
    size_t i = 0;

    attn_buffer_append_string(out, "<path");
    append_mark(out, figure, shapes[0].mark);
    append_color(out, "fill", first->color);
    append(out, " fill-opacity=\"@\" d=\"", &first->opacity);
    for (; i < n && shapes[i].kind == ATTN_SHAPE_BAND && shapes[i].band.color == first->color &&
           (i == 0 || (shapes[i].mark.n == 0 && shapes[0].mark.n == 0));
         i++) {
        const struct attn_shape_band *band = &shapes[i].band;

        append(out, "M@ @L@ @L@ @L@ @z",
               (double[]){band->x, band->top, band->x2, band->top2, band->x2, band->bottom2,
                          band->x, band->bottom});
    }
    attn_buffer_append_string(out, "\"/>\n");
    return i;
}

static void append_curve(struct attn_buffer *out, const struct attn_shapes *figure,
                         const struct attn_shape *shape)
{
    const struct attn_shape_curve *curve = &shape->curve;

    attn_buffer_append_string(out, "<path fill=\"none\"");
    append_mark(out, figure, shape->mark);
    append_color(out, "stroke", curve->color);
    append(out, " stroke-width=\"@\"", &curve->width);
    append(out, " d=\"M@ @C@ @ @ @ @ @\"/>\n",
           (double[]){curve->x, curve->y, curve->control_x, curve->control_y, curve->control_x2,
                      curve->control_y2, curve->x2, curve->y2});
}

static void append_dot(struct attn_buffer *out, const struct attn_shapes *figure,
                       const struct attn_shape *shape)
{
    const struct attn_shape_dot *dot = &shape->dot;

    append(out, "<circle cx=\"@\" cy=\"@\" r=\"@\"", (double[]){dot->x, dot->y, dot->radius});
    append_mark(out, figure, shape->mark);
    if (dot->width > 0)
        append(out, " fill=\"none\" stroke-width=\"@\"", &dot->width);
    append_color(out, dot->width > 0 ? "stroke" : "fill", dot->color);
    if (dot->opacity > 0 && dot->opacity < 1)
        append(out, " opacity=\"@\"", &dot->opacity);
    attn_buffer_append_string(out, "/>\n");
}

/* Appends the leading lines of SHAPES [n] that look alike as one path. Returns their number. */
static size_t append_lines(struct attn_buffer *out, const struct attn_shapes *figure,
                           const struct attn_shape *shapes, size_t n)
{
    const struct attn_shape_line *first = &shapes[0].line;
    size_t i = 0;

    attn_buffer_append_string(out, "<path fill=\"none\"");
    append_mark(out, figure, shapes[0].mark);
    append_color(out, "stroke", first->color);
    append(out, " stroke-width=\"@\"", &first->width);
    if (first->opacity < 1)
        append(out, " stroke-opacity=\"@\"", &first->opacity);
    attn_buffer_append_string(out, " d=\"");
    for (; i < n && shapes[i].kind == ATTN_SHAPE_LINE; i++) {
        const struct attn_shape_line *line = &shapes[i].line;

        if (line->color != first->color ||
            (i > 0 && (shapes[i].mark.n > 0 || shapes[0].mark.n > 0)) ||
            llround(line->width * 100) != llround(first->width * 100) ||
            llround(line->opacity * 100) != llround(first->opacity * 100))
            break;
        append_stroke(out, line);
    }
    attn_buffer_append_string(out, "\"/>\n");
    return i;
}

/* --- Text ---------------------------------------------------------------------------------- */

/* Whether a browser would drop blanks of TEXT (in Chromium <text> does not inherit xml:space). */
static bool has_blanks(const char *text, size_t n)
{
    bool is_found = n > 0 && (text[0] == ' ' || text[n - 1] == ' ');

    for (size_t i = 1; i < n; i++)
        is_found |= text[i] == ' ' && text[i - 1] == ' ';
    return is_found;
}

static void append_text(struct attn_buffer *out, const struct attn_shapes *figure,
                        const struct attn_shape *shape)
{
    const struct attn_shape_text *text = &shape->text;
    const char *bytes = figure->text.data + text->first;

    append(out,
           text->is_turned ? "<text transform=\"translate(@ @)rotate(-90)\""
                           : "<text x=\"@\" y=\"@\"",
           (double[]){text->x, text->y});
    append_mark(out, figure, shape->mark);
    if (has_blanks(bytes, text->n))
        attn_buffer_append_string(out, " xml:space=\"preserve\"");
    if (attn_text_is_right_to_left(bytes, text->n))
        attn_buffer_append_string(out, " unicode-bidi=\"isolate\"");
    attn_buffer_append_char(out, '>');
    attn_markup_append(out, bytes, text->n, false);
    attn_buffer_append_string(out, "</text>\n");
}

/* Appends the leading texts of SHAPES [n] that look alike as one group. Returns their number. */
static size_t append_texts(struct attn_buffer *out, const struct attn_shapes *figure,
                           const struct attn_shape *shapes, size_t n)
{
    static const char *const anchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
    const struct attn_shape_text *first = &shapes[0].text;
    size_t i = 0;

    append(out, "<g font-size=\"@\"", &first->size);
    append_color(out, "fill", first->color);
    attn_buffer_append_string(out, anchors[first->anchor]);
    attn_buffer_append_string(out, first->is_bold ? " font-weight=\"bold\">\n" : ">\n");
    for (; i < n && shapes[i].kind == ATTN_SHAPE_TEXT; i++) {
        const struct attn_shape_text *text = &shapes[i].text;

        if (text->color != first->color || text->anchor != first->anchor ||
            text->is_bold != first->is_bold ||
            llround(text->size * 100) != llround(first->size * 100))
            break;
        append_text(out, figure, &shapes[i]);
    }
    attn_buffer_append_string(out, "</g>\n");
    return i;
}

/* --- The document -------------------------------------------------------------------------- */

/* Appends the <svg> element, the notes as metadata, and the background. */
static void append_head(struct attn_buffer *out, const struct attn_shapes *figure)
{
    const double points = figure->points > 0 ? figure->points : ATTN_SHAPES_POINTS;
    size_t n;
    const char *title = attn_shapes_note(figure, "Title", &n);

    append(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" "
        "width=\"@pt\" height=\"@pt\" viewBox=\"0 0 @ @\" role=\"img\" xml:space=\"preserve\" "
        "font-family=\"",
        (double[]){figure->width * points, figure->height * points, figure->width, figure->height});
    attn_buffer_append_format(out, "%s\">\n", attn_shapes_families(figure));
    if (title) {
        attn_buffer_append_string(out, "<title>");
        attn_markup_append(out, title, n, false);
        attn_buffer_append_string(out, "</title>\n");
    }
    attn_buffer_append_string(out, "<desc>");
    for (size_t i = 0; i < figure->n_note; i++) {
        const struct attn_shape_note *note = &figure->notes[i];

        if (strcmp(note->name, "Title") == 0)
            continue;
        attn_buffer_append_format(out, "%s: ", note->name);
        attn_markup_append(out, figure->text.data + note->first, note->n, false);
        attn_buffer_append_char(out, '\n');
    }
    attn_buffer_append_string(out, "</desc>\n");
    append_box(out, &(struct attn_shape_box){0, 0, figure->width, figure->height, figure->paper});
}

/* Appends the leading shapes of SHAPES [n] that form one element. *N_WRITTEN is their number. */
static enum attn_status append_shapes(struct attn_buffer *out, const struct attn_shapes *figure,
                                      const struct attn_shape *shapes, size_t n, size_t *n_written,
                                      struct attn_error *err)
{
    const struct attn_shape_picture *picture = &shapes[0].picture;
    struct attn_shape_cluster cluster;

    *n_written = 1;
    switch (shapes[0].kind) {
    case ATTN_SHAPE_CELLS:
        cluster = attn_shapes_cluster_of(shapes, n);
        *n_written = cluster.n;
        return cluster.is_image ? append_image(out, figure, &cluster, err)
                                : append_paths(out, figure, &cluster, err);
    case ATTN_SHAPE_BOX:
        append_box(out, &shapes[0].box);
        break;
    case ATTN_SHAPE_GROUP:
        attn_buffer_append_string(out, shapes[0].mark.n > 0 ? "<g" : "</g");
        attn_buffer_append(out, figure->text.data + shapes[0].mark.first, shapes[0].mark.n);
        attn_buffer_append_string(out, ">\n");
        break;
    case ATTN_SHAPE_DOT:
        append_dot(out, figure, &shapes[0]);
        break;
    case ATTN_SHAPE_CURVE:
        append_curve(out, figure, &shapes[0]);
        break;
    case ATTN_SHAPE_BAND:
        *n_written = append_bands(out, figure, shapes, n);
        break;
    case ATTN_SHAPE_LINE:
        *n_written = append_lines(out, figure, shapes, n);
        break;
    case ATTN_SHAPE_TEXT:
        *n_written = append_texts(out, figure, shapes, n);
        break;
    case ATTN_SHAPE_PICTURE:
        attn_buffer_append_string(out, "<use xlink:href=\"#");
        append_id(out, picture->number);
        append(out, "\" x=\"@\" y=\"@\" width=\"@\" height=\"@\"/>\n",
               (double[]){picture->x, picture->y, picture->width, picture->height});
    }
    return ATTN_OK;
}

enum attn_status attn_figure_svg_write(const struct attn_shapes *figure, struct attn_sink *sink,
                                       size_t *n_unknown, struct attn_error *err)
{
    struct attn_buffer out = {0};
    size_t n, n_written;
    const struct attn_shape *shapes = attn_shapes_list(figure, &n);
    enum attn_status status;

    *n_unknown = 0; /* the viewer draws text, with its own fonts */
    append_head(&out, figure);
    status = append_pictures(&out, figure, err);
    for (size_t i = 0; i < n && status == ATTN_OK; i += n_written) {
        status = append_shapes(&out, figure, shapes + i, n - i, &n_written, err);
        attn_sink_write(sink, out.data, out.size);
        out.size = 0;
    }
    attn_buffer_append_string(&out, "</svg>\n");
    attn_sink_write(sink, out.data, out.size);
    ATTN_THEN(status, attn_buffer_check(&out, err));
    attn_buffer_release(&out);
    return status;
}
