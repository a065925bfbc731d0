/* tables.c - see tables.h. */
#include "cmd/args/tables.h"

#include "cmd/line/report.h"

#include "tool.h"

#include <string.h>

static const struct option tables_rows[] = {
    OPTION_TEXT("csv", "FILE", struct tables_args, paths[TABLES_CSV],
                "write the table as CSV into FILE instead of text; '-' is standard output"),
    OPTION_TEXT("json", "FILE", struct tables_args, paths[TABLES_JSON],
                "write it as one JSON document"),
    OPTION_TEXT("jsonl", "FILE", struct tables_args, paths[TABLES_JSONL],
                "write it as one JSON object per row"),
    OPTION_SYNC(struct tables_args),
    OPTION_NUMBER("precision", "N", struct tables_args, precision, 0, 17,
                  "digits after the point; default in files: as many as bring back the same "
                  "number"),
};

const struct option_group tables_options = OPTION_GROUP("Output", tables_rows);

static const struct option pictures_rows[] = {
    OPTION_TEXT("png", "FILE", struct tables_args, pictures[TABLES_PNG],
                "draw one column of the table as PNG, layers from top to bottom; '-' is standard "
                "output"),
    OPTION_TEXT("svg", "FILE", struct tables_args, pictures[TABLES_SVG],
                "the same figure as SVG, in which text can be searched"),
    OPTION_TEXT("pdf", "FILE", struct tables_args, pictures[TABLES_PDF],
                "the same figure as PDF, for LaTeX"),
    OPTION_TEXT("html", "FILE", struct tables_args, pictures[TABLES_HTML],
                "the same figure as a web page"),
    OPTION_FLAG("heatmap", struct tables_args, picture.is_heatmap,
                "print that column as a heat map instead of text"),
    OPTION_TEXT("column", "NAME", struct tables_args, column,
                "the column to draw; default: the main number of the command, such as change of "
                "`ablate` or effect of `patch`"),
};

const struct option_group table_pictures_options = OPTION_GROUP("Pictures", pictures_rows);

/* The rows of picture_options that shape a picture of a table. */
static bool make_shape(size_t i, struct option *row)
{
    static const char *const names[] = {"colormap", "color-scale", "values", "cell",
                                        "width",    "title",       "theme",  "color"};
    if (i >= sizeof(names) / sizeof(names[0]))
        return false;
    for (size_t k = 0; k < picture_options.n; k++)
        if (strcmp(picture_options.rows[k].name, names[i]) == 0)
            *row = picture_options.rows[k];
    return true;
}

const struct option_group table_shapes_options = {.heading = "Pictures", .make_row = make_shape};

static const char *const names[TABLES_N_FORM] = {"csv", "json", "jsonl"};
static const char *const picture_names[TABLES_N_PICTURE] = {"png", "svg", "pdf", "html"};

enum { MOST_OUTPUTS = TABLES_N_FORM + TABLES_N_PICTURE };

static bool is_standard(const char *path)
{
    return strcmp(path, "-") == 0;
}

static struct attn_output output_of(const struct tables_args *args, const char *format,
                                    const char *path)
{
    return (struct attn_output){.format = attn_format_find(format),
                                .path = is_standard(path) ? NULL : path,
                                .is_synced = args->is_synced};
}

/* The outputs of ARGS as the library checks them. */
static size_t list(const struct tables_args *args, struct attn_output items[MOST_OUTPUTS])
{
    size_t n = 0;
    for (int form = 0; form < TABLES_N_FORM; form++)
        if (args->paths[form])
            items[n++] = output_of(args, names[form], args->paths[form]);
    for (int form = 0; form < TABLES_N_PICTURE; form++)
        if (args->pictures[form])
            items[n++] = output_of(args, picture_names[form], args->pictures[form]);
    return n;
}

bool tables_have_pictures(const struct tables_args *args)
{
    for (int form = 0; form < TABLES_N_PICTURE; form++)
        if (args->pictures[form])
            return true;
    return args->picture.is_heatmap;
}

