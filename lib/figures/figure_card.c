/* figure_card.c - a page about one head, of the size A5: its typical pattern, its distances and
 * measures, the tokens that it writes, and texts, colored by the weights of one row. */
#include "figures/figure_internal.h"

#include "analysis/head_cards_internal.h"
#include "analysis/head_kind.h"
#include "analysis/measure.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/table_internal.h"
#include "encode/text_table.h"
#include "grid/table_labels.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Lengths in units. */
enum {
    CELL = 5, /* side of a cell of the pattern */
    SIDE = CELL * ATTN_PATTERN_SIDE,
    GAP = 26,            /* between the blocks at the top */
    NAME = 16,           /* height of the name of a block */
    SMALL = 10,          /* font size of numbers and names */
    LINE = 15,           /* height of a line of numbers */
    CHART = SIDE - LINE, /* height of the distances */
    NUMBERS = 150,       /* width of the measures */
    TEXT_LINE = 15,      /* height of a line of a text */
    BOX = 14,            /* height of a token's box */
    BETWEEN = 3,         /* between two texts */
    VALUE = 32,          /* width of the number in front of a text */
    TOKEN_COLUMNS = 16,  /* longest token, in columns */
    WORD_COLUMNS = 20,   /* longest word that is not broken, in columns */
    N_LINE = 2,          /* lines of a text */
};

#define TEXT_SIZE 10.5    /* font size of texts */
#define PAGE_WIDTH 419.53 /* points of A5 */
#define PAGE_HEIGHT 595.28

struct card_layout {
    const struct attn_grid_card *card;
    const struct attn_card_head *head;
    double left, right, y;
    struct attn_color_range range;
};

/* Adds TEXT at X, Y, its baseline. */
static void add_string(struct attn_figure_pen *pen, double x, double y, uint32_t color,
                       const char *text)
{
    const struct attn_shape_text at = {.x = x, .y = y, .size = SMALL, .color = color};

    attn_shapes_add_string(pen->shapes, &at, text);
}

static void add_name(struct attn_figure_pen *pen, double x, double y, const char *text)
{
    const struct attn_shape_text at = {
        .x = x, .y = y, .size = ATTN_FIGURE_SMALL, .color = pen->ink, .is_bold = true};

    attn_shapes_add_string(pen->shapes, &at, text);
}

/* --- The blocks at the top ------------------------------------------------------------------ */

static void add_pattern(struct attn_figure_pen *pen, const struct card_layout *layout)
{
    const struct attn_figure_view view = attn_figure_whole(attn_figure_matrix(pen, 0));
    const struct attn_figure_place place = {.x = layout->left, .y = layout->y + NAME, .side = CELL};

    add_name(pen, layout->left, layout->y + NAME - 5, "Typical pattern");
    attn_figure_add_cells(pen, view, place);
    attn_figure_add_frame(pen, place.x, place.y, SIDE, SIDE);
    add_string(pen, layout->left, layout->y + NAME + SIDE + 13, pen->faint,
               "query down, key across;");
    add_string(pen, layout->left, layout->y + NAME + SIDE + 25, pen->faint, "mean weight");
}

/* Adds a bar for each range of distances from X to RIGHT. Ranges without weight at both ends are
 * left out. */
