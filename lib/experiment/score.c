/*
 * score.c - see score.h. A text goes through the model in windows, a short one in a single window;
 * each window is a run of its own over its ids.
 */
#include "experiment/score.h"

#include "base/escape.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/pool_internal.h"
#include "base/status_internal.h"
#include "base/table_internal.h"
#include "experiment/inquiry.h"
#include "experiment/score_texts.h"
#include "experiment/trial.h"
#include "kernels/kernels.h"
#include "run/prediction.h"
#include "text/word.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LOGIT_BYTES = 16 << 20 }; /* logits held at a time, if one row fits */

/* What a model says of one token. */
struct scored {
    bool is_scored; /* false: nothing came before it */
    double nats;
    size_t rank; /* from 1 */
    int32_t first;
    double first_probability;
};

struct job {
    struct attn_host *host;
    struct attn_request request; /* of the window in hand */
    const struct attn_score_args *args;
    const struct attn_tokenizer *tokenizer; /* or NULL */
    struct attn_sequence text;
    struct scored *scored; /* [text.n] owns */
    float *logits;         /* [n_row, n_vocab] owns */
    size_t n_row, n_vocab, n_ctx;
};

/* --- The tokens ------------------------------------------------------------------------------- */

static enum attn_status check_length(const struct job *job, struct attn_error *err)
{
    const char *name = attn_model_name(attn_host_model(job->host));
    const size_t n = job->text.n, stride = job->args->stride;

    if (n == 0)
        return attn_error_set(err, ATTN_INVALID, "the text is empty: it has no tokens");
    if (n > job->n_ctx && stride == 0) {
        attn_error_set(err, ATTN_INVALID, "the text has %zu tokens, '%s' takes at most %zu", n,
                       attn_quote_string(name).text, job->n_ctx);
        attn_error_hint(err, "--stride %zu scores it in windows that move by this many tokens",
                        job->n_ctx > 1 ? job->n_ctx / 2 : 1);
        return ATTN_INVALID;
    }
    return ATTN_OK;
}

static enum attn_status read_tokens(struct job *job, struct attn_error *err)
{
    const struct attn_input *input = &job->request.input;
    const bool is_text = attn_input_is_text(input);
    enum attn_status status = attn_host_tokenizer(job->host, &job->tokenizer, is_text ? err : NULL);

    if (status == ATTN_OK && is_text) {
        job->text.cancel = job->host->options.cancel;
        status = attn_sequence_encode(&job->request, job->tokenizer, &job->text, err);
    } else if (!is_text) {
        status = input->ids ? ATTN_OK
                            : attn_error_set(err, ATTN_INVALID,
                                             "tokens are scored, and embeddings have none");
        job->text.ids = input->ids;
        job->text.n = input->n_id;
    }
    if (status == ATTN_OK)
        status = check_length(job, err);
    if (status == ATTN_OK && job->tokenizer)
        status = attn_token_bytes_find(job->tokenizer, job->text.ids, job->text.n,
                                       &job->text.tokens, err);
    return attn_error_at(status, ATTN_STAGE_INPUT, err);
}

/* --- Scores ----------------------------------------------------------------------------------- */

/* Scores token ID, whose place LOGITS [n] are for. */
static struct scored score(const float *logits, size_t n, int32_t id)
{
    struct scored scored = {.is_scored = true, .rank = 1, .first = attn_logits_first(logits, n)};
    const double total = attn_kernels_find(ATTN_ISA_BEST)->log_sum_exp(logits, n);

    for (size_t i = 0; i < n; i++)
        scored.rank += logits[i] > logits[id] || (logits[i] == logits[id] && i < (size_t)id);
    scored.nats = total - (double)logits[id];
    scored.first_probability = exp((double)logits[scored.first] - total);
    return scored;
}

/* Rows of logits, and the tokens that follow them. */
struct score_work {
    const struct job *job;
    const int32_t *ids;    /* [rows] */
    struct scored *scored; /* [rows] */
};

static void score_row(void *context, size_t task, int worker)
{
    const struct score_work *work = context;
    const size_t n_vocab = work->job->n_vocab;

    (void)worker;
    work->scored[task] = score(work->job->logits + task * n_vocab, n_vocab, work->ids[task]);
}

/* Scores the tokens FROM .. END-1 of the text, which begins in SESSION with token BEGIN. */
static enum attn_status score_window(struct job *job, struct attn_session *session, size_t begin,
                                     size_t from, size_t end, struct attn_error *err)
{
    enum attn_status status = ATTN_OK;

    for (size_t at = from; status == ATTN_OK && at < end; at += job->n_row) {
        const size_t n = end - at < job->n_row ? end - at : job->n_row;
        struct score_work work = {job, job->text.ids + at, job->scored + at};

        status = attn_session_logits_at(session, at - begin - 1, n, job->logits, err);
        if (status == ATTN_OK)
            attn_pool_run(attn_host_pool(job->host, 10.0 * (double)n * (double)job->n_vocab), n,
                          score_row, &work);
        if (status == ATTN_OK)
            status = attn_host_check_canceled(job->host, err);
    }
    return attn_error_at(status, ATTN_STAGE_MODEL, err);
}

