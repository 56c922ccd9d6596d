/* memory_test - a memory is kept by its file, has one size, and shows one half at a time. */
#include "tap.h"

#include "base/err.h"
#include "ps/memory.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static unsigned	 changes;
static size_t	 changed;

static void
count(void *arg, void *p, size_t n)
{
	(void)arg;
	(void)p;
	changes++;
	changed += n;
}

static void
test_private(void)
{
	struct memory m = { .fd = -1 };

	is(memory_resize(&m, 100), 0, "a private memory");
	ok(((char *)m.base)[99] == 0, "a private memory begins with zeros");
	memory_close(&m);
	ok(m.base == NULL, "a closed memory has no size");
	memory_close(&m);
}

static void
test_kept(void)
{
	int fd = memfd_create("memory_test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	char path[32];
	struct memory m;
	struct stat st;

	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	memset(&m, 0xff, sizeof(m));
	is(memory_open(path, &m), 0, "a memory opens the descriptor of another process");
	ok(m.stored == NULL && m.arg == NULL, "nobody follows its changes");
	ok(m.base == NULL, "an empty file has no size yet");
	ok(!memory_used(fd) && !memory_used(-1), "a file without size is not in use");
	ok(memory_untouched(fd) && !memory_untouched(-1), "nobody has used or declined it");
	is(memory_resize(&m, 8192), 0, "an empty file gets a size");
	ok(!memory_used(fd), "a memory of zeros is not in use");
	ok(!memory_untouched(fd), "a file with a size is not untouched");
	ok(fstat(fd, &st) == 0 && st.st_size == 8192 && st.st_blocks * 512 >= 8192, "all its bytes are allocated");
	ok(ftruncate(fd, 4096) < 0 && ftruncate(fd, 16384) < 0,
	    "a memory is sealed: nobody shrinks it, which would end its users by SIGBUS, or lets it grow");
	strcpy(m.base, "kept");
	memory_close(&m);
	is(memory_open(path, &m), 0, "another server opens it");
	is_str(m.base, "kept", "what the first one stored is there");
	is(memory_resize(&m, 8192), 0, "the same size is accepted");
	is(memory_resize(&m, 8193), ERR_FORMAT, "another size is refused: %s", err_line());
	ok(memory_used(fd), "a memory whose first word is not 0 is in use");
	memory_remove(&m, path);
	ok(memory_used(fd), "a memfd is left to its owner");
	close(fd);
	fd = memfd_create("memory_test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	memory_decline(path);
	ok(!memory_used(fd) && !memory_untouched(fd), "a memfd that is declined is neither used nor untouched");
	ok(memory_declined(fd), "the owner learns that a memfd is declined");
	close(fd);
	memory_decline("memory_test.declined");
	ok(access("memory_test.declined", F_OK) < 0, "declining makes no file");
	is(memory_open("/nowhere/state", &m), ERR_SYS, "a file in no folder is refused: %s", err_line());
	is(m.fd, -1, "a memory that is refused has no descriptor");
}

static void
test_limit(void)
{
	int fd = memfd_create("memory_test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	char path[32], name[] = "/tmp/tally.XXXXXX";
	struct rlimit before, least;
	struct memory m;

	signal(SIGXFSZ, SIG_IGN);
	if (getrlimit(RLIMIT_FSIZE, &before) < 0)
		abort();
	least = (struct rlimit){ 4096, before.rlim_max };
	if (setrlimit(RLIMIT_FSIZE, &least) < 0)
		abort();
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	is(memory_open(path, &m), 0, "a memory under RLIMIT_FSIZE");
	is(memory_resize(&m, 8192), 0, "a size over the limit");
	ok(m.limited && m.size == 8192 && ((char *)m.base)[8191] == 0, "the memory is private then");
	ok(memory_declined(fd) && !memory_untouched(fd), "the owner of the memfd can tell");
	memory_close(&m);
	close(fd);
	memory_make(&m);
	is(memory_resize(&m, 8192), 0, "a private memory knows no such limit");
	memory_close(&m);
	close(mkstemp(name));
	is(memory_open(name, &m), 0, "a memory in a file");
	is(memory_resize(&m, 8192), ERR_SYS, "a file over the limit is refused: %s", err_line());
	memory_remove(&m, name);
	setrlimit(RLIMIT_FSIZE, &before);
}

static void
test_one_user(void)
{
	char dir[] = "/tmp/tally.XXXXXX", path[64], other[64];
	struct memory m, second;
	struct stat st;

	if (mkdtemp(dir) == NULL)
		abort();
	snprintf(path, sizeof(path), "%s/state", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	is(memory_open(path, &m), 0, "a memory is a new file");
	is(memory_open(path, &second), ERR_ARG, "a second user is refused: %s", err_line());
	is(memory_resize(&m, 4096), 0, "the file gets a size");
	ok(link(path, other) == 0, "the file has a second name");
	memory_remove(&m, path);
	ok(access(path, F_OK) < 0, "a removed memory has no file");
	ok(stat(other, &st) == 0 && st.st_size == 0, "a file that stays is empty");
	is(memory_open(path, &m), 0, "the next memory is another file");
	ok(m.base == NULL, "the next memory has no size yet");
	memory_remove(&m, path);
	unlink(other);
	rmdir(dir);
}

static void
test_halves(void)
{
	struct memory m = { .fd = -1, .stored = count };
	struct memory_word w = { 0 };
	size_t at = 0;
	char base[256];

	is(memory_half(&w), -1, "a memory of zeros has no valid half");
	is(memory_other(&w), 0, "the first half is written first");
	memory_publish(&m, &w, 0);
	ok(memory_half(&w) == 0 && memory_other(&w) == 1, "the second half is written after the first");
	memory_publish(&m, &w, 1);
	ok(memory_half(&w) == 1 && memory_other(&w) == 0, "the first half is written after the second");
	is(changes, 2, "each publication is one change");
	is(changed, 2 * sizeof(w), "a publication changes one word");
	w.half = UINT64_MAX;
	ok(memory_half(&w) == 0 || memory_half(&w) == 1, "a word of any bytes names a half");
	ok(memory_place(NULL, &at, 65) == NULL && at == 128, "a layout is measured without a memory");
	ok(memory_place(base, &at, 1) == base + 128 && at == 192, "each part begins on a cache line");
}

int
main(void)
{
	test_private();
	test_kept();
	test_one_user();
	test_halves();
	test_limit();
	return done();
}
