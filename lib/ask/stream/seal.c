#include "stream/seal.h"

#include "base/hash.h"
#include "base/os/os.h"
#include "base/text/path.h"
#include "run/host_internal.h"

#include <string.h>

enum { END = 1 << 20 }; /* bytes that count at either end of a file */

/* Continues HASH over bytes AT to LAST of a file. */
static uint64_t add_bytes(uint64_t hash, int descriptor, uint64_t at, uint64_t last)
{
    char bytes[1 << 14];
    ptrdiff_t n = 1;

    for (; at < last && n > 0; at += (uint64_t)n) {
        n = attn_os_read_at(descriptor, bytes,
                            last - at < sizeof bytes ? (size_t)(last - at) : sizeof bytes, at);
        hash = attn_hash_bytes(hash, bytes, n > 0 ? (size_t)n : 0);
    }
    return hash;
}

uint64_t attn_seal_file(const char *path)
{
    const int descriptor = attn_os_open(path, ATTN_OS_READ | ATTN_OS_NO_WAIT, 0);
    struct attn_os_info info;
    uint64_t hash = 0;

    if (descriptor < 0)
        return 0;
    if (attn_os_stat_open(descriptor, &info) == 0 && info.kind == ATTN_OS_FILE) {
        const uint64_t size = (uint64_t)info.size, first = size < END ? size : END;
        size_t n_name;
        const char *name = attn_path_last(path, &n_name);

        hash = add_bytes(attn_hash_bytes(size, name, n_name), descriptor, 0, first);
        hash = add_bytes(hash, descriptor, size - first < END ? first : size - END, size);
    }
    attn_os_close(descriptor);
    return hash;
}

/* Returns true if PATH, in a folder, is that of a part of a model, an adapter or a dictionary. */
static bool is_part(const char *path)
{
    static const char *const ends[] = {".json", ".safetensors", ".bin",      ".pt",    ".pth",
                                       ".gguf", ".npy",         ".jinja",    ".model", ".spm",
                                       ".npz",  "vocab.txt",    "merges.txt"};

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (attn_path_has_ending(path, ends[i]))
            return true;
    return false;
}

/* Returns the sum for the parts in FOLDER, and at its TOP for those of modules, as 1_Pooling. */
static uint64_t add_folder(const char *folder, bool is_top)
{
    struct attn_path_names names = {0};
    char path[ATTN_PATH_SIZE];
    uint64_t sum = 0;

    attn_path_list(folder, &names, NULL);
    for (size_t i = 0; i < names.n; i++) {
        const char *name = names.names[i];

        if (!attn_path_join(folder, name, path))
            continue;
        if (is_part(path))
            sum += attn_seal_file(path);
        else if (is_top && *name >= '0' && *name <= '9')
            sum += add_folder(path, false);
    }
    attn_path_names_release(&names);
    return sum;
}

/* Returns the sum for TEXT [size] if it is a path. A file of weights has its config beside it. */
static uint64_t add_path(const char *text, size_t size)
{
    static const char *const configs[] = {"config.json", "cfg.json"};
    char path[ATTN_PATH_SIZE], config[ATTN_PATH_SIZE];
    const char *slash;
    uint64_t sum;

    if (size == 0 || size >= sizeof path)
        return 0;
    memcpy(path, text, size);
    path[size] = '\0';
    if (attn_path_is_folder(path))
        return add_folder(path, true);
    sum = attn_os_kind(path) == ATTN_OS_FILE ? attn_seal_file(path) : 0;
    slash = attn_os_last_slash(path);
    if (slash)
        path[slash - path] = '\0';
    for (size_t i = 0; sum != 0 && i < sizeof configs / sizeof *configs; i++)
        if (attn_path_join(slash ? path : ".", configs[i], config))
            sum += attn_seal_file(config);
    return sum;
}

uint64_t attn_seal_named(const char *text, size_t size)
{
    uint64_t sum = 0;

    for (size_t at = 0; at < size; at++) {
        size_t n = 0;

        if (at > 0 && !memchr("=:,\"", text[at - 1], 4))
            continue;
        while (at + n < size && !memchr("#*:,\"", text[at + n], 5))
            n++;
        sum += add_path(text + at, n);
        if (at + n < size)
            sum += add_path(text + at, size - at);
    }
    return sum;
}

uint64_t attn_seal_model(const struct attn_host *host)
{
    const char *folder = NULL;
    size_t n_folder = 0;
    uint64_t sum = 0;

    for (size_t i = 0; i < host->parts.n; i++) {
        const char *path = host->parts.items[i].path,
                   *slash = path ? attn_os_last_slash(path) : NULL;
        const size_t n = slash ? (size_t)(slash - path) : 0;

        if (n == 0 || strcmp(slash + 1, host->parts.items[i].name) != 0)
            sum += path ? attn_seal_file(path) : 0; /* it replaces a part, or is the model */
        else if (!folder || n != n_folder || memcmp(folder, path, n) != 0) {
            folder = path, n_folder = n;
            sum += add_path(folder, n_folder);
        }
    }
    return sum;
}
