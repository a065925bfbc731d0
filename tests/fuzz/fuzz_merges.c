/*
 * fuzz_merges.c - merges.txt over a vocabulary of all words of one to four of the letters a, b and
 * c.
 *
 * The lines of an accepted file have their ranks in order, and a text is merged by them as a plain
 * loop merges it, also where the order of the lines is one that no training gives.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tiny_bpe.h"
#include "tokenizer/models/models_internal.h"

#include <string.h>

static const char letters[] = "abc";

/* Adds PREFIX [size] and all that it begins. */
static void add_words(struct attn_vocabulary *vocabulary, char *prefix, size_t size)
{
    struct attn_error err = {0};

    if (size > 0)
        FUZZ_CHECK(attn_vocabulary_add(vocabulary, prefix, size, (int32_t)vocabulary->n, &err) ==
                   ATTN_OK);
    if (size == 4)
        return;
    for (const char *letter = letters; *letter != '\0'; letter++) {
        prefix[size] = *letter;
        add_words(vocabulary, prefix, size + 1);
    }
}

static const struct attn_vocabulary *vocabulary_of_words(void)
{
    static struct attn_vocabulary vocabulary;
    struct attn_error err = {0};
    char word[4];

    if (vocabulary.n == 0) {
        add_words(&vocabulary, word, 0);
        FUZZ_CHECK(attn_vocabulary_finish(&vocabulary, "vocab.json", false, &err) == ATTN_OK);
        FUZZ_CHECK(attn_vocabulary_index(&vocabulary, "vocab.json", &err) == ATTN_OK);
    }
    return &vocabulary;
}

/* Reads the file again, line by line, and compares. */
static void check_ranks(const struct attn_vocabulary *vocabulary, const struct attn_merges *merges,
                        const char *text, size_t size)
{
    const char *end = text + size;
    uint32_t rank = 0;

    for (const char *line = text, *next; line < end; line = next) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *line_end = newline != NULL ? newline : end, *space;
        int32_t left, right;

        next = newline != NULL ? newline + 1 : end;
        line_end -= line_end > line && line_end[-1] == '\r';
        if (line == text && line_end - line >= 8 && memcmp(line, "#version", 8) == 0)
            continue;
        space = memchr(line, ' ', (size_t)(line_end - line));
        FUZZ_CHECK(space != NULL);
        left = attn_vocabulary_find(vocabulary, line, (size_t)(space - line));
        right = attn_vocabulary_find(vocabulary, space + 1, (size_t)(line_end - space - 1));
        FUZZ_CHECK(left >= 0 && right >= 0);
        FUZZ_CHECK(attn_merges_rank(merges, left, right) == rank);
        rank++;
    }
    FUZZ_CHECK(merges->n == rank);
}

/* A text of letters that the file itself decides, merged twice. */
static void check_merging(const struct attn_vocabulary *vocabulary,
                          const struct attn_merges *merges, const uint8_t *data, size_t size)
{
    enum { MAX = 256 };
    struct attn_bpe_work work = {0};
    struct attn_error err = {0};
    int32_t ids[MAX];
    size_t n = 0, n_left, at = 0;

    for (size_t i = 0; i < size && n < MAX; i++)
        if (data[i] >= 'a' && data[i] <= 'c')
            ids[n++] = attn_vocabulary_find(vocabulary, (const char *)data + i, 1);
    FUZZ_CHECK(attn_bpe_begin(&work, n, &err) == ATTN_OK);
    for (size_t i = 0; i < n; i++)
        work.symbols[i].id = ids[i];
    if (n > 0)
        attn_bpe_merge(&work, n, merges);
    n_left = attn_naive_merge(merges, ids, n);
    for (size_t i = 0; i < n; i = work.symbols[i].next)
        FUZZ_CHECK(at < n_left && work.symbols[i].id == ids[at++]);
    FUZZ_CHECK(at == n_left);
    attn_bpe_release(&work);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct attn_vocabulary *vocabulary = vocabulary_of_words();
    struct attn_file file = attn_fuzz_file("merges.txt", data, size);
    struct attn_merges merges = {0};
    struct attn_error err = {0};
    enum attn_status status = attn_merges_read(&merges, &file, vocabulary, &err);

    attn_fuzz_check_error(status, &err, FUZZ_BIT(ATTN_FORMAT));
    if (status == ATTN_OK) {
        check_ranks(vocabulary, &merges, (const char *)data, size);
        check_merging(vocabulary, &merges, data, size);
    }
    attn_merges_release(&merges);
    attn_file_release(&file);
    return 0;
}
