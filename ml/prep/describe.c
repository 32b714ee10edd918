/* describe.c - what a preparation does, for people (describe.h). One pass over the columns: what is
 * said of a column is its key, and columns of equal keys are counted together. Called by
 * ml/model/pipeline.c. */
#include "ml/prep/describe.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "ml/prep/pair_screen.h"
#include "ml/prep/step.h"
#include "ml/table/json_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* SAYS: what may happen to one column. NAME: bytes of a name that are shown. */
enum { SAYS = 8, SAY = 200, NAME = 64, HALF = NAME / 2 - 1, DROPS = 8 };

struct say {
    char text[SAY];
    int64_t inputs;
};

/* What happens to a column, or to all columns of a group. */
struct group {
    const char *type;
    int64_t n, inputs, width;
    int n_says, n_names;
    struct say says[SAYS];
    char names[DESCRIBE_NAMES][NAME];
};

struct drop {
    const char *why;
    int64_t n;
    int n_names;
    char names[DESCRIBE_NAMES][NAME];
};

struct describing {
    const struct describe_in *in;
    int n_groups, n_drops;
    struct group *groups;
    struct drop drops[DROPS];
    /* [steps] inputs and dense columns of each step; its first input, which the others follow; the next
     * step on the same column, -1 = none */
    int *inputs, *width, *input, *next;
    /* [columns] the first step on the column alone; -1 = none */
    int *first;
};

/* The name, or as much of it as there is room for in `size` bytes. */
static void name_put(char *out, size_t size, const char *name)
{
    snprintf(out, size, "%.*s", (int)size - 1, name);
    utf8_clean(out, size);
}

static void say_add(struct group *g, int64_t inputs, const char *text)
{
    if (g->n_says == SAYS)
        return;
    struct say *s = &g->says[g->n_says++];
    snprintf(s->text, sizeof s->text, "%s", text);
    utf8_clean(s->text, sizeof s->text);
    s->inputs = inputs;
}

/* ---- one column ---- */

static const char *scale_word(const struct prep_col *c)
{
    switch (c->scale) {
    case PREP_LOG:
        return "tails by their logarithm, standardised";
    case PREP_ROBUST:
        return "scaled by the spread of the middle, drawn in beyond it";
    case PREP_RANKS:
        return "rank among the training rows, as a logit";
    default:
        return "standardised";
    }
}

static void say_missing(const struct describing *d, const struct prep_col *c, struct group *g)
{
    static const char *const words[] = { NULL, "missing values become the median",
                                         "missing values become the mean",
                                         "missing values become the lowest value" };
    int choice = d->in->choice ? d->in->choice->of[PREP_OF_MISSING] : MISSING_AUTO, at = -1;
    const struct prep_source *source = &d->in->prep->sources[c->source];

    if (c->has_missing)
        say_add(g, 0, "missing values become the median, with an indicator");
    if (choice == MISSING_AUTO || !d->in->frame)
        return;
    at = frame_find(d->in->frame, source->name);
    if (at >= 0 && (d->in->frame->cols[at].missing > 0 || source->gap))
        say_add(g, 0, words[choice]);
}

static void say_gap(const struct describing *d, const struct prep_gap *g, struct group *to)
{
    char text[SAY], name[NAME], more[24] = "";

    snprintf(text, sizeof text, "%.10g is read as missing", g->blank);
    if (!isnan(g->blank))
        say_add(to, 0, text);
    if (g->n_from == 0)
        return;
    name_put(name, NAME, d->in->prep->sources[g->from[0].source].name);
    if (g->n_from > 1)
        snprintf(more, sizeof more, " and %d more", g->n_from - 1);
    snprintf(text, sizeof text, "missing values are told by \"%s\"%s where possible", name, more);
    say_add(to, 0, text);
}

static void say_number(const struct describing *d, const struct prep_col *c, struct group *g)
{
    if (d->in->prep->sources[c->source].gap)
        say_gap(d, d->in->prep->sources[c->source].gap, g);
    if (c->scale == PREP_MAGNITUDE)
        say_add(g, 0, "sign and logarithm of its size");
    if (d->in->form == DESCRIBE_DENSE) {
        say_missing(d, c, g);
        say_add(g, 1, scale_word(c));
    } else if (d->in->form == DESCRIBE_BINS) {
        say_add(g, 1, "in bins, missing values in one of their own");
    } else {
        say_add(g, 1, "as it is");
    }
}

