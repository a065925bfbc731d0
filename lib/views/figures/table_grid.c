/* table_grid.c - see table_grid.h: selects the columns that are drawn, and reads their numbers and
 * names. */
#include "figures/table_grid.h"

#include "base/elementary.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "figures/figure_streams.h"
#include "measures/head_kind.h"
#include "tables/table_internal.h"
#include "tables/text_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Appends QUANTITY, replacing the '@' in it by ANSWER. */
static void append_quantity(struct attn_buffer *out, const char *quantity, const char *answer)
{
    const size_t n = strcspn(quantity, ATTN_ANSWER);

    attn_buffer_append(out, quantity, n);
    if (quantity[n] == '\0')
        return;
    answer = answer[0] ? answer : "the answer";
    attn_escape_append(out, answer, strlen(answer));
    attn_buffer_append_string(out, quantity + n + 1);
}

void attn_table_words_find(struct attn_table_words *words, const struct attn_column *column,
                           const struct attn_table_picture *picture)
{
    const struct attn_table_view *view = &picture->view;
    const char *quantity = view->quantity ? view->quantity : column->quantity;
    size_t n;

    if (!quantity)
        return;
    append_quantity(&words->bytes, quantity, picture->answer);
    attn_buffer_append_char(&words->bytes, '\0');
    n = words->bytes.size;
    append_quantity(&words->bytes, quantity, picture->answer);
    if (view->asked) {
        attn_buffer_append_char(&words->bytes, ' ');
        attn_escape_append(&words->bytes, view->asked, strlen(view->asked));
    }
    if (!attn_buffer_string(&words->bytes))
        return;
    words->quantity = words->bytes.data;
    words->title = words->bytes.data + n;
}

enum { LIFE_DIGITS = 2 }; /* decimals of what a layer adds to a logit */

/* Sets the title and the quantity of the numbers. */
static enum attn_status find_words(const struct attn_column *column,
                                   const struct attn_table_picture *picture,
                                   struct attn_table_cells *cells, struct attn_error *err)
{
    struct attn_table_words *words = &cells->words;

    if (!words->title) /* the life of a position has its own */
        attn_table_words_find(words, column, picture);
    ATTN_TRY(attn_buffer_check(&words->bytes, err));
    attn_buffer_append_string(&cells->quantity, words->quantity ? words->quantity : column->name);
    if (column->unit || cells->grid.is_share)
        attn_buffer_append_format(&cells->quantity, ", %s", column->unit ? column->unit : "%");
    if (!attn_buffer_string(&cells->quantity))
        return attn_buffer_check(&cells->quantity, err);
    cells->grid.title = words->title;
    cells->grid.quantity = cells->quantity.data;
    return ATTN_OK;
}

/* Reads the texts of the cells. */
static enum attn_status read_texts(struct attn_table_cells *cells, struct attn_error *err)
{
    const size_t column = cells->of.cells;
    struct attn_token_texts *texts = &cells->texts;

    ATTN_TRY(ATTN_ALLOC(texts->ends, cells->n_cell, err));
    for (size_t i = 0; i < cells->n_cell; i++) {
        const struct attn_cell cell = attn_table_cell(cells->table, cells->placed[i], column);

        if (cell.type == ATTN_VALUE_TEXT)
            attn_table_append_label(&texts->bytes, cell.text, cell.size, SIZE_MAX);
        texts->ends[texts->n++] = texts->bytes.size;
    }
    cells->grid.cells = texts;
    cells->grid.has_words = attn_table_role(cells->table, column) == ATTN_ROLE_TOKEN;
    return attn_buffer_check(&texts->bytes, err);
}

/* Returns the text or the integer of CELL. */
static struct attn_quote quote_cell(const struct attn_cell *cell)
{
    char number[24];

    if (cell->type == ATTN_VALUE_TEXT)
        return attn_quote(cell->text, cell->size);
    snprintf(number, sizeof number, "%lld", (long long)cell->integer);
    return attn_quote_string(number);
}

/* Refuses rows A and B of one cell if they are of two features or of two positions of one, or,
 * unless IS_PLOT, heads of two kinds, as in a layer with mixing beside attention. Labels of items
 * may have these names, too. */
static enum attn_status check_rows(const struct attn_table *table, size_t a, size_t b, bool is_plot,
                                   struct attn_error *err)
{
    enum { KIND, FEATURE, POSITION, N_NAME };
    static const char *const names[N_NAME][2] = {
        {"kind", "heads of the kinds"}, {"feature", "the features"}, {"position", "the positions"}};

    for (int i = is_plot ? FEATURE : KIND; i < N_NAME; i++) {
        const size_t c = attn_table_find(table, names[i][0]);
        const struct attn_column *column = attn_table_column(table, c);
        const struct attn_cell first = attn_table_cell(table, a, c),
                               other = attn_table_cell(table, b, c);

        if (i == FEATURE && (!column || column->type != ATTN_VALUE_INTEGER))
            break; /* the first row of a cell counts */
        if (!column || first.type != other.type || attn_cell_is_equal(&first, &other) ||
            (i == KIND && !(column->traits & ATTN_TRAIT_NAME)))
            continue;
        attn_error_set(err, ATTN_INVALID, "the figure has one cell for %s %s and %s", names[i][1],
                       quote_cell(&first).text, quote_cell(&other).text);
        return attn_error_hint(err, "`where %s=%s` chooses one", names[i][0],
                               quote_cell(&other).text);
    }
    return ATTN_OK;
}

