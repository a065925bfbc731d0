/* tower.c - see tower.h. */
#include "input/tower.h"

#include "base/memory.h"
#include "base/thread.h"
#include "forward/session_internal.h"
#include "input/connector.h"
#include "input/picture_prompt.h"
#include "kernels/sha256.h"
#include "model/model_internal.h"

#include <string.h>

enum attn_status attn_tower_take(const struct attn_model *model,
                                 const struct attn_sequence *sequence, size_t i,
                                 struct attn_tower_picture *picture, struct attn_error *err)
{
    const struct attn_pixels *all = sequence->seen.pixels;

    *picture = (struct attn_tower_picture){.pixels = *all};
    picture->pixels.values += i * all->n_channel * all->height * all->width;
    picture->sequence.pixels = &picture->pixels;
    ATTN_TRY(
        attn_model_image_grid(model->tower, all->height, all->width, &picture->sequence.grid, err));
    picture->sequence.n = picture->sequence.grid.n_row * picture->sequence.grid.n_col;
    if (sequence->seen.patches)
        picture->sequence.numbers =
            (struct attn_position_numbers){sequence->seen.patches, picture->sequence.n, 0};
    return ATTN_OK;
}

/* The memory for one picture. */
struct sight {
    float *final;  /* [patches, D of the tower] */
    float *joined; /* [cells, merge * merge * D of the tower] */
};

/* What the events of one picture are sent to, and its number among those that are watched. */
struct tile_trace {
    const struct attn_trace *to;
    size_t number;
};

static enum attn_status number_event(void *user, const struct attn_trace_event *event,
                                     struct attn_error *err)
{
    const struct tile_trace *tile = user;
    struct attn_trace_event numbered = *event;

    numbered.sequence = tile->number;
    return tile->to->on_event(tile->to->user, &numbered, err);
}

/* Encodes picture number I of PASS, which it sets PICTURE to. FINAL [patches, D of the tower]
 * receives the final rows; or NULL. */
static enum attn_status encode(struct attn_tower_pass *pass, size_t i,
                               struct attn_tower_picture *picture, float *final,
                               struct attn_error *err)
{
    struct attn_encoder_rows made = {.final = final, .has_effect = pass->has_effect};
    struct tile_trace tile = {pass->options.trace, 0};
    struct attn_trace numbered = {.on_event = number_event, .user = &tile};
    struct attn_pass own;

    ATTN_TRY(attn_tower_take(pass->model, pass->text, i, picture, err));
    picture->sequence.pool = pass->options.pool;
    picture->sequence.gemm = pass->options.gemm;
    picture->sequence.isa = pass->options.isa;
    own = attn_encoder_pass_of(pass->model, &picture->sequence, &pass->options);
    own.progress = pass->progress;
    while (tile.number < pass->n_tile && pass->tiles[tile.number] != i)
        tile.number++;
    if (tile.number < pass->n_tile) {
        own.options.edits = pass->edits;
        own.options.n_edit = pass->n_edit;
        own.n_uncounted = pass->n_uncounted;
    }
    if (tile.to && tile.number < pass->n_watched) {
        numbered.selection = tile.to->selection;
        own.options.trace = &numbered;
    }
    attn_monitor_enter(pass->store->monitor);
    pass->store->n_picture++;
    attn_monitor_leave(pass->store->monitor);
    ATTN_TRY(attn_encoder_run(&own, &made, err));
    pass->n_edited += made.n_edited;
    return ATTN_OK;
}

/* Computes the features of picture number I: FEATURES [cells, d_feature]. */
static enum attn_status see(struct attn_tower_pass *pass, size_t i, const struct sight *sight,
                            float *features, struct attn_error *err)
{
    struct attn_tower_picture picture;

    ATTN_TRY(encode(pass, i, &picture, sight->final, err));
    return attn_connector_run(pass->model->tower, &picture.sequence, sight->final, sight->joined,
                              features, err);
}

/* Computes the embeddings of the tokens of SEQUENCE that are no cells, whose ids need no row. */
static enum attn_status embed_text(const struct attn_model *model,
                                   const struct attn_sequence *sequence, struct attn_error *err)
{
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);

    for (size_t i = 0; i < sequence->n; i++) {
        if (sequence->seen.region[i] == ATTN_REGION_PICTURE)
            continue;
        ATTN_TRY(attn_model_check_ids(model, &sequence->ids[i], 1, i, err));
        attn_model_row(model, kernels, sequence->ids[i],
                       sequence->embedded + i * model->config.d_embed);
    }
    return ATTN_OK;
}

/* Computes the features of all pictures of PASS, one after the other: FEATURES [cells of all
 * pictures, d_embed]. */
static enum attn_status see_all(struct attn_tower_pass *pass, float *features,
                                struct attn_error *err)
{
    const struct attn_picture_prompt *seen = &pass->text->seen;
    const struct attn_model *tower = pass->model->tower;
    const size_t n_cell = seen->rows * seen->columns, merge = tower->config.vision.merge;
    const size_t n_patch = n_cell * merge * merge, size = tower->config.d_model * sizeof(float);
    const struct sight sight = {attn_alloc(n_patch, size, err), attn_alloc(n_patch, size, err)};
    enum attn_status status = sight.final && sight.joined ? ATTN_OK : ATTN_NO_MEMORY;

    for (size_t i = 0; i < seen->n_picture && status == ATTN_OK; i++) {
        pass->progress.n_before = i;
        pass->progress.n = seen->n_picture;
        status = see(pass, i, &sight, features + i * n_cell * pass->model->config.d_embed, err);
    }
    attn_free(sight.final);
    attn_free(sight.joined);
    return status;
}

