/*
 * masked_copies.h - what an encoder predicts for each token of a text: every token but the special
 * ones is masked once, in a copy of the text of its own, and the logits are those at the mask. The
 * sum of -ln p is the pseudo-log-likelihood (Salazar et al. 1910.14659). For the files of this
 * layer and above.
 *
 *     attn_masked_create(&scope, n_row, pool, &masked, &err);
 *     attn_masked_read(masked, &scope, on_rows, user, &err);    // of each text
 *     attn_masked_free(masked);
 *
 * Copies go through the model side by side, with the bits of each alone. Memory does not grow with
 * the number of texts.
 */
#ifndef ATTN_PREDICT_MASKED_COPIES_H
#define ATTN_PREDICT_MASKED_COPIES_H

#include "edits/edits.h"
#include "input/sequence.h"

/* Rows of logits at masks. */
struct attn_masked_rows {
    const size_t *positions; /* [n] ascending: their positions in the text */
    const int32_t *ids;      /* [n] the tokens that the masks replace */
    const float *logits;     /* [n, n_vocab] */
    size_t n;
};

typedef enum attn_status (*attn_masked_fn)(void *user, const struct attn_masked_rows *rows,
                                           struct attn_error *err);

/* Checks that the TOKENIZER of MODEL, which may be NULL, has a mask token. ATTN_INVALID at
 * ATTN_STAGE_OPTIONS. */
enum attn_status attn_masked_check(const struct attn_model *model,
                                   const struct attn_tokenizer *tokenizer, struct attn_error *err);

/* The run of a text. Everything is borrowed. */
struct attn_masked_scope {
    const struct attn_model *model;
    const struct attn_tokenizer *tokenizer;
    const struct attn_sequence *text;
    const struct attn_edit_list *edits;
    struct attn_session_options
        session; /* options for a run without edits, with the attention of this one */
};

struct attn_masked;

/* Creates a session for texts with the attention and edits of SCOPE. It feeds up to N_ROW tokens
 * together. POOL is borrowed; NULL: the caller's thread. Errors have a stage. */
enum attn_status attn_masked_create(const struct attn_masked_scope *scope, size_t n_row,
                                    struct attn_pool *pool, struct attn_masked **masked,
                                    struct attn_error *err);
void attn_masked_free(struct attn_masked *masked); /* NULL is allowed */

/* Masks the tokens of SCOPE's text one after the other and passes a few rows at a time to ON_ROWS,
 * whose failure ends the call. Finds which edits of the run had an effect. Errors have a stage. */
enum attn_status attn_masked_read(struct attn_masked *masked, const struct attn_masked_scope *scope,
                                  attn_masked_fn on_rows, void *user, struct attn_error *err);

#endif
