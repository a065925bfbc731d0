/*
 * grammar_text.c - texts: words, rare characters, what breaks programs (support/naughty.h), and
 * bytes that are not UTF-8, each with what --invalid makes of it.
 *
 * A valid text comes back from its tokens byte for byte, and the tokens lie one behind the other in
 * it. Of a broken one the first bad byte is named; replaced, it holds one U+FFFD for each maximal
 * subpart; as bytes it comes back as it is.
 */
#include "base/text/utf8.h"
#include "model/builtin.h"
#include "tests/adversary/case.h"
#include "tests/support/naughty.h"
#include "tokenizer/tokenizer.h"

#include <stdio.h>
#include <string.h>

enum { MAX_PIECE = 24, LARGE = 6000 /* pieces */, LONGEST = 60000 /* bytes */ };

static const char *const modes[] = {"refuse", "replace", "bytes"};

struct known {
    enum attn_invalid_text mode;
    size_t first_bad; /* SIZE_MAX: none */
    size_t n_replaced;
    char replaced[200000]; /* the text with U+FFFD in place of what is not UTF-8 */
};
_Static_assert(sizeof(struct known) <= ATTN_CASE_KNOWN_SIZE, "what is known has room");

static void put(struct known *known, struct attn_buffer *out, const char *text, size_t size)
{
    attn_buffer_append(out, text, size);
    FUZZ_CHECK(known->n_replaced + size < sizeof known->replaced);
    memcpy(known->replaced + known->n_replaced, text, size);
    known->n_replaced += size;
}

/* Bytes that are not UTF-8, and how many U+FFFD take their place (Unicode 3.9, table 3-8). A letter
 * follows, so that nothing behind them makes them whole. */
static void put_broken(struct attn_case *c, struct known *known, struct attn_buffer *out)
{
    static const struct {
        const char *bytes;
        int n;
    } broken[] = {{"\x80", 1},         {"\xbf\xbf", 2},         {"\xc3", 1},
                  {"\xe2\x82", 1},     {"\xf0\x9f\x98", 1},     {"\xf0\x9f", 1},
                  {"\xff", 1},         {"\xfe\xff", 2},         {"\xc0\xaf", 2},
                  {"\xe0\x80\xaf", 3}, {"\xed\xa0\xbd", 3},     {"\xed\xbf\xbf", 3},
                  {"\xc1\x81", 2},     {"\xf4\x90\x80\x80", 4}, {"\xf8\x88\x80\x80\x80", 5}};
    const size_t i = attn_case_below(c, sizeof broken / sizeof *broken);

    if (known->first_bad == SIZE_MAX)
        known->first_bad = out->size;
    attn_buffer_append_string(out, broken[i].bytes);
    for (int k = 0; k < broken[i].n; k++) {
        memcpy(known->replaced + known->n_replaced, "\xef\xbf\xbd", 3);
        known->n_replaced += 3;
    }
    put(known, out, "e", 1);
}

static void put_character(struct attn_case *c, struct known *known, struct attn_buffer *out)
{
    static const uint32_t first[] = {0, 0x80, 0x300, 0x2000, 0x4e00, 0xe000, 0x1f300, 0x10fff0};
    uint32_t code_point = first[attn_case_below(c, 8)] +
                          (uint32_t)attn_case_below(c, attn_case_chance(c, 50) ? 16 : 256);
    char bytes[4];

    code_point = code_point > 0x10ffff ? 0x10ffff : code_point;
    put(known, out, bytes, attn_utf8_encode(code_point, bytes));
}

static void put_piece(struct attn_case *c, struct known *known, struct attn_buffer *out)
{
    static const char *const words[] = {"The",         " cat", " don't",        "\n", " ",  "  ",
                                        "1234",        " eat", "<|endoftext|>", "!?", "\t", ".",
                                        "<|endoftext", " \n "};

    if (attn_case_chance(c, 50)) {
        const char *word = words[attn_case_below(c, sizeof words / sizeof *words)];

        put(known, out, word, strlen(word));
    } else if (attn_case_chance(c, 70)) {
        put_character(c, known, out);
    } else {
        const struct attn_naughty *string = &attn_naughty[attn_case_below(c, attn_n_naughty)];

        if (attn_naughty_is_utf8(string))
            put(known, out, string->text, string->size);
    }
}

