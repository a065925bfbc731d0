/* table_tokens.c - reads rows of a table as tokens of a text, as causes between positions, and as
 * the life of one position. */
#include "grid/table_cells_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/table_internal.h"
#include "encode/text_table.h"

#include <math.h>

enum { MOST_CAUSES = 2000 };

/* Returns 1 + the largest number in the columns of TABLE with the two ROLES. */
static size_t count_to(const struct attn_table *table, const enum attn_column_role roles[2])
{
    size_t n = 0;

    for (size_t i = 0; i < 2 * attn_table_n_row(table); i++) {
        const struct attn_cell cell =
            attn_table_cell(table, i / 2, attn_table_find_role(table, roles[i % 2]));

        if (cell.type == ATTN_VALUE_INTEGER && cell.integer >= (int64_t)n)
            n = (size_t)cell.integer + 1;
    }
    return n;
}

/* Appends the token of a row: from TOKENS at its position, otherwise the text or id in the
 * table. */
static void append_token(struct attn_buffer *out, const struct attn_table *table, size_t row,
                         size_t texts, size_t positions, const struct attn_token_texts *tokens)
{
    const struct attn_cell position = attn_table_cell(table, row, positions);
    const size_t ids = attn_table_find_role(table, ATTN_ROLE_ID);
    size_t n;
    const char *token;

    if (!attn_grid_is_position(&position, tokens)) {
        if (!attn_table_is_missing(table, row, texts))
            attn_grid_append_cell(out, table, row, texts);
        else if (!attn_table_is_missing(table, row, ids))
            attn_grid_append_cell(out, table, row, ids);
        else /* the tokens of items differ */
            attn_buffer_append_string(out, " " ATTN_ELLIPSIS);
        return;
    }
    token = attn_token_text(tokens, (size_t)position.integer, &n);
    attn_buffer_append(out, token, n);
}

/* Returns true if ROW begins another text than the row BEFORE: the text after a source. */
static bool begins_text(const struct attn_table *table, size_t row, size_t before)
{
    const size_t parts = attn_table_find_role(table, ATTN_ROLE_PART);
    const struct attn_cell a = attn_table_cell(table, before, parts);
    const struct attn_cell b = attn_table_cell(table, row, parts);

    return attn_cell_word(&a, "source") == 0 && attn_cell_word(&b, "source") == SIZE_MAX;
}

/* Reads each row of the table that has a position as a token. */
enum attn_status attn_table_tokens_read(const struct attn_table *table,
                                        const struct attn_table_picture *picture,
                                        struct attn_table_cells *cells, struct attn_error *err)
{
    const size_t texts = cells->of.texts, rows = cells->of.rows, values = cells->of.values;
    const size_t n_row = attn_table_n_row(table);
    const size_t positions = attn_table_find_role(table, ATTN_ROLE_POSITION);
    struct attn_table_axis *axis = &cells->columns;
    size_t n = 0, last = 0;

    for (size_t i = 0; i < n_row; i++)
        n += rows == SIZE_MAX || !attn_table_is_missing(table, i, rows);
    if (texts == SIZE_MAX || n == 0 || rows != cells->of.columns)
        return attn_error_set(err, ATTN_INVALID,
                              "'`figure tokens`' needs a table with a row for each token");
    if (picture->n_label > 0)
        return attn_table_refuse_groups("tokens", err);
    ATTN_TRY(attn_table_axis_create(axis, n_row, n, err));
    ATTN_TRY(attn_table_axis_create(&cells->rows, n_row, 1, err));
    ATTN_TRY(attn_level_matrix_create(1, n, &cells->matrix, err));
    if (picture->run && positions != SIZE_MAX)
        ATTN_TRY(attn_token_labels_init(cells->tokens, picture->run, err));
    for (size_t i = 0; i < n_row; i++) {
        if (rows != SIZE_MAX && attn_table_is_missing(table, i, rows))
            continue; /* a row about all tokens together */
        axis->begins[axis->texts.n] = axis->texts.n > 0 && begins_text(table, i, last);
        last = i;
        cells->rows.of_rows[i] = 0;
        axis->of_rows[i] = axis->texts.n;
        append_token(&axis->texts.bytes, table, i, texts, positions, cells->tokens);
        if (!attn_table_is_missing(table, i, values))
            attn_level_matrix_put(&cells->matrix, 0, axis->texts.n,
                                  attn_table_number(table, i, values));
        axis->texts.ends[axis->texts.n++] = axis->texts.bytes.size;
    }
    if (attn_table_find_role(table, ATTN_ROLE_COUNT) != SIZE_MAX)
        cells->grid.note = ATTN_ELLIPSIS " where items differ";
    cells->rows.axis = (struct attn_grid_axis){.n = 1, .title = ""};
    axis->axis = attn_table_named_axis(axis, attn_table_column_name(table, texts));
    axis->axis.begins = axis->begins;
    return attn_buffer_check(&axis->texts.bytes, err);
}

