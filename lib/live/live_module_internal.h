/* live_module_internal.h - what live_module.h declares for the library alone. */
#ifndef ATTN_LIVE_LIVE_MODULE_INTERNAL_H
#define ATTN_LIVE_LIVE_MODULE_INTERNAL_H

#include "live/live_module.h"

/* The module of a library in the file CODE, an absolute path. */
enum attn_status attn_live_module_find_near(const char *code, char **path, struct attn_error *err);

#endif
