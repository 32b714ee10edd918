/* test_boost_resume.c - must show: boosting that is stopped, checkpointed, moved to another process with another
 * instruction set and continued equals the unbroken run bit for bit, for every loss and option; so do lanes on 1, 2 and 7
 * threads, and lanes together (test_boost.c has them alone and fused one by one). */
#include "tests/ml/fit_rig.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/boost/boost.h"
#include "ml/cpu/simd.h"
#include "ml/model/models.h"

#include <math.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROWS = 1300, SHORT = 240, STOP = 5, END = 9 };

static const struct {
    enum boost_loss loss;
    enum ml_task task;
    int classes;
} losses[] = {
    { BOOST_LOGISTIC, ML_BINARY, 2 },    { BOOST_SOFTMAX, ML_MULTICLASS, 3 },
    { BOOST_SQUARED, ML_REGRESSION, 0 }, { BOOST_ABSOLUTE, ML_REGRESSION, 0 },
    { BOOST_HUBER, ML_REGRESSION, 0 },   { BOOST_QUANTILE, ML_REGRESSION, 0 },
    { BOOST_POISSON, ML_REGRESSION, 0 },
};

static const struct {
    const char *what;
    double value;
    int64_t rows;
    int param;
    bool is_monotone;
} options[] = {
    { "nodes large enough for subtraction", 0, ROWS, -1, false },
    { "nodes of few rows", 0, SHORT, -1, false },
    { "constraints", 0, SHORT, -1, true },
    { "constraints, random cuts", 1, SHORT, BOOST_RANDOM, true },
    { "level by level", 1, SHORT, BOOST_GROW, false },
    { "random cuts", 1, SHORT, BOOST_RANDOM, false },
    { "rows drawn", 0.6, SHORT, BOOST_ROW_SAMPLE, false },
    { "columns drawn", 0.5, SHORT, BOOST_COL_SAMPLE, false },
    { "columns drawn by depth", 0.6, SHORT, BOOST_COL_LEVEL, false },
    { "63 bins", 0, SHORT, BOOST_BINS, false },
    { "balanced classes", 1, SHORT, BOOST_CLASS_WEIGHT, false },
    { "both penalties", 0.5, SHORT, BOOST_L1, false },
};

static bool is_possible(size_t k, size_t o)
{
    if (options[o].param == BOOST_CLASS_WEIGHT)
        return losses[k].task != ML_REGRESSION;
    return !options[o].is_monotone || losses[k].task != ML_MULTICLASS;
}

/* The same problem each time it is asked for, in every process. */
static struct rig *problem(size_t k, size_t o)
{
    static const struct ml_monotone rules[] = { { "x0", -1 }, { "x1", 1 } };
    struct rig_table *t = rig_mixed(losses[k].task, options[o].rows, losses[k].classes, 40 + k);
    struct rig *r = mem_zalloc(sizeof *r);
    struct err err = { 0 };

    for (int64_t i = 0; i < t->rows && losses[k].loss == BOOST_POISSON; i++)
        t->cols[t->n_cols - 1].num[i] = floor(fabs(t->cols[t->n_cols - 1].num[i]) / 20);
    r->frame = rig_frame(t);
    rig_table_free(t);
    struct ml_data_spec spec = { .frame = r->frame,
                                 .target = "y",
                                 .positive = losses[k].task == ML_BINARY ? "1" : "",
                                 .task = losses[k].task,
                                 .metric = metric_default(losses[k].task),
                                 .folds = 3,
                                 .split_seed = 3,
                                 .monotone = rules,
                                 .n_monotone = options[o].is_monotone ? 2 : 0 };
    r->d = ml_data_open(&spec, &err);
    if (!r->d)
        fail_msg("%s", err.text);
    return r;
}

static void params_of(size_t k, size_t o, double *p)
{
    family_defaults(family_find("boost"), p);
    p[BOOST_OBJECTIVE] = losses[k].loss;
    p[BOOST_ALPHA] = 0.7;
    p[BOOST_LEAVES] = 12;
    p[BOOST_DEPTH] = 5;
    p[BOOST_MIN_LEAF] = 5;
    if (options[o].param >= 0 && is_possible(k, o))
        p[options[o].param] = options[o].value;
}

static void train_in_slices(struct rig *r, struct lane *l, int64_t to, uint64_t seed)
{
    struct rig_stop stop;

    rig_stop_init(&stop, seed, 40);
    while (l->steps_done < to) {
        rig_lane_train(r, "boost", l, to, &stop.stop);
        rig_stop_next(&stop);
    }
}

static void lane_load(struct rig *r, struct lane *l, const struct buf *b)
{
    struct view in = { (const uint8_t *)b->data, b->len, 0 };
    struct err err = { 0 };

    if (model_find("boost")->load(r->d, l, &in, &err) < 0)
        fail_msg("%s", err.text);
}

/* In a child: its own table, the checkpoint alone, plain instructions, other slices. Its bytes come through a pipe. */
static void child(size_t k, size_t o, const struct buf *from, int out)
{
    double params[FAMILY_MAX_PARAMS];
    struct rig *r = problem(k, o);

    simd_force(SIMD_PLAIN);
    params_of(k, o, params);
    struct lane l = rig_lane(r, "boost", params, 1, 0);
    lane_load(r, &l, from);
    train_in_slices(r, &l, END, k * 100 + o + 1);
    struct buf b = rig_lane_bytes("boost", &l, END);
    for (size_t at = 0; at < b.len;) {
        ssize_t n = write(out, b.data + at, b.len - at);
        if (n <= 0)
            _exit(1);
        at += (size_t)n;
    }
    _exit(0);
}

