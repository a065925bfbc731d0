/* comparison.c - --compare: what it refuses, what it runs, and where what it found goes. */
#include "comparison.h"

#include "command.h"
#include "interrupt.h"
#include "print.h"
#include "report.h"

#include <string.h>

static const struct option comparison_rows[] = {
    {.name = "compare",
     .heading = "Attention",
     .kind = OPTION_FLAG,
     .help = "in place of tensors show how far this attention is from the exact one, head by "
             "head, and what both cost; also as --csv and --json"},
};

const struct option_group comparison_options = OPTION_GROUP(comparison_rows);

static int refuse(const char *name)
{
    return report_problem(EXIT_USAGE, NULL,
                          "--compare and --%s do not go together: a comparison is text, --csv or "
                          "--json in place of anything else",
                          name);
}

int comparison_check(const struct command *command, const char *const *given, bool has_page)
{
    static const char *const refused[] = {"tidy", "npy",  "npz",    "sites",
                                          "top",  "next", "ablate", "ablate-pattern"};
    if (has_page)
        return refuse("explain");
    for (struct option_walk walk = {.command = command}; option_next(&walk);)
        for (size_t i = 0; given[walk.n - 1] && i < sizeof(refused) / sizeof(refused[0]); i++)
            if (walk.option.name && strcmp(walk.option.name, refused[i]) == 0)
                return refuse(refused[i]);
    return EXIT_DONE;
}

int comparison_find(struct comparison *comparison, const struct attn_run *run)
{
    struct attn_error err = {0};
    interrupt_catch();
    return attn_compare(run, COMPARISON_N_RECALLED, &comparison->found, &err) == ATTN_OK
               ? EXIT_DONE
               : report_error(&err);
}

struct comparison_place comparison_place(const struct comparison *comparison,
                                         const struct attn_compared_head *head)
{
    const struct attn_labels *labels = comparison->labels;
    if (!labels->axes)
        return (struct comparison_place){head->layer, head->head};
    size_t n_head = attn_selection_dims(labels->selection)->n_head;
    int n_each = (int)(n_head / labels->axes->n_batch);
    return (struct comparison_place){head->head / n_each, head->head % n_each};
}

const char *comparison_first_name(const struct comparison *comparison)
{
    return comparison->labels->axes ? "batch" : "layer";
}

void comparison_print_number(struct attn_sink *out, double value, int precision)
{
    char text[ATTN_FLOAT_TEXT_SIZE];
    if (precision < 0)
        attn_sink_write(out, text, attn_format_float((float)value, text));
    else
        print(out, "%.*f", precision, value);
}

static int write_json(const struct comparison *comparison, const char *path, int precision,
                      struct attn_sink *out)
{
    struct attn_error err = {0};
    struct attn_sink *sink;
    if (strcmp(path, "-") == 0)
        return comparison_print_json(comparison, precision, out);
    if (attn_sink_create_file(path, &sink, &err) != ATTN_OK)
        return report(&err, EXIT_OUTPUT);
    int code = comparison_print_json(comparison, precision, sink);
    if (code == EXIT_DONE && attn_sink_commit(sink, &err) != ATTN_OK)
        code = report(&err, EXIT_OUTPUT);
    attn_sink_free(sink);
    return code;
}

static int write_csv(const struct comparison *comparison, const char *path, int precision,
                     struct attn_sink *out)
{
    if (strcmp(path, "-") == 0)
        return comparison_print_csv(comparison, precision, out);
    return comparison_write_csv(comparison, precision, path);
}

int comparison_write(const struct comparison *comparison, const struct output_args *args,
                     struct attn_sink *out)
{
    const char *csv = output_path(args, "csv"), *json = output_path(args, "json");
    int precision = (int)args->precision;
    int code = EXIT_DONE;
    if (!csv && !json)
        return comparison_print_text(comparison, out);
    if (csv)
        code = write_csv(comparison, csv, precision, out);
    if (code == EXIT_DONE && json)
        code = write_json(comparison, json, precision, out);
    return code;
}

void comparison_release(struct comparison *comparison)
{
    attn_comparison_free(comparison->found);
    comparison->found = NULL;
}
