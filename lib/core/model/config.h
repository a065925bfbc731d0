/* config.h - reads the architecture of a model: its sizes, and everything else by names. */
#ifndef ATTN_MODEL_CONFIG_H
#define ATTN_MODEL_CONFIG_H

#include "base/status.h"
#include "tables/table.h"
#include "trace/dims.h"

struct attn_config; /* attn_model_config returns that of a model */

/* Returns the sizes and the sites of a run over N_POSITION positions. A run with a source sets
 * n_source in the result. Borrows from CONFIG. */
ATTN_API struct attn_dims attn_config_dims(const struct attn_config *config, size_t n_position);

/* Returns the name of field I of all configs: "n_ctx", "norm", ...; NULL after the last. */
ATTN_API const char *attn_config_name(size_t i);

/* Returns the value of field NAME; kinds are words, as `inspect` prints them: "layernorm" for
 * "norm". Missing for a field that CONFIG does not have, a size that is not limited, a factor that
 * is not applied, and an unknown name. Borrows from CONFIG. */
ATTN_API struct attn_cell attn_config_value(const struct attn_config *config, const char *name);

#endif
