/* control.c - see control.h. */
#include "cmd/args/control.h"

#include "cmd/line/report.h"
#include "tool.h"

#include <string.h>

static const struct option rows[] = {
    OPTION_TEXT("control", "N[:SEED]", struct control_args, control,
                "add the mean effect of N random choices of as many heads, and its standard "
                "deviation"),
};

const struct option_group control_options = OPTION_GROUP("Control", rows);

enum attn_status control_read(const struct control_args *args, size_t *n, uint64_t *seed,
                              struct attn_error *err)
{
    const char *value = args->control;
    size_t size = value ? strcspn(value, ":") : 0;
    int64_t found;

    if (!value)
        return ATTN_OK;
    if (!attn_parse_int(value, size, 1, INT32_MAX, &found) ||
        (value[size] && !attn_parse_uint(value + size + 1, strlen(value + size + 1), seed)))
        return refuse(err, NULL, "'--control' is '%s', expected N or N:SEED", value);
    *n = (size_t)found;
    return ATTN_OK;
}
