/*
 * test_cli_files.c - what users see of malformed model files: exit status 3 and one line that names
 * the file, at once and in little memory; of strange ones nothing but the result.
 */
#include "base/buffer.h"
#include "base/file.h"
#include "tests/support/command.h"
#include "tests/support/folder.h"
#include "tests/support/image.h"
#include "tests/support/malformed.h"
#include "tests/support/parts.h"
#include "tests/support/suite.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[4096]; /* the repository, for tests in a folder of their own */

static void enter(void)
{
    ck_assert_ptr_nonnull(getcwd(root, sizeof root));
    attn_folder_enter();
}

/* Runs the six words of a shipped model with the weights of FILE. */
static struct attn_ran run_weights(const char *file)
{
    return attn_command((const char *const[]){"run", "-m", "life-is-short", "--weights", file,
                                              "Life is short", NULL});
}

/* Sanitizers take their own time and memory. */
static void assert_cheap(const char *what, const struct attn_ran *ran)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    ck_assert_msg(ran->resident < 64L * 1024, "%s: %ld KiB resident", what, ran->resident);
    /* 0.1 s on a core of ours; ten times that is no longer the machine but the program */
    ck_assert_msg(ran->seconds < 1, "%s: %.3f s", what, ran->seconds);
#else
    (void)what;
    (void)ran;
#endif
}

static void assert_refused(const char *what, const unsigned char *bytes, size_t size)
{
    struct attn_ran ran;

    attn_folder_write("bad.safetensors", bytes, size);
    ran = run_weights("bad.safetensors");
    attn_assert_failed(what, &ran, 3);
    ck_assert_msg(strstr(ran.err, "'bad.safetensors'") != NULL, "%s: %s", what, ran.err);
    assert_cheap(what, &ran);
    attn_ran_release(&ran);
}

START_TEST(refuses_every_malformed_header)
{
    enter();
    for (size_t g = 0; g < attn_n_malformed_group; g++)
        for (size_t i = 0; i < attn_malformed_groups[g].n; i++) {
            const struct attn_header *row = &attn_malformed_groups[g].rows[i];
            struct attn_image image = attn_image_make(row->text, row->size, row->n_data);

            assert_refused(row->text, image.bytes, image.size);
            free(image.bytes);
        }
    attn_folder_leave();
}
END_TEST

START_TEST(refuses_every_wrong_size_of_the_header)
{
    struct attn_part good = attn_part_read("models/life-is-short/model.safetensors");
    const uint64_t n = attn_part_header_end(&good) - 8;
    const uint64_t sizes[] = {0,
                              n - 1,
                              n + 1,
                              100000001,
                              ((uint64_t)1 << 32) + n,
                              (uint64_t)1 << 63,
                              UINT64_MAX,
                              UINT64_MAX - 7,
                              __builtin_bswap64(n)};

    enter();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        memcpy(good.bytes, &sizes[i], sizeof *sizes);
        assert_refused("a size of the header", good.bytes, good.size);
    }
    free(good.bytes);
    attn_folder_leave();
}
END_TEST

START_TEST(refuses_a_file_cut_anywhere)
{
    struct attn_part good = attn_part_read("models/life-is-short/model.safetensors");
    const size_t n = attn_part_header_end(&good);
    const size_t sizes[] = {0, 1, 7, 8, 9, n / 2, n - 1, n, n + 1, good.size - 1};

    enter();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        assert_refused("a cut file", good.bytes, sizes[i]);
    free(good.bytes);
    attn_folder_leave();
}
END_TEST

/* Writes HEAD, then N times REPEATED, then TAIL as the header of a file without data. */
static struct attn_image make_large(const char *head, const char *repeated, size_t n,
                                    const char *tail)
{
    struct attn_buffer text = {0};
    struct attn_image image;

    attn_buffer_append_string(&text, head);
    for (size_t i = 0; i < n; i++)
        attn_buffer_append_string(&text, repeated);
    attn_buffer_append_string(&text, tail);
    ck_assert(!text.has_failed);
    image = attn_image_make(text.data, text.size, 0);
    attn_buffer_release(&text);
    return image;
}