/* Runs the window of the tokens BEGIN .. END-1, and scores those from FROM on. */
static enum attn_status run_window(struct job *job, size_t begin, size_t from, size_t end,
                                   struct attn_error *err)
{
    struct attn_session *session = NULL;
    struct attn_run *run = NULL;
    enum attn_status status;

    job->request.input = (struct attn_input){.ids = job->text.ids + begin, .n_id = end - begin};
    status = attn_run_prepare(job->host, &job->request, &run, err);
    if (status == ATTN_OK) {
        const struct attn_trial trial = attn_trial_of(run);

        status = attn_trial_run(&trial, &session, err);
    }
    if (status == ATTN_OK)
        status = score_window(job, session, begin, from, end, err);
    attn_session_free(session);
    attn_run_free(run);
    return status;
}

static enum attn_status run_windows(struct job *job, struct attn_error *err)
{
    const size_t n = job->text.n;
    size_t begin = 0, from = 1, end = 0;
    enum attn_status status = ATTN_OK;

    while (status == ATTN_OK && end < n) {
        end = n - begin > job->n_ctx ? begin + job->n_ctx : n;
        status = run_window(job, begin, from, end, err);
        if (job->request.on_progress)
            job->request.on_progress(job->request.user, end, n);
        from = end;
        begin += job->args->stride;
    }
    return status;
}

/* --- The table -------------------------------------------------------------------------------- */

enum { N_COLUMN = 8 };

static enum attn_status create_table(struct attn_table **table, struct attn_error *err)
{
    static const struct attn_column columns[N_COLUMN] = {
        {.name = "position", .type = ATTN_VALUE_INTEGER},
        {.name = "id", .type = ATTN_VALUE_INTEGER},
        {.name = "token", .type = ATTN_VALUE_TEXT},
        {.name = "bits",
         .type = ATTN_VALUE_REAL,
         .unit = "bits",
         .notation = ATTN_NOTATION_FIXED,
         .digits = 4},
        {.name = "nats",
         .type = ATTN_VALUE_REAL,
         .unit = "nats",
         .notation = ATTN_NOTATION_FIXED,
         .digits = 4},
        {.name = "rank", .type = ATTN_VALUE_INTEGER},
        {.name = "first", .type = ATTN_VALUE_TEXT},
        {.name = "first_prob",
         .type = ATTN_VALUE_REAL,
         .notation = ATTN_NOTATION_FIXED,
         .digits = 4},
    };

    return attn_table_create("score", columns, N_COLUMN, table, err);
}

static struct attn_cell token_cell(const struct job *job, int32_t id, char made[16])
{
    size_t size = 0;
    const char *token = job->tokenizer ? attn_tokenizer_token(job->tokenizer, id, &size) : NULL;

    if (token)
        return attn_cell_text(token, size);
    size = (size_t)snprintf(made, 16, "[%d]", (int)id);
    return attn_cell_text(made, size);
}

static enum attn_status append_token(const struct job *job, size_t i, struct attn_table *table,
                                     struct attn_error *err)
{
    const struct scored *scored = &job->scored[i];
    const struct attn_token_bytes *tokens = &job->text.tokens;
    char made[16];
    struct attn_cell row[N_COLUMN] = {attn_cell_integer((int64_t)i),
                                      attn_cell_integer(job->text.ids[i])};

    if (tokens->bytes)
        row[2] = attn_cell_text(tokens->bytes[i], tokens->sizes[i]);
    if (scored->is_scored) {
        row[3] = attn_cell_real(scored->nats / M_LN2);
        row[4] = attn_cell_real(scored->nats);
        row[5] = attn_cell_integer((int64_t)scored->rank);
        row[6] = token_cell(job, scored->first, made);
        row[7] = attn_cell_real(scored->first_probability);
    }
    return attn_table_append(table, row, N_COLUMN, err);
}

/* A row of the word of the tokens FIRST .. LAST-1. */
static enum attn_status append_word(const struct job *job, size_t first, size_t last,
                                    struct attn_table *table, struct attn_error *err)
{
    struct attn_cell row[N_COLUMN] = {attn_cell_integer((int64_t)first)};
    struct attn_buffer text = {0};
    double nats = 0;
    enum attn_status status;

    for (size_t i = first; i < last; i++) {
        attn_buffer_append(&text, job->text.tokens.bytes[i], job->text.tokens.sizes[i]);
        nats += job->scored[i].nats;
    }
    row[2] = attn_cell_text(text.data, text.size);
    if (job->scored[first].is_scored) {
        row[3] = attn_cell_real(nats / M_LN2);
        row[4] = attn_cell_real(nats);
    }
    status = attn_buffer_check(&text, err);
    if (status == ATTN_OK)
        status = attn_table_append(table, row, N_COLUMN, err);
    attn_buffer_release(&text);
    return status;
}

