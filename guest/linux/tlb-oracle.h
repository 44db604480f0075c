/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules by which tlb-workload judges what it reads.
 *
 * Every page has one owner, who changes its mapping, and many visitors, who
 * access it at any time. The owner says what he does in two words per page:
 *
 *   begin   the step that he is about to take, stored before the system call
 *   done    the step whose system call has returned, stored after it
 *
 * A visitor reads done, accesses the page, then reads begin. When both name the
 * same step, no mapping changed during the access, and the outcome is fully
 * determined. When they differ, the access raced with a later step and may show
 * the state before or after it; but what an earlier, finished step took away
 * must never be seen again. Seeing it is a stale translation.
 *
 * Nothing here depends on time, so a verdict is never a matter of luck.
 */
#ifndef TLB_ORACLE_H
#define TLB_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

enum tlb_phase {
	/*
	 * The old content is gone, the new one is not written yet: zeroes and
	 * faults are right, and so is content that already is the new one.
	 */
	TLB_EMPTY,
	/* The page holds its stamp and can be written. */
	TLB_WRITABLE,
	/* The page holds its stamp and cannot be written. */
	TLB_READONLY,
};

/*
 * A step: generation of the content, number of the step, and the phase that it
 * leads to. Both numbers only grow; 31 bits of steps outlast any run.
 */
struct tlb_step {
	uint32_t generation;
	uint32_t number;
	enum tlb_phase phase;
};

static inline uint64_t tlb_step_pack(struct tlb_step step)
{
	return (uint64_t)step.generation << 32 |
	       (uint64_t)(step.number & 0x3fffffff) << 2 | step.phase;
}

static inline struct tlb_step tlb_step_unpack(uint64_t word)
{
	return (struct tlb_step) {
		.generation = word >> 32,
		.number = word >> 2 & 0x3fffffff,
		.phase = word & 3,
	};
}

/*
 * What the owner writes into page PAGE for generation GENERATION. Pages are
 * counted from 1, so that no stamp is zero; TLB_POISON is no page's stamp.
 */
static inline uint64_t tlb_stamp(uint32_t page, uint32_t generation)
{
	return (uint64_t)(page + 1) << 32 | generation;
}

/* What the owner writes into memory that has left the page. */
#define TLB_POISON	0xdeaddeaddeaddeadull

enum tlb_verdict {
	TLB_FINE,
	/* Content of a generation that a finished step discarded. */
	TLB_OLD_CONTENT,
	/* Content of another page, or of memory that was given away. */
	TLB_FOREIGN_CONTENT,
	/* Content that nobody has written yet. */
	TLB_FUTURE_CONTENT,
	/* Zeroes in a page that has content. */
	TLB_LOST_CONTENT,
	/* A write that went through although the page is read-only. */
	TLB_WRITTEN_READONLY,
	/* A fault on a page that allows the access. */
	TLB_WRONG_FAULT,
	TLB_VERDICTS
};

static inline const char *tlb_verdict_name(enum tlb_verdict verdict)
{
	static const char *const names[TLB_VERDICTS] = {
		[TLB_FINE] = "fine",
		[TLB_OLD_CONTENT] = "old content",
		[TLB_FOREIGN_CONTENT] = "content of another page",
		[TLB_FUTURE_CONTENT] = "content not written yet",
		[TLB_LOST_CONTENT] = "content lost",
		[TLB_WRITTEN_READONLY] = "wrote to a read-only page",
		[TLB_WRONG_FAULT] = "fault on an accessible page",
	};

	return names[verdict];
}

static inline bool tlb_settled(struct tlb_step done, struct tlb_step begin)
{
	return begin.number == done.number && done.phase != TLB_EMPTY;
}

/* Judge a read that gave VALUE. */
static inline enum tlb_verdict tlb_judge_read(uint32_t page, uint64_t done_word,
					      uint64_t value,
					      uint64_t begin_word)
{
	struct tlb_step done = tlb_step_unpack(done_word);
	struct tlb_step begin = tlb_step_unpack(begin_word);
	uint32_t generation = (uint32_t)value;

	if (value == 0)
		return tlb_settled(done, begin) ? TLB_LOST_CONTENT : TLB_FINE;
	if (value != tlb_stamp(page, generation))
		return TLB_FOREIGN_CONTENT;
	if (generation < done.generation)
		return TLB_OLD_CONTENT;
	if (generation > begin.generation)
		return TLB_FUTURE_CONTENT;
	return TLB_FINE;
}

/* Judge a write that went through. */
static inline enum tlb_verdict tlb_judge_write(uint64_t done_word,
					       uint64_t begin_word)
{
	struct tlb_step done = tlb_step_unpack(done_word);
	struct tlb_step begin = tlb_step_unpack(begin_word);

	return tlb_settled(done, begin) && done.phase == TLB_READONLY ?
	       TLB_WRITTEN_READONLY : TLB_FINE;
}

/* Judge a read or a write that faulted. */
static inline enum tlb_verdict tlb_judge_fault(bool write, uint64_t done_word,
					       uint64_t begin_word)
{
	struct tlb_step done = tlb_step_unpack(done_word);
	struct tlb_step begin = tlb_step_unpack(begin_word);

	if (!tlb_settled(done, begin))
		return TLB_FINE;
	return write && done.phase == TLB_READONLY ? TLB_FINE : TLB_WRONG_FAULT;
}

#endif
