#!/usr/bin/env bash
# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0

# Builds the Debian packages, checks them with lintian, installs them in a bare root of the release
# of this machine, and builds and runs programs there: tools/consumers/use_packages.sh. Needs root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tools/ci/common.sh

configure_and_build packages
say "packing"
rm -rf build/packages/debian/*.deb
cpack --preset packages
for package in build/packages/debian/*.deb; do
  say "$(basename "$package")"
  dpkg-deb --info "$package"
  dpkg-deb --contents "$package"
done

# Whoever builds the packages sets the maintainer and writes the changelog. CPack writes scripts
# that call ldconfig, beside the trigger. A package with five libraries has the name of none.
say "lintian"
lintian --fail-on error,warning --suppress-tags "$(tr '\n' , <<'TAGS'
bogus-mail-host
no-changelog
maintscript-calls-ldconfig
package-name-doesnt-match-sonames
TAGS
)" build/packages/debian/*.deb

rm -rf build/packages/debian/_CPack_Packages
# An archive of the packages, so that apt finds what a package depends on.
(cd build/packages/debian && dpkg-scanpackages . >Packages)
release="$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)"
BELFRY_ROOT_ALSO="$(echo build/packages/debian/{*.deb,Packages})" \
  tools/ci/bare_root.sh "$release" tools/consumers/use_packages.sh build/packages/debian
