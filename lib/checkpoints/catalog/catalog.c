#include "catalog/catalog_internal.h"

#include "base/buffer.h"
#include "base/dtype_internal.h"
#include "base/file.h"
#include "base/os/os.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "base/text/number.h"
#include "catalog/cost.h"
#include "foreign/checkpoint.h"
#include "foreign/foreign.h"
#include "formats/json.h"
#include "formats/tensor_files_internal.h"
#include "gguf/gguf.h"
#include "model/builtin.h"
#include "model/family.h"
#include "model/model_internal.h"
#include "quantized/quantized.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

ATTN_DEFAULTS(attn_catalog, .size = sizeof(struct attn_catalog))

#define LM_STUDIO_PREFIX "lmstudio:"

static_assert((int)ATTN_FOUND_PATH_SIZE == (int)ATTN_PATH_SIZE, "a folder's paths fit");

/* --- Finding one model ------------------------------------------------------------------------ */

/* Whether NAME can be the name of a directory in a folder. */
static bool is_bare(const char *name)
{
    return name[0] != '\0' && !attn_os_last_slash(name) && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

static bool find_in_folders(const struct attn_catalog *catalog, const char *name,
                            struct attn_catalog_found *found)
{
    for (size_t i = 0; i < catalog->n_folder; i++)
        if (attn_path_join(catalog->folders[i], name, found->directory) &&
            attn_path_is_folder(found->directory))
            return true;
    return false;
}

/* --- GGUF ------------------------------------------------------------------------------------- */

/* Makes found->file, which is PART, the only part of the model of FOUND. Refuses files that are not
 * regular, because opening them might wait. */
static enum attn_status use_regular_file(struct attn_catalog_found *found, const char *part,
                                         struct attn_error *err)
{
    struct attn_file file = {0};
    const enum attn_status status = attn_file_open_regular(found->file, ATTN_MAP, &file, err);

    attn_file_release(&file);
    if (status != ATTN_OK && found->source.fetch)
        attn_error_hint(err, "%s", found->source.fetch);
    ATTN_TRY(status);
    found->part = (struct attn_override){part, found->file};
    found->source.directory = NULL;
    found->source.overrides = &found->part;
    found->source.n_override = 1;
    return ATTN_OK;
}

static bool has_weights(const char *directory)
{
    return attn_tensor_files_are_in(&(struct attn_source){.directory = directory});
}

/* Copies to NAME the last of nanochat's model_NNNNNN.pt in DIRECTORY that has its meta_NNNNNN.json.
 * Fails only for lack of memory. */
static enum attn_status find_nanochat(const char *directory, char name[ATTN_FOUND_PATH_SIZE],
                                      struct attn_error *err)
{
    const struct attn_source source = {.directory = directory};
    struct attn_path_names names = {0};
    const enum attn_status status = attn_path_list(directory, &names, err);
    int64_t most = -1, step;
    char meta[64];

    for (size_t i = 0; i < names.n; i++) {
        const char *own = names.names[i];
        const int n = (int)strlen(own) - 9; /* model_ and .pt */

        if (n < 1 || n > 18 || strncmp(own, "model_", 6) != 0 || strcmp(own + 6 + n, ".pt") != 0 ||
            !attn_parse_int(own + 6, (size_t)n, 0, INT64_MAX, &step))
            continue;
        snprintf(meta, sizeof meta, "meta_%.*s.json", n, own + 6);
        if (step > most && attn_source_has_part(&source, meta)) {
            most = step;
            snprintf(name, ATTN_FOUND_PATH_SIZE, "%s", own);
        }
    }
    attn_path_names_release(&names);
    return status == ATTN_NO_MEMORY ? status : ATTN_OK;
}

/* Copies to NAME the file that is the model in DIRECTORY, a folder of nanoGPT, llama2.c or
 * nanochat; "" if there is none. A model.bin alone may be of another program. */
static enum attn_status find_checkpoint(const char *directory, char name[ATTN_FOUND_PATH_SIZE],
                                        struct attn_error *err)
{
    const struct attn_source source = {.directory = directory};
    const bool is_nanogpt = attn_source_has_part(&source, "ckpt.pt");

    name[0] = '\0';
    if (has_weights(directory) || attn_source_has_part(&source, "config.json"))
        return ATTN_OK;
    if (!is_nanogpt && !(attn_source_has_part(&source, "model.bin") &&
                         attn_source_has_part(&source, "tokenizer.bin")))
        return find_nanochat(directory, name, err);
    snprintf(name, ATTN_FOUND_PATH_SIZE, "%s", is_nanogpt ? "ckpt.pt" : "model.bin");
    return ATTN_OK;
}

/* Restricts the command that downloads a repository with many files to the files of this model. */
static void narrow_fetch(struct attn_catalog_found *found)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const size_t used = strlen(found->fetch);
    char stem[ATTN_GGUF_TAG_SIZE];

    attn_gguf_write_stem(found->file, stem);
    if (found->origin == ATTN_ORIGIN_CACHED && !strstr(found->fetch, "--include") &&
        strspn(stem, plain) == strlen(stem) &&
        used + strlen(stem) + sizeof " --include '**'" <= sizeof found->fetch)
        snprintf(found->fetch + used, sizeof found->fetch - used, " --include '*%s*'", stem);
}

