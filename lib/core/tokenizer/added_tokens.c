#include "tokenizer/added_tokens.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/text/utf8.h"
#include "formats/json_reader.h"
#include "tokenizer/regex.h"
#include "tokenizer/tokenizer_internal.h"

#include <stddef.h>
#include <string.h>

/* --- The search ------------------------------------------------------------------------------- */

/* Returns the slot of the edge from NODE by BYTE, or the free slot where it would be. */
static struct attn_search_edge *find_edge(const struct attn_search *search, uint32_t node,
                                          unsigned char byte)
{
    const uint32_t key = (node << 8 | byte) + 1;
    size_t slot = (size_t)attn_hash_mix(key ^ search->seed) & search->mask;

    while (search->edges[slot].key != 0 && search->edges[slot].key != key)
        slot = (slot + 1) & search->mask;
    return &search->edges[slot];
}

/* Returns the node after NODE by BYTE, or 0. */
static uint32_t child_of(const struct attn_search *search, uint32_t node, unsigned char byte)
{
    return node == 0 ? search->root[byte] : find_edge(search, node, byte)->child;
}

/* Returns the node that the automaton reaches from NODE when it reads BYTE. */
static uint32_t step(const struct attn_search *search, uint32_t node, unsigned char byte)
{
    uint32_t child;

    while ((child = child_of(search, node, byte)) == 0 && node != 0)
        node = search->nodes[node].fail;
    return child;
}

static unsigned char byte_from_end(const struct attn_search_word *word, size_t i)
{
    return (unsigned char)word->text[word->size - 1 - i];
}

static void add_word(struct attn_search *search, const struct attn_search_word *word,
                     int32_t number)
{
    uint32_t node = 0;

    for (size_t i = 0; i < word->size; i++) {
        const unsigned char byte = byte_from_end(word, i);
        uint32_t child = child_of(search, node, byte);

        if (child == 0) {
            child = search->n++;
            search->nodes[child] = (struct attn_search_node){.parent = node, .word = -1};
            if (node == 0)
                search->root[byte] = child;
            else
                *find_edge(search, node, byte) =
                    (struct attn_search_edge){(node << 8 | byte) + 1, child};
        }
        node = child;
    }
    search->nodes[node].word = number;
}

/* Sets the fallback link of each node, shorter nodes first, because links depend on them. */
static enum attn_status link_nodes(struct attn_search *search, const struct attn_search_word *words,
                                   size_t n, struct attn_error *err)
{
    uint32_t *at = attn_alloc(n, sizeof *at, err); /* the current node of each word */
    /* Indices of words that are longer than the current depth. */
    size_t *open = attn_alloc(n, sizeof *open, err);
    size_t n_open = n;

    if (!at || !open) {
        attn_free(at);
        attn_free(open);
        return ATTN_NO_MEMORY;
    }
    for (size_t i = 0; i < n; i++)
        open[i] = i;
    for (size_t depth = 0; n_open > 0; depth++) {
        size_t n_left = 0;

        for (size_t i = 0; i < n_open; i++) {
            const size_t word = open[i];
            const unsigned char byte = byte_from_end(&words[word], depth);

            struct attn_search_node *node;

            at[word] = child_of(search, at[word], byte);
            node = &search->nodes[at[word]];
            node->fail =
                node->parent == 0 ? 0 : step(search, search->nodes[node->parent].fail, byte);
            node->found = node->word >= 0 ? at[word] : search->nodes[node->fail].found;
            if (words[word].size > depth + 1)
                open[n_left++] = word;
        }
        n_open = n_left;
    }
    attn_free(at);
    attn_free(open);
    return ATTN_OK;
}

