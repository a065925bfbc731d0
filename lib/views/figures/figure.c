/* figure.c - see figure.h: title, notes, colors and size limits, common to all kinds of figures. */
#include "figures/figure_internal.h"

#include "base/os/os.h"
#include "base/status_internal.h"
#include "base/version.h"
#include "pictures/colormap_internal.h"
#include "pictures/figure_rows.h"
#include "pictures/picture_internal.h"
#include "tables/text_table.h"
#include "tensors/view.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <string.h>

enum {
    MOST_SIDE = 16384,      /* maximum units of a side */
    MOST_AREA = 64000000,   /* maximum area in square units */
    MOST_COMPONENTS = 1024, /* maximum columns of a site without keys */
    PRINT_DPI = 300,
    LEAST_PERCENT = 80,         /* the smallest units in print, in percent of the usual ones */
    CAPTION_COLUMNS = 160,      /* maximum columns of a text in the caption */
    CROP = ATTN_FIGURE_PAD - 4, /* part of the margin that is cut off in print */
};

/* --- The heading --------------------------------------------------------------------------- */

static void append_title(struct attn_figure_pen *pen, struct attn_buffer *out)
{
    if (pen->options->title)
        attn_buffer_append_string(out, pen->options->title);
    else
        attn_grid_append_title(pen->content->grid, out);
}

/* Writes the parts of the subtitle that are never shortened. */
static void find_subtitle(struct attn_figure_pen *pen)
{
    const struct attn_picture_options *options = pen->options;
    const struct attn_grid *grid = pen->content->grid;
    const enum attn_site site = grid->run ? grid->matrices[0].at.site : ATTN_N_SITE;

    attn_grid_append_subtitle(grid, pen->is_fitted, &pen->subtitle);
    if (grid->run && attn_site_has_first_key(site) && attn_view_hides(attn_view_of(options)))
        attn_buffer_append_string(&pen->subtitle, options->hides == ATTN_HIDDEN_PARKS
                                                      ? "parks left out; "
                                                      : "first key left out; ");
    if (grid->run && attn_view_divides(attn_view_of(options), site))
        attn_buffer_append_string(&pen->subtitle, "rows sum to 1; ");
    if (options->merges_words)
        attn_buffer_append_string(&pen->subtitle, "words merged; ");
}

/* --- Notes in the file --------------------------------------------------------------------- */

/* Returns true if VALUE is a path. Paths are not written, as they may contain the name of a
 * user. */
static bool is_path(const char *value)
{
    static const char ending[] = ".npy";
    const size_t n = strlen(value);

    return attn_os_last_slash(value) ||
           (n >= sizeof ending - 1 && strcmp(value + n - (sizeof ending - 1), ending) == 0);
}

static void add_note(struct attn_figure_pen *pen, const char *name)
{
    attn_shapes_add_note(pen->shapes, name, pen->scratch.data, pen->scratch.size);
    pen->shapes->text.has_failed |= pen->scratch.has_failed;
    pen->scratch.size = 0;
}

static void add_notes(struct attn_figure_pen *pen)
{
    const struct attn_grid *grid = pen->content->grid;

    append_title(pen, &pen->scratch);
    add_note(pen, "Title");
    attn_grid_append_sentence(grid, 0, &pen->scratch);
    add_note(pen, "Text");
    attn_grid_append_sentence(grid, 1, &pen->scratch);
    add_note(pen, "Other text");
    attn_grid_append_subject(grid, &pen->scratch);
    add_note(pen, "Subject");
    if (!grid->parts) {
        attn_buffer_append_string(&pen->scratch, grid->name);
        add_note(pen, grid->run ? "Site" : "Column");
        attn_buffer_append_string(&pen->scratch, pen->quantity);
        add_note(pen, "Shows");
        attn_color_scale_append(&pen->scale, &pen->scratch);
        add_note(pen, "Scale");
    }
    for (size_t i = 0; grid->run && i < grid->run->labels.n_option; i++) {
        const struct attn_option *option = &grid->run->labels.options[i];

        attn_buffer_append_format(&pen->scratch, "%s--%s", i > 0 ? " " : "", option->name);
        if (option->value[0] != '\0')
            attn_buffer_append_format(&pen->scratch, " %s",
                                      is_path(option->value) ? "FILE" : option->value);
    }
    add_note(pen, "Options");
    attn_buffer_append_string(&pen->scratch, "attn-cli " ATTN_VERSION);
    add_note(pen, "Software");
}

