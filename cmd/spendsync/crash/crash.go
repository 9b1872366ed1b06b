package crash

/*
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static void end(int sig) {
	static const char line[] =
		"spendsync: the program crashed; what led to it is above | safe: what is published stands | "
		"do: run it again; if it stays, report the lines above (exit 1)\n";
	// A log that nobody reads must not hold up the end.
	fcntl(2, F_SETFL, O_NONBLOCK);
	if (write(2, line, sizeof line - 1) < 0) {}
	_exit(1);
}

// Go's runtime passes a signal that it does not handle itself on to the handler that
// was there before it: this one, if it is installed before the runtime starts.
__attribute__((constructor)) static void install(void) {
	struct sigaction action;
	memset(&action, 0, sizeof action);
	action.sa_handler = end;
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGABRT, &action, NULL);
}
*/
import "C"

import "runtime/debug"

// Code is the exit code of a process that crashes: exit.Unexpected.
const Code = 1

// ExitsWithCode has every crash from now on end the process with [Code] and a last
// line, after the stacks of all goroutines.
func ExitsWithCode() {
	// At this level the runtime ends itself by SIGABRT instead of exit code 2.
	debug.SetTraceback("crash")
}