enum attn_status attn_search_build(struct attn_search *search, const struct attn_search_word *words,
                                   size_t n, struct attn_error *err)
{
    size_t n_byte = 1, n_slot = 2;

    for (size_t i = 0; i < n; i++) {
        if (words[i].size > ATTN_SEARCH_MAX - n_byte)
            return attn_error_set(err, ATTN_UNSUPPORTED,
                                  "the added tokens have more than %d bytes in all",
                                  ATTN_SEARCH_MAX);
        n_byte += words[i].size;
    }
    while (n_slot < n_byte * 2)
        n_slot *= 2;
    ATTN_TRY(ATTN_NEW(search->nodes, attn_alloc_uninitialized(n_byte, sizeof *search->nodes, err)));
    ATTN_TRY(ATTN_ALLOC(search->edges, n_slot, err));
    ATTN_TRY(ATTN_NEW(search->sizes, attn_alloc_uninitialized(n, sizeof *search->sizes, err)));
    search->mask = n_slot - 1;
    search->seed = attn_hash_seed();
    search->nodes[0] = (struct attn_search_node){.word = -1};
    search->n = 1;
    for (size_t i = 0; i < n; i++) {
        search->sizes[i] = words[i].size;
        add_word(search, &words[i], (int32_t)i);
    }
    return link_nodes(search, words, n, err);
}

void attn_search_release(struct attn_search *search)
{
    attn_free(search->nodes);
    attn_free(search->edges);
    attn_free(search->sizes);
    *search = (struct attn_search){0};
}

/* Sets HITS to all places of TEXT [size] where a word begins, each with its longest word. */
static enum attn_status find_words(const struct attn_search *search, const char *text, size_t size,
                                   struct attn_search_hits *hits, struct attn_error *err)
{
    uint32_t node = 0, found;

    hits->n = 0;
    for (size_t at = size; at-- > 0;) {
        if (node == 0) /* by far the most frequent case */
            node = search->root[(unsigned char)text[at]];
        else
            node = step(search, node, (unsigned char)text[at]);
        found = search->nodes[node].found;
        if (found == 0)
            continue;
        ATTN_TRY(ATTN_GROW(hits->list, hits->capacity, hits->n + 1, err));
        hits->list[hits->n++] = (struct attn_search_hit){at, search->nodes[found].word};
    }
    return ATTN_OK;
}

enum attn_status attn_added_append(struct attn_added *added, struct attn_added_token token,
                                   const char *content, size_t size, struct attn_error *err)
{
    ATTN_TRY(ATTN_GROW(added->tokens, added->capacity, added->n + 1, err));
    token.begin = added->contents.size;
    token.size = size;
    attn_buffer_append(&added->contents, content, size);
    added->tokens[added->n++] = token;
    return attn_buffer_check(&added->contents, err);
}

void attn_added_release(struct attn_added *added)
{
    attn_buffer_release(&added->contents);
    attn_free(added->tokens);
    *added = (struct attn_added){0};
}

enum attn_status attn_added_mark_foreign(struct attn_tokenizer *tokenizer, struct attn_error *err)
{
    const struct attn_added *added = &tokenizer->added;

    ATTN_TRY(ATTN_ALLOC(tokenizer->is_foreign, tokenizer->vocabulary.n, err));
    for (size_t i = 0; i < added->n; i++)
        tokenizer->is_foreign[added->tokens[i].id] = added->tokens[i].is_new;
    return ATTN_OK;
}

/* --- The stage -------------------------------------------------------------------------------- */

/* The \w of Rust. Its only numbers are digits and letters; it includes ZERO WIDTH (NON-)JOINER. */
static const char word_pattern[] =
    "[\\p{L}\\p{M}\\p{Nl}\\p{Nd}\\p{Pc}\\x{200c}\\x{200d}\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}"
    "\\x{1f150}-\\x{1f169}\\x{1f170}-\\x{1f189}]";

struct added_stage {
    const struct attn_added *added; /* borrows */
    size_t *indices;                /* owns; [n] indices of the tokens of this stage */
    size_t n;
    struct attn_search search; /* finds the words of `indices` */
    struct attn_regex *letter; /* owns; matches a word character; NULL if no token needs it */
};

struct added_scratch {
    struct attn_search_hits hits;
    struct attn_match *letter; /* owns, or NULL */
};

static void free_stage(void *data)
{
    struct added_stage *stage = data;

    attn_search_release(&stage->search);
    attn_regex_free(stage->letter);
    attn_free(stage->indices);
    attn_free(stage);
}

static void end_scratch(void *data)
{
    struct added_scratch *scratch = data;

    attn_free(scratch->hits.list);
    attn_match_free(scratch->letter);
    attn_free(scratch);
}

static enum attn_status begin_scratch(const void *data, size_t n, void **out,
                                      struct attn_error *err)
{
    const struct added_stage *stage = data;
    struct added_scratch *scratch;

