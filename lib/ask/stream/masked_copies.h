/*
 * masked_copies.h - the predictions of an encoder for each token of a text. Each token, except
 * special ones, is masked in a separate copy of the text, and its prediction is read at the mask.
 * The sum of -ln p is the pseudo-log-likelihood (Salazar et al. 1910.14659). For the files of this
 * folder and above.
 *
 *     attn_masked_create(&scope, n_row, pool, &masked, &err);
 *     attn_masked_read(masked, &scope, on_rows, user, &err);  // for each text
 *     attn_masked_free(masked);
 *
 * Several copies are fed together, and each gives the same bits as if it were fed alone. Memory
 * does not grow with the number of texts.
 */
#pragma once

#include "run/run_internal.h"

/* Logits at the masks of some copies. */
struct attn_masked_rows {
    const size_t *positions; /* [n] ascending: the positions of the masks in the text */
    const int32_t *ids;      /* [n] the tokens that the masks replace */
    const float *logits;     /* [n, n_vocab] */
    size_t n;
};

typedef enum attn_status (*attn_masked_fn)(void *user, const struct attn_masked_rows *rows,
                                           struct attn_error *err);

/* Returns ATTN_INVALID, with the stage ATTN_STAGE_OPTIONS, if TOKENIZER has no mask token or is
 * NULL. MODEL is named in the message. */
enum attn_status attn_masked_check(const struct attn_model *model,
                                   const struct attn_tokenizer *tokenizer, struct attn_error *err);

/* A run over one text. Everything is borrowed. */
struct attn_masked_scope {
    const struct attn_model *model;
    const struct attn_tokenizer *tokenizer;
    const struct attn_sequence *text;
    const struct attn_edit_list *edits;
    /* The options of a session without edits; the attention is that of this run. */
    struct attn_session_options session;
};

/* Returns the scope for the text of RUN, from which it borrows. */
struct attn_masked_scope attn_masked_scope_of(const struct attn_run *run);

struct attn_masked;

/* Creates a session for texts, with the attention and the edits of SCOPE, which feeds up to N_ROW
 * tokens together. POOL is borrowed; if it is NULL, the caller's thread computes. Errors have a
 * stage. */
enum attn_status attn_masked_create(const struct attn_masked_scope *scope, size_t n_row,
                                    struct attn_pool *pool, struct attn_masked **masked,
                                    struct attn_error *err);
void attn_masked_free(struct attn_masked *masked); /* NULL is allowed */

/* Masks each token of SCOPE's text in turn and passes the logits, a few rows at a time, to ON_ROWS.
 * Fails if ON_ROWS fails. Also records which edits of the run had an effect. Errors have a stage.
 */
enum attn_status attn_masked_read(struct attn_masked *masked, const struct attn_masked_scope *scope,
                                  attn_masked_fn on_rows, void *user, struct attn_error *err);
