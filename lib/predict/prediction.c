/* prediction.c - see prediction.h. */
#include "predict/prediction.h"

#include "base/elementary.h"
#include "base/escape.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/table_internal.h"
#include "forward/session_internal.h"
#include "input/sequence.h"
#include "kernels/kernels.h"
#include "predict/answer_internal.h"
#include "predict/class_label.h"
#include "tokenizer/tokenizer.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A label of a classifier as the one token of a continuation. */
static enum attn_status take_label(const struct attn_model *model, const char *text,
                                   struct attn_encoding *encoding, struct attn_error *err)
{
    ATTN_TRY(ATTN_ALLOC(encoding->ids, 1, err));
    encoding->n = 1;
    return attn_error_at(attn_class_label_find(model, "next", text, encoding->ids, err),
                         ATTN_STAGE_OPTIONS, err);
}

enum attn_status attn_continuations_encode(const struct attn_answer_scope *scope,
                                           const struct attn_request_predict *question,
                                           struct attn_continuations *continuations,
                                           struct attn_error *err)
{
    struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    const struct attn_model *model = scope->model;
    const size_t n = scope->text->n, n_ctx = attn_model_config(model)->n_ctx;

    if (question->n_next == 0)
        return ATTN_OK;
    continuations->encodings = attn_alloc(question->n_next, sizeof(struct attn_encoding), err);
    if (!continuations->encodings)
        return ATTN_NO_MEMORY;
    continuations->n = question->n_next;
    options.special = scope->special;
    options.special_tokens = ATTN_SPECIAL_TOKENS_OFF;
    if (!attn_model_config(model)->is_encoder) /* that fills a place of its own */
        options.place = ATTN_TEXT_CONTINUES;
    options.cancel = scope->text->cancel;
    for (size_t i = 0; attn_model_is_classifier(model) && i < question->n_next; i++)
        ATTN_TRY(take_label(model, question->next[i], &continuations->encodings[i], err));
    for (size_t i = 0; !attn_model_is_classifier(model) && i < question->n_next; i++) {
        struct attn_encoding *encoding = &continuations->encodings[i];
        const char *text = question->next[i];

        ATTN_TRY(
            attn_tokenizer_encode(scope->tokenizer, text, strlen(text), &options, encoding, err));
        ATTN_TRY(
            attn_error_at(attn_answer_check_known(scope->tokenizer, "next", text, encoding, err),
                          ATTN_STAGE_OPTIONS, err));
        if (encoding->n == 0)
            return attn_error_set(err, ATTN_INVALID, "the continuation '%s' has no tokens",
                                  attn_quote_string(text).text);
        if (encoding->n - 1 > continuations->n_more)
            continuations->n_more = encoding->n - 1;
    }
    if (continuations->n_more <= n_ctx - n)
        return ATTN_OK;
    return attn_error_set(
        err, ATTN_INVALID, "the text and its longest continuation need %zu positions, '%s' has %zu",
        n + continuations->n_more, attn_quote_string(attn_model_name(model)).text, n_ctx);
}

void attn_continuations_release(struct attn_continuations *continuations)
{
    for (size_t i = 0; i < continuations->n; i++)
        attn_encoding_release(&continuations->encodings[i]);
    attn_free(continuations->encodings);
    *continuations = (struct attn_continuations){0};
}

void attn_asked_release(struct attn_asked *asked)
{
    attn_continuations_release(&asked->continuations);
    attn_selection_free(asked->masks);
    *asked = (struct attn_asked){0};
}

/* --- The most probable tokens ---------------------------------------------------------------- */

enum { LOGIT_BYTES = 16 << 20 }; /* logits held at a time, if one row fits */

/* A number that is smaller where LOGIT is larger; NaN's is the largest. */
static uint32_t rank_key(float logit)
{
    const float x = logit + 0.0F; /* -0 is 0 */
    uint32_t bits;

    if (isnan(x))
        return UINT32_MAX;
    memcpy(&bits, &x, sizeof bits);
    return bits >> 31 ? bits : bits ^ 0x7fffffff;
}

