#include "page/page_internal.h"

#include "base/memory.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/number.h"
#include "figures/table_grid.h"
#include "figures/table_picture_internal.h"
#include "formats/float_text.h"
#include "formats/quoting.h"
#include "measures/head_cards_internal.h"
#include "measures/head_kind.h"
#include "pictures/colormap_internal.h"
#include "tables/table_internal.h"
#include "tables/table_writer_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- Cards of heads --------------------------------------------------------------------------- */

/* The cards of heads as the JSON object that atlas.js draws.
 *
 *     n_text, has_all      number of texts; false: the middle and the drawn ones are of a sample
 *     side, ranges         tokens of a pattern, and the names of distances
 *     kinds                [{letter, name, brief, words, hue}]
 *     heads                of each row of the table: {name, kind, bar, n, pattern, distances,
 * written, texts, is_cross}, or null. kind: index; null without one. pattern: a letter for each
 * cell, "A" to "_" for 0 to 1 by its square root, " " for masked; is_cross: keys are of the source
 *         written          [[key, [token, ...]], ...]
 *         texts            of each part (strongest, middle, drawn) [{text, value, query, key,
 * weights}]; weights: [key, thousandths, ...]
 *     texts                [{id, tokens, source}]
 */

enum {
    N_LEVEL = 64, /* letters for the weights of a pattern */
};

/* The texts that are shown in any card, sorted by their numbers. */
struct texts {
    const struct attn_card_text **items; /* [n] owns the array */
    size_t n;
};

static int by_number(const void *a, const void *b)
{
    const struct attn_card_text *x = *(const struct attn_card_text *const *)a;
    const struct attn_card_text *y = *(const struct attn_card_text *const *)b;

    return (x->number > y->number) - (x->number < y->number);
}

static enum attn_status list_texts(const struct attn_head_cards *cards, struct texts *texts,
                                   struct attn_error *err)
{
    size_t n = 0;

    ATTN_TRY(ATTN_ALLOC(texts->items, cards->n_head * ATTN_CARD_N_PART * ATTN_CARD_EACH, err));
    for (size_t i = 0; i < cards->n_head; i++)
        for (int part = 0; part < ATTN_CARD_N_PART; part++)
            for (size_t k = 0; k < cards->heads[i].n[part]; k++)
                texts->items[n++] = cards->heads[i].rows[part][k]->text;
    qsort(texts->items, n, sizeof *texts->items, by_number);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || texts->items[i] != texts->items[i - 1])
            texts->items[texts->n++] = texts->items[i];
    return ATTN_OK;
}

static size_t find_text(const struct texts *texts, const struct attn_card_text *text)
{
    const struct attn_card_text *const *found =
        bsearch(&text, texts->items, texts->n, sizeof *texts->items, by_number);

    return (size_t)(found - texts->items);
}

static void push_row(struct attn_json_writer *json, const struct attn_card_row *row,
                     const struct texts *texts)
{
    attn_json_begin(json, '{');
    attn_json_size(attn_json_key(json, "text"), find_text(texts, row->text));
    attn_page_push_number(attn_json_key(json, "value"), 4, row->value);
    attn_json_size(attn_json_key(json, "query"), row->query);
    attn_json_size(attn_json_key(json, "key"), row->key);
    attn_json_begin(attn_json_key(json, "weights"), '[');
    for (size_t i = 0; i < row->n_key; i++) {
        attn_json_size(json, row->keys[i].key);
        attn_json_integer(json, (int64_t)lrint(1000 * (double)row->keys[i].weight));
    }
    attn_json_end(json);
    attn_json_end(json);
}

static void push_pattern(struct attn_json_writer *json, const struct attn_card_head *head)
{
    static const char letters[N_LEVEL + 1] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    char pattern[ATTN_PATTERN_SIDE * ATTN_PATTERN_SIDE];

    for (size_t i = 0; i < sizeof pattern; i++) {
        const float cell = attn_card_cell(head, i / ATTN_PATTERN_SIDE, i % ATTN_PATTERN_SIDE);

        pattern[i] =
            isnan(cell) ? ' ' : letters[lrintf((N_LEVEL - 1) * sqrtf(fminf(fmaxf(cell, 0), 1)))];
    }
    attn_json_string(attn_json_key(json, "pattern"), pattern, sizeof pattern);
}

