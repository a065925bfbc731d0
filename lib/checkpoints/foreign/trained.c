#include "foreign/trained.h"

#include "base/memory.h"
#include "base/os/os.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/path.h"
#include "foreign/foreign.h"
#include "foreign/torch.h"
#include "formats/float_text.h"
#include "formats/tensor_files_internal.h"

#include <stdio.h>
#include <string.h>

enum { LAYERS, HEADS, WIDTH, POSITIONS, VOCABULARY, N_SIZE };

enum { MOST_LAYERS = 4096, MOST_SIZE = 1 << 24, NAME_SIZE = 48 };

/* What programs call the sizes, and the first of these the config that is written. */
static const char *const keys[N_SIZE][2] = {{"n_layer", "n_layers"},
                                            {"n_head", "n_heads"},
                                            {"n_embd", "emb_dim"},
                                            {"block_size", "context_length"},
                                            {"vocab_size", "vocab_size"}};

struct trained {
    const struct attn_pickle *pickle;
    attn_pickle_value root, args; /* the object, and the sizes in it */
    const char *args_name;
    bool is_late; /* written after May 2023 */
    const struct attn_json *own;
    struct attn_opened *opened;
    struct attn_quote path;
    size_t sizes[N_SIZE]; /* 0: not known */
    struct attn_error *err;
};

/* --- Tensors ---------------------------------------------------------------------------------- */

/* Removes what compiled and parallel models put in front of NAME. */
static size_t wrap_of(const char *name)
{
    static const char *const wraps[] = {"module.", "_orig_mod.", "_forward_module."};
    size_t n = 0;

    for (size_t i = 0; i < sizeof wraps / sizeof *wraps; i++)
        for (; strncmp(name + n, wraps[i], strlen(wraps[i])) == 0; i = 0)
            n += strlen(wraps[i]);
    return n;
}

static enum attn_status strip_names(const struct trained *t)
{
    const struct attn_tensor_files *files = t->opened->files;

    for (size_t i = 0; i < files->count; i++) {
        const size_t n = wrap_of(files->records[i].name);

        files->records[i].name += n;
        files->records[i].name_size -= n;
    }
    return attn_torch_sort(files, t->err);
}

static const struct attn_tensor_record *find(const struct trained *t, const char *name)
{
    return attn_tensor_files_record(t->opened->files, name, strlen(name));
}

/* Returns dimension I of the matrix NAME; 0 if there is none. */
static size_t dimension(const struct trained *t, const char *name, int i)
{
    struct attn_tensor_entry entry;

    return attn_tensor_files_find(t->opened->files, name, &entry) && entry.tensor.rank == 2
               ? entry.tensor.shape[i]
               : 0;
}

/* Whether the two tensors are one matrix, or the second is absent. */
static bool are_tied(const struct trained *t, const char *embedding, const char *output)
{
    const struct attn_tensor_record *one = find(t, embedding), *other = find(t, output);

    return !other || (one && one->offset == other->offset && one->is_made == other->is_made &&
                      one->n_byte == other->n_byte);
}

/* Counts the layers that have the tensor whose name is BEFORE, a number, and AFTER. */
static size_t count_layers(const struct trained *t, const char *before, const char *after)
{
    char name[2 * NAME_SIZE];
    size_t n = 0;

    do
        snprintf(name, sizeof name, "%s%zu%s", before, n, after);
    while (find(t, name) && ++n < MOST_LAYERS);
    return n;
}

/* --- Sizes ------------------------------------------------------------------------------------ */

enum attn_status attn_trained_size(const struct attn_json *own, const char *const two[2],
                                   size_t *size, struct attn_error *err)
{
    for (int i = 0; own && i < 2; i++) {
        size_t given = *size;

        ATTN_TRY(attn_json_get_size(own, attn_json_root(own), two[i], 1, MOST_SIZE, &given, err));
        if (*size > 0 && given != *size)
            return ATTN_JSON_REFUSE(own, err, ATTN_INVALID, two[i],
                                    "is %zu, and the checkpoint has %zu", given, *size);
        *size = given;
    }
    return ATTN_OK;
}

/* Reads KEY of the sizes in the file as size I, which its tensors may tell, too. */
static enum attn_status read_arg(struct trained *t, const char *key, int i)
{
    const attn_pickle_value value = attn_pickle_find(t->pickle, t->args, key);
    int64_t number = 0;

