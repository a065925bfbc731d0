/*
 * test_cli_text.c - whatever a text, a vocabulary, a tensor, a folder or an argument holds:
 * terminals get printable text, CSV and JSON read back equal, spreadsheets get no formula, and no
 * name becomes a path.
 */
#include "base/buffer.h"
#include "base/text/escape.h"
#include "base/text/utf8.h"
#include "formats/json_reader.h"
#include "tests/support/command.h"
#include "tests/support/csv.h"
#include "tests/support/folder.h"
#include "tests/support/image.h"
#include "tests/support/naughty.h"
#include "tests/support/parts.h"
#include "tests/support/suite.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char tiny[4096]; /* the path of a shipped model, as tests work in a folder of their own */

static void enter(void)
{
    char root[4000];

    ck_assert_ptr_nonnull(getcwd(root, sizeof root));
    snprintf(tiny, sizeof tiny, "%s/models/tiny-gpt2", root);
    attn_folder_enter();
}

/* Fails unless the folder PATH holds files of these names and the manifest, and nothing else;
 * removes it. */
static void assert_holds(const char *path, const char *const *names, size_t n)
{
    DIR *entries = opendir(path);
    struct dirent *entry;
    size_t n_found = 0;

    ck_assert_msg(entries != NULL, "no folder '%s'", path);
    while ((entry = readdir(entries)) != NULL) {
        char file[512];
        size_t i = 0;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        while (i < n && strcmp(entry->d_name, names[i]) != 0)
            i++;
        ck_assert_msg(i < n || strcmp(entry->d_name, "run.json") == 0, "'%s' in '%s'",
                      entry->d_name, path);
        n_found += i < n;
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        ck_assert_int_eq(remove(file), 0);
    }
    closedir(entries);
    ck_assert_uint_eq(n_found, n);
    ck_assert_int_eq(rmdir(path), 0);
}

/* Writes the file t, which is read as STRING: of two byte order marks the first is skipped. */
static void write_text(const struct attn_naughty *string)
{
    static const char mark[] = "\xef\xbb\xbf";
    const bool has_mark = string->size >= 3 && memcmp(string->text, mark, 3) == 0;
    struct attn_buffer text = {0};

    attn_buffer_append(&text, mark, has_mark ? 3 : 0);
    attn_buffer_append(&text, string->text, string->size);
    attn_buffer_append_char(&text, '\n'); /* no part of the text */
    attn_folder_write("t", text.data, text.size);
    attn_buffer_release(&text);
}

/* --- Reading back ---------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* Fails unless ESCAPED stands for BYTES: \\, \n, \t, \r and \xNN undone. */
static void assert_stands_for(const char *escaped, const char *bytes, size_t size)
{
    static const char letters[] = "\\ntr", plain[] = "\\\n\t\r";
    const char *at = escaped;

    for (size_t i = 0; i < size; i++) {
        char byte = *at++;

        if (byte == '\\' && *at == 'x') {
            byte = (char)(hex_digit(at[1]) * 16 + hex_digit(at[2]));
            at += 3;
        } else if (byte == '\\') {
            const char *letter = strchr(letters, *at++);

            if (letter == NULL)
                ck_abort_msg("'%s' has an unknown escape", escaped);
            byte = plain[letter - letters];
        }
        if (byte != bytes[i]) /* no assertion for each: Check notes them all in a file */
            ck_abort_msg("'%s' stands for other bytes from %zu on", escaped, i);
    }
    if (*at != '\0')
        ck_abort_msg("'%s' has more than it stands for", escaped);
}

/* What a spreadsheet would run. */
static void assert_no_formula(const char *cell)
{
    ck_assert_msg(*cell == '\0' || strchr("=+-@\t\r", *cell) == NULL, "a cell is '%s'", cell);
}

/* Fails unless LABEL is that of token NUMBER, whose bytes are these: "3|eat". */
static void assert_label(const char *label, size_t number, const struct attn_naughty *token)
{
    char position[32];
    size_t size = (size_t)snprintf(position, sizeof position, "%zu|", number);

    assert_no_formula(label);
    ck_assert_msg(strncmp(label, position, size) == 0, "label %zu is '%s'", number, label);
    assert_stands_for(label + size, token->text, token->size);
}

