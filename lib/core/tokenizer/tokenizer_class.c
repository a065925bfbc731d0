#include "tokenizer/tokenizer_class.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/fixed_text.h"
#include "tokenizer/tokenizer_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char config_name[] = "tokenizer_config.json", model_name[] = "config.json";

/* --- The classes ------------------------------------------------------------------------------ */

/* Byte-level BPE as GPT-2's, which is also that of a vocabulary without a class. */
#define END_OF_TEXT "<|endoftext|>"
static const struct attn_class_row of_bytes[] = {
    {"GPT2 CodeGen", ATTN_CLASS_BYTES, .tokens = {END_OF_TEXT, END_OF_TEXT, END_OF_TEXT},
     .single = "bos? A eos~", .pair = "A B:1", .traits = ATTN_CLASS_OWN_SPACE,
     .types = "gpt2 gpt_neo gptj opt phi codegen blip-2 instructblip instructblipvideo dbrx emu3 "
              "exaone4 flex_olmo gpt_bigcode granite granitemoe granitemoehybrid granitemoeshared "
              "jais2 minimax olmo3 starcoder2"},
};

/* --- Finding a class -------------------------------------------------------------------------- */

static const struct attn_class_row *find_row(const char *word, size_t size, bool is_type)
{
    const size_t n_own = sizeof of_bytes / sizeof *of_bytes;
    const size_t n = n_own + (attn_vocabularies ? attn_vocabularies->n_class : 0);

    for (size_t i = 0; i < n; i++) {
        const struct attn_class_row *row =
            i < n_own ? &of_bytes[i] : &attn_vocabularies->classes[i - n_own];
        const char *words = is_type ? row->types : row->names;

        if (words && attn_text_has_word(words, word, size))
            return row;
    }
    return NULL;
}

const struct attn_class_row *attn_class_row(const char *name)
{
    return name ? find_row(name, strlen(name), false) : of_bytes;
}

/* Returns the size of the class NAME without "TokenizerFast" or "Tokenizer". */
static size_t size_of_name(const char *name)
{
    static const char *const ends[] = {"Fast", "Tokenizer"};
    size_t size = strlen(name);

    for (size_t i = 0; i < 2; i++) {
        const size_t n = strlen(ends[i]);

        if (size > n && memcmp(name + size - n, ends[i], n) == 0)
            size -= n;
    }
    return size;
}

/* Takes the class from KEY of JSON, which may be NULL. */
static enum attn_status take_name(struct attn_class *found, const struct attn_json *json,
                                  const char *key, struct attn_error *err)
{
    if (!json || found->name)
        return ATTN_OK;
    ATTN_TRY(attn_json_get_string(json, attn_json_root(json), key, &found->name, err));
    found->key = key;
    found->file = json;
    return ATTN_OK;
}

static enum attn_status read_part(const struct attn_source *source, const char *name,
                                  const char *const *names, struct attn_json **json,
                                  struct attn_error *err)
{
    return attn_source_has_part(source, name) ? attn_json_read_part(source, name, names, json, err)
                                              : ATTN_OK;
}

static const char type_key[] = "model_type";

enum attn_status attn_class_find(struct attn_class *found, const struct attn_source *source,
                                 struct attn_error *err)
{
    static const char *const own[] = {"tokenizer", NULL};
    static const char *const kept[] = {"bos_token",
                                       "eos_token",
                                       "unk_token",
                                       "sep_token",
                                       "pad_token",
                                       "cls_token",
                                       "mask_token",
                                       "question_token",
                                       "additional_special_tokens",
                                       "extra_special_tokens",
                                       "added_tokens_decoder",
                                       "auto_map",
                                       "chat_template",
                                       NULL};
    static const char class_key[] = "tokenizer_class";
    const struct attn_node *settings;

    ATTN_TRY(read_part(source, config_name, kept, &found->config, err));
    ATTN_TRY(read_part(source, model_name, own, &found->model, err));
    ATTN_TRY(take_name(found, found->config, class_key, err));
    ATTN_TRY(take_name(found, found->model, class_key, err));
    found->is_class = found->name;
    if (found->name) {
        found->row = find_row(found->name, size_of_name(found->name), false);
        return ATTN_OK;
    }
    ATTN_TRY(take_name(found, found->model, type_key, err));
    if (!found->name)
        return ATTN_OK;
    settings = attn_node_find(attn_json_root(found->model), own[0]);
    found->row = find_row(found->name, strlen(found->name), true);
    /* The vocabularies of this project's own models are of several kinds. */
    if (attn_text_has_word("attn transformer_lens hooked_transformer", found->name,
                           strlen(found->name)) ||
        (!found->config && strcmp(found->name, "gpt2") == 0) ||
        (settings && !attn_node_is_null(settings) &&
         !(found->row && found->row->form == ATTN_CLASS_BYTES))) {
        found->row = NULL;
        found->name = NULL;
    }
    return ATTN_OK;
}

