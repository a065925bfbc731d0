/*
 * grammar_vocab.c - vocab.json with the tokenizer settings of config.json: words, characters, and
 * byte-level BPE with merges.txt and special tokens.
 *
 * In a valid one each token has its id. A text of words, or characters, has the ids of these; one
 * of letters has those that merging by hand gives, always the first merge of the list that applies.
 */
#include "base/text/utf8.h"
#include "tests/adversary/made_merges.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_MERGE = 40, N_BYTE = 256, MAX_TEXT = 40 };

enum defect {
    NONE = -1,
    GAP,
    ID_TWICE,
    KEY_TWICE,
    NEGATIVE_ID,
    REAL_ID,
    TEXT_ID,
    NULL_ID,
    LARGE_ID,
    LIST_ROOT,
    NO_TOKEN,
    OTHER_TYPE,
    OTHER_SETTING,
    UNKNOWN_UNK,
    LONE_TOKEN,
    THREE_TOKENS,
    UNKNOWN_PART,
    UNKNOWN_RESULT,
    MERGE_TWICE,
    EMPTY_LINE,
    FIRST_JSON
};

static const char *const defects[] = {
    "a gap in the ids",
    "an id twice",
    "a token twice",
    "a negative id",
    "an id that is no whole number",
    "an id that is a text",
    "an id that is null",
    "an id of 2^31",
    "a root that is a list",
    "no token",
    "an unknown type",
    "an unknown setting",
    "an unk that is no token",
    "a merge of one token",
    "a merge of three tokens",
    "a merge of an unknown token",
    "a merge that makes an unknown token",
    "a merge twice",
    "an empty line between merges",
    ATTN_JSON_DEFECTS,
};
enum { N_DEFECT = sizeof defects / sizeof *defects };

struct known {
    enum attn_tokenizer_kind kind;
    struct attn_made_merges merges;
    char text[MAX_TEXT * ATTN_MADE_TOKEN_SIZE];
    size_t n_text;
    int32_t ids[MAX_TEXT]; /* of the text */
    size_t n_id;
};
_Static_assert(sizeof(struct known) <= ATTN_CASE_KNOWN_SIZE, "what is known has room");

/* --- tokens ----------------------------------------------------------------------------------- */

/* A character that is no white space and stands at no byte of BPE's alphabet above U+00FF. */
static size_t choose_character(struct attn_case *c, char out[4])
{
    static const uint32_t first[] = {0x21, 0x21, 0x61, 0xa1, 0x391, 0x4e00, 0x1f600, 0x2010};
    const uint32_t code_point = first[attn_case_below(c, 8)] + (uint32_t)attn_case_below(c, 16);

    return attn_utf8_encode(code_point, out);
}

static void make_words(struct attn_case *c, struct known *known)
{
    const size_t n = 1 + attn_case_below(c, 30);

    for (size_t i = 0; i < n; i++) {
        const size_t n_character =
            known->kind == ATTN_TOKENIZER_CHARACTER ? 1 : 1 + attn_case_below(c, 10);
        char text[ATTN_MADE_TOKEN_SIZE];
        size_t size = 0;

        for (size_t k = 0; k < n_character; k++)
            size += choose_character(c, text + size);
        (void)attn_made_merges_add_token(&known->merges, text, size);
    }
    known->n_id = attn_case_below(c, MAX_TEXT);
    for (size_t i = 0; i < known->n_id; i++) {
        const size_t id = attn_case_below(c, known->merges.n);

        if (known->kind == ATTN_TOKENIZER_WORD && i > 0)
            known->text[known->n_text++] = ' ';
        known->ids[i] = (int32_t)id;
        memcpy(known->text + known->n_text, known->merges.tokens[id].text,
               known->merges.tokens[id].size);
        known->n_text += known->merges.tokens[id].size;
    }
}

