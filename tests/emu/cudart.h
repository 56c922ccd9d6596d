/*
 * cudart - a stand-in for libcudart: the memory of two devices is the host's, and work is loops.
 *
 * cudart.c has devices and memory, cudart_stream.c streams, events and graphs, cudart_lost.c devices that are lost.
 * A call that breaks a rule of the library ends the process: work or an event on another device than its stream's, a
 * launch or memory of a device that is not current, copies outside of an allocation, waiting or allocating while a stream
 * captures, captured work that waits for an event outside its graph, waits for an event that was never recorded, uploads
 * whose source the host changes before they run, memory freed twice.  Pinned memory is junk from the moment that a
 * download into it is enqueued until it runs.  The rules are those of the CUDA C++ Programming Guide, "Multi-Device
 * System" and "CUDA Graphs", and of the NCCL User Guide, "Asynchronous errors and error handling".
 */
#ifndef TESTS_EMU_CUDART_H
#define TESTS_EMU_CUDART_H

#include "emu/emu.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>

#define CUDART_DEVICES 2

extern _Thread_local int cudart_device;	/* this thread's current device */

/* TALLY_EMU is mode. */
bool	 cudart_is_set(const char *mode);
/* Makes e the error that cudaGetLastError() returns, and returns it. */
cudaError_t cudart_fail(cudaError_t e);
/* Ends the process if this thread captures a stream. */
void	 cudart_check_no_capture(const char *call);
/* Ends the process unless [p, p + bytes) lies in one allocation of a device. */
void	 cudart_check_range(const char *what, const void *p, size_t bytes, int device);
/* Ends the process unless p is memory of the host.  Returns true if it is pinned. */
bool	 cudart_check_host(const char *what, const void *p);
/* Runs all enqueued work of a device. */
void	 cudart_run_all(int device);
/* Before the host waits for work of a device: returns what the call returns if the device is lost, else cudaSuccess. */
cudaError_t cudart_begin_wait(int device);
/* As tie() of struct emu_stream. */
void	 cudart_tie(int device, int by);

#endif
