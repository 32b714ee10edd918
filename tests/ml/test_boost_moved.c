/* test_boost_moved.c - must show, at the stated size: boosting stopped at 300 rounds, checkpointed to a file, continued to
 * 1,000 by another program with other instructions, equals the unbroken run bit for bit, for every loss; so do, for a loss
 * of each task, lanes on 1, 2 and 7 threads, and folds together. Options at a smaller size: test_boost_resume.c. The other
 * program is this one, run anew: it has the file's name, and no memory in common. */
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

enum { ROWS = 150, FOLDS = 3, STOP = 300, END = 1000, LANES = 7, LOOKS = 900 };

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

/* The same in every process. */
static struct rig *problem(size_t k)
{
    struct rig_table *t = rig_mixed(losses[k].task, ROWS, losses[k].classes, 70 + k);

    for (int64_t i = 0; i < t->rows && losses[k].loss == BOOST_POISSON; i++)
        t->cols[t->n_cols - 1].num[i] = floor(fabs(t->cols[t->n_cols - 1].num[i]) / 20);
    return rig_new(t, losses[k].task, metric_default(losses[k].task), FOLDS);
}

/* Few leaves, so that a thousand rounds are short; rows and columns are drawn, so that draws must not depend on the past. */
static void params_of(size_t k, int variant, double *p)
{
    family_defaults(family_find("boost"), p);
    p[BOOST_OBJECTIVE] = losses[k].loss;
    p[BOOST_ALPHA] = 0.7;
    p[BOOST_LEARNING_RATE] = 0.02;
    p[BOOST_LEAVES] = 3 + variant % 3;
    p[BOOST_MIN_LEAF] = 5;
    p[BOOST_ROW_SAMPLE] = 0.8;
    p[BOOST_COL_SAMPLE] = variant % 2 ? 0.7 : 1.0;
}

static void train_in_slices(struct rig *r, struct lane *l, int64_t to, uint64_t seed)
{
    struct rig_stop stop;

    rig_stop_init(&stop, seed, LOOKS);
    while (l->steps_done < to) {
        rig_lane_train(r, "boost", l, to, &stop.stop);
        rig_stop_next(&stop);
    }
}

static void file_write(const char *path, const struct buf *b)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(b->data, 1, b->len, f), b->len);
    assert_int_equal(fclose(f), 0);
}

static struct buf file_read(const char *path)
{
    char block[4096];
    FILE *f = fopen(path, "rb");
    struct buf b;

    assert_non_null(f);
    buf_init(&b, 1u << 30);
    for (size_t n; (n = fread(block, 1, sizeof block, f)) > 0;)
        assert_int_equal(buf_add(&b, block, n, NULL), 0);
    assert_int_equal(fclose(f), 0);
    return b;
}

static void equal_or_fail(size_t k, const char *what, const struct buf *got, const struct buf *want)
{
    if (got->len != want->len || memcmp(got->data, want->data, want->len) != 0)
        fail_msg("loss %d: another model %s", (int)losses[k].loss, what);
}

/* ---- the other program ---- */

static int go_on(size_t k, const char *from, const char *to)
{
    double params[FAMILY_MAX_PARAMS];
    struct err err = { 0 };
    struct rig *r = problem(k);
    struct buf checkpoint = file_read(from);
    struct view in = { (const uint8_t *)checkpoint.data, checkpoint.len, 0 };

    simd_force(SIMD_PLAIN);
    params_of(k, 0, params);
    struct lane l = rig_lane(r, "boost", params, 1, 0);
    if (model_find("boost")->load(r->d, &l, &in, &err) < 0 || l.steps_done != STOP)
        return 1;
    train_in_slices(r, &l, END, k + 100);
    struct buf done = rig_lane_bytes("boost", &l, END);
    file_write(to, &done);
    buf_fini(&done);
    buf_fini(&checkpoint);
    rig_lane_close("boost", &l);
    rig_free(r);
    return 0;
}

