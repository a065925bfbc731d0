/*
 * format.h - the output formats. A format is defined by one struct: its name, its option with help,
 * and its functions.
 *
 *     for (size_t i = 0; i < attn_n_format(); i++) {
 *         const struct attn_format *format = attn_format_at(i);
 *         if (format->argument)
 *             printf("%s %s  %s\n", format->name, format->argument, format->help);
 *     }
 *
 * To add a format, write one file that defines `const struct attn_format attn_NAME_format`, and add
 * NAME to the list in writer.h. Options, help, completions and error messages are derived from it.
 */
#ifndef ATTN_WRITERS_FORMAT_H
#define ATTN_WRITERS_FORMAT_H

#include "tables/table_writer.h"

struct attn_writer_ops;

/* An option that belongs to a format and is useless without it. Its value is a text. */
struct attn_format_option {
    const char *name;     /* without dashes; NULL: the format has no such option */
    const char *argument; /* placeholder of its value: "TEXT" */
    const char *help;     /* one sentence for --help */
};

struct attn_format {
    const char *name; /* name of the format's option without dashes, "npz"; unique */
    const char
        *argument;    /* the placeholder of the option's value, "FILE" or "DIR"; NULL: no option */
    const char *help; /* one sentence for --help; NULL without an option */
    /* the sentence for commands that write one table to a FILE; NULL: they have no such option */
    const char *table_help;
    unsigned medium;   /* enum attn_medium (base/medium.h): the kind of output */
    const char *title; /* what its files are called in messages: "CSV" */
    /* a path is a directory for many files; or, unless needs_directory, a file for one matrix if it
     * ends with the suffix */
    bool is_directory;
    bool is_picture; /* shows numbers as colors, and does not contain the numbers */
    /* A picture that can show numbers of both signs, which --compare produces. */
    bool draws_differences;
    bool takes_directory; /* a path may be a directory for many files, or end with '/' */
    const char *suffix;   /* suffix of the names of its files: ".csv" */
    bool needs_directory; /* cannot be written to a sink such as standard output */
    bool is_decimal;      /* writes numbers as decimal text, with the writer's `precision` */
    /* contains whole tensors, so views of patterns (writers/view.h) are an error */
    bool holds_arrays;
    /* supports both stacks of a model; otherwise it shows the decoder, or the encoder if only that
     * is selected */
    bool holds_stacks;
    bool joins_stacks;    /* if holds_stacks is false: shows both stacks if both are selected */
    bool is_suggested;    /* hints suggest it for getting all numbers */
    bool has_predictions; /* supports attn_writer_predictions */
    struct attn_format_option own;

    /* functions that write the events of a trace; NULL: not supported */
    const struct attn_writer_ops *tensors;

    bool has_tables;                 /* supports tables */
    enum attn_table_form table_form; /* form in which it writes tables */
};

/* Return the number of formats, and format I in the order of their options; NULL if I is too
 * large. */
ATTN_API size_t attn_n_format(void);
ATTN_API const struct attn_format *attn_format_at(size_t i);

/* Returns the format NAME, "csv"; NULL if it is unknown. */
ATTN_API const struct attn_format *attn_format_find(const char *name);

typedef bool (*attn_format_fn)(const struct attn_format *format);

#endif
