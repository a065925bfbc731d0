/*
 * test_cli_figures.c - figures show the numbers of the CSV, under the labels of the CSV: colors are
 * read back through a formula of the test's own. Masked cells, left out keys and numbers that are
 * none look like no weight. Whatever labels hold, SVG is well formed.
 */
#include "base/version.h"
#include "tests/support/command.h"
#include "tests/support/csv.h"
#include "tests/support/folder.h"
#include "tests/support/naughty.h"
#include "tests/support/parts.h"
#include "tests/support/picture.h"
#include "tests/support/suite.h"
#include "tests/support/svg.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT "The keys to the cabinet are on the table near the door"

enum { MOST_ARGS = 32, MOST_CELLS = 4096, MASKED = 0xc8c8c8 };

/* Runs ARGS [n] with MORE, ended by NULL, behind. */
static struct attn_ran run(const char *const *args, const char *const *more)
{
    const char *all[MOST_ARGS];
    size_t n = 0;

    for (; *args; args++)
        all[n++] = *args;
    for (; *more; more++)
        all[n++] = *more;
    ck_assert_uint_lt(n, MOST_ARGS);
    all[n] = NULL;
    struct attn_ran ran = attn_command(all);
    ck_assert_msg(ran.exit == 0, "%s", ran.err);
    return ran;
}

/* The numbers of the figure of ARGS. It is drawn, too: without it its options are refused. */
static struct attn_csv csv_of(const char *const *args)
{
    struct attn_ran ran =
        run(args, (const char *const[]){"--csv", "-", "--svg", "/dev/null", NULL});
    struct attn_csv csv = attn_csv_parse(ran.out);

    attn_ran_release(&ran);
    return csv;
}

static struct attn_svg svg_of(const char *const *args)
{
    struct attn_ran ran = run(args, (const char *const[]){"--svg", "-", NULL});
    struct attn_svg svg = attn_svg_parse(ran.out);

    attn_ran_release(&ran);
    return svg;
}

/* The cell of row R and column C, from 0, of the numbers in CSV. */
static const char *cell(const struct attn_csv *csv, size_t r, size_t c)
{
    return csv->cells[(r + 1) * csv->n_col + c + 1];
}

/* Fails unless COLORS show the numbers of CSV. */
static void assert_same(const struct attn_csv *csv, const uint32_t *colors)
{
    for (size_t r = 0; r + 1 < csv->n_row; r++)
        for (size_t c = 0; c + 1 < csv->n_col; c++) {
            const uint32_t color = colors[r * (csv->n_col - 1) + c];
            char what[64];

            snprintf(what, sizeof what, "row %zu, column %zu", r, c);
            if (*cell(csv, r, c) == '\0')
                ck_assert_msg(color == MASKED, "%s: #%06x is not masked", what, color);
            else
                attn_blues_assert(what, color, strtod(cell(csv, r, c), NULL));
        }
}

/* The token of a label `3|eat` without blanks around it. */
static const char *token_of(const char *label)
{
    static char token[256];
    const char *bar = strchr(label, '|');

    ck_assert_ptr_nonnull(bar);
    snprintf(token, sizeof token, "%s", bar + 1 + strspn(bar + 1, " "));
    return token;
}

/* The text element that shows WORDS at the middle of row, or column, I of the matrix. */
static void assert_label(const struct attn_svg *svg, const char *words, bool is_row, double middle)
{
    for (size_t nth = 0;; nth++) {
        const struct attn_svg_item *text = attn_svg_text(svg, words, nth);
        const char *place;
        double at;

        ck_assert_msg(text != NULL, "no label '%s' at %g", words, middle);
        place = attn_svg_value(svg, text, "transform");
        at = is_row  ? attn_svg_number(text, "y")
             : place ? strtod(place + strlen("translate("), NULL)
                     : attn_svg_number(text, "x");
        if (fabs(at - middle) < 6 && (!is_row || !isnan(attn_svg_number(text, "x"))))
            return;
    }
}

/* Where the frame of the matrix begins: the first box of cells. */
static void find_first_cell(const struct attn_svg *svg, double *x, double *y)
{
    *x = *y = (double)INFINITY;
    for (size_t i = 0; i < svg->n; i++) {
        const char *path = strcmp(svg->items[i].name, "path") == 0
                               ? attn_svg_value(svg, &svg->items[i], "d")
                               : NULL;
        const char *rendering = attn_svg_value(svg, &svg->items[i], "shape-rendering");
        double cell_x, cell_y;

        if (!rendering || !path)
            continue;
        for (; *path == 'M'; path = strchr(path, 'z') + 1) {
            sscanf(path, "M%lf %lf", &cell_x, &cell_y);
            *x = fmin(*x, cell_x);
            *y = fmin(*y, cell_y);
        }
        if (i + 1 < svg->n && svg->items[i + 1].parent != svg->items[i].parent)
            return; /* the next group is the legend */
    }
}

static void assert_labels(const struct attn_csv *csv, const struct attn_svg *svg, double side)
{
    double x, y;

    find_first_cell(svg, &x, &y);
    for (size_t r = 1; r < csv->n_row; r++)
        assert_label(svg, token_of(csv->cells[r * csv->n_col]), true,
                     y + ((double)r - 0.5) * side + 4);
    for (size_t c = 1; c < csv->n_col; c++)
        assert_label(svg, token_of(csv->cells[c]), false, x + ((double)c - 0.5) * side + 4);
}

