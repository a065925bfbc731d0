/* generate.c - see generate.h. */
#include "experiment/generate.h"

#include "base/escape.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/status_internal.h"
#include "base/table_internal.h"
#include "base/utf8.h"
#include "experiment/inquiry.h"
#include "experiment/trial.h"
#include "kernels/kernels.h"
#include "run/layer_attention.h"
#include "run/prediction.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { DEFAULT_MOST = 20 };

struct job {
    const struct attn_generate_args *args;
    struct attn_run *run;
    const struct attn_config *config;
    struct attn_session *session; /* owns */
    struct attn_random random;
    float *weights;             /* [V] owns; probabilities */
    struct attn_scored *ranked; /* [V] owns */
    struct attn_buffer text;    /* all that was made */
    size_t n_shown;             /* bytes of it that on_token was told */
    struct attn_generation made;
};

/* --- Before it begins ------------------------------------------------------------------------- */

static enum attn_status check_args(const struct attn_generate_args *args, struct attn_error *err)
{
    if (!(args->temperature >= 0))
        return attn_error_set(err, ATTN_INVALID, "the temperature is %g, expected a number from 0",
                              args->temperature);
    if (!(args->top_p >= 0 && args->top_p <= 1))
        return attn_error_set(err, ATTN_INVALID, "top_p is %g, expected above 0 and at most 1",
                              args->top_p);
    if (!(args->min_p >= 0 && args->min_p < 1))
        return attn_error_set(err, ATTN_INVALID, "min_p is %g, expected 0 to less than 1",
                              args->min_p);
    if (args->temperature == 0 && (args->top_k > 0 || args->top_p > 0 || args->min_p > 0)) {
        attn_error_set(err, ATTN_INVALID,
                       "top_k, top_p and min_p choose among draws, and nothing is drawn without a "
                       "temperature");
        attn_error_hint(err, "--temperature 1 draws from the model's own probabilities");
        return ATTN_INVALID;
    }
    for (size_t i = 0; i < args->n_stop; i++)
        if (args->stops[i][0] == '\0')
            return attn_error_set(err, ATTN_INVALID, "a stop text is empty");
    return ATTN_OK;
}

static enum attn_status prepare(struct job *job, struct attn_host *host,
                                struct attn_request *request, struct attn_error *err)
{
    enum attn_status status = attn_trial_check_host(host, err);

    if (status != ATTN_OK)
        return status;
    attn_inquiry_choose_nothing(request);
    status = attn_run_prepare(host, request, &job->run, err);
    if (status != ATTN_OK)
        return status;
    job->config = attn_model_config(job->run->model);
    status = attn_layer_attention_check_next(job->run->attention.layers, job->config, err);
    if (status == ATTN_OK && job->args->n_stop > 0 && !job->run->tokenizer) {
        attn_error_set(err, ATTN_INVALID, "a stop text is given, but the tokens have no text");
        status = attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    }
    return status;
}

/* Tokens that may be made: the whole must fit the model. */
static size_t most(const struct job *job)
{
    const size_t wanted = job->args->n_most > 0 ? job->args->n_most : DEFAULT_MOST;
    const size_t room = job->config->n_ctx - job->run->text.n;

    return wanted < room ? wanted : room;
}

static enum attn_status allocate(struct job *job, struct attn_error *err)
{
    const struct attn_sequence *text = &job->run->text;
    const size_t n_prompt = text->ids ? text->n : 0, n_vocab = job->config->n_vocab;
    struct attn_generation *made = &job->made;

    made->n_prompt = n_prompt;
    made->ids = attn_alloc(n_prompt + most(job), sizeof *made->ids, err);
    made->log_probabilities = attn_alloc(most(job), sizeof *made->log_probabilities, err);
    job->weights = attn_alloc_uninitialized(n_vocab, sizeof *job->weights, err);
    job->ranked = attn_alloc_uninitialized(n_vocab, sizeof *job->ranked, err);
    if (!made->ids || !made->log_probabilities || !job->weights || !job->ranked)
        return ATTN_NO_MEMORY;
    if (n_prompt > 0)
        memcpy(made->ids, text->ids, n_prompt * sizeof *made->ids);
    attn_random_seed(&job->random, job->args->seed);
    return ATTN_OK;
}

