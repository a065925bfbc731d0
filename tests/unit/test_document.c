/* Documents: blocks that were filled once, in both forms. */
#include "attn.h"
#include "tables/document.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static struct attn_table *create_amounts(void)
{
    static const struct attn_column columns[] = {
        {.name = "matrices", .type = ATTN_VALUE_INTEGER, .unit = "operations"},
        {.name = "total",
         .type = ATTN_VALUE_INTEGER,
         .unit = "operations",
         .role = ATTN_ROLE_TOTAL}};
    const struct attn_cell row[] = {attn_cell_integer(500), attn_cell_integer(2000000)};
    struct attn_table *table;

    ck_assert(attn_table_create("amounts", columns, 2, &table, NULL) == ATTN_OK);
    ck_assert(attn_table_append(table, row, 2, NULL) == ATTN_OK);
    return table;
}

static struct attn_table *create_rows(void)
{
    static const struct attn_column columns[] = {
        {.name = "name", .type = ATTN_VALUE_TEXT},
        {.name = "bytes", .type = ATTN_VALUE_INTEGER, .unit = "bytes"},
        {.name = "shape", .type = ATTN_VALUE_LIST}};
    static const int64_t shape[] = {2, 3};
    static const char *const names[] = {"\xe5\x90\x8d", "a\tb", "longer than six"};
    struct attn_table *table;

    ck_assert(attn_table_create("rows", columns, 3, &table, NULL) == ATTN_OK);
    for (size_t i = 0; i < 3; i++) {
        const struct attn_cell row[] = {attn_cell_text(names[i], strlen(names[i])),
                                        attn_cell_integer(2048),
                                        i == 1 ? attn_cell_missing() : attn_cell_list(shape, 2)};

        ck_assert(attn_table_append(table, row, 3, NULL) == ATTN_OK);
    }
    return table;
}

/* Vectors of different lengths, and none. */
static struct attn_table *create_vectors(void)
{
    static const struct attn_column columns[] = {
        {.name = "place", .type = ATTN_VALUE_TEXT},
        {.name = "word", .type = ATTN_VALUE_TEXT},
        {.name = "x", .type = ATTN_VALUE_REALS, .digits = 1},
        {.name = "sum", .type = ATTN_VALUE_REAL, .digits = 1}};
    static const double x[] = {1, -2, 3, 4, 0.25, 6};
    struct attn_table *table;

    ck_assert(attn_table_create("vectors", columns, 4, &table, NULL) == ATTN_OK);
    for (size_t i = 0; i < 3; i++) {
        const struct attn_cell row[] = {
            attn_cell_text("10", i == 0 ? 2 : 1), attn_cell_text("eleven", 6),
            i == 1 ? attn_cell_missing() : attn_cell_reals(x, i == 0 ? 6 : 2),
            attn_cell_real(i == 2 ? -1 : 12.25)};

        ck_assert(attn_table_append(table, row, 4, NULL) == ATTN_OK);
    }
    return table;
}

/* Adds the items of the vectors to DOCUMENT: as they are, and as a sum. */
static void add_vectors(struct attn_document *document, const struct attn_table *vectors)
{
    static const struct attn_document_column columns[] = {
        {.name = "place", .heading = "", .is_right = true},
        {.name = "word", .most = 4},
        {.name = "x", .heading = "x_#", .style = ATTN_NUMBER_FIXED, .n_item = 3},
        {.name = "x",
         .heading = "#x#",
         .style = ATTN_NUMBER_FIXED,
         .n_item = 3,
         .sign = "+",
         .end = "="},
        {.name = "sum", .style = ATTN_NUMBER_FIXED}};

    attn_document_table(document, vectors,
                        &(struct attn_document_view){.text = ATTN_TEXT_COLUMNS,
                                                     .columns = columns,
                                                     .n_column = 5,
                                                     .indent = 1,
                                                     .has_headings = true});
}

