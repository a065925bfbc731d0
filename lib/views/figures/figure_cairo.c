/*
 * figure_cairo.c - see figure_internal.h. The only file that uses cairo and pango.
 *
 * glib and fontconfig abort the process when an allocation fails. So we first check that more
 * address space is free than they need. Drawing in a child process would be safer, but a library
 * must not fork, because its host may have threads.
 *
 * In a PNG, cells are written to the pixels directly, exact and without smoothing; cairo draws
 * everything else. In a PDF, cells are paths, one per color, or an image if there are many.
 */
#include "figures/figure_internal.h"

#include "base/buffer.h"
#include "base/memory.h"
#include "base/os/dynamic.h"
#include "base/status_internal.h"
#include "figures/cairo_functions.h"
#include "pictures/png_file.h"

#include <math.h>
#include <string.h>

static const char library_name[] = "libpangocairo-1.0.so.0"; /* links cairo, pango and GObject */
static const double pi = 3.14159265358979323846;

/* Pointers to the functions of the loaded libraries. */
struct cairo {
    void *library;
    ATTN_CAIRO_MAP(ATTN_DYNAMIC_POINTER)
};

struct drawing {
    const struct cairo *cairo;
    const struct attn_shapes *shapes;
    const char *name; /* name of the output in messages */
    cairo_surface_t *surface;
    cairo_t *cr;
    PangoLayout *layout;
    PangoFontDescription *font;
    /* the picture that was drawn last, and its number; NULL before, and always in a PNG */
    cairo_surface_t *picture;
    size_t number;
    bool is_pixels;   /* the surface is an image */
    double unit;      /* units of the surface (pixels or points) per unit of the shapes */
    size_t n_unknown; /* number of texts with characters that no font has */
};

/* --- The library --------------------------------------------------------------------------- */

/* Address space needed beside the pixels. Measured with `ulimit -v`: 200 MB suffice; but on a busy
 * machine 256 MB failed once, as each thread that loads fonts has a stack and an arena. Most of it
 * stays unused. */
enum { ROOM_MIB = 384 };

static enum attn_status check_room(const char *name, struct attn_error *err)
{
    if (attn_has_address_space((size_t)ROOM_MIB << 20))
        return ATTN_OK;
    attn_error_set(err, ATTN_NO_MEMORY, "'%s' needs %d MiB of address space, which is not there",
                   attn_quote_string(name).text, ROOM_MIB);
    attn_error_hint(err, "`svg` needs less; 'ulimit -v' is the limit of a process");
    return ATTN_NO_MEMORY;
}

static enum attn_status open_cairo(struct cairo *cairo, const char *name, struct attn_error *err)
{
    static const char *const functions[] = {ATTN_CAIRO_MAP(ATTN_DYNAMIC_NAME) NULL};
    const char *failure;

    ATTN_TRY(check_room(name, err));
    /* RTLD_NODELETE: GObject cannot be unloaded. */
    failure =
        attn_dynamic_open(library_name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE, functions, cairo);
    if (!failure)
        return ATTN_OK;
    attn_error_set(err, ATTN_IO, "'%s' needs %s, %s", attn_quote_string(name).text, library_name,
                   failure);
    attn_error_hint(err, "apt-get install libpangocairo-1.0-0, or `svg`, which needs nothing");
    return attn_error_at(ATTN_IO, ATTN_STAGE_OUTPUT, err);
}

enum attn_status attn_figure_cairo_check(const char *name, struct attn_error *err)
{
    struct cairo cairo;

    ATTN_TRY(open_cairo(&cairo, name, err));
    dlclose(cairo.library);
    return ATTN_OK;
}

static double points_a_unit(const struct attn_shapes *shapes)
{
    return shapes->points > 0 ? shapes->points : ATTN_SHAPES_POINTS;
}

/* --- Cells --------------------------------------------------------------------------------- */

static void set_color(const struct drawing *drawing, uint32_t color, double opacity)
{
    drawing->cairo->cairo_set_source_rgba(drawing->cr, (double)(color >> 16 & 255) / 255,
                                          (double)(color >> 8 & 255) / 255,
                                          (double)(color & 255) / 255, opacity);
}

