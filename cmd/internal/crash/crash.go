package crash

/*
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char program[32];

static void set_program(const char *name) { strncpy(program, name, sizeof program - 1); }

static void end(int sig) {
	static const char line[] =
		": the program crashed; what led to it is above | safe: what is published stands | "
		"do: run it again; if it stays, report the lines above (exit 1)\n";
	// A log without a reader must not hold up the end.
	fcntl(2, F_SETFL, O_NONBLOCK);
	if (write(2, program, strlen(program)) < 0) {}
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

import (
	"runtime/debug"
	"unsafe"
)

// ExitsWithCode makes every crash from now on end the process with [Code], after the stacks of all
// goroutines and a last line that begins with the name of the program.
func ExitsWithCode(program string) {
	name := C.CString(program)
	C.set_program(name)
	C.free(unsafe.Pointer(name))
	// At this level the runtime ends itself by SIGABRT instead of exit code 2.
	debug.SetTraceback("crash")
}
