/*
 * test_heatmap.c - heat maps of made-up matrices: their colors are read back to weights by a table
 * that is not the tool's, and compared with what went in; what has no value looks like nothing
 * else.
 */
#include "base/random.h"
#include "pictures/levels.h"
#include "pictures/picture.h"
#include "tensors/outputs_internal.h"
#include "tensors/writer.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/picture.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 6, N_WIDE = 300 };

static const char *const tokens[N] = {"The", " \xe7\x8c\xab", " \xd7\xa9\xd7\x9c", " a|b", " ",
                                      "\n"};
static const size_t sizes[N] = {3, 4, 5, 4, 1, 1};

/* A head: NaN where a cell is masked. */
struct matrix {
    size_t n;
    double *cells; /* [n, n] owns */
};

static struct matrix make_matrix(size_t n)
{
    struct matrix m = {n, calloc(n * n, sizeof *m.cells)};
    struct attn_random random;

    attn_random_seed(&random, 5);
    for (size_t i = 0; i < n * n; i++)
        m.cells[i] = i % n <= i / n ? (double)((float)(attn_random_u32(&random) % 1000) / 1000.0F)
                                    : (double)NAN;
    return m;
}

/* --- The writer under test ------------------------------------------------------------------- */

static struct attn_selection *select_layers(size_t n_layer, size_t n_head, size_t n)
{
    const struct attn_dims dims = {.n_layer = n_layer,
                                   .n_head = n_head,
                                   .n_kv_head = n_head,
                                   .d_head = 2,
                                   .d_value = 2,
                                   .n_position = n,
                                   .sites = ATTN_SITES(ATTN_SITE_PATTERN)};
    struct attn_selection *selection;

    ck_assert_int_eq(attn_selection_create(&dims, &selection, NULL), ATTN_OK);
    return selection;
}

static struct attn_selection *select_all(size_t n)
{
    return select_layers(1, 1, n);
}

/* Hands M over row by row, the cells that count with their keys. */
static void play(struct attn_writer *writer, const struct matrix *m)
{
    float *values = calloc(m->n, sizeof *values);
    int32_t *keys = calloc(m->n, sizeof *keys);

    for (size_t i = 0; i < m->n; i++) {
        size_t n = 0;
        struct attn_error err = {0};
        const struct attn_trace_event event = {.at.site = ATTN_SITE_PATTERN,
                                               .row0 = i,
                                               .n_row = 1,
                                               .n_col = m->n,
                                               .ld = m->n,
                                               .data = values,
                                               .keys = keys,
                                               .n_kept = &n};

        for (size_t j = 0; j < m->n; j++)
            if (m->cells[i * m->n + j] == m->cells[i * m->n + j]) {
                keys[n] = (int32_t)j;
                values[n++] = (float)m->cells[i * m->n + j];
            } else if (m->cells[i * m->n + j] != 0 && j <= i && signbit(m->cells[i * m->n + j])) {
                keys[n] = (int32_t)j; /* -NaN stands for one that is told */
                values[n++] = NAN;
            }
        ck_assert_msg(attn_writer_event(writer, &event, &err) == ATTN_OK, "%s", err.message);
    }
    free(values);
    free(keys);
}

static char *draw(const struct matrix *m, const struct attn_picture_options *picture)
{
    struct attn_writer_options options = ATTN_WRITER_OPTIONS_DEFAULT;
    struct attn_labels labels = {.selection = select_all(m->n)};
    struct attn_writer *writer;
    struct attn_sink *sink;
    const char *bytes;
    size_t size;
    char *text;

    if (m->n == N) {
        labels.tokens = tokens;
        labels.token_sizes = sizes;
    }
    options.picture = picture;
    ck_assert_int_eq(attn_sink_create_memory(&sink, NULL), ATTN_OK);
    ck_assert_int_eq(attn_writer_create_sink(attn_format_find("heatmap"), sink, &labels, &options,
                                             &writer, NULL),
                     ATTN_OK);
    play(writer, m);
    ck_assert_int_eq(attn_writer_finish(writer, NULL), ATTN_OK);
    bytes = attn_sink_bytes(sink, &size);
    text = strndup(bytes, size);
    attn_writer_free(writer);
    attn_sink_free(sink);
    attn_selection_free((struct attn_selection *)(uintptr_t)labels.selection);
    return text;
}

/* --- Reading what it drew -------------------------------------------------------------------- */

/* Colors as the text sets them; -1: the terminal's own. */
struct pen {
    long text, ground;
};

