/* shap.c - from a family's trees to SHAP values.
 *
 * For each tree a plan is made: its nodes in depth-first order, the share of rows that each column
 * of a path lets through, and tables over the points of the quadrature. Blocks of rows then go
 * through the kernel (ml/cpu/shap.h). A plan is made once per tree and call, so many rows in one
 * call are cheaper than one by one; the values do not depend on that. Called by the explain
 * functions of the families. */
#include "ml/model/shap.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/cpu/shap.h"

#include <string.h>

/* A path of 512 different columns would need 256 points to be exact. From 128 points on, what is
 * left out is below 1e-27 of the integral, because the Legendre coefficients of t^n fall like
 * exp(-k^2 / 2n). PHI_WORDS bounds the scratch to 32 MiB. */
enum { MOST_POINTS = 128, MOST_COLUMNS = 512, PHI_WORDS = 1 << 22 };

/* ---- quadrature ---- */

/* P_n(x) and its derivative, by the three-term recurrence. */
static double legendre(int n, double x, double *slope)
{
    double before = 1.0, p = x;

    for (int k = 2; k <= n; k++) {
        double next = ((2 * k - 1) * x * p - (k - 1) * before) / k;
        before = p;
        p = next;
    }
    *slope = n * (x * p - before) / (x * x - 1.0);
    return p;
}

/* A root of P_n that is not found yet, starting at x: Newton's method on P_n divided by the roots
 * found so far (Maehly 1954), then on P_n itself to remove the rounding of the division. */
static double next_root(int n, double x, const double *found, int n_found)
{
    double slope = 1.0;

    for (int turn = 0; turn < 100; turn++) {
        double p = legendre(n, x, &slope), others = 0.0;
        for (int j = 0; j < n_found; j++)
            others += 1.0 / (x - found[j]);
        double step = p / (slope - p * others);
        x -= step;
        if (step < 1e-10 && step > -1e-10)
            break;
    }
    for (int turn = 0; turn < 3; turn++) {
        double p = legendre(n, x, &slope);
        x -= p / slope;
    }
    return x;
}

void shap_quadrature(int points, double *t, double *weight)
{
    /* ascending; the roots are not found in that order */
    double root[MOST_POINTS] = { 0 }, slope = 1.0;

    CHECK(points >= 1 && points <= MOST_POINTS);
    for (int i = 0; i < points && points > 1; i++) {
        double x = next_root(points, i ? root[0] - 1e-9 : 1.0 - 1e-9, root, i);
        int at = i;
        for (; at > 0 && root[at - 1] > x; at--)
            root[at] = root[at - 1];
        root[at] = x;
    }
    for (int i = 0; i < points; i++) {
        legendre(points, root[i], &slope);
        t[i] = 0.5 + 0.5 * root[i];
        weight[i] = points > 1 ? 1.0 / ((1.0 - root[i] * root[i]) * slope * slope) : 1.0;
    }
}

/* ---- the plan of a tree ---- */

struct planner {
    struct shap_plan plan;
    int nodes_cap;
    struct shap_step *steps;
    /* by step: the share of rows that pass all splits of the path on the step's column */
    double *z;
    /* by step: the step of the path before it on the same column; -1 = none */
    int *before;
    /* nodes to come, each with its level */
    int *stack;
    /* by level: the step there */
    int *up;
    /* by level: different columns of the path so far */
    int *distinct;
    /* [cols] level of the path's last split on the column; 0 = none */
    int *last;
    int depth, most_distinct;
    double *tables, *stay, *leave, *pull;
    int64_t words_cap;
    /* the number of points that the arrays below are for */
    int known_points;
    double point[MOST_POINTS], push[MOST_POINTS], weight[MOST_POINTS];
};

static void planner_fini(struct planner *p)
{
    mem_try_free(p->steps);
    mem_try_free(p->tables);
    mem_try_free(p->last);
}

static int no_memory(const struct shap_tree *t, struct err *err)
{
    return err_set(err, ERR_NOMEM, "no memory to explain a tree of %d nodes", t->n_nodes);
}