static void assert_matrix(const char *const *args, double side)
{
    struct attn_csv csv = csv_of(args);
    struct attn_svg svg = svg_of(args);
    uint32_t colors[MOST_CELLS];

    attn_svg_cells(&svg, 0, side, csv.n_row - 1, csv.n_col - 1, colors);
    assert_same(&csv, colors);
    assert_labels(&csv, &svg, side);
    attn_svg_release(&svg);
    attn_csv_release(&csv);
}

START_TEST(a_matrix_shows_the_numbers_and_labels_of_the_csv)
{
    assert_matrix((const char *const[]){"run", "--sites", "pattern", "--heads", "2.5", TEXT, NULL},
                  18);
    assert_matrix((const char *const[]){"run", "--sites", "pattern", "--heads", "3.0", "--queries",
                                        "2-4,7,9", TEXT, NULL},
                  18);
}
END_TEST

START_TEST(masked_cells_lie_where_the_mask_has_them)
{
    assert_matrix((const char *const[]){"run", "--sites", "pattern", "--heads", "1.3",
                                        "--attention", "window:3", TEXT, NULL},
                  18);
    assert_matrix((const char *const[]){"run", "-m", "models/cross-attention", "--sites", "pattern",
                                        "--source", "eat dessert first", "Life is short", NULL},
                  18);
}
END_TEST

/* The column NAME of CSV. */
static size_t column_of(const struct attn_csv *csv, const char *name)
{
    for (size_t c = 0; c < csv->n_col; c++)
        if (strcmp(csv->cells[c], name) == 0)
            return c;
    ck_abort_msg("no column '%s'", name);
}

/* The cell of the row of LAYER and HEAD in the column NAME; empty where there is no such row. */
static const char *value_of(const struct attn_csv *csv, size_t layer, size_t head, const char *name)
{
    const size_t layers = column_of(csv, "layer"), heads = column_of(csv, "head");

    for (size_t r = 1; r < csv->n_row; r++) {
        char *const *row = csv->cells + r * csv->n_col;

        if (*row[layers] && *row[heads] && strtoul(row[layers], NULL, 10) == layer &&
            strtoul(row[heads], NULL, 10) == head)
            return row[column_of(csv, name)];
    }
    return "";
}

START_TEST(a_table_shows_the_numbers_of_its_csv)
{
    const char *const args[] = {"probe", "-m", "fable", "induction", NULL};
    struct attn_csv csv = csv_of(args);
    struct attn_svg svg = svg_of(args);
    uint32_t colors[32];

    attn_svg_cells(&svg, 0, 40, 4, 8, colors);
    for (size_t i = 0; i < 32; i++)
        attn_blues_assert("a head", colors[i],
                          strtod(value_of(&csv, i / 8, i % 8, "induction"), NULL));
    attn_svg_release(&svg);
    attn_csv_release(&csv);
}
END_TEST

START_TEST(numbers_of_both_signs_lie_around_the_middle)
{
    const char *const args[] = {"ablate", "-m",       "fable",
                                "-q",     "--target", " are",
                                "--foil", " is",      "The keys to the cabinet",
                                NULL};
    struct attn_csv csv = csv_of(args);
    struct attn_ran ran =
        run(args, (const char *const[]){"--svg", "-", "--style", "colormap=blues", NULL});
    struct attn_svg svg = attn_svg_parse(ran.out);
    uint32_t colors[32];
    double most = 0;

    attn_svg_cells(&svg, 0, 40, 4, 8, colors);
    for (size_t i = 0; i < 32; i++)
        most = fmax(most, fabs(strtod(value_of(&csv, i / 8, i % 8, "change"), NULL)));
    for (size_t i = 0; i < 32; i++) {
        const double change = strtod(value_of(&csv, i / 8, i % 8, "change"), NULL);

        ck_assert_int_eq(attn_blues_level(colors[i]), lround(255 * (0.5 + change / most / 2)));
    }
    attn_svg_release(&svg);
    attn_ran_release(&ran);
    attn_csv_release(&csv);
}
END_TEST

START_TEST(heads_that_a_table_lacks_look_like_no_number)
{
    const char *const args[] = {"probe",     "-m",      "fable", "induction", "--sort",
                                "duplicate", "--limit", "3",     NULL};
    struct attn_csv csv = csv_of(args);
    struct attn_svg svg = svg_of(args);
    const size_t layers[] = {0, 2, 3}, heads[] = {0, 2, 7}; /* of 3.7, 2.0 and 0.2 */
    uint32_t colors[9];

    attn_svg_cells(&svg, 0, 40, 3, 3, colors);
    for (size_t i = 0; i < 9; i++) {
        const char *value = value_of(&csv, layers[i / 3], heads[i % 3], "duplicate");

        ck_assert_int_eq(colors[i] == MASKED, *value == '\0');
        if (*value)
            attn_blues_assert("a head", colors[i], strtod(value, NULL));
    }
    ck_assert_ptr_nonnull(attn_svg_text(&svg, "no value", 0));
    attn_svg_release(&svg);
    attn_csv_release(&csv);
}
END_TEST

/* Fails unless the thumbnail whose first cell is at X and Y shows head HEAD. */
static void assert_thumbnail(const struct attn_svg *svg, const char *head, double x, double y)
{
    struct attn_csv csv =
        csv_of((const char *const[]){"run", "--sites", "pattern", "--heads", head, TEXT, NULL});
    uint32_t colors[MOST_CELLS];

    for (size_t r = 0; r + 1 < csv.n_row; r++)
        for (size_t c = 0; c + 1 < csv.n_col; c++)
            colors[r * (csv.n_col - 1) + c] =
                attn_svg_color(svg, 0, x + ((double)c + 0.5) * 8, y + ((double)r + 0.5) * 8);
    assert_same(&csv, colors);
    attn_csv_release(&csv);
}

