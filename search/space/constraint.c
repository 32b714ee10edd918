/* constraint.c - see constraint.h. The text becomes postfix code, which is run on a small stack. */
#include "search/space/constraint.h"

#include "base/mem.h"
#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { NUMBER, PARAM, ADD, SUBTRACT, MULTIPLY, DIVIDE, NEGATE, LE, LT, GE, GT, EQ, NE };
enum { DEPTH_MAX = 16, STACK = CONSTRAINT_TOKENS };

struct constraint {
    int n;
    struct token {
        enum kind kind;
        int param;
        double value;
    } code[CONSTRAINT_TOKENS];
};

struct parser {
    const struct space *s;
    const char *prefix, *text, *at;
    struct constraint *c;
    int depth;
};

static int wrong(const struct parser *p, const char *what, struct err *err)
{
    return err_set(err, ERR_ARG, "%s at \"%.30s\" in \"%.100s\"", what, *p->at ? p->at : "the end",
                   p->text);
}

static void skip(struct parser *p)
{
    p->at += strspn(p->at, " \t\r\n");
}

static int emit(struct parser *p, struct token t, struct err *err)
{
    if (p->c->n == CONSTRAINT_TOKENS)
        return wrong(p, "it is too long", err);
    p->c->code[p->c->n++] = t;
    return 0;
}

static bool is_number_word(const char *text)
{
    char *end = NULL;
    double v = strtod(text, &end);

    return end != text && *end == '\0' && isfinite(v);
}

static int name(struct parser *p, struct err *err)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.";
    bool is_quoted = *p->at == '`';
    const char *from = p->at + is_quoted;
    size_t n = is_quoted ? strcspn(from, "`") : strspn(from, plain);
    char full[SPACE_MAX_NAME + 8];

    if (is_quoted && from[n] != '`')
        return wrong(p, "a ` is missing", err);
    if (n == 0 || n + strlen(p->prefix) > SPACE_MAX_NAME)
        return wrong(p, "a number or the name of a parameter is missing", err);
    (void)snprintf(full, sizeof full, "%s%.*s", p->prefix, (int)n, from);
    int i = space_find(p->s, full);
    if (i < 0)
        return wrong(p, "there is no such parameter", err);
    for (int k = 0; k < p->s->params[i].n_choices; k++) {
        if (!is_number_word(p->s->params[i].choices[k]))
            return wrong(p, "this parameter has words for values, not numbers,", err);
    }
    p->at = from + n + is_quoted;
    return emit(p, (struct token){ .kind = PARAM, .param = i }, err);
}

static int sum(struct parser *p, struct err *err);

static int factor(struct parser *p, struct err *err)
{
    char *end = NULL;
    int rc = 0;

    skip(p);
    if (++p->depth > DEPTH_MAX)
        return wrong(p, "it is nested too deeply", err);
    if (*p->at == '-') {
        p->at++;
        rc = factor(p, err) < 0 ? -1 : emit(p, (struct token){ .kind = NEGATE }, err);
    } else if (*p->at == '(') {
        p->at++;
        rc = sum(p, err);
        skip(p);
        if (rc == 0 && *p->at++ != ')') {
            p->at--;
            rc = wrong(p, "a ) is missing", err);
        }
    } else if ((*p->at >= '0' && *p->at <= '9') || *p->at == '.') {
        double v = strtod(p->at, &end);
        if (end == p->at || !isfinite(v))
            return wrong(p, "this is no number", err);
        p->at = end;
        rc = emit(p, (struct token){ .kind = NUMBER, .value = v }, err);
    } else {
        rc = name(p, err);
    }
    p->depth--;
    return rc;
}

static int product(struct parser *p, struct err *err)
{
    int rc = factor(p, err);

    for (skip(p); rc == 0 && (*p->at == '*' || *p->at == '/'); skip(p)) {
        enum kind kind = *p->at++ == '*' ? MULTIPLY : DIVIDE;
        rc = factor(p, err) < 0 ? -1 : emit(p, (struct token){ .kind = kind }, err);
    }
    return rc;
}

static int sum(struct parser *p, struct err *err)
{
    int rc = product(p, err);

    for (skip(p); rc == 0 && (*p->at == '+' || *p->at == '-'); skip(p)) {
        enum kind kind = *p->at++ == '+' ? ADD : SUBTRACT;
        rc = product(p, err) < 0 ? -1 : emit(p, (struct token){ .kind = kind }, err);
    }
    return rc;
}

static int comparison(struct parser *p, struct err *err)
{
    static const struct {
        const char *text;
        enum kind kind;
    } signs[] = {
        { "<=", LE }, { ">=", GE }, { "==", EQ }, { "!=", NE }, { "<", LT }, { ">", GT }
    };
    size_t k = 0;

    if (sum(p, err) < 0)
        return -1;
    skip(p);
    while (k < ARRAY_LEN(signs) && !str_starts(p->at, signs[k].text))
        k++;
    if (k == ARRAY_LEN(signs))
        return wrong(p, "a comparison (<=, <, >=, >, ==, !=) is missing", err);
    p->at += strlen(signs[k].text);
    if (sum(p, err) < 0)
        return -1;
    skip(p);
    if (*p->at)
        return wrong(p, "one comparison is enough: the text goes on", err);
    return emit(p, (struct token){ .kind = signs[k].kind }, err);
}

int space_constrain(struct space *s, const char *prefix, const char *text, struct err *err)
{
    struct constraint c = { 0 };
    struct parser p = { .s = s, .prefix = prefix, .text = text, .at = text, .c = &c };

    if (s->n_constraints == CONSTRAINTS_MAX)
        return err_set(err, ERR_ARG, "there are more than %d constraints", CONSTRAINTS_MAX);
    if (comparison(&p, err) < 0)
        return -1;
    s->constraints =
        mem_resize(s->constraints, ((size_t)s->n_constraints + 1) * sizeof *s->constraints);
    s->constraints[s->n_constraints++] = c;
    return 0;
}

/* ---- asking ---- */

static double value_of(const struct param *p, double v)
{
    return p->n_choices > 0 && !isnan(v) ? strtod(p->choices[(int)v], NULL) : v;
}

static double apply(enum kind kind, double a, double b)
{
    switch (kind) {
    case ADD:
        return a + b;
    case SUBTRACT:
        return a - b;
    case MULTIPLY:
        return a * b;
    case DIVIDE:
        return b == 0 ? (double)NAN : a / b;
    case LE:
        return a <= b;
    case LT:
        return a < b;
    case GE:
        return a >= b;
    case GT:
        return a > b;
    case EQ:
        return a >= b && a <= b;
    default:
        return a < b || a > b;
    }
}

static bool holds(const struct space *s, const struct constraint *c, const double *point)
{
    double stack[STACK] = { 0 };
    int n = 0;

    for (int i = 0; i < c->n; i++) {
        const struct token *t = &c->code[i];

        if (t->kind == PARAM && isnan(point[t->param]))
            return true;
        if (t->kind == NUMBER || t->kind == PARAM)
            stack[n++] =
                t->kind == NUMBER ? t->value : value_of(&s->params[t->param], point[t->param]);
        else if (t->kind == NEGATE)
            stack[n - 1] = -stack[n - 1];
        else
            n--, stack[n - 1] = apply(t->kind, stack[n - 1], stack[n]);
    }
    CHECK(n == 1);
    return stack[0] > 0;
}

bool space_holds(const struct space *s, const double *point)
{
    for (int i = 0; i < s->n_constraints; i++) {
        if (!holds(s, &s->constraints[i], point))
            return false;
    }
    return true;
}
