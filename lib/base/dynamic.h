/* dynamic.h - loads another library when it is needed. Must not be used in files that are also part
 * of static programs or the WebAssembly module, which cannot load libraries. */
#ifndef ATTN_BASE_DYNAMIC_H
#define ATTN_BASE_DYNAMIC_H

#include <dlfcn.h>
#include <stddef.h>

/* A function to look up, and the offset of the pointer to it in a struct. */
struct attn_dynamic_function {
    const char *name;
    size_t offset;
};

/* Opens the library NAME with dlopen's FLAGS, and stores pointers to its FUNCTIONS [n] in the
 * struct INTO. The caller closes *LIBRARY with dlclose. Returns NULL, or on failure a reason such
 * as "which is not installed", with *LIBRARY NULL. */
const char *attn_dynamic_open(const char *name, int flags,
                              const struct attn_dynamic_function *functions, size_t n, void *into,
                              void **library);

#endif
