/* nearest.c - see nearest.h. */
#include "text/nearest.h"

#include "base/edit_distance.h"
#include "base/escape.h"
#include "base/status_internal.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { MAX_WORDS = 3 };

struct suggestion {
    int32_t id;
    size_t folded, exact; /* distances without and with regard to case */
};

static void fold(struct attn_letters *word)
{
    for (size_t i = 0; i < word->n; i++)
        if (word->letter[i] >= 'A' && word->letter[i] <= 'Z')
            word->letter[i] += 'a' - 'A';
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool is_closer(const struct suggestion *a, const struct suggestion *b)
{
    return a->folded != b->folded ? a->folded < b->folded : a->exact < b->exact;
}

/* Keeps the closest, earlier ids first among equals. Returns how many there are. */
static size_t insert(struct suggestion *best, size_t n, const struct suggestion *new)
{
    size_t at = n;

    while (at > 0 && is_closer(new, &best[at - 1]))
        at--;
    if (at == MAX_WORDS)
        return n;
    n = least(n + 1, MAX_WORDS);
    memmove(&best[at + 1], &best[at], (n - at - 1) * sizeof *best);
    best[at] = *new;
    return n;
}

static size_t find_nearest(const struct attn_vocabulary *vocabulary,
                           const struct attn_letters *word, struct suggestion best[MAX_WORDS])
{
    struct attn_letters folded = *word;
    size_t limit = (word->n + 2) / 3; /* farther words would be no help */
    size_t n = 0;

    fold(&folded);
    for (size_t i = 0; i < vocabulary->n; i++) {
        struct suggestion new = {.id = (int32_t)i};
        struct attn_letters other;
        size_t size;
        const char *key = attn_vocabulary_key(vocabulary, new.id, &size);

        if (!attn_letters_read(key, size, &other) || other.n + limit < word->n ||
            other.n > word->n + limit)
            continue;
        new.exact = attn_edit_distance(word, &other);
        fold(&other);
        new.folded = attn_edit_distance(&folded, &other);
        if (new.folded <= limit)
            n = insert(best, n, &new);
    }
    return n;
}

static struct attn_quote quote(const struct attn_vocabulary *vocabulary, int32_t id)
{
    size_t size;
    const char *key = attn_vocabulary_key(vocabulary, id, &size);

    return attn_quote(key, size);
}

/* Appends "'a', 'b', 'c'". */
static void append_list(struct attn_buffer *out, const struct attn_vocabulary *vocabulary,
                        const struct suggestion *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        attn_buffer_append_format(out, "%s'%s'", i > 0 ? ", " : "",
                                  quote(vocabulary, words[i].id).text);
}

void attn_nearest_hint(const struct attn_vocabulary *vocabulary, const char *word, size_t size,
                       struct attn_error *err)
{
    struct attn_letters letters;
    struct suggestion best[MAX_WORDS] = {{.id = 0}, {.id = 1}, {.id = 2}};
    struct attn_buffer list = {0};
    size_t n =
        attn_letters_read(word, size, &letters) ? find_nearest(vocabulary, &letters, best) : 0;
    const char *text;

    append_list(&list, vocabulary, best, n > 0 ? n : least(vocabulary->n, MAX_WORDS));
    text = attn_buffer_string(&list);
    if (text && n > 0)
        attn_error_hint(err, "did you mean %s?", text);
    else if (text)
        attn_error_hint(err, "the vocabulary has %zu words: %s%s", vocabulary->n, text,
                        vocabulary->n > MAX_WORDS ? ", ..." : "");
    attn_buffer_release(&list);
}
