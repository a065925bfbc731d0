/* answer.c - see answer.h. */
#include "experiment/answer_internal.h"

#include "base/escape.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "kernels/kernels.h"
#include "model/session_internal.h"
#include "run/position.h"
#include "run/prediction.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *attn_answer_metric_name(enum attn_answer_metric metric)
{
    static const char *const names[] = {
#define METRIC_NAME(id, number, name, ...) [ATTN_ANSWER_##id] = (name),
        ATTN_ANSWER_METRIC_MAP(METRIC_NAME)
#undef METRIC_NAME
    };

    return names[metric];
}

/* --- One token -------------------------------------------------------------------------------- */

/* A token that a user named: its text or its id, and the options that name them. */
struct named_token {
    const char *text;
    const int32_t *id;
    const char *field; /* "target" */
};

/* Hints at TEXT with a space before it, or without its own, where that is one token. */
static void hint_space(const struct attn_run *run, const char *text,
                       const struct attn_encode_options *options, struct attn_error *err)
{
    const bool has_space = text[0] == ' ';
    struct attn_encoding encoding = {0};
    struct attn_buffer other = {0};
    const char *string;

    if (!has_space)
        attn_buffer_append_char(&other, ' ');
    attn_buffer_append_string(&other, text + has_space);
    string = attn_buffer_string(&other);
    if (string &&
        attn_tokenizer_encode(run->tokenizer, string, other.size, options, &encoding, NULL) ==
            ATTN_OK &&
        encoding.n == 1)
        attn_error_hint(err, "%s the space before it, '%s' is one token",
                        has_space ? "without" : "with", attn_quote_string(string).text);
    attn_encoding_release(&encoding);
    attn_buffer_release(&other);
}

/* ENCODING is not one token: lists its tokens, "2 tokens, 'apple', ' tree'". */
static enum attn_status report_pieces(const struct attn_run *run, const struct named_token *token,
                                      const struct attn_encoding *encoding, struct attn_error *err)
{
    struct attn_buffer pieces = {0};
    const char *string;

    if (encoding->n == 0)
        return attn_error_set(err, ATTN_INVALID, "`%s` '%s' has no tokens, expected one",
                              token->field, attn_quote_string(token->text).text);
    for (size_t i = 0; i < encoding->n; i++) {
        size_t size = 0;
        const char *bytes = attn_tokenizer_token(run->tokenizer, encoding->ids[i], &size);

        attn_buffer_append_format(&pieces, "%s'", i > 0 ? ", " : "");
        attn_escape_append(&pieces, bytes, size);
        attn_buffer_append_char(&pieces, '\'');
    }
    string = attn_buffer_string(&pieces);
    attn_error_set(err, ATTN_INVALID, "`%s` '%s' is %zu tokens, %s; expected one", token->field,
                   attn_quote_string(token->text).text, encoding->n, string ? string : "");
    attn_buffer_release(&pieces);
    return ATTN_INVALID;
}

static enum attn_status encode_token(const struct attn_run *run, const struct named_token *token,
                                     int32_t *id, struct attn_error *err)
{
    struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    const struct attn_tokenizer *tokenizer;
    struct attn_encoding encoding = {0};
    enum attn_status status;

    ATTN_TRY(attn_host_tokenizer(run->host, &tokenizer, err));
    options.special = run->request.reading.special;
    options.special_tokens = ATTN_SPECIAL_TOKENS_OFF;
    options.cancel = run->host->options.cancel;
    status = attn_tokenizer_encode(tokenizer, token->text, strlen(token->text), &options, &encoding,
                                   err);
    if (status == ATTN_OK && encoding.n == 1) {
        *id = encoding.ids[0];
    } else if (status == ATTN_OK) {
        status = report_pieces(run, token, &encoding, err);
        if (encoding.n > 1)
            hint_space(run, token->text, &options, err);
    }
    attn_encoding_release(&encoding);
    return status;
}

/* The token that is named; *has: whether one is. */
static enum attn_status find_token(const struct attn_run *run, const struct named_token *token,
                                   bool *has, int32_t *id, struct attn_error *err)
{
    const size_t n_vocab = attn_model_config(run->model)->n_vocab;

    *has = token->text || token->id;
    if (token->text && token->id)
        return attn_error_set(err, ATTN_INVALID, "`%s` and `%s_id` are both given, expected one",
                              token->field, token->field);
    if (token->text)
        return encode_token(run, token, id, err);
    if (token->id && (*token->id < 0 || (size_t)*token->id >= n_vocab))
        return attn_error_set(err, ATTN_INVALID, "`%s_id` %d is out of range, expected 0 to %zu",
                              token->field, *token->id, n_vocab - 1);
    if (token->id)
        *id = *token->id;
    return ATTN_OK;
}