/* The file of one matrix whose rows, and for a pattern columns, are TOKENS [n]. */
static void assert_csv(const char *path, bool is_pattern, const struct attn_naughty *tokens,
                       size_t n)
{
    char *text = attn_file_text(path);
    struct attn_csv csv = attn_csv_parse(text);

    attn_assert_printable(path, text, strlen(text));
    ck_assert_uint_eq(csv.n_row, n + 1);
    for (size_t i = 0; i < n; i++) {
        assert_label(csv.cells[(i + 1) * csv.n_col], i, &tokens[i]);
        if (is_pattern)
            assert_label(csv.cells[i + 1], i, &tokens[i]);
    }
    attn_csv_release(&csv);
    free(text);
}

/* One long table: id, layer, head, query, key, query_token, key_token, weight. */
static void assert_tidy(const char *path, const struct attn_naughty *tokens, size_t n)
{
    char *text = attn_file_text(path);
    struct attn_csv csv = attn_csv_parse(text);

    attn_assert_printable(path, text, strlen(text));
    ck_assert_uint_eq(csv.n_col, 8);
    ck_assert_uint_eq(csv.n_row, 1 + n * (n + 1) / 2);
    for (size_t row = 1; row < csv.n_row; row++) {
        char **cells = &csv.cells[row * csv.n_col];
        size_t query = strtoul(cells[3], NULL, 10), key = strtoul(cells[4], NULL, 10);

        if (query >= n || key > query)
            ck_abort_msg("row %zu is of query %zu and key %zu", row, query, key);
        assert_no_formula(cells[0]);
        assert_no_formula(cells[5]);
        assert_no_formula(cells[6]);
        assert_stands_for(cells[5], tokens[query].text, tokens[query].size);
        assert_stands_for(cells[6], tokens[key].text, tokens[key].size);
    }
    attn_csv_release(&csv);
    free(text);
}

/* Fails unless STRING is BYTES [size] themselves, but for \xNN where they are not UTF-8. */
static void assert_is(const struct attn_buffer *string, const char *bytes, size_t size)
{
    struct attn_buffer expected = {0};
    uint32_t code_point;

    for (size_t at = 0, n; at < size; at += n) {
        n = attn_utf8_decode(bytes + at, size - at, &code_point);
        if (n > 0) {
            attn_buffer_append(&expected, bytes + at, n);
        } else {
            n = 1; /* the rest of what is no character is none either */
            attn_buffer_append_format(&expected, "\\x%02x", (unsigned char)bytes[at]);
        }
    }
    if (string->size != expected.size ||
        (expected.size > 0 && memcmp(string->data, expected.data, expected.size) != 0))
        ck_abort_msg("'%s' is not the token, expected '%s'",
                     attn_quote(string->data, string->size).text,
                     attn_quote(expected.data, expected.size).text);
    attn_buffer_release(&expected);
}

/* Fails unless TEXT is strict JSON, printable, whose member "tokens" are TOKENS [n]; "ids" and
 * others are skipped. */
static void assert_json(const char *text, const struct attn_naughty *tokens, size_t n)
{
    struct attn_json_reader reader = attn_json_reader_init(text, strlen(text), "JSON");
    struct attn_json_token token = {0};
    struct attn_error err = {0};
    bool has_tokens = false;

    attn_assert_printable("JSON", text, strlen(text));
    ck_assert_msg(attn_json_check_keys(attn_json_reader_init(text, strlen(text), "JSON"), NULL,
                                       &err) == ATTN_OK,
                  "%s", err.message);
    ck_assert_int_eq(attn_json_next(&reader, &token, &err), ATTN_OK);
    ck_assert_int_eq(token.type, ATTN_JSON_OBJECT_BEGIN);
    while (attn_json_next(&reader, &token, &err) == ATTN_OK && token.type == ATTN_JSON_KEY) {
        if (!attn_json_equals(&token, "tokens")) {
            ck_assert_int_eq(attn_json_skip(&reader, &err), ATTN_OK);
            continue;
        }
        has_tokens = true;
        ck_assert_int_eq(attn_json_next(&reader, &token, &err), ATTN_OK); /* [ */
        for (size_t i = 0; i < n; i++) {
            struct attn_buffer string = {0};

            ck_assert_int_eq(attn_json_next(&reader, &token, &err), ATTN_OK);
            ck_assert_int_eq(token.type, ATTN_JSON_STRING);
            attn_json_unescape(&token, &string);
            assert_is(&string, tokens[i].text, tokens[i].size);
            attn_buffer_release(&string);
        }
        ck_assert_int_eq(attn_json_next(&reader, &token, &err), ATTN_OK);
        ck_assert_int_eq(token.type, ATTN_JSON_ARRAY_END);
    }
    ck_assert(has_tokens);
}

