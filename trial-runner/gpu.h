/* gpu.h - which devices this machine offers. CPU: one device a physical core, always. GPUs are looked for by a child
 * process (--probe) that opens NVIDIA's management library at run time, since a supervisor must never initialise CUDA
 * and a broken driver may hang or crash whoever asks it. A GPU is offered only when the engine's CUDA half can train on
 * it; one that is there but cannot be used is named in the log with the reason. */
#ifndef RUNNER_GPU_H
#define RUNNER_GPU_H

#include "base/err.h"
#include "proto/msg.h"

#include <stdint.h>

/* "auto", "cpu" (both: a device for each physical core), "cpu:N". memory_bytes: of all together, 0 = three quarters of
 * the machine's. Fills out[MSG_MAX_DEVICES]; returns how many, or -1. */
int gpu_devices(const char *choice, int64_t memory_bytes, struct msg_device *out, struct err *err);

/* Starts the probe and logs what it finds; must be called again (a timer does) until it returns 1. */
struct gpu_probe;
struct gpu_probe *gpu_probe_start(struct err *err);
int gpu_probe_fd(
    const struct gpu_probe *p);           /* readable when it has something to say or has ended */
int gpu_probe_step(struct gpu_probe *p);  /* 1 = ended, 0 = more to come */
void gpu_probe_free(struct gpu_probe *p); /* kills it when it runs */

int gpu_probe_main(void); /* in the child: one JSON line a GPU on stdout */

#endif