/* Converts the interval FROM..TO in units to pixels [*begin, *end), at SCALE pixels per unit. A
 * pixel belongs to the interval that contains its middle. */
static void find_pixels(double from, double to, double scale, size_t *begin, size_t *end)
{
    *begin = (size_t)fmax(0, ceil(from * scale - 0.5));
    *end = (size_t)fmax(0, ceil(to * scale - 0.5));
}

/* Blends COLOR, with its opacity in the upper 8 bits, over GROUND. */
static uint32_t blend(uint32_t ground, uint32_t color)
{
    const uint32_t opacity = color >> 24;
    uint32_t blended = 0;

    for (int shift = 16; shift >= 0; shift -= 8) {
        const uint32_t below = ground >> shift & 255, above = color >> shift & 255;

        blended = blended << 8 | (below * (255 - opacity) + above * opacity + 127) / 255;
    }
    return blended;
}

/* Writes the cells of the cluster, moved by AT, to the pixels of SURFACE, at SCALE pixels per
 * unit. */
static enum attn_status put_pixels(const struct drawing *drawing, cairo_surface_t *surface,
                                   const struct attn_shape_cluster *cluster, const double at[2],
                                   double scale, struct attn_error *err)
{
    const struct cairo *cairo = drawing->cairo;
    uint32_t *row;
    size_t stride, left, right, top, bottom, last = SIZE_MAX;
    unsigned char *pixels;

    ATTN_TRY(ATTN_ALLOC(row, (size_t)cluster->width, err));
    cairo->cairo_surface_flush(surface);
    pixels = cairo->cairo_image_surface_get_data(surface);
    stride = (size_t)cairo->cairo_image_surface_get_stride(surface);
    find_pixels(at[0], at[0] + cluster->width, scale, &left, &right);
    find_pixels(at[1], at[1] + cluster->height, scale, &top, &bottom);
    for (size_t y = top; y < bottom; y++) {
        const size_t unit = (size_t)(((double)y + 0.5) / scale - at[1]);
        uint32_t *to = (uint32_t *)(void *)(pixels + y * stride);

        if (unit != last)
            attn_shapes_cluster_row(drawing->shapes, cluster, last = unit, row);
        for (size_t x = left; x < right; x++) {
            const uint32_t color = row[(size_t)(((double)x + 0.5) / scale - at[0])];

            to[x] = cluster->is_veil ? blend(to[x], color) : color;
        }
    }
    cairo->cairo_surface_mark_dirty(surface);
    attn_free(row);
    return ATTN_OK;
}

static enum attn_status draw_paths(const struct drawing *drawing,
                                   const struct attn_shape_cluster *cluster, struct attn_error *err)
{
    const struct cairo *cairo = drawing->cairo;
    struct attn_shape_run *runs;
    size_t n;

    ATTN_TRY(attn_shapes_runs(drawing->shapes, cluster, &runs, &n, err));
    for (size_t i = 0; i < n; i++) {
        cairo->cairo_rectangle(drawing->cr, runs[i].x, runs[i].y, runs[i].width, runs[i].height);
        if (i + 1 < n && runs[i].color == runs[i + 1].color)
            continue;
        set_color(drawing, drawing->shapes->palette[runs[i].color],
                  cluster->is_veil ? drawing->shapes->opacities[runs[i].color] / 255.0 : 1);
        cairo->cairo_fill(drawing->cr);
    }
    attn_free(runs);
    return ATTN_OK;
}

