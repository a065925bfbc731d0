#include "pictures/shapes.h"

#include "base/memory.h"
#include "base/text/escape.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    MAX_CELLS = 100000,  /* a cluster with more cells is drawn as an image */
    LONGEST_SIDE = 128,  /* as is one that has a matrix with a longer side */
    IMAGE_PIXELS = 1024, /* minimum length of the longer side of an image */
};

/* a run of cells is longer by this part of a cell, to hide seams */
static const double overlap = 0.02;

void attn_shapes_set_palette(struct attn_shapes *shapes, const uint32_t *palette, size_t n)
{
    shapes->n_color = n < ATTN_SHAPES_COLORS ? n : ATTN_SHAPES_COLORS;
    memcpy(shapes->palette, palette, shapes->n_color * sizeof *palette);
}

static void add(struct attn_shapes *shapes, const struct attn_shape *shape)
{
    attn_buffer_append(&shapes->shapes, shape, sizeof *shape);
}

unsigned char *attn_shapes_add_pixels(struct attn_shapes *shapes, size_t height, size_t width)
{
    const struct attn_shape_pixels picture = {height, width, shapes->pixels.size};
    char *room = attn_buffer_reserve(&shapes->pixels, height * width * 3);

    if (!room)
        return NULL;
    shapes->pixels.size += height * width * 3;
    attn_buffer_append(&shapes->pictures, &picture, sizeof picture);
    return (unsigned char *)room;
}

const struct attn_shape_pixels *attn_shapes_pictures(const struct attn_shapes *shapes, size_t *n)
{
    *n = shapes->pictures.size / sizeof(struct attn_shape_pixels);
    return (const void *)shapes->pictures.data;
}

void attn_shapes_add_picture(struct attn_shapes *shapes, struct attn_shape_picture picture)
{
    add(shapes, &(struct attn_shape){.kind = ATTN_SHAPE_PICTURE, .picture = picture});
}

/* Returns the part of pixel I that lies in pixel AT, where N_FROM pixels are as long together as
 * N_TO. */
static double share_of(size_t i, size_t n_from, size_t at, size_t n_to)
{
    const double scale = (double)n_from / (double)n_to;
    const double begin = fmax((double)i, (double)at * scale);
    const double end = fmin((double)i + 1, ((double)at + 1) * scale);

    return fmax(0, end - begin);
}

/* Returns the mean color of the part of PICTURE that is below pixel (Y, X) of a picture of
 * HEIGHT x WIDTH. */
static uint32_t mean_pixel(const struct attn_shapes *shapes,
                           const struct attn_shape_pixels *picture, size_t height, size_t width,
                           size_t y, size_t x)
{
    const unsigned char *rgb = (const unsigned char *)shapes->pixels.data + picture->first;
    const size_t n_row = picture->height, n_col = picture->width;
    double sums[3] = {0}, whole = 0;
    uint32_t color = 0;

    for (size_t r = y * n_row / height; r < n_row; r++) {
        const double down = share_of(r, n_row, y, height);

        if (down == 0)
            break;
        for (size_t c = x * n_col / width; c < n_col; c++) {
            const double share = down * share_of(c, n_col, x, width);

            if (share == 0)
                break;
            for (size_t i = 0; i < 3; i++)
                sums[i] += share * rgb[(r * n_col + c) * 3 + i];
            whole += share;
        }
    }
    for (size_t i = 0; i < 3; i++)
        color = color << 8 | (uint32_t)lround(whole > 0 ? sums[i] / whole : 0);
    return color;
}

void attn_shapes_picture_row(const struct attn_shapes *shapes,
                             const struct attn_shape_pixels *picture, size_t height, size_t width,
                             size_t y, uint32_t *row)
{
    for (size_t x = 0; x < width; x++)
        row[x] = mean_pixel(shapes, picture, height, width, y, x);
}

uint16_t *attn_shapes_add_cells(struct attn_shapes *shapes, const struct attn_shape_cells *cells)
{
    struct attn_shape shape = {.kind = ATTN_SHAPE_CELLS, .cells = *cells};
    const size_t size = cells->n_row * cells->n_col * sizeof(uint16_t);
    char *room = attn_buffer_reserve(&shapes->colors, size);

    if (!room)
        return NULL;
    shape.cells.first = shapes->colors.size / sizeof(uint16_t);
    shapes->colors.size += size;
    add(shapes, &shape);
    return (void *)room;
}

