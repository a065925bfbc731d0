/*
 * run_patch.c - edits that put what another run wrote instead of a tensor: a patch by hand.
 *
 * Its array is the site of the layer, whole: as many positions as the text has, and all heads.
 */
#include "run/run_internal.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "formats/ndarray_internal.h"
#include "run/intervention_internal.h"
#include "run/position.h"
#include "trace/site_internal.h"

#include <string.h>

/* A patch in this run. */
struct patch {
    const struct attn_patch *given;
    size_t part;                 /* its number among those of the run's edits */
    size_t n_row, n_head, width; /* of the tensor; n_head: 1 for sites without heads */
    bool has_heads, is_matrix;   /* [H, T, S]; else [T, n] or [T, H, n] */
    unsigned char *rows;         /* [n_row] owns; those that are meant; NULL: all */
};

static void find_sizes(const struct attn_run *run, struct patch *patch)
{
    const struct attn_dims *dims = attn_selection_dims(run->selection);
    const enum attn_site_layout layout = attn_site_layout(patch->given->site);
    const size_t n_key = attn_site_n_key(dims, patch->given->layer);

    patch->n_head = attn_patch_n_head(patch->given, attn_model_config(run->model));
    patch->has_heads = layout != ATTN_LAYOUT_VECTOR;
    patch->is_matrix = patch->has_heads && layout != ATTN_LAYOUT_QUERY && layout != ATTN_LAYOUT_KEY;
    patch->n_row = layout == ATTN_LAYOUT_KEY ? n_key : dims->n_position;
    patch->width = patch->is_matrix ? n_key : attn_site_width(patch->given->site, dims);
}

/* Whether the array, without leading sizes of 1, is the whole tensor. */
static enum attn_status check_shape(const struct patch *patch, struct attn_error *err)
{
    const struct attn_ndarray *values = &patch->given->values;
    const size_t expected[] = {patch->is_matrix ? patch->n_head : patch->n_row,
                               patch->is_matrix   ? patch->n_row
                               : patch->has_heads ? patch->n_head
                                                  : patch->width,
                               patch->width};
    const int rank = patch->has_heads ? 3 : 2;
    const size_t *shape = values->shape;
    int n = values->rank;
    char found[ATTN_SHAPE_TEXT_SIZE], name[ATTN_SITE_ARCHIVE_NAME_SIZE];

    for (; n > rank && shape[0] == 1; n--)
        shape++;
    if (n == rank && memcmp(shape, expected, (size_t)rank * sizeof *shape) == 0)
        return ATTN_OK;
    name[attn_site_archive_name(patch->given->site, patch->given->layer, name)] = '\0';
    return attn_error_set(err, ATTN_INVALID, "'%s' in '%s' is %s, expected [%zu, %zu%s", name,
                          attn_quote_string(values->name ? values->name : "patches").text,
                          attn_shape_text(values->rank, values->shape, found), expected[0],
                          expected[1], patch->has_heads ? ", ...], all of it" : "]");
}

/* --- Edits ----------------------------------------------------------------------------------- */

/* The edit of rows FIRST .. END-1 of one head. */
static struct attn_edit edit_of(const struct patch *patch, size_t head, size_t first, size_t end)
{
    const float *values = patch->given->values.data;
    struct attn_edit edit = ATTN_EDIT_DEFAULT;

    edit.site = patch->given->site;
    edit.layer = patch->given->layer;
    edit.head = patch->has_heads ? (int)head : ATTN_ALL_HEADS;
    edit.row0 = first;
    edit.row1 = end;
    edit.col1 = patch->width;
    edit.op = ATTN_EDIT_REPLACE;
    edit.ld = patch->is_matrix ? patch->width : patch->n_head * patch->width;
    edit.data = patch->is_matrix ? values + (head * patch->n_row + first) * patch->width
                                 : values + (first * patch->n_head + head) * patch->width;
    return edit;
}

/* Appends an edit per head and run of neighbours among the rows that are meant. */
static enum attn_status append_edits(struct attn_run *run, const struct patch *patch,
                                     struct attn_error *err)
{
    const unsigned char *rows = patch->rows;
    size_t capacity = run->n_edit;

    for (size_t head = 0; head < patch->n_head; head++) {
        if (patch->given->head != ATTN_ALL_HEADS && head != (size_t)patch->given->head)
            continue;
        for (size_t first = 0, end; first < patch->n_row; first = end) {
            void *block = run->edits;

            end = first + 1;
            if (rows && !rows[first])
                continue;
            while (end < patch->n_row && (!rows || rows[end]))
                end++;
            ATTN_TRY(attn_grow(&block, &capacity, run->n_edit + 1, sizeof *run->edits, err));
            run->edits = block;
            run->edits[run->n_edit++] = edit_of(patch, head, first, end);
            ATTN_TRY(attn_run_link_edit(run, run->n_edit - 1, patch->part, err));
        }
    }
    return ATTN_OK;
}

/* Looks whether the model has what PATCH names, and finds the positions. */
static enum attn_status find_rows(const struct attn_run *run, struct patch *patch,
                                  struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(run->model);
    const struct attn_patch *given = patch->given;

    ATTN_TRY(attn_patch_check(given, config, err));
    find_sizes(run, patch);
    if (!given->positions)
        return ATTN_OK;
    patch->rows = attn_alloc(patch->n_row, 1, err);
    if (!patch->rows)
        return ATTN_NO_MEMORY;
    return attn_error_in(
        attn_site_layout(given->site) == ATTN_LAYOUT_KEY && config->is_cross[given->layer]
            ? attn_run_find_source_positions(run, given->positions, patch->rows, err)
            : attn_run_find_positions(run, given->positions, patch->rows, err),
        "patches", err);
}

static enum attn_status add(struct attn_run *run, struct patch *patch, struct attn_error *err)
{
    ATTN_TRY(attn_error_at(find_rows(run, patch, err), ATTN_STAGE_OPTIONS, err));
    ATTN_TRY(attn_error_at(check_shape(patch, err), ATTN_STAGE_INPUT, err));
    return append_edits(run, patch, err);
}

enum attn_status attn_run_add_patches(struct attn_run *run, struct attn_error *err)
{
    const size_t first_part = attn_run_first_part(run, ATTN_EDIT_PART_PATCH);

    for (size_t i = 0; i < run->request.edits.n_patch; i++) {
        struct patch patch = {.given = &run->request.edits.patches[i], .part = first_part + i};
        const enum attn_status status = add(run, &patch, err);

        attn_free(patch.rows);
        ATTN_TRY(status);
    }
    return ATTN_OK;
}