START_TEST(refuses_what_is_deep_or_long)
{
    static const struct {
        const char *head, *repeated, *tail;
        size_t n;
    } rows[] = {
        {"", "[", "", 100000},
        {"", "[", "", 10000},
        {"", "{\"a\":", "", 5000},
        {"{\"a\":", "[", "", 1000000},
        {"{\"", "name", "\":null}", 1000000},
        {"{\"", "\\u001b", "\":null}", 300000},
        {"", " ", "", 4000000},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[", "1,", "1],\"data_offsets\":[0,4]}}", 1000000},
    };

    enter();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct attn_image image =
            make_large(rows[i].head, rows[i].repeated, rows[i].n, rows[i].tail);

        assert_refused(rows[i].repeated, image.bytes, image.size);
        free(image.bytes);
    }
    attn_folder_leave();
}
END_TEST

/* What a header of N bytes may take: three times its size beside the 64 MiB. */
static void assert_bounded(const char *what, const struct attn_ran *ran, size_t n)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    const long limit = 64L * 1024 + 3 * (long)(n / 1024);

    ck_assert_msg(ran->resident < limit, "%s: %ld KiB resident, expected less than %ld", what,
                  ran->resident, limit);
    ck_assert_msg(ran->seconds < 10, "%s: %.3f s", what, ran->seconds);
#else
    (void)what;
    (void)ran;
    (void)n;
#endif
}

/* Headers of 16 MB: HEAD, then again and again a key, which is a number, and AFTER, then TAIL. */
START_TEST(takes_memory_for_a_large_header_in_proportion)
{
    static const char tensor[] = "\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}";
    const struct {
        const char *head, *after, *tail, *message;
    } rows[] = {
        {"{\"-\":0", "\":1", "}", "has '0' at byte 13, expected an object"},
        {"{\"w\":{\"-\":0", "\":1", "}}", "'w' in 'large' has no dtype"},
        {"{\"__metadata__\":{\"-\":\"\"", "\":\"\"", "}}", NULL},
        {"{\"__metadata__\":null", tensor, "}", NULL},
        {"{\"__metadata__\":null", tensor, ",\"0\":{}}", "has the key '0' a second time"},
    };

    enter();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i += attn_one_in(2)) {
        struct attn_buffer text = {0};
        struct attn_image image;
        struct attn_ran ran;

        attn_buffer_append_string(&text, rows[i].head);
        for (unsigned n = 0; text.size < 8000000; n++)
            attn_buffer_append_format(&text, ",\"%x%s", n, rows[i].after);
        attn_buffer_append_string(&text, rows[i].tail);
        image = attn_image_make(text.data, text.size, 0);
        attn_folder_write("large", image.bytes, image.size);
        ran = attn_command((const char *const[]){"inspect", "large", NULL});
        if (rows[i].message == NULL) {
            ck_assert_msg(ran.exit == 0, "%s", ran.err);
        } else {
            attn_assert_failed(rows[i].head, &ran, 3);
            ck_assert_msg(strstr(ran.err, rows[i].message) != NULL, "%s", ran.err);
        }
        assert_bounded(rows[i].head, &ran, text.size);
        attn_ran_release(&ran);
        attn_buffer_release(&text);
        free(image.bytes);
    }
    attn_folder_leave();
}
END_TEST

START_TEST(refuses_other_files_in_place_of_the_weights)
{
    static const struct {
        const char *config, *vocab, *file;
    } rows[] = {{"bad", NULL, "bad"}, {NULL, "bad", "bad"}};
    static const char *const texts[] = {
        "",
        "{",
        "[]",
        "null",
        "\xef\xbb\xbf{}",
        "{\"a\":1,}",
        "{\"a\":1e400}",
        "\xff",
        "{\"\\ud800\":1}",
        "{\"a\":0}{\"b\":1}",
        "{\"a\":0,\"a\":1}",
        "{\"a\":\"\x1b[2J\"}",
        "{\"\\u0000\":[[[[[[]]]]]]}",
    };

    enter();
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            const char *option = rows[r].config != NULL ? "--config" : "--vocab";
            struct attn_ran ran;

            attn_folder_write("bad", texts[i], strlen(texts[i]));
            ran = attn_command(
                (const char *const[]){"run", "-m", "life-is-short", option, "bad", "Life", NULL});
            attn_assert_failed(texts[i], &ran, 3);
            ck_assert_msg(strstr(ran.err, "'bad'") != NULL, "%s", ran.err);
            assert_cheap(texts[i], &ran);
            attn_ran_release(&ran);
        }
    attn_folder_leave();
}
END_TEST

