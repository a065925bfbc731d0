/*
 * edits_place.c - edits of one tensor, or of one of its heads: patches, which replace it by the
 * values of another run; steering, which adds a vector to it or multiplies it by a factor.
 *
 * The array of a patch is the whole tensor: as many positions as the text has, and all heads. The
 * addend of a steering is a vector, or a row for each of the positions that are named.
 */
#include "edits/edits_internal.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "formats/tensor_files_internal.h"
#include "input/position.h"
#include "trace/trace_internal.h"

#include <string.h>

void attn_edit_tensor_size(const struct attn_dims *dims, struct attn_edit_tensor *tensor)
{
    const enum attn_site site = tensor->at.site;
    const enum attn_site_layout layout = attn_site_layout(site);
    const struct attn_dims own = attn_location_dims(dims, &tensor->at);
    const size_t n_key = attn_site_is_in_layer(site) ? attn_location_n_key(dims, &tensor->at) : 0;

    tensor->n_head = attn_site_n_head(site, &own);
    tensor->has_heads = attn_site_has_heads(site);
    tensor->is_matrix =
        tensor->has_heads && layout != ATTN_LAYOUT_QUERY && layout != ATTN_LAYOUT_KEY;
    tensor->n_row = layout == ATTN_LAYOUT_KEY         ? n_key
                    : attn_site_is_pooled(site, dims) ? 1
                                                      : dims->n_position;
    tensor->width = attn_site_has_keys(site) ? n_key : attn_site_width(site, &own);
}

/* Checks that the model has the tensor that GIVEN names, and sets its sizes and its positions. */
static enum attn_status find_tensor(const struct attn_edit_scope *scope,
                                    const struct attn_intervention *given,
                                    struct attn_edit_tensor *tensor, struct attn_error *err)
{
    const struct attn_edit_scope own = attn_edit_scope_at(scope, &given->at);
    bool is_of_source;

    ATTN_TRY(attn_edit_place_check(given, scope->model, err));
    is_of_source = attn_site_layout(given->at.site) == ATTN_LAYOUT_KEY &&
                   attn_location_is_cross(own.dims, &given->at);
    attn_edit_tensor_size(own.dims, tensor);
    if (!attn_number_list_is_given(&given->positions))
        return ATTN_OK;
    tensor->rows = attn_alloc(tensor->n_row, 1, err);
    if (!tensor->rows)
        return ATTN_NO_MEMORY;
    return attn_error_in(attn_positions_find(is_of_source ? own.source : own.text,
                                             &given->positions, tensor->rows, err),
                         attn_intervention_field(given), err);
}

/* Finds the next range of neighbouring rows FIRST .. END-1 that are changed, from row *end on.
 * Returns false when there are no more. */
static bool next_rows(const struct attn_edit_tensor *tensor, size_t *first, size_t *end)
{
    const unsigned char *rows = tensor->rows;

    *first = *end;
    while (rows && *first < tensor->n_row && !rows[*first])
        (*first)++;
    *end = *first;
    while (*end < tensor->n_row && (!rows || rows[*end]))
        (*end)++;
    return *end > *first;
}

/* Returns an edit of rows FIRST .. END-1 of HEAD. HEAD is ignored if the tensor has no heads. */
static struct attn_edit edit_of(const struct attn_edit_tensor *tensor, int head, size_t first,
                                size_t end)
{
    struct attn_edit edit = ATTN_EDIT_DEFAULT;

    edit.at = tensor->at;
    edit.at.head = tensor->has_heads ? head : ATTN_ALL_HEADS;
    edit.row0 = first;
    edit.row1 = end;
    edit.col1 = tensor->width;
    return edit;
}

/* Checks that VALUES, without leading sizes of 1, has the shape of the whole tensor. */
static enum attn_status check_whole(const struct attn_edit_tensor *tensor,
                                    const struct attn_ndarray *values, struct attn_error *err)
{
    const size_t expected[] = {tensor->is_matrix ? tensor->n_head : tensor->n_row,
                               tensor->is_matrix   ? tensor->n_row
                               : tensor->has_heads ? tensor->n_head
                                                   : tensor->width,
                               tensor->width};
    const int rank = tensor->has_heads ? 3 : 2;
    const size_t *shape = values->shape;
    int n = values->rank;
    char found[ATTN_SHAPE_TEXT_SIZE], name[ATTN_SITE_ARCHIVE_NAME_SIZE];

    for (; n > rank && shape[0] == 1; n--)
        shape++;
    if (n == rank && memcmp(shape, expected, (size_t)rank * sizeof *shape) == 0)
        return ATTN_OK;
    attn_location_archive_name(&tensor->at, name);
    return attn_error_set(err, ATTN_INVALID, "'%s' in '%s' is %s, expected [%zu, %zu%s", name,
                          attn_quote_string(values->name ? values->name : "patches").text,
                          attn_shape_text(values->rank, values->shape, found), expected[0],
                          expected[1], tensor->has_heads ? ", ...], all of it" : "]");
}

/* Returns the values that EDIT, of HEAD, writes: those at its first row in VALUES, which holds the
 * whole tensor. */
static const float *values_of(const struct attn_edit_tensor *tensor,
                              const struct attn_ndarray *values, size_t head,
                              const struct attn_edit *edit)
{
    return tensor->is_matrix ? values->data + (head * tensor->n_row + edit->row0) * tensor->width
                             : values->data + (edit->row0 * tensor->n_head + head) * tensor->width;
}

/* Checks that the values of GIVEN are a vector, or have a row for each of the positions that are
 * named. */