/* Uses the positions of the lens as columns, or without a lens all positions up to N. Sets the
 * column of each row's query and key (of_rows of columns and rows). */
static void place_causes(const struct attn_table *table, const struct attn_table *lens, size_t n,
                         struct attn_table_cells *cells)
{
    struct attn_table_axis *axis = &cells->columns;
    size_t *const of_rows[2] = {axis->of_rows, cells->rows.of_rows};
    const enum attn_column_role roles[2] = {ATTN_ROLE_QUERY, ATTN_ROLE_KEY};

    for (size_t i = 0; i < (lens ? attn_table_n_row(lens) : n); i++) {
        const int64_t at =
            lens ? attn_table_cell(lens, i, attn_table_find_role(lens, ATTN_ROLE_POSITION)).integer
                 : (int64_t)i;

        if (axis->axis.n > 0 && at <= (int64_t)axis->positions[axis->axis.n - 1])
            continue; /* repeated for later layers */
        for (size_t k = 0; k < 2 * attn_table_n_row(table); k++) {
            const struct attn_cell cell =
                attn_table_cell(table, k / 2, attn_table_find_role(table, roles[k % 2]));

            if (cell.type == ATTN_VALUE_INTEGER && cell.integer == at)
                of_rows[k % 2][k / 2] = axis->axis.n;
        }
        axis->positions[axis->axis.n++] = (size_t)at;
    }
}

enum attn_status attn_table_causes_read(const struct attn_table *table,
                                        const struct attn_table_picture *picture,
                                        struct attn_table_cells *cells, struct attn_error *err)
{
    const struct attn_table *lens = picture->lens;
    const size_t values = cells->of.values;
    static const enum attn_column_role ends[2] = {ATTN_ROLE_QUERY, ATTN_ROLE_KEY};
    static const enum attn_column_role layer[2] = {ATTN_ROLE_LAYER, ATTN_ROLE_LAYER};
    const size_t n = count_to(table, ends), n_row = attn_table_n_row(table);
    struct attn_table_axis *axis = &cells->columns;

    if (n == 0 || count_to(table, layer) == 0 ||
        attn_table_find_role(table, ATTN_ROLE_KEY) == SIZE_MAX)
        return attn_error_set(err, ATTN_INVALID,
                              "'`figure causes`' needs rows with a layer, a query and a key");
    if (n_row > MOST_CAUSES) {
        attn_error_set(err, ATTN_INVALID, "'`figure causes`' shows at most %d rows, not %zu",
                       MOST_CAUSES, n_row);
        return attn_error_hint(err, "`limit` chooses the largest");
    }
    if (picture->run)
        ATTN_TRY(attn_token_labels_init(cells->tokens, picture->run, err));
    ATTN_TRY(attn_table_axis_create(axis, n_row, lens ? attn_table_n_row(lens) : n, err));
    ATTN_TRY(attn_table_axis_create(&cells->rows, n_row, 1, err));
    place_causes(table, lens, n, cells);
    axis->axis.positions = axis->positions;
    axis->axis.texts = cells->tokens[0].n >= n ? cells->tokens : NULL;
    axis->axis.title = cells->rows.axis.title = "";
    cells->rows.axis.n = 1;
    cells->causes = (struct attn_grid_causes){table,
                                              values,
                                              axis->of_rows,
                                              cells->rows.of_rows,
                                              count_to(lens ? lens : table, layer),
                                              picture->view.quantity != NULL,
                                              lens};
    cells->grid.causes = &cells->causes;
    for (size_t i = 0; i < n_row; i++) /* sets the number of digits */
        cells->matrix.most = fmaxf(cells->matrix.most, fabsf(attn_table_number(table, i, values)));
    return ATTN_OK;
}

enum { MOST_KEYS = 16 }; /* keys that a picture shows */

/* Adds up the sizes of what heads bring from each key to SIZES [n], and finds its token. */
static void add_sizes(const struct attn_table *parts, double *sizes, struct attn_cell *tokens)
{
    const size_t keys = attn_table_find_role(parts, ATTN_ROLE_KEY);
    const size_t texts = attn_table_find_role(parts, ATTN_ROLE_TOKEN);
    const size_t values = attn_table_find(parts, "value");

    for (size_t i = 0; i < attn_table_n_row(parts); i++) {
        const struct attn_cell key = attn_table_cell(parts, i, keys);

        if (key.type != ATTN_VALUE_INTEGER)
            continue;
        sizes[key.integer] += fabs(attn_table_cell(parts, i, values).real);
        tokens[key.integer] = attn_table_cell(parts, i, texts);
    }
}

