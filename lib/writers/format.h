/*
 * format.h - the formats that output is written in. A format is one row: its name, its option with
 * help, and its functions.
 *
 *     for (size_t i = 0; i < attn_n_format(); i++) {
 *         const struct attn_format *format = attn_format_at(i);
 *         if (format->argument)
 *             printf("%s %s  %s\n", format->name, format->argument, format->help);
 *     }
 *
 * To add a format, write one file with its row, `const struct attn_format attn_NAME_format`, and
 * add NAME to the list in writer.h. Options, help, completions and refusals follow from the row.
 */
#ifndef ATTN_WRITERS_FORMAT_H
#define ATTN_WRITERS_FORMAT_H

#include "tables/table_writer.h"

struct attn_writer_ops;

/* An option that belongs to one format and has no meaning without it. Its value is a text. */
struct attn_format_option {
    const char *name;     /* without dashes; NULL: no option */
    const char *argument; /* the placeholder of its value: "TEXT" */
    const char *help;     /* a sentence for --help */
};

struct attn_format {
    const char *name; /* the name of its option without dashes, "npz"; unique */
    const char
        *argument;    /* the placeholder of the option's value, "FILE" or "DIR"; NULL: no option */
    const char *help; /* a sentence for --help; NULL without an option */
    const char *table_help; /* the same where it writes one table, into a FILE; NULL: no option */
    unsigned medium;        /* enum attn_medium (base/medium.h): the kind of output that it is */
    const char *title;      /* the name of its files in messages: "CSV" */
    bool is_directory; /* a path is a directory of many files, or a file of one matrix if it ends in
                          the suffix, unless needs_directory */
    bool is_picture;   /* it shows numbers as colors, and does not hold them */
    /* A picture that shows numbers of both signs, as --compare makes them. */
    bool draws_differences;
    bool takes_directory; /* a path may be a directory, or end in '/', for many files */
    const char *suffix;   /* the ending of the names of those files: ".csv" */
    bool needs_directory; /* it cannot be written to a sink, as standard output is */
    bool is_decimal;      /* its numbers are decimal text, with the writer's `precision` */
    bool holds_arrays;    /* whole tensors; views of patterns (writers/view.h) are refused */
    bool holds_stacks;    /* of a model with two; else it shows the decoder, or the encoder if that
                             alone is selected */
    bool joins_stacks;    /* if it shows both when both are selected */
    bool is_suggested;    /* hints name it to those who want all numbers */
    bool has_predictions; /* it has a place for attn_writer_predictions */
    struct attn_format_option own;

    const struct attn_writer_ops *tensors; /* writes the events of a trace; NULL: it cannot */

    bool has_tables;                 /* it writes tables */
    enum attn_table_form table_form; /* in this form */
};

/* All formats, in the order of their options: I below attn_n_format(), else NULL. */
ATTN_API size_t attn_n_format(void);
ATTN_API const struct attn_format *attn_format_at(size_t i);

/* The format NAME ("csv"; terminated), or NULL. */
ATTN_API const struct attn_format *attn_format_find(const char *name);

typedef bool (*attn_format_fn)(const struct attn_format *format);

#endif