static void push_written(struct attn_json_writer *json, const struct attn_card_head *head)
{
    attn_json_begin(attn_json_key(json, "written"), '[');
    for (size_t i = 0; i < head->n_writing; i++) {
        const struct attn_card_writing *writing = &head->writings[i];

        attn_json_begin(json, '[');
        attn_json_string(json, writing->key.data, writing->key.size);
        attn_json_begin(json, '[');
        for (size_t k = 0; k < writing->n_token; k++)
            attn_json_string(json, writing->tokens[k].data ? writing->tokens[k].data : "",
                             writing->tokens[k].size);
        attn_json_end(json);
        attn_json_end(json);
    }
    attn_json_end(json);
}

/* Writes the card of HEAD with its TYPE or NULL, whose bar is written if HAS_BAR. */
static void push_head(struct attn_json_writer *json, const struct attn_card_head *head,
                      const struct attn_head_type *type, bool has_bar, const struct texts *texts)
{
    const struct attn_head_kind *kind = type ? type->kind : NULL;

    attn_json_line(json);
    attn_json_begin(json, '{');
    attn_json_text(attn_json_key(json, "name"), attn_location_name(&head->at).text);
    if (kind)
        attn_json_size(attn_json_key(json, "kind"), (size_t)(kind - attn_head_kind_at(0)));
    if (kind && has_bar)
        attn_page_push_bar(attn_json_key(json, "bar"), type);
    attn_json_bool(attn_json_key(json, "is_cross"), head->is_cross);
    attn_json_bool(attn_json_key(json, "is_of_source"), head->is_of_source);
    attn_json_size(attn_json_key(json, "n"), head->n_text);
    push_pattern(json, head);
    attn_json_begin(attn_json_key(json, "distances"), '[');
    for (size_t i = 0; i < ATTN_CARD_DISTANCES; i++)
        attn_page_push_number(json, 4, attn_card_distance(head, i));
    attn_json_end(json);
    push_written(json, head);
    attn_json_begin(attn_json_key(json, "texts"), '[');
    for (int part = 0; part < ATTN_CARD_N_PART; part++) {
        attn_json_begin(json, '[');
        for (size_t k = 0; k < head->n[part]; k++)
            push_row(json, head->rows[part][k], texts);
        attn_json_end(json);
    }
    attn_json_end(json);
    attn_json_end(json);
}

static void push_names(struct attn_json_writer *json, const struct attn_head_cards *cards)
{
    attn_json_size(attn_page_push_key(json, "n_text"), cards->n_text);
    attn_json_bool(attn_page_push_key(json, "has_all"), cards->has_all);
    attn_json_size(attn_page_push_key(json, "side"), ATTN_PATTERN_SIDE);
    attn_json_begin(attn_page_push_key(json, "ranges"), '[');
    for (size_t i = 0; i < ATTN_CARD_DISTANCES; i++)
        attn_json_text(json, attn_card_distance_name(i));
    attn_json_end(json);
    attn_page_push_kinds(attn_page_push_key(json, "kinds"), true);
}

static enum attn_status push_heads(struct attn_json_writer *json, const struct attn_table *table,
                                   const struct attn_head_cards *cards, const struct texts *texts,
                                   struct attn_error *err)
{
    struct attn_head_type *types = NULL;
    struct attn_error unseen = {0}; /* tables of other measures have no kinds */
    enum attn_status status = attn_table_types_read(table, &types, &unseen);

    status = status == ATTN_NO_MEMORY ? attn_error_copy(err, &unseen) : ATTN_OK;
    attn_json_begin(attn_page_push_key(json, "heads"), '[');
    for (size_t i = 0; i < attn_table_n_row(table); i++) {
        struct attn_location at;
        const size_t index =
            attn_table_read_head(table, i, &at) ? attn_head_cards_find(cards, &at) : SIZE_MAX;

        if (index == SIZE_MAX)
            attn_json_text(json, NULL);
        else
            push_head(json, &cards->heads[index], types ? &types[i] : NULL,
                      attn_table_has_rest(table), texts);
    }
    attn_json_end(json);
    attn_free(types);
    return status;
}

