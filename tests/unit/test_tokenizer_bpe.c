/* Byte-level BPE: splitting, special tokens, offsets, bad files, round trips, long runs. */
#include "tests/support/alloc_fail.h"
#include "tests/support/suite.h"
#include "tests/support/tokenizing.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define N(array) (sizeof(array) / sizeof *(array))
#define SPACE "\\u0120"

/* In the order of their merges, where they have one; token b < 256 is byte b. */
static const char *const toy_tokens[] = {"he",        SPACE "t", SPACE "the", "##",           "'s",
                                         SPACE SPACE, "aa",      "aaaa",      "<|endoftext|>"};
enum { HE = 256, SP_T, SP_THE, HASHES, APOSTROPHE_S, SPACES, AA, AAAA, END_OF_TEXT };

#define ALL_BUT_THE_LAST                                                                           \
    "#version: 0.2\n"                                                                              \
    "h e\n\xc4\xa0 t\n\xc4\xa0t he\r\n# #\n' s\n\xc4\xa0 \xc4\xa0\na a\n"

static const char toy_merges[] = ALL_BUT_THE_LAST "aa aa\n";

static struct attn_buffer vocabulary;
static struct attn_tokenizer *tokenizer;

static struct attn_tokenizer_files toy_files(void)
{
    attn_buffer_reset(&vocabulary);
    attn_write_byte_vocabulary(&vocabulary, toy_tokens, N(toy_tokens));
    return (struct attn_tokenizer_files){.vocab = vocabulary.data, .merges = toy_merges};
}

static void open_toy(void)
{
    struct attn_tokenizer_files files = toy_files();

    tokenizer = attn_make_tokenizer(&files);
}

static void close_toy(void)
{
    attn_tokenizer_free(tokenizer);
    attn_buffer_release(&vocabulary);
    tokenizer = NULL;
}

static void assert_ids(const char *text, const struct attn_encode_options *options,
                       const int32_t *ids, size_t n)
{
    struct attn_encoding encoding = {0};
    struct attn_error err = {0};

    if (attn_tokenizer_encode(tokenizer, text, strlen(text),
                              options ? options : &ATTN_ENCODE_DEFAULT, &encoding, &err) != ATTN_OK)
        ck_abort_msg("%s", err.message);
    for (size_t i = 0; i < n && i < encoding.n; i++)
        ck_assert_msg(encoding.ids[i] == ids[i], "'%s': id %zu is %d, expected %d", text, i,
                      (int)encoding.ids[i], (int)ids[i]);
    ck_assert_msg(encoding.n == n, "'%s': %zu ids, expected %zu", text, encoding.n, n);
    attn_encoding_release(&encoding);
}

#define ASSERT_IDS(text, ...)                                                                      \
    assert_ids(text, NULL, (const int32_t[]){__VA_ARGS__}, N(((const int32_t[]){__VA_ARGS__})))

START_TEST(merges_the_lowest_rank_first)
{
    static const struct attn_expected_token expected[] = {
        {'t', 0, 1}, {HE, 1, 3}, {SP_THE, 3, 7}, {SP_T, 7, 9}, {'h', 9, 10}};

    open_toy();
    ck_assert_int_eq(attn_tokenizer_kind(tokenizer), ATTN_TOKENIZER_BPE);
    ck_assert_uint_eq(attn_tokenizer_n_vocab(tokenizer), END_OF_TEXT + 1);
    attn_assert_tokens(tokenizer, "the the th", 10, NULL, expected, N(expected));
    ASSERT_IDS("aaaaaaa", AAAA, AA, 'a'); /* from the left */
    ASSERT_IDS("##", HASHES);             /* a merge that begins with # is no comment */
    attn_assert_tokens(tokenizer, "", 0, NULL, NULL, 0);
    close_toy();
}
END_TEST

