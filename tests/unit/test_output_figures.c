/*
 * test_output_figures.c - the writers of figures, and the pictures of tables: memory that runs out
 * at any place leaves an error and no leak, and how the rows come makes no difference.
 */
#include "attn.h"
#include "figures/figure_internal.h"
#include "figures/table_picture.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/made_up_run.h"
#include "tests/support/picture.h"
#include "tests/support/suite.h"
#include "tests/support/svg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A figure, and what is selected for it. */
struct drawn {
    const char *figure, *sites, *heads, *queries;
};

static const struct drawn all[] = {
    {"matrix", "pattern", "1.0", "all"},  {"matrix", "k", "0.1", "1-2"},
    {"grid", "pattern", "all", "all"},    {"grid", "z", "0.0,1.1", "0-1"},
    {"tokens", "pattern", "0.0", "2"},    {"arcs", "pattern", "1.0", "2"},
    {"arcs", "attn_scores", "0.1", "1"},  {"patches:1x3", "pattern", "0.1", "all"},
    {"heads", "pattern", "all", "2"},     {"heads", "attn_scores", "1.0,1.1", "0"},
    {"patches", "pattern", "all", "all"}, {"patches", "pattern", "1.0", "1-2"},
    {"under", "pattern", "all", "2"},
};

static const char *const words[ATTN_MADE_UP_MAX] = {"Life", " is<&>", " \xd7\xa9\xd7\x9c"};

static struct attn_made_up_run made;
static struct attn_picture_options picture;

/* Of three positions, the first is no patch. */
static const unsigned char pixels[4 * 6 * 3] = {255, 0, 0, 10, 200, 30};
static const struct attn_backdrop backdrop = {
    .rgb = pixels, .height = 4, .width = 6, .stride = 6, .n_front = 1, .n_row = 1, .n_col = 2};

static void select_drawn(const struct drawn *drawn)
{
    struct attn_error err = {0};
    const bool is_one_layer = strncmp(drawn->sites, "resid", 5) == 0;

    attn_made_up_run_init(&made, &attn_made_up_small, words);
    made.run.backdrop = &backdrop;
    attn_made_up_run_select(&made, drawn->sites, drawn->heads, drawn->queries);
    if (is_one_layer)
        ck_assert_int_eq(attn_selection_set_layers(made.selection, "1", &err), ATTN_OK);
    picture = ATTN_PICTURE_OPTIONS_DEFAULT;
    picture.sites = attn_selection_sites(made.selection);
    ck_assert_msg(attn_figure_parse(drawn->figure, &picture, &err) == ATTN_OK, "%s", err.message);
}

/* Writes the figure into SINK, its rows in blocks of N_ROW. */
static enum attn_status draw(const char *format, size_t n_row, struct attn_sink *sink,
                             struct attn_error *err)
{
    struct attn_writer_options options = ATTN_WRITER_OPTIONS_DEFAULT;
    struct attn_writer *writer = NULL;
    enum attn_status status;

    options.picture = &picture;
    status =
        attn_writer_create_sink(attn_format_find(format), sink, &made.run, &options, &writer, err);
    if (status == ATTN_OK)
        status = attn_made_up_run_play(&made, writer, n_row, err);
    if (status == ATTN_OK)
        status = attn_writer_finish(writer, err);
    attn_writer_free(writer);
    return status;
}

/* --- Of tables -------------------------------------------------------------------------------- */

static struct attn_table *table;

