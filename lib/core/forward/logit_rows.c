#include "forward/logit_rows.h"

#include "base/memory.h"
#include "forward/session_internal.h"

static bool is_wanted(const struct attn_logit_rows *rows, size_t position)
{
    return position < rows->end &&
           (!rows->selection ||
            attn_selection_has_query(rows->selection, ATTN_STACK_ONLY, position));
}

/* Advances to the next run of adjacent wanted positions, at most n_most. */
static void advance(struct attn_logit_rows *rows)
{
    rows->first += rows->n;
    while (rows->first < rows->end && !is_wanted(rows, rows->first))
        rows->first++;
    for (rows->n = 0; rows->n < rows->n_most && is_wanted(rows, rows->first + rows->n);)
        rows->n++;
}

bool attn_logit_rows_next(struct attn_logit_rows *rows, struct attn_error *err)
{
    const size_t n_vocab = rows->session->forward.dims.n_vocab;

    if (rows->n_most == 0)
        rows->n_most = attn_logit_rows_at_once(n_vocab, rows->end - rows->first);
    if (rows->status != ATTN_OK)
        return false;
    advance(rows);
    if (rows->n == 0)
        return false;
    if (!rows->logits)
        rows->logits = attn_alloc_uninitialized(rows->n_most * n_vocab, sizeof *rows->logits, err);
    rows->status = rows->logits ? attn_session_logits_at(rows->session, rows->first, rows->n,
                                                         rows->logits, err)
                                : ATTN_NO_MEMORY;
    return rows->status == ATTN_OK;
}

enum attn_status attn_logit_rows_end(struct attn_logit_rows *rows)
{
    attn_free(rows->logits);
    rows->logits = NULL;
    return rows->status;
}