enum attn_status attn_class_get_lowers(const struct attn_class *found, bool *lowers,
                                       struct attn_error *err)
{
    const struct attn_class_row *row = found->row;
    const char *type = NULL;

    if (!row && found->model)
        ATTN_TRY(
            attn_json_get_string(found->model, attn_json_root(found->model), type_key, &type, err));
    if (!row && type)
        row = find_row(type, strlen(type), true);
    *lowers = row ? row->form == ATTN_CLASS_WORDS : !type;
    return ATTN_OK;
}

void attn_class_release(struct attn_class *found)
{
    attn_json_free(found->config);
    attn_json_free(found->model);
    *found = (struct attn_class){0};
}

bool attn_class_has_code(const struct attn_class *found)
{
    const struct attn_node *map =
        found->config ? attn_node_find(attn_json_root(found->config), "auto_map") : NULL;

    return map && (attn_node_is_array(map) || attn_node_find(map, "AutoTokenizer"));
}

enum attn_status attn_class_check(const struct attn_class *found, const struct attn_source *source,
                                  struct attn_error *err)
{
    const struct attn_quote where =
        attn_quote_string(source->directory ? source->directory : "DIR");
    const bool is_code = attn_class_has_code(found);
    const char *file = found->row && !is_code ? found->row->file : NULL;

    if (!is_code && (!found->name || (found->row && found->row->form < ATTN_CLASS_REFUSED)))
        return ATTN_OK;
    if (is_code)
        ATTN_JSON_REFUSE(found->config, err, ATTN_UNSUPPORTED, "auto_map",
                         "names code of its own, which is not run");
    else
        ATTN_JSON_REFUSE(found->file, err, ATTN_UNSUPPORTED, found->key, "is '%s', %s no rule here",
                         attn_quote_string(found->name).text,
                         found->is_class ? "which has" : "whose tokenizer has");
    if (found->row && found->row->form == ATTN_CLASS_SLOW)
        attn_error_hint(err,
                        "`ids` of a run takes the output of python3 -c \"from transformers import "
                        "AutoTokenizer "
                        "as A; print(*A.from_pretrained('%s')('TEXT').input_ids)\"",
                        where.text);
    else if (file && !attn_source_has_part(source, file))
        /* Of other files transformers makes a tokenizer that knows no word. */
        attn_error_hint(err,
                        "add the file of this class, '%s', or tokenizer.json of the same "
                        "repository; or give `ids` of a run",
                        file);
    else if (!file)
        attn_error_hint(err, "add tokenizer.json of the same repository; or give `ids` of a run");
    else
        attn_error_hint(err,
                        "python3 -c \"from transformers import AutoTokenizer as A; t = "
                        "A.from_pretrained('%s'); t.save_pretrained('%s')\" writes tokenizer.json; "
                        "or give `ids` of a run",
                        where.text, where.text);
    return ATTN_UNSUPPORTED;
}

bool attn_class_is_made_anew(const struct attn_class *found)
{
    const struct attn_node *file =
        found->config ? attn_node_find(attn_json_root(found->config), "tokenizer_file") : NULL;

    return file && attn_node_is_null(file) && found->row && found->row->form == ATTN_CLASS_BYTES &&
           (found->row->traits & ATTN_CLASS_OWN_SPACE) != 0 && found->row->tokens[MASK_ROLE];
}

bool attn_class_has(const struct attn_class *found, const char *key)
{
    const struct attn_node *node =
        found->config ? attn_node_find(attn_json_root(found->config), key) : NULL;

    return node && !attn_node_is_null(node);
}

enum attn_status attn_tokenizer_add_note(struct attn_tokenizer *tokenizer, struct attn_error *err,
                                         const char *format, ...)
{
    struct attn_buffer text = {0};
    char note[512];
    va_list args;

    va_start(args, format);
    vsnprintf(note, sizeof note, format, args);
    va_end(args);
    attn_buffer_append_format(&text, "%s%s%s", tokenizer->note ? tokenizer->note : "",
                              tokenizer->note ? "; " : "", note);
    (void)attn_buffer_string(&text);
    ATTN_TRY(attn_buffer_check(&text, err));
    attn_free(tokenizer->note);
    tokenizer->note = text.data; /* takes over the buffer's memory */
    return ATTN_OK;
}