/* Writes the cards of the heads in TABLE as the member `atlas`. */
static enum attn_status push_atlas(struct attn_json_writer *json, const struct attn_table *table,
                                   const struct attn_head_cards *cards, struct attn_error *err)
{
    struct texts texts = {.n = 0};
    enum attn_status status = list_texts(cards, &texts, err);

    if (status == ATTN_OK) {
        attn_json_begin(attn_page_push_key(json, "atlas"), '{');
        push_names(json, cards);
        attn_json_begin(attn_page_push_key(json, "texts"), '[');
        for (size_t i = 0; i < texts.n; i++)
            attn_card_text_push(json, texts.items[i]);
        attn_json_end(json);
        status = push_heads(json, table, cards, &texts, err);
        attn_json_end(json);
    }
    attn_free(texts.items);
    return status;
}

enum {
    MOST_ROWS = 500,       /* maximum rows of the table for browsers without scripts */
    MOST_FIGURE = 1 << 18, /* maximum bytes of the figure for browsers without scripts */
};

/* --- The object ------------------------------------------------------------------------------ */

static void push_texts(struct attn_json_writer *json, const struct attn_grid *figure)
{
    attn_json_begin(attn_page_push_key(json, "texts"), '[');
    for (size_t i = 0; i < sizeof figure->texts / sizeof *figure->texts; i++) {
        const struct attn_figure_text *text = &figure->texts[i];

        if (!text->text)
            continue;
        attn_json_begin(json, '{');
        attn_json_text(attn_json_key(json, "name"), text->name);
        attn_json_string(attn_json_key(json, "text"), text->text, text->n);
        attn_json_end(json);
    }
    attn_json_end(json);
}

/* Writes what the question was: its kind, title, model, and texts. */
static void push_question(struct attn_json_writer *json, const struct attn_table_drawing *drawing)
{
    const struct attn_table_picture *picture = drawing->picture;
    size_t n_model = 0;
    const char *model = attn_grid_model(
        &(struct attn_grid){.model = picture->model, .has_models = picture->has_models}, &n_model);

    attn_json_text(attn_page_push_key(json, "kind"), attn_table_name(drawing->table));
    attn_json_text(attn_page_push_key(json, "title"), drawing->cells.grid.title);
    attn_json_text(attn_page_push_key(json, "note"), drawing->cells.grid.note);
    attn_json_string(attn_page_push_key(json, "model"), model, n_model);
    attn_json_text(attn_page_push_key(json, "asked"), picture->view.asked);
    attn_json_text(attn_page_push_key(json, "answer"), picture->answer[0] ? picture->answer : NULL);
    attn_json_text(attn_page_push_key(json, "metric"), picture->metric);
    attn_json_text(attn_page_push_key(json, "target"), picture->target);
    attn_json_text(attn_page_push_key(json, "foil"), picture->foil);
    push_texts(json, &drawing->cells.grid);
}

/* Returns true if ROW of the table has a cell in the map. */
static bool is_on_map(const struct attn_table_drawing *drawing, size_t row)
{
    return !drawing->is_figure && drawing->cells.rows.of_rows[row] != SIZE_MAX &&
           drawing->cells.columns.of_rows[row] != SIZE_MAX;
}

/* Writes the scale of column C in the map with its ticks, and the rule for numbers in cells. */
static void push_scale(struct attn_json_writer *json, const struct attn_table_drawing *drawing,
                       size_t c)
{
    const struct attn_column *column = attn_table_column(drawing->table, c);
    const bool is_share = column->range == ATTN_RANGE_SHARE;
    const struct attn_grid_axis *columns = drawing->cells.grid.columns;
    double least = HUGE_VAL, most = -HUGE_VAL;
    struct attn_column drawn = *column;
    struct attn_color_scale scale;
    struct attn_color_range ends;

    for (size_t r = 0; r < attn_table_n_row(drawing->table); r++)
        if (drawing->is_figure || is_on_map(drawing, r)) {
            const double number = (double)attn_table_number(drawing->table, r, c);

            least = fmin(least, number);
            most = fmax(most, number);
        }
    if (column->range == ATTN_RANGE_SIGNED && column->type != ATTN_VALUE_REAL && !(least < 0))
        drawn.range = ATTN_RANGE_POSITIVE; /* counts begin at 0 */
    scale = attn_color_scale_of_column(&drawn, least, most);
    ends = attn_color_range(&scale, least, most);
    attn_json_begin(attn_json_key(json, "scale"), '{');
    attn_page_push_number(attn_json_key(json, "low"), 9, ends.low);
    attn_page_push_number(attn_json_key(json, "high"), 9, ends.high);
    attn_json_bool(attn_json_key(json, "is_signed"), scale.is_signed);
    attn_json_text(attn_json_key(json, "curve"),
                   scale.curve == ATTN_CURVE_SQRT ? "sqrt" : "linear");
    attn_page_push_ticks(attn_json_key(json, "ticks"), &scale, ends, is_share ? 100 : 1);
    attn_json_end(json);
    if (is_share)
        attn_json_bool(attn_json_key(json, "is_share"), true);
    else
        attn_json_integer(attn_json_key(json, "cell"),
                          attn_table_cell_digits(column, fmax(fabs(least), fabs(most)),
                                                 columns && columns->n_main > 0));
}

