/* reader.h - what reads inputs other than texts, ids and arrays. For the files of this layer and
 * below. */
#pragma once

#include "trace/trace.h"

#include <stdbool.h>
#include <stddef.h>

struct attn_before;
struct attn_before_pass;
struct attn_buffer;
struct attn_host;
struct attn_host_pictures; /* what a host holds for them */
struct attn_input;
struct attn_json_writer;
struct attn_model;
struct attn_ndarray;
struct attn_picture_prompt;
struct attn_request;
struct attn_request_predict;
struct attn_request_reading;
struct attn_run;
struct attn_sequence;
struct attn_session;
struct attn_source;

/* What a sequence needs of the reader that made it. */
struct attn_reader {
    /* Feeds SEQUENCE to SESSION; NULL: it is fed as its ids or rows. */
    enum attn_status (*feed)(struct attn_session *session, const struct attn_sequence *sequence,
                             struct attn_error *err);
    /* Computes the embeddings X [n, d_embed] of SEQUENCE (attn_sequence_embed); NULL: as FEED. */
    enum attn_status (*embed)(const struct attn_sequence *sequence, const struct attn_model *model,
                              float *x, struct attn_error *err);
    /* Frees what it made in SEQUENCE. */
    void (*release)(struct attn_sequence *sequence);

    /* Resolves SPEC, a list of places in SEQUENCE that is no number, to numbers, and appends them
     * to OUT; NULL: positions are those of tokens. */
    enum attn_status (*find_positions)(const char *spec, const struct attn_sequence *sequence,
                                       struct attn_buffer *out, struct attn_error *err);
    /* If the item at *SPEC names positions beside the words of SEQUENCE, appends them to OUT, sets
     * *IS_FOUND and advances *SPEC; or NULL. */
    enum attn_status (*find_item)(const char **spec, const struct attn_sequence *sequence,
                                  struct attn_buffer *out, bool *is_found, struct attn_error *err);

    /* Of a text that it made: prepares BEFORE, whose rows are those of SEQUENCE; runs what PASS
     * gets, and writes the rows to ROWS, unless that is NULL (attn_before_run); and goes back from
     * D_CELLS [1 + n_deep, seen.n_row, d_embed], the gradient of the rows that were made, those of
     * DeepStack last, to D_PIXELS, which may be NULL. The trace of PASS gets the gradients that it
     * selects, of the shown inputs. */
    enum attn_status (*prepare)(struct attn_before *before, struct attn_sequence *sequence,
                                struct attn_host_pictures *pictures, struct attn_error *err);
    enum attn_status (*make)(struct attn_before_pass *pass, float *rows, struct attn_error *err);
    enum attn_status (*back)(const struct attn_before_pass *pass, const float *d_cells,
                             float *d_pixels, struct attn_error *err);

    /* Of a run over the sequence (run/run_internal.h): chooses what `tiles` lists; sets the sizes
     * of what was read in DIMS; chooses the rows of a page; and adds its labels, to a run that is
     * prepared or has failed. */
    enum attn_status (*choose)(struct attn_run *run, struct attn_error *err);
    enum attn_status (*set_dims)(struct attn_run *run, struct attn_dims *dims,
                                 struct attn_error *err);
    enum attn_status (*choose_rows)(struct attn_run *run, struct attn_error *err);
    void (*label)(struct attn_run *run);

    /* Writes the sizes of image number I of SEEN as members of JSON. */
    void (*write_image)(const struct attn_picture_prompt *seen, size_t i,
                        struct attn_json_writer *json);
};

/* What reads pictures. */
struct attn_image_input {
    /* Opens and frees what HOST holds: how pictures are prepared, if its model reads any. */
    enum attn_status (*open)(struct attn_host *host, const struct attn_source *source,
                             struct attn_error *err);
    void (*close)(struct attn_host_pictures *pictures);
    /* Sets *HOST to the host whose model reads INPUT, and creates *LABELLED
     * (attn_zero_shot_choose_host). */
    enum attn_status (*choose_host)(struct attn_host **host, const struct attn_input *input,
                                    const struct attn_request_predict *question,
                                    const struct attn_request_reading *reading,
                                    struct attn_host **labelled, struct attn_error *err);
    /* Checks that the inputs of REQUEST are pictures if MODEL reads pictures, else texts, and that
     * how they are read can have an effect. */
    enum attn_status (*check)(const struct attn_request *request, const struct attn_model *model,
                              struct attn_error *err);
    /* Reads the pictures of the input of RUN, and the text beside them. */
    enum attn_status (*read)(struct attn_run *run, struct attn_error *err);
    /* Checks what RUN, whose tensors are chosen, asks of pictures. */
    enum attn_status (*check_run)(const struct attn_run *run, struct attn_error *err);
};

/* What reads sound. */
struct attn_sound_input {
    /* Reads the file PATH of a source: a sound, or an array [S, d_source]. */
    enum attn_status (*read_file)(const char *path, struct attn_ndarray *rows,
                                  struct attn_error *err);
    /* Reads ARRAY, samples or a spectrogram, into SEQUENCE: sets `heard` and `n`. */
    enum attn_status (*hear)(const struct attn_model *encoder, const struct attn_ndarray *array,
                             struct attn_sequence *sequence, struct attn_error *err);
    /* Notes what of the sound that is the source of RUN is not heard as it is. */
    void (*note)(const struct attn_run *run);
};

/* lib/parts.c; NULL: it is not linked. */
extern const struct attn_image_input *const attn_image_input;
extern const struct attn_sound_input *const attn_sound_input;
