package duck

import "context"

// Define runs statements of our own, such as CREATE TABLE and CREATE MACRO, for later queries. What they create stands
// in the engine's memory beside the views that [Session.Keep] computed, until Keep is called again.
func (s *Session) Define(ctx context.Context, statements ...string) error {
	return execAll(ctx, s.conn, statements)
}
