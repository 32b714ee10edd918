/* space.c - builds a space. Each parameter is checked completely before it is copied in, so all
 * other code may rely on the rules in space.h without checking again. The controller calls this
 * while it reads a spec, so a wrong parameter is user input: every error names the parameter and
 * none is a CHECK. Values and the unit cube are in space_map.c; counting and hashing are in
 * space_set.c. */
#include "search/space/space.h"

#include "search/space/exact_math.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* With these bounds from_unit(to_unit(v)) == v holds for every discrete value. A double has 53 bits
 * (9e15). An int on a log scale loses some of them in the logarithm, so its bound is lower. A float
 * may have at most STEPS_LIMIT steps, so that half a step is far above the rounding error of a
 * sum. */
#define INT_LIMIT     1e15
#define INT_LOG_LIMIT 1e12
#define STEPS_LIMIT   1e9
/* PARENT_MAX_CHOICES: the bits of param.parent_mask. */
enum { CHOICE_MAX_BYTES = 1000, PARENT_MAX_CHOICES = 64 };

struct space *space_new(void)
{
    return mem_zalloc(sizeof(struct space));
}

static void param_fini(struct param *p)
{
    for (int c = 0; c < p->n_choices; c++)
        mem_free(p->choices[c]);
    mem_free(p->choices);
    mem_free(p->name);
}

void space_free(struct space *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->n; i++)
        param_fini(&s->params[i]);
    mem_free(s->params);
    mem_free(s->constraints);
    mem_free(s);
}

int space_find(const struct space *s, const char *name)
{
    for (int i = 0; i < s->n; i++) {
        if (strcmp(s->params[i].name, name) == 0)
            return i;
    }
    return -1;
}

int space_root(const struct space *s)
{
    for (int i = 0; i < s->n; i++) {
        int parent = s->params[i].parent;
        if (parent >= 0 && s->params[parent].parent < 0 &&
            s->params[parent].kind == PARAM_CATEGORICAL && s->params[parent].axis != AXIS_FREE)
            return parent;
    }
    return -1;
}

static bool is_choice(const struct param *p)
{
    return p->kind == PARAM_CATEGORICAL || p->kind == PARAM_ORDINAL;
}

static bool is_number(const struct param *p)
{
    return p->kind == PARAM_FLOAT || p->kind == PARAM_INT;
}

/* ---- checks: each error names the parameter ---- */

static int check_name(const struct space *s, const struct param *p, struct err *err)
{
    size_t n = p->name ? strlen(p->name) : 0;

    if (n == 0 || n > SPACE_MAX_NAME)
        return err_at(err, "", "a parameter's name must have 1 to %d bytes", SPACE_MAX_NAME);
    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)p->name[i] < 0x20 || p->name[i] == 0x7f)
            return err_at(err, "", "a parameter's name holds a control character");
    }
    if (!utf8_ok(p->name, n))
        return err_at(err, "", "a parameter's name is not UTF-8");
    if (s->n >= SPACE_MAX_PARAMS)
        return err_at(err, p->name, "is one too many: a space has at most %d parameters",
                      SPACE_MAX_PARAMS);
    if (space_find(s, p->name) >= 0)
        return err_at(err, p->name, "is defined twice");
    return 0;
}

/* A parameter may depend on one choice defined before it, and is active for the choices in
 * parent_mask. */
static int check_parent(const struct space *s, const struct param *p, struct err *err)
{
    if (p->parent == -1)
        return 0;
    if (p->parent < 0 || p->parent >= s->n)
        return err_at(err, p->name, "depends on a parameter that is not defined before it");
    const struct param *parent = &s->params[p->parent];
    if (!is_choice(parent))
        return err_at(err, p->name, "depends on %s, which is not a choice", parent->name);
    if (parent->axis == AXIS_FREE)
        return err_at(err, p->name, "depends on %s, which is a free axis", parent->name);
    if (parent->n_choices > PARENT_MAX_CHOICES)
        return err_at(err, p->name, "depends on %s, which has more than %d choices", parent->name,
                      PARENT_MAX_CHOICES);
    uint64_t legal = parent->n_choices == 64 ? UINT64_MAX : (UINT64_C(1) << parent->n_choices) - 1;
    if (p->parent_mask == 0)
        return err_at(err, p->name, "is active for no choice of %s", parent->name);
    if (p->parent_mask & ~legal)
        return err_at(err, p->name, "depends on a choice that %s has not", parent->name);
    return 0;
}

static int check_range(const struct param *p, struct err *err)
{
    if (!isfinite(p->lo) || !isfinite(p->hi) || !isfinite(p->hi - p->lo))
        return err_at(err, p->name, "needs a finite range");
    if (p->lo > p->hi)
        return err_at(err, p->name, "has an empty range: %g is above %g", p->lo, p->hi);
    if (p->is_log && p->lo <= 0)
        return err_at(err, p->name, "is log, so its range must be above 0, not from %g", p->lo);
    if (p->is_log && p->kind == PARAM_FLOAT && p->step > 0)
        return err_at(err, p->name, "is log and cannot have a step too");
    if (!isfinite(p->step) || p->step < 0)
        return err_at(err, p->name, "needs a step above 0");
    return 0;
}

