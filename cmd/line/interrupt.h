/* interrupt.h - signals: a run that is interrupted ends tidily (temporary files vanish with their
 * writers), and a model that is truncated while it is mapped is an error, not a crash. */
#ifndef CMD_INTERRUPT_H
#define CMD_INTERRUPT_H

#include "attn.h"

#include <signal.h>
#include <stdbool.h>

struct attn_host;
struct attn_tensor_files;

/* The message about a mapped file that lost its end. */
#define INTERRUPT_TRUNCATED "the model's file was truncated while it was in use"

/* At the start of the process: lets a write to a closed pipe, or beyond ulimit -f, fail instead of
 * ending the process; and lets weights that are truncated while they are opened end it with
 * EXIT_MODEL and a line. From then on see interrupt_watch_weights. */
void interrupt_prepare(void);

/* Catches SIGINT, SIGTERM, SIGHUP, and what batch schedulers send before they kill, SIGXCPU,
 * SIGUSR1 and SIGUSR2, unless they are ignored (nohup): the first one sets the flag and lets the
 * command unwind, another one a second or two later ends the process. Call this when there is
 * something to tidy up; until then, for instance while a text is awaited, signals simply end the
 * process. */
void interrupt_catch(void);

/* Not 0 when the work should stop: a caught signal, or a truncated model. For session options. */
const volatile sig_atomic_t *interrupt_flag(void);

/* Whether a signal was caught: the command should unwind without a word. */
bool interrupt_is_pending(void);

/* Fails with ATTN_CANCELED if a signal was caught; nothing is reported. */
enum attn_status interrupt_check(struct attn_error *err);

/* Ends the process by the signal that was caught, so that its parent sees which; else returns. */
void interrupt_end(void);

/* From now on a page of mapped WEIGHTS that is no longer in its file reads as zeros and sets the
 * flag. NULL ends this; call that before they are closed. */
void interrupt_watch_weights(const struct attn_tensor_files *weights);

/* The same for the weights of MODEL, or of all models of HOST. */
void interrupt_watch_model(const struct attn_model *model);
void interrupt_watch_host(const struct attn_host *host);

/* Whether a watched file was truncated: the results are then worthless. */
bool interrupt_is_model_truncated(void);

#endif
