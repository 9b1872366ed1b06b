package main

import "spendsync/schema"

func date(s string) schema.Date {
	d, err := schema.ParseDate(s)
	if err != nil {
		panic(err)
	}
	return d
}