/* --- Texts ----------------------------------------------------------------------------------- */

START_TEST(a_text_of_any_bytes_is_refused_printably)
{
    enter();
    for (size_t i = 0; i < attn_n_naughty; i += attn_one_in(ATTN_NAUGHTY_STEP)) {
        const struct attn_naughty *string = &attn_naughty[i];
        struct attn_ran ran;

        write_text(string);
        ran = attn_command(
            (const char *const[]){"run", "-q", "-m", "life-is-short", "-f", "t", NULL});
        attn_assert_failed(string->text, &ran, 4);
        attn_ran_release(&ran);
        if (!attn_naughty_is_argument(string) || access(string->text, F_OK) == 0)
            continue; /* a note names the text that is the name of a file */
        ran = attn_command(
            (const char *const[]){"tokenize", "-m", "life-is-short", "--", string->text, NULL});
        if (ran.exit != 0) /* nothing but white space has no tokens */
            attn_assert_failed(string->text, &ran, 4);
        attn_ran_release(&ran);
    }
    attn_folder_leave();
}
END_TEST

/* The tokens of a table that `tokenize` printed, as slices of TEXT: the offsets are exact. */
static size_t read_table(const char *table, const char *text, struct attn_naughty *tokens)
{
    size_t n = 0;

    for (const char *line = table; *line != '\0'; line = strchr(line, '\n') + 1) {
        size_t number, begin, end;
        int id, used = 0;

        ck_assert_int_eq(sscanf(line, "%zu\t%d\t%zu\t%zu\t%n", &number, &id, &begin, &end, &used),
                         4);
        ck_assert_uint_eq(number, n);
        tokens[n++] = (struct attn_naughty){text + begin, end - begin};
    }
    return n;
}

static void check_files(const struct attn_naughty *tokens, size_t n)
{
    static const char *const csv_files[] = {"L00H00.pattern.csv", "L00H00.z.csv"};
    static const char *const npy_files[] = {"blocks.0.attn.hook_pattern.npy",
                                            "blocks.0.attn.hook_z.npy", "blocks.0.heads.npy",
                                            "ids.npy", "tokens.npy"};
    struct attn_ran ran = attn_command(
        (const char *const[]){"run",    "-q",      "-m",     tiny,    "-f",    "t",     "--layers",
                              "0",      "--heads", "0",      "--csv", "c",     "--npy", "n",
                              "--tidy", "tidy",    "--json", "json",  "--npz", "npz",   NULL});
    char *json;

    ck_assert_msg(ran.exit == 0, "%s", ran.err);
    ck_assert_uint_eq(ran.n_out + ran.n_err, 0);
    attn_ran_release(&ran);
    assert_csv("c/L00H00.pattern.csv", true, tokens, n);
    assert_csv("c/L00H00.z.csv", false, tokens, n);
    assert_tidy("tidy", tokens, n);
    json = attn_file_text("json");
    assert_json(json, tokens, n);
    free(json);
    assert_holds("c", csv_files, 2);
    assert_holds("n", npy_files, 5);
    ck_assert_uint_eq(attn_folder_count(), 4); /* t, tidy, json, npz */
}

