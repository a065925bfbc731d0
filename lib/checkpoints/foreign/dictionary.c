/* dictionary.c - see dictionary_internal.h: which form a folder has, what its config says, its
 * arrays, the checks of both, and features of vectors. Forms, keys and arrays are rows of tables.
 */
#include "foreign/dictionary_internal.h"

#include "base/elementary.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/number.h"
#include "base/text/path.h"
#include "foreign/torch.h"
#include "formats/json.h"
#include "formats/npy.h"
#include "formats/tensor_files_internal.h"
#include "formats/zip.h"
#include "kernels/linear.h"
#include "model/builtin.h"
#include "model/elements.h"
#include "params/param_internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* OLD: configs of sae-lens before version 6 have these keys, too. */
enum form { LENS, SCOPE_2, SCOPE_1, LEARNING, SPARSIFY, N_FORM, OLD = N_FORM };

static const struct {
    const char *name, *weights, *config;
    enum attn_dictionary_kind kind; /* unless the config says another */
    bool is_centered;
} forms[N_FORM] = {
    [LENS] = {"sae-lens", "sae_weights.safetensors", "cfg.json", ATTN_DICTIONARY_STANDARD, true},
    [SCOPE_2] = {"Gemma Scope 2", "params.safetensors", "config.json", ATTN_DICTIONARY_JUMPRELU,
                 false},
    [SCOPE_1] = {"Gemma Scope", "params.npz", NULL, ATTN_DICTIONARY_JUMPRELU, false},
    [LEARNING] = {"dictionary_learning", "ae.pt", "config.json", ATTN_DICTIONARY_STANDARD, true},
    [SPARSIFY] = {"sparsify", "sae.safetensors", "cfg.json", ATTN_DICTIONARY_TOPK, true},
};

static const char *const kinds[] = {"standard", "jumprelu", "topk", "gated"};

/* The classes of dictionary_learning, and their kinds. From N_CENTERED on b_dec is not subtracted,
 * and those in between have one threshold for all features. */
enum { FIRST_OF_ONE = 3, N_CENTERED = 5 };
static const enum attn_dictionary_kind of_class[] = {
    ATTN_DICTIONARY_STANDARD, ATTN_DICTIONARY_TOPK,     ATTN_DICTIONARY_GATED,
    ATTN_DICTIONARY_JUMPRELU, ATTN_DICTIONARY_JUMPRELU, ATTN_DICTIONARY_JUMPRELU};

static const char transcoder[] = "a transcoder writes another tensor, expected a dictionary of one";

struct reading {
    struct attn_dictionary made;
    enum form form;
    const char *folder;
    struct attn_source source;
    const struct attn_node *nodes[4]; /* objects with its keys, or NULL; the first counts */
    /* Of the config, in which they may be missing: NULL, SIZE_MAX or -1. */
    const char *version, *hook_out; /* the second is the name of a tensor */
    size_t head, layer;
    int class, activation, io, passed; /* indices of words */
    bool has_one_threshold;            /* for all features */
    struct attn_tensor_entry *arrays;  /* [n] in the store */
    size_t n;
    struct attn_zip zip; /* arrays[i] is members[i]; or none */
    float *factors;      /* [made.n], or NULL */
    struct attn_error *err;
};

static int find_word(const char *list, const char *word)
{
    return attn_param_find_word(list, word, strlen(word));
}

/* --- The config ------------------------------------------------------------------------------- */

enum type { WORD, TEXT, SIZE, FLAG };

/* A key of configs: the first of NAMES, "a|b", that is there and not null. A WORD is one of WORDS,
 * whose index is the value; true and false are words. */
struct key {
    unsigned forms; /* set of BIT(form) */
    const char *names;
    enum type type;
    size_t home; /* offset in struct reading */
    const char *words, *hint;
};

#define BIT(form) (1u << (form))
#define INTO(member) .home = offsetof(struct reading, member)

enum { ANY = BIT(N_FORM) - 1, SCOPE = BIT(SCOPE_1) | BIT(SCOPE_2) };

/* What TransformerLens changed in the model before its tensors were taken. */
static const char changed[] =
    "a model of TransformerLens was changed in this way before the dictionary was trained: without "
    "the key it is read for the tensors of the model as it is given";

