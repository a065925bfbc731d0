/*
 * test_page.c - the page of --html as a file: its data blocks hold the weights that CSV holds, and
 * text from outside ends no element. What a browser makes of it tests/browser asks.
 */
#include "tensors/writer.h"
#include "tests/support/command.h"
#include "tests/support/csv.h"
#include "tests/support/folder.h"
#include "tests/support/made_up_run.h"
#include "tests/support/naughty.h"
#include "tests/support/page.h"
#include "tests/support/parts.h"
#include "tests/support/suite.h"
#include "tests/support/written.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char root[3000]; /* of the repository, as tests work in a folder of their own */

static void enter(void)
{
    ck_assert_ptr_nonnull(getcwd(root, sizeof root));
    attn_folder_enter();
}

/* Runs attn-cli with ARGS, of which `@` begins a path of the repository. */
static void run(const char *const *args)
{
    const char *made[24] = {0};
    char paths[24][4096];
    struct attn_ran ran;

    for (size_t i = 0; args[i]; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%s", root, args[i] + 1);
        made[i] = args[i][0] == '@' ? paths[i] : args[i];
    }
    ran = attn_command(made);
    ck_assert_msg(ran.exit == 0, "%s", ran.err);
    attn_ran_release(&ran);
}

/* Fails unless each cell of head number HEAD of PAGE has the weight of the file PATH. */
static void assert_is_csv(const struct attn_page *page, size_t head, const char *path)
{
    char *text = attn_file_text(path);
    struct attn_csv csv = attn_csv_parse(text);
    struct attn_page_matrix m = attn_page_matrix(page, head);

    ck_assert_uint_eq(csv.n_row, m.n_row + 1);
    ck_assert_uint_eq(csv.n_col, m.n_column + 1);
    for (size_t r = 0; r < m.n_row; r++)
        for (size_t c = 0; c < m.n_column; c++) {
            const char *cell = csv.cells[(r + 1) * csv.n_col + c + 1];
            const double seen = m.weights[r * m.n_column + c], there = strtod(cell, NULL);

            if (*cell == '\0')
                ck_assert_msg(isnan(seen), "%s [%zu,%zu] is %g, not masked", path, r, c, seen);
            else
                ck_assert_msg(fabs(seen - there) <=
                                  (1.02 * sqrt(there) + 0.26 / m.top) / m.top + 1e-9,
                              "%s [%zu,%zu] is %g, expected %s", path, r, c, seen, cell);
        }
    attn_page_matrix_release(&m);
    attn_csv_release(&csv);
    free(text);
}

/* Fails unless each matrix of the page p.html has the weights of its file in the folder `csv`. */
static struct attn_page assert_is_folder(size_t n_head, int n_byte)
{
    struct attn_page page = attn_page_read(attn_file_text("p.html"));
    const char *grouping = cJSON_GetObjectItem(page.run, "grouping")->valuestring;
    /* the document, three scripts; and of a text with a next token the heads that make it */
    const size_t n_script = strstr(page.text, "id=\"answer-svg\"") ? 6 : 4;

    ck_assert_uint_eq(attn_page_n_head(&page), n_head);
    for (size_t i = 0; i < n_head; i++) {
        const int group = attn_page_head(&page, i, "layer")->valueint;
        const int number = attn_page_head(&page, i, "head")->valueint;
        struct attn_page_matrix m = attn_page_matrix(&page, i);
        char path[64];

        ck_assert_double_eq(m.top, n_byte == 2 ? 65534 : 254);
        attn_page_matrix_release(&m);
        if (strcmp(grouping, "none") == 0)
            snprintf(path, sizeof path, "csv/H%02d.pattern.csv", number);
        else
            snprintf(path, sizeof path, "csv/%c%02dH%02d.pattern.csv",
                     strcmp(grouping, "batch") == 0 ? 'B' : 'L', group, number);
        assert_is_csv(&page, i, path);
    }
    ck_assert_uint_eq(attn_page_count(&page, "<script"), n_script);
    ck_assert_uint_eq(attn_page_count(&page, "</script"), n_script);
    return page;
}

static void leave(struct attn_page *page)
{
    char *text = (char *)(uintptr_t)page->text;

    attn_page_release(page);
    free(text);
    ck_assert_int_eq(system("rm -rf csv *.html"), 0);
    attn_folder_leave();
}

START_TEST(blocks_hold_the_weights_of_a_run)
{
    struct attn_page page;

    enter();
    run((const char *[]){"run", "-m", "@models/fable", "--html", "p.html", "--csv", "csv",
                         "Life is short, eat dessert first", NULL});
    page = assert_is_folder(32, 2);
    ck_assert_str_eq(cJSON_GetObjectItem(page.run, "text")->valuestring,
                     "Life is short, eat dessert first");
    ck_assert_int_eq(cJSON_GetArraySize(cJSON_GetObjectItem(page.run, "tokens")), 7);
    ck_assert_int_eq(cJSON_GetObjectItem(page.run, "start")->valueint, 17); /* 3.0: the README */
    leave(&page);
}
END_TEST