/* Chooses the file NAME of nanoGPT or llama2.c in DIRECTORY, where its tokenizer lies, too. */
static enum attn_status use_checkpoint(struct attn_catalog_found *found, const char *directory,
                                       const char *name, struct attn_error *err)
{
    if (!attn_path_join(directory, name, found->file))
        return attn_error_errno(err, "open", directory, ENAMETOOLONG);
    ATTN_TRY(use_regular_file(found, ATTN_CHECKPOINT_PART, err));
    found->source.directory = directory;
    return ATTN_OK;
}

/* Chooses the model in FOLDER, a directory that was found: the directory itself if it has
 * safetensors, else a GGUF file, which TAG may name, else the file of a training program, else the
 * directory itself. */
static enum attn_status choose_in(struct attn_gguf_folder *folder, const char *tag, bool has_tags,
                                  struct attn_catalog_found *found, struct attn_error *err)
{
    char checkpoint[ATTN_FOUND_PATH_SIZE];

    ATTN_TRY(find_checkpoint(folder->path, checkpoint, err));
    if (!tag && has_weights(folder->path))
        return ATTN_OK;
    ATTN_TRY(attn_gguf_folder_list(folder, has_tags ? ATTN_GGUF_FOLDER_DEEP : ATTN_GGUF_FOLDER_FLAT,
                                   err));
    if (folder->files.n == 0 && tag)
        return attn_error_set(err, ATTN_INVALID,
                              "'%s' has no GGUF file, expected one with the tag '%s'",
                              attn_quote_string(folder->name).text, attn_quote_string(tag).text);
    if (folder->files.n == 0)
        return *checkpoint ? use_checkpoint(found, folder->path, checkpoint, err) : ATTN_OK;
    ATTN_TRY(has_tags ? attn_gguf_folder_choose(folder, tag, found->file, err)
                      : attn_gguf_folder_only(folder, found->file, err));
    narrow_fetch(found);
    return use_regular_file(found, ATTN_GGUF_PART, err);
}

/* Chooses the model in the directory of FOUND. NAME is what messages call it. */
static enum attn_status use_directory(struct attn_catalog_found *found, const char *name,
                                      const char *tag, bool has_tags, struct attn_error *err)
{
    struct attn_gguf_folder folder = {.path = found->source.directory, .name = name};
    const enum attn_status status = choose_in(&folder, tag, has_tags, found, err);

    attn_path_names_release(&folder.files);
    return status;
}

/* Returns the part that the file PATH is: of GGUF, by its first bytes or by its name, or of
 * nanoGPT or llama2.c, by its name. NULL for other paths. */
static const char *find_part(const char *path)
{
    struct attn_file file = {0};
    bool is_gguf = attn_path_has_ending(path, ".gguf");

    if (attn_os_kind(path) != ATTN_OS_FILE)
        return NULL;
    if (!is_gguf && attn_file_open_regular(path, ATTN_MAP, &file, NULL) == ATTN_OK)
        is_gguf = attn_gguf_is_file(&file);
    attn_file_release(&file);
    if (is_gguf)
        return ATTN_GGUF_PART;
    return attn_path_has_ending(path, ".pt") || attn_path_has_ending(path, ".pth") ||
                   attn_path_has_ending(path, ".ckpt") || attn_path_has_ending(path, ".bin")
               ? ATTN_CHECKPOINT_PART
               : NULL;
}

/* --- Stores of other programs ----------------------------------------------------------------- */

static enum attn_status find_in_hub(const struct attn_catalog *catalog,
                                    const struct attn_hub_name *name,
                                    struct attn_catalog_found *found, struct attn_error *err)
{
    found->origin = ATTN_ORIGIN_CACHED;
    ATTN_TRY(attn_hub_find(catalog->hub, name, found->directory, err));
    found->source.directory = found->directory;
    attn_hub_fetch(name, found->fetch, sizeof found->fetch);
    found->source.fetch = found->fetch;
    return use_directory(found, name->repository, name->tag, true, err);
}

/* Finds NAME, without its prefix, in the folder of LM Studio. */
static enum attn_status find_in_lm_studio(const struct attn_catalog *catalog, const char *name,
                                          struct attn_catalog_found *found, struct attn_error *err)
{
    struct attn_hub_name read;
    char repository[sizeof LM_STUDIO_PREFIX + ATTN_HUB_NAME_SIZE];

    found->origin = ATTN_ORIGIN_LM_STUDIO;
    if (!attn_hub_read_name(name, &read) || !strchr(read.repository, '/') ||
        read.revision[0] != '\0')
        return attn_error_set(err, ATTN_INVALID,
                              "'" LM_STUDIO_PREFIX
                              "%s' is no name of a model, expected " LM_STUDIO_PREFIX
                              "OWNER/NAME or " LM_STUDIO_PREFIX "OWNER/NAME:TAG",
                              attn_quote_string(name).text);
    if (!catalog->lm_studio)
        return attn_error_set(err, ATTN_INVALID, "there is no folder of LM Studio");
    if (!attn_path_join(catalog->lm_studio, read.repository, found->directory) ||
        !attn_path_is_folder(found->directory))
        return attn_error_set(err, ATTN_INVALID,
                              "'" LM_STUDIO_PREFIX "%s' is not in the folder of LM Studio, '%s'",
                              read.repository, attn_quote_string(catalog->lm_studio).text);
    found->source.directory = found->directory;
    snprintf(repository, sizeof repository, LM_STUDIO_PREFIX "%s", read.repository);
    return use_directory(found, repository, read.tag, true, err);
}