/* FROM [n] in the order of eight bits of their keys, from SHIFT on; equal ones stay as they are. */
static void sort_by_bits(const struct attn_scored *from, size_t n, unsigned shift,
                         struct attn_scored *to)
{
    size_t next[256] = {0}, first = 0;

    for (size_t i = 0; i < n; i++)
        next[rank_key((float)from[i].logit) >> shift & 255]++;
    for (size_t i = 0; i < 256; i++) {
        const size_t count = next[i];

        next[i] = first;
        first += count;
    }
    for (size_t i = 0; i < n; i++)
        to[next[rank_key((float)from[i].logit) >> shift & 255]++] = from[i];
}

double attn_logits_rank(const float *logits, size_t n, struct attn_scored *ranked)
{
    struct attn_scored *other = ranked + n;
    double sum = 0.0;

    for (size_t i = 0; i < n; i++)
        ranked[i] = (struct attn_scored){(double)logits[i], (int32_t)i};
    for (unsigned shift = 0; shift < 32; shift += 16) {
        sort_by_bits(ranked, n, shift, other);
        sort_by_bits(other, n, shift + 8, ranked);
    }
    for (size_t i = n; i-- > 0;) /* small ones first */
        sum += attn_exp(ranked[i].logit - ranked[0].logit);
    return sum;
}

int32_t attn_logits_first(const float *logits, size_t n)
{
    size_t first = 0;

    for (size_t i = 1; i < n; i++)
        if (logits[i] > logits[first])
            first = i;
    return (int32_t)first;
}

size_t attn_logits_place(const float *logits, size_t n, int32_t id)
{
    const size_t own = (size_t)id;
    size_t place = 1;

    for (size_t i = 0; i < n; i++)
        place += logits[i] > logits[own] || (logits[i] == logits[own] && i < own);
    return place;
}

double attn_logits_surprisal(const float *logits, size_t n, int32_t id)
{
    return attn_kernels_find(ATTN_ISA_BEST)->log_sum_exp(logits, n) - (double)logits[id];
}

/* What ranking takes, and where it is. */
struct ranking {
    size_t n_shown;             /* tokens a position */
    struct attn_scored *room;   /* [2 * n_vocab] owns */
    float *logits;              /* owns; of neighbours, or NULL */
    struct attn_candidate *top; /* where those of the next position go */
};

/* Ranks what follows POSITION, whose LOGITS these are. */
static void rank(struct ranking *ranking, const struct attn_prediction_args *args, size_t position,
                 const float *logits)
{
    const struct attn_scored *ranked = ranking->room;
    const double sum = attn_logits_rank(logits, args->n_vocab, ranking->room);
    const bool is_classifier = attn_model_is_classifier(args->model);

    for (size_t i = 0; i < ranking->n_shown; i++) {
        struct attn_candidate *top = ranking->top++;

        top->position = position;
        top->id = ranked[i].id;
        top->probability = attn_exp(ranked[i].logit - ranked[0].logit) / sum;
        top->score = ranked[i].logit;
        if (is_classifier)
            top->token = attn_class_label(args->model, (size_t)top->id);
        if (is_classifier)
            top->token_size = top->token ? strlen(top->token) : 0;
        else if (args->tokenizer)
            top->token = attn_tokenizer_token(args->tokenizer, top->id, &top->token_size);
    }
}

static enum attn_status rank_last(struct attn_session *session,
                                  const struct attn_prediction_args *args, struct ranking *ranking,
                                  struct attn_error *err)
{
    const float *logits;

    ATTN_TRY(attn_session_logits(session, &logits, err));
    rank(ranking, args, attn_session_n_position(session) - 1, logits);
    return ATTN_OK;
}

/* The logits of selected positions that are neighbours are computed together: the output matrix is
 * read once for all of them. */
static enum attn_status rank_selected(struct attn_session *session,
                                      const struct attn_prediction_args *args,
                                      struct ranking *ranking, struct attn_error *err)
{
    const size_t n_position = attn_session_n_position(session);
    const size_t n_fit = LOGIT_BYTES / sizeof(float) / args->n_vocab;
    const size_t n_most = n_fit == 0 ? 1 : n_fit < n_position ? n_fit : n_position;
    float *logits = attn_alloc_uninitialized(n_most * args->n_vocab, sizeof *logits, err);

