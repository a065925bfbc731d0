/*
 * fuzz_vocab.c - vocab.json as the only file of a tokenizer of words, and again beside a
 * merges.txt.
 *
 * An accepted vocabulary has the keys of the file, each found with the id that the file gives it;
 * every id decodes to its key.
 */
#include "formats/json_reader.h"
#include "tests/fuzz/fuzz.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_internal.h"
#include "tokenizer/vocabulary.h"

#include <string.h>

/* Compares with the file, pulled again. */
static void check_keys(const struct attn_vocabulary *vocabulary, const uint8_t *data, size_t size)
{
    struct attn_json_reader reader = attn_json_reader_init((const char *)data, size, "vocab.json");
    struct attn_json_token token;
    struct attn_error err = {0};
    struct attn_buffer key = {0};
    size_t n = 0;

    FUZZ_CHECK(attn_json_next(&reader, &token, &err) == ATTN_OK);
    while (attn_json_next(&reader, &token, &err) == ATTN_OK && token.type == ATTN_JSON_KEY) {
        size_t key_size;
        uint64_t id;
        const char *found;

        attn_buffer_reset(&key);
        attn_json_unescape(&token, &key);
        FUZZ_CHECK(attn_json_next(&reader, &token, &err) == ATTN_OK && attn_json_uint(&token, &id));
        FUZZ_CHECK(id < vocabulary->n);
        FUZZ_CHECK(attn_vocabulary_find(vocabulary, attn_buffer_string(&key), key.size) ==
                   (int32_t)id);
        found = attn_vocabulary_key(vocabulary, (int32_t)id, &key_size);
        FUZZ_CHECK(key_size == key.size &&
                   (key.size == 0 || memcmp(found, key.data, key.size) == 0));
        n++;
    }
    FUZZ_CHECK(n == vocabulary->n);
    attn_buffer_release(&key);
}

static bool check_vocabulary(const uint8_t *data, size_t size, struct attn_vocabulary *vocabulary)
{
    struct attn_file file = attn_fuzz_file("vocab.json", data, size);
    struct attn_error err = {0};
    enum attn_status status = attn_vocabulary_read(vocabulary, &file, &err);

    if (status == ATTN_OK)
        status = attn_vocabulary_finish(vocabulary, file.path, false, &err);
    if (status == ATTN_OK)
        status = attn_vocabulary_index(vocabulary, file.path, &err);
    attn_fuzz_check_error(status, &err, FUZZ_BIT(ATTN_FORMAT));
    if (status == ATTN_OK)
        check_keys(vocabulary, data, size);
    attn_file_release(&file);
    return status == ATTN_OK;
}

static void check_tokens(const struct attn_tokenizer *tokenizer,
                         const struct attn_vocabulary *vocabulary)
{
    struct attn_error err = {0};

    FUZZ_CHECK(attn_tokenizer_n_vocab(tokenizer) == vocabulary->n);
    FUZZ_CHECK(attn_tokenizer_token(tokenizer, -1, NULL) == NULL);
    FUZZ_CHECK(attn_tokenizer_token(tokenizer, (int32_t)vocabulary->n, NULL) == NULL);
    for (int32_t id = 0; (size_t)id < vocabulary->n; id++) {
        size_t size = SIZE_MAX, text_size = 0, key_size;
        const char *token = attn_tokenizer_token(tokenizer, id, &size);
        char *text = NULL;

        (void)attn_vocabulary_key(vocabulary, id, &key_size);
        FUZZ_CHECK(size <= key_size);
        FUZZ_CHECK(attn_tokenizer_decode(tokenizer, &id, 1, &text, &text_size, &err) == ATTN_OK);
        FUZZ_CHECK(text_size == size && (size == 0 || memcmp(text, token, size) == 0));
        FUZZ_CHECK(text[text_size] == '\0');
        attn_tokenizer_text_free(text);
    }
}

/* Opens a tokenizer and encodes every key with it. */
static void check_tokenizer(const struct attn_source *source,
                            const struct attn_vocabulary *vocabulary)
{
    struct attn_tokenizer *tokenizer = NULL;
    struct attn_encoding encoding = {0};
    struct attn_error err = {0};
    enum attn_status status = attn_tokenizer_open(source, &tokenizer, &err);

    attn_fuzz_check_error(status, &err, FUZZ_BIT(ATTN_FORMAT));
    if (vocabulary == NULL)
        FUZZ_CHECK(status != ATTN_OK);
    if (status == ATTN_OK) {
        check_tokens(tokenizer, vocabulary);
        for (size_t i = 0; i < vocabulary->n; i++) {
            size_t size;
            const char *key = attn_vocabulary_key(vocabulary, (int32_t)i, &size);

            err = (struct attn_error){0};
            status =
                attn_tokenizer_encode(tokenizer, key, size, &ATTN_ENCODE_DEFAULT, &encoding, &err);
            attn_fuzz_check_error(status, &err, FUZZ_BIT(ATTN_INVALID));
            for (size_t k = 0; k < encoding.n; k++)
                FUZZ_CHECK(encoding.begin[k] < encoding.end[k] && encoding.end[k] <= size);
        }
    }
    attn_encoding_release(&encoding);
    attn_tokenizer_free(tokenizer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char config[] = "{\"tokenizer\": {\"type\": \"word\"}}";
    const struct attn_blob files[] = {{"vocab.json", data, size},
                                      {"merges.txt", "#version: 0.2\n", 14},
                                      {"config.json", config, sizeof config - 1}};
    const struct attn_blob word_files[] = {files[0], files[2]};
    struct attn_vocabulary vocabulary = {0};
    const bool is_ok = check_vocabulary(data, size, &vocabulary);

    check_tokenizer(&(struct attn_source){.name = "words", .blobs = word_files, .n_blob = 2},
                    is_ok ? &vocabulary : NULL);
    if (is_ok && size % 4 == 0) /* not always: compiling the split rule takes most of the time */
        check_tokenizer(&(struct attn_source){.name = "bpe", .blobs = files, .n_blob = 2},
                        &vocabulary);
    attn_vocabulary_release(&vocabulary);
    return 0;
}
