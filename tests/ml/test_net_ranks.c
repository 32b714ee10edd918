/* test_net_ranks.c - ranks that are processes: they meet over TCP, their sums have the bits of those between threads, a network
 * that they train equals the one that threads train, bit for bit, and whatever is wrong with another rank (silence, a wrong
 * secret, another version, another checkpoint, its death) ends in a clear message and never in a wait for ever. The ranks here
 * are threads that share nothing but the network's loopback. */
#include "tests/ml/fit_rig.h"

#include "base/base.h"
#include "base/fault.h"
#include "base/mem.h"
#include "ml/model/models.h"
#include "ml/net/net_lane.h"
#include "ml/net/net_reduce.h"
#include "ml/ranks/link.h"

#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { ROWS = 330, FOLDS = 3, EPOCHS = 6, MOST = 4, NUMBERS = 200001 };

static const char secret[] = "00112233445566778899aabbccddeeff";

/* One rank: what it does after it has met the others. */
struct rank {
    pthread_t thread;
    struct rank_conf conf;
    char first[RANK_ADDRESS]; /* of rank 0 */
    struct rank_link *link;
    void (*then)(struct rank *r);
    int rc;
    struct err err;
    const struct rig *rig;
    const double *params;
    struct lane lane;
    float *x;
    int64_t heard[4];
    int n_heard;
    bool gives_up;
};

static void *rank_run(void *arg)
{
    struct rank *r = arg;
    char own[RANK_ADDRESS];

    if (r->conf.rank > 0) {
        r->link = rank_link_new(&r->conf);
        r->rc = rank_link_listen(r->link, "127.0.0.1", own, &r->err);
    }
    if (r->rc == 0)
        r->rc = rank_link_meet(r->link, r->conf.rank > 0 ? r->first : NULL, &r->err);
    if (r->rc == 0 && r->then)
        r->then(r);
    return NULL;
}

static void ranks_init(struct rank *r, int ranks, void (*then)(struct rank *r))
{
    struct err err = { 0 };

    for (int i = 0; i < ranks; i++) {
        r[i] = (struct rank){ .conf = { .rank = i,
                                        .ranks = ranks,
                                        .secret = secret,
                                        .trial = 7,
                                        .fence = 2,
                                        .start = "",
                                        .meet_ms = 20000,
                                        .sum_ms = 20000 },
                              .then = then };
    }
    r[0].link = rank_link_new(&r[0].conf);
    assert_int_equal(rank_link_listen(r[0].link, "127.0.0.1", r[0].first, &err), 0);
    for (int i = 1; i < ranks; i++)
        memcpy(r[i].first, r[0].first, sizeof r[i].first);
}

static void ranks_go(struct rank *r, int ranks)
{
    for (int i = 0; i < ranks; i++)
        assert_int_equal(pthread_create(&r[i].thread, NULL, rank_run, &r[i]), 0);
    for (int i = 0; i < ranks; i++)
        pthread_join(r[i].thread, NULL);
}

static void ranks_end(struct rank *r, int ranks)
{
    for (int i = 0; i < ranks; i++)
        rank_link_close(r[i].link, NULL);
}

/* ---- sums ---- */

static float number(int rank, int64_t i)
{
    struct rng rng;

    rng_init(&rng, (uint64_t)i, (uint64_t)rank);
    return (float)rng_normal(&rng);
}

/* Large and small sums that wait for each other, then one after the other. */
static void sums_make(struct rank *r)
{
    static const int64_t lengths[] = { NUMBERS / 2, 0, 1, 3, NUMBERS / 2 - 4 };
    struct ml_reduce *end = rank_link_reduce(r->link);
    int64_t at = 0;

    for (int64_t i = 0; i < NUMBERS; i++)
        r->x[i] = number(r->conf.rank, i);
    for (size_t i = 0; i < ARRAY_LEN(lengths) && r->rc == 0; i++) {
        r->rc = end->ops->sum(end, r->x + at, lengths[i], &r->err);
        at += lengths[i];
    }
    if (r->rc == 0)
        r->rc = end->ops->wait(end, &r->err);
    for (int i = 0; i < 50 && r->rc == 0; i++) {
        float one = 1;
        r->rc = end->ops->sum(end, &one, 1, &r->err);
        if (r->rc == 0)
            r->rc = end->ops->wait(end, &r->err);
        if (r->rc == 0 && one != (float)r->conf.ranks)
            r->rc = -2;
    }
}