/* Each thumbnail lies in the column of its head and the row of its layer. Of 12 tokens it has cells
 * of 8 and so a side of 96; 8 lie between two. */
START_TEST(a_grid_shows_each_head_in_its_place)
{
    struct attn_svg svg = svg_of(
        (const char *const[]){"run", "--sites", "pattern", "--heads", "1.2,1.7,3.5", TEXT, NULL});
    double x, y;

    find_first_cell(&svg, &x, &y);
    assert_thumbnail(&svg, "1.2", x, y);
    assert_thumbnail(&svg, "3.5", x + 104, y + 104);
    assert_thumbnail(&svg, "1.7", x + 2 * 104, y);
    ck_assert_uint_eq(attn_svg_color(&svg, 0, x + 50, y + 104 + 50), UINT32_MAX); /* no head 3.2 */
    attn_svg_release(&svg);
}
END_TEST

/* --- Lines, tokens, patches, points ------------------------------------------------------------
 */

START_TEST(tokens_lie_on_the_colors_of_their_weights)
{
    const char *const args[] = {"run", "--sites",  "pattern", "--heads", "3.0", "--queries",
                                "8",   "--figure", "tokens",  TEXT,      NULL};
    struct attn_csv csv = csv_of(args);
    struct attn_svg svg = svg_of(args);
    uint32_t colors[MOST_CELLS];
    size_t n = 0;

    for (size_t i = 0; i < svg.n; i++)
        if (strcmp(svg.items[i].name, "rect") == 0 &&
            attn_svg_number(&svg.items[i], "height") == 22)
            colors[n++] =
                (uint32_t)strtoul(attn_svg_value(&svg, &svg.items[i], "fill") + 1, NULL, 16);
    ck_assert_uint_eq(n, csv.n_col - 1);
    assert_same(&csv, colors);
    for (size_t c = 1; c < csv.n_col; c++) /* as they stand in the text, with their blanks */
        ck_assert_ptr_nonnull(attn_svg_text(&svg, strchr(csv.cells[c], '|') + 1, 0));
    ck_assert_ptr_nonnull(attn_svg_text(&svg, "query 8 table", 0));
    attn_svg_release(&svg);
    attn_csv_release(&csv);
}
END_TEST

/* --- Arcs ------------------------------------------------------------------------------------ */

/* A word in a figure of arcs: its box, and the weight of its column. */
struct word {
    double left, right, top, weight;
};

/* Finds the words of the columns of CSV in the order of the text. Returns their number. */
static size_t find_words(const struct attn_csv *csv, const struct attn_svg *svg, struct word *words)
{
    size_t n = 0;

    for (size_t i = 0; i < svg->n && n + 1 < csv->n_col; i++) {
        const char *token = strchr(csv->cells[n + 1], '|') + 1;
        const double x = attn_svg_number(&svg->items[i], "x"), size = 15;

        token += token[0] == ' ' && token[1] != '\0';
        if (strcmp(svg->items[i].name, "text") != 0 || strcmp(svg->items[i].text, token) != 0 ||
            strtod(attn_svg_value(svg, &svg->items[i], "font-size"), NULL) != size)
            continue;
        words[n].left = x;
        words[n].right = x + 0.6 * size * (double)strlen(token);
        words[n].top = attn_svg_number(&svg->items[i], "y") - 14.25;
        words[n].weight = strtod(cell(csv, 0, n), NULL);
        n++;
    }
    return n;
}

/* Fails if the line from X, Y to X2, Y2 is in the box of one of WORDS [n]. */
static void assert_spared(const struct word *words, size_t n, double x, double y, double x2,
                          double y2)
{
    for (size_t k = 0; k < n; k++)
        ck_assert_msg(fmax(x, x2) < words[k].left || fmin(x, x2) > words[k].right ||
                          fmax(y, y2) < words[k].top || fmin(y, y2) > words[k].top + 17,
                      "(%g, %g) to (%g, %g) is in word %zu", x, y, x2, y2, k);
}

static void assert_is_at(double seen, double expected)
{
    ck_assert_msg(fabs(seen - expected) < 0.1, "%g, not %g", seen, expected);
}

/* An arc is 16 times as wide as its weight, a ring at most MOST. */
static void assert_is_wide(double width, double weight, double most)
{
    const double expected = fmax(0.5, fmin(most, 16 * weight));

    ck_assert_msg(fabs(width - expected) < 0.03 * expected + 0.01, "%g, not %g", width, expected);
}

/* Fails if the curve with the points P goes through a word. */
static void assert_curve_spares(const struct word *words, size_t n, const double p[8])
{
    enum { STEPS = 16 };
    double from[2] = {p[0], p[1]};

    for (int i = 1; i <= STEPS; i++) {
        const double t = i / (double)STEPS, u = 1 - t;
        double to[2];

        for (int k = 0; k < 2; k++)
            to[k] = u * u * u * p[k] + 3 * u * u * t * p[2 + k] + 3 * u * t * t * p[4 + k] +
                    t * t * t * p[6 + k];
        assert_spared(words, n, from[0], from[1], to[0], to[1]);
        from[0] = to[0], from[1] = to[1];
    }
}

/* Fails unless arcs go from the query to all keys of at least 2 %, as wide as their weights, and
 * through no word. */
