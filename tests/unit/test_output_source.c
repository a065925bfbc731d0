/*
 * test_output_source.c - what the formats make of a layer that attends to a source: its keys are
 * rows of the source, which are not positions of the run, and have tokens of their own or none.
 */
#include "attn.h"
#include "tensors/writer.h"
#include "tests/support/folder.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const bool is_cross[] = {true};

static const struct attn_dims dims = {
    .n_layer = 1,
    .n_head = 1,
    .n_kv_head = 1,
    .d_model = 1,
    .d_head = 1,
    .d_value = 1,
    .n_vocab = 5,
    .n_position = 2,
    .n_source = 3,
    .is_cross = is_cross,
    .sites = {{UINT64_C(1) << ATTN_SITE_PATTERN | UINT64_C(1) << ATTN_SITE_V}},
};

static const char *const tokens[] = {"a", "b"};
static const size_t sizes[] = {1, 1};

static const char *const source_tokens[] = {"le", "petit,", "\xffx"};
static const size_t source_sizes[] = {2, 6, 2};

/* The text that FORMAT makes of one site, with the tokens of the source when it HAS_TOKENS; free
 * it. */
static char *text_of(const char *format, enum attn_site site, bool has_tokens)
{
    static const float values[] = {0.5F, 0.25F, 0.25F, 0, 0.75F, 0.25F};
    bool is_matrix = site == ATTN_SITE_PATTERN;
    struct attn_trace_event event = {.at.site = site,
                                     .n_row = is_matrix ? 2 : 3,
                                     .n_col = is_matrix ? 3 : 1,
                                     .ld = is_matrix ? 3 : 1,
                                     .data = values};
    struct attn_labels run = {.tokens = tokens, .token_sizes = sizes};
    struct attn_selection *selection;
    struct attn_error err = {0};
    struct attn_writer *writer;
    struct attn_sink *sink;
    const char *bytes;
    size_t size;
    char *text;

    ck_assert_int_eq(attn_selection_create(&dims, &selection, &err), ATTN_OK);
    ck_assert_int_eq(attn_selection_set_sites(selection, ATTN_SITES(site), &err), ATTN_OK);
    run.selection = selection;
    if (has_tokens) {
        run.source_tokens = source_tokens;
        run.source_token_sizes = source_sizes;
    }
    ck_assert_int_eq(attn_sink_create_memory(&sink, &err), ATTN_OK);
    ck_assert_msg(attn_writer_create_sink(attn_format_find(format), sink, &run,
                                          &ATTN_WRITER_OPTIONS_DEFAULT, &writer, &err) == ATTN_OK,
                  "%s", err.message);
    ck_assert_msg(attn_writer_event(writer, &event, &err) == ATTN_OK, "%s", err.message);
    ck_assert_msg(attn_writer_finish(writer, &err) == ATTN_OK, "%s", err.message);
    bytes = attn_sink_bytes(sink, &size);
    text = strndup(bytes, size);
    attn_writer_free(writer);
    attn_sink_free(sink);
    attn_selection_free(selection);
    return text;
}

static void ck_assert_text(const char *format, enum attn_site site, const char *expected)
{
    char *text = text_of(format, site, false);

    ck_assert_str_eq(text, expected);
    free(text);
}

static void ck_assert_tokens(const char *format, enum attn_site site, const char *expected)
{
    char *text = text_of(format, site, true);

    ck_assert_msg(strstr(text, expected) != NULL, "expected\n%sin\n%s", expected, text);
    free(text);
}

START_TEST(keys_are_numbers_without_tokens_in_csv)
{
    ck_assert_text("csv", ATTN_SITE_PATTERN, "query,0,1,2\n0|a,0.5,0.25,0.25\n1|b,0,0.75,0.25\n");
    ck_assert_text("csv", ATTN_SITE_V, "token,0\n0,0.5\n1,0.25\n2,0.25\n");
}
END_TEST

START_TEST(keys_have_no_token_in_tidy_csv)
{
    ck_assert_text("tidy", ATTN_SITE_PATTERN,
                   "id,layer,head,query,key,query_token,key_token,weight\n"
                   "0,0,0,0,0,a,,0.5\n0,0,0,0,1,a,,0.25\n0,0,0,0,2,a,,0.25\n"
                   "0,0,0,1,0,b,,0\n0,0,0,1,1,b,,0.75\n0,0,0,1,2,b,,0.25\n");
}
END_TEST