    if (!attn_pickle_int(t->pickle, value, &number) || number < 1 || number > MOST_SIZE)
        return attn_error_set(t->err, ATTN_FORMAT, "'%s' of '%s' in '%s' is missing or no integer",
                              key, t->args_name, t->path.text);
    if (t->sizes[i] > 0 && t->sizes[i] != (size_t)number)
        return attn_error_set(t->err, ATTN_FORMAT,
                              "'%s' of '%s' in '%s' is %lld, and its tensors "
                              "have %zu",
                              key, t->args_name, t->path.text, (long long)number, t->sizes[i]);
    t->sizes[i] = (size_t)number;
    return ATTN_OK;
}

/* Finds the number of heads that the program has for these sizes. */
static bool assume_heads(struct trained *t, bool is_mingpt)
{
    static const struct {
        size_t width, layers, heads;
        bool is_mingpt;
    } usual[] = {{768, 12, 12, false},  {1024, 24, 16, false}, {1280, 36, 20, false},
                 {1600, 48, 25, false}, {48, 3, 3, true},      {128, 4, 4, true},
                 {192, 6, 6, true},     {512, 8, 16, true}};

    for (size_t i = 0; i < sizeof usual / sizeof *usual && t->sizes[HEADS] == 0; i++)
        if (usual[i].width == t->sizes[WIDTH] && usual[i].layers == t->sizes[LAYERS] &&
            (is_mingpt || !usual[i].is_mingpt)) {
            t->sizes[HEADS] = usual[i].heads;
            t->opened->note = "does not say how many heads there are: as many as its program has "
                              "for these sizes";
        }
    return t->sizes[HEADS] > 0;
}

/* Refuses what needs KEY of a config, of which LINE is the rest. */
static enum attn_status refuse_without(const struct trained *t, const char *what, const char *line)
{
    attn_error_set(t->err, ATTN_UNSUPPORTED, "'%s' %s", t->path.text, what);
    attn_error_hint(t->err, "echo '%s' >own.json, with the right values, and `config own.json`",
                    line);
    return ATTN_UNSUPPORTED;
}

/* Reads the user's sizes, and appends the config: TYPE, the sizes, the activation, which the user
 * may replace, and REST. */
static enum attn_status write_config(struct trained *t, const char *type, const char *act_fn,
                                     const char *rest)
{
    struct attn_buffer *config = &t->opened->config;

    if (t->own)
        ATTN_TRY(attn_json_get_string(t->own, attn_json_root(t->own), "activation_function",
                                      &act_fn, t->err));
    attn_buffer_append_format(config, "{\"model_type\":\"%s\"%s", type, rest);
    for (int i = 0; i < N_SIZE; i++)
        attn_buffer_append_format(config, ",\"%s\":%zu",
                                  i == POSITIONS ? "n_positions" : keys[i][0], t->sizes[i]);
    attn_buffer_append_string(config, ",\"activation_function\":");
    attn_json_append_string(config, act_fn, strlen(act_fn));
    attn_buffer_append_char(config, '}');
    return attn_buffer_check(config, t->err);
}

static enum attn_status read_own(struct trained *t)
{
    for (int i = 0; i < N_SIZE; i++)
        ATTN_TRY(attn_trained_size(t->own, keys[i], &t->sizes[i], t->err));
    return ATTN_OK;
}

/* --- GPT-2's block under nanoGPT's names ------------------------------------------------------ */

static const char embedding[] = "transformer.wte.weight", output[] = "lm_head.weight";

/* Reads the sizes that the tensors have. */
static void measure_gpt(struct trained *t)
{
    t->sizes[LAYERS] = count_layers(t, "transformer.h.", ".attn.c_attn.weight");
    t->sizes[WIDTH] = dimension(t, embedding, 1);
    t->sizes[VOCABULARY] = dimension(t, embedding, 0);
    t->sizes[POSITIONS] = dimension(t, "transformer.wpe.weight", 0);
}

/* nanoGPT. Before `bias` was a choice, which is older than the exact GELU, GELU was that of tanh,
 * and every map had a bias. */
