/* test_emulated_ranks.c - networks that several ranks train, each on an emulated device of its own, with the sums between the
 * devices (an emulated NCCL) or between their hosts: they equal those that threads train on the CPU, byte for byte, the state of
 * the optimiser included; a rank without room or without NCCL changes who computes, and nothing else; a rank that dies ends the
 * others with a message that names it. The ranks are processes, because a process has one emulated device. */
#include "tests/cuda/boost_rig.h"

#include "base/base.h"
#include "base/io.h"
#include "base/str.h"
#include "ml/math/optim_math.h"
#include "ml/model/models.h"
#include "ml/net/net_lane.h"
#include "ml/ranks/link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 4, EPOCHS = 3 };

struct plan {
    int ranks;
    int64_t rows;
    enum ml_task task;
    double batch, optimizer, clip, rate;
    /* the rank (-1 = none) that has no NCCL, no room on its device, that dies after an epoch */
    int without_nccl, without_room, dies;
    bool stops; /* after every chunk of steps of rank 0 */
    bool launches;
    /* what its lane becomes */
    bool diverges;
};

/* What a rank says at its end. */
struct told {
    int rc;
    bool failed;
    bool launched; /* kernels of the optimiser, so it was trained on the device */
    enum err_code code;
    char text[240];
    int64_t live, len; /* bytes of the checkpoint, which follow */
};

static const struct model_ops *mlp(void)
{
    return model_find("mlp");
}

static void params_of(const struct plan *p, int ranks, double *params)
{
    family_defaults(family_find("mlp"), params);
    params[MLP_EMBEDDING] = 0;
    params[MLP_MEMBERS] = 1;
    params[MLP_LAYERS] = 2;
    params[MLP_WIDTH] = p->rows > 1000 ? 3 : 20;
    params[MLP_BATCH] = p->batch;
    params[MLP_EPOCHS] = EPOCHS;
    params[MLP_DROPOUT] = 0.2;
    params[MLP_OPTIMIZER] = p->optimizer;
    params[MLP_CLIP] = p->clip;
    params[MLP_LEARNING_RATE] = p->rate > 0 ? p->rate : 0.02;
    params[MLP_RANKS] = ranks;
}

static struct rig *rig_of(const struct plan *p)
{
    enum metric_id metric = p->task == ML_REGRESSION ? METRIC_RMSE : METRIC_LOGLOSS;

    return rig_new(rig_mixed(p->task, p->rows, 3, 4), p->task, metric, 2);
}

static int lane_open(struct rig *r, struct lane *l, const double *params, struct ml_reduce *reduce,
                     struct err *err)
{
    *l = (struct lane){
        .fold = 0, .seed = 11, .level = mlp()->family->levels, .max_steps = EPOCHS, .reduce = reduce
    };
    memcpy(l->params, params, sizeof l->params);
    return mlp()->open(r->d, l, err);
}

static struct buf checkpoint(const struct lane *l)
{
    struct buf b;

    buf_init(&b, (size_t)1 << 28);
    CHECK(mlp()->save_training(l, &b, NULL) == 0);
    return b;
}

/* ---- a rank ---- */

static int64_t clock_late(void *arg)
{
    (void)arg;
    return INT64_MAX;
}

/* Trains to the end, in as many calls as it takes. */
static int train(const struct plan *p, int rank, struct rig *r, struct lane *l, struct err *err)
{
    struct ml_stop stop = { .now_us = clock_late, .deadline_us = 1 };
    bool stops = p->stops && rank == 0;
    int rc = 0;

    for (int i = 0; i < 1000 && rc == 0 && !l->failed && !l->is_done; i++) {
        rc = mlp()->advance(r->d, l, 1, rank == p->dies ? 1 : EPOCHS, stops ? &stop : NULL, err);
        if (rank == p->dies)
            _exit(9);
    }
    return rc;
}

static void rank_train(const struct plan *p, int rank, struct rank_link *link, struct told *out,
                       struct buf *bytes)
{
    struct rig *r = rig_of(p);
    double params[FAMILY_MAX_PARAMS];
    struct lane l;
    struct err err = { 0 };

