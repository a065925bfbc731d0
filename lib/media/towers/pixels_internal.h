/* pixels_internal.h - declarations for pixels.h that only the library uses. */
#pragma once

#include "base/status_internal.h"
#include "input/sequence.h"
#include "model/model.h"
#include "params/param.h"
#include "towers/pixels.h"

#include <signal.h>
#include <stdbool.h>

struct attn_monitor;     /* Declared in base/os/thread.h. */
struct attn_pixel_steps; /* Declared in pixel_steps.h. */

/* What makes the pixels for a model that reads pictures. Borrows everything. */
struct attn_pixel_maker {
    const struct attn_model *model; /* the model that reads them */
    struct attn_pixel_steps *steps; /* NULL: `failure` is the reason */
    struct attn_error failure;
    bool lacks_tiles;           /* pictures in prompts are not cut into tiles */
    struct attn_monitor *large; /* entered by the thread that has a large picture in memory */
    /* Once it is not 0, reading ends with ATTN_CANCELED; or NULL. */
    const volatile sig_atomic_t *cancel;
};

/* Makes PIXELS from a picture RGB [height, width, 3]. PIXELS is unchanged on failure. */
enum attn_status attn_pixel_maker_make(const struct attn_pixel_maker *maker,
                                       const unsigned char *rgb, size_t height, size_t width,
                                       struct attn_pixels *pixels, struct attn_error *err);

/* Makes PIXELS from the picture in the file PATH; notes that it is transparent. *is_made: the
 * values were computed from bytes by the steps. PIXELS is unchanged on failure. */
enum attn_status attn_pixel_maker_read(const struct attn_pixel_maker *maker, const char *path,
                                       struct attn_notes notes, struct attn_pixels *pixels,
                                       bool *is_made, struct attn_error *err);

/* Parameters of a struct attn_request: pictures, an answer, and labels that are texts; of a struct
 * attn_request_labels: those that are ids or pictures. */
extern const struct attn_param_list attn_image_params, attn_label_params;

/* Returns the number of pictures of INPUT, and INPUT with picture number I alone. */
size_t attn_input_n_image(const struct attn_input *input);
struct attn_input attn_input_image(const struct attn_input *input, size_t i);

/* Completes OTHER, which is compared with INPUT, a text with a picture, by what it lacks of them:
 * the picture, or the text; and the answer. */
void attn_input_share_prompt(const struct attn_input *input, struct attn_input *other);

bool attn_model_reads_pictures(const struct attn_model *model);

/* struct attn_image_input. On failure: ATTN_INVALID with the stage ATTN_STAGE_OPTIONS. */
enum attn_status attn_image_input_check(const struct attn_request *request,
                                        const struct attn_model *model, struct attn_error *err);

/* Sets *pixels to the pixels of INPUT, made from its picture if it has none; MADE owns those. */
enum attn_status attn_image_input_pixels(const struct attn_pixel_maker *maker,
                                         const struct attn_input *input, struct attn_notes notes,
                                         struct attn_pixels *made,
                                         const struct attn_pixels **pixels, struct attn_error *err);

/* Reads the picture of INPUT into SEQUENCE: its pixels, its positions and their labels. */
enum attn_status attn_image_input_read(const struct attn_pixel_maker *maker,
                                       const struct attn_input *input, struct attn_notes notes,
                                       struct attn_sequence *sequence, struct attn_error *err);

/* The members of the reader of a sequence that is a picture (input/reader.h). */
extern const struct attn_reader attn_picture_reader;
enum attn_status attn_picture_feed(struct attn_session *session,
                                   const struct attn_sequence *sequence, struct attn_error *err);
enum attn_status attn_picture_embed(const struct attn_sequence *sequence,
                                    const struct attn_model *model, float *x,
                                    struct attn_error *err);

/* Completes PIXELS, which have values of the picture NAME: as the only picture of a prompt, if the
 * model reads such pictures. ATTN_INVALID if the size is not one that it reads. */
enum attn_status attn_pixel_maker_check(const struct attn_pixel_maker *maker, const char *name,
                                        struct attn_pixels *pixels, struct attn_error *err);

/* Frees what was read or made. {0} is allowed. */
void attn_pixels_release(struct attn_pixels *pixels);
