/*
 * test_proteins.c - ESM as a C program runs it: logits and contacts are those of float64, with the
 * same bits for any threads; records of FASTA are read whole, wherever a buffer or a shard ends.
 */
#include "extra.h"
#include "stream/batch_lines.h"
#include "tests/support/kept.h"
#include "tests/support/npy.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char folder[] = "tests/fixtures/proteins";
static const int prompts[] = {0, 1, 3}; /* a protein, one with masks, one with an inner <eos> */
enum { N_PROMPT = sizeof prompts / sizeof *prompts };

/* Logits and contacts of IDS [n] on N_THREAD threads; the caller frees *capture. */
static void run(const int32_t *ids, size_t n, int n_thread, struct attn_capture **capture)
{
    const struct attn_source source = {.directory = folder};
    struct attn_host_options options = ATTN_HOST_OPTIONS_DEFAULT;
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_result result = {0};
    struct attn_error err = {0};
    struct attn_host *host;

    options.n_thread = n_thread;
    request.input.ids = ids, request.input.n_id = n;
    request.selection.sites = "logits,contacts";
    ck_assert_msg(attn_host_create(&source, &options, &host, &err) == ATTN_OK, "%s", err.message);
    ck_assert_msg(attn_run_capture(host, &request, capture, &result, &err) == ATTN_OK, "%s",
                  err.message);
    attn_result_release(&result);
    attn_host_free(host);
}

/* The path of the array NAME of the expected ones. */
static const char *path_of(const char *name, int prompt)
{
    static char path[100];

    snprintf(path, sizeof path, "%s/expected.npz/%s_%d.npy", folder, name, prompt);
    return path;
}

static void assert_near(const struct attn_capture *capture, enum attn_site site, int prompt,
                        double bound)
{
    const float *found = attn_kept(capture, site, ATTN_NO_LAYER);
    struct attn_npy expected;

    ck_assert(attn_npy_read(path_of(attn_site_name(site), prompt), &expected));
    for (size_t i = 0; i < expected.n; i++)
        ck_assert_msg(fabs((double)found[i] - expected.values[i]) < bound,
                      "%s of prompt %d at %zu: %g, not %g", attn_site_name(site), prompt, i,
                      (double)found[i], expected.values[i]);
    attn_npy_release(&expected);
}

START_TEST(logits_and_contacts_are_those_of_float64)
{
    for (int i = 0; i < N_PROMPT; i++) {
        struct attn_capture *capture;
        size_t n;
        int32_t *ids = attn_npy_read_ids(path_of("ids", prompts[i]), &n);

        run(ids, n, 1, &capture);
        assert_near(capture, ATTN_SITE_LOGITS, prompts[i], 9e-5);
        assert_near(capture, ATTN_SITE_CONTACTS, prompts[i], 9e-6);
        attn_capture_free(capture);
        free(ids);
    }
}
END_TEST

START_TEST(contacts_are_symmetric_and_do_not_depend_on_threads)
{
    int32_t ids[300];
    const size_t n = sizeof ids / sizeof *ids, n_residue = n - 2;
    struct attn_capture *first, *other;
    const float *contacts, *same;

    for (size_t i = 0; i < n; i++) /* some columns of every task of the sums are of <eos> */
        ids[i] = i == 0 ? 0 : i + 1 == n || i % 67 == 0 ? 2 : (int32_t)(4 + i * 7 % 20);
    run(ids, n, 1, &first);
    contacts = attn_kept(first, ATTN_SITE_CONTACTS, ATTN_NO_LAYER);
    for (int n_thread = 2; n_thread <= 4; n_thread += 2) {
        run(ids, n, n_thread, &other);
        same = attn_kept(other, ATTN_SITE_CONTACTS, ATTN_NO_LAYER);
        ck_assert_int_eq(memcmp(contacts, same, n_residue * n_residue * sizeof *same), 0);
        attn_capture_free(other);
    }
    for (size_t i = 0; i < n_residue; i++)
        for (size_t j = 0; j < n_residue; j++)
            ck_assert(contacts[i * n_residue + j] == contacts[j * n_residue + i]);
    for (size_t j = 0; j < n_residue; j++) /* the row of an inner <eos> */
        ck_assert(contacts[66 * n_residue + j] == contacts[66 * n_residue]);
    attn_capture_free(first);
}
END_TEST