static enum attn_status feed_prompt(struct job *job, struct attn_error *err)
{
    struct attn_trial trial = attn_trial_of(job->run);

    trial.n_more = most(job);
    return attn_trial_run(&trial, &job->session, err);
}

/* --- The next token --------------------------------------------------------------------------- */

/* How many of the N ranked tokens, whose "logits" are probabilities, are kept; *sum is what they add
 * to. */
static size_t count_kept(const struct attn_generate_args *args, const struct attn_scored *ranked,
                         size_t n, double *sum)
{
    size_t n_kept = args->top_k > 0 && args->top_k < n ? args->top_k : n, i;
    double total = 0, so_far = 0;

    for (i = 0; i < n_kept; i++)
        total += ranked[i].logit;
    if (args->top_p > 0 && args->top_p < 1) {
        for (i = 0; i < n_kept && so_far < args->top_p * total; i++)
            so_far += ranked[i].logit;
        n_kept = i;
    }
    while (n_kept > 1 && ranked[n_kept - 1].logit < args->min_p * ranked[0].logit)
        n_kept--;
    *sum = 0;
    for (i = 0; i < n_kept; i++)
        *sum += ranked[i].logit;
    return n_kept;
}

static int32_t draw(struct job *job, const float *logits)
{
    const struct attn_kernels *kernels = attn_kernels_find(job->run->host->options.isa);
    const size_t n = job->config->n_vocab;
    const double scale = fmin(1 / job->args->temperature, (double)FLT_MAX);
    const float largest = logits[attn_logits_first(logits, n)];
    double at, sum, so_far = 0;
    size_t n_kept, i;

    /* The largest becomes 0 before it is multiplied: at a small temperature it would overflow, and
     * the softmax be NaN. Others overflow to -inf, and are never drawn. */
    for (i = 0; i < n; i++)
        job->weights[i] = logits[i] - largest;
    kernels->softmax(job->weights, n, n, (float)scale);
    attn_logits_rank(job->weights, n, job->ranked);
    n_kept = count_kept(job->args, job->ranked, n, &sum);
    at = attn_random_double(&job->random) * sum;
    for (i = 0; i + 1 < n_kept; i++) {
        so_far += job->ranked[i].logit;
        if (at < so_far)
            break;
    }
    return job->ranked[i].id;
}

static bool is_end(const struct job *job, int32_t id)
{
    const struct attn_config *config = job->config;
    size_t size = 0;
    const char *token;

    for (size_t i = 0; i < config->n_end_id; i++)
        if (config->end_ids[i] == id)
            return true;
    if (config->n_end_id > 0 || !job->run->tokenizer ||
        !attn_tokenizer_is_special(job->run->tokenizer, id))
        return false;
    token = attn_tokenizer_token(job->run->tokenizer, id, &size);
    return size == strlen("<|endoftext|>") && memcmp(token, "<|endoftext|>", size) == 0;
}

/* --- Its text --------------------------------------------------------------------------------- */

static enum attn_status append_text(struct job *job, int32_t id, struct attn_error *err)
{
    const struct attn_tokenizer *tokenizer = job->run->tokenizer;
    size_t size = 0;
    const char *token;

    if (!tokenizer)
        return ATTN_OK;
    token = attn_tokenizer_token(tokenizer, id, &size);
    if (job->run->text.is_word_level)
        attn_buffer_append_char(&job->text, ' ');
    if (token)
        attn_buffer_append(&job->text, token, size);
    else
        attn_buffer_append_format(&job->text, "[%d]", (int)id);
    return attn_buffer_check(&job->text, err);
}

/* Where the first stop text begins; the text's size when there is none. */
static size_t find_stop(const struct job *job)
{
    size_t first = job->text.size;

    for (size_t i = 0; i < job->args->n_stop; i++) {
        const char *stop = job->args->stops[i];
        const char *found =
            job->text.size > 0 ? memmem(job->text.data, job->text.size, stop, strlen(stop)) : NULL;

        if (found && (size_t)(found - job->text.data) < first)
            first = (size_t)(found - job->text.data);
    }
    return first;
}

