/* checkpoint.c - see checkpoint.h. */
#include "foreign/checkpoint.h"

#include "base/dtype_internal.h"
#include "base/escape.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/status_internal.h"
#include "foreign/foreign.h"
#include "foreign/pickle.h"
#include "foreign/torch.h"
#include "formats/gguf.h"
#include "formats/tensor_files_internal.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether the directory of SOURCE is that of a live page; a folder of the name is DeepSpeed's. */
static bool is_of_page(const struct attn_source *source)
{
    char path[ATTN_PATH_SIZE];

    return attn_source_has_part(source, ATTN_CHECKPOINT_PART) &&
           !attn_source_has_part(source, "config.json") &&
           attn_path_join(source->directory, ATTN_CHECKPOINT_PART, path) &&
           !attn_path_is_folder(path);
}

static bool is_model(const struct attn_source *source)
{
    return !attn_gguf_is_source(source) &&
           (attn_source_override(source, ATTN_CHECKPOINT_PART) ||
            attn_source_blob(source, ATTN_CHECKPOINT_PART) || is_of_page(source));
}

/* --- nanoGPT ---------------------------------------------------------------------------------- */

/* Appends the config of PICKLE, the object of the file. */
static enum attn_status write_nanogpt(const struct attn_pickle *pickle, struct attn_opened *opened,
                                      struct attn_error *err)
{
    struct attn_buffer *config = &opened->config;
    const char *path = attn_tensor_files_path(opened->files, 0);
    static const char *const names[][2] = {{"n_layer", "n_layer"},
                                           {"n_head", "n_head"},
                                           {"n_embd", "n_embd"},
                                           {"block_size", "n_positions"},
                                           {"vocab_size", "vocab_size"}};
    const attn_pickle_value args = attn_pickle_find(pickle, attn_pickle_root(pickle), "model_args");
    int64_t number = 1;

    ATTN_TRY(attn_foreign_refuse(opened->files, err));
    if (attn_pickle_find(pickle, attn_pickle_root(pickle), "pytorch-lightning_version") !=
        ATTN_PICKLE_NONE) {
        attn_error_set(err, ATTN_UNSUPPORTED,
                       "'%s' is a checkpoint of Lightning, expected a layout that is read",
                       attn_quote_string(path).text);
        attn_error_hint(err,
                        "torch.save({k.removeprefix('model.'): v for k, v in torch.load('%s')"
                        "['state_dict'].items()}, 'pytorch_model.bin') beside the model's "
                        "config.json; 'model' is what its LightningModule calls it",
                        attn_quote_string(path).text);
        return ATTN_UNSUPPORTED;
    }
    if (attn_pickle_type(pickle, args) != ATTN_PICKLE_DICT) {
        attn_error_set(err, ATTN_UNSUPPORTED,
                       "'%s' has no 'model_args': it is no checkpoint of nanoGPT, whose sizes are "
                       "in the file",
                       attn_quote_string(path).text);
        attn_error_hint(err, "give the directory that holds it and the config.json of its model");
        return ATTN_UNSUPPORTED;
    }
    attn_buffer_append_string(config, "{\"model_type\":\"nanogpt\"");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!attn_pickle_int(pickle, attn_pickle_find(pickle, args, names[i][0]), &number))
            return attn_error_set(err, ATTN_FORMAT,
                                  "'%s' of 'model_args' in '%s' is missing or no integer",
                                  names[i][0], attn_quote_string(path).text);
        attn_buffer_append_format(config, ",\"%s\":", names[i][1]);
        attn_buffer_append_integer(config, number);
    }
    /* Before there was this choice, which is older than the exact GELU, GELU was that of tanh. */
    if (attn_pickle_find(pickle, args, "bias") == ATTN_PICKLE_NONE)
        attn_buffer_append_string(config, ",\"activation_function\":\"gelu_new\"");
    else
        opened->note = "is read with the exact GELU; nanoGPT before 17 May 2023 used that of tanh, "
                       "and files do not say which";
    number = 1; /* before there was a choice, every map had a bias */
    attn_pickle_int(pickle, attn_pickle_find(pickle, args, "bias"), &number);
    attn_buffer_append_format(config, ",\"bias\":%s}", number != 0 ? "true" : "false");
    return attn_buffer_check(config, err);
}

static enum attn_status read_nanogpt(struct attn_file *file, struct attn_opened *opened,
                                     struct attn_error *err)
{
    struct attn_pickle *pickle;
    enum attn_status status;

    ATTN_TRY(attn_torch_take(file, &opened->files, &pickle, err));
    status = write_nanogpt(pickle, opened, err);
    attn_pickle_free(pickle);
    return status;
}

/* --- llama2.c --------------------------------------------------------------------------------- */

enum { D, F, LAYERS, HEADS, KEYS, VOCAB, POSITIONS, N_INT, K_WIDTH = N_INT, N_SIZE };