/* Finds the files of the model NAME, which has no prefix. */
static enum attn_status find_blobs(const struct attn_catalog *catalog, const char *name,
                                   struct attn_ollama_name *read, struct attn_ollama_blobs *blobs,
                                   struct attn_error *err)
{
    const struct attn_ollama_stores stores = {catalog->ollama, catalog->n_ollama};

    if (!attn_ollama_read_name(name, read))
        return attn_error_set(err, ATTN_INVALID,
                              "'" ATTN_OLLAMA_PREFIX
                              "%s' is no name of a model, expected " ATTN_OLLAMA_PREFIX
                              "[HOST/][NAMESPACE/]MODEL[:TAG]",
                              attn_quote_string(name).text);
    return attn_ollama_find(&stores, read, blobs, err);
}

static enum attn_status find_in_ollama(const struct attn_catalog *catalog, const char *name,
                                       struct attn_catalog_found *found, struct attn_error *err)
{
    struct attn_ollama_blobs blobs;
    struct attn_ollama_name read;

    found->origin = ATTN_ORIGIN_OLLAMA;
    ATTN_TRY(find_blobs(catalog, name, &read, &blobs, err));
    memcpy(found->file, blobs.model, sizeof blobs.model);
    attn_ollama_fetch(&read, found->fetch, sizeof found->fetch);
    found->source.fetch = found->fetch;
    return use_regular_file(found, ATTN_GGUF_PART, err);
}

/* --- Names ------------------------------------------------------------------------------------ */

/* The message is such as "'NAME' is neither a directory, nor in 'models', nor built in, nor in the
 * ... cache 'hub'". */
static enum attn_status report_searched(const struct attn_catalog *catalog, const char *name,
                                        const struct attn_hub_name *hub, struct attn_error *err)
{
    struct attn_buffer text = {0};
    char command[ATTN_FOUND_FETCH_SIZE];

    attn_buffer_append_format(&text, "'%s' is neither a directory", attn_quote_string(name).text);
    for (size_t i = 0; i < catalog->n_folder && is_bare(name); i++)
        attn_buffer_append_format(&text, ", nor in '%s'",
                                  attn_quote_string(catalog->folders[i]).text);
    if (is_bare(name))
        attn_buffer_append_string(&text, ", nor built in");
    if (catalog->hub)
        attn_buffer_append_format(&text, ", nor in the Hugging Face cache '%s'",
                                  attn_quote_string(catalog->hub).text);
    else
        attn_buffer_append_string(&text, ", nor is there a Hugging Face cache");
    if (attn_buffer_check(&text, err) == ATTN_OK)
        attn_error_set(err, ATTN_INVALID, "%s", attn_buffer_string(&text));
    attn_buffer_release(&text);
    attn_error_because(ATTN_INVALID, ATTN_REASON_NOT_FOUND, err);
    attn_hub_fetch(hub, command, sizeof command);
    if (!is_bare(name) || strchr(name, '/'))
        attn_error_hint(err, "%s", command);
    else if (hub->tag)
        attn_error_hint(err, "-m " ATTN_OLLAMA_PREFIX "%s is a model of Ollama",
                        attn_quote_string(name).text);
    else
        attn_error_hint(err,
                        "'attn-cli models' lists the names; one of the Hugging Face hub has an "
                        "owner: hf download OWNER/%s",
                        attn_quote_string(name).text);
    return ATTN_INVALID;
}

static enum attn_status report_no_name(const char *name, struct attn_error *err)
{
    attn_error_set(err, ATTN_INVALID, "'%s' is neither a directory nor a name of a model",
                   attn_quote_string(name).text);
    attn_error_because(ATTN_INVALID, ATTN_REASON_NOT_FOUND, err);
    return attn_error_hint(err, "names are NAME, OWNER/NAME[@REVISION][:TAG], " ATTN_OLLAMA_PREFIX
                                "MODEL[:TAG] and " LM_STUDIO_PREFIX "OWNER/NAME[:TAG]");
}

static enum attn_status report_file(const char *path, enum attn_os_kind kind,
                                    struct attn_error *err)
{
    const char *slash = attn_os_last_slash(path);
    char directory[ATTN_PATH_SIZE];

    attn_error_set(err, ATTN_INVALID,
                   "'%s' is %s, expected the directory of a model or a GGUF file",
                   attn_quote_string(path).text, attn_path_kind_text(kind));
    if (kind != ATTN_OS_FILE)
        return ATTN_INVALID;
    snprintf(directory, sizeof directory, "%.*s", slash > path ? (int)(slash - path) : 1,
             slash ? path : ".");
    if (!attn_path_has_ending(path, ".onnx") && has_weights(directory))
        attn_error_hint(err, "-m %s", attn_quote_string(directory).text);
    else if (attn_path_has_ending(path, ".onnx"))
        attn_error_hint(err, "the model's own repository has the weights that ONNX was made of: "
                             "config.json and model.safetensors");
    else if (attn_path_has_ending(path, ".json"))
        attn_error_hint(err, "data/microgpt/train.py writes the weights of a small GPT of your own "
                             "as such a directory");
    return ATTN_INVALID;
}