    ranking->logits = logits;
    if (!logits)
        return ATTN_NO_MEMORY;
    for (size_t first = 0, n; first<n_position; first += n> 0 ? n : 1) {
        for (n = 0; n < n_most && attn_selection_has_query(args->positions, first + n);)
            n++;
        if (n > 0)
            ATTN_TRY(attn_session_logits_at(session, first, n, logits, err));
        for (size_t row = 0; row < n; row++)
            rank(ranking, args, first + row, logits + row * args->n_vocab);
    }
    return ATTN_OK;
}

static enum attn_status find_top(struct attn_session *session,
                                 const struct attn_prediction_args *args,
                                 struct attn_predictions *found, struct attn_error *err)
{
    const size_t top = args->question->top;
    const size_t n_position = args->positions ? attn_selection_n_query(args->positions) : 1;
    struct ranking ranking = {.n_shown = top < args->n_vocab ? top : args->n_vocab};
    enum attn_status status = ATTN_NO_MEMORY;

    found->has_labels = args->question->n_label > 0;
    found->is_in_place = attn_model_config(args->model)->is_encoder;
    found->has_positions = args->positions;
    found->n_top = n_position * ranking.n_shown;
    found->top = attn_alloc(found->n_top, sizeof *found->top, err);
    ranking.room = attn_alloc_uninitialized(2 * args->n_vocab, sizeof *ranking.room, err);
    ranking.top = found->top;
    if (ranking.room && found->top)
        status = args->positions ? rank_selected(session, args, &ranking, err)
                                 : rank_last(session, args, &ranking, err);
    attn_free(ranking.logits);
    attn_free(ranking.room);
    return status;
}

enum attn_status attn_predict_last(const struct attn_prediction_args *args, size_t position,
                                   const float *logits, struct attn_predictions *found,
                                   struct attn_error *err)
{
    const size_t top = args->question->top;
    struct ranking ranking = {.n_shown = top < args->n_vocab ? top : args->n_vocab};
    struct attn_predictions made = {.n_top = ranking.n_shown};

    ranking.room = attn_alloc_uninitialized(2 * args->n_vocab, sizeof *ranking.room, err);
    ranking.top = made.top = attn_alloc(made.n_top, sizeof *made.top, err);
    if (!ranking.room || !made.top) {
        attn_free(ranking.room);
        attn_predictions_release(&made);
        return ATTN_NO_MEMORY;
    }
    rank(&ranking, args, position, logits);
    attn_free(ranking.room);
    *found = made;
    return ATTN_OK;
}

enum attn_status attn_predict_more(const struct attn_prediction_args *args, size_t position,
                                   const float *logits, struct attn_predictions *found,
                                   struct attn_error *err)
{
    struct attn_predictions one = {0};
    struct attn_candidate *both;

    ATTN_TRY(attn_predict_last(args, position, logits, &one, err));
    both = attn_alloc(found->n_top + one.n_top, sizeof *both, err);
    if (both) {
        if (found->n_top > 0)
            memcpy(both, found->top, found->n_top * sizeof *both);
        memcpy(both + found->n_top, one.top, one.n_top * sizeof *both);
        attn_free(found->top);
        found->top = both;
        found->n_top += one.n_top;
        found->is_in_place = attn_model_config(args->model)->is_encoder;
        found->has_positions = true;
    }
    attn_predictions_release(&one);
    return both ? ATTN_OK : ATTN_NO_MEMORY;
}

/* --- Continuations --------------------------------------------------------------------------- */

static enum attn_status log_probability(struct attn_session *session,
                                        const struct attn_encoding *continuation, double *sum,
                                        struct attn_error *err)
{
    const size_t n_text = attn_session_n_position(session);