static void add_distances(struct attn_figure_pen *pen, const struct card_layout *layout, double x,
                          double right)
{
    const double base = layout->y + NAME + CHART;
    size_t first = 0, end = ATTN_CARD_DISTANCES;
    double most = 0, pitch;

    while (first < ATTN_CARD_NEAR && layout->head->distances[first] == 0)
        first++;
    while (end > ATTN_CARD_NEAR + 1 && layout->head->distances[end - 1] == 0)
        end--;
    for (size_t i = first; i < end; i++)
        most = fmax(most, attn_card_distance(layout->head, i));
    pitch = fmin(30, (right - x) / (double)(end - first));
    add_name(pen, x, layout->y + NAME - 5, "Distance of the keys");
    for (size_t i = first; i < end; i++) {
        const double share = attn_card_distance(layout->head, i);
        const double height = most > 0 ? share / most * (CHART - LINE) : 0;
        const double middle = x + ((double)(i - first) + 0.5) * pitch;
        struct attn_shape_text text = {.x = middle,
                                       .y = base + 12,
                                       .size = fmin(SMALL, pitch * 0.55),
                                       .color = pen->ink,
                                       .anchor = ATTN_ANCHOR_MIDDLE};
        char number[16];

        attn_shapes_add_box(pen->shapes, (struct attn_shape_box){
                                             middle - 0.38 * pitch, base - height, 0.76 * pitch,
                                             height, attn_figure_color(pen, ATTN_N_COLOR * 2 / 3)});
        attn_shapes_add_string(pen->shapes, &text, attn_card_distance_name(i));
        text.y = base - height - 3;
        snprintf(number, sizeof number, "%.0f", 100 * share);
        attn_shapes_add_string(pen->shapes, &text, number);
    }
    attn_figure_add_line(pen, (double[]){x, base}, (double[]){right, base}, 1, pen->frame);
    add_string(pen, x, base + 28, pen->faint, "share of the weight, %, by the number of");
    add_string(pen, x, base + 40, pen->faint, "tokens from key to query; 3 is 3 and 4, ...");
}

/* Writes the number in column NAME of the table to TEXT [size]. Returns false without one. */
static bool find_number(const struct card_layout *layout, const char *name, char *text, size_t size)
{
    const struct attn_table *table = layout->card->table;
    const size_t column = attn_table_find(table, name);

    if (column == SIZE_MAX || attn_table_is_missing(table, 0, column))
        return false;
    snprintf(text, size, "%.3f", (double)attn_table_number(table, 0, column));
    return true;
}

/* Adds the measures of the table, and the effect. */
static void add_numbers(struct attn_figure_pen *pen, const struct card_layout *layout, double x)
{
    enum { MOST = 10, SIZE_OF_NUMBER = 32 };
    double y = layout->y + NAME;
    char number[SIZE_OF_NUMBER];
    int n = 0;

    add_name(pen, x, y - 5, "Mean over the texts");
    for (int m = 0; m < ATTN_N_MEASURE && n < MOST; m++) {
        const char *name = attn_measure_name((enum attn_measure)m);
        const struct attn_column *column =
            attn_table_column(layout->card->table, attn_table_find(layout->card->table, name));

        if (!column || column->type != ATTN_VALUE_REAL)
            continue;
        y += LINE - 1;
        n++;
        add_string(pen, x, y - 3, pen->faint, name);
        attn_shapes_add_string(pen->shapes,
                               &(struct attn_shape_text){.x = x + NUMBERS,
                                                         .y = y - 3,
                                                         .size = SMALL,
                                                         .color = pen->ink,
                                                         .anchor = ATTN_ANCHOR_END},
                               find_number(layout, name, number, sizeof number) ? number
                                                                                : "\xe2\x80\x93");
    }
}

/* Adds a line with the effect of the head: "Without it: change of -ln p +0.807 (se 0.094)". */
static void add_effect(struct attn_figure_pen *pen, struct card_layout *layout)
{
    char number[32];
    double x = layout->left;

    if (!find_number(layout, "change", number, sizeof number))
        return;
    layout->y += NAME;
    add_name(pen, x, layout->y - 5, "Without it");
    x += attn_figure_text_width(strlen("Without it: "), ATTN_FIGURE_SMALL);
    pen->scratch.size = 0;
    attn_buffer_append_format(&pen->scratch, "%s: %s%s", layout->card->effect,
                              number[0] == '-' ? "\xe2\x88\x92" : "+", number + (number[0] == '-'));
    if (find_number(layout, "change_se", number, sizeof number))
        attn_buffer_append_format(&pen->scratch, " (standard error %s)", number);
    attn_shapes_add_text(
        pen->shapes,
        &(struct attn_shape_text){.x = x, .y = layout->y - 5, .size = SMALL, .color = pen->ink},
        pen->scratch.data, pen->scratch.size);
}

/* --- Written tokens ------------------------------------------------------------------------- */

