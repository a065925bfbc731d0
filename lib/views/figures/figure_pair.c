/* figure_pair.c - two texts back to back: a line of words, each once where both have it; arcs from
 * the query of the first above, and of the second below. What they do not share stands above and
 * below the line in the hues of their arcs. Then the next words of both, with a bar for each text.
 * Words that both hardly look at are folded away until the others fit. */
#include "figures/figure_internal.h"
#include "figures/figure_streams.h"

#include "base/memory.h"
#include "base/text/number.h"
#include "figures/table_axis.h"
#include "tables/table_internal.h"
#include "tables/text_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORD = 18,      /* height of a line of words */
    BETWEEN = 9,    /* gap between words */
    NEXT = 16,      /* height of a next word with its bars */
    BEFORE = 90,    /* width of a next word, */
    LONG = 160,     /* of the longest bar, */
    BESIDE = 90,    /* and of its numbers */
    COLUMNS = 72,   /* width of the line, in columns, if none is asked for */
    NEXT_WIDTH = 13 /* columns of a next word */
};

#define LEAST 0.02      /* smaller weights have no arc */
#define LEAST_NEXT 0.01 /* next words have this probability or more in one of the texts */

/* A column of the line: a word, or a run of words that are folded. */
struct column {
    size_t rows[2]; /* of the table; SIZE_MAX: this text has no word there */
    double weight;  /* the larger of both; 2: it stays */
    bool is_kept, is_shared;
    double width, x; /* of the word; x: its middle */
};

struct pair_layout {
    const struct attn_table *table;
    struct column *columns;             /* [n] */
    struct attn_bow *bows;              /* [n] */
    double *order;                      /* [n] weights, the largest first */
    struct attn_figure_streams numbers; /* `taken`: [2n] the numbers of arcs */
    size_t n, n_shown;
    size_t first[2], n_key[2], end[2]; /* rows of the texts: tokens, then next words */
    double query[2];                   /* middle of the query */
    double width, top, middle, edge;   /* edge: from the middle to where arcs begin */
    bool has_own;                      /* a word is of one text alone */
    bool is_leftwards;
};

static const char *const names[] = {"a", "b"};

static uint32_t hue_of(const struct attn_figure_pen *pen, size_t side)
{
    static const uint32_t hues[2][2] = {{0x0072b2, 0x7b3fa0}, {0x56b4e9, 0xcfa3ea}};

    return hues[pen->options->theme == ATTN_THEME_DARK][side];
}

/* Returns number I after the names of ROW: weight, probability of a next word, and whether the
 * other text lacks the word. */
static struct attn_cell value_of(const struct attn_figure_pen *pen, size_t row, int i)
{
    const struct attn_table *table = pen->content->table;
    size_t column = attn_table_view_find(table, pen->content->of->view.values);

    while (i-- > 0)
        column = attn_table_next_value(table, column);
    return attn_table_cell(table, row, column);
}

static double weight_of(const struct attn_figure_pen *pen, size_t row)
{
    return row < SIZE_MAX ? fabs(value_of(pen, row, 0).real) : 0;
}

static bool is_own(const struct attn_figure_pen *pen, size_t row)
{
    return value_of(pen, row, 2).integer != 0;
}

/* Returns the word in ROW, without the blanks around it; valid until the next call. */
static const char *word_of(struct attn_figure_pen *pen, size_t row, size_t *n)
{
    const struct attn_cell token = attn_table_role_cell(pen->content->table, row, ATTN_ROLE_TOKEN);
    struct attn_buffer *label = &pen->scratch;
    size_t first = 0;

    label->size = 0;
    attn_table_append_label(label, token.text, token.size, SIZE_MAX);
    *n = label->size;
    while (first + 1 < *n && label->data[first] == ' ')
        first++;
    *n -= first;
    return label->data ? label->data + first : "";
}