/* The model of this folder, whose index has TEXT, is refused; the message has EXPECTED. */
static void assert_index_refused(const char *text, const char *expected)
{
    struct attn_ran ran;

    attn_folder_write("model.safetensors.index.json", text, strlen(text));
    ran = attn_command((const char *const[]){"run", "-m", ".", "a", NULL});
    attn_assert_failed(text, &ran, 3);
    ck_assert_msg(strstr(ran.err, expected) != NULL, "%s\ngives: %s", text, ran.err);
    assert_cheap(text, &ran);
    attn_ran_release(&ran);
}

START_TEST(refuses_every_malformed_index)
{
    static const char *const texts[] = {
        "",
        "{",
        "[]",
        "{}",
        "{\"weight_map\":null}",
        "{\"weight_map\":[]}",
        "{\"weight_map\":{}}",
        "{\"weight_map\":{\"w\":1}}",
        "{\"weight_map\":{\"w\":null}}",
        "{\"weight_map\":{\"w\":[\"a.safetensors\"]}}",
        "{\"weight_map\":{\"w\":\"\"}}",
        "{\"weight_map\":{\"w\":\"../a.safetensors\"}}",
        "{\"weight_map\":{\"w\":\"/a.safetensors\"}}",
        "{\"weight_map\":{\"w\":\".//a.safetensors\"}}",
        "{\"weight_map\":{\"w\":\"./../a.safetensors\"}}",
        "{\"weight_map\":{\"w\":\"x/../../a.safetensors\"}}",
        "{\"weight_map\":{\"w\":\"c:/a.safetensors\"}}",
        "{\"weight_map\":{\"w\":\"x\\\\a.safetensors\"}}",
        "{\"weight_map\":{\"w\":\"a.safetensors\\u0000\"}}",
        "{\"weight_map\":{\"w\":\"a.bin\"}}",
        "{\"weight_map\":{\"w\":\"model.safetensors.index.json\"}}",
        "{\"weight_map\":{\"w\":\"a.safetensors\",\"w\":\"a.safetensors\"}}",
    };
    static const char config[] = "{\"model_type\":\"attn\",\"d_model\":2,\"n_vocab\":1,"
                                 "\"projections\":\"none\"}";
    struct attn_image image = attn_image_make(TEXT("{" TENSOR("w", "[2]", "[0,8]") "}"), 8);
    struct attn_buffer text = {0};

    enter();
    attn_folder_write("config.json", config, sizeof config - 1);
    attn_folder_write("a.safetensors", image.bytes, image.size);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_index_refused(texts[i], "model.safetensors.index.json'");
    assert_index_refused("{\"weight_map\":{\"w\":\"b.safetensors\"}}",
                         "cannot open './b.safetensors'");
    assert_index_refused("{\"weight_map\":{\"w\":\"x/a.safetensors\"}}",
                         "cannot open './x/a.safetensors'");
    assert_index_refused("{\"weight_map\":{\"v\":\"./a.safetensors\"}}",
                         "'v' is not in './a.safetensors'");
    ck_assert_int_eq(symlink("loop.safetensors", "loop.safetensors"), 0);
    assert_index_refused("{\"weight_map\":{\"w\":\"loop.safetensors\"}}",
                         "cannot open './loop.safetensors'");
    ck_assert_int_eq(mkdir("folder.safetensors", 0777), 0);
    assert_index_refused("{\"weight_map\":{\"w\":\"folder.safetensors\"}}",
                         "'./folder.safetensors' is a directory");
    ck_assert_int_eq(symlink("/dev/zero", "zero.safetensors"), 0);
    assert_index_refused("{\"weight_map\":{\"w\":\"zero.safetensors\"}}",
                         "'./zero.safetensors' is a device");
    attn_buffer_append_string(&text, "{\"weight_map\":{\"w\":\"");
    for (int i = 0; i < 4096; i++)
        attn_buffer_append_string(&text, "n");
    attn_buffer_append_string(&text, ".safetensors\"}}");
    assert_index_refused(attn_buffer_string(&text), "cannot open './nnn");
    attn_buffer_release(&text);
    free(image.bytes);
    attn_folder_leave();
}
END_TEST

/* --- Texts beside the weights ----------------------------------------------------------------- */

