/* foreign.c - see tensor_files_internal.h. */
#include "formats/tensor_files_internal.h"

#include "base/buffer.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/path.h"
#include "base/status_internal.h"
#include "formats/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADAPTER "adapter_config.json"

/* Characters that need no quoting in a shell, nor between Python's quotes of either kind. */
static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                            "._-+/=@:,";

/* Commands that load the model of the current folder in Python and save it as safetensors. They
 * save only the weights: the files of the tokenizer can be read as they are, and the library would
 * write some of them differently. */
#define CONVERT_PYTORCH                                                                            \
    "python3 -c \"from transformers import %s as M; "                                              \
    "M.from_pretrained('.').save_pretrained('.')\""

/* Of a pickle of tensors alone, as TransformerLens's state_dict() gives them. NAME is quoted by '.
 */
#define CONVERT_PICKLE                                                                             \
    "python3 -c \"import torch; from safetensors.torch import save_file; d = torch.load('%s', "    \
    "'cpu'); "                                                                                     \
    "save_file({k: v.contiguous() for k, v in d.items()}, 'model.safetensors')\""

#define MERGE_ADAPTER                                                                              \
    "python3 -c \"from peft import AutoPeftModelForCausalLM as M; "                                \
    "M.from_pretrained('.').merge_and_unload().save_pretrained('merged')\""

/* Whether NAME ends as the name of a pickle of PyTorch does. */
static bool is_pickle(const char *name)
{
    static const char *const ends[] = {".pth", ".pt"};
    const size_t size = strlen(name);

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (size > strlen(ends[i]) && strcmp(name + size - strlen(ends[i]), ends[i]) == 0)
            return true;
    return false;
}

static bool find_pickle(const char *folder, char name[ATTN_FOREIGN_NAME_SIZE])
{
    struct attn_path_names names = {0};
    bool is_found = false;

    if (attn_path_list(folder, &names, NULL) == ATTN_OK)
        for (size_t i = 0; i < names.n && !is_found; i++)
            is_found = is_pickle(names.names[i]) &&
                       snprintf(name, ATTN_FOREIGN_NAME_SIZE, "%s", names.names[i]) <
                           ATTN_FOREIGN_NAME_SIZE;
    attn_path_names_release(&names);
    return is_found;
}

bool attn_foreign_find(const struct attn_source *source, char name[ATTN_FOREIGN_NAME_SIZE])
{
    static const char *const pytorch[] = {"pytorch_model.bin", "pytorch_model.bin.index.json"};

    if (!source->directory)
        return false;
    for (size_t i = 0; i < sizeof pytorch / sizeof *pytorch; i++)
        if (attn_source_has_part(source, pytorch[i]))
            return snprintf(name, ATTN_FOREIGN_NAME_SIZE, "%s", pytorch[i]) <
                   ATTN_FOREIGN_NAME_SIZE;
    return find_pickle(source->directory, name);
}

/* Appends TEXT [size] as one word of a shell command: unchanged, or as $'text' to quote it. */
static void append_word(struct attn_buffer *command, const char *text, size_t size)
{
    if (size > 0 && strspn(text, plain) >= size) {
        attn_buffer_append(command, text, size);
        return;
    }
    attn_buffer_append_string(command, "$'");
    for (const char *end = text + size; text < end;) {
        const char *quote = memchr(text, '\'', (size_t)(end - text));
        const char *stop = quote ? quote : end;

        attn_escape_append(command, text, (size_t)(stop - text));
        attn_buffer_append_string(command, quote ? "\\'" : "");
        text = quote ? quote + 1 : end;
    }
    attn_buffer_append_char(command, '\'');
}

/* Returns the class of transformers that loads the model of SOURCE with its head. */
static const char *class_of(const struct attn_source *source)
{
    static const char *const none[] = {NULL};
    static const char *const masked[] = {"bert",       "roberta", "xlm-roberta", "camembert",
                                         "distilbert", "electra", "albert",      "modernbert"};
    static const char *const whole[] = {"vit", "dinov2", "dinov2_with_registers", "clip"};
    const char *found = "AutoModelForCausalLM", *type = NULL;
    struct attn_json *json = NULL;

    if (attn_json_read_part(source, "config.json", none, &json, NULL) == ATTN_OK)
        attn_json_get_string(json, attn_json_root(json), "model_type", &type, NULL);
    if (type && attn_node_find(attn_json_root(json), "vision_config"))
        found = "AutoModelForImageTextToText";
    for (size_t i = 0; type && i < sizeof masked / sizeof *masked; i++)
        found = strcmp(type, masked[i]) == 0 ? "AutoModelForMaskedLM" : found;
    for (size_t i = 0; type && i < sizeof whole / sizeof *whole; i++)
        found = strcmp(type, whole[i]) == 0 ? "AutoModel" : found;
    attn_json_free(json);
    return found;
}

static void append_cd(struct attn_buffer *command, const char *folder, size_t size)
{
    attn_buffer_append_string(command, "cd ");
    append_word(command, folder, size);
    attn_buffer_append_string(command, " && ");
}

/* Makes COMMAND the hint of ERR, unless it is too long for a hint, and releases it. */
static void give_as_hint(struct attn_buffer *command, struct attn_error *err)
{
    const char *text = attn_buffer_string(command);

    if (text && strlen(text) < ATTN_ERROR_HINT_SIZE)
        attn_error_hint(err, "%s", text);
    attn_buffer_release(command);
}

