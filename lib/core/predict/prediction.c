#include "predict/prediction.h"

#include "base/elementary.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "forward/logit_rows.h"
#include "forward/session_internal.h"
#include "input/sequence.h"
#include "model/model_internal.h"
#include "predict/answer_internal.h"
#include "predict/class_label.h"
#include "predict/logits.h"
#include "tables/table_internal.h"
#include "tokenizer/tokenizer.h"
#include "trace/trace_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Encodes a label, named TEXT, as a continuation of one token, its number; or copies the ids of
 * GIVEN, if it is not NULL. */
static enum attn_status encode_ids(const struct attn_model *model, const char *text,
                                   const struct attn_label_ids *given,
                                   struct attn_encoding *encoding, struct attn_error *err)
{
    const size_t n = given ? given->n : 1, n_vocab = attn_model_config(model)->n_vocab;

    if (n > 1 && attn_model_has_labels(model))
        return attn_error_set(err, ATTN_INVALID, "`next_ids %s` is %zu labels, expected one", text,
                              n);
    ATTN_TRY(ATTN_ALLOC(encoding->ids, n, err));
    if (!given)
        ATTN_TRY(attn_class_label_find(model, "next", text, encoding->ids, err));
    for (; encoding->n < n; encoding->n++) {
        int32_t *id = &encoding->ids[encoding->n];

        *id = given ? given->ids[encoding->n] : *id;
        if (*id < 0 || (size_t)*id >= n_vocab)
            return attn_error_set(err, ATTN_INVALID,
                                  "`next_ids %d` is out of range, expected 0 to %zu", *id,
                                  n_vocab - 1);
    }
    return ATTN_OK;
}

enum attn_status attn_continuations_encode(const struct attn_answer_scope *scope,
                                           const struct attn_request_predict *question,
                                           struct attn_continuations *continuations,
                                           struct attn_error *err)
{
    struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    const struct attn_model *model = scope->model;
    const size_t n = scope->text->n, n_ctx = attn_model_config(model)->n_ctx;

