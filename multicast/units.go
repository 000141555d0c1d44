package multicast

// Share is a part of all, in hundred-thousandths: 100 % is 100,000, so 0.001 % is the least step.
type Share uint32

// Size is a number of bytes; its text is a number with B, KiB, MiB or GiB (KB, MB, GB are powers of ten).
type Size int64
