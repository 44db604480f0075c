// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The oracle's verdict on each outcome of an access: before, while and after the
 * owner replaces a page's content or makes it read-only.
 */
#include <stdio.h>

#include "../../guest/linux/tlb-oracle.h"

#define PAGE	7

static unsigned int tests, failed;

static void expect(const char *what, enum tlb_verdict got,
		   enum tlb_verdict wanted)
{
	tests++;
	printf("%s %u - %s: %s\n", got == wanted ? "ok" : "not ok", tests, what,
	       tlb_verdict_name(wanted));
	if (got != wanted) {
		failed++;
		printf("# got: %s\n", tlb_verdict_name(got));
	}
}

static uint64_t step(uint32_t generation, uint32_t number, enum tlb_phase phase)
{
	return tlb_step_pack((struct tlb_step){ generation, number, phase });
}

int main(void)
{
	/* The content of generation 4 stands; its replacement is step 9. */
	const uint64_t before = step(4, 8, TLB_WRITABLE);
	const uint64_t empty = step(5, 9, TLB_EMPTY);
	const uint64_t after = step(5, 9, TLB_WRITABLE);
	/* Or step 9 makes it read-only, and step 10 writable again. */
	const uint64_t readonly = step(4, 9, TLB_READONLY);
	const uint64_t writable = step(4, 10, TLB_WRITABLE);
	const uint64_t old = tlb_stamp(PAGE, 4), new = tlb_stamp(PAGE, 5);
	struct tlb_step far = tlb_step_unpack(step(0xffffffff, 0x3fffffff,
						   TLB_READONLY));

	expect("settled page, its content",
	       tlb_judge_read(PAGE, before, old, before), TLB_FINE);
	expect("settled page, zero",
	       tlb_judge_read(PAGE, before, 0, before), TLB_LOST_CONTENT);
	expect("settled page, earlier content",
	       tlb_judge_read(PAGE, before, tlb_stamp(PAGE, 3), before),
	       TLB_OLD_CONTENT);
	expect("settled page, later content",
	       tlb_judge_read(PAGE, before, new, before), TLB_FUTURE_CONTENT);
	expect("settled page, content of the next page",
	       tlb_judge_read(PAGE, before, tlb_stamp(PAGE + 1, 4), before),
	       TLB_FOREIGN_CONTENT);
	expect("settled page, memory that was given away",
	       tlb_judge_read(PAGE, before, TLB_POISON, before),
	       TLB_FOREIGN_CONTENT);
	expect("settled page, read faults",
	       tlb_judge_fault(false, before, before), TLB_WRONG_FAULT);
	expect("settled page, write faults",
	       tlb_judge_fault(true, before, before), TLB_WRONG_FAULT);
	expect("settled page, write succeeds",
	       tlb_judge_write(before, before), TLB_FINE);

	expect("replacement began during the read, old content",
	       tlb_judge_read(PAGE, before, old, empty), TLB_FINE);
	expect("replacement began during the read, zero",
	       tlb_judge_read(PAGE, before, 0, empty), TLB_FINE);
	expect("replacement began during the read, new content",
	       tlb_judge_read(PAGE, before, new, empty), TLB_FINE);
	expect("replacement began during the read, content before the old one",
	       tlb_judge_read(PAGE, before, tlb_stamp(PAGE, 3), empty),
	       TLB_OLD_CONTENT);
	expect("replacement began during the read, memory that was given away",
	       tlb_judge_read(PAGE, before, TLB_POISON, empty),
	       TLB_FOREIGN_CONTENT);
	expect("replacement began during the read, read faults",
	       tlb_judge_fault(false, before, empty), TLB_FINE);

	expect("emptied page, old content",
	       tlb_judge_read(PAGE, empty, old, empty), TLB_OLD_CONTENT);
	expect("emptied page, zero",
	       tlb_judge_read(PAGE, empty, 0, empty), TLB_FINE);
	expect("emptied page, new content",
	       tlb_judge_read(PAGE, empty, new, empty), TLB_FINE);
	expect("emptied page, read faults",
	       tlb_judge_fault(false, empty, empty), TLB_FINE);
	expect("emptied page, write succeeds",
	       tlb_judge_write(empty, empty), TLB_FINE);

	expect("replaced page, old content",
	       tlb_judge_read(PAGE, after, old, after), TLB_OLD_CONTENT);
	expect("replaced page, new content",
	       tlb_judge_read(PAGE, after, new, after), TLB_FINE);
	expect("replaced page, zero",
	       tlb_judge_read(PAGE, after, 0, after), TLB_LOST_CONTENT);

	expect("protection began during the write, write succeeds",
	       tlb_judge_write(before, readonly), TLB_FINE);
	expect("protection began during the write, write faults",
	       tlb_judge_fault(true, before, readonly), TLB_FINE);
	expect("read-only page, write succeeds",
	       tlb_judge_write(readonly, readonly), TLB_WRITTEN_READONLY);
	expect("read-only page, write faults",
	       tlb_judge_fault(true, readonly, readonly), TLB_FINE);
	expect("read-only page, read faults",
	       tlb_judge_fault(false, readonly, readonly), TLB_WRONG_FAULT);
	expect("read-only page, its content",
	       tlb_judge_read(PAGE, readonly, old, readonly), TLB_FINE);
	expect("protection ended during the write, write succeeds",
	       tlb_judge_write(readonly, writable), TLB_FINE);
	expect("protection ended during the write, write faults",
	       tlb_judge_fault(true, readonly, writable), TLB_FINE);
	expect("writable again, write faults",
	       tlb_judge_fault(true, writable, writable), TLB_WRONG_FAULT);

	tests++;
	if (far.generation != 0xffffffff || far.number != 0x3fffffff ||
	    far.phase != TLB_READONLY) {
		printf("not ");
		failed++;
	}
	printf("ok %u - a step's fields keep apart at their largest values\n",
	       tests);
	printf("1..%u\n", tests);
	return failed != 0;
}
