/* model.c - what the families share of the lane interface (model.h): the test whether work must
 * stop, the order in which lanes take turns in one workspace, and the shape of a learning problem
 * that cost and memory formulas depend on. Called by the families and by fit/. */
#include "ml/model/model.h"

bool ml_stop_now(const struct ml_stop *s)
{
    if (!s)
        return false;
    return (s->cancel && *s->cancel) || (s->now_us && s->now_us(s->ctx) >= s->deadline_us);
}

int model_task(const struct ml_data *d)
{
    return d->spec.task == ML_BINARY       ? FT_BINARY
           : d->spec.task == ML_MULTICLASS ? FT_MULTICLASS
                                           : FT_REGRESSION;
}

struct family_shape model_shape(const struct ml_data *d, int folds)
{
    return (struct family_shape){ .rows = d->n_train,
                                  .columns = prep_inputs(d->prep),
                                  .encoded = prep_width(d->prep),
                                  .by_fold = prep_is_by_fold(d->prep),
                                  .outputs = d->n_outputs,
                                  .folds = folds,
                                  .image = { d->spec.frame->image.height,
                                             d->spec.frame->image.width,
                                             d->spec.frame->image.channels },
                                  .task = model_task(d) };
}

void lanes_in_turn(struct lane *lanes, int n, const void *busy, int64_t steps, lane_train_fn *train,
                   void *ctx, const struct ml_stop *stop)
{
    int first = 0;

    for (int i = 0; i < n; i++)
        first = busy && busy == lanes[i].state ? i : first;
    for (int i = 0; i < n; i++) {
        /* The busy lane comes first; the others keep their order. */
        struct lane *lane = &lanes[i == 0 ? first : i <= first ? i - 1 : i];
        int64_t target = lane->steps_done + steps;
        if (lane->failed || lane->is_done)
            continue;
        if (lane->max_steps && target > lane->max_steps)
            target = lane->max_steps;
        if (!train(ctx, lane, target, stop))
            return;
    }
}