enum attn_status attn_tower_watch(struct attn_tower_pass *pass, struct attn_error *err)
{
    for (size_t i = 0; pass->options.trace && i < pass->n_watched; i++) {
        struct attn_tower_picture picture;

        pass->progress.n_before = i;
        pass->progress.n = pass->n_watched;
        ATTN_TRY(encode(pass, pass->tiles[i], &picture, NULL, err));
    }
    return ATTN_OK;
}

/* --- features that serve several texts -------------------------------------------------------- */

struct attn_features {
    uint8_t key[ATTN_SHA256_SIZE]; /* of the sizes and the values of the pixels */
    size_t n_user;                 /* the store, and the threads in attn_tower_see */
    bool is_over, has_failed;      /* the features were computed, or could not be */
    float *rows;                   /* [cells of all pictures, d_embed] owns */
};

enum attn_status attn_feature_store_create(struct attn_feature_store *store, struct attn_error *err)
{
    return attn_monitor_create(1, &store->monitor, err);
}

/* Ends a use of FEATURES, in the monitor of their store. */
static void drop(struct attn_features *features)
{
    if (!features || --features->n_user > 0)
        return;
    attn_free(features->rows);
    attn_free(features);
}

void attn_feature_store_release(struct attn_feature_store *store)
{
    drop(store->last);
    attn_monitor_free(store->monitor);
}

/* Sets the key of FEATURES to that of the pictures of SEQUENCE. */
static void set_key(const struct attn_sequence *sequence, struct attn_features *features)
{
    const struct attn_pixels *pixels = sequence->seen.pixels;
    const size_t sizes[] = {sequence->seen.n_picture, pixels->n_channel, pixels->height,
                            pixels->width};
    struct attn_sha256 hash;

    attn_sha256_init(&hash);
    attn_sha256_update(&hash, sizes, sizeof sizes);
    attn_sha256_update(&hash, pixels->values,
                       sizes[0] * sizes[1] * sizes[2] * sizes[3] * sizeof *pixels->values);
    attn_sha256_digest(&hash, features->key);
}

/* Returns the features in STORE that have the key of MADE, once they are computed; or MADE, whose
 * features the caller computes, while others wait for them. To be dropped. */
static struct attn_features *find_features(struct attn_feature_store *store,
                                           struct attn_features *made)
{
    attn_monitor_enter(store->monitor);
    for (struct attn_features *found = store->last;
         found && !found->has_failed && memcmp(found->key, made->key, sizeof made->key) == 0;
         found = store->last) {
        found->n_user++;
        while (!found->is_over)
            attn_monitor_wait(store->monitor, 0);
        if (!found->has_failed) {
            attn_monitor_leave(store->monitor);
            drop(made);
            return found;
        }
        drop(found);
    }
    drop(store->last);
    store->last = made;
    made->n_user++;
    attn_monitor_leave(store->monitor);
    return made;
}

/* Computes FEATURES of the pictures of PASS, which may be in its store. */
static enum attn_status compute(struct attn_tower_pass *pass, struct attn_features *features,
                                struct attn_error *err)
{
    const struct attn_picture_prompt *seen = &pass->text->seen;
    enum attn_status status;

    features->rows = attn_alloc(seen->n_picture * seen->rows * seen->columns,
                                pass->model->config.d_embed * sizeof *features->rows, err);
    status = features->rows ? see_all(pass, features->rows, err) : ATTN_NO_MEMORY;
    attn_monitor_enter(pass->store->monitor);
    features->is_over = true;
    features->has_failed = status != ATTN_OK;
    attn_monitor_wake(pass->store->monitor, 0);
    attn_monitor_leave(pass->store->monitor);
    return status;
}

enum attn_status attn_tower_see(struct attn_tower_pass *pass, float *rows, struct attn_error *err)
{
    const struct attn_sequence *sequence = pass->text;
    const size_t d = pass->model->config.d_embed;
    struct attn_features *features;
    enum attn_status status;

    ATTN_TRY(ATTN_ALLOC(features, 1, err));
    features->n_user = 1;
    if (pass->n_edit == 0) {
        set_key(sequence, features);
        features = find_features(pass->store, features);
    }
    status = features->is_over ? attn_tower_watch(pass, err) : compute(pass, features, err);
    for (size_t at = attn_picture_prompt_next(sequence, 0), i = 0;
         at < sequence->n && status == ATTN_OK; at = attn_picture_prompt_next(sequence, at + 1))
        memcpy(rows + at * d, features->rows + i++ * d, d * sizeof *rows);
    attn_monitor_enter(pass->store->monitor);
    drop(features);
    attn_monitor_leave(pass->store->monitor);
    return status;
}

enum attn_status attn_tower_prepare(const struct attn_model *model, struct attn_sequence *sequence,
                                    struct attn_error *err)
{
    const size_t merge = model->tower->config.vision.merge;
    struct attn_picture_prompt *seen = &sequence->seen;
    const struct attn_image_grid grid = {0, seen->rows * merge, seen->columns * merge};

    sequence->embedded =
        attn_alloc(sequence->n, model->config.d_embed * sizeof *sequence->embedded, err);
    if (!sequence->embedded)
        return ATTN_NO_MEMORY;
    sequence->rows = sequence->embedded;
    sequence->is_later = true;
    ATTN_TRY(embed_text(model, sequence, err));
    return attn_model_place_patches(model->tower, &grid, &seen->patches, err);
}