START_TEST(blocks_hold_chosen_heads_and_queries_of_a_window)
{
    struct attn_page page;

    enter();
    run((const char *[]){"run", "-m", "@models/fable", "--html", "p.html", "--csv", "csv",
                         "--heads", "0.3,2.5,3.*", "--queries", "2,5-7", "--attention", "window:3",
                         "The keys to the cabinet are on the table", NULL});
    page = assert_is_folder(10, 2);
    ck_assert_int_eq(cJSON_GetArraySize(cJSON_GetObjectItem(page.run, "queries")), 4);
    leave(&page);
}
END_TEST

/* N words of four bytes. */
static void write_words(char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        memcpy(text + 4 * i, i % 3 == 0 ? "the " : i % 3 == 1 ? "cat " : "sat ", 4);
    text[4 * n - 1] = '\0';
}

START_TEST(blocks_of_many_cells_have_a_byte_each)
{
    char text[1024] = "";
    struct attn_page page;

    enter();
    write_words(text, 90);
    run((const char *[]){"run", "-m", "@models/fable", "--html", "p.html", "--csv", "csv", text,
                         NULL});
    page = assert_is_folder(32, 1);
    leave(&page);
}
END_TEST

START_TEST(blocks_hold_cross_attention)
{
    struct attn_page page;
    const cJSON *tokens;

    enter();
    run((const char *[]){"run", "-m", "@models/cross-attention", "--html", "p.html", "--csv", "csv",
                         "--source", "dessert first", "Life is short", NULL});
    page = assert_is_folder(1, 2);
    tokens = cJSON_GetObjectItem(page.run, "source_tokens");
    ck_assert_int_eq(cJSON_GetArraySize(tokens), 2);
    ck_assert_int_eq(attn_page_head(&page, 0, "is_source")->valueint, 1);
    leave(&page);
}
END_TEST

/* Little-endian float32 [shape] with numbers of their own in each cell, as .npy. */
static void write_array(const char *path, const char *shape, size_t n)
{
    char header[128];
    float values[1024];
    FILE *file = fopen(path, "wb");

    snprintf(header, sizeof header, "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }",
             shape);
    fprintf(file, "\x93NUMPY%c%c%c%c%-117s\n", 1, 0, 118, 0, header);
    for (size_t i = 0; i < n; i++)
        values[i] = (float)sin(0.7 * (double)(i * i % 97));
    fwrite(values, sizeof *values, n, file);
    fclose(file);
}

START_TEST(blocks_hold_batches_of_arrays)
{
    struct attn_page page;

    enter();
    write_array("q.npy", "(2, 3, 4, 5)", 120);
    write_array("k.npy", "(2, 3, 6, 5)", 180);
    run((const char *[]){"attend", "--q", "q.npy", "--k", "k.npy", "--v", "k.npy", "--mask", "none",
                         "--html", "p.html", "--csv", "csv", NULL});
    page = assert_is_folder(6, 2);
    ck_assert_str_eq(cJSON_GetObjectItem(page.run, "grouping")->valuestring, "batch");
    ck_assert_int_eq(system("rm q.npy k.npy"), 0);
    leave(&page);
}
END_TEST

/* --- Text from outside ----------------------------------------------------------------------- */

/* The page stays in its elements whatever TEXT is, and its tokens are those of JSON. */
static void assert_stays(const char *text)
{
    struct attn_ran ran;
    struct attn_page page;
    const cJSON *tokens, *expected;
    cJSON *json;
    char model[4096];

    snprintf(model, sizeof model, "%s/models/tiny-gpt2", root);
    ran = attn_command((const char *[]){"run", "-m", model, "--heads", "0.0", "--title", text,
                                        "--html", "p.html", "--json", "-", "-p", text, NULL});
    if (ran.exit == 0) {
        page = attn_page_read(attn_file_text("p.html"));
        json = cJSON_Parse(ran.out);
        tokens = cJSON_GetObjectItem(page.run, "tokens");
        expected = cJSON_GetObjectItem(json, "tokens");
        ck_assert_msg(cJSON_Compare(tokens, expected, true), "tokens of '%s'", text);
        ck_assert_uint_eq(attn_page_count(&page, "<script"), 4);
        ck_assert_uint_eq(attn_page_count(&page, "</script"), 4);
        ck_assert_uint_eq(attn_page_count(&page, "<!--"), 0);
        ck_assert_uint_eq(attn_page_count(&page, "<h1>"), text[0] != '\0');
        ck_assert_ptr_null(strstr(page.text, "\xe2\x80\xa8"));
        cJSON_Delete(json);
        free((char *)(uintptr_t)page.text);
        attn_page_release(&page);
    }
    attn_ran_release(&ran);
}

