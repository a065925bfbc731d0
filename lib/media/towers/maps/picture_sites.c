/*
 * picture_sites.c - the maker of sites about the pictures in a prompt: maps over them, and the rows
 * and pixels that the decoder gets of them.
 */
#include "towers/maps/picture_maps.h"

#include "base/memory.h"
#include "model/model_internal.h"
#include "run/maker.h"
#include "run/run_internal.h"
#include "tensors/labels_internal.h"
#include "towers/prompt/picture_prompt.h"
#include "trace/trace_internal.h"

#include <string.h>

struct picture_making {
    struct attn_making making;         /* the trace gets the feed */
    const struct attn_trace *asked_by; /* the trace that wants sites of pictures; borrowed */
    const struct attn_model *model;    /* borrowed, like the text */
    const struct attn_sequence *text;
    struct attn_picture_maps *maps; /* borrowed from the run */
    struct attn_selection *watched; /* owns; what the session passes on */
};

/* The sites about the pictures in a prompt. */
static struct attn_site_set picture_sites(void)
{
    return ATTN_SITES(ATTN_SITE_PICTURE_MAP, ATTN_SITE_PICTURE_MAP_TILES, ATTN_SITE_DEEPSTACK,
                      ATTN_SITE_IMAGE_FEATURES, ATTN_SITE_PIXEL_VALUES);
}

static struct attn_site_set sites_of(const struct attn_model *model,
                                     const struct attn_attention *layers,
                                     const struct attn_dims *dims)
{
    struct attn_site_set sites = picture_sites(), none = {0};

    (void)layers;
    if (attn_site_n_own_row(ATTN_SITE_PICTURE_MAP_TILES, dims) == 0)
        sites = attn_sites_without(sites, ATTN_SITES(ATTN_SITE_PICTURE_MAP_TILES));
    if (attn_model_config(model)->vision.n_deep == 0)
        sites = attn_sites_without(sites, ATTN_SITES(ATTN_SITE_DEEPSTACK));
    return attn_dims_n_image(dims) > 0 ? sites : none;
}

/* --- Maps ------------------------------------------------------------------------------------ */

static enum attn_status add_neutral(void *user, const struct attn_trace_event *event,
                                    struct attn_error *err)
{
    (void)err;
    attn_picture_maps_add(user, event);
    return ATTN_OK;
}

/* Measures maps of the neutral question of RUN's request, at its last position. The caller frees
 * *maps, also after a failure. */
static enum attn_status ask_neutral(const struct attn_run *run, struct attn_picture_maps **maps,
                                    struct attn_error *err)
{
    struct attn_request request = run->request;
    struct attn_picture_maps_args args = {0};
    struct attn_trace trace = {.on_event = add_neutral};
    struct attn_result result = {0};
    struct attn_run *other = NULL;
    enum attn_status status;

    request.input = (struct attn_input){.text = request.maps.neutral,
                                        .n_text = strlen(request.maps.neutral),
                                        .image = request.input.image,
                                        .images = request.input.images,
                                        .n_image = request.input.n_image,
                                        .pixels = request.input.pixels};
    request.maps = (struct attn_request_maps){0};
    request.selection = (struct attn_request_selection){.sites = "pattern"};
    request.edits = (struct attn_request_edits){0};
    request.predict = (struct attn_request_predict){0};
    request.outputs = (struct attn_request_outputs){0};
    request.on_note = NULL;
    ATTN_TRY(attn_run_prepare(run->host, &request, &other, err));
    args.text = &other->text;
    args.selection = trace.selection = other->selection;
    status = attn_picture_maps_create(&args, maps, err);
    trace.user = *maps;
    ATTN_THEN(status, attn_run_perform(other, &trace, &result, err));
    attn_result_release(&result);
    attn_picture_maps_detach(*maps);
    attn_run_free(other);
    return status;
}