/* Ends a sentence with one full stop, or with the mark that it has. */
static void end_sentence(struct attn_buffer *out)
{
    static const char *const ends[] = {".", "!", "?", ATTN_ELLIPSIS};

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const size_t n = strlen(ends[i]);

        if (out->size >= n && memcmp(out->data + out->size - n, ends[i], n) == 0)
            return;
    }
    attn_buffer_append_char(out, '.');
}

/* Adds the note for the caption of a printed figure: "fable, layer 2, head 5: pattern. Colors:
 * weight, % (square root); pale: masked. Text: The keys." */
static void add_caption(struct attn_figure_pen *pen)
{
    static const char *const kinds[] = {[ATTN_CELL_MASKED] = "pale: masked",
                                        [ATTN_CELL_HIDDEN] = "hatched: left out",
                                        [ATTN_CELL_NOT_FINITE] = "hatched red: not finite"};
    static const char *const texts[] = {"Text", "Other text"};
    const struct attn_grid *grid = pen->content->grid;
    const bool has_names = grid->texts[0].name;
    struct attn_buffer *out = &pen->scratch;
    size_t n;
    const char *text;

    if (!pen->is_printed || pen->is_measuring)
        return;
    out->size = 0;
    if (pen->finding.size > 0)
        attn_buffer_append_format(out, "%.*s. ", (int)pen->finding.size, pen->finding.data);
    append_title(pen, out);
    for (size_t i = 0; grid->parts && i < grid->n; i++)
        if (strcmp(grid->parts[i].name, grid->parts[i].quantity) != 0)
            attn_buffer_append_format(out, "; %s: %s", grid->parts[i].name,
                                      grid->parts[i].quantity);
    if (!attn_figure_is_plot(pen->kind) && pen->kind != ATTN_FIGURE_ARCS && !grid->parts) {
        end_sentence(out);
        if (pen->kinds != 0)
            attn_buffer_append_format(out, " Colors: %s (", pen->strength);
        else
            attn_buffer_append_format(out, " Colors: %s (", pen->quantity);
        attn_color_scale_append(&pen->scale, out);
        attn_buffer_append_string(out,
                                  pen->scale.is_signed ? "), orange above 0, blue below" : ")");
    }
    for (int kind = ATTN_CELL_MASKED; kind <= ATTN_CELL_NOT_FINITE; kind++)
        if (pen->has_kind[kind])
            attn_buffer_append_format(out, "; %s",
                                      kind == ATTN_CELL_MASKED && !grid->run ? "pale: no value"
                                                                             : kinds[kind]);
    if (pen->subtitle.size > 2)
        attn_buffer_append_format(out, "; %.*s", (int)pen->subtitle.size - 2, pen->subtitle.data);
    end_sentence(out);
    for (int i = 0; i < 2; i++) {
        text = attn_shapes_note(pen->shapes, texts[i], &n);
        if (!text)
            continue;
        attn_buffer_append_string(out, i == 0 && !has_names ? " Text: " : " ");
        for (; n > 0 && *text == ' '; n--)
            text++;
        attn_text_append_cut(out, text, n, CAPTION_COLUMNS, ATTN_ELLIPSIS);
        end_sentence(out);
    }
    add_note(pen, "Caption");
}

/* --- Drawing ------------------------------------------------------------------------------- */

/* Lets several matrices of gradients share one scale, which ends at the largest number of all.
 */
static void join_scales(struct attn_figure_pen *pen)
{
    double largest = 0;

    if (!pen->content->grid->run || pen->content->grid->n < 2 ||
        !attn_site_is_of_metric(attn_figure_matrix(pen, 0)->at.site))
        return;
    for (size_t i = 0; i < pen->content->grid->n; i++) {
        const struct attn_level_matrix *matrix = attn_figure_matrix(pen, i);

        if (matrix->least <= matrix->most)
            largest = fmax(largest, fmax(fabs((double)matrix->least), fabs((double)matrix->most)));
    }
    pen->is_fitted = true;
    if (largest == 0) /* measured before the run: no numbers yet */
        return;
    pen->scale.span = ATTN_SPAN_FIXED;
    pen->scale.low = pen->scale.is_signed ? -largest : 0;
    pen->scale.high = largest;
}

