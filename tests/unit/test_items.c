/* test_items.c - items of JSON Lines, CSV and TSV: what is taken, what each fault is called, shards
 * and pipes. */
#include "extra.h"
#include "frame/question_internal.h"
#include "run/run_internal.h"
#include "stream/items_internal.h"
#include "stream/record_keys_internal.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct attn_items *items;
static struct attn_item *item;

static struct attn_items_options options_of(const char *name, const char *data, size_t size)
{
    struct attn_items_options options = ATTN_ITEMS_OPTIONS_DEFAULT;

    options.path = name;
    options.data = data;
    options.n_data = size;
    return options;
}

static void open_data(const char *name, const char *data)
{
    const struct attn_items_options options = options_of(name, data, strlen(data));
    struct attn_error err = {0};

    ck_assert_msg(attn_items_open(&options, &items, &err) == ATTN_OK, "%s", err.message);
}

/* Reads the next item into `item`; whether there is one. */
static bool has_next(void)
{
    struct attn_error err = {0};

    attn_item_free(item);
    item = NULL;
    ck_assert_msg(attn_items_next(items, &item, &err) == ATTN_OK, "%s", err.message);
    return item;
}

static void release(void)
{
    attn_item_free(item);
    attn_items_free(items);
    item = NULL;
    items = NULL;
}

static void expect_text(const struct attn_input *input, const char *text)
{
    ck_assert_ptr_nonnull(input->text);
    ck_assert_uint_eq(input->n_text, strlen(text));
    ck_assert_mem_eq(input->text, text, input->n_text);
}

/* The only item of DATA fails so. */
static void expect_failure(const char *name, const char *data, const char *code,
                           const char *message)
{
    open_data(name, data);
    ck_assert(has_next());
    ck_assert_str_eq(attn_reason_text(item->failure), code);
    ck_assert_str_eq(item->err.message, message);
    ck_assert(!has_next());
    release();
}

/* --- Keys ------------------------------------------------------------------------------------- */

START_TEST(takes_all_keys)
{
    open_data("a.jsonl",
              "{\"id\":\"x\",\"text\":\"The keys\",\"target\":\" are\",\"foil\":5,"
              "\"at\":-1,\"from\":\"keys#2\",\"to\":\"0\",\"queries\":\"1-2\","
              "\"source\":\"s\",\"next\":[\"a\",\"b\"],\"pos.subject\":\"keys\",\"pos.verb\":3,"
              "\"type\":\"sing\",\"n\":1.50,\"m\":7,\"ok\":true,\"none\":null}\n");
    ck_assert(has_next());
    ck_assert_str_eq(item->err.message, "");
    expect_text(&item->input, "The keys");
    ck_assert_int_eq(item->pair, ATTN_ITEM_SINGLE);
    ck_assert_mem_eq(item->id, "x", 1);
    ck_assert_str_eq(item->answer.target, " are");
    ck_assert(!item->answer.target_id && !item->answer.foil && item->answer.foil_id);
    ck_assert_int_eq(*item->answer.foil_id, 5);
    ck_assert_str_eq(item->answer.at.text, "-1");
    ck_assert_str_eq(item->from.text, "keys#2");
    ck_assert_str_eq(item->to.text, "0");
    ck_assert_str_eq(item->queries.text, "1-2");
    expect_text(&item->source, "s");
    ck_assert_uint_eq(item->n_next, 2);
    ck_assert_str_eq(item->next[1], "b");
    ck_assert_uint_eq(item->n_place, 2);
    ck_assert_str_eq(item->places[0].name, "subject");
    ck_assert_str_eq(item->places[1].spec.text, "3");
    ck_assert_uint_eq(item->n_label, 4);
    ck_assert_str_eq(item->labels[0].name, "type");
    ck_assert_int_eq(item->labels[0].value.type, ATTN_VALUE_TEXT);
    ck_assert_str_eq(item->labels[1].text, "1.50");
    ck_assert(item->labels[1].value.real == 1.5);
    ck_assert_int_eq(item->labels[2].value.integer, 7);
    ck_assert_int_eq(item->labels[3].value.type, ATTN_VALUE_BOOLEAN);
    ck_assert(!has_next());
    release();
}
END_TEST

