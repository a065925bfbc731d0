/* model_args.c - from -m and its companions to the source that the library opens. */
#include "model_args.h"

#include "command.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Puts FOLDER/MIDDLE/NAME into PATH when that is a directory. */
static bool try_folder(char path[MODEL_PATH_SIZE], const char *folder, size_t folder_size,
                       const char *middle, const char *name)
{
    char candidate[MODEL_PATH_SIZE];
    int size =
        snprintf(candidate, sizeof(candidate), "%.*s%s/%s", (int)folder_size, folder, middle, name);
    if (size < 0 || (size_t)size >= sizeof(candidate) || !is_directory(candidate))
        return false;
    memcpy(path, candidate, (size_t)size + 1);
    return true;
}

static bool find_in_search_path(const char *name, char path[MODEL_PATH_SIZE])
{
    const char *folders = getenv("ATTN_CLI_MODEL_PATH");
    while (folders && *folders) {
        size_t size = strcspn(folders, ":");
        if (size > 0 && try_folder(path, folders, size, "", name))
            return true;
        folders += size;
        folders += *folders == ':';
    }
    return false;
}

/* PREFIX/bin/attn-cli is beside PREFIX/share; build/release/attn-cli is below the source tree. */
static bool find_near_program(const char *name, char path[MODEL_PATH_SIZE])
{
    char program[MODEL_PATH_SIZE];
    ssize_t size = readlink("/proc/self/exe", program, sizeof(program));
    if (size <= 0 || (size_t)size == sizeof(program))
        return false;
    const char *slash = memrchr(program, '/', (size_t)size);
    if (!slash)
        return false;
    size_t folder_size = (size_t)(slash - program);
    return try_folder(path, program, folder_size, "/../share/attn-cli/models", name) ||
           try_folder(path, program, folder_size, "/../../models", name);
}

static int find_directory(const char *name, struct model_source *found)
{
    bool is_name = !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
    found->source.name = name;
    if (is_directory(name) || !is_name) {
        found->source.directory = name;
    } else if (find_in_search_path(name, found->path) || find_near_program(name, found->path)) {
        found->source.directory = found->path;
    } else if (strcmp(name, BUILTIN_NAME) != 0) {
        return report_problem(EXIT_MODEL,
                              "give a directory with config.json, vocab.json and "
                              "model.safetensors; ATTN_CLI_MODEL_PATH lists folders of models",
                              "'%s' is neither a directory nor the name of a shipped model", name);
    }
    return EXIT_DONE;
}

static void add_override(struct model_source *found, const char *name, const char *path)
{
    if (path)
        found->overrides[found->source.n_override++] = (struct attn_override){name, path};
}

int model_source_find(const struct model_args *args, struct model_source *found)
{
    *found = (struct model_source){.source.name = BUILTIN_NAME};
    if (args->name) {
        int code = find_directory(args->name, found);
        if (code != EXIT_DONE)
            return code;
    }
    if (!found->source.directory) {
        builtin_blobs(found->blobs);
        found->source.blobs = found->blobs;
        found->source.n_blob = BUILTIN_N_BLOB;
    }
    found->source.overrides = found->overrides;
    add_override(found, "config.json", args->config);
    add_override(found, "vocab.json", args->vocab);
    add_override(found, "model.safetensors", args->weights);
    return EXIT_DONE;
}
