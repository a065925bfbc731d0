/*
 * grammar_tokenizer.c - tokenizer.json: byte pair encoding behind each kind of pipeline, and every
 * key of every part left out, of a wrong type, or of a type that is not known.
 *
 * Words are made of letters that merges join; the space is a token that no merge has. So every
 * pipeline below gives the same tokens, which are merged here by hand, and the decoder gives the
 * text back.
 */
#include "tests/adversary/made_merges.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_internal.h"

#include <stdio.h>
#include <string.h>

enum { MAX_MERGE = ATTN_MADE_MAX_MERGE, MAX_TEXT = 300 };

/* How a text gets to the model, and back. SPACE is the token of a space. */
struct pipeline {
    const char *space;
    const char *normalizer, *pre_tokenizer, *decoder;
};

#define STRING_PATTERN(text) "\"pattern\":{\"String\":\"" text "\"}"
#define BYTE_LEVEL(more)                                                                           \
    "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true" more "}"
#define ISOLATED(regex)                                                                            \
    "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"" regex                                          \
    "\"},\"behavior\":\"Isolated\",\"invert\":false}"
#define MARK "\xe2\x96\x81" /* U+2581 */

static const struct pipeline pipelines[] = {
    {"\xc4\xa0", "null", BYTE_LEVEL(""), BYTE_LEVEL("")},
    {"\xc4\xa0", "{\"type\":\"NFC\"}",
     "{\"type\":\"Sequence\",\"pretokenizers\":[" ISOLATED(
         "[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?"
         "\\\\p{L}+|\\\\s+(?!\\\\S)|"
         "\\\\s+") "," BYTE_LEVEL(",\"use_regex\":"
                                  "false") "]}",
     BYTE_LEVEL(",\"use_regex\":true")},
    {"\xc4\xa0",
     "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Strip\",\"strip_left\":false,"
     "\"strip_"
     "right\":false},{\"type\":\"Lowercase\"}]}",
     "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Digits\",\"individual_digits\":"
     "true}," BYTE_LEVEL(",\"use_regex\":true") "]}",
     BYTE_LEVEL("")},
    {MARK, "{\"type\":\"Replace\"," STRING_PATTERN(" ") ",\"content\":\"" MARK "\"}",
     "{\"type\":\"Split\"," STRING_PATTERN(
         " ") ",\"behavior\":\"MergedWithPrevious\",\"invert\":false}",
     "{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Replace\"," STRING_PATTERN(
         MARK) ",\"content\":\" \"},{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"}]}"},
    {MARK, "null",
     "{\"type\":\"Metaspace\",\"replacement\":\"" MARK
     "\",\"prepend_scheme\":\"never\",\"split\":true}",
     "{\"type\":\"Metaspace\",\"replacement\":\"" MARK
     "\",\"prepend_scheme\":\"never\",\"split\":true}"},
    {MARK,
     "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\",\"prepend\":\"" MARK
     "\"},{\"type\":\"Replace\"," STRING_PATTERN(" ") ",\"content\":\"" MARK "\"}]}",
     "null",
     "{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Replace\"," STRING_PATTERN(
         MARK) ",\"content\":\" \"},{\"type\":\"Fuse\"},{\"type\":\"Strip\",\"content\":\" "
               "\",\"start\":1,"
               "\"stop\":0}]}"},
};
enum { N_PIPELINE = sizeof pipelines / sizeof *pipelines, PREPENDS = 5 };

#define TEMPLATE                                                                                   \
    "{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"<s>\",\"type_id\":"  \
    "0}},"                                                                                         \
    "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}],\"pair\":[],\"special_tokens\":{\"<s>\":{"       \
    "\"id\":"                                                                                      \
    "\"<s>\",\"ids\":[0],\"tokens\":[\"<s>\"]}}}"