/* Finds the rows of both texts. */
static void find_rows(struct pair_layout *layout)
{
    for (size_t row = 0; row < attn_table_n_row(layout->table); row++) {
        const struct attn_cell part = attn_table_role_cell(layout->table, row, ATTN_ROLE_PART);
        const size_t side = attn_cell_word(&part, "a b") % 2 ? 1 : 0;
        const struct attn_cell key = attn_table_role_cell(layout->table, row, ATTN_ROLE_KEY);

        if (layout->end[side] == 0)
            layout->first[side] = row;
        layout->end[side] = row + 1;
        layout->n_key[side] += key.type == ATTN_VALUE_INTEGER;
    }
}

/* Returns true if ROW is the query of its text. */
static bool is_query(const struct pair_layout *layout, size_t row)
{
    return row < SIZE_MAX && attn_table_role_cell(layout->table, row, ATTN_ROLE_KEY).integer ==
                                 attn_table_role_cell(layout->table, row, ATTN_ROLE_QUERY).integer;
}

/* Appends a column of the words in ROWS. */
static void add_column(struct attn_figure_pen *pen, struct pair_layout *layout,
                       const size_t rows[2])
{
    struct column *column = &layout->columns[layout->n++];
    const double weights[] = {weight_of(pen, rows[0]), weight_of(pen, rows[1])};

    *column = (struct column){.rows = {rows[0], rows[1]}, .weight = fmax(weights[0], weights[1])};
    column->is_shared = rows[0] < SIZE_MAX && rows[1] < SIZE_MAX && !is_own(pen, rows[0]);
    layout->has_own |= !column->is_shared;
    if (!column->is_shared || is_query(layout, rows[0]) || is_query(layout, rows[1]))
        column->weight = 2;
    for (size_t side = 0; side < 2; side++) {
        size_t n;
        const char *word = rows[side] < SIZE_MAX ? word_of(pen, rows[side], &n) : NULL;

        if (!word)
            continue;
        layout->is_leftwards |= attn_text_is_right_to_left(word, n);
        column->width =
            fmax(column->width, pen->letters.word * attn_figure_string_width(pen, word, n));
    }
}

/* Lists the columns: words that both texts have stand together, and so do those between. */
static void list_columns(struct attn_figure_pen *pen, struct pair_layout *layout)
{
    size_t at[] = {layout->first[0], layout->first[1]};
    const size_t ends[] = {at[0] + layout->n_key[0], at[1] + layout->n_key[1]};

    while (at[0] < ends[0] || at[1] < ends[1]) {
        bool takes[2];
        size_t rows[2];

        for (size_t side = 0; side < 2; side++)
            takes[side] = at[side] < ends[side] && is_own(pen, at[side]);
        if (!takes[0] && !takes[1])
            takes[0] = takes[1] = true;
        for (size_t side = 0; side < 2; side++)
            rows[side] = takes[side] && at[side] < ends[side] ? at[side]++ : SIZE_MAX;
        add_column(pen, layout, rows);
    }
}

static int largest_first(const void *a, const void *b)
{
    return attn_compare_numbers(*(const double *)b, *(const double *)a);
}

/* Keeps the columns of LEAST weight or more, with GAP between them, and returns the width of the
 * line. */
static double keep_columns(const struct attn_figure_pen *pen, struct pair_layout *layout,
                           double least, double gap)
{
    const double folded = attn_figure_text_width(2, pen->letters.word);
    double x = 0;

    layout->n_shown = 0;
    for (size_t i = 0; i < layout->n; i++) {
        struct column *column = &layout->columns[i];

        column->is_kept = column->weight >= least;
        if (!column->is_kept && i > 0 && !column[-1].is_kept) {
            column->x = column[-1].x;
            continue;
        }
        x += x > 0 ? gap : 0;
        layout->n_shown++;
        column->x = x + (column->is_kept ? column->width : folded) / 2;
        x += column->is_kept ? column->width : folded;
    }
    return x;
}

