/*
 * cudart_lost - a device that is lost, and waits of the host that do not end without it.
 *
 * TALLY_EMU_LOST=N: device 1 is lost at the host's N-th wait for it, which fails, as do all later ones.  Sums of NCCL
 * that another device has not run yet tie it to the lost one.  Its work does not complete until ncclCommAbort() ends
 * them, and the host waits.  If nobody does so within 10 s the process ends.  Device 1 is slower than others: while it
 * has not been waited for since such a sum was enqueued, a wait for another device gives it a second.
 */
#include "emu/cudart.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define LOST	1	/* the device */
#define SLOWER_S 1
#define PATIENCE_S 10

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* of what follows */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned tied[CUDART_DEVICES];	/* sums */
static bool lost;
static unsigned long waits, tied_at;	/* waits for LOST so far; when the last sum was enqueued */

/* Whether these seconds pass before the device is untied, or if wakes before the host has waited for LOST. */
static bool
await_untied(int device, time_t seconds, bool wakes)
{
	struct timespec until;
	int e = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += seconds;
	while (tied[device] > 0 && !(wakes && waits > tied_at) && e == 0)
		e = pthread_cond_timedwait(&changed, &lock, &until);
	return e != 0;
}

cudaError_t
cudart_begin_wait(int device)
{
	const char *when = getenv("TALLY_EMU_LOST");
	cudaError_t e = cudaSuccess;

	if (when == NULL)
		return e;
	pthread_mutex_lock(&lock);
	if (device == LOST) {
		lost |= ++waits >= strtoul(when, NULL, 10);
		e = lost ? cudart_fail(cudaErrorLaunchFailure) : e;
		pthread_cond_broadcast(&changed);
	} else {
		await_untied(device, SLOWER_S, true);
		if (lost && await_untied(device, PATIENCE_S, false))
			emu_fault("the host waits for device %d, whose sum waits for device %d, which is lost", device, LOST);
	}
	pthread_mutex_unlock(&lock);
	return e;
}

void
cudart_tie(int device, int by)
{
	pthread_mutex_lock(&lock);
	tied_at = by > 0 ? waits : tied_at;
	if (by == 0)
		tied[device] = 0;
	else if (by > 0 || tied[device] > 0)
		tied[device] += (unsigned)by;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}