/* The keys that are read, or that have one value that is. */
static const struct key keys[] = {
    {BIT(LENS), "sae_lens_version", TEXT, INTO(version)},
    {BIT(LENS), "architecture", WORD, INTO(made.kind), "standard|jumprelu|topk|gated"},
    {BIT(OLD), "activation_fn|activation_fn_str", WORD, INTO(activation), "relu|topk"},
    {BIT(LENS), "normalize_activations", WORD, INTO(passed), "none|false",
     "sae.fold_activation_norm_scaling_factor() of sae-lens puts a factor into the weights"},
    {BIT(LENS), "hook_name", TEXT, INTO(made.hook)},
    {BIT(OLD), "hook_name|hook_point", TEXT, INTO(made.hook)},
    {BIT(LENS), "hook_name_out", WORD, INTO(passed), "none", transcoder},
    {BIT(LENS), "hook_head_index", SIZE, INTO(head)},
    {BIT(OLD), "hook_head_index|hook_point_head_index", SIZE, INTO(head)},
    {BIT(LENS), "apply_b_dec_to_input", FLAG, INTO(made.is_centered)},
    {BIT(LENS), "rescale_acts_by_decoder_norm", FLAG, INTO(made.is_scaled)},
    {BIT(LENS), "reshape_activations", WORD, INTO(passed), "none|hook_z"},
    {BIT(LENS), "center_writing_weights", WORD, INTO(passed), "false", changed},
    {BIT(LENS), "fold_value_biases", WORD, INTO(passed), "false", changed},
    {BIT(LENS), "refactor_factored_attn_matrices", WORD, INTO(passed), "false", changed},
    {SCOPE, "type", WORD, INTO(passed), "sae", transcoder},
    {SCOPE, "architecture", WORD, INTO(passed), "jump_relu"},
    {SCOPE, "affine_connection", WORD, INTO(passed), "false", transcoder},
    {SCOPE, "hf_hook_point_in", TEXT, INTO(made.hook)},
    {SCOPE, "hf_hook_point_out", TEXT, INTO(hook_out)},
    {BIT(LEARNING), "dict_class", WORD, INTO(class),
     "AutoEncoder|AutoEncoderTopK|GatedAutoEncoder|BatchTopKSAE|MatryoshkaBatchTopKSAE|"
     "JumpReluAutoEncoder"},
    {BIT(LEARNING), "submodule_name", TEXT, INTO(made.hook)},
    {BIT(LEARNING), "layer", SIZE, INTO(layer)},
    {BIT(LEARNING), "io", WORD, INTO(io), "out|in", transcoder},
    {BIT(SPARSIFY), "activation", WORD, INTO(passed), "topk"},
    {BIT(SPARSIFY), "signed", WORD, INTO(passed), "false"},
    {BIT(SPARSIFY), "transcode", WORD, INTO(passed), "false", transcoder},
    {BIT(SPARSIFY), "skip_connection", WORD, INTO(passed), "false", transcoder},
    {ANY, "k", SIZE, INTO(made.k)},
    {ANY, "d_in|activation_dim", SIZE, INTO(made.d)},
    {ANY, "d_sae|dict_size|width|num_latents", SIZE, INTO(made.n)},
};

/* The keys without effect on a feature: where and how it was trained, the size of the encoder, the
 * type of numbers. Configs of sae-lens before version 6 and of dictionary_learning hold all of a
 * training, of which their libraries read nothing but the keys above; the other ones are the fields
 * of a class, where a key that is in neither list is refused. */
static const char *const without[N_FORM] = {
    [LENS] = "dtype|device|metadata|model_name|model_class_name|model_from_pretrained_kwargs|"
             "dataset_path|dataset_trust_remote_code|context_size|prepend_bos|neuronpedia_id|"
             "exclude_special_tokens|seqpos_slice|hook_layer|hook_layer_out|hook_head_index_out|"
             "hf_hook_name|hf_hook_name_out|sae_lens_training_version|decoder_init_norm|"
             "l0_coefficient|l0_warm_up_steps|l1_coefficient|l1_warm_up_steps|lp_norm|"
             "pre_act_loss_coefficient|jumprelu_init_threshold|jumprelu_bandwidth|"
             "jumprelu_sparsity_loss_mode|jumprelu_tanh_scale|jumprelu_ste_to_input|target_l0|"
             "use_sparse_activations|aux_loss_coefficient",
    [SCOPE_2] = "model_name|l0",
    [SPARSIFY] = "expansion_factor|normalize_decoder|multi_topk",
};

/* Finds the object that has KEY, whose name in it is copied to NAME; NULL: none has. */
static const struct attn_node *find_object(const struct reading *r, const struct key *key,
                                           char name[64])
{
    for (const char *word = key->names; *word != '\0'; word += strspn(word, "|")) {
        const size_t size = strcspn(word, "|");

        snprintf(name, 64, "%.*s", (int)size, word);
        word += size;
        for (size_t i = 0; i < sizeof r->nodes / sizeof *r->nodes; i++) {
            const struct attn_node *node = r->nodes[i] ? attn_node_find(r->nodes[i], name) : NULL;

            if (node && !attn_node_is_null(node))
                return r->nodes[i];
        }
    }
    return NULL;
}

static enum attn_status read_key(struct reading *r, const struct key *key)
{
    const struct attn_json *json = r->made.config;
    void *home = (char *)r + key->home;
    char name[64];
    const struct attn_node *object = find_object(r, key, name);
    const char *text = NULL;
    bool flag;
    int word;

    if (!object)
        return ATTN_OK;
    if (key->type == SIZE)
        return attn_json_get_size(json, object, name, 0, INT32_MAX, home, r->err);
    if (key->type == FLAG)
        return attn_json_get_bool(json, object, name, home, r->err);
    if (key->type == TEXT)
        return attn_json_get_string(json, object, name, home, r->err);
    if (attn_node_is_bool(attn_node_find(object, name), &flag))
        text = flag ? "true" : "false";
    else
        ATTN_TRY(attn_json_get_string(json, object, name, &text, r->err));
    word = find_word(key->words, text);
    if (word >= 0) {
        *(int *)home = word;
        return ATTN_OK;
    }
    ATTN_JSON_REFUSE(json, r->err, ATTN_UNSUPPORTED, name, "is '%s', expected %s%s",
                     attn_quote_string(text).text, strchr(key->words, '|') ? "one of " : "",
                     key->words);
    return key->hint ? attn_error_hint(r->err, "%s", key->hint) : ATTN_UNSUPPORTED;
}

/* Whether the config is of sae-lens before version 6. */
static bool is_old(const struct reading *r)
{
    return r->form == LENS && (!r->version || strtol(r->version, NULL, 10) < 6);
}

/* Whether configs of R have KEY. */
static bool has_key(const struct reading *r, const struct key *key)
{
    return (key->forms & (BIT(r->form) | (is_old(r) ? BIT(OLD) : 0))) != 0;
}

/* Refuses a key that is set and that nobody knows. */
static enum attn_status check_keys(const struct reading *r)
{
    const bool is_closed = r->nodes[1] && without[r->form] && !is_old(r);
    const struct attn_node *node = is_closed ? attn_node_first(r->nodes[1]) : NULL;