/* Notes the share of the only total of the table that the parts in cells add up to. */
static void note_share(struct attn_table_cells *cells)
{
    const struct attn_table *table = cells->table;
    const size_t values = cells->of.values;
    double shown = 0, sum = 0;

    for (size_t i = 0; i < attn_table_n_row(table); i++)
        if (attn_table_total(table, i) == 0)
            sum = (double)attn_table_number(table, i, values);
    for (size_t i = 0; i < cells->n_cell; i++)
        if (cells->placed[i] < SIZE_MAX)
            shown += (double)attn_table_number(table, cells->placed[i], values);
    if (fabs(shown - sum) <= 1e-3 * fabs(sum) || sum == 0)
        return;
    snprintf(cells->note, sizeof cells->note, "the parts shown add up to %.3g of %.3g", shown, sum);
    cells->grid.note = cells->note;
}

/* Assigns each row of the table to its cell, within the rows of its group. The first row of a cell
 * counts; in bars and curves (IS_PLOT) others have no place. Rows without a number have none,
 * except on a map of heads. */
static enum attn_status place_rows(struct attn_table_cells *cells, bool is_map, bool is_plot,
                                   struct attn_error *err)
{
    const struct attn_table *table = cells->table;
    const size_t n = cells->columns.axis.n, n_row = cells->rows.axis.n;
    const bool has_groups = cells->grid.groups != NULL;

    cells->n_cell = n_row * n * (has_groups ? cells->groups.texts.n : 1);
    ATTN_TRY(ATTN_STORE_ALLOC(&cells->store, cells->placed, cells->n_cell, err));
    for (size_t i = 0; i < cells->n_cell; i++)
        cells->placed[i] = SIZE_MAX;
    for (size_t i = 0; i < attn_table_n_row(table); i++) {
        size_t *row = &cells->rows.of_rows[i], *column = &cells->columns.of_rows[i], *at;

        if (*row == SIZE_MAX || *column == SIZE_MAX ||
            (!is_map && attn_table_is_missing(table, i, cells->of.values)))
            continue;
        at = &cells->placed[(*row + (has_groups ? cells->groups.of_rows[i] * n_row : 0)) * n +
                            *column];
        if (*at < SIZE_MAX)
            ATTN_TRY(check_rows(table, *at, i, is_plot, err));
        if (*at == SIZE_MAX)
            *at = i;
        else if (is_plot)
            *row = *column = SIZE_MAX;
    }
    return ATTN_OK;
}

/* Puts the numbers of column C of the placed rows into the matrix, from FIRST on, for pairs of
 * heads also into the cell of the mirrored pair; of plots also their intervals, or without these
 * one standard error on either side. */
static void put_numbers(struct attn_table_cells *cells, size_t c, size_t first, bool is_pairs)
{
    const struct attn_table *table = cells->table;
    const size_t n = cells->columns.axis.n;
    const size_t low = attn_table_find_spread(table, c, ATTN_TRAIT_LOW);
    const size_t high = attn_table_find_spread(table, c, ATTN_TRAIT_HIGH);
    const size_t se = attn_table_find_spread(table, c, ATTN_TRAIT_SE);
    const bool has_interval = low != SIZE_MAX && high != SIZE_MAX;

    for (size_t i = 0; i < cells->n_cell; i++) {
        const size_t row = cells->placed[i], at = first + i;
        const float value = attn_table_number(table, row, c);
        const float error = attn_table_number(table, row, se);

        if (is_pairs && i % n == i / n)
            attn_level_matrix_put(&cells->matrix, i / n, i % n, 0);
        if (attn_table_is_missing(table, row, c))
            continue;
        attn_level_matrix_put(&cells->matrix, at / n, at % n, value);
        if (is_pairs)
            attn_level_matrix_put(&cells->matrix, i % n, i / n, value);
        if (!cells->lows)
            continue;
        cells->lows[at] = has_interval ? attn_table_number(table, row, low) : value - error;
        cells->highs[at] = has_interval ? attn_table_number(table, row, high) : value + error;
    }
    if (!cells->lows || (!has_interval && se == SIZE_MAX))
        return;
    cells->grid.lows = cells->lows;
    cells->grid.highs = cells->highs;
    cells->grid.note = has_interval ? "with intervals of the mean" : "with standard errors";
}

/* Returns the column with the shares of class K of the rest; SIZE_MAX if it is missing. */
static size_t rest_of(const struct attn_table *table, size_t k)
{
    char name[24];

    snprintf(name, sizeof name, "rest_%s", attn_head_kind_at(k)->name);
    return attn_table_find(table, name);
}

bool attn_table_has_rest(const struct attn_table *table)
{
    return rest_of(table, 0) < SIZE_MAX;
}

enum attn_status attn_table_types_read(const struct attn_table *table,
                                       struct attn_head_type **types, struct attn_error *err)
{
    const size_t n_row = attn_table_n_row(table), names = attn_table_find(table, "type");
    const size_t weights = attn_table_find(table, "share"), parks = attn_table_find(table, "park");

