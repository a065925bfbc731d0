#include "live/live.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "base/text/path.h"
#include "formats/json.h"
#include "frame/asked.h"
#include "gguf/gguf.h"
#include "image/image_file_internal.h"
#include "live/live_module.h"
#include "live/live_story.h"
#include "model/model_parts.h"
#include "page/page_internal.h"
#include "run/run_internal.h"
#include "towers/before_pictures.h"
#include "towers/pixel_steps.h"

#include <string.h>

/* A file that a step of the story reads: a vector or a picture. */
struct step_file {
    struct attn_file file;
    struct attn_image image; /* set for a picture */
};

struct attn_live_files {
    struct attn_live live;
    struct attn_model_parts parts;
    struct attn_file module, story, words;
    struct attn_image image;        /* owns */
    struct attn_live_paths paths;   /* owns */
    struct step_file *step_files;   /* [paths.n] owns */
    struct attn_live_extra *extras; /* [paths.n] owns */
    struct attn_file *files;        /* [parts.n] owns */
    struct attn_blob *blobs;        /* [parts.n] owns */
    struct attn_store *names;       /* owns those of the model and of the blobs */
    uint64_t n_byte;
};

static enum attn_status open_part(struct attn_live_files *to, size_t i, struct attn_error *err)
{
    const struct attn_model_part *part = &to->parts.items[i];
    struct attn_file *file = &to->files[i];

    if (part->path) {
        ATTN_TRY(attn_file_open_regular(part->path, ATTN_MAP, file, err));
        to->blobs[i].data = file->data;
        to->blobs[i].size = file->size;
    } else {
        to->blobs[i].data = part->blob->data;
        to->blobs[i].size = part->blob->size;
    }
    to->n_byte += to->blobs[i].size;
    return ATTN_OK;
}

/* Names the files of the model for the page: the model is called by the last part of its path, a
 * folder with files or one file. */
static enum attn_status name_parts(struct attn_live_files *to, const struct attn_live_args *args,
                                   const struct attn_model *model, struct attn_error *err)
{
    const bool is_file = attn_gguf_is_source(args->source) || model->opened.weights;
    struct attn_buffer name = {0};
    enum attn_status status = ATTN_OK;
    size_t n;
    const char *last = attn_path_last(
        is_file ? to->parts.items[to->parts.n - 1].path : attn_model_name(model), &n);

    ATTN_TRY(ATTN_NEW(to->live.model, attn_store_copy(&to->names, last, n, err)));
    for (size_t i = 0; status == ATTN_OK && i < to->parts.n; i++) {
        name.size = 0;
        attn_buffer_append_string(&name, to->live.model);
        if (!is_file)
            attn_buffer_append_format(&name, "/%s", to->parts.items[i].name);
        status = attn_buffer_check(&name, err);
        ATTN_THEN(status, ATTN_NEW(to->blobs[i].name,
                                   attn_store_copy(&to->names, name.data, name.size, err)));
    }
    attn_buffer_release(&name);
    return status;
}

static enum attn_status open_model(struct attn_live_files *to, const struct attn_live_args *args,
                                   const struct attn_model *model, struct attn_error *err)
{
    ATTN_TRY(attn_model_parts_find(args->source, model, &to->parts, err));
    ATTN_TRY(ATTN_ALLOC(to->files, to->parts.n, err));
    ATTN_TRY(ATTN_ALLOC(to->blobs, to->parts.n, err));
    for (size_t i = 0; i < to->parts.n; i++)
        ATTN_TRY(open_part(to, i, err));
    ATTN_TRY(name_parts(to, args, model, err));
    to->live.files = to->blobs;
    to->live.n_file = to->n_byte <= args->most ? to->parts.n : 0;
    to->live.n_byte = to->n_byte;
    return ATTN_OK;
}

static enum attn_status open_picture(const struct attn_live_args *args,
                                     const struct attn_host *host, const char *path,
                                     struct attn_image *image, struct attn_error *err)
{
    image->lays_on_white =
        host->pictures && host->pictures->maker.steps && host->pictures->maker.steps->lays_on_white;
    ATTN_TRY(attn_image_read(path, image, NULL, err));
    if (image->height * image->width > args->most / 3)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "'%s' has %zu x %zu pixels, too many for a live page, expected at "
                              "most %zu",
                              attn_quote_string(path).text, image->width, image->height,
                              args->most / 3);
    return ATTN_OK;
}

static enum attn_status open_step_files(struct attn_live_files *to,
                                        const struct attn_live_args *args,
                                        const struct attn_host *host, struct attn_error *err)
{
    const size_t n = to->paths.n;

    ATTN_TRY(ATTN_ALLOC(to->step_files, n, err));
    ATTN_TRY(ATTN_ALLOC(to->extras, n, err));
    for (size_t i = 0; i < n; i++) {
        const char *name = to->paths.items[i].name;
        struct step_file *from = &to->step_files[i];
        struct attn_image *image = &from->image;

        if (to->paths.items[i].is_image) {
            ATTN_TRY(open_picture(args, host, name, image, err));
            to->extras[i] = (struct attn_live_extra){
                name, image->rgb, image->height * image->width * 3, image->height, image->width};
        } else {
            ATTN_TRY(attn_file_open_regular(name, ATTN_MAP, &from->file, err));
            to->extras[i] = (struct attn_live_extra){name, from->file.data, from->file.size, 0, 0};
        }
    }
    to->live.extras = to->extras;
    to->live.n_extra = n;
    return ATTN_OK;
}

