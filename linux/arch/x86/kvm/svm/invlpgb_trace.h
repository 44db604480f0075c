/* SPDX-License-Identifier: GPL-2.0-only */
#if !defined(_TRACE_KVM_INVLPGB_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_KVM_INVLPGB_H

#include <linux/tracepoint.h>

#undef TRACE_SYSTEM
#define TRACE_SYSTEM kvm

/*
 * Tracepoint for INVLPGB exits.  The vector is that of the exception which the
 * guest got instead of the invalidation, or -1.
 */
TRACE_EVENT(kvm_invlpgb,
	    TP_PROTO(unsigned int vcpu_id, unsigned long rip, unsigned long rax,
		     u32 ecx, u32 edx, int vector),
	    TP_ARGS(vcpu_id, rip, rax, ecx, edx, vector),

	TP_STRUCT__entry(
		__field(unsigned int, vcpu_id)
		__field(unsigned long, rip)
		__field(unsigned long, rax)
		__field(u32, ecx)
		__field(u32, edx)
		__field(int, vector)
	),

	TP_fast_assign(
		__entry->vcpu_id	= vcpu_id;
		__entry->rip		= rip;
		__entry->rax		= rax;
		__entry->ecx		= ecx;
		__entry->edx		= edx;
		__entry->vector		= vector;
	),

	TP_printk("vcpu %u rip 0x%lx rax 0x%lx (%s) ecx 0x%x edx 0x%x vector %d",
		  __entry->vcpu_id, __entry->rip, __entry->rax,
		  __print_flags(__entry->rax & 0x3f, "|",
				{ 0x01, "va" }, { 0x02, "pcid" },
				{ 0x04, "asid" }, { 0x08, "global" },
				{ 0x10, "final" }, { 0x20, "nested" }),
		  __entry->ecx, __entry->edx, __entry->vector)
);

/*
 * Tracepoint for TLBSYNC exits.  If not done, the guest executes it again.
 */
TRACE_EVENT(kvm_tlbsync,
	    TP_PROTO(unsigned int vcpu_id, unsigned long rip, bool done),
	    TP_ARGS(vcpu_id, rip, done),

	TP_STRUCT__entry(
		__field(unsigned int, vcpu_id)
		__field(unsigned long, rip)
		__field(bool, done)
	),

	TP_fast_assign(
		__entry->vcpu_id	= vcpu_id;
		__entry->rip		= rip;
		__entry->done		= done;
	),

	TP_printk("vcpu %u rip 0x%lx %s", __entry->vcpu_id, __entry->rip,
		  __entry->done ? "done" : "retry")
);

#endif /* _TRACE_KVM_INVLPGB_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH ../../arch/x86/kvm/svm
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE invlpgb_trace

/* This part must be outside protection */
#include <trace/define_trace.h>
