/* figure_tokens.c - the wrapped text, in which others draw, too; each token on the color of its
 * weight in one row, the query framed, unseen tokens grey; of the spans of a text also their names
 * and numbers below it. */
#include "figures/figure_internal.h"

#include "figures/table_grid.h"
#include "pictures/colormap_internal.h"
#include "tables/table_internal.h"
#include "tables/text_table.h"

#include <math.h>
#include <string.h>

enum {
    LINE = 28,  /* height of a line of text */
    BOX = 22,   /* height of a token's box */
    ROW = 17,   /* height of a span in the list */
    NAME = 106, /* width of a name, */
    NAME_COLUMNS = 16,
    NUMBER = 52, /* width of a number, */
    LONG = 48,   /* and of the longest bar beside it */
};

#define MARGIN ((double)ATTN_FLOW_MARGIN)

/* --- Text ------------------------------------------------------------------------------------- */

bool attn_flow_has_query(const struct attn_figure_pen *pen, const struct attn_text_flow *flow)
{
    const struct attn_writer *run = pen->content->grid->run;

    return run && attn_writer_has_own_keys(run, &flow->matrix->at);
}

const char *attn_flow_token(struct attn_figure_pen *pen, const struct attn_text_flow *flow,
                            size_t i, size_t *n)
{
    return flow->keys.texts ? attn_token_text(flow->keys.texts, i, n)
                            : attn_figure_label(pen, &flow->keys, i, n);
}

/* Returns true if key I and the one before are apart, though no token has the white space between.
 */
static bool is_apart(const struct attn_figure_pen *pen, const struct attn_text_flow *flow, size_t i)
{
    const struct attn_writer *run = pen->content->grid->run;
    const bool *joins = run ? pen->content->grid->tokens[0].joins : NULL;
    size_t key = attn_grid_position(&flow->keys, i);
    size_t before = attn_grid_position(&flow->keys, i - 1);

    if (key == ATTN_GRID_NO_POSITION || before == ATTN_GRID_NO_POSITION)
        return true;
    while (joins && joins[key] && key > before + 1) /* to the first piece of a character */
        key--;
    while (joins && before + 1 < key && joins[before + 1]) /* and the last of the other */
        before++;
    return attn_flow_has_query(pen, flow) && run->labels.begin &&
           run->labels.begin[key] > run->labels.end[before];
}

/* Returns true if the first letter of the text belongs to a script that is written from right to
 * left. */
static bool is_leftwards(struct attn_figure_pen *pen, const struct attn_text_flow *flow)
{
    for (size_t i = 0; i < flow->keys.n; i++) {
        size_t n;
        const char *text = attn_flow_token(pen, flow, i, &n);

        if (attn_grid_position(&flow->keys, i) == ATTN_GRID_NO_POSITION ||
            (n > 0 && (*text == '<' || *text == '\\')))
            continue;
        if (attn_text_is_right_to_left(text, n))
            return true;
        for (size_t k = 0; k < n; k++)
            if (((text[k] | 0x20) >= 'a' && (text[k] | 0x20) <= 'z') || (text[k] & 0x80) != 0)
                return false;
    }
    return false;
}

/* Returns the place of the last token as it is drawn. */
static struct attn_flow_spot shown(const struct attn_text_flow *flow)
{
    struct attn_flow_spot spot = flow->spot;

    if (flow->is_leftwards)
        spot.x = ATTN_FIGURE_PAD + flow->end - spot.x - spot.width;
    spot.word = spot.x + MARGIN + (flow->is_leftwards ? 0 : spot.blank);
    return spot;
}

struct attn_flow_spot attn_flow_next(struct attn_figure_pen *pen, struct attn_text_flow *flow,
                                     size_t i)
{
    size_t n;
    const char *text = attn_flow_token(pen, flow, i, &n);
    struct attn_flow_spot *spot = &flow->spot;
    const size_t n_column = attn_text_width(text, n);
    /* a combining mark that stands alone is drawn on a circle, as wide as two columns */
    const double width =
        (n > 0 && n_column == 0 ? attn_figure_text_width(2, pen->letters.word)
                                : pen->letters.word * attn_figure_string_width(pen, text, n)) +
        2 * MARGIN;

    size_t n_blank = 0;
    double blank;

    while (flow->hangs_blanks && n_blank + 1 < n && text[n_blank] == ' ')
        n_blank++;
    blank = pen->letters.word * attn_figure_string_width(pen, text, n_blank);
    spot->x += spot->width + 2;
    /* white space between this token and the previous one that belongs to neither of them */
    if (i > 0 && (!flow->keys.texts || is_apart(pen, flow, i)))
        spot->x += attn_figure_text_width(1, pen->letters.word) - 2;
    if (i == 0) {
        *spot = (struct attn_flow_spot){.x = ATTN_FIGURE_PAD - blank, .y = flow->top};
    } else if (flow->is_broken || attn_grid_begins(&flow->keys, i) ||
               spot->x + width > flow->right) {
        spot->y += flow->line;
        spot->x = ATTN_FIGURE_PAD - blank;
    }
    spot->width = width;
    spot->blank = blank;
    spot->n_blank = n_blank;
    flow->is_broken = n >= 2 && memcmp(text + n - 2, "\\n", 2) == 0;
    return shown(flow);
}

