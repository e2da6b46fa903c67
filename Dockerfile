# sheaf on Debian 12, built with the README's commands: `sheaf` and `sheaf-run` from their packages, and Graphviz for pictures.
#   docker build -t sheaf . && docker run --rm -v "$PWD:/work" sheaf compile models/tutorial.json -o tutorial.plan
FROM debian:12-slim AS build
WORKDIR /sheaf
# Copy only the package list first, so that a new commit doesn't install everything again.
COPY tools/setup.sh tools/packages.txt tools/demo-packages.txt tools/
RUN tools/setup.sh
COPY . .
RUN tools/build.sh default sheaf-package && cd build && cpack -G DEB

FROM debian:12-slim
COPY --from=build /sheaf/build/sheaf_*.deb /sheaf/build/sheaf-runtime_*.deb /tmp/
RUN apt-get update \
 && apt-get install -y --no-install-recommends /tmp/sheaf_*.deb /tmp/sheaf-runtime_*.deb graphviz \
 && rm -rf /var/lib/apt/lists/* /tmp/*.deb
WORKDIR /work
ENTRYPOINT ["sheaf"]
CMD ["--help"]
