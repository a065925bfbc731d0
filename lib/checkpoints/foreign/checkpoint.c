#include "foreign/checkpoint.h"

#include "base/dtype_internal.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/path.h"
#include "foreign/foreign.h"
#include "foreign/pickle.h"
#include "foreign/torch.h"
#include "foreign/trained.h"
#include "formats/tensor_files_internal.h"
#include "gguf/gguf.h"

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

/* --- Files of PyTorch ------------------------------------------------------------------------- */

static enum attn_status read_torch(struct attn_file *file, const struct attn_json *own,
                                   struct attn_opened *opened, struct attn_error *err)
{
    struct attn_pickle *pickle;
    enum attn_status status;
    bool is_late;

    ATTN_TRY(attn_torch_take(file, &opened->files, &pickle, &is_late, err));
    status = attn_trained_read(pickle, is_late, own, opened, err);
    attn_pickle_free(pickle);
    return status;
}

/* --- llama2.c and llm.c ----------------------------------------------------------------------- */

enum { D, F, LAYERS, HEADS, KEYS, VOCAB, POSITIONS, N_INT, K_WIDTH = N_INT, QKV, PADDED, N_SIZE };

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

/* The same of llm.c. Of the rows of PADDED the first VOCAB are tokens. */
static const struct llama_row llmc_rows[] = {
    {"transformer.wte.weight", PADDED, D},
    {"transformer.wpe.weight", POSITIONS, D},
    {"transformer.h.#.ln_1.weight", D, N_SIZE},
    {"transformer.h.#.ln_1.bias", D, N_SIZE},
    {"transformer.h.#.attn.c_attn.weight", QKV, D},
    {"transformer.h.#.attn.c_attn.bias", QKV, N_SIZE},
    {"transformer.h.#.attn.c_proj.weight", D, D},
    {"transformer.h.#.attn.c_proj.bias", D, N_SIZE},
    {"transformer.h.#.ln_2.weight", D, N_SIZE},
    {"transformer.h.#.ln_2.bias", D, N_SIZE},
    {"transformer.h.#.mlp.c_fc.weight", F, D},
    {"transformer.h.#.mlp.c_fc.bias", F, N_SIZE},
    {"transformer.h.#.mlp.c_proj.weight", D, F},
    {"transformer.h.#.mlp.c_proj.bias", D, N_SIZE},
    {"transformer.ln_f.weight", D, N_SIZE},
    {"transformer.ln_f.bias", D, N_SIZE},
};

struct llama {
    const struct attn_file *file;
    const struct llama_row *rows; /* [n_row] */
    size_t n_row, begin;          /* the offset of the first */
    enum attn_dtype dtype;
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
    return strcmp(row->name ? row->name : "", "output.weight") == 0 && !llama->has_output;
}

/* Adds tensor number LAYER of ROW, whose data begin at byte AT, to FILES. */
static void add_tensor(const struct llama *llama, const struct llama_row *row, size_t layer,
                       size_t at, struct attn_tensor_files *files, char **text)
{
    struct attn_tensor_record *record = &files->records[files->count++];
    const bool is_vector = row->columns == N_SIZE;
    const int before = (int)strcspn(row->name, "#");
    const size_t shape[] = {llama->sizes[row->rows == PADDED ? VOCAB : row->rows],
                            is_vector ? 1 : llama->sizes[row->columns]};
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
    record->dtype = (unsigned char)llama->dtype;
    record->rank = (unsigned char)(2 - is_vector);
    record->offset = at;
    record->n_byte = attn_dtype_n_byte(llama->dtype, shape[0] * shape[1]);
}

static enum attn_status list_tensors(const struct llama *llama, struct attn_tensor_files *files,
                                     struct attn_error *err)
{
    const size_t most = llama->n_row * llama->sizes[LAYERS];
    size_t at = llama->begin;
    char *text;

