/* edit_distance.c - see edit_distance.h. Only three rows of the table are stored. */
#include "base/text/edit_distance.h"

#include "base/text/utf8.h"

#include <string.h>

bool attn_letters_read(const char *word, size_t size, struct attn_letters *letters)
{
    letters->n = 0;
    for (size_t at = 0; at < size;) {
        uint32_t letter;
        size_t length = attn_utf8_decode(word + at, size - at, &letter);

        if (length == 0 || letters->n == ATTN_MAX_LETTER)
            return false;
        letters->letter[letters->n++] = letter;
        at += length;
    }
    return true;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* d[i][j], the distance of the first i letters of A and the first j of B, from the rows i-1 and
 * i-2: min(d[i-1][j] + 1, d[i][j-1] + 1, d[i-1][j-1] + (a_i != b_j), d[i-2][j-2] + 1 if
 * swapped). */
size_t attn_edit_distance(const struct attn_letters *a, const struct attn_letters *b)
{
    size_t rows[3][ATTN_MAX_LETTER + 1];

    for (size_t j = 0; j <= b->n; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a->n; i++) {
        size_t *now = rows[i % 3], *before = rows[(i + 2) % 3], *earlier = rows[(i + 1) % 3];

        now[0] = i;
        for (size_t j = 1; j <= b->n; j++) {
            now[j] = smaller(before[j], now[j - 1]) + 1;
            now[j] = smaller(now[j], before[j - 1] + (a->letter[i - 1] != b->letter[j - 1]));
            if (i > 1 && j > 1 && a->letter[i - 1] == b->letter[j - 2] &&
                a->letter[i - 2] == b->letter[j - 1])
                now[j] = smaller(now[j], earlier[j - 2] + 1);
        }
    }
    return rows[a->n % 3][b->n];
}

static bool read_folded(const char *word, size_t size, struct attn_letters *letters)
{
    if (!attn_letters_read(word, size, letters))
        return false;
    for (size_t i = 0; i < letters->n; i++)
        if (letters->letter[i] >= 'A' && letters->letter[i] <= 'Z')
            letters->letter[i] += 'a' - 'A';
    return true;
}

void attn_typo_try_as(struct attn_typo *typo, const char *name, const char *meant)
{
    struct attn_letters typed, known;
    size_t distance;

    if (!read_folded(typo->typed, typo->size, &typed) || !read_folded(name, strlen(name), &known))
        return;
    distance = attn_edit_distance(&typed, &known);
    if (typo->nearest && distance >= typo->distance)
        return;
    typo->nearest = meant;
    typo->distance = distance;
}

void attn_typo_try(struct attn_typo *typo, const char *name)
{
    attn_typo_try_as(typo, name, name);
}

const char *attn_typo_meant(const struct attn_typo *typo)
{
    const size_t most = typo->size > 5 ? 2 : 1;

    return typo->nearest && typo->distance <= most ? typo->nearest : NULL;
}
