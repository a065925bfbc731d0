/*
 * test_output_json.c - JSON: every byte of a small document, every number of a large one read back
 * by the strict parser of lib/formats, the order of events, and what failures leave.
 */
#include "formats/json.h"
#include "tests/support/folder.h"
#include "tests/support/made_up_run.h"
#include "tests/support/suite.h"
#include "tests/support/written.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static const char *const words[ATTN_MADE_UP_MAX] = {"Life", "\"is\"", "\xf0\x9f", "a\\b",
                                                    "\xe7\x8c\xab"};
static const size_t begin[] = {0, 4, 9, 12, 15}, end[] = {4, 8, 11, 15, 18};

static struct attn_made_up_run made;

static void set_up(const char *sites, const char *heads, const char *queries)
{
    attn_made_up_run_init(&made, &small, words);
    attn_made_up_run_select(&made, sites, heads, queries);
    made.run.begin = begin, made.run.end = end;
}

static void tear_down(void)
{
    attn_made_up_run_release(&made);
}

START_TEST(tells_which_tokens_were_added)
{
    char *text;

    set_up("pattern", "1.2", "0");
    made.run.n_front = 1, made.run.n_back = 2;
    text = attn_written_text(&made, "json", &ATTN_WRITER_OPTIONS_DEFAULT);
    ck_assert_ptr_nonnull(strstr(text, "\"ids\": [10,11,12,13,14],\n\"added\": [0,3,4],\n"));
    free(text);
    tear_down();
}
END_TEST

START_TEST(is_one_document)
{
    static const struct attn_option options[] = {{"heads", "1.2"}, {"queries", "0,\"2\"\xff"}};
    char *text;

    set_up("pattern,z", "1.2", "0,2");
    made.run.options = options, made.run.n_option = 2;
    text = attn_written_text(&made, "json", &ATTN_WRITER_OPTIONS_DEFAULT);
    ck_assert_str_eq(text,
                     "{\n"
                     "\"schema\": 1,\n"
                     "\"model\": \"made-up\",\n"
                     "\"options\": {\"heads\": \"1.2\",\"queries\": \"0,\\\"2\\\"\\\\xff\"},\n"
                     "\"tokens\": [\"Life\",\"\\\"is\\\"\",\"\\\\xf0\\\\x9f\",\"a\\\\b\","
                     "\"\xe7\x8c\xab\"],\n"
                     "\"ids\": [10,11,12,13,14],\n"
                     "\"offsets\": [[0,4],[4,8],[9,11],[12,15],[15,18]],\n"
                     "\"kv_heads\": [0,0,1,1],\n"
                     "\"tensors\": {\n"
                     "\"queries\": [0,2],\n"
                     "\"blocks.1.heads\": [2],\n"
                     "\"blocks.1.attn.hook_pattern\": [[\n"
                     "[7552,null,null,null,null],\n"
                     "[7552.5,-7552.4844,7552.5312,null,null]]],\n"
                     "\"blocks.1.attn.hook_z\": [[\n"
                     "[8576,-8575.984,8576.031]],[\n"
                     "[8576.5,-8576.484,8576.531]]]\n"
                     "},\n"
                     "\"predictions\": {\n"
                     "\"top\": [\n"
                     "{\"id\": 4, \"token\": \"\xe7\x8c\xab\\\"\", \"probability\": 0.75},\n"
                     "{\"id\": 9, \"token\": null, \"probability\": 0.125}],\n"
                     "\"next\": [\n"
                     "{\"text\": \" are\", \"logprob\": -1.5}]\n"
                     "}\n"
                     "}\n");
    free(text);
    tear_down();
}
END_TEST

START_TEST(what_is_not_known_is_null)
{
    char *text;

    set_up("embed", "all", "0");
    made.run = (struct attn_labels){.selection = made.selection};
    text = attn_written_text(&made, "json",
                             &((struct attn_writer_options){
                                 .size = sizeof(struct attn_writer_options), .precision = 1}));
    ck_assert_ptr_nonnull(strstr(text,
                                 "\"model\": null,\n\"options\": {},\n\"tokens\": null,\n"
                                 "\"ids\": null,\n\"offsets\": null,\n\"kv_heads\": [0,0,1,1],\n"
                                 "\"tensors\": {\n\"queries\": [0],\n\"hook_embed\": [\n"));
    ck_assert_ptr_nonnull(strstr(text, "\"probability\": 0.8}")); /* 0.75, a tie to even */
    free(text);
    tear_down();
}
END_TEST

