/*
 * test_output_npz.c - NPZ archives read back by a small reader of this file's own, which trusts
 * nothing: records, offsets, checksums bit by bit, NPY headers, and every number.
 */
#include "base/sink_internal.h"
#include "formats/numpy_file.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/made_up_run.h"
#include "tests/support/suite.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct attn_dims small = {
    .n_layer = 3,
    .n_head = 4,
    .n_kv_head = 2,
    .d_model = 7,
    .d_head = 2,
    .d_value = 3,
    .d_mlp = 5,
    .n_vocab = 11,
    .n_position = 6,
    .n_rank = 5,
};

static const char *const words[ATTN_MADE_UP_MAX] = {"Life",  "is",      "\xe7\x8c\xab",
                                                    "a\x1b", "dessert", "first"};

static struct attn_made_up_run made;

/* --- Writing --------------------------------------------------------------------------------- */

struct archive {
    unsigned char *bytes; /* owned */
    size_t size;
};

enum { TO_MEMORY, TO_STREAM };

/* Plays the run in blocks of N_ROW, or in feeds of STEP when not 0, to a sink that can seek or
 * cannot. */
static struct archive write_archive(int to, size_t n_row, size_t step)
{
    struct attn_error err = {0};
    struct archive archive;
    struct attn_writer *writer;
    struct attn_sink *sink;
    FILE *file = tmpfile();

    ck_assert_ptr_nonnull(file);
    if (to == TO_MEMORY)
        ck_assert_int_eq(attn_sink_create_memory(&sink, &err), ATTN_OK);
    else
        ck_assert_int_eq(attn_sink_create_descriptor(fileno(file), "stream", &sink, &err), ATTN_OK);
    ck_assert(attn_sink_is_seekable(sink) == (to == TO_MEMORY));
    ck_assert_int_eq(attn_writer_create_sink(attn_format_find("npz"), sink, &made.run,
                                             &ATTN_WRITER_OPTIONS_DEFAULT, &writer, &err),
                     ATTN_OK);
    ck_assert_msg((step ? attn_made_up_run_play_steps(&made, writer, step, &err)
                        : attn_made_up_run_play(&made, writer, n_row, &err)) == ATTN_OK,
                  "%s", err.message);
    ck_assert_int_eq(attn_writer_finish(writer, &err), ATTN_OK);
    attn_writer_free(writer);
    if (to == TO_MEMORY) {
        const void *bytes = attn_sink_bytes(sink, &archive.size);

        archive.bytes = malloc(archive.size);
        memcpy(archive.bytes, bytes, archive.size);
    } else {
        ck_assert_int_eq(attn_sink_commit(sink, &err), ATTN_OK);
        archive.size = (size_t)lseek(fileno(file), 0, SEEK_END);
        archive.bytes = malloc(archive.size);
        ck_assert_int_eq(pread(fileno(file), archive.bytes, archive.size, 0),
                         (ssize_t)archive.size);
    }
    attn_sink_free(sink);
    fclose(file);
    return archive;
}

/* --- Reading --------------------------------------------------------------------------------- */

