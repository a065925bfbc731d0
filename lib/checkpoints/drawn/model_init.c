/* model_init.c - see model_init.h: reads draws as text, checks the options, and writes the files.
 */
#include "drawn/model_init.h"

#include "base/buffer.h"
#include "base/memory.h"
#include "base/os/os.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/given.h"
#include "base/text/number.h"
#include "drawn/model_init_internal.h"
#include "model/family.h"

#include <errno.h>
#include <string.h>

/* --- Draws as text ---------------------------------------------------------------------------- */

static const char *const groups[] = {
#define GROUP_NAME(name, text) text,
    ATTN_DRAW_GROUP_MAP(GROUP_NAME)
#undef GROUP_NAME
};

static const char *const distributions[] = {
#define DISTRIBUTION_NAME(name, text) text,
    ATTN_DISTRIBUTION_MAP(DISTRIBUTION_NAME)
#undef DISTRIBUTION_NAME
};

/* Returns the index of the name TEXT [size] among NAMES [n]; n if it is not there. */
static int find(const char *const *names, int n, const char *text, size_t size)
{
    int i = 0;

    while (i < n && (strlen(names[i]) != size || memcmp(names[i], text, size) != 0))
        i++;
    return i;
}

static enum attn_status refuse(const char *text, struct attn_error *err)
{
    attn_error_set(err, ATTN_INVALID, "'%s' draws nothing, expected GROUP=DIST[@SEED]",
                   attn_quote_string(text).text);
    attn_error_hint(err, "GROUP: embed, pos, heads, qkv, W_O, mlp, unembed; DIST: randn[:STD], "
                         "normal:MEAN:STD, rand, randperm, linear, gpt2");
    return ATTN_INVALID;
}

/* Parses the numbers after the name of a distribution, TEXT [size]: ":STD" of randn, which may be
 * missing, or ":MEAN:STD" of normal. */
static bool read_numbers(const char *text, size_t size, struct attn_draw *draw)
{
    const bool is_normal = draw->distribution == ATTN_DISTRIBUTION_NORMAL;
    const char *colon;

    if (size == 0)
        return !is_normal;
    text++, size--;
    if (is_normal) {
        colon = memchr(text, ':', size);
        if (!colon || !attn_parse_double(text, (size_t)(colon - text), &draw->mean))
            return false;
        size -= (size_t)(colon + 1 - text);
        text = colon + 1;
    }
    return (is_normal || draw->distribution == ATTN_DISTRIBUTION_RANDN) &&
           attn_parse_double(text, size, &draw->deviation) && draw->deviation > 0;
}

enum attn_status attn_draw_parse(const char *text, struct attn_draw *draw, struct attn_error *err)
{
    struct attn_draw parsed = {.deviation = 1};
    const char *name = text + strcspn(text, "="), *at;
    size_t size;
    int group = find(groups, ATTN_N_DRAW_GROUP, text, (size_t)(name - text)), distribution;

    if (group == ATTN_N_DRAW_GROUP || *name != '=')
        return refuse(text, err);
    size = strcspn(++name, ":@");
    distribution = find(distributions, ATTN_N_DISTRIBUTION, name, size);
    if (distribution == ATTN_N_DISTRIBUTION)
        return refuse(text, err);
    parsed.group = (enum attn_draw_group)group;
    parsed.distribution = (enum attn_distribution)distribution;
    at = name + size;
    size = strcspn(at, "@");
    if (!read_numbers(at, size, &parsed))
        return refuse(text, err);
    at += size;
    if (*at == '@') {
        parsed.has_seed = true;
        if (!attn_parse_uint(at + 1, strlen(at + 1), &parsed.seed))
            return refuse(text, err);
    }
    *draw = parsed;
    return ATTN_OK;
}

/* --- Making a model --------------------------------------------------------------------------- */

struct attn_init {
    struct attn_buffer config;     /* the text of config.json */
    struct attn_buffer vocabulary; /* the text of vocab.json; empty: no vocabulary */
    struct attn_made_weights weights;
};

/* The config that was made, parsed again. */
struct written_config {
    struct attn_buffer name; /* owns; the name of the config in messages */
    struct attn_json *json;  /* owns */
    struct attn_config config;
    struct attn_config_layers layers; /* owns */
    bool has_biases;
};

