#include "cmd/args/document.h"

#include "cmd/line/report.h"

#include "tool.h"

#include <string.h>

static const struct attn_param rows[] = {
    ATTN_PARAM(TEXT, "csv", "FILE", struct document_args, csv,
               "write the table as CSV; - is standard output"),
    ATTN_PARAM(TEXT, "json", "FILE", struct document_args, json,
               "write one JSON document; - is standard output"),
};

const struct attn_param_list document_options = ATTN_PARAM_LIST("Output", rows);

enum attn_status document_open(struct call *call, const struct document_args *args,
                               struct attn_error *err)
{
    const char *path = args->json ? args->json : args->csv, *name = args->json ? "json" : "csv";
    struct attn_sink *file;

    if (args->json && args->csv)
        return refuse(err, NULL, "`json` and `csv` are given, expected one of them");
    if (!path || strcmp(path, "-") == 0)
        return ATTN_OK;
    ATTN_TRY(attn_format_check_name(attn_format_find(name), name, path, false, err));
    ATTN_TRY(at_stage(ATTN_STAGE_OUTPUT, attn_sink_create_file(path, &file, err), err));
    attn_sink_free(call->out);
    call->out = file;
    call->has_file = true;
    return ATTN_OK;
}