/* Both texts of a pair have what goes with a text. */
START_TEST(shares_what_goes_with_a_text)
{
    open_data("a.csv", "clean,corrupted,pair,key_mask\nThe keys,The key,On it,1 0 1\n");
    ck_assert(has_next());
    ck_assert_str_eq(item->err.message, "");
    ck_assert_uint_eq(item->n_label, 0);
    for (int i = 0; i < 2; i++) {
        const struct attn_input *input = i == 0 ? &item->input : &item->other;

        expect_text(input, i == 0 ? "The keys" : "The key");
        ck_assert_uint_eq(input->n_pair, 5);
        ck_assert_mem_eq(input->pair, "On it", 5);
        ck_assert_uint_eq(input->n_key_mask, 3);
        ck_assert_int_eq(input->key_mask[1], 0);
        ck_assert_ptr_null(input->types);
    }
    release();
}
END_TEST

/* Two files of the same items. */
static void expect_same(const char *name, const char *csv, const char *lines)
{
    struct attn_items *others;
    struct attn_item *other = NULL;
    const struct attn_items_options options = options_of(NULL, lines, strlen(lines));

    ck_assert_int_eq(attn_items_open(&options, &others, NULL), ATTN_OK);
    open_data(name, csv);
    while (has_next()) {
        ck_assert_int_eq(attn_items_next(others, &other, NULL), ATTN_OK);
        ck_assert_ptr_nonnull(other);
        ck_assert_str_eq(item->err.message, other->err.message);
        ck_assert_int_eq(item->id_kind, other->id_kind);
        ck_assert_uint_eq(item->n_id, other->n_id);
        if (item->n_id > 0)
            ck_assert_mem_eq(item->id, other->id, item->n_id);
        ck_assert_uint_eq(item->input.n_text, other->input.n_text);
        if (item->input.n_text > 0)
            ck_assert_mem_eq(item->input.text, other->input.text, item->input.n_text);
        ck_assert_uint_eq(item->input.n_id, other->input.n_id);
        for (size_t i = 0; i < item->input.n_id; i++)
            ck_assert_int_eq(item->input.ids[i], other->input.ids[i]);
        ck_assert_pstr_eq(item->answer.at.text, other->answer.at.text);
        ck_assert_uint_eq(item->n_label, other->n_label);
        for (size_t i = 0; i < item->n_label; i++) {
            ck_assert_str_eq(item->labels[i].name, other->labels[i].name);
            ck_assert_str_eq(item->labels[i].text, other->labels[i].text);
            ck_assert_int_eq(item->labels[i].value.type, other->labels[i].value.type);
        }
        attn_item_free(other);
    }
    ck_assert_int_eq(attn_items_next(others, &other, NULL), ATTN_OK);
    ck_assert_ptr_null(other);
    attn_items_free(others);
    release();
}

START_TEST(csv_is_what_json_lines_are)
{
    static const char lines[] =
        "{\"id\":7,\"text\":\"one, \\\"two\\\"\\nthree\",\"at\":\"5\",\"n\":1.50,\"ok\":true}\n"
        "{\"id\":\"007\",\"text\":\"4\",\"at\":\"it\",\"n\":\"-\",\"ok\":\"True\"}\n"
        "{\"ids\":[5,17,3],\"n\":1e3}\n";

    expect_same("a.csv",
                "\xef\xbb\xbf\"id\",text,ids,at,n,ok\r\n"
                "7,\"one, \"\"two\"\"\nthree\",,5,1.50,true\r\n\r\n"
                "\"007\",4,,it,-,True\n"
                ",,5 17  3,,1e3,\"\"",
                lines);
    expect_same("a.tsv",
                "id\ttext\tids\tat\tn\tok\n"
                "7\t\"one, \"\"two\"\"\nthree\"\t\t5\t1.50\ttrue\n"
                "007\t4\t\tit\t-\tTrue\n"
                "\t\t5 17 3\t\t1e3\t\n",
                lines);
    expect_same(NULL, "\xef\xbb\xbf{\"text\":\"a\"}\r\n \r\n{\"text\":\"b\"}",
                "{\"text\":\"a\"}\n{\"text\":\"b\"}\n");
}
END_TEST

