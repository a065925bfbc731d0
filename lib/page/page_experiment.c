/* page_experiment.c - see page_internal.h. */
#include "page/page_internal.h"

#include "base/escape.h"
#include "base/path.h"
#include "base/sink_internal.h"
#include "base/table_internal.h"
#include "base/version.h"
#include "encode/colormap_internal.h"
#include "encode/quoting.h"
#include "figures/table_picture_internal.h"
#include "tables/table_writer_internal.h"
#include "writers/picture_internal.h"

#include <math.h>
#include <string.h>

enum {
    MOST_ROWS = 500,       /* of the table where no script runs */
    MOST_FIGURE = 1 << 18, /* bytes of the figure there */
};

/* --- The object ------------------------------------------------------------------------------ */

static void push_texts(struct attn_json_writer *json, const struct attn_grid *figure)
{
    attn_json_begin(attn_page_push_key(json, "texts"), '[');
    for (size_t i = 0; i < sizeof figure->texts / sizeof *figure->texts; i++) {
        const struct attn_figure_text *text = &figure->texts[i];
        struct attn_buffer printable = {0};

        if (!text->text)
            continue;
        attn_escape_append(&printable, text->text, text->n);
        attn_json_begin(json, '{');
        attn_json_text(attn_json_key(json, "name"), text->name);
        attn_json_string(attn_json_key(json, "text"), printable.data ? printable.data : "",
                         printable.size);
        attn_json_end(json);
        json->out->has_failed |= printable.has_failed;
        attn_buffer_release(&printable);
    }
    attn_json_end(json);
}

/* The question and its texts. */
static void push_question(struct attn_json_writer *json, const struct attn_table_drawing *drawing)
{
    const struct attn_table_picture *picture = drawing->picture;
    size_t n_model = 0;
    const char *model = picture->model ? attn_path_last(picture->model, &n_model) : NULL;

    attn_json_integer(attn_page_push_key(json, "schema"), ATTN_JSON_SCHEMA);
    attn_json_text(attn_page_push_key(json, "version"), ATTN_VERSION);
    attn_json_text(attn_page_push_key(json, "kind"), attn_table_name(drawing->table));
    attn_json_text(attn_page_push_key(json, "title"), drawing->figure->title);
    attn_json_text(attn_page_push_key(json, "note"), drawing->figure->note);
    attn_json_string(attn_page_push_key(json, "model"), model, n_model);
    attn_json_text(attn_page_push_key(json, "asked"), picture->view.asked);
    attn_json_text(attn_page_push_key(json, "answer"), picture->answer[0] ? picture->answer : NULL);
    attn_json_text(attn_page_push_key(json, "metric"), picture->metric);
    attn_json_text(attn_page_push_key(json, "target"), picture->target);
    attn_json_text(attn_page_push_key(json, "foil"), picture->foil);
    push_texts(json, drawing->figure);
}

static const char *const curves[] = {
    [ATTN_CURVE_LINEAR] = "linear", [ATTN_CURVE_SQRT] = "sqrt", [ATTN_CURVE_LOG] = "log"};

