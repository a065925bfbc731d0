/* dynamic.h - opens another library when it is needed. Only for files that static programs and the
 * WebAssembly module lack: these open nothing. */
#ifndef ATTN_BASE_DYNAMIC_H
#define ATTN_BASE_DYNAMIC_H

#include <dlfcn.h>
#include <stddef.h>

/* A function, and where the pointer to it is in a struct. */
struct attn_dynamic_function {
    const char *name;
    size_t offset;
};

/* Opens the library NAME with dlopen's FLAGS, and puts its FUNCTIONS [n] into the struct at INTO.
 * The caller closes *LIBRARY with dlclose. Returns NULL, or the reason of a failure, "which is not
 * installed"; *LIBRARY is NULL then. */
const char *attn_dynamic_open(const char *name, int flags,
                              const struct attn_dynamic_function *functions, size_t n, void *into,
                              void **library);

#endif
