/*
 * tokenizer_small.c - the vocabularies of small training programs: the letters in nanoGPT's
 * meta.pkl, and llama2.c's tokenizer.bin. Each becomes the file of a usual tokenizer: vocab.json,
 * or a tokenizer.model of SentencePiece.
 *
 * meta.pkl: a pickle of {"stoi": {letter: id}, ...}. tokenizer.bin: the length of the longest
 * token, int32; then for each token a score, float32, its length, int32, and its bytes. Tokens 0 to
 * 2 are unknown, begin and end. Those written <0x0A> are bytes. Spaces stand for U+2581.
 */
#include "base/escape.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "foreign/checkpoint.h"
#include "foreign/pickle.h"
#include "formats/json.h"

#include <stdint.h>
#include <string.h>

/* --- meta.pkl --------------------------------------------------------------------------------- */

static enum attn_status write_letters(const struct attn_pickle *pickle, const char *path,
                                      struct attn_buffer *vocab, struct attn_error *err)
{
    const attn_pickle_value stoi = attn_pickle_find(pickle, attn_pickle_root(pickle), "stoi");
    uint32_t cell = attn_pickle_first(pickle, stoi);
    attn_pickle_value key, value;
    int64_t id;

    if (attn_pickle_type(pickle, stoi) != ATTN_PICKLE_DICT || cell == 0)
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' has no letters, expected a dictionary 'stoi' from letters to "
                              "ids",
                              attn_quote_string(path).text);
    while (attn_pickle_next(pickle, &cell, &key) && attn_pickle_next(pickle, &cell, &value)) {
        size_t size = 0;
        const char *text = attn_pickle_text(pickle, key, &size);

        if (!text || !attn_pickle_int(pickle, value, &id))
            return attn_error_set(err, ATTN_FORMAT,
                                  "'stoi' in '%s' has an item that is no letter with an id",
                                  attn_quote_string(path).text);
        attn_buffer_append_char(vocab, vocab->size > 0 ? ',' : '{');
        attn_json_append_string(vocab, text, size);
        attn_buffer_append_format(vocab, ":%lld", (long long)id);
    }
    attn_buffer_append_char(vocab, '}');
    return attn_buffer_check(vocab, err);
}

static enum attn_status convert_pickle(const struct attn_file *file, struct attn_buffer *vocab,
                                       struct attn_error *err)
{
    struct attn_pickle *pickle;
    enum attn_status status;

    ATTN_TRY(attn_pickle_read(file, 0, file->size, &pickle, err));
    status = write_letters(pickle, file->path, vocab, err);
    attn_pickle_free(pickle);
    return status;
}

/* --- tokenizer.bin ---------------------------------------------------------------------------- */

static void append_varint(struct attn_buffer *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        attn_buffer_append_char(out, (char)(value | 0x80));
    attn_buffer_append_char(out, (char)value);
}

/* Whether TEXT [size] is the name of a byte: "<0x0A>". */
static bool is_byte(const char *text, size_t size)
{
    static const char digits[] = "0123456789ABCDEFabcdef";

    return size == 6 && memcmp(text, "<0x", 3) == 0 && text[5] == '>' &&
           memchr(digits, text[3], sizeof digits - 1) && memchr(digits, text[4], sizeof digits - 1);
}

/* Appends token number ID with TEXT [size] as a piece of SentencePiece to MODEL. PIECE is room. */
static void append_piece(struct attn_buffer *model, struct attn_buffer *piece, size_t id,
                         const char *text, size_t size, float score)
{
    static const char space[] = "\xe2\x96\x81";
    static const char *const roles[] = {"<unk>", "<s>", "</s>"};
    const uint64_t type = id == 0 ? 2 : id < 3 ? 3 : is_byte(text, size) ? 6 : 1;
    size_t n_space = 0;

    if (id < 3)
        text = roles[id], size = strlen(text);
    for (size_t i = 0; i < size; i++)
        n_space += text[i] == ' ';
    attn_buffer_reset(piece);
    attn_buffer_append_char(piece, 0x0a); /* 1: the text */
    append_varint(piece, size + n_space * (strlen(space) - 1));
    for (size_t i = 0; i < size; i++)
        attn_buffer_append(piece, text[i] == ' ' ? space : text + i,
                           text[i] == ' ' ? strlen(space) : 1);
    attn_buffer_append_char(piece, 0x15); /* 2: the score, 32 bits */
    attn_buffer_append(piece, &score, sizeof score);
    attn_buffer_append_char(piece, 0x18); /* 3: the type */
    append_varint(piece, type);
    attn_buffer_append_char(model, 0x0a); /* 1: a piece */
    append_varint(model, piece->size);
    attn_buffer_append(model, piece->data, piece->size);
}

