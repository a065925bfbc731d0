#include "predict/answer_internal.h"

#include "base/elementary.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/given.h"
#include "input/position.h"
#include "input/sequence.h"
#include "kernels/kernels.h"
#include "model/model_internal.h"
#include "predict/class_label.h"
#include "tokenizer/tokenizer_internal.h"
#include "trace/trace_internal.h"

#include <assert.h>
#include <math.h>
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

/* The target or the foil as a user named it: by its text, its id, or neither. */
struct named_token {
    const char *text;
    const int32_t *id;
    const char *field; /* the name of the option, "target" or "foil", for messages */
};

/* Adds a hint to ERR that suggests TEXT with a leading space, or without its leading space, if that
 * is one token. */
static void hint_space(const struct attn_answer_scope *scope, const char *text,
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
        attn_tokenizer_encode(scope->tokenizer, string, other.size, options, &encoding, NULL) ==
            ATTN_OK &&
        encoding.n == 1)
        attn_error_hint(err, "%s the space before it, '%s' is one token",
                        has_space ? "without" : "with", attn_quote_string(string).text);
    attn_encoding_release(&encoding);
    attn_buffer_release(&other);
}

enum attn_status attn_answer_check_known(const struct attn_tokenizer *tokenizer, const char *field,
                                         const char *text, const struct attn_encoding *encoding,
                                         struct attn_error *err)
{
    size_t size = 0;
    const char *bytes;

    if (encoding->n != 1 || !attn_tokenizer_is_unknown(tokenizer, encoding->ids[0]))
        return ATTN_OK;
    bytes = attn_tokenizer_key(tokenizer, encoding->ids[0], &size);
    if (size == strlen(text) && memcmp(bytes, text, size) == 0)
        return ATTN_OK; /* the user named the unknown token itself */
    return attn_error_set(err, ATTN_INVALID,
                          "`%s` '%s' is not in the vocabulary: it would be '%s', as all such words",
                          field, attn_quote_string(text).text, attn_quote(bytes, size).text);
}

/* Reports that ENCODING is not one token, with its tokens: "2 tokens, 'apple', ' tree'". */
static enum attn_status report_pieces(const struct attn_answer_scope *scope,
                                      const struct named_token *token,
                                      const struct attn_encoding *encoding, struct attn_error *err)
{
    struct attn_buffer pieces = {0};
    const char *string;

    if (encoding->n == 0)
        return attn_error_set(err, ATTN_INVALID, "`%s` '%s' has no tokens, expected one",
                              token->field, attn_quote_string(token->text).text);
    for (size_t i = 0; i < encoding->n; i++) {
        size_t size = 0;
        const char *bytes = attn_tokenizer_token(scope->tokenizer, encoding->ids[i], &size);

        attn_buffer_append_format(&pieces, "%s'", i > 0 ? ", " : "");
        attn_escape_append(&pieces, bytes, size);
        attn_buffer_append_char(&pieces, '\'');
    }
    string = attn_buffer_string(&pieces);
    attn_error_set(err, ATTN_INVALID,
                   "`%s` '%s' is %zu tokens, %s; expected one; items of score may have several",
                   token->field, attn_quote_string(token->text).text, encoding->n,
                   string ? string : "");
    attn_buffer_release(&pieces);
    return ATTN_INVALID;
}

static enum attn_status encode_token(const struct attn_answer_scope *scope,
                                     const struct named_token *token, int32_t *id,
                                     struct attn_error *err)
{
    struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    const struct attn_tokenizer *tokenizer = scope->tokenizer;
    struct attn_encoding encoding = {0};
    enum attn_status status;

    if (!tokenizer) {
        status = attn_error_at(attn_error_copy(err, scope->no_tokenizer), ATTN_STAGE_MODEL, err);
        if (status == ATTN_IO)
            attn_error_hint(err, "`%s_id 5` is a token by its id", token->field);
        return status;
    }
    options.special = scope->special;
    options.special_tokens = ATTN_SPECIAL_TOKENS_OFF;
    options.cancel = scope->text->cancel;
    status = attn_tokenizer_encode(tokenizer, token->text, strlen(token->text), &options, &encoding,
                                   err);
    ATTN_THEN(status,
              attn_answer_check_known(tokenizer, token->field, token->text, &encoding, err));
    if (status == ATTN_OK && encoding.n == 1) {
        *id = encoding.ids[0];
    } else if (status == ATTN_OK) {
        status = report_pieces(scope, token, &encoding, err);
        if (encoding.n > 1)
            hint_space(scope, token->text, &options, err);
    }
    attn_encoding_release(&encoding);
    return status;
}

