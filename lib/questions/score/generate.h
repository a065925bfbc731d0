/*
 * generate.h - continues a text, token by token.
 *
 *     struct attn_generate_args args = ATTN_GENERATE_ARGS_DEFAULT;
 *     struct attn_generation made = ATTN_GENERATION_DEFAULT;
 *     args.n_most = 20;
 *     attn_generate(host, &request, &args, &made, &err);
 *     fwrite(made.text, 1, made.n_text, stdout);
 *     attn_generation_release(&made);
 *
 * Without a temperature the most probable token is chosen; the first wins a tie. With a temperature
 * the token is drawn: logits are divided by the temperature, then only the top_k most probable
 * tokens are kept, then the fewest tokens whose probabilities add up to top_p (Holtzman et al.
 * 1904.09751), then the tokens with at least min_p times the probability of the first.
 * Probabilities are float32, and base/random.h generates the random numbers: a seed gives the same
 * tokens on every machine.
 */
#ifndef ATTN_SCORE_GENERATE_H
#define ATTN_SCORE_GENERATE_H

#include "run/run.h"
#include "tables/table.h"

struct attn_study_args; /* means/study.h */

/* Called with each token when it is generated. TEXT [size] is the text that this token completed:
 * incomplete UTF-8 characters and possible beginnings of a stop text are held back. A last call,
 * with ID -1, passes the text that was held back. Without a tokenizer TEXT is NULL. A result other
 * than ATTN_OK ends the generation. */
typedef enum attn_status (*attn_token_fn)(void *user, int32_t id, const char *text, size_t size,
                                          struct attn_error *err);

struct attn_generate_args {
    size_t size;        /* size of this struct */
    size_t n_most;      /* number of tokens to generate; 0: 20 */
    double temperature; /* 0: always takes the most probable token */
    size_t top_k;       /* 0: all tokens */
    double top_p;       /* above 0, at most 1; 0: all tokens */
    double min_p;       /* 0 to less than 1 */
    uint64_t seed;      /* seed of the draws */
    /* [n_stop] texts, not empty; the generation ends before the first that occurs */
    const char *const *stops;
    size_t n_stop;
    attn_token_fn on_token;              /* or NULL */
    void *user;                          /* passed to on_token */
    const struct attn_study_args *study; /* items, for attn_generate_items; or NULL */
};

#define ATTN_GENERATE_ARGS_DEFAULT ATTN_QUESTION_DEFAULT("generate", attn_generate_args)

/* Why the generation ended. X(ID, number, text) */
#define ATTN_GENERATION_END_MAP(X)                                                                 \
    X(LENGTH, 0, "length")        /* n_most tokens */                                              \
    X(CONTEXT, 1, "context")      /* the context of the model is full */                           \
    X(TEXT_END, 2, "end_of_text") /* the model's end-of-text token, which is dropped */            \
    X(STOP, 3, "stop")            /* a stop text */

enum attn_generation_end {
#define ATTN_GENERATION_END_ENUM(id, number, ...) ATTN_GENERATION_##id = (number),
    ATTN_GENERATION_END_MAP(ATTN_GENERATION_END_ENUM)
#undef ATTN_GENERATION_END_ENUM
};

struct attn_generation {
    size_t size;     /* of this struct */
    int32_t *ids;    /* [n_prompt + n] owns; the prompt, then the generated tokens */
    size_t n_prompt; /* 0 if the input is embeddings, without ids */
    size_t n;
    double *log_probs; /* [n] owns; natural, at temperature 1 */
    char *text; /* [n_text] owns; text of the generated tokens, or NULL without a tokenizer */
    size_t n_text;
    enum attn_generation_end end;
};

/* Sets GENERATION [size bytes] to the defaults, and returns it. */
ATTN_API struct attn_generation *attn_generation_init(struct attn_generation *generation,
                                                      size_t size);
#define ATTN_GENERATION_DEFAULT ATTN_DEFAULT_OF(attn_generation)

/* Continues the input of REQUEST, with its attention and edits. ARGS may be NULL. The caller owns
 * *made, which is untouched on failure. Errors have a stage: the stage of options with ATTN_INVALID
 * for attention that needs its whole sequence at once. */
ATTN_API enum attn_status attn_generate(struct attn_host *host, const struct attn_request *request,
                                        const struct attn_generate_args *args,
                                        struct attn_generation *made, struct attn_error *err);

/* Continues each item of `study`, which must be set, and writes a row for each item to `each` of
 * the study:
 *
 *     text, continuation           the text of the item, and the generated text
 *     n_generated, log_prob        the number of generated tokens, and the sum of their log
 *                                  probabilities
 *     continuation_ids, log_probs  of each token; log_probs is a text, "[-1.5, -0.25]"
 *     end                          attn_generation_end_text
 *
 * Item i, counted from 0, uses the seed `seed` + i, so its result equals that of attn_generate with
 * that seed. on_token is not called. */
ATTN_API enum attn_status attn_generate_items(struct attn_host *host,
                                              const struct attn_request *request,
                                              const struct attn_generate_args *args,
                                              struct attn_error *err);

ATTN_API void attn_generation_release(struct attn_generation *made);

ATTN_API const char *attn_generation_end_text(enum attn_generation_end end); /* "length" */

#endif
