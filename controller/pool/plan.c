/* plan.c - the decision of plan.h.
 *
 * A job that is pending for want of room will bring its devices, and so does one whose runner is
 * about to come; only what is wanted beyond them is submitted. A job that Slurm holds back for
 * another reason counts against max, but nothing is expected of it. */
#include "controller/pool/plan.h"

#include "base/base.h"

static int between(int value, int low, int high)
{
    return MAX(MIN(value, high), low);
}

void plan_pool(const struct plan_in *in, struct plan *out)
{
    int coming = in->pending + in->starting, room = MAX(in->max - in->jobs, 0);
    int need = (in->wanted + in->devices - 1) / in->devices;
    int kept = between(in->min - in->kept, 0, room);

    CHECK(in->devices > 0 && in->wanted >= 0 && in->jobs >= in->pending + in->late);
    *out = (struct plan){ 0 };
    if (in->jobs > in->max) {
        out->cancel = MIN(in->jobs - in->max, in->pending + in->late);
        out->end = MIN(in->jobs - in->max - out->cancel, in->running);
        return;
    }
    if (!in->is_closed) {
        out->submit_kept = kept;
        out->submit = between(need - coming - kept, 0, room - kept);
        out->submit = MIN(out->submit, MAX(PLAN_BURST, in->running));
    }
    out->taken = MIN((coming + out->submit + out->submit_kept) * in->devices, in->wanted);
    /* Kept jobs are pending for the sake of min. */
    int spare = in->pending + in->late - MIN(in->kept, in->min) - MAX(need - in->starting, 0);
    out->is_unwanted = spare > 0 && out->submit + out->submit_kept == 0;
    if (out->is_unwanted && in->unwanted_ms >= in->idle_ms)
        out->cancel = spare;
}