static void assert_arcs(size_t at, const char *text)
{
    char query[16];
    const char *const args[] = {"run", "--sites",  "pattern", "--heads", "2.5", "--queries",
                                query, "--figure", "arcs",    text,      NULL};
    struct attn_csv csv;
    struct attn_svg svg;
    struct word words[64];
    bool is_reached[64] = {false};
    size_t n;

    snprintf(query, sizeof query, "%zu", at);
    csv = csv_of(args);
    svg = svg_of(args);
    n = find_words(&csv, &svg, words);
    ck_assert_uint_eq(n, csv.n_col - 1);
    ck_assert(words[0].top == words[n - 1].top);
    for (size_t i = 0; i < svg.n; i++) {
        const struct attn_svg_item *item = &svg.items[i];
        const double width = attn_svg_number(item, "stroke-width");
        double p[8];

        if (strcmp(item->name, "circle") == 0) {
            assert_is_at(attn_svg_number(item, "cy") + attn_svg_number(item, "r") + width / 2,
                         words[at].top - 2);
            assert_is_wide(width, words[at].weight, 12);
            is_reached[at] = true;
        }
        if (strcmp(item->name, "path") != 0 ||
            sscanf(attn_svg_value(&svg, item, "d"), "M%lf %lfC%lf %lf %lf %lf %lf %lf", &p[0],
                   &p[1], &p[2], &p[3], &p[4], &p[5], &p[6], &p[7]) != 8)
            continue;
        assert_curve_spares(words, n, p);
        assert_is_at(p[1], words[at].top - 2);
        assert_is_at(p[7], words[at].top - 2);
        for (size_t k = 0; k < n; k++)
            if (p[6] > words[k].left && p[6] < words[k].right) {
                assert_is_wide(width, words[k].weight, 16);
                is_reached[k] = true;
            }
    }
    for (size_t k = 0; k < n; k++) {
        if (words[k].weight < 0.02)
            continue;
        ck_assert_msg(is_reached[k], "key %zu of %g", k, words[k].weight);
    }
    attn_svg_release(&svg);
    attn_csv_release(&csv);
}

START_TEST(arcs_go_to_their_keys_and_through_no_word)
{
    assert_arcs(4, "The keys to the cabinet");
    assert_arcs(2, "The keys to the cabinet");
}
END_TEST

/* --- Life ------------------------------------------------------------------------------------ */

enum { MOST_PLACES = 32, N_LAYER = 4 };

/* The vertical lines of all positions, from left to right: their x, and where they end. */
struct streams {
    double x[MOST_PLACES], bottom, top;
    size_t n;
};

static struct streams find_streams(const struct attn_svg *svg)
{
    struct streams streams = {.n = 0};

    for (size_t i = 0; i < svg->n && streams.n == 0; i++) {
        const char *at =
            strcmp(svg->items[i].name, "path") == 0 ? attn_svg_value(svg, &svg->items[i], "d") : "";
        int size;

        while (streams.n < MOST_PLACES && sscanf(at, "M%lf %lfV%lf%n", &streams.x[streams.n],
                                                 &streams.bottom, &streams.top, &size) == 3) {
            streams.n++;
            at += size;
        }
    }
    return streams;
}

/* Number C of row I of a table; NaN if it is empty. */
static double number_of(const struct attn_csv *csv, size_t i, size_t c)
{
    const char *text = csv->cells[(i + 1) * csv->n_col + c];

    return *text ? strtod(text, NULL) : (double)NAN;
}

/* Returns the corners of the ribbon with MARK, x and y from its upper left; NULL if there is none.
 */
static const double *find_ribbon(const struct attn_svg *svg, const char *mark, const char *color)
{
    static double at[8];

    for (size_t i = 0; i < svg->n; i++) {
        const char *is = attn_svg_value(svg, &svg->items[i], "data-i");

        if (!is || strncmp(is, mark, strlen(mark)) != 0 || is[strlen(mark)] != '\n')
            continue;
        ck_assert_int_eq(strncmp(attn_svg_value(svg, &svg->items[i], "fill"), color, strlen(color)),
                         0);
        ck_assert_int_eq(sscanf(attn_svg_value(svg, &svg->items[i], "d"),
                                "M%lf %lfL%lf %lfL%lf %lfL%lf %lf", &at[0], &at[1], &at[2], &at[3],
                                &at[4], &at[5], &at[6], &at[7]),
                         8);
        return at;
    }
    return NULL;
}

static const char *color_of_sign(double value)
{
    return value < 0 ? "#2769b7" : "#a34d00";
}

/* Returns the largest number of an MLP that is drawn whole: twice all that heads bring in a layer.
 * CSV has what they bring from each key. */
static double most_of(const struct attn_csv *csv)
{
    double sums[N_LAYER] = {0}, most = 0;

    for (size_t i = 0; i + 1 < csv->n_row; i++) {
        double *sum = &sums[(size_t)number_of(csv, i, 0)];

        *sum += fabs(number_of(csv, i, 4));
        most = fmax(most, 2 * *sum);
    }
    return most;
}

/* The ribbons of a life are as high as what heads read from each key, and MLPs, add to the answer;
 * MLPs that are much higher are cut short, with a gap. Those of a word in a layer begin one above
 * the other, and layers do not overlap on the stream. */