/* Takes out the marks U+200E that the tool itself puts behind labels with letters from right to
 * left, so that a terminal leaves the numbers where they are. A text's own are escaped. */
static void drop_marks(struct attn_ran *ran)
{
    static const char mark[] = "\xe2\x80\x8e";

    for (char *at = ran->out; (at = strstr(at, mark)) != NULL;) {
        memmove(at, at + sizeof mark - 1, strlen(at + sizeof mark - 1) + 1);
        ran->n_out -= sizeof mark - 1;
    }
}

START_TEST(a_text_of_byte_pairs_reads_back_from_every_output)
{
    enum { N_CTX = 17 };
    size_t n_run = 0;

    enter();
    for (size_t i = 0; i < attn_n_naughty; i += attn_one_in(ATTN_NAUGHTY_STEP)) {
        const struct attn_naughty *string = &attn_naughty[i];
        struct attn_naughty *tokens = malloc((string->size + 1) * sizeof *tokens);
        struct attn_ran table, json, run;
        size_t n;

        ck_assert_ptr_nonnull(tokens);
        write_text(string);
        table = attn_command((const char *const[]){"tokenize", "-m", tiny, "-f", "t", "--special",
                                                   "text", "--invalid", "bytes", NULL});
        ck_assert_msg(table.exit == 0, "%s", table.err);
        n = read_table(table.out, string->text, tokens);
        json =
            attn_command((const char *const[]){"tokenize", "-m", tiny, "-f", "t", "--special",
                                               "text", "--invalid", "bytes", "--json", "-", NULL});
        assert_json(json.out, tokens, n);
        for (char *tab = table.out; (tab = strchr(tab, '\t')) != NULL;)
            *tab = ' '; /* between columns, and nowhere else: read_table has seen all */
        attn_assert_printable(string->text, table.out, table.n_out);
        attn_assert_printable(string->text, json.out, json.n_out);
        run = attn_command((const char *const[]){"run", "-m", tiny, "-f", "t", NULL});
        if (!attn_naughty_is_utf8(string) || n == 0 || n > N_CTX) {
            attn_assert_failed(string->text, &run, 4);
        } else {
            ck_assert_msg(run.exit == 0, "%s", run.err);
            drop_marks(&run);
            attn_assert_printable(string->text, run.out, run.n_out);
            if (strcmp(string->text, "<|endoftext|>") != 0) {
                check_files(tokens, n);
                n_run++;
            }
        }
        attn_ran_release(&table);
        attn_ran_release(&json);
        attn_ran_release(&run);
        free(tokens);
        for (size_t f = 0; f < 3; f++)
            remove((const char *const[]){"tidy", "json", "npz"}[f]);
    }
    ck_assert_uint_gt(n_run, 70 / attn_one_in(ATTN_NAUGHTY_STEP));
    attn_folder_leave();
}
END_TEST

START_TEST(any_continuation_is_shown_printably)
{
    struct attn_ran ran;

    enter();
    for (size_t i = 0; i < attn_n_naughty; i += attn_one_in(ATTN_NAUGHTY_STEP)) {
        const struct attn_naughty *string = &attn_naughty[i];
        char *tab;

        if (!attn_naughty_is_argument(string) || strcmp(string->text, "--help") == 0)
            continue; /* an option is no value of another */
        ran = attn_command(
            (const char *const[]){"run", "-q", "-m", tiny, "--next", string->text, "The", NULL});
        if (ran.exit != 0) {
            attn_assert_failed(string->text, &ran, 4);
        } else {
            tab = strchr(ran.out, '\t');
            ck_assert_ptr_nonnull(tab);
            attn_assert_printable(string->text, tab + 1, strlen(tab + 1));
            ck_assert_uint_eq(ran.n_err, 0);
        }
        attn_ran_release(&ran);
    }
    ran = attn_command((const char *const[]){"run", "-m", tiny, "--top", "487", "The", NULL});
    ck_assert_msg(ran.exit == 0, "%s", ran.err);
    for (char *tab = ran.out; (tab = strchr(tab, '\t')) != NULL;)
        *tab = ' '; /* between columns; a token that holds one would be missed by the next check */
    attn_assert_printable("all tokens", ran.out, ran.n_out);
    attn_ran_release(&ran);
    attn_folder_leave();
}
END_TEST

