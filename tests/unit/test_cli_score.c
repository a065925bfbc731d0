/*
 * test_cli_score.c - `attribute --score`: the cases of tests/fixtures/score-cases, whose numbers
 * were computed in float64 from the definitions; the pair of writers that a compiled program was
 * compiled with; and in each family with a stream of sums, pairs that add up to the score.
 */
#include "extra.h"
#include "tests/support/column.h"
#include "tests/support/command.h"
#include "tests/support/csv.h"
#include "tests/support/parts.h"
#include "tests/support/suite.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CASES "tests/fixtures/score-cases/"

enum { MOST_FIELDS = 32 };

static const char *const writer[] = {"query_part", "query_layer", "query_head",
                                     "key_part",   "key_layer",   "key_head"};

static const char *cell(const struct attn_csv *csv, size_t row, const char *name)
{
    for (size_t c = 0; c < csv->n_col; c++)
        if (strcmp(csv->cells[c], name) == 0)
            return csv->cells[row * csv->n_col + c];
    return NULL;
}

/* Returns the row of CSV that has the writers of row ROW of OTHER. */
static size_t find_row(const struct attn_csv *csv, const struct attn_csv *other, size_t row)
{
    for (size_t i = 1; i < csv->n_row; i++) {
        size_t n = 0;

        for (size_t k = 0; k < sizeof writer / sizeof *writer; k++) {
            const char *a = cell(csv, i, writer[k]), *b = cell(other, row, writer[k]);

            n += (!a && !b) || (a && b && strcmp(a, b) == 0);
        }
        if (n == sizeof writer / sizeof *writer)
            return i;
    }
    ck_abort_msg("row %zu is missing", row);
    return 0;
}

/* Compares the columns in NUMBERS, "score=1e-4;relative=2e-5", with those of the file NAME. */
static void compare(const char *what, const struct attn_csv *found, const char *name, char *numbers)
{
    char path[256], *text;

    snprintf(path, sizeof path, CASES "%s", name);
    text = attn_file_text(path);
    struct attn_csv expected = attn_csv_parse(text);

    ck_assert_msg(found->n_row == expected.n_row, "%s: %zu rows, expected %zu", what, found->n_row,
                  expected.n_row);
    for (char *rest, *number = strtok_r(numbers, ";", &rest); number;
         number = strtok_r(NULL, ";", &rest)) {
        char *equals = strchr(number, '=');
        const double tolerance = strtod(equals + 1, NULL);

        *equals = '\0';
        for (size_t i = 1; i < expected.n_row; i++) {
            const size_t row = find_row(found, &expected, i);
            const double a = strtod(cell(found, row, number), NULL);
            const double b = strtod(cell(&expected, i, number), NULL);

            ck_assert_msg(fabs(a - b) <= tolerance, "%s: %s of row %zu is %.9g, expected %.9g",
                          what, number, i, a, b);
        }
    }
    attn_csv_release(&expected);
    free(text);
}

/* Compares the first rows of FOUND with the writers in ROWS, "mlp,2,,pos,,;...". */
static void compare_first(const char *what, const struct attn_csv *found, const char *n, char *rows)
{
    size_t row = 1;

    ck_assert_uint_eq(found->n_row - 1, strtoul(n, NULL, 10));
    for (char *rest, *first = strtok_r(rows, ";", &rest); first;
         first = strtok_r(NULL, ";", &rest), row++) {
        char line[256];

        snprintf(line, sizeof line, "%s,%s,%s,%s,%s,%s", cell(found, row, writer[0]),
                 cell(found, row, writer[1]), cell(found, row, writer[2]),
                 cell(found, row, writer[3]), cell(found, row, writer[4]),
                 cell(found, row, writer[5]));
        ck_assert_msg(strcmp(line, first) == 0, "%s: row %zu is %s, expected %s", what, row, line,
                      first);
    }
}

