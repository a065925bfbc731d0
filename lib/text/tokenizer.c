/* tokenizer.c - see tokenizer.h: opening, and the choice between the two kinds. */
#include "text/tokenizer.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/utf8.h"
#include "text/byte_level.h"
#include "text/normalized.h"
#include "text/settings.h"
#include "text/tokenizer_internal.h"
#include "text/word_level.h"

#include <string.h>

struct attn_tokenizer {
    enum attn_tokenizer_kind kind;
    struct attn_settings settings;
    struct attn_vocabulary vocabulary;
    struct attn_word_level words; /* the other kinds */
    struct attn_byte_level bpe;   /* ATTN_TOKENIZER_BPE */
};

static enum attn_status read_vocabulary(struct attn_vocabulary *vocabulary,
                                        const struct attn_source *source, struct attn_error *err)
{
    struct attn_file file = {0};
    enum attn_status status;

    if (!attn_source_has_part(source, "vocab.json") &&
        attn_source_has_part(source, "tokenizer.json"))
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "'tokenizer.json' alone is not supported, expected 'vocab.json' (and "
                              "'merges.txt') beside it");
    status = attn_file_read_part(source, "vocab.json", &file, err);
    if (status == ATTN_OK)
        status = attn_vocabulary_read(vocabulary, &file, err);
    if (status == ATTN_OK)
        status = attn_vocabulary_finish(vocabulary, file.path, err);
    attn_file_close(&file);
    return status;
}

/* Words rarely begin with the letter that stands for a space in byte-level vocabularies. */
static enum attn_status check_is_words(const struct attn_vocabulary *vocabulary,
                                       struct attn_error *err)
{
    static const char space[] = "\xc4\xa0"; /* U+0120 */
    size_t n_space = 0;

    for (size_t i = 0; i < vocabulary->n; i++) {
        size_t size;
        const char *key = attn_vocabulary_key(vocabulary, (int32_t)i, &size);

        n_space += size >= sizeof space - 1 && memcmp(key, space, sizeof space - 1) == 0;
    }
    if (n_space <= vocabulary->n / 32)
        return ATTN_OK;
    attn_error_set(err, ATTN_FORMAT,
                   "the vocabulary is one of byte-level BPE (%zu of its %zu tokens begin with "
                   "'%s'), but 'merges.txt' is missing",
                   n_space, vocabulary->n, space);
    attn_error_hint(err,
                    "if its tokens are words, say so in config.json: \"tokenizer\": {\"type\": "
                    "\"word\"}");
    return ATTN_FORMAT;
}

static enum attn_status open_words(struct attn_tokenizer *tokenizer, struct attn_error *err)
{
    const char *unk = tokenizer->settings.unk;
    enum attn_status status = ATTN_OK;

    if (!tokenizer->settings.has_kind)
        status = check_is_words(&tokenizer->vocabulary, err);
    tokenizer->words =
        (struct attn_word_level){.vocabulary = &tokenizer->vocabulary,
                                 .rule = {tokenizer->kind == ATTN_TOKENIZER_CHARACTER,
                                          tokenizer->settings.drop, tokenizer->settings.n_drop},
                                 .unk = -1};
    if (status != ATTN_OK || !unk)
        return status;
    tokenizer->words.unk = attn_vocabulary_find(&tokenizer->vocabulary, unk, strlen(unk));
    if (tokenizer->words.unk < 0)
        return attn_error_set(err, ATTN_FORMAT,
                              "the config's 'unk' token '%s' is not in the vocabulary",
                              attn_quote_string(unk).text);
    return ATTN_OK;
}

static enum attn_status open_bpe(struct attn_tokenizer *tokenizer, const struct attn_source *source,
                                 struct attn_error *err)
{
    if (tokenizer->settings.n_drop > 0 || tokenizer->settings.unk)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "the config's 'drop' and 'unk' are for word level, but the tokenizer "
                              "is byte-level BPE");
    return attn_byte_level_open(&tokenizer->bpe, source, &tokenizer->vocabulary, err);
}

