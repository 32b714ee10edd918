/* spec_tables.c - prints the tables of docs/SPEC.md that follow from the code: metrics, families with their parameters,
 * samplers and schedulers with their options. The document holds each of them between two marks:
 *
 *   <!-- generated: NAME -->
 *   <!-- end -->
 *
 * Usage: spec_tables FILE prints FILE with every table made anew. `make spec-tables` writes the result back, and
 * tests/lint.sh refuses a document that differs from it. The rows come from ml/metric/metric.c, ml/family/family_params.def and
 * the option tables in search/, so nothing is written twice. */
#include "base/base.h"
#include "ml/family/family.h"
#include "ml/metric/metric.h"
#include "search/searchers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LINE_BYTES = 1 << 16 };

static const struct {
    const char *name;
    int mask;
} tasks[] = { { "binary", FT_BINARY },
              { "multiclass", FT_MULTICLASS },
              { "regression", FT_REGRESSION } };

/* A number as a person writes it: 4000, 0.15, 1e-07. */
static const char *number(double v, char out[32])
{
    if (v == (double)(int64_t)v && v > -1e10 && v < 1e10)
        (void)snprintf(out, 32, "%" PRId64, (int64_t)v);
    else
        (void)snprintf(out, 32, "%g", v);
    return out;
}

static void range_print(double lo, double hi)
{
    char a[32], b[32];

    printf("%s..%s", number(lo, a), number(hi, b));
}

