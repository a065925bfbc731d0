/* The forms of tables, with cells that are awkward in each. */
#include "tables/table_writer_internal.h"
#include "tensors/writer.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/suite.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct attn_column columns[] = {
    {.name = "head", .type = ATTN_VALUE_INTEGER},
    {.name = "kl", .type = ATTN_VALUE_REAL, .notation = ATTN_NOTATION_FIXED, .digits = 4},
    {.name = "token", .type = ATTN_VALUE_TEXT},
    {.name = "same", .type = ATTN_VALUE_BOOLEAN},
    {.name = "shape", .type = ATTN_VALUE_LIST},
};
enum { N_COLUMN = sizeof columns / sizeof *columns };

static void append(struct attn_table *table, int64_t head, double kl, const char *token, bool same,
                   size_t n_dim)
{
    static const int64_t shape[] = {12, -1, 64};
    const struct attn_cell row[N_COLUMN] = {attn_cell_integer(head), attn_cell_real(kl),
                                            attn_cell_text(token, strlen(token)),
                                            attn_cell_boolean(same), attn_cell_list(shape, n_dim)};

    ck_assert(attn_table_append(table, row, N_COLUMN, NULL) == ATTN_OK);
}

static struct attn_table *create_empty(void)
{
    struct attn_table *table;

    ck_assert(attn_table_create("heads", columns, N_COLUMN, &table, NULL) == ATTN_OK);
    return table;
}

static struct attn_table *create_awkward(void)
{
    struct attn_table *table = create_empty();
    const struct attn_cell none[N_COLUMN] = {{0}};

    append(table, 0, 0.1, " eat", true, 2);
    append(table, -7, (double)NAN, "a,\"b\"", false, 0);
    append(table, INT64_MAX, (double)INFINITY, "=1+1", true, 1);
    append(table, INT64_MIN, -(double)INFINITY, "-", false, 3);
    append(table, 1, 1e-7, "\n\t\\\x01\xff", false, 0);
    append(table, 2, -0.0, "\xe6\x97\xa5\xe6\x9c\xac", false, 0); /* two wide characters */
    append(table, 3, -123456.75, "", false, 0);
    ck_assert(attn_table_append(table, none, N_COLUMN, NULL) == ATTN_OK);
    return table;
}

/* Expects what TABLE is in STYLE. */
static void expect_in(const struct attn_table *table, const struct attn_table_style *style,
                      const char *expected)
{
    struct attn_sink *sink;
    const char *bytes;
    char *text;
    size_t size;

    ck_assert(attn_sink_create_memory(&sink, NULL) == ATTN_OK);
    ck_assert(attn_table_write_styled(table, style, sink, NULL) == ATTN_OK);
    bytes = attn_sink_bytes(sink, &size);
    text = strndup(bytes, size);
    ck_assert_str_eq(text, expected);
    free(text);
    attn_sink_free(sink);
}

/* Expects what TABLE is in lines of WIDTH columns. */
static void expect_fitted(const struct attn_table *table, size_t width, const char *kept,
                          const char *expected)
{
    const struct attn_table_style style = {
        .precision = -1, .width = width, .elsewhere = "a file", .kept = kept};

    expect_in(table, &style, expected);
}

/* What TABLE is in FORM; free it with free(). */
static char *text_of(const struct attn_table *table, enum attn_table_form form, int precision)
{
    struct attn_error err = {0};
    struct attn_sink *sink;
    const char *bytes;
    size_t size;
    char *text;

    ck_assert(attn_sink_create_memory(&sink, &err) == ATTN_OK);
    ck_assert_msg(attn_table_write(table, form, precision, sink, &err) == ATTN_OK, "%s",
                  err.message);
    bytes = attn_sink_bytes(sink, &size);
    text = strndup(bytes ? bytes : "", size);
    ck_assert_uint_eq(strlen(text), size);
    attn_sink_free(sink);
    return text;
}

static void expect(struct attn_table *table, enum attn_table_form form, int precision,
                   const char *expected)
{
    char *text = text_of(table, form, precision);

    ck_assert_str_eq(text, expected);
    free(text);
    attn_table_free(table);
}

