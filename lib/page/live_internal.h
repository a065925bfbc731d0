/* live_internal.h - what live.h declares for the library alone. */
#ifndef ATTN_PAGE_LIVE_INTERNAL_H
#define ATTN_PAGE_LIVE_INTERNAL_H

#include "page/live.h"

/* The module of a library in the file CODE, an absolute path. */
enum attn_status attn_live_module_find_near(const char *code, char **path, struct attn_error *err);

#endif
