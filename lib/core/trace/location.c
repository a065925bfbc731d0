/* location.c - see location_extra.h, places_extra.h and blocks_internal.h. */
#include "trace/location_extra.h"

#include "tables/table_internal.h"
#include "trace/blocks_internal.h"
#include "trace/places_extra.h"
#include "trace/trace_internal.h"

#include <stdio.h>

struct attn_location attn_location_of_block(const struct attn_dims *dims, enum attn_site site,
                                            int block, int head)
{
    struct attn_location at = {.head = head, .site = site};

    at.stack = attn_model_stack_of(dims, site, block, &at.layer);
    return at;
}

int attn_location_block(const struct attn_location *at)
{
    if (at->layer < 0 || (at->stack != ATTN_STACK_DECODER && at->stack != ATTN_STACK_CROSS))
        return at->layer;
    return 2 * at->layer +
           (at->stack == ATTN_STACK_CROSS || attn_site_is_after_attention(at->site));
}

bool attn_location_is_cross(const struct attn_dims *dims, const struct attn_location *at)
{
    return at->stack == ATTN_STACK_CROSS || (at->stack == ATTN_STACK_ONLY && dims->is_cross &&
                                             at->layer >= 0 && dims->is_cross[at->layer]);
}

size_t attn_dims_n_whole_layer(const struct attn_dims *dims)
{
    return dims->has_pairs ? dims->n_layer / 2 : dims->n_layer;
}

void attn_location_put(const struct attn_location *at, struct attn_cell *cells)
{
    const bool has_stack = at->stack != ATTN_STACK_ONLY;

    cells[0] = attn_cell_string(has_stack ? attn_model_stack_name(at->stack) : NULL);
    cells[1] = attn_cell_integer(at->layer);
}

bool attn_location_read(const struct attn_table *table, size_t row, size_t column,
                        struct attn_location *at)
{
    const struct attn_column *before = column > 0 ? attn_table_column(table, column - 1) : NULL;
    const struct attn_cell layer = attn_table_cell(table, row, column);
    struct attn_cell stack;

    *at = (struct attn_location){.layer = ATTN_NO_LAYER, .head = ATTN_ALL_HEADS};
    if (layer.type != ATTN_VALUE_INTEGER)
        return false;
    at->layer = (int)layer.integer;
    if (before && before->role == ATTN_ROLE_STACK) {
        stack = attn_table_cell(table, row, column - 1);
        at->stack = (enum attn_model_stack)(1 + attn_cell_word(&stack, ATTN_STACK_WORDS));
    }
    return true;
}

struct attn_head_name attn_location_name(const struct attn_location *at)
{
    struct attn_head_name name;
    const int n = snprintf(name.text, sizeof name.text, "%s%s%d.", attn_model_stack_name(at->stack),
                           at->stack == ATTN_STACK_ONLY ? "" : ":", at->layer);

    snprintf(name.text + n, sizeof name.text - (size_t)n, at->head == ATTN_ALL_HEADS ? "*" : "%d",
             at->head);
    return name;
}

int attn_location_order(const struct attn_location *a, const struct attn_location *b)
{
    const bool is_encoder = attn_stack_is_encoder(a->stack);

    if (is_encoder != attn_stack_is_encoder(b->stack))
        return is_encoder ? -1 : 1;
    if (a->layer != b->layer)
        return a->layer < b->layer ? -1 : 1;
    return (a->stack > b->stack) - (a->stack < b->stack);
}

int attn_location_compare(const struct attn_location *a, const struct attn_location *b)
{
    if (a->stack != b->stack)
        return a->stack < b->stack ? -1 : 1;
    if (a->layer != b->layer)
        return a->layer < b->layer ? -1 : 1;
    return (a->head > b->head) - (a->head < b->head);
}

bool attn_dims_next_layer(const struct attn_dims *dims, struct attn_location *at)
{
    int block = attn_location_block(at);

    do
        *at = attn_location_of_block(dims, at->site, ++block, ATTN_ALL_HEADS);
    while (block < (int)dims->n_layer && attn_location_block(at) != block);
    return block < (int)dims->n_layer;
}

bool attn_dims_next_head(const struct attn_dims *dims, struct attn_location *at)
{
    const struct attn_dims own = attn_dims_in(dims, attn_location_block(at));

    if (at->layer >= 0 && (size_t)at->head + 1 < attn_site_n_head(at->site, &own)) {
        at->head++;
        return true;
    }
    if (!attn_dims_next_layer(dims, at))
        return false;
    at->head = 0;
    return true;
}

struct attn_location attn_dims_end(const struct attn_dims *dims)
{
    return attn_location_of_block(dims, ATTN_SITE_RESID_PRE, (int)dims->n_layer, ATTN_ALL_HEADS);
}

size_t attn_location_index(const struct attn_location *at)
{
    return (size_t)attn_location_block(at);
}

size_t attn_head_index(const struct attn_dims *dims, const struct attn_location *at)
{
    return attn_location_index(at) * dims->n_head + (size_t)at->head;
}

struct attn_location attn_layer_at(const struct attn_dims *dims, enum attn_site site, size_t index)
{
    return attn_location_of_block(dims, site, (int)index, ATTN_ALL_HEADS);
}

struct attn_location attn_head_at(const struct attn_dims *dims, enum attn_site site, size_t index)
{
    return attn_location_of_block(dims, site, (int)(index / dims->n_head),
                                  (int)(index % dims->n_head));
}

struct attn_location attn_location_in(const struct attn_dims *dims, const struct attn_location *at,
                                      enum attn_site site)
{
    return attn_location_of_block(dims, site, attn_location_block(at), at->head);
}

bool attn_location_find(const struct attn_dims *dims, const struct attn_location *at,
                        enum attn_site site, struct attn_location *own)
{
    *own = attn_location_in(dims, at, site);
    return attn_location_block(own) == attn_location_block(at);
}

size_t attn_location_n_key(const struct attn_dims *dims, const struct attn_location *at)
{
    return attn_site_n_key(dims, attn_location_block(at));
}

struct attn_dims attn_location_dims(const struct attn_dims *dims, const struct attn_location *at)
{
    return attn_dims_in(dims, attn_location_block(at));
}

size_t attn_location_n_column(const struct attn_dims *dims, const struct attn_location *at)
{
    const struct attn_dims own = attn_dims_in(dims, attn_location_block(at));

    return attn_site_n_column(at->site, &own, attn_location_block(at));
}

enum attn_site attn_location_output(const struct attn_dims *dims, const struct attn_location *at)
{
    return attn_site_of_layer_output(dims, attn_location_block(at));
}

bool attn_location_is_lacking(const struct attn_dims *dims, const struct attn_location *at)
{
    return attn_site_is_lacking(dims, at->site, attn_location_block(at));
}
