/* test_emulated_net.c - steps of many small networks on the emulated device (ml/ops/ops_net.h), in three orders of the
 * threads and blocks, against a plain reference (net_rig.h). Bytes are equal, whatever the slot, the size of the group and
 * the other lanes in it. */
#include "tests/unit.h"

#include "base/mem.h"
#include "ml/math/fmath.h"
#include "ml/ops/ops.h"
#include "tests/cuda/emu.h"
#include "tests/cuda/net_rig.h"

#include <math.h>
#include <string.h>

const struct ml_ops *assay_cuda_ops(void);

/* ---- a group on the device ---- */

static struct ml_net_group *group_new(struct ml_ctx *c, struct ml_net_table *t,
                                      const struct data *d, int slots, int hidden, int outputs)
{
    const struct ml_net_ops *net = assay_cuda_ops()->net;
    struct ml_net_in in = { .table = t,
                            .slots = slots,
                            .layers = hidden + 1,
                            .feeds = 2,
                            .feed_rows = ROWS,
                            .batch = 64 + STEPS,
                            .steps = STEPS,
                            .outputs = outputs,
                            .score_rows = ROWS };
    struct ml_net_group *g = NULL;
    struct ml_net_lane most;

    lane_shape(&most, hidden, 80, outputs);
    in.size = most.size;
    in.pad[0] = IN_PAD;
    for (int l = 0; l <= hidden; l++)
        in.pad[l + 1] = most.layer[l].pad;
    assert_int_equal(net->open(c, &in, &g, NULL), 0);
    for (int f = 0; f < 2; f++)
        assert_int_equal(net->feed_put(g, f, d->rows[f], d->y[f], ROWS, NULL), 0);
    return g;
}

/* Lane which[i], in slot slots[i], makes n steps from step begin[i] on, all lanes in one call. */
struct call {
    int slots, lanes, n;
    const int *slot, *which, *begin;
};

static void group_run(struct ml_net_group *g, const struct call *call, double (*losses)[STEPS],
                      struct ml_net_end *ends)
{
    struct ml_net_step *steps = mem_zalloc((size_t)(call->slots * call->n) * sizeof *steps);
    struct ml_net_told *all = mem_zalloc((size_t)(call->slots * call->n) * sizeof *all);

    for (int i = 0; i < call->lanes; i++) {
        for (int k = 0; k < call->n; k++)
            step_make(&steps[k * call->slots + call->slot[i]], call->which[i], call->begin[i] + k,
                      call->which[i] % 2);
    }
    assert_int_equal(assay_cuda_ops()->net->steps(g, steps, call->n, ends, all, NULL), 0);
    for (int i = 0; i < call->lanes; i++) {
        for (int k = 0; k < call->n; k++)
            losses[call->which[i]][call->begin[i] + k] = all[k * call->slots + call->slot[i]].loss;
    }
    mem_free(steps);
    mem_free(all);
}

static void slot_fill(struct ml_net_group *g, int slot, const struct ml_net_lane *l,
                      const float *state)
{
    assert_int_equal(assay_cuda_ops()->net->lane_put(g, slot, l, state, NULL, NULL), 0);
}

static void check_lane(struct ml_net_group *g, int slot, enum ml_net_when when,
                       const struct ml_net_lane *l, const float *want, const char *what, int i)
{
    float *got = mem_zalloc((size_t)l->size * 3 * sizeof *got);

    assert_int_equal(assay_cuda_ops()->net->lane_get(g, slot, when, 3, got, NULL), 0);
    for (int64_t k = 0; k < 3 * l->size; k++) {
        if (fm_bits(got[k]) != fm_bits(want[k]))
            fail_msg("%s: lane %d in slot %d: number %lld of %lld is %.9g, not %.9g", what, i, slot,
                     (long long)k, 3 * (long long)l->size, (double)got[k], (double)want[k]);
    }
    mem_free(got);
}

struct rig {
    struct ml_ctx *c;
    struct ml_net_table *t;
    struct data d;
    struct lanes all;
    int hidden, outputs;
};

static void rig_open(struct rig *r, int hidden, int classes)
{
    r->c = assay_cuda_ops()->open(0, NULL);
    r->hidden = hidden;
    r->outputs = classes ? classes : 1;
    data_make(&r->d, classes);
    lanes_make(&r->all, &r->d, hidden, classes);
    assert_int_equal(assay_cuda_ops()->net->table_new(r->c, r->d.x, ROWS, IN_PAD, &r->t, NULL), 0);
}

static struct ml_net_group *rig_group(struct rig *r, int slots)
{
    return group_new(r->c, r->t, &r->d, slots, r->hidden, r->outputs);
}

static void rig_close(struct rig *r)
{
    assay_cuda_ops()->net->table_free(r->t);
    lanes_free(&r->all);
    mem_free(r->d.x);
    assay_cuda_ops()->close(r->c);
    assert_int_equal(emu_device_bytes_live(), 0);
}

static const int every[LANES] = { 0, 1, 2, 3, 4, 5, 6 }, zeros[LANES] = { 0 };