static void sums_have_the_order_of_the_ranks(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= MOST; ranks++) {
        struct rank r[MOST];
        ranks_init(r, ranks, sums_make);
        for (int i = 0; i < ranks; i++)
            r[i].x = mem_zalloc((NUMBERS + 1) * sizeof(float));
        ranks_go(r, ranks);
        for (int i = 0; i < ranks; i++) {
            if (r[i].rc != 0)
                fail_msg("rank %d of %d: %d %s", i, ranks, r[i].rc, r[i].err.text);
        }
        for (int64_t k = 0; k < NUMBERS / 2 * 2; k += 997) {
            float want = number(0, k);
            for (int i = 1; i < ranks; i++)
                want += number(i, k);
            for (int i = 0; i < ranks; i++)
                assert_memory_equal(&r[i].x[k], &want, sizeof want);
        }
        ranks_end(r, ranks);
        for (int i = 0; i < ranks; i++)
            mem_free(r[i].x);
    }
}

/* ---- training ---- */

static void small(double *p)
{
    family_defaults(family_find("mlp"), p);
    p[MLP_LAYERS] = 2;
    p[MLP_WIDTH] = 20;
    p[MLP_BATCH] = 50;
    p[MLP_EPOCHS] = EPOCHS;
}

static void train(struct rank *r)
{
    const struct model_ops *ops = model_find("mlp");

    r->lane = (struct lane){ .fold = 0, .seed = 11, .level = 1, .max_steps = EPOCHS };
    memcpy(r->lane.params, r->params, sizeof r->lane.params);
    r->lane.reduce = rank_link_reduce(r->link);
    r->rc = ops->open(r->rig->d, &r->lane, &r->err);
    if (r->rc == 0)
        r->rc = ops->advance(r->rig->d, &r->lane, 1, EPOCHS, NULL, &r->err);
    if (r->rc < 0)
        rank_link_reduce(r->link)->ops->leave(rank_link_reduce(r->link), r->err.text);
}

static struct rig *mixed(int64_t rows)
{
    return rig_new(rig_mixed(ML_REGRESSION, rows, 0, 4), ML_REGRESSION, METRIC_RMSE, FOLDS);
}

/* The lane that `ranks` threads train, or one alone. */
static struct lane threads(const struct rig *r, const double *p, int ranks)
{
    const struct model_ops *ops = model_find("mlp");
    struct lane l = { .fold = 0, .seed = 11, .level = 1, .max_steps = EPOCHS };
    struct err err = { 0 };

    memcpy(l.params, p, sizeof l.params);
    l.params[MLP_DEVICES] = 1;
    l.params[MLP_RANKS] = ranks;
    assert_int_equal(ops->open(r->d, &l, &err), 0);
    assert_int_equal(ops->advance(r->d, &l, 1, EPOCHS, NULL, &err), 0);
    assert_false(l.failed);
    return l;
}

/* Every process has the table for itself, as in life. */
static void rigs_open(struct rank *r, int ranks, int64_t rows, const double *p)
{
    for (int i = 0; i < ranks; i++) {
        r[i].rig = mixed(rows);
        r[i].params = p;
    }
}

static void lanes_close(struct rank *r, int ranks)
{
    ranks_end(r, ranks);
    for (int i = 0; i < ranks; i++) {
        if (r[i].lane.state)
            rig_lane_close("mlp", &r[i].lane);
        rig_free((struct rig *)r[i].rig);
    }
}