START_TEST(life_has_ribbons_as_high_as_parts)
{
    enum { N_KEY = 14 };
    static const char text[] = "When Mary and John went to the store, John gave a drink to";
    const char *const by_part[] = {"attribute", "-q",    "--target", " Mary",
                                   "--foil",    " John", text,       NULL};
    const char *const by_key[] = {"attribute", "-q",    "--target", " Mary", "--foil", " John",
                                  "--by",      "token", "--limit",  "0",     text,     NULL};
    struct attn_csv parts = csv_of(by_part), keys = csv_of(by_key);
    struct attn_svg svg = svg_of((const char *const[]){"lens", "-q", "--figure", "life", "--target",
                                                       " Mary", "--foil", " John", text, NULL});
    const struct streams streams = find_streams(&svg);
    const double end = streams.x[N_KEY - 1], most = most_of(&keys);
    double ends[N_LAYER][N_KEY][3] = {{{0}}}, scale = 0,
           tops[N_LAYER] = {0}; /* of a word: top, bottom, sum of heights */
    const double *at;
    char mark[32];
    size_t n_ribbon = 0, n_cut = 0;

    for (size_t i = 0; i + 1 < parts.n_row; i++) {
        const double value = number_of(&parts, i, 3);

        if (strcmp(parts.cells[(i + 1) * parts.n_col], "mlp") != 0)
            continue;
        snprintf(mark, sizeof mark, "%.0f,,", number_of(&parts, i, 1));
        at = find_ribbon(&svg, mark, color_of_sign(value));
        ck_assert_ptr_nonnull(at);
        ck_assert(fabs(at[0] - end - 20) < 0.01 && fabs(at[2] - end) < 0.01);
        n_cut += fabs(value) > most;
        scale = scale > 0 ? scale : (at[5] - at[3]) / fmin(most, fabs(value));
        ck_assert_double_eq_tol(at[5] - at[3], scale * fmin(most, fabs(value)),
                                0.02 + 0.002 * (at[5] - at[3]));
        tops[(size_t)number_of(&parts, i, 1)] = at[3];
    }
    for (size_t i = 0; i + 1 < keys.n_row; i++) {
        const double value = number_of(&keys, i, 4);
        const size_t layer = (size_t)number_of(&keys, i, 0), key = (size_t)number_of(&keys, i, 2);
        double *of = ends[layer][key];

        snprintf(mark, sizeof mark, "%zu,%.0f,%zu", layer, number_of(&keys, i, 1), key);
        at = find_ribbon(&svg, mark, color_of_sign(value));
        if (scale * fabs(value) > 1.52) /* those below a point are in the rest */
            ck_assert_ptr_nonnull(at);
        else if (scale * fabs(value) < 1.48)
            ck_assert_ptr_null(at);
        if (!at)
            continue;
        ck_assert_double_eq_tol(at[5] - at[3], scale * fabs(value), 0.03);
        ck_assert(layer == 0 || at[5] < tops[layer - 1]);
        ck_assert_double_eq_tol(at[0], key + 1 < N_KEY ? streams.x[key] : end - 20, 0.01);
        of[0] = of[2] > 0 ? fmin(of[0], at[1]) : at[1];
        of[1] = fmax(of[1], at[7]);
        of[2] += at[7] - at[1];
        n_ribbon++;
    }
    for (size_t i = 0; i < (size_t)N_LAYER * (N_KEY - 1); i++) {
        const double *of = ends[i / (N_KEY - 1)][i % (N_KEY - 1)];

        ck_assert_double_eq_tol(of[1] - of[0], of[2], 0.05);
    }
    ck_assert_uint_gt(n_ribbon, 8);
    for (size_t i = 0; i < svg.n; i++) {
        const char *stroke = strcmp(svg.items[i].name, "path") == 0
                                 ? attn_svg_value(&svg, &svg.items[i], "stroke")
                                 : NULL;

        n_cut -= stroke && strncmp(stroke, "#ffffff", 7) == 0;
    }
    ck_assert_uint_eq(n_cut, 0);
    attn_svg_release(&svg);
    attn_csv_release(&parts);
    attn_csv_release(&keys);
}
END_TEST

/* Returns the height of the ribbon with MARK that is for the answer, and its opacity. */
static double height_of(const struct attn_svg *svg, const char *mark, double *opacity)
{
    const double *at = find_ribbon(svg, mark, "#a34d00");

    ck_assert_ptr_nonnull(at);
    for (size_t i = 0; i < svg->n; i++)
        if (strcmp(svg->items[i].name, "path") == 0 &&
            strstr(svg->items[i].attributes, "data-i=") &&
            strncmp(attn_svg_value(svg, &svg->items[i], "data-i"), mark, strlen(mark)) == 0)
            *opacity = attn_svg_number(&svg->items[i], "fill-opacity");
    return at[7] - at[1];
}

/* With edits a life keeps the scale of the run without them. A ribbon that is gone leaves a ghost
 * of its height, with its mark. The subtitle names a logit, and the embedding has its name. */
