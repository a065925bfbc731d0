/*
 * score.c - see score.h. A text goes through the model in windows, a short one in a single window;
 * each window is a run of its own over its ids. Of many texts only sums are kept.
 */
#include "experiment/score.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/pool_internal.h"
#include "base/status_internal.h"
#include "experiment/frame.h"
#include "experiment/trial.h"
#include "kernels/kernels.h"
#include "run/prediction.h"
#include "text/words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LOGIT_BYTES = 16 << 20 }; /* logits held at a time, if one row fits */

enum {
    TEXTS, /* of many */
    TOKENS,
    POSITION, /* of one */
    ID,
    TOKEN,
    BITS,
    BITS_SD, /* of many */
    NATS,
    NATS_SD, /* of many */
    RANK,    /* of one */
    TOP,
    TOP_PROB,
    N_COLUMN
};

static const struct attn_column columns[N_COLUMN] = {
    [TEXTS] = ATTN_COLUMN("texts", INTEGER),
    [TOKENS] = ATTN_COLUMN("tokens", INTEGER),
    [POSITION] = ATTN_COLUMN("position", INTEGER),
    [ID] = ATTN_COLUMN("id", INTEGER),
    [TOKEN] = ATTN_COLUMN("token", TEXT),
    [BITS] = ATTN_COLUMN_REAL("bits", 4, "bits", SIGNED),
    [BITS_SD] = ATTN_COLUMN_REAL("bits_sd", 4, "bits", SIGNED),
    [NATS] = ATTN_COLUMN_REAL("nats", 4, "nats", SIGNED),
    [NATS_SD] = ATTN_COLUMN_REAL("nats_sd", 4, "nats", SIGNED),
    [RANK] = ATTN_COLUMN("rank", INTEGER),
    [TOP] = ATTN_COLUMN("top", TEXT),
    [TOP_PROB] = ATTN_COLUMN_REAL("top_prob", 4, NULL, SIGNED),
};

/* What a model says of one token. */
struct scored {
    bool is_scored; /* false: nothing came before it */
    double nats;
    size_t rank; /* from 1 */
    int32_t top; /* the most probable token */
    double top_probability;
};

struct scoring {
    struct attn_frame frame; /* its request is that of the window in hand */
    const struct attn_score_args *args;
    const struct attn_tokenizer *tokenizer; /* or NULL */
    struct attn_sequence text;              /* owns */
    struct scored *scored;                  /* [text.n] */
    float *logits;                          /* [n_row, n_vocab] */
    size_t n_row, n_vocab, n_ctx;
    struct attn_moments nats; /* of many texts: of a token, over those that had one to score */
};

/* --- The tokens ------------------------------------------------------------------------------- */

static enum attn_status read_tokens(struct scoring *scoring, struct attn_error *err)
{
    const struct attn_request *request = &scoring->frame.request;
    struct attn_host *host = scoring->frame.host;
    struct attn_sequence *text = &scoring->text;
    const bool is_text = attn_input_is_text(&request->input);
    const enum attn_status has_tokenizer =
        attn_host_tokenizer(host, &scoring->tokenizer, is_text ? err : NULL);

    if (is_text) {
        ATTN_TRY(has_tokenizer);
        text->cancel = host->options.cancel;
        ATTN_TRY(attn_sequence_encode(request, scoring->tokenizer, text, err));
    } else {
        if (!request->input.ids)
            return attn_error_set(err, ATTN_INVALID, "tokens are scored, and embeddings have none");
        text->ids = request->input.ids;
        text->n = request->input.n_id;
    }
    if (text->n == 0)
        return attn_error_set(err, ATTN_INVALID, "the text is empty: it has no tokens");
    if (text->n > scoring->n_ctx && scoring->args->stride == 0) {
        attn_error_set(err, ATTN_INVALID, "the text has %zu tokens, '%s' takes at most %zu",
                       text->n, attn_quote_string(attn_model_name(attn_host_model(host))).text,
                       scoring->n_ctx);
        attn_error_hint(err, "`stride %zu` scores it in windows that move by this many tokens",
                        scoring->n_ctx > 1 ? scoring->n_ctx / 2 : 1);
        return ATTN_INVALID;
    }
    if (!scoring->tokenizer)
        return ATTN_OK;
    return attn_token_bytes_find(scoring->tokenizer, text->ids, text->n, &text->tokens, err);
}