    *sum = 0.0;
    for (size_t i = 0; i < continuation->n; i++) {
        double term = 0.0;

        if (i > 0)
            ATTN_TRY(attn_session_feed(session, &continuation->ids[i - 1], 1, err));
        ATTN_TRY(attn_session_log_probability(session, continuation->ids[i], &term, err));
        *sum += term;
    }
    return attn_session_rewind(session, n_text, err);
}

/* An encoder's: ln p of each, a token, at the chosen positions; or of a whole picture. */
static enum attn_status find_at_positions(struct attn_session *session,
                                          const struct attn_prediction_args *args,
                                          struct attn_predictions *found, struct attn_error *err)
{
    const struct attn_continuations *continuations = args->continuations;
    const size_t n_position = args->positions ? attn_session_n_position(session) : 1;
    float *logits = attn_alloc_uninitialized(args->n_vocab, sizeof *logits, err);
    struct attn_continuation *next = found->next;
    enum attn_status status = logits ? ATTN_OK : ATTN_NO_MEMORY;

    for (size_t position = 0; status == ATTN_OK && position < n_position; position++) {
        if (args->positions && !attn_selection_has_query(args->positions, position))
            continue;
        status = attn_session_logits_at(session, position, 1, logits, err);
        for (size_t i = 0; status == ATTN_OK && i < continuations->n; i++, next++) {
            const int32_t id = continuations->encodings[i].ids[0];

            next->position = position;
            next->text = args->question->next[i];
            next->log_probability = -attn_logits_surprisal(logits, args->n_vocab, id);
        }
    }
    attn_free(logits);
    return status;
}

/* Chosen positions come from the last to the first: each forgets what follows it. */
static enum attn_status find_next(struct attn_session *session,
                                  const struct attn_prediction_args *args,
                                  struct attn_predictions *found, struct attn_error *err)
{
    const size_t n = args->continuations->n;
    size_t n_left = args->positions ? attn_selection_n_query(args->positions) : 1;

    found->is_in_place = attn_model_config(args->model)->is_encoder;
    found->has_positions = args->positions;
    found->n_next = n_left * n;
    ATTN_TRY(ATTN_ALLOC(found->next, found->n_next, err));
    if (attn_model_config(args->model)->is_encoder)
        return find_at_positions(session, args, found, err);
    attn_session_end_trace(session);
    for (size_t end = attn_session_n_position(session); n_left > 0; end--) {
        if (args->positions && !attn_selection_has_query(args->positions, end - 1))
            continue;
        ATTN_TRY(attn_session_rewind(session, end, err));
        n_left--;
        for (size_t i = 0; i < n; i++) {
            struct attn_continuation *next = &found->next[n_left * n + i];

            next->position = end - 1;
            next->text = args->question->next[i];
            ATTN_TRY(log_probability(session, &args->continuations->encodings[i],
                                     &next->log_probability, err));
        }
    }
    return ATTN_OK;
}

/* --- A metric --------------------------------------------------------------------------------- */

/* After the answer's own place, or each of the positions. */
static enum attn_status find_metric(struct attn_session *session,
                                    const struct attn_prediction_args *args,
                                    struct attn_predictions *found, struct attn_error *err)
{
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);
    const struct attn_answer *answer = args->answer;
    const bool is_one = answer->has_place || !args->positions;
    const size_t n = is_one ? 1 : attn_selection_n_query(args->positions);
    float *logits = attn_alloc_uninitialized(args->n_vocab, sizeof *logits, err);
    enum attn_status status = ATTN_OK;

    found->is_in_place = attn_model_config(args->model)->is_encoder;
    found->has_positions = args->positions;
    found->metric = attn_alloc(n, sizeof *found->metric, err);
    if (!logits || !found->metric)
        status = ATTN_NO_MEMORY;
    for (size_t at = 0; status == ATTN_OK && found->n_metric < n; at++) {
        const size_t position = is_one ? answer->position : at;
        struct attn_predicted_metric *metric = &found->metric[found->n_metric];

        if (!is_one && !attn_selection_has_query(args->positions, position))
            continue;
        status = attn_session_logits_at(session, position, 1, logits, err);
        if (status != ATTN_OK)
            continue;
        *metric = (struct attn_predicted_metric){
            position, attn_answer_metric_name(answer->metric),
            attn_answer_value(answer, logits, kernels->log_sum_exp(logits, args->n_vocab))};
        found->n_metric++;
    }
    attn_free(logits);
    return status;
}