static const char small_config[] = "{\"model_type\":\"attn\",\"d_model\":2,\"n_vocab\":1,"
                                   "\"projections\":\"none\"}";

/* Makes this folder a model with every kind of text, of one token and one tensor. */
static void write_small_model(void)
{
    static const char *const parts[][2] = {
        {"config.json", small_config},
        {"vocab.json", "{\"a\":0}"},
        {"merges.txt", "#version: 0.2\n"},
        {"added_tokens.json", "{}"},
        {"special_tokens_map.json", "{}"},
        {"tokenizer_config.json", "{}"},
        {"model.safetensors.index.json", "{\"weight_map\":{\"embed.W_E\":\"a.safetensors\"}}"},
    };
    struct attn_image image =
        attn_image_make(TEXT("{" TENSOR("embed.W_E", "[1,2]", "[0,8]") "}"), 8);

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        attn_folder_write(parts[i][0], parts[i][1], strlen(parts[i][1]));
    attn_folder_write("a.safetensors", image.bytes, image.size);
    free(image.bytes);
}

static struct attn_ran run_small_model(void)
{
    return attn_command((const char *const[]){"run", "-m", ".", "a", NULL});
}

/* Writes PART: HEAD, a list of SIZE bytes, TAIL; the run may take four times that more than
 * before. */
static void assert_list_is_cheap(const char *part, const char *head, const char *tail, size_t size)
{
    struct attn_buffer text = {0};
    struct attn_ran before = run_small_model(), ran;

    ck_assert_msg(before.exit == 0, "%s", before.err);
    attn_buffer_append_format(&text, "%s[0", head);
    while (text.size < size)
        attn_buffer_append_string(&text, ",0");
    attn_buffer_append_format(&text, "]%s", tail);
    attn_folder_write(part, text.data, text.size);
    ran = run_small_model();
    ck_assert_msg(ran.exit == 0, "%s: %s", part, ran.err);
    ck_assert_str_eq(ran.out, before.out);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    ck_assert_msg(ran.resident - before.resident < 4 * (long)(size / 1024) + 1024,
                  "%s: %ld KiB resident, %ld without the list", part, ran.resident,
                  before.resident);
#endif
    attn_ran_release(&ran);
    attn_ran_release(&before);
    attn_buffer_release(&text);
}

START_TEST(takes_little_memory_for_lists_that_nobody_reads)
{
    char head[200];

    enter();
    write_small_model();
    snprintf(head, sizeof head, "%.*s,\"_x\":", (int)sizeof small_config - 2, small_config);
    assert_list_is_cheap("config.json", head, "}", 1000000);
    assert_list_is_cheap("tokenizer_config.json", "{\"x\":", "}", 10000000 / attn_one_in(4));
    assert_list_is_cheap("model.safetensors.index.json", "{\"metadata\":{\"x\":",
                         "},\"weight_map\":{\"embed.W_E\":\"a.safetensors\"}}",
                         10000000 / attn_one_in(4));
    attn_folder_leave();
}
END_TEST

START_TEST(refuses_texts_that_are_too_large)
{
    static const struct {
        const char *part;
        long bound;
    } rows[] = {
#define ROW(part, bound) {part, bound},
        ATTN_TEXT_BOUND_MAP(ROW)
#undef ROW
    };

    enter();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char expected[200];
        struct attn_ran ran;

        if (strstr(rows[i].part, "processor_config.json"))
            continue; /* models of texts read neither; see cli/run/pictures.test */
        if (strcmp(rows[i].part, "heads.json") == 0)
            continue; /* as if it were not there; see cli/heads/types.test */
        if (strncmp(rows[i].part, "target", 6) == 0 || strstr(rows[i].part, "piece.model") ||
            strncmp(rows[i].part, "sentencepiece", 13) == 0 || strstr(rows[i].part, "pytorch") ||
            strcmp(rows[i].part, "meta.pkl") == 0 || strcmp(rows[i].part, "tokenizer.bin") == 0)
            continue; /* read beside source.spm, for classes that have it, and as -m FILE, or only
                         without safetensors */
        write_small_model();
        if (strcmp(rows[i].part, "vocab.txt") == 0 || strstr(rows[i].part, ".model"))
            ck_assert_int_eq(remove("vocab.json"), 0); /* which would hide it */
        attn_folder_write(rows[i].part, "", 0);
        ck_assert_int_eq(truncate(rows[i].part, rows[i].bound + 1), 0);
        ran = run_small_model();
        snprintf(expected, sizeof expected, "'./%s' has %ld bytes, expected at most %ld",
                 rows[i].part, rows[i].bound + 1, rows[i].bound);
        attn_assert_failed(rows[i].part, &ran, 3);
        ck_assert_msg(strstr(ran.err, expected) != NULL, "%s", ran.err);
        assert_cheap(rows[i].part, &ran);
        attn_ran_release(&ran);
        ck_assert_int_eq(remove(rows[i].part), 0); /* tokenizer.json would hide the others */
    }
    attn_folder_leave();
}
END_TEST