    for (; node; node = attn_node_next(node)) {
        const char *name = attn_node_key(node);
        bool is_known = attn_node_is_null(node) || find_word(without[r->form], name) >= 0;

        for (size_t i = 0; i < sizeof keys / sizeof *keys && !is_known; i++)
            is_known = has_key(r, &keys[i]) && find_word(keys[i].names, name) >= 0;
        if (!is_known)
            return ATTN_JSON_REFUSE(r->made.config, r->err, ATTN_UNSUPPORTED, name,
                                    "is set, which may change the result and is not read");
    }
    return ATTN_OK;
}

/* Reads the config, if there is one. */
static enum attn_status read_config(struct reading *r)
{
    struct attn_dictionary *made = &r->made;
    const char *name = forms[r->form].config;

    made->is_centered = forms[r->form].is_centered;
    made->kind = forms[r->form].kind;
    if (name && (r->form != SCOPE_2 || attn_source_has_part(&r->source, name))) {
        ATTN_TRY(attn_json_read_part(&r->source, name, NULL, &made->config, r->err));
        r->nodes[1] = attn_json_root(made->config);
        r->nodes[0] = attn_node_find(r->nodes[1], r->form == LEARNING ? "trainer" : "metadata");
        r->nodes[2] =
            attn_node_find(r->nodes[1], r->form == LEARNING ? "buffer" : "activation_fn_kwargs");
        for (int i = 0; i < 2 && !r->nodes[3] && r->form == LENS; i++)
            if (r->nodes[i])
                r->nodes[3] = attn_node_find(r->nodes[i], "model_from_pretrained_kwargs");
    }
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (has_key(r, &keys[i]))
            ATTN_TRY(read_key(r, &keys[i]));
    ATTN_TRY(check_keys(r));
    if (r->form == LEARNING) {
        if (r->class < 0)
            return ATTN_JSON_REFUSE(made->config, r->err, ATTN_UNSUPPORTED, "dict_class",
                                    "is missing");
        made->kind = of_class[r->class];
        made->is_centered = r->class < N_CENTERED;
        r->has_one_threshold = r->class >= FIRST_OF_ONE && r->class < N_CENTERED;
    }
    if (made->kind == ATTN_DICTIONARY_STANDARD && r->activation > 0)
        made->kind = ATTN_DICTIONARY_TOPK;
    made->is_scaled &= made->kind == ATTN_DICTIONARY_TOPK;
    if ((r->hook_out && (!made->hook || strcmp(made->hook, r->hook_out) != 0)) ||
        (made->hook && strstr(made->hook, "pre_feedforward_layernorm.output"))) {
        ATTN_JSON_REFUSE(made->config, r->err, ATTN_UNSUPPORTED, "hf_hook_point_in",
                         "is '%s', and what is written '%s'",
                         attn_quote_string(made->hook ? made->hook : "").text,
                         attn_quote_string(r->hook_out ? r->hook_out : "").text);
        return attn_error_hint(r->err, "%s", transcoder);
    }
    return ATTN_OK;
}

/* --- Its tensor ------------------------------------------------------------------------------- */

/* Reads the number after BEFORE in TEXT, which begins with it. Returns the rest, or NULL. */
static const char *read_layer(const char *text, const char *before, int *layer)
{
    const size_t size = strlen(before);
    const bool is_it = text && strncmp(text, before, size) == 0;
    const size_t n = is_it ? strspn(text + size, "0123456789") : 0;
    int64_t number;

    if (n == 0 || !attn_parse_int(text + size, n, 0, INT32_MAX, &number))
        return NULL;
    *layer = (int)number;
    return text + size + n;
}

/* Names of tensors after "blocks.N" or "model.layers.N". */
static const struct {
    const char *name;
    enum attn_site site;
} hooks[] = {
    {".attn.hook_z", ATTN_SITE_Z},
    {".hook_resid_pre", ATTN_SITE_RESID_PRE},
    {".hook_resid_mid", ATTN_SITE_RESID_MID},
    {".hook_resid_post", ATTN_SITE_RESID_POST},
    {".hook_attn_out", ATTN_SITE_ATTN_OUT},
    {".hook_mlp_out", ATTN_SITE_MLP_OUT},
    {".output", ATTN_SITE_RESID_POST},
    {".self_attn.o_proj.input", ATTN_SITE_Z},
    {".post_feedforward_layernorm.output", ATTN_SITE_MLP_OUT},
};

/* Words in names of folders, and their ends. attn_out of Gemma Scope is the input of o_proj. */
static const struct {
    const char *word, *end;
    enum attn_site site;
} folders[] = {
    {"resid_post", "-res", ATTN_SITE_RESID_POST},
    {"attn_out", "-att", ATTN_SITE_Z},
    {"mlp_out", "-mlp", ATTN_SITE_MLP_OUT},
};

/* Finds the tensor that the config names. */
static void find_hook(const struct reading *r, struct attn_location *at)
{
    const char *rest;
    int layer = 0;

    if (r->form == LEARNING) { /* a buffer that has a layer is of heads */
        if (r->layer < SIZE_MAX && !(r->nodes[2] && attn_node_find(r->nodes[2], "layer")) &&
            (!r->made.hook || strncmp(r->made.hook, "resid_post", 10) == 0))
            at->site = r->io > 0 ? ATTN_SITE_RESID_PRE : ATTN_SITE_RESID_POST,
            at->layer = (int)r->layer;
        return;
    }
    rest = read_layer(r->made.hook, r->form == LENS ? "blocks." : "model.layers.", &layer);
    for (size_t i = 0; rest && i < sizeof hooks / sizeof *hooks; i++)
        if (strcmp(rest, hooks[i].name) == 0)
            at->site = hooks[i].site, at->layer = layer;
}

