/*
 * edits_place.c - edits of one tensor, or of one of its heads: patches, which replace it by the
 * values of another run; steering, which adds a vector to it or multiplies it by a factor.
 *
 * The array of a patch is the whole tensor: as many positions as the text has, and all heads. The
 * addend of a steering is a vector, or a row for each of the positions that are named.
 */
#include "edits/edits_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "formats/tensor_files_internal.h"
#include "input/position.h"
#include "trace/trace_internal.h"

#include <math.h>
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
    ATTN_TRY(ATTN_NEW(tensor->rows, attn_alloc(tensor->n_row, 1, err)));
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
    return attn_refuse_in(err, ATTN_INVALID, values->name ? values->name : "patches", name,
                          "is %s, expected [%zu, %zu%s",
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

/* Checks the numbers of VALUES that EDIT writes. Scores of masked cells are minus infinity. */
static enum attn_status check_numbers(const struct attn_ndarray *values,
                                      const struct attn_edit *edit, struct attn_error *err)
{
    char name[ATTN_SITE_ARCHIVE_NAME_SIZE];

    for (size_t row = edit->row0; row < edit->row1; row++)
        for (size_t c = 0; c < edit->col1; c++) {
            const float x = edit->data[(row - edit->row0) * edit->ld + c];

            if (isfinite(x) || (x == -INFINITY && edit->at.site == ATTN_SITE_ATTN_SCORES))
                continue;
            attn_location_archive_name(&edit->at, name);
            return attn_refuse_in(err, ATTN_INVALID, values->name ? values->name : "patches", name,
                                  "holds %s in row %zu, expected finite values",
                                  isnan(x) ? "NaN" : "infinity", row);
        }
    return ATTN_OK;
}

/* Checks that no vector of GIVEN, a projection, is 0: it would have no direction. */
static enum attn_status check_lengths(const struct attn_edit_tensor *tensor,
                                      const struct attn_intervention *given, struct attn_error *err)
{
    const size_t n = attn_ndarray_n_element(&given->values), width = tensor->width;
    size_t n_zero = 0;

    for (size_t i = 0; i < n && given->op == ATTN_EDIT_PROJECT && n_zero < width; i++)
        n_zero = given->values.data[i] == 0 ? (i % width == 0 ? 0 : n_zero) + 1 : 0;
    return n_zero < width
               ? ATTN_OK
               : attn_error_set(
                     err, ATTN_INVALID, "'%s' has a vector of zeros, which has no direction",
                     attn_quote_string(given->values.name ? given->values.name : "project").text);
}

/* Checks that the values of GIVEN are a vector, or have a row for each of the positions that are
 * named. */
static enum attn_status check_rows(const struct attn_edit_tensor *tensor,
                                   const struct attn_intervention *given, struct attn_error *err)
{
    const struct attn_ndarray *values = &given->values;
    const size_t width =
        tensor->width * (tensor->at.head == ATTN_HEADS_TOGETHER ? tensor->n_head : 1);
    size_t n_meant = 0;
    char found[ATTN_SHAPE_TEXT_SIZE];

    for (size_t i = 0; i < tensor->n_row; i++)
        n_meant += !tensor->rows || tensor->rows[i];
    if (values->rank > 0 && values->rank <= 2 && values->shape[values->rank - 1] == width &&
        (attn_intervention_is_vector(given) || values->shape[0] == n_meant))
        return check_lengths(tensor, given, err);
    attn_error_set(err, ATTN_INVALID,
                   "'%s' has the shape %s, expected [%zu], or [%zu, %zu], a row for each position",
                   attn_quote_string(values->name ? values->name : "steer").text,
                   attn_shape_text(values->rank, values->shape, found), width, n_meant, width);
    return given->remark ? attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err) : ATTN_INVALID;
}

/* Checks that GIVEN names one head if the tensor has heads: an addend needs one. A projection is of
 * vectors, not of matrices. */
static enum attn_status check_head(const struct attn_edit_tensor *tensor,
                                   const struct attn_intervention *given, struct attn_error *err)
{
    const struct attn_location *at = &tensor->at;

    if (given->op == ATTN_EDIT_PROJECT && tensor->is_matrix)
        return attn_error_set(
            err, ATTN_INVALID, "%s: '%s' is of the matrices '%s', expected a site of vectors",
            attn_intervention_field(given), attn_quote_string(attn_intervention_name(given)).text,
            attn_site_name(at->site));
    if (!tensor->has_heads || at->head != ATTN_ALL_HEADS)
        return ATTN_OK;
    return attn_error_set(
        err, ATTN_INVALID, "%s: '%s' names no head of '%s', expected %s%s%s:%d.HEAD",
        attn_intervention_field(given), attn_quote_string(attn_intervention_name(given)).text,
        attn_site_name(at->site), attn_model_stack_name(at->stack),
        at->stack != ATTN_STACK_ONLY ? ":" : "", attn_site_name(at->site), at->layer);
}