static enum attn_status convert_scores(const struct attn_file *file, struct attn_buffer *model,
                                       struct attn_error *err)
{
    /* 2: {3: BPE, 35: byte_fallback}; 3: {3: add_dummy_prefix, 4: remove_extra_whitespaces = 0} */
    char settings[] = "\x12\x05\x18\x02\x98\x02\x00\x1a\x04\x18\x01\x20";
    struct attn_buffer piece = {0};
    size_t at = sizeof(int32_t), n = 0;
    bool is_whole = file->size > at;

    while (is_whole && at < file->size) {
        float score;
        int32_t size;

        is_whole = file->size - at >= sizeof score + sizeof size;
        if (!is_whole)
            break;
        memcpy(&score, file->data + at, sizeof score);
        memcpy(&size, file->data + at + sizeof score, sizeof size);
        at += sizeof score + sizeof size;
        is_whole = size >= 0 && (size_t)size <= file->size - at;
        if (is_whole && is_byte((const char *)file->data + at, (size_t)size))
            settings[6] = 1; /* byte_fallback */
        if (is_whole)
            append_piece(model, &piece, n++, (const char *)file->data + at, (size_t)size, score);
        at += is_whole ? (size_t)size : 0;
    }
    attn_buffer_append(model, settings, sizeof settings); /* with the 0 at its end */
    attn_buffer_release(&piece);
    if (is_whole && n > 2)
        return attn_buffer_check(model, err);
    return attn_error_set(err, ATTN_FORMAT,
                          "'%s' is no tokenizer of llama2.c: it ends within token %zu",
                          attn_quote_string(file->path).text, n);
}

/* --- Both ------------------------------------------------------------------------------------- */

/* The files that are read here, and those that they become. */
static const struct {
    const char *part, *becomes;
    enum attn_status (*convert)(const struct attn_file *file, struct attn_buffer *made,
                                struct attn_error *err);
} forms[] = {{"meta.pkl", "vocab.json", convert_pickle},
             {"tokenizer.bin", "tokenizer.model", convert_scores}};

/* Returns the form that the caller named; else that which lies beside a checkpoint, unless another
 * vocabulary is named; else -1. */
static int find_form(const struct attn_source *source)
{
    static const char *const others[] = {"tokenizer.json", "vocab.json", "vocab.txt"};
    const int n = sizeof forms / sizeof *forms;
    bool is_beside = attn_opener_checkpoint.is_model(source);

    for (int i = 0; i < n; i++)
        if (attn_source_override(source, forms[i].part))
            return i;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        is_beside = is_beside && !attn_source_override(source, others[i]);
    for (int i = 0; i < n && is_beside; i++)
        if (attn_source_has_part(source, forms[i].part))
            return i;
    return -1;
}

static bool is_vocabulary(const struct attn_source *source)
{
    return find_form(source) >= 0;
}

static enum attn_status read_parts(const struct attn_source *source, enum attn_load load,
                                   struct attn_opened *opened, struct attn_error *err)
{
    static const char config[] = "{\"model_type\":\"attn\",\"tokenizer\":{\"type\":\"char\"}}";
    const int i = find_form(source);

    (void)load;
    ATTN_TRY(attn_file_read_part(source, forms[i].part, &opened->file, err));
    ATTN_TRY(forms[i].convert(&opened->file, &opened->vocab, err));
    attn_opened_add(opened, forms[i].becomes, opened->vocab.data, opened->vocab.size);
    attn_opened_add(opened, "config.json", i == 0 ? config : "{}", i == 0 ? strlen(config) : 2);
    opened->parts.name = opened->file.path;
    return ATTN_OK;
}

const struct attn_opener attn_opener_small_vocabulary = {.is_vocabulary = is_vocabulary,
                                                         .read = read_parts};