/* Room for the steps of a tree: one block, divided among the arrays. */
static int planner_reserve(struct planner *p, const struct shap_tree *t, struct err *err)
{
    size_t n = (size_t)t->n_nodes + 1;

    if (p->steps && t->n_nodes <= p->nodes_cap)
        return 0;
    mem_try_free(p->steps);
    p->nodes_cap = 0;
    p->steps = mem_try_alloc(n * (sizeof *p->steps + sizeof *p->z + 5 * sizeof *p->stack));
    if (!p->steps)
        return no_memory(t, err);
    p->z = (double *)(p->steps + n);
    p->stack = (int *)(p->z + n);
    p->before = p->stack + 2 * n;
    p->up = p->before + n;
    p->distinct = p->up + n;
    p->nodes_cap = t->n_nodes;
    return 0;
}

/* Adds one step. The path above it is in up[], last[] and distinct[]. */
static void step_add(struct planner *p, const struct shap_tree *t, int node, int parent, int level)
{
    const struct shap_node *split = &t->nodes[parent];
    int at = p->plan.n_steps++, prev = p->last[split->col];

    double share = (double)t->nodes[node].rows / split->rows;

    p->before[at] = prev ? p->up[prev] : -1;
    p->z[at] = prev ? share * p->z[p->up[prev]] : share;
    p->steps[at] = (struct shap_step){ .level = level,
                                       .prev = prev,
                                       .node = node,
                                       .set = split->set,
                                       .col = split->col,
                                       .bin = split->bin,
                                       .add = split->add,
                                       .is_right = node != split->left,
                                       .is_leaf = !t->nodes[node].left,
                                       .keep = share };
    p->up[level] = at;
    p->last[split->col] = level;
    p->distinct[level] = (level > 1 ? p->distinct[level - 1] : 0) + !prev;
    p->most_distinct = MAX(p->most_distinct, p->distinct[level]);
    p->depth = MAX(p->depth, level);
}

static void path_cut(struct planner *p, int *level, int to)
{
    for (; *level > to; (*level)--)
        p->last[p->steps[p->up[*level]].col] = p->steps[p->up[*level]].prev;
}

static void push_kids(struct planner *p, const struct shap_node *nd, int level, int *top)
{
    for (int side = 1; side >= 0 && nd->left; side--) {
        p->stack[(*top)++] = nd->left + side;
        p->stack[(*top)++] = level;
    }
}

static void steps_make(struct planner *p, const struct shap_tree *t)
{
    int top = 0, level = 0;

    p->plan.n_steps = p->depth = p->most_distinct = 0;
    push_kids(p, &t->nodes[0], 1, &top);
    while (top > 0) {
        int to = p->stack[--top], node = p->stack[--top];
        path_cut(p, &level, to - 1);
        step_add(p, t, node, to > 1 ? p->steps[p->up[to - 1]].node : 0, to);
        level = to;
        push_kids(p, &t->nodes[node], to + 1, &top);
    }
    path_cut(p, &level, 0);
}

/* Divides one block of memory among the scratch and the tables of a tree. */
static int tables_reserve(struct planner *p, const struct shap_tree *t, struct err *err)
{
    int64_t q = p->plan.points, n = p->plan.n_steps, levels = p->depth + 1;
    int64_t words = 3 * n * q + 2 * levels * (q + 1) * SHAP_ROWS;

    if (words > p->words_cap) {
        mem_try_free(p->tables);
        p->tables = mem_try_alloc((size_t)words * sizeof *p->tables);
        p->words_cap = p->tables ? words : 0;
        if (!p->tables)
            return no_memory(t, err);
    }
    double *next = p->tables;
    p->plan.path = next;
    p->plan.sum = next += levels * q * SHAP_ROWS;
    p->plan.on = (int64_t *)(next += levels * q * SHAP_ROWS);
    p->plan.right = (int64_t *)(next += levels * SHAP_ROWS);
    p->stay = next += levels * SHAP_ROWS;
    p->leave = next += n * q;
    p->pull = next + n * q;
    return 0;
}