    continuations->n = question->n_next + question->n_next_ids;
    if (continuations->n == 0)
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(continuations->encodings, continuations->n, err));
    options.special = scope->special;
    options.special_tokens = ATTN_SPECIAL_TOKENS_OFF;
    /* An encoder fills a position of the text, so nothing precedes the continuation. */
    if (!attn_model_config(model)->is_encoder)
        options.place = ATTN_TEXT_CONTINUES;
    options.cancel = scope->text->cancel;
    if (attn_model_config(model)->task == ATTN_TASK_SPANS)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "'%s' answers with spans, and `next` asks for a token",
                           attn_quote_string(attn_model_name(model)).text);
    if (attn_model_config(model)->label_kind == ATTN_LABELS_VALUE)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "'%s' answers with values, and `next` asks for a probability",
                           attn_quote_string(attn_model_name(model)).text);
    for (size_t i = 0; i < continuations->n; i++) {
        struct attn_encoding *encoding = &continuations->encodings[i];
        const char *text = attn_predict_next(question, i);
        const struct attn_label_ids *ids =
            i < question->n_next ? NULL : &question->next_ids[i - question->n_next];
        const bool is_text = !ids && !attn_model_has_labels(model);

        if (is_text)
            ATTN_TRY(attn_tokenizer_encode(scope->tokenizer, text, strlen(text), &options, encoding,
                                           err));
        ATTN_TRY(attn_error_at(
            is_text ? attn_answer_check_known(scope->tokenizer, "next", text, encoding, err)
                    : encode_ids(model, text, ids, encoding, err),
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

void attn_answers_release(struct attn_answers *asked)
{
    for (size_t i = 0; i < asked->continuations.n; i++)
        attn_encoding_release(&asked->continuations.encodings[i]);
    attn_free(asked->continuations.encodings);
    attn_selection_free(asked->masks);
    *asked = (struct attn_answers){0};
}

/* --- The most probable tokens ---------------------------------------------------------------- */

struct ranking {
    size_t n_shown;             /* tokens to list for each position */
    struct attn_scored *room;   /* [2 * n_vocab] owns; scratch */
    struct attn_candidate *top; /* where the candidates of the next position are written */
};

/* Ranks the tokens after POSITION by LOGITS and appends the best ones to `top`. */
static void rank(struct ranking *ranking, const struct attn_prediction_args *args, size_t position,
                 const float *logits)
{
    const struct attn_scored *ranked = ranking->room;
    const double sum = attn_logits_rank(logits, args->n_vocab, ranking->room);
    const bool has_labels = attn_model_has_labels(args->model);
    const enum attn_label_kind kind = attn_model_config(args->model)->label_kind;

    for (size_t i = 0; i < ranking->n_shown; i++) {
        struct attn_candidate *top = ranking->top++;

        top->position = position;
        top->id = ranked[i].id;
        top->prob = attn_exp(ranked[i].logit - ranked[0].logit) / sum;
        top->score = ranked[i].logit;
        if (kind == ATTN_LABELS_MULTI)
            top->prob = attn_exp(-attn_softplus(-top->score));
        else if (kind != ATTN_LABELS_SINGLE)
            top->prob = top->score;
        if (has_labels)
            top->token = attn_class_label(args->model, (size_t)top->id);
        if (has_labels)
            top->token_size = top->token ? strlen(top->token) : 0;
        else if (args->tokenizer)
            top->token = attn_tokenizer_token(args->tokenizer, top->id, &top->token_size);
    }
}

/* Whether attention is causal in the model, so that each position predicts the token after it. */
static bool is_causal(const struct attn_config *config)
{
    return !config->is_encoder &&
           !(config->n_layer > 0 && config->attention[0].mask == ATTN_MASK_NONE);
}

bool attn_predicts_next(const struct attn_config *config)
{
    return config->output != ATTN_OUTPUT_NONE && config->task == ATTN_TASK_VOCABULARY &&
           config->pooling == ATTN_POOLING_NONE && is_causal(config);
}

/* Sets the flags of FOUND that tell what its numbers mean. */
static void describe(const struct attn_prediction_args *args, struct attn_predictions *found)
{
    const struct attn_config *config = attn_model_config(args->model);

    found->has_labels = args->model->label_rows;
    found->is_in_place = !is_causal(config);
    found->has_positions = args->positions;
    found->are_values = config->label_kind >= ATTN_LABELS_SCORE;
    found->are_spans = config->task == ATTN_TASK_SPANS;
    found->are_of_whole = attn_model_is_classifier(args->model);
}

static enum attn_status find_top(struct attn_session *session,
                                 const struct attn_prediction_args *args,
                                 struct attn_predictions *found, struct attn_error *err)
{
    const size_t top = args->question->top;
    struct ranking ranking = {.n_shown = top < args->n_vocab ? top : args->n_vocab};
    struct attn_logit_rows rows = {
        .session = session, .selection = args->positions, .end = attn_session_n_position(session)};
    const float *logits;

    if (!args->positions) {
        ATTN_TRY(attn_session_logits(session, &logits, err));
        return attn_predict_last(args, attn_session_n_position(session) - 1, logits, found, err);
    }
    describe(args, found);
    found->n_top = attn_selection_n_query(args->positions) * ranking.n_shown;
    ATTN_TRY(ATTN_ALLOC(found->top, found->n_top, err));
    ATTN_TRY(ATTN_NEW(ranking.room,
                      attn_alloc_uninitialized(2 * args->n_vocab, sizeof *ranking.room, err)));
    ranking.top = found->top;
    while (attn_logit_rows_next(&rows, err))
        for (size_t i = 0; i < rows.n; i++)
            rank(&ranking, args, rows.first + i, rows.logits + i * args->n_vocab);
    attn_free(ranking.room);
    return attn_logit_rows_end(&rows);
}

/* Grows FOUND if it has no room for the N candidates of one more position. Each position has N
 * candidates. The capacity doubles, so it is exhausted exactly at 1, 2, 4, 8, ... positions. */
static enum attn_status make_room(struct attn_predictions *found, size_t n, struct attn_error *err)
{
    const size_t n_position = found->n_top / n;
    struct attn_candidate *top;

    if ((n_position & (n_position - 1)) != 0)
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(top, n_position > 0 ? 2 * n_position * n : n, err));
    if (found->n_top > 0)
        memcpy(top, found->top, found->n_top * sizeof *top);
    attn_free(found->top);
    found->top = top;
    return ATTN_OK;
}

enum attn_status attn_predict_more(const struct attn_prediction_args *args, size_t position,
                                   const float *logits, struct attn_predictions *found,
                                   struct attn_error *err)
{
    const size_t top = args->question->top;
    struct ranking ranking = {.n_shown = top < args->n_vocab ? top : args->n_vocab};

    if (ranking.n_shown > 0)
        ATTN_TRY(make_room(found, ranking.n_shown, err));
    ATTN_TRY(ATTN_NEW(ranking.room,
                      attn_alloc_uninitialized(2 * args->n_vocab, sizeof *ranking.room, err)));
    ranking.top = found->top + found->n_top;
    rank(&ranking, args, position, logits);
    attn_free(ranking.room);
    found->n_top += ranking.n_shown;
    describe(args, found);
    found->has_positions = true;
    return ATTN_OK;
}

enum attn_status attn_predict_last(const struct attn_prediction_args *args, size_t position,
                                   const float *logits, struct attn_predictions *found,
                                   struct attn_error *err)
{
    struct attn_predictions made = {.n_top = 0};
    const enum attn_status status = attn_predict_more(args, position, logits, &made, err);

    made.has_positions = args->positions;
    ATTN_RETURN_FILLED(status, found, made, attn_predictions_release);
}

/* --- Spans ----------------------------------------------------------------------------------- */

enum { MOST_OF_SPAN = 15 };

/* Orders candidates by descending score, then by the begin of the span, then by its end. */
static int by_score(const void *a, const void *b)
{
    const struct attn_candidate *x = a, *y = b;

    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    return x->id - y->id;
}

/* Sets the text of TOP to the bytes of its span. A span outside the text, such as row 0, which
 * means "no answer", has no text. */
static void set_text(const struct attn_sequence *text, struct attn_candidate *top)
{
    const struct attn_encoding *encoding = &text->encoding;
    const struct attn_input *input = text->input;

    if (encoding->n == 0 || !attn_sequence_is_answering(text, top->position))
        return;
    top->token = (input->pair ? input->pair : input->text) + encoding->begin[top->position];
    top->token_size = encoding->end[top->id] - encoding->begin[top->position];
}

enum attn_status attn_predict_spans(struct attn_session *session, size_t row,
                                    const struct attn_prediction_args *args,
                                    struct attn_predictions *found, struct attn_error *err)
{
    const struct attn_sequence *text = args->text;
    const struct attn_answer any = {.of = {.model = args->model, .text = text}};
    float *logits = attn_alloc_uninitialized(text->n, args->n_vocab * sizeof *logits, err);
    enum attn_status status = ATTN_NO_MEMORY;
    double total;
    size_t n = 0;

    describe(args, found);
    found->top = attn_alloc(
        text->n, (MOST_OF_SPAN < text->n ? MOST_OF_SPAN : text->n) * sizeof *found->top, err);
    if (logits && found->top)
        status = attn_session_logits_at(session, row, text->n, logits, err);
    for (size_t first = 0; status == ATTN_OK && first < text->n; first++)
        for (size_t last = first; last < text->n && last - first < MOST_OF_SPAN; last++) {
            const double score = (double)logits[2 * first] + (double)logits[2 * last + 1];

            if (last == 0 ||
                (attn_sequence_is_answering(text, first) && attn_sequence_is_answering(text, last)))
                found->top[n++] =
                    (struct attn_candidate){.position = first, .id = (int32_t)last, .score = score};
        }
    total = n > 0 ? attn_answer_total(&any, logits) : 0;
    for (size_t i = 0; i < n; i++)
        found->top[i].prob = attn_exp(found->top[i].score - total);
    attn_free(logits);
    ATTN_TRY(status);
    qsort(found->top, n, sizeof *found->top, by_score);
    found->n_top = n < args->question->top ? n : args->question->top;
    for (size_t i = 0; i < found->n_top; i++)
        set_text(text, &found->top[i]);
    return ATTN_OK;
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

/* Scores continuations of one token each: at the selected positions of an encoder, or once for a
 * whole picture. */
static enum attn_status find_at_positions(struct attn_session *session,
                                          const struct attn_prediction_args *args,
                                          struct attn_predictions *found, struct attn_error *err)
{
    const struct attn_continuations *continuations = args->continuations;
    const bool is_alone = attn_model_config(args->model)->label_kind != ATTN_LABELS_SINGLE;
    struct attn_logit_rows rows = {.session = session,
                                   .selection = args->positions,
                                   .end = args->positions ? attn_session_n_position(session) : 1};
    struct attn_next *next = found->next;

    while (attn_logit_rows_next(&rows, err))
        for (size_t i = 0; i < rows.n * continuations->n; i++, next++) {
            const float *logits = rows.logits + i / continuations->n * args->n_vocab;
            const int32_t id = continuations->encodings[i % continuations->n].ids[0];

            next->position = rows.first + i / continuations->n;
            next->text = attn_predict_next(args->question, i % continuations->n);
            next->log_prob = is_alone ? -attn_softplus(-(double)logits[id])
                                      : -attn_logits_surprisal(logits, args->n_vocab, id);
        }
    return attn_logit_rows_end(&rows);
}

/* Scores the continuations after each selected position. Goes from the last position to the first,
 * because the session can only be rewound. */
static enum attn_status find_next(struct attn_session *session,
                                  const struct attn_prediction_args *args,
                                  struct attn_predictions *found, struct attn_error *err)
{
    const size_t n = args->continuations->n;
    size_t n_left = args->positions ? attn_selection_n_query(args->positions) : 1;

    describe(args, found);
    found->n_next = n_left * n;
    ATTN_TRY(ATTN_ALLOC(found->next, found->n_next, err));
    if (attn_model_config(args->model)->is_encoder || attn_model_is_classifier(args->model))
        return find_at_positions(session, args, found, err);
    attn_session_end_trace(session);
    for (size_t end = attn_session_n_position(session); n_left > 0; end--) {
        if (args->positions && !attn_selection_has_query(args->positions, ATTN_STACK_ONLY, end - 1))
            continue;
        ATTN_TRY(attn_session_rewind(session, end, err));
        n_left--;
        for (size_t i = 0; i < n; i++) {
            struct attn_next *next = &found->next[n_left * n + i];

            next->position = end - 1;
            next->text = attn_predict_next(args->question, i);
            ATTN_TRY(
                log_probability(session, &args->continuations->encodings[i], &next->log_prob, err));
        }
    }
    return ATTN_OK;
}

/* --- A metric --------------------------------------------------------------------------------- */

/* Computes the metric after the answer's own position, or after each selected position. */
static enum attn_status find_metric(struct attn_session *session,
                                    const struct attn_prediction_args *args,
                                    struct attn_predictions *found, struct attn_error *err)
{
    const struct attn_answer *answer = args->answer;
    const bool is_span = attn_answer_n_row(answer) > 1;
    const bool is_one = answer->has_place || !args->positions || is_span;
    const size_t n = is_one ? 1 : attn_selection_n_query(args->positions);
    float *logits = attn_alloc_uninitialized(attn_answer_n_logit(answer), sizeof *logits, err);
    enum attn_status status = ATTN_OK;

    describe(args, found);
    found->metric = attn_alloc(n, sizeof *found->metric, err);
    if (!logits || !found->metric)
        status = ATTN_NO_MEMORY;
    for (size_t at = 0; status == ATTN_OK && found->n_metric < n; at++) {
        const size_t position = is_one ? answer->position : at;
        struct attn_predicted_metric *metric = &found->metric[found->n_metric];

        if (!is_one && !attn_selection_has_query(args->positions, ATTN_STACK_ONLY, position))
            continue;
        status = attn_session_logits_at(session, position, attn_answer_n_row(answer), logits, err);
        if (status != ATTN_OK)
            continue;
        *metric = (struct attn_predicted_metric){
            .position = position,
            .name = attn_answer_metric_name(answer->metric),
            .value = attn_answer_value(answer, logits, attn_answer_total(answer, logits))};
        found->n_metric++;
    }
    attn_free(logits);
    return status;
}

static enum attn_status predict(struct attn_session *session,
                                const struct attn_prediction_args *args,
                                struct attn_predictions *made, struct attn_error *err)
{
    const bool are_spans = attn_model_config(args->model)->task == ATTN_TASK_SPANS;

    if (args->question->top > 0)
        ATTN_TRY(are_spans ? attn_predict_spans(session, 0, args, made, err)
                           : find_top(session, args, made, err));
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

    attn_error_at(status, status == ATTN_INVALID ? ATTN_STAGE_INPUT : ATTN_STAGE_MODEL, err);
    ATTN_RETURN_FILLED(status, found, made, attn_predictions_release);
}

/* Copies TEXT [size] and a terminating NUL to *END, and advances *END. Returns the copy, or NULL if
 * TEXT is NULL. */
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

enum { TOP_POSITION, TOP_PROBABILITY, TOP_SCORE, TOP_ID, TOP_SPAN, TOP_TOKEN, N_TOP_CELL };

#define PREDICTED(what, ...)                                                                       \
    {                                                                                              \
        .name = (what), .type = ATTN_VALUE_REAL, .notation = ATTN_NOTATION_FIXED, .digits = 6,     \
        .help = __VA_ARGS__                                                                        \
    }
#define POSITION_COLUMN                                                                            \
    {                                                                                              \
        .name = "position", .type = ATTN_VALUE_INTEGER,                                            \
        .help = "position after which it is predicted, from 0"                                     \
    }

static const struct attn_column top_columns[N_TOP_CELL] = {
    [TOP_POSITION] = POSITION_COLUMN,
    [TOP_PROBABILITY] = PREDICTED("prob", "probability, 0 to 1"),
    [TOP_SCORE] = PREDICTED("score", "the logit; of texts that are compared the cosine, -1 to 1"),
    [TOP_ID] = {.name = "id", .type = ATTN_VALUE_INTEGER},
    [TOP_SPAN] = {.name = "span", .type = ATTN_VALUE_TEXT, .help = "first and last position"},
    [TOP_TOKEN] = {.name = "token", .type = ATTN_VALUE_TEXT},
};

static const struct attn_column next_columns[] = {
    POSITION_COLUMN,
    PREDICTED("log_prob", "ln of the probability of the text, at most 0", .unit = "nats"),
    {.name = "text", .type = ATTN_VALUE_TEXT, .help = "the continuation"},
};

static const struct attn_column metric_columns[] = {
    POSITION_COLUMN,
    PREDICTED("value", "the metric, in its unit"),
    {.name = "metric",
     .type = ATTN_VALUE_TEXT,
     .help = "name of the metric, logit_diff for example"},
};

/* The ids of labels of the request carry no information, so they are dropped. */
static enum attn_status make_top(const struct attn_predictions *found, struct attn_table **table,
                                 struct attn_error *err)
{
    const bool has_ids = !found->has_labels && !found->are_spans;
    const bool has[N_TOP_CELL] = {[TOP_POSITION] = has_ids && found->has_positions,
                                  [TOP_PROBABILITY] = !found->are_values,
                                  [TOP_SCORE] = found->are_values || found->has_labels,
                                  [TOP_ID] = has_ids,
                                  [TOP_SPAN] = found->are_spans,
                                  [TOP_TOKEN] = true};
    struct attn_column columns[N_TOP_CELL];
    size_t n = 0;

    if (found->n_top == 0)
        return ATTN_OK;
    for (size_t k = 0; k < N_TOP_CELL; k++)
        if (has[k])
            columns[n++] = top_columns[k];
    if (!has_ids) {
        columns[n - 1].name = found->has_labels ? "label" : "text";
        columns[n - 1].help =
            found->has_labels ? "the label, or the other text" : "text of the span";
    }
    ATTN_TRY(
        attn_table_create(found->has_labels ? "run.labels" : "run.top", columns, n, table, err));
    for (size_t i = 0; i < found->n_top; i++) {
        const struct attn_candidate *top = &found->top[i];
        char span[48];
        struct attn_cell row[N_TOP_CELL] = {
            [TOP_POSITION] = attn_cell_integer((int64_t)top->position),
            [TOP_PROBABILITY] = attn_cell_real(top->prob),
            [TOP_SCORE] = attn_cell_real(top->score),
            [TOP_ID] = attn_cell_integer(top->id),
            [TOP_TOKEN] = attn_cell_text(top->token, top->token_size)};

        snprintf(span, sizeof span, "%zu-%d", top->position, (int)top->id);
        row[TOP_SPAN] = attn_cell_string(span);
        n = 0;
        for (size_t k = 0; k < N_TOP_CELL; k++)
            if (has[k])
                row[n++] = row[k];
        ATTN_TRY(attn_table_append(*table, row, n, err));
    }
    return ATTN_OK;
}

/* Creates the table of continuations, or of metrics, if there are any. */
static enum attn_status make_next(const struct attn_predictions *found, bool are_metrics,
                                  struct attn_table **table, struct attn_error *err)
{
    const size_t n_left_out = found->has_positions ? 0 : 1, n = 3 - n_left_out;
    const struct attn_column *columns = (are_metrics ? metric_columns : next_columns) + n_left_out;
    const size_t n_row = are_metrics ? found->n_metric : found->n_next;

    if (n_row > 0)
        ATTN_TRY(
            attn_table_create(are_metrics ? "run.target" : "run.next", columns, n, table, err));
    for (size_t i = 0; i < n_row; i++) {
        const struct attn_next next = are_metrics ? (struct attn_next){found->metric[i].position,
                                                                       found->metric[i].name,
                                                                       found->metric[i].value,
                                                                       {NULL}}
                                                  : found->next[i];
        const struct attn_cell row[] = {attn_cell_integer((int64_t)next.position),
                                        attn_cell_real(next.log_prob), attn_cell_string(next.text)};

        ATTN_TRY(attn_table_append(*table, row + n_left_out, n, err));
    }
    return ATTN_OK;
}

enum attn_status attn_predictions_metric(const struct attn_predictions *found,
                                         struct attn_table **metric, struct attn_error *err)
{
    struct attn_table *made = NULL;
    const enum attn_status status = make_next(found, true, &made, err);

    ATTN_RETURN_MADE(status, metric, made, attn_table_free);
}

enum attn_status attn_predictions_tables(const struct attn_predictions *found,
                                         struct attn_table **top, struct attn_table **next,
                                         struct attn_error *err)
{
    struct attn_table *made_top = NULL, *made_next = NULL;
    enum attn_status status = make_top(found, &made_top, err);

    ATTN_THEN(status, make_next(found, false, &made_next, err));
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