static void open_pen(struct attn_figure_pen *pen)
{
    const struct attn_grid *grid = pen->content->grid;
    const bool is_dark = pen->options->theme == ATTN_THEME_DARK;
    uint32_t palette[ATTN_N_COLOR + ATTN_CELL_NOT_FINITE + 1];

    pen->scale = grid->scale;
    pen->kinds = grid->kinds;
    if (attn_figure_is_map(pen->content->kind, pen->options))
        attn_figure_fit_scale(pen);
    else
        join_scales(pen);
    pen->quantity = attn_grid_quantity(grid, attn_figure_is_percent(pen), pen->is_printed);
    pen->map = grid->parts ? attn_colormap_find("diverging") /* parts of a table are vectors */
                           : attn_picture_colormap(pen->options, &pen->scale,
                                                   is_dark ? "viridis" : "blues");
    pen->ink = is_dark ? 0xe8e8e8 : 0x1a1a1a;
    pen->faint = is_dark ? 0xa0a0a0 : 0x595959;
    pen->rule = is_dark ? 0x3c3c3c : 0xd4d4d4;
    pen->frame = is_dark ? 0x6a6a6a : 0x9a9a9a;
    pen->shapes->paper = is_dark ? 0x121212 : 0xffffff;
    pen->shapes->is_proportional = pen->is_printed;
    for (int level = 0; level < ATTN_N_COLOR; level++)
        palette[level] = attn_figure_color(pen, level);
    for (int kind = ATTN_CELL_MASKED; kind <= ATTN_CELL_NOT_FINITE; kind++)
        palette[ATTN_N_COLOR - 1 + kind] = attn_figure_ground(pen, (enum attn_cell_kind)kind);
    palette[ATTN_N_COLOR + ATTN_CELL_NOT_FINITE] = pen->shapes->paper;
    attn_shapes_set_palette(pen->shapes, palette, sizeof palette / sizeof *palette);
    add_notes(pen);
    attn_figure_find_title(pen);
    find_subtitle(pen);
}

/* Refuses sites with too many columns. */
static enum attn_status check_content(const struct attn_figure_pen *pen, struct attn_error *err)
{
    const struct attn_level_matrix *matrix = attn_figure_matrix(pen, 0);
    const enum attn_figure kind = pen->content->kind;

    if (attn_figure_is_plot(kind) && pen->content->grid->run) {
        attn_error_set(err, ATTN_INVALID, "'`figure %s`' draws a table, and this is a run",
                       attn_figure_name(kind));
        return attn_error_hint(err, "'attn-cli ablate', 'attn-cli lens' and others make tables");
    }
    if (!attn_figure_is_map(kind, pen->options) && !attn_site_has_keys(matrix->at.site) &&
        matrix->n_column > MOST_COMPONENTS) {
        attn_error_set(err, ATTN_INVALID, "'%s' has %zu columns, a figure has at most %d",
                       attn_site_name(matrix->at.site), matrix->n_column, MOST_COMPONENTS);
        return attn_error_hint(err, "`csv` and `npz` write the rows");
    }
    return ATTN_OK;
}

static enum attn_status check_size(const struct attn_figure_pen *pen, struct attn_error *err)
{
    const bool is_in_points = pen->content->is_in_points || pen->content->grid->parts;
    const double scale = is_in_points ? 1 : attn_shapes_pixels(pen->shapes);
    const double width = ceil(pen->shapes->width * scale);
    const double height = ceil(pen->shapes->height * scale);
    const bool is_long = width > MOST_SIDE || height > MOST_SIDE;

    if (!is_long && width * height <= MOST_AREA)
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID,
                   is_long ? "the figure has %.0f x %.0f pixels, at most %d a side are drawn"
                           : "the figure has %.0f x %.0f pixels, at most %d are drawn",
                   width, height, is_long ? MOST_SIDE : MOST_AREA);
    return attn_error_hint(err, "fewer heads, layers or positions make it smaller");
}

/* Sets the size and the font of SHAPES, whose width is known, as OPTIONS request. */
static void set_size(struct attn_shapes *shapes, const struct attn_picture_options *options)
{
    if (shapes->points == 0)
        shapes->points = attn_figure_unit(options);
    if (options->figure_width > 0 && shapes->width > 0)
        shapes->points = options->figure_width / shapes->width;
    shapes->dpi = attn_figure_is_printed(options) && options->dpi == 0 ? PRINT_DPI : options->dpi;
}