/* Returns "WORDS, UNIT", each of which may be NULL; NULL without both. The caller releases TEXT. */
static const char *join_unit(struct attn_buffer *text, const char *words, const char *unit)
{
    attn_buffer_append_string(text, words ? words : "");
    attn_buffer_append_string(text, words && unit ? ", " : "");
    attn_buffer_append_string(text, unit ? unit : "");
    return text->size > 0 ? attn_buffer_string(text) : NULL;
}

static void push_columns(struct attn_json_writer *json, const struct attn_table_drawing *drawing)
{
    static const char *const types[] = {
        [ATTN_VALUE_INTEGER] = "integer", [ATTN_VALUE_REAL] = "real", [ATTN_VALUE_TEXT] = "text",
        [ATTN_VALUE_BOOLEAN] = "boolean", [ATTN_VALUE_LIST] = "list", [ATTN_VALUE_REALS] = "list"};
    static const char *const roles[] = {
        "value",          "layer",  "head",   "kv_head",     "neuron",     "position",
        "query",          "key",    "place",  "token",       "id",         "site",
        "part",           "set",    "number", "other_layer", "other_head", "other_number",
        "count",          "total",  "stack",  "row_type",    "other_part", "picture_row",
        "picture_column", "writer", "reader"};
    _Static_assert(sizeof roles / sizeof *roles == ATTN_N_COLUMN_ROLE, "each role has a word");
    const size_t values = attn_table_view_find(drawing->table, drawing->picture->view.values);

    attn_json_begin(attn_page_push_key(json, "columns"), '[');
    for (size_t c = 0; c < attn_table_n_column(drawing->table); c++) {
        const struct attn_column *column = attn_table_column(drawing->table, c);
        const bool is_number = column->type != ATTN_VALUE_TEXT && !attn_value_is_list(column->type);
        struct attn_table_picture picture = *drawing->picture;
        struct attn_table_words words = {0};
        struct attn_buffer title = {0}, heading = {0};

        if (c != values)
            picture.view.quantity = NULL; /* it describes another column */
        attn_table_words_find(&words, column, &picture);
        attn_json_line(json);
        attn_json_begin(json, '{');
        attn_json_text(attn_json_key(json, "name"), column->name);
        attn_json_text(attn_json_key(json, "type"), types[column->type]);
        if (column->role != ATTN_ROLE_VALUE)
            attn_json_text(attn_json_key(json, "role"), roles[column->role]);
        attn_json_text(attn_json_key(json, "heading"),
                       join_unit(&heading, column->name, column->unit));
        attn_json_text(attn_json_key(json, "title"),
                       words.quantity ? join_unit(&title, words.quantity, column->unit) : NULL);
        if (is_number && column->range == ATTN_RANGE_SIGNED)
            attn_json_bool(attn_json_key(json, "is_signed"), true);
        if (column->type == ATTN_VALUE_REAL && column->notation == ATTN_NOTATION_FIXED)
            attn_json_integer(attn_json_key(json, "digits"), column->digits);
        if (is_number && (column->role == ATTN_ROLE_VALUE || c == values))
            push_scale(json, drawing, c);
        attn_json_end(json);
        json->out->has_failed |= words.bytes.has_failed || title.has_failed || heading.has_failed;
        attn_buffer_release(&words.bytes);
        attn_buffer_release(&title);
        attn_buffer_release(&heading);
    }
    attn_json_end(json);
}