static void ranks_equal_threads_bit_for_bit(void **state)
{
    double p[FAMILY_MAX_PARAMS];

    (void)state;
    small(p);
    for (int ranks = 2; ranks <= MOST; ranks += 2) {
        struct rank r[MOST];
        ranks_init(r, ranks, train);
        rigs_open(r, ranks, ROWS, p);
        ranks_go(r, ranks);
        struct lane want = threads(r[0].rig, p, ranks);
        struct buf a = rig_lane_bytes("mlp", &want, EPOCHS);
        for (int i = 0; i < ranks; i++) {
            if (r[i].rc != 0 || r[i].lane.failed)
                fail_msg("rank %d of %d: %s%s", i, ranks, r[i].err.text, r[i].lane.why.text);
            struct buf b = rig_lane_bytes("mlp", &r[i].lane, EPOCHS);
            assert_int_equal(a.len, b.len);
            assert_memory_equal(a.data, b.data, a.len);
            buf_fini(&b);
        }
        buf_fini(&a);
        rig_lane_close("mlp", &want);
        lanes_close(r, ranks);
    }
}

/* A step of plain descent over all rows, whole and in parts; see test_net_team.c. */
static void ranks_make_the_step_of_one(void **state)
{
    static const int64_t rows[] = { ROWS, 6750 };
    double p[FAMILY_MAX_PARAMS];

    (void)state;
    for (size_t c = 0; c < ARRAY_LEN(rows); c++) {
        small(p);
        p[MLP_BATCH] = 65536;
        p[MLP_EPOCHS] = 1;
        p[MLP_OPTIMIZER] = 2;
        p[MLP_LEARNING_RATE] = 0.3;
        p[MLP_SCHEDULE] = 3;
        for (int ranks = 2; ranks <= MOST; ranks += 2) {
            struct rank r[MOST];
            ranks_init(r, ranks, train);
            rigs_open(r, ranks, rows[c], p);
            ranks_go(r, ranks);
            struct lane one = threads(r[0].rig, p, 1);
            const struct net_lane *a = one.state, *b = r[0].lane.state;
            double off = 0;
            assert_int_equal(r[0].rc, 0);
            for (int64_t k = 0; k < a->head.net.size; k++)
                off = fmax(off, fabs((double)a->now[k] - (double)b->now[k]));
            if (off > 1e-5)
                fail_msg("%d ranks: a parameter differs by %g", ranks, off);
            rig_lane_close("mlp", &one);
            lanes_close(r, ranks);
        }
    }
}

static void a_lost_rank_fails_the_lane_of_all(void **state)
{
    struct rank r[3];
    double p[FAMILY_MAX_PARAMS];

    (void)state;
    small(p);
    ranks_init(r, 3, train);
    rigs_open(r, 3, ROWS, p);
    fault_arm_name("net.rank", 7, false);
    ranks_go(r, 3);
    assert_int_equal(fault_disarm(), 1);
    for (int i = 0; i < 3; i++) {
        assert_true(r[i].lane.failed);
        assert_int_equal(r[i].lane.why.code, ERR_DEVICE); /* so that the trial is tried again */
    }
    /* the others hear why when it closes its end, which it does first */
    assert_non_null(strstr(r[2].lane.why.text, "gave up"));
    lanes_close(r, 3);
}

/* ---- words ---- */

static void words_pass(struct rank *r)
{
    if (r->conf.rank == 0) {
        for (int64_t i = 1; i <= 3 && r->rc == 0; i++)
            r->rc = rank_link_tell(r->link, i * 1000000007, &r->err);
        rank_link_close(r->link, NULL);
        r->link = NULL;
        return;
    }
    while ((r->rc = rank_link_hear(r->link, &r->heard[r->n_heard], &r->err)) == 1)
        r->n_heard++;
}

static void words_arrive_in_order_and_then_the_end(void **state)
{
    struct rank r[MOST];

    (void)state;
    ranks_init(r, MOST, words_pass);
    ranks_go(r, MOST);
    for (int i = 1; i < MOST; i++) {
        assert_int_equal(r[i].rc, 0);
        assert_int_equal(r[i].n_heard, 3);
        assert_int_equal(r[i].heard[2], INT64_C(3000000021));
    }
    ranks_end(r, MOST);
}

/* ---- what may be wrong ---- */