static enum attn_status append_words(const struct job *job, struct attn_table *table,
                                     struct attn_error *err)
{
    const size_t n = job->text.n;
    bool *begins = attn_alloc(n, sizeof *begins, err);
    enum attn_status status = begins ? ATTN_OK : ATTN_NO_MEMORY;

    if (status == ATTN_OK)
        attn_words_mark(job->tokenizer, job->text.ids, n, begins);
    for (size_t first = 0, last; status == ATTN_OK && first < n; first = last) {
        last = first + 1;
        while (last < n && !begins[last])
            last++;
        status = append_word(job, first, last, table, err);
    }
    attn_free(begins);
    return status;
}

static enum attn_status tabulate(const struct job *job, struct attn_table **table,
                                 struct attn_error *err)
{
    struct attn_table *made = NULL;
    enum attn_status status = create_table(&made, err);

    if (status == ATTN_OK && job->args->merges_words)
        status = append_words(job, made, err);
    for (size_t i = 0; status == ATTN_OK && !job->args->merges_words && i < job->text.n; i++)
        status = append_token(job, i, made, err);
    if (status == ATTN_OK)
        *table = made;
    else
        attn_table_free(made);
    return status;
}

/* --- All of it -------------------------------------------------------------------------------- */

static enum attn_status check_args(const struct job *job, struct attn_error *err)
{
    if (job->args->stride > 0 && job->args->stride >= job->n_ctx)
        return attn_error_set(err, ATTN_INVALID,
                              "windows of %zu positions cannot move by %zu, expected 1 to %zu",
                              job->n_ctx, job->args->stride, job->n_ctx - 1);
    if (job->args->merges_words && !job->tokenizer)
        return attn_error_set(err, ATTN_INVALID,
                              "words need the text of tokens, and these tokens have none");
    return ATTN_OK;
}

static enum attn_status prepare(struct job *job, struct attn_error *err)
{
    const struct attn_model *model = attn_host_model(job->host);

    ATTN_TRY(attn_trial_check_host(job->host, err));
    job->n_ctx = attn_model_config(model)->n_ctx;
    job->n_vocab = attn_model_config(model)->n_vocab;
    job->n_row = LOGIT_BYTES / sizeof(float) / job->n_vocab;
    ATTN_TRY(read_tokens(job, err));
    ATTN_TRY(attn_error_at(check_args(job, err), ATTN_STAGE_OPTIONS, err));
    job->n_row = job->n_row == 0 ? 1 : job->n_row < job->text.n ? job->n_row : job->text.n;
    job->scored = attn_alloc(job->text.n, sizeof *job->scored, err);
    job->logits = attn_alloc_uninitialized(job->n_row * job->n_vocab, sizeof *job->logits, err);
    attn_inquiry_choose_nothing(&job->request);
    return job->scored && job->logits ? ATTN_OK : ATTN_NO_MEMORY;
}

static void add_up(const struct job *job, struct attn_score_sum *sum)
{
    *sum = (struct attn_score_sum){0};
    for (size_t i = 0; i < job->text.n; i++) {
        sum->n_token += job->scored[i].is_scored;
        sum->nats += job->scored[i].nats;
    }
}

enum attn_status attn_score(struct attn_host *host, const struct attn_request *request,
                            const struct attn_score_args *given, struct attn_table **table,
                            struct attn_score_sum *sum, struct attn_error *err)
{
    if (!attn_is_given(host, "host", err) || !attn_is_given(request, "request", err) ||
        !attn_is_given(table, "table", err) || !attn_is_given(sum, "sum", err))
        return ATTN_INVALID;
    struct attn_score_args args = ATTN_SCORE_ARGS_DEFAULT;
    struct job job = {.host = host, .request = ATTN_REQUEST_DEFAULT, .args = &args};
    const struct attn_inquiry inquiry = {given, request};
    enum attn_status status = attn_inquiry_read(&inquiry, &args, &job.request, err);

    if (status != ATTN_OK)
        return status;
    if (args.n_text > 0 && !attn_is_given(args.texts, "texts", err))
        return ATTN_INVALID;
    if (args.n_text > 0) {
        attn_inquiry_choose_nothing(&job.request);
        return attn_score_texts(host, &job.request, &args, table, sum, err);
    }
    status = prepare(&job, err);
    if (status == ATTN_OK)
        status = run_windows(&job, err);
    if (status == ATTN_OK)
        status = tabulate(&job, table, err);
    if (status == ATTN_OK)
        add_up(&job, sum);
    attn_free(job.scored);
    attn_free(job.logits);
    attn_sequence_release(&job.text);
    return status;
}
