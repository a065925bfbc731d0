/*
 * tokenizer_spm.c - tokenizers from SentencePiece's own files, which are protobufs: Marian's
 * source.spm and target.spm, whose pieces have ids in vocab.json, and T5's spiece.model and Llama's
 * tokenizer.model, in which the id of a piece is its number. Llama's is of type BPE.
 *
 * As in SentencePiece (github.com/google/sentencepiece), texts are split only into normal and
 * user-defined pieces. A user-defined piece is not normalized, and has a score with which it is
 * always chosen; in BPE, it is found before texts are merged. Trap: SentencePiece never finds a
 * control piece such as <s> in a text; transformers does, and so does this reader of BPE.
 */
#include "vocabularies/vocabularies_internal.h"

#include "base/memory.h"
#include "base/text/utf8.h"
#include "tokenizer/stages/stages_internal.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char space[] = "\xe2\x96\x81"; /* U+2581 */

/* --- Protobufs -------------------------------------------------------------------------------- */

enum wire { WIRE_VARINT, WIRE_64, WIRE_BYTES, WIRE_32 = 5 };

/* A message, and the position up to which it was read. */
struct message {
    const unsigned char *at, *end; /* pointers into the bytes of `file` */
    const struct attn_file *file;
};

struct field {
    uint64_t number;
    enum wire wire;
    uint64_t value;             /* the value of a varint; for other types the size in bytes */
    const unsigned char *bytes; /* the bytes, for other types */
};

static enum attn_status refuse(const struct message *message, const unsigned char *at,
                               const char *problem, struct attn_error *err)
{
    return attn_error_set(
        err, ATTN_FORMAT, "'%s' is not a model of SentencePiece: the field at byte %zu %s",
        attn_quote_string(message->file->path).text, (size_t)(at - message->file->data), problem);
}

