package multicast

import (
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func TestGRPCStub(t *testing.T) {
	_ = grpc.NewServer()
	_ = wrapperspb.String("a")
}