static const char *const post_processors[] = {
    "null",
    TEMPLATE,
    BYTE_LEVEL(""),
    "{\"type\":\"Sequence\",\"processors\":[" BYTE_LEVEL("") "," TEMPLATE "]}",
    "{\"type\":\"BertProcessing\",\"sep\":[\"<s>\",0],\"cls\":[\"<s>\",0]}",
    "{\"type\":\"RobertaProcessing\",\"sep\":[\"<s>\",0],\"cls\":[\"<s>\",0],\"trim_offsets\":"
    "false,"
    "\"add_prefix_space\":false}",
};
enum { N_POST = sizeof post_processors / sizeof *post_processors };

/* A defect: WHAT becomes WITH, in a file of this pipeline and post-processor (-1: any). */
struct defect {
    const char *name;
    int pipeline, post;
    const char *what, *with;
};

#define KEY(name, key, pipeline, post)                                                             \
    {                                                                                              \
        "a " name " without " key, pipeline, post, "\"" key "\":", "\"_" key "\":"                 \
    }

static const struct defect defects[] = {
    /* Of the file. */
    {"no model", -1, -1, "\"model\":", "\"models\":"},
    {"a model that is null", -1, -1, "\"model\":{", "\"model\":null,\"_\":{"},
    {"a model that is a list", -1, -1, "\"model\":{", "\"model\":[],\"_\":{"},
    {"an unknown version", -1, -1, "\"1.0\"", "\"1.1\""},
    {"a version that is a number", -1, -1, "\"1.0\"", "1.0"},
    {"added tokens that are an object", -1, -1, "\"added_tokens\":[",
     "\"added_tokens\":{},\"_\":["},
    {"a normalizer that is a list", -1, -1, "\"normalizer\":", "\"normalizer\":[],\"_\":"},
    {"a pre-tokenizer that is a text", -1, -1,
     "\"pre_tokenizer\":", "\"pre_tokenizer\":\"\",\"_\":"},
    {"a decoder that is a number", -1, -1, "\"decoder\":", "\"decoder\":1,\"_\":"},
    {"a post-processor that is true", -1, -1,
     "\"post_processor\":", "\"post_processor\":true,\"_\":"},
    /* Of the model. */
    {"a model without vocab", -1, -1, "\"vocab\":", "\"vocabs\":"},
    {"a model without merges", -1, -1, "\"merges\":", "\"merge\":"},
    {"another model", -1, -1, "\"BPE\"", "\"CharBPE\""},
    {"words without unknown ones", -1, -1, "\"BPE\"", "\"WordLevel\""},
    {"a model with a type that is null", -1, -1, "\"type\":\"BPE\"", "\"type\":null"},
    {"dropout", -1, -1, "\"dropout\":null", "\"dropout\":0.5"},
    {"dropout that is a text", -1, -1, "\"dropout\":null", "\"dropout\":\"0\""},
    {"a long prefix of subwords", -1, -1, "\"continuing_subword_prefix\":null",
     "\"continuing_subword_prefix\":\"#################\""},
    {"a suffix that is a number", -1, -1, "\"end_of_word_suffix\":\"\"",
     "\"end_of_word_suffix\":0"},
    {"fuse_unk that is a number", -1, -1, "\"fuse_unk\":false", "\"fuse_unk\":0"},
    {"byte_fallback that is a text", -1, -1, "\"byte_fallback\":false", "\"byte_fallback\":\"no\""},
    {"ignore_merges that is a list", -1, -1, "\"ignore_merges\":false", "\"ignore_merges\":[]"},
    {"an unknown token that is true", -1, -1, "\"unk_token\":null", "\"unk_token\":true"},
    {"a vocabulary that is a list", -1, -1, "\"vocab\":{", "\"vocab\":[],\"_\":{"},
    {"an id that is a text", -1, -1, "\"a\":1", "\"a\":\"1\""},
    {"an id below 0", -1, -1, "\"a\":1", "\"a\":-1"},
    {"an id with a fraction", -1, -1, "\"a\":1", "\"a\":1.0"},
    {"an id twice", -1, -1, "\"a\":1", "\"a\":2"},
    {"an id beyond all", -1, -1, "\"a\":1", "\"a\":2147483647"},
    {"an id of 64 bits", -1, -1, "\"a\":1", "\"a\":4294967297"},
    {"a token twice", -1, -1, "\"b\":2", "\"a\":2"},
    {"merges that are an object", -1, -1, "\"merges\":[", "\"merges\":{},\"_\":["},
    {"a merge of a number", -1, -1, "\"merges\":[", "\"merges\":[1,"},
    {"a merge of one token", -1, -1, "\"merges\":[", "\"merges\":[[\"a\"],"},
    {"a merge of unknown tokens", -1, -1, "\"merges\":[", "\"merges\":[[\"x\",\"y\"],"},
    {"a merge that makes an unknown token", -1, -1, "\"merges\":[", "\"merges\":[[\"<s>\",\"a\"],"},
    {"a merge of two spaces", -1, -1, "\"merges\":[", "\"merges\":[\"a  b\","},
    /* Of added tokens. */
    {"an added token without id", -1, -1, "\"id\":0,", ""},
    {"an added token without content", -1, -1, "\"content\":\"<s>\",", ""},
    {"an added token without lstrip", -1, -1, "\"lstrip\":false,", ""},
    {"an added token without rstrip", -1, -1, "\"rstrip\":false,", ""},
    {"an added token without single_word", -1, -1, "\"single_word\":false,", ""},
    {"an added token without normalized", -1, -1, "\"normalized\":false,", ""},
    {"an added token without special", -1, -1, ",\"special\":true", ""},
    {"an added token that is empty", -1, -1, "\"content\":\"<s>\"", "\"content\":\"\""},
    {"an added token of another id", -1, -1, "\"id\":0,", "\"id\":3,"},
    {"an added token with a text for an id", -1, -1, "\"id\":0,", "\"id\":\"0\","},
    {"a flag that is a number", -1, -1, "\"lstrip\":false", "\"lstrip\":0"},
    {"a flag twice", -1, -1, "\"lstrip\":false,", "\"lstrip\":false,\"lstrip\":true,"},
    {"a list as an added token", -1, -1, "\"added_tokens\":[", "\"added_tokens\":[[],"},
    /* Of the parts. */
    {"an unknown pre-tokenizer", 0, -1, "\"pre_tokenizer\":{\"type\":\"ByteLevel\"",
     "\"pre_tokenizer\":{\"type\":\"UnicodeScript\""},
    {"an unknown normalizer", 1, -1, "\"NFC\"", "\"NFX\""},
    {"a normalizer without type", 1, -1, "{\"type\":\"NFC\"}", "{\"typ\":\"NFC\"}"},
    {"a type that is a number", 1, -1, "\"type\":\"NFC\"", "\"type\":1"},
    {"an unknown decoder", 3, -1, "\"Fuse\"", "\"Foo\""},
    {"a sequence without a list", 2, -1, "\"normalizers\":", "\"normalizer\":"},
    {"a sequence of nothing known", 2, -1, "\"pretokenizers\":[", "\"pretokenizers\":[1,"},
    {"a flag of a split that is a number", 1, -1, "\"invert\":false", "\"invert\":1"},
    {"an unknown behavior", 3, -1, "\"MergedWithPrevious\"", "\"Joined\""},
    {"a split without a pattern", 3, -1, "\"pattern\":{\"String\":\" \"},\"behavior\"",
     "\"behavior\""},
    {"a pattern that is a text", 3, -1, "\"pattern\":{\"String\":\" \"}", "\"pattern\":\" \""},
    {"a pattern of both kinds", 3, -1, "{\"String\":\" \"}", "{\"String\":\" \",\"Regex\":\" \"}"},
    {"a pattern of no known kind", 3, -1, "{\"String\":\" \"}", "{\"Glob\":\" \"}"},
    {"a pattern that is empty", 3, -1, "{\"String\":\" \"}", "{\"String\":\"\"}"},
    {"a pattern that does not compile", 1, -1, "(?!", "(((?!"},
    {"a pattern with a set in a set", 1, -1, "[^\\\\r", "[^[a]\\\\r"},
    {"a wrong regular expression to replace", 3, -1,
     "{\"type\":\"Replace\",\"pattern\":{\"String\":\"",
     "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"("},
    {"digits that are neither one nor many", 2, -1, "\"individual_digits\":true",
     "\"individual_digits\":null"},
    {"a replacement of two characters", 4, -1, "\"replacement\":\"" MARK,
     "\"replacement\":\"x" MARK},
    {"an unknown scheme", 4, -1, "\"never\"", "\"sometimes\""},
    {"schemes that contradict", 4, -1, "\"split\":true", "\"add_prefix_space\":true"},
    {"a strip of two characters", 5, -1, "\"content\":\" \",\"start\"",
     "\"content\":\"  \",\"start\""},
    {"a strip of less than none", 5, -1, "\"start\":1", "\"start\":-1"},
    {"a template without A", -1, 1, "\"id\":\"A\"", "\"id\":\"B\""},
    {"a template of unknown tokens", -1, 1, "{\"SpecialToken\":{\"id\":\"<s>\"",
     "{\"SpecialToken\":{\"id\":\"<x>\""},
    {"a template of unknown ids", -1, 1, "\"ids\":[0]", "\"ids\":[100000]"},
    {"a template without pair", -1, 1, "\"pair\":[],", ""},
    {"a template without single", -1, 1, "\"single\":", "\"singles\":"},
    {"a cls that is a text", -1, 4, "\"cls\":[\"<s>\",0]", "\"cls\":\"<s>\""},
    {"a sep of an unknown id", -1, 5, "\"sep\":[\"<s>\",0]", "\"sep\":[\"<s>\",-1]"},
    {"trim_offsets that is a text", -1, 5, "\"trim_offsets\":false", "\"trim_offsets\":\"\""},
    {"an unknown post-processor", -1, 4, "\"BertProcessing\"", "\"BartProcessing\""},
    KEY("pre-tokenizer", "add_prefix_space", 0, -1),
    KEY("pre-tokenizer", "trim_offsets", 0, -1),
    KEY("normalizer", "strip_left", 2, -1),
    KEY("normalizer", "content", 3, -1),
    KEY("normalizer", "prepend", 5, -1),
    KEY("split", "behavior", 3, -1),
    KEY("split", "invert", 1, -1),
    KEY("pre-tokenizer", "individual_digits", 2, -1),
    KEY("pre-tokenizer", "replacement", 4, -1),
    KEY("decoder", "stop", 5, -1),
    KEY("template", "special_tokens", -1, 1),
};
enum { N_OWN = sizeof defects / sizeof *defects };

struct known {
    struct attn_made_merges merges;
    int pipeline, post;
    char text[MAX_TEXT + 1];
    size_t n_text;
    int32_t ids[MAX_TEXT + 1]; /* of the text */
    size_t n_id;
};
_Static_assert(sizeof(struct known) <= ATTN_CASE_KNOWN_SIZE, "what is known has room");

/* --- tokens ----------------------------------------------------------------------------------- */

static void make_tokens(struct attn_case *c, struct known *known)
{
    const char *space = pipelines[known->pipeline].space;
    const size_t n_merge = attn_case_below(c, MAX_MERGE);
    int32_t space_id;

    (void)attn_made_merges_add_token(&known->merges, "<s>", 3);
    for (int i = 0; i < ATTN_MADE_N_LETTER; i++)
        known->merges.letters[i] =
            attn_made_merges_add_token(&known->merges, (const char[]){(char)('a' + i)}, 1);
    space_id = attn_made_merges_add_token(&known->merges, space, strlen(space));
    for (size_t i = 0; i < n_merge; i++)
        attn_made_merges_add(c, &known->merges);
    known->n_text = attn_case_below(c, MAX_TEXT);
    for (size_t i = 0; i < known->n_text; i++) {
        const bool is_space = attn_case_chance(c, 20);
        const size_t letter = attn_case_below(c, ATTN_MADE_N_LETTER);

        known->text[i] = is_space ? ' ' : (char)('a' + letter);
        known->ids[i] = is_space ? space_id : (int32_t)letter + 1;
    }
    known->n_id = known->n_text;
    if (known->pipeline == PREPENDS && known->n_text > 0) { /* it begins with a space more */
        memmove(known->ids + 1, known->ids, known->n_id * sizeof *known->ids);
        known->ids[0] = space_id;
        known->n_id++;
    }
    known->n_id = attn_made_merges_apply(&known->merges, known->ids, known->n_id);
}

/* --- writing ---------------------------------------------------------------------------------- */

static void write_vocabulary(struct attn_case *c, const struct known *known,
                             struct attn_buffer *out)
{
    size_t order[ATTN_MADE_MAX];

    attn_case_shuffle(c, order, known->merges.n);
    attn_buffer_append_string(out, "\"vocab\":{");
    for (size_t i = 0; i < known->merges.n; i++)
        attn_buffer_append_format(out, "%s\"%.*s\":%zu", i > 0 ? "," : "",
                                  (int)known->merges.tokens[order[i]].size,
                                  known->merges.tokens[order[i]].text, order[i]);
    attn_buffer_append_string(out, "}");
}

static void write_merges(struct attn_case *c, const struct known *known, struct attn_buffer *out)
{
    const bool is_old = attn_case_chance(c, 50);

    attn_buffer_append_string(out, "\"merges\":[");
    for (size_t i = 0; i < known->merges.n_merge; i++) {
        const struct attn_made_merges_token *left =
            &known->merges.tokens[known->merges.pairs[i].left];
        const struct attn_made_merges_token *right =
            &known->merges.tokens[known->merges.pairs[i].right];

        attn_buffer_append_format(out, is_old ? "%s\"%.*s %.*s\"" : "%s[\"%.*s\",\"%.*s\"]",
                                  i > 0 ? "," : "", (int)left->size, left->text, (int)right->size,
                                  right->text);
    }
    attn_buffer_append_string(out, "]");
}

/* The file without any blank. */
static void write_file(struct attn_case *c, const struct known *known, struct attn_buffer *out)
{
    const struct pipeline *pipeline = &pipelines[known->pipeline];
    const bool is_vocabulary_first = attn_case_chance(c, 70);

    attn_buffer_append_format(
        out,
        "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[{\"id\":0,"
        "\"content\":\"<s>\",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,"
        "\"normalized\":false,\"special\":true}],\"normalizer\":%s,\"pre_tokenizer\":%s,"
        "\"post_processor\":%s,\"decoder\":%s,\"model\":{\"type\":\"BPE\",\"dropout\":null,"
        "\"unk_token\":null,\"continuing_subword_prefix\":null,\"end_of_word_suffix\":\"\","
        "\"fuse_unk\":false,\"byte_fallback\":false,\"ignore_merges\":false,",
        pipeline->normalizer, pipeline->pre_tokenizer, post_processors[known->post],
        pipeline->decoder);
    if (!is_vocabulary_first)
        write_merges(c, known, out);
    attn_buffer_append_string(out, is_vocabulary_first ? "" : ",");
    write_vocabulary(c, known, out);
    attn_buffer_append_string(out, is_vocabulary_first ? "," : "");
    if (is_vocabulary_first)
        write_merges(c, known, out);
    attn_buffer_append_string(out, "}}");
}

/* Appends TEXT, the first DEFECT->what of it replaced. */
static void append_spoiled(struct attn_buffer *out, const struct attn_buffer *text,
                           const struct defect *defect)
{
    const size_t n = strlen(defect->what);
    const char *found = memmem(text->data, text->size, defect->what, n);

    FUZZ_CHECK(found != NULL);
    attn_buffer_append(out, text->data, (size_t)(found - text->data));
    attn_buffer_append_string(out, defect->with);
    attn_buffer_append(out, found + n, text->size - (size_t)(found - text->data) - n);
}

/* Appends TEXT with blanks between its tokens. */
static void append_with_blanks(struct attn_case *c, struct attn_buffer *out,
                               const struct attn_buffer *text)
{
    bool is_in_string = false;

    for (size_t i = 0; i < text->size; i++) {
        const char byte = text->data[i];

        attn_buffer_append_char(out, byte);
        if (is_in_string && byte == '\\' && i + 1 < text->size)
            attn_buffer_append_char(out, text->data[++i]);
        else if (byte == '"')
            is_in_string = !is_in_string;
        if (!is_in_string && strchr("{}[],:", byte) != NULL)
            attn_json_blank(c, out);
    }
}

static void make(struct attn_case *c)
{
    struct known *known = (struct known *)c->known.bytes;
    static const char *names[N_OWN + ATTN_N_JSON_DEFECT];
    static const char *const json_names[] = {ATTN_JSON_DEFECTS};
    struct attn_buffer text = {0}, spoiled = {0};
    struct attn_buffer *out = attn_case_file(c, "tokenizer.json");
    int number;

    for (size_t i = 0; i < N_OWN + ATTN_N_JSON_DEFECT; i++)
        names[i] = i < N_OWN ? defects[i].name : json_names[i - N_OWN];
    number = attn_case_defect(c, names, N_OWN + ATTN_N_JSON_DEFECT);
    known->pipeline = (int)attn_case_below(c, N_PIPELINE);
    known->post = (int)attn_case_below(c, N_POST);
    if (number >= 0 && number < N_OWN) {
        known->pipeline =
            defects[number].pipeline >= 0 ? defects[number].pipeline : known->pipeline;
        known->post = defects[number].post >= 0 ? defects[number].post : known->post;
    }
    make_tokens(c, known);
    write_file(c, known, &text);
    if (number >= 0 && number < N_OWN)
        append_spoiled(&spoiled, &text, &defects[number]);
    append_with_blanks(c, out, number >= 0 && number < N_OWN ? &spoiled : &text);
    if (number >= N_OWN)
        attn_json_spoil(c, out, number - N_OWN);
    attn_buffer_append_format(attn_case_file(c, "text.txt"), "%.*s\n", (int)known->n_text,
                              known->text); /* the final newline is no part of the text */
    attn_buffer_release(&text);
    attn_buffer_release(&spoiled);
    attn_case_run(c, 3, "tokenize", "-m", ".", "-f", "text.txt", NULL);
}

/* --- judging ---------------------------------------------------------------------------------- */

static void check_text(const struct known *known, const struct attn_tokenizer *tokenizer)
{
    const struct attn_encode_options options = {.size = sizeof options,
                                                .special_tokens = ATTN_SPECIAL_TOKENS_OFF};
    struct attn_encoding encoding = {0};
    struct attn_error err = {0};
    char *text = NULL;
    size_t size = 0;

    FUZZ_CHECK(attn_tokenizer_encode(tokenizer, known->text, known->n_text, &options, &encoding,
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
    const struct attn_blob blob = {c->files[0].name, c->files[0].bytes.data,
                                   c->files[0].bytes.size};
    const struct attn_source source = {.name = "m", .blobs = &blob, .n_blob = 1};
    struct attn_tokenizer *tokenizer = NULL;
    enum attn_status status = attn_tokenizer_open(&source, &tokenizer, err);

    if (status == ATTN_OK && c->meant == ATTN_MEANT_VALID) {
        FUZZ_CHECK(attn_tokenizer_n_vocab(tokenizer) == known->merges.n);
        check_text(known, tokenizer);
    }
    attn_tokenizer_free(tokenizer);
    return status;
}

const struct attn_grammar attn_grammar_tokenizer = {.name = "tokenizer",
                                                    .make = make,
                                                    .take = take,
                                                    .refused = FUZZ_BIT(ATTN_FORMAT) |
                                                               FUZZ_BIT(ATTN_UNSUPPORTED)};
