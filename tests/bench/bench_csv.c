/* bench_csv.c - how fast CSV becomes a frame on one core: a table of numbers, mostly whole ones (covertype repeated when
 * ../shared/datasets has it, else made alike), and a quoted file of mixed types with escapes, non-ASCII text and missing
 * values. Files of 400 MB are made in a folder of their own and removed. Each is read in a fresh process, so that the peak
 * of memory is its own; the best and the median of the rounds are printed, by processor time and by the clock.
 *   bench_csv [megabytes] [rounds]      exit 1 when memory is over 1.5 x the frame + 64 MiB */
#include "base/clk.h"
#include "base/gz.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/read/csv.h"
#include "ml/table/frame.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_ROUNDS = 32, BLOCK = 8 << 20 };

static void die(const char *what, const struct err *err)
{
    fprintf(stderr, "bench_csv: %s%s%s\n", what, err ? ": " : "", err ? err->text : "");
    exit(1);
}

/* ---- inputs ---- */

/* A header and rows, repeated until the file has the size. */
static void file_fill(const char *path, const char *header, const char *rows, size_t n,
                      int64_t bytes)
{
    FILE *f = fopen(path, "wb");
    int64_t put = (int64_t)strlen(header);

    if (!f || fputs(header, f) < 0)
        die("cannot write the input", NULL);
    for (; put < bytes; put += (int64_t)n) {
        if (fwrite(rows, 1, n, f) != n)
            die("cannot write the input", NULL);
    }
    if (fclose(f) != 0)
        die("cannot write the input", NULL);
}

/* Rows like covertype's: ten whole numbers, two categories, a class. */
static void rows_like_covertype(struct buf *b, struct rng *r)
{
    static const char *const areas[] = { "Rawah", "Comanche_Peak", "Cache_la_Poudre", "Neota" };

    for (int i = 0; i < 100000; i++) {
        if (buf_addf(b, NULL, "%u,%u,%u,%u,%d,%u,%u,%u,%u,%u,%s,C%u,%u\n",
                     1870 + rng_below(r, 2000), rng_below(r, 361), rng_below(r, 60),
                     rng_below(r, 1300), (int)rng_below(r, 700) - 150, rng_below(r, 7000),
                     rng_below(r, 255), rng_below(r, 255), rng_below(r, 255), rng_below(r, 7000),
                     areas[rng_below(r, 4)], 2700 + rng_below(r, 40), 1 + rng_below(r, 7)) < 0)
            die("no memory", NULL);
    }
}

static void make_numbers(const char *path, int64_t bytes)
{
    struct err err = { 0 };
    struct gz *g = gz_open("../shared/datasets/covertype_150k.csv.gz", NULL);
    struct buf b;
    struct rng r;

    buf_init(&b, 256 << 20);
    if (!g) {
        printf("numbers: no ../shared/datasets here, rows like covertype's are made\n");
        rng_init(&r, 1, 0);
        rows_like_covertype(&b, &r);
        file_fill(path, "c1,c2,c3,c4,c5,c6,c7,c8,c9,c10,area,soil,class\n", b.data, b.len, bytes);
        buf_fini(&b);
        return;
    }
    char *block = mem_alloc(BLOCK);
    for (long n; (n = gz_read(g, block, BLOCK, &err)) != 0;) {
        if (n < 0 || buf_add(&b, block, (size_t)n, &err) < 0)
            die("covertype", &err);
    }
    gz_close(g);
    char *rows = memchr(b.data, '\n', b.len), *header = block;
    size_t head = (size_t)(rows - b.data) + 1;
    memcpy(header, b.data, head);
    header[head] = '\0';
    file_fill(path, header, b.data + head, b.len - head, bytes);
    mem_free(block);
    buf_fini(&b);
}

static void make_quoted(const char *path, int64_t bytes)
{
    static const char *const names[] = { "Smith, John",   "O\"\"Brien",     "M\xc3\xbcller",
                                         "plain",         "x y z",          "2021-05-06",
                                         "none of these", "Washington D.C." };
    struct buf b;
    struct rng r;

    rng_init(&r, 2, 0);
    buf_init(&b, 256 << 20);
    for (int i = 0; i < 200000; i++) {
        int rc = buf_addf(&b, NULL, "\"%u\",\"%s\",%.2f,\"%c\",%d,", rng_below(&r, 2000000000),
                          names[rng_below(&r, 8)], rng_unit(&r) * 1000,
                          'A' + (int)rng_below(&r, 10), (int)rng_below(&r, 1000) - 500);
        if (rc == 0 && rng_below(&r, 10) > 0)
            rc = buf_addf(&b, NULL, "%u", rng_below(&r, 100000));
        if (rc == 0)
            rc = buf_addf(&b, NULL, ",\"item-%u\",%.6f\n", rng_below(&r, 5000), rng_normal(&r));
        if (rc < 0)
            die("no memory", NULL);
    }
    file_fill(path, "id,\"name, full\",price,grade,delta,count,item,z\n", b.data, b.len, bytes);
    buf_fini(&b);
}

