/* family_guess.c - see family_guess.h: compares the names of tensors with those of each family. */
#include "families/family_guess.h"

#include "base/status_internal.h"
#include "base/text/fixed_text.h"
#include "families/families.h"
#include "model/weights.h"

/* Whether ST has the tensors of BERT with types of tokens for pairs of texts. RoBERTa's have the
 * same names, but one type. */
static bool has_pair_types(const struct attn_tensor_files *st)
{
    static const char *const names[] = {"embeddings.token_type_embeddings.weight",
                                        "bert.embeddings.token_type_embeddings.weight"};
    struct attn_tensor_entry entry;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (attn_tensor_files_find(st, names[i], &entry) && entry.tensor.rank > 0 &&
            entry.tensor.shape[0] > 1)
            return true;
    return false;
}

/* Returns how many tensors of ST are named as those of FAMILY; 0 if ST lacks its first. */
static size_t count_known(const struct attn_family *family, const struct attn_tensor_files *st)
{
    const struct attn_config any = family->form.defaults;
    size_t n = 0;

    if (family->n_rule == 0 ||
        !(attn_weights_are_named(family, family->prefix ? family->prefix : "", st) ||
          attn_weights_are_named(family, "", st)))
        return 0;
    for (size_t i = 0; i < attn_tensor_files_count(st); i++)
        n += attn_weights_know(family, &any, attn_tensor_files_entry(st, i).name);
    return n;
}

enum attn_status attn_family_guess(const struct attn_json *json, const struct attn_tensor_files *st,
                                   const struct attn_family **found, struct attn_error *err)
{
    const char *timm = NULL;
    /* A class that is not read may have the names of one that is. */
    const bool is_named = attn_node_find(attn_json_root(json), "architectures") != NULL;
    const struct attn_family *family;
    size_t most = 0, n = 0, n_known, used = 0;
    char names[200] = "";

    for (size_t i = 0; !is_named && (family = attn_families[i]) != NULL; i++) {
        n_known = count_known(family, st);
        if (n_known < most || n_known == 0 || family == &attn_family_nanogpt)
            continue; /* nanoGPT writes no config */
        if (n_known > most)
            n = 0, used = 0, *found = family;
        most = n_known;
        n++;
        attn_fixed_text_append(names, sizeof names, &used, "%s%s", n > 1 ? ", " : "",
                               family->model_type);
        if (family == &attn_family_bert && has_pair_types(st))
            return ATTN_OK;
    }
    if (n == 1)
        return ATTN_OK;
    attn_error_set(err, ATTN_FORMAT,
                   "'model_type' is missing in '%s', expected a type that is read",
                   attn_config_quote(json).text);
    if (n > 1)
        attn_error_hint(err,
                        "add \"model_type\": \"%s\" to it, or another type with such tensors: %s",
                        (*found)->model_type, names);
    else if (attn_json_get_string(json, attn_json_root(json), "architecture", &timm, NULL) ==
                 ATTN_OK &&
             timm)
        attn_error_hint(err, "it is a config of timm; hf download google/vit-base-patch16-224, for "
                             "one, fetches a ViT that is read");
    else
        attn_error_hint(err, "add the type of the model to it, as in \"model_type\": \"gpt2\"");
    return ATTN_FORMAT;
}