START_TEST(takes_little_memory_for_lines_that_are_no_merges)
{
    struct attn_buffer text = {0};
    struct attn_ran ran;

    enter();
    write_small_model();
    memset(attn_buffer_reserve(&text, 10000000), '\n', 10000000);
    attn_folder_write("merges.txt", text.data, 10000000);
    ran = run_small_model();
    attn_assert_failed("empty lines", &ran, 3);
    assert_bounded("empty lines", &ran, 10000000);
    attn_ran_release(&ran);
    attn_buffer_release(&text);
    attn_folder_leave();
}
END_TEST

START_TEST(takes_memory_for_bytes_that_are_replaced_in_proportion)
{
    const size_t n = 1000000;
    char model[sizeof root + 20];
    char *bytes = malloc(n);
    struct attn_ran ran;

    enter();
    snprintf(model, sizeof model, "%s/models/tiny-gpt2", root);
    ck_assert_ptr_nonnull(bytes);
    memset(bytes, 0xff, n);
    attn_folder_write("bytes", bytes, n);
    ran = attn_command((const char *const[]){"tokenize", "-m", model, "--invalid", "replace",
                                             "--format", "ids", "-f", "bytes", NULL});
    ck_assert_msg(ran.exit == 0, "%s", ran.err);
    ck_assert_uint_eq(ran.n_out, 3 * 4 * n); /* U+FFFD is three tokens here */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    ck_assert_msg(ran.resident < 128L * 1024, "%ld KiB resident", ran.resident);
#endif
    attn_ran_release(&ran);
    free(bytes);
    attn_folder_leave();
}
END_TEST

START_TEST(takes_what_is_strange_but_legal)
{
    enter();
    for (size_t i = 0; i < attn_strange.n; i++) {
        const struct attn_header *row = &attn_strange.rows[i];
        struct attn_image image = attn_image_make(row->text, row->size, row->n_data);
        struct attn_ran ran;

        attn_folder_write("odd.safetensors", image.bytes, image.size);
        ran = attn_command((const char *const[]){"inspect", "odd.safetensors", NULL});
        ck_assert_msg(ran.exit == 0, "%s\n%s", row->text, ran.err);
        ck_assert_str_eq(ran.err, "");
        attn_assert_printable(row->text, ran.out, ran.n_out);
        attn_ran_release(&ran);
        free(image.bytes);
    }
    attn_folder_leave();
}
END_TEST

/* A shipped model's tensors at odd offsets behind a blank, with other tensors beside them that are
 * not used. */
START_TEST(runs_weights_that_are_strange_but_legal)
{
    struct attn_part good = attn_part_read("models/life-is-short/model.safetensors");
    size_t end = attn_part_header_end(&good), n_data = good.size - end;
    static const unsigned char nan[] = {0x00, 0x00, 0xc0, 0x7f, 0x00, 0x00, 0x80, 0xff};
    struct attn_buffer header = {0};
    struct attn_image image;
    struct attn_ran expected, ran;

    /* Names of our own come last, so the given offsets stay right. */
    attn_buffer_append_string(&header, "\n\t ");
    attn_buffer_append(&header, good.bytes + 8, end - 8);
    while (header.data[header.size - 1] != '}')
        header.size--;
    header.size--;
    attn_buffer_append_format(
        &header,
        ",\"../../etc/passwd\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[%zu,%zu]},"
        "\"\\u001b[2J\\u202e\":{\"dtype\":\"F4\",\"shape\":[0,18446744073709551615],"
        "\"data_offsets\":[%zu,%zu]}}",
        n_data, n_data + 8, n_data, n_data);
    if (header.size % 2 == 0)
        attn_buffer_append_string(&header, " ");
    image = attn_image_make(header.data, header.size, n_data + 8);
    memcpy(image.bytes + 8 + header.size, good.bytes + end, n_data);
    memcpy(image.bytes + 8 + header.size + n_data, nan, sizeof nan);
    enter();
    attn_folder_write("odd.safetensors", image.bytes, image.size);
    expected =
        attn_command((const char *const[]){"run", "-m", "life-is-short", "Life is short", NULL});
    ran = run_weights("odd.safetensors");
    ck_assert_msg(ran.exit == 0, "%s", ran.err);
    ck_assert_str_eq(ran.out, expected.out);
    ck_assert_str_eq(ran.err, "attn-cli: note: 2 tensors of the model are not used: "
                              "'\\x1b[2J\\xe2\\x80\\xae', '../../etc/passwd'\n");
    attn_ran_release(&ran);
    attn_ran_release(&expected);
    attn_folder_leave();
    attn_buffer_release(&header);
    free(image.bytes);
    free(good.bytes);
}
END_TEST