/* A number for each of two layers, two sites and three positions but one. */
static void make_table(void)
{
    static const struct attn_column columns[] = {
        {.name = "layer", .type = ATTN_VALUE_INTEGER, .role = ATTN_ROLE_LAYER},
        {.name = "site", .type = ATTN_VALUE_TEXT, .role = ATTN_ROLE_SITE},
        {.name = "position", .type = ATTN_VALUE_INTEGER, .role = ATTN_ROLE_POSITION},
        {.name = "prob", .type = ATTN_VALUE_REAL, .range = ATTN_RANGE_SIGNED}};
    static const char *const names[] = {"resid_pre", "resid_<mid>"};
    struct attn_error err = {0};

    ck_assert_int_eq(attn_table_create("lens", columns, 4, &table, &err), ATTN_OK);
    for (int i = 0; i < 11; i++) {
        const char *name = names[i / 3 % 2];
        const struct attn_cell row[] = {attn_cell_integer(i / 6),
                                        attn_cell_text(name, strlen(name)),
                                        attn_cell_integer(i % 3), attn_cell_real(i - 4.5)};

        ck_assert_int_eq(attn_table_append(table, row, 4, &err), ATTN_OK);
    }
}

/* Heads and other parts of two layers, with a text each, as attribute has them; or pairs of heads.
 */
static void make_parts(bool is_pairs)
{
    static const struct attn_column columns[] = {
        {.name = "part", .type = ATTN_VALUE_TEXT, .role = ATTN_ROLE_PART, .totals = "sum model"},
        {.name = "layer", .type = ATTN_VALUE_INTEGER, .role = ATTN_ROLE_LAYER},
        {.name = "head", .type = ATTN_VALUE_INTEGER, .role = ATTN_ROLE_HEAD},
        {.name = "token", .type = ATTN_VALUE_TEXT},
        {.name = "logit", .type = ATTN_VALUE_REAL, .range = ATTN_RANGE_SIGNED}};
    static const struct attn_column of_pairs[] = {
        {.name = "number", .type = ATTN_VALUE_INTEGER, .role = ATTN_ROLE_NUMBER},
        {.name = "layer", .type = ATTN_VALUE_INTEGER, .role = ATTN_ROLE_LAYER},
        {.name = "head", .type = ATTN_VALUE_INTEGER, .role = ATTN_ROLE_HEAD},
        {.name = "other_number", .type = ATTN_VALUE_INTEGER, .role = ATTN_ROLE_OTHER_NUMBER},
        {.name = "other_layer", .type = ATTN_VALUE_INTEGER, .role = ATTN_ROLE_OTHER_LAYER},
        {.name = "other_head", .type = ATTN_VALUE_INTEGER, .role = ATTN_ROLE_OTHER_HEAD},
        {.name = "js", .type = ATTN_VALUE_REAL, .range = ATTN_RANGE_POSITIVE}};
    static const char *const parts[] = {"embed", "head", "head", "mlp", "head", "norm", "sum"};
    struct attn_error err = {0};

    ck_assert_int_eq(
        attn_table_create("parts", is_pairs ? of_pairs : columns, is_pairs ? 7 : 5, &table, &err),
        ATTN_OK);
    for (int i = 0; i < 7; i++) {
        const struct attn_cell missing = attn_cell_missing();
        const bool is_head = strcmp(parts[i], "head") == 0;
        const struct attn_cell row[] = {attn_cell_text(parts[i], strlen(parts[i])),
                                        is_head || i == 3 ? attn_cell_integer(i / 3) : missing,
                                        is_head ? attn_cell_integer(i % 3) : missing,
                                        attn_cell_text(" <a>", 4),
                                        attn_cell_real(i < 6 ? i - 2.5 : 9)};
        const struct attn_cell pair[] = {attn_cell_integer(i / 3), attn_cell_integer(0),
                                         attn_cell_integer(i / 3), attn_cell_integer(3 + i % 3),
                                         attn_cell_integer(1),     attn_cell_integer(i % 3),
                                         attn_cell_real(0.1 * i)};

        ck_assert_int_eq(attn_table_append(table, is_pairs ? pair : row, is_pairs ? 7 : 5, &err),
                         ATTN_OK);
    }
}

static const struct attn_table_picture of_sites = {.view = {.rows = ATTN_ROLE_LAYER,
                                                            .detail = ATTN_ROLE_SITE,
                                                            .columns = ATTN_ROLE_POSITION,
                                                            .values = ATTN_TABLE_COLUMN(3)},
                                                   .model = "small & <made up>",
                                                   .run = &made.run};
