/*
 * machine - the machines that logs speak of, and their hardware.
 *
 *	# tally 0.1 tool=pworker host=a rank=0 engine=cpu device=Intel_...	one line per host and tool
 *	| name | hardware | software |						a Markdown table with such a column
 *	12.3	a	worker	0	load	...	load, of devices too, and traffic (log/tsv.h)
 *	* **Infrastructure 1**: AWS p2.8x (8 gpus nvidia Tesla K80)
 *
 * Threads: a list is for one thread at a time.
 */
#ifndef LOG_MACHINE_H
#define LOG_MACHINE_H

#include "log/table.h"
#include "log/tsv.h"

#define MACHINE_MOST	4096u
#define MACHINE_TEXT	160	/* bytes of a description, its zero counted */

struct machine {
	char	 name[64], hardware[MACHINE_TEXT], software[MACHINE_TEXT], tool[24];
	unsigned processes;	/* of that tool; 0 when not known */
	uint64_t loads;		/* rows that told how busy it was, */
	double	 cpu, host_load;	/* and their sums: processors kept busy, share of the host's that were */
	uint64_t host_loads;
	double	 rx_bytes, tx_bytes;	/* of the processes, on the wire */
};

/* A device of one of a machine's processes. */
struct machine_device {
	size_t	 machine;	/* its number in the list */
	uint64_t rank;		/* of the process */
	char	 name[TSV_NAME];
	uint64_t loads;		/* rows that told how busy it was, */
	double	 load;		/* and their sum */
	double	 bytes;		/* of its memory, at most */
};

/* One of zeros is empty. */
struct machine_list {
	struct machine *machine;
	size_t	 n, cap;
	struct machine_device *device;
	size_t	 devices, devices_cap;
	unsigned started;	/* workers whose log begins */
	bool	 in_table;
};

/* Takes any line.  0, or ERR_NOMEM; machines, and devices, over MACHINE_MOST are left out. */
int	 machine_take(struct machine_list *l, const char *line);
/*
 * A row a machine and tool, and below it one for each of its devices.  0 or ERR_NOMEM; nothing at
 * all for an empty list.
 */
int	 machine_table(const struct machine_list *l, struct table *t);
void	 machine_free(struct machine_list *l);

#endif