START_TEST(a_life_shows_what_an_edit_takes)
{
    static const char text[] = "When Mary and John went to the store, John gave a drink to";
    const char *const plain[] = {"lens", "-q", "--figure", "life", text, "--target", " Mary", NULL};
    const char *const edited[] = {"lens",     "-q",    "--figure",   "life",     text,
                                  "--target", " Mary", "--knockout", "13>1@3.6", NULL};
    struct attn_svg before = svg_of(plain), now = svg_of(edited);
    struct attn_csv old = csv_of(plain), new = csv_of(edited);
    double opacity[2], mlp[2] = {0};

    ck_assert_double_eq_tol(height_of(&before, "3,6,1", &opacity[0]),
                            height_of(&now, "3,6,1", &opacity[1]), 0.02);
    ck_assert(opacity[0] > 0.8 && opacity[1] < 0.3);
    ck_assert_ptr_nonnull(attn_svg_text(&now, "3.6, was +1.44", 0));
    ck_assert_ptr_nonnull(attn_svg_text(&now, "without the change", 0));
    ck_assert_ptr_null(attn_svg_text(&before, "without the change", 0));
    ck_assert_ptr_nonnull(attn_svg_text(&now,
                                        "life of 'to': what each layer adds to logit(Mary); fable; "
                                        "When Mary and John went to the store, John gave a drink",
                                        0));
    ck_assert_uint_eq(new.n_col, old.n_col + 1);
    for (size_t i = 0; i + 1 < new.n_row; i++)
        if (strcmp(new.cells[(i + 1) * new.n_col], "mlp") == 0 && number_of(&new, i, 1) == 3)
            mlp[1] = number_of(&new, i, 5);
    for (size_t i = 0; i + 1 < old.n_row; i++)
        if (strcmp(old.cells[(i + 1) * old.n_col], "mlp") == 0 && number_of(&old, i, 1) == 3)
            mlp[0] = number_of(&old, i, 5);
    ck_assert_double_ne(mlp[0], mlp[1]);
    ck_assert_double_eq_tol(height_of(&now, "3,,", &opacity[1]), /* both are cut short */
                            height_of(&before, "3,,", &opacity[0]), 0.01);
    attn_csv_release(&old);
    attn_csv_release(&new);
    attn_svg_release(&before);
    attn_svg_release(&now);
}
END_TEST

START_TEST(patches_are_the_row_as_an_image)
{
    const char *const args[] = {"run", "--sites",  "pattern",     "--heads", "2.5", "--queries",
                                "-1",  "--figure", "patches:3x4", TEXT,      NULL};
    struct attn_csv csv = csv_of(args);
    struct attn_svg svg = svg_of(args);
    uint32_t colors[12];

    ck_assert_uint_eq(csv.n_col, 13);
    attn_svg_cells(&svg, 0, 18, 3, 4, colors);
    assert_same(&csv, colors);
    attn_svg_release(&svg);
    attn_csv_release(&csv);
}
END_TEST

/* Names of curves stand right of the plot and do not overlap, although all end at 0. */
START_TEST(names_of_curves_keep_a_distance)
{
    struct attn_svg svg = svg_of((const char *const[]){"lens", "--target", " are", "--queries",
                                                       "1-6", "--figure", "curve", TEXT, NULL});
    double at[6], right = 0;
    size_t n = 0;

    for (size_t i = 0; i < svg.n; i++) {
        const struct attn_svg_item *item = &svg.items[i];

        if (strcmp(item->name, "circle") == 0)
            right = fmax(right, attn_svg_number(item, "cx"));
        if (strcmp(item->name, "text") != 0 ||
            strtod(attn_svg_value(&svg, item, "font-size"), NULL) != 13.5)
            continue;
        ck_assert_uint_lt(n, 6);
        ck_assert_double_gt(attn_svg_number(item, "x"), right);
        at[n++] = attn_svg_number(item, "y");
        ck_assert(n < 2 || at[n - 1] - at[n - 2] >= 13.5);
    }
    ck_assert_uint_eq(n, 6);
    attn_svg_release(&svg);
}
END_TEST

/* The weights of the row in percent, the strongest key in bold, and its parts with their scales. */
START_TEST(an_explanation_shows_the_weights_of_its_row)
{
    static const char *const names[] = {
        "q", "z", "k", "score", "exp(score - largest)", "v", "k, q", "weight x v", "weight x v, z"};
    const char *const row[] = {"run", "--heads", "2.5", "--queries", "6", TEXT, NULL};
    struct attn_csv csv = csv_of((const char *const[]){"run", "--sites", "pattern", "--heads",
                                                       "2.5", "--queries", "6", TEXT, NULL});
    struct attn_svg svg;
    struct attn_ran ran;
    size_t strongest = 0;
    char number[32];

    attn_folder_enter();
    ran = run(row, (const char *const[]){"--explain", "--svg", "e.svg", NULL});
    ck_assert_ptr_nonnull(strstr(ran.out, "layer 2, head 5"));
    attn_ran_release(&ran);
    ran = (struct attn_ran){.out = attn_file_text("e.svg")};
    svg = attn_svg_parse(ran.out);
    for (size_t c = 0; c < 7; c++) {
        snprintf(number, sizeof number, "%.1f", 100 * strtod(cell(&csv, 0, c), NULL));
        ck_assert_msg(attn_svg_text(&svg, number, 0) != NULL, "no weight %s", number);
        if (strtod(cell(&csv, 0, c), NULL) > strtod(cell(&csv, 0, strongest), NULL))
            strongest = c;
    }
    snprintf(number, sizeof number, "%s", token_of(csv.cells[strongest + 1]));
    ck_assert_ptr_nonnull(attn_svg_text(&svg, number, 0));
    ck_assert_ptr_nonnull(attn_svg_value(&svg, attn_svg_text(&svg, number, 0), "font-weight"));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ck_assert_msg(attn_svg_text(&svg, names[i], 0) != NULL, "no %s", names[i]);
    attn_svg_release(&svg);
    attn_csv_release(&csv);
    free(ran.out);
    remove("e.svg");
    attn_folder_leave();
}
END_TEST

/* --- PNG and PDF -------------------------------------------------------------------------------
 */

/* The color that most pixels of a cell have: lines and numbers take the others. */
static uint32_t most_frequent(const struct attn_picture *picture, size_t x, size_t y, size_t side)
{
    uint32_t best = 0;
    size_t most = 0;

    for (size_t i = 0; i < side * side; i++) {
        const uint32_t color = picture->pixels[(y + i / side) * picture->width + x + i % side];
        size_t n = 0;

        for (size_t k = 0; k < side * side; k++)
            n += picture->pixels[(y + k / side) * picture->width + x + k % side] == color;
        if (n > most)
            most = n, best = color;
    }
    return best;
}

