/* model.c - finds the source that -m and related options name, for the library to open. */
#include "cmd/args/model.h"

#include "cmd/line/interrupt.h"
#include "cmd/line/options.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"
#include "tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOKENIZER "tokenizer.json"

static const struct attn_param model_rows[] = {
    ATTN_PARAM(
        TEXT, "model", "DIR", struct model_args, name,
        "model directory in Hugging Face's layout, GGUF file, checkpoint of nanoGPT, "
        "build-nanogpt, minGPT, nanochat, LLMs-from-scratch or llama2.c (.pt), model of llama2.c "
        "or llm.c (.bin), or a name that 'attn-cli models' lists, as OWNER/NAME[@REVISION][:TAG] "
        "of the Hugging Face cache or ollama:NAME[:TAG]; default: the built-in "
        "'" ATTN_BUILTIN_DEFAULT "'",
        .letter = 'm', .variable = "ATTN_CLI_MODEL"),
    ATTN_PARAM(TEXT, "config", "FILE", struct model_args, config,
               "use FILE as the model's config.json, or for what a checkpoint does not have, as "
               "{\"n_head\": 12}"),
    ATTN_PARAM(TEXT, "vocab", "FILE", struct model_args, vocab,
               "use FILE as the model's vocab.json, or as its tokenizer.json or vocab.txt when "
               "the name ends so; nanoGPT's meta.pkl, nanochat's tokenizer.pkl, llama2.c's "
               "tokenizer.bin, Mistral's tekken.json, Qwen's qwen.tiktoken, "
               "SentencePiece's tokenizer.model"),
};

const struct attn_param_list model_options = ATTN_PARAM_LIST("Model", model_rows);

static const struct attn_param weights_rows[] = {
    ATTN_PARAM(TEXT, "weights", "FILE", struct model_args, weights,
               "use FILE as the model's model.safetensors"),
    ATTN_PARAM(TEXT, "adapter", "DIR", struct model_args, adapter,
               "change the model by the LoRA adapter in DIR, as peft saves it: "
               "adapter_config.json and adapter_model.safetensors"),
    ATTN_PARAM(TEXT, "mmproj", "FILE", struct model_args, mmproj,
               "for a GGUF model: the file that reads pictures for it; default: the only one of "
               "the architecture clip in its folder, as mmproj-F16.gguf"),
    ATTN_PARAM(CHOICE, "load", NULL, struct model_args, load,
               "map the files of weights (default), or read them into memory, where a change "
               "of the files does no harm",
               .words = "map|read"),
};

const struct attn_param_list weights_options = ATTN_PARAM_LIST("Model", weights_rows);

static const struct attn_param compute_rows[] = {
    ATTN_PARAM(CHOICE, "compute", NULL, struct model_args, compute,
               "the precision of products. f32 (default): float32. bf16: bfloat16 with float32 "
               "sums, less exact. It is faster on processors with instructions for it "
               "(avx512_bf16, amx_bf16), and slower on others",
               .traits = ATTN_PARAM_SHAPES_TENSORS, .words = "f32|bf16"),
};

static const struct attn_param tower_rows[] = {
    ATTN_PARAM(CHOICE, "tower", NULL, struct model_args, tower,
               "of a directory with two towers, as CLIP's, or with a decoder that reads pictures "
               "beside a text: text (default), or image, the one that reads a picture alone",
               .words = "text|image"),
};
const struct attn_param_list tower_options = ATTN_PARAM_LIST("Pictures", tower_rows);

const struct attn_param_list compute_options = ATTN_PARAM_LIST("Compute", compute_rows);

/* --- Where models are ------------------------------------------------------------------------- */