    ATTN_TRY(ATTN_ALLOC(scratch, 1, err));
    *out = scratch;
    return stage->letter ? attn_match_create(stage->letter, n, &scratch->letter, err) : ATTN_OK;
}

/* Returns where the character before AT begins, but not before BEGIN. */
static size_t step_back(const char *text, size_t begin, size_t at)
{
    do
        at--;
    while (at > begin && ((unsigned char)text[at] & 0xc0) == 0x80);
    return at;
}

/* Sets *is_alone to false if the character at AT, which is before END, is part of a word. */
static enum attn_status check_neighbor(struct added_scratch *scratch, const char *text, size_t at,
                                       size_t end, bool *is_alone, struct attn_error *err)
{
    uint32_t code_point;
    size_t length = attn_utf8_decode(text + at, end - at, &code_point);
    struct attn_match_range found;

    if (length == 0)
        return ATTN_OK;
    ATTN_TRY(attn_match_find(scratch->letter, text + at, length, 0, &found, err));
    *is_alone = *is_alone && found.begin != 0;
    return ATTN_OK;
}

/* Returns where the white space that ends at END begins, but not before BEGIN. */
static size_t strip_left(const char *text, size_t begin, size_t end)
{
    while (end > begin) {
        size_t at = step_back(text, begin, end);
        uint32_t code_point;

        if (attn_utf8_decode(text + at, end - at, &code_point) == 0 ||
            !attn_utf8_is_white_space(code_point))
            break;
        end = at;
    }
    return end;
}

/* Returns where the white space that begins at BEGIN ends. */
static size_t strip_right(const char *text, size_t begin, size_t end)
{
    while (begin < end) {
        uint32_t code_point;
        size_t length = attn_utf8_decode(text + begin, end - begin, &code_point);

        if (length == 0 || !attn_utf8_is_white_space(code_point))
            break;
        begin += length;
    }
    return begin;
}

/* A token that was found in a slice, and how much of the slice was passed on. */
struct found_token {
    size_t begin, end;
    size_t done; /* end of the part that was passed on */
};

/* Passes the text before TOKEN, which is FOUND in SLICE, to the next stage, and appends TOKEN. */
static enum attn_status append_token(struct attn_walk *walk, size_t at, struct attn_slice slice,
                                     const struct attn_added_token *token,
                                     struct found_token *found, struct attn_error *err)
{
    const char *text = slice.layer->text;
    size_t begin = found->begin, end = found->end;

    /* A token may begin in white space that the previous token stripped. It is still found, but
     * does not strip that white space again. */
    if (token->strips_left)
        begin = begin < found->done ? found->done : strip_left(text, found->done, begin);
    if (token->strips_right)
        end = strip_right(text, end, slice.end);
    if (found->done < begin)
        ATTN_TRY(
            attn_walk_next(walk, at, (struct attn_slice){slice.layer, found->done, begin}, err));
    if (begin < end)
        ATTN_TRY(attn_encoding_push(walk->encoding, token->id, begin, end, err));
    found->done = end;
    return ATTN_OK;
}

/* Whether a special token that begins at AT of LAYER is plain text. */
static bool is_plain(const struct attn_walk *walk, const struct attn_layer *layer, size_t at)
{
    const struct attn_encode_options *options = walk->options;

    if (options->special == ATTN_SPECIAL_TEXT || options->plain_end == 0)
        return options->special == ATTN_SPECIAL_TEXT;
    at = attn_layer_origin(layer, at);
    return at >= options->plain_begin && at < options->plain_end;
}

static enum attn_status run_added(struct attn_walk *walk, size_t at, struct attn_slice slice,
                                  struct attn_error *err)
{
    const struct added_stage *stage = walk->pipeline->stages[at].data;
    struct added_scratch *scratch = walk->scratch[at];
    const char *text = slice.layer->text;
    struct found_token found = {.end = slice.begin, .done = slice.begin};

