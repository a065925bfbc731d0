/* comparison.c - the memory of what a comparison finds. */
#include "experiment/comparison.h"

#include "base/memory.h"

enum attn_status attn_comparison_create(const struct attn_selection *selection,
                                        struct attn_comparison **comparison, struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(selection);
    struct attn_comparison *c = attn_alloc(1, sizeof *c, err);

    if (c == NULL)
        return ATTN_NO_MEMORY;
    c->heads = attn_alloc(dims->n_layer * dims->n_head, sizeof *c->heads, err);
    c->layers = attn_alloc(dims->n_layer, sizeof *c->layers, err);
    c->logits = attn_alloc(attn_selection_n_query(selection), sizeof *c->logits, err);
    if (c->heads == NULL || c->layers == NULL || c->logits == NULL) {
        attn_comparison_free(c);
        return ATTN_NO_MEMORY;
    }
    *comparison = c;
    return ATTN_OK;
}

void attn_comparison_free(struct attn_comparison *comparison)
{
    if (comparison == NULL)
        return;
    attn_free(comparison->heads);
    attn_free(comparison->layers);
    attn_free(comparison->logits);
    attn_free(comparison);
}
