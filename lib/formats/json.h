/* json.h - small JSON files (config, index, vocabulary) as trees, read by cJSON after the strict
 * scanner, and getters that check type and range, and name key and file in their messages. */
#ifndef ATTN_FORMATS_JSON_H
#define ATTN_FORMATS_JSON_H

#include "base/file.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attn_json; /* a document; owns its tree */
struct attn_node; /* a value in it; borrowed from the document */

enum { ATTN_JSON_MAX_SIZE = ATTN_TEXT_MAX };

/* Checks, then parses FILE, whose root must be an object; at most 64 MiB. Keys and strings with NUL
 * and numbers of more than 63 characters or beyond a double are refused, for no tree could hold
 * them. Copies everything it keeps. */
enum attn_status attn_json_parse(const struct attn_file *file, struct attn_json **json,
                                 struct attn_error *err);

/* The same for a file of which little is read, since an element of a list costs 64 bytes in a tree:
 * lists and objects in the root are checked and left empty, but for those that the keys NAMES,
 * ended by NULL, have. Every key is there. */
enum attn_status attn_json_parse_named(const struct attn_file *file, const char *const *names,
                                       struct attn_json **json, struct attn_error *err);

/* Parses part NAME of SOURCE: as attn_json_parse_named, or all of it if NAMES is NULL. */
enum attn_status attn_json_read_part(const struct attn_source *source, const char *name,
                                     const char *const *names, struct attn_json **json,
                                     struct attn_error *err);
void attn_json_free(struct attn_json *json); /* NULL is allowed */

const struct attn_node *attn_json_root(const struct attn_json *json);

/* Makes OBJECT, an object of JSON, the root; NULL restores the root of the file. */
void attn_json_enter(struct attn_json *json, const struct attn_node *object);

const char *attn_json_name(const struct attn_json *json); /* the file's path, for messages */

/* The member KEY (case matters), or NULL; for the getters below a null member is absent. */
const struct attn_node *attn_node_find(const struct attn_node *object, const char *key);

/* First child, next sibling, the key of a member. A look-up is linear: iterate instead. */
const struct attn_node *attn_node_first(const struct attn_node *node);
const struct attn_node *attn_node_next(const struct attn_node *node);
const char *attn_node_key(const struct attn_node *node);
bool attn_node_is_object(const struct attn_node *node);
bool attn_node_is_array(const struct attn_node *node);
bool attn_node_is_null(const struct attn_node *node);
bool attn_node_is_bool(const struct attn_node *node, bool *value);  /* sets *value when it is one */
const char *attn_node_string(const struct attn_node *node);         /* NULL when it is no string */
bool attn_node_int(const struct attn_node *node, int64_t *value);   /* integral, |value| < 2^53 */
bool attn_node_double(const struct attn_node *node, double *value); /* finite */

/* Typed members of an object of JSON. An absent or null member leaves *value as it is; a wrong type
 * or range is ATTN_FORMAT: "'n_head' in 'm/config.json' is -3, expected an integer from 1 to
 * 65536". */
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
/* Borrowed from the document. */
enum attn_status attn_json_get_string(const struct attn_json *json, const struct attn_node *object,
                                      const char *key, const char **value, struct attn_error *err);

#endif