static uint64_t number_at(const unsigned char *bytes, int n_byte)
{
    uint64_t value = 0;

    for (int i = n_byte; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

/* The definition: one bit at a time. */
static uint32_t slow_crc(const unsigned char *bytes, size_t n)
{
    uint32_t sum = UINT32_MAX;

    for (size_t i = 0; i < n; i++) {
        sum ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            sum = sum & 1 ? sum >> 1 ^ 0xedb88320 : sum >> 1;
    }
    return ~sum;
}

struct member {
    char name[80];
    char header[200]; /* the text of the NPY header */
    const unsigned char *data;
    size_t size; /* of data */
};

/* Member I of an archive without zip64; checks all its records. False past the last. */
static bool read_member(const struct archive *archive, size_t index, struct member *member)
{
    const unsigned char *end = archive->bytes + archive->size - 22, *central, *local, *npy;
    size_t name_size, header_size, size;
    bool is_described;

    ck_assert_uint_eq(number_at(end, 4), 0x06054b50);
    if (index >= number_at(end + 10, 2))
        return false;
    central = archive->bytes + number_at(end + 16, 4);
    ck_assert(central + number_at(end + 12, 4) == end);
    for (size_t i = 0; i < index; i++)
        central += 46 + number_at(central + 28, 2) + number_at(central + 30, 2);
    ck_assert_uint_eq(number_at(central, 4), 0x02014b50);
    local = archive->bytes + number_at(central + 42, 4);
    ck_assert_uint_eq(number_at(local, 4), 0x04034b50);
    /* version to name length are the same in both records, CRC and sizes of a stream aside */
    is_described = number_at(local + 6, 2) == 8;
    ck_assert_int_eq(memcmp(local + 4, central + 6, is_described ? 10 : 24), 0);
    ck_assert_int_eq(memcmp(local + 26, central + 28, 2), 0);
    ck_assert_uint_eq(number_at(local + 8, 2), 0);           /* stored */
    ck_assert_uint_eq(number_at(local + 10, 4), 0x00210000); /* 1980-01-01 00:00 */
    name_size = number_at(local + 26, 2);
    ck_assert_uint_lt(name_size, sizeof member->name);
    memcpy(member->name, local + 30, name_size);
    member->name[name_size] = '\0';
    ck_assert_int_eq(memcmp(local + 30, central + 46, name_size), 0);
    npy = local + 30 + name_size + number_at(local + 28, 2);
    size = number_at(central + 20, 4);
    ck_assert_uint_eq(number_at(central + 24, 4), size);
    ck_assert_uint_eq(slow_crc(npy, size), number_at(central + 16, 4));
    if (is_described) { /* zeros in the local header; after the content what they should be */
        ck_assert_uint_eq(number_at(local + 14, 8) + number_at(local + 22, 4), 0);
        ck_assert_uint_eq(number_at(npy + size, 4), 0x08074b50);
        ck_assert_int_eq(memcmp(npy + size + 4, central + 16, 12), 0);
    }

    ck_assert_int_eq(memcmp(npy, "\x93NUMPY\x01\x00", 8), 0);
    header_size = 10 + number_at(npy + 8, 2);
    ck_assert_uint_eq(header_size % 64, 0);
    ck_assert_int_eq(npy[header_size - 1], '\n');
    snprintf(member->header, sizeof member->header, "%.*s", (int)(header_size - 10),
             (const char *)npy + 10);
    member->header[strcspn(member->header, "}") + 1] = '\0';
    member->data = npy + header_size;
    member->size = size - header_size;
    return true;
}

static struct member find_member(const struct archive *archive, const char *name)
{
    struct member member;

    for (size_t i = 0; read_member(archive, i, &member); i++)
        if (strcmp(member.name, name) == 0)
            return member;
    ck_abort_msg("there is no '%s'", name);
    return member;
}

static void ck_assert_header(const struct archive *archive, const char *name, const char *dtype,
                             const char *shape)
{
    char expected[200];

    snprintf(expected, sizeof expected, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
             dtype, shape);
    ck_assert_str_eq(find_member(archive, name).header, expected);
}

/* Every number of a tensor, for all rows and the given heads. */
static void ck_assert_tensor(const struct archive *archive, enum attn_site site, int layer,
                             const int *heads, size_t n_head)
{
    char name[ATTN_SITE_ARCHIVE_NAME_SIZE], file[ATTN_SITE_ARCHIVE_NAME_SIZE + 4];
    const enum attn_site_layout layout = attn_site_layout(site);
    bool is_matrix =
        layout == ATTN_LAYOUT_MATRIX || layout == ATTN_LAYOUT_RANK || layout == ATTN_LAYOUT_HEADS;
    size_t width = attn_site_width(site, &made.dims), n_row = made.dims.n_position, i = 0;
    struct member member;

    attn_site_archive_name(site, layer, name);
    snprintf(file, sizeof file, "%s.npy", name);
    member = find_member(archive, file);
    ck_assert_uint_eq(member.size, n_head * n_row * width * sizeof(float));
    for (size_t a = 0; a < (is_matrix ? n_head : n_row); a++)
        for (size_t b = 0; b < (is_matrix ? n_row : n_head); b++)
            for (size_t col = 0; col < width; col++, i++) {
                size_t row = is_matrix ? b : a;
                int head = heads[is_matrix ? a : b];
                float expected = attn_made_up_value(site, layer, head, row, col), actual;

                memcpy(&actual, member.data + i * sizeof actual, sizeof actual);
                ck_assert_msg(actual == expected,
                              "%s: head %d, row %zu, column %zu is %g, expected %g", name, head,
                              row, col, (double)actual, (double)expected);
            }
}

static void set_up(void)
{
    attn_made_up_run_init(&made, &small, words);
}

static void tear_down(struct archive *archive)
{
    free(archive->bytes);
    attn_made_up_run_release(&made);
}

/* --- Tests ----------------------------------------------------------------------------------- */

static const int no_head[] = {ATTN_ALL_HEADS}, all_heads[] = {0, 1, 2, 3}, kv_heads[] = {0, 1};

static void ck_assert_everything(const struct archive *archive)
{
    for (int layer = 0; layer < (int)small.n_layer; layer++)
        for (int site = 0; site < ATTN_N_SITE; site++) {
            if (!attn_site_is_in_layer(site) || !attn_sites_have(made.dims.sites, site))
                continue;
            if (!attn_site_has_heads(site))
                ck_assert_tensor(archive, site, layer, no_head, 1);
            else if (attn_site_layout(site) == ATTN_LAYOUT_KEY)
                ck_assert_tensor(archive, site, layer, kv_heads, small.n_kv_head);
            else
                ck_assert_tensor(archive, site, layer, all_heads, small.n_head);
        }
    ck_assert_tensor(archive, ATTN_SITE_EMBED, ATTN_NO_LAYER, no_head, 1);
    ck_assert_tensor(archive, ATTN_SITE_LN_FINAL, ATTN_NO_LAYER, no_head, 1);
    ck_assert_tensor(archive, ATTN_SITE_LOGITS, ATTN_NO_LAYER, no_head, 1);
}

START_TEST(holds_every_tensor_exactly)
{
    struct archive archive;
    struct member member;
    size_t n = 0;

    set_up();
    attn_made_up_run_select(&made, "*", "all", "all");
    archive = write_archive(TO_MEMORY, SIZE_MAX, 0);
    while (read_member(&archive, n, &member))
        n++;
    ck_assert_uint_eq(n, 2 + attn_made_up_run_n_tensor(&made));
    ck_assert_everything(&archive);
    ck_assert_header(&archive, "blocks.2.attn.hook_pattern.npy", "<f4", "(4, 6, 6)");
    ck_assert_header(&archive, "blocks.2.attn.hook_pattern_lowrank.npy", "<f4", "(4, 6, 5)");
    ck_assert_header(&archive, "blocks.0.attn.hook_z.npy", "<f4", "(6, 4, 3)");
    ck_assert_header(&archive, "blocks.0.attn.hook_k.npy", "<f4", "(6, 2, 2)");
    ck_assert_header(&archive, "blocks.1.hook_resid_post.npy", "<f4", "(6, 7)");
    ck_assert_header(&archive, "logits.npy", "<f4", "(6, 11)");
    tear_down(&archive);
}
END_TEST

START_TEST(ids_and_tokens_come_first)
{
    struct archive archive;
    struct member member;
    uint32_t letters[7];

    set_up();
    archive = write_archive(TO_MEMORY, SIZE_MAX, 0);
    ck_assert(read_member(&archive, 0, &member));
    ck_assert_str_eq(member.name, "ids.npy");
    ck_assert_header(&archive, "ids.npy", "<i8", "(6,)");
    for (size_t i = 0; i < 6; i++)
        ck_assert_uint_eq(number_at(member.data + 8 * i, 8), i + 10);
    ck_assert(read_member(&archive, 1, &member));
    ck_assert_str_eq(member.name, "tokens.npy");
    ck_assert_header(&archive, "tokens.npy", "<U7", "(6,)"); /* "dessert" */
    memcpy(letters, member.data + 2 * sizeof letters, sizeof letters);
    ck_assert_uint_eq(letters[0], 0x732b);
    ck_assert_uint_eq(letters[1], 0);
    memcpy(letters, member.data + 3 * sizeof letters, sizeof letters); /* a\x1b */
    ck_assert_uint_eq(letters[1], '\\');
    ck_assert_uint_eq(letters[4], 'b');
    tear_down(&archive);
}
END_TEST

START_TEST(blocks_and_feeds_give_the_same_bytes)
{
    for (int to = TO_MEMORY; to <= TO_STREAM; to++) {
        struct archive archive;

        set_up();
        attn_made_up_run_select(&made, "*", "all", "all");
        archive = write_archive(to, SIZE_MAX, 0);
        ck_assert_everything(&archive);
        for (size_t i = 1; i <= 5; i++) {
            struct archive other = write_archive(to, i % 2 ? i : SIZE_MAX, i % 2 ? 0 : i);

            /* rows of qk that were fed early never saw the later keys */
            if (i % 2 == 0)
                ck_assert_tensor(&other, ATTN_SITE_PATTERN, 1, all_heads, 4);
            else
                ck_assert(other.size == archive.size &&
                          memcmp(other.bytes, archive.bytes, archive.size) == 0);
            free(other.bytes);
        }
        tear_down(&archive);
    }
}
END_TEST

START_TEST(streams_describe_their_members_afterwards)
{
    struct archive archive;
    struct attn_zip_entry entry = {.name = "x.npy", .size = 5, .crc = 7, .is_described = true};
    unsigned char record[ATTN_ZIP_RECORD_SIZE];

    set_up();
    archive = write_archive(TO_STREAM, 2, 0);
    ck_assert_uint_eq(number_at(archive.bytes + 6, 2), 8); /* the flag */
    tear_down(&archive);
    ck_assert_uint_eq(attn_zip_description(&entry, record), 16);
    entry.size = UINT64_C(5000000000);
    ck_assert_uint_eq(attn_zip_local_header(&entry, record), 30 + 5 + 20);
    ck_assert_uint_eq(number_at(record + 18, 8), UINT64_MAX);
    ck_assert_uint_eq(number_at(record + 39, 8), 0);
    ck_assert_uint_eq(attn_zip_description(&entry, record), 24);
    ck_assert_uint_eq(number_at(record + 4, 4), 7);
    ck_assert_uint_eq(number_at(record + 8, 8), entry.size);
    ck_assert_uint_eq(number_at(record + 16, 8), entry.size);
}
END_TEST

START_TEST(long_rows_wait_in_pieces)
{
    struct attn_dims dims = small;
    struct archive archive;

    dims.d_mlp = 40000; /* a piece holds two rows of these, a block has three */
    attn_made_up_run_init(&made, &dims, words);
    attn_made_up_run_select(&made, "resid_mid,mlp_pre", "all", "all");
    archive = write_archive(TO_STREAM, 3, 0);
    for (int layer = 0; layer < (int)small.n_layer; layer++)
        ck_assert_tensor(&archive, ATTN_SITE_MLP_PRE, layer, no_head, 1);
    tear_down(&archive);
}
END_TEST

START_TEST(keys_that_did_not_exist_yet_are_masked)
{
    struct archive archive;
    struct member member;
    float value;

    set_up();
    attn_made_up_run_select(&made, "qk,attn_scores,pattern", "all", "all");
    archive = write_archive(TO_MEMORY, 0, 2);
    ck_assert_tensor(&archive, ATTN_SITE_PATTERN, 2, all_heads, 4);
    ck_assert_tensor(&archive, ATTN_SITE_ATTN_SCORES, 2, all_heads, 4);
    member = find_member(&archive, "blocks.0.attn.hook_qk.npy");
    memcpy(&value, member.data + 1 * sizeof value, sizeof value); /* fed with row 0 */
    ck_assert(isfinite(value));
    memcpy(&value, member.data + 2 * sizeof value, sizeof value); /* it was not computed */
    ck_assert(isnan(value));
    tear_down(&archive);
}
END_TEST

START_TEST(a_selection_says_what_it_holds)
{
    static const uint64_t expected[] = {1, 3};
    struct archive archive;
    struct member member;

    set_up();
    attn_made_up_run_select(&made, "pattern,z,v,resid_pre", "1.1,1.3,2.0", "1,4-5");
    archive = write_archive(TO_MEMORY, 2, 0);
    ck_assert_header(&archive, "queries.npy", "<i8", "(3,)");
    ck_assert_header(&archive, "blocks.1.heads.npy", "<i8", "(2,)");
    ck_assert_header(&archive, "blocks.2.heads.npy", "<i8", "(1,)");
    ck_assert_header(&archive, "blocks.1.attn.hook_pattern.npy", "<f4", "(2, 3, 6)");
    ck_assert_header(&archive, "blocks.1.attn.hook_z.npy", "<f4", "(3, 2, 3)");
    ck_assert_header(&archive, "blocks.1.attn.hook_v.npy", "<f4", "(6, 2, 3)");
    ck_assert_header(&archive, "blocks.2.attn.hook_v.npy", "<f4", "(6, 1, 3)");
    member = find_member(&archive, "queries.npy");
    ck_assert_uint_eq(number_at(member.data + 16, 8), 5);
    member = find_member(&archive, "blocks.1.heads.npy");
    for (size_t i = 0; i < 2; i++)
        ck_assert_uint_eq(number_at(member.data + i * 8, 8), expected[i]);
    member = find_member(&archive, "blocks.1.attn.hook_pattern.npy");
    for (size_t h = 0; h < 2; h++) {
        float value, wanted = attn_made_up_value(ATTN_SITE_PATTERN, 1, h ? 3 : 1, 4, 2);

        memcpy(&value, member.data + ((h * 3 + 1) * 6 + 2) * sizeof value, sizeof value);
        ck_assert(value == wanted);
    }
    tear_down(&archive);
}
END_TEST

START_TEST(nothing_selected_narrowly_needs_no_extra_arrays)
{
    struct archive archive;
    struct member member;

    set_up();
    made.run.ids = NULL, made.run.tokens = NULL, made.run.token_sizes = NULL;
    attn_made_up_run_select(&made, "pattern", "all", "all");
    archive = write_archive(TO_STREAM, SIZE_MAX, 0);
    ck_assert(read_member(&archive, 0, &member));
    ck_assert_str_eq(member.name, "blocks.0.attn.hook_pattern.npy");
    ck_assert(!read_member(&archive, small.n_layer, &member));
    tear_down(&archive);
}
END_TEST

START_TEST(checksums_do_not_depend_on_the_order_of_pieces)
{
    struct attn_crc32 crc;
    unsigned char bytes[1000];
    uint32_t sum = attn_crc32_begin(9);

    attn_crc32_init(&crc);
    sum ^= attn_crc32_piece(&crc, "6789", 4, 0);
    sum ^= attn_crc32_piece(&crc, "12345", 5, 4);
    ck_assert_uint_eq(sum, 0xcbf43926); /* the check value of CRC-32 */
    ck_assert_uint_eq(attn_crc32_begin(0), 0);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * i >> 3);
    for (size_t n = 0; n <= sizeof bytes; n += 37) {
        sum = attn_crc32_begin(n);
        for (size_t at = n; at > 0;) { /* from the end, in pieces of awkward sizes */
            size_t size = at < 23 ? at : 23;

            at -= size;
            sum ^= attn_crc32_piece(&crc, bytes + at, size, n - at - size);
        }
        ck_assert_uint_eq(sum, slow_crc(bytes, n));
    }
}
END_TEST

START_TEST(checksums_are_right_for_every_length_and_alignment)
{
    struct attn_crc32 crc;
    unsigned char bytes[400];

    attn_crc32_init(&crc);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 2654435761U >> 13);
    for (int pass = 0; pass < 2; pass++, crc.has_folding = false) /* as it is; then without */
        for (size_t n = 0; n <= 330; n++)
            for (size_t at = 0; at < 20; at += 1 + n % 5)
                ck_assert_uint_eq(attn_crc32_begin(n) ^ attn_crc32_piece(&crc, bytes + at, n, 0),
                                  slow_crc(bytes + at, n));
}
END_TEST

