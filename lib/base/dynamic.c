/* dynamic.c - see dynamic.h. */
#include "base/dynamic.h"

#include <string.h>

const char *attn_dynamic_open(const char *name, int flags,
                              const struct attn_dynamic_function *functions, size_t n, void *into,
                              void **library)
{
    *library = dlopen(name, flags);
    if (!*library)
        return "which is not installed";
    for (size_t i = 0; i < n; i++) {
        /* ISO C has no conversion from void * to a function pointer. */
        void *found = dlsym(*library, functions[i].name);

        if (!found) {
            dlclose(*library);
            *library = NULL;
            return "which is too old";
        }
        memcpy((char *)into + functions[i].offset, &found, sizeof found);
    }
    return NULL;
}