static void make(struct attn_case *c)
{
    static const char *const defects[] = {"bytes that are not UTF-8"};
    struct known *known = (struct known *)c->known.bytes;
    struct attn_buffer *out = attn_case_file(c, "text.txt");
    const bool is_broken = attn_case_defect(c, defects, 1) == 0;
    const size_t n = attn_case_is_large(c) ? LARGE : attn_case_below(c, MAX_PIECE);
    const size_t at = attn_case_below(c, n < MAX_PIECE ? n + 1 : MAX_PIECE);

    known->mode = attn_case_chance(c, 70) ? ATTN_INVALID_TEXT_REFUSE
                                          : (enum attn_invalid_text)(1 + attn_case_below(c, 2));
    known->first_bad = SIZE_MAX;
    for (size_t i = 0; i <= n; i++) {
        if (is_broken && (i == at || attn_case_chance(c, n > MAX_PIECE ? 60 : 10)))
            put_broken(c, known, out);
        put_piece(c, known, out);
        if (out->size > LONGEST) /* every piece has room in what is known */
            break;
    }
    if (known->mode != ATTN_INVALID_TEXT_REFUSE)
        attn_case_is_valid(c);
    attn_buffer_append_char(out, '\n'); /* no part of the text */
    attn_case_run(c, 4, "tokenize", "-f", "text.txt", "--invalid", modes[known->mode], "--format",
                  "ids", NULL);
}

static const struct attn_tokenizer *tokenizer_of_fable(void)
{
    static struct attn_tokenizer *tokenizer; /* held for as long as the process lives */
    struct attn_source source = {0};
    struct attn_error err = {0};

    if (tokenizer == NULL)
        FUZZ_CHECK(attn_builtin_find("fable", &source) &&
                   attn_tokenizer_open(&source, &tokenizer, &err) == ATTN_OK);
    return tokenizer;
}

/* The tokens make up TEXT [size], and where they lie leaves nothing of the file out. */
static void check_tokens(const struct attn_encoding *encoding, const char *text, size_t size,
                         size_t n_file)
{
    struct attn_error err = {0};
    char *decoded = NULL;
    size_t n_decoded = 0, end = 0;

    FUZZ_CHECK(attn_tokenizer_decode(tokenizer_of_fable(), encoding->ids, encoding->n, &decoded,
                                     &n_decoded, &err) == ATTN_OK);
    FUZZ_CHECK(n_decoded == size && memcmp(decoded, text, size) == 0);
    for (size_t i = 0; i < encoding->n; i++) {
        FUZZ_CHECK(encoding->begin[i] <= end && encoding->end[i] >= end);
        FUZZ_CHECK(encoding->begin[i] < encoding->end[i]);
        end = encoding->end[i];
    }
    FUZZ_CHECK(end == n_file);
    attn_tokenizer_text_free(decoded);
}

static enum attn_status take(struct attn_case *c, struct attn_error *err)
{
    const struct known *known = (const struct known *)c->known.bytes;
    const struct attn_buffer *text = attn_case_find(c, "text.txt");
    const size_t size = text->size - 1; /* without the newline */
    struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    struct attn_encoding encoding = {0};
    const bool is_replaced = known->mode == ATTN_INVALID_TEXT_REPLACE;
    enum attn_status status;
    char place[64];

    options.invalid = known->mode;
    status =
        attn_tokenizer_encode(tokenizer_of_fable(), text->data, size, &options, &encoding, err);
    if (status == ATTN_OK && c->meant == ATTN_MEANT_VALID)
        check_tokens(&encoding, is_replaced ? known->replaced : text->data,
                     is_replaced ? known->n_replaced : size, size);
    if (c->meant == ATTN_MEANT_REFUSED) {
        snprintf(place, sizeof place, "not UTF-8 at byte %zu:", known->first_bad);
        FUZZ_CHECK(strstr(err->message, place) != NULL);
    }
    attn_encoding_release(&encoding);
    return status;
}

const struct attn_grammar attn_grammar_text = {
    .name = "text", .make = make, .take = take, .refused = FUZZ_BIT(ATTN_INVALID)};
