/* edits_list.c - see edits_internal.h: appending to the list of edits. */
#include "edits/edits_internal.h"

#include "base/memory.h"
#include "model/model_internal.h"
#include "trace/location_extra.h"

#include <string.h>

struct attn_edit_scope attn_edit_scope_at(const struct attn_edit_scope *scope,
                                          const struct attn_location *at)
{
    static const struct attn_sequence no_source;
    struct attn_edit_scope of_stack = *scope;

    if (!attn_stack_is_encoder(at->stack) || !attn_model_before(scope->model))
        return of_stack;
    of_stack.model = attn_model_before(scope->model);
    of_stack.dims = scope->dims->encoder;
    of_stack.text = attn_before_input(scope->before);
    of_stack.source = &no_source;
    return of_stack;
}

/* Moves the edits of BEFORE behind the others, in their order. MOVED [list->n] is scratch for
 * edits, NUMBERS [list->n] for their new numbers. */
static void split(struct attn_before *before, struct attn_edit_list *list, struct attn_edit *moved,
                  size_t *numbers)
{
    const size_t n = list->n;
    size_t n_own = 0;

    for (size_t i = 0; i < n; i++)
        n_own += !attn_stack_is_encoder(list->items[i].at.stack);
    list->n = before->n_edit = 0;
    for (size_t i = 0; i < n; i++) {
        const bool is_own = !attn_stack_is_encoder(list->items[i].at.stack);

        numbers[i] = is_own ? list->n++ : n_own + before->n_edit++;
        moved[numbers[i]] = list->items[i];
    }
    memcpy(list->items, moved, n * sizeof *moved);
    before->edits = list->items + n_own;
    for (size_t i = 0; i < list->n_link; i++)
        list->links[i].edit = numbers[list->links[i].edit];
}

enum attn_status attn_edits_split(struct attn_before *before, struct attn_edit_list *list,
                                  struct attn_error *err)
{
    struct attn_edit *moved;
    size_t *numbers;
    bool has_memory;

    if (list->n == 0 || !before->model)
        return ATTN_OK;
    moved = attn_alloc(list->n, sizeof *moved, err);
    numbers = attn_alloc(list->n, sizeof *numbers, err);
    before->has_effect = attn_alloc(list->n, sizeof *before->has_effect, err);
    has_memory = moved && numbers && before->has_effect;
    list->before = before;
    if (has_memory)
        split(before, list, moved, numbers);
    attn_free(moved);
    attn_free(numbers);
    return has_memory ? ATTN_OK : ATTN_NO_MEMORY;
}

enum attn_status attn_edits_link(struct attn_edit_list *list, size_t edit, size_t part,
                                 struct attn_error *err)
{
    ATTN_TRY(ATTN_GROW(list->links, list->link_capacity, list->n_link + 1, err));
    list->links[list->n_link++] = (struct attn_edit_link){edit, part};
    return ATTN_OK;
}

enum attn_status attn_edits_append(struct attn_edit_list *list, const struct attn_edit *edit,
                                   size_t part, struct attn_error *err)
{
    ATTN_TRY(ATTN_GROW(list->items, list->capacity, list->n + 1, err));
    list->items[list->n++] = *edit;
    return attn_edits_link(list, list->n - 1, part, err);
}