/* Finds the tensor in the names of the folders, the innermost first; of sparsify in the last. */
static enum attn_status find_in_path(const struct reading *r, struct attn_location *at)
{
    char path[ATTN_PATH_SIZE], *slash;
    const char *rest;
    bool has_site = false;

    ATTN_TRY(attn_path_full(r->folder, path, r->err));
    while ((slash = strrchr(path, '/')) != NULL && r->form != SPARSIFY) {
        const size_t size = strlen(slash);

        if (at->layer == ATTN_NO_LAYER)
            read_layer(strstr(slash, "layer_"), "layer_", &at->layer);
        for (size_t i = 0; i < sizeof folders / sizeof *folders && !has_site; i++)
            if (strstr(slash, folders[i].word) ||
                (size > 4 && strcmp(slash + size - 4, folders[i].end) == 0))
                at->site = folders[i].site, has_site = true;
        *slash = '\0';
    }
    if (r->form == SPARSIFY) {
        at->site = ATTN_SITE_RESID_POST;
        rest = read_layer(slash, "/layers.", &at->layer);
        has_site = rest && *rest == '\0';
    }
    if (!has_site)
        at->layer = ATTN_NO_LAYER;
    return ATTN_OK;
}

/* Finds the tensor of the dictionary, if the files say it. */
static enum attn_status find_tensor(struct reading *r)
{
    struct attn_location *at = &r->made.at;

    if (r->form == SPARSIFY || r->form == SCOPE_1 || (r->form == SCOPE_2 && !r->made.hook))
        ATTN_TRY(find_in_path(r, at));
    else
        find_hook(r, at);
    if (r->head == SIZE_MAX)
        return ATTN_OK;
    at->head = (int)r->head;
    return at->layer == ATTN_NO_LAYER || at->site == ATTN_SITE_Z
               ? ATTN_OK
               : ATTN_JSON_REFUSE(r->made.config, r->err, ATTN_UNSUPPORTED, "hook_head_index",
                                  "is %d, and '%s' has no heads", at->head,
                                  attn_quote_string(r->made.hook).text);
}

/* --- Files of weights ------------------------------------------------------------------------- */

/* Inflates the first N bytes of MEMBER to *DATA in the store. */
static enum attn_status inflate_member(struct reading *r, const struct attn_zip_member *member,
                                       size_t n, unsigned char **data)
{
    enum { MOST = 1032 }; /* bytes that one byte of deflate can make */
    size_t n_in = member->n_stored, n_out = member->size / MOST <= n_in ? n : 0;
    z_stream stream = {.next_in =
                           (unsigned char *)(uintptr_t)(r->made.archive.data + member->begin)};
    const bool fits = n_out == n;
    int code;

    ATTN_TRY(ATTN_STORE_ALLOC(&r->made.store, *data, n_out, r->err));
    stream.next_out = *data;
    code = inflateInit2(&stream, -MAX_WBITS);
    while (code == Z_OK) { /* zlib counts 32 bits */
        const uInt in = n_in > INT_MAX ? INT_MAX : (uInt)n_in;
        const uInt out = n_out > INT_MAX ? INT_MAX : (uInt)n_out;

        stream.avail_in = in, stream.avail_out = out;
        code = inflate(&stream, Z_NO_FLUSH);
        n_in -= in - stream.avail_in, n_out -= out - stream.avail_out;
    }
    inflateEnd(&stream);
    if (code == Z_MEM_ERROR)
        return attn_error_no_memory(r->err);
    return fits && n_out == 0 && (code == Z_STREAM_END || n < member->size)
               ? ATTN_OK
               : attn_error_set(r->err, ATTN_FORMAT, "'%s' cannot be unpacked",
                                attn_quote(member->name, member->n_name).text);
}

/* Reads the type and the shape of array number I of the archive, whose size must be that of the
 * member; and its numbers if they lie in the file as they are used, or if IS_WHOLE. */
static enum attn_status read_member(struct reading *r, size_t i, bool is_whole)
{
    const struct attn_zip_member *member = &r->zip.members[i];
    struct attn_tensor *tensor = &r->arrays[i].tensor;
    struct attn_file file = {
        .data = r->made.archive.data + member->begin, .size = member->size, .descriptor = -1};
    const size_t n_head = file.size < ATTN_NPY_HEAD_MAX ? file.size : ATTN_NPY_HEAD_MAX;
    struct attn_npy_file *npy;
    unsigned char *bytes;
    float *floats;

    if (member->is_deflated) {
        ATTN_TRY(inflate_member(r, member, is_whole ? file.size : n_head, &bytes));
        file.data = bytes;
    }
    ATTN_TRY(ATTN_NEW(file.path, attn_strndup(member->name, member->n_name, r->err)));
    ATTN_TRY(attn_npy_take(&file, ATTN_NPY_FLOATS, &npy, r->err));
    *tensor = attn_npy_tensor(npy);
    if (!is_whole && member->is_deflated)
        tensor->data = NULL;
    if (is_whole && !tensor->data &&
        ATTN_STORE_ALLOC(&r->made.store, floats, attn_npy_n_element(npy), r->err) == ATTN_OK) {
        attn_npy_read_floats(npy, floats);
        tensor->data = floats;
        tensor->dtype = ATTN_DTYPE_F32;
    }
    attn_npy_free(npy);
    return tensor->data || !is_whole ? ATTN_OK : ATTN_NO_MEMORY;
}

/* Lists the names of the arrays of an .npz file. */
static enum attn_status list_members(struct reading *r)
{
    ATTN_TRY(attn_zip_read(&r->made.archive, ".npz file", &r->zip, r->err));
    ATTN_TRY(ATTN_STORE_ALLOC(&r->made.store, r->arrays, r->zip.n, r->err));
    for (; r->n < r->zip.n; r->n++) {
        const struct attn_zip_member *member = &r->zip.members[r->n];
        size_t n = member->n_name;

        if (n > 4 && memcmp(member->name + n - 4, ".npy", 4) == 0)
            n -= 4;
        ATTN_TRY(ATTN_NEW(r->arrays[r->n].name,
                          attn_store_copy(&r->made.store, member->name, n, r->err)));
    }
    return ATTN_OK;
}