static bool read_varint(struct message *message, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 64 && message->at < message->end; shift += 7) {
        const unsigned char byte = *message->at++;

        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

/* Reads the next field of MESSAGE, which must not be at its end. */
static enum attn_status next_field(struct message *message, struct field *field,
                                   struct attn_error *err)
{
    const unsigned char *begin = message->at;
    uint64_t tag;
    bool is_whole = read_varint(message, &tag);

    *field = (struct field){.number = tag >> 3, .wire = (enum wire)(tag & 7)};
    if (is_whole && (field->wire == WIRE_64 || field->wire == WIRE_32))
        field->value = field->wire == WIRE_64 ? 8 : 4;
    else if (is_whole && (field->wire == WIRE_VARINT || field->wire == WIRE_BYTES))
        is_whole = read_varint(message, &field->value);
    else if (is_whole)
        return refuse(message, begin, "has an unknown type", err);
    if (!is_whole)
        return refuse(message, begin, "ends within a number", err);
    if (field->wire == WIRE_VARINT)
        return ATTN_OK;
    if (field->value > (uint64_t)(message->end - message->at))
        return refuse(message, begin, "is longer than what it is in", err);
    field->bytes = message->at;
    message->at += field->value;
    return ATTN_OK;
}

static bool is_field(const struct field *field, uint64_t number, enum wire wire)
{
    return field->number == number && field->wire == wire;
}

static struct message message_of(const struct field *field, const struct attn_file *file)
{
    return (struct message){field->bytes, field->bytes + field->value, file};
}

/* --- Model files ------------------------------------------------------------------------------ */

enum piece_type {
    PIECE_NORMAL = 1,
    PIECE_UNKNOWN,
    PIECE_CONTROL,
    PIECE_USER,
    PIECE_UNUSED,
    PIECE_BYTE
};

/* Settings in a model file. */
enum { TYPE, SUFFIX, BYTES, DUMMY_PREFIX, EXTRA_SPACES, ESCAPES, N_SETTING };

/* Maximum bytes of a user-defined piece, because each is searched at each place of a text. */
enum { USER_MAX = 256 };

/* One side of a tokenizer while it is read. Marian has two, each with a file; T5 has one. */
struct side {
    struct attn_tokenizer *tokenizer;
    const struct attn_source *source;
    const struct attn_class *found;
    const struct attn_class_row *row;
    const struct attn_json *config; /* tokenizer_config.json, or NULL */
    /* The files of pieces and of ids; vocabulary NULL: ids are the numbers of pieces. */
    const char *name, *vocabulary;
    int32_t offset; /* of the ids of pieces to their numbers */
    bool is_bpe;
    bool is_modern;       /* `legacy` of the config is false: see add_modern_spaces */
    unsigned char *types; /* owns; [n] types of the pieces */
    size_t type_capacity;
    struct attn_file file, ids; /* owns */
    struct field charsmap;
    struct attn_sentence_rule rule;
    uint64_t settings[N_SETTING];
    float least, most; /* least and largest score of normal pieces */
};

struct piece {
    const char *key; /* [size] */
    size_t size;
    float score;
    uint64_t type;
};

static enum attn_status read_piece(struct message message, struct piece *piece,
                                   struct attn_error *err)
{
    struct field field;

    *piece = (struct piece){.key = "", .type = PIECE_NORMAL};
    while (message.at < message.end) {
        ATTN_TRY(next_field(&message, &field, err));
        if (is_field(&field, 1, WIRE_BYTES)) {
            piece->key = (const char *)field.bytes;
            piece->size = (size_t)field.value;
        } else if (is_field(&field, 2, WIRE_32)) {
            memcpy(&piece->score, field.bytes, sizeof piece->score);
        } else if (is_field(&field, 3, WIRE_VARINT)) {
            piece->type = field.value;
        }
    }
    return ATTN_OK;
}

/* Returns what is wrong with PIECE, or NULL. */
static const char *find_problem(const struct side *side, const struct piece *piece)
{
    if (piece->size == 0)
        return "is empty";
    if (memchr(piece->key, '\0', piece->size) ||
        attn_utf8_valid_length(piece->key, piece->size) < piece->size)
        return "is not UTF-8, or has a NUL";
    if (!isfinite(piece->score))
        return "has a score that is not finite";
    if (piece->type == PIECE_UNKNOWN && side->tokenizer->unigram.unk_id >= 0)
        return "is the second unknown one";
    if (side->is_bpe && (piece->type < PIECE_NORMAL || piece->type > PIECE_BYTE))
        return "has an unknown type";
    if (side->is_bpe && piece->type == PIECE_UNUSED)
        return "is unused, which is not supported";
    return piece->type == PIECE_USER && piece->size > USER_MAX ? "of a user has over 256 bytes"
                                                               : NULL;
}

/* Whether pieces are chosen as the library tokenizers does, among all pieces, control ones too, and
 * the charsmap is not applied. */
static bool is_by_words(const struct side *side)
{
    return (side->row->traits & ATTN_CLASS_BY_WORDS) != 0;
}

/* Adds PIECE. The score of a user-defined piece depends on all scores, and is set later. */
static enum attn_status add_piece(struct side *side, const struct piece *piece,
                                  struct attn_error *err)
{
    struct attn_tokenizer *tokenizer = side->tokenizer;
    struct attn_unigram_model *unigram = &tokenizer->unigram;
    const char *problem = find_problem(side, piece);
    const int32_t id = (int32_t)unigram->n;

    if (problem)
        return attn_error_set(err, ATTN_FORMAT, "piece %d of '%s', '%s', %s", (int)id,
                              attn_quote_string(side->file.path).text,
                              attn_quote(piece->key, piece->size).text, problem);
    ATTN_TRY(ATTN_GROW(side->types, side->type_capacity, unigram->n + 1, err));
    side->types[unigram->n] = (unsigned char)piece->type;
    ATTN_TRY(ATTN_GROW(unigram->scores, unigram->capacity, unigram->n + 1, err));
    unigram->scores[unigram->n++] = (double)piece->score;
    if (!side->vocabulary && id >= side->row->n_skip)
        ATTN_TRY(attn_vocabulary_add(&tokenizer->vocabulary, piece->key, piece->size,
                                     id + side->offset, err));
    if (piece->type == PIECE_UNKNOWN)
        unigram->unk_id = id;
    if (is_by_words(side))
        return ATTN_OK;
    if (piece->type == PIECE_USER) {
        if (piece->size > side->rule.n_longest)
            side->rule.n_longest = piece->size;
        ATTN_TRY(attn_vocabulary_add(&tokenizer->users, piece->key, piece->size, id, err));
    } else if (piece->type != PIECE_NORMAL) {
        return ATTN_OK;
    } else {
        side->least = fminf(piece->score, side->least);
        side->most = fmaxf(piece->score, side->most);
    }
    return attn_vocabulary_add(&tokenizer->pieces, piece->key, piece->size, id, err);
}

/* Reads the settings of the trainer (field 2 of the file) or the normalizer (field 3) from OF. */
static enum attn_status read_settings(struct side *side, const struct field *of,
                                      struct attn_error *err)
{
    static const unsigned numbers[N_SETTING][2] = {
        [TYPE] = {2, 3},         [SUFFIX] = {2, 24},      [BYTES] = {2, 35},
        [DUMMY_PREFIX] = {3, 3}, [EXTRA_SPACES] = {3, 4}, [ESCAPES] = {3, 5}};
    struct message message = message_of(of, &side->file);
    struct field field;

    while (message.at < message.end) {
        ATTN_TRY(next_field(&message, &field, err));
        if (of->number == 3 && is_field(&field, 2, WIRE_BYTES))
            side->charsmap = field;
        for (int i = 0; i < N_SETTING; i++)
            if (of->number == numbers[i][0] && is_field(&field, numbers[i][1], WIRE_VARINT))
                side->settings[i] = field.value;
    }
    return ATTN_OK;
}

static enum attn_status read_message(struct side *side, struct attn_error *err)
{
    const struct attn_file *file = &side->file;
    struct message message = {file->data, file->data + file->size, file};
    struct field field;
    struct piece piece;

    while (message.at < message.end) {
        ATTN_TRY(next_field(&message, &field, err));
        if (is_field(&field, 1, WIRE_BYTES)) {
            ATTN_TRY(read_piece(message_of(&field, file), &piece, err));
            ATTN_TRY(add_piece(side, &piece, err));
        } else if (is_field(&field, 2, WIRE_BYTES) || is_field(&field, 3, WIRE_BYTES)) {
            ATTN_TRY(read_settings(side, &field, err));
        }
    }
    return ATTN_OK;
}

static enum attn_status check_model(const struct side *side, struct attn_error *err)
{
    static const char *const types[] = {"unigram", "BPE", "word", "char"};
    const uint64_t type = side->settings[TYPE] - 1, expected = side->is_bpe;

    if (side->tokenizer->unigram.unk_id < 0)
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' is not a model of SentencePiece: it has no unknown piece",
                              attn_quote_string(side->file.path).text);
    if (type != expected) { /* transformers 5 makes other ids of it than SentencePiece */
        attn_error_set(err, ATTN_UNSUPPORTED,
                       "'%s' is a model of SentencePiece of type '%s', expected '%s'",
                       attn_quote_string(side->file.path).text, type < 4 ? types[type] : "unknown",
                       types[expected]);
        return attn_error_hint(err, "add tokenizer.json of the same repository; or give `ids` of "
                                    "a run");
    }
    if (side->settings[SUFFIX])
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "'%s' sets treat_whitespace_as_suffix, which is not supported",
                              attn_quote_string(side->file.path).text);
    return ATTN_OK;
}

