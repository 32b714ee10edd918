/* linear_l1_sets.c - the weights that may change at a point of a path (linear_l1.h), and the matrices
 * of their curvature. Sets are in the order of outputs and columns, so that they are the same however
 * they came to be. Called by linear_l1_path.c. */
#include "ml/linear/linear_l1.h"

#include "base/base.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

enum {
    /* weights of a set; and bytes of the matrices of all sets */
    MOST_COLUMNS = 1024,
    MOST_BYTES = 64 << 20,
    /* weights of several classes that make one set: a wider one costs more than its iterations save */
    MOST_JOINT = 512,
    /* With a Gram matrix all columns may change from this part of them on: they cost little more, and
     * none is missed. */
    MANY = 4
};
/* A point is good enough when it is proved to be within this share of its objective of the best. The
 * second one is aimed at where classes have sets of their own, because their steps near the end
 * slowly. */
#define TOLERANCE       1e-6
#define LOOSE_TOLERANCE 1e-4
double l1_tolerance(const struct l1_fit *f)
{
    return f->n_sets > 1 ? LOOSE_TOLERANCE : TOLERANCE;
}

static void set_fini(struct l1_set *s)
{
    mem_try_free(s->hess);
    mem_free(s->col);
    mem_free(s->output);
    mem_free(s->at);
    mem_free(s->missing);
    mem_free(s->step);
    *s = (struct l1_set){ 0 };
}

void l1_sets_free(struct l1_fit *f)
{
    for (int k = 0; f->set && k < f->outputs; k++)
        set_fini(&f->set[k]);
    mem_free(f->set);
}

static int most_columns(const struct l1_fit *f)
{
    int most = (int)sqrt((double)MOST_BYTES / (8.0 * f->n_sets));

    return MIN(most, MOST_COLUMNS) / 8 * 8;
}

/* Copies the curvature of the pairs that were in the set before, if it serves, from hess, and lists
 * the others. */
static void hess_move(const struct l1_set *old, const double *hess, struct l1_set *s)
{
    int *was = mem_alloc((size_t)s->n * sizeof *was);

    s->n_missing = 0;
    for (int i = 0, o = 0; i < s->n; i++) {
        /* after the intercept both lists ascend */
        while (i > 0 && o < old->n && (o == 0 || old->col[o] < s->col[i]))
            o++;
        was[i] = hess && o < old->n && old->col[o] == s->col[i] ? o : -1;
        if (was[i] < 0)
            s->missing[s->n_missing++] = i;
    }
    for (int i = 0; i < s->n; i++) {
        for (int j = 0; hess && was[i] >= 0 && j < s->n; j++) {
            if (was[j] >= 0)
                s->hess[(int64_t)i * s->room + j] = hess[(int64_t)was[i] * old->room + was[j]];
        }
    }
    mem_free(was);
}

static void set_put(struct l1_set *s, const struct l1_fit *f, int col, int output)
{
    s->col[s->n] = col;
    s->output[s->n] = output;
    s->at[s->n++] = col * f->lanes + output;
}

/* Room for the matrix. Copies from the Gram matrix go where the set before had them, because fresh
 * pages cost more than the copy. */
static void hess_take(struct l1_fit *f, struct l1_set *old, struct l1_set *s)
{
    int64_t need = (int64_t)s->room * s->room, all = (int64_t)(f->cols + 8) * (f->cols + 8);

    s->hess_room = need;
    if (f->gram)
        s->hess_room = old->hess_room >= need ? old->hess_room : MAX(need, MIN(need * 3 / 2, all));
    else if (f->p)
        s->hess_room = MAX(need, old->hess_room);
    f->bytes += (s->hess_room - old->hess_room) * (int64_t)sizeof *s->hess;
    if (s->hess_room == old->hess_room && (f->gram || f->p)) {
        s->hess = old->hess;
        old->hess = NULL;
        return;
    }
    s->hess = mem_try_zalloc((size_t)s->hess_room * sizeof *s->hess);
}

/* Makes a set of the weights of outputs first to end - 1 that are in, and their intercepts: n of
 * them. The curvature of squared losses stays what it was. */
