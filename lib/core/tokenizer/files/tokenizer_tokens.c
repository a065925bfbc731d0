/*
 * tokenizer_tokens.c - the text of each single token of a tokenizer, as bytes.
 *
 * A run shows few tokens, so the bytes of a block of neighbouring tokens are computed when one of
 * them is first used, on the calling thread. They are never longer than the key, so they are stored
 * at the same offsets as the keys. Only if a decoder replaces parts of tokens, all tokens are
 * computed at once.
 */
#include "tokenizer/tokenizer_internal.h"

#include "base/memory.h"

#include <string.h>

enum { BLOCK_SIZE = 64 }; /* ids in a block */

/* Whether the text of token ID is its key. */
static bool is_literal(const struct attn_tokenizer *tokenizer, size_t id)
{
    return tokenizer->is_added[id] ||
           (tokenizer->kind != ATTN_TOKENIZER_BPE && tokenizer->kind != ATTN_TOKENIZER_UNIGRAM);
}

/* Decodes KEY if it is written in GPT-2's alphabet or names one byte. Writes the bytes to TO, which
 * has room for SIZE, and their number to *n. Returns false otherwise. */
static bool find_alphabet_bytes(const struct attn_tokenizer *tokenizer,
                                const struct attn_alphabet *alphabet, const char *key, size_t size,
                                char *to, size_t *n)
{
    int byte;

    if (tokenizer->bpe.is_by_byte && attn_alphabet_to_bytes(alphabet, key, size, to, n))
        return true;
    byte = tokenizer->bpe.has_byte_fallback ? attn_decode_named_byte(key, size) : -1;
    if (byte < 0)
        return false;
    *to = (char)byte;
    *n = 1;
    return true;
}

static void find_block(const struct attn_tokenizer *tokenizer, size_t block)
{
    const struct attn_vocabulary *vocabulary = &tokenizer->vocabulary;
    const struct attn_decoded *decoded = &tokenizer->decoded;
    const size_t first = block * BLOCK_SIZE, left = vocabulary->n - first;
    const size_t end = first + (left < BLOCK_SIZE ? left : BLOCK_SIZE);
    struct attn_alphabet alphabet;

    attn_alphabet_init(&alphabet);
    for (size_t i = first; i < end; i++) {
        size_t size, n = 0;
        const char *key = attn_vocabulary_key(vocabulary, (int32_t)i, &size);
        char *to = decoded->bytes + (key - vocabulary->keys.data);

        if (is_literal(tokenizer, i) ||
            !find_alphabet_bytes(tokenizer, &alphabet, key, size, to, &n)) {
            memcpy(to, key, size);
            n = size;
        }
        decoded->sizes[i] = (uint32_t)n;
    }
}

/* Appends the text of a single token KEY: the key itself, or the result of the decoder's steps. */
static void append_bytes(const struct attn_tokenizer *tokenizer,
                         const struct attn_alphabet *alphabet, const char *key, size_t size,
                         struct attn_strings one[2], struct attn_buffer *out)
{
    const struct attn_decode_steps *decoder = &tokenizer->decoder;
    size_t n;
    char *to = attn_buffer_reserve(out, size + 1);

    if (!to)
        return;
    if (find_alphabet_bytes(tokenizer, alphabet, key, size, to, &n)) {
        out->size += n;
        return;
    }
    attn_buffer_reset(&one->bytes);
    one->n = 0;
    attn_strings_append(one, key, size);
    for (size_t i = 0; i < decoder->n; i++) {
        struct attn_decode_step step = decoder->steps[i];

        step.start = 0; /* decode it like a token that is not the first */
        if (step.run == attn_decode_replace && attn_strings_check(one, NULL) == ATTN_OK)
            attn_decode_run_step(&step, &one[0], &one[1]);
    }
    attn_buffer_append(out, one->bytes.data, one->bytes.size);
}

/* Appends the texts of all tokens to OUT. ONE is scratch. */
static enum attn_status append_all(const struct attn_tokenizer *tokenizer, size_t *begin,
                                   struct attn_strings one[2], struct attn_buffer *out,
                                   struct attn_error *err)
{
    const struct attn_vocabulary *vocabulary = &tokenizer->vocabulary;
    struct attn_alphabet alphabet;