START_TEST(aligned_columns_line_up)
{
    expect(create_awkward(), ATTN_TABLE_ALIGNED, -1,
           "                head        kl  token           same  shape\n"
           "                   0    0.1000   eat            yes   [12, -1]\n"
           "                  -7       nan  a,\"b\"           no    []\n"
           " 9223372036854775807       inf  =1+1            yes   [12]\n"
           "-9223372036854775808      -inf  -               no    [12, -1, 64]\n"
           "                   1   1.0e-07  \\n\\t\\\\\\x01\\xff  no    []\n"
           "                   2         0  \xe6\x97\xa5\xe6\x9c\xac            no    []\n"
           "                   3  -1.2e+05                  no    []\n"
           "                   -         -  -               -     -\n");
}
END_TEST

START_TEST(a_column_may_be_wider_than_its_cells)
{
    static const struct attn_column wide[] = {
        {.name = "head", .type = ATTN_VALUE_TEXT, .width = 6},
        {.name = "kl", .type = ATTN_VALUE_INTEGER, .width = 4},
        {.name = "rows", .type = ATTN_VALUE_INTEGER, .width = 2}};
    const struct attn_cell row[] = {attn_cell_text("0.1", 3), attn_cell_integer(7),
                                    attn_cell_integer(123)};
    struct attn_table *table;

    ck_assert(attn_table_create("heads", wide, 3, &table, NULL) == ATTN_OK);
    ck_assert(attn_table_append(table, row, 3, NULL) == ATTN_OK);
    expect(table, ATTN_TABLE_ALIGNED, -1,
           "head      kl  rows\n"
           "0.1        7   123\n");
}
END_TEST

START_TEST(tabbed_lines_have_no_names)
{
    expect(create_awkward(), ATTN_TABLE_TABBED, -1,
           "0\t0.1000\t eat\t1\t[12, -1]\n"
           "-7\tnan\ta,\"b\"\t0\t[]\n"
           "9223372036854775807\tinf\t=1+1\t1\t[12]\n"
           "-9223372036854775808\t-inf\t-\t0\t[12, -1, 64]\n"
           "1\t0.0000\t\\n\\t\\\\\\x01\\xff\t0\t[]\n"
           "2\t-0.0000\t\xe6\x97\xa5\xe6\x9c\xac\t0\t[]\n"
           "3\t-123456.7500\t\t0\t[]\n"
           "\t\t\t\t\n");
}
END_TEST

START_TEST(csv_quotes_what_needs_it)
{
    expect(create_awkward(), ATTN_TABLE_CSV, -1,
           "head,kl,token,same,shape\n"
           "0,0.1, eat,1,\"[12, -1]\"\n"
           "-7,nan,\"a,\"\"b\"\"\",0,[]\n"
           "9223372036854775807,inf,\\x3d1+1,1,[12]\n"
           "-9223372036854775808,-inf,\\x2d,0,\"[12, -1, 64]\"\n"
           "1,1e-07,\\n\\t\\\\\\x01\\xff,0,[]\n"
           "2,-0,\xe6\x97\xa5\xe6\x9c\xac,0,[]\n"
           "3,-123456.75,,0,[]\n"
           ",,,,\n");
}
END_TEST

START_TEST(json_lines_are_an_object_a_row)
{
    expect(create_awkward(), ATTN_TABLE_JSON_LINES, -1,
           "{\"head\": 0, \"kl\": 0.1, \"token\": \" eat\", \"same\": true, \"shape\": [12, -1]}\n"
           "{\"head\": -7, \"kl\": null, \"token\": \"a,\\\"b\\\"\", \"same\": false, "
           "\"shape\": []}\n"
           "{\"head\": 9223372036854775807, \"kl\": null, \"token\": \"=1+1\", \"same\": true, "
           "\"shape\": [12]}\n"
           "{\"head\": -9223372036854775808, \"kl\": null, \"token\": \"-\", \"same\": false, "
           "\"shape\": [12, -1, 64]}\n"
           "{\"head\": 1, \"kl\": 1e-07, \"token\": \"\\n\\t\\\\\\u0001\\\\xff\", "
           "\"same\": false, \"shape\": []}\n"
           "{\"head\": 2, \"kl\": -0, \"token\": \"\xe6\x97\xa5\xe6\x9c\xac\", \"same\": false, "
           "\"shape\": []}\n"
           "{\"head\": 3, \"kl\": -123456.75, \"token\": \"\", \"same\": false, \"shape\": []}\n"
           "{\"head\": null, \"kl\": null, \"token\": null, \"same\": null, \"shape\": null}\n");
}
END_TEST