static enum attn_status read_nanogpt(struct trained *t)
{
    const attn_pickle_value bias = attn_pickle_find(t->pickle, t->args, "bias");
    int64_t number = 1;

    for (int i = 0; i < N_SIZE; i++)
        ATTN_TRY(read_arg(t, keys[i][0], i));
    ATTN_TRY(read_own(t));
    if (bias != ATTN_PICKLE_NONE && !t->is_late &&
        !(t->own && attn_node_find(attn_json_root(t->own), "activation_function")))
        t->opened->note = "is read with the exact GELU; nanoGPT before 17 May 2023 used that of "
                          "tanh, and files do not say which";
    attn_pickle_int(t->pickle, bias, &number);
    return write_config(t, "nanogpt", bias == ATTN_PICKLE_NONE ? "gelu_new" : "gelu",
                        number != 0 ? ",\"bias\":true" : ",\"bias\":false");
}

/* build-nanogpt, whose config is an object of its script. */
static enum attn_status read_build(struct trained *t)
{
    measure_gpt(t);
    for (int i = 0; i < N_SIZE; i++)
        ATTN_TRY(read_arg(t, keys[i][0], i));
    ATTN_TRY(read_own(t));
    return write_config(t, "nanogpt", "gelu_new", "");
}

/* The weights alone: minGPT's, which has masks and an output of its own; or those of nanoGPT or
 * build-nanogpt, whose GELU differs. */
static enum attn_status read_weights(struct trained *t)
{
    const bool is_mingpt = find(t, "transformer.h.0.attn.bias") && !are_tied(t, embedding, output);
    const bool has_bias = find(t, "transformer.h.0.ln_1.bias");
    const struct attn_node *act_fn =
        t->own ? attn_node_find(attn_json_root(t->own), "activation_function") : NULL;

    measure_gpt(t);
    ATTN_TRY(read_own(t));
    if (!is_mingpt && (!act_fn || t->sizes[HEADS] == 0))
        return refuse_without(t,
                              "is weights alone, of nanoGPT (gelu) or build-nanogpt (gelu_new): "
                              "it has neither 'n_head' nor 'activation_function'",
                              "{\"n_head\": 12, \"activation_function\": \"gelu\"}");
    if (!assume_heads(t, true))
        return refuse_without(t, "is minGPT's, which saves no 'n_head'", "{\"n_head\": 4}");
    return write_config(t, "nanogpt", "gelu_new", has_bias ? "" : ",\"bias\":false");
}

/* --- LLMs-from-scratch ------------------------------------------------------------------------ */

static enum attn_status refuse_book(const struct trained *t, const char *what, const char *hint)
{
    attn_error_set(t->err, ATTN_UNSUPPORTED,
                   "'%s' is %s of LLMs-from-scratch, expected its GPTModel", t->path.text, what);
    attn_error_hint(t->err, "%s", hint);
    return ATTN_UNSUPPORTED;
}

static enum attn_status read_scratch(struct trained *t)
{
    static const char folder[] = "the folder of Hugging Face that its weights came from is read";

    if (!find(t, "pos_emb.weight"))
        return refuse_book(t, "the Llama, Qwen or Gemma", folder);
    if (!find(t, "trf_blocks.0.att.W_query.weight"))
        return refuse_book(t, "another form of the GPT, as GPTModelFast", folder);
    if (find(t, "out_head.bias"))
        return refuse_book(t, "a classifier of chapter 6", folder);
    t->sizes[LAYERS] = count_layers(t, "trf_blocks.", ".att.W_query.weight");
    t->sizes[WIDTH] = dimension(t, "tok_emb.weight", 1);
    t->sizes[VOCABULARY] = dimension(t, "tok_emb.weight", 0);
    t->sizes[POSITIONS] = dimension(t, "pos_emb.weight", 0);
    ATTN_TRY(read_own(t));
    if (!assume_heads(t, false))
        return refuse_without(t, "is of LLMs-from-scratch, which saves no 'n_heads'",
                              "{\"n_heads\": 4}");
    return write_config(t, "llms_from_scratch", "gelu_new",
                        find(t, "trf_blocks.0.att.W_query.bias") ? ",\"qkv_bias\":true"
                                                                 : ",\"qkv_bias\":false");
}

