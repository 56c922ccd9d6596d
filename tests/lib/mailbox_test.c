/* mailbox_test - a request and its answer pass between two mappings of one memory, and outlive both. */
#include "tap.h"

#include "ps/mailbox.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char text[SETTINGS_TEXT], why[ERR_LINE];
static uint64_t id, from;

static void
test_question(struct mailbox *agent, struct mailbox *worker)
{
	ok(!mailbox_next(worker, &id, text), "an empty mailbox has no request");
	mailbox_ask(agent, 7, "lr=0.5");
	ok(mailbox_next(worker, &id, text) && id == 7, "the worker finds a request");
	is_str(text, "lr=0.5", "the request has its text");
	mailbox_ask(agent, 7, "lr=0.75");
	ok(mailbox_next(worker, &id, text) && strcmp(text, "lr=0.5") == 0, "a repetition changes nothing");
	ok(!mailbox_answer(agent, 7, &from, why), "nothing is answered yet");
}

static void
test_answer(struct mailbox *agent, struct mailbox *worker)
{
	mailbox_settle(worker, 7, 120, NULL);
	ok(!mailbox_next(worker, &id, text), "a request that was answered is not found again");
	ok(mailbox_answer(agent, 7, &from, why) && from == 120, "the agent finds the answer and its step");
	is_str(why, "", "the answer gives no reason");
	ok(!mailbox_answer(agent, 8, &from, why), "another request has no answer");
	mailbox_ask(agent, 8, "slack=2");
	ok(mailbox_next(worker, &id, text) && id == 8, "the next request is found");
	ok(!mailbox_answer(agent, 8, &from, why), "the answer before is not taken for its answer");
	mailbox_settle(worker, 8, 0, "no slack here");
	ok(mailbox_answer(agent, 8, &from, why), "a refusal is an answer");
	is_str(why, "no slack here", "the refusal has its reason");
}

/* Whoever shares the memory may write anything there, or die while it writes. */
static void
test_halves(struct mailbox *agent, struct mailbox *worker)
{
	agent->page->asked = 0;
	ok(!mailbox_next(worker, &id, text), "a request that is being written is not found");
	memset(agent->page->text, 'x', sizeof(agent->page->text));
	agent->page->asked = 9;
	ok(mailbox_next(worker, &id, text) && strlen(text) == SETTINGS_TEXT - 1, "a text without an end is cut");
	worker->page->answered = 0;
	ok(!mailbox_answer(agent, 9, &from, why), "an answer that is being written is not found");
	memset(worker->page->why, 'y', sizeof(worker->page->why));
	worker->page->answered = 9;
	ok(mailbox_answer(agent, 9, &from, why) && strlen(why) == ERR_LINE - 1, "a reason without an end is cut");
}

static void
test_successors(int fd)
{
	struct mailbox m;

	is(mailbox_open(fd, &m), 0, "a successor opens the mailbox");
	mailbox_ask(&m, 10, "wd=0.25");
	mailbox_close(&m);
	ok(m.page == NULL, "a mailbox that was closed has no page");
	mailbox_close(&m);
	is(mailbox_open(fd, &m), 0, "a second successor opens the mailbox");
	ok(mailbox_next(&m, &id, text) && id == 10 && strcmp(text, "wd=0.25") == 0,
	    "a successor finds the request that its predecessor did not answer");
	mailbox_close(&m);
}

static void
test_others(int fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), open_ended = memfd_create("tally-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct mailbox m;

	ok(ftruncate(fd, 1) < 0 && ftruncate(fd, 1 << 20) < 0, "nobody changes the size of a mailbox");
	ok(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) < 0, "nobody seals it further");
	is(mailbox_open(null, &m), ERR_FORMAT, "another file is refused");
	ok(m.page == NULL, "another file is not mapped");
	is(ftruncate(open_ended, sizeof(struct mailbox_page)), 0, "a memory has the size of a mailbox");
	is(mailbox_open(open_ended, &m), ERR_FORMAT, "a memory that somebody may shrink is refused");
	close(null);
	close(open_ended);
	is(mailbox_open(null, &m), ERR_SYS, "a descriptor that is closed is refused");
}

int
main(void)
{
	struct mailbox agent, worker;
	int fd;

	is(mailbox_make(&fd), 0, "a mailbox is made");
	is(mailbox_open(fd, &agent), 0, "the agent opens it");
	is(mailbox_open(fd, &worker), 0, "the worker opens it");
	test_question(&agent, &worker);
	test_answer(&agent, &worker);
	test_halves(&agent, &worker);
	mailbox_close(&agent);
	mailbox_close(&worker);
	test_successors(fd);
	test_others(fd);
	close(fd);
	return done();
}
