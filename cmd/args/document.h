/* document.h - the outputs of commands that print one text: --json FILE and --csv FILE instead of
 * standard output. */
#pragma once

#include "cmd/line/command.h"

struct document_args {
    const char *json, *csv; /* paths; "-": standard output; NULL: not given */
};

extern const struct attn_param_list document_options;

/* Lets CALL->out write to the path of ARGS. Refuses two paths. */
enum attn_status document_open(struct call *call, const struct document_args *args,
                               struct attn_error *err);

/* A row for a command that has only JSON: `--json` alone is standard output, as scripts have it. */
#define DOCUMENT_JSON(type, member, help)                                                          \
    ATTN_PARAM(TEXT, "json", "[=FILE]", type, member, help "; alone or with - on standard output", \
               .traits = ATTN_PARAM_MAY_BE_ALONE)