/* Opens the file of weights, and lists its arrays. */
static enum attn_status list_arrays(struct reading *r)
{
    struct attn_tensor_files **files = &r->made.files;
    struct attn_file file = {0};
    size_t n;

    ATTN_TRY(attn_file_open_part(&r->source, forms[r->form].weights, ATTN_MAP, &file, r->err));
    if (r->form == SCOPE_1) {
        r->made.archive = file;
        return list_members(r);
    }
    ATTN_TRY(r->form == LEARNING ? attn_torch_take(&file, files, NULL, NULL, r->err)
                                 : attn_safetensors_take(&file, files, r->err));
    n = attn_tensor_files_count(*files);
    ATTN_TRY(ATTN_STORE_ALLOC(&r->made.store, r->arrays, n, r->err));
    for (; r->n < n; r->n++)
        r->arrays[r->n] = attn_tensor_files_entry(*files, r->n);
    return ATTN_OK;
}

/* --- Arrays ----------------------------------------------------------------------------------- */

#define KIND(kind) BIT(ATTN_DICTIONARY_##kind)

enum { ALL = BIT(sizeof kinds / sizeof *kinds) - 1 };

/* An array of dictionaries of some KINDS, under one of NAMES, "a|b". The letters of its shape are
 * d and n. HOME is the offset of the matrix, or of the vector, in struct reading. */
static const struct array {
    unsigned kinds;
    const char *names, *shape;
    size_t home;
} arrays[] = {
    {ALL, "W_enc|w_enc|encoder.weight", "dn", INTO(made.encoder)},
    {ALL, "W_dec|w_dec|decoder.weight", "nd", INTO(made.decoder)},
    {ALL & ~KIND(GATED), "b_enc|encoder.bias", "n", INTO(made.bias)},
    {KIND(GATED), "b_gate|gate_bias", "n", INTO(made.bias)},
    {ALL, "b_dec|bias|decoder_bias", "d", INTO(made.shift)},
    {KIND(GATED), "r_mag", "n", INTO(made.gain)},
    {KIND(GATED), "b_mag|mag_bias", "n", INTO(made.gated)},
    {KIND(JUMPRELU), "threshold|log_threshold", "n", INTO(made.threshold)},
    {ALL, "scaling_factor", "n", INTO(factors)},
};

enum { N_ARRAY = sizeof arrays / sizeof *arrays };

/* Sizes in the other order; the logarithms of what is used; what does not change the result. */
static const char turned[] = "encoder.weight|decoder.weight", logarithms[] = "r_mag|log_threshold",
                  unused[] = "k|group_sizes|active_groups";

static const char not_finite[] = "holds NaN or infinity, expected finite values";

/* Copies the vector ARRAY, or its one number N times, to *VECTOR. An infinite threshold belongs to
 * a feature that never fires. */
static enum attn_status copy_vector(struct reading *r, const struct attn_tensor_entry *array,
                                    size_t n, float **vector)
{
    const size_t n_own = attn_tensor_n_element(&array->tensor);
    const struct attn_vector own = {
        .data = array->tensor.data, .dtype = array->tensor.dtype, .n = n_own, .group = n_own};
    const bool is_log = find_word(logarithms, array->name) >= 0;

    ATTN_TRY(ATTN_STORE_ALLOC(&r->made.store, *vector, n, r->err));
    for (size_t i = 0; i < n; i++) {
        double x;

        attn_vector_elements(&own, n_own == 1 ? 0 : i, 1, &x);
        (*vector)[i] = (float)(is_log ? attn_exp((double)(float)x) : x);
        if (isnan(x) || (isinf((*vector)[i]) && vector != &r->made.threshold))
            return attn_refuse_in(r->err, ATTN_FORMAT, r->made.path, array->name, not_finite);
        if (vector == &r->factors && x != 1)
            return attn_refuse_in(r->err, ATTN_UNSUPPORTED, r->made.path, array->name,
                                  "has %g, expected 1", x);
    }
    return ATTN_OK;
}

/* Checks the shape of ARRAY against ROW. Sizes that are not known yet are its own. */
static enum attn_status check_shape(struct reading *r, const struct array *row,
                                    const struct attn_tensor_entry *array)
{
    struct attn_dictionary *made = &r->made;
    const struct attn_tensor *tensor = &array->tensor;
    const int rank = (int)strlen(row->shape);
    const bool is_turned = find_word(turned, array->name) >= 0;
    size_t expected[2] = {1, 1};
    bool is_right = tensor->rank == rank;
    char found[ATTN_SHAPE_TEXT_SIZE], right[ATTN_SHAPE_TEXT_SIZE];

    if (row->home == offsetof(struct reading, made.threshold) && r->has_one_threshold)
        is_right = attn_tensor_n_element(tensor) == 1;
    else
        for (int i = 0; i < rank; i++) {
            const int at = is_turned ? rank - 1 - i : i;
            size_t *size = row->shape[i] == 'd' ? &made->d : &made->n;

            if (*size == 0 && tensor->rank == rank)
                *size = tensor->shape[at];
            expected[at] = *size;
            is_right = is_right && *size > 0 && tensor->shape[at] == *size;
        }
    if (is_right)
        return ATTN_OK;
    attn_refuse_in(r->err, ATTN_FORMAT, made->path, array->name, "has the shape %s, expected %s",
                   attn_shape_text(tensor->rank, tensor->shape, found),
                   attn_shape_text(rank, expected, right));
    return tensor->rank == 3 ? attn_error_hint(r->err, "%s", transcoder) : ATTN_FORMAT;
}

