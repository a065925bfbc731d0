/* picture_position.c - see picture_position.h. */
#include "towers/prompt/picture_position.h"

#include "base/status_internal.h"
#include "base/text/number.h"
#include "towers/prompt/picture_prompt.h"

#include <string.h>

/* An item of a list of positions in a picture. Commas separate items. */
struct picture_item {
    const char *text; /* [size] */
    size_t size;
    size_t first, last; /* the two ends of a number or range, `3` or `3-5` */
    bool is_number;
};

/* Reads the item at *SPEC and advances *SPEC to its end. */
static struct picture_item read_picture_item(const char **spec)
{
    struct picture_item item = {.text = *spec, .size = strcspn(*spec, ",")};
    const char *dash = memchr(item.text, '-', item.size);
    const size_t n_first = dash ? (size_t)(dash - item.text) : item.size;
    int64_t first, last;

    *spec += item.size;
    if (!attn_parse_int(item.text, n_first, 0, INT32_MAX, &first))
        return item;
    last = first;
    if (dash && !attn_parse_int(dash + 1, item.size - n_first - 1, first, INT32_MAX, &last))
        return item;
    item.first = (size_t)first;
    item.last = (size_t)last;
    item.is_number = true;
    return item;
}

/* Reports that the rectangle ROWS x COLUMNS is outside of N_ROW x N_COL patches or cells. */
static enum attn_status refuse_rectangle(const struct picture_item *rows,
                                         const struct picture_item *columns,
                                         const struct attn_image_grid *grid, const char *what,
                                         struct attn_error *err)
{
    return attn_error_set(
        err, ATTN_INVALID,
        "'%s%.*s,%.*s' is outside the picture, expected row 0 to %zu and column 0 to %zu of its %s",
        *what == 't' ? "t" : "", (int)rows->size, rows->text, (int)columns->size, columns->text,
        grid->n_row - 1, grid->n_col - 1, what);
}

/* The name of a position beside an image: `3,4`, `t0-2,3-5` or a region, with the number of the
 * image in front, `1:3,4`, or without. */
struct image_item {
    const char *at; /* what follows the number */
    bool has_number;
    size_t image;
};

/* Reads the number of an image in front of SPEC, if it has one. */
static enum attn_status read_image_number(const char *spec, const struct attn_sequence *sequence,
                                          struct image_item *item, struct attn_error *err)
{
    const struct attn_picture_prompt *seen = &sequence->seen;
    const size_t n = strspn(spec, "0123456789");
    int64_t number = 0;

    *item = (struct image_item){.at = spec};
    if (n == 0 || spec[n] != ':' || seen->n_image == 0)
        return ATTN_OK;
    if (!attn_parse_int(spec, n, 0, INT32_MAX, &number) || (size_t)number >= seen->n_image)
        return attn_error_set(err, ATTN_INVALID, "'%.*s' names picture %.*s of %zu, counted from 0",
                              (int)strcspn(spec, ","), spec, (int)n, spec, seen->n_image);
    item->at = spec + n + 1;
    item->has_number = true;
    item->image = (size_t)number;
    return ATTN_OK;
}

/* Appends the positions of the cells in the rectangle ROWS x COLUMNS that ITEM names: of the whole
 * image, or of the grid of all tiles. */
static enum attn_status append_cells(const struct picture_item *rows,
                                     const struct picture_item *columns,
                                     const struct image_item *item,
                                     const struct attn_sequence *sequence, struct attn_buffer *out,
                                     struct attn_error *err)
{
    const struct attn_prompt_image *image = &sequence->seen.images[item->image];
    const bool is_of_tiles = *item->at == 't';
    const struct attn_image_grid grid = {.n_row = is_of_tiles ? image->grid_rows : image->rows,
                                         .n_col = is_of_tiles ? image->grid_cols : image->columns};
    const size_t begin = out->size;

    if (grid.n_row == 0)
        return attn_error_set(err, ATTN_INVALID, "'t%.*s,%.*s' is in a tile, and there are none",
                              (int)rows->size, rows->text, (int)columns->size, columns->text);
    if (rows->last >= grid.n_row || columns->last >= grid.n_col)
        return refuse_rectangle(rows, columns, &grid, is_of_tiles ? "tiles" : "cells", err);
    for (size_t row = rows->first; row <= rows->last; row++)
        for (size_t column = columns->first; column <= columns->last; column++) {
            const size_t cell =
                is_of_tiles ? attn_prompt_image_tile_cell(image, row, column)
                            : attn_prompt_image_whole(image) + row * image->columns + column;

            attn_buffer_append_format(out, "%s%zu", out->size > begin ? "," : "",
                                      attn_picture_prompt_cell(sequence, cell));
        }
    return ATTN_OK;
}

/* Appends the positions of ITEM at *SPEC, if it is a rectangle of cells, `3,4` or `t0-2,3-5`, and
 * advances *SPEC to its end. */
static enum attn_status append_if_cells(const char **spec, const struct image_item *item,
                                        const struct attn_sequence *sequence,
                                        struct attn_buffer *out, bool *is_found,
                                        struct attn_error *err)
{
    const char *at = item->at + (*item->at == 't');
    struct picture_item rows, columns;

