/* bpe_model.c - see bpe_model.h. */
#include "text/bpe_model.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/utf8.h"
#include "text/bpe.h"
#include "text/tokenizer_internal.h"

#include <stdio.h>
#include <string.h>

enum { LONG_PIECE = 1 << 16 }; /* bytes; its tokens are counted before there is room for them */

/* --- Pieces that were encoded before ---------------------------------------------------------- */

enum { MAX_PIECE_BYTES = 16, MAX_CACHED = 1 << 14 };

struct cached_piece {
    uint64_t words[2]; /* the bytes of the piece, zeros after them */
    size_t first;      /* where its tokens begin in the encoding */
    uint32_t size;     /* 1 .. MAX_PIECE_BYTES; 0 where the entry is free */
    uint32_t n;        /* tokens */
};

/* Initialize with = {0}: an empty cache that keeps nothing. */
struct piece_cache {
    struct cached_piece *pieces; /* owns; [mask + 1] */
    size_t mask;
};

/*
 * The only entry where PIECE may be: *found says whether it is there. If not, the caller may make
 * it so by setting `first` and `n` after the piece is encoded. NULL for pieces that are not kept.
 */
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

/* The token KEY of the model, or -1. */
static int32_t find_token(const struct attn_bpe_model *model, const char *key, size_t size)
{
    const int32_t id = attn_vocabulary_find(model->vocabulary, key, size);

    return id >= 0 && model->is_foreign && model->is_foreign[id] ? -1 : id;
}

void attn_bpe_model_finish(struct attn_bpe_model *model)
{
    attn_alphabet_init(&model->alphabet);
    model->has_places = !model->is_by_byte;
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
    attn_free(model->is_foreign);
    attn_free(model->unk);
    *model = (struct attn_bpe_model){0};
}

/* --- The parts of a piece --------------------------------------------------------------------- */

/* Bytes of the piece. */
struct part_range {
    uint32_t begin, end;
};

struct bpe_scratch {
    const struct attn_bpe_model *model;
    struct attn_bpe_work work;
    struct piece_cache cache;
    struct attn_buffer key;    /* of a piece in the alphabet */
    size_t n;                  /* parts of the piece so far */
    struct part_range *ranges; /* owns; [n_range] of the parts, or NULL: part i is byte i */
    size_t n_range;
    struct part_range unk; /* unknown parts that are not added yet */
    bool has_unk;
    bool is_plain; /* every part of the piece has a token of its own */
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

/* A part that the vocabulary lacks. */
struct unknown {
    const char *key; /* [size] */
    size_t size;
    size_t begin, end; /* its bytes in the piece */
};

/* Adds PART of the piece SLICE. */
static enum attn_status add_unknown(struct bpe_scratch *scratch, struct attn_slice slice,
                                    const struct unknown *part, struct attn_error *err)
{
    const struct attn_bpe_model *model = scratch->model;
    const int32_t *ids = model->fallback_ids;
    const bool is_own = part->size == part->end - part->begin; /* the key is bytes of the piece */
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
        id = length == 1 ? model->byte_ids[byte] : find_token(model, piece + i, length);
        if (id >= 0) {
            add_unk(scratch);
            add(scratch, id, i, i + length);
            continue;
        }
        unknown.size = length;
        unknown.end = i + length;
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

/* Appends the tokens of the piece, found by merging. */
static enum attn_status merge_piece(struct attn_walk *walk, struct bpe_scratch *scratch,
                                    struct attn_slice slice, struct attn_error *err)
{
    const size_t size = attn_slice_size(slice), begin = slice.begin;
    /* A byte without a token may become the two of its character. */
    const size_t n_part = scratch->model->has_byte_fallback ? 2 * size : size;
    const struct attn_bpe_symbol *symbols;
    const struct part_range *ranges;
    size_t n_token = 0;

    scratch->n = 0;
    scratch->has_unk = false;
    ATTN_TRY(attn_bpe_begin(&scratch->work, n_part, err));
    if (scratch->model->has_places)
        ATTN_TRY(attn_grow((void **)&scratch->ranges, &scratch->n_range, n_part,
                           sizeof *scratch->ranges, err));
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
    int32_t id = -1; /* of the token that is the whole piece */

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
                piece->size = 0; /* not kept: its tokens do not say where they end */
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
    struct bpe_scratch *scratch = attn_alloc(1, sizeof *scratch, err);
    size_t n_piece = 64;

    *out = scratch;
    if (!scratch)
        return ATTN_NO_MEMORY;
    scratch->model = data;
    if (n < 256) /* short texts do without a cache */
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