/* Creates the maps over the picture in the text of RUN, which owns them. */
static enum attn_status create_maps(const struct attn_run *run, const struct attn_trace *trace,
                                    struct attn_error *err)
{
    const struct attn_request_maps *asked = &run->request.maps;
    void *owner = run->labels.maps;
    struct attn_labels_pictures *pictures = owner;
    struct attn_picture_maps **own = pictures->maps;
    struct attn_picture_maps_args args = {.text = &run->text,
                                          .attention = attn_run_attention(run),
                                          .drop_sinks = asked->drop_sinks,
                                          .is_ratio = asked->neutral_by == ATTN_NEUTRAL_RATIO};

    for (int i = 0; i < 2; i++) {
        attn_picture_maps_free(own[i]);
        own[i] = NULL;
    }
    pictures->free_maps = attn_picture_maps_free;
    if (asked->neutral)
        ATTN_TRY(ask_neutral(run, &own[1], err));
    /* outputs have the rows and heads of the run, even if an observer sees more */
    args.selection = run->request.outputs.n > 0 ? run->selection : trace->selection;
    args.neutral = own[1];
    return attn_picture_maps_create(&args, &own[0], err);
}

/* --- The trace of the session ----------------------------------------------------------------- */

/* Emits EVENT, whose rows lie one after another. */
static enum attn_status emit_rows(const struct picture_making *making,
                                  struct attn_trace_event event, struct attn_error *err)
{
    event.ld = event.n_col;
    return attn_trace_hand_on(making->asked_by, &event, err);
}

/* Emits the maps of SITE in the layer of AT, which is complete. */
static enum attn_status emit_maps(const struct picture_making *making,
                                  const struct attn_location *at, enum attn_site site,
                                  struct attn_error *err)
{
    const struct attn_selection *asked = making->asked_by->selection;
    const struct attn_dims *dims = attn_selection_dims(asked);
    const enum attn_map_layer layer = attn_map_layer_of(site);
    const size_t n_image = attn_dims_n_image(dims);
    const size_t n_row = attn_site_n_own_row(site, dims), n_col = attn_site_width(site, dims);
    struct attn_location one = attn_location_in(dims, at, site);
    double *map;
    float *rounded;
    enum attn_status status = ATTN_OK;

    if (!attn_selection_wants(asked, &one))
        return ATTN_OK;
    map = attn_alloc(n_row * n_col, sizeof *map, err);
    rounded = attn_alloc(n_row * n_col, sizeof *rounded, err);
    if (!map || !rounded)
        status = ATTN_NO_MEMORY;
    for (one.head = 0; status == ATTN_OK && one.head < (int)dims->n_head; one.head++) {
        size_t row = 0, size[2];

        for (size_t i = 0; i < n_image && status == ATTN_OK; i++) {
            const struct attn_map_choice choice = {i, ATTN_PICTURE_MEAN, layer};
            struct attn_trace_event event = {.at = one, .row0 = row, .n_col = n_col};

            attn_site_image_size(site, attn_dims_image(dims, i), size);
            event.n_row = size[0] * size[1] / n_col;
            attn_picture_maps_fill(making->maps, &one, choice, map);
            for (size_t k = 0; k < size[0] * size[1]; k++)
                rounded[k] = (float)map[k];
            event.data = rounded;
            row += event.n_row;
            status = event.n_row > 0 ? emit_rows(making, event, err) : ATTN_OK;
        }
    }
    attn_free(map);
    attn_free(rounded);
    return status;
}

/* Emits the tensor AT, the cells among ROWS [T, D]. */
static enum attn_status emit_cells(const struct picture_making *making,
                                   const struct attn_location *at, const float *rows,
                                   struct attn_error *err)
{
    const struct attn_selection *asked = making->asked_by->selection;
    const struct attn_sequence *text = making->text;
    struct attn_trace_event row = {
        .at = *at, .n_row = 1, .n_col = attn_selection_dims(asked)->d_model};

    for (size_t cell = attn_sequence_next_seen(text, 0);
         attn_selection_wants(asked, at) && cell < text->n;
         cell = attn_sequence_next_seen(text, cell + 1)) {
        row.data = rows + cell * row.n_col;
        ATTN_TRY(emit_rows(making, row, err));
        row.row0++;
    }
    return ATTN_OK;
}

