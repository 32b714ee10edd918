/* gpu.c - the list of devices; see gpu.h. The probe asks the engine's CUDA half. If that cannot
 * serve, it asks NVIDIA's management library (NVML) only to name the GPUs in the log. NVML is
 * opened at run time, and the few types it needs are written out here, so that building needs no
 * NVIDIA header and running needs no NVIDIA library. */
#include "trial-runner/gpu.h"

#include "base/buf.h"
#include "base/clk.h"
#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"
#include "ml/ops/ops.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* PROBE_MS: the first use of a GPU's driver may take many seconds.
 * GPU_TRIALS: so many trials share kernel launches (worker_wave.c), because one trial on a small
 * table does not fill a GPU. */
enum { ANSWER_MAX = 64 << 10, PROBE_MS = 20000, GPU_TRIALS = 8 };

/* ---- CPU ---- */

static void cpu_name(char *out, size_t size)
{
    FILE *f = fopen("/proc/cpuinfo", "re");
    char line[256], *colon = NULL;

    str_copy(out, size, "CPU");
    while (f && fgets(line, sizeof line, f)) {
        if (!str_starts(line, "model name") || !(colon = strchr(line, ':')))
            continue;
        colon += 1 + strspn(colon + 1, " \t");
        colon[strcspn(colon, "\n")] = '\0';
        str_copy(out, size, colon);
        break;
    }
    if (f)
        fclose(f);
}

/* ---- the probe, in the child ---- */

struct nvml_memory {
    unsigned long long total, free, used;
};
struct nvml {
    int (*init)(void);
    int (*count)(unsigned *n);
    int (*handle)(unsigned i, void **device);
    int (*name)(void *device, char *out, unsigned size);
    int (*memory)(void *device, struct nvml_memory *out);
};

static int nvml_load(struct nvml *n)
{
    void *lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    const struct {
        void *slot;
        const char *name;
    } syms[] = { { &n->init, "nvmlInit_v2" },
                 { &n->count, "nvmlDeviceGetCount_v2" },
                 { &n->handle, "nvmlDeviceGetHandleByIndex_v2" },
                 { &n->name, "nvmlDeviceGetName" },
                 { &n->memory, "nvmlDeviceGetMemoryInfo" } };

    for (size_t i = 0; lib && i < ARRAY_LEN(syms); i++) {
        void *sym = dlsym(lib, syms[i].name);

        if (!sym)
            return -1;
        /* By memcpy, because ISO C has no cast from an object pointer to a function pointer. */
        memcpy(syms[i].slot, &sym, sizeof sym);
    }
    return lib ? 0 : -1;
}

static void say(json_t *line_steal)
{
    char *text = line_steal ? jsonx_dump(line_steal) : NULL;

    if (text)
        printf("%s\n", text);
    mem_free(text);
    json_decref(line_steal);
}

/* Prints the GPUs that the driver knows, each with the reason why it cannot be used. */
static void say_unusable(const char *why)
{
    struct nvml n = { 0 };
    unsigned count = 0;

    if (nvml_load(&n) < 0 || n.init() != 0 || n.count(&count) != 0)
        return; /* a machine without a driver is usual, not an error */
    for (unsigned i = 0; i < count; i++) {
        struct nvml_memory memory = { 0 };
        char name[96] = "";
        void *device = NULL;

        if (n.handle(i, &device) != 0 || n.name(device, name, sizeof name) != 0 ||
            n.memory(device, &memory) != 0)
            continue;
        say(json_pack("{s:s, s:I, s:s}", "name", name, "total_bytes", (json_int_t)memory.total,
                      "why", why));
    }
}

int gpu_probe_main(void)
{
    struct err err = { 0 };
    const struct ml_ops *ops = ml_cuda_open(&err);
    int n = 0;

    if (!ops || ops->device_count(&n, &err) < 0 || n == 0)
        say_unusable(err.text[0] ? err.text : "the driver offers no device to the CUDA half");
    for (int i = 0; i < n; i++) {
        struct ml_device d;

        if (ops->device_get(i, &d, &err) < 0)
            say_unusable(err.text);
        else
            say(json_pack("{s:i, s:s, s:I}", "index", i, "name", d.name, "total_bytes",
                          (json_int_t)d.memory_bytes));
    }
    return fflush(stdout) == 0 ? 0 : 1;
}

/* ---- the probe, in the supervisor ---- */

/* Is there a sign of a GPU? Most machines have none, and for them starting a process to find that
 * out would slow down every start. */
static bool may_have_gpu(void)
{
    const char *named = getenv("ASSAY_CUDA");

    return (named && named[0]) || access("/dev/nvidiactl", F_OK) == 0 ||
           access("/dev/dxg", F_OK) == 0;
}

/* Unlike a worker, the probe may gain rights through set-user-ID programs: the driver's helper
 * makes the device files at the first use, which must come before the first worker. */
static int probe_spawn(pid_t *pid, int *fd, struct err *err)
{
    const char *const argv[] = { "assay-runner", "--probe", NULL };
    struct proc_fd out = { -1, 1 };
    struct proc_spec spec = {
        .argv = argv, .fds = &out, .n_fds = 1, .new_session = true, .die_with_parent = true
    };

    if (proc_pipe(fd, &out.parent_fd, err) < 0)
        return -1;
    int rc = proc_spawn(&spec, pid, err);
    close(out.parent_fd);
    if (rc < 0)
        close(*fd);
    return rc;
}