static enum attn_status open_story(struct attn_live_files *to, const struct attn_live_args *args,
                                   struct attn_host *host, struct attn_error *err)
{
    struct attn_error failure = {0};
    struct attn_json *json;
    enum attn_status status;

    if (!attn_is_given(args->request, "request", err))
        return ATTN_INVALID;
    ATTN_TRY(attn_file_open(args->story, ATTN_READ, &to->story, err));
    ATTN_TRY(attn_json_parse(&to->story, &json, err));
    status = attn_live_story_check(json, host, args->request, &to->paths, &failure);
    attn_json_free(json);
    if (status != ATTN_OK) {
        /* any error in the requests of the steps counts as an error of the input */
        failure.stage = ATTN_STAGE_INPUT;
        return attn_error_copy(err, &failure);
    }
    to->live.story = (const char *)to->story.data;
    to->live.n_story = to->story.size;
    return open_step_files(to, args, host, err);
}

/* Checks that each member of JSON is a string and replaces a text of the page. */
static enum attn_status check_words(const struct attn_json *json, struct attn_error *err)
{
    const struct attn_node *word = attn_node_first(attn_json_root(json));
    const char *name = attn_json_name(json);

    for (; word; word = attn_node_next(word)) {
        const char *key = attn_node_key(word);

        if (!attn_node_string(word))
            return attn_error_set(err, ATTN_FORMAT, "'%s' in '%s' is no text",
                                  attn_quote_string(key).text, attn_quote_string(name).text);
        if (!attn_page_live_has_text(key))
            return attn_error_set(err, ATTN_FORMAT,
                                  "'%s' in '%s' is no text of the page, expected one in English, "
                                  "as in {\"Workbench\": \"Werkbank\"}",
                                  attn_quote_string(key).text, attn_quote_string(name).text);
    }
    return ATTN_OK;
}

static enum attn_status open_words(struct attn_live_files *to, const char *path,
                                   struct attn_error *err)
{
    struct attn_json *json;
    enum attn_status status;

    ATTN_TRY(attn_file_open(path, ATTN_READ, &to->words, err));
    ATTN_TRY(attn_json_parse(&to->words, &json, err));
    status = check_words(json, err);
    attn_json_free(json);
    to->live.words = (const char *)to->words.data;
    to->live.n_words = to->words.size;
    return status;
}

static enum attn_status open_all(struct attn_live_files *to, const struct attn_live_args *args,
                                 struct attn_host *host, struct attn_error *err)
{
    enum attn_status status;
    char *path;

    ATTN_TRY(attn_live_module_find(args->module, &path, err));
    status = attn_file_open_regular(path, ATTN_MAP, &to->module, err);
    attn_free(path);
    ATTN_TRY(status);
    to->live.module = to->module.data;
    to->live.n_module = to->module.size;
    to->live.given = args->given;
    to->live.reading = args->reading;
    to->live.n_reading = args->n_reading;
    if (args->story)
        ATTN_TRY(open_story(to, args, host, err));
    if (args->words)
        ATTN_TRY(open_words(to, args->words, err));
    if (args->image)
        ATTN_TRY(open_picture(args, host, args->image, &to->image, err));
    to->live.rgb = to->image.rgb;
    to->live.height = to->image.height;
    to->live.width = to->image.width;
    return open_model(to, args, attn_host_model(host), err);
}

enum attn_status attn_live_open(const struct attn_live_args *args, struct attn_host *host,
                                struct attn_live_files **files, struct attn_error *err)
{
    struct attn_live_files *made;

    if (!attn_is_given(args, "args", err) || !attn_is_given(args->source, "source", err) ||
        !attn_is_given(host, "host", err) || !attn_is_given(files, "files", err))
        return ATTN_INVALID;
    if (attn_source_override(args->source, "adapter_config.json"))
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "a live page holds a whole model and no `adapter`, expected a model "
                           "that peft has merged");
    if (args->image && attn_model_config(attn_host_model(host))->vision.family)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "a live page runs a text without its picture, and `image` gives one");
    made = attn_alloc(1, sizeof *made, err);
    ATTN_RETURN_MADE(attn_error_at(made ? open_all(made, args, host, err) : ATTN_NO_MEMORY,
                                   ATTN_STAGE_INPUT, err),
                     files, made, attn_live_free);
}

const struct attn_live *attn_live_of(const struct attn_live_files *files)
{
    return files ? &files->live : NULL;
}

uint64_t attn_live_n_byte(const struct attn_live_files *files)
{
    return files ? files->n_byte : 0;
}

void attn_live_free(struct attn_live_files *files)
{
    if (!files)
        return;
    for (size_t i = 0; files->files && i < files->parts.n; i++)
        attn_file_release(&files->files[i]);
    for (size_t i = 0; i < files->paths.n; i++) {
        attn_free(files->paths.items[i].name);
        if (files->step_files) {
            attn_file_release(&files->step_files[i].file);
            attn_image_release(&files->step_files[i].image);
        }
    }
    attn_free(files->paths.items);
    attn_free(files->step_files);
    attn_free(files->extras);
    attn_file_release(&files->module);
    attn_file_release(&files->story);
    attn_file_release(&files->words);
    attn_image_release(&files->image);
    attn_model_parts_release(&files->parts);
    attn_free(files->files);
    attn_free(files->blobs);
    attn_store_release(&files->names);
    attn_free(files);
}