static void say_levels(const struct describing *d, const struct prep_col *c, struct group *g)
{
    bool is_hidden = c->n_bins == 1 && c->n_hot == 0 && !c->has_other;

    if (is_hidden)
        say_add(g, 1, "not used as it is");
    else if (d->in->form == DESCRIBE_DENSE)
        say_add(g, 1,
                c->has_other ? "one-hot, its rare levels together"
                             : "one-hot: a column for each level");
    else
        say_add(g, 1,
                c->n_bins < c->n_levels ? "its frequent levels as they are, the others together"
                                        : "its levels as they are");
}

/* The parts of a date that are inputs: "year, month". */
static void say_parts(const struct describing *d, int step, struct group *g)
{
    const struct prep *p = d->in->prep;
    char text[SAY] = "", part[STEP_NAME];
    size_t n = 0;

    for (int i = d->input[step]; p->cols && i < p->n_cols && p->cols[i].step == step; i++) {
        p->steps[step].ops->part_name(&p->steps[step], p->cols[i].part, part);
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n > 0 ? ", " : "parts: ", part);
        if (n >= sizeof text)
            break;
    }
    say_add(g, d->inputs[step], text);
}

/* "part 1 of the code: mean of the target, and how often it occurs" */
static void say_code(const struct describing *d, int step, struct group *g)
{
    const struct prep_step *s = &d->in->prep->steps[step];
    char part[STEP_NAME], text[SAY];

    s->ops->part_name(s, 0, part);
    part[strcspn(part, ":")] = '\0';
    snprintf(text, sizeof text, "%.100s of the code: mean of the target, and how often it occurs",
             part);
    say_add(g, d->inputs[step], text);
}

static void say_step(const struct describing *d, int step, struct group *g)
{
    const struct prep *p = d->in->prep;
    const struct prep_step *s = &p->steps[step];
    bool is_list = p->sources[s->source[0]].kind == FRAME_LIST;

    if (s->ops == &step_levels)
        say_add(g, d->inputs[step], "mean of the target for each level, and how often it occurs");
    else if (s->ops == &step_codes)
        say_add(g, d->inputs[step], "read as names: mean of the target, and how often each occurs");
    else if (s->ops == &step_text)
        say_add(g, d->inputs[step], "topics, length and shape of the text");
    else if (s->ops == &step_words)
        say_add(g, d->inputs[step],
                is_list ? "what its items say of the target" : "what its words say of the target");
    else if (s->ops == &step_parts)
        say_code(d, step, g);
    else if (s->ops == &step_figures)
        say_add(g, d->inputs[step], "the numbers in its texts");
    else if (s->ops == &step_items)
        say_add(g, d->inputs[step], "counts of its items");
    else
        say_parts(d, step, g);
    g->inputs += d->inputs[step];
    g->width += d->width[step];
}

static const char *type_of(const struct prep *p, const struct prep_source *s)
{
    static const char *const kinds[] = { NULL, "date", "text", "list" };

    if (p->image.height > 0 && s->type == FRAME_NUMERIC)
        return "pixel";
    if (s->kind != FRAME_PLAIN)
        return kinds[s->kind];
    if (s->type == FRAME_CATEGORICAL)
        return "category";
    return s->input >= 0 && p->cols[s->input].type == FRAME_CATEGORICAL ? "code" : "number";
}

static void column_take(const struct describing *d, int at, struct group *g)
{
    const struct prep *p = d->in->prep;
    const struct prep_source *s = &p->sources[at];
    const struct prep_col *c = s->input >= 0 ? &p->cols[s->input] : NULL;

    *g = (struct group){ .type = type_of(p, s), .n = 1, .n_names = 1 };
    name_put(g->names[0], NAME, s->name);
    if (c) {
        g->inputs = 1;
        g->width = c->dense_n;
        if (c->type == FRAME_NUMERIC)
            say_number(d, c, g);
        else
            say_levels(d, c, g);
    }
    for (int k = d->first[at]; k >= 0; k = d->next[k])
        say_step(d, k, g);
}

/* A step on several columns that is no pair. */
static void together_take(const struct describing *d, int step, struct group *g)
{
    const struct prep *p = d->in->prep;
    const struct prep_step *s = &p->steps[step];

    *g = (struct group){ .type = "together", .n = s->n_sources };
    for (int k = 0; k < s->n_sources && g->n_names < DESCRIBE_NAMES; k++)
        name_put(g->names[g->n_names++], NAME, p->sources[s->source[k]].name);
    say_add(g, d->inputs[step],
            s->ops == &step_effects ? "effects of their levels, fitted together"
                                    : "directions in which they vary together");
    g->inputs = d->inputs[step];
    g->width = d->width[step];
}