/* --- Other names ------------------------------------------------------------------------------ */

enum { MOST_PARTS = 9 };

/* What the tensors of a program are called, and under which names they are read. */
struct names {
    const char *whole[2][2];
    const char *before[2]; /* the number of a layer */
    const char *parts[MOST_PARTS][2];
};

/* Writes the new name of NAME to RENAMED. False: it stays. */
static bool rename_tensor(const struct names *names, const char *name, char renamed[NAME_SIZE])
{
    const size_t size = strlen(names->before[0]);
    const char *digits = strncmp(name, names->before[0], size) == 0 ? name + size : "";
    const int n_digit = (int)strspn(digits, "0123456789");
    const char *part = digits + n_digit;

    for (size_t i = 0; i < 2; i++)
        if (strcmp(name, names->whole[i][0]) == 0)
            return snprintf(renamed, NAME_SIZE, "%s", names->whole[i][1]) > 0;
    if (n_digit == 0 || n_digit > 4 || *part++ != '.')
        return false;
    for (size_t i = 0; i < MOST_PARTS && names->parts[i][0]; i++)
        if (strncmp(part, names->parts[i][0], strlen(names->parts[i][0])) == 0 &&
            strcmp(part + strlen(names->parts[i][0]), ".weight") == 0)
            return snprintf(renamed, NAME_SIZE, "%s%.*s.%s.weight", names->before[1], n_digit,
                            digits, names->parts[i][1]) > 0;
    return false;
}

/* Whether the tensor NAME has a row for each token. */
static bool is_of_tokens(const char *name)
{
    return strcmp(name, embedding) == 0 || strcmp(name, output) == 0 ||
           strncmp(name, "value_embeds.", strlen("value_embeds.")) == 0;
}

/* Gives all tensors but LEFT their new names, and of the matrices of tokens, of PADDED rows, the
 * first ROWS. */
static enum attn_status rename_all(struct trained *t, const struct names *names, const char *left,
                                   size_t padded, size_t rows)
{
    struct attn_tensor_files *files = t->opened->files;
    char *text = attn_alloc(files->count, (size_t)2 * NAME_SIZE, t->err),
         shape[ATTN_SHAPE_TEXT_SIZE];
    size_t n = 0;

    if (!text)
        return ATTN_NO_MEMORY;
    attn_free(files->names);
    files->names = text;
    for (size_t i = 0; i < files->count; i++, text += (size_t)2 * NAME_SIZE) {
        const struct attn_tensor tensor = attn_tensor_files_entry(files, i).tensor;
        struct attn_tensor_record record = files->records[i];
        const size_t cut[] = {rows, tensor.shape[1]};

        if (left && strcmp(record.name, left) == 0)
            continue;
        if (is_of_tokens(record.name) && tensor.rank == 2 && tensor.shape[0] == padded &&
            padded > rows && cut[1] > 0) {
            record.n_byte = attn_dtype_n_byte((enum attn_dtype)record.dtype, rows * cut[1]);
            snprintf(text + NAME_SIZE, NAME_SIZE, "%s", attn_shape_text(2, cut, shape));
            record.shape = text + NAME_SIZE;
        }
        if (rename_tensor(names, record.name, text)) {
            record.name = text;
            record.name_size = strlen(text);
        }
        files->records[n++] = record;
    }
    files->count = n;
    return attn_torch_sort(files, t->err);
}

/* --- llama2.c --------------------------------------------------------------------------------- */

/* The names are those of GGUF. */
static const struct names of_llama = {
    {{"tok_embeddings.weight", "token_embd.weight"}, {"norm.weight", "output_norm.weight"}},
    {"layers.", "blk."},
    {{"attention_norm", "attn_norm"},
     {"attention.wq", "attn_q"},
     {"attention.wk", "attn_k"},
     {"attention.wv", "attn_v"},
     {"attention.wo", "attn_output"},
     {"ffn_norm", "ffn_norm"},
     {"feed_forward.w1", "ffn_gate"},
     {"feed_forward.w2", "ffn_down"},
     {"feed_forward.w3", "ffn_up"}}};