double attn_flow_measure(struct attn_figure_pen *pen, struct attn_text_flow *flow)
{
    double right = ATTN_FIGURE_PAD;

    flow->right = ATTN_FIGURE_PAD + attn_figure_text_width(ATTN_FLOW_COLUMNS, pen->letters.word);
    if (pen->room > 0)
        flow->right = fmax(ATTN_FIGURE_PAD + 100, pen->room - ATTN_FIGURE_PAD);
    for (size_t i = 0; i < flow->matrix->n_column; i++) {
        attn_flow_next(pen, flow, i);
        right = fmax(right, flow->spot.x + flow->spot.width);
    }
    flow->end = right;
    return right;
}

enum attn_status attn_flow_open(struct attn_figure_pen *pen, double line, size_t most,
                                struct attn_text_flow *flow, struct attn_error *err)
{
    const struct attn_grid *grid = pen->content->grid;

    ATTN_TRY(attn_figure_check_keys(pen, err));
    ATTN_TRY(attn_figure_fold(pen, most, err));
    *flow = (struct attn_text_flow){.matrix = attn_figure_matrix(pen, 0), .line = line};
    ATTN_TRY(
        attn_figure_name_query(pen, grid->run ? grid->run->n_query : flow->matrix->n_row, err));
    pen->has_text = false;
    flow->keys = attn_figure_columns(pen, flow->matrix);
    flow->is_leftwards = is_leftwards(pen, flow);
    return ATTN_OK;
}

/* --- Tokens ----------------------------------------------------------------------------------- */

/* The color of VALUE, or of a cell of KIND without one. */
static uint32_t color_of(const struct attn_figure_pen *pen, enum attn_cell_kind kind, float value,
                         int *level)
{
    const struct attn_color_range range = attn_level_range(attn_figure_matrix(pen, 0), &pen->scale);

    *level = kind == ATTN_CELL_VALUE ? attn_color_level(&pen->scale, range, (double)value) : 0;
    return kind == ATTN_CELL_VALUE ? attn_figure_color(pen, *level) : attn_figure_ground(pen, kind);
}

static bool has_spans(const struct attn_figure_pen *pen)
{
    return pen->content->of && attn_table_has_spans(pen->content->of);
}

static void add_token(struct attn_figure_pen *pen, const struct attn_text_flow *layout, size_t i,
                      struct attn_flow_spot spot)
{
    float value = 0;
    const enum attn_cell_kind kind = attn_level_cell(layout->matrix, 0, i, &value);
    const bool is_value = kind == ATTN_CELL_VALUE;
    int level;
    const uint32_t color = color_of(pen, kind, value, &level);
    struct attn_shape_text text = {.x = spot.x + MARGIN,
                                   .y = spot.y + 0.5 * BOX + 0.35 * pen->letters.word,
                                   .size = pen->letters.word};
    size_t n;
    const char *bytes;

    if (kind == ATTN_CELL_MASKED && !pen->content->grid->run && !has_spans(pen)) {
        /* without a number, as the first token of a text has none */
        attn_figure_add_frame(pen, spot.x + 1, spot.y + 1, spot.width - 2, BOX - 2);
    } else {
        pen->has_kind[kind] = !has_spans(pen); /* their list shows it */
        attn_figure_add_box(pen, spot.x, spot.y, spot.width, BOX, color);
    }
    text.color = !is_value ? pen->faint : attn_figure_takes_black(pen, level) ? 0 : 0xffffff;
    bytes = attn_flow_token(pen, layout, i, &n);
    if (layout->is_leftwards) /* its blanks stand at the right */
        for (; n > 1 && *bytes == ' '; n--)
            bytes++;
    attn_shapes_add_text(pen->shapes, &text, bytes, n);
}

/* The list of spans below a text. */
struct list {
    size_t columns[3]; /* share, change, cut: indices in the table; SIZE_MAX: missing */
    double left, right, height;
};

static struct list plan_list(const struct attn_figure_pen *pen)
{
    const struct attn_table *table = pen->content->table;
    struct list list = {.left = ATTN_FIGURE_PAD + ROW + NAME};

    if (!has_spans(pen))
        return (struct list){.right = 0};
    list.columns[0] = attn_view_columns_find(table, &pen->content->of->view).values;
    list.columns[1] = attn_table_find(table, "change");
    list.columns[2] = attn_table_find(table, "cut");
    list.right = list.left + NUMBER + (list.columns[2] < SIZE_MAX ? 2 * (NUMBER + LONG) : 0);
    list.height = ((double)attn_table_n_row(table) + 1.5) * ROW;
    return list;
}

