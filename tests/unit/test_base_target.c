/* Targets of output: links, and what somebody else put there. */
#include "base/sink_internal.h"
#include "base/text/path.h"
#include "tests/support/folder.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOBODY = 65534 };

static void assert_refused(enum attn_status status, const struct attn_error *err,
                           const char *message)
{
    ck_assert_int_eq(status, ATTN_IO);
    ck_assert_str_eq(err->message, message);
}

/* Writes WORD to PATH, or to NAME in the folder shared when PATH is NULL. */
static enum attn_status try_to_write(const char *path, const char *name, const char *word,
                                     struct attn_error *err)
{
    struct attn_sink *sink = NULL;
    enum attn_status status = path ? attn_sink_create_file(path, &sink, err)
                                   : attn_sink_create_file_in("shared", name, &sink, err);

    if (status != ATTN_OK)
        return status;
    attn_sink_write(sink, word, strlen(word));
    status = attn_sink_commit(sink, err);
    attn_sink_free(sink);
    return status;
}

static void make_shared(mode_t mode)
{
    attn_folder_enter();
    ck_assert_int_eq(chmod(".", 0755), 0);
    ck_assert_int_eq(mkdir("shared", 0700), 0);
    ck_assert_int_eq(chmod("shared", mode), 0);
    attn_folder_write("precious", "kept", 4);
}

/* Empties the folder shared, and leaves. */
static void leave_shared(void)
{
    ck_assert_int_eq(chdir("shared"), 0);
    ck_assert_int_eq(system("rm -rf -- *"), 0);
    ck_assert_int_eq(chdir(".."), 0);
    attn_folder_leave();
}

/* Whether the test can be two users; says so when not. */
static bool can_be_nobody(void)
{
    if (geteuid() != 0)
        attn_skip_test("what other users plant: only root can be two users");
    return geteuid() == 0;
}

/* A link, a FIFO and a file of another user. */
static void plant(void)
{
    ck_assert_int_eq(seteuid(NOBODY), 0);
    ck_assert_int_eq(symlink("../precious", "shared/link"), 0);
    ck_assert_int_eq(symlink("../new", "shared/dangling"), 0);
    ck_assert_int_eq(mkfifo("shared/fifo", 0666), 0);
    attn_folder_write("shared/file", "theirs", 6);
    ck_assert_int_eq(symlink("..", "shared/folder"), 0);
    ck_assert_int_eq(seteuid(0), 0);
}

START_TEST(what_another_user_planted_is_neither_followed_nor_replaced)
{
    static const char *const names[] = {"link", "dangling", "fifo", "file"};

    if (!can_be_nobody())
        return;
    make_shared(01777);
    plant();
    for (size_t i = 0; i < 4; i++) {
        struct attn_error err = {0};
        char path[32], message[128];

        snprintf(path, sizeof path, "shared/%s", names[i]);
        snprintf(message, sizeof message,
                 "cannot write '%s': it is another user's, in a folder that everyone may write to",
                 path);
        assert_refused(try_to_write(path, NULL, "mine", &err), &err, message);
        err = (struct attn_error){0};
        assert_refused(try_to_write(NULL, names[i], "mine", &err), &err, message);
    }
    attn_folder_assert("precious", "kept", 4);
    attn_folder_assert("shared/file", "theirs", 6);
    ck_assert_int_ne(access("new", F_OK), 0);
    leave_shared();
}
END_TEST

START_TEST(a_folder_that_is_the_link_of_another_user_is_refused)
{
    struct attn_error err = {0};
    struct attn_sink *sink = NULL;

    if (!can_be_nobody())
        return;
    make_shared(01777);
    plant();
    assert_refused(attn_sink_create_file_in("shared/folder", "new", &sink, &err), &err,
                   "cannot write 'shared/folder': it is another user's, in a folder that everyone "
                   "may write to");
    leave_shared();
}
END_TEST