/* Parses the config as it will be when the directory is opened. In messages its name is the file
 * that it begins with, followed by the settings as a user types them. */
static enum attn_status read_config(const struct attn_init *init,
                                    const struct attn_init_options *options,
                                    struct written_config *written, struct attn_error *err)
{
    struct attn_file file = {.data = (const unsigned char *)init->config.data,
                             .size = init->config.size};
    struct attn_buffer *name = &written->name;

    if (options->config)
        attn_buffer_append_string(name, options->config);
    else if (options->n_setting == 0)
        attn_buffer_append_string(name, "the config");
    for (size_t i = 0; i < options->n_setting; i++)
        attn_buffer_append_format(name, "%s`set` %s", name->size > 0 ? " " : "",
                                  options->settings[i]);
    attn_buffer_append_char(name, '\0');
    ATTN_TRY(attn_buffer_check(name, err));
    file.path = name->data;
    ATTN_TRY(attn_json_parse_named(&file, attn_family_config_keys, &written->json, err));
    ATTN_TRY(attn_family_read_config(written->json, NULL, ATTN_TOWER_TEXT, &written->config,
                                     &written->layers, err));
    if (written->config.has_two_towers)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "'%s' is the config of two towers, and one model is made: expected "
                              "model_type 'clip_text_model' or 'clip_vision_model'",
                              attn_quote_string(file.path).text);
    return attn_json_get_bool(written->json, attn_json_root(written->json), "bias",
                              &written->has_biases, err);
}

static enum attn_status write_vocabulary(struct attn_init *init, const struct attn_word_list *words,
                                         const struct attn_config *config, struct attn_error *err)
{
    struct attn_buffer *out = &init->vocabulary;

    if (!words)
        return ATTN_OK;
    if (words->n > config->n_token)
        return attn_error_set(err, ATTN_INVALID,
                              "the config has room for %zu tokens, expected %zu or more: the "
                              "vocabulary has that many words",
                              config->n_token, words->n);
    attn_buffer_append_string(out, "{\n");
    for (size_t id = 0; id < words->n; id++) {
        attn_buffer_append_string(out, "  ");
        attn_json_append_string(out, words->words[id].text, words->words[id].size);
        attn_buffer_append_format(out, ": %zu%s\n", id, id + 1 < words->n ? "," : "");
    }
    attn_buffer_append_string(out, "}\n");
    return attn_buffer_check(out, err);
}

/* Makes the model in MADE, and its parsed config in WRITTEN. The caller releases both, also after a
 * failure. */
static enum attn_status make(const struct attn_init_options *options, struct attn_init *made,
                             struct written_config *written, struct attn_error *err)
{
    enum attn_status status;

    ATTN_TRY(attn_init_config_write(&made->config, options, err));
    status = read_config(made, options, written, err);
    if (status == ATTN_FORMAT && options->n_setting == 0)
        attn_error_hint(err, "`set KEY=VALUE` says what the config lacks");
    ATTN_TRY(status);
    ATTN_TRY(write_vocabulary(made, options->words, &written->config, err));
    return attn_made_weights_draw(&made->weights, &written->config, written->has_biases, options,
                                  err);
}

enum attn_status attn_init_create(const struct attn_init_options *given, struct attn_init **init,
                                  struct attn_error *err)
{
    struct attn_init_options options = ATTN_INIT_OPTIONS_DEFAULT;
    struct written_config written = {.json = NULL};
    enum attn_status status;
    struct attn_init *made;

    ATTN_TRY(attn_options_read(given, &options, err));
    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    status = make(&options, made, &written, err);
    attn_json_free(written.json);
    attn_buffer_release(&written.name);
    attn_config_release(&written.config, &written.layers);
    ATTN_RETURN_MADE(status, init, made, attn_init_free);
}

void attn_init_free(struct attn_init *init)
{
    if (!init)
        return;
    attn_buffer_release(&init->config);
    attn_buffer_release(&init->vocabulary);
    attn_made_weights_release(&init->weights);
    attn_free(init);
}

/* --- Writing the directory -------------------------------------------------------------------- */

/* The files in the order in which they are written. The config is the last: without it a directory
 * is no model. */
enum { VOCABULARY, WEIGHTS, CONFIG, N_FILE };

/* A file that is being written. */
struct init_file {
    char *path;             /* owns */
    struct attn_sink *sink; /* owns; NULL: the file is left out */
    bool is_in_place;
};