void attn_figure_note_caption(const struct attn_shapes *shapes, attn_note_fn on_note, void *user)
{
    size_t n;
    const char *caption = attn_shapes_note(shapes, "Caption", &n);

    if (caption)
        attn_note(on_note, user, ATTN_NOTE_CAPTION, "caption: %.*s", (int)n, caption);
}

void attn_figure_note_size(const struct attn_shapes *shapes,
                           const struct attn_picture_options *options, bool is_pixels,
                           attn_note_fn on_note, void *user)
{
    const double size = shapes->points * (shapes->label > 0 ? shapes->label : ATTN_FIGURE_TEXT);
    const double dpi = attn_shapes_pixels(shapes) / shapes->points * 72;
    const double asked =
        options->font_size * (attn_figure_is_printed(options) ? ATTN_FIGURE_LABEL : 1);
    const double wanted = asked > 0 ? asked : ATTN_FIGURE_LEAST;

    if (size < (options->font_size > 0 ? 0.95 : 0.99) * wanted)
        attn_note(on_note, user, ATTN_NOTE_FIGURE_SIZE,
                  options->font_size > 0
                      ? "the labels of the figure have %.1f points, not %g: it has no room for more"
                      : "the labels of the figure have %.1f points, less than the %g that are read "
                        "with ease: it has no room for more",
                  size, wanted);
    if (is_pixels && options->dpi > 0 && fabs(dpi - options->dpi) > 0.5)
        attn_note(on_note, user, ATTN_NOTE_FIGURE_SIZE,
                  "the figure has %.0f pixels an inch, not %g, so that its cells have whole pixels",
                  dpi, options->dpi);
}

#define FIGURE(number, name, file, ...) extern const attn_figure_fn attn_figure_draw_##file;
ATTN_FIGURE_MAP(FIGURE)
#undef FIGURE

static enum attn_status draw_content(struct attn_figure_pen *pen, struct attn_error *err)
{
    static const attn_figure_fn *const kinds[ATTN_N_FIGURE] = {
#define FIGURE(number, name, file, traits, words) [number] = &attn_figure_draw_##file,
        ATTN_FIGURE_MAP(FIGURE)
#undef FIGURE
    };
    enum attn_status status;

    pen->layout = (struct attn_figure_layout){0};
    pen->kind = pen->content->kind;
    status = (pen->content->grid->parts ? attn_figure_draw_parts : *kinds[pen->kind])(pen, err);
    attn_store_release(&pen->store);
    ATTN_TRY(status);
    if (!pen->is_measuring && pen->layout.top > 0)
        attn_figure_add_legend(pen);
    ATTN_TRY(attn_buffer_check(&pen->scratch, err));
    ATTN_TRY(attn_buffer_check(&pen->subtitle, err));
    ATTN_TRY(attn_buffer_check(&pen->finding, err));
    return attn_shapes_check(pen->shapes, err);
}

/* Sets the points per unit, and the sizes of letters: in print usually 8, 7 and 6.5 points. */
static void set_unit(struct attn_figure_pen *pen, double unit)
{
    const double size = ATTN_FIGURE_TEXT * attn_figure_unit(pen->options) / unit, tick = 6.5 / 8;

    pen->unit = unit;
    pen->letters = (struct attn_figure_letters){12, ATTN_FIGURE_TEXT, 11, 15};
    if (pen->is_printed)
        pen->letters =
            (struct attn_figure_letters){size, ATTN_FIGURE_LABEL * size, tick * size, size};
}

/* Finds by bisection the largest pen->growth at which the figure keeps the requested width and font
 * size. */
static enum attn_status find_growth(struct attn_figure_pen *pen, struct attn_error *err)
{
    enum { STEPS = 14 };
    const size_t n_subtitle = pen->subtitle.size;
    double least = 0.05, most = 12;

    pen->room = floor(pen->options->figure_width / pen->unit) + 2 * CROP;
    for (int i = 0; i < STEPS; i++) {
        pen->growth = i == 0 ? least : (least + most) / 2;
        ATTN_TRY(draw_content(pen, err));
        pen->subtitle.size = n_subtitle;
        if (i == 0 && pen->shapes->width > pen->room) {
            least = 1; /* nothing fits: the whole figure is scaled down */
            break;
        }
        *(pen->shapes->width <= pen->room ? &least : &most) = pen->growth;
    }
    pen->growth = least;
    ATTN_TRY(draw_content(pen, err));
    pen->subtitle.size = n_subtitle;
    return ATTN_OK;
}

