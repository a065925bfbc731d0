#include "trace/model_stack.h"

#include "base/text/list.h"
#include "trace/blocks_internal.h"
#include "trace/trace_internal.h"

#include <string.h>

/* The sites of a layer that come after its attention. */
#define BOTH(id) ATTN_SITE_##id, ATTN_SITE_##id##_GRAD
static const enum attn_site after_attention[] = {
    BOTH(MLP_PRE),           BOTH(MLP_PRE_LINEAR),     BOTH(MLP_POST),
    BOTH(MLP_OUT),           BOTH(RESID_POST),         BOTH(NORMALIZED_RESID_POST),
    ATTN_SITE_ROUTER_LOGITS, ATTN_SITE_EXPERT_WEIGHTS, ATTN_SITE_EXPERT_INDICES,
    ATTN_SITE_SHARED_OUT};
#undef BOTH

bool attn_site_is_after_attention(enum attn_site site)
{
    for (size_t i = 0; i < sizeof after_attention / sizeof *after_attention; i++)
        if (after_attention[i] == site)
            return true;
    return false;
}

static const char *const stacks[] = {"", "encoder", "decoder", "cross", "tower"};

const char *attn_model_stack_name(enum attn_model_stack stack)
{
    return (unsigned)stack <= ATTN_STACK_TOWER ? stacks[stack] : "";
}

enum attn_model_stack attn_model_stack_find(const char *item, size_t *size)
{
    for (int stack = ATTN_STACK_ENCODER; stack <= ATTN_STACK_TOWER; stack++) {
        *size = strlen(stacks[stack]) + 1;
        if (strncmp(item, stacks[stack], *size - 1) == 0 && item[*size - 1] == ':')
            return (enum attn_model_stack)stack;
    }
    *size = 0;
    return ATTN_STACK_ONLY;
}

bool attn_list_names_stack(const char *list, enum attn_model_stack stack)
{
    size_t size;

    for (struct attn_list_item item = {.rest = list}; attn_list_next(&item);)
        if (attn_model_stack_find(item.text, &size) == stack)
            return true;
    return false;
}

enum attn_model_stack attn_model_stack_of(const struct attn_dims *dims, enum attn_site site,
                                          int layer, int *number)
{
    *number = layer;
    if (!dims->has_pairs)
        return attn_dims_own_stack(dims);
    if (layer >= 0)
        *number = layer / 2;
    return layer < 0 || layer % 2 == 0 || attn_site_is_after_attention(site) ? ATTN_STACK_DECODER
                                                                             : ATTN_STACK_CROSS;
}
