/* nodelist_test - tests nodelist against its header. */
#include "tap.h"

#include "base/err.h"
#include "run/launcher/nodelist.h"

static void
good(const char *list, const char *tasks, const char *want)
{
	struct buf b = { 0 };

	is(nodelist_hosts(list, tasks, &b), 0, "%s is expanded", list);
	buf_terminate(&b);
	is_str((char *)b.p, want, "%s with tasks %s gives the right lines", list, tasks != NULL ? tasks : "unset");
	buf_free(&b);
}

static void
bad(const char *list, const char *tasks, int want)
{
	struct buf b = { 0 };

	is(nodelist_hosts(list, tasks, &b), want, "list '%s' with tasks '%s' is refused", list, tasks != NULL ? tasks : "");
	buf_free(&b);
}

int
main(void)
{
	static char longest[300];

	good("n1", NULL, "n1\n");
	good("a,b", NULL, "a\nb\n");
	good("node[1-3,07],login", NULL, "node1\nnode2\nnode3\nnode07\nlogin\n");
	good("gpu[08-11]-ib.x", NULL, "gpu08-ib.x\ngpu09-ib.x\ngpu10-ib.x\ngpu11-ib.x\n");
	good("r[1-2]n[3,5]", NULL, "r1n3\nr1n5\nr2n3\nr2n5\n");
	good("n[1-3],m", "2(x3),1", "n1 slots=2\nn2 slots=2\nn3 slots=2\nm slots=1\n");
	good("n[1-2],m", "4,2(x2)", "n1 slots=4\nn2 slots=2\nm slots=2\n");
	bad("", NULL, ERR_FORMAT);
	bad("a,,b", NULL, ERR_FORMAT);
	bad("a[1-", NULL, ERR_FORMAT);
	bad("a[]", NULL, ERR_FORMAT);
	bad("a[1;2]", NULL, ERR_FORMAT);
	bad("a[2-1]", NULL, ERR_FORMAT);
	bad("a[x]", NULL, ERR_FORMAT);
	bad("a b", NULL, ERR_FORMAT);
	bad("a$(x)", NULL, ERR_FORMAT);
	bad("a[1-4097]", NULL, ERR_LIMIT);
	bad("a[1-9999999999]", NULL, ERR_FORMAT);
	bad("a[1-999999999]b[1-999999999]", NULL, ERR_LIMIT);
	bad("n[1-3]", "2(x2)", ERR_FORMAT);
	bad("n1", "2(x", ERR_FORMAT);
	bad("n1", "0", ERR_FORMAT);
	bad("n1", "1(x0)", ERR_FORMAT);
	memset(longest, 'a', sizeof(longest) - 1);
	bad(longest, NULL, ERR_LIMIT);
	memcpy(longest + 250, "[1000000-1000001]", 18);
	bad(longest, NULL, ERR_LIMIT);
	return done();
}