    ATTN_TRY(find_words(&stage->search, attn_slice_text(slice), attn_slice_size(slice),
                        &scratch->hits, err));
    /* Later stages do not run this stage again, so the list of hits stays valid. */
    for (size_t i = scratch->hits.n; i-- > 0;) {
        const struct attn_search_hit hit = scratch->hits.list[i];
        const struct attn_added_token *token = &stage->added->tokens[stage->indices[hit.word]];
        bool is_wanted;

        if (slice.begin + hit.at < found.end)
            continue; /* overlaps the previous token */
        found.begin = slice.begin + hit.at;
        is_wanted = !(token->is_special && is_plain(walk, slice.layer, found.begin));
        found.end = found.begin + stage->search.sizes[hit.word];
        if (is_wanted && token->is_single_word && found.begin > slice.begin)
            ATTN_TRY(check_neighbor(scratch, text, step_back(text, slice.begin, found.begin),
                                    found.begin, &is_wanted, err));
        if (is_wanted && token->is_single_word && found.end < slice.end)
            ATTN_TRY(check_neighbor(scratch, text, found.end, slice.end, &is_wanted, err));
        if (is_wanted)
            ATTN_TRY(append_token(walk, at, slice, token, &found, err));
    }
    return attn_walk_next(walk, at, (struct attn_slice){slice.layer, found.done, slice.end}, err);
}

static const struct attn_text_stage_kind kind = {
    .run = run_added, .begin = begin_scratch, .end = end_scratch, .free = free_stage};

/* --- Building the stage ----------------------------------------------------------------------- */

/* A stage after the normalizers: copies the normalized content of a token to its data. */
static enum attn_status run_recorder(struct attn_walk *walk, size_t at, struct attn_slice slice,
                                     struct attn_error *err)
{
    struct attn_buffer *out = walk->pipeline->stages[at].data;

    attn_buffer_append(out, attn_slice_text(slice), attn_slice_size(slice));
    return attn_buffer_check(out, err);
}

static const struct attn_text_stage_kind recorder = {.run = run_recorder};

struct stage_builder {
    struct added_stage *stage;
    struct attn_search_word *words; /* owns; the words to search for */
    struct attn_buffer bytes;       /* the words, concatenated */
};

/* Selects the tokens of the stage, special ones first, because of equal words the last one is
 * found. */
static enum attn_status select_tokens(struct added_stage *stage, bool is_normalized,
                                      struct attn_error *err)
{
    const struct attn_added *added = stage->added;
    bool needs_letters = false;

    ATTN_TRY(
        ATTN_NEW(stage->indices, attn_alloc_uninitialized(added->n, sizeof *stage->indices, err)));
    for (int is_special = 1; is_special >= 0; is_special--)
        for (size_t i = 0; i < added->n; i++) {
            if (added->tokens[i].is_normalized != is_normalized ||
                added->tokens[i].is_special != is_special)
                continue;
            stage->indices[stage->n++] = i;
            needs_letters = needs_letters || added->tokens[i].is_single_word;
        }
    if (!needs_letters)
        return ATTN_OK;
    return attn_regex_create(word_pattern, sizeof word_pattern - 1, "tokenizer.json", false,
                             &stage->letter, err);
}

/* Normalizes the contents of the tokens by the last N_NORMALIZER stages, and builds the search for
 * them. */
static enum attn_status build(struct stage_builder *builder, const struct attn_pipeline *pipeline,
                              size_t n_normalizer, struct attn_error *err)
{
    const struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    struct added_stage *stage = builder->stage;
    struct attn_pipeline normalizers = {.n = n_normalizer};
    const char *text;

    ATTN_TRY(ATTN_ALLOC(builder->words, stage->n, err));
    memcpy(normalizers.stages, pipeline->stages + pipeline->n - n_normalizer,
           n_normalizer * sizeof *pipeline->stages);
    normalizers.stages[normalizers.n++] = (struct attn_text_stage){&recorder, &builder->bytes};
    for (size_t i = 0; i < stage->n; i++) {
        const char *content = attn_added_content(stage->added, stage->indices[i]);
        const size_t size = stage->added->tokens[stage->indices[i]].size;
        const size_t before = builder->bytes.size;
        struct attn_encoding encoding = {0};

        ATTN_TRY(attn_pipeline_encode(&normalizers, content, size, &options, &encoding, err));
        builder->words[i].size = builder->bytes.size - before;
        if (builder->words[i].size == 0)
            return attn_error_set(err, ATTN_FORMAT,
                                  "the added token '%s' is empty when it is normalized",
                                  attn_quote(content, size).text);
    }
    text = builder->bytes.data;
    for (size_t i = 0; i < stage->n; text += builder->words[i++].size)
        builder->words[i].text = text;
    return attn_search_build(&stage->search, builder->words, stage->n, err);
}