enum attn_status attn_class_get_bool(const struct attn_class *found, const char *key, bool *value,
                                     struct attn_error *err)
{
    if (!found->config)
        return ATTN_OK;
    return attn_json_get_bool(found->config, attn_json_root(found->config), key, value, err);
}

/* --- Languages of Whisper --------------------------------------------------------------------- */

/* The codes, in the order of their tokens, and their names in the same order. */
static const char codes[] = "en zh de es ru ko fr ja pt tr pl ca nl ar sv it id hi fi vi he uk el "
                            "ms cs ro da hu ta no th ur hr "
                            "bg lt la mi ml cy sk te fa lv bn sr az sl kn et mk br eu is hy ne mn "
                            "bs kk sq sw gl mr pa si km sn "
                            "yo so af oc ka be tg sd gu am yi lo uz fo ht ps tk nn mt sa lb my bo "
                            "tl mg as tt haw ln ha ba jw su "
                            "yue";
static const char names[] =
    "english,chinese,german,spanish,russian,korean,french,japanese,portuguese,turkish,polish,"
    "catalan,"
    "dutch,arabic,swedish,italian,indonesian,hindi,finnish,vietnamese,hebrew,ukrainian,greek,malay,"
    "czech,romanian,danish,hungarian,tamil,norwegian,thai,urdu,croatian,bulgarian,lithuanian,latin,"
    "maori,malayalam,welsh,slovak,telugu,persian,latvian,bengali,serbian,azerbaijani,slovenian,"
    "kannada,"
    "estonian,macedonian,breton,basque,icelandic,armenian,nepali,mongolian,bosnian,kazakh,albanian,"
    "swahili,galician,marathi,punjabi,sinhala,khmer,shona,yoruba,somali,afrikaans,occitan,georgian,"
    "belarusian,tajik,sindhi,gujarati,amharic,yiddish,lao,uzbek,faroese,haitian "
    "creole,pashto,turkmen,"
    "nynorsk,maltese,sanskrit,luxembourgish,myanmar,tibetan,tagalog,malagasy,assamese,tatar,"
    "hawaiian,"
    "lingala,hausa,bashkir,javanese,sundanese,cantonese";
/* Other names, each before its code. */
static const char aliases[] =
    "burmese,my,valencian,ca,flemish,nl,haitian,ht,letzeburgesch,lb,pushto,"
    "ps,panjabi,pa,moldavian,ro,moldovan,ro,sinhalese,si,castilian,es,"
    "mandarin,zh";

/* Returns the index of WORD [size], in any case, in LIST, which SEPARATOR separates; or -1. *next
 * is set to what follows it. */
static int32_t find_index(const char *list, const char *separator, const char *word, size_t size,
                          const char **next)
{
    int32_t index = 0;

    for (const char *at = list; *at; at += strspn(at, separator), index++) {
        const size_t n = strcspn(at, separator);
        size_t same = 0;

        while (n == size && same < n && (word[same] | 0x20) == at[same])
            same++;
        at += n;
        *next = at + strspn(at, separator);
        if (n == size && same == n)
            return index;
    }
    return -1;
}

/* --- Tokens around texts ---------------------------------------------------------------------- */

void attn_class_get_roles(const struct attn_class_row *row,
                          struct attn_token_role roles[ATTN_CLASS_N_ROLE])
{
    static const char *const keys[ATTN_CLASS_N_ROLE] = {"bos_token",  "eos_token",     "unk_token",
                                                        "sep_token",  "pad_token",     "cls_token",
                                                        "mask_token", "question_token"};
    const char *single = row->single ? row->single : "";

    for (size_t i = 0; i < ATTN_CLASS_N_ROLE; i++) {
        const size_t size = strcspn(keys[i], "_");
        char typed[16];

        memcpy(typed, keys[i], size);
        memcpy(typed + size, ":2", 3);
        roles[i] = (struct attn_token_role){.key = keys[i], .token = row->tokens[i], .id = -1};
        roles[i].is_needed = attn_text_has_word(single, keys[i], size) ||
                             attn_text_has_word(single, typed, size + 2) ||
                             (i == UNK_ROLE && row->form != ATTN_CLASS_BYTES);
        roles[i].is_wide = i == MASK_ROLE && (row->traits & ATTN_CLASS_WIDE_MASK);
    }
}