static struct buf moved(size_t k, size_t o, const struct buf *from)
{
    int ends[2], status = 0;
    char block[4096];
    struct buf b;

    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(ends[0]);
        child(k, o, from, ends[1]);
    }
    close(ends[1]);
    buf_init(&b, 1u << 30);
    for (ssize_t n; (n = read(ends[0], block, sizeof block)) > 0;)
        assert_int_equal(buf_add(&b, block, (size_t)n, NULL), 0);
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    return b;
}

static void stopped_moved_and_continued_equals_unbroken(void **state)
{
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(losses); k++) {
        for (size_t o = 0; o < ARRAY_LEN(options); o++) {
            double params[FAMILY_MAX_PARAMS];
            if (!is_possible(k, o))
                continue;
            struct rig *r = problem(k, o);
            params_of(k, o, params);
            struct lane whole = rig_lane(r, "boost", params, 1, END),
                        part = rig_lane(r, "boost", params, 1, 0);
            train_in_slices(r, &part, STOP, k * 100 + o);
            struct buf checkpoint = rig_lane_bytes("boost", &part, STOP),
                       want = rig_lane_bytes("boost", &whole, END), got = moved(k, o, &checkpoint);
            if (got.len != want.len || memcmp(got.data, want.data, want.len) != 0)
                fail_msg("loss %d, %s: another model after the move", (int)losses[k].loss,
                         options[o].what);
            buf_fini(&checkpoint);
            buf_fini(&want);
            buf_fini(&got);
            rig_lane_close("boost", &whole);
            rig_lane_close("boost", &part);
            rig_free(r);
        }
    }
}

/* ---- threads ---- */

enum { LANES = 7 };

struct crew {
    struct rig *r;
    size_t k;
    int threads, me;
    struct buf out[LANES];
};

/* Thread m of n trains lanes m, m + n ... one after another, each another option of one problem. */
static void *crew_run(void *arg)
{
    struct crew *c = arg;

    for (int i = c->me; i < LANES; i += c->threads) {
        double params[FAMILY_MAX_PARAMS];
        params_of(c->k, (size_t)i + 4, params);
        struct lane l = rig_lane(c->r, "boost", params, i % 3, END);
        c->out[i] = rig_lane_bytes("boost", &l, END);
        rig_lane_close("boost", &l);
    }
    return NULL;
}

/* Trains all lanes on so many threads; out[i]: of lane i. */
static void crew_train(size_t k, int threads, struct buf *out)
{
    struct crew crew[LANES];
    pthread_t id[LANES];
    struct rig *r = problem(k, 1); /* a new one: the threads make its shared bins */

    for (int m = 0; m < threads; m++) {
        crew[m] = (struct crew){ .r = r, .k = k, .threads = threads, .me = m };
        assert_int_equal(pthread_create(&id[m], NULL, crew_run, &crew[m]), 0);
    }
    for (int m = 0; m < threads; m++)
        assert_int_equal(pthread_join(id[m], NULL), 0);
    for (int i = 0; i < LANES; i++)
        out[i] = crew[i % threads].out[i];
    rig_free(r);
}

static void one_two_and_seven_threads_train_the_same(void **state)
{
    static const int counts[] = { 2, 7 };

    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(losses); k++) {
        struct buf first[LANES], other[LANES];
        crew_train(k, 1, first);
        for (size_t t = 0; t < ARRAY_LEN(counts); t++) {
            crew_train(k, counts[t], other);
            for (int i = 0; i < LANES; i++) {
                assert_int_equal(other[i].len, first[i].len);
                assert_memory_equal(other[i].data, first[i].data, first[i].len);
                buf_fini(&other[i]);
            }
        }
        for (int i = 0; i < LANES; i++)
            buf_fini(&first[i]);
    }
}

/* ---- together ---- */

/* Folds of one trial in one call, in another order and in slices: each as if alone. */
static void folds_together_equal_folds_alone(void **state)
{
    const struct model_ops *ops = model_find("boost");

    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(losses); k++) {
        for (size_t o = 1; o < ARRAY_LEN(options); o += 2) {
            double params[FAMILY_MAX_PARAMS];
            struct lane l[3];
            struct rig_stop stop;
            struct err err = { 0 };
            if (!is_possible(k, o))
                continue;
            struct rig *r = problem(k, o);
            params_of(k, o, params);
            for (int f = 0; f < 3; f++) {
                l[f] = rig_lane(r, "boost", params, (f + 1) % 3, 0);
                l[f].max_steps = END;
            }
            rig_stop_init(&stop, k * 10 + o, 90);
            while (!l[0].is_done || !l[1].is_done || !l[2].is_done) {
                assert_int_equal(ops->advance(r->d, l, 3, END, &stop.stop, &err), 0);
                rig_stop_next(&stop);
            }
            for (int f = 0; f < 3; f++) {
                struct lane alone = rig_lane(r, "boost", params, l[f].fold, END);
                struct buf a = rig_lane_bytes("boost", &alone, END),
                           b = rig_lane_bytes("boost", &l[f], END);
                assert_int_equal(a.len, b.len);
                assert_memory_equal(a.data, b.data, a.len);
                buf_fini(&a);
                buf_fini(&b);
                rig_lane_close("boost", &alone);
                rig_lane_close("boost", &l[f]);
            }
            rig_free(r);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stopped_moved_and_continued_equals_unbroken),
        cmocka_unit_test(one_two_and_seven_threads_train_the_same),
        cmocka_unit_test(folds_together_equal_folds_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
