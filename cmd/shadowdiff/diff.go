package main

func runDiff(args []string, std stdio) int { return notYet("diff")(args, std) }