START_TEST(splits_as_the_pattern_says)
{
    open_toy();
    ASSERT_IDS("he's", HE, APOSTROPHE_S);
    ASSERT_IDS("he'S", HE, '\'', 'S'); /* case matters */
    ASSERT_IDS("'sa", APOSTROPHE_S, 'a');
    ASSERT_IDS("#'s", '#', '\'', 's'); /* the apostrophe belongs to the run of punctuation */
    /* White space before text gives all but its last character. */
    ASSERT_IDS("a   the", 'a', SPACES, SP_THE);
    ASSERT_IDS("a  \n", 'a', SPACES, '\n');
    ASSERT_IDS("a1a\xc2\xb2", 'a', '1', 'a', 0xc2, 0xb2); /* superscript two is a number */
    ASSERT_IDS(" \xe1\xa0\x8e"
               "a",
               ' ', 0xe1, 0xa0, 0x8e, 'a');
    close_toy();
}
END_TEST

/* U+180E is no white space, so the space before it belongs to its piece; PCRE2's \s would make one
 * piece of all three characters, and merge the two spaces first. */
START_TEST(takes_white_space_from_unicode)
{
    static const char *const tokens[] = {SPACE SPACE, SPACE "\\u00e1", SPACE "\\u00e2"};
    struct attn_tokenizer_files files = {
        .merges = "\xc4\xa0 \xc4\xa0\n\xc4\xa0 \xc3\xa1\n\xc4\xa0 \xc3\xa2\n"};

    attn_write_byte_vocabulary(&vocabulary, tokens, N(tokens));
    files.vocab = vocabulary.data;
    tokenizer = attn_make_tokenizer(&files);
    ASSERT_IDS("  \xe1\xa0\x8e", ' ', 257, 0xa0, 0x8e);
    ASSERT_IDS("a  \xe2\x80\xa8", 'a', 256, 0xe2, 0x80, 0xa8); /* U+2028 is: one piece */
    ASSERT_IDS("a \xe2\x80\xa8", 'a', 258, 0x80, 0xa8);
    close_toy();
}
END_TEST

START_TEST(recognizes_special_tokens_unless_told_not_to)
{
    static const struct attn_encode_options plain = {.size = sizeof plain,
                                                     .special = ATTN_SPECIAL_TEXT};
    static const struct attn_expected_token expected[] = {
        {HE, 0, 2}, {END_OF_TEXT, 2, 15}, {APOSTROPHE_S, 15, 17}, {END_OF_TEXT, 17, 30}};
    static const int32_t as_text[] = {'<', '|', 'e', 'n', 'd', 'o', 'f',
                                      't', 'e', 'x', 't', '|', '>'};

    open_toy();
    attn_assert_tokens(tokenizer, "he<|endoftext|>'s<|endoftext|>", 30, NULL, expected,
                       N(expected));
    assert_ids("<|endoftext|>", &plain, as_text, N(as_text));
    assert_ids("<|endoftext|", NULL, as_text, N(as_text) - 1);
    close_toy();
}
END_TEST

START_TEST(adds_tokens_and_takes_the_longest)
{
    struct attn_tokenizer_files files = toy_files();

    files.added = "{\"<pad>\": 266, \"<pad>\\u00e9\": 265, \"he\": 256}";
    files.special =
        "{\"bos_token\": \"##\", \"unk_token\": null, \"pad_token\": {\"content\": "
        "\"<pad>\", \"lstrip\": false}, \"additional_special_tokens\": [\"aa\", \"new\"]}";
    tokenizer = attn_make_tokenizer(&files);
    ck_assert_uint_eq(attn_tokenizer_n_vocab(tokenizer), 268);
    /* Special tokens are searched first, the others in the normalized text. */
    ASSERT_IDS("<pad>\xc3\xa9<pad><pad", 266, 0xc3, 0xa9, 266, '<', 'p', 'a', 'd');
    ASSERT_IDS("new", 267);
    ASSERT_IDS("aaaaa", AA, AA, 'a'); /* special now, so not merged to AAAA */
    ASSERT_IDS("t##he", 't', HASHES, HE);
    close_toy();

    files = toy_files();
    files.added = "{\"he\": 7}";
    attn_assert_refused(
        &files, ATTN_FORMAT,
        "the added token 'he' has id 7 in 'toy/added_tokens.json', expected 256, its "
        "id in the vocabulary");
    files.added = "{\"x y\": 300}";
    attn_assert_refused(
        &files, ATTN_FORMAT,
        "the added token 'x y' has id 300 in 'toy/added_tokens.json', expected 265, "
        "the next one after the vocabulary");
    files.added = NULL;
    files.special = "{\"mask_token\": {\"content\": \"he\", \"lstrip\": true}}";
    tokenizer = attn_make_tokenizer(&files);
    ASSERT_IDS("t he", 't', HE);
    ASSERT_IDS("t\nhe ", 't', HE, ' ');
    close_toy();
}
END_TEST

