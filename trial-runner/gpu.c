/* gpu.c - the device list; see gpu.h. The probe speaks NVML's documented C interface through dlsym, with the few types
 * it needs written out here, so that building needs no NVIDIA header and running needs no NVIDIA library. */
#include "trial-runner/gpu.h"

#include "base/buf.h"
#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ANSWER_MAX = 64 << 10 };

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

int gpu_devices(const char *choice, int64_t memory_bytes, struct msg_device *out, struct err *err)
{
    int64_t n = MIN(proc_physical_cores(), MSG_MAX_DEVICES);
    char name[sizeof out->name];

    if (str_starts(choice, "cpu:")) {
        if (str_i64(choice + 4, 1, MSG_MAX_DEVICES, &n, err) < 0)
            return err_wrap(err, "devices");
    } else if (!str_eq(choice, "auto") && !str_eq(choice, "cpu")) {
        return err_at(err, "devices", "'%.40s' is not auto, cpu or cpu:N", choice);
    }
    if (memory_bytes == 0)
        memory_bytes = proc_memory_bytes() / 4 * 3;
    cpu_name(name, sizeof name);
    for (int i = 0; i < n; i++) {
        out[i] = (struct msg_device){ .memory_bytes = memory_bytes / n, .max_lanes = 1 };
        snprintf(out[i].id, sizeof out[i].id, "cpu%d", i);
        str_copy(out[i].kind, sizeof out[i].kind, "cpu");
        str_copy(out[i].name, sizeof out[i].name, name);
    }
    return (int)n;
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
        memcpy(syms[i].slot, &sym,
               sizeof sym); /* ISO C has no cast from object to function pointer */
    }
    return lib ? 0 : -1;
}

int gpu_probe_main(void)
{
    struct nvml n = { 0 };
    unsigned count = 0;

    if (nvml_load(&n) < 0 || n.init() != 0 || n.count(&count) != 0)
        return 0; /* no driver is no error */
    for (unsigned i = 0; i < count; i++) {
        struct nvml_memory memory = { 0 };
        char name[96] = "";
        void *device = NULL;
        json_t *j = NULL;
        char *text = NULL;

        if (n.handle(i, &device) != 0 || n.name(device, name, sizeof name) != 0 ||
            n.memory(device, &memory) != 0)
            continue;
        j = json_pack("{s:i, s:s, s:I, s:I}", "index", (int)i, "name", name, "total_bytes",
                      (json_int_t)memory.total, "free_bytes", (json_int_t)memory.free);
        text = j ? jsonx_dump(j) : NULL;
        if (text)
            printf("%s\n", text);
        mem_free(text);
        json_decref(j);
    }
    return fflush(stdout) == 0 ? 0 : 1;
}

/* ---- the probe, in the supervisor ---- */

struct gpu_probe {
    pid_t pid;
    int fd;
    struct buf said;
};

struct gpu_probe *gpu_probe_start(struct err *err)
{
    const char *const argv[] = { "assay-runner", "--probe", NULL };
    struct gpu_probe *p = mem_zalloc(sizeof *p);
    struct proc_fd out = { -1, 1 };
    struct proc_spec spec = {
        .argv = argv, .fds = &out, .n_fds = 1, .new_session = true, .die_with_parent = true
    };

    buf_init(&p->said, ANSWER_MAX);
    p->fd = -1;
    if (proc_pipe(&p->fd, &out.parent_fd, err) < 0 || proc_spawn(&spec, &p->pid, err) < 0) {
        if (out.parent_fd >= 0)
            close(out.parent_fd);
        gpu_probe_free(p);
        return NULL;
    }
    close(out.parent_fd);
    fcntl(p->fd, F_SETFL, O_NONBLOCK);
    return p;
}

int gpu_probe_fd(const struct gpu_probe *p)
{
    return p->fd;
}

static void tell(const char *line, size_t n)
{
    json_t *j = jsonx_load(line, n, "probe", NULL);
    const char *name = json_string_value(json_object_get(j, "name"));
    int64_t total = json_integer_value(json_object_get(j, "total_bytes"));
    char bytes[32];

    str_fmt_bytes(total, bytes, sizeof bytes);
    if (name)
        log_info(
            "gpu.found name=\"%s\" memory=\"%s\" used=no why=\"this build trains on the CPU only\"",
            name, bytes);
    json_decref(j);
}

int gpu_probe_step(struct gpu_probe *p)
{
    char part[4096];
    ssize_t n = 0;

    while ((n = read(p->fd, part, sizeof part)) > 0) {
        if (buf_add(&p->said, part, (size_t)n, NULL) < 0)
            return 1; /* no driver talks that much */
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    for (char *line = p->said.data, *end = NULL; line && (end = strchr(line, '\n')); line = end + 1)
        tell(line, (size_t)(end - line));
    return 1;
}

void gpu_probe_free(struct gpu_probe *p)
{
    int status = 0;

    if (!p)
        return;
    if (p->pid > 0) {
        proc_kill(p->pid, SIGKILL);
        proc_wait_ms(p->pid, 1000, &status, NULL);
    }
    if (p->fd >= 0)
        close(p->fd);
    buf_fini(&p->said);
    mem_free(p);
}