static void push_columns(struct attn_json_writer *json, const struct attn_table_drawing *drawing)
{
    static const char *const types[] = {"", "integer", "real", "text", "boolean", "list"};
    static const char *const ranges[] = {"signed", "positive", "share"};
    static const char *const roles[] = {
        "value",  "layer",       "head",       "kv_head",      "neuron", "position", "query",
        "key",    "place",       "token",      "id",           "site",   "part",     "set",
        "number", "other_layer", "other_head", "other_number", "count",  "total",    "stack"};

    const size_t values = attn_table_view_find(drawing->table, drawing->picture->view.values);

    attn_json_begin(attn_page_push_key(json, "columns"), '[');
    for (size_t c = 0; c < attn_table_n_column(drawing->table); c++) {
        const struct attn_column *column = attn_table_column(drawing->table, c);
        struct attn_table_picture picture = *drawing->picture;
        struct attn_table_words words = {0};

        if (c != values)
            picture.view.quantity = NULL; /* it is of that column */
        attn_table_words_find(&words, column, &picture);
        attn_json_line(json);
        attn_json_begin(json, '{');
        attn_json_text(attn_json_key(json, "name"), column->name);
        attn_json_text(attn_json_key(json, "type"), types[column->type]);
        if (column->role != ATTN_ROLE_VALUE)
            attn_json_text(attn_json_key(json, "role"), roles[column->role]);
        attn_json_text(attn_json_key(json, "unit"), column->unit);
        attn_json_text(attn_json_key(json, "range"), ranges[column->range]);
        attn_json_text(attn_json_key(json, "scale"),
                       curves[attn_color_scale_of_column(ATTN_COLOR_SCALE_DEFAULT, column).curve]);
        if (column->notation == ATTN_NOTATION_FIXED)
            attn_json_integer(attn_json_key(json, "digits"), column->digits);
        attn_json_text(attn_json_key(json, "words"), words.quantity);
        attn_json_end(json);
        json->out->has_failed |= words.bytes.has_failed;
        attn_table_words_release(&words);
    }
    attn_json_end(json);
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

            printable.size = 0;
            if (cell.type == ATTN_VALUE_TEXT || attn_value_is_list(cell.type)) {
                attn_table_append_cell(&printable, -1, column, &cell);
                attn_json_string(json, printable.data ? printable.data : "", printable.size);
            } else {
                attn_table_push_cell(json, column, &cell, -1);
            }
        }
        attn_json_end(json);
    }
    attn_json_end(json);
    json->out->has_failed |= printable.has_failed;
    attn_buffer_release(&printable);
}

/* The labels of the rows or columns of the map. */
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
            const char *text = attn_token_text(axis->texts, i, &n);

            attn_json_string(json, text, n);
        }
        attn_json_end(json);
    }
    attn_json_end(json);
}

/* The name of COLUMN; NULL if it is missing. */
static const char *name_of(const struct attn_table *table, size_t column)
{
    const struct attn_column *found = attn_table_column(table, column);

    return found ? found->name : NULL;
}

static void push_map(struct attn_json_writer *json, const struct attn_table_drawing *drawing)
{
    const struct attn_table_view *view = &drawing->picture->view;
    const bool is_plot = drawing->is_figure;
    const size_t cells =
        drawing->figure->cells ? attn_table_view_find(drawing->table, view->cells) : SIZE_MAX;

    attn_json_size(attn_page_push_key(json, "n_label"), drawing->picture->n_label);
    attn_json_text(attn_page_push_key(json, "value"),
                   name_of(drawing->table, attn_table_view_find(drawing->table, view->values)));
    attn_json_begin(attn_page_push_key(json, "map"), '{');
    attn_json_text(attn_json_key(json, "kind"), is_plot                               ? "figure"
                                                : drawing->kind == ATTN_FIGURE_TOKENS ? "tokens"
                                                                                      : "grid");
    attn_json_bool(attn_json_key(json, "is_pairs"), (view->traits & ATTN_VIEW_PAIRS) != 0);
    attn_json_text(attn_json_key(json, "cell"), name_of(drawing->table, cells));
    attn_json_bool(attn_json_key(json, "is_ranked"),
                   (view->traits & (ATTN_VIEW_SEQUENCE | ATTN_VIEW_STREAM)) == 0 &&
                       cells == SIZE_MAX);
    if (!is_plot) {
        push_axis(json, "rows", drawing->figure->rows);
        push_axis(json, "columns", drawing->figure->columns);
    }
    if (attn_json_begin_list(attn_json_key(json, "at"), !is_plot)) {
        for (size_t i = 0; i < attn_table_n_row(drawing->table); i++) {
            const bool is_there = drawing->rows[i] != SIZE_MAX && drawing->columns[i] != SIZE_MAX;

            attn_json_integer(json, is_there ? (int64_t)drawing->rows[i] : -1);
            attn_json_integer(json, is_there ? (int64_t)drawing->columns[i] : -1);
        }
        attn_json_end(json);
    }
    attn_json_end(json);
}