START_TEST(puts_a_space_before_the_text_when_asked)
{
    static const struct attn_expected_token expected[] = {
        {SP_THE, 0, 3}, {END_OF_TEXT, 3, 16}, {SP_T, 16, 17}, {'#', 17, 18}};
    struct attn_tokenizer_files files = toy_files();

    files.hf_config = "{\"add_prefix_space\": true}";
    tokenizer = attn_make_tokenizer(&files);
    attn_assert_tokens(tokenizer, "the<|endoftext|>t#", 18, NULL, expected, N(expected));
    ASSERT_IDS(" the", SP_THE);
    attn_assert_tokens(tokenizer, "", 0, NULL, NULL, 0);
    close_toy();
}
END_TEST

START_TEST(follows_the_policy_for_bytes_that_are_not_utf8)
{
    static const char text[] = "he\xf0\x9f\x98\xff the";
    static const struct attn_encode_options replace = {.size = sizeof replace,
                                                       .invalid = ATTN_INVALID_TEXT_REPLACE};
    static const struct attn_encode_options bytes = {.size = sizeof bytes,
                                                     .invalid = ATTN_INVALID_TEXT_BYTES};
    /* Two maximal subparts, three bytes and one; every byte of a U+FFFD stands for all of it. */
    static const struct attn_expected_token replaced[] = {
        {HE, 0, 2},   {0xef, 2, 5}, {0xbf, 2, 5}, {0xbd, 2, 5},
        {0xef, 5, 6}, {0xbf, 5, 6}, {0xbd, 5, 6}, {SP_THE, 6, 10}};
    static const struct attn_expected_token kept[] = {{HE, 0, 2},   {0xf0, 2, 3}, {0x9f, 3, 4},
                                                      {0x98, 4, 5}, {0xff, 5, 6}, {SP_THE, 6, 10}};

    open_toy();
    attn_assert_text_refused(tokenizer, text, 10, NULL,
                             "the text is not UTF-8 at byte 2: found '\\xf0'", "");
    attn_assert_tokens(tokenizer, text, 10, &replace, replaced, N(replaced));
    attn_assert_tokens(tokenizer, text, 10, &bytes, kept, N(kept));
    close_toy();
}
END_TEST

/* Runs of one byte and of two, beside each other and beside text. */
START_TEST(replaced_runs_keep_their_places)
{
    static const char text[] = "\xff\xff\xff\xf0\x9f\xf0\x9fhe\xf0\x9f\xff";
    static const struct attn_encode_options replace = {.size = sizeof replace,
                                                       .invalid = ATTN_INVALID_TEXT_REPLACE};
    static const size_t places[][2] = {{0, 1}, {1, 2}, {2, 3},  {3, 5},
                                       {5, 7}, {7, 9}, {9, 11}, {11, 12}};
    static const int32_t replacement[] = {0xef, 0xbf, 0xbd};
    struct attn_expected_token expected[3 * N(places)];
    size_t n = 0;

    for (size_t i = 0; i < N(places); i++)
        for (size_t k = 0; k < (i == 5 ? 1 : 3); k++)
            expected[n++] = (struct attn_expected_token){i == 5 ? HE : replacement[k], places[i][0],
                                                         places[i][1]};
    open_toy();
    attn_assert_tokens(tokenizer, text, sizeof text - 1, &replace, expected, n);
    close_toy();
}
END_TEST