/* A run that fails leaves the files it finished: none of them may hold a number that is none.
 * Removes FOLDER, where there is one. */
static void assert_finite_files(const char *folder)
{
    DIR *entries = opendir(folder);
    struct dirent *entry;

    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        struct attn_part file;
        char path[512];

        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        file = attn_part_read(path);
        ck_assert_msg(memmem(file.bytes, file.size, "nan", 3) == NULL, "nan in %s", path);
        ck_assert_msg(memmem(file.bytes, file.size, "inf", 3) == NULL, "inf in %s", path);
        free(file.bytes);
        ck_assert_int_eq(remove(path), 0);
    }
    if (entries != NULL) {
        closedir(entries);
        ck_assert_int_eq(rmdir(folder), 0);
    }
}

static void assert_not_finite(const char *option, const char *value)
{
    struct attn_ran ran = attn_command((const char *const[]){"run", "-m", "life-is-short",
                                                             "--weights", "bad.safetensors", option,
                                                             value, "Life is short", NULL});

    attn_assert_failed(option, &ran, 3);
    ck_assert_ptr_nonnull(strstr(ran.err, "' in 'bad.safetensors' holds "));
    assert_finite_files("out");
    ck_assert_uint_eq(attn_folder_count(), 1); /* nothing but the weights */
    attn_ran_release(&ran);
}

START_TEST(prints_nothing_of_weights_that_are_not_finite)
{
    static const unsigned char values[][4] = {
        {0x00, 0x00, 0xc0, 0x7f}, {0x00, 0x00, 0x80, 0x7f}, {0x00, 0x00, 0x80, 0xff}};
    static const char *const options[][2] = {{"--sites", "pattern,z"}, {"--csv", "out"},
                                             {"--npz", "out"},         {"--npy", "out"},
                                             {"--tidy", "out"},        {"--json", "out"}};
    struct attn_part weights = attn_part_read("models/life-is-short/model.safetensors");
    size_t end = attn_part_header_end(&weights);

    enter();
    for (size_t at = end; at <= end + 96; at += 24) { /* W_K, W_Q, W_V, the row of "Life" */
        unsigned char saved[4];

        memcpy(saved, weights.bytes + at, 4);
        for (size_t i = 0; i < 3; i++) {
            memcpy(weights.bytes + at, values[i], 4);
            attn_folder_write("bad.safetensors", weights.bytes, weights.size);
            for (size_t o = 0; o < sizeof options / sizeof *options; o++)
                assert_not_finite(options[o][0], options[o][1]);
        }
        memcpy(weights.bytes + at, saved, 4);
    }
    free(weights.bytes);
    attn_folder_leave();
}
END_TEST

ATTN_SUITE("cli_files", refuses_every_malformed_header, refuses_every_wrong_size_of_the_header,
           refuses_a_file_cut_anywhere, refuses_what_is_deep_or_long,
           takes_memory_for_a_large_header_in_proportion, refuses_every_malformed_index,
           refuses_other_files_in_place_of_the_weights,
           takes_little_memory_for_lists_that_nobody_reads, refuses_texts_that_are_too_large,
           takes_little_memory_for_lines_that_are_no_merges,
           takes_memory_for_bytes_that_are_replaced_in_proportion, takes_what_is_strange_but_legal,
           runs_weights_that_are_strange_but_legal, prints_nothing_of_weights_that_are_not_finite)