static void dies(struct rank *r)
{
    struct ml_reduce *end = rank_link_reduce(r->link);
    float x[3] = { 1, 2, 3 };

    if (r->conf.rank == 1) {
        rank_link_close(r->link, "its worker ends");
        r->link = NULL;
        r->rc = -1;
        return;
    }
    r->rc = end->ops->sum(end, x, 3, &r->err);
    if (r->rc == 0)
        r->rc = end->ops->wait(end, &r->err);
}

static void a_rank_that_leaves_says_why(void **state)
{
    struct rank r[3];

    (void)state;
    ranks_init(r, 3, dies);
    ranks_go(r, 3);
    for (int i = 0; i < 3; i += 2) {
        assert_int_equal(r[i].rc, -1);
        assert_string_equal(r[i].err.text, "rank 1 of 3 was lost: its worker ends");
    }
    ranks_end(r, 3);
}

static void does_not_come(struct rank *r)
{
    struct ml_reduce *end = rank_link_reduce(r->link);
    float x = 1;

    if (r->conf.rank == 1) {
        struct timespec pause = { 1, 0 };
        nanosleep(&pause, NULL);
        return;
    }
    r->rc = end->ops->sum(end, &x, 1, &r->err);
    if (r->rc == 0)
        r->rc = end->ops->wait(end, &r->err);
}

static void a_rank_that_does_not_come_to_a_sum_ends_the_wait(void **state)
{
    struct rank r[2];

    (void)state;
    ranks_init(r, 2, does_not_come);
    /* conf was copied when rank 0's link was made */
    rank_link_close(r[0].link, NULL);
    r[0].conf.sum_ms = 100;
    r[0].link = rank_link_new(&r[0].conf);
    assert_int_equal(rank_link_listen(r[0].link, "127.0.0.1", r[0].first, &r[0].err), 0);
    memcpy(r[1].first, r[0].first, sizeof r[1].first);
    ranks_go(r, 2);
    assert_int_equal(r[0].rc, -1);
    assert_non_null(strstr(r[0].err.text, "it waited too long for a sum"));
    ranks_end(r, 2);
}

static bool asks(void *arg)
{
    return ((struct rank *)arg)->gives_up;
}

static void a_wait_can_be_given_up(void **state)
{
    struct rank r[2];

    (void)state;
    ranks_init(r, 2, NULL);
    rank_link_close(r[0].link, NULL);
    r[0].conf.gives_up = asks;
    r[0].conf.arg = &r[0];
    r[0].gives_up = true;
    r[0].link = rank_link_new(&r[0].conf);
    assert_int_equal(rank_link_listen(r[0].link, "127.0.0.1", r[0].first, &r[0].err), 0);
    assert_int_equal(rank_link_meet(r[0].link, NULL, &r[0].err), -1);
    assert_int_equal(r[0].err.code, ERR_TIMEOUT);
    rank_link_close(r[0].link, "it was stopped");
}

static void nobody_comes(void **state)
{
    struct rank r[2];

    (void)state;
    ranks_init(r, 2, NULL);
    rank_link_close(r[0].link, NULL);
    r[0].conf.meet_ms = 100;
    r[0].link = rank_link_new(&r[0].conf);
    assert_int_equal(rank_link_listen(r[0].link, "127.0.0.1", r[0].first, &r[0].err), 0);
    assert_int_equal(rank_link_meet(r[0].link, NULL, &r[0].err), -1);
    assert_string_equal(r[0].err.text,
                        "rank 0 of 2: the time is over, while rank 1 of 2 had not come");
    rank_link_close(r[0].link, NULL);
}

