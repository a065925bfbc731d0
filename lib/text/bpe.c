/*
 * bpe.c - see bpe.h.
 *
 * encoder.py looks at all pairs in every round, takes the one of lowest rank, and merges all its
 * occurrences from left to right. Here a heap holds the candidates, so n bytes take O(n log n).
 * Places of the lowest rank leave the heap together and in order, and pairs that a round creates
 * wait for the next one, as they do there: with an odd merges.txt a new pair may rank below the one
 * that is being merged.
 */
#include "text/bpe.h"

#include "base/escape.h"
#include "base/memory.h"

#include <string.h>

/* --- The merges ------------------------------------------------------------------------------- */

/* One line of the file, without its end. */
struct merge_line {
    const char *text;
    size_t size;
    size_t number; /* from 1 */
};

enum attn_status attn_merges_find(const struct attn_vocabulary *vocabulary,
                                  const struct attn_merge_keys *keys, struct attn_buffer *joined,
                                  struct attn_merge *merge, struct attn_error *err)
{
    merge->left = attn_vocabulary_find(vocabulary, keys->left, keys->n_left);
    merge->right = attn_vocabulary_find(vocabulary, keys->right, keys->n_right);
    if (attn_vocabulary_has(vocabulary, ++merge->merged)) {
        size_t size;
        const char *key = attn_vocabulary_key(vocabulary, merge->merged, &size);

        if (size == keys->n_left + keys->n_right && memcmp(key, keys->left, keys->n_left) == 0 &&
            memcmp(key + keys->n_left, keys->right, keys->n_right) == 0)
            return ATTN_OK;
    }
    attn_buffer_reset(joined);
    attn_buffer_append(joined, keys->left, keys->n_left);
    attn_buffer_append(joined, keys->right, keys->n_right);
    ATTN_TRY(attn_buffer_check(joined, err));
    merge->merged = attn_vocabulary_find(vocabulary, joined->data, joined->size);
    return ATTN_OK;
}

enum attn_status attn_merges_allocate(struct attn_merges *merges, size_t n, const char *name,
                                      struct attn_error *err)
{
    size_t n_slot = 2;

    if (n >= INT32_MAX)
        return attn_error_set(err, ATTN_UNSUPPORTED, "'%s' has %zu merges, at most %d can be used",
                              attn_quote_string(name).text, n, INT32_MAX - 1);
    while (n_slot < n * 2)
        n_slot *= 2;
    merges->pairs = attn_alloc_large(
        1, n_slot * (sizeof *merges->pairs + sizeof *merges->ranks) + n * sizeof *merges->merged,
        err);
    if (!merges->pairs)
        return ATTN_NO_MEMORY;
    merges->ranks = (uint32_t *)(void *)(merges->pairs + n_slot);
    merges->merged = (int32_t *)(void *)(merges->ranks + n_slot);
    memset(merges->pairs, 0xff, n_slot * sizeof *merges->pairs); /* UINT64_MAX */
    merges->mask = n_slot - 1;
    return ATTN_OK;
}

bool attn_merges_add(struct attn_merges *merges, const struct attn_merge *merge,
                     bool is_last_winner)
{
    uint64_t pair = attn_merges_pair(merge->left, merge->right);
    size_t slot = (size_t)attn_hash_mix(pair) & merges->mask;
    bool is_new = true;

    while (merges->pairs[slot] != UINT64_MAX) {
        if (merges->pairs[slot] == pair) {
            is_new = false;
            break;
        }
        slot = (slot + 1) & merges->mask;
    }
    if (!is_new && !is_last_winner)
        return false;
    merges->pairs[slot] = pair;
    merges->ranks[slot] = (uint32_t)merges->n;
    merges->merged[merges->n++] = merge->merged;
    return is_new;
}

/* Finds the tokens of LINE, which comes after the line of MERGE; JOINED is scratch. Stores what is
 * wrong with it in *problem, or NULL. */
