/* speech_times.c - when tokens and words were spoken: see align_extra.h. */
#include "align/align_extra.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/fixed_text.h"
#include "base/text/given.h"
#include "frame/asked.h"
#include "frame/text_words.h"
#include "means/rows.h"
#include "model/model_internal.h"
#include "run/prepared_extra.h"
#include "sound/speech.h"
#include "tables/table_internal.h"
#include "tokenizer/tokenizer_internal.h"
#include "trace/capture.h"
#include "trace/model_stack.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* --- Times of tokens -------------------------------------------------------------------------- */

enum { USUAL_MEDIAN = 7 }; /* frames of the median filter */

static const double frame_seconds = 0.02;

/* The last step of a path: to the next token and the next frame, to the next token, or to the next
 * frame. */
enum step { BOTH, TOKEN, FRAME };

/* Which rows have times, and how weights are smoothed. */
struct times_form {
    size_t first, n; /* the N rows from FIRST on; SIZE_MAX: all rows */
    size_t n_median; /* frames of the median, odd */
};

/* Matrices [n, n_frame]. */
struct times {
    size_t n, n_frame;        /* tokens and frames */
    struct attn_store *store; /* owns; has the arrays */
    size_t first, n_row;      /* the tokens are rows FIRST to FIRST + N of N_ROW rows */
    double *head;             /* [n_row, n_frame] the standardized weights of one head */
    size_t n_median;          /* frames of the median */
    double *sorted;           /* [n_median] */
    double *mean;             /* mean over heads of the smoothed weights */
    float *costs;             /* cost of the best path to each cell */
    unsigned char *steps;     /* enum step: last step of that path */
};

/* Copies the weights of a head and standardizes each column over the tokens. A column whose weights
 * are equal within float32 precision becomes 0. */
static void standardize(struct times *times, const float *weights)
{
    const size_t n_cell = times->n_row * times->n_frame;

    for (size_t f = 0; f < times->n_frame; f++) {
        double mean = 0, square = 0, d;

        for (size_t i = f; i < n_cell; i += times->n_frame)
            mean += (double)weights[i] / (double)times->n_row;
        for (size_t i = f; i < n_cell; i += times->n_frame)
            d = (double)weights[i] - mean, square += d * d / (double)times->n_row;
        for (size_t i = f; i < n_cell; i += times->n_frame)
            times->head[i] =
                square > 1e-12 * mean * mean ? ((double)weights[i] - mean) / sqrt(square) : 0;
    }
}

/* Returns the median of ROW [n_frame] around AT; the row is reflected at its ends. */
static double median(const struct times *times, const double *row, size_t at)
{
    const size_t n = times->n_frame, half = times->n_median / 2;
    double *sorted = times->sorted;

    if (n <= half)
        return row[at];
    for (size_t k = 0; k < times->n_median; k++) {
        const size_t from = at + k < half ? half - at - k : at + k - half;
        const double value = row[from < n ? from : 2 * (n - 1) - from];
        size_t i = k;

        for (; i > 0 && sorted[i - 1] > value; i--)
            sorted[i] = sorted[i - 1];
        sorted[i] = value;
    }
    return sorted[half];
}

/* Computes costs and steps. Ties and rounding are as in openai-whisper. */
static void warp(struct times *times)
{
    const size_t n_frame = times->n_frame;

    for (size_t i = 0; i < times->n * n_frame; i++) {
        const float *last = times->costs + i;
        const bool has_token = i >= n_frame, has_frame = i % n_frame > 0;
        const float token = has_token ? *(last - n_frame) : INFINITY;
        const float frame = has_frame ? last[-1] : INFINITY;
        const float both = has_token && has_frame ? *(last - n_frame - 1) : i ? INFINITY : 0;
        const enum step step = both < token && both < frame    ? BOTH
                               : token < both && token < frame ? TOKEN
                                                               : FRAME;

        times->steps[i] = (unsigned char)step;
        times->costs[i] = (float)((double)(step == BOTH    ? both
                                           : step == TOKEN ? token
                                                           : frame) -
                                  times->mean[i]);
    }
}

/* Traces the path backwards to find where each token begins, and appends the rows. */
static enum attn_status append_rows(const struct times *times, struct attn_table *table,
                                    struct attn_error *err)
{
    const size_t n = times->n, n_frame = times->n_frame;
    size_t *begins = NULL; /* [n + 1] */
    enum attn_status status = ATTN_ALLOC(begins, n + 1, err);

