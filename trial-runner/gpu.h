/* gpu.h - which devices this machine offers: CPU devices, at most one for each physical core, and the
 * GPUs on which the engine's CUDA half can train. A child process (--probe) looks for GPUs, because the
 * supervisor must never initialise CUDA, and because a broken driver may hang or crash the process
 * that asks it. A GPU that is there but cannot be used is named in the log with the reason.
 * Called by main.c once at start. */
#ifndef RUNNER_GPU_H
#define RUNNER_GPU_H

#include "base/err.h"
#include "proto/msg.h"

#include <stdint.h>

#define GPU_KIND "cuda" /* kind of such a device; its id is this and its index: "cuda0" */

/* choice: "auto" (all GPUs, and the cores less one for each of them, because the worker of a GPU
 * keeps a core busy; at least one core), "cpu", "cpu:N" (N CPU devices) or "cuda" (only GPUs; an
 * error if there is none). GPUs stand first in the list, and so ask for work first. memory_bytes:
 * host memory of all devices together; 0 = three quarters of the machine's. Fills
 * out[MSG_MAX_DEVICES] and returns their number, or -1. If there may be a GPU, it waits up to 20 s
 * for the probe. */
int gpu_devices(const char *choice, int64_t memory_bytes, struct msg_device *out, struct err *err);
int gpu_index(const char *device); /* the index in a device's id; -1 if it is not a GPU */

int gpu_probe_main(void); /* the child: prints one JSON line for each GPU */

#endif