START_TEST(large_archives_use_zip64)
{
    struct attn_zip_entry entry = {
        .name = "x.npy", .size = UINT64_C(5000000000), .offset = UINT64_C(6000000000), .crc = 7};
    unsigned char record[ATTN_ZIP_RECORD_SIZE];

    ck_assert_uint_eq(attn_zip_local_header(&entry, record), 30 + 5 + 20);
    ck_assert_uint_eq(number_at(record + 4, 2), 45);
    ck_assert_uint_eq(number_at(record + 18, 8), UINT64_MAX);
    ck_assert_uint_eq(number_at(record + 28, 2), 20);
    ck_assert_uint_eq(number_at(record + 35, 4), 16 << 16 | 1);
    ck_assert_uint_eq(number_at(record + 39, 8), entry.size);
    ck_assert_uint_eq(number_at(record + 47, 8), entry.size);

    ck_assert_uint_eq(attn_zip_central_header(&entry, record), 46 + 5 + 28);
    ck_assert_uint_eq(number_at(record + 42, 4), UINT32_MAX);
    ck_assert_uint_eq(number_at(record + 51, 4), 24 << 16 | 1);
    ck_assert_uint_eq(number_at(record + 71, 8), entry.offset);

    entry.size = 100; /* small, but far from the beginning */
    ck_assert_uint_eq(attn_zip_local_header(&entry, record), 30 + 5);
    ck_assert_uint_eq(attn_zip_central_header(&entry, record), 46 + 5 + 12);
    ck_assert_uint_eq(number_at(record + 20, 4), 100);
    ck_assert_uint_eq(number_at(record + 55, 8), entry.offset);

    ck_assert_uint_eq(attn_zip_end(3, entry.offset, 200, record), 56 + 20 + 22);
    ck_assert_uint_eq(number_at(record + 48, 8), entry.offset);
    ck_assert_uint_eq(number_at(record + 64, 8), entry.offset + 200);
    ck_assert_uint_eq(number_at(record + 76 + 16, 4), UINT32_MAX);
    ck_assert_uint_eq(attn_zip_end(3, 300, 200, record), 22);
    ck_assert_uint_eq(attn_zip_end(65535, 300, 200, record), 56 + 20 + 22);
}
END_TEST

