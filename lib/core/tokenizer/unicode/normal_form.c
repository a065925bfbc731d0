/*
 * normal_form.c - Unicode's normal forms.
 *
 * A text is processed in runs: from a character that does not depend on preceding ones to the next
 * such character. A run is decomposed, its marks are sorted by class, and pairs are composed.
 */
#include "tokenizer/unicode/unicode_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/utf8.h"
#include "tokenizer/stages/stages_internal.h"

#include <stdlib.h>
#include <string.h>

/* Hangul syllables consist of a lead, a vowel and an optional tail (Unicode 3.12). */
enum {
    S_BASE = 0xac00,
    L_BASE = 0x1100,
    V_BASE = 0x1161,
    T_BASE = 0x11a7,
    N_L = 19,
    N_V = 21,
    N_T = 28,
    N_S = N_L * N_V * N_T
};

/* The number of elements of a table. */
#define N_OF(table) ((size_t)(table##_end - (table)))

static bool is_doubtful(uint32_t code_point)
{
    return code_point >= 0x300 &&
           attn_character_range_find(attn_nf_doubtful, attn_nf_doubtful_end, code_point);
}

/* Returns the canonical combining class, which is 0 for most characters. */
static uint32_t class_of(uint32_t code_point)
{
    const struct attn_character_range *range =
        attn_character_range_find(attn_nf_classes, attn_nf_classes_end, code_point);

    return range ? range->value : 0;
}

static bool is_compatible(enum attn_normal_form form)
{
    return form == ATTN_NFKC || form == ATTN_NFKD;
}

bool attn_normal_form_is_given(enum attn_normal_form form, const char *text, size_t size)
{
    const unsigned char first = form == ATTN_NFC ? 0xcc /* all characters below U+0300 are stable */
                                                 : 0x80;

    for (size_t i = 0; i < size;) {
        uint32_t code_point;
        size_t length;

        if ((unsigned char)text[i] < first) {
            i++;
            continue;
        }
        length = attn_utf8_decode(text + i, size - i, &code_point);
        if (length > 0 && (form != ATTN_NFC || is_doubtful(code_point)))
            return false;
        i += length > 0 ? length : 1;
    }
    return true;
}

struct character {
    uint32_t code_point;
    uint32_t class;
    int change; /* as in stages_internal.h */
};

/* The characters of a run. */
struct run {
    struct character *list; /* owns; [n] */
    size_t n, capacity;
    bool has_failed;
};

/* Compares the character KEY with the first member of ROW. */
static int compare_whole(const void *key, const void *row)
{
    const uint32_t *whole = key, other = *(const uint32_t *)row;

    return (*whole > other) - (*whole < other);
}

/* Compares decompositions by left, then by right. */
static int compare_parts(const void *key, const void *index)
{
    const struct attn_nf_decomposition *a = key;
    const struct attn_nf_decomposition *b = &attn_nf_decompositions[*(const uint16_t *)index];

    return a->left != b->left ? (a->left > b->left) - (a->left < b->left)
                              : (a->right > b->right) - (a->right < b->right);
}

/* Returns the characters that replace CODE_POINT in the compatibility forms, or NULL. */
static const struct attn_nf_plain *find_plain(uint32_t code_point)
{
    return bsearch(&code_point, attn_nf_plain, N_OF(attn_nf_plain), sizeof *attn_nf_plain,
                   compare_whole);
}

/* Stores the complete canonical decomposition of CODE_POINT in PARTS. Returns its length, at
 * most 4. */
static size_t decompose_canonically(uint32_t code_point, uint32_t *parts)
{
    const struct attn_nf_decomposition *found;
    size_t n;

    if (code_point >= S_BASE && code_point < S_BASE + N_S) {
        uint32_t s = code_point - S_BASE;

        parts[0] = L_BASE + s / (N_V * N_T);
        parts[1] = V_BASE + s % (N_V * N_T) / N_T;
        parts[2] = T_BASE + s % N_T;
        return s % N_T > 0 ? 3 : 2;
    }
    found = bsearch(&code_point, attn_nf_decompositions, N_OF(attn_nf_decompositions),
                    sizeof *found, compare_whole);
    if (!found) {
        parts[0] = code_point;
        return 1;
    }
    /* Only the left part may have a decomposition. */
    n = decompose_canonically(found->left, parts);
    if (found->right)
        parts[n++] = found->right;
    return n;
}

static size_t decompose(enum attn_normal_form form, uint32_t code_point,
                        uint32_t parts[ATTN_NFKD_MAX])
{
    const struct attn_nf_plain *plain = is_compatible(form) ? find_plain(code_point) : NULL;

    if (!plain)
        return decompose_canonically(code_point, parts);
    for (size_t i = 0; i < plain->n; i++)
        parts[i] = attn_nf_plain_parts[plain->begin + i];
    return plain->n;
}