static enum attn_status check_rows(const struct attn_edit_tensor *tensor,
                                   const struct attn_intervention *given, struct attn_error *err)
{
    const struct attn_ndarray *values = &given->values;
    size_t n_meant = 0;
    char found[ATTN_SHAPE_TEXT_SIZE];

    for (size_t i = 0; i < tensor->n_row; i++)
        n_meant += !tensor->rows || tensor->rows[i];
    if (values->rank > 0 && values->rank <= 2 && values->shape[values->rank - 1] == tensor->width &&
        (attn_intervention_is_vector(given) || values->shape[0] == n_meant))
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID,
                          "'%s' has the shape %s, expected [%zu], or [%zu, %zu], a row for each "
                          "position",
                          attn_quote_string(values->name ? values->name : "steer").text,
                          attn_shape_text(values->rank, values->shape, found), tensor->width,
                          n_meant, tensor->width);
}

/* Checks that GIVEN names one head if the tensor has heads: an addend needs one. */
static enum attn_status check_head(const struct attn_edit_tensor *tensor,
                                   const struct attn_intervention *given, struct attn_error *err)
{
    const struct attn_location *at = &tensor->at;

    if (!tensor->has_heads || at->head != ATTN_ALL_HEADS)
        return ATTN_OK;
    return attn_error_set(
        err, ATTN_INVALID, "%s: '%s' names no head of '%s', expected %s%s%s:%d.HEAD",
        attn_intervention_field(given), attn_quote_string(attn_intervention_name(given)).text,
        attn_site_name(at->site), attn_model_stack_name(at->stack),
        at->stack != ATTN_STACK_ONLY ? ":" : "", attn_site_name(at->site), at->layer);
}

enum attn_status attn_edits_check_values(const struct attn_edit_scope *scope,
                                         const struct attn_intervention *given,
                                         struct attn_error *err)
{
    struct attn_edit_tensor tensor = {.at = given->at};

    if (given->op != ATTN_EDIT_ADD)
        return ATTN_OK;
    attn_edit_tensor_size(attn_edit_scope_at(scope, &given->at).dims, &tensor);
    ATTN_TRY(check_head(&tensor, given, err));
    return tensor.is_matrix || !attn_intervention_is_vector(given)
               ? ATTN_OK
               : attn_error_at(check_rows(&tensor, given, err), ATTN_STAGE_INPUT, err);
}

/* Appends the edits of part number PART in HEAD: one for each range of neighbouring rows that are
 * changed. If no positions are named and all get the same, generated positions get it, too. */
static enum attn_status add_rows(struct attn_edit_list *list, size_t part,
                                 const struct attn_edit_tensor *tensor, int head,
                                 struct attn_error *err)
{
    const struct attn_intervention *given = list->parts[part].given;
    const struct attn_ndarray *values = &given->values;
    const bool is_patch = given->op == ATTN_EDIT_REPLACE;
    /* One vector or factor for all positions. */
    const bool is_same =
        given->op == ATTN_EDIT_SCALE || (!is_patch && attn_intervention_is_vector(given));
    size_t n_done = 0;

    for (size_t first, end = 0; next_rows(tensor, &first, &end); n_done += end - first) {
        struct attn_edit edit = edit_of(tensor, head, first, end);

        edit.op = given->op;
        edit.factor = given->factor;
        edit.ld = is_same ? 0 : tensor->width;
        if (is_patch && !tensor->is_matrix)
            edit.ld = tensor->n_head * tensor->width;
        if (is_patch)
            edit.data = values_of(tensor, values, (size_t)head, &edit);
        else if (given->op == ATTN_EDIT_ADD)
            edit.data = values->data + (is_same ? 0 : n_done * tensor->width);
        else if (tensor->is_matrix)
            edit.col1 = SIZE_MAX; /* the columns of generated keys, too */
        if (is_same && !tensor->rows)
            edit.row1 = SIZE_MAX;
        ATTN_TRY(attn_edits_append(list, &edit, part, err));
    }
    return ATTN_OK;
}

/* Appends the edits of part number PART: those of a patch head by head. */
static enum attn_status add_part(struct attn_edit_list *list, size_t part,
                                 const struct attn_edit_tensor *tensor, struct attn_error *err)
{
    const struct attn_intervention *given = list->parts[part].given;
    const bool is_each = given->op == ATTN_EDIT_REPLACE && given->at.head == ATTN_ALL_HEADS;
    const int first = is_each || !tensor->has_heads ? 0 : given->at.head;

    if (given->op == ATTN_EDIT_REPLACE)
        ATTN_TRY(attn_error_at(check_whole(tensor, &given->values, err), ATTN_STAGE_INPUT, err));
    if (given->op == ATTN_EDIT_ADD) {
        ATTN_TRY(attn_error_at(check_head(tensor, given, err), ATTN_STAGE_OPTIONS, err));
        ATTN_TRY(attn_error_at(check_rows(tensor, given, err), ATTN_STAGE_INPUT, err));
    }
    for (int head = first; head < (is_each ? (int)tensor->n_head : first + 1); head++)
        ATTN_TRY(add_rows(list, part, tensor, head, err));
    return ATTN_OK;
}

enum attn_status attn_edits_add_values(const struct attn_edit_scope *scope,
                                       struct attn_edit_list *list, struct attn_edit_range range,
                                       struct attn_error *err)
{
    for (size_t i = range.first; i < range.end; i++) {
        const struct attn_intervention *given = list->parts[i].given;
        struct attn_edit_tensor tensor = {.at = given->at};
        enum attn_status status =
            attn_error_at(find_tensor(scope, given, &tensor, err), ATTN_STAGE_OPTIONS, err);

        if (status == ATTN_OK)
            status = add_part(list, i, &tensor, err);
        attn_free(tensor.rows);
        ATTN_TRY(status);
    }
    return ATTN_OK;
}