static enum attn_status read_llama(struct trained *t)
{
    static const char *const args[N_SIZE] = {"n_layers", "n_heads", "dim", "max_seq_len",
                                             "vocab_size"};
    const bool is_tied = are_tied(t, "tok_embeddings.weight", "output.weight");
    const size_t wide = dimension(t, "layers.0.feed_forward.w1.weight", 0);
    const attn_pickle_value eps = attn_pickle_find(t->pickle, t->args, "norm_eps");
    double norm_eps = 1e-5;
    int64_t n_key = 0;

    t->sizes[LAYERS] = count_layers(t, "layers.", ".attention.wq.weight");
    t->sizes[WIDTH] = dimension(t, "tok_embeddings.weight", 1);
    t->sizes[VOCABULARY] = dimension(t, "tok_embeddings.weight", 0);
    for (int i = 0; i < N_SIZE; i++)
        ATTN_TRY(read_arg(t, args[i], i));
    ATTN_TRY(read_own(t));
    if (wide == 0)
        return attn_error_set(t->err, ATTN_FORMAT,
                              "'layers.0.feed_forward.w1.weight' in '%s' is missing or no matrix",
                              t->path.text);
    attn_pickle_int(t->pickle, attn_pickle_find(t->pickle, t->args, "n_kv_heads"), &n_key);
    if (eps != ATTN_PICKLE_NONE && !attn_pickle_real(t->pickle, eps, &norm_eps))
        return attn_error_set(t->err, ATTN_FORMAT,
                              "'norm_eps' of 'model_args' in '%s' is no number", t->path.text);
    ATTN_TRY(rename_all(t, &of_llama, is_tied ? "output.weight" : NULL, 0, 0));
    t->opened->is_named_as_bundle = true;
    attn_buffer_append_format(
        &t->opened->config,
        "{\"model_type\":\"llama\",\"hidden_size\":%zu,\"intermediate_size\":%zu,"
        "\"num_hidden_layers\":%zu,\"num_attention_heads\":%zu,\"num_key_value_heads\":%lld,"
        "\"vocab_size\":%zu,\"max_position_embeddings\":%zu,\"rope_theta\":10000.0,"
        "\"bos_token_id\":1,\"eos_token_id\":1,\"tie_word_embeddings\":%s,\"rms_norm_eps\":",
        t->sizes[WIDTH], wide, t->sizes[LAYERS], t->sizes[HEADS],
        n_key > 0 ? (long long)n_key : (long long)t->sizes[HEADS], t->sizes[VOCABULARY],
        t->sizes[POSITIONS], is_tied ? "true" : "false");
    attn_double_append(&t->opened->config, norm_eps);
    attn_buffer_append_char(&t->opened->config, '}');
    return attn_buffer_check(&t->opened->config, t->err);
}

/* --- nanochat --------------------------------------------------------------------------------- */

/* The names are those of transformers. */
static const struct names of_nanochat = {
    {{"transformer.wte.weight", "model.embed_tokens.weight"}, {"lm_head.weight", "lm_head.weight"}},
    {"transformer.h.", "model.layers."},
    {{"attn.c_q", "self_attn.q_proj"},
     {"attn.c_k", "self_attn.k_proj"},
     {"attn.c_v", "self_attn.v_proj"},
     {"attn.c_proj", "self_attn.o_proj"},
     {"attn.ve_gate", "self_attn.ve_gate"},
     {"mlp.c_fc", "mlp.fc1"},
     {"mlp.c_proj", "mlp.fc2"}}};

/* Parses the meta_NNNNNN.json beside the model_NNNNNN.pt that the file is. */
static enum attn_status read_meta(const struct trained *t, struct attn_json **meta)
{
    static const char before[] = "model_";
    const char *path = attn_tensor_files_path(t->opened->files, 0),
               *slash = attn_os_last_slash(path);
    const char *name = slash ? slash + 1 : path;
    const int n_digit =
        (int)strspn(name + strlen(before) * !strncmp(name, before, 6), "0123456789");
    char beside[ATTN_PATH_SIZE];
    const struct attn_override part = {"meta.json", beside};
    const struct attn_source source = {.overrides = &part, .n_override = 1};

