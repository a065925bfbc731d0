/* held.c - see held.h. */
#include "measures/held.h"

#include "base/memory.h"

#include <string.h>

struct attn_held {
    size_t most, size; /* bytes */
    bool is_full;
    struct attn_trace_event *events; /* [n] owns */
    struct attn_store *store;        /* owns; has their arrays */
    size_t n, capacity;
};

enum attn_status attn_held_create(size_t most, struct attn_held **held, struct attn_error *err)
{
    ATTN_TRY(ATTN_ALLOC(*held, 1, err));
    (*held)->most = most;
    return ATTN_OK;
}

static void drop(struct attn_held *held)
{
    attn_store_release(&held->store);
    attn_free(held->events);
    held->events = NULL;
    held->n = held->capacity = 0;
}

void attn_held_free(struct attn_held *held)
{
    if (!held)
        return;
    drop(held);
    attn_free(held);
}

/* Returns a copy of N rows of SIZE bytes, which are LD bytes apart in ROWS. Returns NULL without
 * ROWS, and on failure, with ERR set. */
static void *copy(struct attn_store **store, const void *rows, size_t n, size_t size, size_t ld,
                  struct attn_error *err)
{
    char *made = NULL;

    if (!rows || ATTN_STORE_ALLOC(store, made, attn_size_mul(n, size), err) != ATTN_OK)
        return NULL;
    for (size_t r = 0; r < n; r++)
        memcpy(made + r * size, (const char *)rows + r * ld, size);
    return made;
}

enum attn_status attn_held_add(void *user, const struct attn_trace_event *event,
                               struct attn_error *err)
{
    struct attn_held *held = user;
    const size_t n = event->n_row, width = event->keys ? event->ld : event->n_col;
    const size_t size = n * (width * sizeof *event->data +
                             (event->keys ? width * sizeof *event->keys + sizeof n : 0));
    struct attn_trace_event *made;

    held->is_full |= size > held->most - held->size;
    if (held->is_full) {
        drop(held);
        return ATTN_OK;
    }
    held->size += size;
    ATTN_TRY(ATTN_GROW(held->events, held->capacity, held->n + 1, err));
    made = &held->events[held->n++];
    *made = *event;
    made->ld = width;
    made->data = copy(&held->store, event->data, n, width * sizeof *event->data,
                      event->ld * sizeof *event->data, err);
    made->keys = copy(&held->store, event->keys, n, width * sizeof *event->keys,
                      event->ld * sizeof *event->keys, err);
    made->n_kept = copy(&held->store, event->n_kept, 1, n * sizeof n, 0, err);
    return !made->data || (event->keys && !made->keys) || (event->n_kept && !made->n_kept)
               ? ATTN_NO_MEMORY
               : ATTN_OK;
}

bool attn_held_is_whole(const struct attn_held *held)
{
    return !held->is_full;
}

enum attn_status attn_held_play(const struct attn_held *held, const struct attn_trace *to,
                                struct attn_error *err)
{
    for (size_t i = 0; i < held->n; i++)
        ATTN_TRY(to->on_event(to->user, &held->events[i], err));
    return ATTN_OK;
}