/* --- FASTA ------------------------------------------------------------------------------------ */

static const char fasta[] =
    "\xef\xbb\xbf; of a program\r\nnot read\r\n>sp|P1| the \"first\"\r\nMK T\r\n"
    ";note\r\nAY*\r\n>\r\n> no id\nM>K\n>empty\n\n>last\nQ";
static const char *const records[] = {
    "{\"id\": \"sp|P1|\", \"description\": \"the \\\"first\\\"\", \"text\": \"MKTAY\"}",
    "{\"ids\": []}", "{\"description\": \"no id\", \"text\": \"M>K\"}",
    "{\"id\": \"empty\", \"ids\": []}", "{\"id\": \"last\", \"text\": \"Q\"}"};
enum { N_RECORD = sizeof records / sizeof *records };

/* Reads DATA by OPTIONS and compares its records with EXPECTED from the one with number AT on;
 * returns the number of the next. */
static size_t read_records(const struct attn_batch_lines_options *options, size_t at)
{
    struct attn_batch_line line = {.size = 0};
    struct attn_batch_lines *lines;
    struct attn_error err = {0};
    bool is_over;

    ck_assert_msg(attn_batch_lines_open(options, &lines, &err) == ATTN_OK, "%s", err.message);
    for (;; at++) {
        ck_assert_msg(attn_batch_lines_next(lines, &line, &is_over, &err) == ATTN_OK, "%s",
                      err.message);
        if (is_over)
            break;
        ck_assert_uint_lt(at, N_RECORD);
        ck_assert_int_eq(line.text.size, strlen(records[at]));
        ck_assert_int_eq(memcmp(line.text.data, records[at], line.text.size), 0);
    }
    attn_batch_line_release(&line);
    attn_batch_lines_free(lines);
    return at;
}

START_TEST(records_of_fasta_are_objects)
{
    const struct attn_batch_lines_options options = {
        .data = fasta, .n_data = sizeof fasta - 1, .is_fasta = true, .max_line = 1000};

    ck_assert_uint_eq(read_records(&options, 0), N_RECORD);
}
END_TEST

START_TEST(records_of_fasta_go_on_in_the_next_buffer)
{
    enum { BUFFER = 1 << 18 };
    char *data = malloc(BUFFER + 64);

    for (size_t n = BUFFER - 24; n < BUFFER + 8; n++) { /* letters before the second record */
        struct attn_batch_line line = {.size = 0};
        struct attn_batch_lines *lines;
        struct attn_error err = {0};
        bool is_over;

        memcpy(data, ">a\n", 3);
        memset(data + 3, 'K', n);
        memcpy(data + 3 + n, "\n>b\nMK\n", 8);
        const struct attn_batch_lines_options options = {
            .data = data, .n_data = n + 10, .may_be_fasta = true, .max_line = 1 << 20};

        ck_assert_int_eq(attn_batch_lines_open(&options, &lines, &err), ATTN_OK);
        ck_assert_int_eq(attn_batch_lines_next(lines, &line, &is_over, &err), ATTN_OK);
        ck_assert_uint_eq(line.text.size, n + sizeof "{\"id\": \"a\", \"text\": \"\"}" - 1);
        ck_assert_int_eq(attn_batch_lines_next(lines, &line, &is_over, &err), ATTN_OK);
        ck_assert_int_eq(memcmp(line.text.data, "{\"id\": \"b\", \"text\": \"MK\"}", 25), 0);
        ck_assert_int_eq(attn_batch_lines_next(lines, &line, &is_over, &err), ATTN_OK);
        ck_assert(is_over);
        attn_batch_line_release(&line);
        attn_batch_lines_free(lines);
    }
    free(data);
}
END_TEST

ATTN_SUITE("proteins", logits_and_contacts_are_those_of_float64,
           contacts_are_symmetric_and_do_not_depend_on_threads, records_of_fasta_are_objects,
           records_of_fasta_go_on_in_the_next_buffer)