/* Refuses the list of tiktoken, whose lines are a token in base64, a space and a number. */
static enum attn_status refuse_tiktoken(const struct attn_file *file, struct attn_error *err)
{
    static const char base64[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
    size_t n = 0;

    while (n < file->size && file->data[n] && strchr(base64, file->data[n]))
        n++;
    if (n == 0 || n + 1 >= file->size || file->data[n] != ' ' || file->data[n + 1] < '0' ||
        file->data[n + 1] > '9')
        return ATTN_OK;
    return attn_error_set(err, ATTN_UNSUPPORTED,
                          "'%s' is tiktoken's list, not a model of SentencePiece",
                          attn_quote_string(file->path).text);
}

/* Reads the model file into the model and the pieces of the tokenizer. */
static enum attn_status read_model(struct side *side, struct attn_error *err)
{
    struct attn_tokenizer *tokenizer = side->tokenizer;
    struct attn_unigram_model *unigram = &tokenizer->unigram;
    struct attn_vocabulary *users = &tokenizer->users;
    const char *path;

    ATTN_TRY(attn_file_read_part(side->source, side->name, &side->file, err));
    ATTN_TRY(refuse_tiktoken(&side->file, err));
    path = side->file.path;
    unigram->vocabulary = &tokenizer->pieces;
    unigram->ids = &tokenizer->vocabulary;
    unigram->unk_id = -1;
    ATTN_TRY(read_message(side, err));
    ATTN_TRY(check_model(side, err));
    if (is_by_words(side)) {
        unigram->vocabulary = &tokenizer->vocabulary;
        unigram->ids = NULL;
        return ATTN_OK;
    }
    unigram->has_byte_fallback = side->settings[BYTES];
    side->rule.has_prefix = side->settings[DUMMY_PREFIX];
    side->rule.drops_spaces = side->settings[EXTRA_SPACES];
    side->rule.space = side->settings[ESCAPES] ? space : " ";
    ATTN_TRY(attn_vocabulary_finish(&tokenizer->pieces, path, true, err));
    ATTN_TRY(attn_vocabulary_index(&tokenizer->pieces, path, err));
    if (users->n == 0)
        return ATTN_OK;
    for (size_t i = 0; i < users->n; i++)
        unigram->scores[users->entries[i].id] =
            (double)((float)users->entries[i].size * side->most) - 0.1;
    side->rule.users = users;
    ATTN_TRY(attn_vocabulary_finish(users, path, true, err));
    return attn_vocabulary_index(users, path, err);
}

/* --- Language tokens -------------------------------------------------------------------------- */

/* Implements the stage that finds a language token, `>>fra<<`, at the beginning of a slice. */
static enum attn_status run_language(struct attn_walk *walk, size_t at, struct attn_slice slice,
                                     struct attn_error *err)
{
    const struct attn_tokenizer *tokenizer = walk->pipeline->stages[at].data;
    const char *text = attn_slice_text(slice);
    const size_t size = attn_slice_size(slice);
    size_t n = 2;
    int32_t id;

