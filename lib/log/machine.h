/*
 * machine - the machines in logs: processes, hardware, load and traffic.
 *
 *	# tally 0.1 tool=pworker host=a rank=0 engine=cpu device=Intel_...	the head of a log
 *	| name | hardware | software |						a Markdown table with these columns
 *	12.3	a	worker	0	load	...	rows of load and traffic (log/tsv.h)
 *	* **Infrastructure 1**: AWS p2.8x (8 gpus nvidia Tesla K80)
 *
 * Threads: one at a time.
 */
#ifndef LOG_MACHINE_H
#define LOG_MACHINE_H

#include "log/table.h"
#include "log/tsv.h"

#define MACHINE_MOST	4096u
#define MACHINE_TEXT	160	/* bytes of a description with its zero */

struct machine {
	char	 name[64], hardware[MACHINE_TEXT], software[MACHINE_TEXT], tool[24];
	unsigned processes;	/* processes of that tool, or 0 if unknown */
	uint64_t loads, host_loads;	/* rows with a process's load, with the host's */
	double	 cpu, host_load;	/* sums over these: busy processors of a process, busy share of the host */
	double	 rx_bytes, tx_bytes;	/* bytes of the processes on the wire */
};

/* A device of a process. */
struct machine_device {
	size_t	 machine;	/* index in the list */
	uint64_t rank;		/* rank of the process */
	char	 name[TSV_NAME];
	uint64_t loads;		/* rows with its load */
	double	 load;		/* sum over these */
	double	 bytes;		/* highest use of its memory */
};

/* A zeroed list is empty. */
struct machine_list {
	struct machine *machine;
	size_t	 n, cap;
	struct machine_device *device;
	size_t	 devices, devices_cap;
	bool	 in_table;
};

/* Takes any line of a log.  Ignores machines and devices above MACHINE_MOST.  Returns 0 or ERR_NOMEM. */
int	 machine_add_line(struct machine_list *l, const char *line);
/* Makes a table with a row for each machine and tool, followed by its devices.  An empty list leaves t empty. */
void	 machine_table(const struct machine_list *l, struct table *t);
void	 machine_free(struct machine_list *l);

#endif
