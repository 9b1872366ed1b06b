# Build: docker build --build-arg VERSION=1.0.0 --build-arg REVISION=$(git rev-parse HEAD) -t spendsync:1.0.0 .
#
# Everything comes from this one image, and from the modules that go.sum pins by their content. Behind a company's
# mirrors: --build-arg BASE=mirror.example.com/golang:1.26.8-bookworm@sha256:... (its digest pins the image by content)
# and --build-arg GOPROXY=https://modules.example.com.
ARG BASE=golang:1.26.8-bookworm
FROM $BASE AS build
ARG GOPROXY
WORKDIR /src
COPY go.mod go.sum ./
COPY cmd/spendsync-lake/go.mod cmd/spendsync-lake/go.sum cmd/spendsync-lake/
# Both modules. BuildKit keeps what is downloaded and compiled for the next build.
RUN --mount=type=cache,target=/go/pkg/mod go mod download && cd cmd/spendsync-lake && go mod download
COPY . .
ARG VERSION=devel
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    cmd/spendsync/deploy/image.sh "$VERSION" /out

# The binary, the libraries that it needs, CA certificates and a user: no shell, no
# package manager. It runs with a read-only root and writes to /data only; a query that
# exceeds the memory limit spills to /tmp (TMPDIR).
FROM scratch
COPY --from=build /out/ /
ARG VERSION=devel REVISION=unknown
LABEL org.opencontainers.image.title="spendsync" \
      org.opencontainers.image.description="Copies a push advertising account's spend report into Parquet and DuckDB, each day held to the service's own count or sum" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.base.name="docker.io/library/golang:1.26.8-bookworm"
USER 65532:65532
# One arena of the C library's memory instead of several: DuckDB's threads leave a tenth less behind.
ENV MALLOC_ARENA_MAX=1
ENV SPENDSYNC_DATA_DIR=/data SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
VOLUME /data
ENTRYPOINT ["/usr/local/bin/spendsync"]
CMD ["sync"]