START_TEST(takes_all_keys_of_csv)
{
    open_data("a.csv", "id,ids,types,target,foil,at,queries,source,corrupted_source,next,"
                       "pos.verb,words,image,m\n"
                       "5 1,4 5,0 1,text:7,ids:7,-1,1-2,ids:8,s,9,3,true,3,1.50\n");
    ck_assert(has_next());
    ck_assert_str_eq(item->err.message, "");
    ck_assert_int_eq(item->id_kind, ATTN_RECORD_ID_TEXT);
    ck_assert_int_eq(item->input.ids[1], 5);
    ck_assert_int_eq(item->input.types[1], 1);
    ck_assert_str_eq(item->answer.target, "7");
    ck_assert(item->answer.foil_id && *item->answer.foil_id == 7);
    ck_assert_str_eq(item->answer.at.text, "-1");
    ck_assert_str_eq(item->queries.text, "1-2");
    ck_assert_int_eq(item->source.ids[0], 8);
    expect_text(&item->corrupted_source, "s");
    ck_assert_str_eq(item->next[0], "9");
    ck_assert_str_eq(item->places[0].spec.text, "3");
    ck_assert_uint_eq(item->n_label, 3);
    ck_assert_int_eq(item->labels[0].value.type, ATTN_VALUE_BOOLEAN);
    ck_assert_int_eq(item->labels[1].value.type, ATTN_VALUE_TEXT); /* the path 3 */
    ck_assert(item->labels[2].value.real == 1.5);
    ck_assert(!has_next());
    release();
    expect_failure("a.csv", "ids,foil\n5,\"ids:1\n2\"\n", "bad_value",
                   "line 2: 'foil' has '1\\n2', expected a whole number from 0 to 2147483647");
}
END_TEST

START_TEST(chooses_the_input_that_is_asked_about)
{
    open_data("a.csv", "text,clean,corrupted,good,bad\n"
                       "t,c,d,,\n,c,,,\n,,,g,ids:5\nt,,,g,ids:5\n");
    ck_assert(has_next());
    expect_text(&item->input, "t");
    attn_item_choose(item, ATTN_ITEM_BIT(CLEAN_CORRUPTED));
    ck_assert_int_eq(item->pair, ATTN_ITEM_CLEAN_CORRUPTED);
    expect_text(&item->input, "c");
    expect_text(&item->other, "d");
    ck_assert(has_next());
    ck_assert_str_eq(item->err.message, "");
    attn_item_choose(item, ATTN_ITEM_BIT(CLEAN_CORRUPTED));
    ck_assert_str_eq(item->err.message, "line 3: it has 'clean' and no 'corrupted', expected both");
    ck_assert(has_next());
    attn_item_choose(item, ATTN_ITEM_BIT(SINGLE) | ATTN_ITEM_BIT(GOOD_BAD));
    ck_assert_str_eq(item->err.message, "");
    ck_assert_int_eq(item->other.ids[0], 5);
    attn_item_choose(item, ATTN_ITEM_BIT(SINGLE) | ATTN_ITEM_BIT(A_B));
    ck_assert_str_eq(item->err.message,
                     "line 4: it has no 'text' or 'a', and 'good' is not read here");
    ck_assert(has_next());
    attn_item_choose(item, ATTN_ITEM_BIT(SINGLE) | ATTN_ITEM_BIT(GOOD_BAD));
    ck_assert_str_eq(item->err.message, "line 5: it has 'text' and 'good', expected one of them");
    ck_assert_str_eq(attn_reason_text(item->failure), "no_text");
    release();
}
END_TEST

START_TEST(takes_pictures_and_pairs_of_them)
{
    static const char *const datas[] = {
        "{\"image\":\"3\",\"corrupted_image\":\"b.png\"}\n{\"image\":\"c\",\"text\":\"d\"}\n",
        "image,text,corrupted_image\n3,,b.png\nc,d,\n"};

    for (size_t i = 0; i < 2; i++) {
        open_data(i == 1 ? "a.csv" : NULL, datas[i]);
        ck_assert(has_next());
        ck_assert_str_eq(item->input.image, "3");
        ck_assert_uint_eq(item->n_label, 2);
        ck_assert_str_eq(item->labels[1].name, "corrupted_image");
        attn_item_choose(item, ATTN_ITEM_BIT(CLEAN_CORRUPTED));
        ck_assert_str_eq(item->input.image, "3");
        ck_assert_str_eq(item->other.image, "b.png");
        attn_item_choose(item, ATTN_ITEM_BIT(SINGLE));
        ck_assert_str_eq(item->input.image, "3");
        ck_assert(!item->other.image);
        ck_assert(has_next()); /* a text beside it: a label alone */
        ck_assert(!item->input.image);
        ck_assert_str_eq(item->labels[0].text, "c");
        release();
    }
    open_data(NULL, "{\"image\":\"a\"}\n{\"corrupted_image\":\"a\"}\n");
    ck_assert(has_next());
    attn_item_choose(item, ATTN_ITEM_BIT(CLEAN_CORRUPTED));
    ck_assert_str_eq(item->err.message,
                     "line 1: it has 'image' and no 'corrupted_image', expected both");
    ck_assert(has_next());
    attn_item_choose(item, ATTN_ITEM_BIT(CLEAN_CORRUPTED));
    ck_assert_str_eq(item->err.message,
                     "line 2: it has 'corrupted_image' and no 'image', expected both");
    release();
}
END_TEST

