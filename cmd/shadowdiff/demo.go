package main

func runDemo(args []string, std stdio) int { return notYet("demo")(args, std) }