    if (names == SIZE_MAX || weights == SIZE_MAX || parks == SIZE_MAX)
        return attn_error_set(err, ATTN_INVALID,
                              "the table has no columns 'type', 'share' and 'park' of heads");
    ATTN_TRY(ATTN_ALLOC(*types, n_row, err));
    for (size_t i = 0; i < n_row; i++) {
        struct attn_head_type *type = &(*types)[i];
        const struct attn_cell name = attn_table_cell(table, i, names);

        if (name.type == ATTN_VALUE_TEXT)
            type->kind = attn_head_kind_find(name.text, name.size);
        type->weight = fmax(0, (double)attn_table_number(table, i, weights));
        type->park = fmax(0, (double)attn_table_number(table, i, parks));
        for (size_t k = 0; k < ATTN_N_MIX_CLASS; k++)
            type->shares[k] = (double)attn_table_number(table, i, rest_of(table, k));
    }
    return ATTN_OK;
}

/* Returns how many heads share keys and values; 0 if they do not. */
static size_t n_sharing(const struct attn_table *table, size_t n_head)
{
    const size_t n_kv = attn_table_count(table, ATTN_ROLE_KV_HEAD);

    return n_kv > 1 && n_kv < n_head ? n_head / n_kv : 0;
}

/* Returns the strength of the hue of a head of TYPE on a map, 0 to 1: the root of the weight of its
 * kind; if cells have bars, only the ground of heads with a job is not empty. */
static double strength_of(const struct attn_head_type *type, bool has_bars)
{
    if (has_bars)
        return type->kind == attn_head_kind_at(ATTN_MIX_INDUCTION) ||
                       type->kind == attn_head_kind_at(ATTN_MIX_DUPLICATE)
                   ? 0.35
                   : 0;
    return sqrt(fmin(type->weight * (1 - type->park), 1));
}

/* Puts the bar of TYPE into cell I, and its parts into the legend. */
static void put_bar(struct attn_table_cells *cells, const struct attn_head_type *type, size_t i)
{
    const double least = 0.02;
    struct attn_head_part parts[ATTN_HEAD_PARTS];
    const size_t n = attn_head_bar(type->shares, type->park, parts);

    cells->bars[i] = type;
    for (size_t p = 0; p < n; p++)
        if (parts[p].end - parts[p].begin >= least)
            cells->grid.kinds |= UINT32_C(1) << (parts[p].kind - attn_head_kind_at(0));
}

/* Puts the name of each placed head into its cell, with its bar, or if there are many columns the
 * letter; without bars on the hue of its kind. */
static enum attn_status put_kinds(struct attn_table_cells *cells, bool has_names,
                                  struct attn_error *err)
{
    const struct attn_table *table = cells->table;
    const size_t n = cells->columns.axis.n, n_cell = cells->n_cell, *placed = cells->placed;
    const bool has_bars = attn_table_has_rest(table);
    struct attn_token_texts *texts = &cells->texts;

    ATTN_TRY(attn_table_types_read(table, &cells->types, err));
    ATTN_TRY(ATTN_ALLOC(texts->ends, n_cell, err));
    if (has_bars)
        ATTN_TRY(ATTN_STORE_ALLOC(&cells->store, cells->bars, n_cell, err));
    for (size_t i = 0; i < n_cell; i++) {
        const struct attn_head_type *type = placed[i] < SIZE_MAX ? &cells->types[placed[i]] : NULL;
        const struct attn_head_kind *kind = type ? type->kind : NULL;

        const size_t number =
            kind ? (size_t)(kind - attn_head_kind_at(0)) : (size_t)ATTN_HEAD_KIND_MIXED;

        if (kind || (type && has_bars)) { /* a head without a type has its bar on an empty ground */
            const double level = round(strength_of(type, has_bars) * (ATTN_KIND_LEVELS - 1));

            attn_level_matrix_put(
                &cells->matrix, i / n, i % n,
                (float)(((double)(number * ATTN_KIND_LEVELS) + level) / (ATTN_N_COLOR - 1)));
            if (has_bars)
                put_bar(cells, type, i);
        }
        if (kind) {
            attn_buffer_append(&texts->bytes, has_names ? kind->brief : &kind->letter,
                               has_names ? strlen(kind->brief) : 1);
            if (!has_names)
                cells->grid.kinds |= UINT32_C(1) << number;
        }
        texts->ends[texts->n++] = texts->bytes.size;
    }
    cells->columns.axis.n_together = n_sharing(table, n);
    cells->grid.cells = texts;
    cells->grid.has_letters = !has_names;
    cells->grid.bars = cells->bars;
    return attn_buffer_check(&texts->bytes, err);
}

static enum attn_status read_cells(struct attn_table_cells *cells, bool is_map, double width,
                                   struct attn_error *err)
{
    enum { MOST_NAMED = 12 };         /* columns with names instead of letters */
    enum { NAMED = 25, BESIDE = 24 }; /* points: least width of such a column, and beside them */
    const struct attn_table_view *view = &cells->picture->view;
    size_t n;

    ATTN_TRY(attn_table_axes_read(cells, is_map ? ATTN_FIGURE_MAP : ATTN_FIGURE_MATRIX, err));
    ATTN_TRY(place_rows(cells, is_map, false, err));
    if (view->parts && cells->picture->n_label == 0)
        note_share(cells);
    n = cells->columns.axis.n;
    ATTN_TRY(attn_level_matrix_create(cells->n_cell / n, n, &cells->matrix, err));
    if (is_map)
        return put_kinds(cells, width > 0 ? (double)(n * NAMED + BESIDE) <= width : n <= MOST_NAMED,
                         err);
    put_numbers(cells, cells->of.values, 0, (view->traits & ATTN_VIEW_PAIRS) != 0);
    return cells->of.cells < SIZE_MAX ? read_texts(cells, err) : ATTN_OK;
}