START_TEST(refuses_merges_that_are_wrong)
{
    static const struct {
        const char *merges, *message;
    } cases[] = {
        {"h e\nhe\n",
         "line 2 of 'toy/merges.txt', 'he', is not two tokens with one space between them"},
        {"h e\n\n",
         "line 2 of 'toy/merges.txt', '', is not two tokens with one space between them"},
        {"h  e\n",
         "line 1 of 'toy/merges.txt', 'h  e', is not two tokens with one space between them"},
        {"#version: 0.2\n#version: 0.2\n",
         "line 2 of 'toy/merges.txt', '#version: 0.2', merges a token that the vocabulary lacks"},
        {"h e\na b", "line 2 of 'toy/merges.txt', 'a b', makes a token that the vocabulary lacks"},
        {"h e\na a\nh e\n", "line 3 of 'toy/merges.txt', 'h e', is there a second time"},
    };
    struct attn_tokenizer_files files = toy_files();

    for (size_t i = 0; i < N(cases); i++) {
        files.merges = cases[i].merges;
        attn_assert_refused(&files, ATTN_FORMAT, cases[i].message);
    }
    files.merges = NULL;
    files.vocab = "{\"" SPACE "\": 0, \"" SPACE "t\": 1, \"t\": 2}";
    attn_assert_refused(&files, ATTN_FORMAT,
                        "the vocabulary is one of byte-level BPE (2 of its 3 tokens begin with "
                        "'\xc4\xa0'), but 'merges.txt' is missing");
    close_toy();
}
END_TEST

/* Tokens above the bytes that MERGES do not make: NOTE or, where it is expected, a refusal. */
START_TEST(tells_of_tokens_that_no_merge_makes)
{
    static const char special[] =
        "{\"mask_token\": \"<mask>\", \"pad_token\": {\"content\": \"<s>\"}}";
    static const struct {
        const char *tokens[5], *merges, *special, *note, *refusal;
    } cases[] = {
        {{"he", "hee"}, "h e\nhe e", NULL, NULL, NULL},
        {{"he", "hee"},
         "h e",
         NULL,
         "no line of 'toy/merges.txt' makes 'hee' (id 257): no text has this token",
         NULL},
        {{"he", "eh"},
         "",
         NULL,
         "no line of 'toy/merges.txt' makes 'he' (id 256), 'eh' (id 257): no text has these tokens",
         NULL},
        {{"he", "hee", "heh", "ehe"},
         "h e",
         NULL,
         NULL,
         "no line of 'toy/merges.txt' makes 'hee' (id 257), 'heh' (id 258), 'ehe' (id 259) of the "
         "vocabulary, expected one for each token that is neither a byte nor special"},
        {{"he", "hee", "heh", "ehe", SPACE "e"},
         "",
         NULL,
         NULL,
         "no line of 'toy/merges.txt' makes 'he' (id 256), 'hee' (id 257), 'heh' (id 258) and 2 "
         "more of the vocabulary, expected one for each token that is neither a byte nor special"},
        /* halves of a character */
        {{"\\u00c3\\u00a1\\u00c3", "\\u00c3\\u00a2\\u00c3", "\\u00c3\\u00a3\\u00c3"},
         "",
         NULL,
         NULL,
         "no line of 'toy/merges.txt' makes '\xc3\x83\xc2\xa1\xc3\x83' (id 256), "
         "'\xc3\x83\xc2\xa2\xc3\x83' (id 257), '\xc3\x83\xc2\xa3\xc3\x83' (id 258) of the "
         "vocabulary, expected one for each token that is neither a byte nor special"},
        /* what no merge could make: several pieces, or a letter that stands for no byte */
        {{"<s>", "word0", "<mask>", "a b", "\\u4f60"},
         "",
         NULL,
         "no line of 'toy/merges.txt' makes '<s>' (id 256), 'word0' (id 257), '<mask>' (id 258) "
         "and "
         "2 more: no text has these tokens",
         NULL},
        {{"<s>", "<mask>"}, "", special, NULL, NULL},
    };

    for (size_t i = 0; i < N(cases); i++) {
        struct attn_tokenizer_files files = {.merges = cases[i].merges,
                                             .special = cases[i].special};
        size_t n = 0;

        while (n < N(cases[i].tokens) && cases[i].tokens[n])
            n++;
        attn_buffer_reset(&vocabulary);
        attn_write_byte_vocabulary(&vocabulary, cases[i].tokens, n);
        files.vocab = vocabulary.data;
        if (cases[i].refusal) {
            attn_assert_refused(&files, ATTN_FORMAT, cases[i].refusal);
            continue;
        }
        tokenizer = attn_make_tokenizer(&files);
        ck_assert_pstr_eq(attn_tokenizer_note(tokenizer), cases[i].note);
        attn_tokenizer_free(tokenizer);
    }
    attn_buffer_release(&vocabulary);
}
END_TEST

