/* figure_fold.c - folds keys that queries hardly look at, so that a long text fits its figure: the
 * one rule for arcs, tokens, matrices, and the heads of a query. In a text that is drawn as a text,
 * pieces of one character fold into the character. A live page folds words by the
 * same (stage.js). */
#include "figures/figure_internal.h"

#include "base/memory.h"
#include "tables/text_table.h"
#include "tensors/view.h"

#include <math.h>

#define SHOWN 0.01F /* keys with a weight of this or more stay, and of NaN */

enum { N_STRONGEST = 3 }; /* keys of each query that stay, too; not of each head of a query */

/* Returns the number of the cell at ROW, COLUMN; 0 if it has none, NaN if it is not finite. */
static float number_at(const struct attn_level_matrix *matrix, size_t row, size_t column)
{
    float value = 0;
    const enum attn_cell_kind kind = attn_level_cell(matrix, row, column, &value);

    return kind == ATTN_CELL_VALUE ? value : kind == ATTN_CELL_NOT_FINITE ? NAN : 0;
}

/* Returns true if key C stays because of row R, whose N_STRONGEST largest keys stay. */
static bool is_shown(const struct attn_level_matrix *matrix, size_t r, size_t c, size_t n_strongest)
{
    const float value = number_at(matrix, r, c);
    size_t n_larger = 0;

    if (!(value > 0) || value >= SHOWN)
        return !(value < SHOWN);
    for (size_t k = 0; k < matrix->n_column && n_larger < n_strongest; k++)
        n_larger += number_at(matrix, r, k) > value || (k < c && number_at(matrix, r, k) == value);
    return n_larger < n_strongest;
}

/* Returns how many keys from C on are the pieces of one character that is drawn as a whole; 1 for
 * other keys. */
static size_t n_piece(const struct attn_figure_pen *pen, const struct attn_grid_axis *keys,
                      size_t c)
{
    const bool is_text = pen->kind == ATTN_FIGURE_TOKENS || pen->kind == ATTN_FIGURE_ARCS;
    const bool *joins = keys->texts->joins;
    size_t n;

    if (!is_text || !joins || keys->has_own_texts || keys->positions || joins[keys->first + c])
        return 1;
    n = 1 + attn_token_n_joined(keys->texts, keys->first + c);
    return c + n <= keys->n ? n : 1;
}

/* Returns the number of keys in the column that begins at key C, and sets *N_WORD to that of its
 * words, of which more than one have no position. */
static size_t n_key(const struct attn_figure_pen *pen, const struct attn_grid_axis *keys,
                    const bool *kept, size_t c, size_t *n_word)
{
    size_t end = c + n_piece(pen, keys, c);

    *n_word = 1;
    for (; !kept[c] && end < keys->n && !kept[end]; end += n_piece(pen, keys, end))
        ++*n_word;
    return end - c;
}

/* Returns the position of a word of N keys from C on: the query's, if it is one of them. */
static size_t position_of(const struct attn_figure_pen *pen, const struct attn_grid_axis *keys,
                          size_t c, size_t n)
{
    const struct attn_writer *run = pen->content->grid->run;

    for (size_t k = c; k < c + n && attn_writer_has_own_keys(run, &attn_figure_matrix(pen, 0)->at);
         k++)
        for (size_t i = 0; i < run->n_query; i++)
            if (attn_grid_position(keys, k) == run->queries[i])
                return run->queries[i];
    return attn_grid_position(keys, c);
}

/* Appends a column of N keys from C on, which are N_WORD words. */
static void add_column(struct attn_figure_pen *pen, const struct attn_grid_axis *keys, size_t c,
                       size_t n, size_t n_word)
{
    const struct attn_level_matrix *matrix = attn_figure_matrix(pen, 0);
    struct attn_figure_fold *fold = &pen->fold;
    const size_t i = fold->texts.n++;
    size_t size;
    const char *text = attn_grid_text(keys, c, &size);
    float value;

    if (n_word > 1)
        attn_buffer_append_format(&fold->texts.bytes, ATTN_ELLIPSIS " %zu words", n_word);
    else
        attn_buffer_append(&fold->texts.bytes, text,
                           n > 1 ? attn_figure_character_size(text, size) : size);
    fold->texts.ends[i] = fold->texts.bytes.size;
    fold->positions[i] = n_word > 1 ? ATTN_GRID_NO_POSITION : position_of(pen, keys, c, n);
    for (size_t r = 0; r < matrix->n_row; r++) {
        float sum = 0;
        bool has_value = false;

        for (size_t k = c; k < c + n; k++) {
            has_value |= attn_level_cell(matrix, r, k, &value) == ATTN_CELL_VALUE;
            sum += number_at(matrix, r, k);
        }
        if (has_value || isnan(sum))
            attn_level_matrix_put(&fold->matrix, r, i, sum);
    }
}

