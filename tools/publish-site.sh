#!/usr/bin/env bash
# Put build/site on the branch gh-pages as this version and as `latest`: tools/publish-site.sh 0.2.0
# The menu of versions reads versions.json, as mike writes it; the newest version comes first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
version=$1 pages=build/gh-pages
rm -rf "$pages"
if git fetch --quiet --depth=1 origin gh-pages; then
  git worktree add --quiet --force -B gh-pages "$pages" FETCH_HEAD
else
  git worktree add --quiet --force --detach "$pages"
  git -C "$pages" checkout --quiet --orphan gh-pages
  git -C "$pages" rm --quiet -r --force .
fi
for folder in "$version" latest; do
  rm -rf "${pages:?}/$folder"
  cp -r build/site "$pages/$folder"
done
(cd "$pages" && printf '%s\n' [0-9]*/ | tr -d / | sort --version-sort --reverse \
  | sed '1s/.*/{"version": "&", "title": "&", "aliases": ["latest"]}/; 2,$s/.*/{"version": "&", "title": "&", "aliases": []}/' \
  | paste -sd, | sed 's/.*/[&]/' >versions.json)
echo '<meta http-equiv="refresh" content="0; url=latest/">' >"$pages/index.html"
touch "$pages/.nojekyll"
git -C "$pages" add --all
git -C "$pages" -c user.name=release -c user.email=release@users.noreply.github.com commit --quiet -m "Publish the site of $version"
git -C "$pages" push --quiet origin gh-pages
