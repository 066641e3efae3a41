#!/bin/sh
# The smallest file system in which this machine's Python runs: rootfs.sh TARGET FOLDER…
# TARGET gets Python, the folders, every library that their programs are linked to, certificates, and a user. Each library's
# Debian package is noted where scanners of images look (/var/lib/dpkg/status.d), so that its known vulnerabilities are found.
set -eu
target=$1; shift
mkdir -p "$target/tmp" "$target/etc/ssl/certs" "$target/var/lib/dpkg/status.d"
chmod 1777 "$target/tmp"

version=$(python -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
library=/usr/local/lib/$version
cp -a --parents "$library" "/usr/local/bin/$version" /usr/local/bin/python3 /usr/local/bin/python "$@" "$target"
[ ! -e "/usr/local/lib/lib$version.so.1.0" ] || cp -a --parents /usr/local/lib/lib$version.so* "$target"
# No service needs these.
(cd "$target$library" && rm -rf ensurepip idlelib lib2to3 pydoc_data tkinter turtledemo test config-* site-packages/* \
  lib-dynload/_tkinter* lib-dynload/_sqlite3* lib-dynload/readline* lib-dynload/_curses* lib-dynload/_dbm* lib-dynload/_gdbm* lib-dynload/*_test*)

{
  find "$target" -type f \( -name '*.so' -o -name '*.so.*' -o -path '*/bin/python*' \) -exec ldd {} + 2>/dev/null \
    | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p; s/^[[:space:]]*\(\/[^ ]*ld-linux[^ ]*\) .*/\1/p'
} | sort -u | while read -r file; do
  [ -e "$target$file" ] && continue
  mkdir -p "$target$(dirname "$file")"
  cp -L "$file" "$target$file"
  package=$(dpkg -S "$(readlink -f "$file")" 2>/dev/null || dpkg -S "*/$(basename "$(readlink -f "$file")")" 2>/dev/null) || continue
  package=${package%%:*}
  dpkg -s "$package" >"$target/var/lib/dpkg/status.d/$package"
done
cp -a /etc/ld.so.cache "$target/etc/"
cp -L /etc/ssl/certs/ca-certificates.crt "$target/etc/ssl/certs/"
cp /etc/os-release "$target/etc/"
echo 'hosts: files dns' >"$target/etc/nsswitch.conf"
echo 'lockgate:x:10001:10001::/tmp:/sbin/nologin' >"$target/etc/passwd"
echo 'lockgate:x:10001:' >"$target/etc/group"
