/* before_pictures.h - the rows of the pictures in a text, made by a tower and its connector. They
 * take the place of the embeddings of the tokens that stand for their cells. The backward pass goes
 * from the gradient of these rows, through connector and tower, to that of the pixels. */
#pragma once

#include "input/before.h"
#include "towers/pixels_internal.h"
#include "towers/prompt/picture_prompt.h"

/* Keeps the features of the last pictures for further texts about them. Threads share it: one
 * computes them, and the others wait. End with
 * attn_feature_store_release. */
struct attn_feature_store {
    struct attn_monitor *monitor; /* owns */
    struct attn_features *last;   /* shared with attn_before_run; or NULL */
    size_t n_picture;             /* number of pictures, tiles included, that were encoded for it */
    uint64_t seed; /* of the sums that tell pictures apart, so that no file can choose
                      pictures of one sum */
};

void attn_feature_store_release(struct attn_feature_store *store);

/* What a host holds whose model reads pictures. */
struct attn_host_pictures {
    struct attn_pixel_maker maker;      /* owns its parts */
    struct attn_feature_store features; /* of a decoder with a tower; else {0} */
};

/* Members of the reader of a text with pictures (input/reader.h). */
enum attn_status attn_before_prepare_pictures(struct attn_before *before,
                                              struct attn_sequence *text,
                                              struct attn_host_pictures *pictures,
                                              struct attn_error *err);
enum attn_status attn_before_make_pictures(struct attn_before_pass *pass, float *rows,
                                           struct attn_error *err);

/* Encodes each picture of PASS, with its edits, and goes back from D_CELLS [1 + n_deep,
 * seen.n_row, d_embed], the gradient of the rows that were made, those of DeepStack last. The
 * trace of PASS, if it has one, gets the gradients of the tower that it selects, of the shown
 * pictures. D_PIXELS receives the gradient of the pixels of each picture, one after another; or
 * NULL. */
enum attn_status attn_before_back(const struct attn_before_pass *pass, const float *d_cells,
                                  float *d_pixels, struct attn_error *err);
