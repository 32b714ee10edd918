/* analysis.c - the verbs about what a study's trials have shown: the importance of parameters, and
 * Pareto fronts. The work is done in view/analysis.c. As long as an answer is not current, its
 * state is "computing", and the client asks again. */
#include "controller/view/analysis.h"

#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/settle/load.h"
#include "controller/state/board.h"
#include "controller/state/trial.h"
#include "controller/view/show.h"
#include "search/insight/importance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FRONT_ROWS = 500 }; /* rows of a front in one answer */

/* Finds a word in a list; NULL or "" = the default. The error suggests a similar word. */
static int word_parse(const char *key, const char *word, const char *const *words, int n, int def,
                      int *out, struct err *err)
{
    *out = def;
    if (!word || !word[0])
        return 0;
    for (*out = 0; *out < n; ++*out) {
        if (str_eq(word, words[*out]))
            return 0;
    }
    const char *near = str_nearest(word, words, (size_t)n);
    char list[200];

    str_list(words, (size_t)n, list, sizeof list);
    return err_at(err, key, "\"%.40s\" is not one of %s%s%s%s", word, list,
                  near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

/* ---- importance ---- */

struct ranked {
    const struct param *param;
    double share;
};

static int by_share(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->share != y->share)
        return x->share > y->share ? -1 : 1;
    return strcmp(x->param->name, y->param->name);
}

/* The parameter "boost.learning_rate" belongs to the family boost. The parameter "family" belongs
 * to none. */
static json_t *family_of(const char *name)
{
    const char *dot = strchr(name, '.');

    return dot ? json_stringn(name, (size_t)(dot - name)) : json_null();
}

/* Importances as shares of their sum, the largest first. */
static json_t *parameters_json(const struct space *s, const double *values, double sum)
{
    struct ranked *list = mem_array((size_t)s->n + 1, sizeof *list);
    json_t *out = json_array();
    int n = 0;

    for (int j = 0; j < s->n; j++) {
        if (importance_concerns(&s->params[j]))
            list[n++] = (struct ranked){ &s->params[j], sum > 0 ? values[j] / sum : 0 };
    }
    qsort(list, (size_t)n, sizeof *list, by_share);
    for (int i = 0; i < n; i++)
        json_array_append_new(out, json_pack("{s:s, s:o, s:o}", "name", list[i].param->name,
                                             "family", family_of(list[i].param->name), "importance",
                                             jsonx_real(list[i].share)));
    mem_free(list);
    return out;
}

int ctl_importance(struct ctl *ctl, const char *ref, const char *method, json_t **out,
                   struct err *err)
{
    struct study *st = study_by_ref(ctl, ref, err);
    struct analysis_importance found = { 0 };
    json_t *parameters = NULL;
    double sum = 0;
    int m = 0;

    if (!st ||
        word_parse("method", method, analysis_method_name, ANALYSIS_METHODS, ANALYSIS_PED_ANOVA, &m,
                   err) < 0 ||
        analysis_importance(st, (enum analysis_method)m, &found, err) < 0)
        return -1;
    bool has_any = found.values && found.trials > 0;
    for (int j = 0; has_any && j < st->space.space->n; j++)
        sum += found.values[j];
    parameters = has_any ? parameters_json(st->space.space, found.values, sum) : json_array();
    *out = json_pack("{s:I, s:s, s:s, s:s, s:i, s:o, s:o}", "study", (json_int_t)st->row.id, "name",
                     st->row.name, "method", analysis_method_name[m], "state",
                     st->space.space && !found.is_current ? "computing"
                     : has_any                            ? "ready"
                                                          : "too_few",
                     "trials", found.trials, "main_effects",
                     has_any && m == ANALYSIS_FANOVA ? jsonx_real(sum) : json_null(), "parameters",
                     parameters);
    return 0;
}

/* ---- front ---- */

static json_t *rows_json(struct study *st, const struct analysis_front *front, struct err *err)
{
    json_t *rows = json_array();

    for (int i = 0; i < MIN(front->n, FRONT_ROWS); i++) {
        struct trial_row row = { 0 };
        int rc = trial_load(st, front->numbers[i], &row, err);

        if (rc == 0)
            json_array_append_new(rows, show_board_row(&row, board_rank(st, front->numbers[i])));
        trial_row_fini(&row);
        if (rc < 0) {
            json_decref(rows);
            return NULL;
        }
    }
    return rows;
}

/* The facts of a front: the two that were asked for, or all objectives of a study that has several
 * if none was. Returns their number, or -1. */
static int facts_parse(const struct study *st, const char *x, const char *y,
                       enum spec_objective *out, struct err *err)
{
    int fx = 0, fy = 0;

    if (!(x && x[0]) && !(y && y[0]) && st->spec.n_objectives > 1) {
        memcpy(out, st->spec.objectives, sizeof st->spec.objectives);
        return st->spec.n_objectives;
    }
    if (word_parse("x", x, analysis_fact_name, OBJ_KINDS, OBJ_FIT_TIME, &fx, err) < 0 ||
        word_parse("y", y, analysis_fact_name, OBJ_KINDS, OBJ_SCORE, &fy, err) < 0)
        return -1;
    if (!analysis_has_fact(st, (enum spec_objective)fx) ||
        !analysis_has_fact(st, (enum spec_objective)fy))
        return err_at(err, analysis_has_fact(st, (enum spec_objective)fx) ? "y" : "x",
                      "is no objective of this study");
    if (fx == fy)
        return err_at(err, "y", "must be another fact than x");
    out[0] = (enum spec_objective)fx;
    out[1] = (enum spec_objective)fy;
    return 2;
}

int ctl_pareto(struct ctl *ctl, const char *ref, const char *x, const char *y, json_t **out,
               struct err *err)
{
    struct study *st = study_by_ref(ctl, ref, err);
    enum spec_objective facts[SPEC_MAX_OBJECTIVES] = { OBJ_SCORE };
    struct analysis_front front = { 0 };
    json_t *rows = NULL, *names = NULL;
    int n = st ? facts_parse(st, x, y, facts, err) : -1;

    if (n < 0)
        return -1;
    analysis_front(st, facts, n, &front);
    rows = rows_json(st, &front, err);
    if (rows) {
        bool ready = st->problem.is_ready;

        names = json_array();
        for (int i = 0; i < n; i++)
            json_array_append_new(names, json_string(analysis_fact_name[facts[i]]));
        *out = json_pack("{s:I, s:s, s:o, s:b, s:s, s:s, s:o, s:s, s:i, s:i, s:o, s:o}", "study",
                         (json_int_t)st->row.id, "name", st->row.name, "metric",
                         ready ? json_string(st->problem.data.metric) : json_null(),
                         "larger_is_better", !ready || st->problem.metric->larger_is_better, "x",
                         analysis_fact_name[facts[0]], "y", analysis_fact_name[facts[1]], "facts",
                         names, "state", front.is_current ? "ready" : "computing", "compared",
                         front.compared, "total", front.n, "volume", jsonx_real(front.volume),
                         "rows", rows);
        CHECK(*out);
    }
    mem_free(front.numbers);
    return rows ? 0 : -1;
}
