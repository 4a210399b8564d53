/* Stacks of their own for fibers, and going from one to another. For one source file. */
#ifndef SHARDLAB_CUDA_EMULATE_STACK_H
#define SHARDLAB_CUDA_EMULATE_STACK_H

#include <cstddef>

#if defined(__x86_64__)

/* A stack pointer is all: what a function must leave as it was lies on the stack. swapcontext() would do too, but asks
 * the kernel for the signal mask each time. */
struct stack_state {
	void *pointer;
};

extern "C" void emulate_switch_stack(void **from, void *to);
asm(".text\n"
    ".globl emulate_switch_stack\n"
    ".type emulate_switch_stack, @function\n"
    "emulate_switch_stack:\n"
    "	push %rbp\n	push %rbx\n	push %r12\n	push %r13\n	push %r14\n	push %r15\n"
    "	mov %rsp, (%rdi)\n"
    "	mov %rsi, %rsp\n"
    "	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbx\n	pop %rbp\n"
    "	ret\n"
    ".size emulate_switch_stack, .-emulate_switch_stack\n");

static void stack_switch(stack_state *from, stack_state *to)
{
	emulate_switch_stack(&from->pointer, to->pointer);
}

static void stack_begin(stack_state *s, char *memory, size_t bytes, void (*function)())
{
	void **top = reinterpret_cast<void **>(memory + bytes);
	*--top = nullptr; /* where a caller's address would be: at a function's entry it is 8 below a multiple of 16 */
	*--top = reinterpret_cast<void *>(function);
	for (int i = 0; i < 6; i++)
		*--top = nullptr;
	s->pointer = top;
}

#else

#include <ucontext.h>

struct stack_state {
	ucontext_t context;
};

static void stack_switch(stack_state *from, stack_state *to)
{
	swapcontext(&from->context, &to->context);
}

static void stack_begin(stack_state *s, char *memory, size_t bytes, void (*function)())
{
	getcontext(&s->context);
	s->context.uc_stack.ss_sp = memory;
	s->context.uc_stack.ss_size = bytes;
	s->context.uc_link = nullptr;
	makecontext(&s->context, function, 0);
}

#endif

#endif