    ATTN_TRY(status);
    begins[n] = n_frame;
    for (size_t i = n, f = n_frame - 1; i-- > 0;) {
        while (f > 0 && times->steps[i * n_frame + f] == FRAME)
            f--;
        begins[i] = f;
        f -= f > 0 && times->steps[i * n_frame + f] == BOTH;
    }
    for (size_t i = 0; i < n && status == ATTN_OK; i++)
        status = attn_table_append(
            table,
            (struct attn_cell[]){attn_cell_integer((int64_t)i),
                                 attn_cell_integer((int64_t)begins[i]),
                                 attn_cell_real((double)begins[i] * frame_seconds),
                                 attn_cell_real((double)begins[i + 1] * frame_seconds)},
            4, err);
    attn_free(begins);
    return status;
}

static enum attn_status find(struct times *times, const float *weights, size_t n_head,
                             struct attn_table *table, struct attn_error *err)
{
    const size_t n_cell = attn_size_mul(times->n, times->n_frame);
    const size_t n_all = attn_size_mul(times->n_row, times->n_frame);

    ATTN_TRY(ATTN_STORE_ALLOC(&times->store, times->sorted, times->n_median, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&times->store, times->head, n_all, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&times->store, times->mean, n_cell, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&times->store, times->costs, n_cell, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&times->store, times->steps, n_cell, err));
    for (size_t h = 0; h < n_head; h++) {
        const double *head = times->head + times->first * times->n_frame;

        standardize(times, weights + h * n_all);
        for (size_t i = 0, f = 0; i < n_cell; i++, f = i % times->n_frame)
            times->mean[i] += median(times, head + i - f, f) / (double)n_head;
    }
    warp(times);
    return append_rows(times, table, err);
}

/* As attn_token_times, by FORM. Weights are standardized over all rows, as openai-whisper does. */
static enum attn_status find_times(const struct attn_ndarray *weights,
                                   const struct times_form *form, struct attn_table **table,
                                   struct attn_error *err)
{
    static const struct attn_column columns[] = {
        ATTN_COLUMN("token", INTEGER), ATTN_COLUMN("frame", INTEGER),
        ATTN_COLUMN_REAL("begin", 2, "s", POSITIVE), ATTN_COLUMN_REAL("end", 2, "s", POSITIVE)};
    struct attn_table *made = NULL;
    struct times times = {0};
    enum attn_status status;

    ATTN_NEED(err, weights, table);
    if (weights->rank != 2 && weights->rank != 3)
        return attn_error_set(err, ATTN_INVALID, "`weights` has %d axes, expected [H, T, S]",
                              weights->rank);
    times.n_row = weights->shape[weights->rank - 2];
    times.n = form->n < SIZE_MAX ? form->n : times.n_row;
    times.first = form->first;
    times.n_median = form->n_median;
    times.n_frame = weights->shape[weights->rank - 1];
    const size_t n_head = weights->rank == 3 ? weights->shape[0] : 1;

    for (size_t i = 0; i < n_head * times.n_row * times.n_frame; i++)
        if (!isfinite(weights->data[i]))
            return attn_error_set(err, ATTN_INVALID, "'%s' has %g at element %zu",
                                  attn_quote_string(weights->name ? weights->name : "weights").text,
                                  (double)weights->data[i], i);
    ATTN_TRY(attn_table_create("times", columns, sizeof columns / sizeof *columns, &made, err));
    status = find(&times, weights->data, n_head, made, err);
    attn_store_release(&times.store);
    ATTN_RETURN_MADE(status, table, made, attn_table_free);
}

enum attn_status attn_token_times(const struct attn_ndarray *weights, struct attn_table **table,
                                  struct attn_error *err)
{
    const struct times_form form = {.n = SIZE_MAX, .n_median = USUAL_MEDIAN};

    return find_times(weights, &form, table, err);
}

enum { SAMPLE_RATE = 16000, FRAMES_OF_MEL = 2 /* a position of the encoder */ };