/* Fills DOCUMENT with a block of each kind. */
static void fill(struct attn_document *document, const struct attn_table *amounts,
                 const struct attn_table *rows, const struct attn_table *vectors)
{
    static const struct attn_document_column columns[] = {
        {.name = "name", .limit = 6},
        {.name = "shape", .missing = "by layer"},
        {.name = "bytes", .heading = "size", .style = ATTN_NUMBER_QUANTITY}};

    document->kind = ATTN_DOCUMENT_INSPECT;
    attn_document_text(document, "%d and ", 5);
    attn_document_escaped(document, "a\n", 2);
    attn_document_text(document, "\n");
    attn_document_begin(document, "run");
    attn_document_table(
        document, amounts,
        &(struct attn_document_view){.json = ATTN_JSON_MEMBERS, .text = ATTN_TEXT_AMOUNTS});
    attn_document_table(document, rows,
                        &(struct attn_document_view){.name = "rows",
                                                     .json = ATTN_JSON_LINES,
                                                     .text = ATTN_TEXT_COLUMNS,
                                                     .columns = columns,
                                                     .n_column = 3,
                                                     .has_headings = true});
    add_vectors(document, vectors);
    attn_document_end(document);
    attn_document_table(document, NULL,
                        &(struct attn_document_view){.name = "nothing",
                                                     .json = ATTN_JSON_OBJECT,
                                                     .text = ATTN_TEXT_SETTINGS});
}

/* What a filled document is in FORM when allocation N fails; NULL when it did. Free it with
 * free(). */
static char *text_of(enum attn_document_form form, long n)
{
    struct attn_document document = {0};
    struct attn_table *amounts = create_amounts(), *rows = create_rows();
    struct attn_table *vectors = create_vectors();
    struct attn_sink *sink;
    struct attn_error err = {0};
    char *text = NULL;
    size_t size;

    ck_assert(attn_sink_create_memory(&sink, NULL) == ATTN_OK);
    attn_alloc_fail_at(n);
    fill(&document, amounts, rows, vectors);
    if (attn_document_write(&document, form, sink, &err) == ATTN_OK &&
        attn_sink_commit(sink, &err) == ATTN_OK) {
        const char *bytes = attn_sink_bytes(sink, &size);

        text = strndup(bytes, size);
    } else {
        ck_assert_int_eq(err.status, ATTN_NO_MEMORY);
    }
    attn_alloc_fail_off();
    attn_document_release(&document);
    attn_sink_free(sink);
    attn_table_free(amounts);
    attn_table_free(rows);
    attn_table_free(vectors);
    return text;
}

START_TEST(text_lines_up)
{
    char *text = text_of(ATTN_FORM_TEXT, -1);

    ck_assert_str_eq(text, "5 and a\\n\n"
                           "  matrices    500    0.0 %\n"
                           "  total     2.0 M\n"
                           "  name  shape        size\n"
                           "  \xe5\x90\x8d    [2, 3]    2.0 KiB\n"
                           "  a\\tb  by layer  2.0 KiB\n"
                           "  longer than six  [2, 3]    2.0 KiB\n"
                           "       word  x_0   ...  x_5  0x0    1-4   5x5    sum\n"
                           "   10  ele\xe2\x80\xa6  1.0   ...  6.0  1.0 +  5.2 + 6.0 = 12.2\n"
                           "    1  ele\xe2\x80\xa6                                     12.2\n"
                           "    1  ele\xe2\x80\xa6  1.0  -2.0       1.0 + -2.0 =       -1.0\n");
    free(text);
}
END_TEST

START_TEST(json_has_a_member_a_line)
{
    char *text = text_of(ATTN_FORM_JSON, -1);

    ck_assert_str_eq(text,
                     "{\n"
                     "  \"schema\": 1, \"kind\": \"inspect\",\n"
                     "  \"run\": {\"matrices\": 500, \"total\": 2000000,\n"
                     "    \"rows\": [\n"
                     "      {\"name\": \"\xe5\x90\x8d\", \"bytes\": 2048, \"shape\": [2, 3]},\n"
                     "      {\"name\": \"a\\tb\", \"bytes\": 2048, \"shape\": null},\n"
                     "      {\"name\": \"longer than six\", \"bytes\": 2048, "
                     "\"shape\": [2, 3]}]},\n"
                     "  \"nothing\": null\n"
                     "}\n");
    free(text);
}
END_TEST

/* Or make no difference, where the other form alone needs the memory. */
START_TEST(failures_are_reported)
{
    for (int form = ATTN_FORM_TEXT; form <= ATTN_FORM_JSON; form++) {
        char *whole = text_of((enum attn_document_form)form, -1);
        size_t n_failure = 0;

        for (long n = 0; n < 60; n++) {
            char *text = text_of((enum attn_document_form)form, n);

            n_failure += !text;
            if (text)
                ck_assert_str_eq(text, whole);
            free(text);
        }
        ck_assert_uint_ge(n_failure, 8);
        free(whole);
    }
}
END_TEST

ATTN_SUITE("document", text_lines_up, json_has_a_member_a_line, failures_are_reported)
