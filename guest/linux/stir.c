// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * stir: in L1, disturb guests at random.
 *
 *   stir SEED PID...
 *
 * Moves the vCPU threads of QEMU processes, which have to run with debug-threads=on, from CPU
 * to CPU, and has the kernel move all memory together now and then. Ends when the last of the
 * processes has ended, and prints "vmN moves COUNT" for the Nth one.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_VCPUS	64
/* Between two actions. */
#define PAUSE_NS	(5 * 1000 * 1000)
/* So many moves of vCPUs for one of memory. */
#define MOVES		50

struct guest {
	pid_t pid;
	pid_t vcpu[MAX_VCPUS];
	int vcpus;
	unsigned long moves;
};

static unsigned int below(unsigned int limit)
{
	return random() % limit;
}

static bool is_vcpu(pid_t pid, const char *task)
{
	char path[300], name[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/comm", pid, task);
	file = fopen(path, "r");
	if (!file)
		return false;
	if (!fgets(name, sizeof(name), file))
		name[0] = '\0';
	fclose(file);
	return !strncmp(name, "CPU ", 4);
}

static void find_vcpus(struct guest *guest)
{
	struct dirent *entry;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", guest->pid);
	dir = opendir(path);
	if (!dir)
		err(1, "%s", path);
	while ((entry = readdir(dir)) && guest->vcpus < MAX_VCPUS) {
		if (isdigit(entry->d_name[0]) && is_vcpu(guest->pid, entry->d_name))
			guest->vcpu[guest->vcpus++] = atoi(entry->d_name);
	}
	closedir(dir);
	if (!guest->vcpus)
		errx(1, "process %d has no vCPU threads", guest->pid);
}

/* Whether the guest is still there. */
static bool move(struct guest *guest, unsigned int cpus)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(below(cpus), &set);
	if (sched_setaffinity(guest->vcpu[below(guest->vcpus)], sizeof(set), &set)) {
		if (errno != ESRCH)
			err(1, "sched_setaffinity");
		return false;
	}
	guest->moves++;
	return true;
}

static void compact_memory(void)
{
	static const char path[] = "/proc/sys/vm/compact_memory";
	int file = open(path, O_WRONLY);

	if (file < 0 || write(file, "1", 1) != 1)
		err(1, "%s", path);
	close(file);
}

int main(int argc, char **argv)
{
	unsigned int cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int count = argc - 2, left, i;
	struct guest *guests;

	if (count < 1)
		errx(1, "usage: stir SEED PID...");
	srandom(strtoul(argv[1], NULL, 0));
	guests = calloc(count, sizeof(*guests));
	for (i = 0; i < count; i++) {
		guests[i].pid = atoi(argv[2 + i]);
		find_vcpus(&guests[i]);
	}

	for (left = (1 << count) - 1; left;) {
		i = below(count);
		if (left & 1 << i && !move(&guests[i], cpus))
			left &= ~(1 << i);
		if (below(MOVES) == 0)
			compact_memory();
		nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
	}

	for (i = 0; i < count; i++)
		printf("vm%d moves %lu\n", i + 1, guests[i].moves);
	return 0;
}
