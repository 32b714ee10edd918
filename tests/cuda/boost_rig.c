/* boost_rig.c - see boost_rig.h. */
#include "tests/cuda/boost_rig.h"

#include "ml/model/models.h"
#include "ml/ops/ops.h"
#include "tests/cuda/emu.h"

const struct ml_ops *assay_cuda_ops(void);

struct ml_compute boost_device;

int boost_device_open(void **state)
{
    (void)state;
    boost_device.ops = assay_cuda_ops();
    boost_device.ctx = boost_device.ops->open(0, NULL);
    return boost_device.ctx ? 0 : -1;
}

int boost_device_close(void **state)
{
    (void)state;
    boost_device.ops->close(boost_device.ctx);
    return emu_device_bytes_live() == 0 ? 0 : -1;
}

void boost_lanes_train(struct rig *r, struct lane *l, int n, const double *params, int64_t steps)
{
    struct err err = { 0 };

    for (int f = 0; f < n; f++) {
        if (!l[f].state)
            l[f] = rig_lane(r, "boost", params, f < FOLDS ? f : FOLD_ALL, 0);
        l[f].max_steps = 0;
        l[f].is_done = false;
    }
    if (model_find("boost")->advance(r->d, l, n, steps, NULL, &err) < 0)
        fail_msg("%s", err.text);
    for (int f = 0; f < n; f++)
        assert_false(l[f].failed);
}

void boost_lanes_equal(struct rig *r, struct lane *a, struct lane *b, int n, const char *what)
{
    float *held = malloc((size_t)(r->d->rows * r->d->n_outputs) * 2 * sizeof *held);
    float *other = held + r->d->rows * r->d->n_outputs;

    for (int f = 0; f < n; f++) {
        struct buf x = rig_lane_bytes("boost", &a[f], a[f].steps_done);
        struct buf y = rig_lane_bytes("boost", &b[f], b[f].steps_done);
        memset(held, 0, (size_t)(r->d->rows * r->d->n_outputs) * 2 * sizeof *held);
        if (x.len != y.len || memcmp(x.data, y.data, x.len) != 0)
            fail_msg("%s: fold %d: other trees (%zu and %zu bytes)", what, f, x.len, y.len);
        assert_int_equal(model_find("boost")->predict_held(r->d, &a[f], held, NULL), 0);
        assert_int_equal(model_find("boost")->predict_held(r->d, &b[f], other, NULL), 0);
        assert_memory_equal(held, other, (size_t)(r->d->rows * r->d->n_outputs) * sizeof *held);
        buf_fini(&x);
        buf_fini(&y);
    }
    free(held);
}

void boost_lanes_close(struct lane *l, int n)
{
    for (int f = 0; f < n; f++)
        rig_lane_close("boost", &l[f]);
}