/* Writes a real of fixed decimals as the shortest text of 32 bits, unless the script would then
 * write another number than the tool, which has it as a double. */
static void push_fixed(struct attn_json_writer *json, int digits, double value)
{
    struct attn_buffer text = {0}, seen = {0};
    char number[ATTN_FLOAT_TEXT_SIZE];
    const size_t n = attn_format_float((float)value, number);
    double read = value;

    attn_parse_double(number, n, &read);
    attn_double_append_as(&text, 'f', digits, value);
    attn_double_append_as(&seen, 'f', digits, read);
    if (text.size == seen.size && memcmp(text.data, seen.data, seen.size) == 0)
        attn_buffer_append(attn_json_value(json), number, n);
    else
        attn_json_double(json, value);
    json->out->has_failed |= text.has_failed | seen.has_failed;
    attn_buffer_release(&text);
    attn_buffer_release(&seen);
}

static void push_rows(struct attn_json_writer *json, const struct attn_table *table)
{
    struct attn_buffer printable = {0};

    attn_json_begin(attn_page_push_key(json, "rows"), '[');
    for (size_t r = 0; r < attn_table_n_row(table); r++) {
        attn_json_line(json);
        attn_json_begin(json, '[');
        for (size_t c = 0; c < attn_table_n_column(table); c++) {
            const struct attn_column *column = attn_table_column(table, c);
            const struct attn_cell cell = attn_table_cell(table, r, c);

            if (cell.type == ATTN_VALUE_TEXT || attn_value_is_list(cell.type) ||
                (cell.type == ATTN_VALUE_REAL && !isfinite(cell.real))) {
                attn_table_append_cell(&printable, -1, column, &cell);
                attn_json_buffer(json, &printable);
            } else if (cell.type == ATTN_VALUE_REAL && column->notation == ATTN_NOTATION_FIXED) {
                push_fixed(json, column->digits, cell.real);
            } else {
                attn_table_push_cell(json, column, &cell, -1);
            }
        }
        attn_json_end(json);
    }
    attn_json_end(json);
}

/* --- The map --------------------------------------------------------------------------------- */

/* Writes the labels of the rows or columns of the map. */
static void push_axis(struct attn_json_writer *json, const char *name,
                      const struct attn_grid_axis *axis)
{
    attn_json_begin(attn_json_key(json, name), '{');
    attn_json_text(attn_json_key(json, "title"), axis->title);
    attn_json_size(attn_json_key(json, "n"), axis->n);
    attn_json_size(attn_json_key(json, "n_main"), axis->n_main);
    if (attn_json_begin_list(attn_json_key(json, "positions"), !axis->is_named)) {
        for (size_t i = 0; i < axis->n; i++)
            attn_json_size(json, attn_grid_position(axis, i));
        attn_json_end(json);
    }
    if (attn_json_begin_list(attn_json_key(json, "texts"), axis->texts)) {
        for (size_t i = 0; i < axis->n; i++) {
            size_t n;
            const char *text = attn_grid_text(axis, i, &n);

            attn_json_string(json, text, n);
        }
        attn_json_end(json);
    }
    attn_json_end(json);
}

/* Returns the name of COLUMN; NULL if it is missing. */
static const char *name_of(const struct attn_table *table, size_t column)
{
    const struct attn_column *found = attn_table_column(table, column);

    return found ? found->name : NULL;
}

