/*
 * jsonl_format.c - tables as JSON lines, an object a row (tables/table_writer.h). Tensors have no
 * place in them.
 */
#include "output/writer.h"

const struct attn_format attn_jsonl_format = {
    .name = "jsonl",
    .argument = "FILE",
    .help = "write the tables of --top, --next or --compare as JSON lines, one object per row",
    .title = "JSON lines",
    .is_decimal = true,
    .has_predictions = true,
    .has_tables = true,
    .table_form = ATTN_TABLE_JSON_LINES,
};