static enum attn_status report_address(const char *address, const struct attn_hub_name *hub,
                                       struct attn_error *err)
{
    char command[ATTN_FOUND_FETCH_SIZE];

    attn_error_set(err, ATTN_INVALID, "'%s' is an address, expected a directory or a name",
                   attn_quote_string(address).text);
    attn_hub_fetch(hub, command, sizeof command);
    if (hub->repository[0] != '\0')
        attn_error_hint(err, "%s; then the name is %s", command, hub->repository);
    return ATTN_INVALID;
}

/* Reports that PATH is what the cache has of a repository, whose snapshots are the models. */
static enum attn_status report_root(const struct attn_catalog *catalog, const char *path,
                                    const struct attn_hub_name *hub, struct attn_error *err)
{
    const bool is_there = catalog->hub && attn_hub_has(catalog->hub, hub);
    size_t size = strlen(path); /* of the folder that the cache is */

    while (size > 1 && attn_os_is_slash(path[size - 1]))
        size--;
    while (size > 0 && !attn_os_is_slash(path[size - 1]))
        size--;
    while (size > 1 && attn_os_is_slash(path[size - 1]))
        size--;
    attn_error_set(err, ATTN_INVALID,
                   "'%s' is an entry of a cache of Hugging Face, not a model: its name is '%s'",
                   attn_quote_string(path).text, hub->repository);
    return attn_error_hint(err, "-m %s%s%s", hub->repository,
                           is_there ? "" : ", with HF_HUB_CACHE=",
                           is_there   ? ""
                           : size > 0 ? attn_quote(path, size).text
                                      : ".");
}

/* As attn_catalog_find, for a NAME without a prefix that is no path: a model in a folder, a
 * built-in one, or one in the cache. */
static enum attn_status find_bare(const struct attn_catalog *catalog, const char *name,
                                  struct attn_catalog_found *found, struct attn_error *err)
{
    static const char *const endings[] = {".gguf", ".pt", ".pth", ".ckpt", ".bin"};
    struct attn_hub_name hub;
    bool is_name;

    if (attn_hub_read_address(name, &hub))
        return report_address(name, &hub, err);
    if (is_bare(name) && find_in_folders(catalog, name, found)) {
        found->source.directory = found->directory;
        return use_directory(found, found->directory, NULL, false, err);
    }
    if (attn_builtin_find(name, &found->source)) {
        found->origin = ATTN_ORIGIN_BUILTIN;
        return ATTN_OK;
    }
    is_name = attn_hub_read_name(name, &hub);
    if (is_name && catalog->hub && attn_hub_has(catalog->hub, &hub))
        return find_in_hub(catalog, &hub, found, err);
    if (attn_os_kind(name) != ATTN_OS_ABSENT)
        return report_file(name, attn_os_kind(name), err);
    if (is_name && catalog->hub && !strchr(hub.repository, '/')) {
        ATTN_TRY(attn_hub_find_owner(catalog->hub, &hub, err));
        if (strchr(hub.repository, '/'))
            return find_in_hub(catalog, &hub, found, err);
    }
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (attn_path_has_ending(name, endings[i]))
            return attn_error_errno(err, "open", name, ENOENT);
    return is_name ? report_searched(catalog, name, &hub, err) : report_no_name(name, err);
}

/* As attn_catalog_find, for a NAME that is no path. */
static enum attn_status find_name(const struct attn_catalog *catalog, const char *name,
                                  struct attn_catalog_found *found, struct attn_error *err)
{
    const size_t ollama = strlen(ATTN_OLLAMA_PREFIX), lm_studio = strlen(LM_STUDIO_PREFIX);

    *found = (struct attn_catalog_found){.source.name = name, .origin = ATTN_ORIGIN_SHIPPED};
    if (strncmp(name, ATTN_OLLAMA_PREFIX, ollama) == 0)
        return find_in_ollama(catalog, name + ollama, found, err);
    if (strncmp(name, LM_STUDIO_PREFIX, lm_studio) == 0)
        return find_in_lm_studio(catalog, name + lm_studio, found, err);
    return find_bare(catalog, name, found, err);
}

enum attn_status attn_catalog_find(const struct attn_catalog *given, const char *name,
                                   struct attn_catalog_found *found, struct attn_error *err)
{
    ATTN_NEED(err, name, found);
    struct attn_catalog catalog = ATTN_CATALOG_DEFAULT;
    const char *part;

    ATTN_TRY(attn_options_read(given, &catalog, err));
    if (attn_path_is_folder(name)) {
        struct attn_hub_name hub;

        if (attn_hub_read_root(name, &hub))
            return report_root(&catalog, name, &hub, err);
        *found = (struct attn_catalog_found){.source = {.name = name, .directory = name}};
        if (attn_source_has_part(&found->source, "modules.json") &&
            attn_path_join(name, "0_Transformer", found->directory) &&
            attn_path_is_folder(found->directory)) /* a sentence model before version 2 */
            found->source.directory = found->directory;
        return use_directory(found, name, NULL, false, err);
    }
    part = find_part(name);
    if (!part)
        return find_name(&catalog, name, found, err);
    *found = (struct attn_catalog_found){.source.name = name, .origin = ATTN_ORIGIN_FILE};
    if (strlen(name) >= sizeof found->file)
        return attn_error_errno(err, "open", name, ENAMETOOLONG);
    memcpy(found->file, name, strlen(name) + 1);
    return use_regular_file(found, part, err);
}