/* Runs one line of cases.tsv: name, file or first:N, numbers or writers, arguments. */
static void try_line(char *line)
{
    char *fields[MOST_FIELDS];
    const char *args[MOST_FIELDS];
    size_t n = 0, n_arg = 0;

    for (char *at = line; at; n++) {
        fields[n] = at;
        at = strchr(at, '\t');
        if (at)
            *at++ = '\0';
    }
    for (size_t i = 3; i < n; i++)
        args[n_arg++] = fields[i];
    args[n_arg++] = "-q";
    args[n_arg++] = "--csv";
    args[n_arg++] = "-";
    args[n_arg] = NULL;
    struct attn_ran ran = attn_command(args);
    ck_assert_msg(ran.exit == 0, "%s: %s", fields[0], ran.err);
    struct attn_csv found = attn_csv_parse(ran.out);

    if (strncmp(fields[1], "first:", 6) == 0)
        compare_first(fields[0], &found, fields[1] + 6, fields[2]);
    else
        compare(fields[0], &found, fields[1], fields[2]);
    attn_csv_release(&found);
    attn_ran_release(&ran);
}

START_TEST(pairs_are_those_in_float64)
{
    char *text = attn_file_text(CASES "cases.tsv"), *end;
    size_t n = 0;

    for (char *line = text; *line; line = end + 1, n++) {
        end = strchr(line, '\n');
        *end = '\0';
        try_line(line);
    }
    ck_assert_uint_eq(n, 56);
    free(text);
}
END_TEST

/* --- Sums ------------------------------------------------------------------------------------- */

static double number(const struct attn_table *table, size_t row, const char *name)
{
    return attn_test_cell(table, row, name).real;
}

/* Returns true if all parts of the score SPEC were found to add up to it, by pairs and by writers
 * of either side; false if the model has no such head or no stream of sums. */
static bool adds_up(struct attn_host *host, const char *name, const char *spec)
{
    static const int32_t ids[] = {1, 0, 2, 1, 2};
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_attribute_args args = ATTN_ATTRIBUTE_ARGS_DEFAULT;
    struct attn_table *tables[3];
    struct attn_error err = {0};
    double most = 0;
    size_t n;

    request.input.ids = ids, request.input.n_id = sizeof ids / sizeof *ids;
    args.score.text = spec, args.n_most = SIZE_MAX;
    for (int i = 0; i < 3; i++) {
        args.by = (enum attn_attribute_by)(ATTN_ATTRIBUTE_BY_PAIR + i);
        if (attn_attribute(host, &request, &args, &tables[i], &err) != ATTN_OK) {
            ck_assert_msg(i == 0 && err.stage == ATTN_STAGE_OPTIONS, "%s: %s", name, err.message);
            return false;
        }
    }
    n = attn_table_n_row(tables[0]);
    for (size_t row = 0; row + 2 < n; row++)
        most = fmax(most, fabs(number(tables[0], row, "score")));
    for (int i = 0; i < 3; i++) {
        double sums[2] = {0, 0};
        const size_t n_row = attn_table_n_row(tables[i]);

        for (size_t row = 0; row + 2 < n_row; row++) {
            sums[0] += number(tables[i], row, "score");
            sums[1] += number(tables[i], row, "relative");
        }
        for (int k = 0; k < 2; k++) {
            const char *column = k == 0 ? "score" : "relative";
            const double model = number(tables[i], n_row - 1, column);

            ck_assert_msg(fabs(sums[k] - model) <= 1e-4 * most &&
                              fabs(number(tables[i], n_row - 2, column) - model) <= 1e-4 * most,
                          "%s, %s: %s adds up to %.9g, the model has %.9g", name, spec, column,
                          sums[k], model);
        }
        attn_table_free(tables[i]);
    }
    return true;
}

START_TEST(pairs_add_up_to_the_score_in_every_family)
{
    static const char *const kinds[] = {"family-", "attn-",  "decoder-", "gpt2-",
                                        "row-",    "score-", "truth-"};
    DIR *folder = opendir("tests/fixtures");
    size_t n = 0;

    ck_assert(folder);
    for (const struct dirent *entry; (entry = readdir(folder));)
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            char path[300];
            struct attn_host *host;

            snprintf(path, sizeof path, "tests/fixtures/%s", entry->d_name);
            if (strncmp(entry->d_name, kinds[i], strlen(kinds[i])) != 0 ||
                attn_host_open(path, NULL, &host, NULL) != ATTN_OK)
                continue;
            n += adds_up(host, entry->d_name, "4>4@0.0");
            n += adds_up(host, entry->d_name, "3,4>2,3@1.1");
            attn_host_free(host);
        }
    closedir(folder);
    ck_assert_uint_gt(n, 70);
}
END_TEST

ATTN_SUITE("cli_score", pairs_are_those_in_float64, pairs_add_up_to_the_score_in_every_family)