void attn_shapes_set_mark(struct attn_shapes *shapes, const char *format, ...)
{
    char mark[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(mark, sizeof mark, format, arguments);
    va_end(arguments);
    shapes->mark = (struct attn_mark){shapes->text.size, strlen(mark)};
    attn_buffer_append_string(&shapes->text, mark);
}

void attn_shapes_begin_group(struct attn_shapes *shapes, const char *attributes, size_t n)
{
    const struct attn_mark mark = {shapes->text.size, n};

    attn_buffer_append(&shapes->text, attributes, n);
    add(shapes, &(struct attn_shape){.kind = ATTN_SHAPE_GROUP, .mark = mark});
}

void attn_shapes_end_group(struct attn_shapes *shapes)
{
    add(shapes, &(struct attn_shape){.kind = ATTN_SHAPE_GROUP});
}

void attn_shapes_add_box(struct attn_shapes *shapes, struct attn_shape_box box)
{
    add(shapes, &(struct attn_shape){.kind = ATTN_SHAPE_BOX, .box = box});
}

void attn_shapes_add_line(struct attn_shapes *shapes, struct attn_shape_line line)
{
    add(shapes, &(struct attn_shape){.kind = ATTN_SHAPE_LINE, .mark = shapes->mark, .line = line});
}

void attn_shapes_add_curve(struct attn_shapes *shapes, struct attn_shape_curve curve)
{
    add(shapes,
        &(struct attn_shape){.kind = ATTN_SHAPE_CURVE, .mark = shapes->mark, .curve = curve});
}

void attn_shapes_add_dot(struct attn_shapes *shapes, struct attn_shape_dot dot)
{
    add(shapes, &(struct attn_shape){.kind = ATTN_SHAPE_DOT, .mark = shapes->mark, .dot = dot});
}

void attn_shapes_add_band(struct attn_shapes *shapes, struct attn_shape_band band)
{
    add(shapes, &(struct attn_shape){.kind = ATTN_SHAPE_BAND, .mark = shapes->mark, .band = band});
}

/* Appends TEXT [N] with controls and invalid UTF-8 as \xNN, but with backslashes as they are, since
 * people read this, and with HAS_ISOLATES with U+2068 and U+2069. */
static void append_readable(struct attn_buffer *out, const char *text, size_t n, bool has_isolates)
{
    size_t begin = 0, size = 0;

    for (size_t at = 0; at<n; at += size> 0 ? size : 1) {
        const bool is_isolate = has_isolates && n - at > 2 &&
                                memcmp(text + at, "\xe2\x81", 2) == 0 &&
                                (text[at + 2] == '\xa8' || text[at + 2] == '\xa9');

        size = is_isolate ? 3 : text[at] == '\\';
        if (size == 0)
            continue;
        attn_escape_append(out, text + begin, at - begin);
        attn_buffer_append(out, text + at, size);
        begin = at + size;
    }
    attn_escape_append(out, text + begin, n - begin);
}

void attn_shapes_add_text(struct attn_shapes *shapes, const struct attn_shape_text *text,
                          const char *bytes, size_t n)
{
    struct attn_shape shape = {.kind = ATTN_SHAPE_TEXT, .mark = shapes->mark, .text = *text};

    if (n == 0)
        return;
    shape.text.first = shapes->text.size;
    append_readable(&shapes->text, bytes, n, text->has_isolates);
    shape.text.n = shapes->text.size - shape.text.first;
    add(shapes, &shape);
}

void attn_shapes_add_string(struct attn_shapes *shapes, const struct attn_shape_text *text,
                            const char *string)
{
    attn_shapes_add_text(shapes, text, string, strlen(string));
}

void attn_shapes_add_number(struct attn_shapes *shapes, const struct attn_shape_text *text,
                            size_t number)
{
    char digits[24];

    attn_shapes_add_text(shapes, text, digits,
                         (size_t)snprintf(digits, sizeof digits, "%zu", number));
}

void attn_shapes_add_note(struct attn_shapes *shapes, const char *name, const char *value, size_t n)
{
    struct attn_shape_note *note = &shapes->notes[shapes->n_note];

    if (n == 0 || shapes->n_note == ATTN_SHAPES_NOTES)
        return;
    note->name = name;
    note->first = shapes->text.size;
    append_readable(&shapes->text, value, n, strcmp(name, "Caption") == 0); /* has a title */
    note->n = shapes->text.size - note->first;
    shapes->n_note++;
}

const char *attn_shapes_note(const struct attn_shapes *shapes, const char *name, size_t *n)
{
    for (size_t i = 0; i < shapes->n_note; i++)
        if (strcmp(shapes->notes[i].name, name) == 0) {
            *n = shapes->notes[i].n;
            return shapes->text.data + shapes->notes[i].first;
        }
    *n = 0;
    return NULL;
}

/* Sets *run to the run of CELLS that begins at cell *AT, and advances *at. False at the end. */
static bool next_run(const struct attn_shapes *shapes, const struct attn_shape_cells *cells,
                     size_t *at, struct attn_shape_run *run)
{
    const uint16_t *colors = (const void *)shapes->colors.data;
    const size_t r = *at / cells->n_col, c = *at % cells->n_col;
    const uint16_t *row = colors + cells->first + r * cells->n_col;
    const double more = cells->is_veil ? 0 : overlap;
    size_t end = c + 1;

    if (r >= cells->n_row)
        return false;
    while (end < cells->n_col && row[end] == row[c])
        end++;
    *run = (struct attn_shape_run){.x = cells->x + (double)c * cells->width,
                                   .y = cells->y + (double)r * cells->height,
                                   .width = ((double)(end - c) + more) * cells->width,
                                   .height = (1 + more) * cells->height,
                                   .color = row[c]};
    *at += end - c;
    return true;
}

/* If RUNS is NULL, counts the runs of each color i in n[i]. Else stores them in RUNS, those of
 * color i from n[i] on. */
static void sort_runs(const struct attn_shapes *shapes, const struct attn_shape_cluster *cluster,
                      size_t *n, struct attn_shape_run *runs)
{
    for (size_t i = 0; i < cluster->n; i++) {
        size_t at = 0;
        struct attn_shape_run run;

        while (next_run(shapes, &cluster->shapes[i].cells, &at, &run)) {
            if (cluster->is_veil && shapes->opacities[run.color] == 0)
                continue;
            if (runs)
                runs[n[run.color]] = run;
            n[run.color]++;
        }
    }
}

enum attn_status attn_shapes_runs(const struct attn_shapes *shapes,
                                  const struct attn_shape_cluster *cluster,
                                  struct attn_shape_run **runs, size_t *n, struct attn_error *err)
{
    size_t of_color[ATTN_SHAPES_COLORS] = {0}, n_run = 0;
    struct attn_shape_run *made;

    sort_runs(shapes, cluster, of_color, NULL);
    for (size_t i = 0; i < shapes->n_color; i++) {
        n_run += of_color[i];
        of_color[i] = n_run - of_color[i];
    }
    ATTN_TRY(ATTN_NEW(made, attn_alloc_uninitialized(n_run, sizeof *made, err)));
    sort_runs(shapes, cluster, of_color, made);
    *runs = made;
    *n = n_run;
    return ATTN_OK;
}

const char *attn_shapes_families(const struct attn_shapes *shapes)
{
    return shapes->is_proportional ? "Helvetica, Arial, DejaVu Sans, sans-serif"
                                   : "DejaVu Sans Mono, Menlo, Consolas, monospace";
}

void attn_shapes_crop(struct attn_shapes *shapes, double n, double parts)
{
    /* the numbers that the struct of each kind begins with: coordinates (x) and sizes (s) */
    static const char *const numbers[] = {
        [ATTN_SHAPE_CELLS] = "xxss",   [ATTN_SHAPE_BOX] = "xxss",
        [ATTN_SHAPE_PICTURE] = "xxss", [ATTN_SHAPE_LINE] = "xxxxs",
        [ATTN_SHAPE_DOT] = "xxss",     [ATTN_SHAPE_TEXT] = "xxs",
        [ATTN_SHAPE_BAND] = "xxxxxx",  [ATTN_SHAPE_CURVE] = "xxxxxxxxs",
        [ATTN_SHAPE_GROUP] = "",
    };
    struct attn_shape *list = (void *)shapes->shapes.data;

    for (size_t i = 0; i < shapes->shapes.size / sizeof *list; i++) {
        const char *kind = numbers[list[i].kind];
        double *number = &list[i].box.x;

        for (; *kind; kind++, number++)
            *number = (*number - (*kind == 'x' ? n : 0)) * parts;
    }
    shapes->width = (shapes->width - 2 * n) * parts;
    shapes->height = (shapes->height - 2 * n) * parts;
    shapes->cell *= parts;
    shapes->label *= parts;
}

double attn_shapes_pixels(const struct attn_shapes *shapes)
{
    enum { MANY = 8 }; /* if a cell has so many pixels, one pixel more or less isn't visible */
    const double dpi = shapes->dpi > 0 ? shapes->dpi : ATTN_SHAPES_DPI;
    const double scale = (shapes->points > 0 ? shapes->points : ATTN_SHAPES_POINTS) * dpi / 72;
    const double side = shapes->cell * scale;

    if (side == 0 || side >= MANY)
        return scale;
    if (shapes->dpi > 0) /* at least the requested dpi */
        return ceil(side * (1 - 1e-9)) / shapes->cell;
    return fmax(1, round(side)) / shapes->cell;
}

const struct attn_shape *attn_shapes_list(const struct attn_shapes *shapes, size_t *n)
{
    *n = shapes->shapes.size / sizeof(struct attn_shape);
    return (const void *)shapes->shapes.data;
}

struct attn_shape_cluster attn_shapes_cluster_of(const struct attn_shape *shapes, size_t n)
{
    struct attn_shape_cluster cluster = {.shapes = shapes, .x = HUGE_VAL, .y = HUGE_VAL};
    double right = 0, bottom = 0;
    size_t longest = 0; /* the largest number of rows or columns of a matrix */

    cluster.is_veil = shapes[0].cells.is_veil;
    for (; cluster.n < n && shapes[cluster.n].kind == ATTN_SHAPE_CELLS; cluster.n++) {
        const struct attn_shape_cells *cells = &shapes[cluster.n].cells;

        if (cells->is_veil != cluster.is_veil)
            break;
        cluster.n_cell += cells->n_row * cells->n_col;
        longest = cells->n_row > longest ? cells->n_row : longest;
        longest = cells->n_col > longest ? cells->n_col : longest;
        cluster.x = fmin(cluster.x, cells->x);
        cluster.y = fmin(cluster.y, cells->y);
        right = fmax(right, cells->x + (double)cells->n_col * cells->width);
        bottom = fmax(bottom, cells->y + (double)cells->n_row * cells->height);
    }
    cluster.width = right - cluster.x;
    cluster.height = bottom - cluster.y;
    cluster.is_image = !cluster.is_veil && (cluster.n_cell > MAX_CELLS || longest > LONGEST_SIDE);
    if (cluster.is_image)
        cluster.scale = (size_t)ceil(IMAGE_PIXELS / fmax(cluster.width, cluster.height));
    return cluster;
}

/* Fills row Y of the image, which begins at X, as far as CELLS cover it. */
static void fill_from_cells(const struct attn_shapes *shapes, const struct attn_shape_cells *cells,
                            double x, double y, uint32_t *row)
{
    const uint16_t *colors = (const void *)shapes->colors.data;
    const size_t r = (size_t)((y - cells->y) / cells->height), width = (size_t)cells->width;

    row += (size_t)(cells->x - x);
    colors += cells->first + r * cells->n_col;
    for (size_t c = 0; c < cells->n_col; c++) {
        const uint32_t opacity = cells->is_veil ? shapes->opacities[colors[c]] : 0;

        for (size_t i = 0; i < width; i++)
            *row++ = opacity << 24 | shapes->palette[colors[c]];
    }
}

void attn_shapes_cluster_row(const struct attn_shapes *shapes,
                             const struct attn_shape_cluster *cluster, size_t y, uint32_t *row)
{
    const double at = cluster->y + (double)y;

    for (size_t x = 0; x < (size_t)cluster->width; x++)
        row[x] = cluster->is_veil ? 0 : shapes->paper;
    for (size_t i = 0; i < cluster->n; i++) {
        const struct attn_shape_cells *cells = &cluster->shapes[i].cells;

        if (at >= cells->y && at < cells->y + (double)cells->n_row * cells->height)
            fill_from_cells(shapes, cells, cluster->x, at, row);
    }
}

enum attn_status attn_shapes_check(const struct attn_shapes *shapes, struct attn_error *err)
{
    ATTN_TRY(attn_buffer_check(&shapes->shapes, err));
    ATTN_TRY(attn_buffer_check(&shapes->pictures, err));
    ATTN_TRY(attn_buffer_check(&shapes->colors, err));
    ATTN_TRY(attn_buffer_check(&shapes->pixels, err));
    return attn_buffer_check(&shapes->text, err);
}

void attn_shapes_release(struct attn_shapes *shapes)
{
    attn_buffer_release(&shapes->shapes);
    attn_buffer_release(&shapes->colors);
    attn_buffer_release(&shapes->pictures);
    attn_buffer_release(&shapes->pixels);
    attn_buffer_release(&shapes->text);
    *shapes = (struct attn_shapes){0};
}