/* Adds the cells of column I of LIST in ROW below Y: a number, of an effect also its bar, which is
 * as long as the column if it has the size MOST. */
static void add_cell(struct attn_figure_pen *pen, const struct list *list, size_t i, size_t row,
                     double y, double most)
{
    const struct attn_table *table = pen->content->table;
    const bool is_percent = i == 0 && pen->content->grid->is_share;
    const double number = (double)attn_table_number(table, row, list->columns[i]);
    struct attn_shape_text text =
        attn_figure_text(list->left + NUMBER + (double)i * (NUMBER + LONG), y + 11,
                         pen->letters.tick, pen->ink, ATTN_ANCHOR_END);
    char bytes[ATTN_FIGURE_NUMBER];

    if (attn_table_is_missing(table, row, list->columns[i]))
        return;
    text.x -= i > 0 ? LONG : 0;
    attn_shapes_add_text(pen->shapes, &text, bytes,
                         attn_figure_write_number(is_percent, number, bytes));
    if (i > 0 && most > 0)
        attn_figure_add_box(pen, text.x + 4, y + 3, (LONG - 4) * fabs(number) / most, ROW - 7,
                            pen->frame);
}

/* Draws LIST below Y: color and name of each span, its share, and the effects of its cut. */
static void add_list(struct attn_figure_pen *pen, const struct list *list, double y)
{
    const struct attn_table *table = pen->content->table;
    const size_t names = attn_table_view_find(table, pen->content->of->view.rows);
    const size_t n = list->columns[2] < SIZE_MAX ? 3 : 1;
    struct attn_shape_text text = {.y = y + 11, .size = pen->letters.tick, .color = pen->faint};
    double most = 0;

    text.anchor = ATTN_ANCHOR_END;
    for (size_t i = 0; i < n; i++) {
        text.x = list->left + NUMBER + (double)i * (NUMBER + LONG) - (i > 0 ? LONG : 0);
        attn_shapes_add_string(pen->shapes, &text, attn_table_column_name(table, list->columns[i]));
        for (size_t row = 0; i > 0 && row < attn_table_n_row(table); row++)
            if (!attn_table_is_missing(table, row, list->columns[i]))
                most = fmax(most, fabs((double)attn_table_number(table, row, list->columns[i])));
    }
    text = (struct attn_shape_text){
        .x = ATTN_FIGURE_PAD + ROW, .size = pen->letters.tick, .color = pen->ink};
    for (size_t row = 0; row < attn_table_n_row(table); row++) {
        const struct attn_cell name = attn_table_cell(table, row, names);
        const bool is_rest = !attn_table_is_span(&name);
        int level;

        y += ROW;
        attn_figure_add_box(pen, ATTN_FIGURE_PAD, y + 2, ROW - 5, ROW - 5,
                            color_of(pen, is_rest ? ATTN_CELL_MASKED : ATTN_CELL_VALUE,
                                     attn_table_number(table, row, list->columns[0]), &level));
        pen->scratch.size = 0;
        attn_text_append_label(&pen->scratch, name.text, name.size, NAME_COLUMNS, ATTN_ELLIPSIS);
        text.y = y + 11;
        attn_figure_add_scratch(pen, text);
        for (size_t i = 0; i < n; i++)
            add_cell(pen, list, i, row, y, most);
    }
}

static enum attn_status draw_figure(struct attn_figure_pen *pen, struct attn_error *err)
{
    const struct list list = plan_list(pen);
    struct attn_text_flow layout;
    double right, height;

    ATTN_TRY(attn_flow_open(pen, LINE, has_spans(pen) ? SIZE_MAX : ATTN_FIGURE_FEW, &layout, err));
    right = fmax(attn_flow_measure(pen, &layout), list.right);
    height = layout.spot.y + BOX;
    attn_figure_set_frame(pen, right, 4, height + list.height, true);
    layout.top = pen->layout.top;
    if (pen->is_measuring)
        return ATTN_OK;
    for (size_t i = 0; i < layout.matrix->n_column; i++) {
        const struct attn_flow_spot spot = attn_flow_next(pen, &layout, i);

        add_token(pen, &layout, i, spot);
        if (attn_flow_has_query(pen, &layout) &&
            attn_grid_position(&layout.keys, i) == pen->content->grid->run->queries[0])
            attn_figure_add_outline(
                pen, (double[]){spot.x - 1, spot.y - 1, spot.x + spot.width + 1, spot.y + BOX + 1},
                2, pen->ink);
    }
    if (list.height > 0)
        add_list(pen, &list, layout.top + height + ROW / 2.0);
    return ATTN_OK;
}

const attn_figure_fn attn_figure_draw_tokens = draw_figure;