/* Gives the columns their places; folds the weakest away until the others fit. */
static void place_columns(struct attn_figure_pen *pen, struct pair_layout *layout)
{
    const double room = pen->room > 0 ? fmax(100, pen->room - 2 * ATTN_FIGURE_PAD)
                                      : attn_figure_text_width(COLUMNS, pen->letters.word);
    double least = 0;

    for (size_t i = 0; i < layout->n; i++)
        layout->order[i] = layout->columns[i].weight;
    ATTN_SORT(layout->order, layout->n, largest_first);
    layout->width = keep_columns(pen, layout, least, BETWEEN);
    for (size_t n = layout->n; layout->width > room && n > 1 && least < 2;) {
        n -= n / 16 + 1;
        least = layout->order[n > 0 ? n - 1 : 0];
        layout->width = keep_columns(pen, layout, least, BETWEEN);
    }
    if (layout->width < room) /* room for the numbers */
        layout->width =
            keep_columns(pen, layout, least,
                         BETWEEN + fmin((room - layout->width) / (double)layout->n_shown,
                                        2 * pen->letters.word));
    for (size_t i = 0; i < layout->n; i++) {
        struct column *column = &layout->columns[i];

        column->x =
            ATTN_FIGURE_PAD + (layout->is_leftwards ? layout->width - column->x : column->x);
        for (size_t side = 0; side < 2; side++)
            if (is_query(layout, column->rows[side]))
                layout->query[side] = column->x;
    }
    if (least > 0)
        attn_buffer_append_string(&pen->subtitle, "words with little weight folded; ");
}

/* Writes the numbers of the N largest arcs of SIDE beside their ends, over thinner arcs; those on
 * other numbers are left out. */
static void add_numbers(struct attn_figure_pen *pen, struct pair_layout *layout, size_t side,
                        size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct attn_bow *bow = &layout->bows[i];
        const struct column *column = &layout->columns[bow->key];
        const double away = (bow->away == 0 ? ATTN_ARC_RING : bow->width / 2) + 4;
        char number[ATTN_FIGURE_NUMBER];
        const size_t size =
            attn_figure_write_number(true, weight_of(pen, column->rows[side]), number);
        const double width = pen->letters.tick * attn_figure_string_width(pen, number, size);
        struct attn_shape_text text = {.x = column->x - away - width - 1,
                                       .y = layout->middle +
                                            (side == 0 ? -1 : 1) * (layout->edge + 8),
                                       .color = pen->faint};

        if (text.x < (pen->is_printed ? ATTN_FIGURE_PAD : 2))
            text.x = column->x + away;
        attn_streams_add_text(pen, &layout->numbers, text, number, size, true);
    }
}

static int widest_first(const void *a, const void *b)
{
    const struct attn_bow *p = a, *q = b;
    const int order = attn_compare_numbers(q->width, p->width);

    return order != 0 ? order : p->key < q->key ? -1 : p->key > q->key;
}

/* Draws the arcs of SIDE and their numbers. */
static void add_arcs(struct attn_figure_pen *pen, struct pair_layout *layout, size_t side)
{
    const uint32_t color =
        attn_rgb_number(attn_rgb_mix(hue_of(pen, side), 0.7, pen->options->theme));
    const double sign = side == 0 ? -1 : 1;
    size_t n = 0;

    for (size_t i = 0; i < layout->n; i++) {
        const struct column *column = &layout->columns[i];
        const double weight = weight_of(pen, column->rows[side]);

        if (weight >= LEAST)
            layout->bows[n++] = (struct attn_bow){.key = i,
                                                  .away = column->x - layout->query[side],
                                                  .width = ATTN_ARC_WIDEST * fmin(1, weight)};
    }
    attn_bows_lay_out(layout->bows, n, ATTN_ARC_WIDEST, ATTN_ARC_CROWN);
    ATTN_SORT(layout->bows, n, widest_first);
    for (size_t i = 0; i < n; i++) {
        const struct column *column = &layout->columns[layout->bows[i].key];
        const struct attn_cell key =
            attn_table_role_cell(layout->table, column->rows[side], ATTN_ROLE_KEY);

        attn_shapes_set_mark(pen->shapes, "%s,%lld", names[side], (long long)key.integer);
        attn_arc_add(pen, &layout->bows[i], column->x, layout->middle + sign * layout->edge, sign,
                     color);
    }
    attn_shapes_end_mark(pen->shapes);
    add_numbers(pen, layout, side, n);
}

