/* interrupt.h - handles signals: an interrupted run removes its temporary files, and a model file
 * that is truncated while it is mapped is an error instead of a crash. */
#pragma once

#include "attn.h"

#include <signal.h>
#include <stdbool.h>

struct attn_host;
struct attn_tensor_files;

/* The message for a mapped file that became shorter. */
#define INTERRUPT_TRUNCATED "the model's file was truncated while it was in use"

/* Call at the start of the process. From then on, a write to a closed pipe or beyond ulimit -f
 * fails instead of ending the process. If weights are truncated while they are being opened, a
 * message is printed and the process ends with EXIT_MODEL. For truncation later, see
 * interrupt_watch_weights. */
void interrupt_prepare(void);

/* Catches SIGINT, SIGTERM and SIGHUP, and SIGXCPU, SIGUSR1 and SIGUSR2, which batch schedulers send
 * before they kill a process. Signals that are ignored (nohup) remain ignored. The first signal
 * sets the flag, so that the command stops and frees everything; another one at least a second
 * later ends the process. Call this when there is something to clean up. Before, for example while
 * a text is awaited, signals end the process at once. */
void interrupt_catch(void);

/* Returns the flag for session options. It is not 0 if the work must stop, because of a signal or a
 * truncated model. */
const volatile sig_atomic_t *interrupt_flag(void);

/* Returns true if a signal was caught. The command must then end without a message. */
bool interrupt_is_pending(void);

/* Fails with ATTN_CANCELED if a signal was caught. It is not reported to the user. */
enum attn_status interrupt_check(struct attn_error *err);

/* If a signal was caught, ends the process by that signal, so that its parent sees which it was. */
void interrupt_end(void);

/* From now on, if the mapped file of WEIGHTS becomes shorter, its missing pages read as zeros and
 * the flag is set. NULL ends this; that is necessary before the weights are closed. */
void interrupt_watch_weights(const struct attn_tensor_files *weights);

/* Watches the weights of all models of HOST. */
void interrupt_watch_host(const struct attn_host *host);

/* Returns true if a watched file was truncated. The results are then invalid. */
bool interrupt_is_model_truncated(void);
