/*
 * test_cli_figures.c - figures show the numbers of the CSV, under the labels of the CSV: colors are
 * read back through a formula of the test's own. Masked cells, left out keys and numbers that are
 * none look like no weight. Whatever labels hold, SVG is well formed.
 */
#include "tests/support/blues.h"
#include "tests/support/command.h"
#include "tests/support/csv.h"
#include "tests/support/folder.h"
#include "tests/support/naughty.h"
#include "tests/support/suite.h"
#include "tests/support/svg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static struct attn_csv csv_of(const char *const *args)
{
    struct attn_ran ran = run(args, (const char *const[]){"--csv", "-", NULL});
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
    *x = *y = INFINITY;
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

START_TEST(cells_have_the_side_that_is_asked_for)
{
    assert_matrix((const char *const[]){"run", "--sites", "pattern", "--heads", "2.5", "--cell",
                                        "20", TEXT, NULL},
                  30);
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

/* Every text that a person may write comes back as text, and the document stays well formed. */
START_TEST(whatever_text_holds_svg_is_well_formed)
{
    for (size_t i = 0; i < attn_n_naughty; i += ATTN_NAUGHTY_STEP) {
        struct attn_ran ran;
        struct attn_svg svg;

        if (!attn_naughty_is_argument(&attn_naughty[i]) ||
            !attn_naughty_is_utf8(&attn_naughty[i]) || attn_naughty[i].size == 0 ||
            attn_naughty[i].size > 200)
            continue;
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
    const char *const args[] = {"run", "--svg", "-", TEXT, NULL};
    struct attn_ran a = attn_command(args), b = attn_command(args);

    ck_assert_uint_eq(a.n_out, b.n_out);
    ck_assert_mem_eq(a.out, b.out, a.n_out);
    attn_ran_release(&a);
    attn_ran_release(&b);
}
END_TEST

ATTN_SUITE("cli_figures", a_matrix_shows_the_numbers_and_labels_of_the_csv,
           masked_cells_lie_where_the_mask_has_them, cells_have_the_side_that_is_asked_for,
           a_grid_shows_each_head_in_its_place, whatever_text_holds_svg_is_well_formed,
           equal_runs_give_equal_files)
