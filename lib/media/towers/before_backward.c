/* before_backward.c - see before_backward.h. Pictures are encoded again, one after the other, so
 * that memory does not grow with their number. */
#include "towers/before_backward.h"

#include "base/memory.h"
#include "base/store.h"
#include "gradient/tape.h"
#include "model/model_internal.h"
#include "towers/connector.h"
#include "towers/image_patches.h"
#include "trace/trace_internal.h"

#include <string.h>

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
                            .picture = attn_before_take(pass, i),
                            .number = attn_before_number(before, i)};
    struct attn_backward *backward = NULL;
    struct attn_backward_options options;
    enum attn_status status;

    for (size_t k = 0; k < before->n; k++)
        back.n_between += attn_before_n_cell(before, k) * before->decoder->config.d_embed;
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
        d_cells += attn_before_n_cell(before, i) * before->decoder->config.d_embed;
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
        n += attn_before_n_cell(before, i);
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
