/* sound_run.c - what a run does with sound: a spectrogram, and two convolutions over it. */
#include "run/run_internal.h"

#include "base/memory.h"
#include "base/store.h"
#include "input/encoder.h"
#include "model/model_internal.h"
#include "sound/log_mel.h"
#include "sound/sound_internal.h"

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
        ATTN_TRY(attn_log_mel_make(encoder, array, sequence->pool, &mel, err));
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
    most = attn_log_mel_n_sample(run->model->encoder);
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
