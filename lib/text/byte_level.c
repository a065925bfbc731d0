/* byte_level.c - see byte_level.h. */
#include "text/byte_level.h"

#include "base/memory.h"
#include "base/utf8.h"
#include "text/bpe.h"
#include "text/normalized.h"
#include "text/piece_cache.h"
#include "text/settings.h"
#include "text/tokenizer_internal.h"
#include "text/unmade.h"

#include <string.h>

enum { LONG_PIECE = 1 << 16 }; /* bytes; its tokens are counted before there is room for them */

static bool is_itself(unsigned byte)
{
    return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

void attn_alphabet_init(struct attn_alphabet *alphabet)
{
    unsigned next = 0x100;

    memset(alphabet->byte, 0xff, sizeof alphabet->byte); /* -1 */
    for (unsigned byte = 0; byte < 256; byte++) {
        unsigned code_point = is_itself(byte) ? byte : next++;

        alphabet->code_point[byte] = (uint16_t)code_point;
        alphabet->byte[code_point] = (int16_t)byte;
    }
}

bool attn_alphabet_to_bytes(const struct attn_alphabet *alphabet, const char *key, size_t size,
                            char *out, size_t *n_byte)
{
    size_t n = 0;

    for (size_t at = 0; at < size;) {
        uint32_t code_point;
        size_t length = attn_utf8_decode(key + at, size - at, &code_point);

        if (length == 0 || code_point >= sizeof alphabet->byte / sizeof *alphabet->byte ||
            alphabet->byte[code_point] < 0)
            return false;
        out[n++] = (char)alphabet->byte[code_point];
        at += length;
    }
    *n_byte = n;
    return true;
}

/* Turns the keys into the bytes that they stand for; special tokens stand for themselves. */
static enum attn_status make_bytes(struct attn_byte_level *bpe,
                                   const struct attn_vocabulary *vocabulary,
                                   const struct attn_alphabet *alphabet, struct attn_error *err)
{
    size_t at = 0;

    bpe->bytes = attn_alloc_uninitialized(vocabulary->keys.size, 1, err);
    bpe->begin = attn_alloc_uninitialized(vocabulary->n + 1, sizeof *bpe->begin, err);
    if (!bpe->bytes || !bpe->begin)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; i < vocabulary->n; i++) {
        size_t size, n_byte;
        const char *key = attn_vocabulary_key(vocabulary, (int32_t)i, &size);

        bpe->begin[i] = at;
        if (bpe->specials.is_special[i] ||
            !attn_alphabet_to_bytes(alphabet, key, size, bpe->bytes + at, &n_byte)) {
            memcpy(bpe->bytes + at, key, size);
            n_byte = size;
        }
        at += n_byte;
    }
    bpe->begin[vocabulary->n] = at;
    return ATTN_OK;
}

static void find_byte_ids(struct attn_byte_level *bpe, const struct attn_vocabulary *vocabulary,
                          const struct attn_alphabet *alphabet)
{
    for (size_t byte = 0; byte < 256; byte++) {
        char key[4];
        size_t size = attn_utf8_encode(alphabet->code_point[byte], key);

        bpe->byte_ids[byte] = attn_vocabulary_find(vocabulary, key, size);
    }
}

static enum attn_status read_merges(struct attn_byte_level *bpe, const struct attn_source *source,
                                    const struct attn_vocabulary *vocabulary,
                                    struct attn_error *err)
{
    struct attn_file file = {0};
    enum attn_status status = attn_file_read_part(source, "merges.txt", &file, err);

    if (status == ATTN_OK)
        status = attn_merges_read(&bpe->merges, &file, vocabulary, err);
    if (status == ATTN_OK)
        status = attn_unmade_check(bpe, vocabulary, file.path, &bpe->note, err);
    attn_file_close(&file);
    return status;
}

enum attn_status attn_byte_level_open(struct attn_byte_level *bpe, const struct attn_source *source,
                                      struct attn_vocabulary *vocabulary, struct attn_error *err)
{
    struct attn_alphabet alphabet;
    enum attn_status status = attn_specials_read(&bpe->specials, source, vocabulary, err);

