#include "base/memory.h"
#include "base/status_internal.h"
#include "input/pass.h"
#include "input/talk.h"
#include "model/model_internal.h"
#include "run/input_params.h"
#include "run/request.h"
#include "towers/families/vision_family.h"
#include "towers/image_patches.h"
#include "towers/pixel_steps.h"
#include "towers/pixels_internal.h"
#include "trace/trace_internal.h"

#include <stdio.h>
#include <string.h>

static const struct attn_param images[] = {
    ATTN_PARAM(IMAGES, "image", "FILE", struct attn_request, input.images,
               "a picture, instead of a text or beside it, for models that read pictures: PNG, "
               "JPEG, WebP or "
               ".npy, uint8 [H, W, 3]; float32 [C, H, W] holds the values that the model gets. May "
               "be repeated beside a text",
               .second = offsetof(struct attn_request, input.n_image),
               .least = offsetof(struct attn_request, input.image)),
    ATTN_PARAM(SIZED, "continuation", "TEXT", struct attn_request, input.continuation,
               "an answer, which is appended to the text; its tokens are made apart",
               .second = offsetof(struct attn_request, input.n_continuation)),
    ATTN_PARAM(TEXTS, "label", "TEXT", struct attn_request, predict.labels,
               "a text that the picture is compared with (CLIP), or the text (models of "
               "sentences): the model becomes a classifier with these labels. May be repeated",
               .second = offsetof(struct attn_request, predict.n_label)),
};
const struct attn_param_list attn_image_params = ATTN_PARAM_LIST("Pictures", images);

static const struct attn_param labels[] = {
    ATTN_PARAM(ID_LISTS, "label_ids", "LIST", struct attn_request_labels, ids,
               "the same label as token ids. May be repeated", .of = "label",
               .prefix = "ids:", .second = offsetof(struct attn_request_labels, n_ids)),
    ATTN_PARAM(TEXTS, "label_image", "FILE", struct attn_request_labels, images,
               "a picture that the text is compared with (CLIP). May be repeated", .of = "label",
               .prefix = "image:", .second = offsetof(struct attn_request_labels, n_image)),
};
const struct attn_param_list attn_label_params = ATTN_PARAM_LIST("Pictures", labels);

size_t attn_input_n_image(const struct attn_input *input)
{
    return input->n_image > 1 ? input->n_image : attn_input_is_picture(input);
}

struct attn_input attn_input_image(const struct attn_input *input, size_t i)
{
    struct attn_input one = *input;

    one.images = NULL;
    one.n_image = 0;
    if (input->n_image > 1) {
        one.image = input->images ? input->images[i] : NULL;
        one.pixels = one.image ? NULL : &input->pixels[i];
    }
    return one;
}

void attn_input_share_prompt(const struct attn_input *input, struct attn_input *other)
{
    attn_input_share_answer(input, other);
    if (!attn_input_is_picture(input) || !attn_input_is_given(input))
        return;
    if (!attn_input_is_picture(other)) {
        other->image = input->image;
        other->pixels = input->pixels;
        other->images = input->images;
        other->n_image = input->n_image;
    } else if (!attn_input_is_given(other)) {
        other->text = input->text;
        other->n_text = input->n_text;
        other->ids = input->ids;
        other->n_id = input->n_id;
    }
}

bool attn_model_reads_pictures(const struct attn_model *model)
{
    return attn_model_config(model)->image.patch_height > 0;
}

static bool has_answer(const struct attn_input *input)
{
    return input->continuation || input->continuation_ids;
}

/* Returns the name of a field of INPUT that goes with a text alone; NULL if it has none. */
static const char *name_of_text(const struct attn_input *input)
{
    return input->pair ? "pair" : input->types ? "types" : input->key_mask ? "key_mask" : NULL;
}

/* Checks INPUT, a text with or without a picture, for a model that reads both. */
static enum attn_status check_prompt(const struct attn_request *request,
                                     const struct attn_model *model, struct attn_error *err)
{
    const struct attn_input *input = &request->input;
    const bool is_bare = request->chat.form && !attn_chat_is_wanted(&request->chat);
    const struct attn_vision_family *family = attn_model_config(model)->vision.family;
    const struct attn_quote name = attn_quote_string(attn_model_name(model));

    if (!attn_input_is_picture(input) && family->needs_picture)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "'%s' reads a picture with each text, and no `image` is given",
                           name.text);
    if (!attn_input_is_picture(input))
        return ATTN_OK;
    if (input->embeddings || (!input->text && !input->ids))
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`image` is given without a text, expected a question, or `ids`");
    if (!attn_input_is_text(input) && (has_answer(input) || is_bare))
        return attn_refuse(err, ATTN_STAGE_OPTIONS, "`%s` goes with a text, and `ids` are given",
                           has_answer(input) ? "continuation" : "chat");
    return ATTN_OK;
}