/* As the kernel does: what is mine, the folder's owner's, or lies where not everyone may write. */
START_TEST(links_of_the_caller_and_of_the_owner_of_the_folder_are_followed)
{
    for (int i = 0; i < 3; i++) {
        struct attn_error err = {0};

        if (i > 0 && !can_be_nobody())
            return;
        make_shared(i == 2 ? 0777 : 01777);
        if (i > 0)
            ck_assert_int_eq(seteuid(NOBODY), 0);
        ck_assert_int_eq(symlink("../precious", "shared/link"), 0);
        if (i > 0)
            ck_assert_int_eq(seteuid(0), 0);
        if (i == 1)
            ck_assert_int_eq(chown("shared", NOBODY, NOBODY), 0);
        ck_assert_msg(try_to_write("shared/link", NULL, "mine", &err) == ATTN_OK, "%s",
                      err.message);
        attn_folder_assert("precious", "mine", 4);
        leave_shared();
    }
}
END_TEST

START_TEST(a_folder_of_many_files_has_nothing_but_files_replaced)
{
    static const char *const names[] = {"link", "fifo", "folder"};
    static const char *const kinds[] = {"a link", "a FIFO", "a directory"};
    struct attn_error err = {0};

    make_shared(0700);
    ck_assert_int_eq(symlink("../precious", "shared/link"), 0);
    ck_assert_int_eq(mkfifo("shared/fifo", 0600), 0);
    ck_assert_int_eq(mkdir("shared/folder", 0700), 0);
    attn_folder_write("shared/file", "old", 3);
    for (size_t i = 0; i < 3; i++) {
        char message[128];

        err = (struct attn_error){0};
        snprintf(message, sizeof message, "cannot write 'shared/%s': it is %s, expected a file",
                 names[i], kinds[i]);
        assert_refused(try_to_write(NULL, names[i], "mine", &err), &err, message);
        ck_assert_str_eq(err.hint, "choose another directory, or move it away");
    }
    attn_folder_assert("precious", "kept", 4);
    err = (struct attn_error){0};
    ck_assert_int_eq(try_to_write(NULL, "file", "new", &err), ATTN_OK);
    attn_folder_assert("shared/file", "new", 3);
    leave_shared();
}
END_TEST

static bool is_same(const char *a, const char *b)
{
    struct attn_target of_a, of_b;
    bool is;

    ck_assert_int_eq(attn_target_find(a, &of_a, NULL), ATTN_OK);
    ck_assert_int_eq(attn_target_find(b, &of_b, NULL), ATTN_OK);
    is = attn_target_is_same(&of_a, &of_b);
    attn_target_release(&of_a);
    attn_target_release(&of_b);
    return is;
}

START_TEST(one_file_is_known_by_all_its_names)
{
    make_shared(0700);
    ck_assert_int_eq(symlink("../precious", "shared/link"), 0);
    ck_assert_int_eq(symlink("../new", "shared/dangling"), 0);
    ck_assert_int_eq(link("precious", "shared/second"), 0);
    ck_assert(is_same("precious", "./precious"));
    ck_assert(is_same("precious", "shared/link"));
    ck_assert(is_same("precious", "shared/second"));
    ck_assert(is_same("new", "shared/../new"));
    ck_assert(is_same("new", "shared/dangling"));
    ck_assert(!is_same("new", "shared/new"));
    ck_assert(!is_same("new", "newer"));
    ck_assert(!is_same("new", "precious"));
    ck_assert(!is_same("absent/new", "absent/new")); /* opening them says what is wrong */
    ck_assert(!is_same("/dev/null", "/dev/null"));
    leave_shared();
}
END_TEST

ATTN_SUITE("base target", what_another_user_planted_is_neither_followed_nor_replaced,
           a_folder_that_is_the_link_of_another_user_is_refused,
           links_of_the_caller_and_of_the_owner_of_the_folder_are_followed,
           a_folder_of_many_files_has_nothing_but_files_replaced,
           one_file_is_known_by_all_its_names)