/* --- What only encoding takes ----------------------------------------------------------------- */

static void open_lazily(const struct attn_tokenizer_files *files, attn_note_fn on_note, void *user)
{
    struct attn_error err = {0};

    ck_assert_msg(attn_try_lazy_tokenizer(files, on_note, user, &tokenizer, &err) == ATTN_OK, "%s",
                  err.message);
}

static void assert_decodes(int32_t id, const char *expected)
{
    struct attn_error err = {0};
    char *text = NULL;
    size_t size = 0;

    ck_assert(attn_tokenizer_decode(tokenizer, &id, 1, &text, &size, &err) == ATTN_OK);
    ck_assert_str_eq(text, expected);
    attn_tokenizer_text_free(text);
}

START_TEST(reads_merges_when_a_text_is_encoded)
{
    static const struct {
        const char *vocab, *merges, *message;
    } cases[] = {
        {NULL, "h e\nhe\n",
         "line 2 of 'toy/merges.txt', 'he', is not two tokens with one space between them"},
        {NULL, "h e\n",
         "no line of 'toy/merges.txt' makes '\xc4\xa0t' (id 257), '\xc4\xa0the' (id 258), '##' (id "
         "259) and 4 more of the vocabulary, expected one for each token that is neither a byte "
         "nor "
         "special"},
        {"{\"a\": 0, \"\\u0061\": 1}", "", "'a' is in 'toy/vocab.json' twice, with ids 0 and 1"},
    };

    for (size_t i = 0; i < N(cases); i++) {
        struct attn_tokenizer_files files = toy_files();
        struct attn_encoding encoding = {0};

        files.merges = cases[i].merges;
        files.vocab = cases[i].vocab ? cases[i].vocab : files.vocab;
        open_lazily(&files, NULL, NULL);
        assert_decodes(0, cases[i].vocab ? "a" : "");
        for (int time = 0; time < 2; time++) {
            struct attn_error err = {0};

            ck_assert_int_eq(attn_tokenizer_encode(tokenizer, "he", 2, NULL, &encoding, &err),
                             ATTN_FORMAT);
            ck_assert_str_eq(err.message, cases[i].message);
            ck_assert_int_eq(err.stage, ATTN_STAGE_MODEL);
        }
        assert_decodes(1, cases[i].vocab ? "a" : "\x01");
        attn_encoding_release(&encoding);
        close_toy();
    }
}
END_TEST

