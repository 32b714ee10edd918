/* fake_page.h - the part of fake_ctl.h that answers what the page asks of one study or trial. Included by that file alone. */
#ifndef TESTS_WEB_FAKE_PAGE_H
#define TESTS_WEB_FAKE_PAGE_H

int ctl_study_preview_beside(struct ctl *ctl, int64_t by, const json_t *spec,
                             void (*on_done)(void *arg, json_t *out_new, const struct err *err),
                             void *arg, struct err *err)
{
    json_t *out = NULL;

    (void)by;
    if (ctl_study_preview(ctl, spec, &out, err) < 0)
        return -1;
    on_done(arg, out, NULL);
    return 0;
}
int ctl_studies_of(struct ctl *ctl, const char *ids, json_t **out, struct err *err)
{
    (void)err;
    SAY(ctl, "studies_of %s", ids);
    *out = json_pack("{s:[o], s:n}", "studies", fake_study("adult"), "next");
    return 0;
}
int ctl_study_page(struct ctl *ctl, const char *ref, int limit, struct buf *out, struct err *err)
{
    SAY(ctl, "page %s %d", ref, limit);
    return fake_fails(ref, err) < 0
               ? -1
               : buf_addf(out, err,
                          "{\"seq\":7,\"study\":{\"id\":1,\"name\":\"%s\",\"state\":"
                          "\"running\"},\"rows\":[]}",
                          ref);
}
int ctl_study_changes(struct ctl *ctl, const char *ref, int64_t after, int limit, struct buf *out,
                      struct err *err)
{
    SAY(ctl, "changes %s %d %d", ref, (int)after, limit);
    return fake_fails(ref, err) < 0
               ? -1
               : buf_adds(out,
                          "{\"seq\":7,\"more\":false,\"reset\":false,\"kept\":[],\"study\":"
                          "{\"id\":1,\"name\":\"a\",\"state\":\"running\"},\"rows\":[]}",
                          err);
}
int ctl_study_columns(struct ctl *ctl, const char *ref, int64_t after, int limit, bool with_config,
                      struct buf *out, struct err *err)
{
    SAY(ctl, "columns %s %d %d %d", ref, (int)after, limit, with_config);
    return fake_fails(ref, err) < 0 ? -1 : buf_adds(out, "{}", err);
}
int ctl_study_rows(struct ctl *ctl, const char *ref, const struct ctl_rows *want, struct buf *out,
                   struct err *err)
{
    SAY(ctl, "rows %s %s %s %s %d %d", ref, want->numbers ? want->numbers : "-",
        want->state ? want->state : "-", want->sort ? want->sort : "-", (int)want->after,
        want->limit);
    return fake_fails(ref, err) < 0 ? -1
                                    : buf_adds(out, "{\"seq\":7,\"rows\":[],\"next\":null}", err);
}

static int fake_trial(struct ctl *ctl, const char *what, int64_t id, json_t **out, struct err *err);
int ctl_trial_epochs(struct ctl *ctl, int64_t id, json_t **out, struct err *err)
{
    json_t *run = json_pack(
        "{s:i, s:i, s:s, s:b, s:[i,i], s:[f,f], s:[f,n], s:[f,f], s:[f,f], s:[n,f], s:[n,i]}",
        "level", 1, "folds", 5, "metric", "logloss", "larger_is_better", 0, "epoch", 1, 2,
        "train_loss", 0.7, 0.6, "score", 0.69, "learning_rate", 0.02, 0.01, "gradient_norm", 1.5,
        1.25, "samples_per_s", 1e5, "fence", 2);

    if (fake_trial(ctl, "trial_epochs", id, out, err) < 0) {
        json_decref(run);
        return -1;
    }
    json_decref(*out);
    *out = json_pack("{s:I, s:i, s:i, s:s, s:b, s:[o]}", "trial", (json_int_t)id, "study", 1,
                     "number", 1, "state", "running", "live", 1, "runs", run);
    return 0;
}

int ctl_trial_output(struct ctl *ctl, int64_t id, int64_t after, int limit, json_t **out,
                     struct err *err)
{
    if (fake_trial(ctl, "trial_output", id, out, err) < 0)
        return -1;
    SAY(ctl, "output %d %d", (int)after, limit);
    json_decref(*out);
    *out = json_pack("{s:I, s:i, s:i, s:s, s:b, s:b, s:I, s:[{s:I, s:i, s:I, s:s}]}", "trial",
                     (json_int_t)id, "study", 1, "number", 1, "state", "running", "live", 1, "more",
                     0, "next", (json_int_t)after + 1, "pieces", "piece", (json_int_t)after + 1,
                     "lease", 1, "at", (json_int_t)1700000000000, "text", "a line\n");
    return 0;
}

int ctl_model_predict(struct ctl *ctl, int64_t by, const struct ctl_predict *ask,
                      void (*on_done)(void *arg, const struct ctl_predicted *out,
                                      const struct err *err),
                      void *arg, struct err *err)
{
    static const char json[] =
        "{\"model\":\"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\","
        "\"rows\":1,\"predictions\":[\"yes\"],\"notes\":[],\"description\":{}}";
    struct ctl_predicted out = { .bytes = json, .len = sizeof json - 1, .note = "" };

    (void)by;
    SAY(ctl, "model_predict %s %s in=%d out=%d lack=%d refuse=%d threshold=%g body=%.*s",
        ask->model, ask->describes ? "describe" : "predict", ask->in_csv, ask->out_csv,
        ask->may_lack, ask->refuses, ask->threshold, (int)ask->n, ask->body ? ask->body : "");
    if (fake_fails(ask->model, err))
        return -1;
    if (ask->out_csv)
        out = (struct ctl_predicted){ .bytes = "prediction\nyes\n", .len = 15, .note = "1 cell" };
    on_done(arg, &out, NULL);
    return 0;
}

int ctl_trial_pipeline(struct ctl *ctl, int64_t id, json_t **out, struct err *err)
{
    json_t *group = json_pack("{s:s, s:i, s:[s,s], s:i, s:i, s:[{s:s, s:i}]}", "type", "number",
                              "n", 2, "columns", "a", "b", "inputs", 2, "width", 2, "steps", "say",
                              "standardised", "inputs", 2);

    if (fake_trial(ctl, "trial_pipeline", id, out, err) < 0) {
        json_decref(group);
        return -1;
    }
    json_decref(*out);
    *out = json_pack(
        "{s:I, s:i, s:i, s:s, s:{}, s:{s:s, s:i, s:i, s:i, s:[o], s:[{s:s, s:i, s:[s]}]}}", "trial",
        (json_int_t)id, "study", 1, "number", 1, "family", "linear", "config", "pipeline", "form",
        "dense", "columns", 2, "inputs", 2, "width", 2, "groups", group, "dropped", "why",
        "the target", "n", 1, "columns", "y");
    return 0;
}

#endif
