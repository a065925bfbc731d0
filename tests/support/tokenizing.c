/* tokenizing.c - see tokenizing.h. */
#include "tests/support/tokenizing.h"

#include "base/text/escape.h"
#include "tests/support/assert.h"

#include <string.h>

enum { N_FILE = 6 };

/* The source of FILES, by way of BLOBS. */
static struct attn_source source_of(const struct attn_tokenizer_files *files,
                                    struct attn_blob blobs[N_FILE])
{
    const struct attn_blob all[N_FILE] = {
        {"config.json", files->config, 0},
        {"vocab.json", files->vocab, 0},
        {"merges.txt", files->merges, 0},
        {"added_tokens.json", files->added, 0},
        {"special_tokens_map.json", files->special, 0},
        {"tokenizer_config.json", files->hf_config, 0},
    };
    struct attn_source source = {.name = "toy", .blobs = blobs};

    for (size_t i = 0; i < N_FILE; i++) {
        if (!all[i].data)
            continue;
        blobs[source.n_blob] = all[i];
        blobs[source.n_blob++].size = strlen(all[i].data);
    }
    return source;
}

enum attn_status attn_try_tokenizer(const struct attn_tokenizer_files *files,
                                    struct attn_tokenizer **tokenizer, struct attn_error *err)
{
    struct attn_blob blobs[N_FILE];
    const struct attn_source source = source_of(files, blobs);

    return attn_tokenizer_open(&source, tokenizer, err);
}

enum attn_status attn_try_lazy_tokenizer(const struct attn_tokenizer_files *files,
                                         attn_note_fn on_note, void *user,
                                         struct attn_tokenizer **tokenizer, struct attn_error *err)
{
    struct attn_blob blobs[N_FILE];
    const struct attn_source source = source_of(files, blobs);

    return attn_tokenizer_open_lazily(&source, on_note, user, tokenizer, err);
}

struct attn_tokenizer *attn_make_tokenizer(const struct attn_tokenizer_files *files)
{
    struct attn_tokenizer *tokenizer = NULL;
    struct attn_error err = {0};

    if (attn_try_tokenizer(files, &tokenizer, &err) != ATTN_OK)
        ck_abort_msg("%s", err.message);
    return tokenizer;
}

void attn_assert_refused(const struct attn_tokenizer_files *files, enum attn_status status,
                         const char *message)
{
    struct attn_tokenizer *tokenizer = NULL;
    struct attn_error err = {0};
    enum attn_status found = attn_try_tokenizer(files, &tokenizer, &err);

    attn_tokenizer_free(tokenizer);
    ck_assert_ptr_null(tokenizer);
    ck_assert_str_eq(err.message, message);
    ck_assert_int_eq(found, status);
}

void attn_assert_tokens(const struct attn_tokenizer *tokenizer, const char *text, size_t size,
                        const struct attn_encode_options *options,
                        const struct attn_expected_token *expected, size_t n)
{
    struct attn_encoding encoding = {0};
    struct attn_error err = {0};

    if (attn_tokenizer_encode(tokenizer, text, size, options ? options : &ATTN_ENCODE_DEFAULT,
                              &encoding, &err) != ATTN_OK)
        ck_abort_msg("%s", err.message);
    for (size_t i = 0; i < n && i < encoding.n; i++)
        if (encoding.ids[i] != expected[i].id || encoding.begin[i] != expected[i].begin ||
            encoding.end[i] != expected[i].end)
            ck_abort_msg("token %zu is %d at %zu..%zu, expected %d at %zu..%zu", i,
                         (int)encoding.ids[i], encoding.begin[i], encoding.end[i],
                         (int)expected[i].id, expected[i].begin, expected[i].end);
    ck_assert_uint_eq(encoding.n, n);
    attn_encoding_release(&encoding);
}

void attn_assert_text_refused(const struct attn_tokenizer *tokenizer, const char *text, size_t size,
                              const struct attn_encode_options *options, const char *message,
                              const char *hint)
{
    struct attn_encoding encoding = {0};
    struct attn_error err = {0};
    enum attn_status status = attn_tokenizer_encode(
        tokenizer, text, size, options ? options : &ATTN_ENCODE_DEFAULT, &encoding, &err);

    ck_assert_str_eq(err.message, message);
    ck_assert_str_eq(err.hint, hint);
    ck_assert_int_eq(status, ATTN_INVALID);
    ck_assert_uint_eq(encoding.n, 0);
    attn_encoding_release(&encoding);
}