/* --- Scores ----------------------------------------------------------------------------------- */

/* Rows of logits, and the tokens that follow them. */
struct score_work {
    const struct scoring *scoring;
    const int32_t *ids;    /* [rows] */
    struct scored *scored; /* [rows] */
};

/* An attn_task_fn. */
static void score_row(void *context, size_t task, int worker)
{
    const struct score_work *work = context;
    const size_t n = work->scoring->n_vocab, id = (size_t)work->ids[task];
    const float *logits = work->scoring->logits + task * n;
    const double total = attn_kernels_find(ATTN_ISA_BEST)->log_sum_exp(logits, n);
    struct scored scored = {.is_scored = true, .rank = 1, .top = attn_logits_first(logits, n)};

    (void)worker;
    for (size_t i = 0; i < n; i++)
        scored.rank += logits[i] > logits[id] || (logits[i] == logits[id] && i < id);
    scored.nats = total - (double)logits[id];
    scored.top_probability = exp((double)logits[scored.top] - total);
    work->scored[task] = scored;
}

/* Scores the tokens FROM .. END-1 of the text, which begins in SESSION with token BEGIN. */
static enum attn_status score_window(struct scoring *scoring, struct attn_session *session,
                                     size_t begin, size_t from, size_t end, struct attn_error *err)
{
    struct attn_host *host = scoring->frame.host;

    for (size_t at = from; at < end; at += scoring->n_row) {
        const size_t n = end - at < scoring->n_row ? end - at : scoring->n_row;
        struct score_work work = {scoring, scoring->text.ids + at, scoring->scored + at};

        ATTN_TRY(attn_session_logits_at(session, at - begin - 1, n, scoring->logits, err));
        attn_pool_run(attn_host_pool(host, 10.0 * (double)n * (double)scoring->n_vocab), n,
                      score_row, &work);
        ATTN_TRY(attn_host_check_canceled(host, err));
    }
    return ATTN_OK;
}

/* Runs the window of the tokens BEGIN .. END-1, and scores those from FROM on. */
static enum attn_status run_window(struct scoring *scoring, size_t begin, size_t from, size_t end,
                                   struct attn_error *err)
{
    struct attn_frame *frame = &scoring->frame;
    struct attn_session *session = NULL;
    struct attn_trial trial;
    struct attn_run *run;
    enum attn_status status;

    frame->request.input =
        (struct attn_input){.ids = scoring->text.ids + begin, .n_id = end - begin};
    ATTN_TRY(attn_run_prepare(frame->host, &frame->request, &run, err));
    trial = attn_trial_of(run);
    status = attn_trial_run(&trial, &session, err);
    if (status == ATTN_OK)
        status = attn_error_at(score_window(scoring, session, begin, from, end, err),
                               ATTN_STAGE_MODEL, err);
    attn_session_free(session);
    attn_run_free(run);
    return status;
}

/* --- The rows --------------------------------------------------------------------------------- */

static enum attn_status append_token(struct scoring *scoring, size_t i, struct attn_error *err)
{
    const struct scored *scored = &scoring->scored[i];
    struct attn_cell row[N_COLUMN] = {
        [POSITION] = attn_cell_integer((int64_t)i),
        [ID] = attn_cell_integer(scoring->text.ids[i]),
        [TOKEN] = attn_cell_position(&scoring->text.tokens, i),
    };
    char made[16];

    if (scored->is_scored) {
        row[BITS] = attn_cell_real(scored->nats / M_LN2);
        row[NATS] = attn_cell_real(scored->nats);
        row[RANK] = attn_cell_integer((int64_t)scored->rank);
        row[TOP] = attn_cell_token(scoring->tokenizer, scored->top);
        row[TOP_PROB] = attn_cell_real(scored->top_probability);
        snprintf(made, sizeof made, "[%d]", (int)scored->top);
        if (row[TOP].type == ATTN_VALUE_MISSING)
            row[TOP] = attn_cell_string(made);
    }
    return attn_frame_append(&scoring->frame, row, err);
}