/* What shapes a picture, without one, would do nothing. */
static enum attn_status check_shapes(const struct tables_args *args, struct attn_error *err)
{
    if (args->column && !tables_have_pictures(args))
        return refuse(err, "--png, --svg, --pdf, --html and --heatmap draw it",
                      "--column needs a picture");
    for (int form = 0; args->picture.is_heatmap && form < TABLES_N_FORM; form++)
        if (args->paths[form] && is_standard(args->paths[form]))
            return refuse(err, NULL, "--heatmap and --%s both write to standard output",
                          names[form]);
    for (int form = 0; args->picture.is_heatmap && form < TABLES_N_PICTURE; form++)
        if (args->pictures[form] && is_standard(args->pictures[form]))
            return refuse(err, NULL, "--heatmap and --%s both write to standard output",
                          picture_names[form]);
    return ATTN_OK;
}

enum attn_status tables_check(const struct tables_args *args, struct attn_error *err)
{
    struct attn_output items[MOST_OUTPUTS];
    struct attn_picture_options picture;
    const size_t n = list(args, items);

    ATTN_TRY(check_shapes(args, err));
    ATTN_TRY(picture_find(&args->picture, &picture, err));
    ATTN_TRY(attn_outputs_check(items, n, err));
    for (size_t i = 0; i < n; i++)
        if (items[i].format->is_picture)
            ATTN_TRY(attn_table_picture_check(&items[i], err));
    return ATTN_OK;
}

enum attn_status tables_check_model(const struct tables_args *args, const struct attn_host *host,
                                    struct attn_error *err)
{
    struct attn_output items[MOST_OUTPUTS];

    return attn_host_check_outputs(host, items, list(args, items), err);
}

/* Writes TABLE where OUTPUT says, or to OUT. */
static enum attn_status write_form(const struct attn_table *table, const struct attn_output *output,
                                   int precision, struct attn_sink *out, struct attn_error *err)
{
    const enum attn_table_form form = output->format->table_form;
    struct attn_sink *file = NULL;
    enum attn_status status;
    if (!output->path)
        return attn_table_write(table, form, precision, out, err);
    status = attn_output_create_file(output, &file, err);
    if (status == ATTN_OK)
        status = attn_table_write(table, form, precision, file, err);
    if (status == ATTN_OK)
        status = attn_sink_commit(file, err);
    attn_sink_free(file);
    return status;
}

static enum attn_status write_pictures(const struct tables_args *args,
                                       const struct attn_table *table,
                                       const struct attn_table_grid *grid, struct attn_sink *out,
                                       struct attn_error *err)
{
    const struct attn_output heatmap = {.format = attn_format_find("heatmap"), .sink = out};
    struct attn_table_grid drawn = *grid;
    struct attn_picture_options picture;

    ATTN_TRY(picture_find(&args->picture, &picture, err));
    if (args->column)
        drawn.values = args->column;
    for (int form = 0; form < TABLES_N_PICTURE; form++)
        if (args->pictures[form]) {
            struct attn_output output = output_of(args, picture_names[form], args->pictures[form]);

            output.sink = output.path ? NULL : out;
            ATTN_TRY(attn_table_picture_write(table, &drawn, &picture, &output, err));
        }
    return args->picture.is_heatmap
               ? attn_table_picture_write(table, &drawn, &picture, &heatmap, err)
               : ATTN_OK;
}

enum attn_status tables_write(const struct tables_args *args, const struct attn_table *table,
                              const struct attn_table_grid *grid, struct attn_sink *out,
                              struct attn_error *err)
{
    const int precision = (int)args->precision;
    bool is_written = tables_have_pictures(args);

    if (is_written && grid)
        ATTN_TRY(write_pictures(args, table, grid, out, err));
    for (int form = 0; form < TABLES_N_FORM; form++)
        if (args->paths[form]) {
            const struct attn_output output = output_of(args, names[form], args->paths[form]);

            is_written = true;
            ATTN_TRY(
                at_stage(ATTN_STAGE_OUTPUT, write_form(table, &output, precision, out, err), err));
        }
    if (is_written)
        return ATTN_OK;
    return at_stage(ATTN_STAGE_OUTPUT,
                    attn_table_write(table, ATTN_TABLE_ALIGNED, precision, out, err), err);
}