/* Draws the word of ROW at the middle X, with a line below the query. */
static void add_word(struct attn_figure_pen *pen, const struct pair_layout *layout, size_t row,
                     double x, double y, uint32_t color)
{
    const struct attn_shape_text text = attn_figure_text(
        x, y + 0.35 * pen->letters.word, pen->letters.word, color, ATTN_ANCHOR_MIDDLE);
    size_t n;
    const char *word = word_of(pen, row, &n);
    const double half = pen->letters.word * attn_figure_string_width(pen, word, n) / 2;

    attn_shapes_add_text(pen->shapes, &text, word, n);
    if (is_query(layout, row))
        attn_figure_add_line(pen, (double[]){x - half, y + 0.5 * WORD},
                             (double[]){x + half, y + 0.5 * WORD}, 2, color);
}

static void add_words(struct attn_figure_pen *pen, const struct pair_layout *layout)
{
    for (size_t i = 0; i < layout->n; i++) {
        const struct column *column = &layout->columns[i];
        const struct attn_shape_text dots = attn_figure_text(
            column->x, layout->middle, pen->letters.word, pen->faint, ATTN_ANCHOR_MIDDLE);

        if (!column->is_kept && (i == 0 || column[-1].is_kept))
            attn_shapes_add_string(pen->shapes, &dots, ATTN_ELLIPSIS);
        if (column->is_kept && column->is_shared)
            add_word(pen, layout, column->rows[0], column->x, layout->middle, pen->ink);
        for (size_t side = 0; side < 2 && column->is_kept && !column->is_shared; side++)
            if (column->rows[side] < SIZE_MAX)
                add_word(pen, layout, column->rows[side], column->x,
                         layout->middle + (side == 0 ? -0.5 : 0.5) * WORD, hue_of(pen, side));
    }
}

/* Returns the row of the next word of text SIDE that is that of ROW; SIZE_MAX if it has none. */
static size_t next_row(const struct pair_layout *layout, size_t side, size_t row)
{
    const struct attn_cell token = attn_table_role_cell(layout->table, row, ATTN_ROLE_TOKEN);

    for (size_t i = layout->first[side] + layout->n_key[side]; i < layout->end[side]; i++) {
        const struct attn_cell other = attn_table_role_cell(layout->table, i, ATTN_ROLE_TOKEN);

        if (other.size == token.size && memcmp(other.text, token.text, token.size) == 0)
            return i;
    }
    return SIZE_MAX;
}

static double next_prob(const struct attn_figure_pen *pen, size_t row)
{
    return row < SIZE_MAX ? value_of(pen, row, 1).real : 0;
}

/* Writes a probability in percent, small ones with two decimals. Returns its length. */
static size_t write_prob(double prob, char *text)
{
    return prob >= 0.005 ? attn_figure_write_number(true, prob, text)
                         : (size_t)snprintf(text, ATTN_FIGURE_NUMBER, "%.2f %%", 100 * prob);
}

/* Draws the next word of ROWS at Y: a bar for each text. */
static void add_next(struct attn_figure_pen *pen, const size_t rows[2], double y, double most)
{
    const double x = ATTN_FIGURE_PAD + BEFORE;
    struct attn_shape_text text = {
        .x = ATTN_FIGURE_PAD, .y = y + 11, .size = pen->letters.tick, .color = pen->ink};
    size_t n, used = 0;
    const char *word = word_of(pen, rows[rows[0] == SIZE_MAX], &n);
    char numbers[2 * ATTN_FIGURE_NUMBER + 8], *bytes = pen->scratch.data;
    double longest = 0;

    n = attn_text_fit(bytes + (word - bytes), n, NEXT_WIDTH);
    attn_shapes_add_text(pen->shapes, &text, word, n);
    for (size_t side = 0; side < 2; side++) {
        const double prob = next_prob(pen, rows[side]);
        const double width = LONG * prob / most, at = y + 4.5 + 6 * (double)side;

        longest = fmax(longest, width);
        if (rows[side] < SIZE_MAX)
            attn_figure_add_line(pen, (double[]){x, at}, (double[]){x + width, at}, 5,
                                 hue_of(pen, side));
        used += rows[side] < SIZE_MAX ? write_prob(prob, numbers + used)
                                      : (size_t)snprintf(numbers + used, 4, "%s", "\u2013");
        if (side == 0)
            used += (size_t)snprintf(numbers + used, 8, " \u2192 ");
    }
    text.x = x + longest + 5;
    text.color = pen->faint;
    attn_shapes_add_text(pen->shapes, &text, numbers, used);
}

