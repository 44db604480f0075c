/* SPDX-License-Identifier: GPL-2.0-only */
#if !defined(_TRACE_KVM_INVLPGB_PASSTHROUGH_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_KVM_INVLPGB_PASSTHROUGH_H

#include <linux/tracepoint.h>

#undef TRACE_SYSTEM
#define TRACE_SYSTEM kvm

/*
 * Tracepoints for a VM that gets a VM-wide ASID, and that gives it back.  The
 * process is the one that has created the VM.
 */
DECLARE_EVENT_CLASS(kvm_vm_asid,
	    TP_PROTO(pid_t pid, unsigned int asid),
	    TP_ARGS(pid, asid),

	TP_STRUCT__entry(
		__field(pid_t, pid)
		__field(unsigned int, asid)
	),

	TP_fast_assign(
		__entry->pid		= pid;
		__entry->asid		= asid;
	),

	TP_printk("pid %d asid %u", __entry->pid, __entry->asid)
);

DEFINE_EVENT(kvm_vm_asid, kvm_vm_asid_alloc,
	    TP_PROTO(pid_t pid, unsigned int asid),
	    TP_ARGS(pid, asid)
);

DEFINE_EVENT(kvm_vm_asid, kvm_vm_asid_free,
	    TP_PROTO(pid_t pid, unsigned int asid),
	    TP_ARGS(pid, asid)
);

/*
 * Tracepoint for a VM none of whose vCPUs executes INVLPGB natively any more,
 * and whether root has ended it or the VM's own process.
 */
TRACE_EVENT(kvm_invlpgb_demote,
	    TP_PROTO(pid_t pid, unsigned int asid, bool root),
	    TP_ARGS(pid, asid, root),

	TP_STRUCT__entry(
		__field(pid_t, pid)
		__field(unsigned int, asid)
		__field(bool, root)
	),

	TP_fast_assign(
		__entry->pid		= pid;
		__entry->asid		= asid;
		__entry->root		= root;
	),

	TP_printk("pid %d asid %u by %s", __entry->pid, __entry->asid,
		  __entry->root ? "root" : "userspace")
);

#endif /* _TRACE_KVM_INVLPGB_PASSTHROUGH_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH ../../arch/x86/kvm/svm
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE invlpgb_passthrough_trace

/* This part must be outside protection */
#include <trace/define_trace.h>
