/* paper.c - the formats latex and markdown: tables for papers (tables/table_writer.h). Tensors have
 * no place in them. */
#include "writers/writer.h"

const struct attn_format attn_latex_format = {
    .name = "latex",
    .argument = "FILE",
    .help = "write the tables of predictions and of `compare` as LaTeX, for booktabs and siunitx",
    .title = "LaTeX",
    .is_decimal = true,
    .has_predictions = true,
    .has_tables = true,
    .table_form = ATTN_TABLE_LATEX,
};

const struct attn_format attn_markdown_format = {
    .name = "markdown",
    .argument = "FILE",
    .help = "write the same tables as Markdown, as GitHub has it",
    .title = "Markdown",
    .is_decimal = true,
    .has_predictions = true,
    .has_tables = true,
    .table_form = ATTN_TABLE_MARKDOWN,
};