/* Makes the N columns of the fold of PEN; KEYS in KEPT stay. */
static enum attn_status make_columns(struct attn_figure_pen *pen, const struct attn_grid_axis *keys,
                                     const bool *kept, size_t n, struct attn_error *err)
{
    const struct attn_level_matrix *matrix = attn_figure_matrix(pen, 0);
    struct attn_figure_fold *fold = &pen->fold;
    size_t n_word;

    ATTN_TRY(attn_level_matrix_create(matrix->n_row, n, &fold->matrix, err));
    ATTN_TRY(ATTN_ALLOC(fold->positions, n, err));
    ATTN_TRY(ATTN_ALLOC(fold->texts.ends, n, err));
    for (size_t c = 0, size; c < keys->n; c += size) {
        size = n_key(pen, keys, kept, c, &n_word);
        add_column(pen, keys, c, size, n_word);
    }
    fold->matrix.at = matrix->at;
    fold->matrix.least = matrix->least; /* colors keep their range */
    fold->matrix.most = matrix->most;
    fold->columns = *keys;
    fold->columns.n = n;
    fold->columns.texts = &fold->texts;
    fold->columns.has_own_texts = true;
    fold->columns.positions = fold->positions;
    fold->grid = *pen->content->grid;
    fold->grid.matrices = &fold->matrix;
    fold->grid.columns = &fold->columns;
    fold->whole = pen->content;
    fold->content = *pen->content;
    fold->content.grid = &fold->grid;
    pen->content = &fold->content;
    return attn_buffer_check(&fold->texts.bytes, err);
}

/* Folds KEYS of the only matrix of PEN: pieces of characters and, if it IS_LONG, keys that queries
 * hardly look at. */
static enum attn_status fold_keys(struct attn_figure_pen *pen, const struct attn_grid_axis *keys,
                                  bool is_long, struct attn_error *err)
{
    const struct attn_level_matrix *matrix = attn_figure_matrix(pen, 0);
    const struct attn_writer *run = pen->content->grid->run;
    const size_t n_query = attn_writer_has_own_keys(run, &matrix->at) ? run->n_query : 0;
    const size_t n_strongest = pen->kind == ATTN_FIGURE_HEADS ? 0 : N_STRONGEST;
    size_t n = 0;
    bool *kept;

    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, kept, keys->n, err));
    for (size_t c = 0; c < keys->n; c++)
        for (size_t i = 0; i < n_query && !kept[c]; i++)
            kept[c] = attn_grid_position(keys, c) == run->queries[i];
    for (size_t c = 0; c < keys->n; c++)
        for (size_t r = 0; r < matrix->n_row && !kept[c]; r++)
            kept[c] = !is_long || is_shown(matrix, r, c, n_strongest);
    for (size_t c = 0, size; c < keys->n; c += size) {
        size = n_piece(pen, keys, c);
        for (size_t k = c + 1; k < c + size; k++)
            kept[c] |= kept[k];
    }
    for (size_t c = 0, n_word; c < keys->n;) {
        c += n_key(pen, keys, kept, c, &n_word);
        pen->fold.hides |= n_word > 1;
        n++;
    }
    return n < keys->n ? make_columns(pen, keys, kept, n, err) : ATTN_OK;
}

enum attn_status attn_figure_fold(struct attn_figure_pen *pen, size_t most, struct attn_error *err)
{
    const struct attn_grid *grid = pen->content->grid;
    const struct attn_picture_options *picture = pen->options;
    const struct attn_grid_axis keys = attn_grid_columns(grid, attn_figure_matrix(pen, 0));

    if (grid->run && !grid->columns && grid->is_share && grid->n == 1 && keys.texts &&
        !keys.parts && attn_figure_matrix(pen, 0)->cells && !attn_view_hides(attn_view_of(picture)))
        ATTN_TRY(fold_keys(pen, &keys, keys.n > most, err));
    if (pen->content == &pen->fold.content && pen->fold.hides)
        attn_buffer_append_string(&pen->subtitle, "keys below 1 % folded; ");
    return ATTN_OK;
}

void attn_figure_unfold(struct attn_figure_pen *pen)
{
    if (pen->content == &pen->fold.content)
        pen->content = pen->fold.whole;
    attn_free(pen->fold.matrix.cells);
    attn_free(pen->fold.positions);
    attn_token_texts_release(&pen->fold.texts, 1);
    pen->fold = (struct attn_figure_fold){0};
}