/* Chooses the keys with the largest SIZES [n] as columns, and the position AT. */
static void place_keys(const double *sizes, const struct attn_cell *tokens, size_t n, size_t at,
                       struct attn_table_axis *axis)
{
    for (size_t key = 0; key < n; key++) {
        size_t n_larger = 0;

        for (size_t other = 0; other < n; other++)
            n_larger += sizes[other] > sizes[key] || (sizes[other] == sizes[key] && other < key);
        if (n_larger >= MOST_KEYS && key != at)
            continue;
        axis->positions[axis->texts.n] = key;
        if (tokens[key].type == ATTN_VALUE_TEXT)
            attn_buffer_append(&axis->texts.bytes, tokens[key].text, tokens[key].size);
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
    const struct attn_table *lens = picture->lens;
    const struct attn_cell best = attn_table_cell(lens, attn_table_n_row(lens) - 1,
                                                  attn_table_find_role(lens, ATTN_ROLE_TOKEN));
    struct attn_buffer *out = &words->bytes;

    attn_buffer_append_string(out, "life of '");
    attn_table_append_label(out, token->text, token->size);
    attn_buffer_append_string(out, "': what each layer adds to ");
    if (*picture->answer) {
        attn_buffer_append_string(out, picture->answer);
    } else {
        attn_buffer_append_string(out, "logit(");
        attn_table_append_label(out, best.text, best.size);
        attn_buffer_append_string(out, ")");
    }
    words->title = attn_buffer_string(out);
    return attn_buffer_check(out, err);
}

/* Reads the keys of PARTS, of which there are N, into the columns. AT is the position. */
static enum attn_status read_keys(const struct attn_table *table,
                                  const struct attn_table_picture *picture, size_t n, size_t at,
                                  struct attn_table_cells *cells, struct attn_error *err)
{
    struct attn_table_axis *axis = &cells->columns;
    double *sizes = attn_alloc(n, sizeof *sizes, err);
    struct attn_cell *tokens = sizes ? attn_alloc(n, sizeof *tokens, err) : NULL;
    enum attn_status status = tokens ? ATTN_OK : ATTN_NO_MEMORY;

    if (status == ATTN_OK)
        status = attn_table_axis_create(axis, attn_table_n_row(table), n, err);
    if (status == ATTN_OK) {
        add_sizes(picture->life, sizes, tokens);
        place_keys(sizes, tokens, n, at, axis);
        status = name_life(picture, &tokens[at], &cells->words, err);
    }
    if (status == ATTN_OK)
        status = attn_buffer_check(&axis->texts.bytes, err);
    attn_free(sizes);
    attn_free(tokens);
    return status;
}

enum attn_status attn_table_life_read(const struct attn_table *table,
                                      const struct attn_table_picture *picture,
                                      struct attn_table_cells *cells, struct attn_error *err)
{
    static const enum attn_column_role keys[2] = {ATTN_ROLE_KEY, ATTN_ROLE_KEY};
    static const enum attn_column_role layers[2] = {ATTN_ROLE_LAYER, ATTN_ROLE_LAYER};
    const struct attn_table *lens = picture->lens;
    struct attn_table_axis *axis = &cells->columns;
    size_t n, at;

    if (!picture->life || !lens)
        return attn_error_set(err, ATTN_INVALID,
                              "'`figure life`' draws one position of the question lens");
    at = (size_t)attn_table_cell(lens, 0, attn_table_find_role(lens, ATTN_ROLE_POSITION)).integer;
    n = count_to(picture->life, keys);
    if (at >= n)
        return attn_error_set(err, ATTN_INVALID,
                              "'`figure life`' needs a position that attends to itself");
    ATTN_TRY(read_keys(table, picture, n, at, cells, err));
    ATTN_TRY(attn_table_axis_create(&cells->rows, attn_table_n_row(table), 1, err));
    axis->axis = (struct attn_grid_axis){.n = axis->texts.n,
                                         .texts = &axis->texts,
                                         .positions = axis->positions,
                                         .has_own_texts = true,
                                         .title = ""};
    cells->rows.axis = (struct attn_grid_axis){.n = 1, .title = ""};
    cells->life = (struct attn_grid_life){lens, picture->life, count_to(picture->life, layers)};
    cells->grid.life = &cells->life;
    return ATTN_OK;
}