    *is_found = false;
    if (sequence->seen.n_image == 0)
        return ATTN_OK;
    rows = read_picture_item(&at);
    if (!rows.is_number || *at++ != ',')
        return ATTN_OK;
    columns = read_picture_item(&at);
    if (!columns.is_number)
        return ATTN_OK;
    *is_found = true;
    *spec = at;
    return append_cells(&rows, &columns, item, sequence, out, err);
}

/* Appends the positions of the region that ITEM at *SPEC names, if it does, and advances *SPEC. */
static enum attn_status append_if_region(const char **spec, const struct image_item *item,
                                         const struct attn_sequence *sequence,
                                         struct attn_buffer *out, bool *is_found,
                                         struct attn_error *err)
{
    const struct attn_picture_prompt *seen = &sequence->seen;
    const size_t begin = out->size, size = strcspn(item->at, ",");
    enum attn_region region = item->has_number ? ATTN_REGION_PICTURE : 0;
    const enum attn_region end = item->has_number ? ATTN_REGION_PICTURE + 1 : ATTN_N_REGION;

    while (region < end && (strlen(attn_region_name(region)) != size ||
                            memcmp(attn_region_name(region), item->at, size) != 0))
        region++;
    *is_found = seen->n_picture > 0 && region < end;
    for (size_t i = 0; *is_found && i < sequence->n; i++) {
        const size_t first = i;
        const int32_t image = seen->image_of[i];

        if (seen->region[i] != region || (item->has_number && image != (int32_t)item->image))
            continue;
        while (i + 1 < sequence->n && seen->region[i + 1] == region &&
               seen->image_of[i + 1] == image)
            i++;
        attn_buffer_append_format(out, "%s%zu-%zu", out->size > begin ? "," : "", first, i);
    }
    *spec = *is_found ? item->at + size : *spec;
    if (*is_found && out->size == begin)
        return attn_error_set(err, ATTN_INVALID, "the %s has no position of the region '%s'",
                              sequence->role, attn_region_name(region));
    return ATTN_OK;
}

enum attn_status attn_prompt_positions(const char **spec, const struct attn_sequence *sequence,
                                       struct attn_buffer *out, bool *is_found,
                                       struct attn_error *err)
{
    struct image_item item;

    ATTN_TRY(read_image_number(*spec, sequence, &item, err));
    ATTN_TRY(append_if_cells(spec, &item, sequence, out, is_found, err));
    return *is_found ? ATTN_OK : append_if_region(spec, &item, sequence, out, is_found, err);
}

/* Appends the positions of the patches in the rectangle ROWS x COLUMNS: one range FIRST-LAST for
 * each row. */
static enum attn_status append_patches(const struct picture_item *rows,
                                       const struct picture_item *columns,
                                       const struct attn_image_grid *grid, struct attn_buffer *out,
                                       struct attn_error *err)
{
    if (rows->last >= grid->n_row || columns->last >= grid->n_col)
        return refuse_rectangle(rows, columns, grid, "patches", err);
    for (size_t row = rows->first; row <= rows->last; row++) {
        const size_t begin = grid->n_front + row * grid->n_col;

        attn_buffer_append_format(out, "%s%zu-%zu", row > rows->first ? "," : "",
                                  begin + columns->first, begin + columns->last);
    }
    return ATTN_OK;
}

/* Appends the position of ITEM, the name of a token before the patches, such as [CLS]. */
static enum attn_status append_front(const struct picture_item *item,
                                     const struct attn_sequence *sequence, struct attn_buffer *out,
                                     struct attn_error *err)
{
    for (size_t i = 0; i < sequence->grid.n_front; i++)
        if (sequence->tokens.sizes[i] == item->size &&
            memcmp(sequence->tokens.bytes[i], item->text, item->size) == 0) {
            attn_buffer_append_format(out, "%zu", i);
            return ATTN_OK;
        }
    attn_error_set(err, ATTN_INVALID, "'%s' is no place in a picture, expected row,column%s",
                   attn_quote(item->text, item->size).text,
                   sequence->grid.n_front > 1   ? sequence->tokens.bytes[1][1] == 'D'
                                                      ? ", [CLS] or [DIST]"
                                                      : ", [CLS] or [REG0]"
                   : sequence->grid.n_front > 0 ? " or [CLS]"
                                                : "");
    return attn_error_hint(err, "2,3 is one of %zu x %zu patches, 0-2,3-4 are six of them",
                           sequence->grid.n_row, sequence->grid.n_col);
}

enum attn_status attn_picture_positions(const char *spec, const struct attn_sequence *sequence,
                                        struct attn_buffer *out, struct attn_error *err)
{
    for (const char *at = spec;; at++) {
        struct picture_item item = read_picture_item(&at), column;

        if (item.is_number && *at == ',') {
            at++;
            column = read_picture_item(&at);
            if (!column.is_number)
                return append_front(&item, sequence, out, err);
            ATTN_TRY(append_patches(&item, &column, &sequence->grid, out, err));
        } else {
            ATTN_TRY(append_front(&item, sequence, out, err));
        }
        if (*at == '\0')
            return attn_buffer_check(out, err);
        attn_buffer_append_char(out, ',');
    }
}