enum attn_status attn_catalog_find_projector(const struct attn_catalog *given, const char *name,
                                             char path[ATTN_FOUND_PATH_SIZE],
                                             struct attn_error *err)
{
    ATTN_NEED(err, name, path);
    const size_t prefix = strlen(ATTN_OLLAMA_PREFIX);
    struct attn_catalog catalog = ATTN_CATALOG_DEFAULT;
    struct attn_ollama_blobs blobs = {"", ""};
    struct attn_ollama_name read;

    ATTN_TRY(attn_options_read(given, &catalog, err));
    if (strncmp(name, ATTN_OLLAMA_PREFIX, prefix) == 0)
        ATTN_TRY(find_blobs(&catalog, name + prefix, &read, &blobs, err));
    memcpy(path, blobs.projector, sizeof blobs.projector);
    return ATTN_OK;
}

/* --- Other models of the same name ------------------------------------------------------------ */

/* Whether DIRECTORY has a model and is another directory than that of FOUND. */
static bool is_other(const struct attn_catalog_found *found, const char *directory)
{
    const char *taken = found->directory[0] != '\0' ? found->directory : found->source.directory;
    struct attn_os_info one, other;

    return attn_source_has_part(&(struct attn_source){.directory = directory}, "config.json") &&
           !(taken && attn_os_stat(taken, &one) == 0 && attn_os_stat(directory, &other) == 0 &&
             one.device == other.device && one.number == other.number);
}

void attn_catalog_visit_others(const struct attn_catalog *catalog,
                               const struct attn_catalog_found *found, attn_catalog_other_fn visit,
                               void *user)
{
    const char *name = found->source.name;
    struct attn_catalog_found other = {.source.name = name, .origin = ATTN_ORIGIN_SHIPPED};
    struct attn_catalog_found builtin = {.source.name = name, .origin = ATTN_ORIGIN_BUILTIN};
    struct attn_hub_name hub;

    if (found->origin > ATTN_ORIGIN_CACHED)
        return;
    other.source.directory = other.directory;
    for (size_t i = 0; i < catalog->n_folder && is_bare(name); i++)
        if (attn_path_join(catalog->folders[i], name, other.directory) &&
            is_other(found, other.directory))
            visit(user, &other);
    if (found->origin != ATTN_ORIGIN_BUILTIN && attn_builtin_find(name, &builtin.source))
        visit(user, &builtin);
    if (catalog->hub && attn_hub_read_name(name, &hub) && attn_hub_has(catalog->hub, &hub) &&
        find_in_hub(catalog, &hub, &other, NULL) == ATTN_OK && is_other(found, other.directory))
        visit(user, &other);
}

/* --- Listing all models ----------------------------------------------------------------------- */

struct catalog_visit {
    const struct attn_catalog *catalog;
    attn_catalog_fn report;
    void *user;
};

/* Whether NAME was reported, as a built-in model or in one of the first N_FOLDER folders. */
static bool was_reported(const struct attn_catalog *catalog, size_t n_folder, const char *name)
{
    struct attn_catalog before = *catalog;
    struct attn_catalog_found found;

    before.n_folder = n_folder;
    return attn_builtin_find(name, &found.source) ||
           (is_bare(name) && find_in_folders(&before, name, &found));
}

/* Sets *is_model if DIRECTORY has a model. Fails only for lack of memory. */
static enum attn_status look_for_model(const char *directory, bool *is_model,
                                       struct attn_error *err)
{
    struct attn_gguf_folder folder = {.path = directory, .name = directory};
    enum attn_status status = ATTN_OK;
    char checkpoint[ATTN_FOUND_PATH_SIZE];

    ATTN_TRY(find_checkpoint(directory, checkpoint, err));
    *is_model =
        attn_source_has_part(&(struct attn_source){.directory = directory}, "config.json") ||
        *checkpoint;
    if (*is_model)
        return ATTN_OK;
    status = attn_gguf_folder_list(&folder, ATTN_GGUF_FOLDER_FLAT, err);
    *is_model = folder.files.n > 0;
    attn_path_names_release(&folder.files);
    return status;
}

static enum attn_status visit_folder(const struct catalog_visit *visit, size_t i,
                                     struct attn_error *err)
{
    const char *path = visit->catalog->folders[i];
    struct attn_path_names folder = {0};
    enum attn_status status = attn_path_list(path, &folder, err);

    for (size_t k = 0; k < folder.n && status == ATTN_OK; k++) {
        char directory[ATTN_PATH_SIZE];
        bool is_model = false;

        if (attn_path_join(path, folder.names[k], directory))
            status = look_for_model(directory, &is_model, err);
        if (status == ATTN_OK && is_model && !was_reported(visit->catalog, i, folder.names[k]))
            status = visit->report(visit->user, folder.names[k], err);
    }
    attn_path_names_release(&folder);
    return status;
}