static int set_make(struct l1_fit *f, struct l1_set *s, int first, int end, int n, struct err *err)
{
    struct l1_set old = *s;
    size_t room = (size_t)(n + 7) / 8 * 8;

    *s = (struct l1_set){ .room = (int)room };
    hess_take(f, &old, s);
    s->col = mem_array(room, sizeof *s->col);
    s->output = mem_array(room, sizeof *s->output);
    s->at = mem_array(room, sizeof *s->at);
    s->missing = mem_array(room, sizeof *s->missing);
    s->step = mem_array(room, sizeof *s->step);
    for (int k = first; k < end; k++) {
        set_put(s, f, f->cols, k);
        for (int j = 0; j < f->cols; j++) {
            if (f->is_in[(int64_t)j * f->lanes + k])
                set_put(s, f, j, k);
        }
    }
    if (s->hess)
        hess_move(&old, f->p || f->gram ? NULL : old.hess, s);
    if (f->gram && !old.hess && old.n == s->n && s->n == f->cols + 1)
        s->n_missing = 0; /* the copy of the whole matrix is still there */
    set_fini(&old);
    return s->hess ? 0 : err_set(err, ERR_NOMEM, "linear: no memory for %d columns", n);
}

/* Makes the sets of all weights that are in. 1 = done, 0 = these are too many, -1 = no memory. */
static int sets_make(struct l1_fit *f, struct err *err)
{
    int64_t all = f->outputs;
    int most = 0;

    for (int64_t i = 0; i < (int64_t)f->cols * f->lanes; i++)
        all += f->is_in[i];
    f->n_sets = f->outputs == 1 || all <= MOST_JOINT ? 1 : f->outputs;
    most = most_columns(f);
    for (int k = 0; k < f->n_sets; k++) {
        int64_t n = all;
        for (int64_t i = k; f->n_sets > 1 && i < (int64_t)f->cols * f->lanes; i += f->lanes)
            n = (i == k ? 1 : n) + f->is_in[i];
        if (n > most)
            return 0;
        if (set_make(f, &f->set[k], k, f->n_sets > 1 ? k + 1 : f->outputs, (int)n, err) < 0)
            return -1;
    }
    return 1;
}

/* All losses but the squared one have another curvature at each point. */
void l1_curve_forget(struct l1_fit *f)
{
    for (int k = 0; f->p && k < f->n_sets; k++) {
        struct l1_set *s = &f->set[k];
        for (s->n_missing = 0; s->n_missing < s->n; s->n_missing++)
            s->missing[s->n_missing] = s->n_missing;
    }
}

/* Takes the weights whose gradient is at least `least`. fresh: and only those and the ones that are
 * not 0; else beside those that are in. Returns how many. */
static int64_t weights_take(struct l1_fit *f, double least, bool fresh)
{
    int64_t n = f->outputs;

    for (int64_t i = 0; i < (int64_t)f->cols * f->lanes; i++) {
        bool enters = fabs(f->g[i]) >= least && f->g[i] != 0;
        f->is_in[i] = enters || (fresh ? f->w[i] != 0 : f->is_in[i]);
        n += f->is_in[i];
    }
    if (!f->gram || f->is_relaxing || n < f->cols / MANY)
        return n;
    memset(f->is_in, 1, (size_t)f->cols);
    return f->cols + 1;
}

/* The same, and makes the sets. Where several classes would no longer fit one set, those weights are
 * left out that are 0 and have no reason to move. 1, 0 and -1 as sets_make. */
int l1_sets_take(struct l1_fit *f, double least, bool fresh, struct err *err)
{
    int64_t was = 0, n;

    for (int k = 0; k < f->n_sets; k++)
        was += f->set[k].n;
    n = weights_take(f, least, fresh);
    if (!fresh && n == was)
        return 1;
    if (f->outputs > 1 && n > MOST_JOINT && !f->is_relaxing)
        (void)weights_take(f, f->lambda * f->ratio * (1 + l1_tolerance(f) / 4), true);
    return sets_make(f, err);
}
