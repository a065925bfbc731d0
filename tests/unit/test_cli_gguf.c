/*
 * test_cli_gguf.c - what users see of damaged GGUF files: exit status 3 and one line with the word
 * that matters, at once and in little memory; of odd ones that are right nothing but the result.
 */
#include "model/model.h"
#include "tests/support/command.h"
#include "tests/support/folder.h"
#include "tests/support/gguf_models.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_ARG = 12, MOST_SHARD = 2 };

/* A row of expected.tsv, and its files. */
struct row {
    char file[64], command[16], args[128], words[64];
    int exit;
    struct attn_buffer bytes[MOST_SHARD];
};

static const char *file_name(const struct row *row)
{
    return strrchr(row->file, '/') + 1;
}

static bool is_shard(const struct row *row)
{
    return strstr(row->file, "-of-") != NULL;
}

/* Reads the row that LINE begins with, and the files, the first of which must be there. */
static struct row read_row(const char *line)
{
    struct row row = {.exit = -1};
    char second[64];

    ck_assert_int_ge(sscanf(line, "%63[^\t]\t%15[^\t]\t%127[^\t]\t%d%*1[\t]%63[^\n]", row.file,
                            row.command, row.args, &row.exit, row.words),
                     4);
    row.bytes[0] = attn_gguf_member("hostile", row.file);
    ck_assert_msg(!row.bytes[0].has_failed, "'%s' is missing", row.file);
    if (is_shard(&row)) {
        snprintf(second, sizeof second, "%s", row.file);
        memcpy(strstr(second, "00001"), "00002", 5);
        row.bytes[1] = attn_gguf_member("hostile", second);
    }
    return row;
}

/* Calls CHECK for each row in a folder of its own, which has the file as model.gguf. Returns how
 * many there were. */
static size_t each_row(void (*check)(const struct row *row))
{
    struct attn_buffer rows = attn_gguf_member("hostile", "expected.tsv");
    size_t n = 0;

    for (const char *line = attn_buffer_string(&rows); *line; line = strchr(line, '\n') + 1, n++) {
        struct row row = read_row(line);

        attn_folder_enter();
        attn_folder_write(is_shard(&row) ? file_name(&row) : "model.gguf", row.bytes[0].data,
                          row.bytes[0].size);
        if (row.bytes[1].size > 0)
            attn_folder_write("m-00002-of-00002.gguf", row.bytes[1].data, row.bytes[1].size);
        check(&row);
        attn_folder_leave();
        attn_buffer_release(&row.bytes[0]);
        attn_buffer_release(&row.bytes[1]);
    }
    attn_buffer_release(&rows);
    return n;
}

static struct attn_ran run_row(const struct row *row)
{
    static char args[128];
    const char *list[MOST_ARG] = {row->command, "-m", "."};
    size_t n = 3;

    snprintf(args, sizeof args, "%s", row->args);
    for (char *word = args, *end; word && n < MOST_ARG - 1; word = end) {
        end = strchr(word, ' ');
        list[n++] = word;
        if (end)
            *end++ = '\0';
    }
    return attn_command(list);
}

/* Whether TEXT has one of WORDS, which have | between them; an empty one allows any. */
static bool has_word(const char *text, const char *words)
{
    for (;; words++) {
        char word[64];
        const size_t size = strcspn(words, "|");

        snprintf(word, sizeof word, "%.*s", (int)size, words);
        if (strstr(text, word))
            return true;
        words += size;
        if (!*words)
            return false;
    }
}

/* Sanitizers take their own time and memory. */
static void assert_cheap(const char *what, const struct attn_ran *ran)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    ck_assert_msg(ran->resident < 64L * 1024, "%s: %ld KiB resident", what, ran->resident);
    ck_assert_msg(ran->seconds < 1, "%s: %.3f s", what, ran->seconds);
#else
    (void)what;
    (void)ran;
#endif
}

/* Shards are opened by the library: no part of a directory has their names. */
static void check_shards(const struct row *row)
{
    const struct attn_override first = {"model.gguf", file_name(row)};
    const struct attn_source source = {.directory = ".", .overrides = &first, .n_override = 1};
    struct attn_model *model = NULL;
    struct attn_error err = {0};

    ck_assert(attn_model_open(&source, NULL, &model, &err) != ATTN_OK);
    ck_assert_msg(has_word(err.message, row->words), "%s: %s", row->file, err.message);
}

static void check_row(const struct row *row)
{
    struct attn_ran ran;

    if (is_shard(row)) {
        check_shards(row);
        return;
    }
    ran = run_row(row);
    if (row->exit == 0)
        ck_assert_msg(ran.exit == 0 && !strstr(ran.err, "error: "), "%s: exit %d: %s", row->file,
                      ran.exit, ran.err);
    else
        attn_assert_failed(row->file, &ran, row->exit);
    ck_assert_msg(has_word(ran.err, row->words), "%s: exit %d: %s", row->file, ran.exit, ran.err);
    assert_cheap(row->file, &ran);
    attn_ran_release(&ran);
}

START_TEST(damaged_files_are_refused_in_a_line_and_odd_ones_taken)
{
    ck_assert_uint_eq(each_row(check_row), 33);
}
END_TEST

static size_t n_tokenizer;