    if (strncmp(name, before, strlen(before)) != 0 ||
        snprintf(beside, sizeof beside, "%.*smeta_%.*s.json", (int)(name - path), path, n_digit,
                 name + strlen(before)) >= ATTN_PATH_SIZE)
        return attn_error_set(t->err, ATTN_UNSUPPORTED,
                              "'%s' is of nanochat, expected it as model_NNNNNN.pt beside "
                              "meta_NNNNNN.json, which has its sizes",
                              t->path.text);
    return attn_json_read_part(&source, part.name, NULL, meta, t->err);
}

/* The versions of nanochat. Their constants are in no file: the tensors tell the version. */
static const struct nanochat {
    bool has_lambdas;
    size_t n_gate; /* components that gate value embeddings; 0: there are none */
    bool has_smear;
    double base, qk_scale, factor;
    size_t part, unit; /* the short window: 1 / part of the sequence, in whole units */
} nanochats[] = {
    {false, 0, false, 1e4, 1, 0, 0, 0},      /* October 2025 */
    {true, 0, false, 1e4, 1, 0, 2, 0},       /* 11 January 2026 */
    {true, 32, false, 1e4, 1, 2, 2, 0},      /* 16 January */
    {true, 12, false, 1e5, 1.15, 3, 3, 128}, /* 9 March */
    {true, 12, true, 1e5, 1.2, 3, 4, 128},   /* 14 March */
};

/* The tensors that versions of 2026 have beside the first, and the new names of the gates. */
static bool is_of_2026(const char *name)
{
    static const char *const names[] = {"resid_lambdas", "x0_lambdas", "smear_lambda",
                                        "smear_gate.weight", "backout_lambda"};
    char layer[NAME_SIZE];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return sscanf(name, "value_embeds.%4[0-9].weight", layer) == 1 ||
           strstr(name, ".attn.ve_gate.weight");
}

/* Returns the version that the tensors tell; NULL: none. */
static const struct nanochat *find_nanochat(const struct trained *t)
{
    const bool has_lambdas = find(t, "resid_lambdas") && find(t, "x0_lambdas");
    const bool has_smear =
        find(t, "smear_lambda") && find(t, "smear_gate.weight") && find(t, "backout_lambda");
    const bool has_any =
        find(t, "smear_lambda") || find(t, "smear_gate.weight") || find(t, "backout_lambda");
    const size_t n_layer = count_layers(t, "transformer.h.", ".attn.c_q.weight");
    size_t n_gate = 0;

    for (size_t layer = 0; layer < n_layer; layer++) {
        char gate[2 * NAME_SIZE], values[2 * NAME_SIZE];

        snprintf(gate, sizeof gate, "transformer.h.%zu.attn.ve_gate.weight", layer);
        snprintf(values, sizeof values, "value_embeds.%zu.weight", layer);
        if (!find(t, gate) != !find(t, values) ||
            (n_gate > 0 && find(t, gate) && dimension(t, gate, 1) != n_gate))
            return NULL;
        n_gate = find(t, gate) ? dimension(t, gate, 1) : n_gate;
    }
    for (size_t i = 0; i < sizeof nanochats / sizeof *nanochats && has_any == has_smear; i++)
        if (nanochats[i].has_lambdas == has_lambdas && nanochats[i].n_gate == n_gate &&
            nanochats[i].has_smear == has_smear)
            return &nanochats[i];
    return NULL;
}

/* Appends what a version of 2026 has. Windows are numbers of keys, of which a query sees itself and
 * as many as the window of nanochat has. */
static enum attn_status write_2026(struct trained *t, const struct nanochat *version,
                                   struct attn_json *meta, const struct attn_node *sizes)
{
    struct attn_buffer *config = &t->opened->config;
    const size_t n = t->sizes[POSITIONS], n_layer = t->sizes[LAYERS];
    const char *pattern = "L";
    size_t narrow;