/* A parameter that items replace names their keys. */
START_TEST(parameters_name_keys_of_items)
{
    static const char *const questions[] = {"ablate", "attribute", "heads",
                                            "lens",   "patch",     "score"};
    size_t n = 0;

    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        for (struct attn_question_walk walk = {.question = attn_question_find(questions[i])};
             attn_question_next(&walk);) {
            const bool is_named = walk.param->type == ATTN_PARAM_PLACES; /* pos.NAME */
            const char *keys = is_named ? NULL : walk.param->keys;

            for (size_t size; keys && *keys; keys += size + (keys[size] == '|'), n++) {
                struct attn_record_key key;

                size = strcspn(keys, "|");
                attn_record_find_key(keys, size, &key);
                ck_assert_msg(key.kind != ATTN_KEY_LABEL, "'%s' is a label", keys);
            }
        }
    ck_assert_uint_gt(n, 20);
}
END_TEST

/* --- Faults ----------------------------------------------------------------------------------- */

START_TEST(names_what_an_item_fails_by)
{
    static const struct {
        const char *line, *code, *message;
    } lines[] = {
        {"{\"text\":\"a\"", "bad_json", "line 1: 'line' ends at byte 11, expected ',' or '}'"},
        {"{\"text\":\"a\",\"n\":1,\"n\":2}", "bad_json",
         "line 1: 'line' has the key 'n' a second time at byte 18, expected each key once in an "
         "object"},
        {"{\"text\":\"\\ud800\"}", "bad_json", NULL},
        {"{\"text\":\"a\xff\"}", "bad_json", NULL},
        {"{\"id\":1,\"taget\":\"b\"}", "no_text",
         "line 1: it has no 'text' or 'clean' or 'a' or 'good'"},
        {"{\"text\":\"a\",\"ids\":[1]}", "no_text",
         "line 1: it has 'text' and 'ids', expected one of them"},
        {"{\"text\":5}", "bad_text", "line 1: 'text' has '5' at byte 8, expected a string"},
        {"{\"ids\":[1,\"x\"]}", "bad_ids",
         "line 1: 'ids' has 'x' at byte 10, expected a list of whole numbers from 0 to "
         "2147483647"},
        {"{\"text\":\"a\",\"image\":[[1],{}]}", "bad_value",
         "line 1: 'image' has '[' at byte 20, expected a text, a number or a boolean"},
        {"{\"text\":\"a\",\"words\":{\"b\":[]}}", "bad_value",
         "line 1: 'words' has '{' at byte 20, expected a text, a number or a boolean"},
        {"{\"text\":\"a\",\"n\":1e999}", "bad_value",
         "line 1: 'n' has '1e999' at byte 16, expected a text, a number or a boolean"},
        {"{\"text\":\"a\",\"target\":true}", "bad_value",
         "line 1: 'target' has 'true' at byte 21, expected a text"},
        {"{\"text\":\"a\",\"target\":\"image:b\"}", "bad_value",
         "line 1: 'target' has 'image:b' at byte 21, expected a text or ids:5,17,3; text: in front "
         "makes it a text"},
        {"{\"text\":\"a\",\"baseline\":\"mean\"}", "bad_text",
         "line 1: 'baseline' has 'mean' at byte 23, expected text:TEXT or ids:5,17,3"},
        {"{\"text\":\"a\",\"foil\":\"b\\u0000\"}", "bad_value",
         "line 1: 'foil' has 'b\\\\u0000' at byte 19, expected a text without NUL"},
        {"{\"text\":\"a\",\"at\":1.5}", "bad_value",
         "line 1: 'at' has '1.5' at byte 17, expected a position or a word"},
        {"{\"text\":\"a\",\"target\":-1}", "bad_value",
         "line 1: 'target' has '-1' at byte 21, expected a whole number from 0 to 2147483647"},
        {"{\"text\":\"a\",\"next\":[\"b\",1]}", "bad_value",
         "line 1: 'next' has '1' at byte 24, expected a string or a list of strings, each "
         "without NUL"},
        {"{\"text\":\"a\",\"pos.\":1}", "bad_value",
         "line 1: 'pos.' has '1' at byte 19, expected a name after the point"},
        {"{\"text\":\"a\",\"\":1}", "bad_value", NULL},
        {"{\"text\":\"a\",\"clean\":{}}", "bad_text", NULL},
    };
    static const struct {
        const char *line, *code, *message;
    } records[] = {
        {"1,a", "bad_csv", "line 2: it has 2 fields, expected the 3 of the header"},
        {"1,a,b,,", "bad_csv", "line 2: it has 5 fields, expected the 3 of the header"},
        {"1,a 5\" disk,", "bad_csv",
         "line 2: 'text' has a quote inside, expected all of it in quotes, and that quote twice"},
        {"1,\"a\"b,", "bad_csv",
         "line 2: 'text' has 'b' after its closing quote, expected its end"},
        {"1,a,\"b\n1,c,d\n", "bad_csv",
         "line 2: 'n' begins with a quote that is not closed, expected one at the end of the "
         "field"},
        {"1,a\xe9,b", "bad_csv", "line 2: 'text' has '\\xe9', expected UTF-8"},
        {"1,,b", "no_text", "line 2: it has no 'text' or 'clean' or 'a' or 'good'"},
    };

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        open_data(NULL, lines[i].line);
        ck_assert(has_next());
        ck_assert_str_eq(attn_reason_text(item->failure), lines[i].code);
        if (lines[i].message)
            ck_assert_str_eq(item->err.message, lines[i].message);
        ck_assert(!has_next());
        release();
    }
    /* a file that begins with another value is refused as a whole (tests/cli/study) */
    open_data(NULL, "{\"text\":\"a\"}\n[1]\n");
    ck_assert(has_next() && has_next());
    ck_assert_str_eq(item->err.message, "line 2: 'line' has '[' at byte 0, expected an object");
    release();
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        char data[200];

        snprintf(data, sizeof data, "id,text,n\n%s", records[i].line);
        expect_failure("a.csv", data, records[i].code, records[i].message);
    }
    expect_failure("a.csv", "ids,target\n5 x,ids:1\n", "bad_ids",
                   "line 2: 'ids' has 'x', expected a list of whole numbers from 0 to 2147483647");
    expect_failure("a.csv", "ids,target\n5,ids:x\n", "bad_value",
                   "line 2: 'target' has 'x', expected a whole number from 0 to 2147483647");
}
END_TEST

