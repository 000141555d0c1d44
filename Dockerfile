# syntax=docker/dockerfile:1
# The image holds one static binary and certificates, no shell, and runs as nobody in particular:
#
#   docker build -t shadowdiff .
#   docker run --read-only -p 8880:8880 -v shadowdiff:/data -v ./shadowdiff.yaml:/etc/shadowdiff/shadowdiff.yaml:ro shadowdiff
#
# The target `shop` holds the toy shop and its traffic instead; deploy/compose uses both.
FROM --platform=$BUILDPLATFORM golang:1.27.3-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=devel
ARG COMMIT=unknown
ENV CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    go build -trimpath -ldflags "-s -w -X main.version=$VERSION -X main.commit=$COMMIT" -o /out/ ./cmd/shadowdiff ./fixtures/upstream ./fixtures/traffic
# A folder that belongs to the user below: an empty volume takes its owner over.
RUN install -d -m 0700 -o 65532 -g 65532 /out/data

FROM scratch AS shop
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/upstream /out/traffic /
USER 65532:65532
EXPOSE 9000
ENTRYPOINT ["/upstream"]
CMD ["-listen", ":9000"]

FROM scratch
LABEL org.opencontainers.image.title="shadowdiff" \
      org.opencontainers.image.description="Tells whether a new version of an HTTP service still answers as the old one does." \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/shadowdiff /
COPY --from=build --chown=65532:65532 /out/data /data
USER 65532:65532
WORKDIR /data
VOLUME /data
# 8880 is for clients, 8881 for the dashboard.
EXPOSE 8880 8881
# The process drains for server.drain (10s) when it is told to stop.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=4s --start-period=60s --retries=3 CMD ["/shadowdiff", "health"]
ENTRYPOINT ["/shadowdiff"]
CMD ["serve", "-config", "/etc/shadowdiff/shadowdiff.yaml"]
