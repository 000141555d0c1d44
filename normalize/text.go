package normalize

func isInteger(s string) bool { panic("normalize: being built") }

func isUUID(s string) bool { panic("normalize: being built") }

func isHex(s string, least int) bool { panic("normalize: being built") }

func appendQuoted(dst []byte, key string) []byte { panic("normalize: being built") }
