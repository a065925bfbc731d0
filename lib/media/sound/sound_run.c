/*
 * sound_run.c - what a run does with sound: a spectrogram, made of samples as
 * WhisperFeatureExtractor of transformers makes it, and two convolutions over it.
 *
 * Frames of n_fft samples with the periodic Hann window, centred on every n_hop-th sample, mirrored
 * at both ends; their power in bands of the mel scale (Slaney's, of area 1); log10, at least -10
 * and at most 8 below the largest; (x + 4) / 4. All sums are in double precision.
 */
#include "base/elementary.h"
#include "base/memory.h"
#include "base/pool_internal.h"
#include "base/status_internal.h"
#include "formats/ndarray.h"
#include "input/encoder.h"
#include "model/model_internal.h"
#include "run/run_internal.h"
#include "sound/sound_internal.h"
#include "sound/speech.h"

#include <string.h>

/* --- The spectrogram -------------------------------------------------------------------------- */

enum { RATE = 16000, TOP = 8000 /* Hz, of the highest band */, MAX_BIN = 2049 };

struct spectrum {
    const float *samples;
    size_t n_sample, n_whole; /* given; with the silence after them */
    size_t n_fft, n_hop, n_bin, n_mel, n_column;
    double *cosines, *sines; /* [n_fft / 2 + 1, n_bin] */
    double *window;          /* [n_fft] */
    double *bands;           /* [n_mel, n_bin] */
    float *mel;              /* [n_mel, n_column] log10 */
};

/* Returns sample AT of the whole sound, mirrored at both ends. */
static double sample_at(const struct spectrum *s, ptrdiff_t at)
{
    const ptrdiff_t last = (ptrdiff_t)s->n_whole - 1;

    at = at < 0 ? -at : at;
    at = at > last ? 2 * last - at : at;
    return at < (ptrdiff_t)s->n_sample ? (double)s->samples[at] : 0;
}

/* Adds the sample X, whose cosines and sines are those of row ROW, to the sums. */
static void add(const struct spectrum *s, size_t row, double even, double odd, double *re,
                double *im)
{
    const double *cosines = s->cosines + row * s->n_bin, *sines = s->sines + row * s->n_bin;

    for (size_t bin = 0; bin < s->n_bin; bin++) {
        re[bin] += even * cosines[bin];
        im[bin] += odd * sines[bin];
    }
}

/* An attn_task_fn that computes column TASK. Samples i and n_fft - i have the same cosine and
 * opposite sines, so they are added first. */
static void compute_column(void *context, size_t task, int worker)
{
    const struct spectrum *s = context;
    const ptrdiff_t first = (ptrdiff_t)(task * s->n_hop) - (ptrdiff_t)(s->n_fft / 2);
    double re[MAX_BIN], im[MAX_BIN];

    (void)worker;
    memset(re, 0, s->n_bin * sizeof *re);
    memset(im, 0, s->n_bin * sizeof *im);
    for (size_t i = 0; i <= s->n_fft / 2; i++) {
        const size_t other = s->n_fft - i;
        const bool is_pair = i > 0 && other != i;
        const double a = s->window[i] * sample_at(s, first + (ptrdiff_t)i);
        const double b = is_pair ? s->window[other] * sample_at(s, first + (ptrdiff_t)other) : 0;

        if (a != 0 || b != 0)
            add(s, i, a + b, a - b, re, im);
    }
    for (size_t bin = 0; bin < s->n_bin; bin++)
        re[bin] = re[bin] * re[bin] + im[bin] * im[bin];
    for (size_t band = 0; band < s->n_mel; band++) {
        const double *weights = s->bands + band * s->n_bin;
        double sum = 0;

        for (size_t bin = 0; bin < s->n_bin; bin++)
            sum += weights[bin] * re[bin];
        s->mel[band * s->n_column + task] = (float)attn_log10(sum > 1e-10 ? sum : 1e-10);
    }
}

/* Slaney's mel scale: linear below 1000 Hz, logarithmic above. */
static double mel_of(double hertz)
{
    return hertz < 1000 ? 3 * hertz / 200 : 15 + attn_log(hertz / 1000) * 27 / attn_log(6.4);
}

static double hertz_of(double mel)
{
    return mel < 15 ? 200 * mel / 3 : 1000 * attn_exp(attn_log(6.4) / 27 * (mel - 15));
}

