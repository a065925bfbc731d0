/*
 * test_lens_map.c - maps of a lens: the identity, which is the logit lens, and memory that runs
 * out.
 */
#include "base/sink.h"
#include "extra.h"
#include "formats/numpy_file.h"
#include "model/config_internal.h"
#include "tables/table_internal.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/open.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WHY "tests/golden/why/"

static const int32_t ids[] = {0, 31, 18, 40, 22, 38, 21, 25, 25, 44, 18, 36};

enum { N_ID = sizeof ids / sizeof *ids };

static struct attn_request request_of(void)
{
    struct attn_request request = ATTN_REQUEST_DEFAULT;

    request.input.ids = ids;
    request.input.n_id = N_ID;
    return request;
}

/* Writes VALUE times the identity [d, d] as map of layer 0 and 1 to FOLDER. */
static void write_identity(const struct attn_host *host, const char *folder, float value)
{
    const size_t d = attn_model_config(attn_host_model(host))->d_model;
    char path[160], header[ATTN_NPY_HEADER_SIZE];
    const size_t shape[2] = {d, d};
    struct attn_error err = {0};
    struct attn_sink *sink;

    for (int layer = 0; layer < 2; layer++) {
        snprintf(path, sizeof path, "%s/%d.npy", folder, layer);
        ck_assert(attn_sink_create_file(path, &sink, &err) == ATTN_OK);
        attn_sink_write(sink, header, attn_npy_header("<f4", shape, 2, 0, header));
        for (size_t i = 0; i < d * d; i++) {
            const float number = i / d == i % d ? value : 0;

            attn_sink_write(sink, &number, sizeof number);
        }
        ck_assert(attn_sink_commit(sink, &err) == ATTN_OK);
        attn_sink_free(sink);
    }
}

static void fail_at_note(void *user, enum attn_note code, const char *message)
{
    (void)user;
    ck_abort_msg("note %d: %s", (int)code, message);
}

/* Rows of the outputs of layers have the same bytes; the logit lens has others beside them. */
static void compare_outputs(const struct attn_table *lens, const struct attn_table *logits)
{
    const size_t site = attn_table_find(logits, "site");
    size_t row = 0;

    for (size_t i = 0; i < attn_table_n_row(logits); i++) {
        const struct attn_cell cell = attn_table_cell(logits, i, site);

        if (cell.size != 10 || memcmp(cell.text, "resid_post", 10) != 0)
            continue;
        for (size_t c = 0; c < attn_table_n_column(logits); c++) {
            const struct attn_cell a = attn_table_cell(lens, row, c);
            const struct attn_cell b = attn_table_cell(logits, i, c);

            ck_assert_int_eq(a.type, b.type);
            if (a.type == ATTN_VALUE_REAL)
                ck_assert(memcmp(&a.real, &b.real, sizeof a.real) == 0);
            if (a.type == ATTN_VALUE_INTEGER)
                ck_assert_int_eq(a.integer, b.integer);
        }
        row++;
    }
    ck_assert_uint_eq(row, attn_table_n_row(lens));
}

/* Makes a folder with maps of VALUE times the identity. FOLDER is a template. */
static void make_maps(const struct attn_host *host, char *folder, float value)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    write_identity(host, folder, value);
}

static void remove_maps(const char *folder)
{
    char path[160];

    for (int layer = 0; layer < 2; layer++) {
        snprintf(path, sizeof path, "%s/%d.npy", folder, layer);
        remove(path);
    }
    rmdir(folder);
}

START_TEST(the_identity_is_the_logit_lens)
{
    static const char *const names[] = {"gpt2_sink", "qwen2", "gemma2"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct attn_request request = request_of();
        struct attn_lens_args args = ATTN_LENS_ARGS_DEFAULT;
        struct attn_table *lens, *logits;
        struct attn_error err = {0};
        char path[128], folder[] = "/tmp/attn-maps-XXXXXX";
        struct attn_host *host;

        snprintf(path, sizeof path, WHY "models/%s", names[i]);
        host = attn_open_host(path, NULL);
        make_maps(host, folder, 1);
        request.selection.queries.text = "4,-1";
        request.selection.sites = "resid_post";
        args.answer.target_id = &ids[3];
        ck_assert_msg(attn_lens(host, &request, &args, &logits, &err) == ATTN_OK, "%s",
                      err.message);
        args.map = folder;
        request.selection.sites = NULL;
        request.on_note = fail_at_note;
        ck_assert_msg(attn_lens(host, &request, &args, &lens, &err) == ATTN_OK, "%s", err.message);
        compare_outputs(lens, logits);
        attn_table_free(lens);
        attn_table_free(logits);
        remove_maps(folder);
        attn_host_free(host);
    }
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    struct attn_host *host = attn_open_host(WHY "models/gpt2_sink", NULL);
    char folder[] = "/tmp/attn-maps-XXXXXX";
    enum attn_status status = ATTN_NO_MEMORY;
    struct attn_request request = request_of();
    struct attn_lens_args args = ATTN_LENS_ARGS_DEFAULT;
    struct attn_table *table = NULL;
    struct attn_error err = {0};

    make_maps(host, folder, 2);
    args.map = folder;
    for (long n = 0; status != ATTN_OK; n++) {
        attn_alloc_fail_at(n);
        status = attn_lens(host, &request, &args, &table, &err);
        attn_alloc_fail_off();
        ck_assert_msg(status == ATTN_OK || status == ATTN_NO_MEMORY, "%s", err.message);
    }
    attn_table_free(table);
    remove_maps(folder);
    attn_host_free(host);
}
END_TEST

ATTN_SUITE("lens_map", the_identity_is_the_logit_lens, every_allocation_may_fail)
