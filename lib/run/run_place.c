/*
 * run_place.c - edits of one tensor, or of one of its heads: what another run wrote instead of it,
 * a patch by hand; what is added to it; what it is multiplied by.
 *
 * The array of a patch is the site of the layer, whole: as many positions as the text has, and all
 * heads. What is added is a vector, or a row for each of the positions that are meant.
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

/* A place in this run. */
struct place {
    struct attn_edit_place given;
    size_t part;                 /* its number among those of the run's edits */
    size_t n_row, n_head, width; /* of the tensor; n_head: 1 for sites without heads */
    bool has_heads, is_matrix;   /* [H, T, S]; else [T, n] or [T, H, n] */
    unsigned char *rows;         /* [n_row] owns; those that are meant; NULL: all */
    size_t capacity;             /* of the run's edits; as many as there are at first */
};

static void find_sizes(const struct attn_run *run, struct place *place)
{
    const struct attn_dims *dims = attn_selection_dims(run->selection);
    const enum attn_site_layout layout = attn_site_layout(place->given.site);
    const size_t n_key = attn_site_n_key(dims, place->given.layer);

    place->n_head = attn_edit_place_n_head(&place->given, attn_model_config(run->model));
    place->has_heads = layout != ATTN_LAYOUT_VECTOR;
    place->is_matrix = place->has_heads && layout != ATTN_LAYOUT_QUERY && layout != ATTN_LAYOUT_KEY;
    place->n_row = layout == ATTN_LAYOUT_KEY ? n_key : dims->n_position;
    place->width = place->is_matrix ? n_key : attn_site_width(place->given.site, dims);
}

/* Looks whether the model has what PLACE names, and finds the positions. */
static enum attn_status find_rows(const struct attn_run *run, struct place *place,
                                  struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(run->model);
    const struct attn_edit_place *given = &place->given;

    ATTN_TRY(attn_edit_place_check(given, config, err));
    find_sizes(run, place);
    if (!given->positions)
        return ATTN_OK;
    place->rows = attn_alloc(place->n_row, 1, err);
    if (!place->rows)
        return ATTN_NO_MEMORY;
    return attn_error_in(
        attn_site_layout(given->site) == ATTN_LAYOUT_KEY && config->is_cross[given->layer]
            ? attn_run_find_source_positions(run, given->positions, place->rows, err)
            : attn_run_find_positions(run, given->positions, place->rows, err),
        given->field, err);
}

/* Finds rows FIRST .. END-1, neighbours among those that are meant, from *end on. False when there
 * are no more. */
static bool next_rows(const struct place *place, size_t *first, size_t *end)
{
    const unsigned char *rows = place->rows;

    *first = *end;
    while (rows && *first < place->n_row && !rows[*first])
        (*first)++;
    *end = *first;
    while (*end < place->n_row && (!rows || rows[*end]))
        (*end)++;
    return *end > *first;
}

/* An edit of rows FIRST .. END-1 of HEAD; of what has none, of the tensor. */
static struct attn_edit edit_of(const struct place *place, int head, size_t first, size_t end)
{
    struct attn_edit edit = ATTN_EDIT_DEFAULT;

    edit.site = place->given.site;
    edit.layer = place->given.layer;
    edit.head = place->has_heads ? head : ATTN_ALL_HEADS;
    edit.row0 = first;
    edit.row1 = end;
    edit.col1 = place->width;
    return edit;
}

/* Appends EDIT, of the part of PLACE. */
static enum attn_status add_edit(struct attn_run *run, struct place *place,
                                 const struct attn_edit *edit, struct attn_error *err)
{
    void *block = run->edits;

    ATTN_TRY(attn_grow(&block, &place->capacity, run->n_edit + 1, sizeof *run->edits, err));
    run->edits = block;
    run->edits[run->n_edit++] = *edit;
    return attn_run_link_edit(run, run->n_edit - 1, place->part, err);
}

/* --- Patches --------------------------------------------------------------------------------- */

/* Whether the VALUES, without leading sizes of 1, are the whole tensor. */
static enum attn_status check_whole(const struct place *place, const struct attn_ndarray *values,
                                    struct attn_error *err)
{
    const size_t expected[] = {place->is_matrix ? place->n_head : place->n_row,
                               place->is_matrix   ? place->n_row
                               : place->has_heads ? place->n_head
                                                  : place->width,
                               place->width};
    const int rank = place->has_heads ? 3 : 2;
    const size_t *shape = values->shape;
    int n = values->rank;
    char found[ATTN_SHAPE_TEXT_SIZE], name[ATTN_SITE_ARCHIVE_NAME_SIZE];

    for (; n > rank && shape[0] == 1; n--)
        shape++;
    if (n == rank && memcmp(shape, expected, (size_t)rank * sizeof *shape) == 0)
        return ATTN_OK;
    name[attn_site_archive_name(place->given.site, place->given.layer, name)] = '\0';
    return attn_error_set(err, ATTN_INVALID, "'%s' in '%s' is %s, expected [%zu, %zu%s", name,
                          attn_quote_string(values->name ? values->name : "patches").text,
                          attn_shape_text(values->rank, values->shape, found), expected[0],
                          expected[1], place->has_heads ? ", ...], all of it" : "]");
}

/* The part of VALUES, a whole tensor, that EDIT replaces. */
static const float *values_of(const struct place *place, const struct attn_ndarray *values,
                              size_t head, const struct attn_edit *edit)
{
    return place->is_matrix ? values->data + (head * place->n_row + edit->row0) * place->width
                            : values->data + (edit->row0 * place->n_head + head) * place->width;
}

