/* before_pictures.c - see before_pictures.h. */
#include "towers/before_pictures.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/os/thread.h"
#include "base/store.h"
#include "model/model_internal.h"
#include "towers/connector.h"
#include "towers/image_patches.h"

#include <string.h>

/* Computes the embeddings of the tokens of SEQUENCE that are no cells, whose ids need no row. */
static enum attn_status embed_text(const struct attn_model *model,
                                   const struct attn_sequence *sequence, struct attn_error *err)
{
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);

    for (size_t i = 0; i < sequence->n; i++) {
        if (i == attn_sequence_next_seen(sequence, i))
            continue;
        ATTN_TRY(attn_model_check_ids(model, &sequence->ids[i], 1, i, err));
        attn_model_row(model, kernels, sequence->ids[i],
                       sequence->embedded + i * model->config.d_embed);
    }
    return ATTN_OK;
}

/* Makes an input of each picture of IMAGE. */
static enum attn_status take_image(struct attn_before *before, struct attn_store **store,
                                   struct attn_prompt_image *image, struct attn_error *err)
{
    const size_t merge = before->model->config.vision.merge;
    const struct attn_pixels *all = image->pixels;
    const struct attn_image_grid grid = {.n_row = image->rows * merge,
                                         .n_col = image->columns * merge};

    ATTN_TRY(attn_model_place_patches(before->model, &grid, store, &image->patches, err));
    for (size_t i = 0; i < image->n_picture; i++) {
        struct attn_sequence *picture = &before->own[image->first_picture + i];
        struct attn_pixels *pixels = &before->pixels[image->first_picture + i];

        *pixels = *all;
        pixels->values += i * all->n_channel * all->height * all->width;
        picture->pixels = pixels;
        picture->reader = &attn_picture_reader;
        ATTN_TRY(
            attn_model_image_grid(before->model, all->height, all->width, &picture->grid, err));
        picture->n = picture->grid.n_front + picture->grid.n_row * picture->grid.n_col;
        if (image->patches)
            picture->numbers = (struct attn_position_numbers){image->patches, picture->n, 0};
    }
    return ATTN_OK;
}

/* Makes an input of each picture in TEXT. */
static enum attn_status take_pictures(struct attn_before *before, struct attn_sequence *text,
                                      struct attn_error *err)
{
    before->n = text->seen.n_picture;
    ATTN_TRY(ATTN_STORE_ALLOC(&text->store, before->own, before->n, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&text->store, before->pixels, before->n, err));
    before->inputs = before->own;
    for (size_t i = 0; i < text->seen.n_image; i++)
        ATTN_TRY(take_image(before, &text->store, &text->seen.images[i], err));
    return ATTN_OK;
}

enum attn_status attn_before_prepare_pictures(struct attn_before *before,
                                              struct attn_sequence *text,
                                              struct attn_host_pictures *pictures,
                                              struct attn_error *err)
{
    before->store = pictures;
    ATTN_TRY(ATTN_STORE_ALLOC(&text->store, text->embedded, attn_before_n_float(before), err));
    text->rows = text->embedded;
    ATTN_TRY(embed_text(before->decoder, text, err));
    ATTN_TRY(take_pictures(before, text, err));
    return ATTN_STORE_ALLOC(&text->store, before->chosen, before->n, err);
}

size_t attn_before_n_cell(const struct attn_before *before, size_t i)
{
    const size_t merge = before->model->config.vision.merge;

    return (before->inputs[i].n - before->inputs[i].grid.n_front) / (merge * merge);
}

struct attn_sequence attn_before_take(const struct attn_before_pass *pass, size_t i)
{
    struct attn_sequence input = pass->before->inputs[i];

    input.pool = pass->options.pool;
    input.gemm = pass->options.gemm;
    input.isa = pass->options.isa;
    input.cancel = pass->options.cancel;
    return input;
}

/* --- pictures --------------------------------------------------------------------------------- */

/* Runs the tower over picture number I. */
static enum attn_status run(struct attn_before_pass *pass, size_t i, struct attn_before_rows made,
                            struct attn_error *err)
{
    struct attn_feature_store *store = &pass->before->store->features;

