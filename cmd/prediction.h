/* prediction.h - what a language model expects next: --top and --next. */
#ifndef CMD_PREDICTION_H
#define CMD_PREDICTION_H

#include "options.h"

#include "attn.h"

struct prediction_args {
    int64_t top; /* most probable tokens to print; 0: none */
    struct text_list next;
};

/* Options that fill a struct prediction_args. */
extern const struct option_group prediction_options;

/* What was asked for, and what the model says to it; initialize with = {0}. */
struct prediction {
    struct attn_encoding *continuations; /* [n] the tokens of each --next */
    size_t n;
    size_t n_position;              /* positions that the longest needs after the prompt */
    struct attn_candidate *top;     /* owned */
    struct attn_continuation *next; /* [n] owned */
    struct attn_predictions found;  /* borrows from these two and from the tokenizer */
};

static inline bool prediction_is_wanted(const struct prediction_args *args)
{
    return args->top > 0 || args->next.n > 0;
}

/* Encodes each --next by itself. Reports and returns an exit code. */
int prediction_encode(struct prediction *prediction, const struct prediction_args *args,
                      const struct attn_tokenizer *tokenizer, enum attn_special special);

/*
 * Finds what was asked for, from a session that has been fed the prompt and has logits. TOKENIZER
 * may be NULL when there are no continuations. Reports and returns an exit code.
 */
int prediction_find(struct prediction *prediction, const struct prediction_args *args,
                    struct attn_session *session, size_t n_vocab,
                    const struct attn_tokenizer *tokenizer);

/* Prints what was found. Reports and returns an exit code. */
int prediction_print(const struct prediction *prediction, struct attn_sink *out);

void prediction_release(struct prediction *prediction);

#endif