/* Appends an edit per head and run of neighbours among the rows that are meant. */
static enum attn_status add_patch(struct attn_run *run, struct place *place,
                                  const struct attn_ndarray *values, struct attn_error *err)
{
    ATTN_TRY(attn_error_at(find_rows(run, place, err), ATTN_STAGE_OPTIONS, err));
    ATTN_TRY(attn_error_at(check_whole(place, values, err), ATTN_STAGE_INPUT, err));
    for (size_t head = 0; head < place->n_head; head++) {
        if (place->given.head != ATTN_ALL_HEADS && head != (size_t)place->given.head)
            continue;
        for (size_t first, end = 0; next_rows(place, &first, &end);) {
            struct attn_edit edit = edit_of(place, (int)head, first, end);

            edit.op = ATTN_EDIT_REPLACE;
            edit.ld = place->is_matrix ? place->width : place->n_head * place->width;
            edit.data = values_of(place, values, head, &edit);
            ATTN_TRY(add_edit(run, place, &edit, err));
        }
    }
    return ATTN_OK;
}

enum attn_status attn_run_add_patches(struct attn_run *run, struct attn_error *err)
{
    const size_t first_part = attn_run_first_part(run, ATTN_EDIT_PART_PATCH);

    for (size_t i = 0; i < run->request.edits.n_patch; i++) {
        const struct attn_patch *given = &run->request.edits.patches[i];
        struct place place = {
            .given = attn_patch_place(given), .part = first_part + i, .capacity = run->n_edit};
        const enum attn_status status = add_patch(run, &place, &given->values, err);

        attn_free(place.rows);
        ATTN_TRY(status);
    }
    return ATTN_OK;
}

/* --- Steering -------------------------------------------------------------------------------- */

/* Whether VALUES are one vector, the same at all positions: [n], or [1, n], as a run writes it. */
static bool is_vector(const struct attn_ndarray *values)
{
    return values->rank == 1 || (values->rank == 2 && values->shape[0] == 1);
}

/* Whether VALUES are a vector, or a row for each of the positions that are meant. */
static enum attn_status check_rows(const struct place *place, const struct attn_ndarray *values,
                                   struct attn_error *err)
{
    size_t n_meant = 0;
    char found[ATTN_SHAPE_TEXT_SIZE];

    for (size_t i = 0; i < place->n_row; i++)
        n_meant += !place->rows || place->rows[i];
    if (values->rank > 0 && values->rank <= 2 && values->shape[values->rank - 1] == place->width &&
        (is_vector(values) || values->shape[0] == n_meant))
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID,
                          "'%s' has the shape %s, expected [%zu], or [%zu, %zu], a row for each "
                          "position",
                          attn_quote_string(values->name ? values->name : "steer").text,
                          attn_shape_text(values->rank, values->shape, found), place->width,
                          n_meant, place->width);
}

/* Whether there is one head to which something can be added. */
static enum attn_status check_head(const struct place *place, struct attn_error *err)
{
    if (!place->has_heads || place->given.head != ATTN_ALL_HEADS)
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID, "%s: '%s' names no head of '%s', expected %s:%d.HEAD",
                          place->given.field, attn_quote_string(place->given.name).text,
                          attn_site_name(place->given.site), attn_site_name(place->given.site),
                          place->given.layer);
}

/* Appends an edit per run of neighbours among the rows that are meant. Without positions what is
 * the same for all of them goes on after the text. */
static enum attn_status add_steering(struct attn_run *run, struct place *place,
                                     const struct attn_steering *given, struct attn_error *err)
{
    const struct attn_ndarray *values = &given->values;
    const bool is_same = values->rank == 0 || is_vector(values); /* at all positions */
    size_t n_done = 0;

    ATTN_TRY(attn_error_at(find_rows(run, place, err), ATTN_STAGE_OPTIONS, err));
    if (values->rank != 0) {
        ATTN_TRY(attn_error_at(check_head(place, err), ATTN_STAGE_OPTIONS, err));
        ATTN_TRY(attn_error_at(check_rows(place, values, err), ATTN_STAGE_INPUT, err));
    }
    for (size_t first, end = 0; next_rows(place, &first, &end);) {
        struct attn_edit edit = edit_of(place, place->given.head, first, end);

        edit.op = values->rank != 0 ? ATTN_EDIT_ADD : ATTN_EDIT_SCALE;
        edit.factor = given->factor;
        if (values->rank != 0)
            edit.data = values->data + (is_same ? 0 : n_done * place->width);
        edit.ld = is_same ? 0 : place->width;
        if (is_same && !place->rows)
            edit.row1 = SIZE_MAX;
        if (place->is_matrix && values->rank == 0)
            edit.col1 = SIZE_MAX; /* keys go on as well */
        ATTN_TRY(add_edit(run, place, &edit, err));
        n_done += end - first;
    }
    return ATTN_OK;
}

bool attn_steers_every_row(const struct attn_request_edits *edits)
{
    for (size_t i = 0; i < edits->n_steering; i++)
        if (edits->steerings[i].positions ||
            (edits->steerings[i].values.rank != 0 && !is_vector(&edits->steerings[i].values)))
            return false;
    return true;
}

enum attn_status attn_run_add_steerings(struct attn_run *run, struct attn_error *err)
{
    const size_t first_part = attn_run_first_part(run, ATTN_EDIT_PART_STEERING);

    for (size_t i = 0; i < run->request.edits.n_steering; i++) {
        const struct attn_steering *given = &run->request.edits.steerings[i];
        struct place place = {
            .given = attn_steering_place(given), .part = first_part + i, .capacity = run->n_edit};
        const enum attn_status status = add_steering(run, &place, given, err);

        attn_free(place.rows);
        ATTN_TRY(status);
    }
    return ATTN_OK;
}