    if (rank == p->without_nccl)
        setenv("ASSAY_NCCL", "/nonexistent/libnccl.so", 1);
    boost_device_open(NULL);
    boost_device.batch = 3;
    if (rank == p->without_room)
        emu_fail_malloc_from(2);
    emu_order_set((enum emu_order)(rank % 3), 5);
    r->d->spec.device = &boost_device;
    params_of(p, 1, params);
    out->rc = lane_open(r, &l, params, rank_link_reduce(link), &err);
    if (out->rc == 0)
        out->rc = train(p, rank, r, &l, &err);
    const struct net_lane *n = l.state;
    out->launched = n->group != NULL;
    out->failed = l.failed;
    err = l.failed ? l.why : err;
    out->code = err.code;
    str_copy(out->text, sizeof out->text, err.text);
    if (out->rc == 0 && !l.failed) {
        *bytes = checkpoint(&l);
        out->len = (int64_t)bytes->len;
    } else {
        rank_link_reduce(link)->ops->leave(rank_link_reduce(link), err.text);
    }
    mlp()->close(&l);
    r->d->spec.device = NULL;
    out->live = emu_device_bytes_live();
    rig_free(r);
}

static int write_all(int fd, const void *from, size_t n)
{
    const char *at = from;

    while (n > 0) {
        ssize_t k = write(fd, at, n);
        if (k <= 0)
            return -1;
        at += k;
        n -= (size_t)k;
    }
    return 0;
}

static int read_all(int fd, void *to, size_t n)
{
    char *at = to;

    while (n > 0) {
        ssize_t k = read(fd, at, n);
        if (k <= 0)
            return -1;
        at += k;
        n -= (size_t)k;
    }
    return 0;
}

/* The process of a rank. Rank 0 writes its address for each of the others. */
static void rank_run(const struct plan *p, int rank, const int addresses[2], int answer)
{
    struct rank_conf conf = { .rank = rank,
                              .ranks = p->ranks,
                              .secret = "00112233445566778899aabbccddeeff",
                              .trial = 7,
                              .fence = 2,
                              .start = "",
                              .meet_ms = 20000,
                              .sum_ms = 60000 };
    struct rank_link *link = rank_link_new(&conf);
    struct told told = { 0 };
    struct err err = { 0 };
    struct buf bytes = { 0 };
    char own[RANK_ADDRESS] = "", first[RANK_ADDRESS] = "";

    if (rank_link_listen(link, "127.0.0.1", own, &err) < 0)
        _exit(3);
    for (int i = 1; rank == 0 && i < p->ranks; i++)
        write_all(addresses[1], own, sizeof own);
    if (rank > 0 && read_all(addresses[0], first, sizeof first) < 0)
        _exit(4);
    if (rank_link_meet(link, rank > 0 ? first : NULL, &err) < 0)
        _exit(5);
    rank_train(p, rank, link, &told, &bytes);
    if (write_all(answer, &told, sizeof told) < 0 ||
        (told.len > 0 && write_all(answer, bytes.data, bytes.len) < 0))
        _exit(6);
    rank_link_close(link, NULL);
    _exit(0);
}

/* ---- all of them ---- */

struct answer {
    struct told told;
    bool came;
    struct buf bytes;
};

static void answer_read(int fd, struct answer *a)
{
    a->came = read_all(fd, &a->told, sizeof a->told) == 0;
    buf_init(&a->bytes, (size_t)1 << 28);
    for (int64_t left = a->came ? a->told.len : 0; left > 0;) {
        char room[4096];
        size_t n = (size_t)MIN(left, (int64_t)sizeof room);
        assert_int_equal(read_all(fd, room, n), 0);
        buf_add(&a->bytes, room, n, NULL);
        left -= (int64_t)n;
    }
}

static void ranks_go(const struct plan *p, struct answer *a)
{
    int addresses[2], answers[MOST][2];
    pid_t pid[MOST];

    assert_int_equal(pipe(addresses), 0);
    fflush(NULL);
    for (int i = 0; i < p->ranks; i++) {
        assert_int_equal(pipe(answers[i]), 0);
        pid[i] = fork();
        assert_true(pid[i] >= 0);
        if (pid[i] == 0) {
            alarm(120);
            rank_run(p, i, addresses, answers[i][1]);
        }
        close(answers[i][1]);
    }
    for (int i = 0; i < p->ranks; i++) {
        answer_read(answers[i][0], &a[i]);
        close(answers[i][0]);
        waitpid(pid[i], NULL, 0);
    }
    close(addresses[0]);
    close(addresses[1]);
}

/* The checkpoint of the lane that as many threads train. */
static struct buf threads_train(const struct plan *p)
{
    struct rig *r = rig_of(p);
    double params[FAMILY_MAX_PARAMS];
    struct err err = { 0 };
    struct lane l;

    params_of(p, p->ranks, params);
    assert_int_equal(lane_open(r, &l, params, NULL, &err), 0);
    assert_int_equal(mlp()->advance(r->d, &l, 1, EPOCHS, NULL, &err), 0);
    assert_int_equal(l.failed, p->diverges);
    struct buf b = { 0 };
    if (!l.failed)
        b = checkpoint(&l);
    mlp()->close(&l);
    rig_free(r);
    return b;
}