    if (status == ATTN_OK)
        status = attn_settings_read_prefix(source, &bpe->has_prefix, err);
    if (status == ATTN_OK)
        status = attn_split_create(&bpe->split, err);
    if (status != ATTN_OK)
        return status;
    attn_alphabet_init(&alphabet);
    find_byte_ids(bpe, vocabulary, &alphabet);
    status = read_merges(bpe, source, vocabulary, err);
    return status == ATTN_OK ? make_bytes(bpe, vocabulary, &alphabet, err) : status;
}

void attn_byte_level_release(struct attn_byte_level *bpe)
{
    attn_specials_release(&bpe->specials);
    attn_merges_release(&bpe->merges);
    attn_split_free(bpe->split);
    attn_free(bpe->bytes);
    attn_free(bpe->begin);
    attn_free(bpe->note);
    *bpe = (struct attn_byte_level){0};
}

/* One call of encode. */
struct encode {
    const struct attn_byte_level *bpe;
    struct attn_encoding *encoding;
    struct attn_split_walk *walk;
    struct attn_bpe_work work;
    struct attn_piece_cache cache;
    struct attn_normalized normalized; /* the text between two special tokens */
    size_t base;                       /* where it begins in the text */
};

static enum attn_status refuse_byte(const struct encode *encode, size_t at, struct attn_error *err)
{
    return attn_error_set(err, ATTN_INVALID,
                          "the vocabulary has no token for byte 0x%02x, found at byte %zu",
                          (unsigned)(unsigned char)encode->normalized.text[at],
                          encode->base + attn_normalized_begin(&encode->normalized, at));
}

/* Appends the tokens of bytes BEGIN..END of the normalized text, found by merging. */
static enum attn_status merge_piece(struct encode *encode, size_t begin, size_t end,
                                    struct attn_error *err)
{
    const struct attn_byte_level *bpe = encode->bpe;
    const unsigned char *piece = (const unsigned char *)encode->normalized.text + begin;
    size_t n = end - begin, n_token = 0;
    enum attn_status status = attn_bpe_begin(&encode->work, n, err);
    struct attn_bpe_symbol *symbols = encode->work.symbols;

    if (status != ATTN_OK)
        return status;
    for (size_t i = 0; i < n; i++) {
        symbols[i].id = bpe->byte_ids[piece[i]];
        if (symbols[i].id < 0)
            return refuse_byte(encode, begin + i, err);
    }
    attn_bpe_merge(&encode->work, n, &bpe->merges);
    if (n > LONG_PIECE) {
        for (size_t i = 0; i < n; i = symbols[i].next)
            n_token++;
        status = attn_encoding_reserve(encode->encoding, encode->encoding->n + n_token, err);
    }
    for (size_t i = 0; i < n && status == ATTN_OK; i = symbols[i].next)
        status = attn_encoding_push(encode->encoding, symbols[i].id, begin + i,
                                    begin + symbols[i].next, err);
    return status;
}

/* Appends the tokens that PIECE has, to stand at BEGIN of the normalized text. */
static enum attn_status copy_piece(struct encode *encode, const struct attn_cached_piece *piece,
                                   size_t begin, struct attn_error *err)
{
    enum attn_status status = ATTN_OK;

    for (size_t i = 0; i < piece->n && status == ATTN_OK; i++) {
        int32_t id = encode->encoding->ids[piece->first + i];
        size_t end = begin + (encode->bpe->begin[id + 1] - encode->bpe->begin[id]);

        status = attn_encoding_push(encode->encoding, id, begin, end, err);
        begin = end;
    }
    return status;
}

/*
 * Whether the tokens from FIRST on have SIZE bytes in all. They do, unless merging reached one that
 * a file calls special, which stands for the letters of its key.
 */
static bool adds_up(const struct encode *encode, size_t first, size_t size)
{
    size_t sum = 0;

    for (size_t i = first; i < encode->encoding->n; i++) {
        const int32_t id = encode->encoding->ids[i];

        sum += encode->bpe->begin[id + 1] - encode->bpe->begin[id];
    }
    return sum == size;
}

static enum attn_status encode_piece(struct encode *encode, size_t begin, size_t end,
                                     struct attn_error *err)
{
    bool found;
    size_t first = encode->encoding->n;
    struct attn_cached_piece *piece =
        attn_piece_cache_find(&encode->cache, encode->normalized.text + begin, end - begin, &found);
    enum attn_status status;