/* Takes array number I, whose shape is that of ROW. */
static enum attn_status take(struct reading *r, const struct array *row, size_t i)
{
    const struct attn_tensor_entry *array = &r->arrays[i];
    const bool is_turned = find_word(turned, array->name) >= 0;
    const size_t n_row = row->shape[0] == 'd' ? r->made.d : r->made.n;
    const size_t n_col = row->shape[0] == 'd' ? r->made.n : r->made.d;
    void *home = (char *)r + row->home;
    struct attn_non_finite bad;

    if (!array->tensor.data)
        ATTN_TRY(read_member(r, i, true));
    if (strlen(row->shape) == 1)
        return copy_vector(r, array, n_row, home);
    bad = attn_tensor_find_non_finite(&array->tensor);
    if (bad.n_nan + bad.n_infinite > 0)
        return attn_refuse_in(r->err, ATTN_FORMAT, r->made.path, array->name, not_finite);
    *(struct attn_matrix *)home = (struct attn_matrix){
        .data = array->tensor.data,
        .dtype = array->tensor.dtype,
        .n_row = n_row,
        .n_col = n_col,
        .row_stride = is_turned ? 1 : n_col,
        .col_stride = is_turned ? n_row : 1,
        .group = n_col,
    };
    return ATTN_OK;
}

/* Finds the row of ARRAY; N_ARRAY: it does not change the result. */
static enum attn_status find_row(struct reading *r, const struct attn_tensor_entry *array,
                                 size_t *row)
{
    const bool is_topk = r->made.kind == ATTN_DICTIONARY_TOPK;

    *row = N_ARRAY;
    if (find_word(unused, array->name) >= 0 ||
        (r->form == LEARNING && is_topk && strcmp(array->name, "threshold") == 0))
        return ATTN_OK;
    for (*row = 0; *row < N_ARRAY; (*row)++)
        if ((arrays[*row].kinds & BIT(r->made.kind)) != 0 &&
            find_word(arrays[*row].names, array->name) >= 0)
            return ATTN_OK;
    attn_refuse_in(r->err, ATTN_UNSUPPORTED, r->made.path, array->name,
                   "is an array that is not read and may change the result");
    return strstr(array->name, "skip") ? attn_error_hint(r->err, "%s", transcoder)
                                       : ATTN_UNSUPPORTED;
}

/* Checks the type and the shape of array number I, which ROW takes. */
static enum attn_status check(struct reading *r, const struct array *row, size_t i)
{
    const struct attn_tensor_entry *array = &r->arrays[i];

    if (r->form == SCOPE_1)
        ATTN_TRY(read_member(r, i, false));
    if (array->tensor.dtype != ATTN_DTYPE_F32 && array->tensor.dtype != ATTN_DTYPE_F16 &&
        array->tensor.dtype != ATTN_DTYPE_BF16 && array->tensor.dtype != ATTN_DTYPE_F64)
        return attn_refuse_in(r->err, ATTN_FORMAT, r->made.path, array->name,
                              "is of the type %s, expected F32",
                              attn_dtype_name(array->tensor.dtype));
    return check_shape(r, row, array);
}

/* Reads the arrays: all names, then all sizes, and only then numbers that have to be unpacked. */
static enum attn_status read_arrays(struct reading *r)
{
    size_t found[N_ARRAY], row;

    for (size_t k = 0; k < N_ARRAY; k++)
        found[k] = r->n;
    for (size_t i = 0; i < r->n; i++) {
        ATTN_TRY(find_row(r, &r->arrays[i], &row));
        if (row < N_ARRAY && found[row] == r->n)
            found[row] = i;
    }
    for (size_t k = 0; k < N_ARRAY; k++) {
        const char *names = arrays[k].names;

        if (found[k] < r->n)
            ATTN_TRY(check(r, &arrays[k], found[k]));
        else if ((arrays[k].kinds & BIT(r->made.kind)) != 0 &&
                 arrays[k].home != offsetof(struct reading, factors))
            return attn_error_set(r->err, ATTN_FORMAT, "'%s' lacks the array '%.*s'",
                                  attn_quote_string(r->made.path).text, (int)strcspn(names, "|"),
                                  names);
    }
    for (size_t k = 0; k < N_ARRAY; k++)
        if (found[k] < r->n)
            ATTN_TRY(take(r, &arrays[k], found[k]));
    return ATTN_OK;
}

/* --- Opening ---------------------------------------------------------------------------------- */

/* Finds the form of the folder, or of its file of weights, or of a part of a built-in model. */
static enum attn_status find_form(struct reading *r)
{
    const char *path = r->made.path, *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const struct attn_quote quote = attn_quote_string(path);
    char part[ATTN_PATH_SIZE];
    size_t size = strlen(path);
    bool is_file;