START_TEST(keeps_what_it_can_of_an_item_that_fails)
{
    open_data(NULL, "{\"id\":\"x\",\"bad\":{},\"type\":\"sing\",\"taget\":1}\n{\"text\":\"b\"}\n");
    ck_assert(has_next());
    ck_assert_str_eq(item->err.message, "line 1: 'bad' has '{' at byte 16, expected a string");
    ck_assert_mem_eq(item->id, "x", 1);
    ck_assert_uint_eq(item->n_label, 2);
    attn_item_choose(item, ATTN_ITEM_BIT(SINGLE));
    ck_assert_str_eq(item->err.message, "line 1: 'bad' has '{' at byte 16, expected a string");
    ck_assert(has_next());
    ck_assert_uint_eq(item->number, 1);
    ck_assert_uint_eq(item->line, 2);
    release();
}
END_TEST

START_TEST(goes_on_after_a_record_that_cannot_be_read)
{
    open_data("a.csv", "id,text\n1,a 5\" disk\n2,\"b\nc\n\"\n3\n\n4,d\n");
    ck_assert(has_next());
    ck_assert_str_eq(attn_reason_text(item->failure), "bad_csv");
    ck_assert(has_next());
    expect_text(&item->input, "b\nc\n");
    ck_assert_uint_eq(item->line, 3);
    ck_assert(has_next());
    ck_assert_str_eq(item->err.message, "line 6: it has 1 field, expected the 2 of the header");
    ck_assert(has_next());
    ck_assert_uint_eq(item->line, 8);
    ck_assert_uint_eq(item->number, 3);
    ck_assert(!has_next());
    release();
}
END_TEST

