/* restart_params.c - see restart_params.h. */
#include "stream/restart_params.h"

#include "base/text/number.h"
#include "params/param_internal.h"

#include <string.h>

enum { MOST_SHARDS = 1000000 };

enum attn_status attn_shard_read(const struct attn_param *param, void *home, const char *label,
                                 const char *text, struct attn_error *err)
{
    size_t *shard = (size_t *)(void *)((char *)home + param->offset);
    size_t *n_shard = (size_t *)(void *)((char *)home + param->second);
    const char *slash = strchr(text, '/');
    int64_t i = 0, n = 0;

    if (!slash || !attn_parse_int(slash + 1, strlen(slash + 1), 1, MOST_SHARDS, &n) ||
        !attn_parse_int(text, (size_t)(slash - text), 0, n - 1, &i))
        return attn_param_refuse(err, label, text, "I/N with 0 <= I < N, such as 3/8");
    *shard = (size_t)i;
    *n_shard = (size_t)n;
    return ATTN_OK;
}
