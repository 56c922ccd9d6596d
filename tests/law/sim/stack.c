/* stack - stacks between which one thread switches. */
#include "law/sim/stack.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Of the address sanitizer's library, which not every compiler brings; NULL where it is not linked. */
__attribute__((weak)) void __sanitizer_start_switch_fiber(void **save, const void *base, size_t size);
__attribute__((weak)) void __sanitizer_finish_switch_fiber(void *saved, const void **base, size_t *size);
__attribute__((weak)) void __asan_unpoison_memory_region(const volatile void *p, size_t n);

#define SIZE	(256u << 10)

/* The loop of turns. */
static struct {
	jmp_buf		 place;
	const void	*base;
	size_t		 size;
} turns;

/* The next jump goes to another stack, as a sanitizer has to know. */
static void
announce_stack(const void *base, size_t size)
{
	if (__sanitizer_start_switch_fiber != NULL)
		__sanitizer_start_switch_fiber(NULL, base, size);
}

/* The jump has arrived, from the stack at *base. */
static void
note_arrival(const void **base, size_t *size)
{
	if (__sanitizer_finish_switch_fiber != NULL)
		__sanitizer_finish_switch_fiber(NULL, base, size);
}

void
stack_make(struct stack *s, void (*fn)(void))
{
	if (s->base == NULL &&
	    (s->base = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) == MAP_FAILED)
		abort();
	/* A sanitizer is not to confuse its frames with those of the function before. */
	if (__asan_unpoison_memory_region != NULL)
		__asan_unpoison_memory_region(s->base, SIZE);
	s->begun = false;
	getcontext(&s->context);
	s->context.uc_stack = (stack_t){ .ss_sp = s->base, .ss_size = SIZE };
	s->context.uc_link = NULL;
	makecontext(&s->context, fn, 0);
}

void
stack_enter(struct stack *s)
{
	const void *from;
	size_t size;

	if (_setjmp(turns.place) != 0) {
		note_arrival(&from, &size);
		return;
	}
	announce_stack(s->base, SIZE);
	if (s->begun)
		_longjmp(s->place, 1);
	s->begun = true;
	setcontext(&s->context);
}

void
stack_leave(struct stack *s)
{
	if (_setjmp(s->place) == 0) {
		announce_stack(turns.base, turns.size);
		_longjmp(turns.place, 1);
	}
	stack_arrive();
}

void
stack_arrive(void)
{
	note_arrival(&turns.base, &turns.size);
}
