/* conn_key - a job's key: made at random, read from 64 hex digits, and written as such. */
#include "base/err.h"
#include "base/io.h"
#include "base/num.h"
#include "wire/conn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int
conn_key_new(uint8_t key[CONN_KEY])
{
	return io_random(key, CONN_KEY);
}

void
conn_key_text(const uint8_t key[CONN_KEY], char text[CONN_KEY_TEXT])
{
	for (int i = 0; i < CONN_KEY; i++)
		snprintf(text + 2 * i, 3, "%02x", key[i]);
}

/* Uses an inherited descriptor directly: if its name were opened again, children would inherit the original. */
static int
open_key(const char *path, int *fd)
{
	static const char inherited[] = "/dev/fd/";
	int64_t n;

	if (strncmp(path, inherited, sizeof(inherited) - 1) == 0) {
		ERR_TRY(num_i64(path + sizeof(inherited) - 1, 0, 1 << 20, &n));
		*fd = (int)n;
		return 0;
	}
	*fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	return *fd < 0 ? err_sys("open") : 0;
}

/* Returns -1 if c is not a digit. */
static int
parse_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' &&
	    c <= 'F' ? c - 'A' + 10 : -1;
}

static int
read_key(int fd, uint8_t key[CONN_KEY])
{
	char text[CONN_KEY_TEXT - 1];
	struct stat st;
	size_t got;
	int bad = 0;

	if (fstat(fd, &st) < 0)
		return err_sys("stat");
	if (S_ISREG(st.st_mode) && (st.st_mode & 077) != 0)
		return err_fail(ERR_AUTH, "other users can access this key (mode %03o; chmod 600 it)",
		    st.st_mode & 0777u);
	ERR_TRY(io_read(fd, text, sizeof(text), &got));
	for (size_t i = 0; i < got; i++) {
		int digit = parse_digit(text[i]);

		bad |= digit < 0;
		key[i / 2] = (uint8_t)(i % 2 == 0 ? 0 : key[i / 2] << 4) | (uint8_t)(digit & 15);
	}
	explicit_bzero(text, sizeof(text));
	if (bad || got < sizeof(text))
		return err_fail(ERR_FORMAT, "a key is 64 hexadecimal digits, as openssl rand -hex 32 prints");
	return 0;
}

int
conn_key_read(const char *path, uint8_t key[CONN_KEY])
{
	int fd, e;

	ERR_TRY(open_key(path, &fd));
	e = read_key(fd, key);
	if (fd > STDERR_FILENO)
		close(fd);
	return e;
}