    if (size < 4 || memcmp(text, ">>", 2) != 0)
        return attn_walk_next(walk, at, slice, err);
    while (n + 2 < size && memcmp(text + n, "<<", 2) != 0)
        n++;
    if (memcmp(text + n, "<<", 2) != 0)
        return attn_walk_next(walk, at, slice, err);
    id = attn_vocabulary_find(&tokenizer->vocabulary, text, n + 2);
    ATTN_TRY(attn_encoding_push(walk->encoding, id >= 0 ? id : tokenizer->unigram.ids_unk,
                                slice.begin, slice.begin + n + 2, err));
    slice.begin += n + 2;
    return attn_walk_next(walk, at, slice, err);
}

static const struct attn_text_stage_kind language_stage = {.run = run_language};

/* --- The tokenizer ---------------------------------------------------------------------------- */

/* Derives the merges of BPE from the scores of normal pieces. */
static enum attn_status read_scores(struct attn_tokenizer *tokenizer, struct attn_error *err)
{
    const struct attn_vocabulary *pieces = &tokenizer->pieces;
    struct attn_scored_token *tokens = NULL;
    enum attn_status status;
    size_t n = 0;

    ATTN_TRY(ATTN_ALLOC(tokens, pieces->n, err));
    for (size_t i = 0; i < pieces->n; i++) {
        const int32_t id = pieces->entries[i].id;

        if (id >= 0 && !tokenizer->is_foreign[id])
            tokens[n++] = (struct attn_scored_token){(float)tokenizer->unigram.scores[id], id};
    }
    status = attn_scored_merge(tokenizer, tokens, n, err);
    attn_free(tokens);
    return status;
}

/* Adds WORDS, which are separated by spaces, with ids from ID on. Returns the next id in *id. */
static enum attn_status add_words(struct attn_vocabulary *vocabulary, const char *words,
                                  int32_t *id, struct attn_error *err)
{
    for (const char *at = words; at && *at; at += strspn(at, " ")) {
        const size_t size = strcspn(at, " ");

        if (vocabulary)
            ATTN_TRY(attn_vocabulary_add(vocabulary, at, size, *id, err));
        ++*id;
        at += size;
    }
    return ATTN_OK;
}

/* Adds the token of the row that follows the pieces, with the id *NEXT, unless it is one of them.
 */
static enum attn_status add_back(struct side *side, int32_t *next, struct attn_error *err)
{
    struct attn_vocabulary *vocabulary = &side->tokenizer->vocabulary;
    const char *back = side->row->back;

    ATTN_TRY(attn_vocabulary_finish(vocabulary, side->file.path, true, err));
    return attn_vocabulary_find(vocabulary, back, strlen(back)) < 0
               ? add_words(vocabulary, back, next, err)
               : ATTN_OK;
}

/* Reads vocab.json, or for T5 adds the tokens that follow the pieces. */
static enum attn_status read_ids(struct side *side, struct attn_error *err)
{
    struct attn_vocabulary *vocabulary = &side->tokenizer->vocabulary;
    const char *path = side->file.path;
    const bool has_extra =
        !side->vocabulary && !side->is_bpe && !side->row->front && !is_by_words(side);
    int64_t n_extra = has_extra ? 100 : 0;
    int32_t first = 0, next = (int32_t)side->tokenizer->unigram.n + side->offset;
    char key[32];