static enum attn_status predict(struct attn_session *session,
                                const struct attn_prediction_args *args,
                                struct attn_predictions *made, struct attn_error *err)
{
    if (args->question->top > 0)
        ATTN_TRY(find_top(session, args, made, err));
    if (args->answer)
        ATTN_TRY(find_metric(session, args, made, err));
    if (args->continuations->n > 0)
        ATTN_TRY(find_next(session, args, made, err));
    return ATTN_OK;
}

enum attn_status attn_predict(struct attn_session *session, const struct attn_prediction_args *args,
                              struct attn_predictions *found, struct attn_error *err)
{
    struct attn_predictions made = {0};
    const enum attn_status status = predict(session, args, &made, err);

    if (status == ATTN_OK)
        *found = made;
    else
        attn_predictions_release(&made);
    return attn_error_at(status, status == ATTN_INVALID ? ATTN_STAGE_INPUT : ATTN_STAGE_MODEL, err);
}

/* Appends TEXT [size] and a NUL at *END, which moves. Returns the copy; NULL stays NULL. */
static const char *copy_text(const char *text, size_t size, char **end)
{
    char *copy = *end;

    if (!text)
        return NULL;
    memcpy(copy, text, size);
    copy[size] = '\0';
    *end += size + 1;
    return copy;
}

enum attn_status attn_predictions_copy_texts(struct attn_predictions *found, struct attn_error *err)
{
    size_t size = 0;
    char *end;

    for (size_t i = 0; i < found->n_top; i++)
        size += found->top[i].token_size + 1;
    for (size_t i = 0; i < found->n_next; i++)
        size += strlen(found->next[i].text) + 1;
    found->bytes = end = attn_alloc_uninitialized(size, 1, err);
    if (!found->bytes)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; i < found->n_top; i++)
        found->top[i].token = copy_text(found->top[i].token, found->top[i].token_size, &end);
    for (size_t i = 0; i < found->n_next; i++)
        found->next[i].text = copy_text(found->next[i].text, strlen(found->next[i].text), &end);
    return ATTN_OK;
}

/* --- Tables ---------------------------------------------------------------------------------- */

static const struct attn_column top_columns[] = {
    {.name = "position", .type = ATTN_VALUE_INTEGER},
    {.name = "probability", .type = ATTN_VALUE_REAL, .notation = ATTN_NOTATION_FIXED, .digits = 6},
    {.name = "id", .type = ATTN_VALUE_INTEGER},
    {.name = "token", .type = ATTN_VALUE_TEXT},
};

static const struct attn_column label_columns[] = {
    {.name = "probability", .type = ATTN_VALUE_REAL, .notation = ATTN_NOTATION_FIXED, .digits = 6},
    {.name = "score", .type = ATTN_VALUE_REAL, .notation = ATTN_NOTATION_FIXED, .digits = 6},
    {.name = "label", .type = ATTN_VALUE_TEXT},
};

static const struct attn_column next_columns[] = {
    {.name = "position", .type = ATTN_VALUE_INTEGER},
    {.name = "logprob",
     .type = ATTN_VALUE_REAL,
     .unit = "nats",
     .notation = ATTN_NOTATION_FIXED,
     .digits = 6},
    {.name = "text", .type = ATTN_VALUE_TEXT},
};

static const struct attn_column metric_columns[] = {
    {.name = "position", .type = ATTN_VALUE_INTEGER},
    {.name = "value", .type = ATTN_VALUE_REAL, .notation = ATTN_NOTATION_FIXED, .digits = 6},
    {.name = "metric", .type = ATTN_VALUE_TEXT},
};

