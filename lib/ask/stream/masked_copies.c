#include "stream/masked_copies.h"

#include "base/memory.h"
#include "base/os/thread.h"
#include "base/status_internal.h"
#include "forward/logit_rows.h"
#include "forward/session_pack.h"
#include "model/model_internal.h"
#include "predict/answer_internal.h"
#include "tokenizer/tokenizer_internal.h"

#include <string.h>

struct attn_masked {
    struct attn_session *session; /* owns */
    struct attn_store *store;     /* owns; has the arrays but `logits` */
    int32_t mask;
    size_t n_row, n_most; /* the most rows, and the most copies, that are fed together */
    int32_t *ids;         /* [n_row] the tokens of all copies */
    struct attn_session_sequence *sequences; /* [n_most] the copies */
    size_t *positions;                       /* [n_most] the position of the mask of each copy */
    size_t *rows;                            /* [n_most] the row of that mask among all copies */
    int32_t *targets;                        /* [n_most] the token that the mask replaces */
    float *logits;                           /* [n_most, V] owns */
};

struct attn_masked_scope attn_masked_scope_of(const struct attn_run *run)
{
    return (struct attn_masked_scope){.model = run->model,
                                      .tokenizer = run->tokenizer,
                                      .text = &run->text,
                                      .edits = &run->edits,
                                      .session = attn_run_session_options(run)};
}

enum attn_status attn_masked_check(const struct attn_model *model,
                                   const struct attn_tokenizer *tokenizer, struct attn_error *err)
{
    int32_t mask;

    if (attn_mask_id(tokenizer, &mask))
        return ATTN_OK;
    return attn_refuse(err, ATTN_STAGE_OPTIONS,
                       "an encoder scores each token with a mask in its place, and '%s' has no "
                       "vocabulary with [MASK] or <mask>",
                       attn_quote_string(attn_model_name(model)).text);
}

static enum attn_status build(const struct attn_masked_scope *scope, struct attn_pool *pool,
                              struct attn_masked *masked, struct attn_error *err)
{
    const size_t n_most = masked->n_most, n_vocab = attn_model_config(scope->model)->n_vocab;
    struct attn_session_options options = scope->session;
    enum attn_status status;

    ATTN_TRY(ATTN_STORE_ALLOC(&masked->store, masked->ids, masked->n_row, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&masked->store, masked->sequences, n_most, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&masked->store, masked->positions, n_most, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&masked->store, masked->rows, n_most, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&masked->store, masked->targets, n_most, err));
    ATTN_TRY(ATTN_NEW(masked->logits,
                      attn_alloc_uninitialized(n_most * n_vocab, sizeof *masked->logits, err)));
    ATTN_TRY(attn_masked_check(scope->model, scope->tokenizer, err));
    attn_mask_id(scope->tokenizer, &masked->mask);
    options.n_max = masked->n_row;
    options.n_sequence = masked->n_most;
    options.cache = ATTN_CACHE_ONE_LAYER;
    options.has_logits = true;
    options.pool = pool;
    /* A key mask of the request does not apply: each copy has that of its text. */
    options.key_mask = NULL;
    options.n_key_mask = 0;
    status = attn_session_create(scope->model, &options, &masked->session, err);
    return attn_error_at(status, status == ATTN_INVALID ? ATTN_STAGE_OPTIONS : ATTN_STAGE_MODEL,
                         err);
}

enum attn_status attn_masked_create(const struct attn_masked_scope *scope, size_t n_row,
                                    struct attn_pool *pool, struct attn_masked **masked,
                                    struct attn_error *err)
{
    struct attn_masked *made;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->n_row = n_row;
    made->n_most = attn_logit_rows_at_once(attn_model_config(scope->model)->n_vocab, n_row);
    ATTN_RETURN_MADE(build(scope, pool, made, err), masked, made, attn_masked_free);
}

void attn_masked_free(struct attn_masked *masked)
{
    if (!masked)
        return;
    attn_session_free(masked->session);
    attn_store_release(&masked->store);
    attn_free(masked->logits);
    attn_free(masked);
}

/* Writes copy number I: the text of SCOPE with a mask token at position AT. */
static void make_copy(struct attn_masked *masked, size_t i, const struct attn_masked_scope *scope,
                      size_t at)
{
    const struct attn_sequence *text = scope->text;
    int32_t *ids = masked->ids + i * text->n;

    memcpy(ids, text->ids, text->n * sizeof *ids);
    ids[at] = masked->mask;
    masked->sequences[i] = (struct attn_session_sequence){.ids = ids,
                                                          .n = text->n,
                                                          .types = text->types,
                                                          .key_mask = text->key_mask,
                                                          .edits = scope->edits->items,
                                                          .n_edit = scope->edits->n,
                                                          .logit0 = at,
                                                          .n_logit = 1};
    masked->positions[i] = at;
    masked->rows[i] = i * text->n + at;
    masked->targets[i] = text->ids[at];
}

/* Feeds N copies and passes their logits to ON_ROWS. */
static enum attn_status run_copies(struct attn_masked *masked, size_t n, attn_masked_fn on_rows,
                                   void *user, struct attn_error *err)
{
    const struct attn_masked_rows rows = {masked->positions, masked->targets, masked->logits, n};

    attn_session_reset(masked->session);
    ATTN_TRY(attn_session_feed_many(masked->session, masked->sequences, n, err));
    ATTN_TRY(attn_session_logits_of(masked->session, masked->rows, n, masked->logits, err));
    return on_rows(user, &rows, err);
}

enum attn_status attn_masked_read(struct attn_masked *masked, const struct attn_masked_scope *scope,
                                  attn_masked_fn on_rows, void *user, struct attn_error *err)
{
    const struct attn_sequence *text = scope->text;
    const size_t n_fit = masked->n_row / text->n;
    const size_t n_most = n_fit < masked->n_most ? n_fit : masked->n_most;
    enum attn_status status = ATTN_OK;
    size_t n = 0;
    bool is_fed = false; /* no copy is fed if all tokens are special */

    /* No copy shows the token that its mask replaces, so a session cannot check it. */
    ATTN_TRY(attn_error_at(attn_model_check_ids(scope->model, text->ids, text->n, 0, err),
                           ATTN_STAGE_INPUT, err));
    for (size_t i = 0; status == ATTN_OK && i < text->n; i++) {
        if (!attn_tokenizer_is_special(scope->tokenizer, text->ids[i]))
            make_copy(masked, n++, scope, i);
        if (n == n_most || (i + 1 == text->n && n > 0)) {
            status = run_copies(masked, n, on_rows, user, err);
            is_fed = true;
            n = 0;
        }
        if (status == ATTN_OK && attn_is_canceled(scope->session.cancel))
            status = attn_error_set(err, ATTN_CANCELED, "canceled");
    }
    if (status == ATTN_OK && is_fed)
        attn_edits_find_effects(scope->edits, masked->session, 0);
    return attn_error_at(status, ATTN_STAGE_MODEL, err);
}