    if (side->vocabulary) {
        ATTN_TRY(attn_file_read_part(side->source, side->vocabulary, &side->ids, err));
        ATTN_TRY(attn_vocabulary_read(vocabulary, &side->ids, err));
        path = side->ids.path;
    } else if (side->row->front) {
        ATTN_TRY(add_words(vocabulary, side->row->front, &first, err));
        ATTN_TRY(add_words(vocabulary, side->row->back, &next, err));
    } else if (is_by_words(side)) {
        ATTN_TRY(add_back(side, &next, err));
    } else if (side->config && has_extra) {
        ATTN_TRY(attn_json_get_int(side->config, attn_json_root(side->config), "extra_ids", 0,
                                   100000, &n_extra, err));
    }
    for (; n_extra > 0; n_extra--) {
        snprintf(key, sizeof key, "<extra_id_%d>", (int)(n_extra - 1));
        ATTN_TRY(attn_vocabulary_add(vocabulary, key, strlen(key), (int32_t)vocabulary->n, err));
    }
    ATTN_TRY(attn_vocabulary_finish(vocabulary, path, true, err));
    ATTN_TRY(attn_vocabulary_index(vocabulary, path, err));
    ATTN_TRY(attn_tokenizer_add_unread(side->tokenizer, path, err));
    side->tokenizer->unread->read = side->is_bpe ? read_scores : NULL;
    atomic_store_explicit(&side->tokenizer->unread->is_over, !side->is_bpe, memory_order_relaxed);
    return ATTN_OK;
}

/* Makes control pieces special, and for T5 the tokens after the pieces up to N, which include white
 * space on both sides. */
static enum attn_status add_extras(const struct side *side, size_t n, struct attn_error *err)
{
    struct attn_tokenizer *tokenizer = side->tokenizer;
    struct attn_added *added = &tokenizer->added;

    for (size_t id = 0; id < n; id++) {
        const size_t piece = id - (size_t)side->offset; /* huge for tokens before the pieces */
        const bool is_extra = id >= tokenizer->unigram.n && !side->row->front;
        const struct attn_added_token token = {.id = (int32_t)id,
                                               .is_special = true,
                                               .strips_left = is_extra,
                                               .strips_right = is_extra};
        size_t at = 0, size;
        const char *key = attn_vocabulary_key(&tokenizer->vocabulary, (int32_t)id, &size);

        if (!is_extra && (piece < (size_t)side->row->n_skip || piece >= tokenizer->unigram.n ||
                          side->types[piece] != PIECE_CONTROL))
            continue;
        while (at < added->n && added->tokens[at].id != token.id)
            at++;
        if (at == added->n)
            ATTN_TRY(attn_added_append(added, token, key, size, err));
        else if (is_extra)
            added->tokens[at].strips_left = added->tokens[at].strips_right = true;
    }
    return ATTN_OK;
}

/* Adds a part as transformers 5 makes it for tokenizer.json. */
static enum attn_status add_part(struct attn_tokenizer *tokenizer, enum attn_tokenizer_role role,
                                 const char *text, struct attn_error *err)
{
    return attn_tokenizer_read_part(tokenizer, role, text, strlen(text), err);
}

/* Adds the stages of DeBERTa between added tokens and the model. */
static enum attn_status add_word_stages(struct side *side, struct attn_error *err)
{
    struct attn_tokenizer *tokenizer = side->tokenizer;
    bool lowers = false, splits = false, has_space = true;

    ATTN_TRY(attn_class_get_bool(side->found, "do_lower_case", &lowers, err));
    ATTN_TRY(attn_class_get_bool(side->found, "split_by_punct", &splits, err));
    ATTN_TRY(attn_class_get_bool(side->found, "add_prefix_space", &has_space, err));
    if (lowers)
        ATTN_TRY(attn_pipeline_add(&tokenizer->pipeline, &attn_change_lowercase, NULL, err));
    ATTN_TRY(
        add_part(tokenizer, ATTN_ROLE_NORMALIZER,
                 "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Replace\",\"pattern\":{"
                 "\"Regex\":\"\\\\s{2,}|[\\\\n\\\\r\\\\t]\"},\"content\":\" \"},{\"type\":\"NFC\"},"
                 "{\"type\":\"Strip\",\"strip_left\":false,\"strip_right\":true}]}",
                 err));
    if (splits)
        ATTN_TRY(add_part(tokenizer, ATTN_ROLE_PRE_TOKENIZER,
                          "{\"type\":\"Punctuation\",\"behavior\":\"Isolated\"}", err));
    return add_part(tokenizer, ATTN_ROLE_PRE_TOKENIZER,
                    has_space ? "{\"type\":\"Metaspace\",\"replacement\":\"\\u2581\","
                                "\"prepend_scheme\":\"always\",\"split\":true}"
                              : "{\"type\":\"Metaspace\",\"replacement\":\"\\u2581\","
                                "\"prepend_scheme\":\"first\",\"split\":true}",
                    err);
}

static enum attn_status add_stages(struct side *side, struct attn_error *err)
{
    struct attn_tokenizer *tokenizer = side->tokenizer;
    struct attn_pipeline *pipeline = &tokenizer->pipeline;

