/*
 * bpe.c - byte pair encoding.
 *
 * One pair is merged at a time: the leftmost one with the lowest rank, as in the library
 * tokenizers. A heap contains the candidates, so n bytes take O(n log n). GPT-2's encoder.py merges
 * all occurrences of a pair before it searches for the next pair. That gives other tokens only if a
 * merge creates a pair of lower rank, which no training produces.
 */
#include "tokenizer/models/models_internal.h"

#include "base/memory.h"
#include "base/os/thread.h"
#include "base/status_internal.h"
#include "base/text/utf8.h"
#include "tokenizer/tokenizer_internal.h"

#include <stdio.h>
#include <string.h>

/* --- The merges ------------------------------------------------------------------------------- */

/* One line of the file, without its line end. */
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
    if (attn_vocabulary_has(vocabulary, ++merge->merged) && keys->n_skip == 0) {
        size_t size;
        const char *key = attn_vocabulary_key(vocabulary, merge->merged, &size);

        if (size == keys->n_left + keys->n_right && memcmp(key, keys->left, keys->n_left) == 0 &&
            memcmp(key + keys->n_left, keys->right, keys->n_right) == 0)
            return ATTN_OK;
    }
    attn_buffer_reset(joined);
    attn_buffer_append(joined, keys->left, keys->n_left);
    if (keys->n_right > keys->n_skip)
        attn_buffer_append(joined, keys->right + keys->n_skip, keys->n_right - keys->n_skip);
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
    merges->seed = attn_hash_seed();
    return ATTN_OK;
}

bool attn_merges_add(struct attn_merges *merges, const struct attn_merge *merge,
                     bool is_last_winner)
{
    uint64_t pair = attn_merges_pair(merge->left, merge->right);
    size_t slot = (size_t)attn_hash_mix(pair ^ merges->seed) & merges->mask;
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

/* Looks up the tokens of LINE, which follows the line of MERGE. JOINED is scratch. *problem
 * describes what is wrong with the line; NULL if nothing is. */
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
    /* The largest possible number of merges: each has at least three bytes and a line end. */
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
    attn_free(merges->orders);
    *merges = (struct attn_merges){0};
}

/* --- Merging ---------------------------------------------------------------------------------- */

enum { CANCEL_INTERVAL = 1 << 12 }; /* number of pairs: a fraction of a millisecond */

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
    /* There are at most n - 1 candidates at the start, and each of at most n - 1 merges adds at
     * most two. */
    work->heap = attn_alloc_uninitialized(capacity * 3, sizeof *work->heap, err);
    if (!work->symbols || !work->heap) {
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
    *work = (struct attn_bpe_work){0};
}

/* Inserts VALUE into the heap at the hole AT, or above it. */
static void sift_up(uint64_t *heap, size_t at, uint64_t value)
{
    while (at > 0 && heap[(at - 1) / 2] > value) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = value;
}

/* Inserts VALUE into the heap at the hole AT, or below it. */
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

/* Returns the order in which a merge of RANK is done. */
static uint32_t order_of(const struct attn_merges *merges, uint32_t rank)
{
    return merges->orders && rank != ATTN_NO_RANK ? merges->orders[rank] : rank;
}

/* Updates the rank of the pair at AT, and stores it as *candidate. Returns whether the pair can be
 * merged. */
static bool rank_pair(struct attn_bpe_symbol *symbols, size_t n, uint32_t at,
                      const struct attn_merges *merges, uint64_t *candidate)
{
    uint32_t next = symbols[at].next;

    symbols[at].rank =
        next < n ? attn_merges_rank(merges, symbols[at].id, symbols[next].id) : ATTN_NO_RANK;
    *candidate = (uint64_t)order_of(merges, symbols[at].rank) << 32 | at;
    return symbols[at].rank != ATTN_NO_RANK;
}