    for (size_t i = 0; i < llama->n_row;
         i++) { /* 2^48 elements of 4 bytes in 4096 layers: no overflow */
        const size_t n = is_absent(llama, &llama->rows[i]) ? 0 : n_of_row(llama, &llama->rows[i]);

        at += attn_dtype_n_byte(llama->dtype, n * n_repeat(llama, &llama->rows[i]));
        if (at > llama->file->size)
            return attn_error_set(err, ATTN_FORMAT,
                                  "'%s' has %zu bytes, and the model of %s that its first numbers "
                                  "describe has more",
                                  attn_quote_string(llama->file->path).text, llama->file->size,
                                  files->format);
    }
    if (at != llama->file->size)
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' has %zu bytes, and the model of %s that its first numbers "
                              "describe has %zu",
                              attn_quote_string(llama->file->path).text, llama->file->size,
                              files->format, at);
    ATTN_TRY(ATTN_ALLOC(files->records, most, err));
    ATTN_TRY(ATTN_NEW(text, attn_alloc(most, (size_t)2 * NAME_SIZE, err)));
    files->shards[0].text = text;
    at = llama->begin;
    for (size_t i = 0; i < llama->n_row; i++) {
        const struct llama_row *row = &llama->rows[i];
        const size_t n = is_absent(llama, row) ? 0 : n_repeat(llama, row);

        for (size_t k = 0; k < n; k++, at += attn_dtype_n_byte(llama->dtype, n_of_row(llama, row)))
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
    return attn_error_set(
        err, ATTN_FORMAT,
        "'%s' is neither a checkpoint of torch.save nor a model of llama2.c or llm.c", path.text);
}

static enum attn_status read_llama(struct attn_tensor_files *files, struct attn_buffer *config,
                                   struct attn_error *err)
{
    struct llama llama = {.file = &files->shards[0].file,
                          .rows = llama_rows,
                          .n_row = sizeof llama_rows / sizeof *llama_rows,
                          .begin = N_INT * sizeof(int32_t),
                          .dtype = ATTN_DTYPE_F32};
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

/* --- llm.c ------------------------------------------------------------------------------------ */

enum { LLMC = 20240326, LLMC_LLAMA = 20240803, LLMC_STATE = 20240327, N_HEADER = 256 };

/* Reads a file that begins as those of llm.c do. */
static enum attn_status read_llmc(struct attn_opened *opened, const struct attn_json *own,
                                  struct attn_error *err)
{
    static const char *const names[][2] = {{"block_size", "n_positions"},
                                           {"vocab_size", "vocab_size"},
                                           {"n_layer", "n_layers"},
                                           {"n_head", "n_heads"},
                                           {"n_embd", "emb_dim"}};
    static const int of_header[] = {POSITIONS, VOCAB, LAYERS, HEADS, D, PADDED};
    struct llama llama = {.file = &opened->files->shards[0].file,
                          .rows = llmc_rows,
                          .n_row = sizeof llmc_rows / sizeof *llmc_rows,
                          .begin = N_HEADER * sizeof(int32_t)};
    const struct attn_quote path = attn_quote_string(llama.file->path);
    int32_t header[N_HEADER];
    size_t *sizes = llama.sizes;