static void check_ids(const struct row *row)
{
    struct attn_ran ran;

    if (strcmp(row->command, "tokenize") != 0)
        return;
    ran = attn_command((const char *const[]){"run", "-m", ".", "--ids", "1,2,3", "-q", NULL});
    ck_assert_msg(ran.exit == 0 && !strstr(ran.err, "error: "), "%s: exit %d: %s", row->file,
                  ran.exit, ran.err);
    n_tokenizer++;
    attn_ran_release(&ran);
}

START_TEST(ids_run_where_the_tokenizer_is_refused)
{
    each_row(check_ids);
    ck_assert_uint_eq(n_tokenizer, 2);
}
END_TEST

static void assert_tokens(const char *const *args, const char *expected)
{
    struct attn_ran ran = attn_command(args);

    ck_assert_msg(ran.exit == 0, "%s", ran.err);
    ck_assert_str_eq(ran.out, expected);
    attn_ran_release(&ran);
}

/* Of a folder with one file of each; the one of the file is not in doubt, the other may be a
 * stranger's. */
START_TEST(a_tokenizer_beside_the_file_is_taken_where_it_is_asked_for_alone)
{
    static const char json[] = "{\"model\": {\"vocab\": {\"a\": 5, \"b\": 7}, \"merges\": []}}";
    struct attn_buffer good = attn_gguf_member("hostile", "accept/00.gguf");
    struct attn_buffer refused = attn_gguf_member("hostile", "tokenizer/00.gguf");
    struct attn_ran ran;

    attn_folder_enter();
    attn_folder_write("model.gguf", good.data, good.size);
    attn_folder_write("tokenizer.json", json, sizeof json - 1);
    assert_tokens((const char *const[]){"tokenize", "-m", ".", "ab", NULL}, "0\t22\t0\t2\tab\n");
    assert_tokens(
        (const char *const[]){"tokenize", "-m", ".", "--vocab", "tokenizer.json", "ab", NULL},
        "0\t5\t0\t1\ta\n1\t7\t1\t2\tb\n");
    attn_folder_write("model.gguf", refused.data, refused.size);
    ran = attn_command((const char *const[]){"tokenize", "-m", ".", "ab", NULL});
    attn_assert_failed("a score that is NaN", &ran, 3);
    ck_assert_ptr_nonnull(strstr(ran.err, "scores"));
    attn_ran_release(&ran);
    assert_tokens(
        (const char *const[]){"tokenize", "-m", ".", "--vocab", "tokenizer.json", "ab", NULL},
        "0\t5\t0\t1\ta\n1\t7\t1\t2\tb\n");
    attn_folder_leave();
    attn_buffer_release(&good);
    attn_buffer_release(&refused);
}
END_TEST

/* Every length, of a file of two layers and 47 KB; one in many of them in `make test`. */
START_TEST(a_model_that_was_cut_is_refused_wherever)
{
    struct attn_buffer bytes = attn_gguf_member("models", "llama_q8_0/model.gguf");
    const size_t step = attn_one_in(41);

    for (size_t size = bytes.size - 1; size < bytes.size; size -= step) {
        const struct attn_blob blob = {"model.gguf", bytes.data, size};
        const struct attn_source source = {.name = "m", .blobs = &blob, .n_blob = 1};
        struct attn_model *model = NULL;
        struct attn_error err = {0};

        ck_assert_msg(attn_model_open(&source, NULL, &model, &err) != ATTN_OK, "took %zu bytes",
                      size);
        ck_assert_msg(err.status == ATTN_FORMAT && err.message[0], "%zu bytes: status %d", size,
                      (int)err.status);
    }
    attn_buffer_release(&bytes);
}
END_TEST

/* Every bit of the metadata and the tensors' entries, and of some data. */
START_TEST(a_flipped_bit_is_refused_or_harmless)
{
    struct attn_buffer bytes = attn_gguf_member("hostile", "accept/00.gguf");
    const size_t step = attn_one_in(7);

    for (size_t bit = 0; bit < 8 * bytes.size; bit += step) {
        const struct attn_blob blob = {"model.gguf", bytes.data, bytes.size};
        const struct attn_source source = {.name = "m", .blobs = &blob, .n_blob = 1};
        struct attn_model *model = NULL;
        struct attn_error err = {0};
        enum attn_status status;

        bytes.data[bit / 8] = (char)(bytes.data[bit / 8] ^ 1 << bit % 8);
        status = attn_model_open(&source, NULL, &model, &err);
        ck_assert_msg(status == ATTN_OK || status == ATTN_FORMAT || status == ATTN_UNSUPPORTED,
                      "bit %zu: status %d, %s", bit, (int)status, err.message);
        ck_assert_msg((status == ATTN_OK) == (err.message[0] == '\0'), "bit %zu", bit);
        attn_model_free(model);
        bytes.data[bit / 8] = (char)(bytes.data[bit / 8] ^ 1 << bit % 8);
    }
    attn_buffer_release(&bytes);
}
END_TEST

ATTN_SUITE("cli_gguf", damaged_files_are_refused_in_a_line_and_odd_ones_taken,
           ids_run_where_the_tokenizer_is_refused,
           a_tokenizer_beside_the_file_is_taken_where_it_is_asked_for_alone,
           a_model_that_was_cut_is_refused_wherever, a_flipped_bit_is_refused_or_harmless)