/* Resolves TOKEN to *id. *has is false if the user named no token. */
static enum attn_status find_token(const struct attn_answer_scope *scope,
                                   const struct named_token *token, bool *has, int32_t *id,
                                   struct attn_error *err)
{
    const size_t n_vocab = attn_model_config(scope->model)->n_vocab;

    *has = token->text || token->id;
    if (token->text && token->id)
        return attn_error_set(err, ATTN_INVALID, "`%s` and `%s_id` are both given, expected one",
                              token->field, token->field);
    if (token->text && attn_model_has_labels(scope->model))
        return attn_class_label_find(scope->model, token->field, token->text, id, err);
    if (token->text)
        return encode_token(scope, token, id, err);
    if (token->id && (*token->id < 0 || (size_t)*token->id >= n_vocab))
        return attn_error_set(err, ATTN_INVALID, "`%s_id %d` is out of range, expected 0 to %zu",
                              token->field, *token->id, n_vocab - 1);
    if (token->id)
        *id = *token->id;
    return ATTN_OK;
}

/* --- One span --------------------------------------------------------------------------------- */

/* Appends TEXT to SPEC as an item of a position list: as it is if it is a number or quoted, else in
 * quotes. */
static void quote_span(const char *text, struct attn_buffer *spec)
{
    const size_t size = strlen(text);
    const char *nth = strrchr(text, '#');

    if (strspn(text, "0123456789-") == size || strchr(text, '"')) {
        attn_buffer_append_string(spec, text);
        return;
    }
    if (!nth || nth == text || nth[1] == '\0' || nth[1 + strspn(nth + 1, "0123456789")] != '\0')
        nth = text + size;
    attn_buffer_append_char(spec, '"');
    attn_buffer_append(spec, text, (size_t)(nth - text));
    attn_buffer_append_char(spec, '"');
    attn_buffer_append_string(spec, nth);
}

/* Resolves the span that TOKEN names to its *first and *last position. *has is false if the user
 * named no span. */
static enum attn_status find_span(const struct attn_answer_scope *scope,
                                  const struct named_token *token, bool *has, int32_t *first,
                                  int32_t *last, struct attn_error *err)
{
    struct attn_sequence text = *scope->text;
    struct attn_buffer spec = {0};
    size_t range[2] = {0, 0};
    enum attn_status status;

    *has = token->text;
    if (token->id)
        return attn_error_set(err, ATTN_INVALID,
                              "`%s_id` %d is a number, expected `%s`, the positions of a span",
                              token->field, *token->id, token->field);
    if (!token->text)
        return ATTN_OK;
    text.is_in_second = true;
    quote_span(token->text, &spec);
    status = attn_buffer_string(&spec)
                 ? attn_position_range(&text, token->field,
                                       &(struct attn_number_list){.text = spec.data}, range, err)
                 : attn_error_no_memory(err);
    attn_buffer_release(&spec);
    *first = (int32_t)range[0];
    *last = (int32_t)range[1];
    return status;
}

/* --- The question ----------------------------------------------------------------------------- */

/* Checks that the labels of the model are of a kind that the metric can be computed for. */
static enum attn_status check_kind(const struct attn_answer *answer, struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(answer->of.model);
    const enum attn_label_kind kind = config->label_kind;
    const enum attn_answer_metric metric = answer->metric;
    const bool is_of_p = metric == ATTN_ANSWER_PROB || metric == ATTN_ANSWER_LOG_PROB;

    if (metric == ATTN_ANSWER_CE && config->task != ATTN_TASK_VOCABULARY)
        return attn_error_set(err, ATTN_INVALID,
                              "metric 'ce' is of next tokens, and '%s' answers with %s",
                              attn_quote_string(attn_model_name(answer->of.model)).text,
                              config->task == ATTN_TASK_SPANS ? "spans" : "labels");
    if ((kind < ATTN_LABELS_SCORE || metric != ATTN_ANSWER_KL) &&
        (kind != ATTN_LABELS_VALUE || !is_of_p))
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID,
                          "metric '%s' is of probabilities, and '%s' answers with %s, expected "
                          "logit or logit_diff",
                          attn_answer_metric_name(metric),
                          attn_quote_string(attn_model_name(answer->of.model)).text,
                          config->pooling == ATTN_POOLING_PROJECTED ? "cosines" : "values");
}

static enum attn_status check_needs(const struct attn_answer *answer, struct attn_error *err)
{
    static const bool needs_target[] = {
#define METRIC_NEEDS(id, number, name, needs) [ATTN_ANSWER_##id] = (needs),
        ATTN_ANSWER_METRIC_MAP(METRIC_NEEDS)
#undef METRIC_NEEDS
    };
    const char *name = attn_answer_metric_name(answer->metric);
    const struct attn_answer_scope *scope = &answer->of;