/* Takes the SGR sequence at AT into account; returns what follows it. */
static const char *read_sequence(const char *at, struct pen *pen)
{
    int code, r, g, b, used = 0;

    if (strncmp(at, "\033[0m", 4) == 0) {
        *pen = (struct pen){-1, -1};
        return at + 4;
    }
    ck_assert_msg(sscanf(at, "\033[%d;2;%d;%d;%dm%n", &code, &r, &g, &b, &used) == 4, "%.20s",
                  at + 1);
    *(code == 38 ? &pen->text : &pen->ground) = (long)r << 16 | (long)g << 8 | b;
    return at + used;
}

/* Line LINE of TEXT, 0 the first. */
static const char *line_of(const char *text, size_t line)
{
    while (line-- > 0) {
        text = strchr(text, '\n');
        ck_assert_ptr_nonnull(text);
        text++;
    }
    return text;
}

/* Goes over LINE to its cell CELL of the three columns after COLUMN first ones; the wide ones count
 * two, marks none. */
static void read_cell(const char *line, size_t column, size_t cell, char seen[4], struct pen *pen)
{
    const size_t first = column + 4 * cell + 1;
    size_t at = 0, n = 0;

    *pen = (struct pen){-1, -1};
    memset(seen, 0, 4);
    while (*line && *line != '\n' && n < 3) {
        if (*line == '\033') {
            line = read_sequence(line, pen);
            continue;
        }
        if ((*line & 0xc0) == 0x80 || strncmp(line, "\xe2\x80\x8e", 3) == 0) {
            line += (*line & 0xc0) == 0x80 ? 1 : 3;
            continue;
        }
        if (at >= first)
            seen[n++] = *line;
        at += (unsigned char)*line == 0xe7 ? 2 : 1;
        line++;
    }
}

static struct attn_picture_options in_blues(void)
{
    struct attn_picture_options picture = ATTN_PICTURE_OPTIONS_DEFAULT;

    picture.colormap = attn_colormap_find("blues");
    picture.depth = ATTN_DEPTH_24_BIT;
    return picture;
}

enum { LABELS = 13 }; /* columns of position and label */

START_TEST(colors_and_percents_are_the_weights)
{
    const struct attn_picture_options picture = in_blues();
    struct matrix m = make_matrix(N);
    char *text = draw(&m, &picture);

    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j <= i; j++) {
            const double weight = m.cells[i * N + j];
            const long percent = lround(100 * weight);
            char seen[4];
            struct pen pen;

            read_cell(line_of(text, 2 + i), LABELS, j, seen, &pen);
            attn_blues_assert(seen, (uint32_t)pen.ground, weight);
            if (percent == 0)
                ck_assert_str_eq(seen, "  .");
            else
                ck_assert_msg(strtol(seen, NULL, 10) == percent, "'%s' of %g", seen, weight);
        }
    free(text);
    free(m.cells);
}
END_TEST

START_TEST(what_has_no_value_is_told_from_0_and_from_each_other)
{
    struct attn_picture_options picture = in_blues();
    struct matrix m = make_matrix(N);
    char seen[4];
    struct pen pen;
    char *text;

    picture.hides = ATTN_HIDDEN_FIRST;
    m.cells[3 * N + 1] = 0;
    m.cells[3 * N + 2] = copysign((double)NAN, -1); /* not finite */
    for (size_t i = 0; i < N; i++)
        m.cells[i * N] = copysign((double)NAN, 1); /* as the view leaves it out */
    text = draw(&m, &picture);
    read_cell(line_of(text, 2 + 3), LABELS, 0, seen, &pen);
    ck_assert_str_eq(seen, " --");
    ck_assert_int_eq(pen.ground, -1);
    read_cell(line_of(text, 2 + 3), LABELS, 1, seen, &pen);
    ck_assert_str_eq(seen, "  .");
    ck_assert_int_eq(pen.ground, 0xffffff); /* the first color */
    read_cell(line_of(text, 2 + 3), LABELS, 2, seen, &pen);
    ck_assert_str_eq(seen, " !!");
    ck_assert_int_eq(pen.ground, -1);
    read_cell(line_of(text, 2 + 3), LABELS, 4, seen, &pen);
    ck_assert_str_eq(seen, ""); /* the line ends before a masked cell */
    free(text);
    free(m.cells);
}
END_TEST