/* --- Vocabularies and tensors ---------------------------------------------------------------- */

/* STRING in quotes, for JSON. */
static void append_json_string(struct attn_buffer *out, const struct attn_naughty *string)
{
    attn_buffer_append_char(out, '"');
    for (size_t i = 0; i < string->size; i++) {
        unsigned char byte = (unsigned char)string->text[i];

        if (byte < 0x20 || byte == '"' || byte == '\\')
            attn_buffer_append_format(out, "\\u%04x", byte);
        else
            attn_buffer_append_char(out, string->text[i]);
    }
    attn_buffer_append_char(out, '"');
}

/* Writes a model with WORDS [n] as its vocabulary and one number for each into the working
 * directory. */
static void write_word_model(const struct attn_naughty *words, size_t n)
{
    struct attn_buffer text = {0};
    struct attn_image image;
    float value;

    attn_buffer_append_format(&text,
                              "{\"model_type\":\"attn\",\"d_model\":1,\"n_vocab\":%zu,"
                              "\"projections\":\"none\",\"tokenizer\":{\"type\":\"word\"}}",
                              n);
    attn_folder_write("config.json", text.data, text.size);
    attn_buffer_reset(&text);
    for (size_t i = 0; i < n; i++) {
        attn_buffer_append_char(&text, i == 0 ? '{' : ',');
        append_json_string(&text, &words[i]);
        attn_buffer_append_format(&text, ":%zu", i);
    }
    attn_buffer_append_string(&text, "}");
    attn_folder_write("vocab.json", text.data, text.size);
    attn_buffer_reset(&text);
    attn_buffer_append_format(
        &text, "{\"embed.W_E\":{\"dtype\":\"F32\",\"shape\":[%zu,1],\"data_offsets\":[0,%zu]}}", n,
        4 * n);
    image = attn_image_make(text.data, text.size, 4 * n);
    for (size_t i = 0; i < n; i++) {
        value = (float)i / (float)n;
        memcpy(image.bytes + 8 + text.size + 4 * i, &value, sizeof value);
    }
    attn_folder_write("model.safetensors", image.bytes, image.size);
    free(image.bytes);
    attn_buffer_release(&text);
}

/* Those of the strings that JSON can hold. */
static struct attn_naughty *make_words(size_t *n)
{
    struct attn_naughty *words = malloc(attn_n_naughty * sizeof *words);

    ck_assert_ptr_nonnull(words);
    *n = 0;
    for (size_t i = 0; i < attn_n_naughty; i++)
        if (attn_naughty_is_utf8(&attn_naughty[i]))
            words[(*n)++] = attn_naughty[i];
    return words;
}

/* Names of the members of the archive PATH, each of which is NAMES[i]. */
static void assert_members(const char *path, const char *const *names, size_t n)
{
    struct attn_part file = attn_part_read(path);
    const unsigned char *at = file.bytes, *end = file.bytes + file.size;
    size_t n_found = 0;

    while ((at = memmem(at, (size_t)(end - at), "PK\1\2", 4)) != NULL) {
        size_t size = at[28] | (size_t)at[29] << 8, i = 0;

        while (i < n && (strlen(names[i]) != size || memcmp(names[i], at + 46, size) != 0))
            i++;
        ck_assert_msg(i < n, "the archive has '%.*s'", (int)size, at + 46);
        n_found++;
        at += 46;
    }
    ck_assert_uint_eq(n_found, n);
    free(file.bytes);
}