    ATTN_TRY(attn_json_get_string(meta, sizes, "window_pattern", &pattern, t->err));
    if (*pattern == '\0' || strspn(pattern, "LSls") != strlen(pattern))
        return ATTN_JSON_REFUSE(meta, t->err, ATTN_FORMAT, "window_pattern",
                                "is '%s', expected letters L and S",
                                attn_quote_string(pattern).text);
    if (!version->has_lambdas)
        return ATTN_OK;
    narrow = version->unit == 0 ? n / version->part
                                : (n + version->part * version->unit - 1) /
                                      (version->part * version->unit) * version->unit;
    attn_buffer_append_format(config,
                              ",\"resid_lambdas\":true,\"ve_gate_channels\":%zu,\"ve_factor\":%g,"
                              "\"qk_scale\":%g,\"layer_windows\":\"",
                              version->n_gate > 0 ? version->n_gate : 1, version->factor,
                              version->qk_scale);
    for (size_t i = 0; i < n_layer; i++) {
        const bool is_long = i + 1 == n_layer || strchr("Ll", pattern[i % strlen(pattern)]);

        attn_buffer_append_format(config, "%zu,", (is_long ? n : narrow) + 1);
    }
    attn_buffer_append_char(config, '"');
    return ATTN_OK;
}

/* Reads the sizes in META, and appends the config. */
static enum attn_status write_nanochat(struct trained *t, const struct nanochat *version,
                                       struct attn_json *meta)
{
    static const char *const args[N_SIZE] = {"n_layer", "n_head", "n_embd", "sequence_len",
                                             "vocab_size"};
    const struct attn_node *config = attn_node_find(attn_json_root(meta), "model_config");
    const size_t padded = dimension(t, embedding, 0);
    const size_t wide = dimension(t, "transformer.h.0.mlp.c_fc.weight", 0);
    double cap = 15;
    size_t n_key;

    if (!attn_node_is_object(config))
        return ATTN_JSON_REFUSE(meta, t->err, ATTN_FORMAT, "model_config", "is no object");
    for (int i = 0; i < N_SIZE; i++)
        ATTN_TRY(attn_json_get_size(meta, config, args[i], 1, MOST_SIZE, &t->sizes[i], t->err));
    for (int i = 0; i < N_SIZE; i++)
        if (t->sizes[i] == 0)
            return ATTN_JSON_REFUSE(meta, t->err, ATTN_FORMAT, args[i], "is missing");
    n_key = t->sizes[HEADS];
    ATTN_TRY(attn_json_get_size(meta, config, "n_kv_head", 1, MOST_SIZE, &n_key, t->err));
    ATTN_TRY(read_own(t));
    if (t->own)
        ATTN_TRY(attn_json_get_double(t->own, attn_json_root(t->own), "final_logit_softcapping", 0,
                                      1e6, &cap, t->err));
    else if (version->n_gate == 32)
        t->opened->note =
            "is read with logits capped at 15; from 2 to 9 March 2026 the cap was 20, "
            "and files do not say which: `config` with "
            "{\"final_logit_softcapping\": 20}";
    if (t->sizes[VOCABULARY] > padded)
        return ATTN_JSON_REFUSE(meta, t->err, ATTN_FORMAT, "vocab_size",
                                "is %zu, and the embedding has %zu rows", t->sizes[VOCABULARY],
                                padded);
    if (t->sizes[LAYERS] > MOST_LAYERS)
        return ATTN_JSON_REFUSE(meta, t->err, ATTN_FORMAT, "n_layer", "is %zu, expected at most %d",
                                t->sizes[LAYERS], MOST_LAYERS);
    ATTN_TRY(rename_all(t, &of_nanochat, NULL, padded, t->sizes[VOCABULARY]));
    attn_buffer_append_format(
        &t->opened->config,
        "{\"model_type\":\"nanochat\",\"hidden_size\":%zu,\"intermediate_size\":%zu,"
        "\"num_hidden_layers\":%zu,\"num_attention_heads\":%zu,\"num_key_value_heads\":%zu,"
        "\"vocab_size\":%zu,\"max_position_embeddings\":%zu,\"rope_theta\":%.1f,"
        "\"rms_norm_eps\":1.1920928955078125e-7,\"final_logit_softcapping\":",
        t->sizes[WIDTH], wide, t->sizes[LAYERS], t->sizes[HEADS], n_key, t->sizes[VOCABULARY],
        10 * t->sizes[POSITIONS], version->base);
    attn_double_append(&t->opened->config, cap);
    ATTN_TRY(write_2026(t, version, meta, config));
    attn_buffer_append_char(&t->opened->config, '}');
    return attn_buffer_check(&t->opened->config, t->err);
}

