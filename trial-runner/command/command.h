/* command.h - the process that runs users' programs on one device (docs/PROTOCOL.md, "Programs of
 * users"). The supervisor starts it beside the device's worker if the runner was started with
 * --allow-command, and speaks to it in the same way (trial-runner/wire.h). */
#ifndef TRIAL_RUNNER_COMMAND_COMMAND_H
#define TRIAL_RUNNER_COMMAND_COMMAND_H

int command_main(int fd); /* fd: our end of the socket pair */

#endif