/* Reports the models in DIRECTORY: NAME, and each GGUF file as NAME with its tag. IS_SURE: NAME is
 * a model whatever the directory has. */
static enum attn_status visit_tags(const struct catalog_visit *visit, const char *directory,
                                   const char *name, bool is_sure, struct attn_error *err)
{
    struct attn_gguf_folder folder = {.path = directory, .name = name};
    enum attn_status status = attn_gguf_folder_list(&folder, ATTN_GGUF_FOLDER_DEEP, err);

    if (status == ATTN_OK && (has_weights(directory) || (is_sure && folder.files.n == 0)))
        status = visit->report(visit->user, name, err);
    for (size_t i = 0; i < folder.files.n && status == ATTN_OK; i++) {
        char tag[ATTN_GGUF_TAG_SIZE], full[ATTN_PATH_SIZE];

        attn_gguf_folder_write_tag(&folder, i, tag);
        if (attn_gguf_is_tag(tag) && snprintf(full, sizeof full, "%s:%s", name, tag) > 0)
            status = visit->report(visit->user, full, err);
    }
    attn_path_names_release(&folder.files);
    return status;
}

/* An attn_hub_fn: reports a model of the cache unless it was reported before. */
static enum attn_status visit_cached(void *user, const char *name, struct attn_error *err)
{
    const struct catalog_visit *visit = user;
    char directory[ATTN_PATH_SIZE];
    struct attn_hub_name hub;

    if (was_reported(visit->catalog, visit->catalog->n_folder, name))
        return ATTN_OK;
    if (attn_hub_read_name(name, &hub) &&
        attn_hub_find(visit->catalog->hub, &hub, directory, NULL) == ATTN_OK)
        return visit_tags(visit, directory, name, true, err);
    return visit->report(visit->user, name, err);
}

/* An attn_ollama_fn: reports a model of Ollama. */
static enum attn_status visit_stored(void *user, const char *name, struct attn_error *err)
{
    const struct catalog_visit *visit = user;

    return visit->report(visit->user, name, err);
}

static enum attn_status visit_lm_studio(const struct catalog_visit *visit, struct attn_error *err)
{
    const char *path = visit->catalog->lm_studio;
    struct attn_path_names names = {0};
    enum attn_status status = attn_path_list_below(path, 2, &names, err);

    for (size_t i = 0; i < names.n && status == ATTN_OK; i++) {
        char directory[ATTN_PATH_SIZE], name[ATTN_PATH_SIZE];
        struct attn_hub_name read;

        snprintf(name, sizeof name, LM_STUDIO_PREFIX "%.4000s", names.names[i]);
        if (attn_path_join(path, names.names[i], directory) &&
            strcspn(names.names[i], "@:") == strlen(names.names[i]) &&
            attn_hub_read_name(names.names[i], &read))
            status = visit_tags(visit, directory, name, false, err);
    }
    attn_path_names_release(&names);
    return status;
}

enum attn_status attn_catalog_visit(const struct attn_catalog *given, attn_catalog_fn report,
                                    void *user, struct attn_error *err)
{
    if (!attn_is_given(report, "visit", err))
        return ATTN_INVALID;
    struct attn_catalog catalog = ATTN_CATALOG_DEFAULT;
    struct catalog_visit visit = {&catalog, report, user};
    const char *name;

    ATTN_TRY(attn_options_read(given, &catalog, err));
    for (size_t i = 0; (name = attn_builtin_name(i)); i++)
        ATTN_TRY(report(user, name, err));
    for (size_t i = 0; i < catalog.n_folder; i++)
        ATTN_TRY(visit_folder(&visit, i, err));
    if (catalog.hub)
        ATTN_TRY(attn_hub_visit(catalog.hub, visit_cached, &visit, err));
    if (catalog.lm_studio)
        ATTN_TRY(visit_lm_studio(&visit, err));
    return attn_ollama_visit(&(struct attn_ollama_stores){catalog.ollama, catalog.n_ollama},
                             visit_stored, &visit, err);
}

/* --- The list as a table ---------------------------------------------------------------------- */

enum { WORDS_SIZE = 80, FAMILY_SIZE = WORDS_SIZE };

/* What the table says about one model. */
struct model_row {
    struct attn_catalog_found found;
    struct attn_error failure;
    char family[FAMILY_SIZE]; /* its model_type; empty: its config has none */
    char problem[WORDS_SIZE]; /* why it cannot be opened; empty: it can */
    uint64_t n_parameter;
    double bits;                             /* bits for each weight */
    uint64_t n_byte;                         /* bytes of its files of weights; 0: unknown */
    char about[ATTN_QUANTIZATION_SIZE + 64]; /* how it is quantized; empty: it is not */
};

/* Reads the model_type of the config, which may name a family that is not supported. Fails only for
 * lack of memory. */
static enum attn_status read_family(struct model_row *row)
{
    static const char *const none[] = {NULL};
    struct attn_json *json = NULL;
    const char *type = NULL;
    enum attn_status status =
        attn_json_read_part(&row->found.source, "config.json", none, &json, NULL);