static void make_tables(struct spectrum *s)
{
    static const double turn = 6.283185307179586476925287;
    const double step = mel_of(TOP) / (double)(s->n_mel + 1);

    for (size_t i = 0; i < s->n_fft; i++)
        s->window[i] = 0.5 - 0.5 * attn_cos(turn * (double)i / (double)s->n_fft);
    for (size_t i = 0; i <= s->n_fft / 2; i++)
        for (size_t bin = 0; bin < s->n_bin; bin++) {
            const double angle = turn * (double)(i * bin % s->n_fft) / (double)s->n_fft;

            s->cosines[i * s->n_bin + bin] = attn_cos(angle);
            s->sines[i * s->n_bin + bin] = attn_sin(angle);
        }
    for (size_t band = 0; band < s->n_mel; band++) {
        const double low = hertz_of(step * (double)band), top = hertz_of(step * (double)(band + 1));
        const double high = hertz_of(step * (double)(band + 2));

        for (size_t bin = 0; bin < s->n_bin; bin++) {
            const double hertz = (double)bin * (RATE / 2.0) / (double)(s->n_bin - 1);
            const double up = (hertz - low) / (top - low), down = (high - hertz) / (high - top);
            const double weight = up < down ? up : down;

            s->bands[band * s->n_bin + bin] = weight > 0 ? weight * 2 / (high - low) : 0;
        }
    }
}

/* Limits the values to 8 below the largest, and scales them. */
static void scale(struct spectrum *s)
{
    const size_t n = s->n_mel * s->n_column;
    float most = s->mel[0];

    for (size_t i = 1; i < n; i++)
        most = s->mel[i] > most ? s->mel[i] : most;
    for (size_t i = 0; i < n; i++)
        s->mel[i] = ((s->mel[i] > most - 8 ? s->mel[i] : most - 8) + 4) / 4;
}

/* Returns the number of samples that MODEL, an encoder of sound, hears. */
static size_t n_sample_of(const struct attn_model *model)
{
    return 2 * model->config.n_ctx * model->speech->n_hop;
}

/* Makes MEL, whose data the caller frees, of SAMPLES for the encoder MODEL. Fewer samples are
 * followed by silence, more are left out. ATTN_UNSUPPORTED if preprocessor_config.json asks for
 * anything else. */
static enum attn_status make_log_mel(const struct attn_model *model,
                                     const struct attn_ndarray *samples, struct attn_pool *pool,
                                     struct attn_ndarray *mel, struct attn_error *err)
{
    const size_t n_fft = model->speech->n_fft, n_bin = n_fft / 2 + 1;
    const size_t n_mel = model->config.stack.n_mel, n_column = 2 * model->config.n_ctx;
    struct spectrum s = {.samples = samples->data,
                         .n_whole = n_sample_of(model),
                         .n_fft = n_fft,
                         .n_hop = model->speech->n_hop,
                         .n_bin = n_bin,
                         .n_mel = n_mel,
                         .n_column = n_column};

    if (model->speech->failure.status != ATTN_OK)
        return attn_error_copy(err, &model->speech->failure);
    s.n_sample = samples->shape[0] < s.n_whole ? samples->shape[0] : s.n_whole;
    s.cosines =
        attn_alloc(2 * (n_fft / 2 + 1) * n_bin + n_fft + n_mel * n_bin, sizeof(double), err);
    s.mel = attn_alloc(n_mel * n_column, sizeof *s.mel, err);
    if (!s.cosines || !s.mel) {
        attn_free(s.cosines);
        attn_free(s.mel);
        return ATTN_NO_MEMORY;
    }
    s.sines = s.cosines + (n_fft / 2 + 1) * n_bin;
    s.window = s.sines + (n_fft / 2 + 1) * n_bin;
    s.bands = s.window + n_fft;
    make_tables(&s);
    attn_pool_run(pool, n_column, compute_column, &s);
    scale(&s);
    attn_free(s.cosines);
    *mel = (struct attn_ndarray){
        .name = samples->name, .rank = 2, .shape = {n_mel, n_column}, .data = s.mel};
    return ATTN_OK;
}

/* --- The convolutions ------------------------------------------------------------------------- */

enum { KERNEL = 3 }; /* width of the convolution: the column before, the column, the column after */

/* One convolution over the columns of the spectrogram, with its input and output. */
struct convolution {
    const struct attn_linear *linear;
    size_t stride;
    const float *x; /* [n, c] a row for each column of the spectrogram */
    size_t n;
    float *y; /* [n / stride, D] */
};