START_TEST(any_word_of_a_vocabulary_reads_back_from_every_output)
{
    static const char *const csv_files[] = {"L00H00.pattern.csv", "L00H00.z.csv"};
    static const char *const npy_files[] = {"blocks.0.attn.hook_pattern.npy",
                                            "blocks.0.attn.hook_z.npy", "ids.npy", "tokens.npy"};
    struct attn_buffer ids = {0};
    struct attn_ran ran;
    struct attn_naughty *words;
    size_t n;
    char *json;

    enter();
    words = make_words(&n);
    write_word_model(words, n);
    for (size_t i = 0; i < n; i++)
        attn_buffer_append_format(&ids, "%zu ", i);
    ran = attn_command((const char *const[]){"run", "-m", ".", "--ids", attn_buffer_string(&ids),
                                             "--csv", "c", "--npy", "n", "--tidy", "tidy", "--json",
                                             "json", "--npz", "npz", NULL});
    ck_assert_msg(ran.exit == 0, "%s", ran.err);
    ck_assert_uint_eq(ran.n_out + ran.n_err, 0);
    attn_ran_release(&ran);
    assert_csv("c/L00H00.pattern.csv", true, words, n);
    assert_csv("c/L00H00.z.csv", false, words, n);
    assert_tidy("tidy", words, n);
    json = attn_file_text("json");
    assert_json(json, words, n);
    free(json);
    assert_members("npz", npy_files, 4);
    assert_holds("c", csv_files, 2);
    assert_holds("n", npy_files, 4);
    ck_assert_uint_eq(attn_folder_count(), 6); /* three of the model, tidy, json, npz */
    for (size_t i = 0; i + 3 < n;
         i += 3 * attn_one_in(ATTN_NAUGHTY_STEP)) { /* the text output shows few tokens whole */
        char few[64];

        snprintf(few, sizeof few, "%zu %zu %zu", i, i + 1, i + 2);
        ran = attn_command((const char *const[]){"run", "-m", ".", "--ids", few, NULL});
        ck_assert_msg(ran.exit == 0, "%s", ran.err);
        attn_assert_printable(words[i].text, ran.out, ran.n_out);
        attn_ran_release(&ran);
    }
    ran = attn_command((const char *const[]){"run", "-m", ".", "no such word", NULL});
    attn_assert_failed("an unknown word", &ran, 4);
    attn_ran_release(&ran);
    attn_buffer_release(&ids);
    free(words);
    attn_folder_leave();
}
END_TEST

START_TEST(any_name_of_a_tensor_is_shown_printably)
{
    struct attn_buffer header = {0};
    struct attn_naughty *names;
    struct attn_image image;
    struct attn_ran ran;
    size_t n;

    enter();
    names = make_words(&n);
    for (size_t i = 0; i < n; i++) {
        if (!attn_naughty_is_argument(&names[i]))
            continue; /* a name without NUL */
        attn_buffer_append_string(&header, header.size == 0 ? "{" : ",");
        append_json_string(&header, &names[i]);
        attn_buffer_append_string(&header,
                                  ":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}");
    }
    attn_buffer_append_string(&header, "}");
    image = attn_image_make(header.data, header.size, 0);
    attn_folder_write("odd.safetensors", image.bytes, image.size);
    ran = attn_command((const char *const[]){"inspect", "odd.safetensors", NULL});
    ck_assert_msg(ran.exit == 0, "%s", ran.err);
    drop_marks(&ran);
    attn_assert_printable("names", ran.out, ran.n_out);
    attn_ran_release(&ran);
    ran = attn_command((const char *const[]){"inspect", "--json", "odd.safetensors", NULL});
    ck_assert_msg(ran.exit == 0, "%s", ran.err);
    attn_assert_printable("names", ran.out, ran.n_out);
    attn_ran_release(&ran);
    free(image.bytes);
    for (size_t i = 0; i < n;
         i += attn_one_in(ATTN_NAUGHTY_STEP)) { /* the name in an error: there is no type F33 */
        attn_buffer_reset(&header);
        attn_buffer_append_string(&header, "{");
        append_json_string(&header, &names[i]);
        attn_buffer_append_string(&header,
                                  ":{\"dtype\":\"F33\",\"shape\":[0],\"data_offsets\":[0,0]}}");
        image = attn_image_make(header.data, header.size, 0);
        attn_folder_write("odd.safetensors", image.bytes, image.size);
        ran = attn_command((const char *const[]){"inspect", "odd.safetensors", NULL});
        attn_assert_failed(names[i].text, &ran, 3);
        attn_ran_release(&ran);
        free(image.bytes);
    }
    ck_assert_uint_eq(attn_folder_count(), 1);
    attn_buffer_release(&header);
    free(names);
    attn_folder_leave();
}
END_TEST