    opened->files->format = "llm.c";
    if (llama.file->size < sizeof header)
        return attn_error_set(err, ATTN_FORMAT, "'%s' is cut: it ends in the header of llm.c",
                              path.text);
    memcpy(header, llama.file->data, sizeof header);
    if (header[0] != LLMC || (header[1] != 3 && header[1] != 5)) {
        attn_error_set(err, ATTN_UNSUPPORTED,
                       "'%s' is %s of llm.c, of version %d, expected a GPT-2 of version 3 or 5",
                       path.text,
                       header[0] == LLMC_STATE   ? "a state of a training"
                       : header[0] == LLMC_LLAMA ? "a Llama 3"
                                                 : "a model",
                       (int)header[1]);
        attn_error_hint(err, "dev/eval/export_hf.py of llm.c writes a folder that is read");
        return ATTN_UNSUPPORTED;
    }
    llama.dtype = header[1] == 3 ? ATTN_DTYPE_F32 : ATTN_DTYPE_BF16;
    for (size_t i = 0; i < sizeof of_header / sizeof *of_header; i++) {
        if (header[2 + i] < 1 || header[2 + i] > MOST_SIZE)
            return attn_error_set(err, ATTN_FORMAT, "size %zu in the header of '%s' is %d", i,
                                  path.text, (int)header[2 + i]);
        sizes[of_header[i]] = (size_t)header[2 + i];
        if (i < sizeof names / sizeof *names)
            ATTN_TRY(attn_trained_size(own, names[i], &sizes[of_header[i]], err));
    }
    if (sizes[LAYERS] > MOST_LAYERS || sizes[PADDED] < sizes[VOCAB])
        return attn_error_set(err, ATTN_FORMAT,
                              "the header of '%s' has %zu layers, and %zu tokens "
                              "in %zu rows",
                              path.text, sizes[LAYERS], sizes[VOCAB], sizes[PADDED]);
    sizes[F] = 4 * sizes[D];
    sizes[QKV] = 3 * sizes[D];
    ATTN_TRY(list_tensors(&llama, opened->files, err));
    attn_buffer_append_format(
        &opened->config,
        "{\"model_type\":\"nanogpt\",\"activation_function\":\"gelu_new\",\"n_layer\":%zu,"
        "\"n_head\":%zu,\"n_embd\":%zu,\"n_positions\":%zu,\"vocab_size\":%zu}",
        sizes[LAYERS], sizes[HEADS], sizes[D], sizes[POSITIONS], sizes[VOCAB]);
    return attn_buffer_check(&opened->config, err);
}

/* --- The opener ------------------------------------------------------------------------------- */

static bool is_llmc(const struct attn_file *file)
{
    int32_t magic = 0;

    if (file->size >= sizeof magic)
        memcpy(&magic, file->data, sizeof magic);
    return magic == LLMC || magic == LLMC_LLAMA || magic == LLMC_STATE;
}

static enum attn_status read_file(const struct attn_source *source, const struct attn_json *own,
                                  enum attn_load load, struct attn_opened *opened,
                                  struct attn_error *err)
{
    struct attn_file file = {0};

    ATTN_TRY(attn_file_open_part(source, ATTN_CHECKPOINT_PART, load, &file, err));
    if (attn_torch_is_file(&file))
        return read_torch(&file, own, opened, err);
    opened->files = attn_tensor_files_create(1, err);
    if (!opened->files) {
        attn_file_release(&file);
        return ATTN_NO_MEMORY;
    }
    opened->files->shards[0].file = file;
    if (is_llmc(&file))
        return read_llmc(opened, own, err);
    opened->is_named_as_bundle = true;
    return read_llama(opened->files, &opened->config, err);
}

static enum attn_status read_parts(const struct attn_source *source, enum attn_load load,
                                   struct attn_opened *opened, struct attn_error *err)
{
    static const char config[] = "config.json";
    struct attn_json *own = NULL;
    enum attn_status status;

    if (attn_source_override(source, config))
        ATTN_TRY(attn_json_read_part(source, config, NULL, &own, err));
    status = read_file(source, own, load, opened, err);
    attn_json_free(own);
    return status;
}

const struct attn_opener attn_opener_checkpoint = {
    .part = ATTN_CHECKPOINT_PART,
    .kind = "checkpoint",
    .takes_config = true,
    .is_model = is_model,
    .read = read_parts,
    .vocabulary_hint = "`vocab` meta.pkl, nanochat's tokenizer.pkl, or llama2.c's tokenizer.bin, "
                       "or GPT-2's vocab.json with its merges.txt beside it; `ids` needs none"};
