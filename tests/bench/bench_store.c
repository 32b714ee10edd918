/* bench_store.c - how many durable inserts per second: one commit per request, and one per turn of 64 requests, which is
 * what the controller's loop does with requests that arrive together. Each insert is a trial with its journal row (two
 * tables, four indexes). Also: loading a study's trials, the digest, and an fsync alone, to compare with.
 *   build/gcc/tests/bench/bench_store [folder]      default: TMPDIR or /tmp */
#include "base/clk.h"
#include "base/io.h"
#include "base/mem.h"
#include "store/study.h"
#include "store/trial.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TURN = 64, SECONDS = 3 };

static struct clk clk;

static void die(const char *what, const struct err *err)
{
    fprintf(stderr, "%s: %s\n", what, err->text);
    exit(1);
}

static int64_t number;

static void trial_add(struct store *s, int64_t study)
{
    struct trial_row t = {
        .study = study,
        .number = ++number,
        .config =
            mem_strdup("{\"family\":\"boost\",\"learning_rate\":0.0781,\"leaves\":63,\"l2\":1.5,"
                       "\"min_leaf\":20,\"columns\":0.8}"),
        .config_hash = "0123456789abcdef",
        .family = mem_strdup("boost"),
        .shape_key = mem_strdup("boost/63"),
        .score = NAN
    };
    struct savepoint sp;
    struct err err = { 0 };

    if (savepoint_open(&sp, s, &err) < 0 || store_trial_insert(s, &t, &err) < 0 ||
        savepoint_keep(&sp, &err) < 0)
        die("insert", &err);
    trial_row_fini(&t);
}

/* Durable inserts for SECONDS with so many per commit. */
static double inserts(struct store *s, int64_t study, int per_commit)
{
    int64_t from = clk_now_us(&clk), now = from, n = 0;
    struct err err = { 0 };

    while (now - from < SECONDS * INT64_C(1000000)) {
        for (int i = 0; i < per_commit; i++)
            trial_add(s, study);
        if (store_turn_commit(s, &err) < 0)
            die("commit", &err);
        n += per_commit;
        now = clk_now_us(&clk);
    }
    return (double)n * 1e6 / (double)(now - from);
}

static double fsyncs(const char *dir)
{
    char path[300], page[4096] = { 0 };
    int64_t from = 0, now = 0, n = 0;
    int fd = -1;

    snprintf(path, sizeof path, "%s/page", dir);
    fd = open(path, O_WRONLY | O_CREAT, 0600);
    from = now = clk_now_us(&clk);
    while (fd >= 0 && now - from < 1000000) {
        if (pwrite(fd, page, sizeof page, (off_t)n % 64 * 4096) < 0 || fsync(fd) < 0)
            break;
        n++;
        now = clk_now_us(&clk);
    }
    close(fd);
    return (double)(now - from) / (double)(n ? n : 1);
}

static int on_trial(void *arg, struct trial_row *row)
{
    *(int64_t *)arg += row->number;
    return 0;
}

int main(int argc, char **argv)
{
    const char *tmp = argc > 1 ? argv[1] : getenv("TMPDIR");
    char dir[240], data[260], digest[SHA256_HEX];
    struct study_row study = { .name = mem_strdup("bench"), .spec = mem_strdup("{}") };
    struct err err = { 0 };
    struct store *s = NULL;
    double one = 0, grouped = 0;
    int64_t from = 0, sum = 0;

    snprintf(dir, sizeof dir, "%s/assay-bench-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(dir))
        return 1;
    snprintf(data, sizeof data, "%s/data", dir);
    clk_init_system(&clk);
    printf("4 kB write + fsync               %9.0f us\n", fsyncs(dir));
    from = clk_now_us(&clk);
    s = store_open(data, NULL, &clk, &err);
    if (!s || store_study_insert(s, &study, &err) < 0 || store_turn_commit(s, &err) < 0)
        die("open", &err);
    printf("open a new folder                %9.1f ms\n", (double)(clk_now_us(&clk) - from) / 1e3);
    one = inserts(s, study.id, 1);
    printf("one commit each                  %9.0f inserts/s\n", one);
    grouped = inserts(s, study.id, TURN);
    printf("one commit per turn of %d        %9.0f inserts/s  (%.1fx)\n", TURN, grouped,
           grouped / one);
    from = clk_now_us(&clk);
    if (store_trial_each(s, study.id, on_trial, &sum, &err) < 0 || sum <= 0)
        die("load", &err);
    printf("load %7lld trials             %9.0f rows/s\n", (long long)number,
           (double)number * 1e6 / (double)(clk_now_us(&clk) - from));
    from = clk_now_us(&clk);
    if (store_digest(s, digest, &err) < 0)
        die("digest", &err);
    printf("digest of all of it              %9.0f ms\n", (double)(clk_now_us(&clk) - from) / 1e3);
    store_close(s);
    study_row_fini(&study);
    return io_remove_tree(dir, NULL) < 0;
}
