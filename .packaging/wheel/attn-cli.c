/* attn-cli.c - the program of a wheel. It opens the libattn.so of the module attn, which contains
 * the command, and calls it.
 *
 * The folder of modules depends on the version of Python and on the installation, so the file is
 * looked for:
 *
 *     PREFIX/bin/attn-cli
 *     PREFIX/lib/python3.11/site-packages/attn/libattn.so    pip install, uv, pipx, venv, --user
 *     PREFIX/lib/python/attn/libattn.so                      pip install --home
 *     PREFIX/attn/libattn.so                                 pip install --target
 */
#include "base/version.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __APPLE__
#include <mach-o/dyld.h>
#define LIBRARY "libattn.dylib"
#else
#include <sys/auxv.h>
#define LIBRARY "libattn.so"
#endif

typedef int main_function(int argc, char **argv);
typedef const char *version_function(void);

static const char *const places[] = {
    "../attn/" LIBRARY,
    "../lib*/py*/*-packages/attn/" LIBRARY,
    "../lib*/py*/attn/" LIBRARY,
};
enum { N_PLACE = sizeof places / sizeof *places };

/* Converts the address of a function, which ISO C does not. */
#define FUNCTION(kind, library, name) (*(kind **)&(void *){dlsym(library, name)})

/* Returns the command in the library at PATH, or NULL if that is a library of another version. */
static main_function *command_in(const char *path, const char **problem)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    version_function *version;

    if (!library) {
        *problem = dlerror();
        return NULL;
    }
    version = FUNCTION(version_function, library, "attn_version");
    if (version && strcmp(version(), ATTN_VERSION) == 0)
        return FUNCTION(main_function, library, "attn_cli_main");
    dlclose(library);
    return NULL;
}

/* Writes the folder of this program. */
static int find_folder(char folder[PATH_MAX])
{
    char *slash;
#ifdef __APPLE__
    char found[PATH_MAX];
    uint32_t size = sizeof found;

    if (_NSGetExecutablePath(found, &size) != 0 || !realpath(found, folder))
        return 0;
#else
    if (!realpath("/proc/self/exe", folder) &&
        !realpath((const char *)getauxval(AT_EXECFN), folder))
        return 0;
#endif
    slash = strrchr(folder, '/');
    *slash = '\0';
    return 1;
}

/* Writes a pattern of glob that matches FOLDER alone. */
static void quote(const char *folder, char pattern[2 * PATH_MAX])
{
    while (*folder) {
        if (strchr("*?[]\\", *folder))
            *pattern++ = '\\';
        *pattern++ = *folder++;
    }
    *pattern = '\0';
}

/* Returns the command of the first library that has it. */
static main_function *find_command(const char *folder, const char **problem)
{
    char quoted[2 * PATH_MAX], pattern[2 * PATH_MAX + 64];
    main_function *command = NULL;

    quote(folder, quoted);
    for (int i = 0; i < N_PLACE && !command; i++) {
        glob_t found = {0};

        snprintf(pattern, sizeof pattern, "%s/%s", quoted, places[i]);
        if (glob(pattern, 0, NULL, &found) == 0)
            for (size_t at = 0; at < found.gl_pathc && !command; at++)
                command = command_in(found.gl_pathv[at], problem);
        globfree(&found);
    }
    return command;
}

/* Live pages need a file that is installed where the library cannot know. */
static void name_live_module(const char *folder)
{
    const char *given = getenv("ATTN_LIVE_MODULE");
    char path[PATH_MAX + 64];

    snprintf(path, sizeof path, "%s/../share/attn-cli/attn.wasm", folder);
    if (!(given && *given) && access(path, R_OK) == 0)
        setenv("ATTN_LIVE_MODULE", path, 1);
}

int main(int argc, char **argv)
{
    char folder[PATH_MAX] = "";
    const char *problem = NULL;
    main_function *command = find_folder(folder) ? find_command(folder, &problem) : NULL;

    if (command) {
        name_live_module(folder);
        return command(argc, argv);
    }
    if (problem)
        fprintf(stderr, "attn-cli: %s\n", problem);
    else
        fprintf(
            stderr,
            "attn-cli: its library is expected in '%s/../lib/python3*/site-packages/attn', with "
            "the version " ATTN_VERSION "; install attn-cli again\n",
            folder);
    return EXIT_FAILURE;
}