/* The PNG has its cells where the SVG has them: both are laid out alike. */
static void assert_pixels(const char *const *args, size_t side)
{
    struct attn_csv csv = csv_of(args);
    struct attn_svg svg = svg_of(args);
    struct attn_ran ran = run(args, (const char *const[]){"--png", "-", NULL});
    const double unit = 144 / 108.0; /* pixels; of 18 units: 24 */
    const size_t pixels = (size_t)((double)side * unit);
    struct attn_picture picture;
    uint32_t colors[MOST_CELLS];
    double x, y;

    attn_picture_read(ran.out, ran.n_out, &picture);
    find_first_cell(&svg, &x, &y);
    for (size_t r = 0; r + 1 < csv.n_row; r++)
        for (size_t c = 0; c + 1 < csv.n_col; c++)
            colors[r * (csv.n_col - 1) + c] = most_frequent(
                &picture, (size_t)(x * unit) + c * pixels, (size_t)(y * unit) + r * pixels, pixels);
    assert_same(&csv, colors);
    attn_picture_release(&picture);
    attn_ran_release(&ran);
    attn_svg_release(&svg);
    attn_csv_release(&csv);
}

START_TEST(a_png_shows_the_numbers_of_the_csv)
{
    if (!attn_can_draw())
        return;
    assert_pixels((const char *const[]){"run", "--sites", "pattern", "--heads", "2.5", TEXT, NULL},
                  18);
    assert_pixels((const char *const[]){"run", "--sites", "pattern", "--heads", "1.3", "--queries",
                                        "3-8", "--attention", "window:4", TEXT, NULL},
                  18);
    assert_pixels((const char *const[]){"run", "-m", "models/cross-attention", "--sites", "pattern",
                                        "--source", "eat dessert first", "Life is short", NULL},
                  18);
}
END_TEST

/* Version, model, text and options; no path and no date. */
START_TEST(a_png_says_what_it_shows)
{
    struct attn_picture picture;
    struct attn_ran ran;

    if (!attn_can_draw())
        return;
    ran = attn_command((const char *[]){"run", "-m", "models/cross-attention", "--source",
                                        "eat dessert first", "--mask", "none", "--png", "-",
                                        "Life is short", NULL});
    ck_assert_msg(ran.exit == 0, "%s", ran.err);
    attn_picture_read(ran.out, ran.n_out, &picture);
    ck_assert_str_eq(picture.texts,
                     "Title=cross-attention, layer 0, head 0: pattern\nText=Life is short\n"
                     "Subject=cross-attention, layer 0, head 0\nSite=pattern\nShows=weight, "
                     "%\nScale=square root\n"
                     "Options=--mask none\nSoftware=attn-cli " ATTN_VERSION "\n");
    ck_assert_str_eq(picture.chunks,
                     "IHDR pHYs tEXt tEXt tEXt tEXt tEXt tEXt tEXt tEXt IDAT IEND ");
    attn_picture_release(&picture);
    attn_ran_release(&ran);
}
END_TEST

/* What COMMAND prints; false when there is no such program. */
static bool read_program(const char *command, char *text, size_t size)
{
    FILE *program = popen(command, "r");
    size_t n;

    ck_assert_ptr_nonnull(program);
    n = fread(text, 1, size - 1, program);
    text[n] = '\0';
    return pclose(program) == 0;
}

START_TEST(text_of_a_pdf_can_be_copied_and_its_fonts_are_embedded)
{
    static char text[1 << 16];
    struct attn_ran ran;

    if (!attn_can_draw())
        return;
    attn_folder_enter();
    ran = attn_command((const char *[]){"run", "--heads", "2.5", "--pdf", "f.pdf", TEXT, NULL});
    ck_assert_msg(ran.exit == 0, "%s", ran.err);
    attn_ran_release(&ran);
    if (read_program("pdftotext f.pdf - 2>/dev/null", text, sizeof text)) {
        ck_assert_ptr_nonnull(strstr(text, "fable, layer 2, head 5: pattern"));
        ck_assert_ptr_nonnull(strstr(text, "keys"));
        ck_assert_ptr_nonnull(strstr(text, "key: attended to"));
        ck_assert(read_program("pdffonts f.pdf", text, sizeof text));
        ck_assert_ptr_null(strstr(text, "Type 3"));
        ck_assert(read_program("pdfinfo f.pdf", text, sizeof text));
        ck_assert_ptr_null(strstr(text, "CreationDate"));
        ck_assert_ptr_nonnull(strstr(text, "attn-cli " ATTN_VERSION));
    } else {
        attn_skip_test("there is no pdftotext (Debian package poppler-utils)");
    }
    remove("f.pdf");
    attn_folder_leave();
}
END_TEST

/* Below small cells, as those of the ramp are, lies the same as an image. Where a page places the
 * figure between two pixels, paper shines through its edges otherwise. */
START_TEST(small_cells_of_a_pdf_lie_on_an_image)
{
    static char text[1 << 12];
    struct attn_ran ran;

    if (!attn_can_draw())
        return;
    attn_folder_enter();
    ran = attn_command((const char *[]){"run", "--heads", "2.5", "--pdf", "f.pdf", TEXT, NULL});
    ck_assert_msg(ran.exit == 0, "%s", ran.err);
    attn_ran_release(&ran);
    if (read_program("pdfimages -list f.pdf 2>/dev/null", text, sizeof text))
        ck_assert_ptr_nonnull(strstr(text, "image      14   128"));
    else
        attn_skip_test("there is no pdfimages (Debian package poppler-utils)");
    remove("f.pdf");
    attn_folder_leave();
}
END_TEST