START_TEST(npy_headers_keep_the_numbers_aligned)
{
    char header[ATTN_NPY_HEADER_SIZE];
    const size_t huge[] = {SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX}, one[] = {1};

    ck_assert_uint_eq(attn_npy_header("<f4", huge, 4, 0, header) % 64, 0);
    ck_assert_uint_eq(attn_npy_header("<f4", one, 1, 0, header), 128);
    ck_assert_int_eq(
        memcmp(header + 10, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }  ", 59), 0);
}
END_TEST

START_TEST(failures_leave_no_file)
{
    char folder[] = P_tmpdir "/attn-npz-XXXXXX", path[100];
    enum attn_status status = ATTN_NO_MEMORY;
    struct attn_error err = {0};

    set_up();
    attn_made_up_run_select(&made, "pattern,z,logits", "all", "1-3");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/all.npz", folder);
    for (long n = 0; status != ATTN_OK; n++) {
        struct attn_writer *writer = NULL;

        attn_alloc_fail_at(n);
        status =
            attn_writer_open(attn_format_find("npz"), &(struct attn_writer_target){.path = path},
                             &made.run, &ATTN_WRITER_OPTIONS_DEFAULT, &writer, &err);
        if (status == ATTN_OK)
            status = attn_made_up_run_play(&made, writer, 2, &err);
        if (status == ATTN_OK)
            status = attn_writer_finish(writer, &err);
        attn_alloc_fail_off();
        attn_writer_free(writer);
        ck_assert_msg(status == ATTN_OK || status == ATTN_NO_MEMORY, "%s", err.message);
        ck_assert_int_eq(access(path, F_OK) == 0, status == ATTN_OK);
        ck_assert_int_lt(n, 1000);
    }
    unlink(path);
    ck_assert_int_eq(rmdir(folder), 0); /* no temporary file was left either */
    attn_made_up_run_release(&made);
}
END_TEST

START_TEST(a_full_device_is_reported)
{
    struct attn_error err = {0};
    struct attn_writer *writer;
    enum attn_status status;

    set_up();
    ck_assert_int_eq(attn_writer_open(attn_format_find("npz"),
                                      &(struct attn_writer_target){.path = "/dev/full"}, &made.run,
                                      &ATTN_WRITER_OPTIONS_DEFAULT, &writer, &err),
                     ATTN_OK);
    status = attn_made_up_run_play(&made, writer, SIZE_MAX, &err);
    if (status == ATTN_OK)
        status = attn_writer_finish(writer, &err);
    ck_assert_int_eq(status, ATTN_IO);
    attn_writer_free(writer);
    attn_made_up_run_release(&made);
}
END_TEST

ATTN_SUITE("output_npz", holds_every_tensor_exactly, ids_and_tokens_come_first,
           blocks_and_feeds_give_the_same_bytes, streams_describe_their_members_afterwards,
           long_rows_wait_in_pieces, keys_that_did_not_exist_yet_are_masked,
           a_selection_says_what_it_holds, nothing_selected_narrowly_needs_no_extra_arrays,
           checksums_do_not_depend_on_the_order_of_pieces,
           checksums_are_right_for_every_length_and_alignment, large_archives_use_zip64,
           npy_headers_keep_the_numbers_aligned, failures_leave_no_file, a_full_device_is_reported)