START_TEST(passes_over_a_line_that_is_too_long)
{
    enum { SIZE = 17 << 20 };
    char *data = malloc(SIZE + 100), *at = data;
    struct attn_items_options options;

    ck_assert_ptr_nonnull(data);
    at += snprintf(at, 40, "id,text\n1,\"a\n");
    memset(at, 'x', SIZE);
    at += SIZE;
    at += snprintf(at, 40, "\"\"\n\"\n2,b\n");
    options = options_of("a.csv", data, (size_t)(at - data));
    ck_assert_int_eq(attn_items_open(&options, &items, NULL), ATTN_OK);
    ck_assert(has_next());
    ck_assert_str_eq(attn_reason_text(item->failure), "line_too_long");
    ck_assert_str_eq(item->err.message,
                     "line 2: it has 17,825,801 bytes, expected at most 16,777,216");
    ck_assert(has_next());
    expect_text(&item->input, "b");
    ck_assert_uint_eq(item->line, 5);
    ck_assert(!has_next());
    release();
    free(data);
}
END_TEST

START_TEST(refuses_a_header_that_is_none)
{
    static const struct {
        const char *data, *message;
    } rows[] = {
        {"", "'a.csv' has no line, expected a header of CSV"},
        {"The keys are here,1\n", "the first line of 'a.csv' is 'The keys are here,1', expected a "
                                  "header with 'text', 'ids', 'image', 'clean', 'a' or 'good'"},
        {"id,text,id\n", "the header of 'a.csv': it has the name 'id' twice, expected each once"},
        {",text\n", "the header of 'a.csv': field 1 has no name, expected one"},
        {"text,\"n\n", "the header of 'a.csv': 'field 2' begins with a quote that is not closed, "
                       "expected one at the end of the field"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct attn_items_options options =
            options_of("a.csv", rows[i].data, strlen(rows[i].data));
        struct attn_error err = {0};

        ck_assert_int_eq(attn_items_open(&options, &items, &err), ATTN_FORMAT);
        ck_assert_str_eq(err.message, rows[i].message);
        ck_assert_int_eq(err.stage, ATTN_STAGE_INPUT);
    }
}
END_TEST

/* --- Ways of reading -------------------------------------------------------------------------- */

START_TEST(shards_have_each_item_once)
{
    static const char csv[] = "id,text,type\n0,\"a\nb\",x\n1,b,x\n\n2,\"c\n\n\",y\n3,d,z\n4,e,";
    static const char lines[] = "{\"text\":\"a\",\"x\":1}\n{\"text\":\"b\"}\n\n{\"text\":\"c\"}\n"
                                "{\"text\":\"d\",\"y\":2}\n{\"text\":\"e\"}";

    for (size_t n = 1; n < 80; n++)
        for (int is_csv = 0; is_csv < 2; is_csv++) {
            const char *data = is_csv ? csv : lines;
            size_t found = 0, n_label;

            for (size_t i = 0; i < n; i++) {
                struct attn_items_options options =
                    options_of(is_csv ? "a.csv" : NULL, data, strlen(data));
                const char *const *labels;

                options.shard = i;
                options.shards = n;
                ck_assert_int_eq(attn_items_open(&options, &items, NULL), ATTN_OK);
                while (has_next()) {
                    ck_assert_str_eq(item->err.message, "");
                    ck_assert_uint_eq(item->number, found++);
                    labels = attn_items_labels(items, &n_label);
                    ck_assert_uint_eq(n_label, 1);
                    ck_assert_str_eq(labels[0], is_csv ? "type" : "x");
                }
                release();
            }
            ck_assert_uint_eq(found, 5);
        }
}
END_TEST

START_TEST(begins_again)
{
    open_data("a.csv", "text\na\nb\n");
    for (int pass = 0; pass < 3; pass++) {
        ck_assert(attn_items_share(items) < 1);
        ck_assert(has_next());
        expect_text(&item->input, "a");
        ck_assert_uint_eq(item->number, 0);
        ck_assert_uint_eq(item->line, 2);
        ck_assert(has_next());
        ck_assert(!has_next());
        ck_assert(attn_items_share(items) == 1);
        ck_assert_int_eq(attn_items_rewind(items, NULL), ATTN_OK);
    }
    release();
}
END_TEST

/* What was looked at is still to come, and its labels are there. */
START_TEST(looks_ahead)
{
    struct attn_item *ahead;
    size_t n;

    open_data("a", "{\"text\":\"a\",\"x\":1}\n{}\n{\"text\":\"c\"}\n");
    ck_assert_int_eq(attn_items_peek(items, 3, &ahead, NULL), ATTN_OK);
    ck_assert_ptr_null(ahead);
    ck_assert_int_eq(attn_items_peek(items, 2, &ahead, NULL), ATTN_OK);
    expect_text(&ahead->input, "c");
    ck_assert_str_eq(attn_items_labels(items, &n)[0], "x");
    ck_assert(has_next());
    expect_text(&item->input, "a");
    ck_assert_int_eq(attn_items_peek(items, 0, &ahead, NULL), ATTN_OK);
    ck_assert_int_eq(ahead->failure, ATTN_REASON_NO_TEXT);
    ck_assert_int_eq(attn_items_rewind(items, NULL), ATTN_OK);
    for (size_t i = 0; i < 3; i++) {
        ck_assert(has_next());
        ck_assert_uint_eq(item->number, i);
    }
    ck_assert(!has_next());
    ck_assert_int_eq(attn_items_rewind(items, NULL), ATTN_OK);
    ck_assert_int_eq(attn_items_peek(items, 0, &ahead, NULL), ATTN_OK);
    release();
}
END_TEST

START_TEST(reads_a_pipe)
{
    static const char data[] = "text,n\n\"a\nb\",1\nc,2\n";
    struct attn_items_options options = ATTN_ITEMS_OPTIONS_DEFAULT;
    struct attn_error err = {0};
    char path[40];
    int ends[2];

    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(write(ends[1], data, sizeof data - 1), sizeof data - 1);
    close(ends[1]);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    options.path = path;
    options.form = ATTN_ITEMS_CSV;
    ck_assert_int_eq(attn_items_open(&options, &items, NULL), ATTN_OK);
    ck_assert(isnan(attn_items_share(items)));
    ck_assert(has_next());
    expect_text(&item->input, "a\nb");
    ck_assert(has_next());
    ck_assert(!has_next());
    ck_assert_int_eq(attn_items_rewind(items, &err), ATTN_INVALID);
    ck_assert_int_eq(err.stage, ATTN_STAGE_OPTIONS);
    release();
    close(ends[0]);
    ck_assert_int_eq(pipe(ends), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    options.shards = 2;
    options.form = ATTN_ITEMS_JSON_LINES;
    ck_assert_int_eq(attn_items_open(&options, &items, NULL), ATTN_INVALID);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

START_TEST(refuses_a_file_that_grows)
{
    struct attn_items_options options = ATTN_ITEMS_OPTIONS_DEFAULT;
    struct attn_error err = {0};
    char path[] = "/tmp/test_items_XXXXXX";
    const int descriptor = mkstemp(path);

    ck_assert_int_eq(write(descriptor, "{\"text\":\"a\"}\n", 13), 13);
    options.path = path;
    ck_assert_int_eq(attn_items_open(&options, &items, NULL), ATTN_OK);
    ck_assert(has_next());
    ck_assert_int_eq(write(descriptor, "{\"text\":\"b\"}\n", 13), 13);
    attn_item_free(item);
    item = NULL;
    ck_assert_int_eq(attn_items_next(items, &item, &err), ATTN_INVALID);
    ck_assert_int_eq(err.stage, ATTN_STAGE_INPUT);
    release();
    close(descriptor);
    unlink(path);
}
END_TEST

ATTN_SUITE("items", takes_all_keys, shares_what_goes_with_a_text, csv_is_what_json_lines_are,
           takes_all_keys_of_csv, chooses_the_input_that_is_asked_about,
           takes_pictures_and_pairs_of_them, parameters_name_keys_of_items,
           names_what_an_item_fails_by, keeps_what_it_can_of_an_item_that_fails,
           goes_on_after_a_record_that_cannot_be_read, passes_over_a_line_that_is_too_long,
           refuses_a_header_that_is_none, shards_have_each_item_once, begins_again, looks_ahead,
           reads_a_pipe, refuses_a_file_that_grows)