/* Nothing is computed and nothing appears. */
START_TEST(without_the_library_it_says_what_to_install)
{
    static const char *const formats[] = {"--png", "--pdf"};
    char folder[4096], library[4200], variable[4200];

    attn_folder_enter();
    ck_assert_ptr_nonnull(getcwd(folder, sizeof folder));
    snprintf(library, sizeof library, "%s/libpangocairo-1.0.so.0", folder);
    snprintf(variable, sizeof variable, "LD_LIBRARY_PATH=%s", folder);
    attn_folder_write(library, "", 0);
    for (size_t i = 0; i < 2; i++) {
        struct attn_ran ran =
            attn_command_in((const char *[]){variable, NULL},
                            (const char *[]){"run", formats[i], "heads.x", "no text", NULL});

        attn_assert_failed(formats[i], &ran, 5);
        ck_assert_str_eq(ran.err,
                         "attn-cli: error: 'heads.x' needs libpangocairo-1.0.so.0, which is not "
                         "installed\nhint: apt-get install libpangocairo-1.0-0, or --svg, which "
                         "needs nothing\n");
        attn_ran_release(&ran);
        ck_assert_uint_eq(attn_folder_count(), 1);
    }
    remove(library);
    attn_folder_leave();
}
END_TEST

START_TEST(without_fonts_text_is_boxes_and_a_note_tells)
{
    static const char none[] = "<?xml version=\"1.0\"?><fontconfig></fontconfig>";
    char folder[4096], variable[4200];
    struct attn_picture picture;
    struct attn_ran ran;

    if (!attn_can_draw())
        return;
    attn_folder_enter();
    ck_assert_ptr_nonnull(getcwd(folder, sizeof folder));
    snprintf(variable, sizeof variable, "FONTCONFIG_FILE=%s/none.conf", folder);
    attn_folder_write("none.conf", none, strlen(none));
    ran = attn_command_in((const char *[]){variable, NULL},
                          (const char *[]){"run", "--heads", "0.0", "--png", "-", "The", NULL});
    ck_assert_int_eq(ran.exit, 0);
    ck_assert_ptr_nonnull(strstr(ran.err, "labels have characters of which no font is installed"));
    attn_picture_read(ran.out, ran.n_out, &picture);
    attn_picture_release(&picture);
    attn_ran_release(&ran);
    remove("none.conf");
    attn_folder_leave();
}
END_TEST

/* --- Everything ------------------------------------------------------------------------------- */

/* Every text that a person may write comes back as text, and the document stays well formed. */
START_TEST(whatever_text_holds_svg_is_well_formed)
{
    for (size_t i = 0; i < attn_n_naughty; i += attn_one_in(ATTN_NAUGHTY_STEP)) {
        struct attn_ran ran;
        struct attn_svg svg;

        if (!attn_naughty_is_argument(&attn_naughty[i]) ||
            !attn_naughty_is_utf8(&attn_naughty[i]) || attn_naughty[i].size == 0 ||
            attn_naughty[i].size > 200 || strcmp(attn_naughty[i].text, "--help") == 0)
            continue; /* an option is no value of another */
        ran =
            attn_command((const char *[]){"run", "--heads", "0.0", "--svg", "-", "--title",
                                          attn_naughty[i].text, "-p", attn_naughty[i].text, NULL});
        ck_assert_msg(ran.exit == 0, "%zu: %s", i, ran.err);
        attn_assert_printable("SVG", ran.out, ran.n_out);
        svg = attn_svg_parse(ran.out);
        attn_svg_release(&svg);
        attn_ran_release(&ran);
    }
}
END_TEST

START_TEST(equal_runs_give_equal_files)
{
    static const char *const formats[] = {"--svg", "--png", "--pdf"};
    const size_t n_format = attn_can_draw() ? 3 : 1;

    for (size_t i = 0; i < n_format; i++) {
        const char *const args[] = {"run", formats[i], "-", TEXT, NULL};
        struct attn_ran a = attn_command(args), b = attn_command(args);

        ck_assert_int_eq(a.exit, 0);
        ck_assert_uint_eq(a.n_out, b.n_out);
        ck_assert_mem_eq(a.out, b.out, a.n_out);
        attn_ran_release(&a);
        attn_ran_release(&b);
    }
}
END_TEST

ATTN_SUITE("cli_figures", a_matrix_shows_the_numbers_and_labels_of_the_csv,
           a_table_shows_the_numbers_of_its_csv, numbers_of_both_signs_lie_around_the_middle,
           heads_that_a_table_lacks_look_like_no_number, masked_cells_lie_where_the_mask_has_them,
           a_grid_shows_each_head_in_its_place, tokens_lie_on_the_colors_of_their_weights,
           arcs_go_to_their_keys_and_through_no_word, life_has_ribbons_as_high_as_parts,
           a_life_shows_what_an_edit_takes, patches_are_the_row_as_an_image,
           names_of_curves_keep_a_distance, an_explanation_shows_the_weights_of_its_row,
           a_png_shows_the_numbers_of_the_csv, a_png_says_what_it_shows,
           text_of_a_pdf_can_be_copied_and_its_fonts_are_embedded,
           small_cells_of_a_pdf_lie_on_an_image, without_the_library_it_says_what_to_install,
           without_fonts_text_is_boxes_and_a_note_tells, whatever_text_holds_svg_is_well_formed,
           equal_runs_give_equal_files)