static void equal_threads(const struct plan *p)
{
    struct answer a[MOST] = { 0 };

    ranks_go(p, a);
    struct buf want = threads_train(p);
    for (int i = 0; i < p->ranks; i++) {
        if (!a[i].came || a[i].told.rc < 0 || a[i].told.failed)
            fail_msg("rank %d of %d: %s", i, p->ranks, a[i].told.text);
        assert_int_equal(a[i].told.launched, p->launches);
        assert_int_equal(a[i].told.live, 0);
        assert_int_equal(a[i].bytes.len, want.len);
        assert_memory_equal(a[i].bytes.data, want.data, want.len);
        buf_fini(&a[i].bytes);
    }
    buf_fini(&want);
}

#define PLAN(ranks, rows, task, batch, optimizer)                                            \
    ranks, rows, task, batch, optimizer, .without_nccl = -1, .without_room = -1, .dies = -1, \
                                         .launches = true

static void devices_equal_threads(void **state)
{
    static const struct plan plans[] = {
        { PLAN(2, 200, ML_REGRESSION, 50, OPTIM_ADAMW) },
        { PLAN(4, 200, ML_BINARY, 64, OPTIM_LAMB) },
        { PLAN(3, 200, ML_MULTICLASS, 30, OPTIM_SGD), .clip = 0.05 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(plans); i++)
        equal_threads(&plans[i]);
}

/* Each rank's rows of a batch are more than NET_PART. */
static void parts_of_large_batches_equal_threads(void **state)
{
    struct plan p = { PLAN(2, 9000, ML_BINARY, 65536, OPTIM_LAMB) };

    (void)state;
    equal_threads(&p);
}

static void stopping_changes_nothing(void **state)
{
    struct plan p = { PLAN(2, 200, ML_REGRESSION, 20, OPTIM_ADAMW), .stops = true };

    (void)state;
    equal_threads(&p);
}

static void hosts_sum_where_a_rank_has_no_nccl(void **state)
{
    struct plan p = { PLAN(3, 200, ML_MULTICLASS, 50, OPTIM_ADAMW) };

    (void)state;
    p.without_nccl = 1;
    equal_threads(&p);
    p.without_nccl = 0;
    equal_threads(&p);
}

static void the_cpus_do_it_where_a_device_has_no_room(void **state)
{
    struct plan p = { PLAN(2, 200, ML_REGRESSION, 50, OPTIM_ADAMW) };

    (void)state;
    p.without_room = 1;
    p.launches = false;
    equal_threads(&p);
}

static void a_network_that_diverges_fails_on_all_ranks(void **state)
{
    struct plan p = { PLAN(2, 200, ML_REGRESSION, 50, OPTIM_SGD), .rate = 1e30, .diverges = true };
    struct answer a[MOST] = { 0 };

    (void)state;
    ranks_go(&p, a);
    struct buf none = threads_train(&p);
    assert_int_equal(none.len, 0);
    for (int i = 0; i < p.ranks; i++) {
        assert_true(a[i].came && a[i].told.failed);
        assert_int_equal(a[i].told.code, ERR_DIVERGED);
    }
}

static void a_rank_that_dies_ends_the_others(void **state)
{
    struct plan p = { PLAN(3, 200, ML_REGRESSION, 20, OPTIM_ADAMW) };

    (void)state;
    p.dies = 1;
    for (int k = 0; k < 2; k++) { /* with NCCL, and without */
        struct answer a[MOST] = { 0 };
        time_t since = time(NULL);
        p.without_nccl = k == 0 ? -1 : 0;
        ranks_go(&p, a);
        assert_true(time(NULL) - since < 60);
        assert_false(a[1].came);
        for (int i = 0; i < p.ranks; i += 2) {
            assert_true(a[i].came);
            assert_int_equal(a[i].told.rc, -1);
            assert_int_equal(a[i].told.code, ERR_DEVICE);
            assert_non_null(strstr(a[i].told.text, "rank"));
            assert_int_equal(a[i].told.live, 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_equal_threads),
        cmocka_unit_test(parts_of_large_batches_equal_threads),
        cmocka_unit_test(stopping_changes_nothing),
        cmocka_unit_test(hosts_sum_where_a_rank_has_no_nccl),
        cmocka_unit_test(the_cpus_do_it_where_a_device_has_no_room),
        cmocka_unit_test(a_network_that_diverges_fails_on_all_ranks),
        cmocka_unit_test(a_rank_that_dies_ends_the_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