    ATTN_TRY(attn_pipeline_add(pipeline, &attn_change_invalid, NULL, err));
    ATTN_TRY(attn_added_add_stage(pipeline, &tokenizer->added, false, 0, err));
    if (is_by_words(side)) {
        ATTN_TRY(add_word_stages(side, err));
        return attn_pipeline_add(pipeline, &attn_unigram_stage, &tokenizer->unigram, err);
    }
    if (side->vocabulary)
        ATTN_TRY(attn_pipeline_add(pipeline, &language_stage, tokenizer, err));
    ATTN_TRY(attn_charsmap_add(pipeline, &side->rule, (const char *)side->charsmap.bytes,
                               (size_t)side->charsmap.value, side->file.path, err));
    return attn_pipeline_add(pipeline, &attn_unigram_stage, &tokenizer->unigram, err);
}

/* Adds the decoding steps. Marian joins the runs between special tokens. */
static enum attn_status add_decoder(struct side *side, struct attn_error *err)
{
    static const char special[] = "<unk>\0</s>\0<pad>"; /* all published tokenizers use these */
    struct attn_decode_steps *decoder = &side->tokenizer->decoder;
    const struct attn_decode_step bytes = {.run = attn_decode_byte_fallback};
    const struct attn_decode_step replace = {
        .run = attn_decode_replace, .n_a = sizeof space - 1, .n_b = 1, .start = !side->vocabulary};
    const struct attn_decode_step runs = {.run = attn_decode_runs,
                                          .n_a = sizeof special,
                                          .start = side->rule.drops_spaces ? SIZE_MAX
                                                                           : side->rule.has_prefix};

    if (is_by_words(side))
        return add_part(side->tokenizer, ATTN_ROLE_DECODER,
                        "{\"type\":\"Metaspace\",\"replacement\":\"\\u2581\","
                        "\"prepend_scheme\":\"always\",\"split\":true}",
                        err);
    ATTN_TRY(attn_decode_add(decoder, replace, space, " ", err));
    if (side->tokenizer->unigram.has_byte_fallback)
        ATTN_TRY(attn_decode_add(decoder, bytes, NULL, NULL, err));
    return side->vocabulary ? attn_decode_add(decoder, runs, special, NULL, err) : ATTN_OK;
}

/* Refuses a token with a role that is none of the first N: its class would keep the usual one. */
static enum attn_status check_roles(const struct side *side, const struct attn_token_role *roles,
                                    size_t n, struct attn_error *err)
{
    for (size_t i = 0; i < ATTN_CLASS_N_ROLE; i++)
        if (roles[i].id >= 0 && (size_t)roles[i].id >= n)
            return attn_error_set(err, ATTN_UNSUPPORTED, "'%s' has no piece that is its '%s'",
                                  attn_quote_string(side->file.path).text, roles[i].key);
    return ATTN_OK;
}

/* Checks the tokens of XLM-R: transformers numbers the first ones by their roles, so that another
 * `bos_token` leaves no id to `<s>`, and another of the rest would move ids. */
static enum attn_status check_first(const struct side *side, const struct attn_token_role *roles,
                                    struct attn_error *err)
{
    static const int32_t ids[] = {[EOS_ROLE] = 2, [UNK_ROLE] = 3, [PAD_ROLE] = 1};
    static const char bos[] = "<s>";

    if (side->row->n_skip < 3)
        return ATTN_OK;
    for (int i = EOS_ROLE; i <= PAD_ROLE; i++)
        if (ids[i] > 0 && roles[i].id != ids[i])
            return attn_error_set(err, ATTN_UNSUPPORTED,
                                  "another '%s' than '%s' changes the ids of '%s', which is not "
                                  "supported",
                                  roles[i].key, side->row->tokens[i],
                                  attn_quote_string(side->file.path).text);
    return roles[BOS_ROLE].id == 0
               ? ATTN_OK
               : attn_added_append(&side->tokenizer->absent, (struct attn_added_token){0}, bos,
                                   sizeof bos - 1, err);
}

static enum attn_status read_side(struct side *side, struct attn_error *err)
{
    struct attn_token_role roles[ATTN_CLASS_N_ROLE];
    struct attn_tokenizer *tokenizer = side->tokenizer;
    struct attn_unigram_model *unigram = &tokenizer->unigram;
    bool has_space = true;
    size_t n_read;