static void steps_of_a_group_equal_each_network_alone(void **state)
{
    static const struct {
        int hidden, classes;
    } cases[] = { { 1, 1 }, { 3, 5 }, { 2, 0 }, { 5, 2 } };
    static const int slots[LANES] = { 3, 0, 5, 6, 1, 8, 2 };
    const struct call call = { 9, LANES, STEPS, slots, every, zeros };

    (void)state;
    for (size_t n = 0; n < ARRAY_LEN(cases); n++) {
        struct ml_net_end ends[9];
        struct rig r;
        double losses[LANES][STEPS];
        rig_open(&r, cases[n].hidden, cases[n].classes);
        for (int o = EMU_FORWARD; o <= EMU_RANDOM; o++) {
            emu_order_set(o, 3 + n);
            struct ml_net_group *g = rig_group(&r, 9);
            for (int i = 0; i < LANES; i++)
                slot_fill(g, slots[i], &r.all.of[i], r.all.first[i]);
            group_run(g, &call, losses, ends);
            for (int i = 0; i < LANES; i++) {
                assert_int_equal(ends[slots[i]].done, STEPS);
                assert_int_equal(ends[slots[i]].diverged, 0);
                check_lane(g, slots[i], ML_NET_NOW, &r.all.of[i], r.all.last[i], "in a group", i);
            }
            assert_memory_equal(losses, r.all.losses, sizeof losses);
            assay_cuda_ops()->net->close(g);
        }
        rig_close(&r);
    }
}

static void a_lane_alone_equals_itself_in_a_group(void **state)
{
    struct ml_net_end ends[4];
    struct rig r;
    double losses[LANES][STEPS];

    (void)state;
    rig_open(&r, 2, 3);
    for (int slots = 1; slots <= 4; slots += 3) {
        for (int i = 0; i < LANES; i += 2) {
            int slot = slots - 1;
            const struct call call = { slots, 1, STEPS, &slot, &i, zeros };
            struct ml_net_group *g = rig_group(&r, slots);
            emu_order_set((enum emu_order)(i / 2 % 3), 4);
            slot_fill(g, slot, &r.all.of[i], r.all.first[i]);
            group_run(g, &call, losses, ends);
            check_lane(g, slot, ML_NET_NOW, &r.all.of[i], r.all.last[i], "alone", i);
            assay_cuda_ops()->net->close(g);
        }
    }
    rig_close(&r);
}

/* Lanes 1 and 2 go on while lane 0 leaves its slot in the middle and another begins there. */
static void a_stopped_lanes_slot_is_filled_again(void **state)
{
    static const int slots[] = { 0, 1, 2 }, first[] = { 0, 1, 2 }, then[] = { 5, 1, 2 };
    static const int begin[] = { 0, 2, 2 }, late[] = { 3 };
    const struct call calls[] = { { 3, 3, 2, slots, first, zeros },
                                  { 3, 3, 3, slots, then, begin },
                                  { 3, 1, 2, slots, then, late } };
    struct ml_net_end ends[3];
    struct rig r;
    double losses[LANES][STEPS];

    (void)state;
    rig_open(&r, 2, 3);
    struct ml_net_group *g = rig_group(&r, 3);
    for (int i = 0; i < 3; i++)
        slot_fill(g, i, &r.all.of[i], r.all.first[i]);
    group_run(g, &calls[0], losses, ends);
    slot_fill(g, 0, &r.all.of[5], r.all.first[5]);
    group_run(g, &calls[1], losses, ends);
    group_run(g, &calls[2], losses, ends);
    for (int i = 0; i < 3; i++)
        check_lane(g, i, ML_NET_NOW, &r.all.of[then[i]], r.all.last[then[i]], "refilled", then[i]);
    assay_cuda_ops()->net->close(g);
    rig_close(&r);
}

static void a_lane_that_diverges_leaves_the_others_as_they_are(void **state)
{
    static const int slots[] = { 0, 1, 2 };
    const struct call call = { 3, 3, STEPS, slots, every, zeros };
    struct ml_net_end ends[3];
    uint8_t finite[3];
    struct rig r;
    double losses[LANES][STEPS];

    (void)state;
    rig_open(&r, 2, 3);
    struct ml_net_group *g = rig_group(&r, 3);
    r.all.first[1][40] = 3e38f; /* its products overflow */
    for (int i = 0; i < 3; i++)
        slot_fill(g, i, &r.all.of[i], r.all.first[i]);
    assert_int_equal(assay_cuda_ops()->net->finite(g, finite, NULL), 0);
    assert_true(finite[0] && finite[1] && finite[2]);
    group_run(g, &call, losses, ends);
    assert_int_equal(ends[1].diverged, 1);
    assert_true(ends[1].done < STEPS);
    for (int i = 0; i < 3; i += 2) {
        assert_int_equal(ends[i].done, STEPS);
        check_lane(g, i, ML_NET_NOW, &r.all.of[i], r.all.last[i], "beside one that diverged", i);
    }
    r.all.first[2][r.all.of[2].size - 16] = (float)NAN;
    slot_fill(g, 2, &r.all.of[2], r.all.first[2]);
    assert_int_equal(assay_cuda_ops()->net->finite(g, finite, NULL), 0);
    assert_true(finite[0] && !finite[2]);
    assay_cuda_ops()->net->close(g);
    rig_close(&r);
}