START_TEST(no_text_leaves_its_element)
{
    enter();
    assert_stays("</script><script>alert(1)</script>");
    assert_stays("<!--<script>");
    assert_stays("]]>\"'&amp;\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xae");
    assert_stays("@DOCUMENT@ @SCRIPTS@ @TITLE@");
    for (size_t i = 0; i < attn_n_naughty; i += 4 * attn_one_in(ATTN_NAUGHTY_STEP))
        if (attn_naughty_is_argument(&attn_naughty[i]) && attn_naughty_is_utf8(&attn_naughty[i]))
            assert_stays(attn_naughty[i].text);
    ck_assert_int_eq(system("rm -f p.html"), 0);
    attn_folder_leave();
}
END_TEST

/* --- The writer ------------------------------------------------------------------------------ */

static const struct attn_dims small = {
    .n_layer = 2,
    .n_head = 4,
    .n_kv_head = 2,
    .d_model = 3,
    .d_head = 2,
    .d_value = 3,
    .d_mlp = 5,
    .n_vocab = 7,
    .n_position = 5,
};

static struct attn_made_up_run made;

static void set_up(const char *sites, const char *heads, const char *queries)
{
    attn_made_up_run_init(&made, &small, NULL);
    attn_made_up_run_select(&made, sites, heads, queries);
}

START_TEST(blocks_and_feeds_give_the_same_page)
{
    struct attn_error err = {0};
    struct attn_part page, other;

    set_up("pattern,z", "0.1,1.*", "all");
    page = attn_written(&made, "html", NULL, ATTN_WHOLE, &err);
    ck_assert_uint_gt(page.size, 0);
    for (size_t n = 1; n <= 8; n++) {
        const struct attn_way way = {.n_row = n > 4 ? 0 : n, .step = n > 4 ? n - 4 : 0};

        other = attn_written(&made, "html", NULL, way, &err);
        ck_assert_uint_eq(other.size, page.size);
        ck_assert_mem_eq(other.bytes, page.bytes, page.size);
        free(other.bytes);
    }
    free(page.bytes);
    attn_made_up_run_release(&made);
}
END_TEST

/* Weights that no level says, as those of a run that was edited. */
START_TEST(weights_outside_0_to_1_and_not_finite_are_told)
{
    struct attn_error err = {0};
    struct attn_writer *writer;
    struct attn_sink *sink;
    const float row[5] = {NAN, -1, 0.25F, INFINITY, 2};
    struct attn_trace_event event = {.at.site = ATTN_SITE_PATTERN,
                                     .at.layer = 1,
                                     .at.head = 2,
                                     .n_row = 1,
                                     .n_col = 5,
                                     .ld = 5,
                                     .row0 = 3,
                                     .data = row};
    struct attn_page page;
    struct attn_page_matrix m;
    char *json, *text;
    size_t size;

    set_up("pattern", "1.2", "3");
    attn_sink_create_memory(&sink, &err);
    ck_assert_int_eq(attn_writer_create_sink(attn_format_find("html"), sink, &made.run,
                                             &ATTN_WRITER_OPTIONS_DEFAULT, &writer, &err),
                     ATTN_OK);
    ck_assert_int_eq(attn_writer_event(writer, &event, &err), ATTN_OK);
    ck_assert_int_eq(attn_writer_finish(writer, &err), ATTN_OK);
    attn_sink_write(sink, "", 1);
    text = (char *)(uintptr_t)attn_sink_bytes(sink, &size);
    page = attn_page_read(text);
    m = attn_page_matrix(&page, 0);
    ck_assert(isnan(m.weights[0]) && isnan(m.weights[3]));
    ck_assert_double_eq_tol(m.weights[2], 0.25, 1e-4);
    ck_assert(m.weights[1] == 0 && m.weights[4] == 1);
    ck_assert_int_eq(attn_page_head(&page, 0, "outside")->valueint, 2);
    json = cJSON_PrintUnformatted(attn_page_head(&page, 0, "not_finite"));
    ck_assert_str_eq(json, "[0,0,1,0,3,1]");
    free(json);
    attn_page_matrix_release(&m);
    attn_page_release(&page);
    attn_writer_free(writer);
    attn_sink_free(sink);
    attn_made_up_run_release(&made);
}
END_TEST

START_TEST(failures_leave_no_file)
{
    struct attn_error err = {0};

    set_up("pattern,z", "all", "1-3");
    attn_folder_enter();
    attn_written_fails_whole(&made, "html", "p");
    ck_assert_int_eq(
        attn_written_to(&made, "html", NULL, "absent/p", (struct attn_way){.n_row = 2}, &err),
        ATTN_IO);
    err = (struct attn_error){0};
    ck_assert_int_eq(
        attn_written_to(&made, "html", NULL, "/dev/full", (struct attn_way){.n_row = 2}, &err),
        ATTN_IO);
    attn_folder_leave();
    attn_made_up_run_release(&made);
}
END_TEST

ATTN_SUITE("page", blocks_hold_the_weights_of_a_run,
           blocks_hold_chosen_heads_and_queries_of_a_window, blocks_of_many_cells_have_a_byte_each,
           blocks_hold_cross_attention, blocks_hold_batches_of_arrays, no_text_leaves_its_element,
           blocks_and_feeds_give_the_same_page, weights_outside_0_to_1_and_not_finite_are_told,
           failures_leave_no_file)
