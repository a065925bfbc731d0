/*
 * tokenizer_small.c - the vocabularies of small training programs: the letters in nanoGPT's
 * meta.pkl, nanochat's tokenizer.pkl, and llama2.c's tokenizer.bin; and the ranks of tiktoken's
 * list and of Mistral's tekken.json. Each becomes the file of a usual tokenizer: vocab.json,
 * tokenizer.json, or a tokenizer.model of SentencePiece.
 *
 * meta.pkl: a pickle of {"stoi": {letter: id}, ...}; under each name a pickle may be that, or
 * nanochat's (tokenizer_ranks.h). tokenizer.bin: the length of the longest
 * token, int32; then for each token a score, float32, its length, int32, and its bytes. Tokens 0 to
 * 2 are unknown, begin and end. Those written <0x0A> are bytes. Spaces stand for U+2581.
 */
#include "base/os/os.h"
#include "base/text/escape.h"
#include "base/text/path.h"
#include "foreign/checkpoint.h"
#include "foreign/foreign.h"
#include "foreign/pickle.h"
#include "foreign/tokenizer_ranks.h"
#include "formats/bundle.h"

#include <stdint.h>
#include <stdio.h>
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

static enum attn_status convert_pickle(const struct attn_file *file,
                                       const struct attn_source *source, struct attn_buffer *made,
                                       const char **becomes, struct attn_error *err)
{
    struct attn_pickle *pickle;
    enum attn_status status;

    (void)source;
    ATTN_TRY(attn_pickle_read(file, 0, file->size, &pickle, err));
    *becomes = attn_ranks_is_pickle(pickle) ? "tokenizer.json" : "vocab.json";
    status = attn_ranks_is_pickle(pickle) ? attn_ranks_write(pickle, file->path, made, err)
                                          : write_letters(pickle, file->path, made, err);
    attn_pickle_free(pickle);
    return status;
}

/* tekken.json, or tiktoken's list: the pickle of an Encoding. */
static enum attn_status convert_list(const struct attn_file *file, const struct attn_source *source,
                                     struct attn_buffer *made, const char **becomes,
                                     struct attn_error *err)
{
    struct attn_buffer pickle = {0};
    struct attn_file as_file = {.storage = ATTN_FILE_BORROWED, .path = file->path};
    enum attn_status status = attn_ranks_from_text(file, source, &pickle, err);