    for (int i = 0; i < N_FORM; i++)
        if (strcmp(name, forms[i].weights) == 0)
            r->form = (enum form)i, size = (size_t)(name - path);
    is_file = r->form < N_FORM;
    ATTN_TRY(ATTN_NEW(r->folder, attn_store_copy(&r->made.store, size > 0 ? path : ".",
                                                 size > 0 ? size : 1, r->err)));
    r->source.directory = r->folder;
    if (!attn_path_is_folder(r->folder))
        attn_builtin_find(path, &r->source);
    for (int i = 0; i < N_FORM && !is_file; i++) {
        if (!attn_source_has_part(&r->source, forms[i].weights))
            continue;
        if (r->form < N_FORM && attn_path_join(r->folder, forms[i].weights, part) &&
            !attn_os_exists(part)) /* the folder may not be searched */
            return attn_error_errno(r->err, "open", part, errno);
        if (r->form < N_FORM) {
            attn_error_set(r->err, ATTN_UNSUPPORTED, "'%s' has dictionaries of two forms",
                           quote.text);
            return attn_error_hint(r->err, "the path of a file of weights chooses one");
        }
        r->form = (enum form)i;
    }
    if (r->form < N_FORM)
        return ATTN_OK;
    attn_error_set(r->err, ATTN_UNSUPPORTED, "'%s' is no %sdictionary of features that is read",
                   quote.text, attn_path_is_folder(r->folder) ? "" : "folder with a ");
    return attn_error_hint(
        r->err, "a folder has cfg.json and sae_weights.safetensors (sae-lens), params.safetensors "
                "or params.npz (Gemma Scope), config.json and ae.pt (dictionary_learning), or "
                "cfg.json and sae.safetensors (sparsify); those of circuit-tracer, Goodfire, Llama "
                "Scope and Qwen Scope are not read");
}

static enum attn_status read_all(struct reading *r, const char *path)
{
    struct attn_dictionary *made = &r->made;

    ATTN_TRY(ATTN_NEW(made->path, attn_store_copy(&made->store, path, strlen(path), r->err)));
    ATTN_TRY(find_form(r));
    made->form = forms[r->form].name;
    ATTN_TRY(read_config(r));
    made->kind_name = kinds[made->kind];
    ATTN_TRY(find_tensor(r));
    ATTN_TRY(list_arrays(r));
    ATTN_TRY(read_arrays(r));
    if (made->kind == ATTN_DICTIONARY_TOPK && (made->k == 0 || made->k > made->n))
        return attn_error_set(r->err, ATTN_FORMAT, "'k' of '%s' is %zu, expected 1 to %zu",
                              attn_quote_string(path).text, made->k, made->n);
    return ATTN_OK;
}

enum attn_status attn_dictionary_open(const char *path, struct attn_dictionary **dictionary,
                                      struct attn_error *err)
{
    struct reading r = {.made.at = {.layer = ATTN_NO_LAYER, .head = ATTN_ALL_HEADS},
                        .form = N_FORM,
                        .head = SIZE_MAX,
                        .layer = SIZE_MAX,
                        .class = -1,
                        .zip.takes_deflated = true,
                        .err = err};
    struct attn_dictionary *made;
    enum attn_status status;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    status = read_all(&r, path);
    attn_zip_release(&r.zip);
    *made = r.made;
    ATTN_RETURN_MADE(attn_error_at(status, ATTN_STAGE_MODEL, err), dictionary, made,
                     attn_dictionary_free);
}

void attn_dictionary_free(struct attn_dictionary *dictionary)
{
    if (!dictionary)
        return;
    attn_tensor_files_free(dictionary->files);
    attn_file_release(&dictionary->archive);
    attn_json_free(dictionary->config);
    attn_store_release(&dictionary->store);
    attn_free(dictionary);
}

struct attn_quote attn_dictionary_tensor(const struct attn_location *at)
{
    struct attn_quote name;
    const int n = snprintf(name.text, sizeof name.text, "%s of layer %d", attn_site_name(at->site),
                           at->layer);

    if (at->head != ATTN_ALL_HEADS)
        snprintf(name.text + n, sizeof name.text - (size_t)n, ", head %d", at->head);
    return name;
}

/* --- Encoding --------------------------------------------------------------------------------- */

/* The encoder is multiplied in blocks of features, of which each row keeps the largest. */

enum { PRODUCTS = 1 << 20, LEAST_BLOCK = 64, MOST_BLOCK = 4096 }; /* numbers; features */

/* Returns a_i. ROW [d] is scratch. */
static double scale_of(const struct attn_dictionary *dictionary, size_t i, double *row)
{
    double sum = 0;

    if (!dictionary->is_scaled)
        return 1;
    attn_matrix_rows(&dictionary->decoder, i, 1, row);
    for (size_t j = 0; j < dictionary->d; j++)
        sum += row[j] * row[j];
    return sqrt(sum);
}

static struct attn_sae_feature rule_of(const struct attn_dictionary *dictionary, size_t i)
{
    return (struct attn_sae_feature){
        .path = dictionary->path,
        .i = i,
        .kind = dictionary->kind,
        .bias = dictionary->bias[i],
        .threshold = dictionary->threshold ? dictionary->threshold[i] : 0,
        .gain = dictionary->gain ? dictionary->gain[i] : 0,
        .gated = dictionary->gated ? dictionary->gated[i] : 0,
    };
}

struct attn_sae_feature attn_dictionary_feature(const struct attn_dictionary *dictionary, size_t i,
                                                double *column, float *direction)
{
    const double scale = scale_of(dictionary, i, column);
    struct attn_sae_feature feature = rule_of(dictionary, i);

    if (direction)
        attn_matrix_rows(&dictionary->decoder, i, 1, column);
    for (size_t j = 0; j < dictionary->d && direction; j++)
        direction[j] = (float)(column[j] / (scale > 0 ? scale : 1));
    attn_matrix_column(&dictionary->encoder, i, column);
    feature.constant = (double)feature.bias;
    for (size_t j = 0; j < dictionary->d; j++) {
        feature.constant -= dictionary->is_centered ? (double)dictionary->shift[j] * column[j] : 0;
        column[j] *= scale;
    }
    feature.constant *= scale;
    feature.column = column;
    return feature;
}

double attn_feature_pre(const struct attn_sae_feature *feature, const float *x, size_t d)
{
    double pre = feature->constant;

    for (size_t j = 0; j < d; j++)
        pre += feature->column[j] * (double)x[j];
    return pre;
}

