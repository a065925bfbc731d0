/* tables.c - see tables.h. */
#include "tables.h"

#include "command.h"
#include "report.h"

#include <string.h>

static const struct option tables_rows[] = {
    {.name = "csv",
     .argument = "FILE",
     .heading = "Output",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct tables_args, paths[TABLES_CSV]),
     .help = "write the table as CSV into FILE, '-' is standard output, in place of text"},
    {.name = "json",
     .argument = "FILE",
     .heading = "Output",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct tables_args, paths[TABLES_JSON]),
     .help = "the same as one JSON document"},
    {.name = "jsonl",
     .argument = "FILE",
     .heading = "Output",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct tables_args, paths[TABLES_JSONL]),
     .help = "the same as one JSON object a row"},
    {.name = "precision",
     .argument = "N",
     .heading = "Output",
     .kind = OPTION_NUMBER,
     .max = 17,
     .offset = offsetof(struct tables_args, precision),
     .help = "digits after the point; default in files: as many as bring back the same number"},
};

const struct option_group tables_options = OPTION_GROUP(tables_rows);

static const char *const names[TABLES_N_FORM] = {"csv", "json", "jsonl"};

static bool is_standard(const char *path)
{
    return strcmp(path, "-") == 0;
}

/* The outputs of ARGS as the library checks them. */
static size_t list(const struct tables_args *args, struct attn_output items[TABLES_N_FORM])
{
    size_t n = 0;
    for (int form = 0; form < TABLES_N_FORM; form++)
        if (args->paths[form])
            items[n++] = (struct attn_output){
                .format = attn_format_find(names[form]),
                .path = is_standard(args->paths[form]) ? NULL : args->paths[form]};
    return n;
}

int tables_check(const struct tables_args *args)
{
    struct attn_output items[TABLES_N_FORM];
    struct attn_error err = {0};
    if (attn_outputs_check(items, list(args, items), &err) != ATTN_OK)
        return report_error(&err);
    return EXIT_DONE;
}

int tables_check_model(const struct tables_args *args, const struct attn_host *host)
{
    struct attn_output items[TABLES_N_FORM];
    struct attn_error err = {0};
    if (attn_host_check_outputs(host, items, list(args, items), &err) != ATTN_OK)
        return report_error(&err);
    return EXIT_DONE;
}

/* Writes TABLE into the file PATH, or to OUT. */
static enum attn_status write_form(const struct attn_table *table, const char *path,
                                   enum attn_table_form form, int precision, struct attn_sink *out,
                                   struct attn_error *err)
{
    struct attn_sink *file = NULL;
    enum attn_status status;
    if (is_standard(path))
        return attn_table_write(table, form, precision, out, err);
    status = attn_sink_create_file(path, &file, err);
    if (status == ATTN_OK)
        status = attn_table_write(table, form, precision, file, err);
    if (status == ATTN_OK)
        status = attn_sink_commit(file, err);
    attn_sink_free(file);
    return status;
}

int tables_write(const struct tables_args *args, const struct attn_table *table,
                 struct attn_sink *out)
{
    struct attn_error err = {0};
    enum attn_status status = ATTN_OK;
    const int precision = (int)args->precision;
    bool is_written = false;
    for (int form = 0; status == ATTN_OK && form < TABLES_N_FORM; form++) {
        if (!args->paths[form])
            continue;
        is_written = true;
        status = write_form(table, args->paths[form], attn_format_find(names[form])->table_form,
                            precision, out, &err);
    }
    if (!is_written)
        status = attn_table_write(table, ATTN_TABLE_ALIGNED, precision, out, &err);
    return status == ATTN_OK ? EXIT_DONE : report(&err, EXIT_OUTPUT);
}
