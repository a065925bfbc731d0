/* byte_level.c - see byte_level.h. */
#include "text/byte_level.h"

#include "base/memory.h"
#include "base/utf8.h"
#include "text/alphabet.h"
#include "text/bpe.h"
#include "text/encoding.h"
#include "text/piece_cache.h"
#include "text/settings.h"
#include "text/subject.h"

#include <string.h>

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
        status = read_merges(bpe, source, vocabulary, err);
    if (status == ATTN_OK)
        status = attn_split_create(&bpe->split, err);
    if (status != ATTN_OK)
        return status;
    attn_alphabet_init(&alphabet);
    find_byte_ids(bpe, vocabulary, &alphabet);
    return make_bytes(bpe, vocabulary, &alphabet, err);
}

void attn_byte_level_release(struct attn_byte_level *bpe)
{
    attn_specials_release(&bpe->specials);
    attn_merges_release(&bpe->merges);
    attn_split_free(bpe->split);
    attn_free(bpe->bytes);
    attn_free(bpe->begin);
    *bpe = (struct attn_byte_level){0};
}

/* One call of encode. */
struct run {
    const struct attn_byte_level *bpe;
    struct attn_encoding *encoding;
    struct attn_split_walk *walk;
    struct attn_bpe_work work;
    struct attn_piece_cache cache;
    struct attn_subject subject; /* the text between two special tokens */
    size_t base;                 /* where it begins in the text */
};

static enum attn_status refuse_byte(const struct run *run, size_t at, struct attn_error *err)
{
    return attn_error_set(err, ATTN_INVALID,
                          "the vocabulary has no token for byte 0x%02x, found at byte %zu",
                          (unsigned)(unsigned char)run->subject.text[at],
                          run->base + attn_subject_begin(&run->subject, at));
}

/* Appends the tokens of bytes BEGIN..END of the subject, found by merging. */
static enum attn_status merge_piece(struct run *run, size_t begin, size_t end,
                                    struct attn_error *err)
{
    const struct attn_byte_level *bpe = run->bpe;
    const unsigned char *piece = (const unsigned char *)run->subject.text + begin;
    size_t n = end - begin;
    enum attn_status status = attn_bpe_begin(&run->work, n, err);
    struct attn_bpe_symbol *symbols = run->work.symbols;

    if (status != ATTN_OK)
        return status;
    for (size_t i = 0; i < n; i++) {
        symbols[i].id = bpe->byte_ids[piece[i]];
        if (symbols[i].id < 0)
            return refuse_byte(run, begin + i, err);
    }
    attn_bpe_merge(&run->work, n, &bpe->merges);
    for (size_t i = 0; i < n && status == ATTN_OK; i = symbols[i].next)
        status = attn_encoding_push(run->encoding, symbols[i].id, begin + i,
                                    begin + symbols[i].next, err);
    return status;
}

/* Appends the tokens that PIECE has, to stand at BEGIN of the subject. */
static enum attn_status copy_piece(struct run *run, const struct attn_cached_piece *piece,
                                   size_t begin, struct attn_error *err)
{
    enum attn_status status = ATTN_OK;

    for (size_t i = 0; i < piece->n && status == ATTN_OK; i++) {
        int32_t id = run->encoding->ids[piece->first + i];
        size_t end = begin + (run->bpe->begin[id + 1] - run->bpe->begin[id]);

        status = attn_encoding_push(run->encoding, id, begin, end, err);
        begin = end;
    }
    return status;
}

/*
 * Whether the tokens from FIRST on have SIZE bytes in all. They do, unless merging reached one that
 * a file calls special, which stands for the letters of its key.
 */
static bool adds_up(const struct run *run, size_t first, size_t size)
{
    size_t sum = 0;

    for (size_t i = first; i < run->encoding->n; i++) {
        const int32_t id = run->encoding->ids[i];

        sum += run->bpe->begin[id + 1] - run->bpe->begin[id];
    }
    return sum == size;
}

static enum attn_status encode_piece(struct run *run, size_t begin, size_t end,
                                     struct attn_error *err)
{
    bool found;
    size_t first = run->encoding->n;
    struct attn_cached_piece *piece =
        attn_piece_cache_find(&run->cache, run->subject.text + begin, end - begin, &found);
    enum attn_status status;

