/* stamp - size and modification time, which detect that a file was replaced. */
#include "source/stamp.h"

#include <sys/stat.h>

static struct stamp
make_stamp(const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return (struct stamp){ 0 };
	return (struct stamp){ (uint64_t)st->st_size, st->st_mtim.tv_sec, st->st_mtim.tv_nsec };
}

struct stamp
stamp_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? make_stamp(&st) : (struct stamp){ 0 };
}

struct stamp
stamp_of_fd(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? make_stamp(&st) : (struct stamp){ 0 };
}