/* Reads what the child says until it ends or the time is up. A broken driver may never answer. */
static void probe_read(int fd, struct buf *said)
{
    struct clk clk;
    struct pollfd p = { .fd = fd, .events = POLLIN };
    char part[4096];

    clk_init_system(&clk);
    for (int64_t end = clk_now_ms(&clk) + PROBE_MS;;) {
        int64_t left = end - clk_now_ms(&clk);
        int rc = left > 0 ? poll(&p, 1, (int)left) : 0;
        if (rc < 0 && errno == EINTR)
            continue;
        ssize_t n = rc > 0 ? read(fd, part, sizeof part) : 0;
        if (rc == 0)
            log_warn("gpu.probe err=\"no answer within %d s\"", PROBE_MS / 1000);
        if (n <= 0 || buf_add(said, part, (size_t)n, NULL) < 0)
            return;
    }
}

/* One line of the child: a device (returns 1 and fills *out), or a GPU that cannot be used (0).
 * Both are logged. */
static int take_line(const char *line, size_t n, struct msg_device *out)
{
    json_t *j = jsonx_load(line, n, "probe", NULL);
    const char *name = json_string_value(json_object_get(j, "name"));
    const char *why = json_string_value(json_object_get(j, "why"));
    json_t *index = json_object_get(j, "index");
    char bytes[32];
    int is_device = name && json_is_integer(index);

    str_fmt_bytes(json_integer_value(json_object_get(j, "total_bytes")), bytes, sizeof bytes);
    if (is_device) {
        *out = (struct msg_device){ .max_trials = GPU_TRIALS, .meets = true, .blends = true };
        snprintf(out->id, sizeof out->id, GPU_KIND "%d", (int)json_integer_value(index));
        str_copy(out->kind, sizeof out->kind, GPU_KIND);
        str_copy(out->name, sizeof out->name, name);
        log_info("gpu.found name=\"%s\" memory=\"%s\" used=yes", name, bytes);
    } else if (name) {
        log_info("gpu.found name=\"%s\" memory=\"%s\" used=no why=\"%s\"", name, bytes,
                 why ? why : "");
    }
    json_decref(j);
    return is_device;
}

static int gpus_find(struct msg_device *out, int most)
{
    struct err err = { 0 };
    struct buf said;
    pid_t pid = 0;
    int fd = -1, n = 0, status = 0;

    if (probe_spawn(&pid, &fd, &err) < 0) {
        log_warn("gpu.probe err=\"%s\"", err.text);
        return 0;
    }
    buf_init(&said, ANSWER_MAX);
    probe_read(fd, &said);
    proc_kill(pid, SIGKILL);
    proc_wait_ms(pid, 1000, &status, NULL);
    close(fd);
    buf_add(&said, "", 1, NULL);
    for (char *line = said.data, *end = NULL; line && n < most && (end = strchr(line, '\n'));
         line = end + 1)
        n += take_line(line, (size_t)(end - line), &out[n]);
    buf_fini(&said);
    return n;
}

/* ---- the list ---- */

static int cpus_list(int64_t n, struct msg_device *out)
{
    char name[sizeof out->name];

    cpu_name(name, sizeof name);
    for (int i = 0; i < n; i++) {
        out[i] = (struct msg_device){ .max_trials = 1, .meets = true, .blends = true };
        snprintf(out[i].id, sizeof out[i].id, "cpu%d", i);
        str_copy(out[i].kind, sizeof out[i].kind, "cpu");
        str_copy(out[i].name, sizeof out[i].name, name);
    }
    return (int)n;
}

int gpu_devices(const char *choice, int64_t memory_bytes, struct msg_device *out, struct err *err)
{
    int64_t cpus = MIN(proc_physical_cores(), MSG_MAX_DEVICES);
    bool only_gpus = str_eq(choice, GPU_KIND), is_auto = str_eq(choice, "auto");

    if (str_starts(choice, "cpu:")) {
        if (str_i64(choice + 4, 1, MSG_MAX_DEVICES, &cpus, err) < 0)
            return err_wrap(err, "devices");
    } else if (!is_auto && !only_gpus && !str_eq(choice, "cpu")) {
        return err_at(err, "devices", "'%.40s' is not auto, cpu, cpu:N or cuda", choice);
    }
    int n = only_gpus || (is_auto && may_have_gpu()) ? gpus_find(out, MSG_MAX_DEVICES - 1) : 0;
    if (!only_gpus)
        n += cpus_list(MIN(MAX(cpus - n, 1), MSG_MAX_DEVICES - n), out + n);
    if (n == 0)
        return err_at(err, "devices", "cuda: this machine has no GPU that can be used");
    if (memory_bytes == 0)
        memory_bytes = proc_memory_bytes() / 4 * 3;
    for (int i = 0; i < n; i++)
        out[i].memory_bytes = memory_bytes / n;
    return n;
}

int gpu_index(const char *device)
{
    int64_t i = -1;

    if (!str_starts(device, GPU_KIND) ||
        str_i64(device + strlen(GPU_KIND), 0, 1 << 16, &i, NULL) < 0)
        return -1;
    return (int)i;
}