static void push_look(struct attn_json_writer *json, const struct attn_color_scale *scale,
                      const struct attn_picture_options *picture)
{
    static const char *const spans[] = {"matrix", "unit", "matrix", "row", "fixed"};
    static const char *const values[] = {"auto", "always", "never"};
    const struct attn_color_scale *asked = &picture->color_scale;

    attn_json_begin(attn_page_push_key(json, "look"), '{');
    attn_json_text(attn_json_key(json, "colormap"),
                   picture->colormap ? attn_colormap_name(picture->colormap) : NULL);
    attn_json_text(attn_json_key(json, "theme"), picture->theme == ATTN_THEME_DARK ? "dark" : NULL);
    attn_json_text(attn_json_key(json, "values"), values[picture->values]);
    attn_json_size(attn_json_key(json, "cell"), picture->cell);
    attn_json_text(attn_json_key(json, "scale"),
                   asked->curve == ATTN_CURVE_DEFAULT ? NULL : curves[scale->curve]);
    attn_json_text(attn_json_key(json, "span"),
                   asked->span == ATTN_SPAN_DEFAULT ? NULL : spans[scale->span]);
    if (scale->span == ATTN_SPAN_FIXED) {
        attn_json_double(attn_json_key(json, "low"), scale->low);
        attn_json_double(attn_json_key(json, "high"), scale->high);
    }
    attn_json_end(json);
}

static void push_all(struct attn_buffer *out, const struct attn_table_drawing *drawing,
                     const struct attn_picture_options *picture)
{
    struct attn_json_writer json = {.out = out, .comma = ","};

    attn_json_begin(&json, '{');
    push_question(&json, drawing);
    push_columns(&json, drawing);
    push_map(&json, drawing);
    push_rows(&json, drawing->table);
    push_look(&json, &drawing->figure->scale, picture);
    attn_page_push_colors(&json);
    attn_json_line(&json);
    attn_json_end(&json);
    attn_buffer_append_char(out, '\n');
}

/* --- What is said, and what is there without a script ---------------------------------------- */

static void append_markup(struct attn_buffer *out, const char *text, size_t n)
{
    attn_buffer_append_string(out, "<bdi>");
    attn_page_append_text(out, text, n, ATTN_PAGE_MOST_TEXT);
    attn_buffer_append_string(out, "</bdi>");
}

/* "fable; clean: The key; corrupted: The keys". */
static void append_about(struct attn_buffer *out, const struct attn_grid *figure)
{
    const char *between = "";

    if (figure->model) {
        size_t n;
        const char *model = attn_path_last(figure->model, &n);

        append_markup(out, model, n);
        between = "; ";
    }
    for (size_t i = 0; i < sizeof figure->texts / sizeof *figure->texts; i++) {
        const struct attn_figure_text *text = &figure->texts[i];

        if (!text->text || text->n == 0)
            continue;
        attn_buffer_append_string(out, between);
        if (text->name)
            attn_buffer_append_format(out, "%s: ", text->name);
        append_markup(out, text->text, text->n);
        between = "; ";
    }
    if (figure->note)
        attn_buffer_append_format(out, "%s%s", between, figure->note);
}