static enum attn_status make_labels(const struct attn_predictions *found, struct attn_table **table,
                                    struct attn_error *err)
{
    ATTN_TRY(attn_table_create("top", label_columns, 3, table, err));
    for (size_t i = 0; i < found->n_top; i++) {
        const struct attn_candidate *top = &found->top[i];
        const struct attn_cell row[] = {attn_cell_real(top->probability),
                                        attn_cell_real(top->score),
                                        attn_cell_text(top->token, top->token_size)};

        ATTN_TRY(attn_table_append(*table, row, 3, err));
    }
    return ATTN_OK;
}

static enum attn_status make_top(const struct attn_predictions *found, struct attn_table **table,
                                 struct attn_error *err)
{
    const size_t n_left_out = found->has_positions ? 0 : 1;

    if (found->n_top == 0)
        return ATTN_OK;
    if (found->has_labels)
        return make_labels(found, table, err);
    ATTN_TRY(attn_table_create("top", top_columns + n_left_out, 4 - n_left_out, table, err));
    for (size_t i = 0; i < found->n_top; i++) {
        const struct attn_candidate *top = &found->top[i];
        const struct attn_cell row[] = {
            attn_cell_integer((int64_t)top->position), attn_cell_real(top->probability),
            attn_cell_integer(top->id), attn_cell_text(top->token, top->token_size)};

        ATTN_TRY(attn_table_append(*table, row + n_left_out, 4 - n_left_out, err));
    }
    return ATTN_OK;
}

static enum attn_status make_next(const struct attn_predictions *found, struct attn_table **table,
                                  struct attn_error *err)
{
    const size_t n_left_out = found->has_positions ? 0 : 1;

    if (found->n_next == 0)
        return ATTN_OK;
    ATTN_TRY(attn_table_create("next", next_columns + n_left_out, 3 - n_left_out, table, err));
    for (size_t i = 0; i < found->n_next; i++) {
        const struct attn_cell row[] = {
            attn_cell_integer((int64_t)found->next[i].position),
            attn_cell_real(found->next[i].log_probability),
            attn_cell_text(found->next[i].text, strlen(found->next[i].text))};

        ATTN_TRY(attn_table_append(*table, row + n_left_out, 3 - n_left_out, err));
    }
    return ATTN_OK;
}

static enum attn_status fill_metric(const struct attn_predictions *found, struct attn_table *table,
                                    struct attn_error *err)
{
    const size_t n_left_out = found->has_positions ? 0 : 1;

    for (size_t i = 0; i < found->n_metric; i++) {
        const struct attn_predicted_metric *metric = &found->metric[i];
        const struct attn_cell row[] = {attn_cell_integer((int64_t)metric->position),
                                        attn_cell_real(metric->value),
                                        attn_cell_text(metric->name, strlen(metric->name))};

        ATTN_TRY(attn_table_append(table, row + n_left_out, 3 - n_left_out, err));
    }
    return ATTN_OK;
}

enum attn_status attn_predictions_metric(const struct attn_predictions *found,
                                         struct attn_table **metric, struct attn_error *err)
{
    const size_t n_left_out = found->has_positions ? 0 : 1;
    struct attn_table *made = NULL;
    enum attn_status status = ATTN_OK;

    if (found->n_metric > 0)
        status =
            attn_table_create("metric", metric_columns + n_left_out, 3 - n_left_out, &made, err);
    if (status == ATTN_OK)
        status = fill_metric(found, made, err);
    if (status == ATTN_OK)
        *metric = made;
    else
        attn_table_free(made);
    return status;
}

enum attn_status attn_predictions_tables(const struct attn_predictions *found,
                                         struct attn_table **top, struct attn_table **next,
                                         struct attn_error *err)
{
    struct attn_table *made_top = NULL, *made_next = NULL;
    enum attn_status status = make_top(found, &made_top, err);

    if (status == ATTN_OK)
        status = make_next(found, &made_next, err);
    if (status == ATTN_OK) {
        *top = made_top;
        *next = made_next;
    } else {
        attn_table_free(made_top);
        attn_table_free(made_next);
    }
    return status;
}

void attn_predictions_release(struct attn_predictions *found)
{
    attn_free(found->top);
    attn_free(found->next);
    attn_free(found->metric);
    attn_free(found->bytes);
    *found = (struct attn_predictions){0};
}