/* Emits deepstack of the layer of OUTPUT, if it has some. */
static enum attn_status emit_deep(const struct picture_making *making,
                                  const struct attn_location *output, struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(making->asked_by->selection);
    const struct attn_added_rows added = attn_sequence_added(making->text, making->model);
    struct attn_location at = attn_location_in(dims, output, ATTN_SITE_DEEPSTACK);
    const size_t layer = attn_location_index(output);

    return layer < added.n_layer
               ? emit_cells(making, &at, added.rows + layer * added.n * dims->d_model, err)
               : ATTN_OK;
}

/* Emits image_features and pixel_values, after the last layer. */
static enum attn_status emit_inputs(const struct picture_making *making, struct attn_error *err)
{
    const struct attn_selection *asked = making->asked_by->selection;
    const struct attn_dims *dims = attn_selection_dims(asked);
    const struct attn_sequence *text = making->text;
    struct attn_location at = {
        .layer = ATTN_NO_LAYER, .head = ATTN_ALL_HEADS, .site = ATTN_SITE_IMAGE_FEATURES};

    ATTN_TRY(emit_cells(making, &at, text->rows, err));
    at.site = ATTN_SITE_PIXEL_VALUES;
    for (size_t i = 0, row = 0, size[2];
         i < attn_dims_n_image(dims) && attn_selection_wants(asked, &at); i++) {
        struct attn_trace_event event = {.at = at,
                                         .row0 = row,
                                         .n_col = attn_site_width(at.site, dims),
                                         .data = text->seen.images[i].pixels->values};

        attn_site_image_size(at.site, attn_dims_image(dims, i), size);
        event.n_row = size[0] * size[1] / event.n_col;
        row += event.n_row;
        ATTN_TRY(emit_rows(making, event, err));
    }
    return ATTN_OK;
}

/* Called when all tensors of the layer of OUTPUT have come. */
static enum attn_status finish_layer(const struct picture_making *making,
                                     const struct attn_location *output, struct attn_error *err)
{
    struct attn_location next = *output;

    ATTN_TRY(emit_maps(making, output, ATTN_SITE_PICTURE_MAP, err));
    ATTN_TRY(emit_maps(making, output, ATTN_SITE_PICTURE_MAP_TILES, err));
    ATTN_TRY(emit_deep(making, output, err));
    return attn_dims_next_layer(attn_selection_dims(making->watched), &next)
               ? ATTN_OK
               : emit_inputs(making, err);
}

static enum attn_status on_event(void *user, const struct attn_trace_event *event,
                                 struct attn_error *err)
{
    const struct picture_making *making = user;
    const struct attn_dims *dims = attn_selection_dims(making->watched);

    attn_picture_maps_add(making->maps, event);
    ATTN_TRY(attn_trace_hand_on(making->asked_by, event, err));
    if (event->at.site == attn_location_output(dims, &event->at) &&
        event->row0 + event->n_row == dims->n_position)
        return finish_layer(making, &event->at, err);
    return ATTN_OK;
}

static void free_making(struct attn_making *making)
{
    attn_selection_free(((struct picture_making *)(void *)making)->watched);
    attn_free(making);
}

static enum attn_status begin(const struct attn_run *run, enum attn_model_stack stack,
                              const struct attn_trace *trace, struct attn_pool *pool,
                              struct attn_making **making, struct attn_error *err)
{
    struct picture_making *made;

    (void)pool;
    if (stack == ATTN_STACK_ENCODER || !run->labels.maps ||
        !attn_sites_meet(attn_selection_sites_of(trace->selection, stack), picture_sites()))
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    *making = &made->making;
    made->making.free = free_making;
    made->asked_by = trace;
    made->model = run->model;
    made->text = &run->text;
    ATTN_TRY(create_maps(run, trace, err));
    made->maps = *run->labels.maps;
    ATTN_TRY(attn_making_see_patterns(trace->selection, picture_sites(), &made->watched, err));
    made->making.trace =
        (struct attn_trace){.selection = made->watched, .on_event = on_event, .user = made};
    return ATTN_OK;
}

const struct attn_maker attn_picture_maker = {
    .sites = picture_sites, .sites_of = sites_of, .begin = begin};