static enum attn_status draw_image(const struct drawing *drawing,
                                   const struct attn_shape_cluster *cluster, struct attn_error *err)
{
    static const double origin[2] = {0, 0};
    const struct cairo *cairo = drawing->cairo;
    const size_t scale = cluster->scale;
    cairo_surface_t *image =
        cairo->cairo_image_surface_create(ATTN_CAIRO_FORMAT_RGB24, (int)cluster->width * (int)scale,
                                          (int)cluster->height * (int)scale);
    enum attn_status status = cairo->cairo_surface_status(image) == 0
                                  ? put_pixels(drawing, image, cluster, origin, (double)scale, err)
                                  : attn_error_no_memory(err);

    if (status == ATTN_OK) {
        cairo->cairo_save(drawing->cr);
        cairo->cairo_translate(drawing->cr, cluster->x, cluster->y);
        cairo->cairo_scale(drawing->cr, 1 / (double)scale, 1 / (double)scale);
        cairo->cairo_set_source_surface(drawing->cr, image, 0, 0);
        cairo->cairo_pattern_set_filter(cairo->cairo_get_source(drawing->cr),
                                        ATTN_CAIRO_FILTER_NEAREST);
        cairo->cairo_paint(drawing->cr);
        cairo->cairo_restore(drawing->cr);
    }
    cairo->cairo_surface_destroy(image);
    return status;
}

/* --- Pictures ------------------------------------------------------------------------------ */

/* Returns the pixels of PICTURE. */
static const struct attn_shape_pixels *pixels_of(const struct attn_shapes *shapes,
                                                 const struct attn_shape_picture *picture)
{
    size_t n;

    return &attn_shapes_pictures(shapes, &n)[picture->number];
}

/* Scales FROM to HEIGHT rows of WIDTH pixels and writes them to PIXELS, rows of STRIDE bytes. */
static void fill_pixels(const struct attn_shapes *shapes, const struct attn_shape_pixels *from,
                        unsigned char *pixels, size_t stride, size_t height, size_t width)
{
    for (size_t y = 0; y < height; y++)
        attn_shapes_picture_row(shapes, from, height, width, y,
                                (uint32_t *)(void *)(pixels + y * stride));
}

/* Draws a picture. A PNG gets it scaled to the pixels of its place; a PDF stores it at its own
 * resolution, once if no other is drawn in between. */
static enum attn_status draw_picture(struct drawing *drawing,
                                     const struct attn_shape_picture *picture,
                                     struct attn_error *err)
{
    const struct cairo *cairo = drawing->cairo;
    const struct attn_shapes *shapes = drawing->shapes;
    const struct attn_shape_pixels *from = pixels_of(shapes, picture);
    const size_t height = from->height, width = from->width;

    if (drawing->picture && drawing->number != picture->number) {
        cairo->cairo_surface_destroy(drawing->picture);
        drawing->picture = NULL;
    }
    if (!drawing->picture) {
        drawing->number = picture->number;
        drawing->picture =
            cairo->cairo_image_surface_create(ATTN_CAIRO_FORMAT_RGB24, (int)width, (int)height);
        if (cairo->cairo_surface_status(drawing->picture) != 0)
            return attn_error_no_memory(err);
        cairo->cairo_surface_flush(drawing->picture);
        fill_pixels(shapes, from, cairo->cairo_image_surface_get_data(drawing->picture),
                    (size_t)cairo->cairo_image_surface_get_stride(drawing->picture), height, width);
        cairo->cairo_surface_mark_dirty(drawing->picture);
    }
    cairo->cairo_save(drawing->cr);
    cairo->cairo_translate(drawing->cr, picture->x, picture->y);
    cairo->cairo_scale(drawing->cr, picture->width / (double)width,
                       picture->height / (double)height);
    cairo->cairo_set_source_surface(drawing->cr, drawing->picture, 0, 0);
    cairo->cairo_paint(drawing->cr);
    cairo->cairo_restore(drawing->cr);
    return ATTN_OK;
}

static void put_picture(const struct drawing *drawing, const struct attn_shape_picture *picture)
{
    const struct cairo *cairo = drawing->cairo;
    size_t stride, left, right, top, bottom;
    unsigned char *pixels;

    cairo->cairo_surface_flush(drawing->surface);
    pixels = cairo->cairo_image_surface_get_data(drawing->surface);
    stride = (size_t)cairo->cairo_image_surface_get_stride(drawing->surface);
    find_pixels(picture->x, picture->x + picture->width, drawing->unit, &left, &right);
    find_pixels(picture->y, picture->y + picture->height, drawing->unit, &top, &bottom);
    fill_pixels(drawing->shapes, pixels_of(drawing->shapes, picture),
                pixels + top * stride + left * sizeof(uint32_t), stride, bottom - top,
                right - left);
    cairo->cairo_surface_mark_dirty(drawing->surface);
}

