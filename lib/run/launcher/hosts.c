/* hosts - a hosts file, read into a list of hosts with places for processes. */
#include "run/launcher/hosts.h"

#include "base/err.h"
#include "base/io.h"
#include "base/num.h"

#include <stdlib.h>

#define NAME_MOST	255	/* RFC 1035 */

/* The characters of a name or an address; none of them is special to a shell. */
static const char name_chars[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:%@";

static int
check_host_name(const char *name)
{
	const char *at = strrchr(name, '@');

	if (strlen(name) > NAME_MOST)
		return err_fail(ERR_LIMIT, "a name longer than %d bytes", NAME_MOST);
	/* A leading '-' would be an option of the remote shell. */
	if (*name == 0 || *name == '-' || *name == '@' || name[strspn(name, name_chars)] != 0 ||
	    (at != NULL && (at[1] == 0 || at[1] == '-' || strchr(name, '@') != at)))
		return err_fail(ERR_FORMAT, "'%.64s' is not a host name", name);
	return 0;
}

/* Parses "name", "name:port" or "[name]:port", each perhaps after user@; a bare IPv6 address has no port. */
static int
parse_host_name(struct host *h, char *word)
{
	char *open = strchr(word, '['), *colon = strrchr(word, ':');
	int64_t port = 0;
	int e;

	if (open != NULL) {
		char *shut = strchr(open, ']');

		if (shut == NULL || (shut[1] != 0 && shut[1] != ':') || (open != word && open[-1] != '@'))
			return err_fail(ERR_FORMAT, "'%.64s' is not [address] or [address]:port", word);
		colon = shut[1] == ':' ? shut + 1 : NULL;
		*shut = 0;
		memmove(open, open + 1, strlen(open + 1) + 1);
	} else if (colon != NULL && strchr(word, ':') != colon) {
		colon = NULL;
	}
	if (colon != NULL) {
		if ((e = num_i64(colon + 1, 1, 65535, &port)) < 0) {
			err_within("port");
			return e;
		}
		*colon = 0;
	}
	h->port = (uint16_t)port;
	h->login = word;
	h->name = strrchr(word, '@') != NULL ? strrchr(word, '@') + 1 : word;
	return check_host_name(word);
}

static int
parse_host_option(struct host *h, char *word)
{
	int64_t v;
	int e;

	if (strncmp(word, "slots=", 6) == 0) {
		if ((e = num_i64(word + 6, 1, HOSTS_SLOTS, &v)) < 0) {
			err_within("slots");
			return e;
		}
		h->slots = (uint32_t)v;
		return 0;
	}
	if (strncmp(word, "addr=", 5) == 0) {
		h->addr = word + 5;
		return strchr(h->addr, '@') == NULL ? check_host_name(h->addr) :
		    err_fail(ERR_FORMAT, "'%.64s' is not an address", h->addr);
	}
	return err_fail(ERR_FORMAT, "'%.64s' is neither slots=N nor addr=ADDRESS", word);
}

static int
parse_host_line(struct hosts *h, char *line)
{
	static const char blanks[] = " \t\r";
	struct host *new = &h->host[h->n];
	char *word, *rest;

	line[strcspn(line, "#")] = 0;
	if ((word = strtok_r(line, blanks, &rest)) == NULL)
		return 0;
	if (h->n == HOSTS_MOST)
		return err_fail(ERR_LIMIT, "more than %u hosts", HOSTS_MOST);
	new->slots = 1;
	ERR_TRY(parse_host_name(new, word));
	while ((word = strtok_r(NULL, blanks, &rest)) != NULL)
		ERR_TRY(parse_host_option(new, word));
	for (uint32_t i = 0; i < h->n; i++)
		if (strcmp(h->host[i].login, new->login) == 0 && h->host[i].port == new->port)
			return err_fail(ERR_FORMAT, "'%s' is already on line %u; slots=N gives it more places",
			    new->login, h->host[i].line);
	h->places += new->slots;
	h->n++;
	return 0;
}

int
hosts_parse(const char *file, const void *text, size_t n, struct hosts *h)
{
	const char *from = text;
	size_t lines = 1;
	char *line, *end;
	int e = 0;

	*h = (struct hosts){ 0 };
	if (n > HOSTS_FILE)
		return err_fail(ERR_LIMIT, "%s: longer than %u bytes", file, HOSTS_FILE);
	for (size_t i = 0; i < n; i++)
		lines += from[i] == '\n';
	h->text = malloc(n + 1);
	h->host = calloc(lines < HOSTS_MOST ? lines : HOSTS_MOST + 1, sizeof(*h->host));
	if (h->text == NULL || h->host == NULL) {
		hosts_free(h);
		return err_nomem();
	}
	if (n > 0)
		memcpy(h->text, text, n);
	h->text[n] = 0;
	line = h->text;
	for (uint32_t i = 1; e == 0 && line <= h->text + n; i++) {
		if ((end = memchr(line, '\n', (size_t)(h->text + n - line))) == NULL)
			end = h->text + n;
		*end = 0;
		h->host[h->n].line = i;
		e = strlen(line) == (size_t)(end - line) ? parse_host_line(h, line) :
		    err_fail(ERR_FORMAT, "a zero byte");
		if (e < 0)
			err_within("%s:%u", file, i);
		line = end + 1;
	}
	if (e == 0 && h->n == 0)
		e = err_fail(ERR_FORMAT, "%s: no hosts; write the name of one on each line", file);
	if (e < 0)
		hosts_free(h);
	return e;
}

void
hosts_free(struct hosts *h)
{
	free(h->host);
	free(h->text);
	*h = (struct hosts){ 0 };
}

uint32_t
hosts_place(const struct hosts *h, uint32_t i)
{
	i %= h->places;
	for (uint32_t slot = 1;; slot++)
		for (uint32_t k = 0; k < h->n; k++)
			if (h->host[k].slots >= slot && i-- == 0)
				return k;
}