/* The character that stands for BYTE (bytes_to_unicode of GPT-2's encoder.py). */
static size_t byte_character(unsigned byte, char out[4])
{
    uint32_t shifted = 256;

    if ((byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174)
        return attn_utf8_encode(byte, out);
    for (unsigned b = 0; b < byte; b++)
        shifted += !((b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174);
    return attn_utf8_encode(shifted, out);
}

static void make_bpe(struct attn_case *c, struct known *known)
{
    const size_t n_merge = attn_case_below(c, MAX_MERGE);
    size_t order[N_BYTE];

    attn_case_shuffle(c, order, N_BYTE);
    for (size_t i = 0; i < N_BYTE; i++) {
        char text[4];
        const size_t size = byte_character((unsigned)order[i], text);

        (void)attn_made_merges_add_token(&known->merges, text, size);
    }
    for (int i = 0; i < ATTN_MADE_N_LETTER; i++)
        known->merges.letters[i] =
            attn_made_merges_find(&known->merges, (const char[]){(char)('a' + i)}, 1);
    for (size_t i = 0; i < n_merge; i++)
        attn_made_merges_add(c, &known->merges);
    if (attn_case_chance(c, 50))
        (void)attn_made_merges_add_token(&known->merges, "<|endoftext|>", 13);
    known->n_id = known->n_text = attn_case_below(c, MAX_TEXT);
    for (size_t i = 0; i < known->n_id; i++) {
        const size_t letter = attn_case_below(c, ATTN_MADE_N_LETTER);

        known->text[i] = (char)('a' + letter);
        known->ids[i] = known->merges.letters[letter];
    }
    known->n_id = attn_made_merges_apply(&known->merges, known->ids, known->n_id);
}

/* --- files ------------------------------------------------------------------------------------ */

static void put_id(struct attn_case *c, size_t id, enum defect defect, struct attn_buffer *out)
{
    static const char *const texts[N_DEFECT] = {
        [NEGATIVE_ID] = "-1", [REAL_ID] = "0.5", [NULL_ID] = "null", [LARGE_ID] = "2147483648"};
    char text[32];

    snprintf(text, sizeof text, defect == TEXT_ID ? "\"%zu\"" : "%zu", id);
    attn_json_put(c, out, defect != NONE && texts[defect] != NULL ? texts[defect] : text);
}

static void write_vocab(struct attn_case *c, const struct known *known, enum defect defect)
{
    struct attn_buffer *out = attn_case_file(c, "vocab.json");
    size_t order[ATTN_MADE_MAX];

    attn_case_shuffle(c, order, known->merges.n);
    attn_json_put(c, out, defect == LIST_ROOT ? "[{" : "{");
    for (size_t i = 0; i < known->merges.n && defect != NO_TOKEN; i++) {
        const struct attn_made_merges_token *token = &known->merges.tokens[order[i]];
        const bool is_victim = i == 0;
        size_t id = order[i];

        if (is_victim && defect == GAP)
            id = known->merges.n + attn_case_below(c, 9);
        if (is_victim && defect == ID_TWICE)
            id = known->merges.n == 1 ? 1 : (id + 1) % known->merges.n;
        attn_json_put(c, out, i > 0 ? "," : "");
        attn_json_put_string(c, out, token->text, token->size);
        attn_json_put(c, out, ":");
        put_id(c, id, is_victim ? defect : NONE, out);
    }
    if (defect == KEY_TWICE) {
        attn_json_put(c, out, ",");
        attn_json_put_string(c, out, known->merges.tokens[0].text, known->merges.tokens[0].size);
        attn_buffer_append_format(out, ":%zu", known->merges.n);
    }
    attn_json_put(c, out, defect == LIST_ROOT ? "}]" : "}");
    if (defect >= FIRST_JSON)
        attn_json_spoil(c, out, (int)defect - FIRST_JSON);
}

/* A line of merges.txt that is wrong. */
static void put_wrong_merge(struct attn_case *c, const struct known *known, enum defect defect,
                            const char *end, struct attn_buffer *out)
{
    const char *line = defect == LONE_TOKEN       ? (attn_case_chance(c, 50) ? "a" : "a ")
                       : defect == THREE_TOKENS   ? (attn_case_chance(c, 50) ? "a b c" : "a  b")
                       : defect == UNKNOWN_PART   ? "a \xe2\x82\xac"
                       : defect == UNKNOWN_RESULT ? "z z"
                                                  : "";

    if (defect == MERGE_TWICE) {
        const struct attn_made_merges_token *left =
                                                &known->merges.tokens[known->merges.pairs[0].left],
                                            *right =
                                                &known->merges.tokens[known->merges.pairs[0].right];

        attn_buffer_append_format(out, "%.*s %.*s%s", (int)left->size, left->text, (int)right->size,
                                  right->text, end);
    } else {
        attn_buffer_append_format(out, "%s%s", line, end);
    }
}

static void write_merges(struct attn_case *c, const struct known *known, enum defect defect)
{
    struct attn_buffer *out = attn_case_file(c, "merges.txt");
    const char *end = attn_case_chance(c, 85) ? "\n" : "\r\n";

    if (attn_case_chance(c, 70))
        attn_buffer_append_format(out, "#version: 0.2%s", end);
    for (size_t i = 0; i < known->merges.n_merge; i++) {
        const struct attn_made_merges_token *left =
                                                &known->merges.tokens[known->merges.pairs[i].left],
                                            *right =
                                                &known->merges.tokens[known->merges.pairs[i].right];
        const bool is_last = i + 1 == known->merges.n_merge && defect == NONE;

        attn_buffer_append_format(out, "%.*s %.*s%s", (int)left->size, left->text, (int)right->size,
                                  right->text, is_last && attn_case_chance(c, 30) ? "" : end);
    }
    if (defect >= LONE_TOKEN && defect <= EMPTY_LINE)
        put_wrong_merge(c, known, defect, end, out);
    if (defect == EMPTY_LINE)
        attn_buffer_append_format(out, "a b%s", end);
}

static void write_settings(struct attn_case *c, const struct known *known, enum defect defect)
{
    static const char *const kinds[] = {"word", "char", "bpe"};
    static const char *const settings[] = {"\"Drop\":\"\"", "\"lower\":true", "\"drop\":7",
                                           "\"unk\":[]"};
    const bool is_needed = known->kind == ATTN_TOKENIZER_CHARACTER || attn_case_chance(c, 50) ||
                           (defect >= OTHER_TYPE && defect <= UNKNOWN_UNK);
    struct attn_buffer *out;

    if (!is_needed)
        return;
    out = attn_case_file(c, "config.json");
    attn_json_put(c, out, "{");
    attn_json_put_key(c, out, "tokenizer");
    attn_json_put(c, out, "{");
    attn_json_put_key(c, out, "type");
    attn_buffer_append_format(out, "\"%s\"", defect == OTHER_TYPE ? "words" : kinds[known->kind]);
    if (defect == OTHER_SETTING)
        attn_buffer_append_format(out, ",%s", settings[attn_case_below(c, 4)]);
    if (defect == UNKNOWN_UNK)
        attn_buffer_append_string(out, ",\"unk\":\"no such token\"");
    else if (known->kind != ATTN_TOKENIZER_BPE && defect != OTHER_SETTING &&
             attn_case_chance(c, 30))
        attn_buffer_append_string(out, ",\"drop\":\"\\u2003\\t\",\"unk\":null");
    attn_json_put(c, out, "}}");
}

static void make(struct attn_case *c)
{
    struct known *known = (struct known *)c->known.bytes;
    enum defect defect = (enum defect)attn_case_defect(c, defects, N_DEFECT);
    const bool is_of_merges = defect >= LONE_TOKEN && defect <= EMPTY_LINE;

    known->kind = is_of_merges || attn_case_chance(c, 40)
                      ? ATTN_TOKENIZER_BPE
                      : (attn_case_chance(c, 60) ? ATTN_TOKENIZER_WORD : ATTN_TOKENIZER_CHARACTER);
    if (known->kind == ATTN_TOKENIZER_BPE)
        make_bpe(c, known);
    else
        make_words(c, known);
    if ((defect == MERGE_TWICE && known->merges.n_merge == 0) ||
        (int)defect == FIRST_JSON + ATTN_JSON_NUL) { /* a token like others */
        attn_case_is_valid(c);
        defect = NONE;
    }
    write_vocab(c, known, defect);
    if (known->kind == ATTN_TOKENIZER_BPE)
        write_merges(c, known, defect);
    write_settings(c, known, defect);
    attn_buffer_append_format(attn_case_file(c, "text.txt"), "%.*s\n", (int)known->n_text,
                              known->text); /* the final newline is no part of the text */
    attn_case_run(c, 3, "tokenize", "-m", ".", "-f", "text.txt", NULL);
}

static void check_tokens(const struct known *known, const struct attn_tokenizer *tokenizer)
{
    FUZZ_CHECK(attn_tokenizer_kind(tokenizer) == known->kind);
    FUZZ_CHECK(attn_tokenizer_n_vocab(tokenizer) == known->merges.n);
    for (size_t i = 0; i < known->merges.n && known->kind != ATTN_TOKENIZER_BPE; i++) {
        size_t size = 0;
        const char *token = attn_tokenizer_token(tokenizer, (int32_t)i, &size);

        FUZZ_CHECK(size == known->merges.tokens[i].size &&
                   memcmp(token, known->merges.tokens[i].text, size) == 0);
    }
}

static void check_text(const struct known *known, const struct attn_tokenizer *tokenizer)
{
    struct attn_encoding encoding = {0};
    struct attn_error err = {0};
    char *text = NULL;
    size_t size = 0;

    FUZZ_CHECK(attn_tokenizer_encode(tokenizer, known->text, known->n_text, NULL, &encoding,
                                     &err) == ATTN_OK);
    FUZZ_CHECK(encoding.n == known->n_id);
    FUZZ_CHECK(encoding.n == 0 ||
               memcmp(encoding.ids, known->ids, encoding.n * sizeof *encoding.ids) == 0);
    FUZZ_CHECK(attn_tokenizer_decode(tokenizer, encoding.ids, encoding.n, &text, &size, &err) ==
               ATTN_OK);
    FUZZ_CHECK(size == known->n_text && memcmp(text, known->text, size) == 0);
    attn_tokenizer_text_free(text);
    attn_encoding_release(&encoding);
}

static enum attn_status take(struct attn_case *c, struct attn_error *err)
{
    const struct known *known = (const struct known *)c->known.bytes;
    struct attn_blob blobs[ATTN_CASE_MAX_FILE];
    const struct attn_source source = {.name = "m", .blobs = blobs, .n_blob = (size_t)c->n_file};
    struct attn_tokenizer *tokenizer = NULL;
    enum attn_status status;

    for (int i = 0; i < c->n_file; i++)
        blobs[i] =
            (struct attn_blob){c->files[i].name, c->files[i].bytes.data, c->files[i].bytes.size};
    status = attn_tokenizer_open(&source, &tokenizer, err);
    if (status == ATTN_OK && c->meant == ATTN_MEANT_VALID) {
        check_tokens(known, tokenizer);
        check_text(known, tokenizer);
    }
    attn_tokenizer_free(tokenizer);
    return status;
}

const struct attn_grammar attn_grammar_vocab = {.name = "vocab",
                                                .make = make,
                                                .take = take,
                                                .refused = FUZZ_BIT(ATTN_FORMAT) |
                                                           FUZZ_BIT(ATTN_UNSUPPORTED)};
