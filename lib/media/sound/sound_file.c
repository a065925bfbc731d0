/* sound_file.c - see sound_internal.h. The only file that uses libsndfile, whose header is not
 * needed. */
#include "sound/sound_internal.h"

#include "base/memory.h"
#include "base/os/dynamic.h"
#include "base/os/os.h"
#include "base/status_internal.h"
#include "base/text/escape.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MODE_READ = 0x10, PIECE = 4096, MOST = 1 << 24, MOST_CHANNELS = 64 };

/* SF_INFO of libsndfile 1. */
struct sound_info {
    int64_t frames;
    int samplerate, channels, format, sections, seekable;
};

struct sound_library {
    void *library;
    void *(*sf_open)(const char *path, int mode, struct sound_info *info);
    int64_t (*sf_readf_float)(void *file, float *frames, int64_t n);
    int (*sf_close)(void *file);
    const char *(*sf_strerror)(void *file);
};

bool attn_sound_is_file(const char *path)
{
    static const char *const begins[] = {"RIFF", "RF64", "fLaC", "OggS"};
    char bytes[4] = {0};
    FILE *file = attn_os_kind(path) == ATTN_OS_FILE ? fopen(path, "rbe") : NULL;
    bool is_it = false;

    if (!file)
        return false;
    if (fread(bytes, 1, sizeof bytes, file) == sizeof bytes)
        for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
            is_it = is_it || memcmp(bytes, begins[i], sizeof bytes) == 0;
    fclose(file);
    return is_it;
}

static enum attn_status open_library(struct sound_library *sound, const char *path,
                                     struct attn_error *err)
{
    static const char *const functions[] = {"sf_open", "sf_readf_float", "sf_close", "sf_strerror",
                                            NULL};
    const char *failure =
        attn_dynamic_open("libsndfile.so.1", RTLD_NOW | RTLD_LOCAL, functions, sound);

    if (!failure)
        return ATTN_OK;
    attn_error_set(err, ATTN_IO, "'%s' is a sound, which needs libsndfile.so.1, %s",
                   attn_quote_string(path).text, failure);
    attn_error_hint(err, "apt-get install libsndfile1, or an array of WhisperFeatureExtractor, "
                         "[n_mel, frames], in FILE.npy");
    return ATTN_IO;
}

static enum attn_status check(const char *path, const struct sound_info *info,
                              struct attn_error *err)
{
    const struct attn_quote quoted = attn_quote_string(path);

    if (info->channels < 1 || info->channels > MOST_CHANNELS)
        return attn_error_set(err, ATTN_UNSUPPORTED, "'%s' has %d channels, expected 1 to %d",
                              quoted.text, info->channels, MOST_CHANNELS);
    if (info->samplerate == ATTN_SOUND_RATE)
        return ATTN_OK;
    attn_error_set(err, ATTN_UNSUPPORTED, "'%s' has %d samples a second, expected %d", quoted.text,
                   info->samplerate, ATTN_SOUND_RATE);
    attn_error_hint(err, "sox '%.100s' -r %d speech.wav, or: ffmpeg -i '%.100s' -ar %d speech.wav",
                    quoted.text, ATTN_SOUND_RATE, quoted.text, ATTN_SOUND_RATE);
    return ATTN_UNSUPPORTED;
}

/* Appends the means over channels of N frames at FRAMES to *samples. */
static enum attn_status append(struct attn_ndarray *samples, size_t *capacity, const float *frames,
                               size_t n, size_t n_channel, struct attn_error *err)
{
    float *data = (void *)(uintptr_t)samples->data;

    ATTN_TRY(attn_grow(&data, capacity, samples->shape[0] + n, sizeof *data, err));
    samples->data = data;
    for (size_t i = 0; i < n; i++) {
        double sum = 0;

        for (size_t c = 0; c < n_channel; c++)
            sum += (double)frames[i * n_channel + c];
        data[samples->shape[0] + i] = (float)(sum / (double)n_channel);
        if (!isfinite(data[samples->shape[0] + i]))
            return attn_error_set(err, ATTN_FORMAT,
                                  "'%s' holds NaN or infinity, expected finite samples",
                                  attn_quote_string(samples->name).text);
    }
    samples->shape[0] += n;
    return ATTN_OK;
}

/* Reads FILE to its end: what its header says of its length is not trusted. */
static enum attn_status read_all(const struct sound_library *sound, void *file, size_t n_channel,
                                 struct attn_ndarray *samples, struct attn_error *err)
{
    enum attn_status status = ATTN_OK;
    size_t capacity = 0;
    int64_t n = 1;
    float *frames;

    ATTN_TRY(ATTN_NEW(frames, attn_alloc(PIECE, n_channel * sizeof *frames, err)));
    while (status == ATTN_OK && n > 0 && samples->shape[0] < MOST) {
        n = sound->sf_readf_float(file, frames, PIECE);
        if (n > 0)
            status = append(samples, &capacity, frames, (size_t)n, n_channel, err);
    }
    attn_free(frames);
    if (status == ATTN_OK && samples->shape[0] == 0)
        return attn_error_set(err, ATTN_FORMAT, "'%s' has no samples, expected at least one",
                              attn_quote_string(samples->name).text);
    return status;
}

enum attn_status attn_sound_file_read(const char *path, struct attn_ndarray *samples,
                                      struct attn_error *err)
{
    struct attn_ndarray made = {.name = path, .rank = 1};
    struct sound_info info = {0};
    struct sound_library sound;
    enum attn_status status;
    void *file;

    ATTN_TRY(open_library(&sound, path, err));
    file = sound.sf_open(path, MODE_READ, &info);
    status = file ? check(path, &info, err)
                  : attn_error_set(err, ATTN_FORMAT, "'%s' cannot be read as a sound: %s",
                                   attn_quote_string(path).text, sound.sf_strerror(NULL));
    if (!file)
        attn_error_hint(err, "ffmpeg -i '%.100s' -ar %d speech.wav", attn_quote_string(path).text,
                        ATTN_SOUND_RATE);
    if (status == ATTN_OK) {
        made.shape[1] = (size_t)info.channels;
        status = read_all(&sound, file, made.shape[1], &made, err);
    }
    if (file)
        sound.sf_close(file);
    dlclose(sound.library);
    made.converted = (void *)(uintptr_t)made.data;
    ATTN_RETURN_FILLED(status, samples, made, attn_ndarray_release);
}