/* An attn_os_list function. Ends at the first name. */
static bool see_name(void *user, const char *name)
{
    (void)name;
    *(bool *)user = false;
    return false;
}

/* Creates the directory PATH, or checks that it is empty. *is_new: it was created. */
static enum attn_status open_directory(const char *path, bool *is_new, struct attn_error *err)
{
    struct attn_os_info info;
    bool is_empty = true;

    *is_new = attn_os_make_folder(path) == 0;
    if (*is_new)
        return ATTN_OK;
    if (errno != EEXIST || attn_os_stat(path, &info) != 0)
        return attn_error_errno(err, "make directory", path, errno);
    if (info.kind != ATTN_OS_FOLDER)
        return attn_error_set(err, ATTN_IO, "'%s' is a file, expected an empty directory or none",
                              attn_quote_string(path).text);
    if (attn_os_list(path, see_name, &is_empty) != 0)
        return attn_error_errno(err, "open directory", path, errno);
    if (is_empty)
        return ATTN_OK;
    return attn_error_set(err, ATTN_IO, "'%s' is not empty, expected an empty directory or none",
                          attn_quote_string(path).text);
}

static enum attn_status write_weights(struct attn_sink *sink,
                                      const struct attn_made_weights *weights,
                                      struct attn_error *err)
{
    struct attn_written_tensor *tensors;
    enum attn_status status;

    ATTN_TRY(ATTN_ALLOC(tensors, weights->n, err));
    for (size_t i = 0; i < weights->n; i++) {
        const struct attn_weight_spec *spec = weights->items[i].spec;

        tensors[i] = (struct attn_written_tensor){.name = spec->name,
                                                  .tensor = {.data = weights->items[i].data,
                                                             .dtype = ATTN_DTYPE_F32,
                                                             .rank = spec->rank}};
        memcpy(tensors[i].tensor.shape, spec->shape, sizeof spec->shape);
    }
    status = attn_safetensors_write(sink, tensors, weights->n, err);
    attn_free(tensors);
    return status;
}

/* Writes file number I to a temporary file beside its final place. */
static enum attn_status write_file(const struct attn_init *init, const char *directory, int i,
                                   struct init_file *file, struct attn_error *err)
{
    static const char *const names[N_FILE] = {"vocab.json", "model.safetensors", "config.json"};
    const struct attn_buffer *text = i == CONFIG ? &init->config : &init->vocabulary;
    struct attn_buffer path = {0};

    if (i == VOCABULARY && init->vocabulary.size == 0)
        return ATTN_OK;
    attn_buffer_append_format(&path, "%s/%s", directory, names[i]);
    (void)attn_buffer_string(&path);
    file->path = path.data;
    ATTN_TRY(attn_buffer_check(&path, err));
    ATTN_TRY(attn_sink_create_file_in(directory, names[i], &file->sink, err));
    if (i == WEIGHTS)
        ATTN_TRY(write_weights(file->sink, &init->weights, err));
    else
        attn_sink_write(file->sink, text->data, text->size);
    return attn_sink_check(file->sink, err);
}

/* Writes FILES and moves them to their final places. The caller releases them, even on failure. */
static enum attn_status write_files(const struct attn_init *init, const char *directory,
                                    struct init_file files[N_FILE], struct attn_error *err)
{
    for (int i = 0; i < N_FILE; i++)
        ATTN_TRY(write_file(init, directory, i, &files[i], err));
    for (int i = 0; i < N_FILE; i++)
        if (files[i].sink) {
            ATTN_TRY(attn_sink_commit(files[i].sink, err));
            files[i].is_in_place = true;
        }
    return ATTN_OK;
}

enum attn_status attn_init_write(const struct attn_init *init, const char *directory,
                                 struct attn_error *err)
{
    struct init_file files[N_FILE] = {{NULL, NULL, false}};
    bool is_new = false;
    enum attn_status status;

    ATTN_TRY(open_directory(directory, &is_new, err));
    status = write_files(init, directory, files, err);
    for (int i = 0; i < N_FILE; i++) {
        attn_sink_free(files[i].sink);
        if (status != ATTN_OK && files[i].is_in_place)
            attn_os_remove(files[i].path);
        attn_free(files[i].path);
    }
    if (status != ATTN_OK && is_new)
        attn_os_remove_folder(directory);
    return status;
}