    attn_alphabet_init(&alphabet);
    (void)attn_buffer_reserve(out, vocabulary->keys.size); /* few tokens need more */
    for (size_t i = 0; i < vocabulary->n; i++) {
        size_t size;
        const char *key = attn_vocabulary_key(vocabulary, (int32_t)i, &size);

        begin[i] = out->size;
        if (is_literal(tokenizer, i))
            attn_buffer_append(out, key, size);
        else
            append_bytes(tokenizer, &alphabet, key, size, one, out);
        ATTN_TRY(attn_strings_check(one, err));
    }
    begin[vocabulary->n] = out->size;
    return attn_buffer_check(out, err);
}

static enum attn_status find_all(struct attn_decoded *decoded,
                                 const struct attn_tokenizer *tokenizer, struct attn_error *err)
{
    const struct attn_vocabulary *vocabulary = &tokenizer->vocabulary;
    struct attn_buffer all = {0};
    /* The results of the steps have a common limit for all tokens. Steps that never lengthen a
     * token cannot reach it, because there are fewer than 64. */
    struct attn_strings one[2] = {{.n_left = attn_layer_limit(vocabulary->keys.size)}};
    enum attn_status status;

    ATTN_TRY(ATTN_NEW(decoded->begin,
                      attn_alloc_uninitialized(vocabulary->n + 1, sizeof *decoded->begin, err)));
    status = append_all(tokenizer, decoded->begin, one, &all, err);
    attn_strings_release(&one[0]);
    attn_strings_release(&one[1]);
    decoded->bytes = all.data; /* takes over the buffer's memory */
    return status;
}

enum attn_status attn_decoded_prepare(struct attn_decoded *decoded,
                                      const struct attn_tokenizer *tokenizer,
                                      struct attn_error *err)
{
    const struct attn_vocabulary *vocabulary = &tokenizer->vocabulary;
    const struct attn_decode_steps *decoder = &tokenizer->decoder;

    for (size_t i = 0; i < decoder->n && tokenizer->kind != ATTN_TOKENIZER_WORDPIECE; i++)
        /* It may change the text of a single token. */
        if (decoder->steps[i].run == attn_decode_replace)
            return find_all(decoded, tokenizer, err);
    ATTN_TRY(ATTN_NEW(decoded->bytes, attn_alloc_uninitialized(vocabulary->keys.size, 1, err)));
    ATTN_TRY(ATTN_NEW(decoded->sizes,
                      attn_alloc_uninitialized(vocabulary->n, sizeof *decoded->sizes, err)));
    ATTN_TRY(ATTN_ALLOC(decoded->is_block_found, vocabulary->n / BLOCK_SIZE + 1, err));
    return attn_monitor_create(1, &decoded->monitor, err);
}

void attn_decoded_release(struct attn_decoded *decoded)
{
    attn_free(decoded->bytes);
    attn_free(decoded->begin);
    attn_free(decoded->sizes);
    attn_free(decoded->is_block_found);
    attn_monitor_free(decoded->monitor);
    *decoded = (struct attn_decoded){0};
}

const char *attn_decoded_find(const struct attn_tokenizer *tokenizer, int32_t id, size_t *size)
{
    const struct attn_decoded *decoded = &tokenizer->decoded;
    const size_t block = (size_t)id / BLOCK_SIZE;
    size_t begin;

    if (decoded->begin) {
        begin = decoded->begin[id];
        *size = decoded->begin[id + 1] - begin;
        return *size > 0 ? decoded->bytes + begin : "";
    }
    if (!atomic_load_explicit(&decoded->is_block_found[block], memory_order_acquire)) {
        attn_monitor_enter(decoded->monitor);
        if (!atomic_load_explicit(&decoded->is_block_found[block], memory_order_relaxed)) {
            find_block(tokenizer, block);
            atomic_store_explicit(&decoded->is_block_found[block], true, memory_order_release);
        }
        attn_monitor_leave(decoded->monitor);
    }
    *size = decoded->sizes[id];
    return *size > 0 ? decoded->bytes + tokenizer->vocabulary.entries[id].begin : "";
}

const char *attn_tokenizer_key(const struct attn_tokenizer *tokenizer, int32_t id, size_t *size)
{
    return attn_vocabulary_has(&tokenizer->vocabulary, id)
               ? attn_vocabulary_key(&tokenizer->vocabulary, id, size)
               : NULL;
}