/* Help texts are lists of words with no upper case at the start; a cell begins with one and holds no bar. */
static void cell_print(const char *text)
{
    for (const char *c = text; *c; c++) {
        if (*c == '|')
            printf("\\|");
        else
            putchar(c == text && *c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    }
}

static void tasks_print(int mask)
{
    const char *comma = "";

    for (size_t i = 0; i < ARRAY_LEN(tasks); i++) {
        if (mask & tasks[i].mask) {
            printf("%s%s", comma, tasks[i].name);
            comma = ", ";
        }
    }
}

/* ---- metrics ---- */

static void metrics_print(void)
{
    printf("| metric | tasks | better is |\n|---|---|---|\n");
    for (int i = 0; i < METRICS; i++) {
        const struct metric_info *m = metric_info((enum metric_id)i);
        printf("| `%s` | ", m->name);
        tasks_print(m->tasks);
        printf(" | %s |\n", m->larger_is_better ? "larger" : "smaller");
    }
}

/* ---- families ---- */

/* Choices lo..hi of a parameter, as words. */
static void choices_print(const struct family_param *p, double lo, double hi)
{
    char word[64];

    for (int i = (int)lo; i <= (int)hi; i++) {
        family_choice_name(p, i, word, sizeof word);
        printf("%s`%s`", i > (int)lo ? ", " : "", word);
    }
}

static void values_print(const struct family_param *p, double lo, double hi)
{
    if (p->kind == FP_CHOICE)
        choices_print(p, lo, hi);
    else
        range_print(lo, hi);
}

/* What an automatic search tries, and with which metrics it tries more. */
static void searched_print(const struct family *f, int k)
{
    const struct family_param *p = &f->params[k];
    double more_lo = p->lo, more_hi = p->hi;
    const char *comma = "";

    if (p->axis == FA_FREE) {
        printf("not searched (one value only)");
        return;
    }
    if (p->axis == FA_PREP && p->lo < p->hi) {
        values_print(p, p->lo, p->hi);
        printf(" where the table has such columns");
        return;
    }
    if (p->lo < p->hi)
        values_print(p, p->lo, p->hi);
    else
        printf("not searched");
    for (int m = 0; f->searched && m < METRICS; m++) {
        const struct metric_info *info = metric_info((enum metric_id)m);
        struct family_param q = family_param_for(f, k, NULL, info->name);
        if (q.lo == p->lo && q.hi == p->hi)
            continue;
        printf("%s`%s`", *comma ? comma : "; with metric ", info->name);
        comma = ", ";
        more_lo = q.lo;
        more_hi = q.hi;
    }
    if (*comma) {
        printf(": ");
        values_print(p, more_lo, more_hi);
    }
}

/* Choices that only some tasks can use. */
static void choice_tasks_print(const struct family *f, int k)
{
    const struct family_param *p = &f->params[k];
    int n = p->kind == FP_CHOICE && f->choice_tasks ? family_choice_count(p) : 0;

    for (size_t t = 0; t < ARRAY_LEN(tasks); t++) {
        const char *comma = "";
        char word[64];
        for (int i = 0; i < n; i++) {
            if (f->choice_tasks(k, i) != tasks[t].mask)
                continue;
            family_choice_name(p, i, word, sizeof word);
            printf("%s`%s`", *comma ? comma : ". ", word);
            comma = ", ";
        }
        if (*comma)
            printf(": %s only", tasks[t].name);
    }
}

static void param_print(const struct family *f, int k)
{
    static const char *const kinds[] = {
        [FP_FLOAT] = "number", [FP_INT] = "whole number", [FP_CHOICE] = "choice"
    };
    const struct family_param *p = &f->params[k];
    char text[64];

    printf("| `%s` | %s%s | ", p->name, kinds[p->kind],
           p->is_log && p->kind != FP_CHOICE ? ", log scale" : "");
    searched_print(f, k);
    printf(" | ");
    values_print(p, p->hard_lo, p->hard_hi);
    if (p->kind == FP_CHOICE)
        family_choice_name(p, (int)p->def, text, sizeof text);
    else
        (void)number(p->def, text);
    printf(" | %s%s%s | ", p->kind == FP_CHOICE ? "`" : "", text, p->kind == FP_CHOICE ? "`" : "");
    cell_print(p->help);
    choice_tasks_print(f, k);
    printf(" |\n");
}

/* One configuration by what differs from the defaults. */
static void portfolio_print(const struct family *f, const double *params)
{
    const char *comma = "";
    char word[64];

    for (int k = 0; k < f->n_params; k++) {
        const struct family_param *p = &f->params[k];
        if (params[k] == p->def)
            continue;
        if (p->kind == FP_CHOICE)
            family_choice_name(p, (int)params[k], word, sizeof word);
        else
            (void)number(params[k], word);
        printf("%s`%s` %s", comma, p->name, word);
        comma = ", ";
    }
    printf("%s |\n", *comma ? "" : "nothing");
}

static void family_print(const struct family *f)
{
    printf("\n### `%s`\n\n", f->name);
    cell_print(f->help);
    printf(".\n\n- Tasks: ");
    tasks_print(f->tasks);
    printf(".\n- `monotone`: %s.\n",
           f->keeps_monotone ? "kept" : "not kept, so the family is left out");
    for (int l = 1; l <= f->levels; l++)
        printf("- Level %d of %d: %s.\n", l, f->levels, f->level_help[l - 1]);
    printf("- Levels with `resource: rounds`: %s.\n", f->rounds ? "81" : "the same as `auto`");
    printf("- Levels with `resource: rows`: %s.\n", f->takes_rows ? "27" : "the same as `auto`");
    if (f->n_params == 0)
        return;
    printf("\n| parameter | type | searched by default | allowed | default | meaning |\n"
           "|---|---|---|---|---|---|\n");
    for (int k = 0; k < f->n_params; k++)
        param_print(f, k);
    printf("\n| tried first | what differs from the defaults |\n|---|---|\n");
    for (int i = 0; f->portfolio(i); i++) {
        printf("| %d | ", i + 1);
        portfolio_print(f, f->portfolio(i));
    }
}

static void families_print(void)
{
    for (int i = 0; family_at(i); i++)
        family_print(family_at(i));
}

/* ---- searchers ---- */

static void options_print(const char *name, const struct search_option *o, int n)
{
    char def[32];

    for (int i = 0; i < n; i++) {
        printf("| `%s` | `%s` | %s | ", name, o[i].name, o[i].is_int ? "whole number" : "number");
        range_print(o[i].lo, o[i].hi);
        printf(" | %s | ", number(o[i].def, def));
        cell_print(o[i].help);
        printf(" |\n");
    }
}

static const char option_head[] =
    "\n| %s | option | type | allowed | default | meaning |\n|---|---|---|---|---|---|\n";

static void samplers_print(void)
{
    printf(
        "| sampler | what it does | learns from results | several objectives |\n|---|---|---|---|\n");
    for (int i = 0; sampler_at(i); i++) {
        const struct sampler_ops *s = sampler_at(i);
        if (s->is_test_only)
            continue;
        printf("| `%s` | ", s->name);
        cell_print(s->help);
        printf(" | %s | %s |\n", s->ignores_results ? "no" : "yes", s->ranks_by_one ? "no" : "yes");
    }
    printf(option_head, "sampler");
    for (int i = 0; sampler_at(i); i++) {
        if (!sampler_at(i)->is_test_only)
            options_print(sampler_at(i)->name, sampler_at(i)->options, sampler_at(i)->n_options);
    }
}

static void schedulers_print(void)
{
    printf("| scheduler | what it does |\n|---|---|\n");
    for (int i = 0; scheduler_at(i); i++) {
        const struct scheduler_ops *s = scheduler_at(i);
        if (s->is_test_only)
            continue;
        printf("| `%s` | ", s->name);
        cell_print(s->help);
        printf(" |\n");
    }
    printf(option_head, "scheduler");
    for (int i = 0; scheduler_at(i); i++) {
        if (!scheduler_at(i)->is_test_only)
            options_print(scheduler_at(i)->name, scheduler_at(i)->options,
                          scheduler_at(i)->n_options);
    }
}

/* ---- the document ---- */

static const struct {
    const char *mark;
    void (*print)(void);
} sections[] = {
    { "<!-- generated: metrics -->\n", metrics_print },
    { "<!-- generated: families -->\n", families_print },
    { "<!-- generated: samplers -->\n", samplers_print },
    { "<!-- generated: schedulers -->\n", schedulers_print },
};

/* Copies the document; what stands between two marks gives way to the table. Returns how many tables were made. */
static int document_print(FILE *in)
{
    static char line[LINE_BYTES];
    bool is_inside = false;
    int n = 0;

    while (fgets(line, sizeof line, in)) {
        if (strcmp(line, "<!-- end -->\n") == 0)
            is_inside = false;
        if (!is_inside)
            (void)fputs(line, stdout);
        for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
            if (strcmp(line, sections[i].mark) == 0) {
                sections[i].print();
                is_inside = true;
                n++;
            }
        }
    }
    return is_inside ? -1 : n;
}

int main(int argc, char **argv)
{
    FILE *in = argc == 2 ? fopen(argv[1], "r") : NULL;
    int n = 0;

    if (!in) {
        (void)fprintf(stderr, "usage: spec_tables FILE\n");
        return 2;
    }
    n = document_print(in);
    (void)fclose(in);
    if (n != (int)ARRAY_LEN(sections)) {
        (void)fprintf(stderr,
                      "spec_tables: %s has not all marks of the %zu tables, each with its end\n",
                      argv[1], ARRAY_LEN(sections));
        return 1;
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
