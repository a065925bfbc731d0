/* edits_list.c - see edits_internal.h: appending to the list of edits. */
#include "edits/edits_internal.h"

#include "base/memory.h"

enum attn_status attn_edits_link(struct attn_edit_list *list, size_t edit, size_t part,
                                 struct attn_error *err)
{
    void *block = list->links;

    ATTN_TRY(attn_grow(&block, &list->link_capacity, list->n_link + 1, sizeof *list->links, err));
    list->links = block;
    list->links[list->n_link++] = (struct attn_edit_link){edit, part};
    return ATTN_OK;
}

enum attn_status attn_edits_append(struct attn_edit_list *list, const struct attn_edit *edit,
                                   size_t part, struct attn_error *err)
{
    void *block = list->items;

    ATTN_TRY(attn_grow(&block, &list->capacity, list->n + 1, sizeof *list->items, err));
    list->items = block;
    list->items[list->n++] = *edit;
    return attn_edits_link(list, list->n - 1, part, err);
}