START_TEST(half_blocks_have_the_largest_of_the_cells_they_stand_for)
{
    enum { WIDTH = 80, CELLS = WIDTH - 20, K = N_WIDE / CELLS };
    struct attn_picture_options picture = in_blues();
    struct matrix m = make_matrix(N_WIDE);
    char *text;

    for (size_t i = 0; i < (size_t)N_WIDE * N_WIDE;
         i++) /* large ones are rare, so that cells differ */
        m.cells[i] = m.cells[i] > 0.97 ? m.cells[i] : m.cells[i] / 10;
    m.cells[0] = 1; /* by definition: other rows of its cell count */
    text = draw(&m, &picture);
    for (size_t line = 0; line < CELLS / 2; line++) {
        const char *at = line_of(text, 2 + line);
        struct pen pen = {-1, -1};

        ck_assert_uint_ge(strlen(at), 6);
        at += 6; /* "    0 " of a position and the gap */
        for (size_t column = 0; column < 2 * line + 1; column++) {
            double upper = 0, lower = 0;

            while (*at == '\033')
                at = read_sequence(at, &pen);
            for (size_t i = line > 0 ? 2 * line * K : 1; i < (2 * line + 2) * K; i++)
                for (size_t j = column * K; j < (column + 1) * K && j <= i; j++) {
                    double *half = i < (2 * line + 1) * K ? &upper : &lower;

                    *half = fmax(*half, m.cells[i * N_WIDE + j]);
                }
            ck_assert_msg(strncmp(at, "\xe2\x96\x80", 3) == 0, "line %zu: %.10s", line, at);
            attn_blues_assert("upper", (uint32_t)pen.text, upper);
            attn_blues_assert("lower", (uint32_t)pen.ground, lower);
            at += 3;
        }
    }
    free(text);
    free(m.cells);
}
END_TEST

/* The mean, over the rows of cell (ROW, COLUMN) of SIDE x SIDE, of the largest of its columns. */
static double mean_row_maximum(const struct matrix *m, size_t side, size_t row, size_t column)
{
    double sum = 0;
    size_t n = 0;

    for (size_t i = 1; i < m->n; i++) { /* without row 0 */
        double most = -1;

        for (size_t j = 0; j <= i && i * side / m->n == row; j++)
            if (j * side / m->n == column)
                most = fmax(most, m->cells[i * m->n + j]);
        n += most >= 0;
        sum += most >= 0 ? most : 0;
    }
    return n > 0 ? sum / (double)n : -1;
}

START_TEST(thumbnails_have_the_mean_of_each_rows_largest)
{
    static const size_t sizes_of[] = {13, 20, N_WIDE}; /* more than the cells of a thumbnail */
    enum { SIDE = 12 };
    struct attn_picture_options picture = in_blues();

    picture.figure = ATTN_FIGURE_GRID;
    for (size_t k = 0; k < sizeof sizes_of / sizeof *sizes_of; k++) {
        struct matrix m = make_matrix(sizes_of[k]);
        char *text;

        m.cells[0] = 1;
        text = draw(&m, &picture);
        for (size_t line = 0; line < SIDE / 2; line++) {
            const char *at = line_of(text, 1 + line) + strlen("layer 0 ");
            struct pen pen = {-1, -1};

            for (size_t column = 0; column < 2 * line + 2; column++) {
                const double upper = mean_row_maximum(&m, SIDE, 2 * line, column);
                const double lower = mean_row_maximum(&m, SIDE, 2 * line + 1, column);

                while (*at == '\033')
                    at = read_sequence(at, &pen);
                attn_blues_assert("first", (uint32_t)pen.text, upper >= 0 ? upper : lower);
                if (upper >= 0 && lower >= 0)
                    attn_blues_assert("lower", (uint32_t)pen.ground, lower);
                at += 3;
            }
        }
        ck_assert_ptr_nonnull(strstr(text, "queries down, keys across, mean row maximum of "));
        free(text);
        free(m.cells);
    }
}
END_TEST

START_TEST(each_colored_line_ends_in_a_reset)
{
    const struct attn_picture_options picture = in_blues();
    struct matrix m = make_matrix(N);
    char *text = draw(&m, &picture);

    for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        const char *color = strchr(line, '\033');

        if (color && color < end)
            ck_assert_mem_eq(end - 4, "\033[0m", 4);
    }
    free(text);
    free(m.cells);
}
END_TEST

