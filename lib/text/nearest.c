/* nearest.c - see nearest.h. */
#include "text/nearest.h"

#include "base/escape.h"
#include "base/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    MAX_LENGTH = 40, /* characters; longer words get no suggestions */
    MAX_WORDS = 3
};

struct letters {
    uint32_t letter[MAX_LENGTH];
    size_t n;
};

struct suggestion {
    int32_t id;
    size_t folded, exact; /* distances without and with regard to case */
};

/* Spells WORD; false when it is too long or not UTF-8. */
static bool spell(const char *word, size_t size, struct letters *out)
{
    out->n = 0;
    for (size_t at = 0; at < size;) {
        uint32_t letter;
        size_t length = attn_utf8_decode(word + at, size - at, &letter);

        if (length == 0 || out->n == MAX_LENGTH)
            return false;
        out->letter[out->n++] = letter;
        at += length;
    }
    return true;
}

static void fold(struct letters *word)
{
    for (size_t i = 0; i < word->n; i++)
        if (word->letter[i] >= 'A' && word->letter[i] <= 'Z')
            word->letter[i] += 'a' - 'A';
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/*
 * d[i][j], the distance of the first i letters of A and the first j of B, from the rows i-1 and
 * i-2: min(d[i-1][j] + 1, d[i][j-1] + 1, d[i-1][j-1] + (a_i != b_j), d[i-2][j-2] + 1 if swapped).
 */
static size_t distance(const struct letters *a, const struct letters *b)
{
    size_t rows[3][MAX_LENGTH + 1];

    for (size_t j = 0; j <= b->n; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a->n; i++) {
        size_t *now = rows[i % 3], *before = rows[(i + 2) % 3], *earlier = rows[(i + 1) % 3];

        now[0] = i;
        for (size_t j = 1; j <= b->n; j++) {
            now[j] = least(before[j], now[j - 1]) + 1;
            now[j] = least(now[j], before[j - 1] + (a->letter[i - 1] != b->letter[j - 1]));
            if (i > 1 && j > 1 && a->letter[i - 1] == b->letter[j - 2] &&
                a->letter[i - 2] == b->letter[j - 1])
                now[j] = least(now[j], earlier[j - 2] + 1);
        }
    }
    return rows[a->n % 3][b->n];
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

static size_t find_nearest(const struct attn_vocabulary *vocabulary, const struct letters *word,
                           struct suggestion best[MAX_WORDS])
{
    struct letters folded = *word;
    size_t limit = (word->n + 2) / 3; /* farther words would be no help */
    size_t n = 0;

    fold(&folded);
    for (size_t i = 0; i < vocabulary->n; i++) {
        struct suggestion new = {.id = (int32_t)i};
        struct letters other;
        size_t size;
        const char *key = attn_vocabulary_key(vocabulary, new.id, &size);

        if (!spell(key, size, &other) || other.n + limit < word->n || other.n > word->n + limit)
            continue;
        new.exact = distance(word, &other);
        fold(&other);
        new.folded = distance(&folded, &other);
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
    struct letters letters;
    struct suggestion best[MAX_WORDS] = {{.id = 0}, {.id = 1}, {.id = 2}};
    struct attn_buffer list = {0};
    size_t n = spell(word, size, &letters) ? find_nearest(vocabulary, &letters, best) : 0;
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
