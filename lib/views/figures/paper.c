/* paper.c - the formats latex and markdown: tables for papers (tables/table_writer.h). Tensors are
 * not supported. */
#include "tensors/writer.h"

const struct attn_format attn_latex_format = {
    .name = "latex",
    .argument = "FILE",
    .help = "write the tables of predictions as LaTeX, for booktabs and siunitx",
    .table_help =
        "write it as LaTeX, for the packages booktabs and siunitx, with a caption. Standard "
        "errors stand in parentheses; standard deviations beside them are left out",
    .medium = ATTN_MEDIUM_PAPER,
    .title = "LaTeX",
    .suffix = ".tex",
    .has_predictions = true,
    .has_tables = true,
    .table_form = ATTN_TABLE_LATEX,
};

const struct attn_format attn_markdown_format = {
    .name = "markdown",
    .argument = "FILE",
    .help = "write the same tables as Markdown, as GitHub has it",
    .table_help = "write it as Markdown",
    .medium = ATTN_MEDIUM_PAPER,
    .title = "Markdown",
    .suffix = ".md",
    .has_predictions = true,
    .has_tables = true,
    .table_form = ATTN_TABLE_MARKDOWN,
};