    as_file.data = (unsigned char *)pickle.data;
    as_file.size = pickle.size;
    ATTN_THEN(status, convert_pickle(&as_file, source, made, becomes, err));
    attn_buffer_release(&pickle);
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

static enum attn_status convert_scores(const struct attn_file *file,
                                       const struct attn_source *source, struct attn_buffer *model,
                                       const char **becomes, struct attn_error *err)
{
    /* 2: {3: BPE, 35: byte_fallback}; 3: {3: add_dummy_prefix, 4: remove_extra_whitespaces = 0} */
    char settings[] = "\x12\x05\x18\x02\x98\x02\x00\x1a\x04\x18\x01\x20";
    struct attn_buffer piece = {0};
    size_t at = sizeof(int32_t), n = 0;
    bool is_whole = file->size > at;

    (void)source;
    *becomes = "tokenizer.model";
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

/* The files that are read here: as what the caller names, or beside a checkpoint. */
static const struct form {
    const char *part;
    enum attn_status (*convert)(const struct attn_file *file, const struct attn_source *source,
                                struct attn_buffer *made, const char **becomes,
                                struct attn_error *err);
    enum {
        BESIDE,   /* in the folder that the caller names */
        NANOCHAT, /* in that of a model_NNNNNN.pt, or where nanochat has it */
        FOLDER    /* in a folder without another vocabulary; the only one whose name ends so */
    } place;
} forms[] = {{"meta.pkl", convert_pickle, BESIDE},
             {"tokenizer.bin", convert_scores, BESIDE},
             {"tokenizer.pkl", convert_pickle, NANOCHAT},
             {"../../tokenizer/tokenizer.pkl", convert_pickle, NANOCHAT},
             {"tekken.json", convert_list, FOLDER},
             {".tiktoken", convert_list, FOLDER}};

/* Whether FORM lies in the place where it is looked for; PATH is where, if it is not the part. */
static bool is_there(const struct attn_source *source, const struct form *form,
                     char path[ATTN_PATH_SIZE])
{
    const char *checkpoint = attn_source_override(source, ATTN_CHECKPOINT_PART);
    const char *slash = checkpoint ? attn_os_last_slash(checkpoint) : NULL;
    const char *name = slash ? slash + 1 : checkpoint;
    char found[ATTN_OPENER_NAME_SIZE];

    if (form->place == FOLDER && *form->part == '.')
        return attn_foreign_find_end(source, form->part, form->part, found) &&
               attn_path_join(source->directory, found, path);
    if (form->place == FOLDER)
        return attn_source_has_part(source, form->part);
    if (!attn_opener_checkpoint.is_model(source))
        return false;
    if (form->place == BESIDE)
        return attn_source_has_part(source, form->part);
    return name && strncmp(name, "model_", strlen("model_")) == 0 &&
           snprintf(path, ATTN_PATH_SIZE, "%.*s%s", (int)(name - checkpoint), checkpoint,
                    form->part) < ATTN_PATH_SIZE &&
           attn_os_kind(path) == ATTN_OS_FILE;
}

/* Returns the form that the caller named; else that which is there, unless another vocabulary is
 * named, or in its folder; else NULL. PATH is empty, or that of the file. */
static const struct form *find_form(const struct attn_source *source, char path[ATTN_PATH_SIZE])
{
    static const char *const others[] = {"tokenizer.json", "vocab.json", "vocab.txt",
                                         "tokenizer.model"};
    const struct form *end = forms + sizeof forms / sizeof *forms;
    bool is_named = false, is_beside = attn_bundle_is_source(source);

    *path = '\0';
    for (const struct form *form = forms; form < end; form++)
        if (attn_source_override(source, form->part))
            return form;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        is_named = is_named || attn_source_override(source, others[i]);
        is_beside = is_beside || attn_source_has_part(source, others[i]);
    }
    for (const struct form *form = forms; form < end && !is_named; form++)
        if ((form->place != FOLDER || !is_beside) && is_there(source, form, path))
            return form;
    *path = '\0';
    return NULL;
}

static bool is_vocabulary(const struct attn_source *source)
{
    char path[ATTN_PATH_SIZE];

    return find_form(source, path) != NULL;
}

static enum attn_status read_parts(const struct attn_source *source, enum attn_load load,
                                   struct attn_opened *opened, struct attn_error *err)
{
    static const char config[] = "{\"model_type\":\"attn\",\"tokenizer\":{\"type\":\"char\"}}";
    char path[ATTN_PATH_SIZE];
    const struct form *form = find_form(source, path);
    const struct attn_override found = {form->part, path};
    const struct attn_source beside = {.overrides = &found, .n_override = 1};
    const char *becomes = "";
    bool is_letters;

    (void)load;
    ATTN_TRY(attn_file_read_part(*path ? &beside : source, form->part, &opened->file, err));
    ATTN_TRY(form->convert(&opened->file, source, &opened->vocab, &becomes, err));
    attn_opened_add(opened, becomes, opened->vocab.data, opened->vocab.size);
    is_letters = strcmp(becomes, "vocab.json") == 0;
    attn_opened_add(opened, "config.json", is_letters ? config : "{}",
                    is_letters ? strlen(config) : 2);
    opened->parts.name = opened->file.path;
    return ATTN_OK;
}

const struct attn_opener attn_opener_small_vocabulary = {.is_vocabulary = is_vocabulary,
                                                         .read = read_parts};