static void move(size_t k, const char *from, const char *to)
{
    char number[16];
    int status = 0;

    snprintf(number, sizeof number, "%zu", k);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        execl("/proc/self/exe", "test_boost_moved", "go-on", number, from, to, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void stopped_at_300_moved_and_continued_to_1000_equals_unbroken(void **state)
{
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(losses); k++) {
        double params[FAMILY_MAX_PARAMS];
        char from[4096], to[4096];
        struct rig *r = problem(k);
        params_of(k, 0, params);
        struct lane whole = rig_lane(r, "boost", params, 1, END),
                    part = rig_lane(r, "boost", params, 1, 0);
        train_in_slices(r, &part, STOP, k);
        struct buf checkpoint = rig_lane_bytes("boost", &part, STOP),
                   want = rig_lane_bytes("boost", &whole, END);
        file_write(test_path(from, sizeof from, "checkpoint"), &checkpoint);
        move(k, from, test_path(to, sizeof to, "moved"));
        struct buf got = file_read(to);
        equal_or_fail(k, "after the move", &got, &want);
        buf_fini(&checkpoint);
        buf_fini(&want);
        buf_fini(&got);
        rig_lane_close("boost", &whole);
        rig_lane_close("boost", &part);
        rig_free(r);
    }
}

/* ---- threads, and folds together ---- */

struct crew {
    struct rig *r;
    size_t k;
    int threads, me;
    struct buf out[LANES];
};

/* Thread m of n trains lanes m, m + n ... one after another. */
static void *crew_run(void *arg)
{
    struct crew *c = arg;

    for (int i = c->me; i < LANES; i += c->threads) {
        double params[FAMILY_MAX_PARAMS];
        params_of(c->k, i, params);
        struct lane l = rig_lane(c->r, "boost", params, i % FOLDS, END);
        c->out[i] = rig_lane_bytes("boost", &l, END);
        rig_lane_close("boost", &l);
    }
    return NULL;
}

static void crew_train(size_t k, int threads, struct buf *out)
{
    struct crew crew[LANES];
    pthread_t id[LANES];
    struct rig *r = problem(k); /* a new one: the threads make its shared bins */

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

/* The folds of one trial in one call, again and again, as far as a stop lets it. */
static void folds_train(size_t k, struct buf *out)
{
    double params[FAMILY_MAX_PARAMS];
    struct rig *r = problem(k);
    struct lane l[FOLDS];
    struct rig_stop stop;
    struct err err = { 0 };
    int open = FOLDS;

    params_of(k, 0, params);
    for (int f = 0; f < FOLDS; f++) {
        l[f] = rig_lane(r, "boost", params, f, 0);
        l[f].max_steps = END;
    }
    rig_stop_init(&stop, k + 200, LOOKS);
    while (open > 0) {
        assert_int_equal(model_find("boost")->advance(r->d, l, FOLDS, STOP, &stop.stop, &err), 0);
        rig_stop_next(&stop);
        open = 0;
        for (int f = 0; f < FOLDS; f++)
            open += !l[f].is_done;
    }
    for (int f = 0; f < FOLDS; f++) {
        out[f] = rig_lane_bytes("boost", &l[f], END);
        rig_lane_close("boost", &l[f]);
    }
    rig_free(r);
}

static void bufs_free(struct buf *b, int n)
{
    for (int i = 0; i < n; i++)
        buf_fini(&b[i]);
}

static void one_two_and_seven_threads_train_the_same_thousand_rounds(void **state)
{
    static const int counts[] = { 2, 7 };

    (void)state;
    for (size_t k = 0; k < 3; k++) { /* one loss a task */
        struct buf first[LANES], other[LANES];
        crew_train(k, 1, first);
        for (size_t t = 0; t < ARRAY_LEN(counts); t++) {
            crew_train(k, counts[t], other);
            for (int i = 0; i < LANES; i++)
                equal_or_fail(k, "on more threads", &other[i], &first[i]);
            bufs_free(other, LANES);
        }
        bufs_free(first, LANES);
    }
}

static void folds_trained_together_equal_folds_alone_after_a_thousand_rounds(void **state)
{
    (void)state;
    for (size_t k = 0; k < 3; k++) { /* likewise */
        double params[FAMILY_MAX_PARAMS];
        struct buf together[FOLDS];
        struct rig *r = problem(k);
        folds_train(k, together);
        params_of(k, 0, params);
        for (int f = 0; f < FOLDS; f++) {
            struct lane alone = rig_lane(r, "boost", params, f, END);
            struct buf want = rig_lane_bytes("boost", &alone, END);
            equal_or_fail(k, "of a fold among others", &together[f], &want);
            buf_fini(&want);
            rig_lane_close("boost", &alone);
        }
        bufs_free(together, FOLDS);
        rig_free(r);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stopped_at_300_moved_and_continued_to_1000_equals_unbroken),
        cmocka_unit_test(one_two_and_seven_threads_train_the_same_thousand_rounds),
        cmocka_unit_test(folds_trained_together_equal_folds_alone_after_a_thousand_rounds),
    };

    if (argc == 5 && strcmp(argv[1], "go-on") == 0)
        return go_on((size_t)strtoul(argv[2], NULL, 10), argv[3], argv[4]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
