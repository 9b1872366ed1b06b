package world

import "spendsync/extract/adsim/ledger"

// Record appends a line to the journal.
func (s *World) Record(line Entry) {
	line.Account = s.index
	if line.At.IsZero() {
		line.At = s.Clock.Now()
	}
	s.Journal.write(line)
}

// Redo makes the change of a line again. It reports false for one of another room.
func (s *World) Redo(line *Entry) (known bool, err error) {
	switch line.Op {
	case "change":
		err = RedoWhat(line, s.Change)
	case "review":
		err = RedoWhat(line, s.Review)
	case "balance":
		err = s.SetBalance(line.Name)
	case "funds":
		err = s.AddFunds(line.Amount)
	case "restate":
		err = RedoWhat(line, func(r ledger.Restatement) error { _, err := s.Restate(line.Name, r); return err })
	case "plant":
		err = RedoWhat(line, s.Plant)
	case "freeze", "thaw":
		s.FreezeRestatements(line.Op == "freeze")
	case "image":
		err = RedoWhat(line, func(in imageEntry) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.budgets = s.budgets.with(line.At, map[string]int{ImageUpload: 1})
			s.addImage(&Image{Kind: in.Kind, ContentType: in.ContentType, Width: in.Width, Height: in.Height,
				Size: in.Size})
			return nil
		})
	default:
		return false, nil
	}
	return true, err
}
