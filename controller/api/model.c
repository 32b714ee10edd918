/* model.c - the verbs on models: what a model is, and what it predicts. A model is named by a study
 * (its best one), by "trial:ID", or by the hash of its file. */
#include "controller/serve/predict.h"

#include "base/str.h"

#include <string.h>

static int model_find(struct ctl *ctl, const char *ref, char sha256[SHA256_HEX], struct err *err)
{
    static const char trial[] = "trial:";
    char name[400];
    int64_t id = 0;

    if (str_sha256_ok(ref)) {
        str_copy(sha256, SHA256_HEX, ref);
        return 0;
    }
    if (strncmp(ref, trial, sizeof trial - 1) != 0)
        return ctl_best_artifact(ctl, ref, sha256, name, sizeof name, err);
    if (str_i64(ref + sizeof trial - 1, 1, INT64_MAX, &id, NULL) < 0)
        return err_set(err, ERR_NOTFOUND, "\"%.60s\" names no trial: trial:ID", ref);
    return ctl_trial_artifact(ctl, id, sha256, err);
}

int ctl_model_predict(struct ctl *ctl, int64_t by, const struct ctl_predict *ask,
                      void (*on_done)(void *arg, const struct ctl_predicted *out,
                                      const struct err *err),
                      void *arg, struct err *err)
{
    char sha256[SHA256_HEX], path[1024];
    json_t *head = NULL;

    if (model_find(ctl, ask->model, sha256, err) < 0 ||
        ctl_blob_path(ctl, sha256, path, sizeof path, err) < 0)
        return -1;
    head = json_pack("{s:s, s:s, s:s, s:s, s:s, s:b, s:b}", "op",
                     ask->describes ? "describe" : "predict", "sha256", sha256, "path", path,
                     "input", ask->in_csv ? "csv" : "json", "output", ask->out_csv ? "csv" : "json",
                     "may_lack", (int)ask->may_lack, "refuses", (int)ask->refuses);
    if (head && ask->threshold >= 0)
        json_object_set_new(head, "threshold", json_real(ask->threshold));
    if (head && ask->interval > 0)
        json_object_set_new(head, "interval", json_real(ask->interval));
    if (!head)
        return err_set(err, ERR_ARG, "the data folder's path is no UTF-8");
    return predict_ask(ctl, by, head, ask->body, ask->n, on_done, arg, err);
}
