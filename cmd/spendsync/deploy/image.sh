#!/bin/sh
# image.sh VERSION FOLDER builds the content of the image into a folder. It must run at the root of the module, on
# Debian with Go, g++ and ca-certificates. The Dockerfile runs this script; its result also works in a chroot. The same
# commit, version and machine image give the same bytes.
set -eu
version=$1 root=$2
export CGO_ENABLED=1 GOFLAGS="-trimpath -mod=readonly -buildvcs=false" LC_ALL=C
umask 022
mkdir -p "$root/usr/local/bin" "$root/usr/share/doc/spendsync" "$root/etc/ssl/certs" "$root/var/lib/dpkg/status.d" "$root/data" "$root/tmp"

# spendsync links DuckDB by cgo, and DuckDB needs the C++ runtime. spendsync-lake, a separate module, needs neither.
# Chicago's zone data is in the binaries.
build() { (cd "cmd/$1" && go build -ldflags "-s -w -X main.buildVersion=$version" -o "$root/usr/local/bin/$1" .); }
build spendsync
(export CGO_ENABLED=0 && build spendsync-lake)

# The shared libraries that spendsync needs, and their loader, from this Debian. Scanners and legal review also need the
# descriptions of the packages that contain these libraries.
packages=ca-certificates
for lib in $(ldd "$root/usr/local/bin/spendsync" | grep -o '/[^ ]*'); do
  mkdir -p "$root$(dirname "$lib")"
  cp -L "$lib" "$root$lib"
  packages="$packages $(dpkg-query -S "$lib" "$(readlink -f "$lib")" "/usr$lib" 2>/dev/null | head -n 1 | cut -d: -f1)"
done
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
for package in $(echo "$packages" | tr ' ' '\n' | sort -u); do
  dpkg-query -s "$package" > "$root/var/lib/dpkg/status.d/$package"
  mkdir -p "$root/usr/share/doc/$package"
  cp -L "/usr/share/doc/$package/copyright" "$root/usr/share/doc/$package/"
done
cp -L /etc/os-release "$root/etc/"

# The only user is the user of the container, who cannot log in.
echo 'nonroot:x:65532:65532:spendsync:/tmp:/nonexistent' > "$root/etc/passwd"
echo 'nonroot:x:65532:' > "$root/etc/group"
echo 'hosts: files dns' > "$root/etc/nsswitch.conf"
chown 65532:65532 "$root/data"
chmod 1777 "$root/tmp"

# The modules that both binaries contain, and the licenses of these modules.
for binary in spendsync spendsync-lake; do
  go version -m "$root/usr/local/bin/$binary" | sed 1d > "$root/usr/share/doc/spendsync/$binary.modules.txt"
done
modules='{{with .Module}}{{if .Dir}}{{if not .Main}}{{if not .Replace}}{{.Path}}@{{.Version}} {{.Dir}}{{end}}{{end}}{{end}}{{end}}'
for binary in spendsync spendsync-lake; do (cd "cmd/$binary" && go list -deps -f "$modules" .); done | sort -u |
  while read -r module dir; do
    found=$(find "$dir" -maxdepth 1 -type f \( -iname 'licen[cs]e*' -o -iname 'copying*' -o -iname 'unlicen[cs]e*' -o -iname 'notice*' \))
    if [ -z "$found" ]; then
      echo "$module has no license file" >&2
      exit 1 # ends the loop; set -e then ends the script
    fi
    mkdir -p "$root/usr/share/doc/spendsync/licenses/$module"
    for file in $found; do cp "$file" "$root/usr/share/doc/spendsync/licenses/$module/"; done
    # Some license files only refer to the licenses in a folder beside the file.
    if [ -d "$dir/licenses" ]; then cp "$dir"/licenses/* "$root/usr/share/doc/spendsync/licenses/$module/"; fi
  done
cp "$(go env GOROOT)/LICENSE" "$root/usr/share/doc/spendsync/licenses/go.txt"

# File times must not distinguish two builds.
find "$root" -exec touch -h -d @0 {} +
