# SPDX-License-Identifier: GPL-2.0-or-later
#
# Count the results in the TAP of a suite that ended with "status": passed, failed,
# skipped. A suite that died, planned another number of tests or had none has failed
# once more, and a skip without a reason is a failure.

/^ok / {
	results++
	if (toupper($0) !~ /# SKIP/)
		passed++
	else if (toupper($0) ~ /# SKIP[^ ]* +[^ ]/)
		skipped++
	else
		failed++
}
/^not ok / { results++; failed++ }
/^1\.\.[0-9]+/ { plan = substr($1, 4) }
/^Bail out!/ { bail = 1 }

END {
	if (plan != results || bail || (status && !failed) || !results)
		failed++
	print passed + 0, failed + 0, skipped + 0
}