/* The five versions of October 2025 to July 2026. */
static enum attn_status read_nanochat(struct trained *t)
{
    const struct nanochat *version = find_nanochat(t);
    const struct attn_tensor_files *files = t->opened->files;
    struct attn_json *meta = NULL;
    enum attn_status status;
    char renamed[NAME_SIZE];
    const char *odd = NULL; /* the first tensor of no version */

    for (size_t i = 0; i < files->count && !odd; i++) {
        const char *name = files->records[i].name;

        if (!is_of_2026(name) && !rename_tensor(&of_nanochat, name, renamed))
            odd = name;
    }
    for (size_t i = 0; i < files->count && !odd && !version; i++)
        odd = is_of_2026(files->records[i].name) ? files->records[i].name : NULL;
    if (odd)
        return attn_error_set(t->err, ATTN_UNSUPPORTED,
                              "'%s' is of a version of nanochat that is not read: it has '%s', "
                              "expected one of October 2025 to July 2026",
                              t->path.text, attn_quote_string(odd).text);
    ATTN_TRY(read_meta(t, &meta));
    status = write_nanochat(t, version, meta);
    attn_json_free(meta);
    return status;
}

/* --- Which program ---------------------------------------------------------------------------- */

/* Refuses a file of no program that is read. */
static enum attn_status refuse_other(const struct trained *t)
{
    attn_pickle_value has;

    ATTN_TRY(attn_foreign_refuse(t->opened->files, t->err));
    has = attn_pickle_find(t->pickle, t->root, "pytorch-lightning_version");
    if (has != ATTN_PICKLE_NONE) {
        attn_error_set(t->err, ATTN_UNSUPPORTED,
                       "'%s' is a checkpoint of Lightning, expected a layout that is read",
                       t->path.text);
        attn_error_hint(t->err,
                        "torch.save({k.removeprefix('model.'): v for k, v in torch.load('%s')"
                        "['state_dict'].items()}, 'pytorch_model.bin') beside the model's "
                        "config.json; 'model' is what its LightningModule calls it",
                        t->path.text);
        return ATTN_UNSUPPORTED;
    }
    if (attn_pickle_find(t->pickle, t->root, "code") != ATTN_PICKLE_NONE &&
        attn_pickle_find(t->pickle, t->root, "optimizers") != ATTN_PICKLE_NONE) {
        attn_error_set(t->err, ATTN_UNSUPPORTED,
                       "'%s' is of modded-nanogpt, whose layout changes with each record",
                       t->path.text);
        return ATTN_UNSUPPORTED;
    }
    attn_error_set(t->err, ATTN_UNSUPPORTED,
                   "'%s' has no 'model_args': it is no checkpoint of nanoGPT, llama2.c, "
                   "build-nanogpt, LLMs-from-scratch or minGPT",
                   t->path.text);
    attn_error_hint(t->err, "give the directory that holds it and the config.json of its model");
    return ATTN_UNSUPPORTED;
}

static bool has_arg(struct trained *t, const char *name, const char *key)
{
    t->args_name = name;
    t->args = attn_pickle_find(t->pickle, t->root, name);
    return attn_pickle_find(t->pickle, t->args, key) != ATTN_PICKLE_NONE;
}

enum attn_status attn_trained_read(const struct attn_pickle *pickle, bool is_late,
                                   const struct attn_json *own, struct attn_opened *opened,
                                   struct attn_error *err)
{
    struct trained t = {.pickle = pickle,
                        .root = attn_pickle_root(pickle),
                        .is_late = is_late,
                        .own = own,
                        .opened = opened,
                        .path = attn_quote_string(attn_tensor_files_path(opened->files, 0)),
                        .err = err};

    ATTN_TRY(strip_names(&t));
    if (has_arg(&t, "model_args", "n_layers"))
        return read_llama(&t);
    if (t.args != ATTN_PICKLE_NONE)
        return read_nanogpt(&t);
    if (find(&t, "tok_emb.weight") && count_layers(&t, "trf_blocks.", ".norm1.scale") > 0)
        return read_scratch(&t);
    if (find(&t, "transformer.h.0.attn.c_q.weight"))
        return read_nanochat(&t);
    if (!find(&t, "transformer.h.0.attn.c_attn.weight"))
        return refuse_other(&t);
    return has_arg(&t, "config", "n_layer") ? read_build(&t) : read_weights(&t);
}