enum attn_status attn_tokenizer_open(const struct attn_source *source, struct attn_tokenizer **out,
                                     struct attn_error *err)
{
    struct attn_tokenizer *tokenizer = attn_alloc(1, sizeof *tokenizer, err);
    enum attn_status status;

    if (!tokenizer)
        return ATTN_NO_MEMORY;
    status = attn_settings_read(&tokenizer->settings, source, err);
    if (status == ATTN_OK)
        status = read_vocabulary(&tokenizer->vocabulary, source, err);
    if (status != ATTN_OK)
        goto fail;
    if (tokenizer->settings.has_kind)
        tokenizer->kind = tokenizer->settings.kind;
    else
        tokenizer->kind =
            attn_source_has_part(source, "merges.txt") ? ATTN_TOKENIZER_BPE : ATTN_TOKENIZER_WORD;
    if (tokenizer->kind == ATTN_TOKENIZER_BPE)
        status = open_bpe(tokenizer, source, err);
    else
        status = open_words(tokenizer, err);
    if (status != ATTN_OK)
        goto fail;
    *out = tokenizer;
    return ATTN_OK;
fail:
    attn_tokenizer_close(tokenizer);
    return status;
}

void attn_tokenizer_close(struct attn_tokenizer *tokenizer)
{
    if (!tokenizer)
        return;
    attn_settings_release(&tokenizer->settings);
    attn_vocabulary_release(&tokenizer->vocabulary);
    attn_byte_level_release(&tokenizer->bpe);
    attn_free(tokenizer);
}

enum attn_tokenizer_kind attn_tokenizer_kind(const struct attn_tokenizer *tokenizer)
{
    return tokenizer->kind;
}

size_t attn_tokenizer_n_vocab(const struct attn_tokenizer *tokenizer)
{
    return tokenizer->vocabulary.n;
}

const char *attn_tokenizer_note(const struct attn_tokenizer *tokenizer)
{
    return tokenizer->bpe.note;
}

/* Words of TEXT with the bytes that are not UTF-8 replaced, if that is asked. */
static enum attn_status encode_words(const struct attn_word_level *words, const char *text,
                                     size_t size, bool replace, struct attn_encoding *encoding,
                                     struct attn_error *err)
{
    struct attn_normalized normalized = {0};
    enum attn_status status = attn_normalized_set(
        &normalized, text, size, (struct attn_normalization){.replaces_invalid = replace}, err);

    if (status == ATTN_OK)
        status = attn_word_level_encode(words, &normalized, encoding, err);
    if (status == ATTN_OK)
        attn_normalized_map_offsets(&normalized, 0, 0, encoding);
    attn_normalized_release(&normalized);
    return status;
}

enum attn_status attn_tokenizer_encode(const struct attn_tokenizer *tokenizer, const char *text,
                                       size_t size, const struct attn_encode_options *given,
                                       struct attn_encoding *encoding, struct attn_error *err)
{
    struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    size_t n_valid = attn_utf8_valid_length(text, size);
    bool is_word = tokenizer->kind != ATTN_TOKENIZER_BPE;
    enum attn_status status = attn_options_read(given, &options, err);

    encoding->n = encoding->n_front = encoding->n_back = 0;
    if (status != ATTN_OK)
        return status;
    if (n_valid == size)
        options.invalid = ATTN_INVALID_TEXT_REFUSE; /* there is nothing to do about */
    else if (options.invalid == ATTN_INVALID_TEXT_REFUSE)
        return attn_error_set(err, ATTN_INVALID, "the text is not UTF-8 at byte %zu: found '%s'",
                              n_valid, attn_quote(text + n_valid, 1).text);
    else if (options.invalid == ATTN_INVALID_TEXT_BYTES && is_word)
        return attn_error_set(err, ATTN_INVALID,
                              "the text is not UTF-8 at byte %zu, and only a byte-level BPE can "
                              "encode bytes",
                              n_valid);
    if (is_word)
        status = encode_words(&tokenizer->words, text, size,
                              options.invalid == ATTN_INVALID_TEXT_REPLACE, encoding, err);
    else
        status = attn_byte_level_encode(&tokenizer->bpe, text, size, &options, encoding, err);
    if (status != ATTN_OK)
        encoding->n = 0;
    return status;
}