/* Appends TOKEN as a label to the scratch of PEN. */
static void append_token(struct attn_figure_pen *pen, const struct attn_buffer *token)
{
    attn_text_append_label(&pen->scratch, token->data ? token->data : "", token->size,
                           TOKEN_COLUMNS, ATTN_ELLIPSIS);
}

static void add_writings(struct attn_figure_pen *pen, struct card_layout *layout)
{
    const double key = 110;

    if (layout->head->n_writing == 0)
        return;
    layout->y += NAME;
    add_name(pen, layout->left, layout->y - 5, "Tokens that it writes for its strongest keys");
    for (size_t i = 0; i < layout->head->n_writing; i++) {
        const struct attn_card_writing *writing = &layout->head->writings[i];
        struct attn_shape_text text = {
            .x = layout->left, .y = layout->y + 9, .size = SMALL, .color = pen->ink};

        pen->scratch.size = 0;
        append_token(pen, &writing->key);
        attn_shapes_add_text(pen->shapes, &text, pen->scratch.data, pen->scratch.size);
        text.x = layout->left + key;
        pen->scratch.size = 0;
        for (size_t k = 0; k < writing->n_token; k++) {
            attn_buffer_append_string(&pen->scratch, k > 0 ? "   " : "\xe2\x86\x92 ");
            append_token(pen, &writing->tokens[k]);
        }
        attn_shapes_add_text(pen->shapes, &text, pen->scratch.data, pen->scratch.size);
        layout->y += LINE - 1;
    }
    layout->y += 4;
}

/* --- Texts ---------------------------------------------------------------------------------- */

/* The tokens of one sequence of a text, on up to `n_line` lines. */
struct line {
    const struct attn_card_row *row;
    size_t first, n;   /* tokens of the text */
    size_t query, key; /* indices among these tokens; SIZE_MAX: in another sequence */
    size_t n_line;
    struct attn_buffer bytes; /* owns; printable tokens */
    size_t *ends;             /* [n] owns */
    double *widths;           /* [n] owns */
    bool *shown;              /* [n] owns */
    bool is_right_to_left;
};

static void release_line(struct line *line)
{
    attn_buffer_release(&line->bytes);
    attn_free(line->ends);
    attn_free(line->widths);
    attn_free(line->shown);
}

/* Reads the tokens of LINE, and chooses those that fit WIDTH. */
static enum attn_status read_line(const struct attn_figure_pen *pen, struct line *line,
                                  double width, struct attn_error *err)
{
    const double sign = attn_figure_text_width(1, TEXT_SIZE);
    const double lost = attn_figure_text_width(WORD_COLUMNS, TEXT_SIZE);
    size_t n_turned = 0, n_latin = 0;

    ATTN_TRY(ATTN_ALLOC(line->ends, line->n, err));
    ATTN_TRY(ATTN_ALLOC(line->widths, line->n, err));
    ATTN_TRY(ATTN_ALLOC(line->shown, line->n, err));
    for (size_t i = 0; i < line->n; i++) {
        const size_t begin = line->bytes.size;
        size_t size;
        const char *token = attn_card_token(line->row->text, line->first + i, &size);

        attn_text_append_cut(&line->bytes, token, size, TOKEN_COLUMNS, ATTN_ELLIPSIS);
        ATTN_TRY(attn_buffer_check(&line->bytes, err));
        line->ends[i] = line->bytes.size;
        if (line->bytes.size == begin)
            continue;
        n_turned += attn_text_is_right_to_left(line->bytes.data + begin, line->bytes.size - begin);
        n_latin += (unsigned)((line->bytes.data[line->bytes.size - 1] | 32) - 'a') < 26;
        line->widths[i] =
            fmax(sign, TEXT_SIZE * attn_figure_string_width(pen, line->bytes.data + begin,
                                                            line->bytes.size - begin));
    }
    line->is_right_to_left = n_turned > n_latin;
    attn_card_clip(
        line->widths, line->n, line->query < line->n ? line->query : line->key, line->key,
        (double)line->n_line * width - (line->n_line > 1 ? lost : 0) - 6 * sign, line->shown);
    return ATTN_OK;
}

