/*
 * hub.h - the cache in which huggingface_hub keeps models, read and never written:
 *
 *     HUB/models--OWNER--NAME/refs/REVISION      the hash of a commit, in hexadecimal digits
 *     HUB/models--OWNER--NAME/snapshots/HASH/    the files of that commit, as links into blobs/
 *
 * A snapshot is read like any other directory of a model.
 */
#ifndef ATTN_CATALOG_HUB_H
#define ATTN_CATALOG_HUB_H

#include "base/path.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    ATTN_HUB_PART_MAX = 96, /* characters of an owner, and of a name; as the hub has it */
    ATTN_HUB_REVISION_MAX = 160,
    ATTN_HUB_NAME_SIZE = 2 * ATTN_HUB_PART_MAX + ATTN_HUB_REVISION_MAX + 3
};

/* What a model of the hub is called: OWNER/NAME, NAME, and either with @REVISION, and with :TAG. */
struct attn_hub_name {
    char repository[ATTN_HUB_NAME_SIZE];      /* "OWNER/NAME" or "NAME" */
    char revision[ATTN_HUB_REVISION_MAX + 1]; /* empty: main */
    const char *tag; /* of a GGUF file; borrowed from the text that was read; NULL: none */
};

/* Whether TEXT has the form of a name; none leads out of the cache. */
bool attn_hub_read_name(const char *text, struct attn_hub_name *name);

/* Whether the cache HUB has anything of NAME's repository. */
bool attn_hub_has(const char *hub, const struct attn_hub_name *name);

/* Gives NAME, which has no owner, the one that its repository has in the cache HUB: models got
 * owners long after their names (bert-base-uncased is google-bert's). NAME stays as it is where
 * there is none. ATTN_INVALID when there are several. */
enum attn_status attn_hub_find_owner(const char *hub, struct attn_hub_name *name,
                                     struct attn_error *err);

/*
 * Writes the directory of the snapshot that NAME means into SNAPSHOT. A revision is a file in refs/
 * or the hash of a commit, or the only one that begins so. Without one it is main; where refs/ is
 * empty, the snapshot that was changed last. ATTN_INVALID when there is no such snapshot.
 */
enum attn_status attn_hub_find(const char *hub, const struct attn_hub_name *name,
                               char snapshot[ATTN_PATH_SIZE], struct attn_error *err);

/* The command that downloads NAME, into COMMAND [size]. */
void attn_hub_fetch(const struct attn_hub_name *name, char *command, size_t size);

/* Told of a NAME; a failure ends the visit. */
typedef enum attn_status (*attn_hub_fn)(void *user, const char *name, struct attn_error *err);

/* Visits the name of each snapshot in HUB, in the order of their bytes: of main without a revision,
 * else with its ref, or with its hash where none leads to it. */
enum attn_status attn_hub_visit(const char *hub, attn_hub_fn visit, void *user,
                                struct attn_error *err);

#endif