/* Files that other programs read, and what to say of them. */
static const struct {
    const char *name, *what, *hint; /* hint: or NULL */
} others[] = {
    {"consolidated.safetensors", "has Mistral's own names of tensors",
     "the repository's model-00001-of-... files and their index are read"},
    {"consolidated.safetensors.index.json", "has Mistral's own names of tensors",
     "the repository's model-00001-of-... files and their index are read"},
    {"tf_model.h5", "is of TensorFlow", NULL},
    {"flax_model.msgpack", "is of Flax", NULL},
    {"rust_model.ot", "is of rust-bert", NULL},
    {"model.bin", "is of another program", NULL},
    {"onnx", "has ONNX models alone", NULL},
};

/* Copies to NAME the last of the names in FOLDER, by the number in it, that are BEFORE, anything
 * and END. */
static bool find_between(const char *folder, const char *before, const char *end,
                         char name[ATTN_FOREIGN_NAME_SIZE])
{
    struct attn_path_names names = {0};
    unsigned long most = 0;
    bool is_found = false;

    if (attn_path_list(folder, &names, NULL) == ATTN_OK)
        for (size_t i = 0; i < names.n; i++) {
            const char *own = names.names[i], *rest = own + strlen(before);
            const size_t size = strlen(own), n = strlen(before) + strlen(end);

            if (size <= n || size >= ATTN_FOREIGN_NAME_SIZE ||
                strncmp(own, before, strlen(before)) != 0 ||
                strcmp(own + size - strlen(end), end) != 0 ||
                (is_found && strtoul(rest, NULL, 10) < most))
                continue;
            most = strtoul(rest, NULL, 10);
            memcpy(name, own, size + 1);
            is_found = true;
        }
    attn_path_names_release(&names);
    return is_found;
}

/* Refuses what a directory has instead of a model that is read, if it is known. */
static enum attn_status check_others(const struct attn_source *source, struct attn_error *err)
{
    const struct attn_quote folder = attn_quote_string(source->directory);
    char name[ATTN_FOREIGN_NAME_SIZE], path[ATTN_PATH_SIZE];

    if (!attn_source_has_part(source, "config.json") &&
        find_between(source->directory, "checkpoint-", "", name) &&
        attn_path_join(source->directory, name, path) &&
        attn_source_has_part(&(struct attn_source){.directory = path}, "config.json")) {
        attn_error_set(err, ATTN_UNSUPPORTED, "'%s' has no model here, but in '%s'", folder.text,
                       attn_quote_string(name).text);
        attn_error_hint(err, "-m %s", attn_quote_string(path).text);
        return ATTN_UNSUPPORTED;
    }
    if (find_between(source->directory, "model.", ".safetensors", name)) {
        attn_error_set(err, ATTN_UNSUPPORTED, "'%s' has only the variant '%s'", folder.text,
                       attn_quote_string(name).text);
        attn_error_hint(err, "ln -s %s %s/model.safetensors", name, folder.text);
        return ATTN_UNSUPPORTED;
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (!attn_source_has_part(source, others[i].name))
            continue;
        attn_error_set(err, ATTN_UNSUPPORTED, "'%s' in '%s' %s, expected model.safetensors",
                       others[i].name, folder.text, others[i].what);
        if (others[i].hint)
            attn_error_hint(err, "%s", others[i].hint);
        return ATTN_UNSUPPORTED;
    }
    return ATTN_OK;
}

enum attn_status attn_foreign_check(const struct attn_source *source, struct attn_error *err)
{
    const char *folder = source->directory;
    struct attn_buffer command = {0};
    char file[ATTN_FOREIGN_NAME_SIZE];

    if (attn_source_has_part(source, ADAPTER)) {
        /* The folder holds an adapter of PEFT: changes to the weights of another model. */
        attn_error_set(err, ATTN_UNSUPPORTED,
                       "'%s' holds an adapter (" ADAPTER "), expected a whole model, which "
                       "`adapter` changes by it, or merge it",
                       attn_quote_string(folder).text);
        append_cd(&command, folder, strlen(folder));
        attn_buffer_append_string(&command, MERGE_ADAPTER);
        give_as_hint(&command, err);
        return ATTN_UNSUPPORTED;
    }
    if (!attn_foreign_find(source, file))
        return source->directory ? check_others(source, err) : ATTN_OK;
    attn_error_set(err, ATTN_UNSUPPORTED, "'%s' in '%s' cannot be read, expected model.safetensors",
                   attn_quote_string(file).text, attn_quote_string(folder).text);
    if (source->fetch) {
        /* The folder is in a cache of another program: the command copies it into the user's folder
         * and converts the copy. */
        const char *slash = strrchr(source->name, '/');
        const char *name = slash ? slash + 1 : source->name;

        attn_buffer_append_string(&command, "cp -rL ");
        append_word(&command, folder, strlen(folder));
        attn_buffer_append_char(&command, ' ');
        append_word(&command, name, strlen(name));
        attn_buffer_append_string(&command, " && ");
        folder = name;
    }
    append_cd(&command, folder, strlen(folder));
    if (!is_pickle(file))
        attn_buffer_append_format(&command, CONVERT_PYTORCH, class_of(source));
    else if (strspn(file, plain) == strlen(file))
        attn_buffer_append_format(&command, CONVERT_PICKLE, file);
    else
        attn_buffer_append_format(&command, CONVERT_PICKLE, "FILE");
    give_as_hint(&command, err);
    return ATTN_UNSUPPORTED;
}