static const float *weight_of(const struct line *line, size_t i)
{
    for (size_t k = 0; line->key < line->n && k < line->row->n_key; k++)
        if (line->row->keys[k].key == i)
            return &line->row->keys[k].weight;
    return NULL;
}

/* Adds token I of LINE at X, Y, the top of its box. */
static void add_token(struct attn_figure_pen *pen, const struct card_layout *layout,
                      const struct line *line, size_t i, double x, double y)
{
    const size_t begin = i > 0 ? line->ends[i - 1] : 0;
    const float *weight = weight_of(line, i);
    struct attn_shape_text text = {
        .x = x, .y = y + 0.5 * BOX + 0.35 * TEXT_SIZE, .size = TEXT_SIZE, .color = pen->ink};

    if (weight) {
        const int level = attn_color_level(&pen->scale, layout->range, (double)*weight);

        attn_shapes_add_box(pen->shapes, (struct attn_shape_box){x, y, line->widths[i], BOX,
                                                                 attn_figure_color(pen, level)});
        text.color = attn_figure_takes_black(pen, level) ? 0 : 0xffffff;
    }
    attn_shapes_add_text(pen->shapes, &text, line->bytes.data + begin, line->ends[i] - begin);
    if (i == line->query)
        attn_figure_add_outline(
            pen, (double[]){x - 0.5, y - 0.5, x + line->widths[i] + 0.5, y + BOX + 0.5}, 1.2,
            pen->ink);
    if (i == line->key)
        attn_figure_add_line(pen, (double[]){x, y + BOX}, (double[]){x + line->widths[i], y + BOX},
                             1.6, pen->ink);
}

static bool begins_with_blank(const struct line *line, size_t i)
{
    const size_t begin = i > 0 ? line->ends[i - 1] : 0;

    return line->ends[i] > begin && line->bytes.data[begin] == ' ';
}

/* Returns the width of the shown tokens from I to the end of the word. */
static double word_width(const struct line *line, size_t i)
{
    double width = line->widths[i];

    while (++i < line->n && line->shown[i] && !begins_with_blank(line, i))
        width += line->widths[i];
    return width <= attn_figure_text_width(WORD_COLUMNS, TEXT_SIZE) ? width : 0;
}

/* Adds the shown tokens of LINE below Y, with a sign where others are left out. Returns the y of
 * its end. */
static double add_line(struct attn_figure_pen *pen, const struct card_layout *layout,
                       const struct line *line, double left, double y)
{
    const double sign = attn_figure_text_width(1, TEXT_SIZE), right = layout->right;
    double x = left;
    bool is_gap = false;

    for (size_t i = 0; i <= line->n; i++) {
        const bool is_shown = i < line->n && line->shown[i];
        const double width = is_shown ? line->widths[i] : sign;
        const bool begins = is_shown && begins_with_blank(line, i);

        if (!is_shown && (is_gap || i == line->n))
            continue;
        is_gap = !is_shown;
        if (x + fmax(width, begins ? word_width(line, i) : 0) > right) {
            x = begins ? left - sign : left; /* the blank lies in the margin */
            y += TEXT_LINE;
        }
        if (is_shown)
            add_token(pen, layout, line, i, line->is_right_to_left ? left + right - x - width : x,
                      y);
        else
            attn_shapes_add_string(pen->shapes,
                                   &(struct attn_shape_text){
                                       .x = line->is_right_to_left ? left + right - x - width : x,
                                       .y = y + 0.5 * BOX + 0.35 * TEXT_SIZE,
                                       .size = TEXT_SIZE,
                                       .color = pen->faint},
                                   ATTN_ELLIPSIS);
        x += width;
    }
    return y + TEXT_LINE;
}

