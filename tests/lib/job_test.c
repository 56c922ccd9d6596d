/* job_test - tests job against its header, and the command lines and environments of role. */
#include "tap.h"

#include "base/err.h"
#include "run/job.h"
#include "run/role.h"

#include <stdlib.h>

static char key[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
static char *env[] = { (char[]){ "A=b" }, (char[]){ "C=" }, NULL };
static char *argv[] = { (char[]){ "pworker" }, (char[]){ "--net" }, (char[]){ "a b" }, NULL };
static char *server[] = { (char[]){ "pserver" }, NULL };
static char *each[] = { (char[]){ "--threads=4:2:8" }, NULL };
static struct job_child child[] = { { .role = JOB_SERVER, .rank = 1 }, { .role = JOB_WORKER }, { .role = JOB_WORKER, .rank = 2 } };

static struct job
a_job(void)
{
	return (struct job){ .workers = 3, .servers = 2, .key = key, .dir = "/tmp", .addr = "", .iface = "eth0",
	    .host = "h", .silence_ms = 10000, .spool_kib = 1 << 20, .respawn = 7, .env = env, .argv = argv, .server_argv = server,
	    .each = each,
	    .child = child, .nchildren = 3 };
}

static void
test_bytes(void)
{
	struct job j = a_job(), k;
	struct buf b = { 0 };
	int bad = 0;

	is(job_put(&j, &b), 0, "a job is written");
	is(job_get(b.p, b.n, &k), 0, "the bytes are read back");
	ok(!k.dmlc && k.workers == 3 && k.servers == 2 && k.silence_ms == 10000 && k.spool_kib == 1 << 20 && k.respawn == 7 &&
	    k.elastic == 0,
	    "numbers are kept");
	is_str(k.key, key, "the key is kept");
	is_str(k.iface, "eth0", "texts are kept");
	is_str(k.argv[2], "a b", "words with blanks are kept");
	ok(k.argv[3] == NULL && k.env[2] == NULL && k.server_argv[1] == NULL && k.each[1] == NULL,
	    "lists end with NULL");
	is_str(k.each[0], "--threads=4:2:8", "values by rank are kept");
	ok(k.nchildren == 3 && k.child[2].role == JOB_WORKER && k.child[2].rank == 2, "processes are kept");
	job_free(&k);
	for (size_t n = 0; n < b.n; n++)
		bad += job_get(b.p, n, &k) != ERR_FORMAT;
	is(bad, 0, "a job truncated anywhere is refused");
	buf_put(&b, "", 1);
	is(job_get(b.p, b.n, &k), ERR_FORMAT, "a job with a byte too many is refused");
	buf_free(&b);
}

static void
test_sense(void)
{
	char *noenv[] = { (char[]){ "A" }, NULL }, *none[] = { NULL };
	static struct job_child scheduler[] = { { .role = JOB_SCHEDULER } }, other[] = { { .role = 7 } };
	struct job j[7] = { a_job(), a_job(), a_job(), a_job(), a_job(), a_job(), a_job() }, k;

	j[0].key = "short";
	j[1].env = noenv;
	j[2].argv = none;
	j[3].child = scheduler;
	j[3].nchildren = 1;
	j[5].each = noenv;
	j[4].child = other;
	j[4].nchildren = 1;
	j[6].elastic = 4;
	for (int i = 0; i < 7; i++) {
		struct buf b = { 0 };

		job_put(&j[i], &b);
		is(job_get(b.p, b.n, &k), ERR_FORMAT, "an inconsistent job is refused, %d", i);
		buf_free(&b);
	}
}

static const char *
joined(const struct words *w)
{
	static char text[1000];

	text[0] = 0;
	for (size_t i = 0; i < w->n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i > 0 ? "|" : "", w->v[i]);
	return text;
}

static const char *
value(const struct words *w, const char *name)
{
	for (size_t i = w->n; i-- > 0;)
		if (strncmp(w->v[i], name, strlen(name)) == 0 && w->v[i][strlen(name)] == '=')
			return w->v[i] + strlen(name) + 1;
	return "(none)";
}

static void
test_role(void)
{
	struct role_place at = { .addr = "[fe80::1]", .bin = "/opt/bin", .go = "a:1,b:2", .processors = 9,
	    .key_fd = 5, .ready_fd = 6, .shard_fd = -1 };
	struct job j = a_job();
	struct words w = { 0 };

	role_argv(&j, &child[0], &at, &w);
	is_str(joined(&w), "pserver|--listen|[fe80::1]:0|--workers|3|--server|1/2|--key-file|/dev/fd/5|--ready-fd|6",
	    "a server gets its options");
	words_free(&w);
	at.listen = "h:9";
	at.listen_fd = 7;
	at.memory_fd = 8;
	role_argv(&j, &child[0], &at, &w);
	is_str(joined(&w), "pserver|--listen|h:9|--workers|3|--server|1/2|--key-file|/dev/fd/5|--ready-fd|6|--listen-fd|7|"
	    "--state|/dev/fd/8", "a server that is started again gets its socket and its memory");
	words_free(&w);
	role_argv(&j, &child[2], &at, &w);
	is_str(joined(&w), "pworker|--net|a b|--threads|8|--servers|a:1,b:2|--worker|2/3|--key-file|/dev/fd/5|"
	    "--state|/dev/fd/8", "a worker that is started again gets its memory");
	words_free(&w);
	at.memory_fd = -1;
	role_argv(&j, &child[2], &at, &w);
	is_str(joined(&w), "pworker|--net|a b|--threads|8|--servers|a:1,b:2|--worker|2/3|--key-file|/dev/fd/5",
	    "a worker gets its value of --each and its options");
	words_free(&w);
	j.servers = 0;
	role_argv(&j, &child[2], &at, &w);
	is_str(joined(&w), "pworker|--net|a b|--threads|8|--servers|a:1,b:2|--worker|2/3|--key-file|/dev/fd/5|"
	    "--shard|--shard-fd|7", "without servers a worker gets the socket of its shard");
	words_free(&w);
	at.memory_fd = 8;
	at.shard_fd = 9;
	role_argv(&j, &child[2], &at, &w);
	ok(strstr(joined(&w), "|--shard|--shard-fd|7|--state|/dev/fd/8|--shard-state|/dev/fd/9") != NULL,
	    "a worker with a shard that is started again gets both memories");
	words_free(&w);
	at.memory_fd = at.shard_fd = -1;
	j.workers = 1;
	role_argv(&j, &child[2], &at, &w);
	is_str(joined(&w), "pworker|--net|a b|--threads|8", "a single worker without servers gets no options");
	words_free(&w);
	j.servers = 2;
	j.workers = 3;
	j.elastic = 2;
	role_argv(&j, &child[2], &at, &w);
	ok(strstr(joined(&w), "|--worker|2/2..3|") != NULL, "a worker of an elastic job gets both numbers of workers");
	words_free(&w);
	role_argv(&j, &child[0], &at, &w);
	ok(strstr(joined(&w), "|--workers|2..3|") != NULL, "a server of an elastic job gets both numbers of workers");
	words_free(&w);
	j.elastic = 0;
	unsetenv("OMP_NUM_THREADS");
	setenv("OMP_WAIT_POLICY", "", 1);
	role_env(&j, &child[1], &at, &w);
	is_str(value(&w, "OMP_NUM_THREADS"), "4", "each of 2 workers gets 4 threads of 9 processors");
	is_str(value(&w, "OMP_WAIT_POLICY"), "passive", "threads wait without spinning");
	is_str(value(&w, "C"), "", "the job's variables are set");
	ok(strncmp(value(&w, "PATH"), "/opt/bin:", 9) == 0, "PATH begins with the agent's directory");
	is_str(value(&w, "DMLC_ROLE"), "(none)", "a tally job has no DMLC_ROLE");
	words_free(&w);
	setenv("OMP_NUM_THREADS", "3", 1);
	role_env(&j, &child[1], &at, &w);
	is_str(value(&w, "OMP_NUM_THREADS"), "(none)", "OMP_NUM_THREADS of the host's environment takes precedence");
	words_free(&w);
	unsetenv("OMP_NUM_THREADS");
	at.processors = 1;
	role_env(&j, &child[1], &at, &w);
	is_str(value(&w, "OMP_NUM_THREADS"), "1", "a worker has at least one thread");
	words_free(&w);
	j.dmlc = true;
	at.go = "[fe80::9]:77";
	role_env(&j, &child[0], &at, &w);
	is_str(value(&w, "DMLC_ROLE"), "server", "a dmlc server gets its role");
	is_str(value(&w, "DMLC_PS_ROOT_URI"), "[fe80::9]", "a dmlc server gets the scheduler's address");
	is_str(value(&w, "DMLC_PS_ROOT_PORT"), "77", "a dmlc server gets the scheduler's port");
	is_str(value(&w, "DMLC_SERVER_ID"), "1", "a dmlc server gets its rank");
	words_free(&w);
	role_argv(&j, &child[0], &at, &w);
	is_str(joined(&w), "pworker|--net|a b", "a dmlc server runs the command unchanged");
	words_free(&w);
}

int
main(void)
{
	test_bytes();
	test_sense();
	test_role();
	return done();
}
