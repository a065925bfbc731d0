#include "catalog/host_open.h"

#include "base/status_internal.h"
#include "base/text/given.h"
#include "catalog/catalog.h"
#include "gguf/gguf.h"

enum attn_status attn_host_open(const char *name, const struct attn_host_options *given,
                                struct attn_host **host, struct attn_error *err)
{
    ATTN_NEED(err, name, host);
    struct attn_host_options options = ATTN_HOST_OPTIONS_DEFAULT;
    struct attn_catalog_found found;
    struct attn_override parts[2];
    char projector[ATTN_FOUND_PATH_SIZE];

    ATTN_TRY(attn_error_at(attn_options_read(given, &options, err), ATTN_STAGE_OPTIONS, err));
    ATTN_TRY(attn_error_at(attn_catalog_find(options.catalog, name, &found, err), ATTN_STAGE_MODEL,
                           err));
    ATTN_TRY(attn_error_at(attn_catalog_find_projector(options.catalog, name, projector, err),
                           ATTN_STAGE_MODEL, err));
    if (projector[0] != '\0') { /* beside the file of Ollama, the only part */
        parts[0] = found.part;
        parts[1] = (struct attn_override){ATTN_FOUND_MMPROJ_PART, projector};
        found.source.overrides = parts;
        found.source.n_override = 2;
    }
    return attn_host_create(&found.source, &options, host, err);
}