static void pair_take(const struct describing *d, int step, struct group *g)
{
    const struct prep *p = d->in->prep;
    const struct prep_step *s = &p->steps[step];
    char part[STEP_NAME], first[HALF], second[HALF];

    *g = (struct group){ .type = "pair", .n = 1, .n_names = 1 };
    name_put(first, HALF, p->sources[s->source[0]].name);
    name_put(second, HALF, p->sources[s->source[1]].name);
    snprintf(g->names[0], NAME, "%s, %s", first, second);
    s->ops->part_name(s, 0, part);
    say_add(g, d->inputs[step], part);
    g->inputs = d->inputs[step];
    g->width = d->width[step];
}

/* ---- groups ---- */

static bool is_same(const struct group *a, const struct group *b)
{
    if (strcmp(a->type, b->type) != 0 || a->n_says != b->n_says)
        return false;
    for (int i = 0; i < a->n_says; i++) {
        if (strcmp(a->says[i].text, b->says[i].text) != 0)
            return false;
    }
    return true;
}

static void group_add(struct describing *d, struct group *g)
{
    int at = 0;

    while (at < d->n_groups && !is_same(&d->groups[at], g))
        at++;
    if (at >= DESCRIBE_GROUPS - 1) {
        /* the last one takes what is left, and says nothing of it */
        at = DESCRIBE_GROUPS - 1;
        g->type = "other";
        g->n_says = 0;
    }
    if (at == d->n_groups) {
        d->groups[d->n_groups++] = *g;
        return;
    }
    struct group *to = &d->groups[at];
    to->n += g->n;
    to->inputs += g->inputs;
    to->width += g->width;
    for (int i = 0; i < g->n_says; i++)
        to->says[i].inputs += g->says[i].inputs;
    if (to->n_names < DESCRIBE_NAMES)
        memcpy(to->names[to->n_names++], g->names[0], NAME);
}

static void groups_take(struct describing *d)
{
    const struct prep *p = d->in->prep;
    struct group *g = mem_alloc(sizeof *g);

    for (int c = 0; c < p->n_sources; c++) {
        column_take(d, c, g);
        if (g->inputs > 0)
            group_add(d, g);
    }
    for (int s = 0; s < p->n_steps; s++) {
        if (p->steps[s].n_sources < 2)
            continue;
        if (p->steps[s].n_sources > 2 || p->steps[s].ops == &step_effects)
            together_take(d, s, g);
        else
            pair_take(d, s, g);
        group_add(d, g);
    }
    mem_free(g);
}

/* Which steps each column has, and how many inputs each step. */
static void steps_take(struct describing *d)
{
    const struct prep *p = d->in->prep;

    d->inputs = mem_array((size_t)p->n_steps + 1, sizeof *d->inputs);
    d->width = mem_array((size_t)p->n_steps + 1, sizeof *d->width);
    d->input = mem_array((size_t)p->n_steps + 1, sizeof *d->input);
    d->next = mem_array((size_t)p->n_steps + 1, sizeof *d->next);
    d->first = mem_array((size_t)p->n_sources + 1, sizeof *d->first);
    for (int c = 0; c < p->n_sources; c++)
        d->first[c] = -1;
    for (int i = 0; i < p->n_cols; i++) {
        if (p->cols[i].step < 0)
            continue;
        if (d->inputs[p->cols[i].step]++ == 0)
            d->input[p->cols[i].step] = i;
        d->width[p->cols[i].step] += p->cols[i].dense_n;
    }
    for (int s = p->n_steps - 1; s >= 0; s--) {
        if (p->steps[s].n_sources > 1)
            continue;
        d->next[s] = d->first[p->steps[s].source[0]];
        d->first[p->steps[s].source[0]] = s;
    }
}

/* ---- what is dropped ---- */

static const char *why_dropped(const struct describe_in *in, int at)
{
    const struct frame_col *c = &in->frame->cols[at];

    for (int k = 0; in->skip && in->skip[k]; k++) {
        if (strcmp(in->skip[k], c->name) == 0)
            return k == 0 ? "the target" : "says how rows are used";
    }
    if (c->type == FRAME_IGNORED)
        return "left out when the table was read";
    if (c->missing == in->frame->rows)
        return "has no values";
    if (c->type == FRAME_NUMERIC)
        return "the same value in all training rows";
    return c->n_levels < 2 ? "the same value in all training rows"
                           : "tells nothing: its values hardly repeat";
}

static void drop_add(struct describing *d, const char *why, const char *name)
{
    int at = 0;

    while (at < d->n_drops && strcmp(d->drops[at].why, why) != 0)
        at++;
    if (at == DROPS)
        return;
    struct drop *to = &d->drops[at];
    if (at == d->n_drops) {
        to->why = why;
        d->n_drops++;
    }
    to->n++;
    if (to->n_names < DESCRIBE_NAMES)
        name_put(to->names[to->n_names++], NAME, name);
}

