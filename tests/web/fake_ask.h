/* fake_ask.h - the part of fake_ctl.h that stands for trials of the user's: ask and tell, enqueue. Included there only. */
#ifndef TESTS_WEB_FAKE_ASK_H
#define TESTS_WEB_FAKE_ASK_H

int ctl_study_suggest(struct ctl *ctl, const char *study, const json_t *body, json_t **out,
                      struct err *err)
{
    (void)study, (void)body;
    if (fake_trial(ctl, "study_suggest", 9, out, err) < 0)
        return -1;
    json_decref(*out);
    *out = json_pack("{s:s, s:[{s:i, s:i, s:i, s:{s:f}, s:i, s:i, s:i}], s:b, s:i}", "state",
                     "running", "trials", "trial", 9, "number", 1, "lease", 1, "params", "x", 0.5,
                     "level", 0, "run_to", 1, "levels", 1, "done", 0, "wait_ms", 0);
    return 0;
}
int ctl_study_tell(struct ctl *ctl, const char *study, const json_t *body, json_t **out,
                   struct err *err)
{
    json_t *next = NULL;

    if (ctl_study_suggest(ctl, study, body, &next, err) < 0)
        return -1;
    *out = json_pack("{s:[{s:i, s:s}, {s:i, s:s, s:s, s:s}], s:o}", "results", "trial", 9,
                     "verdict", "completed", "trial", 10, "verdict", "refused", "where",
                     "results[1]", "detail", "no trial 10 in this study", "next", next);
    return 0;
}

/* A call that wants to wait does so, whatever its answer; fake_grant answers it. */
struct ctl_hold {
    struct ctl_wait wait; /* first: fake_grant frees it */
};
struct ctl_hold *ctl_study_hold(struct ctl *ctl, const char *study, const json_t *body,
                                json_t *answer,
                                void (*on_answer)(void *, json_t *, const struct err *), void *arg)
{
    struct ctl_hold *h = NULL;

    (void)study, (void)answer;
    if (json_integer_value(json_object_get(body, "wait_ms")) == 0)
        return NULL;
    h = mem_zalloc(sizeof *h);
    h->wait.on_grant = on_answer;
    h->wait.arg = arg;
    h->wait.ctl = ctl;
    ctl->wait = &h->wait;
    return h;
}
void ctl_study_hold_cancel(struct ctl *ctl, struct ctl_hold *hold)
{
    ctl_runner_lease_cancel(ctl, &hold->wait);
}
int ctl_trial_tell(struct ctl *ctl, int64_t id, const json_t *body, bool is_end, json_t **out,
                   struct err *err)
{
    (void)body;
    if (fake_trial(ctl, is_end ? "trial_complete" : "trial_report", id, out, err) < 0)
        return -1;
    json_decref(*out);
    *out = json_pack("{s:I, s:s, s:i, s:i}", "trial", (json_int_t)id, "verdict",
                     is_end ? "completed" : "continue", "level", 1, "run_to", 1);
    return 0;
}
int ctl_trial_enqueue(struct ctl *ctl, const char *study, const json_t *config, json_t **out,
                      struct err *err)
{
    (void)study, (void)config;
    return fake_trial(ctl, "trial_enqueue", 9, out, err);
}

bool ctl_owes_commit(const struct ctl *ctl)
{
    return ctl->open > 0 || ctl->n_after > 0;
}

#endif