/* --- Bars and curves -------------------------------------------------------------------------- */

/* Whether column C of reals is drawn beside VALUES. */
static bool is_beside(const struct attn_column *values, const struct attn_column *c)
{
    const unsigned spreads = ATTN_TRAIT_SD | ATTN_TRAIT_SE | ATTN_TRAIT_LOW | ATTN_TRAIT_HIGH;

    return c->type == ATTN_VALUE_REAL && c->range == values->range && (c->traits & spreads) == 0;
}

/* Makes a group of each column of the range of the values, from these on, in place of those of the
 * rows. */
static enum attn_status list_columns(struct attn_table_cells *cells, struct attn_error *err)
{
    const struct attn_table *table = cells->table;
    const size_t n_row = attn_table_n_row(table), n = attn_table_n_column(table);
    const struct attn_column *values = attn_table_column(table, cells->of.values);
    struct attn_table_axis *groups = &cells->groups;

    ATTN_TRY(attn_table_axis_create(groups, n_row, n, &cells->store, err));
    for (size_t c = cells->of.values; c < n; c++) {
        if (!is_beside(values, attn_table_column(table, c)))
            continue;
        groups->positions[groups->texts.n] = c;
        attn_buffer_append_string(&groups->texts.bytes, attn_table_column_name(table, c));
        groups->texts.ends[groups->texts.n++] = groups->texts.bytes.size;
    }
    for (size_t i = 0; i < n_row; i++)
        cells->rows.of_rows[i] = cells->rows.of_rows[i] < SIZE_MAX ? 0 : SIZE_MAX;
    cells->rows.axis.n = 1;
    return attn_table_axis_end(groups, "", err);
}

/* Returns true if the rows of the table are parts of layers, whose order the user left open. */
static bool is_ranked(const struct attn_table_cells *cells)
{
    return (cells->picture->view.traits & (ATTN_VIEW_ORDERED | ATTN_VIEW_SEQUENCE)) == 0 &&
           attn_table_role(cells->table, cells->of.rows) == ATTN_ROLE_LAYER &&
           attn_table_has_parts(cells->table, cells->of.columns);
}

/* Reads the numbers of bars, a curve or a strip, KIND: a row for each group, a column for each
 * part. */
static enum attn_status read_series(struct attn_table_cells *cells, enum attn_figure kind,
                                    struct attn_error *err)
{
    const bool is_strip = kind == ATTN_FIGURE_STRIP;
    const bool has_columns = !is_strip && (cells->picture->view.traits & ATTN_VIEW_SERIES) != 0;
    const size_t *columns = &cells->of.values;
    size_t n, n_series = 1;

    if (is_strip && cells->picture->n_label == 0)
        return attn_error_set(err, ATTN_INVALID,
                              "'`figure strip`' has a dot for each group of `items`, and there are "
                              "no groups: `group_by id` makes one of each item");
    ATTN_TRY(attn_table_axes_read(cells, kind, err));
    if (has_columns) {
        ATTN_TRY(list_columns(cells, err));
        columns = cells->groups.positions;
        n_series = cells->groups.axis.n;
    }
    ATTN_TRY(place_rows(cells, has_columns, true, err));
    n = cells->columns.axis.n;
    ATTN_TRY(attn_level_matrix_create(n_series * cells->rows.axis.n, n, &cells->matrix, err));
    cells->grid.is_ranked = !has_columns && kind == ATTN_FIGURE_BARS && is_ranked(cells);
    if (!is_strip) {
        ATTN_TRY(ATTN_STORE_ALLOC(&cells->store, cells->lows, n_series * cells->n_cell, err));
        ATTN_TRY(ATTN_STORE_ALLOC(&cells->store, cells->highs, n_series * cells->n_cell, err));
    }
    for (size_t i = 0; !is_strip && i < n_series * cells->n_cell; i++)
        cells->lows[i] = cells->highs[i] = NAN;
    for (size_t i = 0; i < n_series; i++)
        put_numbers(cells, columns[i], i * n, false);
    return ATTN_OK;
}

/* --- Tokens, and positions -------------------------------------------------------------------- */

/* Prepares the matrix of a figure of one row with N columns. */
static enum attn_status begin_row(struct attn_table_cells *cells, size_t n, struct attn_error *err)
{
    ATTN_TRY(attn_table_axis_create(&cells->rows, attn_table_n_row(cells->table), 1, &cells->store,
                                    err));
    cells->rows.axis = (struct attn_grid_axis){.n = 1, .title = ""};
    return attn_level_matrix_create(1, n, &cells->matrix, err);
}

/* Reads each row of the table that has a position as a token. */
static enum attn_status read_tokens(struct attn_table_cells *cells, struct attn_error *err)
{
    const struct attn_table *table = cells->table;
    const struct attn_view_columns *of = &cells->of;
    const bool is_list = of->texts < SIZE_MAX && of->rows == of->columns;
    struct attn_table_axis *axis = &cells->columns;

