/* sound_run.c - what a run does with sound. */
#include "run/run_internal.h"

#include "base/escape.h"
#include "input/encoder.h"
#include "input/log_mel.h"
#include "input/sound_internal.h"
#include "model/model_internal.h"

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
    .read_file = attn_source_file_read, .hear = attn_encoder_hear, .note = note};