    if (found)
        return copy_piece(run, piece, begin, err);
    status = merge_piece(run, begin, end, err);
    if (piece) {
        piece->first = first;
        piece->n = (uint32_t)(run->encoding->n - first);
        if (!adds_up(run, first, end - begin))
            piece->size = 0; /* not kept: copy_piece would find other ends */
    }
    return status;
}

/* Splits and encodes bytes BEGIN..END of the subject, which are valid UTF-8. */
static enum attn_status encode_valid(struct run *run, size_t begin, size_t end,
                                     struct attn_error *err)
{
    enum attn_status status = ATTN_OK;

    /* The pattern must not see what lies before BEGIN or behind END: these are texts of their
     * own. */
    for (size_t at = begin, next; at < end && status == ATTN_OK; at = next) {
        status = attn_split_next(run->walk, run->subject.text + begin, end - begin, at - begin,
                                 &next, err);
        next += begin;
        if (status == ATTN_OK)
            status = encode_piece(run, at, next, err);
    }
    return status;
}

/* Encodes the subject; every run of bytes that are not UTF-8 is a piece. */
static enum attn_status encode_bytes(struct run *run, struct attn_error *err)
{
    const char *text = run->subject.text;
    size_t size = run->subject.size;
    enum attn_status status = ATTN_OK;

    for (size_t at = 0; at < size && status == ATTN_OK;) {
        size_t bad = at + attn_utf8_valid_length(text + at, size - at), good = bad;
        uint32_t n_bad;

        status = encode_valid(run, at, bad, err);
        while (good < size && attn_utf8_decode(text + good, size - good, &n_bad) == 0)
            good += n_bad;
        if (status == ATTN_OK && good > bad)
            status = encode_piece(run, bad, good, err);
        at = good;
    }
    return status;
}

/* Encodes SIZE bytes of TEXT from run->base on, which hold no special tokens. */
static enum attn_status encode_plain(struct run *run, const char *text, size_t size,
                                     enum attn_invalid_text invalid, struct attn_error *err)
{
    struct attn_subject_change change = {.prefix = run->bpe->has_prefix,
                                         .replace = invalid == ATTN_INVALID_TEXT_REPLACE};
    size_t first = run->encoding->n;
    enum attn_status status = attn_subject_set(&run->subject, text + run->base, size, change, err);

    if (status == ATTN_OK && invalid == ATTN_INVALID_TEXT_BYTES)
        status = encode_bytes(run, err);
    else if (status == ATTN_OK)
        status = encode_valid(run, 0, run->subject.size, err);
    if (status == ATTN_OK)
        attn_subject_map(&run->subject, run->base, first, run->encoding);
    return status;
}

static enum attn_status encode_all(struct run *run, const char *text, size_t size,
                                   const struct attn_encode_options *options,
                                   struct attn_error *err)
{
    enum attn_status status = ATTN_OK;
    size_t begin = size;

    while (run->base < size && status == ATTN_OK) {
        const struct attn_special_token *token = NULL;

        if (options->special == ATTN_SPECIAL_PARSE)
            token = attn_specials_find(&run->bpe->specials, text, size, run->base, &begin);
        status = encode_plain(run, text, begin - run->base, options->invalid, err);
        run->base = begin;
        if (status == ATTN_OK && token) {
            status = attn_encoding_push(run->encoding, token->id, begin, begin + token->size, err);
            run->base += token->size;
        }
    }
    return status;
}

enum attn_status attn_byte_level_encode(const struct attn_byte_level *bpe, const char *text,
                                        size_t size, const struct attn_encode_options *options,
                                        struct attn_encoding *encoding, struct attn_error *err)
{
    struct run run = {.bpe = bpe, .encoding = encoding};
    enum attn_status status = attn_split_walk_create(bpe->split, &run.walk, err);

    if (status == ATTN_OK)
        status = attn_piece_cache_init(&run.cache, size, err);
    if (status == ATTN_OK)
        status = encode_all(&run, text, size, options, err);
    attn_split_walk_free(run.walk);
    attn_bpe_release(&run.work);
    attn_piece_cache_release(&run.cache);
    attn_subject_release(&run.subject);
    return status;
}
