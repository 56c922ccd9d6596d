/* serve - im2rec --serve: serves records to workers on other hosts. */
#include "im2rec/im2rec.h"
#include "front.h"

#include "base/clk.h"
#include "base/err.h"
#include "dataset/dataset_server.h"
#include "wire/conn.h"

#include <inttypes.h>
#include <string.h>

struct record_service {
	struct dataset_server_opt serve;
	const struct im2rec *o;
	bool	 listened;
};

static void
report_listening(void *arg, const char *where)
{
	struct record_service *p = arg;

	p->listened = true;
	front_say("%s: %" PRIu64 " records at %s", p->serve.recs->path, p->serve.recs->count, where);
	front_ready(p->o->ready, where);
}

static void
report_line(void *arg, const char *line)
{
	(void)arg;
	front_say("%s", line);
}

/* Reads the names of the classes as lines, to send them. */
static void
read_served_names(const struct recs *r, struct buf *lines)
{
	struct names l = { 0 };
	const char *lacks;

	front_must(NULL, r->classes(r, &l));
	if (names_put_lines(&l, lines) < 0 || buf_terminate(lines) < 0)
		front_die(NULL, ERR_NOMEM);
	if (!names_are_printable((const char *)lines->p)) {
		front_say("%s: its names of classes are not served, as one has a control character or is not UTF-8",
		    r->path);
		lines->n = 0;
	} else if (!names_are_numbers(&l) && r->unnamed != NULL && (lacks = r->unnamed(r)) != NULL) {
		front_say(RECS_UNNAMED, lacks, l.p[0]);
	}
	names_free(&l);
}

int
im2rec_serve(const struct im2rec *o)
{
	struct record_service p = { .o = o, .serve = { .listen = o->listen != NULL ? o->listen : "0.0.0.0:0",
	    .listening = report_listening, .say = o->quiet ? NULL : report_line, .arg = &p } };
	struct dataset_server_sums sums;
	struct buf classes = { 0 };
	double began = clk_s();
	struct recs *recs;
	int e;

	if (o->key == NULL)
		front_wrong("--serve: needs a --key-file");
	front_check_ready(o->ready);
	p.serve.key = front_read_key(o->key);
	front_must(NULL, recs_open_several((char *const *)o->path, o->paths, &recs));
	read_served_names(recs, &classes);
	p.serve.recs = recs;
	p.serve.classes = &classes;
	p.serve.stop_fd = front_stop_fd();
	e = dataset_server_run(&p.serve, &sums);
	if (p.listened)
		front_say("%" PRIu64 " readers, %" PRIu64 " records, %.1f MB sent, %.1f s, %" PRIu64 " unauthenticated "
		    "connections", sums.readers, sums.records, (double)sums.sent / 1e6, clk_s() - began,
		    sums.strangers);
	recs_close(recs);
	buf_free(&classes);
	if (e != ERR_STOP)
		front_die(NULL, e);
	return front_stopped(p.serve.stop_fd);
}