/* A heat map, a first screen, and words: every allocation fails once. */
static void fail_everywhere(const char *format, const struct attn_picture_options *picture,
                            size_t n_layer, size_t n_head)
{
    static const size_t words[N] = {0, 1, 1, 2, 3, 3};
    struct attn_candidate top[] = {{.token = " are", .token_size = 4, .prob = 0.5},
                                   {.id = 7, .prob = 0.001}};
    const struct attn_predictions predictions = {.top = top, .n_top = 2};
    struct matrix m = make_matrix(N);
    struct attn_labels labels = {.selection = select_layers(n_layer, n_head, N),
                                 .tokens = tokens,
                                 .token_sizes = sizes,
                                 .words = words};
    struct attn_writer_options options = ATTN_WRITER_OPTIONS_DEFAULT;
    enum attn_status status = ATTN_NO_MEMORY;

    options.picture = picture;
    options.has_predictions = true;
    for (long n = 0; status != ATTN_OK; n++) {
        struct attn_error err = {0};
        struct attn_outputs *outputs = NULL;
        struct attn_output item = {.format = attn_format_find(format)};

        ck_assert_int_eq(attn_sink_create_memory(&item.sink, NULL), ATTN_OK);
        attn_alloc_fail_at(n);
        status = attn_outputs_create(&item, 1, &labels, &options, &outputs, &err);
        for (size_t at = 0; at < n_layer * n_head * N && status == ATTN_OK; at++) {
            const size_t i = at % N;
            float values[N];
            const struct attn_trace_event event = {.at.site = ATTN_SITE_PATTERN,
                                                   .at.layer = (int)(at / N / n_head),
                                                   .at.head = (int)(at / N % n_head),
                                                   .row0 = i,
                                                   .n_row = 1,
                                                   .n_col = N,
                                                   .ld = N,
                                                   .data = values,
                                                   .is_causal = true};

            for (size_t j = 0; j < N; j++)
                values[j] = (float)m.cells[i * N + j];
            status = attn_outputs_event(outputs, &event, &err);
        }
        if (status == ATTN_OK)
            status = attn_outputs_predictions(outputs, &predictions, &err);
        if (status == ATTN_OK)
            status = attn_outputs_finish(outputs, &err);
        attn_alloc_fail_off();
        ck_assert_msg(status == ATTN_OK || status == ATTN_NO_MEMORY, "%s", err.message);
        attn_outputs_free(outputs);
        attn_sink_free(item.sink);
    }
    attn_selection_free((struct attn_selection *)(uintptr_t)labels.selection);
    free(m.cells);
}

START_TEST(a_lack_of_memory_is_told)
{
    struct attn_picture_options picture = in_blues();

    fail_everywhere("heatmap", &picture, 1, 1);
    fail_everywhere("screen", &picture, 1, 1);
    fail_everywhere("screen", &picture, 2, 3);  /* thumbnails */
    fail_everywhere("screen", &picture, 40, 3); /* a map of heads */
    picture.figure = ATTN_FIGURE_GRID;
    fail_everywhere("heatmap", &picture, 1, 1);
    picture.figure = ATTN_FIGURE_DEFAULT;
    picture.merges_words = picture.renormalizes = true;
    picture.hides = ATTN_HIDDEN_FIRST;
    fail_everywhere("heatmap", &picture, 1, 1);
    fail_everywhere("text", &picture, 1, 1);
}
END_TEST

/* Without one there is no head to draw. */
START_TEST(a_first_screen_needs_a_pattern)
{
    const struct attn_dims dims = {.n_layer = 1,
                                   .n_head = 1,
                                   .n_kv_head = 1,
                                   .d_head = 2,
                                   .d_value = 2,
                                   .n_position = N,
                                   .sites = ATTN_SITES(ATTN_SITE_Z)};
    struct attn_labels labels = {.tokens = tokens, .token_sizes = sizes};
    const struct attn_writer_options options = ATTN_WRITER_OPTIONS_DEFAULT;
    struct attn_selection *selection;
    struct attn_writer *writer = NULL;
    struct attn_sink *sink;
    struct attn_error err = {0};

    ck_assert_int_eq(attn_selection_create(&dims, &selection, NULL), ATTN_OK);
    ck_assert_int_eq(attn_sink_create_memory(&sink, NULL), ATTN_OK);
    labels.selection = selection;
    ck_assert_int_eq(
        attn_writer_create_sink(attn_format_find("screen"), sink, &labels, &options, &writer, &err),
        ATTN_INVALID);
    ck_assert_str_eq(err.message, "the first screen draws patterns, and none is selected");
    attn_sink_free(sink);
    attn_selection_free(selection);
}
END_TEST

ATTN_SUITE("heatmap", colors_and_percents_are_the_weights,
           what_has_no_value_is_told_from_0_and_from_each_other,
           half_blocks_have_the_largest_of_the_cells_they_stand_for,
           thumbnails_have_the_mean_of_each_rows_largest, each_colored_line_ends_in_a_reset,
           a_lack_of_memory_is_told, a_first_screen_needs_a_pattern)
