module shadowdiff/tools/peers

go 1.26.0

toolchain go1.27.3

replace shadowdiff => ../../

require (
	github.com/google/go-cmp v0.7.0
	github.com/josephburnett/jd/v2 v2.5.0
	github.com/valyala/fastjson v1.6.10
	github.com/wI2L/jsondiff v0.7.1
	golang.org/x/sys v0.49.0
	shadowdiff v0.0.0-00010101000000-000000000000
)

require (
	github.com/DataDog/sketches-go v1.4.8 // indirect
	github.com/andybalholm/brotli v1.3.0 // indirect
	github.com/dustin/go-humanize v1.1.0 // indirect
	github.com/klauspost/compress v1.20.4 // indirect
	github.com/tidwall/gjson v1.20.2 // indirect
	github.com/tidwall/match v1.1.1 // indirect
	github.com/tidwall/pretty v1.3.0 // indirect
	github.com/tidwall/sjson v1.2.5 // indirect
	go.yaml.in/yaml/v3 v3.0.4 // indirect
	go.yaml.in/yaml/v4 v4.0.0 // indirect
	golang.org/x/net v0.61.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)