/* --- Names of folders ------------------------------------------------------------------------ */

START_TEST(a_model_may_lie_in_a_folder_of_any_name)
{
    static const char *const parts[] = {"config.json", "vocab.json", "model.safetensors"};
    static const struct attn_naughty words[] = {{"a", 1}, {"b", 1}};
    struct attn_part bytes[3];

    enter();
    write_word_model(words, 2);
    for (int i = 0; i < 3; i++) {
        bytes[i] = attn_part_read(parts[i]);
        remove(parts[i]);
    }
    for (size_t s = 0; s < attn_n_naughty; s += attn_one_in(ATTN_NAUGHTY_STEP)) {
        const struct attn_naughty *string = &attn_naughty[s];
        char path[512];
        struct attn_ran ran;

        if (!attn_naughty_is_file_name(string))
            continue;
        ck_assert_int_eq(mkdir(string->text, 0777), 0);
        snprintf(path, sizeof path, "./%s", string->text);
        ran = attn_command((const char *const[]){"run", "-m", path, "a b", NULL});
        attn_assert_failed(string->text, &ran, 3); /* it is empty */
        attn_ran_release(&ran);
        for (int i = 0; i < 3; i++) {
            snprintf(path, sizeof path, "%s/%s", string->text, parts[i]);
            attn_folder_write(path, bytes[i].bytes, bytes[i].size);
        }
        snprintf(path, sizeof path, "./%s", string->text);
        ran = attn_command((const char *const[]){"run", "-m", path, "a b", "--json", "-", NULL});
        ck_assert_msg(ran.exit == 0, "%s", ran.err);
        assert_json(ran.out, words, 2);
        attn_assert_printable(string->text, ran.out, ran.n_out);
        attn_ran_release(&ran);
        ran = attn_command((const char *const[]){"inspect", path, NULL});
        ck_assert_msg(ran.exit == 0, "%s", ran.err);
        attn_assert_printable(string->text, ran.out, ran.n_out);
        attn_ran_release(&ran);
        assert_holds(string->text, parts, 3);
    }
    for (int i = 0; i < 3; i++)
        free(bytes[i].bytes);
    ck_assert_uint_eq(attn_folder_count(), 0);
    attn_folder_leave();
}
END_TEST

/* --- Arguments and the environment ----------------------------------------------------------- */

/* A command line with STRING in it, which may be good by chance. */
static void check_arguments(const struct attn_naughty *string, const char *const *environment,
                            const char *const *args)
{
    struct attn_ran ran = attn_command_in(environment, args);

    if (ran.exit != 0) {
        ck_assert_msg(ran.exit >= 2 && ran.exit <= 4, "exit %d: %s", ran.exit, ran.err);
        attn_assert_failed(string->text, &ran, ran.exit);
        ck_assert_msg(ran.n_err < 1200, "%zu bytes of message", ran.n_err);
    }
    attn_ran_release(&ran);
}

START_TEST(any_argument_is_refused_in_one_printable_line)
{
    static const char *const options[] = {
        "--layers", "--heads",  "--queries", "--sites",   "--threads", "--precision",
        "--load",   "--top",    "--next",    "--special", "--ids",     "--file",
        "--model",  "--config", "--vocab",   "--weights", "--ablate",  "--knockout",
    };
    const size_t n_option = sizeof options / sizeof *options;
    const char *const nothing[] = {NULL};

    enter();
    for (size_t i = 0; i < attn_n_naughty; i += attn_one_in(ATTN_NAUGHTY_STEP)) {
        const struct attn_naughty *string = &attn_naughty[i];
        char *word = malloc(string->size + 3);

        ck_assert_ptr_nonnull(word);
        memcpy(word, "--", 2);
        memcpy(word + 2, string->text, string->size);
        word[string->size + 2] = '\0';
        if (attn_naughty_is_argument(string)) { /* as a command, an option, letters, a value */
            check_arguments(string, nothing, (const char *const[]){string->text, NULL});
            check_arguments(string, nothing,
                            (const char *const[]){
                                "run", word + i / attn_one_in(ATTN_NAUGHTY_STEP) % 2, "x", NULL});
            for (size_t o = 0; o < 2; o++)
                check_arguments(string, nothing,
                                (const char *const[]){"run", options[(2 * i + o) % n_option],
                                                      string->text, "Life is short", NULL});
        }
        free(word);
    }
    ck_assert_uint_eq(attn_folder_count(), 0);
    attn_folder_leave();
}
END_TEST

