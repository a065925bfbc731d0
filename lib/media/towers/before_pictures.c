#include "towers/before_pictures.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/os/thread.h"
#include "gradient/tape.h"
#include "model/model_internal.h"
#include "towers/connector.h"
#include "towers/image_patches.h"
#include "trace/trace_internal.h"

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

/* Returns the number of cells of picture number I. */
static size_t count_cells_of(const struct attn_before *before, size_t i)
{
    const size_t merge = before->model->config.vision.merge;

    return (before->inputs[i].n - before->inputs[i].grid.n_front) / (merge * merge);
}

/* Returns input number I with the pool, the cancel flag and the kernels of PASS. */
static struct attn_sequence take_input(const struct attn_before_pass *pass, size_t i)
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
    const struct attn_sequence picture = take_input(pass, i);
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
    for (size_t i = 0; i < before->n; n += count_cells_of(before, i++))
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
        features += count_cells_of(before, i) * before->decoder->config.d_embed;
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

/* --- the backward pass ------------------------------------------------------------------------ */

/* Pictures are encoded again, one after the other, so that memory does not grow with their number.
 */

/* The backward pass of one picture, with its memory. */
struct way_back {
    const struct attn_before_pass *pass;
    const struct attn_model *tower;
    struct attn_sequence picture; /* borrows */
    struct attn_embedding_rows rows;
    size_t number;    /* of the picture among those that are chosen, or n_chosen */
    size_t n_between; /* from the gradients of a connector to those of the next of DeepStack */
    struct attn_trace trace;
    struct attn_selection *wanted; /* owns; the gradients that the trace gets */
    struct attn_store *store;      /* owns; has the arrays */
    float *x, *final;              /* [patches, De] the embeddings, and [patches, D] final rows */
    float *d_final;                /* [patches, D] */
    float *d_deep[ATTN_MOST_DEEP]; /* [patches, D] of the layers that DeepStack reads */
    float *cut;                    /* [patches, numbers of a patch] or NULL */
};

/* Passes the gradients of a shown picture on, with its number (attn_trace_fn). */
static enum attn_status on_event(void *user, const struct attn_trace_event *event,
                                 struct attn_error *err)
{
    const struct way_back *back = user;
    const struct attn_trace *to = back->pass->options.trace;
    struct attn_trace_event numbered = *event;

    numbered.sequence = back->number;
    return to && back->number < back->pass->n_shown ? attn_trace_hand_on(to, &numbered, err)
                                                    : ATTN_OK;
}

/* Selects the gradients that the trace of the pass wants of the tower, and those of the embeddings
 * if the pixels need them. */
static enum attn_status select_gradients(struct way_back *back, bool has_pixels,
                                         struct attn_error *err)
{
    const struct attn_trace *to = back->pass->options.trace;
    const bool is_watched = to && attn_selection_dims(to->selection)->encoder;
    struct attn_dims dims = attn_config_dims(&back->tower->config, back->picture.n);
    struct attn_site_set sites = attn_sites_gradients_of(attn_sites_all());

    attn_sites_add(&sites, ATTN_SITE_PATTERN_X_GRAD);
    attn_sites_extend(&dims.sites, ATTN_SITES(ATTN_SITE_EMBED_GRAD));
    ATTN_TRY(is_watched
                 ? attn_selection_copy_stack(to->selection, ATTN_STACK_ENCODER, &back->wanted, err)
                 : attn_selection_create(&dims, &back->wanted, err));
    sites = attn_sites_common(sites, is_watched ? attn_selection_sites(back->wanted)
                                                : (struct attn_site_set){0});
    if (has_pixels)
        attn_sites_add(&sites, ATTN_SITE_EMBED_GRAD);
    attn_selection_clear_sites(back->wanted);
    back->trace =
        (struct attn_trace){.selection = back->wanted, .on_event = on_event, .user = back};
    return attn_selection_set_sites(back->wanted, sites, err);
}

static struct attn_backward_options options_of(const struct way_back *back, size_t i)
{
    const struct attn_session_options session = attn_before_session(back->pass, i);
    struct attn_backward_options options = attn_tape_options(&session);

    options.attention = back->tower->config.attention;
    options.trace = &back->trace;
    options.text = &back->rows;
    return options;
}

/* Writes the gradient of the pixels of the picture to D_PIXELS [channels, height, width], from D,
 * of the embeddings. */
static enum attn_status pixels_back(struct way_back *back, const float *d, float *d_pixels,
                                    struct attn_error *err)
{
    const struct attn_linear *patches = &back->tower->weights.patches;
    const struct attn_sequence *sequence = &back->picture;
    const struct attn_pixels *pixels = sequence->pixels;
    const size_t n_front = sequence->grid.n_front;
    const struct attn_encoder_map map = {.linear = patches,
                                         .x = d + n_front * patches->weight.n_col,
                                         .n = sequence->n - n_front,
                                         .y = back->cut,
                                         .is_transposed = true};

    ATTN_TRY(attn_encoder_map(&map, sequence, err));
    memset(d_pixels, 0, pixels->n_channel * pixels->height * pixels->width * sizeof *d_pixels);
    attn_image_add(&back->tower->config.image, back->cut, pixels->height, pixels->width, d_pixels);
    return ATTN_OK;
}