static const struct attn_table_picture of_positions = {.view = {.rows = ATTN_ROLE_LAYER,
                                                                .detail = ATTN_ROLE_POSITION,
                                                                .columns = ATTN_ROLE_SITE,
                                                                .values = ATTN_TABLE_COLUMN(3)},
                                                       .model = "small & <made up>",
                                                       .run = &made.run};
static const struct attn_table_picture of_parts = {
    .view = {.rows = ATTN_ROLE_LAYER,
             .columns = ATTN_ROLE_HEAD,
             .values = ATTN_TABLE_COLUMN(4),
             .cells = ATTN_TABLE_COLUMN(3),
             .parts = "mlp embed",
             .asked = "written by each part of the model"},
    .answer = "logit(<are>)",
    .texts = {{"A", "one", 3}, {"B", "two", 3}}};
static const struct attn_table_picture of_pairs = {.view = {.rows = ATTN_ROLE_NUMBER,
                                                            .columns = ATTN_ROLE_OTHER_NUMBER,
                                                            .values = ATTN_TABLE_COLUMN(6),
                                                            .traits = ATTN_VIEW_PAIRS}};
static const struct attn_table_picture *drawn; /* how the table is */

/* Like draw, of the table. */
static enum attn_status draw_table(const char *format, size_t n_row, struct attn_sink *sink,
                                   struct attn_error *err)
{
    const struct attn_output output = {.format = attn_format_find(format), .sink = sink};

    (void)n_row;
    return attn_table_picture_write(table, drawn, &picture, &output, err);
}

/* --- Memory ----------------------------------------------------------------------------------- */

/* Writes a picture in FORMAT; N_ROW: of draw. */
typedef enum attn_status (*draw_fn)(const char *format, size_t n_row, struct attn_sink *sink,
                                    struct attn_error *err);

/* The whole file; free() it. */
static char *bytes_of(draw_fn draw_it, const char *format, size_t n_row, size_t *size)
{
    struct attn_error err = {0};
    struct attn_sink *sink;
    char *copy;

    ck_assert_int_eq(attn_sink_create_memory(&sink, &err), ATTN_OK);
    ck_assert_msg(draw_it(format, n_row, sink, &err) == ATTN_OK, "%s", err.message);
    copy = malloc(1 << 20);
    attn_sink_bytes(sink, size);
    ck_assert_uint_lt(*size, 1 << 20);
    memcpy(copy, attn_sink_bytes(sink, size), *size);
    attn_sink_free(sink);
    return copy;
}

/* Each allocation fails once. Whoever says that all went well has written all. */
static void assert_fails_cleanly(draw_fn draw_it, const char *format)
{
    size_t size, seen;
    char *expected = bytes_of(draw_it, format, SIZE_MAX, &size);
    bool has_failed = true; /* there were as many allocations as one must be to fail */

    for (long n = 0; has_failed; n++) {
        struct attn_error err = {0};
        enum attn_status status;
        struct attn_sink *sink;

        ck_assert_int_eq(attn_sink_create_memory(&sink, &err), ATTN_OK);
        attn_alloc_fail_at(n);
        status = draw_it(format, SIZE_MAX, sink, &err);
        has_failed = attn_alloc_count() > n;
        attn_alloc_fail_off();
        if (status == ATTN_OK) {
            ck_assert_mem_eq(attn_sink_bytes(sink, &seen), expected, size);
            ck_assert_uint_eq(seen, size);
        } else {
            ck_assert_msg(status == ATTN_NO_MEMORY, "%s", err.message);
        }
        attn_sink_free(sink);
        ck_assert_int_lt(n, 5000);
    }
    free(expected);
}

START_TEST(svg_fails_cleanly_wherever_memory_runs_out)
{
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        select_drawn(&all[i]);
        assert_fails_cleanly(draw, "svg");
        attn_made_up_run_release(&made);
    }
}
END_TEST