const char *attn_tokenizer_token(const struct attn_tokenizer *tokenizer, int32_t id, size_t *size)
{
    if (id < 0 || (size_t)id >= tokenizer->vocabulary.n)
        return NULL;
    if (tokenizer->kind == ATTN_TOKENIZER_BPE)
        return attn_byte_level_token(&tokenizer->bpe, id, size);
    return attn_vocabulary_key(&tokenizer->vocabulary, id, size);
}

bool attn_tokenizer_is_special(const struct attn_tokenizer *tokenizer, int32_t id)
{
    return tokenizer->kind == ATTN_TOKENIZER_BPE && id >= 0 &&
           (size_t)id < tokenizer->vocabulary.n && tokenizer->bpe.specials.is_special[id];
}

enum attn_status attn_tokenizer_decode(const struct attn_tokenizer *tokenizer, const int32_t *ids,
                                       size_t n, char **text, size_t *size, struct attn_error *err)
{
    struct attn_buffer out = {0};
    enum attn_status status = ATTN_OK;

    for (size_t i = 0; i < n; i++) {
        size_t token_size = 0;
        const char *token = attn_tokenizer_token(tokenizer, ids[i], &token_size);

        if (!token) {
            status =
                attn_error_set(err, ATTN_INVALID,
                               "id %d at position %zu is not in the vocabulary, expected 0..%zu",
                               (int)ids[i], i, tokenizer->vocabulary.n - 1);
            goto fail;
        }
        if (i > 0 && tokenizer->kind == ATTN_TOKENIZER_WORD)
            attn_buffer_append_char(&out, ' ');
        attn_buffer_append(&out, token, token_size);
    }
    (void)attn_buffer_string(&out);
    status = attn_buffer_check(&out, err);
    if (status != ATTN_OK)
        goto fail;
    *text = out.data; /* the buffer's memory is handed on */
    *size = out.size;
    return ATTN_OK;
fail:
    attn_buffer_release(&out);
    return status;
}

void attn_text_free(char *text)
{
    attn_free(text);
}

/* Grows one of the arrays; *CAPACITY is what all of them have and stays as it is. */
static enum attn_status grow_array(void **array, size_t capacity, size_t need, size_t size,
                                   struct attn_error *err)
{
    return attn_grow(array, &capacity, need, size, err);
}

enum attn_status attn_encoding_reserve(struct attn_encoding *encoding, size_t need,
                                       struct attn_error *err)
{
    if (need <= encoding->capacity)
        return ATTN_OK;
    size_t capacity = encoding->capacity < 32 ? 64 : encoding->capacity * 2;
    if (capacity < need)
        capacity = need;
    void *ids = encoding->ids, *begin = encoding->begin, *end = encoding->end;
    enum attn_status status = grow_array(&ids, encoding->capacity, capacity, sizeof(int32_t), err);
    if (status == ATTN_OK)
        status = grow_array(&begin, encoding->capacity, capacity, sizeof(size_t), err);
    if (status == ATTN_OK)
        status = grow_array(&end, encoding->capacity, capacity, sizeof(size_t), err);
    /* An array that grew has moved, even when the next one could not grow. */
    encoding->ids = ids;
    encoding->begin = begin;
    encoding->end = end;
    if (status == ATTN_OK)
        encoding->capacity = capacity;
    return status;
}

void attn_encoding_release(struct attn_encoding *encoding)
{
    attn_free(encoding->ids);
    attn_free(encoding->begin);
    attn_free(encoding->end);
    *encoding = (struct attn_encoding){0};
}