enum attn_status attn_added_add_stage(struct attn_pipeline *pipeline,
                                      const struct attn_added *added, bool is_normalized,
                                      size_t n_normalizer, struct attn_error *err)
{
    struct stage_builder builder = {.stage = attn_alloc(1, sizeof *builder.stage, err)};
    const bool lowers = !is_normalized && added->lowers;
    enum attn_status status;

    if (!builder.stage)
        return ATTN_NO_MEMORY;
    builder.stage->added = added;
    status = select_tokens(builder.stage, is_normalized, err);
    if (status == ATTN_OK && builder.stage->n > 0)
        status = build(&builder, pipeline, is_normalized ? n_normalizer + added->lowers : 0, err);
    attn_buffer_release(&builder.bytes);
    attn_free(builder.words);
    if (status == ATTN_OK && builder.stage->n > 0)
        status = attn_pipeline_add(pipeline, &kind, builder.stage, err);
    else
        free_stage(builder.stage);
    return status == ATTN_OK && lowers
               ? attn_pipeline_add(pipeline, &attn_change_lowercase, NULL, err)
               : status;
}

/* --- `added_tokens` of tokenizer.json --------------------------------------------------------- */

/* Files with fewer bytes have so few tokens that they are looked up without an index. */
enum { FEW = 2048 };

static const char file_name[] = "tokenizer.json"; /* for messages */

/* The numbering of new tokens, which starts at the number of keys in the vocabulary. Before version
 * 0.23 the library continued after the highest id of an added token, which differs if the
 * vocabulary has holes. */
struct numbering {
    uint64_t next; /* the next id: the number of keys plus that of new tokens so far */
    uint64_t old;  /* the next id before version 0.23 */
    bool has_new;
};

struct added_reader {
    struct attn_json_reader json;
    struct attn_tokenizer *tokenizer;
    struct numbering numbering;
    size_t index; /* index of the token in the list */
    /* The current token: */
    struct attn_added_token token;
    struct attn_buffer content;
    uint64_t id;
    unsigned seen; /* bit i is set if member i of `members` was read */
};

#define FLAG(field) "true or false", offsetof(struct added_reader, token.field)

/* The members that a token must have. */
static const struct {
    const char *key, *expected;
    size_t offset; /* offset of the flag; 0: the member is not a flag */
} members[] = {
    {"id", "an integer from 0", 0},        {"content", "a string that is not empty", 0},
    {"single_word", FLAG(is_single_word)}, {"lstrip", FLAG(strips_left)},
    {"rstrip", FLAG(strips_right)},        {"normalized", FLAG(is_normalized)},
    {"special", FLAG(is_special)},
};
enum { ID, CONTENT, N_MEMBER = sizeof members / sizeof *members };

static enum attn_status read_member(struct added_reader *reader, const struct attn_json_token *key,
                                    struct attn_error *err)
{
    struct attn_json_token value;
    int member = 0;
    bool is_right;

    while (member < N_MEMBER && !attn_json_equals(key, members[member].key))
        member++;
    if (member == N_MEMBER)
        return attn_json_skip(&reader->json, err);
    if (reader->seen >> member & 1)
        return attn_error_set(err, ATTN_FORMAT, "added token %zu in '%s' has '%s' twice",
                              reader->index, file_name, members[member].key);
    reader->seen |= 1u << member;
    ATTN_TRY(attn_json_next(&reader->json, &value, err));
    if (member == ID) {
        is_right = attn_json_uint(&value, &reader->id) && reader->id <= INT32_MAX;
    } else if (member == CONTENT) {
        is_right = value.type == ATTN_JSON_STRING && value.size > 0;
        if (is_right)
            attn_json_unescape(&value, &reader->content);
    } else {
        is_right = value.type == ATTN_JSON_TRUE || value.type == ATTN_JSON_FALSE;
        *(bool *)((char *)reader + members[member].offset) = value.type == ATTN_JSON_TRUE;
    }
    if (!is_right)
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' of added token %zu in '%s' is '%s', expected %s",
                              members[member].key, reader->index, file_name,
                              attn_quote(value.text, value.size).text, members[member].expected);
    return attn_buffer_check(&reader->content, err);
}