START_TEST(json_holds_every_key)
{
    char *text = text_of("json", ATTN_SITE_PATTERN, false);

    ck_assert_ptr_nonnull(strstr(text, "[[\n[0.5,0.25,0.25],\n[0,0.75,0.25]]]"));
    free(text);
    text = text_of("json", ATTN_SITE_V, false);
    ck_assert_ptr_nonnull(strstr(text, "[[\n[0.5]],[\n[0.25]],[\n[0.25]]]"));
    free(text);
}
END_TEST

START_TEST(tables_number_the_keys)
{
    char *text = text_of("text", ATTN_SITE_PATTERN, false);

    ck_assert_ptr_nonnull(strstr(text, "   query       0       1       2\n"
                                       "0  a      0.5000  0.2500  0.2500\n"));
    free(text);
    text = text_of("text", ATTN_SITE_V, false);
    ck_assert_ptr_nonnull(strstr(text, "2         0.2500\n"));
    free(text);
}
END_TEST

START_TEST(tokens_of_the_source_label_its_rows)
{
    ck_assert_tokens("csv", ATTN_SITE_PATTERN,
                     "query,0|le,\"1|petit,\",2|\\xffx\n0|a,0.5,0.25,0.25\n");
    ck_assert_tokens("csv", ATTN_SITE_V, "token,0\n0|le,0.5\n\"1|petit,\",0.25\n2|\\xffx,0.25\n");
    ck_assert_tokens("tidy", ATTN_SITE_PATTERN,
                     "0,0,0,0,0,a,le,0.5\n0,0,0,0,1,a,\"petit,\",0.25\n0,0,0,0,2,a,\\xffx,0.25\n");
    ck_assert_tokens("text", ATTN_SITE_PATTERN,
                     "   query      le  petit,   \\xffx\n"
                     "0  a      0.5000  0.2500  0.2500\n");
    ck_assert_tokens("text", ATTN_SITE_V,
                     "1  petit,  0.2500\n"
                     "2  \\xffx   0.2500\n");
    ck_assert_tokens("json", ATTN_SITE_V,
                     "\"tokens\": [\"a\",\"b\"],\n"
                     "\"source_tokens\": [\"le\",\"petit,\",\"\\\\xffx\"],\n");
}
END_TEST

START_TEST(arrays_hold_the_tokens_of_the_source)
{
    struct attn_selection *selection;
    struct attn_labels run = {.tokens = tokens,
                              .token_sizes = sizes,
                              .source_tokens = source_tokens,
                              .source_token_sizes = source_sizes};
    struct attn_writer *writer;
    struct attn_error err = {0};
    char bytes[400] = "";
    FILE *file;

    attn_folder_enter();
    ck_assert_int_eq(attn_selection_create(&dims, &selection, &err), ATTN_OK);
    run.selection = selection;
    ck_assert_int_eq(attn_writer_open(attn_format_find("npy"),
                                      &(struct attn_writer_target){.path = "d"}, &run,
                                      &ATTN_WRITER_OPTIONS_DEFAULT, &writer, &err),
                     ATTN_OK);
    attn_writer_free(writer);
    attn_selection_free(selection);
    file = fopen("d/source_tokens.npy", "rb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fread(bytes, 1, sizeof bytes, file), 128 + sizeof(uint32_t[3][6]));
    fclose(file);
    ck_assert_ptr_nonnull(strstr(bytes + 10, "'<U6', 'fortran_order': False, 'shape': (3,)"));
    ck_assert_int_eq(memcmp(bytes + 128, U"le\0\0\0\0petit,\\xffx", sizeof(uint32_t[3][5])), 0);
    ck_assert_int_eq(unlink("d/source_tokens.npy") | unlink("d/tokens.npy") | unlink("d/run.json") |
                         rmdir("d"),
                     0);
    attn_folder_leave();
}
END_TEST

ATTN_SUITE("output_source", keys_are_numbers_without_tokens_in_csv, keys_have_no_token_in_tidy_csv,
           json_holds_every_key, tables_number_the_keys, tokens_of_the_source_label_its_rows,
           arrays_hold_the_tokens_of_the_source)
