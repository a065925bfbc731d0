/* json.h - small JSON files (config, index, vocabulary) as trees of cJSON. Getters check the type
 * and the range of a value; their messages name the key and the file. */
#pragma once

#include "base/file.h"
#include "base/status_internal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attn_json; /* a document; owns its tree */
struct attn_node; /* a value of a document; borrowed from it */

enum { ATTN_JSON_MAX_SIZE = ATTN_TEXT_MAX };

/* Checks and parses FILE, whose root must be an object; at most 64 MiB. Keys and strings with NUL,
 * and numbers of more than 63 characters or beyond the range of double, are refused because the
 * tree could not hold them. Copies all that it keeps. */
enum attn_status attn_json_parse(const struct attn_file *file, struct attn_json **json,
                                 struct attn_error *err);

/* As attn_json_parse, but saves memory, because each element of a list takes 64 bytes in a tree.
 * Lists and objects of the root are checked but left empty, unless NAMES, ended by NULL, has their
 * key. All keys of the root exist. */
enum attn_status attn_json_parse_named(const struct attn_file *file, const char *const *names,
                                       struct attn_json **json, struct attn_error *err);

/* Instead of NAMES: the root may be a list, or any other value, and nothing is left empty. */
extern const char *const attn_json_any[];

/* Parses part NAME of SOURCE: as attn_json_parse_named, or as attn_json_parse if NAMES is NULL. */
enum attn_status attn_json_read_part(const struct attn_source *source, const char *name,
                                     const char *const *names, struct attn_json **json,
                                     struct attn_error *err);
void attn_json_free(struct attn_json *json); /* NULL is allowed */

const struct attn_node *attn_json_root(const struct attn_json *json);

/* Makes OBJECT, an object of JSON, the current root. NULL: the root of the file again. */
void attn_json_enter(struct attn_json *json, const struct attn_node *object);

const char *attn_json_name(const struct attn_json *json); /* the path of the file */

/* Returns member KEY of OBJECT (case matters), or NULL. The getters below treat a member that is
 * null as missing. */
const struct attn_node *attn_node_find(const struct attn_node *object, const char *key);

/* Return the first child of NODE, its next sibling, and its key if it is a member. A look-up by key
 * takes linear time; to read all members, go from one to the next. */
const struct attn_node *attn_node_first(const struct attn_node *node);
const struct attn_node *attn_node_next(const struct attn_node *node);
const char *attn_node_key(const struct attn_node *node);
bool attn_node_is_object(const struct attn_node *node);
bool attn_node_is_array(const struct attn_node *node);
bool attn_node_is_null(const struct attn_node *node);
bool attn_node_is_bool(const struct attn_node *node, bool *value); /* sets *value if it is one */
const char *attn_node_string(const struct attn_node *node);        /* NULL: NODE is no string */
/* Whether it is a whole number with |value| < 2^53. */
bool attn_node_int(const struct attn_node *node, int64_t *value);
/* Whether it is a finite number. */
bool attn_node_double(const struct attn_node *node, double *value);

/* Get member KEY of OBJECT, an object of JSON. A member that is missing or null leaves *value as it
 * is. A wrong type or range is ATTN_FORMAT with a message such as "'n_head' in 'm/config.json' is
 * -3, expected an integer from 1 to 65536". */
enum attn_status attn_json_get_int(const struct attn_json *json, const struct attn_node *object,
                                   const char *key, int64_t min, int64_t max, int64_t *value,
                                   struct attn_error *err);
enum attn_status attn_json_get_size(const struct attn_json *json, const struct attn_node *object,
                                    const char *key, size_t min, size_t max, size_t *value,
                                    struct attn_error *err);
enum attn_status attn_json_get_double(const struct attn_json *json, const struct attn_node *object,
                                      const char *key, double min, double max, double *value,
                                      struct attn_error *err);
enum attn_status attn_json_get_bool(const struct attn_json *json, const struct attn_node *object,
                                    const char *key, bool *value, struct attn_error *err);
/* As the getters above. *value is borrowed from the document. */
enum attn_status attn_json_get_string(const struct attn_json *json, const struct attn_node *object,
                                      const char *key, const char **value, struct attn_error *err);

/* Sets ERR to STATUS and the message "'KEY' in 'FILE' " and a format with its arguments. */
#define ATTN_JSON_REFUSE(json, err, status, key, ...)                                              \
    attn_refuse_in(err, status, attn_json_name(json), key, __VA_ARGS__)