enum { MOST_LAYERS = 4096, MOST_SIZE = 1 << 24, NAME_SIZE = 40 };

/* The tensors in the order of the file: # stands for the layer, rows and columns are of the sizes
 * above; a column of N_SIZE: the tensor is a vector. */
static const struct llama_row {
    const char *name;
    int rows, columns;
} llama_rows[] = {
    {"token_embd.weight", VOCAB, D},      {"blk.#.attn_norm.weight", D, N_SIZE},
    {"blk.#.attn_q.weight", D, D},        {"blk.#.attn_k.weight", K_WIDTH, D},
    {"blk.#.attn_v.weight", K_WIDTH, D},  {"blk.#.attn_output.weight", D, D},
    {"blk.#.ffn_norm.weight", D, N_SIZE}, {"blk.#.ffn_gate.weight", F, D},
    {"blk.#.ffn_down.weight", D, F},      {"blk.#.ffn_up.weight", F, D},
    {"output_norm.weight", D, N_SIZE},    {NULL, POSITIONS, D},
    {"output.weight", VOCAB, D},
};

enum { N_ROW = sizeof llama_rows / sizeof *llama_rows };

struct llama {
    const struct attn_file *file;
    size_t sizes[N_SIZE];
    bool has_output;
};

/* Reads the seven numbers. False if they cannot be those of a model. */
static bool read_sizes(struct llama *llama)
{
    int32_t numbers[N_INT];
    size_t *sizes = llama->sizes;

    if (llama->file->size < sizeof numbers)
        return false;
    memcpy(numbers, llama->file->data, sizeof numbers);
    llama->has_output = numbers[VOCAB] < 0;
    for (int i = 0; i < N_INT; i++) {
        const int64_t number = i == VOCAB ? llabs((long long)numbers[i]) : numbers[i];

        if (number < 1 || number > MOST_SIZE)
            return false;
        sizes[i] = (size_t)number;
    }
    if (sizes[LAYERS] > MOST_LAYERS || sizes[D] % sizes[HEADS] != 0 ||
        sizes[HEADS] % sizes[KEYS] != 0 || sizes[D] / sizes[HEADS] % 2 != 0)
        return false;
    sizes[K_WIDTH] = sizes[D] / sizes[HEADS] * sizes[KEYS];
    return true;
}

/* Returns the elements of a row of the table: for the rotations a half of each head, twice. */
static size_t n_of_row(const struct llama *llama, const struct llama_row *row)
{
    const size_t *sizes = llama->sizes;

    if (!row->name)
        return sizes[POSITIONS] * (sizes[D] / sizes[HEADS]);
    return sizes[row->rows] * (row->columns == N_SIZE ? 1 : sizes[row->columns]);
}

static size_t n_repeat(const struct llama *llama, const struct llama_row *row)
{
    return row->name && strchr(row->name, '#') ? llama->sizes[LAYERS] : 1;
}

static bool is_absent(const struct llama *llama, const struct llama_row *row)
{
    return row == &llama_rows[N_ROW - 1] && !llama->has_output;
}

/* Adds tensor number LAYER of ROW, whose data begin at byte AT, to FILES. */
static void add_tensor(const struct llama *llama, const struct llama_row *row, size_t layer,
                       size_t at, struct attn_tensor_files *files, char **text)
{
    struct attn_tensor_record *record = &files->records[files->count++];
    const bool is_vector = row->columns == N_SIZE;
    const int before = (int)strcspn(row->name, "#");
    const size_t shape[] = {llama->sizes[row->rows], is_vector ? 0 : llama->sizes[row->columns]};
    char shape_text[ATTN_SHAPE_TEXT_SIZE];

    if (row->name[before] == '#')
        snprintf(*text, NAME_SIZE, "%.*s%zu%s", before, row->name, layer, row->name + before + 1);
    else
        snprintf(*text, NAME_SIZE, "%s", row->name);
    record->name = *text;
    record->name_size = strlen(*text);
    snprintf(*text + NAME_SIZE, NAME_SIZE, "%s", attn_shape_text(2 - is_vector, shape, shape_text));
    record->shape = *text + NAME_SIZE;
    *text += (size_t)2 * NAME_SIZE;
    record->dtype = ATTN_DTYPE_F32;
    record->rank = (unsigned char)(2 - is_vector);
    record->offset = at;
    record->n_byte = n_of_row(llama, row) * sizeof(float);
}

static enum attn_status list_tensors(const struct llama *llama, struct attn_tensor_files *files,
                                     struct attn_error *err)
{
    const size_t most = N_ROW * llama->sizes[LAYERS];
    size_t at = N_INT * sizeof(int32_t);
    char *text;