static void take_note(void *user, enum attn_note code, const char *message)
{
    int *n_note = user;

    ck_assert_int_eq(code, ATTN_NOTE_TOKENIZER);
    ck_assert_str_eq(message,
                     "no line of 'toy/merges.txt' makes 'aaaa' (id 263): no text has this token");
    ++*n_note;
}

START_TEST(tells_its_note_to_who_encodes_first)
{
    struct attn_tokenizer_files files = toy_files();
    int n_note = 0;

    files.merges = ALL_BUT_THE_LAST;
    open_lazily(&files, take_note, &n_note);
    assert_decodes(HE, "he");
    ck_assert_int_eq(n_note, 0);
    ck_assert_ptr_null(attn_tokenizer_note(tokenizer));
    ASSERT_IDS("he", HE);
    ASSERT_IDS("aaaa", AA, AA);
    ck_assert_int_eq(n_note, 1);
    ck_assert_ptr_nonnull(attn_tokenizer_note(tokenizer));
    close_toy();
}
END_TEST

START_TEST(reads_merges_again_after_memory_ran_out)
{
    struct attn_tokenizer_files files = toy_files();
    struct attn_encoding encoding = {0};
    enum attn_status status = ATTN_NO_MEMORY;

    files.merges = ALL_BUT_THE_LAST;
    for (long n = 0; status != ATTN_OK; n++) {
        struct attn_error err = {0};

        open_lazily(&files, NULL, NULL);
        attn_alloc_fail_at(n);
        status = attn_tokenizer_encode(tokenizer, "the he", 6, NULL, &encoding, &err);
        attn_alloc_fail_off();
        ck_assert_msg(status == ATTN_OK || status == ATTN_NO_MEMORY, "%s", err.message);
        ASSERT_IDS("he the", HE, SP_THE);
        ck_assert_ptr_nonnull(attn_tokenizer_note(tokenizer));
        attn_tokenizer_free(tokenizer);
    }
    attn_encoding_release(&encoding);
    attn_buffer_release(&vocabulary);
}
END_TEST

START_TEST(needs_a_byte_token_only_for_texts_that_have_the_byte)
{
    static const struct attn_tokenizer_files files = {.vocab = "{\"a\": 0, \"b\": 1, \"ab\": 2}",
                                                      .merges = "a b"};

    tokenizer = attn_make_tokenizer(&files);
    ASSERT_IDS("abba", 2, 1, 0);
    attn_assert_text_refused(tokenizer, "ab\xc3\xa9", 4, NULL,
                             "'toy': the vocabulary has no token for byte 0xc3, found at byte 2",
                             "");
    close_toy();
}
END_TEST

/* Any bytes come back, tokens tile the text, and pieces from the cache are like the others. */
START_TEST(decodes_what_it_encoded)
{
    static const char *const parts[] = {"the",
                                        " the",
                                        "he",
                                        "'s",
                                        "  ",
                                        "\n",
                                        "aaa",
                                        "##",
                                        "\xc3",
                                        "\xa9",
                                        "\xf0\x9f\x98\x80",
                                        "1",
                                        " abcdefghij",
                                        " abcdefghik"};
    static const struct attn_encode_options bytes = {.size = sizeof bytes,
                                                     .invalid = ATTN_INVALID_TEXT_BYTES};
    struct attn_buffer text = {0};
    struct attn_encoding encoding = {0};
    struct attn_error err = {0};

    srand(7);
    open_toy();
    for (size_t round = 0; round < 300; round++) {
        char *decoded;
        size_t size, at = 0;

        attn_buffer_reset(&text);
        for (size_t i = (size_t)rand() % 300; i > 0; i--)
            attn_buffer_append_string(&text, parts[(size_t)rand() % N(parts)]);
        ck_assert_int_eq(
            attn_tokenizer_encode(tokenizer, text.data, text.size, &bytes, &encoding, &err),
            ATTN_OK);
        for (size_t i = 0; i < encoding.n; i++) {
            if (encoding.begin[i] != at)
                ck_abort_msg("token %zu begins at %zu, expected %zu", i, encoding.begin[i], at);
            at = encoding.end[i];
        }
        ck_assert_uint_eq(at, text.size);
        ck_assert_int_eq(
            attn_tokenizer_decode(tokenizer, encoding.ids, encoding.n, &decoded, &size, &err),
            ATTN_OK);
        ck_assert_uint_eq(size, text.size);
        ck_assert_mem_eq(decoded, text.data ? text.data : "", size);
        attn_tokenizer_text_free(decoded);
    }
    attn_encoding_release(&encoding);
    attn_buffer_release(&text);
    close_toy();
}
END_TEST