/* Merges the pair at AT, and pushes the new pairs that it forms with its neighbours. */
static void merge_pair(struct attn_bpe_work *work, size_t n, uint32_t at,
                       const struct attn_merges *merges)
{
    struct attn_bpe_symbol *symbols = work->symbols;
    uint32_t gone = symbols[at].next, next = symbols[gone].next;
    uint64_t candidate;

    symbols[at].id = merges->merged[symbols[at].rank];
    symbols[at].next = next;
    symbols[gone].rank = ATTN_NO_RANK; /* makes its candidate in the heap invalid */
    if (next < n)
        symbols[next].previous = at;
    if (rank_pair(symbols, n, at, merges, &candidate))
        sift_up(work->heap, work->n_heap++, candidate);
    if (at > 0 && rank_pair(symbols, n, symbols[at].previous, merges, &candidate))
        sift_up(work->heap, work->n_heap++, candidate);
}

/* Whether merging is canceled. Called for each pair I, but checks the flag only every
 * CANCEL_INTERVAL pairs. */
static bool is_canceled(const struct attn_bpe_work *work, size_t i)
{
    return i % CANCEL_INTERVAL == 0 && attn_is_canceled(work->cancel);
}

bool attn_bpe_merge(struct attn_bpe_work *work, size_t n, const struct attn_merges *merges)
{
    struct attn_bpe_symbol *symbols = work->symbols;

    work->n_heap = 0;
    for (uint32_t i = 0; i < n; i++) {
        /* The first symbol has no previous one, and this is not used. */
        symbols[i].previous = i - 1;
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

    for (size_t i = 0; work->n_heap > 0; i++) {
        const uint32_t order = (uint32_t)(work->heap[0] >> 32), at = (uint32_t)work->heap[0];

        if (is_canceled(work, i))
            return false;
        work->n_heap--;
        sift_down(work->heap, work->n_heap, 0, work->heap[work->n_heap]);
        /* Otherwise a part of the pair was merged already. */
        if (order_of(merges, symbols[at].rank) == order)
            merge_pair(work, n, at, merges);
    }
    return true;
}

/* --- Cache of encoded pieces ------------------------------------------------------------------ */

enum {
    LONG_PIECE = 1 << 16, /* bytes from which the tokens are counted before memory is allocated */
    MAX_PIECE_BYTES = 16,
    MAX_CACHED = 1 << 14
};

struct cached_piece {
    uint64_t words[2]; /* the bytes of the piece, padded with zeros */
    size_t first;      /* index of its first token in the encoding */
    uint32_t size;     /* 1 .. MAX_PIECE_BYTES; 0: the entry is free */
    uint32_t n;        /* number of its tokens */
};

/* Initialize with = {0}: a cache that stores nothing. */
struct piece_cache {
    struct cached_piece *pieces; /* owns; [mask + 1] */
    size_t mask;
};

/* Returns the cache entry for PIECE, and sets *found if it contains the piece. If not, the caller
 * may store the piece by setting `first` and `n` after encoding it. Returns NULL for pieces that
 * are not cached. */
static struct cached_piece *find_piece(struct piece_cache *cache, const char *piece, size_t size,
                                       bool *found)
{
    uint64_t words[2] = {0, 0};
    struct cached_piece *entry;

    *found = false;
    if (!cache->pieces || size > MAX_PIECE_BYTES)
        return NULL;
    memcpy(words, piece, size);
    entry = &cache->pieces[attn_hash_mix(words[0] ^ attn_hash_mix(words[1] + size)) & cache->mask];
    *found = entry->size == size && entry->words[0] == words[0] && entry->words[1] == words[1];
    entry->words[0] = words[0];
    entry->words[1] = words[1];
    entry->size = (uint32_t)size;
    return entry;
}

/* --- The model -------------------------------------------------------------------------------- */

/* Returns the token KEY of the model, or -1. */
static int32_t find_token(const struct attn_bpe_model *model, const char *key, size_t size)
{
    return attn_vocabulary_find_own(model->vocabulary, model->is_foreign, key, size);
}

int32_t attn_bpe_model_symbol(const struct attn_bpe_model *model, const char *key, size_t size)
{
    const int32_t id = find_token(model, key, size);
    size_t first = 0, end = model->n_character;
    uint32_t code_point;

    if (id >= 0 || attn_utf8_decode(key, size, &code_point) != size)
        return id;
    while (first < end) {
        const size_t middle = (first + end) / 2;

        if (model->characters[middle] < code_point)
            first = middle + 1;
        else
            end = middle;
    }
    return first < model->n_character && model->characters[first] == code_point
               ? (int32_t)(model->vocabulary->n + first)
               : -1;
}

void attn_bpe_model_finish(struct attn_bpe_model *model)
{
    attn_alphabet_init(&model->alphabet);
    model->has_places = !model->is_by_byte || model->n_suffix > 0 || model->n_prefix > 0;
    for (unsigned byte = 0; byte < 256; byte++) {
        char key[8];
        size_t size =
            attn_utf8_encode(model->is_by_byte ? model->alphabet.code_point[byte] : byte, key);

        model->byte_ids[byte] = -1;
        if (model->is_by_byte || byte < 128)
            model->byte_ids[byte] = find_token(model, key, size);
        model->has_places = model->has_places || (model->byte_ids[byte] < 0 && !model->needs_all);
        snprintf(key, sizeof key, "<0x%02X>", byte);
        model->fallback_ids[byte] = find_token(model, key, 6);
    }
    model->unk_id = model->unk ? find_token(model, model->unk, model->n_unk) : -1;
}

void attn_bpe_model_release(struct attn_bpe_model *model)
{
    attn_merges_release(&model->merges);
    attn_free(model->widths);
    attn_free(model->unk);
    attn_free(model->suffix);
    attn_free(model->prefix);
    attn_free(model->characters);
    *model = (struct attn_bpe_model){0};
}

/* --- The parts of a piece --------------------------------------------------------------------- */

struct part_range {
    uint32_t begin, end;
};

struct bpe_scratch {
    const struct attn_bpe_model *model;
    struct attn_bpe_work work;
    struct piece_cache cache;
    struct attn_buffer key;    /* a piece, written in the alphabet */
    size_t n;                  /* parts of the piece so far */
    struct part_range *ranges; /* owns; [n_range] the bytes of each part; NULL: part i is byte i */
    size_t n_range;
    struct part_range unk; /* adjacent unknown parts that were not added yet */
    bool has_unk;
    bool is_plain; /* every part of the piece is a token */
};

static void add(struct bpe_scratch *scratch, int32_t id, size_t begin, size_t end)
{
    scratch->work.symbols[scratch->n].id = id;
    if (scratch->ranges)
        scratch->ranges[scratch->n] = (struct part_range){(uint32_t)begin, (uint32_t)end};
    scratch->n++;
}

static void add_unk(struct bpe_scratch *scratch)
{
    if (scratch->has_unk)
        add(scratch, scratch->model->unk_id, scratch->unk.begin, scratch->unk.end);
    scratch->has_unk = false;
}

/* A part that is not in the vocabulary. */
struct unknown {
    const char *key; /* [size] */
    size_t size;
    size_t begin, end; /* its bytes in the piece */
};

/* Adds PART of the piece SLICE, which has no token, as byte tokens or as the unknown token. */
static enum attn_status add_unknown(struct bpe_scratch *scratch, struct attn_slice slice,
                                    const struct unknown *part, struct attn_error *err)
{
    const struct attn_bpe_model *model = scratch->model;
    const int32_t *ids = model->fallback_ids;
    /* The key consists of bytes of the piece. */
    const bool is_own = part->size == part->end - part->begin;
    const size_t at = slice.begin + part->begin;
    size_t n = 0;

    scratch->is_plain = false;
    while (model->has_byte_fallback && n < part->size && ids[(unsigned char)part->key[n]] >= 0)
        n++;
    if (n == part->size) { /* each byte of the key has a token */
        for (size_t i = 0; i < n; i++)
            add(scratch, ids[(unsigned char)part->key[i]], is_own ? part->begin + i : part->begin,
                is_own ? part->begin + i + 1 : part->end);
        return ATTN_OK;
    }
    if (model->needs_all)
        return attn_error_set(
            err, ATTN_INVALID, "the vocabulary has no token for byte 0x%02x, found at byte %zu",
            (unsigned)(unsigned char)slice.layer->text[at], attn_layer_origin(slice.layer, at));
    if (model->unk && model->unk_id < 0)
        return attn_error_set(err, ATTN_INVALID,
                              "the vocabulary has neither a token for '%s', found at byte %zu, nor "
                              "its unknown token '%s'",
                              attn_quote(part->key, part->size).text,
                              attn_layer_origin(slice.layer, at),
                              attn_quote(model->unk, model->n_unk).text);
    if (!model->unk)
        return ATTN_OK;
    if (!scratch->has_unk || !model->fuses_unk) {
        add_unk(scratch);
        scratch->unk.begin = (uint32_t)part->begin;
    }
    scratch->unk.end = (uint32_t)part->end;
    scratch->has_unk = true;
    return ATTN_OK;
}

/* Adds the part BEGIN to END of the piece SLICE, whose key has the prefix unless it is the first
 * part, and the suffix if it is the last. */
static enum attn_status add_marked(struct bpe_scratch *scratch, struct attn_slice slice,
                                   size_t begin, size_t end, struct attn_error *err)
{
    const struct attn_bpe_model *model = scratch->model;
    const char *text = attn_slice_text(slice) + begin;
    char key[4 + 2 * ATTN_BPE_SUFFIX_MAX];
    struct unknown part = {.key = key, .begin = begin, .end = end};
    int32_t id;

    if (begin > 0 && model->n_prefix > 0)
        memcpy(key, model->prefix, part.size = model->n_prefix);
    if (model->is_by_byte)
        part.size +=
            attn_utf8_encode(model->alphabet.code_point[(unsigned char)*text], key + part.size);
    else
        memcpy(key + part.size, text, end - begin), part.size += end - begin;
    if (end == attn_slice_size(slice) && model->n_suffix > 0)
        memcpy(key + part.size, model->suffix, model->n_suffix), part.size += model->n_suffix;
    id = find_token(model, key, part.size);
    scratch->is_plain = false;
    if (id < 0)
        return add_unknown(scratch, slice, &part, err);
    add_unk(scratch);
    add(scratch, id, begin, end);
    return ATTN_OK;
}

/* Adds the parts of the piece SLICE: its bytes, or its characters. */
static enum attn_status find_parts(struct bpe_scratch *scratch, struct attn_slice slice,
                                   struct attn_error *err)
{
    const struct attn_bpe_model *model = scratch->model;
    const char *piece = attn_slice_text(slice);
    const size_t n = attn_slice_size(slice);

    for (size_t i = 0, length; i < n; i += length) {
        const unsigned char byte = (unsigned char)piece[i];
        struct unknown unknown = {.key = piece + i, .begin = i};
        uint32_t code_point;
        char key[4];
        int32_t id;

        length = model->is_by_byte ? 1 : attn_utf8_decode(piece + i, n - i, &code_point);
        length = length > 0 ? length : 1;
        if ((i > 0 && model->n_prefix > 0) || (i + length == n && model->n_suffix > 0)) {
            ATTN_TRY(add_marked(scratch, slice, i, i + length, err));
            continue;
        }
        id = length == 1 ? model->byte_ids[byte] : find_token(model, piece + i, length);
        if (id >= 0) {
            add_unk(scratch);
            add(scratch, id, i, i + length);
            continue;
        }
        unknown.size = length;
        unknown.end = i + length;
        /* A character without a token becomes a symbol that no merge joins. */
        if (model->spells_after) {
            id = attn_bpe_model_symbol(model, piece + i, length);
            add(scratch, id >= 0 ? id : INT32_MAX, i, i + length);
            scratch->is_plain = false;
            continue;
        }
        if (model->is_by_byte) {
            unknown.key = key;
            unknown.size = attn_utf8_encode(model->alphabet.code_point[byte], key);
        }
        ATTN_TRY(add_unknown(scratch, slice, &unknown, err));
    }
    add_unk(scratch);
    return ATTN_OK;
}

/* --- Pieces ----------------------------------------------------------------------------------- */

/* Appends tokens for a character without a token, which is the bytes RANGE of the piece SLICE: the
 * tokens of its bytes, or the unknown token, which covers adjacent unknown characters, too. */
static enum attn_status spell(struct attn_walk *walk, const struct attn_bpe_model *model,
                              struct attn_slice slice, struct part_range range, size_t first,
                              struct attn_error *err)
{
    struct attn_encoding *encoding = walk->encoding;
    const unsigned char *piece = (const unsigned char *)attn_slice_text(slice);
    bool has_all = model->has_byte_fallback;

    for (size_t i = range.begin; i < range.end; i++)
        has_all = has_all && model->fallback_ids[piece[i]] >= 0;
    for (size_t i = range.begin; has_all && i < range.end; i++)
        ATTN_TRY(attn_encoding_push(encoding, model->fallback_ids[piece[i]], slice.begin + i,
                                    slice.begin + i + 1, err));
    if (has_all)
        return ATTN_OK;
    if (model->unk_id < 0)
        return attn_error_set(
            err, ATTN_INVALID,
            "the vocabulary has no token for '%s', found at byte %zu, and no "
            "unknown token",
            attn_quote((const char *)piece + range.begin, range.end - range.begin).text,
            attn_layer_origin(slice.layer, slice.begin + range.begin));
    if (encoding->n > first && encoding->ids[encoding->n - 1] == model->unk_id) {
        encoding->end[encoding->n - 1] = slice.begin + range.end;
        return ATTN_OK;
    }
    return attn_encoding_push(encoding, model->unk_id, slice.begin + range.begin,
                              slice.begin + range.end, err);
}

/* Appends the tokens of the piece SLICE, by merging its parts. */
static enum attn_status merge_piece(struct attn_walk *walk, struct bpe_scratch *scratch,
                                    struct attn_slice slice, struct attn_error *err)
{
    const size_t size = attn_slice_size(slice), begin = slice.begin;
    /* A byte without a token may become two byte tokens, those of its character, after those of the
     * prefix; and the last part may be followed by the suffix. */
    const size_t n_part =
        (scratch->model->has_byte_fallback ? (2 + scratch->model->n_prefix) * size : size) +
        scratch->model->n_suffix;
    const struct attn_bpe_symbol *symbols;
    const struct part_range *ranges;
    const size_t first = walk->encoding->n;
    size_t n_token = 0;

    scratch->n = 0;
    scratch->has_unk = false;
    ATTN_TRY(attn_bpe_begin(&scratch->work, n_part, err));
    if (scratch->model->has_places)
        ATTN_TRY(ATTN_GROW(scratch->ranges, scratch->n_range, n_part, err));
    ATTN_TRY(find_parts(scratch, slice, err));
    scratch->work.cancel = walk->options->cancel;
    if (!attn_bpe_merge(&scratch->work, scratch->n, &scratch->model->merges))
        return attn_error_set(err, ATTN_CANCELED, "canceled");
    symbols = scratch->work.symbols;
    ranges = scratch->ranges;
    if (size > LONG_PIECE) {
        for (size_t i = 0; i < scratch->n; i = symbols[i].next)
            n_token++;
        ATTN_TRY(attn_encoding_reserve(walk->encoding, walk->encoding->n + n_token, err));
    }
    for (size_t i = 0, next; i < scratch->n; i = next) {
        next = symbols[i].next;
        if (ranges && scratch->model->spells_after &&
            (size_t)symbols[i].id >= scratch->model->vocabulary->n) {
            ATTN_TRY(spell(walk, scratch->model, slice,
                           (struct part_range){ranges[i].begin, ranges[next - 1].end}, first, err));
            continue;
        }
        ATTN_TRY(attn_encoding_push(walk->encoding, symbols[i].id,
                                    begin + (ranges ? ranges[i].begin : i),
                                    begin + (ranges ? ranges[next - 1].end : next), err));
    }
    return ATTN_OK;
}

static enum attn_status encode_piece(struct attn_walk *walk, struct bpe_scratch *scratch,
                                     struct attn_slice slice, struct attn_error *err)
{
    const struct attn_bpe_model *model = scratch->model;
    const char *key = attn_slice_text(slice);
    size_t size = attn_slice_size(slice);
    int32_t id = -1; /* the token that is the whole piece */

    scratch->is_plain = true;
    if (model->takes_whole_pieces && model->is_by_byte) {
        char *in_alphabet;

        attn_buffer_reset(&scratch->key);
        in_alphabet = attn_buffer_reserve(&scratch->key, 2 * size);
        if (!in_alphabet)
            return attn_error_no_memory(err);
        size = attn_alphabet_from_bytes(&model->alphabet, key, size, in_alphabet);
        key = in_alphabet;
    }
    if (model->takes_whole_pieces)
        id = find_token(model, key, size);
    if (id >= 0)
        return attn_encoding_push(walk->encoding, id, slice.begin, slice.end, err);
    return merge_piece(walk, scratch, slice, err);
}

static enum attn_status run_bpe(struct attn_walk *walk, size_t at, struct attn_slice slice,
                                struct attn_error *err)
{
    struct bpe_scratch *scratch = walk->scratch[at];
    struct attn_encoding *encoding = walk->encoding;
    const size_t first = encoding->n;
    size_t begin = slice.begin;
    bool found;
    struct cached_piece *piece =
        find_piece(&scratch->cache, attn_slice_text(slice), attn_slice_size(slice), &found);

    if (!found) {
        const enum attn_status status = encode_piece(walk, scratch, slice, err);

        if (piece) {
            piece->first = first;
            piece->n = (uint32_t)(encoding->n - first);
            if (!scratch->is_plain || status != ATTN_OK)
                piece->size = 0; /* do not cache it: the ends of its tokens cannot be derived from
                                    their ids */
        }
        return status;
    }
    for (size_t i = 0; i < piece->n; i++) {
        const int32_t id = encoding->ids[piece->first + i];
        const size_t end = begin + scratch->model->widths[id];

        ATTN_TRY(attn_encoding_push(encoding, id, begin, end, err));
        begin = end;
    }
    return ATTN_OK;
}

static enum attn_status begin_scratch(const void *data, size_t n, void **out,
                                      struct attn_error *err)
{
    struct bpe_scratch *scratch;
    size_t n_piece = 64;

    ATTN_TRY(ATTN_ALLOC(scratch, 1, err));
    *out = scratch;
    scratch->model = data;
    if (n < 256) /* short texts are encoded without a cache */
        return ATTN_OK;
    while (n_piece < MAX_CACHED && n_piece < n / 16)
        n_piece *= 2;
    scratch->cache.pieces = attn_alloc(n_piece, sizeof *scratch->cache.pieces, err);
    scratch->cache.mask = n_piece - 1;
    return scratch->cache.pieces ? ATTN_OK : ATTN_NO_MEMORY;
}

static void end_scratch(void *data)
{
    struct bpe_scratch *scratch = data;

    attn_bpe_release(&scratch->work);
    attn_free(scratch->cache.pieces);
    attn_buffer_release(&scratch->key);
    attn_free(scratch->ranges);
    attn_free(scratch);
}

const struct attn_text_stage_kind attn_bpe_stage = {
    .run = run_bpe, .begin = begin_scratch, .end = end_scratch};
