/* test_microgpt.c - a microgpt in one JSON file: its tensors and gradients in float64, its letters,
 * and what is refused. tests/tools/make_microgpt_fixture.py makes what is expected. */
#include "extra.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/folder.h"
#include "tests/support/kept.h"
#include "tests/support/npy.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char fixture[] = "tests/fixtures/microgpt/model.json";

/* --- float64 ---------------------------------------------------------------------------------- */

static struct attn_capture *run_fixture(struct attn_host **host)
{
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_answer_args answer = {.target = "d", .foil = "b"};
    struct attn_capture *capture = NULL;
    struct attn_result result = {0};
    struct attn_error err = {0};

    request.input.text = "egga", request.input.n_text = 4;
    request.selection.sites = "*";
    request.selection.has_gradients = true;
    request.selection.gradients_of = &answer;
    ck_assert_msg(attn_host_open(fixture, NULL, host, &err) == ATTN_OK &&
                      attn_run_capture(*host, &request, &capture, &result, &err) == ATTN_OK,
                  "%s", err.message);
    attn_result_release(&result);
    return capture;
}

/* Returns whether the archive has SITE of LAYER, after comparing it. */
static bool check_site(const struct attn_capture *capture, enum attn_site site, int layer)
{
    char path[128], name[ATTN_SITE_ARCHIVE_NAME_SIZE];
    const float *found = attn_kept(capture, site, layer);
    struct attn_npy expected;
    double largest = 0;

    attn_site_archive_name(site, layer, name);
    snprintf(path, sizeof path, "tests/fixtures/microgpt/expected.npz/%s.npy", name);
    if (!found || !attn_npy_read(path, &expected))
        return false;
    for (size_t i = 0; i < expected.n; i++)
        largest = fmax(largest, fabs(expected.values[i]));
    for (size_t i = 0; i < expected.n; i++)
        ck_assert_msg(fabs((double)found[i] - expected.values[i]) <= 3e-6 * largest,
                      "%s, element %zu: %.9g, expected %.17g", name, i, (double)found[i],
                      expected.values[i]);
    attn_npy_release(&expected);
    return true;
}

START_TEST(tensors_and_gradients_are_those_of_float64)
{
    struct attn_host *host = NULL;
    struct attn_capture *capture = run_fixture(&host);
    size_t n = 0;

    for (int site = 0; site < ATTN_N_SITE; site++)
        for (int layer = ATTN_NO_LAYER; layer < 2; layer++)
            n += check_site(capture, (enum attn_site)site, layer);
    ck_assert_uint_eq(n, 2 * (2 + 2 * 5));
    attn_capture_free(capture);
    attn_host_free(host);
}
END_TEST

/* --- letters ---------------------------------------------------------------------------------- */

/* A model of three tokens and two positions, which begins with MEMBERS. */
static enum attn_status open_small(const char *members, struct attn_host **host,
                                   struct attn_error *err)
{
    char text[1024];

    snprintf(text, sizeof text,
             "{%s, \"weights\": {\"wte\": [[1, 0], [0, 1], [1, 1]], \"wpe\": [[0, 1], [2, 3]], "
             "\"layer0.attn_wq\": [[1, 0], [0, 1]], \"layer0.attn_wk\": [[1, 0], [0, 1]], "
             "\"layer0.attn_wv\": [[1, 0], [0, 1]], \"layer0.attn_wo\": [[1, 0], [0, 1]], "
             "\"layer0.mlp_fc1\": [[1, 0]], \"layer0.mlp_fc2\": [[1], [0]]}}",
             members);
    attn_folder_write("m.json", text, strlen(text));
    return attn_host_open("m.json", NULL, host, err);
}

START_TEST(letters_have_the_ids_of_every_way_to_save_them)
{
    static const struct {
        const char *members;
        int32_t ids[3]; /* of the text "ba" */
    } rows[] = {
        {"\"n_head\": 1, \"uchars\": [\"a\", \"b\"]", {2, 1, 0}},
        {"\"n_head\": 1, \"uchars\": \"ba\"", {2, 0, 1}},
        {"\"config\": {\"n_head\": 2}, \"chars\": [\"<BOS>\", \"a\", \"b\"]", {0, 2, 1}},
        {"\"n_head\": 1, \"chars\": [\"a\", \"b\"]", {2, 1, 0}},
        {"\"n_head\": 1, \"tokenizer\": {\"chars\": [\"a\", \"b\"], \"BOS\": 2}", {2, 1, 0}},
        {"\"n_head\": 1, \"tokenizer\": {\"chars\": [\"a\", \"<s>\", \"b\"], \"BOS\": 1}",
         {1, 2, 0}},
        {"\"n_head\": 1, \"tokenizer\": {\"chars\": \"ab\"}", {2, 1, 0}},
    };

    attn_folder_enter();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct attn_encoding encoding = {0};
        const struct attn_tokenizer *tokenizer = NULL;
        struct attn_host *host = NULL;
        struct attn_error err = {0};

        ck_assert_msg(open_small(rows[i].members, &host, &err) == ATTN_OK &&
                          attn_host_tokenizer(host, &tokenizer, &err) == ATTN_OK &&
                          attn_tokenizer_encode(tokenizer, "ba", 2, &ATTN_ENCODE_DEFAULT, &encoding,
                                                &err) == ATTN_OK,
                      "%s: %s", rows[i].members, err.message);
        ck_assert_uint_eq(encoding.n, 3);
        ck_assert_mem_eq(encoding.ids, rows[i].ids, sizeof rows[i].ids);
        attn_encoding_release(&encoding);
        attn_host_free(host);
    }
    attn_folder_leave();
}
END_TEST