/* --- Other shapes -------------------------------------------------------------------------- */

static void draw_box(const struct drawing *drawing, const struct attn_shape_box *box)
{
    set_color(drawing, box->color, 1);
    drawing->cairo->cairo_rectangle(drawing->cr, box->x, box->y, box->width, box->height);
    drawing->cairo->cairo_fill(drawing->cr);
}

static void draw_text(struct drawing *drawing, const struct attn_shape_text *text)
{
    static const double shares[] = {[ATTN_ANCHOR_MIDDLE] = 0.5, [ATTN_ANCHOR_END] = 1};
    const struct cairo *cairo = drawing->cairo;
    int width, height;

    cairo->pango_font_description_set_absolute_size(drawing->font, text->size * ATTN_PANGO_SCALE);
    cairo->pango_font_description_set_weight(drawing->font,
                                             text->is_bold ? ATTN_PANGO_WEIGHT_BOLD : 400);
    cairo->pango_layout_set_font_description(drawing->layout, drawing->font);
    cairo->pango_layout_set_text(drawing->layout, drawing->shapes->text.data + text->first,
                                 (int)text->n);
    cairo->pango_layout_get_size(drawing->layout, &width, &height);
    drawing->n_unknown += cairo->pango_layout_get_unknown_glyphs_count(drawing->layout) > 0;
    set_color(drawing, text->color, 1);
    cairo->cairo_save(drawing->cr);
    cairo->cairo_translate(drawing->cr, text->x, text->y);
    if (text->is_turned)
        cairo->cairo_rotate(drawing->cr, -pi / 2);
    cairo->cairo_move_to(drawing->cr, -shares[text->anchor] * width / ATTN_PANGO_SCALE,
                         -(double)cairo->pango_layout_get_baseline(drawing->layout) /
                             ATTN_PANGO_SCALE);
    cairo->pango_cairo_show_layout(drawing->cr, drawing->layout);
    cairo->cairo_restore(drawing->cr);
}

/* Draws the bands of equal color at the beginning of LIST [n] as one area. Returns their number. */
static size_t draw_bands(const struct drawing *drawing, const struct attn_shape *list, size_t n)
{
    const struct cairo *cairo = drawing->cairo;
    const struct attn_shape_band *first = &list[0].band;
    size_t i = 0;

    for (; i < n && list[i].kind == ATTN_SHAPE_BAND && list[i].band.color == first->color; i++) {
        const struct attn_shape_band *band = &list[i].band;

        cairo->cairo_move_to(drawing->cr, band->x, band->top);
        cairo->cairo_line_to(drawing->cr, band->x2, band->top2);
        cairo->cairo_line_to(drawing->cr, band->x2, band->bottom2);
        cairo->cairo_line_to(drawing->cr, band->x, band->bottom);
    }
    set_color(drawing, first->color, first->opacity);
    cairo->cairo_fill(drawing->cr);
    return i;
}

/* Draws a line. In a PNG, horizontal and vertical lines are aligned to whole pixels, as cells
 * are. */
static void draw_line(const struct drawing *drawing, const struct attn_shape_line *line)
{
    const struct cairo *cairo = drawing->cairo;
    const double unit = drawing->unit;
    double x = line->x, y = line->y, x2 = line->x2, y2 = line->y2, width = line->width;

    if (drawing->is_pixels && (x == x2 || y == y2)) {
        const double pixels = fmax(1, round(width * unit));
        double *from = x == x2 ? &x : &y, *to = x == x2 ? &x2 : &y2;

        *from = *to = (ceil((*from - width / 2) * unit - 0.5) + pixels / 2) / unit;
        width = pixels / unit;
    }
    set_color(drawing, line->color, line->opacity);
    cairo->cairo_set_line_width(drawing->cr, width);
    cairo->cairo_move_to(drawing->cr, x, y);
    cairo->cairo_line_to(drawing->cr, x2, y2);
    cairo->cairo_stroke(drawing->cr);
}