/* Returns the composition of A and B, or 0. */
static uint32_t compose(uint32_t a, uint32_t b)
{
    const struct attn_nf_decomposition key = {.left = a, .right = b};
    const uint16_t *found;

    if (a >= L_BASE && a < L_BASE + N_L && b >= V_BASE && b < V_BASE + N_V)
        return S_BASE + ((a - L_BASE) * N_V + (b - V_BASE)) * N_T;
    if (a >= S_BASE && a < S_BASE + N_S && (a - S_BASE) % N_T == 0 && b > T_BASE &&
        b < T_BASE + N_T)
        return a + (b - T_BASE);
    found = bsearch(&key, attn_nf_compositions, N_OF(attn_nf_compositions), sizeof *found,
                    compare_parts);
    return found ? attn_nf_decompositions[*found].whole : 0;
}

/* Sorts N marks at MARKS by class; equal ones keep their order. COPY has room for N marks. */
static void sort_by_class(struct character *marks, size_t n, struct character *copy)
{
    size_t first[257] = {0};

    for (size_t i = 0; i < n; i++)
        first[marks[i].class + 1]++;
    for (size_t class = 0; class < 256; class ++)
        first[class + 1] += first[class];
    memcpy(copy, marks, n * sizeof *copy);
    for (size_t i = 0; i < n; i++)
        marks[first[copy[i].class]++] = copy[i];
}

/* Sorts each sequence of consecutive marks. */
static void sort_marks(struct run *run)
{
    struct character *copy = NULL;

    for (size_t begin = 0, end; begin < run->n; begin = end + 1) {
        bool is_sorted = true;

        for (end = begin; end < run->n && run->list[end].class > 0; end++)
            is_sorted =
                is_sorted && (end == begin || run->list[end].class >= run->list[end - 1].class);
        if (is_sorted)
            continue;
        copy = copy ? copy : attn_alloc_uninitialized(run->n, sizeof *copy, NULL);
        if (copy)
            sort_by_class(run->list + begin, end - begin, copy);
        else
            run->has_failed = true;
    }
    attn_free(copy);
}

/* Composes pairs, and moves the remaining characters to the front. */
static void compose_run(struct run *run)
{
    size_t n = 0, starter = SIZE_MAX;

    for (size_t i = 0; i < run->n; i++) {
        struct character next = run->list[i];
        /* A mark cannot combine with the starter if a mark of the same or a higher class is between
         * them; another starter cannot if any mark is between them. */
        const bool is_next_to = starter != SIZE_MAX && starter + 1 == n;
        const bool is_seen =
            is_next_to || (starter != SIZE_MAX && run->list[n - 1].class < next.class);
        uint32_t whole = is_seen ? compose(run->list[starter].code_point, next.code_point) : 0;

        if (whole) {
            run->list[starter].code_point = whole;
            run->list[starter].change += next.change - 1;
            continue;
        }
        if (next.class == 0)
            starter = n;
        run->list[n++] = next;
    }
    run->n = n;
}

/* Whether the character may interact with those before it, or has a decomposition. */
static bool is_of_run(enum attn_normal_form form, uint32_t code_point)
{
    return is_doubtful(code_point) || (is_compatible(form) && find_plain(code_point));
}

/* Reads the run that begins at BEGIN, and returns its end: before a stable character or a malformed
 * byte. */
static size_t find_end(enum attn_normal_form form, const char *text, size_t size, size_t begin,
                       struct run *run)
{
    size_t at = begin;

    run->n = 0;
    while (at < size) {
        uint32_t code_point, parts[ATTN_NFKD_MAX];
        size_t length = attn_utf8_decode(text + at, size - at, &code_point), n;

        if (length == 0 || (at > begin && !is_of_run(form, code_point)))
            break;
        n = decompose(form, code_point, parts);
        run->has_failed = ATTN_GROW(run->list, run->capacity, run->n + n, NULL) != ATTN_OK;
        if (run->has_failed)
            break;
        for (size_t i = 0; i < n; i++)
            run->list[run->n++] = (struct character){parts[i], class_of(parts[i]), i > 0};
        at += length;
    }
    return at;
}

enum attn_status attn_normal_form_apply(enum attn_normal_form form, struct attn_layer *layer,
                                        size_t size, struct attn_error *err)
{
    const char *text = layer->under->text + layer->base;
    struct run run = {.list = NULL};

    for (size_t at = 0; at < size && !run.has_failed;) {
        size_t end = find_end(form, text, size, at, &run);
        struct attn_rewrite rewrite = {layer, text, end, at, at};

        if (end == at) { /* a malformed byte */
            attn_layer_keep(layer, at, 1);
            at++;
            continue;
        }
        sort_marks(&run);
        if (form == ATTN_NFC || form == ATTN_NFKC)
            compose_run(&run);
        for (size_t i = 0; i < run.n && !run.has_failed; i++)
            attn_rewrite_put(&rewrite, run.list[i].code_point, run.list[i].change);
        at = end;
    }
    attn_free(run.list);
    return run.has_failed ? attn_error_no_memory(err) : ATTN_OK;
}