    if (is_list && cells->picture->n_label > 0)
        return attn_table_refuse_groups("tokens", err);
    if (is_list)
        ATTN_TRY(attn_table_axes_read(cells, ATTN_FIGURE_TOKENS, err));
    if (axis->axis.n == 0)
        return attn_error_set(err, ATTN_INVALID,
                              "'`figure tokens`' needs a table with a row for each token");
    ATTN_TRY(begin_row(cells, axis->axis.n, err));
    for (size_t i = 0; i < attn_table_n_row(table); i++)
        cells->rows.of_rows[i] = axis->of_rows[i] < SIZE_MAX ? 0 : SIZE_MAX;
    ATTN_TRY(place_rows(cells, false, false, err));
    put_numbers(cells, of->values, 0, false);
    if (attn_table_find_role(table, ATTN_ROLE_COUNT) != SIZE_MAX)
        cells->grid.note = ATTN_ELLIPSIS " where items differ";
    return ATTN_OK;
}

/* Reads a range of the list "0-2,4" at *AT, a part of TEXT [n], and moves *AT behind it. */
static void next_range(const char *text, size_t n, size_t *at, size_t range[2])
{
    for (int i = 0; i < 2; i++) {
        if (i > 0 && (*at == n || text[*at] != '-')) {
            range[1] = range[0];
            break;
        }
        *at += i > 0;
        for (range[i] = 0; *at < n && text[*at] >= '0' && text[*at] <= '9'; ++*at)
            range[i] = 10 * range[i] + (size_t)(text[*at] - '0');
    }
    *at += *at < n;
}

/* Reads the tokens of the run, each with the value of the first row that has its position, or
 * without a value in no span. */
static enum attn_status read_spans(struct attn_table_cells *cells, struct attn_error *err)
{
    const struct attn_table *table = cells->table;
    const size_t n = attn_selection_dims(cells->picture->run->selection)->n_position;
    float value;

    ATTN_TRY(attn_token_labels_init(cells->tokens, cells->picture->run, err));
    ATTN_TRY(
        attn_table_axis_create(&cells->columns, attn_table_n_row(table), 0, &cells->store, err));
    ATTN_TRY(begin_row(cells, n, err));
    for (size_t row = 0; row < attn_table_n_row(table); row++) {
        const struct attn_cell name = attn_table_cell(table, row, cells->of.rows);
        const struct attn_cell places = attn_table_cell(table, row, cells->of.texts);
        size_t range[2];

        for (size_t at = 0; attn_table_is_span(&name) && at < places.size;) {
            next_range(places.text, places.size, &at, range);
            for (size_t i = range[0]; i <= range[1] && i < n; i++)
                if (attn_level_cell(&cells->matrix, 0, i, &value) != ATTN_CELL_VALUE)
                    attn_level_matrix_put(&cells->matrix, 0, i,
                                          attn_table_number(table, row, cells->of.values));
        }
    }
    if (attn_table_find(table, "cut") < SIZE_MAX) {
        append_quantity(&cells->texts.bytes,
                        "change: of @ without the span; cut: with the span alone",
                        cells->picture->answer);
        cells->grid.note = attn_buffer_string(&cells->texts.bytes);
    }
    cells->columns.axis = (struct attn_grid_axis){
        .n = n, .texts = cells->tokens[0].n > 0 ? cells->tokens : NULL, .title = "token"};
    return attn_buffer_check(&cells->texts.bytes, err);
}

/* Checks the edges of a circuit, which its figure reads from the table. */
static enum attn_status read_circuit(struct attn_table_cells *cells, struct attn_error *err)
{
    const struct attn_table *table = cells->table;
    enum { MOST_EDGES = 500 };
    const size_t n_row = attn_table_n_row(table);

    if (attn_table_find_role(table, ATTN_ROLE_WRITER) == SIZE_MAX)
        return attn_error_set(err, ATTN_INVALID,
                              "'`figure circuit`' draws edges of the question "
                              "circuit");
    if (cells->picture->n_label > 0)
        return attn_table_refuse_groups("a circuit", err);
    if (n_row == 0 || n_row > MOST_EDGES) {
        attn_error_set(err, ATTN_INVALID, "'`figure circuit`' shows 1 to %d edges, not %zu",
                       MOST_EDGES, n_row);
        return attn_error_hint(err, "`size` chooses them");
    }
    cells->rows.axis = cells->columns.axis = (struct attn_grid_axis){.n = 1, .title = ""};
    for (size_t i = 0; i < n_row; i++) /* sets the number of digits */
        cells->matrix.most =
            fmaxf(cells->matrix.most, fabsf(attn_table_number(table, i, cells->of.values)));
    return ATTN_OK;
}

/* Returns how many keys a picture shows: in print as many as have room. */
static size_t most_keys(const struct attn_picture_options *options)
{
    enum { MOST_KEYS = 16, PITCH = 46, ASIDE = ATTN_STREAMS_LEFT + ATTN_LIFE_ASIDE };
    const double room = options->figure_width / attn_figure_unit(options) - ASIDE;

    return attn_figure_is_printed(options) ? (size_t)fmax(1, fmin(MOST_KEYS, room / PITCH))
                                           : MOST_KEYS;
}

/* A key of a life. */
struct brought {
    double size; /* of what heads bring from it */
    struct attn_cell token;
};

/* Adds up what heads bring from each key to ALL, and finds its token. */
static void add_sizes(const struct attn_table *parts, struct brought *all)
{
    const size_t values = attn_table_next_value(parts, SIZE_MAX);

    for (size_t i = 0; i < attn_table_n_row(parts); i++) {
        const struct attn_cell key = attn_table_role_cell(parts, i, ATTN_ROLE_KEY);

        if (key.type != ATTN_VALUE_INTEGER)
            continue;
        all[key.integer].size += fabs(attn_table_cell(parts, i, values).real);
        all[key.integer].token = attn_table_role_cell(parts, i, ATTN_ROLE_TOKEN);
    }
}