/* Checks what the array of GIVEN, in one layer, says without a text. */
static enum attn_status check_values(const struct attn_edit_scope *scope,
                                     const struct attn_intervention *given, struct attn_error *err)
{
    struct attn_edit_tensor tensor = {.at = given->at};

    if (!attn_edit_op_has_vector(given->op))
        return ATTN_OK;
    attn_edit_tensor_size(attn_edit_scope_at(scope, &given->at).dims, &tensor);
    ATTN_TRY(check_head(&tensor, given, err));
    return tensor.is_matrix || !attn_intervention_is_vector(given)
               ? ATTN_OK
               : attn_error_at(check_rows(&tensor, given, err), ATTN_STAGE_INPUT, err);
}

/* Appends the edits of GIVEN, part number PART, in HEAD: one for each range of neighbouring rows
 * that are changed. If no positions are named and all get the same, generated positions get it,
 * too. */
static enum attn_status add_rows(struct attn_edit_list *list, size_t part,
                                 const struct attn_intervention *given,
                                 const struct attn_edit_tensor *tensor, int head,
                                 struct attn_error *err)
{
    const struct attn_ndarray *values = &given->values;
    const bool is_patch = given->op == ATTN_EDIT_REPLACE;
    /* One vector or factor for all positions. */
    const bool is_same =
        given->op == ATTN_EDIT_SCALE || (!is_patch && attn_intervention_is_vector(given));
    size_t n_done = 0;

    for (size_t first, end = 0; next_rows(tensor, &first, &end); n_done += end - first) {
        struct attn_edit edit = edit_of(tensor, head, first, end);

        edit.op = given->function ? ATTN_EDIT_FUNCTION : given->op;
        edit.function = given->function;
        edit.user = given->function ? values->converted : NULL;
        edit.factor = given->factor;
        edit.offset = given->offset;
        edit.ld = is_same ? 0 : tensor->width;
        if (is_patch && !tensor->is_matrix)
            edit.ld = tensor->n_head * tensor->width;
        if (is_patch) {
            edit.data = values_of(tensor, values, (size_t)head, &edit);
            ATTN_TRY(attn_error_at(check_numbers(values, &edit, err), ATTN_STAGE_INPUT, err));
        } else if (attn_edit_op_has_vector(given->op) && !given->function)
            edit.data = values->data + (is_same ? 0 : n_done * tensor->width) +
                        (given->at.head == ATTN_HEADS_TOGETHER ? (size_t)head * tensor->width : 0);
        else if (tensor->is_matrix || given->function)
            edit.col1 = SIZE_MAX; /* the columns of generated keys, too */
        if (is_same && !tensor->rows)
            edit.row1 = SIZE_MAX;
        ATTN_TRY(attn_edits_append(list, &edit, part, err));
    }
    return ATTN_OK;
}

/* Appends the edits of GIVEN, part number PART in one layer: those of a patch head by head. */
static enum attn_status add_part(struct attn_edit_list *list, size_t part,
                                 const struct attn_intervention *given,
                                 const struct attn_edit_tensor *tensor, struct attn_error *err)
{
    const bool is_each = given->op == ATTN_EDIT_REPLACE
                             ? given->at.head == ATTN_ALL_HEADS
                             : given->at.head == ATTN_HEADS_TOGETHER && !given->function;
    const int first = is_each || !tensor->has_heads ? 0 : given->at.head;

    if (given->op == ATTN_EDIT_REPLACE)
        ATTN_TRY(attn_error_at(check_whole(tensor, &given->values, err), ATTN_STAGE_INPUT, err));
    if (attn_edit_op_has_vector(given->op)) {
        ATTN_TRY(attn_error_at(check_head(tensor, given, err), ATTN_STAGE_OPTIONS, err));
        ATTN_TRY(attn_error_at(check_rows(tensor, given, err), ATTN_STAGE_INPUT, err));
    }
    for (int head = first; head < (is_each ? (int)tensor->n_head : first + 1); head++)
        ATTN_TRY(add_rows(list, part, given, tensor, head, err));
    return ATTN_OK;
}

/* --- Layers ----------------------------------------------------------------------------------- */

/* Sets the FLAGS [N] of the layers of GIVEN to 1. */
static enum attn_status flag_layers(const struct attn_intervention *given, size_t n,
                                    unsigned char *flags, struct attn_error *err)
{
    const char *name = given->values.name ? given->values.name : "values";
    const bool is_all = given->layers.n == 0 && given->layers.text &&
                        strcmp(given->layers.text, "all") == 0 && given->n_vector > 0;

    for (size_t i = 0; i < given->n_vector; i++)
        if (given->vector_layers[i] < 0 || (uint64_t)given->vector_layers[i] >= n)
            return attn_error_set(
                err, ATTN_INVALID, "'%s' has direction.%lld, and the model has layers 0 to %zu",
                attn_quote_string(name).text, (long long)given->vector_layers[i], n - 1);
        else if (is_all)
            flags[given->vector_layers[i]] = 1;
    return is_all ? ATTN_OK : attn_number_list_flag(&given->layers, "layers", n, flags, err);
}

/* Sets the values of ONE, which is GIVEN in the layer of `at`: those of the vector of this layer.
 */
