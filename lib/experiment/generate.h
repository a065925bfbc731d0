/*
 * generate.h - what comes next: a text goes on, token by token.
 *
 *     struct attn_generate_args args = ATTN_GENERATE_ARGS_DEFAULT;
 *     struct attn_generation made;
 *     args.n_most = 20;
 *     attn_generate(host, &request, &args, &made, &err);
 *     fwrite(made.text, 1, made.n_text, stdout);
 *     attn_generation_release(&made);
 *
 * Without a temperature the most probable token is taken, of equal ones the first. With one it is
 * drawn: logits are divided by the temperature, then only the top_k most probable tokens are kept,
 * then the fewest whose probabilities add to top_p (Holtzman et al. 1904.09751), then those that
 * have at least min_p times the probability of the first. Probabilities are float32 and the
 * generator is our own (base/random.h): a seed gives the same tokens on every machine.
 */
#ifndef ATTN_EXPERIMENT_GENERATE_H
#define ATTN_EXPERIMENT_GENERATE_H

#include "base/table.h"
#include "run/run.h"

/*
 * Gets each token when it is made. TEXT [size] is what can be shown now: characters of UTF-8 that
 * are not whole wait, and so does what may become a stop text. At the end it is called once more
 * for what has waited, with ID -1. Without a tokenizer the text is NULL. Anything but ATTN_OK ends
 * the generation.
 */
typedef enum attn_status (*attn_token_fn)(void *user, int32_t id, const char *text, size_t size,
                                          struct attn_error *err);

struct attn_generate_args {
    size_t size;              /* of this struct */
    size_t n_most;            /* tokens to make; 0: 20 */
    double temperature;       /* 0: the most probable token each time */
    size_t top_k;             /* 0: all tokens */
    double top_p;             /* above 0, at most 1; 0: all */
    double min_p;             /* 0 to less than 1 */
    uint64_t seed;            /* of the draws */
    const char *const *stops; /* [n_stop] texts that end it and are not part of it, not empty */
    size_t n_stop;
    attn_token_fn on_token; /* or NULL */
    void *user;             /* for on_token */
};

#define ATTN_GENERATE_ARGS_DEFAULT                                                                 \
    ((struct attn_generate_args){.size = sizeof(struct attn_generate_args)})

/* Why it ended. X(ID, text) */
#define ATTN_GENERATION_END_MAP(X)                                                                 \
    X(LENGTH, 0, "length")        /* as many tokens as were wanted */                              \
    X(CONTEXT, 1, "context")      /* the model takes no more positions */                          \
    X(TEXT_END, 2, "end_of_text") /* the model's own end-of-text token, which is left out */       \
    X(STOP, 3, "stop")            /* a stop text */

enum attn_generation_end {
#define ATTN_GENERATION_END_ENUM(id, number, ...) ATTN_GENERATION_##id = (number),
    ATTN_GENERATION_END_MAP(ATTN_GENERATION_END_ENUM)
#undef ATTN_GENERATION_END_ENUM
};

struct attn_generation {
    int32_t *ids;    /* [n_prompt + n] owns; those of the prompt, then those that were made */
    size_t n_prompt; /* 0 and no ids of the prompt when embeddings were given */
    size_t n;
    double *log_probabilities; /* [n] owns; natural, of each token under the model itself */
    char *text;                /* [n_text] owns; what was made, or NULL without a tokenizer */
    size_t n_text;
    enum attn_generation_end end;
};

/* Goes on with the input of REQUEST, whose attention and ablations count; ARGS may be NULL. *made
 * is the caller's, untouched on failure. Errors have a stage: ATTN_INVALID at that of options for
 * attention that needs its whole sequence at once. */
ATTN_API enum attn_status attn_generate(struct attn_host *host, const struct attn_request *request,
                                        const struct attn_generate_args *args,
                                        struct attn_generation *made, struct attn_error *err);
/* What was made as a table, a row a token: position, id, token, log_probability (nats). HOST is the
 * one that made it; the caller owns *table. */
ATTN_API enum attn_status attn_generation_table(const struct attn_host *host,
                                                const struct attn_generation *made,
                                                struct attn_table **table, struct attn_error *err);
ATTN_API void attn_generation_release(struct attn_generation *made);

ATTN_API const char *attn_generation_end_text(enum attn_generation_end end); /* "length" */

#endif