struct ends {
    const struct attn_class *found;
    const struct attn_token_role *roles;
    struct attn_tokenizer *tokenizer;
    const char *language; /* borrows; the default of `src_lang`, or NULL */
    bool has_optional;    /* a token is added because a key says so */
};

/* A word of a template: "bos!:1". */
struct word {
    const char *text; /* [size] */
    size_t size;
    uint8_t type;
    char mark; /* '?', '~', '!' or 0 */
};

static bool is_word(const struct word *word, const char *text)
{
    return strlen(text) == word->size && memcmp(word->text, text, word->size) == 0;
}

/* Gets the string KEY of tokenizer_config.json; NULL if it is missing or null. */
static enum attn_status get_string(const struct attn_class *found, const char *key,
                                   const char **value, struct attn_error *err)
{
    *value = NULL;
    return found->config
               ? attn_json_get_string(found->config, attn_json_root(found->config), key, value, err)
               : ATTN_OK;
}

static enum attn_status refuse_value(const struct attn_class *found, const char *key,
                                     const char *value, struct attn_error *err)
{
    return ATTN_JSON_REFUSE(found->config, err, ATTN_UNSUPPORTED, key,
                            "is '%s', which is not known", attn_quote_string(value).text);
}

/* Returns the token KEY of the vocabulary in *id. */
static enum attn_status find_token(const struct ends *ends, const char *key, size_t size,
                                   int32_t *id, struct attn_error *err)
{
    *id = attn_vocabulary_find(&ends->tokenizer->vocabulary, key, size);
    if (*id >= 0)
        return ATTN_OK;
    return attn_error_set(
        err, ATTN_FORMAT, "'%s' has no '%s', which its tokenizer adds to each text",
        attn_quote_string(ends->tokenizer->unread->path).text, attn_quote(key, size).text);
}

/* Finds the token of `src_lang`, which names it, or of Whisper's `language`. */
static enum attn_status find_language(const struct ends *ends, int32_t *id, struct attn_error *err)
{
    static const char first[] = "<|startoftranscript|>";
    const char *value, *next = NULL;
    int32_t index;

    ATTN_TRY(get_string(ends->found, ends->language ? "src_lang" : "language", &value, err));
    if (ends->language) {
        value = value ? value : ends->language;
        return find_token(ends, value, strlen(value), id, err);
    }
    if (!value)
        return ATTN_OK;
    index = find_index(aliases, ",", value, strlen(value), &next);
    if (index >= 0 && index % 2 == 0)
        index = find_index(codes, " ", next, strcspn(next, ","), &next);
    else
        index = find_index(codes, " ", value, strlen(value), &next);
    if (index < 0)
        index = find_index(names, ",", value, strlen(value), &next);
    if (index < 0)
        return refuse_value(ends->found, "language", value, err);
    ATTN_TRY(find_token(ends, first, sizeof first - 1, id, err));
    *id += 1 + index;
    if (attn_vocabulary_has(&ends->tokenizer->vocabulary, *id))
        return ATTN_OK;
    return attn_error_set(err, ATTN_FORMAT, "'%s' has no token of the language '%s', id %d",
                          attn_quote_string(ends->tokenizer->unread->path).text,
                          attn_quote_string(value).text, (int)*id);
}

/* Finds the token that a key of Whisper adds; *id stays -1 if it adds none. */
static enum attn_status find_of_key(const struct ends *ends, const struct word *word, int32_t *id,
                                    struct attn_error *err)
{
    static const char *const tasks[] = {"transcribe", "<|transcribe|>", "translate",
                                        "<|translate|>"};
    static const char no_times[] = "<|notimestamps|>";
    bool has_times = false;
    const char *task;

    if (is_word(word, "lang"))
        return find_language(ends, id, err);
    if (is_word(word, "times")) {
        ATTN_TRY(attn_class_get_bool(ends->found, "predict_timestamps", &has_times, err));
        return has_times ? ATTN_OK : find_token(ends, no_times, sizeof no_times - 1, id, err);
    }
    ATTN_TRY(get_string(ends->found, "task", &task, err));
    for (size_t i = 0; task && i < 4; i += 2)
        if (strcmp(task, tasks[i]) == 0)
            return find_token(ends, tasks[i + 1], strlen(tasks[i + 1]), id, err);
    return task ? refuse_value(ends->found, "task", task, err) : ATTN_OK;
}