    if (found)
        return copy_piece(encode, piece, begin, err);
    status = merge_piece(encode, begin, end, err);
    if (piece) {
        piece->first = first;
        piece->n = (uint32_t)(encode->encoding->n - first);
        if (!adds_up(encode, first, end - begin))
            piece->size = 0; /* not kept: copy_piece would find other ends */
    }
    return status;
}

/* Splits and encodes bytes BEGIN..END of the normalized text, which are valid UTF-8. */
static enum attn_status encode_valid(struct encode *encode, size_t begin, size_t end,
                                     struct attn_error *err)
{
    size_t at = begin, next = 0;

    /* The pattern must not see what lies before BEGIN or behind END: these are texts of their
     * own. */
    while (at < end) {
        enum attn_status status = attn_split_next(encode->walk, encode->normalized.text + begin,
                                                  end - begin, at - begin, &next, err);

        if (status == ATTN_OK)
            status = encode_piece(encode, at, begin + next, err);
        if (status != ATTN_OK)
            return status;
        at = begin + next;
    }
    return ATTN_OK;
}

/* Encodes the normalized text; every run of bytes that are not UTF-8 is a piece. */
static enum attn_status encode_bytes(struct encode *encode, struct attn_error *err)
{
    const char *text = encode->normalized.text;
    size_t size = encode->normalized.size;
    enum attn_status status = ATTN_OK;

    for (size_t at = 0; at < size && status == ATTN_OK;) {
        size_t bad = at + attn_utf8_valid_length(text + at, size - at), good = bad;
        uint32_t n_bad;

        status = encode_valid(encode, at, bad, err);
        while (good < size && attn_utf8_decode(text + good, size - good, &n_bad) == 0)
            good += n_bad;
        if (status == ATTN_OK && good > bad)
            status = encode_piece(encode, bad, good, err);
        at = good;
    }
    return status;
}

/* Encodes SIZE bytes of TEXT from encode->base on, which hold no special tokens. */
static enum attn_status encode_plain(struct encode *encode, const char *text, size_t size,
                                     enum attn_invalid_text invalid, struct attn_error *err)
{
    struct attn_normalization how = {.adds_space = encode->bpe->has_prefix,
                                     .replaces_invalid = invalid == ATTN_INVALID_TEXT_REPLACE};
    size_t first = encode->encoding->n;
    enum attn_status status =
        attn_normalized_set(&encode->normalized, text + encode->base, size, how, err);

    if (status == ATTN_OK && invalid == ATTN_INVALID_TEXT_BYTES)
        status = encode_bytes(encode, err);
    else if (status == ATTN_OK)
        status = encode_valid(encode, 0, encode->normalized.size, err);
    if (status == ATTN_OK)
        attn_normalized_map_offsets(&encode->normalized, encode->base, first, encode->encoding);
    return status;
}

static enum attn_status encode_all(struct encode *encode, const char *text, size_t size,
                                   const struct attn_encode_options *options,
                                   struct attn_error *err)
{
    enum attn_status status = ATTN_OK;
    size_t begin = size;

    while (encode->base < size && status == ATTN_OK) {
        const struct attn_special_token *token = NULL;

        if (options->special == ATTN_SPECIAL_PARSE)
            token = attn_specials_find(&encode->bpe->specials, text, size, encode->base, &begin);
        status = encode_plain(encode, text, begin - encode->base, options->invalid, err);
        encode->base = begin;
        if (status == ATTN_OK && token) {
            status =
                attn_encoding_push(encode->encoding, token->id, begin, begin + token->size, err);
            encode->base += token->size;
        }
    }
    return status;
}

enum attn_status attn_byte_level_encode(const struct attn_byte_level *bpe, const char *text,
                                        size_t size, const struct attn_encode_options *options,
                                        struct attn_encoding *encoding, struct attn_error *err)
{
    struct encode encode = {.bpe = bpe, .encoding = encoding};
    enum attn_status status = attn_split_walk_create(bpe->split, &encode.walk, err);

    if (status == ATTN_OK)
        status = attn_piece_cache_init(&encode.cache, size, err);
    if (status == ATTN_OK)
        status = encode_all(&encode, text, size, options, err);
    attn_split_walk_free(encode.walk);
    attn_bpe_release(&encode.work);
    attn_piece_cache_release(&encode.cache);
    attn_normalized_release(&encode.normalized);
    return status;
}