/* What one of two ranks says wrong, and how the other, who is not told, goes on waiting. */
static void wrong(void (*change)(struct rank *r), const char *text)
{
    struct rank r[2];

    ranks_init(r, 2, NULL);
    rank_link_close(r[0].link, NULL);
    r[0].conf.meet_ms = 600;
    r[0].link = rank_link_new(&r[0].conf);
    assert_int_equal(rank_link_listen(r[0].link, "127.0.0.1", r[0].first, &r[0].err), 0);
    memcpy(r[1].first, r[0].first, sizeof r[1].first);
    change(&r[1]);
    ranks_go(r, 2);
    assert_int_equal(r[1].rc, -1);
    assert_int_equal(r[1].err.code, ERR_DEVICE);
    if (!strstr(r[1].err.text, text))
        fail_msg("\"%s\" does not say \"%s\"", r[1].err.text, text);
    assert_int_equal(r[0].rc, -1);
    assert_non_null(strstr(r[0].err.text, "rank 1 of 2 had not come"));
    ranks_end(r, 2);
}

static void another_secret(struct rank *r)
{
    r->conf.secret = "ffeeddccbbaa99887766554433221100";
}

static void another_start(struct rank *r)
{
    r->conf.start = "abcd";
}

static void another_fence(struct rank *r)
{
    r->conf.fence++;
}

static void another_address(struct rank *r)
{
    memcpy(r->first, "nonsense", 9);
}

static void what_differs_is_refused_with_its_reason(void **state)
{
    (void)state;
    wrong(another_secret, "does not know the secret");
    wrong(another_start, "does not go on from the same checkpoint");
    wrong(another_fence, "trains another trial");
    wrong(another_address, "is no address of a rank");
}

static int dialled(const char *address)
{
    struct sockaddr_in a = { .sin_family = AF_INET };
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    a.sin_port = htons((uint16_t)strtoul(strrchr(address, ':') + 1, NULL, 10));
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

/* Silent, noisy and half-open strangers are there before the ranks are. */
static void strangers_do_no_harm(void **state)
{
    struct rank r[2];
    char noise[300];
    int fd[8];

    (void)state;
    ranks_init(r, 2, NULL);
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (char)(i * 7);
    for (size_t i = 0; i < ARRAY_LEN(fd); i++) {
        fd[i] = dialled(r[0].first);
        if (i % 2)
            assert_int_equal(send(fd[i], noise, sizeof noise, 0), sizeof noise);
        if (i % 4 == 2)
            shutdown(fd[i], SHUT_WR);
    }
    ranks_go(r, 2);
    assert_int_equal(r[0].rc, 0);
    assert_int_equal(r[1].rc, 0);
    for (size_t i = 0; i < ARRAY_LEN(fd); i++)
        close(fd[i]);
    ranks_end(r, 2);
}

/* The first bytes of a greet, with a version that there is not. */
static void another_version_is_answered_with_ours(void **state)
{
    struct rank r[2];
    struct {
        char magic[8];
        uint32_t order, version, rest[20];
    } greet = { "assayrnk", 0x01020304, 99, { 0 } }, answer = { "", 0, 0, { 0 } };

    (void)state;
    ranks_init(r, 2, NULL);
    int fd = dialled(r[0].first);
    assert_int_equal(send(fd, &greet, sizeof greet, 0), sizeof greet);
    ranks_go(r, 2);
    assert_true(recv(fd, &answer, sizeof answer, 0) >= 20);
    assert_memory_equal(answer.magic, greet.magic, sizeof greet.magic);
    assert_int_equal(answer.version, RANK_VERSION);
    assert_int_equal(answer.rest[0], 1); /* REPLY_VERSION */
    close(fd);
    ranks_end(r, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_have_the_order_of_the_ranks),
        cmocka_unit_test(ranks_equal_threads_bit_for_bit),
        cmocka_unit_test(ranks_make_the_step_of_one),
        cmocka_unit_test(a_lost_rank_fails_the_lane_of_all),
        cmocka_unit_test(words_arrive_in_order_and_then_the_end),
        cmocka_unit_test(a_rank_that_leaves_says_why),
        cmocka_unit_test(a_rank_that_does_not_come_to_a_sum_ends_the_wait),
        cmocka_unit_test(a_wait_can_be_given_up),
        cmocka_unit_test(nobody_comes),
        cmocka_unit_test(what_differs_is_refused_with_its_reason),
        cmocka_unit_test(strangers_do_no_harm),
        cmocka_unit_test(another_version_is_answered_with_ours),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