static void tables_make(struct planner *p)
{
    int points = p->plan.points;

    if (points != p->known_points)
        shap_quadrature(points, p->point, p->weight);
    p->known_points = points;
    for (int q = 0; q < points; q++)
        p->push[q] = -1.0 / (1.0 - p->point[q]);
    for (int i = 0; i < p->plan.n_steps; i++) {
        double z = p->z[i], z_before = p->before[i] < 0 ? 1.0 : p->z[p->before[i]];
        int64_t at = (int64_t)i * points;
        for (int q = 0; q < points; q++) {
            double t = p->point[q], in = z + t * (1.0 - z), was = z_before + t * (1.0 - z_before);
            p->stay[at + q] = in / was;
            p->leave[at + q] = z * (1.0 - t) / was;
            p->pull[at + q] = (1.0 - z) / in;
        }
    }
    p->plan.steps = p->steps;
    p->plan.stay = p->stay;
    p->plan.leave = p->leave;
    p->plan.pull = p->pull;
    p->plan.push = p->push;
    p->plan.weight = p->weight;
    p->plan.at = p->up;
}

static int planner_take(struct planner *p, const struct shap_tree *t, struct err *err)
{
    for (int i = 0; i < t->n_nodes && t->n_nodes > 1; i++) {
        if (t->nodes[i].rows < 1)
            return err_set(err, ERR_CONFLICT,
                           "the model was saved by a version that did not count the rows of a "
                           "tree's nodes: train it anew to explain its rows");
    }
    if (planner_reserve(p, t, err) < 0)
        return -1;
    steps_make(p, t);
    if (p->most_distinct > MOST_COLUMNS)
        return err_set(err, ERR_TOOBIG, "a path of a tree asks %d columns; explained are up to %d",
                       p->most_distinct, MOST_COLUMNS);
    p->plan.points = MAX(1, MIN((p->most_distinct + 1) / 2, MOST_POINTS));
    p->plan.sets = t->sets;
    if (tables_reserve(p, t, err) < 0)
        return -1;
    tables_make(p);
    return 0;
}

/* ---- rows ---- */

/* The mean value of the tree over the training rows that reached its leaves. */
static double tree_mean(const struct shap_tree *t, int k)
{
    double sum = 0.0;

    if (t->n_nodes == 1)
        return (double)t->values[k];
    for (int i = 0; i < t->n_nodes; i++) {
        if (!t->nodes[i].left)
            sum += (double)t->values[(int64_t)i * t->n_outputs + k] * t->nodes[i].rows;
    }
    return sum / t->nodes[0].rows;
}

/* A chunk of rows in the order of the outputs that are explained, so that a block of rows needs few
 * trees. */
struct chunk {
    struct prep_bins b;
    const int *of;
    /* place in that order to row */
    int64_t *order;
    /* [outputs + 1] place of an output's first row */
    int64_t *first;
    double *phi;  /* [blocks][cols][SHAP_ROWS] */
    double *mean; /* [outputs] */
};

static void chunk_sort(struct chunk *c, const struct shap_trees *trees)
{
    memset(c->first, 0, ((size_t)trees->outputs + 1) * sizeof *c->first);
    for (int64_t i = 0; i < c->b.rows; i++)
        c->first[c->of[i] + 1]++;
    for (int k = 0; k < trees->outputs; k++)
        c->first[k + 1] += c->first[k];
    for (int64_t i = 0; i < c->b.rows; i++) /* first[k] is where k's next row goes ... */
        c->order[c->first[c->of[i]]++] = i;
    for (int k = trees->outputs; k > 0; k--) /* ... and ends where k + 1 began */
        c->first[k] = c->first[k - 1];
    c->first[0] = 0;
}

static void tree_rows(const struct planner *p, const struct shap_trees *trees,
                      const struct shap_tree *t, const struct chunk *c)
{
    int64_t to = c->first[t->output + t->n_outputs];
    int64_t from = c->first[t->output] / SHAP_ROWS * SHAP_ROWS;

    for (; from < to; from += SHAP_ROWS) {
        struct shap_values v = { .values = t->values, .pitch = t->n_outputs };
        const uint8_t *x[SHAP_ROWS];
        /* places behind the last row repeat it; of = -1 keeps them out */
        for (int r = 0; r < SHAP_ROWS; r++) {
            int64_t row = c->order[MIN(from + r, c->b.rows - 1)];
            int of = c->of[row] - t->output;
            x[r] = c->b.bins + row * c->b.stride;
            v.of[r] = from + r < c->b.rows && of >= 0 && of < t->n_outputs ? of : -1;
        }
        shap_block(&p->plan, &v, x, c->phi + from * trees->cols);
    }
}

