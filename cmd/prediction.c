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

static const struct option prediction_rows[] = {
    {.name = "top",
     .argument = "K",
     .heading = "Prediction",
     .kind = OPTION_NUMBER,
     .min = 1,
     .max = INT32_MAX,
     .offset = offsetof(struct prediction_args, top),
     .help = "print the K most probable next tokens: probability, id, token"},
    {.name = "next",
     .argument = "TEXT",
     .heading = "Prediction",
     .kind = OPTION_LIST,
     .offset = offsetof(struct prediction_args, next),
     .help = "print the log-probability (natural) that TEXT follows; may be given several times"},
};

const struct option_group prediction_options = OPTION_GROUP(prediction_rows);

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

/* The first N_SHOWN of N sorted candidates. */
static int keep_candidates(struct prediction *prediction, const struct candidate *candidates,
                           size_t n, size_t n_shown, const struct attn_tokenizer *tokenizer)
{
    double sum = 0.0;
    for (size_t i = n; i-- > 0;) /* small ones first */
        sum += exp(candidates[i].logit - candidates[0].logit);
    prediction->top = calloc(n_shown, sizeof(*prediction->top));
    if (!prediction->top)
        return report_no_memory();
    for (size_t i = 0; i < n_shown; i++) {
        struct attn_candidate *top = &prediction->top[i];
        top->id = candidates[i].id;
        top->probability = exp(candidates[i].logit - candidates[0].logit) / sum;
        if (tokenizer)
            top->token = attn_tokenizer_token(tokenizer, top->id, &top->token_size);
    }
    prediction->found.top = prediction->top;
    prediction->found.n_top = n_shown;
    return EXIT_DONE;
}

static int find_top(struct prediction *prediction, struct attn_session *session, size_t n_top,
                    size_t n_vocab, const struct attn_tokenizer *tokenizer)
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
    int code = keep_candidates(prediction, candidates, n_vocab, n_top < n_vocab ? n_top : n_vocab,
                               tokenizer);
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

static int find_next(struct prediction *prediction, const struct text_list *texts,
                     struct attn_session *session)
{
    prediction->next = calloc(prediction->n, sizeof(*prediction->next));
    if (!prediction->next)
        return report_no_memory();
    for (size_t i = 0; i < prediction->n; i++) {
        struct attn_continuation *next = &prediction->next[i];
        struct attn_error err = {0};
        enum attn_status status =
            log_probability(session, &prediction->continuations[i], &next->log_probability, &err);
        if (status != ATTN_OK)
            return report(&err, status == ATTN_INVALID ? EXIT_INPUT : EXIT_MODEL);
        next->text = texts->items[i];
    }
    prediction->found.next = prediction->next;
    prediction->found.n_next = prediction->n;
    return EXIT_DONE;
}

int prediction_find(struct prediction *prediction, const struct prediction_args *args,
                    struct attn_session *session, size_t n_vocab,
                    const struct attn_tokenizer *tokenizer)
{
    int code = EXIT_DONE;
    if (args->top > 0)
        code = find_top(prediction, session, (size_t)args->top, n_vocab, tokenizer);
    if (code == EXIT_DONE && prediction->n > 0)
        code = find_next(prediction, &args->next, session);
    return code;
}

int prediction_print(const struct prediction *prediction, struct attn_sink *out)
{
    const struct attn_predictions *found = &prediction->found;
    int code = EXIT_DONE;
    for (size_t i = 0; code == EXIT_DONE && i < found->n_top; i++) {
        const struct attn_candidate *top = &found->top[i];
        print(out, "%.6f\t%d\t", top->probability, (int)top->id);
        if (top->token)
            code = print_escaped(out, top->token, top->token_size);
        print_text(out, "\n");
    }
    if (found->n_top > 0 && found->n_next > 0)
        print_text(out, "\n");
    for (size_t i = 0; code == EXIT_DONE && i < found->n_next; i++) {
        print(out, "%.6f\t", found->next[i].log_probability);
        code = print_escaped(out, found->next[i].text, strlen(found->next[i].text));
        print_text(out, "\n");
    }
    return code;
}

void prediction_release(struct prediction *prediction)
{
    for (size_t i = 0; i < prediction->n; i++)
        attn_encoding_release(&prediction->continuations[i]);
    free(prediction->continuations);
    free(prediction->top);
    free(prediction->next);
    *prediction = (struct prediction){0};
}