/* ---- one reading, in a process of its own ---- */

struct reading {
    double cpu_s, wall_s;
    int64_t peak_bytes, frame_bytes, rows;
};

static long read_fd(void *ctx, void *out, size_t n, struct err *err)
{
    ssize_t got = read(*(int *)ctx, out, n);

    return got < 0 ? err_errno(err, "read") : (long)got;
}

static struct reading read_here(const char *path, const char *frame_path)
{
    struct csv_opts opts = { .name = path };
    struct reading r = { 0 };
    struct err err = { 0 };
    struct rusage u;
    struct clk clk;
    char hash[SHA256_HEX];
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    clk_init_system(&clk);
    clock_t cpu = clock();
    int64_t start = clk_now_us(&clk);
    if (csv_to_frame(read_fd, &fd, &opts, frame_path, hash, &err) < 0)
        die("reading", &err);
    r.cpu_s = (double)(clock() - cpu) / CLOCKS_PER_SEC;
    r.wall_s = (double)(clk_now_us(&clk) - start) * 1e-6;
    getrusage(RUSAGE_SELF, &u);
    r.peak_bytes = (int64_t)u.ru_maxrss * 1024;
    r.frame_bytes = io_file_bytes(frame_path);
    struct frame *f = frame_open(frame_path, &err);
    if (!f)
        die("opening", &err);
    r.rows = f->rows;
    frame_close(f);
    close(fd);
    return r;
}

static struct reading read_apart(const char *path, const char *frame_path)
{
    struct reading r = { 0 };
    int ends[2], status = 0;

    fflush(stdout);
    if (pipe(ends) < 0)
        die("pipe", NULL);
    pid_t pid = fork();
    if (pid == 0) {
        r = read_here(path, frame_path);
        _exit(write(ends[1], &r, sizeof(r)) == sizeof(r) ? 0 : 1);
    }
    close(ends[1]);
    if (pid < 0 || read(ends[0], &r, sizeof(r)) != sizeof(r) || waitpid(pid, &status, 0) != pid ||
        status != 0)
        die("the reading process failed", NULL);
    close(ends[0]);
    unlink(frame_path);
    return r;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* True when memory kept its bound. */
static int bench(const char *name, const char *path, const char *frame_path, int rounds)
{
    double cpu[MAX_ROUNDS], wall[MAX_ROUNDS], mb = (double)io_file_bytes(path) * 1e-6;
    struct reading r = { 0 };

    for (int i = 0; i < rounds; i++) {
        r = read_apart(path, frame_path);
        cpu[i] = r.cpu_s;
        wall[i] = r.wall_s;
    }
    qsort(cpu, (size_t)rounds, sizeof(*cpu), by_value);
    qsort(wall, (size_t)rounds, sizeof(*wall), by_value);
    int64_t bound = r.frame_bytes * 3 / 2 + (64 << 20);
    printf(
        "%s: %.0f MB, %lld rows: per core %.0f MB/s best, %.0f median; by the clock %.0f best, %.0f median; "
        "frame %.0f MB, peak memory %.1f MB (bound %.0f)\n",
        name, mb, (long long)r.rows, mb / cpu[0], mb / cpu[rounds / 2], mb / wall[0],
        mb / wall[rounds / 2], (double)r.frame_bytes * 1e-6, (double)r.peak_bytes * 1e-6,
        (double)bound * 1e-6);
    return r.peak_bytes <= bound;
}

int main(int argc, char **argv)
{
    int64_t bytes = (argc > 1 ? strtoll(argv[1], NULL, 10) : 400) * 1000000;
    int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 5, fine = 1;
    const char *base = getenv("TMPDIR");
    char dir[200], path[240], frame_path[240];

    rounds = rounds < 1 ? 1 : rounds > MAX_ROUNDS ? MAX_ROUNDS : rounds;
    (void)snprintf(dir, sizeof(dir), "%.150s/assay-bench-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(dir))
        die("temporary folder", NULL);
    (void)snprintf(path, sizeof(path), "%s/in.csv", dir);
    (void)snprintf(frame_path, sizeof(frame_path), "%s/out.frame", dir);
    make_numbers(path, bytes);
    fine &= bench("numbers", path, frame_path, rounds);
    make_quoted(path, bytes);
    fine &= bench("quoted, mixed", path, frame_path, rounds);
    io_remove_tree(dir, NULL);
    if (!fine)
        printf("memory went over its bound\n");
    return fine ? 0 : 1;
}