/* A row of the word of the tokens TOP .. LAST-1. TEXT is empty. */
static enum attn_status append_word(struct scoring *scoring, size_t first, size_t last,
                                    struct attn_buffer *text, struct attn_error *err)
{
    const struct attn_token_bytes *tokens = &scoring->text.tokens;
    struct attn_cell row[N_COLUMN] = {[POSITION] = attn_cell_integer((int64_t)first)};
    double nats = 0;

    for (size_t i = first; i < last; i++) {
        attn_buffer_append(text, tokens->bytes[i], tokens->sizes[i]);
        nats += scoring->scored[i].nats;
    }
    ATTN_TRY(attn_buffer_check(text, err));
    row[TOKEN] = attn_cell_text(text->data, text->size);
    if (scoring->scored[first].is_scored) {
        row[BITS] = attn_cell_real(nats / M_LN2);
        row[NATS] = attn_cell_real(nats);
    }
    return attn_frame_append(&scoring->frame, row, err);
}

static enum attn_status append_words(struct scoring *scoring, struct attn_error *err)
{
    const size_t n = scoring->text.n;
    bool *begins = attn_frame_alloc(&scoring->frame, n, sizeof *begins);

    ATTN_TRY(attn_frame_memory(&scoring->frame, err));
    attn_words_mark(scoring->tokenizer, scoring->text.ids, n, begins);
    for (size_t first = 0, last; first < n; first = last) {
        struct attn_buffer text = {0};
        enum attn_status status;

        last = first + 1;
        while (last < n && !begins[last])
            last++;
        status = append_word(scoring, first, last, &text, err);
        attn_buffer_release(&text);
        ATTN_TRY(status);
    }
    return ATTN_OK;
}

/* --- Many texts ------------------------------------------------------------------------------- */

/* An attn_done_fn. */
static enum attn_status take_text(void *user, const struct attn_many_result *result,
                                  struct attn_error *err)
{
    struct scoring *scoring = user;
    struct attn_score_sum *sum = scoring->frame.sum;
    double nats = 0;

    (void)err;
    for (size_t k = 1; k < result->n_token; k++)
        nats += result->surprisal[k];
    sum->nats += nats;
    sum->n_token += result->n_token - 1;
    if (result->n_token > 1)
        attn_moments_add(&scoring->nats, nats / (double)(result->n_token - 1));
    return ATTN_OK;
}

static enum attn_status ask_texts(struct scoring *scoring, struct attn_error *err)
{
    struct attn_many_options options = ATTN_MANY_OPTIONS_DEFAULT;
    const struct attn_score_sum *sum = scoring->frame.sum;
    const struct attn_moments *nats = &scoring->nats;
    struct attn_cell row[N_COLUMN] = {attn_cell_missing()};

    options.has_surprisal = true;
    ATTN_TRY(attn_frame_run_texts(&scoring->frame, &options, take_text, err));
    row[TEXTS] = attn_cell_integer((int64_t)nats->n);
    row[TOKENS] = attn_cell_integer((int64_t)sum->n_token);
    if (nats->n > 0) {
        row[BITS] = attn_cell_real(nats->mean / M_LN2);
        row[NATS] = attn_cell_real(nats->mean);
    }
    if (nats->n > 1) {
        row[BITS_SD] = attn_cell_real(attn_moments_sd(nats) / M_LN2);
        row[NATS_SD] = attn_cell_real(attn_moments_sd(nats));
    }
    return attn_frame_append(&scoring->frame, row, err);
}

/* --- All of it -------------------------------------------------------------------------------- */

static enum attn_status check_args(const void *given, struct attn_error *err)
{
    const struct attn_score_args *args = given;

    if (args->n_text == 0 || (args->stride == 0 && !args->merges_words))
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID, "`stride` and `merges_words` need one text, not many");
}

static enum attn_status check_windows(const struct scoring *scoring, struct attn_error *err)
{
    if (scoring->args->stride > 0 && scoring->args->stride >= scoring->n_ctx)
        return attn_error_set(err, ATTN_INVALID,
                              "windows of %zu positions cannot move by %zu, expected 1 to %zu",
                              scoring->n_ctx, scoring->args->stride, scoring->n_ctx - 1);
    if (scoring->args->merges_words && !scoring->tokenizer)
        return attn_error_set(err, ATTN_INVALID,
                              "words need the text of tokens, and these tokens have none");
    return ATTN_OK;
}