static void rows_out(const struct shap_trees *trees, const struct chunk *c, double *out)
{
    for (int64_t at = 0; at < c->b.rows; at++) {
        const double *from = c->phi + at / SHAP_ROWS * SHAP_ROWS * trees->cols + at % SHAP_ROWS;
        int k = c->of[c->order[at]];
        double *to = out + c->order[at] * ((int64_t)trees->cols + 1);
        for (int i = 0; i < trees->cols; i++, from += SHAP_ROWS)
            *to++ = trees->scale * *from;
        *to = trees->base[k] + trees->scale * c->mean[k];
    }
}

/* Takes every tree in turn over all blocks of the chunk. */
static int chunk_rows(struct planner *p, const struct shap_trees *trees, const struct chunk *c,
                      struct err *err)
{
    int64_t blocks = (c->b.rows + SHAP_ROWS - 1) / SHAP_ROWS;

    memset(c->phi, 0, (size_t)(blocks * trees->cols * SHAP_ROWS) * sizeof *c->phi);
    memset(c->mean, 0, (size_t)trees->outputs * sizeof *c->mean);
    for (int i = 0; i < trees->n_trees; i++) {
        struct shap_tree t = { 0 };
        if (trees->tree(trees->ctx, i, &t, err) < 0)
            return -1;
        for (int k = 0; k < t.n_outputs; k++)
            c->mean[t.output + k] += tree_mean(&t, k);
        if (t.n_nodes == 1 || c->first[t.output] == c->first[t.output + t.n_outputs])
            continue;
        if (planner_take(p, &t, err) < 0)
            return -1;
        tree_rows(p, trees, &t, c);
    }
    return 0;
}

static int chunks_run(struct planner *p, const struct shap_trees *trees,
                      const struct explain_rows *rows, int64_t most, struct chunk *c, double *out,
                      struct err *err)
{
    for (int64_t at = 0; at < rows->n; at += most) {
        if (prep_bins_make(rows->v, rows->from + at, MIN(most, rows->n - at), &c->b, err) < 0)
            return -1;
        c->of = rows->of + at;
        chunk_sort(c, trees);
        int rc = chunk_rows(p, trees, c, err);
        if (rc == 0)
            rows_out(trees, c, out + at * ((int64_t)trees->cols + 1));
        prep_bins_fini(&c->b);
        if (rc < 0)
            return -1;
    }
    return 0;
}

int shap_rows(const struct shap_trees *trees, const struct explain_rows *rows, double *out,
              struct err *err)
{
    struct planner p = { 0 };
    struct chunk c = { 0 };
    int64_t per_block = (int64_t)trees->cols * SHAP_ROWS;
    int64_t blocks = MAX(1, MIN(PHI_WORDS / per_block, (rows->n + SHAP_ROWS - 1) / SHAP_ROWS));
    int rc = -1;

    c.phi = mem_try_alloc((size_t)(blocks * per_block) * sizeof *c.phi);
    c.order = mem_try_alloc((size_t)(blocks * SHAP_ROWS) * sizeof *c.order);
    c.first = mem_array((size_t)trees->outputs + 1, sizeof *c.first);
    c.mean = mem_array((size_t)trees->outputs, sizeof *c.mean);
    p.last = mem_try_zalloc((size_t)trees->cols * sizeof *p.last);
    if (c.phi && c.order && p.last)
        rc = chunks_run(&p, trees, rows, blocks * SHAP_ROWS, &c, out, err);
    else
        err_set(err, ERR_NOMEM, "no memory to explain rows of %d columns", trees->cols);
    planner_fini(&p);
    mem_try_free(c.phi);
    mem_try_free(c.order);
    mem_free(c.first);
    mem_free(c.mean);
    return rc;
}
