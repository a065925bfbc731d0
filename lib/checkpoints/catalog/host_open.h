/* host_open.h - opens a host with a model that is given by its name. */
#ifndef ATTN_CATALOG_HOST_OPEN_H
#define ATTN_CATALOG_HOST_OPEN_H

#include "run/host.h"

/* As attn_host_create, for a model given by name: the path of a directory, or a name that
 * attn_catalog_find finds in the catalog of OPTIONS. ATTN_INVALID if there is no such model. */
ATTN_API enum attn_status attn_host_open(const char *name, const struct attn_host_options *options,
                                         struct attn_host **host, struct attn_error *err);

#endif
