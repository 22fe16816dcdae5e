# mcptest in a container: docker build -t mcptest . && docker run --rm -v "$PWD:/work" mcptest run
FROM python:3.13-slim AS build
COPY . /src
RUN python -m venv /opt/mcptest && /opt/mcptest/bin/python -m pip install --no-cache-dir --disable-pip-version-check /src

FROM python:3.13-slim
COPY --from=build /opt/mcptest /opt/mcptest
# Only `mcptest` is on PATH: what an image made from this one installs for its server goes elsewhere.
RUN ln -s /opt/mcptest/bin/mcptest /usr/local/bin/mcptest
WORKDIR /work
ENTRYPOINT ["mcptest"]
CMD ["--help"]
