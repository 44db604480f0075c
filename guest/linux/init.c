// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * init: process 1 of the lab's Linux machines.
 *
 * Runs one command, the words after "--" on the kernel's command line, and
 * powers the machine off. Each line that the command prints goes through
 * /dev/kmsg, so that it reaches the console whole, never in the middle of a
 * line of the kernel's: "<14>[   1.234567] lab: TEXT" with
 * console_msg_format=syslog, where the kernel's own lines start with <0> to <7>.
 *
 * The last line says how the command ended: "lab: exit status N".
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The kernel refuses records above 1024 bytes. */
#define LINE_MAX_BYTES	900

static int kmsg = -1;

static void say(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

static void say(const char *format, ...)
{
	char line[LINE_MAX_BYTES + 64];
	va_list args;
	int prefix, length;

	/* 14: facility "user", priority "info". */
	prefix = sprintf(line, "<14>lab: ");
	va_start(args, format);
	length = vsnprintf(line + prefix, sizeof(line) - prefix, format, args);
	va_end(args);
	if (write(kmsg, line, prefix + length) < 0)
		perror("/dev/kmsg");
}

static void __attribute__((noreturn)) power_off(void)
{
	sync();
	reboot(RB_POWER_OFF);
	/* Only if process 1 is somebody else. */
	perror("reboot");
	exit(1);
}

static void need(int ok, const char *what)
{
	if (ok)
		return;
	say("init: %s: %s", what, strerror(errno));
	power_off();
}

static void mount_at(const char *type, const char *where)
{
	mkdir(where, 0755);
	need(mount(type, where, type, 0, NULL) == 0, where);
}

/* Pass on what the command prints, line by line, until it closes its end. */
static void log_lines(int from)
{
	char line[LINE_MAX_BYTES + 1];
	size_t used = 0;
	ssize_t got;

	while ((got = read(from, line + used, LINE_MAX_BYTES - used)) > 0) {
		char *at = line, *end;

		used += got;
		line[used] = '\0';
		while ((end = memchr(at, '\n', line + used - at)) != NULL) {
			*end = '\0';
			say("%s", at);
			at = end + 1;
		}
		used = line + used - at;
		memmove(line, at, used + 1);
		if (used == LINE_MAX_BYTES) {
			say("%s", line);
			used = 0;
		}
	}
	if (used)
		say("%s", line);
}

int main(int argc, char **argv)
{
	int out[2], status;
	pid_t child;

	mkdir("/dev", 0755);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	kmsg = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	need(kmsg >= 0, "/dev/kmsg");
	mount_at("proc", "/proc");
	mount_at("sysfs", "/sys");
	mount_at("debugfs", "/sys/kernel/debug");
	mount_at("tracefs", "/sys/kernel/tracing");
	mount_at("cgroup2", "/sys/fs/cgroup");
	mount_at("tmpfs", "/tmp");
	if (argc < 2) {
		say("init: no command on the kernel's command line");
		power_off();
	}

	need(pipe2(out, O_CLOEXEC) == 0, "pipe");
	child = fork();
	need(child >= 0, "fork");
	if (child == 0) {
		int null = open("/dev/null", O_RDONLY);

		dup2(null, STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		dup2(out[1], STDERR_FILENO);
		setenv("PATH", "/bin", 1);
		execvp(argv[1], argv + 1);
		dprintf(STDERR_FILENO, "init: %s: %s\n", argv[1],
			strerror(errno));
		_exit(127);
	}
	close(out[1]);
	log_lines(out[0]);
	need(waitpid(child, &status, 0) == child, "waitpid");
	if (WIFSIGNALED(status))
		say("killed by signal %d", WTERMSIG(status));
	else
		say("exit status %d", WEXITSTATUS(status));
	power_off();
}