static void draw_curve(const struct drawing *drawing, const struct attn_shape_curve *curve)
{
    const struct cairo *cairo = drawing->cairo;

    set_color(drawing, curve->color, 1);
    cairo->cairo_set_line_width(drawing->cr, curve->width);
    cairo->cairo_move_to(drawing->cr, curve->x, curve->y);
    cairo->cairo_curve_to(drawing->cr, curve->control_x, curve->control_y, curve->control_x2,
                          curve->control_y2, curve->x2, curve->y2);
    cairo->cairo_stroke(drawing->cr);
}

static void draw_dot(const struct drawing *drawing, const struct attn_shape_dot *dot)
{
    const struct cairo *cairo = drawing->cairo;

    set_color(drawing, dot->color, dot->opacity > 0 ? dot->opacity : 1);
    cairo->cairo_move_to(drawing->cr, dot->x + dot->radius, dot->y);
    cairo->cairo_arc(drawing->cr, dot->x, dot->y, dot->radius, 0, 2 * pi);
    cairo->cairo_set_line_width(drawing->cr, dot->width);
    (dot->width > 0 ? cairo->cairo_stroke : cairo->cairo_fill)(drawing->cr);
}

static enum attn_status draw_cells(const struct drawing *drawing,
                                   const struct attn_shape_cluster *cluster, struct attn_error *err)
{
    enum { SMALL = 12, MOST_UNITS = 1 << 24 }; /* larger cells leave no visible seams */
    const struct attn_shape_cells *first = &cluster->shapes[0].cells;
    const double at[2] = {cluster->x, cluster->y};
    struct attn_shape_cluster below = *cluster;

    if (drawing->is_pixels)
        return put_pixels(drawing, drawing->surface, cluster, at, drawing->unit, err);
    if (cluster->is_image)
        return draw_image(drawing, cluster, err);
    /* Viewers blend the edges of cells with the background. Drawing the cells also as an image
     * below hides these seams. */
    below.scale = 1;
    if (!cluster->is_veil && fmin(first->width, first->height) < SMALL &&
        cluster->width * cluster->height < MOST_UNITS)
        ATTN_TRY(draw_image(drawing, &below, err));
    return draw_paths(drawing, cluster, err);
}

static enum attn_status draw_shapes(struct drawing *drawing, struct attn_error *err)
{
    const struct attn_shapes *shapes = drawing->shapes;
    /* the last pixel is rounded up */
    const double more = drawing->is_pixels ? ATTN_FIGURE_PARTS : 1;
    struct attn_shape_cluster cluster;
    size_t n;
    const struct attn_shape *list = attn_shapes_list(shapes, &n);

    draw_box(drawing, &(struct attn_shape_box){0, 0, shapes->width + more, shapes->height + more,
                                               shapes->paper});
    for (size_t i = 0; i < n; i++) {
        switch (list[i].kind) {
        case ATTN_SHAPE_CELLS:
            cluster = attn_shapes_cluster_of(list + i, n - i);
            ATTN_TRY(draw_cells(drawing, &cluster, err));
            i += cluster.n - 1;
            break;
        case ATTN_SHAPE_GROUP:
            break;
        case ATTN_SHAPE_BOX:
            draw_box(drawing, &list[i].box);
            break;
        case ATTN_SHAPE_DOT:
            draw_dot(drawing, &list[i].dot);
            break;
        case ATTN_SHAPE_CURVE:
            draw_curve(drawing, &list[i].curve);
            break;
        case ATTN_SHAPE_BAND:
            i += draw_bands(drawing, list + i, n - i) - 1;
            break;
        case ATTN_SHAPE_LINE:
            draw_line(drawing, &list[i].line);
            break;
        case ATTN_SHAPE_TEXT:
            draw_text(drawing, &list[i].text);
            break;
        case ATTN_SHAPE_PICTURE:
            if (drawing->is_pixels)
                put_picture(drawing, &list[i].picture);
            else
                ATTN_TRY(draw_picture(drawing, &list[i].picture, err));
        }
    }
    return ATTN_OK;
}

/* Turns off hinting of glyph widths: layouts assume the widths of the font, and widths rounded to
 * pixels are up to a twentieth larger. */
