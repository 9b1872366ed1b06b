# syntax=docker/dockerfile:1
# Build: docker build --build-arg VERSION=1.0.0 -t spendsync .
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=devel
# cgo links DuckDB, which needs the C++ runtime of the image below.
RUN CGO_ENABLED=1 go build -trimpath -ldflags "-s -w -X main.buildVersion=${VERSION}" -o /out/spendsync ./cmd/spendsync

# A glibc image with libstdc++ and CA certificates, no shell, user 65532.
# Chicago's zone data is inside the binary.
FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /out/spendsync /usr/local/bin/spendsync
USER 65532:65532
ENV SPENDSYNC_DATA_DIR=/data
VOLUME /data
ENTRYPOINT ["/usr/local/bin/spendsync"]
CMD ["sync"]
