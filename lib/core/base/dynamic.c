/* dynamic.c - see dynamic.h. */
#include "base/dynamic.h"

#include <string.h>

const char *attn_dynamic_open(const char *name, int flags, const char *const *names, void *into)
{
    char *pointers = into;
    void *library = dlopen(name, flags);

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
