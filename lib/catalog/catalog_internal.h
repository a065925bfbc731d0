/* catalog_internal.h - declarations of the catalog that only the library uses. */
#ifndef ATTN_CATALOG_CATALOG_INTERNAL_H
#define ATTN_CATALOG_CATALOG_INTERNAL_H

#include "catalog/catalog.h"

/* Called with OTHER, another model that has the same name. */
typedef void (*attn_catalog_other_fn)(void *user, const struct attn_catalog_found *other);

/* Calls VISIT for each other directory and built-in model with the name of FOUND, which
 * attn_catalog_find would return if FOUND did not exist. CATALOG is that of FOUND. */
void attn_catalog_visit_others(const struct attn_catalog *catalog,
                               const struct attn_catalog_found *found, attn_catalog_other_fn visit,
                               void *user);

#endif