/* --- refused ---------------------------------------------------------------------------------- */

/* A change of the fixture's text: FROM, which it has, becomes TO. */
static const struct {
    const char *from, *to, *message;
} changes[] = {
    {"\"state_dict\"", "\"parameters\"",
     "'m.json' has neither 'state_dict' nor 'weights', an object with the matrices of microgpt"},
    {"\"wte\"", "\"wt\"", "'wte' is missing or empty in 'm.json'"},
    {"\"lm_head\"", "\"rms_final\"", "'rms_final' in 'm.json' is no matrix of microgpt"},
    {"\"layer1.mlp_fc2\"", "\"layer1.mlp_gate\"",
     "'layer1.mlp_gate' in 'm.json' is no matrix of microgpt"},
    {"\"layer0.attn_wq\"", "\"layer9.attn_wq\"",
     "'layer9.attn_wq' in 'm.json' is no matrix of microgpt"},
    {"\"layer1.attn_wq\"", "\"layer2.attn_wq\"", "'layer1.attn_wq' is missing in 'm.json'"},
    {"\"layer0.attn_wo\": [", "\"layer0.attn_wo\": [[1, 2, 3, 4, 5, 6], ",
     "'layer0.attn_wo' in 'm.json' is not a list of 6 rows of 6 numbers: row 6 is another"},
    {"\"layer0.attn_wo\": [[", "\"layer0.attn_wo\": [[0, ",
     "'layer0.attn_wo' in 'm.json' is not a list of 6 rows of 6 numbers: row 0 is another"},
    {"\"layer0.attn_wk\": [[", "\"layer0.attn_wk\": 7, \"x\": [[", "is no matrix of microgpt"},
    {"\"n_head\": 2", "\"n_head\": 4",
     "'n_head' in 'm.json' is 4, expected a divisor of 6, the width of 'wte'"},
    {"\"n_head\": 2", "\"n_heads\": 2",
     "'n_head' in 'm.json' is missing and taken to be 4, expected a divisor of 6"},
    {"\"n_head\": 2", "\"n_head\": 0", "'n_head' in 'm.json' is 0, expected an integer from 1"},
    {"\"relu2\"", "\"swish\"", "'act_fn' in 'm.json' is 'swish', expected 'relu' or 'relu2'"},
    {"\"a\", ", "", "'uchars' in 'm.json' makes 7 tokens, of which BOS is 6, expected 8"},
    {"\"b\"", "\"bb\"", "item 1 of 'uchars' in 'm.json' is not one letter"},
};

static void write_changed(const char *text, size_t size, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    char changed[16384];
    int n;

    ck_assert_ptr_nonnull(at);
    n = snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, to,
                 at + strlen(from));
    ck_assert((size_t)n < sizeof changed && (size_t)n == size - strlen(from) + strlen(to));
    attn_folder_write("m.json", changed, (size_t)n);
}

START_TEST(other_models_and_wrong_files_are_refused_by_name)
{
    char text[16384];
    FILE *file = fopen(fixture, "r");
    size_t size = fread(text, 1, sizeof text - 1, file);

    fclose(file);
    text[size] = '\0';
    attn_folder_enter();
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct attn_host *host = NULL;
        struct attn_error err = {0};

        write_changed(text, size, changes[i].from, changes[i].to);
        ck_assert_msg(attn_host_open("m.json", NULL, &host, &err) != ATTN_OK, "'%s'",
                      changes[i].to);
        ck_assert_msg(strstr(err.message, changes[i].message), "'%s' gives: %s", changes[i].to,
                      err.message);
    }
    attn_folder_leave();
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    enum attn_status status = ATTN_NO_MEMORY;

    struct attn_host *host = NULL;

    attn_folder_enter();
    ck_assert(open_small("\"n_head\": 1, \"uchars\": \"ab\"", &host, NULL) == ATTN_OK);
    attn_host_free(host);
    for (long n = 0; status != ATTN_OK; n++) {
        host = NULL;
        attn_alloc_fail_at(n);
        status = attn_host_open("m.json", NULL, &host, NULL);
        attn_alloc_fail_off();
        ck_assert(status == ATTN_OK || status == ATTN_NO_MEMORY);
        attn_host_free(host);
    }
    attn_folder_leave();
}
END_TEST

ATTN_SUITE("microgpt", tensors_and_gradients_are_those_of_float64,
           letters_have_the_ids_of_every_way_to_save_them,
           other_models_and_wrong_files_are_refused_by_name, every_allocation_may_fail)
