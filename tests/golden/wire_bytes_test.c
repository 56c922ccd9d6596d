/* wire_bytes_test - the bytes of every message, and of several messages on a connection. */
#include "lib/ends.h"
#include "tap.h"
#include "wire/tls.h"

static const char *
hex(const uint8_t *p, size_t n)
{
	static char text[1024];

	text[0] = 0;
	for (size_t i = 0; i < n && i < 500; i++)
		snprintf(text + i * 2, 3, "%02x", p[i]);
	return text;
}

/* length type flags | incarnation | step | worker slice samples rate */
static const struct { struct msg m; const char *name, *bytes; } golden[] = {
	{ { .type = MSG_HELLO, .incarnation = 0x0102030405060708, .worker = 3, .len = 18 }, "HELLO",
	    "1200000001000000" "0807060504030201" "0000000000000000" "03000000" "00000000" "00000000" "00000000" },
	{ { .type = MSG_WELCOME, .flags = MSG_EMPTY, .step = 258 }, "WELCOME",
	    "0000000002000200" "0000000000000000" "0201000000000000" "00000000" "00000000" "00000000" "00000000" },
	{ { .type = MSG_REFUSE, .len = 5 }, "REFUSE",
	    "0500000003000000" "0000000000000000" "0000000000000000" "00000000" "00000000" "00000000" "00000000" },
	{ { .type = MSG_INIT, .flags = MSG_STATE_OF, .slice = 7, .len = 1u << 20 }, "INIT",
	    "0000100004000100" "0000000000000000" "0000000000000000" "00000000" "07000000" "00000000" "00000000" },
	{ { .type = MSG_PUSH, .incarnation = 1, .step = 1000, .worker = 1, .slice = 0x01020304, .samples = 128, .rate = 0.1f,
	    .len = MSG_MOST }, "PUSH",
	    "0000000105000000" "0100000000000000" "e803000000000000" "01000000" "04030201" "80000000" "cdcccc3d" },
	{ { .type = MSG_WEIGHTS, .flags = MSG_LAST, .step = 0xffffffffffffffff, .len = 4 }, "WEIGHTS",
	    "0400000006000400" "0000000000000000" "ffffffffffffffff" "00000000" "00000000" "00000000" "00000000" },
	{ { .type = MSG_SUM, .worker = 65535, .len = 8 }, "SUM",
	    "0800000007000000" "0000000000000000" "0000000000000000" "ffff0000" "00000000" "00000000" "00000000" },
	{ { .type = MSG_TOTAL, .len = 2048 }, "TOTAL",
	    "0008000008000000" "0000000000000000" "0000000000000000" "00000000" "00000000" "00000000" "00000000" },
	{ { .type = MSG_PULL, .flags = MSG_STATE_OF, .slice = 1 }, "PULL",
	    "0000000009000100" "0000000000000000" "0000000000000000" "00000000" "01000000" "00000000" "00000000" },
	{ { .type = MSG_STATE, .slice = 1, .rate = -1, .len = 12 }, "STATE",
	    "0c0000000a000000" "0000000000000000" "0000000000000000" "00000000" "01000000" "00000000" "000080bf" },
	{ { .type = MSG_STOP, .step = 9 }, "STOP",
	    "000000000b000000" "0000000000000000" "0900000000000000" "00000000" "00000000" "00000000" "00000000" },
	{ { .type = MSG_BYE, .samples = 0xffffffff }, "BYE",
	    "000000000c000000" "0000000000000000" "0000000000000000" "00000000" "00000000" "ffffffff" "00000000" },
	{ { .type = MSG_OPEN }, "OPEN",
	    "000000000d000000" "0000000000000000" "0000000000000000" "00000000" "00000000" "00000000" "00000000" },
	{ { .type = MSG_HOLDS, .step = 50000, .len = 8 }, "HOLDS",
	    "080000000e000000" "0000000000000000" "50c3000000000000" "00000000" "00000000" "00000000" "00000000" },
	{ { .type = MSG_ASK, .len = 128 * 8 }, "ASK",
	    "000400000f000000" "0000000000000000" "0000000000000000" "00000000" "00000000" "00000000" "00000000" },
	{ { .type = MSG_RECORD, .step = 7, .slice = 1u << 18, .samples = 300000, .len = 37856 }, "RECORD",
	    "e093000010000000" "0000000000000000" "0700000000000000" "00000000" "00000400" "e0930400" "00000000" },
	{ { .type = MSG_NORMS, .step = 5, .worker = 2, .len = 160 }, "NORMS",
	    "a000000011000000" "0000000000000000" "0500000000000000" "02000000" "00000000" "00000000" "00000000" },
	{ { .type = MSG_EPOCH, .worker = 2, .step = 3 }, "EPOCH",
	    "0000000012000000" "0000000000000000" "0300000000000000" "02000000" "00000000" "00000000" "00000000" },
	{ { .type = MSG_PING, .incarnation = 9, .worker = 1, .step = 40 }, "PING",
	    "0000000013000000" "0900000000000000" "2800000000000000" "01000000" "00000000" "00000000" "00000000" },
	{ { .type = MSG_WAIT, .worker = 1, .slice = 2 }, "WAIT",
	    "0000000014000000" "0000000000000000" "0000000000000000" "01000000" "02000000" "00000000" "00000000" },
	{ { .type = MSG_SHM, .len = 48 }, "SHM",
	    "3000000015000000" "0000000000000000" "0000000000000000" "00000000" "00000000" "00000000" "00000000" },
	{ { .type = MSG_DEAL, .worker = 1, .step = 300, .samples = 4 }, "DEAL",
	    "0000000016000000" "0000000000000000" "2c01000000000000" "01000000" "00000000" "04000000" "00000000" },
	{ { .type = MSG_UCX, .len = 300 }, "UCX",
	    "2c01000017000000" "0000000000000000" "0000000000000000" "00000000" "00000000" "00000000" "00000000" },
	{ { .type = MSG_SET, .flags = MSG_EMPTY, .len = 56 }, "SET",
	    "3800000018000200" "0000000000000000" "0000000000000000" "00000000" "00000000" "00000000" "00000000" },
	{ { .type = MSG_CLASSES, .slice = 1u << 18, .samples = 300000, .len = 37856 }, "CLASSES",
	    "e093000019000000" "0000000000000000" "0000000000000000" "00000000" "00000400" "e0930400" "00000000" },
};