/* Sources stand in the order of the frame but for those that only steps have, at the end. */
static void drops_take(struct describing *d)
{
    const struct prep *p = d->in->prep;
    const struct frame *f = d->in->frame;
    uint8_t *used = f ? mem_array((size_t)f->n_cols + 1, 1) : NULL;

    for (int c = 0, at = 0; f && c < p->n_sources; c++) {
        while (at < f->n_cols && strcmp(f->cols[at].name, p->sources[c].name) != 0)
            at++;
        if (at == f->n_cols)
            at = frame_find(f, p->sources[c].name);
        at = at < 0 ? 0 : at;
        used[at] = strcmp(f->cols[at].name, p->sources[c].name) == 0;
    }
    for (int i = 0; f && i < f->n_cols; i++) {
        if (!used[i])
            drop_add(d, why_dropped(d->in, i), f->cols[i].name);
    }
    mem_free(used);
}

/* ---- the text ---- */

static int put_names(struct buf *b, int64_t n, char (*names)[NAME], int n_names, struct err *err)
{
    if (buf_addf(b, err, ",\"n\":%lld,\"columns\":[", (long long)n) < 0)
        return -1;
    for (int i = 0; i < n_names; i++) {
        if ((i > 0 && buf_adds(b, ",", err) < 0) || json_text_str(b, names[i], err) < 0)
            return -1;
    }
    return buf_adds(b, "]", err);
}

static int put_group(const struct describing *d, struct group *g, struct buf *b, struct err *err)
{
    if (buf_addf(b, err, "{\"type\":\"%s\"", g->type) < 0 ||
        put_names(b, g->n, g->names, g->n_names, err) < 0 ||
        buf_addf(b, err, ",\"inputs\":%lld", (long long)g->inputs) < 0)
        return -1;
    if (d->in->form == DESCRIBE_DENSE &&
        buf_addf(b, err, ",\"width\":%lld", (long long)g->width) < 0)
        return -1;
    if (buf_adds(b, ",\"steps\":[", err) < 0)
        return -1;
    for (int i = 0; i < g->n_says; i++) {
        if (buf_adds(b, i > 0 ? ",{\"say\":" : "{\"say\":", err) < 0 ||
            json_text_str(b, g->says[i].text, err) < 0 ||
            buf_addf(b, err, ",\"inputs\":%lld}", (long long)g->says[i].inputs) < 0)
            return -1;
    }
    return buf_adds(b, "]}", err);
}

static int put_all(struct describing *d, struct buf *b, struct err *err)
{
    static const char *const forms[] = { "none", "bins", "dense", "images" };
    const struct prep *p = d->in->prep;

    if (buf_addf(b, err, "{\"form\":\"%s\",\"columns\":%d,\"inputs\":%d", forms[d->in->form],
                 p->n_sources, p->n_cols) < 0 ||
        (d->in->form == DESCRIBE_DENSE && buf_addf(b, err, ",\"width\":%d", p->width) < 0) ||
        buf_adds(b, ",\"groups\":[", err) < 0)
        return -1;
    for (int i = 0; i < d->n_groups; i++) {
        if ((i > 0 && buf_adds(b, ",", err) < 0) || put_group(d, &d->groups[i], b, err) < 0)
            return -1;
    }
    if (buf_adds(b, "],\"dropped\":[", err) < 0)
        return -1;
    for (int i = 0; i < d->n_drops; i++) {
        struct drop *k = &d->drops[i];
        if (buf_adds(b, i > 0 ? ",{\"why\":" : "{\"why\":", err) < 0 ||
            json_text_str(b, k->why, err) < 0 ||
            put_names(b, k->n, k->names, k->n_names, err) < 0 || buf_adds(b, "}", err) < 0)
            return -1;
    }
    return buf_adds(b, "]}", err);
}

int prep_describe(const struct describe_in *in, struct buf *out, struct err *err)
{
    struct describing *d = mem_zalloc(sizeof *d);

    d->in = in;
    d->groups = mem_array(DESCRIBE_GROUPS, sizeof *d->groups);
    steps_take(d);
    if (in->form != DESCRIBE_NONE)
        groups_take(d);
    drops_take(d);
    int rc = put_all(d, out, err);
    mem_free(d->groups);
    mem_free(d->inputs);
    mem_free(d->width);
    mem_free(d->input);
    mem_free(d->next);
    mem_free(d->first);
    mem_free(d);
    return rc;
}