/* Encodes the picture, and goes back from D_CELLS, of its cells. */
static enum attn_status go_back(struct way_back *back, struct attn_backward *backward,
                                const float *d_cells, float *d_pixels, struct attn_error *err)
{
    const struct attn_config *config = &back->tower->config;
    const struct attn_vision_config *vision = &config->vision;
    const size_t n_above = vision->n_above;
    const struct attn_backward_goal goal = {.n = back->picture.n,
                                            .given = back->d_final,
                                            .is_of_stream = n_above > 0,
                                            .n_above = n_above,
                                            .added = (const float *const *)back->d_deep,
                                            .added_layers = vision->deep,
                                            .n_added = vision->n_deep};
    struct attn_connector connector = {back->tower, &back->picture, NULL};

    ATTN_TRY(attn_sequence_embed(&back->picture, back->tower, back->x, err));
    ATTN_TRY(attn_backward_feed(backward, back->x, back->final, err));
    if (n_above > 0)
        memcpy(back->final, attn_backward_stream(backward, config->n_layer - n_above),
               back->picture.n * config->d_model * sizeof *back->final);
    ATTN_TRY(attn_connector_back(&connector, back->final, d_cells, back->d_final, err));
    for (size_t k = 0; k < vision->n_deep; k++) {
        connector.deep = &back->tower->weights.deep[k];
        d_cells += back->n_between;
        memcpy(back->final, attn_backward_stream(backward, vision->deep[k] + 1),
               back->picture.n * config->d_model * sizeof *back->final);
        ATTN_TRY(attn_connector_back(&connector, back->final, d_cells, back->d_deep[k], err));
    }
    ATTN_TRY(attn_backward_run(backward, NULL, &goal, err));
    return d_pixels ? pixels_back(back, attn_backward_embedding(backward), d_pixels, err) : ATTN_OK;
}

static enum attn_status allocate(struct way_back *back, bool has_pixels, struct attn_error *err)
{
    const struct attn_config *config = &back->tower->config;
    const size_t n = back->picture.n;

    ATTN_TRY(ATTN_STORE_ALLOC(&back->store, back->x, n * config->d_embed, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&back->store, back->final, n * config->d_model, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&back->store, back->d_final, n * config->d_model, err));
    for (size_t k = 0; k < config->vision.n_deep; k++)
        ATTN_TRY(ATTN_STORE_ALLOC(&back->store, back->d_deep[k], n * config->d_model, err));
    return has_pixels ? ATTN_STORE_ALLOC(&back->store, back->cut,
                                         n * back->tower->weights.patches.weight.n_row, err)
                      : ATTN_OK;
}

/* Goes back through picture number I. */
static enum attn_status go_back_through(const struct attn_before_pass *pass, size_t i,
                                        const float *d_cells, float *d_pixels,
                                        struct attn_error *err)
{
    const struct attn_before *before = pass->before;
    struct way_back back = {.pass = pass,
                            .tower = before->model,
                            .picture = take_input(pass, i),
                            .number = attn_before_number(before, i)};
    struct attn_backward *backward = NULL;
    struct attn_backward_options options;
    enum attn_status status;

    for (size_t k = 0; k < before->n; k++)
        back.n_between += count_cells_of(before, k) * before->decoder->config.d_embed;
    if (!d_pixels && (!pass->options.trace || back.number >= pass->n_shown))
        return ATTN_OK;
    back.rows = attn_sequence_rows(&back.picture);
    status = select_gradients(&back, d_pixels, err);
    ATTN_THEN(status, allocate(&back, d_pixels, err));
    options = options_of(&back, i);
    ATTN_THEN(status, attn_backward_create(back.tower, &options, &backward, err));
    ATTN_THEN(status, go_back(&back, backward, d_cells, d_pixels, err));
    attn_backward_free(backward);
    attn_selection_free(back.wanted);
    attn_store_release(&back.store);
    return status;
}

/* Goes back through all pictures. */
static enum attn_status go_back_through_all(const struct attn_before_pass *pass,
                                            const float *d_cells, float *d_pixels,
                                            struct attn_error *err)
{
    const struct attn_before *before = pass->before;

    for (size_t i = 0; i < before->n; i++) {
        const struct attn_pixels *pixels = &before->pixels[i];

        ATTN_TRY(go_back_through(pass, i, d_cells, d_pixels, err));
        d_cells += count_cells_of(before, i) * before->decoder->config.d_embed;
        if (d_pixels)
            d_pixels += pixels->n_channel * pixels->height * pixels->width;
    }
    return ATTN_OK;
}

enum attn_status attn_before_back(const struct attn_before_pass *pass, const float *d_cells,
                                  float *d_pixels, struct attn_error *err)
{
    const struct attn_before *before = pass->before;
    const struct attn_picture_prompt *seen = &before->reader->seen;
    const size_t d = before->decoder->config.d_embed;
    enum attn_status status;
    size_t n = 0;
    float *apart, *cells;

    if (!before->model->config.vision.joins_tiles)
        return go_back_through_all(pass, d_cells, d_pixels, err);
    for (size_t i = 0; i < before->n; i++)
        n += count_cells_of(before, i);
    ATTN_TRY(ATTN_NEW(apart, attn_alloc(n, d * sizeof *apart, err)));
    cells = apart;
    for (size_t i = 0; i < seen->n_image; i++) {
        const struct attn_prompt_image *image = &seen->images[i];

        attn_tile_grid_back(&image->joined, d_cells, d, cells);
        d_cells += image->n_row * d;
        cells += image->n_picture * image->rows * image->columns * d;
    }
    status = go_back_through_all(pass, apart, d_pixels, err);
    attn_free(apart);
    return status;
}
