package adsim

// record appends a line to the journal.
func (s *world) record(line journalLine) {
	line.Account = s.index
	if line.At.IsZero() {
		line.At = s.clock.now()
	}
	s.journal.write(line)
}

// redo makes the change of a line again. It reports false for one of another room.
func (s *world) redo(line *journalLine) (known bool, err error) {
	switch line.Op {
	case "change":
		err = redoWhat(line, s.Change)
	case "review":
		err = redoWhat(line, s.Review)
	case "balance":
		err = s.SetBalance(line.Name)
	case "funds":
		err = s.AddFunds(line.Amount)
	case "restate":
		err = redoWhat(line, func(r Restatement) error { _, err := s.Restate(line.Name, r); return err })
	case "plant":
		err = redoWhat(line, s.Plant)
	case "freeze", "thaw":
		s.FreezeRestatements(line.Op == "freeze")
	case "image":
		err = redoWhat(line, func(in imageEntry) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.budgets = s.budgets.with(line.At, map[string]int{imageUpload: 1})
			s.addImage(&image{kind: in.Kind, contentType: in.ContentType, width: in.Width, height: in.Height,
				size: in.Size})
			return nil
		})
	default:
		return false, nil
	}
	return true, err
}