START_TEST(encodes_long_runs_quickly)
{
    enum { SIZE = 1000000 };
    struct attn_encoding encoding = {0};
    struct attn_error err = {0};
    char *text = malloc(SIZE);

    ck_assert_ptr_nonnull(text);
    open_toy();
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < SIZE; i++)
            text[i] = round == 0 ? 'a' : round == 1 ? ' ' : "aethn"[rand() % 5];
        /* A quadratic loop would take hours, which the suite's time limit ends. */
        ck_assert_int_eq(
            attn_tokenizer_encode(tokenizer, text, SIZE, &ATTN_ENCODE_DEFAULT, &encoding, &err),
            ATTN_OK);
        ck_assert_uint_eq(encoding.end[encoding.n - 1], SIZE);
        if (round < 2)
            ck_assert_uint_eq(encoding.n, round == 0 ? SIZE / 4 : SIZE / 2);
    }
    free(text);
    attn_encoding_release(&encoding);
    close_toy();
}
END_TEST

START_TEST(tells_special_tokens_from_others)
{
    open_toy();
    ck_assert(attn_tokenizer_is_special(tokenizer, END_OF_TEXT));
    ck_assert(!attn_tokenizer_is_special(tokenizer, AAAA));
    ck_assert(!attn_tokenizer_is_special(tokenizer, -1));
    ck_assert(!attn_tokenizer_is_special(tokenizer, END_OF_TEXT + 1));
    close_toy();
}
END_TEST

START_TEST(refuses_settings_that_make_no_sense)
{
    struct attn_tokenizer_files files = toy_files();

    files.config = "{\"tokenizer\": {\"type\": \"bpe\", \"drop\": \",\"}}";
    attn_assert_refused(
        &files, ATTN_UNSUPPORTED,
        "the config's 'drop', 'unk' and 'bos' are for word level, but the tokenizer is "
        "byte-level BPE");
    files.config = "{\"tokenizer\": {\"unk\": \"he\"}}";
    attn_assert_refused(
        &files, ATTN_UNSUPPORTED,
        "the config's 'drop', 'unk' and 'bos' are for word level, but the tokenizer is "
        "byte-level BPE");
    files.config = NULL;
    files.special = "{\"bos_token\": {\"content\": \"##\", \"lstrip\": 1}}";
    attn_assert_refused(&files, ATTN_FORMAT,
                        "'lstrip' in 'toy/special_tokens_map.json' is 1, expected true or false");
    files.special = "{\"bos_token\": {\"content\": 1}}";
    attn_assert_refused(&files, ATTN_FORMAT,
                        "'bos_token' in 'toy/special_tokens_map.json' is not a token");
    attn_buffer_release(&vocabulary);
}
END_TEST

/* A file may call special what merging reaches: the token then stands for the letters of its key,
 * the text for the bytes that were merged. */
