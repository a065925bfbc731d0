#include "foreign/foreign.h"

#include "base/file.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/path.h"
#include "formats/tensor_files_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADAPTER "adapter_config.json"

bool attn_foreign_find_end(const struct attn_source *source, const char *end, const char *other,
                           char name[ATTN_OPENER_NAME_SIZE])
{
    struct attn_path_names names = {0};
    size_t n = 0;

    if (source->directory && attn_path_list(source->directory, &names, NULL) == ATTN_OK)
        for (size_t i = 0; i < names.n; i++)
            if ((attn_path_has_ending(names.names[i], end) ||
                 attn_path_has_ending(names.names[i], other)) &&
                strlen(names.names[i]) < ATTN_OPENER_NAME_SIZE && n++ == 0)
                memcpy(name, names.names[i], strlen(names.names[i]) + 1);
    attn_path_names_release(&names);
    return n == 1;
}

bool attn_foreign_find(const struct attn_source *source, char name[ATTN_OPENER_NAME_SIZE])
{
    return attn_foreign_find_end(source, ".pth", ".pt", name);
}

#define FETCH_WHISPER                                                                              \
    "hf download openai/whisper-tiny, or the size that it is of, fetches a form that is read"

/* Files that other programs read, and what to say of them. */
static const struct {
    const char *name, *what, *hint; /* hint: or NULL */
} others[] = {
    {"consolidated.safetensors", "has Mistral's own names of tensors",
     "the repository's model-00001-of-... files and their index are read"},
    {"consolidated.safetensors.index.json", "has Mistral's own names of tensors",
     "the repository's model-00001-of-... files and their index are read"},
    {"consolidated.00.pth", "has Meta's own names of tensors",
     "the repository's model.safetensors, or model-00001-of-... files and their index, are read"},
    {"tf_model.h5", "is of TensorFlow", NULL},
    {"flax_model.msgpack", "is of Flax", NULL},
    {"rust_model.ot", "is of rust-bert", NULL},
    {"weights.npz", "has the layout of MLX's Whisper", FETCH_WHISPER},
    {"weights.safetensors", "has the layout of MLX's Whisper", FETCH_WHISPER},
    {"model.bin", "is of another program", NULL},
    {"onnx", "has ONNX models alone", NULL},
    {".metadata", "is of a distributed checkpoint, as of Lightning with FSDP",
     "python3 -m torch.distributed.checkpoint.format_utils dcp_to_torch, this folder and a "
     "file.ckpt "
     "write a checkpoint that -m takes"},
    {"zero_to_fp32.py", "is of a checkpoint of DeepSpeed, as of Lightning",
     "it writes a pytorch_model.bin from this folder; put it beside the model's config.json"},
};

/* Layouts of weights that other programs read: by the first bytes of a file (of CTranslate2, after
 * a version and a size), or by one of its tensors, of whose name this is the end. */
static const struct {
    const char *bytes, *tensor; /* one of both */
    const char *what, *hint;
} layouts[] = {
    {"\xc6\xd7\x34\x01", NULL, "has the layout of llm.c",
     "-m with the file itself reads a GPT-2 of llm.c"},
    {"lmgg", NULL, "has the layout of whisper.cpp", FETCH_WHISPER},
    {"WhisperSpec", NULL, "has the layout of CTranslate2, for faster-whisper", FETCH_WHISPER},
    {"Transformer", NULL, "has the layout of CTranslate2",
     "the repository that it was converted from has a form that is read"},
    {NULL, "decoder.token_embedding.weight", "has OpenAI's own names of Whisper", FETCH_WHISPER},
    {NULL, "encoder.sentence_encoder.embed_tokens.weight", "has fairseq's names of ESM",
     "hf download facebook/esm2_t6_8M_UR50D, or the name of the file, fetches a form that is read"},
    {NULL, "layers.0.attention.wq.weight", "has Meta's own names of Llama",
     "of llama2.c: its export.py writes a model.bin; of Meta: fetch the repository's "
     "model.safetensors"},
    {NULL, "blocks.0.attn.qkv.weight", "has timm's names of a ViT",
     "hf download facebook/dino-vits16, or the model that it is of, fetches a form that is read"},
    {NULL, "blocks.0.attn.W_Q", "has the names of TransformerLens",
     "its folder needs model.cfg as config.json: the manual's page on TransformerLens has the "
     "lines; then -m with the folder"},
};