START_TEST(png_and_pdf_fail_cleanly_wherever_memory_runs_out)
{
    if (!attn_can_draw())
        return;
    select_drawn(&all[0]);
    assert_fails_cleanly(draw, "png");
    assert_fails_cleanly(draw, "pdf");
    attn_made_up_run_release(&made);
}
END_TEST

START_TEST(pictures_of_tables_fail_cleanly_wherever_memory_runs_out)
{
    static const char *const formats[] = {"svg", "html", "png", "pdf"};
    const size_t n_format = attn_can_draw() ? 4 : 2;

    select_drawn(&all[0]);
    make_table();
    for (size_t i = 0; i < 2 * n_format; i++) {
        drawn = i % 2 ? &of_positions : &of_sites;
        assert_fails_cleanly(draw_table, formats[i / 2]);
    }
    attn_table_free(table);
    make_parts(false);
    drawn = &of_parts;
    assert_fails_cleanly(draw_table, "svg");
    for (enum attn_figure kind = ATTN_FIGURE_BARS; kind <= ATTN_FIGURE_CURVE; kind++) {
        picture.figure = kind;
        assert_fails_cleanly(draw_table, "svg");
    }
    picture.figure = ATTN_FIGURE_DEFAULT;
    attn_table_free(table);
    make_parts(true);
    drawn = &of_pairs;
    assert_fails_cleanly(draw_table, "svg");
    attn_table_free(table);
    attn_made_up_run_release(&made);
}
END_TEST

START_TEST(rows_that_come_one_by_one_make_the_same_figure)
{
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        size_t size, size_of_steps;
        char *whole, *steps;

        select_drawn(&all[i]);
        whole = bytes_of(draw, "svg", SIZE_MAX, &size);
        steps = bytes_of(draw, "svg", 1, &size_of_steps);
        ck_assert_uint_eq(size, size_of_steps);
        ck_assert_mem_eq(whole, steps, size);
        free(whole);
        free(steps);
        attn_made_up_run_release(&made);
    }
}
END_TEST

/* --- Maps over a picture -------------------------------------------------------------------- */

/* What a run that is not causal has in a cell of its patterns. */
static double value_of(int layer, int head, size_t row, size_t key)
{
    const double value = (double)attn_made_up_value(ATTN_SITE_PATTERN, layer, head, row, 0);

    return (key % 2 ? -value : value) + (double)key / 64;
}

/* The color, on white ground, of the cell of SVG at X, Y, in a path with an opacity; white where
 * there is none. */
static uint32_t veil_at(const struct attn_svg *svg, double x, double y, double side)
{
    uint32_t seen = 0xffffff;

    for (size_t i = 0; i < svg->n; i++) {
        const char *opacity = attn_svg_value(svg, &svg->items[i], "fill-opacity");
        const char *at = attn_svg_value(svg, &svg->items[i], "d");
        unsigned color;
        double left, top, width;

        if (!opacity || !at || strcmp(svg->items[i].name, "path") != 0)
            continue;
        ck_assert_int_eq(sscanf(attn_svg_value(svg, &svg->items[i], "fill"), "#%x", &color), 1);
        for (; (at = strchr(at, 'M')); at++) {
            ck_assert_int_eq(sscanf(at, "M%lf %lfh%lf", &left, &top, &width), 3);
            if (x < left || x >= left + width || y < top || y >= top + side)
                continue;
            seen = 0;
            for (int shift = 16; shift >= 0; shift -= 8) {
                const double share = strtod(opacity, NULL), part = (double)(color >> shift & 255);

                seen = seen << 8 | (uint32_t)lround(255 * (1 - share) + part * share);
            }
        }
    }
    return seen;
}

/* Whether two colors are as near as two digits of an opacity let them be. */
static bool are_near(uint32_t a, uint32_t b)
{
    for (int shift = 16; shift >= 0; shift -= 8)
        if (abs((int)(a >> shift & 255) - (int)(b >> shift & 255)) > 3)
            return false;
    return true;
}