static enum attn_status parse_line(const struct merge_line *line,
                                   const struct attn_vocabulary *vocabulary,
                                   struct attn_buffer *joined, struct attn_merge *merge,
                                   const char **problem, struct attn_error *err)
{
    const char *space = memchr(line->text, ' ', line->size), *end = line->text + line->size;
    struct attn_merge_keys keys = {.left = line->text};

    *problem = "is not two tokens with one space between them";
    if (!space)
        return ATTN_OK;
    keys.n_left = (size_t)(space - line->text);
    keys.right = space + 1;
    keys.n_right = (size_t)(end - keys.right);
    if (keys.n_left == 0 || keys.n_right == 0 || memchr(keys.right, ' ', keys.n_right))
        return ATTN_OK;
    ATTN_TRY(attn_merges_find(vocabulary, &keys, joined, merge, err));
    *problem = merge->left < 0 || merge->right < 0 ? "merges a token that the vocabulary lacks"
               : merge->merged < 0                 ? "makes a token that the vocabulary lacks"
                                                   : NULL;
    return ATTN_OK;
}

static enum attn_status read_lines(struct attn_merges *merges, const struct attn_file *file,
                                   const struct attn_vocabulary *vocabulary,
                                   struct attn_buffer *joined, struct attn_error *err)
{
    static const char header[] = "#version";
    const char *text = (const char *)file->data, *end = text + file->size, *problem;
    struct merge_line line = {0};
    struct attn_merge merge = {.merged = -1};
    /* How many lines can be merges: three bytes and the end of the line. */
    const size_t largest = file->size / 4 + 1;
    size_t n = 1;

    for (size_t i = 0; i < file->size; i++)
        n += file->data[i] == '\n';
    ATTN_TRY(attn_merges_allocate(merges, n < largest ? n : largest, file->path, err));
    for (line.text = text; line.text < end; line.text = text) {
        const char *newline = memchr(line.text, '\n', (size_t)(end - line.text));

        text = newline ? newline + 1 : end; /* the next line */
        line.size = (size_t)((newline ? newline : end) - line.text);
        line.number++;
        if (line.size > 0 && line.text[line.size - 1] == '\r')
            line.size--;
        /* Only the first line can be a header: GPT-2 merges "#" with "#". */
        if (line.number == 1 && line.size >= sizeof header - 1 &&
            memcmp(line.text, header, sizeof header - 1) == 0)
            continue;
        ATTN_TRY(parse_line(&line, vocabulary, joined, &merge, &problem, err));
        if (!problem && !attn_merges_add(merges, &merge, false))
            problem = "is there a second time";
        if (problem)
            return attn_error_set(err, ATTN_FORMAT, "line %zu of '%s', '%s', %s", line.number,
                                  attn_quote_string(file->path).text,
                                  attn_quote(line.text, line.size).text, problem);
    }
    return ATTN_OK;
}

enum attn_status attn_merges_read(struct attn_merges *merges, const struct attn_file *file,
                                  const struct attn_vocabulary *vocabulary, struct attn_error *err)
{
    struct attn_buffer joined = {0};
    const enum attn_status status = read_lines(merges, file, vocabulary, &joined, err);

    attn_buffer_release(&joined);
    return status;
}

void attn_merges_release(struct attn_merges *merges)
{
    attn_free(merges->pairs);
    *merges = (struct attn_merges){0};
}

/* --- Merging ---------------------------------------------------------------------------------- */

enum { CANCEL_INTERVAL = 1 << 12 }; /* pairs: a fraction of a millisecond */

enum attn_status attn_bpe_begin(struct attn_bpe_work *work, size_t n, struct attn_error *err)
{
    size_t capacity = work->capacity < 64 ? 64 : work->capacity;

    if (n <= work->capacity)
        return ATTN_OK;
    if (n >= UINT32_MAX)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "a run of %zu bytes without a place to split the text is too long, "
                              "expected less than 4 GiB",
                              n);
    while (capacity < n)
        capacity *= 2;
    attn_bpe_release(work);
    work->symbols = attn_alloc_uninitialized(capacity, sizeof *work->symbols, err);
    /* At most n - 1 candidates to begin with; each of at most n - 1 merges adds at most two. */
    work->heap = attn_alloc_uninitialized(capacity * 3, sizeof *work->heap, err);
    work->round = attn_alloc_uninitialized(capacity, sizeof *work->round, err);
    if (!work->symbols || !work->heap || !work->round) {
        attn_bpe_release(work);
        return ATTN_NO_MEMORY;
    }
    work->capacity = capacity;
    return ATTN_OK;
}