static int check_int(const struct param *p, struct err *err)
{
    double limit = p->is_log ? INT_LOG_LIMIT : INT_LIMIT;

    if (floor(p->lo) != p->lo || floor(p->hi) != p->hi)
        return err_at(err, p->name, "is an integer, its range must be so too");
    if (fabs(p->lo) > limit || fabs(p->hi) > limit || p->hi - p->lo > limit)
        return err_at(err, p->name, "has a range beyond %g", limit);
    if (p->step != 0 && (p->step < 1 || floor(p->step) != p->step))
        return err_at(err, p->name, "is an integer, its step must be so too");
    if (p->is_log && p->step > 1)
        return err_at(err, p->name, "is log and cannot have a step too");
    return 0;
}

/* The step must divide the range, so that both ends are values. */
static int check_step(const struct param *p, struct err *err)
{
    double cells = p->step > 0 ? (p->hi - p->lo) / p->step : 0;

    if (p->kind == PARAM_FLOAT && cells > STEPS_LIMIT)
        return err_at(err, p->name, "has a step too small for its range");
    if (fabs(cells - floor(cells + 0.5)) > 1e-6)
        return err_at(err, p->name, "has a step of %g, which does not divide %g..%g", p->step,
                      p->lo, p->hi);
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int check_choices(const struct param *p, struct err *err)
{
    if (p->n_choices < 1 || p->n_choices > SPACE_MAX_CHOICES)
        return err_at(err, p->name, "needs 1 to %d choices", SPACE_MAX_CHOICES);
    if (p->is_log || p->step != 0)
        return err_at(err, p->name, "is a choice: log and step belong to numbers");
    for (int c = 0; c < p->n_choices; c++) {
        size_t n = p->choices[c] ? strlen(p->choices[c]) : 0;
        if (n == 0 || n > CHOICE_MAX_BYTES || !utf8_ok(p->choices[c], n))
            return err_at(err, p->name, "has a choice that is empty, too long or not UTF-8");
    }
    char **sorted = mem_dup(p->choices, (size_t)p->n_choices * sizeof *sorted);
    const char *twice = NULL;
    qsort(sorted, (size_t)p->n_choices, sizeof *sorted, compare_names);
    for (int c = 1; c < p->n_choices; c++) {
        if (strcmp(sorted[c - 1], sorted[c]) == 0)
            twice = sorted[c];
    }
    mem_free(sorted);
    return twice ? err_at(err, p->name, "has the choice \"%.60s\" twice", twice) : 0;
}

static int check_kind(const struct param *p, struct err *err)
{
    if (is_choice(p))
        return check_choices(p, err);
    if (p->n_choices != 0)
        return err_at(err, p->name, "is no choice, but lists choices");
    if (p->kind == PARAM_CONSTANT)
        return isfinite(p->lo) ? 0 : err_at(err, p->name, "needs a finite value");
    if (check_range(p, err) < 0)
        return -1;
    if (p->kind == PARAM_INT && check_int(p, err) < 0)
        return -1;
    return check_step(p, err);
}

static int check_all(const struct space *s, const struct param *p, struct err *err)
{
    if (check_name(s, p, err) < 0)
        return -1;
    if ((int)p->kind < PARAM_FLOAT || p->kind > PARAM_CONSTANT || (int)p->axis < AXIS_COSTLY ||
        p->axis > AXIS_SHAPE)
        return err_at(err, p->name, "has an unknown kind");
    if (check_parent(s, p, err) < 0 || check_kind(p, err) < 0)
        return -1;
    if (p->kind != PARAM_CONSTANT && !param_is_legal(p, p->def))
        return err_at(err, p->name, "has a default of %g, which is not one of its values", p->def);
    return 0;
}

/* ---- adding ---- */

/* Copies a checked parameter and fills in what follows from its kind, so that readers need no
 * special cases: the range of a choice is its numbers, an integer has a step, a constant has its
 * value as both ends and as default. */
static void param_copy(struct param *to, const struct param *from)
{
    *to = *from;
    to->name = mem_strdup(from->name);
    to->choices = NULL;
    if (is_choice(from)) {
        to->choices = mem_array((size_t)from->n_choices, sizeof *to->choices);
        for (int c = 0; c < from->n_choices; c++)
            to->choices[c] = mem_strdup(from->choices[c]);
        to->lo = 0;
        to->hi = from->n_choices - 1;
    }
    if (to->kind == PARAM_INT && to->step == 0)
        to->step = 1;
    if (to->kind == PARAM_CONSTANT)
        to->def = to->hi = to->lo;
    if (to->parent == -1)
        to->parent_mask = 0;
    if (!is_number(to))
        to->is_log = false;
    if (to->is_log) {
        double beyond = to->kind == PARAM_INT ? 0.5 : 0;
        to->log_lo = search_log(to->lo - beyond);
        to->log_hi = search_log(to->hi + beyond);
    }
}

int space_add(struct space *s, const struct param *p, struct err *err)
{
    if (check_all(s, p, err) < 0)
        return -1;
    s->params = mem_resize(s->params, (size_t)(s->n + 1) * sizeof *s->params);
    param_copy(&s->params[s->n], p);
    return s->n++;
}