static void set_widths(const struct drawing *drawing)
{
    const struct cairo *cairo = drawing->cairo;
    PangoContext *context = cairo->pango_layout_get_context(drawing->layout);
    cairo_font_options_t *options = cairo->cairo_font_options_create();

    cairo->cairo_font_options_set_hint_metrics(options, ATTN_CAIRO_HINT_METRICS_OFF);
    cairo->pango_cairo_context_set_font_options(context, options);
    cairo->pango_context_set_round_glyph_positions(context, 0);
    cairo->pango_layout_context_changed(drawing->layout);
    cairo->cairo_font_options_destroy(options);
}

/* Draws all shapes on drawing->surface. */
static enum attn_status draw(struct drawing *drawing, struct attn_error *err)
{
    const struct cairo *cairo = drawing->cairo;
    enum attn_status status;

    if (cairo->cairo_surface_status(drawing->surface) != 0)
        return attn_error_no_memory(err);
    if (check_room(drawing->name, err) != ATTN_OK) /* again, as the pixels are allocated now */
        return ATTN_NO_MEMORY;
    drawing->cr = cairo->cairo_create(drawing->surface);
    cairo->cairo_scale(drawing->cr, drawing->unit, drawing->unit);
    drawing->layout = cairo->pango_cairo_create_layout(drawing->cr);
    set_widths(drawing);
    cairo->pango_layout_set_auto_dir(drawing->layout, 0); /* left to right, as in SVG */
    drawing->font = cairo->pango_font_description_new();
    cairo->pango_font_description_set_family(drawing->font, attn_shapes_families(drawing->shapes));
    status = draw_shapes(drawing, err);
    if (status == ATTN_OK && cairo->cairo_status(drawing->cr) != 0)
        status = attn_error_no_memory(err);
    cairo->pango_font_description_free(drawing->font);
    cairo->g_object_unref(drawing->layout);
    cairo->cairo_destroy(drawing->cr);
    return status;
}

/* --- PNG ----------------------------------------------------------------------------------- */

struct pixels {
    const unsigned char *data; /* pixels of the surface: 0x00RRGGBB in native byte order */
    size_t stride, width;
};

/* Converts row Y to RGB (attn_png_row_fn). */
static void fill_row(void *user, size_t y, unsigned char *rgb)
{
    const struct pixels *pixels = user;
    const uint32_t *row = (const void *)(pixels->data + y * pixels->stride);

    for (size_t x = 0; x < pixels->width; x++)
        rgb = attn_png_put_color(rgb, row[x]);
}

static enum attn_status write_png(struct drawing *drawing, struct attn_sink *sink,
                                  struct attn_error *err)
{
    const struct cairo *cairo = drawing->cairo;
    const struct attn_shapes *shapes = drawing->shapes;
    struct attn_png_text texts[ATTN_SHAPES_NOTES];
    struct pixels pixels;
    struct attn_png_image image = {.width = (size_t)ceil(shapes->width * drawing->unit - 1e-6),
                                   .height = (size_t)ceil(shapes->height * drawing->unit - 1e-6),
                                   .density = drawing->unit / points_a_unit(shapes),
                                   .fill_row = fill_row,
                                   .user = &pixels,
                                   .texts = texts,
                                   .n_text = shapes->n_note};

    drawing->surface = cairo->cairo_image_surface_create(ATTN_CAIRO_FORMAT_RGB24, (int)image.width,
                                                         (int)image.height);
    ATTN_TRY(draw(drawing, err));
    cairo->cairo_surface_flush(drawing->surface);
    pixels.data = cairo->cairo_image_surface_get_data(drawing->surface);
    pixels.stride = (size_t)cairo->cairo_image_surface_get_stride(drawing->surface);
    pixels.width = image.width;
    for (size_t i = 0; i < shapes->n_note; i++)
        texts[i] = (struct attn_png_text){
            shapes->notes[i].name, shapes->text.data + shapes->notes[i].first, shapes->notes[i].n};
    return attn_png_write(&image, sink, err);
}

/* --- PDF ----------------------------------------------------------------------------------- */