/* Numbers that are no numbers are null; JSON has no words for them. */
START_TEST(what_is_not_finite_is_null)
{
    struct attn_error err = {0};
    struct attn_writer *writer;
    struct attn_sink *sink;
    const float row[3] = {NAN, -INFINITY, 1e-7F};
    const struct attn_trace_event event = {.at.site = ATTN_SITE_RESID_POST,
                                           .at.head = ATTN_ALL_HEADS,
                                           .n_row = 1,
                                           .n_col = 3,
                                           .ld = 3,
                                           .data = row};
    const char *bytes;
    size_t size;

    set_up("resid_post", "all", "0");
    ck_assert_int_eq(attn_selection_set_layers(made.selection, "0", &err), ATTN_OK);
    attn_sink_create_memory(&sink, &err);
    ck_assert_int_eq(attn_writer_create_sink(attn_format_find("json"), sink, &made.run,
                                             &ATTN_WRITER_OPTIONS_DEFAULT, &writer, &err),
                     ATTN_OK);
    ck_assert_int_eq(attn_writer_event(writer, &event, &err), ATTN_OK);
    ck_assert_int_eq(attn_writer_finish(writer, &err), ATTN_OK);
    bytes = attn_sink_bytes(sink, &size);
    ck_assert_ptr_nonnull(memmem(bytes, size, "[null,null,1e-07]", 17));
    attn_writer_free(writer);
    attn_sink_free(sink);
    tear_down();
}
END_TEST

/* --- Read back ------------------------------------------------------------------------------- */

/* The number at [A][B][C] of NODE, or [A][C] for sites without heads; NaN for null. */
static double number_at(const struct attn_node *node, bool has_heads, size_t a, size_t b, size_t c)
{
    size_t index[] = {a, b, c};
    double value;

    for (int depth = 0; depth < 3; depth++) {
        if (depth == 1 && !has_heads)
            continue;
        ck_assert(attn_node_is_array(node));
        node = attn_node_first(node);
        for (size_t i = 0; i < index[depth]; i++)
            node = attn_node_next(node);
        ck_assert_ptr_nonnull(node);
    }
    if (attn_node_is_null(node))
        return (double)NAN;
    ck_assert(attn_node_double(node, &value));
    return value;
}

static void ck_assert_tensor(const struct attn_node *tensor, enum attn_site site, int layer)
{
    enum attn_site_layout layout = attn_site_layout(site);
    bool has_heads = attn_site_has_heads(site);
    size_t n_head = layout == ATTN_LAYOUT_KEY ? small.n_kv_head : has_heads ? small.n_head : 1;
    size_t width = attn_site_width(site, &small);

    for (size_t h = 0; h < n_head; h++)
        for (size_t row = 0; row < small.n_position; row++)
            for (size_t col = 0; col < width; col++) {
                bool is_matrix = layout == ATTN_LAYOUT_MATRIX;
                double seen = layout == ATTN_LAYOUT_HEADS
                                  ? number_at(tensor, false, h, 0, row)
                                  : number_at(tensor, has_heads, is_matrix ? h : row,
                                              is_matrix ? row : h, col);
                float expected =
                    attn_made_up_value(site, layer, has_heads ? (int)h : ATTN_ALL_HEADS, row, col);

                if (attn_site_has_keys(site) && site != ATTN_SITE_QK && col > row)
                    ck_assert(isnan(seen));
                else
                    ck_assert_msg((float)seen == expected, "%s of layer %d: [%zu,%zu,%zu] is %g",
                                  attn_site_name(site), layer, h, row, col, seen);
            }
}

/* The document in the file j: every tensor of the whole run. */
static void ck_assert_everything(void)
{
    struct attn_error err = {0};
    struct attn_file file;
    struct attn_json *json;
    const struct attn_node *tensors;

    ck_assert_msg(attn_file_open("j", ATTN_READ, &file, &err) == ATTN_OK, "%s", err.message);
    ck_assert_msg(attn_json_parse(&file, &json, &err) == ATTN_OK, "%s", err.message);
    tensors = attn_node_find(attn_json_root(json), "tensors");
    ck_assert_ptr_nonnull(tensors);
    for (int site = 0; site < ATTN_N_SITE; site++)
        for (int layer = 0; layer < (int)small.n_layer; layer++) {
            char name[ATTN_SITE_ARCHIVE_NAME_SIZE];
            int of = attn_site_is_in_layer(site) ? layer : ATTN_NO_LAYER;

            if (!attn_sites_have(made.dims.sites, site))
                continue;
            attn_site_archive_name(site, of, name);
            ck_assert_tensor(attn_node_find(tensors, name), site, of);
        }
    attn_json_free(json);
    attn_file_release(&file);
}