START_TEST(json_is_one_document)
{
    struct attn_table *table = create_empty();

    append(table, 4, 0.25, "is", true, 0);
    append(table, 5, 0.5, "so", false, 1);
    expect(table, ATTN_TABLE_JSON, -1,
           "{\n\"schema\": 1, \"kind\": \"table\",\n\"table\": \"heads\",\n\"rows\": [\n"
           "{\"head\": 4, \"kl\": 0.25, \"token\": \"is\", \"same\": true, \"shape\": []},\n"
           "{\"head\": 5, \"kl\": 0.5, \"token\": \"so\", \"same\": false, \"shape\": [12]}\n"
           "]\n}\n");
}
END_TEST

START_TEST(a_table_without_rows_is_whole)
{
    expect(create_empty(), ATTN_TABLE_ALIGNED, -1, "head  kl  token  same  shape\n");
    expect(create_empty(), ATTN_TABLE_TABBED, -1, "");
    expect(create_empty(), ATTN_TABLE_CSV, -1, "head,kl,token,same,shape\n");
    expect(create_empty(), ATTN_TABLE_JSON, -1,
           "{\n\"schema\": 1, \"kind\": \"table\",\n\"table\": \"heads\",\n\"rows\": []\n}\n");
    expect(create_empty(), ATTN_TABLE_JSON_LINES, -1, "");
}
END_TEST

/* One real of each notation, in every form. */
static struct attn_table *create_reals(double value)
{
    static const struct attn_column reals[] = {
        {.name = "shortest", .type = ATTN_VALUE_REAL},
        {.name = "double", .type = ATTN_VALUE_REAL, .notation = ATTN_NOTATION_DOUBLE},
        {.name = "fixed", .type = ATTN_VALUE_REAL, .notation = ATTN_NOTATION_FIXED, .digits = 6},
        {.name = "figures",
         .type = ATTN_VALUE_REAL,
         .notation = ATTN_NOTATION_FIGURES,
         .digits = 3},
    };
    const struct attn_cell row[] = {attn_cell_real(value), attn_cell_real(value),
                                    attn_cell_real(value), attn_cell_real(value)};
    struct attn_table *table;

    ck_assert(attn_table_create("reals", reals, 4, &table, NULL) == ATTN_OK);
    ck_assert(attn_table_append(table, row, 4, NULL) == ATTN_OK);
    return table;
}

START_TEST(reals_follow_their_notation)
{
    expect(create_reals(1.0 / 3), ATTN_TABLE_CSV, -1,
           "shortest,double,fixed,figures\n0.33333334,0.3333333333333333,0.33333334,0.333\n");
    expect(create_reals(1.0 / 3), ATTN_TABLE_TABBED, -1,
           "0.33333334\t0.3333333333333333\t0.333333\t0.333\n");
    expect(create_reals(1.0 / 3), ATTN_TABLE_ALIGNED, -1,
           "  shortest              double     fixed  figures\n"
           "0.33333334  0.3333333333333333  0.333333    0.333\n");
    expect(create_reals(98765.4321), ATTN_TABLE_TABBED, -1,
           "98765.43\t98765.4321\t98765.432100\t9.88e+04\n");
}
END_TEST

START_TEST(a_precision_is_for_what_has_no_digits_of_its_own)
{
    expect(create_reals(2.0 / 3), ATTN_TABLE_CSV, 2,
           "shortest,double,fixed,figures\n0.67,0.6666666666666666,0.67,0.667\n");
    expect(create_reals(2.0 / 3), ATTN_TABLE_JSON_LINES, 0,
           "{\"shortest\": 1, \"double\": 0.6666666666666666, \"fixed\": 1, \"figures\": 0.667}\n");
    expect(create_reals(2.0 / 3), ATTN_TABLE_TABBED, 17,
           "0.66666666666666663\t0.6666666666666666\t0.66666666666666663\t0.667\n");
}
END_TEST

/* Fewer digits than places before the point need no exponent. */
START_TEST(whole_numbers_are_written_out)
{
    expect(create_reals(870), ATTN_TABLE_CSV, -1,
           "shortest,double,fixed,figures\n870,870,870,870\n");
    expect(create_reals(-3e15), ATTN_TABLE_TABBED, 0,
           "-3000000000000000\t-3000000000000000\t-3000000000000000\t-3e+15\n");
    expect(create_reals(1e16), ATTN_TABLE_CSV, -1,
           "shortest,double,fixed,figures\n1e+16,1e+16,1e+16,1e+16\n");
}
END_TEST

