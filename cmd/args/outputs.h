/* outputs.h - the outputs of a command: text on standard output, and files of tensors or tables. */
#pragma once

#include "cmd/args/picture.h"
#include "cmd/args/prompt.h"
#include "cmd/line/command.h"
#include "cmd/line/options.h"

#include "tool.h"

/* The output options. Initialize with precision SIZE_MAX. */
struct output_args {
    struct format_paths paths;
    size_t precision;   /* SIZE_MAX: as many digits as are needed to read back the same number */
    bool has_table_csv; /* `csv` gets a table instead of tensors */
};

/* The options of struct output_args, beside those of the formats, for tensors, and for tables. */
extern const struct attn_param_list output_options, tables_options;

/* With those of the formats. */
#define OUTPUT_OPTIONS(at)                                                                         \
    {&option_tensor_formats, (at) + offsetof(struct output_args, paths)},                          \
    {                                                                                              \
        &output_options, (at)                                                                      \
    }
#define TABLES_OPTIONS(at)                                                                         \
    {&option_table_formats, (at) + offsetof(struct output_args, paths)},                           \
    {                                                                                              \
        &tables_options, (at)                                                                      \
    }

/* Returns the path of the output of FORMAT, "-" for standard output; NULL if it is not given. */
const char *output_path(const struct output_args *args, const char *format);

/* Leaves out the output of FORMAT. */
void output_remove(struct output_args *args, const char *format);

/* Returns the output of FORMAT, which ARGS must name. STANDARD is the sink of the path "-". */
struct attn_output output_of(const struct output_args *args, const struct attn_format *format,
                             struct attn_sink *standard);

/* An iterator over the outputs that ARGS name, in the order of the formats:
 *
 *     for (struct output_walk walk = {.args = args, .standard = out}; output_next(&walk);)
 *         write_into(&walk.output); */
struct output_walk {
    const struct output_args *args;
    struct attn_sink *standard; /* the sink of the path "-" */
    size_t i;                   /* index of the next format */
    struct attn_output output;
};

bool output_next(struct output_walk *walk);

/* Returns true if ARGS name any output. */
bool outputs_are_wanted(const struct output_args *args);

/* Refuses outputs that can only have tables. HINT lists the options that make tables. */
enum attn_status outputs_check_tables(const struct output_args *args, const char *hint,
                                      struct attn_error *err);

/* Writes those of TABLES [n_table] that are not NULL to those outputs of ARGS that can only have
 * tables. STANDARD is the sink of the path "-". PICTURE has the texts of captions. */
enum attn_status outputs_write_tables(const struct output_args *args,
                                      struct attn_table *const *tables, size_t n_table,
                                      const struct attn_table_picture *picture,
                                      struct attn_sink *standard, struct attn_error *err);

/* Returns true if ARGS write a table in FORMAT, and not tensors. */
bool output_is_table(const struct output_args *args, const struct attn_format *format);

/* Lists the outputs whose formats have tensors and are accepted by IS_LISTED; NULL: by any. *items
 * has space for one more output. STANDARD is the sink of the path "-". *n must be 0 before. The
 * caller frees *items with free(). */
enum attn_status outputs_list(const struct output_args *args, attn_format_fn is_listed,
                              struct attn_sink *standard, struct attn_output **items, size_t *n,
                              struct attn_error *err);

/* Refuses outputs that would overwrite files of HOST's model. */
enum attn_status outputs_check_model(const struct output_args *args, const struct attn_host *host,
                                     struct attn_error *err);

/* If PROMPT has no text, refuses the last output of CALL, whose FILE is probably the text. */
enum attn_status outputs_check_text(const struct call *call, const struct output_args *args,
                                    const struct prompt_args *prompt, struct attn_error *err);

/* Checks ARGS. Sets *is_standard_used if data are written to standard output. */
enum attn_status outputs_check(const struct output_args *args, bool *is_standard_used,
                               struct attn_error *err);

/* The output options of a command with one table. */
struct tables_args {
    struct output_args output;
    struct attn_table_order order; /* --sort, --limit, --where and --columns */
    const char *column;            /* --column, which is drawn; NULL: not given */
    struct picture_args picture;
};

#define TABLES_ARGS_DEFAULT                                                                        \
    {                                                                                              \
        .output.precision = SIZE_MAX, .order.size = sizeof(struct attn_table_order)                \
    }

/* The options of struct tables_args beside those of its members. */
extern const struct attn_param_list table_column_options;

/* Returns the value of --limit in CALL; SIZE_MAX if it is 0, which stands for all; 0 if it is not
 * given. */
size_t tables_limit(const struct call *call, const struct tables_args *args);

/* Returns how many rows to write of a table that shows its MOST largest unless --limit is given; 0:
 * all, also in files without --limit. */
size_t tables_limit_or(const struct call *call, const struct tables_args *args, size_t most);

/* Whether rows or columns are chosen, or rows are sorted. */
bool tables_are_chosen(const struct tables_args *args);

/* Returns true if ARGS name any picture. */
bool tables_have_pictures(const struct tables_args *args);

/* Refuses options of CALL that have no effect, and outputs that cannot be combined: only one can go
 * to standard output, and no two to the same file. FIGURE is the kind of picture that is drawn
 * without --figure. */
enum attn_status tables_check(const struct call *call, const struct tables_args *args,
                              enum attn_figure figure, struct attn_error *err);

/* Sorts the rows of *TABLE by ARGS, and removes those beyond the limit. */
enum attn_status tables_sort(const struct tables_args *args, struct attn_table **table,
                             struct attn_error *err);

/* Sorts TABLE like tables_sort, but into a new table. Its first N_GROUP columns name a group.
 * *sorted is NULL if TABLE would not change. IS_JOINT: all groups keep the same rows
 * (tables/table_order.h). */
enum attn_status tables_sort_copy(const struct tables_args *args, size_t n_group, bool is_joint,
                                  const struct attn_table *table, struct attn_table **sorted,
                                  struct attn_error *err);

/* The run that made a table, for pages that also show its patterns; and the function that gets
 * notes. */
struct tables_run {
    struct attn_host *host;
    /* the request of the run, for one text; NULL: there is no such run */
    const struct attn_request *request;
    attn_note_fn on_note; /* or NULL */
};

/* Writes TABLE to the other outputs of ARGS or, if there is no output, as text to OUT, standard
 * output. PICTURE has the texts of captions. If the text is too wide, the column `values` of
 * PICTURE is kept. A terminal shows only the N_LARGEST rows of each group of a ranked table
 * (ATTN_TRAIT_RANKED); 0: all. */
enum attn_status tables_write(const struct tables_args *args, struct attn_table *table,
                              const struct attn_table_picture *picture, size_t n_largest,
                              struct attn_sink *out, struct attn_error *err);

/* --- Which outputs an option affects ---------------------------------------------------------- */

/* Refuses an option of CALL that affects none of its outputs: the files of OUTPUT, the heat map of
 * PICTURE, and SHOWN, the media (enum attn_medium) that the command prints anyway. A table, tensors
 * and the first screen are only printed if there is no other output. FIGURE is the kind of figure
 * that is drawn without --figure. */
enum attn_status effects_check(const struct call *call, const struct output_args *output,
                               const struct picture_args *picture, unsigned shown,
                               enum attn_figure figure, struct attn_error *err);