/* Finds the unit and the growth with the largest cells. Sides of cells are multiples of a part of a
 * unit, so with smaller units, in which letters keep their points, many cells may fill the width
 * that they else leave empty. */
static enum attn_status find_unit(struct attn_figure_pen *pen, struct attn_error *err)
{
    const double usual = pen->unit, filled = 0.95;
    const bool is_measuring = pen->is_measuring;
    double unit = usual, growth, side;

    pen->is_measuring = true;
    ATTN_TRY(find_growth(pen, err));
    growth = pen->growth;
    side = pen->shapes->cell * unit;
    if (side > 0 && pen->shapes->width < filled * pen->room)
        for (int percent = 98; percent >= LEAST_PERCENT; percent -= 2) {
            set_unit(pen, usual * percent / 100);
            ATTN_TRY(find_growth(pen, err));
            if (pen->shapes->cell * pen->unit <= side || pen->shapes->width > pen->room)
                continue;
            side = pen->shapes->cell * pen->unit;
            unit = pen->unit;
            growth = pen->growth;
        }
    set_unit(pen, unit);
    pen->growth = growth;
    pen->room = floor(pen->options->figure_width / unit) + 2 * CROP;
    pen->is_measuring = is_measuring;
    return ATTN_OK;
}

/* Shrinks the units of a PNG slightly so that cells are whole pixels at the requested resolution.
 * Where that would take much, the resolution is higher instead. */
static void fit_pixels(struct attn_figure_pen *pen)
{
    const double least = LEAST_PERCENT / 100.0 * attn_figure_unit(pen->options);
    const double dpi = pen->options->dpi > 0 ? pen->options->dpi : PRINT_DPI;
    const double side = pen->shapes->cell * dpi / 72;
    const double n = floor(side * pen->unit * (1 + 1e-9));

    if (pen->content->is_in_points || !(n >= least * side) || n < 1 ||
        pen->shapes->width > pen->room)
        return;
    set_unit(pen, n / side);
    pen->room = pen->options->figure_width / pen->unit + 2 * CROP;
}

static enum attn_status draw_pen(struct attn_figure_pen *pen, struct attn_error *err)
{
    ATTN_TRY(check_content(pen, err));
    if (pen->is_printed) {
        ATTN_TRY(find_unit(pen, err));
        fit_pixels(pen);
    }
    pen->label = pen->letters.label;
    ATTN_TRY(draw_content(pen, err));
    pen->shapes->width = fmax(pen->shapes->width, pen->room);
    pen->shapes->label = pen->label;
    if (pen->is_printed)
        attn_shapes_crop(pen->shapes, CROP, ATTN_FIGURE_PARTS);
    add_caption(pen);
    set_size(pen->shapes, pen->options);
    ATTN_TRY(attn_shapes_check(pen->shapes, err));
    return check_size(pen, err);
}

static enum attn_status draw(const struct attn_figure_content *content, struct attn_shapes *shapes,
                             bool is_measuring, struct attn_error *err)
{
    struct attn_figure_pen pen = {.content = content,
                                  .options = content->picture,
                                  .shapes = shapes,
                                  .is_printed = attn_figure_is_printed(content->picture),
                                  .is_measuring = is_measuring,
                                  .growth = 1,
                                  .has_text = true};
    enum attn_status status;

    open_pen(&pen);
    set_unit(&pen, attn_figure_unit(content->picture));
    status = draw_pen(&pen, err);
    attn_buffer_release(&pen.scratch);
    attn_buffer_release(&pen.subtitle);
    attn_buffer_release(&pen.finding);
    attn_figure_unfold(&pen);
    return status;
}

enum attn_status attn_figure_measure(const struct attn_figure_content *content,
                                     struct attn_error *err)
{
    struct attn_shapes shapes = {0};
    enum attn_status status = draw(content, &shapes, true, err);

    attn_shapes_release(&shapes);
    return status;
}

enum attn_status attn_figure_draw(const struct attn_figure_content *content,
                                  struct attn_shapes *shapes, struct attn_error *err)
{
    return draw(content, shapes, false, err);
}
