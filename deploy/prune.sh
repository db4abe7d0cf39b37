#!/usr/bin/env bash
# Removes files of installed libraries that we never use: headers, the libraries' own tests, and the parts of pyarrow for
# Flight servers and S3. FOLDER is the `lib` of the environment.
set -euo pipefail
folder=${1:?usage: deploy/prune.sh FOLDER}
find "$folder" -depth -type d \( -path '*/pyarrow/include' -o -path '*/pyarrow/src' -o -path '*/pyarrow/tests' \
  -o -path '*/numpy/tests' -o -path '*/numpy/*/tests' -o -path '*/scipy/*/tests' \) -exec rm -r {} +
find "$folder" -path '*/pyarrow/*' \( -name 'libarrow_flight*' -o -name 'libarrow_python_flight*' -o -name '_flight*.so' \
  -o -name 'libarrow_s3*' -o -name '_s3fs*.so' \) -delete