enum attn_status attn_image_input_check(const struct attn_request *request,
                                        const struct attn_model *model, struct attn_error *err)
{
    const struct attn_input *input = &request->input;
    const struct attn_quote name = attn_quote_string(attn_model_name(model));
    const bool reads_both = attn_model_config(model)->vision.family;
    const bool is_picture = attn_input_is_picture(input);
    const bool is_bare = is_picture && request->chat.form && !attn_chat_is_wanted(&request->chat);
    const char *of_text = name_of_text(input);

    if (attn_input_is_picture(&request->source))
        return attn_refuse(err, ATTN_STAGE_OPTIONS, "`source` is a picture, expected a text");
    if (is_picture && model->part && !model->tower) {
        attn_error_set(err, ATTN_UNSUPPORTED,
                       "'%s' is of the type '%s', whose pictures are not read, and `image` gives "
                       "one",
                       name.text, model->part->type);
        return attn_error_at(ATTN_UNSUPPORTED, ATTN_STAGE_MODEL, err);
    }
    if (is_picture && !model->tower && model->no_tower.status != ATTN_OK)
        return attn_error_at(attn_error_copy(err, &model->no_tower), ATTN_STAGE_MODEL, err);
    if (is_picture && !model->tower && !attn_model_reads_pictures(model)) {
        const bool hears = model->encoder && model->encoder->config.stack.n_mel > 0;

        attn_refuse(err, ATTN_STAGE_OPTIONS, "'%s' reads %s, and `image` gives a picture",
                    name.text, hears ? "sound" : "texts");
        return hears ? attn_error_hint(err, "`source_file speech.wav` gives it a sound")
                     : ATTN_INVALID;
    }
    if (is_picture && ((attn_input_is_given(input) && !reads_both) ||
                       (input->image && input->pixels && input->n_image < 2)))
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`image` is given beside another input, expected one of them");
    if ((!is_picture || !reads_both) && ((has_answer(input) && is_picture) || is_bare ||
                                         request->reading.image_tiles != ATTN_IMAGE_TILES_ON))
        return attn_refuse(err, ATTN_STAGE_OPTIONS, "`%s` goes with a picture%s",
                           has_answer(input) && is_picture ? "continuation"
                           : is_bare                       ? "chat"
                                                           : "image_tiles",
                           is_picture ? " beside a text, which the model does not read"
                                      : ", and no `image` is given");
    if (is_picture && input->n_image > 1 && !reads_both) {
        attn_refuse(err, ATTN_STAGE_OPTIONS, "`image` gives %zu pictures, and '%s' reads one",
                    input->n_image, name.text);
        return attn_error_hint(err, "`items FILE` makes a run of each");
    }
    if (is_picture && of_text)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`%s` goes with a text, and `image` gives a picture", of_text);
    if (reads_both)
        return check_prompt(request, model, err);
    if (has_answer(input) && attn_model_config(model)->is_encoder)
        return attn_refuse(
            err, ATTN_STAGE_OPTIONS,
            "'%s' is an encoder: nothing follows its text, and `continuation` is given", name.text);
    if (is_picture || !attn_model_reads_pictures(model))
        return ATTN_OK;
    attn_refuse(err, ATTN_STAGE_OPTIONS, "'%s' reads pictures, and %s", name.text,
                attn_input_is_given(input) ? "a text was given" : "none was given");
    return attn_error_hint(err, "`image cat.png` gives one");
}

/* Writes the label of each position of SEQUENCE: [CLS], [REG0], ..., or "row,column" of a patch. */
static enum attn_status make_labels(struct attn_sequence *sequence, bool is_distilled,
                                    struct attn_error *err)
{
    struct attn_token_bytes *tokens = &sequence->tokens;
    const struct attn_image_grid *grid = &sequence->grid;

    ATTN_TRY(ATTN_STORE_ALLOC(&sequence->store, tokens->bytes, sequence->n, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&sequence->store, tokens->sizes, sequence->n, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&sequence->store, tokens->made, sequence->n, err));
    for (size_t i = 0; i < sequence->n; i++) {
        const size_t patch = i - grid->n_front, room = sizeof(tokens->made[i]);
        char *label = tokens->made[i];
        const int n = i >= grid->n_front ? snprintf(label, room, "%zu,%zu", patch / grid->n_col,
                                                    patch % grid->n_col)
                      : i == 0           ? snprintf(label, room, "[CLS]")
                      : is_distilled     ? snprintf(label, room, "[DIST]")
                                         : snprintf(label, room, "[REG%zu]", i - 1);

        tokens->bytes[i] = label;
        tokens->sizes[i] = (size_t)n < room ? (size_t)n : room - 1;
    }
    return ATTN_OK;
}

enum attn_status attn_image_input_pixels(const struct attn_pixel_maker *maker,
                                         const struct attn_input *input, struct attn_notes notes,
                                         struct attn_pixels *made,
                                         const struct attn_pixels **pixels, struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(maker->model);
    const struct attn_pixels *found = input->pixels;
    bool is_made = false;

    if (input->image) {
        ATTN_TRY(attn_pixel_maker_read(maker, input->image, notes, made, &is_made, err));
        found = made;
    } else if (!found->values && found->shown) {
        ATTN_TRY(
            attn_pixel_maker_make(maker, found->shown, found->height, found->width, made, err));
        found = made;
        is_made = true;
    }
    if (!found->values) {
        attn_error_set(err, ATTN_INVALID, "the picture has no values");
        return ATTN_INVALID; /* clang-tidy does not know what attn_error_set returns */
    }
    if (is_made && !maker->steps->is_given)
        attn_note(
            notes.on_note, notes.user, ATTN_NOTE_USUAL_PIXELS,
            "'%s' has no preprocessor_config.json: the picture becomes %zu x %zu pixels, as is "
            "usual for '%s'",
            attn_quote_string(attn_model_name(maker->model)).text, found->width, found->height,
            config->vision.family ? config->vision.family->part.type : config->model_type);
    *pixels = found;
    return ATTN_OK;
}