/* As attn_foreign_refuse, for FILE. FILES are its tensors; NULL: it was not read. */
static enum attn_status refuse_layout(const struct attn_file *file,
                                      const struct attn_tensor_files *files, struct attn_error *err)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        const char *bytes = layouts[i].bytes, *tensor = layouts[i].tensor;
        bool is_it = false;

        for (size_t start = 0; bytes && start <= 6; start += 6)
            is_it |= file->size >= start + strlen(bytes) &&
                     memcmp(file->data + start, bytes, strlen(bytes)) == 0;
        for (size_t t = 0; tensor && files && t < files->count; t++)
            is_it |= files->records[t].name_size >= strlen(tensor) &&
                     memcmp(files->records[t].name + files->records[t].name_size - strlen(tensor),
                            tensor, strlen(tensor)) == 0;
        if (!is_it)
            continue;
        attn_error_set(err, ATTN_UNSUPPORTED, "'%s' %s, expected a layout that is read",
                       attn_quote_string(file->path).text, layouts[i].what);
        attn_error_hint(err, "%s", layouts[i].hint);
        return ATTN_UNSUPPORTED;
    }
    return ATTN_OK;
}

enum attn_status attn_foreign_refuse(const struct attn_tensor_files *files, struct attn_error *err)
{
    return refuse_layout(&files->shards[0].file, files, err);
}

/* Refuses the file NAME of FOLDER by its bytes, if they are known. */
static enum attn_status refuse_bytes(const char *folder, const char *name, struct attn_error *err)
{
    char path[ATTN_PATH_SIZE];
    struct attn_file file = {0};
    enum attn_status status = ATTN_OK;

    if (attn_path_join(folder, name, path) &&
        attn_file_open_regular(path, ATTN_MAP, &file, NULL) == ATTN_OK)
        status = refuse_layout(&file, NULL, err);
    attn_file_release(&file);
    return status;
}

/* Copies to NAME the last of the names in FOLDER, by the number in it, that are BEFORE, anything
 * and END. */
