/* tiny_bpe.c - see tiny_bpe.h. */
#include "tests/fuzz/tiny_bpe.h"

#include "base/text/utf8.h"
#include "tests/fuzz/fuzz.h"
#include "tokenizer/vocabulary.h"

#include <string.h>

enum file { VOCAB, MERGES };

/* Read once. */
static const struct attn_blob *blob_of(enum file file)
{
    static struct attn_blob blobs[2];

    if (blobs[VOCAB].data == NULL) {
        blobs[VOCAB] = attn_fuzz_blob("vocab.json", "models/tiny-gpt2/vocab.json");
        blobs[MERGES] = attn_fuzz_blob("merges.txt", "models/tiny-gpt2/merges.txt");
    }
    return &blobs[file];
}

/* Borrowed: end with attn_file_release. */
static struct attn_file open_blob(const struct attn_blob *blob)
{
    return attn_fuzz_file(blob->name, blob->data, blob->size);
}

const struct attn_tokenizer *attn_tiny_bpe(bool with_prefix)
{
    static struct attn_tokenizer *tokenizers[2];
    static const char prefix[] = "{\"add_prefix_space\": true}";
    static const char added[] = "{\"<|x\": 487, \"<|x|>\": 488}";
    struct attn_error err = {0};

    if (tokenizers[with_prefix] == NULL) {
        const struct attn_blob blobs[] = {*blob_of(VOCAB),
                                          *blob_of(MERGES),
                                          {"tokenizer_config.json", prefix, sizeof prefix - 1},
                                          {"added_tokens.json", added, sizeof added - 1}};
        const struct attn_source source = {
            .name = "tiny", .blobs = blobs, .n_blob = with_prefix ? 4 : 2};

        FUZZ_CHECK(attn_tokenizer_open(&source, &tokenizers[with_prefix], &err) == ATTN_OK);
    }
    return tokenizers[with_prefix];
}

static void open_parts(struct attn_tiny_parts *parts)
{
    struct attn_file vocab = open_blob(blob_of(VOCAB)), merges = open_blob(blob_of(MERGES));
    static const char rule[] = ATTN_BYTES_REGEX;
    static struct attn_regex *pattern; /* the match borrows it */
    struct attn_alphabet alphabet;
    struct attn_error err = {0};
    char key[4];

    FUZZ_CHECK(attn_vocabulary_read(&parts->vocabulary, &vocab, &err) == ATTN_OK);
    FUZZ_CHECK(attn_vocabulary_finish(&parts->vocabulary, vocab.path, false, &err) == ATTN_OK);
    FUZZ_CHECK(attn_vocabulary_index(&parts->vocabulary, vocab.path, &err) == ATTN_OK);
    FUZZ_CHECK(attn_merges_read(&parts->merges, &merges, &parts->vocabulary, &err) == ATTN_OK);
    FUZZ_CHECK(attn_regex_create(rule, sizeof rule - 1, "rule", false, &pattern, &err) == ATTN_OK);
    FUZZ_CHECK(attn_match_create(pattern, 1 << 20, &parts->match, &err) == ATTN_OK);
    attn_alphabet_init(&alphabet);
    for (int byte = 0; byte < 256; byte++) {
        const size_t size = attn_utf8_encode(alphabet.code_point[byte], key);

        parts->byte_ids[byte] = attn_vocabulary_find(&parts->vocabulary, key, size);
    }
    attn_file_release(&vocab);
    attn_file_release(&merges);
}

const struct attn_tiny_parts *attn_tiny_parts(void)
{
    static struct attn_tiny_parts parts;

    if (parts.match == NULL)
        open_parts(&parts);
    return &parts;
}

size_t attn_naive_merge(const struct attn_merges *merges, int32_t *ids, size_t n)
{
    for (;;) {
        uint32_t lowest = ATTN_NO_RANK;
        size_t at = 0;

        for (size_t i = 0; i + 1 < n; i++) {
            const uint32_t rank = attn_merges_rank(merges, ids[i], ids[i + 1]);

            at = rank < lowest ? i : at;
            lowest = rank < lowest ? rank : lowest;
        }
        if (lowest == ATTN_NO_RANK)
            return n;
        ids[at] = merges->merged[lowest];
        memmove(ids + at + 1, ids + at + 2, (--n - at - 1) * sizeof *ids);
    }
}