struct speech {
    const struct attn_model *model;
    struct attn_run *run;         /* owns; of the text or the ids */
    struct attn_run *heard;       /* owns; the same tokens and an end token, or NULL: `run` */
    int32_t *ids;                 /* owns; the ids of `heard` */
    size_t n_token;               /* of the run whose weights are read */
    struct attn_capture *capture; /* owns */
    struct attn_text_words words; /* owns */
    const char *text;             /* the transcript; NULL for ids */
    const struct attn_tokenizer *tokenizer;
    size_t first, end; /* the tokens from the first to the last that have a time */
    float *weights;    /* [n_head, tokens, n_frame] owns */
    size_t n_head, n_frame;
};

/* --- Heads and frames ------------------------------------------------------------------------ */

/* Finds the heads that align: those of the model, or with a note all of the upper half of its
 * layers, written to HALF [size]. */
static enum attn_status find_heads(const struct attn_model *model,
                                   const struct attn_request *request, char *half, size_t size,
                                   const char **heads, struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(model);
    size_t n_layer = 0;

    *heads = model->encoder->speech->alignment_heads;
    if (model->encoder->speech->bad_heads.status != ATTN_OK)
        return attn_error_copy(err, &model->encoder->speech->bad_heads);
    if (*heads)
        return ATTN_OK;
    for (size_t i = 0; i < config->n_layer; i++)
        n_layer += config->is_cross[i];
    snprintf(half, size, "cross:%zu-%zu.*", n_layer / 2, n_layer - 1);
    *heads = half;
    attn_note(request->on_note, request->user, ATTN_NOTE_ASSUMED,
              "no 'alignment_heads' in generation_config.json: all heads of the upper half of the "
              "layers are averaged");
    return ATTN_OK;
}

/* Returns the positions of the encoder that hear the sound, and not the silence behind it. */
static size_t count_frames(const struct speech *speech, const struct attn_ndarray *source)
{
    const size_t hop = speech->model->encoder->speech->n_hop * FRAMES_OF_MEL;
    const size_t n = attn_asked_source(speech->run)->n;
    size_t heard;

    if (!attn_ndarray_is_sound(source))
        return n;
    heard = source->shape[0] / hop;
    return heard < 1 ? 1 : heard < n ? heard : n;
}

/* Calls USE with the pattern of each selected head that attends to the source. */
static void for_each_head(struct speech *speech,
                          void (*use)(struct speech *speech, const float *pattern))
{
    const struct attn_config *config = attn_model_config(speech->model);
    struct attn_location at = {.site = ATTN_SITE_PATTERN, .stack = ATTN_STACK_CROSS};

    for (at.layer = 0; at.layer < (int)config->n_layer; at.layer++)
        for (at.head = 0; at.head < (int)config->n_head; at.head++)
            if (attn_capture_head(speech->capture, &at))
                use(speech, attn_capture_head(speech->capture, &at));
}

static void count_head(struct speech *speech, const float *pattern)
{
    (void)pattern;
    speech->n_head++;
}

/* Appends the rows of PATTERN, as if the frames that are left out had been masked. */
static void copy_head(struct speech *speech, const float *pattern)
{
    const size_t n_key = attn_asked_source(speech->run)->n, n_frame = speech->n_frame;
    float *rows = speech->weights + speech->n_head++ * speech->n_token * n_frame;

    for (size_t t = 0; t < speech->n_token; t++) {
        double sum = 0;

        for (size_t i = 0; i < n_frame; i++)
            sum += (double)pattern[t * n_key + i];
        for (size_t i = 0; i < n_frame; i++)
            rows[t * n_frame + i] = (float)((double)pattern[t * n_key + i] / sum);
    }
}

/* --- Words ------------------------------------------------------------------------------------ */

/* Whether the last token of the text ends it. */
static bool has_end(const struct speech *speech)
{
    const struct attn_config *config = attn_model_config(speech->model);
    const struct attn_sequence *text = attn_asked_text(speech->run);
    bool is_end = false;

    for (size_t i = 0; i < config->n_end_id && text->n > 0; i++)
        is_end = is_end || text->ids[text->n - 1] == config->end_ids[i];
    return is_end;
}

/* Whether token T is of a word: of the text, and not special; of ids all but the first, and an end
 * token that is the last. */
static bool is_of_word(const struct speech *speech, size_t t)
{
    if (!speech->text)
        return t > 0 && (t + 1 < attn_asked_n(speech->run) || !has_end(speech));
    return speech->words.of[t] != SIZE_MAX &&
           !attn_tokenizer_is_special(speech->tokenizer, attn_asked_text(speech->run)->ids[t]);
}

