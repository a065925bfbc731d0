/* edges.c - see edges.h. The edges of a row are kept sorted while its cells come in the order of
 * their keys, so that among equal weights the smaller key comes first. */
#include "measures/edges.h"

#include "base/given.h"
#include "base/memory.h"
#include "base/pool_internal.h"
#include "base/status_internal.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <string.h>

struct attn_edges {
    const struct attn_selection *selection;
    struct attn_pool *pool;
    size_t n_most;  /* most edges for each query */
    size_t n_query; /* number of selected queries */
    /* Owns; [n_position] the index of each selected query among the selected ones. */
    size_t *row_of;
    size_t *head_of; /* owns; [n_layer * n_head] the index of each selected head among the selected
                        ones */
    struct attn_edge *items; /* owns; [selected heads, n_query, n_most] */
    size_t *n_found;         /* owns; [selected heads, n_query] how many edges each row has */
};

/* Numbers the selected heads and queries. Returns the number of selected heads. */
static size_t number(struct attn_edges *edges)
{
    const struct attn_dims *dims = attn_selection_dims(edges->selection);
    struct attn_location at = {.site = ATTN_SITE_PATTERN, .layer = ATTN_NO_LAYER};
    size_t n_head = 0;

    for (size_t query = 0; query < dims->n_position; query++) {
        edges->row_of[query] = edges->n_query;
        edges->n_query += attn_selection_has_query(edges->selection, ATTN_STACK_ONLY, query);
    }
    while (attn_dims_next_head(dims, &at)) {
        edges->head_of[attn_head_index(dims, &at)] = n_head;
        n_head += attn_selection_has_head(edges->selection, &at);
    }
    return n_head;
}

enum attn_status attn_edges_create(const struct attn_selection *selection, size_t n_most,
                                   struct attn_pool *pool, struct attn_edges **edges,
                                   struct attn_error *err)
{
    const struct attn_dims *dims;
    struct attn_edges *made;
    size_t n_row, n_item;

    if (!attn_is_given(selection, "selection", err) || !attn_is_given(edges, "edges", err))
        return ATTN_INVALID;
    dims = attn_selection_dims(selection);
    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->selection = selection;
    made->pool = pool;
    made->n_most = n_most;
    made->row_of = attn_alloc(dims->n_position, sizeof *made->row_of, err);
    made->head_of = attn_alloc(dims->n_layer * dims->n_head, sizeof *made->head_of, err);
    if (!made->row_of || !made->head_of)
        goto fail;
    n_row = number(made);
    if (!attn_checked_mul(n_row, made->n_query, &n_row) ||
        !attn_checked_mul(n_row, n_most, &n_item)) {
        attn_error_no_memory(err);
        goto fail;
    }
    made->items = attn_alloc_uninitialized(n_item, sizeof *made->items, err);
    made->n_found = attn_alloc(n_row, sizeof *made->n_found, err);
    if (!made->items || !made->n_found)
        goto fail;
    *edges = made;
    return ATTN_OK;
fail:
    attn_edges_free(made);
    return ATTN_NO_MEMORY;
}

void attn_edges_free(struct attn_edges *edges)
{
    if (!edges)
        return;
    attn_free(edges->row_of);
    attn_free(edges->head_of);
    attn_free(edges->items);
    attn_free(edges->n_found);
    attn_free(edges);
}

/* Returns the index in `n_found` of the row of QUERY in the head AT. */
static size_t place_of(const struct attn_edges *edges, const struct attn_location *at, size_t query)
{
    const size_t head = attn_head_index(attn_selection_dims(edges->selection), at);

    return edges->head_of[head] * edges->n_query + edges->row_of[query];
}

/* Inserts EDGE into ITEMS [*n], which are sorted by weight, NaN first; at most N_MOST are kept. Its
 * key is larger than theirs, so it comes after equal weights. */
static void insert(struct attn_edge *items, size_t *n, size_t n_most, struct attn_edge edge)
{
    size_t at = *n;

    while (at > 0 && !(edge.weight <= items[at - 1].weight) && !isnan(items[at - 1].weight))
        at--;
    if (at == n_most)
        return;
    *n += *n < n_most;
    memmove(items + at + 1, items + at, (*n - 1 - at) * sizeof *items);
    items[at] = edge;
}

/* The rows of an event that tasks add. */
struct rows {
    struct attn_edges *edges;
    const struct attn_trace_event *event;
};

static void add_row(void *context, size_t r, int worker)
{
    const struct rows *rows = context;
    struct attn_edges *edges = rows->edges;
    const struct attn_trace_event *event = rows->event;
    const size_t place = place_of(edges, &event->at, event->row0 + r);
    const struct attn_row row = attn_event_row(event, r);

    (void)worker;
    edges->n_found[place] = 0;
    for (size_t i = 0; i < row.n; i++) {
        const struct attn_edge edge = {row.keys ? row.keys[i] : (int32_t)i, row.values[i]};

        insert(edges->items + place * edges->n_most, &edges->n_found[place], edges->n_most, edge);
    }
}

/* Whether AT is in the stack whose queries the edges have: not in the encoder of a translator. */
static bool is_of_edges(const struct attn_selection *selection, const struct attn_location *at)
{
    return at && (at->stack != ATTN_STACK_ENCODER || !attn_selection_dims(selection)->encoder);
}

void attn_edges_add(struct attn_edges *edges, const struct attn_trace_event *event)
{
    struct rows rows = {edges, event};

    if (!edges || !event || !is_of_edges(edges->selection, &event->at))
        return;
    attn_pool_run(edges->pool, event->n_row, add_row, &rows);
}

const struct attn_edge *attn_edges_find(const struct attn_edges *edges,
                                        const struct attn_location *at, size_t query, size_t *n)
{
    const struct attn_selection *selection = edges ? edges->selection : NULL;
    size_t place;

    *n = 0;
    if (!selection || !is_of_edges(selection, at) || !attn_selection_has_head(selection, at) ||
        !attn_selection_has_query(selection, ATTN_STACK_ONLY, query))
        return NULL;
    place = place_of(edges, at, query);
    *n = edges->n_found[place];
    return edges->items + place * edges->n_most;
}
