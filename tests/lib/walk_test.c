/* walk_test - directories are walked in the order of names or in any, and errors are reported. */
#include "base/err.h"
#include "source/walk.h"
#include "pics.h"
#include "tap.h"

/* Returns the paths of a walk, one a line; an error is "! " and its message. */
static const char *
walked(bool sorted)
{
	static char text[4096];
	size_t root = strlen(pics_dir) + 1;
	const char *path;
	struct walk *w;
	int e;

	text[0] = 0;
	if (walk_open(pics_dir, sorted, &w) < 0)
		return "closed";
	while ((e = walk_next(w, &path)) > 0 || e == ERR_ITEM) {
		strcat(text, e > 0 ? path + root : "! ");
		strcat(strcat(text, e > 0 ? "" : err_line() + root), "\n");
	}
	walk_close(w);
	return text;
}

int
main(void)
{
	char cmd[512];
	struct walk *w;

	snprintf(cmd, sizeof(cmd),
	    "cd %s && mkdir -p b/x a .h e && touch b/x/1 b-c b/2 a/10 a/9 .h/3 a/.4 a/A && ln -s ../a b/to-a && "
	    "ln -s . b/loop && ln -s nothing c && mkfifo d", (pics_path(""), pics_dir));
	if (system(cmd) != 0)
		return 1;
	is_str(walked(true),
	    "a/10\na/9\na/A\nb/2\n! b/loop: this link leads back to a directory above it\nb/to-a/10\nb/to-a/9\n"
	    "b/to-a/A\nb/x/1\nb-c\n! c: No such file or directory\n",
	    "a sorted walk follows the order of names");
	is(strlen(walked(false)), strlen(walked(true)), "an unsorted walk finds the same files");
	is(walk_open(pics_path("none"), true, &w), ERR_SYS,
	    "walk_open fails on a missing directory");
	is_str(err_line(), "open: No such file or directory", "the error states the cause");
	ok(w == NULL, "walk_close accepts NULL");
	is(walk_open(pics_path("b-c"), true, &w), ERR_SYS, "walk_open fails on a file");
	walk_close(NULL);
	pics_clean();
	return done();
}
