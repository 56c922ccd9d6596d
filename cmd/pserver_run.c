/* pserver_run - a server with its log: the whole of pserver(1), or the shard of pworker(1) --shard. */
#include "pserver_run.h"
#include "front.h"

#include "base/err.h"
#include "base/io.h"
#include "ps/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define OWN_FILES	32	/* descriptors besides those of workers and strangers */
#define FILES_SHARED	3	/* of a worker with which the server shares memory */

static void
report_listening(void *arg, const char *where)
{
	struct pserver_run *r = arg;

	r->listened = true;
	front_say("%slistens at %s as server %" PRIu32 " of %" PRIu32, r->name, where, r->serve.index,
	    r->serve.nservers);
	if (r->listening != NULL)
		r->listening(r->arg, where);
}

static void
print_server_line(void *arg, const char *line)
{
	const struct pserver_run *r = arg;

	front_say("%s%s", r->name, line);
}

static void
print_lost_worker(void *arg, const char *line)
{
	const struct pserver_run *r = arg;

	front_say_consequence("%s%s", r->name, line);
}

static void
report_traffic(void *arg, const struct serve_traffic_report *m)
{
	struct pserver_run *r = arg;

	server_log_traffic(&r->log, m);
}

int
pserver_run(struct pserver_run *r)
{
	struct serve_opt *o = &r->serve;
	struct memory memory;
	struct serve_sums sums;
	const uint64_t least = OWN_FILES + o->nworkers, sockets = SERVE_STRANGERS + 2 * (uint64_t)o->nworkers;
	struct rlimit limit;
	int listener = -1, e;

	ERR_TRY(io_allow_files(OWN_FILES + FILES_SHARED * sockets, least, "workers", o->nworkers));
	/* With too few descriptors for shared memory some workers would wait for ever. */
	if (o->transport == CONN_AUTO && getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
	    limit.rlim_cur < OWN_FILES + FILES_SHARED * sockets)
		o->transport = CONN_TCP;
	o->listening = report_listening;
	o->say = print_server_line;
	o->say_lost = print_lost_worker;
	o->report_traffic = report_traffic;
	o->arg = r;
	ERR_TRY(io_random(&o->incarnation, sizeof(o->incarnation)));
	if (o->listen_fd > 0 && (listener = fcntl(o->listen_fd, F_DUPFD_CLOEXEC, 0)) < 0)
		return err_sys("dup");
	if (r->state != NULL) {
		ERR_TRY(memory_open(r->state, &memory));
		o->memory = &memory;
	}
	server_log_begin(&r->log, o);
	e = serve_run(o, &sums);
	/* Its state said that the job was over.  The giver of the socket still has it: no worker must wait there. */
	if (e == 0 && sums.received == 0)
		(void)shutdown(listener, SHUT_RDWR);
	if (listener >= 0)
		close(listener);
	server_log_end(&r->log, &sums);
	if (r->listened)
		front_say("%s%" PRIu64 " steps, %.1f MB received, %.1f MB sent, %.1f s, %" PRIu64 " unauthenticated "
		    "connections", r->name, sums.steps, (double)sums.received / 1e6, (double)sums.sent / 1e6,
		    sums.seconds, sums.strangers);
	/* The job is over: another one must not start with its weights. */
	if (r->state != NULL && e == 0)
		memory_remove(&memory, r->state);
	else if (r->state != NULL)
		memory_close(&memory);
	return e;
}

/* Its giver may have left it blocking: then a connection that ends before it is accepted would stop the server. */
int
pserver_take_listener(const char *option, const char *text)
{
	int fd = (int)front_num(option, text, 3, 1 << 20), listens = 0, flags = fcntl(fd, F_GETFL);

	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &(socklen_t){ sizeof(listens) }) < 0 || !listens)
		front_wrong("%s: descriptor %d is not a socket that listens", option, fd);
	if (fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		front_die(option, err_sys("descriptor %d", fd));
	return fd;
}