    tokenizer->kind = ATTN_TOKENIZER_UNIGRAM;
    tokenizer->skips_unknown_ids = true;
    ATTN_TRY(read_model(side, err));
    if (side->row->front)
        ATTN_TRY(attn_class_get_bool(side->found, "add_prefix_space", &has_space, err));
    if (!has_space) /* transformers 5 then drops every space */
        return ATTN_JSON_REFUSE(side->config, err, ATTN_UNSUPPORTED, "add_prefix_space",
                                "is false, which is not read for this class");
    ATTN_TRY(read_ids(side, err));
    n_read = tokenizer->vocabulary.n;
    attn_class_get_roles(side->row, roles);
    ATTN_TRY(attn_tokenizer_read_added(tokenizer, side->source, side->config, false, roles, err));
    if (side->row->front)
        ATTN_TRY(check_roles(side, roles, n_read, err));
    if (side->row->front)
        ATTN_TRY(check_first(side, roles, err));
    if (!side->vocabulary && !is_by_words(side))
        ATTN_TRY(add_extras(side, n_read, err));
    for (size_t i = 0; i < tokenizer->added.n; i++) /* all are searched in the original text */
        tokenizer->added.tokens[i].is_normalized = false;
    ATTN_TRY(attn_tokenizer_mark(tokenizer, err));
    unigram->ids_unk = roles[UNK_ROLE].id;
    attn_unigram_model_finish(unigram);
    if (!is_by_words(side))
        unigram->unk_score = (double)(side->least - 10);
    ATTN_TRY(add_stages(side, err));
    ATTN_TRY(attn_class_add_ends(side->found, side->row, roles, tokenizer, err));
    ATTN_TRY(add_decoder(side, err));
    return attn_decoded_prepare(&tokenizer->decoded, tokenizer, err);
}

/* --- BPE -------------------------------------------------------------------------------------- */

/* Adds control pieces, which are special, and user-defined ones to the tokens that are found in
 * texts, and marks what no merge makes. */
static enum attn_status add_found(const struct side *side, struct attn_error *err)
{
    struct attn_tokenizer *tokenizer = side->tokenizer;
    const struct attn_vocabulary *vocabulary = &tokenizer->vocabulary;
    struct attn_added *added = &tokenizer->added;
    size_t size;

    for (size_t i = 0; i < added->n; i++) /* also those that the vocabulary has */
        tokenizer->is_foreign[added->tokens[i].id] = true;
    for (size_t i = 0; i < tokenizer->unigram.n; i++) {
        const char *key = attn_vocabulary_key(vocabulary, (int32_t)i, &size);
        const bool is_control = side->types[i] == PIECE_CONTROL;
        const struct attn_added_token token = {
            .id = (int32_t)i, .is_special = is_control, .is_normalized = !is_control};

        if (tokenizer->is_foreign[i] || !(is_control || side->types[i] == PIECE_USER))
            continue;
        tokenizer->is_foreign[i] = true;
        ATTN_TRY(attn_added_append(added, token, key, size, err));
    }
    tokenizer->is_foreign[tokenizer->unigram.unk_id] = false;
    return attn_tokenizer_mark(tokenizer, err);
}

/* Adds what transformers 5 does if `legacy` is false, instead of SentencePiece's normalizer: spaces
 * become U+2581, and one is inserted at the beginning of the text, unless there is one. A text
 * that follows a special token gets none. */
static enum attn_status add_modern_spaces(struct side *side, struct attn_error *err)
{
    struct attn_pipeline *pipeline = &side->tokenizer->pipeline;

    ATTN_TRY(attn_change_add_replace(pipeline, " ", space, err));
    return side->rule.has_prefix
               ? attn_change_add_prefix(pipeline, space, ATTN_PREFIX_AT_START_OF_TEXT, err)
               : ATTN_OK;
}

/* Reads how tokenizer_config.json treats the space in front of a text. */
static enum attn_status read_prefix(struct side *side, struct attn_error *err)
{
    bool is_legacy = true;

    if (!side->config || side->row->traits & ATTN_CLASS_PIECE_ROLES)
        return ATTN_OK;
    ATTN_TRY(
        attn_json_get_bool(side->config, attn_json_root(side->config), "legacy", &is_legacy, err));
    side->is_modern = !is_legacy;
    return attn_json_get_bool(side->config, attn_json_root(side->config), "add_prefix_space",
                              &side->rule.has_prefix, err);
}

static enum attn_status add_bpe_stages(struct side *side, struct attn_error *err)
{
    static const char one_space[] = " ";
    struct attn_tokenizer *tokenizer = side->tokenizer;
    struct attn_pipeline *pipeline = &tokenizer->pipeline;
    struct attn_decode_steps *decoder = &tokenizer->decoder;
    const struct attn_decode_step replace = {
        .run = attn_decode_replace, .n_a = sizeof space - 1, .n_b = 1};
    const struct attn_decode_step strip = {.run = attn_decode_strip, .n_a = 1, .start = 1};