#define GOLDEN (sizeof(golden) / sizeof(golden[0]))

static void
test_heads(void)
{
	uint8_t head[MSG_HEAD];

	is(GOLDEN, MSG_TYPES - 1, "every type of message has its bytes here");
	for (size_t i = 0; i < GOLDEN; i++) {
		msg_head(&golden[i].m, head);
		is_str(hex(head, MSG_HEAD), golden[i].bytes, "%s has its bytes", golden[i].name);
		is_str(msg_name(golden[i].m.type), golden[i].name, "%s has its name", golden[i].name);
	}
}

/* After the handshake a connection carries headers and payloads without a byte between them. */
static void
test_stream(void)
{
	static const uint8_t key[CONN_KEY];
	const size_t total = 2 * MSG_HEAD + 5;
	uint8_t bytes[1024];
	size_t have = 0, got = 0;
	struct ends e;
	struct tls *t;
	int fd = ends_stranger(&e, key);

	tls_new(fd, false, key, CONN_WORKER, &t);
	conn_send(e.b, &(struct msg){ .type = MSG_REFUSE, .len = 5, .payload = "no no" });
	conn_send(e.b, &(struct msg){ .type = MSG_BYE });
	for (double start = clk_s(); have < total && clk_s() - start < PATIENCE_S; have += got) {
		ends_step(e.b, &e.eb, e.lb);
		got = 0;
		if (tls_shake(t) == 1) {
			tls_allow(t, sizeof(bytes));
			tls_read(t, bytes + have, sizeof(bytes) - have, &got);
		}
	}
	is(have, total, "two messages on a connection have no bytes between them");
	is_str(hex(bytes, have),
	    "0500000003000000" "0000000000000000" "0000000000000000" "00000000" "00000000" "00000000" "00000000" "6e6f206e6f"
	    "000000000c000000" "0000000000000000" "0000000000000000" "00000000" "00000000" "00000000" "00000000",
	    "two messages on a connection have their bytes, one after the other");
	tls_free(t);
	close(fd);
	ends_close(&e);
}

int
main(void)
{
	test_heads();
	test_stream();
	return done();
}
