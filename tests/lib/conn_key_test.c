/* conn_key_test - keys from chance, files and inherited descriptors; none from what others may read. */
#include "base/err.h"
#include "base/io.h"
#include "tap.h"
#include "wire/conn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char digits[] = "000102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1D1E1F";
static char path[64];

static int
read_file(const char *text, mode_t mode, uint8_t key[CONN_KEY])
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	io_write(fd, text, strlen(text));
	fchmod(fd, mode);
	close(fd);
	return conn_key_read(path, key);
}

static int
counted(const uint8_t key[CONN_KEY])
{
	for (int i = 0; i < CONN_KEY; i++)
		if (key[i] != i)
			return 0;
	return 1;
}

static void
test_files(void)
{
	uint8_t key[CONN_KEY] = { 0 };
	char text[200];

	ok(read_file(digits, 0600, key) == 0 && counted(key), "64 digits, large or small");
	snprintf(text, sizeof(text), "%s\n# a comment\n", digits);
	memset(key, 0, sizeof(key));
	ok(read_file(text, 0400, key) == 0 && counted(key), "text after the digits is not read");
	is(read_file("00010203", 0600, key), ERR_FORMAT, "fewer digits are refused");
	is(read_file("", 0600, key), ERR_FORMAT, "an empty file is refused");
	snprintf(text, sizeof(text), "0x%s", digits);
	is(read_file(text, 0600, key), ERR_FORMAT, "text before the digits is refused");
	snprintf(text, sizeof(text), "g%s", digits);
	is(read_file(text, 0600, key), ERR_FORMAT, "other characters are refused at any place");
	is(read_file(digits, 0640, key), ERR_AUTH, "a key that the group may read is refused");
	is(read_file(digits, 0602, key), ERR_AUTH, "a key that others may change is refused");
	ok(strstr(err_line(), "602") != NULL && strstr(err_line(), "chmod 600") != NULL,
	    "the line says how to protect a key: %s", err_line());
	unlink(path);
	is(conn_key_read(path, key), ERR_SYS, "no file, no key");
}

static void
test_descriptors(void)
{
	uint8_t key[CONN_KEY] = { 0 };
	char name[32];
	int fd[2];

	if (pipe(fd) < 0)
		printf("Bail out! pipe\n"), exit(1);
	io_write(fd[1], digits, 64);
	snprintf(name, sizeof(name), "/dev/fd/%d", fd[0]);
	ok(conn_key_read(name, key) == 0 && counted(key), "a key is read from a pipe whose other end stays open");
	ok(fcntl(fd[0], F_GETFD) == -1 && errno == EBADF, "the pipe is closed, so that no child inherits it");
	close(fd[1]);
	is(conn_key_read(name, key), ERR_SYS, "a descriptor that is not open is refused");
	is(conn_key_read("/dev/fd/x", key), ERR_FORMAT, "a descriptor that is not a number is refused");
	is(conn_key_read("/dev/fd/", key), ERR_FORMAT, "/dev/fd/ without a number is refused");
}

int
main(void)
{
	uint8_t a[CONN_KEY], b[CONN_KEY];
	char text[CONN_KEY_TEXT], dir[] = "/tmp/tally.XXXXXX";

	if (mkdtemp(dir) == NULL)
		return 1;
	snprintf(path, sizeof(path), "%s/key", dir);
	is(conn_key_new(a), 0, "a key is made");
	is(conn_key_new(b), 0, "a second key is made");
	ok(memcmp(a, b, sizeof(a)) != 0, "two new keys differ");
	conn_key_text(a, text);
	is(strlen(text), 64, "the text of a key has 64 digits");
	ok(read_file(text, 0600, b) == 0 && memcmp(a, b, sizeof(a)) == 0, "the text of a key is read as the same key");
	test_files();
	test_descriptors();
	rmdir(dir);
	return done();
}