/* Write callback of cairo. The sink records failures, so success is returned. */
static unsigned write_bytes(void *user, const unsigned char *data, unsigned size)
{
    attn_sink_write(user, data, size);
    return 0;
}

/* Writes the notes as metadata. Title and software have entries of their own; all others go into
 * the keywords. */
static enum attn_status set_notes(const struct drawing *drawing, struct attn_error *err)
{
    const struct cairo *cairo = drawing->cairo;
    const struct attn_shapes *shapes = drawing->shapes;
    struct attn_buffer all = {0};
    enum attn_status status;

    for (size_t i = 0; i < shapes->n_note; i++) {
        const struct attn_shape_note *note = &shapes->notes[i];
        const char *bytes = shapes->text.data + note->first;
        const bool is_title = strcmp(note->name, "Title") == 0;
        struct attn_buffer one = {0};

        attn_buffer_append(&one, bytes, note->n);
        if (is_title || strcmp(note->name, "Software") == 0)
            cairo->cairo_pdf_surface_set_metadata(
                drawing->surface, is_title ? ATTN_CAIRO_PDF_TITLE : ATTN_CAIRO_PDF_CREATOR,
                attn_buffer_string(&one) ? one.data : "");
        else
            attn_buffer_append_format(&all, "%s%s: %.*s", all.size > 0 ? "; " : "", note->name,
                                      (int)note->n, bytes);
        all.has_failed |= one.has_failed;
        attn_buffer_release(&one);
    }
    cairo->cairo_pdf_surface_set_metadata(drawing->surface, ATTN_CAIRO_PDF_KEYWORDS,
                                          attn_buffer_string(&all) ? all.data : "");
    cairo->cairo_pdf_surface_set_metadata(drawing->surface, ATTN_CAIRO_PDF_CREATE_DATE, "");
    status = attn_buffer_check(&all, err);
    attn_buffer_release(&all);
    return status;
}

static enum attn_status write_pdf(struct drawing *drawing, struct attn_sink *sink,
                                  struct attn_error *err)
{
    const struct attn_shapes *shapes = drawing->shapes;

    drawing->surface = drawing->cairo->cairo_pdf_surface_create_for_stream(
        write_bytes, sink, shapes->width * drawing->unit, shapes->height * drawing->unit);
    ATTN_TRY(set_notes(drawing, err));
    ATTN_TRY(draw(drawing, err));
    drawing->cairo->cairo_surface_finish(drawing->surface);
    return drawing->cairo->cairo_surface_status(drawing->surface) == 0 ? ATTN_OK
                                                                       : attn_error_no_memory(err);
}

/* --- Both --------------------------------------------------------------------------------- */

static enum attn_status write_file(const struct attn_shapes *shapes, bool is_pixels,
                                   struct attn_sink *sink, size_t *n_unknown,
                                   struct attn_error *err)
{
    struct cairo cairo;
    struct drawing drawing = {.cairo = &cairo,
                              .shapes = shapes,
                              .name = is_pixels ? "`png`" : "`pdf`",
                              .is_pixels = is_pixels,
                              .unit =
                                  is_pixels ? attn_shapes_pixels(shapes) : points_a_unit(shapes)};
    enum attn_status status;

    ATTN_TRY(open_cairo(&cairo, drawing.name, err));
    status = (is_pixels ? write_png : write_pdf)(&drawing, sink, err);
    *n_unknown = drawing.n_unknown;
    cairo.cairo_surface_destroy(drawing.picture); /* NULL is allowed */
    cairo.cairo_surface_destroy(drawing.surface);
    dlclose(cairo.library);
    return status;
}

enum attn_status attn_figure_png_write(const struct attn_shapes *shapes, struct attn_sink *sink,
                                       size_t *n_unknown, struct attn_error *err)
{
    return write_file(shapes, true, sink, n_unknown, err);
}

enum attn_status attn_figure_pdf_write(const struct attn_shapes *shapes, struct attn_sink *sink,
                                       size_t *n_unknown, struct attn_error *err)
{
    return write_file(shapes, false, sink, n_unknown, err);
}
