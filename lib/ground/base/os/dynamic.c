#include "base/os/dynamic.h"

#include <string.h>

#ifdef __APPLE__
#include <stdio.h>

/* Opens Homebrew's library: libpng16.so.16 is libpng16.16.dylib there, in a folder that the linker
 * does not search on ARM. */
void *attn_dynamic_find(const char *name, int flags)
{
    static const char *const folders[] = {"", "/opt/homebrew/lib/", "/usr/local/lib/"};
    const char *so = strstr(name, ".so.");
    char path[256];
    void *library = NULL;

    for (size_t i = 0; so && !library && i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s%.*s.%s.dylib", folders[i], (int)(so - name), name, so + 4);
        library = dlopen(path, flags);
    }
    return library;
}
#else
void *attn_dynamic_find(const char *name, int flags)
{
    return dlopen(name, flags);
}
#endif

const char *attn_dynamic_open(const char *name, int flags, const char *const *names, void *into)
{
    char *pointers = into;
    void *library = attn_dynamic_find(name, flags);

    memcpy(pointers, &library, sizeof library);
    if (!library)
        return "which is not installed";
    for (; *names; names++) {
        /* ISO C has no conversion from void * to a function pointer. */
        void *found = dlsym(library, *names);

        if (!found) {
            dlclose(library);
            memset(into, 0, sizeof library);
            return "which is too old";
        }
        pointers += sizeof found;
        memcpy(pointers, &found, sizeof found);
    }
    return NULL;
}