/* Returns the environment variable NAME; NULL if it is unset or empty. */
static const char *variable(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

/* Returns a new string: HEAD, where a leading ~ becomes the home folder as in Python, followed by
 * TAIL. Returns NULL if memory runs out. */
static char *join(const char *head, const char *tail)
{
    const char *home = variable("HOME");
    const bool is_home = home && head[0] == '~' && (attn_os_is_slash(head[1]) || head[1] == '\0');
    char *joined;

    if (asprintf(&joined, "%s%s%s", is_home ? home : "", head + is_home, tail) < 0)
        return NULL;
    return joined;
}

/* Returns the path of NAME, which begins with '/', in the folder of caches; NULL if there is no
 * home folder. */
static char *join_cache(const char *name)
{
    const char *cache = variable("XDG_CACHE_HOME");

    return cache || variable("HOME") ? join(cache ? cache : "~/.cache", name) : NULL;
}

/* Returns the cache folder of Hugging Face, by the rules of huggingface_hub; NULL if there is no
 * home folder. */
static char *find_hub(void)
{
    const char *hub = variable("HF_HUB_CACHE"), *home = variable("HF_HOME");

    if (!hub)
        hub = variable("HUGGINGFACE_HUB_CACHE");
    if (hub)
        return join(hub, "");
    return home ? join(home, "/hub") : join_cache("/huggingface/hub");
}

/* Fills STORES with the folders of Ollama's models, by Ollama's rules. Returns their number. */
static size_t find_ollama(char *stores[MODEL_N_STORE])
{
    const char *given = variable("OLLAMA_MODELS");
    size_t n = 0;

    if (given) {
        stores[n++] = join(given, "");
        return n;
    }
    if (variable("HOME"))
        stores[n++] = join("~", "/.ollama/models");
    stores[n++] = strdup("/usr/share/ollama/.ollama/models"); /* of the system service */
    return n;
}

/* Returns the folder of the models that come with the program, or NULL. In the source tree, the
 * Makefile writes a file next to the program whose line is the path of the tree. Installed programs
 * don't have that file. */
static char *find_own(void)
{
    char program[MODEL_PATH_SIZE], tree[MODEL_PATH_SIZE], path[2 * MODEL_PATH_SIZE + 32];
    FILE *source;

    if (!attn_path_of_program(program, sizeof program))
        return NULL;
    program[attn_path_folder_length(program) - 1] = '\0';
    snprintf(path, sizeof path, "%.4000s/attn-cli.source", program);
    source = fopen(path, "re");
    if (source && fgets(tree, sizeof tree, source))
        snprintf(path, sizeof path, "%s/%.*s/models", program, (int)strcspn(tree, "\n"), tree);
    else
        snprintf(path, sizeof path, "%s/../share/attn-cli/models", program);
    if (source)
        fclose(source);
    return realpath(path, NULL);
}

enum attn_status model_catalog_open(struct model_catalog *catalog, struct attn_error *err)
{
    const char *path = variable("ATTN_CLI_MODEL_PATH");
    char *rest;
    size_t n = 0;

    *catalog = (struct model_catalog){.catalog = ATTN_CATALOG_DEFAULT};
    catalog->search_path = strdup(path ? path : "");
    catalog->folders = calloc(strlen(path ? path : "") + 2, sizeof *catalog->folders);
    if (!catalog->search_path || !catalog->folders)
        return attn_error_no_memory(err);
    rest = catalog->search_path;
    for (char *folder; (folder = strsep(&rest, attn_os_between_paths()));)
        if (*folder)
            catalog->folders[n++] = folder;
    catalog->own = find_own();
    if (catalog->own)
        catalog->folders[n++] = catalog->own;
    catalog->hub = find_hub();
    catalog->catalog.folders = catalog->folders;
    catalog->catalog.n_folder = n;
    catalog->catalog.hub = catalog->hub;
    catalog->lm_studio = variable("HOME") ? join("~", "/.lmstudio/models") : NULL;
    catalog->catalog.lm_studio = catalog->lm_studio;
    catalog->catalog.n_ollama = find_ollama(catalog->ollama);
    catalog->catalog.ollama = (const char *const *)catalog->ollama;
    for (size_t i = 0; i < catalog->catalog.n_ollama; i++)
        if (!catalog->ollama[i])
            return attn_error_no_memory(err);
    return ATTN_OK;
}

void model_catalog_release(struct model_catalog *catalog)
{
    free(catalog->search_path);
    free(catalog->folders);
    free(catalog->own);
    free(catalog->hub);
    free(catalog->lm_studio);
    for (size_t i = 0; i < MODEL_N_STORE; i++)
        free(catalog->ollama[i]);
    *catalog = (struct model_catalog){0};
}

/* --- The model that is meant ------------------------------------------------------------------ */

/* The known name that is nearest to a mistyped one. */
struct meant {
    struct attn_typo typo;
    char nearest[256]; /* a copy of the name that `typo` points to */
};

/* An attn_catalog_fn that compares NAME with the mistyped one. */
static enum attn_status compare_name(void *user, const char *name, struct attn_error *err)
{
    struct meant *meant = user;

    (void)err;
    attn_typo_try(&meant->typo, name);
    if (meant->typo.nearest == name) {
        snprintf(meant->nearest, sizeof meant->nearest, "%s", name);
        meant->typo.nearest = meant->nearest;
    }
    return ATTN_OK;
}

/* The place of a model, and whether another model of the same name was noted. */
struct places {
    const struct model_catalog *catalog;
    const struct attn_catalog_found *taken;
    bool is_said;
};

/* An attn_catalog_other_fn that notes another model of the same name. A built-in model also comes
 * with the program as a file; that is not noted. */
static void note_other_place(void *user, const struct attn_catalog_found *other)
{
    struct places *places = user;
    const char *taken = places->taken->source.directory, *own = places->catalog->own;
    char *real = own ? realpath(taken, NULL) : NULL;
    const bool is_own = real && strncmp(real, own, strlen(own)) == 0;

    free(real);
    if (places->is_said || (is_own && other->origin == ATTN_ORIGIN_BUILTIN))
        return;
    places->is_said = true;
    note("'%s' is the directory '%s'; another of this name is %s%s%s", places->taken->source.name,
         attn_quote_string(taken).text, other->source.directory ? "'" : "built in",
         other->source.directory ? attn_quote_string(other->source.directory).text : "",
         other->source.directory ? "'" : "");
}

/* Notes which snapshot, file or directory a name stands for. */
static void note_chosen_place(const struct attn_catalog_found *found)
{
    const char *slash = attn_os_last_slash(found->directory), *name = found->source.name;

    if (found->file[0] != '\0' && strcmp(found->part.name, ATTN_GGUF_PART) == 0)
        note("'%s' is the GGUF file '%s'", attn_quote_string(name).text,
             attn_quote_string(found->file).text);
    else if (found->origin == ATTN_ORIGIN_CACHED && slash)
        note("'%s' is snapshot '%s', in '%s'", name, slash + 1,
             attn_quote_string(found->directory).text);
    else if (found->origin == ATTN_ORIGIN_SHIPPED ||
             (found->origin == ATTN_ORIGIN_DIRECTORY && !strchr(name, '/')))
        note("'%s' is the directory '%s'", attn_quote_string(name).text,
             attn_quote_string(found->source.directory).text);
}

static enum attn_status find_in(const struct model_catalog *catalog, const char *name,
                                const struct running_args *running,
                                struct attn_catalog_found *found, struct attn_error *err)
{
    struct meant meant = {.typo = {.typed = name, .size = strlen(name)}};
    struct places places = {catalog, found, false};
    const enum attn_status status = attn_catalog_find(&catalog->catalog, name, found, err);

    /* a bare name that is similar to a known one is a typo; a name with an owner may be a model to
     * download */
    if (status != ATTN_OK && !strpbrk(name, "/@"))
        attn_catalog_visit(&catalog->catalog, compare_name, &meant, NULL);
    if (attn_typo_meant(&meant.typo))
        snprintf(err->hint, sizeof err->hint, "did you mean '%s'?", attn_typo_meant(&meant.typo));
    ATTN_TRY(at_stage(ATTN_STAGE_MODEL, status, err));
    if (found->source.directory && !(running && running->is_quiet))
        attn_catalog_visit_others(&catalog->catalog, found, note_other_place, &places);
    if (running && running->is_verbose)
        note_chosen_place(found);
    return ATTN_OK;
}

/* Finds the model NAME, and in PROJECTOR what reads pictures for it. */
static enum attn_status find_model(const char *name, const struct running_args *running,
                                   struct attn_catalog_found *found, char *projector,
                                   struct attn_error *err)
{
    struct model_catalog catalog;
    enum attn_status status = model_catalog_open(&catalog, err);

    ATTN_THEN(status, find_in(&catalog, name, running, found, err));
    ATTN_THEN(status,
              at_stage(ATTN_STAGE_MODEL,
                       attn_catalog_find_projector(&catalog.catalog, name, projector, err), err));
    model_catalog_release(&catalog);
    return status;
}

/* Copies the pipe IN to OUT, up to one byte more than the longest text that is accepted. Returns
 * false on failure. */
static bool copy_pipe(int in, int out)
{
    enum { TOO_MUCH = (64 << 20) + 1 };
    char bytes[1 << 14];
    size_t left = TOO_MUCH;
    ptrdiff_t size;
    do {
        size = attn_os_read(in, bytes, left < sizeof bytes ? left : sizeof bytes);
        for (ptrdiff_t at = 0, n; at < size; at += n)
            if ((n = attn_os_write(out, bytes + at, (size_t)(size - at))) < 0)
                return false;
        left -= size > 0 ? (size_t)size : 0;
    } while ((size > 0 && left > 0) || (size < 0 && errno == EINTR));
    return size >= 0;
}

/* A pipe can be read only once, but both the model and the tokenizer read the text. So this copies
 * the pipe into a file in memory, which exists until the program ends, and writes its path to HELD.
 * Returns PATH itself if that fails, so that opening it reports the error. */
static const char *hold_pipe(const char *name, const char *path, char held[32])
{
    bool is_held;
    int in, out;

    if (attn_os_kind(path) != ATTN_OS_PIPE)
        return path;
    in = attn_os_open(path, ATTN_OS_READ, 0);
    out = attn_os_open_memory(name, held);
    is_held = in >= 0 && out >= 0 && copy_pipe(in, out);
    if (in >= 0)
        attn_os_close(in);
    return is_held ? held : path;
}

static void add_override(struct model_source *found, const char *name, const char *path)
{
    const size_t i = found->source.n_override;
    const bool is_text = !text_ends_in(name, ".safetensors") && !text_ends_in(name, ".gguf");

    if (!path)
        return;
    found->overrides[i] =
        (struct attn_override){name, is_text ? hold_pipe(name, path, found->held[i]) : path};
    found->source.n_override++;
}

static enum attn_status add_adapter(const char *folder, struct model_source *found,
                                    struct attn_error *err)
{
    static const char *const names[] = {"adapter_config.json", "adapter_model.safetensors"};

    for (int i = 0; i < 2; i++) {
        if (snprintf(found->adapter[i], MODEL_PATH_SIZE, "%s/%s", folder, names[i]) >=
            MODEL_PATH_SIZE)
            return refuse(err, NULL, "the path of `adapter` is too long");
        add_override(found, names[i], found->adapter[i]);
    }
    return ATTN_OK;
}

/* Returns the name of the tokenizer's file that PATH replaces, which the end of PATH decides. PATH
 * may be NULL. */
static const char *tokenizer_part(const char *path)
{
    return path && text_ends_in(path, "tokenizer.json") ? "tokenizer.json"
           : path && text_ends_in(path, "vocab.txt")    ? "vocab.txt"
           : path && text_ends_in(path, ".pkl")         ? "meta.pkl"
           : path && text_ends_in(path, ".bin")         ? "tokenizer.bin"
           : path && text_ends_in(path, "tekken.json")  ? "tekken.json"
           : path && text_ends_in(path, ".tiktoken")    ? ".tiktoken"
           : path && text_ends_in(path, ".model")       ? "tokenizer.model"
           : path && text_ends_in(path, ".spm")         ? "tokenizer.model"
                                                        : "vocab.json";
}

bool model_vocab_is_beside(const char *vocab)
{
    const char *part = tokenizer_part(vocab);

    return !vocab || strcmp(part, "meta.pkl") == 0 || strcmp(part, "tokenizer.bin") == 0;
}

enum attn_status model_source_find(const struct model_args *args,
                                   const struct running_args *running, struct model_source *found,
                                   struct attn_error *err)
{
    *found = (struct model_source){0};
    if (args->name)
        ATTN_TRY(find_model(args->name, running, &found->found, found->projector, err));
    else
        attn_builtin_find(ATTN_BUILTIN_DEFAULT, &found->found.source);
    found->source = found->found.source;
    if (found->source.n_override > 0)
        found->overrides[0] = found->found.part;
    found->source.overrides = found->overrides;
    add_override(found, "config.json", args->config);
    add_override(found, tokenizer_part(args->vocab), args->vocab);
    add_override(found, "model.safetensors", args->weights);
    add_override(found, ATTN_MMPROJ_PART, args->mmproj);
    add_override(found, ATTN_FOUND_MMPROJ_PART, found->projector[0] ? found->projector : NULL);
    return args->adapter ? add_adapter(args->adapter, found, err) : ATTN_OK;
}

enum attn_status model_check_tower(const struct model_args *args, const struct attn_config *config,
                                   struct attn_error *err)
{
    if (args->tower != ATTN_TOWER_IMAGE || config->image.patch_width > 0)
        return ATTN_OK;
    return refuse(err, NULL, "`tower` image needs a model that reads pictures");
}

enum attn_status model_check_projector(const struct call *call, bool reads_pictures,
                                       struct attn_error *err)
{
    if (reads_pictures || !option_find_given(call, "mmproj"))
        return ATTN_OK;
    if (option_is_of(call->command, "image"))
        return refuse(err, NULL, "`mmproj` reads pictures, and needs `image`");
    return refuse(err, NULL, "`mmproj` has no effect here: '%s' reads no pictures",
                  call->command->name);
}

/* --- The host --------------------------------------------------------------------------------- */

/* Lets the types of heads of the model of HOST be kept in the folder of $ATTN_CLI_CACHE, or else in
 * that of caches, unless ARGS change the model. */
static enum attn_status keep_types(struct attn_host *host, const struct model_args *args,
                                   struct attn_error *err)
{
    const char *given = variable("ATTN_CLI_CACHE");
    char *folder = given ? join(given, "") : join_cache("/attn-cli");
    enum attn_status status = ATTN_OK;

    if (folder && !(given && strcmp(given, "off") == 0) && !args->config && !args->vocab)
        status = attn_heads_keep_types(host, folder, err);
    free(folder);
    return status;
}

enum attn_status model_host_open(const struct attn_source *source, const struct model_args *args,
                                 const struct running_args *running, bool reuse,
                                 struct attn_host **host, struct attn_error *err)
{
    struct attn_host_options options = ATTN_HOST_OPTIONS_DEFAULT;
    const struct attn_tokenizer *tokenizer;
    struct attn_error no_tokenizer = {0};

    options.load = (enum attn_load)args->load;
    options.compute = (enum attn_compute)args->compute;
    options.tower = (enum attn_tower)args->tower;
    options.reuse = reuse;
    options.n_thread = (int)running->threads;
    options.gemm = running_gemm();
    options.isa = running_isa();
    options.cancel = interrupt_flag();
    options.on_note = running->is_quiet ? NULL : note_message;
    ATTN_TRY(attn_host_create(source, &options, host, err));
    if (!source)
        return ATTN_OK;
    interrupt_watch_host(*host);
    ATTN_TRY(keep_types(*host, args, err));
    if (attn_host_tokenizer(*host, &tokenizer, &no_tokenizer) != ATTN_OK) {
        if (running->is_verbose)
            note("tokens have no text: %s", no_tokenizer.message);
    } else if (running->is_verbose && attn_tokenizer_detail(tokenizer)) {
        note("%s", attn_tokenizer_detail(tokenizer));
    }
    return ATTN_OK;
}

void model_host_close(struct attn_host *host)
{
    interrupt_watch_host(NULL);
    attn_host_free(host);
}

/* --- For completion --------------------------------------------------------------------------- */

struct names {
    const char *prefix;
    struct attn_sink *out;
};

/* An attn_catalog_fn that prints NAME for the completion of a shell. The shell expands what it
 * gets, so names with special characters are left out. */
static enum attn_status print_name(void *user, const char *name, struct attn_error *err)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+/";
    const struct names *names = user;

    (void)err;
    if (name[0] != '.' && name[0] != '-' && name[strspn(name, plain)] == '\0' &&
        strncmp(name, names->prefix, strlen(names->prefix)) == 0)
        print(names->out, "%s\n", name);
    return ATTN_OK;
}

enum attn_status model_names_print(const char *prefix, struct attn_sink *out,
                                   struct attn_error *err)
{
    struct names names = {prefix, out};
    struct model_catalog catalog;
    enum attn_status status = model_catalog_open(&catalog, err);

    ATTN_THEN(status, attn_catalog_visit(&catalog.catalog, print_name, &names, err));
    model_catalog_release(&catalog);
    return at_stage(ATTN_STAGE_NONE, status, err);
}