START_TEST(holds_every_number_of_every_tensor)
{
    set_up("*", "all", "all");
    attn_folder_enter();
    attn_written_to(&made, "json", "j", SIZE_MAX, 0);
    ck_assert_everything();
    attn_folder_leave();
    tear_down();
}
END_TEST

START_TEST(blocks_give_the_same_document)
{
    char *text, *other;

    set_up("*", "all", "all");
    text = attn_written_text(&made, "json", &ATTN_WRITER_OPTIONS_DEFAULT);
    for (size_t n_row = 1; n_row <= 4; n_row++) {
        other = attn_written_in_parts(&made, "json", n_row, 0);
        ck_assert_str_eq(other, text);
        free(other);
    }
    free(text);
    tear_down();
}
END_TEST

START_TEST(feeds_give_the_same_document)
{
    char *text, *other;

    set_up("pattern,attn_scores,k,z,resid_mid,logits", "all", "1-3"); /* qk sees later keys */
    text = attn_written_text(&made, "json", &ATTN_WRITER_OPTIONS_DEFAULT);
    for (size_t step = 1; step <= 4; step++) {
        other = attn_written_in_parts(&made, "json", 0, step);
        ck_assert_str_eq(other, text);
        free(other);
    }
    free(text);
    tear_down();
}
END_TEST

START_TEST(rows_out_of_order_are_refused)
{
    struct attn_error err = {0};
    struct attn_writer *writer;
    struct attn_sink *sink;
    const float row[3] = {1, 2, 3};
    struct attn_trace_event event = {.at.site = ATTN_SITE_EMBED,
                                     .at.layer = ATTN_NO_LAYER,
                                     .at.head = ATTN_ALL_HEADS,
                                     .n_row = 1,
                                     .n_col = 3,
                                     .ld = 3,
                                     .data = row};

    set_up("embed", "all", "all");
    attn_sink_create_memory(&sink, &err);
    ck_assert_int_eq(attn_writer_create_sink(attn_format_find("json"), sink, &made.run,
                                             &ATTN_WRITER_OPTIONS_DEFAULT, &writer, &err),
                     ATTN_OK);
    for (event.row0 = small.n_position; event.row0-- > 0;)
        ck_assert_int_eq(attn_writer_event(writer, &event, &err), ATTN_OK);
    ck_assert_int_eq(attn_writer_finish(writer, &err), ATTN_INVALID);
    ck_assert_str_eq(err.message, "rows came out of order");
    attn_writer_free(writer);
    attn_sink_free(sink);
    tear_down();
}
END_TEST

START_TEST(failures_leave_no_file)
{
    struct attn_error err = {0};

    set_up("qk,pattern,z,logits", "all", "1-3");
    attn_folder_enter();
    attn_written_fails_whole(&made, "json", "j");
    ck_assert_int_eq(attn_written_try(&made, "json", "absent/j", &err), ATTN_IO);
    err = (struct attn_error){0};
    ck_assert_int_eq(attn_written_try(&made, "json", "/dev/full", &err), ATTN_IO);
    attn_folder_leave();
    tear_down();
}
END_TEST

START_TEST(a_run_that_stops_early_leaves_nothing)
{
    struct attn_error err = {0};
    struct attn_writer *writer;
    const struct attn_predictions none = {0};

    set_up("pattern", "all", "all");
    attn_folder_enter();
    ck_assert_int_eq(attn_writer_open(attn_format_find("json"),
                                      &(struct attn_writer_target){.path = "j"}, &made.run,
                                      &ATTN_WRITER_OPTIONS_DEFAULT, &writer, &err),
                     ATTN_OK);
    ck_assert_int_eq(attn_writer_predictions(writer, &none, &err), ATTN_INVALID);
    ck_assert_int_eq(attn_writer_finish(writer, &err), ATTN_INVALID);
    attn_writer_free(writer);
    ck_assert_uint_eq(attn_folder_count(), 0);
    attn_folder_leave();
    tear_down();
}
END_TEST

ATTN_SUITE("output_json", is_one_document, tells_which_tokens_were_added, what_is_not_known_is_null,
           what_is_not_finite_is_null, holds_every_number_of_every_tensor,
           blocks_give_the_same_document, feeds_give_the_same_document,
           rows_out_of_order_are_refused, failures_leave_no_file,
           a_run_that_stops_early_leaves_nothing)