/* Reads the members of a token, whose object was entered. */
static enum attn_status read_token(struct added_reader *reader, struct attn_error *err)
{
    struct attn_json_token key;

    attn_buffer_reset(&reader->content);
    reader->token = (struct attn_added_token){0};
    reader->seen = 0;
    for (;;) {
        ATTN_TRY(attn_json_next(&reader->json, &key, err));
        if (key.type != ATTN_JSON_KEY)
            break;
        ATTN_TRY(read_member(reader, &key, err));
    }
    for (int member = 0; member < N_MEMBER; member++)
        if (!(reader->seen >> member & 1))
            return attn_error_set(err, ATTN_FORMAT, "added token %zu in '%s' has no '%s'",
                                  reader->index, file_name, members[member].key);
    return ATTN_OK;
}

/* Gives the token the id that the library would give it, and appends it. */
static enum attn_status place_token(struct added_reader *reader, struct attn_error *err)
{
    struct attn_vocabulary *vocabulary = &reader->tokenizer->vocabulary;
    struct numbering *numbering = &reader->numbering;
    const char *content = reader->content.data;
    const size_t size = reader->content.size;
    const int32_t known = attn_vocabulary_find(vocabulary, content, size);
    const uint64_t id = known >= 0 ? (uint64_t)known : numbering->next;

    if (known < 0 && numbering->old != numbering->next)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "the added token '%s' in '%s' has id %llu or %llu, as the version of "
                              "tokenizers has it, which is not supported",
                              attn_quote(content, size).text, file_name,
                              (unsigned long long)numbering->next,
                              (unsigned long long)numbering->old);
    if (reader->id != id)
        return attn_error_set(
            err, ATTN_FORMAT, "the added token '%s' has id %llu in '%s', expected %llu, %s",
            attn_quote(content, size).text, (unsigned long long)reader->id, file_name,
            (unsigned long long)id,
            known >= 0 ? "its id in the vocabulary" : "the next one after the vocabulary");
    reader->token.id = (int32_t)id;
    reader->token.is_new = known < 0;
    if (known < 0) {
        ATTN_TRY(attn_vocabulary_add(vocabulary, content, size, reader->token.id, err));
        numbering->has_new = true;
        numbering->next++;
    }
    numbering->old = id >= numbering->old ? id + 1 : numbering->old;
    return attn_added_append(&reader->tokenizer->added, reader->token, content, size, err);
}

static enum attn_status read_list(struct added_reader *reader, struct attn_error *err)
{
    struct attn_tokenizer *tokenizer = reader->tokenizer;
    struct attn_json_token token;

    ATTN_TRY(attn_json_next(&reader->json, &token, err));
    if (reader->json.size > FEW)
        ATTN_TRY(attn_vocabulary_index(&tokenizer->vocabulary, tokenizer->unread->path, err));
    if (token.type != ATTN_JSON_ARRAY_BEGIN)
        return attn_error_set(err, ATTN_FORMAT, "'added_tokens' in '%s' is not a list", file_name);
    for (;; reader->index++) {
        ATTN_TRY(attn_json_next(&reader->json, &token, err));
        if (token.type == ATTN_JSON_ARRAY_END)
            break;
        if (token.type != ATTN_JSON_OBJECT_BEGIN)
            return attn_error_set(err, ATTN_FORMAT, "added token %zu in '%s' is not an object",
                                  reader->index, file_name);
        ATTN_TRY(read_token(reader, err));
        ATTN_TRY(place_token(reader, err));
    }
    if (!reader->numbering.has_new)
        return ATTN_OK;
    ATTN_TRY(attn_vocabulary_finish(&tokenizer->vocabulary, file_name, true, err));
    return attn_added_mark_foreign(tokenizer, err);
}

enum attn_status attn_added_read_json(struct attn_tokenizer *tokenizer, const char *text,
                                      size_t size, struct attn_error *err)
{
    struct added_reader reader = {
        .json = attn_json_reader_init(text, size, file_name),
        .tokenizer = tokenizer,
        .numbering = {.next = tokenizer->vocabulary.n_key, .old = tokenizer->vocabulary.n_key}};
    const enum attn_status status = read_list(&reader, err);

    attn_buffer_release(&reader.content);
    return status;
}