static bool find_between(const char *folder, const char *before, const char *end,
                         char name[ATTN_OPENER_NAME_SIZE])
{
    struct attn_path_names names = {0};
    unsigned long most = 0;
    bool is_found = false;

    if (attn_path_list(folder, &names, NULL) == ATTN_OK)
        for (size_t i = 0; i < names.n; i++) {
            const char *own = names.names[i], *rest = own + strlen(before);
            const size_t size = strlen(own), n = strlen(before) + strlen(end);

            if (size <= n || size >= ATTN_OPENER_NAME_SIZE ||
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

/* Refuses a directory whose model is the file PATH, the name of which is NAME, or is in it. */
static enum attn_status refuse_inner(const struct attn_quote *folder, const char *name,
                                     const char *path, struct attn_error *err)
{
    attn_error_set(err, ATTN_UNSUPPORTED, "'%s' has no model here, but in '%s'", folder->text,
                   attn_quote_string(name).text);
    attn_error_hint(err, "-m %s", attn_quote_string(path).text);
    return ATTN_UNSUPPORTED;
}

/* Refuses what a directory has instead of a model that is read, if it is known. */
static enum attn_status check_others(const struct attn_source *source, struct attn_error *err)
{
    const struct attn_quote folder = attn_quote_string(source->directory);
    static const char *const folders[] = {"", "/checkpoints"}; /* of Lightning */
    char name[ATTN_OPENER_NAME_SIZE], path[ATTN_PATH_SIZE], inner[ATTN_PATH_SIZE];

    if (!attn_source_has_part(source, "config.json") &&
        find_between(source->directory, "checkpoint-", "", name) &&
        attn_path_join(source->directory, name, path) &&
        attn_source_has_part(&(struct attn_source){.directory = path}, "config.json"))
        return refuse_inner(&folder, name, path, err);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (snprintf(inner, sizeof inner, "%s%s", source->directory, folders[i]) <
                (int)sizeof inner &&
            find_between(inner, "", ".ckpt", name) && attn_path_join(inner, name, path))
            return refuse_inner(&folder, name, path, err);
    if (find_between(source->directory, "model.", ".safetensors", name)) {
        attn_error_set(err, ATTN_UNSUPPORTED, "'%s' has only the variant '%s'", folder.text,
                       attn_quote_string(name).text);
        attn_error_hint(err, "ln -s %s %s/model.safetensors", name, folder.text);
        return ATTN_UNSUPPORTED;
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (!attn_source_has_part(source, others[i].name))
            continue;
        ATTN_TRY(refuse_bytes(source->directory, others[i].name, err));
        attn_refuse_in(err, ATTN_UNSUPPORTED, source->directory, others[i].name,
                       "%s, expected model.safetensors", others[i].what);
        if (others[i].hint)
            attn_error_hint(err, "%s", others[i].hint);
        return ATTN_UNSUPPORTED;
    }
    return ATTN_OK;
}

/* Whether PATH is a GGUF file with directions to steer by; its architecture comes first. */
static bool is_control_vector(const char *path)
{
    static const char name[] = "controlvector";
    struct attn_file file = {0};
    bool is_it = attn_file_open_regular(path, ATTN_MAP, &file, NULL) == ATTN_OK;

    is_it = is_it && memmem(file.data, file.size < 4096 ? file.size : 4096, name, strlen(name));
    attn_file_release(&file);
    return is_it;
}

enum attn_status attn_foreign_refuse_adapter(const char *path, struct attn_error *err)
{
    const struct attn_quote quote = attn_quote_string(path);
    const struct attn_source source = {.directory = path};

    if (!attn_path_is_folder(path)) {
        attn_error_set(err, ATTN_UNSUPPORTED,
                       "'%s' is a file, expected the folder of an adapter as peft saves it",
                       quote.text);
        if (is_control_vector(path))
            attn_error_hint(err, ATTN_FOREIGN_DIRECTIONS, path);
        attn_error_hint(err, attn_path_has_ending(path, ".gguf") ? ATTN_FOREIGN_MERGE_GGUF
                                                                 : ATTN_FOREIGN_ADAPTER);
        return ATTN_UNSUPPORTED;
    }
    if (!attn_source_has_part(&source, "adapters.safetensors") ||
        attn_source_has_part(&source, "adapter_model.safetensors"))
        return ATTN_OK;
    attn_error_set(err, ATTN_UNSUPPORTED, "'%s' holds an adapter of MLX, which is not read",
                   quote.text);
    attn_error_hint(err, "mlx_lm.fuse merges it with its model into a directory that is read");
    return ATTN_UNSUPPORTED;
}

enum attn_status attn_foreign_check(const struct attn_source *source, struct attn_error *err)
{
    const char *folder = source->directory;
    char file[ATTN_OPENER_NAME_SIZE];

    if (!folder)
        return ATTN_OK;
    if (attn_source_has_part(source, ADAPTER)) {
        if (attn_path_is_folder(folder))
            ATTN_TRY(attn_foreign_refuse_adapter(folder, err));
        /* The folder holds an adapter of PEFT: changes to the weights of another model. */
        attn_error_set(err, ATTN_UNSUPPORTED,
                       "'%s' holds an adapter (" ADAPTER "), expected a whole model",
                       attn_quote_string(folder).text);
        attn_error_hint(err, "-m with its base model and `adapter` with this folder, or merge both "
                             "with peft: merge_and_unload(), then save_pretrained()");
        return ATTN_UNSUPPORTED;
    }
    if (!attn_source_has_part(source, "config.json") &&
        !attn_source_has_part(source, "consolidated.00.pth") &&
        (attn_tensor_files_are_in(source) || attn_foreign_find(source, file))) {
        attn_error_set(err, ATTN_FORMAT, "'config.json' is missing in '%s', which has weights",
                       attn_quote_string(folder).text);
        attn_error_hint(
            err, "fetch the config.json that belongs to them; a checkpoint of nanoGPT and its "
                 "kin is read without one, as -m FILE.pt");
        return ATTN_FORMAT;
    }
    return check_others(source, err);
}