/* Y = gelu(W X + b). */
static enum attn_status convolve(const struct convolution *convolution,
                                 const struct attn_sequence *sequence, struct attn_error *err)
{
    const size_t n_in = convolution->linear->weight.n_row, c = n_in / KERNEL;
    const size_t n = convolution->n, stride = convolution->stride, n_out = n / stride;
    float *windows = attn_alloc(n_out, n_in * sizeof *windows, err);
    const struct attn_encoder_map map = {.linear = convolution->linear,
                                         .x = windows,
                                         .n = n_out,
                                         .y = convolution->y,
                                         .activation = "gelu"};
    enum attn_status status = windows ? ATTN_OK : ATTN_NO_MEMORY;

    for (size_t t = 0; windows && t < n_out; t++)
        for (size_t k = 0; k < KERNEL; k++) {
            const size_t column =
                t * stride + k; /* 1-based, so that column 0 is the padding before the first */

            for (size_t i = 0; i < c && column > 0 && column <= n; i++)
                windows[t * n_in + i * KERNEL + k] = convolution->x[(column - 1) * c + i];
        }
    if (windows)
        status = attn_encoder_map(&map, sequence, err);
    attn_free(windows);
    return status;
}

/* Computes the rows [S, d_model] that an encoder of sound reads, without positions: two
 * convolutions over MEL [n_mel, 2 S], S = n_ctx, with the pool and the instruction set of SEQUENCE.
 */
static enum attn_status hear_mel(const struct attn_model *encoder, const struct attn_ndarray *mel,
                                 struct attn_sequence *sequence, struct attn_error *err)
{
    const struct attn_config *config = &encoder->config;
    const struct attn_linear *sound = encoder->weights.sound;
    const size_t n_mel = config->stack.n_mel, n_column = 2 * config->n_ctx, d = config->d_model;
    char shape[ATTN_SHAPE_TEXT_SIZE];
    enum attn_status status = ATTN_NO_MEMORY;
    float *x, *y;

    if (mel->rank != 2 || mel->shape[0] != n_mel || mel->shape[1] != n_column)
        return attn_error_set(err, ATTN_INVALID, "'%s' has the shape %s, '%s' takes [%zu, %zu]",
                              attn_quote_string(mel->name).text,
                              attn_shape_text(mel->rank, mel->shape, shape),
                              attn_quote_string(encoder->name).text, n_mel, n_column);
    ATTN_TRY(
        ATTN_STORE_ALLOC(&sequence->store, sequence->heard, attn_size_mul(config->n_ctx, d), err));
    x = attn_alloc(n_column, n_mel * sizeof *x, err);
    y = attn_alloc(n_column, d * sizeof *y, err);
    sequence->n = config->n_ctx;
    for (size_t i = 0; x && i < n_mel * n_column; i++)
        x[i % n_column * n_mel + i / n_column] = mel->data[i];
    const struct convolution first = {&sound[0], 1, x, n_column, y};
    const struct convolution second = {&sound[1], 2, y, n_column, sequence->heard};

    if (x && y)
        status = convolve(&first, sequence, err);
    ATTN_THEN(status, convolve(&second, sequence, err));
    attn_free(x);
    attn_free(y);
    return status;
}

static enum attn_status hear(const struct attn_model *encoder, const struct attn_ndarray *array,
                             struct attn_sequence *sequence, struct attn_error *err)
{
    struct attn_ndarray mel = *array;
    const bool is_sound = attn_ndarray_is_sound(array);
    enum attn_status status = ATTN_OK;

    if (is_sound)
        ATTN_TRY(make_log_mel(encoder, array, sequence->pool, &mel, err));
    status = hear_mel(encoder, &mel, sequence, err);
    if (is_sound)
        attn_free((void *)(uintptr_t)mel.data);
    return status;
}

/* Notes what of the sound that is the source of RUN is not heard as it is. */
static void note(const struct attn_run *run)
{
    const struct attn_request *request = &run->request;
    const struct attn_ndarray *sound = request->source.embeddings;
    size_t most;

    if (!attn_ndarray_is_sound(sound))
        return;
    most = n_sample_of(run->model->encoder);
    if (sound->shape[1] > 1)
        attn_note(request->on_note, request->user, ATTN_NOTE_SOUND,
                  "'%s' has %zu channels, of which the mean is heard",
                  attn_quote_string(sound->name).text, sound->shape[1]);
    if (sound->shape[0] > most)
        attn_note(request->on_note, request->user, ATTN_NOTE_SOUND,
                  "'%s' is longer than %g s, which '%s' hears: the rest is left out",
                  attn_quote_string(sound->name).text, (double)most / ATTN_SOUND_RATE,
                  attn_quote_string(attn_model_name(run->model)).text);
}

const struct attn_sound_input attn_sound_input_row = {
    .read_file = attn_source_file_read, .hear = hear, .note = note};
