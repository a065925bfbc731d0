#pragma once

#include "base/buffer.h"
#include "tables/table_writer.h"
#include "tensors/format.h"
#include "trace/trace_internal.h"

#include <stdbool.h>

struct attn_writer_ops;

struct attn_format {
    const char *name; /* name of the format's option without dashes, "npz"; unique */
    const char
        *argument;    /* the placeholder of the option's value, "FILE" or "DIR"; NULL: no option */
    const char *help; /* one sentence for --help; NULL without an option */
    /* the sentence for commands that write one table to a FILE; NULL: they have no such option */
    const char *table_help;
    unsigned medium;   /* enum attn_medium (params/medium.h): the kind of output */
    const char *title; /* what its files are called in messages: "CSV" */
    /* a path is a directory for many files; or, unless needs_directory, a file for one matrix if it
     * ends with the suffix */
    bool is_directory;
    bool is_picture;      /* shows numbers as colors, and does not contain the numbers */
    bool takes_directory; /* a path may be a directory for many files, or end with '/' */
    const char *suffix;   /* suffix of the names of its files: ".csv" */
    bool needs_directory; /* cannot be written to a sink such as standard output */
    /* contains whole tensors, so views of patterns (tensors/view.h) are an error */
    bool holds_arrays;
    /* supports both stacks of a model; otherwise it shows the decoder, or the encoder if only that
     * is selected */
    bool holds_stacks;
    bool joins_stacks;    /* if holds_stacks is false: shows both stacks if both are selected */
    bool is_suggested;    /* hints suggest it for getting all numbers */
    bool has_predictions; /* supports attn_writer_predictions */
    bool shows_types;     /* needs `mixes` of the options */

    /* functions that write the events of a trace; NULL: not supported */
    const struct attn_writer_ops *tensors;

    bool has_tables;                 /* supports tables */
    enum attn_table_form table_form; /* form in which it writes tables */
};

/* Return the number of formats, and format I in the order of their options; NULL if I is too
 * large. */
size_t attn_n_format(void);
const struct attn_format *attn_format_at(size_t i);

typedef bool (*attn_format_fn)(const struct attn_format *format);

/* Returns true if FORMAT has an array for each of several images; others show the first. */
bool attn_format_holds_images(const struct attn_format *format);

/* Returns true if FORMAT writes a directory of many files to PATH. */
bool attn_format_is_directory(const struct attn_format *format, const char *path);

/* Returns an error if the ending of PATH is that of another kind of file than FORMAT, such as .jpg
 * for PNG, or if PATH IS_DIRECTORY and has the ending of a file, unless it exists or ends with '/'.
 * Text may have the ending .txt. OPTION is the field with the path. */
enum attn_status attn_format_check_name(const struct attn_format *format, const char *option,
                                        const char *path, bool is_directory,
                                        struct attn_error *err);

/* Writes the options of the formats for which IS_LISTED (NULL: all) to OUT [size] as a list:
 * "`csv`, `tidy` or `json`", with LAST before the last one. The list is null-terminated and may be
 * cut. Returns the length of the whole list. */
size_t attn_format_list(attn_format_fn is_listed, const char *last, char *out, size_t size);

/* Writes rows of a tensor as text. An allocation failure stays in the buffer. */

/* Appends `,` and a number for each of WIDTH columns; PRECISION is as in attn_number_text. NOTHING
 * is written for cells that ROW lacks, and unless it is "" also for NaN and infinity. */
void attn_row_append_text(struct attn_buffer *text, struct attn_row row, size_t width,
                          int precision, const char *nothing);

/* Appends [0.5,0.5,null]: WIDTH >= 1 columns, null for cells that ROW lacks. */
void attn_json_append_row(struct attn_buffer *out, struct attn_row row, size_t width,
                          int precision);
