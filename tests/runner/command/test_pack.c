/* test_pack.c - a checkpoint folder comes back as it was, on any machine; equal folders are equal bytes; links and sockets stay
 * behind; a damaged or hostile file writes nothing outside the folder. */
#include "tests/unit.h"

#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "trial-runner/command/folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
    char dir[200], tar[260];
    struct folder a, b;
};

static void place_make(struct place *p)
{
    const char *tmp = getenv("TMPDIR");
    struct err err = { 0 };

    (void)snprintf(p->dir, sizeof p->dir, "%.150s/assay-pack-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(p->dir));
    (void)snprintf(p->tar, sizeof p->tar, "%s/x.tar", p->dir);
    assert_int_equal(folder_make(&p->a, p->dir, "a", 0, NULL, &err), 0);
    assert_int_equal(folder_make(&p->b, p->dir, "b", 0, NULL, &err), 0);
}

static void place_remove(struct place *p)
{
    assert_int_equal(io_remove_tree(p->dir, NULL), 0);
}

static void put(const struct folder *f, const char *name, const void *bytes, size_t n)
{
    char path[900];

    (void)snprintf(path, sizeof path, "%s/checkpoint/%s", f->path, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), n);
    close(fd);
}

static void is(const struct folder *f, const char *name, const void *bytes, size_t n)
{
    char path[900];
    struct buf got;

    (void)snprintf(path, sizeof path, "%s/checkpoint/%s", f->path, name);
    assert_int_equal(io_read_file(path, 1 << 24, &got, NULL), 0);
    assert_int_equal(got.len, n);
    if (n > 0)
        assert_memory_equal(got.data, bytes, n);
    buf_fini(&got);
}

static void a_folder_comes_back_as_it_was(void **state)
{
    static char large[300000];
    char name[220], path[1100], one[SHA256_HEX], two[SHA256_HEX];
    struct place p;
    struct err err = { 0 };
    json_t *kept = json_pack("{s:i}", "n", 7), *got = NULL;

    (void)state;
    place_make(&p);
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    for (size_t i = 0; i < sizeof large; i++)
        large[i] = (char)(i * 7);
    (void)snprintf(path, sizeof path, "%s/checkpoint/deep", p.a.path);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/checkpoint/link", p.a.path);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    put(&p.a, "empty", "", 0);
    put(&p.a, "deep/large", large, sizeof large);
    put(&p.a, "exact", large, 512);
    put(&p.a, name, "long", 4);
    assert_int_equal(folder_pack(&p.a, kept, 1 << 20, p.tar, one, &err), 0);
    assert_int_equal(folder_unpack(&p.b, p.tar, 1 << 20, &got, &err), 0);
    assert_true(json_equal(got, kept));
    is(&p.b, "empty", "", 0);
    is(&p.b, "deep/large", large, sizeof large);
    is(&p.b, "exact", large, 512);
    is(&p.b, name, "long", 4);
    (void)snprintf(path, sizeof path, "%s/checkpoint/link", p.b.path);
    assert_int_equal(access(path, F_OK), -1);
    unlink(p.tar);
    assert_int_equal(folder_pack(&p.b, kept, 1 << 20, p.tar, two, &err), 0);
    assert_string_equal(one, two);
    json_decref(got);
    json_decref(kept);
    place_remove(&p);
}

static void a_large_checkpoint_is_refused_on_both_sides(void **state)
{
    static const char bytes[5000];
    char sha[SHA256_HEX];
    struct place p;
    struct err err = { 0 };
    json_t *kept = json_object(), *got = NULL;

    (void)state;
    place_make(&p);
    put(&p.a, "x", bytes, sizeof bytes);
    assert_int_equal(folder_pack(&p.a, kept, 4999, p.tar, sha, &err), -1);
    assert_int_equal(err.code, ERR_TOOBIG);
    assert_int_equal(access(p.tar, F_OK), -1); /* nothing is left behind */
    assert_int_equal(folder_pack(&p.a, kept, 5000, p.tar, sha, NULL), 0);
    assert_int_equal(folder_unpack(&p.b, p.tar, 4999, &got, &err), -1);
    assert_null(got);
    json_decref(kept);
    place_remove(&p);
}

/* Every truncation and many changed bytes: an error or an equal folder, and nothing outside. */
static void a_damaged_file_harms_nothing(void **state)
{
    char sha[SHA256_HEX];
    struct place p;
    struct buf whole;
    json_t *kept = json_object(), *got = NULL;

    (void)state;
    place_make(&p);
    put(&p.a, "x", "some bytes", 10);
    put(&p.a, "y", "more", 4);
    assert_int_equal(folder_pack(&p.a, kept, 1 << 20, p.tar, sha, NULL), 0);
    assert_int_equal(io_read_file(p.tar, 1 << 20, &whole, NULL), 0);
    for (size_t i = 0; i < whole.len; i += 61) {
        char keep = whole.data[i];
        struct folder f;

        whole.data[i] = (char)(keep ^ (1 << (i % 7)));
        size_t n = i % 2 ? whole.len : i;
        int fd = open(p.tar, O_WRONLY | O_TRUNC);
        assert_int_equal(write(fd, whole.data, n), n);
        close(fd);
        whole.data[i] = keep;
        assert_int_equal(folder_make(&f, p.dir, "f", 0, NULL, NULL), 0);
        if (folder_unpack(&f, p.tar, 1 << 20, &got, NULL) == 0)
            json_decref(got);
        folder_remove(&f);
    }
    buf_fini(&whole);
    json_decref(kept);
    place_remove(&p);
}

static void a_way_out_is_refused(void **state)
{
    static const char *const names[] = {
        "../x", "/tmp/x", "checkpoint/../../x", "work/x", "checkpoint/a/../../../x", "checkpoint//x"
    };
    char sha[SHA256_HEX], out[300];
    struct place p;
    struct buf whole;
    json_t *kept = json_object(), *got = NULL;

    (void)state;
    place_make(&p);
    put(&p.a, "x", "some bytes", 10);
    assert_int_equal(folder_pack(&p.a, kept, 1 << 20, p.tar, sha, NULL), 0);
    assert_int_equal(io_read_file(p.tar, 1 << 20, &whole, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        unsigned sum = 0;
        char *head = whole.data + 1024; /* behind the state and its contents */
        struct err err = { 0 };

        memset(head, 0, 100);
        memcpy(head, names[i], strlen(names[i]));
        memset(head + 148, ' ', 8);
        for (int k = 0; k < 512; k++)
            sum += (unsigned char)head[k];
        (void)snprintf(head + 148, 7, "%06o", sum);
        int fd = open(p.tar, O_WRONLY | O_TRUNC);
        assert_int_equal(write(fd, whole.data, whole.len), whole.len);
        close(fd);
        assert_int_equal(folder_unpack(&p.b, p.tar, 1 << 20, &got, &err), -1);
        assert_non_null(strstr(err.text, "no runner wrote"));
    }
    (void)snprintf(out, sizeof out, "%s/x", p.dir);
    assert_int_equal(access(out, F_OK), -1);
    buf_fini(&whole);
    json_decref(kept);
    place_remove(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_comes_back_as_it_was),
        cmocka_unit_test(a_large_checkpoint_is_refused_on_both_sides),
        cmocka_unit_test(a_damaged_file_harms_nothing),
        cmocka_unit_test(a_way_out_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