static enum attn_status prepare(void *state, struct attn_error *err)
{
    struct scoring *scoring = state;
    struct attn_frame *frame = &scoring->frame;
    size_t n_row;

    scoring->args = frame->args;
    if (frame->n_text > 0) {
        attn_frame_choose_nothing(&frame->request);
        return ATTN_OK;
    }
    ATTN_TRY(attn_trial_check_host(frame->host, err));
    frame->config = attn_model_config(attn_host_model(frame->host));
    scoring->n_ctx = frame->config->n_ctx;
    scoring->n_vocab = frame->config->n_vocab;
    ATTN_TRY(attn_error_at(read_tokens(scoring, err), ATTN_STAGE_INPUT, err));
    ATTN_TRY(attn_error_at(check_windows(scoring, err), ATTN_STAGE_OPTIONS, err));
    n_row = LOGIT_BYTES / sizeof(float) / scoring->n_vocab;
    scoring->n_row = n_row == 0 ? 1 : n_row < scoring->text.n ? n_row : scoring->text.n;
    scoring->scored = attn_frame_alloc(frame, scoring->text.n, sizeof *scoring->scored);
    scoring->logits =
        attn_frame_alloc(frame, scoring->n_row * scoring->n_vocab, sizeof *scoring->logits);
    attn_frame_choose_nothing(&frame->request);
    return attn_frame_memory(frame, err);
}

static uint64_t hidden(const void *state)
{
    const struct scoring *scoring = state;
    const uint64_t of_one = ATTN_COLUMN_BIT(POSITION) | ATTN_COLUMN_BIT(ID) |
                            ATTN_COLUMN_BIT(TOKEN) | ATTN_COLUMN_BIT(RANK) | ATTN_COLUMN_BIT(TOP) |
                            ATTN_COLUMN_BIT(TOP_PROB);
    const uint64_t of_many = ATTN_COLUMN_BIT(TEXTS) | ATTN_COLUMN_BIT(TOKENS) |
                             ATTN_COLUMN_BIT(BITS_SD) | ATTN_COLUMN_BIT(NATS_SD);

    return scoring->frame.n_text > 0 ? of_one : of_many;
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct scoring *scoring = state;
    struct attn_score_sum *sum = scoring->frame.sum;
    const size_t n = scoring->text.n, n_ctx = scoring->n_ctx;

    if (scoring->frame.n_text > 0)
        return ask_texts(scoring, err);
    for (size_t begin = 0, from = 1, end = 0; end < n; begin += scoring->args->stride) {
        end = n - begin > n_ctx ? begin + n_ctx : n;
        ATTN_TRY(run_window(scoring, begin, from, end, err));
        attn_frame_report(&scoring->frame, end, n);
        from = end;
    }
    for (size_t i = 0; i < n; i++) {
        sum->n_token += scoring->scored[i].is_scored;
        sum->nats += scoring->scored[i].nats;
        if (!scoring->args->merges_words)
            ATTN_TRY(append_token(scoring, i, err));
    }
    return scoring->args->merges_words ? append_words(scoring, err) : ATTN_OK;
}

static void release(void *state)
{
    attn_sequence_release(&((struct scoring *)state)->text);
}

static const struct attn_experiment experiment = {
    .name = "score",
    .columns = columns,
    .n_column = N_COLUMN,
    .state_size = sizeof(struct scoring),
    .sum_size = sizeof(struct attn_score_sum),
    .texts = offsetof(struct attn_score_args, texts),
    .n_text = offsetof(struct attn_score_args, n_text),
    .makes_runs = true,
    .check = check_args,
    .prepare = prepare,
    .hidden = hidden,
    .ask = ask,
    .release = release,
};

enum attn_status attn_score(struct attn_host *host, const struct attn_request *request,
                            const struct attn_score_args *given, struct attn_table **table,
                            struct attn_score_sum *sum, struct attn_error *err)
{
    struct attn_score_args args = ATTN_SCORE_ARGS_DEFAULT;
    const struct attn_inquiry inquiry = {host, request, given, &args, table, sum};

    return attn_experiment_perform(&experiment, &inquiry, err);
}