/* Bytes at the end of the text that a stop text may begin with. */
static size_t stop_overlap(const struct job *job)
{
    size_t longest = 0;

    for (size_t i = 0; i < job->args->n_stop; i++) {
        const char *stop = job->args->stops[i];
        size_t n = strlen(stop) - 1;

        n = n < job->text.size ? n : job->text.size;
        while (n > longest && memcmp(job->text.data + job->text.size - n, stop, n) != 0)
            n--;
        longest = n > longest ? n : longest;
    }
    return longest;
}

/* Bytes at the end of the text that begin a character and do not finish it. */
static size_t unfinished(const struct attn_buffer *text)
{
    const size_t most = text->size < 3 ? text->size : 3;

    for (size_t n = 1; n <= most; n++) {
        const unsigned char c = (unsigned char)text->data[text->size - n];
        const size_t width = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;

        if (width > 1)
            return width > n ? n : 0;
        if (c < 0x80)
            return 0;
    }
    return 0;
}

/* Tells of ID and of the text up to END. */
static enum attn_status show(struct job *job, int32_t id, size_t end, struct attn_error *err)
{
    const size_t begin = job->n_shown;

    if (!job->args->on_token || (id < 0 && end <= begin))
        return ATTN_OK;
    job->n_shown = end > begin ? end : begin;
    return attn_call_status(job->args->on_token(job->args->user, id,
                                                job->run->tokenizer ? job->text.data + begin : NULL,
                                                job->n_shown - begin, err),
                            "on_token", err);
}

static enum attn_status show_token(struct job *job, int32_t id, struct attn_error *err)
{
    const size_t overlap = stop_overlap(job), rest = unfinished(&job->text);

    return show(job, id, job->text.size - (overlap > rest ? overlap : rest), err);
}

/* --- Token by token --------------------------------------------------------------------------- */

/* Makes one token; *is_over when it was the last. */
static enum attn_status make_token(struct job *job, bool *is_over, struct attn_error *err)
{
    struct attn_generation *made = &job->made;
    const float *logits;
    int32_t id;
    enum attn_status status = attn_session_logits(job->session, &logits, err);

    if (status != ATTN_OK)
        return status;
    id = job->args->temperature > 0 ? draw(job, logits)
                                    : attn_logits_first(logits, job->config->n_vocab);
    if (is_end(job, id)) {
        made->end = ATTN_GENERATION_TEXT_END;
        *is_over = true;
        return ATTN_OK;
    }
    status = attn_session_log_probability(job->session, id, &made->log_probabilities[made->n], err);
    if (status == ATTN_OK)
        status = append_text(job, id, err);
    if (status != ATTN_OK)
        return status;
    made->ids[made->n_prompt + made->n++] = id;
    if (find_stop(job) < job->text.size) {
        job->text.size = find_stop(job);
        made->end = ATTN_GENERATION_STOP;
        *is_over = true;
        return ATTN_OK;
    }
    return show_token(job, id, err);
}

static enum attn_status make_tokens(struct job *job, struct attn_error *err)
{
    struct attn_generation *made = &job->made;
    const size_t n_most = most(job);
    bool is_over = n_most == 0;
    enum attn_status status = ATTN_OK;

    made->end = n_most < (job->args->n_most > 0 ? job->args->n_most : DEFAULT_MOST)
                    ? ATTN_GENERATION_CONTEXT
                    : ATTN_GENERATION_LENGTH;
    while (status == ATTN_OK && !is_over) {
        status = make_token(job, &is_over, err);
        is_over = is_over || made->n == n_most;
        if (status == ATTN_OK && !is_over)
            status =
                attn_session_feed(job->session, &made->ids[made->n_prompt + made->n - 1], 1, err);
        if (status == ATTN_OK)
            status = attn_host_check_canceled(job->run->host, err);
    }
    if (status == ATTN_OK)
        status = show(job, -1, job->text.size, err);
    return attn_error_at(status, ATTN_STAGE_MODEL, err);
}