START_TEST(any_environment_is_refused_in_one_printable_line)
{
    static const char *const variables[] = {
        "ATTN_CLI_MODEL", "ATTN_CLI_THREADS", "ATTN_CLI_MODEL_PATH", "ATTN_CLI_ISA",
        "ATTN_CLI_GEMM",  "ATTN_CLI_CACHE",   "LIBXSMM_VERBOSE"};
    const size_t n_variable = sizeof variables / sizeof *variables;

    enter();
    for (size_t i = 0; i < attn_n_naughty; i += attn_one_in(ATTN_NAUGHTY_STEP)) {
        const struct attn_naughty *string = &attn_naughty[i];
        struct attn_buffer text = {0};

        if (!attn_naughty_is_argument(string))
            continue;
        attn_buffer_append_format(&text, "%s=%s",
                                  variables[i / attn_one_in(ATTN_NAUGHTY_STEP) % n_variable],
                                  string->text);
        check_arguments(string, (const char *const[]){attn_buffer_string(&text), NULL},
                        (const char *const[]){"run", "Life is short", NULL});
        attn_buffer_release(&text);
    }
    ck_assert_uint_eq(attn_folder_count(), 0);
    attn_folder_leave();
}
END_TEST

START_TEST(huge_arguments_give_short_messages)
{
    static const char *const fillings[] = {"a", "\x1b", "\"", "\xf0\x9f\x98\x80", "0,"};
    static const struct attn_naughty name = {"a huge argument", 0};
    const char *const nothing[] = {NULL};

    enter();
    for (size_t f = 0; f < sizeof fillings / sizeof *fillings; f++) {
        struct attn_buffer text = {0};
        const char *huge;

        attn_buffer_append_string(&text, "--");
        while (text.size < 100000)
            attn_buffer_append_string(&text, fillings[f]);
        huge = attn_buffer_string(&text);
        check_arguments(&name, nothing, (const char *const[]){huge, NULL});
        check_arguments(&name, nothing, (const char *const[]){"run", huge, NULL});
        check_arguments(&name, nothing, (const char *const[]){"run", huge + 2, NULL});
        check_arguments(&name, nothing, (const char *const[]){"run", "-m", huge + 2, "x", NULL});
        check_arguments(&name, nothing,
                        (const char *const[]){"run", "--sites", huge + 2, "x", NULL});
        check_arguments(&name, nothing,
                        (const char *const[]){"run", "--heads", huge + 2, "x", NULL});
        check_arguments(&name, nothing, (const char *const[]){"run", "-t", huge + 2, "x", NULL});
        check_arguments(&name, nothing,
                        (const char *const[]){"run", "--load", huge + 2, "x", NULL});
        check_arguments(&name, nothing, (const char *const[]){"run", "--ids", huge + 2, NULL});
        attn_buffer_release(&text);
    }
    attn_folder_leave();
}
END_TEST

ATTN_SUITE("cli_text", a_text_of_any_bytes_is_refused_printably,
           a_text_of_byte_pairs_reads_back_from_every_output, any_continuation_is_shown_printably,
           any_word_of_a_vocabulary_reads_back_from_every_output,
           any_name_of_a_tensor_is_shown_printably, a_model_may_lie_in_a_folder_of_any_name,
           any_argument_is_refused_in_one_printable_line,
           any_environment_is_refused_in_one_printable_line, huge_arguments_give_short_messages)
