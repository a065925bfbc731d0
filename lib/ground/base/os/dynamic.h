/* dynamic.h - loads another library when it is needed. Must not be used in files that are also part
 * of static programs or the WebAssembly module, which cannot load libraries. */
#pragma once

#include <dlfcn.h>

/* For a list of functions, X(result, name, arguments): the members of a struct with pointers to
 * them, and their names. */
/* NOLINTNEXTLINE(bugprone-macro-parentheses): parts of a declaration cannot be in parentheses */
#define ATTN_DYNAMIC_POINTER(result, name, arguments) result(*name) arguments;
#define ATTN_DYNAMIC_NAME(result, name, arguments) #name,

/* Calls dlopen for the library NAME, such as "libpng16.so.16", under its name in this system. */
void *attn_dynamic_find(const char *name, int flags);

/* Opens the library NAME with dlopen's FLAGS. INTO is a struct of pointers: to the library, then to
 * the functions NAMES, ended by NULL, in their order. The caller closes the library with dlclose.
 * Returns NULL, or on failure a reason such as "which is not installed", with the first pointer
 * NULL. */
const char *attn_dynamic_open(const char *name, int flags, const char *const *names, void *into);