static enum attn_status choose_vector(const struct attn_intervention *given,
                                      struct attn_intervention *one, struct attn_error *err)
{
    size_t width, i = 0;

    if (given->n_vector == 0)
        return ATTN_OK;
    width = given->values.shape[given->values.rank - 1];
    while (i < given->n_vector && given->vector_layers[i] != one->at.layer)
        i++;
    if (i == given->n_vector)
        return attn_error_set(
            err, ATTN_INVALID, "'%s' has no direction.%d",
            attn_quote_string(given->values.name ? given->values.name : "values").text,
            one->at.layer);
    one->values = (struct attn_ndarray){.name = given->values.name,
                                        .rank = 1,
                                        .shape = {width},
                                        .data = given->values.data + i * width};
    one->n_vector = 0;
    return ATTN_OK;
}

/* Creates an array of GIVEN in each of its layers, which has no lists of layers then. It borrows
 * from GIVEN; the caller frees it with attn_free. ATTN_INVALID if the model of SCOPE lacks one. */
static enum attn_status expand(const struct attn_edit_scope *scope,
                               const struct attn_intervention *given,
                               struct attn_intervention **each, size_t *n, struct attn_error *err)
{
    const bool is_list = attn_number_list_is_given(&given->layers);
    enum attn_status status = attn_error_in(
        attn_edit_stack_check(given->at.stack, scope->model, attn_intervention_name(given), err),
        attn_intervention_field(given), err);
    size_t n_layer;
    unsigned char *flags;

    *each = NULL, *n = 0;
    ATTN_TRY(status);
    n_layer = is_list ? attn_dims_n_whole_layer(attn_edit_scope_at(scope, &given->at).dims) : 1;
    ATTN_TRY(ATTN_ALLOC(*each, n_layer, err));
    flags = attn_alloc(n_layer, 1, err);
    if (!flags)
        status = ATTN_NO_MEMORY;
    else if (is_list)
        status = attn_error_in(flag_layers(given, n_layer, flags, err),
                               attn_intervention_field(given), err);
    for (size_t layer = 0; status == ATTN_OK && layer < n_layer; layer++) {
        struct attn_intervention *one = &(*each)[*n];

        if (is_list && !flags[layer])
            continue;
        *one = *given;
        one->layers = (struct attn_number_list){0};
        one->at.layer = is_list ? (int)layer : given->at.layer;
        status = attn_error_in(choose_vector(given, one, err), attn_intervention_field(given), err);
        *n += 1;
    }
    attn_free(flags);
    if (status != ATTN_OK) {
        attn_free(*each);
        *each = NULL;
    }
    return status;
}

enum attn_status attn_edits_sketch_values(const struct attn_edit_scope *scope,
                                          struct attn_edit_list *list, size_t part,
                                          struct attn_error *err)
{
    struct attn_intervention *each;
    enum attn_status status;
    size_t n;

    ATTN_TRY(expand(scope, list->parts[part].given, &each, &n, err));
    status = ATTN_OK;
    for (size_t i = 0; status == ATTN_OK && i < n; i++) {
        struct attn_edit edit = ATTN_EDIT_DEFAULT;

        status = attn_edit_place_check(&each[i], scope->model, err);
        ATTN_THEN(status, check_values(scope, &each[i], err));
        edit.op = ATTN_EDIT_ZERO;
        edit.at = each[i].at;
        ATTN_THEN(status, attn_edits_append(list, &edit, part, err));
    }
    attn_free(each);
    return status;
}

/* Appends the edits of GIVEN, part number PART in one layer. */
static enum attn_status add_in_layer(const struct attn_edit_scope *scope,
                                     struct attn_edit_list *list, size_t part,
                                     const struct attn_intervention *given, struct attn_error *err)
{
    struct attn_edit_tensor tensor = {.at = given->at};
    enum attn_status status =
        attn_error_at(find_tensor(scope, given, &tensor, err), ATTN_STAGE_OPTIONS, err);

    ATTN_THEN(status, add_part(list, part, given, &tensor, err));
    attn_free(tensor.rows);
    return status;
}

enum attn_status attn_edits_add_values(const struct attn_edit_scope *scope,
                                       struct attn_edit_list *list, struct attn_edit_range range,
                                       struct attn_error *err)
{
    for (size_t i = range.first; i < range.end; i++) {
        const struct attn_intervention *given = list->parts[i].given;
        struct attn_intervention *each;
        enum attn_status status = ATTN_OK;
        size_t n;

        ATTN_TRY(attn_error_at(expand(scope, given, &each, &n, err), ATTN_STAGE_OPTIONS, err));
        if (given->remark && given->remark[0] != '\0')
            attn_note(scope->notes.on_note, scope->notes.user, ATTN_NOTE_FEATURES, "%s",
                      given->remark);
        for (size_t k = 0; status == ATTN_OK && k < n; k++)
            status = add_in_layer(scope, list, i, &each[k], err);
        attn_free(each);
        ATTN_TRY(status);
    }
    return ATTN_OK;
}