static void push_map(struct attn_json_writer *json, const struct attn_table_drawing *drawing)
{
    const struct attn_table_view *view = &drawing->picture->view;
    const bool is_plot = drawing->is_figure, is_text = drawing->is_text;
    const size_t cells =
        drawing->cells.grid.cells ? attn_table_view_find(drawing->table, view->cells) : SIZE_MAX;

    attn_json_size(attn_page_push_key(json, "n_label"), drawing->picture->n_label);
    attn_json_text(attn_page_push_key(json, "value"),
                   name_of(drawing->table, attn_table_view_find(drawing->table, view->values)));
    attn_json_begin(attn_page_push_key(json, "map"), '{');
    attn_json_text(attn_json_key(json, "kind"), is_plot ? "figure" : is_text ? "tokens" : "grid");
    attn_json_bool(attn_json_key(json, "is_pairs"), (view->traits & ATTN_VIEW_PAIRS) != 0);
    attn_json_text(attn_json_key(json, "cell"), name_of(drawing->table, cells));
    attn_json_bool(attn_json_key(json, "is_ranked"),
                   (view->traits & ATTN_VIEW_SEQUENCE) == 0 &&
                       attn_table_find_role(drawing->table, ATTN_ROLE_SITE) == SIZE_MAX &&
                       cells == SIZE_MAX);
    if (!is_plot && !is_text)
        push_axis(json, "rows", drawing->cells.grid.rows);
    if (!is_plot)
        push_axis(json, "columns", drawing->cells.grid.columns);
    if (attn_json_begin_list(attn_json_key(json, "at"), !is_plot)) {
        for (size_t i = 0; i < attn_table_n_row(drawing->table); i++) {
            const bool is_there = is_on_map(drawing, i);

            attn_json_integer(json, is_there ? (int64_t)drawing->cells.rows.of_rows[i] : -1);
            attn_json_integer(json, is_there ? (int64_t)drawing->cells.columns.of_rows[i] : -1);
        }
        attn_json_end(json);
    }
    attn_json_end(json);
}

/* Writes the member `table`. */
static void push_all(struct attn_json_writer *json, const struct attn_table_drawing *drawing)
{
    const struct attn_colormap *colormap = drawing->options->colormap;

    attn_json_begin(attn_page_push_key(json, "table"), '{');
    push_question(json, drawing);
    push_columns(json, drawing);
    push_map(json, drawing);
    push_rows(json, drawing->table);
    attn_json_text(attn_page_push_key(json, "colormap"),
                   colormap ? attn_colormap_name(colormap) : NULL);
    attn_json_line(json);
    attn_json_end(json);
}

/* --- The markup, with a figure and a table for browsers without scripts ---------------------- */

static void append_table(struct attn_buffer *out, const struct attn_table *table)
{
    const size_t n_row = attn_table_n_row(table), n_column = attn_table_n_column(table);
    struct attn_buffer text = {0};

    attn_buffer_append_string(out, "<table class=\"plain\">\n<tr>");
    for (size_t c = 0; c < n_column; c++) {
        const char *name = attn_table_column(table, c)->name;

        if (attn_table_is_all_data(table, c))
            continue;
        attn_buffer_append_string(out, "<th>");
        attn_markup_append(out, name, strlen(name), true); /* a user may choose any label */
        attn_buffer_append_string(out, "</th>");
    }
    attn_buffer_append_string(out, "</tr>\n");
    for (size_t r = 0; r < n_row && r < MOST_ROWS; r++) {
        attn_buffer_append_string(out, "<tr>");
        for (size_t c = 0; c < n_column; c++) {
            const struct attn_cell cell = attn_table_cell(table, r, c);

            text.size = 0;
            if (attn_table_is_all_data(table, c))
                continue;
            if (cell.type != ATTN_VALUE_MISSING)
                attn_table_append_cell(&text, -1, attn_table_column(table, c), &cell);
            attn_buffer_append_string(out, "<td>");
            attn_markup_append(out, text.data ? text.data : "", text.size, true);
            attn_buffer_append_string(out, "</td>");
        }
        attn_buffer_append_string(out, "</tr>\n");
    }
    attn_buffer_append_string(out, "</table>\n");
    if (n_row > MOST_ROWS)
        attn_buffer_append_format(out, "<p>%zu more rows need a script.</p>\n", n_row - MOST_ROWS);
    out->has_failed |= text.has_failed;
    attn_buffer_release(&text);
}

/* Appends SVG [n] without style attributes, which the policy of the page forbids. */
static void append_svg(struct attn_buffer *out, const char *svg, size_t n)
{
    /* question.css sets this style instead */
    static const char style[] = " style=\"image-rendering:pixelated\"";
    const char *end = svg + n, *at;

    while ((at = memmem(svg, (size_t)(end - svg), style, sizeof style - 1))) {
        attn_buffer_append(out, svg, (size_t)(at - svg));
        svg = at + sizeof style - 1;
    }
    attn_buffer_append(out, svg, (size_t)(end - svg));
}