/* Finds the token of ROLE; *id stays -1 if a key leaves it out. */
static enum attn_status find_of_role(struct ends *ends, const struct attn_token_role *role,
                                     char mark, int32_t *id, struct attn_error *err)
{
    const char *key = role->key[0] == 'b' ? "add_bos_token" : "add_eos_token";
    bool is_wanted = !mark || mark == '!';

    if (mark)
        ATTN_TRY(attn_class_get_bool(ends->found, key, &is_wanted, err));
    if (!is_wanted || (mark && role->id == -2))
        return ATTN_OK;
    if (mark == '~')
        ATTN_TRY(
            attn_tokenizer_add_note(ends->tokenizer, err,
                                    "'%s' is followed, as by transformers 5; version 4 ignores "
                                    "it for %s",
                                    key, attn_quote_string(ends->found->name).text));
    ends->has_optional = ends->has_optional || mark;
    *id = role->id;
    if (*id >= 0)
        return ATTN_OK;
    return attn_error_set(err, ATTN_FORMAT,
                          "the tokenizer of '%s' adds its '%s' to each text, but has none",
                          attn_quote_string(ends->tokenizer->unread->path).text, role->key);
}

static enum attn_status append_word(struct ends *ends, const struct word *word,
                                    struct attn_template *to, struct attn_error *err)
{
    const bool is_text = is_word(word, "A"), is_pair = is_word(word, "B");
    const struct attn_token_role *role = NULL;
    int32_t id = -1;

    for (size_t i = 0; i < ATTN_CLASS_N_ROLE; i++)
        if (strncmp(ends->roles[i].key, word->text, word->size) == 0 &&
            ends->roles[i].key[word->size] == '_')
            role = &ends->roles[i];
    if (is_text || is_pair)
        return attn_template_append(
            to,
            (struct attn_template_item){is_pair ? ATTN_TEMPLATE_PAIR : ATTN_TEMPLATE_TEXT,
                                        word->type},
            err);
    if (role)
        ATTN_TRY(find_of_role(ends, role, word->mark, &id, err));
    else if (is_word(word, "lang") || is_word(word, "task") || is_word(word, "times"))
        ATTN_TRY(find_of_key(ends, word, &id, err));
    else
        ATTN_TRY(find_token(ends, word->text, word->size, &id, err));
    return id < 0 ? ATTN_OK
                  : attn_template_append(to, (struct attn_template_item){id, word->type}, err);
}

static enum attn_status make_template(struct ends *ends, const char *words,
                                      struct attn_template *to, struct attn_error *err)
{
    for (const char *at = words; *at; at += strspn(at, " ")) {
        struct word word = {.text = at, .size = strcspn(at, " ")};

        at += word.size;
        if (word.size > 2 && at[-2] == ':') {
            word.type = (uint8_t)(at[-1] - '0');
            word.size -= 2;
        }
        if (strchr("?~!", word.text[word.size - 1]))
            word.mark = word.text[--word.size];
        ATTN_TRY(append_word(ends, &word, to, err));
    }
    return ATTN_OK;
}

enum attn_status attn_class_add_ends(const struct attn_class *found,
                                     const struct attn_class_row *row,
                                     const struct attn_token_role roles[ATTN_CLASS_N_ROLE],
                                     struct attn_tokenizer *tokenizer, struct attn_error *err)
{
    struct attn_post_process *post = &tokenizer->post;
    struct ends ends = {
        .found = found, .roles = roles, .tokenizer = tokenizer, .language = row->language};
    const char *side, *single = row->single, *text = row->pair;
    bool is_old = false; /* NLLB's tokens at the end, as in its first version */

    post->single = post->pair = (struct attn_template){.n = 0};
    if (row->language)
        ATTN_TRY(attn_class_get_bool(found, "legacy_behaviour", &is_old, err));
    if (is_old && row == attn_class_row("Nllb"))
        single = "A eos lang", text = "A B eos lang";
    ATTN_TRY(make_template(&ends, single, &post->single, err));
    /* If a key adds a token, and the template for pairs does not say where, versions differ. */
    post->takes_pair =
        row->pair && !(ends.has_optional && !strchr(row->pair, '?') && !strchr(row->pair, '!'));
    if (!post->takes_pair)
        return ATTN_OK;
    ATTN_TRY(get_string(found, "padding_side", &side, err));
    if (side && strcmp(side, "left") == 0 && strstr(row->pair, "question"))
        post->takes_pair = false; /* Splinter puts the question last then */
    return make_template(&ends, text, &post->pair, err);
}