/* --- What is asked for ------------------------------------------------------------------------ */

static enum attn_status check_needs(const struct attn_answer *answer, struct attn_error *err)
{
    static const bool needs_target[] = {
#define METRIC_NEEDS(id, number, name, needs) [ATTN_ANSWER_##id] = (needs),
        ATTN_ANSWER_METRIC_MAP(METRIC_NEEDS)
#undef METRIC_NEEDS
    };
    const char *name = attn_answer_metric_name(answer->metric);
    const struct attn_run *run = answer->run;

    if (needs_target[answer->metric] && !answer->has_target) {
        attn_error_set(err, ATTN_INVALID, "metric '%s' needs `target`", name);
        attn_error_hint(err, "kl and ce need none: `metric kl`");
        return ATTN_INVALID;
    }
    if (answer->has_foil && !answer->has_target)
        return attn_error_set(err, ATTN_INVALID, "`foil` is given without `target`");
    if (answer->metric == ATTN_ANSWER_LOGIT_DIFF && !answer->has_foil)
        return attn_error_set(err, ATTN_INVALID, "metric '%s' needs `foil`", name);
    if (answer->metric == ATTN_ANSWER_CE && !run->text.ids)
        return attn_error_set(err, ATTN_INVALID,
                              "metric 'ce' needs tokens, and embeddings have none");
    if (answer->metric == ATTN_ANSWER_CE && run->text.n < 2)
        return attn_error_set(err, ATTN_INVALID, "the text has 1 token, 'ce' needs 2 or more");
    return ATTN_OK;
}

static enum attn_status find(const struct attn_run *run, const struct attn_answer_args *args,
                             struct attn_answer *answer, struct attn_error *err)
{
    const struct named_token target = {args->target, args->target_id, "target"};
    const struct named_token foil = {args->foil, args->foil_id, "foil"};

    ATTN_TRY(find_token(run, &target, &answer->has_target, &answer->target, err));
    ATTN_TRY(find_token(run, &foil, &answer->has_foil, &answer->foil, err));
    if (answer->metric == ATTN_ANSWER_AUTO)
        answer->metric = answer->has_foil ? ATTN_ANSWER_LOGIT_DIFF : ATTN_ANSWER_LOG_PROB;
    answer->position = run->text.n - 1;
    ATTN_TRY(check_needs(answer, err));
    if (args->at)
        ATTN_TRY(attn_run_find_position(run, "at", args->at, &answer->position, err));
    return ATTN_OK;
}

enum attn_status attn_answer_find(const struct attn_run *run, const struct attn_answer_args *args,
                                  struct attn_answer *answer, struct attn_error *err)
{
    struct attn_answer found = {.metric = args->metric, .run = run};

    if (!attn_is_choice(args->metric, ATTN_N_ANSWER_METRIC, "metric", err))
        return ATTN_INVALID;
    ATTN_TRY(attn_error_at(find(run, args, &found, err), ATTN_STAGE_OPTIONS, err));
    *answer = found;
    return ATTN_OK;
}

/* --- The reply -------------------------------------------------------------------------------- */

enum { CE_ROWS = 16 }; /* rows of logits at a time */

/* The mean of -ln p of the text's own tokens but the first, if that is the metric, of the text that
 * was fed as number I. */
static enum attn_status cross_entropy(const struct attn_answer *answer,
                                      struct attn_session *session, size_t i, double *mean,
                                      struct attn_error *err)
{
    const struct attn_sequence *text = &answer->run->text;
    const size_t n_vocab = attn_model_config(answer->run->model)->n_vocab;
    enum attn_status status = ATTN_OK;
    double sum = 0;
    float *logits;

    if (answer->metric != ATTN_ANSWER_CE)
        return ATTN_OK;
    logits = attn_alloc_uninitialized(CE_ROWS * n_vocab, sizeof *logits, err);
    if (!logits)
        return ATTN_NO_MEMORY;
    for (size_t at = 1; status == ATTN_OK && at < text->n; at += CE_ROWS) {
        const size_t n = text->n - at < CE_ROWS ? text->n - at : CE_ROWS;

        status = attn_session_logits_at(session, i * text->n + at - 1, n, logits, err);
        for (size_t row = 0; status == ATTN_OK && row < n; row++)
            sum += attn_logits_surprisal(logits + row * n_vocab, n_vocab, text->ids[at + row]);
    }
    attn_free(logits);
    *mean = sum / (double)(text->n - 1);
    return status;
}

