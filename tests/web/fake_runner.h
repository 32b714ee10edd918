/* fake_runner.h - the part of fake_ctl.h that stands for runners and pools of them. Included there
 * only. */
#ifndef TESTS_WEB_FAKE_RUNNER_H
#define TESTS_WEB_FAKE_RUNNER_H

int ctl_runners(struct ctl *ctl, int64_t after, int limit, json_t **out, struct err *err)
{
    (void)ctl, (void)err, (void)after, (void)limit;
    *out = json_pack("{s:[]}", "runners");
    return 0;
}
int ctl_pools(struct ctl *ctl, json_t **out, struct err *err)
{
    (void)ctl, (void)err;
    *out = json_pack("{s:[{s:s, s:s, s:s, s:i, s:i, s:i, s:[]}]}", "pools", "name", "gpu", "state",
                     "idle", "why", "", "min", 0, "max", 4, "wanted", 0, "jobs");
    return 0;
}
int ctl_runner_act(struct ctl *ctl, int64_t runner, const char *verb, json_t **out, struct err *err)
{
    (void)err;
    SAY(ctl, "runner_act %d %s", (int)runner, verb);
    *out = json_pack("{s:I}", "id", (json_int_t)runner);
    return 0;
}

#endif