/* Scores of the rows of a feed, now and as kept aside before the steps. */
static void scores_equal_the_forward_pass(void **state)
{
    static const int slots[] = { 0, 1, 2 };
    static const uint8_t marks[] = { 1, 0, 1 };
    const struct call call = { 3, 3, STEPS, slots, every, zeros };
    const struct ml_net_ops *net = assay_cuda_ops()->net;
    struct ml_net_end ends[3];
    struct rig r;
    double losses[LANES][STEPS];

    (void)state;
    rig_open(&r, 2, 3);
    struct ml_net_group *g = rig_group(&r, 3);
    float *out = mem_zalloc((size_t)3 * ROWS * 3 * sizeof *out);
    for (int i = 0; i < 3; i++)
        slot_fill(g, i, &r.all.of[i], r.all.first[i]);
    assert_int_equal(net->keep(g, marks, NULL), 0);
    group_run(g, &call, losses, ends);
    for (int when = ML_NET_NOW; when <= ML_NET_KEPT; when++) {
        emu_order_set(when == ML_NET_NOW ? EMU_BACKWARD : EMU_RANDOM, 8);
        assert_int_equal(net->score(g, marks, (enum ml_net_when)when, 1, ROWS, out, NULL), 0);
        for (int i = 0; i < 3; i += 2) {
            const struct ml_net_lane *l = &r.all.of[i];
            const struct ml_net_step s = { .feed = 1, .rows = ROWS };
            struct pass p;
            float *w = when == ML_NET_NOW ? r.all.last[i] : r.all.first[i];
            pass_open(&p, l, w);
            p.s = &s;
            for (int k = 0; k < ROWS; k++)
                memcpy(p.h[0] + (int64_t)k * IN_PAD, r.d.x + (int64_t)r.d.rows[1][k] * IN_PAD,
                       IN_PAD * sizeof *p.h[0]);
            pass_forward(&p);
            for (int k = 0; k < ROWS * 3; k++)
                assert_memory_equal(&out[i * ROWS * 3 + k], &p.z[2][k / 3 * 16 + k % 3],
                                    sizeof *out);
            check_lane(g, i, (enum ml_net_when)when, l, w, "kept or now", i);
            pass_close(&p);
        }
    }
    mem_free(out);
    net->close(g);
    rig_close(&r);
}

/* Twelve launches a step with three hidden layers, however many lanes there are; they are recorded once. */
static void launches_do_not_grow_with_the_lanes(void **state)
{
    static const int slots[LANES] = { 0, 1, 2, 3, 4, 5, 6 };
    struct ml_net_end ends[LANES];
    struct rig r;
    double losses[LANES][STEPS];

    (void)state;
    rig_open(&r, 3, 3);
    for (int n = 1; n <= LANES; n += LANES - 1) {
        const struct call call = { n, n, 2, slots, every, zeros };
        struct ml_net_group *g = rig_group(&r, n);
        for (int i = 0; i < n; i++)
            slot_fill(g, i, &r.all.of[i], r.all.first[i]);
        unsigned long long before = emu_launches();
        group_run(g, &call, losses, ends);
        assert_int_equal(emu_launches() - before, 2 * 12);
        assay_cuda_ops()->net->close(g);
    }
    rig_close(&r);
}

static void a_device_without_memory_is_an_error(void **state)
{
    const struct ml_net_ops *net = assay_cuda_ops()->net;
    struct rig r;
    struct ml_net_group *g = NULL;
    struct err err = { 0 };

    (void)state;
    rig_open(&r, 1, 2);
    struct ml_net_in in = { .table = r.t,
                            .slots = 2,
                            .layers = 2,
                            .feeds = 1,
                            .feed_rows = 9,
                            .batch = 8,
                            .size = 1024,
                            .pad = { 32, 16, 16 },
                            .steps = 2 };
    assert_true(net->bytes(&in) > 2 * 7 * 1024 * 4);
    emu_fail_malloc(1);
    assert_int_equal(net->open(r.c, &in, &g, &err), -1);
    emu_fail_malloc(0);
    assert_int_equal(err.code, ERR_NOMEM);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_of_a_group_equal_each_network_alone),
        cmocka_unit_test(a_lane_alone_equals_itself_in_a_group),
        cmocka_unit_test(a_stopped_lanes_slot_is_filled_again),
        cmocka_unit_test(a_lane_that_diverges_leaves_the_others_as_they_are),
        cmocka_unit_test(scores_equal_the_forward_pass),
        cmocka_unit_test(launches_do_not_grow_with_the_lanes),
        cmocka_unit_test(a_device_without_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
