/* tower.h - the pictures in a prompt: a tower encodes each, and a connector makes rows from it,
 * which take the place of the embeddings of the tokens that stand for its cells. */
#ifndef ATTN_INPUT_TOWER_H
#define ATTN_INPUT_TOWER_H

#include "input/encoder.h"

/* One picture, as the input of the tower. */
struct attn_tower_picture {
    struct attn_pixels pixels;
    struct attn_sequence sequence;
};

/* Keeps the features of the last picture for further texts about it. Threads share it: one computes
 * them, and the others wait. Begins as {0}; end with attn_feature_store_release. */
struct attn_feature_store {
    struct attn_monitor *monitor; /* owns */
    struct attn_features *last;   /* shared with attn_tower_see; or NULL */
    size_t n_picture;             /* number of pictures, tiles included, that were encoded for it */
};

enum attn_status attn_feature_store_create(struct attn_feature_store *store,
                                           struct attn_error *err);
void attn_feature_store_release(struct attn_feature_store *store);

/* How the pictures of a text are encoded. All pointers are borrowed. */
struct attn_tower_pass {
    const struct attn_model *model; /* the decoder, which has a tower */
    const struct attn_sequence *text;
    struct attn_feature_store *store;    /* of the model */
    struct attn_session_options options; /* its pool, cancel flag, kernels and trace are used */
    struct attn_feed_progress progress;
    const struct attn_edit *edits; /* [n_edit] of the tower */
    size_t n_edit;
    size_t n_uncounted; /* the first edits, which do not count for n_edited */
    /* [n_tile] the pictures that are edited. The trace gets the tensors of the first n_watched,
     * whose numbers in this list are the sequences of its events. */
    const size_t *tiles;
    size_t n_tile, n_watched;
    bool *has_effect; /* [n_edit] becomes true for edits that changed a value; or NULL */
    size_t n_edited;  /* becomes the number of rows that edits changed */
};

/* Sets PICTURE to number I of the pictures of SEQUENCE, from which it borrows. */
enum attn_status attn_tower_take(const struct attn_model *model,
                                 const struct attn_sequence *sequence, size_t i,
                                 struct attn_tower_picture *picture, struct attn_error *err);

/* Sets the rows of SEQUENCE, whose ids and pictures were read: embeddings, and room for the
 * features of the pictures, which are computed later. */
enum attn_status attn_tower_prepare(const struct attn_model *model, struct attn_sequence *sequence,
                                    struct attn_error *err);

/* Writes the features of all pictures of PASS to ROWS, the rows of its text or a copy of them.
 * Without edits, the store keeps them, or has them. Also watches pictures. */
enum attn_status attn_tower_see(struct attn_tower_pass *pass, float *rows, struct attn_error *err);

/* Encodes the watched pictures of PASS for its trace, if it has one. */
enum attn_status attn_tower_watch(struct attn_tower_pass *pass, struct attn_error *err);

#endif