    attn_monitor_enter(store->monitor);
    store->n_picture++;
    attn_monitor_leave(store->monitor);
    return attn_before_run_input(pass, i, made, err);
}

/* The memory for the features of a picture: the rows that its pass makes, and scratch as for
 * attn_connector_run; and the distance of the features of a connector from those of the next. */
struct seeing {
    struct attn_before_rows made; /* own */
    float *joined;                /* owns */
    size_t n_between;
};

/* Computes the features of picture number I: FEATURES [cells, d_feature], and those of DeepStack.
 */
static enum attn_status see(struct attn_before_pass *pass, size_t i, const struct seeing *seeing,
                            float *features, struct attn_error *err)
{
    const struct attn_sequence picture = attn_before_take(pass, i);
    struct attn_connector connector = {pass->before->model, &picture, NULL};

    ATTN_TRY(run(pass, i, seeing->made, err));
    ATTN_TRY(attn_connector_run(&connector, seeing->made.final, seeing->joined, features, err));
    for (size_t k = 0; k < pass->before->model->config.vision.n_deep; k++) {
        connector.deep = &pass->before->model->weights.deep[k];
        features += seeing->n_between;
        ATTN_TRY(
            attn_connector_run(&connector, seeing->made.deep[k], seeing->joined, features, err));
    }
    return ATTN_OK;
}

/* Returns the number of cells of all pictures. MOST becomes the number of positions of the
 * largest. */
static size_t count_cells(const struct attn_before *before, size_t *most)
{
    size_t n = 0;

    *most = 0;
    for (size_t i = 0; i < before->n; n += attn_before_n_cell(before, i++))
        if (before->inputs[i].n > *most)
            *most = before->inputs[i].n;
    return n;
}

/* Computes the features of all pictures of PASS, one after the other: FEATURES [N_CELL, d_embed],
 * the cells of all pictures, once for the connector and once for each of DeepStack. A picture has
 * at most N positions in the tower. */
static enum attn_status see_all(struct attn_before_pass *pass, size_t n, size_t n_cell,
                                float *features, struct attn_error *err)
{
    const struct attn_before *before = pass->before;
    const struct attn_config *config = &before->model->config;
    const size_t most =
        config->d_model > config->vision.d_feature ? config->d_model : config->vision.d_feature;
    struct seeing seeing = {.made.final = attn_alloc(n, most * sizeof(float), err),
                            .joined = attn_alloc(n, most * sizeof(float), err),
                            .n_between = n_cell * before->decoder->config.d_embed};
    enum attn_status status = seeing.made.final && seeing.joined ? ATTN_OK : ATTN_NO_MEMORY;

    for (size_t k = 0; k < config->vision.n_deep && status == ATTN_OK; k++)
        status = ATTN_ALLOC(seeing.made.deep[k], n * most, err);

    pass->progress.n = before->n;
    for (size_t i = 0; i < before->n && status == ATTN_OK; i++) {
        pass->progress.n_before = i;
        status = see(pass, i, &seeing, features, err);
        features += attn_before_n_cell(before, i) * before->decoder->config.d_embed;
    }
    attn_free(seeing.made.final);
    attn_free(seeing.joined);
    for (size_t k = 0; k < config->vision.n_deep; k++)
        attn_free(seeing.made.deep[k]);
    return status;
}

/* Runs the chosen inputs of PASS that its trace gets, if it has one. */
static enum attn_status watch(struct attn_before_pass *pass, struct attn_error *err)
{
    const struct attn_before *before = pass->before;

    pass->progress.n = pass->n_shown;
    for (size_t i = 0; pass->options.trace && i < pass->n_shown; i++) {
        pass->progress.n_before = i;
        ATTN_TRY(run(pass, before->chosen[i], (struct attn_before_rows){0}, err));
    }
    return ATTN_OK;
}

/* --- features that serve several texts -------------------------------------------------------- */

struct attn_features {
    uint64_t key[2];          /* two sums of the sizes and the values of the pixels */
    size_t n_user;            /* the store, and the threads in attn_before_run */
    bool is_over, has_failed; /* the features were computed, or could not be */
    float *rows; /* [1 + n_deep, cells of all pictures, d_embed] owns; tiles are not joined */
};

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

