module shadowdiff/tools/verdict

go 1.26.0

toolchain go1.27.3

replace shadowdiff => ../../

require (
	github.com/dustin/go-humanize v1.1.0
	shadowdiff v0.0.0-00010101000000-000000000000
)

require (
	github.com/DataDog/sketches-go v1.4.8 // indirect
	github.com/andybalholm/brotli v1.3.0 // indirect
	github.com/klauspost/compress v1.20.4 // indirect
	go.yaml.in/yaml/v4 v4.0.0 // indirect
	golang.org/x/net v0.61.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)