START_TEST(lists_are_numbers)
{
    static const struct attn_column lists[] = {
        {.name = "ids", .type = ATTN_VALUE_LIST},
        {.name = "values", .type = ATTN_VALUE_REALS, .notation = ATTN_NOTATION_DOUBLE},
        {.name = "none", .type = ATTN_VALUE_REALS},
    };
    const int64_t ids[] = {3, -4};
    const double values[] = {870, (double)NAN, 0.1};
    const struct attn_cell row[] = {attn_cell_list(ids, 2), attn_cell_reals(values, 3),
                                    attn_cell_reals(NULL, 0)};
    static const struct {
        enum attn_table_form form;
        const char *text;
    } cases[] = {
        {ATTN_TABLE_CSV, "ids,values,none\n\"[3, -4]\",\"[870, nan, 0.1]\",[]\n"},
        {ATTN_TABLE_TABBED, "[3, -4]\t[870, nan, 0.1]\t[]\n"},
        {ATTN_TABLE_JSON_LINES, "{\"ids\": [3, -4], \"values\": [870, null, 0.1], \"none\": []}\n"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct attn_table *table;

        ck_assert(attn_table_create("lists", lists, 3, &table, NULL) == ATTN_OK);
        ck_assert(attn_table_append(table, row, 3, NULL) == ATTN_OK);
        expect(table, cases[i].form, -1, cases[i].text);
    }
}
END_TEST

/* No float32 is as large: the shortest would be infinite. */
START_TEST(a_double_beyond_float_keeps_its_value)
{
    expect(create_reals(1e300), ATTN_TABLE_CSV, -1,
           "shortest,double,fixed,figures\n1e+300,1e+300,1e+300,1e+300\n");
    expect(create_reals(5e-324), ATTN_TABLE_CSV, -1,
           "shortest,double,fixed,figures\n0,5e-324,0,4.94e-324\n");
    for (int precision = 0; precision <= 17; precision += 17) {
        struct attn_table *table = create_reals(-DBL_MAX);
        char *text = text_of(table, ATTN_TABLE_ALIGNED, precision);

        ck_assert_ptr_nonnull(strstr(text, "-1.7976931348623157e+308"));
        free(text);
        attn_table_free(table);
    }
}
END_TEST

/* Only where such a locale is installed. */
START_TEST(the_locale_plays_no_part)
{
    static const char *const with_commas[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8"};

    for (size_t i = 0; i < sizeof with_commas / sizeof *with_commas; i++)
        if (setlocale(LC_ALL, with_commas[i]))
            break;
    expect(create_reals(1.0 / 3), ATTN_TABLE_TABBED, -1,
           "0.33333334\t0.3333333333333333\t0.333333\t0.333\n");
}
END_TEST

START_TEST(an_unknown_form_or_precision_is_refused)
{
    struct attn_table *table = create_empty();
    struct attn_error err = {0};
    struct attn_sink *sink;

    ck_assert(attn_sink_create_memory(&sink, &err) == ATTN_OK);
    ck_assert_int_eq(attn_table_write(table, ATTN_TABLE_CSV, 18, sink, &err), ATTN_INVALID);
    ck_assert_str_eq(err.message, "precision is 18, expected 0 to 17");
    err = (struct attn_error){0};
    ck_assert_int_eq(attn_table_write(table, (enum attn_table_form)7, 0, sink, &err), ATTN_INVALID);
    ck_assert_str_eq(err.message, "tables have no form 7");
    attn_sink_free(sink);
    attn_table_free(table);
}
END_TEST

START_TEST(a_format_of_tables_takes_no_tensors)
{
    const struct attn_labels labels = {.ids = NULL};
    struct attn_writer *writer = NULL;
    struct attn_error err = {0};
    struct attn_sink *sink;

    ck_assert(attn_sink_create_memory(&sink, &err) == ATTN_OK);
    ck_assert_int_eq(attn_writer_create_sink(attn_format_find("jsonl"), sink, &labels,
                                             &ATTN_WRITER_OPTIONS_DEFAULT, &writer, &err),
                     ATTN_INVALID);
    ck_assert_str_eq(err.message, "JSON lines hold tables, no tensors");
    ck_assert_ptr_null(writer);
    attn_sink_free(sink);
}
END_TEST

START_TEST(a_table_may_have_many_columns)
{
    enum { N = 300 };
    struct attn_column many[N];
    struct attn_cell row[N];
    char names[N][8];
    struct attn_table *table;

    for (int i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "c%d", i);
        many[i] = (struct attn_column){.name = names[i], .type = ATTN_VALUE_INTEGER};
        row[i] = attn_cell_integer(i);
    }
    ck_assert(attn_table_create("wide", many, N, &table, NULL) == ATTN_OK);
    ck_assert(attn_table_append(table, row, N, NULL) == ATTN_OK);
    char *text = text_of(table, ATTN_TABLE_ALIGNED, -1);
    ck_assert_ptr_nonnull(strstr(text, "c298  c299\n"));
    ck_assert_ptr_nonnull(strstr(text, " 298   299\n"));
    free(text);
    attn_table_free(table);
}
END_TEST

/* Every allocation of each form fails once. */
START_TEST(failures_are_reported)
{
    struct attn_table *table = create_awkward();

    for (int form = ATTN_TABLE_ALIGNED; form <= ATTN_TABLE_MARKDOWN; form++)
        for (long n = 0;; n++) {
            struct attn_error err = {0};
            struct attn_sink *sink;
            enum attn_status status;

            ck_assert(attn_sink_create_memory(&sink, &err) == ATTN_OK);
            attn_alloc_fail_at(n);
            status = attn_table_write(table, (enum attn_table_form)form, -1, sink, &err);
            if (status == ATTN_OK)
                status = attn_sink_commit(sink, &err);
            attn_alloc_fail_off();
            attn_sink_free(sink);
            if (status == ATTN_OK) {
                ck_assert_int_ge(n, 2);
                break;
            }
            ck_assert_int_eq(status, ATTN_NO_MEMORY);
        }
    attn_table_free(table);
}
END_TEST

START_TEST(columns_that_do_not_fit_are_named)
{
    const struct attn_column own[] = {{.name = "head", .type = ATTN_VALUE_INTEGER},
                                      {.name = "a\x1b[1m", .type = ATTN_VALUE_INTEGER},
                                      {.name = "same", .type = ATTN_VALUE_BOOLEAN}};
    const struct attn_cell row[] = {attn_cell_integer(7), attn_cell_integer(12),
                                    attn_cell_boolean(true)};
    struct attn_table *table;

    ck_assert(attn_table_create("heads", own, 3, &table, NULL) == ATTN_OK);
    ck_assert(attn_table_append(table, row, 3, NULL) == ATTN_OK);
    expect_fitted(table, 0, NULL, "head  a\\x1b[1m  same\n   7        12  yes\n");
    expect_fitted(table, 20, NULL, "head  a\\x1b[1m  same\n   7        12  yes\n");
    expect_fitted(table, 19, NULL,
                  "head  a\\x1b[1m\n   7        12\n"
                  "not shown: same (a file has all columns)\n");
    expect_fitted(table, 1, NULL,
                  "head\n   7\n"
                  "not shown: a\\x1b[1m, same (a file has all columns)\n");
    expect_fitted(table, 10, "same",
                  "head  same\n   7  yes\n"
                  "not shown: a\\x1b[1m (a file has all columns)\n");
    expect_fitted(table, 20, "same", "head  a\\x1b[1m  same\n   7        12  yes\n");
    attn_table_free(table);
}
END_TEST

/* --- Papers ----------------------------------------------------------------------------------- */

/* A text with all that either dialect reads as a sign of its own. */
#define SIGNS "\\ ~x^2 {#1} $y$ a&b 5% a_b|c <i> \"q\" -- ``x'' *b* `c` [d] \n\xc3\xa9"

START_TEST(latex_has_the_signs_of_a_text)
{
    struct attn_table *table = create_empty();

    append(table, 0, 0.5, SIGNS, true, 0);
    append(table, 1, 0.5, "[1]", true, 2);
    append(table, 2, 0.5, "*", true, 0);
    append(table, 3, 0.5, "  a  b ", true, 0);
    append(table, 4, 0.5, "=1+1", true, 0);
    append(table, 5, 0.5, "?`!`,,a---b", true, 0);
    expect(table, ATTN_TABLE_LATEX, -1,
           "% \\usepackage{booktabs,siunitx}\n"
           "\\begin{table}\n"
           "\\centering\n"
           "\\caption{heads}\n"
           "\\label{tab:heads}\n"
           "\\begin{tabular}{\n"
           "  S[table-format=1.0]\n"
           "  S[table-format=1.4]\n"
           "  l\n"
           "  l\n"
           "  l\n"
           "}\n"
           "\\toprule\n"
           "{head} &   {kl} & {token}                                                              "
           "                                                                                       "
           "                                               & {same} & {shape}    \\\\\n"
           "\\midrule\n"
           "     0 & 0.5000 & \\textbackslash{}\\textbackslash{} "
           "\\textasciitilde{}x\\textasciicircum{}2 \\{\\#1\\} \\$y\\$ a\\&b 5\\% "
           "a\\_b\\textbar{}c \\textless{}i\\textgreater{} \\char34{}q\\char34{} -{}- `{}`x'{}' "
           "*b* `c` [d] \\textbackslash{}n\xc3\xa9 & yes    & {}[]       \\\\\n"
           "     1 & 0.5000 & {}[1]                                                                "
           "                                                                                       "
           "                                               & yes    & {}[12, -1] \\\\\n"
           "     2 & 0.5000 & {}*                                                                  "
           "                                                                                       "
           "                                               & yes    & {}[]       \\\\\n"
           "     3 & 0.5000 & \\textvisiblespace{}\\textvisiblespace{}a "
           "\\textvisiblespace{}b\\textvisiblespace{}                                              "
           "                                                                              & yes    "
           "& {}[]       \\\\\n"
           "     4 & 0.5000 & =1+1                                                                 "
           "                                                                                       "
           "                                               & yes    & {}[]       \\\\\n"
           "     5 & 0.5000 & ?{}`!{}`,{},a-{}-{}-b                                                "
           "                                                                                       "
           "                                               & yes    & {}[]       \\\\\n"
           "\\bottomrule\n"
           "\\end{tabular}\n"
           "\\end{table}\n");
}
END_TEST

START_TEST(markdown_has_the_signs_of_a_text)
{
    struct attn_table *table = create_empty();

    append(table, 0, 0.5, SIGNS, true, 0);
    append(table, 1, 0.5, "[1](x)", true, 2);
    append(table, 3, 0.5, "  a  b ", true, 0);
    append(table, 4, 0.5, "=1+1", true, 0);
    expect(table, ATTN_TABLE_MARKDOWN, -1,
           "Table: heads\n"
           "\n"
           "| head |     kl | token                                                                "
           "             | same | shape      |\n"
           "|  --: |    --: | :--                                                                  "
           "             | :--  | :--        |\n"
           "|    0 | 0.5000 | \\\\\\\\ \\~x^2 {#1} \\$y\\$ a\\&b 5% a\\_b\\|c \\<i\\> \"q\" -- "
           "\\`\\`x'' \\*b\\* \\`c\\` \\[d\\] \\\\n\xc3\xa9 | yes  | \\[\\]       |\n"
           "|    1 | 0.5000 | \\[1\\](x)                                                           "
           "               | yes  | \\[12, -1\\] |\n"
           "|    3 | 0.5000 | \xe2\x90\xa3\xe2\x90\xa3"
           "a \xe2\x90\xa3"
           "b\xe2\x90\xa3                                                              "
           "             | yes  | \\[\\]       |\n"
           "|    4 | 0.5000 | =1+1                                                                 "
           "             | yes  | \\[\\]       |\n");
}
END_TEST

START_TEST(latex_measures_the_numbers_of_a_column)
{
    expect(
        create_awkward(), ATTN_TABLE_LATEX, -1,
        "% \\usepackage{booktabs,siunitx}\n"
        "\\begin{table}\n"
        "\\centering\n"
        "\\caption{heads}\n"
        "\\label{tab:heads}\n"
        "\\begin{tabular}{\n"
        "  S[table-format=-19.0]\n"
        "  S[table-format=1.4]\n"
        "  l\n"
        "  l\n"
        "  l\n"
        "}\n"
        "\\toprule\n"
        "              {head} &             {kl} & {token}                                         "
        "                                                         & {same} & {shape}        \\\\\n"
        "\\midrule\n"
        "                   0 &           0.1000 & \\textvisiblespace{}eat                         "
        "                                                          & yes    & {}[12, -1]     \\\\\n"
        "                  -7 &            {nan} & a,\\char34{}b\\char34{}                         "
        "                                                           & no     & {}[]           "
        "\\\\\n"
        " 9223372036854775807 &            {inf} & =1+1                                            "
        "                                                         & yes    & {}[12]         \\\\\n"
        "-9223372036854775808 &           {-inf} & -                                               "
        "                                                         & no     & {}[12, -1, 64] \\\\\n"
        "                   1 &  {\\num{1.0e-07}} & "
        "\\textbackslash{}n\\textbackslash{}t\\textbackslash{}\\textbackslash{}\\textbackslash{}"
        "x01\\textbackslash{}xff & no     & {}[]           \\\\\n"
        "                   2 &                0 & \xe6\x97\xa5\xe6\x9c\xac                        "
        "                    "
        "                                                         & no     & {}[]           \\\\\n"
        "                   3 & {\\num{-1.2e+05}} &                                                "
        "                                                          & no     & {}[]           \\\\\n"
        "                {--} &             {--} & -                                               "
        "                                                         & -      & -              \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
        "\\end{table}\n");
}
END_TEST

/* Means over items in two groups, with their errors. */
static struct attn_table *create_means(void)
{
    static const struct attn_column means[] = {
        {.name = "con|dition", .type = ATTN_VALUE_TEXT, .notation = ATTN_NOTATION_LABEL},
        {.name = "part", .type = ATTN_VALUE_TEXT, .role = ATTN_ROLE_PART, .totals = "base"},
        {.name = "kl_m", .type = ATTN_VALUE_REAL, .notation = ATTN_NOTATION_FIXED, .digits = 2},
        {.name = "kl_m_sd",
         .type = ATTN_VALUE_REAL,
         .notation = ATTN_NOTATION_FIXED,
         .digits = 2,
         .traits = ATTN_TRAIT_SD},
        {.name = "kl_m_se",
         .type = ATTN_VALUE_REAL,
         .notation = ATTN_NOTATION_FIXED,
         .digits = 2,
         .traits = ATTN_TRAIT_SE},
        {.name = "n", .type = ATTN_VALUE_INTEGER}};
    static const char *const groups[] = {"a", "a", "a", "b", "b", "b"};
    struct attn_table *table;

    ck_assert(attn_table_create("my_means 2", means, 6, &table, NULL) == ATTN_OK);
    for (int i = 0; i < 6; i++) {
        const double mean = i == 4 ? -12.5 : 0.25 * i;
        const struct attn_cell row[] = {attn_cell_text(groups[i], 1),
                                        attn_cell_text(i % 3 == 0 ? "base" : "head", 4),
                                        i == 2 ? attn_cell_missing() : attn_cell_real(mean),
                                        attn_cell_real(0.5),
                                        i == 2 ? attn_cell_missing()
                                               : attn_cell_real(i == 3 ? 1e-7 : 0.125 * i),
                                        attn_cell_integer(10 * i)};

        ck_assert(attn_table_append(table, row, 6, NULL) == ATTN_OK);
    }
    return table;
}

START_TEST(means_have_their_errors_in_parentheses)
{
    struct attn_table_style style = {.form = ATTN_TABLE_LATEX,
                                     .precision = -1,
                                     .caption = "means of 5 % & more",
                                     .label = "my_file.v2.tex",
                                     .n_group = 1};
    struct attn_table *table = create_means();

    expect_in(table, &style,
              "% \\usepackage{booktabs,siunitx}\n"
              "\\begin{table}\n"
              "\\centering\n"
              "\\caption{means of 5 \\% \\& more}\n"
              "\\label{tab:my-file}\n"
              "\\begin{tabular}{\n"
              "  l\n"
              "  l\n"
              "  S[table-format=-2.2]\n"
              "  @{ }r\n"
              "  S[table-format=2.0]\n"
              "}\n"
              "\\toprule\n"
              "{con\\textbar{}dition} & {part} & {kl\\_m} &            (se) & {n} \\\\\n"
              "\\midrule\n"
              "a                     & base   &       0 &       (\\num{0}) &   0 \\\\\n"
              "\\midrule\n"
              "                      & head   &    0.25 &    (\\num{0.12}) &  10 \\\\\n"
              "                      & head   &    {--} &            (--) &  20 \\\\\n"
              "\\midrule\n"
              "b                     & base   &    0.75 & (\\num{1.0e-07}) &  30 \\\\\n"
              "\\midrule\n"
              "                      & head   &  -12.50 &    (\\num{0.50}) &  40 \\\\\n"
              "                      & head   &    1.25 &    (\\num{0.62}) &  50 \\\\\n"
              "\\bottomrule\n"
              "\\end{tabular}\n"
              "\\end{table}\n");
    style.form = ATTN_TABLE_MARKDOWN;
    expect_in(table, &style,
              "Table: means of 5 % \\& more\n"
              "\n"
              "| con\\|dition | part |  kl\\_m |      (se) |   n |\n"
              "| :--         | :--  |    --: |       --: | --: |\n"
              "| a           | base |      0 |       (0) |   0 |\n"
              "| a           | head |   0.25 |    (0.12) |  10 |\n"
              "| a           | head |      - |       (-) |  20 |\n"
              "| b           | base |   0.75 | (1.0e-07) |  30 |\n"
              "| b           | head | -12.50 |    (0.50) |  40 |\n"
              "| b           | head |   1.25 |    (0.62) |  50 |\n");
    attn_table_free(table);
}
END_TEST

START_TEST(groups_of_one_row_have_no_rules)
{
    const struct attn_table_style style = {.form = ATTN_TABLE_LATEX, .precision = -1, .n_group = 6};
    struct attn_table *table = create_means();
    struct attn_sink *sink;
    const char *rule;
    size_t size;

    ck_assert(attn_sink_create_memory(&sink, NULL) == ATTN_OK);
    ck_assert(attn_table_write_styled(table, &style, sink, NULL) == ATTN_OK);
    attn_sink_write(sink, "", 1);
    rule = strstr(attn_sink_bytes(sink, &size), "\\midrule");
    ck_assert_ptr_nonnull(rule); /* below the headings */
    ck_assert_ptr_null(strstr(rule + 1, "\\midrule"));
    attn_sink_free(sink);
    attn_table_free(table);
}
END_TEST

START_TEST(papers_leave_out_what_does_not_fit)
{
    struct attn_table_style style = {.form = ATTN_TABLE_LATEX,
                                     .precision = -1,
                                     .width = 20,
                                     .elsewhere = "a file",
                                     .kept = "kl_m_sd"};
    struct attn_table *table = create_means();

    expect_in(table, &style,
              "% \\usepackage{booktabs,siunitx}\n"
              "\\begin{table}\n"
              "\\centering\n"
              "\\caption{my\\_means 2}\n"
              "\\label{tab:my-means-2}\n"
              "\\begin{tabular}{\n"
              "  l\n"
              "  S[table-format=1.2]\n"
              "}\n"
              "\\toprule\n"
              "{con\\textbar{}dition} & {kl\\_m\\_sd} \\\\\n"
              "\\midrule\n"
              "a                     &        0.50 \\\\\n"
              "\\midrule\n"
              "a                     &        0.50 \\\\\n"
              "a                     &        0.50 \\\\\n"
              "\\midrule\n"
              "b                     &        0.50 \\\\\n"
              "\\midrule\n"
              "b                     &        0.50 \\\\\n"
              "b                     &        0.50 \\\\\n"
              "\\bottomrule\n"
              "\\end{tabular}\n"
              "\\end{table}\n"
              "% not shown: part, kl\\_m, kl\\_m\\_se, n (a file has all columns)\n");
    style.form = ATTN_TABLE_MARKDOWN;
    expect_in(table, &style,
              "Table: my\\_means 2\n"
              "\n"
              "| con\\|dition | kl\\_m\\_sd |\n"
              "| :--         |       --: |\n"
              "| a           |      0.50 |\n"
              "| a           |      0.50 |\n"
              "| a           |      0.50 |\n"
              "| b           |      0.50 |\n"
              "| b           |      0.50 |\n"
              "| b           |      0.50 |\n"
              "\n"
              "<!-- not shown: part, kl\\_m, kl\\_m\\_se, n (a file has all columns) -->\n");
    attn_table_free(table);
}
END_TEST

ATTN_SUITE("table_writer", aligned_columns_line_up, columns_that_do_not_fit_are_named,
           a_column_may_be_wider_than_its_cells, tabbed_lines_have_no_names,
           csv_quotes_what_needs_it, json_lines_are_an_object_a_row, json_is_one_document,
           a_table_without_rows_is_whole, reals_follow_their_notation,
           a_precision_is_for_what_has_no_digits_of_its_own, whole_numbers_are_written_out,
           lists_are_numbers, a_double_beyond_float_keeps_its_value, the_locale_plays_no_part,
           an_unknown_form_or_precision_is_refused, a_format_of_tables_takes_no_tensors,
           a_table_may_have_many_columns, failures_are_reported, latex_has_the_signs_of_a_text,
           markdown_has_the_signs_of_a_text, latex_measures_the_numbers_of_a_column,
           means_have_their_errors_in_parentheses, groups_of_one_row_have_no_rules,
           papers_leave_out_what_does_not_fit)