/* Chooses the MOST largest of the keys ALL [n] as columns, and the position AT. */
static void choose_keys(const struct brought *all, size_t n, size_t at, size_t most,
                        struct attn_table_axis *axis)
{
    for (size_t key = 0; key < n; key++) {
        const struct attn_cell *token = &all[key].token;
        size_t n_larger = 0;

        for (size_t other = 0; other < n; other++)
            n_larger += all[other].size > all[key].size ||
                        (all[other].size == all[key].size && other < key);
        if (n_larger >= most && key != at)
            continue;
        axis->positions[axis->texts.n] = key;
        if (token->type == ATTN_VALUE_TEXT)
            attn_buffer_append(&axis->texts.bytes, token->text, token->size);
        else
            attn_buffer_append_integer(&axis->texts.bytes, (int64_t)key);
        axis->texts.ends[axis->texts.n++] = axis->texts.bytes.size;
    }
}

/* Makes the title: whose life it is, and of which answer. */
static enum attn_status name_life(const struct attn_table_picture *picture,
                                  const struct attn_cell *token, struct attn_table_words *words,
                                  struct attn_error *err)
{
    const struct attn_cell best =
        attn_table_role_cell(picture->lens, attn_table_n_row(picture->lens) - 1, ATTN_ROLE_TOKEN);
    struct attn_buffer *out = &words->bytes;

    attn_buffer_append_string(out, "life of '");
    attn_table_append_label(out, token->text, token->size, SIZE_MAX);
    attn_buffer_append_string(out, "': what each layer adds to ");
    if (*picture->answer) {
        attn_buffer_append_string(out, picture->answer);
    } else {
        attn_buffer_append_string(out, "logit(");
        attn_table_append_label(out, best.text, best.size, SIZE_MAX);
        attn_buffer_append_string(out, ")");
    }
    words->title = attn_buffer_string(out);
    return attn_buffer_check(out, err);
}

static enum attn_status read_life(struct attn_table_cells *cells,
                                  const struct attn_picture_options *options,
                                  struct attn_error *err)
{
    struct attn_table_axis *axis = &cells->columns;
    struct brought *all;
    enum attn_status status;
    size_t n, at;

    if (!cells->picture->life || !cells->picture->lens)
        return attn_error_set(err, ATTN_INVALID,
                              "'`figure life`' draws one position of the question lens");
    at = (size_t)attn_table_role_cell(cells->picture->lens, 0, ATTN_ROLE_POSITION).integer;
    n = attn_table_count(cells->picture->life, ATTN_ROLE_KEY);
    if (at >= n)
        return attn_error_set(err, ATTN_INVALID,
                              "'`figure life`' needs a position that attends to itself");
    cells->rows.axis = (struct attn_grid_axis){.n = 1, .title = ""};
    ATTN_TRY(attn_table_axis_create(axis, attn_table_n_row(cells->table), n, &cells->store, err));
    ATTN_TRY(ATTN_ALLOC(all, n, err));
    add_sizes(cells->picture->life, all);
    choose_keys(all, n, at, most_keys(options), axis);
    status = name_life(cells->picture, &all[at].token, &cells->words, err);
    attn_free(all);
    ATTN_THEN(status, attn_table_axis_end(axis, "", err));
    axis->axis.is_named = false;
    axis->axis.positions = axis->positions;
    return status;
}

/* --- Parts ------------------------------------------------------------------------------------ */

static bool has_numbers(const struct attn_table *table, size_t column)
{
    const enum attn_value_type type = attn_table_column(table, column)->type;

    return type == ATTN_VALUE_INTEGER || type == ATTN_VALUE_REAL || type == ATTN_VALUE_REALS;
}

/* Reads the rows of parts: position, name and mark. */
static enum attn_status read_rows(struct attn_table_cells *cells, struct attn_error *err)
{
    const struct attn_table *table = cells->table;
    const struct attn_view_columns *of = &cells->of;
    struct attn_table_axis *rows = &cells->rows;

    ATTN_TRY(attn_table_axes_read(cells, ATTN_FIGURE_TOKENS, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&cells->store, cells->marks, attn_table_n_row(table), err));
    for (size_t i = 0; i < attn_table_n_row(table); i++) {
        const struct attn_cell position = attn_table_cell(table, i, of->rows);
        const bool has_position = position.type == ATTN_VALUE_INTEGER;

        rows->positions[i] = has_position ? (size_t)position.integer : ATTN_GRID_NO_POSITION;
        cells->marks[i] = !attn_table_is_missing(table, i, of->marks);
        if (has_position && !attn_table_is_missing(table, i, of->texts))
            rows->axis.is_named = false;
    }
    rows->axis.positions = rows->positions;
    return ATTN_OK;
}

/* Reads column C of the table into PART and MATRIX. */
static enum attn_status read_part(const struct attn_table *table, size_t c,
                                  struct attn_grid_part *part, struct attn_level_matrix *matrix,
                                  struct attn_error *err)
{
    const struct attn_column *column = attn_table_column(table, c);
    const size_t n_row = attn_table_n_row(table);
    const bool is_list = column->type == ATTN_VALUE_REALS;
    size_t n = is_list ? 0 : 1;