    ATTN_THEN(status, attn_json_get_string(json, attn_json_root(json), "model_type", &type, NULL));
    if (status == ATTN_OK && type)
        snprintf(row->family, sizeof row->family, "%.*s", FAMILY_SIZE - 1, type);
    attn_json_free(json);
    return status == ATTN_NO_MEMORY ? status : ATTN_OK;
}

/* Copies to WORDS the first path or name that MESSAGE has in 'quotes', without its folders. */
static void copy_subject(const char *message, char words[WORDS_SIZE])
{
    const char *begin = strchr(message, '\'');
    const char *end = begin ? strchr(begin + 1, '\'') : NULL;

    if (!end) {
        snprintf(words, WORDS_SIZE, "%.*s", WORDS_SIZE - 1, message);
        return;
    }
    for (const char *c = ++begin; c < end; c++)
        begin = *c == '/' && c + 1 < end ? c + 1 : begin;
    snprintf(words, WORDS_SIZE, "%.*s", (int)(end - begin), begin);
}

/* Copies to WORDS why a GGUF file, or a link to it, cannot be opened, without its name: "it is
 * short of 664 of its 9664 bytes". For an unsupported architecture only its name. */
static void copy_failure(struct model_row *row, char words[WORDS_SIZE])
{
    static const char architecture[] = "'general.architecture' in ", cannot[] = "cannot open '";
    const char *message = row->failure.message, *value = strstr(message, "' is '");
    const char *end = message[0] == '\'' ? strchr(message + 1, '\'') : NULL;
    const char *reason = strrchr(message, ':'), *expected = strstr(message, ", expected");

    if (strncmp(message, architecture, strlen(architecture)) == 0 && value) {
        copy_subject(value + strlen("' is "), row->family);
        copy_subject(value + strlen("' is "), words);
    } else if (strncmp(message, cannot, strlen(cannot)) == 0 && reason && reason[1] == ' ') {
        snprintf(words, WORDS_SIZE, "%.*s", WORDS_SIZE - 1, reason + 2);
    } else if (end && memchr(message, '/', (size_t)(end - message))) {
        const size_t size = expected > end ? (size_t)(expected - end) : strlen(end);

        snprintf(words, WORDS_SIZE, "it%.*s", (int)size - 1, end + 1);
    } else {
        copy_subject(message, words);
    }
}

/* Sets row->problem to a few words that say why the model cannot be opened. */
static void find_problem(struct model_row *row)
{
    const struct attn_source *source = &row->found.source;
    static const char method[] = "'quant_method' in '";
    char words[WORDS_SIZE], pickle[ATTN_OPENER_NAME_SIZE];

    if (row->found.file[0] != '\0' || row->found.origin > ATTN_ORIGIN_CACHED)
        copy_failure(row, words);
    else if (!source->directory)
        snprintf(words, sizeof words, "not downloaded");
    else if (row->family[0] != '\0' && !attn_family_find(row->family) &&
             !attn_family_find_part(row->family))
        snprintf(words, sizeof words, "%s", row->family);
    else if (!attn_tensor_files_are_in(source) && !attn_foreign_find(source, pickle))
        snprintf(words, sizeof words, "no weights");
    else if (strncmp(row->failure.message, method, strlen(method)) == 0)
        copy_subject(strstr(row->failure.message, "' is ") + strlen("' is "), words);
    else
        copy_subject(row->failure.message, words);
    snprintf(row->problem, sizeof row->problem, "cannot read: %.64s", words);
}

/* Sets the number of bits for each weight in FILES, and their number of bytes. */
static void measure(const struct attn_tensor_files *files, struct model_row *row)
{
    char words[ATTN_QUANTIZATION_SIZE], size[ATTN_QUANTITY_SIZE];
    double n_value = 0, n_byte = 0;

    for (size_t i = 0; i < attn_tensor_files_count(files); i++) {
        const struct attn_tensor_entry entry = attn_tensor_files_entry(files, i);
        const struct attn_tensor tensor = entry.tensor;
        struct attn_quantized_place place;

        n_value += (double)attn_tensor_n_element(&tensor);
        n_byte +=
            (double)(attn_quantized_find(files, &entry, &place) ? place.n_byte
                                                                : attn_tensor_n_byte(&tensor));
    }
    row->bits = n_value > 0 ? 8 * n_byte / n_value : 0;
    for (int i = 0; i < attn_tensor_files_n_shard(files); i++)
        row->n_byte += attn_tensor_files_size(files, i);
    if (attn_quantization_words(files, words))
        snprintf(row->about, sizeof row->about, "%s: %.3g bits a weight, %s", words, row->bits,
                 attn_quantity_bytes(row->n_byte, size));
}

static enum attn_status inspect(const struct attn_catalog *catalog, const char *name,
                                struct model_row *row)
{
    struct attn_model *model = NULL;
    enum attn_status status = find_name(catalog, name, &row->found, &row->failure);

    if (status == ATTN_OK) {
        ATTN_TRY(row->found.file[0] == '\0' ? read_family(row) : ATTN_OK);
        status = attn_model_open(&row->found.source, NULL, &model, &row->failure);
    } else {
        row->found.source.directory = NULL;
    }
    if (status != ATTN_OK) {
        find_problem(row);
        return status == ATTN_NO_MEMORY ? status : ATTN_OK;
    }
    row->n_parameter = attn_model_parameters(model).total;
    measure(attn_model_files(model), row);
    snprintf(row->family, sizeof row->family, "%s", attn_model_config(model)->model_type);
    attn_model_free(model);
    return ATTN_OK;
}

