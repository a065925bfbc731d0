/* model_args.c - from -m and its companions to the source that the library opens. */
#include "model_args.h"

#include "command.h"
#include "print.h"
#include "report.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct option model_rows[] = {
    {.name = "model",
     .letter = 'm',
     .argument = "DIR",
     .heading = "Model",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct model_args, name),
     .environment = "ATTN_CLI_MODEL",
     .help = "model directory in Hugging Face's layout, or the name of a shipped model; default: "
             "the built-in '" ATTN_BUILTIN_DEFAULT "'"},
    {.name = "config",
     .argument = "FILE",
     .heading = "Model",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct model_args, config),
     .help = "use FILE as the model's config.json"},
    {.name = "vocab",
     .argument = "FILE",
     .heading = "Model",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct model_args, vocab),
     .help = "use FILE as the model's vocab.json"},
};

const struct option_group model_options = OPTION_GROUP(model_rows);

static const struct option weights_rows[] = {
    {.name = "weights",
     .argument = "FILE",
     .heading = "Model",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct model_args, weights),
     .help = "use FILE as the model's model.safetensors"},
    {.name = "load",
     .argument = "map|read",
     .heading = "Model",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct model_args, load),
     .help = "map the weights (default), or read them into memory: safe from files that change"},
};

const struct option_group weights_options = OPTION_GROUP(weights_rows);

static const struct option compute_rows[] = {
    {.name = "compute",
     .argument = "f32|bf16",
     .heading = "Precision",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct model_args, compute),
     .help = "multiply by the weights in float32 (default), or in bfloat16 with float32 sums: "
             "faster and less exact"},
};

const struct option_group compute_options = OPTION_GROUP(compute_rows);

static bool is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Called with a folder that may hold models, and may not be there; true ends the visit. */
typedef bool (*folder_fn)(void *user, const char *folder);

/* VISIT of the path FOLDER [size] MIDDLE; nothing when that is too long. */
static bool visit_folder(const char *folder, size_t size, const char *middle, folder_fn visit,
                         void *user)
{
    char path[MODEL_PATH_SIZE];
    int length = snprintf(path, sizeof(path), "%.*s%s", (int)size, folder, middle);
    return length > 0 && (size_t)length < sizeof(path) && visit(user, path);
}

static bool visit_search_path(folder_fn visit, void *user)
{
    const char *folders = getenv("ATTN_CLI_MODEL_PATH");
    while (folders && *folders) {
        size_t size = strcspn(folders, ":");
        if (size < MODEL_PATH_SIZE && visit_folder(folders, size, "", visit, user))
            return true;
        folders += size;
        folders += *folders == ':';
    }
    return false;
}

/* PREFIX/bin/attn-cli is beside PREFIX/share; build/release/attn-cli is below the source tree. */
static bool visit_near_program(folder_fn visit, void *user)
{
    char program[MODEL_PATH_SIZE];
    ssize_t size = readlink("/proc/self/exe", program, sizeof(program));
    if (size <= 0 || (size_t)size == sizeof(program))
        return false;
    const char *slash = memrchr(program, '/', (size_t)size);
    if (!slash)
        return false;
    size_t folder = (size_t)(slash - program);
    return visit_folder(program, folder, "/../share/attn-cli/models", visit, user) ||
           visit_folder(program, folder, "/../../models", visit, user);
}

static bool visit_folders(folder_fn visit, void *user)
{
    return visit_search_path(visit, user) || visit_near_program(visit, user);
}

struct lookup {
    const char *name;
    char *path; /* [MODEL_PATH_SIZE], where it was found */
};

/* A folder_fn. */
static bool look_up(void *user, const char *folder)
{
    struct lookup *lookup = user;
    char path[MODEL_PATH_SIZE];
    int size = snprintf(path, sizeof(path), "%s/%s", folder, lookup->name);
    if (size < 0 || (size_t)size >= sizeof(path) || !is_directory(path))
        return false;
    memcpy(lookup->path, path, (size_t)size + 1);
    return true;
}

static int find_directory(const char *name, struct model_source *found)
{
    bool is_name = !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
    struct lookup lookup = {name, found->path};
    found->source.name = name;
    if (is_directory(name) || !is_name) {
        found->source.directory = name;
    } else if (visit_folders(look_up, &lookup)) {
        found->source.directory = found->path;
    } else if (!attn_builtin_find(name, &found->source)) {
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
    *found = (struct model_source){0};
    if (args->name) {
        int code = find_directory(args->name, found);
        if (code != EXIT_DONE)
            return code;
    } else {
        attn_builtin_find(ATTN_BUILTIN_DEFAULT, &found->source);
    }
    found->source.overrides = found->overrides;
    add_override(found, "config.json", args->config);
    add_override(found, "vocab.json", args->vocab);
    add_override(found, "model.safetensors", args->weights);
    return EXIT_DONE;
}

/* Whether NAME means itself to a shell: completion hands names to the shell, which expands them. */
static bool is_plain(const char *name)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+";
    return name[0] != '.' && name[0] != '-' && name[strspn(name, plain)] == '\0';
}

/* A folder_fn: prints the names of the models in FOLDER. */
static bool print_names(void *user, const char *folder)
{
    struct dirent **entries;
    int n = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name;
        char path[MODEL_PATH_SIZE];
        int size = snprintf(path, sizeof(path), "%s/%s/config.json", folder, name);
        if (is_plain(name) && (size_t)size < sizeof(path) && access(path, F_OK) == 0)
            print(user, "%s\n", name);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    return false;
}

void model_names_print(struct attn_sink *out)
{
    char path[MODEL_PATH_SIZE];
    const char *name;
    visit_folders(print_names, out);
    for (size_t i = 0; (name = attn_builtin_name(i)) != NULL; i++) {
        struct lookup lookup = {name, path};
        if (!visit_folders(look_up, &lookup))
            print(out, "%s\n", name);
    }
}