/* LOGITS at the position, and the cross-entropy if that is the metric. */
static struct attn_reply reply_of(const struct attn_answer *answer,
                                  const struct attn_reading *reading, const float *logits,
                                  double ce)
{
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);
    const size_t n = attn_model_config(answer->run->model)->n_vocab;
    struct attn_reply found = {.value = ce,
                               .first = attn_logits_first(logits, n),
                               .total = kernels->log_sum_exp(logits, n)};
    const double target = answer->has_target ? (double)logits[answer->target] : 0;

    if (reading->base)
        found.kl = kernels->divergence(reading->base, reading->base_total, logits, found.total, n);
    switch (answer->metric) {
    case ATTN_ANSWER_LOGIT_DIFF:
        found.value = target - (double)logits[answer->foil];
        break;
    case ATTN_ANSWER_LOG_PROB:
        found.value = target - found.total;
        break;
    case ATTN_ANSWER_LOGIT:
        found.value = target;
        break;
    case ATTN_ANSWER_PROB:
        found.value = exp(target - found.total);
        break;
    case ATTN_ANSWER_KL:
        found.value = found.kl;
        break;
    default: /* the cross-entropy is there */
        break;
    }
    return found;
}

struct attn_reply attn_answer_reply(const struct attn_answer *answer, const float *logits)
{
    const struct attn_reading alone = {.base = NULL};

    return reply_of(answer, &alone, logits, 0);
}

enum attn_status attn_answer_read(const struct attn_answer *answer, struct attn_session *session,
                                  const struct attn_reading *reading, struct attn_error *err)
{
    double ce = 0;

    ATTN_TRY(
        attn_error_at(attn_session_logits_of(session, &answer->position, 1, reading->logits, err),
                      ATTN_STAGE_MODEL, err));
    ATTN_TRY(attn_error_at(cross_entropy(answer, session, 0, &ce, err), ATTN_STAGE_MODEL, err));
    *reading->replies = reply_of(answer, reading, reading->logits, ce);
    return ATTN_OK;
}

enum attn_status attn_answer_keep(const struct attn_answer *answer, struct attn_session *session,
                                  size_t n, struct attn_kept *kept, struct attn_error *err)
{
    const size_t d = attn_model_config(answer->run->model)->d_model;
    size_t *positions = attn_alloc(n, sizeof *positions, err); /* of each text, counted over all */
    enum attn_status status;

    if (!positions)
        return attn_error_at(ATTN_NO_MEMORY, ATTN_STAGE_MODEL, err);
    for (size_t i = 0; i < n; i++)
        positions[i] = i * answer->run->text.n + answer->position;
    status = attn_session_final_of(session, positions, n, kept->rows + kept->n * d, err);
    attn_free(positions);
    for (size_t i = 0; status == ATTN_OK && i < n; i++)
        status = cross_entropy(answer, session, i, &kept->ce[kept->n + i], err);
    if (status == ATTN_OK)
        kept->n += n;
    return attn_error_at(status, ATTN_STAGE_MODEL, err);
}

enum attn_status attn_answer_read_kept(const struct attn_answer *answer,
                                       const struct attn_kept *kept, struct attn_session *session,
                                       const struct attn_reading *reading, struct attn_error *err)
{
    const size_t n_vocab = attn_model_config(answer->run->model)->n_vocab;

    ATTN_TRY(attn_error_at(attn_session_unembed(session, kept->rows, kept->n, reading->logits, err),
                           ATTN_STAGE_MODEL, err));
    for (size_t i = 0; i < kept->n; i++)
        reading->replies[i] = reply_of(answer, reading, reading->logits + i * n_vocab, kept->ce[i]);
    return ATTN_OK;
}

enum attn_status attn_answer_select(const struct attn_answer *answer,
                                    struct attn_selection **selection, struct attn_error *err)
{
    struct attn_selection *made;
    enum attn_status status;

    ATTN_TRY(attn_selection_create(attn_selection_dims(answer->run->selection), &made, err));
    status = attn_selection_set_sites(made, ATTN_SITE_BIT(ATTN_SITE_EMBED), err);
    if (status == ATTN_OK && answer->metric != ATTN_ANSWER_CE)
        status = attn_selection_keep_queries(made, answer->position, 1, err);
    if (status == ATTN_OK)
        *selection = made;
    else
        attn_selection_free(made);
    return status;
}
