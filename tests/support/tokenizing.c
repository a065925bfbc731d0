/* tokenizing.c - see tokenizing.h. */
#include "tests/support/tokenizing.h"

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