size_t attn_each_case(char *path, const struct attn_tokenizer *tokenizer,
                      void (*take)(const struct attn_tokenizer *tokenizer,
                                   const struct attn_json *json))
{
    struct attn_file file = {0};
    struct attn_error err = {0};
    size_t n = 0;

    ck_assert(attn_file_open(path, ATTN_READ, &file, &err) == ATTN_OK);
    for (size_t at = 0, end; at < file.size; at = end + 1, n++) {
        const unsigned char *newline = memchr(file.data + at, '\n', file.size - at);
        struct attn_file line = {.data = file.data + at, .path = path};
        struct attn_json *json = NULL;

        ck_assert_ptr_nonnull(newline);
        end = (size_t)(newline - file.data);
        line.size = end - at;
        ck_assert_msg(attn_json_parse(&line, &json, &err) == ATTN_OK, "%s", err.message);
        take(tokenizer, json);
        attn_json_free(json);
    }
    attn_file_release(&file);
    return n;
}

const struct attn_node *attn_case_field(const struct attn_json *json, const char *key)
{
    return attn_node_find(attn_json_root(json), key);
}

void attn_assert_ids(const struct attn_encoding *encoding, const struct attn_node *list,
                     const char *text)
{
    const struct attn_node *node = attn_node_first(list);
    int64_t id;

    for (size_t i = 0; i < encoding->n; i++, node = attn_node_next(node)) {
        ck_assert_msg(node && attn_node_int(node, &id), "'%s' has more tokens than expected",
                      attn_quote_string(text).text);
        ck_assert_msg(encoding->ids[i] == id, "token %zu of '%s' is %d, expected %d", i,
                      attn_quote_string(text).text, (int)encoding->ids[i], (int)id);
    }
    ck_assert_msg(node == NULL, "'%s' has fewer tokens than expected",
                  attn_quote_string(text).text);
}

/* Whether AT lies within a character. */
static bool is_within(const char *text, size_t at)
{
    return ((unsigned char)text[at] & 0xc0) == 0x80;
}

void attn_assert_places(const struct attn_encoding *encoding, const struct attn_node *list,
                        const char *text)
{
    const struct attn_node *node = attn_node_first(list);
    const size_t n = encoding->n - encoding->n_back;

    for (size_t i = 0; i < n; i++, node = attn_node_next(node)) {
        const size_t begin = encoding->begin[i], end = encoding->end[i];
        int64_t first = 0, last = 0;
        bool is_part = is_within(text, begin) || is_within(text, end);

        attn_node_int(attn_node_first(node), &first);
        attn_node_int(attn_node_next(attn_node_first(node)), &last);
        if (is_part && begin < end)
            ck_assert_msg(begin >= (size_t)first && end <= (size_t)last,
                          "token %zu of '%s' is %zu..%zu, expected within %d..%d", i,
                          attn_quote_string(text).text, begin, end, (int)first, (int)last);
        else
            ck_assert_msg(begin == (size_t)first && end == (size_t)last,
                          "token %zu of '%s' is %zu..%zu, expected %d..%d", i,
                          attn_quote_string(text).text, begin, end, (int)first, (int)last);
    }
}

void attn_write_byte_vocabulary(struct attn_buffer *out, const char *const *tokens, size_t n)
{
    unsigned next = 0x100;

    for (unsigned byte = 0; byte < 256; byte++) {
        bool is_hidden = byte < 33 || (byte >= 127 && byte < 161) || byte == 173;

        attn_buffer_append_format(out, "%s\"\\u%04x\": %u", byte == 0 ? "{" : ", ",
                                  is_hidden ? next++ : byte, byte);
    }
    for (size_t i = 0; i < n; i++)
        attn_buffer_append_format(out, ", \"%s\": %zu", tokens[i], 256 + i);
    attn_buffer_append_string(out, "}");
    ck_assert_ptr_nonnull(attn_buffer_string(out));
}