/* Draws the next words of both texts from Y on, or with IS_COUNTED none; returns their number. */
static size_t add_next_words(struct attn_figure_pen *pen, const struct pair_layout *layout,
                             double y, bool is_counted)
{
    double most = 0;
    size_t n = 0;

    for (size_t side = 0; side < 2; side++)
        for (size_t i = layout->first[side] + layout->n_key[side]; i < layout->end[side]; i++)
            most = fmax(most, value_of(pen, i, 1).real);
    attn_shapes_set_mark(pen->shapes, "next");
    for (size_t side = 0; side < 2; side++)
        for (size_t i = layout->first[side] + layout->n_key[side]; i < layout->end[side]; i++) {
            const size_t other = next_row(layout, 1 - side, i);
            const size_t rows[] = {side == 0 ? i : SIZE_MAX, side == 0 ? other : i};

            if (side == 1 && other < SIZE_MAX)
                continue; /* it stands among those of the first text */
            if (next_prob(pen, rows[0]) < LEAST_NEXT && next_prob(pen, rows[1]) < LEAST_NEXT)
                continue;
            if (!is_counted)
                add_next(pen, rows, y + NEXT * (double)n, most);
            n++;
        }
    attn_shapes_end_mark(pen->shapes);
    return n;
}

static void draw(struct attn_figure_pen *pen, struct pair_layout *layout)
{
    const double high = ATTN_ARC_HIGH + ATTN_ARC_ABOVE;
    const size_t n_next = add_next_words(pen, layout, 0, true);
    double right;

    list_columns(pen, layout);
    place_columns(pen, layout);
    right = ATTN_FIGURE_PAD + layout->width;
    attn_buffer_append_string(&pen->subtitle, "width: weight; ");
    if (n_next > 0) {
        attn_buffer_append_string(&pen->subtitle, "bars: next tokens; ");
        right = fmax(right, ATTN_FIGURE_PAD + BEFORE + LONG + BESIDE);
    }
    if (layout->has_own)
        attn_buffer_append_string(&pen->subtitle, "colored: not in the other; ");
    layout->top = attn_figure_add_heading(pen, right) + ATTN_ARC_WIDEST / 2.0;
    layout->edge = (layout->has_own ? WORD : 0.5 * WORD) + ATTN_ARC_ABOVE;
    layout->middle = layout->top + high + layout->edge;
    pen->shapes->height =
        ceil(layout->middle + layout->edge + high + NEXT * (double)n_next + ATTN_FIGURE_PAD);
    if (pen->is_measuring)
        return;
    add_arcs(pen, layout, 0);
    add_arcs(pen, layout, 1);
    add_words(pen, layout);
    add_next_words(pen, layout, layout->middle + layout->edge + high, false);
}

static enum attn_status draw_figure(struct attn_figure_pen *pen, struct attn_error *err)
{
    struct pair_layout layout = {.table = pen->content->table};
    const size_t n = attn_table_n_row(layout.table);

    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, layout.columns, n, err));
    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, layout.bows, n, err));
    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, layout.order, n, err));
    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, layout.numbers.taken, 2 * n, err));
    pen->has_text = false;
    find_rows(&layout);
    draw(pen, &layout);
    return ATTN_OK;
}

const attn_figure_fn attn_figure_draw_pair = draw_figure;