    if (needs_target[answer->metric] && !answer->has_target) {
        attn_error_set(err, ATTN_INVALID, "metric '%s' needs `target`", name);
        if (attn_model_config(scope->model)->labels)
            attn_class_label_hint(scope->model, "", err);
        else
            attn_error_hint(err, attn_model_config(scope->model)->is_encoder
                                     ? "`metric kl` needs none"
                                     : "`target ' are'` names one; `metric ce` needs none");
        return attn_error_of(ATTN_INVALID, "metric", err);
    }
    if (answer->has_foil && !answer->has_target)
        return attn_error_set(err, ATTN_INVALID, "`foil` is given without `target`");
    if (answer->metric == ATTN_ANSWER_LOGIT_DIFF && !answer->has_foil)
        return attn_error_of(attn_error_set(err, ATTN_INVALID, "metric '%s' needs `foil`", name),
                             "metric", err);
    if (answer->has_foil &&
        (answer->foil == ATTN_FOIL_NOTHING
             ? attn_model_config(scope->model)->n_vocab == 1
             : answer->foil == answer->target && answer->foil_last == answer->target_last))
        return attn_error_set(err, ATTN_INVALID,
                              "`target` and `foil` are the same, number %d: they differ by 0",
                              answer->target);
    if (answer->metric == ATTN_ANSWER_CE && attn_model_config(scope->model)->is_encoder)
        return attn_error_set(err, ATTN_INVALID,
                              "metric 'ce' is of next tokens, and '%s' is an encoder, which "
                              "predicts none",
                              attn_quote_string(attn_model_name(scope->model)).text);
    if (answer->metric == ATTN_ANSWER_CE && !scope->text->ids)
        return attn_error_set(err, ATTN_INVALID,
                              "metric 'ce' needs tokens, and embeddings have none");
    if (answer->metric == ATTN_ANSWER_CE && scope->text->n < 2)
        return attn_error_set(err, ATTN_INVALID, "the text has 1 token, 'ce' needs 2 or more");
    return ATTN_OK;
}

/* Checks whether the text of the target or the foil lacks its leading space, and records that in
 * ANSWER. */
static void check_spaces(const struct attn_answer_args *args, struct attn_answer *answer)
{
    const struct named_token tokens[] = {{args->target, &answer->target, "target"},
                                         {args->foil, &answer->foil, "foil"}};
    const struct attn_answer_scope *scope = &answer->of;
    const struct attn_tokenizer *tokenizer = scope->tokenizer;
    bool (*const are_forgotten)(const struct attn_sequence *text, size_t position, char byte,
                                const struct attn_tokenizer *tokenizer) =
        attn_model_config(scope->model)->is_encoder ? attn_spaces_are_left_out
                                                    : attn_spaces_are_forgotten;

    for (size_t i = 0; i < sizeof tokens / sizeof *tokens && !answer->spaces.what; i++) {
        const char *bytes = NULL;
        size_t size = 0;

        if (tokens[i].text && *tokens[i].text && tokenizer)
            bytes = attn_tokenizer_token(tokenizer, *tokens[i].id, &size);
        if (bytes && size > 0 && are_forgotten(scope->text, answer->position, bytes[0], tokenizer))
            answer->spaces = (struct attn_spaces){.what = tokens[i].field, .text = tokens[i].text};
    }
}

/* Resolves NAMED, the target or the foil of ANSWER, as a token, a label or a span. *has is false if
 * the user named none. */
static enum attn_status find_named(const struct named_token *named, struct attn_answer *answer,
                                   bool *has, struct attn_error *err)
{
    const bool is_foil = strcmp(named->field, "foil") == 0;
    int32_t *first = is_foil ? &answer->foil : &answer->target;
    int32_t *last = is_foil ? &answer->foil_last : &answer->target_last;

    if (attn_model_config(answer->of.model)->task == ATTN_TASK_SPANS)
        return find_span(&answer->of, named, has, first, last, err);
    if (is_foil && named->text && !*named->text) {
        *first = ATTN_FOIL_NOTHING;
        *has = true;
        return ATTN_OK;
    }
    return find_token(&answer->of, named, has, first, err);
}

/* Resolves `at` for a model that labels each token. A word has the label of its first token. */
static enum attn_status find_labeled_token(const struct attn_answer_args *args,
                                           struct attn_answer *answer, struct attn_error *err)
{
    const struct attn_answer_scope *scope = &answer->of;
    size_t range[2] = {0, 0};