/* Finds the words of the text, and the first and the last token of them. */
static enum attn_status find_words(struct speech *speech, struct attn_error *err)
{
    const struct attn_sequence *text = attn_asked_text(speech->run);

    if (speech->text) {
        ATTN_TRY(
            attn_text_words_split(speech->text, text->input->n_text, NULL, &speech->words, err));
        ATTN_TRY(attn_text_words_assign(&text->encoding, speech->text, text->input->n_text, 0,
                                        &speech->words, err));
    }
    for (size_t t = 0; t < text->n; t++) {
        if (!is_of_word(speech, t))
            continue;
        speech->first = speech->end == 0 ? t : speech->first;
        speech->end = t + 1;
    }
    if (speech->end == 0)
        return attn_error_set(err, ATTN_INVALID, "the text has no words");
    if (speech->first == 0)
        return attn_error_set(err, ATTN_INVALID,
                              "the text has no token before its first word, which predicts it");
    return ATTN_OK;
}

/* Returns when token T begins, in seconds. TIMES are those of the tokens from the first on. */
static double begin_of(const struct speech *speech, const struct attn_table *times, size_t t)
{
    const size_t hop = speech->model->encoder->speech->n_hop * FRAMES_OF_MEL;

    return (double)attn_table_cell(times, t - speech->first, attn_table_find(times, "frame"))
               .integer *
           (double)hop / SAMPLE_RATE;
}

/* Returns the text of WORD from its token T to LAST, without special tokens around it. */
static struct attn_cell cell_of_word(const struct speech *speech, size_t t, size_t last,
                                     size_t word)
{
    const struct attn_encoding *encoding = &attn_asked_text(speech->run)->encoding;
    size_t begin = speech->words.items[word].begin, end = speech->words.items[word].end;

    if (encoding->begin[t] > begin && encoding->begin[t] < end)
        begin = encoding->begin[t];
    if (encoding->end[last] > begin && encoding->end[last] < end)
        end = encoding->end[last];
    return attn_cell_text(speech->text + begin, end - begin);
}

/* Appends a row for each word. A word ends where the token behind it begins. */
static enum attn_status append_words(const struct speech *speech, const struct attn_table *times,
                                     struct attn_table *table, struct attn_error *err)
{
    int64_t n_word = 0;

    for (size_t t = speech->first, end; t < speech->end; t = end) {
        const size_t word = speech->text ? speech->words.of[t] : t - 1;
        char id[16];
        const int n = snprintf(id, sizeof id, "%d", (int)attn_asked_text(speech->run)->ids[t]);
        struct attn_cell row[4];

        end = t + 1;
        if (!is_of_word(speech, t))
            continue;
        while (speech->text && end < speech->end && speech->words.of[end] == word &&
               is_of_word(speech, end))
            end++;
        row[0] = attn_cell_integer(n_word++);
        row[1] = attn_cell_text(id, (size_t)n);
        if (speech->text)
            row[1] = cell_of_word(speech, t, end - 1, word);
        row[2] = attn_cell_real(begin_of(speech, times, t));
        row[3] = attn_cell_real(begin_of(speech, times, end));
        ATTN_TRY(attn_table_append(table, row, 4, err));
    }
    return ATTN_OK;
}

/* --- All of it -------------------------------------------------------------------------------- */

static enum attn_status check_model(const struct attn_request *request,
                                    const struct attn_model *model, struct attn_error *err)
{
    if (!model || !model->encoder || model->encoder->config.stack.n_mel == 0)
        return attn_error_set(err, ATTN_INVALID, "'%s' is no model of speech",
                              attn_quote_string(model ? attn_model_name(model) : "").text);
    if (!request->source.embeddings)
        return attn_error_set(err, ATTN_INVALID, "times of words need a sound as source");
    return ATTN_OK;
}

/* Prepares a run of the tokens of the text and of an end token, which the model hears at the end of
 * a sound, as openai-whisper does. */
static enum attn_status add_end(struct speech *speech, struct attn_host *host,
                                const struct attn_request *request, struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(speech->model);
    const struct attn_sequence *text = attn_asked_text(speech->run);
    struct attn_request ended = *request;

    if (has_end(speech) || config->n_end_id == 0)
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(speech->ids, text->n + 1, err));
    memcpy(speech->ids, text->ids, text->n * sizeof *speech->ids);
    speech->ids[text->n] = (int32_t)config->end_ids[0];
    ended.input = (struct attn_input){.ids = speech->ids, .n_id = text->n + 1};
    ended.on_note = NULL; /* `run` has sent the notes */
    return attn_run_open(host, NULL, &ended, &speech->heard, err);
}