/* Adds the text of ROW, with its value in front. */
static enum attn_status add_text(struct attn_figure_pen *pen, struct card_layout *layout,
                                 const struct attn_card_row *row, struct attn_error *err)
{
    const struct attn_card_text *text = row->text;
    const bool is_cross = layout->head->is_cross;
    const double left = layout->left + VALUE;
    const size_t first = layout->head->is_of_source ? text->n_token : 0;
    struct line lines[2] = {{.row = row,
                             .first = first,
                             .n = first > 0 ? text->n_source : text->n_token,
                             .query = row->query,
                             .key = is_cross ? SIZE_MAX : row->key,
                             .n_line = is_cross ? 1 : N_LINE},
                            {.row = row,
                             .first = text->n_token,
                             .n = text->n_source,
                             .query = SIZE_MAX,
                             .key = row->key,
                             .n_line = 1}};
    enum attn_status status = ATTN_OK;
    char number[16];

    snprintf(number, sizeof number, "%.2f", row->value);
    add_string(pen, layout->left, layout->y + 11, pen->faint, number);
    for (int i = 0; status == ATTN_OK && i < (is_cross ? 2 : 1); i++) {
        status = read_line(pen, &lines[i], layout->right - left, err);
        if (status == ATTN_OK)
            layout->y = add_line(pen, layout, &lines[i], left, layout->y);
        release_line(&lines[i]);
    }
    layout->y += BETWEEN;
    return status;
}

static enum attn_status add_texts(struct attn_figure_pen *pen, struct card_layout *layout,
                                  enum attn_card_part part, struct attn_error *err)
{
    double x = layout->left;

    if (layout->head->n[part] == 0)
        return ATTN_OK;
    layout->y += NAME;
    add_name(pen, x, layout->y - 4, attn_card_part_name(part));
    x += attn_figure_text_width(strlen(attn_card_part_name(part)) + 2, ATTN_FIGURE_SMALL);
    add_string(pen, x, layout->y - 4, pen->faint,
               attn_card_part_words(part, layout->head->is_cross));
    for (size_t i = 0; i < layout->head->n[part]; i++)
        ATTN_TRY(add_text(pen, layout, layout->head->rows[part][i], err));
    return ATTN_OK;
}

/* --- The page ------------------------------------------------------------------------------- */

static enum attn_status check(const struct attn_figure_pen *pen, struct attn_error *err)
{
    const char *asked = pen->is_printed               ? "figure-width"
                        : pen->options->font_size > 0 ? "font-size"
                        : pen->options->cell > 0      ? "cell"
                                                      : NULL;

    return asked ? attn_error_set(err, ATTN_INVALID,
                                  "'`figure card`' is a page of A5, and takes no `style %s`", asked)
                 : ATTN_OK;
}

enum attn_status attn_figure_draw_card(struct attn_figure_pen *pen, struct attn_error *err)
{
    const double unit = attn_figure_unit(pen->options);
    struct card_layout layout = {.card = pen->content->grid->card, .left = ATTN_FIGURE_PAD};
    double right;

    ATTN_TRY(check(pen, err));
    pen->has_text = false;
    pen->shapes->width = ceil(PAGE_WIDTH / unit);
    pen->shapes->height = ceil(PAGE_HEIGHT / unit);
    if (pen->is_measuring)
        return ATTN_OK;
    layout.head = layout.card->head;
    layout.right = right = pen->shapes->width - ATTN_FIGURE_PAD;
    layout.range = attn_level_range(attn_figure_matrix(pen, 0), &pen->scale, 0);
    layout.y = attn_figure_heading_height(pen) + 4;
    attn_figure_add_heading(pen);
    add_pattern(pen, &layout);
    if (!layout.head->is_cross) /* no place of the source is near the text */
        add_distances(pen, &layout, layout.left + SIDE + GAP, right - NUMBERS - GAP);
    add_numbers(pen, &layout, right - NUMBERS);
    layout.y += NAME + SIDE + 30;
    add_effect(pen, &layout);
    add_writings(pen, &layout);
    for (int part = 0; part < ATTN_CARD_N_PART; part++)
        ATTN_TRY(add_texts(pen, &layout, (enum attn_card_part)part, err));
    if (layout.head->n_text == 0)
        add_string(pen, layout.left, layout.y + NAME, pen->ink,
                   "No text has a row with another key than the first token and the query itself.");
    return ATTN_OK;
}