START_TEST(special_tokens_reached_by_merging_keep_the_offsets)
{
    enum { N_WORD = 100, WORD = 4 }; /* enough for pieces to be cached */
    struct attn_tokenizer_files files = toy_files();
    struct attn_encoding encoding = {0};
    struct attn_error err = {0};
    char text[N_WORD * WORD];

    for (size_t i = 0; i < sizeof text; i++)
        text[i] = " the"[i % WORD];
    files.special = "{\"bos_token\": \"" SPACE "the\"}";
    tokenizer = attn_make_tokenizer(&files);
    ck_assert_int_eq(
        attn_tokenizer_encode(tokenizer, text, sizeof text, &ATTN_ENCODE_DEFAULT, &encoding, &err),
        ATTN_OK);
    ck_assert_uint_eq(encoding.n, N_WORD);
    for (size_t i = 0; i < N_WORD; i++) {
        ck_assert_int_eq(encoding.ids[i], SP_THE);
        ck_assert_uint_eq(encoding.begin[i], i * WORD);
        ck_assert_uint_eq(encoding.end[i], (i + 1) * WORD);
    }
    attn_encoding_release(&encoding);
    close_toy();
}
END_TEST

START_TEST(survives_every_failed_allocation)
{
    static const struct attn_encode_options policies[] = {
        {.size = sizeof *policies, .invalid = ATTN_INVALID_TEXT_REPLACE},
        {.size = sizeof *policies, .invalid = ATTN_INVALID_TEXT_BYTES}};
    struct attn_tokenizer_files files = toy_files();
    struct attn_error err;
    char text[400], *decoded = NULL;
    size_t size;

    files.merges = ALL_BUT_THE_LAST; /* so that there is a note */
    files.added = "{\"<pad>\": 265}";
    files.special = "{\"bos_token\": \"##\"}";
    files.hf_config = "{\"add_prefix_space\": true}";
    memset(text, 'a', sizeof text);
    text[7] = '\xff';
    for (size_t policy = 0; policy < N(policies); policy++) {
        struct attn_encoding encoding = {0};
        bool has_failed = true;

        for (long n = 0; has_failed; n++) {
            enum attn_status status;

            err = (struct attn_error){0};
            tokenizer = NULL;
            decoded = NULL;
            attn_encoding_release(&encoding); /* so that growing it can fail, too */
            attn_alloc_fail_at(n);
            status = attn_try_tokenizer(&files, &tokenizer, &err);
            if (status == ATTN_OK)
                status = attn_tokenizer_encode(tokenizer, text, sizeof text, &policies[policy],
                                               &encoding, &err);
            if (status == ATTN_OK)
                status = attn_tokenizer_decode(tokenizer, encoding.ids, encoding.n, &decoded, &size,
                                               &err);
            has_failed = attn_alloc_count() > n; /* not: failed with it; PCRE2 can do without JIT */
            attn_alloc_fail_off();
            ck_assert_msg(status == ATTN_OK || (status == ATTN_NO_MEMORY && has_failed), "%s",
                          err.message);
            attn_tokenizer_text_free(decoded);
            attn_tokenizer_free(tokenizer);
        }
        ck_assert_uint_eq(encoding.end[encoding.n - 1], sizeof text);
        attn_encoding_release(&encoding);
    }
    attn_buffer_release(&vocabulary);
}
END_TEST

ATTN_SUITE("tokenizer_bpe", merges_the_lowest_rank_first, splits_as_the_pattern_says,
           takes_white_space_from_unicode, recognizes_special_tokens_unless_told_not_to,
           adds_tokens_and_takes_the_longest, puts_a_space_before_the_text_when_asked,
           follows_the_policy_for_bytes_that_are_not_utf8, replaced_runs_keep_their_places,
           refuses_merges_that_are_wrong, tells_of_tokens_that_no_merge_makes,
           reads_merges_when_a_text_is_encoded, tells_its_note_to_who_encodes_first,
           reads_merges_again_after_memory_ran_out,
           needs_a_byte_token_only_for_texts_that_have_the_byte, decodes_what_it_encoded,
           encodes_long_runs_quickly, special_tokens_reached_by_merging_keep_the_offsets,
           tells_special_tokens_from_others, refuses_settings_that_make_no_sense,
           survives_every_failed_allocation)