    for (size_t i = 0; i < N_ROW; i++) { /* 2^48 elements of 4 bytes in 4096 layers: no overflow */
        const size_t n = is_absent(llama, &llama_rows[i]) ? 0 : n_of_row(llama, &llama_rows[i]);

        at += n * n_repeat(llama, &llama_rows[i]) * sizeof(float);
        if (at > llama->file->size)
            return attn_error_set(err, ATTN_FORMAT,
                                  "'%s' has %zu bytes, and the model that its first numbers "
                                  "describe has more",
                                  attn_quote_string(llama->file->path).text, llama->file->size);
    }
    if (at != llama->file->size)
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' has %zu bytes, and the model that its first numbers describe "
                              "has %zu",
                              attn_quote_string(llama->file->path).text, llama->file->size, at);
    ATTN_TRY(ATTN_ALLOC(files->records, most, err));
    files->shards[0].text = text = attn_alloc(most, (size_t)2 * NAME_SIZE, err);
    if (!text)
        return ATTN_NO_MEMORY;
    at = N_INT * sizeof(int32_t);
    for (size_t i = 0; i < N_ROW; i++) {
        const struct llama_row *row = &llama_rows[i];
        const size_t n = is_absent(llama, row) ? 0 : n_repeat(llama, row);

        for (size_t k = 0; k < n; k++, at += n_of_row(llama, row) * sizeof(float))
            if (row->name)
                add_tensor(llama, row, k, at, files, &text);
    }
    qsort(files->records, files->count, sizeof *files->records, attn_tensor_compare_names);
    return ATTN_OK;
}

/* Refuses a file that is not of version 0. */
static enum attn_status refuse_llama(const struct attn_tensor_files *files, struct attn_error *err)
{
    const struct attn_file *file = &files->shards[0].file;
    static const char magic[] = "24ka"; /* 0x616b3432, little-endian */
    const struct attn_quote path = attn_quote_string(file->path);

    ATTN_TRY(attn_file_check_kind(file, false, err));
    ATTN_TRY(attn_foreign_refuse(files, err));
    if (file->size >= 8 && memcmp(file->data, magic, strlen(magic)) == 0) {
        attn_error_set(err, ATTN_UNSUPPORTED,
                       "'%s' is of version %d of llama2.c, expected version 0", path.text,
                       (int)file->data[4]);
        attn_error_hint(err, "export.py of llama2.c writes version 0, too");
        return ATTN_UNSUPPORTED;
    }
    return attn_error_set(err, ATTN_FORMAT,
                          "'%s' is neither a checkpoint of nanoGPT nor a model of llama2.c",
                          path.text);
}

static enum attn_status read_llama(struct attn_tensor_files *files, struct attn_buffer *config,
                                   struct attn_error *err)
{
    struct llama llama = {.file = &files->shards[0].file};
    const size_t *sizes = llama.sizes;

    files->format = "llama2.c";
    if (!read_sizes(&llama))
        return refuse_llama(files, err);
    ATTN_TRY(list_tensors(&llama, files, err));
    attn_buffer_append_format(
        config,
        "{\"model_type\":\"llama\",\"hidden_size\":%zu,\"intermediate_size\":%zu,"
        "\"num_hidden_layers\":%zu,\"num_attention_heads\":%zu,\"num_key_value_heads\":%zu,"
        "\"vocab_size\":%zu,\"max_position_embeddings\":%zu,\"rms_norm_eps\":1e-5,"
        "\"rope_theta\":10000.0,\"bos_token_id\":1,\"eos_token_id\":1,"
        "\"tie_word_embeddings\":%s}",
        sizes[D], sizes[F], sizes[LAYERS], sizes[HEADS], sizes[KEYS], sizes[VOCAB],
        sizes[POSITIONS], llama.has_output ? "false" : "true");
    return attn_buffer_check(config, err);
}

static enum attn_status read_parts(const struct attn_source *source, enum attn_load load,
                                   struct attn_opened *opened, struct attn_error *err)
{
    struct attn_file file = {0};

    ATTN_TRY(attn_file_open_part(source, ATTN_CHECKPOINT_PART, load, &file, err));
    opened->has_gguf_names = !attn_torch_is_file(&file);
    if (!opened->has_gguf_names)
        return read_nanogpt(&file, opened, err);
    opened->files = attn_tensor_files_create(1, err);
    if (!opened->files) {
        attn_file_release(&file);
        return ATTN_NO_MEMORY;
    }
    opened->files->shards[0].file = file;
    return read_llama(opened->files, &opened->config, err);
}

const struct attn_opener attn_opener_checkpoint = {
    .part = ATTN_CHECKPOINT_PART,
    .kind = "checkpoint",
    .is_model = is_model,
    .read = read_parts,
    .vocabulary_hint = "`vocab` meta.pkl, or llama2.c's tokenizer.bin, or GPT-2's vocab.json "
                       "with its merges.txt beside it; `ids` needs none"};
