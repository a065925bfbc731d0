/* pieces.c - see pieces.h. Piece i is made in buffer i modulo the number of buffers, once the
 * previous piece in that buffer was written. The thread that makes the next piece to write never
 * waits, so progress is guaranteed. */
#include "base/pieces.h"

#include "base/memory.h"
#include "base/os/thread.h"
#include "base/pool_internal.h"
#include "base/status_internal.h"

enum { TEXTS_PER_THREAD = 3, N_TEXT_MAX = 64 };

enum { WRITTEN }; /* condition: a buffer became free */

struct attn_pieces {
    struct attn_pool *pool;
    size_t n_text;             /* number of buffers in use */
    struct attn_buffer *texts; /* [n_text] owns */
    /* owns; guards the fields below, and has_failed of finished texts */
    struct attn_monitor *monitor;
    bool *is_made;   /* [n_text] owns; true if the text is finished but not written */
    size_t next;     /* index of the next piece to write */
    bool has_failed; /* making a text failed */
};

struct writing {
    struct attn_pieces *pieces;
    attn_piece_fn make;
    const void *context;
    struct attn_sink *sink;
};

enum attn_status attn_pieces_create(struct attn_pool *pool, struct attn_pieces **pieces,
                                    struct attn_error *err)
{
    const size_t n_thread = (size_t)attn_pool_n_thread(pool);
    struct attn_pieces *p;

    ATTN_TRY(ATTN_ALLOC(p, 1, err));
    p->pool = pool;
    p->n_text = n_thread == 1 ? 1 : TEXTS_PER_THREAD * n_thread;
    if (p->n_text > N_TEXT_MAX)
        p->n_text = N_TEXT_MAX;
    p->texts = attn_alloc(p->n_text, sizeof *p->texts, err);
    p->is_made = attn_alloc(p->n_text, sizeof *p->is_made, err);
    if (!p->texts || !p->is_made || attn_monitor_create(1, &p->monitor, err) != ATTN_OK) {
        attn_pieces_free(p);
        return ATTN_NO_MEMORY;
    }
    *pieces = p;
    return ATTN_OK;
}

/* Makes piece I, then writes all finished pieces that are next (attn_task_fn). Only one thread
 * writes at a time: the next piece stays unmarked while it is being written, so other threads do
 * not find it. */
static void make_piece(void *context, size_t i, int worker)
{
    const struct writing *writing = context;
    struct attn_pieces *p = writing->pieces;
    struct attn_buffer *mine = &p->texts[i % p->n_text];

    (void)worker;
    attn_monitor_enter(p->monitor);
    while (i - p->next >= p->n_text) /* its buffer is not free yet */
        attn_monitor_wait(p->monitor, WRITTEN);
    attn_monitor_leave(p->monitor);
    attn_buffer_reset(mine);
    writing->make(writing->context, i, mine);
    attn_monitor_enter(p->monitor);
    p->is_made[i % p->n_text] = true;
    while (p->is_made[p->next % p->n_text]) {
        const struct attn_buffer *text = &p->texts[p->next % p->n_text];
        bool is_whole = !(p->has_failed |= text->has_failed);

        p->is_made[p->next % p->n_text] = false;
        attn_monitor_leave(p->monitor);
        if (is_whole)
            attn_sink_write(writing->sink, text->data, text->size);
        attn_monitor_enter(p->monitor);
        p->next++;
        attn_monitor_wake(p->monitor, WRITTEN);
    }
    attn_monitor_leave(p->monitor);
}

enum attn_status attn_pieces_write(struct attn_pieces *pieces, size_t n, attn_piece_fn make,
                                   const void *context, struct attn_sink *sink,
                                   struct attn_error *err)
{
    struct writing writing = {pieces, make, context, sink};

    pieces->next = 0;
    pieces->has_failed = false;
    attn_pool_run(pieces->pool, n, make_piece, &writing);
    return pieces->has_failed ? attn_error_no_memory(err) : ATTN_OK;
}

void attn_pieces_free(struct attn_pieces *pieces)
{
    if (!pieces)
        return;
    for (size_t i = 0; pieces->texts && i < pieces->n_text; i++)
        attn_buffer_release(&pieces->texts[i]);
    attn_free(pieces->texts);
    attn_free(pieces->is_made);
    attn_monitor_free(pieces->monitor);
    attn_free(pieces);
}
