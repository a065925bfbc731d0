/*
 * prediction.c - next-token probabilities from the logits after the prompt, and the probability of
 * continuations: ln p(c_1 .. c_m) = sum_i ln p(c_i | prompt, c_1 .. c_i-1). Every continuation
 * starts from the same session, rewound.
 */
#include "prediction.h"

#include "command.h"
#include "print.h"
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int prediction_encode(struct prediction *prediction, const struct prediction_args *args,
                      const struct attn_tokenizer *tokenizer, enum attn_special special)
{
    struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    options.special = special;
    if (args->next.n == 0)
        return EXIT_DONE;
    prediction->continuations = calloc(args->next.n, sizeof(*prediction->continuations));
    if (!prediction->continuations)
        return report_no_memory();
    prediction->n = args->next.n;
    for (size_t i = 0; i < prediction->n; i++) {
        struct attn_encoding *encoding = &prediction->continuations[i];
        const char *text = args->next.items[i];
        struct attn_error err = {0};
        if (attn_tokenizer_encode(tokenizer, text, strlen(text), &options, encoding, &err) !=
            ATTN_OK)
            return report(&err, EXIT_INPUT);
        if (encoding->n == 0)
            return report_problem(EXIT_INPUT, NULL, "the continuation '%s' has no tokens", text);
        if (encoding->n - 1 > prediction->n_position) /* the last one is not fed */
            prediction->n_position = encoding->n - 1;
    }
    return EXIT_DONE;
}

struct candidate {
    double logit;
    int32_t id;
};

static int by_logit(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->logit != y->logit)
        return x->logit < y->logit ? 1 : -1;
    return x->id < y->id ? -1 : 1; /* equal ones in the order of the vocabulary */
}

static int print_candidates(const struct candidate *candidates, size_t n, size_t n_shown,
                            const struct attn_tokenizer *tokenizer, struct attn_sink *out)
{
    double sum = 0.0;
    for (size_t i = n; i-- > 0;) /* small ones first */
        sum += exp(candidates[i].logit - candidates[0].logit);
    int code = EXIT_DONE;
    for (size_t i = 0; code == EXIT_DONE && i < n_shown; i++) {
        size_t size = 0;
        const char *token =
            tokenizer ? attn_tokenizer_token(tokenizer, candidates[i].id, &size) : NULL;
        print(out, "%.6f\t%d\t", exp(candidates[i].logit - candidates[0].logit) / sum,
              (int)candidates[i].id);
        if (token)
            code = print_escaped(out, token, size);
        print_text(out, "\n");
    }
    return code;
}

static int print_top(struct attn_session *session, size_t n_top, size_t n_vocab,
                     const struct attn_tokenizer *tokenizer, struct attn_sink *out)
{
    const float *logits;
    struct attn_error err = {0};
    if (attn_session_logits(session, &logits, &err) != ATTN_OK)
        return report(&err, EXIT_MODEL);
    struct candidate *candidates = calloc(n_vocab, sizeof(*candidates));
    if (!candidates)
        return report_no_memory();
    for (size_t i = 0; i < n_vocab; i++)
        candidates[i] = (struct candidate){(double)logits[i], (int32_t)i};
    qsort(candidates, n_vocab, sizeof(*candidates), by_logit);
    int code =
        print_candidates(candidates, n_vocab, n_top < n_vocab ? n_top : n_vocab, tokenizer, out);
    free(candidates);
    return code;
}

static enum attn_status log_probability(struct attn_session *session,
                                        const struct attn_encoding *continuation, double *sum,
                                        struct attn_error *err)
{
    size_t n_prompt = attn_session_n_position(session);
    enum attn_status status = ATTN_OK;
    *sum = 0.0;
    for (size_t i = 0; status == ATTN_OK && i < continuation->n; i++) {
        double term = 0.0;
        if (i > 0)
            status = attn_session_feed(session, &continuation->ids[i - 1], 1, err);
        if (status == ATTN_OK)
            status = attn_session_log_probability(session, continuation->ids[i], &term, err);
        *sum += term;
    }
    if (status == ATTN_OK)
        status = attn_session_rewind(session, n_prompt, err);
    return status;
}

int prediction_print(const struct prediction *prediction, const struct prediction_args *args,
                     struct attn_session *session, size_t n_vocab,
                     const struct attn_tokenizer *tokenizer, struct attn_sink *out)
{
    int code = EXIT_DONE;
    if (args->top > 0)
        code = print_top(session, (size_t)args->top, n_vocab, tokenizer, out);
    if (args->top > 0 && prediction->n > 0)
        print_text(out, "\n");
    for (size_t i = 0; code == EXIT_DONE && i < prediction->n; i++) {
        struct attn_error err = {0};
        double sum;
        enum attn_status status =
            log_probability(session, &prediction->continuations[i], &sum, &err);
        if (status != ATTN_OK)
            return report(&err, status == ATTN_INVALID ? EXIT_INPUT : EXIT_MODEL);
        print(out, "%.6f\t", sum);
        code = print_escaped(out, args->next.items[i], strlen(args->next.items[i]));
        print_text(out, "\n");
    }
    return code;
}

void prediction_release(struct prediction *prediction)
{
    for (size_t i = 0; i < prediction->n; i++)
        attn_encoding_release(&prediction->continuations[i]);
    free(prediction->continuations);
    *prediction = (struct prediction){0};
}