    if (!attn_number_list_is_given(&args->at)) {
        attn_error_set(err, ATTN_INVALID, "'%s' labels each token, expected `at`, one of them",
                       attn_quote_string(attn_model_name(scope->model)).text);
        attn_error_hint(err, "`at 1` is the token at position 1, `at London` a word's first token");
        return ATTN_INVALID;
    }
    ATTN_TRY(attn_position_find(scope->text, "at", &args->at, &range[1], err));
    ATTN_TRY(attn_position_range(scope->text, "at", &args->at, range, err));
    answer->position = range[0];
    answer->n_piece = range[1] - range[0] + 1;
    return ATTN_OK;
}

static enum attn_status find(const struct attn_answer_args *args, bool is_at_queries,
                             struct attn_answer *answer, struct attn_error *err)
{
    const struct attn_answer_scope *scope = &answer->of;
    const struct named_token target = {args->target, args->target_id, "target"};
    const struct named_token foil = {args->foil, args->foil_id, "foil"};
    const struct attn_config *config = attn_model_config(scope->model);
    const bool is_span = config->task == ATTN_TASK_SPANS;
    const bool is_whole = attn_model_is_classifier(scope->model) || is_span;

    ATTN_TRY(find_named(&target, answer, &answer->has_target, err));
    ATTN_TRY(find_named(&foil, answer, &answer->has_foil, err));
    if (!answer->has_target &&
        (config->pooling == ATTN_POOLING_PROJECTED || attn_model_has_one_label(scope->model)))
        answer->has_target = true; /* a model with one label has label 0 as its target */
    if (answer->metric == ATTN_ANSWER_AUTO)
        answer->metric = answer->has_foil                          ? ATTN_ANSWER_LOGIT_DIFF
                         : config->label_kind >= ATTN_LABELS_SCORE ? ATTN_ANSWER_LOGIT
                                                                   : ATTN_ANSWER_LOG_PROB;
    answer->position = is_whole ? 0 : scope->text->n - 1;
    answer->has_place = attn_number_list_is_given(&args->at);
    if (answer->has_place && is_whole)
        return attn_error_set(err, ATTN_INVALID, "'%s' answers %s, and `at` names a position",
                              attn_quote_string(attn_model_name(scope->model)).text,
                              is_span                          ? "with spans"
                              : config->image.patch_height > 0 ? "for a whole picture"
                                                               : "for a whole text");
    ATTN_TRY(attn_error_of(check_kind(answer, err), "metric", err));
    ATTN_TRY(check_needs(answer, err));
    if (config->task == ATTN_TASK_TOKENS)
        return is_at_queries && !answer->has_place ? ATTN_OK
                                                   : find_labeled_token(args, answer, err);
    if (answer->has_place) {
        ATTN_TRY(attn_position_find(scope->text, "at", &args->at, &answer->position, err));
    } else if (config->is_encoder && !is_whole && !is_at_queries) {
        answer->has_place = true;
        ATTN_TRY(attn_mask_find(&answer->of, "at", &answer->position, err));
    }
    if (config->task == ATTN_TASK_VOCABULARY)
        check_spaces(args, answer);
    return ATTN_OK;
}

enum attn_status attn_answer_find(const struct attn_answer_scope *scope,
                                  const struct attn_answer_args *args, bool is_at_queries,
                                  struct attn_answer *answer, struct attn_error *err)
{
    struct attn_answer found = {.metric = args->metric, .of = *scope};

    if (!attn_is_choice(args->metric, ATTN_N_ANSWER_METRIC, "metric", err) ||
        !ATTN_IS_KNOWN(args->later, "answer", err))
        return ATTN_INVALID;
    ATTN_TRY(attn_error_at(find(args, is_at_queries, &found, err), ATTN_STAGE_OPTIONS, err));
    *answer = found;
    return ATTN_OK;
}

/* --- The derivative --------------------------------------------------------------------------- */

enum attn_status attn_answer_check_goal(const struct attn_answer *answer, struct attn_error *err)
{
    if (answer->metric != ATTN_ANSWER_KL)
        return ATTN_OK;
    attn_error_set(
        err, ATTN_INVALID,
        "metric 'kl' has no gradients: at the unchanged run it is smallest, and they are "
        "0 everywhere");
    return attn_error_of(ATTN_INVALID, "metric", err);
}

/* Sets D [n] to SCALE times the derivative of ln p(ID) with respect to the logits, e_ID - p. p is
 * the softmax of LOGITS [n], and TOTAL is their log-sum-exp. */