/* Appends the figure as SVG, unless it is large and there is a table as well. */
static enum attn_status append_figure(struct attn_buffer *out,
                                      const struct attn_table_drawing *drawing,
                                      struct attn_error *err)
{
    struct attn_sink *svg;
    size_t n_unknown, n;
    const char *bytes;
    enum attn_status status;

    if (!drawing->has_shapes)
        return ATTN_OK;
    ATTN_TRY(attn_sink_create_memory(&svg, err));
    status = attn_figure_svg_write(&drawing->shapes, svg, &n_unknown, err);
    ATTN_THEN(status, attn_sink_check(svg, err));
    if (status == ATTN_OK) {
        bytes = attn_sink_bytes(svg, &n);
        if (n <= MOST_FIGURE || drawing->is_figure)
            append_svg(out, bytes, n);
    }
    attn_sink_free(svg);
    return status;
}

/* Finds the head with the largest number, if rows are heads. */
static void find_head(struct attn_page_question *question, const struct attn_table_drawing *drawing)
{
    const struct attn_table *table = drawing->table;
    const size_t value = attn_table_view_find(table, drawing->picture->view.values);
    double most = -1;

    question->head = (struct attn_location){.layer = ATTN_NO_LAYER};
    for (size_t r = 0; r < attn_table_n_row(table) && value < SIZE_MAX; r++) {
        struct attn_location at;
        const struct attn_cell v = attn_table_cell(table, r, value);
        const double size = v.type == ATTN_VALUE_REAL ? fabs(v.real) : fabs((double)v.integer);

        if (!attn_table_read_head(table, r, &at) || v.type == ATTN_VALUE_MISSING || !(size > most))
            continue;
        most = size;
        question->head = at;
    }
}

/* --- All of it ------------------------------------------------------------------------------- */

/* Fills the question of PAGE from DRAWING, and writes it into its document. */
static enum attn_status fill(struct attn_page *page, const struct attn_table_drawing *drawing,
                             struct attn_error *err)
{
    struct attn_page_question *question = &page->question;
    struct attn_json_writer *json = &page->json;
    const char *title = drawing->options->title;
    const struct attn_grid *figure = &drawing->cells.grid;
    const struct attn_head_cards *cards = drawing->picture->cards;
    size_t n_example;
    const char *examples = attn_table_page(drawing->table, &n_example);

    question->has_examples = examples;
    question->has_atlas = cards && drawing->picture->n_label == 0;
    if (title)
        attn_escape_append(&question->title, title, strlen(title));
    else if (question->has_atlas || figure->title)
        attn_buffer_append_string(&question->title,
                                  question->has_atlas ? "Atlas of heads" : figure->title);
    else
        attn_buffer_append_format(&question->title, "%s%s%s", figure->model ? figure->model : "",
                                  figure->model ? ": " : "", figure->name);
    push_all(json, drawing);
    if (examples)
        attn_buffer_append(attn_json_value(attn_page_push_key(json, "examples")), examples,
                           n_example);
    if (question->has_atlas)
        ATTN_TRY(push_atlas(json, drawing->table, cards, err));
    ATTN_TRY(append_figure(&question->view, drawing, err));
    if (!attn_page_has_frame() && drawing->is_figure && question->view.size > 0)
        attn_json_string(attn_page_push_key(json, "svg"), question->view.data, question->view.size);
    append_table(&question->view, drawing->table);
    find_head(question, drawing);
    ATTN_TRY(attn_buffer_check(&question->title, err));
    return attn_buffer_check(&question->view, err);
}

enum attn_status attn_page_question_init(struct attn_page *page, const struct attn_table *table,
                                         const struct attn_table_picture *drawn,
                                         struct attn_error *err)
{
    struct attn_table_drawing drawing = {0};
    enum attn_status status =
        attn_table_drawing_create(&drawing, table, drawn, page->base.options.picture, err);

    page->has_question = true;
    ATTN_THEN(status, fill(page, &drawing, err));
    attn_table_drawing_release(&drawing);
    return status;
}

void attn_page_question_release(struct attn_page_question *question)
{
    attn_buffer_release(&question->title);
    attn_buffer_release(&question->view);
}