void attn_bpe_release(struct attn_bpe_work *work)
{
    attn_free(work->symbols);
    attn_free(work->heap);
    attn_free(work->round);
    *work = (struct attn_bpe_work){0};
}

/* Moves VALUE from the hole at AT up to its place. */
static void sift_up(uint64_t *heap, size_t at, uint64_t value)
{
    while (at > 0 && heap[(at - 1) / 2] > value) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = value;
}

/* Moves VALUE from the hole at AT down to its place. */
static void sift_down(uint64_t *heap, size_t n, size_t at, uint64_t value)
{
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && heap[child + 1] < heap[child];
        if (heap[child] >= value)
            break;
        heap[at] = heap[child];
    }
    heap[at] = value;
}

/* Looks up the pair at AT anew; stores the candidate that it is, and returns whether it is one. */
static bool rank_pair(struct attn_bpe_symbol *symbols, size_t n, uint32_t at,
                      const struct attn_merges *merges, uint64_t *candidate)
{
    uint32_t next = symbols[at].next;

    symbols[at].rank =
        next < n ? attn_merges_rank(merges, symbols[at].id, symbols[next].id) : ATTN_NO_RANK;
    *candidate = (uint64_t)symbols[at].rank << 32 | at;
    return symbols[at].rank != ATTN_NO_RANK;
}

/* Merges the pair at AT and pushes the pairs that its neighbours now make with it. */
static void merge_pair(struct attn_bpe_work *work, size_t n, uint32_t at,
                       const struct attn_merges *merges)
{
    struct attn_bpe_symbol *symbols = work->symbols;
    uint32_t gone = symbols[at].next, next = symbols[gone].next;
    uint64_t candidate;

    symbols[at].id = merges->merged[symbols[at].rank];
    symbols[at].next = next;
    symbols[gone].rank = ATTN_NO_RANK; /* its candidate is void */
    if (next < n)
        symbols[next].previous = at;
    if (rank_pair(symbols, n, at, merges, &candidate))
        sift_up(work->heap, work->n_heap++, candidate);
    if (at > 0 && rank_pair(symbols, n, symbols[at].previous, merges, &candidate))
        sift_up(work->heap, work->n_heap++, candidate);
}

/* Whether merging is to end now: asked of pair I of many, and looked at of some of them. */
static bool is_canceled(const struct attn_bpe_work *work, size_t i)
{
    return i % CANCEL_INTERVAL == 0 && work->cancel && *work->cancel;
}

bool attn_bpe_merge(struct attn_bpe_work *work, size_t n, const struct attn_merges *merges)
{
    struct attn_bpe_symbol *symbols = work->symbols;

    work->n_heap = 0;
    for (uint32_t i = 0; i < n; i++) {
        symbols[i].previous = i - 1; /* of the first: never used */
        symbols[i].next = i + 1;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (is_canceled(work, i))
            return false;
        if (rank_pair(symbols, n, i, merges, &work->heap[work->n_heap]))
            work->n_heap++;
    }
    for (size_t i = work->n_heap / 2; i-- > 0;)
        sift_down(work->heap, work->n_heap, i, work->heap[i]);

    while (work->n_heap > 0) {
        uint32_t rank = (uint32_t)(work->heap[0] >> 32);
        size_t n_round = 0;

        while (work->n_heap > 0 && work->heap[0] >> 32 == rank) {
            if (is_canceled(work, n_round))
                return false;
            work->round[n_round++] = (uint32_t)work->heap[0];
            work->n_heap--;
            sift_down(work->heap, work->n_heap, 0, work->heap[work->n_heap]);
        }
        for (size_t i = 0; i < n_round; i++) {
            if (is_canceled(work, i))
                return false;
            if (symbols[work->round[i]].rank == rank) /* else the pair is no more */
                merge_pair(work, n, work->round[i], merges);
        }
    }
    return true;
}
