#include "live/live_module.h"

#include "base/memory.h"
#include "base/os/os.h"
#include "base/os/system.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/path.h"

#include <stdio.h>
#include <string.h>

static bool is_in(const char *folder, const char *name, char path[ATTN_PATH_SIZE])
{
    return attn_path_join(folder, name, path) && attn_os_kind(path) == ATTN_OS_FILE;
}

static enum attn_status take(const char *found, char **path, struct attn_error *err)
{
    char *copy;

    ATTN_TRY(ATTN_NEW(copy, attn_strndup(found, strlen(found), err)));
    *path = copy;
    return ATTN_OK;
}

static enum attn_status refuse(const char *own, const char *shared, struct attn_error *err)
{
    char places[2 * ATTN_PATH_SIZE];

    if (shared)
        snprintf(places, sizeof places, "neither in '%s' nor in '%s'", attn_quote_string(own).text,
                 attn_quote_string(shared).text);
    else
        snprintf(places, sizeof places, "not in '%s'", attn_quote_string(own).text);
    attn_error_set(err, ATTN_IO, "a live page needs 'attn.wasm', which 'make wasm' makes; it is %s",
                   places);
    return attn_error_at(ATTN_IO, ATTN_STAGE_OUTPUT, err);
}

/* Returns the length of the parent of the path formed by the first SIZE bytes of PATH: for
 * "/usr/bin" the length of "/usr". */
static size_t size_above(const char *path, size_t size)
{
    while (size > 0 && !attn_os_is_slash(path[size - 1]))
        size--;
    return size > 0 ? size - 1 : 0;
}

/* A build folder is recognized by a file that is never installed. */
enum attn_status attn_live_module_find_near(const char *code, char **path, struct attn_error *err)
{
    const size_t n_own = size_above(code, strlen(code));
    size_t n_above = size_above(code, n_own);
    char own[ATTN_PATH_SIZE], shared[ATTN_PATH_SIZE], found[ATTN_PATH_SIZE];

    snprintf(own, sizeof own, "%.*s", (int)n_own, code);
    if (is_in(own, "attn-cli.source", found)) {
        snprintf(own, sizeof own, "%.*s/wasm", (int)n_above, code);
        return is_in(own, "attn.wasm", found) ? take(found, path, err) : refuse(own, NULL, err);
    }
    if (n_above >= 4 && memcmp(code + n_above - 4, "/lib", 4) == 0) /* lib/x86_64-linux-gnu */
        n_above -= 4;
    snprintf(shared, sizeof shared, "%.*s/share/attn-cli", (int)n_above, code);
    if (is_in(own, "attn.wasm", found) || is_in(shared, "attn.wasm", found))
        return take(found, path, err);
    return refuse(own, shared, err);
}

enum attn_status attn_live_module_find(const char *given, char **path, struct attn_error *err)
{
    char code[ATTN_PATH_SIZE];

    if (given && *given) {
        if (attn_os_kind(given) == ATTN_OS_FILE)
            return take(given, path, err);
        attn_error_set(err, ATTN_IO, "'%s' is no file, expected the WebAssembly module 'attn.wasm'",
                       attn_quote_string(given).text);
        return attn_error_at(ATTN_IO, ATTN_STAGE_OPTIONS, err);
    }
    if (attn_path_of_code(code, sizeof code))
        return attn_live_module_find_near(code, path, err);
    attn_error_set(err, ATTN_IO, "where 'attn.wasm' is cannot be found without '/proc/self/maps'");
    return attn_error_at(ATTN_IO, ATTN_STAGE_OUTPUT, err);
}
