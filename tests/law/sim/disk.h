/*
 * disk - the disks of simulated hosts, and what can happen to them: serves sim.
 *
 * Each host has one, also if it shares a machine with others.  Its files are in a folder of the system, which the code
 * under test reads as it likes.  What it writes there is noted: bytes are on disk once fsync() of the file has
 * returned, and a name once that of its folder has.  After a failure of the power the rest may be there, in part, or
 * not.
 *
 * Calls return a result, or a negative errno.
 */
#ifndef TESTS_LAW_SIM_DISK_H
#define TESTS_LAW_SIM_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DISK_PATH	160u
#define DISK_HOSTS	16u	/* hosts that have a disk */

enum disk_fault {
	DISK_FULL,	/* files are not made, and writes stop with ENOSPC, some after a part */
	DISK_FLUSH,	/* fsync(), close() and rename() fail with EIO */
	DISK_SHORT,	/* writes take fewer bytes than they were given */
	DISK_SLOW,	/* writes and fsync() take up to seconds */
	DISK_FAULTS
};

/* Begins and ends the disks of a world, which are empty at both. */
void	 disk_begin(void);
void	 disk_end(void);
/* The folder of a host, without a slash at its end. */
void	 disk_folder(uint32_t host, char path[DISK_PATH]);
/* Until a time, a host's disk has a fault: about half of the calls meet it. */
void	 disk_fail(uint32_t host, enum disk_fault fault, uint64_t until);
/* For processes: the calls of the one that runs meet no fault until it says so; it does not wait in between. */
void	 disk_spare(bool spare);
/* In this world calls renamed(arg) after each file that has appeared under its name. */
void	 disk_watch(void (*renamed)(void *arg), void *arg);
/* All files of a host are gone. */
void	 disk_lose(uint32_t host);
/* The power of all hosts fails. */
void	 disk_power_fail(void);
/* How many calls have met a fault in this world. */
uint64_t disk_met(enum disk_fault fault);

/* A process has no descriptors any more: local_free_all() closes them. */
void	 disk_close_all(unsigned proc);

/* For sys.c. */
bool	 disk_has(int fd);
int	 disk_open(const char *path, int flags, int mode);
int	 disk_write(int fd, const void *p, size_t n);
int	 disk_flush(int fd);
int	 disk_close(int fd);
int	 disk_rename(const char *from, const char *to);

#endif