/* The text is handed over. */
static void take_text(struct job *job)
{
    if (!job->run->tokenizer)
        return;
    job->made.text = job->text.data;
    job->made.n_text = job->text.size;
    job->text = (struct attn_buffer){0};
}

enum attn_status attn_generate(struct attn_host *host, const struct attn_request *request,
                               const struct attn_generate_args *given, struct attn_generation *made,
                               struct attn_error *err)
{
    if (!attn_is_given(host, "host", err) || !attn_is_given(request, "request", err) ||
        !attn_is_given(made, "made", err))
        return ATTN_INVALID;
    struct attn_generate_args args = ATTN_GENERATE_ARGS_DEFAULT;
    struct attn_request asked = ATTN_REQUEST_DEFAULT;
    struct job job = {.args = &args};
    const struct attn_inquiry inquiry = {given, request};
    enum attn_status status = attn_inquiry_read(&inquiry, &args, &asked, err);

    if (status == ATTN_OK)
        status = attn_error_at(check_args(&args, err), ATTN_STAGE_OPTIONS, err);
    if (status == ATTN_OK)
        status = prepare(&job, host, &asked, err);
    if (status == ATTN_OK)
        status = allocate(&job, err);
    if (status == ATTN_OK)
        status = feed_prompt(&job, err);
    if (status == ATTN_OK)
        status = make_tokens(&job, err);
    if (status == ATTN_OK) {
        take_text(&job);
        *made = job.made;
    } else {
        attn_generation_release(&job.made);
    }
    attn_session_free(job.session);
    attn_buffer_release(&job.text);
    attn_free(job.weights);
    attn_free(job.ranked);
    attn_run_free(job.run);
    return status;
}

enum attn_status attn_generation_table(const struct attn_host *host,
                                       const struct attn_generation *made,
                                       struct attn_table **table, struct attn_error *err)
{
    if (!attn_is_given(host, "host", err) || !attn_is_given(made, "made", err) ||
        !attn_is_given(table, "table", err))
        return ATTN_INVALID;
    static const struct attn_column columns[] = {
        {.name = "position", .type = ATTN_VALUE_INTEGER},
        {.name = "id", .type = ATTN_VALUE_INTEGER},
        {.name = "token", .type = ATTN_VALUE_TEXT},
        {.name = "log_probability",
         .type = ATTN_VALUE_REAL,
         .unit = "nats",
         .notation = ATTN_NOTATION_FIXED,
         .digits = 4},
    };
    enum { N_COLUMN = sizeof columns / sizeof *columns };
    const struct attn_tokenizer *tokenizer = NULL;
    struct attn_table *created = NULL;
    enum attn_status status = attn_table_create("generate", columns, N_COLUMN, &created, err);

    (void)attn_host_tokenizer(host, &tokenizer, NULL); /* without one tokens have no text */
    for (size_t i = 0; status == ATTN_OK && i < made->n; i++) {
        const int32_t id = made->ids[made->n_prompt + i];
        size_t size = 0;
        const char *token = tokenizer ? attn_tokenizer_token(tokenizer, id, &size) : NULL;
        const struct attn_cell row[] = {attn_cell_integer((int64_t)(made->n_prompt + i)),
                                        attn_cell_integer(id), attn_cell_text(token, size),
                                        attn_cell_real(made->log_probabilities[i])};

        status = attn_table_append(created, row, N_COLUMN, err);
    }
    if (status == ATTN_OK)
        *table = created;
    else
        attn_table_free(created);
    return status;
}

void attn_generation_release(struct attn_generation *made)
{
    if (!made)
        return;
    attn_free(made->ids);
    attn_free(made->log_probabilities);
    attn_free(made->text);
    *made = (struct attn_generation){0};
}

const char *attn_generation_end_text(enum attn_generation_end end)
{
    static const char *const texts[] = {
#define END_TEXT(id, text) text,
        ATTN_GENERATION_END_MAP(END_TEXT)
#undef END_TEXT
    };

    return (size_t)end < sizeof texts / sizeof *texts ? texts[end] : NULL;
}