enum attn_status attn_picture_feed(struct attn_session *session,
                                   const struct attn_sequence *sequence, struct attn_error *err)
{
    const struct attn_pixels *pixels = sequence->pixels;

    return attn_session_feed_pixels(session, pixels->values, pixels->height, pixels->width, err);
}

/* An attn_trace_fn: keeps the embeddings of patches. */
static enum attn_status keep_embeddings(void *user, const struct attn_trace_event *event,
                                        struct attn_error *err)
{
    (void)err;
    attn_trace_keep_rows(event, NULL, event->n_col, user);
    return ATTN_OK;
}

enum attn_status attn_picture_embed(const struct attn_sequence *sequence,
                                    const struct attn_model *model, float *x,
                                    struct attn_error *err)
{
    const struct attn_dims dims = attn_config_dims(&model->config, sequence->n);
    struct attn_trace trace = {.on_event = keep_embeddings, .user = x};
    struct attn_pass pass = {
        .model = model, .text = sequence, .options = ATTN_SESSION_OPTIONS_DEFAULT};
    struct attn_selection *selection;
    enum attn_status status;

    attn_model_fill_front(model, attn_kernels_find(ATTN_ISA_BEST), sequence->grid.n_front, x);
    ATTN_TRY(attn_selection_create(&dims, &selection, err));
    trace.selection = selection;
    pass.options.n_max = sequence->n;
    pass.options.cache = ATTN_CACHE_ONE_LAYER;
    pass.options.trace = &trace;
    pass.options.cancel = sequence->cancel;
    status = attn_selection_set_sites(selection, ATTN_SITES(ATTN_SITE_EMBED), err);
    ATTN_THEN(status, attn_pass_run(&pass, NULL, err));
    attn_selection_free(selection);
    return status;
}

enum attn_status attn_image_input_read(const struct attn_pixel_maker *maker,
                                       const struct attn_input *input, struct attn_notes notes,
                                       struct attn_sequence *sequence, struct attn_error *err)
{
    const struct attn_model *model = maker->model;
    const struct attn_config *config = attn_model_config(model);
    const size_t n_channel = config->image.n_channel;
    const struct attn_pixels *pixels;

    sequence->reader = &attn_picture_reader;
    ATTN_TRY(ATTN_STORE_ALLOC(&sequence->store, sequence->made, 1, err));
    ATTN_TRY(attn_image_input_pixels(maker, input, notes, sequence->made, &pixels, err));
    if (pixels->n_channel != n_channel)
        return attn_error_set(err, ATTN_INVALID, "the picture has %zu channel%s, '%s' reads %zu",
                              pixels->n_channel, pixels->n_channel == 1 ? "" : "s",
                              attn_quote_string(attn_model_name(model)).text, n_channel);
    ATTN_TRY(attn_model_image_grid(model, pixels->height, pixels->width, &sequence->grid, err));
    if (config->image.resample == ATTN_RESAMPLE_OTHERS &&
        !attn_image_is_usual(&config->image, pixels->height, pixels->width))
        attn_note(notes.on_note, notes.user, ATTN_NOTE_USUAL_PIXELS,
                  "the positions of %zu x %zu patches are resampled to %zu x %zu",
                  config->image.width / config->image.patch_width,
                  config->image.height / config->image.patch_height, sequence->grid.n_col,
                  sequence->grid.n_row);
    if (pixels->n_picture > 1) { /* made for a decoder, of which this is the tower */
        const size_t n = n_channel * pixels->height * pixels->width;
        struct attn_pixels *made = sequence->made;

        if (pixels != made)
            return attn_error_set(
                err, ATTN_INVALID, "the pixels are of %zu pictures, '%s' reads one",
                pixels->n_picture, attn_quote_string(attn_model_name(model)).text);
        memmove(made->values, made->values + (made->n_picture - 1) * n, n * sizeof *made->values);
        made->n_picture = 1;
    }
    ATTN_TRY(attn_model_place_patches(model, &sequence->grid, &sequence->store,
                                      &sequence->seen.patches, err));
    if (sequence->seen.patches)
        sequence->numbers = (struct attn_position_numbers){
            sequence->seen.patches,
            sequence->grid.n_front + sequence->grid.n_row * sequence->grid.n_col, 0};
    sequence->pixels = pixels;
    sequence->n = sequence->grid.n_front + sequence->grid.n_row * sequence->grid.n_col;
    return make_labels(sequence, config->image.is_distilled, err);
}
