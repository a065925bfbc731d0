/* outputs.h - the outputs of a command: text on standard output, or files of tensors or tables. */
#ifndef CMD_OUTPUTS_H
#define CMD_OUTPUTS_H

#include "cmd/args/picture.h"
#include "cmd/args/prompt.h"
#include "cmd/line/options.h"

#include "tool.h"

/* The options. Initialize with precision -1. */
struct output_args {
    struct named_list formats; /* paths by the names of formats, and the formats' own options */
    bool is_addition;          /* files of earlier runs stay */
    bool is_synced;            /* files survive a power failure */
    int64_t precision;         /* -1: as many digits as bring back the same number */
    bool has_table_csv;        /* `csv` gets a table, not tensors */
};

/* Options that fill a struct output_args, made from the list of formats. */
extern const struct option_group output_options;

/* Where FORMAT goes, "-" for standard output, or NULL. */
const char *output_path(const struct output_args *args, const char *format);

/* The output of ARGS for FORMAT, which they name; "-" is STANDARD. */
struct attn_output output_of(const struct output_args *args, const struct attn_format *format,
                             struct attn_sink *standard);

/* A walk over the outputs that ARGS name, in the order of the formats:
 *
 *     for (struct output_walk walk = {.args = args, .standard = out}; output_next(&walk);)
 *         write_into(&walk.output);
 */
struct output_walk {
    const struct output_args *args;
    struct attn_sink *standard; /* "-" */
    size_t i;                   /* the format after this one */
    struct attn_output output;
};

bool output_next(struct output_walk *walk);

/* Whether ARGS name any output. */
bool outputs_are_wanted(const struct output_args *args);

/* Refuses outputs that hold only tables. HINT lists the options that make tables. */
enum attn_status outputs_check_tables(const struct output_args *args, const char *hint,
                                      struct attn_error *err);

/* Writes TABLES [n_table], except those that are NULL, to the outputs of ARGS that hold tables and
 * no tensors; "-" is STANDARD. PICTURE has the words for captions. */
enum attn_status outputs_write_tables(const struct output_args *args,
                                      struct attn_table *const *tables, size_t n_table,
                                      const struct attn_table_picture *picture,
                                      struct attn_sink *standard, struct attn_error *err);

/* Whether ARGS write a table as FORMAT, and no tensors. */
bool output_is_table(const struct output_args *args, const struct attn_format *format);

/* Lists the outputs of tensors whose format IS_LISTED accepts; NULL: all outputs. There is room for
 * one more. "-" is STANDARD. *n is 0 before; free() *items. */
enum attn_status outputs_list(const struct output_args *args, attn_format_fn is_listed,
                              struct attn_sink *standard, struct attn_output **items, size_t *n,
                              struct attn_error *err);

/* Refuses outputs that are files of HOST's model. */
enum attn_status outputs_check_model(const struct output_args *args, const struct attn_host *host,
                                     struct attn_error *err);

/* Where PROMPT has no text, refuses a last output whose FILE looks like one. */
enum attn_status outputs_check_text(const struct output_args *args,
                                    const struct prompt_args *prompt, struct attn_error *err);

/* Checks ARGS. *is_standard_used: data goes to standard output. */
enum attn_status outputs_check(const struct output_args *args, bool *is_standard_used,
                               struct attn_error *err);

/* The options of a command with one table. Initialize with precision -1. */
struct tables_args {
    struct output_args output;
    struct attn_table_order order; /* --sort and --limit */
    const char *column;            /* that is drawn; NULL: not given */
    struct picture_args picture;
};

/* Formats of tables, and of their pictures; both fill a struct output_args. */
extern const struct option_group tables_options, table_pictures_options;
/* These fill a struct tables_args. */
extern const struct option_group table_order_options, table_column_options;

/* The value of --limit in CALL: SIZE_MAX for 0, which is all; 0 if it is not given. */
size_t tables_limit(const struct call *call, const struct tables_args *args);

/* The order of ARGS, for calls of the library. */
struct attn_table_order tables_order(const struct tables_args *args);

/* Whether ARGS name any picture. */
bool tables_have_pictures(const struct tables_args *args);

/* Refuses options of CALL without an effect, and outputs that do not go together: at most one goes
 * to standard output, no two are one file. FIGURE is the kind of picture without --figure. */
enum attn_status tables_check(const struct call *call, const struct tables_args *args,
                              enum attn_figure figure, struct attn_error *err);

/* Puts the rows of *TABLE into the order of ARGS, and leaves out those that they do not want. */
enum attn_status tables_sort(const struct tables_args *args, struct attn_table **table,
                             struct attn_error *err);

/* The same as a separate table, *SORTED, whose first N_GROUP columns name a group; NULL: the table
 * stays. IS_JOINT: all groups keep the same rows (tables/table_order.h). */
enum attn_status tables_sort_copy(const struct tables_args *args, size_t n_group, bool is_joint,
                                  const struct attn_table *table, struct attn_table **sorted,
                                  struct attn_error *err);

/* The run that a table is of, for pages that show its patterns, too; and what gets notes. */
struct tables_run {
    struct attn_host *host;
    const struct attn_request *request; /* one text, as it was run; NULL: no such run */
    attn_note_fn on_note;               /* or NULL */
};

/* Draws TABLE into the pictures of ARGS; OUT is standard output. PICTURE is the default for
 * --column.
 */
enum attn_status tables_draw(const struct tables_args *args, const struct attn_table *table,
                             const struct attn_table_picture *picture, const struct tables_run *run,
                             struct attn_sink *out, struct attn_error *err);

/* Writes TABLE to the other outputs of ARGS, or as text to OUT, standard output, where there is no
 * output. PICTURE has the words for captions; text that is too wide keeps its `values`. */
enum attn_status tables_write(const struct tables_args *args, struct attn_table *table,
                              const struct attn_table_picture *picture, struct attn_sink *out,
                              struct attn_error *err);

#endif