float attn_feature_activate(const struct attn_sae_feature *feature, float pre)
{
    if (!(pre > 0) || !(pre > feature->threshold))
        return 0;
    return feature->kind == ATTN_DICTIONARY_GATED
               ? fmaxf(feature->gain * (pre - feature->bias) + feature->gated, 0)
               : pre;
}

enum attn_status attn_feature_check(const struct attn_sae_feature *feature, double pre,
                                    struct attn_error *err)
{
    if (isfinite((float)pre) && isfinite(attn_feature_activate(feature, (float)pre)))
        return ATTN_OK;
    attn_error_set(err, ATTN_FORMAT, "feature %zu of '%s' gives a number that is not finite",
                   feature->i, attn_quote_string(feature->path).text);
    return attn_error_at(ATTN_FORMAT, ATTN_STAGE_MODEL, err);
}

static int by_activation(const void *a, const void *b)
{
    const struct attn_firing *x = a, *y = b;

    return x->activation != y->activation
               ? (x->activation < y->activation) - (x->activation > y->activation)
               : (x->feature > y->feature) - (x->feature < y->feature);
}

enum attn_status attn_firings_add(struct attn_firings *row, size_t most, struct attn_firing firing,
                                  struct attn_error *err)
{
    if (!(firing.activation > row->least))
        return ATTN_OK;
    if (most > 0 && row->n / 2 == most) {
        attn_firings_sort(row, most);
        row->least = row->items[most - 1].activation;
    }
    ATTN_TRY(ATTN_GROW(row->items, row->capacity, row->n + 1, err));
    row->items[row->n++] = firing;
    return ATTN_OK;
}

void attn_firings_sort(struct attn_firings *row, size_t most)
{
    ATTN_SORT(row->items, row->n, by_activation);
    row->n = most > 0 && row->n > most ? most : row->n;
}

/* Returns how many features of a row are kept; 0: all. */
static size_t most_of(const struct attn_dictionary *dictionary, const struct attn_encoded *of)
{
    const bool is_topk = dictionary->kind == ATTN_DICTIONARY_TOPK;

    return is_topk && (of->most == 0 || dictionary->k < of->most) ? dictionary->k : of->most;
}

/* Adds the features whose products are in BLOCK, and their SCALES, to row number ROW. */
static enum attn_status add_block(const struct attn_dictionary *dictionary,
                                  const struct attn_linear_args *block, const double *scales,
                                  size_t row, const struct attn_encoded *of, struct attn_error *err)
{
    const size_t most = most_of(dictionary, of);
    const float *pre = block->y + row * block->ldy;

    for (size_t i = block->first_col; i < block->last_col; i++, pre++, scales++) {
        const struct attn_sae_feature rule = rule_of(dictionary, i);
        const double scaled = (double)*pre * *scales;
        struct attn_firing firing = {.feature = i};

        ATTN_TRY(attn_feature_check(&rule, scaled, err));
        firing.activation = attn_feature_activate(&rule, (float)scaled);
        firing.weight = (float)((double)firing.activation / *scales);
        ATTN_TRY(attn_firings_add(&of->rows[row], most, firing, err));
    }
    return ATTN_OK;
}

enum attn_status attn_dictionary_encode(const struct attn_dictionary *dictionary,
                                        const struct attn_encoded *of, struct attn_error *err)
{
    const size_t n = dictionary->n, d = dictionary->d;
    const size_t fit = PRODUCTS / (of->n_row > 0 ? of->n_row : 1) / LEAST_BLOCK * LEAST_BLOCK;
    const size_t most = fit < LEAST_BLOCK ? LEAST_BLOCK : fit < MOST_BLOCK ? fit : MOST_BLOCK;
    const struct attn_linear map = {
        .weight = dictionary->encoder,
        .bias = {.data = dictionary->bias, .dtype = ATTN_DTYPE_F32, .n = n, .group = n}};
    const struct attn_gemm_engine engine = attn_gemm_engine_start(
        ATTN_GEMM_AUTO, ATTN_ISA_BEST, (double)of->n_row * (double)d * (double)n);
    struct attn_linear_args args = {
        .linear = &map, .engine = &engine, .x = of->x, .ldx = d, .n_row = of->n_row};
    double *scales = attn_alloc_uninitialized(most + d, sizeof *scales, err);
    enum attn_status status = scales ? ATTN_OK : ATTN_NO_MEMORY;

    args.y = attn_alloc_large(of->n_row * most, sizeof *args.y, err);
    status = args.y ? status : ATTN_NO_MEMORY;
    for (size_t k = 0; dictionary->is_centered && k < of->n_row * d; k++)
        of->x[k] -= dictionary->shift[k % d];
    for (; status == ATTN_OK && args.first_col < n; args.first_col = args.last_col) {
        args.ldy = n - args.first_col < most ? n - args.first_col : most;
        args.last_col = args.first_col + args.ldy;
        status = attn_linear_run_alone(&args, 1, of->pool, err);
        for (size_t i = args.first_col; i < args.last_col; i++)
            scales[i - args.first_col] = scale_of(dictionary, i, scales + most);
        for (size_t row = 0; status == ATTN_OK && row < of->n_row; row++)
            status = add_block(dictionary, &args, scales, row, of, err);
    }
    attn_free(args.y);
    attn_free(scales);
    for (size_t row = 0; row < of->n_row; row++)
        attn_firings_sort(&of->rows[row], most_of(dictionary, of));
    return attn_error_at(status, ATTN_STAGE_MODEL, err);
}

void attn_dictionary_decode(const struct attn_dictionary *dictionary,
                            const struct attn_firings *row, double *x)
{
    for (size_t j = 0; j < dictionary->d; j++)
        x[j] = (double)dictionary->shift[j];
    for (size_t i = 0; i < row->n; i++)
        attn_matrix_add_rows(&dictionary->decoder, row->items[i].feature, 1, &row->items[i].weight,
                             x);
}
