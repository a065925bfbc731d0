/*
 * tables.h - where a command's table goes: aligned text on standard output, or the files that were
 * asked for.
 */
#ifndef CMD_TABLES_H
#define CMD_TABLES_H

#include "cmd/args/picture.h"
#include "cmd/line/options.h"

#include "tool.h"

/* Forms of a table that have an option. */
enum { TABLES_CSV, TABLES_JSON, TABLES_JSONL, TABLES_N_FORM };

/* Forms of a picture of it. */
enum { TABLES_PNG, TABLES_SVG, TABLES_PDF, TABLES_HTML, TABLES_N_PICTURE };

/* What was asked for. Initialize with precision -1. */
struct tables_args {
    const char *paths[TABLES_N_FORM];       /* "-" is standard output; NULL: not asked for */
    const char *pictures[TABLES_N_PICTURE]; /* likewise */
    const char *column;                     /* that is drawn; NULL: not given */
    struct picture_args picture;
    bool is_synced;    /* what is written survives a power failure */
    int64_t precision; /* -1: as many digits as bring back the same number */
};

/* Options that fill a struct tables_args: the files; and of tables that have pictures, the pictures
 * and what shapes them, each from the same struct. */
extern const struct option_group tables_options, table_pictures_options;
extern const struct option_group table_shapes_options; /* fills a struct picture_args */

/* Whether pictures are asked for. */
bool tables_have_pictures(const struct tables_args *args);

/* Whether the outputs go together: one of them at most goes to standard output, no two are one
 * file. Reports and returns an exit code. */
int tables_check(const struct tables_args *args);

/* Refuses outputs that are files of HOST's model. Reports and returns an exit code. */
int tables_check_model(const struct tables_args *args, const struct attn_host *host);

/* Writes TABLE to the outputs of ARGS, or as text to OUT where there are none; OUT is standard
 * output. GRID is what pictures draw unless --column says otherwise; it may be NULL where there are
 * none. Reports and returns an exit code. */
int tables_write(const struct tables_args *args, const struct attn_table *table,
                 const struct attn_table_grid *grid, struct attn_sink *out);

#endif