static void append_table(struct attn_buffer *out, const struct attn_table *table)
{
    const size_t n_row = attn_table_n_row(table), n_column = attn_table_n_column(table);
    struct attn_buffer text = {0};

    attn_buffer_append_string(out, "<table class=\"plain\">\n<tr>");
    for (size_t c = 0; c < n_column; c++) {
        const char *name = attn_table_column(table, c)->name;

        attn_buffer_append_string(out, "<th>");
        append_markup(out, name, strlen(name)); /* that of a label is anybody's */
        attn_buffer_append_string(out, "</th>");
    }
    attn_buffer_append_string(out, "</tr>\n");
    for (size_t r = 0; r < n_row && r < MOST_ROWS; r++) {
        attn_buffer_append_string(out, "<tr>");
        for (size_t c = 0; c < n_column; c++) {
            const struct attn_cell cell = attn_table_cell(table, r, c);

            text.size = 0;
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

/* Appends SVG [n] without styles, which the policy of the page forbids. */
static void append_svg(struct attn_buffer *out, const char *svg, size_t n)
{
    static const char style[] = " style=\"image-rendering:pixelated\""; /* experiment.css has it */
    const char *end = svg + n, *at;

    while ((at = memmem(svg, (size_t)(end - svg), style, sizeof style - 1))) {
        attn_buffer_append(out, svg, (size_t)(at - svg));
        svg = at + sizeof style - 1;
    }
    attn_buffer_append(out, svg, (size_t)(end - svg));
}

/* Appends the figure as SVG, unless it is large and has a table. */
static enum attn_status append_figure(struct attn_buffer *out,
                                      const struct attn_table_drawing *drawing,
                                      struct attn_error *err)
{
    struct attn_sink *svg;
    size_t n_unknown, n;
    const char *bytes;
    enum attn_status status;

    if (!drawing->shapes)
        return ATTN_OK;
    ATTN_TRY(attn_sink_create_memory(&svg, err));
    status = attn_figure_svg_write(drawing->shapes, svg, &n_unknown, err);
    if (status == ATTN_OK)
        status = attn_sink_check(svg, err);
    if (status == ATTN_OK) {
        bytes = attn_sink_bytes(svg, &n);
        if (n <= MOST_FIGURE || drawing->is_figure)
            append_svg(out, bytes, n);
    }
    attn_sink_free(svg);
    return status;
}

/* The head of the largest number that is drawn, where rows are heads. */
static void find_head(struct attn_page_experiment *experiment,
                      const struct attn_table_drawing *drawing)
{
    const struct attn_table *table = drawing->table;
    const size_t layer = attn_table_find_role(table, ATTN_ROLE_LAYER);
    const size_t head = attn_table_find_role(table, ATTN_ROLE_HEAD);
    const size_t value = attn_table_view_find(table, drawing->picture->view.values);
    double most = -1;

    experiment->head = (struct attn_location){.layer = ATTN_NO_LAYER};
    if (layer == SIZE_MAX || head == SIZE_MAX || value == SIZE_MAX)
        return;
    for (size_t r = 0; r < attn_table_n_row(table); r++) {
        struct attn_location at;
        const struct attn_cell h = attn_table_cell(table, r, head);
        const struct attn_cell v = attn_table_cell(table, r, value);
        const double size = v.type == ATTN_VALUE_REAL ? fabs(v.real) : fabs((double)v.integer);

        if (!attn_location_read(table, r, layer, &at) || h.type != ATTN_VALUE_INTEGER ||
            v.type == ATTN_VALUE_MISSING || !(size > most))
            continue;
        most = size;
        experiment->head = at;
        experiment->head.head = (int)h.integer;
    }
}

/* --- All of it ------------------------------------------------------------------------------- */

struct making {
    struct attn_page_experiment *experiment;
    const struct attn_picture_options *picture;
};

/* An attn_table_drawing_fn. */
static enum attn_status make(void *user, const struct attn_table_drawing *drawing,
                             struct attn_error *err)
{
    const struct making *making = user;
    struct attn_page_experiment *experiment = making->experiment;
    const char *title = making->picture->title;
    const struct attn_grid *figure = drawing->figure;

    title = title ? title : figure->title;
    if (title)
        attn_escape_append(&experiment->title, title, strlen(title));
    else
        attn_buffer_append_format(&experiment->title, "%s%s%s", figure->model ? figure->model : "",
                                  figure->model ? ": " : "", figure->name);
    append_about(&experiment->about, figure);
    push_all(&experiment->json, drawing, making->picture);
    ATTN_TRY(append_figure(&experiment->view, drawing, err));
    append_table(&experiment->view, drawing->table);
    find_head(experiment, drawing);
    ATTN_TRY(attn_buffer_check(&experiment->title, err));
    ATTN_TRY(attn_buffer_check(&experiment->about, err));
    ATTN_TRY(attn_buffer_check(&experiment->json, err));
    return attn_buffer_check(&experiment->view, err);
}

enum attn_status attn_page_experiment_init(struct attn_page_experiment *experiment,
                                           const struct attn_table *table,
                                           const struct attn_table_picture *drawn,
                                           const struct attn_picture_options *picture,
                                           struct attn_error *err)
{
    struct making making = {experiment, picture};

    return attn_table_drawing_use(table, drawn, picture, make, &making, err);
}

void attn_page_experiment_release(struct attn_page_experiment *experiment)
{
    attn_buffer_release(&experiment->title);
    attn_buffer_release(&experiment->about);
    attn_buffer_release(&experiment->json);
    attn_buffer_release(&experiment->view);
}
