/* catalog_internal.h - what catalog.h declares for the library alone. */
#ifndef ATTN_CATALOG_CATALOG_INTERNAL_H
#define ATTN_CATALOG_CATALOG_INTERNAL_H

#include "catalog/catalog.h"

/* Told of another place that has the name of a model. */
typedef void (*attn_catalog_other_fn)(void *user, const struct attn_catalog_found *other);

/* Visits the other directories and the built-in model that have the name of FOUND too, which
 * attn_catalog_find would find if FOUND were not there. CATALOG is that which it was found in. */
void attn_catalog_visit_others(const struct attn_catalog *catalog,
                               const struct attn_catalog_found *found, attn_catalog_other_fn visit,
                               void *user);

#endif
