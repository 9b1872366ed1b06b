package job

import "time"

func atWorldNow() time.Time { return worldNow }