static struct attn_cell text_cell(const char *text)
{
    return text && text[0] != '\0' ? attn_cell_text(text, strlen(text)) : attn_cell_missing();
}

/* Returns a description of the model NAME, at most 33 characters so that the table fits a terminal;
 * NULL unless NAME comes with the program. */
static const char *find_about(const char *name)
{
    static const char *const about[][2] = {
        {"cross-attention", "six words, and a second sequence"},
        {"fable", "trained on English; the default"},
        {"four-heads", "six words, four heads, no mask"},
        {"interpreter", "trained, English into Chinese"},
        {"letters", "trained, sorts six letters"},
        {"life-is-short", "six words, one head, causal"},
        {"one-head", "six words, one head of width 1"},
        {"reverse", "a program as a transformer"},
        {"self-attention", "six words, one head, no mask"},
        {"slp3-one-head", "a textbook's example, one head"},
        {"slp3-two-heads", "a textbook's example, two heads"},
        {"split-heads", "four heads, causal, with W_O"},
        {"tiny-gpt2", "GPT-2 with random weights"},
        {"two-passages", "made by hand, fetches an answer"},
        {"your-journey", "six vectors without projections"},
    };

    for (size_t i = 0; i < sizeof about / sizeof *about; i++)
        if (strcmp(about[i][0], name) == 0)
            return about[i][1];
    return NULL;
}

struct model_list {
    const struct attn_catalog *catalog;
    struct attn_table *table;
};

/* An attn_catalog_fn: adds a row for the model NAME. */
static enum attn_status add_row(void *user, const char *name, struct attn_error *err)
{
    static const char *const origins[] = {
#define ORIGIN_NAME(id, number, name) [ATTN_ORIGIN_##id] = (name),
        ATTN_ORIGIN_MAP(ORIGIN_NAME)
#undef ORIGIN_NAME
    };
    const struct model_list *list = user;
    struct model_row row = {.n_parameter = 0};
    struct attn_source source;
    enum attn_origin origin;

    if (inspect(list->catalog, name, &row) != ATTN_OK)
        return attn_error_no_memory(err);
    origin = attn_builtin_find(name, &source) ? ATTN_ORIGIN_BUILTIN : row.found.origin;
    const struct attn_cell cells[] = {
        text_cell(name),
        text_cell(origins[origin]),
        text_cell(row.family),
        row.problem[0] == '\0' ? attn_cell_integer((int64_t)row.n_parameter) : attn_cell_missing(),
        text_cell(row.about[0] != '\0'          ? row.about
                  : origin < ATTN_ORIGIN_CACHED ? find_about(name)
                                                : NULL),
        text_cell(row.problem),
        text_cell(row.found.source.directory),
        text_cell(row.failure.message),
        row.n_byte > 0 ? attn_cell_real(row.bits) : attn_cell_missing(),
        row.n_byte > 0 ? attn_cell_integer((int64_t)row.n_byte) : attn_cell_missing(),
        text_cell(row.found.file),
    };

    return attn_table_append(list->table, cells, sizeof cells / sizeof *cells, err);
}

enum attn_status attn_catalog_list(const struct attn_catalog *given, struct attn_table **table,
                                   struct attn_error *err)
{
    ATTN_NEED(err, table);
    static const struct attn_column columns[] = {
        {.name = "name", .type = ATTN_VALUE_TEXT, .help = "what `model` takes"},
        {.name = "origin", .type = ATTN_VALUE_TEXT, .help = "where it was found"},
        {.name = "family", .type = ATTN_VALUE_TEXT, .help = "model_type of the config"},
        {.name = "parameters", .type = ATTN_VALUE_INTEGER, .help = "number of parameters in use"},
        {.name = "about",
         .type = ATTN_VALUE_TEXT,
         .help = "a sentence about the model, or its quantization"},
        {.name = "problem", .type = ATTN_VALUE_TEXT, .help = "why it cannot be run, in few words"},
        {.name = "directory", .type = ATTN_VALUE_TEXT, .help = "folder of the model"},
        {.name = "message", .type = ATTN_VALUE_TEXT, .help = "why it cannot be run, in full"},
        {.name = "bits_per_weight", .type = ATTN_VALUE_REAL, .help = "bits of tensors / elements"},
        {.name = "bytes", .type = ATTN_VALUE_INTEGER, .help = "size of the files of weights"},
        {.name = "file", .type = ATTN_VALUE_TEXT, .help = "GGUF file of the model"},
    };
    struct attn_catalog catalog = ATTN_CATALOG_DEFAULT;
    struct model_list list = {&catalog, NULL};

    ATTN_TRY(attn_options_read(given, &catalog, err));
    ATTN_TRY(
        attn_table_create("models", columns, sizeof columns / sizeof *columns, &list.table, err));
    ATTN_RETURN_MADE(attn_catalog_visit(&catalog, add_row, &list, err), table, list.table,
                     attn_table_free);
}