static void differentiate_log(const float *logits, size_t n, size_t id, double total, double scale,
                              float *d)
{
    for (size_t i = 0; i < n; i++)
        d[i] = (float)(scale * -attn_exp((double)logits[i] - total));
    d[id] = (float)(scale * -attn_expm1((double)logits[id] - total));
}

/* Sets D [T, 2] to the derivative of the metric of a span with respect to LOGITS [T, 2]. */
static void differentiate_span(const struct attn_answer *answer, const float *logits, float *d)
{
    const size_t n = answer->of.text->n;
    const size_t target[2] = {(size_t)answer->target, (size_t)answer->target_last};
    const size_t foil[2] = {(size_t)answer->foil, (size_t)answer->foil_last};
    const bool is_of_p =
        answer->metric == ATTN_ANSWER_PROB || answer->metric == ATTN_ANSWER_LOG_PROB;
    double scale = 1;

    if (answer->metric == ATTN_ANSWER_PROB)
        scale = attn_answer_value(answer, logits, attn_answer_total(answer, logits));
    for (size_t side = 0; side < 2; side++) {
        double most = -(double)INFINITY, sum = 0, total;

        if (!is_of_p) {
            d[target[side] * 2 + side] += 1;
            if (answer->metric == ATTN_ANSWER_LOGIT_DIFF)
                d[foil[side] * 2 + side] -= 1;
            continue;
        }
        for (size_t i = 0; i < n; i++)
            most = fmax(most, (double)logits[i * 2 + side]);
        for (size_t i = 0; i < n; i++)
            sum += attn_exp((double)logits[i * 2 + side] - most);
        total = most + attn_log(sum);
        for (size_t i = 0; i < n; i++) {
            const double log_p = (double)logits[i * 2 + side] - total;

            d[i * 2 + side] =
                (float)(scale * (i == target[side] ? -attn_expm1(log_p) : -attn_exp(log_p)));
        }
    }
}

/* Implements the derivative function of attn_backward_goal. CONTEXT is the answer. */
static void differentiate(const void *context, size_t row, const float *logits, float *d)
{
    const struct attn_answer *answer = context;
    const size_t n_vocab = attn_model_config(answer->of.model)->n_vocab;
    const struct attn_sequence *text = answer->of.text;
    const struct attn_config *config = attn_model_config(answer->of.model);
    size_t id = (size_t)answer->target;
    double total, scale = 1;

    if (config->task == ATTN_TASK_SPANS) {
        differentiate_span(answer, logits, d);
        return;
    }

    if (answer->metric == ATTN_ANSWER_LOGIT_DIFF || answer->metric == ATTN_ANSWER_LOGIT) {
        d[id] += 1;
        if (answer->metric == ATTN_ANSWER_LOGIT_DIFF && answer->foil >= 0)
            d[answer->foil] -= 1;
        for (size_t i = 0; answer->foil == ATTN_FOIL_NOTHING && i < n_vocab; i++)
            d[i] -= 1 / (float)n_vocab;
        return;
    }
    assert(logits);
    if (answer->metric == ATTN_ANSWER_CE)
        total = attn_kernels_find(ATTN_ISA_BEST)->log_sum_exp(logits, n_vocab, NULL);
    else
        total = attn_answer_total(answer, logits);
    if (answer->metric == ATTN_ANSWER_PROB)
        scale = attn_exp((double)logits[id] - total);
    if (config->task != ATTN_TASK_VOCABULARY && config->label_kind != ATTN_LABELS_SINGLE) {
        /* The derivatives for the other labels stay 0. */
        d[id] = (float)(scale * -attn_expm1((double)logits[id] - total));
        return;
    }
    if (answer->metric == ATTN_ANSWER_CE) {
        id = (size_t)text->ids[row + 1];
        scale = -1 / (double)(text->n - 1);
    }
    differentiate_log(logits, n_vocab, id, total, scale, d);
}

struct attn_backward_goal attn_answer_goal(const struct attn_answer *answer)
{
    const bool is_of_all = answer->metric == ATTN_ANSWER_CE;
    const bool is_span = attn_model_config(answer->of.model)->task == ATTN_TASK_SPANS;
    const size_t n = answer->of.text->n;

    return (struct attn_backward_goal){.first = is_of_all || is_span ? 0 : answer->position,
                                       .n = is_span     ? n
                                            : is_of_all ? n - 1
                                                        : 1,
                                       .is_joint = is_span,
                                       .reads_logits = answer->metric != ATTN_ANSWER_LOGIT_DIFF &&
                                                       answer->metric != ATTN_ANSWER_LOGIT,
                                       .differentiate = differentiate,
                                       .context = answer};
}