    *part =
        (struct attn_grid_part){.name = column->name,
                                .quantity = column->quantity ? column->quantity : column->name,
                                .look = is_list                                ? ATTN_LOOK_CELLS
                                        : column->range == ATTN_RANGE_SHARE    ? ATTN_LOOK_SHARE
                                        : column->range == ATTN_RANGE_POSITIVE ? ATTN_LOOK_BAR
                                                                               : ATTN_LOOK_NUMBER,
                                .scale = attn_color_scale_of(column->range, false),
                                .digits = column->digits};
    for (size_t i = 0; is_list && i < n_row; i++) {
        const size_t size = attn_table_cell(table, i, c).size;

        n = size > n ? size : n;
    }
    ATTN_TRY(attn_level_matrix_create(n_row, n, matrix, err));
    for (size_t i = 0; i < n_row; i++) {
        const struct attn_cell cell = attn_table_cell(table, i, c);

        for (size_t k = 0; is_list && k < cell.size; k++)
            attn_level_matrix_put(matrix, i, k, (float)cell.reals[k]);
        if (!is_list && cell.type != ATTN_VALUE_MISSING)
            attn_level_matrix_put(matrix, i, 0, attn_table_number(table, i, c));
    }
    return ATTN_OK;
}

static enum attn_status read_parts(struct attn_table_cells *cells, struct attn_error *err)
{
    const struct attn_table *table = cells->table;
    const size_t n_column = attn_table_n_column(table);
    struct attn_grid *grid = &cells->grid;

    if (cells->of.rows == SIZE_MAX || cells->of.texts == SIZE_MAX || cells->of.values == SIZE_MAX)
        return attn_error_set(err, ATTN_INVALID, "the table lacks a column to be drawn by");
    ATTN_TRY(read_rows(cells, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&cells->store, cells->parts, n_column, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&cells->store, cells->matrices, n_column, err));
    for (size_t c = cells->of.values; c < n_column; c++)
        if (has_numbers(table, c)) {
            ATTN_TRY(read_part(table, c, &cells->parts[grid->n], &cells->matrices[grid->n], err));
            grid->n++;
        }
    if (grid->n == 0)
        return attn_error_set(err, ATTN_INVALID, "the table has no numbers to draw");
    grid->matrices = cells->matrices;
    grid->parts = cells->parts;
    grid->marks = cells->marks;
    grid->name = attn_table_name(table);
    grid->title = cells->picture->view.quantity;
    grid->note = cells->picture->note;
    grid->scale = attn_color_scale_of(ATTN_RANGE_SIGNED, false);
    return ATTN_OK;
}

/* --- All of it -------------------------------------------------------------------------------- */

static enum attn_status read_kind(struct attn_table_cells *cells, enum attn_figure kind,
                                  const struct attn_picture_options *options,
                                  struct attn_error *err)
{
    const struct attn_table *table = cells->table;
    const struct attn_view_columns *of = &cells->of;
    const bool is_pairs = (cells->picture->view.traits & ATTN_VIEW_PAIRS) != 0;

    if (kind == ATTN_FIGURE_PAIR &&
        (of->rows != of->columns || attn_table_role(table, of->rows) != ATTN_ROLE_KEY ||
         attn_table_find_role(table, ATTN_ROLE_PART) == SIZE_MAX))
        return attn_error_set(err, ATTN_INVALID,
                              "'`figure pair`' draws two texts of the question diff");
    if (kind == ATTN_FIGURE_TOKENS && attn_table_has_spans(cells->picture))
        return read_spans(cells, err);
    if (kind == ATTN_FIGURE_TOKENS || kind == ATTN_FIGURE_PAIR)
        return read_tokens(cells, err);
    if (kind == ATTN_FIGURE_BARS || kind == ATTN_FIGURE_CURVE || kind == ATTN_FIGURE_STRIP)
        return read_series(cells, kind, err);
    if (kind == ATTN_FIGURE_CIRCUIT || kind == ATTN_FIGURE_ANSWER)
        return read_circuit(cells, err);
    if (kind == ATTN_FIGURE_LIFE)
        return read_life(cells, options, err);
    if (cells->picture->n_label > 0 && (kind != ATTN_FIGURE_MATRIX || is_pairs))
        return attn_table_refuse_groups(is_pairs ? "a grid of pairs" : "a map", err);
    if (!is_pairs && kind != ATTN_FIGURE_MAP && of->rows == of->columns && of->rows < SIZE_MAX) {
        attn_error_set(err, ATTN_INVALID,
                       "a grid is laid out by two columns, and this table has one: '%s'",
                       attn_table_column_name(table, of->rows));
        return attn_error_hint(err, cells->picture->view.texts > 0
                                        ? "`figure tokens` or `figure bars`"
                                        : "`figure bars` draws it into a file");
    }
    return read_cells(cells, kind == ATTN_FIGURE_MAP, options->figure_width, err);
}

/* Sets title, note and scale of a map of heads. */
static void set_map_words(struct attn_grid *figure)
{
    const bool has_bars = figure->bars != NULL;

    figure->is_share = false;
    figure->quantity = "mean weight (square root)";
    figure->scale = (struct attn_color_scale){.curve = ATTN_CURVE_LINEAR, .span = ATTN_SPAN_UNIT};
    figure->title = has_bars ? "what each head looks at" : "where each head looks most";
    figure->note = has_bars ? "each bar is all weight of a head, the parked part pale"
                            : "the stronger a hue, the larger the mean weight (square root)";
}