    ATTN_TRY(attn_pipeline_add(pipeline, &attn_change_invalid, NULL, err));
    ATTN_TRY(attn_added_add_stage(pipeline, &tokenizer->added, false, 0, err));
    ATTN_TRY(side->is_modern
                 ? add_modern_spaces(side, err)
                 : attn_charsmap_add(pipeline, &side->rule, (const char *)side->charsmap.bytes,
                                     (size_t)side->charsmap.value, side->file.path, err));
    ATTN_TRY(attn_added_add_stage(pipeline, &tokenizer->added, true, 0, err));
    ATTN_TRY(attn_pipeline_add(pipeline, &attn_bpe_stage, &tokenizer->bpe, err));
    ATTN_TRY(attn_decode_add(decoder, replace, space, one_space, err));
    ATTN_TRY(attn_decode_add(decoder, (struct attn_decode_step){.run = attn_decode_byte_fallback},
                             NULL, NULL, err));
    ATTN_TRY(attn_decode_add(decoder, (struct attn_decode_step){.run = attn_decode_join}, NULL,
                             NULL, err));
    return side->rule.has_prefix ? attn_decode_add(decoder, strip, one_space, NULL, err) : ATTN_OK;
}

static enum attn_status read_bpe(struct side *side, struct attn_error *err)
{
    struct attn_tokenizer *tokenizer = side->tokenizer;
    struct attn_bpe_model *bpe = &tokenizer->bpe;
    struct attn_token_role roles[ATTN_CLASS_N_ROLE];
    const char *key;

    tokenizer->kind = ATTN_TOKENIZER_BPE;
    tokenizer->skips_unknown_ids = true;
    ATTN_TRY(read_model(side, err));
    ATTN_TRY(read_ids(side, err));
    attn_class_get_roles(side->row, roles);
    ATTN_TRY(attn_tokenizer_read_added(tokenizer, side->source, side->config, false, roles, err));
    for (size_t i = 0; i < tokenizer->added.n; i++) /* all are searched in the original text */
        tokenizer->added.tokens[i].is_normalized = false;
    if (side->row->traits & ATTN_CLASS_PIECE_ROLES)
        ATTN_TRY(check_roles(side, roles, tokenizer->unigram.n, err));
    ATTN_TRY(add_found(side, err));
    bpe->vocabulary = &tokenizer->vocabulary;
    bpe->has_byte_fallback = side->settings[BYTES];
    bpe->spells_after = bpe->fuses_unk = true;
    key = attn_vocabulary_key(&tokenizer->vocabulary, tokenizer->unigram.unk_id, &bpe->n_unk);
    ATTN_TRY(ATTN_NEW(bpe->unk, attn_strndup(key, bpe->n_unk, err)));
    ATTN_TRY(read_prefix(side, err));
    ATTN_TRY(add_bpe_stages(side, err));
    ATTN_TRY(attn_class_add_ends(side->found, side->row, roles, tokenizer, err));
    return attn_decoded_prepare(&tokenizer->decoded, tokenizer, err);
}

enum attn_status attn_tokenizer_spm_read(struct attn_tokenizer *tokenizer,
                                         const struct attn_source *source,
                                         const struct attn_class *found,
                                         const struct attn_class_row *row, struct attn_error *err)
{
    const bool is_bpe = row->form == ATTN_CLASS_MERGES, is_marian = row->form == ATTN_CLASS_MARIAN;
    bool is_separate = false;

    ATTN_TRY(attn_class_get_bool(found, "separate_vocabs", &is_separate, err));
    if (is_marian)
        ATTN_TRY(ATTN_ALLOC(tokenizer->target, 1, err));
    for (int i = 0; i <= is_marian; i++) {
        struct side side = {
            .tokenizer = i == 0 ? tokenizer : tokenizer->target,
            .source = source,
            .found = found,
            .row = row,
            .config = found->config,
            .name = is_bpe       ? "tokenizer.model"
                    : !is_marian ? row->file
                    : i == 0     ? "source.spm"
                                 : "target.spm",
            .is_bpe = is_bpe,
            .vocabulary = !is_marian              ? NULL
                          : i == 1 && is_separate ? "target_vocab.json"
                                                  : "vocab.json",
            .settings = {[TYPE] = 1, [DUMMY_PREFIX] = 1, [EXTRA_SPACES] = 1, [ESCAPES] = 1},
            .least = INFINITY,
            .most = FLT_MIN}; /* as in SentencePiece; scores are mostly negative */
        enum attn_status status;

        (void)add_words(NULL, row->front, &side.offset, NULL);
        side.offset -= row->n_skip;
        status = is_bpe ? read_bpe(&side, err) : read_side(&side, err);

        attn_free(side.types);
        attn_file_release(&side.file);
        attn_file_release(&side.ids);
        ATTN_TRY(status);
    }
    return ATTN_OK;
}

bool attn_tokenizer_spm_is_marian(const struct attn_source *source)
{
    return attn_source_has_part(source, "source.spm") || attn_source_has_part(source, "target.spm");
}