/* Runs the transcript and copies the weights of the heads. */
static enum attn_status listen(struct speech *speech, struct attn_host *host,
                               const struct attn_request *request, struct attn_error *err)
{
    struct attn_result result = {0};
    struct attn_run *heard;

    ATTN_TRY(attn_run_open(host, NULL, request, &speech->run, err));
    speech->text = request->input.text;
    if (speech->text)
        ATTN_TRY(attn_host_tokenizer(host, &speech->tokenizer, err));
    ATTN_TRY(attn_error_at(find_words(speech, err), ATTN_STAGE_INPUT, err));
    ATTN_TRY(add_end(speech, host, request, err));
    heard = speech->heard ? speech->heard : speech->run;
    speech->n_token = attn_asked_n(heard);
    ATTN_TRY(attn_capture_create(attn_run_selection(heard), &speech->capture, err));
    ATTN_TRY(attn_run_perform(heard, attn_capture_trace(speech->capture), &result, err));
    attn_result_release(&result);
    for_each_head(speech, count_head);
    if (speech->n_head == 0)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`heads` are '%s', none of which attends to the sound",
                           attn_quote_string(request->selection.heads).text);
    speech->n_frame = count_frames(speech, request->source.embeddings);
    ATTN_TRY(ATTN_ALLOC(
        speech->weights,
        attn_size_mul(speech->n_head, attn_size_mul(speech->n_token, speech->n_frame)), err));
    speech->n_head = 0;
    for_each_head(speech, copy_head);
    return ATTN_OK;
}

static enum attn_status make_table(const struct speech *speech, struct attn_table **table,
                                   struct attn_error *err)
{
    static const struct attn_column columns[] = {
        ATTN_COLUMN("word_index", INTEGER), ATTN_COLUMN("word", TEXT),
        ATTN_COLUMN_REAL("begin", 2, "s", POSITIVE), ATTN_COLUMN_REAL("end", 2, "s", POSITIVE)};
    const struct attn_ndarray weights = {
        .data = speech->weights,
        .rank = 3,
        .shape = {speech->n_head, speech->n_token, speech->n_frame}};
    const struct times_form form = {.first = speech->first - 1,
                                    .n = speech->end - speech->first + 1,
                                    .n_median = speech->model->encoder->speech->n_median};
    struct attn_table *times, *made = NULL;
    enum attn_status status;

    /* the row of a token predicts the next one; the last of them what follows the text */
    ATTN_TRY(find_times(&weights, &form, &times, err));
    status = attn_table_create("times", columns, sizeof columns / sizeof *columns, &made, err);
    ATTN_THEN(status, append_words(speech, times, made, err));
    attn_table_free(times);
    ATTN_RETURN_MADE(status, table, made, attn_table_free);
}

enum attn_status attn_speech_times(struct attn_host *host, const struct attn_request *request,
                                   const char *heads, struct attn_table **table,
                                   struct attn_error *err)
{
    struct speech speech = {0};
    struct attn_request asked;
    char half[64];
    enum attn_status status;

    ATTN_NEED(err, host, request, table);
    speech.model = attn_host_model(host);
    ATTN_TRY(attn_error_at(check_model(request, speech.model, err), ATTN_STAGE_INPUT, err));
    asked = *request;
    asked.selection = (struct attn_request_selection){0};
    asked.selection.sites = "pattern";
    status = speech.model->encoder->speech->bad_median.status == ATTN_OK
                 ? ATTN_OK
                 : attn_error_copy(err, &speech.model->encoder->speech->bad_median);
    if (status == ATTN_OK && !heads)
        status = find_heads(speech.model, request, half, sizeof half, &heads, err);
    ATTN_TRY(attn_error_at(status, ATTN_STAGE_MODEL, err));
    asked.selection.heads = heads;
    status = listen(&speech, host, &asked, err);
    ATTN_THEN(status, attn_error_at(make_table(&speech, table, err), ATTN_STAGE_MODEL, err));
    attn_capture_free(speech.capture);
    attn_run_free(speech.heard);
    attn_run_free(speech.run);
    attn_free(speech.ids);
    attn_text_words_release(&speech.words);
    attn_free(speech.weights);
    return status;
}