/* Sets the key of FEATURES to that of the pictures of BEFORE. */
static void set_key(const struct attn_before *before, struct attn_features *features)
{
    for (size_t k = 0; k < 2; k++) {
        uint64_t sum = k == 0 ? before->store->features.seed : ~before->store->features.seed;

        for (size_t i = 0; i < before->n; i++) {
            const struct attn_pixels *pixels = &before->pixels[i];
            const size_t sizes[] = {pixels->n_channel, pixels->height, pixels->width};

            sum = attn_hash_bytes(sum, (const char *)sizes, sizeof sizes);
            sum = attn_hash_bytes(sum, (const char *)pixels->values,
                                  sizes[0] * sizes[1] * sizes[2] * sizeof *pixels->values);
        }
        features->key[k] = sum;
    }
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
static enum attn_status compute(struct attn_before_pass *pass, struct attn_features *features,
                                struct attn_error *err)
{
    const struct attn_before *before = pass->before;
    struct attn_monitor *monitor = before->store->features.monitor;
    size_t most;
    const size_t n = count_cells(before, &most);
    enum attn_status status;

    features->rows = attn_alloc(n * (1 + before->model->config.vision.n_deep),
                                before->decoder->config.d_embed * sizeof *features->rows, err);
    status = features->rows ? see_all(pass, most, n, features->rows, err) : ATTN_NO_MEMORY;
    attn_monitor_enter(monitor);
    features->is_over = true;
    features->has_failed = status != ATTN_OK;
    attn_monitor_wake(monitor, 0);
    attn_monitor_leave(monitor);
    return status;
}

/* Returns the rows of the decoder that FEATURES make: these, or JOINED, with room for all rows. */
static const float *join_tiles(const struct attn_before *before, const float *features,
                               float *joined)
{
    const struct attn_picture_prompt *seen = &before->reader->seen;
    const struct attn_vector *end = &before->model->weights.line_end;
    const size_t d = before->decoder->config.d_embed;
    float *rows = joined;

    if (!before->model->config.vision.joins_tiles)
        return features;
    for (size_t i = 0; i < seen->n_image; i++) {
        const struct attn_prompt_image *image = &seen->images[i];
        float *last = rows + (image->n_row - 1) * d; /* the end of a line, which stays the same */

        attn_kernels_find(ATTN_ISA_BEST)->convert(end->data, end->dtype, d, last);
        attn_tile_grid_make(&image->joined, features, last, d, rows);
        features += image->n_picture * image->rows * image->columns * d;
        rows += image->n_row * d;
    }
    return joined;
}

/* Writes the features of all pictures of PASS to their cells in ROWS. */
static enum attn_status see_into(struct attn_before_pass *pass, float *rows, struct attn_error *err)
{
    const struct attn_before *before = pass->before;
    const struct attn_sequence *text = before->reader;
    const size_t d = before->decoder->config.d_embed;
    struct attn_features *features;
    float *joined;
    enum attn_status status;

    ATTN_TRY(ATTN_ALLOC(features, 1, err));
    features->n_user = 1;
    if (pass->n_edit == 0) {
        set_key(before, features);
        features = find_features(&before->store->features, features);
    }
    status = features->is_over ? watch(pass, err) : compute(pass, features, err);
    joined = attn_alloc(before->model->config.vision.joins_tiles ? text->seen.n_row : 1,
                        d * sizeof *joined, err);
    status = status == ATTN_OK && !joined ? ATTN_NO_MEMORY : status;
    for (size_t k = 0, i = 0; k <= before->model->config.vision.n_deep; k++, rows += text->n * d) {
        const float *made = status == ATTN_OK ? join_tiles(before, features->rows, joined) : NULL;

        for (size_t at = attn_sequence_next_seen(text, 0); at < text->n && made;
             at = attn_sequence_next_seen(text, at + 1))
            memcpy(rows + at * d, made + i++ * d, d * sizeof *rows);
    }
    attn_free(joined);
    attn_monitor_enter(before->store->features.monitor);
    drop(features);
    attn_monitor_leave(before->store->features.monitor);
    return status;
}

enum attn_status attn_before_make_pictures(struct attn_before_pass *pass, float *rows,
                                           struct attn_error *err)
{
    return rows ? see_into(pass, rows, err) : watch(pass, err);
}
