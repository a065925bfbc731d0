/*
 * comparison_csv.c - a comparison as tables: compare.csv with a line for each head and error,
 * compare_cost.csv with what each layer costs, compare_logits.csv with a line for each position.
 * What there is none of is empty.
 */
#include "comparison.h"

#include "command.h"
#include "print.h"
#include "report.h"

#include "tool.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void print_line(struct attn_sink *out, struct comparison_place place, const char *error,
                       const struct attn_difference *difference, int precision)
{
    print(out, "%d,%d,%s", place.first, place.head, error);
    for (int i = 0; i < ATTN_DIFFERENCE_ROWS; i++) {
        print_text(out, ",");
        if (!isnan(difference->values[i]))
            comparison_print_number(out, difference->values[i], precision);
    }
    print(out, ",%zu,%zu\n", (size_t)difference->values[ATTN_DIFFERENCE_ROWS],
          (size_t)difference->values[ATTN_DIFFERENCE_ROWS_KL_INFINITE]);
}

int comparison_print_csv(const struct comparison *comparison, int precision, struct attn_sink *out)
{
    const struct attn_comparison *found = comparison->found;
    print(out, "%s,head,error", comparison_first_name(comparison));
    for (int i = 0; i < ATTN_DIFFERENCE_ROWS; i++)
        print(out, ",%s", attn_difference_name((enum attn_difference_value)i));
    print_text(out, ",rows,rows_kl_infinite\n");
    for (size_t i = 0; i < found->n_head; i++) {
        const struct attn_compared_head *head = &found->heads[i];
        struct comparison_place place = comparison_place(comparison, head);
        print_line(out, place, "local", &head->local, precision);
        if (found->has_propagated)
            print_line(out, place, "propagated", &head->propagated, precision);
    }
    return EXIT_DONE;
}

static int print_cost(const struct comparison *comparison, int precision, struct attn_sink *out)
{
    const struct attn_comparison *found = comparison->found;
    (void)precision; /* seconds are small */
    print_text(out, "layer,exact_pairs,chosen_pairs,exact_bytes,chosen_bytes,exact_seconds,"
                    "chosen_seconds\n");
    for (size_t i = 0; i < found->n_layer; i++) {
        const struct attn_compared_layer *layer = &found->layers[i];
        print(out, "%d,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", layer->layer,
              layer->exact.n_pair, layer->chosen.n_pair, layer->exact.n_byte, layer->chosen.n_byte);
        comparison_print_number(out, layer->exact.seconds, -1);
        print_text(out, ",");
        comparison_print_number(out, layer->chosen.seconds, -1);
        print_text(out, "\n");
    }
    return EXIT_DONE;
}

/* The text of token ID in a field of its own, quoted where CSV wants it; empty without one. */
static int print_token(const struct comparison *comparison, const int32_t *id,
                       struct attn_sink *out)
{
    struct attn_error err = {0};
    size_t size = 0;
    const char *text = NULL;
    char *escaped;
    if (comparison->tokenizer && id)
        text = attn_tokenizer_token(comparison->tokenizer, *id, &size);
    print_text(out, ",");
    if (!text)
        return EXIT_DONE;
    if (attn_escape(text, size, &escaped, &err) != ATTN_OK)
        return report(&err, EXIT_OUTPUT);
    bool is_quoted = strpbrk(escaped, ",\"");
    print_text(out, is_quoted ? "\"" : "");
    for (const char *at = escaped; *at; at++) {
        attn_sink_write(out, at, 1);
        if (*at == '"')
            attn_sink_write(out, at, 1);
    }
    print_text(out, is_quoted ? "\"" : "");
    attn_text_free(escaped);
    return EXIT_DONE;
}

static int print_logits(const struct comparison *comparison, int precision, struct attn_sink *out)
{
    const struct attn_comparison *found = comparison->found;
    int code = EXIT_DONE;
    print_text(out, "query,kl,exact_first,chosen_first,query_token,exact_token,chosen_token\n");
    for (size_t i = 0; code == EXIT_DONE && i < found->n_logits; i++) {
        const struct attn_compared_logits *logits = &found->logits[i];
        const int32_t *ids = comparison->labels->ids;
        const int32_t *tokens[] = {ids ? &ids[logits->position] : NULL, &logits->exact_first,
                                   &logits->chosen_first};
        print(out, "%zu,", logits->position);
        comparison_print_number(out, logits->kl, precision);
        print(out, ",%d,%d", (int)logits->exact_first, (int)logits->chosen_first);
        for (size_t j = 0; code == EXIT_DONE && j < sizeof(tokens) / sizeof(tokens[0]); j++)
            code = print_token(comparison, tokens[j], out);
        print_text(out, "\n");
    }
    return code;
}

typedef int (*print_fn)(const struct comparison *comparison, int precision, struct attn_sink *out);

static int write_table(const struct comparison *comparison, int precision, const char *directory,
                       const char *name, print_fn print_table)
{
    struct attn_error err = {0};
    struct attn_sink *sink;
    char *path;
    if (asprintf(&path, "%s/%s", directory, name) < 0)
        return report_no_memory();
    enum attn_status status = attn_sink_create_file(path, &sink, &err);
    free(path);
    if (status != ATTN_OK)
        return report(&err, EXIT_OUTPUT);
    int code = print_table(comparison, precision, sink);
    if (code == EXIT_DONE && attn_sink_commit(sink, &err) != ATTN_OK)
        code = report(&err, EXIT_OUTPUT);
    attn_sink_free(sink);
    return code;
}

int comparison_write_csv(const struct comparison *comparison, int precision, const char *directory)
{
    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return report_problem(EXIT_OUTPUT, NULL, "cannot make directory '%s': %s", directory,
                              strerror(errno));
    int code = write_table(comparison, precision, directory, "compare.csv", comparison_print_csv);
    if (code == EXIT_DONE)
        code = write_table(comparison, precision, directory, "compare_cost.csv", print_cost);
    if (code == EXIT_DONE && comparison->found->n_logits > 0)
        code = write_table(comparison, precision, directory, "compare_logits.csv", print_logits);
    return code;
}