/* Sets the texts of the figure: the first two texts of PICTURE, each followed by the third. */
static enum attn_status join_texts(const struct attn_table_picture *picture,
                                   struct attn_table_cells *cells, struct attn_error *err)
{
    const struct attn_figure_text *second = &picture->texts[2];

    for (size_t i = 0; i < 2; i++) {
        const struct attn_figure_text *text = &picture->texts[i];
        struct attn_buffer *joined = &cells->joined[i];

        cells->grid.texts[i] = *text;
        if (!text->text || !second->text)
            continue;
        attn_buffer_append(joined, text->text, text->n);
        attn_buffer_append_char(joined, ' ');
        attn_buffer_append(joined, second->text, second->n);
        ATTN_TRY(attn_buffer_check(joined, err));
        cells->grid.texts[i].text = joined->data;
        cells->grid.texts[i].n = joined->size;
    }
    return ATTN_OK;
}

int attn_table_cell_digits(const struct attn_column *column, double most, bool has_parts)
{
    enum { MOST_DIGITS = 4, MANY = 1000 };

    if (column->type != ATTN_VALUE_REAL || !isfinite(most) || most >= MANY)
        return 0;
    if (most > 0 && most < 1)
        return (int)fmin(1 - floor(attn_log10(most)), MOST_DIGITS);
    /* with parts two digits, as one part is often much larger than the others */
    return most < 10 && has_parts ? 2 : 1;
}

enum attn_status attn_table_cells_read(const struct attn_table *table,
                                       const struct attn_table_picture *picture,
                                       enum attn_figure kind,
                                       const struct attn_picture_options *options,
                                       struct attn_table_cells *cells, struct attn_error *err)
{
    struct attn_grid *figure = &cells->grid;
    const struct attn_column *column;
    struct attn_column of_kl; /* a divergence is not below 0, whatever the metrics of its column */
    const struct attn_view_columns *of = &cells->of;
    const bool is_life = kind == ATTN_FIGURE_LIFE;
    const bool is_difference = (picture->view.traits & ATTN_VIEW_DIFFERENCE) != 0;
    double most;

    figure->rows =
        picture->view.traits & ATTN_VIEW_SERIES ? &cells->groups.axis : &cells->rows.axis;
    figure->columns = &cells->columns.axis;
    figure->model = picture->model;
    figure->has_models = picture->has_models;
    cells->table = table;
    cells->picture = picture;
    cells->of = attn_view_columns_find(table, &picture->view);
    if ((picture->view.traits & ATTN_VIEW_SPANS) != 0 && kind != ATTN_FIGURE_TOKENS)
        cells->of.texts = SIZE_MAX; /* names alone */
    if ((picture->view.traits & ATTN_VIEW_PARTS) != 0)
        return read_parts(cells, err);
    ATTN_TRY(attn_view_columns_check(
        table, of, of->values,
        of->values < SIZE_MAX ? attn_table_column_name(table, of->values) : "", err));
    ATTN_TRY(read_kind(cells, kind, options, err));
    if (kind != ATTN_FIGURE_STRIP) /* it draws each group, not their mean */
        ATTN_TRY(join_texts(picture, cells, err));
    column = is_life
                 ? attn_table_column(picture->life, attn_table_next_value(picture->life, SIZE_MAX))
                 : attn_table_column(table, of->values);
    of_kl = *column;
    of_kl.range = ATTN_RANGE_POSITIVE;
    if (column->range == ATTN_RANGE_SIGNED && picture->metric &&
        strcmp(picture->metric, "kl") == 0 && cells->matrix.least >= 0)
        column = &of_kl;
    figure->matrices = &cells->matrix;
    figure->n = 1;
    figure->name = column->name;
    figure->scale =
        attn_color_scale_of_column(column, (double)cells->matrix.least, (double)cells->matrix.most);
    figure->is_share = column->range == ATTN_RANGE_SHARE || is_difference;
    if (is_difference)
        figure->scale = attn_color_scale_of(ATTN_RANGE_SHARE, true);
    most = fmax(fabs((double)cells->matrix.least), fabs((double)cells->matrix.most));
    figure->digits = is_life ? LIFE_DIGITS
                             : attn_table_cell_digits(column, most, cells->columns.axis.n_main > 0);
    if (kind == ATTN_FIGURE_MAP) {
        set_map_words(figure);
        return ATTN_OK;
    }
    return find_words(column, picture, cells, err);
}

void attn_table_cells_release(struct attn_table_cells *cells)
{
    attn_token_texts_release(&cells->rows.texts, 1);
    attn_token_texts_release(&cells->columns.texts, 1);
    attn_token_texts_release(&cells->groups.texts, 1);
    attn_token_texts_release(&cells->texts, 1);
    attn_token_texts_release(cells->tokens, ATTN_GRID_N_TOKENS);
    attn_free(cells->types);
    attn_free(cells->matrix.cells);
    for (size_t i = 0; cells->matrices && i < cells->grid.n; i++)
        attn_free(cells->matrices[i].cells);
    attn_store_release(&cells->store);
    attn_buffer_release(&cells->words.bytes);
    attn_buffer_release(&cells->quantity);
    attn_buffer_release(&cells->both);
    attn_buffer_release(&cells->joined[0]);
    attn_buffer_release(&cells->joined[1]);
}