/* Each of two layers of two heads: [CLS] and 3 x 2 patches. */
static void select_patches(struct attn_backdrop *own, const char *heads, const char *queries)
{
    struct attn_dims dims = attn_made_up_small;

    dims.n_position = 7;
    attn_made_up_run_init(&made, &dims, NULL);
    attn_made_up_run_select(&made, "pattern", heads, queries);
    made.is_causal = false;
    *own = (struct attn_backdrop){
        .rgb = pixels, .height = 6, .width = 4, .stride = 4, .n_front = 1, .n_row = 3, .n_col = 2};
    made.run.backdrop = own;
    made.run.tokens = NULL;
    picture = ATTN_PICTURE_OPTIONS_DEFAULT;
}

/* The SVG of what is selected. */
static struct attn_svg svg_of_patches(void)
{
    struct attn_svg svg;
    size_t size;
    char *text = bytes_of(draw, "svg", SIZE_MAX, &size);

    text[size] = '\0';
    svg = attn_svg_parse(text);
    free(text);
    return svg;
}

START_TEST(a_map_shows_the_weights_of_its_query_on_the_picture)
{
    const struct attn_colormap *map = attn_colormap_find("blues");
    const struct attn_color_scale scale = {
        .curve = ATTN_CURVE_SQRT, .span = ATTN_SPAN_FIXED, .high = 1};
    struct attn_color_range range = {0, 0};
    struct attn_backdrop own;
    struct attn_svg svg;
    size_t n = 0;

    select_patches(&own, "all", "all");
    picture.colormap = map; /* else the picture itself is the color */
    svg = svg_of_patches();
    for (int layer = 0; layer < 2; layer++)
        for (int head = 0; head < 2; head++)
            for (size_t key = 1; key < 7; key++)
                range.high = fmax(range.high, fabs(value_of(layer, head, 0, key)));
    for (size_t i = 0; i < svg.n; i++) {
        const struct attn_svg_item *item = &svg.items[i];
        const double x = attn_svg_number(item, "x"), y = attn_svg_number(item, "y");
        const double side = attn_svg_number(item, "height") / 3;

        if (strcmp(item->name, "use") != 0)
            continue;
        for (size_t key = 1; key < 7; key++) {
            const double value = value_of((int)n / 2, (int)n % 2, 0, key);
            const int level = attn_color_level(&scale, range, value);
            const size_t row = (key - 1) / 2, column = (key - 1) % 2;
            const uint32_t seen = veil_at(&svg, x + ((double)column + 0.5) * side,
                                          y + ((double)row + 0.5) * side, side);

            ck_assert_msg(
                are_near(seen, attn_rgb_number(attn_colormap_color(map, ATTN_THEME_LIGHT, level))),
                "head %zu, key %zu: #%06x", n, key, (unsigned)seen);
        }
        n++;
    }
    ck_assert_uint_eq(n, 4);
    ck_assert_ptr_nonnull(attn_svg_text(&svg, "made-up: pattern of [CLS]", 0));
    attn_svg_release(&svg);
    attn_made_up_run_release(&made);
}
END_TEST

START_TEST(maps_fail_cleanly_wherever_memory_runs_out)
{
    static const char *const formats[] = {"svg", "heatmap", "html", "png", "pdf"};
    const size_t n_format = attn_can_draw() ? 5 : 3;
    struct attn_backdrop own;

    select_patches(&own, "1.0", "0,3");
    for (size_t i = 0; i < n_format; i++)
        assert_fails_cleanly(draw, formats[i]);
    attn_made_up_run_release(&made);
}
END_TEST

ATTN_SUITE("output_figures", svg_fails_cleanly_wherever_memory_runs_out,
           png_and_pdf_fail_cleanly_wherever_memory_runs_out,
           pictures_of_tables_fail_cleanly_wherever_memory_runs_out,
           rows_that_come_one_by_one_make_the_same_figure,
           a_map_shows_the_weights_of_its_query_on_the_picture,
           maps_fail_cleanly_wherever_memory_runs_out)
